"""From choices to the settings a network is trained with."""

from __future__ import annotations

import torch

from curriculum_labeling.runs.budgets import MOST_PASSES
from curriculum_labeling.runs.choices import BATCH, BY_PASSES, FEW_PASSES, Choices, Pace
from curriculum_labeling.runs.options import FitOptions
from curriculum_labeling.runs.pace import images_per_second
from curriculum_labeling.vision.config import TrainingConfig
from curriculum_labeling.vision.recipe import Recipe, build_recipe

# Larger batches take larger steps.
LEARNING_RATE, LARGE_LEARNING_RATE = 0.1, 0.15
# Pseudo-labels soon outnumber the labels; a quarter of every batch stays with what is known.
LABELED_SHARE = 0.25
# What a training does to images that it sees a few times, or many times.
A_FEW_TIMES, MANY_TIMES = "cutout", "light"
# A border of the mean color takes much of a very small image (measured on 8-pixel digits).
REFLECTED_UP_TO = 16


def training_config(choices: Choices) -> TrainingConfig:
    """Settings of every round, but for its budget."""
    assert choices.network is not None
    return TrainingConfig(
        network=choices.network,
        batch_size=choices.batch,
        learning_rate=learning_rate_for(choices.batch),
        accumulate=choices.pieces,
        optimizer="muon" if choices.small else "sgd",
        augmentation=_recipe(choices),
        warmup=0.05,
        labeled_share=LABELED_SHARE,
        flip_scoring=choices.flip,
    )


def learning_rate_for(batch: int) -> float:
    """The peak of the learning rate, with batches of so many images."""
    return LARGE_LEARNING_RATE if batch > BATCH else LEARNING_RATE


def measured_pace(options: FitOptions, classes: int, device: str, pieces: int) -> Pace:
    """How to find out what this machine can train on."""

    def pace(network: str, resolution: int) -> float:
        torch.set_num_threads(options.threads or torch.get_num_threads())
        config = TrainingConfig(
            network=network, batch_size=BATCH, accumulate=pieces, optimizer="muon", augmentation="light"
        )
        return images_per_second(config, resolution, classes, device)

    return pace


def steps_for(passes: float, images: int, batch: int) -> int:
    """Optimizer steps that go this often through so many images."""
    return max(1, round(passes * images / batch))


def most_steps(images: int, batch: int) -> int:
    """Beyond these, more time is not spent on a training."""
    return steps_for(MOST_PASSES, images, batch)


def _recipe(choices: Choices) -> str | Recipe:
    if choices.resolution <= REFLECTED_UP_TO and choices.augmentation == "moderate":
        return build_recipe("moderate", flippable=choices.flip, border="reflect")
    return MANY_TIMES if choices.augmentation == BY_PASSES else choices.augmentation


def augmentation_for(steps: int, batch: int, images: int) -> str:
    """The augmentation of a training that goes so many steps through these images."""
    return A_FEW_TIMES if steps * batch <= FEW_PASSES * images else MANY_TIMES
