"""ATen's functions that are written with a few others: logarithms to other bases, hyperbolic ones, entries of diagonals and of windows."""
import math

import torch

from .activations import clamp
from .table import argument, operator, result
from .rearrangements import grid
from .reductions import spread
from ..refused import Unbatched
from ..tracing.dispatched import Value

LEAST_NORMAL = -12  # farther below 0 the normal distribution's share is too near 0 to be enclosed beside it


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


# ---- Angles, and the inverses of hyperbolic functions


def one(g, node):
    return g.scalar(1, result(node))


def root_beside(g, node, sign):
    """sqrt(1 + x^2), sqrt(1 - x^2) as the root of (1 - x)(1 + x), or that of (x - 1)(x + 1)."""
    x = g.of(node.args[0])
    if sign == "+":
        return g.add("Sqrt", [g.add("Add", [g.add("Mul", [x, x]), one(g, node)])])
    less = [g.add("Sub", [one(g, node), x]) if sign == "-" else g.add("Sub", [x, one(g, node)]), g.add("Add", [x, one(g, node)])]
    return g.add("Sqrt", [g.add("Mul", less)])


@operator("asin", "arcsin", "acos", "arccos")
def write_inverse_of_circular(g, node):
    """atan(x / sqrt(1 - x^2)), and twice atan(sqrt(1 - x^2) / (1 + x)), x between -1 and 1."""
    x, root = g.of(node.args[0]), root_beside(g, node, "-")
    if node.name.rstrip("_").endswith("sin"):
        return g.add("Atan", [g.add("Div", [x, root])])
    return scaled(g, g.add("Atan", [g.add("Div", [root, g.add("Add", [x, one(g, node)])])]), 2, result(node))


@operator("atan2", "arctan2")
def write_angle(g, node):
    """Twice the angle of half: atan(y / (r + x)), or where x is below 0 atan((r - x) / y), r being the distance from 0. Both are the same function,
    but on the negative x-axis, where it jumps."""
    if not g.whole:
        raise Unbatched
    like = result(node)
    numbers = [v.tensor.detach().expand(like.shape) for v in node.args[:2]]
    if bool(((numbers[0] == 0) & (numbers[1] <= 0)).any()):
        g.refuse("an angle of 0 and a number that is not above 0: there it jumps", "let y be another number than 0, or x be above 0")
    y, x = (spread(g, v, like) for v in node.args[:2])
    right = (numbers[1] >= 0).to(like.dtype)
    far = g.add("Sqrt", [g.add("Add", [g.add("Mul", [y, y]), g.add("Mul", [x, x])])])
    if bool(right.all()):
        return scaled(g, g.add("Atan", [g.add("Div", [y, g.add("Add", [far, x])])]), 2, like)
    kept, others = g.data("right", right), g.data("left", 1 - right)
    above = g.add("Add", [g.add("Mul", [y, kept]), g.add("Mul", [g.add("Sub", [far, x]), others])])
    below = g.add("Add", [g.add("Mul", [g.add("Add", [far, x]), kept]), g.add("Mul", [y, others])])
    return scaled(g, g.add("Atan", [g.add("Div", [above, below])]), 2, like)


@operator("asinh", "arcsinh")
def write_inverse_sinh(g, node):
    """s log(s x + sqrt(1 + x^2)), s being the sign, for numbers below 0 cancel. With -s in its place it is the same function."""
    if not g.whole:
        raise Unbatched
    numbers = node.args[0].tensor.detach()
    sign = g.data("signs", torch.where(numbers < 0, -1.0, 1.0).to(numbers.dtype))
    return g.add("Mul", [g.add("Log", [g.add("Add", [g.add("Mul", [g.of(node.args[0]), sign]), root_beside(g, node, "+")])]), sign])


@operator("acosh", "arccosh")
def write_inverse_cosh(g, node):
    return g.add("Log", [g.add("Add", [g.of(node.args[0]), root_beside(g, node, ">")])])


@operator("atanh", "arctanh")
def write_inverse_tanh(g, node):
    x = g.of(node.args[0])
    both = [g.add("Log", [g.add("Add", [x, one(g, node)])]), g.add("Log", [g.add("Sub", [one(g, node), x])])]
    return scaled(g, g.add("Sub", both), 0.5, result(node))


# ---- Of logarithms


