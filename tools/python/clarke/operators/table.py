"""ATen's operators as ONNX's: each function writes the nodes of one, and returns the name of its result.

An operator is here only if the nodes are the same function with the same derivative, at kinks too (docs/operators.md).
Activations, products, reductions, rearrangements, images and further losses have modules of their own.
"""
import torch

from . import masks
from .axes import is_first
from ..refused import SEEN, Unbatched

OPERATORS, LOSSES = {}, {}


def writers(table):
    """A decorator that puts a function into a table, under some names."""
    def named(*names):
        def note(write):
            table.update(dict.fromkeys(names, write))
            return write
        return note
    return named


operator = writers(OPERATORS)


def loss(name):
    def note(write):
        LOSSES[name] = write
        return write
    return note


def argument(node, i, name, default=None):
    """By place or by name."""
    if len(node.args) > i:
        return node.args[i]
    return node.kwargs.get(name, default)


def result(node):
    return node.results[0].tensor


def pair(list_):
    list_ = list(list_)
    return list_ * 2 if len(list_) == 1 else list_


# ---- The same entries


@operator("view", "_unsafe_view", "reshape", "flatten", "squeeze", "unsqueeze", "_reshape_alias")
def write_reshape(g, node):
    return g.add("Reshape", [g.of(node.args[0]), g.integers(result(node).shape)])


@operator("as_strided")
def write_same(g, node):
    """Other strides of axes of one entry: what a pool of a channels-last image ends with."""
    x, size, stride = node.args[:3]
    offset = argument(node, 3, "storage_offset")
    same = all(n == 1 or a == b for n, a, b in zip(size, x.tensor.stride(), stride))
    if list(size) != list(x.tensor.shape) or not same or offset not in (None, x.tensor.storage_offset()):
        g.refuse("a view of other entries", "take them by indices, slices, unfold or reshape")
    return g.add("Identity", [g.of(x)])


@operator("t", "transpose", "permute")
def write_transpose(g, node):
    rank = result(node).dim()
    if rank == 0:
        return g.add("Identity", [g.of(node.args[0])])
    order = list(range(rank))
    if node.name.rstrip("_") == "t":
        order.reverse()
    elif node.name.rstrip("_") == "transpose":
        a, b = node.args[1] % rank, node.args[2] % rank
        order[a], order[b] = order[b], order[a]
    else:
        order = [a % rank for a in node.args[1]]
    return g.add("Transpose", [g.of(node.args[0])], perm=order)


@operator("expand")
def write_expand(g, node):
    """0 is added, of the shape that comes out: copies are not rounded."""
    shape, like = list(result(node).shape), node.args[0].tensor
    if shape == list(like.shape):
        return g.add("Identity", [g.of(node.args[0])])
    return g.add("Add", [g.of(node.args[0]), g.constant(torch.zeros(shape if g.whole else [1] + shape[1:], dtype=like.dtype))])


@operator("select")
def write_select(g, node):
    """One entry of an axis, which is gone."""
    x, axis, place = node.args[:3]
    return g.add("Gather", [g.of(x), g.constant(torch.tensor(place))], axis=axis % x.tensor.dim())


def part(g, node, i, axis, first, count):
    """Entries `first` to `first + count` of an axis: the result i of the node."""
    places = [g.integers([n]) for n in (first, first + count, axis)]
    return g.add("Slice", [g.of(node.args[0])] + places, result=i)


@operator("slice")
def write_slice(g, node):
    x, size = node.args[0], node.args[0].tensor.shape
    axis, step = argument(node, 1, "dim", 0) % len(size), argument(node, 4, "step", 1)
    first, last, _ = slice(argument(node, 2, "start"), argument(node, 3, "end"), step).indices(size[axis])
    if list(result(node).shape) == list(size):
        return g.add("Identity", [g.of(x)])
    return g.add("Slice", [g.of(x)] + [g.integers([n]) for n in (first, last, axis, step)])


@operator("split", "split_with_sizes", "unsafe_split", "unsafe_split_with_sizes")
def write_split(g, node):
    """One slice for each part that is read."""
    axis = argument(node, 2, "dim", 0) % node.args[0].tensor.dim()
    sizes = [v.tensor.shape[axis] for v in node.results]
    return {i: part(g, node, i, axis, sum(sizes[:i]), sizes[i]) for i in g.read_of(node)}


@operator("unbind")
def write_unbind(g, node):
    """One select for each part that is read."""
    axis = argument(node, 1, "dim", 0) % node.args[0].tensor.dim()
    return {i: g.add("Gather", [g.of(node.args[0]), g.constant(torch.tensor(i))], axis=axis, result=i) for i in g.read_of(node)}


