"""What `y` says: which rows are labeled, and the class number of each."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from curriculum_labeling.labels import IntArray

UNLABELED = -1


@dataclass(frozen=True)
class Targets:
    """Class numbers per row (-1 where unlabeled), and the classes they number, sorted."""

    codes: IntArray
    classes: Any

    @property
    def labeled(self) -> IntArray:
        """Row numbers that carry a label."""
        return np.flatnonzero(self.codes != UNLABELED)

    @property
    def unlabeled(self) -> IntArray:
        """Row numbers without a label."""
        return np.flatnonzero(self.codes == UNLABELED)

    def decode(self, codes: IntArray) -> Any:
        """The user's labels behind class numbers; -1 stays -1, which strings need an object array for."""
        if (codes != UNLABELED).all():
            return self.classes[codes]
        labels = np.full(
            len(codes), UNLABELED, dtype=object if self.classes.dtype.kind in "OUSb" else self.classes.dtype
        )
        labels[codes != UNLABELED] = self.classes[codes[codes != UNLABELED]]
        return labels


def read_targets(y: Any) -> Targets:
    """Tell labeled rows from unlabeled ones: -1, and for strings and objects also None and NaN."""
    y = column_or_1d(_as_array(y), warn=True)
    if y.dtype.kind in "OUST":
        missing = np.array([_is_missing(value) for value in y], dtype=bool)
    elif y.dtype.kind == "f":
        if np.isinf(y).any():
            raise ValueError("Input y contains infinity; labels must be finite, and -1 or NaN where unlabeled.")
        missing = np.isnan(y) | (y == UNLABELED)
    elif y.dtype.kind == "b":
        missing = np.zeros(len(y), dtype=bool)
    else:
        missing = y == UNLABELED
    known = y[~missing]
    if not len(known):
        raise ValueError(
            f"y must hold at least one labeled row, got {len(y)} rows that are all unlabeled (-1, None or NaN);"
            " label a few rows of each class."
        )
    known = _one_type(known) if y.dtype.kind == "O" else known
    check_classification_targets(known)
    classes, numbers = np.unique(known, return_inverse=True)
    codes = np.full(len(y), UNLABELED, dtype=np.int64)
    codes[~missing] = numbers
    return Targets(codes, classes)


def check_targets(targets: Targets) -> None:
    """Refuse what cannot be learned, and warn of what can hardly be."""
    if len(targets.classes) < 2:
        raise ValueError(
            f"y must hold labels of at least two classes, got only one class: {targets.classes[0]!r};"
            " label some rows of another class."
        )
    counts = np.bincount(targets.codes[targets.labeled])
    if not len(targets.unlabeled):
        warnings.warn(
            "y has no unlabeled row (-1), so this is plain supervised training of the estimator; mark"
            " unlabeled rows with -1 or pass X_unlabeled.",
            UserWarning,
            stacklevel=3,
        )
    elif counts.min() == 1:
        single = [str(targets.classes[c]) for c in np.flatnonzero(counts == 1)]
        warnings.warn(
            f"y has a single label for {'class' if len(single) == 1 else 'classes'} {', '.join(single[:5])}"
            f"{' and others' if len(single) > 5 else ''}, so nothing can be held out to check it; label at least two"
            " rows of each class.",
            UserWarning,
            stacklevel=3,
        )


def _as_array(y: Any) -> Any:
    if y is None:
        raise ValueError(
            "requires y to be passed, but the target y is None; pass labels, with -1 for each unlabeled row."
        )
    if hasattr(y, "to_numpy"):
        return y.to_numpy()
    if isinstance(y, list | tuple) and any(isinstance(value, str) for value in y):
        return np.asarray(y, dtype=object)  # or numpy would write -1 as a string
    try:
        return np.asarray(y)
    except ValueError:
        return np.asarray(y, dtype=object)


def _is_missing(value: Any) -> bool:
    """-1, None, NaN and pandas' NA mark an unlabeled row."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
        return False
    return bool(np.isnan(value) or value == UNLABELED)


def _one_type(known: Any) -> Any:
    """Objects as the plain array they mean; strings and numbers together are refused."""
    kinds = {"number" if isinstance(v, int | float | np.number | bool) else type(v).__name__ for v in known}
    if len(kinds) > 1:
        raise ValueError(
            f"y must hold labels of one type, got {', '.join(sorted(kinds))}; unlabeled rows are -1, None or NaN."
        )
    return np.array(known.tolist()) if kinds <= {"number"} else known
