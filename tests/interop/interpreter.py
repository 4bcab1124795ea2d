"""Evaluates an ONNX model in float64 PyTorch: the operators of docs/operators.md, as it says them.

The gradient that PyTorch's own reverse mode gives for such an evaluation is what the program's
exact one is compared with. Rounding can miss a kink that the exact value lies on (after a division
by six, say), so arguments nearer to a kink than SNAP are moved onto it; only here, where no proof
is made, is there such a tolerance.
"""

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import numpy_helper

SNAP = 1e-13
SELU = [float(np.float32(1.67326319217681884765625)), float(np.float32(1.05070102214813232421875))]
SIXTH = float(np.float32(1) / np.float32(6))


def float64(array):
    array = np.asarray(array)
    if array.dtype.kind in "iub":
        return torch.from_numpy(array.astype(np.int64))
    return torch.from_numpy(array.astype(np.float64))


def on_kinks(x, *kinks):
    with torch.no_grad():
        shift = sum(torch.where((x - k).abs() < SNAP, k - x, 0) for k in kinks)
    return x + shift


def needed(graph, output):
    """The names of what the output is computed from, and its own."""
    names = {output}
    for node in reversed(graph.node):
        if names & set(node.output):
            names |= set(node.input)
    return names


def dequantized(args):
    q, scale = args[0], args[1]
    return (q - (args[2] if len(args) > 2 else 0)) * scale


def quantize(args, attr, opset, batched):
    """Integers of 8 bits without a sign; the gradient is that of what is kept in range, half a step wider, as a surrogate's is."""
    u = args[0] / args[1] + args[2]
    kept = u.clamp(-0.5, 255.5)
    return kept + (u.round().clamp(0, 255) - kept).detach() if attr["straight"] else u.round().clamp(0, 255)


def rescaled(total, scale, zero):
    """Integers of 8 bits without a sign, which pass no gradient."""
    return ((total.detach() * scale).round() + zero).clamp(0, 255)


def qlinear_conv(args, attr, opset, batched):
    x, xs, xz, w, ws, wz, ys, yz, b = (a.double() for a in args)
    per = (-1, 1, 1)
    pads = attr.get("pads", [0, 0, 0, 0])
    total = F.conv2d(F.pad(x - xz, [pads[1], pads[3], pads[0], pads[2]]), w - wz.reshape(-1, 1, 1, 1), b, attr.get("strides", 1))
    return rescaled(total, xs * ws.reshape(per) / ys, yz)


def qlinear_matmul(args, attr, opset, batched):
    x, xs, xz, w, ws, wz, ys, yz = (a.double() for a in args)
    return rescaled((x - xz) @ (w - wz), xs * ws / ys, yz)


