"""ATen's operators that make one number of many: variances, logarithms of sums, largest entries, running sums."""
import torch

from .kinks import sorting
from .operators import argument, operator, result
from .trace import Value

MOST_ENTRIES, MOST_SORTED = 4096, 126  # of a window, and in order (docs/operators.md)


def axes_of(node, i=1):
    axes, rank = argument(node, i, "dim"), node.args[0].tensor.dim()
    axes = list(range(rank)) if axes is None or axes == [] else [axes] if isinstance(axes, int) else list(axes)
    return [a % rank for a in axes]


@operator("var", "std", "var_mean", "std_mean")
def write_variance(g, node):
    """The sum of squares of the deviations from the mean, divided by their number less the correction."""
    x, axes = node.args[0], axes_of(node)
    keep = int(bool(argument(node, 3, "keepdim", False)))
    correction = node.kwargs.get("correction", 1)
    count = 1
    for a in axes:
        count *= x.tensor.shape[a]
    parts = count - (1 if correction is None else correction)
    if parts <= 0 or node.op._overloadname not in ("correction", "correction_out"):
        g.refuse("no more entries than the correction")
    mean = g.add("ReduceMean", [g.of(x), g.integers(axes)], keepdims=1)
    squares = g.add("Pow", [g.add("Sub", [g.of(x), mean]), g.scalar(2, result(node))])
    spread = g.add("Div", [g.add("ReduceSum", [squares, g.integers(axes)], keepdims=keep), g.scalar(parts, result(node))])
    spread = g.add("Sqrt", [spread]) if node.name.startswith("std") else spread
    if not node.name.endswith("mean") or 1 not in g.read_of(node):
        return spread
    return {0: spread, 1: g.add("ReduceMean", [g.of(x), g.integers(axes)], keepdims=keep, result=1)}


@operator("logsumexp")
def write_logsumexp(g, node):
    """The first entry less the logarithm of its softmax."""
    axes = axes_of(node)
    if len(axes) != 1:
        g.refuse("of several axes at once; flatten them first")
    place = g.integers([0]) if argument(node, 2, "keepdim", False) else g.constant(torch.tensor(0))
    both = (g.of(node.args[0]), g.add("LogSoftmax", [g.of(node.args[0])], axis=axes[0]))
    return g.add("Sub", [g.add("Gather", [name, place], axis=axes[0]) for name in both])


