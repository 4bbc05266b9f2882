"""How much each row counts in a round's fit: guards against the ways self-training goes wrong.

Two things pull a self-trained classifier away from the truth. Confident rows come from few classes,
and the next model learns those shares as if they were the world's; and pseudo-labels outnumber the
labels a hundred to one, so that their errors confirm themselves. Hence three weights: each class
keeps the share it has among the labels (`match_classes`), a label counts as several pseudo-labels
(`labeled_weight`), and a pseudo-label counts by its margin (`weigh_by_margin`): how far the first
choice leads the second. `docs/log.md` has the measurements.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from curriculum_labeling.labels import FloatArray, IntArray, Labels

# For estimators without sample_weight: no class has more pseudo-labels than this many times what
# would match the class with the fewest, or one rare class would leave nearly nothing.
MOST_PER_RAREST = 3.0
# A row torn between two classes still counts a little: no weight is ever zero.
LEAST_MARGIN = 1e-6


@dataclass(frozen=True)
class Weighting:
    """What to hold constant while pseudo-labels come and go; the paper's algorithm holds nothing."""

    labeled_weight: float = 1.0
    match_classes: bool = False
    weigh_by_margin: bool = False

    def __post_init__(self) -> None:
        if not self.labeled_weight > 0 or not np.isfinite(self.labeled_weight):
            raise ValueError(
                f"labeled_weight must be a positive number (1: a label counts as a pseudo-label), got"
                f" {self.labeled_weight}."
            )

    @property
    def plain(self) -> bool:
        """Whether every row counts the same."""
        return self.labeled_weight == 1 and not self.match_classes and not self.weigh_by_margin


def row_weights(labels: Labels, own: FloatArray, classes: int, weighting: Weighting) -> FloatArray:
    """Weights of shape (n,), made from `own`, the rows' own weights (usually all 1).

    The weights of the pseudo-labels keep their sum. Without pseudo-labels the rows' own weights are
    returned untouched: round 0 is labels only.
    """
    n = labels.given
    if weighting.plain or n == len(labels):
        return own
    given, pseudo = own[:n] * weighting.labeled_weight, own[n:].astype(float)
    total = pseudo.sum()
    if weighting.weigh_by_margin:
        pseudo *= np.maximum((labels.confidence - labels.runner_up_confidence)[n:], LEAST_MARGIN)
    if weighting.match_classes:
        prior = np.bincount(labels.classes[:n], weights=given, minlength=classes)
        found = np.bincount(labels.pseudo_classes, weights=pseudo, minlength=classes)
        factor = np.divide(prior, found, out=np.zeros(classes), where=found > 0)
        pseudo *= factor[labels.pseudo_classes]
    if total > 0:
        pseudo *= total / pseudo.sum()
    return np.concatenate([given, pseudo])


def row_copies(labels: Labels, classes: int, weighting: Weighting) -> IntArray:
    """Positions within `labels` to train on, repeated or left out, for estimators without weights."""
    n = labels.given
    if weighting.plain or n == len(labels):
        return np.arange(len(labels))
    pseudo = np.arange(n, len(labels))
    if weighting.match_classes:
        pseudo = _most_confident_per_class(labels, classes)
    copies = max(1, round(weighting.labeled_weight))
    return np.concatenate([np.tile(np.arange(n), copies), pseudo])


def _most_confident_per_class(labels: Labels, classes: int) -> IntArray:
    """Pseudo-labeled positions, the most confident of each class, with shares nearer to the labels'."""
    n = labels.given
    prior = np.bincount(labels.classes[:n], minlength=classes) / n
    found = np.bincount(labels.pseudo_classes, minlength=classes)
    rarest = np.min(np.maximum(found, 1)[prior > 0] / prior[prior > 0])
    quota = np.ceil(prior * min(len(labels) - n, MOST_PER_RAREST * rarest)).astype(int)
    order = np.argsort(-labels.confidence[n:], kind="stable")
    kept = [order[labels.pseudo_classes[order] == c][: quota[c]] for c in range(classes)]
    return np.sort(np.concatenate(kept)) + n
