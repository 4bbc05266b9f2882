"""Every experiment of the paper is there, with the paper's numbers and settings."""

from pathlib import Path

import pytest

from curriculum_labeling.experiments.ablations import table_6, table_9
from curriculum_labeling.experiments.catalog import EXPERIMENTS, find_experiment
from curriculum_labeling.experiments.cells import name_of, training_config
from curriculum_labeling.experiments.comparisons import CL, CL_FA, CL_RA_MIXUP, IMAGENET, on_svhn
from curriculum_labeling.experiments.cost import experiment_passes, image_passes, rows_per_round
from curriculum_labeling.experiments.results import tasks_of
from curriculum_labeling.experiments.scales import CPU, PAPER
from curriculum_labeling.pacing import PercentilePacing
from curriculum_labeling.vision.averaging import SWA

# Error or accuracy of every cell of the paper's own method, in the paper's order.
PUBLISHED = {
    "table-1": "20.26 12.83 8.92 5.65 5.51 2.90 5.09 2.75 5.27 2.80",
    "table-2": "9.81 4.75 5.92 3.96",
    "table-3": "55.75 79.67 68.87 88.56",
    "table-4": "38.47 34.03 37.35 32.85 22.8 16.11 21.63 15.83 11.38 8.88 11.32 8.59",
    "table-5": "21.12 7.87 21.12 8.57 20.59 7.90 22.11 8.15 19.98 7.46 19.51 6.88 19.35 6.65 18.08 6.29 17.11 6.21 "
    "8.92 5.27",
    "table-6": "18.25 15.25 14.53 13.91 14.01 12.92 18.25 17.18 15.2 14.64 14.84 15.29 "
    "18.25 15.41 11.55 10.83 9.54 8.92",
    "table-7": "15.42 10.04 8.56 7.03 6.22 5.41 15.3 9.85 7.99 7.20 6.55 6.42",
    "table-8": "12.76 10.19 9.32 8.49 7.34 7.17 15.42 10.04 8.56 7.03 6.22 5.41",
    "table-9": "13.73 10.04 9.76 9.73 9.75 8.32 8.54 7.27 7.36 6.75 6.58 5.89 5.98 5.41 5.27 5.45 5.31 5.31 5.27",
    "table-10": "8.42 6.46 7.42 5.76",
}
DEVIATIONS = {
    "table-1": ".38 .47 .03 .11 .14 .19 .18 .15 .16 .18",
    "table-2": ".22 .28 .07 .10",
}
PLOTS = ("figure-2", "figure-3", "figure-4", "figure-5", "figures-6-7")
CELLS = [cell for experiment in EXPERIMENTS.values() for cell in experiment.cells]


def numbers(key, name="mean"):
    points = [point for point in EXPERIMENTS[key].points if point.cell is not None and point.published is not None]
    return [getattr(point.published, name) for point in points]


def test_every_table_and_figure_of_the_paper_has_its_key():
    assert list(EXPERIMENTS) == [*PUBLISHED, *PLOTS]
    assert all(experiment.cells for experiment in EXPERIMENTS.values())


@pytest.mark.parametrize("key", PUBLISHED)
def test_every_published_number_stands_beside_its_cell(key):
    assert numbers(key) == [float(number) for number in PUBLISHED[key].split()]
    if key in DEVIATIONS:
        assert numbers(key, "std") == [float(number) for number in DEVIATIONS[key].split()]


def test_published_counts_of_pseudo_labels_stand_beside_their_rounds():
    counts = [point.published_selected for point in table_6.points]
    assert counts[1:6] == [35, 41, 43, 44, 44]
    assert counts[7:12] == [13, 14, 14, 17, 15]
    assert counts[13:] == [8, 16, 24, 32, 41]


def test_methods_of_others_are_quoted_and_not_run():
    quoted = {point.row for experiment in EXPERIMENTS.values() for point in experiment.points if point.cell is None}
    assert {"FixMatch", "UDA", "mean teacher", "SNTG", "S4L-rotation", "ladder network"} <= quoted
    fixmatch = [p.published.mean for p in EXPERIMENTS["table-1"].points if p.row == "FixMatch"]
    assert fixmatch == [4.26, 2.28]


def test_cells_that_differ_have_names_that_differ():
    assert len({name_of(cell) for cell in CELLS}) == len(set(CELLS))
    assert name_of(CL_RA_MIXUP) == "cifar10-400-wrn-28-2-heavy-mixup-swa-batch512-epochs750-step20"
    assert max(len(name_of(cell)) for cell in CELLS) < 150


