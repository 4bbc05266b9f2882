"""CIFAR-10 and SVHN from their official addresses: resumed after a cut, checked, and there whole or not at all."""

from __future__ import annotations

import hashlib
import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from curriculum_labeling.data.atomic import sync_folder
from curriculum_labeling.data.locks import exclusive

BLOCK = 1 << 20
TIMEOUT = 30.0
ATTEMPTS = 5


@dataclass(frozen=True)
class Remote:
    """A file somewhere else and the MD5 its publishers give for it."""

    url: str
    md5: str

    @property
    def name(self) -> str:
        """The last part of the address."""
        return self.url.rsplit("/", 1)[-1]


CIFAR10 = {
    "binary": Remote("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz", "c32a1d4ab5d03f1284b67883e8d87530"),
    "python": Remote("https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz", "c58f30108f718f92721af3b95e74349a"),
}
SVHN = {
    "train": Remote("http://ufldl.stanford.edu/housenumbers/train_32x32.mat", "e26dedcc434d2e4c54c9b2d4a06d8373"),
    "test": Remote("http://ufldl.stanford.edu/housenumbers/test_32x32.mat", "eb5a983be6a315427106f1b164d9cef3"),
    "extra": Remote("http://ufldl.stanford.edu/housenumbers/extra_32x32.mat", "a93ce644f1a588dc4d68dda5feec44a7"),
}

# Called with the bytes so far and the bytes in all (None where the server does not say).
Progress = Callable[[int, int | None], None]


class DownloadError(ConnectionError):
    """A download that could not be finished; what did arrive is kept for the next attempt."""


def fetch_cifar10(
    folder: str | Path, *, layout: Literal["binary", "python"] = "binary", progress: Progress | None = None
) -> Path:
    """Download CIFAR-10 (162 MB) unless it is there; `cifar10.load` reads the archive as it is."""
    return fetch(CIFAR10[layout], folder, progress=progress)


def fetch_svhn(
    folder: str | Path, *, parts: Sequence[str] = ("train", "test"), progress: Progress | None = None
) -> list[Path]:
    """Download parts of SVHN (train 182 MB, test 64 MB, extra 1.3 GB) unless they are there."""
    if unknown := [part for part in parts if part not in SVHN]:
        raise ValueError(f'parts must be of "train", "test" and "extra", got {unknown[0]!r}.')
    return [fetch(SVHN[part], folder, progress=progress) for part in parts]


def fetch(remote: Remote, folder: str | Path, *, progress: Progress | None = None) -> Path:
    """The file in this folder, downloaded and checked if need be; a second process waits for the first."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    target, part = folder / remote.name, folder / f"{remote.name}.part"
    with exclusive(folder / f"{remote.name}.lock"):
        if target.exists():
            return target
        _receive_all(remote, part, target, progress)
        if (found := _md5(part)) != remote.md5:
            part.unlink()
            raise DownloadError(
                f"{remote.url} arrived damaged (MD5 {found}, published {remote.md5}) and was removed; try again later."
            )
        os.replace(part, target)
        sync_folder(folder)
    return target


def _receive_all(remote: Remote, part: Path, target: Path, progress: Progress | None) -> None:
    """Receive until nothing is missing; an attempt that brought bytes earns another one."""
    left, cause = ATTEMPTS, "the connection was cut"
    while left:
        before = part.stat().st_size if part.exists() else 0
        try:
            if _receive(remote.url, part, progress):
                return
        except urllib.error.HTTPError as error:
            cause = f"the server answered {error.code} {error.reason}"
            error.close()
            break
        except urllib.error.URLError as error:
            cause = str(error.reason)
            break
        except (OSError, http.client.HTTPException) as error:
            cause = str(error) or type(error).__name__
        left = ATTEMPTS if part.exists() and part.stat().st_size > before else left - 1
    raise DownloadError(
        f"{remote.url} could not be downloaded ({cause}); check the network and run again to continue, "
        f"or place the file at {target} yourself."
    )


def _receive(url: str, part: Path, progress: Progress | None) -> bool:
    """Append what is missing; True when the server says there is no more."""
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        answer = urllib.request.urlopen(request, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code != 416 or not have:  # 416: nothing lies beyond what we have
            raise
        error.close()
        return True
    with answer:
        if not answer.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
            have = 0  # the server starts from the beginning, so do we
        length = answer.headers.get("Content-Length")
        total = have + int(length) if length else None
        with open(part, "r+b" if have else "wb") as file:
            file.seek(have)
            while block := answer.read(BLOCK):
                file.write(block)
                have += len(block)
                if progress is not None:
                    progress(have, total)
            os.fsync(file.fileno())
    return total is None or have >= total


def _md5(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
