"""Duplicates where they do harm: a labeled image among the unlabeled ones, or one image under two classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from curriculum_labeling.data.similar import Duplicates
from curriculum_labeling.labels import IntArray


@dataclass(frozen=True)
class Pair:
    """Two rows of one picture; `exact` where their pixels are the same."""

    row: int
    other: int
    exact: bool


def find_leaked(duplicates: Duplicates, labeled: IntArray, unlabeled: IntArray) -> tuple[Pair, ...]:
    """Every unlabeled row that is a duplicate, with the labeled row it repeats, an exact one if there is."""
    exact = _first_of_group(duplicates.exact, labeled)[duplicates.exact[unlabeled]]
    near = _first_of_group(duplicates.near, labeled)[duplicates.near[unlabeled]]
    found = np.where(exact >= 0, exact, near)
    hits = np.flatnonzero(found >= 0)
    return tuple(Pair(int(unlabeled[i]), int(found[i]), bool(exact[i] >= 0)) for i in hits)


def find_conflicts(duplicates: Duplicates, labels: IntArray, labeled: IntArray) -> tuple[Pair, ...]:
    """One pair of labeled rows with different classes per group of duplicates that has them, exact ones first."""
    exact = _conflicts(duplicates.exact, labels, labeled)
    known = {int(duplicates.near[row]) for row, _ in exact}
    near = [pair for pair in _conflicts(duplicates.near, labels, labeled) if int(duplicates.near[pair[0]]) not in known]
    return (*(Pair(*pair, exact=True) for pair in exact), *(Pair(*pair, exact=False) for pair in near))


def _conflicts(groups: IntArray, labels: IntArray, labeled: IntArray) -> list[tuple[int, int]]:
    first = _first_of_group(groups, labeled)[groups[labeled]]
    differs = np.flatnonzero(labels[first] != labels[labeled])
    _, once = np.unique(first[differs], return_index=True)
    return [(int(first[i]), int(labeled[i])) for i in differs[once]]


def _first_of_group(groups: IntArray, rows: IntArray) -> IntArray:
    """Per group number the first of these rows in it, or -1."""
    first = np.full(len(groups), -1, dtype=np.int64)
    first[groups[rows[::-1]]] = rows[::-1]
    return first
