"""What every backbone is: a frozen pretrained network that turns images into features."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from curriculum_labeling.data.images import PixelArray

Features = NDArray[np.float32]


@runtime_checkable
class Backbone(Protocol):
    """A frozen network; `describe()` differs wherever its features may differ."""

    @property
    def name(self) -> str:
        """What `open_backbone` opens it by."""
        ...

    @property
    def resolution(self) -> int:
        """Pixels on each side of the images it takes."""
        ...

    @property
    def size(self) -> int:
        """How many features an image gets."""
        ...

    def describe(self) -> dict[str, Any]:
        """Everything that shapes the features, assumptions included, as JSON."""
        ...

    def embed(self, pixels: PixelArray) -> Features:
        """Features (n, size) of uint8 images (n, resolution, resolution, 3)."""
        ...


def check_pixels(pixels: PixelArray, backbone: str, resolution: int) -> None:
    """Refuse images that a backbone of this resolution does not take."""
    wanted = (resolution, resolution, 3)
    if pixels.dtype != np.uint8 or pixels.ndim != 4 or pixels.shape[1:] != wanted:
        raise ValueError(
            f"pixels must be uint8 of shape (n, {resolution}, {resolution}, 3) for the backbone {backbone!r}, "
            f"got {pixels.dtype} of shape {pixels.shape}; load the images with resolution={resolution}."
        )
