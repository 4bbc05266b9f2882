"""An ONNX file must hold all its weights: one that points to other files could point to any file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from curriculum_labeling.vision.backbones.packages import extra, require


def check_one_file(path: Path) -> None:
    """Refuse a file that is no ONNX, or whose weights lie in other files."""
    onnx: Any = require("onnx", f"the ONNX file {path}", extra("export"))
    try:
        model = onnx.load(str(path), load_external_data=False)
    except Exception as error:  # protobuf raises kinds of its own
        raise ValueError(f"{path} is not an ONNX file ({type(error).__name__}).") from error
    functions = [node for function in model.functions for node in function.node]
    for tensor in (*_tensors(model.graph), *_in_nodes(functions)):
        if tensor.data_location == onnx.TensorProto.EXTERNAL or tensor.external_data:
            raise ValueError(f"{path} must be one file, but keeps weights in others; save it with its weights inside.")


def _tensors(graph: Any) -> Iterator[Any]:
    yield from graph.initializer
    for sparse in graph.sparse_initializer:
        yield from (sparse.values, sparse.indices)
    yield from _in_nodes(graph.node)


def _in_nodes(nodes: Any) -> Iterator[Any]:
    for node in nodes:
        for attribute in node.attribute:
            yield from (attribute.t, *attribute.tensors)
            for sparse in (attribute.sparse_tensor, *attribute.sparse_tensors):
                yield from (sparse.values, sparse.indices)
            for graph in ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs):
                yield from _tensors(graph)
