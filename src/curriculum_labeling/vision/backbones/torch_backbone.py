"""A torch module as a backbone: EfficientNet-Lite0, timm's networks and users' own share this."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from curriculum_labeling.data.decode import check_resolution
from curriculum_labeling.data.images import PixelArray
from curriculum_labeling.vision.backbones.protocol import Features, check_pixels
from curriculum_labeling.vision.devices import choose_device
from curriculum_labeling.vision.whitening import Standardization

# On a CPU, the activations of few images stay in its caches: more than twice as fast as 32 at a time.
AT_ONCE = {"cpu": 4}
AT_ONCE_ELSEWHERE = 64


@dataclass(frozen=True, eq=False)
class TorchBackbone:
    """A module in evaluation mode, with the mean and deviation its images are normalized by."""

    name: str
    resolution: int
    size: int
    module: nn.Module
    preprocessing: Standardization
    device: torch.device

    def embed(self, pixels: PixelArray) -> Features:
        """Features (n, size) of uint8 images (n, resolution, resolution, 3)."""
        check_pixels(pixels, self.name, self.resolution)
        features = np.empty((len(pixels), self.size), dtype=np.float32)
        step = AT_ONCE.get(self.device.type, AT_ONCE_ELSEWHERE)
        for start in range(0, len(pixels), step):
            features[start : start + step] = self._embed(pixels[start : start + step])
        return features

    @torch.inference_mode()
    def _embed(self, pixels: PixelArray) -> Features:
        # As n × 3 × H × W, these bytes are already in channels_last.
        images = torch.from_numpy(np.array(pixels)).to(self.device).permute(0, 3, 1, 2)
        features = pooled(self.module(self.preprocessing(images)))
        if features.shape != (len(pixels), self.size):
            raise ValueError(
                f"the backbone {self.name!r} must give {self.size} features per image, "
                f"got shape {tuple(features.shape)} for {len(pixels)} images."
            )
        numbers: Features = features.float().cpu().numpy()
        return numbers

    def describe(self) -> dict[str, Any]:
        """Everything that shapes the features, as JSON."""
        return {
            "name": self.name,
            "kind": "torch",
            "resolution": self.resolution,
            "size": self.size,
            "mean": self.preprocessing.mean.tolist(),
            "deviation": self.preprocessing.deviation.tolist(),
            "pooling": "average over positions, where the network gives more than one",
            "weights": self._digest,
        }

    @cached_property
    def _digest(self) -> str:
        mark = sha256()
        for name, tensor in sorted(self.module.state_dict().items()):
            mark.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
            mark.update(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
        return mark.hexdigest()


def pooled(features: Any) -> Tensor:
    """Features (n, D) from what a network gives: (n, D), maps (n, D, H, W) or tokens (n, T, D), averaged."""
    if not isinstance(features, Tensor) or features.ndim not in (2, 3, 4):
        got = tuple(features.shape) if isinstance(features, Tensor) else type(features).__name__
        raise ValueError(
            f"a backbone must give one tensor of features (n, D), maps (n, D, H, W) or tokens (n, T, D), got {got}."
        )
    if features.ndim == 4:
        return features.mean(dim=(2, 3))
    return features.mean(dim=1) if features.ndim == 3 else features


def wrap(
    name: str,
    module: nn.Module,
    resolution: int,
    mean: Sequence[float],
    deviation: Sequence[float],
    *,
    device: str | torch.device = "auto",
) -> TorchBackbone:
    """A module as a backbone, once one black image has gone through it to tell how many features there are."""
    check_resolution(resolution)
    preprocessing = Standardization(_three(mean, "mean"), _three(deviation, "deviation"))
    if not bool((preprocessing.deviation > 0).all()):
        raise ValueError(f"deviation must be three numbers above 0, got {list(deviation)}.")
    place = choose_device(device)
    module = module.eval().requires_grad_(False).to(place)
    module = module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    with torch.inference_mode():
        black = preprocessing(torch.zeros(1, 3, resolution, resolution, dtype=torch.uint8, device=place))
        size = pooled(module(black)).shape[1]
    return TorchBackbone(name, resolution, size, module, preprocessing, place)


def _three(numbers: Sequence[float], name: str) -> Tensor:
    given = torch.tensor([float(number) for number in numbers])
    if given.shape != (3,) or not bool(torch.isfinite(given).all()):
        raise ValueError(f"{name} must be three finite numbers, for red, green and blue in 0 to 1, got {numbers!r}.")
    return given
