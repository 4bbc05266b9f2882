import numpy as np
import pytest

from curriculum_labeling.labels import Labels, Scores, Split


def test_scores_keep_class_confidence_and_runner_up():
    scores = Scores.from_probabilities(np.array([7, 9]), np.array([[0.1, 0.7, 0.2], [0.5, 0.2, 0.3]]))
    assert scores.classes.tolist() == [1, 0]
    assert scores.runner_up.tolist() == [2, 2]
    np.testing.assert_allclose(scores.confidence, [0.7, 0.5])
    np.testing.assert_allclose(scores.runner_up_confidence, [0.2, 0.3])
    assert scores.rows.tolist() == [7, 9]


def test_saturated_probabilities_keep_their_rank():
    p = np.array([[1.0, 1e-20], [1.0, 1e-30], [1.0, 1e-25]])
    scores = Scores.from_probabilities(np.arange(3), p)
    assert (scores.confidence == 1.0).all()
    assert np.argsort(-scores.log_confidence).tolist() == [1, 2, 0]


def test_saturated_float32_logits_keep_their_rank():
    logits = np.array([[60.0, 0.0], [90.0, 0.0], [75.0, 0.0]], dtype=np.float32)
    scores = Scores.from_logits(np.arange(3), logits)
    assert np.argsort(-scores.log_confidence).tolist() == [1, 2, 0]


def test_logits_and_probabilities_agree():
    logits = np.random.default_rng(0).normal(size=(50, 4)) * 3
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    a, b = Scores.from_logits(np.arange(50), logits), Scores.from_probabilities(np.arange(50), p)
    np.testing.assert_allclose(a.log_confidence, b.log_confidence, rtol=1e-9)
    np.testing.assert_allclose(a.runner_up_confidence, b.runner_up_confidence)
    assert (a.classes == b.classes).all()
    assert (a.runner_up == b.runner_up).all()


def test_one_class_has_itself_as_runner_up_with_no_mass():
    scores = Scores.from_probabilities(np.arange(2), np.ones((2, 1)))
    assert scores.runner_up_confidence.tolist() == [0.0, 0.0]
    assert scores.confidence.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("make", [Scores.from_probabilities, Scores.from_logits])
def test_scores_refuse_nan(make):
    with pytest.raises(ValueError, match="NaN or infinity in 1 of 2 rows"):
        make(np.arange(2), np.array([[0.5, 0.5], [np.nan, 0.5]]))


def test_pseudo_labels_follow_the_given_ones():
    labels = Labels.of([3, 1], [0, 1])
    scores = Scores.from_probabilities(np.array([5, 6]), np.array([[0.9, 0.1], [0.4, 0.6]]))
    both = labels.with_pseudo(scores, np.array([False, True]))
    assert both.rows.tolist() == [3, 1, 6]
    assert both.classes.tolist() == [0, 1, 1]
    assert both.pseudo_rows.tolist() == [6]
    assert both.given == 2
    np.testing.assert_allclose(both.confidence, [1, 1, 0.6])
    np.testing.assert_allclose(both.runner_up_confidence, [0, 0, 0.4])


def test_labels_refuse_a_row_named_twice():
    with pytest.raises(ValueError, match="rows must name each row once, got 1 repeats"):
        Labels.of([1, 1], [0, 0])


def test_labels_refuse_uneven_lists():
    with pytest.raises(ValueError, match="two lists of one length"):
        Labels.of([1, 2], [0])


def test_split_refuses_overlap():
    with pytest.raises(ValueError, match="must not overlap, got 1 rows"):
        Split(np.array([0, 1]), np.array([1, 2]), np.array([], int), np.array([3]))
