"""Every experiment of the paper by its key, in the paper's order."""

from __future__ import annotations

import re
from difflib import get_close_matches

from curriculum_labeling.experiments.ablations import ABLATIONS
from curriculum_labeling.experiments.comparisons import COMPARISONS
from curriculum_labeling.experiments.points import Experiment


def _place(experiment: Experiment) -> tuple[bool, int]:
    numbers = re.findall(r"\d+", experiment.key)
    return experiment.key.startswith("figure"), int(numbers[0])


EXPERIMENTS = {one.key: one for one in sorted((*COMPARISONS, *ABLATIONS), key=_place)}


def find_experiment(key: str) -> Experiment:
    """The experiment of this key; a slip of the pen gets a hint."""
    if key not in EXPERIMENTS:
        close = get_close_matches(key.lower().replace("_", "-").replace(" ", "-"), EXPERIMENTS, n=1, cutoff=0.5)
        hint = f"did you mean {close[0]}? " if close else ""
        raise ValueError(
            f"KEY must be an experiment of the paper, got {key}; {hint}`curriculum reproduce --list` has all."
        )
    return EXPERIMENTS[key]
