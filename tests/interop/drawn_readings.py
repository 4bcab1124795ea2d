"""Models whose batch axis is moved, merged or split before an operator: both programs read them as others compute them.

Usage: python tests/interop/drawn_readings.py --build build [--number 300] [--seed 1] [--keep DIR]

Each model draws an operator set, a batch, some nodes that move entries, an operator with its attributes, and nodes that bring the
batch back to the front. `onnx.reference` computes it node by node, ONNX Runtime as a whole. For each model

* what a program reads has their shapes and values, at every node;
* where these two differ the model is refused, or the difference stands in DIFFERENCES;
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
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from readings import Programs, close, unlike

OPSETS = range(7, 26)
F = TensorProto.FLOAT


# What ONNX's reference computes otherwise than ONNX's text, ONNX Runtime and we do: the runtime alone is asked.
ELSEWHERE = {
    "before operator set 13 the axes from `axis` on are one, which the reference does not know":
        lambda n, opset: n.op_type in ("Softmax", "LogSoftmax") and opset < 13,
    "before operator set 14 the reference takes the minibatch's mean and variance, whatever the file's":
        lambda n, opset: n.op_type == "BatchNormalization" and opset < 14,
    "the reference takes a maximum over two spatial axes, however many there are": lambda n, opset: n.op_type == "GlobalMaxPool",
    "the reference leaves out windows where pads differ, and fails with one axis":
        lambda n, opset: n.op_type == "MaxPool",
    "the reference counts entries of a window past the padding otherwise":
        lambda n, opset: n.op_type == "AveragePool" and attribute(n, "ceil_mode"),
    "the reference takes s in for the length of the output, where it is no whole number":
        lambda n, opset: n.op_type == "Resize" and attribute(n, "coordinate_transformation_mode") in (
            b"align_corners", b"pytorch_half_pixel"),
}


def attribute(node, name):
    return next((helper.get_attribute_value(a) for a in node.attribute if a.name == name), None)


def session_of(model):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


class Undrawn(Exception):
    """Nothing of this kind fits here."""


class Wrong(Exception):
    """The reference does not compute it."""


class Drawing:
    """A model that grows, and the values of its names: an array for each of two batches, which differ in one sample."""

    def __init__(self, rng):
        self.rng = rng
        self.opset = rng.choice(OPSETS)
        self.nodes, self.initializers, self.value = [], [], {}
        self.kind = rng.choices(["whole", "runs", "single"], [6, 2, 1])[0]
        self.rows = rng.choice([1, 2, 2, 3, 4])
        dims = [rng.choice([1, 2, 2, 3, 4]) for _ in range(rng.choice([1, 2, 2, 3, 3, 4]))]
        self.x = self.floats([self.rows, *dims])
        other = self.x.copy()
        other[0] += self.floats(dims) + 9
        self.batches = [self.x, other]
        self.value["x"] = [self.runs_of(b) for b in self.batches]
        self.now = "x"
        self.drawn = []

    def floats(self, dims):
        count = int(np.prod(dims))
        return np.array([self.rng.randrange(-256, 257) / 64 for _ in range(count)], np.float32).reshape(dims)

    def runs_of(self, x):
        return [x[i:i + 1] for i in range(len(x))] if self.kind == "runs" else [x]

    def shape(self, name=None):
        return list(self.value[name or self.now][0][0].shape)

    def depends(self, name):
        """Where the second batch differs from the first."""
        a, b = self.value[name]
        return [np.asarray(p != q) for p, q in zip(a, b)]

    def name(self):
        return f"v{len(self.value)}"

    def constant(self, array, weight=None):
        """A constant's name: an initializer, or a Constant node."""
        name = self.name()
        array = np.asarray(array)
        if weight or (weight is None and self.rng.random() < 0.6):
            self.initializers.append(numpy_helper.from_array(array, name))
        else:
            self.nodes.append(helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array)))
        self.value[name] = [[array] * len(self.value["x"][0])] * 2
        return name

    def node(self, op, inputs, outputs=1, **attributes):
        attributes = {k: v for k, v in attributes.items() if v is not None}
        if any(v == [] for v in attributes.values()):
            raise Undrawn  # an empty list has no type
        names = [f"{self.name()}_{i}" for i in range(outputs)]
        node = helper.make_node(op, inputs, names, **attributes)
        values = [[self.run(node, r) for r in range(len(self.value["x"][0]))] if b == 0 or self.moves(inputs)
                  else None for b in range(2) for self.b in [b]]
        values[1] = values[1] or values[0]
        for i, name in enumerate(names):
            self.value[name] = [[run[i] for run in values[b]] for b in range(2)]
            if any(np.asarray(a).size == 0 or not np.all(np.isfinite(np.asarray(a, np.float64))) or np.asarray(a).size > 4096
                   for runs in self.value[name] for a in runs):
                raise Undrawn
        self.nodes.append(node)
        return names[0] if outputs == 1 else names

    def moves(self, inputs):
        return any(i and self.value[i][0] is not self.value[i][1] for i in inputs)

    def run(self, node, r):
        given = {i: self.value[i][self.b][r] for i in node.input if i}
        graph = helper.make_graph(
            [node], "g", [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(np.asarray(a).dtype), None)
                          for n, a in given.items()],
            [helper.make_tensor_value_info(n, F, None) for n in node.output])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)
        try:
            if any(of(node, self.opset) for of in ELSEWHERE.values()):
                return session_of(model).run(None, given)
            return ReferenceEvaluator(model).run(None, given)
        except Exception as e:
            raise Wrong(f"{node.op_type}: {type(e).__name__}: {e}") from e

    def listed(self, op, inputs, name, numbers, since, outputs=1, **attributes):
        """A list of integers that is an attribute before an operator set, and an input from it."""
        if numbers is None:
            return self.node(op, inputs, outputs, **attributes)
        if self.opset < since:
            return self.node(op, inputs, outputs, **{name: numbers}, **attributes)
        return self.node(op, [*inputs, self.constant(np.array(numbers, np.int64))], outputs, **attributes)

    def since(self, opset):
        if self.opset < opset:
            raise Undrawn

    def axis(self, shape):
        if not shape:
            raise Undrawn
        a = self.rng.randrange(len(shape))
        return a, a - len(shape) if self.rng.random() < 0.3 and self.opset >= 11 else a

    def broadcastable(self, shape):
        """A shape that broadcasts with this one, as a rule to it."""
        dims = [1 if self.rng.random() < 0.4 else n for n in shape]
        while dims and self.rng.random() < 0.3:
            dims.pop(0)
        if self.rng.random() < 0.1:
            dims.insert(0, self.rng.choice([1, 2]))
        return dims

    def weights(self, dims):
        """Floats; at times the same along an axis, as where a constant is one sample's for each."""
        array = self.floats(dims)
        if dims and self.rng.random() < 0.3:
            a = self.rng.randrange(len(dims))
            array = np.repeat(np.take(array, [0], a), dims[a], a)
        return self.constant(array)


