"""How images to train on are divided among labels only and rounds."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curriculum_labeling.runs.division import (
    FEWEST_PASSES_ROUND,
    LARGEST_FIRST,
    LARGEST_SCORING,
    MANY_FIRST_PERCENT,
    MANY_GROWTH,
    MANY_LABELS,
    MANY_LAST_PERCENT,
    MOST_PASSES_TURNS,
    MOST_ROUNDS,
    PAYS_FROM,
    SHORTEST_ROUND,
    TURNS_SHARE,
    WIDTHS,
    Division,
    divide,
    divide_equally,
    divide_widely,
    network_for,
    useful_to_labels_only,
)

SCORING = 1.3


@given(passes=st.floats(1, 1e9), labels=st.integers(1, 10**6), unlabeled=st.integers(0, 10**7), turns=st.booleans())
def test_everything_is_divided_and_every_round_is_longer_than_the_one_before(passes, labels, unlabeled, turns):
    division = divide(passes, labels, unlabeled, turns=turns, scoring=SCORING)
    first, *rounds = division.weights
    assert sum(division.weights) + division.turns == pytest.approx(1)
    assert first > 0
    if not rounds:
        assert (1 - division.turns) * passes < PAYS_FROM * useful_to_labels_only(labels, labels + unlabeled)
        return
    assert first <= LARGEST_FIRST + 1e-9
    assert division.turns <= (TURNS_SHARE + 1e-9 if turns else 0)
    assert division.turns * passes <= MOST_PASSES_TURNS * unlabeled * (1 + 1e-9)
    assert division.rounds <= MOST_ROUNDS
    assert rounds == sorted(rounds)
    if division.rounds > 1:
        shortest = min(SHORTEST_ROUND, FEWEST_PASSES_ROUND * (labels + unlabeled))
        assert rounds[0] * passes >= max(first * passes, shortest) * (1 - 1e-9)
        assert division.rounds * SCORING * unlabeled <= LARGEST_SCORING * passes


def test_few_labels_have_many_rounds_and_many_labels_one_long_one():
    few, many = (divide(1e6, labels, 50_000 - labels, turns=False, scoring=SCORING) for labels in (250, 4000))
    assert few.rounds == 3
    assert few.weights[0] == pytest.approx(0.04)
    assert many.rounds == 1
    assert many.weights == pytest.approx((1 / 3, 2 / 3))


def test_many_labels_have_a_short_round_on_most_rows_before_long_ones_on_more():
    half_an_hour, hour = (divide(passes, 4000, 46_000, turns=False, scoring=SCORING) for passes in (3.3e6, 6.6e6))
    assert half_an_hour.percentiles == (40.0, 20.0)
    assert hour.percentiles == (40.0, 30.0, 20.0)
    assert hour.weights[3] == pytest.approx(MANY_GROWTH**2 * hour.weights[1])
    assert hour.weights[1] >= hour.weights[0]


@given(rounds=st.integers(1, MOST_ROUNDS), percents=st.sampled_from([None, (60.0, 100.0), (60.0, 80.0)]))
def test_rounds_widen_in_equal_steps(rounds, percents):
    taken = [100 - p for p in Division((1.0,) * (rounds + 1), percents=percents).percentiles]
    first, last = percents or (100 / rounds, 100)
    assert taken[0] == pytest.approx(first, abs=0.05)
    assert rounds == 1 or taken[-1] == last
    steps = [b - a for a, b in pairwise(taken)]
    assert steps == pytest.approx([(last - first) / max(1, rounds - 1)] * (rounds - 1), abs=0.11)


@given(passes=st.floats(1e4, 1e9), labels=st.integers(1, 10_000))
def test_percents_follow_from_the_number_of_labels(passes, labels):
    division = divide(passes, labels, 50_000, turns=False, scoring=SCORING)
    if division.rounds:
        many = labels >= MANY_LABELS
        assert division.percents == ((MANY_FIRST_PERCENT, MANY_LAST_PERCENT) if many else None)
    if division.rounds == 1:
        assert division.percentiles == ((100 - MANY_FIRST_PERCENT,) if many else (0.0,))


def test_the_more_labels_the_fewer_rounds():
    rounds = [
        divide(2e6, labels, 50_000 - labels, turns=False, scoring=SCORING).rounds for labels in (250, 1000, 2000, 4000)
    ]
    assert rounds == sorted(rounds, reverse=True)
    assert rounds[0] > rounds[1] > 1
    assert rounds[-1] == 1


def test_many_labels_and_little_time_leave_no_rounds():
    short, long = (divide(passes, 4000, 46_000, turns=False, scoring=SCORING) for passes in (7e5, 9e5))
    assert short == Division((1.0,))
    assert long.rounds == 1


def test_rounds_do_not_spend_their_time_on_scoring():
    few, many = (divide(1e6, 250, unlabeled, turns=False, scoring=SCORING) for unlabeled in (5_000, 100_000))
    assert few.rounds > many.rounds


def test_where_scoring_is_cheap_there_are_more_rounds():
    cheap, dear = (divide(3e5, 250, 45_000, turns=False, scoring=scoring) for scoring in (0.6, 1.3))
    assert cheap.rounds == 2
    assert dear.rounds == 1


def test_a_small_set_has_rounds_as_well():
    assert divide(75_000, 50, 1000, turns=False, scoring=SCORING).rounds == 3


def test_equal_shares():
    assert divide_equally(3) == Division((0.25,) * 4)
    assert divide_equally(3, turns=True) == Division((0.2,) * 4, 0.2)


def test_turns_come_before_labels_and_take_no_more_than_they_teach():
    short, long = (divide(passes, 250, 50_000, turns=True, scoring=SCORING) for passes in (1e6, 1e7))
    assert short.turns == pytest.approx(TURNS_SHARE)
    assert long.turns * 1e7 == pytest.approx(MOST_PASSES_TURNS * 50_000)
    assert short.rounds == divide((1 - TURNS_SHARE) * 1e6, 250, 50_000, turns=False, scoring=SCORING).rounds


@given(passes=st.floats(1, 1e8), labels=st.integers(1, 10**5), unlabeled=st.integers(0, 10**6), turns=st.booleans())
def test_a_wide_network_has_rounds_of_as_many_images_as_a_narrow_one_would_need(passes, labels, unlabeled, turns):
    division, network = divide_widely(passes, labels, unlabeled, turns=turns, scoring=SCORING)
    cost, least = WIDTHS[network]
    assert max(division.weights) * passes >= least
    if division.rounds > 1:
        shortest = min(SHORTEST_ROUND, FEWEST_PASSES_ROUND * (labels + unlabeled))
        assert division.weights[1] * passes / cost >= shortest * (1 - 1e-9)


def test_an_hour_with_few_labels_has_fewer_rounds_of_a_wider_network():
    division, network = divide_widely(6.6e6, 250, 49_750, turns=True, scoring=SCORING)
    assert network == "compact-64"
    assert 1 < division.rounds < divide(6.6e6, 250, 49_750, turns=True, scoring=SCORING).rounds


@pytest.mark.parametrize(("longest", "network"), [(0.5, "compact"), (0.7, "compact-48"), (0.9, "compact-48")])
def test_the_longest_training_decides_on_the_width(longest, network):
    assert network_for(Division((1 - longest, longest)), 600_000) == network
    assert network_for(Division((1 - longest, longest)), 2_400_000) == "compact-64"
