"""What `scale.py` measures, each in a process of its own: `WORK[name](size)` gives the stages."""

from __future__ import annotations

import io
import json
import os
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import simplejpeg
from PIL import Image

from curriculum_labeling.labels import Labels, Scores
from curriculum_labeling.order import kth_largest
from curriculum_labeling.pacing import Balance, PercentilePacing, select
from scale_meter import Meter

FEATURES, CLASSES = 128, 10
Records = list[dict[str, Any]]


def selected(n: int, balance: Balance, classes: int) -> Records:
    """The product's own selection of the top fifth, from float32 scores."""
    values, groups = confidences(n, classes)
    nothing = np.broadcast_to(np.int64(0), n)
    scores = Scores(nothing, groups, values, groups, np.broadcast_to(np.float32(0), n))
    meter = Meter()
    with meter.stage(f"select, balance {balance!r}"):
        select(PercentilePacing(balance=balance), scores, 1, prior=np.full(classes, 1 / classes))
    return meter.as_records()


def sharded(n: int) -> Records:
    """The threshold of ten shards, whose counts are added up."""
    values, _ = confidences(n, 1)
    meter = Meter()
    with meter.stage("threshold of 10 shards"):
        kth_largest(lambda: [(shard, None) for shard in np.split(values, 10)], np.array([n // 5]))
    return meter.as_records()


def by_numpy(n: int) -> Records:
    """The same selection with np.percentile."""
    values, _ = confidences(n, 1)
    meter = Meter()
    with meter.stage("np.percentile, and the mask"):
        _ = values >= np.percentile(values, 80, method="higher")
    return meter.as_records()


def confidences(n: int, classes: int) -> tuple[Any, Any]:
    """Log-confidences as float32, and a class for each."""
    draw = np.random.default_rng(0)
    values = draw.random(n, dtype=np.float32)
    np.log(np.subtract(1, values, out=values), out=values)  # of (0, 1]
    return values, draw.integers(0, classes, n)


def clusters(n: int, classes: int, per_class: int = 10) -> tuple[Any, Any, Any]:
    """Overlapping clusters in 128 dimensions, float32; the true class of each row, and y with few labels."""
    draw = np.random.default_rng(0)
    centers = draw.normal(size=(classes, FEATURES)).astype(np.float32) * 0.35
    truth = draw.permutation(np.arange(n) % classes)
    X = draw.standard_normal((n, FEATURES), dtype=np.float32)
    for start in range(0, n, 1 << 16):
        X[start : start + (1 << 16)] += centers[truth[start : start + (1 << 16)]]
    y = np.full(n, -1)
    order = np.argsort(truth, kind="stable")
    firsts = np.searchsorted(truth[order], np.arange(classes))
    labeled = order[(firsts[:, None] + np.arange(per_class)).ravel()]
    y[labeled] = truth[labeled]
    return X, truth, y


def classified(n: int, classes: int = CLASSES, iterations: int = 20, per_class: int = 10) -> Records:
    """CurriculumLabelingClassifier, six rounds, around logistic regression of at most so many iterations."""
    from sklearn.linear_model import LogisticRegression

    from curriculum_labeling import CurriculumLabelingClassifier

    warnings.filterwarnings("ignore")
    X, truth, y = clusters(n, classes, per_class)
    meter = Meter()
    model = CurriculumLabelingClassifier(LogisticRegression(max_iter=iterations))
    with meter.stage("fit"):
        model.fit(X, y)
    with meter.stage("predict"):
        right = float((model.predict(X) == truth).mean())
    return [*meter.as_records(), note("accuracy", right)]


def probed(n: int, classes: int = CLASSES, iterations: int = 200) -> Records:
    """The probe of `fit --features` on a feature matrix: one fit on all rows, one scoring of all rows."""
    from curriculum_labeling.runs import probe

    X, truth, y = clusters(n, classes)
    rows = np.flatnonzero(y < 0)
    labeled = np.flatnonzero(y >= 0)
    labels = Labels.of(labeled, y[labeled])
    draw = np.random.default_rng(0)
    sure = np.log(draw.uniform(0.5, 1, len(rows)))
    scores = Scores(rows, truth[rows], sure, (truth[rows] + 1) % classes, np.zeros(len(rows)))
    labels = labels.with_pseudo(scores, np.ones(len(rows), dtype=bool))
    probe.ITERATIONS = iterations
    meter = Meter()
    learner = probe.ProbeLearner(X, classes)
    with meter.stage("fit"):
        model = learner.fit(labels, seed=0)
    with meter.stage("score"):
        model.score(rows)
    return meter.as_records()


def backbone() -> Any:
    """A frozen network for `--features scale_work:backbone`: 8-pixel images in, 128 features out."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    network = nn.Sequential(nn.Flatten(), nn.Linear(8 * 8 * 3, FEATURES), nn.ReLU())
    return network, {"resolution": 8, "mean": [0.5] * 3, "std": [0.2] * 3}


def embedded(n: int) -> Records:
    """`curriculum fit --features` from listing to report, on n images of 8 pixels."""
    return fitted(n, CLASSES, 8, features="scale_work:backbone", validation="0.2", threads=1)


def embedded_classes(classes: int) -> Records:
    """The same on 12,000 images of many classes; one round, and probes of ten iterations, leave time for the rest."""
    from curriculum_labeling.runs import probe

    probe.ITERATIONS = 10
    options = {"features": "scale_work:backbone", "validation": "0.2", "percentiles": (0.0,), "threads": 1}
    return fitted(12_000, classes, 8, **options)


def tabled(n: int) -> Records:
    """The ledger of n images: written by a fit, read back for the report."""
    from curriculum_labeling.report.ledger import read_ledger
    from curriculum_labeling.runs.ledger import Ledger, write_ledger

    draw = np.random.default_rng(0)
    rows, names = np.arange(n), tuple(f"class {c}" for c in range(CLASSES))
    paths = tuple(f"/data/photos/unlabeled/{row // 1000:05d}/{row:08d}.jpg" for row in range(n))
    classes = draw.integers(0, CLASSES, n)
    sure = draw.uniform(0.1, 1, n)
    scores = Scores(rows, classes, np.log(sure), (classes + 1) % CLASSES, 1 - sure)
    ledger = Ledger(scores, sure, draw.integers(0, 6, n), draw.integers(0, 3, n), sure / 2, np.full(n, -1))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.csv"
        meter = Meter()
        with meter.stage("ledger written"):
            write_ledger(path, ledger, paths, names)
        with meter.stage("ledger read"):
            read_ledger(path, paths, rows, names)
        return [*meter.as_records(), note("ledger.csv, GB", path.stat().st_size / 1e9)]


def trained(n: int) -> Records:
    """`curriculum fit --features none` from listing to the first step of training, on n images of 32 pixels."""
    return fitted(n, CLASSES, 32, features="none", passes=1.0, threads=1)


def fitted(n: int, classes: int, side: int, **options: Any) -> Records:
    """A fit, stage by stage as it tells them; a network ends after its first step."""
    from curriculum_labeling.report import write_report
    from curriculum_labeling.runs.fit import fit
    from curriculum_labeling.runs.options import FitOptions
    from curriculum_labeling.runs.stages import Stage
    from curriculum_labeling.runs.start import begin
    from curriculum_labeling.runs.stopping import StopRequest

    class AfterOneStep(StopRequest):
        def __call__(self) -> bool:
            return bool(options["features"] == "none")

    meter = Meter()

    def show(stage: Stage) -> None:
        meter.enter("rounds" if ", round " in stage.name else stage.name)

    with tempfile.TemporaryDirectory() as folder:
        draw_images(Path(folder), n, classes, side)
        sources = Path(folder) / "labeled", Path(folder) / "unlabeled"
        meter = Meter()
        meter.enter("listing")
        with begin(
            *sources, Path(folder) / "run", FitOptions(**options), force=False, show=show, stop=AfterOneStep()
        ) as job:
            try:
                fit(job)
            except KeyboardInterrupt:
                return meter.as_records()
            with meter.stage("report"):
                report = write_report(job.run.folder)
            sizes = {f"{path.name}, GB": path.stat().st_size / 1e9 for path in (report, job.run / "ledger.csv")}
        return [*meter.as_records(), *(note(name, size) for name, size in sizes.items())]


def photographed(n: int) -> Records:
    """Photos of 500 × 375 pixels: decoded to 224, embedded by EfficientNet-Lite0, on one thread."""
    import torch

    from curriculum_labeling.data.decode import decode_bytes
    from curriculum_labeling.vision.backbones import open_backbone

    torch.set_num_threads(1)
    draw = np.random.default_rng(0)
    coarse = Image.fromarray(draw.integers(0, 256, (47, 63, 3), dtype=np.uint8))
    file = io.BytesIO()
    coarse.resize((500, 375), Image.Resampling.BICUBIC).save(file, "JPEG", quality=90)
    network = open_backbone("efficientnet-lite0", device="cpu")
    network.embed(np.zeros((4, 224, 224, 3), dtype=np.uint8))
    meter = Meter()
    with meter.stage("decode"):
        pixels = np.stack([decode_bytes(file.getvalue(), 224, name="photo") for _ in range(n)])
    with meter.stage("embed"):
        network.embed(pixels)
    return [*meter.as_records(), note("file, bytes", file.tell())]


def draw_images(folder: Path, n: int, classes: int, side: int, per_class: int = 10) -> None:
    """Write n JPEG files: a pattern per class under noise; 10 of each class in its folder, the others by thousands."""
    draw = np.random.default_rng(0)
    patterns = draw.integers(60, 196, (classes, side, side, 3))
    for start in range(0, n, 1000):
        count = min(1000, n - start)
        noise = draw.integers(-50, 51, (count, side, side, 3), dtype=np.int16)
        pixels = (patterns[np.arange(start, start + count) % classes] + noise).astype(np.uint8)
        for row, image in enumerate(pixels, start):
            where = f"labeled/{row % classes:04d}" if row < per_class * classes else f"unlabeled/{row // 1000:05d}"
            if row % 1000 == 0 or row <= per_class * classes:
                os.makedirs(folder / where, exist_ok=True)
            with open(f"{folder}/{where}/{row:08d}.jpg", "wb") as file:
                file.write(simplejpeg.encode_jpeg(image, quality=90))


def note(stage: str, value: float) -> dict[str, Any]:
    """A number that is no time: told, never fitted."""
    return {"stage": stage, "value": value}


WORK: dict[str, Callable[[int], Records]] = {
    "selection": lambda n: selected(n, "none", CLASSES),
    "selection per class": lambda n: selected(n, "per-class", CLASSES),
    "selection per class of 1,000": lambda n: selected(n, "per-class", 1000),
    "selection by shards": sharded,
    "np.percentile": by_numpy,
    "classifier": classified,
    "probe": probed,
    "tables": tabled,
    "photos": photographed,
    "fit --features": embedded,
    "fit --features none": trained,
    "classes: selection": lambda c: selected(1_000_000, "per-class", c),
    "classes: classifier": lambda c: classified(20_000, c, 5, per_class=5),
    "classes: probe": lambda c: probed(20_000, c, 10),
    "classes: fit --features": embedded_classes,
}

if __name__ == "__main__":
    print(json.dumps(WORK[sys.argv[1]](int(sys.argv[2]))))
