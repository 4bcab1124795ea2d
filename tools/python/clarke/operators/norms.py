"""ATen's norms, distances and largest entries beside those of reductions.py."""
import torch

from .activations import BOUNDS
from .table import NORMS, argument, operator, result
from .reductions import MOST_SORTED, axes_of, permuted, placed, require_own_type, shared_extreme, spread, window
from ..refused import Unbatched

HIGHEST = 8  # of the powers that Pow has as they are


def largest_size(g, node, smallest):
    """Among equal sizes PyTorch divides."""
    x = node.args[0]
    return shared_extreme(g, g.add("Abs", [g.of(x)]), x.tensor, axes_of(node, 2), smallest, keepdims=int(result(node).dim() == x.tensor.dim()))


def power_norm(g, node, order):
    """The root of a sum of powers of sizes."""
    axes, keep = axes_of(node, 2), int(bool(argument(node, 3, "keepdim", False)))
    return root_of_powers(g, g.add("Abs", [g.of(node.args[0])]), order, axes, keep, result(node))


def root_of_powers(g, sizes, order, axes, keep, like):
    total = g.add("ReduceSum", [g.add("Pow", [sizes, g.scalar(order, like)]), g.integers(axes)], keepdims=keep)
    return g.add("Exp", [g.add("Div", [g.add("Log", [total]), g.scalar(order, like)])])


def other_norm(g, node, order):
    """A norm of a whole order from 3 on, or of an infinite one."""
    if order in (float("inf"), float("-inf")):
        return largest_size(g, node, order < 0)
    if not isinstance(order, (int, float)) or not float(order).is_integer() or not 3 <= order <= HIGHEST:
        g.refuse(f"a norm other than that of a whole ord from 1 to {HIGHEST}, or of infinity", "write it with pow and sum")
    return power_norm(g, node, int(order))


NORMS["other"] = other_norm


@operator("dist")
def write_distance(g, node):
    """The norm of the difference of all entries."""
    if not g.whole:
        raise Unbatched
    like, order = result(node), argument(node, 2, "p", 2)
    shape = torch.broadcast_shapes(node.args[0].tensor.shape, node.args[1].tensor.shape)
    like = like.new_empty(()).expand(shape)
    less = g.add("Sub", [spread(g, v, like) for v in node.args[:2]])
    if order == 2:
        return g.add("ReduceL2", [less], keepdims=0)
    if order == 1:
        return g.add("ReduceSum", [g.add("Abs", [less])], keepdims=0)
    g.refuse("a distance other than that of p 1 or 2", "write it with abs, pow and sum")


@operator("_pdist_forward")
def write_distances_of_rows(g, node):
    """The norm of each row less each later one."""
    if not g.whole:
        raise Unbatched
    rows, order = node.args[0].tensor.shape[0], argument(node, 1, "p", 2)
    if order not in (1, 2) or rows < 2:
        g.refuse("distances other than those of p 1 or 2, or of one row", "write them with abs, pow and sum")
    first, second = torch.triu_indices(rows, rows, 1)
    less = g.add("Sub", [g.add("Gather", [g.of(node.args[0]), g.integers(p.tolist())], axis=0) for p in (first, second)])
    if order == 1:
        return g.add("ReduceSum", [g.add("Abs", [less]), g.integers([1])], keepdims=0)
    return g.add("ReduceL2", [less, g.integers([1])], keepdims=0)


# ---- Largest, smallest, and the k-th


@operator("fmax", "fmin")
def write_first_of_two(g, node):
    """A window of two; where they are equal the first has the gradient."""
    if not g.whole:
        raise Unbatched
    like = result(node)
    flat = g.integers([max(1, like.numel()), 1, 1, 1])
    if any(bool(v.tensor.isnan().any()) for v in node.args[:2]):
        g.refuse("a number that is none, in whose place the other is taken", "let all entries be numbers")
    name = g.add("Concat", [g.add("Reshape", [spread(g, v, like), flat]) for v in node.args[:2]], axis=3)
    return g.add("Reshape", [window(g, name, 2, node.name.startswith("fmin")), g.integers(like.shape)])


