"""How many images a second this machine trains on, from a few steps on noise."""

from __future__ import annotations

from dataclasses import replace
from statistics import median

import numpy as np

from curriculum_labeling.data.images import Images
from curriculum_labeling.labels import Labels
from curriculum_labeling.vision.config import TrainingConfig
from curriculum_labeling.vision.learner import ImageLearner
from curriculum_labeling.vision.schedule import Budget

TRIED_STEPS = 10
# One look at a busy machine may be off by half; the median of three is steadier, where they do not take long.
LOOKS, ENOUGH_SECONDS = 3, 2.0
LEAST_SECONDS = 1e-4


def images_per_second(config: TrainingConfig, resolution: int, classes: int, device: str) -> float:
    """Images trained on in a second, first steps apart: the median of a few looks."""
    batch = config.batch_size
    noise = np.random.default_rng(0).integers(0, 256, (2 * batch, resolution, resolution, 3), dtype=np.uint8)
    images = Images(noise, np.arange(2 * batch) % classes, tuple(map(str, range(classes))), flippable=True)
    learner = ImageLearner(images, config, device=device)
    labels = Labels.of(np.arange(len(images)), images.labels)

    def seconds(steps: int) -> float:
        learner.config = replace(config, budget=Budget(steps=steps))
        return learner.fit(labels, seed=0).seconds

    seconds(1)  # what a process does once must not pass for what a training begins with
    looks: list[float] = []
    while len(looks) < LOOKS and sum(looks) < ENOUGH_SECONDS:
        looks.append(max(TRIED_STEPS * LEAST_SECONDS, seconds(1 + TRIED_STEPS) - seconds(1)))
    return TRIED_STEPS * batch / median(looks)
