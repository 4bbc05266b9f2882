"""CIFAR-10 with few labels in minutes on a CPU: labels only, pseudo-labeling, the paper's curriculum, and ours.

Every method has the same network, optimizer, augmentation and time, whole process included (but for
reading the images and the last look at the test images). Time is processor time of one thread, so
that other work on the machine does not count: two cores do in a minute what one does in 1.6
(docs/results/peak.md), so M minutes are 1.6 × M such minutes. A cell is kept when it is finished; the
same command goes on with the others, and several may run at once. What a machine does in a minute depends
most on whether it computes in bf16, so cells of either kind are kept apart.

As in the paper, 5,000 of the training images are held out of every cell: choices are made by what is
printed, which is the accuracy on them. That on the test images only goes into the cell, for the page.

Run: python benchmarks/small_budget.py run --data DIR --labels 250 --minutes 5 --methods ours "labels only"
     python benchmarks/small_budget.py page
"""

from __future__ import annotations

import argparse
import csv
import itertools
import math
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

import numpy as np
import torch

from curriculum_labeling import Labels, PercentilePacing, ThresholdPacing, curriculum
from curriculum_labeling.data import cifar10
from curriculum_labeling.data.images import Images, join
from curriculum_labeling.data.splits import draw_split
from curriculum_labeling.pacing import Pacing
from curriculum_labeling.runs.choices import BATCH, LABELS_FOR_PIECES, PIECES, batch_for
from curriculum_labeling.runs.division import (
    LABELS_FOR_TURNS,
    MANY_LABELS,
    WIDTHS,
    Division,
    divide_equally,
    divide_widely,
)
from curriculum_labeling.runs.settings import LABELED_SHARE, augmentation_for, learning_rate_for
from curriculum_labeling.vision.config import TrainingConfig
from curriculum_labeling.vision.devices import cpu_has_bf16, scoring_speedup
from curriculum_labeling.vision.learner import FineTuningImageLearner, ImageLearner, ImageModel
from curriculum_labeling.vision.networks import Factory
from curriculum_labeling.vision.schedule import Budget

OUT = Path(__file__).parent.parent / "docs" / "results" / "small_budget"
# Images that two cores train on in a minute, with pieces of a batch on a core each, against those of one.
TWO_CORES = 1.6
TIMED_STEPS = 300
# Training images of each class to choose by, as in the paper, and what is left of the 50,000 then.
HELD_OUT, ALL = 500, 45_000
PLAIN = TrainingConfig(
    batch_size=BATCH, accumulate=PIECES, optimizer="muon", augmentation="light", warmup=0.05, flip_scoring=True
)
OURS = replace(PLAIN, labeled_share=LABELED_SHARE)
METHODS = ("labels only", "all rows", "threshold 0.9", "threshold 0.95", "curriculum", "fine-tuned", "ours")


@dataclass(frozen=True)
class Line:
    """One round of a cell; shares from 0 to 1, minutes of two cores since its beginning."""

    method: str
    labels: int
    minutes: float
    seed: int
    round: int
    pseudo: int
    right: float | None
    passes: int
    spent: float
    validation: float
    accuracy: float


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run cells that are not there yet")
    run.add_argument("--data", type=Path, required=True, help="CIFAR-10: a folder or .tar.gz as published")
    run.add_argument("--labels", type=int, nargs="+", default=[4000])
    run.add_argument("--minutes", type=float, nargs="+", default=[15.0])
    run.add_argument("--seeds", type=int, nargs="+", default=[0])
    run.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    commands.add_parser("page", help="write the page and figure-5 from all finished cells")
    for command in commands.choices.values():
        command.add_argument("--out", type=Path, default=OUT)
    return parser.parse_args()


