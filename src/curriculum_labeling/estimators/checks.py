"""What is refused before the first fit, each in one sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_outlier_detector, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags


def check_estimator(estimator: Any) -> None:
    """Refuse what cannot be fitted or says no confidence."""
    name = type(estimator).__name__
    if estimator is None or isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise TypeError(
            f"estimator must be a classifier object such as LogisticRegression(), got {estimator!r}; pass one."
        )
    if is_regressor(estimator) or is_outlier_detector(estimator):
        raise TypeError(f"estimator must be a classifier, got {name}, which is none.")
    if not hasattr(estimator, "predict_proba") and not hasattr(estimator, "decision_function"):
        raise TypeError(
            f"estimator must score its predictions with predict_proba or decision_function, got {name}, which has"
            " neither; wrap it in sklearn.calibration.CalibratedClassifierCV."
        )


def check_finite(X: Any, estimator: Any) -> None:
    """Refuse NaN and infinity anywhere in X before the first fit, where the estimator would refuse them later."""
    if isinstance(estimator, Pipeline) or get_tags(estimator).input_tags.allow_nan:
        return
    values = X.data if sp.issparse(X) else X.to_numpy() if hasattr(X, "to_numpy") else X
    if not isinstance(values, np.ndarray) or values.dtype.kind != "f" or np.isfinite(values).all():
        return
    kind = "NaN" if np.isnan(values).any() else "infinity"
    raise ValueError(
        f"Input X contains {kind}, which {type(estimator).__name__} does not accept; impute it, or use an estimator"
        " that does, such as HistGradientBoostingClassifier."
    )


def check_numbers(**options: Any) -> None:
    """Refuse options that should be numbers and are not."""
    for name, value in options.items():
        if isinstance(value, bool) or not isinstance(value, Real):
            raise TypeError(f"{name} must be a number, got {value!r}.")


def check_whole(name: str, value: Any, least: int) -> None:
    """Refuse an option that should be a whole number and is not."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be a whole number, at least {least}, got {value!r}.")


def as_shares(name: str, value: Any) -> tuple[float, ...]:
    """A list of numbers, as a tuple of floats."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise TypeError(f"{name} must be a list of numbers, got {value!r}.")
    return tuple(float(one) for one in value)
