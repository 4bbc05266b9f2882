"""Heavy augmentation by batches against the same plan image by image with Pillow, in one run on one thread.

Run: python benchmarks/augmentation.py
Both sides carry out the same operations on the same uint8 images, each in the memory layout it likes
best, and turns alternate, so that whatever else the machine does hits both. Times are CPU seconds
of this process; drawing the plan counts on our side only.
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

import torch
from torch.nn.functional import interpolate

import pillow_loop
from curriculum_labeling.vision.augment import augment
from curriculum_labeling.vision.plan import draw_plan
from curriculum_labeling.vision.recipe import Recipe, build_recipe

RESULTS = Path(__file__).parent.parent / "docs" / "results" / "augmentation.md"
# (pixels, images at a time, bar)
CASES = ((32, 128, 8.0), (32, 512, 8.0), (32, 1024, 8.0), (224, 64, 1.0), (224, 128, 1.0))


@dataclass(frozen=True)
class Result:
    """CPU microseconds per image in each turn."""

    size: int
    batch: int
    bar: float
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
    return Result(size, batch, bar, [micro * turn for turn in pillow[1:]], [micro * turn for turn in ours[1:]])


def table(results: list[Result]) -> str:
    """A Markdown table of the results."""
    lines = [
        "| image | images at a time | Pillow, µs per image | ours, µs per image | ratio | bar | met |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in results:
        times = [f"{statistics.mean(side):.1f} ± {statistics.stdev(side):.1f}" for side in (one.pillow, one.ours)]
        verdict = f"{one.ratio:.2f} | ≥ {one.bar:g} | {'yes' if one.ratio >= one.bar else 'no'}"
        lines.append(f"| {one.size} px | {one.batch} | {times[0]} | {times[1]} | {verdict} |")
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
not depend on its batch, so smaller batches can be augmented together, 1,024 images at a time, and then taken apart.

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
    print(table(results))
    if options.write:
        RESULTS.parent.mkdir(parents=True, exist_ok=True)
        RESULTS.write_text(report(results, options.turns), encoding="utf-8")


if __name__ == "__main__":
    main()
