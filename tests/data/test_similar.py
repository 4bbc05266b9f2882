import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from PIL import Image, ImageEnhance

from curriculum_labeling.data.cache import load
from curriculum_labeling.data.decode import decode_bytes
from curriculum_labeling.data.folders import list_images
from curriculum_labeling.data.similar import find_duplicates
from tests.data.photos import scene

small_images = hnp.arrays(
    np.uint8,
    st.tuples(st.integers(0, 12), st.integers(1, 20), st.integers(1, 20), st.sampled_from([1, 3])),
    elements=st.sampled_from([0, 1, 255]),
)


def picture(seed, width=192, height=144):
    """A photo-like scene: large shapes with finer ones on top."""
    fine = np.random.default_rng(seed + 1000).integers(0, 256, (18, 24, 3), dtype=np.uint8)
    return Image.blend(scene(width, height, seed), Image.fromarray(fine).resize((width, height)), 0.4)


def encoded(image, kind="JPEG", **options):
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def decoded(images, resolution=64):
    return np.stack([decode_bytes(data, resolution, name="a test") for data in images])


ORIGINALS = [picture(seed) for seed in range(20)]
SAME = {
    "quality 90": lambda image: encoded(image, quality=90),
    "quality 50": lambda image: encoded(image, quality=50),
    "quality 20": lambda image: encoded(image, quality=20),
    "webp": lambda image: encoded(image, "WEBP", quality=60),
    "half the size": lambda image: encoded(image.resize((96, 72))),
    "brighter": lambda image: encoded(ImageEnhance.Brightness(image).enhance(1.1)),
    "darker": lambda image: encoded(ImageEnhance.Brightness(image).enhance(0.85)),
    "a pixel cropped": lambda image: encoded(image.crop((1, 0, image.width, image.height))),
}
OTHER = {
    "mirrored": lambda image: encoded(image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)),
    "upside down": lambda image: encoded(image.transpose(Image.Transpose.ROTATE_180)),
    "in other colors": lambda image: encoded(Image.merge("RGB", image.split()[::-1])),
    "half of it": lambda image: encoded(image.crop((0, 0, image.width // 2, image.height))),
}


@pytest.mark.parametrize("change", SAME)
@pytest.mark.parametrize("resolution", [32, 64])
def test_a_slightly_changed_copy_is_a_near_duplicate_of_its_original_alone(change, resolution):
    files = [encoded(image, "PNG") for image in ORIGINALS] + [SAME[change](image) for image in ORIGINALS]
    found = find_duplicates(decoded(files, resolution))
    assert found.near.tolist() == [*range(20), *range(20)]
    assert found.exact.tolist() == list(range(40))


@pytest.mark.parametrize("change", OTHER)
def test_another_picture_is_no_duplicate(change):
    files = [encoded(image, "PNG") for image in ORIGINALS] + [OTHER[change](image) for image in ORIGINALS]
    assert find_duplicates(decoded(files)).near.tolist() == list(range(40))


def test_the_same_pixels_are_exact_duplicates_whatever_the_file():
    files = [encoded(image, kind) for kind in ("PNG", "BMP", "PNG") for image in ORIGINALS[:5]]
    assert find_duplicates(decoded(files)).exact.tolist() == [*range(5)] * 3


def test_one_different_pixel_is_near_but_not_exact():
    pixels = np.repeat(decoded([encoded(ORIGINALS[0])]), 2, axis=0)
    pixels[1, 5, 5] ^= 1
    found = find_duplicates(pixels)
    assert found.exact.tolist() == [0, 1]
    assert found.near.tolist() == [0, 0]


@settings(deadline=None)
@given(pixels=small_images)
def test_exact_duplicates_are_equal_pixels_and_groups_are_named_by_their_lowest_row(pixels):
    found = find_duplicates(pixels)
    first = [next(j for j in range(i + 1) if np.array_equal(pixels[i], pixels[j])) for i in range(len(pixels))]
    assert found.exact.tolist() == first
    assert (found.near <= found.exact).all()
    assert (found.near[found.near] == found.near).all()


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 1000))
def test_groups_do_not_depend_on_the_order_of_the_rows(seed):
    files = [encoded(image, quality=q) for q in (90, 40) for image in ORIGINALS[:6]]
    pixels = decoded(files, 32)
    order = np.random.default_rng(seed).permutation(len(pixels))
    found = find_duplicates(pixels[order]).near
    expected = order % 6
    assert ((found[:, None] == found) == (expected[:, None] == expected)).all()


def test_plain_images_are_told_apart_by_their_color():
    colors = np.array([[0, 0, 0], [128, 128, 128], [255, 255, 255], [200, 40, 40], [40, 200, 40], [128, 128, 128]])
    pixels = np.broadcast_to(colors[:, None, None].astype(np.uint8), (6, 32, 32, 3))
    assert find_duplicates(pixels).near.tolist() == [0, 1, 2, 3, 4, 1]


def test_thousands_of_black_and_of_almost_black_images_take_no_quadratic_work():
    draw = np.random.default_rng(0)
    black = np.zeros((5000, 16, 16, 3), dtype=np.uint8)
    dark = draw.integers(0, 3, (5000, 16, 16, 3), dtype=np.uint8)
    found = find_duplicates(np.concatenate([black, dark]))
    assert (found.near[:5000] == 0).all()
    assert found.exact[5000:].tolist() == list(range(5000, 10_000))
    assert len(np.unique(found.near[5000:])) > 4900


def test_trashnet_has_three_images_under_two_names_and_few_near_duplicates(real_data, tmp_path):
    images = load(list_images(real_data / "trashnet"), tmp_path, resolution=64, workers=1).images
    found = find_duplicates(images.pixels)
    rows = np.arange(len(images))
    assert (found.exact != rows).sum() == 3
    repeats = np.flatnonzero((found.near != rows) & (found.exact == rows))
    # Seen one by one: each of them is the same scene, photographed twice or brightened.
    assert 20 <= len(repeats) <= 26
    assert (images.labels[repeats] == images.labels[found.near[repeats]]).all()
