"""Checkpoints: tensors in a safetensors file, everything else in a JSON file that names it.

The tensors are written first, under a new name; then the JSON file is replaced, which is the moment
the new checkpoint counts; then older tensors are deleted. A kill anywhere leaves a whole
checkpoint. There are no generator states: all randomness is addressed.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from curriculum_labeling.data.atomic import write_atomically
from curriculum_labeling.data.typed import brief
from curriculum_labeling.vision.distributed import Group

PROGRESS = "progress.json"


@dataclass(frozen=True)
class Checkpoints:
    """Where checkpoints go, and how often: after every so many epochs and so many minutes, whichever comes first."""

    folder: Path
    epochs: int = 1
    minutes: float = 5.0

    def __post_init__(self) -> None:
        if self.epochs < 1:
            raise ValueError(f"checkpoint epochs must be a whole number, at least 1, got {self.epochs}.")
        if self.minutes < 0:
            raise ValueError(f"checkpoint minutes must be a number, at least 0, got {self.minutes}.")


@dataclass(frozen=True)
class Saved:
    """One checkpoint as read: tensors by name, and what the JSON file says."""

    tensors: dict[str, Tensor]
    progress: dict[str, Any]


class Store:
    """The checkpoints of one fit, in a folder of their own."""

    def __init__(self, settings: Checkpoints, name: str) -> None:
        self.settings = settings
        self.folder = Path(settings.folder) / name
        self._written = time.monotonic()

    def due(self, epochs: int | None) -> bool:
        """Whether it is time to save; `epochs` is how many have just been completed, None within an epoch."""
        if epochs is not None and epochs % self.settings.epochs == 0:
            return True
        return time.monotonic() - self._written >= self.settings.minutes * 60

    def save(self, name: str, tensors: dict[str, Tensor], progress: dict[str, Any]) -> None:
        """Make this the checkpoint; `name` is the tensors' file without its ending."""
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self.folder / f"{name}.safetensors"
        write_atomically(file, save({key: tensor.detach().cpu().contiguous() for key, tensor in tensors.items()}))
        text = json.dumps({**progress, "tensors": file.name}, indent=1)
        write_atomically(self.folder / PROGRESS, text.encode())
        for old in self.folder.glob("*.safetensors"):
            if old != file:
                old.unlink()
        self._written = time.monotonic()

    def load(self) -> Saved | None:
        """The last checkpoint, or None where there is none yet."""
        progress = self._progress()
        if progress is None:
            return None
        with self._readable(progress["tensors"]):
            return Saved(load_file(self.folder / progress["tensors"]), progress)

    def steps(self) -> float:
        """How far the last checkpoint has come: its step, infinite for a finished fit, -1 where there is none yet."""
        progress = self._progress()
        if progress is None:
            return -1.0
        with self._readable(PROGRESS):
            return math.inf if progress["finished"] else float(progress["step"])

    def _progress(self) -> dict[str, Any] | None:
        path = self.folder / PROGRESS
        if not path.is_file():
            return None
        with self._readable(PROGRESS):
            progress = json.loads(path.read_bytes())
            file = progress.get("tensors") if isinstance(progress, dict) else None
            if not isinstance(file, str) or Path(file).name != file:
                raise ValueError("it names no tensors")
            return dict(progress)

    @contextmanager
    def _readable(self, name: str) -> Iterator[None]:
        """What goes wrong with a file of the checkpoint, in a sentence."""
        try:
            yield
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError, OSError, SafetensorError) as error:
            raise ValueError(
                f"the checkpoint in {self.folder} cannot be read ({brief(f'{name}: {error}')}); "
                "delete the folder to train this round anew."
            ) from error


def load_together(store: Store | None, group: Group) -> Saved | None:
    """The furthest checkpoint that any process finds, in every process.

    Process 0 writes checkpoints. Machines may each have a folder of their own, and after a restart
    process 0 may be on another one.
    """
    if group.size == 1:
        return None if store is None else store.load()
    steps = group.gather(-1.0 if store is None else store.steps())
    owner = steps.index(max(steps))
    return group.from_process(owner, store.load() if store is not None and group.rank == owner else None)
