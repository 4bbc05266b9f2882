"""Which round is delivered, and what is said of it."""

import numpy as np
import pytest

from curriculum_labeling.runs.courses import HeldOut
from curriculum_labeling.runs.outcome import accuracy_interval, conclude


def held_out(*right, n=100):
    """Rounds that get the first so many of n rows right."""
    classes = np.zeros(n, dtype=np.int64)
    logits = np.zeros((len(right), n, 2))
    for t, k in enumerate(right):
        logits[t, :, 0] = np.where(np.arange(n) < k, 2.0, -2.0)
    return HeldOut(np.arange(n), classes, logits, "2 folds")


def test_the_best_round_is_delivered_and_the_later_of_equals():
    outcome = conclude(held_out(60, 80, 80, 70), 3, "best")
    assert outcome.delivered == 2
    assert outcome.gain.helped is True
    assert "Round 2 is delivered: 80.0 % on held-out labels" in outcome.why


def test_an_earlier_round_must_be_better_beyond_chance():
    later = conclude(held_out(60, 84, 83), 2, "best")
    assert later.delivered == 2
    assert "Round 2 is delivered: 83.0 % on held-out labels, where labels only has 60.0 %" in later.why
    assert "(round 1, which learned from fewer, has 84.0 %, within chance)" in later.why
    equal = conclude(held_out(83, 84, 83), 2, "best")
    assert equal.delivered == 2
    assert "where labels only has 83.0 % (round 1, which learned from fewer, has 84.0 %, within chance)" in equal.why
    # A single row is within one standard error; of four rows, all on one side, two are.
    assert conclude(held_out(60, 84, 80), 2, "best").delivered == 1


def test_no_round_is_delivered_that_did_worse_than_labels_only_within_chance_or_not():
    assert conclude(held_out(80, 79), 1, "best").delivered == 0
    assert conclude(held_out(80, 81, 79), 2, "best").delivered == 1


def test_the_best_of_rounds_that_rise_is_not_missed_for_chance():
    """Rounds that gain two points each, on 60 held-out labels: the first best one is often too early."""
    rng = np.random.default_rng(0)
    lost = {"here": 0.0, "the best": 0.0}
    for _ in range(300):
        right = rng.random((1, 60)) < 0.55
        for t in range(1, 6):
            turn = rng.random(60)
            share = 0.55 + 0.02 * t
            right = np.vstack([right, np.where(right[-1], turn > 0.06 / share, turn < 0.08 / (1 - share))])
        classes = np.zeros(60, dtype=np.int64)
        logits = np.stack([np.where(right, 1.0, -1.0), np.zeros(right.shape)], axis=2)
        delivered = conclude(HeldOut(np.arange(60), classes, logits, "2 folds"), 5, "best").delivered
        lost["here"] += 0.02 * (5 - delivered) / 300
        lost["the best"] += 0.02 * (5 - np.flatnonzero(right.mean(1) == right.mean(1).max())[-1]) / 300
    assert lost["here"] < 0.6 * lost["the best"]


def test_labels_only_is_delivered_where_every_round_is_worse():
    outcome = conclude(held_out(80, 60, 70), 2, "best")
    assert outcome.delivered == 0
    assert outcome.gain.estimate == pytest.approx(-0.1)
    assert outcome.to_json(1.0)["gain"]["round"] == 2
    assert outcome.why == "Labels only is delivered, with 80.0 % on held-out labels: the best round, 2, has 70.0 %."


def test_the_last_round_is_delivered_as_asked_with_a_word_of_warning():
    outcome = conclude(held_out(80, 90, 70), 2, "last")
    assert outcome.delivered == 2
    assert "though labels only did better" in outcome.why


def test_without_held_out_labels_nothing_is_claimed():
    outcome = conclude(None, 3, "best")
    assert (outcome.delivered, outcome.gain.estimate, outcome.temperature) == (3, None, 1.0)
    assert "not measured" in outcome.to_json(1.0)["verdict"]


def test_overconfident_scores_get_a_temperature_above_one():
    outcome = conclude(held_out(60, 60, n=200), 1, "best")
    assert outcome.temperature > 1
    assert outcome.calibrated_on == 200


def test_few_held_out_labels_are_no_reason_to_calibrate():
    assert conclude(held_out(5, 6, n=10), 1, "best").temperature == 1.0


def test_the_interval_holds_the_share_and_stays_within_bounds():
    for k, n in ((0, 5), (5, 5), (30, 100)):
        low, high = accuracy_interval(k, n)
        assert 0 <= low <= k / n <= high + 1e-12 <= 1 + 1e-9


def test_without_rounds_labels_only_is_delivered_and_nothing_is_claimed():
    outcome = conclude(held_out(80), 0, "best")
    assert (outcome.delivered, outcome.last, outcome.calibrated_on) == (0, 0, 100)
    assert outcome.gain.estimate is None
    assert "Labels only is delivered, with 80.0 % on held-out labels: there was no time for rounds" in outcome.why
    assert "no time for rounds" in conclude(None, 0, "last").why


def test_one_class_for_all_images_is_said():
    outcome = conclude(None, 3, "best")
    warned = outcome.with_warning(np.full(450, 1), ("disc", "square"))
    assert warned.why.startswith(outcome.why)
    assert "All 450 unlabeled images were given the class 'square'" in warned.why
    assert outcome.with_warning(np.arange(450) % 2, ("disc", "square")) == outcome
    assert outcome.with_warning(np.full(5, 1), ("disc", "square")) == outcome
