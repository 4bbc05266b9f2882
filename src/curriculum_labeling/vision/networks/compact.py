"""A small network for CPUs and small images: three pairs of 3×3 convolutions, 288,746 parameters for 10 classes.

The default where no accelerator is present. ReLU works in place and needs no exponential, which
counts on a CPU; all layers run in channels_last.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

WIDTHS = (32, 64, 128)


class Compact(nn.Module):
    """Pairs of 32, 64 and 128 channels, pooled in between, then a global average and a linear layer."""

    def __init__(self, classes: int, channels: int = 3) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for width in WIDTHS:
            layers += [*_layer(channels, width), *_layer(width, width), nn.MaxPool2d(2)]
            channels = width
        # The last pair feeds the global average instead of a pooling.
        self.features = nn.Sequential(*layers[:-1])
        self.linear = nn.Linear(WIDTHS[-1], classes)

    def forward(self, x: Tensor) -> Tensor:
        """Logits (n, classes) of images (n, channels, H, W) of at least 8 × 8 pixels."""
        logits: Tensor = self.linear(functional.adaptive_avg_pool2d(self.features(x), 1).flatten(1))
        return logits


def _layer(channels_in: int, channels: int) -> tuple[nn.Module, ...]:
    convolution = nn.Conv2d(channels_in, channels, 3, padding=1, bias=False)
    nn.init.kaiming_normal_(convolution.weight, mode="fan_out", nonlinearity="relu")
    return convolution, nn.BatchNorm2d(channels), nn.ReLU(inplace=True)
