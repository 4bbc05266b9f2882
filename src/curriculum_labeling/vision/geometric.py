"""Rotation, shear, translation, crop, flip and Cutout, composed into one map and one resampling pass.

Images that are only shifted and mirrored take the short way of copying lines (`sliding.py`), the
others look up pixel by pixel (`turning.py`); both give Pillow's nearest-neighbor pixels. Crops that
are resized interpolate (`stretching.py`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from curriculum_labeling.labels import BoolArray, IntArray
from curriculum_labeling.vision.grid import Grid, build_grid
from curriculum_labeling.vision.photometric import Tables, as_words
from curriculum_labeling.vision.plan import Plan
from curriculum_labeling.vision.recipe import Border
from curriculum_labeling.vision.sliding import slide
from curriculum_labeling.vision.stretching import stretch
from curriculum_labeling.vision.turning import turn

# Pixels resampled at a time, so that indices stay in the processor's cache.
CHUNK = 1 << 18


def resample(
    images: Tensor, plan: Plan, *, border: Border, fill: Tensor, tables: Tables | None = None, out: Tensor | None = None
) -> Tensor:
    """The geometric part of a plan, on a uint8 batch of shape (n, C, H, W).

    Parameters
    ----------
    fill : uint8 tensor of shape (C,), on the CPU
        The color outside the images.
    tables : Tables, optional
        What to look pixels up in on the way, see `photometric.py`.
    out : uint8 tensor of the shape of `images`, contiguous, optional
        Where to put the result.
    """
    height, width = images.shape[2:]
    grid = build_grid(plan, (height, width), border)
    pending = np.zeros(len(images), dtype=np.bool_) if tables is None else tables.pending
    result = torch.empty_like(images, memory_format=torch.contiguous_format) if out is None else out
    result_words = as_words(result)
    for rows in _groups(grid, pending, max(1, CHUNK // (height * width))):
        index = torch.from_numpy(rows).to(images.device)
        looked_up = tables.values.index_select(0, index) if tables is not None and pending[rows].any() else None
        part = images.index_select(0, index)
        if grid.straight[rows[0]]:
            part = slide(part, looked_up, grid, rows, fill, border=border)
        elif plan.crops is not None:
            part = stretch(part, looked_up, grid, rows, fill)
        else:
            part = turn(part, looked_up, grid, rows, fill)
        result_words.index_copy_(0, index, as_words(part))
    return result


def _groups(grid: Grid, pending: BoolArray, per_chunk: int) -> Iterator[IntArray]:
    """Rows that go the same way, a chunk at a time; batches of one chunk are not split by their tables."""
    tables = pending if len(pending) > per_chunk else np.zeros_like(pending)
    kinds = 2 * grid.straight + tables
    for kind in np.unique(kinds):
        rows = np.flatnonzero(kinds == kind)
        # Mirrored images last, as `slide` wants them.
        for start in range(0, len(rows), per_chunk):
            chunk = rows[start : start + per_chunk]
            yield chunk[np.argsort(grid.flip[chunk], kind="stable")]
