"""A cell: everything one run of an experiment depends on, as data, and the training it means.

Cells hold the paper's settings; `scales.py` turns them into smaller ones. The same settings in two
tables are the same cell, which is run once.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal

from curriculum_labeling.pacing import Pacing, PercentilePacing
from curriculum_labeling.vision.averaging import SWA
from curriculum_labeling.vision.config import TrainingConfig
from curriculum_labeling.vision.networks import Factory
from curriculum_labeling.vision.recipe import Recipe, build_recipe
from curriculum_labeling.vision.schedule import Budget

DataName = Literal["cifar10", "svhn", "imagenet", "moons"]
Augmentation = Literal["none", "moderate", "heavy", "policy"]
# Epoch from which weights are averaged, by the epochs of a round; other lengths begin after two thirds.
SWA_START, SWA_EVERY, SWA_SHARE = {750: 500, 220: 100}, 5, 2 / 3
FULL_EPOCHS = {"imagenet": 220}
CIFAR10_EPOCHS = 750
# Mean colors, for whatever an augmentation leaves empty.
FILL = {"cifar10": (125, 123, 114), "svhn": (112, 113, 121), "imagenet": (124, 116, 104)}


@dataclass(frozen=True)
class Cell:
    """Settings of one run.

    Parameters
    ----------
    data : str
        The data set.
    labeled, validation : int
        Rows per class.
    network, augmentation, whitening, mixup, swa, epochs, batch
        How every round is trained.
    pacing : Pacing
        Which rows enter which round. Labels only is round 0 of any cell.
    fine_tuned : bool
        Whether rounds go on from the weights of the last one.
    foreign : float, optional
        Figure 3: the share of the unlabeled classes that has no labels.
    resolution : int, optional
        Pixels to which images are decoded, where they come as files.
    classes, unlabeled, test, passes : int, optional
        Set by reductions: the first classes only, rows kept, and images that each round trains on in the
        place of epochs.
    """

    data: DataName = "cifar10"
    labeled: int = 400
    validation: int = 500
    network: str | Factory = "wrn-28-2"
    augmentation: Augmentation = "moderate"
    whitening: bool = False
    mixup: bool = False
    swa: bool = True
    pacing: Pacing = PercentilePacing()  # noqa: RUF009 (it is frozen)
    fine_tuned: bool = False
    epochs: int = CIFAR10_EPOCHS
    batch: int = 100
    foreign: float | None = None
    resolution: int | None = None
    classes: int | None = None
    unlabeled: int | None = None
    test: int | None = None
    passes: int | None = None

    def describe(self) -> dict[str, str]:
        """Every setting as text, to tell whether a result on disk is this cell's."""
        return {one.name: text_of(getattr(self, one.name)) for one in fields(self)}

    @property
    def steps(self) -> int | None:
        """Optimizer steps per round where a reduction fixes them."""
        return None if self.passes is None else max(1, round(self.passes / self.batch))

    @property
    def share_of_epochs(self) -> float:
        """How much of the paper's usual length a round has; below 1 in Table 10 alone."""
        return self.epochs / FULL_EPOCHS.get(self.data, CIFAR10_EPOCHS)


def name_of(cell: Cell) -> str:
    """A file name that says what the cell is; cells of the paper that differ have different names."""
    traits = {"zca": cell.whitening, "mixup": cell.mixup, "swa": cell.swa}
    parts = [cell.data, str(cell.labeled), text_of(cell.network), cell.augmentation]
    parts += [name for name, there in traits.items() if there]
    parts += [f"batch{cell.batch}", f"epochs{cell.epochs}", pacing_name(cell.pacing)]
    parts += ["finetuned"] if cell.fine_tuned else []
    parts += [] if cell.foreign is None else [f"foreign{100 * cell.foreign:.0f}"]
    return "-".join(parts) if cell.data != "moons" else f"moons-{pacing_name(cell.pacing)}"


def pacing_name(pacing: Pacing) -> str:
    """A pacing in a word: step20, percentiles-80-50-0, threshold0.9."""
    if isinstance(pacing, PercentilePacing):
        step = 100 - pacing.percentiles[0]
        if step > 0 and PercentilePacing.by(step) == pacing:
            return f"step{step:g}"
        return "percentiles-" + "-".join(f"{p:g}" for p in pacing.percentiles)
    return f"threshold{pacing.threshold:g}" if hasattr(pacing, "threshold") else f"best{pacing.k}"


def training_config(cell: Cell, *, policy: Path | None = None, accumulate: int = 1) -> TrainingConfig:
    """The training of every round of this cell."""
    return TrainingConfig(
        network=cell.network,
        budget=Budget(epochs=cell.epochs) if cell.steps is None else Budget(steps=cell.steps),
        batch_size=cell.batch,
        accumulate=accumulate,
        augmentation=_augmentation(cell, policy),
        whitening=cell.whitening,
        mixup=1.0 if cell.mixup else 0.0,
        average=_average(cell),
    )


def passes_of(cell: Cell, rows: int) -> int:
    """Images that one round over this many rows trains on."""
    if cell.steps is None:
        return cell.epochs * rows
    per_epoch = -(-rows // cell.batch)
    epochs, rest = divmod(cell.steps, per_epoch)
    return epochs * rows + rows * rest // per_epoch


def _average(cell: Cell) -> SWA | None:
    if not cell.swa:
        return None
    start = SWA_START.get(cell.epochs)
    if cell.steps is not None:
        # Rounds of a few epochs: from the same share of the round, after each of them.
        return SWA(SWA_SHARE if start is None else start / cell.epochs, every=1)
    return SWA(SWA_SHARE if start is None else start, every=SWA_EVERY)


def _augmentation(cell: Cell, policy: Path | None) -> str | Recipe:
    """Names where the learner knows best; recipes for policies, and for photos, which are cropped and resized."""
    if cell.augmentation == "policy" and policy is None:
        raise ValueError("CL+FA must have the sub-policies of Fast AutoAugment in a JSON file; name it with --policy.")
    if cell.augmentation != "policy" and (cell.data != "imagenet" or cell.augmentation == "none"):
        return cell.augmentation
    return build_recipe(
        cell.augmentation,
        flippable=cell.data != "svhn",
        fill=FILL[cell.data],
        policy=policy if cell.augmentation == "policy" else None,
        crop="resized" if cell.data == "imagenet" else "padded",
    )


def text_of(value: object) -> str:
    """A setting as text; functions by their name."""
    if callable(value) and hasattr(value, "__qualname__"):
        return str(value.__qualname__)
    return value if isinstance(value, str) else repr(value)