def clamped_by(g, node, low, high):
    """What lies beyond a bound has none of the gradient, and the bound has it; at a bound x has it."""
    if not g.whole:
        raise Unbatched
    like, name = result(node), None
    name, flat = spread(g, node.args[0], like), g.integers([max(1, like.numel()), 1, 1, 1])
    for bound, smallest in ((low, False), (high, True)):
        if bound is not None:
            pair = g.add("Concat", [g.add("Reshape", [n, flat]) for n in (name, spread(g, bound, like))], axis=3)
            name = g.add("Reshape", [window(g, pair, 2, smallest), g.integers(like.shape)])
    return name


BOUNDS["tensors"] = clamped_by


@operator("aminmax")
def write_both_ends(g, node):
    """Among equal entries AD divides."""
    x, axis = node.args[0], node.kwargs.get("dim")
    axes = list(range(x.tensor.dim())) if axis is None else [axis % x.tensor.dim()]
    keep = int(result(node).dim() == x.tensor.dim())
    return {i: shared_extreme(g, g.of(x), x.tensor, axes, i == 0, keepdims=keep, result=i) for i in g.read_of(node)}


@operator("kthvalue")
def write_kth(g, node):
    """The entry that PyTorch took, of those that are equal, comes at its place."""
    x, rank, chosen = node.args[0].tensor.detach().cpu(), node.args[1] - 1, node.results[1].tensor.cpu()
    axis, keep = argument(node, 2, "dim", -1), argument(node, 3, "keepdim", False)
    if x.dim() == 0 or not 0 < x.shape[axis] <= MOST_SORTED:
        g.refuse(f"of more than {MOST_SORTED} entries, or of a number", "take it of parts")
    if not g.whole:
        raise Unbatched
    axis %= x.dim()
    moved = x.movedim(axis, -1)
    lines = moved.reshape(-1, x.shape[axis])
    order = torch.stack([placed(line, int(i), rank) for line, i in zip(lines, chosen.reshape(len(lines)))]).reshape(moved.shape).movedim(-1, axis)
    name = g.of(node.args[0])
    if not torch.equal(torch.sort(x, dim=axis, stable=True).indices, order):
        name = permuted(g, name, x.shape, axis, order)
    name = g.add("Sorted", [name, g.integers([rank + 1])], domain="clarke", axis=axis, largest=0)
    return {0: g.add("Gather", [name, g.integers([rank]) if keep else g.constant(torch.tensor(rank))], axis=axis)}


# ---- Sums


@operator("nansum")
def write_sum_of_numbers(g, node):
    """No entry is a NaN: with one the step leaves the reals."""
    x, axes = node.args[0], axes_of(node)
    require_own_type(g, node)
    return g.add("ReduceSum", [g.of(x), g.integers(axes)], keepdims=int(bool(argument(node, 2, "keepdim", False))))


@operator("logcumsumexp")
def write_running_logarithm(g, node):
    """The largest entry of each line, which is data, and the logarithm of the sums of what the others are beside it."""
    x, rank, like = node.args[0].tensor.detach(), node.args[0].tensor.dim(), result(node)
    if not g.whole or rank < 2:
        raise Unbatched
    axis = node.args[1] % rank
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    largest = g.data("largest", x.amax(axis, keepdim=True))
    name = g.add("Exp", [g.add("Sub", [g.of(node.args[0]), largest])])
    name = g.add("Transpose", [name], perm=order) if axis != rank - 1 else name
    name = g.add("MatMul", [name, g.constant(torch.ones(x.shape[axis], x.shape[axis], dtype=like.dtype).triu())])
    name = g.add("Transpose", [name], perm=order) if axis != rank - 1 else name
    return g.add("Add", [g.add("Log", [name]), largest])
