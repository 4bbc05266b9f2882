from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curriculum_labeling.labels import Labels
from curriculum_labeling.vision.batches import Batches, pieces
from curriculum_labeling.vision.distributed import Group


def labels(count, given_rows=None):
    rows = np.arange(count)
    given_rows = count if given_rows is None else given_rows
    return Labels(rows, rows % 2, given_rows, np.ones(count), rows % 2, np.zeros(count))


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 90), st.integers(1, 40), st.integers(0, 3))
def test_an_epoch_holds_every_row_once_in_steps_of_nearly_one_size(count, size, epoch):
    batches = Batches(labels(count), size, seed=1)
    steps = [batches.step(epoch * batches.steps_per_epoch + i) for i in range(batches.steps_per_epoch)]
    assert sorted(np.concatenate([step.positions for step in steps])) == list(range(count))
    sizes = [len(step) for step in steps]
    assert max(sizes) <= size
    assert max(sizes) - min(sizes) <= 1


def test_a_step_depends_on_the_seed_and_its_number_alone():
    one, same = Batches(labels(50), 8, seed=3), Batches(labels(50), 8, seed=3)
    other = Batches(labels(50), 8, seed=4)
    assert (one.step(9).positions == same.step(9).positions).all()
    assert (one.step(9).positions != other.step(9).positions).any()
    first, second = (np.concatenate([one.step(e * 7 + i).positions for i in range(7)]) for e in (0, 1))
    assert (first != second).any()


def test_each_step_has_the_asked_share_of_given_labels_and_an_epoch_goes_once_through_the_others():
    batches = Batches(labels(50, given_rows=6), 10, seed=0, labeled_share=0.4)
    steps = [batches.step(i) for i in range(batches.steps_per_epoch)]
    assert all((step.positions < 6).sum() == 4 for step in steps)
    pseudo = np.concatenate([step.positions[step.positions >= 6] for step in steps])
    assert sorted(pseudo) == list(range(6, 50))


def test_repeated_labels_come_equally_often_and_every_use_has_an_address_of_its_own():
    batches = Batches(labels(50, given_rows=6), 10, seed=0, labeled_share=0.9)
    steps = [batches.step(i) for i in range(20)]
    uses = [(int(row), int(turn)) for s in steps for row, turn in zip(s.positions, s.passes, strict=True) if row < 6]
    assert len(set(uses)) == len(uses)
    counts = Counter(row for row, _ in uses)
    assert max(counts.values()) - min(counts.values()) <= 1


def test_without_pseudo_labels_there_is_nothing_to_mix():
    batches = Batches(labels(30), 10, seed=0, labeled_share=0.5)
    assert batches.steps_per_epoch == 3
    assert (batches.step(0).positions == Batches(labels(30), 10, seed=0).step(0).positions).all()


@pytest.mark.parametrize(("size", "accumulate", "processes"), [(16, 1, 3), (10, 4, 2), (2, 1, 3), (3, 8, 2)])
def test_pieces_of_all_processes_make_up_the_step_in_its_order(size, accumulate, processes):
    shares = [pieces(size, accumulate, Group(rank, processes)) for rank in range(processes)]
    assert len({len(parts) for parts in shares}) == 1
    rows = [np.arange(size)[parts[a]] for a in range(len(shares[0])) for parts in shares]
    assert list(np.concatenate(rows)) == list(range(size))


def test_given_labels_are_spread_over_the_step():
    batches = Batches(labels(200, given_rows=40), 100, seed=0, labeled_share=0.5)
    given_first_half = [int((batches.step(number).positions[:50] < 40).sum()) for number in range(4)]
    assert all(10 < count < 40 for count in given_first_half)
