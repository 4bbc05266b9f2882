"""Any scikit-learn classifier as a learner: rows of a table in, scores out."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import _routing_enabled, get_routing_for_object
from sklearn.utils.validation import _check_method_params, has_fit_parameter

from curriculum_labeling.estimators.tables import take
from curriculum_labeling.estimators.weighting import Weighting, row_copies, row_weights
from curriculum_labeling.labels import FloatArray, IntArray, Labels, Scores

# Rows × classes of probabilities held at once while scoring: a million rows of a thousand classes would be 8 GB.
CELLS_AT_ONCE = 1 << 24


@dataclass(frozen=True)
class EstimatorModel:
    """A fitted classifier and the table whose rows it scores."""

    estimator: Any
    X: Any
    classes: Any
    temperature: float = 1.0

    def score(self, rows: IntArray) -> Scores:
        """Class, confidence and runner-up of these rows, in memory that does not grow with rows × classes."""
        size = max(1, CELLS_AT_ONCE // len(self.classes))
        chunks = (rows[start : start + size] for start in range(0, max(len(rows), 1), size))
        return Scores.joined(Scores.from_probabilities(some, self.probabilities(take(self.X, some))) for some in chunks)

    def probabilities(self, X: Any) -> FloatArray:
        """Class probabilities of shape (n, C) for any table, all classes in the order of `classes`."""
        return class_probabilities(self.estimator, X, self.classes, self.temperature)


@dataclass(frozen=True)
class EstimatorLearner:
    """Fits a fresh clone of a classifier to the rows that carry labels."""

    estimator: Any
    X: Any
    classes: Any
    weighting: Weighting = field(default_factory=Weighting)
    soft: bool = False
    own_weights: FloatArray | None = None
    seeded: bool = False
    temperature: float = 1.0
    fit_params: dict[str, Any] = field(default_factory=dict)

    def fit(self, labels: Labels, *, seed: int) -> EstimatorModel:
        """A fresh clone, fitted; its unset random states are seeded where a random state was given."""
        estimator = clone(self.estimator)
        if self.seeded:
            seed_estimator(estimator, seed)
        return self._fitted(estimator, labels)

    def _fitted(self, estimator: Any, labels: Labels, method: str = "fit") -> EstimatorModel:
        rows, codes, weights = self._training_rows(labels)
        params = dict(_check_method_params(self.X, self.fit_params, indices=rows))
        if weights is not None:
            params[weight_parameter(estimator) or "sample_weight"] = weights
        if method == "partial_fit":
            params["classes"] = self.classes
        getattr(estimator, method)(take(self.X, rows), self.classes[codes], **params)
        return EstimatorModel(estimator, self.X, self.classes, self.temperature)

    def _training_rows(self, labels: Labels) -> tuple[IntArray, IntArray, FloatArray | None]:
        """Rows, class numbers and weights (None where every row counts 1) of one fit."""
        weightable = weight_parameter(self.estimator) is not None
        if not weightable:
            # Copies of a row would end up on both sides of an estimator's own cross-validation.
            once = "cv" in self.estimator.get_params(deep=False)
            kept = row_copies(
                labels, len(self.classes), replace(self.weighting, labeled_weight=1.0) if once else self.weighting
            )
            return labels.rows[kept], labels.classes[kept], None
        own = np.ones(len(labels)) if self.own_weights is None else self.own_weights[labels.rows]
        weights = row_weights(labels, own, len(self.classes), self.weighting)
        if self.soft:
            return soft_rows(labels, weights)
        return labels.rows, labels.classes, weights if self._weighted(labels) else None

    def _weighted(self, labels: Labels) -> bool:
        return self.own_weights is not None or (not self.weighting.plain and len(labels) > labels.given)


@dataclass
class FineTuningLearner:
    """A learner that remembers: each fit goes on from the model before it (the paper's Table 7)."""

    learner: EstimatorLearner
    before: Any = None

    def fit(self, labels: Labels, *, seed: int) -> EstimatorModel:
        """The last model, trained further."""
        if self.before is None:
            model = self.learner.fit(labels, seed=seed)
        else:
            estimator = copy.deepcopy(self.before)
            method = "partial_fit" if hasattr(estimator, "partial_fit") else "fit"
            if method == "fit":
                estimator.set_params(warm_start=True)
            model = self.learner._fitted(estimator, labels, method)
        self.before = model.estimator
        return model

    @staticmethod
    def check(estimator: Any) -> None:
        """Refuse an estimator that cannot go on from where it was."""
        # In ensembles of trees, warm_start adds trees only where their number was raised: it would do nothing.
        grown = hasattr(estimator, "n_estimators") or isinstance(estimator, HistGradientBoostingClassifier)
        warm = "warm_start" in getattr(estimator, "get_params", dict)() and not grown
        if not warm and not hasattr(estimator, "partial_fit"):
            raise ValueError(
                f"reinitialize=False needs an estimator with partial_fit or warm_start, got"
                f" {type(estimator).__name__}; use reinitialize=True, or such an estimator (SGDClassifier)."
            )


def soft_rows(labels: Labels, weights: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Each pseudo-labeled row once per choice, first and second, sharing its weight by confidence."""
    n = labels.given
    total = labels.confidence + labels.runner_up_confidence
    first = np.divide(labels.confidence, total, out=np.ones(len(labels)), where=total > 0)
    rows = np.concatenate([labels.rows, labels.rows[n:]])
    codes = np.concatenate([labels.classes, labels.runner_up[n:]])
    return rows, codes, np.concatenate([weights * first, (weights * (1 - first))[n:]])


def class_probabilities(estimator: Any, X: Any, classes: Any, temperature: float = 1.0, **params: Any) -> FloatArray:
    """Probabilities of shape (n, C) in the order of `classes`; 0 for a class the estimator never saw."""
    if hasattr(estimator, "predict_proba"):
        found: FloatArray = np.asarray(estimator.predict_proba(X, **params), dtype=np.float64)
    else:
        found = softmax(decisions(estimator, X, **params) * temperature)
    own = getattr(estimator, "classes_", classes)
    if len(own) == len(classes):
        return found
    p = np.zeros((len(found), len(classes)))
    p[:, np.searchsorted(classes, own)] = found
    return p


def decisions(estimator: Any, X: Any, **params: Any) -> FloatArray:
    """Decision values of shape (n, C); a binary classifier's single margin counts for and against."""
    values = np.asarray(estimator.decision_function(X, **params), dtype=np.float64)
    if values.ndim == 1:
        values = np.stack([-values / 2, values / 2], axis=1)
    if values.shape[1] != len(estimator.classes_) or one_versus_one(estimator):
        raise ValueError(
            f"estimator must give one decision value per class, got {values.shape[1]} values of pairs for"
            f" {len(estimator.classes_)} classes; use decision_function_shape='ovr'."
        )
    return values


def one_versus_one(estimator: Any) -> bool:
    """Whether decision values are of pairs of classes; three classes have three pairs, so counting does not tell."""
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    return getattr(last, "decision_function_shape", None) == "ovo" and len(estimator.classes_) > 2


def softmax(values: FloatArray) -> FloatArray:
    """Rows of probabilities from rows of scores."""
    e = np.exp(values - values.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True))


def weight_parameter(estimator: Any) -> str | None:
    """The name under which this estimator's `fit` takes sample weights, or None if it does not."""
    if not isinstance(estimator, Pipeline):
        return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None
    name, last = estimator.steps[-1]
    if not has_fit_parameter(last, "sample_weight"):
        return None
    if not _routing_enabled():
        return f"{name}__sample_weight"
    requested = get_routing_for_object(last).fit.requests.get("sample_weight")
    return "sample_weight" if requested is True else None


def seed_estimator(estimator: Any, seed: int) -> None:
    """Give each unset `random_state` within the estimator a seed of its own."""
    params = estimator.get_params().items()
    unset = sorted(name for name, value in params if value is None and name.split("__")[-1] == "random_state")
    if unset:
        seeds = np.random.SeedSequence(seed).generate_state(len(unset)) >> 1
        estimator.set_params(**{name: int(value) for name, value in zip(unset, seeds, strict=True)})
