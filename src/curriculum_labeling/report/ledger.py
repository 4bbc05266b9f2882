"""ledger.csv and suggestions.csv: the label of each unlabeled image, and which ones to label next."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from curriculum_labeling.labels import FloatArray, IntArray
from curriculum_labeling.report.files import column, read_table
from curriculum_labeling.runs.ledger import HEADER, SUGGESTIONS_HEADER

NEVER = -1


@dataclass(frozen=True, eq=False)
class Ledger:
    """The delivered labels: arrays over the lines of ledger.csv, `rows` in the run's index space.

    `first_round` is NEVER where no round accepted the image; `foreign` and `probability` are NaN
    where they were not computed; `order` is the place of each line among the unlabeled images.
    """

    rows: IntArray
    order: IntArray
    labels: IntArray
    confidence: FloatArray
    runner_up: tuple[str, ...]
    probability: FloatArray
    first_round: IntArray
    flips: IntArray
    foreign: FloatArray
    duplicate_of: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class Suggestion:
    """An image whose label would help, and why."""

    path: str
    label: str
    confidence: float
    reason: str


def read_ledger(path: Path, paths: tuple[str, ...], unlabeled: IntArray, classes: tuple[str, ...]) -> Ledger | None:
    """The ledger, whatever the order of its lines; None where it was not written."""
    table = read_table(path, HEADER)
    if table is None:
        return None
    place = {paths[row]: i for i, row in enumerate(unlabeled)}
    number = {name: c for c, name in enumerate(classes)}
    for i, (file, label) in enumerate(zip(table["path"], table["label"], strict=True)):
        if file not in place:
            raise ValueError(
                f"{path}: path must be an unlabeled image of images.json, got {file!r} in line {i + 2}; run fit again."
            )
        if label not in number:
            raise ValueError(
                f"{path}: label must be a class of config.json, got {label!r} in line {i + 2}; run fit again."
            )
    order = np.array([place[file] for file in table["path"]], dtype=np.int64)
    return Ledger(
        rows=unlabeled[order],
        order=order,
        labels=np.array([number[label] for label in table["label"]], dtype=np.int64),
        confidence=column(path, table, "confidence", empty=np.nan),
        runner_up=tuple(table["runner_up"]),
        probability=column(path, table, "probability", empty=np.nan),
        first_round=column(path, table, "first_round", empty=NEVER).astype(np.int64),
        flips=column(path, table, "flips", empty=0).astype(np.int64),
        foreign=column(path, table, "foreign", empty=np.nan),
        duplicate_of=tuple(table["duplicate_of"]),
    )


def read_suggestions(path: Path) -> tuple[Suggestion, ...]:
    """What to label next, in the order of the file; nothing where it was not written."""
    table = read_table(path, SUGGESTIONS_HEADER)
    if table is None:
        return ()
    confidence = column(path, table, "confidence", empty=np.nan).tolist()
    texts = (table[name] for name in ("path", "label", "reason"))
    return tuple(
        Suggestion(file, label, sure, reason) for file, label, reason, sure in zip(*texts, confidence, strict=True)
    )
