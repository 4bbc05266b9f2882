"""Who runs what: workers that share a list of cells, and processes under torchrun that share one cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from curriculum_labeling.data.locks import attempt
from curriculum_labeling.experiments.results import Results, Task
from curriculum_labeling.vision.distributed import Group

# Processes of a group ask each other whether to stop once in so many steps.
STEPS_BETWEEN_QUESTIONS = 20
T = TypeVar("T")


class SharedError(ValueError):
    """What one process of a group cannot do, and so none of them does."""


@dataclass(frozen=True)
class Worker:
    """Worker `number` of `count`."""

    number: int = 0
    count: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.number < self.count:
            raise ValueError(f"--worker must be i/n with i from 0 to n-1, such as 0/2, got {self.number}/{self.count}.")

    @classmethod
    def parse(cls, text: str) -> Worker:
        """A worker as on the command line, such as 0/2."""
        number, _, count = text.partition("/")
        if not (number.isdigit() and count.isdigit()):
            raise ValueError(f"--worker must be i/n with i from 0 to n-1, such as 0/2, got {text}.")
        return cls(int(number), int(count))

    def order(self, tasks: Sequence[Task]) -> list[Task]:
        """Every n-th task first; then those of the others, should they be slower or gone."""
        mine = list(tasks[self.number :: self.count])
        return mine + [task for task in tasks if task not in mine]


@contextmanager
def claimed(task: Task, results: Results, group: Group) -> Iterator[bool]:
    """Whether this process, or its group, is the one to run a task; while the block runs nobody else is."""
    if group.rank:
        yield group.from_first(False)
        return
    results.folder.mkdir(parents=True, exist_ok=True)
    with attempt(results.folder / f".{task.stem}.lock") as free:
        yield group.from_first(free and not results.finished(task))


def agreed(stop: Callable[[], bool], group: Group) -> Callable[[], bool]:
    """A stop that all processes of a group obey at the same step, whoever of them was asked."""
    if group.size == 1:
        return stop
    calls = 0

    def ask() -> bool:
        nonlocal calls
        calls += 1
        if calls % STEPS_BETWEEN_QUESTIONS:
            return False
        return bool(group.add_counts(np.array([stop()], dtype=np.int64))[0])

    return ask


def made_by_all(make: Callable[[], T], group: Group) -> T:
    """What every process of a group makes for itself; where one cannot, all of them raise its reason."""
    made: list[T] = []
    reason = None
    try:
        made.append(make())
    except ValueError as error:
        reason = error
    reasons = [one for one in group.gather(None if reason is None else str(reason)) if one is not None]
    if reasons:
        raise SharedError(reasons[0]) from reason
    return made[0]
