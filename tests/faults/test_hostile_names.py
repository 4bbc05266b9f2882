"""Classes and files called anything at all: text in the report, in tables and on the screen, never more."""

import csv
import json
import os
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from curriculum_labeling.cli import main
from curriculum_labeling.labels import Scores
from curriculum_labeling.report.page import write_report
from curriculum_labeling.runs.csv_cells import plain_cell, safe_cell
from curriculum_labeling.runs.directory import Run
from curriculum_labeling.runs.ledger import Ledger, write_ledger
from curriculum_labeling.runs.predictions_csv import write_predictions
from curriculum_labeling.vision.predict import Prediction
from tests.report.runs import digits_run
from tests.test_cli import QUICK, fit, lay_out

NOT_TEXT = b"caf\xe9\xff".decode("utf-8", "surrogateescape")
NAMES = (
    "<script>alert(1)</script>",
    '" onmouseover="alert(1)',
    "'><img src=x onerror=alert(1)>",
    "</style></title><svg/onload=alert(1)>",
    "=cmd|' /C calc'!A0",
    "+1+1",
    "@SUM(1)",
    "‮gnp.elif‬",
    "{{ 7 * 7 }}{% raise %}",
    NOT_TEXT,
    "$x^2$ \\frac{",
    "a\x1b[31mred",
)
FORMULA = re.compile(r"^\s*[=+\-@\t\r]")


class Page(HTMLParser):
    """What a browser would see of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.handlers, self.words = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.handlers += [name for name, _ in attributes if name.startswith("on")]

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The report of a run whose classes are called as above, and whose files are too."""
    folder = tmp_path_factory.mktemp("names") / "run"
    names = tuple(name for name in NAMES if name != NOT_TEXT)[:10]
    digits_run(folder, names=names, given=20, held=10, unlabeled=40, percentiles=(0.0,))
    record = json.loads((folder / "images.json").read_text())
    for path, name in zip(record["paths"][30:], NAMES, strict=False):
        record["paths"][record["paths"].index(path)] = f"/photos/{name}"
        for file in ("ledger.csv", "suggestions.csv"):
            text = (folder / file).read_text(errors="surrogateescape")
            (folder / file).write_text(text.replace(path, _cell(f"/photos/{name}")), errors="surrogateescape")
    (folder / "images.json").write_text(json.dumps(record))
    return write_report(folder).read_bytes()


def _cell(text):
    return '"' + text.replace('"', '""') + '"' if set(text) & set(',"\n') else text


def test_the_report_holds_names_as_text(report):
    page = Page(report.decode("utf-8"))
    assert page.tags.count("script") == 1
    assert not {"img", "iframe", "object", "embed", "link", "base", "meta-refresh"} & set(page.tags)
    assert not page.handlers
    words = "".join(page.words)
    for name in NAMES[:8]:
        assert name in words
    assert "49" not in re.sub(r"\d\d[\d.,%]|[\d.,]\d\d", "", words.split("{{ 7 * 7 }}")[0][-5:])


def test_the_report_isolates_text_that_runs_the_other_way(report):
    text = report.decode("utf-8")
    for place in re.finditer("‮gnp", text):
        before = text[: place.start()]
        within = re.search(r"<(bdi|option[^>]*|pre|li|span[^>]*)>[^<]*$|(title|aria-label)=\"[^\"]*$", before)
        assert within, before[-80:]


def test_the_report_can_be_opened_whatever_bytes_names_had(report):
    assert "\\udce9\\udcff" in report.decode("utf-8")


def test_no_cell_of_the_ledger_is_a_formula(tmp_path):
    n = len(NAMES)
    scores = Scores.from_logits(np.arange(n), np.eye(n) * 3)
    paths = tuple(f"{name}{suffix}" for name, suffix in zip(NAMES, ["", "\n=1", "\r=1", *[""] * n], strict=False))
    nothing = np.zeros(n, dtype=np.int64)
    write_ledger(
        tmp_path / "l.csv", Ledger(scores, scores.confidence, nothing, nothing, nothing, nothing - 1), paths, NAMES
    )
    with open(tmp_path / "l.csv", newline="", encoding="utf-8", errors="surrogateescape") as file:
        lines = list(csv.DictReader(file))
    assert [plain_cell(line["path"]) for line in lines] == list(paths)
    assert [plain_cell(line["label"]) for line in lines] == list(NAMES)
    assert not any(FORMULA.match(cell) for line in lines for cell in line.values())


def test_no_cell_of_the_predictions_is_a_formula(tmp_path):
    found = [Prediction(name, name, 0.5, name, 0.25) for name in NAMES] + [Prediction("a", error="=1+1")]
    write_predictions(tmp_path / "p.csv", found)
    with open(tmp_path / "p.csv", newline="", encoding="utf-8", errors="surrogateescape") as file:
        lines = list(csv.DictReader(file))
    assert [plain_cell(line["path"]) for line in lines] == [*NAMES, "a"]
    assert not any(FORMULA.match(cell) for line in lines for cell in line.values())


@pytest.mark.parametrize("text", [*NAMES, "'=1", "''=1", "\t=1", "＝1", "", "'", "-1"])
def test_a_guarded_cell_reads_back_exactly(text):
    assert plain_cell(safe_cell(text)) == text
    assert not FORMULA.match(safe_cell(text))


def test_json_of_a_run_takes_names_that_are_no_utf8(tmp_path):
    Run(tmp_path).write("a.json", {"paths": list(NAMES)})
    assert json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))["paths"] == list(NAMES)


def test_a_whole_run_with_hostile_names(tmp_path, capfd):
    folder = lay_out(tmp_path, classes=("=1+1", "‮x<b>", "last"), labeled=3, unlabeled=2)
    os.rename(folder / "labeled/last", folder / "labeled" / NOT_TEXT)
    names = ["a\nb\r=1;=1.png", "=cmd.png", "<img src=x>.png", f"{NOT_TEXT}.png", "\x1b[31m.png"]
    for file, name in zip(sorted((folder / "unlabeled").iterdir()), names, strict=False):
        os.rename(file, folder / "unlabeled" / name)
    (folder / "unlabeled" / f"broken{NOT_TEXT}\x1b[2J.png").write_bytes(b"no image")
    assert main(fit(folder, *QUICK, "--features", "none")) == 0
    run = folder / "run"
    page = Page((run / "report.html").read_text(encoding="utf-8"))
    assert "img" not in page.tags
    with open(run / "ledger.csv", newline="", encoding="utf-8", errors="surrogateescape") as file:
        found = {os.path.basename(plain_cell(line["path"])) for line in csv.DictReader(file)}
    assert set(names) <= found
    assert main(["predict", str(run), str(folder / "unlabeled")]) == 0
    corrected = "path,label\n" + f"unlabeled/{NOT_TEXT}.png,=1+1\n"
    (folder / "fixed.csv").write_bytes(corrected.encode("utf-8", "surrogateescape"))
    again = ["fit", "--continue", str(run), "--corrections", str(folder / "fixed.csv"), "--out", str(folder / "second")]
    assert main(again) == 0
    capfd.readouterr()
    assert main(["predict", str(run), str(folder / "no\x1b[31m such")]) == 2
    said = capfd.readouterr().err
    assert "\x1b" not in said
    assert said.count("\n") == 1
