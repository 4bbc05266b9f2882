"""Scripted learners: models whose scores a test writes down, and a nearest-mean learner that really learns."""

from __future__ import annotations

import numpy as np

from curriculum_labeling.labels import Labels, Scores


class ScriptedModel:
    def __init__(self, probabilities):
        self.probabilities = probabilities

    def score(self, rows):
        return Scores.from_probabilities(rows, self.probabilities[rows])


class ScriptedLearner:
    """Round t's model gives the t-th written table of probabilities; fits are recorded."""

    def __init__(self, *tables):
        self.tables = [np.asarray(table, dtype=float) for table in tables]
        self.fits: list[tuple[Labels, int]] = []

    def fit(self, labels, *, seed):
        table = self.tables[min(len(self.fits), len(self.tables) - 1)]
        self.fits.append((labels, seed))
        return ScriptedModel(table)


class NearestMeanLearner:
    """Softmax over distances to class means, plus noise from the seed: cheap, real and seeded."""

    def __init__(self, X, classes):
        self.X, self.classes = X, classes

    def fit(self, labels, *, seed):
        rng = np.random.default_rng(seed)
        means = np.stack(
            [
                self.X[labels.rows[labels.classes == c]].mean(axis=0)
                if (labels.classes == c).any()
                else rng.normal(size=self.X.shape[1])
                for c in range(self.classes)
            ]
        )
        means += rng.normal(scale=1e-3, size=means.shape)
        return NearestMeanModel(self.X, means)


class NearestMeanModel:
    def __init__(self, X, means):
        self.X, self.means = X, means

    def score(self, rows):
        distances = ((self.X[rows][:, None] - self.means) ** 2).sum(axis=2)
        return Scores.from_logits(rows, -distances)
