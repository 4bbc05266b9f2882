"""Survival functions of tails with the laws fitted to them, a panel per score and round, as PNG and SVG.

The axes are those on which the law in question is a straight line: both logarithmic for Pareto,
only the vertical one for the exponential law.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from curriculum_labeling.experiments.tails import Tail, TailFit
from curriculum_labeling.labels import FloatArray

INK, MUTED, LINE = "#1c2024", "#646b73", "#e3e4e1"
COLORS = {
    "Pareto": "#c02b2b",
    "generalized Pareto": "#2f58c9",
    "exponential": "#b3620e",
    "lognormal": "#23793a",
    "beta": "#7d4bb0",
}
DASHES = {
    "Pareto": "-",
    "generalized Pareto": "-",
    "exponential": (0, (5, 2)),
    "lognormal": (0, (1, 1.2)),
    "beta": (0, (4, 1, 1, 1)),
}
STYLE: dict[Any, Any] = {
    "font.size": 8.5,
    "axes.edgecolor": LINE,
    "axes.labelcolor": MUTED,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "axes.titlesize": 8,
    "grid.color": LINE,
    "grid.linewidth": 0.6,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "svg.hashsalt": "tails",
}
STEPS, POINTS = 80, 150


def draw_tails(tails: Mapping[str, Sequence[Tail]], path: Path, *, titles: Sequence[str] = ()) -> list[Path]:
    """A row of panels per score, a column per round; saved as `path`.png and `path`.svg."""
    import matplotlib
    from matplotlib.figure import Figure

    columns = max(len(found) for found in tails.values())
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(1.95 * columns + 0.6, 1.95 * len(tails) + 0.5))
        axes = figure.subplots(len(tails), columns, squeeze=False)
        for row, (score, found) in zip(axes, tails.items(), strict=True):
            for axis, tail in zip(row, found, strict=False):
                _draw_panel(axis, tail, score)
            row[0].set_ylabel("share of the tail above")
        for axis, title in zip(axes[0], titles, strict=False):
            axis.set_title(f"{title}\n{axis.get_title()}")
        lines = {line.get_label(): line for line in axes[0][0].get_lines()}
        figure.legend(lines.values(), lines.keys(), loc="upper center", ncols=len(lines), frameon=False)
        figure.tight_layout(rect=(0, 0, 1, 1 - 0.3 / figure.get_figheight()))
        paths = [path.with_name(f"{path.name}.{kind}") for kind in ("png", "svg")]
        figure.savefig(paths[0], dpi=130)
        figure.savefig(paths[1], metadata={"Date": None})
    return paths


def _draw_panel(axis: Any, tail: Tail, score: str) -> None:
    """The rows as points, every law as a line, and the p-value of the best law by AIC."""
    n = len(tail.excesses)
    x = np.sort(tail.excesses)
    above = 1 - (np.arange(n) + 0.5) / n
    # Every row of the far end, and ever fewer before it: a drawing of thousands of points is slow and no clearer.
    shown = n - np.unique(np.geomspace(1, n, POINTS).astype(int))
    axis.plot(tail.threshold + x[shown], above[shown], ".", color=MUTED, ms=3, label="rows", zorder=3)
    points = _points(x)
    for fit in tail.fits:
        survival = fit.distribution.sf(points)
        seen = survival > 0.2 / n
        axis.plot(
            tail.threshold + points[seen],
            survival[seen],
            color=COLORS[fit.law],
            ls=DASHES[fit.law],
            lw=1.2,
            label=fit.law,
        )
    axis.set_yscale("log")
    axis.set_ylim(0.3 / n, 1.5)
    if score.startswith("1/"):
        axis.set_xscale("log")
        axis.set_xlim(tail.threshold, (tail.threshold + x[-1]) * 1.5)
    else:
        axis.set_xlim(tail.threshold, tail.threshold + x[-1] * 1.05)
        axis.locator_params(axis="x", nbins=3)
        axis.ticklabel_format(axis="x", useOffset=False)
    axis.set_xlabel(score)
    axis.set_title(_verdict(tail.best))
    axis.minorticks_off()


def _points(x: FloatArray) -> FloatArray:
    """Fine steps near the threshold and far out alike."""
    return np.unique(np.concatenate([np.linspace(0, 1.3 * x[-1], STEPS), np.geomspace(x[0], 1.3 * x[-1], STEPS)]))


def _verdict(fit: TailFit) -> str:
    return f"{fit.law}, p = {fit.p_value:.2g}" if np.isfinite(fit.p_value) else fit.law
