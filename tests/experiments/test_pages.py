"""Tables and figures, drawn from results on disk."""

import csv
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from curriculum_labeling.data.images import Images
from curriculum_labeling.data.locks import exclusive
from curriculum_labeling.experiments import gallery
from curriculum_labeling.experiments.catalog import EXPERIMENTS
from curriculum_labeling.experiments.comparisons import CL_RA_MIXUP
from curriculum_labeling.experiments.pages import write_pages
from curriculum_labeling.experiments.results import Result, Results, RoundResult, tasks_of
from curriculum_labeling.experiments.runner import GALLERY
from curriculum_labeling.experiments.scales import CPU, PAPER
from curriculum_labeling.experiments.summary import best_on_validation, spread
from curriculum_labeling.labels import Labels


def round_result(t, error, validation=None, top5=None):
    selected = 100 * t
    right = 0.9 if t else None
    held = error if validation is None else validation
    return RoundResult(t, error, top5, held, selected, 0, right, None, 0.8 if t else None, selected, 0, 0, 30.0, 5000)


def invent(out, key, scale=CPU, seeds=2, fail=()):
    """Results for every cell: error 20 % minus a point per round, plus a point per seed."""
    results = Results(out)
    for number, task in enumerate(tasks_of(EXPERIMENTS[key], scale, seeds)):
        top5 = 0.1 if task.cell.data == "imagenet" else None
        errors = [0.2 - 0.01 * t + 0.01 * task.seed for t in range(task.cell.pacing.rounds + 1)]
        rounds = tuple(round_result(t, error, top5=top5) for t, error in enumerate(errors))
        failed = number in fail
        state = ("failed", "training diverged") if failed else ("finished", "")
        settings = task.cell.describe()
        results.write(Result(task.name, task.seed, settings, *state, "2 cores", rounds[:1] if failed else rounds), task)
    return out


def lines_of(path):
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("|")]


def test_rounds_stand_beside_the_papers(tmp_path):
    write_pages(EXPERIMENTS["table-6"], CPU, 2, invent(tmp_path, "table-6"))
    lines = lines_of(tmp_path / "table-6.md")
    assert lines[0] == "| round | threshold 0.9 | paper | threshold 0.9995 | paper | CL | paper |"
    assert lines[2].startswith("| labels only | 20.50 ± 0.71 (2) | 18.25 |")
    assert lines[7].endswith("| 15.50 ± 0.71 (2) | 15.29 | 15.50 ± 0.71 (2) | 8.92 |")
    text = (tmp_path / "table-6.md").read_text(encoding="utf-8")
    assert "Reduced from the paper, all cells alike: network compact" in text
    assert "`curriculum reproduce table-6 --scale cpu --seeds 2 --data DIR`" in text
    assert "| CL | 5 | – | 0.8000 | 500 | 41,000 | 90.00 ± 0.00 (2) | – | 15.50 ± 0.71 (2) | 30 |" in text
    assert "| CL | 15.50 ± 0.71 (2) | 15.50 ± 0.71 (2) | 180 | 30,000 |" in text


def test_methods_of_others_and_deviations_are_in_table_1(tmp_path):
    write_pages(EXPERIMENTS["table-1"], CPU, 1, invent(tmp_path, "table-1", seeds=1))
    lines = lines_of(tmp_path / "table-1.md")
    assert "| labels only | 20.00 (1) | 20.26 ± 0.38 | 20.00 (1) | 12.83 ± 0.47 |" in lines
    assert "| PL-CB (Arazo et al. 2019) | – | 6.28 ± 0.30 | – | – |" in lines
    assert "| CL+RA+mixup | 15.00 (1) | 5.27 ± 0.16 | 15.00 (1) | 2.80 ± 0.18 |" in lines


def test_table_3_has_accuracies(tmp_path):
    write_pages(EXPERIMENTS["table-3"], PAPER, 1, invent(tmp_path, "table-3", PAPER, 1))
    lines = lines_of(tmp_path / "table-3.md")
    assert "| labels only | 80.00 (1) | 55.75 | 90.00 (1) | 79.67 |" in lines
    assert "| CL | 85.00 (1) | 68.87 | 90.00 (1) | 88.56 |" in lines
    assert "Settings as in the paper." in (tmp_path / "table-3.md").read_text(encoding="utf-8")


def test_failed_cells_are_shown_with_their_reason(tmp_path):
    summary = write_pages(EXPERIMENTS["table-10"], CPU, 2, invent(tmp_path, "table-10", fail=(0, 1, 4)))
    lines = lines_of(tmp_path / "table-10.md")
    assert "| 250 epochs, SWA | 2 failed | 8.42 |" in lines
    assert "| 450 epochs, SWA | 16.00 (1), 1 failed | 6.46 |" in lines
    text = (tmp_path / "table-10.md").read_text(encoding="utf-8")
    assert "5 of 8 runs finished" in text
    assert "epochs250-step20`, seed 1, after 1 rounds: training diverged" in text
    assert sum(map(len, summary.failed.values())) == 3


def test_a_table_with_nothing_in_it_yet_has_the_papers_numbers(tmp_path):
    write_pages(EXPERIMENTS["table-9"], PAPER, 5, tmp_path)
    lines = lines_of(tmp_path / "table-9.md")
    assert lines[2].startswith("| labels only | – | 13.73 |")
    assert "0 of 25 runs finished" in (tmp_path / "table-9.md").read_text(encoding="utf-8")


