import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.datasets import load_digits

from curriculum_labeling.data import foreign
from curriculum_labeling.data.cache import load
from curriculum_labeling.data.describe import describe_pixels
from curriculum_labeling.data.folders import list_images
from curriculum_labeling.data.foreign import foreign_scores

feature_tables = hnp.arrays(
    np.float32, st.tuples(st.integers(2, 30), st.integers(1, 8)), elements=st.floats(-1e3, 1e3, width=32)
)


def clusters(n, *, classes=4, size=64, seed=0):
    draw = np.random.default_rng(seed)
    centers = np.random.default_rng(7).normal(size=(classes, size))
    return (centers[np.arange(n) % classes] + 0.5 * draw.normal(size=(n, size))).astype(np.float32)


@settings(deadline=None)
@given(features=feature_tables, embedded=st.booleans())
def test_scores_lie_between_0_and_1_and_labeled_rows_are_never_flagged(features, embedded):
    half = len(features) // 2
    rows = np.arange(len(features))
    found = foreign_scores(features, rows[:half], rows, embedded=embedded)
    assert ((found.scores >= 0) & (found.scores <= 1)).all()
    assert not found.flagged[:half].any()


@pytest.mark.parametrize("embedded", [True, False])
def test_rows_of_the_known_classes_are_hardly_ever_flagged(embedded):
    features = clusters(2200)
    found = foreign_scores(features, np.arange(200), np.arange(200, 2200), embedded=embedded)
    assert found.flagged.mean() < 0.005


@pytest.mark.parametrize("embedded", [True, False])
def test_rows_far_from_every_label_are_flagged_and_score_higher(embedded):
    strangers = 6 * np.random.default_rng(1).normal(size=(20, 64)).astype(np.float32)
    features = np.concatenate([clusters(300), strangers])
    found = foreign_scores(features, np.arange(200), np.arange(200, 320), embedded=embedded)
    assert found.scores[100:].min() > found.scores[:100].max()
    assert found.flagged[100:].mean() > 0.9


def test_scores_do_not_depend_on_the_chunks(monkeypatch):
    features = clusters(120)
    whole = foreign_scores(features, np.arange(40), np.arange(40, 120)).scores
    monkeypatch.setattr(foreign, "CELLS_AT_ONCE", 100)
    assert foreign_scores(features, np.arange(40), np.arange(40, 120)).scores == pytest.approx(whole, abs=1e-4)


def test_many_labels_are_thinned(monkeypatch):
    monkeypatch.setattr(foreign, "MOST_LABELED", 50)
    features = clusters(500)
    assert not foreign_scores(features, np.arange(400), np.arange(400, 500)).flagged.any()


@pytest.mark.parametrize("labeled", [0, 1, 2])
def test_with_hardly_any_labels_nothing_is_called_foreign(labeled):
    features = clusters(20)
    assert not foreign_scores(features, np.arange(labeled), np.arange(labeled, 20)).scores.any()


def test_equal_features_are_not_foreign():
    assert not foreign_scores(np.ones((9, 3)), np.arange(5), np.arange(5, 9)).scores.any()


def test_no_rows_give_no_scores():
    assert len(foreign_scores(clusters(9), np.arange(9), np.arange(0)).scores) == 0


def test_features_that_are_not_finite_are_refused():
    features = clusters(9)
    features[2, 1] = np.nan
    with pytest.raises(ValueError, match="features must be finite, got NaN or infinity in 1 of 6 rows"):
        foreign_scores(features, np.arange(6), np.arange(6, 9))


@pytest.mark.parametrize("shape", [(0, 8, 8, 3), (3, 1, 1, 1), (2, 5, 9, 3), (2, 100, 70, 1)])
def test_images_of_every_shape_can_be_described(shape):
    pixels = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    described = describe_pixels(pixels)
    assert described.shape == (shape[0], 24)
    assert np.isfinite(described).all()


def test_digits_noise_and_black_among_photos_are_flagged_and_photos_are_not(real_data, tmp_path):
    photos = load(list_images(real_data / "trashnet"), tmp_path, resolution=64, workers=1).images.pixels
    draw = np.random.default_rng(0)
    digits = np.kron(load_digits().images[:50] * 15, np.ones((8, 8))).astype(np.uint8)
    noise = draw.integers(0, 256, (50, 64, 64, 3), dtype=np.uint8)
    odd = np.concatenate([np.repeat(digits[..., None], 3, axis=3), noise, np.zeros((1, 64, 64, 3), dtype=np.uint8)])
    features = describe_pixels(np.concatenate([photos, odd]))
    order = draw.permutation(len(photos))
    labeled, rest = order[:200], order[200:]
    assert foreign_scores(features, labeled, rest, embedded=False).flagged.mean() < 0.01
    strangers = np.arange(len(photos), len(features))
    assert foreign_scores(features, labeled, strangers, embedded=False).flagged.mean() > 0.9
