"""Small models that between them use every operator of docs/operators.md, and each in its
variants: attribute or input, opset before or after a change, batch axis fixed or symbolic.

All numbers are multiples of 1/4, from a fixed seed, so that kinks are met; `graphs(folder)` writes
the files and lists (name, model, batch, loss).
"""

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save_model

BATCH = 5


class Graph:
    """A model under construction: a chain of nodes from `x`."""

    def __init__(self, rng, shape, opset=17, first="N"):
        self.rng, self.opset = rng, opset
        self.shape = list(shape)
        self.input = helper.make_tensor_value_info("x", TensorProto.FLOAT, [first, *shape])
        self.last, self.nodes, self.initializers = "x", [], []

    def numbers(self, *shape):
        return (self.rng.integers(-6, 7, shape) / 4).astype(np.float32)

    def parameter(self, *shape, values=None):
        name = f"p{len(self.initializers)}"
        array = self.numbers(*shape) if values is None else values
        self.initializers.append(numpy_helper.from_array(array, name))
        return name

    def constant(self, values, dtype=np.float32):
        name = f"c{len(self.nodes)}"
        tensor = numpy_helper.from_array(np.array(values, dtype), name)
        self.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
        return name

    def then(self, op, *others, before=(), **attributes):
        """Applies op to (before, the last value, others). Of TopK nothing reads the places."""
        out = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, [*before, self.last, *others], [out] + [f"{out}_places"] * (op == "TopK"), **attributes))
        self.last = out
        return self

    def dense(self, n_in, n_out, **attributes):
        transposed = attributes.get("transB", 0)
        weight = self.parameter(*((n_out, n_in) if transposed else (n_in, n_out)))
        return self.then("Gemm", weight, self.parameter(n_out), **attributes)

    def model(self):
        out = helper.make_tensor_value_info(self.last, TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "g", [self.input], [out], self.initializers)
        return helper.make_model(graph, ir_version=8,
                                 opset_imports=[helper.make_opsetid("", self.opset)])


def pointwise(rng):
    """Dense, one pointwise operator, dense."""
    def one(op, *constants, opset=17, parameter=None, **attributes):
        g = Graph(rng, [4], opset).dense(4, 6, transB=1)
        others = [c if c == "" else g.constant(c) for c in constants]
        if parameter is not None:
            others.append(g.parameter(values=np.array(parameter, np.float32)))
        return g.then(op, *others, **attributes).dense(6, 3)

    yield "relu", one("Relu")
    yield "leaky-default", one("LeakyRelu")
    yield "leaky-dyadic", one("LeakyRelu", alpha=0.25)
    yield "leaky-linear", one("LeakyRelu", alpha=1.0)
    yield "prelu-one", one("PRelu", parameter=[0.25])
    yield "prelu-each", one("PRelu", parameter=[0.25, 0.5, -0.5, 2, 0, 0.125])
    yield "prelu-constant", one("PRelu", [0.25])
    yield "clip", one("Clip", 0.0, 1.5)
    yield "clip-low", one("Clip", -0.5)
    yield "clip-high", one("Clip", "", 0.75)
    yield "clip-attributes", one("Clip", opset=10, min=-1.0, max=1.0)
    yield "hardsigmoid-default", one("HardSigmoid")
    yield "hardsigmoid-sixth", one("HardSigmoid", alpha=float(np.float32(1) / np.float32(6)))
    yield "hardsigmoid-dyadic", one("HardSigmoid", alpha=0.25, beta=0.25)
    yield "hardswish", one("HardSwish")
    yield "elu", one("Elu")
    yield "elu-half", one("Elu", alpha=0.5)
    yield "selu", one("Selu")
    yield "selu-dyadic", one("Selu", alpha=1.5, gamma=0.75)
    yield "celu", one("Celu", alpha=2.0)
    yield "abs", one("Abs")
    yield "sigmoid", one("Sigmoid")
    yield "tanh", one("Tanh")
    yield "identity-dropout", one("Identity").then("Dropout")
    for op, opset, attributes in (("Exp", 17, {}), ("Erf", 17, {}), ("Softplus", 17, {}), ("Gelu", 20, {}),
                                  ("Gelu", 20, {"approximate": "tanh"}), ("Mish", 18, {}), ("Swish", 24, {})):
        yield op.lower() + "-tanh" * bool(attributes), one(op, opset=opset, **attributes).then("Relu")
    yield "pow", one("Pow", 3.0).then("Relu")
    yield "softmax", one("Softmax", axis=1)
    yield "logsoftmax", one("LogSoftmax")


