"""A start that takes no labels: which way up images are."""

import numpy as np
import pytest
import torch

from curriculum_labeling.data.images import Images
from curriculum_labeling.vision.learner import FineTuningImageLearner, ImageLearner
from curriculum_labeling.vision.pretext import TURNS, TurnedPixels, trial_and_training, turns_of
from curriculum_labeling.vision.schedule import Budget
from tests.vision.small import colors, labels_of, same_weights, without_norm
from tests.vision.small import settings as quick

STILL = {"learning_rate": 1e-12, "weight_decay": 0.0}


def skies(count=80, classes=3):
    """Bright above and dark below, so that there is a way up."""
    images = colors(count, classes)
    light = np.linspace(90, -90, 8)[None, :, None, None]
    return Images((images.pixels + light).clip(0, 255).astype(np.uint8), images.labels, images.classes)


def learned(images, steps=150, kind=ImageLearner, settings=None, **options):
    config = quick(network=without_norm, augmentation="none", budget=Budget(steps=steps), **(settings or {}))
    learner = kind(images, config, device="cpu", **options)
    return learner, learner.learn_turns(np.arange(len(images)), seed=0)


def test_every_image_has_four_turns():
    pixels = colors(5).pixels
    turned = TurnedPixels(pixels)
    rows = np.array([4, 7, 1, 10])
    expected = [np.rot90(pixels[row // 4], row % 4) for row in rows]
    assert (turned[rows] == np.stack(expected)).all()
    labels = turns_of(np.array([0, 3]))
    assert labels.rows.tolist() == [0, 1, 2, 3, 12, 13, 14, 15]
    assert labels.classes.tolist() == [0, 1, 2, 3] * 2


def test_images_that_are_not_square_are_refused():
    with pytest.raises(ValueError, match=r"images must be square to be turned, got 8 × 6 pixels"):
        TurnedPixels(colors(5).pixels[:, :, :6])


@pytest.mark.parametrize("classes", [3, TURNS])
def test_fits_start_from_what_turns_taught_but_for_the_last_layer(classes):
    images = skies(classes=classes)
    learner, right = learned(images)
    assert right > 0.9
    assert sorted(learner.start) == ["0.bias", "0.weight"]
    fresh = ImageLearner(images, learner.config, device="cpu")
    for one in (learner, fresh):
        one.config = quick(network=without_norm, budget=Budget(steps=1), **STILL)
    labels = labels_of(images, np.arange(30))
    after, without = learner.fit(labels, seed=1).state_dict(), fresh.fit(labels, seed=1).state_dict()
    assert torch.allclose(after["0.weight"], learner.start["0.weight"], atol=1e-6)
    assert not torch.allclose(without["0.weight"], learner.start["0.weight"], atol=1e-2)
    assert torch.allclose(after["4.weight"], without["4.weight"], atol=1e-6)


def test_images_without_a_way_up_leave_fits_as_they_were():
    images = colors(80)
    learner, right = learned(images, steps=5)
    assert right < 0.5
    assert learner.start == {}
    labels = labels_of(images, np.arange(30))
    fresh = ImageLearner(images, learner.config, device="cpu")
    assert same_weights(learner.fit(labels, seed=1).state_dict(), fresh.fit(labels, seed=1).state_dict())


def test_a_long_training_is_tried_first(tmp_path):
    assert trial_and_training(Budget(steps=299)) == (Budget(steps=299),)
    assert trial_and_training(Budget(epochs=5)) == (Budget(epochs=5),)
    assert trial_and_training(Budget(steps=2000)) == (Budget(steps=200), Budget(steps=1800))
    for name, images, trainings in (("none", colors(80), 1), ("some", skies(), 2)):
        learner, right = learned(images, steps=400, checkpoints=tmp_path / name, settings={"learning_rate": 0.01})
        assert len(list((tmp_path / name).iterdir())) == trainings, right
        assert bool(learner.start) == (trainings == 2)
        assert learner.config.budget == Budget(steps=400)


def test_a_trial_and_its_training_tell_their_progress_as_one(monkeypatch):
    monkeypatch.setattr("curriculum_labeling.data.progress.TELL_SECONDS", 0.0)
    told = []
    learned(skies(), steps=400, settings={"learning_rate": 0.01}, progress=lambda doing, p: told.append((doing, p)))
    steps = [p.done for doing, p in told if doing == "training"]
    assert steps == list(range(1, 401))
    assert {p.total for doing, p in told if doing == "training"} == {400}


def test_turns_are_read_back_and_other_turns_are_not(tmp_path):
    images = skies()
    first, _ = learned(images, checkpoints=tmp_path)
    kept = {path.name for path in tmp_path.iterdir()}
    again, _ = learned(images, checkpoints=tmp_path)
    assert same_weights(first.start, again.start)
    assert {path.name for path in tmp_path.iterdir()} == kept
    learned(images, steps=20, checkpoints=tmp_path)
    assert {path.name for path in tmp_path.iterdir()} > kept


def test_a_learner_that_goes_on_from_its_last_model_starts_from_turns_once():
    images = skies()
    learner, _ = learned(images, kind=FineTuningImageLearner)
    labels = labels_of(images, np.arange(30))
    first = learner.fit(labels, seed=0).state_dict()
    learner.config = quick(network=without_norm, budget=Budget(steps=1), **STILL)
    assert torch.allclose(learner.fit(labels, seed=1).state_dict()["0.weight"], first["0.weight"], atol=1e-6)
