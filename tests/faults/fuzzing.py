"""Damaged files, and the promise that loaders keep on them: a value or one sentence, in bounded time and memory."""

import atexit
import json
import random
import resource
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from curriculum_labeling.data.cache import UnreadableImages
from curriculum_labeling.data.decode import UnreadableImage
from curriculum_labeling.runs.directory import RunError

OURS = (ValueError, RunError, UnreadableImage, UnreadableImages)
MOST_SECONDS = 20.0  # of this process's own work, so that a busy machine changes nothing
MOST_BYTES = 1 << 30  # of new address space
LONGEST_MESSAGE = 4000

NASTY_TEXT = (
    b"NaN", b"Infinity", b"-1", b"1e999", b"9" * 5000, b"-0", b"18446744073709551616", b"null", b"true", b"{}", b"[]",
    b'"', b"'", b",", b"\n", b"\r\n", b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xb2\x80",
    b"\\ud800", b"\\u0000", b"\xe2\x80\xae",
    b"[" * 3000, b'{"a":' * 3000, b"&a [*a]", b"!!python/object/apply:os.system [id]", b"!!int ''", b"!!timestamp x",
    b"=cmd|' /C calc'!A0", b"../../../etc/passwd", b"%s%n", b"\xf0\x9f\x98\x80", b"(" * 500,
)  # fmt: skip
NASTY_VALUES = (
    None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63), 10**400, 0.5, -0.0, 1e308, float("nan"), float("inf"), "", "x",
    "\0", "a\nb", "\ud800", "\udc80", "‮evil", "<script>", "x" * 5000, [], [[]], {}, {"x": 1}, [None], ["x"], [1, "x"],
    {"": None},
)  # fmt: skip
NUMBERS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)


class TooLong(BaseException):
    """An input that is being worked on for longer than allowed; nothing catches it on the way."""


@dataclass(frozen=True)
class Loader:
    """A loader, the small real files it reads, and which of them is damaged."""

    name: str
    make: Callable[[Path], object]
    target: str
    load: Callable[[Path], object]

    def attempt(self, folder: Path, data: bytes) -> str | None:
        """Load these bytes: None where they are taken, the sentence where they are refused; anything else raises."""
        (folder / self.target).write_bytes(data)
        try:
            with bounded():
                self.load(folder)
        except (OSError, *OURS) as error:
            return sentence_of(error)
        return None


def sentence_of(error: Exception) -> str:
    """What an error says, if it is one of ours and says it as we do."""
    message = str(error)
    if isinstance(error, OSError):
        assert error.strerror or message.endswith("."), f"{error!r} is not ours"
        return message
    assert type(error) in OURS, f"{error!r} is not ours"
    assert message.endswith((".", "?")), f"{message!r} is no sentence"
    assert len(message) < LONGEST_MESSAGE, f"{message[:200]!r}… is no sentence"
    return message


@dataclass
class Tally:
    """What became of the inputs of one loader."""

    taken: int = 0
    refused: int = 0
    slowest: float = 0.0

    @property
    def inputs(self) -> int:
        return self.taken + self.refused


def fuzz(loader: Loader, folder: Path, numbers: range) -> Tally:
    """Damage a real file in as many ways as there are numbers; a fault names the number that makes it again."""
    shutil.copytree(made(loader.make), folder, dirs_exist_ok=True)
    original = (folder / loader.target).read_bytes()
    assert loader.attempt(folder, original) is None, f"{loader.name}: a file that nothing happened to must be read"
    tally = Tally()
    for number in numbers:
        data = damage(original, random.Random(number))
        start = time.process_time()
        try:
            refused = loader.attempt(folder, data)
        except BaseException as error:
            raise AssertionError(f"{loader.name}, input {number} ({data[:80]!r}…): {error!r}") from error
        tally.refused += refused is not None
        tally.taken += refused is None
        tally.slowest = max(tally.slowest, time.process_time() - start)
    return tally


