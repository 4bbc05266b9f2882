"""Embeddings under construction: an array of full length, and a journal of the batches that are in it."""

from __future__ import annotations

import io
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from zlib import crc32

import numpy as np

from curriculum_labeling.data.atomic import write_atomically
from curriculum_labeling.vision.backbones.protocol import Features

ARRAY, JOURNAL = "embeddings.npy", "journal.jsonl"


@dataclass
class Journal:
    """The features so far, and which batches of them are known to be right."""

    folder: Path
    rows: int
    size: int
    batch: int
    done: set[int] = field(default_factory=set)

    def open(self) -> None:
        """Give the array its full length, and check what an earlier build left in it."""
        self._check_room()
        header, path = self._header(), self.folder / ARRAY
        with open(path, "r+b" if path.exists() else "w+b") as file:
            file.write(header)
            file.truncate(len(header) + self.rows * self._row_bytes)
        trusted = [line for line in self._lines() if self._holds(*line)]
        self.done = {number for number, _ in trusted}
        write_atomically(self.folder / JOURNAL, "".join(_as_line(*line) for line in trusted).encode())

    def batches_left(self) -> Iterator[tuple[int, range]]:
        """Number and rows of each batch that has to be computed."""
        for number in range(-(-self.rows // self.batch)):
            if number not in self.done:
                yield number, self._rows_of(number)

    @property
    def rows_done(self) -> int:
        """How many rows need no more work."""
        return sum(len(self._rows_of(number)) for number in self.done)

    def write(self, number: int, features: Features) -> None:
        """Put a batch in its place, then say so in the journal."""
        data = np.ascontiguousarray(features).tobytes()
        with open(self.folder / ARRAY, "r+b") as file:
            file.seek(self._offset(number))
            file.write(data)
        with open(self.folder / JOURNAL, "a", encoding="ascii") as journal:
            journal.write(_as_line(number, crc32(data)))

    def close(self) -> None:
        """Make the array survive a power cut."""
        with open(self.folder / ARRAY, "r+b") as file:
            os.fsync(file.fileno())

    def _lines(self) -> Iterator[tuple[int, int]]:
        path = self.folder / JOURNAL
        for text in path.read_bytes().splitlines() if path.exists() else []:
            try:
                line = json.loads(text)
                number, crc = int(line["batch"]), int(line["crc"])
            except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
                return  # the line that was being written when the process died
            yield number, crc

    def _holds(self, number: int, crc: int) -> bool:
        if not 0 <= number * self.batch < self.rows:
            return False
        rows = self._rows_of(number)
        with open(self.folder / ARRAY, "rb") as file:
            file.seek(self._offset(number))
            return crc32(file.read(len(rows) * self._row_bytes)) == crc

    def _rows_of(self, number: int) -> range:
        return range(number * self.batch, min(self.rows, (number + 1) * self.batch))

    def _offset(self, number: int) -> int:
        return len(self._header()) + number * self.batch * self._row_bytes

    def _header(self) -> bytes:
        buffer = io.BytesIO()
        shape = {"descr": "<f4", "fortran_order": False, "shape": (self.rows, self.size)}
        np.lib.format.write_array_header_1_0(buffer, shape)
        return buffer.getvalue()

    @property
    def _row_bytes(self) -> int:
        return 4 * self.size

    def _check_room(self) -> None:
        path = self.folder / ARRAY
        used = path.stat().st_blocks * 512 if path.exists() else 0
        needed, free = self.rows * self._row_bytes - used, shutil.disk_usage(self.folder).free
        if needed > free:
            raise OSError(
                f"the embeddings need {needed / 1e9:.2f} GB in {self.folder.parent}, where {free / 1e9:.2f} GB are "
                "free; make room, or choose another folder."
            )


def _as_line(number: int, crc: int) -> str:
    return json.dumps({"batch": number, "crc": crc}) + "\n"
