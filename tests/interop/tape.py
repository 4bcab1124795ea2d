"""A second reader of models and batches, by onnx and numpy, that prints the tape of docs/tape.md: clarke-check prints the same bytes.

    python3 tests/interop/tape.py CLARKE-CHECK

It knows Gemm, MatMul, Add, Sub, Mul, Abs, Relu, LeakyRelu, Conv, MaxPool, Flatten, Reshape and Identity, and asks about every model of
cases/audit and tests/check/data that has no others. Each is asked about again with its nodes and values called otherwise, its
initializers turned round and stored otherwise: the bytes must stay.
"""

import hashlib
import itertools
import re
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "check"))

import edits  # noqa: E402

DATA = ROOT / "tests" / "check" / "data"
FOLDERS = [(ROOT / "proofs-data", ROOT / "cases" / "audit"), (edits.expanded(DATA), DATA)]
LEAST = {"models": 100, "cases": 27}
SAFE = "._/:-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Outside(Exception):
    """What this reader does not know."""


def need(condition, why):
    if not condition:
        raise Outside(why)


class Constant:
    """Entries of a tensor: of an initializer by its name, or else by their values."""

    def __init__(self, name, values, places=None):
        self.name, self.values = name, values
        self.places = np.arange(values.size).reshape(values.shape) if places is None else places

    def entry(self, place):
        return f"{self.name}@{place}" if self.name is not None else Fraction(float(self.values.flat[place]))


class Activation:
    """Features of a step, in a shape for a batch of one."""

    def __init__(self, step, places, batched):
        self.step, self.places, self.batched = step, places, batched


class Tape:
    """Steps, as lists of what their lines have."""

    def __init__(self):
        self.steps, self.read = [], set()

    def add(self, kind, attributes, rows, shape, batched, weighs=True):
        """rows: of each feature its terms, (coefficient, constant's entry or None, source)."""
        step = len(self.steps)
        self.steps.append((kind, attributes, rows, weighs))
        for row in rows:
            for _, entry, _ in row:
                if isinstance(entry, str):
                    self.read.add(entry.rpartition("@")[0])
        return Activation(step, np.arange(len(rows)).reshape(shape), batched)


def source(x, place):
    return f"{x.step}.{place}"


def attributes_of(node, **known):
    given = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    need(set(given) <= set(known), f"attributes of {node.op_type}")
    return [given.get(name, absent) for name, absent in known.items()]


def real(number):
    return Fraction(float(np.float32(number)))


# ---- Operators


def gemm(tape, node, inputs):
    x, w = inputs[:2]
    alpha, beta, trans_a, trans_b = attributes_of(node, alpha=1.0, beta=1.0, transA=0, transB=0)
    need(isinstance(x, Activation) and isinstance(w, Constant) and not trans_a and x.places.ndim == 2 and w.places.ndim == 2, "Gemm")
    at = w.places if not trans_b else w.places.T
    need(x.places.shape[1] == at.shape[0], "Gemm's shapes")
    rows, shape = [], (x.places.shape[0], at.shape[1])
    bias = None
    if len(inputs) > 2:
        need(isinstance(inputs[2], Constant), "a computed bias")
        bias = np.broadcast_to(inputs[2].places, shape)
    for r, o in itertools.product(*map(range, shape)):
        row = [(real(alpha), w.entry(at[i, o]), source(x, x.places[r, i])) for i in range(at.shape[0])]
        if bias is not None:
            row.append((real(beta), inputs[2].entry(bias[r, o]), "1"))
        rows.append(row)
    return tape.add("linear", "", rows, shape, x.batched)


