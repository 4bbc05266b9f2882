import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curriculum_labeling.report.bins import calibrated, reliability

shares = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=50)


@given(shares)
def test_every_label_is_in_one_bin(pairs):
    curve = reliability(np.array([p for p, _ in pairs]), np.array([right for _, right in pairs]))
    assert curve.counts.sum() == len(pairs)
    assert (curve.counts > 0).all()
    assert 0 <= curve.gap <= 1


def test_a_model_that_is_as_often_right_as_it_says_has_no_gap():
    assert reliability(np.full(10, 0.8), np.arange(10) < 8).gap == pytest.approx(0)


def test_probabilities_are_read_off_rows_that_have_both():
    known = np.linspace(0, 1, 101)
    assert calibrated(np.array([0.2, 0.9]), known, known**2) == pytest.approx([0.04, 0.81], abs=0.01)


def test_without_probabilities_there_is_nothing_to_read_off():
    assert calibrated(np.array([0.5]), np.array([0.5]), np.array([np.nan])) is None
