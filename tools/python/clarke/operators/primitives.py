"""ONNX's operators, as the recorder's table writes them, in the language of programs: each has the entries of its result.

They are the functions of docs/operators.md, and AD's derivative of the statements is the operator's, at kinks too: by the profile of the
PyTorch that is installed, as its own operators have it.
"""
import itertools
import math

import numpy as np
import torch

from .conditions import Condition
from .table import writers
from ..profiles import installed

PRIMITIVES = {}
primitive = writers(PRIMITIVES)


def literal(number):
    return float(number).hex() if number > 0 else f"(-{float(-number).hex()})" if number < 0 else "0"


def attribute(number):
    """ONNX's are float32."""
    return literal(torch.tensor(float(number), dtype=torch.float64).to(torch.float32).item())


def braces(p, op, kink):
    """AD's side, or number, at a kink of an operator, as a proxy of another function."""
    word = installed().kinks[op, kink]
    if word == "unknown":
        p.refuse(f"the profile {installed().name} does not say what AD returns at its kink",
                 "take a point beside it, or an operator whose kink is in the profile (clarke profile show)")
    return f"{{{word}}}"


# ---- Entry by entry


@primitive("Add", "Sub", "Div")
def write_arithmetic(p, op, names):
    sign = {"Add": "+", "Sub": "-", "Div": "/"}[op]
    return p.each(lambda a, b: f"{a} {sign} {b}", *map(p.array, names))


@primitive("Mul")
def write_product(p, op, names):
    """Times a mask: the number itself, or 0 times it, so that a function which jumps nowhere is seen to."""
    def times(a, b):
        if isinstance(a, Condition) and isinstance(b, Condition):
            return Condition("and", (a, b))
        mask, number = (a, b) if isinstance(a, Condition) else (b, a)
        return p.one_of(mask, number, f"0*{number}") if isinstance(mask, Condition) else f"{a} * {b}"
    return p.each(times, *map(p.raw, names))


@primitive("Pow")
def write_power(p, op, names):
    """Halves are powers of the root: where that power is above 1 the adjoint of a root of 0 is 0, as PyTorch's is."""
    power = p.whole_numbers(names[1]).item()
    half = power != int(power)

    def write(x):
        base = p.let(f"sqrt({x})") if half else x
        times = abs(int(2 * power if half else power))
        text = " * ".join([base] * times) or "1"
        return f"1 / ({text})" if power < 0 else text
    return p.each(write, p.array(names[0]))


WORDS = {"Relu": "relu(%s)", "Abs": "abs(%s)", "Sigmoid": "sigmoid(%s)", "Tanh": "tanh(%s)", "Exp": "exp(%s)", "Log": "log(%s)", "Sqrt": "sqrt(%s)",
         "Erf": "erf(%s)", "Reciprocal": "1 / %s", "Neg": "-%s", "HardSwish": "hardswish(%s)", "HardSigmoid": "hardsigmoid(%s)",
         "Softplus": "log(1 + exp(%s))", "Sin": "sin(%s)", "Cos": "cos(%s)", "Atan": "atan(%s)"}


@primitive(*WORDS)
def write_function(p, op, names, **_):
    return p.each(lambda x: WORDS[op] % x, p.array(names[0]))


@primitive("Mish")
def write_mish(p, op, names):
    return p.each(lambda x: f"{x} * tanh(log(1 + exp({x})))", p.array(names[0]))


@primitive("Gelu")
def write_gelu(p, op, names, approximate="none"):
    """PyTorch's own number stands for sqrt(2 / pi)."""
    if approximate != "tanh":
        return p.each(lambda x: f"{x} / 2 * (1 + erf({x} / sqrt(2)))", p.array(names[0]))
    root = literal(math.sqrt(2 / math.pi))
    return p.each(lambda x: f"{x} / 2 * (1 + tanh({root} * ({x} + 0.044715 * {x} * {x} * {x})))", p.array(names[0]))


@primitive("LeakyRelu")
def write_leaky(p, op, names, alpha):
    return p.each(lambda x: f"leaky_relu({x}, {attribute(alpha)})", p.array(names[0]))


@primitive("PRelu")
def write_prelu(p, op, names):
    """A slope that is trained is a factor: AD takes the left side at 0."""
    constant = names[1] in p.tables

    def write(x, slope):
        if not constant:
            return f"if {x} > 0 then {x} else {slope} * {x}"
        return f"leaky_relu{braces(p, 'PRelu', 0)}({x}, {slope})"
    return p.each(write, *map(p.array, names))


