"""What the time given is good for: how many images can be trained on, in what way, divided into which trainings."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from curriculum_labeling.runs.clock import LAST_SECONDS
from curriculum_labeling.runs.division import (
    LABELS_FOR_TURNS,
    PAYS_FROM,
    Division,
    divide,
    divide_equally,
    divide_widely,
    network_for,
    useful_to_labels_only,
)
from curriculum_labeling.runs.options import FitOptions

# A fold only has to compare rounds with each other, so it may train half as long.
FOLD_WEIGHT = 0.5
# Where nobody says how long: enough for a first answer, short enough to wait for.
MINUTES_ON_CPU, MINUTES_ON_ACCELERATOR = 20.0, 60.0
# More passes than these over all images bring nothing to a small set, whatever the time.
MOST_PASSES = 60.0
# Images that a training must have, or its network knows nothing.
FEWEST_IMAGES = 2_000
# Six trainings, as in the paper, on five million images each; with fewer, the paper's way is not known to pay.
LARGE = 30_000_000
PAPER_PERCENTILES = (80.0, 60.0, 40.0, 20.0, 0.0)
PAPER_ROUNDS = len(PAPER_PERCENTILES)


@dataclass(frozen=True)
class Images:
    """What counts of a set of images: how many, how many labeled, held out in how many folds, mirrored or not.

    `speedup` is how many of them are scored in the time of training on one.
    """

    all: int
    labeled: int
    folds: int
    mirrored: bool
    speedup: float

    @property
    def unlabeled(self) -> int:
        """Images to score."""
        return self.all - self.labeled

    def scored(self, rounds: int) -> float:
        """Images scored in all courses, as images trained on; a fold's last round is not scored."""
        times = rounds + 1 + self.folds * rounds
        return self.unlabeled * self.scoring * times

    @property
    def scoring(self) -> float:
        """What scoring an image costs, with its mirror image where that is scored, as images trained on."""
        return (1 + self.mirrored) / self.speedup


@dataclass(frozen=True)
class Budget:
    """The time of a run, where it has one, whether it is small, its trainings, and a network to widen to."""

    minutes: float | None
    small: bool
    division: Division
    network: str | None = None


def of_features(options: FitOptions) -> Budget:
    """Where no network is trained: rounds of one length, in whatever time they take."""
    return Budget(options.minutes, False, _equal(options, turns=False))


def choose_budget(
    options: FitOptions,
    images: Images,
    pace: Callable[[], float],
    reasons: dict[str, str],
    *,
    accelerated: bool,
    compact: bool,
) -> Budget:
    """The budget of networks; `pace`, in images a second, is asked only where there is a time.

    `compact` says that the network is the narrowest compact one and may become a wider one.
    """
    if options.passes is not None:
        total, why = options.passes * images.all * (PAPER_ROUNDS + 1), "at this many passes"
        small = _small(options, total, why, images.folds, reasons)
        return Budget(None, small, _equal(options, turns=_turns(options, images, small, reasons)))
    minutes = options.minutes
    if minutes is None:
        minutes = MINUTES_ON_ACCELERATOR if accelerated else MINUTES_ON_CPU
        reasons["minutes"] = "more time gives a better network; set --minutes"
    rate = pace()
    total, why = _affordable(minutes, rate, images)
    small = _small(options, total, why, images.folds, reasons)
    turns = _turns(options, images, small, reasons)
    network: str | None = None
    if small and options.percentiles is None and options.step is None:
        counts = (total, images.labeled, images.unlabeled)
        if compact:
            division, network = divide_widely(*counts, turns=turns, scoring=images.scoring)
        else:
            division = divide(*counts, turns=turns, scoring=images.scoring)
        useful = minutes * useful_to_labels_only(images.labeled, images.all) / total
        reasons["rounds"] = _why_so_many(division, useful, images.folds)
    else:
        division = _equal(options, turns=turns)
        network = network_for(division, total) if small and compact else None
    _check_time(minutes, rate, images, division)
    return Budget(minutes, small, division, network)


def _affordable(minutes: float, rate: float, images: Images) -> tuple[float, str]:
    """How many images all trainings of the main course may have together, repeated ones counted, and why not more."""
    trained = (60 * minutes - LAST_SECONDS) * rate - images.scored(1)
    in_time = max(1.0, trained / (1 + images.folds * FOLD_WEIGHT))
    most = MOST_PASSES * images.all * (PAPER_ROUNDS + 1)
    if most < in_time:
        return most, "as often as helps on so few images"
    return in_time, "in this time, on this machine"


def _check_time(minutes: float, rate: float, images: Images, division: Division) -> None:
    """Refuse a time in which no network could learn anything."""
    trainings = (division.rounds + 1) * (1 + images.folds) + bool(division.turns)
    fewest = trainings * min(FEWEST_IMAGES, MOST_PASSES * images.all)
    needed = (LAST_SECONDS + (images.scored(division.rounds) + fewest) / rate) / 60
    if minutes < needed:
        digits = 10 ** math.floor(math.log10(needed))
        raise ValueError(
            f"--minutes must be at least {math.ceil(10 * needed / digits) * digits / 10:g} to train on and score "
            f"{images.all:,} images on this machine, got {minutes:g}; give it more time, or use --validation none."
        )


def _small(options: FitOptions, total: float, why: str, folds: int, reasons: dict[str, str]) -> bool:
    if options.budget != "auto":
        return options.budget == "small"
    small = total < LARGE
    chosen = "the quick optimizer, Muon" if small else "SGD, as in the paper"
    each = ", not counting folds," if folds else ""
    reasons["budget"] = f"about {_rounded(total)} images to train on{each} {why}: {chosen}"
    return small


def _turns(options: FitOptions, images: Images, small: bool, reasons: dict[str, str]) -> bool:
    """Whether networks learn which way up images are before they see a label."""
    if options.start != "auto":
        return options.start == "turns"
    few = images.labeled <= LABELS_FOR_TURNS
    if not small:
        reasons["start"] = "as in the paper"
    elif few:
        reasons["start"] = f"{images.labeled:,} labels are few, and all images teach this"
    else:
        reasons["start"] = f"{images.labeled:,} labels teach more than turned images would"
    return small and few


def _equal(options: FitOptions, *, turns: bool) -> Division:
    """Rounds as asked for, or as in the paper, all of one length."""
    return divide_equally(options.pacing(PAPER_PERCENTILES, "none").rounds, turns=turns)


def _why_so_many(division: Division, useful: float, folds: int) -> str:
    """About the rounds of a small budget; `useful` is the minutes that labels only can use, folds included."""
    first, last = division.weights[0], division.weights[-1]
    if division.rounds:
        turns = f", learning which way up {100 * division.turns:.0f} %" if division.turns else ""
        return f"labels only has {100 * first:.0f} % of the time, the last round {100 * last:.0f} %{turns}"
    least = PAYS_FROM * useful / (1 - division.turns)
    who = f"labels only and its {folds} folds need" if folds else "labels only needs"
    return f"{who} all of this time; rounds pay from about {math.ceil(least)} minutes on"


def _rounded(count: float) -> str:
    """A number as exact as it is known."""
    return f"{float(f'{count:.1g}'):,.0f}" if count < 1e6 else f"{count / 1e6:.2g} million"
