"""Figure 4: pseudo-labeling against curriculum labeling on two moons, decision boundaries per round.

Both learn with the same classifier, from scratch in every round. Pseudo-labeling takes all rows at
once and confirms its first guess; the curriculum takes the most confident rows first.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from curriculum_labeling.curriculum import curriculum
from curriculum_labeling.estimators.learner import EstimatorLearner
from curriculum_labeling.labels import FloatArray, IntArray, Labels, Round
from curriculum_labeling.pacing import Pacing, PercentilePacing, ThresholdPacing

PACINGS: dict[str, Pacing] = {
    "pseudo-labeling": ThresholdPacing(0.0, rounds=5),
    "curriculum labeling": PercentilePacing.by(20),
}
GAMMA = 12.0
PENALTY = 300.0


@dataclass(frozen=True)
class TwoMoons:
    """Rows of shape (n, 2), their true classes, and which of them are labeled."""

    X: FloatArray
    truth: IntArray
    labeled: IntArray

    @property
    def unlabeled(self) -> IntArray:
        """Row numbers without a label."""
        return np.setdiff1d(np.arange(len(self.X)), self.labeled)


def draw_moons(seed: int, *, rows: int = 600, noise: float = 0.1, labels_per_class: int = 4) -> TwoMoons:
    """Two moons with a few labels on each."""
    X, truth = make_moons(rows, noise=noise, random_state=seed)
    rng = np.random.RandomState(seed)
    labeled = np.concatenate([rng.permutation(np.flatnonzero(truth == c))[:labels_per_class] for c in (0, 1)])
    return TwoMoons(X, truth, labeled)


def run_moons(moons: TwoMoons, method: str, *, seed: int = 0) -> list[Round]:
    """All rounds of one method: a smooth kernel classifier, fitted from scratch each time."""
    bumps = FunctionTransformer(rbf_kernel, kw_args={"Y": grid(15, 10), "gamma": GAMMA})
    smooth = make_pipeline(bumps, LogisticRegression(C=PENALTY, max_iter=1000))
    learner = EstimatorLearner(smooth, moons.X, np.array([0, 1]))
    labels = Labels.of(moons.labeled, moons.truth[moons.labeled])
    return list(curriculum(learner, labels, moons.unlabeled, pacing=PACINGS[method], seed=seed))


def method_of(pacing: Pacing) -> str:
    """The method that paces like this."""
    return next(method for method, known in PACINGS.items() if known == pacing)


def grid(columns: int, rows: int) -> FloatArray:
    """Points of shape (columns x rows, 2) spread evenly over the picture."""
    x, y = np.meshgrid(np.linspace(-1.6, 2.6, columns), np.linspace(-1.1, 1.6, rows))
    return np.column_stack([x.ravel(), y.ravel()])


def accuracy(moons: TwoMoons, round_: Round) -> float:
    """Share of the unlabeled rows that the round's model gets right."""
    rows = moons.unlabeled
    return float((round_.model.score(rows).classes == moons.truth[rows]).mean())


def draw_figure(moons: TwoMoons, rounds: dict[str, list[Round]], folder: Path, name: str = "two_moons") -> list[Path]:
    """A row of panels per method, a panel per round; saved as PNG and SVG."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    columns = max(len(r) for r in rounds.values())
    figure, axes = plt.subplots(len(rounds), columns, figsize=(2.3 * columns, 2.4 * len(rounds)), squeeze=False)
    for row, (method, its_rounds) in zip(axes, rounds.items(), strict=True):
        for axis, round_ in zip(row, its_rounds, strict=True):
            _draw_panel(axis, moons, round_)
        row[0].set_ylabel(method, fontsize=11)
    figure.tight_layout()
    paths = [folder / f"{name}.{kind}" for kind in ("png", "svg")]
    for path in paths:
        figure.savefig(path, dpi=130)
    plt.close(figure)
    return paths


def _draw_panel(axis: Any, moons: TwoMoons, round_: Round) -> None:
    """The boundary of one model over the rows it was trained on: blue and orange; gray is unlabeled."""
    colors = np.array(["#2266aa", "#dd7722"])
    points = grid(160, 120)
    x, y = points[:, 0].reshape(120, 160), points[:, 1].reshape(120, 160)
    p = round_.model.probabilities(points)[:, 1].reshape(120, 160)  # type: ignore[attr-defined]
    axis.contourf(x, y, p, levels=np.linspace(0, 1, 11), cmap="PuOr_r", alpha=0.35)
    axis.contour(x, y, p, levels=[0.5], colors="black", linewidths=1)
    axis.scatter(*moons.X.T, s=3, color="#aaaaaa", linewidths=0)
    pseudo = round_.labels.pseudo_rows
    axis.scatter(*moons.X[pseudo].T, s=5, c=colors[round_.labels.pseudo_classes], linewidths=0)
    axis.scatter(*moons.X[moons.labeled].T, s=45, c=colors[moons.truth[moons.labeled]], edgecolors="black", marker="o")
    title = "labels only" if round_.number == 0 else f"round {round_.number}: {round_.selected} rows"
    axis.set_title(f"{title}\n{100 * accuracy(moons, round_):.1f} % right", fontsize=9)
    axis.set_xticks([])
    axis.set_yticks([])
