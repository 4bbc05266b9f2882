"""What a run tells while it works: which stage it is in, how far, and how long it will still take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Stage:
    """One stage: its name, done of total (None where unknown), and seconds left in it and in the whole run."""

    name: str
    done: float = 0.0
    total: float | None = None
    seconds_left: float | None = None
    run_seconds_left: float | None = None


Show = Callable[[Stage], None]


def show_nothing(stage: Stage) -> None:
    """For runs that nobody watches."""
