"""Heavy augmentation by batches against the same plan image by image with Pillow, in one run on one thread.

Run: python benchmarks/augmentation.py
Both sides carry out the same operations on the same uint8 images, each in the memory layout it likes
best, and turns alternate, so that whatever else the machine does hits both. Times are CPU seconds
of this process; drawing the plan counts on our side only. The last cases measure augmentation in use:
from row numbers to batches of floats, through the feed that training has on our side.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch.nn.functional import interpolate

import pillow_loop
from curriculum_labeling.data.images import Images
from curriculum_labeling.labels import Labels
from curriculum_labeling.vision import draws
from curriculum_labeling.vision.augment import augment
from curriculum_labeling.vision.batches import PASS
from curriculum_labeling.vision.config import TrainingConfig
from curriculum_labeling.vision.feed import Feed
from curriculum_labeling.vision.learner import ImageLearner
from curriculum_labeling.vision.plan import Plan, draw_plan
from curriculum_labeling.vision.recipe import Recipe, build_recipe

RESULTS = Path(__file__).parent.parent / "docs" / "results" / "augmentation.md"
# (pixels, images at a time, bar)
CASES = ((32, 128, 8.0), (32, 512, 8.0), (32, 1024, 8.0), (224, 64, 1.0), (224, 128, 1.0))
# (pixels, rows per step, steps per turn, bar)
IN_USE = ((32, 128, 84, 8.0), (224, 128, 2, 1.0))


@dataclass(frozen=True)
class Result:
    """CPU microseconds per image in each turn."""

    size: int
    batch: int
    bar: float
    what: str
    pillow: list[float]
    ours: list[float]

    @property
    def ratio(self) -> float:
        """Images per CPU second of ours over Pillow's, of all turns together: no single turn weighs more."""
        return sum(self.pillow) / sum(self.ours)


