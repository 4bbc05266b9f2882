import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from curriculum_labeling.labels import Scores
from curriculum_labeling.pacing import (
    BestPacing,
    PercentilePacing,
    ThresholdPacing,
    expected_counts,
    quotas,
    select,
    thresholds,
)

UNIFORM3 = np.full(3, 1 / 3)


def scored(confidence, classes=None):
    """Scores of a three-class model with these confidences."""
    confidence = np.asarray(confidence, dtype=float)
    n = len(confidence)
    classes = np.zeros(n, int) if classes is None else np.asarray(classes)
    return Scores(np.arange(n), classes, np.log(confidence), (classes + 1) % 3, (1 - confidence) / 2)


confidences = hnp.arrays(float, st.integers(1, 80), elements=st.floats(0.01, 1))
balances = st.sampled_from(["none", "per-class", "labeled", "estimated", (0.5, 0.25, 0.25)])


def draw_scores(data):
    confidence = data.draw(confidences)
    classes = data.draw(hnp.arrays(np.int64, len(confidence), elements=st.integers(0, 2)))
    return scored(confidence, classes)


def test_a_step_of_20_gives_the_papers_percentiles():
    assert PercentilePacing.by(20).percentiles == (80, 60, 40, 20, 0)
    assert PercentilePacing().percentiles == (80, 60, 40, 20, 0)


def test_a_step_that_does_not_divide_100_still_ends_at_0():
    assert PercentilePacing.by(30).percentiles == (70, 40, 10, 0)
    assert len(PercentilePacing.by(0.1).percentiles) == 1000


@given(confidence=confidences, percentile=st.integers(0, 100))
def test_a_percentile_selects_what_numpys_percentile_selects(confidence, percentile):
    mask = select(PercentilePacing((percentile,)), scored(confidence), 1, prior=UNIFORM3).mask
    log = np.log(confidence)
    assert (mask == (log >= np.percentile(log, percentile, method="higher"))).all()


@given(data=st.data(), balance=balances)
def test_the_last_round_takes_every_row(data, balance):
    scores = draw_scores(data)
    pacing = PercentilePacing.by(20, balance=balance)
    assert select(pacing, scores, pacing.rounds, prior=UNIFORM3).mask.all()


@given(data=st.data(), balance=balances, workers=st.integers(1, 4), step=st.sampled_from([5, 20, 33.3]))
def test_shards_select_the_rows_of_one_array(data, balance, workers, step):
    scores = draw_scores(data)
    for pacing in (
        PercentilePacing.by(step, balance=balance),
        ThresholdPacing(0.6, 2, balance),
        BestPacing(7, 2, balance),
    ):
        whole = select(pacing, scores, 2, prior=UNIFORM3).mask
        parts = [np.arange(len(scores))[rank::workers] for rank in range(workers)]
        expected = sum(expected_counts(_part(scores, part), 3) for part in parts)
        cuts = thresholds(
            pacing,
            lambda parts=parts: [(scores.log_confidence[part], scores.classes[part]) for part in parts],
            2,
            prior=UNIFORM3,
            expected=expected,
        )
        for part in parts:
            assert (whole[part] == (scores.log_confidence[part] >= cuts[scores.classes[part]])).all()


def _part(scores, rows):
    return Scores(
        rows,
        scores.classes[rows],
        scores.log_confidence[rows],
        scores.runner_up[rows],
        scores.runner_up_confidence[rows],
    )


@given(data=st.data())
def test_per_class_balance_takes_the_same_share_of_every_predicted_class(data):
    scores = draw_scores(data)
    mask = select(PercentilePacing((80,), "per-class"), scores, 1, prior=UNIFORM3).mask
    n, k = (
        len(scores),
        select(PercentilePacing((80,)), scored(np.linspace(0.1, 1, len(scores))), 1, prior=UNIFORM3).mask.sum(),
    )
    for c in range(3):
        own = scores.classes == c
        if own.any():
            quota = int(np.ceil(k * own.sum() / n - 1e-9))
            cut = np.sort(scores.log_confidence[own])[::-1][quota - 1]
            assert (mask[own] == (scores.log_confidence[own] >= cut)).all()


