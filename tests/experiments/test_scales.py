"""Reductions."""

from dataclasses import replace

import pytest

from curriculum_labeling.experiments.ablations import table_8, table_10
from curriculum_labeling.experiments.catalog import EXPERIMENTS
from curriculum_labeling.experiments.cells import Cell, passes_of, training_config
from curriculum_labeling.experiments.comparisons import CL, CL_RA_MIXUP, IMAGENET, figure_2, figure_4
from curriculum_labeling.experiments.cost import image_passes
from curriculum_labeling.experiments.scales import CPU, CPU_LONG, PAPER, SCALES
from curriculum_labeling.labels import Labels
from curriculum_labeling.vision.averaging import SWA
from curriculum_labeling.vision.batches import Batches

CELLS = list(dict.fromkeys(cell for experiment in EXPERIMENTS.values() for cell in experiment.cells))


def test_paper_scale_changes_nothing():
    assert [PAPER.reduced(cell) for cell in CELLS] == CELLS


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=list(EXPERIMENTS))
def test_what_an_experiment_compares_still_differs_at_cpu_scale(experiment):
    assert len({CPU.reduced(cell) for cell in experiment.cells}) == len(experiment.cells)


def test_cpu_scale_keeps_what_the_paper_is_about():
    for cell in CELLS:
        small = CPU.reduced(cell)
        for name in ("pacing", "augmentation", "mixup", "swa", "fine_tuned", "foreign", "data"):
            assert getattr(small, name) == getattr(cell, name)


def test_cpu_scale_reduces_labels_batches_and_work():
    assert [CPU.reduced(cell).labeled for cell in figure_2.cells] == [12, 25, 50, 100]
    assert [CPU.reduced(cell).batch for cell in table_8.cells] == [32, 64]
    assert [CPU.reduced(cell).passes for cell in table_10.cells] == [6_667, 12_000, 14_667, 20_000]
    assert training_config(CPU.reduced(CL)).average == SWA(500 / 750, 1)
    assert (CPU.reduced(IMAGENET).classes, CPU.reduced(IMAGENET).resolution) == (10, 32)
    assert image_passes(CPU.reduced(CL_RA_MIXUP)) < 130_000


@pytest.mark.parametrize("rows", [3, 8, 10, 100])
def test_passes_are_the_rows_of_all_steps(rows):
    cell = Cell(batch=8, passes=50)
    batches = Batches(Labels.of(range(rows), [0] * rows), 8, 0)
    assert passes_of(cell, rows) == sum(len(batches.step(number)) for number in range(cell.steps))
    assert passes_of(Cell(epochs=7), rows) == 7 * rows


def test_a_scale_says_what_it_reduces():
    assert PAPER.sentence_for([CL]) == "Settings as in the paper."
    said = CPU.sentence_for([CL])
    assert "network compact-16; labels per class divided by 4" in said
    assert "standardization in the place of ZCA" in said
    assert not CPU.reduced(CL).whitening
    assert PAPER.reduced(CL).whitening
    assert "at most 3,000 unlabeled rows" in said
    assert "ImageNet" not in said
    assert "ImageNet's first 10 classes" in CPU.sentence_for([IMAGENET])
    assert CPU.sentence_for(figure_4.cells) == "The same at every scale."


def test_the_long_scale_trains_four_times_as_long_and_is_otherwise_the_same():
    assert set(SCALES) == {"paper", "cpu", "cpu-long"}
    for cell in CELLS:
        short, long = CPU.reduced(cell), CPU_LONG.reduced(cell)
        assert long == (short if cell.data == "moons" else replace(short, passes=long.passes))
        assert cell.data == "moons" or abs(long.passes - 4 * short.passes) <= 2
    assert "80,000 images per round" in CPU_LONG.sentence_for([CL])
