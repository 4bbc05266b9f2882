"""Augmentation of whole batches: a uint8 batch and its row numbers in, a uint8 batch out, on any device.

One departure from applying operations one after the other: within an image, photometric operations
come before geometric ones, whatever the order they were drawn in. That is what lets each kind be a
single pass; it changes only the corners that a rotation or translation fills in, and what
AutoContrast, Equalize and Contrast measure of them. Two geometric operations likewise become one
map, so what the first moves out of the picture the second can bring back.
"""

from __future__ import annotations

import torch
from torch import Tensor

from curriculum_labeling.vision.geometric import resample
from curriculum_labeling.vision.photometric import change_colors
from curriculum_labeling.vision.plan import Plan, draw_plan
from curriculum_labeling.vision.recipe import Recipe


def augment(images: Tensor, rows: Tensor, recipe: Recipe, *, key: int) -> Tensor:
    """A new batch in which every image was changed as its row and the key say.

    What happens to a row does not depend on the rest of the batch, so several batches of a small
    size can be augmented at once and then taken apart: on a CPU, 1,024 images at a time cost about
    half of what 128 at a time do.

    Parameters
    ----------
    images : uint8 tensor of shape (n, 1 or 3, H, W)
        On any device; the result is on the same one.
    rows : int64 tensor of shape (n,)
        Row numbers of the images in the training set, best kept on the CPU.
    recipe : Recipe
        What can happen, see `build_recipe`.
    key : int
        Who draws and when: `draws.key(seed, "augment", round, epoch)`.
    """
    _check(images, rows, recipe)
    if recipe.changes_nothing or len(images) == 0:
        return images
    height, width = images.shape[2:]
    return carry_out(images, draw_plan(recipe, rows, key=key, size=(height, width)), recipe)


def carry_out(images: Tensor, plan: Plan, recipe: Recipe) -> Tensor:
    """The batch after everything the plan says."""
    fill = torch.tensor(recipe.fill, dtype=torch.uint8).expand(images.shape[1])
    # Made out here, the result is an ordinary tensor; what lies between skips autograd's bookkeeping.
    result = torch.empty_like(images, memory_format=torch.contiguous_format)
    with torch.inference_mode():
        colored, tables = change_colors(images, plan) if plan.operations.shape[1] else (images, None)
        return resample(colored, plan, border=recipe.border, fill=fill, tables=tables, out=result)


def _check(images: Tensor, rows: Tensor, recipe: Recipe) -> None:
    if images.dtype != torch.uint8 or images.ndim != 4 or images.shape[1] not in (1, 3):
        raise ValueError(
            f"images must be a uint8 tensor of shape (n, 1 or 3, height, width), got {images.dtype} of shape "
            f"{tuple(images.shape)}; augment before converting to floats."
        )
    if len(rows) != len(images):
        raise ValueError(f"rows must name one row per image, got {len(rows)} rows for {len(images)} images.")
    size = (images.shape[2], images.shape[3])
    if min(size) < 8:
        raise ValueError(f"images must be at least 8 × 8 pixels, got {size[0]} × {size[1]}; enlarge them first.")
    if recipe.padding_for(size) >= min(size):
        raise ValueError(f"padding must be less than the image's side, got {recipe.padding} at {size[0]} × {size[1]}.")
    if len(recipe.fill) not in (1, images.shape[1]):
        raise ValueError(f"fill must have 1 or {images.shape[1]} levels for these images, got {len(recipe.fill)}.")
