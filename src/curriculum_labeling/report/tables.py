"""Class balance and confusion as tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from curriculum_labeling.labels import IntArray
from curriculum_labeling.report.read import RoundRecord

TOP_CONFUSIONS = 8
MANY_CLASSES = 20


@dataclass(frozen=True)
class BalanceLine:
    """One class: its share of the given labels, and of each round's pseudo-labels."""

    name: str
    labeled: float
    counts: tuple[int, ...]
    shares: tuple[float, ...]


@dataclass(frozen=True)
class Confusion:
    """Given against predicted classes; `matrix[given, predicted]`."""

    names: tuple[str, ...]
    matrix: IntArray

    @property
    def total(self) -> int:
        """How many labels are behind it."""
        return int(self.matrix.sum())

    @property
    def accuracy(self) -> float:
        """The share on the diagonal."""
        return float(np.trace(self.matrix) / self.total)

    def recall(self, given: int) -> float | None:
        """The share of a class that was found, None where it has no labels."""
        n = int(self.matrix[given].sum())
        return int(self.matrix[given, given]) / n if n else None

    def shade(self, given: int, predicted: int) -> float:
        """How strongly to tint a cell: its share of the class, 0 … 1."""
        return float(self.matrix[given, predicted] / max(1, int(self.matrix[given].sum())))

    def top(self) -> list[tuple[str, str, int, float]]:
        """The most frequent mistakes: given, predicted, how many, share of the given class."""
        wrong = self.matrix.copy()
        np.fill_diagonal(wrong, 0)
        order = np.argsort(-wrong, axis=None, kind="stable")[:TOP_CONFUSIONS]
        pairs = [divmod(int(place), len(self.names)) for place in order]
        return [
            (self.names[given], self.names[predicted], int(wrong[given, predicted]), self.shade(given, predicted))
            for given, predicted in pairs
            if wrong[given, predicted]
        ]


def confusion(names: tuple[str, ...], given: IntArray, predicted: IntArray) -> Confusion | None:
    """Count pairs of given and predicted class; None where there are none."""
    known = given >= 0
    if not known.any():
        return None
    n = len(names)
    counts = np.bincount(given[known] * n + predicted[known], minlength=n * n)
    return Confusion(names, counts.reshape(n, n))


def balance(names: tuple[str, ...], rounds: Sequence[RoundRecord]) -> list[BalanceLine]:
    """A line per class; where there are many, those furthest from their labeled share come first."""
    later = [one for one in rounds if one.number > 0]
    labeled = _shares(rounds[0].labeled_counts)
    shares = [_shares(one.class_counts) for one in later]
    lines = [
        BalanceLine(
            name,
            float(labeled[c]),
            tuple(int(one.class_counts[c]) for one in later),
            tuple(float(share[c]) for share in shares),
        )
        for c, name in enumerate(names)
    ]
    if later and len(names) > MANY_CLASSES:
        lines.sort(key=lambda line: -abs(line.shares[-1] - line.labeled))
    return lines


def _shares(counts: IntArray) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    total = int(counts.sum())
    return np.asarray(counts / max(1, total), dtype=np.float64)
