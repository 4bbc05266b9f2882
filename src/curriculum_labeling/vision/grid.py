"""Where output pixels read: a plan's crops, flips and affine maps as numbers per line and per column.

Output pixel → flip and crop (whole pixels) → affine map → source pixel, by nearest neighbor in the
16.16 fixed-point arithmetic of Pillow's `Image.transform`, so that results are Pillow's to the pixel.
A crop that is resized is one more affine map.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from curriculum_labeling.labels import BoolArray, FloatArray, IntArray
from curriculum_labeling.vision.operations import GEOMETRIC, Operation
from curriculum_labeling.vision.plan import Plan
from curriculum_labeling.vision.recipe import Border

ONE = 1 << 16  # 1.0 in fixed point
OUTSIDE = -(1 << 30)


@dataclass(frozen=True)
class Grid:
    """Where the pixels of n images read.

    Parameters
    ----------
    x_of_column, x_of_line, y_of_column, y_of_line : int arrays of shape (n, W or H)
        The fixed-point place of pixel (line, column) is x_of_line + x_of_column, and likewise y.
    boxes : pairs of int arrays of shapes (n, H) and (n, W)
        0 for lines and columns that a Cutout covers, -1 for others.
    straight : bool array of shape (n,)
        Images whose lines stay lines and are, mirrored or not, only shifted.
    shift : int array of shape (n,)
        By how much, where straight: column j reads column j + shift (W - 1 - j + shift if mirrored).
    flip : bool array of shape (n,)
        Whether the image is mirrored.
    inside : bool array of shape (n, W)
        Columns that the crop takes from the image, not from its border.
    """

    x_of_column: IntArray
    x_of_line: IntArray
    y_of_column: IntArray
    y_of_line: IntArray
    boxes: list[tuple[IntArray, IntArray]]
    straight: BoolArray
    shift: IntArray
    flip: BoolArray
    inside: BoolArray


def build_grid(plan: Plan, size: tuple[int, int], border: Border) -> Grid:
    """The grid of a plan for images of this (height, width)."""
    height, width = size
    columns, column_inside = _positions(plan.shift_x, width, border, plan.flip)
    lines, line_inside = _positions(plan.shift_y, height, border, None)
    a, b, c, d, e, f = _fixed_point(affine_maps(plan, size))
    boxes = [box.T for box in plan.boxes.swapaxes(0, 1) if box[:, 2].any()]
    straight = (a == ONE) & (b == 0) & (d == 0)
    if border == "reflect":
        # What a translation moves in from the side is not reflected, so such lines are no plain copies.
        straight &= (c >> 16) == 0
    if plan.crops is not None:
        straight = np.zeros_like(straight)
    return Grid(
        x_of_column=np.where(column_inside, a * columns + c, OUTSIDE),
        x_of_line=b * lines,
        y_of_column=d * columns,
        y_of_line=np.where(line_inside, e * lines + f, OUTSIDE),
        boxes=[(_uncovered(y, side, height), _uncovered(x, side, width)) for x, y, side in boxes],
        straight=straight[:, 0],
        shift=plan.shift_x + (c[:, 0] >> 16),
        flip=plan.flip,
        inside=column_inside,
    )


def affine_maps(plan: Plan, size: tuple[int, int]) -> FloatArray:
    """Maps from a place in the changed image to one in the source, of shape (n, 2, 3)."""
    total = np.tile(np.eye(3), (len(plan), 1, 1))
    for step in range(plan.operations.shape[1]):
        moved = np.flatnonzero(GEOMETRIC[plan.operations[:, step]])
        if len(moved):
            total[moved] = total[moved] @ _step_maps(plan.operations[moved, step], plan.values[moved, step], size)
    if plan.crops is not None:
        total = total @ _crop_maps(plan.crops, size)
    return total[:, :2]


def _crop_maps(crops: IntArray, size: tuple[int, int]) -> FloatArray:
    """From a place in the enlarged crop to one in the image it was cut from, of shape (n, 3, 3)."""
    maps = np.tile(np.eye(3), (len(crops), 1, 1))
    maps[:, [0, 1], [0, 1]] = crops[:, 2:] / np.array(size[::-1])
    maps[:, :2, 2] = crops[:, :2]
    return maps


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
