"""A finished or interrupted run as one frozen value, read from its directory and checked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curriculum_labeling.labels import BoolArray, FloatArray, IntArray
from curriculum_labeling.report.files import LARGEST, Record, read_arrays, read_record, read_record_if_any
from curriculum_labeling.report.ledger import Ledger, Suggestion, read_ledger, read_suggestions

SCORES = {"classes": "iu", "log_confidence": "f", "selected": "b", "selected_classes": "iu"}


@dataclass(frozen=True)
class Fault:
    """A file that could not be read as an image, and why."""

    path: str
    reason: str


@dataclass(frozen=True, eq=False)
class Rows:
    """Every image of the run in one index space, and where its pixels are."""

    paths: tuple[str, ...]
    truth: IntArray | None
    labeled: IntArray
    unlabeled: IntArray
    unreadable: tuple[Fault, ...]
    cache: Path
    resolution: int


@dataclass(frozen=True)
class Accuracy:
    """Correct of n held-out labels, with the 95 % interval of their share."""

    correct: int
    n: int
    accuracy: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class RoundScores:
    """What the model of a round thinks of the unlabeled images, and which of them it was trained on."""

    classes: IntArray
    confidence: FloatArray
    selected: BoolArray
    selected_classes: IntArray


@dataclass(frozen=True, eq=False)
class RoundRecord:
    """One round: what it was trained on and how it did."""

    number: int
    percentile: float | None
    threshold: float | None
    selected: int
    entered: int
    left: int
    flipped: int
    class_counts: IntArray
    labeled_counts: IntArray
    held_out: Accuracy | None
    truth_accuracy: float | None
    pseudo_accuracy: float | None
    seconds: float | None
    scores: RoundScores | None


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Labels that were set aside, and what each round said of them: shapes (n,) and (rounds, n)."""

    rows: IntArray
    classes: IntArray
    predicted: IntArray
    confidence: FloatArray
    how: str


@dataclass(frozen=True)
class Outcome:
    """Which round was delivered, why, and what it gained over labels only."""

    delivered: int
    why: str
    verdict: str
    gain: dict[str, float | None]
    temperature: float | None
    calibrated_how: str
    seconds: float | None
    finished: bool


