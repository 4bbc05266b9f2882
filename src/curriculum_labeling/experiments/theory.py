"""The paper's theoretical analysis as a measurement: the two utilities and the covariance of Equation 5.

For one model θ, the labeled rows have utilities U = exp(-loss), the unlabeled rows U', and the
pacing gives each unlabeled row a prior p. Equation 5 says that the paced utility U_p is the plain
utility plus a covariance. That holds where p sums to 1; `Terms` has every part of it, and what is
left over elsewhere. The algebra and what follows from it are in docs/theory.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np

from curriculum_labeling.curriculum import round_seed
from curriculum_labeling.labels import BoolArray, FloatArray, IntArray, Labels, Learner, Round, Scores

# What p is on the K selected of M unlabeled rows; it is 0 on the others.
# "paper":      1/M, in the paper's words; sums to K/M
# "normalized": 1/K, the distribution that training on the selected rows draws from; sums to 1
# "indicator":  1; sums to K
Prior = Literal["paper", "normalized", "indicator"]
Choice = Literal["most", "random", "least"]
# Log-probabilities (n, C) of rows under a model: each kind of model has its own way to them.
LogProbabilities = Callable[[Any, IntArray], FloatArray]


@dataclass(frozen=True)
class Terms:
    """Every term of Equation 5 for one model and one prior.

    Parameters
    ----------
    rows : int
        M, the number of unlabeled rows.
    mass : float
        Σ p, which the paper's last step takes to be 1.
    labeled, unlabeled : float
        Means of U over the labeled and of U' over the unlabeled rows.
    paced : float
        Σ U' p.
    comoment : float
        Σ (U' - mean U')(p - mean p), which the paper writes as a covariance.
    """

    rows: int
    mass: float
    labeled: float
    unlabeled: float
    paced: float
    comoment: float

    @property
    def utility(self) -> float:
        """U(θ), Equation 3."""
        return self.labeled + self.unlabeled

    @property
    def paced_utility(self) -> float:
        """U_p(θ), Equation 4."""
        return self.labeled + self.paced

    @property
    def covariance(self) -> float:
        """The covariance in the usual sense, a mean over rows: the comoment divided by M."""
        return self.comoment / self.rows

    @property
    def left_out(self) -> float:
        """What Equation 5 needs besides, (Σp - 1) · mean U'; 0 where p sums to 1."""
        return (self.mass - 1.0) * self.unlabeled

    @property
    def error(self) -> float:
        """U_p - (U + Σ…): how far the paper's last line is off."""
        return self.paced_utility - (self.utility + self.comoment)

    @property
    def error_with_mean(self) -> float:
        """U_p - (U + Cov), where Cov is read as a mean over rows."""
        return self.paced_utility - (self.utility + self.covariance)

    @property
    def error_of_exact(self) -> float:
        """The same with what was left out: 0 up to rounding, for every U' and p."""
        return self.error - self.left_out


@dataclass(frozen=True)
class RoundTerms:
    """Equation 5 in one round, at the model that scored the rows and at the one then trained on them.

    `truth` is at the trained model with utilities of the true classes instead of the pseudo-labels.
    """

    number: int
    percentile: float | None
    selected: int
    scoring: Terms
    trained: Terms
    truth: Terms | None


@dataclass(frozen=True)
class ChoiceTerms:
    """Equation 5 before and after one fit on rows chosen in some order, and the model of that fit."""

    scoring: Terms
    trained: Terms
    model: Any


def measure(labeled: FloatArray, unlabeled: FloatArray, p: FloatArray) -> Terms:
    """The terms of Equation 5 from utilities of labeled (N,) and unlabeled rows (M,), and priors p (M,)."""
    u, v, p = (np.asarray(one, dtype=np.float64) for one in (labeled, unlabeled, p))
    if not (u.ndim == v.ndim == 1 and v.shape == p.shape and len(u) and len(v)):
        raise ValueError(
            f"unlabeled and p must be lists of one length, and labeled a list, none empty; "
            f"got shapes {v.shape}, {p.shape} and {u.shape}."
        )
    for name, one in {"labeled": u, "unlabeled": v, "p": p}.items():
        if not np.isfinite(one).all():
            raise ValueError(f"{name} must be finite, got {int((~np.isfinite(one)).sum())} of {len(one)} that are not.")
    comoment = float(((v - v.mean()) * (p - p.mean())).sum())
    return Terms(len(v), float(p.sum()), float(u.mean()), float(v.mean()), float((v * p).sum()), comoment)


