"""Figures with the sentences that belong to them: confidences per round, calibration, confusion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from curriculum_labeling.report.bins import calibrated, reliability
from curriculum_labeling.report.figures import calibration_figure, confidence_figure
from curriculum_labeling.report.read import RoundRecord, Run
from curriculum_labeling.report.scale import common_scale
from curriculum_labeling.report.tables import Confusion, confusion
from curriculum_labeling.report.wording import count, percent, several

MOST_PANELS = 11


@dataclass(frozen=True)
class Panel:
    """A small figure, its title and a note."""

    title: str
    note: str
    figure: Markup


@dataclass(frozen=True)
class CalibrationPanel:
    """The calibration curve and the mean gap between said and true, before and after the temperature."""

    figure: Markup
    labels: int
    gap_before: float
    gap_after: float | None


def confidence_panels(run: Run) -> list[Panel]:
    """How sure the model was when each round was chosen, and how sure the last model is."""
    scored = {one.number: one.scores for one in run.rounds if one.scores is not None}
    scale = common_scale([scores.confidence for scores in scored.values()])
    panels = []
    for one in _spread(run.rounds):
        before = scored.get(one.number - 1)
        if before is None or one.scores is None:
            continue
        taken = before.confidence[one.scores.selected]
        figure = confidence_figure(f"confidence-{one.number}", before.confidence, taken, one.threshold, scale)
        panels.append(Panel(f"Round {one.number}", _panel_note(one.percentile, one.threshold, one.selected), figure))
    if scored:
        last = max(scored)
        sure = scored[last].confidence
        figure = confidence_figure("confidence-last", sure, sure[:0], None, scale)
        panels.append(Panel(f"After round {last}", f"{several(len(sure), 'image')}, nothing left to choose", figure))
    return panels


def _spread(rounds: Sequence[RoundRecord]) -> list[RoundRecord]:
    """At most MOST_PANELS rounds after round 0, evenly spread, the first and the last among them."""
    later = [one for one in rounds if one.number > 0]
    if len(later) <= MOST_PANELS:
        return later
    places = np.linspace(0, len(later) - 1, MOST_PANELS).round().astype(int)
    return [later[place] for place in places]


def _panel_note(percentile: float | None, threshold: float | None, selected: int) -> str:
    parts = [f"{count(selected)} taken"]
    if percentile is not None:
        parts.append(f"percentile {percentile:g}")
    if threshold is not None:
        parts.append(f"≥ {percent(threshold)}")
    return " · ".join(parts)


def calibration_panel(run: Run) -> CalibrationPanel | None:
    """Calibration of the delivered round on held-out labels; None where none were held out."""
    numbers = [one.number for one in run.rounds]
    if run.held_out is None or run.outcome.delivered not in numbers:
        return None
    place = numbers.index(run.outcome.delivered)
    sure, right = run.held_out.confidence[place], run.held_out.predicted[place] == run.held_out.classes
    before, after = reliability(sure, right), None
    if run.ledger is not None and run.outcome.temperature is not None:
        corrected = calibrated(sure, run.ledger.confidence, run.ledger.probability)
        after = None if corrected is None else reliability(corrected, right)
    figure = calibration_figure(before, after)
    return CalibrationPanel(figure, len(sure), before.gap, None if after is None else after.gap)


def confusions(run: Run) -> list[tuple[str, Confusion]]:
    """The delivered model's confusion on held-out labels, and on known classes of unlabeled images."""
    numbers = [one.number for one in run.rounds]
    found: list[tuple[str, Confusion | None]] = []
    if run.held_out is not None and run.outcome.delivered in numbers:
        predicted = run.held_out.predicted[numbers.index(run.outcome.delivered)]
        found.append(("Held-out labels", confusion(run.classes, run.held_out.classes, predicted)))
    if run.rows.truth is not None and run.ledger is not None:
        truth = np.asarray(run.rows.truth[run.ledger.rows])
        found.append(("Unlabeled images whose class is known", confusion(run.classes, truth, run.ledger.labels)))
    return [(title, one) for title, one in found if one is not None]
