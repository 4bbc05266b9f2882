import numpy as np
from sklearn.linear_model import LogisticRegression

from curriculum_labeling.estimators import learner
from curriculum_labeling.estimators.learner import EstimatorModel


def model_of(rows=200, classes=5):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 4))
    return EstimatorModel(LogisticRegression().fit(X, np.arange(rows) % classes), X, np.arange(classes))


def test_chunks_of_rows_are_scored_as_all_rows_are(monkeypatch):
    model, rows = model_of(), np.arange(199, -1, -1)
    whole = model.score(rows)
    monkeypatch.setattr(learner, "CELLS_AT_ONCE", 5 * 30)  # the last chunk is shorter than the others
    parts = model.score(rows)
    assert (parts.rows == rows).all()
    assert (parts.classes == whole.classes).all()
    assert (parts.runner_up == whole.runner_up).all()
    np.testing.assert_allclose(parts.log_confidence, whole.log_confidence, rtol=1e-12)


def test_no_table_of_all_rows_and_classes_is_made(monkeypatch):
    asked = []
    monkeypatch.setattr(learner, "CELLS_AT_ONCE", 100)
    monkeypatch.setattr(
        EstimatorModel, "probabilities", lambda self, X: asked.append(len(X)) or self.estimator.predict_proba(X)
    )
    model_of().score(np.arange(200))
    assert max(asked) == 20
    assert sum(asked) == 200
