"""The image cache: every file decoded once per resolution into one memory-mapped uint8 array.

A finished cache is a folder with `pixels.npy` (any numpy opens it), `digests.npy` and `index.json`.
It gets its name, a key of all files' paths, sizes and modification times, by one rename at the end.
A file that changes gives another key; rows that did not change are then copied from older caches.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from curriculum_labeling.data.chunks import Chunk, Source, choose_workers, decode_chunks, refuse_while_starting
from curriculum_labeling.data.decode import UnreadableImage, check_resolution, jpeg_decoder
from curriculum_labeling.data.fingerprints import FORMAT, Digests, Fingerprints, take_fingerprints
from curriculum_labeling.data.images import Images
from curriculum_labeling.data.listing import Listing
from curriculum_labeling.data.locks import exclusive
from curriculum_labeling.data.npy import map_array
from curriculum_labeling.data.partial import DIGESTS, INDEX, PIXELS, Partial
from curriculum_labeling.data.progress import Progress
from curriculum_labeling.data.typed import brief

SHOWN = 5


@dataclass(frozen=True)
class Cached:
    """Images mapped from the cache, and the listed files that are not among them."""

    images: Images
    unreadable: tuple[UnreadableImage, ...]


class UnreadableImages(ValueError):  # noqa: N818 (it is about the files)
    """Files of a listing that cannot be read, each an UnreadableImage in `unreadable`."""

    def __init__(self, unreadable: tuple[UnreadableImage, ...], total: int) -> None:
        self.unreadable = unreadable
        shown = "".join(f"\n  {one}" for one in unreadable[:SHOWN])
        more = f"\n  … and {len(unreadable) - SHOWN} more" if len(unreadable) > SHOWN else ""
        skip = ', or leave them out with unreadable="skip"' if len(unreadable) < total else ""
        super().__init__(
            f"{len(unreadable)} of {total} files cannot be read as images; repair or remove them{skip}:{shown}{more}"
        )


def load(
    listing: Listing,
    folder: str | Path,
    *,
    resolution: int,
    unreadable: Literal["fail", "skip"] = "fail",
    workers: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    flippable: bool = True,
) -> Cached:
    """Images of a listing, decoded into this cache folder unless they are there already.

    A build that was killed continues where it stopped; a second process waits for the first and
    uses its result. Files that cannot be read raise one UnreadableImages, or are left out.
    """
    refuse_while_starting()
    check_resolution(resolution)
    if unreadable not in ("fail", "skip"):
        raise ValueError(f'unreadable must be "fail" or "skip", got {unreadable!r}.')
    if not len(listing):
        raise ValueError("listing must name at least one image file, got none.")
    workers = choose_workers(workers, len(listing))
    prints = take_fingerprints(listing.paths, resolution)
    target = Path(folder) / f"{resolution}px-{prints.key}"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        with exclusive(target.with_suffix(".lock")):
            if not target.exists():
                _build(target, prints, resolution, workers, progress)
    cached = _open(target, listing, flippable)
    if cached.unreadable and unreadable == "fail":
        raise UnreadableImages(cached.unreadable, len(listing))
    return cached


def _build(
    target: Path,
    prints: Fingerprints,
    resolution: int,
    workers: int,
    progress: Callable[[Progress], None] | None,
) -> None:
    partial = Partial(target.with_suffix(".partial"), len(prints.files), resolution)
    partial.open()
    start, before = time.monotonic(), partial.rows_done
    chunks = _chunks_left(partial, prints, target.parent)
    done = before
    for chunk in decode_chunks(chunks, workers=workers):
        partial.write(chunk)
        done += len(chunk.pixels) // (resolution * resolution * 3)
        if progress is not None:
            progress(Progress(done, partial.rows, done - before, time.monotonic() - start))
    faults = tuple(UnreadableImage(prints.files[row].path, why) for row, why in sorted(partial.unreadable.items()))
    if len(faults) == partial.rows:
        raise UnreadableImages(faults, partial.rows)
    partial.finish(target, prints.digests, _index(partial, prints))


def _chunks_left(partial: Partial, prints: Fingerprints, folder: Path) -> Iterator[Chunk]:
    known = _rows_of_other_caches(prints, folder, partial.resolution)
    for number, rows in partial.chunks_left():
        sources = tuple(Source(prints.files[row], known.get(row)) for row in rows)
        yield Chunk(number, sources, partial.resolution)


def _rows_of_other_caches(prints: Fingerprints, folder: Path, resolution: int) -> dict[int, tuple[str, int]]:
    """Rows whose very file, unchanged, an older cache of this folder already holds."""
    found: dict[int, tuple[str, int]] = {}
    for path in sorted(folder.glob(f"{resolution}px-*/{DIGESTS}")):
        if not (path.parent / INDEX).exists() or path.parent.suffix:
            continue
        digests = _digests(path)
        _, ours, theirs = np.intersect1d(prints.digests[:, 0], digests[:, 0], return_indices=True)
        same = (prints.digests[ours] == digests[theirs]).all(axis=1)
        pixels = str(path.with_name(PIXELS))
        found.update((int(row), (pixels, int(other))) for row, other in zip(ours[same], theirs[same], strict=True))
    return found


def _digests(path: Path) -> Digests:
    """The digests of another cache; none where that cache is damaged, as it is not needed here."""
    nothing: Digests = np.empty((0, 2), dtype=np.uint64)
    try:
        digests, rows = map_array(path), len(map_array(path.with_name(PIXELS)))
    except (OSError, ValueError, TypeError):
        return nothing
    return digests if digests.shape == (rows, 2) and digests.dtype == np.uint64 else nothing


def _index(partial: Partial, prints: Fingerprints) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "key": prints.key,
        "resolution": partial.resolution,
        "jpeg_decoder": jpeg_decoder(),
        "files": partial.rows,
        "rows": partial.rows - len(partial.unreadable),
        "unreadable": [
            {"row": row, "path": prints.files[row].path, "reason": reason}
            for row, reason in sorted(partial.unreadable.items())
        ],
    }


def _open(target: Path, listing: Listing, flippable: bool) -> Cached:
    """Map a finished cache, checking that it is whole."""
    try:
        index = json.loads((target / INDEX).read_bytes())
        pixels = map_array(target / PIXELS)
        if len(pixels) != index["rows"] or index["files"] != len(listing):
            raise ValueError(f"{len(pixels)} rows instead of {index['rows']}")
        faults = {fault["row"]: UnreadableImage(fault["path"], fault["reason"]) for fault in index["unreadable"]}
        kept = [row for row in range(len(listing)) if row not in faults]
        paths = tuple(listing.paths[row] for row in kept)
        images = Images(pixels, listing.labels[kept], listing.classes, paths, flippable)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(
            f"the image cache {target} is damaged ({brief(error)}); delete that folder and run again."
        ) from error
    return Cached(images, tuple(faults.values()))
