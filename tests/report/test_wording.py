import math

import pytest

from curriculum_labeling.report.wording import (
    common_folder,
    count,
    duration,
    interval,
    percent,
    several,
    signed,
    typeset,
)


def plain(text):
    return text.replace("\u00a0", " ")


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.934, "93.4 %"), (1.0, "100.0 %"), (0.99999, "> 99.9 %"), (0.0, "0.0 %"), (1e-9, "< 0.1 %"), (None, "–")],
)
def test_a_share_is_a_percentage_with_one_decimal(share, text):
    assert plain(percent(share)) == text


def test_a_share_that_is_not_a_number_is_a_dash():
    assert percent(math.nan) == "–"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.42, "0.4 s"),
        (45, "45 s"),
        (59.6, "1 min 0 s"),
        (200, "3 min 20 s"),
        (599, "9 min 59 s"),
        (605, "10 min"),
        (7325, "2 h 2 min"),
        (None, "–"),
    ],
)
def test_seconds_read_like_a_clock(seconds, text):
    assert plain(duration(seconds)) == text


def test_thousands_are_separated():
    assert count(50000) == "50,000"
    assert plain(several(1, "class", "classes")) == "1 class"
    assert plain(several(1200, "class", "classes")) == "1,200 classes"


def test_differences_and_intervals_are_in_points():
    assert signed(-0.0214) == "−2.1"
    assert plain(interval(0.9, 0.953)) == "90.0–95.3 %"


def test_the_common_folder_ends_at_a_slash():
    assert common_folder(["/a/bc/1.png", "/a/bd/2.png"]) == "/a/"
    assert common_folder(["1.png", "2.png"]) == ""
    assert common_folder([]) == ""


def test_sentences_have_true_minus_signs_and_units_on_the_line_of_their_number():
    assert typeset("-6.0 points (95 % interval -18.7 to +7.2)") == "−6.0 points (95\u00a0% interval −18.7 to +7.2)"
    assert typeset("held-out labels of 2026-11-18, class a-1") == "held-out labels of 2026-11-18, class a-1"
