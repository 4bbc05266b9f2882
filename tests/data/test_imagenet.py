import numpy as np
import pytest
from scipy.io import savemat

from curriculum_labeling.data.cache import load
from curriculum_labeling.data.imagenet import list_images
from curriculum_labeling.data.listing import join_listings
from tests.data.photos import scene

WNIDS = ["n01440764", "n01443537", "n02110341"]


def photo(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    scene().save(path, "JPEG")


@pytest.fixture
def imagenet(tmp_path):
    for wnid in reversed(WNIDS):
        for i in (2, 10):
            photo(tmp_path / "train" / wnid / f"{wnid}_{i}.JPEG")
    return tmp_path


@pytest.fixture
def flat(imagenet):
    for i in (1, 2, 3, 4):
        photo(imagenet / "val" / f"ILSVRC2012_val_{i:08d}.JPEG")
    return imagenet


def truth(folder, text, name="truth.txt"):
    (folder / name).write_text(text)
    return folder / name


def test_training_folders_are_classes_in_the_order_of_their_ids(imagenet):
    listing = list_images(imagenet)
    assert listing.classes == tuple(WNIDS)
    assert listing.labels.tolist() == [0, 0, 1, 1, 2, 2]
    assert listing.paths[2].endswith("train/n01443537/n01443537_10.JPEG")


def test_a_validation_folder_by_class_has_the_numbers_of_training(imagenet):
    photo(imagenet / "val" / WNIDS[2] / "ILSVRC2012_val_00000001.JPEG")
    listing = list_images(imagenet, part="val")
    assert listing.classes == tuple(WNIDS)
    assert listing.labels.tolist() == [2]
    photo(imagenet / "val" / "n09999999" / "x.JPEG")
    with pytest.raises(ValueError, match=r"must hold the classes of train/, got n09999999"):
        list_images(imagenet, part="val")


@pytest.mark.parametrize(
    "text",
    [
        "n02110341\nn01440764\nn01440764\nn01443537\n",
        "".join(f"ILSVRC2012_val_{i:08d}.JPEG {c}\n" for i, c in ((4, 1), (3, 0), (2, 0), (1, 2))),
        "".join(f"ILSVRC2012_val_{i:08d}.JPEG {WNIDS[c]}\n" for i, c in ((1, 2), (2, 0), (3, 0), (4, 1))),
        "ImageId,PredictionString\n"
        "ILSVRC2012_val_00000004,n01443537 1 2 3 4 n01443537 5 6 7 8\nILSVRC2012_val_00000002,n01440764 1 2 3 4\n"
        "ILSVRC2012_val_00000003,n01440764 1 2 3 4\nILSVRC2012_val_00000001,n02110341 1 2 3 4\n",
        "3\n1\n1\n2\n",
    ],
    ids=["ids in order", "names and numbers", "names and ids", "Kaggle", "development kit"],
)
def test_a_flat_validation_folder_takes_its_classes_from_a_file(flat, text):
    # The development kit numbers its classes in an order of its own.
    kit = [(3, WNIDS[2]), (1, WNIDS[0]), (2, WNIDS[1]), (1001, "n00001740")]
    synsets = np.array(kit, dtype=[("ILSVRC2012_ID", "O"), ("WNID", "O")])[:, None]
    savemat(flat / "meta.mat", {"synsets": synsets})
    listing = list_images(flat, part="val", truth=truth(flat, text))
    assert listing.labels.tolist() == [2, 0, 0, 1]
    assert listing.paths[0].endswith("ILSVRC2012_val_00000001.JPEG")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("n01440764\n", "must have one line per validation image, got 1 for 4 images"),
        ("n01440764\n" * 3 + "n09999999\n", "must name classes of train/, got n09999999, which is not among its 3"),
        ("1\n2\n3\n1\n", r"meta\.mat of ImageNet's development kit must lie beside the ground truth, got no"),
        (
            "ILSVRC2012_val_00000001.JPEG 2\n",
            "must name every validation image, but ILSVRC2012_val_00000002 is missing",
        ),
        ("".join(f"ILSVRC2012_val_{i:08d}.JPEG 7\n" for i in (1, 2, 3, 4)), "must name classes of train/, got 7"),
    ],
)
def test_classes_that_do_not_fit_are_refused(flat, text, message):
    with pytest.raises(ValueError, match=message):
        list_images(flat, part="val", truth=truth(flat, text))


def test_what_is_missing_is_named(flat, tmp_path):
    with pytest.raises(
        ValueError, match=r"truth must name the file with the validation classes, because .* no class folders"
    ):
        list_images(flat, part="val")
    with pytest.raises(ValueError, match=r"truth must be a text file, got .*which does not exist"):
        list_images(flat, part="val", truth=flat / "none.txt")
    with pytest.raises(ValueError, match=r"folder must hold train/ of ImageNet, got"):
        list_images(tmp_path / "val", part="val")
    with pytest.raises(ValueError, match=r'part must be "train" or "val", got .test.'):
        list_images(flat, part="test")


def test_both_parts_share_one_cache_and_one_index_space(flat, tmp_path):
    listing = join_listings(
        list_images(flat), list_images(flat, part="val", truth=truth(flat, "\n".join([WNIDS[0]] * 4)))
    )
    images = load(listing, tmp_path / "cache", resolution=16).images
    assert images.pixels.shape == (10, 16, 16, 3)
    assert images.labels.tolist() == [0, 0, 1, 1, 2, 2, 0, 0, 0, 0]
