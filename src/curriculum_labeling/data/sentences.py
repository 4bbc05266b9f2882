"""What the data check found, in sentences: each names how many, one example and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from curriculum_labeling.data.images import Images
from curriculum_labeling.data.pairs import Pair
from curriculum_labeling.labels import IntArray

FEW_LABELS = 10
SHOWN = 5


@dataclass(frozen=True, eq=False)
class Findings:
    """The facts behind the sentences.

    Parameters
    ----------
    classes, class_counts : tuples
        Class names and how many labels each has.
    unreadable : tuple of (path, reason)
        Files that are not among the rows.
    exact, groups : int arrays of shape (N,)
        The lowest row with the same pixels, and with nearly the same picture: rows of one group number are
        duplicates, which a validation split keeps on one side.
    leaked : tuple of Pair
        Unlabeled rows (`row`) that repeat a labeled one (`other`).
    conflicts : tuple of Pair
        Labeled rows of one picture and two classes.
    small_images, long_images : int arrays
        Rows under 16 pixels, or more than four times as long as wide; empty where sizes are not known.
    foreign : int array
        Unlabeled rows flagged as unlike anything labeled.
    """

    classes: tuple[str, ...]
    class_counts: tuple[int, ...]
    unreadable: tuple[tuple[str, str], ...]
    exact: IntArray
    groups: IntArray
    leaked: tuple[Pair, ...]
    conflicts: tuple[Pair, ...]
    small_images: IntArray
    long_images: IntArray
    foreign: IntArray


def with_fewer_labels(classes: Sequence[str], counts: Sequence[int], labels: int) -> tuple[str, ...]:
    """Names of classes that have some labels, but fewer than this."""
    return tuple(name for name, n in zip(classes, counts, strict=True) if 0 < n < labels)


def write_errors(found: Findings, images: Images) -> tuple[str, ...]:
    """Reasons not to train at all."""
    errors = []
    present = sum(count > 0 for count in found.class_counts)
    if present < 2:
        errors.append(f"There must be labeled images of at least two classes, got {present}; add labels of another.")
    elif empty := [name for name, n in zip(found.classes, found.class_counts, strict=True) if not n]:
        errors.append(f"Every class needs a labeled image, got none for {_some(empty)}.")
    if pairs := [pair for pair in found.conflicts if pair.exact]:
        shown = "; ".join(_both(pair, images) for pair in pairs[:SHOWN])
        more = f"; and {len(pairs) - SHOWN} more" if len(pairs) > SHOWN else ""
        errors.append(
            f"{_count(len(pairs), 'image')} {_be(len(pairs))} labeled as two classes: {shown}{more}; "
            "keep the right one of each and remove the other."
        )
    return tuple(errors)


def write_warnings(found: Findings, images: Images, unlabeled: int) -> tuple[str, ...]:
    """What may make the result worse, or make it look better than it is."""
    sentences = [
        *_about_classes(found),
        *_about_files(found, images),
        *_about_duplicates(found, images),
        *_about_foreign(found, images, unlabeled),
    ]
    if not unlabeled:
        sentences.append("There are no unlabeled images to learn from; this is training on labels alone.")
    return tuple(sentences)


def _about_classes(found: Findings) -> list[str]:
    sentences = []
    if single := with_fewer_labels(found.classes, found.class_counts, 2):
        sentences.append(
            f"{_count(len(single), 'class', 'classes')} {_have(len(single))} one labeled image ({_some(single)}), "
            "so nothing can be held out to measure accuracy on; label a few more."
        )
    few = with_fewer_labels(found.classes, found.class_counts, FEW_LABELS)
    if small := [name for name in few if name not in single]:
        sentences.append(
            f"{_count(len(small), 'class', 'classes')} {_have(len(small))} fewer than {FEW_LABELS} labeled images "
            f"({_some(small)}); measured accuracy will be rough."
        )
    return sentences


def _about_files(found: Findings, images: Images) -> list[str]:
    sentences = []
    if found.unreadable:
        path, reason = found.unreadable[0]
        n = len(found.unreadable)
        sentences.append(f"{_count(n, 'file')} cannot be read and {_be(n)} left out, such as {path}, which {reason}.")
    if n := len(found.small_images):
        example = _name(int(found.small_images[0]), images)
        sentences.append(f"{_count(n, 'image')} {_be(n)} under 16 pixels wide or high, such as {example}.")
    if n := len(found.long_images):
        example = _name(int(found.long_images[0]), images)
        sentences.append(
            f"{_count(n, 'image')} {_be(n)} more than four times as long as wide, such as {example}; "
            "only the center square is used."
        )
    return sentences


def _about_duplicates(found: Findings, images: Images) -> list[str]:
    sentences = []
    if pairs := [pair for pair in found.conflicts if not pair.exact]:
        n = len(pairs)
        sentences.append(
            f"{_count(n, 'picture')} {_be(n)} there nearly the same under two classes, such as "
            f"{_both(pairs[0], images)}; check which class is right."
        )
    if found.leaked:
        n, exact = len(found.leaked), sum(pair.exact for pair in found.leaked)
        first = found.leaked[0]
        sentences.append(
            f"{_count(n, 'unlabeled image')} {_repeat(n)} a labeled one, {exact} of them exactly, "
            f"such as {_name(first.row, images)} and {_name(first.other, images)}."
        )
    if repeats := np.flatnonzero(found.groups != np.arange(len(found.groups))).tolist():
        n, exact = len(repeats), int((found.exact != np.arange(len(found.exact))).sum())
        row = int(repeats[0])
        sentences.append(
            f"{_count(n, 'image')} {_repeat(n)} an earlier one, {exact} of them exactly, such as "
            f"{_name(row, images)} after {_name(int(found.groups[row]), images)}; duplicates stay on one side "
            "of a validation split."
        )
    return sentences


def _about_foreign(found: Findings, images: Images, unlabeled: int) -> list[str]:
    n = len(found.foreign)
    if not n:
        return []
    example = _name(int(found.foreign[0]), images)
    look = "looks" if n == 1 else "look"
    return [f"{n} of {_count(unlabeled, 'unlabeled image')} {look} unlike anything labeled, such as {example}."]


def _both(pair: Pair, images: Images) -> str:
    rows = (pair.row, pair.other)
    return " and ".join(f"{_name(row, images)} ({images.classes[images.labels[row]]})" for row in rows)


def _name(row: int, images: Images) -> str:
    return f"row {row}" if images.paths is None else images.paths[row]


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def _count(n: int, one: str, many: str | None = None) -> str:
    return f"{n} {one if n == 1 else many or one + 's'}"


def _be(n: int) -> str:
    return "is" if n == 1 else "are"


def _have(n: int) -> str:
    return "has" if n == 1 else "have"


def _repeat(n: int) -> str:
    return "repeats" if n == 1 else "repeat"
