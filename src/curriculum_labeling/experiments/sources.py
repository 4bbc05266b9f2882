"""Where the images of a cell come from: data sets in their published layouts, joined, split and cut down."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from curriculum_labeling.data import cache, cifar10, imagenet, svhn
from curriculum_labeling.data.images import Images, join
from curriculum_labeling.data.listing import Listing, join_listings
from curriculum_labeling.data.progress import Progress
from curriculum_labeling.data.splits import draw_foreign_split, draw_split
from curriculum_labeling.experiments.cells import Cell, DataName
from curriculum_labeling.labels import IntArray, Split

TITLES = {"cifar10": "CIFAR-10", "svhn": "SVHN", "imagenet": "ImageNet"}
# A folder that holds one of these holds the data set.
MARKS = {
    "cifar10": (
        "cifar-10-batches-bin",
        "cifar-10-batches-py",
        "data_batch_1.bin",
        "data_batch_1",
        "train/airplane",
        *cifar10.ARCHIVES,
    ),
    "svhn": ("train_32x32.mat",),
    "imagenet": ("val",),
}
KEPT_TEST, KEPT_UNLABELED = 0, 1


@dataclass(frozen=True)
class Sources:
    """Where data sets lie: the folder or archive given, where images are decoded to, classes of a flat val/ folder.

    `watch` hears how far decoding is, and may raise a KeyboardInterrupt: it goes on from there the next time.
    """

    data: Path | None
    cache: Path
    truth: Path | None = None
    watch: Callable[[Progress], None] | None = None


@dataclass(frozen=True, eq=False)
class Prepared:
    """The images of one run and which row is what; rows of foreign classes are labeled -1."""

    images: Images
    split: Split

    @property
    def training_rows(self) -> IntArray:
        """Rows that training may look at."""
        return np.concatenate([self.split.labeled, self.split.unlabeled])


def locate(name: DataName, data: Path | None) -> Path:
    """The folder or archive of a data set: the one given, or one of its name inside."""
    if data is None:
        raise ValueError(f"--data must name the folder that holds {TITLES[name]}, got none.")
    if name == "cifar10" and data.is_file():
        return data
    for folder in (data / name, data):
        if any((folder / mark).exists() for mark in MARKS[name]):
            return folder
    raise ValueError(
        f"--data must hold {TITLES[name]} as published ({', '.join(MARKS[name][:3])}), "
        f"in itself or in a folder {name}, got {data}."
    )


def check_data(cells: Iterable[Cell], sources: Sources) -> None:
    """Refuse to begin where none of the data sets is there; where some are, the others' cells fail by themselves."""
    missing: list[ValueError] = []
    names = dict.fromkeys(cell.data for cell in cells)
    for name in names:
        try:
            if name != "moons":
                locate(name, sources.data)
        except ValueError as error:
            missing.append(error)
    if missing and len(missing) == len(names):
        raise missing[0]


def prepare(cell: Cell, seed: int, sources: Sources) -> Prepared:
    """Images and split of one run; the seed draws the split, and which rows a reduction keeps."""
    images, test = load(cell, sources)
    given, held = cell.labeled, cell.validation
    if cell.foreign is None:
        split = draw_split(images.labels, labeled=given, validation=held, seed=seed, test=test)
    else:
        found = draw_foreign_split(
            images.labels, foreign=cell.foreign, labeled=given, validation=held, seed=seed, test=test
        )
        names = tuple(images.classes[c] for c in found.known)
        images, split = replace(images, labels=found.labels, classes=names), found.split
    return Prepared(images, _kept(split, cell, seed))


def load(cell: Cell, sources: Sources) -> tuple[Images, IntArray]:
    """Training and test images as one index space, and the rows that are test images."""
    where = locate(cell.data, sources.data)
    if cell.data == "imagenet":
        return _load_files(where, cell.classes, cell.resolution, sources)
    return _load_arrays(cell.data, where)


@lru_cache(maxsize=1)
def _load_arrays(name: DataName, where: Path) -> tuple[Images, IntArray]:
    reader = cifar10.load if name == "cifar10" else svhn.load
    training, test = reader(where, part="train"), reader(where, part="test")
    return join(training, test), np.arange(len(training), len(training) + len(test))


@lru_cache(maxsize=1)
def _load_files(where: Path, classes: int | None, resolution: int | None, sources: Sources) -> tuple[Images, IntArray]:
    assert resolution is not None
    training = _first_classes(imagenet.list_images(where), classes)
    test = _first_classes(imagenet.list_images(where, part="val", truth=sources.truth), classes)
    found = cache.load(join_listings(training, test), sources.cache, resolution=resolution, progress=sources.watch)
    return found.images, np.arange(len(training), len(training) + len(test))


def _first_classes(listing: Listing, classes: int | None) -> Listing:
    """The files of the first classes."""
    if classes is None:
        return listing
    rows = np.flatnonzero(listing.labels < classes)
    paths = tuple(listing.paths[row] for row in rows)
    return Listing(paths, listing.labels[rows], listing.classes[:classes])


def _kept(split: Split, cell: Cell, seed: int) -> Split:
    """The split with as many unlabeled and test rows as the cell wants; test rows are the same for every seed."""
    return replace(
        split,
        unlabeled=_some(split.unlabeled, cell.unlabeled, (seed, KEPT_UNLABELED)),
        test=_some(split.test, cell.test, (0, KEPT_TEST)),
    )


def _some(rows: IntArray, most: int | None, key: tuple[int, int]) -> IntArray:
    if most is None or len(rows) <= most:
        return rows
    return np.sort(np.random.default_rng(key).permutation(rows)[:most])
