"""What an experiment leaves in the output folder: KEY.md, KEY.csv and its figures, drawn from results on disk."""

from __future__ import annotations

from pathlib import Path

from curriculum_labeling.data.atomic import write_atomically
from curriculum_labeling.data.locks import exclusive
from curriculum_labeling.experiments.figures import draw
from curriculum_labeling.experiments.points import Experiment
from curriculum_labeling.experiments.scales import Scale
from curriculum_labeling.experiments.summary import Summary, summarize
from curriculum_labeling.experiments.table_csv import csv_text
from curriculum_labeling.experiments.tables import markdown


def write_pages(experiment: Experiment, scale: Scale, seeds: int, out: Path, *, figures: bool = True) -> Summary:
    """Draw everything anew; without `figures`, which take seconds, tables only."""
    out.mkdir(parents=True, exist_ok=True)
    # One worker at a time: a slow one would write a page over another's newer one.
    with exclusive(out / f".{experiment.key}.lock"):
        summary = summarize(experiment, scale, seeds, out)
        if figures:
            draw(summary, out)
        images = sorted(path.name for path in out.glob(f"{experiment.key}*.png") if experiment.drawing)
        page = markdown(summary, scale, command_of(experiment, scale, seeds), images)
        write_atomically(out / f"{experiment.key}.md", page.encode("utf-8", "backslashreplace"))
        write_atomically(out / f"{experiment.key}.csv", csv_text(summary).encode("utf-8", "backslashreplace"))
    return summary


def command_of(experiment: Experiment, scale: Scale, seeds: int) -> str:
    """The command that makes this again."""
    data = "" if all(cell.data == "moons" for cell in experiment.cells) else " --data DIR"
    return f"curriculum reproduce {experiment.key} --scale {scale.name} --seeds {seeds}{data}"