@primitive("Elu", "Selu", "Celu")
def write_elu(p, op, names, alpha, gamma=1.0):
    """Celu is alpha times the elu, of alpha 1, of x / alpha: smooth."""
    a, scale = attribute(alpha), attribute(gamma)
    if op == "Celu":
        return p.each(lambda x: f"{a} * elu({x} / {a}, 1)", p.array(names[0]))
    times = "" if gamma == 1 else f"{scale} * "
    return p.each(lambda x: f"{times}elu{braces(p, op, 0)}({x}, {a})", p.array(names[0]))


@primitive("Clip", "Clamp")
def write_clamp(p, op, names):
    """Without one of its bounds, a relu of the distance to the other."""
    low, high = ("" if not name else p.array(name).reshape(-1)[0] for name in (*names[1:], "")[:2])
    word = "hardtanh" if op == "Clip" else "clamp"
    if low and high:
        return p.each(lambda x: f"{word}({x}, {low}, {high})", p.array(names[0]))
    if low:
        return p.each(lambda x: f"relu{braces(p, op, 0)}({x} - {low}) + {low}", p.array(names[0]))
    return p.each(lambda x: f"{high} - relu{braces(p, op, 1)}({high} - {x})", p.array(names[0]))


@primitive("Huber")
def write_huber(p, op, names):
    """c (x - c / 2), c being x cut at both thresholds; whatever is c's derivative there, this one's is the threshold."""
    delta = p.array(names[1]).reshape(-1)[0]

    def write(x):
        c = p.let(f"clamp({x}, -{delta}, {delta})")
        return f"{c} * ({x} - {c} / 2)"
    return p.each(write, p.array(names[0]))


# ---- Of lines


def grouped(entries, axes):
    """The entries with those along the axes (all, when there are none) in one last axis, and room for a result of each group."""
    axes = tuple(a % max(entries.ndim, 1) for a in axes or range(entries.ndim))
    kept = [a for a in range(entries.ndim) if a not in axes]
    groups = entries.transpose(kept + list(axes)).reshape([entries.shape[a] for a in kept] + [-1])
    return groups, np.empty(groups.shape[:-1], dtype=object)


def of_groups(entries, axes, keep, write):
    """One number of each group; keep: its axes stay, with one entry."""
    groups, out = grouped(entries, axes)
    for at in np.ndindex(out.shape):
        out[at] = write(list(groups[at]))
    places = [a % max(entries.ndim, 1) for a in axes or range(entries.ndim)]
    return out.reshape([1 if a in places else n for a, n in enumerate(entries.shape)]) if keep else out


def mean(p, terms):
    return p.let(f"({' + '.join(terms)}) / {len(terms)}")


@primitive("ReduceSum", "ReduceMean", "ReduceL2")
def write_reduction(p, op, names, keepdims=1):
    axes = p.whole_numbers(names[1]).reshape(-1).tolist() if len(names) > 1 else []
    write = {"ReduceSum": p.total, "ReduceMean": lambda terms: mean(p, terms), "ReduceL2": lambda terms: p.let(f"norm2({', '.join(terms)})")}[op]
    return of_groups(p.array(names[0]), axes, keepdims, write)


@primitive("SharedMax", "SharedMin")
def write_shared_extreme(p, op, names, keepdims=1):
    """Among equal entries AD divides."""
    word = "min{mean}" if op == "SharedMin" else "max{mean}"
    return of_groups(p.array(names[0]), p.whole_numbers(names[1]).tolist(), keepdims, lambda terms: p.let(f"{word}({', '.join(terms)})"))


@primitive("Softmax", "LogSoftmax")
def write_softmax(p, op, names, axis=-1):
    """Softmax by differences from the first entry: numbers are rational where all are equal."""
    rows = np.moveaxis(p.array(names[0]), axis, -1).copy()
    for at in np.ndindex(rows.shape[:-1]):
        first, *others = rows[at]
        less = [p.let(f"{x} - {first}") for x in others]
        powers = [p.let(f"exp({d})") for d in less]
        whole = p.let(" + ".join(["1", *powers]))
        if op == "Softmax":
            rows[at] = [p.let(f"{e} / {whole}") for e in ("1", *powers)]
        else:
            log = p.let(f"log({whole})")
            rows[at] = [p.let(f"{d} - {log}") for d in ("0", *less)]
    return np.moveaxis(rows, -1, axis)


