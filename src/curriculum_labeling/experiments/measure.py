"""What a round of a cell reached: errors on test and validation rows, and how good its pseudo-labels are."""

from __future__ import annotations

import numpy as np

from curriculum_labeling.experiments.cells import Cell, passes_of
from curriculum_labeling.experiments.results import RoundResult
from curriculum_labeling.experiments.sources import Prepared
from curriculum_labeling.labels import IntArray, Round
from curriculum_labeling.vision.distributed import current_group
from curriculum_labeling.vision.learner import ImageModel

CHUNK = 2048
TOP = 5


def measure(found: Round, prepared: Prepared, cell: Cell) -> RoundResult:
    """All numbers of one round, the same in every process."""
    model, truth, labels = found.model, prepared.images.labels, found.labels
    assert isinstance(model, ImageModel)
    pseudo = truth[labels.pseudo_rows]
    top5 = top5_error(model, prepared, prepared.split.test) if cell.data == "imagenet" else None
    return RoundResult(
        found.number,
        test_error=error(model, truth, prepared.split.test),
        top5_error=top5,
        validation_error=error(model, truth, prepared.split.validation) if len(prepared.split.validation) else None,
        selected=found.selected,
        foreign=int((pseudo < 0).sum()),
        pseudo_accuracy=float((pseudo == labels.pseudo_classes).mean()) if found.selected else None,
        percentile=found.percentile,
        threshold=found.threshold if found.selected else None,
        entered=found.entered,
        left=found.left,
        flipped=found.flipped,
        seconds=model.seconds,
        passes=passes_of(cell, len(labels)),
    )


def error(model: ImageModel, truth: IntArray, rows: IntArray) -> float:
    """Share of these rows that the model gets wrong."""
    return float((model.score(rows).classes != truth[rows]).mean())


def top5_error(model: ImageModel, prepared: Prepared, rows: IntArray) -> float:
    """Share of these rows whose class is not among the five most likely ones; processes share the rows."""
    group = current_group()
    mine, right = rows[group.share(len(rows))], 0
    for start in range(0, len(mine), CHUNK):
        part = mine[start : start + CHUNK]
        logits = model.logits(prepared.images.pixels[part])
        best = np.argsort(-logits, axis=1, kind="stable")[:, :TOP]
        right += int((best == prepared.images.labels[part][:, None]).any(axis=1).sum())
    return 1 - int(group.add_counts(np.array([right], dtype=np.int64))[0]) / len(rows)
