"""Asking a finished run once more: what to label next, in another number."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from curriculum_labeling.runs.directory import SUGGESTIONS, Run
from curriculum_labeling.runs.finished import read_rounds
from curriculum_labeling.runs.fit import check_rows, choose_way, load_images
from curriculum_labeling.runs.kept import SCORES, read_scores
from curriculum_labeling.runs.ledger import history
from curriculum_labeling.runs.sources import read_corrections
from curriculum_labeling.runs.stages import show_nothing
from curriculum_labeling.runs.start import read_job
from curriculum_labeling.runs.stopping import StopRequest
from curriculum_labeling.runs.tables import suggest_rows, write_suggestions


def suggest_again(run: Run, number: int, out: Path | None) -> tuple[Path, int]:
    """Write that many suggestions; where they went, and how many there are."""
    job = read_job(run, show=show_nothing, stop=StopRequest())
    images = load_images(job)
    _, features = choose_way(job, images)
    rows = check_rows(job, images, features)
    last, delivered = read_rounds(run)
    known = len(images.classes)
    kept = [read_scores(run.round_folder(t) / SCORES, rows.unlabeled, known) for t in range(last + 1)]
    _, flips = history([one.scores.classes for one in kept], [one.selected for one in kept])
    foreign = np.isin(rows.unlabeled, rows.check.foreign)
    scores = kept[delivered].scores
    found = suggest_rows(rows, scores, flips, foreign, number)
    paths = images.paths or ()
    path = out or run / SUGGESTIONS
    _check_unchanged(path, {paths[row]: images.classes[c] for row, c in zip(scores.rows, scores.classes, strict=True)})
    write_suggestions(path, found, scores, paths, images.classes)
    return path, len(found)


def _check_unchanged(path: Path, told: dict[str, str]) -> None:
    """Refuse to write over labels that somebody has filled in: all that may be lost is what the model said."""
    try:
        lines = read_corrections(path) if path.exists() else []
    except ValueError:  # not one of our tables
        return
    filled = [file for file, label in lines if label and label != told.get(file, label)]
    if filled:
        raise ValueError(
            f"{path} has labels that were filled in ({len(filled)}, such as that of {filled[0]}) and would be written "
            f"over; give them to `curriculum fit --continue`, or name another file with --out."
        )
