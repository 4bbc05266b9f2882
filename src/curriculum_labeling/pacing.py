"""Which rows enter a round: the paper's percentiles, a fixed threshold, or the k best.

A pacing says *how many* rows round t takes; its balance says *from which classes*. Selecting them
is one exact order statistic per class (see `order.py`), so that shards in several files or
processes select exactly the rows that one array would. Rows tied with the last one all enter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from curriculum_labeling.labels import BoolArray, FloatArray, Group, IntArray, Scores
from curriculum_labeling.order import CHUNK, Reduce, Shard, Shards, group_sizes, kth_largest

# "none":      the paper's rule, one cut over all rows
# "per-class": every predicted class gives the same share of its rows
# "labeled":   class shares follow the labels that were given
# "estimated": class shares follow the model's own scores (expected counts, not argmax counts)
# a tuple:     class shares follow this known prior
Balance = Literal["none", "per-class", "labeled", "estimated"] | tuple[float, ...]
BALANCES = ("none", "per-class", "labeled", "estimated")

FIXED_POINT = 1 << 24
# exp(log p) may differ from p in the last bits: a confidence equal to the threshold is not below it.
ROUNDING = 1e-12


@dataclass(frozen=True)
class PercentilePacing:
    """Round t takes the rows at or above a percentile of all confidences: Algorithm 1. No percentiles, no rounds."""

    percentiles: tuple[float, ...] = (80.0, 60.0, 40.0, 20.0, 0.0)
    balance: Balance = "none"

    def __post_init__(self) -> None:
        if not all(0 <= p <= 100 for p in self.percentiles):
            raise ValueError(f"percentiles must be numbers from 0 to 100, got {list(self.percentiles)}.")
        check_balance(self.balance)

    @classmethod
    def by(cls, step: float = 20.0, *, balance: Balance = "none") -> PercentilePacing:
        """Percentiles 100-Δ, 100-2Δ, … down to 0, where Δ is `step`; the last one is always 0."""
        if not 0 < step <= 100:
            raise ValueError(f"step must be above 0 and at most 100 percent, got {step}; the paper uses 20.")
        rounds = math.ceil(100 / Fraction(str(step)))
        return cls(tuple(max(0.0, float(100 - t * Fraction(str(step)))) for t in range(1, rounds + 1)), balance)

    @property
    def rounds(self) -> int:
        """How many rounds follow round 0."""
        return len(self.percentiles)

    def percentile(self, t: int) -> float | None:
        """T_r of round t."""
        return self.percentiles[t - 1]

    def count(self, t: int, shards: Shards, *, reduce: Reduce | None = None) -> int:
        """Rows at or above the percentile, as numpy's `percentile` places it (never rounded up)."""
        n = int(group_sizes(lambda: _one_group(shards), 1, reduce=reduce)[0])
        p = Fraction(str(self.percentiles[t - 1]))
        return n - math.ceil((n - 1) * p / 100) if n else 0


@dataclass(frozen=True)
class ThresholdPacing:
    """Every round takes the rows at or above a fixed threshold (Tables 4-6); `strict`: above it only."""

    threshold: float
    rounds: int = 5
    balance: Balance = "none"
    strict: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.threshold <= 1:
            raise ValueError(f"threshold must be a probability in [0, 1], got {self.threshold}.")
        _check_rounds(self.rounds)
        check_balance(self.balance)

    def percentile(self, t: int) -> float | None:
        """None: a fixed threshold follows no percentile."""
        return None

    def count(self, t: int, shards: Shards, *, reduce: Reduce | None = None) -> int:
        """Rows at or above the threshold."""
        bound = math.log(self.threshold) + (ROUNDING if self.strict else -ROUNDING) if self.threshold > 0 else -math.inf
        total = np.array([sum(int((values >= bound).sum()) for values, _ in shards())], dtype=np.int64)
        return int((reduce(total) if reduce else total)[0])


