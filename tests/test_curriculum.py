import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curriculum_labeling.curriculum import curriculum, moves, round_seed
from curriculum_labeling.labels import Labels, Scores
from curriculum_labeling.pacing import PercentilePacing, ThresholdPacing
from tests.toys import NearestMeanLearner, ScriptedLearner


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    classes, per_class = draw(st.integers(2, 4)), draw(st.integers(1, 3))
    n = classes * per_class + draw(st.integers(1, 60))
    X = rng.normal(size=(n, 3)) + 2 * rng.integers(classes, size=n)[:, None]
    rows = rng.permutation(n)
    labeled, unlabeled = rows[: classes * per_class], rows[classes * per_class :]
    return NearestMeanLearner(X, classes), Labels.of(labeled, np.arange(len(labeled)) % classes), unlabeled


@settings(deadline=None)
@given(problem=problems(), balance=st.sampled_from(["none", "per-class", "labeled", "estimated"]))
def test_labeled_rows_never_change_and_the_last_round_takes_every_row(problem, balance):
    learner, labeled, unlabeled = problem
    rounds = list(curriculum(learner, labeled, unlabeled, pacing=PercentilePacing.by(20, balance=balance)))
    assert len(rounds) == 6
    for r in rounds:
        assert (r.labels.rows[: len(labeled)] == labeled.rows).all()
        assert (r.labels.classes[: len(labeled)] == labeled.classes).all()
        assert not np.isin(r.labels.pseudo_rows, labeled.rows).any()
    assert sorted(rounds[-1].labels.pseudo_rows) == sorted(unlabeled)


@settings(deadline=None)
@given(problem=problems(), seed=st.integers(0, 2**32))
def test_the_same_seed_gives_the_same_rounds(problem, seed):
    first, second = (list(curriculum(*problem, seed=seed)) for _ in range(2))
    for a, b in zip(first, second, strict=True):
        assert (a.labels.rows == b.labels.rows).all()
        assert (a.labels.classes == b.labels.classes).all()
        assert (a.model.means == b.model.means).all()
        assert (a.entered, a.left, a.flipped, a.threshold) == (b.entered, b.left, b.flipped, b.threshold)


def scripted():
    """Row 2 is sure of class 0 first and unsure later; row 3 the other way round; row 4 flips."""
    first = [[1, 0], [0, 1], [0.9, 0.1], [0.6, 0.4], [0.8, 0.2]]
    second = [[1, 0], [0, 1], [0.6, 0.4], [0.9, 0.1], [0.2, 0.8]]
    return ScriptedLearner(first, second, second)


def test_a_row_can_enter_leave_and_flip():
    labeled = Labels.of([0, 1], [0, 1])
    rounds = list(curriculum(scripted(), labeled, np.array([2, 3, 4]), pacing=ThresholdPacing(0.75, rounds=2)))
    assert rounds[1].labels.pseudo_rows.tolist() == [2, 4]
    assert rounds[2].labels.pseudo_rows.tolist() == [3, 4]
    assert (rounds[2].entered, rounds[2].left, rounds[2].flipped) == (1, 1, 1)


def test_every_fit_starts_fresh_with_a_seed_of_its_own():
    learner = scripted()
    list(curriculum(learner, Labels.of([0, 1], [0, 1]), np.array([2, 3, 4]), seed=5))
    seeds = [seed for _, seed in learner.fits]
    assert len(set(seeds)) == 6
    assert seeds == [round_seed(5, t) for t in range(6)]


def test_each_round_is_scored_by_the_model_of_the_round_before():
    rounds = list(curriculum(scripted(), Labels.of([0, 1], [0, 1]), np.array([2, 3, 4])))
    np.testing.assert_allclose(rounds[1].scores.confidence, [0.9, 0.6, 0.8])
    np.testing.assert_allclose(rounds[2].scores.confidence, [0.6, 0.9, 0.8])


def test_rounds_come_one_at_a_time():
    learner = scripted()
    rounds = curriculum(learner, Labels.of([0, 1], [0, 1]), np.array([2, 3, 4]))
    next(rounds)
    assert len(learner.fits) == 1


def test_round_0_is_labels_only():
    first = next(curriculum(scripted(), Labels.of([0, 1], [0, 1]), np.array([2, 3, 4])))
    assert (first.number, first.selected, first.entered, first.scores) == (0, 0, 0, None)


def test_moves_counts_what_entered_left_and_stayed_with_another_class():
    given_labels, everyone = Labels.of([0], [0]), np.ones(3, bool)

    def pseudo(rows, classes):
        return given_labels.with_pseudo(Scores.from_probabilities(np.array(rows), np.eye(2)[classes]), everyone)

    before, after = pseudo([1, 2, 3], [0, 0, 1]), pseudo([2, 3, 4], [1, 1, 0])
    assert moves(before, after) == (1, 1, 1)
    assert moves(before, before) == (0, 0, 0)
    assert moves(given_labels, before) == (3, 0, 0)


def test_no_labeled_row_is_refused():
    with pytest.raises(ValueError, match="at least one labeled row, got none"):
        next(curriculum(scripted(), Labels.of([], []), np.array([2])))
