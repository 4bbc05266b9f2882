"""CIFAR-10 in any of its shapes: binary batches, python batches, either as .tar.gz, or a folder of images per class."""

from __future__ import annotations

import gzip
import io
import tarfile
import zlib
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from curriculum_labeling.data.cifar10_pickle import read_batch
from curriculum_labeling.data.decode import decode
from curriculum_labeling.data.folders import class_folders, walk
from curriculum_labeling.data.images import Images

Part = Literal["train", "test"]
PARTS = ("train", "test")
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
BATCHES = {"train": tuple(f"data_batch_{i}" for i in range(1, 6)), "test": ("test_batch",)}
ARCHIVES = ("cifar-10-binary.tar.gz", "cifar-10-python.tar.gz")
ROW_BYTES = 1 + 3072
MAX_BATCH_BYTES = 40_000_000  # a published batch has 31 MB; a larger member is no batch
MAX_ARCHIVE_BYTES = 400_000_000  # the published archives unpack to 185 MB

Batch = tuple[NDArray[np.uint8], NDArray[np.int64]]


def load(path: str | Path, *, part: Part = "train") -> Images:
    """One part of CIFAR-10 in its published order.

    `path` is a .tar.gz as published, the folder inside it, or a folder that holds one of these or
    train/<class>/*.png and test/<class>/*.png (then sorted by class and name).
    """
    if part not in PARTS:
        raise ValueError(f'part must be "train" or "test", got {part!r}.')
    path = Path(path)
    if path.is_file():
        return _from_batches(_read_archive(path, part), path)
    for folder in (path, path / "cifar-10-batches-bin", path / "cifar-10-batches-py"):
        for suffix in (".bin", ""):
            if (folder / f"{BATCHES[part][0]}{suffix}").is_file():
                return _from_batches(_read_folder(folder, part, suffix), folder)
    if (path / part).is_dir():
        return _from_class_folders(path / part)
    for name in ARCHIVES:
        if (path / name).is_file():
            return load(path / name, part=part)
    raise ValueError(
        f"path must hold CIFAR-10 (cifar-10-batches-bin, cifar-10-batches-py, a .tar.gz of one, or {part}/<class>/), "
        f"got {path}; download.fetch_cifar10 gets it."
    )


def _read_folder(folder: Path, part: Part, suffix: str) -> dict[str, bytes]:
    files = {}
    for name in BATCHES[part]:
        file = folder / f"{name}{suffix}"
        if not file.is_file():
            raise ValueError(f"{folder} must hold {file.name}, which is missing; download CIFAR-10 again.")
        if (size := file.stat().st_size) > MAX_BATCH_BYTES:
            raise ValueError(f"{file} must have at most {MAX_BATCH_BYTES} bytes, got {size}; download CIFAR-10 again.")
        files[file.name] = file.read_bytes()
    return files


def _read_archive(path: Path, part: Part) -> dict[str, bytes]:
    """The batch files inside a .tar.gz, found by name; nothing is written to disk."""
    missing, found = set(BATCHES[part]), {}
    try:
        with gzip.open(path) as unpacked, tarfile.open(fileobj=_Bounded(unpacked), mode="r:") as archive:
            for member in archive:
                name = Path(member.name).name
                batch = name.removesuffix(".bin")
                if batch in missing and member.isreg() and member.size <= MAX_BATCH_BYTES:
                    file = archive.extractfile(member)
                    found[name] = b"" if file is None else file.read()
                    missing.remove(batch)
                if not missing:
                    break
    except (tarfile.TarError, EOFError, OSError, OverflowError, zlib.error) as error:
        raise ValueError(f"{path} cannot be read as a .tar.gz ({error}); download it again.") from error
    if missing:
        first = min(missing)
        raise ValueError(f"{path} must hold the batches of CIFAR-10, but {first} is missing; download it again.")
    return dict(sorted(found.items()))


class _Bounded(io.RawIOBase):
    """A file that refuses to be read further than CIFAR-10 goes, whatever sizes an archive claims."""

    def __init__(self, file: gzip.GzipFile) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        """So many bytes, or fewer at the end."""
        if not 0 <= size <= MAX_BATCH_BYTES + tarfile.BLOCKSIZE or self._file.tell() + size > MAX_ARCHIVE_BYTES:
            raise tarfile.ReadError(f"it unpacks to more than the {MAX_ARCHIVE_BYTES} bytes allowed")
        return self._file.read(size)

    def seek(self, place: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place, which takes unpacking up to there."""
        if whence != io.SEEK_SET or not 0 <= place <= MAX_ARCHIVE_BYTES:
            raise tarfile.ReadError(f"it unpacks to more than the {MAX_ARCHIVE_BYTES} bytes allowed")
        return self._file.seek(place)

    def tell(self) -> int:
        """Where it is."""
        return self._file.tell()


def _from_batches(files: dict[str, bytes], where: Path) -> Images:
    batches = [
        _read_binary(data, name) if name.endswith(".bin") else read_batch(data, name) for name, data in files.items()
    ]
    labels = np.concatenate([labels for _, labels in batches])
    if not ((labels >= 0) & (labels < len(CLASSES))).all():
        raise ValueError(
            f"labels in {where} must be from 0 to 9, got {labels.min()} to {labels.max()}; download it again."
        )
    pixels = np.empty((len(labels), 32, 32, 3), dtype=np.uint8)
    start = 0
    for rows, _ in batches:
        pixels[start : start + len(rows)] = rows.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        start += len(rows)
    return Images(pixels, labels, CLASSES)


def _read_binary(data: bytes, name: str) -> Batch:
    """Rows of one label byte and 3,072 bytes: the red plane, the green one, the blue one."""
    if not data or len(data) % ROW_BYTES:
        raise ValueError(f"{name} must hold whole rows of {ROW_BYTES} bytes, got {len(data)} bytes; download it again.")
    rows = np.frombuffer(data, dtype=np.uint8).reshape(-1, ROW_BYTES)
    return rows[:, 1:], rows[:, 0].astype(np.int64)


def _from_class_folders(folder: Path) -> Images:
    folders = class_folders(folder)
    names = [found.name for found in folders]
    if tuple(names) != CLASSES:
        raise ValueError(f"{folder} must hold one folder for each of {', '.join(CLASSES)}, got {', '.join(names)}.")
    files = [(file, label) for label, found in enumerate(folders) for file in walk(found, set())]
    pixels = np.stack([decode(file, 32) for file, _ in files])
    labels = np.array([label for _, label in files], dtype=np.int64)
    return Images(pixels, labels, CLASSES, tuple(file for file, _ in files))
