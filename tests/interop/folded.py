"""Constants that both programs compute when they build a network: where both read a model they have ONNX Runtime's numbers, else both refuse.

Usage: python tests/interop/folded.py --build build [--number 400] [--seed 1]

Drawn are a Range of floats, a Pow of constants, what ConstantOfShape fills, infinity and NaN among it, and an output that is declared in another
shape. So are a Scaler, words that name rows of stored integers, and a MaxPool whose indices would count columns first. A Range from 0.1 on is
refused: runtimes add 0.1 up. Its numbers, and squares, are ONNX Runtime's to the last bit.
"""

import argparse
import random
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from drawing import session_of
from readings import Programs, number, unlike
from report import Report


def model_of(nodes, shape, kind=np.float32, initializers=(), declared=None):
    types = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", types, shape)],
                              [helper.make_tensor_value_info("y", types, declared)], list(initializers))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)], ir_version=8)


def constant(name, array):
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.asarray(array), name))


def ranged(rng):
    """x + Range(...); its ends are Constant nodes or initializers, whole numbers mostly, near the last that the type has sometimes."""
    kind = rng.choice([np.float32, np.float64])
    far = 2**24 if rng.random() < 0.3 else 0
    start, by = far + rng.randint(-20, 8), rng.choice([1, 2, 3, -1, -2, 5, 1, 0.5, 0.1]) * rng.choice([1, 1, 1, 1, -1])
    limit = start + by * rng.randint(1, 9) + rng.choice([0, 0, 1, -1, 0.25])
    if rng.random() < 0.1:
        start += 0.1
    ends = [np.array(v, kind) for v in (start, limit, by)]
    count = max(int(np.ceil((float(ends[1]) - float(ends[0])) / float(ends[2]))), 1)
    nodes, initializers = [], []
    for name, a in zip("abc", ends):
        if rng.random() < 0.5:
            nodes.append(constant(name, a))
        else:
            initializers.append(numpy_helper.from_array(a, name))
    nodes += [helper.make_node("Range", list("abc"), ["r"]), helper.make_node("Add", ["x", "r"], ["y"])]
    return model_of(nodes, [2, count], kind, initializers), np.arange(2 * count).reshape(2, count).astype(kind) / 4, "r"


def power(rng):
    """x + c^e, e one number or several."""
    n, e = rng.randint(1, 6), rng.choice([2, 2, 1, 3, 0.5, -0.5, 2.5, -1, [2, 0.5], [2, 1, 3]])
    base = np.array([rng.uniform(0.1, 3) for _ in range(n)], np.float32)
    if not isinstance(e, list) and float(e).is_integer() and e > 0 and rng.random() < 0.5:
        base = -base
    if isinstance(e, list):
        base = base[:1]
    e = np.array(e if isinstance(e, list) or rng.random() < 0.6 else [e], np.float32)
    width = max(n if e.size == 1 else 1, e.size)
    nodes = [constant("c", base), constant("e", e), helper.make_node("Pow", ["c", "e"], ["p"]), helper.make_node("Add", ["x", "p"], ["y"])]
    return model_of(nodes, [2, width]), np.arange(2 * width, dtype=np.float32).reshape(2, width), "p" if e.size == 1 and e.flat[0] in (1, 2) else None


def filled(rng):
    """Where(m, x, a number everywhere), or Softmax(x + minus infinity in some places)."""
    n, value = rng.randint(1, 5), rng.choice([np.nan, np.nan, -np.inf, np.inf, 7.0])
    mask = np.array([[rng.random() < 0.85 for _ in range(n)] for _ in range(2)])
    shape = helper.make_node("ConstantOfShape", ["s"], ["f"], value=numpy_helper.from_array(np.array([value], np.float32)))
    nodes = [constant("s", np.array([2, n])), constant("m", mask), shape, helper.make_node("Where", ["m", "x", "f"], ["w"])]
    soft = value == -np.inf and mask.any(axis=1).all()
    nodes.append(helper.make_node("Softmax" if soft else "Identity", ["w"], ["y"]))
    return model_of(nodes, [2, n]), np.arange(2 * n, dtype=np.float32).reshape(2, n) / 8, None


def declared(rng):
    """An output that is declared otherwise than it is; a runtime computes it and warns."""
    dims = rng.choice([[1, None], [2], [2, 3, 1], [3, 2], [1, 4], [None], [2, 4]])
    nodes = [helper.make_node("Reshape", ["x", "s"], ["z"]), helper.make_node("Relu", ["z"], ["y"])]
    s = numpy_helper.from_array(np.array(rng.choice([[2, 3, 2], [2, 1, 6], [2, 6]])), "s")
    return model_of(nodes, [2, 2, 3], initializers=[s], declared=dims), np.arange(12, dtype=np.float32).reshape(2, 2, 3) - 5, None


def scaled(rng):
    """Scaler, by feature or by one number."""
    n, one = rng.randint(1, 4), rng.random() < 0.3
    sizes = [1 if one else n, (1 if one else n) + (rng.random() < 0.1)]
    offset, scale = ([float(np.float32(rng.uniform(-2, 2))) for _ in range(k)] for k in sizes)
    nodes = [helper.make_node("Scaler", ["x"], ["s"], domain="ai.onnx.ml", offset=offset, scale=scale), helper.make_node("Relu", ["s"], ["y"])]
    shape = rng.choice([[3, n], [3, n], [n], [1, 2, n]])
    return model_of(nodes, shape), np.arange(np.prod(shape), dtype=np.float32).reshape(shape) / 2, None


