from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional

from curriculum_labeling.labels import Labels
from curriculum_labeling.vision import draws
from curriculum_labeling.vision import feed as feeds
from curriculum_labeling.vision.batches import Batches
from curriculum_labeling.vision.distributed import Group
from curriculum_labeling.vision.feed import Feed
from curriculum_labeling.vision.mixup import draw_mixup
from curriculum_labeling.vision.objective import cross_entropy, targets_of
from curriculum_labeling.vision.recipe import build_recipe
from curriculum_labeling.vision.whitening import fit_standardization
from tests.vision.small import colors, labels_of, settings

IMAGES = colors(count=31)
PREPROCESSING = fit_standardization(IMAGES.pixels.transpose(0, 3, 1, 2), np.arange(31))


def feed(group=Group(), given=None, **changes):  # noqa: B008  (a frozen dataclass)
    config = settings(augmentation="heavy", **changes)
    given = labels_of(IMAGES, np.arange(31)) if given is None else given
    batches = Batches(given, config.batch_size, 5, config.labeled_share)
    recipe = build_recipe("heavy")
    return Feed(IMAGES.pixels, batches, config, 3, recipe, PREPROCESSING, torch.device("cpu"), group)


def prepared(one, number):
    return [one.prepare(piece) for piece in one.read(number)]


@pytest.mark.parametrize("mixup", [0.0, 1.0])
@pytest.mark.parametrize(("processes", "accumulate"), [(2, 1), (3, 2), (1, 4)])
def test_every_row_looks_the_same_whatever_the_number_of_processes_and_pieces(processes, accumulate, mixup):
    (whole,) = prepared(feed(mixup=mixup), 1)
    shares = [prepared(feed(Group(r, processes), accumulate=accumulate, mixup=mixup), 1) for r in range(processes)]
    parts = [share[number] for number in range(len(shares[0])) for share in shares]
    assert torch.equal(torch.cat([part.images for part in parts]), whole.images)
    assert torch.equal(torch.cat([part.targets for part in parts]), whole.targets)
    assert {part.size for part in parts} == {len(whole.images)}


def test_reading_ahead_changes_nothing():
    ahead = list(feed(mixup=1.0).steps(1, 4))
    for number, pieces in zip((1, 2, 3), ahead, strict=True):
        (batch,) = pieces
        (alone,) = prepared(feed(mixup=1.0), number)
        assert torch.equal(batch.images, alone.images)


@pytest.mark.parametrize("group", [Group(), Group(1, 3)])
@pytest.mark.parametrize("at_once", [1, 3000, 1 << 22])
def test_steps_augmented_at_once_are_those_made_one_at_a_time(at_once, group, monkeypatch):
    options = {"mixup": 1.0, "accumulate": 2, "smoothing": 0.1, "batch_size": 7}
    alone = [batch for number in range(2, 11) for batch in prepared(feed(group, **options), number)]
    statistics = list(feed(group, **options).statistics())
    monkeypatch.setattr(feeds, "AT_ONCE", at_once)
    together = [batch for pieces in feed(group, **options).steps(2, 11) for batch in pieces]
    for one, other in zip(alone, together, strict=True):
        assert torch.equal(one.images, other.images)
        assert torch.equal(one.targets, other.targets)
    for one, other in zip(statistics, feed(group, **options).statistics(), strict=True):
        assert torch.equal(one, other)


def test_pixels_augmented_at_once_are_bounded(monkeypatch):
    sizes = []
    monkeypatch.setattr(feeds, "AT_ONCE", 40 * 192)
    monkeypatch.setattr(feeds, "augment", lambda pixels, *_, **__: sizes.append(len(pixels)) or pixels)
    one = feed(batch_size=16)
    for pieces in one.steps(0, 10):
        assert len(list(pieces)) == 1
    assert set(sizes) <= {30, 31, 32}
    assert len(sizes) == 5
    sizes.clear()
    monkeypatch.setattr(feeds, "AT_ONCE", 10)
    assert [len(list(pieces)) for pieces in feed(batch_size=16, accumulate=2).steps(0, 3)] == [2, 2, 2]
    assert max(sizes) == 8


