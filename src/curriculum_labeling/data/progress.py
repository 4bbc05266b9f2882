"""How far long work is, told about once a second."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

TELL_SECONDS = 1.0


@dataclass(frozen=True)
class Progress:
    """Pieces done of all pieces, and how many of them this process did in how many seconds."""

    done: int
    total: int
    new: int
    seconds: float

    @property
    def seconds_left(self) -> float | None:
        """Estimate from the pace so far; None before the first piece."""
        return self.seconds / self.new * (self.total - self.done) if self.new else None


Tell = Callable[[Progress], None]


class Teller:
    """Tells of work that began now, with so many pieces done before; not more often than once a second."""

    def __init__(self, tell: Tell | None, total: int, before: int = 0) -> None:
        self.tell = tell
        self.total = total
        self.before = before
        self.start = self.told = time.monotonic()

    def __call__(self, done: int) -> None:
        """So many pieces are done."""
        now = time.monotonic()
        if self.tell is not None and now - self.told >= TELL_SECONDS:
            self.told = now
            self.tell(Progress(done, self.total, done - self.before, now - self.start))
