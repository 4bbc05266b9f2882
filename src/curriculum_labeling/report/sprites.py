"""Thumbnails of many images as one WebP picture inside the page."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from PIL import Image

from curriculum_labeling.data.images import PixelArray
from curriculum_labeling.data.npy import map_array
from curriculum_labeling.report.read import Rows

SIDE = 64
COLUMNS = 16
QUALITY = 55


@dataclass(frozen=True)
class Place:
    """Column and line of a thumbnail within the sprite."""

    column: int
    line: int


@dataclass(frozen=True)
class Sprite:
    """The picture as a data URI, how many thumbnails it is wide and high, and which row is where."""

    uri: str
    columns: int
    lines: int
    places: dict[int, Place]


EMPTY = Sprite("", 1, 1, {})


def open_pixels(rows: Rows) -> PixelArray | None:
    """The decoded images, mapped from the run's cache; None where the cache was deleted or is another's."""
    names = (rows.cache / "pixels.npy", *sorted(rows.cache.glob(f"{rows.resolution}px-*/pixels.npy")))
    for path in names:
        if not path.exists():
            continue
        try:
            pixels: PixelArray = map_array(path)
        except (OSError, ValueError):
            continue
        if pixels.ndim == 4 and len(pixels) == len(rows.paths) and pixels.dtype == np.uint8:
            return pixels
    return None


def draw_sprite(pixels: PixelArray | None, wanted: Iterable[int]) -> Sprite:
    """One picture of all wanted rows, each once, in their order."""
    rows = list(dict.fromkeys(wanted))
    if pixels is None or not rows:
        return EMPTY
    columns = min(COLUMNS, len(rows))
    lines = -(-len(rows) // columns)
    sheet = Image.new("RGB", (columns * SIDE, lines * SIDE))
    places = {row: Place(i % columns, i // columns) for i, row in enumerate(rows)}
    for row, place in places.items():
        sheet.paste(_thumbnail(pixels[row]), (place.column * SIDE, place.line * SIDE))
    buffer = io.BytesIO()
    sheet.save(buffer, "WEBP", quality=QUALITY, method=4)
    return Sprite("data:image/webp;base64," + base64.b64encode(buffer.getvalue()).decode(), columns, lines, places)


def _thumbnail(image: PixelArray) -> Image.Image:
    array = np.array(image)
    gray = array.shape[2] == 1
    picture = Image.fromarray(array[..., 0] if gray else array).convert("RGB")
    how = Image.Resampling.LANCZOS if max(picture.size) > SIDE else Image.Resampling.BICUBIC
    return picture.resize((SIDE, SIDE), how)