@operator("logit")
def write_logit(g, node):
    """log(x / (1 - x)); of x between bounds, where eps is given."""
    eps = argument(node, 1, "eps")
    x = g.of(node.args[0]) if eps is None else clamp(g, node, eps, 1 - eps)
    return g.add("Log", [g.add("Div", [x, g.add("Sub", [one(g, node), x])])])


@operator("xlogy", "special_xlogy")
def write_times_logarithm(g, node):
    if not g.whole:
        raise Unbatched
    like = result(node)
    y = node.args[1].tensor if hasattr(node.args[1], "tensor") else torch.tensor(float(node.args[1]), dtype=like.dtype)
    if bool((y <= 0).any()):
        g.refuse("x log y has a pole, or ends, where y is 0", "let y be above 0")
    if not any(g.names.get(id(v)) in g.active for v in node.args[1:2]) and not getattr(node.args[1], "requires_grad", False):
        return g.add("Mul", [g.operand(node.args[0], like), g.data("logs", y.detach().to(like.dtype).log())])
    return g.add("Mul", [g.operand(node.args[0], like), g.add("Log", [g.operand(node.args[1], like)])])


@operator("special_xlog1py")
def write_times_logarithm_of_more(g, node):
    """x log(1 + y)"""
    if not g.whole:
        raise Unbatched
    like, y = result(node), node.args[1]
    if bool((torch.as_tensor(y.tensor if isinstance(y, Value) else y) <= -1).any()):
        g.refuse("x log(1 + y) has a pole, or ends, where y is -1", "let y be above -1")
    log = g.add("Log", [g.add("Add", [g.operand(y, like), one(g, node)])])
    return g.add("Mul", [g.operand(node.args[0], like), log])


@operator("special_entr")
def write_entropy(g, node):
    """-x log x"""
    if bool((node.args[0].tensor <= 0).any()):
        g.refuse("-x log x ends where x is 0, and has no derivative there", "let x be above 0")
    x = g.of(node.args[0])
    return g.add("Neg", [g.add("Mul", [x, g.add("Log", [x])])])


@operator("special_log_ndtr")
def write_logarithm_of_normal(g, node):
    """The logarithm of (1 + erf(x / sqrt(2))) / 2."""
    like = result(node)
    if bool((node.args[0].tensor < LEAST_NORMAL).any()):
        g.refuse(f"the logarithm of what is near 0: an entry is below {LEAST_NORMAL}", f"let it be no less, as by clamp(min={LEAST_NORMAL})")
    share = g.add("Add", [g.add("Erf", [scaled(g, g.of(node.args[0]), math.sqrt(0.5), like)]), one(g, node)])
    return g.add("Log", [scaled(g, share, 0.5, like)])


@operator("logaddexp2")
def write_sum_of_powers_of_two(g, node):
    if not g.whole:
        raise Unbatched
    like = result(node)
    a, b = (g.operand(v, like) for v in node.args[:2])
    more = g.add("Softplus", [scaled(g, g.add("Sub", [b, a]), math.log(2), like)])
    return g.add("Add", [a, scaled(g, more, 1 / math.log(2), like)])


# ---- Of one number


@operator("deg2rad", "rad2deg")
def write_turned(g, node):
    return scaled(g, g.of(node.args[0]), math.pi / 180 if node.name[0] == "d" else 180 / math.pi, result(node))


@operator("sinc", "special_sinc")
def write_sinc(g, node):
    x = scaled(g, g.of(node.args[0]), math.pi, result(node))
    return g.add("Div", [g.add("Sin", [x]), x])


@operator("nan_to_num")
def write_replaced(g, node):
    """All entries are finite: with others the step leaves the reals."""
    return g.add("Identity", [g.of(node.args[0])])


@operator("softshrink")
def write_softshrink(g, node):
    """What a clamp takes away: its slope at both kinks is 1, and so 0 is left, as of PyTorch's."""
    bound, x = argument(node, 1, "lambd", 0.5), g.of(node.args[0])
    return g.add("Identity", [x]) if bound == 0 else g.add("Sub", [x, clamp(g, node, -bound, bound)])


@operator("ldexp")
def write_times_power_of_two(g, node):
    if not g.whole:
        raise Unbatched
    powers = torch.exp2(g.numbers(node.args[1]).to(result(node).dtype))
    return g.add("Mul", [g.of(node.args[0]), g.data("powers", powers)])


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
