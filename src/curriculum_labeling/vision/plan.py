"""A plan says what happens to each image of a batch: drawn on the CPU, carried out anywhere.

Keeping the draws (small, per row) apart from the pixels (large, on some device) means that no
device ever waits for a decision, and that another program, such as a loop over Pillow images, can
carry out the very same plan.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from curriculum_labeling.labels import BoolArray, FloatArray, IntArray
from curriculum_labeling.vision import draws
from curriculum_labeling.vision.operations import RANDOM, Operation, values
from curriculum_labeling.vision.recipe import Recipe

# Draw numbers 0 … 5 of a row: crop x and y, flip, cutout x and y, sub-policy. Then these per operation:
FIXED, CHOICE, MAGNITUDE, SIGN, BOX_X, BOX_Y = 6, 0, 1, 2, 3, 4
PER_OPERATION = 5
# And last, for crops that are resized: area and ratio of sides.
AREAS, RATIOS = (0.08, 1.0), (3 / 4, 4 / 3)
RANDOM_LEVELS = 9.0


@dataclass(frozen=True)
class Plan:
    """What happens to each of n images, in this order: operations, crop, flip, then boxes blanked out.

    Parameters
    ----------
    operations : int array of shape (n, k)
        Numbers of `Operation`.
    values : float array of shape (n, k)
        Degrees, pixels, factors and so on, see `operations.values`.
    shift_x, shift_y : int arrays of shape (n,)
        Where the crop starts, from -padding to padding.
    flip : bool array of shape (n,)
        Whether the crop is mirrored left to right.
    boxes : int array of shape (n, b, 3)
        Center x, center y and side of each Cutout; a side of 0 blanks nothing.
    crops : int array of shape (n, 4), optional
        Left, top, width and height of what is enlarged to the image's size; the shifts are then 0.
    """

    operations: IntArray
    values: FloatArray
    shift_x: IntArray
    shift_y: IntArray
    flip: BoolArray
    boxes: IntArray
    crops: IntArray | None = None

    def __len__(self) -> int:
        return len(self.flip)


def draw_plan(recipe: Recipe, rows: Tensor, *, key: int, size: tuple[int, int]) -> Plan:
    """The plan of these rows for images of this (height, width)."""
    drawn = FIXED + PER_OPERATION * recipe.steps
    unit = draws.uniform(key, rows.cpu(), drawn + 2).double().numpy()
    fixed, steps = unit[:, :FIXED], unit[:, FIXED:drawn].reshape(len(rows), recipe.steps, PER_OPERATION)
    operations, found = _draw_operations(recipe, fixed, steps, size)
    padding = recipe.padding_for(size)
    corners = _below(fixed[:, :2], 2 * padding + 1) - padding
    return Plan(
        operations=operations,
        values=found,
        shift_x=corners[:, 0],
        shift_y=corners[:, 1],
        flip=(fixed[:, 2] < 0.5) & recipe.flip,
        boxes=_draw_boxes(recipe, fixed, steps, np.where(operations == Operation.Cutout, found, 0), size),
        crops=_draw_crops(fixed[:, :2], unit[:, drawn:], size) if recipe.crop == "resized" else None,
    )


def _draw_operations(
    recipe: Recipe, fixed: FloatArray, steps: FloatArray, size: tuple[int, int]
) -> tuple[IntArray, FloatArray]:
    """Operations and their values, each of shape (n, k): at random, or as the policy has them."""
    signs = np.where(steps[..., SIGN] < 0.5, -1.0, 1.0)
    if recipe.policy is None:
        operations = RANDOM[_below(steps[..., CHOICE], len(RANDOM))]
        return operations, values(operations, steps[..., MAGNITUDE] * RANDOM_LEVELS, signs, size, "levels")
    policy = recipe.policy
    chosen = _below(fixed[:, 5], len(policy.operations))
    happens = steps[..., CHOICE] < policy.probabilities[chosen]
    operations = np.where(happens, policy.operations[chosen], Operation.Identity)
    return operations, values(operations, policy.magnitudes[chosen], signs, size, policy.scale)


def _draw_boxes(
    recipe: Recipe, fixed: FloatArray, steps: FloatArray, sides: FloatArray, size: tuple[int, int]
) -> IntArray:
    """The recipe's Cutout, then those that the steps drew, with these sides of shape (n, k)."""
    boxes = np.zeros((len(fixed), 1 + sides.shape[1], 3), dtype=np.int64)
    boxes[:, 0, :2] = _below(fixed[:, 3:5], size[::-1])
    boxes[:, 0, 2] = recipe.cutout_for(size)
    boxes[:, 1:, :2] = _below(steps[..., BOX_X : BOX_Y + 1], size[::-1])
    boxes[:, 1:, 2] = sides
    return boxes


def _draw_crops(corners: FloatArray, shapes: FloatArray, size: tuple[int, int]) -> IntArray:
    """Left, top, width and height; a side longer than the image's is cut down to it rather than drawn again."""
    area = (AREAS[0] + (AREAS[1] - AREAS[0]) * shapes[:, 0]) * (size[0] * size[1])
    ratio = RATIOS[0] * (RATIOS[1] / RATIOS[0]) ** shapes[:, 1]
    sides = np.sqrt(np.stack([area * ratio, area / ratio], axis=1)).round().astype(np.int64)
    sides = sides.clip(1, size[::-1])
    return np.concatenate([_below(corners, np.array(size[::-1]) - sides + 1), sides], axis=1)


def _below(unit: FloatArray, bound: int | tuple[int, ...] | IntArray) -> IntArray:
    """Whole numbers 0 … bound-1; draws have 24 bits, so products are exact and never reach the bound."""
    found: IntArray = (unit * np.array(bound)).astype(np.int64)
    return found
