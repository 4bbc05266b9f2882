"""A fit from beginning to end: images, data check, features, courses, outcome, ledger, model, report.

Every stage leaves its result in the run directory and begins by looking for it there, so that
resuming a run is running it again.
"""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save

from curriculum_labeling.data import cache
from curriculum_labeling.data.atomic import write_atomically
from curriculum_labeling.data.check import DataCheck, check_data
from curriculum_labeling.data.decode import UnreadableImage
from curriculum_labeling.data.describe import describe_pixels
from curriculum_labeling.data.images import Images
from curriculum_labeling.data.listing import Listing
from curriculum_labeling.data.progress import Progress
from curriculum_labeling.data.sizes import read_sizes
from curriculum_labeling.labels import FloatArray, IntArray, Labels, Round
from curriculum_labeling.runs import records, tables
from curriculum_labeling.runs.choices import BY_PASSES, Choices
from curriculum_labeling.runs.clock import ROUND, Clock
from curriculum_labeling.runs.courses import Course, HeldOut, gather_held_out, plan_courses, run_course, work_of
from curriculum_labeling.runs.directory import (
    CHECK,
    CHECKPOINTS,
    FOLDS,
    HELD_OUT,
    IMAGES,
    MODEL,
    OUTCOME,
    Run,
    RunError,
)
from curriculum_labeling.runs.finished import tidy
from curriculum_labeling.runs.kept import SCORES, read_scores
from curriculum_labeling.runs.options import FitOptions
from curriculum_labeling.runs.outcome import Outcome, conclude
from curriculum_labeling.runs.probe import ProbeLearner
from curriculum_labeling.runs.remembered import remember
from curriculum_labeling.runs.rows import Rows
from curriculum_labeling.runs.settings import most_steps, steps_for, training_config
from curriculum_labeling.runs.stages import Show, Stage
from curriculum_labeling.runs.stopping import StopRequest
from curriculum_labeling.runs.ways import FeatureWay, NetworkWay, TimedImageLearner, Way
from curriculum_labeling.vision.backbones import open_backbone
from curriculum_labeling.vision.embeddings import embed_images
from curriculum_labeling.vision.learner import Doing
from curriculum_labeling.vision.model_folder import CARD, write_model

CACHE = "cache"


def _say_nothing(check: DataCheck) -> None:
    """For runs that nobody watches."""


@dataclass(frozen=True, eq=False)
class Job:
    """All that a fit is about: where it is written, what was asked, what was chosen, and whom to tell."""

    run: Run
    options: FitOptions
    choices: Choices
    listing: Listing
    truth: IntArray | None
    clock: Clock
    show: Show
    stop: StopRequest
    before: Path | None = None
    announce: Callable[[DataCheck], None] = _say_nothing

    def tell(self, name: str, done: float = 0.0, total: float | None = None, left: float | None = None) -> None:
        """Show a stage, and end here if a stop was asked for."""
        self.stop.check()
        self.update(name, done, total, left)

    def update(self, name: str, done: float, total: float | None, left: float | None) -> None:
        """Show a stage."""
        self.clock.save_now_and_then()
        self.show(Stage(name, done, total, left, self.clock.seconds_left))


def fit(job: Job) -> Outcome:
    """Run, or finish, a fit; the outcome is written last."""
    torch.set_num_threads(job.options.threads or torch.get_num_threads())
    images = load_images(job)
    way, features = choose_way(job, images)
    rows = check_rows(job, images, features)
    courses = plan_courses(rows.labels, rows.check.groups, job.choices, job.options.seed)
    if isinstance(way, NetworkWay):
        schedule(job, way, courses, rows)
        if job.choices.turns:  # from unlabeled rows alone, so that no held-out one is among them
            way.learner.learn_turns(rows.unlabeled, seed=job.options.seed)
    held_out, models = run_courses(job, way, courses, rows)
    outcome = conclude(held_out, job.choices.pacing.rounds, job.options.deliver)
    given = read_scores(job.run.round_folder(outcome.delivered) / SCORES, rows.unlabeled, len(images.classes))
    outcome = outcome.with_warning(given.scores.classes, images.classes)
    deliver(job, way, models[outcome.delivered], rows, held_out, outcome)
    return outcome


def load_images(job: Job) -> Images:
    """Decode every image once; what cannot be read is left out or stops the run."""

    def progress(p: Progress) -> None:
        job.tell("decoding images", p.done, p.total, p.seconds_left)

    job.tell("decoding images", 0, len(job.listing))
    try:
        cached = cache.load(
            job.listing,
            job.run / CACHE,
            resolution=job.choices.resolution,
            unreadable=job.options.unreadable,
            progress=progress,
            flippable=job.choices.flip,
        )
    except cache.UnreadableImages as error:
        raise ValueError(
            f"{len(error.unreadable)} of {len(job.listing)} files cannot be read as images "
            f"({str(error.unreadable[0]).rstrip('.')}); repair or remove what cannot be read and fit "
            "again, or leave it out with --unreadable skip."
        ) from error
    except RuntimeError as error:  # a file changed meanwhile, or a decoding process died, perhaps of the same signal
        job.stop.check()
        raise RunError(str(error)) from error
    images = cached.images
    if job.run.has(IMAGES):
        records.check_unchanged(images, records.read_images(job.run))
        return images
    records.check_readable(images)
    truth = None
    if job.truth is not None:
        place = {path: row for row, path in enumerate(job.listing.paths)}
        truth = job.truth[[place[path] for path in images.paths or ()]]
    job.run.write(IMAGES, records.images_record(cached, truth, CACHE, job.choices.resolution))
    return images


