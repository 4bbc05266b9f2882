import json
import subprocess
import sys

import numpy as np
import pytest

from curriculum_labeling.vision.backbones import Backbone, default_backbone, open_backbone
from curriculum_labeling.vision.backbones.packages import extra, require

OWN = "tests.vision.backbones.own_networks"


def pixels(count=3, size=8, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (count, size, size, 3), dtype=np.uint8)


def test_the_installed_backbone_is_known_without_importing_torch():
    code = (
        "import sys; from curriculum_labeling.vision.backbones import default_backbone; print(default_backbone()); "
        "sys.exit('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout.strip() == default_backbone() == "efficientnet-lite0"


def test_without_the_package_there_is_no_default(monkeypatch):
    monkeypatch.setattr("curriculum_labeling.vision.backbones.find_spec", lambda _: None)
    assert default_backbone() is None


@pytest.mark.parametrize("name", ["efficientnet_lite_0", "EfficientNet-Lite0", "efficientnet"])
def test_a_name_that_is_nearly_right_is_corrected(name):
    with pytest.raises(ValueError, match=r"backbone must be .*, got .* Did you mean 'efficientnet-lite0'\?"):
        open_backbone(name)


def test_a_network_of_ones_own_says_its_preprocessing():
    backbone = open_backbone(f"{OWN}:described", device="cpu")
    assert isinstance(backbone, Backbone)
    assert (backbone.resolution, backbone.size) == (8, 5)
    features = backbone.embed(pixels(9))
    assert (features.shape, features.dtype) == ((9, 5), np.float32)
    described = backbone.describe()
    assert json.loads(json.dumps(described)) == described
    assert described["mean"] == [0.5] * 3


def test_features_of_an_image_do_not_depend_on_how_many_come_with_it():
    backbone = open_backbone(f"{OWN}:described", device="cpu")
    many = pixels(9)
    assert np.allclose(backbone.embed(many)[4:5], backbone.embed(many[4:5]), atol=1e-6)
    assert backbone.embed(many[:0]).shape == (0, 5)


def test_maps_are_averaged_and_the_usual_preprocessing_is_assumed():
    backbone = open_backbone(f"{OWN}:plain", device="cpu")
    assert (backbone.resolution, backbone.size) == (224, 5)
    assert backbone.describe()["mean"] == pytest.approx([0.485, 0.456, 0.406])


def test_other_weights_are_described_otherwise():
    one, same, other = (open_backbone(f"{OWN}:described", device="cpu") for _ in range(3))
    other.module[0].weight.data[0, 0, 0, 0] += 1
    assert one.describe() == same.describe() != other.describe()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no.such.package:make", r"names the module no\.such\.package, which cannot be imported"),
        (f"{OWN}:descrybed", r"must name a function of .*Did you mean '.*:described'\?"),
        (f"{OWN}:misspelled", r"may say resolution, mean, std in its dict, got resolutoin"),
        (f"{OWN}:nothing", r"must return a torch\.nn\.Module, or a pair of one and a dict, got NoneType"),
        (f"{OWN}:broken", r"must give one tensor of features .* got \(192,\)"),
    ],
)
def test_a_network_of_ones_own_that_cannot_serve_is_refused(name, message):
    with pytest.raises(ValueError, match=message):
        open_backbone(name, device="cpu")


def test_images_of_another_size_are_refused():
    with pytest.raises(ValueError, match=r"pixels must be uint8 of shape \(n, 8, 8, 3\).* load the images with"):
        open_backbone(f"{OWN}:described", device="cpu").embed(pixels(size=9))


def test_a_missing_package_is_asked_for_in_one_sentence():
    message = r"export needs the package no_such_thing \(.*\); pip install 'curriculum-labeling\[export\]'\."
    with pytest.raises(ValueError, match=message):
        require("no_such_thing", "export", extra("export"))
