"""Several processes as one: what they share out, add up and tell each other, under `torchrun`.

A program wraps its work in `with processes():`; without torchrun that does nothing. Everything else
asks `current_group()`, which is a group of one where there are no others, so that one code path
serves both. A process that fails leaves at once, and the others, who wait for it, are told so and end
as well. Gradients are summed by hand rather than by DDP: every process divides by the size of
the *whole* batch, which keeps uneven shares right, and no share of a batch needs to be padded.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch import distributed as dist

from curriculum_labeling.labels import IntArray, Scores

T = TypeVar("T")
# Minutes that a process waits for the others, at most: as long as one of them may take alone to decode its images.
PATIENCE = 30.0


class LostProcessError(ConnectionError):
    """Another process has ended, or does not answer, where this one needs it."""


@dataclass(frozen=True)
class Group:
    """The number of this process and how many there are."""

    rank: int = 0
    size: int = 1

    def share(self, n: int) -> slice:
        """What this process has of n things: contiguous, sizes differ by one at most."""
        return share(n, self.rank, self.size)

    def add(self, tensor: Tensor) -> Tensor:
        """The sum over processes, written into the tensor."""
        if self.size > 1:
            with _in_company():
                dist.all_reduce(tensor)
        return tensor

    def add_counts(self, counts: IntArray) -> IntArray:
        """The exact sum over processes of an int64 array, as `select` wants it."""
        if self.size == 1:
            return counts
        return self.add(torch.from_numpy(counts.copy()).to(_where())).cpu().numpy()

    def from_first(self, value: T) -> T:
        """The value of process 0, in every process."""
        return self.from_process(0, value)

    def from_process(self, rank: int, value: T) -> T:
        """The value of this one process, in every process."""
        if self.size == 1:
            return value
        box: list[Any] = [value]
        with _in_company():
            dist.broadcast_object_list(box, src=rank)
        return box[0]  # type: ignore[no-any-return]

    def gather(self, value: T) -> list[T]:
        """The values of all processes in their order, in every process."""
        if self.size == 1:
            return [value]
        boxes: list[Any] = [None] * self.size
        with _in_company():
            dist.all_gather_object(boxes, value)
        return boxes

    def score(self, model: Any, rows: IntArray) -> Scores:
        """What an image model thinks of this process's share of these rows."""
        scores: Scores = model.score_share(rows)
        return scores

    def lowest(self, value: float) -> float:
        """The lowest of all processes' values."""
        return min(self.gather(value))

    def join(self, scores: Scores) -> Scores:
        """The scores of all processes in their order, in every process: a few bytes per row."""
        return Scores.joined(self.gather(scores)) if self.size > 1 else scores


def share(n: int, number: int, parts: int) -> slice:
    """Part `number` of n things in `parts` contiguous parts whose sizes differ by one at most."""
    return slice(n * number // parts, n * (number + 1) // parts)


def current_group() -> Group:
    """The group this process belongs to, or a group of one."""
    if dist.is_available() and dist.is_initialized():
        return Group(dist.get_rank(), dist.get_world_size())
    return Group()


@contextmanager
def processes(backend: str | None = None, *, patience: float = PATIENCE) -> Iterator[Group]:
    """Join the processes that torchrun started (NCCL where there are GPUs, else gloo); alone without it.

    A process that has waited `patience` minutes for another ends with a `LostProcessError`: a machine that
    loses its power, or its cable, closes no connection.
    """
    if not 0 < patience < float("inf"):
        raise ValueError(f"patience must be a number of minutes above 0, got {patience}.")
    if "WORLD_SIZE" not in os.environ:
        yield Group()
        return
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    backend = backend or ("nccl" if torch.cuda.is_available() else "gloo")
    dist.init_process_group(backend, timeout=timedelta(minutes=patience))
    try:
        yield current_group()
    except BaseException:
        _leave_at_once()
        raise
    dist.destroy_process_group()


def _leave_at_once() -> None:
    """Leave the group without waiting for anyone: who waits for this process sees it go, and torchrun ends the rest.

    Gloo closes its connections. NCCL would first wait for work that needs the others, unless it is aborted.
    """
    abort = getattr(dist.distributed_c10d, "_abort_process_group", None) if dist.get_backend() == "nccl" else None
    (abort or dist.destroy_process_group)()


@contextmanager
def _in_company() -> Iterator[None]:
    """What torch says of a lost connection, in a sentence; a process that failed has said why itself."""
    try:
        yield
    except RuntimeError as error:
        silent = "timed out" in str(error).lower()
        happened = "has not answered in time" if silent else "has ended"
        hint = "look whether its machine and the network are up" if silent else "what the other said is the reason"
        raise LostProcessError(
            f"Another process of this group of {dist.get_world_size()} {happened}, and process {dist.get_rank()} "
            f"cannot go on without it ({str(error).partition('. ')[0]}); {hint}."
        ) from error


def add_gradients(parameters: Iterable[nn.Parameter], loss: Tensor, group: Group) -> Tensor:
    """Sum gradients, and the loss, over processes in one message; returns the summed loss."""
    if group.size == 1:
        return loss
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    message = group.add(torch.cat([loss.view(1).float(), *(gradient.flatten().float() for gradient in gradients)]))
    start = 1
    for gradient in gradients:
        gradient.copy_(message[start : start + gradient.numel()].view(gradient.shape))
        start += gradient.numel()
    return message[0]


def _where() -> torch.device:
    """Where collectives take their tensors from."""
    return torch.device("cuda" if dist.get_backend() == "nccl" else "cpu")
