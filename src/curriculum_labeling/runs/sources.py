"""From what the user names to one listing: labeled class folders or a manifest, unlabeled images anywhere."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import numpy as np

from curriculum_labeling.data import folders, manifests
from curriculum_labeling.data.listing import Listing, list_pairs
from curriculum_labeling.data.typed import shown
from curriculum_labeling.labels import IntArray
from curriculum_labeling.runs.csv_cells import plain_cell

UNUSABLE = ("\0", "\n", "\r")


def check_sources(
    labeled: Path | None, unlabeled: Path | None, before: Path | None = None, corrections: Path | None = None
) -> None:
    """Refuse what is missing, or not there; quick, so that nobody waits for slow imports to hear of it."""
    if corrections is not None and before is None:
        raise ValueError("--corrections must come with --continue RUN, got it alone; add --continue.")
    if labeled is None or unlabeled is None:
        if before is None or labeled is not unlabeled:
            raise ValueError("curriculum fit needs LABELED and UNLABELED, two folders; see `curriculum fit --help`.")
        return
    _check_there(labeled, unlabeled)
    if before is None:
        list_labeled(labeled)


def _check_there(labeled: Path, unlabeled: Path) -> None:
    if not labeled.exists():
        raise ValueError(f"LABELED must be a folder of class folders or a CSV file, got {labeled}, which is not there.")
    if not unlabeled.is_dir():
        raise ValueError(f"UNLABELED must be a folder of images, got {unlabeled}, which is not one.")


def list_labeled(labeled: Path) -> tuple[list[tuple[str, str]], list[str]]:
    """Paths with their classes, two of them or more, and paths that have none."""
    # Absolute, so that a run can be taken up from anywhere and its tables name files that are there.
    given = _list_given(Path(os.path.abspath(labeled)))
    pairs = [(path, given.classes[c]) for path, c in zip(given.paths, given.labels, strict=True) if c >= 0]
    _check_classes(pairs, labeled)
    return pairs, [path for path, c in zip(given.paths, given.labels, strict=True) if c < 0]


def list_sources(labeled: Path, unlabeled: Path) -> Listing:
    """All images by path; a file that is labeled is not unlabeled as well."""
    _check_there(labeled, unlabeled)
    pairs, pool = list_labeled(labeled)
    known = {os.path.realpath(path) for path, _ in pairs}
    pool += folders.walk(Path(os.path.abspath(unlabeled)), set())
    free = list(dict.fromkeys(path for path in pool if os.path.realpath(path) not in known))
    if not free:
        raise ValueError(
            f"UNLABELED must hold images beside the labeled ones, got none in {unlabeled}; "
            "name the folder that holds the images without labels."
        )
    # By path, so that a row keeps its number when it gets a label.
    return list_pairs(sorted([*pairs, *((path, None) for path in free)], key=lambda pair: pair[0]))


def check_truth(path: Path | None) -> None:
    """Refuse a --truth that is no file."""
    if path is not None and not path.is_file():
        raise ValueError(f"--truth must be a CSV file (path,label), got {path}, where there is none.")


def read_truth(path: Path | None, listing: Listing) -> IntArray | None:
    """The known class of each row where the user has a list of them, -1 elsewhere; never trained on."""
    if path is None:
        return None
    found = manifests.list_images(path)
    number = {name: i for i, name in enumerate(listing.classes)}
    known = {
        os.path.realpath(file): number.get(found.classes[c], -1)
        for file, c in zip(found.paths, found.labels, strict=True)
        if c >= 0
    }
    truth = np.array([known.get(os.path.realpath(file), -1) for file in listing.paths], dtype=np.int64)
    if not (truth >= 0).any():
        raise ValueError(f"--truth must name images and classes of this run, got none of them in {path}.")
    return truth


def apply_corrections(listing: Listing, path: Path) -> tuple[Listing, int]:
    """The listing with the labels of a CSV file (path,label) put in; how many labels changed is told."""
    place = {os.path.realpath(file): row for row, file in enumerate(listing.paths)}
    names: list[str | None] = [None if c < 0 else listing.classes[c] for c in listing.labels]
    unknown, changed = [], 0
    for file, label in read_corrections(path):
        targets = [] if "\0" in file else [os.path.realpath(path.parent / file), os.path.realpath(file)]
        row = next((place[name] for name in targets if name in place), None)
        if row is None:
            unknown.append(file)
        elif label and names[row] != label:
            names[row] = label
            changed += 1
    if unknown:
        raise ValueError(
            f"--corrections must name images of the run, got {len(unknown)} others in {path}, "
            f"such as {shown(unknown[0])}."
        )
    return list_pairs(zip(listing.paths, names, strict=True)), changed


def read_corrections(path: Path) -> list[tuple[str, str]]:
    """Path and label of each line; other columns, as the ledger and the suggestions have them, are passed over."""
    try:
        # Names of files may hold bytes that are no UTF-8, and our own tables give them as they are.
        with open(path, encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            reader = csv.DictReader(file)
            if missing := {"path", "label"} - set(reader.fieldnames or ()):
                raise ValueError(
                    f"--corrections must be a CSV file with the columns path and label, got none named "
                    f"{sorted(missing)[0]} in {path}."
                )
            return [(plain_cell(line["path"] or ""), plain_cell(line["label"] or "").strip()) for line in reader]
    except OSError as error:
        raise ValueError(f"--corrections must be a CSV file, got {path}: {error.strerror}.") from error
    except csv.Error as error:
        raise ValueError(f"--corrections must be a CSV file in UTF-8, got {path}: {error}.") from error


def _list_given(labeled: Path) -> Listing:
    if labeled.is_file():
        return manifests.list_images(labeled)
    try:
        return folders.list_images(labeled)
    except ValueError as error:
        raise ValueError(str(error).replace("labeled must", "LABELED must", 1)) from error


def _check_classes(pairs: list[tuple[str, str]], labeled: Path) -> None:
    """Two classes or more, each with two images or more and a name that fits on a line."""
    if not pairs:
        raise ValueError(f"LABELED must hold labeled images, got none in {labeled}.")
    names, counts = np.unique([name for _, name in pairs], return_counts=True)
    if len(names) < 2:
        raise ValueError(f"LABELED must hold two classes or more, got only {str(names[0])!r} in {labeled}.")
    if len(lonely := names[counts < 2]):
        raise ValueError(
            f"every class must have two labeled images or more, got one of {str(lonely[0])!r}; "
            "label another one, or remove the class."
        )
    if bad := [name for name in names if any(c in name for c in UNUSABLE)]:
        raise ValueError(f"class names must be one line of text, got {str(bad[0])!r}; rename that folder.")
