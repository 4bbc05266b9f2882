"""The one runner: every cell of an experiment by the same learner and curriculum as everything else.

A finished cell is a file and is skipped; an interrupted one goes on from its checkpoints; one that
fails is written down with its reason, and tried again next time.
"""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import torch

from curriculum_labeling.curriculum import curriculum
from curriculum_labeling.experiments import gallery, two_moons
from curriculum_labeling.experiments.cells import training_config
from curriculum_labeling.experiments.measure import measure
from curriculum_labeling.experiments.points import Experiment
from curriculum_labeling.experiments.progress import Progress
from curriculum_labeling.experiments.results import Result, Results, RoundResult, Task, tasks_of
from curriculum_labeling.experiments.scales import Scale
from curriculum_labeling.experiments.sources import Sources, prepare
from curriculum_labeling.experiments.workers import SharedError, Worker, agreed, claimed, made_by_all
from curriculum_labeling.labels import Labels
from curriculum_labeling.runs.stages import Show, show_nothing
from curriculum_labeling.runs.stopping import StopRequest
from curriculum_labeling.vision.checkpoint import Checkpoints
from curriculum_labeling.vision.distributed import current_group
from curriculum_labeling.vision.learner import FineTuningImageLearner, ImageLearner
from curriculum_labeling.vision.training import DivergedError, Watch

FAILURES = (DivergedError, ValueError, torch.cuda.OutOfMemoryError)
# Those that all processes of a group meet together. Any other would leave some waiting for one that has gone on to
# the next cell, so it ends the group.
SHARED_FAILURES = (DivergedError, SharedError)
CHECKPOINT_EPOCHS, CHECKPOINT_MINUTES = 25, 1.0
GALLERY = ".gallery.npz"


def nothing() -> None:
    """For jobs whose tables nobody looks at before the end."""


@dataclass(frozen=True)
class Job:
    """An experiment to run, where, and how the work is shared.

    `drawn` is called whenever a cell has ended, so that the table on disk is always up to date.
    """

    experiment: Experiment
    scale: Scale
    seeds: int
    out: Path
    sources: Sources
    worker: Worker = Worker()  # noqa: RUF009 (it is frozen)
    only: tuple[str, ...] = ()
    policy: Path | None = None
    accumulate: int = 1
    device: str = "auto"
    show: Show = show_nothing
    stop: Callable[[], bool] = field(default_factory=StopRequest)
    drawn: Callable[[], object] = nothing

    @property
    def tasks(self) -> list[Task]:
        """Every cell that is asked for, with every seed."""
        return tasks_of(self.experiment, self.scale, self.seeds, self.only)

    def unfinished(self) -> list[Task]:
        """What is left to run, in this worker's order."""
        results = Results(self.out)
        return [task for task in self.worker.order(self.tasks) if not results.finished(task)]


def run(job: Job) -> None:
    """Run what is not finished yet; a KeyboardInterrupt leaves everything to go on from."""
    results, group = Results(job.out), current_group()
    # Another worker may end a cell at any moment: the processes of a group must not see different lists.
    ahead = group.from_first(job.unfinished())
    stop, progress = agreed(job.stop, group), Progress(ahead, job.show, job.worker.count)
    for task in ahead:
        if stop():
            raise KeyboardInterrupt
        with claimed(task, results, group) as mine:
            if mine:
                progress.start(task)
                run_task(job, task, results, progress.watch, stop)
        if mine and group.rank == 0:
            job.drawn()


def run_task(job: Job, task: Task, results: Results, watch: Watch, stop: Callable[[], bool]) -> None:
    """Run one cell to its end and write down what came of it."""
    rounds: list[RoundResult] = []
    failure: Exception | None = None
    try:
        found = moons_rounds(task) if task.cell.data == "moons" else image_rounds(job, task, results, watch, stop)
        rounds.extend(found)
    except FAILURES as error:
        if current_group().size > 1 and not isinstance(error, SHARED_FAILURES):
            raise
        failure = error
    if current_group().rank == 0:
        results.write(result_of(task, rounds, failure), task)
        if failure is None:
            shutil.rmtree(checkpoints_of(job, task), ignore_errors=True)


def image_rounds(
    job: Job, task: Task, results: Results, watch: Watch, stop: Callable[[], bool]
) -> Iterator[RoundResult]:
    """The rounds of a cell on images, measured."""
    cell, group = task.cell, current_group()
    config, prepared = made_by_all(
        lambda: (
            training_config(cell, policy=job.policy, accumulate=job.accumulate),
            prepare(cell, task.seed, job.sources),
        ),
        group,
    )
    images, split = prepared.images, prepared.split
    learner = (FineTuningImageLearner if cell.fine_tuned else ImageLearner)(
        images,
        config,
        checkpoints=Checkpoints(checkpoints_of(job, task), CHECKPOINT_EPOCHS, CHECKPOINT_MINUTES),
        device=job.device,
        preprocess_rows=prepared.training_rows,
        watch=watch,
        stop=stop,
    )
    labeled = Labels.of(split.labeled, images.labels[split.labeled])
    options = {"classes": len(images.classes), "seed": task.seed}
    for found in curriculum(learner, labeled, split.unlabeled, pacing=cell.pacing, group=group, **options):
        yield measure(found, prepared, cell)
    if found.selected and group.rank == 0:
        gallery.save(gallery.pick(found.labels, images), results.path(task, GALLERY))


def moons_rounds(task: Task) -> Iterator[RoundResult]:
    """The rounds on two moons; the error is that on the unlabeled rows."""
    moons = two_moons.draw_moons(task.seed)
    for found in two_moons.run_moons(moons, two_moons.method_of(task.cell.pacing), seed=task.seed):
        truth = moons.truth[found.labels.pseudo_rows]
        yield RoundResult(
            found.number,
            test_error=1 - two_moons.accuracy(moons, found),
            top5_error=None,
            validation_error=None,
            selected=found.selected,
            foreign=0,
            pseudo_accuracy=float((truth == found.labels.pseudo_classes).mean()) if found.selected else None,
            percentile=found.percentile,
            threshold=found.threshold,
            entered=found.entered,
            left=found.left,
            flipped=found.flipped,
            seconds=0.0,
            passes=0,
        )


def checkpoints_of(job: Job, task: Task) -> Path:
    """Where the progress of a task is kept until it has ended."""
    return job.out / "checkpoints" / task.stem


def result_of(task: Task, rounds: list[RoundResult], failure: Exception | None) -> Result:
    """What to write down about a run."""
    return Result(
        task.name,
        task.seed,
        task.cell.describe(),
        "finished" if failure is None else "failed",
        "" if failure is None else (str(failure).splitlines() or [type(failure).__name__])[0],
        machine(),
        tuple(rounds),
    )


def machine() -> str:
    """The kind of machine, as results state it."""
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else f"{os.cpu_count()} cores"
    processes = current_group().size
    shared = "" if processes == 1 else f", {processes} processes"
    return f"{device}{shared}, {platform.machine()}, torch {torch.__version__}"
