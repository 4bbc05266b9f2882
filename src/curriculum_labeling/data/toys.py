"""Small images for tests and demonstrations, without a download."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits

from curriculum_labeling.data.images import Images


def digits_images() -> Images:
    """scikit-learn's 1,797 handwritten digits, each of its 8×8 pixels doubled: 16×16×3, grey."""
    digits = load_digits()
    gray = np.round(digits.images * (255 / 16)).astype(np.uint8)
    pixels = np.repeat(gray.repeat(2, axis=1).repeat(2, axis=2)[..., None], 3, axis=3)
    return Images(pixels, digits.target.astype(np.int64), tuple("0123456789"), flippable=False)
