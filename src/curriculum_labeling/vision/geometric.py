"""Rotation, shear, translation, crop, flip and Cutout: one affine map and one resampling pass.

Output pixel → flip and crop (whole pixels, per row and column) → affine map → source pixel, by
nearest neighbor in the 16.16 fixed-point arithmetic of Pillow's `Image.transform`, so that results
are Pillow's to the pixel. Whatever falls outside the source, or under a Cutout box, reads the fill
color from a border one pixel wide.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from curriculum_labeling.labels import BoolArray, FloatArray, IntArray
from curriculum_labeling.vision.operations import GEOMETRIC, Operation
from curriculum_labeling.vision.photometric import Tables
from curriculum_labeling.vision.plan import Plan
from curriculum_labeling.vision.recipe import Border

ONE = 1 << 16  # 1.0 in fixed point
OUTSIDE = -(1 << 30)
# Pixels resampled at a time, so that indices stay in the processor's cache.
CHUNK = 1 << 18


@dataclass(frozen=True)
class Grid:
    """Where output pixels read, as what their column and what their line contribute.

    The fixed-point place of pixel (line, column) is x_of_line + x_of_column, and likewise y; the
    four are int arrays of shape (n, W or H). Each of `boxes` is a pair of such arrays: 0 for lines
    and columns that a Cutout covers, -1 for others.
    """

    x_of_column: IntArray
    x_of_line: IntArray
    y_of_column: IntArray
    y_of_line: IntArray
    boxes: list[tuple[IntArray, IntArray]]

    @property
    def upright(self) -> BoolArray:
        """Images that are neither rotated nor sheared: lines stay lines, columns columns."""
        return np.logical_not(self.x_of_line.any(axis=1) | self.y_of_column.any(axis=1))


def resample(images: Tensor, plan: Plan, *, border: Border, fill: Tensor, tables: Tables | None = None) -> Tensor:
    """The geometric part of a plan, on a uint8 batch of shape (n, C, H, W).

    Parameters
    ----------
    fill : uint8 tensor of shape (C,)
        The color outside the images.
    tables : Tables, optional
        What to look pixels up in on the way, see `photometric.py`.
    """
    n, channels, height, width = images.shape
    grid = _grid(plan, (height, width), border)
    kinds = grid.upright * 2 + (0 if tables is None else tables.pending)
    shifts = torch.arange(0, 8 * channels, 8, dtype=torch.int32, device=images.device)
    per_chunk = min(n, max(1, CHUNK // (height * width)))
    frame = (fill.int() << shifts).sum(dtype=torch.int32).repeat(per_chunk, height + 2, width + 2)
    order, results = [], []
    for rows, upright, pending in _groups(kinds, per_chunk):
        index = torch.from_numpy(rows).to(images.device)
        looked_up = tables.values.index_select(0, index) if tables is not None and pending else None
        _pack(images.index_select(0, index), looked_up, out=frame[: len(rows), 1:-1, 1:-1])
        places = _places(grid, rows, upright, images.device)
        results.append(_unpack(frame.view(-1).index_select(0, places.view(-1)).view(places.shape), channels))
        order.append(rows)
    back = torch.from_numpy(np.argsort(np.concatenate(order))).to(images.device)
    return torch.cat(results).index_select(0, back)


def _groups(kinds: IntArray, per_chunk: int) -> Iterator[tuple[IntArray, bool, bool]]:
    """Rows of one kind and one chunk at a time; batches of a single chunk are not worth taking apart."""
    if len(kinds) <= per_chunk:
        yield np.arange(len(kinds)), bool(kinds.min() & 2), bool((kinds & 1).any())
        return
    for kind in np.unique(kinds):
        rows = np.flatnonzero(kinds == kind)
        for start in range(0, len(rows), per_chunk):
            yield rows[start : start + per_chunk], bool(kind & 2), bool(kind & 1)


def _pack(images: Tensor, tables: Tensor | None, out: Tensor) -> None:
    """Pixels as one int32 each, looked up on the way, so that one read moves all channels: `out` is (m, H, W)."""
    planes = images.shape[0] * images.shape[1]
    levels = images.int()
    if tables is not None:
        starts = torch.arange(0, planes * 256, 256, dtype=torch.int32, device=images.device)
        places = levels.view(planes, -1).add_(starts[:, None]).view(-1)
        levels = tables.int().view(-1).index_select(0, places).view(images.shape)
    if images.shape[1] == 1:
        out.copy_(levels[:, 0])
    else:
        red, green, blue = levels.unbind(1)
        torch.add(red.add_(green, alpha=1 << 8), blue, alpha=1 << 16, out=out)


def _unpack(packed: Tensor, channels: int) -> Tensor:
    """The uint8 images (m, C, H, W) in packed pixels; conversion to uint8 keeps the lowest byte."""
    images = torch.empty((len(packed), channels, *packed.shape[1:]), dtype=torch.uint8, device=packed.device)
    for channel in range(channels):
        images[:, channel] = packed if channel == 0 else packed.bitwise_right_shift_(8)
    return images


def affine_maps(plan: Plan, size: tuple[int, int]) -> FloatArray:
    """Maps from a place in the changed image to one in the source, of shape (n, 2, 3)."""
    total = np.tile(np.eye(3), (len(plan), 1, 1))
    for step in range(plan.operations.shape[1]):
        moved = np.flatnonzero(GEOMETRIC[plan.operations[:, step]])
        if len(moved):
            total[moved] = total[moved] @ _step_maps(plan.operations[moved, step], plan.values[moved, step], size)
    return total[:, :2]


def _step_maps(operations: IntArray, values: FloatArray, size: tuple[int, int]) -> FloatArray:
    """One geometric operation per image as maps, of shape (n, 3, 3); rotations turn around the center."""
    center_y, center_x = size[0] / 2, size[1] / 2
    angle = np.where(operations == Operation.Rotate, values, 0) * (-np.pi / 180)
    cos, sin = np.cos(angle), np.sin(angle)
    maps = np.zeros((len(values), 3, 3))
    maps[:, 0, 0] = maps[:, 1, 1] = cos
    maps[:, 0, 1] = sin + np.where(operations == Operation.ShearX, values, 0)
    maps[:, 1, 0] = -sin + np.where(operations == Operation.ShearY, values, 0)
    maps[:, 0, 2] = center_x - cos * center_x - sin * center_y
    maps[:, 1, 2] = center_y + sin * center_x - cos * center_y
    maps[:, 0, 2] += np.where(operations == Operation.TranslateX, values, 0)
    maps[:, 1, 2] += np.where(operations == Operation.TranslateY, values, 0)
    maps[:, 2, 2] = 1
    return maps


def _fixed_point(maps: FloatArray) -> IntArray:
    """Coefficients in fixed point, of shape (6, n, 1), for whole pixel numbers whose places are their centers."""
    maps = maps.copy()
    maps[:, :, 2] += 0.5 * (maps[:, :, 0] + maps[:, :, 1])
    coefficients: IntArray = np.floor(maps * ONE + 0.5).astype(np.int64)
    return coefficients.reshape(len(maps), 6).T[:, :, None]


def _grid(plan: Plan, size: tuple[int, int], border: Border) -> Grid:
    """The grid of a whole plan; positions off the crop's source lead far outside."""
    height, width = size
    columns, column_inside = _positions(plan.shift_x, width, border, plan.flip)
    lines, line_inside = _positions(plan.shift_y, height, border, None)
    a, b, c, d, e, f = _fixed_point(affine_maps(plan, size))
    boxes = [box.T for box in plan.boxes.swapaxes(0, 1) if box[:, 2].any()]
    # The border of the frame shifts every place by one pixel.
    return Grid(
        x_of_column=np.where(column_inside, a * columns + c + ONE, OUTSIDE),
        x_of_line=b * lines,
        y_of_column=d * columns,
        y_of_line=np.where(line_inside, e * lines + f + ONE, OUTSIDE),
        boxes=[(_uncovered(y, side, height), _uncovered(x, side, width)) for x, y, side in boxes],
    )