@dataclass(frozen=True)
class Check:
    """What the data check found worth saying, a sentence each."""

    errors: tuple[str, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Run:
    """All that the report shows."""

    folder: Path
    config: dict[str, Any]
    classes: tuple[str, ...]
    rows: Rows
    rounds: tuple[RoundRecord, ...]
    held_out: HeldOut | None
    outcome: Outcome
    check: Check | None
    ledger: Ledger | None
    suggestions: tuple[Suggestion, ...]

    @property
    def delivered(self) -> RoundRecord | None:
        """The round whose model was delivered, if it left its numbers."""
        return next((one for one in self.rounds if one.number == self.outcome.delivered), None)

    def truth_of_unlabeled(self) -> IntArray | None:
        """The known class of each unlabeled image, -1 where unknown; None where none is known."""
        truth = None if self.rows.truth is None else self.rows.truth[self.rows.unlabeled]
        return truth if truth is not None and (truth >= 0).any() else None


def read_run(folder: Path) -> Run:
    """Read a run directory; config.json and images.json must be there, the rest is shown where it is."""
    config = read_record(folder / "config.json")
    classes = tuple(config.listed("classes", str))
    if not classes:
        raise config.fault("classes", "a list of at least one class name", "an empty list")
    rows = _read_rows(folder, len(classes))
    rounds = _read_rounds(folder, classes, len(rows.unlabeled))
    return Run(
        folder=folder,
        config=config.values,
        classes=classes,
        rows=rows,
        rounds=rounds,
        held_out=_read_held_out(folder / "held_out.json", rows, len(classes), len(rounds)),
        outcome=_read_outcome(folder / "outcome.json", rounds),
        check=_read_check(folder / "check.json"),
        ledger=read_ledger(folder / "ledger.csv", rows.paths, rows.unlabeled, classes),
        suggestions=read_suggestions(folder / "suggestions.csv"),
    )


def _read_rows(folder: Path, classes: int) -> Rows:
    record = read_record(folder / "images.json")
    paths = record.listed("paths", str)
    n = len(paths)
    truth = None if record.values.get("truth") is None else record.codes("truth", n, classes, lowest=-1)
    return Rows(
        paths=tuple(paths),
        truth=truth,
        labeled=record.codes("labeled", None, n),
        unlabeled=record.codes("unlabeled", None, n),
        unreadable=tuple(
            Fault(str(one.get("path", "")), str(one.get("reason", ""))) for one in record.listed("unreadable", dict, [])
        ),
        cache=folder / record.text("cache", "cache"),
        resolution=record.whole("resolution", 0),
    )


def _read_rounds(folder: Path, classes: tuple[str, ...], unlabeled: int) -> tuple[RoundRecord, ...]:
    """Rounds that were finished: a round without metrics.json was interrupted."""
    found = [path for path in (folder / "rounds").glob("*/metrics.json") if path.parent.name.isdecimal()]
    rounds = (_read_round(path, len(classes), unlabeled) for path in found)
    return tuple(sorted(rounds, key=lambda one: one.number))


def _read_round(path: Path, classes: int, unlabeled: int) -> RoundRecord:
    record = read_record(path)
    return RoundRecord(
        number=record.whole("round"),
        percentile=record.number("percentile"),
        threshold=record.number("threshold"),
        selected=record.whole("selected", 0),
        entered=record.whole("entered", 0),
        left=record.whole("left", 0),
        flipped=record.whole("flipped", 0),
        class_counts=record.codes("class_counts", classes, np.iinfo(np.int64).max),
        labeled_counts=record.codes("labeled_counts", classes, np.iinfo(np.int64).max),
        held_out=_read_accuracy(record.record("held_out")),
        truth_accuracy=record.number("truth_accuracy"),
        pseudo_accuracy=record.number("pseudo_accuracy"),
        seconds=record.number("seconds"),
        scores=_read_scores(path.with_name("scores.npz"), classes, unlabeled),
    )


def _read_accuracy(record: Record | None) -> Accuracy | None:
    if record is None or record.whole("n", 0) == 0:
        return None
    correct, n = record.whole("correct"), record.whole("n")
    accuracy, low, high = (record.number(key) for key in ("accuracy", "low", "high"))
    share = correct / n if accuracy is None else accuracy
    return Accuracy(correct, n, share, share if low is None else low, share if high is None else high)


def _read_scores(path: Path, classes: int, unlabeled: int) -> RoundScores | None:
    arrays = read_arrays(path, SCORES, unlabeled)
    if arrays is None:
        return None
    for name in ("classes", "selected_classes"):
        if unlabeled and not (arrays[name].min() >= -1 and arrays[name].max() < classes):
            raise ValueError(f"{path}: {name} must be classes from 0 to {classes - 1}, got others; run fit again.")
    return RoundScores(
        arrays["classes"].astype(np.int64),
        np.exp(np.minimum(arrays["log_confidence"].astype(np.float64), 0.0)),
        arrays["selected"].astype(bool),
        arrays["selected_classes"].astype(np.int64),
    )


def _read_held_out(path: Path, rows: Rows, classes: int, rounds: int) -> HeldOut | None:
    record = read_record_if_any(path)
    if record is None or not record.values.get("rows"):
        return None
    held = record.codes("rows", None, len(rows.paths))
    shape = (rounds, len(held))
    predicted = _per_round(record, "predicted", shape).astype(np.int64)
    if predicted.size and not (predicted.min() >= 0 and predicted.max() < classes):
        raise record.fault("predicted", f"classes from 0 to {classes - 1}", f"{predicted.min()} to {predicted.max()}")
    given = record.codes("classes", len(held), classes)
    return HeldOut(held, given, predicted, _per_round(record, "confidence", shape), record.text("how"))


def _per_round(record: Record, key: str, shape: tuple[int, int]) -> NDArray[np.float64]:
    """A table with a line per round; lines of rounds that were not finished are left out."""
    try:
        table = np.array(record.listed(key, list)[: shape[0]], dtype=np.float64).reshape(-1, shape[1])
    except (TypeError, ValueError, OverflowError) as error:
        raise record.fault(key, f"{shape[0]} lists of {shape[1]} numbers", "lists of other lengths") from error
    if not (np.abs(table) < LARGEST).all():
        raise record.fault(key, "lists of finite numbers", "others")
    if table.shape != shape:
        raise record.fault(key, f"{shape[0]} lists of {shape[1]} numbers", f"{len(table)} lists")
    return table


def _read_outcome(path: Path, rounds: tuple[RoundRecord, ...]) -> Outcome:
    """How the run ended; where it did not, its last round so far."""
    last = rounds[-1].number if rounds else 0
    record = read_record_if_any(path)
    if record is None:
        return Outcome(last, "", "", {}, None, "", None, finished=False)
    gain, calibration = record.record("gain"), record.record("calibration")
    return Outcome(
        delivered=record.whole("delivered", last),
        why=record.text("why"),
        verdict=record.text("verdict"),
        gain={} if gain is None else {key: gain.number(key) for key in ("estimate", "low", "high", "n", "round")},
        temperature=None if calibration is None else calibration.number("temperature"),
        calibrated_how="" if calibration is None else calibration.text("how"),
        seconds=record.number("seconds"),
        finished=bool(record.values.get("finished", False)),
    )


def _read_check(path: Path) -> Check | None:
    record = read_record_if_any(path)
    if record is None:
        return None
    return Check(tuple(record.listed("errors", str, [])), tuple(record.listed("warnings", str, [])))