def photos(count: int, size: int) -> torch.Tensor:
    """Smooth colors plus noise, uint8 of shape (count, 3, size, size)."""
    generator = torch.Generator().manual_seed(0)
    smooth = interpolate(torch.rand(count, 3, 6, 6, generator=generator), size=(size, size), mode="bilinear")
    noise = torch.randn(count, 3, size, size, generator=generator)
    return (smooth * 255 + noise * 6).clamp_(0, 255).to(torch.uint8)


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds of this process."""
    start = time.process_time()
    work()
    return time.process_time() - start


def measure(size: int, batch: int, bar: float, turns: int, recipe: Recipe) -> Result:
    """Alternate between the two sides, with another plan each turn."""
    images, rows = photos(batch, size), torch.arange(batch)
    for_pillow = images.permute(0, 2, 3, 1).contiguous().numpy()
    pillow, ours = [], []
    for turn in range(turns + 1):
        plan = draw_plan(recipe, rows, key=turn, size=(size, size))
        pillow.append(seconds(lambda plan=plan: pillow_loop.carry_out(for_pillow, plan)))  # type: ignore[misc]
        ours.append(seconds(lambda turn=turn: augment(images, rows, recipe, key=turn)))  # type: ignore[misc]
    # The first turn warms up caches and the allocator.
    micro = 1e6 / batch
    return Result(size, batch, bar, "pixels", [micro * t for t in pillow[1:]], [micro * t for t in ours[1:]])


def measure_in_use(size: int, batch: int, steps: int, bar: float, turns: int) -> Result:
    """Alternate between the feed of a training and the same steps with Pillow, from row numbers to floats."""
    count = batch * steps
    pixels = photos(count, size).permute(0, 2, 3, 1).contiguous().numpy()
    images = Images(pixels, np.zeros(count, dtype=np.int64), ("one",))
    learner = ImageLearner(images, TrainingConfig(batch_size=batch, augmentation="heavy"), device="cpu")
    feed = learner._feed(Labels.of(np.arange(count), images.labels), seed=0)
    pillow, ours = [], []
    for turn in range(turns + 1):
        numbers = range(turn * steps, (turn + 1) * steps)
        plans = [plan_of(feed, number, size) for number in numbers]
        pillow.append(seconds(lambda plans=plans: [by_pillow(feed, *plan) for plan in plans]))  # type: ignore[misc]
        ours.append(seconds(lambda numbers=numbers: through(feed, numbers)))  # type: ignore[misc]
    micro = 1e6 / count
    return Result(size, batch, bar, "in use", [micro * t for t in pillow[1:]], [micro * t for t in ours[1:]])


def plan_of(feed: Feed, number: int, size: int) -> tuple[np.ndarray, Plan]:
    """The rows of a step, and what the feed draws for them."""
    step = feed.batches.step(number)
    rows = feed.batches.labels.rows[step.positions]
    key = draws.key(feed.batches.seed, "augment")
    return rows, draw_plan(feed.recipe, torch.from_numpy(rows + step.passes * PASS), key=key, size=(size, size))


def by_pillow(feed: Feed, rows: np.ndarray, plan: Plan) -> torch.Tensor:
    """The images of a step, read, augmented one by one, and preprocessed as the feed does it."""
    pixels = pillow_loop.carry_out(feed.pixels[rows], plan)
    floats = feed.preprocessing(torch.from_numpy(pixels).permute(0, 3, 1, 2).contiguous())
    return floats.contiguous(memory_format=torch.channels_last)


def through(feed: Feed, numbers: range) -> None:
    """Take these steps from the feed as training does."""
    for pieces in feed.steps(numbers.start, numbers.stop):
        for _ in pieces:
            pass


def table(results: list[Result]) -> str:
    """A Markdown table of the results."""
    lines = [
        "| image | what | images at a time | Pillow, µs per image | ours, µs per image | ratio | bar | met |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one in results:
        times = [f"{statistics.mean(side):.1f} ± {statistics.stdev(side):.1f}" for side in (one.pillow, one.ours)]
        verdict = f"{one.ratio:.2f} | ≥ {one.bar:g} | {'yes' if one.ratio >= one.bar else 'no'}"
        lines.append(f"| {one.size} px | {one.what} | {one.batch} | {times[0]} | {times[1]} | {verdict} |")
    return "\n".join(lines)


def report(results: list[Result], turns: int) -> str:
    """The page in docs/results."""
    machine = f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}, torch {torch.__version__}"
    return f"""# Heavy augmentation: batches against Pillow image by image

Two random operations, crop, flip and Cutout per image; uint8 in, uint8 out; one thread; CPU time of the process.
Both sides carry out the same plan, in alternating turns of one run (n = {turns} turns with a new plan each, after one
to warm up; mean ± std over turns, ratio of all turns together). Pixels are equal to Pillow's, see
`tests/vision/test_augment.py`, except where an image drew two geometric operations: those are one map here and two
resamplings there.

A call makes some 500 calls into torch whatever its size, which few small images do not outweigh. A row's pixels do
not depend on its batch, so training augments several steps of small images at once (up to 16 MB of pixels) and then
takes them apart. *In use* is what a training of this batch size gets: row numbers in, batches of standardized floats
out, through `vision/feed.py`; on Pillow's side the same reading and standardization around its loop.

{table(results)}

Machine: {machine}.

Again: `python benchmarks/augmentation.py --turns {turns} --write`
"""


def main() -> None:
    """Measure, print, and write the page if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS.name}")
    options = parser.parse_args()
    torch.set_num_threads(1)
    # A training process has long since grown its heap; without this, glibc hands freed pages back each turn.
    torch.zeros(30 << 20, dtype=torch.uint8)
    recipe = build_recipe("heavy", border="fill")
    results = [measure(size, batch, bar, options.turns, recipe) for size, batch, bar in CASES]
    results += [measure_in_use(*case, options.turns) for case in IN_USE]
    print(table(results))
    if options.write:
        RESULTS.parent.mkdir(parents=True, exist_ok=True)
        RESULTS.write_text(report(results, options.turns), encoding="utf-8")


if __name__ == "__main__":
    main()
