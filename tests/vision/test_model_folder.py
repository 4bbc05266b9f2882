import json
import shutil
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from curriculum_labeling.vision import model_folder
from curriculum_labeling.vision.backbones import open_backbone
from curriculum_labeling.vision.model_folder import read_model, write_model
from curriculum_labeling.vision.model_tensors import sha256_of
from tests.vision.backbones.own_networks import save_onnx
from tests.vision.deliveries import CLASSES, OWN, efficientnet_probe, network, onnx_probe, own_probe, pixels
from tests.vision.small import with_norm


def same(one, other, size=8):
    images = pixels(6, size)
    assert (one.classes, one.resolution, one.temperature) == (other.classes, other.resolution, other.temperature)
    return np.allclose(one.logits(images), other.logits(images), atol=1e-5)


@pytest.mark.parametrize("name", ["compact", "wrn-10-1", "resnet-18"])
@pytest.mark.parametrize("options", [{}, {"flip": True}, {"whitening": True}], ids=str)
def test_a_network_comes_back_as_it_was(tmp_path, name, options):
    model = network(name, **options)
    write_model(tmp_path / "model", model)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["model", "model.json", "weights.safetensors"]
    assert same(read_model(tmp_path / "model"), model)


def test_the_thirteen_layers_come_back_too(tmp_path):
    model = network("cnn-13", size=12)
    assert same(read_model(write_model(tmp_path / "model", model)), model, size=12)


def test_model_json_says_in_words_what_the_model_is(tmp_path):
    said = json.loads((write_model(tmp_path / "model", network()) / "model.json").read_text())
    assert (said["format"], said["kind"], said["classes"]) == (1, "network", list(CLASSES))
    assert said["weights"]["sha256"] == sha256_of(tmp_path / "model" / "weights.safetensors")
    assert said["network"]["name"] == "compact"
    assert "center 8 × 8" in said["input"]


def test_a_probe_on_efficientnet_needs_nothing_but_its_folder(tmp_path, monkeypatch):
    model = efficientnet_probe()
    write_model(tmp_path / "model", model)
    monkeypatch.setattr("curriculum_labeling.vision.backbones.efficientnet_lite.PACKAGE", "no_such_package")
    found = read_model(tmp_path / "model")
    assert same(found, model, size=224)
    assert found.part.backbone.describe() == model.part.backbone.describe()


def test_a_probe_on_onnx_carries_the_graph_along(tmp_path):
    model = onnx_probe(tmp_path)
    write_model(tmp_path / "model", model)
    (tmp_path / "colors.onnx").unlink()
    found = read_model(tmp_path / "model")
    assert same(found, model)
    assert str(tmp_path) not in (tmp_path / "model" / "model.json").read_text()


def test_an_onnx_file_that_changed_since_is_not_delivered(tmp_path):
    model = onnx_probe(tmp_path)
    save_onnx(tmp_path / "colors.onnx", size=8)
    with pytest.raises(ValueError, match=r"colors\.onnx has changed since it was opened"):
        write_model(tmp_path / "model", model)
    assert [path.name for path in tmp_path.iterdir()] == ["colors.onnx"]


def test_a_backbone_of_ones_own_is_never_imported_because_a_file_says_so(tmp_path, monkeypatch):
    model = own_probe()
    write_model(tmp_path / "model", model)
    monkeypatch.delitem(sys.modules, "tests.vision.backbones.own_networks")
    with pytest.raises(ValueError, match=r"function of its user's made the backbone, '.*:described'.*give backbone="):
        read_model(tmp_path / "model")
    assert "tests.vision.backbones.own_networks" not in sys.modules
    given = open_backbone(OWN, device="cpu")
    given.module[0].weight.data += 1
    assert same(read_model(tmp_path / "model", backbone=given), model)
    assert not same(read_model(tmp_path / "model", backbone=given), replace_backbone(model, given))


def replace_backbone(model, backbone):
    return replace(model, part=replace(model.part, backbone=backbone))


