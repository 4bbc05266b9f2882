"""The nouns of the algorithm: labels, scores, splits and rounds, and what a learner must offer.

Everything here speaks in row numbers of one training set (one index space). What a row is, a
file, a line of a matrix or a tensor on a device, is known to the learner alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.floating[Any]]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class Labels:
    """What one model is trained on: rows and their classes, the given labels first.

    Parameters
    ----------
    rows : int array of shape (n,)
        Row numbers, each at most once.
    classes : int array of shape (n,)
        Class numbers 0 … C-1.
    given : int
        The first `given` rows carry labels of the user's; the others are pseudo-labels.
    confidence : float array of shape (n,), optional
        Confidence behind each label, 1 for the given ones.
    runner_up, runner_up_confidence : arrays of shape (n,), optional
        Second choice of the scoring model, for learners that train on soft labels.
    """

    rows: IntArray
    classes: IntArray
    given: int
    confidence: FloatArray
    runner_up: IntArray
    runner_up_confidence: FloatArray

    @classmethod
    def of(cls, rows: Any, classes: Any) -> Labels:
        """Labels given by the user: all certain, with no second choice."""
        rows, classes = np.asarray(rows, dtype=np.int64), np.asarray(classes, dtype=np.int64)
        if rows.shape != classes.shape or rows.ndim != 1:
            raise ValueError(
                f"rows and classes must be two lists of one length, got shapes {rows.shape} and {classes.shape}."
            )
        if repeats := len(rows) - len(np.unique(rows)):
            raise ValueError(f"rows must name each row once, got {repeats} repeats; drop the repeated labels.")
        n = len(rows)
        return cls(rows, classes, n, np.ones(n), classes.copy(), np.zeros(n))

    def with_pseudo(self, scores: Scores, selected: BoolArray, *, group: Group | None = None) -> Labels:
        """These labels, followed by the pseudo-labels of the selected rows of `scores`, of all processes in a group."""
        chosen = scores.only(selected) if group is None else group.join(scores.only(selected))
        return Labels(
            rows=np.concatenate([self.rows, chosen.rows]),
            classes=np.concatenate([self.classes, chosen.classes]),
            given=self.given,
            confidence=np.concatenate([self.confidence, chosen.confidence]),
            runner_up=np.concatenate([self.runner_up, chosen.runner_up]),
            runner_up_confidence=np.concatenate([self.runner_up_confidence, chosen.runner_up_confidence]),
        )

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def pseudo_rows(self) -> IntArray:
        """Row numbers that carry a pseudo-label."""
        return self.rows[self.given :]

    @property
    def pseudo_classes(self) -> IntArray:
        """Class numbers of the pseudo-labels, in the order of `pseudo_rows`."""
        return self.classes[self.given :]


@dataclass(frozen=True)
class Scores:
    """What a model thinks of rows: class, confidence and second choice; never a rows × classes matrix.

    `log_confidence` is the natural logarithm of the highest class probability, as float64: a
    probability that rounds to 1.0 still has its own rank here (-1e-20 is not -1e-30).
    """

    rows: IntArray
    classes: IntArray
    log_confidence: FloatArray
    runner_up: IntArray
    runner_up_confidence: FloatArray

    @classmethod
    def from_probabilities(cls, rows: IntArray, probabilities: FloatArray) -> Scores:
        """Summarize class probabilities of shape (n, C); each row is normalized to sum to 1.

        The confidence is computed from the mass of the *other* classes, which keeps its relative
        precision where the highest probability has saturated.
        """
        p = np.array(probabilities, dtype=np.float64)
        n = np.arange(len(p))
        _check_finite(p, "class probabilities")
        classes = p.argmax(axis=1)
        top = p[n, classes]
        p[n, classes] = 0.0
        others = p.sum(axis=1)
        runner_up = p.argmax(axis=1) if p.shape[1] > 1 else classes
        total = top + others
        safe = np.where(total > 0, total, 1.0)
        with np.errstate(divide="ignore"):
            log_confidence = np.where(others < top, np.log1p(-others / safe), np.log(top / safe))
        return cls(rows, classes, log_confidence, runner_up, p[n, runner_up] / safe)

    @classmethod
    def from_logits(cls, rows: IntArray, logits: FloatArray) -> Scores:
        """Summarize unnormalized log-probabilities of shape (n, C) without ever saturating."""
        z = np.asarray(logits, dtype=np.float64)
        n = np.arange(len(z))
        _check_finite(z, "logits")
        classes = z.argmax(axis=1)
        with np.errstate(over="ignore"):  # logits farther apart than floats reach: nothing is left for the others
            others = np.exp(z - z[n, classes][:, None])
        others[n, classes] = 0.0
        runner_up = others.argmax(axis=1) if z.shape[1] > 1 else classes
        mass = others.sum(axis=1)
        return cls(rows, classes, -np.log1p(mass), runner_up, others[n, runner_up] / (1.0 + mass))

    def only(self, selected: BoolArray) -> Scores:
        """The scores of the selected rows."""
        return Scores(*(getattr(self, one.name)[selected] for one in fields(self)))

    @classmethod
    def joined(cls, parts: Iterable[Scores]) -> Scores:
        """Several scores, at least one, as one."""
        parts = list(parts)
        return cls(*(np.concatenate([getattr(part, one.name) for part in parts]) for one in fields(cls)))

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def confidence(self) -> FloatArray:
        """The highest class probability of each row, in [0, 1]."""
        confidence: FloatArray = np.exp(self.log_confidence)
        return confidence


def _check_finite(table: FloatArray, name: str) -> None:
    if not np.isfinite(table).all():
        bad = int((~np.isfinite(table).all(axis=1)).sum())
        raise ValueError(f"{name} must be finite, got NaN or infinity in {bad} of {len(table)} rows.")


@dataclass(frozen=True)
class Split:
    """Which rows are labeled, held out for validation, unlabeled, and kept for the final test."""

    labeled: IntArray
    unlabeled: IntArray
    validation: IntArray
    test: IntArray

    def __post_init__(self) -> None:
        rows = np.concatenate([getattr(self, part.name) for part in fields(self)])
        repeats = len(rows) - len(np.unique(rows))
        if repeats:
            raise ValueError(f"the parts of a split must not overlap, got {repeats} rows in more than one part.")


@dataclass(frozen=True)
class Round:
    """One round: what was selected, the labels it gave, and the model trained on them.

    Round 0 is labels only: `scores` and `percentile` are None, and nothing entered. `scores` are those
    of the unlabeled rows in their order, of which a process in a group has its own share; all
    else is the same in every process.
    """

    number: int
    labels: Labels
    model: Model
    scores: Scores | None
    threshold: float | None
    percentile: float | None
    entered: int
    left: int
    flipped: int

    @property
    def selected(self) -> int:
        """How many unlabeled rows this round trained on."""
        return len(self.labels) - self.labels.given


class Model(Protocol):
    """A trained model, P_θ."""

    def score(self, rows: IntArray) -> Scores:
        """Class, confidence and runner-up of these rows."""
        ...


class Learner(Protocol):
    """Trains a model from nothing but labels and a seed, so every `fit` starts from scratch."""

    def fit(self, labels: Labels, *, seed: int) -> Model:
        """A new model, from fresh weights."""
        ...


class Group(Protocol):
    """Processes that go through the rounds together, each with the scores of its own share of the rows."""

    def score(self, model: Any, rows: IntArray) -> Scores:
        """What the model thinks of this process's share of these rows."""
        ...

    def add_counts(self, counts: IntArray) -> IntArray:
        """The exact sum over processes."""
        ...

    def lowest(self, value: float) -> float:
        """The lowest of all processes' values."""
        ...

    def join(self, scores: Scores) -> Scores:
        """The scores of all processes in their order, in every process."""
        ...