@dataclass
class CpuClock:
    """Processor time of this process, of which a method has so many seconds."""

    seconds: float
    start: float

    @property
    def spent(self) -> float:
        """Seconds so far."""
        return time.process_time() - self.start

    def steps(self, share: float, rest: float, scored: int, pace: float, batch: int) -> int:
        """Steps of a training with this share, where `rest` is for those after it, and so many images are scored."""
        left = self.seconds - self.spent - scored / pace / scoring_speedup("cpu")
        return max(1, int(left * share / (share + rest) * pace / batch))


def train(
    images: Images,
    given: Labels,
    unlabeled: np.ndarray,
    method: str,
    seconds: float,
    seed: int,
    network: Factory | None = None,
) -> Iterator[tuple[int, ImageModel, Labels, int, float]]:
    """Every round of a method: number, model, its labels, images trained on, seconds spent.

    The network is the one that `fit` would choose for this time, the same for all methods, unless one is given.
    """
    config = replace(OURS if method == "ours" else PLAIN, network=network or next(iter(WIDTHS)))
    if len(given) < LABELS_FOR_PIECES:
        config = replace(config, accumulate=1)
    kind = FineTuningImageLearner if method == "fine-tuned" else ImageLearner
    learner = kind(images, config, device="cpu", preprocess_rows=np.concatenate([given.rows, unlabeled]))
    pace = images_per_cpu_second(learner, given)
    pacing, division = plan(method, seconds * pace, len(given), len(unlabeled))
    chosen = network or ours(seconds * pace, len(given), len(unlabeled))[1]
    batch = batch_for(chosen if isinstance(chosen, str) else None, len(given))
    config = replace(config, network=chosen, batch_size=batch, learning_rate=learning_rate_for(batch))
    if config != learner.config:
        learner.config = config
        pace = images_per_cpu_second(learner, given)
    clock = CpuClock(seconds, time.process_time())
    weights, mirrored = division.weights, 2 * len(unlabeled)
    passes = 0
    if division.turns:
        steps = clock.steps(division.turns, sum(weights), division.rounds * mirrored, pace, batch)
        learner.config = replace(config, budget=Budget(steps=steps))
        learner.learn_turns(unlabeled, seed=seed)
        passes += steps * batch

    class Timed:
        """Gives the learner what its round may take."""

        done = 0

        def fit(self, labels: Labels, *, seed: int) -> ImageModel:
            nonlocal pace, passes
            after = weights[self.done + 1 :]
            steps = clock.steps(weights[self.done], sum(after), len(after) * mirrored, pace, batch)
            learner.config = replace(config, budget=Budget(steps=steps))
            if len(given) >= MANY_LABELS:
                chosen = augmentation_for(steps, batch, len(labels))
                learner.config = replace(learner.config, augmentation=chosen)
            began = time.process_time()
            model = learner.fit(labels, seed=seed)
            pace = steps * batch / (time.process_time() - began)
            passes += steps * batch
            self.done += 1
            return model

    timed = Timed()
    if pacing is None:
        yield 0, timed.fit(given, seed=seed), given, passes, clock.spent
        return
    for found in curriculum(timed, given, unlabeled, pacing=pacing, classes=len(images.classes), seed=seed):
        assert isinstance(found.model, ImageModel)
        watched = time.process_time()
        yield found.number, found.model, found.labels, passes, clock.spent
        clock.start += time.process_time() - watched  # looking at the test images is not part of the method


def images_per_cpu_second(learner: ImageLearner, given: Labels) -> float:
    """Images trained on in a second of processor time, from a short training that is thrown away."""
    config = learner.config
    seconds = []
    for steps in (1, 2, 2 + TIMED_STEPS):  # the first one warms up
        learner.config = replace(config, budget=Budget(steps=steps))
        began = time.process_time()
        ImageLearner.fit(learner, given, seed=0)
        seconds.append(time.process_time() - began)
    learner.config, learner.fits = config, 0
    # What is not steps is never half of so long a training, whatever the machine did meanwhile.
    return TIMED_STEPS * config.batch_size / max(seconds[2] - seconds[1], seconds[2] / 2)