def test_a_network_of_ones_own_has_to_be_given(tmp_path):
    model = network("own")
    write_model(tmp_path / "model", model)
    with pytest.raises(ValueError, match=r"made the network, 'tests\.vision\.small:with_norm'; give that function as"):
        read_model(tmp_path / "model")
    assert same(read_model(tmp_path / "model", network=with_norm), model)


def test_what_no_model_needs_is_refused(tmp_path):
    write_model(tmp_path / "model", network())
    with pytest.raises(ValueError, match=r"network= is for models whose network a function of your own made"):
        read_model(tmp_path / "model", network=with_norm)
    with pytest.raises(ValueError, match=r"backbone= is for models whose backbone a function of your own made"):
        read_model(tmp_path / "model", backbone=open_backbone(OWN, device="cpu"))


def test_a_model_replaces_one_but_nothing_else(tmp_path):
    write_model(tmp_path / "model", network(temperature=1.0))
    write_model(tmp_path / "model", network(temperature=2.0))
    assert read_model(tmp_path / "model").temperature == 2.0
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    (tmp_path / "model" / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match=r"must hold nothing but a model to be replaced, got .* with 'notes\.txt'"):
        write_model(tmp_path / "model", network())
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").touch()
    with pytest.raises(ValueError, match=r"folder must be new, empty, or hold a model to replace, got .*photos"):
        write_model(tmp_path / "photos", network())


def test_a_writer_that_fails_leaves_the_old_model(tmp_path, monkeypatch):
    write_model(tmp_path / "model", network(temperature=1.0))

    def fail(*_):
        raise OSError("no room")

    monkeypatch.setattr("curriculum_labeling.vision.model_folder.write_tensors", fail)
    with pytest.raises(OSError, match="no room"):
        write_model(tmp_path / "model", network(temperature=2.0))
    assert read_model(tmp_path / "model").temperature == 1.0
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


class KilledError(BaseException):
    pass


@pytest.mark.parametrize(("call", "temperature"), [(1, 1.0), (2, 1.0), (3, 2.0)])
def test_a_kill_around_the_renames_costs_no_model(tmp_path, monkeypatch, call, temperature):
    write_model(tmp_path / "model", network(temperature=1.0))
    calls, rename = [], model_folder.os.rename

    def rename_or_die(source, target):
        calls.append(target)
        if len(calls) == call:
            raise KilledError
        rename(source, target)

    def die_last(_):
        raise KilledError

    with monkeypatch.context() as patch:
        # A killed process tidies nothing up.
        patch.setattr(model_folder.os, "rename", rename_or_die)
        patch.setattr(model_folder.shutil, "rmtree", lambda *_, **__: None)
        patch.setattr(model_folder, "sync_folder", die_last)
        with pytest.raises(KilledError):
            write_model(tmp_path / "model", network(temperature=2.0))
    model_folder._tidy(tmp_path / "model")
    assert read_model(tmp_path / "model").temperature == temperature
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_network_that_is_not_what_it_is_called_is_not_written(tmp_path):
    model = network()
    wrong = replace(model, part=replace(model.part, name="wrn-10-1"))
    with pytest.raises(ValueError, match=r"the network must be a 'wrn-10-1' for 3 classes, as its name says"):
        write_model(tmp_path / "model", wrong)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("written")
    write_model(folder / "network", network())
    write_model(folder / "onnx", onnx_probe(folder))
    write_model(folder / "efficientnet", efficientnet_probe())
    return folder


def change(said, keys, value):
    for key in keys[:-1]:
        said = said[key]
    if value is KeyError:
        del said[keys[-1]]
    else:
        said[keys[-1]] = value


