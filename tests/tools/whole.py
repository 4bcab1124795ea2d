#!/usr/bin/env python3
"""A model that was exported with a batch of one and takes its first axis away: refused with the batch there, answered and proved with
--batch-axis none, as when the array itself has one axis more. And a model of any number of samples that mixes them: with the option all of x
is one input.

    whole.py CLARKE CLARKE_CHECK
"""
import json
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "cost")]
from expect import expect, finish, said  # noqa: E402
from onnx_bytes import Floats, npy, sealed, write  # noqa: E402

CLARKE, CHECK = sys.argv[1:3]


def vector():
    """x of shape (1, 3) becomes a vector, which a matrix multiplies."""
    n = Floats((1, 3))
    n.integers("nought", 0)
    n.floats("W", (3, 2), [1, -1, 1, 2, -3, 0])
    n.call("Squeeze", "v", "x", "nought")
    n.call("MatMul", "a", "v", "W")
    n.call("Relu", "r", "a")
    return n


def gathered():
    """Its first axis is summed over."""
    n = vector()
    n.call("Unsqueeze", "u", "r", "nought")
    n.call("ReduceMean", "m", "u", "nought")
    return n


def mixed():
    """Of any number of samples: what they have above their mean."""
    n = Floats(("n", 3))
    n.integers("nought", 0)
    n.floats("W", (3, 2), [1, -1, 1, 2, -3, 0])
    n.call("MatMul", "a", "x", "W")
    n.call("ReduceMean", "mean", "a", "nought")
    n.call("Sub", "d", "a", "mean")
    n.call("Relu", "r", "d")
    return n


def audit(*arguments):
    return said(CLARKE, "audit", *arguments)


def answered(folder, model, batch, parted, *options, wants=0):
    """The option's answer is that for the array with one axis more, and its proof says how it is read."""
    proof = os.path.join(folder, "p.proof")
    status, report, error = audit(model, "--batch", batch, "--batch-axis", "none", "--json", "--proof", proof, *options)
    other, alone, _ = audit(model, "--batch", parted, "--json", *options)
    expect(status == other == wants and json.loads(report or "{}") == json.loads(alone or "[]"), f"{model}: {status} {error} {report} {alone}")
    status, account, error = said(CHECK, proof)
    expect(f"{'1 sample of (3, 3)' if model.endswith('mixed.onnx') else '3 samples of (1, 3)'}" in account, f"{model}: {account} {error}")
    expect(status == 0 and "no batch axis: each sample is a run of the model of its own" in account, f"{model}: {account} {error}")
    return proof


with tempfile.TemporaryDirectory() as scratch:
    x = [1, 2, 1, 0, 0, 0, 1, 0, 0]
    three, apart = write(scratch, "x.npy", npy((3, 3), x)), write(scratch, "apart.npy", npy((3, 1, 3), x))
    one, two = write(scratch, "one.onnx", vector().bytes("r")), write(scratch, "two.onnx", gathered().bytes("m"))
    for path in (one, two):
        made = answered(scratch, path, three, apart)
        status, _, said_so = audit(path, "--batch", three)
        expect(status == 2 and "--batch-axis none reads it as a whole input" in said_so, f"the way out: {status} {said_so}")
        for wants, says, *changes in ((2, "", ("samples whole\n", "")), (1, "'samples whole' or 'samples together' is expected", ("samples whole", "samples apart")),
                                      (1, "", ("samples whole\n", "samples whole\nsamples whole\n"))):
            status, out, error = said(CHECK, write(scratch, "edited.proof", sealed(made, *changes)))
            expect(status == wants and says in out + error, f"{changes}: {status} {out} {error}")
    x = [1, 2, 1, 0, 0, 0, -1, -2, -1]
    three, together = write(scratch, "x.npy", npy((3, 3), x)), write(scratch, "together.npy", npy((1, 3, 3), x))
    both = write(scratch, "mixed.onnx", mixed().bytes("r"))
    made = answered(scratch, both, three, together)
    status, _, said_so = audit(both, "--batch", three)
    offered = said_so.strip().rpartition(": ")[2].split()
    expect(status == 2 and offered == "clarke audit mixed.onnx --batch x.npy --batch-axis none".split(), f"mixed: {status} {said_so}")
    for changes in (("samples together\n", ""), ("samples together", "samples whole")):
        status, out, error = said(CHECK, write(scratch, "edited.proof", sealed(made, changes)))
        expect(status in (1, 2) and "VERIFIED" not in out, f"{changes}: {status} {out} {error}")
    status, _, said_so = audit(two, "--batch", three, "--batch-axis", "1")
    expect(status == 2 and "expected none" in said_so, f"another axis: {status} {said_so}")
    status, _, said_so = audit(two, "--batch", apart, "--batch-axis", "none")
    expect(status == 2 and "do not fit" in said_so, f"an axis more twice: {status} {said_so}")
finish()
