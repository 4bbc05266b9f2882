"""The classifier among others: clones, pickles, searches, weights, and estimators of every kind."""

import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from curriculum_labeling import CurriculumLabelingClassifier
from tests.blobs import few_labels, fitted


def test_it_clones_pickles_and_repeats_itself(blobs):
    X, _, y = blobs
    model = CurriculumLabelingClassifier(RandomForestClassifier(10), random_state=3).fit(X, y)
    again = clone(model).fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    for other in (again, copy):
        np.testing.assert_array_equal(model.predict_proba(X), other.predict_proba(X))
    with pytest.raises(NotFittedError):
        clone(model).predict(X)


def test_a_pickle_does_not_carry_the_training_rows(blobs):
    X, _, y = blobs
    wide = np.hstack([np.repeat(X, 50, axis=1)])
    model = CurriculumLabelingClassifier(LogisticRegression()).fit(wide, y)
    assert len(pickle.dumps(model)) < wide.nbytes / 4


def test_every_fit_starts_fresh(blobs):
    X, _, y = blobs
    given = LogisticRegression()
    model = CurriculumLabelingClassifier(given).fit(X, y)
    assert not hasattr(given, "coef_")
    assert len({id(e) for e in model.estimators_}) == 4
    assert all(e.get_params() == given.get_params() for e in model.estimators_)


def test_another_seed_gives_another_forest(blobs):
    X, _, y = blobs
    a, b = (CurriculumLabelingClassifier(RandomForestClassifier(10), random_state=s).fit(X, y) for s in (0, 1))
    assert not np.array_equal(a.predict_proba(X), b.predict_proba(X))


def test_grid_search_tunes_both_it_and_its_estimator(blobs):
    X, truth, _y = blobs

    def known_accuracy(model, X, y):
        return accuracy_score(y[y != -1], model.predict(X[y != -1]))

    grid = {"step": [20, 50], "estimator__C": [0.1, 1.0]}
    search = GridSearchCV(
        CurriculumLabelingClassifier(LogisticRegression(), validation=None),
        grid,
        cv=3,
        scoring=known_accuracy,
        error_score="raise",
    ).fit(X, few_labels(truth, 12))
    assert search.best_score_ > 0.8
    assert set(search.best_params_) == {"step", "estimator__C"}


def test_sample_weight_reaches_the_estimator(blobs):
    X, _, y = blobs
    weights = np.where(y == 0, 50.0, 1.0)
    model = CurriculumLabelingClassifier(LogisticRegression())
    heavy = model.fit(X, y, sample_weight=weights).predict_proba(X)[:, 0].mean()
    plain = model.fit(X, y).predict_proba(X)[:, 0].mean()
    assert heavy > plain + 0.05


def test_sample_weight_reaches_the_last_step_of_a_pipeline(blobs):
    X, _, y = blobs
    seen = []

    class Watching(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            seen.append(sample_weight)
            return super().fit(X, y, sample_weight)

    CurriculumLabelingClassifier(make_pipeline(StandardScaler(), Watching()), validation=None).fit(X, y)
    assert seen[0] is None
    assert all(w is not None and w[0] == 3 for w in seen[1:])


def test_sample_weight_for_an_estimator_without_it_is_refused(blobs):
    X, _, y = blobs
    with pytest.raises(ValueError, match="the fit of KNeighborsClassifier takes none"):
        CurriculumLabelingClassifier(KNeighborsClassifier()).fit(X, y, sample_weight=np.ones(len(X)))


def test_metadata_routing_brings_weights_and_scores(blobs):
    X, _, y = blobs
    weights = np.where(y == 0, 50.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        asking = LogisticRegression().set_fit_request(sample_weight=True)
        heavy = CurriculumLabelingClassifier(asking).fit(X, y, sample_weight=weights)
        silent = CurriculumLabelingClassifier(LogisticRegression().set_fit_request(sample_weight=False))
        plain = silent.fit(X, y, sample_weight=weights)
        assert heavy.predict_proba(X)[:, 0].mean() > plain.predict_proba(X)[:, 0].mean() + 0.05
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), asking)
        routed = CurriculumLabelingClassifier(pipeline).fit(X, y, sample_weight=weights)
        assert routed.predict_proba(X)[:, 0].mean() > plain.predict_proba(X)[:, 0].mean() + 0.05
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError):
            CurriculumLabelingClassifier(LogisticRegression()).fit(X, y, sample_weight=weights)


def test_unknown_fit_parameters_are_refused_without_routing(blobs):
    X, _, y = blobs
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        CurriculumLabelingClassifier(LogisticRegression()).fit(X, y, groups=y)


def test_skorch_nets_work(blobs):
    torch = pytest.importorskip("torch")
    from skorch import NeuralNetClassifier

    torch.set_num_threads(1)
    X, truth, y = blobs
    net = NeuralNetClassifier(
        small_net, max_epochs=30, lr=0.1, train_split=None, verbose=0, criterion=torch.nn.CrossEntropyLoss
    )
    model = CurriculumLabelingClassifier(net, validation=None).fit(X.astype(np.float32), y)
    assert model.score(X.astype(np.float32), truth) > 0.85


def small_net():
    import torch

    torch.manual_seed(0)
    return torch.nn.Linear(4, 3)


@pytest.mark.parametrize(
    "estimator",
    [
        LinearSVC(),
        RidgeClassifier(),
        SVC(),
        KNeighborsClassifier(),
        GaussianNB(),
        HistGradientBoostingClassifier(max_iter=20, min_samples_leaf=2),
    ],
)
def test_classifiers_of_every_kind_work(blobs, estimator):
    X, truth, y = blobs
    model = CurriculumLabelingClassifier(estimator).fit(X, y)
    assert model.score(X, truth) > 0.75
    assert hasattr(model, "predict_proba") == hasattr(estimator, "predict_proba")


def test_a_margin_becomes_an_honest_confidence(blobs):
    X, _, y = blobs
    sharp = CurriculumLabelingClassifier(RidgeClassifier()).fit(X, y)
    assert sharp.temperature_ > 1.5  # ridge margins of about 1 stand for more than softmax(1) says
    assert fitted(blobs).temperature_ == 1.0


def test_two_classes_give_one_margin():
    X, y = make_blobs(100, centers=2, random_state=0)
    model = CurriculumLabelingClassifier(LogisticRegression()).fit(X, few_labels(y))
    assert model.decision_function(X).shape == (100,)
    assert ((model.decision_function(X) > 0) == (model.predict(X) == 1)).all()


def test_a_search_is_given_no_copies_of_a_label(blobs):
    X, _, y = blobs
    seen = []

    class Watching(KNeighborsClassifier):
        def fit(self, X, y):
            seen.append(len(np.unique(X, axis=0)) == len(X))
            return super().fit(X, y)

    search = GridSearchCV(Watching(), {"n_neighbors": [1, 3]}, cv=2)
    CurriculumLabelingClassifier(search, validation=None).fit(X, y)
    assert all(seen)


def test_one_vs_one_decision_values_are_refused():
    for classes, pairs in ((3, 3), (4, 6)):
        X, y = make_blobs(120, centers=classes, random_state=0)
        message = f"one decision value per class, got {pairs} values of pairs for {classes} classes"
        for svc in (
            SVC(decision_function_shape="ovo"),
            make_pipeline(StandardScaler(), SVC(decision_function_shape="ovo")),
        ):
            with pytest.raises(ValueError, match=message):
                CurriculumLabelingClassifier(svc).fit(X, few_labels(y))