@given(
    k=st.integers(0, 200),
    sizes=hnp.arrays(np.int64, 4, elements=st.integers(0, 60)),
    shares=hnp.arrays(float, 4, elements=st.floats(0, 1)),
)
def test_quotas_fit_the_classes_and_add_up(k, sizes, shares):
    quota = quotas(k, sizes, shares)
    assert (quota >= 0).all()
    assert (quota <= sizes).all()
    assert min(k, sizes.sum()) <= quota.sum() <= min(k + 3, sizes.sum())


def test_a_class_smaller_than_its_quota_is_made_up_for_by_the_others():
    assert quotas(30, np.array([2, 50, 50]), UNIFORM3).tolist() == [2, 14, 14]


def test_a_known_prior_decides_which_classes_enter():
    scores = scored(np.linspace(0.4, 0.99, 90), np.arange(90) % 3)
    mask = select(PercentilePacing((67,), (0.8, 0.1, 0.1)), scores, 1, prior=UNIFORM3).mask
    assert np.bincount(scores.classes[mask]).tolist() == [24, 3, 3]


def test_the_estimated_prior_counts_expected_rows():
    scores = scored([0.8, 0.6], [0, 1])
    counts = expected_counts(scores, 3) / (1 << 24)
    np.testing.assert_allclose(counts, [0.8 + 0.2, 0.1 + 0.6, 0.1 + 0.2], atol=1e-6)


def test_true_ties_all_enter():
    assert select(PercentilePacing((80,)), scored([0.9, 0.9, 0.9, 0.5, 0.5]), 1, prior=UNIFORM3).mask.sum() == 3


def test_a_confidence_equal_to_a_fixed_threshold_enters():
    mask = select(ThresholdPacing(0.75), scored([0.75, 0.7499999, 0.76]), 1, prior=UNIFORM3).mask
    assert mask.tolist() == [True, False, True]


def test_threshold_zero_takes_all_and_a_high_one_may_take_none():
    scores = scored([0.4, 0.5])
    assert select(ThresholdPacing(0.0), scores, 1, prior=UNIFORM3).mask.all()
    none = select(ThresholdPacing(0.9), scores, 1, prior=UNIFORM3)
    assert not none.mask.any()
    assert none.threshold == np.inf


def test_k_best_widens_by_k_each_round():
    scores = scored(np.linspace(0.4, 0.9, 25))
    pacing = BestPacing(10, rounds=3)
    assert [select(pacing, scores, t, prior=UNIFORM3).mask.sum() for t in (1, 2, 3)] == [10, 20, 25]


def test_the_threshold_is_the_lowest_confidence_that_entered():
    selection = select(PercentilePacing((50,)), scored([0.4, 0.6, 0.8, 0.9]), 1, prior=UNIFORM3)
    assert selection.threshold == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PercentilePacing.by(0), "step must be above 0 and at most 100 percent, got 0"),
        (lambda: PercentilePacing.by(120), "step must be above 0 and at most 100 percent, got 120"),
        (lambda: PercentilePacing((80, 101)), "percentiles must be numbers from 0 to 100"),
        (lambda: ThresholdPacing(1.5), r"threshold must be a probability in \[0, 1\], got 1.5"),
        (lambda: ThresholdPacing(0.5, rounds=0), "rounds must be a whole number, at least 1, got 0"),
        (lambda: BestPacing(0), "k must be a whole number of rows, at least 1, got 0"),
        (lambda: PercentilePacing(balance="classes"), "balance must be one of 'none', 'per-class'"),
        (lambda: PercentilePacing(balance=(0.5, -0.5)), "one share per class, none negative"),
    ],
)
def test_impossible_pacings_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_prior_for_another_number_of_classes_is_refused():
    with pytest.raises(ValueError, match=r"one share per class \(3 classes\), got 2 shares"):
        select(PercentilePacing(balance=(0.5, 0.5)), scored([0.5, 0.6]), 1, prior=UNIFORM3)
