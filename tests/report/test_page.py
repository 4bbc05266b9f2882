import json
import re
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

from curriculum_labeling.report import write_report
from tests.report.runs import HOSTILE, change

SECTIONS = (
    "verdict",
    "accuracy",
    "moves",
    "confidence",
    "balance",
    "confusion",
    "calibration",
    "gallery",
    "next",
    "warnings",
    "foreign",
    "duplicates",
    "unreadable",
    "sample",
    "reproduce",
)


class Page(HTMLParser):
    """Ids, tags, links to elsewhere and visible text of a page."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.tags, self.attributes, self.words = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.ids += [value for key, value in attrs if key == "id"]
        self.attributes += attrs

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return re.sub(r"\s+", " ", "".join(self.words)).replace("\u00a0", " ")


def read(run):
    return Page(write_report(run).read_text(encoding="utf-8"))


def test_every_section_is_there_once(run):
    page = read(run)
    assert set(SECTIONS) <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))


def test_every_kind_of_picture_can_be_asked_for(run):
    page = write_report(run).read_text(encoding="utf-8")
    shown = set(re.findall(r'data-kind="([^"]+)"', page)) - {"foreign"}  # outside of the gallery
    choices = page.partition('<select name="kind">')[2].partition("</select>")[0]
    assert len(shown) == 3
    assert shown == set(re.findall("<option>([^<]+)</option>", choices))


def test_nothing_is_loaded_from_elsewhere(run):
    page = read(run)
    assert page.tags.count("script") == 1
    assert {"link", "img", "iframe", "object", "embed"}.isdisjoint(page.tags)
    assert not [key for key, _ in page.attributes if key.startswith("on") or key == "src"]
    links = {value for key, value in page.attributes if key in ("href", "xlink:href")}
    assert all(link.startswith("#") for link in links)
    assert any(
        key == "content" and value.startswith("default-src 'none'; img-src data:") for key, value in page.attributes
    )


def test_the_report_needs_no_torch():
    code = "import curriculum_labeling.report, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_hostile_names_are_text(run):
    change(run / "config.json", command=f"curriculum fit {HOSTILE} </pre>")
    text = write_report(run).read_text(encoding="utf-8")
    assert HOSTILE not in text
    assert HOSTILE in Page(text).text


def test_the_report_is_replaced_whole_and_the_same_each_time(run):
    first = write_report(run).read_bytes()
    assert write_report(run) == run / "report.html"
    assert (run / "report.html").read_bytes() == first
    assert not list(run.glob(".*.tmp"))


def test_without_held_out_labels_the_report_says_so(run):
    (run / "held_out.json").write_text('{"rows": []}')
    for path in (run / "rounds").glob("*/metrics.json"):
        change(path, held_out=None, truth_accuracy=None, pseudo_accuracy=None)
    change(run / "images.json", truth=None)
    change(run / "outcome.json", gain=None, calibration=None)
    text = read(run).text
    assert "No labels were held out, so accuracy was not measured." in text
    assert "mistakes cannot be counted" in text
    assert "Read them as a ranking, not as probabilities." in text
    assert "true class" not in text


def test_a_run_that_was_interrupted_says_what_is_missing(run):
    for name in ("outcome.json", "held_out.json", "ledger.csv", "suggestions.csv", "check.json"):
        (run / name).unlink()
    for path in (run / "rounds").glob("[1-5]/metrics.json"):
        path.unlink()
    page = read(run)
    assert "This run has no verdict yet: 1 round finished so far." in page.text
    assert "This run did not finish." in page.text
    assert "no unlabeled image has been taken" in page.text
    assert "No ledger was written yet" in page.text
    assert "The data were not checked." in page.text
    assert set(SECTIONS) <= set(page.ids)


def test_a_run_without_any_round_still_has_a_report(run):
    for path in (run / "rounds").glob("*/metrics.json"):
        path.unlink()
    for name in ("outcome.json", "held_out.json"):
        (run / name).unlink()
    assert "No round has finished yet." in read(run).text


def test_without_the_cache_all_but_the_pictures_is_there(run):
    next((run / "cache").glob("*/pixels.npy")).unlink()
    page = read(run)
    assert "The image cache of this run is gone" in page.text
    assert "no image" in page.text


def test_nothing_odd_is_said_plainly(run):
    change(run / "images.json", unreadable=[])
    change(run / "check.json", warnings=[])
    (run / "suggestions.csv").unlink()
    ledger = run / "ledger.csv"
    lines = ledger.read_text(encoding="utf-8").splitlines()
    changed = [lines[0], *(f"{line.rsplit(',', 2)[0]},," for line in lines[1:]), ""]
    ledger.write_text("\n".join(changed), encoding="utf-8")
    text = read(run).text
    assert "Every file could be read." in text
    assert "the check found nothing to warn of" in text
    assert "There are no suggestions." in text
    assert "No image was flagged as unlike your labels." in text
    assert "No unlabeled image was found to repeat another." in text


def test_a_hundred_classes_stay_readable(run):
    names = [f"class {c:02d}" for c in range(100)]
    old = json.loads((run / "config.json").read_text())["classes"]
    change(run / "config.json", classes=[*old, *names[10:]])
    for path in (run / "rounds").glob("*/metrics.json"):
        metrics = json.loads(path.read_text())
        change(path, **{key: metrics[key] + [0] * 90 for key in ("class_counts", "labeled_counts")})
    page = read(run)
    assert "The other 80 classes" in page.text
    assert "The 100 classes by number" in page.text
    assert "The delivered model gives this label to no image." in page.text
    assert len(page.text) < 200_000


@pytest.mark.parametrize("bad", ["\udc80.png", "\u202eevil.png", "a\u0000b.png"])
def test_paths_that_are_no_plain_text_do_not_break_the_page(run, bad):
    images = json.loads((run / "images.json").read_text())
    images["unreadable"] = [{"path": bad, "reason": "not an image"}]
    change(run / "images.json", **images)
    assert "not an image" in read(run).text


def test_a_threshold_that_let_nothing_in_is_a_dash(run):
    change(run / "rounds" / "1" / "metrics.json", threshold=float("inf"), selected=0)
    scores = run / "rounds" / "1" / "scores.npz"
    with np.load(scores) as stored:
        arrays = dict(stored)
    np.savez(scores, **{**arrays, "selected": arrays["selected"] & False})
    assert "0 taken" in read(run).text
