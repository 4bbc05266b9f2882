"""The figures of the paper from results on disk, each as PNG and SVG."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from curriculum_labeling.experiments import gallery, two_moons
from curriculum_labeling.experiments.cells import name_of
from curriculum_labeling.experiments.gallery import EACH, Gallery
from curriculum_labeling.experiments.points import Drawing
from curriculum_labeling.experiments.runner import GALLERY
from curriculum_labeling.experiments.summary import Summary

KINDS = ("png", "svg")
COLORS = ("#777777", "#dd7722", "#2266aa", "#338855", "#aa3377")
DPI = 130


def draw(summary: Summary, out: Path) -> list[Path]:
    """The figures of an experiment, none before there is something to show."""
    drawing = summary.experiment.drawing
    if drawing is None or not any(summary.finished.values()):
        return []
    return DRAWINGS[drawing](summary, out)


def draw_lines(summary: Summary, out: Path) -> list[Path]:
    """Error over the rows of the table, a line with a band of one standard deviation per column."""
    points = summary.experiment.points
    rows, columns = (list(dict.fromkeys(getattr(point, name) for point in points)) for name in ("row", "column"))
    figure, axes = _axes(5.6, 3.8)
    for color, column in zip(COLORS, columns, strict=False):
        found = [(rows.index(one.row), summary.of(one)) for one in points if one.column == column]
        known = [(x, value.mean, value.std or 0.0) for x, value in found if value is not None]
        if known:
            x, mean, std = map(np.array, zip(*known, strict=True))
            axes.plot(x, mean, color=color, marker="o", ms=4, label=column)
            axes.fill_between(x, mean - std, mean + std, color=color, alpha=0.2, lw=0)
    axes.set_xticks(range(len(rows)), rows)
    axes.set_xlabel(summary.experiment.across)
    _finish(axes)
    return _save(figure, out, summary.experiment.key)


def draw_time(summary: Summary, out: Path) -> list[Path]:
    """Minutes so far against test error after every round; the last round is the large dot."""
    figure, axes = _axes(5.6, 3.8)
    for color, point in zip(COLORS[1:], summary.experiment.points, strict=False):
        results = summary.finished[point.cell] if point.cell else ()
        for number, result in enumerate(results):
            minutes = np.cumsum([one.seconds for one in result.rounds]) / 60
            errors = [100 * one.test_error for one in result.rounds]
            axes.plot(minutes, errors, color=color, marker="o", ms=3, lw=1, label=point.row if number == 0 else None)
            axes.plot(minutes[-1], errors[-1], color=color, marker="o", ms=8)
    axes.set_xlabel("minutes of training, rounds added up")
    _finish(axes)
    return _save(figure, out, summary.experiment.key)


def draw_moons(summary: Summary, out: Path) -> list[Path]:
    """Both methods on the moons of seed 0, fitted again, which takes seconds."""
    moons = two_moons.draw_moons(0)
    rounds = {method: two_moons.run_moons(moons, method) for method in two_moons.PACINGS}
    return two_moons.draw_figure(moons, rounds, out, summary.experiment.key)


def draw_galleries(summary: Summary, out: Path) -> list[Path]:
    """A gallery per data set, of the first seed that has one."""
    paths = []
    for cell, results in summary.finished.items():
        files = [out / "cells" / f"{name_of(cell)}-seed{result.seed}{GALLERY}" for result in results]
        found = next((file for file in files if file.is_file()), None)
        if found is not None:
            figure = gallery_figure(gallery.read(found))
            paths += _save(figure, out, f"{summary.experiment.key}-{cell.data}")
    return paths


def gallery_figure(shown: Gallery) -> Figure:
    """A line per class: right pseudo-labels with their confidence, then wrong ones with the true class as well."""
    classes = np.unique(shown.classes)
    figure = Figure(figsize=(1.05 * 2 * EACH + 1.2, 1.3 * len(classes) + 0.5), layout="constrained")
    axes = figure.subplots(len(classes), 2 * EACH, squeeze=False)
    for axis in axes.flat:
        axis.set_axis_off()
    for line, c in zip(axes, classes, strict=True):
        line[0].set_title(str(shown.names[c]), loc="left", fontsize=8, fontweight="bold", pad=14)
        for right, places in ((True, line[:EACH]), (False, line[EACH:])):
            rows = np.flatnonzero((shown.classes == c) & (shown.right == right))
            for axis, row in zip(places, rows, strict=False):
                axis.imshow(shown.pixels[row].squeeze(), cmap="gray")
                axis.text(
                    0.5, -0.06, _caption(shown, int(row)), transform=axis.transAxes, fontsize=6.5, ha="center", va="top"
                )
    figure.suptitle(f"{EACH} right on the left, {EACH} wrong on the right: confidence, and the true class", fontsize=9)
    return figure


def _caption(shown: Gallery, row: int) -> str:
    score = f"{shown.confidence[row]:.4f}"
    if shown.right[row]:
        return score
    return f"{score}\n{shown.names[shown.truth[row]] if shown.truth[row] >= 0 else 'foreign'}"


def _axes(width: float, height: float) -> tuple[Figure, Any]:
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.add_subplot()


def _finish(axes: Any) -> None:
    axes.set_ylabel("test error, %")
    axes.grid(axis="y", color="#dddddd", lw=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)


def _save(figure: Figure, out: Path, name: str) -> list[Path]:
    paths = [out / f"{name}.{kind}" for kind in KINDS]
    with rc_context({"svg.hashsalt": name}):
        for path in paths:
            figure.savefig(path, dpi=DPI, metadata={"Date": None} if path.suffix == ".svg" else None)
    return paths


DRAWINGS: dict[Drawing, Callable[[Summary, Path], list[Path]]] = {
    "lines": draw_lines,
    "moons": draw_moons,
    "time": draw_time,
    "gallery": draw_galleries,
}
