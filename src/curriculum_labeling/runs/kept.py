"""Scores of a round, kept on disk: written when first computed, read back when a run goes on."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from curriculum_labeling.data.atomic import write_atomically
from curriculum_labeling.data.npz import read_npz
from curriculum_labeling.labels import BoolArray, IntArray, Labels, Learner, Model, Scores

SCORES = "scores.npz"
COLUMNS = {"classes": "i", "log_confidence": "f", "runner_up": "i", "runner_up_confidence": "f"}
SELECTED = {"selected": "b", "selected_classes": "i"}


@dataclass(frozen=True)
class KeptScores:
    """Scores of all unlabeled rows by a round's model, and which rows that round trained on, as which class."""

    scores: Scores
    selected: BoolArray
    selected_classes: IntArray


def read_scores(path: Path, unlabeled: IntArray, classes_known: int | None = None) -> KeptScores:
    """Scores as a round left them; a missing or damaged file is named."""
    try:
        found = read_npz(path, {**COLUMNS, **SELECTED}, most_bytes=16 * max(len(unlabeled), 1))
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} is missing or damaged ({error}); restore it, or fit again.") from error
    columns = list(found.values())
    if any(column.shape != unlabeled.shape for column in columns):
        raise ValueError(
            f"{path} must hold one score per unlabeled image ({len(unlabeled)}); restore it, or fit again."
        )
    classes, confidence, runner_up, second, selected, taken = columns
    for numbers, lowest in ((classes, 0), (runner_up, 0), (taken, -1)):
        if len(numbers) and (numbers.min() < lowest or numbers.max() >= (classes_known or np.inf)):
            raise ValueError(
                f"{path} must hold classes of this run, got {numbers.min()} to {numbers.max()}; fit again."
            )
    if np.isnan(confidence).any() or np.isnan(second).any():
        raise ValueError(f"{path} must hold numbers as confidences, got NaN; restore it, or fit again.")
    scores = Scores(unlabeled, classes.astype(np.int64), confidence, runner_up.astype(np.int64), second)
    return KeptScores(scores, selected, taken.astype(np.int64))


@dataclass
class KeptModel:
    """A model whose scores of the unlabeled rows are computed once."""

    model: Any
    unlabeled: IntArray
    path: Path
    labels: Labels

    def score(self, rows: IntArray) -> Scores:
        """Scores of these rows; those of all unlabeled rows are kept."""
        if rows is not self.unlabeled:
            return self._computed(rows)
        return self.kept() or self._keep(self._computed(rows))

    def kept(self) -> Scores | None:
        """What is on disk, or None where there is nothing whole: it is then computed again."""
        if not self.path.is_file():
            return None
        try:
            return read_scores(self.path, self.unlabeled).scores
        except ValueError:
            return None

    def _computed(self, rows: IntArray) -> Scores:
        model: Model = self.model
        return model.score(rows)

    def _keep(self, scores: Scores) -> Scores:
        taken = np.full(len(self.unlabeled), -1, dtype=np.int32)
        taken[np.searchsorted(self.unlabeled, self.labels.pseudo_rows)] = self.labels.pseudo_classes
        file = io.BytesIO()
        np.savez_compressed(
            file,
            classes=scores.classes.astype(np.int32),
            log_confidence=scores.log_confidence,
            runner_up=scores.runner_up.astype(np.int32),
            runner_up_confidence=scores.runner_up_confidence,
            selected=taken >= 0,
            selected_classes=taken,
        )
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(self.path, file.getvalue())
        return scores


@dataclass
class KeepingLearner:
    """A learner whose models keep their scores in folders numbered by round."""

    learner: Learner
    unlabeled: IntArray
    folder: Path
    rounds: int = 0

    def fit(self, labels: Labels, *, seed: int) -> KeptModel:
        """A new model; `unlabeled` must be sorted and is recognized by identity."""
        model = self.learner.fit(labels, seed=seed)
        path = self.folder / str(self.rounds) / SCORES
        self.rounds += 1
        return KeptModel(model, self.unlabeled, path, labels)
