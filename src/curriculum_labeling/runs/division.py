"""How the images that a time allows to train on are divided among turns, labels only and the rounds.

A round from scratch pays where its network can become better than the one that labeled for it. That
takes the longer, the better the labels already are: a network of a few labels is soon as good as it
gets, and short rounds overtake it; one of thousands still learns from them when a short time is over,
and a round in a hurry would fall behind. So labels only has the time it can use, and rounds are as
long as that at least, each longer than the one before; where there is no time for one, there are no
rounds. Where labels are few, what images teach without them (`vision/pretext.py`) comes first.
"""

from __future__ import annotations

from dataclasses import dataclass

# Up to so many labels, which way up images are teaches a network more than it costs.
LABELS_FOR_TURNS = 500
# Turns have this share of all, and not more than so many passes over the unlabeled images.
TURNS_SHARE, MOST_PASSES_TURNS = 0.35, 25
# How often labels only goes through the labels before it has learned what they teach.
EPOCHS_OF_LABELS = 160
# Fewer images than these teach a network little; on a small set, so many passes over all of its images.
SHORTEST_FIRST, SHORTEST_ROUND = 40_000, 60_000
FEWEST_PASSES_FIRST, FEWEST_PASSES_ROUND = 8, 12
# From so many labels on the surest rows are nearly all right. What the first round takes of them, in percent, leaves
# most mistakes out, which a short round then mends; of what the last one leaves out two labels in five are
# wrong, and it is told no worse without them (measured with 4,000 labels, not below). With fewer labels every round
# adds the same share, up to all.
MANY_LABELS, MANY_FIRST_PERCENT, MANY_LAST_PERCENT = 2_000, 60.0, 80.0
# What labels only may take of all: there must be time left for a round twice as long.
LARGEST_FIRST = 1 / 3
# Rounds pay where there is time for so many times what labels only can use; else it has all of it.
PAYS_FROM = 1.25
# How much longer each round is than the one before, with few labels and with many, where the last round must be long.
GROWTH, MANY_GROWTH = 1.4, 2.0
# The compact networks: how long an image takes each of them, against the narrowest (docs/results/peak.md), and
# from how many images of the narrowest in a training on it is no worse in the same time.
WIDTHS = {"compact": (1.0, 0), "compact-48": (1.7, 400_000), "compact-64": (2.7, 1_000_000)}
MOST_ROUNDS = 10
# Rounds may score for this share of all.
LARGEST_SCORING = 0.25


@dataclass(frozen=True)
class Division:
    """The share of each training, labels only first, and of turns before them all; together 1.

    `percents` are what the first and the last round take of the unlabeled rows; unless given, rounds
    widen in equal steps up to all of them.
    """

    weights: tuple[float, ...]
    turns: float = 0.0
    percents: tuple[float, float] | None = None

    @property
    def rounds(self) -> int:
        """Rounds after labels only; 0 where none would pay."""
        return len(self.weights) - 1

    @property
    def percentiles(self) -> tuple[float, ...]:
        """The percentile of every round, in equal steps, rounded to a tenth."""
        first, last = self.percents or (100 / self.rounds, 100.0)
        step = (last - first) / max(1, self.rounds - 1)
        return tuple(abs(round(100 - first - done * step, 1)) for done in range(self.rounds))


def divide(passes: float, labels: int, unlabeled: int, *, turns: bool, scoring: float, cost: float = 1.0) -> Division:
    """Divide so many image passes, with so many labels, and unlabeled images that every round scores.

    `scoring` is how many passes it takes to score one of them. `cost` is how many of these passes one image
    takes, where the network is a wider one than passes are counted for.
    """
    images = labels + unlabeled
    before = min(TURNS_SHARE * passes, MOST_PASSES_TURNS * unlabeled) if turns else 0.0
    left = passes - before
    useful = useful_to_labels_only(labels, images, cost)
    if left < PAYS_FROM * useful:
        return Division((left / passes,), before / passes)
    first = min(useful, LARGEST_FIRST * left)
    shortest = max(cost * min(SHORTEST_ROUND, FEWEST_PASSES_ROUND * images), first)
    most = int(min(MOST_ROUNDS, LARGEST_SCORING * left / (scoring * max(1, unlabeled))))
    many = labels >= MANY_LABELS
    growth = MANY_GROWTH if many else GROWTH
    rounds = max((r for r in range(1, most + 1) if _growing(left - first, r, growth)[0] >= shortest), default=1)
    weights = tuple(part / passes for part in (first, *_growing(left - first, rounds, growth)))
    return Division(weights, before / passes, (MANY_FIRST_PERCENT, MANY_LAST_PERCENT) if many else None)


def divide_widely(passes: float, labels: int, unlabeled: int, *, turns: bool, scoring: float) -> tuple[Division, str]:
    """Divide passes of the narrowest compact network for the widest one that they are enough for, and name it."""
    for name, (cost, _) in reversed(WIDTHS.items()):
        division = divide(passes, labels, unlabeled, turns=turns, scoring=scoring, cost=cost)
        if network_for(division, passes) == name:
            break
    return division, name


def network_for(division: Division, passes: float) -> str:
    """The compact network that is wide enough for the longest training, of passes that the narrowest one would have."""
    longest = max(division.weights) * passes
    return [name for name, (_, least) in WIDTHS.items() if longest >= least][-1]


def useful_to_labels_only(labels: int, images: int, cost: float = 1.0) -> float:
    """How many image passes labels only can use, with so many labels among so many images."""
    return max(cost * min(SHORTEST_FIRST, FEWEST_PASSES_FIRST * images), EPOCHS_OF_LABELS * labels)


def divide_equally(rounds: int, *, turns: bool = False) -> Division:
    """The same for every training, as in the paper."""
    share = 1 / (rounds + 1 + turns)
    return Division((share,) * (rounds + 1), share if turns else 0.0)


def _growing(passes: float, rounds: int, growth: float) -> list[float]:
    """So many parts of these passes, each longer than the one before."""
    powers = [growth**r for r in range(rounds)]
    return [passes * power / sum(powers) for power in powers]
