"""Two ways to learn from the same rows: a network trained from scratch, or a probe on frozen features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import nn

from curriculum_labeling.data.images import Images
from curriculum_labeling.data.progress import Tell
from curriculum_labeling.labels import FloatArray, IntArray, Labels
from curriculum_labeling.runs.clock import Clock, Work
from curriculum_labeling.runs.probe import ProbeLearner
from curriculum_labeling.runs.settings import augmentation_for
from curriculum_labeling.vision.delivered import Delivered, NetworkPart, ProbePart, network_name
from curriculum_labeling.vision.devices import numbers_for, scoring_speedup
from curriculum_labeling.vision.feed import Feed
from curriculum_labeling.vision.learner import ImageLearner, ImageModel
from curriculum_labeling.vision.schedule import Budget
from curriculum_labeling.vision.training import TIMED_STEPS, Trained, seconds_per_step

CHUNK = 2048
# Steps that tell how long one takes: for this share of the time, and not more than so many.
TIMING_SHARE, MOST_TIMED_STEPS = 0.01, 200


class TimedImageLearner(ImageLearner):
    """Trains each network for the steps that the clock gives it.

    `ahead` lists the trainings to come; each fit takes the first. `steps` is their number where the
    budget is one of passes; otherwise the clock divides the time that is left, and `most_steps`
    keeps small sets from being trained on for ever.
    """

    clock: Clock
    ahead: list[Work]
    steps: int | None
    most_steps: int
    # Whether augmentation depends on how often a training sees an image.
    by_passes: bool = False
    # The training that is under way, or was last.
    stage: str = ""
    _pace: float | None = None

    def fit(self, labels: Labels, *, seed: int) -> ImageModel:
        """A new model, within its share of the time."""
        steps = self._fix_steps(labels, seed)
        model = super().fit(labels, seed=seed)
        model.passes = steps * self.config.batch_size
        self._finish()
        return model

    def learn_turns(self, rows: IntArray, *, seed: int) -> float:
        """Which way up images are, within its share of the time."""
        self._fix_steps(Labels.of(rows, np.zeros_like(rows)), seed)
        right = super().learn_turns(rows, seed=seed)
        self._finish()
        return right

    def _trained(self, network: nn.Module, feed: Feed, tell: Tell | None) -> Trained:
        """The network trained, and the pace of the next training from how long that took."""
        trained = super()._trained(network, feed, tell)
        assert self.config.budget.steps is not None
        self._pace = trained.seconds / self.config.budget.steps
        return trained

    def _fix_steps(self, labels: Labels, seed: int) -> int:
        """Steps of the training ahead: those it began with, those asked for, or its share of the time."""
        self.stage = name = self.ahead[0].name
        if name not in self.clock.steps:
            self.clock.fix(name, self.steps or self._planned(labels, seed))
        steps = self.clock.steps[name]
        self.config = replace(self.config, budget=Budget(steps=steps))
        if self.by_passes:
            chosen = augmentation_for(steps, self.config.batch_size, len(labels))
            self.config = replace(self.config, augmentation=chosen)
        return steps

    def _finish(self) -> None:
        self.ahead = self.ahead[1:]
        self.clock.save()

    def _planned(self, labels: Labels, seed: int) -> int:
        if self._pace is None:
            network = self._network(seed).to(self.device)
            if self.config.channels_last:
                network = network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
            numbers = numbers_for(self.device, self.config.precision)
            feed = self._feed(labels, seed)
            self._pace = seconds_per_step(network, feed, numbers)
            # The first training may be all there is, and nothing after it could make up for a wrong pace.
            steps = min(MOST_TIMED_STEPS, int(TIMING_SHARE * (self.clock.seconds_left or 0) / self._pace))
            if steps > TIMED_STEPS:
                self._pace = seconds_per_step(network, feed, numbers, steps)
        speedup = scoring_speedup(self.device)
        return self.clock.plan(self.ahead, self._pace, self.config.batch_size, self.most_steps, speedup=speedup)


@dataclass
class NetworkWay:
    """A network, trained from scratch in every round."""

    learner: TimedImageLearner
    images: Images

    def logits(self, model: Any, rows: IntArray) -> FloatArray:
        """Logits (n, C), a chunk of images at a time."""
        return _chunked(lambda part: model.logits(self.images.pixels[part]), rows, len(self.images.classes))

    def tensors(self, model: Any) -> dict[str, torch.Tensor]:
        """Weights and batch-norm statistics."""
        tensors: dict[str, torch.Tensor] = model.state_dict()
        return tensors

    def deliver(self, model: Any, temperature: float) -> Delivered:
        """The network with its preprocessing."""
        config, scorer = self.learner.config, model.scorer
        name = network_name(config.network)
        part = NetworkPart(scorer.network, name, scorer.preprocessing, config.flip_scoring, scorer.device)
        return Delivered(self.images.classes, self.images.pixels.shape[1], temperature, part)


@dataclass
class FeatureWay:
    """A linear probe on the features of a frozen network."""

    learner: ProbeLearner
    images: Images
    backbone: Any

    def logits(self, model: Any, rows: IntArray) -> FloatArray:
        """Logits (n, C)."""
        return _chunked(model.logits, rows, len(self.images.classes))

    def tensors(self, model: Any) -> dict[str, torch.Tensor]:
        """Weights and biases of the probe, with the standardization of its features."""
        parts = {"weight": model.weight, "bias": model.bias, "mean": model.mean, "scale": model.scale}
        return {name: torch.from_numpy(np.ascontiguousarray(part, dtype=np.float32)) for name, part in parts.items()}

    def deliver(self, model: Any, temperature: float) -> Delivered:
        """Backbone and probe."""
        arrays = (part.astype(np.float64) for part in (model.weight, model.bias, model.mean, model.scale))
        part = ProbePart(self.backbone, *arrays)
        return Delivered(self.images.classes, self.backbone.resolution, temperature, part)


Way = NetworkWay | FeatureWay


def _chunked(logits: Callable[[IntArray], FloatArray], rows: IntArray, classes: int) -> FloatArray:
    parts = [logits(rows[start : start + CHUNK]) for start in range(0, len(rows), CHUNK)]
    return np.concatenate(parts) if parts else np.empty((0, classes))
