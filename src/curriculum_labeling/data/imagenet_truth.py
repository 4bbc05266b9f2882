"""The classes of ImageNet's flat validation folder, in each form they are handed around in."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from curriculum_labeling.data.mat5 import read_variables
from curriculum_labeling.labels import IntArray

WNID = re.compile(r"n\d{8}")
MOST_BYTES = 64 << 20


def read_truth(truth: Path, stems: list[str], wnids: tuple[str, ...]) -> IntArray:
    """Class numbers of these validation files (names without suffix, sorted).

    Lines are a name and a class (`ILSVRC2012_val_00000001.JPEG 65`, or Kaggle's CSV), or only a
    class for the files in order: a WordNet id, or the number that meta.mat of the development kit,
    beside the file, gives a WordNet id for. A number after a name counts the sorted WordNet ids from 0.
    """
    if not truth.is_file():
        raise ValueError(f"truth must be a text file, got {truth}, which does not exist.")
    lines = [line.split() for line in _text(truth).replace(",", " ").splitlines() if line.strip()]
    if lines and lines[0][0] == "ImageId":
        lines = lines[1:]
    if lines and len(lines[0]) > 1:
        values = _by_name(lines, stems, wnids, truth)
    elif len(lines) == len(stems):
        values = _in_order([fields[0] for fields in lines], truth)
    else:
        raise ValueError(f"{truth} must have one line per validation image, got {len(lines)} for {len(stems)} images.")
    number = {wnid: i for i, wnid in enumerate(wnids)}
    if strange := [value for value in values if value not in number]:
        raise ValueError(
            f"{truth} must name classes of train/, got {strange[0]}, which is not among its {len(wnids)} classes."
        )
    return np.array([number[value] for value in values], dtype=np.int64)


def _by_name(lines: list[list[str]], stems: list[str], wnids: tuple[str, ...], truth: Path) -> list[str]:
    """The WordNet id of each file, where lines name the files."""
    named = {Path(fields[0]).stem: fields[1] for fields in lines if len(fields) > 1}
    if missing := [stem for stem in stems if stem not in named]:
        raise ValueError(f"{truth} must name every validation image, but {missing[0]} is missing.")
    counted = {str(i): wnid for i, wnid in enumerate(wnids)}
    return [counted.get(named[stem], named[stem]) for stem in stems]


def _in_order(values: list[str], truth: Path) -> list[str]:
    """The WordNet id of each file, where lines follow the files' order."""
    if all(WNID.fullmatch(value) for value in values):
        return values
    meta = truth.with_name("meta.mat")
    if not meta.is_file():
        raise ValueError(f"meta.mat of ImageNet's development kit must lie beside the ground truth, got no {meta}.")
    kit = _read_kit(meta)
    return [kit.get(value, value) for value in values]


def _read_kit(meta: Path) -> dict[str, str]:
    """The WordNet id of each of the kit's numbers, which do not follow the sorted ids."""
    try:
        synsets = read_variables(meta, ("synsets",), most_bytes=MOST_BYTES).get("synsets")
    except ValueError as error:
        raise ValueError(f"{meta} cannot be read as a MATLAB file ({error}); take it from the kit again.") from error
    kit = {}
    for one in synsets if isinstance(synsets, list) else [{}]:
        number, wnid = one.get("ILSVRC2012_ID"), one.get("WNID")
        if not isinstance(number, np.ndarray) or number.size != 1 or not isinstance(wnid, str):
            raise ValueError(f"{meta} must hold synsets with ILSVRC2012_ID and WNID; take it from the kit again.")
        kit[f"{number.item():g}"] = wnid
    return kit


def _text(truth: Path) -> str:
    if (size := truth.stat().st_size) > MOST_BYTES:
        raise ValueError(f"truth must be a text file of at most {MOST_BYTES} bytes, got {truth} with {size}.")
    try:
        return truth.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"truth must be a text file, got {truth}, which is no text ({error.reason}).") from error
