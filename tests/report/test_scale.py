import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curriculum_labeling.report.scale import Scale, common_scale


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.booleans())
def test_every_confidence_has_its_place_in_one_bin(confidences, stretched):
    counts, _ = Scale(stretched).histogram(np.array(confidences))
    assert counts.sum() == len(confidences)


def test_the_axis_is_stretched_where_most_is_sure():
    assert common_scale([np.full(10, 0.999)]).stretched
    assert not common_scale([np.full(10, 0.6)]).stretched
    assert common_scale([]) == Scale(stretched=False)


def test_a_step_of_the_stretched_axis_leaves_a_tenth_of_the_doubt():
    assert Scale(stretched=True).place(np.array([0.0, 0.9, 0.99, 1.0])) == pytest.approx([0, 1, 2, 6])
