"""What the classifier refuses to be given."""

import pytest
from sklearn.cluster import KMeans
from sklearn.ensemble import HistGradientBoostingClassifier, IsolationForest, RandomForestClassifier
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsClassifier

from curriculum_labeling import CurriculumLabelingClassifier
from tests.blobs import fitted

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
    ({"percentiles": [120]}, "percentiles must be numbers from 0 to 100"),
    ({"percentiles": []}, "percentiles must be one or more numbers from 0 to 100, got none"),
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


def test_soft_labels_and_fine_tuning_need_an_estimator_that_can(blobs):
    X, _, y = blobs
    with pytest.raises(ValueError, match="soft_labels needs an estimator whose fit takes sample_weight"):
        CurriculumLabelingClassifier(KNeighborsClassifier(), soft_labels=True).fit(X, y)
    with pytest.raises(ValueError, match="reinitialize=False needs an estimator with partial_fit or warm_start"):
        CurriculumLabelingClassifier(RandomForestClassifier(), reinitialize=False).fit(X, y)
    with pytest.raises(ValueError, match="partial_fit or warm_start, got HistGradientBoostingClassifier"):
        CurriculumLabelingClassifier(HistGradientBoostingClassifier(), reinitialize=False).fit(X, y)
