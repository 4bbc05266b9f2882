"""The page of small_budget.py: accuracies by method and minutes, round by round, and figure-5."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path
from statistics import mean, stdev

from matplotlib import rc_context
from matplotlib.figure import Figure

COLORS = ("#777777", "#bb9933", "#dd7722", "#cc4444", "#2266aa", "#338855", "#aa3377", "#000000")
# All rows labeled: what this network reaches in the time, whatever the method.
ALL, LIMIT = 45_000, "all 45,000 labels"
Cell = list[dict[str, str]]


def write_page(out: Path) -> None:
    """Write `small_budget.md` beside the folder of cells, and figure-5 into it."""
    text = ["# CIFAR-10 in minutes", "", *INTRODUCTION]
    for numbers, machine in MACHINES.items():
        cells = read_cells(out / "cells" / numbers)
        limit = [[{**line, "method": LIMIT} for line in cell] for cell in cells if int(cell[-1]["labels"]) == ALL]
        for count in sorted({int(cell[-1]["labels"]) for cell in cells} - {ALL}, reverse=True):
            mine = [cell for cell in cells if int(cell[-1]["labels"]) == count] + limit
            title, figure = f"{count:,} labels, {machine}", f"figure-5-{count}-{numbers}"
            draw(mine, title, out / figure)
            text += ["", f"## {title}", "", *table(mine), "", f"![error against minutes](small_budget/{figure}.png)"]
            text += ["", "Round by round (share of pseudo-labels taken that are right, in percent):", "", *rounds(mine)]
    (out.parent / "small_budget.md").write_text("\n".join(text) + "\n", encoding="utf-8")


# Folders of cells, by the numbers that trainings compute in, and what to call the machine that they come from.
MACHINES = {"bf16": "a processor with bf16", "fp32": "a processor without bf16"}
INTRODUCTION = (
    "What a few labels give in minutes on two cores: accuracy in percent on the 10,000 test images after the last "
    "round, whatever it is; mean ± std and n where there are several seeds, else one seed, good to about half a "
    "point. An empty place was not run.",
    "",
    "- *Ours* is what `curriculum fit` does with a small budget. Up to 500 labels, networks start from weights that "
    "have learned which way up images are. Labels only gets what it can use, then rounds grow, each from the start, "
    "with the same share of every predicted class and a quarter of every batch from the labels.",
    "- The others have equal trainings, five rounds as in the paper.",
    "- All methods have the same optimizer (Muon), batch size, augmentation (light; from 2,000 labels on cutout where "
    "a training sees an image up to 16 times) and network: the one that *ours* has in this time. That is compact; "
    "compact-48 where the longest training of *ours* would see 400,000 images of the narrow one or more; compact-64 "
    "from 1 million on.",
    "- Whole process, scoring included. Time is processor time of one thread, so that other work on the machine does "
    "not count; two cores do in a minute what one does in 1.6 ([peak.md](peak.md)), so 30 minutes are 48 of one. "
    "A processor with bf16 trains on two to three times as many images in that as one without, so each has tables of "
    "its own. Scores are always in fp32. What a cell really took, in the same minutes, is in the column *minutes "
    "spent*: labels only is one training, planned by a pace taken before it.",
    "- As in the paper, 5,000 training images are held out of every cell, and choices were made by them. Two were made "
    "knowing test images: from which time on there are rounds (1.25 times what labels only can use), and that an hour "
    "with 4,000 labels had two rounds (`docs/log.md`).",
    "- Four cells are of earlier defaults: labels only for 15 minutes with 4,000 labels and bf16 had compact-48, "
    "where ours beside it had compact-64; ours for 15 minutes with 4,000 labels and for 60 with 250, both with bf16, "
    "and the half hour without, were planned when scoring was counted as dearer, and have a few images less "
    "(`docs/log.md`).",
    "- With 4,000 labels, labels only is at its end after a quarter of an hour; what differs there between times is "
    "chance. What limits ours is in `docs/log.md`: each round ends one to three points above the one before it, and "
    "neither rounds of more than a million images nor wider networks, heavier augmentation, soft labels or CutMix "
    "change that by more than half a point.",
    "",
    "    python benchmarks/small_budget.py run --data DIR --labels L --minutes M --methods ...",
    '    python benchmarks/small_budget.py run --data DIR --labels 45000 --minutes M --methods "labels only"',
    "    python benchmarks/small_budget.py page",
)


def read_cells(folder: Path) -> list[Cell]:
    """All finished cells, each as the lines of its rounds."""
    found = []
    for path in sorted(folder.glob("*.csv")):
        with path.open(newline="") as file:
            found.append(list(csv.DictReader(file)))
    return found


def grouped(cells: list[Cell]) -> dict[tuple[str, float], list[Cell]]:
    """Cells of one method and time, over seeds."""
    groups: dict[tuple[str, float], list[Cell]] = defaultdict(list)
    for cell in cells:
        groups[cell[-1]["method"], float(cell[-1]["minutes"])].append(cell)
    return groups


def table(cells: list[Cell]) -> list[str]:
    """Accuracy of the last round, a row per method."""
    groups = grouped(cells)
    times = sorted({minutes for _, minutes in groups})
    lines = [
        "| method | " + " | ".join(f"{minutes:g} min" for minutes in times) + " |",
        "|---|" + "---|" * len(times),
    ]
    for method in ordered(groups):
        values = [shown(groups.get((method, minutes))) for minutes in times]
        lines += [f"| {method} | {' | '.join(values)} |"]
    return lines


def shown(cells: list[Cell] | None) -> str:
    """Mean ± std (n) of the last round."""
    if not cells:
        return ""
    values = [100 * float(cell[-1]["accuracy"]) for cell in cells]
    return f"{mean(values):.1f}" + (f" ± {stdev(values):.1f} ({len(values)})" if len(values) > 1 else "")


def rounds(cells: list[Cell]) -> list[str]:
    """Each cell's rounds in one line."""
    lines = [
        "| method | minutes | minutes spent | seed | images trained on | accuracy after labels only and every round |",
        "|---|---|---|---|---|---|",
    ]
    for (method, minutes), found in sorted(
        grouped(cells).items(), key=lambda one: (METHOD_ORDER.index(one[0][0]), one[0][1])
    ):
        for cell in found:
            steps = ", ".join(
                f"{100 * float(line['accuracy']):.1f}"
                + (f" ({100 * float(line['right']):.0f})" if line["right"] else "")
                for line in cell
            )
            last = cell[-1]
            known = f"{float(last['spent']):.1f} | {last['seed']} | {int(last['passes']):,}"
            lines.append(f"| {method} | {minutes:g} | {known} | {steps} |")
    return lines


