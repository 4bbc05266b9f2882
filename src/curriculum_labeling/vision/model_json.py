"""model.json: a delivered model in words, and the check of every word of one that comes from elsewhere."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from curriculum_labeling.data.decode import check_resolution
from curriculum_labeling.vision.delivered import Delivered, NetworkPart, check_classes
from curriculum_labeling.vision.whitening import Standardization

FORMAT = 1
WEIGHTS, GRAPH = "weights.safetensors", "backbone.onnx"
MOST_BYTES = 64 << 20
# Far above any network in use, and far below what would take long to put together.
NETWORK = re.compile(r"compact(?:-[1-9]\d{0,2})?|cnn-13|resnet-18|resnet-50|wrn-\d{1,3}-\d{1,3}")
BACKBONES = ("efficientnet-lite0", "timm", "onnx", "own")
PREPROCESSING = ("standardization", "whitening")


@dataclass(frozen=True)
class NetworkCard:
    """A trained network; `own` where a user's function makes it."""

    name: str
    own: bool
    preprocessing: str
    flip: bool


@dataclass(frozen=True)
class BackboneCard:
    """A backbone; `mean` and `deviation` are None where an ONNX graph normalizes by itself."""

    kind: str
    name: str
    size: int
    mean: tuple[float, ...] | None
    deviation: tuple[float, ...] | None
    sha256: str | None


@dataclass(frozen=True)
class Card:
    """A checked model.json."""

    classes: tuple[str, ...]
    resolution: int
    temperature: float
    sha256: str
    part: NetworkCard | BackboneCard


def describe_model(model: Delivered, sha256: str, graph_sha256: str | None) -> dict[str, Any]:
    """What model.json says."""
    side = model.resolution
    said: dict[str, Any] = {
        "format": FORMAT,
        "kind": "network" if isinstance(model.part, NetworkPart) else "probe",
        "classes": list(model.classes),
        "resolution": side,
        "input": f"uint8 RGB images; {resizing(side)}",
        "temperature": model.temperature,
        "output": "probabilities = softmax(logits / temperature)",
        "weights": {"file": WEIGHTS, "sha256": sha256},
    }
    if isinstance(model.part, NetworkPart):
        return {**said, "network": _describe_network(model.part)}
    described = model.part.backbone.describe()
    if described["kind"] == "onnx":
        described["name"] = Path(described["name"]).name  # where it was is nobody's business
    backbone = {
        "kind": backbone_kind(described),
        "name": described["name"],
        "size": described["size"],
        "mean": described["mean"],
        "deviation": described["deviation"],
        "description": described,
    }
    if graph_sha256 is not None:
        backbone |= {"file": GRAPH, "sha256": graph_sha256}
    return {**said, "probe": "logits = (features - mean) / scale · weightᵀ + bias", "backbone": backbone}


def resizing(side: int) -> str:
    """How a picture becomes an input."""
    return f"the shorter side resized to {side} pixels (bicubic, antialiased), then the center {side} × {side}"


def backbone_kind(described: dict[str, Any]) -> str:
    """One of BACKBONES."""
    if described["kind"] == "onnx":
        return "onnx"
    name = str(described["name"])
    if name == "efficientnet-lite0":
        return name
    return "timm" if name.startswith("timm:") else "own"


