"""Held-out labels: which ones, and what every round gets right on them."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from curriculum_labeling.estimators.tables import count_rows
from curriculum_labeling.estimators.targets import UNLABELED, read_targets
from curriculum_labeling.labels import BoolArray, IntArray, Labels

AUTO_FOLDS = 3
AUTO_ROWS = 500


@dataclass(frozen=True)
class Fold:
    """One split of the labels: positions to train on, positions to check, unlabeled rows to use."""

    train: IntArray
    check: IntArray
    unlabeled: IntArray


@dataclass(frozen=True)
class Checked:
    """What each round, and the delivered combination, got right on n held-out labels.

    `rounds` has shape (rounds, n), round 0 first; `combined` has shape (n,).
    """

    rounds: BoolArray
    combined: BoolArray

    @property
    def accuracies(self) -> list[float]:
        """Accuracy of each round."""
        return [float(a) for a in self.rounds.mean(axis=1)]

    @classmethod
    def pooled(cls, parts: list[Checked]) -> Checked:
        """Several folds as one; a fold that ended early counts with its last round."""
        most = max(len(part.rounds) for part in parts)
        rounds = [np.concatenate([p.rounds, np.repeat(p.rounds[-1:], most - len(p.rounds), axis=0)]) for p in parts]
        return cls(np.concatenate(rounds, axis=1), np.concatenate([part.combined for part in parts]))


def check_validation(validation: Any) -> None:
    """Refuse a validation that is none of: None, 'auto', a fraction, a number of folds, a set (X, y)."""
    if validation is None or (isinstance(validation, str) and validation == "auto"):
        return
    if isinstance(validation, tuple) and len(validation) == 2:
        return
    if isinstance(validation, int | np.integer) and not isinstance(validation, bool) and validation >= 2:
        return
    if isinstance(validation, float | np.floating) and 0 < validation < 1:
        return
    raise ValueError(
        "validation must be None, 'auto', a fraction of the labels in (0, 1), a number of folds (2 or more), or a set"
        f" (X, y), got {reprlib.repr(validation)}."
    )


def folds(labels: Labels, unlabeled: IntArray, validation: Any, rng: np.random.Generator) -> Iterator[Fold]:
    """The splits that a fraction, a number of folds or 'auto' asks for; each class is spread evenly.

    A class with a single label is never held out. 'auto' takes three folds and at most 500
    unlabeled rows, which bounds its cost whatever the size of the data.
    """
    if isinstance(validation, float | np.floating):
        yield _holdout(labels, unlabeled, float(validation), rng)
        return
    auto = isinstance(validation, str)
    number = np.full(len(labels), -1)
    for c in np.unique(labels.classes):
        own = rng.permutation(np.flatnonzero(labels.classes == c))
        if len(own) > 1:
            number[own] = (np.arange(len(own)) + rng.integers(len(own))) % (AUTO_FOLDS if auto else validation)
    rows = rng.permutation(unlabeled)[:AUTO_ROWS] if auto else unlabeled
    for k in range(number.max() + 1):
        if (number == k).any():
            yield Fold(np.flatnonzero(number != k), np.flatnonzero(number == k), np.sort(rows))


def _holdout(labels: Labels, unlabeled: IntArray, fraction: float, rng: np.random.Generator) -> Fold:
    held = []
    for c in np.unique(labels.classes):
        own = rng.permutation(np.flatnonzero(labels.classes == c))
        held.append(own[: min(len(own) - 1, max(1, round(fraction * len(own))))])
    check = np.sort(np.concatenate(held))
    if not len(check):
        raise ValueError(
            f"validation={fraction} cannot hold out a label where every class has one; label more rows or use None."
        )
    return Fold(np.setdiff1d(np.arange(len(labels)), check), check, unlabeled)


def read_validation_set(validation: tuple[Any, Any], classes: Any) -> tuple[Any, IntArray]:
    """A given set: its table and the class numbers of its rows."""
    X, y = validation
    targets = read_targets(y)
    if count_rows(X) != len(targets.codes):
        raise ValueError(f"validation must hold as many rows as labels, got {count_rows(X)} and {len(targets.codes)}.")
    if (unlabeled := int((targets.codes == UNLABELED).sum())) > 0:
        raise ValueError(f"validation must hold labeled rows only, got {unlabeled} unlabeled ones; drop them.")
    codes = np.searchsorted(classes, targets.classes)
    known = (codes < len(classes)) & (classes[np.minimum(codes, len(classes) - 1)] == targets.classes)
    if not known.all():
        raise ValueError(
            f"validation must hold labeled rows of the classes in y, got {targets.classes[~known].tolist()} beside"
            " them; drop those rows."
        )
    return X, codes[targets.codes]


def one_standard_error_round(checked: Checked) -> int:
    """The earliest round whose accuracy is within one standard error of the best round's."""
    accuracies = np.array(checked.accuracies)
    best = accuracies.max()
    error = np.sqrt(best * (1 - best) / checked.rounds.shape[1])
    return int(np.flatnonzero(accuracies >= best - error)[0])
