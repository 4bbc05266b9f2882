"""What a cell costs, in image passes: images that go forward and backward through the network, known before it runs."""

from __future__ import annotations

import math
from fractions import Fraction

from curriculum_labeling.data.splits import CIFAR10_ANIMALS
from curriculum_labeling.experiments.cells import Cell, passes_of
from curriculum_labeling.experiments.points import Experiment
from curriculum_labeling.experiments.scales import Scale
from curriculum_labeling.pacing import PercentilePacing

# Published training images and classes.
SIZES = {"cifar10": (50_000, 10), "svhn": (73_257, 10), "imagenet": (1_281_167, 1_000)}
UNLABELED_CLASSES = 4


def image_passes(cell: Cell) -> int:
    """Passes of all rounds; with a fixed threshold, whose rows nobody knows before, at most."""
    if cell.data == "moons":
        return 0
    return sum(passes_of(cell, rows) for rows in rows_per_round(cell))


def rows_per_round(cell: Cell) -> list[int]:
    """Rows that each round trains on, on the published data."""
    rows, classes = SIZES[cell.data]
    kept = cell.classes or classes
    labeled = cell.labeled * (kept if cell.foreign is None else len(CIFAR10_ANIMALS))
    if cell.foreign is None:
        unlabeled = rows * kept // classes - kept * (cell.labeled + cell.validation)
    else:
        unlabeled = UNLABELED_CLASSES * (rows // classes - cell.labeled - cell.validation)
    unlabeled = unlabeled if cell.unlabeled is None else min(unlabeled, cell.unlabeled)
    return [labeled, *(labeled + _selected(cell, unlabeled, t) for t in range(1, cell.pacing.rounds + 1))]


def experiment_passes(experiment: Experiment, scale: Scale) -> int:
    """Passes of one run of every cell of an experiment."""
    return sum(image_passes(scale.reduced(cell)) for cell in experiment.cells)


def _selected(cell: Cell, unlabeled: int, t: int) -> int:
    if not isinstance(cell.pacing, PercentilePacing):
        return unlabeled
    p = Fraction(str(cell.pacing.percentiles[t - 1]))
    return unlabeled - math.ceil((unlabeled - 1) * p / 100)
