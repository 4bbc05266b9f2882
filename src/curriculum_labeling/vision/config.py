"""Every setting of one round's training, in one frozen dataclass that is checked when it is made."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Literal

from curriculum_labeling.vision.averaging import EMA, SWA
from curriculum_labeling.vision.networks import Factory
from curriculum_labeling.vision.objective import ClassWeights, LabelKind, Objective, cross_entropy
from curriculum_labeling.vision.optimizers import OptimizerName
from curriculum_labeling.vision.recipe import Recipe
from curriculum_labeling.vision.schedule import Budget

Precision = Literal["auto", "fp32", "bf16", "fp16"]
CHOICES = {
    "labels": ("hard", "soft"),
    "class_weights": ("none", "inverse"),
    "optimizer": ("sgd", "muon"),
    "precision": ("auto", "fp32", "bf16", "fp16"),
}
COUNTS = ("batch_size", "accumulate", "score_batch")
# (lowest, is it allowed, highest, is it allowed)
RANGES = {
    "learning_rate": (0, False, math.inf, False),
    "momentum": (0, True, 1, False),
    "weight_decay": (0, True, math.inf, False),
    "warmup": (0, True, 1, False),
    "mixup": (0, True, math.inf, False),
    "smoothing": (0, True, 1, False),
    "labeled_share": (0, False, 1, False),
}


@dataclass(frozen=True)
class TrainingConfig:
    """How one model is trained.

    Parameters
    ----------
    network : str or function
        See `build_network`.
    budget : Budget
        Epochs, steps or minutes per round.
    batch_size, accumulate : int
        Rows per optimizer step, and in how many pieces they go through the network: a batch of 1,024
        with `accumulate=8` needs the memory of 128. Batch normalization then sees 128 rows at a time. On
        a CPU with several cores as many pieces as there are cores go at once, see `side_by_side.py`.
    optimizer : "sgd" or "muon"
        SGD as in the paper; Muon gets further where time is short, see `optimizers.py`.
    learning_rate, momentum, nesterov, weight_decay : float
        Of SGD; under Muon, of all parameters but convolutions, which have a share of the rate, a
        momentum of their own, and 25 times the weight decay.
    decay_norms_and_biases : bool
        Whether weight decay also holds for parameters with one axis.
    warmup : float
        Share of the steps over which the learning rate rises to its full value.
    cycle : pair of float
        Which part of the learning rate's cycle (warm-up, then cosine) a training takes; the whole, (0, 1),
        unless trainings go on from each other.
    augmentation : str or Recipe
        "none", "moderate", "cutout", "light", "heavy", or a recipe of one's own.
    whitening : bool
        ZCA in the place of standardization per channel.
    mixup : float
        α of Beta(α, α), 1 in the paper; 0 for none.
    smoothing : float
        Label smoothing.
    labels : "hard" or "soft"
        Whether pseudo-labels are classes or probabilities.
    class_weights : "none" or "inverse"
        "inverse" makes up for classes with fewer rows.
    labeled_share : float, optional
        Share of every batch that comes from the given labels.
    objective : function
        What is minimized, see `objective.py`.
    average : SWA or EMA, optional
        Averaging of weights; the average is the model.
    flip_scoring : bool
        Score images and their mirror images, and average.
    precision : "auto", "fp32", "bf16" or "fp16"
        "auto" is bf16 or fp16 on CUDA, bf16 on a CPU that has instructions for it, fp32 elsewhere.
    compile, channels_last : bool
        `torch.compile` (slow to start), and the memory layout.
    score_batch : int
        Rows scored at a time, at most; on a CPU not more than its cache is good for.
    """

    network: str | Factory = "compact"
    budget: Budget = field(default_factory=lambda: Budget(epochs=30))
    batch_size: int = 128
    accumulate: int = 1
    optimizer: OptimizerName = "sgd"
    learning_rate: float = 0.1
    momentum: float = 0.9
    nesterov: bool = True
    weight_decay: float = 5e-4
    decay_norms_and_biases: bool = True
    warmup: float = 0.0
    cycle: tuple[float, float] = (0.0, 1.0)
    augmentation: str | Recipe = "moderate"
    whitening: bool = False
    mixup: float = 0.0
    smoothing: float = 0.0
    labels: LabelKind = "hard"
    class_weights: ClassWeights = "none"
    labeled_share: float | None = None
    objective: Objective = cross_entropy
    average: SWA | EMA | None = None
    flip_scoring: bool = False
    precision: Precision = "auto"
    compile: bool = False
    channels_last: bool = True
    score_batch: int = 512

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {getattr(self, name)!r}.")
        for name in COUNTS:
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be a whole number, at least 1, got {getattr(self, name)}.")
        for name, bounds in RANGES.items():
            _check_range(name, getattr(self, name), bounds)
        if self.nesterov and self.momentum == 0:
            raise ValueError("momentum must be above 0 for nesterov, got 0; set nesterov=False.")
        start, end = self.cycle
        if not 0 <= start < end <= 1:
            raise ValueError(f"cycle must be a pair from 0 to 1, the first below the second, got {self.cycle}.")
        if self.labeled_share is not None and self.batch_size < 2:
            raise ValueError("batch_size must be at least 2 to be shared by labeled and pseudo-labeled rows, got 1.")

    def describe(self) -> dict[str, str]:
        """Every setting that shapes the result as text; functions by their name."""
        return {one.name: _text(getattr(self, one.name)) for one in fields(self)}


def _check_range(name: str, value: float | None, bounds: tuple[float, bool, float, bool]) -> None:
    low, low_allowed, high, high_allowed = bounds
    if value is None:
        return
    above = value >= low if low_allowed else value > low
    below = value <= high if high_allowed else value < high
    if not (above and below):
        rule = f"{'at least' if low_allowed else 'above'} {low:g}"
        if math.isfinite(high):
            rule += f" and {'at most' if high_allowed else 'below'} {high:g}"
        raise ValueError(f"{name} must be {rule}, got {value}.")


def _text(value: object) -> str:
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    return repr(value)
