"""Images, what every loader returns: one uint8 array, one label per row (−1 where unknown), class names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from curriculum_labeling.data.decode import flatten, square
from curriculum_labeling.labels import IntArray

PixelArray = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Images:
    """Rows of one index space: pixels, labels and where they came from.

    Parameters
    ----------
    pixels : uint8 array of shape (N, H, W, 3) or (N, H, W, 1)
        In memory, or memory-mapped from the cache.
    labels : int array of shape (N,)
        Class numbers 0 … C-1, or -1 where the class is not known.
    classes : tuple of str
        The name of each class.
    paths : tuple of str, optional
        The file behind each row.
    flippable : bool
        False where a mirrored image means something else, as for digits.
    """

    pixels: PixelArray
    labels: IntArray
    classes: tuple[str, ...]
    paths: tuple[str, ...] | None = None
    flippable: bool = True

    def __post_init__(self) -> None:
        _check_pixels(self.pixels)
        check_labels(self.labels, len(self.pixels), self.classes)
        if self.paths is not None and len(self.paths) != len(self.pixels):
            raise ValueError(
                f"paths must have one entry per image, got {len(self.paths)} for {len(self.pixels)} images."
            )

    def __len__(self) -> int:
        return len(self.pixels)


class Indexable(Protocol):
    """Anything with a length whose item i is a pair (image, label)."""

    def __len__(self) -> int:
        """How many pairs there are."""
        ...

    def __getitem__(self, index: int, /) -> tuple[Any, Any]:
        """The pair (image, label) of this row."""
        ...


def from_arrays(
    pixels: Any, labels: Any = None, classes: Sequence[str] | None = None, *, flippable: bool = True
) -> Images:
    """Images from a uint8 array N×H×W×3, N×H×W×1 or N×H×W, and class numbers (-1 or no labels at all: unknown)."""
    pixels = np.asanyarray(pixels)
    if pixels.ndim == 3:
        pixels = pixels[..., None]
    numbers = np.full(len(pixels), -1, dtype=np.int64) if labels is None else _whole_numbers(labels)
    if classes is None:
        classes = [str(c) for c in range(int(numbers.max(initial=-1)) + 1)]
    return Images(pixels, numbers, tuple(classes), flippable=flippable)


def from_indexable(
    samples: Indexable,
    classes: Sequence[str] | None = None,
    *,
    resolution: int | None = None,
    flippable: bool = True,
) -> Images:
    """Images from pairs (image, label): PIL images or uint8 arrays, all of one size unless `resolution` is given.

    A label of None or -1 means unknown.
    """
    if not len(samples):
        raise ValueError("samples must hold at least one (image, label) pair, got none.")
    labels = np.full(len(samples), -1, dtype=np.int64)
    pixels: PixelArray | None = None
    for row in range(len(samples)):
        image, label = samples[row]
        array = _one_image(image, row, resolution)
        if pixels is None:
            pixels = np.empty((len(samples), *array.shape), dtype=np.uint8)
        if array.shape != pixels.shape[1:]:
            raise ValueError(
                f"samples must all have one size, got {_size(array)} at row {row} after {_size(pixels[0])}; "
                "give resolution=… to resize them."
            )
        pixels[row] = array
        labels[row] = -1 if label is None else _whole_numbers(label)
    return from_arrays(pixels, labels, classes, flippable=flippable)


def join(*parts: Images) -> Images:
    """Several sets as one index space, in this order, such as the training and the test part of CIFAR-10."""
    first = parts[0]
    for part in parts[1:]:
        if part.classes != first.classes or part.pixels.shape[1:] != first.pixels.shape[1:]:
            raise ValueError(
                "parts must have the same classes and image size to be joined, got "
                f"{len(first.classes)} classes at {_size(first.pixels[0])} and "
                f"{len(part.classes)} classes at {_size(part.pixels[0])}."
            )
    known = [part.paths for part in parts if part.paths is not None]
    paths = tuple(path for some in known for path in some) if len(known) == len(parts) else None
    pixels = np.concatenate([part.pixels for part in parts])
    labels = np.concatenate([part.labels for part in parts])
    return Images(pixels, labels, first.classes, paths, all(part.flippable for part in parts))


def check_labels(labels: IntArray, rows: int, classes: Sequence[str]) -> None:
    """Refuse labels that are not one class number, or -1, per row."""
    if labels.shape != (rows,):
        raise ValueError(f"labels must have one entry per image, got shape {labels.shape} for {rows} images.")
    if labels.dtype != np.int64:
        raise TypeError(f"labels must be int64, got {labels.dtype}; use from_arrays, which converts them.")
    if rows and not (labels.min() >= -1 and labels.max() < len(classes)):
        raise ValueError(
            f"labels must be -1 (unknown) or a class from 0 to {len(classes) - 1}, "
            f"got values from {labels.min()} to {labels.max()}."
        )


def _check_pixels(pixels: PixelArray) -> None:
    if pixels.dtype != np.uint8:
        hint = "; multiply floats in [0, 1] by 255 and round" if pixels.dtype.kind == "f" else ""
        raise TypeError(f"pixels must be uint8 (0 to 255), got {pixels.dtype}{hint}.")
    if pixels.ndim != 4 or pixels.shape[3] not in (1, 3):
        first = pixels.ndim == 4 and pixels.shape[1] in (1, 3)
        hint = "; move the channels last with pixels.transpose(0, 2, 3, 1)" if first else ""
        raise ValueError(f"pixels must have shape N×H×W×3 or N×H×W×1, got {pixels.shape}{hint}.")


def _whole_numbers(labels: Any) -> IntArray:
    array = np.asarray(labels)
    if array.dtype.kind not in "iu":
        raise TypeError(
            f"labels must be whole numbers (-1 for unknown), got {array.dtype}; "
            "turn names into numbers with np.unique(names, return_inverse=True)."
        )
    return array.astype(np.int64)


def _one_image(image: Any, row: int, resolution: int | None) -> PixelArray:
    """A PIL image or array as uint8 H×W×3."""
    try:
        opened = image if isinstance(image, Image.Image) else Image.fromarray(_drawable(np.asarray(image)))
        flat = flatten(opened)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"samples must hold PIL images or uint8 arrays H×W, H×W×1, H×W×3 or H×W×4, "
            f"got {_describe(image)} at row {row}."
        ) from error
    return np.asarray(flat if resolution is None else square(flat, resolution))


def _drawable(array: NDArray[Any]) -> PixelArray:
    if array.dtype != np.uint8:
        raise TypeError(f"uint8 expected, got {array.dtype}")
    return array[..., 0] if array.ndim == 3 and array.shape[2] == 1 else array


def _describe(image: Any) -> str:
    if isinstance(image, Image.Image):
        return f"a PIL image of mode {image.mode}"
    shape = getattr(image, "shape", None)
    return type(image).__name__ if shape is None else f"an array {image.dtype} of shape {tuple(shape)}"


def _size(image: PixelArray) -> str:
    return "×".join(str(n) for n in image.shape)
