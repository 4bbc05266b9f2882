"""Every loader of the package, beside the small real files that it reads."""

import contextlib
import gzip
import io
import json
import pickle
import shutil
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from scipy.io import savemat

from curriculum_labeling import cli
from curriculum_labeling.data import cache, cifar10, imagenet, manifests, split_files, svhn
from curriculum_labeling.data.check import DataCheck, check_data
from curriculum_labeling.data.chunks import DecodedChunk
from curriculum_labeling.data.decode import decode
from curriculum_labeling.data.listing import Listing
from curriculum_labeling.data.partial import Partial
from curriculum_labeling.data.sizes import read_sizes
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
from curriculum_labeling.runs.records import read_images
from curriculum_labeling.runs.sources import apply_corrections, list_sources
from curriculum_labeling.runs.stages import show_nothing
from curriculum_labeling.runs.start import begin, reopen
from curriculum_labeling.runs.stopping import StopRequest
from curriculum_labeling.vision.checkpoint import Checkpoints, Store
from curriculum_labeling.vision.embedding_journal import Journal
from curriculum_labeling.vision.model_folder import read_model, write_model
from curriculum_labeling.vision.model_tensors import sha256_of
from curriculum_labeling.vision.policy import load_policy
from tests.data.photos import save_scenes, scene
from tests.experiments.layouts import WNIDS, pictures
from tests.faults.fuzzing import Loader
from tests.report.runs import digits_run
from tests.test_cli import lay_out
from tests.vision.deliveries import network, onnx_probe

LABELS = np.arange(40) % 4
POLICY = [[["Posterize", 0.4, 8], ["Rotate", 0.6, 9]], [["ShearX", 0.9, 4], ["AutoContrast", 0.8, None]]]


# CIFAR-10


def batch_rows(rows=6):
    labels = np.arange(rows) % 10
    return pictures(labels).transpose(0, 3, 1, 2).reshape(rows, -1), labels


def binary_batch():
    planes, labels = batch_rows()
    return np.concatenate([labels.astype(np.uint8)[:, None], planes], axis=1).tobytes()


def pickled_batch(protocol=2):
    planes, labels = batch_rows()
    content = {b"batch_label": b"testing", b"data": planes, b"labels": labels.tolist(), b"filenames": [b"a.png"] * 6}
    return pickle.dumps(content, protocol=protocol)


def archived_batch():
    inside = io.BytesIO()
    with tarfile.open(fileobj=inside, mode="w") as archive:
        info = tarfile.TarInfo("cifar-10-batches-bin/test_batch.bin")
        info.size = len(binary_batch())
        archive.addfile(info, io.BytesIO(binary_batch()))
    return inside.getvalue()


def read_archive(folder: Path):
    """The damage is done to the archive inside, which compression would hide."""
    (folder / "cifar-10-binary.tar.gz").write_bytes(gzip.compress((folder / "inside.tar").read_bytes(), 1))
    return cifar10.load(folder / "cifar-10-binary.tar.gz", part="test")


def read_batches(folder: Path):
    return cifar10.load(folder, part="test")


# SVHN and ImageNet


def save_svhn(folder: Path, compressed: bool = False):
    labels = np.arange(6) % 10
    y = np.where(labels == 0, 10, labels).astype(np.uint8)[:, None]
    content = {"X": pictures(labels).transpose(1, 2, 3, 0), "y": y}
    savemat(folder / "test_32x32.mat", content, do_compression=compressed)


def save_packed(folder: Path):
    save_svhn(folder, compressed=True)


def read_svhn(folder: Path):
    return svhn.load(folder, part="test")


def save_imagenet(folder: Path):
    for wnid in WNIDS:
        (folder / "train" / wnid).mkdir(parents=True)
        scene().save(folder / "train" / wnid / "a.JPEG")
    (folder / "val").mkdir()
    for i in range(1, 5):
        scene().save(folder / "val" / f"ILSVRC2012_val_{i:08d}.JPEG")
    synsets = np.zeros(3, dtype=[("ILSVRC2012_ID", object), ("WNID", object), ("words", object)])
    for i, wnid in enumerate(WNIDS):
        synsets[i] = (i + 1, wnid, "a fish")
    savemat(folder / "meta.mat", {"synsets": synsets}, do_compression=False)
    (folder / "truth.txt").write_text("1\n3\n2\n1\n")
    lines = (f"ILSVRC2012_val_{i:08d}.JPEG {i % 3}\n" for i in range(1, 5))
    (folder / "named.txt").write_text("".join(lines))


def read_imagenet(name: str):
    return lambda folder: imagenet.list_images(folder, part="val", truth=folder / name)


# Images


def save_image(kind: str, mode: str = "RGB", **options):
    def make(folder: Path):
        image = (
            scene(40, 30).convert(mode)
            if mode != "I;16"
            else Image.fromarray(np.arange(1200, dtype=np.uint16).reshape(30, 40))
        )
        image.save(folder / "image", kind, **options)

    return make


def read_image(folder: Path):
    read_sizes([str(folder / "image")])
    return decode(folder / "image", 16)


# Manifests, corrections, options


def save_manifest(folder: Path):
    save_scenes(folder, 4)
    lines = ["path,label", "000.jpg,cat", '"001.jpg","a, b"', "002.jpg,", "003.jpg,dog", ""]
    (folder / "manifest.csv").write_text("\n".join(lines))


def save_corrections(folder: Path):
    save_manifest(folder)
    (folder / "fixed.csv").write_text("path,label,confidence\n000.jpg,dog,0.5\n001.jpg,'=x,0.5\n002.jpg,,0.5\n")


def read_corrections(folder: Path):
    return apply_corrections(manifests.list_images(folder / "manifest.csv"), folder / "fixed.csv")


def read_options(folder: Path):
    """The command line refuses what is missing, so nothing is written whatever the file asks for."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        code = cli.main(["fit", "--config", str(folder / "options.yaml")])
    assert code == 2
    if "needs LABELED and UNLABELED" not in said.getvalue():
        raise ValueError(said.getvalue().strip())


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


def write(name: str, data):
    """A maker of one file."""
    return lambda folder: (folder / name).write_bytes(data() if callable(data) else data)


def json_of(value):
    return json.dumps(value).encode()


OPTIONS = b"minutes: 30\nstep: 20\npercentiles: [80, 50, 0]\nbalance: none\nseed: 3\nflip: false\nnetwork: compact\n"
IMAGES = {
    "jpeg": save_image("JPEG", quality=80),
    "jpeg progressive": save_image("JPEG", progressive=True),
    "jpeg cmyk": save_image("JPEG", "CMYK"),
    "png": save_image("PNG"),
    "png palette": save_image("PNG", "P", transparency=3),
    "png 16 bits": save_image("PNG", "I;16"),
    "gif": save_image("GIF", "P"),
    "bmp": save_image("BMP"),
    "tiff": save_image("TIFF"),
    "tiff lzw": save_image("TIFF", compression="tiff_lzw"),
    "webp": save_image("WEBP"),
    "ppm": save_image("PPM"),
    "jpeg 2000": save_image("JPEG2000"),
    "avif": save_image("AVIF"),
}
RUN_FILES = ("config.json", "images.json", "held_out.json", "outcome.json", "check.json", "rounds/1/metrics.json")

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