def plan(method: str, passes: float, labels: int, unlabeled: int) -> tuple[Pacing | None, Division]:
    """Pacing of a method, and its trainings."""
    if method == "labels only":
        return None, Division((1.0,))
    if method == "ours":
        division, _ = ours(passes, labels, unlabeled)
        return PercentilePacing(division.percentiles, "per-class") if division.rounds else None, division
    pacings: dict[str, Pacing] = {
        "all rows": ThresholdPacing(0.0),
        "threshold 0.9": ThresholdPacing(0.9),
        "threshold 0.95": ThresholdPacing(0.95),
    }
    pacing = pacings.get(method, PercentilePacing())
    return pacing, divide_equally(pacing.rounds)


def ours(passes: float, labels: int, unlabeled: int) -> tuple[Division, str]:
    """How `fit` would divide so many passes of the narrow network, and the network it would take for them."""
    scoring = 2 / scoring_speedup("cpu")  # mirror images as well
    return divide_widely(passes, labels, unlabeled, turns=labels <= LABELS_FOR_TURNS, scoring=scoring)


def run(arguments: argparse.Namespace) -> None:
    """Every cell that is asked for and not there yet."""
    torch.set_num_threads(1)
    known = cifar10.load(arguments.data, part="train")
    images = join(known, cifar10.load(arguments.data, part="test"))
    asked = itertools.product(arguments.minutes, arguments.labels, arguments.seeds, arguments.methods)
    for minutes, labels, seed, method in asked:
        path = path_of(arguments.out, minutes, labels, seed, method)
        if not path.exists():
            write(path, list(cell(images, known.labels, minutes, labels, seed, method)))


def path_of(out: Path, minutes: float, labels: int, seed: int, method: str) -> Path:
    """Where a cell of this machine is kept."""
    numbers = "bf16" if cpu_has_bf16() else "fp32"
    return out / "cells" / numbers / f"{labels}-{minutes:g}-{method.replace(' ', '_')}-{seed}.csv"


def cell(images: Images, truth: np.ndarray, minutes: float, labels: int, seed: int, method: str) -> Iterator[Line]:
    """The lines of one cell; images behind those whose classes are `truth` are test images."""
    labeled, unlabeled, held = draw_rows(truth, labels, seed)
    given = Labels.of(labeled, truth[labeled])
    rounds = train(images, given, unlabeled, method, 60 * minutes * TWO_CORES, seed)
    for number, model, used, passes, spent in rounds:
        pseudo = used.pseudo_rows
        right = float((used.pseudo_classes == truth[pseudo]).mean()) if len(pseudo) else None
        validation, test = (
            float((model.score(rows).classes == images.labels[rows]).mean())
            for rows in (held, np.arange(len(truth), len(images)))
        )
        known_of = (method, labels, minutes, seed, number, len(pseudo), right, passes)
        line = Line(*known_of, spent / 60 / TWO_CORES, validation, test)
        print(replace(line, accuracy=math.nan), flush=True)
        yield line


def draw_rows(truth: np.ndarray, labels: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labeled rows, unlabeled ones, and 500 of every class held out of both; `ALL` labels leave none unlabeled."""
    split = draw_split(truth, labeled=1 if labels == ALL else labels // 10, validation=HELD_OUT, seed=seed)
    if labels == ALL:  # what a network of this size reaches, were everything labeled
        return np.sort(np.concatenate([split.labeled, split.unlabeled])), np.arange(0), split.validation
    return split.labeled, split.unlabeled, split.validation


def write(path: Path, lines: list[Line]) -> None:
    """A finished cell, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    with temporary.open("w", newline="") as file:
        table = csv.DictWriter(file, [one.name for one in fields(Line)])
        table.writeheader()
        table.writerows(asdict(line) for line in lines)
    temporary.replace(path)


if __name__ == "__main__":
    asked = parse()
    if asked.command == "run":
        run(asked)
    else:
        from small_budget_page import write_page

        write_page(asked.out)
