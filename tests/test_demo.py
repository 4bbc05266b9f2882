"""The demo: digits as files, through the whole of a fit."""

import csv
import json

import pytest
from rich.console import Console

from curriculum_labeling import demo
from curriculum_labeling.data.toys import digits_images


def test_digits_become_files_with_their_classes_known(tmp_path):
    labeled, unlabeled, truth = demo.write_digits(digits_images(), tmp_path)
    assert [len(list(folder.iterdir())) for folder in sorted(labeled.iterdir())] == [5] * 10
    assert len(list(unlabeled.iterdir())) == demo.UNLABELED
    with open(truth, newline="") as file:
        lines = list(csv.reader(file))
    assert len(lines) == demo.UNLABELED + 1
    assert all((tmp_path / path).is_file() for path, _ in lines[1:])


def test_the_demo_ends_with_a_report(tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "UNLABELED", 60)
    monkeypatch.setattr(demo, "PASSES", 0.5)
    console = Console(record=True, width=200)
    assert demo.run_demo(console, tmp_path / "out", force=False) == 0
    shown = console.export_text()
    assert "report.html" in shown
    assert (tmp_path / "out/run/report.html").is_file()
    delivered = json.loads((tmp_path / "out/run/outcome.json").read_text())["delivered"]
    metrics = [tmp_path / f"out/run/rounds/{t}/metrics.json" for t in (0, delivered)]
    only, right = (json.loads(path.read_text())["truth_accuracy"] for path in metrics)
    compared = f" (labels only: {100 * only:.1f}\u00a0%)" if delivered else ""
    assert f"whose class --truth knows, {100 * right:.1f}\u00a0% are right{compared}." in shown
    with pytest.raises(ValueError, match=r"already holds a demo; choose another --out, or replace it with --force"):
        demo.run_demo(console, tmp_path / "out", force=False)


def test_other_files_are_never_replaced_by_a_demo(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(ValueError, match=r"--out must be a new or empty folder, got .*which holds other files"):
        demo.run_demo(Console(), tmp_path, force=True)
