"""The demo's parts at small size; `make demo` runs the whole."""

import numpy as np

from curriculum_labeling import demo
from curriculum_labeling.experiments.two_moons import PACINGS, accuracy, draw_figure, draw_moons, run_moons


def test_the_curriculum_ends_above_pseudo_labeling_on_two_moons(monkeypatch):
    monkeypatch.setattr(demo, "MOON_SEEDS", 4)
    means = demo.moons_table(lambda: None)
    assert means["curriculum labeling"][-1] > means["pseudo-labeling"][-1] + 2
    assert means["curriculum labeling"][0] == means["pseudo-labeling"][0]


def test_pseudo_labeling_takes_all_rows_at_once_and_the_curriculum_widens():
    moons = draw_moons(0, rows=100)
    assert [r.selected for r in run_moons(moons, "pseudo-labeling")] == [0, 92, 92, 92, 92, 92]
    widening = [r.selected for r in run_moons(moons, "curriculum labeling")]
    assert widening == sorted(widening)
    assert widening[-1] == 92


def test_the_figure_is_saved_as_png_and_svg(tmp_path):
    moons = draw_moons(0, rows=60)
    rounds = {method: run_moons(moons, method) for method in PACINGS}
    png, svg = draw_figure(moons, rounds, tmp_path)
    assert png.read_bytes().startswith(b"\x89PNG")
    assert "</svg>" in svg.read_text()
    assert 0.5 < accuracy(moons, rounds["curriculum labeling"][-1]) <= 1


def test_digits_gain_over_labels_only(monkeypatch):
    monkeypatch.setattr(demo, "DIGIT_SEEDS", 1)
    for numbers in demo.digits_table(lambda: None).values():
        labels_only, delivered = numbers[0][0], numbers[-1][0]
        assert delivered > labels_only
        assert np.isfinite(numbers).all()