def arithmetic(rng):
    g = Graph(rng, [4])
    g.then("MatMul", g.parameter(4, 6)).then("Add", g.parameter(6)).then("Relu")
    yield "matmul-add", g.then("MatMul", g.parameter(6, 3))

    g = Graph(rng, [4], first=1).dense(4, 4).then("Relu")
    first = g.last
    g.dense(4, 4).then("Relu").then("Add", first).then("Relu")
    yield "residual", g.then("Sub", first).dense(4, 3)

    g = Graph(rng, [4]).dense(4, 6)
    g.then("Mul", g.parameter(6)).then("Sub", g.constant([0.25] * 6)).then("Relu")
    g.then("Div", g.constant([3, -7, 0.5, 5, 1, -2])).then("Abs")
    yield "scale", g.dense(6, 3)

    g = Graph(rng, [4]).dense(4, 6, alpha=0.5, beta=-2.0, transB=1).then("Relu")
    yield "gemm-scaled", g.then("Gemm", g.parameter(6, 3))

    g = Graph(rng, [4])
    g.then("Sub", before=[g.constant([1, 1, 1, 1])]).then("Relu")
    yield "constant-minus", g.dense(4, 3)

    g = Graph(rng, [4], first=1).dense(4, 4).then("Neg").then("Relu").dense(4, 4).then("Neg")
    yield "negated", g.then("Relu").then("Neg").dense(4, 3)


def bilinear(rng):
    """Products of activations: gates, squeeze and excitation, attention."""
    g = Graph(rng, [4]).dense(4, 6)
    first = g.last
    g.dense(6, 6).then("HardSigmoid", alpha=0.25).then("Mul", before=[first]).then("Relu")
    yield "gate", g.dense(6, 3)

    g = Graph(rng, [4, 4, 4])
    g.then("Conv", g.parameter(4, 4, 1, 1)).then("Relu")
    first = g.last
    g.then("GlobalAveragePool").then("Conv", g.parameter(4, 4, 1, 1)).then("HardSigmoid")
    g.then("Mul", first).then("HardSwish").then("ReduceMean", axes=[2, 3], keepdims=0)
    yield "excitation", g.dense(4, 3)

    g = Graph(rng, [4, 3])
    names = []
    for _ in range(3):
        g.last = "x"
        names.append(g.then("MatMul", g.parameter(3, 4)).last)
    g.last = names[0]
    g.then("Transpose", perm=[0, 2, 1])
    g.then("MatMul", before=[names[1]]).then("LeakyRelu", alpha=0.25)
    g.then("MatMul", names[2]).then("Relu").then("Flatten")
    yield "attention-relu", g.dense(16, 3)

    g = Graph(rng, [3, 2])
    g.then("MatMul", g.parameter(2, 2)).then("Unsqueeze", g.constant([1], np.int64))
    first = g.last
    g.then("Transpose", perm=[0, 2, 1, 3])
    yield "product-spread", g.then("Mul", first).then("Relu").then("Flatten").dense(18, 3)


