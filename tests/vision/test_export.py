import json
import sys
from dataclasses import replace

import numpy as np
import onnxruntime
import pytest
import torch
from safetensors import safe_open
from torch import nn

from curriculum_labeling.vision import export
from curriculum_labeling.vision.export import export_onnx, export_safetensors
from tests.vision.deliveries import CLASSES, efficientnet_probe, network, onnx_probe, own_probe, pixels

MODELS = {
    "compact": lambda: network(),
    "compact, mirrored": lambda: network(flip=True),
    "compact, whitened": lambda: network(whitening=True),
    "wrn": lambda: network("wrn-10-1"),
    "cnn-13": lambda: network("cnn-13", size=12),
    "resnet-18": lambda: network("resnet-18", size=16),
    "own": lambda: network("own"),
    "own probe": own_probe,
    "efficientnet": efficientnet_probe,
}


def run(path, images):
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session, session.run(["probabilities"], {"images": images})[0]


@pytest.mark.parametrize("name", MODELS)
def test_an_onnx_file_gives_our_probabilities_for_any_number_of_images(tmp_path, name, capfd):
    model = MODELS[name]()
    path = export_onnx(model, tmp_path / "out" / "model.onnx")
    images = pixels(5, model.resolution, seed=7)
    session, found = run(path, images)
    assert np.abs(found - model.probabilities(images)).max() < 1e-4
    assert np.allclose(found.sum(axis=1), 1, atol=1e-5)
    said = session.get_modelmeta().custom_metadata_map
    assert tuple(json.loads(said["classes"])) == CLASSES
    assert said["resolution"] == str(model.resolution)
    assert "bicubic" in said["resize"]
    assert [one.name for one in path.parent.iterdir()] == ["model.onnx"]
    assert capfd.readouterr() == ("", "")


def test_exporting_changes_nothing_in_the_model(tmp_path):
    model = network()
    before = model.probabilities(pixels())
    export_onnx(model, tmp_path / "model.onnx")
    assert (model.probabilities(pixels()) == before).all()


def test_a_graph_that_disagrees_gets_no_name(tmp_path, monkeypatch):
    model = network()
    real = export._graph_bytes
    monkeypatch.setattr(export, "_graph_bytes", lambda one: real(replace(one, temperature=9.0)))
    with pytest.raises(ValueError, match=r"the ONNX graph must agree with torch within 0\.0001, got probabilities"):
        export_onnx(model, tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []


class Undecided(nn.Module):
    def __init__(self, inside):
        super().__init__()
        self.inside = inside

    def forward(self, x):
        return self.inside(x) if float(x.sum()) > 0 else self.inside(-x)


def test_a_network_that_torch_cannot_write_is_refused(tmp_path):
    model = network()
    strange = replace(model, part=replace(model.part, network=Undecided(model.part.network), name="a:b"))
    with pytest.raises(ValueError, match=r"the network cannot be written as ONNX by torch \("):
        export_onnx(strange, tmp_path / "model.onnx")


@pytest.mark.parametrize(("way", "purpose"), [(export_onnx, "ONNX"), (export_safetensors, "safetensors")])
def test_a_model_on_an_onnx_backbone_is_refused(tmp_path, way, purpose):
    with pytest.raises(
        ValueError, match=rf"{purpose} export needs a backbone of torch, got '.*colors\.onnx'; the model"
    ):
        way(onnx_probe(tmp_path), tmp_path / "model.out")


def test_a_missing_package_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    message = r"ONNX export needs the package onnxscript \(.*\); pip install 'curriculum-labeling\[export\]'"
    with pytest.raises(ValueError, match=message):
        export_onnx(network(), tmp_path / "model.onnx")


def test_a_safetensors_file_says_in_its_header_what_it_is(tmp_path):
    model = network()
    assert export_safetensors(model, tmp_path / "some.safetensors") == tmp_path / "some.safetensors"
    path = export_safetensors(model, tmp_path / "folder")
    assert path == tmp_path / "folder" / "model.safetensors"
    with safe_open(path, framework="pt") as file:
        said = file.metadata()
        assert torch.equal(file.get_tensor("network.linear.bias"), model.part.network.linear.bias)
        assert torch.equal(file.get_tensor("preprocessing.mean"), model.part.preprocessing.mean)
    assert tuple(json.loads(said["classes"])) == CLASSES
    told = json.loads(said["model"])
    assert (told["network"]["name"], told["network"]["preprocessing"]) == ("compact", "standardization")
    assert told["temperature"] == 1.7
