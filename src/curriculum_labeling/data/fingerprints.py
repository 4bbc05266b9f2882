"""What a cached row is known by: the path, size and modification time of its file, and how it was decoded."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from curriculum_labeling.data.decode import jpeg_decoder

# Raise it when decode.py starts to give other pixels for the same file.
FORMAT = 1

Digests = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class FileState:
    """One file as the file system describes it; `fault` says why it need not be opened at all."""

    path: str
    size: int
    modified: int
    fault: str | None = None


@dataclass(frozen=True, eq=False)
class Fingerprints:
    """The state of every listed file, a 128-bit digest of each, and one key of them all."""

    files: tuple[FileState, ...]
    digests: Digests
    key: str


def take_fingerprints(paths: Sequence[str], resolution: int) -> Fingerprints:
    """Look at every file once; nothing is opened."""
    files = tuple(look(path) for path in paths)
    recipe = f"{FORMAT}/{jpeg_decoder()}/{resolution}".encode()
    raw = b"".join(_digest(file, recipe) for file in files)
    digests = np.frombuffer(raw, dtype="<u8").reshape(len(files), 2).astype(np.uint64)
    return Fingerprints(files, digests, blake2b(raw, digest_size=10, key=recipe).hexdigest())


def look(path: str) -> FileState:
    """The state of one file; a missing, unreadable or special one gets a fault, and is never opened."""
    path = os.path.abspath(path)
    try:
        found = os.stat(path)
    except OSError as error:
        return FileState(path, -1, -1, f"cannot be opened ({error.strerror})")
    if not stat.S_ISREG(found.st_mode):
        return FileState(path, -1, -1, "is not a regular file")
    if not os.access(path, os.R_OK):
        return FileState(path, -1, -1, "cannot be opened (Permission denied)")
    return FileState(path, found.st_size, found.st_mtime_ns)


def _digest(file: FileState, recipe: bytes) -> bytes:
    text = b"%s\0%s\0%d\0%d" % (recipe, os.fsencode(file.path), file.size, file.modified)
    return blake2b(text, digest_size=16).digest()
