"""Width and height of image files, from their headers alone."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from PIL import Image

from curriculum_labeling.data.decode import FORMATS
from curriculum_labeling.labels import IntArray


def read_sizes(paths: Sequence[str]) -> IntArray:
    """N×2, width and height of each file as it is stored; 0 × 0 where that cannot be read."""
    Image.init()
    formats = [name for name in FORMATS if name in Image.OPEN]
    sizes = np.zeros((len(paths), 2), dtype=np.int64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # odd metadata is not the user's business here
        for row, path in enumerate(paths):
            sizes[row] = _size(path, formats)
    return sizes


def _size(path: str, formats: list[str]) -> tuple[int, int]:
    try:
        with Image.open(path, formats=formats) as image:
            return image.size
    except Exception:  # on hostile bytes Pillow's parsers raise nearly anything; the cache names the file
        return (0, 0)
