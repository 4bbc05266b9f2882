"""Folders of images: one folder per class for the labeled ones, any folder for the unlabeled ones."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from curriculum_labeling.data.listing import Listing, list_pairs

IMAGE_SUFFIXES = frozenset(
    (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm", ".jp2", ".avif", ".heic")
)
# Tables and notes that lie beside images; any other file that cannot be read may be an image that is damaged.
TEXT_SUFFIXES = (".csv", ".tsv", ".txt", ".md", ".json", ".yaml", ".yml", ".xml", ".html")
LEFT_BY_SYSTEMS = frozenset(("thumbs.db", "desktop.ini", "__macosx"))

# Folders walked so far, by device and inode: no folder is read twice, whatever links lead to it.
Visited = set[tuple[int, int]]


def list_images(labeled: str | Path, unlabeled: str | Path | None = None) -> Listing:
    """Files under labeled/<class>/ with their classes, then files anywhere under `unlabeled` without.

    Hidden files and plain text (by its suffix) are left out, and links are followed, each folder once: an
    unlabeled folder that contains the labeled one gives only the other files.
    """
    labeled = Path(labeled)
    visited: Visited = set()
    pairs: list[tuple[str, str | None]] = []
    for folder in class_folders(labeled):
        files = list(walk(folder, visited))
        if not files:
            raise ValueError(
                f"every class folder must hold images, got none in {folder}; add some or remove the folder."
            )
        pairs += [(file, folder.name) for file in files]
    if unlabeled is not None:
        others = list(walk(_existing(Path(unlabeled), "unlabeled"), visited))
        if not others:
            raise ValueError(f"unlabeled must hold images beside the labeled ones, got none in {unlabeled}.")
        pairs += [(file, None) for file in others]
    return list_pairs(pairs)


def class_folders(labeled: Path) -> list[Path]:
    """The folders of the classes, by name."""
    entries = sorted(_existing(labeled, "labeled").iterdir())
    loose = [entry for entry in entries if entry.is_file() and entry.suffix.lower() in IMAGE_SUFFIXES]
    folders = [entry for entry in entries if entry.is_dir() and not _ignored(entry.name)]
    if not folders or loose:
        got = f"{len(loose)} images outside of any, such as {loose[0].name}," if loose else "none"
        raise ValueError(f"labeled must hold one folder of images per class, got {got} in {labeled}.")
    return folders


def walk(folder: Path, visited: Visited) -> Iterator[str]:
    """Every regular file under a folder, by name; hidden ones, text and folders already visited are left out."""
    stack = [(str(folder), True)]
    while stack:
        path, is_folder = stack.pop()
        if is_folder:
            stack += reversed(_entries(path, visited))
        elif path.lower().endswith(TEXT_SUFFIXES):
            continue
        elif os.path.isfile(path) or os.path.islink(path):  # a broken link is a lost image: the cache will name it
            yield path


def _entries(folder: str, visited: Visited) -> list[tuple[str, bool]]:
    """Path and kind of what lies in a folder, by name; nothing if the folder was visited."""
    found = os.stat(folder)
    if (found.st_dev, found.st_ino) in visited:
        return []
    visited.add((found.st_dev, found.st_ino))
    with os.scandir(folder) as entries:
        return sorted((entry.path, _is_folder(entry)) for entry in entries if not _ignored(entry.name))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself: a lost image like other broken links
        return False


def _ignored(name: str) -> bool:
    return name.startswith(".") or name.lower() in LEFT_BY_SYSTEMS


def _existing(folder: Path, argument: str) -> Path:
    if not folder.is_dir():
        what = "a file" if folder.exists() else "nothing"
        raise ValueError(f"{argument} must be a folder, got {folder}, where there is {what}.")
    return folder
