"""All that changes while a network trains, in one place, as tensors and numbers that can be saved."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from curriculum_labeling.vision.averaging import Average
from curriculum_labeling.vision.checkpoint import Saved
from curriculum_labeling.vision.config import TrainingConfig
from curriculum_labeling.vision.devices import Numbers
from curriculum_labeling.vision.optimizers import build_optimizer, parameter_groups
from curriculum_labeling.vision.schedule import Schedule


@dataclass
class TrainingState:
    """A network in training, with its optimizer, average and progress."""

    network: nn.Module
    optimizer: torch.optim.Optimizer
    scaler: torch.amp.GradScaler
    average: Average | None
    step: int = 0
    seconds: float = 0.0
    loss: Tensor = field(default_factory=lambda: torch.zeros(()))
    loss_steps: int = 0

    def advance(self, loss: Tensor, schedule: Schedule) -> None:
        """Count a step that the optimizer has taken, and let the average see the new weights."""
        self.step += 1
        self.loss, self.loss_steps = self.loss + loss, self.loss_steps + 1
        if self.average is not None:
            self.average.update(self.network, self.step, schedule)

    def start_epoch(self) -> None:
        """Forget the losses of the epoch before."""
        self.loss, self.loss_steps = torch.zeros_like(self.loss), 0

    def tensors(self) -> dict[str, Tensor]:
        """Weights, momentum and averages, by name."""
        found = {f"network.{name}": tensor for name, tensor in self.network.state_dict().items()}
        for name, parameter in self.network.named_parameters():
            if "momentum_buffer" in self.optimizer.state[parameter]:
                found[f"momentum.{name}"] = self.optimizer.state[parameter]["momentum_buffer"]
        if self.average is not None:
            found |= {f"average.{name}": tensor for name, tensor in self.average.values.items()}
        return found

    def progress(self) -> dict[str, Any]:
        """Numbers for the JSON file."""
        averaged = 0 if self.average is None else self.average.count
        return {
            "step": self.step,
            "seconds": self.seconds,
            "loss": float(self.loss),
            "loss_steps": self.loss_steps,
            "averaged": averaged,
            "scaler": self.scaler.state_dict(),
        }

    def restore(self, saved: Saved) -> None:
        """Continue from a checkpoint."""
        tensors, progress = saved.tensors, saved.progress
        self.network.load_state_dict(_under("network.", tensors))
        momentum = _under("momentum.", tensors)
        for name, parameter in self.network.named_parameters():
            if name in momentum:
                self.optimizer.state[parameter]["momentum_buffer"] = torch.empty_like(parameter).copy_(momentum[name])
        if self.average is not None:
            for name, value in _under("average.", tensors).items():
                self.average.values[name].copy_(value)
            self.average.count = progress["averaged"]
        self.scaler.load_state_dict(progress["scaler"])
        self.step, self.seconds = progress["step"], progress["seconds"]
        self.loss, self.loss_steps = torch.full_like(self.loss, progress["loss"]), progress["loss_steps"]


def begin(network: nn.Module, config: TrainingConfig, device: torch.device, numbers: Numbers) -> TrainingState:
    """The state before the first step."""
    optimizer = build_optimizer(
        config.optimizer,
        parameter_groups(network, config.weight_decay, norms_and_biases=config.decay_norms_and_biases),
        momentum=config.momentum,
        nesterov=config.nesterov,
        fused=device.type in ("cpu", "cuda"),
        bf16=numbers.dtype is torch.bfloat16,
    )
    average = None if config.average is None else Average(config.average, network)
    scaler = torch.amp.GradScaler(device.type, enabled=numbers.scaled)
    return TrainingState(network, optimizer, scaler, average, loss=torch.zeros((), device=device))


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
