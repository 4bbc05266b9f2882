"""Rotation, shear, translation, crop, flip and Cutout: one affine map and one resampling pass.

Output pixel → flip and crop (whole pixels, per row and column) → affine map → source pixel, by
nearest neighbor in the 16.16 fixed-point arithmetic of Pillow's `Image.transform`, so that results
are Pillow's to the pixel. Whatever falls outside the source, or under a Cutout box, reads the fill
color from a border one pixel wide.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from curriculum_labeling.labels import BoolArray, FloatArray, IntArray
from curriculum_labeling.vision.operations import GEOMETRIC, Operation
from curriculum_labeling.vision.plan import Plan
from curriculum_labeling.vision.recipe import Border

ONE = 1 << 16  # 1.0 in fixed point
OUTSIDE = -(1 << 30)
# Pixels resampled at a time, so that indices stay in the processor's cache.
CHUNK = 1 << 16


@dataclass(frozen=True)
class Grid:
    """Where output pixels read, as what their column and what their line contribute.

    The fixed-point place of pixel (line, column) is x_of_line + x_of_column, and likewise y; the
    four are int32 of shape (n, W or H). Each of `boxes` is a pair of 0/1 tensors: the lines and the
    columns that a Cutout covers.
    """

    x_of_column: Tensor
    x_of_line: Tensor
    y_of_column: Tensor
    y_of_line: Tensor
    boxes: list[tuple[Tensor, Tensor]]


def resample(images: Tensor, plan: Plan, *, border: Border, fill: Tensor) -> Tensor:
    """The geometric part of a plan, on a batch of shape (n, C, H, W); `fill` has C entries."""
    n, channels, height, width = images.shape
    grid = _grid(plan, (height, width), border, images.device)
    per_chunk = min(n, max(1, CHUNK // (height * width)))
    frame = fill.view(1, channels, 1, 1).repeat(per_chunk, 1, height + 2, width + 2)
    planes = torch.arange(per_chunk * channels, dtype=torch.int32, device=images.device)
    starts = (planes * ((height + 2) * (width + 2))).view(per_chunk, channels, 1, 1)
    parts = []
    for start in range(0, n, per_chunk):
        part = images[start : start + per_chunk]
        frame[: len(part), :, 1:-1, 1:-1] = part
        places = _places(grid, slice(start, start + per_chunk))[:, None] + starts[: len(part)]
        parts.append(frame.view(-1).index_select(0, places.view(-1)).view(part.shape))
    return parts[0] if len(parts) == 1 else torch.cat(parts)


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
    return np.floor(maps * ONE + 0.5).astype(np.int64).reshape(len(maps), 6).T[:, :, None]


def _grid(plan: Plan, size: tuple[int, int], border: Border, device: torch.device) -> Grid:
    """The grid of a whole plan; positions off the crop's source lead far outside."""
    height, width = size
    columns, column_inside = _positions(plan.shift_x, width, border, plan.flip)
    lines, line_inside = _positions(plan.shift_y, height, border, None)
    a, b, c, d, e, f = _fixed_point(affine_maps(plan, size))
    boxes = [box.T for box in plan.boxes.swapaxes(0, 1) if box[:, 2].any()]
    # The border of the frame shifts every place by one pixel.
    return Grid(
        x_of_column=_send(np.where(column_inside, a * columns + c + ONE, OUTSIDE), device),
        x_of_line=_send(b * lines, device),
        y_of_column=_send(d * columns, device),
        y_of_line=_send(np.where(line_inside, e * lines + f + ONE, OUTSIDE), device),
        boxes=[
            (_send(_covered(y, side, height), device), _send(_covered(x, side, width), device)) for x, y, side in boxes
        ],
    )


def _send(array: IntArray, device: torch.device) -> Tensor:
    return torch.from_numpy(array.astype(np.int32)).to(device)


def _positions(shift: IntArray, length: int, border: Border, flip: BoolArray | None) -> tuple[IntArray, BoolArray]:
    """Where the crop's lines (or columns) lie in the image, of shape (n, length), and whether inside it."""
    base = np.arange(length)
    along = base if flip is None else np.where(flip[:, None], base[::-1], base)
    positions = along + shift[:, None]
    if border == "reflect":
        positions = (length - 1) - abs(abs(positions) - (length - 1))
    return positions, (positions >= 0) & (positions < length)


def _covered(center: IntArray, side: IntArray, length: int) -> BoolArray:
    """Which lines (or columns) lie within side//2 before the center to side//2 after it: (n, length)."""
    base, half = np.arange(length), side[:, None] // 2
    covered: BoolArray = (base >= center[:, None] - half) & (base < center[:, None] + half)
    return covered


def _places(grid: Grid, part: slice) -> Tensor:
    """Which pixel of the bordered frame each output pixel reads: int32 of shape (m, H, W)."""
    height, width = grid.y_of_line.shape[1], grid.x_of_column.shape[1]
    x = grid.x_of_column[part, None, :] + grid.x_of_line[part, :, None]
    y = grid.y_of_column[part, None, :] + grid.y_of_line[part, :, None]
    x.bitwise_right_shift_(16).clamp_(0, width + 1)
    y.bitwise_right_shift_(16).clamp_(0, height + 1)
    places = x.add_(y, alpha=width + 2)
    for lines, columns in grid.boxes:
        # Place 0 is the frame's corner, which has the fill color.
        places.mul_(1 - lines[part, :, None] * columns[part, None, :])
    return places
