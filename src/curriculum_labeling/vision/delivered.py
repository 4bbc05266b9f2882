"""The delivered model: uint8 images in, calibrated class probabilities out.

Its part is a network that was trained, or a probe: a linear layer on the features of a backbone.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from curriculum_labeling.data.decode import check_resolution
from curriculum_labeling.data.images import PixelArray
from curriculum_labeling.labels import FloatArray
from curriculum_labeling.vision.backbones.protocol import Backbone
from curriculum_labeling.vision.scoring import Scorer
from curriculum_labeling.vision.whitening import Preprocessing

CPU = torch.device("cpu")
BATCH = 64


@dataclass(frozen=True, eq=False)
class NetworkPart:
    """A trained network; `name` is what `build_network` makes it from, or says which function of a user's does."""

    network: nn.Module
    name: str
    preprocessing: Preprocessing
    flip: bool = False
    device: torch.device = CPU

    def logits(self, pixels: PixelArray) -> FloatArray:
        """Logits (n, classes) of uint8 images; log-probabilities where mirror images are averaged in."""
        return Scorer(self.network.eval(), self.preprocessing, self.device, BATCH, self.flip).logits(pixels)


@dataclass(frozen=True, eq=False)
class ProbePart:
    """Logits = (features - mean) / scale · weightᵀ + bias, with weight (C, D), bias (C,), mean and scale (D,)."""

    backbone: Backbone
    weight: FloatArray
    bias: FloatArray
    mean: FloatArray
    scale: FloatArray

    def __post_init__(self) -> None:
        size = self.backbone.size
        wanted = {"weight": (len(self.bias), size), "bias": (len(self.bias),), "mean": (size,), "scale": (size,)}
        for name, shape in wanted.items():
            array = getattr(self, name)
            if array.shape != shape or array.dtype != np.float64:
                raise ValueError(f"{name} must be float64 of shape {shape}, got {array.dtype} of shape {array.shape}.")
            if not np.isfinite(array).all():
                raise ValueError(f"{name} must be finite, got NaN or infinity.")
        if not (self.scale > 0).all():
            raise ValueError(f"scale must be above 0, got {self.scale.min()}.")

    def logits(self, pixels: PixelArray) -> FloatArray:
        """Logits (n, classes) of uint8 images."""
        parts = [self._logits(pixels[start : start + BATCH]) for start in range(0, len(pixels), BATCH)]
        return np.concatenate(parts) if parts else np.empty((0, len(self.bias)))

    def _logits(self, pixels: PixelArray) -> FloatArray:
        features = self.backbone.embed(pixels).astype(np.float64)
        logits: FloatArray = ((features - self.mean) / self.scale) @ self.weight.T + self.bias
        return logits


@dataclass(frozen=True, eq=False)
class Delivered:
    """A model with all that it needs: class names, image size, and the temperature that calibrates it."""

    classes: tuple[str, ...]
    resolution: int
    temperature: float
    part: NetworkPart | ProbePart

    def __post_init__(self) -> None:
        check_classes(self.classes)
        check_resolution(self.resolution)
        if not (math.isfinite(self.temperature) and self.temperature > 0):
            raise ValueError(f"temperature must be a finite number above 0, got {self.temperature}.")
        if isinstance(self.part, ProbePart):
            self._check_probe(self.part)

    def _check_probe(self, probe: ProbePart) -> None:
        if probe.backbone.resolution != self.resolution:
            raise ValueError(
                f"resolution must be the backbone's, {probe.backbone.resolution}, got {self.resolution} pixels."
            )
        if len(probe.bias) != len(self.classes):
            raise ValueError(f"bias must have one entry per class, got {len(probe.bias)} for {len(self.classes)}.")

    def logits(self, pixels: PixelArray) -> FloatArray:
        """Float64 logits (n, classes), before the temperature, of uint8 images (n, resolution, resolution, 3)."""
        side = self.resolution
        if pixels.dtype != np.uint8 or pixels.ndim != 4 or pixels.shape[1:] != (side, side, 3):
            raise ValueError(
                f"pixels must be uint8 of shape (n, {side}, {side}, 3), got {pixels.dtype} of shape {pixels.shape}."
            )
        logits = self.part.logits(pixels)
        if logits.shape != (len(pixels), len(self.classes)):
            raise ValueError(
                f"the model must give {len(self.classes)} logits per image, got {logits.shape[1]}; "
                "its network does not fit its classes."
            )
        if not np.isfinite(logits).all():
            raise ValueError("the model must give finite logits, got NaN or infinity; its weights are damaged.")
        return logits

    def probabilities(self, pixels: PixelArray) -> FloatArray:
        """Calibrated class probabilities (n, classes): softmax(logits / temperature)."""
        logits = self.logits(pixels) / self.temperature
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        probabilities: FloatArray = powers / powers.sum(axis=1, keepdims=True)
        return probabilities


def network_name(network: str | Callable[..., Any]) -> str:
    """The name of a network as a configuration has it: ours as it is, a function by where it was defined."""
    if isinstance(network, str):
        return network
    where = getattr(network, "__module__", type(network).__module__)
    return f"{where}:{getattr(network, '__qualname__', type(network).__qualname__)}"


def check_classes(classes: tuple[str, ...]) -> None:
    """Refuse classes that are not two or more different names; a name may be any text that files can have."""
    if len(classes) < 2 or not all(isinstance(name, str) for name in classes):
        raise ValueError(f"classes must be two or more names, got {_short(classes)}.")
    if len(set(classes)) < len(classes):
        twice = Counter(classes).most_common(1)[0][0]
        raise ValueError(f"classes must be different names, got {_short(twice)} more than once.")
    for name in classes:
        try:
            # Half characters stand for the bytes of file names that are no text; others cannot be written.
            name.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError as error:
            raise ValueError(f"classes must be names that can be written as text, got {_short(name)}.") from error


def _short(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
