"""Parts held out of the labeled rows: balanced over classes, with duplicates on one side.

A class always keeps a row to train on: what cannot be spread is never held out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from curriculum_labeling.labels import BoolArray, IntArray

NEVER = -1


def split_folds(classes: Any, groups: Any, folds: int, *, seed: int) -> IntArray:
    """The fold, 0 … folds-1, in which each row is held out; -1 for rows that always stay in training.

    Parameters
    ----------
    classes : int array of shape (n,)
        Class numbers, 0 and up.
    groups : int array of shape (n,)
        Rows of one number are duplicates and share a fold.
    folds : int
        At least 2.
    """
    classes, groups = _checked(classes, groups)
    if folds < 2:
        raise ValueError(f"folds must be at least 2, got {folds}.")
    members = _shuffled_groups(groups, seed)
    counts = np.zeros((folds, int(classes.max(initial=0)) + 1), dtype=np.int64)
    fold = np.full(len(classes), NEVER, dtype=np.int64)
    # Large groups first, while there is room to even them out.
    for rows in sorted(members, key=len, reverse=True):
        own = np.unique(classes[rows])
        best = int(np.lexsort((counts.sum(axis=1), counts[:, own].sum(axis=1)))[0])
        fold[rows] = best
        np.add.at(counts[best], classes[rows], 1)
    return _keep_every_class(fold, classes, groups)


def holdout(classes: Any, groups: Any, share: float, *, seed: int) -> BoolArray:
    """A mask of rows to hold out: about this share of each class, no duplicate of a training row among them."""
    classes, groups = _checked(classes, groups)
    if not 0 < share < 1:
        raise ValueError(f"share must lie between 0 and 1, got {share}.")
    sizes = np.bincount(classes, minlength=1)
    room = np.minimum(np.round(share * sizes).astype(np.int64), sizes - 1)
    held = np.zeros(len(classes), dtype=bool)
    for rows in _shuffled_groups(groups, seed):
        wanted = np.bincount(classes[rows], minlength=len(sizes))
        if (wanted <= room).all():
            held[rows] = True
            room -= wanted
    return held


def _keep_every_class(fold: IntArray, classes: IntArray, groups: IntArray) -> IntArray:
    """Take one group of a class out of the folds where a single fold would hold the whole class."""
    for c in np.unique(classes):
        own = np.flatnonzero(classes == c)
        if fold[own].min() != NEVER and len(np.unique(fold[own])) == 1:
            fold[groups == groups[own[0]]] = NEVER
    return fold


def _shuffled_groups(groups: IntArray, seed: int) -> list[IntArray]:
    """Rows of each group, the groups in an order that depends on the seed alone."""
    if seed < 0:
        raise ValueError(f"seed must be a whole number, at least 0, got {seed}.")
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order])) + 1
    members = np.split(order, starts) if len(order) else []
    raw = np.random.PCG64(np.random.SeedSequence(seed)).random_raw(len(members))
    return [members[i] for i in np.argsort(raw, kind="stable")]


def _checked(classes: Any, groups: Any) -> tuple[IntArray, IntArray]:
    classes, groups = np.asarray(classes, dtype=np.int64), np.asarray(groups, dtype=np.int64)
    if classes.shape != groups.shape or classes.ndim != 1:
        raise ValueError(
            f"classes and groups must be two lists of one length, got shapes {classes.shape} and {groups.shape}."
        )
    if len(classes) and classes.min() < 0:
        raise ValueError(f"classes must be 0 or more, got {classes.min()}; give labeled rows only.")
    return classes, groups
