import io
import json
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from curriculum_labeling.data import check
from curriculum_labeling.data.check import DataCheck, check_data
from curriculum_labeling.data.decode import UnreadableImage
from curriculum_labeling.data.describe import describe_pixels
from curriculum_labeling.data.images import Images, from_arrays
from curriculum_labeling.data.sizes import read_sizes
from tests.data.photos import scene


def pictures(count, *, seed=0):
    """Different pictures, each with shapes large and small."""
    made = []
    for i in range(seed, seed + count):
        fine = np.random.default_rng(i + 1000).integers(0, 256, (12, 12, 3), dtype=np.uint8)
        made.append(np.asarray(Image.blend(scene(32, 32, i), Image.fromarray(fine).resize((32, 32)), 0.4)))
    return np.stack(made)


def recompressed(image, quality=60):
    file = io.BytesIO()
    Image.fromarray(image).save(file, "JPEG", quality=quality)
    return np.asarray(Image.open(file).convert("RGB"))


def made(pixels, labels, classes=("cat", "dog")):
    paths = tuple(f"{i}.png" for i in range(len(pixels)))
    return Images(pixels, np.asarray(labels, dtype=np.int64), classes, paths)


def checked(pixels, labels, classes=("cat", "dog"), **options):
    labels = np.asarray(labels)
    return check_data(made(pixels, labels, classes), np.flatnonzero(labels >= 0), np.flatnonzero(labels < 0), **options)


CLEAN = [0] * 12 + [1] * 12 + [-1] * 16


def test_clean_data_gives_neither_errors_nor_warnings():
    check = checked(pictures(40), CLEAN)
    assert (check.errors, check.warnings) == ((), ())
    assert check.class_counts == (12, 12)
    assert check.groups.tolist() == list(range(40))
    assert check.leaked == check.conflicts == check.small_classes == check.single_classes == ()
    assert ((check.foreign_scores >= 0) & (check.foreign_scores < 0.99)).all()


def test_the_same_pixels_under_two_classes_are_an_error_that_names_both():
    pixels = pictures(40)
    pixels[20] = pixels[3]
    check = checked(pixels, CLEAN)
    assert check.errors == (
        "1 image is labeled as two classes: 3.png (cat) and 20.png (dog); keep the right one of each and remove the "
        "other.",
    )
    assert [(pair.row, pair.other, pair.exact) for pair in check.conflicts] == [(3, 20, True)]


def test_of_many_conflicts_some_are_named_and_all_are_counted():
    pixels = pictures(40)
    pixels[12:20] = pixels[:8]
    assert checked(pixels, CLEAN).errors[0].startswith("8 images are labeled as two classes: 0.png (cat) and 12.png")
    assert "; and 3 more; keep" in checked(pixels, CLEAN).errors[0]


def test_nearly_the_same_picture_under_two_classes_is_a_warning():
    pixels = pictures(40)
    pixels[20] = recompressed(pixels[3])
    check = checked(pixels, CLEAN)
    assert check.errors == ()
    assert check.warnings[0] == (
        "1 picture is there nearly the same under two classes, such as 3.png (cat) and 20.png (dog); "
        "check which class is right."
    )
    assert check.groups[20] == 3


def test_unlabeled_copies_of_labeled_images_are_leaked_with_the_row_they_repeat():
    pixels = pictures(40)
    pixels[30], pixels[31] = pixels[5], recompressed(pixels[6])
    check = checked(pixels, CLEAN)
    assert [(pair.row, pair.other, pair.exact) for pair in check.leaked] == [(30, 5, True), (31, 6, False)]
    assert check.warnings == (
        "2 unlabeled images repeat a labeled one, 1 of them exactly, such as 30.png and 5.png.",
        "2 images repeat an earlier one, 1 of them exactly, such as 30.png after 5.png; duplicates stay on one side "
        "of a validation split.",
    )


def test_a_labeled_row_after_its_unlabeled_copy_is_found_as_well():
    pixels = pictures(12)
    pixels[0] = pixels[11]
    check = checked(pixels, [-1] * 4 + [0] * 4 + [1] * 4)
    assert [(pair.row, pair.other) for pair in check.leaked] == [(0, 11)]


def test_classes_with_few_labels_are_named():
    check = checked(pictures(20), [0] * 12 + [1] * 3 + [2] + [-1] * 4, ("cat", "dog", "owl"))
    assert check.small_classes == ("dog", "owl")
    assert check.single_classes == ("owl",)
    assert check.warnings == (
        "1 class has one labeled image (owl), so nothing can be held out to measure accuracy on; label a few more.",
        "1 class has fewer than 10 labeled images (dog); measured accuracy will be rough.",
    )


@pytest.mark.parametrize(
    ("labels", "classes", "message"),
    [
        ([0] * 10, ("cat",), "There must be labeled images of at least two classes, got 1; add labels of another."),
        ([-1] * 10, (), "There must be labeled images of at least two classes, got 0; add labels of another."),
        ([0] * 5 + [1] * 5, ("cat", "dog", "owl"), "Every class needs a labeled image, got none for owl."),
    ],
)
def test_too_few_classes_are_an_error(labels, classes, message):
    assert checked(pictures(10), labels, classes).errors == (message,)


