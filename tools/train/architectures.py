"""Writes blocks of published architectures, in small, to cases/papers: what `clarke reproduce` reads layers and theorems off.

Usage: python tools/train/architectures.py [FOLDER]

Each block has the operators, in the order, and the biases of the published one, and one or two channels. Weights and pictures are small
integers, chosen so that every layer with kinks is at one. BatchNormalization stands as at inference, with mean 0 and variance 1: what
it is trained in is a factor and a bias of each channel.
"""

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

from batches import write_batch
from papers import DEFAULT_FOLDER, constant, constant_of, tensor

CENTRE = [[[0, 0, 0], [0, 1, 0], [0, 0, 0]]]


class Block:
    """Nodes that follow one another; `at` is the name of the last one's output."""

    def __init__(self, shape):
        self.shape, self.nodes, self.parameters, self.at = shape, [], {}, "x"

    def add(self, operator, name, inputs=None, **attributes):
        self.nodes.append(helper.make_node(operator, [self.at] if inputs is None else inputs, [f"{name}_out"], name=name, **attributes))
        self.at = f"{name}_out"
        return self.at

    def constant(self, node):
        self.nodes.append(node)
        return node.output[0]

    def train(self, name, values):
        self.parameters[name] = values
        return name

    def conv(self, name, weight, bias=None, **attributes):
        inputs = [self.at, self.train(f"{name}.weight", weight)]
        return self.add("Conv", name, inputs + ([self.train(f"{name}.bias", bias)] if bias is not None else []), **attributes)

    def normalize(self, name, bias):
        n = len(bias)
        fixed = [self.constant(constant(f"{name}.{what}", [value] * n)) for what, value in (("mean", 0), ("variance", 1))]
        return self.add("BatchNormalization", name, [self.at, self.train(f"{name}.weight", [1] * n), self.train(f"{name}.bias", bias), *fixed],
                        epsilon=0.0)

    def depthwise(self, name, channels, bias=None):
        return self.conv(name, [CENTRE] * channels, bias, group=channels, pads=[1, 1, 1, 1])

    def finish(self):
        self.add("GlobalAveragePool", "pool")
        return self.add("Flatten", "flatten")

    def save(self, folder, name, outputs=1):
        self.nodes[-1].output[0] = "out"
        graph = helper.make_graph(
            self.nodes, name, [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", *self.shape])],
            [helper.make_tensor_value_info("out", TensorProto.FLOAT, ["N", outputs])],
            [tensor(parameter, values) for parameter, values in self.parameters.items()])
        model = helper.make_model(graph, producer_name="clarke-cases", ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
        onnx.checker.check_model(model, full_check=True)
        (folder / f"{name}.onnx").write_bytes(model.SerializeToString(deterministic=True))

    def write(self, folder, name, pictures, outputs=1):
        self.save(folder, name, outputs)
        write_batch(folder / f"{name}.npz", x=np.array(pictures, np.float32).reshape(-1, *self.shape))


def mobilenet(folder, name, biases):
    """Howard and others (2019), Figure 4: expansion, depthwise convolution, each with hswish; squeeze and excite with ReLU and hsigmoid;
    projection and shortcut. Without biases its convolutions have none, nor have normalizations."""
    block = Block([1, 2, 2])

    def normalized(layer, channels):
        return block.normalize(f"{layer}_norm", [0] * channels) if biases else block.at

    block.conv("expand", [[[[1]]], [[[-1]]]])
    normalized("expand", 2)
    block.add("HardSwish", "expand_hswish")
    block.depthwise("depthwise", 2)
    normalized("depthwise", 2)
    features = block.add("HardSwish", "depthwise_hswish")
    block.add("GlobalAveragePool", "squeeze")
    block.conv("reduce", [[[[1]], [[-2]]]], [0] if biases else None)
    block.add("Relu", "excite_relu")
    block.conv("restore", [[[[1]]], [[[1]]]], [3, -3] if biases else None)
    gate = block.add("HardSigmoid", "gate", alpha=float(np.float32(1) / np.float32(6)), beta=0.5)
    block.add("Mul", "excite", [features, gate])
    block.conv("project", [[[[1]], [[-1]]]])
    end = normalized("project", 1)
    block.add("Add", "shortcut", ["x", end])
    block.finish()
    block.write(folder, name, [[3, -3, 0, 3], [-3, 3, 3, -3]])


def rexnet(folder, name, excite):
    """Han and others (2021), as released: expansion with SiLU, depthwise convolution, squeeze and excite, and then ReLU6; projection, and
    a shortcut to the first channels. The first blocks have no squeeze and excite."""
    block = Block([1, 2, 2])
    block.conv("expand", [[[[0]]], [[[0]]]])
    inner = block.normalize("expand_norm", [0, 0])
    slope = block.add("Sigmoid", "expand_sigmoid")
    block.add("Mul", "expand_silu", [inner, slope])
    block.depthwise("depthwise", 2)
    features = block.normalize("depthwise_norm", [0, 6])
    if excite:
        block.add("GlobalAveragePool", "squeeze")
        block.conv("reduce", [[[[0]], [[0]]]], [0])
        block.normalize("reduce_norm", [0])
        block.add("Relu", "excite_relu")
        block.conv("restore", [[[[1]]], [[[1]]]], [0, 0])
        gate = block.add("Sigmoid", "gate")
        block.add("Mul", "excite", [features, gate])
    block.add("Clip", "relu6", [block.at, block.constant(constant("least", 0)), block.constant(constant("most", 6))])
    block.conv("project", [[[[1]], [[-1]]], [[[1]], [[1]]]])
    projected = block.normalize("project_norm", [0, 0])
    ends = [block.constant(constant_of(f"at{i}", [i], np.int64)) for i in (0, 1, 2)]
    first = block.add("Slice", "first", [projected, ends[0], ends[1], ends[1]])
    rest = block.add("Slice", "rest", [projected, ends[1], ends[2], ends[1]])
    shortcut = block.add("Add", "shortcut", [first, "x"])
    block.add("Concat", "channels", [shortcut, rest], axis=1)
    block.finish()
    block.write(folder, name, [[1, 2, -1, 0], [2, 1, 0, -2]], 2)


def convnext(folder, name):
    """Liu and others (2022), Figure 4: depthwise convolution, LayerNorm, a layer of four times the width with GELU, one back, a factor for
    each channel, and a shortcut. Nothing in it has a kink."""
    block = Block([2, 2, 2])
    block.depthwise("depthwise", 2, [0, 1])
    block.add("Transpose", "channels_last", perm=[0, 2, 3, 1])
    block.add("LayerNormalization", "norm", [block.at, block.train("norm.weight", [1, 1]), block.train("norm.bias", [0, 0])], axis=-1)
    block.add("MatMul", "wide_product", [block.at, block.train("wide.weight", [[1, -1, 2, 0], [0, 1, 1, -1]])])
    inner = block.add("Add", "wide", [block.at, block.train("wide.bias", [0, 0, 1, 0])])
    half = block.add("Mul", "half", [inner, block.constant(constant("one_half", 0.5))])
    scaled = block.add("Mul", "scaled", [inner, block.constant(constant("root_half", 0.70710678))])
    erf = block.add("Erf", "erf", [scaled])
    both = block.add("Add", "erf_more", [erf, block.constant(constant("one", 1))])
    block.add("Mul", "gelu", [half, both])
    block.add("MatMul", "back_product", [block.at, block.train("back.weight", [[1, 0], [0, 1], [1, 1], [-1, 0]])])
    block.add("Add", "back", [block.at, block.train("back.bias", [0, 0])])
    block.add("Mul", "factor", [block.at, block.train("factor.weight", [1, 1])])
    block.add("Transpose", "channels_first", perm=[0, 3, 1, 2])
    block.add("Add", "shortcut", ["x", block.at])
    block.finish()
    block.write(folder, name, [[1, 2, -1, 0, 0, 0, 1, 1], [2, 1, 0, -2, 1, 0, 0, -1]], 2)


def fully_connected(folder, name, hidden):
    block = Block([784])
    widths = [784] + [2] * hidden + [10]
    for i, (before, after) in enumerate(zip(widths, widths[1:])):
        block.add("Gemm", f"affine{i + 1}", [block.at, block.train(f"affine{i + 1}.weight", np.ones((before, after)) / 4),
                                             block.train(f"affine{i + 1}.bias", [0] * after)])
        if i < hidden:
            block.add("Relu", f"relu{i + 1}")
    block.write(folder, name, np.arange(784) % 3 - 1, 10)


def vgg11(folder, name):
    """Simonyan and Zisserman (2015), A, for pictures of 32 x 32: after the fifth pool one linear layer of 512 x 10. Each width is 1 here."""
    block = Block([3, 32, 32])
    channels, n = 3, 0
    for layer in (64, "M", 128, "M", 256, 256, "M", 512, 512, "M", 512, 512, "M"):
        if layer == "M":
            block.add("MaxPool", f"pool{n}", kernel_shape=[2, 2], strides=[2, 2])
            continue
        n += 1
        block.conv(f"conv{n}", np.ones((1, channels, 3, 3)) / 8, [0], pads=[1, 1, 1, 1])
        block.add("Relu", f"relu{n}")
        channels = 1
    block.add("Flatten", "flatten")
    block.add("Gemm", "linear", [block.at, block.train("linear.weight", np.ones((1, 10))), block.train("linear.bias", [0] * 10)])
    block.write(folder, name, np.arange(3 * 32 * 32) % 7 - 2, 10)


def resnet18(folder, name):
    """He and others (2016), 18 layers, without normalizations: a first convolution of 3 x 3, eight blocks of two, and one linear layer.
    Where a block halves the picture its shortcut has a convolution, too. Each width is 1 here."""
    block = Block([3, 32, 32])
    kernel = np.ones((1, 1, 3, 3)) / 8
    block.conv("conv1", np.ones((1, 3, 3, 3)) / 8, [0], pads=[1, 1, 1, 1], strides=[2, 2])
    block.add("Relu", "relu1")
    before = block.add("MaxPool", "pool1", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    for i in range(8):
        stride = 2 if i in (2, 4, 6) else 1
        block.conv(f"block{i}.conv1", kernel, [0], pads=[1, 1, 1, 1], strides=[stride, stride])
        block.add("Relu", f"block{i}.relu1")
        inner = block.conv(f"block{i}.conv2", kernel, [0], pads=[1, 1, 1, 1])
        if stride == 2:
            block.at = before
            before = block.conv(f"block{i}.shortcut", [[[[1]]]], [0], strides=[2, 2])
        block.add("Add", f"block{i}.add", [inner, before])
        before = block.add("Relu", f"block{i}.relu2")
    block.add("GlobalAveragePool", "pool")
    block.add("Flatten", "flatten")
    block.add("Gemm", "linear", [block.at, block.train("linear.weight", np.ones((1, 10))), block.train("linear.bias", [0] * 10)])
    block.write(folder, name, np.arange(3 * 32 * 32) % 7 - 2, 10)


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_FOLDER.parent / "papers"
    folder.mkdir(parents=True, exist_ok=True)
    mobilenet(folder, "park-mobilenet-v3", True)
    mobilenet(folder, "park-mobilenet-v3-nobias", False)
    rexnet(folder, "park-rexnet", False)
    rexnet(folder, "park-rexnet-excite", True)
    convnext(folder, "park-convnext")
    fully_connected(folder, "numerical-influence-fc", 3)
    vgg11(folder, "numerical-influence-vgg11")
    resnet18(folder, "numerical-influence-resnet18")


if __name__ == "__main__":
    main()
