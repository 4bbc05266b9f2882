"""Wall time against SelfTrainingClassifier with the same estimator, and what we add to the estimator's own work.

Run: python benchmarks/speed.py [--repeats 3] [--out docs/results/speed.md]
Both methods run in turn in one process; the ratio is that of the fastest of the repeats. Only cells
in which SelfTrainingClassifier runs three rounds or more are compared.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.semi_supervised import SelfTrainingClassifier

from curriculum_labeling import CurriculumLabelingClassifier
from help_not_harm import CLASSIFIERS
from sets import clusters, load, split

NAMES = ["digits", "digits, noisy", "clusters", "blobs", "imbalanced"]
LARGE = "clusters, 40,000 rows"
# A forest or neighbors on the large set take minutes and say nothing new.
LARGE_CLASSIFIERS = ("logistic regression", "naive Bayes")


class Stopwatch:
    """Adds up the seconds spent within an estimator's own methods."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def watch(self, estimator: Any) -> Any:
        """A subclass of the estimator's class whose fits and predictions are timed."""
        kind, watch = type(estimator), self

        def timed(method: str) -> Callable[..., Any]:
            original = getattr(kind, method)

            def call(self: Any, *args: Any, **options: Any) -> Any:
                start = time.perf_counter()
                try:
                    return original(self, *args, **options)
                finally:
                    watch.seconds += time.perf_counter() - start

            call.__wrapped__ = original  # type: ignore[attr-defined]
            return call

        watched = type(kind.__name__, (kind,), {name: timed(name) for name in ("fit", "predict_proba")})
        return watched(**estimator.get_params())


def best_time(make: Callable[[Any], Any], estimator: Any, X: Any, y: Any, repeats: int) -> tuple[float, float, Any]:
    """Seconds of the fastest fit, the share of it outside the estimator's own methods, and the model."""
    best = (np.inf, 0.0, None)
    for _ in range(repeats):
        stopwatch = Stopwatch()
        model = make(stopwatch.watch(clone(estimator)))
        start = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - start
        if seconds < best[0]:
            best = (seconds, 1 - stopwatch.seconds / seconds, model)
    return best


def main() -> None:
    """Compare all cells, write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("docs/results/speed.md"))
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    lines = [
        "# Speed against SelfTrainingClassifier",
        "",
        f"Seconds to fit, the fastest of {options.repeats}, two CPU cores. Made by `python benchmarks/speed.py`.",
        "Overhead is the share of our time outside the estimator's own fit and predict calls.",
        "",
        "| set | classifier | SelfTraining rounds | SelfTraining | ours | ratio | without validation | overhead |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in [*NAMES, LARGE]:
        X, y = clusters(42_000) if name == LARGE else load(name)
        labeled, unlabeled, _ = split(y, 0, per_class=10, unlabeled=40_000 if name == LARGE else 3000)
        rows = np.concatenate([labeled, unlabeled])
        given = np.concatenate([y[labeled], np.full(len(unlabeled), -1)])
        for title, estimator in CLASSIFIERS.items():
            if name == LARGE and title not in LARGE_CLASSIFIERS:
                continue
            theirs, _, model = best_time(SelfTrainingClassifier, estimator, X[rows], given, options.repeats)
            if model.n_iter_ < 3:
                continue
            ours, overhead, _ = best_time(CurriculumLabelingClassifier, estimator, X[rows], given, options.repeats)

            def bare(e: Any) -> Any:
                return CurriculumLabelingClassifier(e, validation=None)

            alone, _, _ = best_time(bare, estimator, X[rows], given, options.repeats)
            lines.append(
                f"| {name} | {title} | {model.n_iter_} | {theirs:.3f} | {ours:.3f} | {ours / theirs:.2f} |"
                f" {alone:.3f} | {100 * overhead:.1f} % |"
            )
            print(lines[-1], flush=True)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text("\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
