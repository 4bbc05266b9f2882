"""Splits on disk, as JSON or npz: saved with a digest of the labels they were drawn for, checked when reloaded."""

from __future__ import annotations

import io
import json
from dataclasses import fields
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from curriculum_labeling.data.atomic import write_atomically
from curriculum_labeling.data.npz import read_npz
from curriculum_labeling.labels import IntArray, Split

FORMAT = 1
MOST_BYTES = 1 << 30
PARTS = tuple(part.name for part in fields(Split))


def save_split(path: str | Path, split: Split, labels: IntArray) -> None:
    """Write a split and what it belongs to; the suffix, .json or .npz, says how."""
    path = Path(path)
    head = {"format": FORMAT, "rows": len(labels), "labels_sha256": digest_labels(labels)}
    _check_rows(split, len(labels), path)
    if _suffix(path) == ".json":
        parts = {part: getattr(split, part).tolist() for part in PARTS}
        write_atomically(path, json.dumps({**head, **parts}).encode())
        return
    buffer = io.BytesIO()
    np.savez_compressed(buffer, head=json.dumps(head), **{part: getattr(split, part) for part in PARTS})
    write_atomically(path, buffer.getvalue())


def load_split(path: str | Path, labels: IntArray) -> Split:
    """Read a split, refusing one that overlaps or that was drawn for other data than these labels."""
    path = Path(path)
    try:
        head, parts = _read_json(path) if _suffix(path) == ".json" else _read_npz(path)
        split = Split(**parts)
        rows, digest = int(head["rows"]), str(head["labels_sha256"])
    except FileNotFoundError as error:
        raise ValueError(f"path must be a saved split, got {path}, which does not exist.") from error
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise ValueError(f"{path} cannot be read as a split ({error}); draw it again.") from error
    if rows != len(labels):
        raise ValueError(f"{path} was drawn for other data: {rows} rows, where these labels have {len(labels)}.")
    if digest != digest_labels(labels):
        raise ValueError(f"{path} was drawn for other data: as many rows, but other labels or another order.")
    _check_rows(split, rows, path)
    return split


def digest_labels(labels: IntArray) -> str:
    """A digest of all labels in their order, the same on every platform."""
    return sha256(np.ascontiguousarray(labels, dtype="<i8").tobytes()).hexdigest()


def _read_json(path: Path) -> tuple[dict[str, Any], dict[str, IntArray]]:
    content = json.loads(path.read_bytes())
    return content, {part: _row_array(np.array(content[part])) for part in PARTS}


def _read_npz(path: Path) -> tuple[dict[str, Any], dict[str, IntArray]]:
    content = read_npz(path, {"head": "U", **dict.fromkeys(PARTS, "iuf")}, most_bytes=MOST_BYTES)
    head: dict[str, Any] = json.loads(str(content["head"]))
    return head, {part: _row_array(content[part]) for part in PARTS}


def _row_array(rows: Any) -> IntArray:
    if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
        raise ValueError("its parts must be lists of row numbers")
    return np.asarray(rows, dtype=np.int64)


def _check_rows(split: Split, n: int, path: Path) -> None:
    for part in PARTS:
        rows = getattr(split, part)
        if len(rows) and not (rows.min() >= 0 and rows.max() < n):
            raise ValueError(
                f"{part} rows of {path} must be from 0 to {n - 1}, "
                f"got {rows.min()} to {rows.max()}; draw the split again."
            )


def _suffix(path: Path) -> str:
    if path.suffix not in (".json", ".npz"):
        raise ValueError(f"path must end in .json or .npz, got {path.name}.")
    return path.suffix
