"""Optimizers: SGD as in the paper, and Muon for training in a short time.

Muon (Jordan et al. 2024) moves the weights of a convolution by a matrix of equal singular values: its
momentum, made orthogonal. All directions then learn at one pace, the rare ones too, and a network
gets further in few steps. Biases, norms and the linear layer at the end have SGD.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import torch
from torch import Tensor, nn

OptimizerName = Literal["sgd", "muon"]

# Convolutions move by this share of the learning rate; with 0.1 for the rest, that is 0.05.
SHARE = 0.5
# Momentum of the matrices; shorter than SGD's, since every direction keeps its full length.
MATRIX_MOMENTUM = 0.6
# Weight decay of the matrices, as so many times that of the others: 0.0125 at the usual 5e-4.
MATRIX_DECAY = 25.0
# Coefficients of a quintic whose iteration brings singular values from (0, 1] to about 1.
QUINTIC = (3.4445, -4.7750, 2.0315)
ITERATIONS = 3
MIN_NORM = 1e-7


def build_optimizer(
    name: OptimizerName,
    groups: list[dict[str, Any]],
    *,
    momentum: float,
    nesterov: bool,
    fused: bool,
    bf16: bool = False,
) -> torch.optim.Optimizer:
    """The optimizer of this name over groups of parameters, each with its weight decay; the schedule sets the rates."""
    if name == "sgd":
        return torch.optim.SGD(groups, lr=0.0, momentum=momentum, nesterov=nesterov, fused=fused)
    return Muon(groups, momentum=momentum, nesterov=nesterov, bf16=bf16)


class Muon(torch.optim.Optimizer):
    """Orthogonal steps for convolutions, SGD for all else.

    Steps of equal length make convolutions ever longer, and the norms behind them then turn the same
    step into ever less; so they decay by more than the others, which keeps them near the length at
    which a step counts for what the learning rate says. With `bf16` the directions of steps are computed
    in those numbers, as in the original; momentum and weights are not.
    """

    def __init__(self, groups: list[dict[str, Any]], *, momentum: float, nesterov: bool, bf16: bool = False) -> None:
        super().__init__(groups, {"lr": 0.0, "weight_decay": 0.0, "momentum": momentum, "nesterov": nesterov})
        self.dtype = torch.bfloat16 if bf16 else torch.float32

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Move every parameter that has a gradient."""
        assert closure is None
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                matrix = parameter.ndim == 4
                momentum = MATRIX_MOMENTUM if matrix else group["momentum"]
                gradient = parameter.grad if matrix else parameter.grad + group["weight_decay"] * parameter
                before = self.state[parameter].setdefault("momentum_buffer", torch.zeros_like(parameter))
                before.mul_(momentum).add_(gradient)
                move = gradient + momentum * before if matrix or group["nesterov"] else before
                if matrix:
                    move = SHARE * orthogonal(move.flatten(1).to(self.dtype)).to(parameter.dtype).view_as(parameter)
                    parameter.mul_(1 - group["lr"] * MATRIX_DECAY * group["weight_decay"])
                parameter.sub_(group["lr"] * move)


def orthogonal(matrix: Tensor) -> Tensor:
    """The matrix with its singular values brought near 1, by Newton and Schulz's iteration.

    Every iterate is a polynomial of the small square x xᵀ, times x; so all but one product are of that size.
    """
    a, b, c = QUINTIC
    x = matrix / (matrix.norm() + MIN_NORM)
    tall = x.shape[0] > x.shape[1]
    if tall:
        x = x.T
    square, polynomial = x @ x.T, torch.eye(len(x), dtype=x.dtype, device=x.device)
    for left in range(ITERATIONS - 1, -1, -1):
        factor = b * square + c * square @ square
        factor.diagonal().add_(a)
        polynomial = factor @ polynomial
        if left:
            square = factor @ square @ factor
    found: Tensor = polynomial @ x
    return found.T if tall else found


def parameter_groups(network: nn.Module, weight_decay: float, *, norms_and_biases: bool) -> list[dict[str, Any]]:
    """All parameters with weight decay, or those with one axis (biases and norms) without."""
    parameters = [parameter for parameter in network.parameters() if parameter.requires_grad]
    if norms_and_biases:
        return [{"params": parameters, "weight_decay": weight_decay}]
    decayed = [parameter for parameter in parameters if parameter.ndim > 1]
    others = [parameter for parameter in parameters if parameter.ndim <= 1]
    groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": others, "weight_decay": 0.0}]
    return [group for group in groups if group["params"]]
