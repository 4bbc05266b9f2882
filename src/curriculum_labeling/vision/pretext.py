"""A start that takes no labels: learning which way up images are.

A network that can tell by how much an image was turned (Gidaris, Singh and Komodakis 2018) knows
shapes and what stands on what before it has seen a label. Rounds that start from its weights still
start afresh: nothing in them comes from a label or a pseudo-label.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from torch import Tensor, nn

from curriculum_labeling.data.images import PixelArray
from curriculum_labeling.labels import IntArray, Labels
from curriculum_labeling.vision.schedule import Budget

TURNS = 4
# Below this share of turns told right, images have no way up that could be learned; a guess has 0.25.
LEARNED = 0.35
# A training of twice these steps or more is preceded by a trial of a tenth of it, and of so many steps at least.
TRIAL_STEPS, TRIAL_SHARE = 150, 0.1
# Images that tell how well turns were learned.
TRIED_IMAGES = 2_000


class TurnedPixels:
    """Every image four times: row 4 n + k is image n, turned by k times 90 degrees."""

    def __init__(self, pixels: PixelArray) -> None:
        height, width = pixels.shape[1:3]
        if height != width:
            raise ValueError(f"images must be square to be turned, got {height} × {width} pixels.")
        self.pixels = pixels

    def __getitem__(self, rows: IntArray) -> PixelArray:
        images, turns = np.divmod(rows, TURNS)
        found = np.array(self.pixels[images])
        for k in range(1, TURNS):
            found[turns == k] = np.rot90(found[turns == k], k, axes=(1, 2))
        return found


def turns_of(rows: IntArray) -> Labels:
    """All four turns of these images, each labeled with its turn."""
    turned = (TURNS * np.asarray(rows)[:, None] + np.arange(TURNS)).ravel()
    return Labels.of(turned, turned % TURNS)


def trial_and_training(budget: Budget) -> tuple[Budget, ...]:
    """The budget divided into a short trial and the training proper; not divided where it is no number of steps."""
    if budget.steps is None or budget.steps < 2 * TRIAL_STEPS:
        return (budget,)
    trial = max(TRIAL_STEPS, round(TRIAL_SHARE * budget.steps))
    return Budget(steps=trial), Budget(steps=budget.steps - trial)


def without_last_layer(network_of: Callable[[int], nn.Module], weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights whose shape does not depend on the number of classes; `network_of` builds a network for so many."""
    other = network_of(TURNS + 1).state_dict()
    return {name: tensor for name, tensor in weights.items() if tensor.shape == other[name].shape}
