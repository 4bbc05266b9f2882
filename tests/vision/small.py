"""Small images, networks and settings with which training takes milliseconds."""

import numpy as np
from torch import nn

from curriculum_labeling.data.images import Images
from curriculum_labeling.labels import Labels
from curriculum_labeling.vision.config import TrainingConfig
from curriculum_labeling.vision.schedule import Budget


def colors(count=60, classes=3, size=8, seed=0):
    """Noise around one color per class, which a network learns in a few steps."""
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % classes
    centers = np.linspace(60, 200, classes)[labels]
    levels = centers[:, None, None, None] * np.array([1.0, 0.5, 0.7]) + rng.normal(
        scale=20, size=(count, size, size, 3)
    )
    return Images(levels.clip(0, 255).astype(np.uint8), labels, tuple("abcdefgh"[:classes]))


def labels_of(images, rows):
    rows = np.asarray(rows)
    return Labels.of(rows, images.labels[rows])


def with_norm(classes, channels=3):
    return nn.Sequential(
        nn.Conv2d(channels, 6, 3, bias=False),
        nn.BatchNorm2d(6),
        nn.ReLU(inplace=True),
        nn.Conv2d(6, 8, 3, stride=2, bias=False),
        nn.BatchNorm2d(8),
        nn.ReLU(inplace=True),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, classes),
    )


def without_norm(classes, channels=3):
    return nn.Sequential(
        nn.Conv2d(channels, 6, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(24, classes)
    )


def settings(**changes):
    chosen = {"network": with_norm, "budget": Budget(epochs=3), "batch_size": 16, "learning_rate": 0.05}
    # Exact numbers, whatever the CPU: many tests compare bits.
    return TrainingConfig(**{"precision": "fp32", **chosen, **changes})


def same_weights(one, other):
    assert one.keys() == other.keys()
    return all(bool((one[name] == other[name]).all()) for name in one)
