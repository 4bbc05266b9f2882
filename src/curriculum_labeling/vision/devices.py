"""Where to compute and in which numbers: CUDA, MPS or CPU; fp32, bf16 or fp16."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import torch

from curriculum_labeling.vision.config import Precision


@dataclass(frozen=True)
class Numbers:
    """What autocast computes in (None for plain fp32), and whether gradients are scaled against underflow."""

    dtype: torch.dtype | None
    scaled: bool

    def autocast(self, device: torch.device) -> torch.autocast:
        """The context of a forward pass."""
        if self.dtype is None:
            return torch.autocast(device.type, enabled=False)
        return torch.autocast(device.type, dtype=self.dtype)


def choose_device(device: str | torch.device = "auto") -> torch.device:
    """The given device, where this machine has it, or the best there is."""
    if device != "auto":
        chosen = torch.device(device)
        found = {"cuda": torch.cuda.device_count(), "mps": int(torch.backends.mps.is_available())}
        if (chosen.index or 0) >= found.get(chosen.type, math.inf):
            raise ValueError(f"device must be one that this machine has, got {str(device)!r}; use 'cpu' or 'auto'.")
        return chosen
    if torch.cuda.is_available():
        return torch.device("cuda", torch.cuda.current_device())
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def numbers_for(device: torch.device, precision: Precision) -> Numbers:
    """The numbers of this precision on this device."""
    if precision == "auto":
        precision = _fastest(device)
    if precision == "fp16" and device.type != "cuda":
        raise ValueError(f"precision 'fp16' needs a CUDA device, got {device.type!r}; use 'bf16', 'fp32' or 'auto'.")
    dtype = {"fp32": None, "bf16": torch.bfloat16, "fp16": torch.float16}[precision]
    return Numbers(dtype, scaled=precision == "fp16")


def _fastest(device: torch.device) -> Precision:
    """The shortest numbers that this device computes with by itself; emulated ones would be slow."""
    if device.type == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported() else "fp16"
    return "bf16" if device.type == "cpu" and cpu_has_bf16() else "fp32"


@cache
def cpu_has_bf16() -> bool:
    """Whether this CPU multiplies bf16 numbers: training then takes about two thirds of the time."""
    tests = (getattr(torch.cpu, name, None) for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"))
    return any(test() for test in tests if test is not None)


def scoring_speedup(device: str | torch.device) -> float:
    """How many images are scored in the time that training on one takes.

    Scoring is a forward pass alone, and always in fp32: where trainings are not, it gains less. Measured on a
    CPU without bf16 (3.1 and more); with it, from how much slower scoring was before it kept to the cache.
    """
    device = torch.device(device)
    fp32 = device.type == "mps" or (device.type == "cpu" and not cpu_has_bf16())
    return 3.0 if fp32 else 1.8


def wait_for(device: torch.device) -> None:
    """Return when the device has done what it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()