def choose_way(job: Job, images: Images) -> tuple[Way, FloatArray]:
    """The way to learn, and features of all images: the backbone's, or a plain description of their colors."""
    stop = job.stop
    if job.choices.backbone is None:
        network = TimedImageLearner(
            images,
            training_config(job.choices),
            checkpoints=job.run / CHECKPOINTS,
            device=job.choices.device,
            stop=stop,
        )
        network.by_passes = job.choices.augmentation == BY_PASSES
        # A strong reference would be a cycle, and keep the image cache open until Python's collector comes by.
        under_way = weakref.proxy(network)

        def progress(doing: Doing, p: Progress) -> None:
            if doing == "scoring":
                job.tell(f"{under_way.stage}, scoring", p.done, p.total, p.seconds_left)
            else:  # which looks for a stop itself, and saves before it ends
                job.update(under_way.stage, p.done, p.total, p.seconds_left)

        network.progress = progress
        return NetworkWay(network, images), describe_pixels(images.pixels)
    backbone = open_backbone(job.choices.backbone, device=job.choices.device)
    job.tell(f"embedding with {backbone.name}", 0, len(images))
    source = backbone if job.before is None else remember(backbone, job.before, backbone.resolution)
    features = embed_images(
        images,
        source,
        job.run / CACHE,
        progress=lambda p: job.tell(f"embedding with {backbone.name}", p.done, p.total, p.seconds_left),
    )
    learner = ProbeLearner(features, len(images.classes), folder=job.run / CHECKPOINTS, stop=stop)
    return FeatureWay(learner, images, backbone), features


def check_rows(job: Job, images: Images, features: FloatArray) -> Rows:
    """The data check; a fault that would make results wrong stops the run here."""
    job.tell("checking the data")
    labeled = np.flatnonzero(images.labels >= 0)
    unlabeled = np.flatnonzero(images.labels < 0)
    known = records.read_images(job.run)
    if job.run.has(CHECK):
        check = DataCheck.from_json(job.run.read(CHECK))
    else:
        unreadable = [UnreadableImage(one["path"], one["reason"]) for one in known["unreadable"]]
        embedded = job.choices.backbone is not None
        sizes = read_sizes(images.paths or ())
        check = check_data(images, labeled, unlabeled, unreadable, features, sizes=sizes, embedded=embedded)
        if check.errors:
            raise ValueError(check.errors[0])
        job.run.write(CHECK, check.to_json())
    job.announce(check)
    truth = None if known["truth"] is None else np.array(known["truth"], dtype=np.int64)
    return Rows(images, Labels.of(labeled, images.labels[labeled]), unlabeled, check, features, truth)


def schedule(job: Job, way: NetworkWay, courses: list[Course], rows: Rows) -> None:
    """Tell the learner which trainings are ahead, and how long each may take."""
    learner = way.learner
    n = len(rows.labels) + len(rows.unlabeled)
    learner.clock = job.clock
    scored = len(rows.unlabeled) * (2 if job.choices.flip else 1)  # mirrored images as well
    learner.ahead = work_of(courses, job.choices.turns, job.choices.weights, scored)
    learner.most_steps = most_steps(n, job.choices.batch)
    learner.steps = None if job.choices.passes is None else steps_for(job.choices.passes, n, job.choices.batch)


def run_courses(job: Job, way: Way, courses: list[Course], rows: Rows) -> tuple[HeldOut | None, list[Any]]:
    """Every course; the main one leaves its rounds in the run directory, and its models are returned."""
    logits: dict[str, list[FloatArray]] = {course.name: [] for course in courses}
    models = []
    rounds = job.choices.pacing.rounds
    for course in courses:
        folder = job.run / ("rounds" if course.main else f"{FOLDS}/{course.name}")
        found = run_course(
            way,
            course,
            rows.unlabeled,
            job.choices.pacing,
            classes=len(rows.images.classes),
            seed=job.options.seed,
            folder=folder,
        )
        job.tell(f"{course.name}{ROUND}0", 0, rounds + 1)
        for round_, of_held_out in found:
            logits[course.name].append(of_held_out)
            if course.main:
                models.append(round_.model.model)  # type: ignore[attr-defined]
                keep_round(job, way, round_, rows)
            job.clock.save()
            job.tell(f"{course.name}{ROUND}{round_.number}", round_.number + 1, rounds + 1)
    return gather_held_out(courses, logits, job.choices), models


def keep_round(job: Job, way: Way, found: Round, rows: Rows) -> None:
    """Weights and numbers of a round; written anew on resume, so that a damaged file does not stay."""
    model = found.model.model  # type: ignore[attr-defined]
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in way.tensors(model).items()}
    write_atomically(job.run.round_folder(found.number) / "model.safetensors", save(tensors))
    record = records.round_record(found, rows.unlabeled, rows.truth, len(rows.images.classes))
    record |= {"seconds": getattr(model, "seconds", 0.0), "passes": getattr(model, "passes", None)}
    job.run.write(f"rounds/{found.number}/metrics.json", record)


def deliver(job: Job, way: Way, model: Any, rows: Rows, held_out: HeldOut | None, outcome: Outcome) -> None:
    """Write everything that is made from the rounds; the outcome comes last and means: finished."""
    job.tell("writing the model, the ledger and the report")
    run = job.run
    if not run.has(f"{MODEL}/{CARD}"):  # half of a model, which is not replaced but removed
        shutil.rmtree(run / MODEL, ignore_errors=True)
    write_model(run / MODEL, way.deliver(model, outcome.temperature))
    run.write(HELD_OUT, records.held_out_record(held_out))
    records.add_held_out(run, held_out)
    tables.write_tables(run, way, model, rows, outcome)
    run.write(OUTCOME, outcome.to_json(job.clock.seconds))
    tidy(run)
