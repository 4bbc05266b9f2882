"""Random numbers with an address: each is a pure function of (key, row, draw number).

A key names who draws and when, as `key(seed, "augment", round, epoch)`. A row's numbers depend on
nothing else: not on the batch it is in, the order of batches, the number of processes or the
device. The generator is SplitMix64 (Steele, Lea & Flood 2014) used as a counter-based one: the row
picks a stream, the draw number a position in it, and each is mixed by a 64-bit finalizer.
"""

from __future__ import annotations

from hashlib import blake2b

import torch
from torch import Tensor

GOLDEN = 0x9E3779B97F4A7C15
MIX_1 = 0xBF58476D1CE4E5B9
MIX_2 = 0x94D049BB133111EB


def key(seed: int, *address: int | str) -> int:
    """A signed 64-bit key for this seed and address, as `key(seed, "mixup", round, epoch, step)`."""
    for part in (seed, *address):
        if isinstance(part, bool) or not isinstance(part, (int, str)):
            raise TypeError(f"a key's parts must be integers or strings, got {part!r}; convert it with int().")
    text = "\x1f".join(f"{type(part).__name__}:{part}" for part in (seed, *address))
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little", signed=True)


def bits(key: int, rows: Tensor, count: int = 1) -> Tensor:
    """64 random bits per row and draw: int64 of shape (len(rows), count), on the device of `rows`."""
    if rows.dtype != torch.int64 or rows.ndim != 1:
        raise ValueError(
            f"rows must be a one-dimensional int64 tensor of row numbers, got {rows.dtype} of shape "
            f"{tuple(rows.shape)}; use torch.as_tensor(rows, dtype=torch.int64)."
        )
    streams = _mix(rows * _signed(GOLDEN) + _signed(key))
    positions = torch.arange(1, count + 1, device=rows.device) * _signed(GOLDEN)
    return _mix(streams[:, None] + positions)


def uniform(key: int, rows: Tensor, count: int = 1) -> Tensor:
    """Multiples of 2⁻²⁴ in [0, 1), exact in float32: shape (len(rows), count)."""
    return _shift(bits(key, rows, count), 40).to(torch.float32) * 2.0**-24


def permutation(key: int, size: int) -> Tensor:
    """The numbers 0 … size-1 in an order given by the key alone."""
    return bits(key, torch.arange(size))[:, 0].argsort(stable=True)


def _mix(words: Tensor) -> Tensor:
    """SplitMix64's finalizer; int64 multiplication wraps around on every device."""
    words = (words ^ _shift(words, 30)) * _signed(MIX_1)
    words = (words ^ _shift(words, 27)) * _signed(MIX_2)
    return words ^ _shift(words, 31)


def _shift(words: Tensor, places: int) -> Tensor:
    """Right shift that brings in zeros; torch's own brings in the sign."""
    return (words >> places) & ((1 << (64 - places)) - 1)


def _signed(word: int) -> int:
    """The signed 64-bit integer with the same bits."""
    return (word + 2**63) % 2**64 - 2**63
