"""CNN-13, the 13-layer network of Π-model, mean teacher and VAT: 3,121,802 parameters for 10 classes.

3 × 128 → pool → 3 × 256 → pool → 512 (no padding), 256 and 128 (both 1 × 1) → global average.
Dropout is off unless asked for: the paper does not mention it, and its draws are not addressed.
"""

from __future__ import annotations

from torch import Tensor, nn


class CNN13(nn.Module):
    """Nine convolutions with batch normalization and LeakyReLU(0.1), two poolings and a linear layer."""

    def __init__(self, classes: int, channels: int = 3, *, dropout: float = 0.0) -> None:
        super().__init__()
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout must be at least 0 and below 1, got {dropout}.")
        self.features = nn.Sequential(
            *_layer(channels, 128), *_layer(128, 128), *_layer(128, 128), nn.MaxPool2d(2), nn.Dropout(dropout),
            *_layer(128, 256), *_layer(256, 256), *_layer(256, 256), nn.MaxPool2d(2), nn.Dropout(dropout),
            *_layer(256, 512, padding=0), *_layer(512, 256, size=1, padding=0), *_layer(256, 128, size=1, padding=0),
        )  # fmt: skip
        self.linear = nn.Linear(128, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Logits (n, classes) of images (n, channels, H, W) of at least 12 × 12 pixels."""
        logits: Tensor = self.linear(self.features(x).mean(dim=(2, 3)))
        return logits


def _layer(channels_in: int, channels: int, *, size: int = 3, padding: int = 1) -> tuple[nn.Module, ...]:
    convolution = nn.Conv2d(channels_in, channels, size, padding=padding, bias=False)
    nn.init.kaiming_normal_(convolution.weight, a=0.1, nonlinearity="leaky_relu")
    return convolution, nn.BatchNorm2d(channels), nn.LeakyReLU(0.1, inplace=True)
