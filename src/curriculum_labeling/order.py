"""Exact order statistics by counting over the bits of floats: for arrays, files and processes alike.

A float's bits, with the sign handled, order as the float does. Counting how many values share each
leading 16-bit digit tells in which digit the k-th largest value lies; counting the next digit
among those gives the value itself after two passes over float32 and four over float64. Counts add
up, so shards in several files or processes give exactly the result of one array, with memory for
one chunk and one table of counts. A single small array is partitioned instead, to the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from curriculum_labeling.labels import FloatArray, IntArray

# A shard: values, and the group (class) of each value; None puts every value in group 0.
Shard = tuple[FloatArray, "IntArray | None"]
Shards = Callable[[], Iterable[Shard]]
Reduce = Callable[[IntArray], IntArray]

CHUNK = 1 << 20
MANY_GROUPS = 64


def kth_largest(shards: Shards, k: IntArray, *, reduce: Reduce | None = None) -> FloatArray:
    """The k[g]-th largest value of each group g, counted exactly.

    Parameters
    ----------
    shards : function without arguments
        Called once per pass; yields (values, groups) pairs, all float32 or all float64, no NaN.
    k : int array of shape (groups,)
        Rank per group, from 1 to the group's size; 0 asks for no value and gives +inf.
    reduce : function, optional
        Sums an int64 array over processes; every process gets the sum.
    """
    k = np.asarray(k, dtype=np.int64)
    small = _one_small_shard(shards) if reduce is None else None
    if small is not None:
        return _by_partition(*small, k)
    bits = 16 if len(k) <= MANY_GROUPS else 8
    prefix = np.zeros(len(k), dtype=np.uint64)
    remaining = k.copy()
    width, done = _width(shards, reduce), 0
    while done < width:
        counts = _count(shards, prefix, len(k), bits=bits, shift=width - done - bits, width=width)
        counts = reduce(counts) if reduce else counts
        digit, remaining = _find_digit(counts, remaining)
        prefix = (prefix << np.uint64(bits)) | digit
        done += bits
    thresholds = _from_ordered(prefix, width)
    thresholds[k == 0] = np.inf
    return thresholds


def group_sizes(shards: Shards, groups: int, *, reduce: Reduce | None = None) -> IntArray:
    """How many values each group has."""
    sizes = np.zeros(groups, dtype=np.int64)
    for _, group in _chunks(shards):
        sizes += np.bincount(group, minlength=groups)
    return reduce(sizes) if reduce else sizes


def _one_small_shard(shards: Shards) -> Shard | None:
    """The shard, if there is just one and it is small: then a partition is faster than counting."""
    parts = iter(shards())
    first = next(parts, None)
    if first is None or len(first[0]) > CHUNK or next(parts, None) is not None:
        return None
    return first


def _by_partition(values: FloatArray, groups: IntArray | None, k: IntArray) -> FloatArray:
    found = np.full(len(k), np.inf, dtype=values.dtype)
    ends = np.array([0, len(values)])
    if groups is not None:  # brought together once: a pass per group would be groups × values
        values = values[np.argsort(groups.astype(np.min_scalar_type(len(k))), kind="stable")]
        ends = np.concatenate([[0], np.cumsum(np.bincount(groups, minlength=len(k)))])
    for g in np.flatnonzero(k):
        own = values[ends[g] : ends[g + 1]]
        found[g] = np.partition(own, len(own) - k[g])[len(own) - k[g]]
    return found


def _chunks(shards: Shards) -> Iterable[tuple[FloatArray, IntArray]]:
    for values, groups in shards():
        for start in range(0, len(values), CHUNK):
            part = values[start : start + CHUNK]
            group = np.zeros(len(part), dtype=np.int64) if groups is None else groups[start : start + CHUNK]
            yield part, group


def _width(shards: Shards, reduce: Reduce | None) -> int:
    """Bits per value: 32 only where every shard of every process is float32."""
    wide = sum(values.dtype != np.float32 for values, _ in shards())
    total = np.array([wide], dtype=np.int64)
    total = reduce(total) if reduce else total
    return 64 if total[0] else 32


def _count(shards: Shards, prefix: Any, groups: int, *, bits: int, shift: int, width: int) -> IntArray:
    """Per group, how many values with the group's prefix have each next digit."""
    size = 1 << bits
    counts = np.zeros(groups * size, dtype=np.int64)
    whole = shift + bits == width
    for values, group in _chunks(shards):
        ordered = _to_ordered(values, width)
        if not whole:
            inside = (ordered >> np.array(shift + bits, dtype=ordered.dtype)) == prefix[group].astype(ordered.dtype)
            ordered, group = ordered[inside], group[inside]
        digit = (ordered >> np.array(shift, dtype=ordered.dtype)) & np.array(size - 1, dtype=ordered.dtype)
        counts += np.bincount(group * size + digit.astype(np.int64), minlength=groups * size)
    return counts.reshape(groups, size)


def _find_digit(counts: IntArray, remaining: IntArray) -> tuple[Any, IntArray]:
    """The digit that holds the remaining-th largest value, and its rank within that digit."""
    at_least = counts[:, ::-1].cumsum(axis=1)[:, ::-1]
    digit = np.maximum((at_least >= remaining[:, None]).sum(axis=1) - 1, 0)
    rows = np.arange(len(counts))
    above = at_least[rows, digit] - counts[rows, digit]
    return digit.astype(np.uint64), remaining - above


def _to_ordered(values: FloatArray, width: int) -> Any:
    """Unsigned integers that order as the floats do; -0.0 counts as 0.0."""
    if width == 32:
        bits: Any = (values + np.float32(0)).view(np.uint32)
        return np.where(bits >> np.uint32(31), ~bits, bits | np.uint32(1 << 31))
    bits = (np.asarray(values, dtype=np.float64) + 0.0).view(np.uint64)
    return np.where(bits >> np.uint64(63), ~bits, bits | np.uint64(1 << 63))


def _from_ordered(ordered: Any, width: int) -> FloatArray:
    if width == 32:
        small = ordered.astype(np.uint32)
        bits: Any = np.where(small >> np.uint32(31), small ^ np.uint32(1 << 31), ~small)
        return bits.view(np.float32).copy()  # type: ignore[no-any-return]
    bits = np.where(ordered >> np.uint64(63), ordered ^ np.uint64(1 << 63), ~ordered)
    return bits.view(np.float64).copy()  # type: ignore[no-any-return]
