"""Decoding by chunks of rows, in this process or in several; who decodes a chunk does not change its bytes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.process import BaseProcess

import numpy as np

from curriculum_labeling.data.decode import UnreadableImage, check_size, decode_bytes
from curriculum_labeling.data.fingerprints import FileState
from curriculum_labeling.data.npy import map_array

CHUNK_BYTES = 8 << 20
CHUNK_ROWS = 256
# Below this many images a second process costs more to start than it saves.
WORTH_A_PROCESS = 400


@dataclass(frozen=True, slots=True)
class Source:
    """Where a row's pixels come from: its file, or a row that another cache holds already."""

    file: FileState
    cached: tuple[str, int] | None = None


@dataclass(frozen=True)
class Chunk:
    """Consecutive rows to decode."""

    number: int
    sources: tuple[Source, ...]
    resolution: int


@dataclass(frozen=True)
class DecodedChunk:
    """The pixels of a chunk as bytes, and the reason for each place (counted within the chunk) left black."""

    number: int
    pixels: bytes
    unreadable: dict[int, str]


def rows_per_chunk(resolution: int) -> int:
    """Depends on the resolution alone, so that a restart finds the same chunks."""
    return max(1, min(CHUNK_ROWS, CHUNK_BYTES // (resolution * resolution * 3)))


def decode_chunk(chunk: Chunk) -> DecodedChunk:
    """Decode every row of a chunk; files that cannot be read are noted, not raised."""
    r = chunk.resolution
    pixels = np.zeros((len(chunk.sources), r, r, 3), dtype=np.uint8)
    unreadable = {}
    for place, source in enumerate(chunk.sources):
        try:
            if source.cached is not None:
                path, row = source.cached
                pixels[place] = map_array(path)[row]
            else:
                pixels[place] = decode_bytes(_read(source.file), r, name=source.file.path)
        except UnreadableImage as error:
            unreadable[place] = error.reason
    return DecodedChunk(chunk.number, pixels.tobytes(), unreadable)


def decode_chunks(chunks: Iterable[Chunk], *, workers: int) -> Iterator[DecodedChunk]:
    """Decode chunks with this many processes; they come back in any order, few at a time in memory."""
    if workers == 1:
        yield from map(decode_chunk, chunks)
        return
    context = multiprocessing.get_context("spawn")  # fork is not safe beside torch's threads
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_end_with_parent)
    try:
        yield from _windowed(pool, chunks, window=2 * workers)
    except BrokenProcessPool as error:
        raise RuntimeError(
            "a decoding process ended by itself (out of memory, or the script that started it has no "
            'if __name__ == "__main__": around its code); run again to continue, with workers=1 if it happens again.'
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


def refuse_while_starting() -> None:
    """Stop a worker whose unguarded main script asks it to build the cache that its parent is building."""
    # multiprocessing itself looks at this flag; without us the worker would wait for its parent's lock for ever.
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise RuntimeError('a script that decodes with several processes needs if __name__ == "__main__":.')


def choose_workers(workers: int | None, rows: int) -> int:
    """The number asked for, or one process per CPU where there are enough images to make that worthwhile."""
    if workers is None:
        cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return max(1, min(cpus, rows // WORTH_A_PROCESS))
    if workers < 1:
        raise ValueError(f"workers must be a number of processes, at least 1, got {workers}; None chooses one per CPU.")
    return workers


def _windowed(pool: ProcessPoolExecutor, chunks: Iterable[Chunk], window: int) -> Iterator[DecodedChunk]:
    pending: set[Future[DecodedChunk]] = set()
    for chunk in chunks:
        with _ctrl_c_for_us_alone():  # a submission may start a process
            pending.add(pool.submit(decode_chunk, chunk))
        if len(pending) >= window:
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in done)
    while pending:
        done, pending = wait(pending, return_when=FIRST_COMPLETED)
        yield from (future.result() for future in done)


@contextmanager
def _ctrl_c_for_us_alone() -> Iterator[None]:
    """Let processes that are started meanwhile never see a Ctrl-C, which a terminal sends to all: we end them."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _read(file: FileState) -> bytes:
    """The bytes of a file, refusing one that is not the file whose fingerprint was taken."""
    if file.fault is not None:
        raise UnreadableImage(file.path, file.fault)
    check_size(file.size, file.path)
    with open(file.path, "rb") as opened:
        found = os.fstat(opened.fileno())
        if (found.st_size, found.st_mtime_ns) != (file.size, file.modified):
            raise RuntimeError(f"{file.path} changed while images were being decoded; run again to continue.")
        return opened.read()


def _end_with_parent() -> None:
    """Let this worker end when its parent is killed: nobody would ever send it the order to stop."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_exit_after, args=(parent,), daemon=True).start()


def _exit_after(process: BaseProcess) -> None:
    process.join()
    os._exit(1)
