"""From row numbers to batches on the device: read, augment, preprocess, mix.

What becomes of a row depends on its address alone. A mixup partner may belong to another process or
accumulation; it is then made here as well, from its own address, rather than sent around. Small
images are augmented for several steps at once, which costs half as much and changes no pixel.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice

import numpy as np
import torch
from torch import Tensor

from curriculum_labeling.data.images import PixelArray
from curriculum_labeling.labels import IntArray
from curriculum_labeling.vision import draws
from curriculum_labeling.vision.augment import augment
from curriculum_labeling.vision.batches import PASS, Batches, pieces
from curriculum_labeling.vision.config import TrainingConfig
from curriculum_labeling.vision.distributed import Group
from curriculum_labeling.vision.mixup import draw_mixup
from curriculum_labeling.vision.objective import Batch, targets_of, weights_of
from curriculum_labeling.vision.pretext import TurnedPixels
from curriculum_labeling.vision.recipe import Recipe
from curriculum_labeling.vision.whitening import Preprocessing

STATISTICS_ROWS = 16_384
# Bytes of pixels that are augmented at once: 42 steps of 128 at 32 px, but one step, or one piece, at 224 px.
AT_ONCE = 1 << 24
# Steps read at once, at most: a process that has no row of them would otherwise read on to the end.
MOST_STEPS = 64


@dataclass(frozen=True)
class Piece:
    """A piece of a step, read but not yet on the device.

    `positions` and `addresses` say which rows are needed, `pixels` holds them as uint8 (m, C, H, W);
    `own` and `partners` index them. Image own[i] is mixed with image partners[i], of which it keeps
    `weight`.
    """

    positions: IntArray
    addresses: IntArray
    pixels: Tensor
    own: IntArray
    partners: IntArray | None
    weight: float
    size: int


@dataclass(frozen=True, eq=False)
class Feed:
    """Makes this process's pieces of every step."""

    pixels: PixelArray | TurnedPixels
    batches: Batches
    config: TrainingConfig
    classes: int
    recipe: Recipe
    preprocessing: Preprocessing
    device: torch.device
    group: Group

    def steps(self, start: int, stop: int) -> Iterator[Iterable[Batch]]:
        """The pieces of steps start … stop, to be used in their order.

        A run of steps is read while the one before is trained on. A piece becomes floats when its
        turn comes, so the device holds one at a time.
        """
        with ThreadPoolExecutor(1) as reader:
            ahead = reader.submit(self._read_run, start, stop)
            while start < stop:
                run = ahead.result()
                start += len(run)
                ahead = reader.submit(self._read_run, start, stop)
                batches = self._prepared(list(chain.from_iterable(run)))
                for step in run:
                    yield islice(batches, len(step))

    def read(self, number: int) -> list[Piece]:
        """The pieces of this process in a step, as pixels."""
        step, partners, weight = self.batches.step(number), None, 1.0
        if self.config.mixup:
            key = draws.key(self.batches.seed, "mixup", number)
            mixup = draw_mixup(len(step), key=key, alpha=self.config.mixup)
            partners, weight = mixup.partners.numpy(), mixup.weight
        found = []
        for part in pieces(len(step), self.config.accumulate, self.group):
            needed, own, others = _needed(np.arange(len(step))[part], partners)
            positions = step.positions[needed]
            rows = self.batches.labels.rows[positions]
            addresses = rows + step.passes[needed] * PASS
            found.append(Piece(positions, addresses, self._load(rows), own, others, weight, len(step)))
        return found

    def _read_run(self, start: int, stop: int) -> list[list[Piece]]:
        """As many steps as are augmented at once, at least one where there is one."""
        run: list[list[Piece]] = []
        size = 0
        for number in range(start, min(start + MOST_STEPS, stop)):
            run.append(self.read(number))
            size += sum(piece.pixels.numel() for piece in run[-1])
            if size + size // len(run) > AT_ONCE:
                break
        return run

    def prepare(self, piece: Piece) -> Batch:
        """The piece on the device: augmented, preprocessed, mixed."""
        return next(self._prepared([piece]))

    def _prepared(self, found: list[Piece]) -> Iterator[Batch]:
        return map(self._mix, found, self._images(found, "augment"))

    def _mix(self, piece: Piece, images: Tensor) -> Batch:
        targets = targets_of(
            self.batches.labels,
            piece.positions,
            self.classes,
            kind=self.config.labels,
            smoothing=self.config.smoothing,
        ).to(self.device)
        if piece.partners is not None:
            own, partners = (torch.from_numpy(one).to(self.device) for one in (piece.own, piece.partners))
            images, targets = (torch.lerp(x[partners], x[own], piece.weight) for x in (images, targets))
        if self.config.channels_last:
            images = images.contiguous(memory_format=torch.channels_last)
        return Batch(images, targets, self._weights, piece.size)

    def statistics(self) -> Iterator[Tensor]:
        """Augmented training images, unmixed, from which batch-norm statistics are estimated."""
        per_step = -(-len(self.batches.labels) // self.batches.steps_per_epoch)
        count = min(self.batches.steps_per_epoch, max(1, STATISTICS_ROWS // per_step))
        return self._images(chain.from_iterable(map(self._unmixed, range(count))), "statistics")

    def _unmixed(self, number: int) -> list[Piece]:
        """The pieces of a step for statistics, every row by its first address."""
        step, found = self.batches.step(number), []
        for part in pieces(len(step), self.config.accumulate, self.group):
            positions = step.positions[part]
            rows = self.batches.labels.rows[positions]
            found.append(Piece(positions, rows, self._load(rows), np.arange(len(rows)), None, 1.0, len(step)))
        return found

    def _images(self, found: Iterable[Piece], purpose: str) -> Iterator[Tensor]:
        """The pixels of each piece, augmented at once as far as AT_ONCE allows, and preprocessed one by one."""
        key = draws.key(self.batches.seed, purpose)
        for group in _groups(found):
            pixels = torch.cat([piece.pixels.to(self.device, non_blocking=True) for piece in group])
            addresses = np.concatenate([piece.addresses for piece in group])
            if len(pixels):
                pixels = augment(pixels, torch.from_numpy(addresses), self.recipe, key=key)
            yield from map(self.preprocessing, torch.split(pixels, [len(piece.pixels) for piece in group]))

    def _load(self, rows: IntArray) -> Tensor:
        pixels = torch.from_numpy(self.pixels[rows]).permute(0, 3, 1, 2)
        return pixels.contiguous().pin_memory() if self.device.type == "cuda" else pixels.contiguous()

    @cached_property
    def _weights(self) -> Tensor | None:
        weights = weights_of(self.batches.labels, self.classes, self.config.class_weights)
        return None if weights is None else torch.from_numpy(weights).float().to(self.device)


def _needed(own: IntArray, partners: IntArray | None) -> tuple[IntArray, IntArray, IntArray | None]:
    """Which rows of the step a piece needs, and where its own rows and their partners are among them."""
    if partners is None:
        return own, np.arange(len(own)), None
    needed, places = np.unique(np.concatenate([own, partners[own]]), return_inverse=True)
    return needed, places[: len(own)], places[len(own) :]


def _groups(found: Iterable[Piece]) -> Iterator[list[Piece]]:
    """Consecutive pieces that together have at most AT_ONCE bytes, or a single one."""
    group: list[Piece] = []
    for piece in found:
        if group and sum(one.pixels.numel() for one in [*group, piece]) > AT_ONCE:
            yield group
            group = []
        group.append(piece)
    if group:
        yield group
