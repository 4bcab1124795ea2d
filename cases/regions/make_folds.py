#!/usr/bin/env python3
"""Writes folds.onnx: a convolution with Clip (HardTanh), a maximum over windows, a row twice, a row of zeros, a skip.
And corner.npy, a point where four of its kinks are touched.
make_folds.py [FOLDER]"""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

values = {
    "kernel": np.array([[[[1, -1]]], [[[0.5, 2]]]]), "shift": np.array([0, -0.5]), "low": np.array(-1.0), "high": np.array(1.0),
    "rows": np.array([[1, -1, 0.5], [1, -1, 0.5], [0, 0, 0]]).T.copy(), "bias": np.array([0, 0, 0.25]),
    "last": np.array([[1], [-1.5], [1]]),
}
nodes = [
    helper.make_node("Conv", ["x", "kernel", "shift"], ["c"], kernel_shape=[1, 2]),
    helper.make_node("Clip", ["c", "low", "high"], ["t"]),
    helper.make_node("MaxPool", ["t"], ["m"], kernel_shape=[1, 2]),
    helper.make_node("Flatten", ["m"], ["f"]),
    helper.make_node("ReduceMean", ["x"], ["n"], axes=[1, 2, 3], keepdims=1),
    helper.make_node("Flatten", ["n"], ["e"]),
    helper.make_node("Concat", ["f", "e"], ["g"], axis=1),
    helper.make_node("Gemm", ["g", "rows", "bias"], ["a"]),
    helper.make_node("Relu", ["a"], ["r"]),
    helper.make_node("Add", ["r", "a"], ["s"]),
    helper.make_node("MatMul", ["s", "last"], ["y"]),
]
graph = helper.make_graph(nodes, "folds", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 1, 3])],
                          [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1])],
                          [numpy_helper.from_array(np.asarray(v, np.float32), k) for k, v in values.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
model.ir_version = 8
onnx.checker.check_model(model)
to = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent
(to / "folds.onnx").write_bytes(model.SerializeToString())
np.save(to / "corner.npy", np.array([0, -1, 0], np.float32).reshape(1, 1, 1, 3))
