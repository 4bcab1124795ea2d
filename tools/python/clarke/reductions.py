"""ATen's operators that make one number of many: variances, logarithms of sums, largest entries, running sums."""
import torch

from .kinks import sorting
from .operators import argument, operator, result
from .refused import Unbatched
from .trace import Value

MOST_ENTRIES, MOST_SORTED = 4096, 126  # of a window, and in order (docs/operators.md)
MOST_PERMUTED = 1 << 22  # entries of windows that share ties, in all


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
        g.refuse("no more entries than the correction", "take more entries, or correction=0")
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
        g.refuse("of several axes at once", "flatten them first")
    place = g.integers([0]) if argument(node, 2, "keepdim", False) else g.constant(torch.tensor(0))
    both = (g.of(node.args[0]), g.add("LogSoftmax", [g.of(node.args[0])], axis=axes[0]))
    return g.add("Sub", [g.add("Gather", [name, place], axis=axes[0]) for name in both])


@operator("max", "min", "amax", "amin")
def write_largest(g, node):
    """A window over all of an axis. With places the first of the largest is AD's (kinks.py looks); without, it divides among them."""
    if len(node.args) > 1 and isinstance(node.args[1], Value):
        return write_larger(g, node)
    x, axes = node.args[0].tensor, axes_of(node)
    order = [a for a in range(x.dim()) if a not in axes] + axes
    many = 1
    for a in axes:
        many *= x.shape[a]
    if many > MOST_ENTRIES or x.dim() == 0 or (0 in axes and not g.whole):
        g.refuse(f"the largest of {many} entries: a window has at most {MOST_ENTRIES}, and is of a tensor with axes",
                 "take it of parts, and of these; of a number it is the number")
    rows = x.numel() // many
    shape = [rows, 1, 1, many] if g.whole else [x.shape[0], rows // x.shape[0], 1, many]
    name = g.of(node.args[0])
    name = g.add("Transpose", [name], perm=order) if order != sorted(order) else name
    name = g.add("Reshape", [name, g.integers(shape)])
    numbers = x.detach().permute(order).reshape(rows, many) if len(node.results) == 1 else None
    return {0: g.add("Reshape", [window(g, name, many, node.name.endswith("min"), numbers), g.integers(result(node).shape)])}


def window(g, name, many, smallest, numbers):
    """The largest or smallest of each line of many entries. numbers: the lines, where AD divides among the equal ones; else it takes the first."""
    name = g.add("Neg", [name]) if smallest else name
    tied = None
    if numbers is not None:
        tied = (numbers == (numbers.amin(1, keepdim=True) if smallest else numbers.amax(1, keepdim=True))).cpu()
    if tied is None or int(tied.sum(1).max()) <= 1:
        name = g.add("MaxPool", [name], kernel_shape=[1, many])
    else:
        name = divided(g, name, tied)
    return g.add("Neg", [name]) if smallest else name


def divided(g, name, tied):
    """The same function as the mean of itself, so many times as entries are the largest: each time another of these comes first."""
    (rows, many), count = tied.shape, tied.sum(1)
    times = int(count.max())
    if tied.numel() * times > MOST_PERMUTED:
        g.refuse(f"of {many} entries up to {times} are the largest, in {rows} lines: too many windows",
                 "take max(dim), whose gradient the first of them has")
    own = torch.arange(many).expand(rows, many)
    first = torch.sort((~tied).to(torch.uint8), dim=1, stable=True).indices[:, :times]  # those that are, and then others
    order = torch.sort((own[:, None] != first[:, :, None]).to(torch.uint8), dim=2, stable=True).indices
    places = order + torch.arange(rows)[:, None, None] * many
    flat = g.add("Reshape", [name, g.integers([rows * many])])
    name = g.add("Reshape", [g.add("Gather", [flat, g.data("places", places)], axis=0), g.integers([rows, times, 1, many])])
    name = g.add("Reshape", [g.add("MaxPool", [name], kernel_shape=[1, many]), g.integers([rows, times])])
    like = g.current.results[0].tensor
    name = g.add("Mul", [name, g.data("taken", (torch.arange(times) < count[:, None]).to(like.dtype))])
    return g.add("Div", [g.add("ReduceSum", [name, g.integers([1])], keepdims=0), g.data("ties", count.to(like.dtype))])


def spread(g, value, like):
    """The name of a value, its entries copied to the shape of what it is computed with. (To add zeros would be a rounding.)"""
    shape = list(like.shape)
    if list(value.tensor.shape) == shape:
        return g.operand(value, like)
    if id(value) not in g.names and not value.requires_grad:
        t = g.numbers(value).to(like.dtype).expand(shape)
        if not g.whole:
            raise Unbatched
        return g.data("data", t.contiguous())
    own = [1] * (len(shape) - value.tensor.dim()) + list(value.tensor.shape)
    name = g.add("Reshape", [g.of(value), g.integers(own)])
    for axis, (n, many) in enumerate(zip(own, shape)):
        name = g.add("Gather", [name, g.integers([0] * many)], axis=axis) if n != many else name
    return name


@operator("maximum", "minimum")
def write_larger(g, node):
    """A window of two, between which AD divides where they are equal."""
    shape, like = list(result(node).shape), result(node)
    count = max(1, like.numel())
    rows = count if g.whole or not shape else shape[0]
    flat, both = g.integers([rows, count // max(rows, 1), 1, 1]), []
    for v in node.args[:2]:
        both.append(g.add("Reshape", [spread(g, v, like), flat]))
    name = g.add("Concat", both, axis=3)
    numbers = torch.stack([v.tensor.detach().expand(shape).reshape(-1) for v in node.args[:2]], 1)
    return {0: g.add("Reshape", [window(g, name, 2, "min" in node.name, numbers), g.integers(shape)])}


@operator("sort", "topk")
def write_sorted(g, node):
    """Where entries are equal the first comes first; where PyTorch had another order they are put into that before."""
    x = node.args[0].tensor
    axis, count, down = sorting(node) if x.dim() > 0 else (0, 0, True)
    if not 0 < count <= x.shape[axis] <= MOST_SORTED or (axis == 0 and not g.whole):
        g.refuse(f"{x.shape[axis] if x.dim() > 0 else 0} entries to be sorted: at most {MOST_SORTED} are, and one at least",
                 "sort parts, or take max or amax where the largest is wanted")
    if node.name == "topk" and not argument(node, 4, "sorted", True):
        g.refuse("without an order", "say sorted=True")
    name, chosen = g.of(node.args[0]), node.results[1].tensor.cpu()
    stable = torch.sort(x.detach().cpu(), dim=axis, descending=down, stable=True).indices.narrow(axis, 0, count)
    if not torch.equal(stable, chosen):
        name = permuted(g, name, x.shape, axis, chosen)
    return {0: g.add("Sorted", [name, g.integers([count])], domain="clarke", axis=axis, largest=int(down))}


def permuted(g, name, shape, axis, first):
    """Along the axis the chosen entries come first, then the others in their order."""
    others = torch.ones(list(shape), dtype=torch.uint8).scatter_(axis, first, 0)
    rest = torch.sort(others, dim=axis, descending=True, stable=True).indices.narrow(axis, 0, shape[axis] - first.shape[axis])
    places = torch.arange(others.numel()).reshape(list(shape)).gather(axis, torch.cat([first, rest], axis))
    flat = g.add("Reshape", [name, g.integers([others.numel()])])
    return g.add("Reshape", [g.add("Gather", [flat, g.data("places", places.reshape(-1))], axis=0), g.integers(shape)])


@operator("median", "nanmedian")
def write_median(g, node):
    """Along an axis: the entry that PyTorch took, of those that are equal, comes at the median's place."""
    if len(node.results) != 2:
        g.refuse("the median of all, between whose equal entries AD divides", "take it along an axis: x.flatten().median(0).values")
    x, axis, chosen = node.args[0].tensor.detach().cpu(), node.args[1] % max(1, node.args[0].tensor.dim()), node.results[1].tensor.cpu()
    if not 0 < x.dim() or not 0 < x.shape[axis] <= MOST_SORTED or (axis == 0 and not g.whole) or bool(x.isnan().any()):
        g.refuse(f"a median of more than {MOST_SORTED} entries, of a number, or with NaN", "take it of parts, or the mean")
    rank, size = (x.shape[axis] - 1) // 2, x.shape[axis]
    lines = x.movedim(axis, -1).reshape(-1, size)
    order = torch.stack([placed(line, int(i), rank) for line, i in zip(lines, chosen.reshape(lines.shape[0]))])
    moved = x.movedim(axis, -1)
    order = order.reshape(moved.shape).movedim(-1, axis)
    name = g.of(node.args[0])
    if not torch.equal(torch.sort(x, dim=axis, stable=True).indices, order):
        name = permuted(g, name, x.shape, axis, order)
    name = g.add("Sorted", [name, g.integers([rank + 1])], domain="clarke", axis=axis, largest=0)
    keep = argument(node, 2, "keepdim", False)
    return {0: g.add("Gather", [name, g.integers([rank]) if keep else g.constant(torch.tensor(rank))], axis=axis)}


def placed(line, i, rank):
    """An order of the line's entries in which they are sorted, and entry i has that rank."""
    order = torch.sort(line, stable=True).indices.tolist()
    order.remove(i)
    order.insert(rank, i)
    return torch.tensor(order)


@operator("cumsum")
def write_running_sum(g, node):
    """A product with a triangle of ones, along the last axis."""
    x, rank = node.args[0].tensor, node.args[0].tensor.dim()
    axis, like = node.args[1] % rank, result(node)
    if rank < 2 or node.kwargs.get("dtype") not in (None, like.dtype):
        g.refuse("of a vector, or in another type", "give it a second axis by unsqueeze(0), and cast before it")
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    name = g.of(node.args[0])
    name = g.add("Transpose", [name], perm=order) if axis != rank - 1 else name
    name = g.add("MatMul", [name, g.constant(torch.ones(x.shape[axis], x.shape[axis], dtype=like.dtype).triu())])
    return g.add("Transpose", [name], perm=order) if axis != rank - 1 else name


@operator("softplus", "mish")
def write_softplus(g, node):
    if node.name == "softplus" and (argument(node, 1, "beta", 1), argument(node, 2, "threshold", 20)) != (1, 20):
        g.refuse("with another beta or threshold than 1 and 20", "write softplus(beta * x) / beta, which is the same function")
    return g.add(node.name.capitalize(), [g.of(node.args[0])])


@operator("_weight_norm_interface")
def write_weight_norm(g, node):
    """v times g over v's norm, over all axes but one; the norm is a result, too."""
    v, factor, kept = node.args[0], node.args[1], argument(node, 2, "dim", 0)
    norm = g.add("ReduceL2", [g.of(v), g.integers(a for a in range(v.tensor.dim()) if a != kept % v.tensor.dim())], keepdims=1, result=1)
    made = g.add("Mul", [g.of(v), g.add("Div", [g.of(factor), norm])])
    return {0: made, 1: norm}
