"""Crops that are resized: every output pixel is interpolated between the four source pixels around its place.

A crop is never larger than the image it is enlarged to, so bilinear interpolation needs no antialiasing.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import grid_sample

from curriculum_labeling.labels import FloatArray, IntArray
from curriculum_labeling.vision.grid import ONE, Grid
from curriculum_labeling.vision.photometric import look_up


def stretch(images: Tensor, tables: Tensor | None, grid: Grid, rows: IntArray, fill: Tensor) -> Tensor:
    """These images (m, C, H, W), numbers `rows` of the grid, looked up in their tables if there are any."""
    height, width = images.shape[2:]
    images = images if tables is None else look_up(tables, images)
    x = _sum(grid.x_of_column[rows] / ONE, grid.x_of_line[rows] / ONE, images.device)
    y = _sum(grid.y_of_column[rows] / ONE, grid.y_of_line[rows] / ONE, images.device)
    blank = (x < 0) | (x >= width) | (y < 0) | (y >= height)
    for by_line, by_column in grid.boxes:
        # Both are 0 under the box and -1 elsewhere.
        blank |= _sum(by_column[rows], by_line[rows], images.device) == 0
    # grid_sample counts from -1 to 1 over the image; beyond the outermost centers it repeats their pixels.
    places = torch.stack([x * (2 / width) - 1, y * (2 / height) - 1], dim=3)
    levels = grid_sample(images.float(), places, padding_mode="border", align_corners=False)
    colors = fill.to(images.device).view(1, -1, 1, 1)
    return torch.where(blank[:, None], colors, levels.add_(0.5).to(torch.uint8))


def _sum(by_column: FloatArray | IntArray, by_line: FloatArray | IntArray, device: torch.device) -> Tensor:
    """Numbers per column and per line added up for every pixel: float32 of shape (m, H, W)."""
    columns, lines = (torch.from_numpy(one.astype(np.float32)).to(device) for one in (by_column, by_line))
    return columns[:, None, :] + lines[:, :, None]
