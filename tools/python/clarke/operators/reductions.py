"""ATen's operators that make one number of many: variances, logarithms of sums, largest entries, running sums."""
import math

import torch

from .kinks import sorting
from .table import argument, operator, result
from ..refused import Unbatched
from ..tracing.dispatched import Value

MOST_ENTRIES, MOST_SORTED = 4096, 126  # of a window, and in order (docs/operators.md)
MOST_PERMUTED = 1 << 22  # entries of windows of running maxima, in all


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
        return logarithm_of_all(g, node, axes)
    place = g.integers([0]) if argument(node, 2, "keepdim", False) else g.constant(torch.tensor(0))
    both = (g.of(node.args[0]), g.add("LogSoftmax", [g.of(node.args[0])], axis=axes[0]))
    return g.add("Sub", [g.add("Gather", [name, place], axis=axes[0]) for name in both])


def logarithm_of_all(g, node, axes):
    """The same, of several axes, which become the last."""
    x = node.args[0].tensor
    if not g.whole or not axes:
        raise Unbatched
    order = [a for a in range(x.dim()) if a not in axes] + axes
    rest = [x.shape[a] for a in order[:x.dim() - len(axes)]]
    name = g.add("Transpose", [g.of(node.args[0])], perm=order) if order != sorted(order) else g.of(node.args[0])
    name = g.add("Reshape", [name, g.integers([*rest, -1])])
    both = name, g.add("LogSoftmax", [name], axis=len(rest))
    less = g.add("Sub", [g.add("Gather", [n, g.constant(torch.tensor(0))], axis=len(rest)) for n in both])
    return g.add("Reshape", [less, g.integers(result(node).shape)])