# ---- Nodes that move entries: each takes the drawing, and gives a name


def factors(rng, n, most=5):
    dims = []
    while n > 1 and len(dims) < most and rng.random() < 0.85:
        f = rng.choice([k for k in range(2, n + 1) if n % k == 0])
        dims.append(f)
        n //= f
    dims.append(n) if n > 1 or not dims else None
    while len(dims) < most and rng.random() < 0.25:
        dims.insert(rng.randrange(len(dims) + 1), 1)
    rng.shuffle(dims)
    return dims


def merge_or_split(shape, rng):
    """The shape with neighbours merged, and an axis split: what the batch is likely to survive."""
    dims = list(shape)
    for _ in range(rng.choice([1, 1, 2])):
        if len(dims) > 1 and rng.random() < 0.6:
            a = rng.randrange(len(dims) - 1)
            dims[a:a + 2] = [dims[a] * dims[a + 1]]
        elif dims:
            a = rng.randrange(len(dims))
            k = rng.choice([k for k in range(1, dims[a] + 1) if dims[a] % k == 0])
            dims[a:a + 1] = [k, dims[a] // k]
    return dims


def reshape(d):
    shape = d.shape()
    dims = merge_or_split(shape, d.rng) if d.rng.random() < 0.7 else factors(d.rng, int(np.prod(shape)))
    for a in range(len(dims)):
        if a < len(shape) and dims[a] == shape[a] and d.rng.random() < 0.2:
            dims[a] = 0
    if dims and d.rng.random() < 0.5:
        dims[d.rng.randrange(len(dims))] = -1
    return d.node("Reshape", [d.now, d.constant(np.array(dims, np.int64))])


def transpose(d):
    perm = list(range(len(d.shape())))
    d.rng.shuffle(perm)
    return d.node("Transpose", [d.now], perm=None if d.rng.random() < 0.1 else perm)


def flatten(d):
    n = len(d.shape())
    return d.node("Flatten", [d.now], axis=d.rng.randrange(-n if d.opset >= 11 else 0, n + 1))


def unsqueeze(d):
    n = len(d.shape()) + 1
    axes = [d.rng.randrange(-n if d.opset >= 11 else 0, n)]
    return d.listed("Unsqueeze", [d.now], "axes", axes, 13)


def squeeze(d):
    shape = d.shape()
    ones = [a for a, n in enumerate(shape) if n == 1]
    if not ones:
        raise Undrawn
    axes = d.rng.sample(ones, d.rng.randrange(1, len(ones) + 1))
    return d.listed("Squeeze", [d.now], "axes", [a - len(shape) if d.opset >= 11 and d.rng.random() < 0.3 else a for a in axes], 13)


def cut(d, n):
    """A start and an end of an axis of n entries, as files have them."""
    start, end = d.rng.choice([0, 0, 0, 1, -1, -n, n // 2, d.rng.randrange(-n - 2, n + 3)]), \
        d.rng.choice([n, n, n + 1, 2**31 - 1, 2**63 - 1, 1, -1, n // 2, d.rows, d.rng.randrange(-n - 2, n + 3)])
    return start, end


def slice_(d):
    shape = d.shape()
    if not shape:
        raise Undrawn
    axes = d.rng.sample(range(len(shape)), d.rng.choice([1, 1, 1, min(2, len(shape))]))
    named = d.rng.random() < 0.7
    if not named:
        axes = list(range(len(axes)))
    cuts = [cut(d, shape[a]) for a in axes]
    starts, ends = map(list, zip(*cuts))
    given = [a - len(shape) if d.opset >= 10 and d.rng.random() < 0.3 else a for a in axes]
    if d.opset < 10:
        return d.node("Slice", [d.now], starts=starts, ends=ends, axes=given if named else None)
    steps = [d.rng.choice([1, 1, 1, 2, -1, -2]) for _ in axes] if d.rng.random() < 0.4 else None
    inputs = [d.now, d.constant(np.array(starts, np.int64)), d.constant(np.array(ends, np.int64))]
    if named or steps:
        inputs.append(d.constant(np.array(given, np.int64)) if named else "")
    if steps:
        inputs.append(d.constant(np.array(steps, np.int64)))
    return d.node("Slice", inputs)


def split(d):
    shape = d.shape()
    a, axis = d.axis(shape)
    n = shape[a]
    parts = d.rng.randrange(1, min(n, 3) + 1)
    if d.rng.random() < 0.5:
        where = sorted(d.rng.sample(range(1, n), parts - 1))
        lengths = [q - p for p, q in zip([0, *where], [*where, n])]
        return d.rng.choice(d.listed("Split", [d.now], "split", lengths, 13, outputs=parts, axis=axis) if parts > 1
                            else [d.listed("Split", [d.now], "split", lengths, 13, axis=axis)])
    if d.opset < 18 and n % parts:
        raise Undrawn
    names = d.node("Split", [d.now], parts, axis=axis, num_outputs=parts if d.opset >= 18 else None)
    return d.rng.choice(names if parts > 1 else [names])


def gather(d):
    shape = d.shape()
    a, axis = d.axis(shape)
    n = shape[a]
    low = -n if d.opset >= 11 else 0
    if d.rng.random() < 0.4 and n % d.rows == 0 and n > d.rows:  # each sample's own, where the axis holds it
        inner = d.rng.choice([k for k in range(1, n // d.rows + 1) if n // d.rows % k == 0])
        own = [d.rng.randrange(n // d.rows) for _ in range(d.rng.choice([1, 2, 3]))]
        places = np.array([[e // inner * inner * d.rows + r * inner + e % inner for e in own] for r in range(d.rows)])
    else:
        dims = [d.rng.choice([1, 2, 3, d.rows]) for _ in range(d.rng.choice([0, 1, 1, 2]))]
        places = np.array([d.rng.randrange(low, n) for _ in range(int(np.prod(dims)))]).reshape(dims)
    return d.node("Gather", [d.now, d.constant(places.astype(np.int64))], axis=axis)


def gather_nd(d):
    d.since(11)
    shape = d.shape()
    if not shape:
        raise Undrawn
    span = d.rng.randrange(1, len(shape) + 1)
    dims = [d.rng.choice([1, 2, 3]) for _ in range(d.rng.choice([0, 1, 2]))]
    places = np.array([[d.rng.randrange(n) for n in shape[:span]] for _ in range(int(np.prod(dims)))]).reshape([*dims, span])
    return d.node("GatherND", [d.now, d.constant(places.astype(np.int64))])


def gather_elements(d):
    d.since(11)
    shape = d.shape()
    a, axis = d.axis(shape)
    dims = [n if k != a else d.rng.choice([1, 2, 3]) for k, n in enumerate(shape)]
    places = np.array([d.rng.randrange(-shape[a], shape[a]) for _ in range(int(np.prod(dims)))]).reshape(dims)
    return d.node("GatherElements", [d.now, d.constant(places.astype(np.int64))], axis=axis)


def pad(d):
    shape = d.shape()
    n = len(shape)
    if not n:
        raise Undrawn
    axes = list(range(n))
    inputs = [d.now]
    if d.opset >= 18 and d.rng.random() < 0.5:
        axes = d.rng.sample(axes, d.rng.randrange(1, n + 1))
    pads = [d.rng.choice([0, 0, 1, 2, -1]) if d.rng.random() < 0.6 else 0 for _ in range(2 * len(axes))]
    if d.opset < 11:
        return d.node("Pad", inputs, pads=pads, mode=d.rng.choice([None, "constant"]))
    inputs.append(d.constant(np.array(pads, np.int64)))
    if len(axes) < n or (d.opset >= 18 and d.rng.random() < 0.2):
        inputs += ["", d.constant(np.array(axes, np.int64))]
    elif d.rng.random() < 0.3:
        inputs.append(d.constant(np.array(0, np.float32), weight=False))
    return d.node("Pad", inputs)


def expand(d):
    d.since(8)
    shape = d.shape()
    dims = [d.rng.choice([1, 2, 3]) if n == 1 else d.rng.choice([1, n]) for n in shape]
    while dims and d.rng.random() < 0.2:
        dims.pop(0)
    if d.rng.random() < 0.3:
        dims.insert(0, d.rng.choice([1, 2]))
    if len(dims) > len(shape) + 1 or not dims:
        raise Undrawn
    return d.node("Expand", [d.now, d.constant(np.array(dims, np.int64))])


def tile(d):
    repeats = [d.rng.choice([1, 1, 2, 3]) for _ in d.shape()]
    if not repeats:
        raise Undrawn
    return d.node("Tile", [d.now, d.constant(np.array(repeats, np.int64))])


def another(d, shape=None):
    """Another activation, of the same shape where one is asked for."""
    names = [n for n in d.value if d.moves([n]) and d.value[n][0][0].dtype == np.float32
             and (shape is None or list(d.value[n][0][0].shape) == shape)]
    return d.rng.choice(names)


def concat(d):
    shape = d.shape()
    a, axis = d.axis(shape)
    parts = [d.now]
    for _ in range(d.rng.choice([0, 1, 1, 2])):
        dims = [d.rng.choice([1, 2, n]) if k == a else n for k, n in enumerate(shape)]
        kind = d.rng.random()
        if kind < 0.4:
            parts.append(another(d, shape))
        elif kind < 0.6 and d.opset >= 8:
            one = [1 if n == d.rows and k != a else n for k, n in enumerate(dims)]
            parts.append(d.node("Expand", [d.constant(d.floats(one)), d.constant(np.array(dims, np.int64))]))
        else:
            parts.append(d.weights(dims))
    d.rng.shuffle(parts)
    return d.node("Concat", parts, axis=axis)


def identity(d):
    return d.node(d.rng.choice(["Identity", "Dropout"]) if d.opset >= 7 else "Identity", [d.now])


def where(d):
    d.since(9)
    shape = d.shape()
    mask = d.broadcastable(shape)
    mask = np.array([d.rng.random() < 0.5 for _ in range(int(np.prod(mask)))]).reshape(mask)
    other = another(d, shape) if d.rng.random() < 0.3 else d.weights(d.broadcastable(shape))
    pair = [d.now, other]
    d.rng.shuffle(pair)
    return d.node("Where", [d.constant(mask), *pair])


MOVES = [reshape] * 6 + [transpose] * 5 + [flatten, flatten, unsqueeze, squeeze, slice_, slice_, slice_, split, split, gather, gather,
                                           gather_nd, gather_elements, pad, pad, expand, tile, concat, concat, where, identity]

# ---- Operators


def pointwise(d):
    op, since, attributes = d.rng.choice([
        ("Relu", 7, {}), ("LeakyRelu", 7, {"alpha": [None, 0.5, -0.25]}), ("Abs", 7, {}), ("Neg", 7, {}),
        ("HardSigmoid", 7, {"alpha": [None, 0.25], "beta": [None, 0.25]}), ("HardSwish", 14, {}), ("Elu", 7, {"alpha": [None, 0.5]}),
        ("Selu", 7, {"alpha": [None, 1.5], "gamma": [None, 2.]}), ("Celu", 12, {"alpha": [None, 0.5]}), ("Sigmoid", 7, {}),
        ("Tanh", 7, {}), ("Exp", 7, {}), ("Erf", 9, {}), ("Softplus", 7, {}), ("Gelu", 20, {"approximate": [None, "none", "tanh"]}),
        ("Mish", 18, {}), ("Swish", 24, {})])
    d.since(since)
    return d.node(op, [d.now], **{k: d.rng.choice(v) for k, v in attributes.items()})


def clip(d):
    low, high = d.rng.choice([None, -1.]), d.rng.choice([None, 2.])
    if d.opset < 11:
        return d.node("Clip", [d.now], min=low, max=high)
    bound = [d.constant(np.array(v, np.float32), weight=False) if v is not None else "" for v in (low, high)]
    while bound and not bound[-1]:
        bound.pop()
    return d.node("Clip", [d.now, *bound])


def prelu(d):
    shape = d.shape()
    return d.node("PRelu", [d.now, d.constant(d.floats([1 if d.rng.random() < 0.5 else n for n in shape[d.rng.choice([0, 1]):]]))])


def arithmetic(d):
    op = d.rng.choice(["Add", "Sub", "Mul", "Div"])
    other = another(d) if d.rng.random() < 0.3 else d.weights(d.broadcastable(d.shape()))
    if op == "Div":
        other = d.constant(d.floats(d.broadcastable(d.shape())) + 5)
    pair = [d.now, other]
    if op != "Div":
        d.rng.shuffle(pair)
    try:
        return d.node(op, pair)
    except Wrong as e:
        raise Undrawn from e


def extremes(d):
    d.since(8)
    others = [another(d, d.shape()) if d.rng.random() < 0.3 else d.weights(d.broadcastable(d.shape())) for _ in range(d.rng.choice([0, 1, 1, 2]))]
    inputs = [d.now, *others]
    d.rng.shuffle(inputs)
    return d.node(d.rng.choice(["Max", "Min"]), inputs)


def power(d):
    base = d.node("Add", [d.node("Abs", [d.now]), d.constant(np.array(1, np.float32), weight=False)])
    return d.rng.choice([
        lambda: d.node("Pow", [base, d.constant(np.array(d.rng.choice([1, 2, 3, 0.5, -1, -0.5]), np.float32), weight=False)]),
        lambda: d.node("Sqrt", [base]), lambda: d.node("Log", [base]), lambda: d.node("Reciprocal", [base])])()


def matmul(d):
    shape = d.shape()
    if not shape:
        raise Undrawn
    if d.rng.random() < 0.25:
        other = another(d)
        pair = [d.now, other] if d.rng.random() < 0.5 else [other, d.now]
    elif d.rng.random() < 0.6:
        dims = [shape[-1], d.rng.choice([1, 2, 3])] if d.rng.random() < 0.9 else [shape[-1]]
        pair = [d.now, d.weights(dims)]
    else:
        dims = [d.rng.choice([1, 2, 3]), shape[-2] if len(shape) > 1 else shape[0]]
        pair = [d.weights(dims if d.rng.random() < 0.9 else dims[1:]), d.now]
    try:
        return d.node("MatMul", pair)
    except Wrong as e:
        raise Undrawn from e


def gemm(d):
    shape = d.shape()
    if len(shape) != 2:
        raise Undrawn
    out, turn = d.rng.choice([1, 2, 3]), d.rng.choice([None, 0, 1])
    inputs = [d.now, d.constant(d.floats([out, shape[1]] if turn else [shape[1], out]))]
    if d.opset < 11 or d.rng.random() < 0.7:
        inputs.append(d.constant(d.floats(d.rng.choice([[out], [1, out], [1], [shape[0], out], [shape[0], 1]]))))
    return d.node("Gemm", inputs, transB=turn, alpha=d.rng.choice([None, 0.5]), beta=d.rng.choice([None, 2.]))


def window_attributes(d, spatial, kernel, conv):
    rng = d.rng
    attributes = {"strides": [rng.choice([1, 1, 2, 3]) for _ in spatial] if rng.random() < 0.6 else None}
    if conv or d.opset >= 19:
        attributes["dilations"] = [rng.choice([1, 1, 2]) for _ in spatial] if rng.random() < 0.3 else None
    if rng.random() < 0.4:
        attributes["auto_pad"] = rng.choice(["SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"])
    if attributes.get("auto_pad", "NOTSET") == "NOTSET" and rng.random() < 0.6:
        attributes["pads"] = [rng.choice([0, min(1, k - 1)]) for k in 2 * kernel]
    return attributes


def convolution(d):
    shape = d.shape()
    if len(shape) < 3:
        raise Undrawn
    group = d.rng.choice([g for g in range(1, shape[1] + 1) if shape[1] % g == 0])
    kernel = [d.rng.choice([1, 1, 2, 3]) for _ in shape[2:]]
    out = group * d.rng.choice([1, 2])
    w = d.constant(d.floats([out, shape[1] // group, *kernel]))
    bias = [d.constant(d.floats([out]))] if d.rng.random() < 0.5 else []
    return d.node("Conv", [d.now, w, *bias], group=group if group > 1 else None, **window_attributes(d, shape[2:], kernel, True),
                  kernel_shape=d.rng.choice([None, kernel]))


def transposed(d):
    shape = d.shape()
    if len(shape) < 3:
        raise Undrawn
    group = d.rng.choice([g for g in range(1, shape[1] + 1) if shape[1] % g == 0])
    kernel = [d.rng.choice([1, 2, 3]) for _ in shape[2:]]
    w = d.constant(d.floats([shape[1], d.rng.choice([1, 2]), *kernel]))
    strides = [d.rng.choice([1, 2]) for _ in kernel]
    more = [d.rng.randrange(s) for s in strides] if d.rng.random() < 0.3 else None
    return d.node("ConvTranspose", [d.now, w], group=group if group > 1 else None, strides=strides, output_padding=more,
                  pads=[d.rng.choice([0, min(1, k - 1)]) for k in 2 * kernel] if d.rng.random() < 0.4 else None,
                  dilations=[d.rng.choice([1, 2]) for _ in kernel] if d.rng.random() < 0.2 else None)


def pool(d):
    shape = d.shape()
    if len(shape) < 3:
        raise Undrawn
    op = d.rng.choice(["MaxPool", "AveragePool", "GlobalMaxPool", "GlobalAveragePool"])
    if op.startswith("Global"):
        return d.node(op, [d.now])
    kernel = [d.rng.choice([1, 1, 2, 3]) for _ in shape[2:]]
    attributes = window_attributes(d, shape[2:], kernel, op == "MaxPool" and d.opset >= 10)
    if d.opset >= 10 and attributes.get("auto_pad", "NOTSET") == "NOTSET" and d.rng.random() < 0.3:
        attributes["ceil_mode"] = 1
    if op == "AveragePool" and d.rng.random() < 0.3:
        attributes["count_include_pad"] = 1
    return d.node(op, [d.now], kernel_shape=kernel, **attributes)


def reduction(d):
    op = d.rng.choice(["ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceSumSquare", "ReduceL2"])
    shape = d.shape()
    axes = d.rng.sample(range(len(shape)), d.rng.randrange(1, len(shape) + 1)) if shape and d.rng.random() < 0.9 else None
    if axes and d.opset >= 11:
        axes = [a - len(shape) if d.rng.random() < 0.3 else a for a in axes]
    since = 13 if op == "ReduceSum" else 18
    quiet = d.rng.choice([None, None, 0, 1]) if d.opset >= since else None
    return d.listed(op, [d.now], "axes", axes, since, keepdims=d.rng.choice([None, 0, 1]), noop_with_empty_axes=quiet)


def softmax(d):
    shape = d.shape()
    a, axis = d.axis(shape)
    return d.node(d.rng.choice(["Softmax", "LogSoftmax"]), [d.now], axis=d.rng.choice([axis, axis, None if len(shape) > 1 else axis]))


def normalization(d):
    shape = d.shape()
    op = d.rng.choice(["BatchNormalization", "LayerNormalization", "InstanceNormalization", "GroupNormalization"])
    if op == "LayerNormalization":
        d.since(17)
        a, axis = d.axis(shape)
        own = shape[a:] if d.rng.random() < 0.6 else [n if d.rng.random() < 0.5 else 1 for n in shape[a:]]
        return d.node(op, [d.now, d.constant(d.floats(own)), *([d.constant(d.floats(own))] if d.rng.random() < 0.5 else [])],
                      axis=axis, epsilon=d.rng.choice([None, 0.125]))
    if len(shape) < (2 if op == "BatchNormalization" else 3):
        raise Undrawn
    c = shape[1]
    if op == "BatchNormalization":
        parts = [d.floats([c]), d.floats([c]), d.floats([c]), np.abs(d.floats([c])) + 1]
        return d.node(op, [d.now, *map(d.constant, parts)], epsilon=d.rng.choice([None, 0.125]))
    if op == "InstanceNormalization":
        return d.node(op, [d.now, d.constant(d.floats([c])), d.constant(d.floats([c]))], epsilon=d.rng.choice([None, 0.125]))
    d.since(21)
    groups = d.rng.choice([g for g in range(1, c + 1) if c % g == 0])
    return d.node(op, [d.now, d.constant(d.floats([c])), d.constant(d.floats([c]))], num_groups=groups, epsilon=d.rng.choice([None, 0.125]))


def einsum(d):
    d.since(12)
    shape = d.shape()
    letters = "abcdefgh"[:len(shape)]
    rest = [x for x in letters if d.rng.random() < 0.8]
    if d.rng.random() < 0.3 or not shape:
        d.rng.shuffle(rest)
        return d.node("Einsum", [d.now], equation=f"{letters}->{''.join(rest)}")
    own = d.rng.sample(list(letters), d.rng.randrange(1, len(letters) + 1)) + (["z"] if d.rng.random() < 0.5 else [])
    d.rng.shuffle(own)
    other = another(d, shape) if d.rng.random() < 0.2 else None
    if other is not None:
        own = list(letters)
    else:
        other = d.weights([shape[letters.index(x)] if x != "z" else 2 for x in own])
    out = [x for x in dict.fromkeys([*letters, *own]) if d.rng.random() < 0.8]
    d.rng.shuffle(out)
    pair = [(letters, d.now), ("".join(own), other)]
    d.rng.shuffle(pair)
    arrow = f"->{''.join(out)}" if d.rng.random() < 0.85 else ""
    return d.node("Einsum", [pair[0][1], pair[1][1]], equation=f"{pair[0][0]},{pair[1][0]}{arrow}")


def sorted_(d):
    shape = d.shape()
    a, axis = d.axis(shape)
    k = d.rng.randrange(1, shape[a] + 1)
    if d.opset < 10:
        return d.node("TopK", [d.now], 2, axis=axis, k=k)[0]
    return d.node("TopK", [d.now, d.constant(np.array([k], np.int64))], 2, axis=axis,
                  largest=d.rng.choice([None, 0, 1]) if d.opset >= 11 else None)[0]


def resize(d):
    d.since(11)
    shape = d.shape()
    if len(shape) < 2:
        raise Undrawn
    mode = d.rng.choice(["nearest", "linear"])
    attributes = {"mode": mode, "coordinate_transformation_mode": d.rng.choice(
        ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"])}
    if mode == "nearest":
        attributes["nearest_mode"] = d.rng.choice(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
    scales = [d.rng.choice([1, 1, 1, 2, 0.5, 1.5, 3]) if d.rng.random() < 0.6 else 1 for _ in shape]
    roi = d.constant(np.array([], np.float32), weight=True) if d.opset < 13 else ""
    if d.rng.random() < 0.5:
        return d.node("Resize", [d.now, roi, d.constant(np.array(scales, np.float32))], **attributes)
    sizes = [max(1, int(n * s)) for n, s in zip(shape, scales)]
    none = d.constant(np.array([], np.float32), weight=True) if d.opset < 13 else ""
    return d.node("Resize", [d.now, roi, none, d.constant(np.array(sizes, np.int64))], **attributes)


def recurrent(d):
    shape = d.shape()
    if len(shape) != 3:
        raise Undrawn
    op, gates, outputs = d.rng.choice([("LSTM", 4, 3), ("GRU", 3, 2), ("RNN", 1, 2)])
    units, directions = d.rng.choice([1, 2]), d.rng.choice([1, 1, 2])
    direction = "bidirectional" if directions == 2 else d.rng.choice([None, "forward", "reverse"])
    small = lambda dims: d.constant(d.floats(dims) / 4)
    inputs = [d.now, small([directions, gates * units, shape[2]]), small([directions, gates * units, units])]
    if d.rng.random() < 0.5:
        inputs.append(small([directions, 2 * gates * units]))
    names = d.node(op, inputs, outputs, hidden_size=units, direction=direction,
                   linear_before_reset=d.rng.choice([None, 1]) if op == "GRU" else None)
    return d.rng.choice(names)


def cumulative(d):
    d.since(11)
    shape = d.shape()
    a, axis = d.axis(shape)
    return d.node("CumSum", [d.now, d.constant(np.array(axis, np.int64))])


def triangle(d):
    d.since(14)
    if len(d.shape()) < 2:
        raise Undrawn
    return d.node("Trilu", [d.now], upper=d.rng.choice([None, 0, 1]))


def by_shape(d):
    """A shape that is computed, of an activation, and used."""
    shape = d.node("Shape", [d.now])
    n = len(d.shape())
    if n < 1:
        raise Undrawn
    if d.rng.random() < 0.5:
        parts = [d.node("Gather", [shape, d.constant(np.array([a], np.int64))], axis=0) for a in range(n)]
        d.rng.shuffle(parts)
        if d.rng.random() < 0.5:
            parts[d.rng.randrange(n)] = d.constant(np.array([-1], np.int64))
        return d.node("Reshape", [d.now, d.node("Concat", parts, axis=0)])
    d.since(9)
    return d.node("Add", [d.now, d.node("ConstantOfShape", [shape], value=numpy_helper.from_array(np.array([d.rng.choice([0, 1.5])], np.float32)))])


OPERATORS = [pointwise, pointwise, clip, prelu, arithmetic, arithmetic, arithmetic, extremes, power, matmul, matmul, gemm, convolution,
             convolution, transposed, pool, pool, reduction, reduction, softmax, normalization, normalization, einsum, einsum, sorted_,
             resize, recurrent, cumulative, triangle, by_shape]


# ---- Models


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
    kinds = [isinstance(v, str) for v in answer.values()]
    said["read by both"] += not any(kinds)
    said["read by one alone"] += any(kinds) and not all(kinds)
    if any(kinds) and not all(kinds):
        said[next(f"{p} alone refuses: " + v.split("(")[-1] for p, v in answer.items() if isinstance(v, str))] += 1


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
