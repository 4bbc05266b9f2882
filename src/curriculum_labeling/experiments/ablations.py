"""Tables 4 to 10, as data: thresholds, fine-tuning, batch sizes, steps and epochs, all on CIFAR-10 with 4,000 labels.

Where the paper leaves a setting open: fixed thresholds have five rounds, as the curriculum has;
Tables 7 to 10 use RA with mixup, batches of 1,024 in Tables 7 and 8 (their columns are equal) and
512 elsewhere.
"""

from __future__ import annotations

from dataclasses import replace

from curriculum_labeling.experiments.cells import Augmentation, Cell
from curriculum_labeling.experiments.comparisons import CL, CL_RA, CL_RA_MIXUP, PL
from curriculum_labeling.experiments.points import Experiment, Number, Point, per_round
from curriculum_labeling.pacing import Pacing, PercentilePacing, ThresholdPacing

COUNTS = (8, 16, 24, 32, 41)
# As the appendix lists them, without 10.
STEP_5 = PercentilePacing((*(float(p) for p in range(80, 10, -5)), 5.0, 0.0))
LARGE = replace(CL_RA_MIXUP, batch=1024)
LARGE_ERRORS = (15.42, 10.04, 8.56, 7.03, 6.22, 5.41)


def paced(cell: Cell, pacing: Pacing) -> Cell:
    """The same with another pacing."""
    return replace(cell, pacing=pacing)


def _without_curriculum(row: str, cell: Cell, errors: tuple[float, float, float, float]) -> list[Point]:
    columns = {"plain": (False, False), "mixup": (True, False), "SWA": (False, True), "mixup and SWA": (True, True)}
    return [
        Point(row, column, replace(cell, mixup=mixup, swa=swa), Number(error))
        for (column, (mixup, swa)), error in zip(columns.items(), errors, strict=True)
    ]


def _at_threshold(threshold: float, moderate: float, heavy: float) -> list[Point]:
    pacing, row = ThresholdPacing(threshold), f"threshold {threshold:g}"
    return [
        Point(row, "moderate", paced(CL, pacing), Number(moderate)),
        Point(row, "RA+mixup", paced(CL_RA_MIXUP, pacing), Number(heavy)),
    ]


def _unaugmented(cell: Cell) -> Cell:
    augmentation: Augmentation = "none"
    return replace(cell, augmentation=augmentation, whitening=False)


table_4 = Experiment(
    "table-4",
    "Test error without a curriculum (every row in every round)",
    "augmentation",
    (
        *_without_curriculum("none", _unaugmented(PL), (38.47, 34.03, 37.35, 32.85)),
        *_without_curriculum("moderate", PL, (22.8, 16.11, 21.63, 15.83)),
        *_without_curriculum("heavy (RA)", paced(CL_RA, PL.pacing), (11.38, 8.88, 11.32, 8.59)),
    ),
)

table_5 = Experiment(
    "table-5",
    "Test error with fixed thresholds",
    "selection",
    (
        *_at_threshold(0.1, 21.12, 7.87),
        *_at_threshold(0.2, 21.12, 8.57),
        *_at_threshold(0.3, 20.59, 7.90),
        *_at_threshold(0.4, 22.11, 8.15),
        *_at_threshold(0.5, 19.98, 7.46),
        *_at_threshold(0.6, 19.51, 6.88),
        *_at_threshold(0.7, 19.35, 6.65),
        *_at_threshold(0.8, 18.08, 6.29),
        *_at_threshold(0.9, 17.11, 6.21),
        Point("CL", "moderate", CL, Number(8.92)),
        Point("CL", "RA+mixup", CL_RA_MIXUP, Number(5.27)),
    ),
)

table_6 = Experiment(
    "table-6",
    "Test error per round: two fixed thresholds and self-pacing, ZCA and moderate augmentation",
    "round",
    (
        *per_round(
            "threshold 0.9",
            paced(CL, ThresholdPacing(0.9)),
            (18.25, 15.25, 14.53, 13.91, 14.01, 12.92),
            (35, 41, 43, 44, 44),
        ),
        *per_round(
            "threshold 0.9995",
            paced(CL, ThresholdPacing(0.9995)),
            (18.25, 17.18, 15.2, 14.64, 14.84, 15.29),
            (13, 14, 14, 17, 15),
        ),
        *per_round("CL", CL, (18.25, 15.41, 11.55, 10.83, 9.54, 8.92), COUNTS),
    ),
)

table_7 = Experiment(
    "table-7",
    "Test error per round: reinitialized and fine-tuned",
    "round",
    (
        *per_round("reinitialized", LARGE, LARGE_ERRORS, COUNTS),
        *per_round("fine-tuned", replace(LARGE, fine_tuned=True), (15.3, 9.85, 7.99, 7.20, 6.55, 6.42), COUNTS),
    ),
)

table_8 = Experiment(
    "table-8",
    "Test error per round: batch sizes, heavy augmentation",
    "round",
    (
        *per_round("batches of 64", replace(LARGE, batch=64), (12.76, 10.19, 9.32, 8.49, 7.34, 7.17), COUNTS),
        *per_round("batches of 1,024", LARGE, LARGE_ERRORS, COUNTS),
    ),
)

STEP_5_ERRORS = (13.73, 10.04, 9.76, 9.73, 9.75, 8.32, 8.54, 7.27, 7.36, 6.75, 6.58, 5.89, 5.98, 5.41, 5.27, 5.45, 5.31)
STEP_5_COUNTS = (8, 14, 16, 18, 20, 23, 22, 24, 26, 28, 30, 32, 34, 36, 38, 41)

table_9 = Experiment(
    "table-9",
    "Test error per round with Δ = 5 as the appendix lists it, and at the end with other steps",
    "round",
    (
        *per_round("Δ = 5, listed", paced(CL_RA_MIXUP, STEP_5), STEP_5_ERRORS, STEP_5_COUNTS),
        Point("last round", "Δ = 5, listed", paced(CL_RA_MIXUP, STEP_5), Number(STEP_5_ERRORS[-1])),
        *(
            Point("last round", f"Δ = {step}", paced(CL_RA_MIXUP, PercentilePacing.by(step)), number)
            for step, number in ((5, None), (10, None), (15, None), (20, Number(5.27)))
        ),
    ),
)

table_10 = Experiment(
    "table-10",
    "Test error by epochs per round, RA, with and without SWA",
    "training",
    (
        Point("250 epochs, SWA", "error", replace(CL_RA_MIXUP, epochs=250), Number(8.42)),
        Point("450 epochs, SWA", "error", replace(CL_RA_MIXUP, epochs=450), Number(6.46)),
        Point("550 epochs, SWA", "error", replace(CL_RA_MIXUP, epochs=550), Number(7.42)),
        Point("750 epochs", "error", replace(CL_RA_MIXUP, swa=False), Number(5.76)),
    ),
)

ABLATIONS = (table_4, table_5, table_6, table_7, table_8, table_9, table_10)
