"""MATLAB files of version 5, as far as data sets use them: numbers, text, and arrays of structs.

Files come from strangers. Nothing is taken at its word: every size is compared with the bytes that are
there, and compressed parts are unpacked up to a bound. (scipy's reader ends the process on some damaged files.)
"""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

HEADER = 128
MATRIX, COMPRESSED = 14, 15
STRUCT, CHAR, NUMBERS = 2, 4, range(6, 16)
COMPLEX = 0x0800
KINDS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
TEXTS = {1: "latin1", 2: "latin1", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
DEEPEST = 4


def read_variables(path: Path, names: tuple[str, ...], *, most_bytes: int) -> dict[str, Any]:
    """The variables of these names: arrays for numbers, str for text, a list of dicts for structs, else None.

    Neither the file nor what it unpacks to may have more than `most_bytes`; ValueError says what is wrong.
    """
    if (size := path.stat().st_size) > most_bytes:
        raise ValueError(f"it has {size} bytes, more than the {most_bytes} allowed")
    data = path.read_bytes()
    if len(data) < HEADER or data[126:128] not in (b"IM", b"MI"):
        raise ValueError("it is of another version than 5")
    order = "<" if data[126:128] == b"IM" else ">"
    found: dict[str, Any] = {}
    elements, left = _Elements(memoryview(data)[HEADER:], order), most_bytes
    while elements.left and len(found) < len(names):
        kind, content = elements.take()
        if kind == COMPRESSED:
            content = _unpacked(content, left)
            left -= len(content)
            kind, content = _Elements(content, order).take()
        if kind != MATRIX:
            raise ValueError(f"it holds an element of kind {kind} where a variable should be")
        name, value = _variable(content, order, names)
        if name in names:
            found[name] = value
    return found


@dataclass
class _Elements:
    """Elements one after another: a kind, a size, and as many bytes, filled up to eight."""

    data: memoryview
    order: str
    place: int = 0

    @property
    def left(self) -> int:
        return max(0, len(self.data) - self.place)

    def take(self) -> tuple[int, memoryview]:
        """Kind and content of the next element."""
        if self.left < 8:
            raise ValueError("it ends within an element")
        kind, size = (int(word) for word in np.frombuffer(self.data, f"{self.order}u4", 2, self.place))
        start = self.place + 8
        if kind >> 16:  # up to four bytes stand within the tag itself
            kind, size, start = kind & 0xFFFF, kind >> 16, self.place + 4
        if size > (4 if start < self.place + 8 else self.left - 8):
            raise ValueError("it ends within an element")
        self.place = max(self.place + 8, start + size)
        if kind != COMPRESSED:
            self.place += -self.place % 8
        return kind, self.data[start : start + size]

    def numbers(self) -> Any:
        """The next element as numbers."""
        kind, content = self.take()
        if kind not in KINDS or len(content) % np.dtype(KINDS[kind]).itemsize:
            raise ValueError(f"it holds an element of kind {kind} where numbers should be")
        return np.frombuffer(content, f"{self.order}{KINDS[kind]}")


def _unpacked(content: memoryview, most: int) -> memoryview:
    unpacker = zlib.decompressobj()
    try:
        data = unpacker.decompress(content, most + 1)
    except zlib.error as error:
        raise ValueError(f"it cannot be unpacked: {error}") from error
    if len(data) > most:
        raise ValueError("it unpacks to more bytes than allowed")
    if not unpacker.eof:
        raise ValueError("it ends within a compressed variable")
    return memoryview(data)


def _variable(content: memoryview, order: str, names: tuple[str, ...]) -> tuple[str, Any]:
    """Name and value of a variable; None for one that is not asked for."""
    if not len(content):
        return "", None
    elements = _Elements(content, order)
    kind, shape, name = _head(elements)
    return name, _value(elements, kind, shape, 0) if name in names else None


def _head(elements: _Elements) -> tuple[int, tuple[int, ...], str]:
    flags, shape = elements.numbers(), elements.numbers()
    if len(flags) < 1 or flags.dtype.kind != "u" or shape.dtype.kind not in "iu" or len(shape) < 2 or shape.min() < 0:
        raise ValueError("it holds a variable without a size")
    if int(flags[0]) & COMPLEX:
        raise ValueError("it holds complex numbers")
    _, name = elements.take()
    return int(flags[0]) & 0xFF, tuple(int(n) for n in shape), bytes(name).decode("latin1")


def _value(elements: _Elements, kind: int, shape: tuple[int, ...], depth: int) -> Any:
    if kind in NUMBERS:
        numbers = elements.numbers()
        if len(numbers) != math.prod(shape):
            raise ValueError(f"it holds {len(numbers)} numbers where its shape is {shape}")
        return numbers.reshape(shape, order="F")
    if kind == CHAR:
        return _text(elements)
    return _structs(elements, shape, depth) if kind == STRUCT else None


def _text(elements: _Elements) -> str:
    kind, content = elements.take()
    if kind not in TEXTS:
        raise ValueError(f"it holds an element of kind {kind} where text should be")
    encoding = TEXTS[kind]
    if encoding not in ("latin1", "utf-8"):
        encoding += "-le" if elements.order == "<" else "-be"
    return bytes(content).decode(encoding, "replace")


def _structs(elements: _Elements, shape: tuple[int, ...], depth: int) -> list[dict[str, Any]]:
    width, (_, names) = elements.numbers(), elements.take()
    if width.shape != (1,) or width.dtype.kind not in "iu" or not 0 < width[0] <= 1024 or len(names) % int(width[0]):
        raise ValueError("it holds structs without names of their fields")
    step = int(width[0])
    fields = [bytes(names[i : i + step]).split(b"\0")[0].decode("latin1") for i in range(0, len(names), step)]
    count = math.prod(shape)
    if 8 * count * max(1, len(fields)) > elements.left or depth >= DEEPEST:
        raise ValueError(f"it holds {count} structs in {elements.left} bytes")
    return [{name: _field(elements, depth + 1) for name in fields} for _ in range(count)]


def _field(elements: _Elements, depth: int) -> Any:
    kind, content = elements.take()
    if kind != MATRIX:
        raise ValueError(f"it holds an element of kind {kind} where a field should be")
    if not len(content):
        return None
    inside = _Elements(content, elements.order)
    what, shape, _ = _head(inside)
    return _value(inside, what, shape, depth)