def words(rng):
    """Rows of a table of stored integers, moved, with a scale, times a weight."""
    rows, width, kind = rng.randint(2, 6), rng.randint(1, 3), rng.choice([np.uint8, np.int8])
    table = np.array([[rng.randint(0, 100) for _ in range(width)] for _ in range(rows)], kind)
    given = [numpy_helper.from_array(a, name) for name, a in [("q", table), ("s", np.float32(rng.choice([0.5, 0.1]))), ("z", kind(rng.randint(0, 9))),
                                                             ("w", np.arange(1, width + 1, dtype=np.float32))]]
    nodes = [helper.make_node("Identity", ["x"], ["i"]), helper.make_node("Gather", ["q", rng.choice(["x", "i"])], ["g"]),
             helper.make_node("Transpose", ["g"], ["t"], perm=[1, 0, 2]), helper.make_node("DequantizeLinear", ["t", "s", "z"], ["d"]),
             helper.make_node("Mul", ["d", "w"], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.INT64, [2, 3])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], given)
    places = [[rng.randint(-rows, rows - 1 + (rng.random() < 0.02)) for _ in range(3)] for _ in range(2)]
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), np.array(places), None


def pooled(rng):
    """The largest of windows; storage_order is of the indices."""
    node = helper.make_node("MaxPool", ["x"], rng.choice([["y"], ["y", "i"]]), kernel_shape=[2, 2], storage_order=1, strides=[1, 2])
    return model_of([node], [1, 2, 3, 4]), np.array([rng.randint(-9, 9) for _ in range(24)], np.float32).reshape(1, 2, 3, 4), None


def mistyped(programs, folder, report):
    """A Scaler makes float32 of every type: a double beside it, or declared of it, no program takes."""
    for kind in np.float32, np.float64, np.int64:
        x = np.arange(6).reshape(2, 3).astype(kind)
        scaler = helper.make_node("Scaler", ["x"], ["s"], domain="ai.onnx.ml", offset=[1.0], scale=[2.0])
        sums = [scaler, constant("c", np.float64(2)), helper.make_node("Add", ["s", "c"], ["y"])]
        for what, nodes in ("beside a double", sums), ("declared as a double", [scaler, helper.make_node("Relu", ["s"], ["y"])]):
            model = model_of(nodes, [2, 3], kind)
            model.graph.output[0].type.tensor_type.elem_type = TensorProto.DOUBLE
            pair = Path(folder) / "mistyped.onnx", Path(folder) / "mistyped.npy"
            onnx.save(model, pair[0])
            np.save(pair[1], x[None])
            try:
                theirs(model, None, x)
                report.check(False, f"mistyped: {what}: ONNX Runtime reads it")
            except Exception:
                pass
            for program, answer in programs.read([pair])[0].items():
                report.check(isinstance(answer, str) and ("double" in answer.lower() or "float64" in answer), f"mistyped: {program} on {kind.__name__} {what}: {answer}")


def bits(value, array):
    """Not the same numbers, one by one."""
    own = [float(number(w)) for w in value[1]]
    want = [float(v) for v in np.asarray(array).reshape(-1)]
    return None if own == want else f"{own[:6]}, expected {want[:6]} to the last bit"


def theirs(model, name, x):
    """ONNX Runtime's numbers of an inner value and of y."""
    m = onnx.ModelProto.FromString(model.SerializeToString())
    if name is not None:
        m.graph.output.append(helper.make_tensor_value_info(name, m.graph.input[0].type.tensor_type.elem_type, None))
    got = session_of(m).run(None, {"x": x})
    return dict(zip([o.name for o in m.graph.output], got))


def faults(model, x, exact, answer):
    told = [isinstance(v, str) for v in answer.values()]
    if any(told):
        return [] if all(told) else [f"one alone refuses: {[v for v in answer.values() if isinstance(v, str)]}"]
    try:
        want = theirs(model, exact, x)
    except Exception as e:
        return [f"both read it, and ONNX Runtime does not: {e}"]
    wrong = [why for values in answer.values() if (why := unlike(values["y"], [want["y"]]))]
    if exact is not None:
        wrong += [why for values in answer.values() if exact in values and (why := bits(values[exact], want[exact]))]
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--number", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    programs, report, rng = Programs(asked.build), Report(), random.Random(asked.seed)
    kinds = [ranged, power, filled, declared, scaled, words, pooled]
    drawn = [rng.choice(kinds) for _ in range(asked.number)]
    cases = [make(rng) for make in drawn]
    read = dict.fromkeys(kinds, 0)
    with tempfile.TemporaryDirectory() as folder:
        pairs = [(Path(folder) / f"{k}.onnx", Path(folder) / f"{k}.npy") for k in range(len(cases))]
        for (model, x, _), (net, batch) in zip(cases, pairs):
            onnx.save(model, net)
            np.save(batch, x[None])
        for make, (model, x, exact), answer in zip(drawn, cases, programs.read(pairs)):
            read[make] += all(isinstance(v, dict) for v in answer.values())
            wrong = faults(model, x, exact, answer)
            if wrong:
                report.check(False, f"{make.__name__}: {helper.printable_graph(model.graph)}", wrong[0])
        mistyped(programs, folder, report)
    for make, n in read.items():
        report.check(n > 0.3 * drawn.count(make), f"{make.__name__}: {n} of {drawn.count(make)} are read")
        print(f"{make.__name__}: {n} of {drawn.count(make)} are read")
    return report.close()


if __name__ == "__main__":
    raise SystemExit(main())
