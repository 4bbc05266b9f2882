"""The demo: two moons as in the paper's Figure 4, and digits with 50 labels. A minute on a laptop.

Run: python -m curriculum_labeling.demo [--out demo-output]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from curriculum_labeling.classifier import CurriculumLabelingClassifier
from curriculum_labeling.experiments.two_moons import PACINGS, accuracy, draw_figure, draw_moons, run_moons

MOON_SEEDS = 8
DIGIT_SEEDS = 4
FIGURE_SEED = 6  # its gain is nearest to the mean of the drawings


def moons_table(step: Callable[[], None]) -> dict[str, list[float]]:
    """Mean accuracy per round of both methods over several drawings of the moons, in percent."""
    means = {}
    for method in PACINGS:
        runs = []
        for seed in range(MOON_SEEDS):
            moons = draw_moons(seed)
            runs.append([accuracy(moons, round_) for round_ in run_moons(moons, method, seed=seed)])
            step()
        means[method] = [100 * float(a) for a in np.mean(runs, axis=0)]
    return means


def digits_table(step: Callable[[], None]) -> dict[str, list[tuple[float, float]]]:
    """Test accuracy, mean and standard deviation, of labels only, each round and what is delivered."""
    X, y = load_digits(return_X_y=True)
    table = {}
    classifiers = {"logistic regression": LogisticRegression(max_iter=1000), "random forest": RandomForestClassifier()}
    for name, estimator in classifiers.items():
        runs = []
        for seed in range(DIGIT_SEEDS):
            runs.append(_digits_run(X / 16, y, estimator, seed))
            step()
        table[name] = [(100 * float(m), 100 * float(s)) for m, s in zip(np.mean(runs, 0), np.std(runs, 0), strict=True)]
    return table


def _digits_run(X: Any, y: Any, estimator: Any, seed: int) -> list[float]:
    """Five labels a digit, 500 rows held out, the rest unlabeled."""
    rows = np.random.RandomState(seed).permutation(len(X))
    test, train = rows[:500], rows[500:]
    kept = np.concatenate([train[y[train] == c][:5] for c in range(10)])
    hidden = np.where(np.isin(train, kept), y[train], -1)
    model = CurriculumLabelingClassifier(estimator, random_state=seed, validation=None).fit(X[train], hidden)
    each = [e.score(X[test], y[test]) for e in model.estimators_]
    return [*each, model.score(X[test], y[test])]


def _table(first: str, rounds: int, *last: str) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column(first, no_wrap=True)
    for title in ("labels only", *[f"round {t}" for t in range(1, rounds + 1)], *last):
        table.add_column(title, justify="right", no_wrap=True)
    return table


def main() -> int:
    """Run both, print the tables, save the figure."""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
    except ImportError:
        print("The demo needs matplotlib and rich: pip install 'curriculum-labeling[demo]'.", file=sys.stderr)
        return 2
    parser = argparse.ArgumentParser(prog="python -m curriculum_labeling.demo", description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("demo-output"), help="folder for the figures")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    console = Console()
    with Progress(TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn(), console=console) as progress:
        task = progress.add_task("two moons", total=len(PACINGS) * MOON_SEEDS + 2 * DIGIT_SEEDS)
        moons = moons_table(lambda: progress.advance(task))
        progress.update(task, description="digits, 50 labels")
        digits = digits_table(lambda: progress.advance(task))
        progress.update(task, description="figure")
        chosen = draw_moons(FIGURE_SEED)
        paths = draw_figure(chosen, {m: run_moons(chosen, m) for m in PACINGS}, out)
    first = _table("method", 5)
    for method, numbers in moons.items():
        first.add_row(method, *[f"{a:.1f}" for a in numbers])
    rounds = len(next(iter(digits.values()))) - 2
    second = _table("classifier", rounds, "delivered")
    for name, pairs in digits.items():
        second.add_row(name, *[f"{mean:.1f}±{std:.1f}" for mean, std in pairs])
    console.print(f"Two moons, 8 labels: accuracy in percent on the unlabeled rows, mean of {MOON_SEEDS} drawings.")
    console.print(first)
    console.print(f"Digits, 50 labels: accuracy in percent on 500 held-out ones, mean ± std of {DIGIT_SEEDS} splits.")
    console.print(second)
    console.print(
        "Delivered is the average of labels only and the rounds: safer than the last round, at times below it."
    )
    console.print("Decision boundaries per round: " + " and ".join(str(path) for path in paths), soft_wrap=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