def inside(rng):
    """What has a domain, as exporters write it: RMSNorm, a norm divided by, softmax and LayerNorm written out, softsign."""
    g = Graph(rng, [3, 4])
    g.then("MatMul", g.parameter(4, 4))
    first = g.last
    g.then("Pow", g.constant(2.0)).then("ReduceMean", axes=[-1]).then("Add", g.constant(0.0625)).then("Sqrt").then("Reciprocal")
    g.then("Mul", first).then("Mul", g.parameter(4)).then("Relu")
    yield "rms", g.then("Flatten").dense(12, 3)

    g = Graph(rng, [4], 18).dense(4, 4)
    first = g.last
    g.then("ReduceL2", g.constant([1], np.int64), keepdims=1).then("Clip", g.constant(2.0**-20))
    g.then("Div", before=[first]).then("Relu")
    yield "unit", g.dense(4, 3)

    g = Graph(rng, [4]).dense(4, 4).then("Exp")
    first = g.last
    g.then("ReduceSum", g.constant([1], np.int64), keepdims=1).then("Div", before=[first]).then("Log")
    yield "softmax-written", g.dense(4, 3).then("Relu")

    g = Graph(rng, [4]).dense(4, 4)
    first = g.last
    g.then("ReduceMean", axes=[1]).then("Sub", before=[first])
    centred = g.last
    g.then("Pow", g.constant(2.0)).then("ReduceMean", axes=[1]).then("Add", g.constant(0.125)).then("Pow", g.constant(0.5))
    g.then("Div", before=[centred]).then("LeakyRelu", alpha=0.25)
    yield "layer-written", g.dense(4, 3)

    g = Graph(rng, [4]).dense(4, 4)
    first = g.last
    g.then("Abs").then("Add", g.constant(1.0)).then("Div", before=[first])
    yield "softsign", g.dense(4, 3).then("Relu")

    g = Graph(rng, [4]).dense(4, 4)
    first = g.last
    g.then("ReduceSumSquare", axes=[1]).then("Add", g.constant(1.0)).then("Pow", g.constant(-0.5)).then("Mul", first).then("Relu")
    g.then("Add", g.constant(2.0)).then("Pow", g.constant(-2.0))
    yield "powers", g.dense(4, 3)

    g = Graph(rng, [4]).dense(4, 4).then("Relu")
    g.then("Add", g.constant(0.5))
    yield "numerator", g.then("Div", before=[g.parameter(4)]).dense(4, 3)


def shapes(rng):
    g = Graph(rng, [2, 3], first=1).then("Flatten").dense(6, 6).then("Relu")
    g.then("Reshape", g.constant([1, 2, 3], np.int64)).then("Transpose", perm=[0, 2, 1])
    g.then("MatMul", g.parameter(2, 2)).then("Relu")
    yield "reshape-transpose", g.then("Reshape", g.constant([0, -1], np.int64)).dense(6, 3)

    g = Graph(rng, [4]).dense(4, 6)
    g.then("Unsqueeze", g.constant([1, 3], np.int64)).then("Relu")
    g.then("Squeeze", g.constant([1, -1], np.int64))
    yield "squeeze", g.dense(6, 3)

    g = Graph(rng, [4], opset=11).dense(4, 6).then("Unsqueeze", axes=[2]).then("Relu")
    yield "squeeze-attributes", g.then("Squeeze", axes=[2]).dense(6, 3)

    g = Graph(rng, [2, 3], opset=11).then("Reshape", "shape")
    g.initializers.append(numpy_helper.from_array(np.array([-1, 6], np.int64), "shape"))
    yield "reshape-initializer", g.dense(6, 3).then("Relu")

    g = Graph(rng, [2, 3], opset=11)
    g.then("MatMul", g.parameter(3, 3)).then("Relu").then("Softmax", axis=1).then("Flatten")
    yield "softmax-flattened", g.dense(6, 3)

    g = Graph(rng, [2, 3], opset=13)
    g.then("MatMul", g.parameter(3, 3)).then("Relu").then("Softmax", axis=1).then("Flatten")
    yield "softmax-axis", g.dense(6, 3)

    g = Graph(rng, [3, 2])
    g.then("MatMul", before=[g.parameter(4, 3)]).then("Relu").then("Flatten")
    yield "matmul-left", g.dense(8, 3)


def unbatched(rng):
    """A declared input without batch axis: every sample is a whole input."""
    g = Graph(rng, [])
    g.input = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])
    g.shape = [4]
    g.then("MatMul", g.parameter(4, 5)).then("Add", g.parameter(5)).then("Relu")
    yield "no-batch-axis", g.then("MatMul", g.parameter(5, 3))


