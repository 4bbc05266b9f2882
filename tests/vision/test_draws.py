import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from curriculum_labeling.vision.draws import bits, key, permutation, uniform

MASK = 2**64 - 1


def splitmix(word):
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & MASK
    return word ^ (word >> 31)


@given(address=st.integers(-(2**63), 2**63 - 1), row=st.integers(0, 2**62), draw=st.integers(0, 20))
def test_bits_are_those_of_splitmix_in_python_integers(address, row, draw):
    golden = 0x9E3779B97F4A7C15
    stream = splitmix((row * golden + address) & MASK)
    expected = splitmix((stream + (draw + 1) * golden) & MASK)
    assert int(bits(address, torch.tensor([row]), draw + 1)[0, draw]) % 2**64 == expected


def test_keys_and_draws_never_change_between_versions():
    assert key(0, "augment", 1, 2) == -2197830807119578708
    assert bits(7, torch.tensor([0, 1, 10**9]), 2).tolist() == [
        [-8774268681488515761, 5573481420429128725],
        [-5137267319001854395, -6461814455296669442],
        [-6133057200669979304, -3920374987949761826],
    ]
    assert (uniform(7, torch.tensor([0, 1]), 3) * 2**24).int().tolist() == [
        [8797065, 5069051, 15787297],
        [12104898, 10900229, 9216971],
    ]
    assert permutation(7, 8).tolist() == [2, 0, 3, 4, 1, 5, 7, 6]


def test_keys_differ_in_every_part_and_between_numbers_and_text():
    keys = {key(*parts) for parts in [(0,), (1,), (0, 0), (0, "0"), (0, 1, 2), (0, 2, 1), (0, 12), (0, "a", 1)]}
    assert len(keys) == 8


@given(rows=st.lists(st.integers(0, 10**7), min_size=1, max_size=20), seed=st.integers(0, 99), count=st.integers(1, 9))
def test_a_row_draws_the_same_alone_as_in_any_batch(rows, seed, count):
    together = uniform(seed, torch.tensor(rows), count)
    alone = torch.cat([uniform(seed, torch.tensor([row]), count + 3)[:, :count] for row in rows])
    assert torch.equal(together, alone)


def test_draws_are_uniform():
    sample = uniform(key(0, "test"), torch.arange(20000), 5).double().numpy()
    assert sample.min() >= 0
    assert sample.max() < 1
    for column in sample.T:
        assert stats.kstest(column, "uniform").pvalue > 1e-3


def test_every_bit_is_a_fair_coin():
    words = bits(key(1), torch.arange(20000), 1)[:, 0]
    ones = torch.stack([(words >> place) & 1 for place in range(64)]).double().mean(dim=1)
    assert (ones - 0.5).abs().max() < 4.5 * 0.5 / 20000**0.5


@pytest.mark.parametrize("neighbor", ["row", "draw", "epoch", "round"])
def test_neighbors_are_independent(neighbor):
    rows = torch.arange(40000)
    here = uniform(key(0, 3, 5), rows, 2)[:, 0]
    there = {
        "row": uniform(key(0, 3, 5), rows + 1, 1)[:, 0],
        "draw": uniform(key(0, 3, 5), rows, 2)[:, 1],
        "epoch": uniform(key(0, 3, 6), rows, 1)[:, 0],
        "round": uniform(key(0, 4, 5), rows, 1)[:, 0],
    }[neighbor]
    counts = np.histogram2d(here.numpy(), there.numpy(), bins=8)[0]
    assert stats.chisquare(counts.ravel()).pvalue > 1e-3
    assert abs(stats.spearmanr(here, there).statistic) < 0.02


def test_consecutive_keys_are_independent_too():
    rows = torch.arange(40000)
    counts = np.histogram2d(uniform(11, rows)[:, 0].numpy(), uniform(12, rows)[:, 0].numpy(), bins=8)[0]
    assert stats.chisquare(counts.ravel()).pvalue > 1e-3


@given(size=st.integers(0, 200), seed=st.integers(0, 9))
def test_a_permutation_has_every_number_once(size, seed):
    assert sorted(permutation(seed, size).tolist()) == list(range(size))


def test_rows_must_be_row_numbers():
    with pytest.raises(ValueError, match=r"rows must be a one-dimensional int64 tensor .* got torch.float32 of shape"):
        uniform(0, torch.zeros(3))
    with pytest.raises(ValueError, match=r"use torch.as_tensor"):
        uniform(0, torch.zeros(3, 1, dtype=torch.int64))


def test_keys_are_made_of_numbers_and_text():
    with pytest.raises(TypeError, match=r"parts must be integers or strings, got 0.5; convert it with int"):
        key(0, 0.5)
    with pytest.raises(TypeError, match="got True"):
        key(0, True)
