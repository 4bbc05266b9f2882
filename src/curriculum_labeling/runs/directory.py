"""The run directory itself: its files, its lock, and how it is made or opened again.

It is the database of a run. Every file is written whole or not at all, and readable without us.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from curriculum_labeling.data.atomic import write_atomically
from curriculum_labeling.data.locks import attempt
from curriculum_labeling.data.typed import brief

FORMAT = 1
CONFIG, IMAGES, CHECK, HELD_OUT, OUTCOME = "config.json", "images.json", "check.json", "held_out.json", "outcome.json"
LEDGER, SUGGESTIONS, REPORT, MODEL = "ledger.csv", "suggestions.csv", "report.html", "model"
LOCK, WRITABLE = ".lock", ".writable"
# Folders that hold what was learned.
ROUNDS, FOLDS, CHECKPOINTS = "rounds", "folds", "checkpoints"


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
        return self.folder / ROUNDS / str(t)

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
            raise RunError(f"{path} is damaged ({brief(error)}); restore it, or start a new run with --out.") from error
        return content

    def has(self, name: str) -> bool:
        """Whether this file is there."""
        return (self / name).is_file()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep others from writing here; the lock of a process that died is free by itself."""
        with attempt(self / LOCK) as taken:
            if not taken:
                raise RunError(
                    f"{self.folder} is in use by another process; wait for it, or choose another folder with --out."
                )
            yield


@contextmanager
def create_run(folder: Path, *, force: bool = False) -> Iterator[Run]:
    """A new, empty run directory, locked while the block lasts.

    An existing run is replaced only by force, and nothing else ever is. The lock comes before
    anything else that is written, and what is there is judged under it: of two processes that begin
    at once, one is told so.
    """
    _check_folder(folder)
    run = Run(folder)
    with _told_if_not_writable(folder):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / LOCK).touch()
    with run.locked():
        _make_room(run, force)
        with _told_if_not_writable(folder):
            write_atomically(folder / WRITABLE, b"\0" * 4096)
            os.unlink(folder / WRITABLE)
        yield run


def check_out(folder: Path, *, force: bool) -> None:
    """Refuse at once what `create_run` would refuse after everything else is known; nothing is written."""
    _check_folder(folder)
    run = Run(folder)
    if run.has(LOCK):
        with run.locked():
            _check_room(run, force)


def _check_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise RunError(f"--out must be a folder, got {folder}, which is a file.")
    names = os.listdir(folder) if folder.is_dir() else []
    if names and LOCK not in names:
        raise _other_files(folder)


def _make_room(run: Run, force: bool) -> None:
    """Clear what may be cleared, and refuse the rest."""
    _check_room(run, force)
    _clear(run, folders=not _only_begun(run))


def _check_room(run: Run, force: bool) -> None:
    if _only_begun(run):
        return
    if not run.has(CONFIG):
        raise _other_files(run.folder)
    if not force:
        state = "a finished run" if run.finished else "an unfinished run"
        again = "" if run.finished else f" go on with `curriculum resume {run.folder}`,"
        raise RunError(f"{run.folder} already holds {state};{again} choose another --out, or replace it with --force.")


def _only_begun(run: Run) -> bool:
    """Whether nothing has been learned here: the run never came past its data check, or was killed while it began."""
    if run.finished or run.has(CHECK) or any((run / name).exists() for name in (ROUNDS, FOLDS, CHECKPOINTS)):
        return False
    return run.has(CONFIG) or all(_is_leaving(name) for name in os.listdir(run.folder))


def _is_leaving(name: str) -> bool:
    return name in (LOCK, WRITABLE) or (name.startswith(".") and name.endswith(".tmp"))


def _clear(run: Run, *, folders: bool) -> None:
    """Remove all but the lock, which is held: without it, two processes would lock two files of one name.

    Folders go first and the configuration last, so that a kill leaves what can be cleared again.
    """
    paths = list(run.folder.iterdir())
    inner = [path for path in paths if path.is_dir() and not path.is_symlink()]
    for path in inner if folders else ():
        shutil.rmtree(path)
    for path in sorted(set(paths) - set(inner), key=lambda path: path.name == CONFIG):
        if path.name != LOCK:
            path.unlink()


def _other_files(folder: Path) -> RunError:
    return RunError(f"--out must be a new or empty folder, got {folder}, which holds other files.")


@contextmanager
def _told_if_not_writable(folder: Path) -> Iterator[None]:
    """So that a full or read-only disk shows before any long work."""
    try:
        yield
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
