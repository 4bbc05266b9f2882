"""Thumbnails: what is left of every image when only shapes and colors count, computed in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from curriculum_labeling.data.images import PixelArray

LUMA_SIDE, CHROMA_SIDE = 16, 8
CHUNK_BYTES = 1 << 20  # of pixels: as float32, with what is made of them, they stay in a processor's cache

# Half precision holds a gray level to 1/8, finer than the pixels it averages.
Half = NDArray[np.float16]
Floats = NDArray[np.float32]

# Full-range YCbCr as JPEG has it, without the offset of 128.
LUMA = np.array([0.299, 0.587, 0.114], dtype=np.float32)
CHROMA = np.array([[-0.168736, -0.331264, 0.5], [0.5, -0.418688, -0.081312]], dtype=np.float32)


@dataclass(frozen=True, eq=False)
class Thumbnails:
    """Per image a gray thumbnail of at most 16×16, and one of two color differences of at most 8×8×2."""

    luma: Half
    chroma: Half

    def __len__(self) -> int:
        return len(self.luma)

    def take(self, rows: NDArray[np.int64]) -> Thumbnails:
        """The thumbnails of these rows."""
        return Thumbnails(self.luma[rows], self.chroma[rows])


def take_thumbnails(pixels: PixelArray) -> Thumbnails:
    """Thumbnails of all images, by averaging over areas; images of one channel have no color."""
    n, height, width, _ = pixels.shape
    sides = [min(LUMA_SIDE, height), min(LUMA_SIDE, width)]
    small = [min(CHROMA_SIDE, side) for side in sides]
    luma = np.empty((n, *sides), dtype=np.float16)
    chroma = np.empty((n, *small, 2), dtype=np.float16)
    down, across = area_weights(height, sides[0]), area_weights(width, sides[1])
    further_down, further_across = area_weights(sides[0], small[0]), area_weights(sides[1], small[1])
    for rows in chunks(pixels):
        colors = average(pixels[rows].astype(np.float32), down, across)
        luma[rows] = colors @ LUMA
        chroma[rows] = average(colors, further_down, further_across) @ CHROMA.T
    return Thumbnails(luma, chroma)


def chunks(pixels: PixelArray) -> Iterator[slice]:
    """Slices of rows that together hold a bounded number of pixels."""
    size = max(1, CHUNK_BYTES // max(1, pixels[:1].nbytes))
    return (slice(start, min(start + size, len(pixels))) for start in range(0, len(pixels), size))


def area_weights(source: int, target: int) -> Floats:
    """The matrix target×source that averages a line of pixels over equal areas."""
    edges = np.linspace(0, source, target + 1)
    pixel = np.arange(source)
    covered = np.minimum(edges[1:, None], pixel + 1) - np.maximum(edges[:-1, None], pixel)
    weights: Floats = (np.clip(covered, 0, 1) * (target / source)).astype(np.float32)
    return weights


def average(images: Floats, down: Floats, across: Floats) -> Floats:
    """Images n×H×W×c averaged over areas to n×h×w×3."""
    n, height, width, channels = images.shape
    rows = down @ images.reshape(n, height, width * channels)
    columns = rows.reshape(n, len(down), width, channels).swapaxes(2, 3) @ across.T
    colors = np.asarray(columns.swapaxes(2, 3), dtype=np.float32)
    return colors if channels == 3 else np.repeat(colors, 3, axis=3)
