"""The page docs/results/theory.md: Equation 5 in numbers, mean ± standard deviation over seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import spearmanr

COMMAND = "Made by `python benchmarks/theory_and_tails.py`, one thread of a 2-core x86_64 machine."


def theory_page(measured: Mapping[str, Sequence[Any]], described: Mapping[str, str]) -> str:
    """The whole page."""
    parts = [_opening(measured)]
    for name, runs in measured.items():
        labeled, unlabeled, test = runs[0].rows
        parts.append(
            f"## {name}\n\n{described[name]}; {labeled} labeled, {unlabeled:,} unlabeled, {test:,} test rows;"
            f" n = {len(runs)} seeds, each with its own split; mean ± standard deviation.\n\n"
            f"{_identity_table(runs)}\n\n{_covariance_table(runs)}\n\n{_choice_table(runs)}\n\n{_models_table(runs)}\n"
        )
    return "\n".join(parts)


def _opening(measured: Mapping[str, Sequence[Any]]) -> str:
    every = [one for runs in measured.values() for run in runs for one in (*run.paper, *run.normalized)]
    worst = max(abs(terms.error_of_exact) for one in every for terms in (one.scoring, one.trained))
    early = [one for runs in measured.values() for run in runs for one in run.paper[:-1]]
    naive = [abs(one.trained.error) for one in early]
    lower = sum(one.trained.paced_utility < one.trained.utility for one in early)
    positive = sum(one.trained.comoment > 0 for one in early)
    return f"""# Equation 5, measured

What each column means, and why the equation fails as printed, is in [theory.md](../theory.md). {COMMAND}

- With the left-out term, (Σp − 1)·mean U', the equation holds in every round: the largest error of {len(every)} rounds
  (both readings of p, at the scoring and at the trained model) is {worst:.0e}.
- As printed, with the paper's p = 1/M on selected rows, it is off by {min(naive):.3f} to {max(naive):.3f} in rounds 1
  to 4, and U_p is below U in {lower} of {len(early)} of them, although the covariance is positive in {positive}.
- In the last round p is the same for all rows: the covariance is 0 and U_p = U, whatever the model.
"""


def _identity_table(runs: Sequence[Any]) -> str:
    """Round by round, with the paper's own p."""
    lines = [
        "As printed: p = 1/M on the selected rows, at the model trained in the round. Σ… is the sum that the paper"
        " calls covariance.",
        "",
        "| round | Σp | U | U_p | U_p − U | Σ… | error as printed | error with a mean for Σ… | left-out term |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for t in range(len(runs[0].paper)):
        terms = [run.paper[t].trained for run in runs]
        cells = [
            _cell([one.mass for one in terms]),
            _cell([one.utility for one in terms]),
            _cell([one.paced_utility for one in terms]),
            _cell([one.paced_utility - one.utility for one in terms]),
            _cell([one.comoment for one in terms]),
            _cell([one.error for one in terms]),
            _cell([one.error_with_mean for one in terms]),
            _cell([one.left_out for one in terms]),
        ]
        lines.append(f"| {t + 1} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _covariance_table(runs: Sequence[Any]) -> str:
    """Round by round, with p normalized: here Σ… is U_p − U."""
    lines = [
        "Normalized: p = 1/K on the K selected rows, where Σ… = U_p − U.",
        "",
        "| round | selected | Σ… at the scoring model | Σ… at the trained model | Σ… of true classes"
        " | pseudo-labels right | test accuracy |",
        "|---|---|---|---|---|---|---|",
        f"| 0 | 0 | – | – | – | – | {_percent([run.accuracy[0] for run in runs])} |",
    ]
    for t in range(len(runs[0].normalized)):
        found = [run.normalized[t] for run in runs]
        cells = [
            f"{found[0].selected:,}",
            _cell([one.scoring.comoment for one in found]),
            _cell([one.trained.comoment for one in found]),
            _cell([one.truth.comoment for one in found]),
            _percent([run.pseudo_accuracy[t] for run in runs]),
            _percent([run.accuracy[t + 1] for run in runs]),
        ]
        lines.append(f"| {t + 1} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _choice_table(runs: Sequence[Any]) -> str:
    """The control: one round on other rows than the most confident."""
    lines = [
        "One round on a fifth of the rows, chosen three ways, p = 1/K.",
        "",
        "| rows chosen | Σ… at the scoring model | Σ… at the trained model | U at the trained model | test accuracy |",
        "|---|---|---|---|---|",
    ]
    for choice, name in {"most": "most confident", "random": "at random", "least": "least confident"}.items():
        found = [run.choices[choice] for run in runs]
        cells = [
            _cell([one.scoring.comoment for one in found]),
            _cell([one.trained.comoment for one in found]),
            _cell([one.trained.utility for one in found]),
            _percent([run.choice_accuracy[choice] for run in runs]),
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _models_table(runs: Sequence[Any]) -> str:
    """The same rows and pseudo-labels under every round's model, and how U and the covariance go together."""
    lines = [
        "All models on the rows and pseudo-labels of round 1, p = 1/K.",
        "",
        "| model of round | U | Σ… | U_p |",
        "|---|---|---|---|",
    ]
    for t in range(len(runs[0].models)):
        terms = [run.models[t] for run in runs]
        cells = [_cell([getattr(one, name) for one in terms]) for name in ("utility", "comoment", "paced_utility")]
        lines.append(f"| {t} | {' | '.join(cells)} |")
    ranks = [spearmanr([one.utility for one in run.models], [one.comoment for one in run.models])[0] for run in runs]
    lines += ["", f"Rank correlation of U and Σ… over these models: {_cell(ranks, digits=2)}."]
    return "\n".join(lines)


def _cell(values: Sequence[float], digits: int = 3) -> str:
    mean, spread = float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    # Rounding may leave a minus sign before zero.
    mean = mean if abs(mean) >= 0.5 * 10**-digits else 0.0
    return f"{mean:.{digits}f} ± {spread:.{digits}f}".replace("-", "−")


def _percent(values: Sequence[float]) -> str:
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return f"{100 * float(np.mean(values)):.1f} ± {100 * spread:.1f} %"
