"""Crops to an end of an axis, and grids far outside: where both programs read them they take ONNX Runtime's numbers, else both refuse.

Usage: python tests/interop/places.py --build build [--number 600] [--seed 2]

A crop of 18 entries from 1/5 to 1, in 7 places, has its last at 17, the axis's end. ONNX Runtime's float is a little more, and the extrapolated value
is there. A grid's number of 10^9 is mirrored into an image of 5 rows, and the float of its place is some other row's.
"""

import argparse
import random
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from drawing import session_of
from readings import Programs, unlike
from report import Report


def model_of(node, shape, opset, **constants):
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(a, name) for name, a in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    return model, (np.arange(np.prod(shape), dtype=np.float32) ** 1.5 + 1).reshape(shape)


def crop(rng):
    n, out, mode = rng.randint(1, 40), rng.randint(1, 40), rng.choice(["linear", "nearest", "cubic"])
    begin, end = rng.choice([0, 0, 0.1, 0.2, 0.25, 0.7, -0.1]), rng.choice([1, 1, 1, 0.8, 2 / 3, 0.5, 1.1, rng.random()])
    if rng.random() < 0.2:
        begin, end = end, begin
    shape = [2, 1, n] if mode != "cubic" else [2, 1, 1, n]
    rest = len(shape) - 1
    node = helper.make_node("Resize", ["x", "roi", "", "by"], ["y"], mode=mode, coordinate_transformation_mode="tf_crop_and_resize",
                            extrapolation_value=77.0)
    return model_of(node, shape, rng.choice([13, 18, 19]), by=np.array([*shape[:-1], out], np.int64),
                    roi=np.array([0] * rest + [begin] + [1] * rest + [end], np.float32))


def number(rng, n, corners):
    """Of a grid: places in the middle of entries and on them, ends, places far outside, and any."""
    kind = rng.random()
    if kind < 0.35:
        at = rng.randint(-8 * n, 8 * n) / 4
        return (2 * at + 1) / n - 1 if not corners else 2 * at / (n - 1) - 1 if n > 1 else at
    if kind < 0.5:
        return rng.choice([-1, 1, 0, -2, 2, 3, 0.5])
    if kind < 0.55:
        return rng.choice([1e3, 2**20 + 0.5, 2**23 + 0.5, -2**23 - 0.5, 1e7, 1e9, 1e5 + 0.3])
    return rng.uniform(-3, 3)


def grid(rng):
    rows, columns, opset, corners = rng.randint(1, 6), rng.randint(1, 6), rng.choice([16, 20]), rng.choice([0, 1])
    mode = rng.choice([("nearest", "nearest"), ("bilinear", "linear"), ("bicubic", "cubic")])[opset == 20]
    places = np.array([[[[number(rng, columns, corners), number(rng, rows, corners)] for _ in range(2)] for _ in range(2)]], np.float32)
    node = helper.make_node("GridSample", ["x", "grid"], ["y"], mode=mode, padding_mode=rng.choice(["zeros", "border", "reflection"]),
                            align_corners=corners)
    return model_of(node, [1, 1, rows, columns], opset, grid=places)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--number", type=int, default=600)
    parser.add_argument("--seed", type=int, default=2)
    asked = parser.parse_args()
    programs, report, rng = Programs(asked.build), Report(), random.Random(asked.seed)
    drawn = [rng.choice([crop, grid]) for _ in range(asked.number)]
    cases = [make(rng) for make in drawn]
    read, refused = {crop: 0, grid: 0}, {crop: 0, grid: 0}
    with tempfile.TemporaryDirectory() as folder:
        pairs = [(Path(folder) / f"{k}.onnx", Path(folder) / f"{k}.npy") for k in range(len(cases))]
        for (model, x), (net, batch) in zip(cases, pairs):
            onnx.save(model, net)
            np.save(batch, x)
        for make, (model, x), answer in zip(drawn, cases, programs.read(pairs)):
            told = [isinstance(values, str) for values in answer.values()]
            refused[make] += all(told)
            read[make] += not any(told)
            wrong = ["one alone refuses"] if any(told) and not all(told) else []
            if not any(told):
                theirs = session_of(model).run(None, {"x": x})
                wrong += [why for values in answer.values() if (why := unlike(values["y"], theirs))]
            if wrong:
                report.check(False, f"{make.__name__}: {helper.printable_graph(model.graph)}", wrong[0])
    for make in (crop, grid):
        report.check(read[make] > asked.number // 10, f"a {make.__name__} is read", str(read[make]))
        report.check(refused[make] > 10, f"a {make.__name__} is refused", str(refused[make]))
    print(f"{len(cases)} asked, {sum(read.values())} read, {sum(refused.values())} refused by both")
    return report.close()


if __name__ == "__main__":
    raise SystemExit(main())
