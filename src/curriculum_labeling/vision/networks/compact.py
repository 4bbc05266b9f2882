"""A small network for CPUs and small images: 295,082 parameters for 10 classes of color images.

A first layer that whitens patches, then three pairs of 3×3 convolutions, each pooled after its first
one. The first layer is computed from images by `adapt` and stays as it is: training does not have to
find it, and no gradient goes through it, which saves a sixth of the time. Pooling early halves the
work of a pair, ReLU works in place and needs no exponential, and all layers run in channels_last.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

WIDTH = 32
# Added to the variance of a direction of patches (of standardized pixels): noise is not blown up.
EPSILON = 5e-4
# Whitening is rounded to this many decimals, so that the number of threads does not show in it.
DECIMALS = 5
CHUNK = 128
# Below this, odd sides are rounded up when pooled, or nothing would be left of the image.
SMALL = 16


class Compact(nn.Module):
    """Whitened patches, pairs of 1, 2 and 4 times `width` channels, then a global average and a linear layer."""

    def __init__(self, classes: int, channels: int = 3, image_size: int = 32, *, width: int = WIDTH) -> None:
        super().__init__()
        # 2 × 2 patches of colors have 12 directions; grey ones have 4, so there 3 × 3 are taken.
        size = 2 if channels > 1 else 3
        self.whitening = nn.Conv2d(channels, 2 * channels * size * size, size, bias=False)
        self.whitening.weight.requires_grad_(False)
        layers: list[nn.Module] = []
        before = self.whitening.out_channels
        for wide in (width, 2 * width, 4 * width):
            pool = nn.MaxPool2d(2, ceil_mode=image_size < SMALL)
            layers += [_convolution(before, wide), pool, nn.BatchNorm2d(wide), nn.ReLU(inplace=True)]
            layers += [_convolution(wide, wide), nn.BatchNorm2d(wide), nn.ReLU(inplace=True)]
            before = wide
        self.features = nn.Sequential(*layers)
        self.linear = nn.Linear(before, classes)

    @torch.no_grad()
    def adapt(self, images: Tensor) -> None:
        """Compute the first layer from preprocessed images (n, channels, H, W): every direction and its opposite."""
        covariance, count = torch.zeros(()).double(), 0
        for part in torch.split(images.cpu().double(), CHUNK):
            patches = functional.unfold(part, self.whitening.kernel_size).transpose(0, 1).flatten(1)
            covariance, count = covariance + patches @ patches.T, count + patches.shape[1]
        variances, directions = np.linalg.eigh((covariance / count).numpy())
        # Eigenvectors come with either sign; the largest part of each is made positive.
        largest = np.take_along_axis(directions, np.abs(directions).argmax(axis=0)[None], axis=0)
        filters = (directions * np.sign(largest) / np.sqrt(np.maximum(variances, 0) + EPSILON)).T.round(DECIMALS)
        both = torch.from_numpy(np.concatenate([filters, -filters])).view(self.whitening.weight.shape)
        self.whitening.weight.copy_(both)

    def forward(self, x: Tensor) -> Tensor:
        """Logits (n, classes) of images (n, channels, H, W) of at least 8 × 8 pixels."""
        features = self.features(functional.relu(self.whitening(x), inplace=True))
        logits: Tensor = self.linear(functional.adaptive_avg_pool2d(features, 1).flatten(1))
        return logits


def _convolution(channels_in: int, channels: int) -> nn.Conv2d:
    convolution = nn.Conv2d(channels_in, channels, 3, padding=1, bias=False)
    nn.init.kaiming_normal_(convolution.weight, mode="fan_out", nonlinearity="relu")
    return convolution
