"""Averages of weights along the training: SWA (Izmailov et al. 2018) and EMA.

The average is what a model is: it is evaluated, saved and scored with. In the authors' public code
SWA was computed and swapped out before it was ever used; here `averaged_network` makes the only
network that leaves training.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from curriculum_labeling.vision.schedule import Schedule

BatchNorm = nn.modules.batchnorm._BatchNorm


@dataclass(frozen=True)
class SWA:
    """The mean of the weights after epoch `start` and every `every` epochs from there.

    Parameters
    ----------
    start : int or float
        An epoch, counted from 1; or a fraction below 1 of all epochs. The paper has 500 of 750.
    every : int
        Epochs from one to the next.
    """

    start: int | float = 2 / 3
    every: int = 5

    def __post_init__(self) -> None:
        if self.start <= 0 or (isinstance(self.start, float) and self.start >= 1):
            raise ValueError(f"SWA start must be an epoch (1, 2, …) or a fraction between 0 and 1, got {self.start}.")
        if self.every < 1:
            raise ValueError(f"SWA every must be a whole number of epochs, at least 1, got {self.every}.")

    def first(self, schedule: Schedule) -> int:
        """The epoch after which averaging starts, counted from 1."""
        if isinstance(self.start, float):
            return max(1, round(self.start * schedule.epochs))
        if self.start > schedule.epochs:
            raise ValueError(
                f"SWA start must be one of the {schedule.epochs} epochs of the budget, got {self.start}; "
                "a fraction such as 0.67 follows the budget."
            )
        return self.start

    def due(self, done: int, schedule: Schedule) -> bool:
        """Whether the weights after this many steps belong to the average."""
        since = schedule.epochs_after(done) - self.first(schedule)
        return schedule.ends_epoch(done) and since >= 0 and since % self.every == 0

    def share(self, count: int) -> float:
        """Share of new weights in the average, after `count` others."""
        return 1 / (count + 1)


@dataclass(frozen=True)
class EMA:
    """An exponential moving average over steps; a plain mean until that reaches further back than the decay."""

    decay: float = 0.999

    def __post_init__(self) -> None:
        if not 0 < self.decay < 1:
            raise ValueError(f"EMA decay must be between 0 and 1, got {self.decay}; 0.999 is usual.")

    def due(self, done: int, schedule: Schedule) -> bool:
        """Every step counts."""
        return True

    def share(self, count: int) -> float:
        """Share of new weights in the average, after `count` others."""
        return max(1 - self.decay, 1 / (count + 1))


class Average:
    """The running average of a network's parameters, by name."""

    def __init__(self, rule: SWA | EMA, network: nn.Module) -> None:
        self.rule = rule
        self.count = 0
        self.values = {name: parameter.detach().clone() for name, parameter in network.named_parameters()}

    @torch.no_grad()
    def update(self, network: nn.Module, done: int, schedule: Schedule) -> None:
        """Take in the weights after this many steps, if the rule wants them."""
        if self.rule.due(done, schedule):
            share = self.rule.share(self.count)
            for name, parameter in network.named_parameters():
                self.values[name].lerp_(parameter, share)
            self.count += 1


def averaged_network(network: nn.Module, average: Average | None, batches: Iterable[Tensor]) -> nn.Module:
    """The network to evaluate, save and score with: averaged weights, batch-norm statistics of `batches`."""
    if average is None:
        return network.eval()
    assert average.count, "no weights were averaged"
    averaged = copy.deepcopy(network)
    with torch.no_grad():
        for name, parameter in averaged.named_parameters():
            parameter.copy_(average.values[name])
    estimate_statistics(averaged, batches)
    return averaged.eval()


@torch.no_grad()
def estimate_statistics(network: nn.Module, batches: Iterable[Tensor]) -> None:
    """Replace all batch-norm statistics by their mean over batches of training images."""
    norms = [module for module in network.modules() if isinstance(module, BatchNorm) and module.track_running_stats]
    if not norms:
        return
    momenta = [norm.momentum for norm in norms]
    # Other layers, dropout above all, stay in evaluation mode.
    network.eval()
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None
        norm.train()
    for images in batches:
        network(images)
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
