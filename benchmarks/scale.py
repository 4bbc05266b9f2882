"""How time and memory grow with rows, images and classes, fitted over four sizes or more.

Run: python benchmarks/scale.py ["MEASUREMENT" ...] [--sizes N ...] [--out docs/results/scale.csv]
     python benchmarks/scale.py --page
Each size of each measurement (see MEASUREMENTS, and scale_work.py for what they do) runs in a process
of its own with one thread, so that processor seconds are work and not waiting. A size that was
measured before is measured anew; the others stay. The page beside the CSV file is written every time.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
MEASUREMENTS: dict[str, tuple[int, ...]] = {
    "selection": (100_000, 1_000_000, 10_000_000, 100_000_000),
    "selection per class": (100_000, 1_000_000, 10_000_000, 100_000_000),
    "selection per class of 1,000": (100_000, 1_000_000, 10_000_000, 100_000_000),
    "selection by shards": (100_000, 1_000_000, 10_000_000, 100_000_000),
    "np.percentile": (100_000, 1_000_000, 10_000_000, 100_000_000),
    "classifier": (15_625, 62_500, 250_000, 1_000_000),
    "probe": (15_625, 62_500, 250_000, 1_000_000),
    "tables": (15_625, 62_500, 250_000, 1_000_000),
    "photos": (16, 32, 64, 128),
    "fit --features": (1000, 4000, 16_000, 64_000),
    "fit --features none": (7500, 15_000, 30_000, 60_000),
    "classes: selection": (10, 100, 300, 1000),
    "classes: classifier": (10, 100, 300, 1000),
    "classes: probe": (10, 100, 300, 1000),
    "classes: fit --features": (10, 100, 300, 1000),
}
COLUMNS = ("measurement", "stage", "size", "cpu_seconds", "wall_seconds", "extra_gb", "resident_gb", "value")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
Line = dict[str, Any]


def run_child(name: str, size: int) -> list[Line]:
    """The lines of one measurement at one size, from a fresh process with one thread."""
    command = [sys.executable, str(HERE / "scale_work.py"), name, str(size)]
    done = subprocess.run(
        command, env=os.environ | dict.fromkeys(THREADS, "1"), stdout=subprocess.PIPE, check=True, text=True
    )
    return [
        {
            "measurement": name,
            "stage": one["stage"],
            "size": size,
            "cpu_seconds": _rounded(one.get("cpu")),
            "wall_seconds": _rounded(one.get("wall")),
            "extra_gb": _rounded(one.get("extra")),
            "resident_gb": _rounded(one.get("resident")),
            "value": "" if "value" not in one else f"{one['value']:.6g}",
        }
        for one in json.loads(done.stdout.splitlines()[-1])
    ]


def _rounded(number: float | None) -> str:
    return "" if number is None else f"{number:.4g}"


def read_lines(path: Path) -> list[Line]:
    """What was measured so far."""
    if not path.exists():
        return []
    with open(path, newline="") as file:
        return [{**line, "size": int(line["size"])} for line in csv.DictReader(file)]


def write_lines(path: Path, lines: Iterable[Line]) -> None:
    """All lines, by measurement and size."""
    names = list(MEASUREMENTS)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(lines, key=lambda line: (names.index(line["measurement"]), line["size"])))


def growth(sizes: Iterable[float], costs: Iterable[float]) -> tuple[float, float]:
    """Exponent and factor of cost = factor · size^exponent, by least squares over the logarithms."""
    exponent, logarithm = np.polyfit(np.log(list(sizes)), np.log(list(costs)), 1)
    return float(exponent), float(np.exp(logarithm))


def page(lines: list[Line]) -> str:
    """A table of growth, and one of everything that was measured."""
    parts = [
        "# Scale: what was measured",
        "",
        "Made by `python benchmarks/scale.py` from `scale.csv`; [scale.md](../scale.md) says what it means."
        " CPU seconds are of one thread, with those of processes that were started. Memory is the most that was held"
        " beyond what the process held before the first stage, which is its inputs. The exponent is fitted over all"
        " sizes, and again between the last two; the last columns are what the fit predicts for ten times the last"
        " size.",
        "",
        "| measurement | stage | sizes | CPU s | memory GB | exponent of CPU | of the last two | exponent of memory"
        " | ten times: CPU s | memory GB |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name in MEASUREMENTS:
        own = [line for line in lines if line["measurement"] == name]
        found = (_growth_line(name, stage, own) for stage in dict.fromkeys(line["stage"] for line in own))
        parts += [line for line in found if line is not None]
    parts += ["", "| measurement | stage | size | CPU s | wall s | memory GB | process GB | value |"]
    parts += ["|---|---|---|---|---|---|---|---|"]
    parts += [
        f"| {one['measurement']} | {one['stage']} | {one['size']:,} | {one['cpu_seconds']} | {one['wall_seconds']} |"
        f" {one['extra_gb']} | {one['resident_gb']} | {one['value']} |"
        for one in lines
    ]
    return "\n".join([*parts, ""])


def _growth_line(name: str, stage: str, lines: list[Line]) -> str | None:
    """How one stage grows; None where it was measured at fewer than four sizes, or takes no time."""
    own = [line for line in lines if line["stage"] == stage and line["cpu_seconds"]]
    sizes = [line["size"] for line in own]
    seconds = [max(float(line["cpu_seconds"]), 1e-4) for line in own]
    memory = [max(float(line["extra_gb"]), 1e-3) for line in own]
    if len(own) < 4 or seconds[-1] < 0.02:
        return None
    (p, a), (last, _) = growth(sizes, seconds), growth(sizes[-2:], seconds[-2:])
    q, b = growth(sizes, memory)
    ten = 10 * sizes[-1]
    spread = " … ".join(f"{seconds[i]:.3g}" for i in (0, -1)), " … ".join(f"{memory[i]:.3g}" for i in (0, -1))
    return (
        f"| {name} | {stage} | {sizes[0]:,} … {sizes[-1]:,} ({len(own)}) | {spread[0]} | {spread[1]} | {p:.2f} |"
        f" {last:.2f} | {q:.2f} | {a * ten**p:.3g} | {b * ten**q:.3g} |"
    )


def main() -> None:
    """Measure what is asked for, and write both files after every size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measurement", nargs="*", help=", ".join(MEASUREMENTS))
    parser.add_argument("--sizes", nargs="+", type=int)
    parser.add_argument("--page", action="store_true", help="measure nothing, write the page")
    parser.add_argument("--out", type=Path, default=Path("docs/results/scale.csv"))
    options = parser.parse_args()
    if unknown := [name for name in options.measurement if name not in MEASUREMENTS]:
        parser.error(f"no measurement is called {unknown[0]!r}; there are {', '.join(MEASUREMENTS)}")
    for name in () if options.page else options.measurement or MEASUREMENTS:
        for size in options.sizes or MEASUREMENTS[name]:
            found = run_child(name, size)
            kept = [one for one in read_lines(options.out) if (one["measurement"], one["size"]) != (name, size)]
            write_lines(options.out, [*kept, *found])
            for one in found:
                print(*(one[column] for column in COLUMNS), sep="  ", flush=True)
    options.out.with_suffix(".md").write_text(page(read_lines(options.out)))


if __name__ == "__main__":
    main()