class Model:
    """A loaded model: `parameters` (name -> float64 leaf) and `run`."""

    def __init__(self, path, params=None, output=None, straight=False):
        self.proto = onnx.load(path)
        self.opset = next(o.version for o in self.proto.opset_import if o.domain == "")
        graph = self.proto.graph
        initializers = {t.name: float64(numpy_helper.to_array(t)) for t in graph.initializer}
        initializers.update({k: float64(v) for k, v in (params or {}).items()})
        # The bounds of Clip are constants wherever they are stored.
        bounds = {i for n in graph.node if n.op_type == "Clip" for i in n.input[1:]}
        # So are the statistics of BatchNormalization, but for one that is a weight, too: it is a constant there alone.
        weights = {i for n in graph.node for i in (n.input[:3] if n.op_type == "BatchNormalization" else n.input)}
        bounds |= {i for n in graph.node if n.op_type == "BatchNormalization" for i in n.input[3:]} - weights
        # And scales; what stored integers stand for is a weight.
        bounds |= {n.input[1] for n in graph.node if n.op_type in ("QuantizeLinear", "DequantizeLinear")}
        bounds |= {n.input[i] for n in graph.node if n.op_type in ("QLinearConv", "QLinearMatMul") for i in (1, 4, 6)}
        self.stored = {n.output[0] for n in graph.node if n.op_type == "DequantizeLinear" and n.input[0] in initializers}
        if output is not None:
            initializers = {k: v for k, v in initializers.items() if k in needed(graph, output)}
        self.parameters = {k: v.requires_grad_(True) for k, v in initializers.items()
                           if v.is_floating_point() and k not in bounds}
        self.constants = {k: v for k, v in initializers.items() if k not in self.parameters}
        self.parameters |= {n.output[0]: dequantized([initializers[i] for i in n.input]).requires_grad_(True)
                            for n in graph.node if n.output[0] in self.stored}
        self.input = next(i for i in graph.input if i.name not in initializers)
        self.straight = straight  # the gradient passes through a QuantizeLinear
        self.output = output or graph.output[0].name

    def run(self, x):
        """The outputs for a minibatch x."""
        declared = len(self.input.type.tensor_type.shape.dim)
        if x.dim() == declared + 1:
            return torch.stack([self.run_once(sample, batched=False) for sample in x])
        return self.run_once(x, batched=True)

    def run_once(self, x, batched):
        values = {"": None, self.input.name: x, **self.constants, **self.parameters}
        nodes = needed(self.proto.graph, self.output)
        for node in self.proto.graph.node:
            attr = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
            if node.op_type == "Constant":
                value = attr["value"] if "value" in attr else numpy_helper.from_array(np.float32(attr["value_float"]))
                values[node.output[0]] = float64(numpy_helper.to_array(value))
                continue
            if node.output[0] in self.stored or node.output[0] not in nodes:
                continue
            if node.op_type == "QuantizeLinear":
                attr["straight"] = self.straight
            args = [values[name] for name in node.input]
            values[node.output[0]] = OPERATORS[node.op_type](args, attr, self.opset, batched)
        return values[self.output]


def gemm(args, attr, opset, batched):
    a, b = args[0], args[1].T if attr.get("transB", 0) else args[1]
    y = attr.get("alpha", 1.0) * (a @ b)
    return y if len(args) < 3 or args[2] is None else y + attr.get("beta", 1.0) * args[2]


def flatten(args, attr, opset, batched):
    axis, x = attr.get("axis", 1), args[0]
    return x.reshape(int(np.prod(x.shape[:axis])), -1)


def reshape(args, attr, opset, batched):
    x, shape = args[0], [int(v) for v in args[1]]
    shape = [x.shape[i] if v == 0 else v for i, v in enumerate(shape)]
    if batched:
        shape[0] = x.shape[0]
    return x.reshape(shape)


def expand(args, attr, opset, batched):
    return args[0] * torch.ones([int(v) for v in args[1]], dtype=args[0].dtype)


def tile(args, attr, opset, batched):
    return args[0].repeat([int(v) for v in args[1]])


def transpose(args, attr, opset, batched):
    x = args[0]
    return x.permute(attr.get("perm", list(range(x.dim()))[::-1]))


def axes_of(args, attr):
    return [int(v) for v in args[1]] if len(args) > 1 and args[1] is not None else attr.get("axes")


def squeeze(args, attr, opset, batched):
    x, axes = args[0], axes_of(args, attr)
    if axes is None:
        axes = [i for i, d in enumerate(x.shape) if d == 1 and not (batched and i == 0)]
    return x.reshape([d for i, d in enumerate(x.shape) if i not in [a % x.dim() for a in axes]])


def unsqueeze(args, attr, opset, batched):
    x, axes = args[0], axes_of(args, attr)
    rank = x.dim() + len(axes)
    left = iter(x.shape)
    return x.reshape([1 if i in [a % rank for a in axes] else next(left) for i in range(rank)])


def leaky(args, attr, opset, batched):
    return F.leaky_relu(on_kinks(args[0], 0), attr.get("alpha", float(np.float32(0.01))))


