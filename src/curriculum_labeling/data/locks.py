"""One writer at a time, across processes; the lock of a process that died is free by itself.

`fcntl` locks files everywhere but on Windows, where `msvcrt` does.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

log = logging.getLogger(__name__)

fcntl: Any
msvcrt: Any
try:
    import fcntl
except ImportError:
    import msvcrt

    fcntl = None

WAIT_SECONDS = 0.1


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold the lock on this file; waits while another process has it.

    The file stays afterwards: removing it would let two processes lock two files of one name.
    """
    with open(path, "ab") as file:
        if not _lock(file):
            log.info("waiting for another process that holds %s", path)
            _wait_and_lock(file)
        try:
            yield
        finally:
            _unlock(file)


@contextmanager
def attempt(path: Path) -> Iterator[bool]:
    """Hold the lock on this file if it is free; whether it was. Never waits."""
    with open(path, "ab") as file:
        taken = _lock(file)
        try:
            yield taken
        finally:
            if taken:
                _unlock(file)


def _lock(file: IO[bytes]) -> bool:
    """Take the lock if it is free."""
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            # Windows locks bytes from where the file stands; one beyond its end will do.
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _wait_and_lock(file: IO[bytes]) -> None:
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX)
        return
    # Windows' own waiting gives up after ten seconds.
    while not _lock(file):
        time.sleep(WAIT_SECONDS)


def _unlock(file: IO[bytes]) -> None:
    """Let go; closing the file does so only on systems that have fcntl."""
    if fcntl is None:
        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)
