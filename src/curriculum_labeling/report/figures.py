"""The figures of the report: accuracy, moves, confidences and calibration."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib
import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from curriculum_labeling.labels import FloatArray, IntArray
from curriculum_labeling.report.bins import Reliability
from curriculum_labeling.report.read import RoundRecord
from curriculum_labeling.report.scale import Scale
from curriculum_labeling.report.svg import (
    ACCENT,
    BAD,
    INK,
    LINE,
    MUTED,
    PAPER,
    SECOND,
    canvas,
    inline,
    plain_axes,
    style,
)
from curriculum_labeling.report.wording import percent

FLOOR = 0.7  # a single image is a visible bar on the logarithmic scale
WIDTH = 300.0


def accuracy_figure(rounds: Sequence[RoundRecord], delivered: int) -> Markup:
    """Accuracy of each round on held-out labels with 95 % intervals, and on known truth."""
    held = [(one.number, one.held_out) for one in rounds if one.held_out is not None]
    truth = [(one.number, one.truth_accuracy) for one in rounds if one.truth_accuracy is not None]
    with matplotlib.rc_context(style()):
        figure = canvas(WIDTH, 190)
        axes = plain_axes(figure)
        axes.axvspan(delivered - 0.28, delivered + 0.28, color=ACCENT, alpha=0.1, lw=0)
        if held:
            t, a = [number for number, _ in held], np.array([one.accuracy for _, one in held])
            below, above = a - [one.low for _, one in held], [one.high for _, one in held] - a
            reach = np.maximum(np.stack([below, above]), 0.0)
            axes.errorbar(t, a, reach, color=ACCENT, lw=1.6, marker="o", ms=4.5, elinewidth=1, capsize=2.5)
        if truth:
            axes.plot(*zip(*truth, strict=True), color=SECOND, lw=1.4, ls=(0, (4, 2)), marker="s", ms=3.5)
        _rounds_below(axes, rounds)
        axes.margins(y=0.12)
        axes.set_ylim(max(0.0, axes.get_ylim()[0]), min(1.005, axes.get_ylim()[1]))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{100 * y:.{0 if _coarse(axes) else 1}f} %"))
        axes.yaxis.set_major_locator(MaxNLocator(6))
        spoken = "; ".join(f"round {number}: {percent(one.accuracy)}" for number, one in held)
        return inline(figure, "accuracy", f"Accuracy per round on held-out labels. {spoken}")


def moves_figure(rounds: Sequence[RoundRecord]) -> Markup:
    """Rows that entered (up), left (down) and changed class in each round."""
    shown = [one for one in rounds if one.number > 0]
    t = np.array([one.number for one in shown])
    with matplotlib.rc_context(style()):
        figure = canvas(WIDTH, 190)
        axes = plain_axes(figure)
        axes.bar(t - 0.17, [one.entered for one in shown], 0.3, color=ACCENT)
        axes.bar(t - 0.17, [-one.left for one in shown], 0.3, color=MUTED, alpha=0.6)
        axes.bar(t + 0.17, [one.flipped for one in shown], 0.3, color=SECOND)
        axes.axhline(0, color=MUTED, lw=0.8)
        _rounds_below(axes, shown)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{abs(y):,.0f}"))
        axes.yaxis.set_major_locator(MaxNLocator(6, integer=True))
        spoken = "; ".join(
            f"round {one.number}: {one.entered} entered, {one.left} left, {one.flipped} relabeled" for one in shown
        )
        return inline(figure, "moves", f"Images that entered, left and were relabeled per round. {spoken}")


def confidence_figure(
    name: str, confidence: FloatArray, selected: FloatArray, threshold: float | None, scale: Scale
) -> Markup:
    """Images per confidence on a logarithmic scale, with those taken and the threshold."""
    with matplotlib.rc_context(style()):
        figure = canvas(220, 118, bottom=18)
        axes = plain_axes(figure)
        for values, color, alpha in ((confidence, MUTED, 0.45), (selected, ACCENT, 1.0)):
            heights, edges = scale.histogram(values)
            centers, filled = (edges[1:] + edges[:-1]) / 2, heights > 0
            axes.vlines(centers[filled], FLOOR, heights[filled], color=color, alpha=alpha, lw=5.8)
        if threshold is not None:
            axes.axvline(float(scale.place(np.array(threshold))), color=INK, lw=1.1, ls=(0, (3, 2)))
        axes.set_yscale("log")
        axes.set_ylim(FLOOR, 1.6 * max(scale.tallest, 10))
        axes.set_xlim(-0.01 * scale.end, 1.01 * scale.end)
        axes.set_xticks(*scale.ticks())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:,.0f}"))
        axes.minorticks_off()
        label = f"{len(confidence)} images by confidence, {len(selected)} of them taken"
        return inline(figure, name, label + ("" if threshold is None else f", threshold {percent(threshold)}"))


def calibration_figure(before: Reliability, after: Reliability | None) -> Markup:
    """Stated confidence against the share that was right, with the number of labels behind each point."""
    with matplotlib.rc_context(style()):
        figure = canvas(WIDTH, 270, left=48)
        axes, below = figure.subplots(2, 1, sharex=True, height_ratios=[3.6, 1])
        axes.plot([0, 1], [0, 1], color=MUTED, lw=0.9, ls=(0, (2, 2)))
        _reliability(axes, before, MUTED, "o")
        if after is not None:
            _reliability(axes, after, ACCENT, "s")
        axes.set_xlim(-0.03, 1.03)
        axes.set_ylim(-0.03, 1.06)
        axes.set_ylabel("was right")
        _count_bars(below, before, after)
        for one in (axes.yaxis, below.xaxis):
            one.set_major_formatter(FuncFormatter(lambda x, _: f"{100 * x:.0f} %"))
        below.set_xlabel("said to be sure")
        below.set_ylabel("labels")
        below.yaxis.set_major_locator(MaxNLocator(2, integer=True))
        return inline(figure, "calibration-curve", _spoken(after or before))


def heat_figure(matrix: IntArray, name: str) -> Markup:
    """A confusion matrix of many classes, only the cells that hold something; mistakes in another color."""
    n = len(matrix)
    with matplotlib.rc_context(style()):
        figure = canvas(WIDTH, WIDTH, left=40)
        axes = plain_axes(figure)
        rows, columns = np.nonzero(matrix)
        share = matrix[rows, columns] / matrix.sum(axis=1)[rows]
        for wrong, color in ((False, ACCENT), (True, BAD)):
            for level in (0.25, 0.5, 0.75, 1.0):  # a few shades keep the drawing small
                some = ((rows != columns) == wrong) & (share > level - 0.25) & (share <= level)
                axes.scatter(
                    columns[some], rows[some], s=(250 / n) ** 2, marker="s", color=color, alpha=0.3 + 0.7 * level, lw=0
                )
        axes.set_xlim(-1, n)
        axes.set_ylim(n, -1)
        axes.set_aspect("equal")
        axes.set_xlabel("predicted class, by number")
        axes.set_ylabel("given class, by number")
        axes.grid(True, axis="both")
        wrong_rows = int(matrix.sum() - np.trace(matrix))
        return inline(figure, name, f"Confusion matrix of {n} classes, {wrong_rows} of {matrix.sum()} wrong")


def _rounds_below(axes: Axes, rounds: Sequence[RoundRecord]) -> None:
    numbers = [one.number for one in rounds]
    shown = numbers if len(numbers) <= 12 else numbers[:: -(-len(numbers) // 12)]
    axes.set_xticks(shown, [str(t) for t in shown])
    axes.set_xlim(min(numbers) - 0.6, max(numbers) + 0.6)
    axes.set_xlabel("round")


def _coarse(axes: Axes) -> bool:
    low, high = axes.get_ylim()
    return high - low > 0.06


def _reliability(axes: Axes, curve: Reliability, color: str, marker: str) -> None:
    axes.plot(curve.stated, curve.right, color=color, lw=1.4)
    sizes = 14 + 70 * curve.counts / curve.counts.max()
    axes.scatter(curve.stated, curve.right, s=sizes, color=color, marker=marker, edgecolor=PAPER, lw=0.8, zorder=3)


def _count_bars(axes: Axes, before: Reliability, after: Reliability | None) -> None:
    width = 0.035
    axes.bar(before.places - (width / 2 if after else 0), before.counts, width, color=MUTED)
    if after is not None:
        axes.bar(after.places + width / 2, after.counts, width, color=ACCENT)
    axes.spines["bottom"].set_color(LINE)


def _spoken(curve: Reliability) -> str:
    parts = (
        f"said {percent(stated)}, right {percent(right)} of {count}"
        for stated, right, count in zip(curve.stated, curve.right, curve.counts, strict=True)
    )
    return "Calibration on held-out labels: " + "; ".join(parts)
