"""Operations on grey levels and colors: composed into one 256-entry table per image and channel.

Pointwise operations only change the tables. AutoContrast, Equalize and Contrast build theirs from
the image as it is by then, and Color and Sharpness need its pixels, so for those few images the
table is applied first. The arithmetic is Pillow's, rounding included.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from curriculum_labeling.labels import FloatArray, IntArray
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
# Pixels looked up at a time, so that indices stay in the processor's cache.
CHUNK = 1 << 17
_WORDS = ((torch.int64, 8), (torch.int32, 4), (torch.int16, 2), (torch.uint8, 1))


class Canvas:
    """Images of a batch, and per image the table that is still to be applied to it.

    Row numbers are numpy arrays, as they are drawn; pixels and tables are on the images' device.
    """

    def __init__(self, images: Tensor) -> None:
        self.images = images.clone(memory_format=torch.contiguous_format)
        self.tables = images.new_empty((*images.shape[:2], 256))
        self.pending = np.zeros(len(images), dtype=np.bool_)

    def pixels(self, rows: IntArray) -> Tensor:
        """These images, whose tables have been applied."""
        assert not self.pending[rows].any()
        return self.images.index_select(0, self.index(rows))

    def replace(self, rows: IntArray, images: Tensor) -> None:
        """Put new images in the place of these."""
        _words(self.images).index_copy_(0, self.index(rows), _words(images))

    def compose(self, rows: IntArray, tables: Tensor) -> None:
        """Follow these images' tables with other tables, of shape (n, channels, 256)."""
        waiting = np.flatnonzero(self.pending[rows])
        if len(waiting):
            there = self.index(waiting)
            before = self.tables.index_select(0, self.index(rows[waiting]))
            _words(tables).index_copy_(0, there, _words(look_up(tables.index_select(0, there), before)))
        _words(self.tables).index_copy_(0, self.index(rows), _words(tables))
        self.pending[rows] = True

    def settle(self, rows: IntArray) -> None:
        """Apply the tables of these images, where they have one."""
        waiting = rows[self.pending[rows]]
        per_chunk = max(1, CHUNK // self.images[0].numel())
        for start in range(0, len(waiting), per_chunk):
            part = waiting[start : start + per_chunk]
            there = self.index(part)
            self.replace(part, look_up(self.tables.index_select(0, there), self.images.index_select(0, there)))
        self.pending[waiting] = False

    def index(self, rows: IntArray) -> Tensor:
        """Row numbers where the images are."""
        return torch.from_numpy(rows).to(self.images.device)


def look_up(tables: Tensor, images: Tensor) -> Tensor:
    """Each pixel through its image's and channel's table: tables (n, C, 256), images (n, C, ...)."""
    planes = images.shape[0] * images.shape[1]
    starts = torch.arange(0, planes * 256, 256, dtype=torch.int32, device=images.device)
    places = images.reshape(planes, -1).int().add_(starts[:, None])
    return tables.reshape(-1).index_select(0, places.view(-1)).view(images.shape)


def _words(images: Tensor) -> Tensor:
    """The same memory as (n, words), in the longest words that fit: they copy several times faster than bytes."""
    flat = images.view(len(images), -1)
    return next(flat.view(word) for word, size in _WORDS if flat.shape[1] % size == 0)


def change_colors(images: Tensor, plan: Plan) -> Tensor:
    """The photometric operations of a plan, on a uint8 batch of shape (n, 1 or 3, H, W)."""
    canvas = Canvas(images)
    for operations, values in zip(plan.operations.T, plan.values.T, strict=True):
        canvas.settle(np.flatnonzero(MEASURES[operations]))
        _compose_tables(canvas, operations, values)
        for operation, change in ((Operation.Color, saturate), (Operation.Sharpness, sharpen)):
            rows = np.flatnonzero(operations == operation)
            if len(rows):
                canvas.replace(rows, change(canvas.pixels(rows), _floats(values[rows], images.device)))
    canvas.settle(np.arange(len(images)))
    return canvas.images


def _compose_tables(canvas: Canvas, operations: IntArray, values: FloatArray) -> None:
    """Follow the tables of all images whose operation is one."""
    channels, drawn = canvas.images.shape[1], []
    contrast = np.flatnonzero(operations == Operation.Contrast)
    pointwise = np.concatenate([contrast, np.flatnonzero(POINTWISE[operations])])
    if len(pointwise):
        parameters = _pointwise_parameters(operations[pointwise], values[pointwise])
        parameters = _floats(parameters, canvas.images.device)
        if len(contrast):
            parameters[0, : len(contrast)] = mean_grey(canvas.pixels(contrast))
        drawn.append((pointwise, pointwise_tables(*parameters)[:, None].expand(-1, channels, -1)))
    for operation, tables_of in ((Operation.AutoContrast, autocontrast_tables), (Operation.Equalize, equalize_tables)):
        rows = np.flatnonzero(operations == operation)
        if len(rows):
            drawn.append((rows, tables_of(canvas.pixels(rows))))
    if drawn:
        canvas.compose(np.concatenate([rows for rows, _ in drawn]), torch.cat([tables for _, tables in drawn]))


def _pointwise_parameters(operations: IntArray, values: FloatArray) -> FloatArray:
    """Center, factor, threshold and bits of each image, of shape (4, n); Contrast's center is not known yet."""
    enhances = (operations == Operation.Contrast) | (operations == Operation.Brightness)
    threshold = np.where(operations == Operation.Solarize, values, 256)
    return np.stack(
        [
            np.zeros(len(values)),
            np.where(enhances, values, 1),
            np.where(operations == Operation.Invert, 0, threshold),
            np.where(operations == Operation.Posterize, values, 8),
        ]
    )


def _floats(array: FloatArray, device: torch.device) -> Tensor:
    return torch.from_numpy(array.astype(np.float32)).to(device)


def pointwise_tables(center: Tensor, factor: Tensor, threshold: Tensor, bits: Tensor) -> Tensor:
    """Tables (n, 256): away from `center` by `factor`, inverted from `threshold` on, `bits` leading bits kept.

    This one family holds Brightness (center 0), Contrast (center at the mean), Solarize, Invert
    (threshold 0) and Posterize.
    """
    levels = torch.arange(256, dtype=torch.float32, device=center.device)
    center, factor, threshold, bits = (one[:, None] for one in (center, factor, threshold, bits))
    tables = _to_bytes(center + factor * (levels - center))
    tables = tables ^ (levels >= threshold).to(torch.uint8).mul_(255)
    return tables & (256 - torch.exp2(8 - bits)).to(torch.uint8)


def autocontrast_tables(images: Tensor) -> Tensor:
    """Tables (n, C, 256) that stretch each channel to 0 … 255; a flat channel stays."""
    low, high = (bound[..., None].double() for bound in images.flatten(2).aminmax(dim=2))
    flat = high <= low
    scale = torch.where(flat, 1.0, 255.0 / (high - low))
    offset = torch.where(flat, 0.0, -low * scale)
    levels = torch.arange(256, dtype=torch.float64, device=images.device)
    return _to_bytes(levels * scale + offset)


def equalize_tables(images: Tensor) -> Tensor:
    """Tables (n, C, 256) that flatten each channel's histogram; one with too few levels stays."""
    n, channels = images.shape[:2]
    counts = torch.zeros(n, channels, 256, dtype=torch.int32, device=images.device)
    pixels = images.flatten(2).long()
    counts.scatter_add_(2, pixels, torch.ones((), dtype=torch.int32, device=images.device).expand_as(pixels))
    below = counts.cumsum(2, dtype=torch.int32) - counts
    last = counts.gather(2, pixels.amax(dim=2, keepdim=True))
    step = (pixels.shape[2] - last) // 255
    levels = torch.arange(256, dtype=torch.int32, device=images.device)
    equalized = (step // 2 + below) // step.clamp(min=1)
    return torch.where(step > 0, equalized.clamp_(max=255), levels).to(torch.uint8)


def grey(images: Tensor) -> Tensor:
    """Grey levels as int32 of shape (n, H, W)."""
    if images.shape[1] == 1:
        return images[:, 0].int()
    red, green, blue = images.int().unbind(1)
    return (red * GREY[0]).add_(green, alpha=GREY[1]).add_(blue, alpha=GREY[2]).add_(1 << 15).bitwise_right_shift_(16)


def mean_grey(images: Tensor) -> Tensor:
    """Each image's mean grey level, rounded: float32 of shape (n,)."""
    levels = grey(images).flatten(1)
    total, count = levels.sum(dim=1), levels.shape[1]
    return ((2 * total + count) // (2 * count)).float()


def saturate(images: Tensor, factor: Tensor) -> Tensor:
    """Color: away from each pixel's own grey by `factor`, of shape (n,)."""
    if images.shape[1] == 1:
        return images
    return _blend(grey(images)[:, None].float(), images, factor)


def sharpen(images: Tensor, factor: Tensor) -> Tensor:
    """Sharpness: away from a smoothed image by `factor`, of shape (n,); the outermost pixels stay.

    Sums run over the batch as one line of pixels: where they mix two lines or two images, they land
    on outermost pixels.
    """
    width, inner = images.shape[3], (..., slice(1, -1), slice(1, -1))
    line = images.reshape(-1).to(torch.int16)
    along = (line[:-2] + line[1:-1]).add_(line[2:])
    around = (along[: -2 * width] + along[width:-width]).add_(along[2 * width :])
    around.add_(line[width + 1 : -width - 1], alpha=4)
    smooth = images.reshape(-1).float()
    smooth[width + 1 : -width - 1] = around.float().mul_(1 / 13).add_(0.5).floor_()
    smooth = smooth.view(images.shape)
    sharp = _blend(smooth, images, factor)
    result = images.clone()
    result[inner] = sharp[inner]
    return result


def _blend(degenerate: Tensor, images: Tensor, factor: Tensor) -> Tensor:
    """Pillow's `Image.blend`: float32, clipped, then truncated."""
    return _to_bytes((images.float().sub_(degenerate)).mul_(factor.view(-1, 1, 1, 1)).add_(degenerate))


def _to_bytes(values: Tensor) -> Tensor:
    """Clipped and truncated; by way of int32, which torch does several times faster."""
    return values.clamp_(0, 255).to(torch.int32).to(torch.uint8)
