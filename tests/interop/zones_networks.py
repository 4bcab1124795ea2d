#!/usr/bin/env python3
"""Zones of drawn ONNX networks, beside values of ONNX's reference evaluator nearby.

    zones_networks.py --build build [--number 150] [--seed 1]

Some three samples, parameters of -1, 0 and 1, operators of many kinds. In the regular and in the compensation zone the loss has one
generalized gradient: from the parameters on its one-sided derivatives, from values in doubles, are linear in the direction. They are asked
along drawn directions, their opposites and their sums. `clarke-check` verifies each zone, and each verdict beside it.
"""
import argparse
import collections
import json
import os
import random
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

C, STEP = 4, 1e-6
PROFILE = "like pytorch-2.13\ntie Maximum first\ntie Minimum first\ntie ReduceMax first\ntie ReduceMin first\ntie TopK first\n"


class Network:
    def __init__(self, r, samples):
        self.r, self.samples, self.nodes, self.constants, self.parameters, self.count = r, samples, [], {}, [], 0

    def constant(self, value, kind=np.float32):
        self.count += 1
        self.constants[f"c{self.count}"] = np.array(value, kind)
        return f"c{self.count}"

    def parameter(self, *shape, of=(0, 0, 0, 1, -1)):
        name = self.constant([self.r.choice(of) for _ in range(int(np.prod(shape)))])
        self.constants[name] = self.constants[name].reshape(shape)
        self.parameters.append(name)
        return name

    def node(self, op, *inputs, outputs=1, **attributes):
        self.count += 1
        out = [f"t{self.count}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, out, **attributes))
        return out[0]

    def shaped(self, x, *dims):
        return self.node("Reshape", x, self.constant(dims, np.int64))

    def model(self, kind):
        of = TensorProto.DOUBLE if kind == np.float64 else TensorProto.FLOAT
        held = [numpy_helper.from_array(v.astype(kind) if v.dtype == np.float32 else v, n) for n, v in self.constants.items()]
        sides = ([helper.make_tensor_value_info(name, of, ["n", C])] for name in ("x", "out"))
        return helper.make_model(helper.make_graph(self.nodes, "drawn", *sides, held), opset_imports=[helper.make_opsetid("", 23)], ir_version=11)


def gemm(n, x):
    return n.node("Gemm", x, n.parameter(C, C), n.parameter(C))


def recurrent(op, gates):
    def of(n, x, y):
        line = n.shaped(n.node("Transpose", x, perm=[1, 0]), C, n.samples, 1)
        out = n.node(op, line, n.parameter(1, gates, 1), n.parameter(1, gates, 1), n.parameter(1, 2 * gates), hidden_size=1)
        return n.node("Transpose", n.shaped(out, C, n.samples), perm=[1, 0])
    return of


def one(op, **attributes):
    return lambda n, x, y: n.node(op, x, **attributes)


def two(op):
    return lambda n, x, y: n.node(op, x, y)


def reduced(op):
    return lambda n, x, y: n.node(n.r.choice(["Sub", "Add"]), x, n.node(op, x, n.constant([1], np.int64), keepdims=1))


def scattered(how):
    return lambda n, x, y: n.node("ScatterElements", x, n.constant([[n.r.randrange(C) for _ in range(C)]] * n.samples, np.int64), y, axis=1, reduction=how)


def leap(op):
    return lambda n, x, y: n.node("Mul", n.node(op, n.node("Add", x, n.constant(0.25))), y)


def normalized(training):
    return lambda n, x, y: n.node("BatchNormalization", x, n.parameter(C), n.parameter(C), n.constant([0] * C), n.constant([1] * C), outputs=3 if training else 1,
                                  epsilon=n.r.choice([1.0, 2.0]), training_mode=training)


def pooled(op):
    """Windows of two, one further on each, and an entry of y to make up the number."""
    def of(n, x, y):
        first = n.node("Slice", y, *(n.constant([k], np.int64) for k in (0, 1, 1)))
        return n.node("Concat", n.shaped(n.node(op, n.shaped(x, 0, 1, C), kernel_shape=[2]), 0, C - 1), first, axis=1)
    return of


OPERATORS = {
    **{op: one(op) for op in ("Relu", "Abs", "Neg", "HardSigmoid", "HardSwish", "Tanh", "Sigmoid", "Elu", "Selu", "Celu", "Softplus", "Mish", "Exp")},
    **{op: two(op) for op in ("Max", "Min", "Add", "Sub", "Mul")}, **{op: reduced(op) for op in ("ReduceMax", "ReduceMin", "ReduceL1", "ReduceLogSumExp")},
    **{op: leap(op) for op in ("Floor", "Round", "Sign")}, **{f"Scatter-{how}": scattered(how) for how in ("max", "min", "add", "mul")},
    "LeakyRelu": one("LeakyRelu", alpha=0.5), "Softmax": one("Softmax", axis=1), "LogSoftmax": one("LogSoftmax", axis=1), "Shrink": one("Shrink", lambd=1.0, bias=1.0),
    "ThresholdedRelu": one("ThresholdedRelu", alpha=0.0), "Square": lambda n, x, y: n.node("Mul", x, x), "Gemm": lambda n, x, y: gemm(n, x),
    "MatMul": lambda n, x, y: n.node("MatMul", x, n.parameter(C, C)), "Scale": lambda n, x, y: n.node("Mul", x, n.parameter(C)),
    "PRelu": lambda n, x, y: n.node("PRelu", x, n.parameter(C, of=(0, 0.5, 1, 0.25))), "Clip": lambda n, x, y: n.node("Clip", x, n.constant(n.r.choice([-1, 0])), n.constant(1)),
    "MaxPool": pooled("MaxPool"), "AveragePool": pooled("AveragePool"),
    "GlobalMaxPool": lambda n, x, y: n.node("Add", n.shaped(n.node("GlobalMaxPool", n.shaped(x, 0, 1, C)), 0, 1), y),
    "Conv": lambda n, x, y: n.shaped(n.node("Conv", n.shaped(x, 0, 1, C), n.parameter(1, 1, 3), n.parameter(1), pads=[1, 1]), 0, C),
    "TopK": lambda n, x, y: n.node("TopK", x, n.constant([C], np.int64), outputs=2, axis=1, largest=n.r.randrange(2), sorted=1),
    "Gather": lambda n, x, y: n.node("Gather", x, n.constant([n.r.randrange(C) for _ in range(C)], np.int64), axis=1),
    "CumSum": lambda n, x, y: n.node("CumSum", x, n.constant(1, np.int64)), "Where": lambda n, x, y: n.node("Where", n.constant([n.r.random() < .5 for _ in range(C)], np.bool_), x, y),
    "BatchNormalization": normalized(0), "BatchNormalization-training": normalized(1), "LayerNormalization": lambda n, x, y: n.node("LayerNormalization", x, n.parameter(C), epsilon=n.r.choice([1.0, 2.0])),
    "LSTM": recurrent("LSTM", 4), "GRU": recurrent("GRU", 3), "RNN": recurrent("RNN", 1),
    "Attention": lambda n, x, y: n.shaped(n.node("Attention", *(n.shaped(t, 0, 1, C, 1) for t in (x, y, x))), 0, C),
    "Product": lambda n, x, y: n.shaped(n.node("MatMul", n.shaped(x, 0, 2, 2), n.shaped(y, 0, 2, 2)), 0, C),
}
OFTEN = ["Relu", "Max", "Min", "Abs", "Sub", "Mul", "Scale", "Gemm", "MatMul", "Neg", "MaxPool"]


def drawn(r):
    n = Network(r, r.choice([1, 2, 3]))
    of, names = [gemm(n, "x"), gemm(n, "x")], []
    for _ in range(r.randrange(1, 6)):
        names.append(r.choice(list(OPERATORS)) if r.random() < .55 else r.choice(OFTEN))
        of.append(OPERATORS[names[-1]](n, of[r.randrange(len(of) - 2, len(of))], r.choice(of)))
    out = of[-1] if r.random() < .5 else n.node(r.choice(["Add", "Sub", "Mul"]), of[-1], r.choice(of))
    n.nodes.append(helper.make_node("Identity", [out], ["out"]))
    return n, names


def cancelling(op, behind):
    """|h| less itself, as it stands or through an operator that is |h| there: AD's derivative is 0 whatever it takes at h = 0."""
    n = Network(random.Random(3), 3)
    h = n.node("Abs", n.node("Abs", gemm(n, "x")))
    difference = n.node("Sub", h if behind else n.node(op, h), h)
    n.nodes.append(helper.make_node(op if behind else "Identity", [difference], ["out"]))
    return n, [op]


def scattered_beside():
    """The smaller of h and of h to whose first entry others are added: the second and the fourth are one function, and tied."""
    n = Network(random.Random(5), 1)
    h = gemm(n, "x")
    other = n.node("ScatterElements", h, n.constant([[0, 0, 2, 0]], np.int64), h, axis=1, reduction="add")
    n.nodes.append(helper.make_node("Min", [other, h], ["out"]))
    return n, ["Scatter-add", "Min"]


def loss_of(out, y, kind):
    if kind == "sum":
        return out.sum()
    if kind == "mse":
        return ((out - y) ** 2).mean()
    z = out - out.max(1, keepdims=True)
    return (np.log(np.exp(z).sum(1)) - z[np.arange(len(y)), y]).mean()


def bent(n, x, y, kind, rng):
    """How far from linear the one-sided derivatives are along drawn directions, beside their size."""
    at = {name: n.constants[name].astype(np.float64) for name in n.parameters}
    model = n.model(np.float64)

    def value(direction):
        for held in model.graph.initializer:
            if held.name in at:
                held.CopyFrom(numpy_helper.from_array(at[held.name] + STEP * direction[held.name] if direction else at[held.name], held.name))
        return loss_of(ReferenceEvaluator(model).run(["out"], {"x": x.astype(np.float64)})[0], y, kind)

    here, worst, size = value(None), 0.0, 1.0
    for _ in range(3):
        a, b = ({name: rng.normal(size=v.shape) for name, v in at.items()} for _ in range(2))
        by = [(value(d) - here) / STEP for d in (a, b, {k: -a[k] for k in a}, {k: a[k] + b[k] for k in a})]
        worst, size = max(worst, abs(by[0] + by[2]), abs(by[0] + by[1] - by[3])), max(size, abs(here), *map(abs, by))
    return float(worst / size)


def answer(build, folder, n, x, y, kind):
    """What `clarke audit` says, None of what it refuses; and what `clarke-check` has against its proofs."""
    onnx.save(n.model(np.float32), folder / "m.onnx")
    np.savez(folder / "b.npz", x=x, **({} if kind == "sum" else {"y": y}))
    (folder / "all.profile").write_text(PROFILE)
    asked = [build / "tools/clarke", "audit", "m.onnx", "--batch", "b.npz", "--loss", kind, "--profile", "./all.profile", "--wrt", ",".join(n.parameters), "--json"]

    def run(*more):
        said = subprocess.run([*asked, *more], cwd=folder, capture_output=True, text=True).stdout
        return json.loads(said) if said.startswith("{") else {}
    found = run()
    if "zone" not in found:
        return None, None
    for option, claimed in (("--proof", found["verdict"] != "undecided"), ("--zone-proof", found["zone"] in ("compensation", "bifurcation"))):
        if claimed:
            run(option, "proof")
            said = subprocess.run([build / "tools/clarke-check", "proof", "--data", "."], cwd=folder, capture_output=True, text=True)
            if not said.stdout.startswith("VERIFIED"):
                return found, f"{option}: {said.stdout.strip()}{said.stderr}"
    return found, None


def judge(found, wrong, far):
    if wrong or found["zone"] not in ("regular", "compensation"):
        return wrong
    if found["verdict"] != "in-bouligand":
        return f"{found['zone']}, and {found['verdict']}"
    return f"{found['zone']}, and derivatives are not linear: {far:.3g}" if far > 1e-3 else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build", type=Path)
    parser.add_argument("--number", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    o = parser.parse_args()
    build, zones, failed, seen = o.build.resolve(), collections.Counter(), 0, 0
    os.environ["CLARKE_PROGRESS"] = "off"
    warnings.simplefilter("ignore")
    fixed = [cancelling("Elu", False), cancelling("Exp", True), scattered_beside()]
    for seed in range(o.seed - len(fixed), o.seed + o.number):
        r, rng = random.Random(seed), np.random.default_rng(abs(seed))
        n, names = fixed.pop() if fixed else drawn(r)
        x, kind = np.array([[r.choice([0, 1, -1, 2]) for _ in range(C)] for _ in range(n.samples)], np.float32), r.choice(["sum", "mse", "ce"])
        y = np.array([r.randrange(C) for _ in range(n.samples)]) if kind == "ce" else np.array([[r.randrange(2) for _ in range(C)] for _ in range(n.samples)], np.float32)
        with tempfile.TemporaryDirectory() as folder:
            found, wrong = answer(build, Path(folder), n, x, y, kind)
        zones[found["zone"] or "not known" if found else "refused"] += 1
        far = bent(n, x, y, kind, rng) if found and found["zone"] else 0
        wrong = judge(found, wrong, far) if found else None
        seen += bool(found) and found["zone"] == "bifurcation" and far > 1e-3
        if wrong:
            failed += 1
            print(f"FAILED: seed {seed}: {wrong}: {names}, loss {kind}", flush=True)
    print(f"{dict(zones)}; nearby {seen} bifurcations are bent; {failed} failed")
    little = min(zones["compensation"], zones["bifurcation"]) * 20 < o.number or seen * 10 < 7 * zones["bifurcation"]
    if little:
        print("too little is asked of such draws")
    return failed > 0 or little


if __name__ == "__main__":
    sys.exit(main())
