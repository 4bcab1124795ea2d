#!/usr/bin/env python3
"""A network of several outputs, one of which is chosen: the answers are those of the network that has this one alone.

    outputs.py CLARKE CLARKE_CHECK CASES
"""
import json
import os
import struct
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "cost")]
from expect import expect, finish, said  # noqa: E402
from onnx_bytes import Floats, npy, sealed, without_fingerprints, write  # noqa: E402

CLARKE, CHECK, CASES = sys.argv[1:4]
HEADS = ("boxes", "scores")


class Detector(Floats):
    """x W, a Relu, and two heads; a node that is not supported stands first. heads: those that there are."""

    def __init__(self, *heads):
        super().__init__((1, 3))
        if len(heads) > 1:
            self.call("NonZero", "dead", "x")
        self.floats("W", (3, 2), [1, -1, 1, 2, -3, 0])
        self.call("MatMul", "a", "x", "W")
        self.call("Relu", "r", "a")
        for head, entries in zip(HEADS, ([1, 2, -1, 4], [3, 1, 2, 1, 0, 1])):
            if head in heads:
                self.floats("of_" + head, (2, len(entries) // 2), entries)
                self.call("MatMul", head, "r", "of_" + head)


def safetensors(tensors):
    header, data = {}, b""
    for name, (shape, entries) in sorted(tensors.items()):
        one = struct.pack(f"<{len(entries)}f", *entries)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(one)]}
        data += one
    head = json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(head)) + head + data


WEIGHTS = {"W": ((3, 2), [2, -1, 1, 2, -3, 0]), "of_boxes": ((2, 2), [1, 0, 0, 1]), "of_scores": ((2, 3), [1, 0, 2, 0, 1, 2])}


def without_model(report):
    report = dict(report)
    for key in ("model", "output", "file"):
        report.pop(key, None)
    return report


def one_way(folder, ask, of, head, *options):
    """What the command says of the whole network's output is what it says of the network that has no other; proofs too."""
    proof, alone_proof = (os.path.join(folder, n + ".proof") for n in ("whole", "alone"))
    proofs = [] if ask == "cost" else ["--proof"]
    status, report, error = said(CLARKE, ask, of["whole"], *options, "--output", head, "--json", *proofs, *([proof] if proofs else []))
    other, alone, wrong = said(CLARKE, ask, of[head], *options, "--json", *proofs, *([alone_proof] if proofs else []))
    what = f"{ask} {head} {options}"
    expect(status == other and status in (0, 1), f"{what}: {status} {error}, {other} {wrong}")
    expect(json.loads(alone or "[]") != [] and without_model(json.loads(report or "{}")) == without_model(json.loads(alone or "{}")),
           f"{what}: {report} {alone}")
    if not proofs:
        return None
    status, account, error = said(CHECK, proof)
    expect(status == 0 and f"Output: {head}, of each sample" in account and "; chosen of the model's 2" in account,
           f"{what}: {status} {account} {error}")
    expect("chosen" not in said(CHECK, alone_proof)[1], f"{what}: nothing was chosen")
    return proof


def questions(folder, of, batch, box):
    for head in HEADS:
        for options in (("audit", "--batch", batch), ("derive", "--at", "1,2,1"), ("derive", "--at", "1,2,1", "--wrt", "params"),
                        ("patterns", "--at", "0,0,0"), ("patterns", "--at", "1,2,1", "--wrt", "W"), ("patterns", "--box", box),
                        ("patterns", "--line", "-1,-1,-1", "1,1,2"), ("cost",)):
            one_way(folder, options[0], of, head, *options[1:])


def refusals(folder, of, batch):
    names = "2 outputs: 'boxes', 'scores'; one is asked about: name it by --output NAME"
    for ask, says in ((("audit", of["whole"], "--batch", batch), names), (("derive", of["whole"], "--at", "1,2,1"), names),
                      (("patterns", of["whole"], "--at", "1,2,1"), names), (("cost", of["whole"]), names),
                      (("audit", of["whole"], "--batch", batch, "--output", "r"), "no output 'r'. whole.onnx: " + names),
                      (("audit", of["boxes"], "--batch", batch, "--output", "r"), "no output 'r'; its output is 'boxes'"),
                      (("audit", of["whole"], "--batch", batch, "--output", "boxes", "--wrt", "of_scores"), "of_scores"),
                      (("audit", os.path.join(CASES, "runs", "small"), "--output", "y"), "is a run folder"),
                      (("cost", os.path.join(CASES, "runs", "small"), "--output", "y"), "is no ONNX file"),
                      (("derive", os.path.join(CASES, "papers", "bolte-relu2.prog"), "--at", "t=0", "--output", "y"), "is a program"),
                      (("patterns", os.path.join(CASES, "regions", "bump.prog"), "--at", "0,0", "--output", "y"), "is a program")):
        status, _, error = said(CLARKE, *ask)
        expect(status == 2 and says in error, f"{ask}: {status} {error}")


