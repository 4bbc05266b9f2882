"""Every loader of the package, beside the small real files that it reads."""

import gzip
import json

import numpy as np

from curriculum_labeling.data import cifar10, manifests, split_files
from curriculum_labeling.data.check import DataCheck
from curriculum_labeling.data.partial import Partial
from curriculum_labeling.experiments import gallery
from curriculum_labeling.runs.directory import CHECK, Run
from curriculum_labeling.runs.kept import read_scores
from curriculum_labeling.runs.records import read_images
from curriculum_labeling.vision.checkpoint import Checkpoints, Store
from curriculum_labeling.vision.embedding_journal import Journal
from curriculum_labeling.vision.model_folder import read_model, write_model
from curriculum_labeling.vision.policy import load_policy
from tests.faults.data_files import (
    IMAGES,
    OPTIONS,
    POLICY,
    archived_batch,
    binary_batch,
    pickled_batch,
    read_archive,
    read_batches,
    read_corrections,
    read_image,
    read_imagenet,
    read_options,
    read_svhn,
    save_corrections,
    save_imagenet,
    save_manifest,
    save_packed,
    save_svhn,
)
from tests.faults.fuzzing import Loader
from tests.faults.run_files import (
    LABELS,
    RUN_FILES,
    TASK,
    read_beside_cache,
    read_cache,
    read_cell,
    read_graph,
    read_packed,
    read_report,
    read_signed,
    resume,
    save_begun,
    save_cache,
    save_cell,
    save_checked,
    save_checkpoint,
    save_embeddings,
    save_gallery,
    save_model,
    save_partial,
    save_run,
    save_scores,
    save_split,
    unpack_scores,
)
from tests.vision.deliveries import onnx_probe


def write(name: str, data):
    """A maker of one file."""
    return lambda folder: (folder / name).write_bytes(data() if callable(data) else data)


def json_of(value):
    return json.dumps(value).encode()


LOADERS = (
    Loader("CIFAR-10 binary", write("test_batch.bin", binary_batch), "test_batch.bin", read_batches),
    Loader("CIFAR-10 pickle", write("test_batch", pickled_batch), "test_batch", read_batches),
    Loader("CIFAR-10 pickle, protocol 0", write("test_batch", lambda: pickled_batch(0)), "test_batch", read_batches),
    Loader("CIFAR-10 .tar", write("inside.tar", archived_batch), "inside.tar", read_archive),
    Loader(
        "CIFAR-10 .tar.gz",
        write("a.tar.gz", lambda: gzip.compress(archived_batch())),
        "a.tar.gz",
        lambda f: cifar10.load(f / "a.tar.gz", part="test"),
    ),
    Loader("SVHN", save_svhn, "test_32x32.mat", read_svhn),
    Loader("SVHN compressed", save_packed, "test_32x32.mat", read_svhn),
    Loader("ImageNet classes by order", save_imagenet, "truth.txt", read_imagenet("truth.txt")),
    Loader("ImageNet classes by name", save_imagenet, "named.txt", read_imagenet("named.txt")),
    Loader("ImageNet meta.mat", save_imagenet, "meta.mat", read_imagenet("truth.txt")),
    *(Loader(f"image {name}", make, "image", read_image) for name, make in IMAGES.items()),
    Loader("manifest", save_manifest, "manifest.csv", lambda f: manifests.list_images(f / "manifest.csv")),
    Loader("corrections", save_corrections, "fixed.csv", read_corrections),
    Loader("YAML options", write("options.yaml", OPTIONS), "options.yaml", read_options),
    Loader("policy", write("policy.json", json_of(POLICY)), "policy.json", lambda f: load_policy(f / "policy.json")),
    *(Loader(f"report of {name}", save_run, f"run/{name}", read_report) for name in RUN_FILES),
    Loader("report of ledger.csv", save_run, "run/ledger.csv", read_report),
    Loader("report of suggestions.csv", save_run, "run/suggestions.csv", read_report),
    Loader("report of scores.npz", save_run, "run/rounds/1/scores.npz", read_report),
    *(
        Loader(f"resume from {name}", save_begun, f"run/{name}", resume)
        for name in ("config.json", "listing.json", "clock.json")
    ),
    Loader("check of a run", save_checked, "run/check.json", lambda f: DataCheck.from_json(Run(f / "run").read(CHECK))),
    Loader("images of a run", save_run, "run/images.json", lambda f: read_images(Run(f / "run"))),
    Loader("kept scores", save_scores, "scores.npz", lambda f: read_scores(f / "scores.npz", np.arange(30))),
    Loader("kept scores, packed again", unpack_scores, "classes.npy", read_packed),
    Loader("model.json", save_model, "model/model.json", lambda f: read_model(f / "model")),
    Loader("model weights", save_model, "model/weights.safetensors", read_signed),
    Loader("model graph", lambda f: write_model(f / "model", onnx_probe(f)), "model/backbone.onnx", read_graph),
    Loader("checkpoint", save_checkpoint, "fit/progress.json", lambda f: Store(Checkpoints(f), "fit").load()),
    Loader(
        "steps of a checkpoint", save_checkpoint, "fit/progress.json", lambda f: Store(Checkpoints(f), "fit").steps()
    ),
    Loader(
        "checkpoint tensors", save_checkpoint, "fit/step-1.safetensors", lambda f: Store(Checkpoints(f), "fit").load()
    ),
    Loader("experiment cell", save_cell, f"cells/{TASK.stem}.json", read_cell),
    Loader("experiment gallery", save_gallery, "gallery.npz", lambda f: gallery.read(f / "gallery.npz")),
    Loader(
        "split .json", save_split(".json"), "split.json", lambda f: split_files.load_split(f / "split.json", LABELS)
    ),
    Loader("split .npz", save_split(".npz"), "split.npz", lambda f: split_files.load_split(f / "split.npz", LABELS)),
    Loader("cache index", save_cache, "cache/index.json", read_cache),
    Loader("cache pixels", save_cache, "cache/pixels.npy", read_cache),
    Loader("digests of another cache", save_cache, "cache/digests.npy", read_beside_cache),
    Loader(
        "cache under construction",
        save_partial,
        "partial/journal.jsonl",
        lambda f: Partial(f / "partial", 5, 16).open(),
    ),
    Loader("embeddings under construction", save_embeddings, "journal.jsonl", lambda f: Journal(f, 10, 4, 5).open()),
)
