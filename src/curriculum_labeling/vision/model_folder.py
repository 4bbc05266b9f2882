"""The folder of a delivered model: model.json says in words what it is, weights.safetensors holds every tensor.

Reading runs no code from the folder: JSON and safetensors only (and, for an ONNX backbone, its
graph), every field checked before memory is taken for it. A network or backbone that a user's own
function makes is never imported because a file says so; the user gives it.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from torch import Tensor

from curriculum_labeling.data.atomic import sync_folder, write_atomically
from curriculum_labeling.vision.backbones.onnx_backbone import OnnxBackbone
from curriculum_labeling.vision.backbones.protocol import Backbone
from curriculum_labeling.vision.delivered import Delivered, NetworkPart, ProbePart
from curriculum_labeling.vision.model_json import GRAPH, WEIGHTS, describe_model, read_card
from curriculum_labeling.vision.model_parts import check_rebuilds, read_part, tensors_of
from curriculum_labeling.vision.model_tensors import sha256_of, write_tensors
from curriculum_labeling.vision.networks import Factory

__all__ = ["Delivered", "NetworkPart", "ProbePart", "read_model", "write_model"]

CARD = "model.json"
NEW, OLD = ".new.tmp", ".old.tmp"


def write_model(folder: str | Path, model: Delivered) -> Path:
    """Write a model under this name, in the place of one that may be there; the folder appears whole."""
    folder = Path(folder)
    _check_replaceable(folder)
    check_rebuilds(model)
    tensors = tensors_of(model)
    folder.parent.mkdir(parents=True, exist_ok=True)
    _tidy(folder)
    new, old = folder.with_name(f".{folder.name}{NEW}"), folder.with_name(f".{folder.name}{OLD}")
    new.mkdir()
    try:
        _fill(new, model, tensors)
        if folder.exists():
            os.rename(folder, old)
        os.rename(new, folder)
    finally:
        _tidy(folder)
    sync_folder(folder.parent)
    return folder


def read_model(folder: str | Path, *, backbone: Backbone | None = None, network: Factory | None = None) -> Delivered:
    """A delivered model, ready to predict on the CPU.

    Parameters
    ----------
    folder : path
        What `write_model` wrote.
    backbone, network : optional
        Where a function of your own made the backbone or the network: the backbone as
        `open_backbone` opens it, or the function that makes the network. The weights come from the folder.
    """
    folder = Path(folder)
    try:
        card = read_card(folder / CARD)
    except ValueError as error:
        raise ValueError(f"{folder / CARD} cannot be used: {str(error).rstrip('.')}.") from error
    try:
        part = read_part(folder, card, backbone, network)
        return Delivered(card.classes, card.resolution, card.temperature, part)
    except ValueError as error:
        raise ValueError(f"the model in {folder} cannot be used: {str(error).rstrip('.')}.") from error


def _fill(folder: Path, model: Delivered, tensors: dict[str, Tensor]) -> None:
    graph = None
    if isinstance(model.part, ProbePart) and isinstance(model.part.backbone, OnnxBackbone):
        shutil.copyfile(model.part.backbone.path, folder / GRAPH)
        graph = sha256_of(folder / GRAPH)
        if graph != model.part.backbone.digest:
            raise ValueError(f"{model.part.backbone.path} has changed since it was opened; open the backbone again.")
        _sync(folder / GRAPH)
    write_tensors(folder / WEIGHTS, tensors)
    _sync(folder / WEIGHTS)
    said = describe_model(model, sha256_of(folder / WEIGHTS), graph)
    write_atomically(folder / CARD, json.dumps(said, indent=1).encode())


def _tidy(folder: Path) -> None:
    """Remove what a write leaves behind; one that failed or was killed between its renames gives the old model back."""
    old = folder.with_name(f".{folder.name}{OLD}")
    if old.exists() and not folder.exists():
        os.rename(old, folder)
    for leaving in (old, folder.with_name(f".{folder.name}{NEW}")):
        shutil.rmtree(leaving, ignore_errors=True)


def _check_replaceable(folder: Path) -> None:
    """Refuse to replace anything but a model or an empty folder."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not folder.is_dir() or not (folder / CARD).is_file():
        raise ValueError(f"folder must be new, empty, or hold a model to replace, got {folder} with something else.")
    others = sorted(path.name for path in folder.iterdir() if path.name not in (CARD, WEIGHTS, GRAPH))
    if others:
        raise ValueError(f"folder must hold nothing but a model to be replaced, got {folder} with {others[0]!r} in it.")


def _sync(path: Path) -> None:
    with open(path, "r+b") as file:
        os.fsync(file.fileno())
