"""Features of an earlier run, used again for every image whose pixels have not changed, wherever its file is now."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from curriculum_labeling.data.images import Images, PixelArray
from curriculum_labeling.data.npy import map_array
from curriculum_labeling.data.partial import PIXELS
from curriculum_labeling.vision.backbones.protocol import Backbone, Features
from curriculum_labeling.vision.embedding_key import embedding_key
from curriculum_labeling.vision.embeddings import ARRAY, INDEX


class RememberingBackbone:
    """A backbone that embeds only what it does not know."""

    def __init__(self, backbone: Backbone, features: Features, pixels: PixelArray) -> None:
        self.backbone = backbone
        self.name, self.resolution, self.size = backbone.name, backbone.resolution, backbone.size
        self._features = features
        self._rows = {_digest(image): row for row, image in enumerate(pixels)}

    def describe(self) -> dict[str, Any]:
        """The same words as without a memory: the features are the same."""
        return self.backbone.describe()

    def embed(self, pixels: PixelArray) -> Features:
        """Features (n, size), looked up or computed."""
        rows = np.array([self._rows.get(_digest(image), -1) for image in pixels], dtype=np.int64)
        known = rows >= 0
        found = np.empty((len(pixels), self.size), dtype=np.float32)
        found[known] = self._features[rows[known]]
        if not known.all():
            found[~known] = self.backbone.embed(pixels[~known])
        return found


def remember(backbone: Backbone, before: Path, resolution: int) -> Backbone:
    """The backbone with the memory of a run; without one where that run's features are gone or not the same kind."""
    try:
        images = json.loads((before / "images.json").read_bytes())
        index = json.loads((before / "cache" / INDEX).read_bytes())
        features = map_array(before / "cache" / ARRAY)
        pixels = _pixels_of(before, images, index, backbone, resolution)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return backbone
    return backbone if pixels is None else RememberingBackbone(backbone, features, pixels)


def _pixels_of(
    before: Path, record: dict[str, Any], index: dict[str, Any], backbone: Backbone, resolution: int
) -> PixelArray | None:
    """The images that the features are of: the cached ones that give the very key of the features."""
    labels = np.full(len(record["paths"]), -1, dtype=np.int64)
    for pixels in _candidates(before, len(labels), resolution):
        images = Images(pixels, labels, ("?",), tuple(record["paths"]))
        if embedding_key(images, backbone, index["batch"]) == index["key"]:
            return pixels
    return None


def _candidates(before: Path, rows: int, resolution: int) -> Iterator[PixelArray]:
    for path in sorted((before / "cache").glob(f"{resolution}px-*/{PIXELS}")):
        pixels = map_array(path)
        if len(pixels) == rows:
            yield pixels


def _digest(image: PixelArray) -> bytes:
    return blake2b(np.ascontiguousarray(image).data, digest_size=16).digest()
