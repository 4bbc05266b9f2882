"""Which rows make which step: addressed by seed, epoch and step, whatever the number of processes.

An epoch is cut into steps whose sizes differ by one at most, so no step is a small remainder. A step
is cut again, into pieces per accumulation and process. Each use of a row has an address of its
own, (row, pass): what a row looks like then depends on nothing else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from curriculum_labeling.labels import IntArray, Labels
from curriculum_labeling.vision import draws
from curriculum_labeling.vision.distributed import Group, share

PASS = 1 << 32


@dataclass(frozen=True)
class Step:
    """The whole batch of one step: which entries of the labels, and the how-manieth use of each it is."""

    positions: IntArray
    passes: IntArray

    def __len__(self) -> int:
        return len(self.positions)


@dataclass(frozen=True)
class Batches:
    """All steps of a training on `labels`.

    Parameters
    ----------
    labels : Labels
        What is trained on.
    size : int
        Rows per step, at most.
    seed : int
        Orders the rows, anew in every epoch.
    labeled_share : float, optional
        Share of each step that comes from the given labels, which are gone through again and again
        while an epoch goes once through the pseudo-labels; None mixes them as they come.
    """

    labels: Labels
    size: int
    seed: int
    labeled_share: float | None = None

    @property
    def steps_per_epoch(self) -> int:
        """How many steps an epoch has."""
        if not self._mixes:
            return math.ceil(len(self.labels) / self.size)
        return math.ceil(len(self.labels.pseudo_rows) / (self.size - self._given_per_step))

    def step(self, number: int) -> Step:
        """Step `number` of the training, counted from 0."""
        epoch, within = divmod(number, self.steps_per_epoch)
        if not self._mixes:
            return self._once(epoch, within, 0, len(self.labels))
        pseudo = self._once(epoch, within, self.labels.given, len(self.labels))
        given = self._again(number * self._given_per_step, self._given_per_step)
        # In no order, so that every accumulation and process gets a mixture.
        order = draws.permutation(draws.key(self.seed, "mixture", number), len(given) + len(pseudo)).numpy()
        positions = np.concatenate([given.positions, pseudo.positions])[order]
        return Step(positions, np.concatenate([given.passes, pseudo.passes])[order])

    @property
    def _mixes(self) -> bool:
        return self.labeled_share is not None and len(self.labels) > self.labels.given

    @property
    def _given_per_step(self) -> int:
        assert self.labeled_share is not None
        return min(max(1, round(self.labeled_share * self.size)), self.size - 1)

    def _once(self, epoch: int, within: int, start: int, stop: int) -> Step:
        """Part `within` of one pass over the entries start … stop."""
        part = share(stop - start, within, self.steps_per_epoch)
        positions = _order(self.seed, start, epoch, stop - start)[part] + start
        return Step(positions, np.full(len(positions), epoch))

    def _again(self, start: int, count: int) -> Step:
        """Entries start … start + count of an endless repetition of the given labels."""
        passes, places = np.divmod(np.arange(start, start + count), self.labels.given)
        orders = {int(p): _order(self.seed, 0, int(p), self.labels.given) for p in np.unique(passes)}
        positions = [orders[int(p)][place] for p, place in zip(passes, places, strict=True)]
        return Step(np.array(positions, dtype=np.int64), passes)


def pieces(size: int, accumulate: int, group: Group) -> list[slice]:
    """What this process has of every accumulation of a step of this size.

    The n-th pieces of all processes make up the n-th accumulation, so a process may hold no row of
    one that others do; accumulations without any row are left out.
    """
    found = []
    for number in range(accumulate):
        whole = share(size, number, accumulate)
        if whole.stop > whole.start:
            part = group.share(whole.stop - whole.start)
            found.append(slice(whole.start + part.start, whole.start + part.stop))
    return found


@lru_cache(maxsize=4)
def _order(seed: int, start: int, epoch: int, size: int) -> IntArray:
    order: IntArray = draws.permutation(draws.key(seed, "order", start, epoch), size).numpy()
    return order