def test_the_csv_has_a_line_per_cell_and_round(tmp_path):
    write_pages(EXPERIMENTS["table-5"], CPU, 2, invent(tmp_path, "table-5"))
    with open(tmp_path / "table-5.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 20 * 6
    last = [row for row in rows if row["row"] == "threshold 0.9" and row["column"] == "moderate"][-1]
    assert (last["round"], last["mean"], last["std"], last["n"]) == ("5", "15.5", "0.7071", "2")
    assert (last["paper_mean"], last["selected"], last["pseudo_accuracy"]) == ("17.11", "500.0", "0.9")
    assert sum(row["paper_mean"] != "" for row in rows) == 20


@pytest.mark.parametrize("key", ["figure-2", "figure-3", "figure-5"])
def test_figures_are_drawn_as_png_and_svg(tmp_path, key):
    write_pages(EXPERIMENTS[key], CPU, 2, invent(tmp_path, key))
    assert (tmp_path / f"{key}.png").read_bytes().startswith(b"\x89PNG")
    assert "</svg>" in (tmp_path / f"{key}.svg").read_text()
    assert f"]({key}.png)" in (tmp_path / f"{key}.md").read_text(encoding="utf-8")


def test_a_figure_with_some_points_is_drawn_and_without_any_is_not(tmp_path):
    experiment = EXPERIMENTS["figure-3"]
    write_pages(experiment, CPU, 1, tmp_path)
    assert not (tmp_path / "figure-3.png").exists()
    write_pages(experiment, CPU, 1, invent(tmp_path, "figure-3", seeds=1, fail=(0, 3, 5)))
    assert (tmp_path / "figure-3.png").exists()


def test_figures_are_left_alone_between_cells(tmp_path):
    write_pages(EXPERIMENTS["figure-2"], CPU, 1, invent(tmp_path, "figure-2", seeds=1), figures=False)
    assert (tmp_path / "figure-2.md").exists()
    assert not (tmp_path / "figure-2.png").exists()


def pseudo_labeled(classes=12, rows=120):
    """Images whose pseudo-label is wrong in every third row; confidence rises with the row."""
    truth = np.random.default_rng(0).permutation(np.arange(rows) % classes)
    guessed = np.where(np.arange(rows) % 3 == 0, (truth + 1) % classes, truth)
    pixels = np.zeros((rows, 8, 8, 3), dtype=np.uint8)
    images = Images(pixels, np.where(truth == 11, -1, truth), tuple(f"class {c}" for c in range(classes)))
    labels = replace(Labels.of(np.arange(rows), guessed), given=0, confidence=np.linspace(0.1, 1, rows))
    return labels, images


def test_a_gallery_has_the_most_confident_right_and_wrong_rows_of_ten_classes(tmp_path):
    labels, images = pseudo_labeled()
    gallery.save(gallery.pick(labels, images), tmp_path / "some.npz")
    found = gallery.read(tmp_path / "some.npz")
    assert len(np.unique(found.classes)) == 10
    assert {0, 11} <= set(found.classes.tolist())
    for c in np.unique(found.classes):
        for right in (True, False):
            mine = (found.classes == c) & (found.right == right)
            best = np.flatnonzero((labels.classes == c) & ((images.labels == c) == right))[::-1][:5]
            assert found.rows[mine].tolist() == best.tolist()


def test_the_gallery_is_drawn_for_every_data_set_that_has_one(tmp_path):
    invent(tmp_path, "figures-6-7")
    task = tasks_of(EXPERIMENTS["figures-6-7"], CPU, 1)[0]
    assert task.cell == CPU.reduced(CL_RA_MIXUP)
    gallery.save(gallery.pick(*pseudo_labeled()), Results(tmp_path).path(task, GALLERY))
    write_pages(EXPERIMENTS["figures-6-7"], CPU, 2, tmp_path)
    svg = (tmp_path / "figures-6-7-cifar10.svg").read_text()
    assert "</svg>" in svg
    assert not (tmp_path / "figures-6-7-imagenet.svg").exists()
    assert "](figures-6-7-cifar10.png)" in (tmp_path / "figures-6-7.md").read_text(encoding="utf-8")


def test_the_round_best_on_validation_is_the_earliest_best():
    rounds = (round_result(0, 0.3, 0.2), round_result(1, 0.2, 0.1), round_result(2, 0.25, 0.1))
    result = Result("x", 0, {}, "finished", "", "", rounds)
    assert best_on_validation(result) == pytest.approx(20)
    unheld = replace(result, rounds=tuple(replace(one, validation_error=None) for one in rounds))
    assert best_on_validation(unheld) == pytest.approx(25)


def test_a_single_value_has_no_deviation():
    assert spread([]) is None
    assert spread([3.0]).std is None
    assert spread([1.0, 3.0]).std == pytest.approx(2**0.5)


def test_a_page_is_never_older_than_one_that_another_worker_has_written(tmp_path):
    experiment = EXPERIMENTS["table-7"]
    invent(tmp_path, "table-7", seeds=1)
    with ThreadPoolExecutor(1) as other:
        with exclusive(tmp_path / ".table-7.lock"):
            waiting = other.submit(write_pages, experiment, CPU, 2, tmp_path)
            with pytest.raises(TimeoutError):
                waiting.result(timeout=0.3)
            invent(tmp_path, "table-7", seeds=2)
        waiting.result(timeout=60)
    assert "4 of 4 runs finished" in (tmp_path / "table-7.md").read_text(encoding="utf-8")
