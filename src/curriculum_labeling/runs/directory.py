"""The run directory itself: its files, its lock, and how it is made or opened again.

It is the database of a run. Every file is written whole or not at all, and readable without us.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from curriculum_labeling.data.atomic import write_atomically

FORMAT = 1
CONFIG, IMAGES, CHECK, HELD_OUT, OUTCOME = "config.json", "images.json", "check.json", "held_out.json", "outcome.json"
LEDGER, SUGGESTIONS, REPORT, MODEL = "ledger.csv", "suggestions.csv", "report.html", "model"
LOCK = ".lock"


class RunError(ValueError):
    """Something about a run directory that its owner should know, in one sentence."""


class Run:
    """The folder of one run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __truediv__(self, name: str) -> Path:
        return self.folder / name

    def round_folder(self, t: int) -> Path:
        """Where round t is kept."""
        return self.folder / "rounds" / str(t)

    @property
    def finished(self) -> bool:
        """Whether the run has come to its end."""
        return (self / OUTCOME).is_file()

    def write(self, name: str, content: dict[str, Any]) -> None:
        """Replace a JSON file."""
        path = self / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
        # Names of files that are no UTF-8 become escapes, which JSON has as well.
        write_atomically(path, text.encode("utf-8", "backslashreplace"))

    def read(self, name: str) -> dict[str, Any]:
        """A JSON file of this run; a missing or damaged one is named."""
        path = self / name
        try:
            content = json.loads(path.read_bytes())
            if not isinstance(content, dict):
                raise ValueError("it holds no JSON object")
        except FileNotFoundError as error:
            raise RunError(f"{path} is missing, so {self.folder} is no complete run; fit again.") from error
        except (OSError, ValueError, RecursionError) as error:
            raise RunError(f"{path} is damaged ({error}); restore it, or start a new run with --out.") from error
        return content

    def has(self, name: str) -> bool:
        """Whether this file is there."""
        return (self / name).is_file()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep others from writing here; the lock of a process that died is free by itself."""
        with open(self / LOCK, "ab") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise RunError(
                    f"{self.folder} is in use by another process; wait for it, or choose another folder with --out."
                ) from error
            yield


def create_run(folder: Path, *, force: bool = False) -> Run:
    """A new, empty run directory; an existing one is replaced only by force, and nothing else ever is."""
    if folder.exists() and not folder.is_dir():
        raise RunError(f"--out must be a folder, got {folder}, which is a file.")
    run = Run(folder)
    if folder.is_dir() and any(folder.iterdir()):
        if run.has(CONFIG) and not run.has(CHECK) and not run.finished:
            _clear_but_cache(run)
            return run
        if not (run.has(CONFIG) or (folder / LOCK).exists()):
            raise RunError(f"--out must be a new or empty folder, got {folder}, which holds other files.")
        if not force:
            state = "a finished run" if run.finished else "an unfinished run"
            again = "" if run.finished else f" go on with `curriculum resume {folder}`,"
            raise RunError(f"{folder} already holds {state};{again} choose another --out, or replace it with --force.")
        with run.locked():
            shutil.rmtree(folder)
    check_writable(folder)
    return run


def _clear_but_cache(run: Run) -> None:
    """A run that never came past its data check has learned nothing yet; decoded images may stay."""
    with run.locked():
        for path in run.folder.iterdir():
            if path.is_file() and path.name != LOCK:
                path.unlink()


def check_writable(folder: Path) -> None:
    """Make the folder and write to it once, so that a full or read-only disk shows before any long work."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / ".writable", b"\0" * 4096)
        os.unlink(folder / ".writable")
    except OSError as error:
        raise RunError(f"--out must be a folder that can be written to, got {folder}: {error.strerror}.") from error


def open_run(folder: Path) -> Run:
    """A run directory that exists, checked to be ours and of a version we understand."""
    run = Run(folder)
    if not folder.is_dir():
        raise RunError(f"RUN must be the folder of a run, got {folder}, where there is none; see `curriculum fit`.")
    if not run.has(CONFIG):
        raise RunError(f"RUN must be the folder of a run, got {folder}, which has no {CONFIG}.")
    found = run.read(CONFIG).get("format")
    if found != FORMAT:
        raise RunError(
            f"{folder} was written in format {found}, and this version reads format {FORMAT}; "
            "use the version that wrote it (config.json names it), or fit again."
        )
    return run
