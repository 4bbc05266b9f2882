"""Orderly stops."""

import os
import signal

import pytest

from curriculum_labeling.runs.stopping import stop_request


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_asks_and_the_second_ends(number):
    with stop_request() as request:
        request.check()
        os.kill(os.getpid(), number)
        assert request()
        with pytest.raises(KeyboardInterrupt):
            request.check()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
    assert signal.getsignal(number) is not None
