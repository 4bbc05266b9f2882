"""Algorithm 1 of the paper: pseudo-labeling under a curriculum, as a generator of rounds.

Whoever consumes the rounds prints, saves, plots or stops; nothing here does.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from curriculum_labeling.labels import FloatArray, Group, IntArray, Labels, Learner, Round
from curriculum_labeling.pacing import Pacing, PercentilePacing, select


def curriculum(
    learner: Learner,
    labeled: Labels,
    unlabeled: IntArray,
    *,
    pacing: Pacing | None = None,
    classes: int | None = None,
    seed: int = 0,
    group: Group | None = None,
) -> Iterator[Round]:
    """Train on the labels, score the unlabeled rows, take the most confident, train anew, widen.

    Parameters
    ----------
    learner : Learner
        Trains each round's model from scratch.
    labeled : Labels
        The given labels, D_L; they are part of every round and never change.
    unlabeled : int array
        Row numbers of D_UL. Each round selects from all of them, so a row may enter and leave.
    pacing : Pacing
        How far each round opens; by default the paper's percentiles 80, 60, 40, 20, 0.
    classes : int
        Number of classes; by default the highest class number among the labels, plus one.
    seed : int
        Every round's fit gets its own seed, derived from this one and the round's number.
    group : Group, optional
        Processes that run this together: each keeps the scores of its own share of the rows, all
        select and train on the same.
    """
    pacing = pacing if pacing is not None else PercentilePacing()
    prior = class_shares(labeled, classes)
    labels = labeled

    model = learner.fit(labels, seed=round_seed(seed, 0))
    yield Round(0, labels, model, scores=None, threshold=None, percentile=None, entered=0, left=0, flipped=0)

    for t in range(1, pacing.rounds + 1):
        scores = model.score(unlabeled) if group is None else group.score(model, unlabeled)
        selection = select(pacing, scores, t, prior=prior, group=group)
        before, labels = labels, labeled.with_pseudo(scores, selection.mask, group=group)
        model = learner.fit(labels, seed=round_seed(seed, t))
        entered, left, flipped = moves(before, labels)
        yield Round(
            t,
            labels,
            model,
            scores,
            selection.threshold,
            pacing.percentile(t),
            entered=entered,
            left=left,
            flipped=flipped,
        )


def moves(before: Labels, after: Labels) -> tuple[int, int, int]:
    """How many pseudo-labeled rows entered, left, and stayed with another class."""
    _, old, new = np.intersect1d(before.pseudo_rows, after.pseudo_rows, assume_unique=True, return_indices=True)
    flipped = int((before.pseudo_classes[old] != after.pseudo_classes[new]).sum())
    return len(after.pseudo_rows) - len(new), len(before.pseudo_rows) - len(old), flipped


def class_shares(labeled: Labels, classes: int | None) -> FloatArray:
    """The share of each class among the given labels, shape (C,)."""
    if not len(labeled):
        raise ValueError("labeled must hold at least one labeled row, got none.")
    if labeled.classes.min() < 0:
        raise ValueError(f"labeled must have classes from 0 on, got {labeled.classes.min()}; leave unlabeled rows out.")
    counts = np.bincount(labeled.classes, minlength=classes or 0)
    shares: FloatArray = counts / counts.sum()
    return shares


def round_seed(seed: int, t: int) -> int:
    """An independent 32-bit seed for round t."""
    return int(np.random.SeedSequence((seed, t)).generate_state(1)[0])
