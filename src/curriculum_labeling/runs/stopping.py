"""Orderly stops: the first Ctrl-C or SIGTERM asks the run to save and end, the second one ends it at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class StopRequest:
    """Whether somebody has asked for a stop; work in progress looks here between its pieces."""

    def __init__(self) -> None:
        self.asked = False

    def __call__(self) -> bool:
        """Whether a stop was asked for."""
        return self.asked

    def check(self) -> None:
        """End here if a stop was asked for; for places where everything done so far is on disk."""
        if self.asked:
            raise KeyboardInterrupt


@contextmanager
def stop_request() -> Iterator[StopRequest]:
    """Listen for signals while the block runs; elsewhere than in the main thread nothing is listened for."""
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return

    def ask(*_: Any) -> None:
        if request.asked:
            raise KeyboardInterrupt
        request.asked = True

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
