import math

import pytest

from curriculum_labeling.vision.schedule import Budget, Schedule


def test_the_learning_rate_falls_from_its_full_value_to_almost_nothing_along_a_cosine():
    schedule = Schedule(steps=100, steps_per_epoch=10, learning_rate=0.1)
    rates = [schedule.rate(step) for step in range(100)]
    assert rates[0] == 0.1
    assert rates[50] == pytest.approx(0.05)
    assert rates == sorted(rates, reverse=True)
    assert schedule.rate(100) == pytest.approx(0, abs=1e-12)


def test_warm_up_rises_to_the_full_rate_and_the_cosine_starts_there():
    schedule = Schedule(steps=100, steps_per_epoch=10, learning_rate=0.2, warmup=4)
    assert [schedule.rate(step) for step in range(5)] == pytest.approx([0.05, 0.1, 0.15, 0.2, 0.2])


def test_trainings_that_follow_each_other_go_along_one_cycle():
    whole = Schedule(steps=100, steps_per_epoch=10, learning_rate=0.2, warmup=40)
    parts = [Schedule(30, 10, 0.2, 40, 0, 70), Schedule(50, 10, 0.2, 40, 30, 20), Schedule(20, 10, 0.2, 40, 80, 0)]
    rates = [part.rate(step) for part in parts for step in range(part.steps)]
    assert rates == [whole.rate(step) for step in range(100)]


def test_a_budget_is_epochs_or_steps_or_minutes():
    assert Budget(epochs=3).steps_of(7) == 21
    assert Budget(steps=5).steps_of(7) == 5
    assert Budget(minutes=1).steps_of(7, seconds_per_step=0.5) == 120
    assert Budget(minutes=0.001).steps_of(7, seconds_per_step=10) == 1


def test_epochs_end_where_their_steps_do_and_the_last_one_may_be_cut_short():
    schedule = Schedule(steps=7, steps_per_epoch=3, learning_rate=1)
    assert schedule.epochs == 3
    assert [done for done in range(1, 8) if schedule.ends_epoch(done)] == [3, 6, 7]
    assert [schedule.epochs_after(done) for done in (0, 1, 3, 4, 7)] == [1, 1, 1, 2, 3]


@pytest.mark.parametrize("given", [{}, {"epochs": 3, "steps": 4}])
def test_no_budget_or_two_budgets_are_refused(given):
    with pytest.raises(ValueError, match="budget must have exactly one of epochs, steps and minutes, got"):
        Budget(**given)


@pytest.mark.parametrize("value", [0, -1, math.inf, math.nan])
def test_a_budget_that_is_not_above_zero_is_refused(value):
    with pytest.raises(ValueError, match=f"budget minutes must be above 0, got {value}"):
        Budget(minutes=value)
