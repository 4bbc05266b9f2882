"""Does it help, and does it ever harm? Few labels, many sets, several classifiers, every method side by side.

Run: python benchmarks/help_not_harm.py [--seeds 5] [--per-class 10] [--out docs/results/help_not_harm]
"""

from __future__ import annotations

import argparse
import csv
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.semi_supervised import SelfTrainingClassifier

from curriculum_labeling import CurriculumLabelingClassifier
from sets import SETS, load, split

CLASSIFIERS = {
    "logistic regression": LogisticRegression(max_iter=500),
    "random forest": RandomForestClassifier(100, random_state=0),
    "naive Bayes": GaussianNB(var_smoothing=1e-3),
    "5 neighbors": KNeighborsClassifier(5, weights="distance"),
}
METHODS = {
    "SelfTrainingClassifier": SelfTrainingClassifier,
    "paper": CurriculumLabelingClassifier.paper,
    "default": CurriculumLabelingClassifier,
}


def cell(name: str, classifier: str, seed: int, per_class: int) -> list[dict[str, Any]]:
    """Test accuracy of labels only and of every method, on one set, with one classifier and seed."""
    warnings.filterwarnings("ignore")
    X, y = load(name)
    labeled, unlabeled, test = split(y, seed, per_class=per_class)
    rows = np.concatenate([labeled, unlabeled])
    given = np.concatenate([y[labeled], np.full(len(unlabeled), -1)])
    models = {"labels only": clone(CLASSIFIERS[classifier]).fit(X[labeled], y[labeled])}
    for method, make in METHODS.items():
        models[method] = make(clone(CLASSIFIERS[classifier])).fit(X[rows], given)
    common = {"set": name, "classifier": classifier, "seed": seed}
    return [{**common, "method": m, "accuracy": float(model.score(X[test], y[test]))} for m, model in models.items()]


def gains(results: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    """Per set and classifier: labels-only accuracy and each method's gain over it, in points, by seed."""
    cells: dict[tuple[str, str], dict[str, Any]] = {}
    for r in results:
        cells.setdefault((r["set"], r["classifier"]), {}).setdefault(r["method"], []).append(100 * r["accuracy"])
    for accuracies in cells.values():
        labels_only = np.array(accuracies["labels only"])
        for method in METHODS:
            accuracies[method] = np.array(accuracies[method]) - labels_only
        accuracies["labels only"] = labels_only
    return cells


def summarize(cells: dict[tuple[str, str], dict[str, Any]]) -> list[str]:
    """The three targets, in numbers, for every method."""
    lines = ["| method | mean gain | worst set | worst cell | above SelfTraining | mean gain where any method gains |"]
    lines += ["|---|---|---|---|---|---|"]
    names = sorted({name for name, _ in cells})
    some = [c for c in cells.values() if max(c[m].mean() for m in METHODS) > 0]
    for method in METHODS:
        by_cell = {key: c[method].mean() for key, c in cells.items()}
        by_set = {n: np.mean([g for (s, _), g in by_cell.items() if s == n]) for n in names}
        worst_set, worst_cell = min(by_set, key=lambda n: by_set[n]), min(by_cell, key=lambda k: by_cell[k])
        above = np.mean([c[method].mean() > c["SelfTrainingClassifier"].mean() for c in cells.values()])
        lines.append(
            f"| {method} | {np.mean(list(by_cell.values())):+.2f} | {by_set[worst_set]:+.2f} ({worst_set}) |"
            f" {by_cell[worst_cell]:+.2f} ({', '.join(worst_cell)}) | {100 * above:.0f} % |"
            f" {np.mean([c[method].mean() for c in some]):+.2f} |"
        )
    return lines


def table(cells: dict[tuple[str, str], dict[str, Any]]) -> list[str]:
    """One row per set and classifier: mean ± standard deviation over seeds."""
    lines = [f"| set | classifier | labels only | {' | '.join(METHODS)} |", "|---" * (3 + len(METHODS)) + "|"]
    for (name, classifier), c in cells.items():
        numbers = [f"{c['labels only'].mean():.1f} ± {c['labels only'].std(ddof=1):.1f}"]
        numbers += [f"{c[m].mean():+.1f} ± {c[m].std(ddof=1):.1f}" for m in METHODS]
        lines.append(f"| {name} | {classifier} | {' | '.join(numbers)} |")
    return lines


def main() -> None:
    """Run all cells, write the CSV and the Markdown beside it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--per-class", type=int, default=10)
    parser.add_argument("--out", type=Path, default=Path("docs/results/help_not_harm"))
    options = parser.parse_args()
    jobs = [(s, c, k, options.per_class) for s in SETS for c in CLASSIFIERS for k in range(options.seeds)]
    parts = Parallel(n_jobs=2, verbose=1)(delayed(cell)(*job) for job in jobs)
    results = [row for part in parts for row in part]
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with options.out.with_suffix(".csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(results[0]))
        writer.writeheader()
        writer.writerows(results)
    cells = gains(results)
    text = [
        "# Does it help, and does it ever harm?",
        "",
        f"{options.per_class} labels per class, up to 3,000 unlabeled rows, test rows held out; accuracy in percent for"
        f" labels only, gain over it in points for each method; mean ± standard deviation over {options.seeds} seeds.",
        f"Made by `python benchmarks/help_not_harm.py --seeds {options.seeds} --per-class {options.per_class}`.",
        "",
        *summarize(cells),
        "",
        *table(cells),
        "",
    ]
    options.out.with_suffix(".md").write_text("\n".join(text))
    print("\n".join(text))


if __name__ == "__main__":
    main()
