"""What the curriculum brought over labels only, with an interval, or that this cannot be told."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from curriculum_labeling.labels import BoolArray

Z95 = 1.959963984540054


@dataclass(frozen=True)
class Gain:
    """Accuracy of the curriculum minus accuracy of labels only, on labels that neither was fitted to.

    Parameters
    ----------
    estimate, low, high : float or None
        The gain in accuracy (0.02 is two points) and its 95 % interval; None where not measured.
    labels_only, curriculum : float or None
        The two accuracies.
    n : int
        Held-out labels behind the numbers.
    reason : str
        Why nothing was measured, if nothing was.
    """

    estimate: float | None
    low: float | None
    high: float | None
    labels_only: float | None
    curriculum: float | None
    n: int
    reason: str = ""

    @property
    def helped(self) -> bool | None:
        """True or False where the interval leaves no doubt, None where it cannot be told."""
        if self.low is None or self.high is None or self.low <= 0 <= self.high:
            return None
        return self.low > 0

    def __str__(self) -> str:
        if self.estimate is None or self.low is None or self.high is None:
            return f"Whether the curriculum helped was not measured: {self.reason}."
        numbers = (
            f"{100 * self.estimate:+.1f} points (95 % interval {100 * self.low:+.1f} to {100 * self.high:+.1f},"
            f" {self.n} held-out labels)"
        )
        if self.helped is None:
            return f"Whether the curriculum helped cannot be told from so few labels: {numbers}."
        return f"The curriculum {'helped' if self.helped else 'harmed'}: {numbers}."


def unmeasured(reason: str) -> Gain:
    """No number, and why."""
    return Gain(None, None, None, None, None, 0, reason)


def paired_gain(labels_only: BoolArray, curriculum: BoolArray) -> Gain:
    """Compare two models on the same held-out rows, each given as right or wrong per row.

    Rows that both get right or both get wrong say nothing of the difference; the interval is
    Agresti and Min's for matched pairs, which holds up where rows are few.
    """
    n = len(labels_only)
    if n == 0:
        return unmeasured("no label was held out")
    better, worse = int((curriculum & ~labels_only).sum()), int((labels_only & ~curriculum).sum())
    b, c, m = better + 0.5, worse + 0.5, n + 2
    centre, spread = (b - c) / m, Z95 * math.sqrt((b + c) - (b - c) ** 2 / m) / m
    return Gain(
        estimate=(better - worse) / n,
        low=max(-1.0, centre - spread),
        high=min(1.0, centre + spread),
        labels_only=float(np.mean(labels_only)),
        curriculum=float(np.mean(curriculum)),
        n=n,
    )
