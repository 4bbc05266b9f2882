import re

import numpy as np
import pytest

from curriculum_labeling.report.files import read_table
from curriculum_labeling.report.read import read_run
from tests.report.runs import change


def test_a_run_is_read_whole(finished_run):
    run = read_run(finished_run)
    assert [one.number for one in run.rounds] == [0, 1, 2, 3, 4, 5]
    assert run.delivered is run.rounds[5]
    assert run.held_out.predicted.shape == (6, 60)
    assert len(run.ledger) == len(run.rows.unlabeled) == 400
    assert len(run.suggestions) == 30


@pytest.mark.parametrize("name", ["config.json", "images.json"])
def test_what_the_report_cannot_do_without_is_named(run, name):
    (run / name).unlink()
    with pytest.raises(ValueError, match=rf"{name} must be there, got none"):
        read_run(run)


@pytest.mark.parametrize("name", ["config.json", "outcome.json", "rounds/1/metrics.json"])
def test_a_damaged_file_is_named(run, name):
    (run / name).write_text("{")
    with pytest.raises(ValueError, match=rf"{name} must be a JSON file, got one that cannot be read"):
        read_run(run)


@pytest.mark.parametrize(
    ("name", "fields", "message"),
    [
        ("config.json", {"classes": []}, '"classes" must be a list of at least one class name, got an empty list'),
        ("config.json", {"classes": [1]}, '"classes" must be a list of str, got 1'),
        ("images.json", {"unlabeled": [9999]}, '"unlabeled" must be numbers from 0 to 559, got 9999 to 9999'),
        ("images.json", {"truth": [0]}, '"truth" must be a list of 560 numbers, got 1 of them'),
        ("rounds/2/metrics.json", {"selected": "x"}, '"selected" must be a whole number, got x'),
        ("rounds/2/metrics.json", {"threshold": True}, '"threshold" must be a number or null, got True'),
        ("rounds/2/metrics.json", {"held_out": 3}, '"held_out" must be an object or null, got 3'),
        (
            "held_out.json",
            {"predicted": [[0]] * 6},
            '"predicted" must be 6 lists of 60 numbers, got lists of other lengths',
        ),
        ("held_out.json", {"confidence": [[0.5] * 60]}, '"confidence" must be 6 lists of 60 numbers, got 1 lists'),
        ("held_out.json", {"predicted": [[77] * 60] * 6}, '"predicted" must be classes from 0 to 9, got 77 to 77'),
        ("check.json", {"warnings": "many"}, '"warnings" must be a list, got many'),
    ],
)
def test_a_wrong_field_is_named_with_its_file(run, name, fields, message):
    change(run / name, **fields)
    with pytest.raises(ValueError, match=re.escape(f"{name}: {message}")):
        read_run(run)


def test_a_json_file_that_is_no_object_is_refused(run):
    (run / "outcome.json").write_text("[]")
    with pytest.raises(ValueError, match=r"outcome.json must hold a JSON object, got list"):
        read_run(run)


def test_scores_of_another_length_are_refused(run):
    path = run / "rounds" / "1" / "scores.npz"
    with np.load(path) as stored:
        np.savez(path.with_name("short.npz"), **{key: value[:5] for key, value in stored.items()})
    path.with_name("short.npz").replace(path)
    with pytest.raises(ValueError, match=r"one entry per unlabeled image \(400\), got shape \(5,\)"):
        read_run(run)


def test_scores_that_are_no_archive_are_refused(run):
    (run / "rounds" / "1" / "scores.npz").write_bytes(b"PK\x03\x04 no archive")
    with pytest.raises(ValueError, match=r"scores.npz must hold the scores of a round, got a fault"):
        read_run(run)


def test_scores_of_unknown_classes_are_refused(run):
    path = run / "rounds" / "1" / "scores.npz"
    with np.load(path) as stored:
        arrays = dict(stored)
    np.savez(path, **{**arrays, "classes": arrays["classes"] + 10})
    with pytest.raises(ValueError, match=r"scores.npz: classes must be classes from 0 to 9, got others"):
        read_run(run)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("path,label", "file,label", r"ledger.csv must have the column 'path'"),
        (".png,six,", ".png,unknown class,", r"label must be a class of config.json, got 'unknown class' in line \d+"),
        ("0559.png", "nowhere.png", r"path must be an unlabeled image of images.json, got '.*nowhere.png' in line 401"),
    ],
)
def test_a_wrong_line_of_the_ledger_is_named(run, old, new, message):
    path = run / "ledger.csv"
    path.write_text(path.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        read_run(run)


def test_a_ledger_entry_that_is_no_number_is_named(run):
    (run / "suggestions.csv").write_text("path,label,confidence,reason\na.png,six,sure,why\n")
    with pytest.raises(ValueError, match=r"confidence must be a number, got 'sure' in line 2"):
        read_run(run)


def test_the_order_of_the_ledger_does_not_matter(run):
    before = read_run(run).ledger
    path = run / "ledger.csv"
    head, *lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([head, *reversed(lines)]) + "\n", encoding="utf-8")
    after = read_run(run).ledger
    assert (after.rows[::-1] == before.rows).all()
    assert (after.labels[::-1] == before.labels).all()


def test_a_run_that_has_only_started_has_no_rounds_yet(run):
    for name in ("outcome.json", "held_out.json", "ledger.csv", "suggestions.csv", "check.json"):
        (run / name).unlink()
    for path in (run / "rounds").glob("*/metrics.json"):
        path.unlink()
    started = read_run(run)
    assert started.rounds == ()
    assert started.ledger is None
    assert not started.outcome.finished


def test_what_the_check_found_is_read_as_sentences(run):
    change(run / "check.json", errors=["One class only."], warnings=["Few labels."])
    check = read_run(run).check
    assert check.errors == ("One class only.",)
    assert check.warnings == ("Few labels.",)


def test_a_table_that_ends_within_a_line_is_refused(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(b"path,reason\r\na.png,between cat and dog\r\n")
    assert read_table(path, ("path", "reason")) == {"path": ["a.png"], "reason": ["between cat and dog"]}
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(ValueError, match=r"must end with the end of a line, got one that was cut short"):
        read_table(path, ("path", "reason"))
