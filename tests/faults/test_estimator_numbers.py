"""Numbers that go wrong, and data that hardly are any, in the scikit-learn door."""

import math

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from curriculum_labeling import CurriculumLabelingClassifier


class Broken(ClassifierMixin, BaseEstimator):
    """A classifier whose probabilities are this number."""

    def __init__(self, value=math.nan):
        self.value = value

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), self.value)


def problem(labeled=6, unlabeled=60, classes=2, seed=0):
    y = np.arange(labeled + unlabeled) % classes
    X = np.random.default_rng(seed).normal(size=(len(y), 3)) + 4 * y[:, None]
    return X, np.where(np.arange(len(y)) < labeled, y, -1), y


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_an_estimator_whose_probabilities_break_is_one_sentence(value):
    X, hidden, _ = problem()
    with pytest.raises(ValueError, match="class probabilities must be finite, got NaN or infinity"):
        CurriculumLabelingClassifier(Broken(value)).fit(X, hidden)


@pytest.mark.parametrize("value", [0.5, 1.0, 1e-300])
def test_an_estimator_that_is_equally_sure_of_all_takes_all(value):
    X, hidden, _ = problem()
    model = CurriculumLabelingClassifier(Broken(value)).fit(X, hidden)
    assert (model.transduction_ >= 0).all()
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.filterwarnings("ignore:y has a single label")
@pytest.mark.parametrize("estimator", [LogisticRegression(), DecisionTreeClassifier(), GaussianNB()], ids=str)
def test_three_labels_are_enough(estimator):
    X, hidden, _ = problem(labeled=3, classes=3)
    model = CurriculumLabelingClassifier(estimator).fit(X, hidden)
    assert (model.transduction_ >= 0).all()
    assert model.gain_.helped is None


@pytest.mark.parametrize("criterion", ["percentile", "threshold", "k_best"])
def test_one_unlabeled_row_is_enough(criterion):
    X, hidden, y = problem(unlabeled=1)
    assert (
        CurriculumLabelingClassifier(LogisticRegression(), criterion=criterion).fit(X, hidden).predict(X).shape
        == y.shape
    )


@pytest.mark.parametrize("estimator", [LogisticRegression(), DecisionTreeClassifier()], ids=str)
def test_constant_rows_are_learned_as_what_they_are(estimator):
    _, hidden, _ = problem()
    model = CurriculumLabelingClassifier(estimator).fit(np.ones((len(hidden), 3)), hidden)
    assert np.allclose(model.predict_proba(np.ones((1, 3))).sum(), 1)


@pytest.mark.filterwarnings("ignore:y has a single label")
def test_one_label_in_a_thousand_is_not_lost():
    X = np.concatenate([np.random.default_rng(0).normal(size=(2000, 2)), np.full((2, 2), 30.0)])
    y = np.concatenate([np.zeros(2000, dtype=int), [1, 1]])
    hidden = y.copy()
    hidden[[*range(1000, 2000), 2001]] = -1
    model = CurriculumLabelingClassifier(GaussianNB(var_smoothing=1e-2)).fit(X, hidden)
    assert model.predict(X)[-1] == 1


@pytest.mark.filterwarnings("ignore:y has a single label", "ignore:The number of unique classes")
def test_a_thousand_classes_are_learned():
    X, hidden, _ = problem(labeled=1000, unlabeled=1000, classes=1000)
    model = CurriculumLabelingClassifier(GaussianNB(var_smoothing=1e-2), step=100, validation=None).fit(X, hidden)
    assert len(model.classes_) == 1000
    assert np.isfinite(model.predict_proba(X[:5])).all()


def test_values_that_overflow_are_refused_or_learned():
    X, hidden, _ = problem()
    with pytest.raises(ValueError, match="contains infinity, which LogisticRegression does not accept"):
        CurriculumLabelingClassifier(LogisticRegression()).fit(np.full_like(X, np.inf), hidden)
    model = CurriculumLabelingClassifier(DecisionTreeClassifier()).fit(X * 1e30, hidden)
    assert (model.transduction_ >= 0).all()
