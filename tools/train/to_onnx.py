"""Writes a PyTorch network as ONNX, an operator for each module and the names of the state dict.

PyTorch's own exporter changes what clarke is to look at: in eval mode it folds a BatchNormalization
into the convolution before it, so that gamma and beta are no parameters any more, and it makes two
initializers that are equal (fresh gammas, say) one. So the graph is built here, from a trace of the
module: its nodes are what `forward` calls, nothing is folded, and every parameter is an initializer
of its own.
"""

import operator

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn


def pair(value):
    return list(value) if isinstance(value, tuple) else [value, value]


def both_sides(padding):
    """PyTorch's padding as ONNX's pads: rows and columns before, then after."""
    return pair(padding) * 2


class Writer:
    """Nodes and initializers, in the order they are called; training: normalized by the minibatch's own statistics."""

    def __init__(self, training):
        self.nodes, self.initializers, self.training = [], [], training

    def parameter(self, name, tensor):
        array = tensor.detach().cpu().numpy()
        if array.dtype != np.int64:
            self.initializers.append(numpy_helper.from_array(array, name))
        return name

    def parameters(self, name, module, *fields):
        return [self.parameter(f"{name}.{f}", getattr(module, f)) for f in fields
                if getattr(module, f) is not None]

    def node(self, op, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))

    def module(self, name, m, args, output):
        if isinstance(m, nn.Conv2d):
            self.node("Conv", args + self.parameters(name, m, "weight", "bias"), output,
                      kernel_shape=pair(m.kernel_size), strides=pair(m.stride),
                      pads=both_sides(m.padding), dilations=pair(m.dilation), group=m.groups)
        elif isinstance(m, nn.BatchNorm2d):
            fields = self.parameters(name, m, "weight", "bias", "running_mean", "running_var")
            self.node("BatchNormalization", args + fields, output, epsilon=m.eps, **{"training_mode": 1} if self.training else {})
            if self.training:
                self.nodes[-1].output.extend(f"{name}.{of}" for of in ("mean", "var"))
        elif isinstance(m, nn.Linear):
            self.node("Gemm", args + self.parameters(name, m, "weight", "bias"), output, transB=1)
        elif isinstance(m, nn.MaxPool2d):
            self.node("MaxPool", args, output, kernel_shape=pair(m.kernel_size),
                      strides=pair(m.stride), pads=both_sides(m.padding), ceil_mode=m.ceil_mode)
        elif isinstance(m, nn.AvgPool2d):
            self.node("AveragePool", args, output, kernel_shape=pair(m.kernel_size),
                      strides=pair(m.stride), pads=both_sides(m.padding),
                      count_include_pad=int(m.count_include_pad))
        elif isinstance(m, nn.AdaptiveAvgPool2d) and m.output_size in (1, (1, 1)):
            self.node("GlobalAveragePool", args, output)
        elif isinstance(m, nn.ReLU):
            self.node("Relu", args, output)
        elif isinstance(m, nn.Flatten):
            self.node("Flatten", args, output, axis=1)
        elif isinstance(m, nn.Dropout):
            self.node("Dropout", args, output)
        elif isinstance(m, nn.Identity):
            self.node("Identity", args, output)
        else:
            raise NotImplementedError(f"{name}: {m}")

    def function(self, f, args, output):
        if f is operator.add:
            self.node("Add", args, output)
        elif f is torch.cat:
            self.node("Concat", args, output, axis=1)
        else:
            raise NotImplementedError(f"{f}")


def to_onnx(net, sample, producer="clarke-cases", training=False):
    """The model of `net` in eval mode (or in training mode) from `x`, of any batch size, to `logits`.
    `sample` is one input without its batch axis."""
    net = net.eval()
    traced, writer, name_of = torch.fx.symbolic_trace(net), Writer(training), {}
    modules = dict(traced.named_modules())
    for node in traced.graph.nodes:
        args = [name_of[a] for of in node.args for a in (of if isinstance(of, (list, tuple)) else [of]) if isinstance(a, torch.fx.Node)]
        if node.op == "placeholder":
            name_of[node] = "x"
        elif node.op == "output":
            result = args[0]
        elif node.op == "call_module":
            name_of[node] = f"/{node.target.replace('.', '/')}"
            writer.module(node.target, modules[node.target], args, name_of[node])
        elif node.op == "call_function":
            name_of[node] = f"/{node.name}"
            writer.function(node.target, args, name_of[node])
        else:
            raise NotImplementedError(f"{node.op} {node.target}")
    for node in writer.nodes:
        node.output[:] = ["logits" if name == result else name for name in node.output]

    with torch.no_grad():
        classes = net(torch.zeros(1, *sample.shape)).shape[1]
    graph = helper.make_graph(
        writer.nodes, "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", *sample.shape])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", classes])],
        writer.initializers)
    model = helper.make_model(graph, producer_name=producer, ir_version=8,
                              opset_imports=[helper.make_opsetid("", 17)])
    onnx.checker.check_model(model, full_check=True)
    return model


def write_onnx(path, net, sample, training=False):
    path.write_bytes(to_onnx(net, sample, training=training).SerializeToString(deterministic=True))
