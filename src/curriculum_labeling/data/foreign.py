"""Images that look foreign: much farther from every labeled image than labeled images are from one another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curriculum_labeling.labels import BoolArray, IntArray

Floats = NDArray[np.float32]
Place = Callable[[Floats], Floats]

# So many spreads of the labeled rows' log distances; of TrashNet's photos 0 to 4 in a thousand lie beyond.
FAR = 3.6
# With fewer labels than about this, the spread itself is hardly known, and the bound moves out.
FEW = 20
FLAGGED = 0.99
LEAST_SPREAD = 0.03
MOST_LABELED = 5000
CELLS_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class Foreign:
    """Per row a score from 0 (like the labeled images) towards 1; at 0.99 and above it is flagged."""

    scores: NDArray[np.float64]

    @property
    def flagged(self) -> BoolArray:
        """Rows far outside of what labeled rows are among themselves."""
        flagged: BoolArray = self.scores >= FLAGGED
        return flagged


def foreign_scores(features: Any, labeled: IntArray, rows: IntArray, *, embedded: bool = True) -> Foreign:
    """How foreign these rows look beside the labeled rows; all 0 where fewer than three labeled rows differ.

    Parameters
    ----------
    features : float array of shape (N, D)
        Embeddings, compared by direction; or, with `embedded` off, measures such as those of
        `describe_pixels`, each scaled by its spread over the labeled rows.
    labeled, rows : int arrays
        Row numbers of the features.
    """
    known = take_rows(features, _thinned(labeled))
    if not known.size or not len(rows):
        return Foreign(np.zeros(len(rows)))
    place = _directions if embedded else _scaling(known)
    known = place(known)
    own = _nearest(known, known, itself=True)
    own = np.log(own[own > 1e-3 * np.median(own)])  # of two equal labeled rows neither says what is usual
    if len(own) < 3:
        return Foreign(np.zeros(len(rows)))
    usual = float(np.median(own))
    above = own[own > usual] - usual  # the near side is long where there are duplicates, and tells nothing
    deviation = max(float(np.sqrt(np.mean(above**2))) if len(above) else 0.0, LEAST_SPREAD)
    bound = FAR * deviation * (1 + (FEW / len(own)) ** 2)
    excess = (np.log(np.maximum(_distances(features, rows, known, place), 1e-12)) - usual) / bound
    return Foreign(1 - (1 - FLAGGED) ** np.maximum(excess.astype(np.float64), 0))


def _scaling(known: Floats) -> Place:
    """Each measure centered and divided by its spread over the labeled rows."""
    middle, spread = known.mean(axis=0), known.std(axis=0)
    # A measure that hardly varies among few labels may vary elsewhere.
    spread = np.maximum(spread, 0.5 * spread.mean() + np.finfo(np.float32).tiny)
    return lambda rows: (rows - middle) / spread


def _directions(rows: Floats) -> Floats:
    """Unit vectors of the signed roots: a few strong activations do not outweigh all others."""
    roots = np.sign(rows) * np.sqrt(np.abs(rows))
    length = np.linalg.norm(roots, axis=1, keepdims=True)
    return np.asarray(roots / np.where(length > 0, length, 1), dtype=np.float32)


def _distances(features: Any, rows: IntArray, known: Floats, place: Place) -> Floats:
    """Distance of each row to its nearest labeled one, in bounded memory."""
    size = max(1, CELLS_AT_ONCE // max(len(known), known.shape[1]))
    parts = [
        _nearest(place(take_rows(features, rows[start : start + size])), known) for start in range(0, len(rows), size)
    ]
    return np.concatenate(parts)


def _nearest(rows: Floats, known: Floats, *, itself: bool = False) -> Floats:
    """Distance to the nearest known row; with `itself`, to the nearest other one."""
    nearest = np.empty(len(rows), dtype=np.float32)
    size = max(1, CELLS_AT_ONCE // len(known))
    squares = np.einsum("nd,nd->n", known, known)
    for start in range(0, len(rows), size):
        some = rows[start : start + size]
        table = squares - 2 * (some @ known.T) + np.einsum("nd,nd->n", some, some)[:, None]
        if itself:
            table[np.arange(len(some)), start + np.arange(len(some))] = np.inf
        nearest[start : start + size] = np.sqrt(np.maximum(table.min(axis=1), 0))
    return nearest


def _thinned(labeled: IntArray) -> IntArray:
    """At most so many labeled rows, evenly chosen: more would only cost time."""
    if len(labeled) <= MOST_LABELED:
        return labeled
    return labeled[np.linspace(0, len(labeled) - 1, MOST_LABELED).astype(np.int64)]


def take_rows(features: Any, rows: IntArray) -> Floats:
    """These rows of a feature matrix, also of a memory-mapped one, as finite float32."""
    taken = np.asarray(features[rows], dtype=np.float32)
    if not np.isfinite(taken).all():
        bad = int((~np.isfinite(taken).all(axis=1)).sum())
        raise ValueError(f"features must be finite, got NaN or infinity in {bad} of {len(taken)} rows.")
    return taken
