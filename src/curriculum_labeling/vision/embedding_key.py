"""What embeddings are known by: the backbone, the images and the batches they were computed in."""

from __future__ import annotations

import json
from hashlib import blake2b
from pathlib import Path

import numpy as np

from curriculum_labeling.data.images import Images
from curriculum_labeling.data.partial import INDEX
from curriculum_labeling.vision.backbones.protocol import Backbone

CHUNK = 256


def embedding_key(images: Images, backbone: Backbone, batch: int) -> str:
    """A name that differs wherever images, their order, the backbone or the batches do."""
    mark = blake2b(digest_size=16)
    mark.update(json.dumps([backbone.describe(), images.pixels.shape, batch], sort_keys=True).encode())
    cache = _cache_key(images)
    if cache is not None:
        # The cache's key stands for the content of every path in it, so the paths say the rest.
        mark.update(json.dumps([cache, images.paths]).encode())
    else:
        for start in range(0, len(images), CHUNK):
            mark.update(images.pixels[start : start + CHUNK].tobytes())
    return mark.hexdigest()


def _cache_key(images: Images) -> str | None:
    """The key of the image cache that the pixels are mapped from, or None where they are not."""
    if images.paths is None or not isinstance(images.pixels, np.memmap) or images.pixels.filename is None:
        return None
    path = Path(str(images.pixels.filename)).with_name(INDEX)
    try:
        key = json.loads(path.read_bytes())["key"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return key if isinstance(key, str) else None
