"""What a run writes down, as JSON: its images, each round, and what held-out labels said."""

from __future__ import annotations

from typing import Any

import numpy as np

from curriculum_labeling.data.cache import Cached
from curriculum_labeling.data.images import Images
from curriculum_labeling.data.typed import fits
from curriculum_labeling.estimators.learner import softmax
from curriculum_labeling.labels import BoolArray, IntArray, Round
from curriculum_labeling.runs.courses import HeldOut
from curriculum_labeling.runs.directory import IMAGES, Run, RunError
from curriculum_labeling.runs.outcome import accuracy_interval

KINDS: dict[str, Any] = {
    "paths": tuple[str, ...],
    "labels": tuple[int, ...],
    "truth": tuple[int, ...] | None,
    "unreadable": tuple[dict[str, str], ...],
}


def check_readable(images: Images) -> None:
    """Refuse to go on where unreadable files left too little."""
    counts = np.bincount(images.labels[images.labels >= 0], minlength=len(images.classes))
    if (few := np.flatnonzero(counts < 2)).size:
        raise ValueError(
            f"every class must have two labeled images that can be read, got {counts[few[0]]} of "
            f"{images.classes[few[0]]!r}; repair its files or label others."
        )
    if not (images.labels < 0).any():
        raise ValueError("UNLABELED must hold images that can be read, got none; check the files and their formats.")


def read_images(run: Run) -> dict[str, Any]:
    """The record of the images of a run, with all that it must have."""
    record = run.read(IMAGES)
    if wrong := [key for key, kind in KINDS.items() if key not in record or not fits(record[key], kind)]:
        raise RunError(f"{run / IMAGES} is damaged (it has no {wrong[0]}); restore it, or fit again.")
    rows, truth = len(record["paths"]), record["truth"]
    if len(record["labels"]) != rows or (truth is not None and len(truth) != rows):
        raise RunError(f"{run / IMAGES} is damaged (its lists differ in length); restore it, or fit again.")
    if any(not {"path", "reason"} <= set(one) for one in record["unreadable"]):
        raise RunError(f"{run / IMAGES} is damaged (a file is unreadable without reason); restore it, or fit again.")
    return record


def check_unchanged(images: Images, record: dict[str, Any]) -> None:
    """Refuse to go on with other images than the run began with: its row numbers would mean other files."""
    now, then = set(images.paths or ()), list(record["paths"])
    gone = [path for path in then if path not in now]
    if gone or len(now) != len(then):
        which = f"{gone[0]} cannot be read any more" if gone else f"{len(now) - len(then)} could not be read then"
        raise ValueError(
            f"the images have changed since this run began: {which}; put them back as they were, or fit again."
        )


def images_record(cached: Cached, truth: IntArray | None, cache_folder: str, resolution: int) -> dict[str, Any]:
    """Every row's file and label, and what could not be read."""
    images = cached.images
    return {
        "paths": list(images.paths or ()),
        "labels": images.labels.tolist(),
        "truth": None if truth is None else truth.tolist(),
        "labeled": np.flatnonzero(images.labels >= 0).tolist(),
        "unlabeled": np.flatnonzero(images.labels < 0).tolist(),
        "unreadable": [{"path": one.path, "reason": one.reason} for one in cached.unreadable],
        "cache": cache_folder,
        "resolution": resolution,
        "flippable": images.flippable,
    }


def round_record(found: Round, unlabeled: IntArray, truth: IntArray | None, classes: int) -> dict[str, Any]:
    """The numbers of one round."""
    labels = found.labels
    scores = found.model.score(unlabeled)
    return {
        "round": found.number,
        "percentile": found.percentile,
        "threshold": found.threshold if found.threshold is not None and np.isfinite(found.threshold) else None,
        "selected": found.selected,
        "entered": found.entered,
        "left": found.left,
        "flipped": found.flipped,
        "class_counts": np.bincount(labels.pseudo_classes, minlength=classes).tolist(),
        "labeled_counts": np.bincount(labels.classes[: labels.given], minlength=classes).tolist(),
        "held_out": None,
        "truth_accuracy": None if truth is None else _agreement(scores.classes, truth[unlabeled]),
        "pseudo_accuracy": None if truth is None else _agreement(labels.pseudo_classes, truth[labels.pseudo_rows]),
    }


def held_out_record(held_out: HeldOut | None) -> dict[str, Any]:
    """What each round's models said of the held-out labels."""
    if held_out is None:
        return {"rows": [], "classes": [], "predicted": [], "confidence": [], "how": "none"}
    probabilities = [softmax(logits) for logits in held_out.logits]
    return {
        "rows": held_out.rows.tolist(),
        "classes": held_out.classes.tolist(),
        "predicted": [p.argmax(axis=1).tolist() for p in probabilities],
        "confidence": [p.max(axis=1).tolist() for p in probabilities],
        "how": held_out.how,
    }


def add_held_out(run: Run, held_out: HeldOut | None) -> None:
    """Put the held-out accuracy of every round beside its other numbers."""
    if held_out is None:
        return
    for t, correct in enumerate(held_out.correct):
        name = f"rounds/{t}/metrics.json"
        run.write(name, {**run.read(name), "held_out": _share(correct)})


def _share(correct: BoolArray) -> dict[str, Any]:
    k, n = int(correct.sum()), len(correct)
    low, high = accuracy_interval(k, n)
    return {"correct": k, "n": n, "accuracy": k / n, "low": low, "high": high}


def _agreement(found: IntArray, truth: IntArray) -> float | None:
    known = truth >= 0
    return float((found[known] == truth[known]).mean()) if known.any() else None
