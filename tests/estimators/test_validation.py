import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curriculum_labeling.estimators.validation import (
    Checked,
    check_validation,
    folds,
    one_standard_error_round,
    read_validation_set,
)
from curriculum_labeling.labels import Labels


@given(
    sizes=st.lists(st.integers(1, 12), min_size=2, max_size=5),
    k=st.sampled_from(["auto", 2, 3, 5]),
    seed=st.integers(0, 99),
)
def test_folds_hold_out_each_label_once_but_never_a_class_whole(sizes, k, seed):
    classes = np.repeat(np.arange(len(sizes)), sizes)
    labels = Labels.of(np.arange(len(classes)), classes)
    held = []
    for fold in folds(labels, np.arange(1000, 3000), k, np.random.default_rng(seed)):
        assert set(fold.train) | set(fold.check) == set(range(len(classes)))
        assert not set(fold.train) & set(fold.check)
        assert set(classes[fold.train]) == set(classes)
        assert len(fold.unlabeled) == (500 if k == "auto" else 2000)
        held += fold.check.tolist()
    assert len(held) == len(set(held))
    assert set(held) == {i for i, c in enumerate(classes) if sizes[c] > 1}


def test_a_fraction_is_held_out_of_every_class():
    labels = Labels.of(np.arange(30), np.repeat([0, 1, 2], 10))
    (fold,) = folds(labels, np.arange(30, 40), 0.2, np.random.default_rng(0))
    assert np.bincount(labels.classes[fold.check]).tolist() == [2, 2, 2]


def test_a_fraction_of_single_labels_is_refused():
    labels = Labels.of([0, 1], [0, 1])
    with pytest.raises(ValueError, match="cannot hold out a label where every class has one"):
        list(folds(labels, np.arange(2, 5), 0.5, np.random.default_rng(0)))


@pytest.mark.parametrize("validation", ["cv", 1, 0.0, 1.5, -2, True, (1, 2, 3)])
def test_an_impossible_validation_is_refused(validation):
    with pytest.raises(ValueError, match="validation must be None, 'auto', a fraction"):
        check_validation(validation)


def test_a_validation_set_of_other_classes_is_refused():
    with pytest.raises(ValueError, match=r"labeled rows of the classes in y, got \['fish'\]"):
        read_validation_set((np.zeros((2, 1)), np.array(["cat", "fish"])), np.array(["cat", "dog"]))


def test_a_validation_set_with_unlabeled_or_missing_rows_is_refused():
    with pytest.raises(ValueError, match="validation must hold labeled rows only, got 1 unlabeled"):
        read_validation_set((np.zeros((2, 1)), np.array([0, -1])), np.array([0, 1]))
    with pytest.raises(ValueError, match="as many rows as labels, got 3 and 2"):
        read_validation_set((np.zeros((3, 1)), np.array([0, 1])), np.array([0, 1]))


def test_a_validation_set_is_numbered_as_the_training_classes():
    _, codes = read_validation_set((np.zeros((2, 1)), np.array(["dog", "dog"])), np.array(["cat", "dog"]))
    assert codes.tolist() == [1, 1]


def test_the_earliest_round_within_one_standard_error_is_best():
    rounds = np.zeros((3, 100), bool)
    rounds[0, :60], rounds[1, :87], rounds[2, :90] = True, True, True
    assert one_standard_error_round(Checked(rounds, rounds[2])) == 1


def test_folds_of_unlike_length_are_pooled_by_their_last_round():
    short = Checked(np.array([[True], [False]]), np.array([True]))
    long = Checked(np.array([[True], [True], [True]]), np.array([True]))
    assert Checked.pooled([short, long]).accuracies == [1.0, 0.5, 0.5]