@cache
def made(make: Callable[[Path], object]) -> Path:
    """The files of a maker, made once for all loaders that read them."""
    folder = Path(mkdtemp(prefix="faults-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    make(folder)
    return folder


@contextmanager
def bounded(seconds: float = MOST_SECONDS, most_bytes: int = MOST_BYTES):
    """Let the block take so much processor time and so much new memory, and no more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (address_space() + most_bytes, hard))
    before = signal.signal(signal.SIGVTALRM, _too_long)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def address_space() -> int:
    """Bytes of virtual memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def damage(data: bytes, rng: random.Random) -> bytes:
    """The same bytes after one to four accidents."""
    if rng.random() < 0.4 and (tree := _tree(data)) is not None:
        for _ in range(rng.choice((1, 1, 2, 3))):
            tree = _damage_tree(tree, rng)
        return json.dumps(tree).encode()
    for _ in range(rng.choice((1, 1, 2, 4))):
        data = rng.choice(ACCIDENTS)(data, rng)
    return data


def _flip(data: bytes, rng: random.Random) -> bytes:
    """A few bits are not what they were."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 4, 32)) if changed else 0):
        changed[_place(changed, rng)] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _cut(data: bytes, rng: random.Random) -> bytes:
    """The end is missing, or a piece in the middle."""
    start = rng.randrange(len(data) + 1)
    return data[:start] if rng.random() < 0.5 else data[:start] + data[start + rng.randrange(1, 200) :]


def _splice(data: bytes, rng: random.Random) -> bytes:
    """A piece stands where another should."""
    a, b, n = (rng.randrange(len(data) + 1) for _ in range(3))
    n = min(n, 400)
    return data[:a] + data[b : b + n] + data[a + n :]


def _repeat(data: bytes, rng: random.Random) -> bytes:
    """A block is there many times."""
    start, n = rng.randrange(len(data) + 1), rng.randrange(1, 300)
    return data[: start + n] + data[start : start + n] * rng.choice((1, 2, 20)) + data[start + n :]


def _number(data: bytes, rng: random.Random) -> bytes:
    """A size, count or offset is the worst it can be."""
    width = rng.choice((1, 2, 4, 8))
    value = min(rng.choice((*NUMBERS, 2 ** (8 * width) - 1)), 2 ** (8 * width) - 1)
    place = _place(data, rng) if data else 0
    return data[:place] + value.to_bytes(width, rng.choice(("little", "big"))) + data[place + width :]


def _insert(data: bytes, rng: random.Random) -> bytes:
    """Something nasty stands in the text."""
    place = rng.randrange(len(data) + 1)
    return data[:place] + rng.choice(NASTY_TEXT) + data[place + rng.choice((0, 0, 1, 5)) :]


ACCIDENTS = (_flip, _flip, _cut, _splice, _repeat, _number, _number, _insert)


def _place(data: bytes | bytearray, rng: random.Random) -> int:
    """Headers are hit as often as everything behind them."""
    return rng.randrange(min(len(data), 300)) if rng.random() < 0.5 else rng.randrange(len(data))


def _tree(data: bytes) -> object:
    try:
        return json.loads(data)
    except ValueError:
        return None


def _damage_tree(tree: object, rng: random.Random) -> object:
    """Somewhere a value is another, or is missing, or is there under another name."""
    if isinstance(tree, dict) and tree and rng.random() < 0.9:
        key = rng.choice(sorted(tree))
        if rng.random() < 0.15:
            return {name: value for name, value in tree.items() if name != key}
        return {**tree, key: _damage_tree(tree[key], rng)}
    if isinstance(tree, list) and tree and rng.random() < 0.8:
        place = rng.randrange(len(tree))
        if rng.random() < 0.15:
            return tree[:place] + tree[place + 1 :]
        return [*tree[:place], _damage_tree(tree[place], rng), *tree[place + 1 :]]
    return rng.choice(NASTY_VALUES)


def _too_long(*_: object) -> None:
    raise TooLong(f"it takes longer than {MOST_SECONDS:g} s")