def test_a_process_without_rows_reads_no_further_than_others_may():
    one = feed(Group(0, 3), given=Labels.of([1], [0]))
    first = next(one.steps(0, 1000))
    assert [len(batch.images) for batch in first] == [0]
    assert len(one._read_run(0, 1000)) == feeds.MOST_STEPS


def test_an_error_while_reading_ahead_reaches_the_trainer():
    broken = feed(given=Labels.of([31], [0]))
    with pytest.raises(IndexError, match="out of bounds"):
        list(broken.steps(0, 1))


def test_a_row_is_augmented_anew_in_every_epoch():
    rows = Labels.of([4], [1])
    (first,), (second,) = (prepared(feed(given=rows), number) for number in (0, 1))
    assert not torch.equal(first.images, second.images)


def test_a_label_that_comes_twice_in_one_step_is_augmented_twice():
    labels = Labels(np.arange(9), np.zeros(9, int), 1, np.ones(9), np.zeros(9, int), np.zeros(9))
    one = feed(given=labels, labeled_share=0.5, batch_size=8)
    (batch,) = prepared(one, 0)
    first, second, *_ = np.flatnonzero(one.batches.step(0).positions == 0)
    assert not torch.equal(batch.images[first], batch.images[second])


def drawn(one, number):
    """The mixup of a step: the weight of an image, and who its partner is."""
    key = draws.key(one.batches.seed, "mixup", number)
    mixup = draw_mixup(len(one.batches.step(number)), key=key, alpha=one.config.mixup)
    assert 0.05 < mixup.weight < 0.95
    return mixup.weight, mixup.partners


@pytest.mark.parametrize("number", [0, 2, 3])
def test_images_and_targets_are_mixed_with_those_of_their_partners(number):
    one = feed(mixup=1.0)
    (batch,), (plain,) = prepared(one, number), prepared(feed(), number)
    weight, partners = drawn(one, number)
    for mixed, x in ((batch.images, plain.images), (batch.targets, plain.targets)):
        assert torch.allclose(mixed, weight * x + (1 - weight) * x[partners], atol=1e-6)
    assert batch.targets.sum(dim=1).numpy() == pytest.approx(np.ones(len(batch.targets)))
    assert (batch.targets.max(dim=1).values < 1).any()


def test_an_image_of_all_the_weight_stays_as_it_is():
    one = feed(mixup=1.0)
    (piece,), (plain,) = one.read(0), prepared(feed(), 0)
    batch = one.prepare(replace(piece, weight=1.0))
    assert torch.equal(batch.images, plain.images)
    assert torch.equal(batch.targets, plain.targets)


@pytest.mark.parametrize("kind", ["hard", "soft"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_of_a_mixed_batch_is_the_weighted_sum_of_two_losses(kind, smoothing):
    rng = np.random.default_rng(0)
    labels = Labels(
        np.arange(31), IMAGES.labels, 4, rng.uniform(0.5, 0.6, 31), (IMAGES.labels + 1) % 3, np.full(31, 0.3)
    )
    options = {"mixup": 1.0, "smoothing": smoothing, "labels": kind}
    one = feed(given=labels, **options)
    (batch,) = prepared(one, 0)
    logits, (weight, partners) = torch.randn(len(batch.images), 3), drawn(one, 0)
    targets = targets_of(labels, one.batches.step(0).positions, 3, kind=kind)
    targets = targets.argmax(dim=1) if kind == "hard" else targets
    expected = weight * functional.cross_entropy(logits, targets, label_smoothing=smoothing)
    expected += (1 - weight) * functional.cross_entropy(logits, targets[partners], label_smoothing=smoothing)
    assert torch.allclose(cross_entropy(lambda _: logits, batch), expected)


def test_statistics_are_unmixed_training_images_of_one_epoch():
    images = torch.cat(list(feed(mixup=1.0).statistics()))
    again = torch.cat(list(feed(mixup=1.0).statistics()))
    assert images.shape == (31, 3, 8, 8)
    assert torch.equal(images, again)
