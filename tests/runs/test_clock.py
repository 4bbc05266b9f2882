"""Time divided among trainings."""

from curriculum_labeling.runs.clock import LAST_SECONDS, Clock, Work
from curriculum_labeling.runs.directory import Run


def test_the_time_left_is_shared_by_weight(tmp_path):
    clock = Clock(Run(tmp_path), minutes=10)
    ahead = [Work("a", 1, 0), Work("b", 3, 0)]
    steps = clock.plan(ahead, 0.1, 64, most=10**9, speedup=2.0)
    assert abs(steps - (600 - LAST_SECONDS) / 4 / 0.1) < 20


def test_scoring_is_paid_from_the_same_time(tmp_path):
    clock = Clock(Run(tmp_path), minutes=10)
    without, with_scoring = (clock.plan([Work("a", 1, n)], 0.1, 64, 10**9, speedup=2.0) for n in (0, 100_000))
    assert with_scoring < without


def test_small_sets_are_not_trained_on_for_ever(tmp_path):
    assert Clock(Run(tmp_path), minutes=1000).plan([Work("a", 1, 0)], 0.01, 64, most=50, speedup=2.0) == 50


def test_a_time_that_is_up_still_gives_one_step(tmp_path):
    assert Clock(Run(tmp_path), minutes=0.01).plan([Work("a", 1, 0)], 10.0, 64, most=50, speedup=2.0) == 1


def test_the_course_that_is_delivered_has_at_least_the_steps_of_its_folds(tmp_path):
    clock = Clock(Run(tmp_path), minutes=0.01)
    for name, steps in (
        ("which way up", 90),
        ("fold-1, round 0", 17),
        ("fold-1, round 1", 49),
        ("fold-2, round 0", 13),
    ):
        clock.fix(name, steps)
    planned = []
    for name in ("fold-2, round 1", "main, round 0", "main, round 1"):
        planned.append(clock.plan([Work(name, 1, 0)], 10.0, 64, most=50, speedup=2.0))
        clock.fix(name, planned[-1])
    assert planned == [49, 17, 49]


def test_a_round_has_at_least_half_the_steps_of_the_one_before(tmp_path):
    clock = Clock(Run(tmp_path), minutes=0.01)
    clock.fix("main, round 0", 17)
    assert clock.plan([Work("main, round 1", 1, 0)], 10.0, 64, most=50, speedup=2.0) == 8


def test_steps_and_seconds_survive_a_restart(tmp_path):
    run = Run(tmp_path)
    clock = Clock(run, minutes=1)
    clock.fix("a", 17)
    again = Clock(run, minutes=1)
    assert again.steps == {"a": 17}
    again.save()
    assert Clock(run, None).seconds > again._before
    assert Clock(run, None).seconds_left is None
