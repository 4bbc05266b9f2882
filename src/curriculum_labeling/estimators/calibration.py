"""Honest probabilities from decision values: one temperature, fitted on labels held out in turn."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from curriculum_labeling.estimators.learner import EstimatorLearner, decisions, softmax
from curriculum_labeling.estimators.tables import take
from curriculum_labeling.estimators.validation import folds
from curriculum_labeling.labels import FloatArray, IntArray, Labels

LOG_RANGE = (-6.0, 6.0)


def fit_temperature(learner: EstimatorLearner, labels: Labels, rng: np.random.Generator) -> float:
    """The factor that makes softmax(decision values x factor) most likely on held-out labels.

    A margin orders rows but says no probability; an averaged log-loss on labels the classifier did
    not see does. With too few labels to hold any out, decision values are taken as they are.
    """
    values, codes = [], []
    for fold in folds(labels, np.array([], dtype=np.int64), 3, rng):
        train = Labels.of(labels.rows[fold.train], labels.classes[fold.train])
        if len(np.unique(train.classes)) < len(learner.classes):
            continue
        estimator = learner.fit(train, seed=0).estimator
        values.append(decisions(estimator, take(learner.X, labels.rows[fold.check])))
        codes.append(labels.classes[fold.check])
    if not values:
        return 1.0
    return most_likely_temperature(np.concatenate(values), np.concatenate(codes))


def most_likely_temperature(values: FloatArray, codes: IntArray) -> float:
    """Minimize the log-loss over the logarithm of the factor; a weak prior holds it near 1."""

    def loss(log_factor: Any) -> float:
        p = softmax(values * np.exp(log_factor))[np.arange(len(codes)), codes]
        return float(-np.log(np.maximum(p, 1e-12)).sum() + 0.5 * log_factor**2)

    return float(np.exp(minimize_scalar(loss, bounds=LOG_RANGE, method="bounded").x))
