import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, make_blobs
from sklearn.ensemble import HistGradientBoostingClassifier, IsolationForest, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from curriculum_labeling import CurriculumLabelingClassifier
from curriculum_labeling.estimators.rounds import RoundRecord


def few_labels(y, per_class=5, unlabeled=-1):
    """y with all but the first few labels of each class taken away."""
    kept = np.concatenate([np.flatnonzero(y == c)[:per_class] for c in np.unique(y)])
    hidden = np.full(len(y), unlabeled, dtype=object if isinstance(y[0], str) else y.dtype)
    hidden[kept] = y[kept]
    return hidden


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(240, centers=3, cluster_std=2.0, n_features=4, random_state=0)
    return X, y, few_labels(y)


def fitted(blobs, **options):
    X, _, y = blobs
    return CurriculumLabelingClassifier(LogisticRegression(), **options).fit(X, y)


def test_it_fills_in_every_label(blobs):
    X, truth, y = blobs
    model = fitted(blobs)
    assert model.termination_condition_ == "all_labeled"
    assert (model.transduction_[y != -1] == y[y != -1]).all()
    assert accuracy_score(truth, model.transduction_) > 0.9
    assert model.score(X, truth) > 0.9
    assert model.n_iter_ == 3


def test_the_rounds_tell_what_happened(blobs):
    model = fitted(blobs)
    assert all(isinstance(r, RoundRecord) for r in model.rounds_)
    assert [r.round for r in model.rounds_] == [0, 1, 2, 3]
    assert model.rounds_[0].selected == 0
    assert model.rounds_[-1].selected == (blobs[2] == -1).sum()
    assert model.rounds_[1].entered == model.rounds_[1].selected
    assert 0.5 < model.rounds_[1].threshold <= 1
    assert set(model.rounds_[1].class_counts) == {0, 1, 2}
    assert sum(model.rounds_[2].class_counts.values()) == model.rounds_[2].selected
    assert [r.validation_accuracy is not None for r in model.rounds_] == [True, False, False, True]
    assert all(r.seconds > 0 for r in model.rounds_)


def test_labeled_iter_is_0_for_labels_and_the_round_of_entry_for_the_rest(blobs):
    model = fitted(blobs)
    y = blobs[2]
    assert (model.labeled_iter_[y != -1] == 0).all()
    assert set(model.labeled_iter_[y == -1]) == {1, 2, 3}
    assert (model.labeled_iter_ == 1).sum() <= model.rounds_[1].selected


def test_the_average_is_half_labels_only_and_half_the_later_rounds(blobs):
    X, _, y = blobs
    model = fitted(blobs)
    assert model.delivered_ == "average"
    assert model.estimator_weights_.tolist() == [0.5, 1 / 6, 1 / 6, 1 / 6]
    labels_only = LogisticRegression().fit(X[y != -1], y[y != -1]).predict_proba(X)
    later = np.mean([e.predict_proba(X) for e in model.estimators_[1:]], axis=0)
    np.testing.assert_allclose(model.predict_proba(X), (labels_only + later) / 2, atol=1e-9)
    assert (model.predict(X) == model.classes_[model.predict_proba(X).argmax(axis=1)]).all()
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(model.predict_proba(X)))
    assert (model.classes_[model.decision_function(X).argmax(axis=1)] == model.predict(X)).all()


def test_the_paper_preset_is_algorithm_1_done_by_hand(blobs):
    X, _, y = blobs
    model = CurriculumLabelingClassifier.paper(LogisticRegression()).fit(X, y)
    labeled, unlabeled = np.flatnonzero(y != -1), np.flatnonzero(y == -1)
    by_hand = LogisticRegression().fit(X[labeled], y[labeled])
    for percentile in (80, 60, 40, 20, 0):
        p = by_hand.predict_proba(X[unlabeled])
        confidence = np.log1p(-np.sort(p, axis=1)[:, :-1].sum(axis=1))
        chosen = confidence >= np.percentile(confidence, percentile, method="higher")
        rows = np.concatenate([labeled, unlabeled[chosen]])
        by_hand = LogisticRegression().fit(X[rows], np.concatenate([y[labeled], p[chosen].argmax(axis=1)]))
    np.testing.assert_allclose(model.predict_proba(X), by_hand.predict_proba(X), atol=1e-6)
    assert model.delivered_ == 5
    assert len(model.estimators_) == 1


