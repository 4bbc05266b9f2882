"""What is refused before the first fit, each in one sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags


def check_estimator(estimator: Any) -> None:
    """Refuse what cannot be fitted or says no confidence."""
    name = type(estimator).__name__
    if estimator is None or isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise TypeError(
            f"estimator must be a classifier object such as LogisticRegression(), got {estimator!r}; pass one."
        )
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
