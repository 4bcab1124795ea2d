#!/usr/bin/env python3
"""How many random little networks stay undecided, class by class; and is any verdict contradicted?

undecided.py CLARKE CHECKER [--number N] [--seed S] [--only CLASS] [--most PERCENT] [--same N] [--show] [--keep FOLDER]

Every network is drawn on its kinks: small whole weights, many of them 0. The verdict's proof is verified. Limits of
gradients are found by arithmetic of its own: along w + t d1 + t^2 d2 + t^3 d3 every activation is a power series in t
whose first coefficient that is not 0 has its sign, for all small t > 0. A series is of rationals; behind a root, of numbers
with 60 digits, and such a limit only counts where it is AD's to 40 digits.

--same: doubled samples, or nodes that change nothing, must not change a verdict (but in training, where they change the
function; and but where a limit is reached).

A network is contradicted when `not-in-clarke` is said and AD's gradient is one of the limits or between some of them. A
contradiction, or more than PERCENT undecided, is exit status 1.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from series import NotGeneric, loss_gradient, run, zero


class Network:
    """Nodes (op, inputs, attributes) on arrays without the batch axis."""

    def __init__(self, draw):
        self.draw, self.nodes, self.parameters, self.trains = draw, [], {}, set()

    def parameter(self, shape, trains=True, ones=False):
        d = self.draw
        name = f"p{len(self.parameters)}"
        sparse = d.random() < 0.35
        values = [d.choice([0, 0, 0, 1] if sparse else [-2, -1, -1, 0, 1, 1, 2]) for _ in range(int(np.prod(shape)))]
        if ones:
            values = [d.choice([1, 1, 1, 0, 2]) for _ in values]
        self.parameters[name] = np.array(values, object).reshape(shape)
        if trains:
            self.trains.add(name)
        return name

    def add(self, op, *inputs, **attributes):
        self.nodes.append((op, list(inputs), attributes))
        return f"v{len(self.nodes) - 1}"


def model_of(net, x):
    shape = ["N"] + list(x[0].shape)
    nodes, initializers = [], {n: p.astype(np.float32) for n, p in net.parameters.items()}
    shapes = {}
    for k, (op, inputs, a) in enumerate(net.nodes):
        out = [f"v{k}"]
        if op == "AddParameter":
            p = net.parameters[inputs[1]]
            if inputs[0] in shapes and p.ndim == 1 and len(shapes[inputs[0]]) == 2:
                initializers[inputs[1]] = p.reshape(-1, 1).astype(np.float32)
            nodes.append(helper.make_node("Add", inputs, out))
        elif op in ("MaxPool", "AveragePool"):
            nodes.append(helper.make_node(op, inputs, out, kernel_shape=[2], strides=[2]))
        elif op in ("ReduceMax", "ReduceMin"):
            nodes.append(helper.make_node(op, inputs, out, axes=[len(net.shapes[k])]))
        elif op in ("TopK", "Tile"):
            count = [a["k"]] if op == "TopK" else [1] * len(net.shapes[k]) + [2]
            nodes.append(helper.make_node("Constant", [], [f"count{k}"], value=numpy_helper.from_array(np.array(count, np.int64))))
            nodes.append(helper.make_node(op, inputs + [f"count{k}"], out, **(dict(largest=a["largest"]) if op == "TopK" else {})))
        elif op == "Clip":
            for end in ("low", "high"):
                initializers[f"{end}{k}"] = np.float32(a[end])
            nodes.append(helper.make_node(op, inputs + [f"low{k}", f"high{k}"], out))
        elif op in ("BatchNormalization", "BatchTraining"):
            n = net.parameters[inputs[1]].size
            initializers[f"mean{k}"] = np.array(a.get("mean", [0] * n), np.float32)
            initializers[f"var{k}"] = np.array(a.get("var", [1] * n), np.float32)
            more = [f"rm{k}", f"rv{k}"] if op == "BatchTraining" else []
            nodes.append(helper.make_node("BatchNormalization", inputs + [f"mean{k}", f"var{k}"], out + more, epsilon=a["epsilon"],
                                          **(dict(training_mode=1) if more else {})))
        else:
            nodes.append(helper.make_node(op, inputs, out, **a))
        shapes[f"v{k}"] = net.shapes[k]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info(f"v{len(net.nodes) - 1}", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(np.asarray(v, np.float32), k) for k, v in initializers.items()])
    m = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    m.ir_version = 8
    return m


CLASSES = ["dense", "leaky", "abs", "clip", "conv", "pool", "residual", "batchnorm", "training", "layernorm", "instancenorm",
           "product", "quotient", "root", "elu", "softmax", "extremes", "paired"]
# What PyTorch does at ties of these no file says: with the first of the largest the profile is one.
TIES = "".join(f"tie {op} first\n" for op in ("Maximum", "Minimum", "ReduceMax", "ReduceMin", "TopK"))


def draw_network(kind, d):
    net = Network(d)
    net.shapes = []
    act = {"leaky": "LeakyRelu", "abs": "Abs", "clip": "Clip", "elu": "Elu"}.get(kind, "Relu")
    space = kind in ("conv", "pool", "instancenorm") or (kind in ("batchnorm", "training", "extremes") and d.random() < 0.5)
    shape = (d.randint(1, 2), d.choice([3, 4, 5])) if space else (d.randint(1, 3),)

    def add(op, shape, *inputs, **a):
        net.shapes.append(shape)
        return net.add(op, *inputs, **a)

    def activation(v, shape):
        a = {"alpha": d.choice([0.25, 0.5, -0.5])} if act == "LeakyRelu" else \
            {"low": d.choice([-1, 0]), "high": d.choice([1, 2])} if act == "Clip" else \
            {"alpha": d.choice([0.5, 1.0, 2.0])} if act == "Elu" else {}
        return add(act, shape, v, **a)

    def mixed(v, shape):
        """v times, over or beside another value of its shape; the latter's are positive where they must be."""
        u = d.choice([f"v{k}" for k, s in enumerate(net.shapes) if s == shape])
        if kind == "softmax":
            u = add("Softmax", shape, u)
        if kind == "quotient":
            u = add("Abs", shape, u)
        if kind == "root":
            u = add("Mul", shape, u, u)
        if kind in ("quotient", "root"):
            one = net.parameter((shape[0],), False)
            net.parameters[one][...] = d.choice([1, 4])
            u = add("AddParameter", shape, u, one)
        if kind == "root":
            u = add("Sqrt", shape, u)
        return add("Div" if kind in ("quotient", "root") and d.random() < 0.8 else "Mul", shape, v, u)

    def extreme(v, shape):
        """The largest or smallest of several; entries in order; entries twice."""
        op = d.choice(["Max", "Min", "ReduceMax", "ReduceMin", "TopK", "TopK", "Tile"])
        if op in ("Max", "Min"):
            others = [f"v{k}" for k, s in enumerate(net.shapes) if s == shape]
            return add(op, shape, v, *d.choices(others, k=d.randint(1, 2))), shape
        if op == "TopK":
            k = d.randint(1, shape[-1])
            return add(op, shape[:-1] + (k,), v, k=k, largest=d.choice([0, 1])), shape[:-1] + (k,)
        if op == "Tile" and shape[-1] > 2:
            return v, shape
        shape = shape[:-1] + (1 if op != "Tile" else 2 * shape[-1],)
        return add(op, shape, v), shape

    def paired(v, shape):
        """relu(z) - relu(-z), which is z; or less often |z|, relu(z) + z, and so on."""
        sides = [add("Relu", shape, v), add("Relu", shape, add("Neg", shape, v))]
        if d.random() < 0.2:
            sides[1] = v
        return add("Sub" if d.random() < 0.75 else "Add", shape, *sides)

    samples = d.randint(1, 3) if kind not in ("training", "paired") else d.randint(2, 3 if kind == "training" else 4)
    x = [np.array([d.choice([-2, -1, 0, 0, 1, 1, 2]) for _ in range(int(np.prod(shape)))], object).reshape(shape)
         for _ in range(samples)]
    trains = lambda: d.random() < 0.7  # noqa: E731
    v = "x"
    for layer in range(d.randint(1, 3)):
        before, was = v, shape
        if space and len(shape) == 2 and shape[1] >= 2:
            side = d.choice([1, 2])
            channels = d.randint(1, 2)
            v = add("Conv", (channels, shape[1] - side + 1), v, net.parameter((channels, shape[0], side), trains()))
            shape = (channels, shape[1] - side + 1)
        elif len(shape) == 2:
            shape = (shape[0] * shape[1],)
            v = add("Flatten", shape, v)
            continue
        else:
            width = was[0] if kind == "residual" and d.random() < 0.7 else d.randint(1, 3)
            v = add("MatMul", (width,), v, net.parameter((shape[0], width), trains()))
            shape = (width,)
        if d.random() < 0.6:
            v = add("AddParameter", shape, v, net.parameter((shape[0],), trains()))
        if kind in ("batchnorm", "training", "layernorm", "instancenorm"):
            op = {"batchnorm": "BatchNormalization", "training": "BatchTraining", "layernorm": "LayerNormalization",
                  "instancenorm": "InstanceNormalization"}[kind]
            if op == "InstanceNormalization" and len(shape) == 1:
                op = "LayerNormalization"
            a = {"epsilon": d.choice([0.25, 1.0, 2.0])}
            if op == "BatchNormalization":
                a.update(mean=[d.choice([-1, 0, 0, 1]) for _ in range(shape[0])], var=[d.choice([0, 3, 1]) for _ in range(shape[0])])
            scale, shift = net.parameter((shape[0],), trains(), ones=True), net.parameter((shape[0],), trains())
            if d.random() < 0.6:
                net.parameters[shift][...] = 0
            v = add(op, shape, v, scale, shift, **a)
        if kind == "paired" and d.random() < 0.7:
            v = paired(v, shape)
        elif d.random() < 0.85:
            v = activation(v, shape)
        if kind in ("product", "quotient", "root", "softmax") and d.random() < 0.7:
            v = mixed(v, shape)
            if d.random() < 0.3:
                v = activation(v, shape)
        if kind == "extremes" and d.random() < 0.8:
            v, shape = extreme(v, shape)
        if kind == "residual" and shape == was and before != "x":
            v = add("Add", shape, v, before)
            if d.random() < 0.5:
                v = activation(v, shape)
        if kind in ("pool", "instancenorm") and len(shape) == 2 and shape[1] >= 2 and d.random() < 0.7:
            op = d.choice(["MaxPool", "MaxPool", "GlobalMaxPool", "AveragePool"])
            shape = (shape[0], 1 if op == "GlobalMaxPool" else shape[1] // 2)
            v = add(op, shape, v)
    if net.nodes and net.nodes[-1][0] == "Flatten" and len(net.nodes) == 1:
        return None
    size = sum(net.parameters[n].size for n in net.trains)
    if size == 0 or size > (20 if kind == "paired" else 14):
        return None
    targets = [np.array([d.choice([-1, 0, 1]) for _ in range(int(np.prod(shape)))], object).reshape(shape) for _ in x] \
        if d.random() < 0.5 else None
    return net, x, targets


def in_hull(points, q):
    """Is q a convex combination? By floats: a hint."""
    from scipy.optimize import linprog
    a = np.array([[float(c) for c in p] for p in points]).T
    b = np.array([float(c) for c in q])
    answer = linprog(np.zeros(a.shape[1]), A_eq=np.vstack([a, np.ones(a.shape[1])]), b_eq=np.append(b, 1), bounds=(0, None))
    return answer.status == 0


def limits_of(net, x, targets, total, d, number=60):
    found = []
    for _ in range(number):
        sparse = d.random() < 0.5
        way = [[d.randint(-9, 9) if not sparse or d.random() < 0.5 else 0 for _ in range(total)] for _ in range(3)]
        try:
            out, _ = run(net, x, way)
        except NotGeneric:
            continue
        g = loss_gradient(out, targets or [None] * len(out), total)
        if not any(all(zero(a - b) for a, b in zip(g, h)) for h in found):
            found.append(g)
    return found


def audit_one(options, kind, d, folder):
    drawn = draw_network(kind, d)
    if drawn is None:
        return None
    net, x, targets = drawn
    onnx.save(model_of(net, x), os.path.join(folder, "net.onnx"))
    arrays = {"x": np.stack([s.astype(np.float32) for s in x])}
    if targets is not None:
        arrays["y"] = np.stack([t.astype(np.float32) for t in targets])
    np.savez(os.path.join(folder, "batch.npz"), **arrays)
    command = [options.clarke, "audit", "net.onnx", "--batch", "batch.npz", "--loss", "mse" if targets is not None else "sum",
               "--wrt", ",".join(sorted(net.trains)), "--profile", "./ties", "--json", "--proof", "proof", "--zone-proof", "zone"]
    with open(os.path.join(folder, "ties"), "w") as ties:
        ties.write(TIES)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode not in (0, 1, 3):
        sys.exit(f"{kind}: clarke ends with {done.returncode}: {done.stderr} ({folder})")
    report = json.loads(done.stdout)
    for proof, claimed in ("proof", report["verdict"] != "undecided"), ("zone", report["zone"] in ("compensation", "bifurcation")):
        checked = subprocess.run([options.checker, proof], cwd=folder, capture_output=True, text=True) if claimed else None
        if checked and checked.returncode != 0:
            sys.exit(f"{kind}: the checker says {checked.stdout} ({folder})")
    return report, net, x, targets


def verdict_of(options, net, targets, folder, model, batch):
    done = subprocess.run([options.clarke, "audit", model, "--batch", batch, "--loss", "mse" if targets is not None else "sum",
                           "--wrt", ",".join(sorted(net.trains)), "--profile", "./ties", "--json"], cwd=folder, capture_output=True, text=True)
    report = json.loads(done.stdout)
    return None if "reached its limit" in report["why"] else report["verdict"]


def ask_again(options, verdict, net, x, targets, d, folder):
    """The same question twice more: every sample doubled; an Identity or a sum with 0 before every node. Must not matter."""
    model = model_of(net, x)
    nodes = []
    for k, node in enumerate(list(model.graph.node)):
        if not node.input:
            nodes.append(node)
            continue
        if d.random() < 0.5:
            nodes.append(helper.make_node("Identity", [node.input[0]], [f"same{k}"]))
        else:
            model.graph.initializer.append(numpy_helper.from_array(np.zeros(1, np.float32), f"nought{k}"))
            nodes.append(helper.make_node("Add", [node.input[0], f"nought{k}"], [f"same{k}"]))
        node.input[0] = f"same{k}"
        nodes.append(node)
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    onnx.save(model, os.path.join(folder, "again.onnx"))
    batch = np.load(os.path.join(folder, "batch.npz"))
    np.savez(os.path.join(folder, "twice.npz"), **{k: np.concatenate([batch[k], batch[k]]) for k in batch.files})
    found = [verdict_of(options, net, targets, folder, "net.onnx", "twice.npz"),
             verdict_of(options, net, targets, folder, "again.onnx", "batch.npz")]
    return all(v in (verdict, None) for v in found)


def compare(report, net, x, targets, d):
    """What the limits found say: `bouligand`, `clarke` or `outside` (as far as they reach)."""
    out, total = run(net, x, None)
    ad = loss_gradient(out, targets or [None] * len(out), total)
    found = limits_of(net, x, targets, total, d)
    if any(all(zero(a - b) for a, b in zip(ad, h)) for h in found):
        return "bouligand"
    return "clarke" if found and in_hull(found, ad) else "outside"


def main():
    p = argparse.ArgumentParser()
    p.add_argument("clarke")
    p.add_argument("checker")
    p.add_argument("--number", type=int, default=100)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--only", choices=CLASSES)
    p.add_argument("--most", type=float, default=100)
    p.add_argument("--same", type=int, default=0, help="ask of so many networks of a class the same question twice more")
    p.add_argument("--show", action="store_true")
    p.add_argument("--keep", help="copy the undecided networks here")
    options = p.parse_args()
    options.clarke, options.checker = os.path.abspath(options.clarke), os.path.abspath(options.checker)
    wrong = 0
    all_of, open_of = 0, 0
    print(f"{'class':14} networks touched undecided  of these: limit, between, neither")
    for kind in CLASSES:
        if options.only and kind != options.only:
            continue
        n = drawn = touched = undecided = 0
        seen = {"bouligand": 0, "clarke": 0, "outside": 0}
        with tempfile.TemporaryDirectory() as folder:
            while n < options.number:
                d = random.Random(f"{options.seed} {kind} {drawn}")
                drawn += 1
                one = audit_one(options, kind, d, folder)
                if one is None:
                    continue
                n += 1
                report, net, x, targets = one
                verdict = report["verdict"]
                touched += report["touched"] > 0
                if n <= options.same and kind != "training" and not ask_again(options, verdict, net, x, targets, d, folder):
                    wrong += 1
                    print(f"NOT THE SAME: {kind} {n}: {verdict}, and with samples doubled or an Identity before nodes another verdict")
                if verdict in ("in-bouligand", "in-clarke") or report["touched"] == 0:
                    continue
                truth = compare(report, net, x, targets, d)
                if verdict == "undecided":
                    undecided += 1
                    seen[truth] += 1
                    if options.keep:
                        to = os.path.join(options.keep, f"{kind}-{n}")
                        os.makedirs(to, exist_ok=True)
                        subprocess.run(f"cp net.onnx batch.npz {to}/", cwd=folder, shell=True)
                    if options.show:
                        print(kind, n, truth, report["why"], [(o, i, a) for o, i, a in net.nodes],
                              {k: v.tolist() for k, v in net.parameters.items()}, sorted(net.trains), [s.tolist() for s in x],
                              targets and [t.tolist() for t in targets])
                elif truth != "outside":
                    wrong += 1
                    print(f"CONTRADICTED: {kind} {n}: {verdict}, but AD's gradient is {truth}")
        all_of, open_of = all_of + n, open_of + undecided
        print(f"{kind:14} {n:8} {touched:7} {undecided:9}  {seen['bouligand']:16}, {seen['clarke']:7}, {seen['outside']:7}")
        sys.stdout.flush()
    print(f"{all_of} networks, {open_of} undecided, {wrong} contradicted")
    return wrong > 0 or 100 * open_of > options.most * all_of


if __name__ == "__main__":
    sys.exit(main())
