"""How the time of a run becomes steps of a network."""

from types import SimpleNamespace

import numpy as np
import pytest

from curriculum_labeling.runs import ways
from tests.vision.small import colors, labels_of, settings


@pytest.mark.parametrize(("seconds", "timed"), [(600.0, [5, 200]), (10.0, [5, 10]), (4.0, [5])])
def test_the_longer_the_time_the_more_steps_tell_the_pace(seconds, timed, monkeypatch):
    images = colors()
    learner = ways.TimedImageLearner(images, settings(), device="cpu")
    asked = []

    def measured(_network, _feed, _numbers, steps=ways.TIMED_STEPS):
        asked.append(steps)
        return 0.01 if len(asked) == 1 else 0.02

    monkeypatch.setattr(ways, "seconds_per_step", measured)
    planned = []
    learner.clock = SimpleNamespace(seconds_left=seconds, plan=lambda *given: planned.append(given) or 1)
    learner.ahead, learner.most_steps = [], 100
    assert learner._planned(labels_of(images, np.arange(20)), seed=0) == 1
    assert asked == timed
    assert planned[0][1] == (0.01 if len(timed) == 1 else 0.02)  # the last measurement counts
