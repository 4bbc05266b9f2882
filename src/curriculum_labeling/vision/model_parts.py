"""The part of a delivered model, network or probe, as tensors by name and back again."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from curriculum_labeling.vision.backbones import EFFICIENTNET_LITE0
from curriculum_labeling.vision.backbones.efficientnet_lite import RESOLUTION, SIZE, EfficientNetLite0
from curriculum_labeling.vision.backbones.onnx_backbone import open_onnx
from curriculum_labeling.vision.backbones.protocol import Backbone
from curriculum_labeling.vision.backbones.timm_backbone import open_timm
from curriculum_labeling.vision.backbones.torch_backbone import TorchBackbone
from curriculum_labeling.vision.delivered import CPU, Delivered, NetworkPart, ProbePart
from curriculum_labeling.vision.model_json import GRAPH, NETWORK, WEIGHTS, BackboneCard, Card, NetworkCard
from curriculum_labeling.vision.model_tensors import Wanted, read_tensors, sha256_of, wanted_of
from curriculum_labeling.vision.networks import Factory, build_network
from curriculum_labeling.vision.whitening import Standardization, preprocessing_of

PROBE = ("weight", "bias", "mean", "scale")


def tensors_of(model: Delivered) -> dict[str, Tensor]:
    """Every tensor of a model, by its name in the file."""
    part = model.part
    if isinstance(part, NetworkPart):
        return _named("network.", part.network.state_dict()) | _named("preprocessing.", part.preprocessing.tensors())
    # A copy, as arrays mapped from a file may be read-only.
    probe = {name: torch.from_numpy(np.array(getattr(part, name))) for name in PROBE}
    if isinstance(part.backbone, TorchBackbone):
        return _named("probe.", probe) | _named("backbone.", part.backbone.module.state_dict())
    return _named("probe.", probe)


def check_rebuilds(model: Delivered) -> None:
    """Refuse a model whose network is not what its name makes: it could be written, but never read."""
    part = model.part
    if not isinstance(part, NetworkPart) or not NETWORK.fullmatch(part.name):
        return
    built = _without_memory(part.name, len(model.classes), model.resolution)
    if wanted_of(built.state_dict(), "") != wanted_of(part.network.state_dict(), ""):
        raise ValueError(
            f"the network must be a {part.name!r} for {len(model.classes)} classes, as its name says, "
            "got one with other weights; give the name of what made it."
        )


def read_part(folder: Path, card: Card, backbone: Backbone | None, network: Factory | None) -> NetworkPart | ProbePart:
    """The part that a checked model.json describes, with the weights beside it."""
    _check_given(card.part, backbone, network)
    path = folder / WEIGHTS
    _check_digest(path, card.sha256)
    if isinstance(card.part, NetworkCard):
        return _read_network(path, card, card.part, network)
    return _read_probe(path, card, card.part, backbone)


def _check_given(card: NetworkCard | BackboneCard, backbone: Backbone | None, network: Factory | None) -> None:
    """Refuse a model that needs something of the user's, and something of the user's that no model needs."""
    wants_network = isinstance(card, NetworkCard) and card.own
    wants_backbone = isinstance(card, BackboneCard) and card.kind == "own"
    if wants_network and network is None:
        raise ValueError(f"a function of its user's made the network, {card.name!r}; give that function as network=…")
    if wants_backbone and backbone is None:
        raise ValueError(
            f"a function of its user's made the backbone, {card.name!r}; to trust it, give backbone=open_backbone(…)"
        )
    if network is not None and not wants_network:
        raise ValueError("network= is for models whose network a function of your own made; this one needs none")
    if backbone is not None and not wants_backbone:
        raise ValueError("backbone= is for models whose backbone a function of your own made; this one needs none")


def _read_network(path: Path, card: Card, part: NetworkCard, factory: Factory | None) -> NetworkPart:
    classes, side = len(card.classes), card.resolution
    network = build_network(factory, classes, 3, side) if factory else _without_memory(part.name, classes, side)
    standardized = part.preprocessing == "standardization"
    values = 3 if standardized else 3 * side * side
    shapes = {"mean": (3,), "deviation": (3,)} if standardized else {"mean": (values,), "matrix": (values, values)}
    wanted = {f"preprocessing.{name}": (torch.float32, shape) for name, shape in shapes.items()}
    tensors = _read(path, {**wanted_of(network.state_dict(), "network."), **wanted})
    network.load_state_dict(_under("network.", tensors), assign=True)
    preprocessing = preprocessing_of(_under("preprocessing.", tensors))
    if isinstance(preprocessing, Standardization) and not bool((preprocessing.deviation > 0).all()):
        raise ValueError(f"{WEIGHTS} must have a deviation above 0")
    return NetworkPart(network.eval().requires_grad_(False), part.name, preprocessing, part.flip)


def _read_probe(path: Path, card: Card, part: BackboneCard, given: Backbone | None) -> ProbePart:
    classes, size = len(card.classes), part.size
    wanted: dict[str, tuple[torch.dtype, tuple[int, ...]]] = {
        "probe.weight": (torch.float64, (classes, size)),
        "probe.bias": (torch.float64, (classes,)),
        "probe.mean": (torch.float64, (size,)),
        "probe.scale": (torch.float64, (size,)),
    }
    if part.kind == "onnx":
        backbone: Backbone = _read_onnx(path.with_name(GRAPH), card, part)
        tensors = _read(path, wanted)
    else:
        torch_backbone = _torch_backbone(card, part, given)
        state = wanted_of(torch_backbone.module.state_dict(), "backbone.")
        tensors = _read(path, {**wanted, **state})
        torch_backbone.module.load_state_dict(_under("backbone.", tensors), assign=True)
        torch_backbone.module.eval().requires_grad_(False)
        torch_backbone.module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        backbone = torch_backbone
    if (backbone.size, backbone.resolution) != (size, card.resolution):
        raise ValueError(f"backbone.size must be {backbone.size} and resolution {backbone.resolution} pixels")
    return ProbePart(backbone, *(tensor.numpy() for tensor in _under("probe.", tensors).values()))


def _torch_backbone(card: Card, part: BackboneCard, given: Backbone | None) -> TorchBackbone:
    """A backbone of this kind, whose weights are still to come."""
    assert part.mean is not None
    assert part.deviation is not None
    preprocessing = Standardization(torch.tensor(part.mean), torch.tensor(part.deviation))
    if part.kind == EFFICIENTNET_LITE0:
        with torch.device("meta"):
            module: nn.Module = EfficientNetLite0()
        return TorchBackbone(EFFICIENTNET_LITE0, RESOLUTION, SIZE, module, preprocessing, CPU)
    if part.kind == "timm":
        found: Any = open_timm(part.name, pretrained=False, device=CPU)
    else:
        found = given
        if not isinstance(found, TorchBackbone):
            raise ValueError(f"backbone must be a function's that returns a torch module, got {type(given).__name__}")
    if (found.size, found.resolution) != (part.size, card.resolution):
        raise ValueError(
            f"the backbone {found.name!r} gives {found.size} features at {found.resolution} pixels, "
            f"but the model wants {part.size} at {card.resolution}"
        )
    # The user's own module stays as it is.
    return TorchBackbone(part.name, found.resolution, found.size, copy.deepcopy(found.module), preprocessing, CPU)


def _read_onnx(path: Path, card: Card, part: BackboneCard) -> Backbone:
    assert part.sha256 is not None
    _check_digest(path, part.sha256)
    return open_onnx(path, name=part.name, resolution=card.resolution, mean=part.mean, deviation=part.deviation)


def _without_memory(name: str, classes: int, side: int) -> nn.Module:
    """A network of ours that has shapes but no weights yet."""
    with torch.device("meta"):
        return build_network(name, classes, 3, side)


def _check_digest(path: Path, sha256: str) -> None:
    if not path.is_file():
        raise ValueError(f"{path.name} is not there, or is no file")
    if sha256_of(path) != sha256:
        raise ValueError(f"{path.name} is not the file that model.json was written for (its sha256 is another)")


def _read(path: Path, wanted: Wanted) -> dict[str, Tensor]:
    try:
        return read_tensors(path, wanted)
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from error


def _named(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {f"{prefix}{name}": tensor for name, tensor in tensors.items()}


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