def convolutional(rng):
    """Small convolutional networks; a sample has 64 entries, or 12."""
    def conv(g, outputs, inputs, *kernel, bias=True, **attributes):
        others = [g.parameter(outputs, inputs, *kernel)] + ([g.parameter(outputs)] if bias else [])
        return g.then("Conv", *others, **attributes)

    def normalize(g, channels):
        mean = g.parameter(channels)
        var = g.parameter(values=rng.integers(1, 9, channels).astype(np.float32) / 4)
        scale, shift = g.parameter(channels), g.parameter(channels)
        return g.then("BatchNormalization", scale, shift, mean, var, epsilon=0.25)

    g = conv(Graph(rng, [1, 8, 8]), 2, 1, 3, 3).then("Relu")
    g.then("MaxPool", kernel_shape=[2, 2], strides=[2, 2]).then("Flatten")
    yield "conv-maxpool", g.dense(18, 3)

    g = conv(Graph(rng, [4, 4, 4]), 8, 2, 2, 2, group=2, strides=[2, 1], pads=[1, 0, 0, 1]).then("Abs")
    yield "conv-groups", conv(g, 3, 8, 1, 1, bias=False).then("Flatten").dense(24, 3)

    g = conv(Graph(rng, [4, 4, 4]), 4, 1, 2, 3, bias=False, group=4, auto_pad="SAME_LOWER")
    g.then("Relu").then("AveragePool", kernel_shape=[3, 2], pads=[1, 1, 1, 0]).then("Flatten")
    yield "conv-depthwise", g.dense(64, 3)

    g = conv(Graph(rng, [3, 4], first=1), 4, 3, 2, dilations=[2], pads=[1, 1]).then("Relu")
    g.then("MaxPool", kernel_shape=[2], strides=[2], pads=[1, 0], ceil_mode=1).then("Flatten")
    yield "conv-1d", g.dense(12, 3)

    g = conv(Graph(rng, [1, 8, 8]), 3, 1, 3, 3, strides=[2, 2], auto_pad="VALID")
    normalize(g, 3).then("Relu").then("GlobalAveragePool").then("Flatten")
    yield "conv-batchnorm", g.dense(3, 3)

    g = conv(Graph(rng, [4, 4, 4]), 4, 4, 3, 3, pads=[1, 1, 1, 1]).then("Relu")
    first = g.last
    normalize(conv(g, 4, 4, 3, 3, bias=False, auto_pad="SAME_UPPER"), 4).then("Add", first)
    g.then("Relu").then("ReduceMean", axes=[2, 3], keepdims=0)
    yield "conv-residual", g.dense(4, 3)

    g = conv(Graph(rng, [4, 4, 4]), 2, 4, 1, 1).then("Relu")
    g.then("Concat", before=["x"], axis=1).then("MaxPool", kernel_shape=[3, 3], dilations=[1, 1])
    yield "conv-concat", g.then("Flatten").dense(24, 3)

    g = Graph(rng, [4, 4, 4], opset=18)
    g.then("Pad", g.constant([0, 0, 1, 0, 0, 0, 0, 1], np.int64))
    conv(g, 2, 4, 2, 2).then("Relu").then("ReduceMean", g.constant([1, 3], np.int64))
    yield "pad-mean", g.then("Flatten").dense(4, 3)

    g = Graph(rng, [4, 4, 4], opset=10).then("Pad", pads=[0, 0, 0, 1, 0, 0, 1, 0])
    g.then("AveragePool", kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1, count_include_pad=1,
           pads=[0, 1, 1, 0])
    yield "average-pool", conv(g, 2, 4, 2, 2).then("Relu").then("Flatten").dense(8, 3)

    g = conv(Graph(rng, [1, 6, 6]), 3, 1, 3, 3).then("Relu").then("GlobalMaxPool").then("Flatten")
    yield "global-maxpool", g.dense(3, 3)

    g = Graph(rng, [])
    g.input = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 5])
    g.shape = [1, 1, 5]
    conv(g, 2, 1, 2).then("Relu").then("MaxPool", kernel_shape=[2])
    g.then("Reshape", g.constant([6], np.int64))
    yield "conv-no-batch-axis", g.then("MatMul", g.parameter(6, 3))


