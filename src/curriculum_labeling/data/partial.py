"""A cache under construction: a folder with the pixels so far and a journal of the chunks that are in it.

Each line of the journal carries the checksum of its chunk. A restarted build believes a line only
after reading the chunk again, so a kill, a power cut or a half-written chunk costs that chunk, no more.
"""

from __future__ import annotations

import io
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any
from zlib import crc32

import numpy as np

from curriculum_labeling.data.atomic import sync_folder, write_atomically
from curriculum_labeling.data.chunks import DecodedChunk, rows_per_chunk

PIXELS, DIGESTS, INDEX, JOURNAL = "pixels.npy", "digests.npy", "index.json", "journal.jsonl"


@dataclass
class Partial:
    """The pixels decoded so far, and which chunks of them are known to be right."""

    folder: Path
    rows: int
    resolution: int
    unreadable: dict[int, str] = field(default_factory=dict)
    done: set[int] = field(default_factory=set)

    def open(self) -> None:
        """Make the folder, or check what an earlier build left in it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for leaving in self.folder.glob(".*.tmp"):  # of a process that was killed while it wrote
            leaving.unlink()
        self._check_room()
        self._allocate(self.rows)
        trusted = [line for line in self._journal_lines() if self._holds(line)]
        for line in trusted:
            self._note(line)
        write_atomically(self.folder / JOURNAL, "".join(_as_line(line) for line in trusted).encode())

    def chunks_left(self) -> Iterator[tuple[int, range]]:
        """Number and rows of each chunk that has to be decoded."""
        size = rows_per_chunk(self.resolution)
        for number in range(-(-self.rows // size)):
            if number not in self.done:
                yield number, range(number * size, min(self.rows, (number + 1) * size))

    @property
    def rows_done(self) -> int:
        """How many rows need no more work."""
        return self.rows - sum(len(rows) for _, rows in self.chunks_left())

    def write(self, chunk: DecodedChunk) -> None:
        """Put a chunk in its place, then say so in the journal."""
        with open(self.folder / PIXELS, "r+b") as file:
            file.seek(self._offset(chunk.number))
            file.write(chunk.pixels)
        line = {
            "chunk": chunk.number,
            "bytes": len(chunk.pixels),
            "crc": crc32(chunk.pixels),
            "unreadable": {str(place): reason for place, reason in chunk.unreadable.items()},
        }
        with open(self.folder / JOURNAL, "a", encoding="ascii") as journal:
            journal.write(_as_line(line))
        self._note(line)

    def finish(self, target: Path, digests: Any, index: dict[str, Any]) -> None:
        """Close the gaps of unreadable rows, write digests and index, and give the folder its final name."""
        kept = [row for row in range(self.rows) if row not in self.unreadable]
        self._close_gaps(kept)
        self._allocate(len(kept))
        with open(self.folder / PIXELS, "r+b") as file:
            os.fsync(file.fileno())
        write_atomically(self.folder / DIGESTS, _npy(digests[kept]))
        write_atomically(self.folder / INDEX, json.dumps(index, indent=1).encode())
        os.rename(self.folder, target)
        sync_folder(target.parent)
        (target / JOURNAL).unlink()

    def _close_gaps(self, kept: list[int]) -> None:
        """Move rows up over the unreadable ones; a kill meanwhile leaves chunks whose checksums tell."""
        if not self.unreadable:
            return
        pixels = np.lib.format.open_memmap(self.folder / PIXELS, mode="r+")
        for place in range(min(self.unreadable), len(kept)):
            pixels[place] = pixels[kept[place]]
        pixels.flush()

    def _allocate(self, rows: int) -> None:
        """Give the file its header and its full length; on most file systems the bytes need no space yet."""
        path = self.folder / PIXELS
        header = self._header(rows)
        with open(path, "r+b" if path.exists() else "w+b") as file:
            file.write(header)
            file.truncate(len(header) + rows * self._row_bytes)

    def _check_room(self) -> None:
        path = self.folder / PIXELS
        used = path.stat().st_blocks * 512 if path.exists() else 0
        needed, free = self.rows * self._row_bytes - used, shutil.disk_usage(self.folder).free
        if needed > free:
            raise OSError(
                f"the image cache needs {needed / 1e9:.2f} GB in {self.folder.parent}, where {free / 1e9:.2f} GB are "
                "free; choose another cache folder or a lower resolution."
            )

    def _journal_lines(self) -> Iterator[dict[str, Any]]:
        path = self.folder / JOURNAL
        for text in path.read_bytes().splitlines() if path.exists() else []:
            try:
                line = json.loads(text)
                checked = {key: line[key] for key in ("chunk", "bytes", "crc", "unreadable")}
            except (ValueError, KeyError, TypeError, RecursionError):
                return  # the line that was being written when the process died
            if not self._fits(checked):
                return
            yield checked

    def _fits(self, line: dict[str, Any]) -> bool:
        """Whether a line is about a chunk that there is."""
        size = rows_per_chunk(self.resolution)
        chunk, missing = line["chunk"], line["unreadable"]
        if type(chunk) is not int or not 0 <= chunk * size < self.rows or not isinstance(missing, dict):
            return False
        rows = min(size, self.rows - chunk * size)
        places = all(place.isdecimal() and int(place[:9]) < rows for place in missing)
        return (
            line["bytes"] == rows * self._row_bytes and places and all(isinstance(one, str) for one in missing.values())
        )

    def _holds(self, line: dict[str, Any]) -> bool:
        with open(self.folder / PIXELS, "rb") as file:
            file.seek(self._offset(line["chunk"]))
            return bool(crc32(file.read(line["bytes"])) == line["crc"])

    def _note(self, line: dict[str, Any]) -> None:
        first = line["chunk"] * rows_per_chunk(self.resolution)
        self.done.add(line["chunk"])
        self.unreadable.update({first + int(place): reason for place, reason in line["unreadable"].items()})

    def _offset(self, chunk: int) -> int:
        return len(self._header(self.rows)) + chunk * rows_per_chunk(self.resolution) * self._row_bytes

    def _header(self, rows: int) -> bytes:
        buffer = io.BytesIO()
        shape = (rows, self.resolution, self.resolution, 3)
        np.lib.format.write_array_header_1_0(buffer, {"descr": "|u1", "fortran_order": False, "shape": shape})
        return buffer.getvalue()

    @property
    def _row_bytes(self) -> int:
        return self.resolution * self.resolution * 3


def _as_line(line: dict[str, Any]) -> str:
    return json.dumps(line) + "\n"


def _npy(array: Any) -> bytes:
    buffer: IO[bytes] = io.BytesIO()
    np.save(buffer, array)
    buffer.seek(0)
    return buffer.read()
