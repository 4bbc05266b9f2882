"""The demo: scikit-learn's digits as image files, 5 labels each, through `curriculum fit`.

The classes of the unlabeled digits are known, so the report can show which labels are right.
"""

from __future__ import annotations

import csv
import shlex
import shutil
from pathlib import Path

import numpy as np
from PIL import Image
from rich.console import Console
from rich.markup import escape

from curriculum_labeling.commands import run_fit
from curriculum_labeling.data.images import Images
from curriculum_labeling.data.toys import digits_images
from curriculum_labeling.runs.options import FitOptions

PER_CLASS, UNLABELED, SEED = 5, 1000, 0
PASSES = 3.0
MARK = "made-by-curriculum-demo"


def run_demo(console: Console, out: Path, force: bool) -> int:
    """Write the digits as PNG files and fit a network to them."""
    if out.exists() and not (out / MARK).is_file() and any(out.iterdir()):
        raise ValueError(f"--out must be a new or empty folder, got {out}, which holds other files.")
    if (out / MARK).is_file():
        if not force:
            raise ValueError(f"{out} already holds a demo; choose another --out, or replace it with --force.")
        shutil.rmtree(out)
    labeled, unlabeled, truth = write_digits(digits_images(), out / "digits")
    (out / MARK).touch()
    console.print(f"{PER_CLASS * 10} labeled digits in {escape(str(labeled))}, the others in {escape(str(unlabeled))}")
    options = FitOptions(passes=PASSES, truth=truth, seed=SEED, validation="2", step=33.4)
    chosen = ["--passes", f"{PASSES:g}", "--validation", "2", "--step", "33.4", "--truth", str(truth)]
    command = ["curriculum", "fit", str(labeled), str(unlabeled), "--out", str(out / "run"), *chosen]
    console.print(f"Now running: {escape(shlex.join(command))}", soft_wrap=True)
    return run_fit(console, labeled, unlabeled, out / "run", options)


def write_digits(images: Images, folder: Path) -> tuple[Path, Path, Path]:
    """Digits as files: labeled/<digit>/*.png, unlabeled/*.png, and the known classes in truth.csv."""
    order = np.random.default_rng(SEED).permutation(len(images))
    labels = images.labels[order]
    given = np.concatenate([np.flatnonzero(labels == c)[:PER_CLASS] for c in range(len(images.classes))])
    others = np.setdiff1d(np.arange(len(order)), given)[:UNLABELED]
    labeled, unlabeled, truth = folder / "labeled", folder / "unlabeled", folder / "truth.csv"
    for place in given:
        _write(images, order[place], labeled / images.classes[labels[place]])
    for place in others:
        _write(images, order[place], unlabeled)
    with open(truth, "w", encoding="utf-8", newline="") as file:
        lines = ((f"unlabeled/{order[place]:04d}.png", images.classes[labels[place]]) for place in others)
        csv.writer(file).writerows([("path", "label"), *lines])
    return labeled, unlabeled, truth


def _write(images: Images, row: int, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    Image.fromarray(images.pixels[row]).save(folder / f"{row:04d}.png")
