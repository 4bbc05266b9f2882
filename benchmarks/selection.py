"""Selecting from 100 million float32 confidences: time and extra memory against numpy.

Run: python benchmarks/selection.py [--rows 100000000] [--out docs/results/selection.md]
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from curriculum_labeling.order import kth_largest


def resident() -> int:
    """Bytes of memory this process holds now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def measure(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """Result, seconds, and the most extra memory in GB, sampled every millisecond."""
    before, peak, done = resident(), [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.001):
            peak[0] = max(peak[0], resident() - before)

    watcher = threading.Thread(target=watch)
    watcher.start()
    start = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - start
    done.set()
    watcher.join()
    return result, seconds, peak[0] / 1e9


def main() -> None:
    """Compare the exact count with numpy's percentile and partition."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--out", type=Path, default=Path("docs/results/selection.md"))
    options = parser.parse_args()
    values = np.random.default_rng(0).random(options.rows, dtype=np.float32)
    k = options.rows // 5
    ways: dict[str, Callable[[], Any]] = {
        "counting (ours), and the mask": lambda: values >= kth_largest(lambda: [(values, None)], np.array([k]))[0],
        "the same over 10 shards": lambda: kth_largest(
            lambda: [(s, None) for s in np.split(values, 10)], np.array([k])
        ),
        "np.percentile(method='higher')": lambda: np.percentile(values, 80, method="higher"),
        "np.partition": lambda: np.partition(values, options.rows - k)[options.rows - k],
    }
    lines = [
        "# Selecting from many confidences",
        "",
        f"The top fifth of {options.rows:,} float32 values ({values.nbytes / 1e9:.1f} GB), one run each, one thread."
        " Made by `python benchmarks/selection.py`.",
        "",
        "| way | seconds | extra memory, GB |",
        "|---|---|---|",
    ]
    found = []
    for name, work in ways.items():
        result, seconds, memory = measure(work)
        found.append(float(values[result].min() if np.size(result) == len(values) else np.ravel(result)[0]))
        lines.append(f"| {name} | {seconds:.1f} | {memory:.2f} |")
        print(lines[-1], flush=True)
    assert found[0] == found[1] == found[3], found
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text("\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