HOSTILE = [
    ("network", ["format"], 2, "format must be 1, got 2"),
    ("network", ["format"], True, "format must be a whole number"),
    ("network", ["kind"], "pickle", "kind must be 'network' or 'probe', got 'pickle'"),
    ("network", ["kind"], "probe", "backbone must be a JSON object, got None"),
    ("network", ["classes"], "abc", "classes must be a list of names"),
    ("network", ["classes"], ["a", 1, "b"], "classes must be names"),
    ("network", ["classes"], ["a", "b", "a"], "classes must be different names"),
    ("network", ["classes"], [], "classes must be two or more names"),
    ("network", ["classes"], ["a", "b", "\ud800"], "classes must be names that can be written"),
    ("network", ["classes"], ["a", "b"], r"tensor network.linear.weight must be torch.float32 of shape \(2, 128\)"),
    ("network", ["classes"], list(map(str, range(500_000))), "tensor network.linear.weight must be"),
    ("network", ["resolution"], -8, "resolution must be a whole number, at least 1, got -8"),
    ("network", ["resolution"], 10**30, "resolution must be a whole number"),
    ("network", ["resolution"], 1_000_000, "resolution must be from 1 to 4096"),
    ("network", ["resolution"], "8", "resolution must be a whole number"),
    ("network", ["temperature"], 0, "temperature must be a number above 0"),
    ("network", ["temperature"], 10**400, "temperature must be a number above 0"),
    ("network", ["temperature"], None, "temperature must be a number above 0, got None"),
    ("network", ["weights"], [], r"weights must be a JSON object, got \[\]"),
    ("network", ["weights", "file"], "../../etc/passwd", "weights.file must be 'weights.safetensors', got '../../etc"),
    ("network", ["weights", "sha256"], "0" * 64, "weights.safetensors is not the file that model.json was written for"),
    ("network", ["weights", "sha256"], "0", "weights.sha256 must be 64 hexadecimal digits"),
    ("network", ["network", "name"], "os:system", "network.name must be one of ours"),
    ("network", ["network", "name"], "wrn-99999999-1", "network.name must be one of ours"),
    ("network", ["network", "name"], "wrn-994-64", "weights.safetensors: it must hold the"),
    ("network", ["network", "name"], "wrn-994-999", "network must be wrn-<depth>-<width> with at most 1,000 and 64"),
    ("network", ["network", "name"], "wrn-11-1", "a wide residual network's depth must be"),
    ("network", ["network", "name"], "x" * 10_000, "network.name must be a text"),
    ("network", ["network", "own"], 0, "network.own must be true or false, got 0"),
    ("network", ["network", "flip"], "no", "network.flip must be true or false"),
    ("network", ["network", "preprocessing"], "eval", "network.preprocessing must be 'standardization' or 'whitening'"),
    ("network", ["network", "preprocessing"], "whitening", "weights.safetensors: it must hold the"),
    ("network", ["network"], KeyError, "network must be a JSON object, got None"),
    ("onnx", ["backbone", "file"], "/etc/passwd", "backbone.file must be 'backbone.onnx'"),
    ("onnx", ["backbone", "sha256"], "1" * 64, "backbone.onnx is not the file that model.json was written for"),
    ("onnx", ["backbone", "kind"], "own", r"function of its user's made the backbone"),
    ("onnx", ["backbone", "size"], 10**9, "tensor probe.weight must be torch.float64 of shape"),
    ("onnx", ["backbone", "size"], -1, "backbone.size must be a whole number, at least 1"),
    ("efficientnet", ["backbone", "mean"], [1, 2], r"backbone.mean must be three numbers, got \[1, 2\]"),
    ("efficientnet", ["backbone", "mean"], None, "backbone.mean must be three numbers"),
    ("efficientnet", ["backbone", "deviation"], [0, 1, 1], "backbone.deviation must be above 0"),
    ("efficientnet", ["backbone", "deviation"], [1, 1, 10**400], "backbone.deviation must be three numbers"),
    ("efficientnet", ["resolution"], 100, "backbone.size must be 1280 and resolution 224 pixels"),
    ("efficientnet", ["backbone", "kind"], "timm", "needs the package timm"),
]


