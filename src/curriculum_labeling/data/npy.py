"""An .npy file as an array that stays on disk; damage is a ValueError, whatever numpy makes of it."""

from __future__ import annotations

import warnings
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.typing import NDArray

# numpy reads headers as Python literals, so a damaged one may be wrong in any way that Python can be.
FAULTS = (
    ValueError,
    TypeError,
    KeyError,
    EOFError,
    SyntaxError,
    TokenError,
    OverflowError,
    RecursionError,
    MemoryError,
)


def map_array(path: str | Path) -> NDArray[Any]:
    """The array, read-only; ValueError says what is wrong, a file that cannot be opened is an OSError."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of headers that a Python 2 might have written, such as damaged ones
            array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except FAULTS as error:
        raise ValueError(f"it is no .npy file: {type(error).__name__}") from error
    if not isinstance(array, np.ndarray):
        raise ValueError("it is no .npy file but an archive of some")
    return array
