"""Operations on grey levels and colors: composed into one 256-entry table per image and channel.

Pointwise operations only change the tables. AutoContrast, Equalize and Contrast build theirs from
the image as it is by then, and Color and Sharpness need its pixels, so for those few images the
table is applied first. The arithmetic is Pillow's, rounding included.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from curriculum_labeling.labels import BoolArray, FloatArray, IntArray
from curriculum_labeling.vision.operations import Operation
from curriculum_labeling.vision.plan import Plan

POINTWISE = np.isin(list(Operation), (Operation.Invert, Operation.Solarize, Operation.Posterize, Operation.Brightness))
# Operations that need to see the image as it is by then.
MEASURES = np.isin(
    list(Operation),
    (Operation.Contrast, Operation.AutoContrast, Operation.Equalize, Operation.Color, Operation.Sharpness),
)
# Grey is (19595 R + 38470 G + 7471 B) / 65536, rounded: Pillow's ITU-R 601-2 weights.
GREY = (19595, 38470, 7471)
# Pixels worked on at a time, so that what lies between two steps stays in the processor's cache.
CHUNK = 1 << 19
_WORDS = ((torch.int64, 8), (torch.int32, 4), (torch.int16, 2), (torch.uint8, 1))


@dataclass(frozen=True)
class Tables:
    """A table per image and channel, uint8 of shape (n, C, 256), and which images have one still to be applied."""

    values: Tensor
    pending: BoolArray


class Canvas:
    """Images of a batch, and per image the table that is still to be applied to it.

    Row numbers are numpy arrays, as they are drawn; pixels and tables are on the images' device.
    """

    def __init__(self, images: Tensor) -> None:
        self.images = images.clone(memory_format=torch.contiguous_format)
        self.identity = torch.arange(256, dtype=torch.uint8, device=images.device).repeat(images.shape[1], 1)
        self.tables = self.identity.repeat(len(images), 1, 1)
        self.image_words, self.table_words = as_words(self.images), as_words(self.tables)
        self.pending = np.zeros(len(images), dtype=np.bool_)

    def pixels(self, rows: IntArray) -> Tensor:
        """These images, whose tables have been applied."""
        assert not self.pending[rows].any()
        return self.images.index_select(0, self.index(rows))

    def replace(self, rows: IntArray, images: Tensor) -> None:
        """Put new images in the place of these."""
        self.image_words.index_copy_(0, self.index(rows), as_words(images))

    def compose(self, rows: IntArray, tables: Tensor) -> None:
        """Follow these images' tables with other tables, of shape (n, channels, 256)."""
        waiting = np.flatnonzero(self.pending[rows])
        if len(waiting):
            there = self.index(waiting)
            before = self.tables.index_select(0, self.index(rows[waiting]))
            as_words(tables).index_copy_(0, there, as_words(look_up(tables.index_select(0, there), before)))
        self.table_words.index_copy_(0, self.index(rows), as_words(tables))
        self.pending[rows] = True

    def settle(self, rows: IntArray) -> None:
        """Apply the tables of these images, where they have one."""
        waiting = rows[self.pending[rows]]
        for part in self.chunks(waiting):
            there = self.index(part)
            self.replace(part, look_up(self.tables.index_select(0, there), self.images.index_select(0, there)))
            self.table_words.index_copy_(0, there, as_words(self.identity.repeat(len(part), 1, 1)))
        self.pending[waiting] = False

    def chunks(self, rows: IntArray) -> Iterator[IntArray]:
        """These rows, CHUNK pixels at a time."""
        size = max(1, CHUNK // self.images[0].numel())
        return (rows[start : start + size] for start in range(0, len(rows), size))

    def index(self, rows: IntArray) -> Tensor:
        """Row numbers where the images are."""
        return torch.from_numpy(rows).to(self.images.device)


def look_up(tables: Tensor, images: Tensor) -> Tensor:
    """Each pixel through its image's and channel's table: tables (n, C, 256), images (n, C, ...)."""
    planes = images.shape[0] * images.shape[1]
    starts = torch.arange(0, planes * 256, 256, dtype=torch.int32, device=images.device)
    places = images.reshape(planes, -1).int().add_(starts[:, None])
    return tables.reshape(-1).index_select(0, places.view(-1)).view(images.shape)


def as_words(images: Tensor) -> Tensor:
    """The same memory as (n, words), in the longest words that fit: they copy several times faster than bytes."""
    flat = images.view(len(images), -1)
    return next(flat.view(word) for word, size in _WORDS if flat.shape[1] % size == 0)


def change_colors(images: Tensor, plan: Plan) -> tuple[Tensor, Tables]:
    """The photometric operations of a plan: images (n, 1 or 3, H, W), and tables to look them up in."""
    canvas = Canvas(images)
    for operations, values in zip(plan.operations.T, plan.values.T, strict=True):
        canvas.settle(np.flatnonzero(MEASURES[operations]))
        _compose_tables(canvas, operations, values)
        color, sharpness = (np.flatnonzero(operations == one) for one in (Operation.Color, Operation.Sharpness))
        for rows in canvas.chunks(np.concatenate([color, sharpness])):
            colored = int((operations[rows] == Operation.Color).sum())
            canvas.replace(rows, enhance(canvas.pixels(rows), colored, _floats(values[rows], images.device)))
    return canvas.images, Tables(canvas.tables, canvas.pending)


def _compose_tables(canvas: Canvas, operations: IntArray, values: FloatArray) -> None:
    """Follow the tables of all images whose operation is one."""
    kinds = (Operation.AutoContrast, Operation.Equalize, Operation.Contrast)
    stretched, equalized, contrast = (np.flatnonzero(operations == kind) for kind in kinds)
    pointwise = np.concatenate([contrast, np.flatnonzero(POINTWISE[operations])])
    rows = np.concatenate([stretched, equalized, pointwise])
    if not len(rows):
        return
    # Contrast belongs to both kinds: its images are measured, and its table is a pointwise one.
    sizes = (len(stretched), len(equalized), len(contrast))
    to_stretch, to_equalize, to_contrast = canvas.pixels(rows[: sum(sizes)]).split_with_sizes(sizes)
    parameters = _floats(_pointwise_parameters(operations[pointwise], values[pointwise]), canvas.images.device)
    if len(contrast):
        parameters[0, : len(contrast)] = mean_grey(to_contrast)
    shared = pointwise_tables(*parameters)[:, None].expand(-1, canvas.images.shape[1], -1)
    tables = [autocontrast_tables(to_stretch)] if len(stretched) else []
    tables += [equalize_tables(to_equalize)] if len(equalized) else []
    canvas.compose(rows, torch.cat([*tables, shared]))


def _pointwise_parameters(operations: IntArray, values: FloatArray) -> FloatArray:
    """Center, factor, threshold and mask of each image, of shape (4, n); Contrast's center is not known yet."""
    enhances = (operations == Operation.Contrast) | (operations == Operation.Brightness)
    threshold = np.where(operations == Operation.Solarize, values, 256)
    return np.stack(
        [
            np.zeros(len(values)),
            np.where(enhances, values, 1),
            np.where(operations == Operation.Invert, 0, threshold),
            np.where(operations == Operation.Posterize, 256 - 2 ** (8 - values), 255),
        ]
    )


def _floats(array: FloatArray, device: torch.device) -> Tensor:
    return torch.from_numpy(array.astype(np.float32)).to(device)


def pointwise_tables(center: Tensor, factor: Tensor, threshold: Tensor, mask: Tensor) -> Tensor:
    """Tables (n, 256): away from `center` by `factor`, inverted from `threshold` on, the bits of `mask` kept.

    This one family holds Brightness (center 0), Contrast (center at the mean), Solarize, Invert
    (threshold 0) and Posterize.
    """
    levels = torch.arange(256, dtype=torch.float32, device=center.device)
    center, factor, threshold, mask = (one[:, None] for one in (center, factor, threshold, mask))
    tables = _to_bytes(center + factor * (levels - center))
    tables = tables ^ (levels >= threshold).to(torch.uint8).mul_(255)
    return tables & mask.to(torch.uint8)


def autocontrast_tables(images: Tensor) -> Tensor:
    """Tables (n, C, 256) that stretch each channel to 0 … 255; a flat channel stays."""
    pixels = images.flatten(2)
    low, high = pixels.amin(dim=2, keepdim=True).double(), pixels.amax(dim=2, keepdim=True).double()
    flat = high <= low
    # Not 255.0 / tensor, which torch computes as a product with the reciprocal.
    scale = torch.where(flat, 1.0, torch.full_like(low, 255.0) / (high - low))
    offset = torch.where(flat, 0.0, -low * scale)
    levels = torch.arange(256, dtype=torch.float64, device=images.device)
    return _to_bytes(levels * scale + offset)


def equalize_tables(images: Tensor) -> Tensor:
    """Tables (n, C, 256) that flatten each channel's histogram; one with too few levels stays."""
    n, channels = images.shape[:2]
    counts = torch.zeros(n, channels, 256, dtype=torch.int32, device=images.device)
    pixels = images.flatten(2).long()
    counts.scatter_add_(2, pixels, torch.ones_like(pixels, dtype=torch.int32))
    below = counts.cumsum(2, dtype=torch.int32) - counts
    last = counts.gather(2, images.flatten(2).amax(dim=2, keepdim=True).long())
    step = (pixels.shape[2] - last) // 255
    equalized = _to_bytes((below + step // 2) / step.clamp(min=1))
    levels = torch.arange(256, dtype=torch.uint8, device=images.device)
    return torch.where(step > 0, equalized, levels)


def grey(images: Tensor) -> Tensor:
    """Grey levels (n, H, W) of float images that hold whole numbers; sums stay below 2²⁴ and so are exact."""
    if images.shape[1] == 1:
        return images[:, 0]
    red, green, blue = images.unbind(1)
    total = (red * GREY[0]).add_(green, alpha=GREY[1]).add_(blue, alpha=GREY[2])
    return total.add_(1 << 15).mul_(2**-16).floor_()


def mean_grey(images: Tensor) -> Tensor:
    """Each image's mean grey level, rounded: float32 of shape (n,)."""
    # A line's sum is exact in float32.
    total = grey(images.float()).sum(dim=2).sum(dim=1, dtype=torch.float64)
    return total.div_(images[0, 0].numel()).add_(0.5).floor_().float()


def enhance(images: Tensor, colored: int, factor: Tensor) -> Tensor:
    """Color for the first `colored` images and Sharpness for the others, by `factor`, of shape (n,).

    Color moves a pixel away from its own grey, Sharpness away from a smoothed image, both as
    Pillow's `Image.blend` does it: in float32, clipped, then truncated.
    """
    sharp = images.float()
    dull = torch.empty_like(sharp)
    if colored:
        dull[:colored] = grey(sharp[:colored])[:, None]
    if colored < len(images):
        _smooth(images[colored:], sharp[colored:], out=dull[colored:])
    return _to_bytes(sharp.sub_(dull).mul_(factor.view(-1, 1, 1, 1)).add_(dull))


def _smooth(images: Tensor, floats: Tensor, out: Tensor) -> None:
    """Each pixel's mean with its neighbors, itself counting five times, rounded; the outermost pixels stay.

    Sums run over the batch as one line of pixels: where they mix two lines or two images, they land
    on outermost pixels.
    """
    width = images.shape[3]
    line = images.reshape(-1).to(torch.int16)
    along = (line[:-2] + line[1:-1]).add_(line[2:])
    around = (along[: -2 * width] + along[width:-width]).add_(along[2 * width :])
    around.add_(line[width + 1 : -width - 1], alpha=4)
    torch.add(floats.new_tensor(0.5), around.float(), alpha=1 / 13, out=out.view(-1)[width + 1 : -width - 1]).floor_()
    for edge in ((..., 0, slice(None)), (..., -1, slice(None)), (..., 0), (..., -1)):
        out[edge] = floats[edge]


def _to_bytes(values: Tensor) -> Tensor:
    """Clipped and truncated; by way of int32, which torch does several times faster."""
    return values.clamp_(0, 255).to(torch.int32).to(torch.uint8)