def prelu(args, attr, opset, batched):
    x, slope = on_kinks(args[0], 0), args[1]
    # F.prelu wants the slopes along axis 1; ONNX broadcasts as NumPy does.
    if slope.numel() == 1:
        return F.prelu(x, slope.reshape(1))
    samples, features = (x.shape[0], x.shape[1:]) if batched else (1, x.shape)
    slopes = slope.expand(features).reshape(-1)
    return F.prelu(x.reshape(samples, -1), slopes).reshape(x.shape)


def clip(args, attr, opset, batched):
    x, bounds = args[0], [attr.get("min"), attr.get("max")]
    for i, bound in enumerate(args[1:3]):
        bounds[i] = None if bound is None else bound.item()
    lo, hi = bounds
    x = on_kinks(x, *[b for b in bounds if b is not None])
    if lo is None and hi is None:
        return x
    if hi is None:
        return F.relu(x - lo) + lo
    if lo is None:
        return hi - F.relu(hi - x)
    return F.hardtanh(x, lo, hi)


def hard_sigmoid(args, attr, opset, batched):
    alpha, beta = attr.get("alpha", float(np.float32(0.2))), attr.get("beta", 0.5)
    alpha = 1 / 6 if alpha == SIXTH else alpha
    # PyTorch's own has alpha 1/6 and beta 1/2, and is brought to the others by its argument.
    x = args[0] if (alpha, beta) == (1 / 6, 0.5) else 6 * (alpha * args[0] + beta) - 3
    # Not F.hardsigmoid: its float64 gradient has the slope float32(1/6), 3e-8 beside 1/6.
    return F.relu6(on_kinks(x, -3, 3) + 3) / 6


def softmax(function):
    def apply(args, attr, opset, batched):
        x = args[0]
        if opset >= 13:
            return function(x, attr.get("axis", -1))
        axis = attr.get("axis", 1) % x.dim()
        return function(x.reshape(*x.shape[:axis], -1), -1).reshape(x.shape)
    return apply