@primitive("Sorted")
def write_sorted(p, op, names, axis, largest):
    """Equal entries in their order; downwards that is the order of what they are times -1."""
    rows, count = np.moveaxis(p.array(names[0]), axis, -1), int(p.whole_numbers(names[1]))
    out = np.empty((*rows.shape[:-1], count), dtype=object)
    for at in np.ndindex(out.shape[:-1]):
        entries = ", ".join(f"-{x}" if largest else x for x in rows[at])
        for k in range(count):
            out[(*at, k)] = p.let(f"{'-' if largest else ''}kth({rows.shape[-1] - k}, {entries})")
    return np.moveaxis(out, -1, axis)


# ---- Other places


@primitive("Identity")
def write_same(p, op, names):
    return p.raw(names[0])


@primitive("Reshape")
def write_reshape(p, op, names):
    return p.raw(names[0]).reshape(p.whole_numbers(names[1]).tolist())


@primitive("Unsqueeze")
def write_unsqueeze(p, op, names):
    return np.expand_dims(p.raw(names[0]), tuple(p.whole_numbers(names[1]).tolist()))


@primitive("Transpose")
def write_transpose(p, op, names, perm):
    return p.raw(names[0]).transpose(perm)


@primitive("Concat")
def write_concat(p, op, names, axis):
    return np.concatenate([p.raw(name) for name in names], axis=axis)


@primitive("Gather")
def write_gather(p, op, names, axis=0):
    return np.take(p.raw(names[0]), p.whole_numbers(names[1]).cpu().numpy(), axis=axis)


@primitive("Slice")
def write_slice(p, op, names):
    entries = p.raw(names[0])
    first, last, axes, steps = [p.whole_numbers(name).tolist() for name in names[1:]] + [[1]] * (5 - len(names))
    for begin, end, axis, step in zip(first, last, axes, steps * len(axes)):
        entries = entries[(slice(None),) * (axis % entries.ndim) + (slice(begin, end, step),)]
    return entries


@primitive("Pad")
def write_pad(p, op, names):
    ends = p.whole_numbers(names[1]).tolist()
    return padded(p.array(names[0]), ends, "0")


def padded(entries, ends, border):
    """ends: entries more at each axis' beginning, then at each end; where there are fewer, some are cut off."""
    rank = len(ends) // 2
    shape = [n + a + b for n, a, b in zip(entries.shape, ends[:rank], ends[rank:])]
    out = np.full(shape, border, dtype=object)
    here = tuple(slice(max(a, 0), n + a + min(b, 0)) for n, a, b in zip(entries.shape, ends[:rank], ends[rank:]))
    there = tuple(slice(max(-a, 0), n + min(b, 0)) for n, a, b in zip(entries.shape, ends[:rank], ends[rank:]))
    out[here] = entries[there]
    return out


# ---- Products, windows, normalizations


def product(p, a, b):
    """As numpy's matmul."""
    left, right = np.atleast_2d(a), b if b.ndim > 1 else b.reshape(-1, 1)
    batch = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    left, right = np.broadcast_to(left, batch + left.shape[-2:]), np.broadcast_to(right, batch + right.shape[-2:])
    out = np.empty((*batch, left.shape[-2], right.shape[-1]), dtype=object)
    for *at, i, j in np.ndindex(out.shape):
        out[(*at, i, j)] = p.let(" + ".join(f"{x} * {y}" for x, y in zip(left[(*at, i)], right[(*at, slice(None), j)])) or "0")
    out = out if a.ndim > 1 else out[..., 0, :]
    return out if b.ndim > 1 else out[..., 0]


@primitive("MatMul")
def write_matmul(p, op, names):
    return product(p, *map(p.array, names))


@primitive("Gemm")
def write_gemm(p, op, names, alpha=1.0, beta=1.0):
    def times(factor):
        return "" if factor == 1 else f"{attribute(factor)} * "
    x, w, bias = map(p.array, names)
    return p.each(lambda s, t: f"{times(alpha)}{s} + {times(beta)}{t}", product(p, x, w), bias)


def places(size, kernel, stride, padding, dilation, ceil):
    """The places of the entries of each window along an axis, some before the first or behind the last."""
    room = size + 2 * padding - dilation * (kernel - 1) - 1
    count = (room + (stride - 1 if ceil else 0)) // stride + 1
    count -= ceil and (count - 1) * stride >= size + padding
    return [[i * stride - padding + k * dilation for k in range(kernel)] for i in range(count)]


