"""An experiment as CSV: a line per cell and round, with the paper's number where it has one."""

from __future__ import annotations

import csv
import io
from statistics import fmean
from typing import Any

from curriculum_labeling.experiments.cells import Cell, name_of
from curriculum_labeling.experiments.points import LAST, Point
from curriculum_labeling.experiments.summary import Summary, percent, spread

COLUMNS = (
    "key",
    "row",
    "column",
    "cell",
    "round",
    "measure",
    "mean",
    "std",
    "n",
    "failed",
    "paper_mean",
    "paper_std",
    "selected",
    "paper_selected_thousands",
    "pseudo_accuracy",
    "foreign",
    "seconds",
    "passes",
)


def csv_text(summary: Summary) -> str:
    """The whole file."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for point in summary.experiment.points:
        for t in _rounds(point, summary):
            writer.writerow(
                {"key": summary.experiment.key, "row": point.row, "column": point.column, **_line(point, t, summary)}
            )
    return buffer.getvalue()


def _rounds(point: Point, summary: Summary) -> list[int]:
    """The round of a point; a point at the end of a cell brings all rounds before it along."""
    finished = summary.finished[point.cell] if point.cell else ()
    if point.round != LAST or not finished:
        return [point.round]
    return list(range(len(finished[0].rounds)))


def _line(point: Point, t: int, summary: Summary) -> dict[str, Any]:
    line: dict[str, Any] = {"measure": point.measure, "round": "last" if t == LAST else t}
    finished = summary.finished[point.cell] if point.cell else ()
    last = len(finished[0].rounds) - 1 if finished else LAST
    if point.published is not None and (t == point.round or (point.round == LAST and t == last)):
        line |= {"paper_mean": point.published.mean, "paper_std": point.published.std}
        line |= {"paper_selected_thousands": point.published_selected}
    if point.cell is None:
        return line
    line |= {"cell": name_of(point.cell), "failed": len(summary.failed[point.cell])}
    return {**line, **_measured(point.cell, point, t, summary)} if finished else line


def _measured(cell: Cell, point: Point, t: int, summary: Summary) -> dict[str, Any]:
    found = [result.rounds[t] for result in summary.finished[cell]]
    value = spread([percent(one, point.measure) for one in found])
    assert value is not None
    right = [one.pseudo_accuracy for one in found if one.pseudo_accuracy is not None]
    return {
        "mean": round(value.mean, 4),
        "std": None if value.std is None else round(value.std, 4),
        "n": value.n,
        "selected": fmean(one.selected for one in found),
        "pseudo_accuracy": round(fmean(right), 6) if right else None,
        "foreign": fmean(one.foreign for one in found),
        "seconds": round(fmean(one.seconds for one in found), 2),
        "passes": fmean(one.passes for one in found),
    }
