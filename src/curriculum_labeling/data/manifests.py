"""Manifests: a CSV file with the columns path and label, one image per line."""

from __future__ import annotations

import csv
import os
from pathlib import Path

from curriculum_labeling.data.listing import Listing, list_pairs

SHOWN = 5


def list_images(manifest: str | Path) -> Listing:
    """The images a manifest names; paths are relative to its folder, and an empty label means unlabeled."""
    manifest = Path(manifest)
    try:
        with open(manifest, encoding="utf-8-sig", newline="") as file:
            lines = [(fields, number) for fields, number in _numbered(csv.reader(file, strict=True)) if any(fields)]
    except OSError as error:
        raise ValueError(f"{manifest} must be a CSV file that can be read, got: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{manifest} must be a CSV file in UTF-8, got bytes that are no such text.") from error
    except csv.Error as error:
        raise ValueError(f"{manifest} must be a CSV file with every quote closed, got: {error}.") from error
    if not lines:
        raise ValueError(f'{manifest} must begin with the line "path,label", got an empty file.')
    columns = _columns(lines[0][0], manifest)
    return _listing(lines[1:], columns, manifest)


def _numbered(reader: object) -> list[tuple[list[str], int]]:
    return [(fields, reader.line_num) for fields in reader]  # type: ignore[attr-defined]


def _columns(header: list[str], manifest: Path) -> list[str]:
    columns = [name.strip().lower() for name in header]
    if columns not in (["path", "label"], ["label", "path"], ["path"]):
        raise ValueError(
            f'line 1 of {manifest} must be "path,label" (or "path", all unlabeled), got "{_short(",".join(header))}".'
        )
    return columns


def _short(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:199]}…"


def _listing(lines: list[tuple[list[str], int]], columns: list[str], manifest: Path) -> Listing:
    """Turn lines into a listing; all faults are gathered and raised once."""
    pairs: list[tuple[str, str | None]] = []
    first_line: dict[str, int] = {}
    faults = []
    for fields, number in lines:
        path, label, fault = _entry(fields, columns, manifest.parent)
        if fault is None and path in first_line:
            fault = f"names {path} again, after line {first_line[path]}"
        if fault is not None:
            faults.append(f"line {number} {fault}")
        first_line.setdefault(path, number)
        pairs.append((path, label))
    if faults:
        more = f"; and {len(faults) - SHOWN} more" if len(faults) > SHOWN else ""
        lines_of = "1 faulty line" if len(faults) == 1 else f"{len(faults)} faulty lines"
        raise ValueError(f"{manifest} has {lines_of}: {'; '.join(faults[:SHOWN])}{more}.")
    if not pairs:
        raise ValueError(f"{manifest} must name at least one image, got only a header.")
    return list_pairs(pairs)


def _entry(fields: list[str], columns: list[str], folder: Path) -> tuple[str, str | None, str | None]:
    """Path, label and fault (each None where there is none) of one line."""
    if len(fields) > len(columns):
        got = f"has {len(fields)} fields instead of {len(columns)}"
        return "", None, f"{got} (put quotes around a path that contains a comma)"
    entry = dict(zip(columns, (field.strip() for field in fields), strict=False))
    if not entry.get("path"):
        return "", None, "has no path"
    path = os.path.normpath(folder / entry["path"])
    fault = None if os.path.isfile(path) else f"names {_short(entry['path'])}, which is no file in {folder}"
    return path, entry.get("label") or None, fault
