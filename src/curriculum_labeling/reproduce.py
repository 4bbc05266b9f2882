"""`curriculum reproduce`: the experiments of the paper, run and drawn, or listed with what they cost."""

from __future__ import annotations

from functools import partial

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from curriculum_labeling import screen
from curriculum_labeling.data.progress import Progress
from curriculum_labeling.experiments.catalog import EXPERIMENTS, find_experiment
from curriculum_labeling.experiments.cost import experiment_passes
from curriculum_labeling.experiments.options import ReproduceOptions
from curriculum_labeling.experiments.pages import write_pages
from curriculum_labeling.experiments.points import Experiment
from curriculum_labeling.experiments.runner import Job, run
from curriculum_labeling.experiments.scales import CPU, PAPER, SCALES
from curriculum_labeling.experiments.sources import Sources, check_data
from curriculum_labeling.experiments.summary import Summary
from curriculum_labeling.experiments.workers import Worker
from curriculum_labeling.runs.stages import Show, Stage, show_nothing
from curriculum_labeling.runs.stopping import StopRequest, stop_request
from curriculum_labeling.vision.distributed import Group, processes

FAILED, INTERRUPTED = 1, 130


def list_experiments(console: Console) -> int:
    """Every key, how many cells it has, and image passes per seed at either scale."""
    table = Table(
        box=None, padding=(0, 2, 0, 0), caption="paper, cpu: image passes of one seed", caption_justify="left"
    )
    for title in ("key", "cells", "paper", "cpu", "what"):
        table.add_column(title, justify="left" if title in ("key", "what") else "right", no_wrap=title != "what")
    for one in EXPERIMENTS.values():
        costs = (f"{experiment_passes(one, scale) / 1e6:,.1f} M" for scale in (PAPER, CPU))
        table.add_row(one.key, str(len(one.cells)), *costs, escape(one.title))
    console.print(table)
    return 0


def run_reproduce(console: Console, key: str, options: ReproduceOptions) -> int:
    """Run the cells of an experiment that are not finished, then draw it."""
    experiment = find_experiment(key)
    with processes() as group, stop_request() as stop, screen.progress_of(console) as show:
        job = _job(experiment, options, stop, show if group.rank == 0 else show_nothing)
        try:
            if not options.redraw:
                _run(console, job, group)
        except KeyboardInterrupt:
            if group.rank == 0:
                write_pages(experiment, job.scale, job.seeds, job.out)
                console.print("Stopped, nothing is lost. The same command goes on.")
            return INTERRUPTED
    if group.rank:
        return 0
    return _show(console, write_pages(experiment, job.scale, job.seeds, job.out), options)


def _job(experiment: Experiment, options: ReproduceOptions, stop: StopRequest, show: Show) -> Job:
    scale = SCALES[options.scale]
    seeds, out = options.seeds or scale.seeds, options.folder
    return Job(
        experiment,
        scale,
        seeds,
        out,
        Sources(options.data, out / "images", options.truth, partial(_decoding, stop, show)),
        Worker.parse(options.worker),
        only=options.only,
        policy=options.policy,
        accumulate=options.accumulate,
        device=options.device,
        show=show,
        stop=stop,
        drawn=partial(write_pages, experiment, scale, seeds, out, figures=False),
    )


def _decoding(stop: StopRequest, show: Show, progress: Progress) -> None:
    stop.check()
    show(Stage("decoding images", progress.done, progress.total, progress.seconds_left))


def _run(console: Console, job: Job, group: Group) -> None:
    check_data([task.cell for task in job.unfinished()], job.sources)
    if group.rank == 0:
        console.print(f"{job.experiment.key}: {escape(job.experiment.title)}", soft_wrap=True)
        console.print(escape(job.scale.sentence_for(job.experiment.cells)), soft_wrap=True, highlight=False)
    run(job)


def _show(console: Console, summary: Summary, options: ReproduceOptions) -> int:
    """Say where everything is, and what failed."""
    key, out = summary.experiment.key, options.folder
    failures = [result for results in summary.failed.values() for result in results]
    done = sum(len(results) for results in summary.finished.values())
    console.print(f"{done} of {summary.runs} runs finished: {escape(str(out / key))}.md and .csv", soft_wrap=True)
    for result in failures:
        console.print(escape(f"failed: {result.name}, seed {result.seed}: {result.reason}"), soft_wrap=True)
    return FAILED if failures else 0