METHOD_ORDER = (
    *("labels only", "all rows", "threshold 0.9", "threshold 0.95", "curriculum", "fine-tuned", "ours"),
    LIMIT,
)


def ordered(groups: dict[tuple[str, float], list[Cell]]) -> list[str]:
    """The methods that were run, in the order of the table."""
    return [method for method in METHOD_ORDER if any(method == one for one, _ in groups)]


def draw(cells: list[Cell], title: str, path: Path) -> None:
    """Error against minutes: a line through the rounds of each cell, its end the larger dot."""
    figure = Figure(figsize=(6.2, 4.0), layout="constrained")
    axes = figure.add_subplot()
    groups = grouped(cells)
    for color, method in zip(COLORS, METHOD_ORDER, strict=True):
        mine = [cell for (one, _), found in sorted(groups.items()) if one == method for cell in found]
        for number, cell in enumerate(mine):
            minutes = [float(line["spent"]) for line in cell]
            errors = [100 - 100 * float(line["accuracy"]) for line in cell]
            axes.plot(minutes, errors, color=color, marker="o", ms=4, lw=1.2, label=None if number else method)
            axes.plot(minutes[-1], errors[-1], color=color, marker="o", ms=9)
    axes.set_xlim(left=0)
    axes.set_xlabel("minutes on two cores")
    axes.set_ylabel("test error (%)")
    axes.set_title(f"CIFAR-10, {title}", loc="left", fontsize=11)
    axes.grid(color="#eeeeee")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9)
    with rc_context({"svg.hashsalt": path.name}):  # the same cells, the same files
        figure.savefig(path.with_suffix(".png"), dpi=130)
        figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
