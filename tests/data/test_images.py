import numpy as np
import pytest
from PIL import Image

from curriculum_labeling.data.images import Images, from_arrays, from_indexable, join
from tests.data.photos import scene

PIXELS = np.arange(2 * 4 * 4 * 3, dtype=np.uint8).reshape(2, 4, 4, 3)


def test_arrays_become_images_as_they_are():
    images = from_arrays(PIXELS, [1, -1], ["cat", "dog"])
    assert images.pixels is PIXELS
    assert images.labels.tolist() == [1, -1]
    assert images.labels.dtype == np.int64
    assert images.classes == ("cat", "dog")
    assert images.flippable
    assert len(images) == 2


def test_arrays_without_labels_are_unlabeled_and_grayscale_gets_its_axis():
    images = from_arrays(np.zeros((3, 5, 6), np.uint8))
    assert images.pixels.shape == (3, 5, 6, 1)
    assert images.labels.tolist() == [-1, -1, -1]
    assert images.classes == ()


def test_classes_without_names_are_called_by_their_numbers():
    assert from_arrays(PIXELS, [0, 2]).classes == ("0", "1", "2")


def test_a_memory_map_stays_one(tmp_path):
    np.save(tmp_path / "pixels.npy", PIXELS)
    images = from_arrays(np.load(tmp_path / "pixels.npy", mmap_mode="r"), [0, 1])
    assert isinstance(images.pixels, np.memmap)


@pytest.mark.parametrize(
    ("pixels", "labels", "error", "message"),
    [
        (PIXELS / 255, [0, 1], TypeError, r"pixels must be uint8 .*got float64; multiply floats in \[0, 1\] by 255"),
        (PIXELS.astype(int), [0, 1], TypeError, r"pixels must be uint8 \(0 to 255\), got int64\."),
        (PIXELS.transpose(0, 3, 1, 2), [0, 1], ValueError, r"got \(2, 3, 4, 4\); move the channels last"),
        (PIXELS[0, 0], [0, 1], ValueError, r"pixels must have shape N×H×W×3 or N×H×W×1, got \(4, 3\)\."),
        (PIXELS, [0], ValueError, r"labels must have one entry per image, got shape \(1,\) for 2 images"),
        (PIXELS, ["a", "b"], TypeError, r"labels must be whole numbers .*np\.unique\(names, return_inverse=True\)"),
        (PIXELS, [0, -2], ValueError, r"labels must be -1 \(unknown\) or a class from 0 to 0, got values from -2 to 0"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(pixels, labels, error, message):
    with pytest.raises(error, match=message):
        from_arrays(pixels, labels)


def test_labels_beyond_the_classes_are_refused():
    with pytest.raises(ValueError, match=r"a class from 0 to 1, got values from 0 to 2"):
        from_arrays(PIXELS, [0, 2], ["cat", "dog"])


def test_images_check_their_own_fields():
    with pytest.raises(ValueError, match=r"paths must have one entry per image, got 1 for 2 images"):
        Images(PIXELS, np.array([0, 0]), ("cat",), paths=("a.png",))
    with pytest.raises(TypeError, match=r"labels must be int64, got int32; use from_arrays"):
        Images(PIXELS, np.zeros(2, np.int32), ("cat",))


def test_pairs_of_pil_images_and_arrays_become_images():
    gray = np.full((30, 40), 7, np.uint8)
    images = from_indexable([(scene(), 0), (np.asarray(scene(seed=1)), 1), (gray, None), (gray[..., None], -1)])
    assert images.pixels.shape == (4, 30, 40, 3)
    assert (images.pixels[0] == np.asarray(scene())).all()
    assert (images.pixels[2:] == 7).all()
    assert images.labels.tolist() == [0, 1, -1, -1]


def test_pairs_of_several_sizes_need_a_resolution():
    pairs = [(scene(40, 30), 0), (scene(50, 70), 1)]
    with pytest.raises(ValueError, match=r"one size, got 70×50×3 at row 1 after 30×40×3; give resolution="):
        from_indexable(pairs)
    assert from_indexable(pairs, resolution=16).pixels.shape == (2, 16, 16, 3)


def test_any_indexable_will_do():
    class Squares:
        def __len__(self):
            return 3

        def __getitem__(self, index):
            return Image.new("L", (4, 4), index), np.int64(index)

    images = from_indexable(Squares(), flippable=False)
    assert images.pixels[:, 0, 0, 0].tolist() == [0, 1, 2]
    assert images.labels.tolist() == [0, 1, 2]
    assert not images.flippable


@pytest.mark.parametrize(
    ("image", "got"),
    [
        (np.zeros((4, 4, 3)), r"an array float64 of shape \(4, 4, 3\) at row 0"),
        (np.zeros((2, 2, 2, 3), np.uint8), r"an array uint8 of shape \(2, 2, 2, 3\) at row 0"),
        ("cat.png", "got str at row 0"),
        (Image.new("F", (4, 4)), "a PIL image of mode F at row 0"),
    ],
)
def test_pairs_that_hold_no_images_are_refused(image, got):
    with pytest.raises(TypeError, match=rf"samples must hold PIL images or uint8 arrays.*{got}"):
        from_indexable([(image, 0)])


def test_no_pairs_are_refused():
    with pytest.raises(ValueError, match=r"samples must hold at least one"):
        from_indexable([])


def test_joined_parts_are_one_index_space():
    train = Images(PIXELS, np.array([0, 1]), ("cat", "dog"), ("a", "b"))
    test = Images(PIXELS[:1], np.array([1]), ("cat", "dog"), ("c",), flippable=False)
    both = join(train, test)
    assert both.labels.tolist() == [0, 1, 1]
    assert both.paths == ("a", "b", "c")
    assert (both.pixels[2] == PIXELS[0]).all()
    assert not both.flippable
    assert join(train, from_arrays(PIXELS, [0, 1], ["cat", "dog"])).paths is None


def test_parts_of_different_classes_do_not_join():
    with pytest.raises(ValueError, match=r"2 classes at 4×4×3 and 3 classes at 4×4×3"):
        join(from_arrays(PIXELS, [0, 1]), from_arrays(PIXELS, [0, 2]))