@operator("stack")
def write_stack(g, node):
    """One after another along the axis that follows the new one, or each on a new axis: on the last, and on the first of samples."""
    parts, axis = [g.of(v) for v in node.args[0]], argument(node, 1, "dim", 0) % result(node).dim()
    if axis == result(node).dim() - 1 or (axis == 0 and not g.whole):
        places = g.integers([axis])
        return g.add("Concat", [g.add("Unsqueeze", [v, places]) for v in parts], axis=axis)
    joined = g.add("Concat", parts, axis=axis) if len(parts) > 1 else parts[0]
    return g.add("Reshape", [joined, g.integers(result(node).shape)])


@operator(*masks.SAME)
def write_identity(g, node):
    """A cast is a rounding, which the bound on rounding has, and no function of its own."""
    if id(node.args[0]) in g.masked:  # a softmax reads it in another type: no node stands between
        g.masked.add(id(node.results[0]))
        if id(node.args[0]) in g.kept:
            g.kept[id(node.results[0])] = g.kept[id(node.args[0])]
        return g.of(node.args[0])
    return g.add("Identity", [g.of(node.args[0])])


@operator("detach")
def write_detach(g, node):
    if node.args[0].requires_grad:
        g.refuse("detached: AD differentiates another function than the one that is computed", SEEN)
    return g.add("Identity", [g.of(node.args[0])])


@operator("cat")
def write_concat(g, node):
    parts = [g.of(v) for v in node.args[0] if v.tensor.numel() > 0]  # a cache begins with a tensor of no entries
    return g.add("Concat", parts, axis=argument(node, 1, "dim", 0)) if len(parts) > 1 else g.add("Identity", parts)


