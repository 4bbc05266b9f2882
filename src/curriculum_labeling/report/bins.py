"""How sure the model was against how often it was right, in bins of confidence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from curriculum_labeling.labels import BoolArray, FloatArray, IntArray

BINS = 10
KNOTS = 256


@dataclass(frozen=True, eq=False)
class Reliability:
    """Bins that hold labels: their middle, mean stated confidence, share right, and labels in each."""

    places: FloatArray
    stated: FloatArray
    right: FloatArray
    counts: IntArray

    @property
    def gap(self) -> float:
        """Expected calibration error: the mean distance of stated from right, weighted by labels."""
        return float(np.average(np.abs(self.stated - self.right), weights=self.counts))


def reliability(confidence: FloatArray, right: BoolArray) -> Reliability:
    """Ten bins of equal width; empty ones are left out."""
    number = np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
    counts = np.bincount(number, minlength=BINS)
    filled = counts > 0
    stated = np.bincount(number, confidence, BINS)[filled] / counts[filled]
    share = np.bincount(number, right.astype(float), BINS)[filled] / counts[filled]
    return Reliability((np.arange(BINS)[filled] + 0.5) / BINS, stated, share, counts[filled])


def calibrated(confidence: FloatArray, known: FloatArray, probability: FloatArray) -> FloatArray | None:
    """Probabilities for these confidences, read off rows where both are known; None where none are.

    The temperature acts on all class scores, of which only the highest is stored for held-out
    labels; over many unlabeled rows, confidence and probability of the same model show the map.
    """
    both = np.isfinite(known) & np.isfinite(probability)
    if not both.any():
        return None
    order = np.argsort(known[both], kind="stable")
    x, y = known[both][order], probability[both][order]
    parts = np.array_split(np.arange(len(x)), min(KNOTS, len(x)))
    knots = np.array([[x[part].mean(), y[part].mean()] for part in parts])
    return np.asarray(np.clip(np.interp(confidence, knots[:, 0], knots[:, 1]), 0.0, 1.0))
