"""From what the user names to one listing."""

import os

import numpy as np
import pytest
from PIL import Image

from curriculum_labeling.runs.sources import apply_corrections, list_sources, read_truth


@pytest.fixture
def photos(tmp_path):
    for name, count in (("labeled/cat", 3), ("labeled/dog", 2), ("unlabeled/deep/er", 4)):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        for i in range(count):
            Image.fromarray(np.full((9, 9, 3), 20 * i, dtype=np.uint8)).save(folder / f"{name[-3:].strip('/')}{i}.png")
    return tmp_path


def test_folders_give_labels_and_the_rest_is_unlabeled(photos):
    listing = list_sources(photos / "labeled", photos / "unlabeled")
    assert listing.classes == ("cat", "dog")
    assert np.bincount(listing.labels + 1).tolist() == [4, 3, 2]
    assert list(listing.paths) == sorted(listing.paths)


def test_a_folder_around_everything_gives_each_file_once(photos):
    listing = list_sources(photos / "labeled", photos)
    assert len(listing) == 9
    assert (listing.labels >= 0).sum() == 5


def test_a_manifest_may_hold_labeled_and_unlabeled_images(photos):
    lines = ["path,label", "labeled/cat/cat0.png,cat", "labeled/cat/cat1.png,cat", "labeled/dog/dog0.png,dog"]
    lines += ["labeled/dog/dog1.png,dog", "labeled/cat/cat2.png,"]
    (photos / "labels.csv").write_text("\n".join(lines))
    listing = list_sources(photos / "labels.csv", photos / "unlabeled")
    assert (listing.labels >= 0).sum() == 4
    assert len(listing) == 9


def test_a_loop_of_links_ends(photos):
    os.symlink(photos / "unlabeled", photos / "unlabeled" / "deep" / "again")
    assert len(list_sources(photos / "labeled", photos / "unlabeled")) == 9


def test_faults_are_named_in_one_sentence(photos, tmp_path):
    with pytest.raises(ValueError, match=r"LABELED must be a folder of class folders or a CSV file, got .*not there"):
        list_sources(tmp_path / "none", photos / "unlabeled")
    with pytest.raises(ValueError, match=r"UNLABELED must be a folder of images, got .*which is not one"):
        list_sources(photos / "labeled", tmp_path / "none")
    with pytest.raises(ValueError, match=r"UNLABELED must hold images beside the labeled ones"):
        list_sources(photos / "labeled", photos / "labeled")
    (photos / "labeled" / "dog" / "dog1.png").unlink()
    with pytest.raises(ValueError, match=r"every class must have two labeled images or more, got one of 'dog'"):
        list_sources(photos / "labeled", photos / "unlabeled")
    (photos / "labeled" / "dog" / "dog0.png").unlink()
    (photos / "labeled" / "dog").rmdir()
    with pytest.raises(ValueError, match=r"LABELED must hold two classes or more, got only 'cat'"):
        list_sources(photos / "labeled", photos / "unlabeled")


def test_a_class_name_of_two_lines_is_refused(photos):
    (photos / "labeled" / "dog").rename(photos / "labeled" / "do\ng")
    with pytest.raises(ValueError, match=r"class names must be one line of text, got 'do\\ng'; rename that folder"):
        list_sources(photos / "labeled", photos / "unlabeled")


def test_truth_is_read_for_the_rows_it_names(photos):
    (photos / "truth.csv").write_text("path,label\nunlabeled/deep/er/er0.png,dog\nlabeled/cat/cat0.png,cat")
    listing = list_sources(photos / "labeled", photos / "unlabeled")
    truth = read_truth(photos / "truth.csv", listing)
    assert sorted(truth.tolist()) == [-1] * 7 + [0, 1]
    (photos / "labels.csv").write_text("path,label\nlabeled/cat/cat0.png,bird")
    with pytest.raises(ValueError, match=r"--truth must name images and classes of this run, got none"):
        read_truth(photos / "labels.csv", listing)


def test_corrections_change_labels_and_keep_row_numbers(photos):
    listing = list_sources(photos / "labeled", photos / "unlabeled")
    (photos / "new.csv").write_text("path,label\nunlabeled/deep/er/er0.png,dog\nlabeled/cat/cat0.png,dog\n")
    corrected, changed = apply_corrections(listing, photos / "new.csv")
    assert changed == 2
    assert corrected.paths == listing.paths
    assert (corrected.labels == 1).sum() == 4
    (tmp := photos / "other.png").write_bytes((photos / "labeled/cat/cat0.png").read_bytes())
    (photos / "new.csv").write_text(f"path,label\n{tmp.name},dog\n")
    with pytest.raises(ValueError, match=r"--corrections must name images of the run, got 1 others"):
        apply_corrections(listing, photos / "new.csv")
