"""ATen's functions that are written with a few others: logarithms to other bases, hyperbolic ones, entries of diagonals and of windows."""
import math

import torch

from .operators import argument, operator, result
from .rearrangements import grid
from .refused import Unbatched


def scaled(g, name, factor, like):
    return g.add("Mul", [name, g.scalar(factor, like)])


def entries(g, node, places):
    """Those entries of all, in the result's shape: of a single run."""
    if not g.whole:
        raise Unbatched
    like = result(node)
    name = g.add("Reshape", [g.of(node.args[0]), g.integers([-1])])
    return g.add("Reshape", [g.add("Gather", [name, g.data("places", places.reshape(-1))], axis=0), g.integers(like.shape)])


@operator("sin", "cos")
def write_circular(g, node):
    return g.add({"sin": "Sin", "cos": "Cos"}[node.name.rstrip("_")], [g.of(node.args[0])])


@operator("tan")
def write_tangent(g, node):
    x = g.of(node.args[0])
    return g.add("Div", [g.add("Sin", [x]), g.add("Cos", [x])])


@operator("sinh", "cosh")
def write_hyperbolic(g, node):
    """Half of exp(x) -+ exp(-x)."""
    x = g.of(node.args[0])
    both = [g.add("Exp", [x]), g.add("Exp", [g.add("Neg", [x])])]
    return scaled(g, g.add("Sub" if node.name.rstrip("_") == "sinh" else "Add", both), 0.5, result(node))


@operator("exp2")
def write_power_of_two(g, node):
    return g.add("Exp", [scaled(g, g.of(node.args[0]), math.log(2), result(node))])


@operator("log2", "log10")
def write_logarithm(g, node):
    return scaled(g, g.add("Log", [g.of(node.args[0])]), 1 / math.log(2 if node.name.rstrip("_") == "log2" else 10), result(node))


@operator("erfc")
def write_other_error(g, node):
    return g.add("Sub", [g.scalar(1, result(node)), g.add("Erf", [g.of(node.args[0])])])


@operator("logaddexp")
def write_sum_of_powers(g, node):
    """The one, and the softplus of what the other has over it: no entry overflows."""
    if not g.whole:
        raise Unbatched
    a, b = (g.operand(v, result(node)) for v in node.args[:2])
    return g.add("Add", [a, g.add("Softplus", [g.add("Sub", [b, a])])])


@operator("hypot")
def write_length(g, node):
    if not g.whole:
        raise Unbatched
    a, b = (g.operand(v, result(node)) for v in node.args[:2])
    return g.add("Sqrt", [g.add("Add", [g.add("Mul", [a, a]), g.add("Mul", [b, b])])])


@operator("lerp")
def write_between(g, node):
    """a + w (b - a); from w = 1/2 on PyTorch computes b - (1 - w) (b - a), which is the same."""
    if not g.whole:
        raise Unbatched
    like = result(node)
    a, b = (g.operand(v, like) for v in node.args[:2])
    weight = node.args[2]
    by = g.scalar(float(weight), like) if isinstance(weight, (int, float)) else g.operand(weight, like)
    return g.add("Add", [a, g.add("Mul", [by, g.add("Sub", [b, a])])])


# ---- Entries that are taken, moved, or put among zeros


@operator("diagonal")
def write_diagonal(g, node):
    axes = argument(node, 2, "dim1", 0), argument(node, 3, "dim2", 1)
    return entries(g, node, grid(node.args[0].tensor.shape).diagonal(argument(node, 1, "offset", 0), *axes))


@operator("trace")
def write_trace(g, node):
    if not g.whole:
        raise Unbatched
    places = grid(node.args[0].tensor.shape).diagonal()
    name = g.add("Gather", [g.add("Reshape", [g.of(node.args[0]), g.integers([-1])]), g.data("places", places.reshape(-1))], axis=0)
    return g.add("ReduceSum", [name, g.integers([0])], keepdims=0)


@operator("rot90")
def write_quarter_turns(g, node):
    return entries(g, node, torch.rot90(grid(node.args[0].tensor.shape), argument(node, 1, "k", 1), argument(node, 2, "dims", [0, 1])))


@operator("unfold")
def write_windows(g, node):
    """Windows of one axis, each on the last axis of what comes out."""
    return entries(g, node, grid(node.args[0].tensor.shape).unfold(*node.args[1:4]))


@operator("diag_embed")
def write_diagonals(g, node):
    """Entries on a diagonal, among zeros: the place behind all entries has one."""
    if not g.whole:
        raise Unbatched
    like, count = result(node), node.args[0].tensor.numel()
    axes = argument(node, 2, "dim1", -2), argument(node, 3, "dim2", -1)
    places = torch.diag_embed(grid(node.args[0].tensor.shape) + 1, argument(node, 1, "offset", 0), *axes) - 1
    places[places < 0] = count
    both = g.add("Concat", [g.add("Reshape", [g.of(node.args[0]), g.integers([-1])]), g.constant(torch.zeros(1, dtype=like.dtype))], axis=0)
    return g.add("Reshape", [g.add("Gather", [both, g.data("places", places.reshape(-1))], axis=0), g.integers(like.shape)])
