"""Scores of a round, kept on disk: written when first computed, read back when a run goes on."""

from __future__ import annotations

import io
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from curriculum_labeling.data.atomic import write_atomically
from curriculum_labeling.labels import BoolArray, IntArray, Labels, Learner, Model, Scores

SCORES = "scores.npz"
COLUMNS = ("classes", "log_confidence", "runner_up", "runner_up_confidence")


@dataclass(frozen=True)
class KeptScores:
    """Scores of all unlabeled rows by a round's model, and which rows that round trained on, as which class."""

    scores: Scores
    selected: BoolArray
    selected_classes: IntArray


def read_scores(path: Path, unlabeled: IntArray) -> KeptScores:
    """Scores as a round left them; a missing or damaged file is named."""
    try:
        # From memory: numpy leaves a damaged file open.
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            columns = [file[name] for name in (*COLUMNS, "selected", "selected_classes")]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"{path} is missing or damaged ({error}); restore it, or fit again.") from error
    if any(column.shape != unlabeled.shape for column in columns):
        raise ValueError(f"{path} must hold one score per unlabeled image ({len(unlabeled)}), got {len(columns[0])}.")
    classes, confidence, runner_up, second, selected, taken = columns
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
