"""Equation 5: what holds for every U' and p, and where the paper's last line does not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.linear_model import LogisticRegression

from curriculum_labeling import Labels, PercentilePacing, curriculum
from curriculum_labeling.estimators.learner import EstimatorLearner
from curriculum_labeling.experiments.theory import (
    choose,
    compare_choices,
    measure,
    measure_models,
    measure_rounds,
    prior,
    utilities,
)
from curriculum_labeling.experiments.two_moons import draw_moons, grid
from curriculum_labeling.labels import Scores


def floats(low, high):
    return st.floats(low, high, allow_nan=False, width=64)


def pairs(low, high):
    """Utilities of labeled and unlabeled rows, and as many priors as unlabeled rows."""
    return st.integers(1, 40).flatmap(
        lambda m: st.tuples(
            arrays(float, 3, elements=floats(low, high)),
            arrays(float, m, elements=floats(low, high)),
            arrays(float, m, elements=floats(low, high)),
        )
    )


def masks():
    """Utilities in [0, 1] and a selection of at least one row."""
    return st.integers(2, 40).flatmap(
        lambda m: st.tuples(
            arrays(float, m, elements=floats(0, 1)),
            arrays(bool, m).filter(lambda mask: mask.any()),
        )
    )


@given(pairs(-100, 100))
def test_the_exact_identity_holds_for_any_utilities_and_any_p(drawn):
    terms = measure(*drawn)
    assert terms.error_of_exact == pytest.approx(0, abs=1e-8)
    assert terms.paced == pytest.approx(terms.comoment + terms.rows * terms.unlabeled * drawn[2].mean(), abs=1e-8)


@given(pairs(0.01, 1))
def test_the_papers_line_holds_where_p_sums_to_one(drawn):
    labeled, unlabeled, p = drawn
    assert measure(labeled, unlabeled, p / p.sum()).error == pytest.approx(0, abs=1e-12)


@given(masks())
def test_with_the_papers_own_p_its_line_is_off_by_the_share_not_selected(drawn):
    unlabeled, mask = drawn
    terms = measure(np.ones(1), unlabeled, prior(mask, "paper"))
    assert terms.error == pytest.approx(-(1 - mask.mean()) * unlabeled.mean(), abs=1e-12)


@given(masks())
def test_with_the_papers_own_p_the_curriculum_never_raises_the_utility(drawn):
    unlabeled, mask = drawn
    terms = measure(np.ones(1), unlabeled, prior(mask, "paper"))
    assert terms.paced_utility <= terms.utility + 1e-12
    lost = unlabeled[~mask].sum() / len(mask)
    assert terms.utility - terms.paced_utility == pytest.approx(lost, abs=1e-12)


@given(masks())
def test_with_an_indicator_the_line_is_off_by_almost_k_mean_utilities(drawn):
    unlabeled, mask = drawn
    terms = measure(np.ones(1), unlabeled, prior(mask, "indicator"))
    assert terms.error == pytest.approx((mask.sum() - 1) * unlabeled.mean(), abs=1e-10)


def test_the_naive_lines_fail_by_far_on_half_of_four_rows():
    unlabeled, mask = np.array([0.9, 0.8, 0.4, 0.3]), np.array([True, True, False, False])
    as_in_paper = measure(np.ones(1), unlabeled, prior(mask, "paper"))
    assert as_in_paper.comoment == pytest.approx(0.125)
    assert as_in_paper.paced_utility - as_in_paper.utility == pytest.approx(-0.175)
    assert as_in_paper.error == pytest.approx(-0.3)
    normalized = measure(np.ones(1), unlabeled, prior(mask, "normalized"))
    assert normalized.paced_utility - normalized.utility == pytest.approx(normalized.comoment)
    assert normalized.error_with_mean == pytest.approx(normalized.comoment * 3 / 4), "a mean is off by a factor M"


@given(masks())
def test_normalized_the_gain_is_the_gap_between_selected_and_others(drawn):
    unlabeled, mask = drawn
    terms = measure(np.ones(1), unlabeled, prior(mask, "normalized"))
    assert terms.comoment == pytest.approx(unlabeled[mask].mean() - unlabeled.mean(), abs=1e-12)
    if not mask.all():
        gap = unlabeled[mask].mean() - unlabeled[~mask].mean()
        assert terms.comoment == pytest.approx((1 - mask.mean()) * gap, abs=1e-12)


@given(arrays(float, st.integers(1, 40), elements=floats(0, 1)), st.integers(1, 40))
def test_selecting_by_the_utility_itself_cannot_give_a_negative_covariance(unlabeled, k):
    mask = np.zeros(len(unlabeled), dtype=bool)
    mask[np.argsort(unlabeled)[-k:]] = True
    assert measure(np.ones(1), unlabeled, prior(mask, "normalized")).comoment >= -1e-12


def test_the_covariance_is_zero_at_the_model_of_highest_utility():
    mask = np.array([True, False, False])
    assert measure(np.ones(1), np.ones(3), prior(mask, "normalized")).comoment == 0
    assert measure(np.ones(1), np.array([1, 0.5, 0.5]), prior(mask, "normalized")).comoment > 0


def test_the_utility_and_the_loss_can_prefer_different_models():
    losses = {"even": np.array([1.0, 1.0]), "uneven": np.array([0.0, 3.0])}
    assert losses["even"].mean() < losses["uneven"].mean()
    assert np.exp(-losses["even"]).mean() < np.exp(-losses["uneven"]).mean()


def test_the_utility_of_a_class_is_its_probability_and_of_soft_targets_exp_of_minus_cross_entropy():
    with np.errstate(divide="ignore"):
        logs = np.log(np.array([[0.7, 0.3, 0.0], [0.2, 0.2, 0.6]]))
    assert utilities(logs, np.array([0, 2])) == pytest.approx([0.7, 0.6])
    soft = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    assert utilities(logs, soft) == pytest.approx([np.sqrt(0.7 * 0.3), 0.6])
    assert utilities(logs, np.array([2, 0])) == pytest.approx([0.0, 0.2]), "no probability, no utility"


def log_probabilities(model, rows):
    with np.errstate(divide="ignore"):
        return np.log(model.probabilities(model.X[rows]))


@pytest.fixture(name="moons")
def moons_with_a_learner():
    moons = draw_moons(0, rows=120)
    X = np.exp(-4 * ((moons.X[:, None] - grid(6, 4)[None]) ** 2).sum(axis=2))
    learner = EstimatorLearner(LogisticRegression(C=100), X, np.array([0, 1]))
    return moons, learner, Labels.of(moons.labeled, moons.truth[moons.labeled])


def test_in_real_rounds_the_exact_identity_holds_and_the_last_round_has_no_covariance(moons):
    moons, learner, labeled = moons
    rounds = list(curriculum(learner, labeled, moons.unlabeled, pacing=PercentilePacing.by(20)))
    for kind in ("paper", "normalized", "indicator"):
        found = measure_rounds(rounds, log_probabilities, kind=kind, truth=moons.truth)
        assert [one.number for one in found] == [1, 2, 3, 4, 5]
        for one in found:
            assert max(abs(t.error_of_exact) for t in (one.scoring, one.trained, one.truth)) < 1e-10
            assert one.scoring.comoment >= -1e-12
        assert found[-1].scoring.comoment == pytest.approx(0, abs=1e-12), "p is the same for all rows"
    assert measure_rounds(rounds, log_probabilities)[0].truth is None


def test_the_scoring_models_utility_of_a_pseudo_label_is_its_confidence(moons):
    moons, learner, labeled = moons
    rounds = list(curriculum(learner, labeled, moons.unlabeled, pacing=PercentilePacing((60.0,))))
    found = measure_rounds(rounds, log_probabilities)[0]
    assert found.scoring.unlabeled == pytest.approx(rounds[1].scores.confidence.mean())


def test_models_are_measured_with_the_rows_of_one_round_held_fixed(moons):
    moons, learner, labeled = moons
    rounds = list(curriculum(learner, labeled, moons.unlabeled, pacing=PercentilePacing.by(20)))
    fixed, moving = measure_models(rounds, log_probabilities, at=2), measure_rounds(rounds, log_probabilities)
    assert len(fixed) == 6
    assert (fixed[1], fixed[2]) == (moving[1].scoring, moving[1].trained)


def test_the_most_confident_rows_have_a_positive_and_the_least_a_negative_covariance_before_training(moons):
    moons, learner, labeled = moons
    found = compare_choices(learner, labeled, moons.unlabeled, log_probabilities, share=0.3)
    assert found["most"].scoring.comoment > 0 > found["least"].scoring.comoment
    assert found["least"].scoring.comoment < found["random"].scoring.comoment < found["most"].scoring.comoment


def test_rows_are_chosen_from_the_top_the_bottom_or_anywhere():
    scores = Scores.from_probabilities(np.arange(4), np.array([[0.9, 0.1], [0.6, 0.4], [0.3, 0.7], [0.45, 0.55]]))
    assert choose(scores, 2, "most").tolist() == [True, False, True, False]
    assert choose(scores, 1, "least").tolist() == [False, False, False, True]
    assert choose(scores, 2, "random", seed=3).sum() == 2
    with pytest.raises(ValueError, match="count must be from 1 to the 4 rows there are, got 5"):
        choose(scores, 5, "most")


def test_errors_name_the_argument_and_the_value():
    with pytest.raises(ValueError, match=r"got shapes \(2,\), \(3,\) and \(1,\)"):
        measure(np.ones(1), np.ones(2), np.ones(3))
    with pytest.raises(ValueError, match="p must be finite, got 1 of 2"):
        measure(np.ones(1), np.ones(2), np.array([0, np.nan]))
    with pytest.raises(ValueError, match="selected must hold at least one row, got none of 3"):
        prior(np.zeros(3, dtype=bool), "paper")
    with pytest.raises(ValueError, match="kind must be one of 'paper', 'normalized', 'indicator', got 'uniform'"):
        prior(np.ones(3, dtype=bool), "uniform")
