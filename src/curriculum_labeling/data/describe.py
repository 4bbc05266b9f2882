"""A plain description of colors and texture, for telling digits from photos where no embeddings are at hand.

Logarithms of contrasts are unbounded and spread evenly, so that what is unlike all photos, noise or
a drawing, lies far outside; shares of a histogram cannot differ by more than one.
"""

from __future__ import annotations

import numpy as np

from curriculum_labeling.data.images import PixelArray
from curriculum_labeling.data.thumbnails import CHROMA, LUMA, Floats, area_weights, average, chunks

SIDE = 32
SCALES = 4
MEASURES = 4 * SCALES + 8


def describe_pixels(pixels: PixelArray) -> Floats:
    """float32 N×24 of images N×H×W×3 (or ×1): brightness, contrast and colors, and edges at four scales."""
    height, width = (min(SIDE, side) for side in pixels.shape[1:3])
    down, across = area_weights(pixels.shape[1], height), area_weights(pixels.shape[2], width)
    described = np.empty((len(pixels), MEASURES), dtype=np.float32)
    for rows in chunks(pixels):
        described[rows] = _describe(average(pixels[rows].astype(np.float32), down, across))
    return described


def _describe(colors: Floats) -> Floats:
    luma, chroma = colors @ LUMA, colors @ CHROMA.T
    measures = [luma.mean(axis=(1, 2)) / 64, _log(luma.std(axis=(1, 2)))]
    measures += [_ends(luma < 32), _ends(luma > 224)]
    for part in (chroma[..., 0], chroma[..., 1]):
        measures += [part.mean(axis=(1, 2)) / 32, _log(part.std(axis=(1, 2)))]
    for scale in range(SCALES):
        measures += _edges(luma) + _edges(chroma[..., 0])
        if scale < SCALES - 1:
            luma, chroma = _half(luma[..., None])[..., 0], _half(chroma)
    described: Floats = np.stack(measures, axis=1).astype(np.float32)
    return described


def _edges(values: Floats) -> list[Floats]:
    """How strong the steps between neighbors are, and how much of that lies in a few of them."""
    steps = [np.abs(np.diff(values, axis=axis)).reshape(len(values), -1) for axis in (1, 2)]
    every = np.concatenate([*steps, np.zeros((len(values), 1), dtype=np.float32)], axis=1)
    mean = every.mean(axis=1)
    peak = np.sqrt((every**2).mean(axis=1))
    return [_log(mean), _log(peak) - _log(mean)]


def _half(images: Floats) -> Floats:
    """Images n×h×w×c averaged over 2×2; a last odd line is left out, a single one stays."""
    for axis in (1, 2):
        if images.shape[axis] > 1:
            even = images.take(np.arange(0, images.shape[axis] - 1, 2), axis=axis)
            odd = images.take(np.arange(1, images.shape[axis], 2), axis=axis)
            images = (even + odd) * np.float32(0.5)
    return images


def _ends(extreme: np.typing.NDArray[np.bool_]) -> Floats:
    share: Floats = np.sqrt(extreme.mean(axis=(1, 2), dtype=np.float32))
    return share


def _log(values: Floats) -> Floats:
    """Half a gray level and less is all the same."""
    logs: Floats = np.log2(values + np.float32(0.5))
    return logs
