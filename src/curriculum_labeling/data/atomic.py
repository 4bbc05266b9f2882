"""Files that are there whole or not at all: temporary name, fsync, rename."""

from __future__ import annotations

import os
from pathlib import Path


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that a kill or a power cut leaves the old one or the new one, never half of one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        if error.errno is not None and error.filename is None:  # a write that failed does not say where
            error.filename = str(path)
        raise
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(path.parent)


def remove_leavings(folder: Path) -> None:
    """Remove temporary files that killed writers left anywhere below; for whoever alone may write there."""
    for path in list(folder.rglob(".*.tmp")):
        if path.is_file():
            path.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make renames inside this folder survive a power cut."""
    if os.name == "nt":  # Windows cannot open a folder
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
