import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curriculum_labeling.estimators.weighting import Weighting, row_copies, row_weights
from curriculum_labeling.labels import Labels, Scores


def labels_with_pseudo(pseudo_classes, confidence=None):
    """Three labels of class 0 and one of class 1, then these pseudo-labels."""
    n = len(pseudo_classes)
    confidence = np.full(n, 0.8) if confidence is None else np.asarray(confidence)
    p = np.stack([1 - confidence, confidence], axis=1)
    p[np.asarray(pseudo_classes) == 0] = p[np.asarray(pseudo_classes) == 0][:, ::-1]
    given_labels = Labels.of([0, 1, 2, 3], [0, 0, 0, 1])
    return given_labels.with_pseudo(Scores.from_probabilities(np.arange(4, 4 + n), p), np.ones(n, bool))


@given(pseudo=st.lists(st.integers(0, 1), min_size=1, max_size=40), weight=st.floats(0.5, 20))
def test_each_class_keeps_its_share_and_pseudo_labels_their_sum(pseudo, weight):
    labels = labels_with_pseudo(pseudo)
    w = row_weights(labels, np.ones(len(labels)), 2, Weighting(weight, match_classes=True))
    np.testing.assert_allclose(w[:4], weight)
    assert w[4:].sum() == pytest.approx(len(pseudo))
    if len(set(pseudo)) == 2:
        first = w[4:][np.array(pseudo) == 0].sum()
        assert first == pytest.approx(0.75 * len(pseudo))


def test_margins_weigh_pseudo_labels():
    labels = labels_with_pseudo([1, 1], confidence=[0.9, 0.6])
    w = row_weights(labels, np.ones(6), 2, Weighting(weigh_by_margin=True))
    np.testing.assert_allclose(w[4:], [1.6, 0.4])


def test_round_0_and_plain_weighting_leave_the_rows_own_weights():
    own = np.array([1.0, 2.0, 3.0, 4.0])
    assert row_weights(Labels.of([0, 1, 2, 3], [0, 0, 0, 1]), own, 2, Weighting(3, True, True)) is own
    labels = labels_with_pseudo([1])
    assert (row_weights(labels, np.ones(5), 2, Weighting()) == 1).all()


def test_without_weights_labels_are_repeated_and_large_classes_thinned():
    labels = labels_with_pseudo([0] * 2 + [1] * 40, confidence=np.linspace(0.6, 0.9, 42))
    kept = row_copies(labels, 2, Weighting(3, match_classes=True))
    assert (np.bincount(kept)[:4] == 3).all()
    pseudo = kept[kept >= 4]
    assert labels.classes[pseudo].sum() == 2  # a quarter of the labels are of class 1
    assert labels.classes[pseudo].tolist().count(0) == 2
    assert {44, 45} <= set(pseudo.tolist())  # the most confident ones


@pytest.mark.parametrize("weight", [0, -1, np.inf, np.nan])
def test_an_impossible_labeled_weight_is_refused(weight):
    with pytest.raises(ValueError, match="labeled_weight must be a positive number"):
        Weighting(weight)
