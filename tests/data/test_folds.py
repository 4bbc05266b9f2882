import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curriculum_labeling.data.folds import holdout, split_folds

labeled_sets = st.integers(1, 60).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 4), min_size=n, max_size=n), st.lists(st.integers(0, n), min_size=n, max_size=n)
    )
)


@given(rows=labeled_sets, folds=st.integers(2, 6), seed=st.integers(0, 2**40))
def test_duplicates_share_a_fold_and_every_class_is_in_every_training_part(rows, folds, seed):
    classes, groups = (np.array(part) for part in rows)
    fold = split_folds(classes, groups, folds, seed=seed)
    assert set(fold) <= {-1, *range(folds)}
    for group in np.unique(groups):
        assert len(set(fold[groups == group])) == 1
    for k in range(folds):
        assert set(classes[fold != k]) == set(classes)


@given(rows=labeled_sets, share=st.floats(0.01, 0.99), seed=st.integers(0, 2**40))
def test_a_holdout_keeps_duplicates_on_one_side_and_every_class_in_training(rows, share, seed):
    classes, groups = (np.array(part) for part in rows)
    held = holdout(classes, groups, share, seed=seed)
    for group in np.unique(groups):
        assert len(set(held[groups == group])) == 1
    assert set(classes[~held]) == set(classes)
    for c in np.unique(classes):
        assert held[classes == c].sum() <= round(share * (classes == c).sum())


def test_without_duplicates_folds_are_even_in_every_class():
    classes = np.repeat(np.arange(5), [50, 20, 10, 5, 15])
    fold = split_folds(classes, np.arange(100), 5, seed=0)
    counts = np.array([[((fold == k) & (classes == c)).sum() for c in range(5)] for k in range(5)])
    assert (counts == [10, 4, 2, 1, 3]).all()


def test_without_duplicates_a_holdout_takes_its_share_of_every_class():
    classes = np.repeat([0, 1, 2], [50, 20, 10])
    held = holdout(classes, np.arange(80), 0.2, seed=1)
    assert np.bincount(classes[held]).tolist() == [10, 4, 2]


def test_a_class_of_one_image_is_never_held_out():
    fold = split_folds([0, 0, 0, 1], [0, 1, 2, 3], 3, seed=0)
    assert fold[3] == -1
    assert sorted(fold[:3]) == [0, 1, 2]


def test_a_seed_gives_the_same_parts_and_another_seed_others():
    classes, groups = np.repeat([0, 1], 30), np.arange(60)
    assert (split_folds(classes, groups, 5, seed=3) == split_folds(classes, groups, 5, seed=3)).all()
    assert (split_folds(classes, groups, 5, seed=3) != split_folds(classes, groups, 5, seed=4)).any()
    assert (holdout(classes, groups, 0.3, seed=3) != holdout(classes, groups, 0.3, seed=4)).any()


def test_no_rows_give_no_parts():
    assert len(split_folds([], [], 5, seed=0)) == 0
    assert len(holdout([], [], 0.2, seed=0)) == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: split_folds([0, 1], [0, 1], 1, seed=0), "folds must be at least 2, got 1"),
        (lambda: split_folds([0, 1], [0, 1], 2, seed=-1), "seed must be a whole number, at least 0, got -1"),
        (lambda: split_folds([0, 1], [0], 2, seed=0), r"two lists of one length, got shapes \(2,\) and \(1,\)"),
        (lambda: split_folds([0, -1], [0, 1], 2, seed=0), "classes must be 0 or more, got -1; give labeled rows only"),
        (lambda: holdout([0, 1], [0, 1], 1.0, seed=0), "share must lie between 0 and 1, got 1.0"),
    ],
)
def test_parts_that_cannot_be_made_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
