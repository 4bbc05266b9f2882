"""Numbers that go wrong, and data that hardly are any, in the core: a sensible result, or one clear sentence."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curriculum_labeling import Labels, PercentilePacing, Scores, curriculum
from curriculum_labeling.pacing import BALANCES, BestPacing, ThresholdPacing
from tests.toys import NearestMeanLearner, ScriptedLearner

PACINGS = (PercentilePacing(), ThresholdPacing(0.9, 3), BestPacing(2, 3))


def rounds_of(learner, labels, unlabeled, pacing=None, **options):
    """Every round, after checking what must hold in each."""
    found = list(curriculum(learner, labels, np.array(unlabeled, dtype=np.int64), pacing=pacing, **options))
    for one in found:
        assert len(np.unique(one.labels.rows)) == len(one.labels.rows)
        assert np.isfinite(one.labels.confidence).all()
        assert one.labels.classes[: labels.given].tolist() == labels.classes.tolist()
    return found


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("make", [Scores.from_logits, Scores.from_probabilities])
def test_scores_that_are_no_numbers_are_one_sentence(bad, make):
    table = np.ones((4, 3))
    table[2, 1] = bad
    with pytest.raises(ValueError, match="must be finite, got NaN or infinity in 1 of 4 rows"):
        make(np.arange(4), table)


def test_confidences_that_are_no_numbers_are_one_sentence():
    class Model:
        def score(self, rows):
            scores = Scores.from_logits(rows, np.zeros((len(rows), 2)))
            scores.log_confidence[1] = math.nan
            return scores

    class Learner:
        def fit(self, labels, *, seed):
            return Model()

    with pytest.raises(ValueError, match="must have a confidence for every row, got NaN in 1 of 8 rows"):
        rounds_of(Learner(), Labels.of([0, 1], [0, 1]), range(2, 10))


@pytest.mark.parametrize("pacing", PACINGS, ids=lambda one: type(one).__name__)
def test_scores_that_are_all_equal_let_all_rows_in_at_once_or_none(pacing):
    learner = ScriptedLearner(np.full((22, 2), 0.5))
    found = rounds_of(learner, Labels.of([0, 1], [0, 1]), range(2, 22), pacing)
    expected = 0 if isinstance(pacing, ThresholdPacing) else 20
    assert [one.selected for one in found[1:]] == [expected] * pacing.rounds


@pytest.mark.parametrize("table", [np.eye(3)[np.arange(30) % 3], np.eye(3)[np.arange(30) % 3] * 1e300])
@pytest.mark.parametrize("pacing", PACINGS, ids=lambda one: type(one).__name__)
def test_saturated_scores_are_ties_of_certainty(table, pacing):
    found = rounds_of(ScriptedLearner(table), Labels.of([0, 1, 2], [0, 1, 2]), range(3, 30), pacing)
    assert found[-1].selected == 27
    assert found[-1].threshold == 1.0


def test_saturated_logits_keep_their_order():
    logits = np.stack([np.linspace(20, 700, 50), np.zeros(50)], axis=1)
    scores = Scores.from_logits(np.arange(50), logits)
    assert (np.diff(scores.log_confidence) > 0).all()
    assert np.isfinite(Scores.from_logits(np.arange(1), np.array([[1e308, -1e308]])).log_confidence).all()


@pytest.mark.parametrize("balance", [*BALANCES, (0.0, 0.0, 1.0)])
def test_a_class_that_no_row_is_predicted_as_takes_none_and_stops_nothing(balance):
    table = np.tile([0.6, 0.4, 0.0], (22, 1))
    labels = Labels.of([0, 1, 2], [0, 1, 2])
    found = rounds_of(ScriptedLearner(table), labels, range(3, 22), PercentilePacing(balance=balance))
    assert found[-1].selected == 19
    assert not (found[-1].labels.pseudo_classes == 2).any()


@pytest.mark.parametrize("balance", BALANCES)
def test_a_threshold_that_no_row_reaches_leaves_labels_only(balance):
    learner = ScriptedLearner(np.tile([0.6, 0.4], (22, 1)))
    found = rounds_of(learner, Labels.of([0, 1], [0, 1]), range(2, 22), ThresholdPacing(0.99, 3, balance))
    assert [one.selected for one in found] == [0, 0, 0, 0]
    assert found[-1].threshold == math.inf


@pytest.mark.parametrize("unlabeled", [0, 1, 2])
@pytest.mark.parametrize("balance", BALANCES)
def test_hardly_any_unlabeled_rows_are_enough(unlabeled, balance):
    learner = NearestMeanLearner(np.arange(5.0)[:, None], 2)
    found = rounds_of(learner, Labels.of([0, 4], [0, 1]), range(1, 1 + unlabeled), PercentilePacing(balance=balance))
    assert found[-1].selected == unlabeled


@pytest.mark.parametrize("balance", BALANCES)
def test_a_thousand_classes_of_which_three_have_a_label(balance):
    rng = np.random.default_rng(0)
    learner = NearestMeanLearner(rng.normal(size=(303, 8)), 1000)
    labels = Labels.of([0, 1, 2], [7, 500, 999])
    found = rounds_of(learner, labels, range(3, 303), PercentilePacing(balance=balance), classes=1000)
    assert found[-1].selected == 300


def test_classes_that_no_label_counts_are_one_sentence():
    learner = NearestMeanLearner(np.random.default_rng(0).normal(size=(303, 8)), 1000)
    with pytest.raises(ValueError, match=r"scores must be of the 3 classes .* got class \d+; say classes=…"):
        rounds_of(learner, Labels.of([0, 1, 2], [0, 1, 2]), range(3, 303))
    with pytest.raises(ValueError, match="classes from 0 on, got -1; leave unlabeled rows out"):
        rounds_of(learner, Labels.of([0, 1], [0, -1]), range(3, 303))


@pytest.mark.parametrize("balance", BALANCES)
def test_one_row_in_a_thousand_is_not_lost(balance):
    X = np.concatenate([np.zeros(2000), np.full(2, 50.0)])[:, None] + np.linspace(0, 1, 2002)[:, None]
    labels = Labels.of([0, 2000], [0, 1])
    found = rounds_of(NearestMeanLearner(X, 2), labels, [*range(1, 2000), 2001], PercentilePacing(balance=balance))
    last = found[-1].labels
    assert last.classes[last.rows == 2001].tolist() == [1]
    assert (last.pseudo_classes == 1).sum() == 1


@settings(max_examples=25, deadline=None)
@given(
    exponents=st.lists(st.floats(-300, 300), min_size=4, max_size=40),
    step=st.sampled_from([1.0, 33.4, 100.0]),
    balance=st.sampled_from(BALANCES),
)
def test_probabilities_of_any_size_give_rounds(exponents, step, balance):
    n = len(exponents) // 2
    table = np.exp(np.array(exponents[: 2 * n])).reshape(n, 2)
    learner = ScriptedLearner(np.concatenate([table, table]))
    found = rounds_of(learner, Labels.of([0, 1], [0, 1]), range(2, 2 * n), PercentilePacing.by(step, balance=balance))
    assert found[-1].selected == 2 * n - 2