def places(folder):
    """Nodes have the numbers that they have in the file."""
    n = Detector(*HEADS)
    n.call("NonZero", "more", "r")
    n.call("Relu", "last", "more")
    path = write(folder, "places.onnx", n.bytes("boxes", "last"))
    status, _, error = said(CLARKE, "cost", path, "--output", "last")
    expect(status == 2 and "node 5 'node_more': operator NonZero" in error, f"places: {status} {error}")


def claims(folder, of, batch):
    """A proof about one output says nothing of another, nor of a model that has but one. Where the evidence holds of both, what is
    verified is said of the one that is named."""
    made = one_way(folder, "audit", of, "boxes", "--batch", batch)
    status, out, error = said(CHECK, write(folder, "edited.proof", sealed(made, ("output boxes", "output scores"))))
    expect(status == 1 and "there is no activation 'boxes'" in out + error, f"a fingerprint of what is not asked about: {status} {out} {error}")
    proof = write(folder, "plain.proof", without_fingerprints(made))
    for wants, says, *changes in ((0, "Output: scores, of each sample (3)", ("output boxes", "output scores")),
                                  (1, "the model has no parameter 'of_boxes'", ("output boxes", "output scores"), ("wrt *", "wrt W of_boxes")),
                                  (1, "the model has no output 'r'", ("output boxes", "output r")),
                                  (2, "the model has 2 outputs", ("output boxes\n", "")),
                                  (1, "", ("output boxes\n", "output boxes\noutput scores\n")),
                                  (1, "the model has no parameter 'of_scores'", ("wrt *", "wrt W of_scores"))):
        path = write(folder, "edited.proof", sealed(proof, *changes))
        status, out, error = said(CHECK, path)
        expect(status == wants and says in out + error, f"{changes}: {status} {out} {error}")
    alone = os.path.join(folder, "alone.proof")
    status, out, error = said(CHECK, write(folder, "edited.proof", sealed(alone, ("\nbatch", "\noutput boxes\nbatch"))))
    expect(status == 0 and "chosen of the model's 1" in out, f"the only output: {status} {out} {error}")


def checkpoints(folder, of, batch):
    """One of the whole network fits, and one of what the output needs."""
    few = {n: WEIGHTS[n] for n in ("W", "of_boxes")}
    for says, tensors in ((None, WEIGHTS), (None, few), ("missing: 'W'", {n: WEIGHTS[n] for n in ("of_boxes", "of_scores")}),
                          ("no parameters of it: 'more'", {**WEIGHTS, "more": ((1,), [1])})):
        path = write(folder, "later.safetensors", safetensors(tensors))
        proof = os.path.join(folder, "later.proof")
        status, _, error = said(CLARKE, "audit", of["whole"], "--batch", batch, "--params", path, "--output", "boxes", "--proof", proof)
        expect(status == 2 and says in error if says else status == 0, f"{says}: {status} {error}")
        if says is None:
            expect(said(CHECK, proof)[0] == 0, f"a proof of {sorted(tensors)}")
            plain = write(folder, "plain.proof", without_fingerprints(proof))
            status, out, _ = said(CHECK, write(folder, "edited.proof", sealed(plain, ("output boxes", "output scores"))))
            expect((status == 0) == (len(tensors) == 3), f"the other output, whose parameters are there or not: {out}")


with tempfile.TemporaryDirectory() as scratch:
    models = {"whole": write(scratch, "whole.onnx", Detector(*HEADS).bytes(*HEADS))}
    for one in HEADS:
        models[one] = write(scratch, one + ".onnx", Detector(one).bytes(one))
    the_batch = write(scratch, "x.npy", npy((3, 3), [1, 2, 1, 0, 0, 0, 1, 0, 0]))
    questions(scratch, models, the_batch, write(scratch, "box.txt", b"-1 1\n-1 1\n-1 2\n"))
    refusals(scratch, models, the_batch)
    places(scratch)
    claims(scratch, models, the_batch)
    checkpoints(scratch, models, the_batch)
finish()