def test_a_label_can_be_taken_back():
    """SelfTrainingClassifier never does; here rows leave and flip between rounds."""
    X, y = load_digits(return_X_y=True)
    model = CurriculumLabelingClassifier.paper(GaussianNB(), step=10).fit(X[:600], few_labels(y[:600], 3))
    assert sum(r.left for r in model.rounds_) > 0
    assert sum(r.flipped for r in model.rounds_) > 0


def test_a_threshold_selects_as_self_training_does_in_its_first_round(blobs):
    from sklearn.semi_supervised import SelfTrainingClassifier

    X, _, y = blobs
    ours = CurriculumLabelingClassifier.paper(
        LogisticRegression(), criterion="threshold", threshold=0.8, max_iter=1
    ).fit(X, y)
    theirs = SelfTrainingClassifier(LogisticRegression(), threshold=0.8, max_iter=1).fit(X, y)
    assert (ours.transduction_ == theirs.transduction_).all()
    assert (ours.labeled_iter_ == theirs.labeled_iter_).all()
    assert ours.n_iter_ == theirs.n_iter_ == 1
    assert (ours.classes_ == theirs.classes_).all()
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9)


def test_k_best_adds_k_rows_a_round(blobs):
    model = fitted(blobs, criterion="k_best", k_best=20, max_iter=4)
    assert [r.selected for r in model.rounds_] == [0, 20, 40, 60, 80]
    assert model.termination_condition_ == "max_iter"


def test_a_threshold_nobody_reaches_ends_with_no_change(blobs):
    model = fitted(blobs, criterion="threshold", threshold=1.0)
    assert model.termination_condition_ == "no_change"
    assert (model.transduction_ == blobs[2]).all()
    assert (model.labeled_iter_[blobs[2] == -1] == -1).all()


def test_explicit_percentiles_and_max_iter_shorten_the_schedule(blobs):
    assert [r.percentile for r in fitted(blobs, percentiles=[90, 50]).rounds_] == [None, 90, 50]
    assert [r.percentile for r in fitted(blobs, step=20, max_iter=2).rounds_] == [None, 80, 60]


@pytest.mark.parametrize("balance", ["per-class", "labeled", "estimated", [0.2, 0.3, 0.5]])
def test_every_balance_ends_with_every_row(blobs, balance):
    assert fitted(blobs, balance=balance).rounds_[-1].selected == (blobs[2] == -1).sum()


def test_a_known_prior_is_followed(blobs):
    counts = fitted(blobs, balance=[0.6, 0.2, 0.2], percentiles=[80]).rounds_[1].class_counts
    assert counts[0] > 2 * max(counts[1], counts[2])


def test_soft_labels_share_a_row_between_two_classes(blobs):
    X, truth, _ = blobs
    model = fitted(blobs, soft_labels=True)
    assert model.score(X, truth) > 0.9
    assert not np.allclose(model.predict_proba(X), fitted(blobs).predict_proba(X))


