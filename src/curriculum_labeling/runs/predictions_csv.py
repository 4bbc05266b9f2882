"""Predictions as a CSV file, written as they come; the file gets its name when it is whole."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from curriculum_labeling.data.atomic import sync_folder
from curriculum_labeling.runs.csv_cells import csv_line, safe_cell
from curriculum_labeling.vision.predict import Prediction

# Calibrated, as the column of this name in the ledger; the ledger's confidence is the model's own.
COLUMNS = ("path", "label", "probability", "runner_up", "runner_up_probability", "error")


def write_predictions(path: str | Path, predictions: Iterable[Prediction]) -> tuple[int, int]:
    """Write one line per file, in their order; returns how many have a prediction, and how many could not be read."""
    path, read, unreadable = Path(path), 0, 0
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        # File names may hold bytes that are no UTF-8; they come out as they were.
        with open(temporary, "w", newline="", encoding="utf-8", errors="surrogateescape") as file:
            file.write(csv_line(COLUMNS))
            for prediction in predictions:
                file.write(csv_line(_cells(prediction)))
                read += prediction.error is None
                unreadable += prediction.error is not None
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(path.parent)
    return read, unreadable


def _cells(one: Prediction) -> list[str]:
    texts = [safe_cell(text or "") for text in (one.path, one.label, one.runner_up, one.error)]
    numbers = ["" if number is None else f"{number:.6f}" for number in (one.confidence, one.runner_up_confidence)]
    return [texts[0], texts[1], numbers[0], texts[2], numbers[1], texts[3]]
