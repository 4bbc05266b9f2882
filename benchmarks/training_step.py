"""One training step of WRN-28-2 at batch 128, heavy augmentation included: ours against a plain loop.

Run: python benchmarks/training_step.py --write
The plain loop is what one writes first: NCHW, eager, SGD, images augmented one by one with Pillow in
the two workers of a DataLoader. Turns alternate, so that whatever else the machine does hits both;
on a machine that is busy otherwise, trust images per CPU second with --threads 1 more than images per second.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import pillow_loop
from curriculum_labeling.data.images import Images
from curriculum_labeling.labels import Labels
from curriculum_labeling.vision.config import TrainingConfig
from curriculum_labeling.vision.devices import Numbers
from curriculum_labeling.vision.learner import ImageLearner
from curriculum_labeling.vision.networks import build_network
from curriculum_labeling.vision.plan import Plan, draw_plan
from curriculum_labeling.vision.recipe import build_recipe
from curriculum_labeling.vision.state import begin
from curriculum_labeling.vision.training import gradients

RESULTS = Path(__file__).parent.parent / "docs" / "results" / "training_step.md"
NETWORK, BATCH, ROWS = "wrn-28-2", 128, 4096
RATIO_BAR, OUTSIDE_BAR = 1.3, 0.10


@dataclass(frozen=True)
class Turn:
    """Images per second and per CPU second of one turn, and the share of time outside forward, backward, optimizer.

    CPU seconds are those of the training process; the plain loop's workers come on top and are not counted.
    """

    images_per_second: float
    images_per_cpu_second: float
    outside: float


@dataclass(frozen=True)
class Clocks:
    """Wall and CPU time at one moment."""

    wall: float
    cpu: float

    @classmethod
    def now(cls) -> Clocks:
        """What the clocks say."""
        return cls(time.perf_counter(), time.process_time())

    def turn(self, steps: int, inside: float) -> Turn:
        """The turn that began then, ends now, and spent `inside` seconds in the network and the optimizer."""
        now = Clocks.now()
        rows, wall = steps * BATCH, now.wall - self.wall
        return Turn(rows / wall, rows / (now.cpu - self.cpu), 1 - inside / wall)


def images() -> Images:
    """Noise of the size of CIFAR-10; what the pixels show does not matter to the clock."""
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, size=(ROWS, 32, 32, 3), dtype=np.uint8)
    return Images(pixels, np.arange(ROWS) % 10, tuple("0123456789"))


class PillowDataset(torch.utils.data.Dataset[tuple[Tensor, int]]):
    """Images augmented one by one; what to do with each was drawn beforehand, which costs nothing here."""

    def __init__(self, data: Images) -> None:
        self.data = data
        self.plan = draw_plan(build_recipe("heavy", border="fill"), torch.arange(ROWS), key=0, size=(32, 32))

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, row: int) -> tuple[Tensor, int]:
        one = slice(row, row + 1)
        names = ("operations", "values", "shift_x", "shift_y", "flip", "boxes")
        plan = Plan(*(getattr(self.plan, name)[one] for name in names))
        pixels = torch.from_numpy(pillow_loop.carry_out(self.data.pixels[one], plan)[0])
        return pixels.permute(2, 0, 1).float().div(255).sub(0.5).div(0.25), int(self.data.labels[row])


class PlainLoop:
    """The loop to beat."""

    def __init__(self, data: Images) -> None:
        self.network = build_network(NETWORK, 10).train()
        self.optimizer = torch.optim.SGD(
            self.network.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=5e-4
        )
        self.loss = nn.CrossEntropyLoss()
        self.loader = torch.utils.data.DataLoader(PillowDataset(data), BATCH, shuffle=True, num_workers=2)

    def turn(self, steps: int) -> Turn:
        """Time these steps, after one to warm up; workers live for one turn, so as not to disturb the others."""
        batches = iter(self.loader)
        self._step(*next(batches))
        inside, start = 0.0, Clocks.now()
        for _ in range(steps):
            batch = next(batches)
            ready = time.perf_counter()
            self._step(*batch)
            inside += time.perf_counter() - ready
        return start.turn(steps, inside)

    def _step(self, pixels: Tensor, classes: Tensor) -> None:
        self.optimizer.zero_grad()
        self.loss(self.network(pixels), classes).backward()
        self.optimizer.step()


class OurLoop:
    """The steps of `train`, with a stopwatch."""

    def __init__(self, data: Images, *, compiled: bool) -> None:
        config = TrainingConfig(NETWORK, batch_size=BATCH, augmentation="heavy")
        learner = ImageLearner(data, config, device="cpu")
        self.feed = learner._feed(Labels.of(np.arange(ROWS), data.labels), seed=0)
        network = build_network(NETWORK, 10).to(memory_format=torch.channels_last).train()  # type: ignore[call-overload]
        self.state = begin(network, config, torch.device("cpu"), Numbers(None, scaled=False))
        self.forward: Any = torch.compile(network) if compiled else network

    def turn(self, steps: int) -> Turn:
        """Time these steps, after one to warm up."""
        self._step(self.feed.steps(self.state.step, self.state.step + 1))
        # A feed augments several steps at once: a new one, so that the turn has the work of its own steps in it.
        inside, start = 0.0, Clocks.now()
        batches = self.feed.steps(self.state.step, self.state.step + steps)
        for _ in range(steps):
            inside += self._step(batches)
        return start.turn(steps, inside)

    def _step(self, batches: Iterator[Any]) -> float:
        """Seconds inside forward, backward and optimizer."""
        pieces = list(next(batches))
        ready = time.perf_counter()
        gradients(self.forward, pieces, self.feed, Numbers(None, scaled=False), self.state)
        self.state.optimizer.step()
        self.state.step += 1
        return time.perf_counter() - ready


def table(turns: dict[str, list[Turn]]) -> str:
    """A Markdown table of the loops and their ratio to the plain one, turn by turn."""
    lines = [
        "| loop | images/s (median) | ratio (mean ± std) | images/CPU s (median) | ratio (mean ± std) | outside |",
        "|---|---|---|---|---|---|",
    ]
    for name, found in turns.items():
        cells = [name]
        for measure in ("images_per_second", "images_per_cpu_second"):
            cells.append(f"{statistics.median(getattr(turn, measure) for turn in found):.1f}")
            cells.append(ratio(found, turns["plain loop"], measure))
        cells.append(f"{statistics.median(turn.outside for turn in found):.1%}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def ratio(ours: list[Turn], plain: list[Turn], measure: str) -> str:
    """Mean and spread of the ratio to the plain loop, turn by turn."""
    ratios = [getattr(one, measure) / getattr(other, measure) for one, other in zip(ours, plain, strict=True)]
    return f"{statistics.mean(ratios):.2f}" + (f" ± {statistics.stdev(ratios):.2f}" if len(ratios) > 1 else "")


def report(turns: dict[str, list[Turn]], options: argparse.Namespace) -> str:
    """The page in docs/results."""
    again = f"--turns {options.turns} --steps {options.steps} --threads {options.threads} --write"
    again += " --no-compile" if options.no_compile else ""
    load = os.getloadavg()[0]
    machine = f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}"
    return f"""# One training step: ours against a plain loop