@dataclass(frozen=True)
class BestPacing:
    """Round t takes the t·k most confident rows of the whole unlabeled set."""

    k: int
    rounds: int = 10
    balance: Balance = "none"

    def __post_init__(self) -> None:
        if self.k < 1 or self.k != int(self.k):
            raise ValueError(f"k must be a whole number of rows, at least 1, got {self.k}.")
        _check_rounds(self.rounds)
        check_balance(self.balance)

    def percentile(self, t: int) -> float | None:
        """None: a number of rows follows no percentile."""
        return None

    def count(self, t: int, shards: Shards, *, reduce: Reduce | None = None) -> int:
        """t·k rows, or all there are."""
        n = int(group_sizes(lambda: _one_group(shards), 1, reduce=reduce)[0])
        return min(n, t * self.k)


Pacing = PercentilePacing | ThresholdPacing | BestPacing


def shortened(pacing: Pacing) -> Pacing:
    """The last round of a pacing as its only one: what is left of it where time is short."""
    if isinstance(pacing, PercentilePacing):
        return PercentilePacing(pacing.percentiles[-1:], pacing.balance)
    if isinstance(pacing, ThresholdPacing):
        return ThresholdPacing(pacing.threshold, 1, pacing.balance, pacing.strict)
    return BestPacing(pacing.k * pacing.rounds, 1, pacing.balance)


@dataclass(frozen=True)
class Selection:
    """The rows of one round: a mask over the scores, and the lowest confidence that entered."""

    mask: BoolArray
    threshold: float


def select(pacing: Pacing, scores: Scores, t: int, *, prior: FloatArray, group: Group | None = None) -> Selection:
    """Choose the rows of round t; `prior` is the class shares of the given labels, shape (C,).

    In a group, `scores` and the mask are this process's part, and together the masks select exactly
    the rows that one process with all scores would.
    """
    check_scores(scores, len(prior))
    reduce = None if group is None else group.add_counts

    def shards() -> Iterable[Shard]:
        yield scores.log_confidence, scores.classes

    expected = None
    if pacing.balance == "estimated":
        counts = expected_counts(scores, len(prior))
        expected = counts if reduce is None else reduce(counts)
    cuts = thresholds(pacing, shards, t, prior=prior, expected=expected, reduce=reduce)
    mask = at_or_above(scores.log_confidence, scores.classes, cuts)
    lowest = float(np.min(scores.log_confidence, where=mask, initial=np.inf))
    lowest = lowest if group is None else group.lowest(lowest)
    return Selection(mask, math.exp(lowest))


def check_scores(scores: Scores, classes: int) -> None:
    """Refuse scores that rank nothing: a confidence that is no number, or a class that is not counted."""
    if not len(scores):
        return
    if math.isnan(np.min(scores.log_confidence)):
        bad = int(np.isnan(scores.log_confidence).sum())
        raise ValueError(f"scores must have a confidence for every row, got NaN in {bad} of {len(scores)} rows.")
    highest = max(int(scores.classes.max()), int(scores.runner_up.max()))
    if highest >= classes or scores.classes.min() < 0:
        raise ValueError(
            f"scores must be of the {classes} classes that are counted from the labels, got class "
            f"{highest if highest >= classes else int(scores.classes.min())}; say classes=… where labels lack some."
        )


def at_or_above(log_confidence: FloatArray, classes: IntArray, cuts: FloatArray) -> BoolArray:
    """Which rows reach the cut of their class; in chunks, so that no second array of floats is made."""
    mask = np.empty(len(log_confidence), dtype=bool)
    for start in range(0, len(mask), CHUNK):
        part = slice(start, start + CHUNK)
        np.greater_equal(log_confidence[part], cuts[classes[part]], out=mask[part])
    return mask


