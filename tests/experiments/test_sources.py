"""Data sets from their published layouts, cut to a cell."""

from dataclasses import replace

import numpy as np
import pytest

from curriculum_labeling.experiments.cells import Cell
from curriculum_labeling.experiments.comparisons import CL, IMAGENET, PL, figure_4, on_svhn
from curriculum_labeling.experiments.sources import Sources, check_data, locate, prepare
from tests.experiments.layouts import TINY, WNIDS


@pytest.fixture
def sources(data, tmp_path):
    return Sources(data, tmp_path / "images")


def test_cifar10_is_joined_split_and_cut(sources):
    found = prepare(TINY.reduced(CL), 0, sources)
    assert len(found.images) == 180
    sizes = {name: len(rows) for name, rows in vars(found.split).items()}
    assert sizes == {"labeled": 40, "unlabeled": 24, "validation": 10, "test": 16}
    assert found.split.test.min() >= 150
    assert len(found.training_rows) == 64
    assert np.bincount(found.images.labels[found.split.labeled]).tolist() == [4] * 10


def test_seeds_draw_other_splits_over_the_same_test_rows(sources):
    one, other = (prepare(TINY.reduced(CL), seed, sources).split for seed in (0, 1))
    assert (one.test == other.test).all()
    assert not np.array_equal(one.labeled, other.labeled)
    assert not np.array_equal(one.unlabeled, other.unlabeled)


def test_svhn_is_not_flipped(sources):
    found = prepare(TINY.reduced(on_svhn(CL)), 0, sources)
    assert not found.images.flippable
    assert len(found.split.labeled) == 10


def test_imagenet_is_decoded_once_with_its_first_classes(sources):
    found = prepare(TINY.reduced(IMAGENET), 0, sources)
    assert found.images.classes == WNIDS[:2]
    assert found.images.pixels.shape == (24, 16, 16, 3)
    assert len(found.split.test) == 8
    assert prepare(TINY.reduced(IMAGENET), 1, sources).images is found.images


def test_foreign_classes_have_no_label(sources):
    for share in (0.0, 0.5, 1.0):
        found = prepare(replace(TINY.reduced(PL), foreign=share, unlabeled=None), 0, sources)
        labels = found.images.labels
        assert found.images.classes == ("bird", "cat", "deer", "dog", "frog", "horse")
        assert (labels[found.split.unlabeled] < 0).mean() == share
        assert (labels[found.split.labeled] >= 0).all()
        assert (labels[found.split.test] >= 0).all()


def test_data_lies_in_the_folder_itself_or_in_one_of_its_name(data):
    assert locate("svhn", data) == data / "svhn"
    assert locate("svhn", data / "svhn") == data / "svhn"
    archive = data / "cifar10" / "cifar-10-batches-bin" / "test_batch.bin"
    assert locate("cifar10", archive) == archive


def test_missing_data_is_one_sentence(tmp_path):
    with pytest.raises(ValueError, match="--data must name the folder that holds CIFAR-10, got none"):
        locate("cifar10", None)
    with pytest.raises(ValueError, match=r"--data must hold SVHN as published \(train_32x32.mat\), in itself or in"):
        locate("svhn", tmp_path)


def test_a_run_begins_where_at_least_one_data_set_is_there(data, tmp_path):
    check_data([CL, on_svhn(CL)], Sources(data / "svhn", tmp_path))
    check_data(figure_4.cells, Sources(None, tmp_path))
    check_data([], Sources(None, tmp_path))
    with pytest.raises(ValueError, match="--data must hold CIFAR-10 as published"):
        check_data([CL, Cell("imagenet")], Sources(data / "svhn", tmp_path))


def test_decoding_can_be_stopped_and_goes_on(data, tmp_path):
    def stop(_):
        raise KeyboardInterrupt

    stopped = Sources(data, tmp_path / "images", watch=stop)
    with pytest.raises(KeyboardInterrupt):
        prepare(TINY.reduced(IMAGENET), 0, stopped)
    assert len(prepare(TINY.reduced(IMAGENET), 0, replace(stopped, watch=None)).images) == 24
