"""How long a round trains and at which learning rate: a budget, and the schedule it becomes.

A schedule is a number of optimizer steps, fixed before the first one and stored with every
checkpoint, so that a resumed run continues it. A budget in minutes is turned into steps once, from
steps timed at the start.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Budget:
    """What a round may spend: epochs, or optimizer steps, or minutes of wall time; exactly one of them."""

    epochs: int | None = None
    steps: int | None = None
    minutes: float | None = None

    def __post_init__(self) -> None:
        given = {name: value for name, value in vars(self).items() if value is not None}
        if len(given) != 1:
            raise ValueError(f"budget must have exactly one of epochs, steps and minutes, got {given or 'none'}.")
        name, value = next(iter(given.items()))
        if not (value > 0 and math.isfinite(value)):
            raise ValueError(f"budget {name} must be above 0, got {value}.")

    def steps_of(self, steps_per_epoch: int, seconds_per_step: float | None = None) -> int:
        """Optimizer steps; `seconds_per_step` is needed for a budget in minutes alone."""
        if self.steps is not None:
            return self.steps
        if self.epochs is not None:
            return self.epochs * steps_per_epoch
        assert self.minutes is not None
        assert seconds_per_step is not None
        return max(1, int(self.minutes * 60 / seconds_per_step))


@dataclass(frozen=True)
class Schedule:
    """Linear warm-up over the first `warmup` steps, then a cosine to 0 at the last one.

    Where several trainings follow each other along one such cycle, `before` and `after` are the steps
    that the others take of it.
    """

    steps: int
    steps_per_epoch: int
    learning_rate: float
    warmup: int = 0
    before: int = 0
    after: int = 0

    def rate(self, step: int) -> float:
        """Learning rate of this step, counted from 0."""
        place, end = self.before + step, self.before + self.steps + self.after
        if place < self.warmup:
            return self.learning_rate * (place + 1) / self.warmup
        return self.learning_rate * (1 + math.cos(math.pi * (place - self.warmup) / (end - self.warmup))) / 2

    @property
    def epochs(self) -> int:
        """How many epochs begin; the last one may be cut short."""
        return -(-self.steps // self.steps_per_epoch)

    def ends_epoch(self, done: int) -> bool:
        """Whether an epoch, or the training, is over after this many steps."""
        return done % self.steps_per_epoch == 0 or done == self.steps

    def epochs_after(self, done: int) -> int:
        """How many epochs have begun after this many steps, at least 1."""
        return max(1, -(-done // self.steps_per_epoch))
