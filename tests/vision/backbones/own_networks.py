"""Functions that users might name as `package.module:function`, and ONNX files they might bring."""

import json

import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn


def plain():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 5, 3, stride=2), nn.ReLU())


def described():
    torch.manual_seed(0)
    layers = nn.Sequential(nn.Conv2d(3, 5, 3), nn.BatchNorm2d(5), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    return layers, {"resolution": 8, "mean": (0.5, 0.5, 0.5), "std": (0.25, 0.25, 0.25)}


def misspelled():
    return plain(), {"resolutoin": 8}


def nothing():
    return None


def broken():
    return nn.Flatten(0), {"resolution": 8}


def save_onnx(path, *, layout="NCHW", kind=TensorProto.FLOAT, size=8, batch="n", metadata=None):
    """A graph that gives each image its mean color: maps (n, 3, H, W) or (n, H, W, 3) that a backbone has to pool."""
    axes = [batch, 3, size, size] if layout == "NCHW" else [batch, size, size, 3]
    nodes = [
        helper.make_node("Cast", ["image"], ["x"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["x", "w"], ["y"]),
    ]
    weight = numpy_helper.from_array(torch.tensor(2.0).numpy(), "w")
    inputs = [helper.make_tensor_value_info("image", kind, axes)]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, axes)]
    graph = helper.make_graph(nodes, "colors", inputs, outputs, [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    for key, value in (metadata or {}).items():
        model.metadata_props.add(key=key, value=value if isinstance(value, str) else json.dumps(value))
    onnx.save(model, str(path))
    return str(path)
