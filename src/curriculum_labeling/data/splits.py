"""Which rows are labeled, held out or unlabeled: drawn per class from a seed, saved, and checked when reloaded.

Each class is put in an order that depends on the seed and the class alone, made from a bit
generator's raw output, which no platform or numpy version changes. Validation rows are its
beginning and labeled rows follow, so one seed gives nested labeled sets over one validation set.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from curriculum_labeling.labels import BoolArray, IntArray, Split

# Per class (labeled, validation), as in the paper; ImageNet's are 10 % of its 1,281,167 images.
PAPER = {"cifar10": (400, 500), "svhn": (100, 100), "imagenet": (102, 26)}
CIFAR10_ANIMALS = (2, 3, 4, 5, 6, 7)
ROWS_OF_CLASS, ORDER_OF_CLASSES = 0, 1


@dataclass(frozen=True)
class ForeignSplit:
    """A split whose unlabeled rows partly belong to classes that have no labels.

    `labels` numbers the known classes 0 … K-1 and gives -1 to every row of another class; `known`
    and `unlabeled_classes` are class numbers of the original data, and `foreign` is the part of the
    unlabeled classes that is not known.
    """

    split: Split
    labels: IntArray
    known: tuple[int, ...]
    unlabeled_classes: tuple[int, ...]
    foreign: tuple[int, ...]


def draw_split(labels: Any, *, labeled: int | float, validation: int | float, seed: int, test: Any = ()) -> Split:
    """Labeled and validation rows of every class, the rest unlabeled; rows of `test` are kept out of all three.

    A count is a number of rows per class, or a fraction below 1 of each class. Rows whose class is
    unknown (-1) are unlabeled.
    """
    labels = np.asarray(labels, dtype=np.int64)
    test_rows = _row_numbers(test, len(labels))
    free = np.ones(len(labels), dtype=bool)
    free[test_rows] = False
    chosen: dict[str, list[IntArray]] = {"labeled": [], "validation": []}
    for c in np.unique(labels[free & (labels >= 0)]):
        order = _class_order(labels, free, int(c), seed)
        held, given = _count(validation, len(order), "validation"), _count(labeled, len(order), "labeled")
        _check_enough(int(c), len(order), given, held)
        chosen["validation"].append(order[:held])
        chosen["labeled"].append(order[held : held + given])
    if not chosen["labeled"]:
        raise ValueError("labels must hold at least one known class to draw labeled rows from, got only -1.")
    parts = {name: np.sort(np.concatenate(rows)) for name, rows in chosen.items()}
    free[np.concatenate(list(parts.values()))] = False
    return Split(unlabeled=np.flatnonzero(free), test=test_rows, **parts)


def draw_foreign_split(
    labels: Any,
    *,
    foreign: float,
    seed: int,
    known: tuple[int, ...] = CIFAR10_ANIMALS,
    unlabeled_classes: int = 4,
    labeled: int = 400,
    validation: int = 500,
    test: Any = (),
) -> ForeignSplit:
    """The paper's out-of-distribution split (Figure 3): this share of the unlabeled classes has no labels.

    All shares of one seed have the same labeled and validation rows and as many unlabeled rows; each
    step replaces known classes by foreign ones. Rows of `test` count where their class is known.
    """
    labels = np.asarray(labels, dtype=np.int64)
    strangers = _strangers(labels, known, unlabeled_classes, foreign)
    chosen = _foreign_classes(labels, known, seed)[:strangers]
    familiar = _shuffled(np.asarray(known), (seed, ORDER_OF_CLASSES, 0))[: unlabeled_classes - strangers]
    classes = tuple(sorted(int(c) for c in (*familiar, *chosen)))
    numbers = np.full(int(labels.max()) + 2, -1, dtype=np.int64)
    numbers[list(known)] = np.arange(len(known))
    renumbered = numbers[labels]  # an unknown label, -1, finds the last entry, which is -1
    test_rows = _row_numbers(test, len(labels))
    whole = draw_split(labels, labeled=labeled, validation=validation, seed=seed, test=test_rows)
    unlabeled = _equal_shares(labels, whole.unlabeled, classes, seed)
    is_known = renumbered >= 0
    split = Split(
        labeled=whole.labeled[is_known[whole.labeled]],
        unlabeled=unlabeled,
        validation=whole.validation[is_known[whole.validation]],
        test=test_rows[is_known[test_rows]],
    )
    return ForeignSplit(split, renumbered, tuple(known), classes, tuple(sorted(int(c) for c in chosen)))


def _equal_shares(labels: IntArray, rows: IntArray, classes: tuple[int, ...], seed: int) -> IntArray:
    """As many rows of each class as the smallest of *all* classes has, whichever are asked for."""
    free = np.zeros(len(labels), dtype=bool)
    free[rows] = True
    left = labels[rows][labels[rows] >= 0]
    share = np.bincount(left, minlength=int(labels.max()) + 1)[np.unique(labels[labels >= 0])].min()
    return np.sort(np.concatenate([_class_order(labels, free, c, seed)[:share] for c in classes]))


def _strangers(labels: IntArray, known: tuple[int, ...], unlabeled_classes: int, foreign: float) -> int:
    """How many of the unlabeled classes are foreign."""
    strangers = round(foreign * unlabeled_classes)
    if not 0 <= foreign <= 1 or abs(strangers - foreign * unlabeled_classes) > 1e-9:
        steps = ", ".join(f"{k / unlabeled_classes:g}" for k in range(unlabeled_classes + 1))
        raise ValueError(f"foreign must be one of {steps} with {unlabeled_classes} unlabeled classes, got {foreign}.")
    present = set(np.unique(labels[labels >= 0]).tolist())
    if not set(known) <= present or len(set(known)) != len(known):
        raise ValueError(f"known must name classes of the labels, each once, got {known} for {sorted(present)}.")
    others = len(present - set(known))
    if strangers > others or unlabeled_classes - strangers > len(known):
        raise ValueError(
            f"unlabeled_classes must be at most the {len(known)} known and {others} other classes there are, "
            f"got {unlabeled_classes} of which {strangers} are foreign."
        )
    return strangers


def _foreign_classes(labels: IntArray, known: tuple[int, ...], seed: int) -> IntArray:
    others = np.setdiff1d(labels[labels >= 0], known)
    return _shuffled(others, (seed, ORDER_OF_CLASSES, 1))


def _class_order(labels: IntArray, free: BoolArray, c: int, seed: int) -> IntArray:
    """The free rows of a class in the order in which this seed draws them."""
    return _shuffled(np.flatnonzero(free & (labels == c)), (seed, ROWS_OF_CLASS, c))


def _shuffled(values: IntArray, key: tuple[int, ...]) -> IntArray:
    if key[0] < 0:
        raise ValueError(f"seed must be a whole number, at least 0, got {key[0]}.")
    raw = np.random.PCG64(np.random.SeedSequence(key)).random_raw(len(values))
    return values[np.argsort(raw, kind="stable")]


def _count(count: int | float, rows: int, name: str) -> int:
    if isinstance(count, float):
        if not 0 <= count < 1:
            raise ValueError(f"{name} must be a fraction from 0 to below 1, or a whole number of rows, got {count}.")
        return round(count * rows)
    if count < 0:
        raise ValueError(f"{name} must be a number of rows per class, at least 0, got {count}.")
    return count


def _check_enough(c: int, rows: int, labeled: int, validation: int) -> None:
    if labeled + validation > rows:
        raise ValueError(
            f"labeled and validation must not ask for more rows than a class has, got {labeled} + {validation} "
            f"where class {c} has {rows}; lower one of them."
        )


def _row_numbers(rows: Any, n: int) -> IntArray:
    numbers = np.sort(np.asarray(rows, dtype=np.int64))
    if len(numbers) and not (numbers[0] >= 0 and numbers[-1] < n):
        raise ValueError(f"test must name rows from 0 to {n - 1}, got {numbers[0]} to {numbers[-1]}.")
    return numbers
