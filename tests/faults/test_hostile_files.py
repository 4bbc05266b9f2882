"""Files that are damaged, or made up: a value or one sentence comes out."""

import json
import shutil

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from curriculum_labeling.report.page import write_report
from tests.faults.fuzzing import Loader, fuzz, made
from tests.faults.loaders import LOADERS
from tests.faults.run_files import RUN_FILES, save_run

FAST, SOAK, PAGES = range(8), range(8, 600), range(12)
BY_NAME = {loader.name: loader for loader in LOADERS}
# JSON and text from nothing, for the loaders that read them.
TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(st.text(max_size=12), inside, max_size=4),
    max_leaves=12,
)
JSON_LOADERS = [loader for loader in LOADERS if loader.target.endswith((".json", ".jsonl"))]
TEXT_LOADERS = [loader for loader in LOADERS if loader.target.endswith((".csv", ".yaml", ".txt"))]


@pytest.mark.parametrize("loader", LOADERS, ids=lambda one: one.name)
def test_damaged_files_are_read_or_refused_in_a_sentence(loader, tmp_path):
    assert fuzz(loader, tmp_path, FAST).inputs == len(FAST)


@pytest.mark.soak
@pytest.mark.parametrize("loader", LOADERS, ids=lambda one: one.name)
def test_many_damaged_files_are_read_or_refused_in_a_sentence(loader, tmp_path, capsys):
    tally = fuzz(loader, tmp_path, SOAK)
    with capsys.disabled():
        print(f"\n{loader.name}: {tally.inputs} inputs, {tally.refused} refused, slowest {tally.slowest:.2f} s", end="")


@pytest.mark.soak
@pytest.mark.parametrize("name", [*RUN_FILES, "ledger.csv", "suggestions.csv", "rounds/1/scores.npz"])
def test_a_damaged_run_has_a_report_or_a_sentence(name, tmp_path):
    loader = Loader(f"page of {name}", save_run, f"run/{name}", lambda folder: write_report(folder / "run"))
    fuzz(loader, tmp_path, PAGES)


def try_all(loaders, folder, data):
    for loader in loaders:
        place = folder / loader.name
        if not place.exists():
            shutil.copytree(made(loader.make), place)
        loader.attempt(place, data)


def made_up(examples):
    """Settings of hypothesis: no deadline of its own, the time of each input is bounded by us."""
    return settings(
        max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], database=None
    )


@made_up(3)
@given(tree=TREES)
def test_json_that_says_something_else_is_refused(tree, tmp_path):
    try_all(JSON_LOADERS, tmp_path, json.dumps(tree).encode())


@made_up(3)
@given(text=st.text(max_size=200))
def test_text_that_says_something_else_is_refused(text, tmp_path):
    try_all(TEXT_LOADERS, tmp_path, text.encode("utf-8", "surrogatepass"))


@made_up(2)
@given(data=st.binary(max_size=400))
def test_bytes_from_nowhere_are_refused(data, tmp_path):
    try_all(LOADERS, tmp_path, data)


@pytest.mark.soak
@made_up(100)
@given(tree=TREES)
def test_much_json_that_says_something_else_is_refused(tree, tmp_path):
    try_all(JSON_LOADERS, tmp_path, json.dumps(tree).encode())


@pytest.mark.soak
@made_up(100)
@given(text=st.text(max_size=200))
def test_many_texts_that_say_something_else_are_refused(text, tmp_path):
    try_all(TEXT_LOADERS, tmp_path, text.encode("utf-8", "surrogatepass"))


@pytest.mark.soak
@made_up(40)
@given(data=st.binary(max_size=400))
def test_many_bytes_from_nowhere_are_refused(data, tmp_path):
    try_all(LOADERS, tmp_path, data)
