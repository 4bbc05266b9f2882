"""What a run comes to: which round is delivered, whether the curriculum helped, and honest probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from curriculum_labeling.estimators.calibration import most_likely_temperature
from curriculum_labeling.estimators.gain import Z95, Gain, paired_gain, unmeasured
from curriculum_labeling.labels import FloatArray, IntArray
from curriculum_labeling.runs.courses import HeldOut

FEWEST_TO_CALIBRATE = 20
# So many images of a single class are no accident.
MANY_IMAGES = 20


@dataclass(frozen=True)
class Outcome:
    """The delivered round, why it was chosen, and what the curriculum brought.

    The gain is that of round `compared`: the delivered one, or the best one where labels only is delivered.
    """

    delivered: int
    last: int
    why: str
    gain: Gain
    temperature: float
    calibrated_on: int
    compared: int = 0

    def with_warning(self, given: IntArray, classes: Sequence[str]) -> Outcome:
        """The outcome, which says so where all of many unlabeled images were given one class."""
        if len(given) < MANY_IMAGES or (given != given[0]).any():
            return self
        warning = (
            f"All {len(given):,} unlabeled images were given the class {classes[given[0]]!r}: most likely nothing was "
            "learned; give it more time (--minutes or --passes) or more labels."
        )
        return replace(self, why=f"{self.why} {warning}")

    def to_json(self, seconds: float) -> dict[str, Any]:
        """As it is written to the run directory."""
        how = f"one temperature, fitted on {self.calibrated_on} held-out labels" if self.calibrated_on else "none"
        return {
            "delivered": self.delivered,
            "last": self.last,
            "why": self.why,
            "verdict": str(self.gain),
            "gain": {
                name: getattr(self.gain, name) for name in ("estimate", "low", "high", "labels_only", "curriculum", "n")
            }
            | {"round": self.compared},
            "calibration": {"temperature": self.temperature, "how": how},
            "seconds": seconds,
            "finished": True,
        }


def conclude(held_out: HeldOut | None, rounds: int, deliver: str) -> Outcome:
    """Compare labels only with every round on held-out labels, and choose."""
    if held_out is None:
        paper = f"Round {rounds}, the last, is delivered, as in the paper: no label was held out to compare rounds on."
        why = paper if rounds else "Labels only is delivered: there was no time for rounds."
        return Outcome(rounds, rounds, why, unmeasured("no label was held out"), 1.0, 0)
    correct = held_out.correct
    accuracy = correct.mean(axis=1)
    if not rounds:
        labels_only = _percent(accuracy[0])
        why = f"Labels only is delivered, with {labels_only} on held-out labels: there was no time for rounds."
        return Outcome(0, 0, why, unmeasured("there was no round"), *_temperature(held_out, 0))
    delivered = rounds if deliver == "last" else _last_good(correct)
    # The verdict speaks of the curriculum even where labels only is delivered.
    candidate = delivered or 1 + _latest_best(accuracy[1:])
    gain = paired_gain(correct[0], correct[candidate])
    temperature = _temperature(held_out, delivered)
    return Outcome(delivered, rounds, _why(accuracy, delivered, deliver), gain, *temperature, compared=candidate)


def accuracy_interval(correct: int, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share."""
    p, z2 = correct / n, Z95**2
    center = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = Z95 * math.sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return max(0.0, center - half), min(1.0, center + half)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _latest_best(accuracy: Any) -> int:
    return int(np.flatnonzero(accuracy == accuracy.max())[-1])


def _last_good(correct: FloatArray) -> int:
    """The last round that is no worse than labels only, nor worse than the best one by more than a standard error.

    Rounds get better as they go, and few held-out labels would often point at one too early: where accuracy
    rises, that costs half a point to a point. Labels only needs no such proof to be preferred.
    """
    accuracy = correct.mean(axis=1)
    best = _latest_best(accuracy)
    for t in range(len(correct) - 1, 0, -1):
        differ = correct[best] != correct[t]  # were the two rounds equal, each of these rows would be a coin toss
        lost = int(correct[best].sum()) - int(correct[t].sum())
        if accuracy[t] >= accuracy[0] and lost**2 <= differ.sum():
            return t
    return 0


def _why(accuracy: Any, delivered: int, deliver: str) -> str:
    if deliver == "last":
        worse = accuracy[delivered] < accuracy[0]
        return f"Round {delivered}, the last, is delivered, as asked" + (
            ", though labels only did better." if worse else "."
        )
    if delivered == 0:
        best = 1 + _latest_best(accuracy[1:])
        return (
            f"Labels only is delivered, with {_percent(accuracy[0])} on held-out labels: the best round, {best}, has "
            f"{_percent(accuracy[best])}."
        )
    labels_only, best = _percent(accuracy[0]), _latest_best(accuracy)
    if accuracy[delivered] < accuracy[best]:
        more = f"round {best}, which learned from fewer, has {_percent(accuracy[best])}, within chance"
        why = f"where labels only has {labels_only} ({more})."
    elif accuracy[delivered] == accuracy[0]:
        why = "the same as labels only; of equals the latest is taken."
    else:
        why = f"the best of all rounds (labels only: {labels_only})."
    return f"Round {delivered} is delivered: {_percent(accuracy[delivered])} on held-out labels, {why}"


def _temperature(held_out: HeldOut, delivered: int) -> tuple[float, int]:
    if len(held_out.rows) < FEWEST_TO_CALIBRATE:
        return 1.0, 0
    factor = most_likely_temperature(held_out.logits[delivered], held_out.classes)
    return 1 / factor, len(held_out.rows)
