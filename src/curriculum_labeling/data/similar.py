"""Duplicates among many images: the same pixels, and nearly the same picture, without comparing all pairs.

Every thumbnail gets a hash of 64 bits, the signs of its lowest frequencies. The hashes are sorted
several times, each time with their bits in another order, and only neighbors in a sorting are
compared, first by 64 bits of their fine structure, then in full. The work grows like n log n
whatever the images are, even if all of them are black.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dctn
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from curriculum_labeling.data.alike import alike, detail_signs
from curriculum_labeling.data.images import PixelArray
from curriculum_labeling.data.thumbnails import Thumbnails, take_thumbnails
from curriculum_labeling.labels import BoolArray, IntArray

BITS = 64
SORTINGS, NEIGHBORS = 24, 6
# Details that differ by the 0.45 alike allows have 9 ± 3 of 64 signs apart, unrelated ones 32 ± 4.
MOST_SIGNS_APART = 20
FLAT = 1.0  # a coefficient this small is noise: in plain images it must not decide a bit
ROWS_AT_ONCE = 1 << 13
# Below this, two drawings of one digit cannot be told from two copies of one drawing.
LEAST_SIDE = 32


@dataclass(frozen=True, eq=False)
class Duplicates:
    """Per row the lowest row with the same pixels, and the lowest row of its group of like pictures.

    Groups of like pictures contain the exact duplicates, and chain: frames of one film are one group.
    Files of the same bytes have the same pixels; they need not be read again.
    """

    exact: IntArray
    near: IntArray


def find_duplicates(pixels: PixelArray) -> Duplicates:
    """Groups of images N×H×W×3 (or ×1) that are the same, exactly or but for compression, size and brightness."""
    if not len(pixels):
        return Duplicates(np.arange(0), np.arange(0))
    thumbnails = take_thumbnails(pixels)
    exact = _same_pixels(pixels, thumbnails)
    if min(pixels.shape[1:3]) < LEAST_SIDE:
        return Duplicates(exact, exact)
    firsts = np.flatnonzero(exact == np.arange(len(exact)))
    near = firsts[_near(thumbnails.take(firsts))]
    return Duplicates(exact, near[np.searchsorted(firsts, exact)])


def _same_pixels(pixels: PixelArray, thumbnails: Thumbnails) -> IntArray:
    """Only images of the same thumbnail are read in full."""
    keys = [blake2b(luma + chroma, digest_size=16).digest() for luma, chroma in _thumbnail_bytes(thumbnails)]
    _, inverse, counts = np.unique(np.array(keys, dtype="V16"), return_inverse=True, return_counts=True)
    first = np.arange(len(pixels))
    seen: dict[bytes, int] = {}
    for row in np.flatnonzero(counts[inverse] > 1).tolist():
        digest = blake2b(pixels[row].tobytes(), digest_size=16).digest()
        first[row] = seen.setdefault(digest, row)
    return first


def _thumbnail_bytes(thumbnails: Thumbnails) -> Iterator[tuple[bytes, bytes]]:
    return ((luma.tobytes(), chroma.tobytes()) for luma, chroma in zip(thumbnails.luma, thumbnails.chroma, strict=True))


def _near(thumbnails: Thumbnails) -> IntArray:
    """Per thumbnail the lowest one of its group of like ones."""
    n = len(thumbnails)
    bits = _bits(thumbnails)
    signs = _packed(np.concatenate([detail_signs(thumbnails.take(rows), BITS) for rows in _row_chunks(n)]))
    means = thumbnails.luma.mean(axis=(1, 2), dtype=np.float32)
    group = np.arange(n)
    draw = np.random.default_rng(0)
    for _ in range(SORTINGS):
        # Equal hashes stand in order of brightness, so that plain images meet the ones they resemble.
        order = np.lexsort((means, _packed(bits[:, draw.permutation(BITS)])))
        group = _joined(group, [_like_neighbors(thumbnails, signs, group, order, k) for k in range(1, NEIGHBORS + 1)])
    return group


def _like_neighbors(
    thumbnails: Thumbnails, signs: NDArray[np.uint64], group: IntArray, order: IntArray, distance: int
) -> IntArray:
    """Pairs 2×m of rows that stand so far apart in this order, are alike and not yet in one group."""
    left, right = order[:-distance], order[distance:]
    apart = np.bitwise_count(signs[left] ^ signs[right])
    open_pairs = (apart <= MOST_SIGNS_APART) & (group[left] != group[right])
    left, right = left[open_pairs], right[open_pairs]
    found = alike(thumbnails, left, right)
    return np.stack([left[found], right[found]])


def _joined(group: IntArray, pairs: list[IntArray]) -> IntArray:
    """Groups after these pairs are joined; a group is named by its lowest row."""
    left, right = np.concatenate(pairs, axis=1)
    if not len(left):
        return group
    n = len(group)
    ones = np.ones(len(left) + n, dtype=np.int8)
    ends = (np.concatenate([left, np.arange(n)]), np.concatenate([right, group]))
    _, parts = connected_components(coo_array((ones, ends), shape=(n, n)), directed=False)
    _, lowest = np.unique(parts, return_index=True)
    named: IntArray = lowest[parts].astype(np.int64)
    return named


def _bits(thumbnails: Thumbnails) -> BoolArray:
    """N×64: whether each of the lowest frequencies, the mean left out, is clearly positive."""
    n, height, width = thumbnails.luma.shape
    rise = np.add.outer(np.arange(height) / height, np.arange(width) / width).ravel()
    lowest = np.argsort(rise, kind="stable")[1 : BITS + 1]
    bits = np.zeros((n, BITS), dtype=bool)
    for rows in _row_chunks(n):
        waves = dctn(thumbnails.luma[rows].astype(np.float32), axes=(1, 2), norm="ortho")
        bits[rows, : len(lowest)] = waves.reshape(len(waves), -1)[:, lowest] > FLAT
    return bits


def _row_chunks(n: int) -> Iterator[IntArray]:
    return (np.arange(start, min(start + ROWS_AT_ONCE, n)) for start in range(0, n, ROWS_AT_ONCE))


def _packed(bits: BoolArray) -> NDArray[np.uint64]:
    packed: NDArray[np.uint64] = np.ascontiguousarray(np.packbits(bits, axis=1)).view(">u8")[:, 0].astype(np.uint64)
    return packed