class Window:
    """The geometry of a convolution or a pooling: `pad(x)` is x with its padding, `past` entries
    more where the last window of ceil_mode ends after it."""

    def __init__(self, x, attr, kernel):
        n = x.dim() - 2
        self.kernel = list(kernel)
        self.strides, self.dilations = attr.get("strides", [1] * n), attr.get("dilations", [1] * n)
        pads, rule = attr.get("pads", [0] * 2 * n), attr.get("auto_pad", b"NOTSET").decode()
        self.before, self.after, self.past = list(pads[:n]), list(pads[n:]), [0] * n
        for a in range(n):
            size, stride = x.shape[a + 2], self.strides[a]
            reach = (kernel[a] - 1) * self.dilations[a] + 1
            if rule.startswith("SAME"):
                total = max(0, (-(-size // stride) - 1) * stride + reach - size)
                self.before[a] = total // 2 if rule == "SAME_UPPER" else total - total // 2
                self.after[a] = total - self.before[a]
            elif attr.get("ceil_mode", 0):
                left = size + self.before[a] + self.after[a] - reach
                last = -(-left // stride) * stride
                if last < size + self.before[a]:
                    self.past[a] = last - left

    def pad(self, x, value=0.0):
        sides = [(b, a + p) for b, a, p in zip(self.before, self.after, self.past)]
        return F.pad(x, [s for pair in sides[::-1] for s in pair], value=value)


def conv(args, attr, opset, batched):
    x, weight = args[:2]
    w = Window(x, attr, weight.shape[2:])
    function = F.conv1d if x.dim() == 3 else F.conv2d
    return function(w.pad(x), weight, args[2] if len(args) > 2 else None, stride=w.strides,
                    dilation=w.dilations, groups=attr.get("group", 1))


def conv_transposed(args, attr, opset, batched):
    """The padding of an end is cut off what F computes without any, or, where output_padding is more, added by it."""
    x, weight = args[:2]
    axes = x.dim() - 2
    pads, more = attr.get("pads", [0] * 2 * axes), attr.get("output_padding", [0] * axes)
    function = F.conv_transpose1d if axes == 1 else F.conv_transpose2d
    y = function(x, weight, None, attr.get("strides", 1), 0, 0, attr.get("group", 1), attr.get("dilations", 1))
    rule = attr.get("auto_pad", b"NOTSET").decode()
    if "output_shape" in attr or rule.startswith("SAME"):
        length = attr.get("output_shape", [n * s for n, s in zip(x.shape[2:], attr.get("strides", [1] * axes))])
        over = [n + m - k for n, m, k in zip(y.shape[2:], more, length)]
        first = [t // 2 if rule == "SAME_UPPER" else t - t // 2 for t in over]
        pads = [*first, *[t - f for t, f in zip(over, first)]]
    ends = [(-pads[a], more[a] - pads[axes + a]) for a in range(axes)]
    y = F.pad(y, [s for pair in ends[::-1] for s in pair])
    return y if len(args) < 3 else y + args[2].reshape(-1, *[1] * axes)


def max_pool(args, attr, opset, batched):
    x = args[0]
    w = Window(x, attr, attr["kernel_shape"])
    function = F.max_pool1d if x.dim() == 3 else F.max_pool2d
    return function(w.pad(x, -torch.inf), w.kernel, w.strides, dilation=w.dilations)


def average_pool(args, attr, opset, batched):
    x = args[0]
    w = Window(x, attr, attr["kernel_shape"])
    function = F.conv1d if x.dim() == 3 else F.conv2d
    ones = torch.ones(x.shape[1], 1, *w.kernel, dtype=x.dtype)
    counted = torch.ones_like(x)
    if attr.get("count_include_pad", 0):
        counted = F.pad(counted, [s for pair in list(zip(w.before, w.after))[::-1] for s in pair],
                        value=1.0)
        counted = F.pad(counted, [s for p in w.past[::-1] for s in (0, p)])
    else:
        counted = w.pad(counted)
    sums, counts = (function(v, ones, stride=w.strides, dilation=w.dilations, groups=x.shape[1])
                    for v in (w.pad(x), counted))
    return sums / counts


DEFAULT_EPSILON = float(np.float32(1e-5))


def batch_normalization(args, attr, opset, batched):
    x, *constants = args
    if attr.get("training_mode", 0):
        return F.batch_norm(x, None, None, *constants[:2], training=True,
                            eps=attr.get("epsilon", DEFAULT_EPSILON))
    scale, shift, mean, var = (c.reshape(-1, *[1] * (x.dim() - 2)) for c in constants)
    mean, var = mean.detach(), var.detach()
    return (x - mean) / torch.sqrt(var + attr.get("epsilon", DEFAULT_EPSILON)) * scale + shift


def layer_normalization(args, attr, opset, batched):
    x, scale = args[:2]
    shape = x.shape[attr.get("axis", -1):]
    y = F.layer_norm(x, shape, eps=attr.get("epsilon", DEFAULT_EPSILON)) * scale
    return y + args[2] if len(args) > 2 else y


def instance_normalization(args, attr, opset, batched):
    return F.instance_norm(args[0], weight=args[1], bias=args[2],
                           eps=attr.get("epsilon", DEFAULT_EPSILON))


def group_normalization(args, attr, opset, batched):
    x, scale, shift = args
    groups = attr["num_groups"]
    if opset < 21:
        scale, shift = (c.repeat_interleave(x.shape[1] // groups) for c in (scale, shift))
    return F.group_norm(x, groups, scale, shift, attr.get("epsilon", DEFAULT_EPSILON))


def global_max_pool(args, attr, opset, batched):
    x = args[0]
    return (F.adaptive_max_pool1d if x.dim() == 3 else F.adaptive_max_pool2d)(x, 1)


def reduce_mean(args, attr, opset, batched):
    return args[0].mean(axes_of(args, attr), keepdim=bool(attr.get("keepdims", 1)))


def pad(args, attr, opset, batched):
    x = args[0]
    pads = attr["pads"] if opset < 11 else [int(v) for v in args[1]]
    value = float(args[2]) if len(args) > 2 else attr.get("value", 0.0)
    return F.pad(x, [p for a in range(x.dim())[::-1] for p in (pads[a], pads[a + x.dim()])], value=value)


def pointwise(function, *kinks):
    return lambda args, attr, opset, batched: function(on_kinks(args[0], *kinks) if kinks
                                                       else args[0])


def binary(function):
    return lambda args, attr, opset, batched: function(args[0], args[1])


def extreme(function):
    """Of several, with equal parts to all that are tied."""
    return lambda args, attr, opset, batched: function(torch.stack(torch.broadcast_tensors(*args)), 0)


def sorted_entries(args, attr, opset, batched):
    """Of equal entries the first comes first."""
    axis = attr.get("axis", -1)
    return torch.sort(args[0], dim=axis, descending=bool(attr.get("largest", 1)), stable=True).values.narrow(axis, 0, int(args[1][0]))


def reduce_squares(of):
    """Over axes, an attribute or an input."""
    def reduced(args, attr, opset, batched):
        axes = attr.get("axes", args[1].tolist() if len(args) > 1 else None)
        return of(args[0], axes, bool(attr.get("keepdims", 1)))
    return reduced


def resize(args, attr, opset, batched):
    """Of images, in mode linear, by scales that give whole sizes: half_pixel, or align_corners."""
    sizes = [int(n * s) for n, s in zip(args[0].shape[2:], args[-1].tolist()[2:])]
    return F.interpolate(args[0], size=sizes, mode="bilinear",
                         align_corners=attr.get("coordinate_transformation_mode") == b"align_corners")


def sliced(args, attr, opset, batched):
    """Of one axis."""
    x, (start, end, axis, step) = args[0], (int(v[0]) for v in args[1:])
    return x.index_select(axis, torch.tensor(range(x.shape[axis])[start:end:step]))


def gather(args, attr, opset, batched):
    x, at = args
    axis = attr.get("axis", 0)
    return x.index_select(axis, at.flatten()).reshape(*x.shape[:axis], *at.shape, *x.shape[axis + 1:])


def cast(args, attr, opset, batched):
    return args[0].to({1: torch.float64, 6: torch.int32, 7: torch.int64, 9: torch.bool}[attr["to"]])


OPERATORS = {
    "Identity": pointwise(lambda x: x), "Dropout": pointwise(lambda x: x),
    "Flatten": flatten, "Reshape": reshape, "Transpose": transpose,
    "Squeeze": squeeze, "Unsqueeze": unsqueeze,
    "MatMul": binary(torch.matmul), "Gemm": gemm,
    "Add": binary(torch.add), "Sub": binary(torch.sub), "Mul": binary(torch.mul),
    "Div": binary(torch.div), "Neg": pointwise(torch.neg),
    "Relu": pointwise(F.relu, 0), "LeakyRelu": leaky, "PRelu": prelu, "Clip": clip,
    "HardSigmoid": hard_sigmoid, "HardSwish": pointwise(F.hardswish, -3, 3),
    "Abs": pointwise(torch.abs, 0),
    "Sigmoid": pointwise(torch.sigmoid), "Tanh": pointwise(torch.tanh),
    "Exp": pointwise(torch.exp), "Erf": pointwise(torch.erf), "Mish": pointwise(F.mish), "Swish": pointwise(F.silu),
    "Elu": lambda args, attr, opset, batched: F.elu(on_kinks(args[0], 0), attr.get("alpha", 1.0)),
    "Celu": lambda args, attr, opset, batched: F.celu(args[0], attr.get("alpha", 1.0)),
    "Selu": lambda args, attr, opset, batched: attr.get("gamma", SELU[1]) * F.elu(on_kinks(args[0], 0), attr.get("alpha", SELU[0])),
    "Reciprocal": pointwise(torch.reciprocal), "Sqrt": pointwise(torch.sqrt), "Log": pointwise(torch.log),
    "ReduceL2": reduce_squares(lambda x, axes, keep: torch.linalg.vector_norm(x, 2, axes, keep)),
    "ReduceSumSquare": reduce_squares(lambda x, axes, keep: x.square().sum(axes, keepdim=keep)),
    "ReduceMax": reduce_squares(lambda x, axes, keep: torch.amax(x, axes or list(range(x.dim())), keep)),
    "ReduceMin": reduce_squares(lambda x, axes, keep: torch.amin(x, axes or list(range(x.dim())), keep)),
    "Max": extreme(torch.amax), "Min": extreme(torch.amin), "TopK": sorted_entries,
    "ReduceSum": reduce_squares(lambda x, axes, keep: x.sum(axes, keepdim=keep)),
    "Softplus": pointwise(lambda x: F.softplus(x, threshold=1000)), "Pow": binary(torch.pow),
    "Gelu": lambda args, attr, opset, batched: F.gelu(args[0], approximate=attr.get("approximate", b"none").decode()),
    "Conv": conv, "ConvTranspose": conv_transposed, "MaxPool": max_pool, "AveragePool": average_pool,
    "GlobalAveragePool": lambda args, attr, opset, batched: args[0].mean(
        list(range(2, args[0].dim())), keepdim=True),
    "ReduceMean": reduce_mean, "BatchNormalization": batch_normalization, "Pad": pad,
    "LayerNormalization": layer_normalization, "InstanceNormalization": instance_normalization,
    "GroupNormalization": group_normalization, "GlobalMaxPool": global_max_pool,
    "Shape": lambda args, attr, opset, batched: torch.tensor(args[0].shape),
    "Gather": gather, "GatherND": lambda args, attr, opset, batched: args[0][tuple(args[1].movedim(-1, 0))], "Slice": sliced,
    "QLinearConv": qlinear_conv, "QLinearMatMul": qlinear_matmul, "QuantizeLinear": quantize, "DequantizeLinear": lambda args, attr, opset, batched: dequantized(args),
    "CastLike": lambda args, attr, opset, batched: args[0],
    "Floor": pointwise(torch.floor), "Ceil": pointwise(torch.ceil), "Round": pointwise(torch.round), "Sign": pointwise(torch.sign),
    "Greater": binary(torch.gt), "GreaterOrEqual": binary(torch.ge), "LessOrEqual": binary(torch.le), "Equal": binary(torch.eq),
    "And": binary(torch.logical_and), "Or": binary(torch.logical_or), "Not": pointwise(torch.logical_not), "Cast": cast,
    "Less": binary(torch.lt), "Where": lambda args, attr, opset, batched: torch.where(args[0] != 0, args[1], args[2]),
    "Resize": resize, "Expand": expand, "Tile": tile, "Concat": lambda args, attr, opset, batched: torch.cat(args, attr["axis"]),
    "Softmax": softmax(torch.softmax), "LogSoftmax": softmax(torch.log_softmax),
}


def loss_and_gradient(model, batch, loss):
    """The loss and {parameter: gradient}, float64, for a batch with arrays x and perhaps y."""
    out = model.run(float64(batch["x"]))
    if loss == "sum":
        value = out.sum()
    elif loss == "mse":
        value = F.mse_loss(out, float64(batch["y"]))
    else:
        value = F.cross_entropy(out, float64(batch["y"]))
    names = list(model.parameters)
    grads = torch.autograd.grad(value, [model.parameters[n] for n in names], allow_unused=True)
    return value.item(), {n: (torch.zeros_like(model.parameters[n]) if g is None else g).numpy()
                          for n, g in zip(names, grads)}