def normalized(rng):
    """Networks that normalize by what they are given: a sample's groups, or the whole minibatch."""
    def conv(g, outputs, inputs, *kernel, **attributes):
        return g.then("Conv", g.parameter(outputs, inputs, *kernel), **attributes)

    def trained(g, channels, **attributes):
        """A BatchNormalization as training has it, with its running statistics among the outputs."""
        mean, var = g.parameter(channels), g.parameter(values=np.ones(channels, np.float32))
        g.then("BatchNormalization", g.parameter(channels), g.parameter(channels), mean, var,
               training_mode=1, **attributes)
        g.nodes[-1].output.extend([f"{g.last}-mean", f"{g.last}-var"])
        return g

    g = Graph(rng, [4]).dense(4, 6)
    g.then("LayerNormalization", g.parameter(6), g.parameter(6)).then("Relu")
    yield "layer-norm", g.dense(6, 3)

    g = Graph(rng, [2, 3])
    g.then("MatMul", g.parameter(3, 4))
    g.then("LayerNormalization", g.parameter(2, 1), axis=1, epsilon=0.25, stash_type=1)
    g.then("Abs").then("LayerNormalization", g.parameter(4), g.parameter(1, 4), axis=-1)
    yield "layer-norms", g.then("Relu").then("Flatten").dense(8, 3)

    g = conv(Graph(rng, [2, 4, 4]), 3, 2, 3, 3)
    g.then("InstanceNormalization", g.parameter(3), g.parameter(3)).then("Relu").then("Flatten")
    yield "instance-norm", g.dense(12, 3)

    for opset, scales in ((18, 2), (21, 4)):
        g = conv(Graph(rng, [2, 4, 4], opset=opset), 4, 2, 2, 2)
        g.then("GroupNormalization", g.parameter(scales), g.parameter(scales), num_groups=2)
        yield f"group-norm-{opset}", g.then("Relu").then("Flatten").dense(36, 3)

    g = conv(Graph(rng, [1, 6, 6]), 3, 1, 3, 3).then("Relu").then("GlobalMaxPool")
    yield "batchnorm-training", trained(g, 3).then("Relu").then("Flatten").dense(3, 3)

    g = trained(Graph(rng, [4], opset=14).dense(4, 6), 6, epsilon=0.125, momentum=0.5).then("Relu")
    yield "batchnorm-dense", trained(g.dense(6, 4), 4).then("Relu").dense(4, 3)

    g = conv(Graph(rng, [2, 4, 4]), 4, 2, 3, 3, pads=[1, 1, 1, 1]).then("Relu")
    first = g.last
    g = trained(conv(trained(conv(g, 4, 4, 3, 3, pads=[1, 1, 1, 1]), 4).then("Relu"), 4, 4, 1, 1), 4)
    g.then("Add", first).then("Relu").then("GlobalAveragePool").then("Flatten")
    yield "batchnorm-residual", g.dense(4, 3)

    g = Graph(rng, [])
    g.input = helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 2, 4])
    g.shape = [3, 2, 4]
    trained(g, 2).then("Relu").then("Reshape", g.constant([24], np.int64))
    yield "batchnorm-no-batch-axis", g.then("MatMul", g.parameter(24, 3))


def extremes(rng):
    """The largest and smallest, with many ties."""
    g = Graph(rng, [2, 3])
    g.then("MatMul", g.parameter(3, 4, values=rng.integers(-1, 2, (3, 4)).astype(np.float32)))
    g.then("Max", g.parameter(2, 1)).then("Min", g.parameter(4), before=()).then("ReduceMax", axes=[1], keepdims=0)
    yield "extremes", g.dense(4, 3)

    g = Graph(rng, [4, 3], opset=18)
    g.then("Mul", g.parameter(4, 1)).then("ReduceMin", g.constant([-1], np.int64)).then("Abs").then("Flatten")
    first = g.last
    g.then("ReduceMax", g.constant([1], np.int64)).then("Max", first).then("Relu")
    yield "extremes-listed", g.dense(4, 3)

    g = Graph(rng, [3, 4])
    g.then("Mul", g.parameter(3, 1, values=np.array([[1], [0], [1]], np.float32)))
    g.then("Transpose", perm=[1, 0, 2])
    g.then("Max", g.parameter(3, 1, 1), g.parameter(4), before=()).then("Transpose", perm=[1, 0, 2])
    first = g.last
    g.then("Neg").then("Min", first, "x", g.parameter(1, values=np.zeros(1, np.float32)), before=()).then("Flatten")
    yield "extremes-several", g.dense(12, 3)

    g = Graph(rng, [3, 5])
    g.then("MatMul", g.parameter(5, 5, values=rng.integers(-1, 2, (5, 5)).astype(np.float32)))
    g.then("TopK", g.constant([3], np.int64)).then("Relu").then("TopK", g.constant([2], np.int64), axis=1, largest=0)
    first = g.last
    g.then("TopK", g.constant([1], np.int64), axis=-1).then("Sub", first).then("Flatten")
    yield "sorted", g.dense(6, 3)


