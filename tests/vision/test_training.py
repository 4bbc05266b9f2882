import math

import numpy as np
import pytest
import torch

from curriculum_labeling.vision.averaging import EMA, SWA
from curriculum_labeling.vision.checkpoint import Checkpoints
from curriculum_labeling.vision.learner import ImageLearner
from curriculum_labeling.vision.objective import cross_entropy
from curriculum_labeling.vision.schedule import Budget
from curriculum_labeling.vision.training import DivergedError
from tests.vision.small import colors, labels_of, same_weights, settings, without_norm

IMAGES = colors()
ROWS = np.arange(40)


def fit(config, *, seed=0, **options):
    return ImageLearner(IMAGES, config, device="cpu", **options).fit(labels_of(IMAGES, ROWS), seed=seed)


def accuracy(model):
    rows = np.arange(40, 60)
    return (model.score(rows).classes == IMAGES.labels[rows]).mean()


def test_a_network_learns():
    assert accuracy(fit(settings(budget=Budget(epochs=10)))) > 0.9


def test_one_seed_gives_one_model_and_another_seed_another():
    config = settings(mixup=1.0, augmentation="heavy", average=EMA(0.9))
    first = fit(config).state_dict()
    assert same_weights(first, fit(config).state_dict())
    assert not same_weights(first, fit(config, seed=1).state_dict())


def test_torchs_own_generator_is_left_as_it_was():
    before = torch.random.get_rng_state()
    fit(settings())
    assert torch.equal(before, torch.random.get_rng_state())


@pytest.mark.parametrize("mixup", [0.0, 1.0])
def test_accumulation_equals_the_big_batch(mixup):
    big, small = (fit(settings(network=without_norm, mixup=mixup, accumulate=a)).state_dict() for a in (1, 5))
    for name in big:
        assert torch.allclose(big[name], small[name], atol=1e-6), name


@pytest.mark.parametrize(
    "changes",
    [
        {"labels": "soft", "class_weights": "inverse", "smoothing": 0.1},
        {"whitening": True, "augmentation": "none"},
        {"decay_norms_and_biases": False, "nesterov": False, "warmup": 0.5},
        {"precision": "bf16", "channels_last": False},
        {"flip_scoring": True, "average": SWA(0.5, 1)},
    ],
)
def test_every_option_trains(changes):
    assert accuracy(fit(settings(budget=Budget(epochs=10), **changes))) > 0.6


def test_weight_decay_spares_norms_and_biases_if_asked():
    decayed, spared = (
        fit(settings(weight_decay=0.5, decay_norms_and_biases=decay, learning_rate=0.02)).state_dict()
        for decay in (True, False)
    )
    assert spared["1.weight"].mean() > decayed["1.weight"].mean()


@pytest.mark.parametrize(("budget", "steps"), [(Budget(epochs=2), 6), (Budget(steps=4), 4)])
def test_a_budget_is_kept_to_the_step(budget, steps):
    taken = []

    def counting(network, batch):
        taken.append(batch.size)
        return cross_entropy(network, batch)

    fit(settings(budget=budget, objective=counting))
    assert len(taken) == steps
    assert set(taken) <= {13, 14}


def test_a_budget_in_minutes_becomes_a_schedule_that_a_resumed_run_continues(tmp_path, monkeypatch):
    from curriculum_labeling.vision import training

    times = iter([0.5, 0.001])
    monkeypatch.setattr(training, "seconds_per_step", lambda *_: next(times))
    epochs = []

    def stop(epoch):
        epochs.append(epoch)
        if len(epochs) == 2:
            raise KeyboardInterrupt

    config = settings(budget=Budget(minutes=0.1))
    with pytest.raises(KeyboardInterrupt):
        fit(config, checkpoints=tmp_path, watch=stop)
    resumed = fit(config, checkpoints=tmp_path, watch=epochs.append).state_dict()
    assert next(times) == 0.001
    assert [epoch.number for epoch in epochs] == [1, 2, 2, 3, 4]
    assert same_weights(resumed, fit(settings(budget=Budget(steps=12))).state_dict())


def test_minutes_are_about_kept():
    epochs = []
    fit(settings(budget=Budget(minutes=0.01)), watch=epochs.append)
    assert epochs[-1].number == epochs[-1].epochs
    assert 0.03 < epochs[-1].seconds < 30


def test_an_epoch_is_described():
    epochs = []
    fit(settings(), watch=epochs.append)
    assert [(epoch.round, epoch.number, epoch.epochs) for epoch in epochs] == [(0, 1, 3), (0, 2, 3), (0, 3, 3)]
    assert epochs[0].loss > epochs[-1].loss > 0
    assert epochs[-1].seconds_left == 0
    assert 0.05 > epochs[0].learning_rate > epochs[-1].learning_rate > 0


def broken_after(good, value):
    """An objective whose loss is `value` after so many good steps."""
    calls = []

    def objective(network, batch):
        calls.append(1)
        return cross_entropy(network, batch) * (1 if len(calls) <= good else value)

    return objective


@pytest.mark.parametrize(("value", "shown"), [(math.nan, "nan"), (1e9, r"\d\.\d+e\+0\d"), (math.inf, "inf")])
def test_a_broken_loss_stops_training_and_names_round_epoch_and_rate(value, shown, tmp_path):
    learner = ImageLearner(
        IMAGES, settings(objective=broken_after(4 + 9, value)), device="cpu", checkpoints=Checkpoints(tmp_path)
    )
    learner.fit(labels_of(IMAGES, ROWS), seed=0)
    message = f"training diverged in round 1, epoch 2, at learning rate 0.0[0-9]+: the loss is {shown}; lower"
    with pytest.raises(DivergedError, match=message) as caught:
        learner.fit(labels_of(IMAGES, ROWS), seed=1)
    kept = next(folder for folder in tmp_path.iterdir() if str(folder) in str(caught.value))
    assert [file.name for file in kept.glob("*.safetensors")] == ["step-00000003.safetensors"]


def test_weights_that_break_in_the_last_step_are_noticed():
    with pytest.raises(DivergedError, match="the loss is nan"):
        fit(settings(budget=Budget(steps=1), learning_rate=1e38, network=without_norm, objective=broken_after(0, 1e2)))


@pytest.mark.parametrize("network", ["wrn-28-2", "cnn-13", "resnet-50", "resnet-18", "compact"])
def test_every_network_takes_a_step_or_two(network):
    images = colors(count=6, size=16)
    # Statistics of so few rows are only sound when they are estimated at the end, as averaging does.
    config = settings(network=network, budget=Budget(steps=2), batch_size=6, learning_rate=1e-4, average=EMA(0.9))
    model = ImageLearner(images, config, device="cpu").fit(labels_of(images, np.arange(6)), seed=0)
    assert np.isfinite(model.logits(images.pixels)).all()


def test_a_stop_saves_at_that_step_and_the_rest_follows(tmp_path):
    config = settings(budget=Budget(epochs=4))
    asked = iter([False] * 7 + [True])
    with pytest.raises(KeyboardInterrupt):
        fit(config, checkpoints=Checkpoints(tmp_path, epochs=100), stop=lambda: next(asked))
    assert len(list(tmp_path.glob("*/step-00000008.safetensors"))) == 1
    resumed = fit(config, checkpoints=Checkpoints(tmp_path, epochs=100))
    assert same_weights(fit(config).state_dict(), resumed.state_dict())