def windows(entries, kernel_shape, strides=None, pads=None, dilations=None, ceil_mode=0):
    """The windows over the axes behind the second: how many along each; (place of a window, places of its entries along each axis)."""
    rank = len(kernel_shape)
    lines = [places(*given, ceil_mode) for given in zip(entries.shape[2:], kernel_shape, strides or [1] * rank, (pads or [0] * rank)[:rank],
                                                       dilations or [1] * rank)]
    shape = [len(line) for line in lines]
    return shape, [(at, [line[i] for line, i in zip(lines, at)]) for at in np.ndindex(*shape)]


def inside(entries, at, window):
    """The entries of a window that there are."""
    for tap in itertools.product(*window):
        if all(0 <= i < n for i, n in zip(tap, entries.shape[2:])):
            yield entries[(*at, *tap)]


@primitive("MaxPool")
def write_max_pool(p, op, names, **given):
    x = p.array(names[0])
    shape, found = windows(x, **given)
    out = np.empty((*x.shape[:2], *shape), dtype=object)
    for at in np.ndindex(x.shape[:2]):
        for place, window in found:
            out[(*at, *place)] = p.let(f"maxpool({', '.join(inside(x, at, window))})")
    return out


@primitive("AveragePool")
def write_average_pool(p, op, names, count_include_pad=0, **given):
    """Only what is inside of the padding counts in windows that reach over it."""
    x = p.array(names[0])
    shape, found = windows(x, **given)
    room = [n + q for n, q in zip(x.shape[2:], given.get("pads", [0] * len(shape)))]
    out = np.empty((*x.shape[:2], *shape), dtype=object)
    for at in np.ndindex(x.shape[:2]):
        for place, window in found:
            terms = list(inside(x, at, window))
            whole = math.prod(sum(i < n for i in line) for line, n in zip(window, room))
            out[(*at, *place)] = p.let(f"({' + '.join(terms)}) / {whole if count_include_pad else len(terms)}")
    return out


@primitive("Conv")
def write_convolution(p, op, names, group=1, **given):
    x, w = map(p.array, names[:2])
    shape, found = windows(x, **given)
    out, each = np.empty((x.shape[0], w.shape[0], *shape), dtype=object), w.shape[0] // group
    for n, o in np.ndindex(out.shape[:2]):
        for place, window in found:
            terms = [f"{w[(o, c, *tap)]} * {x[(n, o // each * w.shape[1] + c, *at)]}" for c in range(w.shape[1])
                     for tap, at in zip(np.ndindex(*given["kernel_shape"]), itertools.product(*window))
                     if all(0 <= i < size for i, size in zip(at, x.shape[2:]))]
            out[(n, o, *place)] = p.let(" + ".join(terms + ([p.array(names[2])[o]] if len(names) > 2 else [])) or "0")
    return out


def normalized(p, x, axes, epsilon):
    """Less the mean of the axes, divided by the root of the variance and epsilon."""
    means = of_groups(x, axes, True, lambda terms: mean(p, terms))
    less = p.each(lambda a, m: f"{a} - {m}", x, means)
    roots = of_groups(less, axes, True, lambda terms: p.let(f"sqrt(({' + '.join(f'{t} * {t}' for t in terms)}) / {len(terms)} + {epsilon})"))
    return p.each(lambda a, r: f"{a} / {r}", less, roots)


def scaled(p, x, scale, bias):
    y = x if scale is None else p.each(lambda a, b: f"{a} * {b}", x, scale)
    return y if bias is None else p.each(lambda a, b: f"{a} + {b}", y, bias)


@primitive("LayerNormalization")
def write_layer_norm(p, op, names, axis, epsilon):
    x = p.array(names[0])
    return scaled(p, normalized(p, x, list(range(axis, 0)), attribute(epsilon)), p.array(names[1]), p.array(names[2]) if len(names) > 2 else None)


@primitive("BatchNormalization")
def write_batch_norm(p, op, names, epsilon, training_mode=0):
    x, *given = map(p.array, names)
    scale, bias, means, spread = (v.reshape(-1, *[1] * (x.ndim - 2)) for v in given)
    if training_mode:
        return scaled(p, normalized(p, x, [0, *range(2, x.ndim)], attribute(epsilon)), scale, bias)
    return scaled(p, p.each(lambda a, m, v: f"({a} - {m}) / sqrt({v} + {attribute(epsilon)})", x, means, spread), scale, bias)


@primitive("GroupNormalization")
def write_group_norm(p, op, names, num_groups, epsilon):
    x, *given = map(p.array, names)
    scale, bias = (v.reshape(-1, *[1] * (x.ndim - 2)) for v in given)
    groups = x.reshape(x.shape[0], num_groups, -1)
    return scaled(p, normalized(p, groups, [2], attribute(epsilon)).reshape(x.shape), scale, bias)
