"""Where Python's own branches jump: comparisons, roundings, places of largest entries.

`if h.sum() > 0` is no operator of the graph: the side that was taken is. That is the same function as long as h.sum() is not 0.
So each jump that a number went through on its way to Python must lie aside; else the step is refused. A jump that is not known
may lie anywhere, and is refused, too.
"""
import math

import torch

from .kinks import number
from .masks import is_unaligned
from .table import OPERATORS
from ..refused import Refused
from ..tracing.dispatched import MAKERS, Value, values_in

COMPARED = {"gt", "ge", "lt", "le", "eq", "ne"}
PLACES = {"argmax", "argmin", "max", "min", "topk", "sort", "argsort"}
# Off a jump they are constants; these are functions that tell which entries lie on one, or perhaps do.
ROUNDED = {"floor": lambda x: x == x.floor(), "ceil": lambda x: x == x.floor(), "trunc": lambda x: x == x.floor(),
           "round": lambda x: x - 0.5 == (x - 0.5).floor(), "sign": lambda x: x == 0, "sgn": lambda x: x == 0, "_to_copy": lambda x: x == x.floor(),
           "nonzero": lambda x: x == 0, "any": lambda x: x == 0, "all": lambda x: x == 0, "logical_not": lambda x: x == 0}
LEAPS = {"floor", "ceil", "trunc", "round", "sign", "sgn"}  # from floats to floats
# Floats of floats that jump nowhere, beside what can be written into a graph; and what can be written, and does.
STEADY = {"_euclidean_dist", "_linalg_det", "_scaled_dot_product_flash_attention_for_cpu", "addbmm", "addr", "aminmax", "arctan", "asinh", "atan", "cos", "cosh",
          "diag_embed", "diagonal", "diagonal_scatter", "erfc", "exp2", "expand_as", "fmax", "fmin", "hypot",
          "kthvalue", "lerp", "linalg_inv_ex", "log10", "log2", "logaddexp", "logaddexp2", "masked_scatter", "nan_to_num", "nansum",
          "rot90", "select_scatter", "sin", "sinh", "slice_scatter", "softshrink", "trace", "unfold", "view_as", "xlogy"}
# What can be written into a graph, and jumps.
LEAPING = {"frac", "remainder", "fmod", "hardshrink", "copysign", "atan2", "arctan2"}
HELD = LEAPS | {"frac", "remainder", "fmod", "hardshrink"}  # which are written as data: of the input alone they are nothing else
STEPPED = ("fake_quantize", "obs_fq_helper")
COUNTING = {"linalg_vector_norm": 1, "norm": 1, "_pdist_forward": 1, "dist": 2, "_cdist_forward": 2}  # the place of the order: of 0 it counts
# Which have no pole, whatever their numbers are.
WITHOUT_POLES = {"sub", "mul", "mm", "addmm", "bmm", "convolution", "view", "reshape", "_unsafe_view", "t", "transpose", "permute", "expand", "slice", "select",
                 "clone", "detach", "alias", "_to_copy", "sum", "mean", "_ctc_loss"}
WITH_POLES = ("div", "addcdiv", "reciprocal", "pow", "rsqrt", "log", "tan", "atanh", "linalg", "_linalg")  # how names begin
# Functions that end at these numbers: beyond one is no number, and a comparison with none is false.
ENDS = {"sqrt": (0,), "asin": (-1, 1), "arcsin": (-1, 1), "acos": (-1, 1), "arccos": (-1, 1), "acosh": (1,), "arccosh": (1,), "special_entr": (0,)}
# What has nothing of the numbers but shapes and types.
EMPTY = {"empty_like", "zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full", "new_empty"}
# Do they tell only whether a number is one? Near by it is so too, but at an end or a pole of what made it.
REAL = {"isnan", "isinf"}
# Numbers that are drawn, perhaps with trained weights. To AD they are constants, as distributions draw them (without gradients).
DRAWN = {"multinomial", "normal", "bernoulli", "poisson", "binomial", "_standard_gamma", "_sample_dirichlet"}
LENGTHS = {"_pack_padded_sequence", "_pad_packed_sequence"}  # whose second result tells how long sequences are, which is data
# Whose result's shape depends on numbers, so that Python reads them without a word.
SHAPES = {"nonzero", "_unique", "_unique2", "unique_dim", "unique_consecutive", "unique_dim_consecutive", "bincount", "repeat_interleave"}


def is_empty(value):
    """Has it nothing of the numbers that its operator reads, but for shapes, types and lengths?"""
    node = value.node
    return node.name in EMPTY or (node.name in LENGTHS and value is node.results[1])


def is_drawn(value):
    return value.node.name in DRAWN and not value.requires_grad


def deciding(node):
    """The values that decide on the shape of the node's result, by their numbers."""
    if node.name in SHAPES:
        return node.reads
    chosen = node.args[1] if node.name in ("index", "index_put", "masked_select") else ()
    return [v for v in values_in(chosen) if v.tensor.dtype in (torch.bool, torch.uint8)]


def equal_neighbours(node):
    """Are two entries the same, along the axis whose places are told? (Also two that are not the largest: that is on the safe side.)"""
    x, known = node.args[0].tensor.detach(), 2 if node.name == "topk" else 1
    axis = node.args[known] if len(node.args) > known else node.kwargs.get("dim")
    if not isinstance(axis, int) or isinstance(axis, bool):
        axis = -1 if node.name in ("topk", "sort", "argsort") else None
    x = (x.reshape(-1) if axis is None or x.dim() == 0 else x.movedim(axis, -1)).sort(-1).values
    return bool((x[..., 1:] == x[..., :-1]).any())


