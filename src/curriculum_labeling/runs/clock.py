"""The time of a run: how much of it is left, across restarts, and how many steps each training gets.

A time becomes a number of steps once, when the training begins, and is written down: a run that is
resumed does what it would have done.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from curriculum_labeling.data.typed import brief
from curriculum_labeling.runs.directory import CHECKPOINTS, Run, RunError

CLOCK = "clock.json"
# Between the name of a course and the number of a round, in the name of a training.
ROUND = ", round "
# Kept back for the ledger, the model folder and the report.
LAST_SECONDS = 8.0
SAVE_SECONDS = 10.0


@dataclass(frozen=True)
class Work:
    """One training to come: its name, its weight among the others, and how many images it scores afterwards."""

    name: str
    weight: float
    scored: int


class Clock:
    """How long the run has taken, and what is left for the work ahead."""

    def __init__(self, run: Run, minutes: float | None, started: float | None = None) -> None:
        self.run = run
        self.minutes = minutes
        known: dict[str, Any] = run.read(CLOCK) if run.has(CLOCK) else self._new()
        try:
            self._before = float(known["seconds"])
            self.steps: dict[str, int] = {str(name): int(steps) for name, steps in known["steps"].items()}
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise RunError(
                f"{run / CLOCK} is damaged ({brief(repr(error))}); restore it, or start a new run."
            ) from error
        self._start = time.monotonic() if started is None else started
        self._saved = self._start

    def _new(self) -> dict[str, Any]:
        """A clock that starts; other steps than those a training began with would give another result."""
        if self.minutes is not None and (self.run / CHECKPOINTS).is_dir():
            raise RunError(f"{self.run / CLOCK} is missing, and with it the time each training has; restore it.")
        return {"seconds": 0.0, "steps": {}}

    @property
    def seconds(self) -> float:
        """Seconds that this run has taken so far, restarts included."""
        return self._before + time.monotonic() - self._start

    @property
    def seconds_left(self) -> float | None:
        """What is left of the time that was given, or None where none was."""
        return None if self.minutes is None else max(0.0, 60 * self.minutes - self.seconds)

    def save(self) -> None:
        """Remember the time so far."""
        self._saved = time.monotonic()
        self.run.write(CLOCK, {"seconds": self.seconds, "steps": self.steps})

    def save_now_and_then(self) -> None:
        """Remember the time, if it was not remembered lately: a kill then loses little of it."""
        if time.monotonic() - self._saved > SAVE_SECONDS:
            self.save()

    def plan(self, ahead: list[Work], seconds_per_step: float, batch: int, most: int, *, speedup: float) -> int:
        """Steps of the first piece of work ahead: its share of the time that is left, and not more than `most`.

        `speedup` is how many images are scored in the time of training on one. Where trainings before it
        took longer than planned, little of the time may be left; it then has the fewest steps that make
        sense, and the run takes longer.
        """
        assert self.seconds_left is not None
        seconds_per_scored = seconds_per_step / batch / speedup
        scoring = sum(work.scored for work in ahead) * seconds_per_scored
        share = ahead[0].weight / sum(work.weight for work in ahead)
        usable = (self.seconds_left - LAST_SECONDS - scoring) * share
        return max(self.fewest(ahead[0].name), min(most, int(usable / seconds_per_step)))

    def fewest(self, name: str) -> int:
        """Steps that a training has in any case, by what other trainings began with.

        As many as the same round has in folds, or they would measure a better model than the one that is
        delivered; and half as many as the round before it, or its network would know less than that one.
        """
        course, _, number = name.rpartition(ROUND)
        folds = [steps for other, steps in self.steps.items() if course and other.rpartition(ROUND)[2] == number]
        before = self.steps.get(f"{course}{ROUND}{int(number) - 1}", 0) if course else 0
        return max(1, before // 2, *folds)

    def fix(self, name: str, steps: int) -> None:
        """Write down the steps of a piece of work, before it begins."""
        self.steps[name] = steps
        self.save()
