"""ResNet-18 and ResNet-50 (He et al. 2016), the paper's network for ImageNet.

Parameters carry torchvision's names, so that published weights load with `load_state_dict`. As
there, ResNet-50 has its stride in the 3×3 convolution (ResNet "v1.5").
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class BasicBlock(nn.Module):
    """Two 3×3 convolutions around a shortcut."""

    expansion = 1

    def __init__(self, channels_in: int, channels: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels_in, channels, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.downsample = _downsample(channels_in, channels, stride)

    def forward(self, x: Tensor) -> Tensor:
        """Features (n, channels, H / stride, W / stride)."""
        residual = functional.relu(self.bn1(self.conv1(x)), inplace=True)
        residual = self.bn2(self.conv2(residual))
        shortcut = x if self.downsample is None else self.downsample(x)
        return functional.relu(residual + shortcut, inplace=True)


class Bottleneck(nn.Module):
    """1×1, 3×3 and 1×1 convolutions around a shortcut; the last widens fourfold."""

    expansion = 4

    def __init__(self, channels_in: int, channels: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels_in, channels, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.conv3 = nn.Conv2d(channels, channels * self.expansion, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(channels * self.expansion)
        self.downsample = _downsample(channels_in, channels * self.expansion, stride)

    def forward(self, x: Tensor) -> Tensor:
        """Features (n, 4 channels, H / stride, W / stride)."""
        residual = functional.relu(self.bn1(self.conv1(x)), inplace=True)
        residual = functional.relu(self.bn2(self.conv2(residual)), inplace=True)
        residual = self.bn3(self.conv3(residual))
        shortcut = x if self.downsample is None else self.downsample(x)
        return functional.relu(residual + shortcut, inplace=True)


class ResNet(nn.Module):
    """A 7×7 stem, four groups of blocks with 64 to 512 channels, global average and a linear layer."""

    def __init__(
        self, block: type[BasicBlock] | type[Bottleneck], blocks: tuple[int, int, int, int], classes: int, channels: int
    ) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        widths = (64, *(width * block.expansion for width in (64, 128, 256, 512)))
        self.layer1 = _group(block, widths[0], 64, blocks[0], stride=1)
        self.layer2 = _group(block, widths[1], 128, blocks[1], stride=2)
        self.layer3 = _group(block, widths[2], 256, blocks[2], stride=2)
        self.layer4 = _group(block, widths[3], 512, blocks[3], stride=2)
        self.fc = nn.Linear(widths[4], classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x: Tensor) -> Tensor:
        """Logits (n, classes) of images (n, channels, H, W)."""
        x = functional.relu(self.bn1(self.conv1(x)), inplace=True)
        x = functional.max_pool2d(x, 3, 2, 1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        logits: Tensor = self.fc(torch.flatten(functional.adaptive_avg_pool2d(x, 1), 1))
        return logits


def resnet18(classes: int, channels: int = 3) -> ResNet:
    """ResNet-18: 11,689,512 parameters for 1,000 classes."""
    return ResNet(BasicBlock, (2, 2, 2, 2), classes, channels)


def resnet50(classes: int, channels: int = 3) -> ResNet:
    """ResNet-50: 25,557,032 parameters for 1,000 classes."""
    return ResNet(Bottleneck, (3, 4, 6, 3), classes, channels)


def _group(
    block: type[BasicBlock] | type[Bottleneck], channels_in: int, channels: int, count: int, *, stride: int
) -> nn.Sequential:
    """Blocks of one width, of which the first changes the size."""
    rest = [block(channels * block.expansion, channels, 1) for _ in range(count - 1)]
    return nn.Sequential(block(channels_in, channels, stride), *rest)


def _downsample(channels_in: int, channels: int, stride: int) -> nn.Sequential | None:
    if channels_in == channels and stride == 1:
        return None
    return nn.Sequential(nn.Conv2d(channels_in, channels, 1, stride, bias=False), nn.BatchNorm2d(channels))
