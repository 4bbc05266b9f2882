"""The options of the classifier: checked by name, and what they mean for rounds and weights."""

from __future__ import annotations

from typing import Any

from curriculum_labeling.estimators.checks import as_shares, check_estimator, check_numbers, check_whole
from curriculum_labeling.estimators.ensemble import COMBINES
from curriculum_labeling.estimators.learner import FineTuningLearner, weight_parameter
from curriculum_labeling.estimators.validation import check_validation
from curriculum_labeling.estimators.weighting import Weighting
from curriculum_labeling.pacing import BestPacing, Pacing, PercentilePacing, ThresholdPacing

CRITERIA = ("percentile", "threshold", "k_best")
NO_LIMIT = 1000  # rounds; a fixed threshold could go to and fro for ever
DEFAULT_MAX_ITER = 10  # of criteria without an end of their own, as in SelfTrainingClassifier


def read_options(given: Any) -> tuple[Pacing, Weighting]:
    """What a classifier was given, every option checked once, before any work."""
    check_estimator(given.estimator)
    if given.criterion not in CRITERIA:
        raise ValueError(f"criterion must be one of {', '.join(map(repr, CRITERIA))}, got {given.criterion!r}.")
    if given.combine not in COMBINES:
        raise ValueError(f"combine must be one of {', '.join(map(repr, COMBINES))}, got {given.combine!r}.")
    if given.combine == "best" and given.validation is None:
        raise ValueError("combine='best' needs held-out labels to judge by, got validation=None; try validation=5.")
    check_numbers(step=given.step, threshold=given.threshold, labeled_weight=given.labeled_weight)
    check_whole("k_best", given.k_best, 1)
    if given.max_iter is not None and given.max_iter != "auto":
        check_whole("max_iter", given.max_iter, 0)
    if given.soft_labels and weight_parameter(given.estimator) is None:
        raise ValueError(
            f"soft_labels needs an estimator whose fit takes sample_weight, got {type(given.estimator).__name__};"
            " use soft_labels=False."
        )
    if not given.reinitialize:
        FineTuningLearner.check(given.estimator)
    check_validation(given.validation)
    weighting = Weighting(given.labeled_weight, bool(given.match_classes), bool(given.weigh_by_margin))
    return _pacing(given), weighting


def _pacing(given: Any) -> Pacing:
    balance: Any = given.balance if isinstance(given.balance, str) else as_shares("balance", given.balance)
    most: dict[Any, int] = {"auto": DEFAULT_MAX_ITER, None: NO_LIMIT, 0: 1}
    rounds = most[given.max_iter] if given.max_iter in most else int(given.max_iter)
    if given.criterion == "threshold":
        return ThresholdPacing(given.threshold, rounds, balance, strict=True)
    if given.criterion == "k_best":
        return BestPacing(given.k_best, rounds, balance)
    if given.percentiles is not None:
        pacing = PercentilePacing(as_shares("percentiles", given.percentiles), balance)
        if not pacing.rounds:
            raise ValueError("percentiles must be one or more numbers from 0 to 100, got none.")
    else:
        pacing = PercentilePacing.by(given.step, balance=balance)
    return PercentilePacing(pacing.percentiles[: None if given.max_iter == "auto" else rounds], balance)
