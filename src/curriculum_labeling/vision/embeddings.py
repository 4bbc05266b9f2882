"""Features of all images, computed once into one memory-mapped array that survives any kill.

The array grows in `embeddings.partial`, batch by batch, beside a journal with a checksum per batch.
A restarted build believes a line only after reading the batch again, and computes the others in
the same batches, so that the result is the same to the bit. `embeddings.json` says what the array
holds; it is written last, and one that says anything else than what is asked for is not used.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from curriculum_labeling.data.atomic import sync_folder, write_atomically
from curriculum_labeling.data.images import Images
from curriculum_labeling.data.locks import exclusive
from curriculum_labeling.data.npy import map_array
from curriculum_labeling.data.progress import Progress
from curriculum_labeling.vision.backbones.protocol import Backbone, Features
from curriculum_labeling.vision.embedding_journal import JOURNAL, Journal
from curriculum_labeling.vision.embedding_key import embedding_key

FORMAT = 1
ARRAY, INDEX, PARTIAL, LOCK = "embeddings.npy", "embeddings.json", "embeddings.partial", "embeddings.lock"


def embed_images(
    images: Images,
    backbone: Backbone,
    folder: str | Path,
    *,
    batch: int = 64,
    progress: Callable[[Progress], None] | None = None,
) -> Features:
    """Features (N, size) of all images, memory-mapped from `folder/embeddings.npy`.

    What is there already is used if it is of these very images and this very backbone, and is
    continued if it is unfinished. A second process waits for the first.
    """
    if batch < 1:
        raise ValueError(f"batch must be a whole number, at least 1, got {batch}.")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    index: dict[str, Any] = {
        "format": FORMAT,
        "key": embedding_key(images, backbone, batch),
        "rows": len(images),
        "size": backbone.size,
        "batch": batch,
        "backbone": backbone.describe(),
    }
    with exclusive(folder / LOCK):
        _complete_renames(folder, index)
        found = _open(folder, index)
        if found is None:
            _build(folder, images, backbone, index, progress)
            found = _open(folder, index)
        if not _is_of_another(folder / PARTIAL, index["key"]):  # left by a kill right after the last rename
            shutil.rmtree(folder / PARTIAL, ignore_errors=True)
    assert found is not None, "embeddings that were just written must be there"
    return found


def _build(
    folder: Path,
    images: Images,
    backbone: Backbone,
    index: dict[str, Any],
    progress: Callable[[Progress], None] | None,
) -> None:
    journal = Journal(_place_for(folder, index), len(images), backbone.size, index["batch"])
    journal.open()
    start, before = time.monotonic(), journal.rows_done
    done = before
    for number, rows in journal.batches_left():
        features = backbone.embed(images.pixels[rows.start : rows.stop])
        _check(features, rows, backbone)
        journal.write(number, features)
        done += len(rows)
        if progress is not None:
            progress(Progress(done, len(images), done - before, time.monotonic() - start))
    journal.close()
    write_atomically(journal.folder / INDEX, json.dumps(index, indent=1).encode())
    _complete_renames(folder, index)


def _check(features: Features, rows: range, backbone: Backbone) -> None:
    if features.shape != (len(rows), backbone.size) or features.dtype != np.float32:
        raise ValueError(
            f"the backbone {backbone.name!r} must give float32 features of shape {(len(rows), backbone.size)}, "
            f"got {features.dtype} of shape {features.shape}."
        )
    bad = ~np.isfinite(features).all(axis=1)
    if bad.any():
        raise ValueError(
            f"the backbone {backbone.name!r} must give finite features, "
            f"got NaN or infinity for the image at row {rows[int(bad.argmax())]}."
        )


def _place_for(folder: Path, index: dict[str, Any]) -> Path:
    """The folder to work in: the one that was left for this very key, or a new one."""
    partial = folder / PARTIAL
    mark = partial / index["key"]
    if partial.exists() and not mark.exists():
        shutil.rmtree(partial)
    partial.mkdir(exist_ok=True)
    mark.touch()
    return partial


def _is_of_another(partial: Path, key: str) -> bool:
    """Whether unfinished features of another key are kept here."""
    ours = (key, ARRAY, INDEX, JOURNAL)
    return partial.is_dir() and any(
        path.name not in ours and not path.name.startswith(".") for path in partial.iterdir()
    )


def _complete_renames(folder: Path, index: dict[str, Any]) -> None:
    """Move a finished array, then its index, to their names; a kill in between is made good by doing it again."""
    partial = folder / PARTIAL
    if _read_index(partial / INDEX) != index:
        return
    if (partial / ARRAY).exists():
        # An index must never stand beside an array that it is not about.
        (folder / INDEX).unlink(missing_ok=True)
        os.replace(partial / ARRAY, folder / ARRAY)
    os.replace(partial / INDEX, folder / INDEX)
    sync_folder(folder)


def _open(folder: Path, index: dict[str, Any]) -> Features | None:
    """The finished array of this index, or None where there is none or another."""
    if _read_index(folder / INDEX) != index:
        return None
    try:
        found: Features = map_array(folder / ARRAY)
    except (OSError, ValueError):
        return None
    return found if found.shape == (index["rows"], index["size"]) and found.dtype == np.float32 else None


def _read_index(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
