"""One writer at a time, across processes; the lock of a process that died is free by itself."""

from __future__ import annotations

import fcntl
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

log = logging.getLogger(__name__)


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold the lock on this file; waits while another process has it.

    The file stays afterwards: removing it would let two processes lock two files of one name.
    """
    with open(path, "ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            log.info("waiting for another process that holds %s", path)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
