import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curriculum_labeling.labels import Scores
from curriculum_labeling.runs.suggest import suggest

NAMES = ("glass", "metal", "plastic")


def scores_of(probabilities, rows=None):
    p = np.asarray(probabilities, dtype=np.float64)
    return Scores.from_probabilities(np.arange(len(p)) if rows is None else np.asarray(rows), p)


def margins(*values):
    return scores_of([[0.5 + m / 2, 0.5 - m / 2, 0] for m in values])


def suggested(scores, n, **options):
    rows = len(scores)
    options = {"classes": NAMES, "features": np.eye(rows + 1), "labeled": np.array([], dtype=int), **options}
    return suggest(scores, n, **options)


@settings(deadline=None)
@given(data=st.data(), n=st.integers(0, 40), rows=st.integers(0, 30))
def test_rows_are_unlabeled_distinct_and_as_many_as_asked_for_or_there_are(data, n, rows):
    draw = np.random.default_rng(data.draw(st.integers(0, 1000)))
    numbers = np.arange(5, 5 + rows)
    scores = scores_of(draw.dirichlet(np.ones(3), rows), numbers)
    features = draw.integers(0, 2, (rows + 5, 4)).astype(np.float32)
    found = suggested(scores, n, features=features, labeled=np.arange(5), flips=draw.integers(0, 4, rows))
    chosen = [one.row for one in found]
    assert len(set(chosen)) == len(chosen) == min(n, rows)
    assert set(chosen) <= set(numbers.tolist())


@settings(deadline=None)
@given(seed=st.integers(0, 1000))
def test_one_of_each_group_of_duplicates_and_none_of_a_labeled_one(seed):
    draw = np.random.default_rng(seed)
    groups = draw.integers(0, 8, 25)
    scores = scores_of(draw.dirichlet(np.ones(3), 20), np.arange(5, 25))
    features = draw.normal(size=(25, 4))
    found = suggested(scores, 20, features=features, labeled=np.arange(5), groups=groups)
    chosen = groups[[one.row for one in found]]
    assert len(set(chosen)) == len(chosen)
    assert set(chosen) == set(groups[5:]) - set(groups[:5])


def test_the_most_uncertain_comes_first_where_all_are_equally_far():
    assert [one.row for one in suggested(margins(0.5, 0.1, 0.9, 0.3), 4)] == [1, 3, 0, 2]


def test_equal_features_leave_the_order_of_doubt():
    found = suggested(margins(0.5, 0.1, 0.9, 0.3), 3, features=np.ones((4, 2)))
    assert [one.row for one in found] == [1, 3, 0]


def test_of_two_alike_the_second_waits_for_something_new():
    features = np.array([[1, 0], [1, 0.01], [0, 1]])
    assert [one.row for one in suggested(margins(0.1, 0.11, 0.4), 3, features=features)] == [0, 2, 1]


def test_what_resembles_a_labeled_row_comes_last():
    features = np.array([[1, 0], [0, 1], [1, 0.01]])
    found = suggested(margins(0.1, 0.4), 2, features=features, labeled=np.array([2]))
    assert [one.row for one in found] == [1, 0]


def test_reasons_say_what_is_known_of_a_row():
    scores = scores_of([[0.41, 0.2, 0.39], [0.95, 0.04, 0.01], [0.9, 0.1, 0.0], [0.96, 0.03, 0.01], [0.5, 0.3, 0.2]])
    found = suggested(scores, 5, flips=[0, 3, 1, 0, 2], foreign=[False, False, True, False, False])
    assert {one.row: one.reason for one in found} == {
        0: "between glass and plastic (0.41 to 0.39)",
        1: "changed class 3 times",
        2: "unlike anything labeled, changed class once",
        3: "probably glass (0.96), among the least certain",
        4: "between glass and metal (0.50 to 0.30), changed class 2 times",
    }


def test_foreign_rows_are_at_most_a_fifth_unless_there_is_nothing_else():
    draw = np.random.default_rng(0)
    scores = scores_of(draw.dirichlet(np.ones(3), 60))
    foreign = np.arange(60) < 30
    found = suggested(scores, 10, foreign=foreign)
    assert 1 <= sum(one.row < 30 for one in found) <= 2
    assert len(suggested(scores, 10, foreign=np.ones(60, dtype=bool))) == 10


def test_the_pool_is_large_enough_to_be_diverse_and_small_enough_to_be_quick():
    draw = np.random.default_rng(0)
    scores = scores_of(draw.dirichlet(np.ones(3), 5000))
    features = draw.normal(size=(5000, 64)).astype(np.float32)
    found = suggested(scores, 50, features=features, foreign=draw.random(5000) < 0.01)
    margin = scores.confidence - scores.runner_up_confidence
    assert np.mean([margin[one.row] for one in found]) < np.median(margin)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": -1}, "n must be 0 or more suggestions, got -1"),
        ({"flips": [1]}, r"flips must have one entry per scored row, got shape \(1,\) for 2 rows"),
        ({"foreign": [True]}, r"foreign must have one entry per scored row, got shape \(1,\) for 2 rows"),
        ({"features": np.full((2, 2), np.nan)}, "features must be finite, got NaN or infinity in 2 of 2 rows"),
    ],
)
def test_what_does_not_fit_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        suggested(margins(0.1, 0.2), **{"n": 1, **options})
