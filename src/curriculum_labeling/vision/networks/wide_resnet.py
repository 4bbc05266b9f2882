"""Wide residual networks (Zagoruyko & Komodakis 2016) as semi-supervised work trains them.

Pre-activation blocks, LeakyReLU(0.1), batch normalization, no dropout. WRN-28-2 is the paper's
network for CIFAR-10 and SVHN: 1,467,610 parameters for 10 classes (section "Datasets and training").
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

SLOPE = 0.1


class Block(nn.Module):
    """Two 3×3 convolutions and a shortcut; where the shape changes, the shortcut is a 1×1 convolution."""

    def __init__(self, channels_in: int, channels: int, stride: int, *, first: bool) -> None:
        super().__init__()
        # Only the network's first block normalizes before its shortcut branches off.
        self.normalize_shortcut = first
        self.norm1 = nn.BatchNorm2d(channels_in)
        self.conv1 = nn.Conv2d(channels_in, channels, 3, stride, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        same = channels_in == channels and stride == 1
        self.shortcut = None if same else nn.Conv2d(channels_in, channels, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Features (n, channels, H / stride, W / stride)."""
        activated = functional.leaky_relu(self.norm1(x), SLOPE, inplace=True)
        residual = self.conv1(activated)
        residual = self.conv2(functional.leaky_relu(self.norm2(residual), SLOPE, inplace=True))
        start = activated if self.normalize_shortcut else x
        total: Tensor = residual + (start if self.shortcut is None else self.shortcut(start))
        return total


class WideResNet(nn.Module):
    """WRN-depth-width: three groups of (depth - 4) / 6 blocks with 16, 32 and 64 times `width` channels."""

    def __init__(self, depth: int, width: int, classes: int, channels: int = 3) -> None:
        super().__init__()
        if depth < 10 or (depth - 4) % 6 or width < 1:
            raise ValueError(
                f"a wide residual network's depth must be 6 n + 4 (10, 16, 22, 28, 40, …) and its width at least 1, "
                f"got WRN-{depth}-{width}; the paper uses WRN-28-2."
            )
        per_group, sizes = (depth - 4) // 6, (16, 16 * width, 32 * width, 64 * width)
        self.conv = nn.Conv2d(channels, sizes[0], 3, 1, 1, bias=False)
        blocks = []
        for group in range(3):
            for place in range(per_group):
                channels_in = sizes[group] if place == 0 else sizes[group + 1]
                stride = 2 if group > 0 and place == 0 else 1
                blocks.append(Block(channels_in, sizes[group + 1], stride, first=group == 0 and place == 0))
        self.blocks = nn.Sequential(*blocks)
        self.norm = nn.BatchNorm2d(sizes[3])
        self.linear = nn.Linear(sizes[3], classes)
        _initialize(self)

    def forward(self, x: Tensor) -> Tensor:
        """Logits (n, classes) of images (n, channels, H, W)."""
        features = functional.leaky_relu(self.norm(self.blocks(self.conv(x))), SLOPE, inplace=True)
        logits: Tensor = self.linear(features.mean(dim=(2, 3)))
        return logits


def _initialize(network: nn.Module) -> None:
    """He et al.'s normal initialization for convolutions, Xavier's for the linear layer, zero bias."""
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, a=SLOPE, mode="fan_out", nonlinearity="leaky_relu")
        elif isinstance(module, nn.Linear):
            nn.init.xavier_normal_(module.weight)
            nn.init.zeros_(module.bias)
