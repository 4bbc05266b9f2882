"""Arrays from an .npz file, which may be damaged or made to do harm: sizes are checked before memory is taken.

numpy's own reader evaluates headers as Python literals, and unpacks as much as a file asks for.
"""

from __future__ import annotations

import math
import re
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curriculum_labeling.data.typed import shown

MAGIC = re.compile(rb"\x93NUMPY[\x01\x02]\x00", re.DOTALL)
HEADER = re.compile(
    rb"\{'descr': '([<>|])([biufU])(\d{1,6})', 'fortran_order': (?:False|True), 'shape': \(([\d, ]{0,80})\), \} *\n?"
)
LONGEST_HEADER = 1024
FAULTS = (ValueError, KeyError, EOFError, NotImplementedError, OverflowError, zipfile.BadZipFile, zlib.error)


def read_npz(path: Path, kinds: Mapping[str, str], *, most_bytes: int) -> dict[str, NDArray[Any]]:
    """Arrays by name, each of one of the kinds that numpy's letters say, such as "iu", and of at most so many bytes.

    ValueError says what is wrong, without naming the file; a file that cannot be opened is an OSError.
    """
    with open(path, "rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                return {name: _array(_member(archive, f"{name}.npy", most_bytes), kinds[name], name) for name in kinds}
        except KeyError as error:
            raise ValueError("it lacks an array") from error
        except FAULTS as error:
            raise ValueError(shown(str(error) or type(error).__name__)) from error


def _member(archive: zipfile.ZipFile, name: str, most_bytes: int) -> bytes:
    found = archive.getinfo(name)
    if found.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or found.flag_bits & 1:
        raise ValueError(f"{name} is packed in a way that numpy does not use")
    if found.file_size > most_bytes + LONGEST_HEADER:
        raise ValueError(f"{name} unpacks to {found.file_size} bytes, more than the {most_bytes} allowed")
    return archive.read(found)


def _array(data: bytes, kinds: str, name: str) -> NDArray[Any]:
    if not MAGIC.match(data):
        raise ValueError(f"{name} is no array")
    start, width = (10, 2) if data[6] == 1 else (12, 4)
    end = start + int.from_bytes(data[8 : 8 + width], "little")
    head = HEADER.fullmatch(data[start:end]) if end <= start + LONGEST_HEADER else None
    if head is None or head[2].decode() not in kinds:
        raise ValueError(f"{name} must be of kind {' or '.join(kinds)}")
    kind = np.dtype(b"".join(head.group(1, 2, 3)).decode())
    shape = tuple(int(n) for n in head[4].replace(b",", b" ").split())
    if math.prod(shape) * kind.itemsize != len(data) - end:
        raise ValueError(f"{name} has {len(data) - end} bytes, which is not what its shape needs")
    order: Any = "F" if b"'fortran_order': True" in head[0] else "C"
    return np.frombuffer(data, kind, offset=end).reshape(shape, order=order).copy()
