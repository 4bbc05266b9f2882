"""Figures 6 and 7: the most confident right and wrong pseudo-labels of each class, kept with their pixels."""

from __future__ import annotations

import io
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from curriculum_labeling.data.atomic import write_atomically
from curriculum_labeling.data.images import Images, PixelArray
from curriculum_labeling.data.npz import read_npz
from curriculum_labeling.data.typed import brief
from curriculum_labeling.labels import BoolArray, FloatArray, IntArray, Labels

CLASSES, EACH = 10, 5
KINDS = {"pixels": "u", "rows": "i", "classes": "i", "truth": "i", "confidence": "f", "names": "U"}
MOST_BYTES = 64 << 20


@dataclass(frozen=True, eq=False)
class Gallery:
    """Pseudo-labeled images: pixels (n, H, W, 3), the label each got, its true class (-1: foreign), and confidence."""

    pixels: PixelArray
    rows: IntArray
    classes: IntArray
    truth: IntArray
    confidence: FloatArray
    names: NDArray[np.str_]

    @property
    def right(self) -> BoolArray:
        """Which of them have the right label."""
        right: BoolArray = self.classes == self.truth
        return right


def pick(labels: Labels, images: Images) -> Gallery:
    """The highest scored right and wrong pseudo-labels of up to ten classes, spread over all of them."""
    rows, classes = labels.pseudo_rows, labels.pseudo_classes
    confidence, truth = labels.confidence[labels.given :], images.labels[labels.pseudo_rows]
    count = len(images.classes)
    shown = np.unique(np.linspace(0, count - 1, min(CLASSES, count)).round().astype(np.int64))
    order = np.argsort(-confidence, kind="stable")
    best = np.concatenate(
        [order[(classes[order] == c) & ((truth[order] == c) == right)][:EACH] for c in shown for right in (True, False)]
    )
    pixels = np.asarray(images.pixels[rows[best]])
    return Gallery(pixels, rows[best], classes[best], truth[best], confidence[best], np.array(images.classes))


def save(gallery: Gallery, path: Path) -> None:
    """One .npz file, whole or not at all."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **{one.name: getattr(gallery, one.name) for one in fields(Gallery)})
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, buffer.getvalue())


def read(path: Path) -> Gallery:
    """A gallery as it was saved."""
    try:
        found = Gallery(**read_npz(path, KINDS, most_bytes=MOST_BYTES))
        shapes = {array.shape for array in (found.rows, found.classes, found.truth, found.confidence)}
        if found.pixels.ndim != 4 or found.pixels.shape[3] != 3 or shapes != {found.pixels.shape[:1]}:
            raise ValueError("its arrays do not fit each other")
        if len(found.classes) and not (found.classes.min() >= 0 and found.classes.max() < found.names.size):
            raise ValueError("its labels have no names")
    except (OSError, ValueError) as error:
        raise ValueError(
            f"{path} is damaged ({brief(error)}); delete it, and its cell's JSON file to run that again."
        ) from error
    return found
