import numpy as np
import pytest

from curriculum_labeling.report.tables import confusion


def test_rows_are_given_and_columns_predicted():
    table = confusion(("a", "b"), np.array([0, 0, 1, -1]), np.array([0, 1, 1, 0]))
    assert table.matrix.tolist() == [[1, 1], [0, 1]]
    assert table.total == 3
    assert table.accuracy == pytest.approx(2 / 3)
    assert table.top() == [("a", "b", 1, 0.5)]


def test_a_class_without_labels_has_no_recall():
    table = confusion(("a", "b"), np.array([0]), np.array([1]))
    assert table.recall(0) == 0
    assert table.recall(1) is None


def test_without_known_classes_there_is_no_table():
    assert confusion(("a",), np.array([-1]), np.array([0])) is None