def test_unreadable_files_and_no_unlabeled_images_are_warnings():
    check = checked(pictures(24), CLEAN[:24], unreadable=[UnreadableImage("a/b.jpg", "is empty")])
    assert check.unreadable == (("a/b.jpg", "is empty"),)
    assert check.warnings == (
        "1 file cannot be read and is left out, such as a/b.jpg, which is empty.",
        "There are no unlabeled images to learn from; this is training on labels alone.",
    )


def test_small_and_long_files_are_warnings_where_sizes_are_known(tmp_path):
    sizes = [(40, 30)] * 38 + [(8, 8), (200, 30)]
    paths = [str(tmp_path / f"{i}.png") for i in range(41)]
    for path, size in zip(paths, sizes, strict=False):
        Image.new("RGB", size).save(path)
    assert read_sizes(paths).tolist() == [*map(list, sizes), [0, 0]]
    check = checked(pictures(40), CLEAN, sizes=read_sizes(paths[:40]))
    assert (check.small_images.tolist(), check.long_images.tolist()) == ([38], [39])
    assert check.warnings == (
        "1 image is under 16 pixels wide or high, such as 38.png.",
        "1 image is more than four times as long as wide, such as 39.png; only the center square is used.",
    )


def test_foreign_images_are_flagged_by_pixels_and_by_features():
    pixels = pictures(200)
    pixels[199] = np.random.default_rng(0).integers(0, 2, (32, 32, 1), dtype=np.uint8) * 255
    labels = [0] * 60 + [1] * 60 + [-1] * 80
    check = checked(pixels, labels)
    assert check.foreign.tolist() == [199]
    assert check.warnings == ("1 of 80 unlabeled images looks unlike anything labeled, such as 199.png.",)
    assert check.foreign_scores[199] >= 0.99
    features = np.random.default_rng(0).normal(1, 0.2, (200, 50))
    features[150] *= -1
    assert checked(pixels, labels, features=features).foreign.tolist() == [150]


def test_a_description_of_the_pixels_is_not_computed_again(monkeypatch):
    pixels, labels = pictures(12), [0, 0, 0, 1, 1, 1] + [-1] * 6
    expected = checked(pixels, labels).to_json()
    described = describe_pixels(pixels)
    monkeypatch.setattr(check, "describe_pixels", None)
    assert checked(pixels, labels, features=described, embedded=False).to_json() == expected


def test_images_without_paths_are_named_by_their_row():
    pixels = pictures(6)
    pixels[4] = pixels[1]
    check = check_data(from_arrays(pixels, [0, 0, 0, 1, 1, 1]), np.arange(6), [])
    assert "row 1 (0) and row 4 (1)" in check.errors[0]


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 1000))
def test_a_check_survives_its_file(seed):
    draw = np.random.default_rng(seed)
    pixels = pictures(8)[draw.integers(0, 8, 20)]
    unreadable = [UnreadableImage("x.jpg", "is empty")] * int(draw.integers(0, 3))
    check = checked(pixels, draw.integers(-1, 2, 20), unreadable=unreadable, sizes=draw.integers(1, 60, (20, 2)))
    again = DataCheck.from_json(json.loads(json.dumps(check.to_json())))
    for field in fields(DataCheck):
        one, other = getattr(check, field.name), getattr(again, field.name)
        assert np.array_equal(one, other) if isinstance(one, np.ndarray) else one == other


@pytest.mark.parametrize(
    ("saved", "message"),
    [
        ({}, "check.json must have format 1, got None; run fit again"),
        ({"format": 1}, "check.json must hold 'classes', got none; run fit again"),
    ],
)
def test_a_file_of_another_kind_is_refused(saved, message):
    with pytest.raises(ValueError, match=message):
        DataCheck.from_json(saved)


@pytest.mark.parametrize(
    ("labeled", "unlabeled", "options", "message"),
    [
        ([0, 1], [1, 2], {}, "labeled and unlabeled must name each row once, got 1 repeats"),
        ([0, 9], [2], {}, "labeled and unlabeled must name rows from 0 to 5, got 0 to 9"),
        ([0, 5], [2], {}, "labeled rows must have a class, got 1 with label -1; list them as unlabeled"),
        ([0], [2], {"features": np.ones((2, 2))}, "features must have one row per image, got 2 for 6 images"),
        ([0], [2], {"sizes": np.ones(6)}, r"sizes must hold width and height of 6 images, got shape \(6,\)"),
    ],
)
def test_rows_that_do_not_fit_are_refused(labeled, unlabeled, options, message):
    images = made(pictures(6), [0, 0, 1, 1, 1, -1])
    with pytest.raises(ValueError, match=message):
        check_data(images, labeled, unlabeled, **options)
