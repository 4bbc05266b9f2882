"""Which images the report shows: a bounded number per class, and the odd ones."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from curriculum_labeling.labels import FloatArray, IntArray
from curriculum_labeling.report.ledger import NEVER, Ledger, Suggestion
from curriculum_labeling.report.read import Run

FOREIGN = 0.99  # the score from which the data check flags an image
BUDGET = 360
MOST_PER_STRIP = 8
ODD = 12
SAMPLE = 40
SUGGESTED = 24
KINDS = ("most confident", "least confident", "predicted as another class before")


@dataclass(frozen=True)
class Shot:
    """One image with all the report says of it; `right` is None where its class is not known."""

    row: int
    path: str
    label: str
    class_number: int
    confidence: float
    probability: float
    runner_up: str
    first_round: int
    history: tuple[str, ...]
    truth: str | None
    right: bool | None
    foreign: float

    @property
    def sure(self) -> float:
        """What to believe: the calibrated probability, or the confidence where there is none."""
        return self.confidence if math.isnan(self.probability) else self.probability

    @property
    def accepted(self) -> bool:
        """Whether a round ever took it."""
        return self.first_round != NEVER


@dataclass(frozen=True)
class Strip:
    """Images of one class chosen by one rule."""

    kind: str
    shots: tuple[Shot, ...]


@dataclass(frozen=True)
class ClassGallery:
    """The strips of one class, and how many images carry its label."""

    number: int
    name: str
    images: int
    accepted: int
    strips: tuple[Strip, ...]


@dataclass(frozen=True)
class Twins:
    """An unlabeled image and the earlier one it repeats; `row` is None where that one is not of this run."""

    shot: Shot
    path: str
    row: int | None
    labeled: bool


def class_galleries(run: Run, ledger: Ledger) -> tuple[ClassGallery, ...]:
    """The most and least confident images of every class, and those that changed their class from round to round."""
    each = max(1, min(MOST_PER_STRIP, BUDGET // (3 * len(run.classes))))
    order = np.lexsort((-_sure(ledger), ledger.labels))  # once: a pass per class would be classes × images
    by_class = np.split(order, np.cumsum(np.bincount(ledger.labels, minlength=len(run.classes)))[:-1])
    return tuple(
        ClassGallery(
            number=c,
            name=run.classes[c],
            images=len(lines),
            accepted=int((ledger.first_round[lines] != NEVER).sum()),
            strips=_strips(run, ledger, lines, each),
        )
        for c, lines in enumerate(by_class)
    )


def _sure(ledger: Ledger) -> FloatArray:
    """What to believe of every line, as a shot shows it."""
    return np.where(np.isnan(ledger.probability), ledger.confidence, ledger.probability)


def _strips(run: Run, ledger: Ledger, lines: IntArray, each: int) -> tuple[Strip, ...]:
    """The three strips of a class from its lines, most confident first; a small class shows no image twice."""
    most, rest = lines[:each], lines[each:]
    changed = rest[ledger.flips[rest] > 0]
    changed = changed[np.argsort(-ledger.flips[changed], kind="stable")][:each]
    least = rest[~np.isin(rest, changed)]
    least = least[::-1][:each]
    chosen = zip(KINDS, (most, least, changed), strict=True)
    return tuple(Strip(kind, tuple(shot_of(run, ledger, int(line)) for line in some)) for kind, some in chosen)


def foreign_shots(run: Run, ledger: Ledger) -> tuple[int, tuple[Shot, ...]]:
    """How many images look foreign, and the most foreign ones."""
    flagged = np.flatnonzero(np.nan_to_num(ledger.foreign, nan=-1.0) >= FOREIGN)
    first = flagged[np.argsort(-ledger.foreign[flagged], kind="stable")][:ODD]
    return len(flagged), tuple(shot_of(run, ledger, int(line)) for line in first)


def twins(run: Run, ledger: Ledger) -> tuple[int, tuple[Twins, ...]]:
    """How many images repeat another, and the first of them, those of labeled images before the others."""
    repeats = [line for line, other in enumerate(ledger.duplicate_of) if other]
    wanted = {ledger.duplicate_of[line] for line in repeats}
    place = {path: row for row, path in enumerate(run.rows.paths) if path in wanted}
    labeled = set(run.rows.labeled.tolist())
    found = [(line, place.get(ledger.duplicate_of[line])) for line in repeats]
    found.sort(key=lambda pair: pair[1] not in labeled)
    return len(repeats), tuple(
        Twins(shot_of(run, ledger, line), ledger.duplicate_of[line], row, row in labeled) for line, row in found[:ODD]
    )


def sample_shots(run: Run, ledger: Ledger) -> tuple[Shot, ...]:
    """Lines spread evenly over the ranks of confidence, most confident first."""
    order = np.argsort(-_sure(ledger), kind="stable")
    places = np.unique(np.linspace(0, len(order) - 1, min(SAMPLE, len(order))).astype(np.int64))
    return tuple(shot_of(run, ledger, int(line)) for line in order[places])


def shot_of(run: Run, ledger: Ledger, line: int) -> Shot:
    """What is known of one line of the ledger."""
    row, label = int(ledger.rows[line]), int(ledger.labels[line])
    true = -1 if run.rows.truth is None else int(run.rows.truth[row])
    return Shot(
        row=row,
        path=run.rows.paths[row],
        label=run.classes[label],
        class_number=label,
        confidence=float(ledger.confidence[line]),
        probability=float(ledger.probability[line]),
        runner_up=ledger.runner_up[line],
        first_round=int(ledger.first_round[line]),
        history=_history(run, int(ledger.order[line])),
        truth=None if true < 0 else run.classes[true],
        right=None if true < 0 else true == label,
        foreign=float(ledger.foreign[line]),
    )


def _history(run: Run, place: int) -> tuple[str, ...]:
    """The pseudo-labels an image was trained on, round after round, each change once."""
    names: list[str] = []
    for one in run.rounds:
        number = -1 if one.scores is None else int(one.scores.selected_classes[place])
        if number >= 0 and names[-1:] != [run.classes[number]]:
            names.append(run.classes[number])
    return tuple(names)


def suggested(run: Run) -> list[tuple[int | None, Suggestion]]:
    """The first suggestions, each with its row where it is an image of this run."""
    first = run.suggestions[:SUGGESTED]
    wanted = {one.path for one in first}
    place = {path: row for row, path in enumerate(run.rows.paths) if path in wanted}
    return [(place.get(one.path), one) for one in first]
