"""Predictions for image files: streamed, in their order, whatever the number and the state of the files."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice

import numpy as np

from curriculum_labeling.data.decode import UnreadableImage, decode
from curriculum_labeling.data.images import PixelArray
from curriculum_labeling.labels import Scores
from curriculum_labeling.vision.delivered import Delivered

# Batches that are decoded before they are asked for.
AHEAD = 2


@dataclass(frozen=True)
class Prediction:
    """What the model says of one file; where the file cannot be read, `error` says why and the rest is None."""

    path: str
    label: str | None = None
    confidence: float | None = None
    runner_up: str | None = None
    runner_up_confidence: float | None = None
    error: str | None = None


@dataclass(frozen=True, eq=False)
class _Decoded:
    """A batch of files: the pixels of those that can be read, and the reason for each of the others (None: read)."""

    paths: tuple[str, ...]
    pixels: PixelArray
    errors: tuple[str | None, ...]


def predict_files(model: Delivered, paths: Iterable[str], *, batch: int = 64) -> Iterator[Prediction]:
    """Predictions of a model for files, one for each path and in their order, with calibrated confidences.

    A thread decodes the next batches while the model works on one, so memory does not grow with the
    number of files, and `paths` may be any iterable.
    """
    if batch < 1:
        raise ValueError(f"batch must be a whole number, at least 1, got {batch}.")
    return _predict(model, iter(paths), batch)


def _predict(model: Delivered, paths: Iterator[str], batch: int) -> Iterator[Prediction]:
    # One thread: image libraries guard their warnings by a list that threads share.
    with ThreadPoolExecutor(1, thread_name_prefix="decoding") as pool:
        for decoded in _ahead(pool, paths, batch, model.resolution):
            yield from _predictions(model, decoded)


def _ahead(pool: ThreadPoolExecutor, paths: Iterator[str], batch: int, resolution: int) -> Iterator[_Decoded]:
    pending: deque[Future[_Decoded]] = deque()
    try:
        while some := tuple(islice(paths, batch)):
            pending.append(pool.submit(_decode, some, resolution))
            if len(pending) > AHEAD:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        for future in pending:  # the reader may have had enough
            future.cancel()


def _decode(paths: tuple[str, ...], resolution: int) -> _Decoded:
    pixels = np.empty((len(paths), resolution, resolution, 3), dtype=np.uint8)
    errors: list[str | None] = []
    count = 0
    for path in paths:
        try:
            pixels[count] = decode(path, resolution)
            errors.append(None)
            count += 1
        except UnreadableImage as error:
            errors.append(error.reason)
        except ValueError as error:  # a path that no file can have
            errors.append(f"cannot be opened ({error})")
    return _Decoded(paths, pixels[:count], tuple(errors))


def _predictions(model: Delivered, decoded: _Decoded) -> Iterator[Prediction]:
    logits = model.logits(decoded.pixels) / model.temperature
    scores = Scores.from_logits(np.arange(len(logits)), logits)
    place = 0
    for path, error in zip(decoded.paths, decoded.errors, strict=True):
        if error is not None:
            yield Prediction(path, error=error)
            continue
        yield Prediction(
            path,
            model.classes[scores.classes[place]],
            float(scores.confidence[place]),
            model.classes[scores.runner_up[place]],
            float(scores.runner_up_confidence[place]),
        )
        place += 1
