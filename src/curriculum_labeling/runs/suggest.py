"""What to label next: images the model is unsure of, unlike one another and unlike what is labeled.

From a pool of the most uncertain rows the next one is always that with the highest product of
uncertainty and distance to all labeled and chosen rows: farthest-first, weighted by doubt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curriculum_labeling.data.foreign import take_rows
from curriculum_labeling.labels import BoolArray, FloatArray, IntArray, Scores

POOL_FACTOR, LEAST_POOL = 10, 1000
# Foreign images are farthest from everything and would fill the list; most may be of no class at all.
FOREIGN_SHARE = 0.2
DOUBT = 0.5  # below this margin a row counts as undecided between two classes
CHUNK = 1 << 22

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Suggestion:
    """A row worth a label, and why."""

    row: int
    reason: str


def suggest(
    scores: Scores,
    n: int,
    *,
    classes: Sequence[str],
    features: Any,
    labeled: IntArray,
    flips: Any = None,
    foreign: Any = None,
    groups: Any = None,
) -> tuple[Suggestion, ...]:
    """The n rows most worth labeling next, best first; fewer where there are not so many.

    Parameters
    ----------
    scores : Scores
        What the model thinks of the unlabeled rows.
    n : int
        How many rows to suggest.
    classes : sequence of str
        The name of each class.
    features : float array of shape (N, D)
        Features of all rows, labeled ones included; also memory-mapped.
    labeled : int array
        Rows that have labels.
    flips : int array, optional
        How often the class of each row of `scores` changed between rounds.
    foreign : bool array, optional
        Rows of `scores` that look unlike anything labeled: at most a fifth of the suggestions, and marked.
    groups : int array of shape (N,), optional
        Duplicates share a number: one of each group is suggested, none that repeats a labeled row.
    """
    flips = _per_score(flips, scores, "flips", np.int64)
    foreign = _per_score(foreign, scores, "foreign", np.bool_)
    if n < 0:
        raise ValueError(f"n must be 0 or more suggestions, got {n}.")
    doubt = _doubt(scores, flips)
    free = _one_per_group(scores.rows, doubt, groups, labeled)
    pool = _pool(free, doubt, foreign, n)
    chosen = _farthest_first(features, scores.rows[pool], labeled, doubt[pool], foreign[pool], n)
    return tuple(
        Suggestion(int(scores.rows[i]), _reason(scores, i, classes, int(flips[i]), bool(foreign[i])))
        for i in pool[chosen].tolist()
    )


def _doubt(scores: Scores, flips: IntArray) -> FloatArray:
    """From 0 (certain) to 1: a small margin between the first two classes, or a class that kept changing."""
    margin = np.clip(scores.confidence - scores.runner_up_confidence, 0, 1)
    doubt: FloatArray = np.maximum(1 - margin, flips / (flips + 1))
    return doubt


def _one_per_group(rows: IntArray, doubt: FloatArray, groups: Any, labeled: IntArray) -> IntArray:
    """Positions by falling doubt, the first of each group of duplicates only, none of a labeled group."""
    order = np.argsort(-doubt, kind="stable")
    if groups is None:
        return order
    own = np.asarray(groups, dtype=np.int64)
    order = order[~np.isin(own[rows[order]], own[labeled])]
    _, first = np.unique(own[rows[order]], return_index=True)
    return order[np.sort(first)]


def _pool(order: IntArray, doubt: FloatArray, foreign: BoolArray, n: int) -> IntArray:
    """The most uncertain positions, and the foreign ones that may be suggested."""
    size = max(POOL_FACTOR * n, LEAST_POOL)
    known, strangers = order[~foreign[order]], order[foreign[order]]
    together = np.concatenate([known[:size], strangers[:size]])
    return together[np.argsort(-doubt[together], kind="stable")]


def _farthest_first(
    features: Any, rows: IntArray, labeled: IntArray, doubt: FloatArray, foreign: BoolArray, n: int
) -> IntArray:
    """Positions in `rows`, in the order in which they are chosen."""
    directions = _directions(features, rows)
    distance = _to_nearest(directions, features, labeled)
    strangers = int(np.ceil(FOREIGN_SHARE * n))
    if foreign.all():
        strangers = n
    open_rows = np.ones(len(rows), dtype=bool)
    chosen: list[int] = []
    while len(chosen) < n and open_rows.any():
        # A hair of distance keeps the order of doubt where all features are the same.
        worth = np.where(open_rows, doubt * (distance + 1e-6) + 1e-12, -1.0)
        best = int(worth.argmax())
        chosen.append(best)
        open_rows[best] = False
        if foreign[chosen].sum() >= strangers:
            open_rows &= ~foreign
        distance = np.minimum(distance, _apart(directions @ directions[best]))
    return np.array(chosen, dtype=np.int64)


def _to_nearest(directions: Floats, features: Any, labeled: IntArray) -> Floats:
    """Distance of each direction to the nearest labeled one, 1 where nothing is labeled."""
    nearest = np.ones(len(directions), dtype=np.float32)
    size = max(1, CHUNK // max(1, len(directions), directions.shape[1]))
    for start in range(0, len(labeled), size):
        known = _directions(features, labeled[start : start + size])
        nearest = np.minimum(nearest, _apart((directions @ known.T).max(axis=1, initial=-1.0)))
    return nearest


def _apart(cosine: Floats) -> Floats:
    """Length of the chord between unit vectors, scaled to [0, 1]."""
    chord: Floats = np.sqrt(np.clip((1 - cosine) / 2, 0, 1))
    return chord


def _directions(features: Any, rows: IntArray) -> Floats:
    taken = take_rows(features, rows)
    length = np.linalg.norm(taken, axis=1, keepdims=True)
    return np.asarray(taken / np.where(length > 0, length, 1), dtype=np.float32)


def _reason(scores: Scores, i: int, classes: Sequence[str], flips: int, foreign: bool) -> str:
    first, second = classes[scores.classes[i]], classes[scores.runner_up[i]]
    confidence, runner_up = float(scores.confidence[i]), float(scores.runner_up_confidence[i])
    reasons = ["unlike anything labeled"] if foreign else []
    if confidence - runner_up < DOUBT and first != second:
        reasons.append(f"between {first} and {second} ({confidence:.2f} to {runner_up:.2f})")
    if flips > 0:
        reasons.append(f"changed class {'once' if flips == 1 else f'{flips} times'}")
    return ", ".join(reasons) or f"probably {first} ({confidence:.2f}), among the least certain"


def _per_score(values: Any, scores: Scores, name: str, kind: Any) -> NDArray[Any]:
    if values is None:
        return np.zeros(len(scores), dtype=kind)
    array = np.asarray(values, dtype=kind)
    if array.shape != (len(scores),):
        raise ValueError(f"{name} must have one entry per scored row, got shape {array.shape} for {len(scores)} rows.")
    return array
