import numpy as np
import pytest

from curriculum_labeling.data.listing import Listing, join_listings, list_pairs


def test_classes_are_numbered_by_name_and_none_is_unknown():
    listing = list_pairs([("1", "dog"), ("2", None), ("3", "cat")])
    assert listing.classes == ("cat", "dog")
    assert listing.labels.tolist() == [1, -1, 0]


def test_listings_of_the_same_classes_join():
    one, two = list_pairs([("1", "dog")]), list_pairs([("2", "dog"), ("3", None)])
    both = join_listings(one, two)
    assert both.paths == ("1", "2", "3")
    assert both.labels.tolist() == [0, 0, -1]
    with pytest.raises(ValueError, match=r"same classes to be joined, got 1 and 0 classes that differ"):
        join_listings(one, list_pairs([("4", None)]))


def test_every_file_has_one_label():
    with pytest.raises(ValueError, match=r"labels must have one entry per image, got shape \(2,\) for 1 images"):
        Listing(("a",), np.array([0, 0]), ("cat",))
