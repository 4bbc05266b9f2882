"""ImageNet (ILSVRC 2012) in its folder layout: train/<wnid>/*.JPEG, and val/<wnid>/ or a flat val/ with its classes.

A listing is returned, not images: decode it through the cache, training and validation part joined
into one index space if wanted (`join_listings`). Classes are the WordNet ids, sorted.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np

from curriculum_labeling.data.folders import class_folders, walk
from curriculum_labeling.data.imagenet_truth import read_truth
from curriculum_labeling.data.listing import Listing
from curriculum_labeling.labels import IntArray

Part = Literal["train", "val"]
PARTS = ("train", "val")


def list_images(folder: str | Path, *, part: Part = "train", truth: str | Path | None = None) -> Listing:
    """The files of one part and their classes; `truth` is the file with the classes of a flat val/ folder."""
    folder = Path(folder)
    if part not in PARTS:
        raise ValueError(f'part must be "train" or "val", got {part!r}.')
    for needed in ("train", part):
        if not (folder / needed).is_dir():
            raise ValueError(f"folder must hold {needed}/ of ImageNet, got {folder}.")
    wnids = tuple(found.name for found in class_folders(folder / "train"))
    if part == "val" and not any((folder / "val" / wnid).is_dir() for wnid in wnids):
        return _flat(folder / "val", wnids, truth)
    return _by_class(folder / part, wnids)


def _by_class(folder: Path, wnids: tuple[str, ...]) -> Listing:
    paths: list[str] = []
    labels: list[int] = []
    for found in class_folders(folder):
        if found.name not in wnids:
            raise ValueError(f"{folder} must hold the classes of train/, got {found.name}, which is not among them.")
        files = list(walk(found, set()))
        paths += files
        labels += [wnids.index(found.name)] * len(files)
    return Listing(tuple(paths), np.array(labels, dtype=np.int64), wnids)


def _flat(folder: Path, wnids: tuple[str, ...], truth: str | Path | None) -> Listing:
    if truth is None:
        raise ValueError(
            f"truth must name the file with the validation classes, because {folder} has no class folders "
            "(ILSVRC2012_validation_ground_truth.txt beside meta.mat, val.txt, or LOC_val_solution.csv)."
        )
    paths = tuple(walk(folder, set()))
    labels: IntArray = read_truth(Path(truth), [Path(path).stem for path in paths], wnids)
    return Listing(paths, labels, wnids)
