"""Preprocessing fitted once on training rows: standardization per channel, and ZCA whitening.

Both take augmented uint8 batches and give the floats a network is trained on. Their parameters are
plain tensors, so that a saved model carries its preprocessing along.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from curriculum_labeling.labels import IntArray

CHUNK = 4096


@dataclass(frozen=True)
class Standardization:
    """(x / 255 - mean) / deviation, per channel."""

    mean: Tensor
    deviation: Tensor

    def __call__(self, images: Tensor) -> Tensor:
        """Float32 of the shape of the uint8 images (n, C, H, W), on their device."""
        mean, deviation = (one.to(images.device).view(1, -1, 1, 1) for one in (self.mean, self.deviation))
        return images.float().mul_(1 / (255 * deviation)).sub_(mean / deviation)

    @property
    def fill(self) -> tuple[int, ...]:
        """The mean color as grey levels: augmentation that fills with it fills with zeros."""
        return tuple(int(level) for level in (self.mean * 255).round())

    def tensors(self) -> dict[str, Tensor]:
        """What to save."""
        return {"mean": self.mean, "deviation": self.deviation}


@dataclass(frozen=True)
class Whitening:
    """ZCA: pixels decorrelated and scaled to variance 1, turned back so that images look like images."""

    mean: Tensor
    matrix: Tensor

    def __call__(self, images: Tensor) -> Tensor:
        """Float32 of the shape of the uint8 images (n, C, H, W), by one matrix product."""
        pixels = images.flatten(1)
        if pixels.shape[1] != len(self.mean):
            raise ValueError(f"images must have {len(self.mean)} values as when fitted, got {pixels.shape[1]}.")
        # (x/255 - mean) W = x (W/255) - mean W, without another pass over the pixels.
        matrix, mean = self.matrix.to(images.device), self.mean.to(images.device)
        return torch.addmm(-(mean @ matrix), pixels.float(), matrix, alpha=1 / 255).view(images.shape)

    def tensors(self) -> dict[str, Tensor]:
        """What to save."""
        return {"mean": self.mean, "matrix": self.matrix}


Preprocessing = Standardization | Whitening


def preprocessing_of(tensors: dict[str, Tensor]) -> Preprocessing:
    """The preprocessing behind saved tensors."""
    if set(tensors) == {"mean", "deviation"}:
        return Standardization(**tensors)
    if set(tensors) == {"mean", "matrix"}:
        return Whitening(**tensors)
    raise ValueError(
        f"preprocessing must be saved as mean and deviation, or as mean and matrix, got {sorted(tensors)}."
    )


def fit_standardization(images: Any, rows: IntArray) -> Standardization:
    """Mean and standard deviation per channel of these rows of uint8 images (N, C, H, W): array, memmap or tensor."""
    total, squares, count = torch.zeros(()), torch.zeros(()), 0
    for chunk in _chunks(images, rows):
        channels = chunk.double().div_(255).transpose(0, 1).flatten(1)
        total, squares = total + channels.sum(dim=1), squares + channels.square().sum(dim=1)
        count += channels.shape[1]
    mean = total / count
    deviation = (squares / count - mean.square()).clamp_(min=0).sqrt_()
    # A constant channel stays constant rather than turning infinite.
    deviation[deviation < 1e-6] = 1.0
    return Standardization(mean.float(), deviation.float())


def fit_whitening(images: Any, rows: IntArray, *, epsilon: float = 1e-2) -> Whitening:
    """ZCA of these rows of uint8 images (N, C, H, W), in two passes of one chunk of memory each.

    `epsilon` is added to the variances of pixels in 0 … 1, so that directions that hold only noise
    are not blown up.
    """
    if epsilon <= 0:
        raise ValueError(f"epsilon must be above 0, got {epsilon}; 0.01 suits natural images.")
    mean = sum(chunk.flatten(1).double().sum(dim=0) for chunk in _chunks(images, rows)) / (255 * len(rows))
    assert isinstance(mean, Tensor)
    covariance = torch.zeros(len(mean), len(mean), dtype=torch.float64)
    for chunk in _chunks(images, rows):
        centered = chunk.flatten(1).float().div_(255).sub_(mean.float())
        covariance += centered.T @ centered
    variances, directions = torch.linalg.eigh(covariance / len(rows))
    scale = (variances.clamp_(min=0) + epsilon).rsqrt_()
    return Whitening(mean.float(), ((directions * scale) @ directions.T).float())


def _chunks(images: Any, rows: IntArray) -> Iterator[Tensor]:
    """These rows, a chunk at a time, as uint8 tensors."""
    if len(rows) == 0:
        raise ValueError("rows must name at least one training row to fit preprocessing on, got none.")
    rows = np.asarray(rows)
    for start in range(0, len(rows), CHUNK):
        chunk = torch.as_tensor(images[rows[start : start + CHUNK]])
        if chunk.dtype != torch.uint8 or chunk.ndim != 4:
            raise ValueError(f"images must be uint8 of shape (N, C, H, W), got {chunk.dtype} with {chunk.ndim} axes.")
        yield chunk
