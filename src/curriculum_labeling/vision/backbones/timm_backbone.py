"""Any network of an installed timm, by its name there, with the preprocessing it was trained with."""

from __future__ import annotations

import re
import warnings
from difflib import get_close_matches
from typing import Any

import torch

from curriculum_labeling.vision.backbones.packages import require
from curriculum_labeling.vision.backbones.torch_backbone import TorchBackbone, wrap

PREFIX = "timm:"
# Nothing but names of timm's own registry: its "hf-hub:" and "local-dir:" would read from anywhere.
NAME = re.compile(r"[A-Za-z0-9_]{1,100}(\.[A-Za-z0-9_]{1,100})?")


def open_timm(name: str, *, pretrained: bool = True, device: str | torch.device = "auto") -> TorchBackbone:
    """The network `timm:NAME` without its classifier; timm finds the weights, by its own means."""
    timm: Any = require("timm", f"the backbone {name!r}", "pip install timm")
    inside = name.removeprefix(PREFIX)
    if not NAME.fullmatch(inside) or not timm.is_model(inside):
        close = get_close_matches(inside, timm.list_models(), n=1, cutoff=0.4)
        hint = f" Did you mean '{PREFIX}{close[0]}'?" if close else ""
        raise ValueError(f"backbone must name a network of the installed timm, got {name!r}.{hint}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            module = timm.create_model(inside, pretrained=pretrained, num_classes=0)
            config = timm.data.resolve_model_data_config(module)
        except Exception as error:  # no weights, no network, an unknown tag: timm raises its own kinds
            raise ValueError(f"backbone {name!r} cannot be made by timm ({type(error).__name__}: {error}).") from error
    return wrap(name, module, int(config["input_size"][-1]), config["mean"], config["std"], device=device)
