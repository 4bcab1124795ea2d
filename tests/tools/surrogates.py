#!/usr/bin/env python3
"""Surrogates of a profile: whatever an audit writes says that it is about the network with these, and proofs are verified.

    surrogates.py CLARKE CLARKE_CHECK
"""
import io
import json
import os
import sys
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "cost")]
from expect import expect, finish, said  # noqa: E402
from models import text  # noqa: E402
from onnx_bytes import Floats, npy, sealed, write  # noqa: E402

CLARKE, CHECK = sys.argv[1:3]


def read(path):
    with open(path) as f:
        return f.read()


def unnamed(network, op, output, *inputs):
    network.nodes.append(b"".join(text(1, i) for i in inputs) + text(2, output) + text(4, op))


def model():
    """x times Round(w)."""
    n = Floats(("n", 3), opset=21)
    n.floats("w", (3,), [0.25, 1.25, 2.25])
    unnamed(n, "Round", "q", "w")
    unnamed(n, "Mul", "y", "x", "q")
    return n.bytes("y")


def npz(array):
    """An archive that is not compressed, of the array w."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("w.npy", array)
    return out.getvalue()


def told(folder, profile):
    """Of one set of weights, and of two."""
    question = ["audit", write(folder, "m.onnx", model()), "--batch", write(folder, "x.npy", npy((2, 3), [1, 2, 3, 4, 5, 6])), "--loss", "sum", "--profile", profile]
    sarif, junit, page, proof = (os.path.join(folder, name) for name in ("o.sarif", "o.xml", "o.html", "o.proof"))
    several = ["--params", *(write(folder, name, npz(npy((3,), [0.25, 1.25, 2.25]))) for name in ("1.npz", "2.npz"))]
    for weights in ([], several):
        status, out, err = said(CLARKE, *question, *weights, "--sarif", sarif, "--junit", junit, "--html", page)
        expect(status == 0 and "replaced by design (surrogates)" in out.split("\n")[1], f"{weights}: {status} {out} {err}")
        for file in (junit, page):
            expect("surrogates" in read(file), f"{file} says nothing of surrogates, {weights}")
        expect('"results": []' in read(sarif), f"{weights}: findings where there are none")
    status, out, err = said(CLARKE, *question, "--json", "--proof", proof)
    expect(status == 0 and json.loads(out)["surrogates"] == ["Round_0 (Round): its derivative is its argument's"], f"{status} {out} {err}")
    checked = said(CHECK, proof)
    expect(checked[0] == 0 and "Surrogate: Round" in checked[1] and "of what it computes without them nothing is said" in checked[1], checked)
    for change in (("surrogate Round all\n", ""), ("Round all", "Ceil all"), ("Round all", "Round none"), ("Round all", "Round all\nsurrogate Ceil all")):
        status, out, err = said(CHECK, write(folder, "f.proof", sealed(proof, change)))
        expect(status == 1, f"{change}: {status} {out} {err}")


def mixed(folder):
    """A quantizer without a name at both ends of its range, where the profile takes 1/2: a mix of its two kinds of kinks."""
    n = Floats(("n", 3), opset=21)
    n.floats("w", (3,), [0.25, 127, -128])
    for name in ("s", "b", "z"):
        n.floats(name, (), [{"s": 1, "b": 8, "z": 0}[name]])
    n.nodes.append(b"".join(text(1, i) for i in ("w", "s", "z", "b")) + text(2, "q") + text(4, "Quant") + text(7, "qonnx.custom_op.general"))
    unnamed(n, "Mul", "y", "x", "q")
    question = ["audit", write(folder, "q.onnx", n.bytes("y")), "--batch", write(folder, "x.npy", npy((2, 3), [1, 2, 3, 4, 5, 6])), "--loss", "sum",
                "--profile", write(folder, "q.profile", b"surrogate Quant range\nSurrogate 0 1/2\n")]
    status, out, err = said(CLARKE, *question, "--proof", os.path.join(folder, "q.proof"), "--sarif", os.path.join(folder, "q.sarif"))
    expect(status == 0 and "(in-clarke)" in out, f"{status} {out} {err}")
    expect("said of the network with surrogates" in read(os.path.join(folder, "q.sarif")), "SARIF says nothing of surrogates")
    checked = said(CHECK, os.path.join(folder, "q.proof"))
    expect(checked[0] == 0 and "in-clarke" in checked[1], checked)


def differ(profile):
    """Rows of profiles with and without surrogates are compared by what they are about."""
    for one, two, rows in ((profile, "pytorch-2.13", ("all", "none")), ("pytorch-2.13", profile, ("none", "all"))):
        status, out, err = said(CLARKE, "diff", one, two, "--json")
        expect(status == 1 and json.loads(out)["differing"] == [{"at": "surrogate Round", "first": rows[0], "second": rows[1]}], f"{status} {out} {err}")
        status, out, err = said(CLARKE, "profile", "diff", one, two)
        expect(status == 1 and "1 of 40 rows: surrogate Round." in out, f"{status} {out} {err}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        profile = write(folder, "r.profile", b"like pytorch-2.13\nsurrogate Round all\n")
        told(folder, profile)
        mixed(folder)
        differ(profile)
    finish()


main()
