#!/usr/bin/env python3
"""Makes the models, batches and hand-written proofs of tests/check/data.

Each proof that must fail is a right one with one thing wrong, its `end` line made anew. The reason
it must fail for is the word list `expected` in index.txt: FILE STATUS REASON. What is printed of those that hold is in said.txt, which
said.py writes. In the end, proofs that differ in little from one before them are kept as its edits (edits.py).
"""
import hashlib
import json
import math
import os
import shutil
import struct
import subprocess
from fractions import Fraction
from itertools import chain
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import edits
from transposed import ConvTranspose

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "data")
AUDIT = os.path.join(HERE, "..", "..", "cases", "audit")


def path(name):
    return os.path.join(DATA, name)


def sha(name):
    with open(path(name), "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def save(name, nodes, shape, out_shape, parameters, opset=17, integers=None, out_type=TensorProto.FLOAT):
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("out", out_type, out_shape)],
        [numpy_helper.from_array(np.asarray(v, np.float32), k) for k, v in parameters.items()]
        + [numpy_helper.from_array(np.asarray(v, getattr(v, "dtype", np.int64)), k) for k, v in (integers or {}).items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    model.ir_version = 8
    with open(path(name), "wb") as f:
        f.write(model.SerializeToString())


def batch(name, x, y=None):
    arrays = {"x": np.asarray(x, np.float32)}
    if y is not None:
        arrays["y"] = np.asarray(y)
    with open(path(name), "wb") as f:
        np.savez(f, **arrays)
    # numpy stamps no times into .npz members, so the file is the same each time.


def proof(name, verdict, model, data, touched, evidence, proxies, loss="sum", wrt="*", params=None,
          hashes=None, tie=None, constants=None):
    lines = ["clarke-proof 1", f"verdict {verdict}", "semantics real",
             f"model {model} {(hashes or {}).get(model) or sha(model)}"]
    if constants:
        lines.append(f"constants {constants}")
    if params:
        lines.append(f"params {params} {sha(params)}")
    lines += [f"batch {data} {sha(data)}", f"loss {loss}", f"wrt {wrt}", "profile pytorch-2.13"]
    lines += [f"proxy {p}" for p in proxies]
    lines += [tie if tie.startswith("tie ") else f"tie MaxPool {tie}"] if tie else []
    lines += [f"touched {touched}"] + evidence.strip().split("\n")
    body = "\n".join(line.strip() for line in lines) + "\n"
    body += "end " + hashlib.sha256(body.encode()).hexdigest() + "\n"
    with open(path(name), "w") as f:
        f.write(body)


INDEX = []


def case(name, status, reason, **rest):
    """Writes NAME.proof; it must give that exit status and a first line that holds reason."""
    proof(name + ".proof", **rest)
    INDEX.append(f"{name}.proof {status} {reason}")


def lemma2():
    base = dict(verdict="not-in-clarke", model="lemma2.onnx", data="lemma2.npz", touched=2,
                proxies=["Relu 0 0"])
    tree = """evidence separator
    v w 0 -1
    tree
    branch 0
    branch 1
    dead 2
    u 0 1
    u 1 1
    leaf
    branch 1
    leaf
    dead 2
    u 0 1
    u 1 1"""
    case("lemma2", 0, "VERIFIED", evidence=tree, **base)
    wrong = [
        ("side", "separated", tree.replace("v w 0 -1", "v w 0 1")),
        ("missing", "'leaf' is expected", tree[:tree.rindex("leaf")].rstrip()),
        ("early-leaf", "has not been branched on", tree.replace("branch 1\n    dead 2\n    u 0 1\n"
                                                                "    u 1 1\n    leaf", "leaf", 1)),
        ("gordan", "derivatives is not zero", tree.replace("u 1 1", "u 1 2", 1)),
        ("gordan-negative", "positive values", tree.replace("u 1 1", "u 1 -1", 1)),
        ("gordan-zero", "positive values", tree.replace("dead 2\n    u 0 1\n    u 1 1", "dead 1\n    u 0 0", 1)),
        ("after", "lines after the evidence", tree + "\nend " + "0" * 64 + "\nleaf"),
        ("gordan-none", "proves nothing", tree.replace("dead 2\n    u 0 1\n    u 1 1", "dead 0", 1)),
        ("twice", "after those above", tree.replace("branch 1", "branch 0", 1)),
        ("more", "'end' is expected", tree + "\nleaf"),
        ("verdict", "does not prove", "evidence ad\ncell ad\ndirections 0"),
    ]
    for name, reason, evidence in wrong:
        case("lemma2-" + name, 1, reason, evidence=evidence, **base)
    case("lemma2-hash", 1, "the hash of", evidence=tree, hashes={"lemma2.onnx": "0" * 64}, **base)
    case("lemma2-touched", 1, "number of touched kinks is 2", evidence=tree, **{**base, "touched": 1})
    case("lemma2-proxies", 1, "the proxy of kink 0 of Relu", evidence=tree,
         **{**base, "proxies": ["LeakyRelu 0 0"]})
    case("lemma2-proxy-half", 1, "separated", evidence=tree, **{**base, "proxies": ["Relu 0 1/2"]})
    # With the proxy 1/2 AD is right: both cells of the layer's sides are dead, but these are not.
    half = {**base, "proxies": ["Relu 0 1/2"], "verdict": "in-bouligand"}
    hull = """evidence hull 1
    cell 1 -+
    directions 1
    direction
    move w add -1"""
    case("lemma2-hull", 0, "VERIFIED", evidence=hull, **half)
    case("lemma2-hull-ad", 1, "gives it no side", evidence="evidence ad\ncell ad\ndirections 0", **half)
    case("lemma2-hull-side", 1, "moves to the wrong side", evidence=hull.replace("-+", "+-"), **half)
    case("lemma2-hull-dead", 1, "moves to the wrong side", evidence=hull.replace("-+", "--"), **half)


def products_of_parameters():
    """|z0| - 2 |z1|, z = w U at w = 0, both columns of U alike. Along w alone z0 and z1 have one sign, and the gradients are
    -1 and 1; but U moves the columns apart, and -3 and 3 are limits too. AD has -2."""
    save("product.onnx", [
        helper.make_node("MatMul", ["x", "w"], ["y"], "first"), helper.make_node("MatMul", ["y", "u"], ["z"], "second"),
        helper.make_node("Abs", ["z"], ["a"], "abs"), helper.make_node("MatMul", ["a", "c"], ["out"], "third")],
         ["N", 1], ["N", 1], dict(w=[[0, 0]], u=[[1, 1], [0, 0]], c=[[1], [-2]]))
    batch("product.npz", [[1]])
    base = dict(verdict="not-in-clarke", model="product.onnx", data="product.npz", touched=2, proxies=["Abs 0 2"])
    dead = "dead 2\nu 0 1\nu 1 1"
    tree = f"evidence separator\nv w 0 -1\ntree\nbranch 0\nbranch 1\nleaf\n{dead}\nbranch 1\n{dead}\nleaf"
    case("product", 0, "VERIFIED", evidence=tree, wrt="w", **base)
    case("product-all", 1, "its argument is not affine", evidence=tree, wrt="w u", **base)


def quotients_by_parameters():
    """|y| - 2 |z|, y = 1 / w - 1 + b and z = w - 1 - b at w = 1, b = 0. As if y were affine, y = -z, and the gradients were -1 and 1
    (times (1, -1)); but y + z > 0 off w = 1: where both are positive the gradient is -3. AD has -2."""
    save("quotient.onnx", [
        helper.make_node("Div", ["x", "w"], ["q"], "over"), helper.make_node("Sub", ["q", "one"], ["r"], "less"),
        helper.make_node("Add", ["r", "b"], ["y"], "plus"), helper.make_node("Abs", ["y"], ["s"], "abs"),
        helper.make_node("Mul", ["x", "w"], ["t"], "times"), helper.make_node("Sub", ["t", "one"], ["u"], "minus"),
        helper.make_node("Sub", ["u", "b"], ["z"], "without"), helper.make_node("Abs", ["z"], ["a"], "abs2"),
        helper.make_node("Mul", ["a", "two"], ["v"], "twice"), helper.make_node("Sub", ["s", "v"], ["out"], "rest")],
         ["N", 1], ["N", 1], dict(w=[1], b=[0], one=[1], two=[2]))
    batch("quotient.npz", [[1]])
    base = dict(verdict="not-in-clarke", model="quotient.onnx", data="quotient.npz", touched=2, proxies=["Abs 0 2/3"], wrt="w b")
    dead = "dead 2\nu 0 1\nu 1 1"
    tree = f"evidence separator\nv w 0 -1\ntree\nbranch 0\nbranch 1\n{dead}\nleaf\nbranch 1\nleaf\n{dead}"
    case("quotient", 1, "its argument is not affine", evidence=tree, **base)
    for wrt in ["b", "w"]:  # b alone is affine; by w alone the sides (+, +) are as impossible, but nothing here shows it
        case("quotient-" + wrt, 0 if wrt == "b" else 1, "VERIFIED" if wrt == "b" else "its argument is not affine",
             evidence=tree.replace("v w 0 -1", "v b 0 1" if wrt == "b" else "v w 0 -1"), **{**base, "wrt": wrt})


def slopes_of_quotients():
    """f = (relu(y) + 1) / (|y| + 3) - sqrt(4 + relu(y)) at y = x w = 0: slopes 1/9 on the left, 2/9 - 1/4 on the right, rational
    behind a quotient and a root. AD has 1/6 - 1/8 with proxies 1/2 and 0: the middle. With 5 for 4 the root's slope is not."""
    for name, under in [("rational-slopes", 4), ("irrational-slopes", 5)]:
        save(name + ".onnx", [
            helper.make_node("MatMul", ["x", "w"], ["y"], "times"), helper.make_node("Relu", ["y"], ["r"], "relu"),
            helper.make_node("Abs", ["y"], ["a"], "abs"), helper.make_node("Add", ["r", "one"], ["up"], "up"),
            helper.make_node("Add", ["a", "three"], ["low"], "low"), helper.make_node("Div", ["up", "low"], ["q"], "over"),
            helper.make_node("Add", ["r", "under"], ["s"], "under"), helper.make_node("Sqrt", ["s"], ["t"], "root"),
            helper.make_node("Sub", ["q", "t"], ["out"], "less")],
             ["N", 1], ["N", 1], dict(w=[[0]], one=[1], three=[3], under=[under]))
    batch("rational-slopes.npz", [[1]])
    base = dict(verdict="in-clarke", data="rational-slopes.npz", touched=2, proxies=["Abs 0 0", "Relu 0 1/2"], wrt="w")
    cell = "directions 1\ndirection\nmove w add"
    hull = f"evidence hull 2\ncell 1/2 --\n{cell} -1\ncell 1/2 ++\n{cell} 1"
    case("rational-slopes", 0, "VERIFIED", evidence=hull, model="rational-slopes.onnx", **base)
    case("rational-slopes-weights", 1, "not AD's output", model="rational-slopes.onnx",
         evidence=hull.replace("1/2 -", "1/3 -").replace("1/2 +", "2/3 +"), **base)
    case("irrational-slopes", 0, "VERIFIED", evidence=hull, model="irrational-slopes.onnx", **base)
    # AD's 1/36 is another mean of the gradients, and none of the slopes.
    third, other = {**base, "proxies": ["Abs 0 0", "Relu 0 1/3"]}, hull.replace("1/2 -", "2/5 -").replace("1/2 +", "3/5 +")
    case("rational-slopes-third", 0, "VERIFIED", evidence=other, model="rational-slopes.onnx", **third)
    case("irrational-slopes-third", 1, "a gradient is not rational", evidence=other, model="irrational-slopes.onnx", **third)


def windows_of_products():
    """Windows max(w, t), t = u v at 0, beside |w|: t is of the second order, so all four sides of both occur. As if t were
    affine with derivative zero, w would be the larger where it is positive and nowhere else."""
    for name, order, share in [("first", ["y", "z"], -3), ("second", ["z", "y"], -3)]:
        save(f"window-product-{name}.onnx", [
            helper.make_node("Mul", ["x", "w"], ["y"], "one"), helper.make_node("Abs", ["y"], ["a"], "abs"),
            helper.make_node("Mul", ["x", "v"], ["t"], "two"), helper.make_node("Mul", ["t", "u"], ["z"], "three"),
            helper.make_node("Concat", order, ["c"], "join", axis=2),
            helper.make_node("MaxPool", ["c"], ["m"], "pool", kernel_shape=[2]), helper.make_node("Mul", ["m", "less"], ["b"], "four"),
            helper.make_node("Mul", ["a", "more"], ["d"], "five"), helper.make_node("Add", ["d", "b"], ["out"], "six")],
             ["N", 1, 1], ["N", 1, 1], dict(w=[0], v=[0], u=[0], less=[share], more=[1 if name == "first" else 2]))
    batch("window-product.npz", [[[1]]])
    base = dict(verdict="not-in-clarke", data="window-product.npz", touched=2, tie="first", wrt="w v u")
    # Gradients by w: -2, 1 on the right of |w|, -4, -1 on the left. AD's is -3; without the sides (-, w) it would be outside.
    tree = "evidence separator\nv w 0 -1\ntree\nbranch 0\nbranch 1\ndead 2\nu 0 1\nu 1 b 1\nleaf\nbranch 1\nleaf\nleaf"
    case("window-product-other", 1, "1 (node 5 'pool', feature 0, sample 0): its argument is not affine", evidence=tree,
         model="window-product-first.onnx", proxies=["Abs 0 0"], **base)
    # -1, 2 on the right, -5, -2 on the left; AD's is 1. The sides (+, t): t is the window's first.
    tree = "evidence separator\nv w 0 1\ntree\nbranch 0\nbranch 1\nleaf\nleaf\nbranch 1\ndead 2\nu 0 1\nu 1 b 1\nleaf"
    case("window-product-side", 1, "1 (node 5 'pool', feature 0, sample 0): its argument is not affine", evidence=tree,
         model="window-product-second.onnx", proxies=["Abs 0 2"], **{**base, "tie": "last"})


    # max(w, t) and max(w, 0) are not on one side together: gradients by w are 0, 1, -2, -1. AD has 1/2, 3/2 times the second
    # entries less half the first.
    zero = helper.make_node("Mul", ["x", "nought"], ["o"], "zero")
    for order in [["y", "z", "y", "o"], ["y", "o", "y", "z"]]:
        name = "window-product-line" if order[1] == "z" else "window-product-other-line"
        save(name + ".onnx", [
            helper.make_node("Mul", ["x", "w"], ["y"], "one"), helper.make_node("Mul", ["x", "v"], ["t"], "two"),
            helper.make_node("Mul", ["t", "u"], ["z"], "three"), zero, helper.make_node("Concat", order, ["c"], "join", axis=2),
            helper.make_node("MaxPool", ["c"], ["m"], "pool", kernel_shape=[2], strides=[2]),
            helper.make_node("Mul", ["m", "by"], ["out"], "four")],
             ["N", 1, 1], ["N", 1, 2], dict(w=[0], v=[0], u=[0], nought=[0], by=[[1, -2]]))
        case(name, 1, "its argument is not affine" if order[1] == "z" else "1 (node 5 'pool', feature 1, sample 0) is of another kind than 0",
             model=name + ".onnx", proxies=[], evidence="evidence bound\nv w 0 1\nparallel 0 1\ntree\nbranch 0\nleaf\nleaf",
             **{**base, "tie": "hybrid 3"})


def identities():
    """Equal values of different functions are options of their own: tanh of two weights, two touched windows, products of two
    pairs. By their mean AD has another gradient than any near."""
    tails = {"tanh": [helper.make_node("Tanh", ["y"], ["z"], "tanh")], "softmax": [helper.make_node("Softmax", ["y"], ["z"], "soft", axis=-1)],
             "windows": [helper.make_node("MaxPool", ["y"], ["z"], "pool1", kernel_shape=[2], strides=[2])],
             "kinks": [helper.make_node("Relu", ["y"], ["z"], "rho")]}
    batch("identity.npz", [[[1]]])
    for name, inner in [("tanh", 0), ("softmax", 0), ("windows", 2), ("kinks", 4)]:
        save(f"identity-{name}.onnx", [
            helper.make_node("MatMul", ["x", "w"], ["y"], "dense"), *tails[name],
            helper.make_node("MaxPool", ["z"], ["out"], "pool", kernel_shape=[2 if inner == 2 else 4])], ["N", 1, 1], ["N", 1, 1],
             dict(w=[[0, 0, 0, 0]]))
        base = dict(verdict="in-bouligand", model=f"identity-{name}.onnx", data="identity.npz", touched=inner + 1,
                    proxies=["Relu 0 right"] if name == "kinks" else [])
        ad = "evidence ad\ncell ad\ndirections 1\ndirection\nmove w at 0 2\nmove w at 1 1\nmove w at 2 2\nmove w at 3 1"
        one = ad.replace("at 2 2", "at 2 1").replace("at 3 1", "at 3 -1" if inner == 2 else "at 3 1/2")
        case("identity-" + name, 0, "VERIFIED", evidence=one, tie="first", **base)
        case(f"identity-{name}-mean", 1, "gives it no side", evidence=one, tie="mean", **base)
        case(f"identity-{name}-one", 1, f"the number of touched kinks is {inner + 1}", tie="mean",
             evidence="evidence ad\ncell ad\ndirections 0", **{**base, "touched": inner})
        case(f"identity-{name}-last", 1, "moves to the wrong side", evidence=one, tie="last", **base)


def statements():
    """What is printed names all of the statement: parameters in wrt, in characters that steer no terminal; reading rules."""
    odd = "\u202eb[2J %"
    save("odd.onnx", [
        helper.make_node("Add", ["x", "w"], ["y"], "shift"), helper.make_node("Clip", ["y", "", "top"], ["c"], "clip"),
        helper.make_node("LeakyRelu", ["c"], ["z"], "leaky"), helper.make_node("Sub", ["z", odd], ["out"], "back")],
         ["N", 1, 3], None, {"w": [[1, 2, 3]], odd: [[3, 2, 1]], "top": 100})
    batch("odd.npz", [[1, 2, 3], [4, 5, 6]])
    base = dict(verdict="in-bouligand", model="odd.onnx", data="odd.npz", touched=0,
                proxies=["Clip 0 0", "Clip 1 0", "LeakyRelu 0 left"], evidence=NOTHING)
    written = "%E2%80%AEb%5B2J%20%25"
    case("odd", 0, "w (1, 3)", wrt="w", **base)
    case("odd-other", 0, written + " (1, 3)", wrt=written, **base)
    case("odd-both", 0, "Parameters: 6 numbers", **base)
    case("odd-default", 0, "Reading rule: an attribute that is not in the file", **base)
    case("odd-bound", 0, "Reading rule: a Clip without a bound has none", **base)
    case("odd-flat", 0, "each sample's entries, in row-major order, are read as (1, 3)", **base)
    case("odd-rules", 0, "every stored number taken exactly, but for the reading rules above", **base)
    case("odd-input", 0, "Input: x, declared (?, 1, 3); 2 samples of (3)", **base)


def roles():
    """A tensor that is read as a number when the network is built must not be moved as a weight: |(3, z)| + z at z = 0 has the
    limits 1 and 3, AD 2, if z is both; with the padding 0 whatever z is, 2 alone."""
    base = dict(verdict="in-bouligand", touched=1, proxies=["Abs 0 0"], evidence=NOTHING)
    pads = helper.make_node("Constant", [], ["pads"], value=numpy_helper.from_array(np.array([0, 0, 0, 1], np.int64)))
    again = helper.make_node("Identity", ["z"], ["same"])
    batch("role.npz", [[3]])
    for name, value, weight, opset in [("pad", "z", "z", 11), ("pad-named", "same", "z", 18), ("weight-named", "z", "same", 13)]:
        save(f"role-{name}.onnx", [
            again, pads, helper.make_node("Pad", ["x", "pads", value], ["y"], "pad"), helper.make_node("Abs", ["y"], ["a"], "abs"),
            helper.make_node("Add", ["a", weight], ["out"], "shift")], ["N", 1], None, dict(z=0), opset=opset)
        case("role-" + name, 2, "'z' is used in two ways", model=f"role-{name}.onnx", data="role.npz", **base)
    save("role-apart.onnx", [
        pads, helper.make_node("Pad", ["x", "pads", "z"], ["y"], "pad"), helper.make_node("Abs", ["y"], ["a"], "abs"),
        helper.make_node("Add", ["a", "b"], ["out"], "shift")], ["N", 1], None, dict(z=0, b=0))
    case("role-apart", 0, "VERIFIED", model="role-apart.onnx", data="role.npz", **base)
    case("role-apart-wrt", 1, "has no parameter 'z'", model="role-apart.onnx", data="role.npz", wrt="b z", **base)
    clip = [again, helper.make_node("Clip", ["x", "", "same"], ["y"], "clip")]
    root = lambda *names: [  # noqa: E731
        helper.make_node("BatchNormalization", ["x", *names], ["y"], "norm"), helper.make_node("Abs", ["y"], ["out"], "abs")]
    weights = dict(z=[1], s=[1], m=[0])
    for name, nodes, parameters in [
            ("clip", [*clip, helper.make_node("Mul", ["y", "z"], ["out"])], dict(z=1)),
            ("clip-slope", [*clip, helper.make_node("PRelu", ["y", "z"], ["out"])], dict(z=1)),
            ("clip-variance", [*clip[:1], helper.make_node("BatchNormalization", ["x", "s", "m", "m", "z"], ["y"]),
                               helper.make_node("Clip", ["y", "", "same"], ["out"])], weights)]:
        save(f"role-{name}.onnx", nodes, ["N", 1], None, parameters)
        case("role-" + name, 2, "is used in two ways", model=f"role-{name}.onnx", data="role.npz", **base)
    # A weight that is a mean, too: |(x - m) + z - 3| at x = m = z = 3, var + epsilon = 1. With m moving as z does the kink
    # would be flat in z; m stays, and z moves it to both sides.
    still = dict(model="role-still.onnx", data="role.npz", touched=1, wrt="z")
    save("role-still.onnx", [helper.make_node("BatchNormalization", ["x", "s", "z", "z", "v"], ["y"], "norm", epsilon=0.5),
                             helper.make_node("Add", ["y", "c"], ["t"], "shift"), helper.make_node("Abs", ["t"], ["out"], "abs")],
         ["N", 1], None, dict(z=[3], s=[1], v=[0.5], c=[-3]))
    case("role-still", 1, "gives it no side", verdict="in-bouligand", proxies=["Abs 0 0"],
         evidence="evidence ad\ncell ad\ndirections 0", **still)
    case("role-still-moved", 0, "Reading rule: an initializer that is a weight and a mean or variance", verdict="not-in-clarke",
         proxies=["Abs 0 2"], evidence="evidence bound\nv z 0 1\ntree\nbranch 0\nleaf\nleaf", **still)
    for name, nodes in [("scale", root("z", "m", "m", "z")), ("mean", root("s", "z", "z", "s"))]:
        save(f"role-{name}.onnx", nodes, ["N", 1], None, weights)
        case("role-" + name, 0, "VERIFIED", model=f"role-{name}.onnx", data="role.npz", **{**base, "touched": 0})


def runs():
    """What ONNX does to all samples of a run at once must leave them apart; an input of one sample is a run for each."""
    batch("runs.npz", [[[1, 2]], [[-1, 1]]])
    shape = lambda *dims: helper.make_node(  # noqa: E731
        "Constant", [], ["shape"], value=numpy_helper.from_array(np.array(dims, np.int64)))
    reshape = lambda *dims: [shape(*dims), helper.make_node("Reshape", ["x", "shape"], ["y"], "turn")]  # noqa: E731
    join = [helper.make_node("Concat", ["x", "c"], ["y"], "join", axis=2)]
    mixed = "the shapes do not fit, or the batch axis would be mixed"
    for name, first, nodes, reason in [
            ("row", "N", reshape(1, -1), mixed), ("row-two", 2, reshape(1, -1), mixed), ("row-one", 1, reshape(1, -1), "each sample is a run of the model of its own"),
            ("rows", "N", reshape(2, -1), ""), ("rows-two", 2, reshape(2, 2), ""), ("rows-one", 1, reshape(2, -1), mixed),
            ("rest", "N", reshape(-1, 2), ""), ("rest-less", "N", reshape(-1, 1), mixed), ("copy", "N", reshape(0, 2), ""),
            ("rest-more", "N", reshape(-1, 4), mixed), ("join", "N", join, "a constant, which has not the axis of all samples"),
            ("join-one", 1, join, ""), ("all", "N", reshape(-1), mixed)]:
        end = [helper.make_node("MatMul", ["y", "w"], ["out"], "dense")]
        save(f"runs-{name}.onnx", nodes + end, [first, 1, 2], None,
             dict(w=np.ones((3 if name.startswith("join") else 2, 1)), c=[[[5]]]))
        case("runs-" + name, 2 if reason and "own" not in reason else 0, reason or "VERIFIED", verdict="in-bouligand", model=f"runs-{name}.onnx",
             data="runs.npz", touched=0, proxies=[], evidence=NOTHING)
    save("runs-line.onnx", [helper.make_node("MatMul", ["x", "w"], ["out"], "dense")], [2], None, dict(w=np.ones((2, 3))))
    batch("runs-line.npz", [[1, 2], [3, 4], [5, 6]])
    case("runs-line", 0, "no batch axis: each sample is a run of the model of its own", verdict="in-bouligand",
         model="runs-line.onnx", data="runs-line.npz", touched=0, proxies=[], evidence=NOTHING)
    weights = dict(w=[[1, 2]], s=[1, 1], b=[0, 0], mean=[0, 0], var=[1, 1])
    batch("runs-trained.npz", [[1], [2]])
    for first, status, reason in [("N", 0, "VERIFIED"), (2, 0, "VERIFIED"), (1, 2, "declares a batch of one")]:
        save(f"runs-trained-{first}.onnx", [
            helper.make_node("MatMul", ["x", "w"], ["y"], "dense"),
            helper.make_node("BatchNormalization", ["y", "s", "b", "mean", "var"], ["out"], "norm", training_mode=1)],
             [first, 1], None, weights)
        case(f"runs-trained-{first}", status, reason, verdict="in-bouligand", model=f"runs-trained-{first}.onnx",
             data="runs-trained.npz", touched=0, proxies=[], evidence=NOTHING)


def lists():
    """Lists of axes that name one twice, and modes that are no single number."""
    batch("lists.npz", np.ones((2, 2, 2)))
    for name, opset, nodes, reason in [
            ("mean", 18, lambda *of: [helper.make_node("ReduceMean", ["x", of[0]], ["y"])], "an axis twice"),
            ("pad", 18, lambda *of: [helper.make_node("Pad", ["x", of[1], "", of[0]], ["y"])], "an axis twice"),
            ("dropout", 13, lambda *of: [helper.make_node("Dropout", ["x", "", of[0]], ["y"])], "Dropout in training mode")]:
        for more, values in [("", [1, 2]), ("-twice", [1, 1]), ("-below", [1, -2])]:
            if name == "dropout":
                values = {"": 0, "-twice": [0, 0], "-below": 1}[more]  # a scalar, but for the second
            constants = [helper.make_node("Constant", [], [n], value=numpy_helper.from_array(v)) for n, v in
                         [("axes", np.array(values, bool if name == "dropout" else np.int64)), ("pads", np.zeros(4, np.int64))]]
            save(f"lists-{name}{more}.onnx", constants + nodes("axes", "pads") + [helper.make_node("Add", ["y", "w"], ["out"])],
                 ["N", 2, 2], None, dict(w=0), opset=opset)
            case(f"lists-{name}{more}", 2 if more else 0, reason if more else "VERIFIED", verdict="in-bouligand",
                 model=f"lists-{name}{more}.onnx", data="lists.npz", touched=0, proxies=[], evidence=NOTHING)


def long_lists():
    """Pad's lists of two numbers for each axis, of nine, and of seventeen: one more than eight axes have."""
    batch("long.npz", [[[[1]]]])
    for name, status, reason, values in [("eight", 0, "VERIFIED", [0, 0, 1, 0, 0, 0, 0, 2]), ("nine", 2, "pads are not two for each axis", [0] * 9),
                                         ("seventeen", 2, "is missing or too long", [0] * 17)]:
        save(f"long-{name}.onnx", [
            helper.make_node("Constant", [], ["pads"], value=numpy_helper.from_array(np.array(values, np.int64))),
            helper.make_node("Mul", ["x", "w"], ["y"], "scale"), helper.make_node("Pad", ["y", "pads"], ["z"], "pad"),
            helper.make_node("Conv", ["z", "v"], ["out"], "sum")], ["N", 1, 1, 1], None,
             dict(w=[2], v=np.ones((1, 1, 2, 3))), opset=13)
        case("long-" + name, status, reason, verdict="in-bouligand", model=f"long-{name}.onnx", data="long.npz", touched=0,
             proxies=[], evidence=NOTHING)


def orders():
    """Transpose takes a permutation; the batch axis that it moves must be the first of the output."""
    batch("order.npz", [[[1, 2], [3, 4]]])
    wrong = "perm is no permutation"
    for name, status, reason, perm in [
            ("right", 0, "VERIFIED", [0, 2, 1]), ("twice", 2, wrong, [0, 1, 1]), ("twice-more", 2, wrong, [0, 2, 2]),
            ("beyond", 2, wrong, [0, 1, 3]), ("below", 2, wrong, [0, -1, 1]), ("batch", 2, "has not the batch on its first axis", [1, 0, 2]),
            ("batch-last", 2, "or the batch axis would be mixed", [2, 1, 0]), ("short", 2, "perm does not fit", [0, 1]), ("long", 2, "perm does not fit", [0, 1, 2, 3])]:
        save(f"order-{name}.onnx", [
            helper.make_node("Transpose", ["x"], ["y"], "turn", perm=perm), helper.make_node("MatMul", ["y", "w"], ["out"], "dense")],
             ["N", 2, 2], None, dict(w=[[1], [2]]))
        case("order-" + name, status, reason, verdict="in-bouligand", model=f"order-{name}.onnx", data="order.npz", touched=0,
             proxies=[], evidence=NOTHING)
    # The times first, and the mean over them: without their axis the batch is the first one, with it the second.
    for name, status, reason, kept in [("mean", 0, "VERIFIED", 0), ("mean-kept", 2, "has not the batch on its first axis", 1)]:
        save(f"order-{name}.onnx", [
            helper.make_node("Transpose", ["x"], ["y"], "turn", perm=[1, 0, 2]),
            helper.make_node("ReduceMean", ["y"], ["z"], "mean", axes=[0], keepdims=kept),
            helper.make_node("MatMul", ["z", "w"], ["out"], "dense")], ["N", 2, 2], None, dict(w=[[1], [2]]))
        case("order-" + name, status, reason, verdict="in-bouligand", model=f"order-{name}.onnx", data="order.npz", touched=0,
             proxies=[], evidence=NOTHING)


def lemma3():
    base = dict(verdict="not-in-clarke", model="lemma3.onnx", data="lemma3.npz", touched=2,
                proxies=["HardSigmoid 0 0", "HardSigmoid 1 0"])
    # w + 3 at 3 and w - 3 at -3: the sides agree, and every cell has derivative 1/6.
    tree = """evidence separator
    v w 0 -1/2
    tree
    branch 0
    branch 1
    leaf
    dead 2
    u 0 2/3
    u 1 2/3
    branch 1
    dead 2
    u 0 1
    u 1 1
    leaf"""
    case("lemma3", 0, "Reading rule: HardSigmoid's alpha, stored as the float32 nearest to 1/6, is 1/6", evidence=tree, **base)
    case("lemma3-rational", 1, "not a rational", evidence=tree.replace("2/3", "4/6"), **base)


def one_layer_abs():
    base = dict(verdict="in-clarke", model="abs.onnx", data="abs.npz", touched=1, proxies=["Abs 0 0"])
    mix = """evidence mix 1
    mix abs 1/2
    cell mix -
    directions 1
    direction
    move b at 0 -1
    cell mix +
    directions 1
    direction
    move b at 0 3/7"""
    case("abs", 0, "VERIFIED", evidence=mix, **base)
    case("abs-lambda", 1, "gives it no side", evidence=mix.replace("1/2", "1/3"), **base)
    case("abs-direction", 1, "wrong side", evidence=mix.replace("at 0 -1", "at 0 1"), **base)
    case("abs-order", 1, "in order", evidence=mix.replace("mix +", "mix -"), **base)
    case("abs-still", 1, "no direction moves", evidence=mix.replace("b at 0 -1", "b at 0 -1\n    move b add 1"), **base)
    case("mix-none", 1, "a mix is of 1 to 30 nodes", evidence=mix.replace("mix 1\n", "mix 0\n").replace("1/2", "1/3"), **base)
    case("mix-many", 1, "a mix is of 1 to 30 nodes", evidence=mix.replace("mix 1\n", "mix 31\n").replace("1/2", "1/3"), **base)
    case("mix-signs", 1, "one sign for each mixed node is expected", evidence=mix.replace("mix -", "mix -+"), **base)
    case("abs-bouligand", 1, "does not prove", evidence=mix, **{**base, "verdict": "in-bouligand"})
    hull = """evidence hull 2
    cell 1/2 -
    directions 1
    direction
    move b add -1
    cell 1/2 +
    directions 1
    direction
    move b add 1"""
    case("abs-hull", 0, "VERIFIED", evidence=hull, **base)
    case("abs-hull-sum", 1, "do not sum to 1", evidence=hull.replace("1/2", "1/3"), **base)
    case("abs-hull-wrong", 1, "not AD's output",
         evidence=hull.replace("cell 1/2 -", "cell 1/4 -").replace("cell 1/2 +", "cell 3/4 +"), **base)
    case("abs-hull-negative", 1, "negative", evidence=hull.replace("cell 1/2 -", "cell -1/2 -"), **base)
    case("abs-hull-one", 1, "one for this verdict", evidence=hull, **{**base, "verdict": "in-bouligand"})


def two_layers():
    """Two biased Relu layers, all arguments zero; a hidden weight of 0 behind them."""
    save("two.onnx", [
        helper.make_node("Gemm", ["x", "w1", "b1"], ["y1"], "dense1", transB=1),
        helper.make_node("Relu", ["y1"], ["z1"], "rho1"),
        helper.make_node("Gemm", ["z1", "w2", "b2"], ["y2"], "dense2", transB=1, alpha=0.5),
        helper.make_node("Relu", ["y2"], ["z2"], "rho2"),
        helper.make_node("MatMul", ["z2", "w3"], ["out"], "dense3"),
    ], ["N", 2], ["N", 3], dict(w1=[[1, -1], [2, 0.5]], b1=[0, -2.5], w2=[[1, 1], [-1, 0.25]], b2=[0, 0],
                               w3=[[1, 2, 3], [0.5, 0, -0.25]]))
    batch("two.npz", [[1, 1], [1, 1]], np.array([0, 2], np.int64))
    base = dict(verdict="in-bouligand", model="two.onnx", data="two.npz", touched=8, loss="ce",
                proxies=["Relu 0 0"])
    ad = """evidence ad
    cell ad
    directions 2
    direction
    move b2 add -1
    direction
    move b1 add -1"""
    case("two", 0, "VERIFIED", evidence=ad, **base)
    case("two-right", 0, "VERIFIED", evidence=ad.replace("-1", "1"), **{**base, "proxies": ["Relu 0 right"]})
    case("two-sign", 1, "wrong side", evidence=ad.replace("b1 add -1", "b1 add 1"), **base)
    case("two-narrow", 1, "is not in wrt", evidence=ad, wrt="b1 w3", **base)
    case("two-flat", 0, "VERIFIED", wrt="b1 w3", loss="sum", evidence="""evidence ad
    cell ad
    directions 1
    direction
    move b1 at 0 -1
    move b1 at 1 -2""", **{k: v for k, v in base.items() if k != "loss"})
    case("two-short", 1, "no direction moves", evidence="""evidence ad
    cell ad
    directions 1
    direction
    move b1 add -1""", **base)
    case("two-loss", 1, "y does not have", evidence=ad, **{**base, "loss": "mse"})
    for name, y, reason in [("above", np.array([0, 3]), "label 1 is no class"), ("below", np.array([-1, 2]), "label 0 is no class"),
                            ("real", np.array([0.0, 2.0]), "an integer label for each sample"),
                            ("columns", np.array([[0], [2]]), "an integer label for each sample"),
                            ("fewer", np.array([0]), "there is no y for each sample"), ("one", np.array(0), "there is no y for each sample")]:
        batch(f"two-{name}.npz", [[1, 1], [1, 1]], y)
        case("two-" + name, 1, reason, evidence=ad, **{**base, "data": f"two-{name}.npz"})


def cascade():
    """relu(-relu(w)): the inner value is constant on one side, so the outer kink is flat there."""
    save("cascade.onnx", [
        helper.make_node("MatMul", ["x", "w"], ["y1"], "dense1"),
        helper.make_node("Relu", ["y1"], ["z1"], "rho1"),
        helper.make_node("Constant", [], ["minus"], value=numpy_helper.from_array(np.float32([[-1]]))),
        helper.make_node("MatMul", ["z1", "minus"], ["y2"], "dense2"),
        helper.make_node("Relu", ["y2"], ["out"], "rho2"),
    ], ["N", 1], ["N", 1], dict(w=[[0]]))
    batch("cascade.npz", [[2]])
    base = dict(model="cascade.onnx", data="cascade.npz", touched=2)
    ad = """evidence ad
    cell ad
    directions 1
    direction
    move w add -1"""
    case("cascade", 0, "VERIFIED", verdict="in-bouligand", evidence=ad, proxies=["Relu 0 0"], **base)
    # With the proxy 1, AD gives -2; the function is 0 everywhere.
    tree = """evidence separator
    v w 0 -1
    tree
    branch 0
    leaf
    branch 1
    leaf
    dead 2
    u 0 1
    u 1 1"""
    case("cascade-right", 0, "VERIFIED", verdict="not-in-clarke", evidence=tree,
         proxies=["Relu 0 right"], **base)
    # Below: kink 1 has derivative zero when kink 0 is on its left, which kills nothing.
    dead = tree.replace("leaf\n    branch 1\n    leaf", "dead 1\n    u 0 1\n    branch 1\n    leaf", 1)
    case("cascade-dead", 1, "derivatives is not zero", verdict="not-in-clarke", evidence=dead,
         proxies=["Relu 0 right"], **base)
    zero = """evidence separator
    v w 0 -1
    tree
    branch 0
    branch 1
    leaf
    dead 1
    u 1 1
    branch 1
    leaf
    dead 2
    u 0 1
    u 1 1"""
    case("cascade-zero", 1, "has derivative zero", verdict="not-in-clarke", evidence=zero,
         proxies=["Relu 0 right"], **base)


def sigmoid():
    """A transcendental layer below: the second argument is exactly zero, its weight being zero."""
    save("sigmoid.onnx", [
        helper.make_node("Gemm", ["x", "w1", "b1"], ["y1"], "dense1"),
        helper.make_node("Sigmoid", ["y1"], ["z1"], "sigma"),
        helper.make_node("Gemm", ["z1", "w2", "b2"], ["y2"], "dense2"),
        helper.make_node("Relu", ["y2"], ["z2"], "rho"),
        helper.make_node("Gemm", ["z2", "w3", "b3"], ["y3"], "dense3"),
        helper.make_node("Tanh", ["y3"], ["out"], "tau"),
    ], ["N", 2], ["N", 2], dict(w1=[[1, -1], [0.5, 2]], b1=[0.1, 0.2], w2=[[0, 1], [0, -3]], b2=[0, 0.7],
                               w3=[[1, 2], [0.25, -1]], b3=[0, 1]))
    batch("sigmoid.npz", [[1, 2], [-0.3, 0.4]], np.float32([[0, 1], [1, 0]]))
    base = dict(verdict="in-bouligand", model="sigmoid.onnx", data="sigmoid.npz", touched=2, loss="mse",
                proxies=["Relu 0 left"])
    ad = """evidence ad
    cell ad
    directions 1
    direction
    move w2 at 0 -1
    move w2 at 2 -1/3"""
    case("sigmoid", 0, "VERIFIED", evidence=ad, **base)
    case("sigmoid-sign", 1, "wrong side", evidence=ad.replace("-1", "1"), **base)
    case("sigmoid-near", 1, "wrong side", evidence=ad.replace("at 0 -1", "at 0 1000"), **base)
    # With the proxy 2 AD's output is outside: both sides are leaves, or cannot occur.
    hull = "evidence hull 1\ncell 1 --\n" + "\n".join(ad.split("\n")[2:])
    case("sigmoid-hull", 0, "VERIFIED", evidence=hull, **base)
    case("sigmoid-hull-proxy", 1, "rational", evidence=hull, **{**base, "proxies": ["Relu 0 2"]})
    tree = """evidence separator
    v b2 0 1
    tree
    branch 0
    branch 1
    leaf
    leaf
    branch 1
    leaf
    leaf"""
    outside = {**base, "verdict": "not-in-clarke", "proxies": ["Relu 0 100"]}
    case("sigmoid-outside", 0, "VERIFIED", evidence=tree.replace("b2 0 1", "b2 0 -1"), **outside)
    case("sigmoid-inside", 1, "separated", evidence=tree, **outside)


def prelu():
    """A slope in wrt with value 0: the piece is not constant, though its slope is 0 here."""
    save("prelu.onnx", [
        helper.make_node("Add", ["x", "b"], ["y1"], "shift"),
        helper.make_node("PRelu", ["y1", "a"], ["z1"], "rho1"),
        helper.make_node("Add", ["z1", "c"], ["y2"], "shift2"),
        helper.make_node("Relu", ["y2"], ["out"], "rho2"),
    ], ["N", 1], ["N", 1], dict(b=[0], a=[0], c=[0]))
    batch("prelu.npz", [[-1]])
    base = dict(verdict="in-bouligand", model="prelu.onnx", data="prelu.npz", touched=1,
                proxies=["PRelu 0 left", "Relu 0 0"])
    case("prelu", 1, "no direction moves", wrt="b a", evidence="evidence ad\ncell ad\ndirections 0", **base)
    case("prelu-flat", 0, "VERIFIED", wrt="b", evidence="evidence ad\ncell ad\ndirections 0", **base)
    case("prelu-moved", 0, "VERIFIED", wrt="a", evidence="evidence ad\ncell ad\ndirections 1\ndirection\n"
         "move a at 0 1", **base)


def no_bend():
    """Between two pieces of one polynomial is no kink, and no sign is asked for. With the slope in `wrt` it is one."""
    for name, bend in (("leaky", helper.make_node("LeakyRelu", ["zero"], ["y"], alpha=1.0)),
                       ("slope", helper.make_node("PRelu", ["zero", "a"], ["y"]))):
        save(f"no-bend-{name}.onnx", [
            helper.make_node("Tanh", ["x"], ["t"]),
            helper.make_node("Relu", ["t"], ["r"]),
            helper.make_node("Sub", ["r", "t"], ["zero"]),
            bend,
            helper.make_node("Add", ["y", "b"], ["out"]),
        ], ["N", 1], ["N", 1], dict(b=[1], a=[1]))
    batch("no-bend.npz", [[1]])
    base = dict(verdict="in-bouligand", data="no-bend.npz", touched=0, evidence="evidence ad\ncell ad\ndirections 0")
    case("no-bend-leaky", 0, "VERIFIED", model="no-bend-leaky.onnx", wrt="b",
         proxies=["LeakyRelu 0 0", "Relu 0 0"], **base)
    base.update(model="no-bend-slope.onnx", proxies=["PRelu 0 0", "Relu 0 0"])
    case("no-bend-slope", 0, "VERIFIED", wrt="b", **base)
    # relu(t) - t cancels: with the slope in wrt it is at the kink, where both slopes are 1.
    case("no-bend-slope-moves", 0, "VERIFIED", wrt="b a", **base)
    # sigmoid(2 x) + sigmoid(2 x) - 1 is tanh(x), and no rule here says so.
    save("no-bend-open.onnx", [
        helper.make_node("Tanh", ["x"], ["t"]), helper.make_node("Add", ["x", "x"], ["x2"]), helper.make_node("Sigmoid", ["x2"], ["s"]),
        helper.make_node("Add", ["s", "s"], ["s2"]), helper.make_node("Sub", ["s2", "b"], ["u"]),
        helper.make_node("Sub", ["u", "t"], ["zero"]), helper.make_node("Relu", ["zero"], ["out"])], ["N", 1], ["N", 1], dict(b=[1]))
    pair = [helper.make_node("Concat", ["u", "t"], ["both"], axis=1), helper.make_node("Unsqueeze", ["both", "one"], ["row"]),
            helper.make_node("MaxPool", ["row"], ["out"], kernel_shape=[2])]
    save("no-bend-pair.onnx", [
        helper.make_node("Tanh", ["x"], ["t"]), helper.make_node("Add", ["x", "x"], ["x2"]), helper.make_node("Sigmoid", ["x2"], ["s"]),
        helper.make_node("Add", ["s", "s"], ["s2"]), helper.make_node("Sub", ["s2", "b"], ["u"]), *pair], ["N", 1], None,
        dict(b=[1]), integers=dict(one=[1]))
    case("no-bend-pair", 1, "cannot tell two entries of a window apart",
         **{**base, "model": "no-bend-pair.onnx", "proxies": [], "tie": "first"})
    case("no-bend-open", 1, "at a kink", **{**base, "model": "no-bend-open.onnx", "proxies": ["Relu 0 0"]})


def constant_behind():
    """relu(z) - relu(-z), z = b + tanh(relu(x w)): what is behind the tanh is constant where x w < 0, so z has a rational
    derivative; at w = 0 it has one under the side - alone."""
    for name, weight in [("constant-behind", 1), ("constant-behind-open", 0)]:
        save(name + ".onnx", [
            helper.make_node("Mul", ["x", "w"], ["y"], "scale"), helper.make_node("Relu", ["y"], ["r"], "rho"),
            helper.make_node("Tanh", ["r"], ["t"], "tau"), helper.make_node("Add", ["t", "b"], ["z"], "shift"),
            helper.make_node("Relu", ["z"], ["p"], "plus"), helper.make_node("Neg", ["z"], ["n"], "turn"),
            helper.make_node("Relu", ["n"], ["q"], "minus"), helper.make_node("Sub", ["p", "q"], ["out"], "lemma")],
             ["N", 1], ["N", 1], dict(w=[weight], b=[0]))
    batch("constant-behind.npz", [[-1]])
    base = dict(verdict="not-in-clarke", model="constant-behind.onnx", data="constant-behind.npz", wrt="w b", proxies=["Relu 0 0"])
    head = "evidence separator\nv b 0 -1\ntree\n"
    tree = "branch {0}\nbranch {1}\n{2}\nleaf\nbranch {1}\nleaf\n{2}"
    case("constant-behind", 0, "VERIFIED", touched=2, evidence=head + tree.format(0, 1, "dead 2\nu 0 1\nu 1 1"), **base)
    # What comes through the tanh ends at a slope 0, whatever its number.
    case("constant-behind-ad", 0, "VERIFIED", touched=2,
         evidence="evidence hull 1\ncell 1 +-\ndirections 1\ndirection\nmove b at 0 1",
         **{**base, "verdict": "in-clarke", "proxies": ["Relu 0 1/2"]})
    tree = tree.format(1, 2, "dead 2\nu 1 1\nu 2 1")
    case("constant-behind-open", 1, "1 (node 4 'plus', feature 0, sample 0): its argument is not affine", touched=3,
         evidence=f"{head}branch 0\n{tree}\n{tree}", **{**base, "model": "constant-behind-open.onnx"})


def conv_net(name, parameters, relu=False, norm=False, head=False, pads=(0, 0, 0, 0), opset=17):
    """A convolution w, b; perhaps a BatchNormalization, a Relu; a 2 x 2 MaxPool; perhaps a Gemm."""
    c, size = np.shape(parameters["w"])[:2], parameters.pop("size")
    inputs = ["x", "w"] + (["b"] if "b" in parameters else [])
    nodes = [helper.make_node("Conv", inputs, ["y"], "conv", pads=list(pads))]
    if norm:
        nodes.append(helper.make_node("BatchNormalization", ["y", "scale", "shift", "mean", "var"], ["n"], "norm"))
    if relu:
        nodes.append(helper.make_node("Relu", [nodes[-1].output[0]], ["z"], "rho"))
    nodes.append(helper.make_node("MaxPool", [nodes[-1].output[0]], ["p"], "pool", kernel_shape=[2, 2], strides=[2, 2]))
    if head:
        nodes += [helper.make_node("Flatten", ["p"], ["q"], "flat"),
                  helper.make_node("Gemm", ["q", "v", "d"], ["o"], "dense")]
    nodes[-1].output[0] = "out"
    save(name + ".onnx", nodes, ["N", c[1], size, size], None, parameters, opset)


AD = """evidence ad
    cell ad
    directions 1
    direction
    move w at 0 -1"""


def convolutions():
    """Convolutional networks that meet no kink; constant images, whose windows are all tied and not touched."""
    rng = np.random.default_rng(3)
    conv_net("conv", dict(w=rng.normal(size=(2, 1, 2, 2)), b=[0.5, -0.25], v=rng.normal(size=(8, 3)), d=[0, 0, 0],
                          size=5), relu=True, head=True)
    batch("conv.npz", rng.normal(size=(3, 1, 5, 5)), np.array([0, 2, 1], np.int64))
    base = dict(verdict="in-bouligand", model="conv.onnx", data="conv.npz", touched=0, loss="ce",
                proxies=["Relu 0 0"])
    ad = "evidence ad\ncell ad\ndirections 0"
    case("conv", 0, "VERIFIED", evidence=ad, tie="first", **base)
    case("conv-mean", 0, "VERIFIED", evidence=ad, tie="mean", **base)
    case("conv-untied", 1, "'tie' is expected", evidence=ad, **base)
    case("conv-rule", 1, "unknown tie rule", evidence=ad, tie="stable", **base)
    case("conv-tie-extra", 1, "more than was expected", evidence=ad, tie="first 1/2", **base)
    case("conv-touched", 1, "number of touched kinks is 0", evidence=ad, tie="first", **{**base, "touched": 1})
    case("conv-order", 1, "'proxy' is expected", evidence=ad, tie="first\nproxy Relu 0 0", **{**base, "proxies": []})
    case("conv-hull", 0, "VERIFIED", evidence="evidence hull 1\ncell 1 .\ndirections 0", tie="first",
         **{**base, "loss": "sum"})
    case("abs-tie", 1, "'touched' is expected", evidence=ad, tie="first", verdict="in-bouligand", model="abs.onnx",
         data="abs.npz", touched=1, proxies=["Abs 0 0"])
    # One value in every place: all entries of every window are one function. So they are in the corners of
    # a blank image, where only the bias is left.
    for name, value, pads in [("flat", 0.75, (0, 0, 0, 0)), ("blank", 0, (1, 1, 0, 0))]:
        conv_net(name, dict(w=rng.normal(size=(2, 1, 2, 2)), b=[0.5, -0.25], v=rng.normal(size=(8, 3)), d=[0, 0, 0],
                            size=5 - pads[0]), relu=True, head=True, pads=pads)
        batch(name + ".npz", np.full((2, 1, 5 - pads[0], 5 - pads[0]), value), np.array([0, 2], np.int64))
        one = {**base, "model": name + ".onnx", "data": name + ".npz"}
        for tie in ["first", "last", "mean", "hybrid 1/3"]:
            case(f"{name}-{tie[:4]}", 0, "VERIFIED", evidence=ad, tie=tie, **one)
        case(f"{name}-hull", 0, "VERIFIED", evidence="evidence hull 1\ncell 1 .\ndirections 0", tie="mean",
             **{**one, "loss": "sum"})
        case(f"{name}-touched", 1, "number of touched kinks is 0", evidence=ad, tie="first", **{**one, "touched": 1})


def tied():
    """w x + b at w = 0 over the image 1 1 / 1 2: two options, the first of three entries."""
    conv_net("tied", dict(w=[[[[0]]]], b=[1], size=2))
    batch("tied.npz", [[[[1, 1], [1, 2]]]])
    base = dict(verdict="in-bouligand", model="tied.onnx", data="tied.npz", touched=1, proxies=[])
    right = AD.replace("at 0 -1", "at 0 1/2")
    case("tied", 0, "Of these, windows with ties: 1", evidence=AD, tie="first", **base)
    case("tied-hybrid-0", 0, "VERIFIED", evidence=AD, tie="hybrid 0", **base)
    case("tied-last", 0, "VERIFIED", evidence=right, tie="last", **base)
    case("tied-wrong", 1, "moves to the wrong side", evidence=right, tie="first", **base)
    case("tied-last-wrong", 1, "moves to the wrong side", evidence=AD, tie="last", **base)
    case("tied-still", 1, "no direction moves", evidence=AD.replace("move w", "move b"), tie="first", **base)
    case("tied-none", 1, "no direction moves", evidence="evidence ad\ncell ad\ndirections 0", tie="first", **base)
    case("tied-mean-ad", 1, "gives it no side", evidence=AD, tie="mean", **base)
    case("tied-frozen", 1, "is not in wrt", evidence=AD, tie="first", wrt="b", **base)
    case("tied-mix", 1, "no such node with kinks", evidence="evidence mix 1\nmix pool 1/2\n", tie="mean",
         **{**base, "verdict": "in-clarke"})
    # The mean is 3/4 of the first option and 1/4 of the second; with B = 1/2, 7/8 and 1/8.
    hull = """evidence hull 2
    cell 3/4 a
    directions 1
    direction
    move w at 0 -1
    cell 1/4 b
    directions 1
    direction
    move w at 0 1"""
    mean = {**base, "verdict": "in-clarke", "tie": "mean"}
    half = hull.replace("3/4", "7/8").replace("1/4", "1/8")
    case("tied-mean", 0, "VERIFIED", evidence=hull, **mean)
    case("tied-hybrid", 0, "VERIFIED", evidence=half, **{**mean, "tie": "hybrid 1/2"})
    case("tied-mean-half", 1, "not AD's output", evidence=half, **mean)
    case("tied-hybrid-mean", 1, "not AD's output", evidence=hull, **{**mean, "tie": "hybrid 1/2"})
    case("tied-sides", 1, "moves to the wrong side", evidence=hull.replace("1/4 b", "1/4 a"), **mean)
    case("tied-letter", 1, "has no side 'c'", evidence=hull.replace("1/4 b", "1/4 c"), **mean)
    case("tied-sign", 1, "has no side '+'", evidence=hull.replace("1/4 b", "1/4 +"), **mean)
    case("tied-long", 1, "one side for each", evidence=hull.replace("1/4 b", "1/4 b-"), **mean)
    case("tied-capital", 1, "has no side 'A'", evidence=hull.replace("3/4 a", "3/4 A"), **mean)
    first = """evidence separator
    v w 0 1
    tree
    branch 0
    leaf
    leaf"""
    case("tied-inside", 1, "not separated", evidence=first, **{**base, "verdict": "not-in-clarke", "tie": "first"})
    # Behind Relus at their kinks: with all on the left the window is flat.
    conv_net("tied-relu", dict(w=[[[[0]]]], b=[0], size=2), relu=True)
    batch("tied-relu.npz", [[[[1, 2], [-1, 3]]]])
    relu = {**base, "model": "tied-relu.onnx", "data": "tied-relu.npz", "touched": 5, "proxies": ["Relu 0 0"]}
    bias = AD.replace("w at", "b at")
    case("tied-relu-first", 0, "VERIFIED", evidence=bias, tie="first", **relu)
    case("tied-relu-mean", 0, "VERIFIED", evidence=bias, tie="mean", **relu)
    case("tied-relu-tie", 1, "no direction moves", evidence=bias.replace("-1", "1"), tie="first",
         **{**relu, "proxies": ["Relu 0 1"]})
    case("tied-relu-up", 0, "VERIFIED", evidence=bias.replace("-1", "1\n    move w at 0 1/9"), tie="last",
         **{**relu, "proxies": ["Relu 0 1"]})
    case("tied-relu-other", 1, "wrong side", evidence=bias.replace("-1", "1\n    move w at 0 -1/9"), tie="last",
         **{**relu, "proxies": ["Relu 0 1"]})
    # With w not in wrt all options have the derivative of b: a leaf need not choose.
    case("tied-alike", 0, "VERIFIED", verdict="not-in-clarke", wrt="b", tie="last", model="tied-alike.onnx",
         data="tied-relu.npz", touched=2, proxies=["Relu 0 2"], evidence=tied_alike())


def tied_alike():
    save("tied-alike.onnx", [
        helper.make_node("Conv", ["x", "w", "b"], ["y"], "conv"),
        helper.make_node("MaxPool", ["y"], ["p"], "pool", kernel_shape=[2, 2]),
        helper.make_node("Relu", ["p"], ["out"], "rho"),
    ], ["N", 1, 2, 2], None, dict(w=[[[[0]]]], b=[0]))
    return "evidence separator\nv b 0 1\ntree\nbranch 1\nleaf\nleaf"


def opposed():
    """An image and its negative, w = 0: in one the largest pixel is taken, in the other the smallest, not in
    both the first. The gradient of the loss is that of the one output less that of the other."""
    conv_net("opposed", dict(w=[[[[0]]]], b=[1], size=2))
    batch("opposed.npz", [[[[1, 2], [3, 4]]], [[[-1, -2], [-3, -4]]]], np.float32([[[[0]]], [[[2]]]]))
    base = dict(verdict="not-in-clarke", model="opposed.onnx", data="opposed.npz", touched=2, loss="mse", proxies=[],
                tie="first")
    dead = "dead 2\nu 0 b 1\nu 1 b 1"
    tree = "evidence separator\nv w 0 -1\ntree\nbranch 0\nbranch 1\n" + dead + "\nleaf\nleaf\nleaf"
    tree += "\nbranch 1\nleaf\nleaf\nleaf\nleaf" * 3
    case("opposed", 0, "VERIFIED", evidence=tree, **base)
    case("opposed-far", 0, "VERIFIED", evidence=tree.replace("u 1 b 1", "u 1 d 1/3"), **base)
    case("opposed-two", 0, "VERIFIED", evidence=tree.replace("dead 2", "dead 3").replace("u 1 b 1", "u 0 c 1/2\nu 1 b 2"),
         **base)
    wrong = [
        ("leaf", "not separated", tree.replace(dead, "leaf")),
        ("side", "not separated", tree.replace("v w 0 -1", "v w 0 1")),
        ("own", "another option", tree.replace("u 1 b", "u 1 a")),
        ("letter", "has no side 'e'", tree.replace("u 1 b", "u 1 e")),
        ("word", "another option", tree.replace("u 1 b", "u 1 bb")),
        ("missing", "has no side '1'", tree.replace("u 1 b", "u 1")),
        ("sum", "derivatives is not zero", tree.replace("u 1 b", "u 1 c")),
        ("order", "in increasing order", tree.replace("u 0 b 1\nu 1 b 1", "u 0 c 1\nu 0 b 1")),
        ("value", "positive values", tree.replace("u 1 b 1", "u 1 b -1")),
        ("unbranched", "has not been branched on", tree.replace("branch 1\n" + dead, dead, 1)),
        ("early", "has not been branched on", tree.replace("branch 1\nleaf\nleaf\nleaf\nleaf", "leaf", 1)),
        ("three", "'leaf' is expected", tree[:-5]),
        ("five", "'end' is expected", tree + "\nleaf"),
    ]
    for name, reason, evidence in wrong:
        case("opposed-" + name, 1, reason, evidence=evidence, **base)
    case("opposed-ad", 1, "wrong side", evidence=AD, **{**base, "verdict": "in-bouligand"})
    # Lemma 7 of Park, Chun, Lee: max(u + b, b) - max(-u + b, b) = u, and AD gives 2.
    save("lemma7.onnx", [
        helper.make_node("Conv", ["x", "w", "b"], ["y"], "conv"),
        helper.make_node("MaxPool", ["y"], ["p"], "pool", kernel_shape=[2], strides=[2]),
        helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(np.float32([[1], [-1]]))),
        helper.make_node("MatMul", ["p", "c"], ["out"], "difference"),
    ], ["N", 1, 4], None, dict(w=[[[0]]], b=[0]))
    batch("lemma7.npz", [[[1, 0, -1, 0]]])
    base = dict(verdict="not-in-clarke", model="lemma7.onnx", data="lemma7.npz", touched=2, proxies=[])
    tree = "evidence separator\nv w 0 1\ntree\nbranch 0\nbranch 1\n" + dead + "\nleaf\nbranch 1\nleaf\nleaf"
    case("lemma7", 0, "VERIFIED", evidence=tree, tie="first", **base)
    case("lemma7-last", 1, "not separated", evidence=tree, tie="last", **base)
    case("lemma7-mean", 1, "not separated", evidence=tree, tie="mean", **base)
    hull = "evidence hull 1\ncell 1 ab\ndirections 1\ndirection\nmove w at 0 1"
    case("lemma7-hull", 0, "VERIFIED", evidence=hull, tie="mean", **{**base, "verdict": "in-bouligand"})
    case("lemma7-hull-first", 1, "not AD's output", evidence=hull, tie="first", **{**base, "verdict": "in-bouligand"})


def normalized():
    """BatchNormalization: channel 0 has the scale and the shift 0, so its Relus are at their kink."""
    def model(name, var, epsilon):
        save(name + ".onnx", [
            helper.make_node("Conv", ["x", "w"], ["y"], "conv"),
            helper.make_node("BatchNormalization", ["y", "scale", "shift", "mean", "var"], ["n"], "norm", epsilon=epsilon),
            helper.make_node("Relu", ["n"], ["z"], "rho"),
            helper.make_node("GlobalAveragePool", ["z"], ["out"], "average"),
        ], ["N", 1, 2, 2], None, dict(w=[[[[1, 2], [0.5, 0.25]]], [[[0, 1], [-1, 0.5]]]], scale=[0, 2], shift=[0, 0.5],
                                     mean=[0.25, 0.5], var=var))
    model("norm", [1.5, 2], 1e-5)
    model("norm-exact", [3.5, 1.75], 0.5)
    batch("norm.npz", [[[[1, 2], [3, 4]]], [[[2, 1], [0, -1]]]], np.float32([[[[0]], [[1]]]] * 2))
    shutil.copy(path("norm.npz"), path("norm-exact.npz"))
    base = dict(verdict="in-bouligand", model="norm.onnx", data="norm.npz", touched=2, proxies=["Relu 0 0"])
    ad = AD.replace("move w", "move shift")
    case("norm", 0, "VERIFIED", evidence=ad, loss="mse", **base)
    case("norm-side", 1, "wrong side", evidence=ad.replace("-1", "1"), **base)
    # Along the scale the Relus move as the normalized entries do, which are positive.
    case("norm-scale", 0, "VERIFIED", evidence=ad.replace("shift", "scale"), **base)
    case("norm-scale-up", 1, "wrong side", evidence=ad.replace("shift at 0 -1", "scale at 0 1/3"), **base)
    case("norm-wrt", 1, "has no parameter 'mean'", evidence=ad, wrt="shift mean", **base)
    hull = "evidence hull 1\ncell 1 --\n" + "\n".join(ad.split("\n")[2:])
    case("norm-hull", 0, "VERIFIED", evidence=hull, **base)
    case("norm-hull-proxy", 1, "rational", evidence=hull, **{**base, "proxies": ["Relu 0 2"]})
    exact = {**base, "model": "norm-exact.onnx", "data": "norm-exact.npz"}
    case("norm-exact", 0, "VERIFIED", evidence=ad, **exact)
    case("norm-exact-hull", 0, "VERIFIED", evidence=hull, **exact)
    case("norm-exact-mse", 0, "VERIFIED", evidence=hull, **{**exact, "loss": "mse"})
    case("norm-exact-right", 1, "not AD's output", evidence=hull, **{**exact, "proxies": ["Relu 0 right"]})
    # The statistics are replaced with the weights.
    replaced = dict(w=np.ones((2, 1, 2, 2)), scale=[0, 0], shift=[0, 1], mean=[0, 0], var=[1, 1])
    for name, leave in [("norm-params", ""), ("norm-params-mean", "mean")]:
        with open(path(name + ".npz"), "wb") as f:
            np.savez(f, **{k: np.float32(v) for k, v in replaced.items() if k != leave})
        case(name, 1 if leave else 0, "not replaced" if leave else "VERIFIED", evidence=ad, params=name + ".npz", **base)
    wrong = dict(more=dict(z=[0]), shape=dict(shift=[[0], [1]]), size=dict(shift=[0, 1, 2]), empty=dict(shift=np.zeros((2, 0))))
    for name, other in wrong.items():
        with open(path(f"norm-params-{name}.npz"), "wb") as f:
            np.savez(f, **{k: np.float32(v) for k, v in {**replaced, **other}.items()})
        case("norm-params-" + name, 1, "is no parameter of the model, or has another shape", evidence=ad,
             params=f"norm-params-{name}.npz", **base)
    with open(path("norm-params-integers.npz"), "wb") as f: # as a count of steps: it is left out
        np.savez(f, steps=np.int64(7), shift=np.int64([0, 1]), **{k: np.float32(v) for k, v in replaced.items() if k != "shift"})
    case("norm-params-integers", 1, "'shift' is a parameter and not replaced", evidence=ad, params="norm-params-integers.npz", **base)
    # A pool behind a root that is not rational: entries are told apart by intervals, are one function, or cancel but for the root.
    rng = np.random.default_rng(4)
    for name, w, x in [("norm-pool", rng.normal(size=(1, 1, 2, 2)), rng.normal(size=(2, 1, 3, 3))),
                       ("norm-flat", rng.normal(size=(1, 1, 2, 2)), np.ones((2, 1, 3, 3))),
                       ("norm-tied", np.zeros((1, 1, 2, 2)), rng.normal(size=(2, 1, 3, 3)))]:
        conv_net(name, dict(w=w, b=[1], scale=[1.5], shift=[0.5], mean=[0.25], var=[2], size=3), norm=True)
        batch(name + ".npz", x)
        tied = name == "norm-tied"
        case(name, 1 if tied else 0, "the number of touched kinks is 2" if tied else "VERIFIED",
             evidence="evidence ad\ncell ad\ndirections 0", tie="first", verdict="in-bouligand",
             model=name + ".onnx", data=name + ".npz", touched=0, proxies=[])


NOTHING = "evidence ad\ncell ad\ndirections 0"
SHIFT = AD.replace("move w", "move b")


def norm_net(name, op, parameters, shape, tail=(), opset=17, head="MatMul", extra=(), head_attributes=None, **attributes):
    """w x, normalized with the scale s and the shift b; a Relu, or the tail."""
    nodes = [helper.make_node(head, ["x", "w"], ["y"], "dense", **(head_attributes or {})),
             helper.make_node(op, ["y", "s", "b"] + list(extra), ["n"], "norm", **attributes)]
    nodes += tail or [helper.make_node("Relu", ["n"], ["out"], "rho")]
    save(name + ".onnx", nodes, ["N"] + shape, None, parameters, opset)


def layers():
    """LayerNormalization: feature 0 has scale and shift 0, so its Relus are at their kink."""
    rng = np.random.default_rng(6)
    weights = dict(w=rng.normal(size=(3, 4)), s=[0, 1.5, -1, 0.5], b=[0, 0.25, 0.5, 0.125])
    norm_net("layer", "LayerNormalization", weights, [3])
    batch("layer.npz", rng.normal(size=(2, 3)), np.float32(rng.normal(size=(2, 4))))
    base = dict(verdict="in-bouligand", model="layer.onnx", data="layer.npz", touched=2, proxies=["Relu 0 0"])
    for loss in ["sum", "mse"]:
        case("layer-" + loss, 0, "VERIFIED", evidence=SHIFT, loss=loss, **base)
    case("layer-side", 1, "wrong side", evidence=SHIFT.replace("-1", "1"), **base)
    case("layer-right", 1, "wrong side", evidence=SHIFT, **{**base, "proxies": ["Relu 0 right"]})
    case("layer-none", 1, "no direction moves", evidence=NOTHING, **base)
    case("layer-other", 1, "no direction moves", evidence=SHIFT.replace("at 0", "at 1"), **base)
    case("layer-touched", 1, "number of touched kinks is 2", evidence=SHIFT, **{**base, "touched": 3})
    # w moves the normalized entries, and these times the scale 0 nothing.
    case("layer-weights", 1, "no direction moves", evidence=AD, **base)
    # The normalized entries at the kinks have signs of their own, here two.
    y = np.float32(weights["w"]).T.astype(float) @ np.load(path("layer.npz"))["x"].astype(float).T
    assert (y[0] < y.mean(0)).any() != (y[0] < y.mean(0)).all()
    case("layer-scale", 1, "wrong side", evidence=SHIFT.replace("move b", "move s"), **base)
    hull = "evidence hull 1\ncell 1 --\n" + "\n".join(SHIFT.split("\n")[2:])
    case("layer-hull", 0, "VERIFIED", evidence=hull, **base)
    case("layer-hull-proxy", 1, "not rational", evidence=hull, **{**base, "proxies": ["Relu 0 2"]})
    mix = """evidence mix 1
    mix rho 1/3
    cell mix -
    directions 1
    direction
    move b at 0 -1
    cell mix +
    directions 1
    direction
    move b at 0 1"""
    between = {**base, "verdict": "in-clarke", "proxies": ["Relu 0 2/3"]}
    case("layer-mix", 0, "VERIFIED", evidence=mix, **between)
    case("layer-mix-lambda", 1, "gives it no side", evidence=mix.replace("1/3", "2/3"), **between)
    case("layer-mix-side", 1, "wrong side", evidence=mix.replace("0 -1", "0 1"), **between)
    # With the proxy 2 AD is outside: the shift of feature 0 gets from 0 to 1 a sample.
    tree = "evidence separator\nv b 0 1\ntree\nbranch 0\nbranch 1\nleaf\nleaf\nbranch 1\nleaf\nleaf"
    outside = {**base, "verdict": "not-in-clarke", "proxies": ["Relu 0 2"]}
    case("layer-outside", 0, "VERIFIED", evidence=tree, **outside)
    case("layer-outside-side", 1, "not separated", evidence=tree.replace("b 0 1", "b 0 -1"), **outside)
    case("layer-outside-weights", 1, "cannot decide whether AD's output is separated", evidence=tree.replace("v b 0 1", "v w 0 1"), **outside)
    case("layer-outside-inside", 1, "not separated", evidence=tree, **{**outside, "proxies": ["Relu 0 1"]})
    case("layer-outside-leaf", 1, "moves along v", evidence=tree[:tree.index("branch")] + "leaf", **outside)
    # What is behind it is not affine; bounds need no more than what comes behind kinks.
    dead = tree.replace("leaf", "dead 2\nu 0 1\nu 1 1", 1)
    case("layer-dead", 1, "its argument is not affine", evidence=dead, **outside)
    bound = tree.replace("separator", "bound")
    case("layer-bound", 0, "VERIFIED", evidence=bound, **outside)
    case("layer-bound-side", 1, "not separated", evidence=bound.replace("b 0 1", "b 0 -1"), **outside)
    case("layer-bound-inside", 1, "not separated", evidence=bound, **{**outside, "proxies": ["Relu 0 1"]})
    case("layer-parallel", 1, "its argument is not affine",
         evidence=bound.replace("tree", "parallel 0 1\ntree"), **outside)
    # Nor are there simplices: not behind it, and not of affine arguments before it.
    block = "evidence simplices 1\nblock 2 0 1\ndirection\nmove b at 0 1\ndirection\nmove b at 0 -1\ndirections 0"
    case("layer-simplices", 1, "its argument is not affine", evidence=block, **between)
    save("layer-before.onnx", [
        helper.make_node("Gemm", ["x", "w", "c"], ["y"], "dense"), helper.make_node("Relu", ["y"], ["r"], "rho"),
        helper.make_node("LayerNormalization", ["r", "s", "b"], ["out"], "norm")], ["N", 3], None,
        dict(w=np.zeros((3, 4)), c=[0, 1, 2, 3], s=[1, 2, 3, 4], b=[0, 0, 0, 0]))
    before = {**between, "model": "layer-before.onnx", "touched": 2, "proxies": ["Relu 0 1/2"]}
    case("layer-before-bound", 2, "adjoints in a network that normalizes", evidence="evidence bound\nv c 0 1\ntree\nleaf", **{**before, "verdict": "not-in-clarke"})
    case("layer-before-simplices", 2, "adjoints in a network that normalizes", evidence=block.replace("move b", "move c"), **before)
    case("layer-before-mix", 0, "VERIFIED", evidence=mix.replace("1/3", "1/2").replace("move b", "move c"), **before)
    # Along the shift alone the arguments are affine, all else being constant.
    case("layer-shift", 1, "derivatives is not zero", evidence=dead, wrt="b", **outside)
    turned = tree.replace("branch 1\nleaf\nleaf\nbranch 1\nleaf\nleaf",
                          "branch 1\nleaf\ndead 2\nu 0 1\nu 1 1\nbranch 1\ndead 2\nu 0 1\nu 1 1\nleaf")
    case("layer-turned", 0, "VERIFIED", evidence=turned, wrt="b", **outside)
    case("layer-turned-bound", 0, "VERIFIED", evidence=turned.replace("separator", "bound"), wrt="b", **outside)
    case("layer-turned-all", 1, "its argument is not affine", evidence=turned, **outside)
    ways = [("batch", "the batch axis would be mixed", dict(axis=0)), ("epsilon", "must be above zero", dict(epsilon=0.0)),
            ("negative", "must be above zero", dict(epsilon=-1.0)), ("axes", "an axis is out of range", dict(axis=2)),
            ("attribute", "an attribute is not supported", dict(epsilons=1.0))]
    for name, reason, attributes in ways:
        norm_net("layer-" + name, "LayerNormalization", weights, [3], **attributes)
        case("layer-" + name, 2, reason, evidence=SHIFT, **{**base, "model": f"layer-{name}.onnx"})
    norm_net("layer-broadcast", "LayerNormalization", {**weights, "s": np.ones((2, 4))}, [3])
    case("layer-broadcast", 2, "more than one entry along the batch axis", evidence=SHIFT, **{**base, "model": "layer-broadcast.onnx"})
    layer = lambda *out: helper.make_node("LayerNormalization", ["y", "s", "b"], list(out), "norm")  # noqa: E731
    for name, use, status in [("more", "n", 0), ("mean", "m", 1)]: # other outputs are made where they are read
        save(f"layer-{name}.onnx", [helper.make_node("MatMul", ["x", "w"], ["y"], "dense"), layer("n", "m", "d"),
                                    helper.make_node("Relu", [use], ["out"], "rho")], ["N", 3], None, weights)
        case("layer-" + name, status, "the number of touched kinks is 0" if status else "VERIFIED", evidence=SHIFT,
             **{**base, "model": f"layer-{name}.onnx"})


def exact_layers():
    """Entries 2 apart, epsilon 9/16: the root is 5/4, the normalized entries -4/5 and 4/5 in every sample. Beside it samples
    in which nothing is touched, whose root is not rational: their gradients are those of all cells."""
    weights = dict(w=[[1, 1], [1, 3]], s=[1, 0], b=[1, 0])
    norm_net("layer-exact", "LayerNormalization", weights, [2], epsilon=0.5625)
    batch("layer-exact.npz", [[2, 1], [-3, -1]])
    base = dict(verdict="in-bouligand", model="layer-exact.onnx", data="layer-exact.npz", touched=2, proxies=["Relu 0 0"])
    hull = "evidence hull 1\ncell 1 --\n" + "\n".join(SHIFT.replace("at 0", "at 1").split("\n")[2:])
    case("layer-exact", 0, "VERIFIED", evidence=hull, **base)
    case("layer-exact-right", 1, "not AD's output", evidence=hull, **{**base, "proxies": ["Relu 0 right"]})
    case("layer-exact-side", 1, "wrong side", evidence=hull.replace("--", "++"), **base)
    half = hull.replace("hull 1", "hull 2").replace("cell 1 --", "cell 1/2 --")
    half += half[half.index("\ncell"):].replace("--", "++").replace("1 -1", "1 1")
    between = {**base, "verdict": "in-clarke", "proxies": ["Relu 0 1/2"]}
    case("layer-exact-half", 0, "VERIFIED", evidence=half, **between)
    case("layer-exact-third", 1, "not AD's output", evidence=half, **{**between, "proxies": ["Relu 0 1/3"]})
    norm_net("layer-inexact", "LayerNormalization", weights, [2], epsilon=0.5)
    case("layer-inexact", 0, "VERIFIED", evidence=half, **{**between, "model": "layer-inexact.onnx"})
    case("layer-inexact-third", 1, "not rational", evidence=half, **{**between, "model": "layer-inexact.onnx", "proxies": ["Relu 0 1/3"]})
    # Moves of w keep the root, or do not; only the normalized entries' gradient has it.
    norm_net("layer-still", "LayerNormalization", {**weights, "s": [0, 0]}, [2], epsilon=0.5)
    case("layer-still", 1, "number of touched kinks is 2", evidence=half, **{**between, "touched": 4})
    # LeakyRelu touches one sample only, in which all is 0: there the root is 3/4.
    save("layer-beside.onnx", [
        helper.make_node("MatMul", ["x", "w"], ["y"], "dense"),
        helper.make_node("LayerNormalization", ["y", "s"], ["n"], "norm", epsilon=0.5625),
        helper.make_node("Relu", ["n"], ["z"], "rho"), helper.make_node("MatMul", ["z", "v"], ["out"], "head"),
    ], ["N", 2], None, dict(w=[[1, 0], [0, 1]], s=[1, 1], v=[[1], [1]]))
    batch("layer-beside.npz", [[1, 1], [1, 3], [1, 2]])
    base = {**base, "model": "layer-beside.onnx", "data": "layer-beside.npz"}
    way = "directions 1\ndirection\nmove w at 0 "
    both = f"evidence hull 2\ncell 1/2 +-\n{way}1\ncell 1/2 -+\n{way}-1"
    case("layer-beside", 0, "VERIFIED", evidence=both, **{**base, "verdict": "in-clarke"})
    case("layer-beside-side", 1, "wrong side", evidence=both.replace("0 -1", "0 1"), **{**base, "verdict": "in-clarke"})
    case("layer-beside-one", 1, "not AD's output", evidence=f"evidence hull 1\ncell 1 +-\n{way}1", **base)
    # The two are opposite, and affine but for the root: neither leaf nor cell is missing from this tree.
    dead = "dead 2\nu 0 1\nu 1 1"
    case("layer-beside-dead", 1, "AD's output is not separated", **{**base, "verdict": "not-in-clarke", "wrt": "w"},
         evidence=f"evidence separator\nv w 0 1\ntree\nbranch 0\nbranch 1\n{dead}\nleaf\nbranch 1\nleaf\n{dead}")
    # An entry alone is its mean: 0, whatever w is.
    norm_net("layer-alone", "LayerNormalization", dict(w=[[1], [1]], s=[1], b=[0]), [2])
    case("layer-alone", 0, "VERIFIED", evidence=NOTHING, **{**base, "model": "layer-alone.onnx", "touched": 3, "wrt": "w"})
    case("layer-alone-shift", 1, "no direction moves", evidence=NOTHING,
         **{**base, "model": "layer-alone.onnx", "touched": 3, "wrt": "w b"})
    case("layer-beside-up", 1, "wrong side", evidence=f"evidence hull 1\ncell 1 ++\n{way}1", **base)


def trained():
    """BatchNormalization by the minibatch's statistics: what one sample is moves the others."""
    weights = dict(w=[[1, 0.5, 0], [0.25, -1, 0]], s=[1.5, 0, 1], b=[0.25, 0, 0], mean=[0, 0, 0], var=[1, 1, 1])
    norm_net("trained", "BatchNormalization", weights, [2], extra=["mean", "var"], training_mode=1)
    batch("trained.npz", [[1, 2], [-1, 0.5], [3, 1]], np.float32([[0, 1, 0], [1, 0, 1], [0.5, 0, 0]]))
    base = dict(verdict="in-bouligand", model="trained.onnx", data="trained.npz", touched=6, loss="mse",
                proxies=["Relu 0 0"])
    ad = SHIFT.replace("at 0 -1", "at 1 -1\n    move b at 2 -2")
    case("trained", 0, "VERIFIED", evidence=ad, **base)
    case("trained-side", 1, "wrong side", evidence=ad.replace("-1", "1"), **base)
    case("trained-half", 1, "no direction moves", evidence=SHIFT.replace("at 0", "at 1"), **base)
    case("trained-scale", 1, "wrong side", evidence=ad.replace("b at 1", "s at 1"), **base)
    # Feature 2 is 0 in every sample. Moved by w, the samples less their mean cannot all go down.
    case("trained-weights", 1, "wrong side", evidence=ad.replace("move b at 2 -2", "move w at 2 -1"), **base)
    case("trained-touched", 1, "number of touched kinks is 6", evidence=ad, **{**base, "touched": 5})
    case("trained-mean", 1, "has no parameter 'mean'", evidence=ad, wrt="b mean", **base)
    hull = "evidence hull 1\ncell 1 ------\n" + "\n".join(ad.split("\n")[2:])
    case("trained-hull", 0, "VERIFIED", evidence=hull, **base)
    case("trained-hull-proxy", 1, "not rational", evidence=hull, **{**base, "proxies": ["Relu 0 2"]})
    # In another batch other numbers; and one sample is its own mean, so that all but the shift 1/4 are 0.
    batch("trained-one.npz", [[1, 2]], np.float32([[0, 1, 0]]))
    one = {**base, "data": "trained-one.npz", "touched": 2}
    case("trained-one", 0, "VERIFIED", evidence=ad, **one)
    case("trained-one-hull", 0, "VERIFIED", evidence="evidence hull 1\ncell 1 --\n" + "\n".join(ad.split("\n")[2:]),
         wrt="b", **one)
    case("trained-one-flat", 0, "VERIFIED", evidence=NOTHING, wrt="w", **one)
    case("trained-flat", 1, "no direction moves", evidence=NOTHING, wrt="w", **base)
    # The other statistics do not enter, and are replaced with the weights all the same.
    for name, leave in [("trained-params", ""), ("trained-params-var", "var")]:
        with open(path(name + ".npz"), "wb") as f:
            np.savez(f, **{k: np.float32(v) + (k in ["mean", "var"]) for k, v in weights.items() if k != leave})
        case(name, 1 if leave else 0, "not replaced" if leave else "VERIFIED", evidence=ad, params=name + ".npz", **base)
    # With the proxy 2 for the shift of feature 1 alone: 0 to 1 a sample, and these together.
    tree = "leaf"
    for k in [4, 3, 1]:
        tree = f"branch {k}\n{tree}\n{tree}"
    outside = {**base, "verdict": "not-in-clarke", "proxies": ["Relu 0 2"], "loss": "sum"}
    leaves = lambda k: "leaf" if k > 2 else f"branch {k}\n{leaves(k + 1)}\n{leaves(k + 1)}"  # noqa: E731
    tree = "evidence separator\nv b 1 1\ntree\n" + leaves(0)
    case("trained-outside", 0, "VERIFIED", evidence=tree, **outside)
    case("trained-outside-side", 1, "not separated", evidence=tree.replace("b 1 1", "b 1 -1"), **outside)
    case("trained-outside-one", 1, "not separated", evidence=tree, **{**outside, "proxies": ["Relu 0 1"]})
    case("trained-bound", 0, "VERIFIED", evidence=tree.replace("separator", "bound"), **outside)
    case("trained-bound-side", 1, "not separated", evidence=tree.replace("separator", "bound").replace("b 1 1", "b 1 -1"), **outside)
    case("trained-bound-one", 1, "not separated", evidence=tree.replace("separator", "bound"), **{**outside, "proxies": ["Relu 0 1"]})
    # Two samples 2 apart in both features, epsilon 9/16. Along w at 0 only the sample moves whose first input is not 0; by the
    # mean the other does too, the other way.
    norm_net("trained-exact", "BatchNormalization", {**weights, "w": [[1, 1], [0, 0]], "s": [1, 0], "b": [0, 0], "mean": [0, 0],
                                                     "var": [1, 1]}, [2], extra=["mean", "var"], training_mode=1, epsilon=0.5625)
    batch("trained-exact.npz", [[2, 0], [0, 5]])
    exact = dict(verdict="in-bouligand", model="trained-exact.onnx", data="trained-exact.npz", touched=2,
                 proxies=["Relu 0 0"])
    hull = "evidence hull 1\ncell 1 --\n" + "\n".join(SHIFT.replace("at 0", "at 1").split("\n")[2:])
    case("trained-exact", 0, "VERIFIED", evidence=hull, **exact)
    case("trained-exact-right", 1, "not AD's output", evidence=hull, **{**exact, "proxies": ["Relu 0 1"]})
    ways = [("old", "an attribute is not supported", dict(opset=13)), ("epsilon", "must be above zero", dict(epsilon=0.0)),
            ("spatial", "an attribute is not supported", dict(spatial=0))]
    for name, reason, attributes in ways:
        norm_net("trained-" + name, "BatchNormalization", weights, [2], extra=["mean", "var"], training_mode=1, **attributes)
        case("trained-" + name, 2, reason, evidence=ad, **{**base, "model": f"trained-{name}.onnx"})
    for name, training, use, status in [("more", 1, "n", 0), ("running", 1, "m", 2), ("inference", 0, "n", 2)]:
        save(f"trained-{name}.onnx", [
            helper.make_node("MatMul", ["x", "w"], ["y"], "dense"),
            helper.make_node("BatchNormalization", ["y", "s", "b", "mean", "var"], ["n", "m", "d"], "norm",
                             training_mode=training),
            helper.make_node("Relu", [use], ["out"], "rho")], ["N", 2], None, weights)
        reason = {"more": "VERIFIED", "running": "running statistics of all samples", "inference": "without it there is one output"}
        case("trained-" + name, status, reason[name], evidence=ad, **{**base, "model": f"trained-{name}.onnx"})
    trained_apart()


def trained_apart():
    """The larger of 2 n w and 3 n w at w = 0: n, of two samples that no parameter moves, is minus and plus a root that is not rational. Its
    gradients are that root and minus it, and AD says 0. Neither n is constantly 0, so that both windows are touched."""
    save("trained-apart.onnx", [
        helper.make_node("BatchNormalization", ["x", "w", "b", "b", "v"], ["z", "m1", "v1"], "norm", training_mode=1, epsilon=1.0),
        helper.make_node("Mul", ["z", "two"], ["c"], "c"), helper.make_node("Mul", ["z", "three"], ["d"], "d"),
        helper.make_node("Max", ["c", "d"], ["out"], "top")], ["N", 1], ["N", 1], dict(w=[0], b=[0], v=[1], two=[2], three=[3]))
    batch("trained-apart.npz", [[1], [3]])
    base = dict(verdict="in-clarke", model="trained-apart.onnx", data="trained-apart.npz", touched=2, proxies=[], wrt="w")
    right, left = [f"directions 1\ndirection\nmove w at 0 {x}" for x in (1, -1)]
    means = f"evidence hull 2\ncell 1/2 ab\n{right}\ncell 1/2 ba\n{left}"
    case("trained-apart", 0, "VERIFIED", evidence=means, tie="tie Maximum mean", **base)
    one = {**base, "verdict": "in-bouligand", "touched": 1}
    case("trained-apart-one", 1, "the number of touched kinks is 2", evidence=f"evidence ad\ncell ad\n{right}", tie="tie Maximum first", **one)


def wide():
    """The largest of 200 entries x + b, of which 30 are equal: options behind z have numbers. AD takes the mean."""
    save("wide.onnx", [helper.make_node("Add", ["x", "b"], ["y"], "sum"), helper.make_node("GlobalMaxPool", ["y"], ["out"], "pool")], ["N", 1, 200],
         None, dict(b=[0] * 200))
    batch("wide.npz", [[[2 if e % 7 == 0 else -1 for e in range(200)]]])
    options = [e for e in range(200) if e % 7 == 0]
    letter = [chr(97 + o) if o < 26 else "{%d}" % (o + 1) for o in range(len(options))]
    cells = [f"cell 1/{len(options)} {c}\ndirections 1\ndirection\nmove b at {e} 1" for c, e in zip(letter, options)]
    hull = "\n".join([f"evidence hull {len(options)}"] + cells)
    base = dict(verdict="in-clarke", model="wide.onnx", data="wide.npz", touched=1, proxies=[], tie="tie GlobalMaxPool mean")
    case("wide", 0, "VERIFIED", evidence=hull, **base)
    last, most = letter[-1], len(options)
    for name, side, reason in [("letter", "{26}", "has no side"), ("more", "{%d}" % (most + 1), "has no side"), ("zero", "{0%d}" % most, "has no side"),
                               ("open", last[:-1], "has no side"), ("two", last + "}", "one side for each touched kink"),
                               ("long", "{%d}" % (2 ** 64 + most), "has no side"), ("other", letter[-2], "moves to the wrong side"),
                               ("space", "{", "has no side"), ("twice", last + last, "one side for each touched kink")]:
        case(f"wide-{name}", 1, reason, evidence=hull.replace(f" {last}\n", f" {side}\n"), **base)
    case("wide-first", 0, "VERIFIED", evidence=AD.replace("move w at 0 -1", "move b at 0 1"), **{**base, "verdict": "in-bouligand", "tie": "tie GlobalMaxPool first"})


def routed():
    """The row of a table that the largest of three numbers names, less its negative, by two ReLUs: of a row that is 0 AD says 0, and the slope is 1.
    Places are constants where no two numbers are equal, and the row is known; where two are, there is no answer."""
    def model(name, *nodes):
        save(name, [helper.make_node("MatMul", ["x", "w"], ["h"]), *nodes, helper.make_node("Relu", ["r"], ["a"], "up"), helper.make_node("Neg", ["r"], ["m"]),
                    helper.make_node("Relu", ["m"], ["b"], "down"), helper.make_node("Sub", ["a", "b"], ["out"])], ["N", 3], None, dict(w=np.eye(3), t=[[1], [0], [2]]))
    least = [helper.make_node("ArgMin", ["h"], ["i"], axis=1, select_last_index=1), helper.make_node("Constant", [], ["n"], value=numpy_helper.from_array(np.int64(3))),
             helper.make_node("Constant", [], ["v"], value=numpy_helper.from_array(np.float32([0, 1]))), helper.make_node("OneHot", ["i", "n", "v"], ["o"]),
             helper.make_node("Constant", [], ["one"], value=numpy_helper.from_array(np.int64([1]))), helper.make_node("Squeeze", ["o", "one"], ["p"]),
             helper.make_node("MatMul", ["p", "t"], ["r"])]
    model("routed.onnx", helper.make_node("ArgMax", ["h"], ["i"], axis=1, keepdims=0), helper.make_node("Gather", ["t", "i"], ["r"]))
    model("routed-least.onnx", *least)
    batch("routed.npz", [[0, 3, 1], [5, 1, 2]])
    batch("routed-least.npz", [[0, -3, 1], [-5, 1, 2]])
    batch("routed-equal.npz", [[0, 3, 1], [5, 5, 2]])
    tree = "evidence separator\nv t 1 -1\ntree\nbranch 0\nbranch 1\ndead 2\nu 0 1\nu 1 1\nleaf\nbranch 1\nleaf\ndead 2\nu 0 1\nu 1 1"
    base = dict(verdict="not-in-clarke", touched=2, proxies=["Relu 0 0"])
    for name, row in [("routed", "routed"), ("routed-least", "routed-least")]:
        case(name, 0, "VERIFIED", model=row + ".onnx", data=row + ".npz", evidence=tree, **base)
        case(name + "-other", 1, "separated", model=row + ".onnx", data=row + ".npz", evidence=tree.replace("v t 1", "v t 2"), **base)
    case("routed-equal", 2, "is where the function jumps", model="routed.onnx", data="routed-equal.npz", evidence=tree, **base)


def global_maxima():
    """GlobalMaxPool behind a convolution by 0: w x + b, tied, with the options of the image's numbers; and behind
    normalizations, which keep what is one function."""
    pool = [helper.make_node("Conv", ["x", "w", "b"], ["y"], "conv"), helper.make_node("GlobalMaxPool", ["y"], ["out"], "pool")]
    save("global.onnx", pool, ["N", 1, 2, 2], None, dict(w=[[[[0]]]], b=[1]))
    batch("global.npz", [[[[1, 1], [1, 2]]]])
    rule = "tie GlobalMaxPool "
    base = dict(verdict="in-bouligand", model="global.onnx", data="global.npz", touched=1, proxies=[])
    right = AD.replace("at 0 -1", "at 0 1/2")
    case("global", 0, "Of these, windows with ties: 1", evidence=AD, tie=rule + "first", **base)
    case("global-last", 0, "VERIFIED", evidence=right, tie=rule + "last", **base)
    case("global-wrong", 1, "moves to the wrong side", evidence=right, tie=rule + "first", **base)
    case("global-mean-ad", 1, "gives it no side", evidence=AD, tie=rule + "mean", **base)
    case("global-max", 1, "the tie rule of GlobalMaxPool", evidence=AD, tie="first", **base)
    case("global-untied", 1, "'tie' is expected", evidence=AD, **base)
    case("global-both", 1, "'touched' is expected", evidence=AD, tie=rule + "first\ntie MaxPool first", **base)
    hull = """evidence hull 2
    cell 3/4 a
    directions 1
    direction
    move w at 0 -1
    cell 1/4 b
    directions 1
    direction
    move w at 0 1"""
    mean = {**base, "verdict": "in-clarke", "tie": rule + "mean"}
    case("global-mean", 0, "VERIFIED", evidence=hull, **mean)
    case("global-half", 1, "not AD's output", evidence=hull.replace("3/4", "1/2").replace("1/4", "1/2"), **mean)
    # Two pools of other rules: MaxPool takes the last.
    save("global-two.onnx", [
        helper.make_node("Conv", ["x", "w", "b"], ["y"], "conv"),
        helper.make_node("MaxPool", ["y"], ["m"], "pool", kernel_shape=[1, 2], strides=[1, 2]),
        helper.make_node("GlobalMaxPool", ["m"], ["out"], "pools")], ["N", 1, 2, 2], None, dict(w=[[[[0]]]], b=[1]))
    batch("global-two.npz", [[[[1, 3], [2, 2]]]])
    two = dict(verdict="in-bouligand", model="global-two.onnx", data="global-two.npz", touched=2, proxies=[])
    case("global-two", 0, "VERIFIED", evidence=right, tie=rule + "first\ntie MaxPool last", **two)
    case("global-two-swapped", 1, "wrong side", evidence=right, tie=rule + "last\ntie MaxPool first", **two)
    case("global-two-order", 1, "the tie rule of GlobalMaxPool", evidence=right, tie="tie MaxPool last\n" + rule + "first",
         **two)
    case("global-two-one", 1, "'tie' is expected", evidence=right, tie=rule + "first", **two)
    # A line that begins with 0: its first entry is constant, the others, of other numbers, are too. Near s = 0 the
    # maximum is 4/3 |s|.
    sides = "evidence hull 2\ncell 1/2 b\ndirections 1\ndirection\nmove s at 0 1\ncell 1/2 c\ndirections 1\ndirection\nmove s at 0 -1"
    for name, epsilon in [("line", 0.0625), ("line-root", 0.25)]:
        norm_net("global-" + name, "GroupNormalization", dict(w=[[[1]]], s=[0], b=[0]), [1, 4], head="Conv", opset=18,
                 num_groups=1, epsilon=epsilon, tail=[helper.make_node("GlobalMaxPool", ["n"], ["out"], "pool")])
    batch("global-line.npz", [[[0, 1, -1, 0]]])
    line = {**base, "model": "global-line.onnx", "data": "global-line.npz", "wrt": "s"}
    for tie in ["first", "last", "mean"]:
        case("global-line-" + tie, 0, "VERIFIED", evidence=sides, tie=rule + tie, **{**line, "verdict": "in-clarke"})
    case("global-line-root", 1, "not rational", evidence=sides, tie=rule + "first",
         **{**line, "verdict": "in-clarke", "model": "global-line-root.onnx"})
    case("global-line-ad", 1, "wrong side", evidence=AD.replace("move w", "move s").replace("-1", "1"),
         tie=rule + "first", **line)
    # One function in all places, before the normalization and behind it; all but one; the same in other groups.
    for name, x, touched in [("flat", np.full((2, 2, 3), 0.5), 0), ("most", [[[1, 1, 2], [1, 1, 1]]] * 2, 2),
                             ("alike", [[[1, 2, 2], [2, 1, 2]]] * 2, 4)]:
        for op, opset, more in [("InstanceNormalization", 17, {}), ("GroupNormalization", 18, dict(num_groups=2))]:
            model = f"global-{name}-{op[0].lower()}"
            norm_net(model, op, dict(w=[[[1.5]], [[-0.75]]], s=[0, 0], b=[1, 1]), [2, 3], head="Conv", opset=opset,
                     head_attributes=dict(group=2), tail=[helper.make_node("GlobalMaxPool", ["n"], ["out"], "pool")], **more)
            batch(model + ".npz", x)
            at = dict(verdict="in-bouligand", model=model + ".onnx", data=model + ".npz", touched=touched, proxies=[],
                      tie=rule + "first")
            case(model, 0 if touched == 0 else 1, "VERIFIED" if touched == 0 else "no direction moves", evidence=NOTHING, **at)
            case(model + "-touched", 1, f"number of touched kinks is {touched}", evidence=NOTHING,
                 **{**at, "touched": touched + 1})
    # Rows normalized each for itself: what is one function in all of a row is 0, and of equal arguments in two rows each is
    # another function.
    for name, x, touched in [("zeros", [[[[1, 1, 1], [0, 0, 0]]]], 0), ("others", [[[[1, 2, 2], [1, 2, 5]]]], 1)]:
        norm_net("global-" + name, "LayerNormalization", dict(w=[[[[1.5]]]], s=[0, 0, 0], b=[1, 1, 1]), [1, 2, 3], head="Conv",
                 tail=[helper.make_node("GlobalMaxPool", ["n"], ["out"], "pool")])
        batch(f"global-{name}.npz", x)
        rows = dict(verdict="in-bouligand", model=f"global-{name}.onnx", data=f"global-{name}.npz", touched=touched,
                    proxies=[], tie=rule + "first", wrt="w")
        if touched == 0:
            case("global-zeros", 0, "VERIFIED", evidence=NOTHING, **rows)
            continue
        one = "evidence hull 1\ncell 1 {0}\ndirections 0"
        case("global-others-f", 0, "VERIFIED", evidence=one.format("f"), **rows)
        case("global-others-g", 1, "has no side 'g'", evidence=one.format("g"), **rows)
    for name, groups in [("three", 3), ("no", 0)]:
        norm_net(f"groups-{name}", "GroupNormalization", dict(w=[[[1.5]], [[-0.75]]], s=[0, 0], b=[1, 1]), [2, 3], head="Conv",
                 opset=18, num_groups=groups, head_attributes=dict(group=2))
        case(f"groups-{name}", 2, "is no divisor of the channels", evidence=NOTHING, verdict="in-bouligand",
             model=f"groups-{name}.onnx", data="global-flat-i.npz", touched=0, proxies=["Relu 0 0"])


def later(make):
    yield from make().items()


def operators():
    """One small model an operator or so, its batch, and what ONNX's reference evaluator makes of it.
    All numbers are small dyadics, so that float32 arithmetic is exact where no exp is taken."""
    from onnx.reference import ReferenceEvaluator
    rng = np.random.default_rng(5)

    def dyadic(*shape):
        return (rng.integers(-12, 13, size=shape) / 4).astype(np.float32)

    def ints(*values):
        return numpy_helper.from_array(np.array(values, np.int64))

    node = helper.make_node
    constant = lambda name, value: node("Constant", [], [name], value=value)  # noqa: E731
    number = lambda name, v: constant(name, numpy_helper.from_array(np.float32(v)))  # noqa: E731
    cases = {
        "gemm": ([node("Gemm", ["x", "w", "b"], ["y"], alpha=0.5, beta=2.0),
                  node("Gemm", ["y", "v"], ["out"], transB=1)],
                 [3], 4, dict(w=dyadic(3, 5), b=dyadic(1, 5), v=dyadic(2, 5)), 17),
        "matmul-left": ([node("MatMul", ["w", "x"], ["y"]), node("MatMul", ["y", "v"], ["z"]),
                         node("MatMul", ["u", "z"], ["out"])],
                        [2, 3, 2], 3, dict(w=dyadic(4, 3), v=dyadic(2, 5), u=dyadic(4)), 17),
        "arithmetic": ([node("Add", ["x", "a"], ["y1"]), node("Sub", ["b", "y1"], ["y2"]),
                        node("Mul", ["y2", "c"], ["y3"]), node("Div", ["y3", "d"], ["y4"]),
                        node("Sub", ["y4", "y1"], ["y5"]), node("Add", ["y5", "y2"], ["out"])],
                       [2, 3], 3, dict(a=dyadic(2, 1), b=dyadic(3), c=dyadic(1, 2, 3),
                                       d=np.float32([[0.5, -2, 4]])), 17),
        "shapes": ([node("Transpose", ["x"], ["y1"], perm=[0, 2, 1, 3]), constant("s", ints(0, -1, 2)),
                    node("Reshape", ["y1", "s"], ["y2"]), node("Unsqueeze", ["y2", "ax"], ["y3"]),
                    node("Identity", ["y3"], ["y4"]), constant("ax", ints(2)),
                    node("Squeeze", ["y4", "ax"], ["y5"]), node("Flatten", ["y5"], ["y6"]),
                    node("Transpose", ["w"], ["wt"]), node("MatMul", ["y6", "wt"], ["y7"]),
                    node("Dropout", ["y7"], ["out"])],
                   [2, 3, 2], 2, dict(w=dyadic(4, 12)), 17),
        "pieces": ([node("Relu", ["x"], ["r"]), node("LeakyRelu", ["x"], ["l"], alpha=0.25),
                    node("PRelu", ["x", "p"], ["q"]), number("lo", -1), number("hi", 2),
                    node("Clip", ["x", "lo", "hi"], ["c"]), node("Clip", ["x", "", "hi"], ["d"]),
                    node("HardSigmoid", ["x"], ["h"], alpha=0.25, beta=0.5), node("Abs", ["x"], ["a"]),
                    node("Add", ["r", "l"], ["s1"]), node("Add", ["s1", "q"], ["s2"]),
                    node("Add", ["s2", "c"], ["s3"]), node("Add", ["s3", "d"], ["s4"]),
                    node("Add", ["s4", "h"], ["s5"]), node("Sub", ["s5", "a"], ["s6"]),
                    node("Mul", ["s6", "w"], ["out"])],
                   [6], 5, dict(p=dyadic(6), w=dyadic(6)), 17),
        "clip-old": ([node("Clip", ["x"], ["y"], min=-0.5, max=1.5), node("Clip", ["y"], ["z"], max=1.0),
                      node("MatMul", ["z", "w"], ["out"])], [3], 4, dict(w=dyadic(3, 2)), 9),
        "hardswish": ([node("MatMul", ["x", "w"], ["y"]), node("HardSwish", ["y"], ["out"])],
                      [3], 4, dict(w=dyadic(3, 4)), 17),
        "smooth": ([node("MatMul", ["x", "w"], ["y"]), node("Sigmoid", ["y"], ["s"]),
                    node("Tanh", ["y"], ["t"]), node("Add", ["s", "t"], ["z"]),
                    node("Softmax", ["z"], ["u"], axis=1), node("LogSoftmax", ["u"], ["v"], axis=-1),
                    node("Mul", ["v", "m"], ["out"])],
                   [3, 4], 3, dict(w=dyadic(4, 2), m=dyadic(3, 2)), 17),
        "softmax-old": ([node("Softmax", ["x"], ["y"]), node("Mul", ["y", "w"], ["out"])],
                        [2, 3], 2, dict(w=dyadic(2, 3)), 11),
    }
    channels = lambda *values: np.float32(values)  # noqa: E731
    half = dict(kernel_shape=[2, 2], strides=[2, 1])
    more = lambda: {  # noqa: E731
        "conv": ([node("Conv", ["x", "w", "b"], ["y"], group=2, dilations=[2, 1], strides=[1, 2], pads=[2, 0, 1, 1]),
                  node("Relu", ["y"], ["z"]), node("Conv", ["z", "v"], ["u"], kernel_shape=[1, 1]),
                  node("Conv", ["x", "s"], ["t"], strides=[1, 2], pads=[1, 0, 1, 1]), node("Add", ["u", "t"], ["out"])],
                 [4, 4, 5], 2, dict(w=dyadic(6, 2, 2, 3), b=dyadic(6), v=dyadic(2, 6, 1, 1), s=dyadic(2, 4, 2, 3)), 17),
        "conv-line": ([node("Conv", ["x", "w", "b"], ["y"], auto_pad="SAME_UPPER", strides=[2]),
                       node("Conv", ["y", "v"], ["z"], auto_pad="SAME_LOWER", kernel_shape=[2]),
                       node("Conv", ["z", "u"], ["out"], auto_pad="VALID", dilations=[2])],
                      [2, 9], 2, dict(w=dyadic(3, 2, 4), b=dyadic(3), v=dyadic(2, 3, 2), u=dyadic(2, 2, 2)), 17),
        "pools": ([node("Mul", ["x", "m"], ["y"]),
                   node("MaxPool", ["y"], ["p1"], ceil_mode=1, pads=[0, 0, 0, 1], dilations=[1, 2], **half),
                   node("AveragePool", ["y"], ["p2"], pads=[1, 0, 1, 0], **half),
                   node("AveragePool", ["y"], ["p3"], pads=[1, 1, 1, 1], count_include_pad=1, **half),
                   node("MaxPool", ["y"], ["p4"], auto_pad="SAME_LOWER", kernel_shape=[2, 2]),
                   node("Flatten", ["p1"], ["f1"]), node("Flatten", ["p2"], ["f2"]), node("Flatten", ["p3"], ["f3"]),
                   node("Flatten", ["p4"], ["f4"]), node("Concat", ["f1", "f2", "f3", "f4"], ["c"], axis=1),
                   node("Mul", ["c", "w"], ["out"])],
                  [2, 5, 4], 2, dict(m=dyadic(2, 5, 4), w=dyadic(2 * (9 + 9 + 15 + 20))), 12),
        "means": ([node("Mul", ["x", "m"], ["y"]), node("GlobalAveragePool", ["y"], ["g"]),
                   node("ReduceMean", ["y"], ["r"], axes=[-1, 2], keepdims=1),
                   node("ReduceMean", ["y"], ["s"], axes=[3], keepdims=0), node("Add", ["s", "w"], ["t"]),
                   node("ReduceMean", ["t"], ["u"], axes=[1, 2]), node("Add", ["g", "r"], ["h"]),
                   node("Mul", ["h", "v"], ["k"]), node("Sub", ["k", "u2"], ["l"]), node("Flatten", ["l"], ["f"]),
                   node("Squeeze", ["u"], ["a"], axes=[2]), node("Add", ["f", "a"], ["out"])],
                  [4, 2, 4], 2, dict(m=dyadic(4, 2, 4), w=dyadic(4, 2), v=dyadic(4, 1, 1), u2=dyadic(1)), 11),
        "pads": ([node("Mul", ["x", "m"], ["y"]), constant("p", ints(0, 0, 1, 0, 0, 2)), constant("ax", ints(2, 1)),
                  constant("q", ints(1, 0, 3, 2)), number("z", 0), node("Pad", ["y", "p"], ["a"]),
                  node("Pad", ["y", "q", "z", "ax"], ["b"], mode="constant"), constant("r", ints(-1)),
                  node("ReduceMean", ["b", "r"], ["c"], keepdims=0), node("Concat", ["a", "y", "a"], ["d"], axis=-1),
                  node("Flatten", ["d"], ["e"]), node("MatMul", ["e", "w"], ["f"]), node("Add", ["f", "c"], ["out"])],
                 [2, 4], 3, dict(m=dyadic(2, 4), w=dyadic(36, 4)), 18),
        "norm": ([node("Conv", ["x", "w"], ["y"]),
                  node("BatchNormalization", ["y", "s", "b", "mean", "var"], ["z"], epsilon=0.5), node("Relu", ["z"], ["out"])],
                 [2, 3, 3], 2, dict(w=dyadic(3, 2, 2, 2), s=dyadic(3), b=dyadic(3), mean=dyadic(3),
                                    var=channels(3.5, 0.5, 15.5)), 17),
        "norm-root": ([node("Conv", ["x", "w"], ["y"]),
                       node("BatchNormalization", ["y", "s", "b", "mean", "var"], ["z"], momentum=0.5),
                       node("MaxPool", ["z"], ["p"], kernel_shape=[2, 2]), node("Relu", ["p"], ["out"])],
                      [2, 4, 4], 2, dict(w=dyadic(3, 2, 2, 2), s=dyadic(3), b=dyadic(3), mean=dyadic(3),
                                         var=channels(0.25, 2, 3)), 14),
    }
    last = lambda: {  # noqa: E731
        "layer": ([node("MatMul", ["x", "w"], ["y"]), node("LayerNormalization", ["y", "s", "b"], ["z"], axis=1),
                   node("LayerNormalization", ["z", "t"], ["u"]), node("Relu", ["u"], ["out"])],
                  [2, 3], 2, dict(w=dyadic(3, 4), s=dyadic(2, 4), b=dyadic(2, 4), t=dyadic(4)), 17),
        "instance": ([node("Conv", ["x", "w"], ["y"]), node("InstanceNormalization", ["y", "s", "b"], ["z"], epsilon=0.25),
                      node("GlobalMaxPool", ["z"], ["p"]), node("Relu", ["p"], ["out"])],
                     [2, 3, 3], 2, dict(w=dyadic(3, 2, 2, 2), s=dyadic(3), b=dyadic(3)), 17),
        "group": ([node("Conv", ["x", "w"], ["y"]), node("GroupNormalization", ["y", "s", "b"], ["z"], num_groups=2),
                   node("Relu", ["z"], ["out"])],
                  [2, 3], 2, dict(w=dyadic(4, 2, 2), s=dyadic(4), b=dyadic(4)), 21),
        "trained": ([node("Conv", ["x", "w"], ["y"]),
                     node("BatchNormalization", ["y", "s", "b", "mean", "var"], ["z", "m1", "v1"], training_mode=1),
                     node("LayerNormalization", ["z", "t"], ["u"], axis=1), node("Relu", ["u"], ["out"])],
                    [2, 3], 3, dict(w=dyadic(3, 2, 2), s=dyadic(3), b=dyadic(3), mean=dyadic(3), var=dyadic(3) ** 2,
                                    t=dyadic(3, 2)), 17),
        # Rational roots: entries 2 apart with epsilon 9/16; and 0 in all samples, with 1/4.
        "layer-exact": ([node("Gemm", ["x", "w", "b"], ["y"]), node("LayerNormalization", ["y", "s"], ["z"], epsilon=0.5625),
                         node("LeakyRelu", ["z"], ["out"], alpha=0.25)],
                        [3], 2, dict(w=np.repeat(dyadic(3, 1), 2, axis=1), b=channels(0.5, 2.5), s=dyadic(2)), 17),
        "trained-exact": ([node("Gemm", ["x", "w", "c"], ["y"]),
                           node("BatchNormalization", ["y", "s", "b", "mean", "var"], ["z"], training_mode=1, epsilon=0.25),
                           node("Gemm", ["z", "v"], ["out"])],
                          [2], 3, dict(w=np.zeros((2, 3)), c=dyadic(3), s=dyadic(3), b=dyadic(3), mean=dyadic(3),
                                       var=dyadic(3) ** 2, v=dyadic(3, 2)), 17),
        # The file has no batch axis of its own: the statistics are over the rows of each sample.
        "trained-rows": ([node("Conv", ["x", "w"], ["y"]),
                          node("BatchNormalization", ["y", "s", "b", "mean", "var"], ["z"], training_mode=1),
                          node("Relu", ["z"], ["out"])],
                         [3, 2, 4], 2, dict(w=dyadic(3, 2, 2), s=dyadic(3), b=dyadic(3), mean=dyadic(3), var=dyadic(3) ** 2), 17),
        "global": ([node("Mul", ["x", "m"], ["y"]), node("GlobalMaxPool", ["y"], ["p"]), node("Mul", ["p", "w"], ["out"])],
                   [3, 2, 3], 2, dict(m=dyadic(3, 2, 3), w=dyadic(3, 1, 1)), 17),
    }
    after = lambda: {  # noqa: E731
        "negated": ([node("Neg", ["x"], ["y1"]), node("Add", ["y1", "a"], ["y2"]), node("Relu", ["y2"], ["y3"]),
                     node("Neg", ["y3"], ["out"])], [2, 3], 3, dict(a=dyadic(2, 1)), 7),
    }
    newest = lambda: {  # noqa: E731
        # No batch axis: all axes may be padded.
        "pad-rows": ([node("Mul", ["x", "m"], ["y"]), constant("p", ints(1, 0, 2, 1)), node("Pad", ["y", "p"], ["out"])],
                     [3, 2], 2, dict(m=dyadic(3, 2)), 18),
    }
    gated = lambda: {  # noqa: E731
        "products": ([node("MatMul", ["x", "w"], ["q"]), node("MatMul", ["x", "v"], ["k"]),
                      node("Transpose", ["k"], ["t"], perm=[0, 2, 1]), node("MatMul", ["q", "t"], ["a"]),
                      node("Relu", ["a"], ["r"]), node("MatMul", ["r", "k"], ["b"]), number("two", 2),
                      node("Pow", ["k", "two"], ["k2"]), node("Mul", ["k2", "q"], ["c"]), node("Add", ["b", "c"], ["d"]),
                      node("ReduceMean", ["q"], ["m"], axes=[1]), node("Mul", ["k", "m"], ["e"]), node("Add", ["d", "e"], ["out"])],
                     [4, 2], 2, dict(w=np.sign(dyadic(2, 2)), v=np.sign(dyadic(2, 2))), 17),
        "functions": ([node("MatMul", ["x", "w"], ["y"]), node("Erf", ["y"], ["y1"]), node("Exp", ["y"], ["y2"]),
                       node("Softplus", ["y"], ["y3"]), node("Gelu", ["y"], ["y4"]),
                       node("Gelu", ["y"], ["y5"], approximate="tanh"), node("Mish", ["y"], ["y6"]),
                       node("Swish", ["y"], ["y7"]), node("Sub", ["y1", "y2"], ["s1"]), node("Add", ["s1", "y3"], ["s2"]),
                       node("Add", ["s2", "y4"], ["s3"]), node("Sub", ["s3", "y5"], ["s4"]), node("Add", ["s4", "y6"], ["s5"]),
                       node("Mul", ["s5", "y7"], ["out"])],
                      [3], 4, dict(w=dyadic(3, 4) / 8), 24),
        # Of a flat image: gates alike for entries alike.
        "gates": ([node("Conv", ["x", "w", "b"], ["y"]), node("HardSigmoid", ["y"], ["g"], alpha=0.25),
                   node("Mul", ["y", "g"], ["z"]), node("MaxPool", ["z"], ["p"], kernel_shape=[2, 2]), node("Relu", ["p"], ["out"])],
                  [2, 4, 4], 2, dict(w=dyadic(3, 2, 2, 2), b=dyadic(3)), 17),
    }
    moved = lambda: {  # noqa: E731
        # The batch on other axes, merged with heads, and back.
        "batches": ([node("MatMul", ["x", "w"], ["y"]), constant("s", ints(0, 0, 2, 2)), node("Reshape", ["y", "s"], ["h"]),
                     node("Transpose", ["h"], ["t"], perm=[2, 0, 1, 3]), constant("m", ints(-1, 3, 2)),
                     node("Reshape", ["t", "m"], ["r"]), node("Transpose", ["r"], ["u"], perm=[0, 2, 1]),
                     node("MatMul", ["r", "u"], ["a"]), node("Relu", ["a"], ["b"]), node("MatMul", ["b", "r"], ["c"]),
                     constant("n", ints(2, -1, 3, 2)), node("Reshape", ["c", "n"], ["d"]),
                     node("Transpose", ["d"], ["e"], perm=[1, 2, 0, 3]), constant("o", ints(0, 0, -1)),
                     node("Reshape", ["e", "o"], ["out"])],
                    [3, 2], 2, dict(w=np.sign(dyadic(2, 4))), 17),
        "parts": ([node("Mul", ["x", "w"], ["y"]), node("Split", ["y"], ["p", "q"], axis=2, num_outputs=2),
                   constant("g", ints(-1, 0, 0)), node("Gather", ["p", "g"], ["a"], axis=1), constant("one", numpy_helper.from_array(
                       np.int64(1))), node("Gather", ["q", "one"], ["b"], axis=1), constant("st", ints(1)), constant("en", ints(100)),
                   constant("ax", ints(-1)), node("Slice", ["x", "st", "en", "ax", "two"], ["c"]), node("Gather", ["c", "one"], ["d"], axis=2),
                   node("Unsqueeze", ["b", "st"], ["e"]), node("Add", ["a", "e"], ["f"]), node("Flatten", ["f"], ["i"]),
                   node("Concat", ["i", "d"], ["k"], axis=1), node("Mul", ["k", "v"], ["out"])],
                  [3, 6], 2, dict(w=dyadic(3, 6), v=dyadic(12)), 18),
    }
    inside = lambda: {  # noqa: E731
        # What has a domain, in it: s = 1 + y^2, roots irrational.
        "quotients": ([node("MatMul", ["x", "w"], ["y"]), node("Mul", ["y", "y"], ["y2"]), number("one", 1), node("Add", ["y2", "one"], ["s"]),
                       node("Sqrt", ["s"], ["a"]), node("Log", ["s"], ["b"]), number("half", 0.5), node("Pow", ["s", "half"], ["c"]),
                       number("under", -0.5), node("Pow", ["s", "under"], ["d"]), number("square", -2), node("Pow", ["s", "square"], ["e"]),
                       node("ReduceL2", ["s"], ["f"], axes=[1]), node("ReduceSumSquare", ["s"], ["g"], axes=[1]),
                       node("Div", ["y", "f"], ["h"]), node("Div", ["v", "g"], ["i"]), node("Sub", ["a", "b"], ["t1"]),
                       node("Mul", ["t1", "c"], ["t2"]), node("Add", ["t2", "d"], ["t3"]), node("Sub", ["t3", "e"], ["t4"]),
                       node("Mul", ["t4", "h"], ["t5"]), node("Add", ["t5", "i"], ["out"])],
                      [3], 4, dict(w=dyadic(3, 4), v=dyadic(4)), 17),
        # Rational all the way, with a kink behind.
        "divided": ([node("MatMul", ["x", "w"], ["y"]), node("Mul", ["y", "y"], ["y2"]), number("one", 1), node("Add", ["y2", "one"], ["s"]),
                     node("Div", ["y", "s"], ["q"]), node("Relu", ["q"], ["r"]), node("Reciprocal", ["s"], ["p"]), node("Sub", ["r", "p"], ["d"]),
                     node("Transpose", ["d"], ["t"], perm=[0, 2, 1]), node("Div", ["v", "t"], ["out"])],
                    [2, 3], 2, dict(w=np.sign(dyadic(3, 2)), v=dyadic(2, 2)), 17),
    }
    bent = lambda: {  # noqa: E731
        # Of two alike samples' first, 0: one kink of Elu, of Selu; none of Elu with alpha 1, nor of Celu.
        "elus": ([node("Mul", ["x", "w"], ["y"]), node("Elu", ["y"], ["a"]), node("Elu", ["y"], ["b"], alpha=0.5), node("Selu", ["y"], ["c"]),
                  node("Selu", ["y"], ["d"], alpha=1.5, gamma=0.75), node("Celu", ["y"], ["e"], alpha=2.0), node("Celu", ["y"], ["f"]),
                  node("Elu", ["y"], ["i"], alpha=3.0), node("Concat", ["a", "b", "c", "d", "e", "f", "i"], ["k"], axis=1), node("Mul", ["k", "v"], ["out"])],
                 [4], 2, dict(w=dyadic(4), v=dyadic(28)), 17),
    }
    single = lambda: {  # noqa: E731
        # One run of a model without a batch axis.
        "gather-rows": ([constant("i", ints(2, -1, 0, 2)), node("Gather", ["w", "i"], ["y"]), node("Add", ["y", "x"], ["out"])],
                        [4, 2], 1, dict(w=dyadic(3, 2)), 17),
        "gather-axis-rows": ([constant("i", numpy_helper.from_array(np.array([[1, 3], [0, -1]]))), node("Gather", ["w", "i"], ["y"], axis=1),
                              node("Mul", ["y", "x"], ["out"])], [2, 2], 1, dict(w=dyadic(3, 4)), 17),
        "gemm-rows": ([node("Gemm", ["x", "w", "b"], ["y"], alpha=0.5, beta=2.0), node("Gemm", ["y", "v", "c"], ["out"], transB=1)],
                      [2, 3], 3, dict(w=dyadic(3, 5), b=dyadic(1, 5), v=dyadic(2, 5), c=np.float32([[0.25, 1], [-2, 0.5]])), 17),
        "sum-rows": ([node("Mul", ["x", "w"], ["y"]), constant("i", ints(0, -1)), node("ReduceSum", ["y", "i"], ["out"], keepdims=0)],
                     [3, 2, 4], 2, dict(w=dyadic(2, 1)), 17),
        "sum": ([node("Mul", ["x", "w"], ["y"]), node("ReduceSum", ["y"], ["z"], axes=[1]), node("Mul", ["z", "v"], ["out"])],
                [3, 2], 2, dict(w=dyadic(3, 2), v=dyadic(1, 2)), 11),
        "square": ([node("Mul", ["x", "w"], ["y"]), number("two", 2), node("Pow", ["y", "two"], ["z"]), node("Abs", ["z"], ["out"])],
                   [3], 2, dict(w=dyadic(3)), 17),
    }
    larger = lambda: {  # noqa: E731
        "transposed": ([node("ConvTranspose", ["x", "w", "b"], ["y"], group=2, dilations=[2, 1], strides=[1, 3], pads=[1, 0, 0, 2],
                             output_padding=[1, 2]), node("Relu", ["y"], ["z"]),
                        node("ConvTranspose", ["z", "v"], ["out"], kernel_shape=[2, 1], strides=[2, 2])],
                       [4, 2, 3], 2, dict(w=dyadic(4, 3, 2, 3), b=dyadic(6), v=dyadic(6, 2, 2, 1)), 17),
        "transposed-line": ([node("ConvTranspose", ["x", "w"], ["y"], strides=[2], pads=[1, 1]),
                             node("ConvTranspose", ["y", "v", "b"], ["z"], dilations=[2]),
                             node("MaxPool", ["z"], ["out"], kernel_shape=[2])],
                            [2, 4], 2, dict(w=dyadic(2, 3, 4), v=dyadic(3, 2, 2), b=dyadic(2)), 7),
    }
    resize = lambda mode, rounding: dict(coordinate_transformation_mode=mode, nearest_mode=rounding)  # noqa: E731
    resized = lambda: {  # noqa: E731
        "resized": ([node("Conv", ["x", "w"], ["y"]), constant("s", numpy_helper.from_array(channels(1, 1, 2, 1.5))), constant("z", ints(2, 3, 5, 7)),
                     node("Resize", ["y", "", "s"], ["a"], **resize("asymmetric", "floor")),
                     node("Resize", ["a", "", "", "z"], ["b"], **resize("half_pixel", "round_prefer_floor")),
                     node("Resize", ["b", "", "s"], ["c"], **resize("pytorch_half_pixel", "round_prefer_ceil")),
                     node("Resize", ["c", "", "", "z"], ["d"], **resize("align_corners", "ceil")),
                     node("MaxPool", ["d"], ["p"], kernel_shape=[2, 2]), node("Relu", ["p"], ["out"])],
                    [2, 3, 4], 2, dict(w=dyadic(3, 2, 2, 2)), 18),
        "resized-line": ([constant("s", numpy_helper.from_array(channels(1, 1, 0.625))), constant("z", ints(2, 2, 9)),
                          node("Mul", ["x", "w"], ["y"]), node("Resize", ["y", "none", "s"], ["a"], mode="nearest"),
                          node("Resize", ["a", "none", "none", "z"], ["out"], **resize("asymmetric", "floor"))],
                         [2, 8], 2, dict(w=dyadic(2, 1), none=np.zeros(0)), 11),
    }
    extreme = lambda: {  # noqa: E731
        "extremes": ([node("MatMul", ["x", "w"], ["y"]), node("Min", ["y", "x"], ["a"]), node("Transpose", ["a"], ["t"], perm=[1, 0, 2]),
                      node("Transpose", ["y"], ["u"], perm=[1, 0, 2]), node("Max", ["t", "u"], ["z"]),
                      node("Transpose", ["z"], ["q"], perm=[1, 0, 2]), node("Max", ["v", "q"], ["p"]), node("Min", ["p"], ["o"]),
                      node("ReduceMin", ["o"], ["r"], axes=[1, -1]), node("ReduceMax", ["o"], ["s"], axes=[1]),
                      node("ReduceMax", ["x"], ["k"], axes=[2]), node("Add", ["r", "s"], ["l"]), node("Mul", ["l", "k"], ["out"])],
                     [3, 4], 2, dict(w=np.sign(dyadic(4, 4)), v=dyadic(3, 1)), 17),
        "extremes-listed": ([node("Mul", ["x", "w"], ["y"]), constant("l", ints(2, 1)), node("ReduceMax", ["y", "l"], ["a"], keepdims=0),
                             constant("n", ints(-2)), node("ReduceMin", ["y", "n"], ["b"], keepdims=0), node("MatMul", ["b", "v"], ["c"]),
                             node("Add", ["a", "c"], ["out"])],
                            [3, 4], 3, dict(w=dyadic(3, 1), v=dyadic(4)), 18),
    }
    linear = lambda mode: dict(mode="linear", coordinate_transformation_mode=mode)  # noqa: E731
    between = lambda: {  # noqa: E731
        "between": ([node("Conv", ["x", "w"], ["y"]), constant("s", numpy_helper.from_array(channels(1, 1, 2, 1.5))), constant("z", ints(2, 3, 5, 6)),
                     node("Resize", ["y", "", "s"], ["a"], **linear("half_pixel")), node("Resize", ["a", "", "", "z"], ["b"], **linear("align_corners")),
                     node("Resize", ["b", "", "s"], ["c"], **linear("pytorch_half_pixel")), node("MaxPool", ["c"], ["p"], kernel_shape=[2, 2]),
                     node("Relu", ["p"], ["out"])],
                    [2, 3, 4], 2, dict(w=dyadic(3, 2, 2, 2)), 18),
        "between-line": ([constant("s", numpy_helper.from_array(channels(1, 1, 0.625))), constant("z", ints(2, 2, 9)),
                          constant("t", numpy_helper.from_array(channels(1, 1, 1))),
                          node("Mul", ["x", "w"], ["y"]), node("Resize", ["y", "none", "s"], ["a"], mode="linear"),
                          node("Resize", ["a", "none", "none", "z"], ["b"], **linear("asymmetric")),
                          node("Resize", ["b", "none", "t"], ["c"], **linear("align_corners")), node("Abs", ["c"], ["out"])],
                         [2, 8], 2, dict(w=dyadic(2, 1), none=np.zeros(0)), 11),
    }
    repeated = lambda: {  # noqa: E731
        # A class token before what a sample has; then the batch between two axes, and the entries several times.
        "repeated": ([constant("n", ints(2, 1, 1)), node("Expand", ["w", "n"], ["t"]), node("Concat", ["t", "x"], ["y"], axis=1),
                      constant("i", ints(2)), node("Unsqueeze", ["y", "i"], ["u"]), constant("m", ints(4, 3, 1)), node("Expand", ["u", "m"], ["a"]),
                      constant("l", ints(3, 1, 1, 1, 1)), node("Expand", ["a", "l"], ["b"]), node("Transpose", ["b"], ["c"], perm=[1, 0, 2, 3, 4]),
                      constant("k", ints(1, 1, 2, 1, 1)), node("Tile", ["c", "k"], ["d"]), constant("j", ints(1, 2)), node("Tile", ["v", "j"], ["e"]),
                      node("Mul", ["d", "e"], ["f"]), node("Relu", ["f"], ["out"])],
                     [3, 2], 2, dict(w=dyadic(1, 1, 2), v=dyadic(3, 1)), 17),
    }
    whole = lambda: {  # noqa: E731
        # Shapes as PyTorch's exporters compute them: a class token's, half of the features, all of a sample's in one axis.
        "whole": ([node("Shape", ["x"], ["s"]), constant("i", ints(0)), node("Gather", ["s", "i"], ["n"], axis=0), constant("e", ints(-1, 1, -1)),
                   constant("o", ints(1, 1)), node("Concat", ["n", "o"], ["m"], axis=0), constant("r", ints(3)),
                   node("ConstantOfShape", ["r"], ["f"], value=ints(-1)), node("Equal", ["e", "f"], ["q"]), node("Cast", ["q"], ["k"], to=7),
                   node("Where", ["q", "m", "e"], ["z"]), node("Expand", ["w", "z"], ["t"]), node("Concat", ["t", "x"], ["y"], axis=1),
                   node("Shape", ["y"], ["a"], start=-2), constant("l", ints(1)), node("Slice", ["a", "l", "r"], ["b"]), constant("two", ints(2)),
                   node("Add", ["b", "l"], ["c"]), node("Div", ["c", "two"], ["d"]), node("Mul", ["d", "l"], ["h"]), node("Mod", ["b", "r"], ["u"]),
                   node("Sub", ["u", "l"], ["v"]), node("Slice", ["y", "v", "h", "two"], ["p"]), node("Add", ["p", "g"], ["j"]),
                   node("Concat", ["n", "k"], ["ab"], axis=0), constant("minus", ints(-1)), node("Slice", ["ab", "i", "l"], ["bc"]),
                   node("Concat", ["bc", "minus"], ["cd"], axis=0), node("Reshape", ["j", "cd"], ["de"]), node("Relu", ["de"], ["out"])],
                  [3, 4], 2, dict(w=dyadic(1, 1, 4), g=dyadic(1, 4, 1)), 17),
    }
    again = lambda: {  # noqa: E731
        # Two layers of each kind, of which the second begins with the first's state; the reference evaluator has one direction.
        "lstm": ([node("Transpose", ["x"], ["t"], perm=[1, 0, 2]), node("LSTM", ["t", "w", "r", "b"], ["y", "h", "c"], hidden_size=2),
                  constant("one", ints(1)), node("Squeeze", ["y", "one"], ["s"]), node("LSTM", ["s", "v", "r", "", "", "h", "c"], ["u"]),
                  node("Transpose", ["u"], ["z"], perm=[2, 0, 1, 3]), node("Flatten", ["z"], ["out"])],
                 [3, 2], 2, dict(w=dyadic(1, 8, 2), r=dyadic(1, 8, 2), b=dyadic(1, 16), v=dyadic(1, 8, 2)), 17),
        "gru": ([node("Transpose", ["x"], ["t"], perm=[1, 0, 2]),
                 node("GRU", ["t", "w", "r", "b"], ["y", "h"], hidden_size=2, linear_before_reset=1), constant("one", ints(1)),
                 node("Squeeze", ["y", "one"], ["s"]), node("GRU", ["s", "v", "r", "b", "", "h"], ["u"], hidden_size=2),
                 node("Transpose", ["u"], ["z"], perm=[2, 0, 1, 3]), node("Flatten", ["z"], ["out"])],
                [3, 2], 2, dict(w=dyadic(1, 6, 2), r=dyadic(1, 6, 2), b=dyadic(1, 12), v=dyadic(1, 6, 2)), 14),
        "rnn": ([node("Transpose", ["x"], ["t"], perm=[1, 0, 2]), node("RNN", ["t", "w", "r", "b"], ["y", "h"], hidden_size=2),
                 constant("one", ints(1)), node("Squeeze", ["y", "one"], ["s"]), node("RNN", ["s", "v", "r", "", "", "h"], ["u"], hidden_size=2),
                 node("Transpose", ["u"], ["z"], perm=[2, 0, 1, 3]), node("Flatten", ["z"], ["out"])],
                [3, 2], 2, dict(w=dyadic(1, 2, 2), r=dyadic(1, 2, 2), b=dyadic(1, 4), v=dyadic(1, 2, 2)), 17),
    }
    several = lambda: {  # noqa: E731
        "several": ([node("MatMul", ["x", "w"], ["y"]), node("Max", ["v", "y", "x", "u"], ["a"]), node("Transpose", ["a"], ["t"], perm=[1, 0, 2]),
                     node("Transpose", ["y"], ["s"], perm=[1, 0, 2]), node("Min", ["v", "u", "t", "s"], ["b"]),
                     node("Transpose", ["b"], ["c"], perm=[1, 0, 2]), node("Max", ["c", "c", "y"], ["out"])],
                    [3, 4], 2, dict(w=np.sign(dyadic(4, 4)), v=dyadic(4), u=dyadic(1)), 17),
        "sorted": ([node("MatMul", ["x", "w"], ["y"]), constant("three", ints(3)), node("TopK", ["y", "three"], ["a", "places"]),
                    constant("two", ints(2)), node("TopK", ["a", "two"], ["b", ""], axis=1, largest=0, sorted=1),
                    node("Transpose", ["b"], ["t"], perm=[1, 0, 2]), constant("one", ints(1)), node("TopK", ["t", "one"], ["c", ""], axis=-1),
                    node("TopK", ["t", "one"], ["d", ""], axis=0, largest=0), node("Sub", ["c", "d"], ["e"]),
                    node("Transpose", ["e"], ["out"], perm=[1, 0, 2])],
                   [4, 5], 2, dict(w=np.sign(dyadic(5, 5))), 17),
        "sorted-old": ([node("Mul", ["x", "w"], ["y"]), node("TopK", ["y"], ["a", "places"], axis=2, k=4), node("Neg", ["a"], ["b"]),
                        node("TopK", ["b"], ["c", "more"], axis=1, k=1), node("Mul", ["c", "v"], ["out"])],
                       [3, 4], 2, dict(w=dyadic(3, 1), v=dyadic(4)), 9),
    }
    scaled = lambda: {  # noqa: E731
        # The scale of an attention, rounded to float32 at each node: of heads of so many entries, of which the reference evaluator says the same.
        "scaled": ([constant("s", ints(*range(1, 41), 2**24 + 1, 2**25 + 3, 2**31 - 1, 2**53 + 1, 2**62 + 12345)), node("Cast", ["s"], ["f"], to=1),
                    node("Sqrt", ["f"], ["r"]), number("one", [1]), node("Div", ["one", "r"], ["d"]), node("Cast", ["d"], ["c"], to=1),
                    node("Sqrt", ["c"], ["e"]), number("three", -3), node("Div", ["three", "f"], ["t"]), node("Sub", ["x", "x"], ["y"]),
                    node("Add", ["y", "e"], ["a"]), node("Sub", ["y", "t"], ["b"]), node("Concat", ["a", "b"], ["u"], axis=1), node("Mul", ["u", "w"], ["out"])],
                   [2, 1], 2, dict(w=np.float32([0.5])), 17),
    }
    placed = lambda: {  # noqa: E731
        # Places along two axes, the batch behind them; backwards; a mean over space read entry by entry of all samples.
        "placed": ([node("Mul", ["x", "w"], ["y"]), node("Transpose", ["y"], ["t"], perm=[1, 2, 0]),
                    constant("p", numpy_helper.from_array(np.array([[[2, 1], [0, -1]], [[-3, 0], [1, 1]]]))), node("GatherND", ["t", "p"], ["g"]),
                    node("Transpose", ["g"], ["u"], perm=[2, 0, 1]), constant("last", ints(-1)), constant("end", ints(-9)), constant("axis", ints(2)),
                    node("Slice", ["u", "last", "end", "axis", "last"], ["b"]), constant("one", ints(-1)), node("Reshape", ["b", "one"], ["r"]),
                    constant("q", numpy_helper.from_array(np.array([[3, 0, 0], [7, 4, 4]]))), node("Gather", ["r", "q"], ["s"], axis=0),
                    node("Mul", ["s", "v"], ["out"])],
                   [3, 2], 2, dict(w=dyadic(3, 1), v=dyadic(3)), 15),
        # A mask that is computed; entries of one or the other, and of a parameter.
        "masked": ([constant("l", ints(0, 1, 2, 3)), constant("two", ints(2)), node("Less", ["l", "two"], ["a"]), node("Not", ["a"], ["b"]),
                    constant("e", numpy_helper.from_array(np.int64([[0], [2]]))), node("GreaterOrEqual", ["l", "e"], ["c"]), node("And", ["b", "c"], ["d"]),
                    node("Greater", ["l", "two"], ["f"]), node("Or", ["d", "f"], ["g"]), node("LessOrEqual", ["l", "two"], ["h"]),
                    node("Mul", ["x", "w"], ["y"]), node("Where", ["g", "y", "x"], ["z"]), node("Where", ["h", "z", "v"], ["i"]),
                    node("Cast", ["i"], ["j"], to=1), number("low", -1e30), number("none", 0), node("Where", ["a", "none", "low"], ["k"]),
                    node("Add", ["j", "k"], ["m"]), node("Softmax", ["m"], ["n"]), node("Mul", ["n", "v"], ["o"]), node("Sub", ["o", "o"], ["zero"]),
                    node("Add", ["zero", "j"], ["out"])],
                   [2, 4], 2, dict(w=dyadic(2, 1), v=dyadic(4)), 16),
        # Places that are counted, in integers of 32 and 64 bits, and in floats: of entries one by one.
        "counted": ([constant("k", numpy_helper.from_array(np.int64([[1, 0, 1], [1, 1, 1]]))), node("Cast", ["k"], ["t"], to=9),
                     node("Cast", ["t"], ["i"], to=6), constant("one", numpy_helper.from_array(np.int64(1))), node("CumSum", ["i", "one"], ["c"]), node("Mul", ["c", "i"], ["d"]),
                     node("Cast", ["d"], ["f"], to=1), constant("zero", numpy_helper.from_array(np.int64(0))), node("CumSum", ["f", "zero"], ["g"]), number("half", 0.5),
                     node("Pow", ["half", "half"], ["r"]), number("minus", -0.5), node("Sub", ["g", "half"], ["s"]),
                     node("Add", ["s", "half"], ["e"]), node("Cast", ["e"], ["j"], to=7), constant("table", numpy_helper.from_array(np.arange(12).reshape(2, 6) % 3)),
                     node("GatherElements", ["table", "j"], ["u"], axis=1), constant("all", ints(-1)), node("Reshape", ["u", "all"], ["p"]),
                     node("Gather", ["x", "p"], ["y"], axis=1), constant("four", numpy_helper.from_array(np.float32([4, 2, 3]))),
                     node("Pow", ["four", "minus"], ["q"]), node("Mul", ["q", "r"], ["m"]), node("Concat", ["m", "q"], ["n"], axis=0),
                     node("Mul", ["y", "n"], ["z"]), node("Mul", ["z", "w"], ["out"])],
                    [3], 2, dict(w=dyadic(6)), 15),
    }
    ranged = lambda: {  # noqa: E731
        # Places as a range has them, backwards; two axes cut at once, backwards; numbers by a product of a shape's entries.
        "ranged": ([constant("three", numpy_helper.from_array(np.int64(9))), node("Size", ["w"], ["n"]), node("Sub", ["n", "three"], ["from"]),
                    constant("by", numpy_helper.from_array(np.int64(-1))), node("Range", ["from", "by", "by"], ["p"]), node("Gather", ["x", "p"], ["a"], axis=2),
                    constant("l", ints(-9, -1)), constant("m", ints(-1, -3)), node("Max", ["l", "m"], ["starts"]), node("Min", ["l", "m"], ["o"]),
                    constant("more", ints(0, 6)), node("Sub", ["o", "more"], ["ends"]), constant("axes", ints(2, -2)), constant("axes01", ints(1, 0)), constant("steps", ints(-2, -1)),
                    node("Slice", ["a", "starts", "ends", "axes", "steps"], ["b"]), constant("twos", ints(1, 2)), node("ReduceProd", ["twos"], ["c"]),
                    node("ConstantOfShape", ["c"], ["half"], value=numpy_helper.from_array(np.float32([0.5]))), node("Mul", ["b", "half"], ["d"]),
                    node("ReduceProd", ["twos"], ["e"], keepdims=0, axes=[-1]), node("Range", ["e", "from", "e"], ["f"]), node("Cast", ["f"], ["g"], to=1),
                    node("ConstantOfShape", ["c"], ["zeros"]), node("Add", ["zeros", "g"], ["h"]), node("Add", ["d", "h"], ["i"]), node("Slice", ["w", "starts", "ends", "axes01", "steps"], ["k"]),
                    node("Mul", ["i", "k"], ["out"])],
                   [3, 4], 2, dict(w=dyadic(3, 4)), 15),
    }
    computed = lambda: {  # noqa: E731
        # What is computed of weights alone, by itself and with activations.
        "lifted": ([node("Mul", ["a", "b"], ["c"]), node("MatMul", ["x", "c"], ["y1"]), node("Relu", ["c"], ["r"]),
                    node("ReduceMean", ["c"], ["m"], axes=[1], keepdims=0), node("Sub", ["x", "m"], ["z"]), node("MatMul", ["z", "r"], ["y2"]),
                    node("Neg", ["b"], ["n"]), node("Sub", ["n", "g"], ["s"]), node("Mul", ["y2", "s"], ["y3"]),
                    node("Concat", ["c", "r"], ["l"], axis=0), node("Transpose", ["l"], ["t"]), constant("h", ints(2, 12)),
                    node("Reshape", ["t", "h"], ["u"]), node("MatMul", ["d", "k"], ["e"]), node("MatMul", ["e", "u"], ["v"]),
                    constant("from", ints(1)), constant("to", ints(5)), constant("along", ints(1)), node("Slice", ["v", "from", "to", "along"], ["q"]), node("Max", ["y1", "q"], ["y4"]), node("Add", ["y4", "y3"], ["out"])],
                   [2, 3], 3, dict(a=dyadic(3, 1), b=dyadic(1, 4), g=dyadic(1, 4), d=dyadic(2, 3), k=dyadic(3, 2)), 17),
        # A recurrent layer that is unrolled: its first state is zeros, one row for each sample.
        "unrolled": ([node("Shape", ["x"], ["s"]), constant("zero", ints(0)), node("Gather", ["s", "zero"], ["n"]), constant("units", ints(2)),
                      node("Concat", ["n", "units"], ["sizes"], axis=0), node("ConstantOfShape", ["sizes"], ["h"]),
                      node("MatMul", ["h", "r"], ["p"]), node("MatMul", ["x", "w"], ["q"]), node("Add", ["p", "q"], ["a"]), node("Relu", ["a"], ["g"]),
                      node("Mul", ["g", "h"], ["c"]), node("MatMul", ["g", "r"], ["p2"]), node("Add", ["p2", "c"], ["a2"]),
                      node("ConstantOfShape", ["sizes"], ["half"], value=numpy_helper.from_array(np.float32([0.5]))),
                      node("Add", ["a2", "half"], ["a3"]), node("Expand", ["t", "sizes"], ["each"]), node("Mul", ["each", "each"], ["square"]),
                      node("Sub", ["a3", "square"], ["out"])],
                     [3], 4, dict(w=dyadic(3, 2), r=dyadic(2, 2), t=dyadic(1, 2)), 17),
        # A normalization that is written out, weights that are normalized, and other functions of weights.
        "written-out": ([number("e", 0.25), node("Add", ["var", "e"], ["v"]), node("Sqrt", ["v"], ["r"]), node("Div", ["one", "r"], ["i"]),
                         node("Mul", ["i", "s"], ["m"]), node("Neg", ["mean"], ["n"]), node("Mul", ["n", "m"], ["o"]), node("Add", ["o", "b"], ["p"]),
                         node("Mul", ["x", "m"], ["y1"]), node("Add", ["y1", "p"], ["y2"]),
                         constant("flat", ints(1, 3, 4)), node("Reshape", ["w", "flat"], ["w1"]),
                         node("BatchNormalization", ["w1", "ones", "none", "none", "ones"], ["w2"], training_mode=1, epsilon=0.5),
                         constant("back", ints(3, 4)), node("Reshape", ["w2", "back"], ["w3"]), node("MatMul", ["y2", "w3"], ["y3"]),
                         node("Softplus", ["rho"], ["f"]), node("LayerNormalization", ["w", "c", "c"], ["l"]), node("Mul", ["l", "f"], ["g"]),
                         node("Exp", ["rho"], ["x1"]), node("Tanh", ["x1"], ["x2"]), constant("two", numpy_helper.from_array(np.float32(2))),
                         node("Pow", ["w", "two"], ["w4"]), node("ReduceSum", ["w4"], ["w5"]), node("Mul", ["x2", "w5"], ["x3"]),
                         node("MatMul", ["y2", "g"], ["y4"]), node("Add", ["y3", "y4"], ["y5"]), node("Sub", ["y5", "x3"], ["out"])],
                        [2, 3], 2, dict(var=np.abs(dyadic(3)), one=1, s=dyadic(3), mean=dyadic(3), b=dyadic(3), w=dyadic(3, 4), ones=np.ones(3),
                                        none=np.zeros(3), rho=dyadic(1, 4) / 4, c=dyadic(4)), 17),
    }
    spatial = lambda: {  # noqa: E731
        # Three spatial axes; windows where the samples are along one of them.
        "volumes": ([node("Conv", ["x", "w", "b"], ["y1"], strides=[1, 2, 1], pads=[1, 0, 1, 0, 1, 0], dilations=[1, 1, 2]),
                     node("MaxPool", ["y1"], ["y2"], kernel_shape=[2, 1, 2], strides=[1, 1, 2], pads=[0, 0, 1, 0, 0, 0]),
                     node("AveragePool", ["y2"], ["y3"], kernel_shape=[2, 2, 1], pads=[0, 1, 0, 0, 0, 0], count_include_pad=1),
                     node("ConvTranspose", ["y3", "v"], ["y4"], strides=[2, 1, 1]), node("Mul", ["y4", "m"], ["out"])],
                    [2, 3, 4, 5], 2, dict(w=dyadic(2, 2, 2, 3, 2), b=dyadic(2), v=dyadic(2, 1, 2, 1, 2), m=dyadic(1, 1, 1, 1)), 17),
        "windows-of-each": ([constant("two", ints(0, 1)), node("Unsqueeze", ["x", "two"], ["y1"]), node("Conv", ["y1", "w"], ["y2"], strides=[1, 2, 1]),
                             node("MaxPool", ["y2"], ["y3"], kernel_shape=[1, 2, 1]), node("Squeeze", ["y3", "one"], ["y4"]),
                             constant("one", ints(0)), node("Transpose", ["y4"], ["y5"], perm=[1, 0, 2, 3]),
                             node("Transpose", ["y5"], ["y6"], perm=[2, 1, 0, 3]), node("Unsqueeze", ["y6", "one"], ["y7"]),
                             node("AveragePool", ["y7"], ["y8"], kernel_shape=[2, 1, 1]), node("Squeeze", ["y8", "one"], ["y9"]),
                             node("Transpose", ["y9"], ["z"], perm=[2, 1, 0, 3]), node("Mul", ["z", "m"], ["out"])],
                            [6, 3], 3, dict(w=dyadic(2, 1, 1, 2, 2), m=dyadic(1, 1, 1, 1)), 17),
    }
    inf = np.inf
    infinite = lambda: {  # noqa: E731
        # Masks of minus infinity: of the past alone, written out; of one place in each column; of the file.
        "minus-infinity": ([constant("square", ints(3, 3)), number("one", 1), node("Expand", ["one", "square"], ["ones"]), node("Trilu", ["ones"], ["low"], upper=0),
                            number("nought", 0), number("never", -inf), node("Equal", ["low", "nought"], ["later"]),
                            node("Where", ["later", "never", "nought"], ["m"]), node("Mul", ["x", "w"], ["y"]), node("Add", ["y", "m"], ["y1"]),
                            node("Softmax", ["y1"], ["p1"]), node("Transpose", ["low"], ["upper"], perm=[1, 0]), node("Greater", ["upper", "nought"], ["some"]),
                            node("Where", ["some", "x", "never"], ["y2"]), node("Softmax", ["y2"], ["p2"], axis=1), node("Add", ["f", "y"], ["y3"]),
                            node("Softmax", ["y3"], ["p3"]), node("Add", ["p1", "p2"], ["p4"]), node("Add", ["p3", "p4"], ["p5"]), node("Mul", ["p5", "v"], ["out"])],
                           [3, 3], 2, dict(w=dyadic(3, 3), v=dyadic(3, 3), f=[[0.5, -inf, -inf], [-inf, 0.25, -inf], [0, 0, 1]]), 17),
    }
    decided = lambda: {  # noqa: E731
        # A variance as JAX writes it: NaN where there are no entries. Its divisor is an initializer, which is compared.
        "branches": ([node("Cast", ["none"], ["d"], to=1), node("Sub", ["n", "d"], ["rest"]), node("Greater", ["rest", "zero"], ["some"]),
                      node("Shape", ["x"], ["s"]), node("Expand", ["nan", "s"], ["nans"]), node("Mul", ["x", "w"], ["y"]), node("Div", ["y", "rest"], ["z"]),
                      node("Where", ["some", "z", "nans"], ["u"]), node("Add", ["p", "p"], ["q"]), node("LessOrEqual", ["q", "rest"], ["each"]),
                      node("Where", ["each", "u", "y"], ["out"])],
                     [3], 2, dict(n=4, zero=0, nan=np.nan, w=dyadic(3), p=[1, 4, 1.75]), 17),
    }
    rows = lambda: {  # noqa: E731
        # Products with weights that are computed, the samples being the rows, and the columns.
        "rows-of-each": ([node("Mul", ["a", "b"], ["c"]), node("MatMul", ["x", "c"], ["y"]), node("Transpose", ["y"], ["t"], perm=[1, 0]),
                          node("Mul", ["e", "d"], ["f"]), node("MatMul", ["f", "t"], ["u"]), node("Transpose", ["u"], ["z"], perm=[1, 0]),
                          node("Div", ["z", "half"], ["v"]), node("Add", ["quarter", "quarter"], ["half"]), node("Div", ["v", "half"], ["out"])],
                         [3], 4, dict(a=dyadic(3, 1), b=dyadic(1, 4), e=dyadic(2, 4), d=dyadic(4), quarter=0.25), 17),
    }
    standardized = lambda: {  # noqa: E731
        # Convolutions by weights that are computed: products of weights; weights less their mean by their deviation.
        "computed-weights": ([node("Mul", ["w", "s"], ["k"]), node("Conv", ["x", "k", "b"], ["y1"], pads=[1, 0, 0, 1], strides=[1, 2], group=2),
                              node("Mul", ["v", "v"], ["u"]), node("Conv", ["y1", "u"], ["y2"]), node("Mul", ["y2", "m"], ["out"])],
                             [4, 3, 4], 2, dict(w=dyadic(2, 2, 2, 2), s=dyadic(2, 1, 1, 1), b=dyadic(2), v=dyadic(3, 2, 1, 1), m=dyadic(1, 1, 1, 1)), 17),
        "standardized": ([constant("flat", ints(1, 2, 8)), node("Reshape", ["w", "flat"], ["w1"]),
                          node("BatchNormalization", ["w1", "gain", "zero", "zero", "gain"], ["w2"], training_mode=1, epsilon=0.25),
                          constant("back", ints(2, 2, 2, 2)), node("Reshape", ["w2", "back"], ["w3"]), node("Conv", ["x", "w3"], ["y1"]), node("Mul", ["y1", "m"], ["out"])],
                         [2, 3, 3], 2, dict(w=dyadic(2, 2, 2, 2), gain=np.float32([1.5, 0.5]), zero=np.zeros(2), m=dyadic(1, 1, 1, 1)), 17),
    }
    sums = lambda: {  # noqa: E731
        # Einsum: attention as Keras writes it; samples on other axes, merged with rows, of one operand, of weights alone.
        "einsum": ([node("Einsum", ["x", "wq"], ["q"], equation="btd,dnh->btnh"), node("Einsum", ["x", "wk"], ["k"], equation="abc,cde->abde"),
                    node("Einsum", ["q", "k"], ["s"], equation="BTNH,BSNH->BNTS"), node("Einsum", ["x", "wv"], ["v"], equation="...d,dnh->...nh"),
                    node("Einsum", ["s", "v"], ["o"], equation="bnts,bsnh -> btnh"), node("Einsum", ["o", "wo"], ["out"], equation="btnh,nhd->btd")],
                   [3, 4], 2, dict(wq=np.sign(dyadic(4, 2, 3)), wk=np.sign(dyadic(4, 2, 3)), wv=np.sign(dyadic(4, 2, 3)), wo=np.sign(dyadic(2, 3, 4))), 17),
        "einsum-moved": ([constant("rows", ints(-1, 4)), node("Reshape", ["x", "rows"], ["r"]), node("Einsum", ["r", "r"], ["r2"], equation="rd,re->dre"),
                          node("Einsum", ["r2"], ["r3"], equation="drd->rd"), node("Einsum", ["wn", "r3"], ["r4"], equation="ed,rd"),
                          node("Neg", ["we"], ["wn"]), node("Transpose", ["r4"], ["r5"]), constant("back", ints(-1, 3, 4)), node("Reshape", ["r5", "back"], ["y"]),
                          node("Transpose", ["y"], ["t"], perm=[1, 2, 0]), node("Einsum", ["t", "m"], ["t1"], equation="tdb,td->db"),
                          node("Einsum", ["t1", "g"], ["t2"], equation="d b,d->bd"), node("Einsum", ["p", "h"], ["c"], equation="ij,jk->ki"),
                          node("Einsum", ["x"], ["x1"], equation="bti->b"), node("Einsum", ["t2", "c"], ["t3"], equation="bd,kd->bk"),
                          node("Einsum", ["t3", "x1"], ["t4"], equation="bk,b->bk"), node("Einsum", ["t4", "one"], ["out"], equation="bk,zk->bk")],
                         [3, 4], 2, dict(we=np.sign(dyadic(4, 4)), m=np.sign(dyadic(3, 4)), g=np.sign(dyadic(4)), p=np.sign(dyadic(4, 2)), h=np.sign(dyadic(2, 3)),
                                         one=np.sign(dyadic(2, 1)) + 2), 17),
    }
    made = lambda: {  # noqa: E731
        # Weights, biases, scales, means and variances that nodes compute of initializers.
        "made-gemm": ([node("Add", ["a", "b"], ["w"]), node("Mul", ["c", "two"], ["d"]), node("Gemm", ["x", "w", "d"], ["y"], transB=1, alpha=0.5, beta=2.0),
                       node("Gemm", ["y", "v", "d"], ["y1"], beta=-1.0), node("Neg", ["v"], ["n"]), node("Gemm", ["y1", "n", "d"], ["y2"], alpha=2.0),
                       node("Mul", ["v", "two"], ["u"]), node("Gemm", ["y2", "u", "c"], ["out"])],
                      [3], 4, dict(a=dyadic(4, 3), b=dyadic(4, 3), c=dyadic(1, 4), two=2, v=np.sign(dyadic(4, 4))), 17),
        "made-windows": ([node("Mul", ["a", "s"], ["w"]), node("Add", ["b", "c"], ["d"]), node("ConvTranspose", ["x", "w", "d"], ["y"], strides=[2], pads=[1, 0], group=2),
                          node("Conv", ["y", "v", "d"], ["z"], group=2, pads=[1, 0]), node("Mul", ["v", "s2"], ["u"]), node("Conv", ["z", "u"], ["y1"], group=2),
                          node("Mul", ["y1", "m"], ["out"])],
                         [4, 3], 2, dict(a=dyadic(4, 3, 2), s=dyadic(4, 1, 1), b=dyadic(6), c=dyadic(6), v=np.sign(dyadic(6, 3, 2)), s2=np.sign(dyadic(6, 1, 1)), m=dyadic(1, 1, 1)), 17),
        "made-windows-rows": ([node("Mul", ["a", "s"], ["w"]), node("Conv", ["x", "w"], ["y"], group=2, pads=[1, 0]), node("Mul", ["t", "s2"], ["u"]),
                               node("ConvTranspose", ["y", "u"], ["y1"], group=2), node("Mul", ["y1", "m"], ["out"])],
                              [3, 4, 3], 2, dict(a=dyadic(4, 2, 2), s=dyadic(4, 1, 1), t=np.sign(dyadic(4, 1, 2)), s2=np.sign(dyadic(4, 1, 1)), m=dyadic(1, 1, 1)), 17),
        "made-norms": ([node("Mul", ["a", "b"], ["s"]), node("Add", ["a", "b"], ["c"]), node("Mul", ["b", "b"], ["var"]), node("InstanceNormalization", ["x", "s", "c"], ["y"]),
                        node("BatchNormalization", ["y", "s", "c", "a", "var"], ["y1"], epsilon=0.75), node("BatchNormalization", ["y1", "a", "c", "c", "one"], ["y2"]),
                        node("Mul", ["l", "l"], ["m"]), node("LayerNormalization", ["y2", "m", "l"], ["y3"], axis=1), node("LayerNormalization", ["y3", "l", "m"], ["y4"]),
                        node("GroupNormalization", ["y4", "c", "s"], ["y5"], num_groups=2), node("Add", ["c", "c"], ["e"]),
                        node("BatchNormalization", ["y5", "e", "s", "a", "var"], ["y6", "m1", "v1"], training_mode=1), node("Relu", ["y6"], ["out"])],
                       [4, 3], 2, dict(a=dyadic(4), b=dyadic(4) + 4, one=np.ones(4), l=dyadic(4, 3)), 21),
        "made-lstm": ([node("Transpose", ["x"], ["t"], perm=[1, 0, 2]), node("Concat", ["w1", "w2"], ["w0"], axis=0), node("Unsqueeze", ["w0", "nought"], ["w"]),
                       node("Mul", ["r0", "s"], ["r"]), node("Concat", ["b1", "b2"], ["b0"], axis=-1), node("LSTM", ["t", "w", "r", "b0"], ["y", "h", "c"], hidden_size=2),
                       constant("one", ints(1)), node("Squeeze", ["y", "one"], ["u"]), node("Transpose", ["u"], ["out"], perm=[1, 0, 2])],
                      [3, 2], 2, dict(w1=dyadic(4, 2), w2=dyadic(4, 2), r0=dyadic(1, 8, 2), s=dyadic(1, 8, 1), b1=dyadic(1, 6), b2=dyadic(1, 10)), 17),
        "made-gru": ([node("Transpose", ["x"], ["t"], perm=[1, 0, 2]), node("Mul", ["w0", "s"], ["w"]), node("Mul", ["r0", "s"], ["r"]),
                      node("GRU", ["t", "w", "r", "b"], ["y", "h"], hidden_size=2, linear_before_reset=1), constant("one", ints(1)), node("Squeeze", ["y", "one"], ["u"]),
                      node("Concat", ["b1", "b2"], ["b3"], axis=1), node("GRU", ["u", "v", "r", "b3", "", "h"], ["y1"], hidden_size=2), node("Squeeze", ["y1", "one"], ["u1"]),
                      node("Transpose", ["u1"], ["out"], perm=[1, 0, 2])],
                     [3, 2], 2, dict(w0=dyadic(1, 6, 2), s=dyadic(1, 6, 1), r0=dyadic(1, 6, 2), b=dyadic(1, 12), v=dyadic(1, 6, 2), b1=dyadic(1, 4), b2=dyadic(1, 8)), 17),
    }
    drops = lambda: {  # noqa: E731
        # Dropout by masks of the batch's, which are drawn below: twice, by 1/4 and by 1/2.
        "dropout": ([constant("on", numpy_helper.from_array(np.array(True))), number("most", 0.75), node("Mul", ["x", "w"], ["y"]),
                     node("Dropout", ["y", "most", "on"], ["d"]), node("Transpose", ["d"], ["t"], perm=[0, 2, 1]), node("Dropout", ["t", "", "on"], ["out"])],
                    [2, 3], 4, dict(w=dyadic(2, 3)), 17),
    }
    fresh = lambda: {  # noqa: E731
        # Entries of the axis itself around it; sums of several; matrices of more axes; a type as another's; an LSTM's last state alone.
        "padded-axes": ([constant("p1", ints(0, 1, 2, 0, 1, 1)), node("Pad", ["x", "p1"], ["y"], mode="reflect"), constant("p2", ints(0, 2, 0, 0, 0, 3)),
                         node("Pad", ["y", "p2"], ["z"], mode="edge"), constant("p3", ints(4, 1)), constant("last", ints(-1)),
                         node("Pad", ["z", "p3", "", "last"], ["u"], mode="wrap"), node("Mul", ["u", "w"], ["out"])],
                        [2, 3], 3, dict(w=dyadic(6, 14)), 19),
        "padded-rows": ([node("Pad", ["x"], ["y"], mode="reflect", pads=[2, 0, 1, 1]), node("Mul", ["y", "w"], ["out"])], [3, 2], 3, dict(w=dyadic(6, 3)), 10),
        "totals": ([node("Sum", ["x", "a", "x", "b"], ["y"]), node("Mean", ["y", "c", "x", "d"], ["z"]), node("Sum", ["z"], ["u"]), node("Mean", ["u"], ["v"]),
                     node("Sum", ["a", "c"], ["e"]), node("Sum", ["v", "e"], ["w"]), node("Mul", ["w", "a"], ["out"])],
                    [2, 3], 3, dict(a=dyadic(3), b=dyadic(1, 2, 1), c=dyadic(2, 1), d=dyadic(1, 1, 1)), 13),
        "squeezed-rows": ([node("Squeeze", ["x"], ["y"]), node("MatMul", ["y", "w"], ["z"]), node("Relu", ["z"], ["out"])], [2, 1, 3], 3, dict(w=dyadic(3, 2)), 13),
        "squeezed": ([node("Squeeze", ["x"], ["y"]), node("MatMul", ["y", "w"], ["z"]), node("Relu", ["z"], ["out"])], [2, 1, 3], 3, dict(w=dyadic(3, 2)), 13),
        "matrices": ([node("MatMul", ["x", "w"], ["y"]), node("Neg", ["v"], ["n"]), node("MatMul", ["n", "y"], ["z"]), node("MatMul", ["u", "w"], ["c"]),
                      node("Add", ["z", "c"], ["out"])],
                     [4, 2, 3], 2, dict(w=dyadic(1, 4, 3, 2), v=dyadic(4, 1, 2), u=dyadic(1, 3)), 17),
        "alike": ([node("CastLike", ["w", "half"], ["h"]), node("CastLike", ["h", "x"], ["v"]), node("Mul", ["x", "v"], ["y"]), constant("many", ints(3, -2)), node("CastLike", ["many", "x"], ["m"]),
                   node("Add", ["y", "m"], ["z"]), node("CastLike", ["z", "w"], ["out"])],
                  [2], 4, dict(w=dyadic(2)), 19),
        "root-mean": ([node("RMSNormalization", ["x", "s"], ["y"], axis=1, epsilon=0.25), node("RMSNormalization", ["y", "t"], ["z"]), node("Relu", ["z"], ["out"])],
                      [2, 3], 3, dict(s=dyadic(2, 3), t=dyadic(3)), 23),
        "last-state": ([node("Transpose", ["x"], ["t"], perm=[1, 0, 2]), node("LSTM", ["t", "w", "r"], ["", "h"], hidden_size=2), node("GRU", ["t", "u", "v"], ["", "g"], hidden_size=2),
                        node("Add", ["h", "g"], ["s"]), node("Transpose", ["s"], ["out"], perm=[1, 0, 2])],
                       [3, 2], 2, dict(w=dyadic(1, 8, 2), r=dyadic(1, 8, 2), u=dyadic(1, 6, 2), v=dyadic(1, 6, 2)), 17),
    }
    stretched = lambda: {  # noqa: E731
        "resized-axes": ([constant("s", numpy_helper.from_array(np.float32([2]))), node("Resize", ["x", "", "s"], ["y"], axes=[3]), constant("n", ints(3, 5)),
                          node("Resize", ["y", "", "", "n"], ["z"], axes=[2, 3], mode="linear", coordinate_transformation_mode="align_corners"), node("Mul", ["z", "w"], ["out"])],
                         [2, 2, 3], 2, dict(w=dyadic(2, 3, 5)), 19),
    }
    transforms = lambda: {  # noqa: E731
        "quarters": ([node("Mul", ["x", "w"], ["y"]), node("DFT", ["y"], ["z"], axis=1), node("Relu", ["z"], ["out"])], [4, 2], 2, dict(w=dyadic(4, 2)), 17),
        "spectrum": ([node("Mul", ["x", "w"], ["y"]), constant("hop", numpy_helper.from_array(np.int64(2))), node("STFT", ["y", "hop", "u"], ["z"]), node("Relu", ["z"], ["out"])],
                     [9, 1], 2, dict(w=dyadic(9, 1), u=dyadic(5)), 17),
        "determinants": ([node("Mul", ["x", "w"], ["y"]), node("Det", ["y"], ["z"]), node("Relu", ["z"], ["out"])], [2, 3, 3], 2, dict(w=dyadic(3, 3)), 17),
        "deviations": ([node("MeanVarianceNormalization", ["x"], ["y"], axes=[2, 3]), node("Mul", ["y", "w"], ["out"])], [2, 2, 3], 2, dict(w=dyadic(2, 1, 1)), 17),
        "named-places": ([node("MatMul", ["x", "w"], ["h"]), node("ArgMin", ["h"], ["i"], axis=-1), node("Squeeze", ["i", "last"], ["j"]), node("Gather", ["t", "j"], ["out"], axis=0)],
                         [2, 3], 2, dict(w=dyadic(3, 4), t=dyadic(4)), 17),
    }
    # More are drawn when the first are done, which so stay what they were.
    for name, (nodes, shape, samples, parameters, opset) in chain(cases.items(), later(more), later(last), later(after), later(newest),
                                                                  later(gated), later(moved), later(single), later(larger), later(inside),
                                                                  later(resized), later(bent), later(extreme), later(between), later(repeated), later(whole),
                                                                  later(several), later(again), later(scaled), later(placed), later(ranged),
                                                                  later(computed), later(spatial), later(infinite), later(decided), later(rows), later(standardized), later(sums), later(made), later(drops), later(fresh), later(stretched), later(transforms)):
        if name == "parts":
            nodes.insert(0, constant("two", ints(2)))
        if name == "rows-of-each":
            nodes.insert(0, nodes.pop(7))
        if name == "named-places":
            nodes.insert(0, constant("last", ints(2)))
        if name == "made-lstm":
            nodes.insert(0, constant("nought", ints(0)))
        if name == "alike":
            nodes.insert(0, constant("half", numpy_helper.from_array(np.float16([1]))))
        if name == "einsum-moved":
            nodes.insert(0, nodes.pop(5))
        if name == "branches":
            nodes.insert(0, constant("none", numpy_helper.from_array(np.int32(0))))
        if name == "windows-of-each":
            nodes.insert(0, nodes.pop(5))
        if name == "shapes":
            nodes.insert(0, nodes.pop(5))  # the constant goes before its use
        rows = name.endswith("-rows")
        save(f"op-{name}.onnx", nodes, shape if rows else ["N"] + shape, None, parameters, opset)
        x = dyadic(samples, *shape)
        x[...] = x[:, :, :1, :1] if name == "gates" else x
        x[0, 0] = 0 if name in ("divided", "elus") else x[0, 0]
        x[0, 1] = 0 if name == "elus" else x[0, 1]
        batch(f"op-{name}.npz", x)
        if name == "dropout":
            d, out = rng.integers(0, 2, size=x.shape), rng.integers(0, 2, size=(samples, 3, 2)).astype(bool)
            arrays(f"op-{name}.npz", x=x, d=d, out=out)
            with open(path(f"op-{name}.npy"), "wb") as f:
                np.save(f, np.ascontiguousarray((x * parameters["w"] * d * 4).transpose(0, 2, 1) * out * 2, np.float32))
            OPERATORS.append(f"{name} 1")
            continue
        reference = ReferenceEvaluator(onnx.load(path(f"op-{name}.onnx")), new_ops=[ConvTranspose])
        out = [reference.run(None, {"x": each})[0] for each in (x if rows else [x])]
        out = np.stack(out) if rows else out[0]
        if name == "softmax-old":  # the reference evaluator knows only the axis rule of opset 13
            e = np.exp(x.reshape(samples, -1).astype(np.float64))
            out = (e / e.sum(axis=1, keepdims=True)).reshape(x.shape) * parameters["w"]
        with open(path(f"op-{name}.npy"), "wb") as f:
            np.save(f, np.ascontiguousarray(out, np.float32))
        OPERATORS.append(f"{name} {0 if name in ROUNDED else 1}")


def graphs_as_operators():
    """Operators that ONNX states as graphs of others, as the reference evaluator computes them."""
    from onnx.reference import ReferenceEvaluator
    rng = np.random.default_rng(77)
    node = helper.make_node

    def dyadic(*shape):
        return (rng.integers(-12, 13, size=shape) / 8).astype(np.float32)

    def split(n):
        return node("Split", ["x"], ["q", "k", "v"], axis=n, num_outputs=3)

    mask = np.where(rng.random((4, 4)) < 0.3, -np.inf, dyadic(4, 4)).astype(np.float32)
    mask[1] = -np.inf
    turns = dict(c=dyadic(5, 2), s=dyadic(5, 2))
    cases = {
        # of 3 axes, two heads of 3 entries: causal; what a query may see is by its place
        "attention": ([split(2), node("Attention", ["q", "k", "v"], ["y"], q_num_heads=2, kv_num_heads=2, is_causal=1), node("Mul", ["y", "w"], ["out"])],
                      [4, 18], 2, dict(w=dyadic(4, 6)), 24, {}),
        # two heads share one of keys; a mask that hides all from a query; capped, scaled, with a past
        "attention-shared": ([node("Attention", ["x", "K", "V", "m", "pk", "pv"], ["a", "", "pvs"], softcap=2.0, scale=0.25),
                              node("ReduceSum", ["pvs"], ["t"], keepdims=0), node("Mul", ["a", "t"], ["out"])],
                             [2, 4, 4], 1, dict(K=dyadic(1, 1, 1, 4), V=dyadic(1, 1, 1, 2), m=mask, pk=dyadic(1, 1, 3, 4), pv=dyadic(1, 1, 3, 2)), 23, {}),
        # a window, and truth values that tell
        "attention-window": ([node("Attention", ["x", "x", "x", "m"], ["out"], left_window_size=1, right_window_size=1)],
                             [1, 4, 3], 2, {}, 25, dict(m=rng.random((4, 4)) < 0.7)),
        "recurrence": ([split(2), node("LinearAttention", ["q", "k", "v", "", "g", "b"], ["y", "s"], q_num_heads=1, kv_num_heads=1),
                        node("ReduceSum", ["s", "a"], ["t"], keepdims=0), node("Mul", ["y", "t"], ["out"])],
                       [3, 6], 1, dict(g=dyadic(1, 3, 2) / 4 - 1, b=dyadic(1, 3, 1) / 4), 27, dict(a=np.array([2]))),
        "rotary": ([node("RotaryEmbedding", ["x", "c", "s", "p"], ["y"], interleaved=1), node("RotaryEmbedding", ["y", "c", "s", "p"], ["out"], rotary_embedding_dim=4)],
                   [2, 3, 4], 2, turns, 23, dict(p=np.array([[4, 0, 2], [4, 0, 2]]))),
        "rotary-joined": ([node("RotaryEmbedding", ["x", "c", "s", "p"], ["out"], num_heads=2, rotary_embedding_dim=4)],
                          [3, 12], 2, turns, 23, dict(p=np.array([[1, 0, 3], [1, 0, 3]]))),
        "causal": ([node("CausalConvWithState", ["x", "w", "b"], ["y", "s"], activation="silu"), node("ReduceSum", ["s", "a"], ["t"]),
                    node("Mul", ["y", "t"], ["out"])], [2, 4], 1, dict(w=dyadic(2, 1, 3), b=dyadic(2)), 27, dict(a=np.array([2]))),
        # a mask that is added up of constants, and a softmax that is guarded by what is computed of it
        "guarded": ([node("Constant", [], ["m"], value=numpy_helper.from_array(np.float32([[0, -np.inf, 1], [2, 0, -np.inf], [0, 0, 0]]))),
                     node("Constant", [], ["l"], value=numpy_helper.from_array(np.float32([-np.inf]))), node("Add", ["m", "m"], ["n"]), node("Constant", [], ["a"], value=numpy_helper.from_array(np.array([-1]))),
                     node("ReduceMax", ["n", "a"], ["r"]), node("Equal", ["r", "l"], ["e"]), node("Add", ["x", "n"], ["s"]), node("Cast", ["s"], ["c"], to=11), node("Cast", ["c"], ["d"], to=1),
                     node("Softmax", ["d"], ["p"]), node("Constant", [], ["z"], value=numpy_helper.from_array(np.float32(0))), node("Where", ["e", "z", "p"], ["q"]), node("Mul", ["q", "w"], ["out"])],
                    [3, 3], 2, dict(w=dyadic(3, 3)), 18, {}),
        "scattered-rows": ([node("ScatterElements", ["x", "e", "u"], ["a"], axis=1), node("ScatterND", ["a", "r", "v"], ["b"], reduction="add"), node("ScatterND", ["w", "s", "b"], ["out"])],
                           [2, 3], 2, dict(u=dyadic(1, 2), v=dyadic(3, 3), w=dyadic(4, 3)), 18, dict(e=np.array([[2, 0]]), r=np.array([[1], [1], [0]]), s=np.array([[3], [-3]]))),
        "loss-rows": ([node("SoftmaxCrossEntropyLoss", ["x", "t", "w"], ["l", "p"], ignore_index=7), node("NegativeLogLikelihoodLoss", ["p", "t"], ["n"], reduction="sum"),
                       node("Mul", ["p", "l"], ["a"]), node("Add", ["a", "n"], ["out"])], [3, 2], 2, dict(w=np.abs(dyadic(2)) + 1), 22, dict(t=np.array([1, 0, 1]))),
    }
    for name, (nodes, shape, samples, parameters, opset, integers) in cases.items():
        rows = name.endswith("-rows")
        save(f"op-{name}.onnx", nodes, shape if rows else [1 if samples == 1 else "N", *shape], None, parameters, opset, integers)
        x = dyadic(samples, *shape)
        batch(f"op-{name}.npz", x)
        reference = ReferenceEvaluator(onnx.load(path(f"op-{name}.onnx")))
        out = [reference.run(None, {"x": each})[0] for each in (x if rows else [x])]
        with open(path(f"op-{name}.npy"), "wb") as f:
            np.save(f, np.ascontiguousarray(np.stack(out) if rows else out[0], np.float32))
        OPERATORS.append(f"{name} 0")


def graphs_in_nodes():
    """Branches and loops, as ONNX Runtime runs them: the reference evaluator joins what a Loop's rounds give along the wrong axis."""
    from onnxruntime import InferenceSession
    rng = np.random.default_rng(78)
    node, value = helper.make_node, helper.make_tensor_value_info

    def dyadic(*shape):
        return (rng.integers(-12, 13, size=shape) / 8).astype(np.float32)

    def graph(nodes, inputs, outputs, initializers=()):
        kinds = {"i": TensorProto.INT64, "c": TensorProto.BOOL}
        ports = [[value(name, kinds.get(name[0], TensorProto.FLOAT), [] if name[0] in kinds else None) for name in names]
                 for names in (inputs, outputs)]
        return helper.make_graph(nodes, "within", *ports, [numpy_helper.from_array(a, k) for k, a in initializers])

    layer = [node("MatMul", ["v", "w"], ["m"]), node("Add", ["m", "b"], ["n"], name="bias"), node("Relu", ["n"], ["next"], name="act")]
    even = [node("Mod", ["i", "two"], ["odd"]), node("Cast", ["odd"], ["cond"], to=TensorProto.BOOL),
            node("If", ["cond"], ["next"], then_branch=graph([node("Relu", ["v"], ["then"])], [], ["then"]),
                 else_branch=graph([node("Mul", ["v", "k"], ["else"])], [], ["else"], [("k", dyadic(3))]))]
    inner = graph([node("Identity", ["c2"], ["c3"]), node("Mul", ["u", "w2"], ["t"]), node("Add", ["t", "v"], ["u2"])], ["i2", "c2", "u"], ["c3", "u2"])
    sum_up = graph([node("Add", ["h", "e"], ["h2"]), node("Relu", ["h2"], ["r"])], ["h", "e"], ["h2", "r"])
    cases = {
        "loop": ([node("Loop", ["rounds", "", "x"], ["y", "all"], body=graph(
            [*layer, node("Identity", ["c"], ["goes"]), node("Identity", ["next"], ["kept"])], ["i", "c", "v"], ["cgoes", "next", "kept"])), node("Transpose", ["all"], ["out"], perm=[1, 0, 2, 3])],
            [2, 3], 2, dict(w=dyadic(3, 3), b=dyadic(3)), dict(rounds=np.array(3))),
        "loop-while": ([node("Loop", ["", "begin", "x"], ["out"], body=graph(
            [*even, node("Less", ["i", "two"], ["goes"])], ["i", "c", "v"], ["cgoes", "next"]))],
            [3], 1, {}, dict(begin=np.array(True), two=np.array(2))),
        "loop-in-loop": ([node("Loop", ["rounds", "", "x"], ["out"], body=graph(
            [node("Identity", ["c"], ["goes"]), node("Loop", ["rounds", "", "v"], ["next"], body=inner)], ["i", "c", "v"], ["cgoes", "next"]))],
            [3], 1, dict(w2=dyadic(3)), dict(rounds=np.array([2]))),
        "scan": ([node("Scan", ["a", "x"], ["last", "all"], num_scan_inputs=1, scan_input_axes=[2], scan_input_directions=[1],
                       scan_output_axes=[1], scan_output_directions=[1], body=sum_up), node("Mul", ["all", "s"], ["out"])],
                 [2, 3], 1, dict(a=dyadic(1, 2), s=dyadic(3, 2)), {}),
        "if-rows": ([node("ReduceSum", ["x"], ["total"], keepdims=0), node("Greater", ["total", "zero"], ["cond"]),
                       node("If", ["cond"], ["out"], then_branch=graph([node("Mul", ["x", "p"], ["then"])], [], ["then"]),
                            else_branch=graph([node("Relu", ["x"], ["r"]), node("Mul", ["r", "q"], ["else"])], [], ["else"], [("q", dyadic(3))]))],
                      [3], 1, dict(p=dyadic(3), zero=np.float32(0.0625)), {}),
        "layer-others": ([node("LayerNormalization", ["x", "w"], ["y", "mean", "root"], axis=1), node("Mul", ["mean", "root"], ["t"]),
                          node("Add", ["y", "t"], ["out"])], [2, 3], 2, dict(w=dyadic(2, 3)), {}),
    }
    for name, (nodes, shape, samples, parameters, integers) in cases.items():
        for n in nodes:  # what tells whether a loop goes on is a truth value by its name here
            for a in n.attribute:
                for o in a.g.output:
                    o.name = o.name.replace("cgoes", "goes")
        rows = name.endswith("-rows")
        save(f"op-{name}.onnx", nodes, shape if rows else [1 if samples == 1 else "N", *shape], None, parameters, 18, integers)
        x = dyadic(samples, *shape)
        batch(f"op-{name}.npz", x)
        out = InferenceSession(path(f"op-{name}.onnx")).run(None, {"x": x[0] if rows else x})[0]
        with open(path(f"op-{name}.npy"), "wb") as f:
            np.save(f, np.ascontiguousarray(out[None] if rows else out, np.float32))
        OPERATORS.append(f"{name} {0 if name == 'layer-others' else 1}")


OPERATORS = []
ROUNDED = ["spectrum", "deviations", "smooth", "softmax-old", "hardswish", "norm-root", "layer", "instance", "group", "trained", "trained-rows",
           "layer-exact", "functions", "quotients", "divided", "elus", "between", "between-line", "lstm", "gru", "rnn", "masked", "counted", "written-out", "minus-infinity", "standardized",
           "made-norms", "made-lstm", "made-gru", "root-mean", "last-state"]


def bound_net(name, patches, v, tail=(), pool=0, relu=True, more=None):
    """w (two entries, both 0) times each patch of an image; Relu, or maxima of `pool` patches; v of all that, or what
    the tail makes of it. So the sum of v_p relu(<w, patch p>), or of v_g max <w, patch p>."""
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"], "conv", strides=[2])]
    if relu:
        nodes += [helper.make_node("Relu", ["y"], ["r"], "rho"), helper.make_node("Flatten", ["r"], ["f"], "flat")]
    if pool:
        nodes += [helper.make_node("MaxPool", ["y"], ["m"], "pool", kernel_shape=[pool], strides=[pool]),
                  helper.make_node("Flatten", ["m"], ["g"], "flat2")]
    if pool and relu:
        nodes.append(helper.make_node("Concat", ["f", "g"], ["h"], "join", axis=1))
    nodes.append(helper.make_node("MatMul", [nodes[-1].output[0], "v"], ["s"], "head"))
    nodes += tail
    nodes[-1].output[0] = "out"
    save(name + ".onnx", nodes, ["N", 1, 2 * len(patches)], None, dict(w=[[[0, 0]]], v=v, **(more or {})))
    batch(name + ".npz", [[np.ravel(patches)]])


PATCHES = [(1, 1), (0, 1), (0, 2), (0, -1), (0, 0), (1, 0), (0, 3), (2, 2)]
WEIGHTS = [0.5, 3, -1, -1, 1, 1, -0.25, 0.25]


def column(v):
    return np.reshape(v, (-1, 1))


def bounds():
    """Relus: what w's second entry moves adds up to 1/4 on one side and 1 on the other; AD's output is 0 there."""
    bound_net("bound", PATCHES, column(WEIGHTS))
    base = dict(verdict="not-in-clarke", model="bound.onnx", data="bound.npz", touched=8, proxies=["Relu 0 0"], wrt="w")
    dead = "dead 2\nu 1 1\nu 3 1"
    tree = f"evidence bound\nv w 1 -1\nparallel 0 7\nparallel 1 2 6\ntree\nbranch 1\nbranch 3\n{dead}\nleaf\nbranch 3\nleaf\n{dead}"
    case("bound", 0, "Families of sign patterns near the weights: at most 2", evidence=tree, **base)
    lines = "parallel 0 7\nparallel 1 2 6"
    order = "touched kinks in increasing order"
    right = [
        ("one-line", tree.replace("parallel 0 7\n", "")),
        ("less", tree.replace(" 2 6", " 2")),
        ("scaled", tree.replace("v w 1 -1", "v w 1 -2/3")),
        ("order", tree.replace(f"branch 1\nbranch 3\n{dead}\nleaf\nbranch 3\nleaf",
                               f"branch 3\nbranch 1\n{dead}\nleaf\nbranch 1\nleaf")),
        # Kink 2 is branched on in place of being parallel; kink 4, whose argument is 0, may be.
        ("branched", f"""evidence bound\nv w 1 -1\nparallel 1 6\ntree\nbranch 1\nbranch 3\n{dead}
        branch 2\nleaf\ndead 2\nu 1 2\nu 2 1
        branch 3\nbranch 2\nleaf\nleaf\n{dead}"""),
        ("still", tree.replace("leaf\nbranch 3", "branch 4\nleaf\nleaf\nbranch 3")),
        # Kink 3 is on its left where 1, 2 and 6 are on their right, so that no side of these needs a branch: -1/4 or -1.
        ("opposites", tree[:tree.index("tree")] + "opposite 1 3\ntree\nleaf"),
        ("opposites-tree", tree[:tree.index("tree")] + "opposite 1 3\ntree\nbranch 1\nleaf\nleaf"),
    ]
    for name, evidence in right:
        case("bound-" + name, 0, "VERIFIED", evidence=evidence, **base)
    wrong = [
        ("alone", "not separated", tree.replace(lines + "\n", "")),
        ("pair", "not separated", tree.replace(" 2 6", " 6")),
        ("side", "not separated", tree.replace("v w 1 -1", "v w 1 1")),
        ("across", "not separated", tree.replace("v w 1 -1", "v w 0 1")),
        ("leaf", "not separated", tree[:tree.index("branch")] + "leaf"),
        ("undead", "not separated", tree.replace(dead, "leaf", 1)),
        ("opposite", "3 (node 1 'rho', feature 3, sample 0) is not parallel to 1", tree.replace(" 2 6", " 2 3 6")),
        ("turned", "is not parallel to 0", tree.replace("parallel 0 7\nparallel 1 2 6", "parallel 0 1")),
        ("turned-2", "is not parallel to 0", tree.replace("parallel 0 7\nparallel 1 2 6", "parallel 0 5")),
        ("askew", "is not parallel to 1", tree.replace("1 2 6", "1 2 5")),
        ("opposite-same", "2 (node 1 'rho', feature 2, sample 0) is not opposite to 1", tree.replace("tree", "opposite 1 3\ntree").replace("1 2 6", "1 6").replace("1 3", "1 2 3")),
        ("opposite-askew", "is not opposite to 1", tree.replace("tree", "opposite 1 5\ntree")),
        ("opposite-zero", "is not opposite to 1", tree.replace("tree", "opposite 1 4\ntree")),
        ("opposite-branched", "a branch on", tree.replace("tree", "opposite 1 3\ntree")),
        ("opposite-first", "'tree' is expected", tree.replace(lines, "opposite 1 3\n" + lines)),
        ("opposite-leader", order, tree.replace(lines, "parallel 2 6\nopposite 1 2")),
        ("opposite-again", order, tree.replace("tree", "opposite 1 6\ntree")),
        ("opposite-side", "not separated", tree[:tree.index("tree")].replace("1 -1", "1 1") + "opposite 1 3\ntree\nleaf"),
        ("wider", "is not parallel to 1", tree.replace("1 2 6", "1 2 7").replace("parallel 0 7\n", "")),
        ("zero", "is not parallel to 1", tree.replace("1 2 6", "1 2 4")),
        ("zero-first", "its argument has derivative zero", tree.replace("1 2 6", "1 2 6\nparallel 4 5")),
        ("lines", order, tree.replace(lines, "parallel 1 2 6\nparallel 0 7")),
        ("again", order, tree.replace(lines, "parallel 1 2\nparallel 1 6")),
        ("before", order, tree.replace("1 2 6", "2 1 6")),
        ("itself", order, tree.replace("1 2 6", "1 1 2 6")),
        ("twice", order, tree.replace("1 2 6", "1 2 2 6")),
        ("shared", order, tree.replace("1 2 6", "1 2 6\nparallel 3 6")),
        ("passed-on", order, tree.replace("1 2 6", "1 2\nparallel 2 6")),
        ("unsorted", order, tree.replace("1 2 6", "1 6 2")),
        ("beyond", order, tree.replace("1 2 6", "1 2 8")),
        ("first-beyond", order, tree.replace("1 2 6", "1 2 6\nparallel 8 9")),
        ("no-other", "ends too early", tree.replace("1 2 6", "1")),
        ("branch-parallel", "a branch on", tree.replace("branch 1", "branch 2", 1)),
        ("branch-beyond", "a branch on", tree.replace("branch 1", "branch 8", 1)),
        ("branch-twice", "a branch on", tree.replace("branch 3", "branch 1", 1)),
        ("branch-below", "a branch on", tree.replace("leaf", "branch 0\nbranch 1\nleaf", 1)),
        ("dead-open", "has not been branched on", tree.replace("u 1 1", "u 0 1", 1)),
        ("dead-parallel", "has not been branched on", tree.replace("u 1 1\nu 3 1", "u 2 1\nu 3 2", 1)),
        ("dead-value", "derivatives is not zero", tree.replace("u 3 1", "u 3 2", 1)),
        ("dead-one", "derivatives is not zero", tree.replace(dead, "dead 1\nu 1 1", 1)),
        ("dead-leaf", "derivatives is not zero", tree.replace("leaf", dead, 1)),
        ("dead-order", "in increasing order", tree.replace("u 1 1\nu 3 1", "u 3 1\nu 1 1", 1)),
        ("dead-negative", "positive values", tree.replace("u 3 1", "u 3 -1", 1)),
        ("dead-none", "proves nothing", tree.replace(dead, "dead 0", 1)),
        ("dead-zero", "has derivative zero", tree.replace("branch 3\n" + dead, "branch 4\ndead 1\nu 4 1", 1)),
        ("no-leaf", "'leaf' is expected", tree[:tree.index("branch") - 1]),
        ("short", "'leaf' is expected", tree[:tree.rindex("dead") - 1]),
        ("more", "'end' is expected", tree + "\nleaf"),
        ("late-line", "'leaf' is expected", tree.replace("tree\n", "tree\nparallel 5 6\n")),
        ("nothing", "'v' is expected", tree.replace("v w 1 -1\n", "")),
        ("v-zero", "nonzero entries", tree.replace("v w 1 -1", "v w 1 0")),
        ("v-frozen", "nonzero entries", tree.replace("v w 1 -1", "v v 1 -1")),
        ("separator", "'tree' is expected", tree.replace("bound", "separator", 1)),
    ]
    for name, number in [("zero-over-less", "0/-1"), ("over-less", "1/-1"), ("over-zero", "1/0"), ("no-number", "0/0"),
                         ("over-more", "2/1"), ("plus", "+1"), ("over-nothing", "1/")]:
        wrong += [("v-" + name, f"'{number}' is not a rational", tree.replace("v w 1 -1", "v w 1 " + number)),
                  ("at-" + name, f"'{number}' is not a rational", tree.replace("v w 1 -1", f"v w {number} -1"))]
    for name, reason, evidence in wrong:
        case("bound-" + name, 1, reason, evidence=evidence, **base)
    for verdict in ["in-clarke", "in-bouligand"]:
        case("bound-" + verdict, 1, "does not prove", evidence=tree, **{**base, "verdict": verdict})
    case("bound-right", 1, "not separated", evidence=tree, **{**base, "proxies": ["Relu 0 1"]})
    case("bound-two", 0, "VERIFIED", evidence=tree.replace("1 -1", "1 1"), **{**base, "proxies": ["Relu 0 2"]})
    case("bound-two-side", 1, "not separated", evidence=tree, **{**base, "proxies": ["Relu 0 2"]})
    bounds_by_how_much(base, tree)
    bounds_of_losses(base, tree)
    bounds_behind(base, tree, dead)
    bounds_of_convex(base, tree, dead)
    bounds_of_windows(base)
    bounds_of_one_function()


def bounds_by_how_much(base, tree):
    """On the side + w's second entry moves v_1 - 2 - 3/4: the sum at the leaf is that, negated."""
    for name, v, status in [("just", 2.75 + 2.0 ** -20, 0), ("none", 2.75, 1), ("under", 2.75 - 2.0 ** -20, 1)]:
        bound_net(f"bound-{name}", PATCHES, column([0.5, v] + WEIGHTS[2:]))
        case(f"bound-{name}", status, "not separated" if status else "VERIFIED", evidence=tree,
             **{**base, "model": f"bound-{name}.onnx"})


def bounds_of_losses(base, tree):
    """The loss's derivative by the one output is 1; with two classes, -1/2 and 1/2."""
    bound_net("bound-ce", PATCHES, np.transpose([np.negative(WEIGHTS), WEIGHTS]))
    for loss, model, x in [("mse", "bound", np.float32([[-0.5]])), ("ce", "bound-ce", np.array([0], np.int64))]:
        image = [[np.ravel(PATCHES)]]
        batch(f"bound-{loss}.npz", image, x)
        other = {**base, "model": model + ".onnx", "data": f"bound-{loss}.npz", "loss": loss}
        case(f"bound-{loss}", 0, "VERIFIED", evidence=tree, **other)
        batch(f"bound-{loss}-other.npz", image, np.float32([[0.5]]) if loss == "mse" else np.array([1], np.int64))
        other["data"] = f"bound-{loss}-other.npz"
        case(f"bound-{loss}-other", 1, "not separated", evidence=tree, **other)
        case(f"bound-{loss}-turned", 0, "VERIFIED", evidence=tree.replace("1 -1", "1 1", 1), **other)
    for name, label in [("last", 2), ("before", -1)]:
        batch(f"bound-ce-{name}.npz", [[np.ravel(PATCHES)]], np.array([label], np.int64))
        case(f"bound-ce-{name}", 1, "label 0 is no class", evidence=tree, **{**other, "data": f"bound-ce-{name}.npz"})


def bounds_behind(base, tree, dead):
    """A second layer: less `more` times the Relu of the sum of all outputs of the first, which is touched and open. Then
    the sum at the leaf is -1/4 + 6 `more` at most. And what is behind a Sigmoid."""
    tail = [helper.make_node("MatMul", ["f", "c"], ["t"], "second"), helper.make_node("Relu", ["t"], ["q"], "rho2"),
            helper.make_node("MatMul", ["q", "d"], ["l"], "last"), helper.make_node("Add", ["s", "l"], ["o"], "sum")]
    for name, more in [("behind", 1 / 32), ("behind-more", 1 / 16)]:
        bound_net(f"bound-{name}", PATCHES, column(WEIGHTS), tail, more=dict(c=[[1]] * 8, d=[[-more]]))
    base = {**base, "model": "bound-behind.onnx", "touched": 9}
    case("bound-behind", 0, "VERIFIED", evidence=tree, **base)
    case("bound-behind-more", 1, "output is separated", evidence=tree, **{**base, "model": "bound-behind-more.onnx"})
    case("bound-behind-branch", 0, "VERIFIED", evidence=tree.replace("leaf", "branch 8\nleaf\nleaf"), **base)
    case("bound-behind-row", 1, "its argument is not affine",
         evidence=tree.replace(f"branch 3\n{dead}", "branch 8\ndead 1\nu 8 1", 1), **base)
    case("bound-behind-line", 1, "is of another kind than 1", evidence=tree.replace("1 2 6", "1 2 6 8"), **base)
    case("bound-behind-first", 1, "touched kinks in increasing order",
         evidence=tree.replace("1 2 6", "1 2 6\nparallel 8 9"), **base)
    for name, op in [("sigmoid", "Sigmoid"), ("softmax", "Softmax")]:
        bound_net(f"bound-{name}", PATCHES, column(WEIGHTS), [helper.make_node(op, ["s"], ["o"], "sigma")])
    # The sigmoid's derivative is 1/4 at 0, whatever the sides are.
    base = {**base, "touched": 8}
    case("bound-sigmoid", 0, "VERIFIED", evidence=tree, **{**base, "model": "bound-sigmoid.onnx"})
    case("bound-sigmoid-side", 1, "not separated", evidence=tree.replace("1 -1", "1 1"), **{**base, "model": "bound-sigmoid.onnx"})
    # A softmax of one entry is 1, whatever w is: nothing is separated.
    case("bound-softmax", 1, "not separated", evidence=tree, **{**base, "model": "bound-softmax.onnx"})
    # Of two entries, 1/2 each, s and 0: 2 s's derivative is that of a sigmoid.
    bound_net("bound-softmax-two", PATCHES, np.hstack([column(WEIGHTS), column([0] * 8)]),
              [helper.make_node("Softmax", ["s"], ["t"], "sigma", axis=1), helper.make_node("MatMul", ["t", "u"], ["o"], "last")], more=dict(u=[[1], [0]]))
    case("bound-softmax-two", 0, "VERIFIED", evidence=tree, **{**base, "model": "bound-softmax-two.onnx"})
    case("bound-softmax-two-side", 1, "not separated", evidence=tree.replace("1 -1", "1 1"), **{**base, "model": "bound-softmax-two.onnx"})
    # The logarithm of the first of two, 1/2 each, has the derivative 1/2 by s.
    bound_net("bound-log-softmax", PATCHES, np.hstack([column(WEIGHTS), column([0] * 8)]),
              [helper.make_node("LogSoftmax", ["s"], ["t"], "sigma", axis=1), helper.make_node("MatMul", ["t", "u"], ["o"], "last")], more=dict(u=[[1], [0]]))
    case("bound-log-softmax", 0, "VERIFIED", evidence=tree, **{**base, "model": "bound-log-softmax.onnx"})
    case("bound-log-softmax-side", 1, "not separated", evidence=tree.replace("1 -1", "1 1"), **{**base, "model": "bound-log-softmax.onnx"})


def bounds_of_one_function():
    """relu(z) - relu(-z) for each entry z of (x v) w, w being 0: products of parameters, of which structure alone tells that they are
    opposite. Touched are z in samples 0 and 1 of units 0 and 1, and then -z likewise; AD's output is 0, and the sum of all z has the derivative
    (sum of x v) by w."""
    node = helper.make_node
    nodes = [node("MatMul", ["x", "v"], ["h"], "first"), node("MatMul", ["h", "w"], ["z"], "second"), node("Relu", ["z"], ["p"], "plus"),
             node("Neg", ["z"], ["n"], "turn"), node("Relu", ["n"], ["q"], "minus"), node("Sub", ["p", "q"], ["out"], "less")]
    save("one-function.onnx", nodes, ["N", 2], None, dict(v=[[1, 2], [0, 1]], w=[[0, 0], [0, 0]]))
    batch("one-function.npz", [[1, 0], [1, 1]])
    base = dict(verdict="not-in-clarke", model="one-function.onnx", data="one-function.npz", touched=8, proxies=["Relu 0 0"])
    lines = "opposite 0 4\nopposite 1 5\nopposite 2 6\nopposite 3 7\n"
    tree = f"evidence bound\nv w 0 -1\n{lines}tree\nleaf"
    case("one-function", 0, "VERIFIED", evidence=tree, **base)
    case("one-function-two-units", 0, "VERIFIED", evidence=tree.replace("v w 0 -1", "v w 0 -1\nv w 1 -3\nv w 3 1/2"), **base)
    case("one-function-of-w", 0, "VERIFIED", evidence=tree, **{**base, "wrt": "w"})
    for name, why, evidence in [
            ("side", "not separated", tree.replace("0 -1", "0 1")), ("v", "not separated", tree.replace("v w 0 -1", "v v 0 -1")),
            ("without", "not separated", tree.replace(lines, "")), ("one", "not separated", tree.replace("opposite 0 4\nopposite 1 5\n", "")),
            ("parallel", "its argument is not affine", tree.replace(lines, lines.replace("opposite 0", "parallel 0"))),
            ("other-sample", "its argument is not affine", tree.replace("0 4", "0 5")), ("other-unit", "its argument is not affine", tree.replace("0 4", "0 6"))]:
        case("one-function-" + name, 1, why, evidence=evidence, **base)
    # z and 2 z, and their square: one function and another.
    nodes[3:] = [node("Add", ["z", "z"], ["n"], "twice"), node("Relu", ["n"], ["q"], "minus"), node("Mul", ["z", "z"], ["m"], "square"), node("Relu", ["m"], ["r"], "squares"),
                 node("Sub", ["p", "q"], ["d"], "less"), node("Sub", ["d", "r"], ["out"], "less2")]
    save("one-function-others.onnx", nodes, ["N", 2], None, dict(v=[[1, 2], [0, 1]], w=[[0, 0], [0, 0]]))
    base = {**base, "model": "one-function-others.onnx", "touched": 12}
    for name, line in [("twice", "parallel 0 4"), ("twice-turned", "opposite 0 4"), ("square", "parallel 0 8"), ("square-turned", "opposite 0 8")]:
        case("one-function-others-" + name, 1, "its argument is not affine", evidence=f"evidence bound\nv w 0 -1\n{line}\ntree\nleaf", **base)


def bounds_of_convex(base, tree, dead):
    """All weights positive: AD's output is in the set, whatever v is and whichever sides are open."""
    bound_net("bound-convex", PATCHES, column(np.abs(WEIGHTS)))
    base = {**base, "model": "bound-convex.onnx"}
    head = tree[:tree.index("tree")]
    trees = ["leaf", tree[tree.index("branch"):], "branch 0\nleaf\nleaf", "branch 5\nbranch 3\nleaf\nleaf\nleaf",
             f"branch 1\nbranch 3\n{dead}\nbranch 0\nleaf\nleaf\nbranch 3\nbranch 5\nleaf\nleaf\n{dead}"]
    for i, proxy in enumerate(["0", "1/2", "1"]):
        for j, v in enumerate(["v w 1 -1", "v w 1 1", "v w 0 1", "v w 0 -1", "v w 0 1\nv w 1 1", "v w 0 -1\nv w 1 2"]):
            case(f"bound-convex-{i}{j}", 1, "not separated", **{**base, "proxies": [f"Relu 0 {proxy}"]},
                 evidence=head.replace("v w 1 -1", v) + "tree\n" + trees[(i + j) % len(trees)])


    # relu(w0 + w1) + relu(w1) + relu(-w0 - w1): only were w1 > 0 wherever w0 + w1 > 0, 0 would be outside.
    bound_net("bound-crossing", [(1, 1), (0, 1), (-1, -1)], column([1, 1, 1]))
    dead = "dead 2\nu 0 1\nu 2 1"
    tree = f"evidence bound\nv w 0 3\nv w 1 -2\nparallel 0 1\ntree\nbranch 0\nbranch 2\n{dead}\nleaf\nbranch 2\nleaf\n{dead}"
    base = {**base, "model": "bound-crossing.onnx", "data": "bound-crossing.npz", "touched": 3, "proxies": ["Relu 0 0"]}
    case("bound-crossing", 1, "is not parallel to 0", evidence=tree, **base)
    case("bound-crossing-open", 1, "not separated", evidence=tree.replace("parallel 0 1\n", ""), **base)


def bounds_of_windows(base):
    """Windows of three patches. The first is max(0, w0, w1), the second twice that, and more; the third
    max(0, -w0, -w1)."""
    groups = [[(0, 0), (1, 0), (0, 1)], [(1, 1), (3, 1), (1, 3)], [(0, 0), (-1, 0), (0, -1)], [(0, 0), (1, 0), (0, 2)],
              [(0, 0), (0, 1), (1, 0)], [(0, 0), (1, 0), (1, 0)], [(0, 0), (1, 1), (1, 0)], [(0, 0), (0, 1), (1, 0)]]
    bound_net("bound-windows", [p for g in groups for p in g], column([3, -1, -1, 0, 0, 0, 0, 0]), pool=3, relu=False)
    base = {**base, "model": "bound-windows.onnx", "data": "bound-windows.npz", "proxies": [], "tie": "first"}
    dead = "dead 2\nu 0 b 1\nu 2 b 1"
    tree = f"evidence bound\nv w 0 -1\nv w 1 -1\nparallel 0 1\ntree\nbranch 0\nbranch 2\n{dead}\nleaf\nleaf\nleaf\nleaf"
    case("bound-windows", 0, "Of these, windows with ties: 8", evidence=tree, **base)
    case("bound-windows-c", 0, "VERIFIED", evidence=tree.replace("u 0 b 1\nu 2 b 1", "u 0 c 2\nu 2 c 2"), **base)
    case("bound-windows-lines", 0, "VERIFIED", evidence=tree.replace("tree", "parallel 4 7\ntree"), **base)
    wrong = [
        ("alone", "not separated", tree.replace("parallel 0 1\n", "")),
        ("last", "not separated", tree.replace("v w 0 -1\nv w 1 -1", "v w 0 1\nv w 1 1")),
        ("one", "not separated", tree.replace("v w 1 -1\n", "")),
        ("open", "not separated", tree.replace(f"branch 2\n{dead}\nleaf\nleaf", "leaf", 1)),
        ("opposite", "is not parallel to 0", tree.replace("0 1\ntree", "0 1 2\ntree")),
        ("factors", "is not parallel to 0", tree.replace("0 1\ntree", "0 1 3\ntree")),
        ("permuted", "is not parallel to 0", tree.replace("0 1\ntree", "0 1 4\ntree")),
        ("options", "is of another kind than 0", tree.replace("0 1\ntree", "0 1 5\ntree")),
        ("turned", "is not parallel to 6", tree.replace("tree", "parallel 6 7\ntree")),
        ("letter", "has no side 'd'", tree.replace("u 0 b", "u 0 d")),
        ("own", "another option", tree.replace("u 0 b", "u 0 a")),
        ("mixed", "derivatives is not zero", tree.replace("u 0 b", "u 0 c")),
        ("dead-parallel", "has not been branched on", tree.replace("u 0 b 1\nu 2 b 1", "u 1 b 1\nu 2 b 2")),
        ("three", "'leaf' is expected", tree[:-5]),
        ("branch-parallel", "a branch on", tree.replace("branch 2", "branch 1")),
    ]
    for name, reason, evidence in wrong:
        case("bound-windows-" + name, 1, reason, evidence=evidence, **base)
    # Two of the three tied entries are one option: max(0, w1) - max(0, -w1), which is w1. AD has 2/3 of that by
    # the mean, 1/3 by `hybrid 1/2`, nothing by the first and twice as much by the last.
    bound_net("bound-mean", [(0, 0), (0, 0), (0, 1), (0, 0), (0, 0), (0, -1)], column([1, -1]), pool=3, relu=False)
    base = {**base, "model": "bound-mean.onnx", "data": "bound-mean.npz", "touched": 2}
    dead = "dead 2\nu 0 {0} 1\nu 1 {0} 1"
    tree = f"evidence bound\nv w 1 -1\ntree\nbranch 0\nbranch 1\n{dead.format('b')}\nleaf\nbranch 1\nleaf\n{dead.format('a')}"
    for i, tie in enumerate(["mean", "hybrid 1/2", "first", "hybrid 3/2", "hybrid -1", "last", "hybrid 2"]):
        less, more = tree, tree.replace("v w 1 -1", "v w 1 1")
        outside = {"hybrid 3/2": (1, 1), "hybrid 2": (1, 0), "last": (1, 0)}.get(tie, (0, 1))
        for sign, evidence, status in [("less", less, outside[0]), ("more", more, outside[1])]:
            case(f"bound-mean-{i}-{sign}", status, "not separated" if status else "VERIFIED", evidence=evidence,
                 **{**base, "tie": tie})
    # The third of four kinks and the second of two windows ask for the same.
    bound_net("bound-both", [(0, 0), (0, -1), (0, 1), (0, 2)], column([0, -1, 3, -1, 0, 0]), pool=2)
    base = {**base, "model": "bound-both.onnx", "data": "bound-both.npz", "touched": 6, "proxies": ["Relu 0 0"],
            "tie": "first"}
    tree = tree.replace("u 0 b 1\nu 1 b 1", "u 1 1\nu 2 1").replace("u 0 a 1\nu 1 a 1", "u 1 1\nu 2 1")
    tree = tree.replace("branch 1", "branch 2").replace("branch 0", "branch 1").replace("tree", "parallel 2 3\ntree")
    case("bound-both", 0, "VERIFIED", evidence=tree, **base)
    case("bound-both-kinds", 1, "is of another kind than 2", evidence=tree.replace("2 3\n", "2 3 5\n"), **base)


def simplices():
    """|w0| and |w1|, more or less: the loss's gradients nearby are (1, 3), (1, -1), (-2, 3), (-2, -1), AD's is 0."""
    bound_net("simplices", [(1, 0), (-1, 0), (0, 1), (0, -1)], column([1, 2, 3, 1]))
    base = dict(verdict="in-clarke", model="simplices.onnx", data="simplices.npz", touched=4, proxies=["Relu 0 0"], wrt="w")

    def evidence(blocks, directions, others=()):
        lines = [f"evidence simplices {len(blocks)}"] + [f"block {b}" for b in blocks]
        for d in directions:
            lines += ["direction"] + [f"move w at {i} {x}" for i, x in enumerate(d) if x != 0]
        lines.append(f"directions {len(others)}")
        for d in others:
            lines += ["direction"] + [f"move w at {i} {x}" for i, x in enumerate(d) if x != 0]
        return "\n".join(lines)

    one, three = ["3 0 1 2 3"], [(2, 1), (-1, -3), ("1/2", -1)]
    two, four = ["2 0 1", "2 2 3"], [(1, 0), (-1, 0), (0, 1), (0, -1)]
    for name, blocks, directions in [("", one, three), ("-turned", one, three[::-1]), ("-two", two, four),
                                     ("-two-turned", ["2 2 3", "2 0 1"], four[2:] + four[:2])]:
        case("simplices" + name, 0, "VERIFIED", evidence=evidence(blocks, directions), **base)
    wrong = [
        ("edge", "cannot tell", one, [(1, 1), (-1, -1), (-1, -1)]),
        ("outside", "not inside the simplex", one, [(1, 1), (-1, 1), (1, -1)]),
        ("segment", "changes of a larger dimension", ["2 0 1 2 3"], [(1, 1), (-1, -1)]),
        ("more", "for changes of dimension 2", ["4 0 1 2 3"], [(1, 1), (-1, -1), (1, -1), (-1, 1)]),
        ("none", "0 cells, for changes of", ["0 0 1 2 3"], []),
        ("flat", "does not move touched kink 2", one, [(1, 0), (-1, -3), (1, -1)]),
        ("few", "'direction' is expected", one, three[:2]),
        ("many", "'directions' is expected", one, three + three[:1]),
        ("left", "no direction moves touched kink 2", ["2 0 1"], four[:2]),
        ("order", "touched kinks in increasing order", ["3 0 2 1 3"], three),
        ("twice", "touched kinks in increasing order", ["3 0 1 1 2 3"], three),
        ("shared", "touched kinks in increasing order", ["2 0 1", "2 1 2 3"], four),
        ("beyond", "touched kinks in increasing order", ["3 0 1 2 3 4"], three),
        ("empty", "ends too early", ["3"], three),
        ("across", "moves, as it must not", two, [(1, 0), (-1, 1), (0, 1), (0, -1)]),
        ("same-side", "not inside the simplex", two, [(1, 0), (2, 0), (0, 1), (0, -1)]),
    ]
    for name, reason, blocks, directions in wrong:
        case("simplices-" + name, 1, reason, evidence=evidence(blocks, directions), **base)
    right = evidence(one, three)
    for name, reason, changed in [("blocks", "'block' is expected", right.replace("simplices 1", "simplices 2")),
                                  ("no-block", "one block or more", right.replace("simplices 1", "simplices 0")),
                                  ("most-blocks", "one block or more", right.replace("simplices 1", "simplices 5")),
                                  ("no-others", "'directions' is expected", right.replace("\ndirections 0", "")),
                                  ("more-lines", "'end' is expected", right + "\nleaf")]:
        case("simplices-" + name, 1, reason, evidence=changed, **base)
    for verdict, reason in [("in-bouligand", "blocks of one cell each"), ("not-in-clarke", "does not prove")]:
        case("simplices-" + verdict, 1, reason, evidence=right, **{**base, "verdict": verdict})
    # With the loss's weights 0 no kink changes the gradient: one cell a block, and that cell's gradient is AD's.
    for name, v in [("zero", [0, 0, 0, 0]), ("half-zero", [0, 0, 3, 1])]:
        bound_net("simplices-" + name, [(1, 0), (-1, 0), (0, 1), (0, -1)], column(v))
        at = {**base, "verdict": "in-bouligand", "model": f"simplices-{name}.onnx"}
        single = evidence(["1 0 1", "1 2 3"], [(1, 0), (0, 1)])
        if name == "zero":
            case("simplices-single", 0, "VERIFIED", evidence=single, **at)
        else:
            case("simplices-half", 1, "changes of a larger dimension", evidence=single, **at)
            both = evidence(["1 0 1", "2 2 3"], [(1, 0), (0, 1), (0, -1)])
            case("simplices-half-two", 1, "blocks of one cell each", evidence=both, **at)
            case("simplices-half-clarke", 0, "VERIFIED", evidence=both, **{**at, "verdict": "in-clarke"})
    # AD has a third of |w0|'s jump and of |w1|'s, then none of it from its right ends.
    case("simplices-third", 0, "VERIFIED", evidence=right, **{**base, "proxies": ["Relu 0 1/3"]})
    case("simplices-right", 1, "not inside the simplex", evidence=right, **{**base, "proxies": ["Relu 0 3/2"]})
    case("simplices-one-side", 1, "changes of a larger dimension", evidence=evidence(["1 0 1 2 3"], three[:1]), **base)
    simplices_of_losses(base, right)
    simplices_of_means(evidence)
    simplices_and_others(base, evidence)
    simplices_of_windows(base, evidence)


def balance_of(groups, cells):
    """cells: (sides, direction), in the order of the groups' choices."""
    lines = [f"evidence balance {len(groups)}"] + [f"group {g}" for g in groups]
    for sides, d in cells:
        lines += [f"cell {sides}", "directions 1", "direction"] + [f"move w at {i} {x}" for i, x in enumerate(d) if x != 0]
    return "\n".join(lines)


def balances():
    """The cells of `simplices`, each whole; groups; kinks behind kinks; rows known up to a factor."""
    base = dict(verdict="in-clarke", model="simplices.onnx", data="simplices.npz", touched=4, proxies=["Relu 0 0"], wrt="w")
    one, two = ["3 0 1 2 3"], ["2 0 1", "2 2 3"]
    three = [("+-+-", (2, 1)), ("-+-+", (-1, -3)), ("+--+", ("1/2", -1))]
    four = [("+-+-", (1, 1)), ("+--+", (1, -1)), ("-++-", (-1, 1)), ("-+-+", (-1, -1))]
    for name, groups, cells in [("", one, three), ("-turned", one, three[::-1]), ("-two", two, four), ("-two-turned", two, four[::-1])]:
        case("balance" + name, 0, "VERIFIED", evidence=balance_of(groups, cells), **base)
    for name, reason, groups, cells in [
            ("outside", "not inside the simplex", one, [("+-+-", (1, 1)), ("-++-", (-1, 1)), ("+--+", (1, -1))]),
            ("segment", "changes of a larger dimension", ["2 0 1 2 3"], [four[0], four[3]]),
            ("more", "4 cells, for changes of dimension 2", ["4 0 1 2 3"], four),
            ("edge", "cannot tell", one, [four[0], four[3], four[3]]),
            ("order", "one for each choice of the groups' cells", two, [four[0], four[2], four[1], four[3]]),
            ("same", "one for each choice of the groups' cells", two, [four[0], four[1], four[2], four[1]]),
            ("side", "moves to the wrong side", one, [("+-++", (2, 1)), *three[1:]]),
            ("few", "'cell' is expected", one, three[:2]), ("many", "'end' is expected", one, three + three[:1]),
            ("none", "of 1 to 65536 cells", ["0 0 1 2 3"], three), ("most", "of 1 to 65536 cells", ["65537 0 1 2 3"], three),
            ("left", "2 (node 1 'rho', feature 2, sample 0) has another slope than AD's, and is in no group", ["2 0 1"], [four[0], four[2]]),
            ("twice", "touched kinks in increasing order", ["3 0 1 1 2 3"], three), ("shared", "touched kinks in increasing order", ["2 0 1", "2 1 2 3"], four),
            ("beyond", "touched kinks in increasing order", ["3 0 1 2 3 4"], three), ("no-group", "one group or more", [], three),
            ("groups", "one group or more", one * 5, three)]:
        case("balance-" + name, 1, reason, evidence=balance_of(groups, cells), **base)
    for verdict, reason in [("in-bouligand", "one cell is expected"), ("not-in-clarke", "does not prove")]:
        case("balance-" + verdict, 1, reason, evidence=balance_of(one, three), **{**base, "verdict": verdict})
    case("balance-single", 0, "VERIFIED", evidence=balance_of(["1 0 1 2 3"], three[:1]), **{**base, "verdict": "in-bouligand", "model": "simplices-zero.onnx"})
    balances_behind()
    balances_up_to_factors()


def balances_behind():
    """relu(2 w + |w|) is 3 w and 0: AD, with 0 and 1/2, says 1. With - 3 relu(w) beside it, it is 0, and AD says -1/2."""
    node = helper.make_node
    nodes = [node("Mul", ["x", "w"], ["a"], "a"), node("Abs", ["a"], ["b"], "b"), node("Mul", ["a", "two"], ["c"], "c"),
             node("Add", ["b", "c"], ["d"], "d"), node("Relu", ["d"], ["out"], "e")]
    save("balance-behind.onnx", nodes, ["N", 1], ["N", 1], dict(w=[0], two=[2]))
    save("balance-behind-zero.onnx", nodes[:4] + [
        node("Relu", ["d"], ["e"], "e"), node("Relu", ["a"], ["f"], "f"), node("Mul", ["f", "three"], ["g"], "g"),
        node("Sub", ["e", "g"], ["out"], "h")], ["N", 1], ["N", 1], dict(w=[0], two=[2], three=[3]))
    batch("balance-behind.npz", [[1]])
    base = dict(verdict="in-clarke", model="balance-behind.onnx", data="balance-behind.npz", touched=2, proxies=["Abs 0 0", "Relu 0 1/2"], wrt="w")
    sides = [("++", (1,)), ("--", (-1,))]
    case("balance-behind", 0, "VERIFIED", evidence=balance_of(["2 0 1"], sides), **base)
    case("balance-behind-above", 1, "not inside", evidence=balance_of(["2 0 1"], sides), **{**base, "proxies": ["Abs 0 0", "Relu 0 2"]})
    # The changes are 3 - 7/5 * 2 and - 7/5 * 2; with AD's slope behind |w|, instead of the cell's, the first would be -4/5 + 7/5.
    case("balance-behind-inside", 0, "VERIFIED", evidence=balance_of(["2 0 1"], sides), **{**base, "proxies": ["Abs 0 0", "Relu 0 7/5"]})
    # 3 - 8/5 * 2 is below 0; with AD's slope it would be -6/5 + 8/5.
    case("balance-behind-outside", 1, "not inside", evidence=balance_of(["2 0 1"], sides), **{**base, "proxies": ["Abs 0 0", "Relu 0 8/5"]})
    case("balance-behind-groups", 1, "the cells are not one for each choice of the groups' cells",
         evidence=balance_of(["2 0", "1 1"], sides), **base)
    case("balance-behind-zero", 1, "not inside", evidence=balance_of(["2 0 1 2"], [("+++", (1,)), ("---", (-1,))]),
         **{**base, "model": "balance-behind-zero.onnx", "touched": 3})


def balances_up_to_factors():
    """relu(w y): y, by Elu, is 2 in a sample and 1/e - 1 in two."""
    nodes = [helper.make_node("Elu", ["x"], ["y"], "y"), helper.make_node("Mul", ["y", "w"], ["z"], "z"), helper.make_node("Relu", ["z"], ["out"], "r")]
    save("balance-factors.onnx", nodes, ["N", 1], ["N", 1], dict(w=[0]))
    batch("balance-factors.npz", [[2], [-1], [-1]])
    base = dict(verdict="in-clarke", model="balance-factors.onnx", data="balance-factors.npz", touched=3, proxies=["Elu 0 1", "Relu 0 0"], wrt="w")
    cells = [("+--", (1,)), ("-++", (-1,))]
    case("balance-factors", 0, "VERIFIED", evidence=balance_of(["2 0 1 2"], cells), **base)
    for name, proxy, status, reason in [("-within", "27/10", 0, "VERIFIED"), ("-beyond", "14/5", 1, "not inside")]:  # 1 / (1 - (1 - 1/e)) = e = 2.718...
        case("balance-factors" + name, status, reason, evidence=balance_of(["2 0 1 2"], cells), **{**base, "proxies": ["Elu 0 1", "Relu 0 " + proxy]})


def simplices_of_losses(base, right):
    """Two classes with irrational shares; and other weights of the second, by which all gradients have a positive entry."""
    patches = [(1, 0), (-1, 0), (0, 1), (0, -1)]
    tail = [helper.make_node("Add", ["s", "c"], ["o"], "shift")]
    weights = np.transpose([np.negative([1, 2, 3, 1]), [1, 2, 3, 1]])
    bound_net("simplices-ce", patches, weights, tail, more=dict(c=[[0, 1]]))
    bound_net("simplices-ce-out", patches, np.transpose([[-1, -2, -3, -1], [1, -5, 3, -9]]), tail, more=dict(c=[[0, 1]]))
    for label in [0, 1]:
        batch(f"simplices-ce-{label}.npz", [[np.ravel(patches)]], np.array([label], np.int64))
        ce = {**base, "model": "simplices-ce.onnx", "data": f"simplices-ce-{label}.npz", "loss": "ce"}
        case(f"simplices-ce-{label}", 0, "VERIFIED", evidence=right, **ce)
        case(f"simplices-ce-out-{label}", 1, "not inside", evidence=right, **{**ce, "model": "simplices-ce-out.onnx"})


def simplices_of_means(evidence):
    """A mean over 3 outputs: the loss's derivatives by them, 2/3, -2/3 and 0, cancel at the kink. So it does not matter, and
    one cell is enough."""
    save("simplices-mean.onnx", [
        helper.make_node("MatMul", ["x", "w"], ["y"], "first"), helper.make_node("Relu", ["y"], ["r"], "rho"),
        helper.make_node("MatMul", ["r", "v"], ["out"], "second")], ["N", 1], ["N", 3], dict(w=[[0]], v=[[1, 1, 1]]))
    batch("simplices-mean.npz", [[1]], np.float32([[-1, 1, 0]]))
    base = dict(verdict="in-clarke", model="simplices-mean.onnx", data="simplices-mean.npz", touched=1, proxies=["Relu 0 1/2"],
                wrt="w", loss="mse")
    case("simplices-mean", 0, "VERIFIED", evidence=evidence(["1 0"], [(1,)]), **base)
    case("simplices-mean-more", 1, "2 cells, for changes of dimension 0", evidence=evidence(["2 0"], [(1,), (-1,)]), **base)
    batch("simplices-mean-other.npz", [[1]], np.float32([[-1, 1, 1]]))
    case("simplices-mean-other", 1, "changes of a larger dimension", evidence=evidence(["1 0"], [(1,)]),
         **{**base, "data": "simplices-mean-other.npz"})


def simplices_and_others(base, evidence):
    """Of |w0| alone AD's sides contradict each other; w1's kink has its left side nearby."""
    bound_net("simplices-others", [(1, 0), (-1, 0), (0, 1)], column([1, 2, 3]))
    base = {**base, "model": "simplices-others.onnx", "data": "simplices-others.npz", "touched": 3}
    block, cells = ["2 0 1"], [(1, 0), (-1, 0)]
    for name, status, reason, others in [
            ("", 0, "VERIFIED", [(0, -1)]), ("-two", 0, "VERIFIED", [(0, -1), (0, 5)]),
            ("-side", 1, "moves to the wrong side", [(0, 1)]), ("-still", 1, "no direction moves", []),
            ("-moves", 1, "moves, as it must not", [(1, -1)])]:
        case("simplices-others" + name, status, reason, evidence=evidence(block, cells, others), **base)
    case("simplices-others-along", 0, "VERIFIED", evidence=evidence(block, [(1, 7), (-1, 7)], [(0, -1)]), **base)
    case("simplices-others-proxy", 1, "gives it no side", evidence=evidence(block, cells, [(0, -1)]),
         **{**base, "proxies": ["Relu 0 1/2"]})
    # By right slopes the second layer's kink moves with the one before it.
    tail = [helper.make_node("MatMul", ["f", "c"], ["t"], "second"), helper.make_node("Relu", ["t"], ["q"], "rho2"),
            helper.make_node("MatMul", ["q", "d"], ["l"], "last"), helper.make_node("Add", ["s", "l"], ["o"], "sum")]
    bound_net("simplices-deep", [(1, 0), (-1, 0), (0, 1)], column([1, 2, 3]), tail, more=dict(c=[[0], [0], [1]], d=[[1]]))
    deep = {**base, "model": "simplices-deep.onnx", "touched": 4}
    for name, status, reason, proxy, others in [
            ("right", 0, "VERIFIED", "right", [(0, 1)]),
            ("wrong", 1, "moves to the wrong side", "right", [(0, -1)]), ("still", 1, "no direction moves", "right", [])]:
        case("simplices-deep-" + name, status, reason, evidence=evidence(block, cells, others), **{**deep, "proxies": ["Relu 0 " + proxy]})
    # A kink behind those of a block is in none.
    tail = [helper.make_node("MatMul", ["f", "c"], ["t"], "second"), helper.make_node("Relu", ["t"], ["q"], "rho2"),
            helper.make_node("MatMul", ["q", "d"], ["l"], "last"), helper.make_node("Add", ["s", "l"], ["o"], "sum")]
    bound_net("simplices-behind", [(1, 0), (-1, 0)], column([1, 2]), tail, more=dict(c=[[1]] * 2, d=[[1]]))
    batch("simplices-behind.npz", [[np.ravel([(1, 0), (-1, 0)])]])
    base = {**base, "model": "simplices-behind.onnx", "data": "simplices-behind.npz", "touched": 3}
    case("simplices-behind", 1, "2 (node 5 'rho2', feature 0, sample 0): its argument is not affine",
         evidence=evidence(["2 0 1 2"], cells), **base)
    case("simplices-behind-others", 1, "no direction moves touched kink 2", evidence=evidence(block, cells), **base)
    bound_net("simplices-sigmoid", [(1, 0), (-1, 0)], column([1, 2]), [helper.make_node("Sigmoid", ["s"], ["o"], "sigma")])
    case("simplices-sigmoid", 0, "VERIFIED", evidence=evidence(block, cells), **{**base, "model": "simplices-sigmoid.onnx", "touched": 2})
    bound_net("simplices-sigmoid-out", [(1, 0), (-1, 0)], column([1, -2]), [helper.make_node("Sigmoid", ["s"], ["o"], "sigma")])
    case("simplices-sigmoid-out", 1, "not inside the simplex", evidence=evidence(block, cells),
         **{**base, "model": "simplices-sigmoid-out.onnx", "touched": 2})


def simplices_of_windows(base, evidence):
    """3 max(0, w0, w1) + max(0, -w0, -w1), of which AD has the first entries: gradients (3, -1), (-1, 3), (-1, 0) and others."""
    groups = [[(0, 0), (1, 0), (0, 1)], [(0, 0), (-1, 0), (0, -1)]]
    bound_net("simplices-windows", [p for g in groups for p in g], column([3, 1]), pool=3, relu=False)
    base = {**base, "model": "simplices-windows.onnx", "data": "simplices-windows.npz", "touched": 2, "proxies": []}
    cells = [(2, -1), (-1, 2), (-2, -1)]
    for name, status, reason, tie, directions in [
            ("", 0, "VERIFIED", "first", cells), ("-last", 1, "not inside", "last", cells),
            ("-mean", 0, "VERIFIED", "mean", cells), ("-hybrid", 0, "VERIFIED", "hybrid 1/2", cells),
            ("-tied", 1, "does not move touched kink 0", "first", [(2, -1), (1, 1), (-2, -1)]),
            ("-tied-largest", 1, "does not move touched kink 1", "first", [(2, -1), (-1, 2), (-1, -1)]),
            ("-outside", 1, "not inside", "first", [(2, -1), (-1, 2), (1, 2)])]:
        case("simplices-windows" + name, status, reason, evidence=evidence(["3 0 1"], directions), **{**base, "tie": tie})


def save_step(name, nodes, shape, parameters, y=None, opset=21, loss=()):
    """A model that ends in its loss, the scalar `loss` (or of another shape); y: the type and shape of its target."""
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
    if y is not None:
        inputs.append(helper.make_tensor_value_info("y", *y))
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("loss", TensorProto.FLOAT, loss)],
                              [numpy_helper.from_array(np.asarray(v, np.float32), k) for k, v in parameters.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("clarke", 1)])
    model.ir_version = 10
    with open(path(name), "wb") as f:
        f.write(model.SerializeToString())


def negated():
    """Lemma 2 with -w made in the graph, and the sum of its output; every reader of a negated constant."""
    node = helper.make_node
    two = [node("Relu", ["a"], ["p"], "plus"), node("Relu", ["b"], ["q"], "minus"), node("Sub", ["p", "q"], ["f"], "less"),
           node("ReduceSum", ["f"], ["loss"], "sum", keepdims=0)]
    turn = node("Neg", ["w"], ["n"], "neg")
    twice = [turn, node("Neg", ["n"], ["m"], "again")]
    base = dict(verdict="not-in-clarke", data="step.npz", touched=2, proxies=["Relu 0 0"])
    tree = """evidence separator
    v w 0 -1
    tree
    branch 0
    branch 1
    dead 2
    u 0 1
    u 1 1
    leaf
    branch 1
    leaf
    dead 2
    u 0 1
    u 1 1"""
    batch("step.npz", [[1]])
    for name, of, nodes in [
            ("mul", [0], [node("Mul", ["w", "x"], ["a"]), turn, node("Mul", ["n", "x"], ["b"])]),
            ("div", [1], [node("Sub", ["x", "w"], ["a"]), turn, node("Div", ["x", "n"], ["c"]), node("Add", ["c", "w"], ["b"])]),
            ("add", [1], [node("Sub", ["x", "w"], ["a"]), turn, node("Add", ["n", "x"], ["c"]), node("Neg", ["c"], ["b"])]),
            ("sub", [1], [node("Sub", ["x", "w"], ["a"]), turn, node("Sub", ["x", "n"], ["c"]), node("Sub", ["c", "x"], ["d"]),
                          node("Sub", ["d", "x"], ["b"])]),
            ("twice", [0], [*twice, node("Mul", ["x", "m"], ["a"]), node("Mul", ["x", "n"], ["b"])]),
            ("matmul", [[0]], [node("MatMul", ["x", "w"], ["a"]), turn, node("Transpose", ["n"], ["t"]), node("MatMul", ["x", "t"], ["b"])]),
            ("gemm", [[0]], [node("Gemm", ["x", "w"], ["a"]), turn, node("Gemm", ["x", "n", "w"], ["b"], alpha=2.0)])]:
        save_step(f"negated-{name}.onnx", nodes + two, ["N", 1], {"w": of})
        if name != "div":  # whose b is not affine
            case(f"negated-{name}", 0, "VERIFIED", model=f"negated-{name}.onnx",
                 evidence=tree.replace("w 0 -1", "w 0 1") if of == [1] else tree, **base)
        case(f"negated-{name}-not", 1, "touched kink", model=f"negated-{name}.onnx",
             **{**base, "verdict": "in-bouligand", "evidence": "evidence ad\ncell ad\ndirections 0"})


def own_losses():
    """Models that end in their loss: the statement's must be it, and its form the one that is known."""
    node = helper.make_node
    soft = [node("MatMul", ["x", "w"], ["o"], "out"), node("LogSoftmax", ["o"], ["l"], "soft", axis=1)]
    nll = node("NegativeLogLikelihoodLoss", ["l", "y"], ["loss"], "nll", reduction="mean")
    less = [node("MatMul", ["x", "w"], ["o"], "out"), node("Sub", ["o", "y"], ["d"], "less")]
    mean = [node("Mul", ["d", "d"], ["s"], "square"), node("ReduceMean", ["s"], ["loss"], "mean", keepdims=0)]
    labels, targets, w = (TensorProto.INT64, ["N"]), (TensorProto.FLOAT, ["N", 2]), {"w": [[1, 2]]}
    batch("step-labels.npz", [[1], [2]], [0, 1])
    batch("step-x.npz", [[1], [2]])
    batch("step-targets.npz", [[1], [2]], np.ones((2, 2), np.float32))
    base = dict(verdict="in-bouligand", touched=0, proxies=[], evidence=NOTHING)
    save_step("step-ce.onnx", [*soft, nll], ["N", 1], w, labels)
    save_step("step-mse.onnx", [*less, *mean], ["N", 1], w, targets)
    case("step-ce", 0, "VERIFIED", model="step-ce.onnx", data="step-labels.npz", loss="ce", **base)
    case("step-mse", 0, "VERIFIED", model="step-mse.onnx", data="step-targets.npz", loss="mse", **base)
    case("step-ce-sum", 1, "the model's own loss is another", model="step-ce.onnx", data="step-labels.npz", loss="sum", **base)
    case("step-mse-sum", 1, "the model's own loss is another", model="step-mse.onnx", data="step-targets.npz", loss="sum", **base)
    case("step-ce-none", 1, "there is no y", model="step-ce.onnx", data="step-x.npz", loss="ce", **base)
    case("step-mse-shape", 1, "y does not have the shape that the model declares", model="step-mse.onnx", data="step-labels.npz",
         loss="mse", **base)
    save("softmax-last.onnx", [soft[0], node("Softmax", ["o"], ["out"], "soft", axis=1)], ["N", 1], ["N", 2], w)
    case("softmax-last", 0, "VERIFIED", model="softmax-last.onnx", data="step-labels.npz", loss="ce", **base)
    for name, status, reason, shape in [("unsaid", 0, "VERIFIED", None), ("one", 2, "is a loss, and no scalar", [1]), ("two", 2, "is a loss, and no scalar", [2])]:
        save_step(f"step-{name}.onnx", [*soft, nll], ["N", 1], w, labels, loss=shape)
        case("step-" + name, status, reason, model=f"step-{name}.onnx", data="step-labels.npz", loss="ce", **base)
    batch("step-ignored.npz", [[1], [2]], [-100, 1])
    batch("step-all-ignored.npz", [[1], [2]], [-100, -100])
    for name, index in ("ignoring", -100), ("ignoring-another", 0):
        save_step(f"step-{name}.onnx", [*soft, node("NegativeLogLikelihoodLoss", ["l", "y"], ["loss"], "nll", ignore_index=index)], ["N", 1], w, labels)
    case("step-ignoring", 0, "VERIFIED", model="step-ignoring.onnx", data="step-ignored.npz", loss="ce", **base)
    case("step-ignoring-none", 0, "VERIFIED", model="step-ignoring.onnx", data="step-labels.npz", loss="ce", **base)
    case("step-ignoring-all", 1, "every label is ignored", model="step-ignoring.onnx", data="step-all-ignored.npz", loss="ce", **base)
    case("step-ignoring-another", 1, "label 0 is no class", model="step-ignoring-another.onnx", data="step-ignored.npz", loss="ce", **base)
    case("step-not-ignoring", 1, "label 0 is no class", model="step-ce.onnx", data="step-ignored.npz", loss="ce", **base)
    again = node("Relu", ["l"], ["more"], "more")
    for name, reason, nodes, y in [
            ("reduction", "is not of the first one's type", [*soft, node("NegativeLogLikelihoodLoss", ["l", "y"], ["loss"], reduction="sum")], labels),
            ("ignore", "is not of the first one's type", [*soft, node("NegativeLogLikelihoodLoss", ["l", "y"], ["loss"], reduction="mean", ignore_index=0.0)],
             labels),
            ("axis", "is not of the first one's type", [soft[0], node("LogSoftmax", ["o"], ["l"], "soft", axis=-1), nll], labels),
            ("read", "is not of the first one's type", [*soft, again, nll], labels),
            ("keep", "the batch has no array for input", [*less, mean[0], node("ReduceMean", ["s"], ["loss"], keepdims=1)], targets),
            ("axes", "which ONNX does not allow there", [less[0], node("ReduceSum", ["o", "w"], ["loss"], keepdims=0)], None),
            ("kept", "the batch axis would be mixed", [less[0], node("ReduceSum", ["o"], ["loss"])], None),
            ("square", "the batch has no array for input", [*less, node("Mul", ["d", "o"], ["s"]), mean[1]], targets),
            ("one-run", "of all samples of one run", None, labels)]:
        if nodes is None:
            save_step(f"step-{name}.onnx", [*soft, nll], [1, 1], w, y)
        else:
            save_step(f"step-{name}.onnx", nodes, ["N", 1], w, y)
        case("step-" + name, 2, reason, model=f"step-{name}.onnx",
             data="step-x.npz" if y is None else "step-labels.npz", loss="ce", **base)


def clamped():
    """Clamp is Clip with proxies of its own, of a domain of its own."""
    node = helper.make_node
    ends = [node("Constant", [], ["low"], value_float=-1.0), node("Constant", [], ["high"], value_float=1.0)]
    nodes = [*ends, node("Mul", ["x", "w"], ["a"], "times"), node("Clamp", ["a", "low", "high"], ["c"], "clamp", domain="clarke"),
             node("Clip", ["a", "low", "high"], ["h"], "clip"), node("Add", ["c", "h"], ["f"], "plus"),
             node("ReduceSum", ["f"], ["loss"], "sum", keepdims=0)]
    save_step("clamped.onnx", nodes, ["N", 1], {"w": [1]})
    base = dict(model="clamped.onnx", data="step.npz", touched=2, proxies=["Clamp 0 1", "Clamp 1 1", "Clip 0 0", "Clip 1 0"])
    sides = """evidence hull 2
    cell 1/2 --
    directions 1
    direction
    move w at 0 -1
    cell 1/2 ++
    directions 1
    direction
    move w at 0 1"""
    case("clamped", 0, "VERIFIED", verdict="in-clarke", evidence=sides, **base)
    case("clamped-clip", 1, "proxy of kink 0 of Clamp", verdict="in-clarke", evidence=sides, **{**base, "proxies": ["Clip 0 0", "Clip 1 0"]})
    case("clamped-zero", 1, "is not AD's output", verdict="in-clarke", evidence=sides,
         **{**base, "proxies": ["Clamp 0 0", "Clamp 1 0", "Clip 0 0", "Clip 1 0"]})


def save_run(name, nodes, parameters, x=(TensorProto.FLOAT, [2]), more=()):
    """A model without a batch axis that ends in its loss; more: further inputs, (name, type, shape)."""
    inputs = [helper.make_tensor_value_info(n, t, s) for n, t, s in [("x", *x), *more]]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])],
                              [numpy_helper.from_array(np.asarray(v, np.float32), k) for k, v in parameters.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("clarke", 1)])
    model.ir_version = 10
    with open(path(name), "wb") as f:
        f.write(model.SerializeToString())


def arrays(name, **given):
    with open(path(name), "wb") as f:
        np.savez(f, **given)


def single_runs():
    """Terms of parameters alone, rows by integers, squares, Huber's function, further inputs: of one run without a batch axis."""
    node = helper.make_node
    total = node("ReduceSum", ["f"], ["loss"], "sum", keepdims=0)
    both = """evidence hull 2
    cell 1/2 -
    directions 1
    direction
    move w at 0 -1
    cell 1/2 +
    directions 1
    direction
    move w at 0 1"""
    ad = "evidence ad\ncell ad\ndirections 1\ndirection\nmove w at 0 1"
    arrays("run.npz", x=np.float32([[1, 2]]))
    batch("run-two.npz", [[1, 2], [3, 4]])
    norm = [node("Lift", ["w"], ["a"], "lift", domain="clarke"), node("Abs", ["a"], ["b"], "abs"), node("Mul", ["x", "w"], ["c"], "times"),
            node("Add", ["b", "c"], ["f"], "plus"), total]
    save_run("run-l1.onnx", norm, {"w": [0, 1]})
    base = dict(model="run-l1.onnx", data="run.npz", touched=1, proxies=["Abs 0 0"])
    case("run-l1", 0, "VERIFIED", verdict="in-clarke", evidence=both, **base)
    case("run-l1-ad", 1, "gives it no side", verdict="in-bouligand", evidence=ad, **base)
    case("run-l1-touched", 1, "number of touched kinks is 1", verdict="in-clarke", evidence=both, **{**base, "touched": 2})
    case("run-l1-two", 2, "of all samples of one run", verdict="in-clarke", evidence=both, **{**base, "data": "run-two.npz"})
    save_run("run-domain.onnx", [node("Lift", ["w"], ["a"], "lift"), *norm[1:]], {"w": [0, 1]})
    case("run-domain", 2, "of another domain", verdict="in-clarke", evidence=both, **{**base, "model": "run-domain.onnx"})
    rows = [node("Gather", ["w", "x"], ["a"], "rows", axis=0), node("Abs", ["a"], ["f"], "abs"), total]
    table = {"w": [[0, 3], [1, 1]]}
    integers = (TensorProto.INT64, [2])
    for name, x, status, reason in [("", [0, -2], 0, "VERIFIED"), ("-range", [0, 2], 2, "a place is out of range"),
                                    ("-below", [0, -3], 2, "a place is out of range")]:
        arrays(f"run-rows{name}.npz", x=np.int64([x]))
        save_run("run-rows.onnx", rows, table, integers)
        case("run-rows" + name, status, reason, verdict="in-clarke", model="run-rows.onnx", data=f"run-rows{name}.npz", touched=2,
             proxies=["Abs 0 0"], evidence=both.replace("1/2 -", "1/2 --").replace("1/2 +", "1/2 ++"))
    huber = [node("Constant", [], ["d"], value_float=2.0), node("Constant", [], ["two"], value_float=2.0), node("Mul", ["x", "w"], ["a"], "times"),
             node("Huber", ["a", "d"], ["h"], "huber", domain="clarke")]
    square = [node("Pow", ["a", "two"], ["p"], "square"), node("Div", ["p", "two"], ["q"], "half"), node("Sub", ["h", "q"], ["s"], "less")]
    smooth = dict(verdict="in-bouligand", data="run.npz", proxies=[], touched=0)
    save_run("run-huber.onnx", [*huber, node("Identity", ["h"], ["f"]), total], {"w": [3, 1]})
    case("run-huber", 0, "VERIFIED", model="run-huber.onnx", evidence=NOTHING, **smooth)  # its second argument is 2
    case("run-huber-touched", 1, "number of touched kinks is 0", model="run-huber.onnx", evidence=NOTHING, **{**smooth, "touched": 1})
    # Huber's less half the square is 0 up to 2, and below 0 behind it: touched there, with a row that is 0.
    save_run("run-joint.onnx", [*huber, *square, node("Relu", ["s"], ["f"], "rho"), total], {"w": [3, 1]})
    case("run-joint-smooth", 1, "number of touched kinks is 1", model="run-joint.onnx", evidence=NOTHING, **{**smooth, "proxies": ["Relu 0 0"]})
    case("run-joint", 0, "VERIFIED", model="run-joint.onnx", evidence=NOTHING,
         **{**smooth, "touched": 1, "proxies": ["Relu 0 0"]})
    for name, reason, second in [("delta", "a delta that is not positive", -2.0), ("power", "VERIFIED", -2.5)]:  # of (3, 2), both above 0
        nodes = [node("Constant", [], ["d"], value_float=second), huber[2],
                 node("Pow", ["a", "d"], ["f"]) if name == "power" else node("Huber", ["a", "d"], ["f"], domain="clarke"), total]
        save_run(f"run-{name}.onnx", nodes, {"w": [3, 1]})
        case("run-" + name, 0 if name == "power" else 2, reason, model=f"run-{name}.onnx", evidence=NOTHING, **smooth)
    masked = [node("Mul", ["x", "w"], ["a"], "times"), node("Mul", ["a", "mask"], ["m"], "mask"), node("Relu", ["m"], ["f"], "rho"), total]
    mask = [("mask", TensorProto.FLOAT, [2])]
    save_run("run-mask.onnx", masked, {"w": [1, 1]}, more=mask)
    given = np.float32([[1, 2]])
    for name, status, reason, more in [
            ("", 0, "VERIFIED", {"mask": np.float32([2, 0.5])}), ("-missing", 2, "no array for input 'mask'", {}),
            ("-shape", 2, "another shape", {"mask": np.float32([1, 2, 3])}), ("-rank", 2, "no array for input 'mask'", {"mask": np.float32([[1, 2]])}),
            ("-other", 2, "which no further input is named by", {"mask": np.float32([2, 0.5]), "more": np.float32([1])})]:
        arrays(f"run-mask{name}.npz", x=given, **more)
        case("run-mask" + name, status, reason, model="run-mask.onnx", data=f"run-mask{name}.npz", evidence=NOTHING,
             **{k: v for k, v in {**smooth, "proxies": ["Relu 0 0"]}.items() if k != "data"})
    arrays("run-mask-two.npz", x=np.float32([[1, 2], [3, 4]]), mask=np.float32([2, 0.5]))
    case("run-mask-two", 2, "no batch axis, and several samples", model="run-mask.onnx", data="run-mask-two.npz", evidence=NOTHING,
         **{k: v for k, v in smooth.items() if k != "data"})
    # The batch's x is the first input's array, and y the loss's target: an input beside it that is called so would read them.
    arrays("beside.npz", x=np.float32([[1, 2], [3, 4]]), y=np.float32([[1, 2], [3, 4]]))
    for name, reason in [("x", "the batch's x is that one's"), ("y", "the batch's y is the loss's target")]:
        inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [None, 2]) for n in ("q", name)]
        graph = helper.make_graph([node("Mul", ["q", "w"], ["a"]), node("Mul", ["a", name], ["out"])], "g", inputs,
                                  [helper.make_tensor_value_info("out", TensorProto.FLOAT, [None, 2])],
                                  [numpy_helper.from_array(np.float32([1, 1]), "w")])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 8
        with open(path(f"beside-{name}.onnx"), "wb") as f:
            f.write(model.SerializeToString())
        case("beside-" + name, 2, reason, model=f"beside-{name}.onnx", data="beside.npz", evidence=NOTHING,
             **{k: v for k, v in smooth.items() if k != "data"})


def refusals():
    """Models that are none, or not read: each node once with each thing that its reader asks for missing. (x is 2, 3, 4; w 4, 4;
    s, b and v of 2; k of 4, 2, 3.)"""
    node = helper.make_node
    weights = dict(w=np.ones((4, 4)), s=[1, 1], b=[1, 1], v=[1, 1], zero=0, one=1, k=np.ones((4, 2, 3)))
    batch("refused.npz", np.ones((2, 2, 4)))

    def ints(*values):
        return node("Constant", [], ["i"], value=numpy_helper.from_array(np.array(values, np.int64)))

    def axes_of(name, *values):
        return node("Constant", [], [name], value=numpy_helper.from_array(np.array(values, np.int64)))

    def models():
        def one(reason, op, inputs=("x",), before=(), opset=17, **attributes):
            return reason, [*before, node(op, list(inputs), ["out"], **attributes)], opset
        fit, mixed = "the shapes do not fit", "the batch axis would be mixed"
        yield one(mixed, "Softmax", axis=0)
        yield one(mixed, "LogSoftmax", axis=-3)
        yield one("an axis is out of range", "Softmax", axis=3)
        yield one("output 'out' is not computed from the input", "Softmax", ["w"])
        yield one("output 'out' is not computed from the input", "Relu", ["w"])
        yield one("output 'out' is not computed from the input", "Tanh", ["w"])
        yield one("has not the batch on its first axis", "Flatten", axis=2)
        yield one("has not the batch on its first axis", "Flatten", axis=0)
        yield one("not a shape", "Reshape", ["x", "i"], [ints(0, 8)], allowzero=1)
        for shape in [(0, -2), (0, -1, -1), (0, 2, 4, 0), (0, 2, 4, 1, 0)]:
            yield one("not a shape", "Reshape", ["x", "i"], [ints(*shape)])
        for shape in [(0, 7), (0, 2, 2), (0, 3, -1)]:
            yield one("the shapes hold different numbers of entries", "Reshape", ["x", "i"], [ints(*shape)])
        for shape in [(16,), (4, 4), (-1,), ()]:
            yield one("the shapes hold different numbers of entries" if shape == () else "has not the batch on its first axis",
                      "Reshape", ["x", "i"], [ints(*shape)])
        yield one("input 'w' is FLOAT, which ONNX does not allow there", "Reshape", ["x", "w"])
        yield one("input 'x' is FLOAT, which ONNX does not allow there", "Reshape", ["x", "x"])
        yield one("perm does not fit", "Transpose", perm=[0, 1])
        for perm in [[1, 0, 2], [0, 1, 1], [0, 1, 3], [0, -1, 1], [0, 0, 1]]:
            yield one("has not the batch on its first axis" if perm[0] == 1 else "perm is no permutation", "Transpose", perm=perm)
        yield one("has not the batch on its first axis", "Transpose")
        yield one("an axis twice, or not of size 1", "Squeeze", ["x", "i"], [ints(1)])
        yield one("an axis twice, or not of size 1", "Unsqueeze", ["x", "i"], [ints(1, 1)])
        yield one("not of size 1 in the whole tensor", "Squeeze", ["x", "i"], [ints(0)])
        yield one("has not the batch on its first axis", "Unsqueeze", ["x", "i"], [ints(0)])
        yield one("more axes than supported", "Unsqueeze", ["x", "i"], [ints(*range(1, 7))])
        yield one("an axis is out of range", "Unsqueeze", ["x", "i"], [ints(4)])
        yield one(fit, "Add", ["x", "s"])
        yield one("has not the batch on its first axis", "Add", ["x", "many"], [node("Constant", [], ["many"], value=numpy_helper.from_array(
            np.ones((1, 1, 1, 1), np.float32)))])
        yield one("output 'out' is not computed from the input", "Add", ["s", "b"])
        # x - x is 0 everywhere, and so is 0 times what is behind it
        none = [node("Mul", ["x", "one"], ["a"]), node("Sub", ["a", "a"], ["n"])]
        yield one("an argument is 0, or below, where it is not smooth", "Div", ["one", "n"], none)
        yield one("output 'out' is not computed from the input", "Div", ["s", "b"])
        yield one("an argument is 0, or below, where it is not smooth", "Div", ["x", "n"], none)
        yield one("division by zero", "Div", ["x", "zero"])
        yield one("input 'i' is INT64 and one before it is FLOAT", "Add", ["x", "i"], [ints(1)])
        for inputs in [["w", "s"], ["x", "k"], ["x", "x"], ["x", "zero"]]:
            yield one("two activations that are no matrices" if inputs in (["x", "x"], ["x", "k"]) else "the shapes do not fit" if inputs == ["w", "s"] else
                      "not an activation and a constant with the right number of axes", "MatMul", inputs)
        yield one("not an activation and a constant with the right number of axes", "Gemm", ["x", "w"])
        flat = [node("Flatten", ["x"], ["f"])]
        yield one("or transA", "Gemm", ["f", "w"], flat, transA=1)
        yield one("W is another one for each sample", "Gemm", ["w", "f"], flat)
        yield one(fit, "Gemm", ["f", "w"], flat)
        yield one(fit, "MatMul", ["x", "s"])
        yield one(mixed, "MatMul", ["v", "f"], flat)
        yield one(mixed, "MatMul", ["v", "p"], [node("ReduceMean", ["x"], ["p"], axes=[1, 2], keepdims=0)])
        yield one("more than one entry along the batch axis", "Gemm", ["g", "w", "k"], [node("ReduceMean", ["x"], ["g"], axes=[1], keepdims=0)])
        yield one("a bias that does not fit the product", "Gemm", ["g", "w", "h"],
                  [node("ReduceMean", ["x"], ["g"], axes=[1], keepdims=0), node("ReduceMean", ["x"], ["h"], axes=[2], keepdims=0)])
        for low, high in [("one", "zero"), ("one", "one")]:
            yield one("the lower bound must be less than the upper", "Clip", ["x", low, high])
        for low, high in [("s", ""), ("", "x"), ("x", ""), ("i", "")]:
            yield one("is INT64 and one before it is FLOAT" if "i" in (low, high) else "a bound is no scalar" if "x" in (low, high) else
                      "a bound must be a constant number", "Clip", ["x", low, high], [ints(1)])
        yield one("alpha must be positive", "HardSigmoid", alpha=0.0)
        yield one("alpha must be positive", "HardSigmoid", alpha=-0.5)
        yield one(fit, "PRelu", ["x", "s"])
        yield one("the slope is no constant", "PRelu", ["x", "x"])
        yield one("not one tensor", "Constant", [])
        yield one("an unsupported number of inputs or outputs", "Relu", ["x", "x"])
        yield one("an unsupported number of inputs or outputs", "Relu", [])
        yield one("an unsupported number of inputs or outputs", "Add", ["x"])
        yield one("an input is not computed before it", "Relu", ["none"])
        yield one("an input is not computed before it", "Relu", [""])
        yield one("an input is not computed before it", "Clip", ["x", "none"])
        yield one("the operator is not supported", "HardSwish", opset=13)
        yield one("the operator is not supported", "Relu6")
        yield one("an attribute is not supported", "Relu", alpha=1.0)
        yield one("an attribute is not supported", "Flatten", axis=1.0)
        yield one("an attribute is not supported", "Flatten", axis=[1])
        yield one("an attribute is not supported", "Flatten", axi=1)
        yield one("a ratio or mode that is no constant scalar", "Dropout", ["x", "s"])
        yield one("a ratio or mode that is no constant scalar", "Dropout", ["x", "x"])
        yield "the model defines 'y' twice", [node("Relu", ["x"], ["y"]), node("Relu", ["y"], ["y"]), node("Relu", ["y"], ["out"])], 17
        yield "the model defines 'w' twice", [node("Relu", ["x"], ["w"]), node("Relu", ["w"], ["out"])], 17
        yield "an unsupported number of inputs or outputs", [node("Relu", ["x"], ["out", "more"])], 17
        yield "an unsupported number of inputs or outputs", [node("Relu", ["x"], [""]), node("Relu", ["x"], ["out"])], 17
        # windows
        yield one("its input must be an activation of 3 to 6 axes", "MaxPool", ["f"], flat, kernel_shape=[1])
        yield one("the weight does not fit", "Conv", ["w", "k"])
        yield one("the weight does not fit", "Conv", ["x", "w"])
        yield one("kernel_shape is missing", "MaxPool")
        yield one("unknown auto_pad", "MaxPool", kernel_shape=[2], auto_pad="SAME")
        yield one("auto_pad with pads", "MaxPool", kernel_shape=[2], auto_pad="VALID", pads=[0, 1])
        for more in [dict(kernel_shape=[0]), dict(kernel_shape=[2], strides=[0]), dict(kernel_shape=[2], dilations=[0]),
                     dict(kernel_shape=[2 ** 30], dilations=[0])]:
            yield one("a number is 0 or too large", "MaxPool", **more)
        for more in [dict(kernel_shape=[2 ** 31]), dict(kernel_shape=[2], pads=[-1, 0]), dict(kernel_shape=[2, 2])]:
            yield one("not one number, from 0 to 2^31 - 1, for each axis", "MaxPool", **more)
        yield one("a window is larger than the input", "MaxPool", kernel_shape=[5])
        yield one("a window is larger than the input", "MaxPool", kernel_shape=[3], dilations=[2])
        yield one("a window is larger than the input", "Conv", ["x", "k"], dilations=[2])
        yield one("kernel_shape is not the weight's", "Conv", ["x", "k"], kernel_shape=[2])
        yield one("an attribute that is 0 or 1 in ONNX is another number", "MaxPool", kernel_shape=[2], storage_order=2)
        yield one("a window of more than 4096 entries", "MaxPool", kernel_shape=[4097], pads=[4096, 4096])
        yield one("a window of padding alone", "MaxPool", kernel_shape=[2], pads=[2, 0])
        yield one("a window of padding alone", "AveragePool", kernel_shape=[2], pads=[0, 2])
        yield one("the bias does not fit", "Conv", ["x", "k", "s"])
        yield one("the groups do not fit", "Conv", ["x", "k"], group=2)
        yield one("the groups do not fit", "Conv", ["x", "k"], group=0)
        yield one("its input must be an activation; of three axes or more", "GlobalAveragePool", ["f"], flat)
        yield one("output 'out' is not computed from the input", "ReduceMean", ["w"])
        yield one("its input must be an activation of three axes or more", "GlobalMaxPool", ["f"], flat)
        yield one("squares of entries that are not added up", "ReduceL2", opset=18, noop_with_empty_axes=1)
        yield one("an axis twice", "ReduceMean", axes=[1, -2])
        yield one(mixed, "ReduceMean", axes=[0])
        yield one(mixed, "ReduceMean")
        yield one("no axis, or the batch's", "Concat", ["x", "x"])
        yield one("no axis, or the batch's", "Concat", ["x", "x"], axis=0)
        yield one("not the same axes", "Concat", ["x", "f"], flat, axis=1)
        yield one(fit, "Concat", ["x", "u"], [node("ReduceMean", ["x"], ["u"], axes=[2])], axis=1)
        yield one("is not computed from the input", "Concat", ["t", "t"], [ints(0), node("Unsqueeze", ["s", "i"], ["t"])],
                  axis=1)
        for more in [dict(mode="symmetric"), dict(mode="wrap")]:  # wrap is there from operator set 19 on
            yield one("an unknown mode", "Pad", ["x", "i"], [ints(0, 0, 1, 0, 0, 1)], **more)
        for value, reason in [("one", "no parameter is named"), ("s", "its value is no constant number"), ("x", "its value is no constant number")]:
            yield one(reason, "Pad", ["x", "i", value], [ints(0, 0, 1, 0, 0, 1)])
        yield one("no parameter is named", "Pad", opset=10, pads=[0, 0, 1, 0, 0, 1], value=1.0)
        yield one("its pads are not two for each axis", "Pad", ["x", "i"], [ints(0, 0, 1, 0, 0)])
        yield one("output 'out' is not computed from the input", "Pad", ["w", "i"], [ints(0, 1, 0, 0)])
        for pads in [(1, 0, 0, 0, 0, 0), (0, 0, 0, 1, 0, 0), (0, 0, -4, 0, 0, 0), (0, -1, 0, 0, -1, 0)]:
            yield one("the batch axis is padded, or nothing is left", "Pad", ["x", "i"], [ints(*pads)])
        yield one("too large a number", "Pad", ["x", "i"], [ints(0, 0, 2 ** 31, 0, 0, 0)])
        axes = node("Constant", [], ["j"], value=numpy_helper.from_array(np.array([1, 1], np.int64)))
        yield one("an axis twice", "Pad", ["x", "i", "", "j"], [ints(0, 0, 0, 0), axes], opset=18)
        # normalizations
        norm = ["x", "s", "b", "v", "v"]
        yield one("not a constant number for each channel or group", "BatchNormalization", ["w", "s", "b", "v", "v"])
        yield one("a variance + epsilon is not positive", "BatchNormalization", norm, epsilon=-1.0)
        for i in range(1, 5):
            yield one("not a constant number for each channel or group", "BatchNormalization", norm[:i] + ["one"] + norm[i + 1:])
        yield one("not a constant number for each channel or group", "BatchNormalization", ["x", "x", "b", "v", "v"])
        yield one("not for each channel", "BatchNormalization", norm, opset=7, spatial=0)
        yield "training mode is off", [node("BatchNormalization", norm, ["out", "m", "v2"])], 17
        yield "an unsupported number of outputs", [node("BatchNormalization", norm, ["out", "m"], training_mode=1)], 17
        yield one("its input must be an activation of enough axes", "InstanceNormalization", ["f", "s", "b"], flat)
        yield one("num_groups is no divisor of the channels", "GroupNormalization", ["x", "s", "b"], opset=18, num_groups=3)
        yield one("num_groups is no divisor of the channels", "GroupNormalization", ["x", "s", "b"], opset=18)
        yield one("num_groups is no divisor of the channels", "GroupNormalization", ["x", "s", "b"], opset=18, num_groups=-1)
        yield one(mixed, "LayerNormalization", ["x", "one"], axis=0)
        yield one("output 'out' is not computed from the input", "Neg", ["w"])
        yield one("an input is a negated constant, which this operator does not take", "PRelu", ["x", "n"],
                  [node("Neg", ["one"], ["n"])])
        yield "the operator is of another domain", [node("Clamp", ["x"], ["out"])], 17
        yield "the operator is of another domain", [helper.make_node("Relu", ["x"], ["out"], "it", domain="clarke")], 17
        yield one("the operator is not supported", "MaxUnpool", ["x", "y"])
        # functions and products
        yield one("newer than the model's operator set", "Gelu")
        yield one("newer than the model's operator set", "Erf", opset=8)
        yield one("approximate is neither none nor tanh", "Gelu", opset=20, approximate="erf")
        yield one("an attribute is not supported", "Gelu", opset=20, alpha=1.0)
        yield one("alpha is not 1", "Swish", opset=24, alpha=2.0)
        yield one("output 'out' is not computed from the input", "Exp", ["w"])
        yield one("output 'out' is not computed from the input", "Pow", ["w", "one"])
        for exponent in ["x", "s", "zero"]:
            yield one("the shapes do not fit" if exponent == "s" else "an argument is 0, or below, where it is not smooth", "Pow", ["n", exponent], none)
        yield one("is used in two ways", "Pow", ["y", "one"], [node("Mul", ["x", "one"], ["y"])])
        yield one(fit, "Mul", ["x", "p"], [node("Transpose", ["x"], ["p"], perm=[0, 2, 1])])
        # the batch elsewhere; parts of an axis
        turned = [node("Transpose", ["x"], ["t"], perm=[1, 0, 2])]
        yield one("the batch is on another axis than the first", "GlobalMaxPool", ["t"], turned)
        yield one(mixed, "ReduceMean", ["t"], turned, axes=[1])
        yield one("the inputs have the batch on different axes", "Concat", ["t", "x"], turned, axis=2)
        yield one("the inputs have the batch on different axes", "Add", ["t", "x"], turned)
        yield one(mixed, "Softmax", ["t"], turned, axis=1)
        yield one("or the batch axis would be mixed", "MatMul", ["v", "t"], turned)
        yield one(mixed, "Gather", ["x", "i"], [ints(0)], axis=0)
        yield one("an index is out of range", "Gather", ["x", "i"], [ints(-5)], axis=2)
        yield one("input 'x' is FLOAT, which ONNX does not allow there", "Gather", ["x", "x"], axis=2)
        yield one("more axes than supported, or no entries", "Gather", ["x", "i"], [ints()], axis=2)
        for lists in [((0,), (1,), (0,)), ((0, 0), (1, 1), (1, -2)), ((0,), (1, 1), (1,))]:
            yield one(mixed if lists[2] == (0,) else "a step of 0, or an axis twice" if len(lists[0]) == 2 else
                      "starts, ends, axes and steps are not of one length", "Slice", ["x", "f", "u", "a"],
                      [node("Constant", [], [k], value=numpy_helper.from_array(np.array(v, np.int64)))
                       for k, v in zip("fua", lists)])
        yield one("a step of 0", "Slice", ["x", "i", "j", "j", "k2"],
                  [ints(0), axes_of("j", 1), axes_of("k2", 0)])
        yield one("more axes than supported, or no entries", "Slice", ["x", "i", "i", "j"], [ints(1), axes_of("j", 1)])
        yield "the parts do not fit the axis", [ints(1, 2), node("Split", ["x", "i"], ["out", "o2"], axis=1)], 17
        yield "not a part for each output", [ints(1), node("Split", ["x", "i"], ["out", "o2"], axis=1)], 17
        yield "the parts are not equal", [node("Split", ["x"], ["out", "o2", "o3"], axis=2)], 17
        yield "num_outputs is not the number of outputs", [node("Split", ["x"], ["out", "o2"], axis=2, num_outputs=3)], 18
        yield mixed, [node("Split", ["x"], ["out"], axis=0, num_outputs=1)], 18
        yield one(mixed, "MatMul", ["g", "f"], [*flat, node("ReduceMean", ["f"], ["g"], axes=[1])])
        yield one("the inputs have the batch on different axes", "MatMul", ["p", "x"], [node("ReduceMean", ["x"], ["p"], axes=[2], keepdims=0)])

        # what has a domain: its border, beyond it, where nothing reads it, where a 0 multiplies it
        outside = "an argument is 0, or below, where it is not smooth"
        less = [node("Mul", ["x", "one"], ["a"]), node("Neg", ["a"], ["n"])]
        for op, before in [("Reciprocal", none), ("Sqrt", none), ("Log", none), ("Sqrt", less), ("Log", less)]:
            yield one(outside, op, ["n"], before)
        yield one(outside, "Pow", ["n", "e"], [*none, node("Constant", [], ["e"], value_float=-1.0)])
        yield one(outside, "ReduceL2", ["n"], none, axes=[2])
        yield one(outside, "Mul", ["r", "n"], [*none, node("Reciprocal", ["n"], ["r"])])
        yield one(outside, "Relu", ["x"], [*none, node("Log", ["n"], ["r"])])
        yield one("output 'out' is not computed from the input", "Elu", ["w"])
        yield one("alpha and gamma must be positive", "Elu", alpha=0.0)
        yield one("alpha and gamma must be positive", "Celu", alpha=-1.0)
        yield one("alpha and gamma must be positive", "Selu", gamma=-1.0)
        yield one("newer than the model's operator set", "Celu", opset=11)
        yield one("an attribute is not supported", "Elu", gamma=2.0)
        yield one("output 'out' is not computed from the input", "Log", ["w"])
        yield one("output 'out' is not computed from the input", "Pow", ["w", "e"], [node("Constant", [], ["e"], value_float=-0.5)])
        yield one(outside, "Pow", ["n", "e"], [*none, node("Constant", [], ["e"], value_float=0.25)])
        yield one(outside, "Pow", ["n", "e"], [*none, node("Constant", [], ["e"], value_float=-9.0)])
        yield one(mixed, "ReduceL2", axes=[0])
        yield one("squares of entries that are not added up", "ReduceSumSquare", opset=18, noop_with_empty_axes=1)
        for mode in ("nearest", "linear"):  # also where no axis changes
            yield one("unknown coordinates", "Resize", ["x", "", "", "i"], [ints(2, 2, 4)], mode=mode,
                      coordinate_transformation_mode="linear")
        yield one(mixed, "Slice", ["x", "i", "u", "j"], [ints(0, 0), axes_of("u", 1, 1), axes_of("j", 0, 1)])
        yield one("more axes than supported, or no entries", "Slice", ["x", "i", "i", "j"], [ints(1, 1), axes_of("j", 1, 2)])
        # places and shapes that are counted
        ends = [axes_of("nil", 0), axes_of("three", 3), axes_of("by", 1), axes_of("two", 1, 2), axes_of("far", 65537)]
        yield one("an input is no constant of integers", "Range", ["x", "x", "x"])
        yield one("is INT64 and one before it is FLOAT", "Range", ["x", "three", "by"], ends)
        yield one("a step of 0", "Range", ["nil", "three", "nil"], ends)
        yield one("an end that is not one integer", "Range", ["nil", "two", "by"], ends)
        yield one("no integers, or more than are computed", "Range", ["three", "nil", "by"], ends)
        yield one("no integers, or more than are computed", "Range", ["nil", "far", "by"], ends)
        yield one("the batch's axis, or too many factors", "ReduceProd", ["x"])
        yield one("noop_with_empty_axes", "ReduceProd", ["i"], [ints(2)], opset=18, noop_with_empty_axes=1)
        yield one("the result is no integer of the type", "ReduceProd", ["i"], [ints(1 << 62, 2)])
        yield one("output 'out' is not computed from the input", "ConstantOfShape", ["i"], [ints(2)], value=numpy_helper.from_array(np.float64([1])))

    for i, (reason, nodes, opset) in enumerate(models()):
        name = f"refused-{i}"
        made = nodes[-1].op_type
        whole = made in ("Range", "ReduceProd") and nodes[-1].input[0] != "x"
        out = TensorProto.INT64 if whole else TensorProto.DOUBLE if made == "ConstantOfShape" else TensorProto.FLOAT
        save(name + ".onnx", nodes, ["N", 2, 4], None, weights, opset, out_type=out)
        case(name, 1 if reason == "no parameter is named" else 2, reason, verdict="in-bouligand", model=name + ".onnx", data="refused.npz", touched=0,
             proxies=[], evidence=NOTHING)
    # a mask that is computed: of one key for two, which some pad; of two heads for one, and lengths of as many samples as there are
    for what, columns, heads, reason in [("key", 1, 1, "of another number of keys"), ("heads", 2, 2, "a mask of other axes")]:
        save(f"refused-mask-{what}.onnx", [
            node("MatMul", ["x", "w"], ["a"]), node("Reshape", ["a", "s"], ["m"]), node("Attention", ["x", "x", "x", "m", "", "", "n"], ["out"],
                                                                                     q_num_heads=1, kv_num_heads=1)],
             ["N", 2, 4], None, dict(w=np.ones((4, heads * columns))), 24, dict(s=np.array([0, heads, 2, columns]), n=np.array([2, 2])))
        case(f"refused-mask-{what}", 2, reason, verdict="in-bouligand", model=f"refused-mask-{what}.onnx", data="refused.npz", touched=0,
             proxies=[], evidence=NOTHING)
    # of one sample the decay alone is that sample's, and nothing decays before the second time
    batch("refused-decay.npz", np.ones((1, 2, 4)))
    save("refused-decay.onnx", [node("LinearAttention", ["q", "q", "q", "", "x"], ["out"], q_num_heads=1, kv_num_heads=1, update_rule="gated")],
         ["N", 2, 4], None, dict(q=np.ones((1, 2, 4))), 27)
    case("refused-decay", 2, "of all samples at one time, and of each at another", verdict="in-bouligand", model="refused-decay.onnx",
         data="refused-decay.npz", touched=0, proxies=[], evidence=NOTHING)


def edited(name, status, reason, source, old, text):
    """The proof SOURCE with one text in the place of another, which stands there, sealed anew."""
    with open(path(source + ".proof")) as f:
        body = f.read()
    assert old in body, old
    body = body[:body.rindex("end ")].replace(old, text, 1)
    with open(path(name + ".proof"), "w") as f:
        f.write(body + "end " + hashlib.sha256(body.encode()).hexdigest() + "\n")
    INDEX.append(f"{name}.proof {status} {reason}")


def words():
    """Lines that say what is not to be said, or say it in other words: lemma2.proof and others with one line changed."""
    rational, name = "is not a rational in lowest terms", "is not a name as it must be written"
    apart = "not words of ASCII one space apart"
    for i, (status, reason, source, old, text) in enumerate([
            (1, "'clarke-proof 1' is expected", "lemma2", "clarke-proof 1", "clarke-proof 2"),
            (1, "'clarke-proof' is expected", "lemma2", "clarke-proof 1\n", ""),
            (1, "unknown verdict 'outside'", "lemma2", "not-in-clarke", "outside"),
            (1, "'semantics real' is expected", "lemma2", "real", "float"),
            (1, "is not a base name", "lemma2", "lemma2.onnx", "data/lemma2.onnx"),
            (1, "unknown loss 'hinge'", "lemma2", "loss sum", "loss hinge"),
            (1, "there is no y for each sample", "lemma2", "loss sum", "loss mse"),
            (1, "'sum' is more than was expected", "lemma2", "loss sum", "loss sum sum"),
            (1, "the line ends too early", "lemma2", "loss sum", "loss"),
            (1, "'loss' is expected", "lemma2", "loss sum", "losses sum"),
            (1, "parameter 'w' is named twice", "lemma2", "wrt *", "wrt w w"),
            (1, "no parameter is named", "lemma2", "wrt *", "wrt"),
            (1, "'w' is more than was expected", "lemma2", "wrt *", "wrt * w"),
            (1, "the model has no parameter 'b'", "lemma2", "wrt *", "wrt b"),
            (1, "the model has no parameter '*'", "lemma2", "wrt *", "wrt w %2A"),
            (1, name, "lemma2", "wrt *", "wrt %77"), (1, name, "lemma2", "wrt *", "wrt w%"), (1, name, "lemma2", "wrt *", "wrt w%2"),
            (1, name, "lemma2", "wrt *", "wrt %2a"), (1, name, "lemma2", "wrt *", "wrt w%00"), (1, name, "lemma2", "wrt *", "wrt w+"),
            (1, "is no text", "lemma2", "wrt *", "wrt %C3%28"),
            (1, apart, "lemma2", "touched 2", "touched  2"), (1, apart, "lemma2", "touched 2", "touched 2 "),
            (1, apart, "lemma2", "touched 2", "touched\t2"), (1, apart, "lemma2", "touched 2", "touched 2\r"),
            (1, apart, "lemma2", "touched 2", "touched 2\x7f"),
            (1, "'touched' is expected", "lemma2", "touched 2", " touched 2"),
            (1, "'touched' is expected", "lemma2", "touched 2", "\ntouched 2"),
            (1, "a number is expected, no fraction", "lemma2", "touched 2", "touched 5/2"),
            (1, "a number is expected, no fraction", "lemma2", "touched 2", "touched -2"),
            (1, "a number is expected, no fraction", "lemma2", "touched 2", "touched 9223372036854775808"),
            (1, rational, "lemma2", "touched 2", "touched 4/2"), (1, rational, "lemma2", "touched 2", "touched 02"),
            (1, rational, "lemma2", "touched 2", "touched +2"), (1, rational, "lemma2", "touched 2", "touched 2/1"),
            (1, rational, "lemma2", "u 0 1", "u 0 -1/-1"), (1, rational, "lemma2", "u 0 1", "u 0 1/0"),
            (1, rational, "lemma2", "u 0 1", "u 0 1e0"), (1, rational, "lemma2", "u 0 1", "u -0 1"),
            (0, "VERIFIED", "lemma2", "u 0 1\nu 1 1", "u 0 1/2\nu 1 1/2"),
            (1, "there is no touched kink 2", "lemma2", "u 1 1", "u 2 1"),
            (1, "touched kinks in increasing order are expected", "lemma2", "u 0 1\nu 1 1", "u 1 1\nu 0 1"),
            (1, "the line ends too early", "lemma2", "u 0 1", "u 0"), (1, "'1' is more than was expected", "lemma2", "u 0 1", "u 0 1 1"),
            (1, "the proxy of kink 0 of Relu is expected", "lemma2", "Relu 0 0", "Relu 1 0"),
            (1, "the proxy of kink 0 of Relu is expected", "lemma2", "Relu 0 0", "Abs 0 0"),
            (1, "'proxy' is expected", "lemma2", "proxy Relu 0 0\n", ""),
            (1, rational, "lemma2", "Relu 0 0", "Relu 0 up"),
            (1, "'touched' is expected", "lemma2", "Relu 0 0", "Relu 0 0\nproxy Relu 1 0"),
            (1, "'vector' does not prove not-in-clarke", "lemma2", "evidence separator", "evidence vector"),
            (1, "copy, add or at is expected, not 'sub'", "lemma2-hull", "add", "sub"),
            (0, "VERIFIED", "lemma2-hull", "add -1", "at 0 -1"),
            (1, "no entry of 'w', or a coefficient 0", "lemma2-hull", "add -1", "at 1 -1"),
            (1, "no entry of 'w', or a coefficient 0", "lemma2-hull", "add -1", "add 0"),
            (1, "the model has no parameter 'v'", "lemma2-hull", "w add", "v add"),
            (1, "'move' is expected", "lemma2-hull", "move w add -1\n", ""),
            (1, "'direction' is expected", "lemma2-hull", "direction\n", ""),
            (1, "'directions' is expected", "lemma2-hull", "directions 1\n", ""),
            (1, "one side for each touched kink is expected", "lemma2-hull", "-+", "-+-"),
            (1, "one side for each touched kink is expected", "lemma2-hull", "-+", "-"),
            (1, "has no side 'a'", "lemma2-hull", "-+", "-a"), (1, "has no side '0'", "lemma2-hull", "-+", "-0"),
            (1, "a weight is negative", "lemma2-hull", "cell 1 ", "cell -1 "),
            (1, "the weights do not sum to 1", "lemma2-hull", "cell 1 ", "cell 1/2 "),
            (1, "a hull has one cell or more", "lemma2-hull", "hull 1", "hull 0"),
            (0, "VERIFIED", "constant-behind-ad", "wrt w b", "wrt b")]):
        edited(f"words-{i}", status, reason, source, old, text)


def fan():
    """relu(x w) at w = 0 in three dimensions, for batches that others draw (tests/audit/reports.py)."""
    save("fan.onnx", [helper.make_node("MatMul", ["x", "w"], ["y"], "dense"), helper.make_node("Relu", ["y"], ["out"], "rho")],
         ["N", 3], ["N", 1], dict(w=np.zeros((3, 1))))


def near_kinks():
    """Arguments and differences in windows that are 0, or 2^-200 and less from it: beyond near values' units."""
    tiny, ad = 2.0 ** -100, "evidence ad\ncell ad\ndirections 0"
    for name in ["near.onnx", "near-zero.onnx"]:
        save(name, [helper.make_node("Gemm", ["x", "w"], ["y"], "dense"), helper.make_node("Relu", ["y"], ["out"], "rho")],
             ["N", 2], None, dict(w=[[tiny], [tiny]]))
    batch("near.npz", [[tiny, 0], [-tiny, 0], [tiny, -tiny * (1 - 2.0 ** -23)], [-1, 1 - 2.0 ** -24]])
    batch("near-zero.npz", [[tiny, 0], [tiny, -tiny], [-1, 1 - 2.0 ** -24]])
    base = dict(verdict="in-bouligand", model="near.onnx", data="near.npz", touched=0, proxies=["Relu 0 0"])
    zero = {**base, "model": "near-zero.onnx", "data": "near-zero.npz", "touched": 1}
    case("near", 0, "VERIFIED", evidence=ad, **base)
    case("near-touched", 1, "number of touched kinks is 0", evidence=ad, **{**base, "touched": 1})
    case("near-zero", 0, "VERIFIED", evidence=AD, **zero)
    case("near-zero-missed", 1, "number of touched kinks is 1", evidence=ad, **{**zero, "touched": 0})
    case("near-zero-wrong", 1, "moves to the wrong side", evidence=AD.replace("0 -1", "0 1"), **zero)
    # The convolution's entries are w0 x0 + w1 x1 and w0 x1 + w1 x2, of images (x0, x1, x2).
    for name in ["near-window.onnx", "near-tie.onnx"]:
        save(name, [helper.make_node("Conv", ["x", "w"], ["y"], "conv"),
                    helper.make_node("MaxPool", ["y"], ["out"], "pool", kernel_shape=[1, 2])], ["N", 1, 1, 3], None,
             dict(w=[[[[tiny, tiny]]]]))
    batch("near-window.npz", [[[[tiny, 0, tiny * (1 + 2.0 ** -23)]]], [[[tiny, 0, tiny * (1 - 2.0 ** -24)]]]])
    batch("near-tie.npz", [[[[tiny, 0, tiny]]], [[[tiny, 1, tiny * (1 + 2.0 ** -23)]]]])
    window = dict(verdict="in-bouligand", model="near-window.onnx", data="near-window.npz", touched=0, proxies=[],
                  tie="first")
    tie = {**window, "model": "near-tie.onnx", "data": "near-tie.npz", "touched": 1}
    case("near-window", 0, "VERIFIED", evidence=ad, **window)
    case("near-window-touched", 1, "number of touched kinks is 0", evidence=ad, **{**window, "touched": 1})
    case("near-tie", 0, "VERIFIED", evidence=AD.replace("0 -1", "0 1"), **tie)
    case("near-tie-wrong", 1, "moves to the wrong side", evidence=AD, **tie)
    case("near-tie-missed", 1, "number of touched kinks is 1", evidence=ad, **{**tie, "touched": 0})
    # -2^-200 is rounded to -2^-192, and that multiplied: the window's entries -2^-190 and -2^-185 seem the other way round.
    save("near-order.onnx",
         [helper.make_node("Conv", ["x", "w"], ["y"], "first"), helper.make_node("Conv", ["y", "v"], ["z"], "second"),
          helper.make_node("MaxPool", ["z"], ["out"], "pool", kernel_shape=[1, 2])], ["N", 1, 1, 3], None,
         dict(w=[[[[tiny]]]], v=[[[[1024, 1]]]]))
    batch("near-order.npz", [[[[-tiny, 0, -tiny * 2.0 ** 15]]]])
    case("near-order", 0, "VERIFIED", evidence=ad, **{**window, "model": "near-order.onnx", "data": "near-order.npz"})


def factors():
    """Arguments that are affine but for a factor that is not zero; and some for which no such factor is known."""
    dense = lambda x, w, y: helper.make_node("Gemm", [x, w], [y], "dense_" + y)  # noqa: E731
    rho = lambda x, y: helper.make_node("Relu", [x], [y], "rho_" + y)  # noqa: E731
    leaky = lambda x, y, alpha: helper.make_node("LeakyRelu", [x], [y], "leaky_" + y, alpha=alpha)  # noqa: E731
    batch("factor.npz", [[1]])
    tree = "evidence separator\nv w 0 1\ntree\nbranch 0\nbranch 1\n{0}\nleaf\nbranch 1\nleaf\n{1}"
    base = dict(verdict="not-in-clarke", data="factor.npz", touched=2, proxies=["LeakyRelu 0 left"])
    minus, plus = "dead 2\nu 0 1\nu 1 4", "dead 2\nu 0 1\nu 1 1"

    def chain(name, status, reason, u, between=(), evidence=tree.format(minus, plus), alpha=0.25, **rest):
        extra = {k: v for k, v in rest.items() if k in "bs"}
        save(f"factor-{name}.onnx", [dense("x", "w", "y"), leaky("y", "r", alpha), dense("r", "u", "z"), *between,
                                     leaky("t" if between else "z", "out", 0.5)],
             ["N", 1], None, dict(w=[[0]], u=[[u]], **extra))
        case(f"factor-{name}", status, reason, evidence=evidence, model=f"factor-{name}.onnx",
             **{**base, **{k: v for k, v in rest.items() if k not in "bs"}})

    # leaky(u leaky(w)) near u = -1 and w = 0: the outer argument has the sign of -w.
    chain("minus", 0, "VERIFIED", -1)
    chain("three", 0, "VERIFIED", -3, evidence=tree.format("dead 2\nu 0 3\nu 1 4", "dead 2\nu 0 3\nu 1 1"))
    chain("plus", 1, "combination of the derivatives is not zero", 1)
    chain("zero", 1, "not affine, nor is it but for a factor", 0)
    # The factor must be one of the whole argument.
    add = helper.make_node("Add", ["z", "b"], ["t"], "add")
    chain("shift", 1, "not affine, nor is it but for a factor", -1, between=[add], b=[0])
    chain("number", 0, "VERIFIED", -1, between=[add], b=[0], wrt="w u")
    # Where the piece is no multiple, there is a number: u (w - 1) + 1 with w = 0 is none.
    one = helper.make_node("Add", ["z", "b"], ["t"], "add")
    save("factor-piece.onnx", [dense("x", "w", "y"), helper.make_node("Add", ["y", "s"], ["i"], "inner"), leaky("i", "r", 0.25),
                               dense("r", "u", "z"), one, leaky("t", "out", 0.5)],
         ["N", 1], None, dict(w=[[0]], u=[[1]], b=[0.25], s=[-1]))
    case("factor-piece", 1, "not affine, nor is it but for a factor", evidence="evidence separator\nv w 0 1\ntree\nbranch 0\ndead 1\n"
         "u 0 1\nleaf", model="factor-piece.onnx", wrt="w u", **{**base, "touched": 1})
    # A bias that does not vary is a number: of the options 1 and 1 + u w x of a window, the first of which is cut off at 1.
    batch("factor-bias.npz", [[[1, 2]]])
    cut = [helper.make_node("Conv", ["x", "w"], ["y"], "conv"), helper.make_node("Conv", ["y", "u", "b"], ["z"], "again"),
           helper.make_node("Clip", ["z", "low", "high"], ["c"], "clip"), helper.make_node("MaxPool", ["c"], ["out"], "pool", kernel_shape=[2])]
    save("factor-bias.onnx", cut, ["N", 1, 2], None, dict(w=[[[1]]], u=[[[0]]], b=[1], low=0, high=1))
    sides = "evidence separator\nv u 0 1\ntree\nbranch 0\nbranch 1\nbranch 2\nleaf\ndead 2\nu 1 1\nu 2 a 2\ndead 2\nu 0 2\nu 1 1\nbranch 1\n{}\nleaf"
    bias = dict(verdict="not-in-clarke", data="factor-bias.npz", model="factor-bias.onnx", wrt="u w", touched=3,
                proxies=["Clip 0 0", "Clip 1 5"], tie="first")
    by_window = "branch 2\ndead 2\nu 0 2\nu 2 b 1\ndead 2\nu 0 1\nu 1 {}"
    case("factor-bias", 0, "VERIFIED", evidence=sides.format(by_window.format("1/2")), **bias)
    case("factor-bias-other", 1, "combination of the derivatives is not zero", evidence=sides.format(by_window.format("1")), **bias)
    case("factor-bias-varies", 1, "not affine, nor is it but for a factor", evidence=sides.format(by_window.format("1/2")), **{**bias, "wrt": "b u w"})
    # The argument of a kink at 1 is u w - 1, of which u is no factor: min(u w, 1) + relu(w + u - 2) has (2, 2) near u = w = 1,
    # on the curve (1 + t, 1 - t + t^2 / 2).
    nodes = [dense("x", "w", "y"), dense("y", "u", "z"), helper.make_node("Clip", ["z", "low", "high"], ["c"], "clip"), dense("x", "u", "t"),
             helper.make_node("Add", ["y", "t"], ["s"], "sum"), helper.make_node("Add", ["s", "b"], ["i"], "shift"), rho("i", "r"), helper.make_node("Add", ["c", "r"], ["out"], "out")]
    save("factor-kink.onnx", nodes, ["N", 1], None, dict(w=[[1]], u=[[1]], b=[-2], low=-9, high=1))
    case("factor-kink", 1, "not affine, nor is it but for a factor", model="factor-kink.onnx", wrt="w u",
         evidence="evidence separator\nv w 0 1\nv u 0 1\ntree\nbranch 0\nbranch 1\nleaf\ndead 2\nu 0 1\nu 1 1\nbranch 1\n"
         "dead 2\nu 0 1\nu 1 1\nleaf", **{**base, "proxies": ["Clip 0 0", "Clip 1 1", "Relu 0 1"]})
    # |w| + relu(u |w|), near w = 0 and u = 1: what is affine but for a factor on one side of |w| is not so whatever its side. With
    # the other side's row AD's own cell would be dead.
    save("factor-sides.onnx", [dense("x", "w", "y"), helper.make_node("Abs", ["y"], ["a"], "abs"), dense("a", "u", "z"), rho("z", "r"),
                               helper.make_node("Add", ["a", "r"], ["out"], "out")], ["N", 1], None, dict(w=[[0]], u=[[1]]))
    case("factor-sides", 1, "not affine, nor is it but for a factor", model="factor-sides.onnx", wrt="w u",
         evidence="evidence bound\nv w 0 1\ntree\nbranch 0\nbranch 1\ndead 2\nu 0 1\nu 1 1\nleaf\nbranch 1\nleaf\n"
         "dead 2\nu 0 1\nu 1 1", **{**base, "proxies": ["Abs 0 1", "Relu 0 1"]})
    # One parameter in two products is a factor of both. Of the options g n and g m at g = 0 the larger n is the larger one
    # where g > 0. So of these two windows one takes its first entry, the other its last; AD takes both first ones.
    batch("factor-window.npz", [[[1, 2, 5, 4]]])
    net = [helper.make_node("Conv", ["x", "w"], ["y"], "conv"),
           helper.make_node("BatchNormalization", ["y", "g", "b", "mean", "var"], ["n"], "norm", epsilon=0.25),
           helper.make_node("MaxPool", ["n"], ["m"], "pool", kernel_shape=[2], strides=[2]),
           helper.make_node("Flatten", ["m"], ["f"], "flat"), dense("f", "v", "out")]
    trees = "evidence separator\nv g 0 {0}\ntree\nbranch 0\nbranch 1\n{1}\nleaf\nbranch 1\nleaf\n{2}"
    dead = "dead 2\nu 0 {0} 1\nu 1 {1} 1"
    for name, w, mean, var in [("window", 1, 0, 0.75), ("window-mean", 1, 3, 0.75), ("window-minus", -1, 1, 0.75),
                               ("window-root", 1, 3, 1)]:
        save(f"factor-{name}.onnx", net, ["N", 1, 4], None,
             dict(w=[[[w]]], g=[0], b=[7], mean=[mean], var=[var], v=[[1], [-1]]))
        at = dict(verdict="not-in-clarke", model=f"factor-{name}.onnx", data="factor-window.npz", touched=2, proxies=[],
                  tie="first", wrt="w g b")
        case(f"factor-{name}", 0, "VERIFIED", evidence=trees.format(-w, dead.format("b", "b"), dead.format("a", "a")), **at)
        case(f"factor-{name}-v", 1, "AD's output is not separated",
             evidence=trees.format(w, dead.format("b", "b"), dead.format("a", "a")), **at)
        case(f"factor-{name}-alive", 1, "combination of the derivatives is not zero",
             evidence=trees.format(-w, dead.format("b", "b"), dead.format("a", "a")).replace("leaf\nbranch 1\nleaf", dead.format("b", "a")),
             **at)
    # Three such windows, of which the first and the last take their options together.
    batch("factor-parallel.npz", [[[1, 2, 5, 4, 3, 7]]])
    save("factor-parallel.onnx", net, ["N", 1, 6], None,
         dict(w=[[[1]]], g=[0], b=[7], mean=[3], var=[1], v=[[1], [-1], [1]]))
    tree = "evidence bound\nv g 0 -1\nparallel 0 {0}\ntree\nbranch 0\nbranch 1\ndead 2\nu 0 b 1\nu 1 b 1\nleaf\nleaf"
    at = dict(verdict="not-in-clarke", model="factor-parallel.onnx", data="factor-parallel.npz", touched=3, proxies=[],
              tie="first", wrt="w g b")
    case("factor-parallel", 0, "VERIFIED", evidence=tree.format(2), **at)
    case("factor-parallel-not", 1, "is not parallel to 0", evidence=tree.format(1), **at)
    # max(2, 2 + w / sqrt(2), 2 + w / sqrt(3)) and max(2, 2 + w / sqrt(3), 2 + w / sqrt(2)), w = 0. Each difference from the first option is a
    # multiple of w, but the second's options do not compare as the first's do: where w > 0 they take b and c.
    save("parallel-roots.onnx",
         [helper.make_node("Mul", ["x", "w"], ["y"], "scale"),
          helper.make_node("BatchNormalization", ["y", "s", "b", "mean", "var"], ["n"], "norm", epsilon=0.25),
          rho("n", "r"), helper.make_node("Add", ["r", "k"], ["t"], "add"), helper.make_node("Unsqueeze", ["t", "one"], ["u"], "row"),
          helper.make_node("MaxPool", ["u"], ["out"], "pool", kernel_shape=[3], strides=[3])], ["N", 6], None,
         dict(w=[0], s=[1] * 6, b=[-5, 2, 2] * 2, k=[2, 0, 0] * 2, mean=[0] * 6, var=[1, 1.75, 2.75, 1, 2.75, 1.75]),
         integers=dict(one=[1]))
    batch("parallel-roots.npz", [[0, 1, 1, 0, 1, 1]])
    case("parallel-roots", 1, "not rational", verdict="not-in-clarke", model="parallel-roots.onnx", data="parallel-roots.npz",
         touched=2, proxies=["Relu 0 0"], tie="hybrid 19/12", wrt="w", evidence="evidence bound\nv w 0 1\nparallel 0 1\ntree\nbranch 0\nleaf\nleaf\nleaf")
    # Two entries with other identities that are equal and irrational: their difference cancels but for the root. And a kink whose
    # argument is the sum of two opposite ones.
    batch("cancel.npz", [[[1, 0, 0], [0, 1, 0]]])
    conv, instance = helper.make_node("Conv", ["x", "w"], ["y"], "conv"), helper.make_node(
        "InstanceNormalization", ["y", "s", "b"], ["n"], "norm", epsilon=0.25)
    way = "evidence ad\ncell ad\ndirections 1\ndirection\nmove w at {0} {1}"
    for name, w, touched in [("tie", [1, 1], 1), ("no-tie", [1, 1 + 2**-20], 0)]:
        save(f"cancel-{name}.onnx", [conv, instance, helper.make_node("GlobalMaxPool", ["n"], ["out"], "pool")],
             ["N", 2, 3], None, dict(w=[[[w[0]], [w[1]]]], s=[1], b=[3]))
        at = dict(verdict="in-bouligand", model=f"cancel-{name}.onnx", data="cancel.npz", touched=touched, proxies=[])
        tie = dict(tie="tie GlobalMaxPool first")
        case(f"cancel-{name}", 0, "VERIFIED", evidence=way.format(0, 1) if touched else NOTHING, **at, **tie)
        if touched:
            case(f"cancel-{name}-wrong", 1, "wrong side", evidence=way.format(1, 1), **at, **tie)
            case(f"cancel-{name}-still", 1, "no direction moves", evidence=NOTHING, **at, **tie)
    # Values 1, 1, 0: over the root 1/3, 1/3 and -2/3. Their sum is 0 in all networks; twice the first plus the last is 0 here.
    for name, v, verdict in [("sum", [[2], [0], [1]], "VERIFIED"), ("no-sum", [[2], [0], [1.5]], "the number of touched kinks is 0")]:
        save(f"cancel-{name}.onnx",
             [conv, instance, helper.make_node("Flatten", ["n"], ["f"], "flat"), dense("f", "v", "z"), rho("z", "out")],
             ["N", 2, 3], None, dict(w=[[[1], [1]]], s=[1], b=[0], v=v))
        case(f"cancel-{name}", 0 if verdict == "VERIFIED" else 1, verdict, verdict="in-bouligand", model=f"cancel-{name}.onnx",
             data="cancel.npz", touched=1, proxies=["Relu 0 0"], evidence=way.format(0, -1), wrt="w")
    # tanh(w) less itself, and 2^-149: with more bits it is told from 0.
    save("cancel-number.onnx",
         [dense("x", "w", "y"), helper.make_node("Tanh", ["y"], ["t"], "tanh"), dense("t", "e", "p"), dense("t", "e", "q"),
          helper.make_node("Sub", ["p", "q"], ["d"], "less"), helper.make_node("Add", ["d", "c"], ["z"], "add"), rho("z", "out")],
         ["N", 1], None, dict(w=[[1]], e=[[1]], c=[2.0**-149]))
    case("cancel-number", 0, "VERIFIED", verdict="in-bouligand", model="cancel-number.onnx", data="factor.npz", touched=0,
         proxies=["Relu 0 0"], evidence=NOTHING, wrt="w")


def false_factors():
    """F = leaky(z) - leaky(s), the derivative of s being that of z turned. Were z affine but for a factor, it and s could not
    both be on one side; so each proof says. But z is neither, and AD takes that very side: the statement is false."""
    dense = lambda x, w, y: helper.make_node("Gemm", [x, w], [y], "dense_" + y)  # noqa: E731
    plus = lambda a, b, y: helper.make_node("Add", [a, b], [y], "add_" + y)  # noqa: E731
    norm = lambda x, y: helper.make_node("BatchNormalization", [x, "g", "b", "mean", "var"], [y], "norm", epsilon=0.25)  # noqa: E731
    leaky = lambda x, y: helper.make_node("LeakyRelu", [x], [y], "leaky_" + y, alpha=0.5)  # noqa: E731
    tree = "tree\nbranch 0\nbranch 1\n{0}\nleaf\nbranch 1\nleaf\n{0}"
    y, parts = dense("x", "w", "y"), [dense("y", "e0", "p"), dense("y", "e1", "a"), dense("p", "u", "g0")]
    base = dict(w=[[0, 0]], u=[[1]], e0=[[1], [0]], e1=[[0], [1]])

    def question(name, nodes, v, extra, side="left", status=1, reason="not affine, nor is it but for a factor", wrt="w u", proxies=(),
                 dead="dead 2\nu 0 1\nu 1 1"):
        model = f"factor-false-{name}.onnx"
        save(model, [y, *nodes, leaky("z", "lz"), leaky("s", "ls"), helper.make_node("Sub", ["lz", "ls"], ["out"], "sub")], ["N", 1],
             None, {**base, **extra})
        evidence = "evidence separator\n" + "\n".join("v " + line for line in v.split("; ")) + "\n" + tree.format(dead)
        case(f"factor-false-{name}", status, reason, evidence=evidence, verdict="not-in-clarke", data="factor.npz", model=model, touched=2,
             proxies=sorted(["LeakyRelu 0 " + side, *proxies]), wrt=wrt)

    # u0 w0 + u1 w1: no entry of u multiplies both.
    question("entries", [dense("y", "u", "z"), dense("y", "n", "s")], "w 0 -1", dict(u=[[1], [1]], n=[[-1], [-1]]))
    # u w0 + w1: u is no factor of w1.
    question("beside", [*parts, plus("g0", "a", "z"), dense("y", "n", "s")], "w 1 -1", dict(n=[[-1], [-1]]))
    # (u w0) / 2 - u w0 + w1: the root is no factor of the rest. Without it w1 would be left.
    root = dict(g=[1], b=[0], mean=[0], var=[3.75])
    question("root-beside", [*parts, norm("g0", "r"), helper.make_node("Sub", ["r", "g0"], ["d"], "less"), plus("d", "a", "z"),
                             dense("y", "n", "s")], "w 1 -1", dict(n=[[0.5], [-1]], **root))
    # (u w0 + w1) / 2 - u w0: nor is one root the other's.
    question("two-roots", [*parts, dense("g0", "k", "k0"), dense("a", "e", "k1"), plus("k0", "k1", "d"), norm("d", "r"),
                           dense("r", "one", "z"), dense("y", "n", "s")], "w 1 -1",
             dict(k=[[1, -1]], e=[[1, 0]], one=[[1], [1]], n=[[0.5], [-0.5]], g=[1, 1], b=[0, 0], mean=[0, 0], var=[3.75, 0.75]))
    # (u (w0 - 1) - 1) / 2 + 1: nor is it one of the number. Where u (w0 - 1) + 1 > 0, w0 - u + 1 may be below 0.
    question("root-number", [parts[0], plus("p", "c", "q"), dense("q", "u", "h"), norm("h", "z"), dense("y", "n", "s0"), dense("x", "u", "s1"),
                             dense("s1", "half", "s2"), plus("s0", "s2", "s3"), plus("s3", "c2", "s")], "w 0 1",
             dict(c=[-1], n=[[-0.5], [0]], half=[[0.5]], c2=[-0.5], g=[1], b=[1], mean=[1], var=[3.75]), side="right")
    # The same without a root: u (w0 - 1) + 1.
    question("number", [parts[0], plus("p", "c", "q"), dense("q", "u", "h"), plus("h", "c3", "z"), dense("y", "n", "s0"), dense("x", "u", "s1"),
                        plus("s0", "s1", "s3"), plus("s3", "c2", "s")], "w 0 1",
             dict(c=[-1], c3=[1], n=[[-1], [0]], c2=[-1]), side="right")
    # w0^2 / 6 + w1, in HardSwish(w0) - w0 / 2 + w1: a square is no multiple.
    question("square", [parts[0], helper.make_node("HardSwish", ["p"], ["h"], "swish"), dense("y", "m", "t"), plus("h", "t", "z"),
                        dense("y", "n", "s")], "w 1 1", dict(m=[[-0.5], [1]], n=[[0], [-1]]), side="right", wrt="w",
             proxies=["HardSwish 0 0", "HardSwish 1 1"])
    # p w0 + w1, the slope p of a PRelu being a parameter in wrt, w0 = -1 and w1 = 1.
    question("slope", [parts[0], parts[1], helper.make_node("PRelu", ["p", "slope"], ["r"], "prelu"), plus("r", "a", "z"),
                       dense("y", "n", "s0"), helper.make_node("Mul", ["x", "slope"], ["s1"], "scale"), plus("s0", "s1", "s2"),
                       plus("s2", "c", "s")], "w 1 -1", dict(w=[[-1, 1]], slope=[1], n=[[-1], [-1]], c=[-1]), wrt="w slope",
             proxies=["PRelu 0 left"])
    # True: a piece's number counts. HardSigmoid(u w0) - 1/2 is u w0 / 6.
    question("not", [*parts, helper.make_node("HardSigmoid", ["g0"], ["h"], "hard", alpha=float(np.float32(1 / 6)), beta=0.5), plus("h", "c", "z"),
                     dense("y", "n", "s")], "w 0 -1", dict(c=[-0.5], n=[[-1 / 8], [0]]), status=0, reason="VERIFIED",
             proxies=["HardSigmoid 0 0", "HardSigmoid 1 0"], dead="dead 2\nu 0 6\nu 1 8")


def resting():
    """Touched kinks and windows whose gradient is zero, so that no side is asked for; and some that only seem so."""
    dense = lambda x, w, y: helper.make_node("Gemm", [x, w], [y], "dense_" + y)  # noqa: E731
    rho = lambda x, y: helper.make_node("Relu", [x], [y], "rho_" + y)  # noqa: E731
    batch("rest.npz", [[1]])
    base = dict(verdict="in-bouligand", data="rest.npz", touched=1, proxies=["Relu 0 0"])

    def two_layers_net(name, u, w):
        save(name, [dense("x", "w", "y"), dense("y", "u", "z"), rho("z", "out")], ["N", 1], None, dict(w=[[w]], u=[[u]]))
        return {**base, "model": name}

    zero, first, last = (two_layers_net(f"rest-{n}.onnx", u, w) for n, u, w in [("zero", 0, 0), ("first", 1, 0), ("last", 0, 1)])
    case("rest-zero", 0, "VERIFIED", evidence=NOTHING, **zero)
    for proxy in ["1", "1/2", "-7", "right"]:
        case("rest-proxy-" + proxy.replace("/", "-"), 0, "VERIFIED", evidence=NOTHING, **{**zero, "proxies": ["Relu 0 " + proxy]})
    for name, side in [("minus", "-"), ("plus", "+")]:
        case("rest-hull-" + name, 0, "VERIFIED", evidence=f"evidence hull 1\ncell 1 {side}\ndirections 0", **zero)
    # The gradient is over all of wrt, not of one layer.
    case("rest-first", 1, "no direction moves", evidence=NOTHING, **first)
    case("rest-last", 1, "no direction moves", evidence=NOTHING, **last)
    case("rest-last-w", 0, "VERIFIED", evidence=NOTHING, wrt="w", **last)
    case("rest-last-half", 1, "gives it no side", evidence=NOTHING, **{**last, "proxies": ["Relu 0 1/2"]})
    case("rest-last-moved", 0, "VERIFIED", evidence="evidence ad\ncell ad\ndirections 1\ndirection\nmove u at 0 -1", **last)
    # Still along the direction, but not at rest: u moves, w does not.
    case("rest-first-still", 1, "no direction moves",
         evidence="evidence ad\ncell ad\ndirections 1\ndirection\nmove u at 0 -1", **first)
    # Behind a kink at rest: v relu(u w) rests, v relu(u w) + b does not.
    for name, extra, touched in [("behind", [], 2), ("beside", [helper.make_node("Add", ["t", "b"], ["s"], "sum")], 2)]:
        save(f"rest-{name}.onnx",
             [dense("x", "w", "y"), dense("y", "u", "z"), rho("z", "r"), dense("r", "v", "t"), *extra,
              rho("s" if extra else "t", "out")], ["N", 1], None, dict(w=[[0]], u=[[0]], v=[[3]], **(dict(b=[0]) if extra else {})))
        at = {**base, "model": f"rest-{name}.onnx", "touched": touched}
        case(f"rest-{name}", 1 if extra else 0, "no direction moves" if extra else "VERIFIED", evidence=NOTHING, **at)
        if extra:
            case("rest-beside-moved", 0, "VERIFIED", evidence="evidence ad\ncell ad\ndirections 1\ndirection\nmove b at 0 -1", **at)
            case("rest-beside-wrong", 1, "wrong side",
                 evidence="evidence ad\ncell ad\ndirections 1\ndirection\nmove b at 0 1", **at)
    # A mixed layer behind one that rests, whose own proxy is no mix: |relu(u w) + b|, Abs having the proxy 0.
    save("rest-mix.onnx",
         [dense("x", "w", "y"), dense("y", "u", "z"), rho("z", "r"), helper.make_node("Add", ["r", "b"], ["s"], "sum"),
          helper.make_node("Abs", ["s"], ["out"], "size")], ["N", 1], None, dict(w=[[0]], u=[[0]], b=[0]))
    mix = """evidence mix 1
    mix size 1/2
    cell mix -
    directions 1
    direction
    move b at 0 -1
    cell mix +
    directions 1
    direction
    move b at 0 1"""
    at = {**base, "model": "rest-mix.onnx", "touched": 2, "verdict": "in-clarke", "proxies": ["Abs 0 0", "Relu 0 9"]}
    case("rest-mix", 0, "VERIFIED", evidence=mix, **at)
    case("rest-mix-still", 1, "no direction moves", evidence=mix.replace("move b at 0 1", "move u at 0 1"), **at)
    case("rest-mix-both", 1, "gives it no side", evidence=mix, **{**at, "proxies": ["Abs 0 1/3", "Relu 0 9"]})
    # The middle entry of a line is its mean: whatever the shift c and the weight w, to first order it stays there. The root of
    # 2/3 + 1/4 is a factor of all that is handed back; of two lines' difference it is none.
    for name, kernel, shape, x in [("norm", [[[1]]], [1, 3], [[[-1, 1, 3]]]), ("norms", [[[1]]], [1, 3], [[[-1, 1, 3]], [[-2, 1, 4]]])]:
        save(f"rest-{name}.onnx",
             [helper.make_node("Conv", ["x", "w", "c"], ["y"], "conv"),
              helper.make_node("InstanceNormalization", ["y", "s", "b"], ["n"], "norm", epsilon=0.25), rho("n", "out")],
             ["N"] + shape, None, dict(w=kernel, c=[2], s=[1], b=[0]))
        batch(f"rest-{name}.npz", x)
        at = {**base, "model": f"rest-{name}.onnx", "data": f"rest-{name}.npz", "touched": len(x)}
        case(f"rest-{name}", 0, "VERIFIED", evidence=NOTHING, wrt="c w s", **at)
        case(f"rest-{name}-shift", 1, "no direction moves", evidence=NOTHING, wrt="c b", **at)
    # w / sqrt(5/4) - w / sqrt(13/4): no root is a factor of all of it. Without its roots it would be zero.
    save("rest-roots.onnx",
         [helper.make_node("Mul", ["x", "w"], ["y"], "scale"),
          helper.make_node("BatchNormalization", ["y", "s", "b", "mean", "var"], ["n"], "norm", epsilon=0.25), dense("n", "v", "z"),
          rho("z", "out")], ["N", 2], None, dict(w=[0], s=[1, 1], b=[0, 0], mean=[0, 0], var=[1, 3], v=[[1], [-1]]))
    batch("rest-roots.npz", [[1, 1]])
    roots = {**base, "model": "rest-roots.onnx", "data": "rest-roots.npz"}
    case("rest-roots", 1, "no direction moves", evidence=NOTHING, wrt="w", **roots)
    case("rest-roots-moved", 0, "VERIFIED", evidence=AD, wrt="w", **roots)
    # w / sqrt(5/4) - w, w having been met before the root is.
    save("rest-shared.onnx",
         [helper.make_node("Mul", ["x", "w"], ["y"], "scale"),
          helper.make_node("BatchNormalization", ["y", "s", "b", "mean", "var"], ["n"], "norm", epsilon=0.25),
          helper.make_node("Mul", ["x", "w"], ["y2"], "again"), helper.make_node("Sub", ["n", "y2"], ["z"], "less"),
          rho("z", "out")], ["N", 1], None, dict(w=[0], s=[1], b=[0], mean=[0], var=[1]))
    case("rest-shared", 1, "no direction moves", evidence=NOTHING, wrt="w", **{**base, "model": "rest-shared.onnx"})
    case("rest-shared-moved", 0, "VERIFIED", evidence=AD.replace("-1", "1"), wrt="w", **{**base, "model": "rest-shared.onnx"})
    # relu(2 w) - 4 relu(-w / 2) has rational roots, which count: 2 w and -w / 2 cancel as 1 to 4.
    save("rest-rational.onnx",
         [helper.make_node("Mul", ["x", "w"], ["y"], "scale"),
          helper.make_node("BatchNormalization", ["y", "s", "b", "mean", "var"], ["n"], "norm", epsilon=0.25), rho("n", "r"),
          dense("r", "v", "out")], ["N", 2], None, dict(w=[0], s=[1, 1], b=[0, 0], mean=[0, 0], var=[0, 3.75], v=[[1], [-4]]))
    batch("rest-rational.npz", [[1, -1]])
    tree = "evidence separator\nv w 0 -1\ntree\nbranch 0\nbranch 1\n{0}\nleaf\nbranch 1\nleaf\n{0}"
    rational = {**base, "model": "rest-rational.onnx", "data": "rest-rational.npz", "touched": 2, "verdict": "not-in-clarke"}
    case("rest-rational", 0, "VERIFIED", evidence=tree.format("dead 2\nu 0 1\nu 1 4"), wrt="w", **rational)
    case("rest-rational-left-out", 1, "not zero", evidence=tree.format("dead 2\nu 0 1\nu 1 1"), wrt="w", **rational)
    # The softmax of one class is 1: its logarithm stays at 0.
    save("rest-alone.onnx", [dense("x", "w", "y"), helper.make_node("LogSoftmax", ["y"], ["l"], "soft", axis=-1), rho("l", "out")],
         ["N", 1], None, dict(w=[[0]]))
    case("rest-alone", 0, "VERIFIED", evidence=NOTHING, **{**base, "model": "rest-alone.onnx"})
    # Of three tied entries, products of parameters, the first has a gradient, the others have none.
    save("rest-window.onnx",
         [dense("x", "w", "y"), dense("y", "u", "z"),
          helper.make_node("Unsqueeze", ["z", "axis"], ["c"], "channel"),
          helper.make_node("MaxPool", ["c"], ["out"], "pool", kernel_shape=[3])], ["N", 1], None,
         dict(w=[[0, 0]], u=[[1, 0, 0], [0, 0, 0]]), 17)
    model = onnx.load(path("rest-window.onnx"))
    model.graph.initializer.append(numpy_helper.from_array(np.array([1], np.int64), "axis"))
    with open(path("rest-window.onnx"), "wb") as f:
        f.write(model.SerializeToString())
    window = dict(verdict="in-bouligand", model="rest-window.onnx", data="rest.npz", touched=1, proxies=[])
    up, down = (f"evidence ad\ncell ad\ndirections 1\ndirection\nmove w at 0 {d}" for d in ["1", "-1"])
    case("rest-window", 0, "VERIFIED", evidence=down, tie="last", **window)
    case("rest-window-first", 0, "VERIFIED", evidence=up, tie="first", **window)
    case("rest-window-still", 1, "no direction moves", evidence=up.replace("at 0", "at 1"), tie="last", **window)
    case("rest-window-mean", 1, "gives it no side", evidence=down, tie="mean", **window)
    case("rest-window-wrong", 1, "wrong side", evidence=up, tie="last", **window)


def written(name, status, reason, text):
    """The lines as they are, sealed."""
    body = "clarke-proof 1\n" + "\n".join(line.strip() for line in text.strip().split("\n")) + "\n"
    with open(path(name + ".proof"), "w") as f:
        f.write(body + "end " + hashlib.sha256(body.encode()).hexdigest() + "\n")
    INDEX.append(f"{name}.proof {status} {reason}")


def inputs():
    """Networks as functions of their input: relu(x0) - relu(-x0), which is x0; max(x0, x1) by a window; a Clip with one bound."""
    dense = lambda x, w, y: helper.make_node("MatMul", [x, w], [y])
    save("input-line.onnx", [dense("x", "w", "a"), helper.make_node("Relu", ["a"], ["r"], "relu"), dense("r", "v", "out")],
         ["N", 2], ["N", 1], dict(w=[[1, -1], [0, 0]], v=[[1], [-1]]))
    save("input-most.onnx", [helper.make_node("MaxPool", ["x"], ["m"], "pool", kernel_shape=[1, 2]), helper.make_node("Flatten", ["m"], ["out"])],
         [1, 1, 1, 2], None, {})
    save("input-clip.onnx", [helper.make_node("Clip", ["x", "", "high"], ["out"], "clip")], [1, 1], None, dict(high=0.5))
    save("input-smooth.onnx", [helper.make_node("Sigmoid", ["x"], ["out"])], [1, 1], None, {})
    model = lambda name: "%s %s" % (name, sha(name))
    derived = """verdict not-in-clarke
    semantics real
    network %s
    at x 0 0
    wrt *
    profile pytorch-2.13
    proxy Relu 0 0
    touched 2
    evidence separator
    v -1 0
    cones
    split 0
    circuit 0 1 1 1
    forced 1 0
    leaf -1 0
    forced 1 0
    leaf 1 0""" % model("input-line.onnx")
    written("input-line", 0, "VERIFIED", derived)
    tree = derived[derived.index("cones"):]
    written("input-line-tree", 0, "VERIFIED", derived.replace(tree, """tree
    branch 2
    branch 2
    dead 2
    u 0 1
    u 1 1
    leaf
    branch 2
    leaf
    dead 2
    u 0 1
    u 1 1"""))
    for i, (status, reason, old, new) in enumerate([
            (1, "is not separated", "v -1 0", "v 0 1"),
            (1, "not on the side given", "leaf -1 0", "leaf 1 0"), (1, "'leaf' is expected", "forced 1 0\n    leaf 1 0", "forced 1 0"),
            (1, "is not separated", "proxy Relu 0 0", "proxy Relu 0 1/2"), (1, "the number of touched", "touched 2", "touched 1"),
            (1, "the values of input 'x'", "at x", "at y"), (1, "is no input", "wrt *", "wrt w"), (1, "kink 0 of Relu is expected", "Relu", "Clip")]):
        written(f"input-line-{i}", status, reason, derived.replace(old, new))
    regions = """claim regions
    semantics real
    model %s
    at 0 0
    regions 2
    gradients 1
    gradient 1 0
    %s""" % (model("input-line.onnx"), tree.replace("cones", "tree"))
    written("input-regions", 0, "VERIFIED", regions)
    written("input-regions-two", 1, "is that of no region", regions.replace("gradients 1\n", "gradients 2\n    gradient 0 0\n"))
    written("input-regions-count", 1, "the tree has 2 leaves", regions.replace("regions 2", "regions 3"))
    written("input-regions-twice", 1, "in increasing order, are expected", regions.replace("circuit 0 1 1 1", "circuit 0 1 1 2 1 -1"))
    written("input-regions-open", 1, "do not stand as in circuit 0", regions.replace("split 0\n    circuit 0 1 1 1", "circuit 0 1 1 1"))
    most = """claim regions
    semantics real
    model %s
    box -
    bound 0 1
    bound 1/2 2
    regions 2
    tree
    wins 0
    leaf 9 7 10
    wins 1
    leaf 1 3 4""" % model("input-most.onnx")
    written("input-most", 0, "VERIFIED", most)
    written("input-most-once", 1, "'wins' is expected", most.replace("\n    wins 1\n    leaf 1 3 4", ""))
    # nothing is refuted by no rows at all, nor a row's sign by others alone
    written("input-regions-none", 1, "circuit 0 has no other row", regions.replace("circuit 0 1 1 1", "circuit"))
    written("input-most-none", 1, "circuit 0 has no other row", most.replace("wins 0\n    leaf 9 7 10", "circuit\n    loses 0 0").replace("regions 2", "regions 1"))
    written("input-most-lost", 1, "there is no circuit 0", most.replace("wins 1\n    leaf 1 3 4", "loses 1 0"))
    with open(path("input-least.prog"), "w") as f:
        f.write("input x[2]\noutput min(x[0], x[1])\n")
    with open(path("input-middle.prog"), "w") as f:
        f.write("input x[2]\noutput median(x[0], x[1], 3)\n")
    of_program = lambda text, name: text.replace("model " + model("input-most.onnx"), "program %s %s" % (name, sha(name)))
    least = of_program(most, "input-least.prog").replace("leaf 9 7 10", "leaf 1 3 4", 1)
    least = "leaf 9 7 10".join(least.rsplit("leaf 1 3 4", 1))
    written("input-least", 0, "VERIFIED", least)
    written("input-least-turned", 1, "is not on the side given", of_program(most, "input-least.prog"))
    written("input-middle", 2, "is not piecewise linear", of_program(most, "input-middle.prog"))
    segment = """claim segment
    semantics real
    model %s
    from -1 0
    to 2 1
    pieces 2
    integral 3
    piece 1/3 3
    piece 1 3""" % model("input-line.onnx")
    written("input-segment", 0, "VERIFIED", segment)
    down = """claim segment
    semantics real
    program input-least.prog %s
    from 0 1
    to 2 1
    pieces 2
    integral 1
    piece 1/2 2
    piece 1 0""" % sha("input-least.prog")
    written("input-segment-least", 0, "VERIFIED", down)
    written("input-segment-least-turned", 1, "the derivative of output 0", down.replace("piece 1/2 2", "piece 1/2 0").replace("piece 1 0", "piece 1 2"))
    written("input-segment-whole", 1, "the pattern changes within", segment.replace("pieces 2", "pieces 1").replace("piece 1/3 3\n    ", ""))
    written("input-segment-more", 1, "is that of the piece before", segment.replace("pieces 2", "pieces 3").replace("piece 1/3", "piece 1/9 3\n    piece 1/3"))
    arctangent_of_what_may_be_zero()
    held_inputs(model)
    listed = onnx.load(path("input-line.onnx"))  # older models list their initializers among the inputs, too
    for t in listed.graph.initializer:
        listed.graph.input.insert(0, helper.make_tensor_value_info(t.name, t.data_type, t.dims))
    with open(path("input-listed.onnx"), "wb") as f:
        f.write(listed.SerializeToString())
    written("input-listed", 0, "VERIFIED", segment.replace(model("input-line.onnx"), model("input-listed.onnx")))
    # Of a sort made of many comparisons the rule is `first`: `mean` would give (3/8, 3/8, 1/4) for the second of three equal entries.
    save("input-sorted.onnx", [helper.make_node("TopK", ["x", "k"], ["v", "i"], "top", axis=1), dense("v", "s", "out")], [1, 3], None,
         dict(s=[[0], [1]]), integers=dict(k=[2]))
    second = """verdict in-bouligand
    semantics real
    network %s
    at x 0 0 0
    wrt *
    profile mine
    tie TopK first
    touched 5
    evidence ad
    arc 1
    step 2 1 0""" % model("input-sorted.onnx")
    written("input-sorted", 0, "VERIFIED", second)
    cells = "evidence hull 3" + "".join(f"\ncell {w}\narc 1\nstep {d}" for w, d in [("3/8", "1 2 0"), ("3/8", "2 1 0"), ("1/4", "2 0 1")])
    for rule in ["mean", "last", "stable", "hybrid 1/2"]:
        written("input-sorted-" + rule[:4], 1, "no other rule than 'first'", second.replace("TopK first", "TopK " + rule))
    written("input-sorted-hull", 1, "no other rule than 'first'", second[:second.index("evidence")].replace("first", "mean").replace("in-bouligand", "in-clarke") + cells)
    untouched = second.replace("at x 0 0 0", "at x 1 2 4").replace("touched 5", "touched 0").replace("first", "unknown").replace("arc 1\n    step 2 1 0", "arc 0")
    written("input-sorted-apart", 0, "VERIFIED", untouched)
    clip = """verdict in-bouligand
    semantics real
    network %s
    at x 1/2
    wrt *
    profile pytorch-2.13
    proxy Clip 0 7
    proxy Clip 1 1
    touched 1
    evidence ad
    arc 1
    step -1""" % model("input-clip.onnx")
    written("input-clip", 0, "VERIFIED", clip)  # its one kink is number 1
    written("input-clip-other", 1, "entry 0 of AD's output", clip.replace("Clip 0 7", "Clip 0 1").replace("Clip 1 1", "Clip 1 7"))
    written("input-smooth", 2, "is no sum, no piecewise function and no maximum",
            "claim regions\nsemantics real\nmodel %s\nat 0\nregions 1" % model("input-smooth.onnx"))


def arctangent_of_what_may_be_zero():
    """atan(c + x) - x, c = 2^80 (log(exp(1)) - 1), which is 0: in intervals it may be large, and the slope of the arc tangent is 1. AD has 0 of x, as it
    should be of all."""
    with open(path("atan-wide.prog"), "w") as f:
        f.write(f"input x\nlet q = relu(x) - relu(-x)\noutput atan({2**80} * (log(exp(1)) - 1) + q) - q\n")
    written("atan-wide", 1, "is not decided by", """verdict not-in-clarke
    semantics real
    program atan-wide.prog %s
    at x 0
    wrt *
    profile case
    proxy Relu 0 0
    touched 2
    evidence separator
    v 1
    tree
    branch 2
    branch 2
    dead 2
    u 0 1
    u 1 1
    leaf
    branch 2
    leaf
    dead 2
    u 0 1
    u 1 1""" % sha("atan-wide.prog"))


def held_inputs(model):
    """Functions of parameters, the input being held: relu(u w x) of two layers; a slope and a division by what may vary; products; -w."""
    dense = lambda x, w, y: helper.make_node("MatMul", [x, w], [y])
    save("held-two.onnx", [dense("x", "w", "a"), helper.make_node("Relu", ["a"], ["r"], "relu"), dense("r", "u", "out")],
         ["N", 2], ["N", 1], dict(w=[[0], [0]], u=[[3]]))
    around = """claim regions
    semantics real
    model %s
    wrt w
    held 1 2
    at stored
    regions 2
    gradients 2
    gradient 0 0
    gradient 3 6
    tree
    split 0
    leaf -1 0
    leaf 1 0""" % model("held-two.onnx")
    written("held-layer", 0, "VERIFIED", around)
    last = around.replace("wrt w", "wrt u").replace("regions 2", "regions 1").replace("gradients 2\n    gradient 0 0\n    gradient 3 6", "gradients 1\n    gradient 0")
    last = last[:last.index("split")] + "leaf 1"
    written("held-last", 0, "VERIFIED", last)
    for i, (status, reason, old, new) in enumerate([
            (1, "is not in the list", "held 1 2", "held 1 3"), (1, "the line ends too early", "held 1 2", "held 1"),
            (1, "is more than was expected", "held 1 2", "held 1 2 3"), (1, "'held' is expected", "held 1 2\n", ""),
            (1, "'box' is expected", "at stored\n", ""), (1, "'at stored' is expected", "at stored", "at 0 0"),
            (1, "has no parameter 'x'", "wrt w", "wrt x"), (1, "is named twice", "wrt w", "wrt w w"),
            (1, "not named in the order of the file", "wrt w", "wrt u w"), (1, "no parameter is named", "wrt w", "wrt"),
            (1, "is not in the list", "gradients 2\n    gradient 0 0\n", "gradients 1\n"), (1, "the tree has 2 leaves", "regions 2", "regions 3"),
            (1, "'split' is expected", "split 0\n    leaf -1 0\n    leaf 1 0", "leaf 1 0"), (1, "is not on the side given", "leaf 1 0", "leaf -2 1")]):
        written(f"held-layer-{i}", status, reason, around.replace(old, new))
    outside = """verdict not-in-clarke
    semantics real
    network %s
    wrt w
    at x 1 2
    profile pytorch-2.13
    proxy Relu 0 5
    touched 1
    evidence separator
    v 1 2
    cones
    split 0
    leaf 0 -1
    leaf 1 0""" % model("held-two.onnx")
    written("held-derived", 0, "VERIFIED", outside)
    all_layers = outside.replace("wrt w", "wrt *").replace("v 1 2", "v 1 2 0")
    written("held-derived-tree", 0, "VERIFIED", all_layers[:all_layers.index("cones")] + "tree\n    branch 2\n    leaf\n    leaf")
    written("held-derived-cones", 2, "is not piecewise linear", all_layers)
    for i, (status, reason, old, new) in enumerate([
            (1, "is no input", "wrt w\n    at x 1 2", "at x 1 2\n    wrt w"), (1, "the values of input 'x'", "at x 1 2", "at w 0 0"),
            (1, "'profile' is expected", "at x 1 2", "at x 1 2\n    at w 1 0"), (1, "is not separated", "v 1 2", "v 1 -2"),
            (1, "is not separated", "Relu 0 5", "Relu 0 1"), (1, "is not on the side given", "leaf 1 0", "leaf -1 0"),
            (1, "the number of touched", "touched 1", "touched 0"), (1, "the line ends too early", "at x 1 2", "at x 1")]):
        written(f"held-derived-{i}", status, reason, outside.replace(old, new))
    both = around.replace("gradient 0 0", "gradient 0 0 0").replace("gradient 3 6", "gradient 3 6 0")
    written("held-both", 2, "is not piecewise linear", both.replace("wrt w", "wrt w u"))
    written("held-all", 2, "is not piecewise linear", both.replace("wrt w", "wrt *"))
    box = around.replace("at stored", "box -\n    bound -1 1\n    bound 0 1")
    box = box[:box.index("gradients")] + "tree\n    split 4\n    leaf -3 1 4\n    leaf 1 1 2"
    written("held-box", 0, "VERIFIED", box)
    written("held-box-of-inputs", 1, "is expected", box.replace("wrt w", "wrt u"))
    written("held-segment", 1, "'from' is expected", around.replace("claim regions", "claim segment"))
    # Of a model with a step that multiplies: the input's relu times a sum with b; by a negated constant, too.
    save("held-product.onnx", [helper.make_node("Relu", ["x"], ["p"]), helper.make_node("Neg", ["b"], ["c"]),
                               helper.make_node("Add", ["x", "c"], ["s"]), helper.make_node("Mul", ["p", "s"], ["m"]), helper.make_node("Relu", ["m"], ["out"])],
         ["N", 1], ["N", 1], dict(b=[2]))
    times = """claim regions
    semantics real
    model %s
    wrt b
    held 2
    at stored
    regions 2
    gradients 2
    gradient -2
    gradient 0
    tree
    split 0
    leaf 1
    leaf -1""" % model("held-product.onnx")
    written("held-product", 0, "VERIFIED", times)
    written("held-product-zero", 1, "'leaf' is expected", times.replace("held 2", "held 0"))
    written("held-product-input", 2, "is no sum, no piecewise function and no maximum",
            times.replace("wrt b\n", "").replace("held 2\n", "").replace("at stored", "at 2"))
    save("held-slope.onnx", [helper.make_node("PRelu", ["x", "a"], ["y"]), helper.make_node("Div", ["y", "d"], ["out"])], ["N", 1], ["N", 1], dict(a=[1], d=[2]))
    for name, reason in ("a", "its slope varies"), ("d", "divides by a parameter that varies"):
        written("held-" + name, 2, reason, times.replace(model("held-product.onnx"), model("held-slope.onnx")).replace("wrt b", "wrt " + name))
    with open(path("held-branch.prog"), "w") as f:
        f.write("input x, w\nlet s = if x > 1 then sqrt(x) else log(x - 9)\noutput relu(w * s - 2 * hardswish(x) + kth(2, x, 3, x + 1)) + w * elu(x - 4)\n")
    branch = """claim regions
    semantics real
    program held-branch.prog %s
    wrt w
    held 4
    at 2
    regions 2
    gradients 2
    gradient 0
    gradient 2
    tree
    split 0
    leaf -1
    leaf 1""" % sha("held-branch.prog")
    written("held-branch", 0, "VERIFIED", branch)
    written("held-branch-root", 2, "is not piecewise linear", branch.replace("held 4", "held 3"))
    written("held-branch-log", 2, "is not piecewise linear", branch.replace("held 4", "held 0"))
    with open(path("held-pieces.prog"), "w") as f:  # a number on each piece, and at kinks
        f.write("input x, w\noutput relu(w) * (hardsigmoid(x) + abs(x))\n")
    pieces = branch.replace("held-branch.prog " + sha("held-branch.prog"), "held-pieces.prog " + sha("held-pieces.prog")).replace("at 2", "at 0")
    for k, (x, slope) in enumerate([("-9", "9"), ("-3", "3"), ("-1", "4/3"), ("0", "1/2"), ("3", "4"), ("9", "10")]):
        at = pieces.replace("held 4", f"held {x}").replace("gradient 2", f"gradient {slope}")
        written(f"held-pieces-{k}", 0, "VERIFIED", at)
        written(f"held-pieces-{k}-not", 1, "is not in the list", at.replace(f"gradient {slope}", f"gradient {slope}1"))


def tensors_file(name, tensors):
    """A safetensors file: {name: (dtype, shape, raw bytes)}."""
    head, data = {}, b""
    for key, (dtype, shape, raw) in tensors.items():
        head[key] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(head, separators=(",", ":")).encode()
    with open(path(name), "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


def floats(values, dtype="F32"):
    """Of tensors_file: numbers that the type has."""
    values = np.asarray(values, np.float64)
    raw = {"F16": lambda: values.astype("<f2").tobytes(), "F32": lambda: values.astype("<f4").tobytes(),
           "F64": lambda: values.astype("<f8").tobytes(),
           "BF16": lambda: (values.astype("<f4").view("<u4") >> 16).astype("<u2").tobytes()}[dtype]()
    return dtype, list(values.shape), raw


def batch_of(name, x, kept):
    with open(path(name), "wb") as f:
        np.savez(f, x=np.asarray(x, kept))


def record(name, status, reason, lines, model, data, trace, gradients, parameters, wrt="w", proxies=("Relu 0 0",), scale=1, narrow=()):
    """A proof about a record: of the files under its own name, or that of another case. narrow: its lines of run.json's factors."""
    written(name, status, reason, "\n".join(
        ["claim record", f"model {model} {sha(model)}", f"params {parameters} {sha(parameters)}", f"batch {data} {sha(data)}",
         f"trace {trace} {sha(trace)}", f"gradients {gradients} {sha(gradients)}", *(line.replace("HASH", sha("run.json")) for line in narrow),
         "loss sum", f"scale {scale}", f"wrt {wrt}",
         "profile pytorch-2.13", *(f"proxy {p}" for p in proxies), *lines.strip().split("\n")]))


def records():
    """relu(x w) summed: a dot product of which rounding is asked about, in every type."""
    save("record.onnx", [helper.make_node("MatMul", ["x", "w"], ["a"], "a"), helper.make_node("Relu", ["a"], ["r"], "r"),
                         helper.make_node("ReduceSum", ["r"], ["out"], "out", keepdims=0)], ["N", 2], [], dict(w=[[1], [1]]))
    files = dict(model="record.onnx", data="record.npz", trace="record.trace", gradients="record.gradients", parameters="record.parameters")
    batch("record.npz", [[1, 2], [3, -4]])
    tensors_file("record.parameters", {"w": floats([[1], [1]])})
    tensors_file("record.gradients", {"w": floats([[1], [2]])})
    whole = {"output/a": floats([[3], [-1]]), "output/r": floats([[3], [0]]), "gradient/a": floats([[1], [0]]), "gradient/r": floats([[1], [1]])}
    tensors_file("record.trace", whole)
    right = """output a bit-exact
    output r bit-exact
    output out not-covered
    gradient a bit-exact
    gradient r bit-exact
    gradient out not-covered
    parameter w bit-exact
    pattern r 0"""
    record("record", 0, "VERIFIED", right, **files)
    for i, (status, reason, old, new) in enumerate([
            (1, "the line of 'a' is expected", "output a bit-exact\n", ""), (1, "'gradient' is expected", "    gradient out not-covered\n", ""),
            (1, "the line of 'r' is expected", "output r", "output a"), (1, "no rule covers it", "output out not-covered", "output out within"),
            (1, "bit-exact, within, where-bounded, not-shown or not-covered is expected", "output a bit-exact", "output a refuted"),
            (1, "'parameter' is expected", "    parameter w bit-exact\n", ""), (1, "'pattern' is expected", "\n    pattern r 0", ""),
            (1, "only 0 entries part", "pattern r 0", "pattern r 1"), (1, "'end' is expected", "pattern r 0", "pattern r 0\n    part 0 0 loser"),
            (1, "is more than was expected", "output a bit-exact", "output a bit-exact 1")]):
        record(f"record-{i}", status, reason, right.replace(old, new), **files)
    record("record-scale", 1, "gradient r: an entry is farther", right, scale=2, **files)
    record("record-proxy", 0, "VERIFIED", right, proxies=("Relu 0 1",), **files)  # no kink is recorded
    record("record-no-proxy", 1, "'proxy' is expected", right, proxies=(), **files)
    tensors_file("record-more.trace", whole | {"indices/r": floats([[0], [0]])})
    record("record-more", 1, "is of no node", right, **(files | dict(trace="record-more.trace")))
    tensors_file("record-kept.trace", whole | {"before/mean": floats([1]), "after/mean": floats([2])})
    record("record-kept", 0, "VERIFIED", right, **(files | dict(trace="record-kept.trace")))
    tensors_file("record-less.trace", {k: v for k, v in whole.items() if k != "gradient/r"})
    record("record-less", 1, "gradient a: no rule covers it, or it was not recorded", right, **(files | dict(trace="record-less.trace")))
    tensors_file("record-shape.trace", whole | {"output/a": floats([3, -1])})
    record("record-shape", 1, "does not have the shape", right, **(files | dict(trace="record-shape.trace")))
    tensors_file("record-off.trace", whole | {"gradient/a": floats([[1], [2.0 ** -130]])})  # the slope 0 leaves nothing to round
    record("record-off", 1, "gradient a: an entry is farther", right.replace("gradient a bit-exact", "gradient a within"),
           **(files | dict(trace="record-off.trace")))
    record("record-pattern", 1, "the line of 'r' is expected", right.replace("pattern r", "pattern a"), **files)
    tensors_file("record-rank.trace", whole | {"output/a": floats([[[3]], [[-1]]])})
    record("record-rank", 1, "does not have the shape", right, **(files | dict(trace="record-rank.trace")))
    record("record-parameter", 1, "the line of 'w' is expected", right.replace("parameter w", "parameter v"), **files)
    tensors_file("record-part.trace", whole | {"output/a": floats([[3], [0]])})  # where it is -1, exactly
    parts = right.replace("output a bit-exact", "output a not-shown").replace("pattern r 0", "pattern r 1\npart %s")
    for k, (part, status, reason) in enumerate([
            ("0 1 recorded-at-kink", 0, "VERIFIED"), ("0 1 exactly-at-kink", 1, "is the next that parts"), ("0 1 other-side", 1, "is the next that parts"),
            ("0 0 recorded-at-kink", 1, "is the next that parts"), ("1 1 recorded-at-kink", 1, "is the next that parts")]):
        record(f"record-part-{k}", status, reason, parts % part, **(files | dict(trace="record-part.trace")))
    records_of_copies(files)
    records_of_moves(files)
    records_with_slopes(files)
    records_with_pieces(files)
    records_of_thirds(files)
    records_with_narrow_factors(files)
    records_without_rules(files)
    records_of_pools(files)
    records_of_composed_nodes(files)
    records_at_their_last()
    records_of_far_entries(files)
    records_of_large_roots(files)
    records_of_cross_entropy(files)
    records_of_means()
    records_in_types(files)
    records_of_long_sums(files)


def records_of_copies(files):
    """-w is w's entries turned, and so are its gradients; a sum of a value and its copy tells neither's gradient."""
    total = helper.make_node("ReduceSum", ["r"], ["out"], "out", keepdims=0)
    product = helper.make_node("MatMul", ["x", "v"], ["a"], "a")
    save("record-turned.onnx", [helper.make_node("Neg", ["w"], ["v"], "v"), product, helper.make_node("Relu", ["a"], ["r"], "r"), total],
         ["N", 2], [], dict(w=[[1], [1]]))
    tensors_file("record-turned.parameters", {"w": floats([[-1], [-1]])})
    made = {"output/v": floats([[1], [1]]), "output/a": floats([[3], [-1]]), "output/r": floats([[3], [0]]), "gradient/v": floats([[1], [2]]),
            "gradient/a": floats([[1], [0]]), "gradient/r": floats([[1], [1]])}
    right = """output v bit-exact
    output a bit-exact
    output r bit-exact
    output out not-covered
    gradient v bit-exact
    gradient a bit-exact
    gradient r bit-exact
    gradient out not-covered
    parameter w bit-exact
    pattern r 0"""
    own = files | dict(model="record-turned.onnx", parameters="record-turned.parameters", trace="record-turned.trace",
                       gradients="record-turned.gradients")
    tensors_file("record-turned.trace", made)
    tensors_file("record-turned.gradients", {"w": floats([[-1], [-2]])})
    record("record-turned", 0, "VERIFIED", right, **own)
    record("record-turned-not", 1, "parameter w: an entry is farther", right, **(own | dict(gradients="record.gradients")))
    for part, values in [("output/v", [[-1], [-1]]), ("gradient/v", [[-1], [-2]])]:
        name = "record-turned-" + part.split("/", maxsplit=1)[0]
        tensors_file(name + ".trace", made | {part: floats(values)})
        record(name, 1, part.replace("/", " ") + ": an entry is farther", right, **(own | dict(trace=name + ".trace")))

    save("record-copy.onnx", [helper.make_node("MatMul", ["x", "w"], ["a"], "a"), helper.make_node("Identity", ["a"], ["i"], "i"),
                              helper.make_node("Add", ["a", "i"], ["r"], "r"), total], ["N", 2], [], dict(w=[[1], [1]]))
    tensors_file("record-copy.trace", {"output/a": floats([[3], [-1]]), "output/i": floats([[3], [-1]]), "output/r": floats([[6], [-2]]),
                                       "gradient/a": floats([[3], [3]]), "gradient/i": floats([[1], [1]]), "gradient/r": floats([[1], [1]])})
    lines = """output a bit-exact
    output i bit-exact
    output r bit-exact
    output out not-covered
    gradient a not-covered
    gradient i not-covered
    gradient r bit-exact
    gradient out not-covered
    parameter w not-shown"""
    own = files | dict(model="record-copy.onnx", trace="record-copy.trace")
    record("record-copy", 0, "VERIFIED", lines, proxies=(), **own)
    for name in "ai":
        record("record-copy-" + name, 1, f"gradient {name}: no rule covers it", lines.replace(f"{name} not-covered", f"{name} within"), proxies=(), **own)


def records_of_moves(files):
    """What reads -w, or a view of a, is judged by what these move: so not where they were recorded as others, nor where a was not."""
    total = helper.make_node("ReduceSum", ["r"], ["out"], "out", keepdims=0)
    save("record-view.onnx", [helper.make_node("MatMul", ["x", "w"], ["a"], "a"), helper.make_node("Identity", ["a"], ["i"], "i"),
                              helper.make_node("Relu", ["i"], ["r"], "r"), total], ["N", 2], [], dict(w=[[1], [1]]))
    made = {"output/a": floats([[3], [-1]]), "output/i": floats([[3], [-1]]), "output/r": floats([[3], [0]])}
    lines = """output a bit-exact
    output i %s
    output r %s
    output out not-covered
    gradient a not-covered
    gradient i not-covered
    gradient r not-covered
    gradient out not-covered
    parameter w not-covered
    pattern r %s"""
    own = files | dict(model="record-view.onnx")
    for name, given, first, answers in [
            ("", made, "bit-exact", [("bit-exact", "bit-exact", "0", 0, "VERIFIED")]),
            ("torn-", made | {"output/i": floats([[5], [-1]])}, "not-covered",
             [("not-shown", "not-covered", "not-covered", 0, "VERIFIED"), ("not-shown", "bit-exact", "not-covered", 1, "output r: no rule covers it"),
              ("not-shown", "not-covered", "0", 1, "no rule covers this node's branches"), ("within", "not-covered", "not-covered", 1, "output i: an entry is farther")]),
            ("alone-", {k: v for k, v in made.items() if k != "output/a"}, "not-covered",
             [("not-covered", "bit-exact", "not-covered", 1, "output r: no rule covers it")])]:
        tensors_file(f"record-view-{name}.trace", given)
        for k, (i, r, pattern, status, reason) in enumerate(answers):
            text = lines % (i, r, pattern)
            record(f"record-view-{name}{k}", status, reason, text.replace("a bit-exact", "a not-covered") if name == "alone-" else text,
                   **(own | dict(trace=f"record-view-{name}.trace")))
    # of two views of one value the first is torn
    save("record-views.onnx", [helper.make_node("MatMul", ["x", "w"], ["a"], "a"), helper.make_node("Identity", ["a"], ["i"], "i"),
                               helper.make_node("Identity", ["a"], ["j"], "j"), helper.make_node("Relu", ["j"], ["r"], "r"), total],
         ["N", 2], [], dict(w=[[1], [1]]))
    two = lines.replace("output r", "output j not-covered\n    output r").replace("gradient r", "gradient j not-covered\n    gradient r")
    for k, view in enumerate([[[3], [-1]], [[5], [-1]]]):
        tensors_file(f"record-views-{k}.trace", made | {"output/i": floats(view), "output/j": floats([[3], [-1]])})
        record(f"record-views-{k}", k, "output r: no rule covers it" if k else "VERIFIED", two % ("not-shown", "bit-exact", "not-covered"),
               **(own | dict(model="record-views.onnx", trace=f"record-views-{k}.trace")))
    # of two views of one node what the first hands back is not all
    save("record-split.onnx", [helper.make_node("MatMul", ["x", "w"], ["a"], "a"), helper.make_node("Split", ["a"], ["i", "j"], "i", axis=1),
                               helper.make_node("Add", ["i", "j"], ["r"], "r"), helper.make_node("ReduceSum", ["r"], ["out"], "out", keepdims=0)],
         ["N", 2], [], dict(w=[[1, 2], [1, 3]]), opset=13)
    tensors_file("record-split.parameters", {"w": floats([[1, 2], [1, 3]])})
    tensors_file("record-split.gradients", {"w": floats([[0, 0], [0, 0]])})
    tensors_file("record-split.trace", {"output/a": floats([[3, 8], [-1, -6]]), "gradient/a": floats([[1, 0], [1, 0]]), "gradient/i": floats([[1], [1]])})
    lines = """output a bit-exact
    output i not-covered
    output j not-covered
    output r not-covered
    output out not-covered
    gradient a %s
    gradient i not-covered
    gradient j not-covered
    gradient r not-covered
    gradient out not-covered
    parameter w not-shown"""
    for k, (gradient, reason) in enumerate([("not-covered", "VERIFIED"), ("bit-exact", "gradient a: no rule covers it")]):
        record(f"record-split-{k}", k, reason, lines % gradient, proxies=(), **(files | dict(
            model="record-split.onnx", trace="record-split.trace", parameters="record-split.parameters", gradients="record-split.gradients")))
    # where samples are not first, the view is judged where they are
    save("record-across.onnx", [helper.make_node("MatMul", ["x", "w"], ["a"], "a"), helper.make_node("Transpose", ["a"], ["i"], "i", perm=[1, 0]),
                                helper.make_node("Relu", ["i"], ["r"], "r"), helper.make_node("Abs", ["a"], ["s"], "s"),
                                helper.make_node("ReduceSum", ["s"], ["out"], "out", keepdims=0)], ["N", 2], [], dict(w=[[1, 2], [1, 3]]))
    tensors_file("record-across.parameters", {"w": floats([[1, 2], [1, 3]])})
    tensors_file("record-across.gradients", {"w": floats([[0, 0], [0, 0]])})
    lines = """output a bit-exact
    output i not-covered
    output r not-covered
    output s bit-exact
    output out not-covered
    gradient a not-covered
    gradient i not-covered
    gradient r not-covered
    gradient s not-covered
    gradient out not-covered
    parameter w not-covered
    pattern r not-covered
    pattern s 0"""
    for k, (view, status, reason) in enumerate([([[3, -1], [8, -6]], 0, "VERIFIED"), ([[3, 8], [-1, -6]], 1, "output i: an entry is farther")]):
        tensors_file(f"record-across-{k}.trace", {"output/a": floats([[3, 8], [-1, -6]]), "output/i": floats(view), "output/s": floats([[3, 8], [1, 6]])})
        record(f"record-across-{k}", status, reason, lines, proxies=("Abs 0 0", "Relu 0 0"), **(files | dict(
            model="record-across.onnx", trace=f"record-across-{k}.trace", parameters="record-across.parameters",
            gradients="record-across.gradients")))
    records_of_merged_samples(files)
    own = files | dict(model="record-turned.onnx", parameters="record-turned.parameters", trace="record-turned-output.trace",
                       gradients="record-turned.gradients")
    lines = "output v not-shown\n" + (ONLY % "bit-exact").replace("gradient a", "gradient v not-covered\ngradient a")
    record("record-turned-torn", 1, "output a: no rule covers it", lines, **own)
    record("record-turned-still", 0, "VERIFIED", lines.replace("bit-exact", "not-covered"), **own)


def records_of_merged_samples(files):
    """Where samples are part of an axis, with axes before and behind, what is moved is judged where it lies."""
    weights = [[1, 2, 3, 4, 5, 6], [1, 3, 5, 7, 9, 11]]
    a = np.asarray([[1, 2], [3, -4]]) @ np.asarray(weights)
    tensors_file("record-merged.parameters", {"w": floats(weights)})
    tensors_file("record-merged.gradients", {"w": floats(np.zeros((2, 6)).tolist())})
    lines = """output a bit-exact
    output c not-covered
    output t not-covered
    output m not-covered
    output s %s
    output out not-covered
    gradient a not-covered
    gradient c not-covered
    gradient t not-covered
    gradient m not-covered
    gradient s not-covered
    gradient out not-covered
    parameter w not-covered
    pattern s %s"""
    for name, shape, perm in [("before", [3, -1], [1, 0, 2]), ("behind", [-1, 2], [0, 1, 2])]:
        save(f"record-merged-{name}.onnx", [
            helper.make_node("MatMul", ["x", "w"], ["a"], "a"), helper.make_node("Reshape", ["a", "split"], ["c"], "c"),
            helper.make_node("Transpose", ["c"], ["t"], "t", perm=perm), helper.make_node("Reshape", ["t", "merge"], ["m"], "m"),
            helper.make_node("Abs", ["a"], ["s"], "s"), helper.make_node("ReduceSum", ["s"], ["out"], "out", keepdims=0)],
            ["N", 2], [], dict(w=weights), integers=dict(split=[-1, 3, 2], merge=shape))
        moved = a.reshape(-1, 3, 2).transpose(perm).reshape(shape)
        turned = moved.copy()
        turned.flat[[1, 2]] = turned.flat[[2, 1]]
        for k, (view, answers, reason) in enumerate([
                (moved, ("bit-exact", "0"), "VERIFIED"), (turned, ("bit-exact", "0"), "output m: an entry is farther"),
                (turned, ("not-covered", "not-covered"), "output m: an entry is farther")]):
            own = f"record-merged-{name}-{k}"
            tensors_file(f"{own}.trace", {"output/a": floats(a.tolist()), "output/m": floats(view.tolist()), "output/s": floats(np.abs(a).tolist())})
            record(own, int(reason != "VERIFIED"), reason, lines % answers, proxies=("Abs 0 0",), **(files | dict(
                model=f"record-merged-{name}.onnx", trace=f"{own}.trace", parameters="record-merged.parameters",
                gradients="record-merged.gradients")))


def records_with_slopes(files):
    """0.1 times 3 rounds: a neighbour of the nearest number is within the bound. What is further off is not."""
    save("record-tenth.onnx", [helper.make_node("MatMul", ["x", "w"], ["a"], "a"), helper.make_node("LeakyRelu", ["a"], ["r"], "r", alpha=0.1),
                               helper.make_node("ReduceSum", ["r"], ["out"], "out", keepdims=0)], ["N", 2], [], dict(w=[[1], [1]]))
    slope = np.float64(np.float32(0.1))
    nearest = np.float32(3 * slope)
    lines = """output a bit-exact
    output r bit-exact
    output out not-covered
    gradient a %s
    gradient r bit-exact
    gradient out not-covered
    parameter w bit-exact
    pattern r 0"""
    for k, (back, said, status, reason) in enumerate([
            (nearest, "bit-exact", 0, "VERIFIED"), (np.nextafter(nearest, np.float32(1)), "within", 0, "VERIFIED"),
            (np.nextafter(nearest, np.float32(1)), "bit-exact", 1, "gradient a: not every entry is the exact number"),
            (nearest * np.float32(1 + 2.0 ** -18), "within", 1, "gradient a: an entry is farther")]):
        name = f"record-tenth-{k}"
        tensors_file(f"{name}.trace", {"output/a": floats([[3], [-1]]), "output/r": floats([[3], [float(-slope)]]),
                                       "gradient/a": floats([[3], [float(back)]]), "gradient/r": floats([[3], [3]])})
        tensors_file(f"{name}.gradients", {"w": floats(np.float32([[3 + 3 * np.float64(back)], [6 - 4 * np.float64(back)]]).tolist())})
        record(name, status, reason, lines % said, proxies=("LeakyRelu 0 right",), scale=3,
               **(files | dict(model="record-tenth.onnx", trace=f"{name}.trace", gradients=f"{name}.gradients")))


def one_node(name, node, weights=None, integers=None, columns=1):
    """r = node(x w), summed up, of w of ones."""
    total = helper.make_node("ReduceSum", ["r"], ["out"], "out", keepdims=0)
    save(f"{name}.onnx", [helper.make_node("MatMul", ["x", "w"], ["a"], "a"), node, total], ["N", 2], [], dict(w=[[1] * columns] * 2, **(weights or {})),
         integers=integers)


def records_with_pieces(files):
    """Pieces that are numbers, and slopes at kinks; what is a number and a multiple is no plain rule; entries that are read twice."""
    node = helper.make_node
    lines = """output a bit-exact
    output r %s
    output out not-covered
    gradient a %s
    gradient r bit-exact
    gradient out not-covered
    parameter w not-shown
    pattern r %s"""
    # within its bounds, and beyond either
    one_node("record-clip", node("Clip", ["a", "low", "high"], ["r"], "r"), dict(low=np.float32(-0.5), high=np.float32(2.75)))
    batch("record-clip.npz", [[1, 2], [3, -4], [1, 1]])
    right = {"output/a": [[3], [-1], [2]], "output/r": [[2.75], [-0.5], [2]], "gradient/r": [[3], [3], [3]], "gradient/a": [[0], [0], [3]]}
    own = files | dict(model="record-clip.onnx", data="record-clip.npz")
    for k, (part, values, reason) in enumerate([
            ("output/r", right["output/r"], "VERIFIED"), ("output/r", [[2.75], [-1], [2]], "output r: an entry is farther"),
            ("output/r", [[3], [-0.5], [2]], "output r: an entry is farther"), ("output/r", [[2.75], [0.5], [2]], "output r: an entry is farther"),
            ("gradient/a", [[3], [0], [3]], "gradient a: an entry is farther"), ("gradient/a", [[0], [3], [3]], "gradient a: an entry is farther")]):
        tensors_file(f"record-clip-{k}.trace", {n: floats(v) for n, v in (right | {part: values}).items()})
        record(f"record-clip-{k}", int(k > 0), reason, lines % ("bit-exact", "bit-exact", "0"), scale=3, proxies=("Clip 0 1", "Clip 1 1"),
               **(own | dict(trace=f"record-clip-{k}.trace")))
    # at a kink the slope is the left one's, the right one's, or a number of its own
    one_node("record-kink", node("LeakyRelu", ["a"], ["r"], "r", alpha=0.25))
    batch("record-kink.npz", [[1, -1]])
    own = files | dict(model="record-kink.onnx", data="record-kink.npz")
    for said, slope in [("left", 0.25), ("right", 1), ("1/2", 0.5)]:
        for k, other in enumerate([slope, 1.25 - slope if slope != 0.5 else 1]):
            name = f"record-kink-{said.replace('/', '-')}-{k}"
            tensors_file(f"{name}.trace", {"output/a": floats([[0]]), "output/r": floats([[0]]), "gradient/r": floats([[1]]), "gradient/a": floats([[other]])})
            record(name, k, "gradient a: an entry is farther" if k else "VERIFIED", lines % ("bit-exact", "bit-exact", "0"), proxies=(f"LeakyRelu 0 {said}",),
                   **(own | dict(trace=f"{name}.trace")))
    # a number and a multiple at once
    one_node("record-hard", node("HardSigmoid", ["a"], ["r"], "r", alpha=0.25, beta=0.5))
    own = files | dict(model="record-hard.onnx")
    tensors_file("record-hard.trace", {"output/a": floats([[1], [-1]]), "output/r": floats([[0.75], [0.25]]), "gradient/r": floats([[1], [1]]),
                                       "gradient/a": floats([[0.25], [0.25]])})
    batch("record-hard.npz", [[1, 0], [0, -1]])
    for k, (answers, reason) in enumerate([(("within", "within", "not-covered"), "VERIFIED"), (("bit-exact", "within", "not-covered"), "output r: not every entry"),
                                           (("within", "bit-exact", "not-covered"), "gradient a: not every entry"), (("within", "within", "0"), "no rule covers this node's branches")]):
        record(f"record-hard-{k}", int(k > 0), reason, lines % answers, proxies=("HardSigmoid 0 1/4", "HardSigmoid 1 1/4"),
               **(own | dict(data="record-hard.npz", trace="record-hard.trace")))
    # v has the one entry of a twice: what is handed back to one of them alone is not told
    save("record-twice.onnx", [node("MatMul", ["x", "w"], ["a"], "a"), node("Gather", ["a", "both"], ["v"], "v", axis=1), node("Relu", ["v"], ["r"], "r"),
                               node("ReduceSum", ["r"], ["out"], "out", keepdims=0)], ["N", 2], [], dict(w=[[1], [1]]), integers=dict(both=[0, 0]))
    tensors_file("record-twice.trace", {"output/a": floats([[3], [-1]]), "gradient/r": floats([[1, 1], [1, 1]]), "gradient/v": floats([[1, 1], [0, 0]])})
    twice = """output a bit-exact
    output v not-covered
    output r not-covered
    output out not-covered
    gradient a not-shown
    gradient v not-covered
    gradient r bit-exact
    gradient out not-covered
    parameter w not-shown
    pattern r %s"""
    record("record-twice", 0, "VERIFIED", twice % 0, **(files | dict(model="record-twice.onnx", trace="record-twice.trace")))


def records_of_thirds(files):
    """Means of three: thirds, which round; and of terms that cancel the last number within the bound, and the next."""
    one_node("record-mean", helper.make_node("ReduceMean", ["a"], ["r"], "r", axes=[1], keepdims=1), columns=3)
    tensors_file("record-mean.parameters", {"w": floats([[1, 1, 1], [1, 1, 1]])})
    tensors_file("record-mean.gradients", {"w": floats(np.zeros((2, 3)).tolist())})
    batch("record-mean.npz", [[1, 0]])
    lines = """output a %s
    output r %s
    output out not-covered
    gradient a %s
    gradient r not-covered
    gradient out not-covered
    parameter w %s"""
    own = files | dict(model="record-mean.onnx", data="record-mean.npz", parameters="record-mean.parameters", gradients="record-mean.gradients")
    third = float(np.float32(7 / 3))
    last = largest_float(Fraction(9, 2 ** 24 - 9) * Fraction(2, 3) + Fraction(36, 2 ** 126))
    for k, (a, r, answer, reason) in enumerate([
            ([1, 2, 4], third, "bit-exact", "VERIFIED"), ([1, 2, 4], next_float(third), "bit-exact", "output r: not every entry"),
            ([1, 2, 4], next_float(third), "within", "VERIFIED"), ([1, -1, 0], last, "within", "VERIFIED"), ([1, -1, 0], -last, "within", "VERIFIED"),
            ([1, -1, 0], next_float(last), "within", "output r: an entry is farther")]):
        tensors_file(f"record-mean-{k}.trace", {"output/a": floats([a]), "output/r": floats([[r]])})
        record(f"record-mean-{k}", int(reason != "VERIFIED"), reason, lines % ("not-shown", answer, "not-covered", "not-covered"), proxies=(),
               **(own | dict(trace=f"record-mean-{k}.trace")))
    # what underflows: 6 roundings, each by four times the smallest normal number
    for k, (times, reason) in enumerate([(25, "VERIFIED"), (26, "output a: an entry is farther")]):
        batch("record-least.npz", [[0, 2.0 ** -126]])
        tensors_file(f"record-least-{k}.trace", {"output/a": floats([[times * 2.0 ** -126]])})
        record(f"record-least-{k}", k, reason, ONLY % "within", **(files | dict(data="record-least.npz", trace=f"record-least-{k}.trace")))


def next_float(a):
    return np.nextafter(np.float32(a), np.float32(np.inf))


def largest_float(bound):
    """The largest float32 that is no larger than a fraction."""
    near = np.float32(float(bound))
    while Fraction(float(near)) > bound:
        near = np.nextafter(near, np.float32(0))
    while Fraction(float(next_float(near))) <= bound:
        near = next_float(near)
    return float(near)


def records_with_narrow_factors(files):
    """Terms 1 and -1, whose factors were rounded first: the last number within their bound, and the next. What run.json says of them."""
    with open(path("run.json"), "w") as f:
        json.dump({"device": {"type": "cpu"}, "flags": {"precision": {"cpu": {"conv": "bf16", "matmul": "tf32"}}}}, f)
    total = helper.make_node("ReduceSum", ["r"], ["out"], "out", keepdims=0)
    save("record-narrow.onnx", [helper.make_node("Conv", ["x", "w"], ["a"], "a"), helper.make_node("Relu", ["a"], ["r"], "r"), total],
         ["N", 2, 1], [], dict(w=[[[1], [1]]]))
    batch("record-narrow-conv.npz", [[[1], [-1]]])
    batch("record-narrow.npz", [[1, -1]])
    tensors_file("record-narrow.parameters", {"w": floats([[[1], [1]]])})
    tensors_file("record-narrow.gradients", {"w": floats([[[0], [0]]])})
    run, conv, matmul = "run run.json HASH", "factors conv 1/256", "factors matmul 1/2048"
    of = {"matmul": files | dict(data="record-narrow.npz"), "conv": files | dict(
        model="record-narrow.onnx", data="record-narrow-conv.npz", parameters="record-narrow.parameters", gradients="record-narrow.gradients")}
    for kind, f in [("matmul", Fraction(1, 2048)), ("conv", Fraction(1, 256))]:
        taken = 2 * f * (2 + f)
        last = largest_float(taken + Fraction(6, 2 ** 24 - 6) * (2 + taken) + Fraction(24, 2 ** 126))
        own, other = (matmul, conv) if kind == "matmul" else (conv, matmul)
        farther = "output a: an entry is farther"
        for k, (value, lines, reason) in enumerate([
                (last, (own,), "VERIFIED"), (-last, (own,), "VERIFIED"), (last, (conv, matmul), "VERIFIED"), (next_float(last), (conv, matmul), farther),
                (-next_float(last), (own,), farther), (last if kind == "conv" else 2 * last, (other,), farther), (last, (), farther),
                (last, (own, own), "conv is expected, then matmul, each at most once"), (last, (matmul, conv), "conv is expected, then matmul, each at most once"),
                (last, (own.replace("/", "/2"),), "that is not what the line says"), (last, (own.split("1/")[0] + "1",), "that is not what the line says"),
                (last, (own.replace(kind, "relu"),), "conv is expected, then matmul, each at most once")]):
            name = f"record-narrow-{kind}-{k}"
            tensors_file(f"{name}.trace", {"output/a": floats(np.reshape(value, (1, 1) if kind == "matmul" else (1, 1, 1)).tolist())})
            record(name, int(reason != "VERIFIED"), reason, ONLY % "within", narrow=(run, *lines) if lines else (),
                   **(of[kind] | dict(trace=f"{name}.trace")))
    own = of["matmul"] | dict(trace="record-narrow-matmul-0.trace")
    record("record-narrow-none", 1, "'factors' is expected", ONLY % "within", narrow=(run,), **own)
    record("record-narrow-named", 1, "'run.json' is expected", ONLY % "within", narrow=(run.replace("run.json", "other.json"), matmul), **own)
    # backward, beside what exp hands back: u + 1 is 0
    save("record-narrow-exp.onnx", [helper.make_node("MatMul", ["x", "w"], ["a"], "a"), helper.make_node("MatMul", ["a", "u"], ["b"], "b"),
                                    helper.make_node("Exp", ["a"], ["e"], "e"), helper.make_node("Add", ["b", "e"], ["r"], "r"), total],
         ["N", 2], [], dict(w=[[1], [1]], u=[[-1]]))
    tensors_file("record-narrow-exp.parameters", {"w": floats([[1], [1]]), "u": floats([[-1]])})
    lines = "\n".join(["output a bit-exact", *(f"output {v} not-covered" for v in ("b", "e", "r", "out")), "gradient a within", "gradient b not-shown",
                       "gradient e not-shown", "gradient r not-covered", "gradient out not-covered", "parameter w not-shown"])
    taken = float(Fraction(1, 2048) * (2 + Fraction(1, 2048)))
    for k, (times, narrow, reason) in enumerate([(0.99, (run, matmul), "VERIFIED"), (-0.99, (run, matmul), "VERIFIED"), (0.99, (), "gradient a: an entry is farther"),
                                                 (1.01, (run, matmul), "gradient a: an entry is farther"), (-1.01, (run, matmul), "gradient a: an entry is farther")]):
        name = f"record-narrow-exp-{k}"
        tensors_file(f"{name}.trace", {"output/a": floats([[0]]), "gradient/b": floats([[1]]), "gradient/e": floats([[1]]), "gradient/a": floats([[times * taken]])})
        record(name, int(reason != "VERIFIED"), reason, lines, narrow=narrow, proxies=(), **(files | dict(
            model="record-narrow-exp.onnx", data="record-narrow.npz", parameters="record-narrow-exp.parameters", trace=f"{name}.trace")))


def records_without_rules(files):
    """A slope that is a weight; a number before a matrix; a constant that is no parameter. One slope on both sides has no kink."""
    total = helper.make_node("ReduceSum", ["r"], ["out"], "out", keepdims=0)
    product = helper.make_node("MatMul", ["x", "w"], ["a"], "a")
    tensors_file("record-rule.trace", {"output/a": floats([[3], [-1]]), "output/r": floats([[3], [-1]])})
    own = files | dict(trace="record-rule.trace")
    lines = ONLY % "bit-exact"
    ruled = lines.replace("output r not-covered", "output r bit-exact")
    save("record-even.onnx", [product, helper.make_node("LeakyRelu", ["a"], ["r"], "r", alpha=1.0), total], ["N", 2], [], dict(w=[[1], [1]]))
    even = ruled.replace("pattern r not-covered", "pattern r 0")
    for k, (text, status, reason) in enumerate([(even, 0, "VERIFIED"), (even.replace("r 0", "r 1\npart 0 1 other-side"), 1, "only 0 entries part")]):
        record(f"record-even-{k}", status, reason, text, proxies=("LeakyRelu 0 right",), **(own | dict(model="record-even.onnx")))
    save("record-slope.onnx", [product, helper.make_node("PRelu", ["a", "s"], ["r"], "r"), total], ["N", 2], [], dict(w=[[1], [1]], s=[1]))
    tensors_file("record-slope.parameters", {"w": floats([[1], [1]]), "s": floats([1])})
    for k, (text, status, reason) in enumerate([(lines, 0, "VERIFIED"), (ruled, 1, "output r: not every entry is the exact number"),
                                                (ruled.replace("r bit-exact", "r within"), 0, "VERIFIED")]):
        record(f"record-slope-{k}", status, reason, text, proxies=("PRelu 0 right",),
               **(own | dict(model="record-slope.onnx", parameters="record-slope.parameters")))
    save("record-alpha.onnx", [helper.make_node("Gemm", ["x", "w"], ["a"], "a", alpha=2.0), helper.make_node("Relu", ["a"], ["r"], "r"), total],
         ["N", 2], [], dict(w=[[1], [1]]))
    tensors_file("record-alpha.trace", {"output/a": floats([[6], [-2]])})
    record("record-alpha", 1, "output a: not every entry is the exact number", lines,
           **(own | dict(model="record-alpha.onnx", trace="record-alpha.trace")))
    save("record-number.onnx", [helper.make_node("Constant", [], ["k"], "k", value=numpy_helper.from_array(np.float32([1]), "k")),
                                helper.make_node("Neg", ["k"], ["n"], "n"), product, helper.make_node("Mul", ["a", "n"], ["r"], "r"), total],
         ["N", 2], [], dict(w=[[1], [1]]))
    tensors_file("record-number.trace", {"output/n": floats([-1]), "output/a": floats([[3], [-1]])})
    text = "output n %s\n" + lines.replace("gradient a", "gradient n not-covered\ngradient a").replace("\n    pattern r not-covered", "")
    for answer, status, reason in [("not-covered", 0, "VERIFIED"), ("bit-exact", 1, "output n: no rule covers it")]:
        record(f"record-number-{status}", status, reason, text % answer, proxies=(),
               **(own | dict(model="record-number.onnx", trace="record-number.trace")))
    # What comes back to an RNN's weights comes through both outputs: here all of it through the last state.
    save("record-states.onnx", [helper.make_node("RNN", ["x", "w", "u"], ["y", "h"], "y", hidden_size=1, activations=["Relu"]),
                                helper.make_node("Relu", ["h"], ["r"], "r"), total], [1, 1, 1], [], dict(w=[[[1]]], u=[[[1]]]))
    batch("record-states.npz", [[[[2]]]])
    tensors_file("record-states.parameters", {"w": floats([[[1]]]), "u": floats([[[1]]])})
    tensors_file("record-states.trace", {"output/y": floats([[[[2]]]]), "output/h": floats([[[2]]]), "output/r": floats([[[2]]]),
                                         "gradient/y": floats([[[[0]]]]), "gradient/h": floats([[[1]]]), "gradient/r": floats([[[1]]])})
    lines = """output y within
    output h not-covered
    output r not-covered
    output out not-covered
    gradient y not-covered
    gradient h not-covered
    gradient r bit-exact
    gradient out not-covered
    parameter w {0}
    parameter u not-covered
    pattern r not-covered"""
    for k, (weight, given, reason) in enumerate([("not-covered", 2, "VERIFIED"), ("within", 0, "parameter w: no rule covers it"),
                                                 ("within", 2, "parameter w: no rule covers it")]):
        tensors_file(f"record-states-{k}.gradients", {"w": floats([[[given]]]), "u": floats([[[0]]])})
        record(f"record-states-{k}", int(k > 0), reason, lines.format(weight), wrt="w u", model="record-states.onnx", data="record-states.npz",
               trace="record-states.trace", gradients=f"record-states-{k}.gradients", parameters="record-states.parameters")
    # Of equal entries amax gives each its part, max(dim) one all: of a ReduceMax there is no rule.
    save("record-largest.onnx", [helper.make_node("MatMul", ["x", "w"], ["a"], "a"), helper.make_node("ReduceMax", ["a"], ["r"], "r", axes=[1], keepdims=1),
                                 total], ["N", 2], [], dict(w=[[1, 1], [1, 1]]))
    tensors_file("record-largest.trace", {"output/a": floats([[3, 3], [-1, -1]]), "output/r": floats([[3], [-1]]),
                                          "gradient/a": floats([[1, 0], [1, 0]]), "gradient/r": floats([[1], [1]])})
    tensors_file("record-largest.gradients", {"w": floats([[4, 0], [-2, 0]])})
    tensors_file("record-largest.parameters", {"w": floats([[1, 1], [1, 1]])})
    lines = """output a bit-exact
    output r {0}
    output out not-covered
    gradient a {1}
    gradient r bit-exact
    gradient out not-covered
    parameter w bit-exact"""
    for k, (output, gradient, reason) in enumerate([("not-covered", "not-covered", "VERIFIED"), ("bit-exact", "not-covered", "output r: no rule covers it"),
                                                    ("not-covered", "bit-exact", "gradient a: no rule covers it")]):
        record(f"record-largest-{k}", int(k > 0), reason, lines.format(output, gradient), proxies=(), **(own | dict(
            model="record-largest.onnx", trace="record-largest.trace", gradients="record-largest.gradients", parameters="record-largest.parameters")))


def records_of_pools(files):
    """Of equal entries the first is the winner, in indices and, where there are none, in gradients."""
    save("record-pool.onnx", [helper.make_node("Conv", ["x", "w"], ["a"], "a"),
                              helper.make_node("MaxPool", ["a"], ["r"], "r", kernel_shape=[2], strides=[2]),
                              helper.make_node("ReduceSum", ["r"], ["out"], "out", keepdims=0)], ["N", 1, 2], [], dict(w=[[[1]]]))
    batch("record-pool.npz", [[[2, 2]]])
    tensors_file("record-pool.parameters", {"w": floats([[[1]]])})
    tensors_file("record-pool.gradients", {"w": floats([[[2]]])})
    lines = """output a bit-exact
    output r bit-exact
    output out not-covered
    indices r %s
    gradient a %s
    gradient r bit-exact
    gradient out not-covered
    parameter w bit-exact
    pattern r 0"""
    for k, (index, handed, first, second, status, reason) in enumerate([
            (0, [1, 0], "bit-exact", "bit-exact", 0, "VERIFIED"), (1, [0, 1], "bit-exact", "bit-exact", 1, "indices r: an entry is farther"),
            (1, [0, 1], "not-shown", "bit-exact", 0, "VERIFIED"), (1, [1, 0], "not-shown", "bit-exact", 1, "gradient a: an entry is farther"),
            (None, [1, 0], "not-covered", "bit-exact", 0, "VERIFIED"), (None, [0, 1], "not-covered", "bit-exact", 1, "gradient a: an entry is farther")]):
        given = {"output/a": floats([[[2, 2]]]), "output/r": floats([[[2]]]), "gradient/a": floats([[handed]]), "gradient/r": floats([[[1]]])}
        if index is not None:
            given["indices/r"] = ("I64", [1, 1, 1], struct.pack("<q", index))
        tensors_file(f"record-pool-{k}.trace", given)
        record(f"record-pool-{k}", status, reason, lines % (first, second), proxies=(), **(files | dict(
            model="record-pool.onnx", data="record-pool.npz", trace=f"record-pool-{k}.trace", gradients="record-pool.gradients",
            parameters="record-pool.parameters")))
    # a window that begins before the input: what it is padded with wins nothing, above all not from numbers below 0
    save("record-pad.onnx", [helper.make_node("Conv", ["x", "w"], ["a"], "a"),
                             helper.make_node("MaxPool", ["a"], ["r"], "r", kernel_shape=[2], pads=[1, 1]),
                             helper.make_node("ReduceSum", ["r"], ["out"], "out", keepdims=0)], ["N", 1, 2], [], dict(w=[[[1]]]))
    batch("record-pad.npz", [[[-1, -2]]])
    tensors_file("record-pad.gradients", {"w": floats([[[-4]]])})
    for k, (r, handed, reason) in enumerate([([-1, -1, -2], [2, 1], "VERIFIED"), ([0, -1, 0], [2, 1], "output r: an entry is farther"),
                                             ([-1, -1, -2], [1, 0], "gradient a: an entry is farther")]):
        tensors_file(f"record-pad-{k}.trace", {"output/a": floats([[[-1, -2]]]), "output/r": floats([[r]]), "gradient/a": floats([[handed]]),
                                               "gradient/r": floats([[[1, 1, 1]]])})
        record(f"record-pad-{k}", int(k > 0), reason, lines % ("not-covered", "bit-exact"), proxies=(), **(files | dict(
            model="record-pad.onnx", data="record-pad.npz", trace=f"record-pad-{k}.trace", gradients="record-pad.gradients",
            parameters="record-pool.parameters")))


def composed(name, node, weights, x, w, r, back, inside=(), forged=(), proxies=(), turned=("output/r", "gradient/a")):
    """r = node(x w), summed up. r, back: of the product its output and gradient in float64, as functions of the weights. A proof
    says `within` of both; forged: (what, its numbers) must fail. inside: other initializers of the node that are in wrt; turned: what is
    changed a little."""
    total = helper.make_node("ReduceSum", ["r"], ["out"], "out", keepdims=0)
    save(f"{name}.onnx", [helper.make_node("MatMul", ["x", "w"], ["a"], "a"), node, total], ["N", 2], [], dict(w=w, **weights))
    batch(f"{name}.npz", x)
    tensors_file(f"{name}.parameters", {k: floats(np.asarray(v).tolist()) for k, v in (dict(w=w) | weights).items()})
    a = np.asarray(x, np.float64) @ np.asarray(w, np.float64)
    made = {"output/a": a, "output/r": r(a), "gradient/r": np.ones_like(r(a)), "gradient/a": back(a)[0]}
    gradients = {"w": np.asarray(x, np.float64).T @ np.float32(back(a)[0]).astype(np.float64)} | dict(zip(inside, back(a)[1:]))
    files = dict(model=f"{name}.onnx", data=f"{name}.npz", parameters=f"{name}.parameters", trace=f"{name}.trace", gradients=f"{name}.gradients")
    tensors_file(f"{name}.gradients", {k: floats(np.float32(v).tolist()) for k, v in gradients.items()})
    tensors_file(f"{name}.trace", {k: floats(np.float32(v).tolist()) for k, v in made.items()})
    kinks = [] if node.op_type not in ("PRelu", "HardSwish", "HardSigmoid") else ["pattern r not-covered"]
    lines = "\n".join(["output a within", "output r within", "output out not-covered", "gradient a within", "gradient r within",
                       "gradient out not-covered", *(f"parameter {k} within" for k in ("w", *inside)), *kinks])
    named = dict(wrt=" ".join(("w", *inside)), proxies=proxies)
    record(name, 0, "VERIFIED", lines, **files, **named)
    record(f"{name}-exact", 1, "output r: not every entry is the exact number", lines.replace("output r within", "output r bit-exact"), **files, **named)
    changed = [(f"{name}-{k}", *f) for k, f in enumerate(forged)]
    for part in turned:  # its largest entry by a part in 2^12
        off = np.float32(made[part]).copy()
        off.reshape(-1)[np.argmax(np.abs(off))] *= np.float32(1 + 2.0 ** -12)
        changed.append((f"{name}-{part.split('/', maxsplit=1)[0]}", part, off))
    for own, part, values in changed:
        gone = part in gradients
        file = f"{own}.gradients" if gone else f"{own}.trace"
        kept = gradients if gone else made
        tensors_file(file, {k: floats(np.float32(values if k == part else v).tolist()) for k, v in kept.items()})
        what = f"parameter {part}" if gone else part.replace("/", " ")
        record(own, 1, f"{what}: an entry is farther", lines, **(files | {"gradients" if gone else "trace": file}), **named)


def records_of_composed_nodes(files):
    """Of a composed node a line says `within`: not of numbers off by more, of another epsilon, axis, statistic or slope at a kink."""
    x, w = [[1, 2], [3, -4], [-1, 0.5]], [[0.5, -0.25, 1], [0.75, 0.5, -1.5]]
    ones = np.ones(3)

    def softmax(a, axis=-1):
        e = np.exp(a - a.max(axis, keepdims=True))
        return e / e.sum(axis, keepdims=True)

    def normal(a, epsilon=1e-5, axis=-1):
        return (a - a.mean(axis, keepdims=True)) / np.sqrt(a.var(axis, keepdims=True) + epsilon)

    def normal_back(a, g, epsilon, axis=-1):
        y = normal(a, epsilon, axis)
        return (g - g.mean(axis, keepdims=True) - y * (y * g).mean(axis, keepdims=True)) / np.sqrt(a.var(axis, keepdims=True) + epsilon)

    a = np.asarray(x, np.float64) @ np.asarray(w, np.float64)
    sigmoid = 1 / (1 + np.exp(-a))
    composed("record-exp", helper.make_node("Exp", ["a"], ["r"], "r"), {}, x, w, np.exp, lambda a: [np.exp(a)], forged=[("gradient/a", np.ones_like(a))])
    composed("record-tanh", helper.make_node("Tanh", ["a"], ["r"], "r"), {}, x, w, np.tanh, lambda a: [1 - np.tanh(a) ** 2],
             forged=[("output/r", 2 * sigmoid - 1), ("gradient/a", sigmoid * (1 - sigmoid))])
    composed("record-logs", helper.make_node("LogSoftmax", ["a"], ["r"], "r", axis=1), {}, x, w, lambda a: np.log(softmax(a)),
             lambda a: [1 - 3 * softmax(a)], forged=[("output/r", np.log(softmax(a, 0))), ("gradient/a", 1 - 3 * softmax(a, 0)), ("output/r", softmax(a))])
    scale, bias = [1.5, -0.5, 0.25], [0.5, 1, -2]
    composed("record-layer", helper.make_node("LayerNormalization", ["a", "s", "b"], ["r"], "r", epsilon=1e-3), dict(s=scale, b=bias), x, w,
             lambda a: normal(a, 1e-3) * scale + bias, lambda a: [normal_back(a, np.tile(scale, (3, 1)), 1e-3), normal(a, 1e-3).sum(0), 3 * ones],
             inside=("s", "b"), forged=[
                 ("output/r", normal(a, 1e-5) * scale + bias), ("output/r", normal(a, 1e-3, 0) * scale + bias), ("output/r", normal(a, 1e-3) * scale),
                 ("gradient/a", normal_back(a, np.tile(scale, (3, 1)), 1e-5)), ("gradient/a", normal_back(a, np.tile(scale, (3, 1)), 1e-3, 0)),
                 ("s", normal(a, 1e-5).sum(0)), ("s", normal(a, 1e-3).sum(0) + 2.0 ** -12), ("b", 3 * ones + 2.0 ** -12)])
    mean, variance = np.asarray([0.5, 0.25, -1]), np.asarray([2, 0.5, 1.25])
    held = dict(s=scale, b=bias, m=mean.tolist(), v=variance.tolist())

    def still(a, m=mean, v=variance, epsilon=1e-5):
        return (a - m) / np.sqrt(v + epsilon)

    composed("record-batch", helper.make_node("BatchNormalization", ["a", "s", "b", "m", "v"], ["r"], "r", epsilon=1e-5), held, x, w,
             lambda a: still(a) * scale + bias, lambda a: [np.tile(scale / np.sqrt(variance + 1e-5), (3, 1)), still(a).sum(0), 3 * ones],
             inside=("s", "b"), forged=[
                 ("output/r", still(a, m=mean + 2.0 ** -10) * scale + bias), ("output/r", still(a, v=variance * (1 + 2.0 ** -9)) * scale + bias),
                 ("output/r", normal(a, 1e-5, 0) * scale + bias), ("gradient/a", np.tile(scale / np.sqrt(variance + 1e-3), (3, 1)))])
    composed("record-batches", helper.make_node("BatchNormalization", ["a", "s", "b", "m", "v"], ["r", "", ""], "r", epsilon=1e-5, training_mode=1),
             held, x, w, lambda a: normal(a, 1e-5, 0) * scale + bias,
             lambda a: [normal_back(a, np.tile(scale, (3, 1)), 1e-5, 0), normal(a, 1e-5, 0).sum(0), 3 * ones],
             inside=("s", "b"), turned=("output/r",), forged=[
                 ("output/r", still(a) * scale + bias), ("output/r", normal(a, 1e-5) * scale + bias),
                 ("gradient/a", np.tile(scale / np.sqrt(a.var(0) + 1e-5), (3, 1)))])
    composed("record-slopes", helper.make_node("PRelu", ["a", "s"], ["r"], "r"), dict(s=[0.3]), x, w, lambda a: np.where(a < 0, np.float32(0.3) * a, a),
             lambda a: [np.where(a < 0, np.float32(0.3), 1), [a[a < 0].sum()]], inside=("s",), proxies=("PRelu 0 right",),
             forged=[("gradient/a", np.where(a < 0, 0.3, -1)), ("s", [a[a > 0].sum()]), ("s", [a[a < 0].sum() * (1 + 2.0 ** -12)])])
    composed("record-over", helper.make_node("Reciprocal", ["a"], ["r"], "r"), {}, x, w,
             lambda a: 1 / a, lambda a: [-1 / a ** 2], forged=[("output/r", -1 / a), ("gradient/a", 1 / a ** 2)])
    slopes_that_are_enclosed(files)
    records_at_their_bound(files)
    # a view that was recorded as others: nobody knows what the node read
    save("record-exps.onnx", [helper.make_node("MatMul", ["x", "w"], ["a"], "a"), helper.make_node("Identity", ["a"], ["i"], "i"),
                              helper.make_node("Exp", ["i"], ["r"], "r"), helper.make_node("ReduceSum", ["r"], ["out"], "out", keepdims=0)],
         ["N", 2], [], dict(w=[[1], [1]]))
    lines = """output a bit-exact
    output i not-shown
    output r within
    output out not-covered
    gradient a not-covered
    gradient i not-covered
    gradient r within
    gradient out not-covered
    parameter w not-shown"""
    made = {"output/a": floats([[3], [-1]]), "output/r": floats(np.float32(np.exp([[3], [-1]])).tolist()), "gradient/r": floats([[1], [1]])}
    for k, (view, status, reason) in enumerate([([[3], [-1]], 0, "VERIFIED"), ([[3], [-2]], 1, "output r: no rule covers it")]):
        tensors_file(f"record-exps-{k}.trace", made | {"output/i": floats(view)})
        record(f"record-exps-{k}", status, reason, lines, proxies=(), **(files | dict(model="record-exps.onnx", trace=f"record-exps-{k}.trace")))


def records_at_their_bound(files):
    """1 / 3 and its bound in fractions: the last float32 that is within it, and the next."""
    save("record-third.onnx", [helper.make_node("MatMul", ["x", "w"], ["a"], "a"), helper.make_node("Reciprocal", ["a"], ["r"], "r"),
                               helper.make_node("ReduceSum", ["r"], ["out"], "out", keepdims=0)], ["N", 2], [], dict(w=[[1], [1]]))
    lines = (ONLY % "bit-exact").replace("output r not-covered", "output r within").replace("\n    pattern r not-covered", "")
    third, tiny = Fraction(1, 3), Fraction(1, 2 ** 126)
    bound = Fraction(16, 2 ** 24 - 16) * third + 64 * tiny
    last = int((third + bound) * 2 ** 25)  # between 1/4 and 1/2 neighbours are 2^-25 apart
    first = -int(-(third - bound) * 2 ** 25 // 1)
    batch("record-third.npz", [[1, 2], [1, 2]])
    own = files | dict(model="record-third.onnx", data="record-third.npz")
    for k, (at, status, reason) in enumerate([(last, 0, "VERIFIED"), (last + 1, 1, "output r: an entry is farther"), (first, 0, "VERIFIED"),
                                              (first - 1, 1, "output r: an entry is farther")]):
        tensors_file(f"record-third-{k}.trace", {"output/a": floats([[3], [3]]), "output/r": floats([[at * 2.0 ** -25], [1 / 3]])})
        record(f"record-third-{k}", status, reason, lines, proxies=(), **(own | dict(trace=f"record-third-{k}.trace")))


CHECKER = os.environ.get("CLARKE_CHECK", os.path.join(HERE, "..", "..", "build", "tools", "clarke-check"))


def accepted(name):
    return subprocess.run([CHECKER, path(name + ".proof"), "--data", DATA], capture_output=True, check=False).returncode == 0


def last_within(name, node, weights, x, w, part, at, r, back, wrt=("w",), output="F32"):
    """NAME-last: of what `node` makes of a = x w one entry of `part` (output/r, gradient/a or a parameter's name) is the largest float32 that the
    checker takes; NAME-next: the next. So no change of the bound goes unseen. r(a), back(a, g): in float64; g is 1, 2, -1, ... Where
    `output` is another type than F32, r is recorded in it, and judged before."""
    total = helper.make_node("ReduceSum", ["q"], ["out"], "out", keepdims=0)
    a = np.asarray(x, np.float64) @ np.asarray(w, np.float64)
    y = r(a)
    g = np.float64([[1, 2, -1, 0.5, -2, 3][(i + j) % 6] for i in range(y.shape[0]) for j in range(y.shape[1])]).reshape(y.shape)
    save(f"{name}.onnx", [helper.make_node("MatMul", ["x", "w"], ["a"], "a"), node, helper.make_node("Mul", ["r", "r"], ["q"], "q"), total], ["N", 2], [],
         dict(w=w, **weights))
    batch(f"{name}.npz", x)
    tensors_file(f"{name}.parameters", {k: floats(np.asarray(v).tolist()) for k, v in (dict(w=w) | weights).items()})
    made = {"output/a": a, "output/r": y, "gradient/r": g, "gradient/a": back(a, g)[0]}
    handed = dict(zip(wrt, [np.zeros(np.shape(w)), *back(a, g)[1:]]))

    def of(value, own):
        values = np.float32(handed[part] if part in handed else made[part])
        values.reshape(-1)[at] = value
        tensors_file(f"{own}.trace", {k: floats(np.float32(values if k == part else v).tolist(), output if k == "output/r" else "F32")
                                      for k, v in made.items()})
        tensors_file(f"{own}.gradients", {k: floats(np.float32(values if k == part else v).tolist()) for k, v in handed.items()})
        said = {"output a": "not-shown", "output r": "not-shown" if output == "F32" else "within", "gradient a": "not-shown", "gradient r": "not-shown"} | {
            f"parameter {k}": "not-shown" for k in wrt} | {part.replace("/", " ") if "/" in part else f"parameter {part}": "within"}
        lines = [f"output a {said['output a']}", f"output r {said['output r']}", "output q not-covered", "output out not-covered", f"gradient a {said['gradient a']}",
                 f"gradient r {said['gradient r']}", "gradient q not-covered", "gradient out not-covered", *(f"parameter {k} {said[f'parameter {k}']}" for k in wrt)]
        record(own, 0, "VERIFIED", "\n".join(lines), model=f"{name}.onnx", data=f"{name}.npz", trace=f"{own}.trace", gradients=f"{own}.gradients",
               parameters=f"{name}.parameters", wrt=" ".join(wrt), proxies=())
        INDEX.pop()
        return accepted(own)

    low = np.float32((handed[part] if part in handed else made[part]).reshape(-1)[at])
    high = low + np.float32(2.0 ** -6) * max(np.float32(1), abs(low))
    assert of(low, name + "-last") and not of(high, name + "-last"), name
    while next_float(low) < high:
        middle = np.float32((np.float64(low) + np.float64(high)) / 2)
        low, high = (middle, high) if of(middle, name + "-last") else (low, middle)
    of(low, name + "-last")
    INDEX.append(f"{name}-last.proof 0 VERIFIED")
    of(high, name + "-next")
    INDEX.append(f"{name}-next.proof 1 an entry is farther")


def records_at_their_last():
    """Entries that are 0, or nearly, of terms that are not, show a bound to many digits."""
    node = helper.make_node
    x, w = [[1, 2], [3, -4], [-1, 0.5]], [[0.5, -0.25, 1], [0.75, 0.5, -1.5]]

    def softmax(a):
        e = np.exp(a - a.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    def normal(a, axis, epsilon):
        return (a - a.mean(axis, keepdims=True)) / np.sqrt(a.var(axis, keepdims=True) + epsilon)

    def normal_back(a, g, axis, epsilon):
        y = normal(a, axis, epsilon)
        return (g - g.mean(axis, keepdims=True) - y * (y * g).mean(axis, keepdims=True)) / np.sqrt(a.var(axis, keepdims=True) + epsilon)

    sigmoid = lambda a: 1 / (1 + np.exp(-a))  # noqa: E731
    functions = {
        "softmax": (node("Softmax", ["a"], ["r"], "r", axis=1), {}, softmax, lambda a, g: [softmax(a) * (g - (softmax(a) * g).sum(-1, keepdims=True))]),
        "logs": (node("LogSoftmax", ["a"], ["r"], "r", axis=1), {}, lambda a: np.log(softmax(a)), lambda a, g: [g - softmax(a) * g.sum(-1, keepdims=True)]),
        "sigmoid": (node("Sigmoid", ["a"], ["r"], "r"), {}, sigmoid, lambda a, g: [sigmoid(a) * (1 - sigmoid(a)) * g]),
        "tanh": (node("Tanh", ["a"], ["r"], "r"), {}, np.tanh, lambda a, g: [(1 - np.tanh(a) ** 2) * g]),
        "exp": (node("Exp", ["a"], ["r"], "r"), {}, np.exp, lambda a, g: [np.exp(a) * g]),
    }
    for name, (one, weights, r, back) in functions.items():
        for part, at in [("output/r", 0), ("output/r", 4), ("gradient/a", 4)]:
            last_within(f"record-last-{name}-{part[0]}{at}", one, weights, x, w, part, at, r, back)
    softmaxes = functions["softmax"]
    last_within("record-last-small", softmaxes[0], {}, np.float64(x) / 64, w, "output/r", 0, *softmaxes[2:])
    for k in (0, 1):
        last_within(f"record-last-far-{k}", softmaxes[0], {}, [[1, 1], [1, 2]], [[1, -16384], [0, 0]], "output/r", k, *softmaxes[2:])
    last_within("record-last-far-logs", functions["logs"][0], {}, [[1, 1], [1, 2]], [[1, -16384], [0, 0]], "output/r", 1,
                lambda a: a - a.max(-1, keepdims=True), lambda a, g: [g])
    # of lines in which an entry is the mean, and of gradients that cancel
    x, w, scale, bias = [[1, 0], [0, 1], [1, 1]], [[-1, 0, 1], [0.5, -1, 0.5]], [1.5, -0.5, 0.25], [0, 0, 0]
    norms = {
        "layer": (node("LayerNormalization", ["a", "s", "b"], ["r"], "r", epsilon=1e-3), -1, 1e-3, {}),
        "batches": (node("BatchNormalization", ["a", "s", "b", "m", "v"], ["r", "", ""], "r", epsilon=1e-5, training_mode=1), 0, 1e-5,
                    dict(m=[0.5, 0.25, -1], v=[2, 0.5, 1.25])),
    }
    for name, (one, axis, epsilon, held) in norms.items():
        for part, at in [("output/r", 1), ("output/r", 0), ("gradient/a", 1), ("gradient/a", 5), ("s", 1), ("b", 0)]:
            last_within(f"record-last-{name}-{part[0]}{at}", one, dict(s=scale, b=bias, **held), x, w, part, at,
                        lambda a, axis=axis, epsilon=epsilon: normal(a, axis, epsilon) * scale + bias,
                        lambda a, g, axis=axis, epsilon=epsilon: [normal_back(a, g * scale, axis, epsilon), (normal(a, axis, epsilon) * g).sum(0), g.sum(0)],
                        wrt=("w", "s", "b"))
    one, axis, epsilon, held = norms["batches"]
    last_within("record-last-mixed", one, dict(s=scale, b=bias, **held), x, w, "gradient/a", 1, lambda a: normal(a, axis, epsilon) * scale + bias,
                lambda a, g: [normal_back(a, g * scale, axis, epsilon), (normal(a, axis, epsilon) * g).sum(0), g.sum(0)], wrt=("w", "s", "b"), output="F16")


def records_of_far_entries(files):
    """Of a softmax whose arguments were not recorded, an entry is far below the largest where its own size has a bound in the type."""
    lines = """output a within
    output m not-covered
    output r %s
    output out not-covered
    gradient a not-covered
    gradient m not-covered
    gradient r not-covered
    gradient out not-covered
    parameter w not-covered"""
    batch("record-far.npz", [[1]])
    tensors_file("record-far.gradients", {"w": floats([[0, 0]])})
    own = files | dict(data="record-far.npz", gradients="record-far.gradients")
    for k, (dtype, by, share, answer, reason) in enumerate([
            ("F16", -1000, [1, 0], "within", "VERIFIED"), ("F16", -1000, [1, 2.0 ** -12], "within", "output r: an entry is farther"),
            ("F16", -16384, [1, 0], "within", "of 2 entries no bound is known"), ("F16", -16384, [1, 0], "where-bounded", "but for 2 without a bound"),
            ("F32", -16384, [1, 0], "within", "VERIFIED")]):
        name = f"record-far-{k}"
        save(f"{name}.onnx", [helper.make_node("MatMul", ["x", "w"], ["a"], "a"), helper.make_node("Mul", ["a", "c"], ["m"], "m"),
                              helper.make_node("Softmax", ["m"], ["r"], "r", axis=1), helper.make_node("ReduceSum", ["r"], ["out"], "out", keepdims=0)],
             ["N", 1], [], dict(w=[[1, 1]], c=[1, by]))
        tensors_file(f"{name}.parameters", {"w": floats([[1, 1]]), "c": floats([1, by])})
        tensors_file(f"{name}.trace", {"output/a": floats([[1, 1]], dtype), "output/r": floats([share], dtype)})
        record(name, int("VERIFIED" != reason and answer == "within"), reason, lines % answer, proxies=(),
               **(own | dict(model=f"{name}.onnx", trace=f"{name}.trace", parameters=f"{name}.parameters")))


def records_of_large_roots(files):
    """Of a line of zeros over a small epsilon's root the value is 0, but in float16 no bound is known: doubles, which do not know the root, leave
    that open. (Of float32 there is one.)"""
    save("record-root.onnx", [helper.make_node("MatMul", ["x", "w"], ["a"], "a"),
                              helper.make_node("LayerNormalization", ["a", "s", "b"], ["r"], "r", epsilon=1e-36),
                              helper.make_node("ReduceSum", ["r"], ["out"], "out", keepdims=0)], ["N", 1], [], dict(w=[[1, 1]], s=[1, 1], b=[0, 0]))
    batch("record-root.npz", [[0]])
    tensors_file("record-root.parameters", {"w": floats([[1, 1]]), "s": floats([1, 1]), "b": floats([0, 0])})
    tensors_file("record-root.gradients", {"w": floats([[0, 0]])})
    lines = (ONLY % "bit-exact").replace("output r not-covered", "output r within").replace("\n    pattern r not-covered", "")
    own = files | dict(model="record-root.onnx", data="record-root.npz", gradients="record-root.gradients", parameters="record-root.parameters")
    for dtype, status, reason in [("F16", 1, "output r: of 2 entries no bound is known"), ("F32", 0, "VERIFIED")]:
        name = f"record-root-{dtype.lower()}"
        tensors_file(f"{name}.trace", {"output/a": floats([[0, 0]], dtype), "output/r": floats([[0, 0]], dtype)})
        record(name, status, reason, lines, proxies=(), **(own | dict(trace=f"{name}.trace")))


def records_of_cross_entropy(files):
    """The loss's own gradient, and the logarithm of a softmax that the model's loss begins with: of other labels, of another scale."""
    x, w, labels = [[1, 2], [3, -4]], [[0.5, -0.25, 1], [0.75, 0.5, -1.5]], [2, 0]
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"], "a"), helper.make_node("LogSoftmax", ["a"], ["l"], "l", axis=1),
             helper.make_node("NegativeLogLikelihoodLoss", ["l", "y"], ["out"], "out")]
    w32 = {k: numpy_helper.from_array(np.asarray(v, np.float32), k) for k, v in dict(w=w).items()}
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 2]),
                                           helper.make_tensor_value_info("y", TensorProto.INT64, ["N"])],
                              [helper.make_tensor_value_info("out", TensorProto.FLOAT, [])], list(w32.values()))
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path("record-ce.onnx"))
    with open(path("record-ce.npz"), "wb") as f:
        np.savez(f, x=np.float32(x), y=np.int64(labels))
    tensors_file("record-ce.parameters", {"w": floats(w)})
    a = np.asarray(x, np.float64) @ np.asarray(w, np.float64)
    log = a - np.log(np.exp(a).sum(1, keepdims=True))
    one = np.zeros_like(a)
    one[[0, 1], labels] = 1
    back = (np.exp(log) - one) / 2
    made = {"output/a": a, "output/l": log, "gradient/l": -one / 2, "gradient/a": back}
    lines = """output a within
    output l within
    output out not-covered
    gradient a within
    gradient l bit-exact
    gradient out not-covered
    parameter w within"""
    turned = one[::-1]
    for k, (part, values, reason) in enumerate([
            (None, None, "VERIFIED"), ("output/l", log * (1 + 2.0 ** -12), "output l: an entry is farther"),
            ("output/l", np.exp(log), "output l: an entry is farther"), ("gradient/l", -turned / 2, "gradient l: an entry is farther"),
            ("gradient/l", -one, "gradient l: an entry is farther"), ("gradient/a", (np.exp(log) - turned) / 2, "gradient a: an entry is farther"),
            ("gradient/a", back * 2, "gradient a: an entry is farther"), ("gradient/a", back * (1 + 2.0 ** -12), "gradient a: an entry is farther"),
            ("output/l", log[:1], "does not have the shape"),
            # what the loss itself makes is no logarithm's: no rule covers it
            ("output/out", -log[[0, 1], labels].mean(), "VERIFIED"), ("gradient/out", np.float32(1), "VERIFIED")]):
        name = f"record-ce-{k}"
        given = {p: floats(np.float32(v).tolist()) for p, v in (made | ({part: values} if part else {})).items()}
        tensors_file(f"{name}.trace", given)
        tensors_file(f"{name}.gradients", {"w": floats(np.float32(np.asarray(x).T @ np.float32(back).astype(np.float64)).tolist())})
        written(name, int(reason != "VERIFIED"), reason, "\n".join(
            ["claim record", *(f"{n} {f} {sha(f)}" for n, f in [("model", "record-ce.onnx"), ("params", "record-ce.parameters"), ("batch", "record-ce.npz"),
                                                                ("trace", f"{name}.trace"), ("gradients", f"{name}.gradients")]),
             "loss ce", "scale 1", "wrt w", "profile pytorch-2.13", *(line.strip() for line in lines.split("\n"))]))


def records_of_means():
    """The gradient of a mean of squares, in an output that only moves what was recorded: of the same numbers, of others, of none."""
    save("record-mse.onnx", [helper.make_node("MatMul", ["x", "w"], ["a"], "a"), helper.make_node("Identity", ["a"], ["out"], "out")], ["N", 2], ["N", 1],
         dict(w=[[1], [1]]))
    batch("record-mse.npz", [[1, 2], [3, -4]], np.float32([[1], [1]]))
    made = {"output/a": [[3], [-1]], "output/out": [[3], [-1]], "gradient/out": [[2], [-2]], "gradient/a": [[2], [-2]]}
    lines = """output a {0}
    output out {1}
    gradient a {2}
    gradient out {3}
    parameter w {2}"""
    exact, none = "bit-exact", "not-shown"
    for k, (changed, said, reason) in enumerate([
            ({}, (exact, exact, exact, exact), "VERIFIED"), ({"gradient/out": [[1], [-1]]}, (exact, exact, none, exact), "gradient out: an entry is farther"),
            ({"output/out": [[3], [0]]}, (exact, none, none, exact), "gradient out: no rule covers it"),
            ({"output/a": None}, (none, none, none, exact), "gradient out: no rule covers it")]):
        given = {p: floats(v) for p, v in (made | changed).items() if v is not None}
        tensors_file(f"record-mse-{k}.trace", given)
        files = [("model", "record-mse.onnx"), ("params", "record.parameters"), ("batch", "record-mse.npz"), ("trace", f"record-mse-{k}.trace"),
                 ("gradients", "record-mse.gradients")]
        tensors_file("record-mse.gradients", {"w": floats([[-4], [12]])})
        written(f"record-mse-{k}", int(k > 0), reason, "\n".join(
            ["claim record", *(f"{n} {f} {sha(f)}" for n, f in files), "loss mse", "scale 1", "wrt w", "profile pytorch-2.13",
             *(line.strip() for line in lines.format(*said).split("\n"))]))


ONLY = """output a %s
    output r not-covered
    output out not-covered
    gradient a not-covered
    gradient r not-covered
    gradient out not-covered
    parameter w not-covered
    pattern r not-covered"""


def records_in_types(files):
    """1 + d of which the neighbours are recorded: rounded once, to even; within the bound, 6 roundings of two terms; and beyond it."""
    for dtype, bits in [("F16", 11), ("BF16", 8), ("F32", 24), ("F64", 53)]:
        unit = 2.0 ** (1 - bits)  # between neighbours above 1
        x, kept = [1, unit / 2], np.float64 if dtype == "F64" else np.float32
        name = f"record-{dtype.lower()}"
        batch_of(name + ".npz", [x], kept)
        own = files | dict(data=name + ".npz", trace=name + ".trace")
        reach = int(Fraction(6, 2 ** bits - 6) * (1 + Fraction(unit) / 2) / Fraction(unit) + Fraction(1, 2))  # units above 1
        for k, (status, reason, value, answer) in enumerate([
                (0, "VERIFIED", 1, "bit-exact"), (1, "rounded once", 1 + unit, "bit-exact"), (1, "rounded once", 1 - unit / 2, "bit-exact"),
                (0, "VERIFIED", 1 + unit, "within"), (0, "VERIFIED", 1 + reach * unit, "within"),
                (1, "farther", 1 + (reach + 1) * unit, "within"), (1, "farther", 1 - 8 * unit, "within"), (1, "farther", -1, "within")]):
            tensors_file(f"{name}-{k}.trace", {"output/a": floats([[value]], dtype)})
            record(f"{name}-{k}", status, reason, ONLY % answer, **(own | dict(trace=f"{name}-{k}.trace")))
        # below a power of two neighbours are half as far away
        batch_of(f"{name}-power.npz", [[1, -3 * unit / 8]], kept)
        for k, (status, reason, value) in enumerate([(0, "VERIFIED", 1 - unit / 2), (1, "rounded once", 1)]):
            tensors_file(f"{name}-power-{k}.trace", {"output/a": floats([[value]], dtype)})
            record(f"{name}-power-{k}", status, reason, ONLY % "bit-exact",
                   **(files | dict(data=f"{name}-power.npz", trace=f"{name}-power-{k}.trace")))
    # what is subnormal may be read as 0 (of float16 it may not), and what underflows be 0
    for k, (dtype, x, value, status, reason, answer) in enumerate([
            ("F32", [1, 2.0 ** -130], 1, 0, "VERIFIED", "bit-exact"), ("F32", [0, 2.0 ** -130], 0, 0, "VERIFIED", "within"),
            ("F32", [0, 2.0 ** -130], 0, 1, "rounded once", "bit-exact"), ("F32", [0, 2.0 ** -130], 2.0 ** -130, 0, "VERIFIED", "bit-exact"),
            ("F32", [0, 2.0 ** -130], 2.0 ** -120, 1, "farther", "within"), ("F16", [0, 2.0 ** -20], 0, 0, "VERIFIED", "within"),
            ("F16", [0, 2.0 ** -18], 0, 1, "farther", "within"), ("F32", [2.0 ** 127, 0], 2.0 ** 127 * (1 - 2.0 ** -24), 1, "of 1 entries no bound is known", "within"),
            ("F32", [2.0 ** 126, 0], 2.0 ** 126 * (1 - 2.0 ** -24), 0, "VERIFIED", "within"),
            ("F32", [2.0 ** 127, 0], 2.0 ** 127 * (1 - 2.0 ** -24), 0, "but for 1 without a bound", "where-bounded"),
            ("F32", [0, 2.0 ** -130], 2.0 ** -120, 1, "farther", "where-bounded"), ("F32", [0, 2.0 ** -130], 2.0 ** -120, 1, "farther", "not-covered"),
            ("F32", [0, 2.0 ** -130], 2.0 ** -120, 0, "output a, 1 of F32: not shown", "not-shown"), ("F32", [0, 2.0 ** -130], 0, 0, "within the bound", "where-bounded"),
            ("F32", [0, 0], 2.0 ** -149, 1, "farther", "within")]):
        name = f"record-small-{k}"
        batch(name + ".npz", [x])
        tensors_file(name + ".trace", {"output/a": floats([[value]], dtype)})
        record(name, status, reason, ONLY % answer, **(files | dict(data=name + ".npz", trace=name + ".trace")))


def records_of_long_sums(files):
    """Of 124 terms or more bfloat16 has no bound; what is rounded once has none to ask for."""
    for n, status in [(123, 0), (124, 1)]:
        name = f"record-long-{n}"
        save(name + ".onnx", [helper.make_node("MatMul", ["x", "w"], ["a"], "a"), helper.make_node("Relu", ["a"], ["r"], "r"),
                              helper.make_node("ReduceSum", ["r"], ["out"], "out", keepdims=0)], ["N", n], [], dict(w=np.ones((n, 1))))
        batch(name + ".npz", np.ones((1, n)))
        tensors_file(name + ".parameters", {"w": floats(np.ones((n, 1)))})
        tensors_file(name + ".gradients", {"w": floats(np.zeros((n, 1)))})
        own = files | dict(model=name + ".onnx", data=name + ".npz", parameters=name + ".parameters", gradients=name + ".gradients")
        for k, (value, answer, result) in enumerate([(n, "bit-exact", 0), (n + 1, "within", status)]):
            tensors_file(f"{name}-{k}.trace", {"output/a": floats([[value]], "BF16")})
            record(f"{name}-{k}", result, "no bound is known" if result else "VERIFIED", ONLY % answer, **(own | dict(trace=f"{name}-{k}.trace")))


def extremes():
    """The largest, or smallest, of w and v, both 0; of w's entries: rules go by names of their own."""
    base = dict(data="extreme.npz", touched=1, proxies=[])
    batch("extreme.npz", [[1, 1]])
    column_of = [helper.make_node("Mul", ["x", "w"], ["y"], "y")]
    for op, name in (("Max", "Maximum"), ("Min", "Minimum"), ("ReduceMax", "ReduceMax"), ("ReduceMin", "ReduceMin")):
        pair, low = not op.startswith("R"), "-" if op.endswith("Min") else ""
        nodes = column_of + ([helper.make_node(op, ["y", "v"], ["out"], "top")] if pair else
                             [helper.make_node(op, ["y"], ["out"], "top", axes=[1])])
        model = f"extreme-{op.lower()}.onnx"
        save(model, nodes, ["N", 2], None, dict(w=[0, 1], v=[0, 5]) if pair else dict(w=[0, 0]))
        to = ("w at 0", "v at 0") if pair else ("w at 0", "w at 1")
        move = [f"directions 1\ndirection\nmove {t} {low}1" for t in to]
        ad = f"evidence ad\ncell ad\n{move[0]}"
        hull = f"evidence hull 2\ncell 1/2 a\n{move[0]}\ncell 1/2 b\n{move[1]}"
        own = dict(base, model=model, evidence=ad, verdict="in-bouligand")
        case(f"extreme-{op.lower()}", 0, "VERIFIED", tie=f"tie {name} first", **own)
        case(f"extreme-{op.lower()}-last", 1, "wrong side", tie=f"tie {name} last", **own)
        case(f"extreme-{op.lower()}-ad-mean", 1, "gives it no side", tie=f"tie {name} mean", **own)
        case(f"extreme-{op.lower()}-other", 1, f"the tie rule of {name} is expected", tie="tie MaxPool first", **own)
        case(f"extreme-{op.lower()}-mean", 0, "VERIFIED", tie=f"tie {name} mean", **{**own, "evidence": hull, "verdict": "in-clarke"})
        case(f"extreme-{op.lower()}-hull", 1, "is not AD's output", tie=f"tie {name} hybrid 1/2", **{**own, "evidence": hull, "verdict": "in-clarke"})
    save("extreme-three.onnx", column_of + [helper.make_node("Min", ["u", "y", "v"], ["out"], "top")], ["N", 2], None,
         dict(w=[0, 1], v=[0, 5], u=[0, 9]))
    downs = [f"directions 1\ndirection\nmove {t} at 0 -1" for t in "uwv"]
    own = dict(base, model="extreme-three.onnx", verdict="in-bouligand")
    case("extreme-three", 0, "VERIFIED", tie="tie Minimum first", **{**own, "evidence": f"evidence ad\ncell ad\n{downs[0]}"})
    case("extreme-three-last", 0, "VERIFIED", tie="tie Minimum last", **{**own, "evidence": f"evidence ad\ncell ad\n{downs[2]}"})
    case("extreme-three-order", 1, "wrong side", tie="tie Minimum first", **{**own, "evidence": f"evidence ad\ncell ad\n{downs[1]}"})
    third = "evidence hull 3\n" + "\n".join(f"cell 1/3 {o}\n{d}" for o, d in zip("abc", downs))
    case("extreme-three-mean", 0, "VERIFIED", tie="tie Minimum mean", **{**own, "evidence": third, "verdict": "in-clarke"})
    # as two nodes of two would share it
    nested = "evidence hull 3\n" + "\n".join(f"cell {q} {o}\n{d}" for q, o, d in zip(("1/4", "1/4", "1/2"), "abc", downs))
    case("extreme-three-nested", 1, "is not AD's output", tie="tie Minimum mean", **{**own, "evidence": nested, "verdict": "in-clarke"})
    save("extreme-batch.onnx", column_of + [helper.make_node("ReduceMax", ["y"], ["out"], "top", axes=[0])], ["N", 2], None, dict(w=[0, 0]))
    case("extreme-batch", 2, "the batch axis would be mixed", tie="tie ReduceMax first", evidence=ad, verdict="in-bouligand",
         model="extreme-batch.onnx", **base)
    # of all entries, without axes
    save_run("extreme-run.onnx", [helper.make_node("Lift", ["w"], ["a"], "lift", domain="clarke"),
                                  helper.make_node("ReduceMax", ["a"], ["m"], "top", keepdims=0), helper.make_node("Mul", ["x", "w"], ["c"], "times"),
                                  helper.make_node("Add", ["c", "m"], ["f"], "plus"),
                                  helper.make_node("ReduceSum", ["f"], ["loss"], "sum", keepdims=0)], {"w": [0, 0]})
    case("extreme-run", 0, "VERIFIED", tie="tie ReduceMax first", verdict="in-bouligand", touched=1, proxies=[], data="run.npz",
         model="extreme-run.onnx", evidence="evidence ad\ncell ad\ndirections 1\ndirection\nmove w at 0 1")


def sorts():
    """w's two entries, both 0, or three, sorted: of equal ones the first comes first. The largest is w's first, whatever the order."""
    batch("sort.npz", [[1, 1]])
    two = helper.make_node("Constant", [], ["k"], value=numpy_helper.from_array(np.array([2], np.int64)))
    one = helper.make_node("Constant", [], ["k"], value=numpy_helper.from_array(np.array([1], np.int64)))
    times = helper.make_node("Mul", ["x", "w"], ["y"], "y")
    weigh = helper.make_node("Mul", ["s", "v"], ["out"], "v")
    sort = lambda k, more, op="TopK", outputs=("s",): [k, times, helper.make_node(op, ["y", "k"], list(outputs), "sort", **more), weigh]  # noqa: E731
    move = lambda up, down: f"directions 1\ndirection\nmove w at 0 {up}\nmove w at 1 {down}"  # noqa: E731
    base = dict(data="sort.npz", proxies=[], verdict="in-bouligand", tie="tie TopK first")
    for name, more, first, last in (("sort-down", {}, 1, -1), ("sort-up", dict(largest=0), -1, 1)):
        save(f"{name}.onnx", sort(two, more, outputs=("s", "places")), ["N", 2], None, dict(w=[0, 0], v=[3, 1]))
        own = dict(base, model=f"{name}.onnx", touched=2)
        case(name, 0, "VERIFIED", evidence=f"evidence ad\ncell ad\n{move(first, last)}", **own)
        case(f"{name}-turned", 1, "wrong side", evidence=f"evidence ad\ncell ad\n{move(last, first)}", **own)
        case(f"{name}-last", 1, "unknown tie rule 'last'", evidence=f"evidence ad\ncell ad\n{move(last, first)}", **{**own, "tie": "tie TopK last"})
        case(f"{name}-mean", 1, "unknown tie rule 'mean'", evidence=f"evidence ad\ncell ad\n{move(last, first)}", **{**own, "tie": "tie TopK mean"})
        case(f"{name}-hybrid", 1, "unknown tie rule 'hybrid'", evidence=f"evidence ad\ncell ad\n{move(first, last)}",
             **{**own, "tie": "tie TopK hybrid 0"})
        case(f"{name}-kinks", 1, "touched", evidence=f"evidence ad\ncell ad\n{move(first, last)}", **{**own, "touched": 1})
    save("sort-one.onnx", sort(one, {}), ["N", 2], None, dict(w=[0, 0], v=[3]))
    case("sort-one", 0, "VERIFIED", model="sort-one.onnx", touched=1, evidence="evidence ad\ncell ad\ndirections 1\ndirection\nmove w at 0 1", **base)
    # identical entries, sorted, are no ties that count; of minus them too
    batch("sort-same.npz", [[1, 1, 1]])
    same = [helper.make_node("Constant", [], ["k"], value=numpy_helper.from_array(np.array([3], np.int64))), times,
            helper.make_node("TopK", ["y", "k"], ["s"], "sort"), helper.make_node("Neg", ["s"], ["n"], "n"),
            helper.make_node("TopK", ["n", "k"], ["out"], "again", largest=0)]
    save("sort-same.onnx", same, ["N", 3], None, dict(w=[1]))
    case("sort-same", 0, "VERIFIED", model="sort-same.onnx", touched=0, evidence="evidence ad\ncell ad\ndirections 0", **{**base, "data": "sort-same.npz"})
    for name, says, nodes, n in (
            ("sort-batch", "the batch axis would be mixed", sort(two, dict(axis=0)), 2),
            ("sort-many", "k is not from 1 to the number of entries", sort(two, {}), 1),
            ("sort-unsorted", "sorted is 0", sort(two, dict(sorted=0)), 2),
            ("sort-own", "of another domain", sort(two, {}, "Sorted"), 2),
            ("sort-long", "not 1 to 126 entries", sort(two, {}), 127),
            ("sort-places", "an input is not computed before it",
             sort(two, {}, outputs=("u", "places"))[:3] + [helper.make_node("Cast", ["places"], ["f"], to=1), helper.make_node("Mul", ["f", "v"], ["out"], "v")], 2)):
        save(f"{name}.onnx", nodes, ["N", n], None, dict(w=np.zeros(n), v=[3, 1]))
        batch(f"{name}.npz", np.ones((1, n)))
        case(name, 2, says, model=f"{name}.onnx", touched=2, evidence="evidence ad\ncell ad\ndirections 0", **{**base, "data": f"{name}.npz"})


def expanded():
    """abs(w) for both samples, then abs(x): a class token at 0. Its cells are w > 0 and w < 0, of both samples."""
    batch("expanded.npz", [[1], [2]])
    value = lambda *v: numpy_helper.from_array(np.array(v, np.int64))  # noqa: E731
    spread = [helper.make_node("Expand", ["w", "n"], ["t"], "spread")]
    models = (("expanded", spread, (2, 1), [0]), ("expanded-one", spread, (1, 1), [0]), ("expanded-three", spread, (3, 1), [0]),
              ("expanded-each", [helper.make_node("Identity", ["w"], ["t"], "same")], (1,), [[0], [0]]),
              ("expanded-batch", [helper.make_node("Tile", ["x", "n"], ["t"], "again")], (2, 1), [0]))
    for name, nodes, shape, w in models:
        save(f"{name}.onnx", [helper.make_node("Constant", [], ["n"], value=value(*shape))] + nodes +
             [helper.make_node("Concat", ["t", "x"], ["y"], "row", axis=1), helper.make_node("Abs", ["y"], ["out"], "rho")],
             ["N", 1], None, dict(w=w))
    up, down = (f"directions 1\ndirection\nmove w at 0 {s}" for s in (1, -1))
    base = dict(data="expanded.npz", model="expanded.onnx", touched=2, proxies=["Abs 0 0"], verdict="in-clarke")
    case("expanded", 0, "VERIFIED", evidence=f"evidence hull 2\ncell 1/2 ++\n{up}\ncell 1/2 --\n{down}", **base)
    case("expanded-uneven", 1, "is not AD's output", evidence=f"evidence hull 2\ncell 1/3 ++\n{up}\ncell 2/3 --\n{down}", **base)
    case("expanded-ad", 1, "wrong side", evidence=f"evidence ad\ncell ad\n{down}",
         **{**base, "verdict": "in-bouligand", "proxies": ["Abs 0 1"]})
    # The same token by the shape that the file computes; what it must not be.
    number = lambda name, v: helper.make_node("Constant", [], [name], value=value(*v))  # noqa: E731
    whole = lambda name: helper.make_node("Cast", [name], ["n"], to=7)  # noqa: E731
    of = [helper.make_node("Shape", ["x"], ["s"]), number("k", [1]), number("z", [0]), number("m", [-1]), number("h", [1 << 62])]
    for name, more, status, reason in (
            ("computed", [helper.make_node("Mul", ["s", "k"], ["n"])], 0, "VERIFIED"),
            ("computed-more", [helper.make_node("Add", ["s", "k"], ["n"])], 2, "a constant, which has not the axis of all samples"),
            ("computed-none", [helper.make_node("Mod", ["s", "z"], ["n"])], 2, "a negative number is divided, or by none above 0"),
            ("computed-minus", [helper.make_node("Div", ["m", "k"], ["n"])], 2, "a negative number is divided, or by none above 0"),
            ("computed-large", [helper.make_node("Mul", ["s", "h"], ["u"]), helper.make_node("Mul", ["u", "s"], ["n"])], 2, "no integer of the type"),
            ("computed-compared", [helper.make_node("Equal", ["x", "w"], ["e"]), whole("e")], 2, "a constant list of integers is missing"),
            ("computed-float", [helper.make_node("Cast", ["s"], ["n"], to=1)], 2, "input 'n' is FLOAT, which ONNX does not allow there"),
            ("computed-parameter", [helper.make_node("Cast", ["w"], ["n"], to=1)], 2, "input 'n' is FLOAT, which ONNX does not allow there"),
            ("computed-half", [helper.make_node("Cast", ["s"], ["e"], to=10), whole("e")], 0, "VERIFIED"),
            ("computed-root", [helper.make_node("Cast", ["m"], ["f"], to=1), helper.make_node("Sqrt", ["f"], ["e"]), whole("e")], 2, "the root of a negative number"),
            ("computed-zero", [helper.make_node("Cast", ["z"], ["f"], to=1), helper.make_node("Div", ["f", "f"], ["e"]), whole("e")], 2, "division by zero"),
            ("computed-tiny", [helper.make_node("Constant", [], ["f"], value=numpy_helper.from_array(np.float32(2.0 ** -100))),
                               helper.make_node("Cast", ["h"], ["g"], to=1), helper.make_node("Div", ["f", "g"], ["e"]), whole("e")], 2,
             "no number of its type of floats, or one below its normal numbers"),
            ("computed-empty", [helper.make_node("Shape", ["x"], ["n"], start=2)], 2, "no axes"),
            ("computed-filled", [helper.make_node("ConstantOfShape", ["k"], ["n"])], 2, "input 'n' is FLOAT, which ONNX does not allow there")):
        save(f"expanded-{name}.onnx", of + more + spread + [helper.make_node("Concat", ["t", "x"], ["y"], "row", axis=1),
                                                           helper.make_node("Abs", ["y"], ["out"], "rho")], ["N", 1], None, dict(w=[0]))
        case(f"expanded-{name}", status, reason, evidence=f"evidence hull 2\ncell 1/2 ++\n{up}\ncell 1/2 --\n{down}",
             **{**base, "model": f"expanded-{name}.onnx"})
    for name in ("one", "three", "each"):
        case(f"expanded-{name}", 2, "a constant, which has not the axis of all samples", evidence=NOTHING, **{**base, "model": f"expanded-{name}.onnx"})
    case("expanded-batch", 2, "the batch axis would be repeated", evidence=NOTHING, **{**base, "model": "expanded-batch.onnx"})


def recurrent():
    """One unit of relu over two times, then from the last to the first: h = relu(w x + r h), x = (1, 0), w = (0, 2), r = (1, 1). Forward
    both arguments are 0: h is relu(w), then relu(r relu(w)), whose gradients in w are 0 and 2. Backward h is 0, at a kink, and 2."""
    batch("recurrent.npz", [[[1], [0]]])

    def net(name, op="RNN", inputs=("t", "w", "r"), wrt=(), outputs=("y",), more=(), integers=None, perm=(1, 0, 2), x=("N", 2, 1),
            before=(), opset=17, w=((0,), (2,)), tail=None, **attributes):
        save(f"{name}.onnx", [helper.make_node("Transpose", ["x"], ["t"], "turn", perm=perm), *before,
                              helper.make_node(op, inputs, list(outputs), "again", **attributes), *more] +
             (tail or [helper.make_node("Transpose", ["y"], ["z"], "back", perm=[2, 0, 1, 3]),
                       helper.make_node("Flatten", ["z"], ["out"], "flat")]),
             list(x), None, {**dict(w=np.reshape(w, (2, 1, 1)), r=[[[1]], [[1]]]), **dict(wrt)}, opset, integers)

    both = dict(direction="bidirectional", activations=["Relu", "Relu"])
    net("recurrent", **both)
    base = dict(data="recurrent.npz", model="recurrent.onnx", touched=3, proxies=["Relu 0 0"], verdict="in-bouligand")
    # Touch 2 is the backward layer's at x = 0: w 0 + r 0, which rests.
    down, up = (f"directions 1\ndirection\nmove w at 0 {s}" for s in (-1, 1))
    case("recurrent", 0, "VERIFIED", evidence=f"evidence ad\ncell ad\n{down}", **base)
    case("recurrent-up", 1, "moves to the wrong side", evidence=f"evidence ad\ncell ad\n{up}", **base)
    case("recurrent-none", 1, "no direction moves touched kink 0", evidence="evidence ad\ncell ad\ndirections 0", **base)
    case("recurrent-touched", 1, "number of touched kinks is 3", evidence=f"evidence ad\ncell ad\n{down}", **{**base, "touched": 2})
    case("recurrent-operator", 1, "the proxy of kink 0 of Relu", evidence=f"evidence ad\ncell ad\n{down}", **{**base, "proxies": ["RNN 0 0"]})
    # AD with 1/2 has 1/2 + 1/2 1/2 = 3/4 of 2.
    half = {**base, "verdict": "in-clarke", "proxies": ["Relu 0 1/2"]}
    case("recurrent-hull", 0, "VERIFIED", evidence=f"evidence hull 2\ncell 3/8 +++\n{up}\ncell 5/8 ---\n{down}", **half)
    case("recurrent-uneven", 1, "is not AD's output", evidence=f"evidence hull 2\ncell 1/2 +++\n{up}\ncell 1/2 ---\n{down}", **half)
    case("recurrent-mixed", 1, "wrong side", evidence=f"evidence hull 2\ncell 3/8 +-+\n{up}\ncell 5/8 ---\n{down}", **half)
    # x = (1, 2, 1), w = 1, r = -2: the argument is 0 at the second of three times alone.
    batch("recurrent-turn.npz", [[[1], [2], [1]]])
    save("recurrent-turn.onnx", [helper.make_node("Transpose", ["x"], ["t"], "turn", perm=[1, 0, 2]),
                                 helper.make_node("RNN", ["t", "w", "r"], ["y"], "again", activations=["Relu"]),
                                 helper.make_node("Transpose", ["y"], ["z"], "back", perm=[2, 0, 1, 3]),
                                 helper.make_node("Flatten", ["z"], ["out"], "flat")], ["N", 3, 1], None, dict(w=[[[1]]], r=[[[-2]]]))
    turn = {**half, "model": "recurrent-turn.onnx", "data": "recurrent-turn.npz", "touched": 1}
    mix = ("evidence mix 1\nmix {} 1/2\ncell mix -\ndirections 1\ndirection\nmove r at 0 -1\n"
           "cell mix +\ndirections 1\ndirection\nmove r at 0 1")
    case("recurrent-turn", 0, "VERIFIED", evidence=mix.format("again%402"), **turn)
    case("recurrent-turn-first", 1, "gives it no side", evidence=mix.format("again%401"), **turn)
    case("recurrent-turn-node", 1, "no such node", evidence=mix.format("again"), **turn)
    zeros = dict(h=np.zeros((2, 1, 1)))
    net("recurrent-zeros", inputs=["t", "w", "r", "", "n", "h"], wrt=zeros, integers=dict(n=np.int32([2])), outputs=["y", "s"], hidden_size=1, **both)
    case("recurrent-zeros", 0, "VERIFIED", evidence=f"evidence ad\ncell ad\n{down}", **{**base, "model": "recurrent-zeros.onnx"})
    net("recurrent-both-ways", inputs=["t", "w", "r", "", "", "h"], wrt=zeros, **both,
        more=[helper.make_node("Add", ["y", "h"], ["u"], "sum"), helper.make_node("Transpose", ["u"], ["z"], "back", perm=[2, 0, 1, 3])],
        tail=[helper.make_node("Flatten", ["z"], ["out"], "flat")])
    bad = [
        ("clip", "input_forget, clip, or parameters of activations", dict(clip=3.0)),
        ("alpha", "input_forget, clip, or parameters of activations", dict(activation_alpha=[0.5, 0.5])),
        ("layout", "no activation of times, batch and features", dict(layout=1)),
        ("short", "a sample is shorter than others", dict(inputs=["t", "w", "r", "", "n"], integers=dict(n=np.int32([1])))),
        ("lengths", "which ONNX does not allow there", dict(inputs=["t", "w", "r", "", "t"])),
        ("bias", "a weight is no constant, or has not the shape", dict(inputs=["t", "w", "r", "h"], wrt=zeros)),
        ("hidden", "hidden_size is another", dict(hidden_size=2)),
        ("activations", "other activations", dict(activations=["Relu", "Tanh"])),
        ("one-activation", "other activations", dict(activations=["Relu"])),
        ("words", "strings that are no words", dict(activations=["Relu Relu"])),
        ("direction", "an unknown direction", dict(direction="sideways")),
        ("batch", "no activation of times, batch and features", dict(perm=[0, 1, 2], x=("N", 1, 1))),
        ("each", "an initial state has entries for each sample",
         dict(inputs=["t", "w", "r", "", "", "h"], wrt=dict(h=np.ones((2, 2, 1))))),
        ("state", "an initial state has not the shape", dict(inputs=["t", "w", "r", "", "", "h"], wrt=dict(h=np.zeros((1, 2, 1))))),
        ("gates", "a weight is no constant, or has not the shape", dict(op="LSTM")),
    ]
    batch("recurrent-two.npz", [[[1], [0]], [[1], [0]]])
    for name, reason, change in bad:
        more = {**both, **change}
        if more.get("op") == "LSTM":
            del more["activations"]
        net(f"recurrent-{name}", **more)
        data = "recurrent-two.npz" if name in ("each", "state") else "recurrent.npz"
        if name == "batch":
            batch("recurrent-batch.npz", [[[1]]])
            data = "recurrent-batch.npz"
        case(f"recurrent-{name}", 2, reason, evidence=NOTHING, **{**base, "data": data, "model": f"recurrent-{name}.onnx"})
    gates = dict(w=np.zeros((1, 4, 1)), r=np.zeros((1, 4, 1)), b=np.zeros((1, 8)), h=np.zeros((1, 1, 1)), p=np.zeros((1, 3)))
    save("recurrent-peepholes.onnx", [helper.make_node("Transpose", ["x"], ["t"], "turn", perm=[1, 0, 2]),
                                      helper.make_node("LSTM", ["t", "w", "r", "b", "", "h", "h", "p"], ["y"], "again"),
                                      helper.make_node("Transpose", ["y"], ["z"], "back", perm=[2, 0, 1, 3]),
                                      helper.make_node("Flatten", ["z"], ["out"], "flat")], ["N", 2, 1], None, gates)
    case("recurrent-peepholes", 1, "'touched' is expected", evidence=NOTHING, **{**base, "model": "recurrent-peepholes.onnx"})
    case("recurrent-both-ways", 2, "used in two ways", evidence=NOTHING, **{**base, "model": "recurrent-both-ways.onnx"})


def needs():
    """What an operator needs and does not have, one thing each: in the node, its constants, or the operator set."""
    node = helper.make_node
    batch("needs-3.npz", [[[1, -1, 0, 2], [0, 1, 3, -2]]])
    for name, reason, nodes, weights, integers, opset in (
            ("product-of-constants", "is not computed from the input", [node("Mul", ["a", "b"], ["out"])], dict(a=[1.0, 2.0, 3.0, 4.0], b=[1.0, 1.0, 2.0, 2.0]), dict(), 17),
            ("conv-constant", "VERIFIED", [node("Conv", ["a", "k"], ["y0"]), node("Add", ["x", "y0"], ["out"])], dict(a=[[[1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0]]], k=[[[1.0, 1.0], [1.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]]), dict(), 17),
            ("conv-output-shape", "VERIFIED", [node("ConvTranspose", ["x", "k"], ["out"], output_shape=[6])], dict(k=[[[1.0, 1.0]], [[1.0, 1.0]]]), dict(), 17),
            ("conv-output-padding", "output_padding is not less than stride or dilation", [node("ConvTranspose", ["x", "k"], ["out"], output_padding=[1])], dict(k=[[[1.0, 1.0]], [[1.0, 1.0]]]), dict(), 17),
            ("conv-no-entries", "the padding leaves no entries", [node("ConvTranspose", ["x", "k"], ["out"], pads=[3, 2])], dict(k=[[[1.0, 1.0]], [[1.0, 1.0]]]), dict(), 17),
            ("extreme-axis-twice", "an axis twice", [node("ReduceMax", ["x"], ["out"], axes=[1, 1])], dict(), dict(), 17),
            ("extreme-many", "more than 126 inputs", [node("Max", ["x"] * 127, ["out"])], dict(), dict(), 17),
            ("extreme-long", "the largest of more than 4096 entries", [node("Concat", ["x"] * 1024, ["c"], axis=2), node("ReduceMax", ["c"], ["out"], axes=[1, 2])], dict(), dict(), 17),
            ("extreme-constant", "its input must be an activation", [node("Max", ["a", "b"], ["c"]), node("Add", ["x", "c"], ["out"])], dict(a=[1.0, 2.0, 3.0, 4.0], b=[1.0, 1.0, 2.0, 2.0]), dict(), 17),
            ("filled-without", "which ONNX does not allow there", [node("ConstantOfShape", ["s"], ["c"]), node("Reshape", ["x", "c"], ["out"])], dict(), dict(s=[2]), 17),
            ("filled-minus", "not a shape", [node("ConstantOfShape", ["s"], ["c"], value=numpy_helper.from_array(np.int64([8]))), node("Reshape", ["x", "c"], ["out"])], dict(), dict(s=[-1]), 17),
            ("listed-rows", "integers that are no lists", [node("Concat", ["s", "t"], ["c"], axis=0), node("Reshape", ["x", "c"], ["out"])], dict(), dict(s=[[-1]], t=[[8]]), 17),
            ("negated-integers", "the result is no integer of the type", [node("Neg", ["s"], ["c"]), node("Reshape", ["x", "c"], ["out"])], dict(), dict(s=[-2**63, -8]), 17),
            ("tile-few", "not a number of repeats for each axis", [node("Tile", ["x", "r"], ["out"])], dict(), dict(r=[1, 2]), 17),
            ("tile-zero", "not a number of entries", [node("Tile", ["x", "r"], ["out"])], dict(), dict(r=[1, 0, 2]), 17),
            ("expand-less", "the shapes do not fit", [node("Expand", ["x", "r"], ["out"])], dict(), dict(r=[1, 2, 2]), 17),
            ("concat-constants", "an input without entries", [node("Concat", ["a", ""], ["c"], axis=0), node("Add", ["x", "c"], ["out"])], dict(a=[1.0, 2.0], b=[1.0, 1.0]), dict(), 17),
            ("pad-axis-twice", "an axis twice, or too large a number", [node("Pad", ["x", "p", "", "a"], ["out"])], dict(), dict(p=[1, 0, 0, 1], a=[2, -1]), 18),
            ("pad-far", "an axis twice, or too large a number", [node("Pad", ["x", "p"], ["out"])], dict(), dict(p=[0, 0, 1099511627776, 0, 0, 0]), 17),
            ("resize-constant", "VERIFIED", [node("Resize", ["a", "", "s"], ["c"]), node("Add", ["x", "c"], ["out"])], dict(a=[[[1.0, 1.0], [1.0, 1.0]]], s=[1.0, 1.0, 2.0]), dict(), 17),
            ("resize-few", "scales or sizes are not constant, or not one for each axis", [node("Resize", ["x", "", "s"], ["out"])], dict(s=[1.0, 2.0]), dict(), 17),
            ("resize-size", "a size is not above 0, or too large", [node("Resize", ["x", "", "", "s"], ["out"])], dict(), dict(s=[1, 2, 0]), 17),
            ("resize-nothing", "a scale leaves no entries, or too many", [node("Resize", ["x", "", "s"], ["out"])], dict(s=[1.0, 1.0, 0.125]), dict(), 17),
            ("resize-float", "rounding floats decides how long an axis is", [node("Resize", ["x", "", "s"], ["out"])], dict(s=[1.0, 1.0, np.nextafter(np.float32(1.75), np.float32(0))]), dict(), 17),
            ("resize-same", "a scale that is not 1 and leaves the shape", [node("Resize", ["x", "", "s"], ["out"], mode="linear")], dict(s=[1.0, 1.0, 1.125]), dict(), 17),
            ("resize-kept", "a crop that leaves an axis its length", [node("Resize", ["x", "r", "", "s"], ["out"], mode="linear", coordinate_transformation_mode="tf_crop_and_resize")],
             dict(r=[0.0, 0.0, 0.25, 1.0, 1.0, 1.0]), dict(s=[1, 2, 4]), 17),
            ("resize-batch", "samples would be mixed", [node("Resize", ["x", "", "s"], ["out"])], dict(s=[2.0, 1.0, 1.0]), dict(), 17),
            ("resize-rounding", "unknown nearest_mode", [node("Resize", ["x", "", "s"], ["out"], nearest_mode="up")], dict(s=[1.0, 1.0, 2.0]), dict(), 17),
            ("resize-mode", "a mode that is not supported", [node("Resize", ["x", "", "s"], ["out"], mode="sinc")], dict(s=[1.0, 1.0, 2.0]), dict(), 17),
            ("resize-antialias", "a mode that is not supported", [node("Resize", ["x", "", "s"], ["out"], antialias=1, mode="linear")], dict(s=[1.0, 1.0, 2.0]), dict(), 18),
            ("slice-ends", "starts, ends, axes and steps are not of one length", [node("Slice", ["x", "a", "b", "c"], ["out"])], dict(), dict(a=[0], b=[1, 1], c=[2]), 17),
            ("slice-steps", "starts, ends, axes and steps are not of one length", [node("Slice", ["x", "a", "b", "c", "d"], ["out"])], dict(), dict(a=[0], b=[1], c=[2], d=[1, 1]), 17),
            ("split-floats", "which ONNX does not allow there", [node("Split", ["x", "p"], ["out", "z"], axis=2)], dict(p=[2.0, 2.0]), dict(), 17),
            ("split-unequal", "the parts are not equal", [node("Split", ["x"], ["out", "z", "u"], axis=2)], dict(), dict(), 13),
            ("split-minus", "the parts do not fit the axis", [node("Split", ["x", "p"], ["out", "z"], axis=2)], dict(), dict(p=[5, -1]), 17),
            ("split-short", "the parts do not fit the axis", [node("Split", ["x", "p"], ["out", "z"], axis=2)], dict(), dict(p=[2, 1]), 17),
            ("gather-floats", "which ONNX does not allow there", [node("Gather", ["x", "p"], ["out"], axis=2)], dict(p=[0.0, 1.0]), dict(), 17),
            ("sorted-two", "k is no list of one number", [node("TopK", ["x", "k"], ["out", "i"])], dict(), dict(k=[1, 2]), 17),
            ("norm-outputs", "training mode is off, and without it there is one output", [node("BatchNormalization", ["x", "a", "a", "a", "a"], ["out", "m", "v"], training_mode=0)], dict(a=[1.0, 1.0]), dict(), 17),
            ("power-two", "an argument is 0, or below", [node("Pow", ["x", "e"], ["out"])], dict(e=[1.0, 2.0, 3.0, 4.0]), dict(), 17),
    ):
        save(f"needs-{name}.onnx", nodes, ["N", 2, 4], None, weights, opset, integers)
        case(f"needs-{name}", 0 if reason == "VERIFIED" else 2, reason, verdict="in-bouligand", model=f"needs-{name}.onnx", data="needs-3.npz", touched=0, proxies=[],
             evidence=NOTHING)


def chained(name, status, reason, model, trace, answers, nodes, proxies=(), **files):
    """A proof about a record of few tensors: by PART NODE what is said; of all else nothing is."""
    tensors_file(f"{name}.trace", {key: floats(np.float32(value)) for key, value in trace.items()})
    tell = lambda part, node: f"{part} {node} " + answers.get(f"{part} {node}", "not-shown")
    lines = [tell(part, node) for part in ["output", "gradient"] for node in nodes] + [tell("parameter", "w")]
    record(name, status, reason, "\n".join(lines + [f"pattern {node} not-covered" for node in answers.get("patterns", ())]), proxies=proxies,
           **(dict(model=model, data="record.npz", trace=f"{name}.trace", gradients="record.gradients", parameters="record.parameters") | files))


def chains():
    """a exp(a), of which the exponential was not recorded, nor its gradient: what is behind it is judged by what is before."""
    node, total = helper.make_node, helper.make_node("ReduceSum", ["r"], ["out"], "out", keepdims=0)
    first = node("MatMul", ["x", "w"], ["a"], "a")
    a, g = np.float64([[3], [-1]]), np.float64([[2], [1]])
    e = np.exp(a)
    save("chain.onnx", [first, node("Exp", ["a"], ["e"], "e"), node("Mul", ["a", "e"], ["m"], "m"), node("Neg", ["m"], ["r"], "r"), total],
         ["N", 2], [], dict(w=[[1], [1]]))
    names, made = ["a", "e", "m", "r", "out"], {"output/a": a, "output/m": a * e, "gradient/m": g, "gradient/a": g * (e + a * e)}
    both = {"output a": "bit-exact", "output m": "within", "gradient a": "within"}

    def ask(name, reason, trace, answers=both, model="chain.onnx", nodes=names, **files):
        chained("chain-" + name, int(reason != "VERIFIED"), reason, model, trace, answers, nodes, **files)

    ask("both", "VERIFIED", made)
    far = [("m", {"output/m": a * e * (1 + 2.0 ** -15)}, "output m"), ("e", {"output/m": e}, "output m"),
           ("one", {"gradient/a": g * e}, "gradient a"), ("other", {"gradient/a": g * a * e}, "gradient a"), ("none", {"gradient/a": g}, "gradient a"),
           ("last", {"gradient/a": g * (e + a * e) * (1 + 2.0 ** -15)}, "gradient a"), ("behind", {"gradient/m": g + 2.0 ** -16}, "gradient a")]
    for name, other, line in far:
        ask("far-" + name, line + ": an entry is farther", made | other)
    for line in ["output m", "gradient a"]:
        ask("exact-" + line[0], line + ": not every entry is the exact number", made, both | {line: "bit-exact"})
    ask("unrecorded", "output e: no rule covers it, or it was not recorded", made, both | {"output e": "within"})
    ask("without", "gradient a: no rule covers it", {k: v for k, v in made.items() if k != "gradient/m"})
    # As it was recorded: others than the exponentials. The slope is the exponential all the same.
    told = made | {"output/e": 2 * e, "output/m": 2 * a * e, "gradient/a": g * (2 * e + a * e)}
    ask("told", "VERIFIED", told)
    ask("told-not", "output e: an entry is farther", told, both | {"output e": "within"})
    ask("told-exp", "gradient a: an entry is farther", told | {"gradient/a": g * (e + a * e)})
    ask("told-slope", "gradient a: an entry is farther", told | {"gradient/a": g * (2 * e + 2 * a * e)})
    # Its gradient was recorded, and it was not: that gradient takes the place of what m hands back to it.
    ask("given", "VERIFIED", made | {"gradient/e": 5 * g, "gradient/a": g * e + 5 * g * e})
    ask("given-not", "gradient a: an entry is farther", made | {"gradient/e": 5 * g})
    ask("given-two", "gradient e: an entry is farther", made | {"gradient/e": 5 * g, "gradient/a": g * e + 5 * g * e}, both | {"gradient e": "within"})
    ask("given-own", "VERIFIED", made | {"gradient/e": g * a, "gradient/a": g * e + g * a * e}, both | {"gradient e": "within"})
    views(ask, first, total, a, g, e)
    windows_between(ask, first, total)
    lifted()
    chain_at_its_bound()
    chain_of_inverses()
    weights_beside()


def views(ask, first, total, a, g, e):
    """Views of what was not recorded, and of what was: which of them does a node read?"""
    node, m = helper.make_node, {"output/a": a, "output/m": a * e, "gradient/m": g}
    say = {"output a": "bit-exact", "output m": "within"}
    # a view i of the exponential e, which alone was not recorded, or alone was
    save("chain-view.onnx", [first, node("Exp", ["a"], ["e"], "e"), node("Identity", ["e"], ["i"], "i"), node("Mul", ["a", "i"], ["m"], "m"),
                             node("Neg", ["m"], ["r"], "r"), total], ["N", 2], [], dict(w=[[1], [1]]))
    own = dict(model="chain-view.onnx", nodes=["a", "e", "i", "m", "r", "out"])
    back = {"gradient/a": g * (e + a * e)}
    ask("view", "VERIFIED", m | back, say | {"gradient a": "within"}, **own)
    ask("view-step", "VERIFIED", m | back | {"output/e": e}, say | {"gradient a": "within", "output e": "within"}, **own)
    ask("view-alone", "output m: no rule covers it", m | {"output/i": e}, say, **own)
    ask("view-torn", "output m: no rule covers it", m | {"output/e": e, "output/i": 2 * e}, say, **own)
    ask("view-given", "gradient a: no rule covers it", m | back | {"gradient/i": g * a}, say | {"gradient a": "within"}, **own)
    save("chain-only.onnx", [first, node("Exp", ["a"], ["e"], "e"), node("Identity", ["e"], ["i"], "i"), node("Neg", ["i"], ["r"], "r"), total],
         ["N", 2], [], dict(w=[[1], [1]]))
    for k, hand in enumerate([g, g * e]):
        ask(f"view-only-{k}", "gradient a: no rule covers it", {"output/a": a, "gradient/i": g, "gradient/a": hand},
            {"output a": "bit-exact", "gradient a": "within"}, model="chain-only.onnx", nodes=["a", "e", "i", "r", "out"])
    # a view i of a: a's gradient is what came back to i, and what the exponential hands back, if nothing reads both
    save("chain-beside.onnx", [first, node("Identity", ["a"], ["i"], "i"), node("Exp", ["a"], ["e"], "e"), node("Mul", ["i", "e"], ["m"], "m"),
                               node("Neg", ["m"], ["r"], "r"), total], ["N", 2], [], dict(w=[[1], [1]]))
    own = dict(model="chain-beside.onnx", nodes=["a", "i", "e", "m", "r", "out"])
    ask("beside", "VERIFIED", m | back, say | {"gradient a": "within"}, **own)
    given = m | back | {"gradient/i": g * e}
    ask("beside-given", "gradient a: no rule covers it", given, say | {"gradient a": "within"}, **own)
    ask("beside-ends", "VERIFIED", given | {"gradient/e": g * a}, say | {"gradient a": "within", "gradient e": "within"}, **own)
    # the exponentials were recorded with the samples last
    save("chain-across.onnx", [first, node("Transpose", ["a"], ["t"], "t", perm=[1, 0]), node("Exp", ["t"], ["e"], "e"),
                               node("Transpose", ["e"], ["k"], "k", perm=[1, 0]), node("Mul", ["a", "k"], ["m"], "m"), node("Neg", ["m"], ["r"], "r"), total],
         ["N", 2], [], dict(w=[[1], [1]]))
    own = dict(model="chain-across.onnx", nodes=["a", "t", "e", "k", "m", "r", "out"])
    ask("across", "VERIFIED", m, say, **own)
    ask("across-recorded", "VERIFIED", m | {"output/e": e.T}, say, **own)
    ask("across-given", "VERIFIED", m | back | {"gradient/e": (g * a).T}, say | {"gradient a": "within"}, **own)


def windows_between(ask, first, total):
    """The larger of two: whose rule is of recorded numbers alone. Pieces have one, and AD's slope at a kink."""
    node, a = helper.make_node, np.float64([[3], [-1]])
    save("chain-pool.onnx", [first, node("Neg", ["a"], ["n"], "n"), node("Concat", ["a", "n"], ["c"], "c", axis=1),
                             node("Unsqueeze", ["c", "axes"], ["u"], "u"), node("MaxPool", ["u"], ["p"], "p", kernel_shape=[2]),
                             node("Neg", ["p"], ["r"], "r"), total], ["N", 2], [], dict(w=[[1], [1]]), integers=dict(axes=[1]))
    names = ["a", "n", "c", "u", "p", "r", "out"]
    trace = {"output/a": a, "output/r": -abs(a)[:, None], "gradient/r": np.ones((2, 1, 1)), "gradient/a": -np.sign(a)}
    for name, answers in [("pool", {"output r": "within"}), ("pool-back", {"gradient a": "within"})]:
        line = next(iter(answers))
        tensors_file(f"chain-{name}.trace", {key: floats(value) for key, value in trace.items()})
        tell = lambda part, of: f"{part} {of} " + answers.get(f"{part} {of}", "not-covered")
        record(f"chain-{name}", 1, f"{line}: no rule covers it", "\n".join(
            [tell("output", of) for of in names] + ["indices p not-covered"] + [tell("gradient", of) for of in names]
            + ["parameter w not-covered", "pattern p not-covered"]), proxies=(), model="chain-pool.onnx", data="record.npz",
               trace=f"chain-{name}.trace", gradients="record.gradients", parameters="record.parameters")
    save("chain-relu.onnx", [first, node("Sub", ["a", "three"], ["n"], "n"), node("Relu", ["n"], ["p"], "p"), node("Exp", ["p"], ["m"], "m"),
                             node("Neg", ["m"], ["r"], "r"), total], ["N", 2], [], dict(w=[[1], [1]], three=[3]))
    own = dict(model="chain-relu.onnx", nodes=["a", "n", "p", "m", "r", "out"], proxies=("Relu 0 1/2",), parameters="chain-relu.parameters")
    tensors_file("chain-relu.parameters", {"w": floats([[1], [1]]), "three": floats([3])})
    said = {"output m": "within", "gradient a": "within", "patterns": ["p"]}
    # a less 3 may have been computed at either side of 0
    farther = "gradient a: an entry is farther"
    for k, (slope, reason) in enumerate([(0.5, "VERIFIED"), (0, "VERIFIED"), (1, "VERIFIED"), (1.25, farther), (-0.25, farther)]):
        ask(f"relu-{k}", reason, {"output/a": a, "output/m": [[1], [1]], "gradient/m": [[2], [2]], "gradient/a": [[2 * slope], [0]]}, said, **own)
    # Of a + 1024 - 1025 float32 keeps 13 places of the fraction: HardSwish's slope is that of another place, and of a kink's other side.
    moved = [node("Add", ["a", "less"], ["s"], "s"), node("Sub", ["s", "more"], ["n"], "n"), node("HardSwish", ["n"], ["p"], "p")]
    for at in (0, 3):
        save(f"chain-swish-{at}.onnx", [first, *moved, node("Neg", ["p"], ["r"], "r"), total], ["N", 2], [], dict(w=[[1], [1]], less=[1024], more=[1025 - at]))
        tensors_file(f"chain-swish-{at}.parameters", {"w": floats([[1], [1]]), "less": floats([1024]), "more": floats([1025 - at])})
        own = dict(model=f"chain-swish-{at}.onnx", nodes=["a", "s", "n", "p", "r", "out"], parameters=f"chain-swish-{at}.parameters",
                   proxies=("HardSwish 0 0", "HardSwish 1 1"))
        back = [(0.5, "VERIFIED"), (0.5 + 2 ** -8, farther)] if at == 0 else [(1.5, "VERIFIED"), (1, "VERIFIED"), (0.25, farther), (1.75, farther)]
        for k, (slope, reason) in enumerate(back):
            ask(f"swish-{at}-{k}", reason, {"output/a": [[1 + 2 ** -15], [1]], "gradient/p": [[2], [0]], "gradient/a": [[2 * slope], [0]]},
                {"gradient a": "within", "patterns": ["p"]}, **own)
    own = dict(nodes=["a", "n", "p", "m", "r", "out"], proxies=("Relu 0 1/2",), parameters="chain-relu.parameters")
    slope_beside(first, total)
    # exp(a) - 1: at a = 0 it is at the kink, exactly. log(exp(a)) - a is 0, too, but an interval does not tell.
    tail = [node("LeakyRelu", ["n"], ["p"], "p", alpha=0.25), node("Neg", ["p"], ["r"], "r"), total]
    save("chain-pieces.onnx", [first, node("Exp", ["a"], ["e"], "e"), node("Sub", ["e", "one"], ["n"], "n"), *tail], ["N", 2], [],
         dict(w=[[1], [1]], one=[1]))
    save("chain-nought.onnx", [first, node("Exp", ["a"], ["e"], "e"), node("Log", ["e"], ["l"], "l"), node("Sub", ["l", "a"], ["n"], "n"), *tail],
         ["N", 2], [], dict(w=[[1], [1]]))
    own |= dict(model="chain-pieces.onnx", nodes=["a", "e", "n", "p", "r", "out"], proxies=("LeakyRelu 0 right",), parameters="chain-pieces.parameters")
    tensors_file("chain-pieces.parameters", {"w": floats([[1], [1]]), "one": floats([1])})
    said = {"output p": "within", "gradient a": "within", "patterns": ["p"]}
    for k, (at, slope, reason) in enumerate([(a, 0.25, "VERIFIED"), (a * 0, 0.25, "VERIFIED"), (a, 0.5, "gradient a: an entry is farther")]):
        n = np.exp(at) - 1
        ask(f"pieces-{k}", reason, {"output/a": at, "output/p": np.where(n < 0, n / 4, n), "gradient/p": [[1], [1]],
                                    "gradient/a": np.exp(at) * np.where(n < 0, slope, 1)}, said, **own)
    own |= dict(model="chain-nought.onnx", nodes=["a", "e", "l", "n", "p", "r", "out"], parameters="record.parameters")
    ask("nought", "output p: of 2 entries no bound is known", {"output/a": a, "output/p": [[0], [0]]}, {"output p": "within", "patterns": ["p"]}, **own)


def slope_beside(first, total):
    """PRelu's slope where a less 3 is 0, and may have been computed below it: its gradient is 0, or that little."""
    node, names = helper.make_node, ["a", "n", "p", "r", "out"]
    save("chain-prelu.onnx", [first, node("Sub", ["a", "three"], ["n"], "n"), node("PRelu", ["n", "s"], ["p"], "p"), node("Neg", ["p"], ["r"], "r"), total],
         ["N", 2], [], dict(w=[[1], [1]], three=[3], s=[0.25]))
    tensors_file("chain-prelu.parameters", {"w": floats([[1], [1]]), "three": floats([3]), "s": floats([0.25])})
    tensors_file("chain-prelu.trace", {"output/a": floats([[3], [3]]), "gradient/p": floats([[1], [1]])})
    for k, by in enumerate([0, -2.0 ** -22, -2.0 ** -12, 2.0 ** -12]):
        tensors_file(f"chain-prelu-{k}.gradients", {"w": floats([[0], [0]]), "s": floats(np.float32([by]))})
        record(f"chain-prelu-{k}", int(k > 1), "parameter s: an entry is farther" if k > 1 else "VERIFIED", "\n".join(
            [f"output {of} " + ("not-shown" if of == "a" else "not-covered") for of in names]
            + [f"gradient {of} " + ("not-shown" if of == "p" else "not-covered") for of in names]
            + ["parameter w not-shown", "parameter s within", "pattern p not-covered"]), wrt="w s", proxies=("PRelu 0 left",), model="chain-prelu.onnx",
               data="record.npz", trace="chain-prelu.trace", gradients=f"chain-prelu-{k}.gradients", parameters="chain-prelu.parameters")


def lifted():
    """A further input, as an activation: nothing was recorded of it, and nothing has to be."""
    node = helper.make_node
    save_run("chain-lift.onnx", [node("Lift", ["c"], ["l"], "l", domain="clarke"), node("Mul", ["l", "x"], ["p"], "p"), node("Mul", ["p", "w"], ["m"], "m"),
                                 node("ReduceSum", ["m"], ["loss"], "loss", keepdims=0)], dict(w=[2, 3]), more=[("c", TensorProto.FLOAT, [2])])
    arrays("chain-lift.npz", x=np.float32([[5, 7]]), c=np.float32([0.5, 0.25]))
    tensors_file("chain-lift.parameters", {"w": floats([2, 3])})
    lines = "output l {0}\noutput p {1}\noutput m bit-exact\noutput loss not-covered\n" + "\n".join(
        f"gradient {of} not-covered" for of in ["l", "p", "m", "loss"]) + "\nparameter w {2}"
    whole = {"output/p": floats([2.5, 1.75]), "output/m": floats([5, 5.25]), "gradient/m": floats([1, 1])}
    tensors_file("chain-lift.gradients", {"w": floats([2.5, 1.75])})
    for k, (more, said, status, reason) in enumerate([
            ({}, ("not-covered", "bit-exact", "bit-exact"), 0, "VERIFIED"), ({}, ("within", "bit-exact", "bit-exact"), 1, "output l: no rule covers it"),
            ({"output/p": floats([2.5, 2]), "output/m": floats([5, 6])}, ("not-shown", "bit-exact", "not-shown"), 1, "output p: an entry is farther"),
            ({"output/l": floats([1, 0.25]), "output/p": floats([5, 1.75]), "output/m": floats([10, 5.25])},
             ("not-shown", "bit-exact", "not-shown"), 0, "VERIFIED"),
            ({"output/l": floats([1, 0.25])}, ("not-shown", "bit-exact", "not-shown"), 1, "output p: an entry is farther")]):
        tensors_file(f"chain-lift-{k}.trace", whole | more)
        record(f"chain-lift-{k}", status, reason, lines.format(*said), proxies=(), model="chain-lift.onnx", data="chain-lift.npz",
               trace=f"chain-lift-{k}.trace", gradients="chain-lift.gradients", parameters="chain-lift.parameters")


def weights_beside():
    """A weight that a view was recorded of as another is not known, lifted or not; what divides has no rule for its own gradient."""
    node = helper.make_node
    save_run("chain-torn.onnx", [node("Identity", ["w"], ["t"], "t"), node("Lift", ["w"], ["l"], "l", domain="clarke"), node("Mul", ["l", "x"], ["p"], "p"),
                                 node("Mul", ["p", "t"], ["m"], "m"), node("ReduceSum", ["m"], ["loss"], "loss", keepdims=0)], dict(w=[2, 3]))
    arrays("chain-torn.npz", x=np.float32([[5, 7]]))
    tensors_file("chain-torn.gradients", {"w": floats([0, 0])})
    names = ["t", "l", "p", "m", "loss"]
    for k, (view, reason) in enumerate([([2, 3], "VERIFIED"), ([2, 4], "output p: no rule covers it")]):
        tensors_file(f"chain-torn-{k}.trace", {"output/t": floats(view), "output/p": floats([10, 21])})
        record(f"chain-torn-{k}", k, reason, "\n".join([f"output {of} " + ("bit-exact" if of == "p" else "not-shown") for of in names]
               + [f"gradient {of} not-covered" for of in names] + ["parameter w not-covered"]), proxies=(), model="chain-torn.onnx",
               data="chain-torn.npz", trace=f"chain-torn-{k}.trace", gradients="chain-torn.gradients", parameters="chain-lift.parameters")
    save("chain-divisor.onnx", [node("MatMul", ["x", "w"], ["a"], "a"), node("Exp", ["a"], ["e"], "e"), node("Div", ["e", "s"], ["m"], "m"),
                                node("Neg", ["m"], ["r"], "r"), node("ReduceSum", ["r"], ["out"], "out", keepdims=0)], ["N", 2], [], dict(w=[[1], [1]], s=[2]))
    tensors_file("chain-divisor.parameters", {"w": floats([[1], [1]]), "s": floats([2])})
    e, names = np.exp(np.float64([[3], [-1]])), ["a", "e", "m", "r", "out"]
    tensors_file("chain-divisor.trace", {"output/a": floats([[3], [-1]]), "output/m": floats(np.float32(e / 2)), "gradient/m": floats([[1], [1]])})
    for k, by in enumerate([e.sum(), -e.sum() / 4, 0]):
        tensors_file(f"chain-divisor-{k}.gradients", {"w": floats([[0], [0]]), "s": floats(np.float32([by]))})
        record(f"chain-divisor-{k}", 1, "parameter s: no rule covers it", "\n".join(
            ["output a bit-exact", "output e not-covered", "output m within", "output r not-covered", "output out not-covered",
             *(f"gradient {of} not-covered" for of in names), "parameter w not-shown", "parameter s within"]), wrt="w s", proxies=(),
               model="chain-divisor.onnx", data="record.npz", trace="chain-divisor.trace", gradients=f"chain-divisor-{k}.gradients",
               parameters="chain-divisor.parameters")


def slopes_that_are_enclosed(files):
    """Softplus in float64: its slope may be off by 2^-28, which is far more than rounding takes."""
    save("record-softplus.onnx", [helper.make_node("MatMul", ["x", "w"], ["a"], "a"), helper.make_node("Softplus", ["a"], ["r"], "r"),
                                  helper.make_node("ReduceSum", ["r"], ["out"], "out", keepdims=0)], ["N", 2], [], dict(w=[[1], [1]]))
    lines = "\n".join(["output a bit-exact", "output r not-covered", "output out not-covered", "gradient a within", "gradient r not-shown",
                       "gradient out not-covered", "parameter w not-shown"])
    slope = 1 / (1 + np.exp(-np.float64([[3], [-1]])))
    for k, (by, reason) in enumerate([(0, "VERIFIED"), (0.99, "VERIFIED"), (-0.99, "VERIFIED"), (1.01, "gradient a: an entry is farther"),
                                      (-1.01, "gradient a: an entry is farther")]):
        tensors_file(f"record-softplus-{k}.trace", {"output/a": floats([[3], [-1]], "F64"), "gradient/r": floats([[1], [1]], "F64"),
                                                    "gradient/a": floats(slope + by * 2.0 ** -28, "F64")})
        record(f"record-softplus-{k}", int(reason != "VERIFIED"), reason, lines, proxies=(),
               **(files | dict(model="record-softplus.onnx", trace=f"record-softplus-{k}.trace")))


def chain_at_its_bound():
    """a / 3 twice, and back: the bound in fractions, each number's off passed on. The last float32 that is within it, and the next."""
    node = helper.make_node
    save("chain-thirds.onnx", [node("MatMul", ["x", "w"], ["a"], "a"), node("Div", ["a", "three"], ["m"], "m"), node("Div", ["m", "three"], ["n"], "n"),
                               node("Neg", ["n"], ["r"], "r"), node("ReduceSum", ["r"], ["out"], "out", keepdims=0)], ["N", 2], [],
         dict(w=[[1], [1]], three=[3]))
    tensors_file("chain-thirds.parameters", {"w": floats([[1], [1]]), "three": floats([3])})
    batch("chain-thirds.npz", [[1, 2], [1, 2]])
    tiny = Fraction(1, 2 ** 126)
    rounding = lambda n, mass: Fraction(n, 2 ** 24 - n) * mass + 4 * n * tiny
    off = rounding(17, Fraction(1))  # of a / 3, and of 3 / 3, a and the gradient being 3
    for line, n in [("output n", 17), ("gradient a", 1 + 16 * 3)]:  # two nodes read a, and what was not recorded of its gradient
        bound = off / 3 + rounding(n, (1 + off) / 3)
        last = int((Fraction(1, 3) + bound) * 2 ** 25)
        first = -int(-(Fraction(1, 3) - bound) * 2 ** 25 // 1)
        for k, (at, reason) in enumerate([(last, "VERIFIED"), (last + 1, line + ": an entry is farther"), (first, "VERIFIED"),
                                          (first - 1, line + ": an entry is farther")]):
            chained(f"chain-thirds-{line[0]}-{k}", int(reason != "VERIFIED"), reason, "chain-thirds.onnx",
                    {"output/a": [[3], [3]], "gradient/n": [[3], [3]], line.replace(" ", "/"): [[at * 2.0 ** -25], [1 / 3]]}, {line: "within"},
                    ["a", "m", "n", "r", "out"], data="chain-thirds.npz", parameters="chain-thirds.parameters")


def chain_of_inverses():
    """1 / (a / 3), of which the quotient was not recorded, nor the inverse: the slope may be made of the inverse that was computed anew, whose
    error is more than the quotient's. In parts of 2^-24 the whole is some 180, and 116 without that."""
    node = helper.make_node
    save("chain-inverse.onnx", [node("MatMul", ["x", "w"], ["a"], "a"), node("Div", ["a", "three"], ["m"], "m"), node("Reciprocal", ["m"], ["n"], "n"),
                                node("Neg", ["n"], ["r"], "r"), node("ReduceSum", ["r"], ["out"], "out", keepdims=0)], ["N", 2], [],
         dict(w=[[1], [1]], three=[3]))
    for k, (by, reason) in enumerate([(150, "VERIFIED"), (-150, "VERIFIED"), (200, "gradient a: an entry is farther"), (-200, "gradient a: an entry is farther")]):
        chained(f"chain-inverse-{k}", int(reason != "VERIFIED"), reason, "chain-inverse.onnx",
                {"output/a": [[3], [3]], "gradient/n": [[3], [3]], "gradient/a": [[-1 + by * 2.0 ** -24], [-1]]}, {"gradient a": "within"},
                ["a", "m", "n", "r", "out"], data="chain-thirds.npz", parameters="chain-thirds.parameters")


def lifted_constants():
    """Functions of weights alone, the same for all samples: w v times x, or |w v| and then x. Near w = 0 each is a line or bent in w."""
    node = helper.make_node
    batch("lifted.npz", [[1], [2]])
    mul, rho = node("Mul", ["w", "v"], ["p"], "weights"), node("Abs", ["y"], ["out"], "rho")
    shape = [node("Shape", ["x"], ["s"]), node("ConstantOfShape", ["s"], ["h"]), node("MatMul", ["h", "v"], ["z"], "zeros")]
    for name, nodes, weights in (
            ("times", [mul, node("Mul", ["x", "p"], ["y"], "times"), rho], dict(w=[0], v=[2])),
            ("inside", [mul, node("Abs", ["p"], ["q"], "rho"), node("Mul", ["q", "x"], ["out"])], dict(w=[0], v=[2])),
            ("state", [*shape, node("Mul", ["x", "w"], ["p"]), node("Add", ["p", "z"], ["y"]), rho], dict(w=[0], v=[[2]])),
            ("rows", [node("MatMul", ["w", "v"], ["p"], "weights"), node("Mul", ["x", "p"], ["y"], "times"), rho], dict(w=[[0], [0]], v=[[2]])),
            ("alone", [mul, node("Abs", ["p"], ["out"], "rho")], dict(w=[0], v=[2])),
            ("joined", [mul, node("Concat", ["x", "p"], ["y"], "row", axis=1), rho], dict(w=[[0]], v=[2])),
            ("inner", [mul, node("MatMul", ["p", "x"], ["y"], "times"), rho], dict(w=[[0]], v=[2])),
            ("samples", [node("Mul", ["x", "w"], ["p"]), node("MatMul", ["p", "x"], ["y"], "times"), rho], dict(w=[0])),
            ("root", [node("Sqrt", ["w"], ["p"], "weights"), node("Mul", ["x", "p"], ["y"], "times"), rho], dict(w=[0]))):
        save(f"lifted-{name}.onnx", nodes, ["N", 1], None, weights)
    up, down = (f"directions 1\ndirection\nmove w at 0 {s}" for s in (1, -1))
    base = dict(data="lifted.npz", touched=2, proxies=["Abs 0 0"], verdict="in-clarke")
    both = f"evidence hull 2\ncell 1/2 ++\n{up}\ncell 1/2 --\n{down}"
    for name in ("times", "inside", "state"):
        model = {**base, "model": f"lifted-{name}.onnx"}
        case(f"lifted-{name}", 0, "VERIFIED", evidence=both, **model)
        case(f"lifted-{name}-uneven", 1, "is not AD's output", evidence=both.replace("1/2 ++", "1/4 ++").replace("1/2 --", "3/4 --"), **model)
        case(f"lifted-{name}-ad", 1, "wrong side", evidence=f"evidence ad\ncell ad\n{down}", **{**model, "verdict": "in-bouligand", "proxies": ["Abs 0 1"]})
        case(f"lifted-{name}-apart", 1, "wrong side", evidence=both.replace("++", "+-"), **model)
        case(f"lifted-{name}-once", 1, "number of touched kinks is 2", evidence=both, **{**model, "touched": 1})
        case(f"lifted-{name}-right", 0, "VERIFIED", evidence=f"evidence ad\ncell ad\n{up}", **{**model, "verdict": "in-bouligand", "proxies": ["Abs 0 1"]})
    for name, reason in (("rows", "what is computed of constants, has more than one entry along the batch axis"),
                         ("alone", "is not computed from the input"), ("inner", "the batch axis would be mixed"), ("samples", "the batch axis would be mixed"), ("joined", "some inputs have the batch, and others are computed of constants")):
        case(f"lifted-{name}", 2, reason, evidence=both, **{**base, "model": f"lifted-{name}.onnx"})
    case("lifted-root", 2, "where it is not smooth", evidence=both, **{**base, "model": "lifted-root.onnx"})
    # Windows along the axis of samples: of one sample each, at every sample.
    axes = node("Constant", [], ["a"], value=numpy_helper.from_array(np.int64([0, 1])))
    unpacked = [axes, node("Mul", ["x", "w"], ["y1"]), node("Unsqueeze", ["y1", "a"], ["y2"])]
    for name, status, more in (("each", 0, dict(kernel_shape=[1, 1])), ("both", 2, dict(kernel_shape=[2, 1], pads=[1, 0, 0, 0])),
                               ("skipped", 2, dict(kernel_shape=[1, 1], strides=[2, 1])),
                               ("padded", 2, dict(kernel_shape=[1, 1], pads=[1, 0, 0, 0]))):
        for op in ("MaxPool", "AveragePool"):
            save(f"windows-{name}-{op}.onnx", [*unpacked, node(op, ["y2"], ["y3"], "pool", **more), node("Squeeze", ["y3", "a"], ["y"]), rho], ["N", 1],
                 None, dict(w=[0]))
            case(f"windows-{name}-{op}", status, "the batch axis would be mixed" if status else "VERIFIED", evidence=both,
                 **{**base, "model": f"windows-{name}-{op}.onnx"}, tie="tie MaxPool first" if op == "MaxPool" else None)
    # No axes, and nothing is reduced: the entries themselves.
    none = node("Constant", [], ["a"], value=numpy_helper.from_array(np.zeros(0, np.int64)))
    for op in ("ReduceMax", "ReduceMean", "ReduceSum"):
        save(f"reduced-none-{op}.onnx", [none, node("Mul", ["x", "w"], ["m"]), node(op, ["m", "a"], ["y"], noop_with_empty_axes=1), rho], ["N", 1], None,
             dict(w=[0]), 18)
        case(f"reduced-none-{op}", 0, "VERIFIED", evidence=both, **{**base, "model": f"reduced-none-{op}.onnx"})


def masked():
    """Entries that are minus infinity: what a Softmax makes of them, and who may not read them. relu(w x) has its kink behind it."""
    node = helper.make_node
    batch("masked.npz", [[1, 2], [3, 4]])
    kink = [node("Mul", ["x", "w"], ["y"], "times"), node("Relu", ["y"], ["r"], "rho")]
    add, rest = node("Add", ["r", "m"], ["s"], "mask"), [node("Softmax", ["s"], ["p"], "p", axis=1), node("MatMul", ["p", "v"], ["out"])]
    false = node("Constant", [], ["c"], value=numpy_helper.from_array(np.array([True, False])))
    inf, nan = float("inf"), float("nan")
    base = dict(verdict="in-bouligand", data="masked.npz", touched=2, proxies=["Relu 0 0"])
    up, down = (f"evidence ad\ncell ad\ndirections 1\ndirection\nmove w at 0 {s}" for s in (1, -1))
    for name, status, reason, nodes, m in (
            ("plain", 0, "VERIFIED", [*kink, add, *rest], [0, 1]), ("one", 0, "VERIFIED", [*kink, add, *rest], [[0, -inf]]),
            ("chosen", 0, "VERIFIED", [false, *kink, node("Where", ["c", "r", "m"], ["s"]), *rest], [7, -inf]),
            ("moved", 0, "VERIFIED", [*kink, node("Unsqueeze", ["m", "a"], ["m1"]), node("Add", ["r", "m1"], ["s"]), *rest], [0, -inf]),
            ("unread", 0, "VERIFIED", [false, *kink, node("Where", ["c", "r", "m"], ["s0"]), node("Where", ["d", "m2", "s0"], ["s"]), *rest], [7, -inf]),
            ("rows", 2, "has more than one entry along the batch axis", [
                node("Constant", [], ["n"], value=numpy_helper.from_array(np.float32([[0, -inf], [-inf, 0]]))), *kink, node("Add", ["r", "n"], ["s"]), *rest], 0),
            ("alike", 0, "VERIFIED", [
                node("Constant", [], ["n"], value=numpy_helper.from_array(np.float32([[0, -inf], [0, -inf]]))), *kink, node("Add", ["r", "n"], ["s"]), *rest], 0),
            ("all", 2, "minus infinity throughout by an Add", [*kink, add, *rest], [-inf, -inf]),
            ("all-behind", 2, "minus infinity throughout by an Add", [
                false, *kink, add, node("Identity", ["s"], ["s1"]), node("Where", ["c", "s1", "m"], ["s2"]), node("Softmax", ["s2"], ["p"], axis=1), rest[1]], [-inf, -inf]),
            ("all-unread", 2, "are NaN, of lines that were minus infinity", [false, *kink, node("Where", ["c", "m", "r"], ["s0"]), node("Where", ["c", "s0", "m"], ["s"]), *rest], [-inf, -inf]),
            ("above", 2, "a mask holds infinity or NaN", [*kink, add, *rest], [0, inf]),
            ("nan", 2, "a mask holds infinity or NaN", [*kink, add, *rest], [0, nan]),
            ("less", 2, "which this operator does not take", [*kink, node("Sub", ["r", "m"], ["s"]), *rest], [0, -inf]),
            ("weight", 2, "which this operator does not take", [*kink, node("Mul", ["r", "m"], ["s"]), *rest], [0, -inf]),
            ("log", 2, "an input has entries that are minus infinity", [*kink, add, node("LogSoftmax", ["s"], ["p"], axis=1), rest[1]], [0, -inf]),
            ("behind", 2, "an input has entries that are minus infinity", [*kink, add, node("Relu", ["s"], ["s1"]), rest[1]], [0, -inf]),
            ("output", 2, "has entries that are minus infinity", [*kink, node("Add", ["r", "m"], ["out"])], [0, -inf])):
        if name == "unread":
            nodes = [node("Constant", [], ["d"], value=numpy_helper.from_array(np.array([False, False]))), *nodes]
            nodes[5] = node("Where", ["d", "m", "r"], ["s"])
            del nodes[4]
        save(f"masked-{name}.onnx", nodes, ["N", 2], None, dict(w=[0, 1], v=[1, -1], m=m), 17, dict(a=[0]))
        case(f"masked-{name}", status, reason, evidence=down, **{**base, "model": f"masked-{name}.onnx"})
    case("masked-one-side", 1, "wrong side", evidence=up, **{**base, "model": "masked-one.onnx"})
    case("masked-one-touched", 1, "number of touched kinks is 2", evidence=down, **{**base, "model": "masked-one.onnx", "touched": 4})
    case("masked-one-wrt", 1, "has no parameter 'm'", evidence=down, **{**base, "model": "masked-one.onnx", "wrt": "m"})


def line_of_values(name, array, runs=False):
    """As `clarke-check --values` prints an array of exact numbers; of runs the shape is that of one."""
    array = np.asarray(array, np.float64)
    entries = ["-inf" if a == -np.inf else str(Fraction(a)) for a in array.flat]
    return f"value {name} [{','.join(map(str, array.shape[runs:]))}] {' '.join(entries)}".rstrip()


def shown(name, made, runs=False):
    """NAME.shown: the values of a model's nodes, by numpy."""
    with open(path(f"shown-{name}.shown"), "w") as f:
        f.write("".join(line_of_values(*one, runs) + "\n" for one in made.items()))


def values_that_are_shown():
    """What nodes give, whole: wherever the batch's axis lies, run after run; of constants that are turned or masks; without a mask's entries."""
    node = helper.make_node
    x, w = np.float64([[1, 2, -3], [4, -5, 0.5]]), np.float64([[0.25, -1], [0, 2], [3, 0]])
    a = x @ -w
    merged = a.reshape(2, 2, 1).transpose(1, 0, 2).reshape(-1)
    batch("shown-moved.npz", x)
    save("shown-moved.onnx", [node("Neg", ["w"], ["v"]), node("Transpose", ["v"], ["u"]), node("Transpose", ["u"], ["back"]), node("MatMul", ["x", "back"], ["a"]),
                              node("Reshape", ["a", "split"], ["c"]), node("Transpose", ["c"], ["t"], perm=[1, 0, 2]), node("Reshape", ["t", "all"], ["m"]),
                              node("Neg", ["m"], ["n"]), node("Abs", ["a"], ["s"]),
                              node("ReduceSum", ["s"], ["out"], keepdims=0)],
         ["N", 3], [], dict(w=w), integers=dict(split=[-1, 2, 1], all=[-1]))
    shown("moved", dict(x=x, v=-w, u=-w.T, back=-w, a=a, c=a[..., None], t=a.T[..., None], m=merged, n=-merged, s=abs(a)))
    # of a file of single runs the axis of two is its own, and a batch is so many runs
    runs = np.float64([[[1, 2], [3, -4]], [[0.5, 0], [-1, 8]]])
    batch("shown-runs.npz", runs)
    save("shown-runs.onnx", [node("Mul", ["x", "w"], ["a"]), node("Transpose", ["a"], ["t"]), node("Abs", ["t"], ["out"])],
         [2, 2], [2, 2], dict(w=[1, -0.125]))
    made = runs * [1, -0.125]
    shown("runs", dict(x=runs, a=made, t=made.transpose(0, 2, 1), out=abs(made.transpose(0, 2, 1))), runs=True)
    # masks
    m = np.float64([0, -np.inf, 1])
    batch("shown-masked.npz", x)
    save("shown-masked.onnx", [node("Neg", ["k"], ["less"]), node("Unsqueeze", ["m", "first"], ["row"]), node("Add", ["x", "w"], ["a"]), node("Add", ["a", "row"], ["s"]),
                               node("Softmax", ["s"], ["p"], axis=1), node("MatMul", ["p", "less"], ["out"])],
         ["N", 3], ["N", 1], dict(w=[1, 0, 0.5], m=m, k=[[1], [2], [-0.5]]), integers=dict(first=[0]))
    masked = x + [1, 0, 0.5] + m
    shown("masked", dict(x=x, less=[[-1], [-2], [0.5]], row=m[None], a=x + [1, 0, 0.5], s=masked))


def compared():
    """A comparison of initializers is decided by their numbers where these differ; what is not chosen may be NaN."""
    node = helper.make_node
    up, down = (f"directions 1\ndirection\nmove w at 0 {s}" for s in (1, -1))
    both = f"evidence hull 2\ncell 1/2 ++\n{up}\ncell 1/2 --\n{down}"
    base = dict(data="lifted.npz", touched=2, proxies=["Abs 0 0"], verdict="in-clarke")
    times, rho = node("Mul", ["x", "w"], ["y"], "times"), node("Abs", ["s"], ["out"], "rho")
    less = node("Sub", ["c", "k"], ["d"])
    for name, status, reason, nodes, c in (
            ("more", 0, "VERIFIED", [less, node("Greater", ["d", "z"], ["g"]), times, node("Where", ["g", "y", "n"], ["s"]), rho], 2),
            ("given", 0, "VERIFIED", [node("Less", ["z", "c"], ["g"]), times, node("Where", ["g", "y", "n"], ["s"]), rho], 2),
            ("other", 2, "a mask holds infinity or NaN", [less, node("Less", ["d", "z"], ["g"]), times, node("Where", ["g", "y", "n"], ["s"]), rho], 2),
            ("equal", 2, "both sides are equal", [less, node("GreaterOrEqual", ["d", "z"], ["g"]), times, node("Where", ["g", "y", "n"], ["s"]), rho], 0.25),
            ("moving", 2, "an input is missing, or infinite", [times, node("Greater", ["y", "z"], ["g"]), node("Where", ["g", "y", "n"], ["s"]), rho], 2),
            ("product", 2, "an input is missing, or infinite", [node("Mul", ["c", "k"], ["d"]), node("Greater", ["d", "z"], ["g"]), times,
                                                       node("Where", ["g", "y", "n"], ["s"]), rho], 2)):
        save(f"compared-{name}.onnx", nodes, ["N", 1], None, dict(w=[0], c=c, k=0.25, z=0, n=float("nan")))
        case(f"compared-{name}", status, reason, evidence=both, **{**base, "model": f"compared-{name}.onnx"})
    case("compared-more-ad", 1, "wrong side", evidence=f"evidence ad\ncell ad\n{down}",
         **{**base, "model": "compared-more.onnx", "verdict": "in-bouligand", "proxies": ["Abs 0 1"]})


def jumping():
    """A comparison of activations: off its jump a network chooses near the parameters as it does at them; at it there is no answer, but
    where nothing moves what is compared."""
    node = helper.make_node
    up, down = (f"directions 1\ndirection\nmove w at 0 {s}" for s in (1, -1))
    both = f"evidence hull 2\ncell 1/2 ++\n{up}\ncell 1/2 --\n{down}"
    base = dict(data="lifted.npz", touched=2, proxies=["Abs 0 0"], verdict="in-clarke")
    times, rho = node("Mul", ["x", "w"], ["y"], "times"), node("Abs", ["s"], ["out"], "rho")
    square = [node("Mul", ["x", "c"], ["a"]), node("Mul", ["a", "a"], ["b"]), times]
    choose = [node("Where", ["g", "y", "b"], ["s"]), rho]
    greater = node("Greater", ["b", "k"], ["g"])
    rounded = [node("Floor", ["b"], ["f"]), node("Sub", ["b", "f"], ["d"]), node("Add", ["y", "d"], ["s"]), rho]
    for name, status, reason, nodes, c, wrt in (
            ("off", 0, "VERIFIED", [*square, greater, *choose], 2, "*"),
            ("at", 2, "where the function jumps", [*square, greater, *choose], 1, "*"),
            ("still", 0, "VERIFIED", [*square, node("GreaterOrEqual", ["b", "k"], ["g"]), *choose], 1, "w"),
            ("float", 2, "which the operator does not take", [*square, greater, node("Neg", ["g"], ["h"]), node("Cast", ["h"], ["s"], to=1), rho], 2, "*"),
            ("logic", 0, "VERIFIED", [*square, node("Less", ["b", "k"], ["l"]), node("Not", ["l"], ["g"]), *choose], 2, "*"),
            ("floor-at", 2, "where the function jumps", [*square, *rounded], 2, "*"),
            ("floor-still", 0, "VERIFIED", [*square, *rounded], 2, "w")):
        save(f"jumping-{name}.onnx", nodes, ["N", 1], None, dict(w=[0], c=c, k=1))
        case(f"jumping-{name}", status, reason, evidence=both, **{**base, "model": f"jumping-{name}.onnx", "wrt": wrt})
    # of a number that is turned in sign both programs say so, rather than read 9 for -9
    save("jumping-negated.onnx", [*square, node("Neg", ["k"], ["n"]), node("Greater", ["b", "n"], ["g"]), *choose], ["N", 1], None, dict(w=[0], c=2, k=9))
    case("jumping-negated", 2, "a negated constant, which this operator does not take", evidence=both, **{**base, "model": "jumping-negated.onnx"})
    # Of integers Div rounds: also of such as are chosen, be the first a constant, both, or the mask.
    whole, divided = node("Cast", ["b"], ["i"], to=7), [node("Div", ["p", "p"], ["q"]), node("Cast", ["q"], ["r"], to=1), node("Mul", ["y", "r"], ["s"]), rho]
    for name, chosen in (("first", ["g", "two", "i"]), ("both", ["g", "two", "two"]), ("mask", ["all", "i", "i"])):
        save(f"jumping-{name}.onnx", [*square, greater, whole, node("Where", chosen, ["p"]), *divided], ["N", 1], None, dict(w=[0], c=2, k=1),
             integers=dict(two=[2], all=np.array([True])))
        case(f"jumping-{name}", 2, "which the operator does not take", evidence=both, **{**base, "model": f"jumping-{name}.onnx"})
    case("jumping-off-ad", 1, "wrong side", evidence=f"evidence ad\ncell ad\n{down}",
         **{**base, "model": "jumping-off.onnx", "verdict": "in-bouligand", "proxies": ["Abs 0 1"]})


def padded():
    """Pad takes two numbers for each axis: more than a list of axes has."""
    node = helper.make_node
    nodes = [node("Mul", ["x", "w"], ["y"], "times"), node("Reshape", ["y", "shape"], ["r"], "many"), node("Pad", ["r", "pads"], ["s"], "pad"),
             node("Abs", ["s"], ["out"], "rho")]
    up, down = (f"directions 1\ndirection\nmove w at 0 {s}" for s in (1, -1))
    for axes in (5, 8):
        save(f"padded-{axes}.onnx", nodes, ["N", 1], None, dict(w=[0]), integers=dict(shape=[0] + [1] * (axes - 1), pads=[0] * (2 * axes - 1) + [1]))
        case(f"padded-{axes}", 0, "VERIFIED", evidence=f"evidence hull 2\ncell 1/2 ++++\n{up}\ncell 1/2 --++\n{down}", verdict="in-clarke",
             data="lifted.npz", touched=4, proxies=["Abs 0 0"], model=f"padded-{axes}.onnx")


def averaged():
    """Hulls whose cells' slopes have AD's for their mean: behind an exponential no gradient is rational. None with a kink behind another."""
    node = helper.make_node
    batch("averaged.npz", [[1]])
    batch("averaged-ce.npz", [[1]], np.array([0], np.int64))
    times, spread = node("MatMul", ["x", "w"], ["v"], "times"), node("Gemm", ["a", "u", "e"], ["out"], "spread")

    def both(plus, minus, move="w at 0", weight="1/2", rest="1/2"):
        return "evidence hull 2\n" + "".join(f"cell {q} {sides}\ndirections 1\ndirection\nmove {move} {by}\n"
                                             for q, sides, by in ((weight, plus, 1), (rest, minus, -1)))

    base = dict(verdict="in-clarke", data="averaged-ce.npz", touched=1, proxies=["Abs 0 0"], loss="ce", model="averaged.onnx")
    save("averaged.onnx", [times, node("Abs", ["v"], ["a"], "rho"), spread], ["N", 1], None, dict(w=[[0]], u=[[1, -2]], e=[0, 1]))
    case("averaged", 0, "VERIFIED", evidence=both("+", "-"), **base)
    case("averaged-wrong", 1, "behind a transcendental", evidence=both("+", "-", "w at 0", "1/3", "2/3"), **base)
    case("averaged-proxy", 1, "behind a transcendental", evidence=both("+", "-"), **{**base, "proxies": ["Abs 0 1/2"]})
    case("averaged-third", 0, "VERIFIED", evidence=both("+", "-", "w at 0", "2/3", "1/3"), **{**base, "proxies": ["Abs 0 1/3"]})
    case("averaged-one", 1, "wrong side", evidence=both("+", "+"), **base)
    save("averaged-max.onnx", [times, node("Neg", ["v"], ["n"]), node("Max", ["v", "n"], ["a"], "rho"), spread], ["N", 1], None,
         dict(w=[[0]], u=[[1, -2]], e=[0, 1]))
    most = {**base, "model": "averaged-max.onnx", "proxies": []}
    case("averaged-max", 0, "VERIFIED", evidence=both("a", "b"), tie="tie Maximum mean", **most)
    case("averaged-max-first", 1, "behind a transcendental", evidence=both("a", "b"), tie="tie Maximum first", **most)
    save("averaged-flat.onnx", [times, node("Abs", ["v"], ["a0"], "rho"), node("Mul", ["x", "none"], ["k"]), node("Abs", ["k"], ["a1"], "still"),
                                node("Add", ["a0", "a1"], ["a"]), spread], ["N", 1], None, dict(w=[[0]], u=[[1, -2]], e=[0, 1], none=0))
    flat = {**base, "model": "averaged-flat.onnx", "touched": 2, "wrt": "w u"}
    case("averaged-flat", 0, "VERIFIED", evidence=both("++", "-+"), **flat)
    # relu(2 v + |v|) = 3 relu(v): their difference is 0, and AD says -1/2. Its slopes are the cells' mean.
    two, relu = node("Mul", ["v", "two"], ["d"]), node("Relu", ["v"], ["r"], "other")
    ends = [node("Relu", ["s"], ["p"], "outer"), relu, node("Mul", ["r", "three"], ["q"]), node("Sub", ["p", "q"], ["out"])]
    begin = [times, node("Abs", ["v"], ["a"], "inner"), two]
    behind = {**base, "data": "averaged.npz", "loss": "sum", "touched": 3, "proxies": ["Abs 0 0", "Relu 0 1/2"]}
    weights = dict(w=[[0]], two=2, three=3)
    save("averaged-behind.onnx", [*begin, node("Add", ["a", "d"], ["s"]), *ends], ["N", 1], None, weights)
    case("averaged-behind", 1, "not AD's output", evidence=both("+++", "---"), **{**behind, "model": "averaged-behind.onnx", "wrt": "w"})
    # The same through a normalization of (0, 2 v + |v|), whose first entry is minus 2 v + |v| near 0.
    save("averaged-line.onnx", [*begin, node("Add", ["a", "d"], ["t"]), node("Mul", ["v", "none"], ["z"]),
                                node("Concat", ["z", "t"], ["c"], axis=1),
                                node("LayerNormalization", ["c", "one"], ["n"], "norm", epsilon=0.25),
                                node("MatMul", ["n", "take"], ["s"]), *ends], ["N", 1], None,
         dict(**weights, none=0, one=[1, 1], take=[[-1], [0]]), 17)
    case("averaged-line", 1, "not AD's output", evidence=both("+++", "---"), **{**behind, "model": "averaged-line.onnx", "wrt": "w"})
    # Kinks of two layers, in samples of their own; in one, when statistics of the minibatch lie between.
    batch("averaged-two.npz", [[1], [2]], np.array([0, 1], np.int64))
    layers = [times, node("Add", ["v", "b"], ["y"]), node("Abs", ["y"], ["a1"], "first"), node("Add", ["a1", "c"], ["y2"]),
              node("Abs", ["y2"], ["a"], "second"), spread]
    save("averaged-two.onnx", layers, ["N", 1], None, dict(w=[[1]], b=-1, c=-1, u=[[1, -2]], e=[0, 1]))
    case("averaged-two", 0, "VERIFIED", evidence=both("++", "--", "b at 0"),
         **{**base, "model": "averaged-two.onnx", "data": "averaged-two.npz", "touched": 2, "wrt": "b"})
    batch("averaged-one.npz", [[1]], np.array([0], np.int64))
    save("averaged-same.onnx", layers, ["N", 1], None, dict(w=[[1]], b=-1, c=0, u=[[1, -2]], e=[0, 1]))
    case("averaged-same", 1, "wrong side", evidence=both("++", "--", "b at 0"),
         **{**base, "model": "averaged-same.onnx", "data": "averaged-one.npz", "touched": 2, "wrt": "b"})
    turned = both("++", "--", "b at 0").replace("move b at 0 -1", "move b at 0 -1\nmove c at 0 -2").replace("move b at 0 1", "move b at 0 1\nmove c at 0 1")
    case("averaged-turned", 1, "behind a transcendental", evidence=turned,
         **{**base, "model": "averaged-same.onnx", "data": "averaged-one.npz", "touched": 2, "wrt": "b c"})


def sums_of_products():
    """Einsum before a kink, w x in both samples; and equations that mix samples, or that are none."""
    node = helper.make_node
    up, down = (f"directions 1\ndirection\nmove w at 0 {s}" for s in (1, -1))
    both = f"evidence hull 2\ncell 1/2 ++\n{up}\ncell 1/2 --\n{down}"
    base = dict(data="lifted.npz", touched=2, proxies=["Abs 0 0"], verdict="in-clarke")
    rho, square = node("Abs", ["s"], ["out"], "rho"), node("Mul", ["x", "w"], ["y"])
    for name, status, reason, nodes in (
            ("product", 0, "VERIFIED", [node("Einsum", ["x", "w"], ["s"], equation="bi,i->bi")]),
            ("left", 0, "VERIFIED", [node("Einsum", ["w", "x"], ["s"], equation="j , b j -> b j")]),
            ("minus", 0, "VERIFIED", [node("Neg", ["w"], ["n"]), node("Einsum", ["n", "x"], ["s0"], equation="j,bj->bj"), node("Neg", ["s0"], ["s"])]),
            ("one", 0, "VERIFIED", [square, node("Einsum", ["y"], ["s"], equation="...->...")]),
            ("broadcast", 0, "VERIFIED", [square, node("Einsum", ["y", "v"], ["s0"], equation="bi,kj->bi"), node("Einsum", ["s0", "half"], ["s"], equation="...i,->...i")]),
            ("shared", 0, "VERIFIED", [node("Shape", ["x"], ["two"]), node("Expand", ["one", "two"], ["o"]), square, node("Einsum", ["y", "o"], ["s"], equation="bi,bi->bi")]),
            ("summed", 2, "the batch axis would be mixed", [square, node("Einsum", ["y"], ["s"], equation="bi->i")]),
            ("diagonal", 2, "the batch axis would be mixed", [square, node("Einsum", ["y"], ["s"], equation="bb->b")]),
            ("apart", 2, "the batch on different axes", [square, node("Einsum", ["y", "x"], ["s"], equation="bi,ci->bc")]),
            ("rows", 2, "more than one entry along the batch axis", [square, node("Einsum", ["y", "v"], ["s"], equation="bi,bj->bi")]),
            ("sizes", 2, "axes of one name differ in length", [square, node("Einsum", ["v", "u"], ["s0"], equation="ij,i->j"), node("Einsum", ["y", "s0"], ["s"], equation="bi,j->bi")]),
            ("uneven", 2, "axes of one name differ in length", [square, node("Einsum", ["y", "v"], ["s"], equation="bi,jj->bi")]),
            ("three", 2, "more than two operands", [node("Einsum", ["x", "w", "w"], ["s"], equation="bi,i,i->bi")]),
            ("capitals", 2, "capitals have no one order", [node("Einsum", ["x", "w"], ["s"], equation="Bi,j")]),
            ("twice", 2, "the result has an axis twice", [node("Einsum", ["x", "w"], ["s"], equation="bi,i->bib")]),
            ("nowhere", 2, "the result has an axis of no operand", [node("Einsum", ["x", "w"], ["s"], equation="bi,i->bk")]),
            ("letters", 2, "no list of letters", [node("Einsum", ["x", "w"], ["s"], equation="b1,i->b1")]),
            ("arrows", 2, "no list of letters", [node("Einsum", ["x", "w"], ["s"], equation="bi,i->bi->bi")]),
            ("dots", 2, "is in the operands or the result alone", [node("Einsum", ["x", "w"], ["s"], equation="...i,i->i")]),
            ("unlike", 2, "different numbers of axes", [node("Einsum", ["x", "w"], ["s"], equation="...,...->...")]),
            ("few", 2, "another number of operands", [node("Einsum", ["x", "w"], ["s"], equation="bi->bi")]),
            ("axes", 2, "not as many axes", [node("Einsum", ["x", "w"], ["s"], equation="bij,i->bi")]),
            ("none", 2, "another number of operands", [node("Einsum", ["x", "w"], ["s"])])):
        save(f"einsum-{name}.onnx", [*nodes, rho], ["N", 1], None, dict(w=[0], v=[[1], [0]], u=[1, 2, 3], half=0.5, one=1))
        case(f"einsum-{name}", status, reason, evidence=both, **{**base, "model": f"einsum-{name}.onnx"})
    for name in ("product", "left", "minus", "broadcast"):
        model = {**base, "model": f"einsum-{name}.onnx"}
        case(f"einsum-{name}-uneven", 1, "is not AD's output", evidence=both.replace("1/2 ++", "1/4 ++").replace("1/2 --", "3/4 --"), **model)
        case(f"einsum-{name}-ad", 1, "wrong side", evidence=f"evidence ad\ncell ad\n{down}", **{**model, "verdict": "in-bouligand", "proxies": ["Abs 0 1"]})
        case(f"einsum-{name}-once", 1, "number of touched kinks is 2", evidence=both, **{**model, "touched": 1})


def dropped():
    """Dropout in training mode by a mask of the batch's. w x is |w x| / (3/4) where the mask is 1, and has no kink that moves elsewhere."""
    node = helper.make_node
    nodes = [node("Mul", ["x", "w"], ["y"]), node("Dropout", ["y", "ratio", "mode"], ["d"], "drop"), node("Abs", ["d"], ["out"], "rho")]
    mode = node("Constant", [], ["mode"], value=numpy_helper.from_array(np.array(True)))
    off = node("Constant", [], ["mode"], value=numpy_helper.from_array(np.array(False)))
    for name, more, shape, weights in (("dropped", [mode, *nodes], ["N", 1], dict(w=[0], ratio=0.25)), ("dropped-single", [mode, *nodes], [3, 1], dict(w=[0], ratio=0.25)),
                                       ("dropped-none", [mode, *nodes], ["N", 1], dict(w=[0], ratio=0)), ("dropped-all", [mode, *nodes], ["N", 1], dict(w=[0], ratio=1)),
                                       ("dropped-off", [off, *nodes], ["N", 1], dict(w=[0], ratio=0.25)),
                                       ("dropped-turned", [mode, node("Transpose", ["x"], ["t"]), node("Mul", ["t", "w"], ["y"]), nodes[1],
                                                           node("Transpose", ["d"], ["u"]), node("Abs", ["u"], ["out"], "rho")], ["N", 1], dict(w=[0], ratio=0.25)),
                                       ("dropped-again", [mode, *nodes, node("Mul", ["out", "ratio"], ["more"])], ["N", 1], dict(w=[0], ratio=0.25))):
        save(f"{name}.onnx", more, shape, None, weights)
    again = onnx.load(path("dropped-again.onnx"))
    again.graph.output[0].name = "more"
    onnx.save(again, path("dropped-again.onnx"))
    x = [[1], [2], [3]]
    for name, mask in (("dropped", [[True], [False], [True]]), ("dropped-half", [[1], [0.5], [1]]), ("dropped-few", [[1], [1]]), ("dropped-flat", [1, 0, 1])):
        arrays(f"{name}.npz", x=np.float32(x), d=np.array(mask))
    arrays("dropped-single.npz", x=np.float32([x]), d=np.int64([[1], [0], [1]]))
    arrays("dropped-other.npz", x=np.float32(x), m=np.float32(x))
    arrays("dropped-absent.npz", x=np.float32(x))
    up, down = (f"directions 1\ndirection\nmove w at 0 {s}" for s in (1, -1))
    both = f"evidence hull 2\ncell 1/2 +++\n{up}\ncell 1/2 ---\n{down}"
    base = dict(touched=3, proxies=["Abs 0 0"], verdict="in-clarke", model="dropped.onnx", data="dropped.npz")
    case("dropped", 0, "VERIFIED", evidence=both, **base)
    case("dropped-single", 0, "VERIFIED", evidence=both, **{**base, "model": "dropped-single.onnx", "data": "dropped-single.npz"})
    case("dropped-uneven", 1, "is not AD's output", evidence=both.replace("1/2 +++", "1/4 +++").replace("1/2 ---", "3/4 ---"), **base)
    case("dropped-once", 1, "number of touched kinks is 3", evidence=both, **{**base, "touched": 2})
    case("dropped-ad", 1, "wrong side", evidence=f"evidence ad\ncell ad\n{down}", **{**base, "verdict": "in-bouligand", "proxies": ["Abs 0 1"]})
    for name, reason, change in (
            ("half", "a mask is not of zeros and ones", dict(data="dropped-half.npz")), ("few", "a mask has not the shape of the output", dict(data="dropped-few.npz")),
            ("flat", "a mask has not the shape of the output", dict(data="dropped-flat.npz")), ("absent", "Dropout in training mode", dict(data="dropped-absent.npz")),
            ("other", "the batch holds 'm', which no further input is named by, nor a Dropout's output", dict(data="dropped-other.npz")),
            ("none", "a ratio that is not between 0 and 1", dict(model="dropped-none.onnx")), ("all", "a ratio that is not between 0 and 1", dict(model="dropped-all.onnx")),
            ("off", "it is not in training mode", dict(model="dropped-off.onnx")),
            ("turned", "has not the samples on its first axis", dict(model="dropped-turned.onnx")), ("again", "is used in two ways", dict(model="dropped-again.onnx"))):
        case(f"dropped-{name}", 2, reason, evidence=both, **{**base, **change})


SPARSE = """output y not-covered
    output out not-covered
    gradient y not-covered
    gradient out not-covered
    parameter s not-covered
    """
TYPES = {"F16": (11, 15, 24), "BF16": (8, 127, 126), "F32": (24, 127, 126), "F64": (53, 1023, 1022)}  # bits, largest exponent, tiny


def rounding(dtype, n, mass):
    """u(n, M) of docs/proof-format.md."""
    bits, _, tiny = TYPES[dtype]
    return Fraction(n, 2 ** bits - n) * mass + Fraction(4 * n, 2 ** tiny)


def channel(x, kind, dtype):
    """The mean or variance of a channel's entries, and what it may be off by."""
    n, mean, size = len(x), Fraction(sum(x)) / len(x), Fraction(sum(map(abs, x))) / len(x)
    if kind == "mean":
        return mean, rounding(dtype, 5 * n + 8, size)
    return sum((v - mean) ** 2 for v in x) / (n - 1), rounding(dtype, 6 * (n + 8), sum((abs(v) + size) ** 2 for v in x) / (n - 1))


def updated(old, share, own, dtype):
    """(1 - s) r + s b, and its bound; own: of one channel of each sample."""
    b, e, size = (sum(map(f, own)) / len(own) for f in (lambda m: m[0], lambda m: m[1], lambda m: abs(m[0]) + m[1]))
    spare = 8 if len(own) == 1 else len(own) + 10
    return (1 - share) * old + share * b, abs(share) * e + rounding(dtype, spare, (1 + abs(share)) * abs(old) + abs(share) * size)


def nearest(value, dtype):
    """A number of the type that is near."""
    bits, tiny = TYPES[dtype][0], TYPES[dtype][2]
    unit = 2 ** Fraction(max(math.frexp(float(value))[1] - bits, -tiny - (0 if dtype == "F16" else bits - 1)))
    return round(value / unit) * unit, unit


def statistics():
    """What a BatchNormalization brings up to date, in every type: the last number within its bound, and the next."""
    norm = helper.make_node("BatchNormalization", ["x", "s", "b", "m", "v"], ["y"], "norm", training_mode=1)
    total = helper.make_node("ReduceSum", ["y"], ["out"], "out", keepdims=0)
    x = [[1, 2], [3, -4], [8, 1]]
    weights = dict(s=[1, 1], b=[0, 0], m=[0, 0], v=[1, 1])
    save("statistic.onnx", [norm, total], ["N", 2], [], weights)
    batch("statistic.npz", x)
    tensors_file("statistic.parameters", {k: floats(v) for k, v in weights.items()})
    tensors_file("statistic.gradients", {"s": floats([0, 0])})
    files = dict(model="statistic.onnx", data="statistic.npz", gradients="statistic.gradients", parameters="statistic.parameters", wrt="s", proxies=())
    share = Fraction(3, 8)
    for dtype in TYPES:
        for kind in ("mean", "variance"):
            both = [updated(5, share, [channel(column, kind, dtype)], dtype) for column in zip(*x)]
            base = [nearest(value, dtype) for value, _ in both]
            (value, bound), (last, unit) = both[1], nearest(sum(both[1]), dtype)
            last -= unit if last > value + bound else 0
            for k, (number, status) in enumerate([(base[1][0], 0), (last, 0), (last + unit, 1), (2 * value - last - 2 * unit, 1)]):
                name = f"statistic-{dtype.lower()}-{kind}-{k}"
                tensors_file(f"{name}.trace", {"before/r": floats([5, 5], dtype), "after/r": floats([float(base[0][0]), float(nearest(number, dtype)[0])], dtype)})
                record(name, status, "farther" if status else "VERIFIED", f"{SPARSE}statistic r {kind} 1 y {share} 1 within", trace=f"{name}.trace", **files)
    statistics_without_bounds(files)
    statistics_of_single_runs(files, norm, total)


def statistics_without_bounds(files):
    """Of more entries bfloat16 has no bound, nor any type of what is larger: then no answer but not covered is true. n is 1 where no variance is."""
    for name, kind, x, dtype, value, status in (
            ("mean-23", "mean", np.ones((23, 2)), "BF16", 1, 0), ("mean-24", "mean", np.ones((24, 2)), "BF16", 1, 1),
            ("variance-13", "variance", np.ones((13, 2)), "BF16", 0, 0), ("variance-14", "variance", np.ones((14, 2)), "BF16", 0, 1),
            ("large", "variance", [[2.0 ** 61] * 2, [-2.0 ** 61] * 2], "F32", 2.0 ** 123, 0), ("larger", "variance", [[2.0 ** 62] * 2, [-2.0 ** 62] * 2], "F32", 2.0 ** 125, 1),
            ("largest", "variance", [[2.0 ** 80] * 2, [2.0 ** 80] * 2], "F32", 0, 1), ("alone", "mean", [[1, 1]], "F32", 1, 2)):
        batch(f"statistic-{name}.npz", x)
        tensors_file(f"statistic-{name}.trace", {"before/r": floats([value, value], dtype), "after/r": floats([value, value], dtype)})
        own = files | dict(data=f"statistic-{name}.npz", trace=f"statistic-{name}.trace")
        reason = {0: "VERIFIED", 1: "of 2 entries no bound is known", 2: "no rule covers it"}[status]
        record(f"statistic-{name}", min(status, 1), reason, f"{SPARSE}statistic r {kind} 1 y 1 1 within", **own)
        record(f"statistic-{name}-not", 0, "VERIFIED", f"{SPARSE}statistic r {kind} 1 y 1 1 not-covered", **own)
        record(f"statistic-{name}-where", int(status == 2), {0: "statistic r, 2 of", 1: "but for 2 without a bound", 2: reason}[status],
               f"{SPARSE}statistic r {kind} 1 y 1 1 where-bounded", **own)


def statistics_of_single_runs(files, norm, total):
    """Two samples of two channels, normalized as four channels of one: the mean of what is each sample's. A LayerNormalization has none."""
    x = [[1, 2, 6], [2, -4, 5], [-1, 0, 3], [9, 9, 8]]
    weights = dict(s=np.ones(4), b=np.zeros(4), m=np.zeros(4), v=np.ones(4))
    save("statistic-single.onnx", [norm, total], [1, 4, 3], [], weights)
    batch("statistic-single.npz", [[x]])
    tensors_file("statistic-single.parameters", {k: floats(v) for k, v in weights.items()})
    tensors_file("statistic-single.gradients", {"s": floats(np.zeros(4))})
    own = files | dict(model="statistic-single.onnx", data="statistic-single.npz", gradients="statistic-single.gradients", parameters="statistic-single.parameters")
    for kind in ("mean", "variance"):
        made = [channel(row, kind, "F32") for row in x]
        for name, samples, right in (("two", 2, [[made[0], made[2]], [made[1], made[3]]]), ("four", 1, [[m] for m in made]), ("all", 4, [made])):
            both = [updated(5, Fraction(1, 4), m, "F32") for m in right]
            (value, bound), (last, unit) = both[-1], nearest(sum(both[-1]), "F32")
            last -= unit if last > value + bound else 0
            for k, number in enumerate((last, last + unit)):
                numbers = [float(nearest(v, "F32")[0]) for v, _ in both[:-1]] + [float(number)]
                case_name = f"statistic-{name}-{kind}-{k}"
                tensors_file(f"{case_name}.trace", {"before/r": floats([5] * len(both)), "after/r": floats(numbers)})
                record(case_name, k, "farther" if k else "VERIFIED", f"{SPARSE}statistic r {kind} 1 y 1/4 {samples} within", trace=f"{case_name}.trace", **own)
    for k, samples in enumerate((1, 3, 4, 5)):
        record(f"statistic-samples-{k}", 1, "no rule covers it", f"{SPARSE}statistic r mean 1 y 1/4 {samples} within", trace="statistic-two-mean-0.trace", **own)
    statistics_that_do_not_fit(own)
    layer = helper.make_node("LayerNormalization", ["x", "s", "b"], ["y"], "norm")
    save("statistic-layer.onnx", [layer, total], [1, 4, 3], [], dict(s=np.ones(3), b=np.zeros(3)))
    tensors_file("statistic-layer.parameters", {"s": floats(np.ones(3)), "b": floats(np.zeros(3))})
    tensors_file("statistic-layer.gradients", {"s": floats(np.zeros(3))})
    own |= dict(model="statistic-layer.onnx", gradients="statistic-layer.gradients", parameters="statistic-layer.parameters")
    record("statistic-layer", 1, "no rule covers it", f"{SPARSE}statistic r mean 1 y 1/4 1 within", trace="statistic-four-mean-0.trace", **own)


def statistics_that_do_not_fit(own):
    """Two runs, whose statistics are each one's own; samples that are no whole number of buffers; integers, and counts that are none."""
    none, integers = "no rule covers it", lambda values: ("I64", [len(values)], np.asarray(values, "<i8").tobytes())
    batch("statistic-runs.npz", [[np.full((4, 3), 1)], [np.full((4, 3), 3)]])
    tensors_file("statistic-runs.trace", {"before/r": floats([2] * 4), "after/r": floats([2] * 4)})
    norm = helper.make_node("BatchNormalization", ["x", "s", "b", "m", "v"], ["out"], "norm", training_mode=1)
    save("statistic-runs.onnx", [norm], [1, 4, 3], None, dict(s=np.ones(4), b=np.zeros(4), m=np.zeros(4), v=np.ones(4)))
    record("statistic-runs", 1, none, "output out not-covered\ngradient out not-covered\nparameter s not-covered\nstatistic r mean 1 out 1 1 within",
           trace="statistic-runs.trace", **(own | dict(model="statistic-runs.onnx", data="statistic-runs.npz")))
    batch("statistic-even.npz", [[np.full((4, 3), 2)]])
    own = own | dict(data="statistic-even.npz")
    for k, (made, line, status, reason) in enumerate([
            (floats([2]), "mean 1 y 1 3", 1, none), (floats([2]), "mean 1 y 1 4", 0, "VERIFIED"), (integers([2] * 4), "mean 1 y 1 1", 1, none),
            (floats([2] * 4), "mean 1 y 1 1", 0, "VERIFIED")]):
        tensors_file(f"statistic-even-{k}.trace", {"before/r": made, "after/r": made})
        record(f"statistic-even-{k}", status, reason, f"{SPARSE}statistic r {line} within", trace=f"statistic-even-{k}.trace", **own)
    for k, (before, after, updates, status, reason) in enumerate([
            (integers([4]), integers([6]), 2, 0, "VERIFIED"), (integers([4]), integers([6]), 1, 1, "farther"), (integers([6]), integers([4]), 2, 1, "farther"),
            (floats([4]), floats([6]), 2, 1, none), (integers([4]), floats([6]), 2, 1, none), (floats([4]), integers([6]), 2, 1, none),
            (integers([4, 4]), integers([6, 6]), 2, 1, none), (integers([-1]), integers([99]), 100, 0, "VERIFIED")]):
        tensors_file(f"statistic-count-{k}.trace", {"before/r": before, "after/r": after})
        record(f"statistic-count-{k}", status, reason, f"{SPARSE}statistic r count {updates} bit-exact", trace=f"statistic-count-{k}.trace", **own)


def weights_of_nodes():
    """Weights that are Constant nodes: relu(x v) u + relu(x w), v = (0, 0), w = 0, at x = 1. Lowering v and w takes all to the left."""
    batch("nodes.npz", [[1]])
    of = lambda name, v, kind=np.float32: helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.array(v, kind)))  # noqa: E731
    save("nodes.onnx", [of("v", [[0, 0]]), of("k", [1], np.int64), helper.make_node("Identity", ["v"], ["copy"]),
                        helper.make_node("MatMul", ["x", "copy"], ["h"], "first"), helper.make_node("Relu", ["h"], ["r"], "rho"),
                        helper.make_node("Constant", [], ["u"], value_float=2.0), helper.make_node("Mul", ["r", "u"], ["s"], "by"),
                        helper.make_node("ReduceSum", ["s", "k"], ["t"], keepdims=1),
                        helper.make_node("MatMul", ["x", "w"], ["g"], "second"), helper.make_node("Relu", ["g"], ["q"], "rho2"),
                        helper.make_node("Add", ["t", "q"], ["out"], "sum")], ["N", 1], ["N", 1], dict(w=[[0]]))
    both = "directions 1\ndirection\nmove v add -1\nmove w at 0 -1"
    base = dict(verdict="in-bouligand", model="nodes.onnx", data="nodes.npz", touched=3, proxies=["Relu 0 0"],
                evidence=f"evidence ad\ncell ad\n{both}", constants="v u")
    case("nodes", 0, "VERIFIED", **base)
    case("nodes-named", 0, "VERIFIED", **{**base, "wrt": "v w"})
    case("nodes-one", 0, "VERIFIED", **{**base, "constants": "v"})
    alone = "evidence ad\ncell ad\ndirections 1\ndirection\nmove v add -1"
    case("nodes-alone", 0, "VERIFIED", **{**base, "wrt": "v", "constants": "v", "evidence": alone})
    case("nodes-none", 1, "the model has no parameter 'v'", **{**base, "constants": None})
    case("nodes-none-named", 1, "the model has no parameter 'v'", **{**base, "constants": "u", "wrt": "v"})
    for name, constants in (("order", "u v"), ("twice", "v v"), ("whole", "v k"), ("node", "v r"), ("copy", "copy"), ("unknown", "v other"),
                            ("initializer", "w v")):
        case(f"nodes-{name}", 1, "no Constant node of floats, behind those before, computes", **{**base, "constants": constants})


def declarations():
    """What is declared of types and shapes must be so, but for the shape of the output: of two samples, h = x w, (2, 1), and out = relu(h)."""
    batch("declared.npz", [[1, 1], [1, 2]])
    double, unknown = TensorProto.DOUBLE, onnx.ValueInfoProto(name="h")
    unknown.type.tensor_type.shape.dim.extend([onnx.TensorShapeProto.Dimension(dim_value=0)] * 2)
    of = helper.make_tensor_value_info

    def made(name, status, reason, first="N", out=(TensorProto.FLOAT, ["N", 1]), info=(), inputs=(), kind=np.float32, producer=""):
        nodes = [helper.make_node("MatMul", ["x", "w"], ["h"], "times"), helper.make_node("Relu", ["h"], ["out"], "rho")]
        graph = helper.make_graph(nodes, "g", [of("x", TensorProto.FLOAT, [first, 2]), *inputs], [of("out", *out)],
                                  [numpy_helper.from_array(np.ones((2, 1), kind), "w")], value_info=list(info))
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name=producer)
        with open(path(f"declared-{name}.onnx"), "wb") as f:
            f.write(model.SerializeToString())
        case(f"declared-{name}", status, reason, verdict="in-bouligand", model=f"declared-{name}.onnx", data="declared.npz", touched=0,
             proxies=["Relu 0 0"], evidence=NOTHING)

    made("plain", 0, "VERIFIED", info=[of("h", TensorProto.FLOAT, ["N", 1]), of("w", TensorProto.FLOAT, [2, 1]), unknown, of("z", double, [9])])
    made("others", 0, "VERIFIED", info=[of("h", TensorProto.FLOAT, [7, 1])])
    made("listed", 0, "VERIFIED", inputs=[of("w", TensorProto.FLOAT, ["K", 1])])
    made("recorded", 2, "input 'w' is DOUBLE and one before it is FLOAT; ONNX wants one type", kind=np.float64, producer="clarke.record")
    made("mixed", 2, "input 'w' is DOUBLE and one before it is FLOAT; ONNX wants one type", kind=np.float64)
    made("out-type", 2, "output 'out' is declared as DOUBLE, and is FLOAT", out=(double, ["N", 1]))
    made("out-rank", 0, "VERIFIED", out=(TensorProto.FLOAT, ["N"]))
    made("out-run", 0, "VERIFIED", first=1, out=(TensorProto.FLOAT, [2, 1]))
    made("out-runs", 0, "VERIFIED", first=1, out=(TensorProto.FLOAT, [1, 1]))
    made("out-one", 0, "VERIFIED", first=2, out=(TensorProto.FLOAT, [1, 1]))
    made("type", 2, "value 'h' is declared as DOUBLE, and is FLOAT", info=[of("h", double, None)])
    made("shape", 2, "value 'h' does not have the shape that is declared", info=[of("h", TensorProto.FLOAT, ["N", 2])])
    made("batch", 2, "value 'h' does not have the shape that is declared", first=2, info=[of("h", TensorProto.FLOAT, [1, 1])])
    made("twice", 2, "value 'h' does not have the shape that is declared",
         info=[of("h", TensorProto.FLOAT, ["N", 1]), of("h", TensorProto.FLOAT, ["N", 1, 1])])
    made("input", 2, "value 'w' does not have the shape that is declared", inputs=[of("w", TensorProto.FLOAT, [1, 2])])
    made("input-type", 2, "input 'w' is declared as DOUBLE, and is FLOAT", inputs=[of("w", double, [2, 1])])


def zone(name, status, reason, model, data, touched, lines, loss="sum", wrt="w"):
    """The same of a claim about a zone."""
    head = ["clarke-proof 1", "claim zone", "semantics real", f"model {model} {sha(model)}", f"batch {data} {sha(data)}",
            f"loss {loss}", f"wrt {wrt}", f"touched {touched}"]
    body = "\n".join(head + lines) + "\n"
    with open(path(name + ".proof"), "w") as f:
        f.write(body + "end " + hashlib.sha256(body.encode()).hexdigest() + "\n")
    INDEX.append(f"{name}.proof {status} {reason}")


def zones():
    two = dict(model="lemma2.onnx", data="lemma2.npz", touched=2)
    zone("zone-lemma2", 0, "VERIFIED", lines=["zone bifurcation", "switch 0 +", "entry w 0"], **two)
    for name, reason, lines in [
        ("none", "'switch' is expected", ["zone bifurcation", "entry w 0"]),
        ("first", "another side than the first", ["zone bifurcation", "switch 0 -", "entry w 0"]),
        ("letter", "has no side 'b'", ["zone bifurcation", "switch 0 b", "entry w 0"]),
        ("order", "in increasing order", ["zone bifurcation", "switch 1 +", "switch 0 +", "entry w 0"]),
        ("missing", "in increasing order", ["zone bifurcation", "switch 2 +", "entry w 0"]),
        ("entry", "an entry of a parameter in wrt", ["zone bifurcation", "switch 0 +", "entry w 1"]),
        ("other", "'compensation' or 'bifurcation'", ["zone regular"]),
        ("uncut", "the loss has a derivative by the output", ["zone compensation"]),
        ("cut", "has a derivative by a parameter", ["zone compensation", "cut 0", "cut 1"]),
        ("cut-order", "in increasing order", ["zone compensation", "cut 1", "cut 1"]),
        ("cut-missing", "in increasing order", ["zone compensation", "cut 2"]),
        ("after", "'end' is expected", ["zone bifurcation", "switch 0 +", "entry w 0", "cut 0"]),
    ]:
        zone("zone-lemma2-" + name, 1, reason, lines=lines, **two)
    zone("zone-lemma2-touched", 1, "number of touched kinks is 2", lines=["zone bifurcation", "switch 0 +", "entry w 0"], **{**two, "touched": 1})

    def net(name, nodes, out=1, **parameters):
        save(name, [helper.make_node("MatMul", ["x", "w"], ["a"], name="a"), *nodes], ["N", 1], ["N", out],
             {"w": [[0]], **parameters})

    batch("zone.npz", [[1]])
    batch("zone-zero.npz", [[0]])
    # u x w x has the gradient 0 at u = w = 0, whatever relu's slope is.
    net("zone-product.onnx", [helper.make_node("MatMul", ["x", "u"], ["b"], name="b"), helper.make_node("Mul", ["a", "b"], ["p"], name="p"),
                              helper.make_node("Relu", ["p"], ["out"], name="rho")], u=[[0]])
    product = dict(model="zone-product.onnx", data="zone.npz", touched=1, wrt="w u")
    zone("zone-product", 0, "VERIFIED", lines=["zone compensation", "cut 0"], **product)
    zone("zone-product-uncut", 1, "which is not cut off", lines=["zone compensation"], **product)
    zone("zone-product-switch", 1, "does not change", lines=["zone bifurcation", "switch 0 +", "entry w 0"], **product)
    zone("zone-product-flat", 1, "is constant, and need not be", lines=["zone compensation", "cut 0"], **{**product, "data": "zone-zero.npz"})
    zone("zone-product-constant", 0, "VERIFIED", lines=["zone compensation"], **{**product, "data": "zone-zero.npz"})
    base = dict(model="zone-product.onnx", data="zone.npz", touched=1, proxies=["Relu 0 7"], wrt="w u")
    case("compensation", 0, "VERIFIED", verdict="in-bouligand", evidence="evidence compensation\ncut 0", **base)
    case("compensation-uncut", 1, "which is not cut off", verdict="in-bouligand", evidence="evidence compensation", **base)
    case("compensation-clarke", 1, "does not prove", verdict="in-clarke", evidence="evidence compensation\ncut 0", **base)
    case("compensation-lemma2", 1, "has a derivative by a parameter", verdict="in-bouligand", proxies=["Relu 0 0"],
         evidence="evidence compensation\ncut 0\ncut 1", **two)
    # A chain of two: one alone leaves the other's slope at 0. relu(w) - relu(relu(w)): both together change nothing.
    net("zone-chain.onnx", [helper.make_node("Relu", ["a"], ["r"], name="rho"), helper.make_node("Relu", ["r"], ["out"], name="sigma")])
    chain = dict(model="zone-chain.onnx", data="zone.npz", touched=2)
    zone("zone-chain", 0, "VERIFIED", lines=["zone bifurcation", "switch 0 +", "switch 1 +", "entry w 0"], **chain)
    zone("zone-chain-one", 1, "does not change", lines=["zone bifurcation", "switch 0 +", "entry w 0"], **chain)
    zone("zone-chain-cut", 1, "which is not cut off", lines=["zone compensation", "cut 1"], **chain)
    net("zone-longer.onnx", [helper.make_node("Relu", ["a"], ["r"], name="rho"), helper.make_node("Relu", ["r"], ["s"], name="sigma"),
                             helper.make_node("Sub", ["r", "s"], ["out"], name="out")])
    longer = {**chain, "model": "zone-longer.onnx"}
    zone("zone-longer", 0, "VERIFIED", lines=["zone bifurcation", "switch 0 +", "entry w 0"], **longer)
    zone("zone-longer-both", 1, "does not change", lines=["zone bifurcation", "switch 0 +", "switch 1 +", "entry w 0"], **longer)
    # The largest of two entries relu(w) less the first of them: both are one function, and each has a slope of its own.
    net("zone-loose.onnx", [helper.make_node("Concat", ["a", "a"], ["c"], name="c", axis=1), helper.make_node("Relu", ["c"], ["r"], name="rho"),
                            helper.make_node("ReduceMax", ["r"], ["m"], name="m", axes=[1], keepdims=1),
                            helper.make_node("MatMul", ["r", "first"], ["f"], name="f"), helper.make_node("Sub", ["m", "f"], ["out"], name="out")],
        first=[[1], [0]])
    loose = dict(model="zone-loose.onnx", data="zone.npz", touched=2)
    zone("zone-loose", 1, "ties of entries that are one function", lines=["zone compensation"], **loose)
    zone("zone-loose-still", 0, "VERIFIED", lines=["zone compensation"], **{**loose, "data": "zone-zero.npz"})
    # exp, or relu, of the largest of a constant 0 and a normalized relu(w): both are 0 near w, and what normalization makes has a slope
    # where the two relus have two.
    for name, last in [("exp", "Exp"), ("relu", "Relu")]:
        net(f"zone-still-{name}.onnx", [
            helper.make_node("Concat", ["a", "a"], ["c"], name="c", axis=1), helper.make_node("Relu", ["c"], ["r"], name="rho"),
            helper.make_node("LayerNormalization", ["r", "ones"], ["n"], name="n", axis=-1, epsilon=1.0),
            helper.make_node("MatMul", ["n", "first"], ["f"], name="f"), helper.make_node("Mul", ["x", "nothing"], ["z"], name="z"),
            helper.make_node("Max", ["z", "f"], ["m"], name="m"), helper.make_node(last, ["m"], ["out"], name="out")],
            ones=[1, 1], first=[[1], [0]], nothing=[0])
        zone(f"zone-still-{name}", 1, "a constant is tied with what follows", model=f"zone-still-{name}.onnx", data="zone.npz",
             touched=2 + (last == "Relu"), lines=["zone compensation"])
    # Irrational derivatives: cross entropy.
    net("zone-classes.onnx", [helper.make_node("Relu", ["a"], ["r"], name="rho"), helper.make_node("MatMul", ["r", "u"], ["out"], name="out")],
        out=2, u=[[1, -2]])
    batch("zone-classes.npz", [[1]], np.asarray([0]))
    classes = dict(model="zone-classes.onnx", data="zone-classes.npz", touched=1, loss="ce")
    zone("zone-classes", 0, "VERIFIED", lines=["zone bifurcation", "switch 0 +", "entry w 0"], **classes)
    zone("zone-classes-cut", 1, "which is not cut off", lines=["zone compensation"], **classes)
    # Of outputs r, -r, 1 at r = 0 equal ones are taken together, each less the label's.
    net("zone-sums.onnx", [helper.make_node("Relu", ["a"], ["r"], name="rho"), helper.make_node("Gemm", ["r", "u", "b"], ["out"], name="out")],
        out=3, u=[[1, -1, 0]], b=[0, 0, 1])
    for label in (2, 0):
        batch(f"zone-sums-{label}.npz", [[1], [1]], np.asarray([2, label]))
    # The same outputs, which are not known to be rational.
    net("zone-roots.onnx", [helper.make_node("Relu", ["a"], ["r"], name="rho"), helper.make_node("Gemm", ["r", "u", "b"], ["s"], name="s"),
                            helper.make_node("Exp", ["s"], ["out"], name="out")], out=3, u=[[1, -1, 0]], b=[0, 0, 1])
    sums = dict(model="zone-sums.onnx", data="zone-sums-2.npz", touched=2, loss="ce")
    zone("zone-sums", 0, "VERIFIED", lines=["zone compensation"], **sums)
    zone("zone-sums-switch", 1, "the derivative changes", lines=["zone bifurcation", "switch 0 +", "entry w 0"], **sums)
    sums["data"] = "zone-sums-0.npz"
    zone("zone-sums-label", 1, "which is not cut off", lines=["zone compensation"], **sums)
    zone("zone-sums-label-switch", 0, "VERIFIED", lines=["zone bifurcation", "switch 1 +", "entry w 0"], **sums)
    zone("zone-sums-label-other", 1, "the derivative changes", lines=["zone bifurcation", "switch 0 +", "entry w 0"], **sums)
    zone("zone-sums-irrational", 1, "which is not cut off", lines=["zone compensation"], **{**sums, "model": "zone-roots.onnx", "data": "zone-sums-2.npz"})
    # A Softmax of equal logits has rational slopes: of relu(a) it is handed the same twice, 1/2 and -1/2 of it come to the loss.
    for name, u, b in [("", [[2, 2]], [0, 0]), ("-apart", [[2, 1]], [0, 0]), ("-irrational", [[2, 2]], [0, 1])]:
        net(f"zone-softmax{name}.onnx", [
            helper.make_node("Relu", ["a"], ["r"], name="rho"), helper.make_node("Gemm", ["r", "u", "b"], ["l"], name="l"),
            helper.make_node("Softmax", ["l"], ["y"], name="soft", axis=-1), helper.make_node("MatMul", ["y", "d"], ["out"], name="out")],
            u=u, b=b, d=[[1], [-1]])
        zone(f"zone-softmax{name}", 1 if name else 0, "which is not cut off" if name else "VERIFIED", lines=["zone compensation"],
             model=f"zone-softmax{name}.onnx", data="zone.npz", touched=1)

    zones_of_lines(net)
    zones_of_functions(net)


def zones_of_lines(net):
    """What a normalization hands back may cancel before its irrational root multiplies it; of a LogSoftmax, where its adjoints sum up to 0."""
    def either(name, behind, lines=None, **parameters):
        model = f"zone-{name}.onnx"
        net(model, [helper.make_node("Relu", ["a"], ["r"], name="rho"), *behind], **parameters)
        asked = dict(model=model, data="zone-two.npz", touched=2)
        zone(f"zone-{name}", int(lines is not None), "which is not cut off" if lines else "VERIFIED", lines=["zone compensation"], **asked)
        if lines:
            zone(f"zone-{name}-switch", 0, "VERIFIED", lines=["zone bifurcation", *lines, "entry w 0"], **asked)

    batch("zone-two.npz", [[1], [2]])
    training = dict(name="norm", epsilon=1e-5, training_mode=1)
    held = dict(g=[1], b=[0], m=[0], v=[1])
    norm = helper.make_node("BatchNormalization", ["r", "g", "b", "m", "v"], ["n", "m1", "v1"], **training)
    either("batch", [norm, helper.make_node("Identity", ["n"], ["out"], name="out")], **held)
    either("batch-apart", [norm, helper.make_node("Mul", ["n", "x"], ["out"], name="out")], ["switch 0 +"], **held)
    # r, and two constants behind it: entry 0 of the line has back 3 d0 - (d0 + d1 + d2), and more where the constants are not 0.
    for name, constants, by, lines in [("line", [0, 0], [0, 1, -1], None), ("line-apart", [0, 0], [0, 1, 1], ["switch 0 +"]),
                                       ("line-spread", [1, 3], [0, 1, -1], ["switch 0 +"])]:
        either(name, [helper.make_node("Gemm", ["r", "first", "more"], ["c"], name="c"),
                      helper.make_node("LayerNormalization", ["c", "ones"], ["n"], name="norm", axis=-1, epsilon=2.0),
                      helper.make_node("MatMul", ["n", "by"], ["out"], name="out")], lines,
               first=[[1, 0, 0]], more=[0, *constants], ones=[1, 1, 1], by=[[d] for d in by])
    for name, by, lines in [("log", [0, 1, -1], None), ("log-apart", [0, 1, 0], ["switch 0 +"])]:
        either(name, [helper.make_node("Gemm", ["r", "first", "more"], ["c"], name="c"),
                      helper.make_node("LogSoftmax", ["c"], ["n"], name="log", axis=-1), helper.make_node("MatMul", ["n", "by"], ["out"], name="out")],
               lines, first=[[1, 0, 0]], more=[0, 1, 2], by=[[d] for d in by])


def zones_of_functions(net):
    """Two slopes less one another, of functions of relu(a) + b: they cancel where they are known to be rational and equal."""
    def known(function, b, holds):
        name = f"zone-{function.lower()}-{b[0]}{b[1]}"
        net(name + ".onnx", [helper.make_node("Relu", ["a"], ["r"], name="rho"), helper.make_node("Gemm", ["r", "twice", "b"], ["c"], name="c"),
                             helper.make_node(function, ["c"], ["f"], name="f"), helper.make_node("MatMul", ["f", "by"], ["out"], name="out")],
            twice=[[1, 1]], b=b, by=[[1], [-1]])
        zone(name, int(not holds), "VERIFIED" if holds else "which is not cut off", lines=["zone compensation"], model=name + ".onnx",
             data="zone.npz", touched=1)

    for function in ("Exp", "Softplus", "Sin", "Cos"):
        known(function, [0, 0], True)
        known(function, [1, 1], False)
        known(function, [0, 1], False)
    for b, holds in ([1, 1], True), ([1, 0], False):
        known("Atan", b, holds)
    known("Erf", [0, 0], False)
    # 0 relu(a) + x exp(a + 70000): no exponential so large is asked for, since x does not vary.
    net("zone-far.onnx", [helper.make_node("Relu", ["a"], ["r"], name="rho"), helper.make_node("Mul", ["r", "nothing"], ["n"], name="n"),
                          helper.make_node("Add", ["a", "far"], ["f"], name="f"), helper.make_node("Exp", ["f"], ["e"], name="e"),
                          helper.make_node("Mul", ["e", "x"], ["p"], name="p"), helper.make_node("Add", ["n", "p"], ["out"], name="out")],
        nothing=[0], far=[70000])
    zone("zone-far", 0, "VERIFIED", lines=["zone compensation"], model="zone-far.onnx", data="zone.npz", touched=1)
    # Outputs r, -r and exp(x - 1), of which only a sample with r = 0 must have rational ones.
    net("zone-beside.onnx", [helper.make_node("Add", ["x", "less"], ["o"], name="o"), helper.make_node("Sum", ["a", "o"], ["s"], name="s"),
                             helper.make_node("Relu", ["s"], ["r"], name="rho"), helper.make_node("Exp", ["o"], ["e"], name="e"),
                             helper.make_node("Concat", ["r", "e"], ["c"], name="c", axis=1), helper.make_node("MatMul", ["c", "u"], ["out"], name="out")],
        out=3, less=[-1], u=[[1, -1, 0], [0, 0, 1]])
    for name, x in [("", [1, 2]), ("-both", [1, 1])]:
        batch(f"zone-beside{name}.npz", [[number] for number in x], np.asarray([2, 2]))
        zone(f"zone-beside{name}", 0, "VERIFIED", lines=["zone compensation"], model="zone-beside.onnx", data=f"zone-beside{name}.npz",
             touched=x.count(1), loss="ce")


def irrational_rows():
    """relu(b) - relu(-b) + relu(q), or + max(q, -q), q the second channel of a BatchNormalization: its derivative by x's weight has a root for a
    factor, that by its shift has none. Nothing of b's tree depends on it."""
    tree = "tree\nbranch 0\nbranch 1\ndead 2\nu 0 1\nu 1 1\nleaf\nbranch 1\nleaf\ndead 2\nu 0 1\nu 1 1"
    largest = [helper.make_node("MatMul", ["n", "signs"], ["t"], name="t"), helper.make_node("Reshape", ["t", "shape"], ["l"], name="l"),
               helper.make_node("MaxPool", ["l"], ["p"], name="pool", kernel_shape=[2]), helper.make_node("Flatten", ["p"], ["f"], name="f"),
               helper.make_node("Add", ["o", "f"], ["out"], name="out")]
    for name, last, more, of_q in [("", [helper.make_node("Identity", ["o"], ["out"], name="out")], {}, 1), ("-window", largest, {"signs": [[0, 0], [1, -1]]}, 0)]:
        save(f"rooted-beside{name}.onnx", [
            helper.make_node("MatMul", ["x", "w"], ["h"], name="h"), helper.make_node("BatchNormalization", ["h", "g", "b", "m", "v"], ["n"], name="n", epsilon=1.0),
            helper.make_node("MatMul", ["n", "sides"], ["s"], name="s"), helper.make_node("Relu", ["s"], ["r"], name="rho"),
            helper.make_node("MatMul", ["r", "by"], ["o"], name="o"), *last], ["N", 1], ["N", 1],
            {"w": [[0, 0]], "g": [0, 1], "b": [0, 0], "m": [0, 0], "v": [1, 2], "sides": [[1, -1, 0][:2 + of_q], [0, 0, 1][:2 + of_q]],
             "by": [[1], [-1], [1]][:2 + of_q], **more}, integers={} if of_q else {"shape": [0, 1, 2]})
        for end, status, reason, v in [("", 0, "VERIFIED", "v b 0 -1"), ("-moved", 1, "moves along v", "v b 0 -1\nv b 1 1")]:
            case(f"rooted-beside{name}{end}", status, reason, verdict="not-in-clarke", model=f"rooted-beside{name}.onnx", data="zone.npz", touched=3,
                 proxies=["Relu 0 0"], tie=None if of_q else "first", wrt="b w", evidence=f"evidence separator\n{v}\n{tree}")


def main():
    os.makedirs(DATA, exist_ok=True)
    for name in ["lemma2", "lemma3", "abs", "global-only", "leaky-cascade"]:
        for end in [".onnx", ".npz"]:
            shutil.copy(os.path.join(AUDIT, name + end), DATA)
    for make in [lemma2, lemma3, one_layer_abs, two_layers, cascade, sigmoid, prelu, no_bend, constant_behind, convolutions, tied, opposed,
                 normalized, near_kinks, resting, factors, false_factors, products_of_parameters,
                 quotients_by_parameters, slopes_of_quotients, windows_of_products, identities, statements, roles, runs, lists,
                 long_lists, orders, bounds, simplices, balances, layers, exact_layers, trained, wide, routed, global_maxima, refusals, words, fan,
                 negated, own_losses, clamped, inputs, single_runs, records, extremes, sorts, expanded,
                  recurrent, needs, chains, lifted_constants, masked, values_that_are_shown, compared, jumping, padded, averaged, sums_of_products, dropped,
                  statistics, declarations, weights_of_nodes, zones, irrational_rows]:
        make()
    operators()
    graphs_as_operators()
    graphs_in_nodes()
    with open(path("operators.txt"), "w") as f:
        f.write("\n".join(OPERATORS) + "\n")
    with open(path("index.txt"), "w") as f:
        f.write("\n".join(INDEX) + "\n")
    edits.fold(Path(DATA), [line.split(" ")[0] for line in INDEX])


if __name__ == "__main__":
    main()
