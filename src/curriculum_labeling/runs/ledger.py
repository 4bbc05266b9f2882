"""The ledger: one line per unlabeled image, the product as much as the model is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from curriculum_labeling.data.atomic import write_atomically
from curriculum_labeling.labels import BoolArray, FloatArray, IntArray, Scores
from curriculum_labeling.runs.csv_cells import csv_line, safe_cell

HEADER = (
    "path",
    "label",
    "confidence",
    "runner_up",
    "runner_up_confidence",
    "probability",
    "first_round",
    "flips",
    "foreign",
    "duplicate_of",
)
SUGGESTIONS_HEADER = ("path", "label", "confidence", "reason")


@dataclass(frozen=True, eq=False)
class Ledger:
    """Columns over the unlabeled rows, in their order.

    `first_round` is 0 for a row that was never accepted; `foreign` goes from 0 to 1, and from 0.99 on a
    row looks unlike anything labeled; `duplicate_of` is a row number, -1 for none.
    """

    scores: Scores
    probability: FloatArray
    first_round: IntArray
    flips: IntArray
    foreign: FloatArray
    duplicate_of: IntArray


def history(predicted: list[IntArray], selected: list[BoolArray]) -> tuple[IntArray, IntArray]:
    """The round each row first entered (0: never) and how often its class changed from model to model."""
    n = len(predicted[0])
    first, flips = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    for t in range(1, len(predicted)):
        first[(first == 0) & selected[t]] = t
        flips += predicted[t] != predicted[t - 1]
    return first, flips


def write_ledger(path: Path, ledger: Ledger, paths: tuple[str, ...], classes: tuple[str, ...]) -> None:
    """Write the ledger as CSV; no cell can be taken for a formula."""
    s = ledger.scores
    lines = (
        (
            safe_cell(paths[s.rows[i]]),
            safe_cell(classes[s.classes[i]]),
            f"{s.confidence[i]:.6f}",
            safe_cell(classes[s.runner_up[i]]),
            f"{s.runner_up_confidence[i]:.6f}",
            f"{ledger.probability[i]:.6f}",
            ledger.first_round[i] or "",
            ledger.flips[i],
            f"{ledger.foreign[i]:.4f}",
            safe_cell(paths[ledger.duplicate_of[i]]) if ledger.duplicate_of[i] >= 0 else "",
        )
        for i in range(len(s))
    )
    write_csv(path, HEADER, lines)


def write_csv(path: Path, header: Iterable[str], lines: Iterable[Iterable[object]]) -> None:
    """Write a CSV file whole."""
    text = "".join([csv_line(header), *map(csv_line, lines)])
    write_atomically(path, text.encode("utf-8", "surrogateescape"))
