import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from curriculum_labeling import order
from curriculum_labeling.order import group_sizes, kth_largest


@pytest.fixture(autouse=True, params=["counted", "partitioned"])
def way(request, monkeypatch):
    """Every test runs twice: by counting alone, and with the short way for small arrays."""
    if request.param == "counted":
        monkeypatch.setattr(order, "_one_small_shard", lambda _: None)


def floats(dtype):
    width = 32 if dtype == np.float32 else 64
    return hnp.arrays(dtype, st.integers(1, 60), elements=st.floats(width=width, allow_nan=False))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_the_kth_largest_is_that_of_sorting(dtype, data):
    values = data.draw(floats(dtype))
    k = data.draw(st.integers(1, len(values)))
    found = kth_largest(lambda: [(values, None)], np.array([k]))
    assert found[0] == np.sort(values)[::-1][k - 1]
    assert found.dtype == dtype


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=floats(np.float32), cuts=st.lists(st.integers(0, 60), max_size=4), data=st.data())
def test_shards_give_what_one_array_gives(values, cuts, data):
    k = np.array([data.draw(st.integers(1, len(values)))])
    parts = np.split(values, sorted(c for c in cuts if c <= len(values)))
    assert kth_largest(lambda: [(p, None) for p in parts], k) == kth_largest(lambda: [(values, None)], k)


class AllReduce:
    """Sums arrays over workers that meet at a barrier, as a process group would."""

    def __init__(self, workers):
        self.barrier, self.given = threading.Barrier(workers, timeout=30), {}

    def __call__(self, rank):
        def reduce(counts):
            self.given[rank] = counts
            self.barrier.wait()
            total = sum(self.given.values())
            self.barrier.wait()
            return total

        return reduce


@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=floats(np.float64), workers=st.integers(2, 3), data=st.data())
def test_workers_that_sum_their_counts_find_what_one_array_gives(values, workers, data):
    k = np.array([data.draw(st.integers(1, len(values)))])
    all_reduce = AllReduce(workers)

    def work(rank):
        return kth_largest(lambda: [(values[rank::workers], None)], k, reduce=all_reduce(rank))

    with ThreadPoolExecutor(workers) as pool:
        found = list(pool.map(work, range(workers)))
    assert set(np.concatenate(found)) == set(kth_largest(lambda: [(values, None)], k))


@pytest.mark.parametrize("groups", [3, 100])
def test_every_group_has_its_own_rank(groups):
    rng = np.random.default_rng(0)
    values, group = rng.normal(size=5000).astype(np.float32), rng.integers(groups, size=5000)
    sizes = group_sizes(lambda: [(values, group)], groups)
    assert (sizes == np.bincount(group, minlength=groups)).all()
    k = rng.integers(1, sizes + 1)
    found = kth_largest(lambda: [(values, group)], k)
    for g in range(groups):
        assert found[g] == np.sort(values[group == g])[::-1][k[g] - 1]


def test_rank_zero_asks_for_nothing():
    values, group = np.array([0.1, 0.5]), np.array([0, 1])
    assert kth_largest(lambda: [(values, group)], np.array([0, 1])).tolist() == [np.inf, 0.5]


def test_negative_zero_and_zero_are_one_value():
    values = np.array([-0.0, 0.0, 1.0])
    assert kth_largest(lambda: [(values, None)], np.array([3]))[0] == 0.0
    assert (values >= kth_largest(lambda: [(values, None)], np.array([2]))[0]).sum() == 3


def test_memory_stays_at_a_few_chunks(monkeypatch):
    monkeypatch.setattr(order, "CHUNK", 1 << 14)
    values = np.random.default_rng(0).random(4_000_000, dtype=np.float32)
    tracemalloc.start()
    kth_largest(lambda: [(values, None)], np.array([1000]))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < values.nbytes / 4
