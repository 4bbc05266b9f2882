from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from curriculum_labeling.data.splits import CIFAR10_ANIMALS, PAPER, draw_foreign_split, draw_split

CIFAR10 = np.random.default_rng(0).permutation(np.repeat(np.arange(10), 5000))
# A small CIFAR-10: 50 training and 10 test rows of each class.
SMALL = np.concatenate([np.tile(np.arange(10), 50), np.tile(np.arange(10), 10)])
SMALL_TEST = np.arange(500, 600)

label_arrays = hnp.arrays(np.int64, st.integers(1, 200), elements=st.integers(-1, 4)).filter(lambda y: y.max() >= 0)


def small(foreign, seed=0, **options):
    options = {"labeled": 5, "validation": 4, "test": SMALL_TEST, **options}
    return draw_foreign_split(SMALL, foreign=foreign, seed=seed, **options)


@given(labels=label_arrays, labeled=st.floats(0, 0.4), validation=st.floats(0, 0.4), seed=st.integers(0, 2**40))
def test_parts_are_disjoint_and_together_are_every_row(labels, labeled, validation, seed):
    split = draw_split(labels, labeled=labeled, validation=validation, seed=seed)
    rows = np.concatenate([split.labeled, split.unlabeled, split.validation, split.test])
    assert np.sort(rows).tolist() == list(range(len(labels)))
    assert (labels[split.labeled] >= 0).all()
    for c in range(5):
        size = int((labels == c).sum())
        assert (labels[split.labeled] == c).sum() == round(labeled * size)
        assert (labels[split.validation] == c).sum() == round(validation * size)


def test_cifar10_is_split_as_in_the_paper():
    labeled, validation = PAPER["cifar10"]
    split = draw_split(CIFAR10, labeled=labeled, validation=validation, seed=0)
    assert np.bincount(CIFAR10[split.labeled]).tolist() == [400] * 10
    assert np.bincount(CIFAR10[split.validation]).tolist() == [500] * 10
    assert len(split.unlabeled) == 41_000


def test_svhn_and_imagenet_have_the_papers_counts():
    labels = np.arange(73_257) % 10
    labeled, validation = PAPER["svhn"]
    assert len(draw_split(labels, labeled=labeled, validation=validation, seed=0).unlabeled) == 71_257
    labeled, validation = PAPER["imagenet"]
    assert (1000 * labeled, 1000 * validation) == (102_000, 26_000)


def test_a_seed_gives_the_same_rows_on_every_machine():
    split = draw_split(np.tile([0, 1, 2], 40), labeled=2, validation=1, seed=7)
    assert split.labeled.tolist() == [2, 18, 31, 55, 86, 96]
    assert split.validation.tolist() == [74, 79, 111]
    other = draw_split(np.tile([0, 1, 2], 40), labeled=2, validation=1, seed=8)
    assert split.labeled.tolist() != other.labeled.tolist()


def test_fewer_labels_are_part_of_more_labels_and_validation_stays():
    splits = [draw_split(CIFAR10, labeled=n, validation=500, seed=3) for n in (50, 100, 200, 400)]
    for fewer, more in pairwise(splits):
        assert np.isin(fewer.labeled, more.labeled).all()
        assert (fewer.validation == more.validation).all()


def test_the_test_part_is_kept_out_and_does_not_change_the_rest():
    alone = draw_split(SMALL[:500], labeled=5, validation=4, seed=1)
    joined = draw_split(SMALL, labeled=5, validation=4, seed=1, test=SMALL_TEST)
    assert joined.test.tolist() == SMALL_TEST.tolist()
    for part in ("labeled", "unlabeled", "validation"):
        assert (getattr(joined, part) == getattr(alone, part)).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labeled": 5, "validation": 6}, r"got 5 \+ 6 where class 0 has 10; lower one of them"),
        ({"labeled": -1, "validation": 0}, "labeled must be a number of rows per class, at least 0, got -1"),
        ({"labeled": 1, "validation": 1.5}, "validation must be a fraction from 0 to below 1, or a whole number"),
        ({"labeled": 1, "validation": 1, "seed": -4}, "seed must be a whole number, at least 0, got -4"),
        ({"labeled": 1, "validation": 1, "test": [99]}, "test must name rows from 0 to 19, got 99 to 99"),
    ],
)
def test_counts_that_cannot_be_drawn_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        draw_split(np.tile([0, 1], 10), **{"seed": 0, **options})


def test_without_any_known_class_nothing_can_be_labeled():
    with pytest.raises(ValueError, match=r"labels must hold at least one known class"):
        draw_split([-1, -1], labeled=1, validation=0, seed=0)


def test_the_papers_foreign_split_has_2400_labels_and_four_unlabeled_classes():
    for foreign in (0, 0.25, 0.5, 0.75, 1):
        found = draw_foreign_split(CIFAR10, foreign=foreign, seed=0)
        assert len(found.split.labeled) == 2400
        assert set(CIFAR10[found.split.labeled]) == set(CIFAR10_ANIMALS)
        assert len(found.split.validation) == 3000
        assert len(found.split.unlabeled) == 4 * 4100
        assert len(found.unlabeled_classes) == 4
        assert len(found.foreign) == 4 * foreign
        assert (found.labels[found.split.unlabeled] == -1).mean() == foreign


def test_all_shares_of_a_seed_are_steps_of_one_experiment():
    found = [small(k / 4, seed=5) for k in range(5)]
    for one, next_one in pairwise(found):
        assert (one.split.labeled == next_one.split.labeled).all()
        assert (one.split.validation == next_one.split.validation).all()
        assert len(one.split.unlabeled) == len(next_one.split.unlabeled)
        assert set(one.foreign) < set(next_one.foreign)
    assert {small(0.5, seed=s).foreign for s in range(8)} != {found[2].foreign}


def test_known_classes_are_renumbered_and_only_they_are_tested():
    found = small(0.5)
    assert found.labels[SMALL == 2].tolist() == [0] * 60
    assert found.labels[SMALL == 7].tolist() == [5] * 60
    assert (found.labels[np.isin(SMALL, [0, 1, 8, 9])] == -1).all()
    assert len(found.split.test) == 60
    assert found.labels[found.split.test].min() == 0
    assert not set(found.foreign) & set(found.known)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"foreign": 0.3}, "foreign must be one of 0, 0.25, 0.5, 0.75, 1 with 4 unlabeled classes, got 0.3"),
        ({"foreign": -0.25}, "foreign must be one of"),
        ({"foreign": 0, "known": (2, 77)}, r"known must name classes of the labels, each once, got \(2, 77\)"),
        ({"foreign": 0, "known": (2, 3)}, "at most the 2 known and 8 other classes there are, got 4 of which 0"),
        ({"foreign": 1, "unlabeled_classes": 5}, "got 5 of which 5 are foreign"),
    ],
)
def test_foreign_splits_that_cannot_be_drawn_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        small(**options)