def jumps_above(node):
    """Does it jump at its threshold, as softplus does, and threshold to another number?"""
    name = node.name.rstrip("_")
    return name == "softplus" or (name == "threshold" and node.args[1] != node.args[2])


def on_threshold(node):
    x = node.args[0].tensor.detach()
    if node.name != "softplus":
        return bool((x == node.args[1]).any())
    beta, at = (number(node.args, i, node.kwargs.get(name, default)) for i, name, default in ((1, "beta", 1), (2, "threshold", 20)))
    return bool((x * beta == at).any())


def on_rounding(x, scale, zero):
    """Does an entry of x / scale + zero lie between two whole numbers, as PyTorch computes it, or as it may?"""
    return any(bool(ROUNDED["round"](t + zero).any()) for t in (x / scale, x * (1 / scale)))


def on_jump(node):
    """True or false; None: where it jumps is not known."""
    if node.name in COMPARED:
        a, b = node.args[:2]
        if a is b:
            return False  # x != x asks for NaN
        steady = is_unaligned(a)
        a, b = (v.tensor.detach() if isinstance(v, Value) else v for v in (a, b))
        return bool(((a == b) & torch.isfinite(a) if steady else a == b).any())
    if node.name in REAL:
        return False
    if jumps_above(node):
        return on_threshold(node)
    if node.name in PLACES:
        return equal_neighbours(node)
    if "fake_quantize_per_tensor" in node.name:
        return on_rounding(*(v.tensor.detach() if isinstance(v, Value) else v for v in node.args[:3]))
    if node.name in ROUNDED and not node.kwargs.get("decimals"):
        return bool(ROUNDED[node.name](node.args[0].tensor.detach()).any())
    return None


def is_leap(value):
    """Is it made by an operator that changes by leaps?"""
    node = value.node
    return node.name in LEAPS or (not value.tensor.is_floating_point() and any(v.tensor.is_floating_point() for v in node.reads))


def counts(node, name):
    """Does it tell how many entries are not 0, or take the nearest ones?"""
    if name in COUNTING:
        return number(node.args, COUNTING[name], 2) == 0
    return name.startswith("grid_sampler") and node.args[2] == 1


def infinite(item):
    if isinstance(item, Value):
        t = item.tensor
        return t.is_floating_point() and not t.is_meta and not bool(torch.isfinite(t).all())
    return isinstance(item, float) and not math.isfinite(item)


def at_end(node, name):
    """Is it where the function ends, as the root of 0? Or 0^y, or x log y, at 0, which are numbers there alone, and x log(1 + y) at -1?"""
    if name in ENDS:
        x, ends = node.args[0], ENDS[name]
    elif name == "pow":
        (x, power), ends = node.args[:2], (0,)
        if not isinstance(power, Value) and float(power).is_integer():
            return False
    elif name in ("xlogy", "special_xlogy", "special_xlog1py"):
        x, ends = node.args[1], (-1 if name == "special_xlog1py" else 0,)
    else:
        return False
    numbers = x.tensor.detach() if isinstance(x, Value) else torch.tensor(x)
    return numbers.is_meta or any(bool((numbers == end).any()) for end in ends)


def at_pole(node, name):
    """Is it at a pole, as 1 / 0 is, on whose sides nothing is alike? Or at an end?"""
    if at_end(node, name):
        return True
    if name in WITHOUT_POLES:
        return False
    if name.startswith(WITH_POLES) and any(v.tensor.is_meta for v in values_in(node.results)):
        return True  # its numbers were let go
    return any(map(infinite, values_in(node.results))) and not any(map(infinite, (*node.reads, *node.args)))


def is_steady(node):
    """Is it known not to jump, as no x % 1 is, and nothing that leaps into its own argument (x.floor_())?"""
    name = node.name.rstrip("_")
    if jumps_above(node) or name in LEAPING or name in LEAPS or counts(node, name) or at_pole(node, name):
        return False
    return (name in OPERATORS or name in STEADY) and not any(s in name for s in STEPPED) and node.kwargs.get("rounding_mode") is None


def is_constant(value, trained):
    """Is it made of leaps alone, as a number that was rounded? What leaps of it is no jump of its own: that of what it is made of counts."""
    seen, rest = {id(value)}, [value] if trained(value) else []
    while rest:
        v = rest.pop()
        if v.node is None:
            return False
        if not is_empty(v) and not is_leap(v) and not is_drawn(v):
            more = [r for r in v.node.reads if id(r) not in seen and trained(r)]
            seen.update(map(id, more))
            rest += more
    return True


def crossed(value):
    """The operators that make what changes by leaps, or may, on the way from floats to the value."""
    seen, rest = {id(value)}, [value]
    while rest:
        value = rest.pop()
        node = value.node
        if node is None or is_empty(value) or is_drawn(value):
            continue
        if is_leap(value) or not (is_steady(node) or node.name in MAKERS):
            yield node
        for v in node.reads:
            if id(v) not in seen:
                seen.add(id(v))
                rest.append(v)


def require_clear(nodes, trained, line):
    """None of these operators, through which Python read what it has at that line, is at a jump of what is trained."""
    for node in nodes:
        if all(is_constant(v, trained) for v in node.reads if v.tensor.is_floating_point()):
            continue
        found = on_jump(node)
        if found is not False:
            why = "two are equal, or a number is where it jumps" if found else "where it jumps is not known"
            raise Refused(node.where(), f"Python's branch at {line} hangs on it, and {why}: of the other side nothing is recorded",
                          "write it with relu, clamp, maximum or sort, whose kinks are known, or compare what is not equal")