def repeated(rng):
    """Entries several times."""
    g = Graph(rng, [4, 2])
    g.then("Mul", g.parameter(4, 1)).then("Relu").then("Tile", g.constant([1, 2, 1], np.int64)).then("Mul", g.parameter(8, 1))
    g.then("Unsqueeze", g.constant([2], np.int64)).then("Expand", g.constant([8, 3, 1], np.int64)).then("Flatten")
    yield "repeated", g.dense(48, 3)


def token(rng):
    """A class token for every sample, the shape being computed."""
    g = Graph(rng, [3, 2])
    name = g.parameter(1, 1, 2)
    for op, inputs, out, more in (("Shape", ["x"], "s", {}), ("Gather", ["s", g.constant([0], np.int64)], "n", {"axis": 0}),
                                  ("Concat", ["n", g.constant([1, 1], np.int64)], "m", {"axis": 0}), ("Expand", [name, "m"], "t", {})):
        g.nodes.append(helper.make_node(op, inputs, [out], **more))
    g.then("Concat", before=["t"], axis=1).then("Relu").then("Mul", g.parameter(4, 1)).then("Flatten")
    yield "token", g.dense(8, 3)


def placed(rng):
    """Entries by places and by masks that the file computes; a bias that is a mean, too."""
    g = Graph(rng, [3, 4])
    g.then("Mul", g.parameter(3, 1)).then("Transpose", perm=[1, 2, 0])
    g.then("GatherND", g.constant([[[2, 1], [0, -1]], [[-3, 0], [1, 1]]], np.int64)).then("Relu").then("Transpose", perm=[2, 0, 1])
    g.then("Slice", g.constant([-1], np.int64), g.constant([-9], np.int64), g.constant([2], np.int64), g.constant([-1], np.int64)).then("Flatten")
    yield "placed", g.dense(4, 3)

    g = Graph(rng, [3, 4])
    g.then("Mul", g.parameter(3, 1)).then("Relu")
    places, two = g.constant([[0], [1], [2]], np.int64), g.constant([2], np.int64)
    g.nodes.append(helper.make_node("Less", [places, two], ["mask"]))
    g.then("Where", "x", before=["mask"]).then("Where", g.parameter(4), before=[g.constant([True, False, True, True], bool)])
    yield "masked", g.then("Flatten").dense(12, 3)

    g = Graph(rng, [3, 2])
    g.then("BatchNormalization", "s", "b", "b", "s").then("Relu").then("Flatten")
    g.initializers += [numpy_helper.from_array(np.float32([1, 0.75, 2]), "s"), numpy_helper.from_array(np.float32([0, 1, -0.5]), "b")]
    yield "mean-is-bias", g.dense(6, 3)


def larger(rng):
    """What makes images larger."""
    g = Graph(rng, [2, 3, 3])
    g.then("ConvTranspose", g.parameter(2, 3, 2, 2), g.parameter(3), strides=[2, 2]).then("Relu")
    g.then("MaxPool", kernel_shape=[2, 2], strides=[2, 2]).then("Flatten")
    yield "transposed", g.dense(27, 3)

    g = Graph(rng, [4, 2, 3], opset=11)
    g.then("ConvTranspose", g.parameter(4, 3, 3, 2), group=2, strides=[2, 3], dilations=[1, 2], pads=[1, 0, 0, 1], output_padding=[1, 1])
    g.then("Abs").then("GlobalMaxPool").then("Flatten")
    yield "transposed-groups", g.dense(6, 3)

    for mode in ("half_pixel", "align_corners"):
        g = Graph(rng, [2, 3, 3])
        g.then("Conv", g.parameter(2, 2, 2, 2))
        g.then("Resize", "", g.constant([1, 1, 2, 1.5]), mode="linear", coordinate_transformation_mode=mode)
        yield f"between-{mode}", g.then("Relu").then("Flatten").dense(24, 3)

    for told in (dict(auto_pad="SAME_UPPER"), dict(output_shape=[4, 5]), dict(output_shape=[6, 7])):
        g = Graph(rng, [2, 3, 3])
        g.then("ConvTranspose", g.parameter(2, 2, 2, 2), strides=[2, 2], **told).then("Relu")
        g.then("Pad", g.constant([0, 0, 1, 0, 0, 0, 0, 1], np.int64), g.constant(0.75)).then("MaxPool", kernel_shape=[2, 2]).then("Flatten")
        made = told.get("output_shape", [6, 6])
        yield f"padded-{'-'.join(map(str, told.values()))}".replace("[", "").replace("]", "").replace(", ", "-"), g.dense(2 * made[0] * made[1], 3)

    g = Graph(rng, [3, 4], first=1)
    g.then("ConvTranspose", g.parameter(3, 2, 4), g.parameter(2), strides=[2], pads=[1, 1]).then("Relu").then("Flatten")
    yield "transposed-line", g.dense(16, 3)


