"""Mixup (Zhang et al. 2018) and label smoothing: what is mixed with what, and targets that can be mixed.

As in the authors' code: one weight per batch from Beta(α, α) with α = 1, and every image mixed with
a partner from the same batch. Weight and partners follow from a key such as
`draws.key(seed, "mixup", round, epoch, step)`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor
from torch.nn import functional

from curriculum_labeling.vision import draws


@dataclass(frozen=True)
class Mixup:
    """Image i becomes weight · image i + (1 - weight) · image partners[i], and so does its target."""

    weight: float
    partners: Tensor


def draw_mixup(size: int, *, key: int, alpha: float = 1.0) -> Mixup:
    """The mixup of a batch of this size."""
    if alpha <= 0:
        raise ValueError(f"alpha must be above 0, got {alpha}; leave mixup out instead.")
    generator = np.random.Generator(np.random.Philox(key=key % 2**64))
    return Mixup(float(generator.beta(alpha, alpha)), draws.permutation(key, size))


def soft_targets(targets: Tensor, classes: int, *, smoothing: float = 0.0) -> Tensor:
    """Targets as probabilities (n, classes), of which `smoothing` is spread over all classes.

    Hard targets are int64 of shape (n,); soft ones, already of shape (n, classes), are smoothed as they are.
    """
    if not 0 <= smoothing <= 1:
        raise ValueError(f"smoothing must be from 0 to 1, got {smoothing}; 0.1 is usual.")
    if targets.ndim == 1:
        targets = functional.one_hot(targets, classes).float()
    return targets * (1 - smoothing) + smoothing / classes
