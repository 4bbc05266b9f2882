"""Street View House Numbers, cropped digits: `train_32x32.mat`, `test_32x32.mat` and, if wanted, `extra_32x32.mat`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy.io import loadmat

from curriculum_labeling.data.images import Images

Part = Literal["train", "test", "extra"]
PARTS = ("train", "test", "extra")
CLASSES = tuple("0123456789")


def load(folder: str | Path, *, part: Part = "train") -> Images:
    """One part of SVHN in its published order; the digit 0, published as class 10, becomes class 0."""
    if part not in PARTS:
        raise ValueError(f'part must be "train", "test" or "extra", got {part!r}.')
    path = Path(folder) / f"{part}_32x32.mat"
    if not path.is_file():
        raise ValueError(f"folder must hold {path.name} of SVHN, got {folder}; download.fetch_svhn gets it.")
    content = _read(path)
    pixels, labels = content.get("X"), content.get("y")
    if pixels is None or labels is None or pixels.ndim != 4 or pixels.shape[:3] != (32, 32, 3):
        raise ValueError(f"{path} must hold X of shape 32×32×3×N and y, as SVHN's format 2 does; download it again.")
    labels = labels.reshape(-1).astype(np.int64)
    if len(labels) != pixels.shape[3] or not ((labels >= 1) & (labels <= 10)).all():
        raise ValueError(f"y in {path} must hold one class from 1 to 10 per image; download it again.")
    rows = np.ascontiguousarray(pixels.transpose(3, 0, 1, 2))
    return Images(rows, labels % 10, CLASSES, flippable=False)


def _read(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = loadmat(path, variable_names=("X", "y"))
    except Exception as error:  # scipy's reader raises nearly anything on damaged bytes
        raise ValueError(f"{path} cannot be read as a MATLAB file ({error}); download it again.") from error
    return content