def matmul(tape, node, inputs):
    x, w = inputs
    attributes_of(node)
    left = isinstance(x, Constant)
    if left:
        x, w = w, x
    need(isinstance(x, Activation) and isinstance(w, Constant) and w.places.ndim in (1, 2), "MatMul")
    axis = x.places.ndim - 1 if not left or x.places.ndim < 2 else x.places.ndim - 2
    need(not (x.batched and axis == 0), "a product along the batch")
    matrix = w.places.reshape(1, -1) if w.places.ndim == 1 else w.places if left else w.places.T  # (outputs, inputs)
    need(x.places.shape[axis] == matrix.shape[1], "MatMul's shapes")
    moved = np.moveaxis(x.places, axis, -1)
    out = np.empty((*moved.shape[:-1], matrix.shape[0]), object)
    for at in np.ndindex(out.shape):
        out[at] = [(Fraction(1), w.entry(matrix[at[-1], i]), source(x, moved[(*at[:-1], i)])) for i in range(matrix.shape[1])]
    out = out[..., 0] if w.places.ndim == 1 else np.moveaxis(out, -1, axis)
    return tape.add("linear", "", list(out.flat), out.shape, x.batched)


def on_first_axis(values, rank):
    """Have all the batch on the first of so many axes, a constant one entry there?"""
    return all(v.places.ndim == rank if isinstance(v, Activation) else v.places.ndim < rank or v.places.shape[0] == 1 for v in values)


def arithmetic(tape, node, inputs):
    attributes_of(node)
    activations = [v for v in inputs if isinstance(v, Activation)]
    need(activations, "constants alone")
    shape = np.broadcast_shapes(*(v.places.shape for v in inputs))
    batched = activations[0].batched
    need(not batched or on_first_axis(inputs, len(shape)), "the batch on another axis")
    need(node.op_type in ("Add", "Sub") or len(activations) == 1, "a product of activations")
    wide = [np.broadcast_to(v.places, shape) for v in inputs]
    rows = []
    for at in np.ndindex(shape):
        terms = [(v.entry(p[at]), "1") if isinstance(v, Constant) else (None, source(v, p[at])) for v, p in zip(inputs, wide)]
        if node.op_type == "Mul":
            rows.append([(Fraction(1), terms[0][0] or terms[1][0], terms[0][1] if terms[0][1] != "1" else terms[1][1])])
        else:
            rows.append([(Fraction(1), *terms[0]), (Fraction(-1 if node.op_type == "Sub" else 1), *terms[1])])
    return tape.add("linear", "", rows, shape, batched)


def relu(tape, node, inputs):
    (x,) = inputs
    need(isinstance(x, Activation), "of a constant")
    below = Fraction(-1 if node.op_type == "Abs" else 0)
    if node.op_type == "LeakyRelu":
        below = real(*attributes_of(node, alpha=np.float32(0.01)))
    else:
        attributes_of(node)
    rows = [[(Fraction(1), None, source(x, place))] for place in x.places.flat]
    return tape.add("piecewise", f" {node.op_type} kinks 0 at 0 pieces 0 {below} 0 0 1 0", rows, x.places.shape, x.batched)


