"""What share of this machine's peak a training of the compact network reaches.

The peak is a large matrix product in the numbers of the training, fp32 and, where the CPU has them,
bf16; the operations of a step are counted by torch's own counter, forward and backward as they are
carried out. Whole trainings are timed, as `fit` does them: batches, augmentation, loss and optimizer
included. Both alternate, so that a slow minute hits both.

Run: python benchmarks/peak.py --turns 5
"""

from __future__ import annotations

import argparse
import os
import time
from itertools import product
from pathlib import Path
from statistics import mean, stdev

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from curriculum_labeling import Labels
from curriculum_labeling.data.images import Images
from curriculum_labeling.runs.choices import BATCH, PIECES
from curriculum_labeling.vision.config import TrainingConfig
from curriculum_labeling.vision.devices import cpu_has_bf16
from curriculum_labeling.vision.learner import ImageLearner
from curriculum_labeling.vision.networks import build_network
from curriculum_labeling.vision.schedule import Budget

RESULTS = Path(__file__).parent.parent / "docs" / "results" / "peak.md"
SIDE, CLASSES, ROWS = 32, 10, 4096
MATRIX = 2048
TRAININGS = (("compact", "sgd"), ("compact", "muon"), ("compact-48", "muon"), ("compact-64", "muon"))
NUMBERS = (("fp32", torch.float32), ("bf16", torch.bfloat16))[: 1 + cpu_has_bf16()]


def operations_per_image(name: str) -> float:
    """Floating-point operations of a training step, per image."""
    network = build_network(name, CLASSES, 3, SIDE)
    images = torch.randn(BATCH, 3, SIDE, SIDE)
    with FlopCounterMode(display=False) as counter:
        torch.nn.functional.cross_entropy(network(images), torch.zeros(BATCH, dtype=torch.long)).backward()  # type: ignore[no-untyped-call]
    return float(counter.get_total_flops()) / BATCH


def peak(numbers: torch.dtype) -> float:
    """Operations per second of a matrix product, the best of a few."""
    a, b = torch.randn(2, MATRIX, MATRIX).to(numbers)
    best = float("inf")
    for _ in range(5):
        began = time.monotonic()
        a @ b
        best = min(best, time.monotonic() - began)
    return 2 * MATRIX**3 / best


def images_per_second(learner: ImageLearner, labels: Labels) -> float:
    """Images of a whole training, in a second."""
    steps = learner.config.budget.steps
    assert steps is not None
    return steps * learner.config.batch_size / learner.fit(labels, seed=0).seconds


def main() -> None:
    """Measure in turns, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--out", type=Path, default=RESULTS)
    asked = parser.parse_args()
    pixels = np.random.default_rng(0).integers(0, 256, (ROWS, SIDE, SIDE, 3), dtype=np.uint8)
    images = Images(pixels, np.arange(ROWS) % CLASSES, tuple(map(str, range(CLASSES))))
    labels = Labels.of(np.arange(ROWS), images.labels)
    lines = [
        "# The compact network against the machine's peak",
        "",
        f"`python benchmarks/peak.py --turns {asked.turns} --steps {asked.steps}`: whole trainings (batches of {BATCH} "
        f"images of 32 pixels in {PIECES} pieces, light augmentation, forward, backward, optimizer), mean ± std over "
        "turns; peak: a matrix "
        f"product of {MATRIX} × {MATRIX} in the same numbers, measured before every training.",
        "",
        "| network | optimizer | numbers | threads | million operations per image | images per second | GFLOP/s | peak "
        "| share |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for threads in range(1, (os.cpu_count() or 1) + 1):
        torch.set_num_threads(threads)
        for (name, optimizer), (precision, numbers) in product(TRAININGS, NUMBERS):
            config = TrainingConfig(
                network=name,
                optimizer=optimizer,  # type: ignore[arg-type]
                precision=precision,  # type: ignore[arg-type]
                batch_size=BATCH,
                accumulate=PIECES,
                augmentation="light",
                budget=Budget(steps=asked.steps),
            )
            learner = ImageLearner(images, config, device="cpu")
            work, tops, rates = operations_per_image(name), [], []
            for _ in range(asked.turns):
                tops.append(peak(numbers))
                rates.append(images_per_second(learner, labels))
            done, top = mean(rates) * work / 1e9, mean(tops) / 1e9
            shares = [100 * rate * work / most for rate, most in zip(rates, tops, strict=True)]
            lines.append(
                f"| {name} | {optimizer} | {precision} | {threads} | {work / 1e6:.0f} "
                f"| {mean(rates):,.0f} ± {stdev(rates):.0f} | {done:.0f} | {top:.0f} "
                f"| {mean(shares):.0f} ± {stdev(shares):.0f} % |"
            )
            print(lines[-1], flush=True)
    asked.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