@operator("max", "min", "amax", "amin")
def write_largest(g, node):
    """Without places equal entries share the gradient; with places the first of them has it (kinks.py looks): a window over all of the axis."""
    if len(node.args) > 1 and isinstance(node.args[1], Value):
        return write_larger(g, node)
    x, axes, smallest = node.args[0].tensor, axes_of(node), node.name.endswith("min")
    order = [a for a in range(x.dim()) if a not in axes] + axes
    if len(node.results) == 1:
        return shared_extreme(g, g.of(node.args[0]), x, axes, smallest, keepdims=int(result(node).dim() == x.dim()))
    many = entries_of_window(g, x, axes)
    rows = x.numel() // many
    shape = [rows, 1, 1, many] if g.whole else [x.shape[0], rows // x.shape[0], 1, many]
    name = g.of(node.args[0])
    name = g.add("Transpose", [name], perm=order) if order != sorted(order) else name
    name = window(g, g.add("Reshape", [name, g.integers(shape)]), many, smallest)
    return {0: g.add("Reshape", [name, g.integers(result(node).shape)])}


def entries_of_window(g, x, axes):
    many = math.prod(x.shape[a] for a in axes)
    if 0 in axes and not g.whole:
        raise Unbatched
    if not 0 < many <= MOST_ENTRIES or x.dim() == 0:
        g.refuse(f"the largest of {many} entries: a window has at most {MOST_ENTRIES}, and one, and is of a tensor with axes",
                 "take it of parts, and of these; of a number it is the number")
    return many


def shared_extreme(g, name, x, axes, smallest, keepdims=0, result=0):
    """The largest or smallest entry of a name, which is shaped as x, over axes: among equal ones AD divides."""
    entries_of_window(g, x, axes)
    return g.add("SharedMin" if smallest else "SharedMax", [name, g.integers(axes)], domain="clarke", keepdims=keepdims, result=result)


def ties(numbers):
    """Which entries of each line are its largest."""
    return (numbers == numbers.amax(1, keepdim=True)).cpu()


def window(g, name, many, smallest, behind=0):
    """The largest or smallest of each line of many entries, of which AD takes the first. behind: places of padding, in windows that begin at each entry."""
    name = g.add("Neg", [name]) if smallest else name
    name = g.add("MaxPool", [name], kernel_shape=[1, many], **({"pads": [0, 0, 0, behind]} if behind else {}))
    return g.add("Neg", [name]) if smallest else name


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
    """Between two that are equal AD divides."""
    return g.add("SharedMinimum" if "min" in node.name else "SharedMaximum", [g.operand(v, result(node)) for v in node.args[:2]], domain="clarke")


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
        return write_median_of_all(g, node)
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


def write_median_of_all(g, node):
    """Among equal entries AD divides: the mean of as many medians, each time another of these at the median's place."""
    x, like = node.args[0].tensor.detach().cpu().reshape(-1), result(node)
    if not 0 < len(x) <= MOST_SORTED or bool(x.isnan().any()):
        g.refuse(f"a median of more than {MOST_SORTED} entries, of none, or with NaN", "take it of parts, or the mean")
    if not g.whole:
        raise Unbatched
    rank, tied = (len(x) - 1) // 2, torch.nonzero(x == like.detach().cpu()).reshape(-1).tolist()
    places = torch.stack([placed(x, i, rank) for i in tied])
    flat = g.add("Reshape", [g.of(node.args[0]), g.integers([len(x)])])
    lines = g.add("Gather", [flat, g.data("places", places)], axis=0)
    lines = g.add("Sorted", [lines, g.integers([rank + 1])], domain="clarke", axis=1, largest=0)
    medians = g.add("Gather", [lines, g.constant(torch.tensor(rank))], axis=1)
    return {0: g.add("ReduceMean", [medians, g.integers([0])], keepdims=0)}


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


@operator("_cdist_forward")
def write_distances(g, node):
    """The norm of each row of the one less each row of the other. Of a row less itself that is 0, whatever the row: no norm is taken."""
    (a, b), order = node.args[:2], argument(node, 2, "p")
    if order not in (1, 2, float("inf")):
        g.refuse("a distance other than that of p 1, 2 or infinity", "write it with abs, pow and sum")
    if a.tensor.dim() != b.tensor.dim() or a.tensor.shape[:-2] != b.tensor.shape[:-2]:
        g.refuse("of tensors that have not the same axes before the last two", "give them these by expand")
    if not g.whole:
        raise Unbatched
    shapes = [v.tensor.unsqueeze(axis).shape for v, axis in ((a, -2), (b, -3))]
    less = g.add("Sub", [g.add("Reshape", [g.operand(v, result(node)), g.integers(shape)]) for v, shape in zip((a, b), shapes)])
    places = g.integers([len(shapes[0]) - 1])
    if order == 1:
        return g.add("ReduceSum", [g.add("Abs", [less]), places], keepdims=0)
    if order != 2:
        return largest_differences(g, node, less)
    if node.args[0] is not node.args[1]:
        return g.add("ReduceL2", [less, places], keepdims=0)
    return norms_of_others(g, node, less)


def largest_differences(g, node, less):
    """The largest size of each line's differences. Of equal sizes PyTorch gives each the whole gradient, which is no derivative of theirs."""
    (a, b), many = (v.tensor.detach() for v in node.args[:2]), node.args[0].tensor.shape[-1]
    sizes = (a.unsqueeze(-2) - b.unsqueeze(-3)).abs().reshape(-1, many)
    if many > MOST_ENTRIES or many == 0:
        g.refuse(f"the largest of {many} differences", "take it of parts")
    if bool((ties(sizes).sum(1) > 1).any()):
        g.refuse("several differences are the largest, and PyTorch gives each of them the whole gradient",
                 "write it with abs and amax, whose gradient they share")
    name = g.add("Reshape", [g.add("Abs", [less]), g.integers([sizes.shape[0], 1, 1, many])])
    return g.add("Reshape", [window(g, name, many, False), g.integers(result(node).shape)])


def norms_of_others(g, node, less):
    """Norms of the entries of a square but for its diagonal, which is 0."""
    shape = list(result(node).shape)
    rows, before = shape[-1], len(shape) - 2
    if rows < 2:
        g.refuse("the distance of a row from itself alone", "it is 0")
    pairs = torch.nonzero(~torch.eye(rows, dtype=torch.bool).reshape(-1)).reshape(-1)
    back = torch.full((rows * rows,), len(pairs)).index_put((pairs,), torch.arange(len(pairs)))
    less = g.add("Reshape", [less, g.integers([*shape[:-2], rows * rows, node.args[0].tensor.shape[-1]])])
    norms = g.add("ReduceL2", [g.add("Gather", [less, g.integers(pairs.tolist())], axis=before), g.integers([before + 1])], keepdims=0)
    both = g.add("Concat", [norms, g.constant(torch.zeros([*shape[:-2], 1], dtype=result(node).dtype))], axis=before)
    return g.add("Reshape", [g.add("Gather", [both, g.integers(back.tolist())], axis=before), g.integers(shape)])


# ---- Products, and largest entries so far


def between(g, name, axis, first, last):
    return g.add("Slice", [name] + [g.integers([n]) for n in (first, last, axis)])


def require_own_type(g, node):
    if node.kwargs.get("dtype") not in (None, node.args[0].tensor.dtype):
        g.refuse("in another type", "cast before it, by to(dtype)")


@operator("prod")
def write_whole_product(g, node):
    """Half of the entries times the others, until one is left. PyTorch's derivative is the product of the others, with zeros among them, too."""
    x, like = node.args[0].tensor, result(node)
    require_own_type(g, node)
    if len(node.args) > 1 and x.dim() > 0:
        axis, name = node.args[1] % x.dim(), g.of(node.args[0])
    elif g.whole:
        axis, name = 0, g.add("Reshape", [g.of(node.args[0]), g.integers([x.numel()])])
    else:
        raise Unbatched
    count = x.shape[axis] if len(node.args) > 1 and x.dim() > 0 else x.numel()
    if count == 0:
        g.refuse("a product of no entries", "take 1")
    while count > 1:
        half = count // 2
        both = g.add("Mul", [between(g, name, axis, 0, half), between(g, name, axis, half, 2 * half)])
        name = g.add("Concat", [both, between(g, name, axis, 2 * half, count)], axis=axis) if count % 2 else both
        count -= half
    return g.add("Reshape", [name, g.integers(like.shape)])


@operator("cumprod")
def write_running_product(g, node):
    """Each entry times the one before it, then times what is two before, four, and so on."""
    x = node.args[0].tensor
    require_own_type(g, node)
    if x.numel() == 0:
        g.refuse("of no entries", "leave it out")
    name, step = g.of(node.args[0]), 1
    axis = node.args[1] % max(1, x.dim())
    size = x.shape[axis] if x.dim() > 0 else 1
    while step < size:
        later = g.add("Mul", [between(g, name, axis, step, size), between(g, name, axis, 0, size - step)])
        name = g.add("Concat", [between(g, name, axis, 0, step), later], axis=axis)
        step *= 2
    return name if step > 1 else g.add("Identity", [name])


@operator("cummax", "cummin")
def write_running_largest(g, node):
    """Windows of all entries so far, the last before the others, for of equal ones PyTorch takes the last: from the end on, a window begins at each entry."""
    x, chosen = node.args[0].tensor.detach(), node.results[1].tensor
    if x.dim() == 0 or x.numel() == 0 or bool(x.isnan().any()):
        g.refuse("of a number, of no entries, or with NaN", "leave it out")
    axis, size, smallest = node.args[1] % x.dim(), x.shape[node.args[1]], node.name.startswith("cummin")
    if axis == 0 and not g.whole:
        raise Unbatched
    if size > MOST_ENTRIES or x.numel() * size > MOST_PERMUTED:
        g.refuse(f"windows of {size} entries, {x.numel()} times: too many", "take it of parts")
    own = torch.arange(size)
    equal = x.movedim(axis, -1) == node.results[0].tensor.detach().movedim(axis, -1)
    last = torch.where(equal, own.to(x.device), -1).cummax(-1).values
    if not torch.equal(last, chosen.movedim(axis, -1)):
        g.refuse("a winner is not the last of the equal entries", "take cummax of what has no equal entries")
    order = [a for a in range(x.dim()) if a != axis] + [axis]
    name = g.of(node.args[0])
    name = g.add("Transpose", [name], perm=order) if order != sorted(order) else name
    rows, back = x.shape[0] if not g.whole else x.numel() // size, g.constant(own.flip(0))
    name = g.add("Reshape", [name, g.integers([rows, x.numel() // size // rows, 1, size])])
    name = g.add("Gather", [name, back], axis=3)
    name = g.add("Gather", [window(g, name, size, smallest, behind=size - 1), back], axis=3)
    name = g.add("Reshape", [name, g.integers([x.shape[a] for a in order])])
    return {0: g.add("Transpose", [name], perm=[order.index(a) for a in range(x.dim())]) if order != sorted(order) else name}


@operator("mish")
def write_mish(g, node):
    return g.add("Mish", [g.of(node.args[0])])


@operator("_weight_norm_interface")
def write_weight_norm(g, node):
    """v times g over v's norm, over all axes but one; the norm is a result, too."""
    v, factor, kept = node.args[0], node.args[1], argument(node, 2, "dim", 0)
    norm = g.add("ReduceL2", [g.of(v), g.integers(a for a in range(v.tensor.dim()) if a != kept % v.tensor.dim())], keepdims=1, result=1)
    made = g.add("Mul", [g.of(v), g.add("Div", [g.of(factor), norm])])
    return {0: made, 1: norm}
