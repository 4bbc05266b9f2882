"""The paper's Figure 4."""

from curriculum_labeling.experiments.two_moons import PACINGS, accuracy, draw_figure, draw_moons, run_moons


def test_the_curriculum_ends_above_pseudo_labeling():
    ends = {}
    for method in PACINGS:
        runs = [(draw_moons(seed), seed) for seed in range(4)]
        ends[method] = sum(accuracy(moons, run_moons(moons, method, seed=seed)[-1]) for moons, seed in runs) / 4
    assert ends["curriculum labeling"] > ends["pseudo-labeling"] + 0.02


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
