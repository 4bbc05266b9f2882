"""What a fit may be asked for."""

import pytest

from curriculum_labeling.runs.options import FitOptions, check_choice
from curriculum_labeling.runs.start import merge_options


def test_the_defaults_ask_for_nothing_impossible():
    assert FitOptions().pacing((70, 0), "none").percentiles == (70, 0)


def test_a_step_of_the_user_comes_before_ours():
    assert FitOptions(step=50).pacing((70, 0), "none").percentiles == (50, 0)
    assert FitOptions(percentiles=(90, 0)).pacing((70, 0), "none").percentiles == (90, 0)


def test_a_balance_of_the_user_comes_before_ours():
    assert FitOptions().pacing((70, 0), "per-class").balance == "per-class"
    assert FitOptions(balance="none").pacing((70, 0), "per-class").balance == "none"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"minutes": 0}, r"--minutes must be above 0 and at most .*, got 0; --minutes 30 is usual"),
        ({"minutes": float("nan")}, r"--minutes must be above 0.*got nan"),
        ({"passes": -1}, r"--passes must be above 0.*got -1"),
        ({"threads": 0}, r"--threads must be above 0.*got 0"),
        ({"resolution": 4}, r"--resolution must be above 7.*got 4"),
        ({"minutes": 3, "passes": 3}, r"--minutes and --passes must not both be given, got 3 and 3; drop one"),
        ({"seed": -1}, r"--seed must be from 0 to 4294967295, got -1"),
        ({"balance": "labelled"}, r"--balance must be one of auto, none, .*got labelled; did you mean labeled\?"),
        ({"step": 0}, r"--step must be above 0 and at most 100 percent, got 0"),
        ({"percentiles": (120,)}, r"--percentiles must be numbers from 0 to 100"),
        ({"percentiles": (20, 40)}, r"--percentiles must not rise .*got 20 40; perhaps 40 20\.$"),
        (
            {"percentiles": (50, 0), "step": 20},
            r"--step and --percentiles must not both be given, got 20 and 50 0",
        ),
        ({"percentiles": ()}, r"--percentiles must be one or more numbers from 0 to 100, got none"),
        ({"validation": "1"}, r"--validation must be .*got 1; --validation 5 is usual"),
        ({"validation": "some"}, r"--validation must be .*got some"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(given, message):
    with pytest.raises(ValueError, match=message):
        FitOptions(**given)


@pytest.mark.parametrize(("text", "meaning"), [("auto", None), ("none", 0), ("5", 5), ("0.2", 0.2)])
def test_validation_is_folds_or_a_share(text, meaning):
    assert FitOptions(validation=text).held_out() == meaning


def test_a_wrong_word_without_a_near_one_gets_no_guess():
    with pytest.raises(ValueError, match=r"--kind must be one of red, blue, got xyz\.$"):
        check_choice("--kind", "xyz", ("red", "blue"))


def test_an_option_given_now_drops_the_one_it_excludes_of_the_run_before():
    assert merge_options(FitOptions(percentiles=(50, 0)), FitOptions(step=20)) == FitOptions(percentiles=(50, 0))
    assert merge_options(FitOptions(step=20), FitOptions(percentiles=(50, 0), seed=3)) == FitOptions(step=20, seed=3)
    assert merge_options(FitOptions(passes=2), FitOptions(minutes=5)) == FitOptions(passes=2)
    assert merge_options(FitOptions(), FitOptions(minutes=5, step=20)) == FitOptions(minutes=5, step=20)
