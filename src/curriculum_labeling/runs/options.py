"""What `curriculum fit` may be asked for: every option, checked before anything else happens."""

from __future__ import annotations

import math
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path
from typing import Literal

from curriculum_labeling.pacing import BALANCES, Balance, PercentilePacing

LONGEST_MINUTES = 60 * 24 * 365


@dataclass(frozen=True)
class FitOptions:
    """Options of a fit; None and "auto" are chosen from the data and the machine.

    Parameters
    ----------
    features : str
        A frozen pretrained network that turns photos into features, so that the curriculum takes minutes on a CPU:
        "efficientnet-lite0", an .onnx file, "timm:NAME", or "package.module:function" of your own. "none" trains a
        network from scratch, as the paper does. "auto" takes a backbone that is installed, for photos above 64 pixels
        on a machine without accelerator.
    network : str
        Network trained from scratch: compact (compact-48 and compact-64 are wider), wrn-28-2 (any depth and width),
        cnn-13, resnet-18 or resnet-50.
    resolution : int
        Side of the square that images are resized to, in pixels.
    augmentation : {"auto", "none", "moderate", "cutout", "light", "heavy"}
        How images are varied while a network trains: "moderate" shifts and mirrors them, "cutout" also cuts out a
        small square, "light" changes one more thing at random, "heavy" is the paper's, which needs a long training.
    flip : bool
        Whether a mirrored image still shows its class; --no-flip for letters, digits or anything with a handedness.
        By default off where class names are single characters or numbers.
    budget : {"auto", "small", "large"}
        "large" trains as the paper does: SGD, heavy augmentation, rounds of equal length. "small" gets further where
        time is short: Muon, less augmentation, and rounds that grow (of one length with --passes, --step or
        --percentiles). "auto" measures how many images this machine can train on in the time given.
    start : {"auto", "turns", "fresh"}
        What every round's network starts from: "fresh" random weights, as in the paper, or "turns", weights that have
        learned from the unlabeled images, without any label, which way up they are. "auto" is "turns" with a small
        budget and up to 500 labels.
    minutes : float
        Time for the whole run. Training fills it; with features a run ends sooner if it can.
    passes : float
        Instead of a time: how often each round goes through all images. The same work on any machine.
    step : float
        The curriculum's Δ: each round takes this many percent more of the unlabeled images. 20 as in the paper; a
        network with little time to learn in has as many rounds as that time is good for.
    percentiles : tuple of float
        Explicit percentiles of the rounds instead of a step, such as 80 60 40 20 0.
    balance : {"auto", "none", "per-class", "labeled", "estimated"}
        Class shares of the selected images: "none" is the paper's single cut, "per-class" takes the same share of each
        predicted class, "labeled" follows the labels you gave, "estimated" the model's own count.
    validation : str
        How accuracy is measured: "auto", "none", a number of folds such as 5, or a share of the labels such as 0.2.
    deliver : {"best", "last"}
        Which round becomes the model: the "best" on held-out labels, and of those as good within chance the latest,
        never one that did worse there than labels only; or the "last", as in the paper.
    unreadable : {"skip", "fail"}
        Whether files that cannot be read are left out, or stop the run before training.
    truth : path
        A CSV file (path,label) with the known classes of unlabeled images; never trained on, only compared with.
    seed : int
        Seed of every random choice.
    device : str
        "auto", "cpu", "cuda" or "mps".
    threads : int
        CPU threads; all cores by default.
    """

    features: str = "auto"
    network: str = "auto"
    resolution: int | None = None
    augmentation: Literal["auto", "none", "moderate", "cutout", "light", "heavy"] = "auto"
    flip: bool | None = None
    budget: Literal["auto", "small", "large"] = "auto"
    start: Literal["auto", "turns", "fresh"] = "auto"
    minutes: float | None = None
    passes: float | None = None
    step: float | None = None
    percentiles: tuple[float, ...] | None = None
    balance: Literal["auto", "none", "per-class", "labeled", "estimated"] = "auto"
    validation: str = "auto"
    deliver: Literal["best", "last"] = "best"
    unreadable: Literal["skip", "fail"] = "skip"
    truth: Path | None = None
    seed: int = 0
    device: str = "auto"
    threads: int | None = None

    def __post_init__(self) -> None:
        _check_number("--minutes", self.minutes, above=0, at_most=LONGEST_MINUTES, fix="--minutes 30 is usual")
        _check_number("--passes", self.passes, above=0, at_most=1e6, fix="--passes 10 is usual")
        _check_number("--threads", self.threads, above=0, at_most=4096, fix="leave it out for all cores")
        _check_number("--resolution", self.resolution, above=7, at_most=1024, fix="32, 96 and 224 are usual")
        if self.minutes is not None and self.passes is not None:
            raise ValueError(
                f"--minutes and --passes must not both be given, got {self.minutes:g} and {self.passes:g}; drop one."
            )
        if not 0 <= self.seed < 2**32:
            raise ValueError(f"--seed must be from 0 to {2**32 - 1}, got {self.seed}.")
        check_choice("--balance", self.balance, ("auto", *BALANCES))
        if self.percentiles is not None:
            self._check_percentiles(self.percentiles)
        try:
            self.pacing((0.0,), "none")
        except ValueError as error:
            raise ValueError(f"--{error}") from error
        self.held_out()

    def _check_percentiles(self, percentiles: tuple[float, ...]) -> None:
        said = " ".join(f"{p:g}" for p in percentiles)
        if not percentiles:
            raise ValueError("--percentiles must be one or more numbers from 0 to 100, got none.")
        if self.step is not None:
            raise ValueError(
                f"--step and --percentiles must not both be given, got {self.step:g} and {said}; drop one."
            )
        if any(later > earlier for earlier, later in pairwise(percentiles)):
            surest_first = " ".join(f"{p:g}" for p in sorted(percentiles, reverse=True))
            raise ValueError(
                f"--percentiles must not rise from round to round, since the surest come first, got {said}; "
                f"perhaps {surest_first}."
            )

    def pacing(self, percentiles: tuple[float, ...], balance: Balance) -> PercentilePacing:
        """The rounds these options ask for; these percentiles and balance hold where they leave it open."""
        chosen: Balance = balance if self.balance == "auto" else self.balance
        if self.percentiles is not None:
            return PercentilePacing(tuple(float(p) for p in self.percentiles), chosen)
        if self.step is not None:
            return PercentilePacing.by(self.step, balance=chosen)
        return PercentilePacing(percentiles, chosen)

    def held_out(self) -> int | float | None:
        """Folds (a whole number), a share of the labels, 0 for none, or None for a choice of ours."""
        if self.validation in ("auto", "none"):
            return None if self.validation == "auto" else 0
        try:
            number = float(self.validation)
        except ValueError:
            number = math.nan
        if number.is_integer() and 2 <= number <= 100:
            return int(number)
        if 0 < number < 1:
            return number
        raise ValueError(
            '--validation must be "auto", "none", a number of folds from 2 to 100 or a share between 0 and 1, '
            f"got {self.validation}; --validation 5 is usual."
        )


def check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    """Refuse a word that is none of these, naming the nearest one."""
    if value not in choices:
        close = get_close_matches(value, choices, n=1)
        hint = f"; did you mean {close[0]}?" if close else "."
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value}{hint}")


def _check_number(name: str, value: float | None, *, above: float, at_most: float, fix: str) -> None:
    if value is not None and not above < value <= at_most:
        raise ValueError(f"{name} must be above {above:g} and at most {at_most:g}, got {value:g}; {fix}.")
