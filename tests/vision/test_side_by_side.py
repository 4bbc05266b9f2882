import numpy as np
import pytest
import torch
from torch import nn

from curriculum_labeling.vision.distributed import Group
from curriculum_labeling.vision.learner import ImageLearner
from curriculum_labeling.vision.networks import build_network
from curriculum_labeling.vision.schedule import Budget
from curriculum_labeling.vision.side_by_side import can_be_side_by_side, side_by_side
from tests.vision.small import colors, labels_of, same_weights, settings

IMAGES = colors()
CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def two_threads(one_thread):  # noqa: ARG001 – in this order
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(1)


def weights(threads, **changes):
    torch.set_num_threads(threads)
    config = settings(network="compact-8", accumulate=2, budget=Budget(steps=6), **changes)
    return ImageLearner(IMAGES, config, device="cpu").fit(labels_of(IMAGES, np.arange(40)), seed=0).state_dict()


@pytest.mark.parametrize("changes", [{}, {"optimizer": "muon"}, {"mixup": 1.0, "precision": "bf16"}])
def test_two_threads_train_the_network_that_one_trains(changes):
    alone, together = weights(1, **changes), weights(2, **changes)
    assert torch.get_num_threads() == 2
    for name, values in alone.items():
        torch.testing.assert_close(values, together[name], atol=1e-4, rtol=1e-3, msg=name)
    assert together["features.2.num_batches_tracked"] == 12


def test_pieces_do_run_in_threads_of_their_own():
    seen = []

    def objective(network, batch):
        seen.append((torch.get_num_threads(), len(batch.images), network))
        return network(batch.images).square().mean()

    weights(2, objective=objective)
    assert {threads for threads, _, _ in seen} == {1}
    assert len({id(network) for _, _, network in seen}) == 2


def test_a_step_may_have_fewer_rows_than_pieces():
    images = colors(6, size=32)  # large enough for batch normalization of a single row
    config = settings(network="compact-8", accumulate=2, budget=Budget(steps=2))
    found = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        found.append(ImageLearner(images, config, device="cpu").fit(labels_of(images, [0]), seed=0).state_dict())
    for name, values in found[0].items():
        torch.testing.assert_close(values, found[1][name], atol=1e-4, rtol=1e-3, msg=name)
    assert found[1]["features.2.num_batches_tracked"] == 2  # one piece in each of two steps


def test_threads_are_given_back_when_training_breaks_off():
    def broken(*_):
        raise RuntimeError("no loss today")

    with pytest.raises(RuntimeError, match="no loss today"):
        weights(2, objective=broken)
    assert torch.get_num_threads() == 2


def test_copies_share_weights_but_not_what_norms_saw():
    network = build_network("compact-8", 4)
    with side_by_side(network, 2) as pieces:
        for one in pieces.copies:
            assert all(a is b for a, b in zip(one.parameters(), network.parameters(), strict=True))
            buffers = zip(one.buffers(), network.buffers(), strict=True)
            assert not any(a is b for a, b in buffers)


@pytest.mark.parametrize(
    ("changes", "group"),
    [
        ({"accumulate": 1}, Group()),
        ({"network": "cnn-13"}, Group()),  # dropout draws, and draws have an order
        ({"network": lambda classes: nn.Sequential(nn.Flatten(), nn.Linear(12, classes))}, Group()),
        ({"compile": True}, Group()),
        ({}, Group(0, 2)),
    ],
)
def test_not_where_threads_would_matter(changes, group):
    config = settings(**{"network": "compact-8", "accumulate": 2, **changes})
    network = build_network(config.network, 4, 3, 16)
    assert not can_be_side_by_side(network, config, CPU, group)


def test_only_with_threads_and_on_a_cpu():
    config = settings(network="compact-8", accumulate=2)
    network = build_network("compact-8", 4, 3, 16)
    assert can_be_side_by_side(network, config, CPU, Group())
    assert not can_be_side_by_side(network, config, torch.device("meta"), Group())
    torch.set_num_threads(1)
    assert not can_be_side_by_side(network, config, CPU, Group())


def test_a_training_in_threads_resumes_to_the_bit(tmp_path):
    config = settings(network="compact-8", accumulate=2, optimizer="muon", budget=Budget(epochs=4))
    labels = labels_of(IMAGES, np.arange(40))
    whole = ImageLearner(IMAGES, config, device="cpu").fit(labels, seed=0)
    asked = iter([False] * 4 + [True])
    with pytest.raises(KeyboardInterrupt):
        ImageLearner(IMAGES, config, device="cpu", checkpoints=tmp_path, stop=lambda: next(asked)).fit(labels, seed=0)
    resumed = ImageLearner(IMAGES, config, device="cpu", checkpoints=tmp_path).fit(labels, seed=0)
    assert same_weights(whole.state_dict(), resumed.state_dict())
