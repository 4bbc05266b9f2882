"""The page docs/results/tails.md: what laws the highest confidences follow, round by round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from curriculum_labeling.experiments.tails import LAWS, SCORES, Tail, fit_tail, top_share
from curriculum_labeling.labels import Round
from theory_page import COMMAND

SHARES = (0.05, 0.1, 0.2, 0.5)
FIXED = 0.9
LEVEL = 0.05


@dataclass(frozen=True)
class RoundTails:
    """The scores that one round selected from: tails by score, shapes by share of the tail, and shares of rows."""

    number: int
    tails: dict[str, Tail]
    shapes: dict[float, Tail]
    above_fixed: float
    threshold: float
    held: dict[str, float]


def measure_tails(rounds: Sequence[Round], *, bootstrap: int) -> list[RoundTails]:
    """The tails of every round's scores; the top fifth, and other shares for the shape alone."""
    found = []
    for one in rounds[1:]:
        assert one.scores is not None, "rounds after round 0 have scores"
        logs = one.scores.log_confidence
        values = {name: score(logs) for name, score in SCORES.items()}
        ends = {name: 1.0 if name == "c" else None for name in SCORES}
        tails = {name: fit_tail(values[name], upper=ends[name], bootstrap=bootstrap) for name in SCORES}
        shapes = {share: fit_tail(values["1/(1−c)"], share=share, bootstrap=0) for share in SHARES}
        held = {name: top_share(values[name]) for name in SCORES}
        above = float((one.scores.confidence >= FIXED).mean())
        found.append(RoundTails(one.number, tails, shapes, above, float(np.quantile(values["c"], 0.8)), held))
    return found


def tails_page(tails: Mapping[str, Sequence[RoundTails]], described: Mapping[str, str], bootstrap: int) -> str:
    """The whole page."""
    parts = [_opening(tails, bootstrap)]
    for name, rounds in tails.items():
        file = f"tails_{name.replace(', ', '_').replace(' ', '_')}.svg"
        parts.append(
            f"## {name}\n\n{described[name]}; seed 0.\n\n![Survival functions and fits]({file})\n\n"
            f"{_fits_table(rounds)}\n\n{_shapes_table(rounds)}\n\n{_shares_table(rounds)}\n"
        )
    return "\n".join(parts)


def _opening(tails: Mapping[str, Sequence[RoundTails]], bootstrap: int) -> str:
    lines = [
        "| score | tails | " + " | ".join(LAWS) + " |",
        "|---|---|" + "---|" * len(LAWS),
    ]
    for score in SCORES:
        every = [one.tails[score] for rounds in tails.values() for one in rounds]
        cells = []
        for law in LAWS:
            fits = [fit for tail in every for fit in tail.fits if fit.law == law]
            kept, best = sum(fit.p_value > LEVEL for fit in fits), sum(tail.best.law == law for tail in every)
            cells.append(f"{kept} kept, {best} best" if fits else "–")
        lines.append(f"| {score} | {len(every)} | {' | '.join(cells)} |")
    table = "\n".join(lines)
    return f"""# Tails of confidences

The top fifth of the scores that each round selects from, c being the confidence. Fits by maximum likelihood to the
excesses over the 80th percentile; distance of Kolmogorov and Smirnov, p-value by parametric bootstrap ({bootstrap}
samples, each fitted anew). *Kept*: p above {LEVEL}. *Best*: lowest AIC of the laws fitted. What follows from it is in
[theory.md](../theory.md). {COMMAND}

{table}

Rounds of one run share rows and most of what they learned, so tails are not independent trials. Pareto for 1/(1−c) and
exponential for −log(1−c) are one law seen twice, with one distance; their p-values differ by the bootstrap's draws.
"""


def _fits_table(rounds: Sequence[RoundTails]) -> str:
    lines = [
        "Distance (p-value) of each law; bold is the lowest AIC. ΔAIC: Pareto's less the lowest.",
        "",
        "| round | score | rows | tied | saturated | Pareto α | shape ξ | ΔAIC | " + " | ".join(LAWS) + " |",
        "|---|---|---|---|---|---|---|---|" + "---|" * len(LAWS),
    ]
    for one in rounds:
        for score, tail in one.tails.items():
            alpha, shape = _estimate(tail, "Pareto", "α"), _estimate(tail, "generalized Pareto", "ξ")
            behind = [fit.aic - tail.best.aic for fit in tail.fits if fit.law == "Pareto"]
            counts = f"{len(tail.excesses)} | {tail.tied} | {tail.saturated}"
            worse = f"{behind[0]:.0f}" if behind else "–"
            fits = " | ".join(_fit_cell(tail, law) for law in LAWS)
            lines.append(f"| {one.number} | {score} | {counts} | {alpha} | {shape} | {worse} | {fits} |")
    return "\n".join(lines)


def _shapes_table(rounds: Sequence[RoundTails]) -> str:
    """Whether the shape depends on where the tail begins: under a Pareto law it does not."""
    lines = [
        "Shape ξ of the generalized Pareto law for 1/(1−c), by how much of the rows counts as tail.",
        "",
        "| round | " + " | ".join(f"{share:.0%}" for share in SHARES) + " |",
        "|---|" + "---|" * len(SHARES),
    ]
    for one in rounds:
        cells = [_estimate(tail, "generalized Pareto", "ξ") for tail in one.shapes.values()]
        lines.append(f"| {one.number} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _shares_table(rounds: Sequence[RoundTails]) -> str:
    """What a fixed threshold would take, and how much the top fifth holds."""
    lines = [
        f"Rows at or above a fixed {FIXED}, where the 80th percentile lies, and how much of all scores together the top"
        " fifth holds (80 % under an 80/20 rule, 20 % if all are equal).",
        "",
        f"| round | c ≥ {FIXED} | 80th percentile | " + " | ".join(f"top fifth of {score}" for score in SCORES) + " |",
        "|---|---|---|" + "---|" * len(SCORES),
    ]
    for one in rounds:
        held = " | ".join(f"{one.held[score]:.0%}" for score in SCORES)
        lines.append(f"| {one.number} | {one.above_fixed:.1%} | {one.threshold:.4f} | {held} |")
    return "\n".join(lines)


def _estimate(tail: Tail, law: str, parameter: str) -> str:
    found: Any = [fit for fit in tail.fits if fit.law == law]
    if not found:
        return "–"
    value, error = found[0].parameters[parameter], found[0].errors[parameter]
    digits = 2 if abs(value) < 100 else 0
    return f"{value:.{digits}f} ± {error:.{digits}f}".replace("-", "−")


def _fit_cell(tail: Tail, law: str) -> str:
    fits = [fit for fit in tail.fits if fit.law == law]
    if not fits:
        return "–"
    text = f"{fits[0].distance:.3f} ({fits[0].p_value:.3f})"
    return f"**{text}**" if tail.best.law == law else text
