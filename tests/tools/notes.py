#!/usr/bin/env python3
"""What clarke audit notes of plain ONNX files, and what it says of checkpoints that do not fit.

    notes.py CLARKE CASES DATA
"""
import json
import os
import struct
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "cost")]
from expect import expect, finish, said  # noqa: E402
from models import BODY, VARINT, Network, field, text  # noqa: E402

CLARKE, CASES, DATA = sys.argv[1:4]


def audit(*arguments):
    return said(CLARKE, "audit", *arguments)


def noted(says, model, batch, *options):
    """The report ends with such a note, JSON has it too; says None: nothing is noted."""
    _, text, error = audit(model, "--batch", batch, *options)
    notes = [line[6:] for line in text.split("\n") if line.startswith("Note: ")]
    report = json.loads(audit(model, "--batch", batch, "--json", *options)[1] or "{}")
    expect([n + "." for n in report.get("notes", [])] == notes, f"{model}: JSON has other notes")
    expect(not notes if says is None else any(says in n for n in notes), f"{model}: {says}: {notes}{error}")


def case(name):
    return os.path.join(CASES, name)


def safetensors(path, tensors):
    """Of zeros."""
    header, size = {}, 0
    for name, shape in sorted(tensors.items()):
        count = 4
        for n in shape:
            count *= n
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [size, size + count]}
        size += count
    text = json.dumps(header, separators=(",", ":")).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + bytes(size))


def checkpoints(folder):
    shapes = {"0.weight": [32, 64], "0.bias": [32], "2.weight": [16, 32], "2.bias": [16], "4.weight": [10, 16], "4.bias": [10]}
    path = os.path.join(folder, "later.safetensors")
    for says, tensors in [
            (None, shapes),
            ("no parameters of it: 'wrapper.0.bias'", {"wrapper." + n: s for n, s in shapes.items()}),
            ("no parameters of it: 'more'", {**shapes, "more": [1]}),
            ("'2.weight' (32 x 16, not 16 x 32: an exporter turned it)", {**shapes, "2.weight": [32, 16]}),
            ("'2.bias' (17, not 16)", {**shapes, "2.bias": [17]}),
            ("missing: '4.bias'", {n: s for n, s in shapes.items() if n != "4.bias"})]:
        safetensors(path, tensors)
        status, _, error = audit(case("digits-relu.onnx"), "--batch", case("digits.npz"), "--params", path)
        expect(status == 2 and says in error if says else status != 2, f"{says}: {status} {error}")


def constant(n, *dims):
    """A Constant node of the network: a weight that is no initializer."""
    name = n.weight(*dims)
    value = text(1, "value") + field(5, BODY, n.tensors.pop()) + field(20, VARINT, 4)
    n.nodes.append(text(2, name) + text(4, "Constant") + field(5, BODY, value))
    return name


def constants(folder):
    """A matrix, then five that are Constant nodes, and a vector that is added: some are named, the others counted."""
    n = Network((1, 1))
    x = n.node("MatMul", "x", n.weight(1, 2))
    matrices = [constant(n, 2, 2) for _ in range(5)]
    for matrix in matrices:
        x = n.node("MatMul", x, matrix)
    path = os.path.join(folder, "constants.onnx")
    with open(path, "wb") as f:
        f.write(n.bytes(n.node("Add", n.node("Relu", x), constant(n, 2))))
    noted(f"read as weights: {', '.join(matrices[:3])} and 2 more. They", path, case("lemma2.npz"), "--loss", "sum")


noted("Constant nodes are read as weights: split, difference. They", case("lemma2.onnx"), case("lemma2.npz"), "--loss", "sum")
noted(None, case("lemma2.onnx"), case("lemma2.npz"), "--loss", "sum", "--wrt", "w")
noted(None, case("digits-relu6.onnx"), case("digits.npz"))  # no Clip is touched
noted("node '/1/Clip' is a Clip touched at a bound", case("digits-hardtanh-q.onnx"), case("digits.npz"))
noted("parameter 'onnx::MatMul_12' has a name that an exporter gave", case("digits-relu-nobias.onnx"), case("digits-blank.npz"))
noted("no loss was given, and y holds floats, so it is mse", case("digits-prelu-q.onnx"), case("digits-mse.npz"))
noted(None, case("digits-prelu-q.onnx"), case("digits-mse.npz"), "--loss", "mse")
noted("read 2 times: tied weights", os.path.join(DATA, "negated-mul.onnx"), os.path.join(DATA, "step.npz"))
noted("the network ends in a Softmax", os.path.join(DATA, "softmax-last.onnx"), os.path.join(DATA, "step-labels.npz"), "--loss", "ce")
with tempfile.TemporaryDirectory() as scratch:
    checkpoints(scratch)
    constants(scratch)
finish()
