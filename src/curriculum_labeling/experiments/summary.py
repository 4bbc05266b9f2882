"""What results on disk say about a point: mean and standard deviation over seeds, and how often it failed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev

from curriculum_labeling.experiments.cells import Cell
from curriculum_labeling.experiments.points import LAST, Experiment, Measure, Point
from curriculum_labeling.experiments.results import Result, Results, RoundResult, tasks_of
from curriculum_labeling.experiments.scales import Scale


@dataclass(frozen=True)
class Spread:
    """Mean, sample standard deviation (None for a single value) and number of values."""

    mean: float
    std: float | None
    n: int


@dataclass(frozen=True)
class Summary:
    """All results of an experiment by the paper's cells, of all the runs that there should be."""

    experiment: Experiment
    finished: dict[Cell, tuple[Result, ...]]
    failed: dict[Cell, tuple[Result, ...]]
    runs: int

    def of(self, point: Point) -> Spread | None:
        """What we measured for a point, in percent."""
        results = self.finished[point.cell] if point.cell else ()
        return spread([percent(result.rounds[point.round], point.measure) for result in results])

    def label(self, cell: Cell) -> str:
        """What a cell is called in the table: its row and column, those of its last round where it has several."""
        mine = [point for point in self.experiment.points if point.cell == cell]
        point = next((one for one in mine if one.round == LAST), mine[0])
        varies = [len({getattr(one, name) for one in self.experiment.points}) > 1 for name in ("row", "column")]
        by_round = self.experiment.across == "round"
        parts = [point.row] * (varies[0] and not by_round) + [point.column] * varies[1]
        return ", ".join(parts) or point.row


def summarize(experiment: Experiment, scale: Scale, seeds: int, out: Path) -> Summary:
    """Read all results of an experiment."""
    store, tasks = Results(out), tasks_of(experiment, scale, seeds)
    finished: dict[Cell, list[Result]] = {cell: [] for cell in experiment.cells}
    failed: dict[Cell, list[Result]] = {cell: [] for cell in experiment.cells}
    for cell, task in zip(list(experiment.cells) * seeds, tasks, strict=True):
        result = store.read(task)
        if result is not None:
            (finished if result.finished else failed)[cell].append(result)
    return Summary(experiment, _frozen(finished), _frozen(failed), len(tasks))


def spread(values: Sequence[float]) -> Spread | None:
    """Mean and deviation; None of nothing."""
    if not values:
        return None
    return Spread(fmean(values), stdev(values) if len(values) > 1 else None, len(values))


def percent(found: RoundResult, measure: Measure) -> float:
    """A measure of a round, in percent."""
    if measure == "top-5 accuracy":
        assert found.top5_error is not None
        return 100 * (1 - found.top5_error)
    return 100 * (found.test_error if measure == "error" else 1 - found.test_error)


def best_on_validation(result: Result) -> float:
    """Test error in percent of the round that does best on validation rows; of the last where there are none."""
    held = [(one.validation_error, one.number) for one in result.rounds if one.validation_error is not None]
    return 100 * result.rounds[min(held)[1] if held else LAST].test_error


def _frozen(results: dict[Cell, list[Result]]) -> dict[Cell, tuple[Result, ...]]:
    return {cell: tuple(found) for cell, found in results.items()}