def test_fine_tuning_goes_on_from_the_last_round(blobs):
    X, truth, y = blobs
    for estimator in (SGDClassifier(loss="log_loss", random_state=0), LogisticRegression(max_iter=3)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tuned = CurriculumLabelingClassifier(estimator, reinitialize=False).fit(X, y)
            fresh = CurriculumLabelingClassifier(estimator).fit(X, y)
        assert tuned.score(X, truth) > 0.9
        assert not np.allclose(tuned.predict_proba(X), fresh.predict_proba(X))


@pytest.mark.parametrize("validation", [0.4, 3, "auto"])
def test_validation_judges_every_round(blobs, validation):
    model = fitted(blobs, validation=validation)
    assert model.gain_.n == (6 if validation == 0.4 else 15)
    assert model.gain_.estimate is not None
    checked = [r.round for r in model.rounds_ if r.validation_accuracy is not None]
    assert checked == ([0, 3] if validation == "auto" else [0, 1, 2, 3])


def test_a_given_validation_set_judges_every_round(blobs):
    X, truth, _ = blobs
    model = fitted(blobs, validation=(X[:100], truth[:100]), combine="last")
    assert model.gain_.n == 100
    assert model.rounds_[-1].validation_accuracy == pytest.approx(model.score(X[:100], truth[:100]))


def test_a_held_out_fraction_is_not_trained_on(blobs):
    X, _, y = blobs
    seen = []

    class Watching(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            seen.append(len(X))
            return super().fit(X, y, sample_weight)

    CurriculumLabelingClassifier(Watching(), validation=0.4).fit(X, y)
    assert seen[0] == 9
    assert len(seen) == 4


def test_without_validation_the_gain_says_it_was_not_measured(blobs):
    model = fitted(blobs, validation=None)
    assert "was not measured: validation is None" in str(model.gain_)
    assert model.rounds_[0].validation_accuracy is None


def test_the_guard_delivers_labels_only_where_held_out_labels_show_harm():
    """A classifier that is right on its labels and learns nonsense from many rows."""
    X, y = make_blobs(400, centers=2, cluster_std=1.0, random_state=0)

    class Spoiled(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            super().fit(X, y, sample_weight)
            if len(X) > 60:
                self.coef_, self.intercept_ = -self.coef_, -self.intercept_
            return self

    hidden = few_labels(y, 20)
    guarded = CurriculumLabelingClassifier(Spoiled(), combine="last").fit(X, hidden)
    assert guarded.delivered_ == "labels-only"
    assert guarded.gain_.helped is False
    assert guarded.score(X, y) > 0.9
    unguarded = CurriculumLabelingClassifier(Spoiled(), combine="last", guard=False).fit(X, hidden)
    assert unguarded.delivered_ == 3
    assert unguarded.score(X, y) < 0.5


def test_the_later_rounds_are_delivered_alone_where_held_out_labels_leave_no_doubt():
    """A classifier that needs many rows: useless on the labels alone."""
    X, y = make_blobs(400, centers=2, cluster_std=1.0, random_state=0)

    class Slow(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            super().fit(X, y, sample_weight)
            if len(X) < 60:
                self.n_seen_ = len(X)
            return self

        def predict_proba(self, X):
            p = super().predict_proba(X)
            coin = np.abs(X).sum(axis=1, keepdims=True) * 1e4 % 1 < 0.4
            return np.where(coin & hasattr(self, "n_seen_"), 0.4 * p[:, ::-1] + 0.3, p)

    hidden = few_labels(y, 25)
    model = CurriculumLabelingClassifier(Slow(), match_classes=False).fit(X, hidden)
    assert model.gain_.helped is True
    assert model.delivered_ == "later rounds"
    np.testing.assert_allclose(model.estimator_weights_, [1 / 3] * 3)


def test_best_delivers_one_round(blobs):
    model = fitted(blobs, combine="best", validation=5)
    assert model.delivered_ == "labels-only" or model.delivered_ in (1, 2, 3)
    assert len(model.estimators_) == 1


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


def test_no_unlabeled_row_is_plain_supervised_training(blobs):
    X, truth, _ = blobs
    with pytest.warns(UserWarning, match="plain supervised training"):
        model = CurriculumLabelingClassifier(LogisticRegression()).fit(X, truth)
    np.testing.assert_array_equal(model.predict_proba(X), LogisticRegression().fit(X, truth).predict_proba(X))
    assert "there was no unlabeled row" in str(model.gain_)
    assert model.termination_condition_ == "all_labeled"
    assert model.delivered_ == "labels-only"


def test_a_class_with_a_single_label_is_warned_of_and_learned(blobs):
    X, _truth, y = blobs
    lonely = y.copy()
    lonely[np.flatnonzero(y == 2)[1:]] = -1
    with pytest.warns(UserWarning, match="a single label for class 2"):
        model = CurriculumLabelingClassifier(LogisticRegression()).fit(X, lonely)
    assert set(model.predict(X)) == {0, 1, 2}


def test_one_label_a_class_has_no_measured_gain(blobs):
    X, truth, _ = blobs
    with pytest.warns(UserWarning, match="a single label for classes 0, 1, 2"):
        model = CurriculumLabelingClassifier(LogisticRegression()).fit(X, few_labels(truth, 1))
    assert "every class has a single label" in str(model.gain_)


def test_verbose_prints_a_line_a_round(blobs, capsys):
    fitted(blobs, verbose=True)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert lines[1].startswith("round 1 of 3: ")


BAD = [
    ({"step": 0}, "step must be above 0 and at most 100 percent, got 0"),
    ({"criterion": "threshold", "threshold": 1.2}, r"threshold must be a probability in \[0, 1\], got 1.2"),
    ({"criterion": "best"}, "criterion must be one of 'percentile', 'threshold', 'k_best', got 'best'"),
    ({"criterion": "k_best", "k_best": 0}, "k_best must be a whole number, at least 1, got 0"),
    ({"criterion": "k_best", "k_best": 2.5}, "k_best must be a whole number, at least 1, got 2.5"),
    ({"combine": "first"}, "combine must be one of 'average', 'last', 'best', got 'first'"),
    ({"combine": "best", "validation": None}, "combine='best' needs held-out labels"),
    ({"max_iter": -1}, "max_iter must be a whole number, at least 0, got -1"),
    ({"max_iter": 2.5}, "max_iter must be a whole number, at least 0, got 2.5"),
    ({"balance": "even"}, "balance must be one of"),
    ({"balance": [0.5, 0.5]}, r"one share per class \(3 classes\), got 2 shares"),
    ({"labeled_weight": 0}, "labeled_weight must be a positive number"),
    ({"validation": 1}, "validation must be None, 'auto', a fraction"),
    ({"percentiles": [120]}, "percentiles must be one or more numbers from 0 to 100"),
]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"step": "a"}, "step must be a number, got 'a'"),
        ({"threshold": None}, "threshold must be a number, got None"),
        ({"labeled_weight": "3"}, "labeled_weight must be a number, got '3'"),
        ({"balance": {0: 0.6, 1: 0.2, 2: 0.2}}, "balance must be a list of numbers, got {0: 0.6"),
        ({"balance": 0.3}, "balance must be a list of numbers, got 0.3"),
        ({"percentiles": 50}, "percentiles must be a list of numbers, got 50"),
    ],
)
def test_options_of_the_wrong_kind_are_refused_by_name(blobs, options, message):
    with pytest.raises(TypeError, match=message):
        fitted(blobs, **options)


