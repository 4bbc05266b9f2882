"""Images that are only shifted and mirrored: whole lines are copied, which is as fast as memory is.

Each image is laid into a wider frame with the border's pixels on both sides. A shifted line is then
W consecutive bytes of the frame, and all lines of a batch are one `index_select` over a view of
every such window.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from curriculum_labeling.labels import IntArray
from curriculum_labeling.vision.grid import Grid
from curriculum_labeling.vision.photometric import look_up
from curriculum_labeling.vision.recipe import Border


def slide(images: Tensor, tables: Tensor | None, grid: Grid, rows: IntArray, fill: Tensor, *, border: Border) -> Tensor:
    """These images (m, C, H, W), numbers `rows` of the grid, unmirrored ones first; looked up in tables if given."""
    width = images.shape[3]
    images = images if tables is None else look_up(tables, images)
    flip = grid.flip[rows]
    offsets = np.where(flip, -grid.shift[rows], grid.shift[rows]).clip(-width, width)
    margin = int(abs(offsets).max())
    frame = _frame(images, int((~flip).sum()), margin, fill, border)
    windows = frame.view(-1).as_strided((frame.numel() - width + 1, width), (1, 1))
    starts = _line_starts(grid, rows, tuple(frame.shape)) + (margin + offsets)[:, None, None]
    index = torch.from_numpy(starts.astype(np.int32)).to(images.device).view(-1)
    return _blank(windows.index_select(0, index).view(images.shape), grid, rows, fill)


def _frame(images: Tensor, unmirrored: int, margin: int, fill: Tensor, border: Border) -> Tensor:
    """Images, mirrored from number `unmirrored` on, with margins left and right and a line of fill color below."""
    count, channels, height, width = images.shape
    frame = fill.to(images.device).view(1, channels, 1, 1).repeat(count, 1, height + 1, width + 2 * margin)
    inner = frame[:, :, :height, margin : margin + width]
    inner[:unmirrored] = images[:unmirrored]
    inner[unmirrored:] = images[unmirrored:].flip(3)
    if border == "reflect" and margin:
        frame[:, :, :height, :margin] = inner[..., 1 : margin + 1].flip(3)
        frame[:, :, :height, margin + width :] = inner[..., -margin - 1 : -1].flip(3)
    return frame


def _line_starts(grid: Grid, rows: IntArray, frame: tuple[int, ...]) -> IntArray:
    """Where the frame's line begins that each output line reads, of shape (m, C, H)."""
    count, channels, lines, length = frame
    height = lines - 1
    line = grid.y_of_line[rows] >> 16
    line = np.where((line >= 0) & (line < height), line, height)
    planes = np.arange(count * channels).reshape(count, channels, 1) * lines
    starts: IntArray = (planes + line[:, None, :]) * length
    return starts


def _blank(images: Tensor, grid: Grid, rows: IntArray, fill: Tensor) -> Tensor:
    """Fill color under Cutout boxes, and in columns beside the crop that a translation brought into the frame."""
    inside = grid.inside[rows]
    if inside.all() and not grid.boxes:
        return images
    # 255 keeps a pixel and 0 blanks it.
    keep = _send(np.where(inside, 255, 0), images.device)[:, None, :]
    for by_line, by_column in grid.boxes:
        lines, columns = _send(by_line[rows], images.device), _send(by_column[rows], images.device)
        keep = keep & (lines[:, :, None] | columns[:, None, :])
    images.bitwise_and_(keep[:, None])
    if fill.any():
        images.bitwise_or_(keep[:, None].bitwise_not() & fill.to(images.device).view(1, -1, 1, 1))
    return images


def _send(array: IntArray, device: torch.device) -> Tensor:
    return torch.from_numpy(array.astype(np.uint8)).to(device)
