"""Courses of a run: the curriculum once per fold, to measure it, and once on all labels, to deliver it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from curriculum_labeling.curriculum import curriculum
from curriculum_labeling.data.folds import holdout, split_folds
from curriculum_labeling.labels import FloatArray, IntArray, Labels, Round
from curriculum_labeling.pacing import PercentilePacing
from curriculum_labeling.runs.budgets import FOLD_WEIGHT
from curriculum_labeling.runs.choices import Choices
from curriculum_labeling.runs.clock import ROUND, Work
from curriculum_labeling.runs.kept import KeepingLearner
from curriculum_labeling.runs.ways import Way

MAIN = "main"
TURNS = "which way up"


@dataclass(frozen=True)
class Course:
    """The labels one curriculum trains on, and those it is measured on."""

    name: str
    labels: Labels
    held_out: IntArray
    held_out_classes: IntArray

    @property
    def main(self) -> bool:
        """Whether this course's models are the run's."""
        return self.name == MAIN


@dataclass(frozen=True)
class HeldOut:
    """What each round's model said of labels it had not seen: rows, classes, and logits (rounds, n, C)."""

    rows: IntArray
    classes: IntArray
    logits: FloatArray
    how: str

    @property
    def correct(self) -> FloatArray:
        """Right or wrong, (rounds, n)."""
        right: FloatArray = self.logits.argmax(axis=2) == self.classes
        return right


def plan_courses(labels: Labels, groups: IntArray, choices: Choices, seed: int) -> list[Course]:
    """Folds first, then the course on all labels; duplicates of one image stay on one side."""
    nothing = np.array([], dtype=np.int64)
    if choices.holdout:
        held = holdout(labels.classes, groups[labels.rows], choices.holdout, seed=seed)
        kept = Labels.of(labels.rows[~held], labels.classes[~held])
        return [Course(MAIN, kept, labels.rows[held], labels.classes[held])]
    courses = []
    if choices.folds:
        fold = split_folds(labels.classes, groups[labels.rows], choices.folds, seed=seed)
        for number in range(int(fold.max()) + 1):
            held = fold == number
            kept = Labels.of(labels.rows[~held], labels.classes[~held])
            courses.append(Course(f"fold-{number + 1}", kept, labels.rows[held], labels.classes[held]))
    return [*courses, Course(MAIN, labels, nothing, nothing)]


def work_of(courses: list[Course], turns: float, weights: tuple[float, ...], scored: int) -> list[Work]:
    """All trainings, in order; so many images are scored after each of a course, but for the last of a fold."""
    before = [Work(TURNS, turns, 0)] if turns else []
    return before + [
        Work(
            f"{course.name}{ROUND}{t}",
            weight if course.main else weight * FOLD_WEIGHT,
            scored if course.main or t + 1 < len(weights) else 0,
        )
        for course in courses
        for t, weight in enumerate(weights)
    ]


def run_course(
    way: Way, course: Course, unlabeled: IntArray, pacing: PercentilePacing, *, classes: int, seed: int, folder: Path
) -> Iterator[tuple[Round, FloatArray]]:
    """Every round of a course with its logits of the held-out rows; scores of each round are kept in the folder.

    What the last round of a fold says of the unlabeled rows, nobody asks.
    """
    learner = KeepingLearner(way.learner, unlabeled, folder)
    for found in curriculum(learner, course.labels, unlabeled, pacing=pacing, classes=classes, seed=seed):
        assert hasattr(found.model, "model")
        if course.main or found.number < pacing.rounds:
            found.model.score(unlabeled)
        yield found, way.logits(found.model.model, course.held_out)


def gather_held_out(courses: list[Course], logits: dict[str, list[FloatArray]], choices: Choices) -> HeldOut | None:
    """The held-out rows of all courses together; None where nothing was held out."""
    used = [course for course in courses if len(course.held_out)]
    if not used:
        return None
    how = f"{100 * choices.holdout:.0f} % of the labels held out" if choices.holdout else f"{len(used)} folds"
    return HeldOut(
        np.concatenate([course.held_out for course in used]),
        np.concatenate([course.held_out_classes for course in used]),
        np.concatenate([np.stack(logits[course.name]) for course in used], axis=1),
        how,
    )
