"""Blobs of three classes with few labels, and a classifier fitted to them."""

import numpy as np
from sklearn.linear_model import LogisticRegression

from curriculum_labeling import CurriculumLabelingClassifier


def few_labels(y, per_class=5, unlabeled=-1):
    """y with all but the first few labels of each class taken away."""
    kept = np.concatenate([np.flatnonzero(y == c)[:per_class] for c in np.unique(y)])
    hidden = np.full(len(y), unlabeled, dtype=object if isinstance(y[0], str) else y.dtype)
    hidden[kept] = y[kept]
    return hidden


def fitted(blobs, **options):
    X, _, y = blobs
    return CurriculumLabelingClassifier(LogisticRegression(), **options).fit(X, y)
