import json
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curriculum_labeling.data.split_files import load_split, save_split
from curriculum_labeling.data.splits import draw_split
from curriculum_labeling.labels import Split

LABELS = np.tile([0, 1, 2, -1], 10)
PARTS = ("labeled", "unlabeled", "validation", "test")


@pytest.fixture(params=["split.json", "split.npz"])
def path(request, tmp_path):
    return tmp_path / request.param


def draw(seed=0):
    return draw_split(LABELS, labeled=2, validation=1, seed=seed, test=[0, 5])


@settings(max_examples=20)
@given(seed=st.integers(0, 1000), name=st.sampled_from(["a.json", "a.npz"]))
def test_a_saved_split_comes_back(seed, name, tmp_path_factory):
    path, split = tmp_path_factory.mktemp("split") / name, draw(seed)
    save_split(path, split, LABELS)
    found = load_split(path, LABELS)
    assert all((getattr(found, part) == getattr(split, part)).all() for part in PARTS)
    assert os.listdir(path.parent) == [name]


def test_empty_parts_come_back(path):
    none = np.array([], dtype=np.int64)
    save_split(path, Split(np.arange(3), none, none, none), LABELS)
    found = load_split(path, LABELS)
    assert found.labeled.tolist() == [0, 1, 2]
    assert found.test.dtype == np.int64


def test_a_split_of_other_data_is_refused(path):
    save_split(path, draw(), LABELS)
    with pytest.raises(ValueError, match=r"was drawn for other data: 40 rows, where these labels have 39"):
        load_split(path, LABELS[1:])
    with pytest.raises(ValueError, match=r"was drawn for other data: as many rows, but other labels or another order"):
        load_split(path, LABELS[::-1])


def test_the_digest_does_not_depend_on_how_labels_are_stored(path):
    save_split(path, draw(), LABELS)
    assert len(load_split(path, LABELS.astype(">i4")).labeled) == 6


def test_a_split_edited_by_hand_is_checked(tmp_path):
    path = tmp_path / "split.json"
    save_split(path, draw(), LABELS)
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "labeled": content["validation"]}))
    with pytest.raises(ValueError, match=r"must not overlap, got 3 rows in more than one part"):
        load_split(path, LABELS)
    path.write_text(json.dumps({**content, "labeled": [40]}))
    with pytest.raises(ValueError, match=r"labeled rows of .*split\.json must be from 0 to 39, got 40 to 40"):
        load_split(path, LABELS)
    path.write_text(json.dumps({**content, "labeled": [0.5]}))
    with pytest.raises(ValueError, match=r"its parts must be lists of row numbers"):
        load_split(path, LABELS)


def test_files_that_are_no_splits_are_refused(path):
    with pytest.raises(ValueError, match=r"path must be a saved split, got .*which does not exist"):
        load_split(path, LABELS)
    path.write_bytes(b"{")
    with pytest.raises(ValueError, match=r"cannot be read as a split .*; draw it again"):
        load_split(path, LABELS)
    with pytest.raises(ValueError, match=r"path must end in \.json or \.npz, got split\.txt"):
        save_split(path.with_name("split.txt"), draw(), LABELS)


def test_rows_beyond_the_data_are_not_saved(path):
    with pytest.raises(ValueError, match=r"must be from 0 to 2, got"):
        save_split(path, draw(), LABELS[:3])
    assert not path.exists()
