import copy

import pytest
import torch
from torch import nn

from curriculum_labeling.vision.averaging import EMA, SWA, Average, averaged_network, estimate_statistics
from curriculum_labeling.vision.schedule import Schedule
from tests.vision.small import with_norm

SCHEDULE = Schedule(steps=20, steps_per_epoch=2, learning_rate=0.1)


def run(rule, values):
    """The average after the only weight went through these values, one per step."""
    network = nn.Linear(1, 1, bias=False)
    average = Average(rule, network)
    for step, value in enumerate(values, start=1):
        network.weight.data.fill_(value)
        average.update(network, step, SCHEDULE)
    return average


def test_swa_is_the_mean_of_the_weights_after_its_epochs():
    average = run(SWA(start=4, every=3), range(1, 21))
    assert average.count == 3
    assert average.values["weight"].item() == pytest.approx((8 + 14 + 20) / 3)


def test_swa_starts_at_a_fraction_of_the_epochs():
    assert SWA(0.5).first(SCHEDULE) == 5
    assert SWA(2 / 3).first(Schedule(750, 1, 0.1)) == 500


def test_ema_is_a_mean_at_first_and_then_forgets():
    assert run(EMA(0.9), [1, 2, 3]).values["weight"].item() == pytest.approx(2)
    average = run(EMA(0.5), [4, 8, 16])
    assert average.values["weight"].item() == pytest.approx((4 + 8) / 4 + 16 / 2)


def test_the_averaged_network_has_averaged_weights_and_statistics_of_the_batches():
    torch.manual_seed(0)
    network = with_norm(3)
    average = Average(SWA(start=1, every=1), network)
    average.update(network, 2, SCHEDULE)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(1)
    average.update(network, 4, SCHEDULE)
    batches = [torch.randn(8, 3, 8, 8) + 5 for _ in range(3)]
    made = averaged_network(network, average, batches)
    assert torch.allclose(made[0].weight, network[0].weight - 0.5)
    features = [made[0](batch) for batch in batches]
    assert torch.allclose(made[1].running_mean, torch.stack([f.mean((0, 2, 3)) for f in features]).mean(0), atol=1e-5)
    assert torch.allclose(made[1].running_var, torch.stack([f.var((0, 2, 3)) for f in features]).mean(0), rtol=1e-4)
    assert made[1].momentum == 0.1
    assert not made.training


def test_statistics_leave_dropout_off_and_weights_alone():
    network = nn.Sequential(nn.Dropout(0.9), nn.BatchNorm1d(4))
    before = copy.deepcopy(list(network.parameters()))
    batch = torch.randn(50, 4)
    estimate_statistics(network, [batch])
    assert torch.allclose(network[1].running_mean, batch.mean(0), atol=1e-6)
    assert all(torch.equal(a, b) for a, b in zip(before, network.parameters(), strict=True))


def test_without_an_average_the_network_itself_is_the_model():
    network = with_norm(3).train()
    assert averaged_network(network, None, []) is network
    assert not network.training


def test_swa_that_would_never_start_is_refused():
    with pytest.raises(ValueError, match=r"SWA start must be one of the 10 epochs of the budget, got 11; a fraction"):
        SWA(11).first(SCHEDULE)


@pytest.mark.parametrize("start", [0, -1, 1.0, 0.0])
def test_a_start_that_is_no_epoch_and_no_fraction_is_refused(start):
    with pytest.raises(ValueError, match="SWA start must be an epoch"):
        SWA(start)


def test_averaging_less_than_every_epoch_is_refused():
    with pytest.raises(ValueError, match="SWA every must be a whole number of epochs, at least 1, got 0"):
        SWA(every=0)


def test_a_decay_outside_zero_and_one_is_refused():
    with pytest.raises(ValueError, match=r"EMA decay must be between 0 and 1, got 1.0"):
        EMA(1.0)
