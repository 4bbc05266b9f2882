"""Batch normalization over the rows of all processes, so that several train as one would.

`nn.SyncBatchNorm` needs CUDA; this runs anywhere `all_reduce` does. Mean and variance are taken in
two passes, as sums over processes, and gradients flow through the sums. A process may hold no rows.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from curriculum_labeling.vision.distributed import Group

BatchNorm = nn.modules.batchnorm._BatchNorm


class _Sum(torch.autograd.Function):
    """The sum over processes; every process's gradient reaches every summand."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, group: Group) -> Tensor:
        ctx.group = group
        return group.add(tensor.clone())

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return ctx.group.add(gradient.clone()), None


class SharedBatchNorm(BatchNorm):
    """Batch normalization whose statistics in training are those of all processes' rows."""

    group: Group

    def _check_input_dim(self, input: Tensor) -> None:  # noqa: A002  (torch's name)
        if input.ndim < 2:
            raise ValueError(f"batch normalization needs rows and channels, got a tensor of {input.ndim} axes.")

    def forward(self, x: Tensor) -> Tensor:
        """Normalized x; in evaluation mode the stored statistics are used, as ever."""
        if not self.training:
            return super().forward(x)
        axes, shape = [0, *range(2, x.ndim)], [1, -1, *[1] * (x.ndim - 2)]
        wide = x.float()
        sums = torch.cat([wide.sum(axes).double(), wide.new_full((1,), wide.numel() // wide.shape[1]).double()])
        sums = _sum(sums, self.group)
        count = sums[-1].detach()
        mean = (sums[:-1] / count).float()
        centered = wide - mean.view(shape)
        variance = (_sum(centered.square().sum(axes).double(), self.group) / count).float()
        if self.track_running_stats:
            self._track(mean.detach(), (variance.detach() * (count / (count - 1))).float())
        normal = centered * (variance + self.eps).rsqrt().view(shape)
        if self.affine:
            normal = normal * self.weight.view(shape) + self.bias.view(shape)
        return normal.to(x.dtype)

    @torch.no_grad()
    def _track(self, mean: Tensor, variance: Tensor) -> None:
        assert self.num_batches_tracked is not None
        self.num_batches_tracked.add_(1)
        share = 1 / float(self.num_batches_tracked) if self.momentum is None else self.momentum
        assert self.running_mean is not None
        assert self.running_var is not None
        self.running_mean.lerp_(mean, share)
        self.running_var.lerp_(variance, share)


def share_norms(network: nn.Module, group: Group) -> nn.Module:
    """The network with every batch normalization shared by the group; parameters and their names stay."""
    if group.size == 1:
        return network
    if isinstance(network, BatchNorm):
        return _shared(network, group)
    for name, child in network.named_children():
        setattr(network, name, share_norms(child, group))
    return network


def _sum(tensor: Tensor, group: Group) -> Tensor:
    total: Tensor = _Sum.apply(tensor, group)  # type: ignore[no-untyped-call]
    return total


def _shared(norm: BatchNorm, group: Group) -> SharedBatchNorm:
    shared = SharedBatchNorm(norm.num_features, norm.eps, norm.momentum, norm.affine, norm.track_running_stats)
    shared.group = group
    for name, parameter in norm.named_parameters():
        setattr(shared, name, parameter)
    for name, buffer in norm.named_buffers():
        setattr(shared, name, buffer)
    return shared
