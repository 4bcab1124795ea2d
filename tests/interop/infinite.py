"""Infinite numbers that bound nothing: both programs leave them out, and refuse others.

Usage: python tests/interop/infinite.py --build build

Exporters write a Clip without an upper bound with one that is infinity, and a largest entry beside a scalar that is minus infinity.
What is read has the values that `onnx.reference` computes; one that is refused is refused by both programs.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from readings import Programs, unlike
from report import Report

INF, NAN = np.inf, np.nan
# operator, its inputs (x is the batch, numbers are constants), and whether both read it
CASES = [("Clip", ["x", -INF, 1.], True), ("Clip", ["x", -1., INF], True), ("Clip", ["x", -INF, INF], True), ("Clip", ["x", -INF], True),
         ("Clip", ["x", INF, 1.], False), ("Clip", ["x", 0., -INF], False), ("Clip", ["x", NAN], False), ("Clip", ["x", 0., NAN], False),
         ("Clip", [[1., INF, 2.], 0.], False), ("Clip", ["x", [-INF], 1.], True),
         ("Max", ["x", -INF], True), ("Max", [-INF, "x"], True), ("Max", ["x", -INF, [1., 0., 2.]], True), ("Max", ["x", -INF, -INF], True),
         ("Max", ["x", INF], False), ("Max", ["x", NAN], False), ("Max", ["x", [-INF]], False), ("Max", ["x", -INF, INF], False),
         ("Max", [-INF, -INF], False), ("Min", ["x", INF], True), ("Min", [INF, [0., 1., 2.], "x"], True), ("Min", ["x", -INF], False),
         ("Min", ["x", INF, NAN], False), ("Sum", ["x", -INF], False), ("Mul", ["x", INF], False)]
X = np.array([[-2, .5, 3], [1, 0, .25]], np.float32)


def model_of(op, inputs):
    names = ["x" if i == "x" else f"c{k}" for k, i in enumerate(inputs)]
    held = [numpy_helper.from_array(np.array(i, np.float32), n) for n, i in zip(names, inputs) if n != "x"]
    graph = helper.make_graph([helper.make_node(op, names, ["y"]), helper.make_node("Add", ["x", "y"], ["z"])], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 3])],
                              [helper.make_tensor_value_info("z", TensorProto.FLOAT, None)], held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build")
    programs, report = Programs(parser.parse_args().build), Report()
    with tempfile.TemporaryDirectory() as folder:
        pairs = [(Path(folder) / f"{k}.onnx", Path(folder) / f"{k}.npy") for k in range(len(CASES))]
        for (op, inputs, _), (net, batch) in zip(CASES, pairs):
            onnx.save(model_of(op, inputs), net)
            np.save(batch, X)
        for (op, inputs, taken), (net, _), answer in zip(CASES, pairs, programs.read(pairs)):
            name = f"{op} of {inputs}"
            for program, values in answer.items():
                if not taken or isinstance(values, str):
                    report.check(isinstance(values, str) and not taken, f"{name}: {program}", str(values)[:200])
                else:
                    why = unlike(values["z"], [ReferenceEvaluator(str(net)).run(None, {"x": X})[0]])
                    report.check(not why, f"{name}: {program}", why or "")
    return report.close()


if __name__ == "__main__":
    raise SystemExit(main())