def thresholds(
    pacing: Pacing,
    shards: Callable[[], Iterable[Shard]],
    t: int,
    *,
    prior: FloatArray,
    expected: IntArray | None = None,
    reduce: Reduce | None = None,
) -> FloatArray:
    """The cut of each class in round t: a row enters if its log-confidence is at or above its class's.

    `shards` yields (log-confidence, class) pairs and is called once per pass; `expected` holds the
    summed `expected_counts` of all shards, which only `balance="estimated"` reads.
    """
    classes = len(prior)
    k = pacing.count(t, shards, reduce=reduce)
    if pacing.balance == "none":
        cut = kth_largest(lambda: _one_group(shards), np.array([k]), reduce=reduce)
        return np.repeat(cut, classes)
    sizes = group_sizes(shards, classes, reduce=reduce)
    return kth_largest(shards, quotas(k, sizes, _class_shares(pacing.balance, sizes, prior, expected)), reduce=reduce)


def quotas(k: int, sizes: IntArray, shares: FloatArray) -> IntArray:
    """How many of each class's rows enter so that k rows follow `shares` as far as `sizes` allow.

    A class smaller than its share gives all its rows, and the others make up for it. Shares are
    rounded up, so that no predicted class is silent: up to C-1 rows more than k may enter.
    """
    quota = np.zeros(len(sizes), dtype=np.int64)
    free = sizes > 0
    k = min(k, int(sizes.sum()))
    while free.any() and (left := k - int(quota[~free].sum())) > 0:
        weights = np.where(free, shares, 0.0)
        if weights.sum() <= 0:
            weights = np.where(free, sizes, 0).astype(float)
        wanted = left * weights / weights.sum()
        full = free & (wanted >= sizes)
        if not full.any():
            quota[free] = np.ceil(wanted[free] - 1e-9).astype(np.int64)
            break
        quota[full] = sizes[full]
        free &= ~full
    return quota


def expected_counts(scores: Scores, classes: int) -> IntArray:
    """Expected rows per class in units of 1/FIXED_POINT: integers, so that shards add up exactly.

    Mass beyond the first and second choice is spread evenly over the remaining classes.
    """
    first = np.round(scores.confidence * FIXED_POINT).astype(np.int64)
    second = np.round(scores.runner_up_confidence * FIXED_POINT).astype(np.int64)
    rest = np.maximum(FIXED_POINT - first - second, 0) // max(classes - 2, 1) if classes > 2 else 0 * first
    total = np.full(classes, rest.sum(), dtype=np.int64)
    np.add.at(total, scores.classes, first - rest)
    np.add.at(total, scores.runner_up, second - rest)
    return np.maximum(total, 0)


def check_balance(balance: Balance) -> None:
    """Refuse a balance that names no rule and is no list of class shares."""
    if isinstance(balance, str):
        if balance not in BALANCES:
            raise ValueError(
                f"balance must be one of {', '.join(map(repr, BALANCES))} or a list of class shares, got {balance!r}."
            )
    elif not balance or min(balance) < 0 or not math.isfinite(sum(balance)) or sum(balance) <= 0:
        raise ValueError(f"balance must hold one share per class, none negative, not all 0, got {list(balance)}.")


def _class_shares(balance: Balance, sizes: IntArray, prior: FloatArray, expected: IntArray | None) -> FloatArray:
    if balance == "per-class":
        return sizes.astype(float)
    if balance == "labeled":
        return prior
    if balance == "estimated":
        assert expected is not None, "balance='estimated' needs the expected counts"
        return expected.astype(float)
    if len(balance) != len(prior):
        raise ValueError(f"balance must hold one share per class ({len(prior)} classes), got {len(balance)} shares.")
    return np.asarray(balance, dtype=float)


def _one_group(shards: Callable[[], Iterable[Shard]]) -> Iterable[Shard]:
    for values, _ in shards():
        yield values, None


def _check_rounds(rounds: int) -> None:
    if rounds < 1:
        raise ValueError(f"rounds must be a whole number, at least 1, got {rounds}.")
