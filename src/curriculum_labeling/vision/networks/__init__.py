"""Networks by name, or by any function that makes a `torch.nn.Module`, always from fresh weights."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any

import torch
from torch import nn

from curriculum_labeling.vision.networks.cnn13 import CNN13
from curriculum_labeling.vision.networks.compact import WIDTH, Compact
from curriculum_labeling.vision.networks.resnet import resnet18, resnet50
from curriculum_labeling.vision.networks.wide_resnet import WideResNet

__all__ = ["CNN13", "Compact", "WideResNet", "build_network", "resnet18", "resnet50"]

Factory = Callable[..., nn.Module]
_NAMED: dict[str, Factory] = {"cnn-13": CNN13, "resnet-18": resnet18, "resnet-50": resnet50}
_SMALLEST = {"cnn-13": 12}
# Beyond these, a name is a slip of the keyboard that would fill any memory.
_MOST = {"compact-<width>": (512,), "wrn-<depth>-<width>": (1_000, 64)}


def build_network(
    network: str | Factory, classes: int, channels: int = 3, image_size: int = 32, *, seed: int = 0
) -> nn.Module:
    """A new network whose weights depend on nothing but the seed.

    Parameters
    ----------
    network : str or function
        "compact" ("compact-16" for another width than 32), "wrn-28-2" (any depth and width), "cnn-13",
        "resnet-18", "resnet-50"; or a function that returns a module. It is called with `classes` (also
        known as `num_classes`), `channels` and `image_size` as far as it has parameters of these names.
    classes, channels, image_size : int
        How many classes there are, channels per image, and pixels on an image's shorter side.
    seed : int
        Draws the weights; torch's global generators are left as they were.
    """
    _check(classes, channels)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        build = _from_name if isinstance(network, str) else _from_function
        made = build(network, classes, channels, image_size)
    if not isinstance(made, nn.Module):
        raise TypeError(f"network must be a function that returns a torch.nn.Module, got one that returns {made!r}.")
    return made


def _check(classes: int, channels: int) -> None:
    if classes < 2:
        raise ValueError(f"classes must be 2 or more, got {classes}.")
    if channels < 1:
        raise ValueError(f"channels must be 1 or more, got {channels}.")


def _from_name(name: Any, classes: int, channels: int, image_size: int) -> nn.Module:
    smallest = _SMALLEST.get(name, 8)
    if image_size < smallest:
        raise ValueError(f"image_size must be at least {smallest} pixels for {name!r}, got {image_size}; enlarge them.")
    if wide := re.fullmatch(r"wrn-(\d+)-(\d+)", name):
        depth, times = _sizes(name, "wrn-<depth>-<width>", wide.groups())
        return WideResNet(depth, times, classes, channels)
    if compact := re.fullmatch(r"compact(?:-([1-9]\d*))?", name):
        (width,) = _sizes(name, "compact-<width>", (compact[1] or str(WIDTH),))
        return Compact(classes, channels, image_size, width=width)
    if name not in _NAMED:
        known = [*_NAMED, "compact", "wrn-28-2"]
        close = get_close_matches(name.lower().replace("_", "-"), known, n=1, cutoff=0.4)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ValueError(
            f"network must be one of {', '.join(known)} (or another wrn-<depth>-<width> or compact-<width>), "
            f"got {name!r}.{hint}"
        )
    return _NAMED[name](classes, channels)


def _sizes(name: str, form: str, digits: Iterable[str]) -> list[int]:
    """The numbers in the name of a network."""
    sizes = [int(one) for one in digits]
    if any(size > most for size, most in zip(sizes, _MOST[form], strict=True)):
        bounds = " and ".join(f"{most:,}" for most in _MOST[form])
        raise ValueError(f"network must be {form} with at most {bounds}, got {name!r}.")
    return sizes


def _from_function(function: Any, classes: int, channels: int, image_size: int) -> Any:
    """Call a user's function with those of our arguments that it takes."""
    if isinstance(function, nn.Module) or not callable(function):
        raise TypeError(
            f"network must be a name or a function that returns a new torch.nn.Module, got {type(function).__name__}; "
            f"wrap a module as `lambda: ...`, so that every round can start from fresh weights."
        )
    offered = {"classes": classes, "num_classes": classes, "channels": channels, "image_size": image_size}
    parameters = inspect.signature(function).parameters
    taken = {name: value for name, value in offered.items() if name in parameters}
    if not taken and any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        taken = {"num_classes": classes}
    required = [p for p in parameters.values() if p.default is p.empty and p.kind in (0, 1) and p.name not in taken]
    return function(*([classes] if required and "classes" not in taken else []), **taken)