@pytest.mark.parametrize(("kind", "keys", "value", "message"), HOSTILE)
def test_every_word_of_model_json_is_checked(written, tmp_path, kind, keys, value, message):
    shutil.copytree(written / kind, tmp_path / "model")
    path = tmp_path / "model" / "model.json"
    said = json.loads(path.read_text())
    change(said, keys, value)
    path.write_text(json.dumps(said))
    with pytest.raises(ValueError, match=message) as caught:
        read_model(tmp_path / "model")
    assert str(tmp_path / "model") in str(caught.value)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(
    "text", ["", "[" * 100_000, "null", '{"format": NaN}', "\xff", '{"format": ' + "9" * 5000 + "}"]
)
def test_what_is_no_json_is_named(tmp_path, text):
    (tmp_path / "model.json").write_text(text, encoding="latin-1")
    with pytest.raises(ValueError, match=r"model\.json cannot be used: it (is not JSON|must be a JSON object)"):
        read_model(tmp_path)


def test_a_folder_without_a_model_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"model\.json cannot be used: it does not exist, or is no file"):
        read_model(tmp_path)
    (tmp_path / "model.json").mkdir()
    with pytest.raises(ValueError, match=r"model\.json cannot be used: it does not exist, or is no file"):
        read_model(tmp_path)


def not_finite(tensors):
    tensors["network.linear.bias"][1] = float("nan")


def other_shape(tensors):
    tensors["network.linear.bias"] = torch.zeros(4)


def other_kind(tensors):
    tensors["network.linear.bias"] = torch.zeros(3, dtype=torch.float64)


def one_more(tensors):
    tensors["network.surprise"] = torch.zeros(3)


def one_less(tensors):
    del tensors["preprocessing.mean"]


def no_deviation(tensors):
    tensors["preprocessing.deviation"][0] = 0


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (not_finite, r"tensor network\.linear\.bias must be finite"),
        (other_shape, r"tensor network\.linear\.bias must be torch\.float32 of shape \(3,\), got F32 of shape \[4\]"),
        (other_kind, r"tensor network\.linear\.bias must be torch\.float32 of shape \(3,\), got F64"),
        (one_more, r"lacks 0 and has 1 others \('network\.surprise' first\)"),
        (one_less, r"lacks 1 \('preprocessing\.mean' first\) and has 0 others"),
        (no_deviation, r"must have a deviation above 0"),
    ],
)
def test_every_tensor_is_checked(written, tmp_path, harm, message):
    shutil.copytree(written / "network", tmp_path / "model")
    path = tmp_path / "model" / "weights.safetensors"
    tensors = load_file(path)
    harm(tensors)
    save_file(tensors, path)
    sign(tmp_path / "model")
    with pytest.raises(ValueError, match=rf"the model in .*model cannot be used: .*{message}"):
        read_model(tmp_path / "model")


def sign(folder):
    said = json.loads((folder / "model.json").read_text())
    said["weights"]["sha256"] = sha256_of(folder / "weights.safetensors")
    (folder / "model.json").write_text(json.dumps(said))


@pytest.mark.parametrize("data", [b"", b"\xff" * 100, (2**40).to_bytes(8, "little") + b"{}", b"\x80\x04cos\nsystem\n"])
def test_weights_that_are_no_safetensors_are_refused(written, tmp_path, data):
    shutil.copytree(written / "network", tmp_path / "model")
    (tmp_path / "model" / "weights.safetensors").write_bytes(data)
    sign(tmp_path / "model")
    with pytest.raises(ValueError, match=r"weights\.safetensors: it is no whole safetensors file"):
        read_model(tmp_path / "model")


def test_missing_weights_are_named(written, tmp_path):
    shutil.copytree(written / "network", tmp_path / "model")
    (tmp_path / "model" / "weights.safetensors").unlink()
    with pytest.raises(ValueError, match=r"weights\.safetensors is not there, or is no file"):
        read_model(tmp_path / "model")
