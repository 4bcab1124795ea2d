"""Resize to the nearest entries: where both programs read it they take ONNX Runtime's, and where floats decide both refuse.

Usage: python tests/interop/nearest.py --build build

An axis of 3 becomes one of 1. Its place is (0 + 1/2) / (1/3) - 1/2 = 1, between entries 0 and 1 for mode floor. 1/3 is no float, and the runtime
takes entry 0, ONNX's reference entry 1. Asked are all lengths up to 9, and a few longer ones, by sizes and by scales.
"""

import argparse
import itertools
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from drawing import session_of
from readings import Programs, unlike
from report import Report

PLACES = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric"]
ROUNDINGS = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]
LENGTHS = [*itertools.product(range(1, 10), repeat=2), (14, 20), (20, 14), (7, 28), (28, 7), (30, 90), (100, 70), (12, 18)]


def model_of(n, out, scaled, how, rounding):
    inputs = ["x", "", "by"] if scaled else ["x", "", "", "by"]
    by = np.array([1, out / n], np.float32) if scaled else np.array([2, out])
    node = helper.make_node("Resize", inputs, ["y"], mode="nearest", coordinate_transformation_mode=how, nearest_mode=rounding)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, n])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], [numpy_helper.from_array(by, "by")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build")
    programs, report = Programs(parser.parse_args().build), Report()
    cases = [(n, out, scaled, how, rounding) for (n, out), scaled, how, rounding in itertools.product(LENGTHS, (False, True), PLACES, ROUNDINGS)]
    read, refused = {(how, scaled): 0 for how in PLACES for scaled in (False, True)}, 0
    with tempfile.TemporaryDirectory() as folder:
        pairs = [(Path(folder) / f"{k}.onnx", Path(folder) / f"{k}.npy") for k in range(len(cases))]
        models = [model_of(*case) for case in cases]
        for model, case, (net, batch) in zip(models, cases, pairs):
            onnx.save(model, net)
            np.save(batch, np.arange(2 * case[0], dtype=np.float32).reshape(2, -1))
        for case, model, (_, batch), answer in zip(cases, models, pairs, programs.read(pairs)):
            theirs = session_of(model).run(None, {"x": np.load(batch)})
            told = [isinstance(values, str) for values in answer.values()]
            refused += all(told)
            read[case[3], case[2]] += not any(told)
            wrong = ["one alone refuses"] if any(told) and not all(told) else []
            wrong += [why for values in answer.values() if not isinstance(values, str) and (why := unlike(values["y"], theirs))]
            if wrong:
                report.check(False, f"Resize of {case}", wrong[0])
    report.check(all(n > len(LENGTHS) for n in read.values()), "each kind of places is read", str(read))
    report.check(refused > 100, "some are refused", str(refused))
    print(f"{len(cases)} asked, {sum(read.values())} read, {refused} refused by both")
    return report.close()


if __name__ == "__main__":
    raise SystemExit(main())
