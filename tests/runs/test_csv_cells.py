import pytest
from hypothesis import given
from hypothesis import strategies as st

from curriculum_labeling.runs.csv_cells import plain_cell, safe_cell


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "'=1"])
def test_what_a_spreadsheet_would_run_becomes_text(text):
    assert safe_cell(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "cat", "it's", "'quoted'", "a=b", "1-2", "<b>", "猫"])
def test_other_text_stays_as_it_is(text):
    assert safe_cell(text) == text


@given(st.text(alphabet="'=+-@\t\r\nab") | st.text())
def test_every_text_comes_back_and_none_begins_with_a_sign(text):
    assert plain_cell(safe_cell(text)) == text
    assert not safe_cell(text).startswith(("=", "+", "-", "@", "\t", "\r"))
