"""Delivered models for tests: small, but of every kind."""

import numpy as np
import torch

from curriculum_labeling.vision.backbones import open_backbone
from curriculum_labeling.vision.delivered import Delivered, NetworkPart, ProbePart
from curriculum_labeling.vision.networks import build_network
from curriculum_labeling.vision.whitening import fit_standardization, fit_whitening
from tests.vision.backbones.own_networks import save_onnx
from tests.vision.small import with_norm

# Names that break a careless writer of HTML, CSV or JSON.
CLASSES = ("=cmd|' /C calc'!A0", '<b>"a", b</b>', "naïve 猫")
OWN = "tests.vision.backbones.own_networks:described"


def pixels(count=5, size=8, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (count, size, size, 3), dtype=np.uint8)


def network(name="compact", *, size=8, whitening=False, flip=False, temperature=1.7):
    made = build_network(with_norm if name == "own" else name, len(CLASSES), image_size=size, seed=1)
    shake(made)
    fit = fit_whitening if whitening else fit_standardization
    preprocessing = fit(pixels(30, size, seed=2).transpose(0, 3, 1, 2), np.arange(30))
    name = "tests.vision.small:with_norm" if name == "own" else name
    return Delivered(CLASSES, size, temperature, NetworkPart(made.eval(), name, preprocessing, flip))


def shake(module):
    """Statistics as after training: a fresh network's would hide a mistake in them."""
    generator = torch.Generator().manual_seed(3)
    for one in module.modules():
        if isinstance(one, torch.nn.BatchNorm2d):
            one.running_mean.copy_(torch.randn(one.num_features, generator=generator) / 10)
            one.running_var.copy_(torch.rand(one.num_features, generator=generator) + 0.5)


def probe(backbone, temperature=0.8):
    rng, count, size = np.random.default_rng(4), len(CLASSES), backbone.size
    parts = rng.normal(size=(count, size)), rng.normal(size=count), rng.normal(size=size) / 10, rng.random(size) + 0.5
    return Delivered(CLASSES, backbone.resolution, temperature, ProbePart(backbone, *parts))


def own_probe():
    return probe(open_backbone(OWN, device="cpu"))


def onnx_probe(folder):
    return probe(open_backbone(save_onnx(folder / "colors.onnx", size="side", metadata={"resolution": 8})))


def efficientnet_probe():
    return probe(open_backbone("efficientnet-lite0", device="cpu"))
