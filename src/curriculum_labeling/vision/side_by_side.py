"""Pieces of a batch side by side: halves on a core each are through sooner than the whole on two cores.

An operation on few small images keeps several cores of a CPU busy only in part. So every piece goes
through the network in a thread of its own: through a copy that shares the weights and has its own
statistics of batch normalization, which the network takes over in the order of the pieces. What comes
out is what one piece after the other would give.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

from curriculum_labeling.vision.config import TrainingConfig
from curriculum_labeling.vision.devices import Numbers
from curriculum_labeling.vision.distributed import Group
from curriculum_labeling.vision.objective import Batch, Objective


@contextmanager
def side_by_side(network: nn.Module, pieces: int) -> Iterator[SideBySide]:
    """Threads that share the cores among the pieces; between the pieces of two steps one core works, and none waits."""
    threads = torch.get_num_threads()
    workers = min(pieces, threads)
    with ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(threads // workers,)) as executor:
        torch.set_num_threads(1)
        try:
            yield SideBySide(network, pieces, executor)
        finally:
            torch.set_num_threads(threads)


def can_be_side_by_side(network: nn.Module, config: TrainingConfig, device: torch.device, group: Group) -> bool:
    """Whether a step has several pieces, and nothing in the network minds threads: draws do, and so may strangers."""
    alone = device.type == "cpu" and group.size == 1 and torch.get_num_threads() > 1
    own = isinstance(config.network, str) and not config.compile
    draws = any(isinstance(module, _DropoutNd) for module in network.modules())
    return config.accumulate > 1 and alone and own and not draws


class SideBySide:
    """Copies of a network for the pieces of a step, and the threads they run in."""

    def __init__(self, network: nn.Module, pieces: int, threads: Executor) -> None:
        shared = {id(parameter): parameter for parameter in network.parameters()}
        self.copies = [copy.deepcopy(network, dict(shared)) for _ in range(pieces)]
        self.parameters = [parameter for parameter in network.parameters() if parameter.requires_grad]
        self.norms = _norms(network)
        self.seen = [_norms(one) for one in self.copies]
        for norm in (norm for norms in self.seen for norm in norms):
            norm.momentum = 1.0  # so that they hold what the last piece had, and nothing of those before
        self.threads = threads

    def gradients(
        self, batches: Iterable[Batch], objective: Objective, numbers: Numbers, device: torch.device
    ) -> Tensor:
        """Set the gradients of one step; returns its loss."""

        def piece(network: nn.Module, batch: Batch) -> tuple[Tensor, tuple[Tensor, ...]]:
            with numbers.autocast(device):
                loss = objective(network.train(), batch)
            return loss.detach(), torch.autograd.grad(loss, self.parameters)

        found = list(self.threads.map(piece, self.copies, batches))
        for parameter, *parts in zip(self.parameters, *(gradients for _, gradients in found), strict=True):
            parameter.grad = sum(parts[1:], parts[0])
        self._take_over(len(found))
        return torch.stack([loss for loss, _ in found]).sum()

    @torch.no_grad()
    def _take_over(self, pieces: int) -> None:
        """The statistics that the pieces saw, as if they had come one after the other."""
        for seen in self.seen[:pieces]:
            for norm, last in zip(self.norms, seen, strict=True):
                assert norm.momentum is not None
                norm.running_mean.lerp_(last.running_mean, norm.momentum)
                norm.running_var.lerp_(last.running_var, norm.momentum)
                norm.num_batches_tracked += 1


def _norms(network: nn.Module) -> list[Any]:
    return [module for module in network.modules() if isinstance(module, _BatchNorm)]
