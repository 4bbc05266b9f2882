"""The classifier: what its rounds do, and what it delivers."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_blobs
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import accuracy_score
from sklearn.naive_bayes import GaussianNB

from curriculum_labeling import CurriculumLabelingClassifier
from curriculum_labeling.estimators.rounds import RoundRecord
from tests.blobs import few_labels, fitted


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
