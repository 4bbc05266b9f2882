"""CIFAR-10's python layout: pickles, read by an unpickler that can build plain data and byte arrays only.

A pickle is a program. This reader gives it nothing to call: numpy's names are answered by stand-ins
that hold bytes and a shape, every other name is refused. Python's own unpickler is used, not the one
in C, which takes gigabytes for a place in its memo that a few bytes name.
"""

from __future__ import annotations

import io
import pickle
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from curriculum_labeling.data.typed import brief


class RefusedError(ValueError):
    """A pickle that asks for more than plain data."""


class _Dtype:
    """Stands in for numpy.dtype: remembers its name."""

    def __init__(self, name: Any, *_: Any) -> None:
        if not isinstance(name, bytes | str):
            raise RefusedError("it holds an array whose kind has no name")
        self.name = _text(name)

    def __setstate__(self, _: Any) -> None:
        pass


class _Array:
    """Stands in for numpy.ndarray: remembers shape, type and bytes."""

    def __init__(self, *_: Any) -> None:
        self.array: NDArray[np.uint8] | None = None

    def __setstate__(self, state: Any) -> None:
        _, shape, dtype, _, data = state
        if not isinstance(dtype, _Dtype) or dtype.name not in ("u1", "|u1", "uint8") or not isinstance(data, bytes):
            raise RefusedError("it holds an array that is not of bytes")
        self.array = np.frombuffer(data, dtype=np.uint8).reshape(shape)


def _latin1(text: Any, *_: Any) -> bytes:
    """How Python 3 writes bytes into old pickles."""
    if not isinstance(text, str):
        raise RefusedError("it encodes what is no text")
    return text.encode("latin1")


# Python 2 wrote numpy.core, today's numpy writes numpy._core.
ALLOWED = {
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy._core.multiarray", "_reconstruct"): _Array,
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Dtype,
    ("_codecs", "encode"): _latin1,
}


# What Python's unpickler does for each opcode.
AS_ALWAYS: dict[int, Any] = dict(pickle._Unpickler.dispatch)


class _PlainUnpickler(pickle._Unpickler):
    """Builds nothing but plain data.

    Keys are text, so that no nested key takes for ever to hash, and state goes into our stand-ins only.
    """

    stack: list[Any]
    dispatch: ClassVar[dict[int, Any]] = dict(AS_ALWAYS)

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in ALLOWED:
            raise RefusedError(brief(f"it asks for {module}.{name}"))
        return ALLOWED[module, name]

    def load_build(self) -> None:
        if not isinstance(self.stack[-2], _Array | _Dtype):
            raise RefusedError("it changes an object that is not its own")
        AS_ALWAYS[pickle.BUILD[0]](self)

    def load_setitem(self) -> None:
        self._check_keys(self.stack[-2:-1])
        AS_ALWAYS[pickle.SETITEM[0]](self)

    def load_setitems(self) -> None:
        self._check_keys(self.stack[::2])
        AS_ALWAYS[pickle.SETITEMS[0]](self)

    def load_dict(self) -> None:
        self._check_keys(self.stack[::2])
        AS_ALWAYS[pickle.DICT[0]](self)

    def _check_keys(self, keys: list[Any]) -> None:
        if not all(isinstance(key, bytes | str) for key in keys):
            raise RefusedError("it holds a table whose keys are no text")

    dispatch[pickle.BUILD[0]] = load_build
    dispatch[pickle.SETITEM[0]] = load_setitem
    dispatch[pickle.SETITEMS[0]] = load_setitems
    dispatch[pickle.DICT[0]] = load_dict
    for _opcode in (pickle.FROZENSET, pickle.ADDITEMS, pickle.PERSID, pickle.BINPERSID):
        del dispatch[_opcode[0]]


def read_batch(data: bytes, name: str) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Rows (N×3072) and labels of one batch file; `name` is for the error messages."""
    try:
        batch = _PlainUnpickler(io.BytesIO(data), encoding="bytes").load()
    except RefusedError as error:
        raise ValueError(f"{name} is no CIFAR-10 batch and was refused: {error}; download it again.") from error
    except Exception as error:  # damaged pickles raise nearly anything
        raise ValueError(f"{name} cannot be read as a pickle ({error}); download it again.") from error
    return _rows_and_labels(batch, name)


def _rows_and_labels(batch: Any, name: str) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    batch = {_text(key): value for key, value in batch.items()} if isinstance(batch, dict) else {}
    held, labels = batch.get("data"), batch.get("labels")
    rows = held.array if isinstance(held, _Array) else None
    if rows is None or rows.ndim != 2 or rows.shape[1] != 3072 or not isinstance(labels, list):
        raise ValueError(f"{name} must hold data of shape N×3072 and a list of labels; download it again.")
    if len(labels) != len(rows) or not all(type(label) is int for label in labels):
        raise ValueError(f"{name} must hold one whole number per row as its labels; download it again.")
    if not all(0 <= label <= 9 for label in labels):
        # Not more digits than 64 bits have, however many there are.
        low, high = (min(max(one, -(2**63)), 2**63) for one in (min(labels), max(labels)))
        raise ValueError(f"labels in {name} must be from 0 to 9, got {low} to {high}; download it again.")
    return rows, np.array(labels, dtype=np.int64)


def _text(key: Any) -> str:
    return key.decode("latin1") if isinstance(key, bytes) else str(key)
