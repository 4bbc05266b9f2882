"""Street View House Numbers, cropped digits: `train_32x32.mat`, `test_32x32.mat` and, if wanted, `extra_32x32.mat`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np

from curriculum_labeling.data.images import Images
from curriculum_labeling.data.mat5 import read_variables
from curriculum_labeling.labels import IntArray

Part = Literal["train", "test", "extra"]
PARTS = ("train", "test", "extra")
CLASSES = tuple("0123456789")
# A little more than was published (73,257, 26,032 and 531,131): a file that unpacks to more is none of SVHN.
MOST_ROWS = {"train": 100_000, "test": 40_000, "extra": 600_000}
ROW_BYTES = 32 * 32 * 3 + 8


def load(folder: str | Path, *, part: Part = "train") -> Images:
    """One part of SVHN in its published order; the digit 0, published as class 10, becomes class 0."""
    if part not in PARTS:
        raise ValueError(f'part must be "train", "test" or "extra", got {part!r}.')
    path = Path(folder) / f"{part}_32x32.mat"
    if not path.is_file():
        raise ValueError(f"folder must hold {path.name} of SVHN, got {folder}; download.fetch_svhn gets it.")
    pixels, labels = _read(path, MOST_ROWS[part] * ROW_BYTES)
    return Images(np.ascontiguousarray(pixels.transpose(3, 0, 1, 2)), labels % 10, CLASSES, flippable=False)


def _read(path: Path, most_bytes: int) -> tuple[Any, IntArray]:
    """Pixels 32×32×3×N and classes from 1 to 10."""
    try:
        content = read_variables(path, ("X", "y"), most_bytes=most_bytes)
    except ValueError as error:
        raise ValueError(f"{path} cannot be read as a MATLAB file ({error}); download it again.") from error
    pixels: Any = content.get("X")
    labels: Any = content.get("y")
    if not (
        _is_array(pixels, "u") and pixels.dtype == np.uint8 and pixels.ndim == 4 and pixels.shape[:3] == (32, 32, 3)
    ):
        raise ValueError(f"{path} must hold X of shape 32×32×3×N and y, as SVHN's format 2 does; download it again.")
    if not _is_array(labels, "iuf") or labels.size != pixels.shape[3] or not np.isin(labels, np.arange(1, 11)).all():
        raise ValueError(f"y in {path} must hold one class from 1 to 10 per image; download it again.")
    return pixels, labels.reshape(-1).astype(np.int64)


def _is_array(value: Any, kinds: str) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in kinds
