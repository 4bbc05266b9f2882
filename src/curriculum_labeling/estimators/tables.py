"""Rows of whatever X is: arrays, sparse matrices, pandas and polars frames, lists of texts."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from curriculum_labeling.labels import IntArray


def as_table(X: Any) -> Any:
    """X in a form whose rows can be taken by number, otherwise untouched."""
    if sp.issparse(X):
        return X.tocsr()
    if isinstance(X, np.ndarray | list) or hasattr(X, "iloc") or hasattr(X, "vstack"):
        return X
    return np.asarray(X)


def take(X: Any, rows: IntArray) -> Any:
    """These rows of X, as the same kind of table."""
    return X[rows] if isinstance(X, np.ndarray) else _safe_indexing(X, rows)


def stack(above: Any, below: Any) -> Any:
    """Two tables of one kind and the same columns, one above the other."""
    if sp.issparse(above) or sp.issparse(below):
        _check_width(np.shape(above), np.shape(below))
        return sp.vstack([sp.csr_matrix(above), sp.csr_matrix(below)]).tocsr()
    if type(above) is not type(below):
        raise TypeError(
            f"X_unlabeled must be the same kind of table as X, got {type(below).__name__} and {type(above).__name__};"
            " convert one of them."
        )
    if isinstance(above, list):
        return above + below
    if hasattr(above, "columns"):
        below = _same_columns(above, below)
    if hasattr(above, "iloc"):
        import pandas

        return pandas.concat([above, below], ignore_index=True)
    if hasattr(above, "vstack"):
        return above.vstack(below)
    _check_width(np.shape(above), np.shape(below))
    return np.concatenate([np.asarray(above), np.asarray(below)])


def _same_columns(above: Any, below: Any) -> Any:
    """The columns of X_unlabeled in the order of X's; other columns are refused."""
    wanted, found = list(above.columns), list(below.columns)
    if set(map(str, wanted)) != set(map(str, found)):
        unlike = sorted(set(map(str, wanted)) ^ set(map(str, found)))
        raise ValueError(f"X_unlabeled must have the columns of X, got a difference in {', '.join(unlike[:5])}.")
    return below[wanted]


def _check_width(above: tuple[int, ...], below: tuple[int, ...]) -> None:
    if above[1:] != below[1:]:
        raise ValueError(f"X_unlabeled must have the columns of X, got shapes {below} and {above}.")


def count_rows(X: Any) -> int:
    """How many rows X has."""
    return int(_num_samples(X))
