"""A listing: image files and their labels, before any of them is opened."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from curriculum_labeling.data.images import check_labels
from curriculum_labeling.labels import IntArray

UNKNOWN = -1


@dataclass(frozen=True, eq=False)
class Listing:
    """Files, the class number of each (-1 where unknown) and the class names."""

    paths: tuple[str, ...]
    labels: IntArray
    classes: tuple[str, ...]

    def __post_init__(self) -> None:
        check_labels(self.labels, len(self.paths), self.classes)

    def __len__(self) -> int:
        return len(self.paths)


def list_pairs(pairs: Iterable[tuple[str, str | None]]) -> Listing:
    """A listing of (path, class name or None); classes are numbered by name."""
    known = list(pairs)
    classes = tuple(sorted({name for _, name in known if name is not None}))
    number: dict[str | None, int] = {name: i for i, name in enumerate(classes)}
    labels = np.array([number.get(name, UNKNOWN) for _, name in known], dtype=np.int64)
    return Listing(tuple(path for path, _ in known), labels, classes)


def join_listings(*parts: Listing) -> Listing:
    """Several listings of the same classes as one index space, in this order."""
    first = parts[0]
    for part in parts[1:]:
        if part.classes != first.classes:
            raise ValueError(
                "listings must have the same classes to be joined, "
                f"got {len(first.classes)} and {len(part.classes)} classes that differ."
            )
    paths = tuple(path for part in parts for path in part.paths)
    return Listing(paths, np.concatenate([part.labels for part in parts]), first.classes)
