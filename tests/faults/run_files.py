"""Small real files that runs and experiments write, and how they are read: runs, models, checkpoints, caches."""

import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
import torch

from curriculum_labeling.data import cache, split_files
from curriculum_labeling.data.check import check_data
from curriculum_labeling.data.chunks import DecodedChunk
from curriculum_labeling.data.listing import Listing
from curriculum_labeling.data.partial import Partial
from curriculum_labeling.data.toys import digits_images
from curriculum_labeling.experiments import gallery
from curriculum_labeling.experiments.catalog import EXPERIMENTS
from curriculum_labeling.experiments.pages import write_pages
from curriculum_labeling.experiments.results import Result, Results, RoundResult, tasks_of
from curriculum_labeling.experiments.scales import CPU
from curriculum_labeling.labels import Labels, Scores, Split
from curriculum_labeling.report.read import read_run
from curriculum_labeling.runs.directory import CHECK, Run
from curriculum_labeling.runs.kept import KeptModel, read_scores
from curriculum_labeling.runs.options import FitOptions
from curriculum_labeling.runs.sources import list_sources
from curriculum_labeling.runs.stages import show_nothing
from curriculum_labeling.runs.start import begin, reopen
from curriculum_labeling.runs.stopping import StopRequest
from curriculum_labeling.vision.checkpoint import Checkpoints, Store
from curriculum_labeling.vision.embedding_journal import Journal
from curriculum_labeling.vision.model_folder import read_model, write_model
from curriculum_labeling.vision.model_tensors import sha256_of
from tests.data.photos import save_scenes, scene
from tests.report.runs import digits_run
from tests.test_cli import lay_out
from tests.vision.deliveries import network

LABELS = np.arange(40) % 4
RUN_FILES = ("config.json", "images.json", "held_out.json", "outcome.json", "check.json", "rounds/1/metrics.json")


# Runs


def save_run(folder: Path):
    digits_run(folder / "run", given=20, held=10, unlabeled=20, percentiles=(50.0, 0.0))


def read_report(folder: Path):
    return read_run(folder / "run")


def save_begun(folder: Path):
    lay_out(folder)
    options = FitOptions(features="none", truth=folder / "truth.csv", passes=1.0)
    sources = folder / "labeled", folder / "unlabeled"
    with begin(*sources, folder / "run", options, force=False, show=show_nothing, stop=StopRequest()) as job:
        job.clock.fix("main, round 0", 7)


def resume(folder: Path):
    return reopen(folder / "run", show=show_nothing, stop=StopRequest())


def save_checked(folder: Path):
    save_begun(folder)
    listing = list_sources(folder / "labeled", folder / "unlabeled")
    images = cache.load(listing, folder / "cache", resolution=16, workers=1).images
    check = check_data(images, np.flatnonzero(images.labels >= 0), np.flatnonzero(images.labels < 0))
    Run(folder / "run").write(CHECK, check.to_json())


def save_scores(folder: Path):
    rows = np.arange(30)
    scores = Scores.from_logits(rows, np.random.default_rng(0).normal(size=(30, 4)))
    labels = Labels.of([90], [0]).with_pseudo(scores, rows < 9)
    KeptModel(None, rows, folder / "scores.npz", labels)._keep(scores)


def unpack_scores(folder: Path):
    save_scores(folder)
    with zipfile.ZipFile(folder / "scores.npz") as archive:
        archive.extractall(folder)


def read_packed(folder: Path):
    """The damage is done inside, where checksums would hide it."""
    with zipfile.ZipFile(folder / "scores.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        for file in folder.glob("*.npy"):
            archive.write(file, file.name)
    return read_scores(folder / "scores.npz", np.arange(30), 4)


# Models, checkpoints


def save_model(folder: Path):
    write_model(folder / "model", network())


def sign(folder: Path, file: str, *keys: str):
    """Make model.json agree with a damaged file, as a stranger would."""
    card = json.loads((folder / "model.json").read_text())
    place = card
    for key in keys:
        place = place[key]
    place["sha256"] = sha256_of(folder / file)
    (folder / "model.json").write_text(json.dumps(card))


def read_signed(folder: Path):
    sign(folder / "model", "weights.safetensors", "weights")
    return read_model(folder / "model")


def read_graph(folder: Path):
    sign(folder / "model", "backbone.onnx", "backbone")
    return read_model(folder / "model")


def save_checkpoint(folder: Path):
    store = Store(Checkpoints(folder), "fit")
    store.save("step-1", {"weight": torch.ones(3, 3)}, {"step": 1, "seconds": 2.0, "finished": False})


# Experiments, splits, caches

TASK = tasks_of(EXPERIMENTS["table-6"], CPU, 1)[0]


def save_cell(folder: Path):
    rounds = tuple(
        RoundResult(t, 0.2, None, 0.3, 100 * t, 0, 0.9 if t else None, None, 0.8, 100, 0, 0, 30.0, 5000)
        for t in range(TASK.cell.pacing.rounds + 1)
    )
    Results(folder).write(Result(TASK.name, 0, TASK.cell.describe(), "finished", "", "2 cores", rounds), TASK)


def read_cell(folder: Path):
    write_pages(EXPERIMENTS["table-6"], CPU, 1, folder)


def save_gallery(folder: Path):
    images = digits_images()
    scores = Scores.from_logits(np.arange(50), np.random.default_rng(0).normal(size=(50, 10)))
    labels = Labels.of([90], [0]).with_pseudo(scores, np.ones(50, dtype=bool))
    gallery.save(gallery.pick(labels, images), folder / "gallery.npz")


def save_split(suffix: str):
    split = Split(*(np.arange(a, a + 10) for a in (0, 10, 20, 30)))
    return lambda folder: split_files.save_split(folder / f"split{suffix}", split, LABELS)


def save_cache(folder: Path):
    save_scenes(folder / "photos", 5)
    (folder / "photos" / "004.jpg").write_bytes(b"no image")
    cache.load(_photos(folder), folder / "made", resolution=16, workers=1, unreadable="skip")
    (found,) = (path for path in (folder / "made").glob("16px-*") if path.is_dir())
    found.rename(folder / "cache")


def read_cache(folder: Path):
    return cache._open(folder / "cache", _photos(folder), True)


def read_beside_cache(folder: Path):
    """Another cache, which looks for its rows in the damaged one."""
    shutil.rmtree(folder / "made")
    shutil.copytree(folder / "cache", folder / "made" / "16px-other")
    scene(30, 30, seed=len(list(folder.iterdir()))).save(folder / "photos" / "005.jpg")
    return cache.load(_photos(folder), folder / "made", resolution=16, workers=1, unreadable="skip")


def _photos(folder: Path):
    paths = tuple(str(path) for path in sorted((folder / "photos").iterdir()))
    return Listing(paths, np.full(len(paths), -1), ("a", "b"))


def save_partial(folder: Path):
    partial = Partial(folder / "partial", 5, 16)
    partial.open()
    partial.write(DecodedChunk(0, bytes(5 * 16 * 16 * 3), {4: "is empty"}))


def save_embeddings(folder: Path):
    journal = Journal(folder, 10, 4, 5)
    journal.open()
    for number in (0, 1):
        journal.write(number, np.ones((5, 4), dtype=np.float32))
