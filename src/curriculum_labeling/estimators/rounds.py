"""Running the curriculum over a table: until it ends, with a record of every round."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from curriculum_labeling.curriculum import curriculum
from curriculum_labeling.estimators.ensemble import round_weights, sum_weighted
from curriculum_labeling.estimators.learner import EstimatorLearner, EstimatorModel, FineTuningLearner
from curriculum_labeling.estimators.targets import UNLABELED, Targets
from curriculum_labeling.estimators.validation import Checked
from curriculum_labeling.labels import IntArray, Labels, Round
from curriculum_labeling.pacing import Pacing, PercentilePacing


@dataclass(frozen=True)
class RoundRecord:
    """What one round did, as `rounds_` tells it."""

    round: int
    percentile: float | None
    threshold: float | None
    selected: int
    entered: int
    left: int
    flipped: int
    class_counts: dict[Any, int]
    validation_accuracy: float | None
    seconds: float


@dataclass
class Run:
    """A finished curriculum: its models, the labels of the last round, and how it ended."""

    models: list[EstimatorModel] = field(default_factory=list)
    labels: list[Labels] = field(default_factory=list)
    records: list[RoundRecord] = field(default_factory=list)
    ended: str = "max_iter"


@dataclass(frozen=True)
class Course:
    """How to run: who learns, at which pace, and whether each model starts afresh."""

    learner: EstimatorLearner
    pacing: Pacing
    seed: int
    reinitialize: bool = True
    verbose: bool = False

    def run(self, labels: Labels, unlabeled: IntArray) -> Run:
        """All rounds, or as many as change anything; without unlabeled rows, round 0 alone."""
        run, start = Run(), time.perf_counter()
        for round_ in self._rounds(labels, unlabeled):
            run.models.append(round_.model)  # type: ignore[arg-type]
            run.labels.append(round_.labels)
            run.records.append(self._record(round_, time.perf_counter() - start))
            if self.verbose:
                print(describe(run.records[-1], self.pacing.rounds), flush=True)
            run.ended = self._ending(round_, len(unlabeled))
            if run.ended != "max_iter":
                break
            start = time.perf_counter()
        return run

    def _rounds(self, labels: Labels, unlabeled: IntArray) -> Iterator[Round]:
        learner = self.learner if self.reinitialize else FineTuningLearner(self.learner)
        classes = len(self.learner.classes)
        rounds = curriculum(learner, labels, unlabeled, pacing=self.pacing, classes=classes, seed=self.seed)
        if len(unlabeled):
            yield from rounds
        else:
            yield next(rounds)

    def _record(self, round_: Round, seconds: float) -> RoundRecord:
        classes = self.learner.classes
        counts = np.bincount(round_.labels.pseudo_classes, minlength=len(classes))
        return RoundRecord(
            round=round_.number,
            percentile=round_.percentile,
            threshold=round_.threshold,
            selected=round_.selected,
            entered=round_.entered,
            left=round_.left,
            flipped=round_.flipped,
            class_counts=dict(zip(classes.tolist(), counts.tolist(), strict=True)),
            validation_accuracy=None,
            seconds=seconds,
        )

    def _ending(self, round_: Round, unlabeled: int) -> str:
        """SelfTrainingClassifier's words; a percentile schedule goes on to its own end."""
        last = round_.number == self.pacing.rounds or not unlabeled
        if round_.selected == unlabeled and (last or not isinstance(self.pacing, PercentilePacing)):
            return "all_labeled"
        still = round_.number > 0 and not (round_.entered or round_.left or round_.flipped)
        if still and not isinstance(self.pacing, PercentilePacing):
            return "no_change"
        return "max_iter"


def check_models(models: list[EstimatorModel], X: Any, codes: IntArray, combine: str) -> Checked:
    """What each model, and their combination, get right on rows whose class numbers are known."""
    tables = [model.probabilities(X) for model in models]
    weights = round_weights(len(models), combine)
    combined = sum_weighted(tables, weights)
    return Checked(np.stack([table.argmax(axis=1) == codes for table in tables]), combined.argmax(axis=1) == codes)


def describe(record: RoundRecord, rounds: int) -> str:
    """One line on a round, for people who watch."""
    if record.round == 0:
        return f"round 0 of {rounds}: trained on the labels alone ({record.seconds:.1f} s)"
    threshold = "none" if record.threshold is None else f"{record.threshold:.4f}"
    return (
        f"round {record.round} of {rounds}: {record.selected} rows at confidence {threshold} or above,"
        f" {record.entered} entered, {record.left} left, {record.flipped} flipped ({record.seconds:.1f} s)"
    )


def with_accuracies(run: Run, checked: Checked | None, *, shortened: bool) -> list[RoundRecord]:
    """The records, with the validation accuracy of each round that was checked.

    Where validation was shortened to one round, that round stands for the last one.
    """
    if checked is None:
        return run.records
    accuracies: dict[int, float] = dict(enumerate(checked.accuracies))
    if shortened and len(accuracies) == 2:
        accuracies = {0: accuracies[0], run.records[-1].round: accuracies[1]}
    return [replace(record, validation_accuracy=accuracies.get(record.round)) for record in run.records]


def member_since(run: Run, targets: Targets) -> IntArray:
    """The round since which each row has been part of the training set; 0 if labeled, -1 if it is not."""
    since = np.where(targets.codes == UNLABELED, -1, 0)
    for t, labels in enumerate(run.labels):
        now = np.isin(np.arange(len(since)), labels.pseudo_rows)
        since[now & (since == -1)] = t
        since[~now & (since > 0)] = -1
    return since