@pytest.mark.parametrize(("options", "message"), BAD)
def test_impossible_options_are_refused_in_one_sentence(blobs, options, message):
    with pytest.raises(ValueError, match=message):
        fitted(blobs, **options)


def test_an_estimator_without_scores_is_refused(blobs):
    X, _, y = blobs
    with pytest.raises(TypeError, match="KMeans, which has neither; wrap it in"):
        CurriculumLabelingClassifier(KMeans()).fit(X, y)
    with pytest.raises(TypeError, match="estimator must be a classifier object such as LogisticRegression"):
        CurriculumLabelingClassifier().fit(X, y)


def test_a_regressor_or_outlier_detector_is_refused(blobs):
    X, _, y = blobs
    for estimator in (LinearRegression(), IsolationForest()):
        with pytest.raises(TypeError, match="estimator must be a classifier, got"):
            CurriculumLabelingClassifier(estimator).fit(X, y)


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


def test_no_limit_takes_every_row_and_zero_rounds_is_labels_only(blobs):
    X, _, y = blobs
    everything = fitted(blobs, criterion="k_best", k_best=20, max_iter=None, validation=None)
    assert everything.termination_condition_ == "all_labeled"
    assert everything.n_iter_ == 12
    none = fitted(blobs, max_iter=0)
    assert none.delivered_ == "labels-only"
    assert "max_iter is 0" in str(none.gain_)
    assert (none.transduction_ == y).all()
    assert none.score(X, blobs[1]) > 0.8


def test_best_judges_every_round_by_default(blobs):
    model = fitted(blobs, combine="best")
    assert all(r.validation_accuracy is not None for r in model.rounds_)


def test_soft_labels_and_fine_tuning_need_an_estimator_that_can(blobs):
    X, _, y = blobs
    with pytest.raises(ValueError, match="soft_labels needs an estimator whose fit takes sample_weight"):
        CurriculumLabelingClassifier(KNeighborsClassifier(), soft_labels=True).fit(X, y)
    with pytest.raises(ValueError, match="reinitialize=False needs an estimator with partial_fit or warm_start"):
        CurriculumLabelingClassifier(RandomForestClassifier(), reinitialize=False).fit(X, y)
    with pytest.raises(ValueError, match="partial_fit or warm_start, got HistGradientBoostingClassifier"):
        CurriculumLabelingClassifier(HistGradientBoostingClassifier(), reinitialize=False).fit(X, y)


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