def read_card(path: Path) -> Card:
    """The checked content of a model.json; ValueError says which field is wrong, without naming the file."""
    if not path.is_file():
        raise ValueError("it does not exist, or is no file")
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(f"it must have at most {MOST_BYTES} bytes, got {path.stat().st_size}")
    try:
        said = json.loads(path.read_bytes(), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is not JSON ({type(error).__name__}: {error})") from error
    return _card(_Fields("", said))


def _card(said: _Fields) -> Card:
    if said.whole("format", 0) != FORMAT:
        raise ValueError(f"format must be {FORMAT}, got {said.found['format']}; a newer version of us may read it")
    kind = said.choice("kind", ("network", "probe"))
    resolution = said.whole("resolution", 1)
    check_resolution(resolution)
    weights = said.fields("weights")
    weights.choice("file", (WEIGHTS,))
    part = _network(said.fields("network")) if kind == "network" else _backbone(said.fields("backbone"))
    return Card(_classes(said), resolution, said.positive("temperature"), weights.digest("sha256"), part)


def _network(said: _Fields) -> NetworkCard:
    own, name = said.flag("own"), said.text("name")
    if not own and not NETWORK.fullmatch(name):
        raise ValueError(f"network.name must be one of ours, such as compact or wrn-28-2, got {_short(name)}")
    return NetworkCard(name, own, said.choice("preprocessing", PREPROCESSING), said.flag("flip"))


def _backbone(said: _Fields) -> BackboneCard:
    kind, sha256 = said.choice("kind", BACKBONES), None
    if kind == "onnx":
        said.choice("file", (GRAPH,))
        sha256 = said.digest("sha256")
    bare = kind == "onnx" and said.found.get("mean") is None
    mean, deviation = (None, None) if bare else (said.three("mean"), said.three("deviation"))
    if deviation is not None and min(deviation) <= 0:
        raise ValueError(f"backbone.deviation must be above 0, got {deviation}")
    return BackboneCard(kind, said.text("name"), said.whole("size", 1), mean, deviation, sha256)


def _classes(said: _Fields) -> tuple[str, ...]:
    classes = said.found.get("classes")
    if not isinstance(classes, list):
        raise ValueError(f"classes must be a list of names, got {_short(classes)}")
    if not all(isinstance(name, str) for name in classes):
        raise ValueError("classes must be names, got something that is no text")
    check_classes(tuple(classes))
    return tuple(classes)


def _describe_network(part: NetworkPart) -> dict[str, Any]:
    kind = "standardization" if isinstance(part.preprocessing, Standardization) else "whitening"
    return {
        "name": part.name,
        "own": not NETWORK.fullmatch(part.name),
        "parameters": sum(weight.numel() for weight in part.network.parameters()),
        "preprocessing": kind,
        "flip": part.flip,
    }


class _Fields:
    """The fields of one JSON object, each taken out as what it has to be."""

    def __init__(self, name: str, found: Any) -> None:
        if not isinstance(found, dict):
            raise ValueError(f"{name or 'it'} must be a JSON object, got {_short(found)}")
        self.prefix = f"{name}." if name else ""
        self.found: dict[str, Any] = found

    def fields(self, key: str) -> _Fields:
        return _Fields(f"{self.prefix}{key}", self.found.get(key))

    def whole(self, key: str, least: int) -> int:
        value = self.found.get(key)
        fits = isinstance(value, int) and not isinstance(value, bool) and least <= value < 2**31
        return int(self._checked(key, fits, f"a whole number, at least {least}"))

    def positive(self, key: str) -> float:
        return float(self._checked(key, _is_number(self.found.get(key)) and self.found[key] > 0, "a number above 0"))

    def text(self, key: str) -> str:
        value = self.found.get(key)
        return str(self._checked(key, isinstance(value, str) and 0 < len(value) <= 4096, "a text"))

    def flag(self, key: str) -> bool:
        return bool(self._checked(key, isinstance(self.found.get(key), bool), "true or false"))

    def choice(self, key: str, choices: tuple[str, ...]) -> str:
        value = self.found.get(key)
        return str(self._checked(key, isinstance(value, str) and value in choices, " or ".join(map(repr, choices))))

    def digest(self, key: str) -> str:
        value = self.found.get(key)
        fits = isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None
        return str(self._checked(key, fits, "64 hexadecimal digits"))

    def three(self, key: str) -> tuple[float, ...]:
        value = self.found.get(key)
        fits = isinstance(value, list) and len(value) == 3 and all(_is_number(one) for one in value)
        return tuple(float(one) for one in self._checked(key, fits, "three numbers"))

    def _checked(self, key: str, fits: bool, rule: str) -> Any:
        if not fits:
            raise ValueError(f"{self.prefix}{key} must be {rule}, got {_short(self.found.get(key))}")
        return self.found[key]


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < 1e30 and math.isfinite(value)


def _refuse_constant(text: str) -> None:
    raise ValueError(f"{text} is no JSON number")


def _short(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
