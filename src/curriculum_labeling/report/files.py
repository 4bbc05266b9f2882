"""Files of a run directory, read with faults that name the file and the field in one sentence."""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from curriculum_labeling.data.npz import read_npz
from curriculum_labeling.runs.csv_cells import plain_cell

T = TypeVar("T")
# The cells of each column by its name: a million lines as a dict each would take twice the memory.
Table = dict[str, list[str]]
LARGEST = 2**53  # whole numbers up to here are exact as floats too


@dataclass(frozen=True)
class Record:
    """A JSON object and the file it came from; every look at a field checks its kind."""

    file: Path
    values: dict[str, Any]

    def text(self, key: str, default: str = "") -> str:
        """A string, or the default where there is none."""
        return str(self._one(key, (str,), "a text", default))

    def whole(self, key: str, default: int | None = None) -> int:
        """A whole number; required unless a default is given."""
        return int(self._one(key, (int,), "a whole number", default))

    def number(self, key: str) -> float | None:
        """A finite number, or None where it is missing, null or infinite."""
        value = self._one(key, (int, float), "a number or null", math.nan)
        return float(value) if math.isfinite(value) else None

    def listed(self, key: str, kind: type[T], default: list[T] | None = None) -> list[T]:
        """A list whose members are all of one kind."""
        values: list[T] = self._one(key, (list,), "a list", default)
        if wrong := [value for value in values if not _is(value, (kind,))]:
            raise self.fault(key, f"a list of {kind.__name__}", wrong[0])
        return values

    def codes(self, key: str, count: int | None, below: int, *, lowest: int = 0) -> NDArray[np.int64]:
        """Whole numbers from `lowest` to `below` - 1 as an array, `count` of them unless None."""
        array = np.array(self.listed(key, int), dtype=np.int64)
        if count is not None and len(array) != count:
            raise self.fault(key, f"a list of {count} numbers", f"{len(array)} of them")
        if len(array) and not (array.min() >= lowest and array.max() < below):
            raise self.fault(key, f"numbers from {lowest} to {below - 1}", f"{array.min()} to {array.max()}")
        return array

    def record(self, key: str) -> Record | None:
        """An object within this one, or None where it is missing or null."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self.fault(key, "an object or null", value)
        return Record(self.file, value)

    def fault(self, key: str, rule: str, got: Any) -> ValueError:
        """The error of one field."""
        return ValueError(
            f'{self.file}: "{key}" must be {rule}, got {_shown(got)}; the file is damaged, run fit again.'
        )

    def _one(self, key: str, kinds: tuple[type, ...], rule: str, default: Any) -> Any:
        value = self.values.get(key)
        if value is None and default is not None:
            return default
        if not _is(value, kinds):
            raise self.fault(key, rule, value)
        return value


def read_record(path: Path) -> Record:
    """A JSON file that must be there."""
    try:
        values = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise ValueError(
            f"{path} must be there, got none; give the folder that `curriculum fit --out` wrote."
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(
            f"{path} must be a JSON file, got one that cannot be read ({error}); run fit again."
        ) from error
    if not isinstance(values, dict):
        raise ValueError(f"{path} must hold a JSON object, got {type(values).__name__}; run fit again.")
    return Record(path, values)


def read_record_if_any(path: Path) -> Record | None:
    """A JSON file, or None where it was not written."""
    return read_record(path) if path.exists() else None


def read_table(path: Path, columns: Iterable[str]) -> Table | None:
    """These columns of a CSV file, or None where it was not written; other columns are passed over."""
    if not path.exists():
        return None
    table: Table = {name: [] for name in columns}
    try:
        with open(path, newline="", encoding="utf-8", errors="surrogateescape") as file:
            lines = csv.reader(file)
            names = next(lines, [])
            missing = [name for name in table if name not in names]
            places = [(cells, names.index(name)) for name, cells in table.items() if name in names]
            for line in filter(None, lines):
                for cells, place in places:
                    cells.append(plain_cell(line[place]) if place < len(line) else "")
    except (OSError, csv.Error) as error:
        raise ValueError(f"{path} must be a CSV file, got one that cannot be read ({error}); run fit again.") from error
    if missing:
        raise ValueError(f"{path} must have the column {missing[0]!r}, got none of that name; run fit again.")
    if not ends_a_line(path):
        raise ValueError(f"{path} must end with the end of a line, got one that was cut short; run fit again.")
    return table


def ends_a_line(path: Path) -> bool:
    """Whether the last byte is the end of a line, as after every line that we write."""
    with open(path, "rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read() == b"\n"


def column(path: Path, table: Table, name: str, *, empty: float) -> NDArray[np.float64]:
    """Numbers of one column, `empty` where nothing stands."""
    values = np.full(len(table[name]), empty, dtype=np.float64)
    for place, text in enumerate(table[name]):
        if text:
            try:
                values[place] = float(text)
            except ValueError:
                values[place] = np.inf
            if not abs(values[place]) < LARGEST:
                raise ValueError(
                    f"{path}: {name} must be a number, got {_shown(text)!r} in line {place + 2}; run fit again."
                )
    return values


def read_arrays(path: Path, kinds: Mapping[str, str], length: int) -> dict[str, NDArray[Any]] | None:
    """Arrays of one length from an npz file by name and kind, or None where it was not written."""
    if not path.exists():
        return None
    try:
        arrays = read_npz(path, kinds, most_bytes=16 * max(length, 1))
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} must hold the scores of a round, got a fault ({error}); run fit again.") from error
    for name, array in arrays.items():
        if array.shape != (length,):
            raise ValueError(
                f"{path}: {name} must have one entry per unlabeled image ({length}), got shape {array.shape};"
                " run fit again."
            )
    return arrays


def _is(value: Any, kinds: tuple[type, ...]) -> bool:
    """Whether a value is of a kind; true and false are no numbers here, and whole numbers have an end."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > LARGEST:
        return False
    return isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