def prior(selected: BoolArray, kind: Prior) -> FloatArray:
    """What p is for each unlabeled row, shape (M,), under one of the three readings."""
    if kind not in get_args(Prior):
        raise ValueError(f"kind must be one of {', '.join(map(repr, get_args(Prior)))}, got {kind!r}.")
    chosen = int(np.sum(selected))
    if not chosen:
        raise ValueError(f"selected must hold at least one row, got none of {len(selected)}.")
    p: FloatArray = selected / {"paper": len(selected), "normalized": chosen, "indicator": 1}[kind]
    return p


def utilities(log_probabilities: FloatArray, targets: Any) -> FloatArray:
    """exp(-cross entropy) of each row, in [0, 1]: targets are classes (n,) or probabilities (n, C).

    With a class as its target, a row's utility is simply the probability of that class.
    """
    logs, targets = np.asarray(log_probabilities, dtype=np.float64), np.asarray(targets)
    if targets.ndim == 1:
        found: FloatArray = np.exp(logs[np.arange(len(logs)), targets])
        return found
    # 0 · log 0 is 0: a class that the target rules out costs nothing.
    terms = np.multiply(targets, logs, out=np.zeros_like(logs), where=targets > 0)
    return np.asarray(np.exp(terms.sum(axis=1)))


def measure_rounds(
    rounds: Sequence[Round],
    log_probabilities: LogProbabilities,
    *,
    kind: Prior = "normalized",
    truth: IntArray | None = None,
) -> list[RoundTerms]:
    """Equation 5 in each round after round 0; `truth` holds the true class of every row number."""
    found = []
    for before, after in pairwise(rounds):
        scores = after.scores
        assert scores is not None, "rounds after round 0 have scores"
        p = prior(np.isin(scores.rows, after.labels.pseudo_rows), kind)
        models = [(before.model, scores.classes), (after.model, scores.classes)]
        if truth is not None:
            models.append((after.model, truth[scores.rows]))
        terms = [_at_model(model, after.labels, scores.rows, to, p, log_probabilities) for model, to in models]
        by_truth = terms[2] if truth is not None else None
        found.append(RoundTerms(after.number, after.percentile, after.selected, terms[0], terms[1], by_truth))
    return found


def measure_models(
    rounds: Sequence[Round], log_probabilities: LogProbabilities, *, at: int = 1, kind: Prior = "normalized"
) -> list[Terms]:
    """Equation 5 at the model of every round, with the rows and pseudo-labels of round `at` held fixed.

    A covariance can only change which θ is best if it differs between them; this shows how.
    """
    fixed = rounds[at]
    assert fixed.scores is not None, "rounds after round 0 have scores"
    rows, targets = fixed.scores.rows, fixed.scores.classes
    p = prior(np.isin(rows, fixed.labels.pseudo_rows), kind)
    return [_at_model(one.model, fixed.labels, rows, targets, p, log_probabilities) for one in rounds]


def compare_choices(
    learner: Learner,
    labeled: Labels,
    unlabeled: IntArray,
    log_probabilities: LogProbabilities,
    *,
    share: float = 0.2,
    seed: int = 0,
) -> dict[Choice, ChoiceTerms]:
    """One round on the most confident rows, on as many at random, and on the least confident.

    The control of the covariance's sign: a curriculum is only one of the ways to choose rows.
    """
    first = learner.fit(labeled, seed=round_seed(seed, 0))
    scores = first.score(unlabeled)
    found: dict[Choice, ChoiceTerms] = {}
    for choice in get_args(Choice):
        mask = choose(scores, max(1, round(share * len(scores))), choice, seed=seed)
        p, labels = prior(mask, "normalized"), labeled.with_pseudo(scores, mask)
        model = learner.fit(labels, seed=round_seed(seed, 1))
        before, after = (
            _at_model(one, labels, scores.rows, scores.classes, p, log_probabilities) for one in (first, model)
        )
        found[choice] = ChoiceTerms(before, after, model)
    return found


def choose(scores: Scores, count: int, choice: Choice, *, seed: int = 0) -> BoolArray:
    """A mask of `count` rows: the most confident, the least confident, or any."""
    if not 1 <= count <= len(scores):
        raise ValueError(f"count must be from 1 to the {len(scores)} rows there are, got {count}.")
    order = np.argsort(scores.log_confidence, kind="stable")
    if choice == "random":
        order = np.random.default_rng(seed).permutation(len(scores))
    mask = np.zeros(len(scores), dtype=bool)
    mask[order[:count] if choice == "least" else order[-count:]] = True
    return mask


def _at_model(
    model: Any, labels: Labels, rows: IntArray, targets: IntArray, p: FloatArray, log_probabilities: LogProbabilities
) -> Terms:
    given = slice(labels.given)
    labeled = utilities(log_probabilities(model, labels.rows[given]), labels.classes[given])
    return measure(labeled, utilities(log_probabilities(model, rows), targets), p)
