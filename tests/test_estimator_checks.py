"""scikit-learn's own estimator checks; one cannot hold while -1 means unlabeled, and is declared."""

import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import parametrize_with_checks

from curriculum_labeling import CurriculumLabelingClassifier


def expected_failed_checks(_):
    return {"check_classifiers_classes": "its labels are -1 and 1, and -1 means unlabeled here"}


@pytest.mark.filterwarnings("ignore:y has no unlabeled row:UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
@pytest.mark.filterwarnings("ignore:divide by zero encountered:RuntimeWarning")  # GaussianNB, one class by weight
@parametrize_with_checks(
    [
        CurriculumLabelingClassifier(LogisticRegression()),
        CurriculumLabelingClassifier(GaussianNB()),
        CurriculumLabelingClassifier(RidgeClassifier()),
        CurriculumLabelingClassifier.paper(LogisticRegression()),
    ],
    expected_failed_checks=expected_failed_checks,
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)