def windows(x, kernel, strides, pads, dilations):
    """Of each place of the output its entries' places in a plane, -1 in the padding; and the output's shape."""
    size, n = x.places.shape[2:], len(kernel)
    out = [(size[i] + pads[i] + pads[n + i] - dilations[i] * (kernel[i] - 1) - 1) // strides[i] + 1 for i in range(n)]
    need(min(out) > 0, "a window larger than the input")
    places = []
    for at in np.ndindex(*out):
        taps = []
        for tap in np.ndindex(*kernel):
            to = [at[i] * strides[i] + tap[i] * dilations[i] - pads[i] for i in range(n)]
            inside = all(0 <= to[i] < size[i] for i in range(n))
            taps.append(int(np.ravel_multi_index(to, size)) if inside else -1)
        places.append(taps)
    return places, out


def read_windows(x, kernel, strides, pads, dilations):
    need(isinstance(x, Activation) and x.places.ndim > 2, "windows of no image")
    n = len(kernel)
    return windows(x, kernel, strides or [1] * n, pads or [0] * 2 * n, dilations or [1] * n)


def taps(x, image, channel, places):
    plane = x.places[image, channel].reshape(-1)
    return ["-" if p < 0 else source(x, plane[p]) for p in places]


def conv(tape, node, inputs):
    x, w = inputs[:2]
    kernel, strides, pads, dilations, group, auto = attributes_of(
        node, kernel_shape=None, strides=None, pads=None, dilations=None, group=1, auto_pad=b"NOTSET")
    need(isinstance(w, Constant) and all(isinstance(b, Constant) for b in inputs[2:]) and auto == b"NOTSET", "Conv")
    places, out = read_windows(x, list(w.places.shape[2:]), strides, pads, dilations)
    need(kernel is None or list(kernel) == list(w.places.shape[2:]), "another kernel_shape")
    outer, inner = w.places.shape[:2]
    need(0 < group <= outer, "groups")
    rows = []
    for image, o, at in itertools.product(range(x.places.shape[0]), range(outer), places):
        first = o // (outer // group) * inner
        read = [s for i in range(inner) for s in taps(x, image, first + i, at)]
        row = [(Fraction(1), w.entry(p), s) for p, s in zip(w.places[o].reshape(-1), read)]
        rows.append(row + [(Fraction(1), b.entry(b.places[o]), "1") for b in inputs[2:]])
    return tape.add("linear", "", rows, (x.places.shape[0], outer, *out), x.batched)


def max_pool(tape, node, inputs):
    (x,) = inputs
    kernel, strides, pads, dilations, auto, ceil = attributes_of(
        node, kernel_shape=None, strides=None, pads=None, dilations=None, auto_pad=b"NOTSET", ceil_mode=0)
    need(auto == b"NOTSET" and not ceil, "MaxPool")
    places, out = read_windows(x, list(kernel), strides, pads, dilations)
    images, channels = x.places.shape[:2]
    rows = [[(Fraction(1), None, s) for s in taps(x, image, c, at)]
            for image, c, at in itertools.product(range(images), range(channels), places)]
    return tape.add("window", " MaxPool", rows, (images, channels, *out), x.batched, weighs=False)


def reshaped(node, inputs):
    x = inputs[0]
    need(isinstance(x, Activation), "of a constant")
    if node.op_type == "Identity":
        return x
    if node.op_type == "Flatten":
        (axis,) = attributes_of(node, axis=1)
        need(not x.batched or axis == 1, "the batch merged")
        shape = (int(np.prod(x.places.shape[:axis])), -1)
    else:
        (zero,) = attributes_of(node, allowzero=0)
        need(not zero and inputs[1].values.ndim == 1, "Reshape")
        shape = [int(d) for d in inputs[1].values]
        shape = [x.places.shape[i] if d == 0 else d for i, d in enumerate(shape)]
        need(not x.batched or (inputs[1].values[0] in (0, -1) and len(shape) > 1), "the batch by its number")
        if x.batched:
            shape = [1 if i == 0 else d for i, d in enumerate(shape)]
    return Activation(x.step, x.places.reshape(shape), x.batched)


OPERATORS = {"Gemm": gemm, "MatMul": matmul, "Add": arithmetic, "Sub": arithmetic, "Mul": arithmetic, "Relu": relu, "Abs": relu,
             "LeakyRelu": relu, "Conv": conv, "MaxPool": max_pool}


# ---- Networks


def loss_of(graph, opset):
    """The model's own loss, if its last node is the sum of all entries, and the value it is of."""
    last = graph.node[-1]
    output = graph.output[0].name
    need(last.op_type not in ("NegativeLogLikelihoodLoss", "ReduceMean"), "a loss but a sum")
    if last.op_type != "ReduceSum":
        return "none", output, len(graph.node)
    attributes = {a.name: a.i for a in last.attribute}
    need(opset >= 13 and attributes == {"keepdims": 0} and len(last.input) == 1 and last.output[0] == output, "ReduceSum")
    return "sum", last.input[0], len(graph.node) - 1


def read_input(graph, constants, x):
    """The input's name, its shape for a batch of one, whether it has an axis of samples, and how many are run together."""
    inputs = [i for i in graph.input if i.name not in constants]
    need(len(inputs) == 1 and inputs[0].type.tensor_type.HasField("shape"), "one input of a declared shape")
    declared = [d.dim_value for d in inputs[0].type.tensor_type.shape.dim]
    batched = x.ndim != len(declared) + 1
    shape = [1, *x.shape[1:]] if batched else list(x.shape[1:])
    if x.ndim == 2 and len(declared) > 2 and batched:
        shape = [1, *declared[1:]]
    need(len(shape) == len(declared) and 0 not in shape and np.prod(shape) * len(x) == x.size, "the batch's shape")
    return inputs[0].name, shape, batched, len(x) if batched and declared and declared[0] != 1 else 1


def tape_of(model, x):
    """The steps, the output, its loss, and the samples run together."""
    graph, tape = model.graph, Tape()
    need(all(n.domain in ("", "ai.onnx") for n in graph.node) and len(graph.output) == 1, "operators of others")
    values = {t.name: Constant(t.name, numpy_helper.to_array(t)) for t in graph.initializer}
    loss, output, n = loss_of(graph, model.opset_import[0].version)
    name, shape, batched, together = read_input(graph, values, x)
    values[name] = tape.add("input", "", [[]] * int(np.prod(shape)), shape, batched)
    for node in graph.node[:n]:
        if node.op_type == "Constant":
            need(node.attribute[0].name == "value", "a Constant of another kind")
            values[node.output[0]] = Constant(None, numpy_helper.to_array(node.attribute[0].t))
            continue
        need(all(node.input) and len(node.output) == 1, "what is omitted")
        inputs = [values[i] for i in node.input]
        if node.op_type in ("Flatten", "Reshape", "Identity"):
            values[node.output[0]] = reshaped(node, inputs)
            continue
        need(node.op_type in OPERATORS, node.op_type)
        need(all(v.values.dtype.kind == "f" or v.values.dtype.name == "bfloat16" for v in inputs if isinstance(v, Constant)), "integers")
        values[node.output[0]] = OPERATORS[node.op_type](tape, node, inputs)
    return tape, values[output], loss, together


# ---- The text


def written(name):
    return "".join(chr(b) if chr(b) in SAFE else f"%{b:02X}" for b in name.encode())


def block(what, lines):
    return f" {what} {len(lines)} " + hashlib.sha256("".join(line + "\n" for line in lines).encode()).hexdigest()


def tensor(values):
    need(np.isfinite(values.astype(np.float64)).all(), "no numbers")
    shape = "[" + ",".join(map(str, values.shape)) + "]"
    return f" {shape}" + block("values", [str(Fraction(float(v)) if values.dtype.kind not in "iu" else int(v)) for v in values.flat])


def step_line(s, step, number):
    kind, attributes, rows, weighs = step

    def factor(coefficient, entry, _):
        if isinstance(entry, str):
            name, _, at = entry.rpartition("@")
            entry = f"{number[name]}@{at}"
        return f"{coefficient}" if entry is None else f"{coefficient}*{entry}"

    factors, sources, features = {}, {}, []
    for row in rows:
        weights, read = " ".join(itertools.starmap(factor, row)), " ".join(source for _, _, source in row)
        i, j = factors.setdefault(weights, len(factors)), sources.setdefault(read, len(sources))
        features.append(f"{i} {j}" if weighs else f"{j}")
    return (f"step {s} {kind} {len(rows)}{attributes} of {len(rows[0])}" + (block("factors", list(factors)) if weighs else "")
            + block("sources", list(sources)) + block("features", features))


def text_of(model, batch):
    x = batch["x"]
    tape, output, loss, together = tape_of(model, x)
    parameters = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer if t.name in tape.read}
    number = {name: i for i, name in enumerate(sorted(parameters, key=str.encode))}
    lines = ["tape 1", f"samples {len(x)} together {together}"]
    lines += [f"parameter {i} {written(name)}{tensor(parameters[name])}" for name, i in number.items()]
    lines.append(f"step 0 input {len(tape.steps[0][2])}{tensor(x)}")
    lines += [step_line(s, step, number) for s, step in enumerate(tape.steps) if s > 0]
    shape = ",".join(map(str, output.places.shape[output.batched:]))
    lines.append(f"output [{shape}] of step {output.step} loss {loss}" + block("features", [str(p) for p in output.places.flat]))
    if "y" in batch:
        lines.append(f"target {'integer' if batch['y'].dtype.kind in 'iu' else 'real'}{tensor(batch['y'])}")
    text = "".join(line + "\n" for line in lines)
    return text + f"hash {hashlib.sha256(text.encode()).hexdigest()}\n"


