import numpy as np
import pandas as pd
import polars as pl
import pytest

from curriculum_labeling.estimators.targets import check_targets, read_targets


@pytest.mark.parametrize(
    "y",
    [
        np.array([0, 2, -1, 2]),
        np.array([0.0, 2.0, np.nan, 2.0]),
        np.array([0.0, 2.0, -1.0, 2.0]),
        np.array([0, 2, None, 2], dtype=object),
        [0, 2, -1, 2],
        pd.Series([0, 2, None, 2]),
        pd.Series([0, 2, pd.NA, 2], dtype="Int64"),
        pl.Series([0, 2, -1, 2]),
    ],
)
def test_numbers_mark_unlabeled_rows_by_minus_one_none_or_nan(y):
    targets = read_targets(y)
    assert targets.codes.tolist() == [0, 1, -1, 1]
    assert targets.classes.tolist() == [0, 2]


@pytest.mark.parametrize(
    "y",
    [
        np.array(["cat", "dog", None, "dog"], dtype=object),
        np.array(["cat", "dog", np.nan, "dog"], dtype=object),
        np.array(["cat", "dog", -1, "dog"], dtype=object),
        ["cat", "dog", None, "dog"],
        ["cat", "dog", -1, "dog"],
        ["cat", "dog", float("nan"), "dog"],
        pd.Series(["cat", "dog", None, "dog"]),
        pl.Series(["cat", "dog", None, "dog"]),
    ],
)
def test_strings_mark_unlabeled_rows_by_minus_one_none_or_nan(y):
    targets = read_targets(y)
    assert targets.codes.tolist() == [0, 1, -1, 1]
    assert targets.classes.tolist() == ["cat", "dog"]
    assert targets.decode(targets.codes).tolist() == ["cat", "dog", -1, "dog"]


def test_booleans_are_two_classes():
    assert read_targets(np.array([True, False])).codes.tolist() == [1, 0]


def test_no_labeled_row_is_refused():
    with pytest.raises(ValueError, match="at least one labeled row, got 3 rows that are all unlabeled"):
        read_targets([-1, -1, -1])


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="at least two classes, got only one class"):
        check_targets(read_targets([1, 1, -1]))


def test_mixed_types_are_refused():
    with pytest.raises(ValueError, match="labels of one type, got number, str"):
        read_targets(np.array(["cat", 3, None], dtype=object))


def test_infinite_labels_are_refused():
    with pytest.raises(ValueError, match="Input y contains infinity"):
        read_targets(np.array([0.0, np.inf]))


def test_a_class_with_a_single_label_is_warned_of():
    with pytest.warns(UserWarning, match="a single label for class 1, so nothing can be held out"):
        check_targets(read_targets([0, 0, 1, -1]))


def test_no_unlabeled_row_is_said_to_be_plain_supervised():
    with pytest.warns(UserWarning, match="plain supervised training"):
        check_targets(read_targets([0, 0, 1, 1]))
