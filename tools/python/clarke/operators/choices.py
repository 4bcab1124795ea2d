"""ATen's operators that choose: by comparisons, among equal entries, or by leaps. A program can say them, with AD's own derivative at ties.

Everything else is written by the recorder's table (table.py).
"""
import math
from fractions import Fraction

import numpy as np
import torch

from .conditions import Condition
from .table import argument, result, writers
from .primitives import braces, grouped, literal, of_groups
from ..profiles import installed, parsed
from .jumps import at_pole, crossed
from .norms import other_norm
from .reductions import axes_of
from ..tracing.dispatched import Value

WRITERS = {}
# The derivative of these is 0 off jumps, whether autograd knows of them or not.
COMPARED = {"gt": ">", "ge": ">=", "lt": "<", "le": "<=", "eq": "==", "ne": "!="}
LOGICAL = {"logical_and": "and", "logical_or": "or", "bitwise_and": "and", "bitwise_or": "or", "__and__": "and", "__or__": "or"}
LEAPS = {"sign", "sgn", "round", "floor", "ceil", "trunc"}
FINITE = {"isnan", "isinf", "isfinite"}
FLAT = {*COMPARED, *LOGICAL, *LEAPS, *FINITE, "logical_not", "bitwise_not"}


choice = writers(WRITERS)


def entries(p, node, *places):
    """The arguments at these places as entries, their numbers as the first tensor's type has them."""
    like = next(v.tensor for v in node.reads if v.tensor.is_floating_point())
    return [p.array(p.operand(v, like) if isinstance(v, Value) else p.bound(v, like)) for v in (node.args[i] for i in places)]


def bounds(p, node, *numbers):
    """Numbers that an operator has, as literals."""
    return [p.array(p.bound(n, result(node))).reshape(-1)[0] for n in numbers]


# ---- By comparisons


@choice(*COMPARED)
def write_comparison(p, node):
    sign = COMPARED[node.name.rstrip("_")]
    return p.named(p.each(lambda a, b: Condition("is", (f"{a} {sign} {b}",)), *entries(p, node, 0, 1)))


@choice(*FINITE)
def write_finite(p, node):
    """Near a finite number all are, but where an operator ends at one that it is made of."""
    if not bool(torch.isfinite(node.args[0].tensor).all()):
        p.refuse("an entry that is not finite", "take a point at which all are")
    if any(at_pole(n, n.name.rstrip("_")) for n in crossed(node.args[0])):
        p.refuse("near by an entry may be no number, as the root of what is below 0 is none", "ask for the sign of what the root is of")
    p.of(node.args[0])
    return p.constant(result(node))


def conditions(p, value):
    """Entries that are true or false; numbers are so where they are not 0."""
    return p.each(lambda e: e if isinstance(e, Condition) else Condition("is", (f"{e} != 0",)), p.raw(p.of(value)))


@choice(*LOGICAL)
def write_logical(p, node):
    if any(v.tensor.dtype != torch.bool for v in node.reads):
        p.refuse("of numbers, not of conditions", "compare first, as with x != 0")
    kind = LOGICAL[node.name.rstrip("_") if node.name[:2] != "__" else node.name]
    return p.named(p.each(lambda a, b: Condition(kind, (a, b)), *(conditions(p, v) for v in node.args[:2])))


@choice("logical_not", "bitwise_not")
def write_not(p, node):
    return p.named(p.each(lambda a: Condition("not", (a,)), conditions(p, node.args[0])))


@choice("where", "masked_fill")
def write_where(p, node):
    """What is not chosen is not executed: where its slope is infinite AD's number is other than PyTorch's, which derive.py sees."""
    mask, then, other = node.args[:3] if node.name == "where" else (node.args[1], node.args[2], node.args[0])
    numbers = [p.array(p.operand(v, result(node))) for v in (then, other)]
    return p.named(p.each(lambda c, a, b: p.one_of(c, a, b), conditions(p, mask), *numbers))


@choice("_to_copy", "clone", "detach", "alias", "lift_fresh", "contiguous")
def write_copy(p, node):
    """A cast of conditions makes numbers of them; one of numbers is a rounding, which a program has not."""
    kind = node.args[0].tensor.dtype
    if not (result(node).is_floating_point() and (kind.is_floating_point or kind == torch.bool)) and kind != result(node).dtype:
        p.refuse("a result that is no floating-point number", "write round, floor, ceil or trunc, which have jumps that are known")
    return p.of(node.args[0])


@choice("threshold", "hardshrink")
def write_gate(p, node):
    if node.name.rstrip("_") == "threshold":
        at, value = bounds(p, node, *node.args[1:3])
        return p.named(p.each(lambda x: f"if {x} > {at} then {x} else {value}", entries(p, node, 0)[0]))
    at, below = bounds(p, node, argument(node, 1, "lambd", 0.5), -argument(node, 1, "lambd", 0.5))
    return p.named(p.each(lambda x: f"if {x} > {at} then {x} else (if {x} < {below} then {x} else 0*{x})", entries(p, node, 0)[0]))


