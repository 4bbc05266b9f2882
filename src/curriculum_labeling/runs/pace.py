"""How many images a second this machine trains on, from a few steps on noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from curriculum_labeling.data.images import Images
from curriculum_labeling.labels import Labels
from curriculum_labeling.vision.config import TrainingConfig
from curriculum_labeling.vision.learner import ImageLearner
from curriculum_labeling.vision.schedule import Budget

TRIED_STEPS = 10
LEAST_SECONDS = 1e-4


def images_per_second(config: TrainingConfig, resolution: int, classes: int, device: str) -> float:
    """Images trained on in a second, after a first step to warm up."""
    batch = config.batch_size
    noise = np.random.default_rng(0).integers(0, 256, (2 * batch, resolution, resolution, 3), dtype=np.uint8)
    images = Images(noise, np.arange(2 * batch) % classes, tuple(map(str, range(classes))), flippable=True)
    learner = ImageLearner(images, config, device=device)
    seconds = []
    for steps in (1, 1 + TRIED_STEPS):
        learner.config = replace(config, budget=Budget(steps=steps))
        seconds.append(learner.fit(Labels.of(np.arange(len(images)), images.labels), seed=0).seconds)
    return TRIED_STEPS * batch / max(TRIED_STEPS * LEAST_SECONDS, seconds[1] - seconds[0])
