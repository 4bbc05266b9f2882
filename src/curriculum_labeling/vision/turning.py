"""Rotated and sheared images: every output pixel looks its source pixel up.

Pixels are packed into an int32 each, so that one read moves all channels. Whatever falls outside
the source, or under a Cutout box, reads the fill color from a border one pixel wide.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from curriculum_labeling.labels import IntArray
from curriculum_labeling.vision.grid import ONE, Grid


def turn(images: Tensor, tables: Tensor | None, grid: Grid, rows: IntArray, fill: Tensor) -> Tensor:
    """These images (m, C, H, W), numbers `rows` of the grid, looked up in their tables if there are any."""
    count, channels, height, width = images.shape
    color = sum(int(level) << 8 * channel for channel, level in enumerate(fill))
    frame = torch.full((count, height + 2, width + 2), color, dtype=torch.int32, device=images.device)
    _pack(images, tables, out=frame[:, 1:-1, 1:-1])
    places = _places(grid, rows, images.device)
    return _unpack(frame.view(-1).index_select(0, places.view(-1)).view(places.shape), channels)


def _pack(images: Tensor, tables: Tensor | None, out: Tensor) -> None:
    """Pixels as one int32 each, looked up on the way: `out` is (m, H, W)."""
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


def _places(grid: Grid, rows: IntArray, device: torch.device) -> Tensor:
    """Which pixel of the bordered frames each output pixel reads: int32 of shape (m, H, W)."""
    height, width = grid.y_of_line.shape[1], grid.x_of_column.shape[1]
    frames = np.arange(len(rows))[:, None] * ((height + 2) * (width + 2))

    def send(by_column: IntArray, by_line: IntArray) -> tuple[Tensor, Tensor]:
        columns, lines = (torch.from_numpy(one.astype(np.int32)).to(device) for one in (by_column, by_line))
        return columns[:, None, :], lines[:, :, None]

    # The border shifts every place by one pixel.
    y = torch.add(*send(grid.y_of_column[rows], grid.y_of_line[rows] + ONE))
    places = torch.add(*send(grid.x_of_column[rows] + ONE, grid.x_of_line[rows]))
    places.bitwise_right_shift_(16).clamp_(0, width + 1)
    places.add_(y.bitwise_right_shift_(16).clamp_(0, height + 1), alpha=width + 2).add_(send(frames, frames)[0])
    for by_line, by_column in grid.boxes:
        # Place 0 is a corner of the first frame, which has the fill color.
        places.bitwise_and_(torch.bitwise_or(*send(by_column[rows], by_line[rows])))
    return places