@choice("softshrink")
def write_softshrink(p, node):
    at, = bounds(p, node, argument(node, 1, "lambd", 0.5))
    return p.named(p.each(lambda x: f"relu{{0}}({x} - {at}) - relu{{0}}(-{x} - {at})", entries(p, node, 0)[0]))


@choice("softplus")
def write_softplus(p, node):
    """Above its threshold it is x, which is another number: there it jumps."""
    beta, at = bounds(p, node, argument(node, 1, "beta", 1), argument(node, 2, "threshold", 20))
    times, by = ("", "") if argument(node, 1, "beta", 1) == 1 else (f"{beta} * ", f" / {beta}")
    return p.named(p.each(lambda x: f"if {times}{x} > {at} then {x} else log(1 + exp({times}{x})){by}", entries(p, node, 0)[0]))


@choice("xlogy")
def write_xlogy(p, node):
    if bool((torch.as_tensor(node.args[1].tensor if isinstance(node.args[1], Value) else node.args[1]) <= 0).any()):
        p.refuse("x log y has a pole, or ends, where y is 0, and has no generalized derivative there", "take a point where y is above 0")
    return p.named(p.each(lambda x, y: f"{x} * log({y})", *entries(p, node, 0, 1)))


@choice("nan_to_num")
def write_replaced(p, node):
    if not bool(torch.isfinite(node.args[0].tensor).all()):
        p.refuse("an entry that is not finite is replaced: the function jumps there, from a pole", "take a point at which all entries are finite")
    return p.of(node.args[0])


# ---- By leaps


def steps(name, x, v):
    """The number v that x is taken to, and its two neighbours: near the point there are no others."""
    down, up = (f"{x} < {literal(v - 0.5)}", f"{x} > {literal(v + 0.5)}") if name == "round" and v % 2 == 0 else \
               (f"{x} <= {literal(v - 0.5)}", f"{x} >= {literal(v + 0.5)}") if name == "round" else \
               (f"{x} < {literal(v)}", f"{x} >= {literal(v + 1)}") if name == "floor" or (name == "trunc" and v > 0) else \
               (f"{x} <= {literal(v - 1)}", f"{x} > {literal(v)}") if name == "ceil" or v < 0 else (f"{x} <= -1", f"{x} >= 1")
    return f"if {down} then {literal(v - 1)} else (if {up} then {literal(v + 1)} else {literal(v)})"


@choice("remainder", "fmod")
def write_rest(p, node):
    """What the multiple below leaves, or that towards 0."""
    x, by = node.args[0].tensor.detach().to(torch.float64), node.args[1]
    if not isinstance(by, (int, float)) or by == 0 or not bool(((x / by).abs() < 2**22).all()):
        p.refuse("by a tensor, by 0, or of numbers beyond 2^22 times the divisor", "divide by a number, and of smaller ones")
    by = float(torch.tensor(float(by), dtype=torch.float64).to(result(node).dtype))
    name, times = "floor" if node.name.startswith("rem") else "trunc", literal(by)
    shares = [Fraction(v) / Fraction(by) for v in x.reshape(-1).tolist()]
    values = np.array([float(math.floor(s) if name == "floor" else math.trunc(s)) for s in shares]).reshape(tuple(x.shape))
    return p.named(p.each(lambda x, v: f"{x} - {times} * ({steps(name, p.let(f'{x} / {times}'), v)})", entries(p, node, 0)[0], values))


@choice("sign", "sgn")
def write_sign(p, node):
    return p.named(p.each(lambda x: f"if {x} > 0 then 1 else (if {x} < 0 then -1 else 0)", entries(p, node, 0)[0]))


@choice("round", "floor", "ceil", "trunc", "frac")
def write_step(p, node):
    """frac is what trunc leaves."""
    name, x = node.name.rstrip("_").replace("frac", "trunc"), node.args[0].tensor.detach().to(torch.float64)
    if argument(node, 1, "decimals", 0) != 0 or not bool((x.abs() < 2**22).all()):
        p.refuse("decimals, or numbers beyond 2^22", "round multiples without decimals, and smaller numbers")
    values = {"round": torch.round, "floor": torch.floor, "ceil": torch.ceil, "trunc": torch.trunc}[name](x).numpy()
    less = "{0} - ({1})" if node.name[:4] == "frac" else "{1}"
    return p.named(p.each(lambda x, v: less.format(x, steps(name, x, v)), entries(p, node, 0)[0], values))


# ---- Among equal entries


def extremum(name):
    return "min" if "min" in name else "max"


