"""Whether two thumbnails show the same picture: recompressed, resized, slightly brightened or cropped by a pixel.

Large shapes alone merge different sheets of paper on one table, so the fine structure, what is left
when each point's neighborhood is taken away, must agree as well. Photos of TrashNet that are the
same picture differ there by at most 0.47 of their contrast, different ones by 0.53 and more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from curriculum_labeling.data.thumbnails import Floats, Thumbnails
from curriculum_labeling.labels import BoolArray, IntArray

SHAPES, DETAIL = 0.3, 0.45  # how much may differ, as a share of the contrast
GAIN = 1.4
# Gray levels: a plain image must match almost exactly, a rich one may be brightened.
BRIGHTER, MOST_BRIGHTER = 2.0, 60.0
COLOR, MOST_COLOR = 0.2, 8.0
LEAST = 1.0
PAIRS_AT_ONCE = 1 << 13
PLAIN = 1e-3  # sum of squares: what rounding leaves of the structure of a plain image


def alike(thumbnails: Thumbnails, left: IntArray, right: IntArray) -> BoolArray:
    """For pairs of rows: whether both show the same picture."""
    found = np.zeros(len(left), dtype=bool)
    for start in range(0, len(left), PAIRS_AT_ONCE):
        some = slice(start, start + PAIRS_AT_ONCE)
        found[some] = _alike(thumbnails.take(left[some]), thumbnails.take(right[some]))
    return found


def detail_signs(thumbnails: Thumbnails, bits: int) -> BoolArray:
    """Signs of random projections of the fine structure: like pictures have most of them in common."""
    detail = _detail(thumbnails.luma.astype(np.float32))
    detail[_square(detail) < PLAIN] = 0
    points = detail.reshape(len(detail), -1)
    projection = np.random.default_rng(0).normal(size=(points.shape[1], bits)).astype(np.float32)
    signs: BoolArray = points @ projection > 0
    return signs


def _alike(a: Thumbnails, b: Thumbnails) -> BoolArray:
    one, other = a.luma.astype(np.float32), b.luma.astype(np.float32)
    mean, other_mean = one.mean(axis=(1, 2)), other.mean(axis=(1, 2))
    contrast, other_contrast = one.std(axis=(1, 2)), other.std(axis=(1, 2))
    low, high = np.minimum(contrast, other_contrast), np.maximum(contrast, other_contrast)
    color = _rms(a.chroma.astype(np.float32) - b.chroma.astype(np.float32))
    same: BoolArray = high <= GAIN * low + LEAST
    same &= np.abs(mean - other_mean) <= np.minimum(LEAST + BRIGHTER * low, MOST_BRIGHTER)
    same &= color <= np.minimum(LEAST + COLOR * low, MOST_COLOR)
    rest = np.flatnonzero(same)
    one, other = one[rest], other[rest]
    same[rest] = _differ(one - mean[rest, None, None], other - other_mean[rest, None, None]) <= SHAPES
    same[rest] &= _differ(_detail(one), _detail(other)) <= DETAIL
    return same


def _differ(one: Floats, other: Floats) -> Floats:
    """The share of contrast that one image cannot explain of the other, 0 for two plain ones."""
    norms = np.sqrt(_square(one) * _square(other))
    dot: Floats = np.einsum("nij,nij->n", one, other)
    correlation = np.where(norms > 0, np.clip(dot, 0, None) / np.where(norms > 0, norms, 1), 0)
    plain = (_square(one) < PLAIN) & (_square(other) < PLAIN)
    shares: Floats = np.where(plain, 0, np.sqrt(np.clip(1 - correlation**2, 0, None)))
    return shares


def _detail(luma: Floats) -> Floats:
    """Each point minus the mean of its 3×3 neighborhood."""
    _, height, width = luma.shape
    padded = np.pad(luma, ((0, 0), (1, 1), (1, 1)), mode="edge")
    around = sum(padded[:, i : i + height, j : j + width] for i in range(3) for j in range(3))
    detail: Floats = luma - around / np.float32(9)
    return detail


def _square(images: Floats) -> Floats:
    square: Floats = np.einsum("nij,nij->n", images, images)
    return square


def _rms(images: Any) -> Floats:
    rms: Floats = np.sqrt(np.mean(images**2, axis=(1, 2, 3)))
    return rms
