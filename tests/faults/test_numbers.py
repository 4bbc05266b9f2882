"""Numbers that go wrong, and data that hardly are any: a sensible result, or one clear sentence."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from curriculum_labeling import CurriculumLabelingClassifier, Labels, PercentilePacing, Scores, curriculum
from curriculum_labeling.cli import main
from curriculum_labeling.data.images import Images
from curriculum_labeling.pacing import BALANCES, BestPacing, ThresholdPacing
from curriculum_labeling.runs.probe import ProbeLearner
from curriculum_labeling.vision.config import TrainingConfig
from curriculum_labeling.vision.learner import ImageLearner
from curriculum_labeling.vision.schedule import Budget
from curriculum_labeling.vision.training import DivergedError
from tests.test_cli import QUICK, fit, lay_out
from tests.toys import NearestMeanLearner, ScriptedLearner
from tests.vision.small import with_norm

PACINGS = (PercentilePacing(), ThresholdPacing(0.9, 3), BestPacing(2, 3))


def rounds_of(learner, labels, unlabeled, pacing=None, **options):
    """Every round, after checking what must hold in each."""
    found = list(curriculum(learner, labels, np.array(unlabeled, dtype=np.int64), pacing=pacing, **options))
    for one in found:
        assert len(np.unique(one.labels.rows)) == len(one.labels.rows)
        assert np.isfinite(one.labels.confidence).all()
        assert one.labels.classes[: labels.given].tolist() == labels.classes.tolist()
    return found


# The core


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("make", [Scores.from_logits, Scores.from_probabilities])
def test_scores_that_are_no_numbers_are_one_sentence(bad, make):
    table = np.ones((4, 3))
    table[2, 1] = bad
    with pytest.raises(ValueError, match="must be finite, got NaN or infinity in 1 of 4 rows"):
        make(np.arange(4), table)


def test_confidences_that_are_no_numbers_are_one_sentence():
    class Model:
        def score(self, rows):
            scores = Scores.from_logits(rows, np.zeros((len(rows), 2)))
            scores.log_confidence[1] = math.nan
            return scores

    class Learner:
        def fit(self, labels, *, seed):
            return Model()

    with pytest.raises(ValueError, match="must have a confidence for every row, got NaN in 1 of 8 rows"):
        rounds_of(Learner(), Labels.of([0, 1], [0, 1]), range(2, 10))


@pytest.mark.parametrize("pacing", PACINGS, ids=lambda one: type(one).__name__)
def test_scores_that_are_all_equal_let_all_rows_in_at_once_or_none(pacing):
    learner = ScriptedLearner(np.full((22, 2), 0.5))
    found = rounds_of(learner, Labels.of([0, 1], [0, 1]), range(2, 22), pacing)
    expected = 0 if isinstance(pacing, ThresholdPacing) else 20
    assert [one.selected for one in found[1:]] == [expected] * pacing.rounds


@pytest.mark.parametrize("table", [np.eye(3)[np.arange(30) % 3], np.eye(3)[np.arange(30) % 3] * 1e300])
@pytest.mark.parametrize("pacing", PACINGS, ids=lambda one: type(one).__name__)
def test_saturated_scores_are_ties_of_certainty(table, pacing):
    found = rounds_of(ScriptedLearner(table), Labels.of([0, 1, 2], [0, 1, 2]), range(3, 30), pacing)
    assert found[-1].selected == 27
    assert found[-1].threshold == 1.0


def test_saturated_logits_keep_their_order():
    logits = np.stack([np.linspace(20, 700, 50), np.zeros(50)], axis=1)
    scores = Scores.from_logits(np.arange(50), logits)
    assert (np.diff(scores.log_confidence) > 0).all()
    assert np.isfinite(Scores.from_logits(np.arange(1), np.array([[1e308, -1e308]])).log_confidence).all()


@pytest.mark.parametrize("balance", [*BALANCES, (0.0, 0.0, 1.0)])
def test_a_class_that_no_row_is_predicted_as_takes_none_and_stops_nothing(balance):
    table = np.tile([0.6, 0.4, 0.0], (22, 1))
    labels = Labels.of([0, 1, 2], [0, 1, 2])
    found = rounds_of(ScriptedLearner(table), labels, range(3, 22), PercentilePacing(balance=balance))
    assert found[-1].selected == 19
    assert not (found[-1].labels.pseudo_classes == 2).any()


@pytest.mark.parametrize("balance", BALANCES)
def test_a_threshold_that_no_row_reaches_leaves_labels_only(balance):
    learner = ScriptedLearner(np.tile([0.6, 0.4], (22, 1)))
    found = rounds_of(learner, Labels.of([0, 1], [0, 1]), range(2, 22), ThresholdPacing(0.99, 3, balance))
    assert [one.selected for one in found] == [0, 0, 0, 0]
    assert found[-1].threshold == math.inf


@pytest.mark.parametrize("unlabeled", [0, 1, 2])
@pytest.mark.parametrize("balance", BALANCES)
def test_hardly_any_unlabeled_rows_are_enough(unlabeled, balance):
    learner = NearestMeanLearner(np.arange(5.0)[:, None], 2)
    found = rounds_of(learner, Labels.of([0, 4], [0, 1]), range(1, 1 + unlabeled), PercentilePacing(balance=balance))
    assert found[-1].selected == unlabeled


@pytest.mark.parametrize("balance", BALANCES)
def test_a_thousand_classes_of_which_three_have_a_label(balance):
    rng = np.random.default_rng(0)
    learner = NearestMeanLearner(rng.normal(size=(303, 8)), 1000)
    labels = Labels.of([0, 1, 2], [7, 500, 999])
    found = rounds_of(learner, labels, range(3, 303), PercentilePacing(balance=balance), classes=1000)
    assert found[-1].selected == 300


def test_classes_that_no_label_counts_are_one_sentence():
    learner = NearestMeanLearner(np.random.default_rng(0).normal(size=(303, 8)), 1000)
    with pytest.raises(ValueError, match=r"scores must be of the 3 classes .* got class \d+; say classes=…"):
        rounds_of(learner, Labels.of([0, 1, 2], [0, 1, 2]), range(3, 303))
    with pytest.raises(ValueError, match="classes from 0 on, got -1; leave unlabeled rows out"):
        rounds_of(learner, Labels.of([0, 1], [0, -1]), range(3, 303))


@pytest.mark.parametrize("balance", BALANCES)
def test_one_row_in_a_thousand_is_not_lost(balance):
    X = np.concatenate([np.zeros(2000), np.full(2, 50.0)])[:, None] + np.linspace(0, 1, 2002)[:, None]
    labels = Labels.of([0, 2000], [0, 1])
    found = rounds_of(NearestMeanLearner(X, 2), labels, [*range(1, 2000), 2001], PercentilePacing(balance=balance))
    last = found[-1].labels
    assert last.classes[last.rows == 2001].tolist() == [1]
    assert (last.pseudo_classes == 1).sum() == 1


@settings(max_examples=25, deadline=None)
@given(
    exponents=st.lists(st.floats(-300, 300), min_size=4, max_size=40),
    step=st.sampled_from([1.0, 33.4, 100.0]),
    balance=st.sampled_from(BALANCES),
)
def test_probabilities_of_any_size_give_rounds(exponents, step, balance):
    n = len(exponents) // 2
    table = np.exp(np.array(exponents[: 2 * n])).reshape(n, 2)
    learner = ScriptedLearner(np.concatenate([table, table]))
    found = rounds_of(learner, Labels.of([0, 1], [0, 1]), range(2, 2 * n), PercentilePacing.by(step, balance=balance))
    assert found[-1].selected == 2 * n - 2


# The scikit-learn door


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


# The image learner


def pictures(count, classes, size=8, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % classes
    pixels = rng.integers(0, 60, (count, size, size, 3)) + (labels * 97 % 190)[:, None, None, None]
    return Images(pixels.astype(np.uint8), labels, tuple(f"c{i}" for i in range(classes)))


def learner_of(images, **options):
    chosen = {"network": with_norm, "budget": Budget(steps=3), "batch_size": 8, "augmentation": "none", **options}
    return ImageLearner(images, TrainingConfig(**chosen), device="cpu")


def image_rounds(images, labeled, **options):
    labels = Labels.of(labeled, images.labels[labeled])
    rest = np.setdiff1d(np.arange(len(images)), labeled)
    pacing = PercentilePacing((50.0, 0.0))
    return rounds_of(learner_of(images, **options), labels, rest, pacing, classes=len(images.classes))


@pytest.mark.parametrize("rate", [1e6, 1e20, 1e38])
def test_a_learning_rate_that_explodes_is_one_sentence_or_finite_scores(rate):
    images = pictures(24, 3)
    try:
        found = image_rounds(images, range(6), learning_rate=rate, budget=Budget(steps=20))
    except (DivergedError, ValueError) as error:
        said = str(error)
        assert "training diverged in round 0" in said or "must be finite, got NaN or infinity" in said
        assert said.endswith(".")
        return
    assert np.isfinite(found[-1].scores.log_confidence).all()


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_loss_that_is_no_number_is_one_sentence(value):
    images = pictures(24, 3)
    with pytest.raises(DivergedError, match=r"training diverged in round 0, epoch 1, at learning rate .*; lower"):
        image_rounds(images, range(6), objective=lambda network, batch: network(batch.images).sum() * value)


@pytest.mark.parametrize("whitening", [False, True])
@pytest.mark.parametrize("level", [0, 128, 255])
def test_constant_images_are_learned_as_what_they_are(level, whitening):
    images = pictures(12, 2)
    same = Images(np.full_like(images.pixels, level), images.labels, images.classes)
    found = image_rounds(same, range(4), whitening=whitening)
    assert found[-1].selected == 8
    assert np.isfinite(found[-1].scores.log_confidence).all()


def test_one_image_is_enough():
    found = image_rounds(pictures(1, 2), [0])
    assert [one.selected for one in found] == [0, 0, 0]
    found = image_rounds(pictures(3, 2), [0, 1])
    assert found[-1].selected == 1
    with pytest.raises(ValueError, match="classes must be 2 or more, got 1"):
        image_rounds(pictures(1, 1), [0])


def test_a_thousand_classes_with_three_labels():
    images = pictures(1000, 1000)
    found = image_rounds(images, [0, 1, 2])
    assert found[-1].selected == 997
    assert found[-1].labels.classes.max() < 1000


def test_one_image_in_a_thousand():
    images = pictures(1003, 2)
    labels = np.zeros(1003, dtype=np.int64)
    labels[[1, 1002]] = 1
    found = image_rounds(Images(images.pixels, labels, images.classes), [0, 1, 2, 3])
    assert found[-1].selected == 999


@pytest.mark.parametrize("scale", [0.0, 1e-30, 1e18])
def test_a_probe_takes_features_of_any_size(scale):
    features = (np.random.default_rng(0).normal(size=(30, 5)) * scale).astype(np.float32)
    found = rounds_of(ProbeLearner(features, 3), Labels.of([0, 1, 2], [0, 1, 2]), range(3, 30), classes=3)
    assert found[-1].selected == 27
    assert np.isfinite(found[-1].scores.log_confidence).all()


# The command


def test_a_fit_that_diverges_is_one_sentence(tmp_path, capsys, monkeypatch):
    folder = lay_out(tmp_path)
    monkeypatch.setattr("curriculum_labeling.vision.training.DIVERGED", -1.0)
    assert main(fit(folder, *QUICK, "--features", "none")) == 2
    said = capsys.readouterr().err
    assert said.startswith("training diverged in round 0, epoch 1")
    assert said.count("\n") == 1


def test_a_fit_to_constant_images_is_one_sentence(tmp_path, capsys):
    folder = lay_out(tmp_path)
    for file in (*folder.glob("labeled/*/*"), *folder.glob("unlabeled/*")):
        Image.new("RGB", (16, 16), "gray").save(file)
    assert main(fit(folder, *QUICK, "--features", "none")) == 2
    assert "labeled as two classes" in capsys.readouterr().err.replace("\n", " ")


def test_a_fit_with_one_unlabeled_image_ends_well(tmp_path):
    folder = lay_out(tmp_path, labeled=2, unlabeled=1)
    for file in list(folder.glob("unlabeled/*"))[1:]:
        file.unlink()
    assert main(fit(folder, *QUICK, "--features", "none")) == 0
    assert len((folder / "run/ledger.csv").read_text().splitlines()) == 2