@operator("constant_pad_nd")
def write_pad(g, node):
    """Pads; another number than 0 is padded as 0, and added."""
    x, pads, value = *node.args[:2], argument(node, 2, "value", 0)
    rank, out = x.tensor.dim(), result(node)
    before, after = [0] * rank, [0] * rank
    for i in range(len(pads) // 2):
        before[rank - 1 - i], after[rank - 1 - i] = pads[2 * i], pads[2 * i + 1]
    name = g.add("Pad", [g.of(x), g.integers(before + after)])
    if value == 0:
        return name
    border = torch.nn.functional.pad(torch.zeros(x.tensor.shape, dtype=out.dtype), pads, value=value)
    if not g.whole and (before[0] or after[0]):
        raise Unbatched
    return g.add("Add", [name, g.constant(border if g.whole else border[:1])])


# ---- Arithmetic


@operator("add", "sub")
def write_sum(g, node):
    op, alpha = {"a": "Add", "s": "Sub"}[node.name[0]], argument(node, 2, "alpha", 1)
    a, b = ((masks.added(g, v, node) if op == "Add" and alpha == 1 else None) or g.operand(v, result(node)) for v in node.args[:2])
    return g.add(op, [a, b if alpha == 1 else g.add("Mul", [b, g.scalar(alpha, result(node))])])


@operator("rsub")
def write_difference(g, node):
    if argument(node, 2, "alpha", 1) != 1:
        g.refuse("a factor alpha", "multiply by it: b - alpha * a")
    return g.add("Sub", [g.operand(node.args[1], result(node)), g.of(node.args[0])])


@operator("mul", "div")
def write_product(g, node):
    if node.kwargs.get("rounding_mode") is not None:
        g.refuse("a quotient that is rounded to a whole number", "divide, and detach what is rounded on purpose: x + (x.floor() - x).detach()")
    op = {"m": "Mul", "d": "Div"}[node.name[0]]
    if op == "Mul" and node.args[0] is node.args[1]:
        return g.add("Pow", [g.of(node.args[0]), g.scalar(2, result(node))])
    return g.add(op, [g.operand(v, result(node)) for v in node.args[:2]])


@operator("neg")
def write_negation(g, node):
    return g.add("Neg", [g.of(node.args[0])])


@operator("convolution", "cudnn_convolution", "mkldnn_convolution")
def write_convolution(g, node):
    if node.name != "convolution":
        g.refuse("a convolution that bypasses aten.convolution", "call torch.nn.functional.conv2d, or another of its kind")
    x, w, bias, stride, padding, dilation, transposed, more, groups = node.args[:9]
    axes = w.tensor.dim() - 2
    if g.of(w) in g.active or g.of(w) in g.negated:
        return convolution_by(g, node)
    stride, padding, dilation, more = (list(v) * (axes if len(v) == 1 else 1) for v in (stride, padding, dilation, more))
    added = bias is not None and g.of(bias) in g.negated  # which no Conv takes
    inputs = [g.of(x), g.of(w)] + ([g.of(bias)] if bias is not None and not added else [])
    windows = {"kernel_shape": list(w.tensor.shape[2:]), "strides": stride, "pads": padding * 2, "dilations": dilation, "group": groups}
    made = g.add("ConvTranspose", inputs, output_padding=more, **windows) if transposed else g.add("Conv", inputs, **windows)
    return with_bias(g, made, bias, axes) if added else made


def with_bias(g, name, bias, axes):
    return g.add("Add", [name, g.add("Reshape", [g.of(bias), g.integers([bias.tensor.shape[0]] + [1] * axes)])])


def places_read(size, kernel, stride, dilation, out):
    """The entry of a plane that each tap reads at each place of an output."""
    at = [(torch.arange(o) * s)[None, :] + (torch.arange(k) * d)[:, None] for o, s, k, d in zip(out, stride, kernel, dilation)]
    if len(at) == 1:
        return at[0]
    rows, columns = at  # taps x places of either axis
    return (rows[:, None, :, None] * size[1] + columns[None, :, None, :]).reshape(len(rows) * len(columns), -1)


def convolution_by(g, node):
    """A weight that is computed: the windows are laid out beside one another, and the product is of two activations."""
    x, w, bias, stride, padding, dilation, transposed, _, groups = node.args[:9]
    image, kernel, out = list(x.tensor.shape), list(w.tensor.shape[2:]), list(result(node).shape)
    axes = len(kernel)
    stride, padding, dilation = (list(v) * (axes if len(v) == 1 else 1) for v in (stride, padding, dilation))
    if transposed:
        g.refuse("a transposed convolution whose weight is computed", "make it a parameter; of a negated one, negate what is computed with it")
    name = g.of(x) if g.of(x) in g.active else g.lifted(g.of(x))
    if any(padding):
        name = g.add("Pad", [name, g.integers([0, 0, *padding] * 2)])
        image[2:] = [n + 2 * p for n, p in zip(image[2:], padding)]
    at = places_read(image[2:], kernel, stride, dilation, out[2:])
    taps, places, each = at.shape[0], at.shape[1], image[1] // groups
    name = g.add("Reshape", [name, g.integers([image[0], image[1], image[2:][0] * (image[3] if axes > 1 else 1)])])
    name = g.add("Reshape", [g.add("Gather", [name, g.constant(at)], axis=2), g.integers([image[0], groups, each * taps, places])])
    weight = g.of(w) if g.of(w) in g.active else g.lifted(g.of(w))
    g.unfolded = True
    weight = g.add("Reshape", [weight, g.integers([1, groups, out[1] // groups, each * taps])])
    name = g.add("Reshape", [g.add("MatMul", [weight, name]), g.integers(out)])
    return name if bias is None else with_bias(g, name, bias, axes)


# ---- Means


@operator("mean")
def write_mean(g, node):
    axes, keep = argument(node, 1, "dim"), argument(node, 2, "keepdim", False)
    places = [] if axes is None or len(axes) == 0 else [g.integers(axes)]
    return g.add("ReduceMean", [g.of(node.args[0])] + places, keepdims=int(keep))


NORMS = {}  # "other": of other orders (norms.py)


@operator("linalg_vector_norm", "norm")
def write_norm(g, node):
    """The root of the sum of squares; of ord 1 the sum of absolute values."""
    order, axes, keep = argument(node, 1, "ord", 2), argument(node, 2, "dim"), argument(node, 3, "keepdim", False)
    if node.kwargs.get("dtype") not in (None, node.args[0].tensor.dtype):
        g.refuse("a norm in another type", "cast before it, by to(dtype)")
    if node.args[0].tensor.dim() == 0:
        g.refuse("the norm of a number", "take its abs")
    if order not in (1, 2, None):
        return NORMS["other"](g, node, order)
    axes = [axes] if isinstance(axes, int) else axes
    places = [] if axes is None or len(axes) == 0 else [g.integers(axes)]
    if order == 1:
        return g.add("ReduceSum", [g.add("Abs", [g.of(node.args[0])])] + places, keepdims=int(keep))
    return g.add("ReduceL2", [g.of(node.args[0])] + places, keepdims=int(keep))


# ---- Normalizations


def filled(g, like, n, number):
    return g.constant(torch.full((n,), number, dtype=like.dtype))


@operator("native_batch_norm", "_native_batch_norm_legit", "_native_batch_norm_legit_no_training", "cudnn_batch_norm")
def write_batch_norm(g, node):
    x, weight, bias, mean, variance = node.args[:5]
    training, eps = (False, node.args[6]) if node.name.endswith("no_training") else (node.args[5], node.args[7])
    like, n = x.tensor, x.tensor.shape[1]
    if training and g.whole and (g.of(x) not in g.active or (weight is not None and g.of(weight) in g.active)):
        return normalize_channels(g, node, eps)
    inputs = [g.of(x), g.of(weight) if weight is not None else filled(g, like, n, 1),
              g.of(bias) if bias is not None else filled(g, like, n, 0)]
    if training:  # the file's are not read
        inputs += [filled(g, like, n, 0), filled(g, like, n, 1)]
    else:
        inputs += [g.statistic(mean), g.statistic(variance)]
    made = g.add("BatchNormalization", inputs, outputs=3 if training else 1, epsilon=g.float32(eps, like, "eps"),
                 training_mode=1 if training else None)
    if training:
        g.updates.append((made, node))
    return made


def normalize_channels(g, node, eps):
    """What is computed of parameters alone, as a weight that is standardized; its scale may be, too."""
    x, weight, bias = node.args[:3]
    like, n = x.tensor, x.tensor.shape[1]
    name = g.of(x) if g.of(x) in g.active else g.lifted(g.of(x))
    units = [filled(g, like, n, 1), filled(g, like, n, 0)]
    name = g.add("BatchNormalization", [name, *units, units[1], units[0]], outputs=3, epsilon=g.float32(eps, like, "eps"), training_mode=1)
    g.updates.append((name, node))
    for op, by in (("Mul", weight), ("Add", bias)):
        if by is not None:
            name = g.add(op, [name, g.add("Reshape", [g.of(by), g.integers([n] + [1] * (like.dim() - 2))])])
    return name


@operator("native_layer_norm")
def write_layer_norm(g, node):
    x, shape, weight, bias, eps = node.args[:5]
    inputs = [g.of(x), g.of(weight) if weight is not None else g.constant(torch.ones(list(shape), dtype=x.tensor.dtype))]
    inputs += [g.of(bias)] if bias is not None else []
    return g.add("LayerNormalization", inputs, axis=-len(shape), epsilon=g.float32(eps, x.tensor, "eps"))


@operator("native_group_norm")
def write_group_norm(g, node):
    x, weight, bias, _, channels, _, groups, eps = node.args[:8]
    inputs = [g.of(x), g.of(weight) if weight is not None else filled(g, x.tensor, channels, 1),
              g.of(bias) if bias is not None else filled(g, x.tensor, channels, 0)]
    return g.add("GroupNormalization", inputs, num_groups=groups, epsilon=g.float32(eps, x.tensor, "eps"))


# ---- Losses: the last nodes, in the form that docs/operators.md has for each


IGNORED = -100  # cross_entropy's default


@loss("nll_loss_forward")
def write_cross_entropy(g, node):
    soft, target, weight, reduction, ignored = node.args[:5]
    left_out = target.tensor == ignored
    if g.y is None or weight is not None or reduction != 1 or bool(left_out.all()):
        raise Unbatched
    last = soft.node
    if not is_first(g, soft) or last is None or last.name != "_log_softmax" or last.args[1] % soft.tensor.dim() != 1 or soft.tensor.dim() != 2:
        raise Unbatched
    at = next(i for i, n in enumerate(g.nodes) if n.name == g.of(soft))
    made = type(g.nodes[at])()
    made.CopyFrom(g.nodes[at])  # which others may have, too
    del made.attribute[:]
    made.attribute.add(name="axis", i=1, type=2)
    g.nodes[at] = made
    tells = ignored != IGNORED or bool(left_out.any())  # PyTorch's default is no label of most steps
    g.add("NegativeLogLikelihoodLoss", [g.of(soft), "y"], reduction="mean", **({"ignore_index": ignored} if tells else {}))
    return "ce"


@loss("mse_loss")
def write_squared_error(g, node):
    if g.y is None or argument(node, 2, "reduction", 1) != 1 or node.args[0].tensor.shape != node.args[1].tensor.shape or not is_first(g, node.args[0]):
        raise Unbatched
    less = g.add("Sub", [g.of(node.args[0]), "y"])
    g.add("ReduceMean", [g.add("Mul", [less, less])], keepdims=0)
    return "mse"


def whole(g, node):
    """A sum or mean over everything, of something that is no such loss below."""
    if argument(node, 1, "dim") not in (None, []) or node.kwargs.get("dtype") is not None or not is_first(g, node.args[0]):
        raise Unbatched
    return g.of(node.args[0])


@loss("sum")
def write_whole_sum(g, node):
    g.add("ReduceSum", [whole(g, node)], keepdims=0)
    return "sum"


@loss("mean")
def write_whole_mean(g, node):
    """The mean of n entries is the sum of their n-th parts."""
    count = g.scalar(node.args[0].tensor.numel(), node.args[0].tensor)
    g.add("ReduceSum", [g.add("Div", [whole(g, node), count])], keepdims=0)
    return "sum"
