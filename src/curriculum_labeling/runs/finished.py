"""A finished run looked at once more: whether it is whole, and what a kill at its very end left open.

A file that was lost or cut short, as a power cut may do, is named; nothing is shown from half of one.
"""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open

from curriculum_labeling.data.atomic import remove_leavings
from curriculum_labeling.runs.directory import (
    CHECK,
    CHECKPOINTS,
    FOLDS,
    HELD_OUT,
    IMAGES,
    LEDGER,
    MODEL,
    OUTCOME,
    REPORT,
    SUGGESTIONS,
    Run,
    RunError,
)
from curriculum_labeling.runs.kept import SCORES, read_scores
from curriculum_labeling.vision.model_json import WEIGHTS, read_card
from curriculum_labeling.vision.model_tensors import sha256_of

PAGE_END = b"</html>"


def tidy(run: Run) -> None:
    """Remove what a finished run needs no more."""
    for folder in (CHECKPOINTS, FOLDS):
        shutil.rmtree(run / folder, ignore_errors=True)
    remove_leavings(run.folder)


def read_rounds(run: Run) -> tuple[int, int]:
    """The last round and the delivered one."""
    _check_json(run, OUTCOME)
    outcome = run.read(OUTCOME)
    last, delivered = outcome.get("last"), outcome.get("delivered")
    if not (isinstance(last, int) and isinstance(delivered, int) and 0 <= delivered <= last):
        raise RunError(f"{run / OUTCOME} is damaged (it names no rounds); restore it, or fit again.")
    return last, delivered


def check_tables(run: Run) -> None:
    """Refuse a run that lost one of the files a report is made from, or a part of one."""
    rounds = range(read_rounds(run)[0] + 1)
    for name in (IMAGES, CHECK, HELD_OUT, *(f"rounds/{t}/metrics.json" for t in rounds)):
        _check_json(run, name)
    unlabeled = np.array(run.read(IMAGES).get("unlabeled", ()))
    for t in rounds:
        read_scores(run.round_folder(t) / SCORES, unlabeled)
    if not _ends_whole(run / LEDGER) or _lines(run / LEDGER) != len(unlabeled):
        raise _lost(run, LEDGER, "is missing, or has lost a part of its lines")
    # The user may edit this one, so its lines are not counted.
    if not _ends_whole(run / SUGGESTIONS):
        raise RunError(
            f"{run / SUGGESTIONS} is missing or ends within a line; mend it, or `curriculum suggest {run.folder}` "
            "writes it anew."
        )


def check_weights(run: Run) -> None:
    """Refuse a run that lost weights: a round's, or the delivered ones."""
    for t in range(read_rounds(run)[0] + 1):
        name = f"rounds/{t}/model.safetensors"
        try:
            with safe_open(run / name, framework="numpy"):
                pass
        except (OSError, SafetensorError) as error:
            raise _lost(run, name, f"is missing or damaged ({error})") from error
    folder = run / MODEL
    try:
        card = read_card(folder / "model.json")
    except ValueError as error:
        raise _lost(run, f"{MODEL}/model.json", f"cannot be used ({error})") from error
    if not (folder / WEIGHTS).is_file() or sha256_of(folder / WEIGHTS) != card.sha256:
        raise _lost(run, f"{MODEL}/{WEIGHTS}", "is missing, or not what model.json was written for")


def has_whole_report(run: Run) -> bool:
    """Whether there is a report that goes on to its end."""
    return run.has(REPORT) and (run / REPORT).read_bytes().rstrip().endswith(PAGE_END)


def _check_json(run: Run, name: str) -> None:
    try:
        run.read(name)
    except RunError as error:
        raise _lost(run, name, f"is missing or damaged ({error.__cause__})") from error


def _lost(run: Run, name: str, why: str) -> RunError:
    others = "" if name == OUTCOME else f" and {OUTCOME}"
    return RunError(
        f"{run / name} {why}; restore it, or delete what is left of it{others}, "
        f"and `curriculum resume {run.folder}` computes it again."
    )


def _ends_whole(path: Path) -> bool:
    """Whether a file is there and ends with a line end, as all our tables do."""
    if not path.is_file() or not (size := path.stat().st_size):
        return False
    with open(path, "rb") as file:
        file.seek(size - 1)
        return file.read(1) == b"\n"


def _lines(path: Path) -> int:
    """How many lines of cells a CSV file has below its header."""
    with open(path, newline="", encoding="utf-8", errors="surrogateescape") as file:
        return sum(1 for _ in csv.reader(file)) - 1
