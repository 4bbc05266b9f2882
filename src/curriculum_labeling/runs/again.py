"""Asking a finished run once more: what to label next, in another number."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from curriculum_labeling.runs.directory import SUGGESTIONS, Run
from curriculum_labeling.runs.finished import read_rounds
from curriculum_labeling.runs.fit import check_rows, choose_way, load_images
from curriculum_labeling.runs.kept import SCORES, read_scores
from curriculum_labeling.runs.ledger import history
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
    path = out or run / SUGGESTIONS
    write_suggestions(path, found, scores, images.paths or (), images.classes)
    return path, len(found)
