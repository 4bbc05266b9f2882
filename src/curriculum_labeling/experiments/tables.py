"""An experiment as Markdown: the paper's table with our numbers beside its own, then rounds, runs and failures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean

from curriculum_labeling.experiments.points import Number, Point
from curriculum_labeling.experiments.results import Result, RoundResult
from curriculum_labeling.experiments.scales import Scale
from curriculum_labeling.experiments.summary import Spread, Summary, best_on_validation, spread

NOTHING = "–"


def markdown(summary: Summary, scale: Scale, command: str, images: Sequence[str] = ()) -> str:
    """The page of an experiment."""
    experiment = summary.experiment
    done = sum(len(results) for results in summary.finished.values())
    machines = sorted({result.machine for results in summary.finished.values() for result in results})
    parts = [
        f"# {experiment.key}: {experiment.title}",
        f"Scale `{scale.name}`. {scale.sentence_for(experiment.cells)}",
        f"{done} of {summary.runs} runs finished. Machine: {'; '.join(machines) or NOTHING}. Again: `{command}`.",
        *(f"![{experiment.title}]({image})" for image in images),
        "Percent, mean ± standard deviation over seeds (number of seeds); the paper's own number beside ours.",
        grid(main_table(summary)),
    ]
    if done:
        parts += ["## Rounds", grid(rounds_table(summary)), "## Runs", grid(runs_table(summary))]
    if failures := [line for results in summary.failed.values() for result in results for line in [_failure(result)]]:
        parts += ["## Failed", "They are tried again by the same command.\n\n" + "\n".join(failures)]
    return "\n\n".join(parts) + "\n"


def main_table(summary: Summary) -> list[list[str]]:
    """Rows and columns as in the paper, every column twice: ours and the paper's."""
    points = {(point.row, point.column): point for point in summary.experiment.points}
    rows, columns = (list(dict.fromkeys(key[side] for key in points)) for side in (0, 1))
    header = [summary.experiment.across, *(title for column in columns for title in (column, "paper"))]
    lines = [header]
    for row in rows:
        lines.append([row])
        for column in columns:
            point = points.get((row, column))
            lines[-1] += [NOTHING, NOTHING] if point is None else [_ours(point, summary), _paper(point.published)]
    return lines


def rounds_table(summary: Summary) -> list[list[str]]:
    """A line per cell and round: what was selected, how much of it was right, and what it led to."""
    header = ["cell", "round", "percentile", "threshold", "pseudo-labels", "paper", "of them right", "foreign"]
    lines = [[*header, "test error", "seconds"]]
    for cell, results in summary.finished.items():
        for t in range(len(results[0].rounds) if results else 0):
            found = [result.rounds[t] for result in results]
            lines.append([summary.label(cell), str(t), *round_cells(found, published_selected(summary, cell, t))])
    return lines


def round_cells(found: list[RoundResult], paper: int | None) -> list[str]:
    """The numbers of one round over seeds."""
    right = [one.pseudo_accuracy for one in found if one.pseudo_accuracy is not None]
    cuts = [one.threshold for one in found if one.threshold is not None]
    percentile = found[0].percentile
    return [
        NOTHING if percentile is None else f"{percentile:g}",
        f"{fmean(cuts):.4f}" if cuts else NOTHING,
        f"{fmean(one.selected for one in found):,.0f}",
        NOTHING if paper is None else f"{paper},000",
        text(spread([100 * value for value in right])),
        f"{fmean(one.foreign for one in found):,.0f}" if any(one.foreign for one in found) else NOTHING,
        text(spread([100 * one.test_error for one in found])),
        f"{fmean(one.seconds for one in found):.0f}",
    ]


def runs_table(summary: Summary) -> list[list[str]]:
    """A line per cell: the last round against the one best on validation rows, and what a run cost."""
    lines = [["cell", "last round", "best on validation", "seconds per run", "image passes per run"]]
    for cell, results in summary.finished.items():
        if results:
            last = spread([100 * result.rounds[-1].test_error for result in results])
            best = spread([best_on_validation(result) for result in results])
            seconds = fmean(result.seconds for result in results)
            passes = fmean(sum(one.passes for one in result.rounds) for result in results)
            lines.append([summary.label(cell), text(last), text(best), f"{seconds:,.0f}", f"{passes:,.0f}"])
    return lines


def published_selected(summary: Summary, cell: object, t: int) -> int | None:
    """Thousands of pseudo-labels that the paper reports for a round, where it does."""
    points = (point for point in summary.experiment.points if point.cell == cell and point.round == t)
    return next((point.published_selected for point in points), None)


def text(value: Spread | None) -> str:
    """A spread as people write it."""
    if value is None:
        return NOTHING
    deviation = "" if value.std is None else f" ± {value.std:.2f}"
    return f"{value.mean:.2f}{deviation} ({value.n})"


def grid(lines: list[list[str]]) -> str:
    """A Markdown table, the first line its header."""
    return "\n".join(_grid_lines(lines))


def _grid_lines(lines: list[list[str]]) -> Iterator[str]:
    for number, line in enumerate(lines):
        yield "| " + " | ".join(line) + " |"
        if number == 0:
            yield "|" + "---|" * len(line)


def _ours(point: Point, summary: Summary) -> str:
    failures = len(summary.failed[point.cell]) if point.cell else 0
    found = summary.of(point)
    failed = f"{failures} failed" if failures else ""
    return failed if found is None and failures else ", ".join(filter(None, [text(found), failed]))


def _paper(published: Number | None) -> str:
    if published is None:
        return NOTHING
    return f"{published.mean:.2f}" + ("" if published.std is None else f" ± {published.std:.2f}")


def _failure(result: Result) -> str:
    return f"- `{result.name}`, seed {result.seed}, after {len(result.rounds)} rounds: {result.reason}"