@operator("max", "min", "amax", "amin")
def write_largest(g, node):
    """A window over all of an axis. Where several entries are the largest, the first is AD's: kinks.py looks."""
    if len(node.args) > 1 and isinstance(node.args[1], Value):
        g.refuse("the larger of two; write it as relu(a - b) + b")
    x, axes = node.args[0].tensor, axes_of(node)
    order = [a for a in range(x.dim()) if a not in axes] + axes
    many = 1
    for a in axes:
        many *= x.shape[a]
    if many > MOST_ENTRIES or x.dim() == 0 or (0 in axes and not g.whole):
        g.refuse(f"the largest of {many} entries: a window has at most {MOST_ENTRIES}; take it of parts, and of these")
    rows = x.numel() // many
    shape = [rows, 1, 1, many] if g.whole else [x.shape[0], rows // x.shape[0], 1, many]
    name = g.of(node.args[0])
    name = g.add("Transpose", [name], perm=order) if order != sorted(order) else name
    name = g.add("Reshape", [name, g.integers(shape)])
    smallest = node.name.endswith("min")
    name = g.add("MaxPool", [g.add("Neg", [name]) if smallest else name], kernel_shape=[1, many])
    name = g.add("Neg", [name]) if smallest else name
    return {0: g.add("Reshape", [name, g.integers(result(node).shape)])}


def spread(g, value, like):
    """The name of a value, its entries copied to the shape of what it is computed with. (To add zeros would be a rounding.)"""
    shape = list(like.shape)
    if list(value.tensor.shape) == shape:
        return g.operand(value, like)
    if id(value) not in g.moving and not value.requires_grad:
        t = value.tensor.detach().to(like.dtype).expand(shape)
        return g.data("data", t.contiguous()) if g.whole else g.refuse("data of another shape")
    own = [1] * (len(shape) - value.tensor.dim()) + list(value.tensor.shape)
    name = g.add("Reshape", [g.of(value), g.integers(own)])
    for axis, (n, many) in enumerate(zip(own, shape)):
        name = g.add("Gather", [name, g.integers([0] * many)], axis=axis) if n != many else name
    return name


@operator("maximum", "minimum")
def write_larger(g, node):
    """A window of two. Where they are equal PyTorch divides the gradient, which is no profile's."""
    a, b, shape = node.args[0].tensor, node.args[1].tensor, list(result(node).shape)
    if bool((a == b).any()):
        form = "relu(a - b) + b" if node.name == "maximum" else "a - relu(a - b)"
        g.refuse(f"two entries are equal, and PyTorch divides the gradient between them; write it as {form}, another program there")
    rows = result(node).numel() if g.whole or not shape else shape[0]
    flat, both = g.integers([rows, max(1, result(node).numel() // max(rows, 1)), 1, 1]), []
    for v in node.args[:2]:
        both.append(g.add("Reshape", [spread(g, v, result(node)), flat]))
    name = g.add("Concat", both, axis=3)
    name = g.add("Neg", [name]) if node.name == "minimum" else name
    name = g.add("MaxPool", [name], kernel_shape=[1, 2])
    name = g.add("Neg", [name]) if node.name == "minimum" else name
    return g.add("Reshape", [name, g.integers(shape)])


@operator("sort", "topk")
def write_sorted(g, node):
    """Where entries are equal, the first comes first: kinks.py looks."""
    x = node.args[0].tensor
    axis, count, down = sorting(node) if x.dim() > 0 else (0, 0, True)
    if not 0 < count <= x.shape[axis] <= MOST_SORTED or (axis == 0 and not g.whole):
        g.refuse(f"{x.shape[axis] if x.dim() > 0 else 0} entries to be sorted: at most {MOST_SORTED} are")
    if node.name == "topk" and not argument(node, 4, "sorted", True):
        g.refuse("without an order; say sorted=True")
    return {0: g.add("Sorted", [g.of(node.args[0]), g.integers([count])], domain="clarke", axis=axis, largest=int(down))}


@operator("cumsum")
def write_running_sum(g, node):
    """A product with a triangle of ones, along the last axis."""
    x, rank = node.args[0].tensor, node.args[0].tensor.dim()
    axis, like = node.args[1] % rank, result(node)
    if rank < 2 or node.kwargs.get("dtype") not in (None, like.dtype):
        g.refuse("of a vector, or in another type")
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    name = g.of(node.args[0])
    name = g.add("Transpose", [name], perm=order) if axis != rank - 1 else name
    name = g.add("MatMul", [name, g.constant(torch.ones(x.shape[axis], x.shape[axis], dtype=like.dtype).triu())])
    return g.add("Transpose", [name], perm=order) if axis != rank - 1 else name


@operator("softplus", "mish")
def write_softplus(g, node):
    if node.name == "softplus" and (argument(node, 1, "beta", 1), argument(node, 2, "threshold", 20)) != (1, 20):
        g.refuse("with another beta or threshold than 1 and 20; softplus(beta * x) / beta is the same function")
    return g.add(node.name.capitalize(), [g.of(node.args[0])])


@operator("_weight_norm_interface")
def write_weight_norm(g, node):
    """v times g over v's norm, over all axes but one; the norm is a result, too."""
    v, factor, kept = node.args[0], node.args[1], argument(node, 2, "dim", 0)
    norm = g.add("ReduceL2", [g.of(v), g.integers(a for a in range(v.tensor.dim()) if a != kept % v.tensor.dim())], keepdims=1, result=1)
    made = g.add("Mul", [g.of(v), g.add("Div", [g.of(factor), norm])])
    return {0: made, 1: norm}
