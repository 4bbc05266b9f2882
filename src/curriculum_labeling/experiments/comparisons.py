"""Tables 1 to 3 and all figures, as data: what the paper compares its method with, and the numbers it got.

Where the paper leaves a setting open: moderate augmentation has batches of 100 and ZCA, heavy
augmentation batches of 512 and no ZCA; averaging is always on. Pseudo-labeling (PL) takes every row
in every round, which the paper calls a threshold of 0.
"""

from __future__ import annotations

from dataclasses import replace

from curriculum_labeling.experiments.cells import Cell
from curriculum_labeling.experiments.points import Experiment, Number, Point, row_of
from curriculum_labeling.experiments.quoted import TABLE_1, TABLE_2, TABLE_3, quoted_rows
from curriculum_labeling.pacing import PercentilePacing, ThresholdPacing

CIFAR, SVHN = "CIFAR-10, 4,000 labels", "SVHN, 1,000 labels"
CL = Cell(whitening=True)
CL_RA = replace(CL, augmentation="heavy", whitening=False, batch=512)
CL_RA_MIXUP = replace(CL_RA, mixup=True)
CL_FA = replace(CL_RA, augmentation="policy")
CL_FA_MIXUP = replace(CL_FA, mixup=True)
PL = replace(CL, pacing=ThresholdPacing(0.0))
IMAGENET = Cell(
    "imagenet", 102, 26, "resnet-50", "heavy", epochs=220, batch=512, resolution=224, pacing=PercentilePacing()
)


def on_svhn(cell: Cell) -> Cell:
    """The same on SVHN, with its split."""
    return replace(cell, data="svhn", labeled=100, validation=100)


def on_both(cell: Cell) -> dict[str, Cell | None]:
    """A cell per column of Tables 1 and 2."""
    return {CIFAR: cell, SVHN: on_svhn(cell)}


def with_cnn13(cell: Cell) -> Cell:
    """The same with CNN-13."""
    return replace(cell, network="cnn-13")


table_1 = Experiment(
    "table-1",
    "Test error with WideResNet-28-2",
    "method",
    (
        *row_of("labels only", on_both(CL), [Number(20.26, 0.38), Number(12.83, 0.47)], at=0),
        *quoted_rows(TABLE_1, (CIFAR, SVHN)),
        *row_of("CL", on_both(CL), [Number(8.92, 0.03), Number(5.65, 0.11)]),
        *row_of("CL+FA", on_both(CL_FA), [Number(5.51, 0.14), Number(2.90, 0.19)]),
        *row_of("CL+FA+mixup", on_both(CL_FA_MIXUP), [Number(5.09, 0.18), Number(2.75, 0.15)]),
        *row_of("CL+RA+mixup", on_both(CL_RA_MIXUP), [Number(5.27, 0.16), Number(2.80, 0.18)]),
    ),
)

table_2 = Experiment(
    "table-2",
    "Test error with CNN-13",
    "method",
    (
        *quoted_rows(TABLE_2, (CIFAR, SVHN)),
        *row_of("CL", on_both(with_cnn13(CL)), [Number(9.81, 0.22), Number(4.75, 0.28)]),
        *row_of("CL+RA", on_both(with_cnn13(CL_RA)), [Number(5.92, 0.07), Number(3.96, 0.10)]),
    ),
)

table_3 = Experiment(
    "table-3",
    "Accuracy on ImageNet with 10 % of the labels, ResNet-50",
    "method",
    (
        *quoted_rows(TABLE_3, ("top-1 accuracy", "top-5 accuracy")),
        Point("labels only", "top-1 accuracy", IMAGENET, Number(55.75), 0, "top-1 accuracy"),
        Point("labels only", "top-5 accuracy", IMAGENET, Number(79.67), 0, "top-5 accuracy"),
        Point("CL", "top-1 accuracy", IMAGENET, Number(68.87), measure="top-1 accuracy"),
        Point("CL", "top-5 accuracy", IMAGENET, Number(88.56), measure="top-5 accuracy"),
    ),
)


def _at_labels(per_class: int) -> list[Point]:
    cell, row = replace(CL_RA_MIXUP, labeled=per_class), f"{10 * per_class:,}"
    return [Point(row, "labels only", cell, round=0), Point(row, "CL+RA+mixup", cell)]


def _at_mismatch(foreign: float) -> list[Point]:
    pseudo, paced = (replace(cell, foreign=foreign) for cell in (PL, CL))
    row = f"{100 * foreign:.0f} %"
    return [Point(row, "labels only", paced, round=0), Point(row, "PL", pseudo), Point(row, "CL", paced)]


figure_2 = Experiment(
    "figure-2",
    "Test error against the number of labels, CIFAR-10, WideResNet-28-2",
    "labels in the paper",
    tuple(point for per_class in (50, 100, 200, 400) for point in _at_labels(per_class)),
    "lines",
)

figure_3 = Experiment(
    "figure-3",
    "Test error on six animal classes against the share of foreign classes among the unlabeled ones, CIFAR-10",
    "foreign classes",
    tuple(point for foreign in (0.0, 0.25, 0.5, 0.75, 1.0) for point in _at_mismatch(foreign)),
    "lines",
)

figure_4 = Experiment(
    "figure-4",
    "Two moons: pseudo-labeling and curriculum labeling, error on the unlabeled rows",
    "method",
    (
        Point("pseudo-labeling", "error", Cell("moons", network="kernel", pacing=ThresholdPacing(0.0, rounds=5))),
        Point("curriculum labeling", "error", Cell("moons", network="kernel", pacing=PercentilePacing.by(20))),
    ),
    "moons",
)

figure_5 = Experiment(
    "figure-5",
    "Training time against test error, CIFAR-10, WideResNet-28-2",
    "method",
    (
        Point("PL, no threshold", "error", PL),
        Point("PL, threshold 0.9", "error", replace(CL, pacing=ThresholdPacing(0.9))),
        Point("CL", "error", CL),
        Point("CL+RA+mixup", "error", CL_RA_MIXUP),
    ),
    "time",
)

figures_6_7 = Experiment(
    "figures-6-7",
    "Highest scored right and wrong pseudo-labels of each class after the last round",
    "data",
    (Point("CIFAR-10", "error", CL_RA_MIXUP), Point("ImageNet", "error", IMAGENET)),
    "gallery",
)

COMPARISONS = (table_1, table_2, table_3, figure_2, figure_3, figure_4, figure_5, figures_6_7)
