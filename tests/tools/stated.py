#!/usr/bin/env python3
"""Operators that ONNX states by others: each is audited, its gradient compared with differences, and its proof verified.

    stated.py CLARKE CLARKE_CHECK
"""
import json
import math
import os
import struct
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "cost")]
from expect import expect, finish, said  # noqa: E402
from models import BODY, FLOAT, VARINT, field, text  # noqa: E402
from onnx_bytes import Floats, npy, write  # noqa: E402

CLARKE, CHECK = sys.argv[1:3]
X = [[0.5, -1.25, 2], [0.25, 0.75, -0.75]]
W = [0.5, 1.5, -1]  # x times W by entries is what the operator takes


def softsign(v):
    return v / (1 + abs(v))


def threshold(v):
    return v if v > 1 else 0.


def shrink(v):
    return v if abs(v) > 0.5 else 0.


def responses(row):
    """Each divided by (1 + alpha / 2 (its square, and the next one's))^3/4."""
    nexts = [*row[1:], 0]
    return sum(v / (1 + 0.25 * (v * v + n * n)) ** 0.75 for v, n in zip(row, nexts))


def each(f):
    return lambda row: sum(f(v) for v in row)


FUNCTIONS = {"Sinh": each(math.sinh), "Cosh": each(math.cosh), "Asinh": each(math.asinh), "Softsign": each(softsign),
             "Tan": each(math.tan), "Asin": each(lambda v: math.asin(math.tanh(v))), "Acos": each(lambda v: math.acos(math.tanh(v))), "LRN": responses,
             "ThresholdedRelu": each(threshold), "Shrink": each(shrink), "LpNormalization": lambda row: sum(row) / math.hypot(*row),
             "ReduceL1": lambda row: sum(abs(v) for v in row), "SwiGLU": lambda row: sum(v * v / (1 + math.exp(-v)) for v in row)}


def model(op):
    n = Floats(("n", 3), opset=28)
    n.floats("W", (3,), W)
    n.call("Mul", "h", "x", "W")
    inputs = ["h", "h"] if op == "SwiGLU" else ["h"]
    if op in ("Asin", "Acos"):  # of what is within -1 and 1
        n.call("Tanh", "bounded", "h")
        inputs = ["bounded"]
    if op == "ReduceL1":
        n.integers("axis", 1)
        inputs.append("axis")
    n.call(op, "y", *inputs)
    if op == "LRN":
        n.nodes[-1] += whole("size", 2) + field(5, BODY, text(1, "alpha") + field(2, 5, struct.pack("<f", 0.5)) + field(20, VARINT, 1))
    return n.bytes("y")


def slope(f, i):
    """The sum's derivative in entry i of W, by a difference."""
    def loss(w):
        return sum(f([a * b for a, b in zip(row, w)]) for row in X)

    step = 2.0 ** -20
    ends = [loss([b + s * step * (k == i) for k, b in enumerate(W)]) for s in (1, -1)]
    return (ends[0] - ends[1]) / (2 * step)


def gradient(path):
    with open(path, "rb") as f:
        data = f.read()
    size = int.from_bytes(data[:8], "little")
    begin, end = json.loads(data[8:8 + size])["W"]["data_offsets"]
    return struct.unpack(f"<{(end - begin) // 8}d", data[8 + size + begin:8 + size + end])


def hidden_infinity():
    """Infinity is added where minus infinity was: NaN, and no mask."""
    n = Floats(("n", 3), opset=21)
    n.floats("W", (3,), [1, 1, 1])
    n.constant("hides", (3,), [0, -math.inf, 0])
    n.constant("infinite", (3,), [0, math.inf, 0])
    n.call("Mul", "h", "x", "W")
    n.call("Add", "seen", "h", "hides")
    n.call("Add", "lost", "seen", "infinite")
    n.call("Softmax", "y", "lost")
    return n.bytes("y")


def chosen_below(opset):
    """A place below 0, which before operator set 11 is none."""
    n = Floats((1, 3), opset=opset)
    n.floats("W", (3,), [1, 1, 1])
    n.integers("nought", 0)
    n.integers("two", 2)
    n.integers("places", -1, 1)
    n.integers("depth", 3)
    n.integers("values", 1, 2)
    n.call("Mul", "h", "x", "W")
    n.call("Gather", "g", "h", "values")
    n.nodes[-1] += whole("axis", 1)
    n.call("Reshape", "v", "g", "two")
    n.call("OneHot", "y", "places", "depth", "v")
    return n.bytes("y")


def half(number):
    """A constant of float64 becomes bfloat16: 1 + 2^-8 is a tie in the middle of two, and what is little more is one in float32."""
    n = Floats(("n", 3), opset=21)
    n.floats("W", (3,), [1, 1, 1])
    held = field(1, VARINT, 1) + field(2, VARINT, 11) + field(9, BODY, struct.pack("<d", number))
    n.nodes.append(text(2, "exact") + text(3, "node_exact") + text(4, "Constant")
                   + field(5, BODY, text(1, "value") + field(5, BODY, held) + field(20, VARINT, 4)))
    for name, of, to in (("short", "exact", 16), ("again", "short", FLOAT)):
        n.call("Cast", name, of)
        n.nodes[-1] += whole("to", to)
    n.call("Mul", "h", "x", "W")
    n.call("Mul", "y", "h", "again")
    return n.bytes("y")


