"""A linear probe: multinomial logistic regression on the features of a frozen network.

Rounds weigh their rows as `CurriculumLabelingClassifier` does by default (see `estimators/weighting.py`):
a label counts as several pseudo-labels, classes keep the shares they have among the labels, and a
pseudo-label counts by its margin.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize

from curriculum_labeling.estimators.weighting import Weighting, row_weights
from curriculum_labeling.labels import FloatArray, IntArray, Labels, Scores
from curriculum_labeling.vision.checkpoint import Checkpoints, Store

Float32 = NDArray[np.float32]
ITERATIONS = 200
TOLERANCE = 1e-4
MOMENT_ROWS = 20_000
# Mean square length of a row after scaling, whatever the number of features; it gives the penalty its meaning.
NORM = 1000.0
# Rows × classes of logits held at once while fitting: a million rows of a thousand classes would be 4 GB each time.
CELLS_AT_ONCE = 1 << 24


@dataclass(frozen=True, eq=False)
class ProbeModel:
    """Weights (C, D) and biases (C,) over standardized features, and the features whose rows it scores."""

    features: Float32
    weight: Float32
    bias: Float32
    mean: Float32
    scale: Float32
    seconds: float = 0.0

    def logits(self, rows: IntArray) -> FloatArray:
        """Logits (n, C) of these rows, in float64."""
        x = (self.features[rows] - self.mean) / self.scale
        logits: FloatArray = (x @ self.weight.T + self.bias).astype(np.float64)
        return logits

    def score(self, rows: IntArray) -> Scores:
        """Class, confidence and runner-up of these rows."""
        parts = [Scores.from_logits(part, self.logits(part)) for part in _parts(np.asarray(rows, dtype=np.int64))]
        names = ("rows", "classes", "log_confidence", "runner_up", "runner_up_confidence")
        return Scores(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


@dataclass(frozen=True, eq=False)
class ProbeLearner:
    """Fits a new probe to labeled rows of a feature matrix (N, D).

    Parameters
    ----------
    features : float32 array of shape (N, D)
        In memory or memory-mapped.
    classes : int
        How many classes there are.
    penalty : float
        Of the squared weights.
    weighting : Weighting
        How much each row counts.
    folder : path, optional
        Where probes are kept: a fit to the same labels is then read back.
    stop : function, optional
        Asked before every fit; where it says True, a KeyboardInterrupt is raised.
    """

    features: Float32
    classes: int
    penalty: float = 1.0
    weighting: Weighting = field(default_factory=lambda: Weighting(3.0, True, True))
    folder: Path | None = None
    stop: Callable[[], bool] | None = None

    def __post_init__(self) -> None:
        mean, scale = _moments(self.features)
        object.__setattr__(self, "_mean", mean)
        object.__setattr__(self, "_scale", scale)

    def fit(self, labels: Labels, *, seed: int) -> ProbeModel:
        """A new probe, from zero weights; the problem is convex, so the seed changes nothing."""
        if self.stop is not None and self.stop():
            raise KeyboardInterrupt
        start = time.monotonic()
        mean, scale = self._mean, self._scale  # type: ignore[attr-defined]
        weights = row_weights(labels, np.ones(len(labels)), self.classes, self.weighting).astype(np.float32)
        store = None if self.folder is None else Store(Checkpoints(self.folder), self._name(labels, weights))
        saved = None if store is None else store.load()
        if saved is not None:
            weight, bias = (saved.tensors[name].numpy() for name in ("weight", "bias"))
            return ProbeModel(self.features, weight, bias, mean, scale, saved.progress["seconds"])
        x = self.features[labels.rows]
        x -= mean  # in place: beside features of many rows there may be no room for two more of their size
        x /= scale
        weight, bias = fit_softmax(x, labels.classes, weights, self.classes, self.penalty)
        seconds = time.monotonic() - start
        if store is not None:
            tensors = {"weight": torch.from_numpy(weight), "bias": torch.from_numpy(bias)}
            store.save("probe", tensors, {"seconds": seconds})
        return ProbeModel(self.features, weight, bias, mean, scale, seconds)

    def _name(self, labels: Labels, weights: Float32) -> str:
        """A name that differs wherever labels, their weights or the features do."""
        mark = blake2b(repr((self.penalty, self.classes, self.features.shape)).encode(), digest_size=8)
        for array in (labels.rows, labels.classes, weights, self._mean, self._scale):  # type: ignore[attr-defined]
            mark.update(np.ascontiguousarray(array).tobytes())
        return f"{len(labels):07d}-rows-{mark.hexdigest()}"


def fit_softmax(x: Float32, classes: IntArray, weights: Float32, count: int, penalty: float) -> tuple[Float32, Float32]:
    """Weights (C, D) and biases (C,) that minimize the weighted cross-entropy plus penalty/2 · |weights|².

    The loss is a sum over rows, so that the penalty counts for less as rows come in. It is summed
    over chunks of rows, in memory that does not grow with rows × classes.
    """
    n, d = x.shape
    size = max(1, CELLS_AT_ONCE // count)
    chunks = [slice(start, start + size) for start in range(0, n, size)]

    def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        table = flat.reshape(count, d + 1)
        gradient = np.zeros_like(table)
        gradient[:, :d] = penalty * table[:, :d]
        value = penalty / 2 * float((table[:, :d] ** 2).sum())
        for some in chunks:
            value += _add_chunk(table.astype(np.float32), x[some], classes[some], weights[some], gradient)
        return value, gradient.ravel()

    tolerance = TOLERANCE * float(weights.sum())
    options = {"maxiter": ITERATIONS, "gtol": tolerance, "ftol": 1e-9}
    found = minimize(loss, np.zeros(count * (d + 1)), jac=True, method="L-BFGS-B", options=options)
    table = found.x.reshape(count, d + 1).astype(np.float32)
    return np.ascontiguousarray(table[:, :d]), np.ascontiguousarray(table[:, d])


def _add_chunk(table: Float32, x: Float32, classes: IntArray, weights: Float32, gradient: NDArray[np.float64]) -> float:
    """The weighted cross-entropy of some rows; its gradient is added to `gradient`."""
    d = x.shape[1]
    rows = np.arange(len(x))
    z = x @ table[:, :d].T + table[:, d]
    z -= z.max(axis=1, keepdims=True)
    own = z[rows, classes]
    p = np.exp(z, out=z)
    total = p.sum(axis=1, keepdims=True)
    p /= total
    p[rows, classes] -= 1
    p *= weights[:, None]
    gradient[:, :d] += p.T @ x
    gradient[:, d] += p.sum(axis=0)
    return float((weights * (np.log(total[:, 0]) - own)).sum(dtype=np.float64))


def _moments(features: Float32) -> tuple[Float32, Float32]:
    """The mean of each feature, and one scale for all of them.

    A scale of its own for each feature was tried: it lifts those that vary little, which tell little
    (photos of waste, 20 labels a class: 70.0 % with labels only instead of 70.9 %).
    """
    sample = np.asarray(features[:: max(1, -(-len(features) // MOMENT_ROWS))], dtype=np.float64)
    mean = sample.mean(axis=0)
    spread = np.sqrt(((sample - mean) ** 2).sum(axis=1).mean() / NORM)
    return mean.astype(np.float32), np.full(len(mean), spread if spread > 0 else 1.0, dtype=np.float32)


def _parts(rows: IntArray, size: int = 4096) -> list[IntArray]:
    return [rows[start : start + size] for start in range(0, max(len(rows), 1), size)]