def jumping(rng):
    """Comparisons, Where, logic and rounding, between whose jumps all activations lie: these are multiples of 1/16."""
    def node(g, op, *names, **attributes):
        """The node's output; the chain stays where it is."""
        last = g.last
        g.last = names[0]
        out = g.then(op, *names[1:], **attributes).last
        g.last = last
        return out

    g = Graph(rng, [4]).dense(4, 6)
    mask = node(g, "Greater", g.last, g.constant(1 / 32))
    relu, slope = node(g, "Relu", g.last), node(g, "Mul", g.last, g.constant(0.25))
    g.last = node(g, "Where", mask, relu, slope)
    yield "chosen", g.dense(6, 3)

    for op in ("Floor", "Ceil", "Round", "Sign"):
        g = Graph(rng, [4], opset=18).dense(4, 6)
        off = node(g, "Add", g.last, g.constant(1 / 32))
        g.then("Sub", node(g, op, off)).then("Relu")
        yield f"jumps-{op.lower()}", g.dense(6, 3)

    g = Graph(rng, [4]).dense(4, 6).then("Relu")
    low, high = node(g, "LessOrEqual", g.last, g.constant(7 / 32)), node(g, "Less", g.constant([33 / 32]), g.last)
    both = node(g, "Or", node(g, "Not", low), node(g, "And", high, g.constant([True, False] * 3, bool)))
    g.then("Mul", node(g, "Cast", both, to=TensorProto.FLOAT))
    yield "jumps-logic", g.dense(6, 3)

    g = Graph(rng, [4])  # the input does not move: it may be where it jumps
    ties = node(g, "Or", node(g, "Equal", "x", g.constant(0.25)), node(g, "GreaterOrEqual", "x", node(g, "Floor", "x")))
    g.dense(4, 6)
    rounded = node(g, "Mul", node(g, "Round", "x"), node(g, "Cast", ties, to=TensorProto.FLOAT))
    g.then("Relu").then("Concat", rounded, axis=1)
    yield "jumps-still", g.dense(10, 3)

    g = Graph(rng, [4]).dense(4, 6)
    whole = node(g, "Cast", node(g, "Add", g.last, g.constant(1 / 32)), to=TensorProto.INT64)
    some = node(g, "Cast", node(g, "Cast", node(g, "Equal", whole, g.constant(1, np.int64)), to=TensorProto.INT32), to=TensorProto.FLOAT)
    g.then("Relu").then("Add", node(g, "Cast", whole, to=TensorProto.FLOAT)).then("Mul", some)
    yield "jumps-cast", g.dense(6, 3)


def graphs(folder):
    rng = np.random.default_rng(20)
    for make in (pointwise, arithmetic, shapes, unbatched, convolutional, normalized, bilinear, larger, inside, extremes, repeated, token,
                 placed, jumping):
        for name, g in make(rng):
            path = folder / f"{name}.onnx"
            save_model(g.model(), path)
            x = g.numbers(BATCH, *g.shape)
            targets = {"sum": {}, "mse": {"y": g.numbers(BATCH, 3)},
                       "ce": {"y": rng.integers(0, 3, BATCH)}}
            if name == "identity-dropout":
                targets = {"sum": {}}
            for loss, y in targets.items():
                batch = folder / f"{name}-{loss}.npz"
                np.savez(batch, x=x, **y)
                yield f"{name} ({loss})", path, batch, loss
