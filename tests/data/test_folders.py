import os
from pathlib import Path

import pytest

from curriculum_labeling.data.folders import list_images


def touch(*paths):
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def names(listing, root):
    return [str(Path(path).relative_to(root)) for path in listing.paths]


def test_class_folders_come_first_then_everything_below_unlabeled(tmp_path):
    touch(*(tmp_path / "labeled" / p for p in ("dog/2.jpg", "dog/1.jpg", "cat/deep/er/3.PNG")))
    touch(*(tmp_path / "unlabeled" / p for p in ("b.jpg", "a/c.webp", "z")))
    listing = list_images(tmp_path / "labeled", tmp_path / "unlabeled")
    assert names(listing, tmp_path) == [
        "labeled/cat/deep/er/3.PNG",
        "labeled/dog/1.jpg",
        "labeled/dog/2.jpg",
        "unlabeled/a/c.webp",
        "unlabeled/b.jpg",
        "unlabeled/z",
    ]
    assert listing.classes == ("cat", "dog")
    assert listing.labels.tolist() == [0, 1, 1, -1, -1, -1]


def test_labeled_alone_is_enough(tmp_path):
    touch(tmp_path / "cat" / "1.jpg", tmp_path / "README.txt")
    assert len(list_images(tmp_path)) == 1


def test_hidden_files_and_leavings_of_systems_are_left_out(tmp_path):
    touch(*(tmp_path / "cat" / p for p in ("1.jpg", ".2.jpg", ".git/3.jpg", "Thumbs.db", "__MACOSX/4.jpg")))
    touch(tmp_path / ".hidden" / "5.jpg")
    assert names(list_images(tmp_path), tmp_path) == ["cat/1.jpg"]


def test_tables_and_notes_beside_images_are_left_out(tmp_path):
    touch(*(tmp_path / "all" / p for p in ("labeled/cat/1.jpg", "labeled/cat/notes.md", "2.jpg", "truth.csv", "3.dat")))
    listing = list_images(tmp_path / "all" / "labeled", tmp_path / "all")
    assert names(listing, tmp_path / "all") == ["labeled/cat/1.jpg", "2.jpg", "3.dat"]


def test_loops_of_links_end_and_links_are_followed(tmp_path):
    touch(tmp_path / "labeled" / "cat" / "1.jpg", tmp_path / "elsewhere" / "2.jpg", tmp_path / "unlabeled" / "3.jpg")
    (tmp_path / "labeled" / "dog").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "loop").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "unlabeled" / "up").symlink_to(tmp_path)
    listing = list_images(tmp_path / "labeled", tmp_path / "unlabeled")
    assert names(listing, tmp_path) == ["labeled/cat/1.jpg", "labeled/dog/2.jpg", "unlabeled/3.jpg"]


def test_an_unlabeled_folder_around_the_labeled_one_gives_only_the_others(tmp_path):
    touch(tmp_path / "labeled" / "cat" / "1.jpg", tmp_path / "rest" / "2.jpg")
    listing = list_images(tmp_path / "labeled", tmp_path)
    assert names(listing, tmp_path) == ["labeled/cat/1.jpg", "rest/2.jpg"]


def test_a_broken_link_is_listed_so_that_its_loss_is_noticed_and_a_pipe_is_not(tmp_path):
    touch(tmp_path / "cat" / "1.jpg")
    (tmp_path / "cat" / "lost.jpg").symlink_to(tmp_path / "nowhere.jpg")
    os.mkfifo(tmp_path / "cat" / "pipe.jpg")
    assert names(list_images(tmp_path), tmp_path) == ["cat/1.jpg", "cat/lost.jpg"]


def test_names_that_are_no_text_are_listed(tmp_path):
    (tmp_path / "cat").mkdir()
    with open(os.path.join(os.fsencode(tmp_path), b"cat", b"\xff\xfe.jpg"), "wb"):
        pass
    (path,) = list_images(tmp_path).paths
    assert os.fsencode(path).endswith(b"\xff\xfe.jpg")


def test_folders_that_cannot_be_meant_are_refused(tmp_path):
    touch(tmp_path / "file")
    with pytest.raises(ValueError, match=r"labeled must be a folder, got .*nowhere, where there is nothing"):
        list_images(tmp_path / "nowhere")
    with pytest.raises(ValueError, match=r"labeled must be a folder, got .*file, where there is a file"):
        list_images(tmp_path / "file")
    with pytest.raises(ValueError, match=r"labeled must hold one folder of images per class, got none in"):
        list_images(tmp_path)
    (tmp_path / "cat").mkdir()
    with pytest.raises(ValueError, match=r"every class folder must hold images, got none in .*cat; add some"):
        list_images(tmp_path)
    touch(tmp_path / "cat" / "1.jpg")
    with pytest.raises(ValueError, match=r"unlabeled must be a folder, got .*nowhere"):
        list_images(tmp_path, tmp_path / "nowhere")
    with pytest.raises(ValueError, match=r"unlabeled must hold images beside the labeled ones, got none in .*cat"):
        list_images(tmp_path, tmp_path / "cat")
    touch(tmp_path / "loose.JPG")
    with pytest.raises(ValueError, match=r"got 1 images outside of any, such as loose\.JPG"):
        list_images(tmp_path)
