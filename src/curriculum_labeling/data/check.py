"""The data check before training: what would spoil the result, said in sentences and kept as rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curriculum_labeling.data.decode import UnreadableImage
from curriculum_labeling.data.describe import describe_pixels
from curriculum_labeling.data.foreign import foreign_scores
from curriculum_labeling.data.images import Images
from curriculum_labeling.data.pairs import Pair, find_conflicts, find_leaked
from curriculum_labeling.data.sentences import FEW_LABELS, Findings, with_fewer_labels, write_errors, write_warnings
from curriculum_labeling.data.similar import find_duplicates
from curriculum_labeling.data.typed import brief, shown
from curriculum_labeling.labels import IntArray

FORMAT = 1
SMALL_SIDE, LONG = 16, 4.0
DIGITS = 6


@dataclass(frozen=True, eq=False)
class DataCheck(Findings):
    """What was found in the labeled and unlabeled images, and what it means.

    Parameters
    ----------
    foreign_scores : float array of shape (N,)
        From 0 to 1, flagged from 0.99; 0 for labeled rows.
    errors, warnings : tuples of str
        One sentence each; training must not start while there are errors.
    """

    foreign_scores: NDArray[np.float64]
    errors: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def small_classes(self) -> tuple[str, ...]:
        """Classes with fewer than ten labels."""
        return with_fewer_labels(self.classes, self.class_counts, FEW_LABELS)

    @property
    def single_classes(self) -> tuple[str, ...]:
        """Classes with one label."""
        return with_fewer_labels(self.classes, self.class_counts, 2)

    def to_json(self) -> dict[str, Any]:
        """Plain lists, strings and numbers, for check.json."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        plain = {name: value.tolist() for name, value in values.items() if isinstance(value, np.ndarray)}
        pairs = {name: [asdict(pair) for pair in values[name]] for name in ("leaked", "conflicts")}
        return {"format": FORMAT, **values, **plain, **pairs}

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> DataCheck:
        """What `to_json` gave, also after a trip through a file."""
        if saved.get("format") != FORMAT:
            raise ValueError(f"check.json must have format {FORMAT}, got {shown(saved.get('format'))}; run fit again.")
        try:
            return cls._from_values({field.name: saved[field.name] for field in fields(cls)})
        except KeyError as missing:
            raise ValueError(f"check.json must hold {missing}, got none; run fit again.") from missing
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"check.json is damaged ({brief(error)}); restore it, or run fit again.") from error

    @classmethod
    def _from_values(cls, values: dict[str, Any]) -> DataCheck:
        for name in ("exact", "groups", "small_images", "long_images", "foreign"):
            values[name] = np.array(values[name], dtype=np.int64)
        values["foreign_scores"] = np.array(values["foreign_scores"], dtype=np.float64)
        for name in ("leaked", "conflicts"):
            values[name] = tuple(Pair(**pair) for pair in values[name])
        for name in ("classes", "class_counts", "errors", "warnings"):
            values[name] = tuple(values[name])
        return cls(**{**values, "unreadable": tuple((path, reason) for path, reason in values["unreadable"])})


def check_data(
    images: Images,
    labeled: Any,
    unlabeled: Any,
    unreadable: Sequence[UnreadableImage] = (),
    features: Any = None,
    *,
    sizes: Any = None,
    embedded: bool = True,
) -> DataCheck:
    """Look at all images once, before training.

    Parameters
    ----------
    images : Images
        All rows, with the labels of the labeled ones.
    labeled, unlabeled : int arrays
        Row numbers; no row may be in both.
    unreadable : sequence of UnreadableImage
        What the cache left out.
    features : float array of shape (N, D), optional
        Embeddings, to tell foreign images by; without them colors and texture of the pixels are used.
    sizes : int array of shape (N, 2), optional
        Width and height of the files, as `read_sizes` gives them.
    embedded : bool
        Off where `features` are what `describe_pixels` gave, which then is not computed again.
    """
    labeled, unlabeled = _checked_rows(images, labeled, unlabeled)
    duplicates = find_duplicates(images.pixels)
    foreign = foreign_scores(
        _features(images, features), labeled, unlabeled, embedded=embedded and features is not None
    )
    scores = np.zeros(len(images))
    scores[unlabeled] = np.floor(foreign.scores * 10**DIGITS) / 10**DIGITS
    small, long = _odd_sizes(sizes, len(images))
    findings = Findings(
        classes=images.classes,
        class_counts=tuple(np.bincount(images.labels[labeled], minlength=len(images.classes)).tolist()),
        unreadable=tuple((fault.path, fault.reason) for fault in unreadable),
        exact=duplicates.exact,
        groups=duplicates.near,
        leaked=find_leaked(duplicates, labeled, unlabeled),
        conflicts=find_conflicts(duplicates, images.labels, labeled),
        small_images=small,
        long_images=long,
        foreign=unlabeled[foreign.flagged],
    )
    return DataCheck(
        **vars(findings),
        foreign_scores=scores,
        errors=write_errors(findings, images),
        warnings=write_warnings(findings, images, len(unlabeled)),
    )


def _features(images: Images, features: Any) -> Any:
    if features is None:
        return describe_pixels(images.pixels)
    if len(features) != len(images):
        raise ValueError(f"features must have one row per image, got {len(features)} for {len(images)} images.")
    return features


def _checked_rows(images: Images, labeled: Any, unlabeled: Any) -> tuple[IntArray, IntArray]:
    labeled, unlabeled = np.asarray(labeled, dtype=np.int64), np.asarray(unlabeled, dtype=np.int64)
    both = np.concatenate([labeled, unlabeled])
    if len(both) and not (both.min() >= 0 and both.max() < len(images)):
        raise ValueError(
            f"labeled and unlabeled must name rows from 0 to {len(images) - 1}, got {both.min()} to {both.max()}."
        )
    if repeats := len(both) - len(np.unique(both)):
        raise ValueError(f"labeled and unlabeled must name each row once, got {repeats} repeats.")
    if without := int((images.labels[labeled] < 0).sum()):
        raise ValueError(f"labeled rows must have a class, got {without} with label -1; list them as unlabeled.")
    return labeled, unlabeled


def _odd_sizes(sizes: Any, rows: int) -> tuple[IntArray, IntArray]:
    """Rows of very small and of very long images."""
    if sizes is None:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    sizes = np.asarray(sizes, dtype=np.int64)
    if sizes.shape != (rows, 2):
        raise ValueError(f"sizes must hold width and height of {rows} images, got shape {sizes.shape}.")
    shorter, longer = sizes.min(axis=1), sizes.max(axis=1)
    return np.flatnonzero((shorter < SMALL_SIDE) & (shorter > 0)), np.flatnonzero(longer > LONG * shorter)
