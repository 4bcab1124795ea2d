"""ATen's operators that take, repeat and choose entries: Gather along one axis after another, and products with masks."""
import torch

from . import masks
from .operators import argument, operator, result
from .trace import Value


def taken(g, name, axis, places):
    return g.add("Gather", [name, g.integers(places)], axis=axis)


@operator("flip")
def write_flip(g, node):
    name, shape = g.of(node.args[0]), result(node).shape
    for axis in node.args[1]:
        name = taken(g, name, axis % len(shape), reversed(range(shape[axis])))
    return name


@operator("repeat")
def write_repeat(g, node):
    """New axes come first; then along each its entries over again."""
    x, counts = node.args[0].tensor, list(node.args[1])
    shape, name = [1] * (len(counts) - x.dim()) + list(x.shape), g.of(node.args[0])
    name = g.add("Reshape", [name, g.integers(shape)]) if len(shape) > x.dim() or max(counts) == 1 else name
    for axis, (count, size) in enumerate(zip(counts, shape)):
        if count == 0:
            g.refuse("no entry is left")
        name = taken(g, name, axis, list(range(size)) * count) if count > 1 else name
    return name


@operator("index_select")
def write_index_select(g, node):
    x, axis, places = node.args[:3]
    return g.add("Gather", [g.of(x), g.of(places)], axis=axis % x.tensor.dim())


@operator("tril", "triu")
def write_triangle(g, node):
    """A product with ones and zeros."""
    shape = result(node).shape[-2:]
    ones = torch.ones(shape, dtype=result(node).dtype)
    kept = ones.tril(argument(node, 1, "diagonal", 0)) if node.name[:4] == "tril" else ones.triu(argument(node, 1, "diagonal", 0))
    return g.add("Mul", [g.of(node.args[0]), g.constant(kept)])


@operator("glu")
def write_glu(g, node):
    """The first half times the sigmoid of the second."""
    x = node.args[0].tensor
    axis = argument(node, 1, "dim", -1) % x.dim()
    ends = [0, x.shape[axis] // 2, x.shape[axis]]
    halves = [g.add("Slice", [g.of(node.args[0])] + [g.integers([n]) for n in (a, b, axis)]) for a, b in zip(ends, ends[1:])]
    return g.add("Mul", [halves[0], g.add("Sigmoid", [halves[1]])])


# ---- One or the other


def share(g, value, chosen, like):
    """The value where it is chosen, 0 elsewhere: a product of an activation, an array of data."""
    if isinstance(value, Value) and id(value) in g.moving:
        return g.add("Mul", [g.of(value), g.data("kept", chosen.to(like.dtype))])
    numbers = value.tensor.detach().cpu() if isinstance(value, Value) else torch.tensor(value)
    table = torch.where(chosen, numbers.to(like.dtype), torch.zeros((), dtype=like.dtype))
    if not bool(torch.isfinite(table).all()):
        return masks.constant(g, table, g.current.results[0])
    return g.data("chosen", table) if bool((table != 0).any()) else None


def choose(g, node, mask, first, other):
    """What of the mask is data only; a mask that is compared anew has kinks that nobody sees."""
    if id(mask) in g.moving or mask.requires_grad:
        g.refuse("a mask that is computed from what is trained; write it with relu, or clamp")
    like = result(node)
    chosen = mask.tensor.cpu().expand(like.shape) if mask.tensor.dim() else mask.tensor.cpu()
    terms = [t for t in (share(g, first, chosen, like), share(g, other, ~chosen, like)) if t is not None]
    if not g.active.intersection(terms):
        g.refuse("no entry is of what is trained")
    return g.add("Add", terms) if len(terms) == 2 else terms[0]


@operator("where")
def write_where(g, node):
    return choose(g, node, *node.args[:3])


@operator("masked_fill")
def write_masked(g, node):
    x, mask, number = node.args[:3]
    return choose(g, node, mask, number, x)