# ---- The comparison


def rewritten(model):
    """The same network: other names of nodes and values, initializers turned round and stored otherwise."""
    other = onnx.ModelProto()
    other.CopyFrom(model)
    kept = {v.name for v in [*other.graph.input, *other.graph.output, *other.graph.initializer]}
    for i, node in enumerate(other.graph.node):
        node.name = f"Q{i}"
        for names in (node.input, node.output):
            names[:] = [n if n in kept or not n else f"Q{n}" for n in names]
    turned = [helper.make_tensor(t.name, t.data_type, t.dims, numpy_helper.to_array(t).flatten()) for t in reversed(other.graph.initializer)]
    del other.graph.initializer[:], other.graph.value_info[:]
    other.graph.initializer.extend(turned)
    return other


def printed(checker, model, batch):
    done = subprocess.run([checker, "--tape", model, batch], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def first_difference(ours, theirs):
    lines = itertools.zip_longest(ours.splitlines(), theirs.splitlines(), fillvalue="(nothing)")
    return next(f"  here:  {a[:300]}\n  there: {b[:300]}" for a, b in lines if a != b)


def pairs():
    """The models of these operators that stored proofs and tests are about, each with one of its batches."""
    found, known = {}, {*OPERATORS, "Flatten", "Reshape", "Identity", "Constant", "ReduceSum"}
    for proofs, files in FOLDERS:
        for proof in sorted(proofs.glob("*.proof")):
            pair = re.search(rb"^model (\S+) .*\nbatch (\S+) ", proof.read_bytes(), re.M)
            if pair:
                found.setdefault(files / pair[1].decode(), files / pair[2].decode())
    for model, batch in found.items():
        if model.exists() and batch.exists():
            read = onnx.load(model)
            if {n.op_type for n in read.graph.node} <= known:
                yield model, batch, read


def compare(checker, model_path, batch_path, model, folder):
    """None: refused there; else what is wrong."""
    batch = np.load(batch_path)
    batch = batch if isinstance(batch, np.lib.npyio.NpzFile) else {"x": batch}
    theirs = printed(checker, model_path, batch_path)
    if theirs is None:
        return None
    ours = text_of(model, batch)
    if ours != theirs:
        return first_difference(ours, theirs)
    onnx.save(rewritten(model), folder / "other.onnx")
    again = printed(checker, folder / "other.onnx", batch_path)
    return "" if again == ours else "rewritten, it has another tape"


def main():
    checker, wrong, counts = sys.argv[1], [], {"models": 0, "cases": 0}
    with tempfile.TemporaryDirectory() as folder:
        for model, batch, read in pairs():
            try:
                said = compare(checker, model, batch, read, Path(folder))
            except (Outside, KeyError, ValueError, IndexError):
                continue
            if said is None:
                continue
            counts["models"] += 1
            counts["cases"] += model.parent == FOLDERS[0][1]
            if said:
                wrong.append(f"{model.name} with {batch.name}:\n{said}")
    print("\n".join(wrong))
    print(f"{counts['models']} models with their batches, {counts['cases']} of cases/audit, {len(wrong)} with another tape")
    return bool(wrong) or any(counts[what] < LEAST[what] for what in LEAST)


if __name__ == "__main__":
    sys.exit(main())
