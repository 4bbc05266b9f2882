"""How the time of a run becomes steps of a network."""

from types import SimpleNamespace

import numpy as np
import pytest

from curriculum_labeling.runs import ways
from curriculum_labeling.runs.choices import FEW_PASSES
from curriculum_labeling.runs.clock import Work
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
    learner.clock = SimpleNamespace(seconds_left=seconds, plan=lambda *given, **_: planned.append(given) or 1)
    learner.ahead, learner.most_steps = [], 100
    assert learner._planned(labels_of(images, np.arange(20)), seed=0) == 1
    assert asked == timed
    assert planned[0][1] == (0.01 if len(timed) == 1 else 0.02)  # the last measurement counts


def test_the_pace_of_a_training_is_that_of_the_one_before_turns_included():
    images = colors()
    learner = ways.TimedImageLearner(images, settings(), device="cpu")
    learner.clock = SimpleNamespace(steps={"which way up": 3, "main, round 0": 2}, save=lambda: None)
    learner.ahead = [Work("which way up", 1.0, 0), Work("main, round 0", 1.0, 0)]
    learner.learn_turns(np.arange(20), seed=0)
    after_turns = learner._pace
    model = learner.fit(labels_of(images, np.arange(20)), seed=0)
    assert after_turns is not None
    assert after_turns > 0
    assert learner._pace == model.seconds / 2
    assert learner.ahead == []


@pytest.mark.parametrize(("by_passes", "steps", "operations"), [(True, 5, 0), (True, 6, 1), (False, 5, 1)])
def test_a_training_that_sees_images_a_few_times_leaves_operations_out_where_it_may_choose(
    by_passes, steps, operations
):
    images = colors()
    learner = ways.TimedImageLearner(images, settings(batch_size=4 * FEW_PASSES, augmentation="light"), device="cpu")
    learner.clock = SimpleNamespace(steps={"main, round 1": steps})
    learner.ahead, learner.by_passes = [Work("main, round 1", 1.0, 0)], by_passes
    learner._fix_steps(labels_of(images, np.arange(20)), seed=0)
    assert learner.config.budget.steps == steps
    assert learner.recipe.steps == operations
    assert learner.recipe.cutout_for((32, 32)) == 8
