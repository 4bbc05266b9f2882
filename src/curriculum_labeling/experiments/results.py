"""Results on disk: one JSON file per cell and seed, written whole when the run has ended, well or not."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from curriculum_labeling.data.atomic import write_atomically
from curriculum_labeling.data.typed import brief, build
from curriculum_labeling.experiments.cells import Cell, name_of
from curriculum_labeling.experiments.points import Experiment
from curriculum_labeling.experiments.scales import Scale

FORMAT = 1


@dataclass(frozen=True)
class Task:
    """One cell and seed to run: named after the paper's cell, run as the scale has it."""

    name: str
    cell: Cell
    seed: int

    @property
    def stem(self) -> str:
        """The name of its files."""
        return f"{self.name}-seed{self.seed}"


@dataclass(frozen=True)
class RoundResult:
    """What one round reached; errors and accuracies are shares.

    `foreign` counts pseudo-labeled rows whose class has no labels; `passes` are images trained on.
    """

    number: int
    test_error: float
    top5_error: float | None
    validation_error: float | None
    selected: int
    foreign: int
    pseudo_accuracy: float | None
    percentile: float | None
    threshold: float | None
    entered: int
    left: int
    flipped: int
    seconds: float
    passes: int


@dataclass(frozen=True)
class Result:
    """One run: its rounds, or why it has not all of them."""

    name: str
    seed: int
    settings: dict[str, str]
    state: Literal["finished", "failed"]
    reason: str
    machine: str
    rounds: tuple[RoundResult, ...]

    @property
    def finished(self) -> bool:
        """Whether the run came to its end."""
        return self.state == "finished"

    @property
    def seconds(self) -> float:
        """Training time of all rounds."""
        return sum(one.seconds for one in self.rounds)


def tasks_of(experiment: Experiment, scale: Scale, seeds: int, only: Sequence[str] = ()) -> list[Task]:
    """The runs of an experiment, one seed after another, so that a whole table is there early."""
    cells = experiment.cells_at(only)
    return [Task(name_of(cell), scale.reduced(cell), seed) for seed in range(seeds) for cell in cells]


class Results:
    """The folder of results, below the output folder."""

    def __init__(self, out: Path) -> None:
        self.folder = out / "cells"

    def path(self, task: Task, suffix: str = ".json") -> Path:
        """The file of a task."""
        return self.folder / f"{task.stem}{suffix}"

    def write(self, result: Result, task: Task) -> None:
        """Make this the result of a task."""
        self.folder.mkdir(parents=True, exist_ok=True)
        content = {"format": FORMAT, **asdict(result)}
        text = json.dumps(content, indent=1, ensure_ascii=False)
        write_atomically(self.path(task), text.encode("utf-8", "backslashreplace"))

    def read(self, task: Task) -> Result | None:
        """The result of a task, None where there is none; another scale's result is refused."""
        path = self.path(task)
        if not path.is_file():
            return None
        try:
            result = _parse(json.loads(path.read_bytes()))
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path} is damaged ({brief(error)}); delete it, and its cell runs again.") from error
        if result.settings != task.cell.describe():
            raise ValueError(f"{path} was made with other settings, or at another scale; choose another --out.")
        if result.finished and len(result.rounds) != task.cell.pacing.rounds + 1:
            raise ValueError(f"{path} is damaged (it lacks rounds); delete it, and its cell runs again.")
        return result

    def finished(self, task: Task) -> bool:
        """Whether a task needs no run any more."""
        result = self.read(task)
        return result is not None and result.finished


def _parse(content: Any) -> Result:
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError("it is of another version")
    rounds = content.get("rounds")
    if not isinstance(rounds, list):
        raise ValueError("its rounds are no list")
    known = {name: value for name, value in content.items() if name != "format"}
    result = build(Result, {**known, "rounds": tuple(build(RoundResult, one) for one in rounds)})
    if any(not math.isfinite(one.test_error) or one.number != t for t, one in enumerate(result.rounds)):
        raise ValueError("its rounds are not numbered from 0, or have no test error")
    return result
