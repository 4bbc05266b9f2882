"""A user's own network as a backbone: `package.module:function` returns a torch module."""

from __future__ import annotations

import importlib
import re
from difflib import get_close_matches
from typing import Any

import torch
from torch import nn

from curriculum_labeling.vision.backbones.torch_backbone import TorchBackbone, wrap

NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
# Where the function says nothing: what most published networks were trained with.
USUAL = {"resolution": 224, "mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}


def open_factory(name: str, *, device: str | torch.device = "auto") -> TorchBackbone:
    """The module that `package.module:function` returns, alone or with a dict of resolution, mean and std."""
    made = _function(name)()
    module, given = made if isinstance(made, tuple) and len(made) == 2 else (made, {})
    if not isinstance(module, nn.Module) or not isinstance(given, dict):
        raise ValueError(
            f"backbone {name!r} must return a torch.nn.Module, or a pair of one and a dict, got {type(made).__name__}."
        )
    unknown = sorted(set(given) - set(USUAL))
    if unknown:
        raise ValueError(f"backbone {name!r} may say {', '.join(USUAL)} in its dict, got {', '.join(unknown)}.")
    options: dict[str, Any] = {**USUAL, **given}
    return wrap(name, module, options["resolution"], options["mean"], options["std"], device=device)


def _function(name: str) -> Any:
    where, _, wanted = name.partition(":")
    try:
        module = importlib.import_module(where)
    except ImportError as error:
        raise ValueError(f"backbone {name!r} names the module {where}, which cannot be imported ({error}).") from error
    function = getattr(module, wanted, None)
    if not callable(function):
        close = get_close_matches(wanted, dir(module), n=1, cutoff=0.6)
        hint = f" Did you mean '{where}:{close[0]}'?" if close else ""
        raise ValueError(f"backbone {name!r} must name a function of {where}, which has none of that name.{hint}")
    return function
