"""The theory section and the tails of confidences, measured in real rounds on one thread.

Run: python benchmarks/theory_and_tails.py [--seeds 5] [--network-seeds 3] [--bootstrap 199] [--out docs/results]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression

from curriculum_labeling.curriculum import curriculum
from curriculum_labeling.data.toys import digits_images
from curriculum_labeling.estimators.learner import EstimatorLearner
from curriculum_labeling.experiments.tails_figure import draw_tails
from curriculum_labeling.experiments.theory import (
    Choice,
    ChoiceTerms,
    LogProbabilities,
    RoundTerms,
    Terms,
    compare_choices,
    measure_models,
    measure_rounds,
)
from curriculum_labeling.labels import FloatArray, IntArray, Labels, Learner, Round
from curriculum_labeling.vision.config import TrainingConfig
from curriculum_labeling.vision.learner import ImageLearner
from curriculum_labeling.vision.recipe import Recipe
from curriculum_labeling.vision.schedule import Budget
from sets import load, split
from tails_page import RoundTails, measure_tails, tails_page
from theory_page import theory_page


@dataclass(frozen=True)
class Course:
    """One set, one way to learn, one seed: everything the rounds need."""

    learner: Learner
    labeled: Labels
    unlabeled: IntArray
    test: IntArray
    truth: IntArray
    log_probabilities: LogProbabilities


@dataclass(frozen=True)
class Measured:
    """What one course showed."""

    paper: list[RoundTerms]
    normalized: list[RoundTerms]
    models: list[Terms]
    choices: dict[Choice, ChoiceTerms]
    accuracy: list[float]
    pseudo_accuracy: list[float]
    choice_accuracy: dict[Choice, float]
    rows: tuple[int, int, int]


def table_logs(model: Any, rows: IntArray) -> FloatArray:
    """Log-probabilities of a classifier of scikit-learn's."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(model.probabilities(model.X[rows])))


def image_logs(model: Any, rows: IntArray) -> FloatArray:
    """Log-probabilities of a network, in double precision."""
    return torch.from_numpy(model.logits(model.images.pixels[rows])).double().log_softmax(dim=1).numpy()


def digits_network(seed: int) -> Course:
    """Digits with 5 labels a class and the compact network."""
    images = digits_images()
    labeled, unlabeled, test = split(images.labels, seed, per_class=5)
    shifts = Recipe(flip=False, border="reflect")
    config = TrainingConfig(network="compact", budget=Budget(steps=80), batch_size=48, augmentation=shifts)
    learner = ImageLearner(images, config, device="cpu", preprocess_rows=unlabeled)
    labels = Labels.of(labeled, images.labels[labeled])
    return Course(learner, labels, unlabeled, test, images.labels, image_logs)


def table_course(name: str, per_class: int, penalty: float, seed: int) -> Course:
    """A standardized table and logistic regression."""
    X, y = load(name)
    labeled, unlabeled, test = split(y, seed, per_class=per_class, unlabeled=5000)
    learner = EstimatorLearner(LogisticRegression(C=penalty, max_iter=500), X, np.unique(y))
    return Course(learner, Labels.of(labeled, y[labeled]), unlabeled, test, y, table_logs)


COURSES: dict[str, tuple[Callable[[int], Course], str]] = {
    "digits, compact network": (digits_network, "5 labels a class, 80 steps of 48 images a round"),
    "digits, logistic regression": (lambda seed: table_course("digits", 5, 1.0, seed), "5 labels a class, C = 1"),
    "CIFAR-10, logistic regression": (
        lambda seed: table_course("CIFAR-10, PCA", 40, 0.1, seed),
        "The first 10,000 images reduced to 60 principal components, 40 labels a class, C = 0.1",
    ),
}


def accuracy(course: Course, model: Any) -> float:
    """Share of the test rows that a model gets right."""
    return float((model.score(course.test).classes == course.truth[course.test]).mean())


def measure_course(course: Course, rounds: list[Round], seed: int) -> Measured:
    """Everything the theory page shows of one course."""
    logs = course.log_probabilities
    choices = compare_choices(course.learner, course.labeled, course.unlabeled, logs, seed=seed)
    labels = [one.labels for one in rounds[1:]]
    return Measured(
        paper=measure_rounds(rounds, logs, kind="paper"),
        normalized=measure_rounds(rounds, logs, truth=course.truth),
        models=measure_models(rounds, logs),
        choices=choices,
        accuracy=[accuracy(course, one.model) for one in rounds],
        pseudo_accuracy=[float((one.pseudo_classes == course.truth[one.pseudo_rows]).mean()) for one in labels],
        choice_accuracy={choice: accuracy(course, one.model) for choice, one in choices.items()},
        rows=(len(course.labeled), len(course.unlabeled), len(course.test)),
    )


def main() -> None:
    """Run all courses, then write both pages and their figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--network-seeds", type=int, default=3, help="of the compact network, which takes longest")
    parser.add_argument("--bootstrap", type=int, default=199)
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    measured: dict[str, list[Measured]] = {}
    tails: dict[str, list[RoundTails]] = {}
    start = time.monotonic()
    for name, (make, _) in COURSES.items():
        measured[name] = []
        for seed in range(options.network_seeds if "network" in name else options.seeds):
            course = make(seed)
            rounds = list(curriculum(course.learner, course.labeled, course.unlabeled, seed=seed))
            measured[name].append(measure_course(course, rounds, seed))
            if seed == 0:
                tails[name] = measure_tails(rounds, bootstrap=options.bootstrap)
                scores = {score: [one.tails[score] for one in tails[name]] for score in tails[name][0].tails}
                titles = [f"round {one.number}" for one in tails[name]]
                draw_tails(scores, options.out / f"tails_{name.replace(', ', '_').replace(' ', '_')}", titles=titles)
            print(f"{name}, seed {seed}: {time.monotonic() - start:.0f} s", flush=True)
    described = {name: text for name, (_, text) in COURSES.items()}
    (options.out / "theory.md").write_text(theory_page(measured, described), encoding="utf-8")
    (options.out / "tails.md").write_text(tails_page(tails, described, options.bootstrap), encoding="utf-8")


if __name__ == "__main__":
    main()
