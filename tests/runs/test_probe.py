"""A linear probe on features."""

import numpy as np
import pytest

from curriculum_labeling.estimators.weighting import Weighting
from curriculum_labeling.labels import Labels
from curriculum_labeling.runs import probe
from curriculum_labeling.runs.probe import ProbeLearner, fit_softmax


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    classes = np.arange(300) % 3
    features = (rng.normal(size=(300, 20)) + 3 * np.eye(3, 20)[classes]).astype(np.float32)
    return features, classes


def test_a_probe_learns_and_scores(rows):
    features, classes = rows
    model = ProbeLearner(features, 3).fit(Labels.of(np.arange(60), classes[:60]), seed=0)
    scores = model.score(np.arange(60, 300))
    assert (scores.classes == classes[60:]).mean() > 0.9
    assert np.allclose(np.exp(scores.log_confidence), scores.confidence)


def test_the_minimum_has_no_gradient(rows):
    features, classes = rows
    ones = np.ones(300, dtype=np.float32)
    weight, bias = fit_softmax(features, classes, ones, 3, penalty=5.0)
    z = features @ weight.T + bias
    p = np.exp(z - z.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    gradient = (p - np.eye(3)[classes]).T @ features + 5.0 * weight
    assert np.abs(gradient).max() < 0.5
    assert np.abs(fit_softmax(features, classes, ones, 3, penalty=500.0)[0]).max() < np.abs(weight).max()


def test_chunks_of_rows_have_the_minimum_of_all_rows(rows, monkeypatch):
    features, classes = rows
    weights = np.linspace(0.5, 2, 300, dtype=np.float32)
    whole = fit_softmax(features, classes, weights, 3, penalty=5.0)
    monkeypatch.setattr(probe, "CELLS_AT_ONCE", 3 * 70)  # the last chunk is shorter than the others
    for one, other in zip(whole, fit_softmax(features, classes, weights, 3, penalty=5.0), strict=True):
        np.testing.assert_allclose(one, other, atol=2e-3)


def test_fitting_leaves_the_features_as_they_are(rows):
    features, classes = rows
    before = features.copy()
    ProbeLearner(features, 3).fit(Labels.of(np.arange(300), classes), seed=0)
    assert (features == before).all()


def test_a_probe_is_read_back_and_a_damaged_one_is_named(rows, tmp_path):
    features, classes = rows
    learner = ProbeLearner(features, 3, folder=tmp_path)
    labels = Labels.of(np.arange(60), classes[:60])
    first, again = learner.fit(labels, seed=0), ProbeLearner(features, 3, folder=tmp_path).fit(labels, seed=0)
    assert first.weight.tobytes() == again.weight.tobytes()
    assert len(list(tmp_path.iterdir())) == 1
    next(tmp_path.glob("*/*.safetensors")).write_bytes(b"")
    with pytest.raises(ValueError, match=r"the checkpoint in .* cannot be read"):
        learner.fit(labels, seed=0)


def test_a_feature_that_never_varies_does_no_harm(rows):
    features, classes = rows
    model = ProbeLearner(np.zeros_like(features), 3).fit(Labels.of(np.arange(60), classes[:60]), seed=0)
    assert np.isfinite(model.score(np.arange(300)).log_confidence).all()


def test_no_rows_get_no_scores(rows):
    features, classes = rows
    model = ProbeLearner(features, 3).fit(Labels.of(np.arange(60), classes[:60]), seed=0)
    assert len(model.score(np.array([], dtype=np.int64))) == 0


def test_a_stop_is_heeded_before_a_fit(rows):
    features, classes = rows
    learner = ProbeLearner(features, 3, weighting=Weighting(), stop=lambda: True)
    with pytest.raises(KeyboardInterrupt):
        learner.fit(Labels.of(np.arange(3), classes[:3]), seed=0)
