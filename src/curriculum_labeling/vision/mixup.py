"""Mixup (Zhang et al. 2018), label smoothing, and the cross-entropy that goes with both.

As in the authors' code: one weight per batch from Beta(α, α) with α = 1, and every image mixed with
a partner from the same batch. Weight and partners follow from a key such as
`draws.key(seed, "mixup", round, epoch, step)`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
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


def mix(values: Tensor, mixup: Mixup) -> Tensor:
    """Float images, or soft targets, mixed with their partners."""
    if not values.is_floating_point():
        raise TypeError(f"values must be floats to be mixed, got {values.dtype}; turn classes into soft targets first.")
    if len(values) != len(mixup.partners):
        raise ValueError(f"values must have one entry per partner, got {len(values)} for {len(mixup.partners)}.")
    partners = values.index_select(0, mixup.partners.to(values.device))
    return torch.lerp(partners, values, mixup.weight)


def soft_targets(targets: Tensor, classes: int, *, smoothing: float = 0.0) -> Tensor:
    """Targets as probabilities (n, classes), of which `smoothing` is spread over all classes.

    Hard targets are int64 of shape (n,); soft ones, already of shape (n, classes), are smoothed as they are.
    """
    if not 0 <= smoothing <= 1:
        raise ValueError(f"smoothing must be from 0 to 1, got {smoothing}; 0.1 is usual.")
    if targets.ndim == 1:
        targets = functional.one_hot(targets, classes).float()
    return targets * (1 - smoothing) + smoothing / classes


def soft_cross_entropy(logits: Tensor, targets: Tensor, *, weights: Tensor | None = None) -> Tensor:
    """Mean over the batch of -Σ target · log-probability, with optional weights per class, as torch weighs them."""
    return functional.cross_entropy(logits, targets, weight=weights)


def mixed_cross_entropy(logits: Tensor, targets: Tensor, mixup: Mixup, *, smoothing: float = 0.0) -> Tensor:
    """The loss of a mixed batch, whose targets (hard or soft) are still those of the unmixed one."""
    soft = soft_targets(targets, logits.shape[1], smoothing=smoothing)
    return soft_cross_entropy(logits, mix(soft, mixup))
