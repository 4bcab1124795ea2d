"""A model that is drawn node by node, each computed by ONNX's reference, or by ONNX Runtime where that is wrong."""

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

OPSETS = [*range(7, 26), 28, 28]
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
    "the reference's squares are those of as many channels as there are samples": lambda n, opset: n.op_type == "LRN",
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
