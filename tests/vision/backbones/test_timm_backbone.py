"""timm itself is large; a small module of its name stands in for the four functions that are used."""

import sys

import numpy as np
import pytest

from curriculum_labeling.vision.backbones import open_backbone
from curriculum_labeling.vision.backbones.timm_backbone import open_timm
from curriculum_labeling.vision.model_folder import read_model, write_model
from tests.vision.deliveries import probe

FAKE = """
import types, warnings
import torch
warnings.warn("pkg_resources is deprecated as an API", UserWarning)
def list_models(): return ["tiny_net", "vit_small"]
def is_model(name): return name.split(".")[0] in list_models()
def create_model(name, pretrained, num_classes):
    assert num_classes == 0
    if name.endswith(".absent") and pretrained:
        raise OSError("no weights here")
    torch.manual_seed(int(pretrained))
    return torch.nn.Sequential(torch.nn.Conv2d(3, 7, 3), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())
data = types.SimpleNamespace(resolve_model_data_config=lambda model: {
    "input_size": (3, 12, 12), "mean": (0.5, 0.5, 0.5), "std": (0.5, 0.5, 0.5)})
"""


@pytest.fixture
def timm(tmp_path, monkeypatch):
    def install(text):
        (tmp_path / "timm.py").write_text(text)
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.delitem(sys.modules, "timm", raising=False)

    yield install
    sys.modules.pop("timm", None)


def test_a_timm_network_brings_its_size_and_normalization(timm):
    timm(FAKE)
    backbone = open_backbone("timm:tiny_net", device="cpu")
    assert (backbone.name, backbone.resolution, backbone.size) == ("timm:tiny_net", 12, 7)
    assert backbone.describe()["deviation"] == [0.5] * 3
    assert backbone.embed(np.zeros((2, 12, 12, 3), np.uint8)).shape == (2, 7)
    assert open_timm("timm:tiny_net", pretrained=False).describe() != backbone.describe()


def test_a_probe_on_timm_comes_back_with_its_weights(timm, tmp_path):
    timm(FAKE)
    model = probe(open_backbone("timm:tiny_net", device="cpu"))
    found = read_model(write_model(tmp_path / "model", model))
    images = np.random.default_rng(0).integers(0, 256, (3, 12, 12, 3), dtype=np.uint8)
    assert np.allclose(found.logits(images), model.logits(images))
    assert found.part.backbone.describe() == model.part.backbone.describe()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "timm:tinynet",
            r"must name a network of the installed timm, got 'timm:tinynet'\. Did you mean 'timm:tiny_net'",
        ),
        ("timm:hf-hub:someone/net", r"must name a network of the installed timm"),
        ("timm:tiny_net.absent", r"cannot be made by timm \(OSError: no weights here\)"),
    ],
)
def test_a_timm_network_that_cannot_be_had_is_refused(timm, name, message):
    timm(FAKE)
    with pytest.raises(ValueError, match=message):
        open_backbone(name)


def test_a_timm_that_cannot_be_imported_is_explained(timm):
    timm('raise RuntimeError("operator torchvision::nms does not exist")')
    with pytest.raises(ValueError, match=r"timm, which is installed but cannot be imported \(RuntimeError: operator"):
        open_backbone("timm:tiny_net")


def test_a_missing_timm_is_asked_for(timm):
    timm('raise ImportError("gone")')
    with pytest.raises(ValueError, match=r"the backbone 'timm:tiny_net' needs the package timm \(gone\); pip install"):
        open_backbone("timm:tiny_net")
