"""CIFAR-10 with a few labels, end to end: six rounds of the curriculum, and what each of them reached.

Run: python benchmarks/cifar10_rounds.py --data DIR --checkpoints DIR
Stop it whenever; the same command goes on where it was. Under torchrun, processes share the work.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from curriculum_labeling import Labels, PercentilePacing, Round, curriculum
from curriculum_labeling.data import cifar10
from curriculum_labeling.data.images import Images, join
from curriculum_labeling.data.splits import draw_split
from curriculum_labeling.labels import Split
from curriculum_labeling.vision.averaging import SWA
from curriculum_labeling.vision.config import TrainingConfig
from curriculum_labeling.vision.distributed import processes
from curriculum_labeling.vision.learner import ImageLearner, ImageModel
from curriculum_labeling.vision.schedule import Budget
from curriculum_labeling.vision.training import Epoch

RESULTS = Path(__file__).parent.parent / "docs" / "results" / "cifar10_rounds.md"
TRAINING_ROWS = 50_000


@dataclass(frozen=True)
class Line:
    """One round of the table; accuracies are shares."""

    number: int
    percentile: float | None
    selected: int
    pseudo_accuracy: float | None
    test_accuracy: float
    seconds: float


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="CIFAR-10: a folder or .tar.gz as published")
    parser.add_argument("--checkpoints", type=Path, help="where progress is kept; none without it")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--labels-per-class", type=int, default=400)
    parser.add_argument("--validation-per-class", type=int, default=500)
    parser.add_argument("--unlabeled", type=int, help="keep only so many unlabeled rows")
    budget = parser.add_mutually_exclusive_group()
    budget.add_argument("--epochs", type=int, help="epochs of every round, over its own rows")
    budget.add_argument("--passes", type=float, help="work of every round, in passes over all training rows")
    parser.add_argument("--network", default="compact")
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--learning-rate", type=float, default=0.1)
    parser.add_argument("--augmentation", default="heavy", choices=("none", "moderate", "heavy"))
    parser.add_argument("--mixup", type=float, default=0.0)
    parser.add_argument("--no-swa", action="store_true")
    parser.add_argument("--step", type=float, default=20.0, help="the curriculum's Δ")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    return parser.parse_args()


def load(options: argparse.Namespace) -> tuple[Images, Split]:
    """All 60,000 images as one index space, and its split as in the paper."""
    images = join(*(cifar10.load(options.data, part=part) for part in ("train", "test")))
    test = np.arange(TRAINING_ROWS, len(images))
    per_class = {"labeled": options.labels_per_class, "validation": options.validation_per_class}
    split = draw_split(images.labels, **per_class, seed=options.seed, test=test)
    if options.unlabeled is not None:
        kept = np.sort(np.random.default_rng(options.seed).permutation(split.unlabeled)[: options.unlabeled])
        split = Split(split.labeled, kept, split.validation, split.test)
    return images, split


def settings(options: argparse.Namespace, rows: int) -> TrainingConfig:
    """Training settings; passes become steps, so that every round does the same work."""
    budget = Budget(epochs=options.epochs or 30)
    if options.passes is not None:
        budget = Budget(steps=max(1, round(options.passes * rows / options.batch_size)))
    return TrainingConfig(
        network=options.network,
        budget=budget,
        batch_size=options.batch_size,
        learning_rate=options.learning_rate,
        augmentation=options.augmentation,
        mixup=options.mixup,
        average=None if options.no_swa else SWA(start=0.75, every=1),
    )


def show(epoch: Epoch) -> None:
    """One line per epoch, with the time left in this round."""
    print(
        f"round {epoch.round}, epoch {epoch.number}/{epoch.epochs}: loss {epoch.loss:.3f}, "
        f"learning rate {epoch.learning_rate:.4f}, {epoch.seconds:.0f} s, {epoch.seconds_left:.0f} s left",
        flush=True,
    )


def line(found: Round, images: Images, split: Split) -> Line:
    """What this round reached."""
    truth, labels = images.labels, found.labels
    pseudo = float((labels.pseudo_classes == truth[labels.pseudo_rows]).mean()) if found.selected else None
    test = float((found.model.score(split.test).classes == truth[split.test]).mean())
    assert isinstance(found.model, ImageModel)
    return Line(found.number, found.percentile, found.selected, pseudo, test, found.model.seconds)


def table(lines: list[Line]) -> str:
    """A Markdown table of the rounds."""
    rows = [
        "| round | percentile | rows selected | pseudo-label accuracy | test accuracy | test error | seconds |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in lines:
        percentile = "–" if one.percentile is None else f"{one.percentile:g}"
        pseudo = "–" if one.pseudo_accuracy is None else f"{one.pseudo_accuracy:.2%}"
        errors = f"{one.test_accuracy:.2%} | {1 - one.test_accuracy:.2%}"
        rows.append(f"| {one.number} | {percentile} | {one.selected:,} | {pseudo} | {errors} | {one.seconds:.0f} |")
    return "\n".join(rows)


def report(lines: list[Line], split: Split, config: TrainingConfig, options: argparse.Namespace) -> str:
    """The page in docs/results."""
    shown = ("network", "budget", "batch_size", "learning_rate", "augmentation", "mixup", "average")
    described = ", ".join(f"{name} {config.describe()[name]}" for name in shown)
    counts = {name: f"{len(rows):,}" for name, rows in vars(split).items()}
    return f"""# CIFAR-10 with {len(split.labeled):,} labels, round by round

{counts["labeled"]} labeled, {counts["unlabeled"]} unlabeled, {counts["validation"]} validation (held out, not used)
and {counts["test"]} test images; n = 1 run, seed {options.seed}. Settings: {described}.

{table(lines)}

Seconds are training time of the round, across restarts. Machine: {os.cpu_count()} cores, {platform.machine()},
{platform.system()}; torch {torch.__version__}, {options.threads} threads.

Again: `python benchmarks/cifar10_rounds.py --data DIR --checkpoints DIR {flags(options)}`
"""


def flags(options: argparse.Namespace) -> str:
    """The command line that makes these options, but for folders."""
    given = {name: value for name, value in vars(options).items() if name not in ("data", "checkpoints", "out")}
    found = []
    for name, value in given.items():
        if value is not None and value is not False:
            found.append(f"--{name.replace('_', '-')}" + ("" if value is True else f" {value}"))
    return " ".join(found)


def main() -> None:
    """Run all rounds; the page is rewritten after each."""
    options = arguments()
    torch.set_num_threads(options.threads)
    with processes() as group:
        images, split = load(options)
        training = np.concatenate([split.labeled, split.unlabeled])
        config = settings(options, len(training))
        learner = ImageLearner(images, config, checkpoints=options.checkpoints, preprocess_rows=training, watch=show)
        labeled = Labels.of(split.labeled, images.labels[split.labeled])
        pacing, lines = PercentilePacing.by(options.step), []
        start = time.monotonic()
        for found in curriculum(learner, labeled, split.unlabeled, pacing=pacing, seed=options.seed):
            lines.append(line(found, images, split))
            if group.rank == 0:
                print(table(lines), f"\n{time.monotonic() - start:.0f} s in all", flush=True)
                options.out.parent.mkdir(parents=True, exist_ok=True)
                options.out.write_text(report(lines, split, config, options), encoding="utf-8")


if __name__ == "__main__":
    main()
