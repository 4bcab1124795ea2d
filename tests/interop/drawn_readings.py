"""Models whose batch axis is moved, merged or split before an operator: both programs read them as others compute them.

Usage: python tests/interop/drawn_readings.py --build build [--number 300] [--seed 1] [--keep DIR]

Each model draws an operator set, a batch, some nodes that move entries, an operator with its attributes, and nodes that bring the
batch back to the front. `onnx.reference` computes it node by node, ONNX Runtime as a whole. For each model

* what a program reads has their shapes and values, at every node;
* where these two differ the model is refused, or the difference stands in ELSEWHERE (drawing.py);
* a program that refuses says why, and each operator has been read some time.
"""

import argparse
import random
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

from drawing import Drawing, F, Undrawn, Wrong, session_of
from drawn_nodes import MOVES, OPERATORS
from readings import Programs, unlike, unlike_prints


def bring_back(d):
    """The batch to the first axis, where it can be told: the entries that the second batch changes must be one row's."""
    shape, rows = d.shape(), 1 if d.kind != "whole" else d.rows
    ways = []
    for a, n in enumerate(shape):
        if n % rows:
            continue
        for inner in [k for k in range(1, n // rows + 1) if (n // rows) % k == 0]:
            split = [*shape[:a], n // rows // inner, rows, inner, *shape[a + 1:]]
            front = [a + 1, *[k for k in range(len(split)) if k != a + 1]]
            moved = [np.transpose(changed.reshape(split), front) for changed in d.depends(d.now)]
            if d.kind == "single" or rows == 1 or all(not m[1:].any() for m in moved):
                ways.append((a, n, split, front))
    if not ways:
        return
    a, n, split, front = d.rng.choice(ways)
    if a == 0 and n == rows:
        return
    if n > rows:
        d.now = d.node("Reshape", [d.now, d.constant(np.array(split, np.int64))])
    else:
        front = [a, *[k for k in range(len(shape)) if k != a]]
    d.now = d.node("Transpose", [d.now], perm=front)


def draw(seed):
    d = Drawing(random.Random(seed))
    plan = [d.rng.choice(MOVES) for _ in range(d.rng.choice([1, 2, 2, 3, 4]))]
    plan += [d.rng.choice(OPERATORS) for _ in range(d.rng.choice([1, 1, 2]))]
    if d.rng.random() < 0.3:
        d.rng.shuffle(plan)
    for make in plan:
        before = len(d.nodes), len(d.initializers), dict(d.value)
        try:
            name = make(d)
        except (Undrawn, Wrong):
            del d.nodes[before[0]:], d.initializers[before[1]:]
            d.value = before[2]
            continue
        if d.value[name][0][0].dtype == np.float32:
            d.now = name
            d.drawn.append(make.__name__)
    try:
        bring_back(d)
    except (Undrawn, Wrong):
        pass
    return d


def model_of(d, outputs):
    dims = [*d.x.shape]
    if d.kind == "whole":
        dims[0] = d.rng.choice([None, d.rows]) if d.rows > 1 else None
    if d.kind == "runs":
        dims[0] = 1
    types = [helper.np_dtype_to_tensor_dtype(np.asarray(d.value[o][0][0]).dtype) for o in outputs]
    graph = helper.make_graph(d.nodes, "g", [helper.make_tensor_value_info("x", F, dims)],
                              [helper.make_tensor_value_info(o, t, None) for o, t in zip(outputs, types)], d.initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", d.opset)], ir_version=8)


def batch_of(d):
    return d.x[None] if d.kind == "single" else d.x


def by_runtime(d, names):
    """The values of the names, by ONNX Runtime: a list of runs of each; or why there are none."""
    try:
        session = session_of(model_of(d, names))
        runs = [session.run(names, {"x": r}) for r in d.value["x"][0]]
    except Exception as e:  # whatever it does not take
        return str(e).splitlines()[0][:200]
    return {n: [r[i] for r in runs] for i, n in enumerate(names)}


def judge(d, answer, said):
    """What is wrong with what the programs read of a drawn model: lines."""
    names = [o for n in d.nodes for o in n.output if n.op_type != "Constant"]
    runtime = by_runtime(d, names)
    said["runtime does not run it"] += isinstance(runtime, str)
    op_of = {o: n.op_type for n in d.nodes for o in n.output}
    for program, values in answer.items():
        if isinstance(values, str):
            continue
        for name in names:
            if name not in values:
                if d.value[name][0][0].dtype == np.float32 and not name.startswith("v") :
                    yield f"{program}: {op_of[name]}: '{name}' is not among the values"
                continue
            why = unlike(values[name], d.value[name][0])
            if why:
                yield f"{program}: {op_of[name]} '{name}': {why} by the reference"
            elif isinstance(runtime, dict) and (why := unlike(values[name], runtime[name])):
                yield f"{program}: {op_of[name]} '{name}': {why} by ONNX Runtime"
    yield from unlike_prints(answer)
    kinds = [isinstance(v, str) for v in answer.values()]
    said["read by both"] += not any(kinds)
    said["read by one alone"] += any(kinds) and not all(kinds)
    if any(kinds) and not all(kinds):
        said[next(f"{p} alone refuses: " + v.split("(")[-1] for p, v in answer.items() if isinstance(v, str))] += 1


def kept():
    """(what, model, batch): read falsely once, and refused since. The first row of two samples' tokens, in each form of Slice."""
    lists = {"starts": [0], "ends": [1], "axes": [0], "steps": [1]}
    for what, opset, names, axis in [("axes and steps", 15, ["starts", "ends", "axes", "steps"], 0), ("a negative axis", 15, [
            "starts", "ends", "axes"], -2), ("no axes", 15, ["starts", "ends"], 0), ("attributes", 9, [], 0)]:
        for rows in [1, 2]:
            numbers = {**lists, "axes": [axis], "s": [-1, 2], "back": [rows, -1]}
            attributes = {} if names else {k: lists[k] for k in ["starts", "ends", "axes"]}
            cut = helper.make_node("Slice", ["t", *names], ["u"], **attributes)
            nodes = [helper.make_node("Reshape", ["x", "s"], ["t"]), cut, helper.make_node("MatMul", ["u", "w"], ["z"]),
                     helper.make_node("Relu", ["z"], ["r"]), helper.make_node("Reshape", ["r", "back"], ["y"])]
            given = [numpy_helper.from_array(np.array(v, np.int64), k) for k, v in numbers.items()]
            weight = numpy_helper.from_array(np.ones((2, 1), np.float32), "w")
            graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", F, [rows, 2, 2])],
                                      [helper.make_tensor_value_info("y", F, None)], [*given, weight])
            model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
            yield f"{what}, {rows} samples", model, np.array([[[1, 1], [1, -1]]] * rows, np.float32)


def judge_kept(programs, folder):
    """Lines of what is not refused."""
    pair = Path(folder) / "kept.onnx", Path(folder) / "kept.npy"
    for what, model, x in kept():
        onnx.save(model, pair[0])
        np.save(pair[1], x)
        for program, answer in programs.read([pair])[0].items():
            if not isinstance(answer, str):
                yield f"{program}: a Slice of the samples' merged axis, {what}: read as {answer.get('u')}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--number", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", help="a folder for models that are read otherwise")
    parser.add_argument("--refusals", action="store_true", help="print why models are refused")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    programs, wrong = Programs(options.build), 0
    said, read, refused = Counter(), Counter(), Counter()
    with tempfile.TemporaryDirectory() as folder:
        for fault in judge_kept(programs, folder):
            wrong += 1
            print(f"failed: {fault}")
        for first in range(0, options.number, 50):
            drawn = [draw(options.seed * 10**9 + i) for i in range(first, min(first + 50, options.number))]
            pairs = []
            for i, d in enumerate(drawn):
                pairs.append((Path(folder) / f"{i}.onnx", Path(folder) / f"{i}.npy"))
                onnx.save(model_of(d, [d.now]), pairs[-1][0])
                np.save(pairs[-1][1], batch_of(d))
            for i, (d, answer) in enumerate(zip(drawn, programs.read(pairs))):
                faults = list(judge(d, answer, said))
                for values in answer.values():
                    if isinstance(values, str):
                        refused[values.split(": ", 2)[-1][:160]] += 1
                if not any(isinstance(v, str) for v in answer.values()):
                    read.update({n.op_type for n in d.nodes})
                if faults:
                    wrong += 1
                    print(f"failed: model {options.seed}/{first + i}, operator set {d.opset}, {d.kind}: {faults[0]}", flush=True)
                    if options.keep:
                        for path in pairs[i]:
                            kept = Path(options.keep) / f"{options.seed}-{first + i}{path.suffix}"
                            kept.parent.mkdir(parents=True, exist_ok=True)
                            kept.write_bytes(path.read_bytes())
    for count in (refused if options.refusals else Counter()).most_common(60):
        print(f"  {count[1]:6} {count[0]}")
    print(f"{options.number} models drawn, " + ", ".join(f"{n} {what}" for what, n in sorted(said.items())))
    print("read by both: " + ", ".join(f"{op} {n}" for op, n in sorted(read.items())))
    print(f"{wrong} read otherwise")
    return wrong > 0


if __name__ == "__main__":
    raise SystemExit(main())
