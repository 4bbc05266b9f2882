"""Defaults from the data and the machine."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from curriculum_labeling.data.listing import list_pairs
from curriculum_labeling.runs import budgets, choices
from curriculum_labeling.runs.choices import Machine
from curriculum_labeling.runs.options import FitOptions
from curriculum_labeling.runs.settings import LARGE_LEARNING_RATE, LEARNING_RATE, steps_for, training_config

CPU, GPU = Machine("cpu", 2), Machine("cuda", 8)


def choose(options, listing, machine, pace=800.0):
    return choices.choose(options, listing, machine, lambda *_: pace)


@pytest.fixture
def listing(tmp_path):
    def make(side=32, names=("cat", "dog"), each=6):
        pairs = []
        for i, name in enumerate([*names, None] * each):
            path = tmp_path / f"{side}-{i}.png"
            Image.fromarray(np.full((side, side, 3), i, dtype=np.uint8)).save(path)
            pairs.append((str(path), name))
        return list_pairs(pairs)

    return make


def test_small_images_train_a_network_and_photos_use_features(listing, monkeypatch):
    monkeypatch.setattr(choices, "default_backbone", lambda: "efficientnet-lite0")
    monkeypatch.setattr(choices, "open_backbone", lambda _: type("Backbone", (), {"resolution": 224}))
    small, photo = choose(FitOptions(), listing(32), CPU), choose(FitOptions(), listing(100), CPU)
    assert (small.backbone, small.network, small.resolution) == (None, "compact", 32)
    assert (photo.backbone, photo.network, photo.resolution) == ("efficientnet-lite0", None, 224)
    assert "no accelerator" in photo.reasons["features"]
    assert choose(FitOptions(), listing(100), GPU).network == "resnet-18"
    assert choose(FitOptions(), listing(32), GPU).network == "wrn-28-2"
    with pytest.raises(ValueError, match=r"--resolution must be 224 with --features efficientnet-lite0, got 64"):
        choose(FitOptions(resolution=64), listing(100), CPU)


def test_without_a_backbone_photos_train_a_network_and_are_told_why(listing, monkeypatch):
    monkeypatch.setattr(choices, "default_backbone", lambda: None)
    found = choose(FitOptions(), listing(100), CPU)
    assert (found.backbone, found.resolution) == (None, 64)
    assert "curriculum-labeling[embeddings]" in found.reasons[choices.HINT]


def test_a_wrong_backbone_is_refused(listing):
    with pytest.raises(ValueError, match=r"--features must be efficientnet-lite0, timm:NAME"):
        choose(FitOptions(features="nonsense"), listing(), CPU)


def test_a_wrong_network_is_refused_before_it_is_timed(listing):
    with pytest.raises(ValueError, match=r"^--network must be one of .*got 'resnet-99'"):
        choose(FitOptions(network="resnet-99"), listing(), CPU)
    with pytest.raises(ValueError, match=r"^--resolution must be at least 12 pixels for 'cnn-13', got 8"):
        choose(FitOptions(network="cnn-13", resolution=8), listing(), CPU)


def test_digits_and_letters_are_not_mirrored(listing):
    assert not choose(FitOptions(), listing(names=("0", "1")), CPU).flip
    assert not choose(FitOptions(), listing(names=("a", "b")), CPU).flip
    assert choose(FitOptions(), listing(), CPU).flip
    assert choose(FitOptions(flip=True), listing(names=("0", "1")), CPU).flip


def test_few_labels_are_folded_and_many_held_out(listing, monkeypatch):
    found = choose(FitOptions(), listing(), CPU)
    assert (found.folds, found.holdout) == (2, 0.0)
    monkeypatch.setattr(choices, "ENOUGH_TO_HOLD_OUT", 5)
    found = choose(FitOptions(), listing(), CPU)
    assert (found.folds, found.holdout) == (0, 0.2)
    found = choose(FitOptions(validation="4"), listing(), CPU)
    assert (found.folds, found.holdout) == (4, 0.0)
    found = choose(FitOptions(validation="none"), listing(), CPU)
    assert (found.folds, found.holdout) == (0, 0.0)


def test_a_time_becomes_a_budget_by_what_the_machine_can_do(listing, monkeypatch):
    monkeypatch.setattr(budgets, "MOST_PASSES", 1e9)
    short, long = (choose(FitOptions(minutes=m), listing(), CPU) for m in (5, 5000))
    assert (short.small, short.augmentation) == (True, "light")
    assert (long.small, long.augmentation) == (False, "heavy")
    assert long.weights == pytest.approx((1 / 6,) * 6)
    assert long.pacing.percentiles == (80, 60, 40, 20, 0)
    assert short.weights[0] < short.weights[-1]
    assert short.pacing.rounds == len(short.weights) - 1
    assert short.reasons["budget"].startswith("about 100,000 images to train on, not counting folds, in this time")
    assert "labels only has 2 % of the time" in short.reasons["rounds"]
    assert not choose(FitOptions(minutes=5), listing(), GPU, pace=1e6).small


def test_many_labels_have_augmentation_by_how_often_a_training_sees_an_image(listing, monkeypatch):
    assert choose(FitOptions(minutes=5), listing(), CPU).augmentation == "light"
    monkeypatch.setattr(choices, "MANY_LABELS", 12)
    found = choose(FitOptions(minutes=5), listing(), CPU)
    assert found.augmentation == "by passes"
    assert "more than 16 times, light; else cutout" in found.reasons["augmentation"]
    assert training_config(found).augmentation == "light"
    assert choose(FitOptions(minutes=5, augmentation="cutout"), listing(), CPU).augmentation == "cutout"
    assert choose(FitOptions(minutes=5, budget="large"), listing(), CPU).augmentation == "heavy"


def test_a_small_set_is_a_small_budget_however_long_the_time(listing):
    found = choose(FitOptions(minutes=5000), listing(), CPU)
    assert found.small
    assert "as often as helps on so few images" in found.reasons["budget"]


def test_the_budget_can_be_said(listing):
    assert not choose(FitOptions(minutes=5, budget="large"), listing(), CPU).small
    assert choose(FitOptions(minutes=5000, budget="small"), listing(), CPU).small
    with pytest.raises(ValueError, match=r"--budget must not be given with --features efficientnet-lite0"):
        choose(FitOptions(budget="small", features="efficientnet-lite0"), listing(), CPU)


def test_few_labels_start_from_turns_and_more_from_fresh_weights(listing, monkeypatch):
    found = choose(FitOptions(minutes=5), listing(), CPU)
    assert found.turns > 0
    assert found.turns + sum(found.weights) == pytest.approx(1)
    assert "12 labels are few" in found.reasons["start"]
    monkeypatch.setattr(budgets, "LABELS_FOR_TURNS", 11)
    found = choose(FitOptions(minutes=5), listing(), CPU)
    assert found.turns == 0
    assert "12 labels teach more" in found.reasons["start"]
    assert choose(FitOptions(minutes=5, start="turns"), listing(), CPU).turns > 0
    assert choose(FitOptions(passes=2, start="turns"), listing(), CPU).turns == pytest.approx(1 / 7)
    assert choose(FitOptions(minutes=5, budget="large"), listing(), CPU).turns == 0
    with pytest.raises(ValueError, match=r"--start must not be given with --features efficientnet-lite0"):
        choose(FitOptions(start="fresh", features="efficientnet-lite0"), listing(), CPU)


def test_a_time_in_which_nothing_can_be_learned_is_refused_with_one_that_suffices(listing):
    with pytest.raises(ValueError, match=r"--minutes must be at least \S+ to train on and score 18 images") as refused:
        choose(FitOptions(minutes=0.15), listing(), CPU)
    enough = float(str(refused.value).split()[5])
    assert choose(FitOptions(minutes=enough), listing(), CPU).minutes == enough
    with pytest.raises(ValueError, match=r"got 0\.15"):
        choose(FitOptions(minutes=0.15), listing(), CPU, pace=1.0)


def test_more_folds_than_a_class_has_labels_are_refused(listing):
    found = listing()
    fewest = int(np.bincount(found.labels[found.labels >= 0]).min())
    assert choose(FitOptions(validation=str(fewest)), found, CPU).folds == fewest
    with pytest.raises(
        ValueError, match=rf"the rarest class has labels \({fewest}, '\w+'\), or 2, got {fewest + 1}; use"
    ):
        choose(FitOptions(validation=str(fewest + 1)), found, CPU)


def test_rounds_that_are_asked_for_are_of_equal_length(listing):
    found = choose(FitOptions(minutes=5, percentiles=(50.0, 0.0)), listing(), CPU)
    assert found.weights == (found.turns,) * 3
    assert found.pacing.percentiles == (50, 0)
    found = choose(FitOptions(minutes=5, percentiles=(50.0, 0.0), start="fresh"), listing(), CPU)
    assert found.weights == pytest.approx((1 / 3,) * 3)


def test_the_machine_is_measured_only_where_a_network_has_a_time(listing):
    def measured(*_):
        raise AssertionError

    found = choices.choose(FitOptions(passes=5), listing(), CPU, measured)
    assert (found.minutes, found.pacing.rounds) == (None, 5)
    assert choose(FitOptions(), listing(), CPU).minutes == budgets.MINUTES_ON_CPU


def test_most_labels_are_for_learning(listing, monkeypatch):
    monkeypatch.setattr(choices, "ENOUGH_TO_HOLD_OUT", 5)
    monkeypatch.setattr(choices, "HELD_OUT_LABELS", 1)
    assert choose(FitOptions(), listing(), CPU).holdout == pytest.approx(1 / 12)


def test_files_that_are_no_images_do_not_stop_the_choice(tmp_path):
    (tmp_path / "a.png").write_text("no image")
    assert choices.typical_side(list_pairs([(str(tmp_path / "a.png"), None)])) == 32


def test_batches_are_cut_in_two_on_a_cpu_where_the_labels_fill_both_halves(listing, monkeypatch):
    options = FitOptions(minutes=5)
    assert choose(options, listing(), CPU).pieces == 1
    monkeypatch.setattr(choices, "LABELS_FOR_PIECES", 12)
    found = choose(options, listing(), CPU)
    assert found.pieces == 2
    assert training_config(found).accumulate == 2
    assert choose(options, listing(), GPU).pieces == 1


def test_long_trainings_have_a_wider_network(listing, monkeypatch):
    few = listing()
    monkeypatch.setattr(budgets, "MOST_PASSES", 1e6)
    asked = []

    def chosen(**options):
        def pace(network, _):
            asked.append(network)
            return 800.0

        return choices.choose(FitOptions(**options), few, CPU, pace)

    assert chosen(minutes=5).network == "compact"
    wide = chosen(minutes=60)
    assert wide.network == "compact-48"
    assert "wider than usual" in wide.reasons["network"]
    assert set(asked) == {"compact"}  # shares of the time are those of the narrower one
    assert chosen(minutes=60, network="compact").network == "compact"
    assert chosen(passes=100).network == "compact"
    assert chosen(minutes=60, budget="large").network == "compact"


def test_the_widest_network_has_larger_batches_and_steps_where_labels_are_many(listing, monkeypatch):
    options = FitOptions(minutes=5, network="compact-64", budget="small")
    assert choose(options, listing(), CPU).batch == choices.BATCH
    monkeypatch.setattr(choices, "LABELS_FOR_LARGE_BATCH", 11)
    found = choose(options, listing(), CPU)
    assert (found.batch, steps_for(3, 256, found.batch)) == (choices.LARGE_BATCH, 6)
    config = training_config(found)
    assert (config.batch_size, config.learning_rate) == (choices.LARGE_BATCH, LARGE_LEARNING_RATE)
    for other in (replace(options, network="compact-48"), replace(options, budget="large")):
        found = choose(other, listing(), CPU)
        assert (found.batch, training_config(found).learning_rate) == (choices.BATCH, LEARNING_RATE)
