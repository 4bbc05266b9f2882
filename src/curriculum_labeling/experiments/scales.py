"""Paper scale and CPU scales: how a cell of the paper becomes one that two cores can run.

`Scale.reduced` is the only reduction there is, the same for every table and figure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from curriculum_labeling.experiments.cells import Cell, text_of
from curriculum_labeling.vision.networks import Factory

# The paper has 64 to 100 rows per batch with moderate augmentation, 512 to 1,024 with heavy.
LARGEST_SMALL_BATCH = 100
KEPT = (
    "Rounds, percentiles, thresholds, augmentation, mixup, the optimizer and the share of a round "
    "from which weights are averaged are the paper's."
)


@dataclass(frozen=True)
class Scale:
    """What is reduced; None and 1 leave the paper's settings as they are.

    Parameters
    ----------
    name : str
        As on the command line.
    seeds : int
        Runs of every cell, unless said otherwise.
    network : str or function, optional
        In the place of every network of the paper.
    fewer_labels : int
        Labels per class are divided by this.
    validation : int, optional
        Validation rows per class, at most.
    unlabeled, test : int, optional
        Rows kept, at most.
    classes, resolution : int, optional
        Only for ImageNet: the first classes, and pixels.
    batches : pair of int, optional
        Batch sizes in the place of the paper's small and large ones.
    whitening : bool
        Whether images are whitened where the paper does so.
    passes : int, optional
        Images that a round trains on where the paper has 750 (ImageNet: 220) epochs.
    """

    name: str
    seeds: int
    network: str | Factory | None = None
    fewer_labels: int = 1
    validation: int | None = None
    unlabeled: int | None = None
    test: int | None = None
    classes: int | None = None
    resolution: int | None = None
    batches: tuple[int, int] | None = None
    whitening: bool = True
    passes: int | None = None

    def reduced(self, cell: Cell) -> Cell:
        """The cell at this scale; two moons are small enough as they are."""
        if cell.data == "moons":
            return cell
        files = cell.data == "imagenet"
        return replace(
            cell,
            network=cell.network if self.network is None else self.network,
            labeled=max(1, cell.labeled // self.fewer_labels),
            validation=_at_most(cell.validation, self.validation),
            unlabeled=self.unlabeled,
            test=self.test,
            whitening=cell.whitening and self.whitening,
            classes=self.classes if files else None,
            resolution=_at_most(cell.resolution, self.resolution) if cell.resolution else None,
            batch=cell.batch if self.batches is None else self.batches[cell.batch > LARGEST_SMALL_BATCH],
            passes=None if self.passes is None else round(self.passes * cell.share_of_epochs),
        )

    def sentence_for(self, cells: Iterable[Cell]) -> str:
        """What the scale means for these cells, for whoever reads a table."""
        data = {cell.data for cell in cells}
        if data == {"moons"}:
            return "The same at every scale."
        if self == PAPER:
            return "Settings as in the paper."
        photos = "imagenet" in data
        reductions = {
            "network {}": None if self.network is None else text_of(self.network),
            "labels per class divided by {}": self.fewer_labels,
            "at most {} validation rows per class": self.validation,
            "at most {:,} unlabeled rows": self.unlabeled,
            "at most {:,} test rows": self.test,
            "batches of {0[0]} (64 and 100 in the paper) and {0[1]} (512 and 1,024)": self.batches,
            "standardization in the place of ZCA": None if self.whitening else "",
            "{:,} images per round in the place of 750 epochs (in proportion where the paper has fewer)": self.passes,
            "ImageNet's first {} classes": self.classes if photos else None,
            "ImageNet at {} pixels": self.resolution if photos else None,
        }
        said = "; ".join(words.format(value) for words, value in reductions.items() if value is not None)
        return f"Reduced from the paper, all cells alike: {said}. {KEPT}"


PAPER = Scale("paper", seeds=5)
CPU = Scale(
    "cpu",
    seeds=3,
    network="compact-16",
    fewer_labels=4,
    validation=100,
    unlabeled=3_000,
    test=5_000,
    classes=10,
    resolution=32,
    batches=(32, 64),
    whitening=False,
    passes=20_000,
)
# Rounds that are trained well enough for the curriculum to gain (see docs/results/cpu_scale.md).
CPU_LONG = replace(CPU, name="cpu-long", passes=80_000)
SCALES = {scale.name: scale for scale in (PAPER, CPU, CPU_LONG)}


def _at_most(value: int | None, most: int | None) -> int:
    assert value is not None
    return value if most is None else min(value, most)
