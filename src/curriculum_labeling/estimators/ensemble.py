"""What is delivered: one round's model, or labels only and the curriculum averaged."""

from __future__ import annotations

import numpy as np

from curriculum_labeling.labels import FloatArray

COMBINES = ("average", "last", "best")


def round_weights(rounds: int, combine: str, best: int | None = None) -> tuple[float, ...]:
    """The weight of each round's model, round 0 first.

    "average" gives labels only one half and the later rounds the other: errors that pseudo-labels
    confirm and errors of few labels are different errors.
    """
    if combine == "best" and best is not None:
        return tuple(float(t == best) for t in range(rounds))
    if combine == "average" and rounds > 1:
        return (0.5, *[0.5 / (rounds - 1)] * (rounds - 1))
    return tuple(float(t == rounds - 1) for t in range(rounds))


def weights_beyond_doubt(weights: tuple[float, ...], *, helped: bool) -> tuple[float, ...]:
    """Labels only where the curriculum harmed; an average without labels only where it helped."""
    if not helped:
        return (1.0, *[0.0] * (len(weights) - 1))
    later = sum(weights[1:])
    return weights if not later else (0.0, *[weight / later for weight in weights[1:]])


def name_of(weights: tuple[float, ...]) -> str | int:
    """What is delivered: labels only, one round, an average of all, or of the later rounds."""
    if max(weights) > 1 - 1e-12:
        return weights.index(max(weights)) or "labels-only"
    return "average" if weights[0] else "later rounds"


def sum_weighted(tables: list[FloatArray], weights: tuple[float, ...]) -> FloatArray:
    """Weighted sum of tables of one shape."""
    total = np.zeros_like(tables[0])
    for table, weight in zip(tables, weights, strict=True):
        total += weight * table
    return total
