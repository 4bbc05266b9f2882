import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file
from torch import nn

from curriculum_labeling import curriculum
from curriculum_labeling.labels import Labels
from curriculum_labeling.vision.distributed import Group, current_group, processes, share
from curriculum_labeling.vision.shared_norm import SharedBatchNorm
from tests.vision.groups import said_at_the_end, start_group
from tests.vision.small import same_weights
from tests.vision.together import SIZES, Fixed

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What groups of one, two and three processes found, by size and rank."""
    folder = tmp_path_factory.mktemp("together")
    subprocess.run([sys.executable, "-m", "tests.vision.together", str(folder)], cwd=ROOT, check=True)
    return {size: [load_file(folder / f"{size}-{rank}.safetensors") for rank in range(size)] for size in SIZES}


@pytest.mark.parametrize("size", [2, 3])
def test_all_processes_end_with_exactly_the_same_weights_scores_and_selected_rows(found, size):
    first, *others = ({name: one[name] for name in one if not name.startswith("held.")} for one in found[size])
    assert all(same_weights(first, other) for other in others)


@pytest.mark.parametrize("size", [2, 3])
def test_several_processes_train_as_one_does_up_to_rounding(found, size):
    alone, together = found[1][0], found[size][0]
    weights = [name for name in alone if name[0].isdigit()]
    assert len(weights) > 20
    for name in weights:
        assert torch.allclose(alone[name].float(), together[name].float(), rtol=1e-3, atol=1e-4), name
    assert torch.equal(alone["rows"], together["rows"])
    assert alone["confidence"].numpy() == pytest.approx(together["confidence"].numpy(), rel=1e-2)


@pytest.mark.parametrize("size", [2, 3])
def test_fewer_rows_than_processes_train_and_score_as_one_does(found, size):
    alone, together = found[1][0], found[size][0]
    for name in (name for name in alone if name.startswith("few.")):
        assert torch.allclose(alone[name].float(), together[name].float(), rtol=1e-3, atol=1e-4), name


@pytest.mark.parametrize("size", [2, 3])
def test_selection_over_shares_of_the_scores_is_exactly_that_of_one_process(found, size):
    names = [name for name in found[1][0] if name.startswith("shares.")]
    assert len(names) == 4 * 4 * 2 * 6
    for name in names:
        for one in found[size]:
            assert torch.equal(found[1][0][name], one[name]), name


@pytest.mark.parametrize("size", [2, 3])
def test_every_process_holds_only_its_share_of_the_scores(found, size):
    for name in (name for name in found[1][0] if name.startswith("held.")):
        parts = [one[name] for one in found[size]]
        assert torch.equal(torch.cat(parts), found[1][0][name])
        assert max(map(len, parts)) <= -(-len(found[1][0][name]) // size)


def test_a_group_of_one_selects_as_no_group_does():
    alone, grouped = Fixed(40), Fixed(40)
    for learner, group in ((alone, None), (grouped, Group())):
        list(curriculum(learner, Labels.of([0, 1, 2], [0, 1, 2]), np.arange(3, 43), group=group))
    for one, other in zip(alone.seen, grouped.seen, strict=True):
        assert (one.rows == other.rows).all()
        assert (one.classes == other.classes).all()


def test_a_shared_norm_in_a_group_of_one_is_torchs():
    torch.manual_seed(0)
    ours, theirs = SharedBatchNorm(4), nn.BatchNorm2d(4)
    ours.group = Group()
    for _ in range(3):
        one = (torch.randn(6, 4, 5, 5) * 3 + 100).requires_grad_()
        two = one.detach().clone().requires_grad_()
        weights = torch.randn(6, 4, 5, 5)
        (ours(one) * weights).sum().backward()
        (theirs(two) * weights).sum().backward()
        assert torch.allclose(one.grad, two.grad, atol=1e-4)
    assert torch.allclose(ours.weight.grad, theirs.weight.grad, rtol=1e-3)
    assert torch.allclose(ours.running_mean, theirs.running_mean)
    assert torch.allclose(ours.running_var, theirs.running_var, rtol=1e-4)
    assert torch.allclose(ours.eval()(one), theirs.eval()(one), rtol=1e-3, atol=1e-3)


def test_a_shared_norm_needs_rows_and_channels():
    with pytest.raises(ValueError, match="batch normalization needs rows and channels, got a tensor of 1 axes"):
        SharedBatchNorm(4).eval()(torch.zeros(4))


@given(st.integers(0, 100), st.integers(1, 9))
def test_shares_are_disjoint_complete_and_even(n, parts):
    shares = [np.arange(n)[share(n, number, parts)] for number in range(parts)]
    assert list(np.concatenate(shares)) == list(range(n))
    sizes = [len(one) for one in shares]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize(("failing", "waiting"), [(0, "from_first"), (1, "add"), (1, "gather")])
def test_a_process_that_fails_ends_the_whole_group(failing, waiting):
    codes, errors = said_at_the_end(start_group(2, "-m", "tests.vision.parted", str(failing), waiting))
    assert codes == [1, 1]
    assert errors[failing] == "ValueError: this process has had enough"
    assert f"Another process of this group of 2 has ended, and process {1 - failing} cannot" in errors[1 - failing]
    assert errors[1 - failing].startswith("LostProcessError: ")
    assert len(errors[1 - failing].splitlines()) == 1


def test_without_torchrun_a_process_is_a_group_of_one(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with processes() as group:
        assert group == current_group() == Group(0, 1)


@pytest.mark.parametrize("minutes", [0, -1.0, float("inf"), float("nan")])
def test_patience_is_a_number_of_minutes(minutes):
    with (
        pytest.raises(ValueError, match="patience must be a number of minutes above 0, got"),
        processes(patience=minutes),
    ):
        pass
