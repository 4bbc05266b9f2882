import numpy as np
import onnx
import pytest
from onnx import TensorProto

from curriculum_labeling.vision.backbones import open_backbone
from curriculum_labeling.vision.backbones.onnx_backbone import open_onnx
from tests.vision.backbones.own_networks import save_onnx
from tests.vision.backbones.test_backbones import pixels

MEAN, STD = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])


def colors(images):
    return images.reshape(len(images), -1, 3).mean(axis=1)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("batch", ["n", 1, 2])
def test_layout_and_batch_are_read_from_the_graph(tmp_path, layout, batch):
    backbone = open_backbone(save_onnx(tmp_path / "a.onnx", layout=layout, batch=batch))
    assert (backbone.resolution, backbone.size) == (8, 3)
    images = pixels(5)
    assert np.allclose(backbone.embed(images), 2 * (colors(images) / 255 - MEAN) / STD, atol=1e-4)
    assert backbone.embed(images[:0]).shape == (0, 3)
    assert backbone.describe()["assumed"] == ["ImageNet's mean and deviation: the file says none"]


def test_bytes_go_in_as_they_are(tmp_path):
    backbone = open_backbone(save_onnx(tmp_path / "a.onnx", layout="NHWC", kind=TensorProto.UINT8))
    images = pixels(5)
    assert np.allclose(backbone.embed(images), 2 * colors(images), atol=1e-3)
    assert backbone.describe()["input"] == "NHWC uint8"
    assert backbone.describe()["mean"] is None


def test_half_precision_is_fed(tmp_path):
    backbone = open_backbone(save_onnx(tmp_path / "a.onnx", kind=TensorProto.FLOAT16))
    images = pixels(5)
    assert np.allclose(backbone.embed(images), 2 * (colors(images) / 255 - MEAN) / STD, atol=1e-2)


def test_the_files_own_normalization_and_size_are_used(tmp_path):
    said = {"mean": [0, 0, 0], "std": [1, 1, 1], "resolution": 6}
    backbone = open_backbone(save_onnx(tmp_path / "a.onnx", size="side", metadata=said))
    assert (backbone.resolution, backbone.describe()["assumed"]) == (6, [])
    images = pixels(5, size=6)
    assert np.allclose(backbone.embed(images), 2 * colors(images) / 255, atol=1e-5)


def test_any_size_means_224_unless_given(tmp_path):
    path = save_onnx(tmp_path / "a.onnx", size="side")
    assert open_onnx(path).resolution == 224
    assert "224 pixels: the file takes any size" in open_onnx(path).describe()["assumed"]
    assert open_onnx(path, resolution=10).resolution == 10


def no_onnx(path):
    path.write_bytes(b"not a graph")


def pointing_elsewhere(path):
    save_onnx(path)
    model = onnx.load(str(path))
    (weight,) = model.graph.initializer
    weight.ClearField("raw_data")
    weight.data_location = TensorProto.EXTERNAL
    weight.external_data.add(key="location", value="../../secret")
    path.write_bytes(model.SerializeToString())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (no_onnx, r"a\.onnx is not an ONNX file"),
        (pointing_elsewhere, r"a\.onnx must be one file, but keeps weights in others"),
        (lambda _: None, r"backbone must be an ONNX file that exists, got '.*a\.onnx'"),
        (lambda path: save_onnx(path, kind=TensorProto.INT64), r"must take float, float16 or uint8 images, got tensor"),
        (lambda path: save_onnx(path, metadata={"mean": [1]}), r"must have three finite numbers as mean, got \[1\]"),
        (lambda path: save_onnx(path, metadata={"std": [0, 0, 0]}), r"must have a std above 0"),
        (lambda path: save_onnx(path, metadata={"std": "{"}), r"must state std as JSON in its metadata"),
    ],
)
def test_a_file_that_cannot_serve_is_refused(tmp_path, make, message):
    make(tmp_path / "a.onnx")
    with pytest.raises(ValueError, match=message):
        open_backbone(str(tmp_path / "a.onnx"))