def _positions(shift: IntArray, length: int, border: Border, flip: BoolArray | None) -> tuple[IntArray, BoolArray]:
    """Where the crop's lines (or columns) lie in the image, of shape (n, length), and whether inside it."""
    base = np.arange(length)
    along = base if flip is None else np.where(flip[:, None], base[::-1], base)
    positions = along + shift[:, None]
    if border == "reflect":
        positions = (length - 1) - abs(abs(positions) - (length - 1))
    return positions, (positions >= 0) & (positions < length)


def _uncovered(center: IntArray, side: IntArray, length: int) -> IntArray:
    """0 for lines (or columns) from side//2 before the center to side//2 after it, -1 for others: (n, length)."""
    base, half = np.arange(length), side[:, None] // 2
    return np.where((base >= center[:, None] - half) & (base < center[:, None] + half), 0, -1)


def _places(grid: Grid, rows: IntArray, upright: bool, device: torch.device) -> Tensor:
    """Which pixel of the bordered frames each output pixel reads: int32 of shape (m, H, W)."""
    height, width = grid.y_of_line.shape[1], grid.x_of_column.shape[1]
    frames = np.arange(len(rows))[:, None] * ((height + 2) * (width + 2))

    def send(by_column: IntArray, by_line: IntArray) -> tuple[Tensor, Tensor]:
        columns, lines = (torch.from_numpy(one.astype(np.int32)).to(device) for one in (by_column, by_line))
        return columns[:, None, :], lines[:, :, None]

    if upright:
        columns = (grid.x_of_column[rows] >> 16).clip(0, width + 1)
        lines = (grid.y_of_line[rows] >> 16).clip(0, height + 1)
        places = torch.add(*send(columns, lines * (width + 2) + frames))
    else:
        y = torch.add(*send(grid.y_of_column[rows], grid.y_of_line[rows]))
        places = torch.add(*send(grid.x_of_column[rows], grid.x_of_line[rows]))
        places.bitwise_right_shift_(16).clamp_(0, width + 1)
        places.add_(y.bitwise_right_shift_(16).clamp_(0, height + 1), alpha=width + 2).add_(send(frames, frames)[0])
    for by_line, by_column in grid.boxes:
        # Place 0 is a corner of the first frame, which has the fill color.
        places.bitwise_and_(torch.bitwise_or(*send(by_column[rows], by_line[rows])))
    return places