WRN-28-2, batch {BATCH}, 32 px, heavy augmentation, fp32, {options.threads} threads. The plain loop is NCHW and eager,
with images augmented one by one by Pillow in a DataLoader with 2 workers. n = {options.turns} alternating turns
of {options.steps} steps each, after one step to warm up; the machine's load average was {load:.1f} at the end.
*Outside* is the share of time outside forward, backward and optimizer. CPU seconds leave out the plain loop's workers.
Bars: ratio ≥ {RATIO_BAR}, outside < {OUTSIDE_BAR:.0%}.

{table(turns)}

Machine: {machine}; torch {torch.__version__}, Python {platform.python_version()}.

Again: `python benchmarks/training_step.py {again}`
"""


def main() -> None:
    """Measure, print, and write the page if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--no-compile", action="store_true", help="leave the loop with torch.compile out")
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS.name}")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    data = images()
    loops: dict[str, Any] = {"plain loop": PlainLoop(data), "ours": OurLoop(data, compiled=False)}
    if not options.no_compile:
        loops["ours, compiled"] = OurLoop(data, compiled=True)
    turns: dict[str, list[Turn]] = {name: [] for name in loops}
    for _ in range(options.turns):
        for name, loop in loops.items():
            turns[name].append(loop.turn(options.steps))
            print(name, turns[name][-1], flush=True)
    print(table(turns))
    if options.write:
        RESULTS.parent.mkdir(parents=True, exist_ok=True)
        RESULTS.write_text(report(turns, options), encoding="utf-8")


if __name__ == "__main__":
    main()
