"""Any ONNX file as a backbone: layout, size and kind of its input are read from the graph.

Images are normalized by the `mean` and `std` in the file's metadata, or by ImageNet's, unless the
input is uint8: then the graph does it. What was assumed stands in `describe()`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import file_digest
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from curriculum_labeling.data.decode import check_resolution
from curriculum_labeling.data.images import PixelArray
from curriculum_labeling.vision.backbones.onnx_files import check_one_file
from curriculum_labeling.vision.backbones.packages import extra, require
from curriculum_labeling.vision.backbones.protocol import Features, check_pixels

MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
Layout = Literal["NCHW", "NHWC"]
KINDS: dict[str, type[np.generic]] = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(uint8)": np.uint8,
}


@dataclass(frozen=True)
class Input:
    """What the graph takes: name, layout, size (None where any will do), kind, and a fixed batch if it has one."""

    name: str
    layout: Layout
    resolution: int | None
    kind: type[np.generic]
    batch: int | None


@dataclass(frozen=True, eq=False)
class OnnxBackbone:
    """A session of onnxruntime, and what was found or assumed about its input."""

    name: str
    path: Path
    resolution: int
    size: int
    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    assumed: tuple[str, ...]
    digest: str
    graph: Input
    session: Any = field(repr=False)

    def embed(self, pixels: PixelArray) -> Features:
        """Features (n, size) of uint8 images (n, resolution, resolution, 3)."""
        check_pixels(pixels, self.name, self.resolution)
        step = self.graph.batch or max(len(pixels), 1)
        parts = [self._embed(pixels[start : start + step], step) for start in range(0, len(pixels), step)]
        return np.concatenate(parts) if parts else np.empty((0, self.size), dtype=np.float32)

    def _embed(self, pixels: PixelArray, step: int) -> Features:
        missing = step - len(pixels) if self.graph.batch else 0
        batch = np.concatenate([pixels, np.zeros((missing, *pixels.shape[1:]), np.uint8)]) if missing else pixels
        return _run(self.session, self.graph, _normalize(batch, self.graph, self.mean, self.deviation))[: len(pixels)]

    def describe(self) -> dict[str, Any]:
        """Everything that shapes the features, as JSON."""
        normalized = self.graph.kind is not np.uint8
        return {
            "name": self.name,
            "kind": "onnx",
            "resolution": self.resolution,
            "size": self.size,
            "input": f"{self.graph.layout} {np.dtype(self.graph.kind).name}",
            "mean": list(self.mean) if normalized else None,
            "deviation": list(self.deviation) if normalized else None,
            "assumed": list(self.assumed),
            "weights": self.digest,
        }


def open_onnx(
    path: str | Path,
    *,
    name: str | None = None,
    resolution: int | None = None,
    mean: Sequence[float] | None = None,
    deviation: Sequence[float] | None = None,
) -> OnnxBackbone:
    """The backbone in an ONNX file; what is not given here comes from the file, or is assumed."""
    path, name = Path(path), name or str(path)
    if not path.is_file():
        raise ValueError(f"backbone must be an ONNX file that exists, got {name!r}.")
    onnxruntime: Any = require("onnxruntime", f"the backbone {name!r}", extra("export"))
    with open(path, "rb") as file:
        digest = file_digest(file, "sha256").hexdigest()
    check_one_file(path)
    session = _session(onnxruntime, path)
    graph = _input(session, name)
    said, assumed = dict(session.get_modelmeta().custom_metadata_map), []
    resolution = graph.resolution or resolution or _from_metadata(said, "resolution", name)
    if resolution is None:
        resolution = 224
        assumed.append("224 pixels: the file takes any size")
    check_resolution(int(resolution))
    mean = mean or _from_metadata(said, "mean", name)
    deviation = deviation or _from_metadata(said, "std", name)
    if (mean is None or deviation is None) and graph.kind is not np.uint8:
        assumed.append("ImageNet's mean and deviation: the file says none")
    found = _three(mean or MEAN, "mean", name), _three(deviation or DEVIATION, "std", name)
    black = np.zeros((graph.batch or 1, int(resolution), int(resolution), 3), dtype=np.uint8)
    size = _run(session, graph, _normalize(black, graph, *found)).shape[1]
    return OnnxBackbone(name, path, int(resolution), size, *found, tuple(assumed), digest, graph, session)


def _session(onnxruntime: Any, path: Path) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has a class of its own for every fault of a file
        raise ValueError(f"backbone {path} cannot be opened by onnxruntime ({_first_line(error)}).") from error


def _input(session: Any, name: str) -> Input:
    """What the one input of the graph takes."""
    inputs = session.get_inputs()
    if len(inputs) != 1 or len(inputs[0].shape) != 4:
        raise ValueError(f"backbone {name!r} must have one input with four axes, got {_shapes(inputs)}.")
    (one,) = inputs
    if one.type not in KINDS:
        raise ValueError(f"backbone {name!r} must take float, float16 or uint8 images, got {one.type}.")
    batch, *rest = (axis if isinstance(axis, int) else None for axis in one.shape)
    layout: Layout
    if rest[0] == 3:
        layout, sides = "NCHW", rest[1:]
    elif rest[2] == 3:
        layout, sides = "NHWC", rest[:2]
    else:
        raise ValueError(f"backbone {name!r} must take images of three channels, got {_shapes(inputs)}.")
    if sides[0] != sides[1]:
        raise ValueError(f"backbone {name!r} must take square images, got {_shapes(inputs)}.")
    return Input(one.name, layout, sides[0], KINDS[one.type], batch)


def _normalize(
    pixels: PixelArray, graph: Input, mean: Sequence[float], deviation: Sequence[float]
) -> NDArray[np.generic]:
    images: NDArray[Any] = pixels
    if graph.kind is not np.uint8:
        scale, shift = np.float32(1 / (255 * np.array(deviation))), np.float32(np.array(mean) / np.array(deviation))
        images = (pixels.astype(np.float32) * scale - shift).astype(graph.kind)
    return np.ascontiguousarray(images.transpose(0, 3, 1, 2) if graph.layout == "NCHW" else images)


def _run(session: Any, graph: Input, images: NDArray[np.generic]) -> Features:
    """Features (n, D): the first output, averaged over positions or tokens where it has them."""
    try:
        found = np.asarray(session.run([session.get_outputs()[0].name], {graph.name: images})[0])
    except Exception as error:
        raise ValueError(f"the ONNX backbone cannot be run ({_first_line(error)}).") from error
    if found.ndim not in (2, 3, 4) or len(found) != len(images) or found.dtype.kind != "f":
        raise ValueError(
            f"an ONNX backbone must give features (n, D), maps or tokens, got {found.dtype} of shape {found.shape}."
        )
    axes = {2: (), 3: (1,), 4: (2, 3) if graph.layout == "NCHW" else (1, 2)}[found.ndim]
    features: Features = np.ascontiguousarray(found.mean(axis=axes) if axes else found, dtype=np.float32)
    return features


def _from_metadata(said: dict[str, str], key: str, name: str) -> Any:
    if key not in said:
        return None
    try:
        return json.loads(said[key])
    except ValueError as error:
        raise ValueError(f"backbone {name!r} must state {key} as JSON in its metadata, got {said[key]!r}.") from error


def _three(numbers: Any, key: str, name: str) -> tuple[float, ...]:
    fits = isinstance(numbers, list | tuple) and len(numbers) == 3
    if not fits or not all(isinstance(one, int | float) and np.isfinite(one) for one in numbers):
        raise ValueError(f"backbone {name!r} must have three finite numbers as {key}, got {numbers!r}.")
    if key == "std" and min(numbers) <= 0:
        raise ValueError(f"backbone {name!r} must have a std above 0, got {numbers!r}.")
    return tuple(float(one) for one in numbers)


def _shapes(inputs: Any) -> str:
    return ", ".join(f"{one.name} {one.type} {one.shape}" for one in inputs) or "none"


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
