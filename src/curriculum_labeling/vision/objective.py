"""What a step minimizes: a small function from a network and a batch to a loss.

The objective knows nothing of files, rounds or optimizers. A method whose loss also uses unlabeled
images would be another such function, given to training in the place of `cross_entropy`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from curriculum_labeling.labels import FloatArray, IntArray, Labels
from curriculum_labeling.vision.mixup import soft_targets

LabelKind = Literal["hard", "soft"]
ClassWeights = Literal["none", "inverse"]


@dataclass(frozen=True)
class Batch:
    """A piece of a step, ready for the network.

    Parameters
    ----------
    images : float tensor of shape (n, C, H, W)
        Augmented, preprocessed and mixed.
    targets : float tensor of shape (n, classes)
        Probabilities.
    weights : float tensor of shape (classes,), optional
        How much each class counts.
    size : int
        Rows of the whole step. Losses are divided by it, so that the pieces of a step add up to the
        loss of the step.
    """

    images: Tensor
    targets: Tensor
    weights: Tensor | None
    size: int


# The network, or its compiled form.
Forward = Callable[[Tensor], Tensor]
Objective = Callable[[Forward, Batch], Tensor]


def cross_entropy(network: Forward, batch: Batch) -> Tensor:
    """What this piece adds to the step's mean cross-entropy."""
    logs = functional.log_softmax(network(batch.images).float(), dim=1)
    targets = batch.targets if batch.weights is None else batch.targets * batch.weights
    return -(targets * logs).sum() / batch.size


def targets_of(
    labels: Labels, positions: IntArray, classes: int, *, kind: LabelKind = "hard", smoothing: float = 0.0
) -> Tensor:
    """Targets (n, classes) of these entries of the labels.

    A soft pseudo-label has the scoring model's confidence on its first and second choice and spreads
    the rest evenly over the other classes; given labels are always certain.
    """
    hard = torch.from_numpy(labels.classes[positions])
    if kind == "hard":
        return soft_targets(hard, classes, smoothing=smoothing)
    first, second = labels.confidence[positions], labels.runner_up_confidence[positions]
    given = positions < labels.given
    first, second = np.where(given, 1.0, first), np.where(given, 0.0, second)
    rest = np.maximum(1 - first - second, 0) / max(classes - 2, 1)
    targets = np.repeat(rest[:, None], classes, axis=1)
    each = np.arange(len(positions))
    targets[each, labels.runner_up[positions]] = second
    targets[each, labels.classes[positions]] = first
    targets /= targets.sum(axis=1, keepdims=True)
    return soft_targets(torch.from_numpy(targets).float(), classes, smoothing=smoothing)


def weights_of(labels: Labels, classes: int, kind: ClassWeights) -> FloatArray | None:
    """Class weights: none, or (N - n_c) / n_c as in the authors' code, scaled to a mean of 1 over the rows."""
    if kind == "none":
        return None
    counts = np.bincount(labels.classes, minlength=classes).astype(np.float64)
    weights = np.where(counts > 0, (counts.sum() - counts) / np.maximum(counts, 1), 0.0)
    total = float(weights @ counts)
    # With rows of a single class there is nothing to balance.
    return np.ones(classes) if total == 0 else weights * (counts.sum() / total)
