"""Tensors of a model in a safetensors file: names, kinds and shapes are checked before anything is read."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import file_digest
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

KINDS = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}
Wanted = Mapping[str, tuple[torch.dtype, tuple[int, ...]]]


def wanted_of(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, tuple[torch.dtype, tuple[int, ...]]]:
    """Kind and shape of these tensors, by their names in the file."""
    return {f"{prefix}{name}": (tensor.dtype, tuple(tensor.shape)) for name, tensor in tensors.items()}


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write tensors into a safetensors file; a full disk is an OSError, as everywhere."""
    try:
        save_file(owned(tensors), path)
    except SafetensorError as error:
        raise OSError(f"{path} cannot be written ({error}); make room, and go on.") from error


def owned(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Copies in rows, each with memory of its own: the format takes no others."""
    return {name: one.detach().cpu().clone(memory_format=torch.contiguous_format) for name, one in tensors.items()}


def read_tensors(path: Path, wanted: Wanted) -> dict[str, Tensor]:
    """Exactly these tensors, all finite; nothing is read from a file that holds others."""
    try:
        with safe_open(path, framework="pt") as file:
            _check(file, wanted)
            tensors = {name: file.get_tensor(name) for name in wanted}
    except (SafetensorError, OSError) as error:
        raise ValueError(f"it is no whole safetensors file ({error})") from error
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise ValueError(f"tensor {name} must be finite, got NaN or infinity")
    return tensors


def sha256_of(path: Path) -> str:
    """The digest of a file, read piece by piece."""
    with open(path, "rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _check(file: Any, wanted: Wanted) -> None:
    names = set(file.keys())
    if names != set(wanted):
        missing, extra = sorted(set(wanted) - names), sorted(names - set(wanted))
        raise ValueError(
            f"it must hold the {len(wanted)} tensors of its model, but lacks {len(missing)}{_first(missing)} "
            f"and has {len(extra)} others{_first(extra)}"
        )
    for name, (kind, shape) in wanted.items():
        part = file.get_slice(name)
        if KINDS.get(part.get_dtype()) != kind or tuple(part.get_shape()) != shape:
            raise ValueError(
                f"tensor {name} must be {kind} of shape {shape}, got {part.get_dtype()} of shape {part.get_shape()}"
            )


def _first(names: list[str]) -> str:
    return f" ({names[0][:60]!r} first)" if names else ""
