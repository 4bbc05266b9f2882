"""Tails of confidences: known laws are found again, others are rejected, saturation and ties survive."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from curriculum_labeling.experiments.tails import (
    FEWEST_ROWS,
    LAWS,
    confidence,
    fit_generalized_pareto,
    fit_tail,
    inverse_doubt,
    log_inverse_doubt,
    top_share,
)
from curriculum_labeling.experiments.tails_figure import COLORS, draw_tails


def within(fit, name, truth, errors=3.5):
    return abs(fit.parameters[name] - truth) < errors * fit.errors[name]


@pytest.mark.parametrize("alpha", [0.7, 1.5, 4.0])
def test_the_index_of_a_pareto_sample_is_found_within_its_error(alpha):
    values = stats.pareto(alpha).rvs(4000, random_state=np.random.default_rng(1))
    tail = fit_tail(values, bootstrap=99)
    fit = tail.fit("Pareto")
    assert within(fit, "α", alpha)
    assert within(tail.fit("generalized Pareto"), "ξ", 1 / alpha)
    assert fit.p_value > 0.05
    assert tail.fit("exponential").p_value < 0.05
    assert tail.fit("exponential").aic > fit.aic


@pytest.mark.parametrize("shape", [-0.4, -0.2, 0.0, 0.5, 1.5])
def test_shape_and_scale_of_a_generalized_pareto_sample_are_found_within_their_errors(shape):
    excesses = stats.genpareto(shape, 0, 2.0).rvs(2000, random_state=np.random.default_rng(2))
    law = fit_generalized_pareto(excesses, 1.0, None)
    assert within(law, "ξ", shape)
    assert within(law, "σ", 2.0)


@settings(deadline=None, max_examples=30)
@given(st.floats(-0.9, 3), st.floats(1e-3, 1e3), st.integers(0, 10_000))
def test_our_generalized_pareto_fit_is_at_least_as_likely_as_the_truth(shape, scale, seed):
    shape = round(shape, 6)  # at 5e-324 it is scipy's own density that goes wrong
    excesses = stats.genpareto(shape, 0, scale).rvs(200, random_state=np.random.default_rng(seed))
    found = fit_generalized_pareto(excesses, 1.0, None).distribution
    truth = stats.genpareto(shape, 0, scale)
    assert found.logpdf(excesses).sum() >= truth.logpdf(excesses).sum() - 1e-6


def test_where_rows_crowd_at_the_end_the_generalized_pareto_law_becomes_uniform():
    excesses = np.random.default_rng(12).beta(1, 0.3, 500)
    law = fit_generalized_pareto(excesses, 1.0, None)
    assert law.parameters == {"ξ": -1, "σ": excesses.max()}
    assert law.distribution.cdf([0, excesses.max() / 2, excesses.max()]) == pytest.approx([0, 0.5, 1])


@settings(deadline=None, max_examples=30)
@given(st.floats(0.3, 3), st.floats(0.3, 3), st.integers(0, 10_000))
def test_no_generalized_pareto_law_of_a_coarse_grid_is_likelier_than_ours(a, b, seed):
    excesses = np.random.default_rng(seed).beta(a, b, 100) + 1e-9
    found = fit_generalized_pareto(excesses, 1.0, None).distribution
    inside = np.minimum(excesses, found.support()[1] * (1 - 1e-12))
    shapes, scales = np.meshgrid(np.linspace(-1, 2, 31), np.geomspace(0.01, 10, 61))
    others = stats.genpareto.logpdf(excesses, shapes[..., None], 0, scales[..., None]).sum(axis=-1)
    assert found.logpdf(inside).sum() >= others.max() - 1e-4


def test_a_known_beta_and_a_known_lognormal_tail_are_found():
    rng = np.random.default_rng(3)
    beta = fit_tail(np.concatenate([[0.0] * 400, rng.beta(2, 3, 1600)]), share=0.8, upper=1.0, bootstrap=49)
    assert within(beta.fit("beta"), "a", 2)
    assert within(beta.fit("beta"), "b", 3)
    assert beta.best.law == "beta"
    assert beta.fit("Pareto" if beta.threshold > 0 else "exponential").p_value < 0.05
    lognormal = fit_tail(np.concatenate([[0.0] * 400, rng.lognormal(1, 0.5, 1600)]), share=0.8, bootstrap=49)
    assert within(lognormal.fit("lognormal"), "s", 0.5)
    assert lognormal.best.law == "lognormal"


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(np.random.default_rng(4).uniform(0, 1, 3000), id="uniform"),
        pytest.param(1 - np.random.default_rng(5).beta(3, 3, 3000), id="bounded"),
    ],
)
def test_pareto_is_rejected_where_values_end(values):
    tail = fit_tail(values, upper=1.0, bootstrap=99)
    assert tail.fit("Pareto").p_value <= 0.05
    assert tail.fit("generalized Pareto").parameters["ξ"] < 0


def test_a_true_law_is_rejected_no_more_often_than_promised():
    rng = np.random.default_rng(6)
    p = [fit_tail(stats.expon().rvs(150, random_state=rng), bootstrap=19).fit("exponential").p_value for _ in range(30)]
    assert np.mean(np.array(p) <= 0.05) < 0.25
    assert 0.3 < np.mean(p) < 0.7


def test_a_pareto_tail_of_inverse_doubt_is_an_exponential_tail_of_its_logarithm():
    log_confidence = np.log1p(-(np.random.default_rng(7).uniform(size=2000) ** (1 / 1.5)))
    odds, logs = (fit_tail(score(log_confidence), bootstrap=0) for score in (inverse_doubt, log_inverse_doubt))
    assert odds.fit("Pareto").parameters["α"] == pytest.approx(1 / logs.fit("exponential").parameters["σ"])
    assert odds.fit("Pareto").distance == pytest.approx(logs.fit("exponential").distance)
    assert np.isnan(odds.best.p_value), "no bootstrap, no p-value"


def test_doubt_is_precise_where_confidence_has_rounded_to_one():
    log_confidence = np.array([-1e-20, -1e-30, 0.0])
    assert confidence(log_confidence).tolist() == [1, 1, 1]
    assert inverse_doubt(log_confidence) == pytest.approx([1e20, 1e30, np.inf])
    assert log_inverse_doubt(log_confidence) == pytest.approx([20 * np.log(10), 30 * np.log(10), np.inf])


def test_saturated_scores_are_counted_and_left_out():
    log_confidence = -np.random.default_rng(8).exponential(size=500)
    log_confidence[:60] = 0.0
    for score in (inverse_doubt, log_inverse_doubt):
        tail = fit_tail(score(log_confidence), bootstrap=9)
        assert tail.saturated == 60
        assert len(tail.excesses) == 88
        assert all(np.isfinite([fit.aic, fit.distance]).all() for fit in tail.fits)


def test_confidences_of_one_are_values_like_others():
    values = np.concatenate([np.ones(100), np.random.default_rng(9).uniform(0.5, 1, 400)])
    tail = fit_tail(values, share=0.4, upper=1.0, bootstrap=9)
    assert tail.saturated == 0
    assert tail.tied == 100
    assert {fit.law for fit in tail.fits} == set(LAWS)
    assert all(np.isfinite([fit.aic, fit.distance]).all() for fit in tail.fits)
    assert tail.fit("generalized Pareto").p_value <= 0.1, "half of the tail is one value"


def test_rows_tied_with_the_threshold_are_no_excess():
    values = np.concatenate([np.full(50, 2.0), np.arange(3.0, 18.0), np.zeros(35)])
    tail = fit_tail(values, share=0.4, bootstrap=0)
    assert tail.threshold == 2
    assert len(tail.excesses) == 15
    assert (tail.excesses > 0).all()


@settings(deadline=None, max_examples=40)
@given(st.lists(st.sampled_from(np.linspace(0, 1, 17).tolist()), min_size=40, max_size=120), st.floats(0.3, 0.9))
def test_few_values_with_many_ties_are_fitted_or_refused_in_words(values, share):
    beyond = np.unique(np.sort(values)[len(values) - round(share * len(values)) - 1 :])
    if len(beyond) <= FEWEST_ROWS:
        with pytest.raises(ValueError, match="the tail must hold at least"):
            fit_tail(np.array(values), share=share, upper=1.0)
        return
    tail = fit_tail(np.array(values), share=share, upper=1.0, bootstrap=2)
    assert all(0 <= fit.distance <= 1 and 0 < fit.p_value <= 1 for fit in tail.fits)


def test_the_same_seed_gives_the_same_p_values():
    values = np.random.default_rng(10).exponential(size=300)
    first, again = (fit_tail(values, bootstrap=19, seed=3) for _ in range(2))
    assert [fit.p_value for fit in first.fits] == [fit.p_value for fit in again.fits]


def test_the_top_fifth_holds_a_fifth_of_equal_values_and_most_of_heavy_ones():
    assert top_share(np.ones(100)) == pytest.approx(0.2)
    assert top_share(np.array([0.0] * 80 + [1.0] * 20)) == 1
    heavy = stats.pareto(np.log(5) / np.log(4)).ppf((np.arange(100_000) + 0.5) / 100_000)
    assert top_share(heavy) == pytest.approx(0.8, abs=0.05), "the 80/20 rule is a Pareto law of index 1.16"


def test_errors_name_the_argument_and_the_value():
    with pytest.raises(ValueError, match=f"at least {FEWEST_ROWS} different values .* got 4 from 20 finite"):
        fit_tail(np.arange(20.0))
    with pytest.raises(ValueError, match="got 0 from 30 finite"):
        fit_tail(np.ones(30))
    with pytest.raises(ValueError, match="got 0 from 0 finite"):
        fit_tail(np.full(30, np.inf))
    with pytest.raises(ValueError, match=r"share must be above 0 and below 1, got 1\.5"):
        fit_tail(np.arange(100.0), share=1.5)
    with pytest.raises(ValueError, match="values must be a list of numbers without NaN"):
        fit_tail(np.array([1.0, np.nan]))
    with pytest.raises(ValueError, match="values must be at least 0 and not all 0, got 2"):
        top_share(np.array([-1.0, 1.0]))


def test_the_figure_is_saved_as_png_and_svg(tmp_path):
    assert set(COLORS) == set(LAWS)
    log_confidence = -np.random.default_rng(11).exponential(size=300)
    tails = {
        "c": [fit_tail(confidence(log_confidence), upper=1.0, bootstrap=9)] * 2,
        "1/(1−c)": [fit_tail(inverse_doubt(log_confidence), bootstrap=0)],
    }
    png, svg = draw_tails(tails, tmp_path / "tails.of", titles=["round 1", "round 2"])
    assert (png.name, svg.name) == ("tails.of.png", "tails.of.svg")
    assert png.read_bytes().startswith(b"\x89PNG")
    assert "</svg>" in svg.read_text()