@choice("maximum", "minimum", "fmax", "fmin")
def write_pair(p, node):
    """PyTorch halves the gradient between equal entries; of fmax and fmin the first has it."""
    word = extremum(node.name) + ("{first}" if node.name[0] == "f" else "")
    return p.named(p.each(lambda a, b: f"{word}({a}, {b})", *entries(p, node, 0, 1)))


def recorded(p, values, winners, down):
    """Which of the equal entries PyTorch has chosen, in all groups: as a proxy."""
    def chosen(values, winner):
        tied = [i for i, v in enumerate(values) if v == (min if down else max)(values)]
        return {word for word, i in (("first", tied[0]), ("last", tied[-1])) if i == winner}
    words = set.intersection({"first", "last"}, *map(chosen, values, winners))
    if not words:
        p.refuse("of equal entries neither the first nor the last has the gradient", "take amax or amin, which share it among them")
    return f"{{{min(words)}}}"


@choice("max", "min", "amax", "amin")
def write_largest(p, node):
    """Along an axis the winner has the gradient (max, min); else equal entries share it."""
    if len(node.args) > 1 and isinstance(node.args[1], Value):
        return write_pair(p, node)
    word, x = extremum(node.name), node.args[0]
    axes = axes_of(node) if x.tensor.dim() else []
    if len(node.results) == 2:
        values = grouped(x.tensor.detach().numpy(), axes)[0]
        word += recorded(p, values.reshape(-1, values.shape[-1]).tolist(), node.results[1].tensor.reshape(-1).tolist(), word == "min")
    out = of_groups(p.array(p.of(x)), axes, False, lambda terms: p.let(f"{word}({', '.join(terms)})"))
    return {0: p.named(out.reshape(tuple(result(node).shape)))}


@choice("clamp", "clamp_min", "clamp_max")
def write_clamp(p, node):
    """Bounds that are tensors get the gradient of what lies beyond them; at them x has it, or both its half."""
    name = node.name.rstrip("_")
    low = argument(node, 1, "min") if name != "clamp_max" else None
    high = argument(node, 2, "max") if name == "clamp" else node.args[1] if name == "clamp_max" else None
    if not any(isinstance(b, Value) for b in (low, high)):
        return clamped(p, node, low, high)
    word = "{mean}" if parsed(installed().text)[1].get("Maximum") == "mean" else "{first}"
    made = p.array(p.of(node.args[0]))
    for side, bound in (("max", low), ("min", high)):
        if bound is not None:
            made = p.each(lambda x, b, side=side: f"{side}{word}({x}, {b})", made, p.array(p.operand(bound, result(node))))
    return p.named(made)


def clamped(p, node, low, high):
    """Between equal bounds it is constant; AD's derivative at them is that of both sides."""
    if low is None or high is None or low < high:
        ends = ["" if b is None else p.bound(b, result(node)) for b in (low, high)]
        return p.add("Clamp", [p.of(node.args[0]), *ends])
    at, slope = bounds(p, node, high)[0], installed().slope("Clamp", 0, 0, 1)
    if low > high or slope is None:
        p.refuse("a lower bound above the upper one, or a profile that does not know its kink", "take a lower bound that is below the upper one")
    inner = f"{literal(slope)} * ({{0}} - {at}) + {at}"
    return p.named(p.each(lambda x: f"if {x} == {at} then {inner.format(x)} else {at} + 0*{x}", p.array(p.of(node.args[0]))))


@choice("scatter_reduce", "scatter_add")
def write_scattered(p, node):
    """Entries that are added up, or of which the largest is taken, where a table of places says."""
    x, axis, table, source = node.args[:4]
    how = argument(node, 4, "reduce", "sum") if node.name[8] == "r" else "sum"
    if how not in ("sum", "amax", "amin") or id(table) in p.moving:
        p.refuse("another reduction than sum, amax and amin, or places that are computed from the inputs",
                 "take one of these, with places that are data")
    places = np.stack(np.indices(table.tensor.shape)) if table.tensor.dim() else np.zeros((1, 1), int)
    found, to = {}, table.tensor.cpu().numpy()
    for at in zip(*(line.reshape(-1).tolist() for line in places)):
        target = tuple(int(to[at]) if a == axis % len(at) else i for a, i in enumerate(at))
        found.setdefault(target, []).append(p.array(p.of(source))[at])
    own, out = p.array(p.of(x)), p.array(p.of(x)).copy()
    for at, terms in found.items():
        first = [own[at]] if node.kwargs.get("include_self", True) else []
        shared = source_ties(node, at) if how != "sum" and not first else None
        out[at] = p.total(first + terms) if how == "sum" else p.let(f"{how[1:]}{{mean}}({', '.join(first + terms)})")
        out[at] = out[at] if shared is None else p.let(lost_share(out[at], x.tensor[at].item(), shared, how))
    return p.named(out)


