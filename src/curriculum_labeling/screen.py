"""What the command line shows: the plan of a run, its progress with the time left, and what came out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

from curriculum_labeling.data.check import DataCheck
from curriculum_labeling.report import wording
from curriculum_labeling.runs.choices import HINT, Choices
from curriculum_labeling.runs.directory import Run
from curriculum_labeling.runs.fit import Job
from curriculum_labeling.runs.outcome import Outcome
from curriculum_labeling.runs.stages import Show, Stage


def duration(seconds: float) -> str:
    """A duration as the report words it, with spaces that a log can be searched for."""
    return wording.duration(seconds).replace(wording.SPACE, " ")


def show_plan(console: Console, job: Job, seconds: float | None) -> None:
    """What was chosen, why, and how long it will take, before anything starts."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for _ in range(3):
        table.add_column(overflow="fold")  # a command to copy must be whole
    labeled = int((job.listing.labels >= 0).sum())
    table.add_row(
        "images",
        f"{labeled:,} labeled in {len(job.listing.classes)} classes, {len(job.listing) - labeled:,} unlabeled",
        "",
    )
    for name, value in plan_lines(job.choices):
        table.add_row(name, escape(value), f"[dim]{escape(job.choices.reasons.get(name, ''))}[/dim]")
    if seconds is not None and job.choices.minutes is not None and seconds > 66 * job.choices.minutes:
        late = f"[yellow]more than the {job.choices.minutes:g} minutes given: images must all be embedded[/yellow]"
        table.add_row("time", f"about {duration(seconds)}", late)
    elif seconds is not None:
        table.add_row("time", f"about {duration(seconds)}", "[dim]estimated on this machine[/dim]")
    console.print(table)
    if hint := job.choices.reasons.get(HINT):
        console.print(f"[yellow]hint:[/yellow] {escape(hint)}", soft_wrap=True, highlight=False)
    console.print(f"run directory  {escape(str(job.run.folder))}", soft_wrap=True, highlight=False)


def plan_lines(choices: Choices) -> Iterator[tuple[str, str]]:
    """The settings that a user would want to see."""
    yield "features", choices.backbone or "none, a network is trained from scratch"
    if choices.network:
        yield "network", choices.network
        yield "budget", "small" if choices.small else "large"
        yield "start", "knowing which way up images are, learned without labels" if choices.turns else "fresh weights"
        yield "augmentation", choices.augmentation
        yield "flip", "yes" if choices.flip else "no"
    yield "resolution", f"{choices.resolution} pixels"
    taken = ", ".join(f"{100 - p:g}" for p in choices.pacing.percentiles)
    shares = (
        "one cut for all classes" if choices.pacing.balance == "none" else f"class shares: {choices.pacing.balance}"
    )
    surest = "all unlabeled" if taken == "100" else f"the surest {taken} % of the unlabeled"
    then = f"then {surest}; {shares}" if taken else "no rounds"
    yield "rounds", f"labels only, {then}"
    held = f"{choices.folds} folds" if choices.folds else f"{100 * choices.holdout:.0f} % of the labels"
    yield "validation", held if choices.folds or choices.holdout else "none"
    if choices.minutes:
        yield "minutes", f"{choices.minutes:g}"
    if choices.passes:
        yield "passes", f"{choices.passes:g} over all images, in each round"


@contextmanager
def progress_of(console: Console) -> Iterator[Show]:
    """A bar for the stage and the time left in the run; plain lines where there is no terminal."""
    if not console.is_terminal:
        yield _lines(console)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[left]}"))
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("starting", total=None, left="")

        def show(stage: Stage) -> None:
            progress.update(
                task, description=escape(stage.name), total=stage.total, completed=stage.done, left=_left(stage)
            )

        yield show


def show_outcome(console: Console, job: Job, outcome: Outcome, report: Path | None) -> None:
    """The verdict, and where everything is."""
    console.print(f"[bold]{escape(str(outcome.gain))}[/bold]", soft_wrap=True)
    console.print(escape(outcome.why), soft_wrap=True)
    for line in truth_lines(job.run, outcome.delivered):
        console.print(line, soft_wrap=True)
    rows = [("labels for every image", "ledger.csv"), ("what to label next", "suggestions.csv"), ("model", "model")]
    rows += [("report", report.name)] if report is not None else []
    for name, file in rows:
        console.print(f"{name:<24}{escape(str(job.run / file))}", soft_wrap=True, highlight=False)
    console.print(f"Done in {duration(job.clock.seconds)}.")


def truth_lines(run: Run, delivered: int) -> Iterator[str]:
    """How many of the unlabeled images are right, where their classes were given for comparison."""
    only, right = (run.read(f"rounds/{t}/metrics.json")["truth_accuracy"] for t in (0, delivered))
    if right is not None:
        compared = f" (labels only: {wording.percent(only)})" if delivered else ""
        yield f"Of the unlabeled images whose class --truth knows, {wording.percent(right)} are right{compared}."


def announce_to(console: Console) -> Callable[[DataCheck], None]:
    """Print what the data check found, before training."""

    def announce(check: DataCheck) -> None:
        for warning in check.warnings:
            console.print(f"[yellow]check:[/yellow] {escape(warning)}", soft_wrap=True)
        if not check.warnings:
            console.print("[green]check:[/green] nothing suspicious in the data")

    return announce


def _left(stage: Stage) -> str:
    parts = []
    if stage.seconds_left is not None:
        parts.append(f"{duration(stage.seconds_left)} left in this stage")
    if stage.run_seconds_left is not None:
        # A stage that was planned by another pace may need more than was left for all of them.
        parts.append(f"{duration(max(stage.run_seconds_left, stage.seconds_left or 0))} left in the run")
    return ", ".join(parts)


def _lines(console: Console) -> Show:
    seen: set[str] = set()

    def show(stage: Stage) -> None:
        if stage.name not in seen:
            seen.add(stage.name)
            left = _left(stage)
            console.print(escape(stage.name + (f" ({left})" if left else "")))

    return show