def test_the_headline_run_has_110_million_image_passes():
    assert rows_per_round(CL_RA_MIXUP) == [4_000, 12_200, 20_400, 28_600, 36_800, 45_000]
    assert image_passes(CL_RA_MIXUP) == 110_250_000


def test_splits_have_the_papers_sizes():
    assert rows_per_round(on_svhn(CL))[-1] == 1_000 + 71_257
    assert rows_per_round(IMAGENET)[-1] == 102_000 + 1_153_167


def test_step_5_is_as_the_appendix_lists_it():
    listed = table_9.cells[0].pacing.percentiles
    assert listed == (80, 75, 70, 65, 60, 55, 50, 45, 40, 35, 30, 25, 20, 15, 5, 0)
    assert [cell.pacing for cell in table_9.cells[1:]] == [PercentilePacing.by(step) for step in (5, 10, 15, 20)]


def test_training_at_paper_scale_is_the_papers():
    config = training_config(CL_RA_MIXUP)
    assert (config.network, config.budget.epochs, config.batch_size) == ("wrn-28-2", 750, 512)
    assert (config.learning_rate, config.momentum, config.weight_decay, config.nesterov) == (0.1, 0.9, 5e-4, True)
    assert (config.augmentation, config.mixup, config.average) == ("heavy", 1.0, SWA(500, 5))
    assert training_config(CL).whitening
    photos = training_config(IMAGENET)
    assert (photos.network, photos.budget.epochs, photos.average) == ("resnet-50", 220, SWA(100, 5))
    assert photos.augmentation.crop == "resized"


def test_averaging_begins_within_rounds_that_are_shorter():
    averages = [training_config(cell).average for cell in EXPERIMENTS["table-10"].cells]
    assert averages == [SWA(2 / 3, 5)] * 3 + [None]


def test_a_cell_with_a_policy_asks_for_its_file(tmp_path):
    with pytest.raises(ValueError, match=r"CL\+FA must have the sub-policies of Fast AutoAugment .* --policy"):
        training_config(CL_FA)
    (tmp_path / "policy.json").write_text('[[["Rotate", 0.5, 0.3], ["Invert", 0.2, 0.9]]]')
    config = training_config(on_svhn(CL_FA), policy=tmp_path / "policy.json")
    assert config.augmentation.policy is not None
    assert not config.augmentation.flip


@pytest.mark.parametrize(
    ("key", "meant"), [("table6", "table-6"), ("Table_6", "table-6"), ("figure-6-7", "figures-6-7")]
)
def test_an_unknown_key_gets_a_hint(key, meant):
    with pytest.raises(ValueError, match=f"KEY must be an experiment of the paper, got {key}; did you mean {meant}"):
        find_experiment(key)


def test_a_key_like_no_other_gets_no_hint():
    with pytest.raises(ValueError, match="got xyz; `curriculum reproduce --list` has all"):
        find_experiment("xyz")


def test_the_documented_costs_are_those_of_the_settings():
    page = (Path(__file__).parents[2] / "docs" / "experiments.md").read_text(encoding="utf-8")
    for key, experiment in EXPERIMENTS.items():
        paper, cpu = (experiment_passes(experiment, scale) / 1e6 for scale in (PAPER, CPU))
        assert f"| `{key}` | {len(experiment.cells)} | {paper:,.1f} | {5 * paper:,.0f} | {cpu:.2f} |" in page


def test_some_cells_of_a_table_are_named_by_row_and_column():
    table_4 = EXPERIMENTS["table-4"]
    corner = table_4.cells_at(["heavy (RA)/plain", "Moderate / Mixup and SWA"])
    assert [(cell.augmentation, cell.mixup, cell.swa) for cell in corner] == [
        ("moderate", True, True),
        ("heavy", False, False),
    ]
    assert {cell.augmentation for cell in table_4.cells_at(["none/"])} == {"none"}
    assert len(table_4.cells_at(["/plain"])) == 3
    assert table_4.cells_at([]) == table_4.cells
    assert [task.seed for task in tasks_of(table_4, CPU, 2, ["none/plain"])] == [0, 1]


def test_a_place_that_is_not_in_the_table_is_told():
    with pytest.raises(ValueError, match=r"--only must be a ROW/COLUMN of table-7, got 'x/fine-tuned'; its rows are "):
        EXPERIMENTS["table-7"].cells_at(["x/fine-tuned"])