def source_ties(node, at):
    """How many equal entries share the gradient, the number that was there before among them, though it is left out. None: it is not equal."""
    if node.args[0].tensor[at] != result(node)[at]:
        return None
    x, axis, table, source = (v.tensor if isinstance(v, Value) else v for v in node.args[:4])
    line = [slice(i, i + 1) for i in at]
    line[axis] = slice(None)
    line = tuple(line)
    inside = source[line][tuple(slice(0, n) for n in table[line].shape)]
    return 1 + int(((table[line] == at[axis]) & (inside == result(node)[at])).sum())


def lost_share(largest, before, share, how):
    """The largest itself; its derivative is less by one of so many shares, which goes nowhere. (relu(b - m) is taken away again.)"""
    less = f"{literal(before)} - {largest}" if how == "amax" else f"{largest} - {literal(before)}"
    sign, other = ("+", "-") if how == "amax" else ("-", "+")
    return f"{largest} {sign} relu{{1/{share}}}({less}) {other} relu{{0}}({less})"


# ---- Roots, powers and running sums


@choice("std", "std_mean")
def write_deviation(p, node):
    """The norm of the deviations from the mean, divided by a root: where all are equal AD's derivative is 0, as PyTorch's."""
    x, axes, keep = node.args[0], axes_of(node), int(bool(argument(node, 3, "keepdim", False)))
    correction = node.kwargs.get("correction", 1)
    parts = np.prod([x.tensor.shape[a] for a in axes]) - (1 if correction is None else correction)
    if parts <= 0 or node.op._overloadname not in ("correction", "correction_out"):
        p.refuse("no more entries than the correction", "take more entries, or correction=0")
    less = p.add("Sub", [p.of(x), p.add("ReduceMean", [p.of(x), p.integers(axes)], keepdims=1)])
    norm = p.array(p.add("ReduceL2", [less, p.integers(axes)], keepdims=keep))
    made = {0: p.named(p.each(lambda n: f"{n} / sqrt({literal(parts)})", norm))}
    return made | ({1: p.add("ReduceMean", [p.of(x), p.integers(axes)], keepdims=keep)} if node.name == "std_mean" else {})


@choice("linalg_vector_norm", "norm")
def write_norm(p, node):
    given = dict(zip(["ord", "dim", "keepdim"], node.args[1:])) | node.kwargs
    order, dim = given.get("ord", given.get("p", 2)), given.get("dim")
    word = {None: "norm2", 1: "norm1", 2: "norm2", float("inf"): "norminf"}.get(order)
    if word is None and order != float("-inf") and node.kwargs.get("dtype") is None:
        return other_norm(p, node, order)
    if word is None or given.get("dtype") not in (None, result(node).dtype):
        p.refuse("a norm other than that of ord 1, 2 or infinity, or in another type", "write it with pow and sum, in the type of what it is of")
    axes = [dim] if isinstance(dim, int) else dim
    out = of_groups(p.array(p.of(node.args[0])), axes, False, lambda terms: p.let(f"{word}({', '.join(terms)})"))
    return p.named(out.reshape(tuple(result(node).shape)))


@choice("pow", "square")
def write_power(p, node):
    """Powers that are whole numbers and halves are products; others go by the exponential, where the base is above 0."""
    x, exponent = node.args[0], node.args[1] if node.name == "pow" else 2
    if not isinstance(exponent, Value) and float(2 * exponent).is_integer() and 0 < abs(exponent) <= 64:
        return p.add("Pow", [p.of(x), p.constant(torch.tensor(float(exponent), dtype=torch.float64))])
    base = x.tensor if isinstance(x, Value) else torch.tensor(float(x))
    if not bool((base > 0).all()):
        p.refuse("a power of what is not above 0, whose exponent is no whole number or half of one up to 64",
                 "take a point where the base is above 0, or write it as a product")
    return p.named(p.each(lambda a, b: f"exp({b} * log({a}))", *(p.array(p.operand(v, result(node))) for v in (x, exponent))))


@choice("cumsum")
def write_running_sum(p, node):
    axis = node.args[1] % max(1, node.args[0].tensor.dim())
    out = np.atleast_1d(p.array(p.of(node.args[0]))).copy()
    lines = np.moveaxis(out, axis, 0)
    for i in range(1, len(lines)):
        lines[i, ...] = p.each(lambda a, b: f"{a} + {b}", lines[i - 1], lines[i])
    return p.named(out.reshape(tuple(result(node).shape)))


@choice("sin", "cos", "atan", "hardsigmoid")
def write_function(p, node):
    """hardsigmoid's slope is 1/6, which floats are near."""
    return p.named(p.each(lambda x: f"{node.name.rstrip('_')}({x})", p.array(p.of(node.args[0]))))
