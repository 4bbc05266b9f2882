"""A delivered model for other programs: one ONNX file, or one safetensors file.

The ONNX graph takes uint8 images as they come from a decoder and gives calibrated probabilities:
preprocessing, mirror images and temperature are inside. It gets its name only after onnxruntime
has agreed with us on random and on constant images.
"""

from __future__ import annotations

import copy
import json
import logging
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save
from torch import Tensor, nn

from curriculum_labeling.data.atomic import write_atomically
from curriculum_labeling.vision.backbones.packages import extra, require
from curriculum_labeling.vision.backbones.torch_backbone import TorchBackbone, pooled
from curriculum_labeling.vision.delivered import Delivered, NetworkPart, ProbePart
from curriculum_labeling.vision.model_json import describe_model, resizing
from curriculum_labeling.vision.model_parts import tensors_of
from curriculum_labeling.vision.model_tensors import owned
from curriculum_labeling.vision.whitening import Preprocessing

INPUT, OUTPUT = "images", "probabilities"
TOLERANCE = 1e-4
FILE = "model.safetensors"


def export_onnx(model: Delivered, path: str | Path) -> Path:
    """Write an ONNX file that takes uint8 images (n, resolution, resolution, 3) and gives `probabilities` (n, classes).

    Class names, the resolution and how to resize are in its metadata.
    """
    path = Path(path)
    _check_torch(model, "ONNX export")
    for package in ("onnx", "onnxscript", "onnxruntime"):
        require(package, "ONNX export", extra("export"))
    data = _graph_bytes(model)
    _compare(model, data)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, data)
    return path


def export_safetensors(model: Delivered, path: str | Path) -> Path:
    """Write all tensors into one file (model.safetensors, where `path` is a folder), what they mean into its header."""
    path = Path(path)
    _check_torch(model, "safetensors export")
    if path.suffix != ".safetensors":
        path = path / FILE
    said = describe_model(model, "", None)
    del said["weights"]
    metadata = {"format": "pt", "classes": json.dumps(list(model.classes)), "model": json.dumps(said)}
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, save(owned(tensors_of(model)), metadata))
    return path


class _Exported(nn.Module):
    """A delivered model as one module: uint8 images (n, H, W, 3) in, probabilities (n, classes) out."""

    def __init__(self, model: Delivered) -> None:
        super().__init__()
        self.temperature = model.temperature
        part = model.part
        self.flip = isinstance(part, NetworkPart) and part.flip
        if isinstance(part, NetworkPart):
            self.network: nn.Module = copy.deepcopy(part.network)
            self.preprocessing: Preprocessing = part.preprocessing
        else:
            assert isinstance(part.backbone, TorchBackbone)
            self.network = nn.Sequential(copy.deepcopy(part.backbone.module), _Pooling(), _linear(part))
            self.preprocessing = part.backbone.preprocessing
        self.eval().cpu()

    def forward(self, images: Tensor) -> Tensor:
        """Probabilities (n, classes)."""
        upright = images.permute(0, 3, 1, 2)
        logits: Tensor = self.network(self.preprocessing(upright))
        if self.flip:
            mirrored = self.network(self.preprocessing(upright.flip(3)))
            both = torch.stack([logits, mirrored]).log_softmax(dim=2)
            logits = both.logsumexp(dim=0) - math.log(2)
        return (logits / self.temperature).softmax(dim=1)


class _Pooling(nn.Module):
    def forward(self, features: Tensor) -> Tensor:
        return pooled(features)


def _linear(probe: ProbePart) -> nn.Linear:
    """The probe with the standardization of features folded in."""
    weight = probe.weight / probe.scale
    bias = probe.bias - weight @ probe.mean
    linear = nn.Linear(weight.shape[1], weight.shape[0])
    linear.load_state_dict({"weight": torch.from_numpy(weight).float(), "bias": torch.from_numpy(bias).float()})
    return linear


def _check_torch(model: Delivered, purpose: str) -> None:
    if isinstance(model.part, ProbePart) and not isinstance(model.part.backbone, TorchBackbone):
        raise ValueError(
            f"{purpose} needs a backbone of torch, got {model.part.backbone.name!r}; "
            "the model folder holds that graph as it is, beside the linear layer on top of it."
        )


def _graph_bytes(model: Delivered) -> bytes:
    side = model.resolution
    example = torch.zeros(2, side, side, 3, dtype=torch.uint8)
    with _quiet():
        try:
            program: Any = torch.onnx.export(
                _Exported(model),
                (example,),
                dynamo=True,
                verbose=False,
                input_names=[INPUT],
                output_names=[OUTPUT],
                dynamic_shapes={"images": {0: torch.export.Dim("n")}},
            )
        except Exception as error:  # a network of a user's own may hold anything
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise ValueError(f"the network cannot be written as ONNX by torch ({reason}).") from error
        graph = program.model_proto
    for key, value in _metadata(model).items():
        graph.metadata_props.add(key=key, value=value)
    data: bytes = graph.SerializeToString()
    return data


def _metadata(model: Delivered) -> dict[str, str]:
    side = model.resolution
    return {
        "classes": json.dumps(list(model.classes)),
        "resolution": str(side),
        "resize": resizing(side),
        "input": f"{INPUT}: uint8 RGB of shape (n, {side}, {side}, 3), 0 to 255",
        "output": f"{OUTPUT}: calibrated, of shape (n, {len(model.classes)}), in the order of classes",
    }


def _compare(model: Delivered, data: bytes) -> None:
    """Refuse a graph with which onnxruntime comes to other probabilities than we do."""
    onnxruntime: Any = require("onnxruntime", "ONNX export", extra("export"))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    shape = (3, model.resolution, model.resolution, 3)
    random = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    constant = np.broadcast_to(np.array([0, 127, 255], dtype=np.uint8)[:, None, None, None], shape)
    for images in (random, np.ascontiguousarray(constant), random[:1]):
        (found,) = session.run([OUTPUT], {INPUT: images})
        apart = float(np.abs(found - model.probabilities(images)).max())
        if not apart <= TOLERANCE:
            raise ValueError(
                f"the ONNX graph must agree with torch within {TOLERANCE}, got probabilities {apart} apart."
            )


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep torch's remarks on its own exporter to itself."""
    log = logging.getLogger("torch.onnx")
    level = log.level
    log.setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            log.setLevel(level)
