"""Whatever X and y are: sparse matrices, frames, strings, text."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from curriculum_labeling import CurriculumLabelingClassifier
from tests.blobs import few_labels


@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csc_matrix, sp.csr_array])
def test_sparse_matrices_work(blobs, make):
    X, truth, y = blobs
    sparse = make(np.where(np.abs(X) < 0.5, 0, X))
    model = CurriculumLabelingClassifier(LogisticRegression()).fit(sparse, y)
    assert model.score(sparse, truth) > 0.9


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_keep_their_columns(blobs, frame):
    X, truth, y = blobs
    table = frame({f"feature {i}": X[:, i] for i in range(4)})
    model = CurriculumLabelingClassifier(make_pipeline(StandardScaler(), LogisticRegression())).fit(table, y)
    assert model.score(table, truth) > 0.9
    assert model.feature_names_in_.tolist() == [f"feature {i}" for i in range(4)]
    assert model.estimator_.feature_names_in_.tolist() == [f"feature {i}" for i in range(4)]


@pytest.mark.parametrize("unlabeled", [-1, None, np.nan])
def test_string_classes_work(blobs, unlabeled):
    X, truth, _ = blobs
    names = np.array(["ant", "bee", "cat"], dtype=object)[truth]
    model = CurriculumLabelingClassifier(LogisticRegression()).fit(X, few_labels(names, unlabeled=unlabeled))
    assert model.classes_.tolist() == ["ant", "bee", "cat"]
    assert (model.predict(X) == names).mean() > 0.9
    assert set(model.transduction_) == {"ant", "bee", "cat"}
    assert set(model.estimator_.predict(X)) <= {"ant", "bee", "cat"}


def test_text_goes_through_a_pipeline():
    rng = np.random.default_rng(0)
    words = {"sport": ["goal", "match", "team", "coach"], "space": ["orbit", "rocket", "moon", "probe"]}
    y = np.array(["sport", "space"] * 60, dtype=object)
    texts = [" ".join(rng.choice(words[c], 3).tolist() + rng.choice(["the", "a", "of"], 3).tolist()) for c in y]
    hidden = few_labels(y, 3, unlabeled=None)
    pipeline = make_pipeline(TfidfVectorizer(), LogisticRegression())
    model = CurriculumLabelingClassifier(pipeline).fit(texts, hidden)
    assert (model.predict(texts) == y).mean() > 0.95
    as_array = CurriculumLabelingClassifier(pipeline).fit(np.array(texts, dtype=object), hidden)
    assert (as_array.predict(texts) == model.predict(texts)).all()
    as_series = CurriculumLabelingClassifier(pipeline).fit(pd.Series(texts), hidden)
    assert (as_series.predict(texts) == model.predict(texts)).all()


@pytest.mark.parametrize(
    "stack",
    [
        lambda a: a,
        sp.csr_matrix,
        pd.DataFrame,
        lambda a: pl.DataFrame(a, schema=["a", "b", "c", "d"]),
        lambda a: a.tolist(),
    ],
)
def test_unlabeled_rows_may_be_given_separately(blobs, stack):
    X, truth, y = blobs
    order = np.argsort(y == -1, kind="stable")
    n = int((y != -1).sum())
    X, y, truth = X[order], y[order], truth[order]
    together = CurriculumLabelingClassifier(LogisticRegression()).fit(stack(X), y)
    apart = CurriculumLabelingClassifier(LogisticRegression()).fit(stack(X[:n]), y[:n], X_unlabeled=stack(X[n:]))
    np.testing.assert_allclose(together.predict_proba(stack(X)), apart.predict_proba(stack(X)))
    assert len(apart.transduction_) == len(X)


def test_tables_of_two_kinds_are_refused(blobs):
    X, _, y = blobs
    with pytest.raises(TypeError, match="X_unlabeled must be the same kind of table as X, got DataFrame and ndarray"):
        CurriculumLabelingClassifier(LogisticRegression()).fit(X, y, X_unlabeled=pd.DataFrame(X))


def test_columns_of_unlabeled_rows_may_be_in_another_order_but_not_others(blobs):
    X, _, y = blobs
    for frame in (pd.DataFrame, pl.DataFrame):
        table = frame({name: X[:, i] for i, name in enumerate("abcd")})
        model = CurriculumLabelingClassifier(GaussianNB())
        expected = model.fit(table, y, X_unlabeled=table).predict_proba(table)
        np.testing.assert_allclose(model.fit(table, y, X_unlabeled=table[list("dcba")]).predict_proba(table), expected)
        with pytest.raises(ValueError, match="X_unlabeled must have the columns of X, got a difference in d"):
            model.fit(table, y, X_unlabeled=table[list("abc")])
    for make in (np.asarray, sp.csr_matrix):
        with pytest.raises(ValueError, match="X_unlabeled must have the columns of X, got shapes"):
            CurriculumLabelingClassifier(LogisticRegression()).fit(make(X), y, X_unlabeled=make(X[:, :3]))


def test_nan_is_refused_before_any_fit(blobs):
    X, _, y = blobs
    broken = X.copy()
    broken[np.flatnonzero(y == -1)[0], 0] = np.nan

    class Never(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            raise AssertionError("fitted")

    with pytest.raises(ValueError, match="Input X contains NaN, which Never does not accept; impute it"):
        CurriculumLabelingClassifier(Never()).fit(broken, y)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        CurriculumLabelingClassifier(Never()).fit(pd.DataFrame(broken), y)
    CurriculumLabelingClassifier(HistGradientBoostingClassifier(max_iter=5)).fit(broken, y)


def test_rows_and_labels_of_unlike_number_are_refused(blobs):
    X, _, y = blobs
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        CurriculumLabelingClassifier(LogisticRegression()).fit(X, y[:-1])