def beside(size):
    """LRN of so many channels."""
    n = Floats(("n", 3))
    n.floats("W", (3,), W)
    n.call("Mul", "h", "x", "W")
    n.call("LRN", "y", "h")
    n.nodes[-1] += whole("size", size)
    return n.bytes("y")


def angle(op):
    """Of numbers that are not within -1 and 1."""
    n = Floats(("n", 3))
    n.floats("W", (3,), [1, 1, 1])
    n.call("Mul", "h", "x", "W")
    n.call(op, "y", "h")
    return n.bytes("y")


def whole(name, number):
    return field(5, BODY, text(1, name) + field(3, VARINT, number) + field(20, VARINT, 2))


def refused(scratch, name, data, says, checks, *options):
    """Neither program reads it."""
    path, batch = write(scratch, f"{name}.onnx", data), write(scratch, "x.npy", npy((1, 3), [1, 2, 3]))
    status, _, error = said(CLARKE, "audit", path, "--batch", batch, *options)
    expect(status == 2 and says in error, f"{name}: {status} {error}")
    batch = write(scratch, "x.npy", npy((1, 1, 3), [1, 2, 3])) if options else batch
    status, out, error = said(CHECK, "--values", path, batch)
    expect(status == 2 and checks in error, f"{name}: {status} {out} {error}")


with tempfile.TemporaryDirectory() as scratch:
    batch = write(scratch, "x.npy", npy((2, 3), [v for row in X for v in row]))
    for name, function in FUNCTIONS.items():
        path = write(scratch, f"{name}.onnx", model(name))
        proof, made = os.path.join(scratch, "p.proof"), os.path.join(scratch, "g.safetensors")
        status, report, error = said(CLARKE, "audit", path, "--batch", batch, "--json", "--proof", proof, "--gradient", made)
        expect(status == 0 and json.loads(report)["verdict"] == "in-bouligand", f"{name}: {status} {report} {error}")
        expect(all(abs(g - slope(function, i)) < 1e-5 for i, g in enumerate(gradient(made))), f"{name}: {gradient(made)}")
        status, out, error = said(CHECK, proof)
        expect(status == 0 and "VERIFIED" in out, f"{name}: {status} {out} {error}")
    # the largest of what a mask of minus infinity leaves, also where an entry that it hides is as large
    n = Floats(("n", 3), opset=21)
    n.floats("W", (3,), [1, 1, 1])
    n.integers("axis", 1)
    n.constant("hides", (3,), [0, 0, -math.inf])
    n.call("Mul", "h", "x", "W")
    n.call("Add", "seen", "h", "hides")
    n.call("ReduceMax", "y", "seen", "axis")
    path, proof = write(scratch, "masked.onnx", n.bytes("y")), os.path.join(scratch, "p.proof")
    batch = write(scratch, "x.npy", npy((2, 3), [1, 2, 2, 3, 1, 3]))
    profile = write(scratch, "shared.profile", b"tie ReduceMax mean\n")
    status, report, error = said(CLARKE, "audit", path, "--batch", batch, "--profile", profile, "--json", "--proof", proof)
    layers = json.loads(report or "{}").get("layers", [])
    expect(status == 0 and [layer["touched"] for layer in layers] == [0], f"masked: {status} {layers} {error}")
    status, out, error = said(CHECK, proof)
    expect(status == 0, f"masked: {status} {out} {error}")
    refused(scratch, "lost", hidden_infinity(), "entry 1 is infinity", "a mask holds infinity or NaN")
    refused(scratch, "below", chosen_below(9), "place 0 is below 0", "a place below 0", "--batch-axis", "none")
    path, batch = write(scratch, "below.onnx", chosen_below(11)), write(scratch, "x.npy", npy((1, 3), [1, 2, 3]))
    status, _, error = said(CLARKE, "audit", path, "--batch", batch, "--batch-axis", "none")
    expect(status == 0, f"below: {status} {error}")
    refused(scratch, "twice", half(1 + 2.0 ** -8 + 2.0 ** -40), "by way of float32", "by way of float32")
    path = write(scratch, "once.onnx", half(1 + 2.0 ** -8))
    status, _, error = said(CLARKE, "audit", path, "--batch", batch)
    expect(status == 0, f"once: {status} {error}")
    # as many channels as a sum has terms; angles at the ends of their domain, where slopes are infinite
    path = write(scratch, "beside.onnx", beside(126))
    status, _, error = said(CLARKE, "audit", path, "--batch", batch, "--proof", proof)
    expect(status == 0, f"beside: {status} {error}")
    status, out, error = said(CHECK, proof)
    expect(status == 0 and "VERIFIED" in out, f"beside: {status} {out} {error}")
    refused(scratch, "wide", beside(127), "size is 127; expected 1 to 126 channels", "its size is not 1 to 126 channels")
    for op in ("Asin", "Acos"):
        refused(scratch, op, angle(op), "entry 0 of the argument of a root is 0", "an argument is 0, or below")
    # at a jump no generalized derivative is told of
    batch = write(scratch, "x.npy", npy((1, 3), [2, 1, 1]))
    status, _, error = said(CLARKE, "audit", os.path.join(scratch, "ThresholdedRelu.onnx"), "--batch", batch)
    expect(status == 2 and "The comparison jumps there" in error, f"at a jump: {status} {error}")
finish()
