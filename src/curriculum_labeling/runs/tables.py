"""The tables of a finished run: the ledger, and what to label next."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from curriculum_labeling.estimators.learner import softmax
from curriculum_labeling.labels import BoolArray, FloatArray, IntArray, Scores
from curriculum_labeling.runs.csv_cells import safe_cell
from curriculum_labeling.runs.directory import LEDGER, SUGGESTIONS, Run
from curriculum_labeling.runs.kept import SCORES, read_scores
from curriculum_labeling.runs.ledger import SUGGESTIONS_HEADER, Ledger, history, write_csv, write_ledger
from curriculum_labeling.runs.outcome import Outcome
from curriculum_labeling.runs.rows import Rows
from curriculum_labeling.runs.suggest import Suggestion, suggest
from curriculum_labeling.runs.ways import CHUNK, Way

SUGGESTED = 50


def write_tables(run: Run, way: Way, model: Any, rows: Rows, outcome: Outcome) -> None:
    """Write ledger.csv and suggestions.csv."""
    paths, classes = rows.images.paths or (), rows.images.classes
    kept = [read_scores(run.round_folder(t) / SCORES, rows.unlabeled, len(classes)) for t in range(outcome.last + 1)]
    scores = kept[outcome.delivered].scores
    first, flips = history([one.scores.classes for one in kept], [one.selected for one in kept])
    probability = calibrated(way, model, scores, outcome.temperature)
    foreign = np.isin(rows.unlabeled, rows.check.foreign)
    strange = rows.check.foreign_scores[rows.unlabeled]
    ledger = Ledger(scores, probability, first, flips, strange, duplicates_of(rows))
    write_ledger(run / LEDGER, ledger, paths, classes)
    found = suggest_rows(rows, scores, flips, foreign, SUGGESTED)
    write_suggestions(run / SUGGESTIONS, found, scores, paths, classes)


def calibrated(way: Way, model: Any, scores: Scores, temperature: float) -> FloatArray:
    """The probability of each row's class after calibration, a chunk of rows at a time."""
    if temperature == 1.0:
        return scores.confidence
    parts = []
    for start in range(0, len(scores), CHUNK):
        chunk = slice(start, start + CHUNK)
        p = softmax(way.logits(model, scores.rows[chunk]) / temperature)
        parts.append(p[np.arange(len(p)), scores.classes[chunk]])
    return np.concatenate(parts)


def duplicates_of(rows: Rows) -> IntArray:
    """For each unlabeled row the first row of its group of duplicates, -1 where it is itself the first."""
    groups = rows.check.groups
    first = np.full(int(groups.max()) + 1, len(groups), dtype=np.int64)
    np.minimum.at(first, groups, np.arange(len(groups)))
    found: IntArray = first[groups[rows.unlabeled]]
    return np.where(found == rows.unlabeled, -1, found)


def suggest_rows(rows: Rows, scores: Scores, flips: IntArray, foreign: BoolArray, n: int) -> tuple[Suggestion, ...]:
    """The rows most worth a label."""
    return suggest(
        scores,
        n,
        features=rows.features,
        labeled=rows.labels.rows,
        classes=rows.images.classes,
        flips=flips,
        foreign=foreign,
        groups=rows.check.groups,
    )


def write_suggestions(
    path: Path, found: Iterable[Suggestion], scores: Scores, paths: tuple[str, ...], classes: tuple[str, ...]
) -> None:
    """Write suggestions, a file which may be filled in and given back with --corrections."""
    place = {int(row): i for i, row in enumerate(scores.rows)}
    lines = (
        (
            safe_cell(paths[one.row]),
            safe_cell(classes[scores.classes[place[one.row]]]),
            f"{scores.confidence[place[one.row]]:.6f}",
            safe_cell(one.reason),
        )
        for one in found
    )
    write_csv(path, SUGGESTIONS_HEADER, lines)
