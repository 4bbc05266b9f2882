"""The page of benchmarks/small_budget.py, and how it spends a time."""

import numpy as np
import pytest
from benchmarks import small_budget, small_budget_page

from curriculum_labeling.labels import Labels
from curriculum_labeling.runs import division
from tests.vision.small import colors, with_norm


def test_the_page_has_means_and_rounds(tmp_path):
    for seed, accuracy in ((0, 0.5), (1, 0.6)):
        known = ("labels only", 250, 5.0, seed, 0, 0, None, 1000, 4.9)
        small_budget.write(
            tmp_path / "out" / "cells" / "bf16" / f"{seed}.csv", [small_budget.Line(*known, 0.4, accuracy)]
        )
    ours = [
        small_budget.Line("ours", 250, 5.0, 0, 0, 0, None, 400, 1.0, 0.4, 0.5),
        small_budget.Line("ours", 250, 5.0, 0, 1, 90, 0.75, 1000, 4.8, 0.4, 0.7),
    ]
    small_budget.write(tmp_path / "out" / "cells" / "bf16" / "ours.csv", ours)
    small_budget_page.write_page(tmp_path / "out")
    page = (tmp_path / "small_budget.md").read_text(encoding="utf-8")
    assert "| labels only | 55.0 ± 7.1 (2) |" in page
    assert "| ours | 70.0 |" in page
    assert "| ours | 5 | 4.8 | 0 | 1,000 | 50.0, 70.0 (75) |" in page
    assert (tmp_path / "out" / "figure-5-250-bf16.png").stat().st_size > 1000


@pytest.mark.parametrize("method", ["labels only", "threshold 0.9", "fine-tuned", "ours"])
def test_every_method_trains_within_its_time(method, monkeypatch):
    images = colors(60)
    monkeypatch.setattr(division, "PAYS_FROM", 0)
    monkeypatch.setattr(small_budget, "TIMED_STEPS", 20)
    given = Labels.of(np.arange(12), images.labels[:12])
    rounds = list(small_budget.train(images, given, np.arange(12, 60), method, 0.2, 0, with_norm))
    spent = [seconds for *_, seconds in rounds]
    assert (len(rounds) == 1) == (method == "labels only")
    assert spent == sorted(spent)
    assert spent[-1] < 10


def test_rows_to_choose_by_are_in_no_cell_even_where_every_other_row_is_labeled(monkeypatch):
    truth = np.repeat(np.arange(10), 600)
    monkeypatch.setattr(small_budget, "ALL", 1000)
    labeled, unlabeled, held = small_budget.draw_rows(truth, 40, 0)
    assert (len(labeled), len(unlabeled), len(held)) == (40, 960, 5000)
    assert len({*labeled, *unlabeled, *held}) == 6000
    everything, nothing, same = small_budget.draw_rows(truth, 1000, 0)
    assert everything.tolist() == sorted([*labeled, *unlabeled])
    assert len(nothing) == 0
    assert sorted(same) == sorted(held)


def test_a_cell_prints_what_to_choose_by_and_keeps_the_test_images_for_the_page(monkeypatch, capsys):
    images = colors(60)
    monkeypatch.setattr(small_budget, "draw_rows", lambda *_: (np.arange(12), np.arange(12, 40), np.arange(40, 50)))
    monkeypatch.setattr(small_budget, "TIMED_STEPS", 20)
    (line,) = small_budget.cell(images, images.labels[:50], 0.002, 12, 0, "labels only")
    assert 0 < line.accuracy <= 1
    assert "accuracy=nan" in capsys.readouterr().out


def test_cells_of_machines_that_compute_in_other_numbers_are_apart(tmp_path, monkeypatch):
    for numbers, accuracy in (("bf16", 0.7), ("fp32", 0.6)):
        monkeypatch.setattr(small_budget, "cpu_has_bf16", lambda numbers=numbers: numbers == "bf16")
        line = small_budget.Line("ours", 250, 5.0, 0, 0, 0, None, 1000, 4.9, 0.4, accuracy)
        small_budget.write(small_budget.path_of(tmp_path / "out", 5.0, 250, 0, "ours"), [line])
    small_budget_page.write_page(tmp_path / "out")
    page = (tmp_path / "small_budget.md").read_text(encoding="utf-8")
    fast, slow = page.split("## 250 labels, ")[1:]
    assert "| ours | 70.0 |" in fast
    assert "| ours | 60.0 |" in slow


def test_the_limit_is_a_row_of_every_table(tmp_path):
    for labels, accuracy in ((250, 0.5), (4000, 0.8), (small_budget.ALL, 0.9)):
        line = small_budget.Line("labels only", labels, 5.0, 0, 0, 0, None, 1000, 4.9, 0.4, accuracy)
        small_budget.write(tmp_path / "out" / "cells" / "bf16" / f"{labels}.csv", [line])
    small_budget_page.write_page(tmp_path / "out")
    page = (tmp_path / "small_budget.md").read_text(encoding="utf-8")
    assert page.count("| all 45,000 labels | 90.0 |") == 2
    assert "## 45,000 labels" not in page
