"""The operations of heavy augmentation and what their magnitudes mean.

Magnitudes come in the two forms in which policies are published. *Levels* run from 0 to 10 and are
those of AutoAugment's released code, which the authors' random augmentation (RA) draws from 0 to 9:
Rotate up to 27°, Translate up to 9 of 32 pixels, Shear up to 0.27, Solarize from 256 down to 26,
Posterize from 4 bits to 1, Contrast, Color, Brightness and Sharpness from 0.1 to 1.72. *Unit*
magnitudes run from 0 to 1 and are those of Fast AutoAugment.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Literal

import numpy as np

from curriculum_labeling.labels import FloatArray, IntArray

Scale = Literal["levels", "unit"]


class Operation(IntEnum):
    """What can happen to an image, by the names that published policies use."""

    Identity = 0
    Invert = 1
    AutoContrast = 2
    Equalize = 3
    Solarize = 4
    Posterize = 5
    Contrast = 6
    Brightness = 7
    Color = 8
    Sharpness = 9
    Rotate = 10
    TranslateX = 11
    TranslateY = 12
    ShearX = 13
    ShearY = 14
    Cutout = 15


# The 14 operations that random augmentation draws from.
RANDOM = np.array([op for op in Operation if op not in (Operation.Identity, Operation.Cutout)])
GEOMETRIC = np.array([Operation.Rotate <= op <= Operation.ShearY for op in Operation])

# Values at magnitude 0 and at the top. Translations and Cutout are fractions of the image's side.
_NONE = (0.0, 0.0)
_RANGES: dict[Scale, dict[str, tuple[float, float]]] = {
    "levels": {
        "Solarize": (256.0, 0.0),
        "Posterize": (4.0, 0.0),
        "Contrast": (0.1, 1.9),
        "Brightness": (0.1, 1.9),
        "Color": (0.1, 1.9),
        "Sharpness": (0.1, 1.9),
        "Rotate": (0.0, 30.0),
        "TranslateX": (0.0, 10 / 32),
        "TranslateY": (0.0, 10 / 32),
        "ShearX": (0.0, 0.3),
        "ShearY": (0.0, 0.3),
        "Cutout": (0.0, 20 / 32),
    },
    "unit": {
        "Solarize": (0.0, 256.0),
        "Posterize": (4.0, 8.0),
        "Contrast": (0.1, 1.9),
        "Brightness": (0.1, 1.9),
        "Color": (0.1, 1.9),
        "Sharpness": (0.1, 1.9),
        "Rotate": (-30.0, 30.0),
        "TranslateX": (-0.45, 0.45),
        "TranslateY": (-0.45, 0.45),
        "ShearX": (-0.3, 0.3),
        "ShearY": (-0.3, 0.3),
        "Cutout": (0.0, 0.2),
    },
}
_LIMITS: dict[Scale, FloatArray] = {
    scale: np.array([ranges.get(op.name, _NONE) for op in Operation]) for scale, ranges in _RANGES.items()
}
TOPS: dict[Scale, float] = {"levels": 10.0, "unit": 1.0}


def values(
    operations: IntArray, magnitudes: FloatArray, signs: FloatArray, size: tuple[int, int], scale: Scale
) -> FloatArray:
    """What each operation's magnitude means for an image of this (height, width).

    Parameters
    ----------
    operations : int array of shape (n, k)
        Numbers of `Operation`.
    magnitudes : float array of shape (n, k)
        0 … 10 for levels, 0 … 1 for unit magnitudes.
    signs : float array of shape (n, k)
        ±1, which way a geometric operation goes.

    Returns
    -------
    float array of shape (n, k)
        Degrees, pixels, shear, threshold, bits, enhancement factor or side, as the operation has it.
    """
    height, width = size
    unit_of = np.ones(len(Operation))
    unit_of[[Operation.TranslateX, Operation.TranslateY, Operation.Cutout]] = width, height, min(size)
    low, high = _LIMITS[scale][operations].transpose(2, 0, 1)
    found = (low + (high - low) * magnitudes / TOPS[scale]) * unit_of[operations]
    found = np.where(GEOMETRIC[operations], found * signs, found)
    # AutoAugment counts the bits taken away and Fast AutoAugment those kept, both rounding down.
    bits = np.ceil(found) if scale == "levels" else np.floor(found)
    found = np.where(operations == Operation.Posterize, bits.clip(1, 8), found)
    result: FloatArray = np.where(operations == Operation.Cutout, np.floor(found), found)
    return result
