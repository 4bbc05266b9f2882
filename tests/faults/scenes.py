"""Small photos and the two kinds of runs that faults are tried on: a network from scratch, a probe on features."""

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image
from torch import nn

CLASSES = ("blue", "green", "red")
KEPT = ("ledger.csv", "suggestions.csv", "images.json", "check.json", "held_out.json")
# Seconds depend on the machine; everything else of these files has to be the same.
TIMES = ("seconds",)


@dataclass(frozen=True)
class Kind:
    """What `curriculum fit` is asked for, and how many unlabeled photos there are of each class."""

    name: str
    unlabeled: int
    options: tuple[str, ...]


NETWORK = Kind(
    "network",
    8,
    ("--network", "compact-4", "--passes", "6", "--validation", "2", "--step", "50", "--threads", "1"),
)
# Of more photos than one batch of embeddings holds.
FEATURES = Kind("features", 40, ("--features", "tests.faults.scenes:colors", "--step", "50", "--threads", "1"))


class Colors(nn.Module):
    """Colors on a coarse grid."""

    def forward(self, x):
        return nn.functional.adaptive_avg_pool2d(x, 2).flatten(1)


def colors():
    """A backbone of one's own, as `--features package.module:function` takes it."""
    return Colors(), {"resolution": 12, "mean": [0.5] * 3, "std": [0.2] * 3}


def lay_out(folder, kind, labeled=4, side=16):
    """Photos whose color says their class, some of them hard to tell, one that cannot be read."""
    rng = np.random.default_rng(0)
    for c, name in enumerate(CLASSES):
        (folder / "labeled" / name).mkdir(parents=True)
        (folder / "unlabeled").mkdir(exist_ok=True)
        for i in range(labeled + kind.unlabeled):
            image = rng.integers(40, 160, (side, side, 3))
            image[..., c] += rng.integers(5, 60)
            here = folder / "labeled" / name / f"{i}.png" if i < labeled else folder / "unlabeled" / f"{c}-{i}.png"
            Image.fromarray(image.astype(np.uint8)).save(here)
    (folder / "unlabeled" / "broken.png").write_bytes(b"\x89PNG no more")
    long_ago = time.time() - 1000
    for path in folder.rglob("*.png"):
        os.utime(path, (long_ago, long_ago))
    return folder


def fit(photos, kind, run):
    """The command that begins this kind of run."""
    return ["fit", str(photos / "labeled"), str(photos / "unlabeled"), "--out", str(run), *kind.options]


def results(run):
    """All that a run came to, by name: bytes of files, or what JSON files say but for times."""
    run = Path(run)
    found = {name: (run / name).read_bytes() for name in KEPT}
    for path in sorted([*run.glob("rounds/*/*"), *run.glob("model/*")]):
        found[str(path.relative_to(run))] = path.read_bytes()
    for name in [name for name in (*found, "outcome.json") if name.endswith(("metrics.json", "outcome.json"))]:
        said = json.loads((run / name).read_bytes())
        found[name] = {key: value for key, value in said.items() if key not in TIMES}
    return found


def differing(run, other):
    """Names of results that are not the same in two runs."""
    ours, theirs = results(run), results(other)
    return sorted(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name))


def names(run):
    """Everything below a folder but for locks, and for the journal that a kill right after a cache's end leaves."""
    found = (path for path in Path(run).rglob("*") if path.suffix != ".lock" and path.name != "journal.jsonl")
    return sorted(str(path.relative_to(run)) for path in found)
