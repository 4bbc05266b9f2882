"""Numbers that go wrong, and data that hardly are any, in the image learner, the probe and `curriculum fit`."""

import math

import numpy as np
import pytest
from PIL import Image

from curriculum_labeling import Labels, PercentilePacing
from curriculum_labeling.cli import main
from curriculum_labeling.data.images import Images
from curriculum_labeling.runs.probe import ProbeLearner
from curriculum_labeling.vision.config import TrainingConfig
from curriculum_labeling.vision.learner import ImageLearner
from curriculum_labeling.vision.schedule import Budget
from curriculum_labeling.vision.training import DivergedError
from tests.faults.test_numbers import rounds_of
from tests.test_cli import QUICK, fit, lay_out
from tests.vision.small import with_norm


def pictures(count, classes, size=8, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % classes
    pixels = rng.integers(0, 60, (count, size, size, 3)) + (labels * 97 % 190)[:, None, None, None]
    return Images(pixels.astype(np.uint8), labels, tuple(f"c{i}" for i in range(classes)))


def learner_of(images, **options):
    chosen = {"network": with_norm, "budget": Budget(steps=3), "batch_size": 8, "augmentation": "none", **options}
    return ImageLearner(images, TrainingConfig(**chosen), device="cpu")


def image_rounds(images, labeled, **options):
    labels = Labels.of(labeled, images.labels[labeled])
    rest = np.setdiff1d(np.arange(len(images)), labeled)
    pacing = PercentilePacing((50.0, 0.0))
    return rounds_of(learner_of(images, **options), labels, rest, pacing, classes=len(images.classes))


@pytest.mark.parametrize("rate", [1e6, 1e20, 1e38])
def test_a_learning_rate_that_explodes_is_one_sentence_or_finite_scores(rate):
    images = pictures(24, 3)
    try:
        found = image_rounds(images, range(6), learning_rate=rate, budget=Budget(steps=20))
    except (DivergedError, ValueError) as error:
        said = str(error)
        assert "training diverged in round 0" in said or "must be finite, got NaN or infinity" in said
        assert said.endswith(".")
        return
    assert np.isfinite(found[-1].scores.log_confidence).all()


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_loss_that_is_no_number_is_one_sentence(value):
    images = pictures(24, 3)
    with pytest.raises(DivergedError, match=r"training diverged in round 0, epoch 1, at learning rate .*; lower"):
        image_rounds(images, range(6), objective=lambda network, batch: network(batch.images).sum() * value)


@pytest.mark.parametrize("whitening", [False, True])
@pytest.mark.parametrize("level", [0, 128, 255])
def test_constant_images_are_learned_as_what_they_are(level, whitening):
    images = pictures(12, 2)
    same = Images(np.full_like(images.pixels, level), images.labels, images.classes)
    found = image_rounds(same, range(4), whitening=whitening)
    assert found[-1].selected == 8
    assert np.isfinite(found[-1].scores.log_confidence).all()


def test_one_image_is_enough():
    found = image_rounds(pictures(1, 2), [0])
    assert [one.selected for one in found] == [0, 0, 0]
    found = image_rounds(pictures(3, 2), [0, 1])
    assert found[-1].selected == 1
    with pytest.raises(ValueError, match="classes must be 2 or more, got 1"):
        image_rounds(pictures(1, 1), [0])


def test_a_thousand_classes_with_three_labels():
    images = pictures(1000, 1000)
    found = image_rounds(images, [0, 1, 2])
    assert found[-1].selected == 997
    assert found[-1].labels.classes.max() < 1000


def test_one_image_in_a_thousand():
    images = pictures(1003, 2)
    labels = np.zeros(1003, dtype=np.int64)
    labels[[1, 1002]] = 1
    found = image_rounds(Images(images.pixels, labels, images.classes), [0, 1, 2, 3])
    assert found[-1].selected == 999


@pytest.mark.parametrize("scale", [0.0, 1e-30, 1e18])
def test_a_probe_takes_features_of_any_size(scale):
    features = (np.random.default_rng(0).normal(size=(30, 5)) * scale).astype(np.float32)
    found = rounds_of(ProbeLearner(features, 3), Labels.of([0, 1, 2], [0, 1, 2]), range(3, 30), classes=3)
    assert found[-1].selected == 27
    assert np.isfinite(found[-1].scores.log_confidence).all()


# The command


def test_a_fit_that_diverges_is_one_sentence(tmp_path, capsys, monkeypatch):
    folder = lay_out(tmp_path)
    monkeypatch.setattr("curriculum_labeling.vision.training.DIVERGED", -1.0)
    assert main(fit(folder, *QUICK, "--features", "none")) == 2
    said = capsys.readouterr().err
    assert said.startswith("training diverged in round 0, epoch 1")
    assert said.count("\n") == 1


def test_a_fit_to_constant_images_is_one_sentence(tmp_path, capsys):
    folder = lay_out(tmp_path)
    for file in (*folder.glob("labeled/*/*"), *folder.glob("unlabeled/*")):
        Image.new("RGB", (16, 16), "gray").save(file)
    assert main(fit(folder, *QUICK, "--features", "none")) == 2
    assert "labeled as two classes" in capsys.readouterr().err.replace("\n", " ")


def test_a_fit_with_one_unlabeled_image_ends_well(tmp_path):
    folder = lay_out(tmp_path, labeled=2, unlabeled=1)
    for file in list(folder.glob("unlabeled/*"))[1:]:
        file.unlink()
    assert main(fit(folder, *QUICK, "--features", "none")) == 0
    assert len((folder / "run/ledger.csv").read_text().splitlines()) == 2
