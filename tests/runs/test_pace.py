"""What tells how fast this machine trains."""

from types import SimpleNamespace

import pytest

from curriculum_labeling.runs import pace
from tests.vision.small import settings


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        # A slow first step of the process, then three looks of which one is odd.
        ([9.0, 1.0, 0.5, 1.5, 0.5, 1.0, 0.5], 0.5),
        # A network so slow that one look is enough.
        ([9.0, 8.0, 1.0], 7.0),
    ],
)
def test_the_pace_is_the_median_of_looks_that_leave_first_steps_out(seconds, expected, monkeypatch):
    taken = iter(seconds)
    monkeypatch.setattr(pace.ImageLearner, "fit", lambda *_, **__: SimpleNamespace(seconds=next(taken)))
    found = pace.images_per_second(settings(batch_size=8), 8, 2, "cpu")
    assert found == pytest.approx(pace.TRIED_STEPS * 8 / expected)
    assert next(taken, None) is None
