"""Nodes that a drawn model may have: those that move entries, and all other operators. Each gives a name of the drawing."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from drawing import F, Undrawn, Wrong


def factors(rng, n, most=5):
    dims = []
    while n > 1 and len(dims) < most and rng.random() < 0.85:
        f = rng.choice([k for k in range(2, n + 1) if n % k == 0])
        dims.append(f)
        n //= f
    dims.append(n) if n > 1 or not dims else None
    while len(dims) < most and rng.random() < 0.25:
        dims.insert(rng.randrange(len(dims) + 1), 1)
    rng.shuffle(dims)
    return dims


def merge_or_split(shape, rng):
    """The shape with neighbours merged, and an axis split: what the batch is likely to survive."""
    dims = list(shape)
    for _ in range(rng.choice([1, 1, 2])):
        if len(dims) > 1 and rng.random() < 0.6:
            a = rng.randrange(len(dims) - 1)
            dims[a:a + 2] = [dims[a] * dims[a + 1]]
        elif dims:
            a = rng.randrange(len(dims))
            k = rng.choice([k for k in range(1, dims[a] + 1) if dims[a] % k == 0])
            dims[a:a + 1] = [k, dims[a] // k]
    return dims


def reshape(d):
    shape = d.shape()
    dims = merge_or_split(shape, d.rng) if d.rng.random() < 0.7 else factors(d.rng, int(np.prod(shape)))
    for a in range(len(dims)):
        if a < len(shape) and dims[a] == shape[a] and d.rng.random() < 0.2:
            dims[a] = 0
    if dims and d.rng.random() < 0.5:
        dims[d.rng.randrange(len(dims))] = -1
    return d.node("Reshape", [d.now, d.constant(np.array(dims, np.int64))])


def transpose(d):
    perm = list(range(len(d.shape())))
    d.rng.shuffle(perm)
    return d.node("Transpose", [d.now], perm=None if d.rng.random() < 0.1 else perm)


def flatten(d):
    n = len(d.shape())
    return d.node("Flatten", [d.now], axis=d.rng.randrange(-n if d.opset >= 11 else 0, n + 1))


def unsqueeze(d):
    n = len(d.shape()) + 1
    axes = [d.rng.randrange(-n if d.opset >= 11 else 0, n)]
    return d.listed("Unsqueeze", [d.now], "axes", axes, 13)


def squeeze(d):
    shape = d.shape()
    ones = [a for a, n in enumerate(shape) if n == 1]
    if not ones:
        raise Undrawn
    if d.rng.random() < 0.3:
        return d.node("Squeeze", [d.now])
    axes = d.rng.sample(ones, d.rng.randrange(1, len(ones) + 1))
    return d.listed("Squeeze", [d.now], "axes", [a - len(shape) if d.opset >= 11 and d.rng.random() < 0.3 else a for a in axes], 13)


def cut(d, n):
    """A start and an end of an axis of n entries, as files have them."""
    start, end = d.rng.choice([0, 0, 0, 1, -1, -n, n // 2, d.rng.randrange(-n - 2, n + 3)]), \
        d.rng.choice([n, n, n + 1, 2**31 - 1, 2**63 - 1, 1, -1, n // 2, d.rows, d.rng.randrange(-n - 2, n + 3)])
    return start, end


def slice_(d):
    shape = d.shape()
    if not shape:
        raise Undrawn
    axes = d.rng.sample(range(len(shape)), d.rng.choice([1, 1, 1, min(2, len(shape))]))
    named = d.rng.random() < 0.7
    if not named:
        axes = list(range(len(axes)))
    cuts = [cut(d, shape[a]) for a in axes]
    starts, ends = map(list, zip(*cuts))
    given = [a - len(shape) if d.opset >= 10 and d.rng.random() < 0.3 else a for a in axes]
    if d.opset < 10:
        return d.node("Slice", [d.now], starts=starts, ends=ends, axes=given if named else None)
    steps = [d.rng.choice([1, 1, 1, 2, -1, -2]) for _ in axes] if d.rng.random() < 0.4 else None
    inputs = [d.now, d.constant(np.array(starts, np.int64)), d.constant(np.array(ends, np.int64))]
    if named or steps:
        inputs.append(d.constant(np.array(given, np.int64)) if named else "")
    if steps:
        inputs.append(d.constant(np.array(steps, np.int64)))
    return d.node("Slice", inputs)


def split(d):
    shape = d.shape()
    a, axis = d.axis(shape)
    n = shape[a]
    parts = d.rng.randrange(1, min(n, 3) + 1)
    if d.rng.random() < 0.5:
        where = sorted(d.rng.sample(range(1, n), parts - 1))
        lengths = [q - p for p, q in zip([0, *where], [*where, n])]
        return d.rng.choice(d.listed("Split", [d.now], "split", lengths, 13, outputs=parts, axis=axis) if parts > 1
                            else [d.listed("Split", [d.now], "split", lengths, 13, axis=axis)])
    if d.opset < 18 and n % parts:
        raise Undrawn
    names = d.node("Split", [d.now], parts, axis=axis, num_outputs=parts if d.opset >= 18 else None)
    return d.rng.choice(names if parts > 1 else [names])


def gather(d):
    shape = d.shape()
    a, axis = d.axis(shape)
    n = shape[a]
    low = -n if d.opset >= 11 else 0
    if d.rng.random() < 0.4 and n % d.rows == 0 and n > d.rows:  # each sample's own, where the axis holds it
        inner = d.rng.choice([k for k in range(1, n // d.rows + 1) if n // d.rows % k == 0])
        own = [d.rng.randrange(n // d.rows) for _ in range(d.rng.choice([1, 2, 3]))]
        places = np.array([[e // inner * inner * d.rows + r * inner + e % inner for e in own] for r in range(d.rows)])
    else:
        dims = [d.rng.choice([1, 2, 3, d.rows]) for _ in range(d.rng.choice([0, 1, 1, 2]))]
        places = np.array([d.rng.randrange(low, n) for _ in range(int(np.prod(dims)))]).reshape(dims)
    return d.node("Gather", [d.now, d.constant(places.astype(np.int64))], axis=axis)


def gather_nd(d):
    d.since(11)
    shape = d.shape()
    if not shape:
        raise Undrawn
    span = d.rng.randrange(1, len(shape) + 1)
    dims = [d.rng.choice([1, 2, 3]) for _ in range(d.rng.choice([0, 1, 2]))]
    places = np.array([[d.rng.randrange(n) for n in shape[:span]] for _ in range(int(np.prod(dims)))]).reshape([*dims, span])
    return d.node("GatherND", [d.now, d.constant(places.astype(np.int64))])


def gather_elements(d):
    d.since(11)
    shape = d.shape()
    a, axis = d.axis(shape)
    dims = [n if k != a else d.rng.choice([1, 2, 3]) for k, n in enumerate(shape)]
    places = np.array([d.rng.randrange(-shape[a], shape[a]) for _ in range(int(np.prod(dims)))]).reshape(dims)
    return d.node("GatherElements", [d.now, d.constant(places.astype(np.int64))], axis=axis)


def pad(d):
    shape = d.shape()
    n = len(shape)
    if not n:
        raise Undrawn
    axes = list(range(n))
    inputs = [d.now]
    if d.opset >= 18 and d.rng.random() < 0.5:
        axes = d.rng.sample(axes, d.rng.randrange(1, n + 1))
    mode = d.rng.choice([None, None, "constant", "edge", "reflect", *["wrap"] * (d.opset >= 19)])
    pads = [d.rng.choice([0, 0, 1, 2, -1]) if d.rng.random() < 0.6 else 0 for _ in range(2 * len(axes))]
    if mode not in (None, "constant"):
        most = {"edge": lambda k: 2, "reflect": lambda k: k - 1, "wrap": lambda k: k}[mode]
        pads = [min(abs(p), most(shape[axes[i % len(axes)]])) for i, p in enumerate(pads)]
    value = d.rng.choice([0, -1.5, 0.75]) if mode in (None, "constant") else 0
    if d.opset < 11:
        return d.node("Pad", inputs, pads=pads, mode=mode, value=value or None)
    inputs.append(d.constant(np.array(pads, np.int64)))
    inputs.append(d.constant(np.array(value, np.float32), weight=False) if value or d.rng.random() < 0.3 else "")
    if len(axes) < n or (d.opset >= 18 and d.rng.random() < 0.2):
        inputs.append(d.constant(np.array(axes, np.int64)))
    return d.node("Pad", inputs if inputs[-1] else inputs[:-1], mode=mode)


def expand(d):
    d.since(8)
    shape = d.shape()
    dims = [d.rng.choice([1, 2, 3]) if n == 1 else d.rng.choice([1, n]) for n in shape]
    while dims and d.rng.random() < 0.2:
        dims.pop(0)
    if d.rng.random() < 0.3:
        dims.insert(0, d.rng.choice([1, 2]))
    if len(dims) > len(shape) + 1 or not dims:
        raise Undrawn
    return d.node("Expand", [d.now, d.constant(np.array(dims, np.int64))])


def tile(d):
    repeats = [d.rng.choice([1, 1, 2, 3]) for _ in d.shape()]
    if not repeats:
        raise Undrawn
    return d.node("Tile", [d.now, d.constant(np.array(repeats, np.int64))])


def another(d, shape=None):
    """Another activation, of the same shape where one is asked for."""
    names = [n for n in d.value if d.moves([n]) and d.value[n][0][0].dtype == np.float32
             and (shape is None or list(d.value[n][0][0].shape) == shape)]
    return d.rng.choice(names)


def concat(d):
    shape = d.shape()
    a, axis = d.axis(shape)
    parts = [d.now]
    for _ in range(d.rng.choice([0, 1, 1, 2])):
        dims = [d.rng.choice([1, 2, n]) if k == a else n for k, n in enumerate(shape)]
        kind = d.rng.random()
        if kind < 0.3:
            parts.append(another(d, shape))
        elif kind < 0.4:  # constants that are joined themselves
            first = d.constant(d.floats(dims), weight=False)
            parts.append(d.node("Concat", [first, d.constant(d.floats(dims), weight=False)], axis=axis))
        elif kind < 0.6 and d.opset >= 8:
            one = [1 if n == d.rows and k != a else n for k, n in enumerate(dims)]
            parts.append(d.node("Expand", [d.constant(d.floats(one)), d.constant(np.array(dims, np.int64))]))
        else:
            parts.append(d.weights(dims))
    d.rng.shuffle(parts)
    return d.node("Concat", parts, axis=axis)


def identity(d):
    if d.opset >= 15 and d.rng.random() < 0.3:
        return d.node("CastLike", [d.now, d.constant(d.floats([1]), weight=False)])
    return d.node(d.rng.choice(["Identity", "Dropout"]) if d.opset >= 7 else "Identity", [d.now])


def where(d):
    d.since(9)
    shape = d.shape()
    mask = d.broadcastable(shape)
    mask = np.array([d.rng.random() < 0.5 for _ in range(int(np.prod(mask)))]).reshape(mask)
    other = another(d, shape) if d.rng.random() < 0.3 else d.weights(d.broadcastable(shape))
    pair = [d.now, other]
    d.rng.shuffle(pair)
    return d.node("Where", [d.constant(mask), *pair])


MOVES = [*[reshape] * 6, *[transpose] * 5, flatten, flatten, unsqueeze, squeeze, slice_, slice_, slice_, split, split, gather,
         gather, gather_nd, gather_elements, pad, pad, expand, tile, concat, concat, where, identity]

# ---- Operators


def pointwise(d):
    op, since, attributes = d.rng.choice([
        ("Relu", 7, {}), ("LeakyRelu", 7, {"alpha": [None, 0.5, -0.25]}), ("Abs", 7, {}), ("Neg", 7, {}),
        ("HardSigmoid", 7, {"alpha": [None, 0.25], "beta": [None, 0.25]}), ("HardSwish", 14, {}), ("Elu", 7, {"alpha": [None, 0.5]}),
        ("Selu", 7, {"alpha": [None, 1.5], "gamma": [None, 2.]}), ("Celu", 12, {"alpha": [None, 0.5]}), ("Sigmoid", 7, {}),
        ("Tanh", 7, {}), ("Exp", 7, {}), ("Erf", 9, {}), ("Softplus", 7, {}), ("Sin", 7, {}), ("Cos", 7, {}), ("Atan", 7, {}), ("Gelu", 20, {"approximate": [None, "none", "tanh"]}),
        ("Mish", 18, {}), ("Swish", 24, {}), ("Sinh", 9, {}), ("Cosh", 9, {}), ("Asinh", 9, {}), ("Softsign", 7, {}), ("Tan", 7, {})])
    d.since(since)
    return d.node(op, [d.now], **{k: d.rng.choice(v) for k, v in attributes.items()})


def inverse(d):
    """Of what is within -1 and 1."""
    return d.node(d.rng.choice(["Asin", "Acos", "Atanh"] if d.opset >= 9 else ["Asin", "Acos"]),
                  [d.node("Mul", [d.node("Tanh", [d.now]), d.constant(np.array(0.875, np.float32), weight=False)])])


def computed(d, n):
    """n numbers, computed of a weight alone."""
    return d.node("Tanh", [d.weights([n])])


def clip(d):
    low, high = d.rng.choice([None, -1.]), d.rng.choice([None, 2.])
    if d.opset < 11:
        return d.node("Clip", [d.now], min=low, max=high)
    low, high = d.rng.choice([low, low, -np.inf]), d.rng.choice([high, high, np.inf])  # no bounds, as exporters write them
    bound = [d.constant(np.array(v, np.float32), weight=False) if v is not None else "" for v in (low, high)]
    if d.opset >= 13 and d.rng.random() < 0.3:  # an activation; at times below the other bound
        bound[d.rng.randrange(2)] = d.node("Reshape", [computed(d, 1), d.constant(np.array([], np.int64))])
    while bound and not bound[-1]:
        bound.pop()
    return d.node("Clip", [d.now, *bound])


def prelu(d):
    shape = d.shape()
    return d.node("PRelu", [d.now, d.constant(d.floats([1 if d.rng.random() < 0.5 else n for n in shape[d.rng.choice([0, 1]):]]))])


def arithmetic(d):
    op = d.rng.choice(["Add", "Sub", "Mul", "Div"])
    other = another(d) if d.rng.random() < 0.3 else d.weights(d.broadcastable(d.shape()))
    if op == "Div":
        other = d.constant(d.floats(d.broadcastable(d.shape())) + 5)
    pair = [d.now, other]
    if op != "Div":
        d.rng.shuffle(pair)
    try:
        return d.node(op, pair)
    except Wrong as e:
        raise Undrawn from e


def extremes(d):
    d.since(8)
    others = [another(d, d.shape()) if d.rng.random() < 0.3 else d.weights(d.broadcastable(d.shape()))
              for _ in range(d.rng.choice([0, 1, 1, 2]))]
    op = d.rng.choice(["Max", "Min", "Sum", "Mean"])
    if op in ("Max", "Min") and d.rng.random() < 0.3:  # a number that changes nothing
        others.append(d.constant(np.array(-np.inf if op == "Max" else np.inf, np.float32), weight=False))
    inputs = [d.now, *others]
    d.rng.shuffle(inputs)
    return d.node(op, inputs)


def power(d):
    base = positive(d)
    if d.opset >= 13 and d.rng.random() < 0.4:
        numbers = [np.array(d.rng.choice([0, 2.5, 9, -1.5]), np.float32), np.array(d.rng.choice([9, -9]), np.int64),
                   d.floats(d.broadcastable(d.shape())) / 4]
        by = d.constant(d.rng.choice(numbers)) if d.rng.random() < 0.7 else computed(d, 1)
        return d.node("Pow", [base, by])
    return d.rng.choice([
        lambda: d.node("Pow", [base, d.constant(np.array(d.rng.choice([1, 2, 3, 0.5, -1, -0.5]), np.float32), weight=False)]),
        lambda: d.node("Sqrt", [base]), lambda: d.node("Log", [base]), lambda: d.node("Reciprocal", [base])])()


def matmul(d):
    shape = d.shape()
    if not shape:
        raise Undrawn
    if d.rng.random() < 0.25:
        other = another(d)
        pair = [d.now, other] if d.rng.random() < 0.5 else [other, d.now]
    elif d.rng.random() < 0.6:
        dims = [shape[-1], d.rng.choice([1, 2, 3])] if d.rng.random() < 0.9 else [shape[-1]]
        if len(dims) == 2 and len(shape) > 1 and d.rng.random() < 0.15:
            dims = [d.rng.choice([1, *shape[-3:-2], 2]), *dims]
        pair = [d.now, d.weights(dims)]
    else:
        dims = [d.rng.choice([1, 2, 3]), shape[-2] if len(shape) > 1 else shape[0]]
        pair = [d.weights(dims if d.rng.random() < 0.9 else dims[1:]), d.now]
    try:
        return d.node("MatMul", pair)
    except Wrong as e:
        raise Undrawn from e


def gemm(d):
    shape = d.shape()
    if len(shape) != 2:
        raise Undrawn
    out, turn, first = d.rng.choice([1, 2, 3]), d.rng.choice([None, 0, 1]), d.rng.choice([None, None, 1])
    shape = shape[::-1] if first else shape
    inputs = [d.now, d.constant(d.floats([out, shape[1]] if turn else [shape[1], out]))]
    if d.opset < 11 or d.rng.random() < 0.7:
        inputs.append(d.constant(d.floats(d.rng.choice([[out], [1, out], [1], [shape[0], out], [shape[0], 1]]))))
    return d.node("Gemm", inputs, transA=first, transB=turn, alpha=d.rng.choice([None, 0.5]), beta=d.rng.choice([None, 2.]))


def window_attributes(d, spatial, kernel, conv):
    rng = d.rng
    attributes = {"strides": [rng.choice([1, 1, 2, 3]) for _ in spatial] if rng.random() < 0.6 else None}
    if conv or d.opset >= 19:
        attributes["dilations"] = [rng.choice([1, 1, 2]) for _ in spatial] if rng.random() < 0.3 else None
    if rng.random() < 0.4:
        attributes["auto_pad"] = rng.choice(["SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"])
    if attributes.get("auto_pad", "NOTSET") == "NOTSET" and rng.random() < 0.6:
        attributes["pads"] = [rng.choice([0, min(1, k - 1)]) for k in 2 * kernel]
    return attributes


def convolution(d):
    shape = d.shape()
    if len(shape) < 3:
        raise Undrawn
    group = d.rng.choice([g for g in range(1, shape[1] + 1) if shape[1] % g == 0])
    kernel = [d.rng.choice([1, 1, 2, 3]) for _ in shape[2:]]
    out = group * d.rng.choice([1, 2])
    w = d.constant(d.floats([out, shape[1] // group, *kernel]))
    bias = [d.constant(d.floats([out]))] if d.rng.random() < 0.5 else []
    return d.node("Conv", [d.now, w, *bias], group=group if group > 1 else None, **window_attributes(d, shape[2:], kernel, True),
                  kernel_shape=d.rng.choice([None, kernel]))


def transposed(d):
    shape = d.shape()
    if len(shape) < 3:
        raise Undrawn
    group = d.rng.choice([g for g in range(1, shape[1] + 1) if shape[1] % g == 0])
    kernel = [d.rng.choice([1, 2, 3]) for _ in shape[2:]]
    w = d.constant(d.floats([shape[1], d.rng.choice([1, 2]), *kernel]))
    strides = [d.rng.choice([1, 2]) for _ in kernel]
    more = [d.rng.randrange(s) for s in strides] if d.rng.random() < 0.3 else None
    dilations = [d.rng.choice([1, 2]) for _ in kernel] if d.rng.random() < 0.2 else None
    padding = {"pads": [d.rng.choice([0, min(1, k - 1)]) for k in 2 * kernel]} if d.rng.random() < 0.4 else {}
    if d.rng.random() < 0.4:  # padding that is found by the output's length
        padding = {"auto_pad": d.rng.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])}
        reach = [(n - 1) * s + (k - 1) * t + 1 + m for n, s, k, t, m in zip(shape[2:], strides, kernel, dilations or [1] * 9, more or [0] * 9)]
        if padding["auto_pad"] != "VALID" and d.rng.random() < 0.6:
            padding["output_shape"] = [d.rng.randint(max(n - 3, 1), n + (padding["auto_pad"] == "SAME_LOWER")) for n in reach]
        elif padding["auto_pad"] != "VALID" and any(n * s > r for n, s, r in zip(shape[2:], strides, reach)):
            raise Undrawn  # padding of less than nothing
    return d.node("ConvTranspose", [d.now, w], group=group if group > 1 else None, strides=strides, output_padding=more, dilations=dilations, **padding)


def pool(d):
    shape = d.shape()
    if len(shape) < 3:
        raise Undrawn
    op = d.rng.choice(["MaxPool", "AveragePool", "GlobalMaxPool", "GlobalAveragePool"])
    if op.startswith("Global"):
        return d.node(op, [d.now])
    kernel = [d.rng.choice([1, 1, 2, 3]) for _ in shape[2:]]
    attributes = window_attributes(d, shape[2:], kernel, op == "MaxPool" and d.opset >= 10)
    if d.opset >= 10 and attributes.get("auto_pad", "NOTSET") == "NOTSET" and d.rng.random() < 0.3:
        attributes["ceil_mode"] = 1
    if op == "AveragePool" and d.rng.random() < 0.3:
        attributes["count_include_pad"] = 1
    return d.node(op, [d.now], kernel_shape=kernel, **attributes)


def positive(d):
    return d.node("Add", [d.node("Abs", [d.now]), d.constant(np.array(1, np.float32), weight=False)])


def reduction(d):
    op = d.rng.choice(["ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceSumSquare", "ReduceL2", "ReduceL1", "ReduceProd", "ReduceLogSumExp", "ReduceLogSum"])
    if op == "ReduceLogSum":
        d.now = positive(d)
    shape = d.shape()
    axes = d.rng.sample(range(len(shape)), d.rng.randrange(1, len(shape) + 1)) if shape and d.rng.random() < 0.9 else None
    if axes and d.opset >= 11:
        axes = [a - len(shape) if d.rng.random() < 0.3 else a for a in axes]
    since = 13 if op == "ReduceSum" else 18
    quiet = d.rng.choice([None, None, 0, 1]) if d.opset >= since and (axes or op != "ReduceL1") else None
    return d.listed(op, [d.now], "axes", axes, since, keepdims=d.rng.choice([None, 0, 1]), noop_with_empty_axes=quiet)


def norm(d):
    """Divided by a norm, or a norm of windows: of what is nowhere 0."""
    d.since(13)
    shape = d.shape()
    x = positive(d)
    if len(shape) < 3 or d.rng.random() < 0.4:
        return d.node("LpNormalization", [x], axis=d.axis(shape)[1], p=d.rng.choice([None, 1, 2]))
    if d.rng.random() < 0.3:
        return d.node("GlobalLpPool", [x], p=d.rng.choice([None, 1, 2]))
    kernel = [d.rng.choice([1, 1, 2, 3]) for _ in shape[2:]]
    attributes = {k: v for k, v in window_attributes(d, shape[2:], kernel, False).items() if k != "auto_pad"}
    return d.node("LpPool", [x], kernel_shape=kernel, p=d.rng.choice([None, 1, 2, 3]), **attributes)


def threshold(d):
    d.since(10)
    limit = d.rng.choice([None, 0.25, 0.])
    op, at = d.rng.choice([("ThresholdedRelu", 1 if limit is None else limit), ("Shrink", 0.5 if limit is None else limit)])
    values = [np.asarray(a, np.float64) for runs in d.value[d.now] for a in runs]
    off_jumps(d, [v for a in values for v in (a - at, a + at)])
    if op == "Shrink":
        return d.node(op, [d.now], lambd=limit, bias=d.rng.choice([None, 0.5]))
    return d.node(op, [d.now], alpha=limit)


def softmax(d):
    shape = d.shape()
    a, axis = d.axis(shape)
    given = d.rng.choice([axis, axis, None if len(shape) > 1 else axis])
    return d.node(d.rng.choice(["Softmax", "LogSoftmax"]), [d.now], axis=given)


def normalization(d):
    shape = d.shape()
    op = d.rng.choice(["BatchNormalization", "LayerNormalization", "InstanceNormalization", "GroupNormalization", "RMSNormalization"])
    if op == "RMSNormalization":
        d.since(23)
        a, axis = d.axis(shape)
        return d.node(op, [d.now, d.constant(d.floats(shape[a:]))], axis=axis, epsilon=d.rng.choice([None, 0.125]))
    if op == "LayerNormalization":
        d.since(17)
        a, axis = d.axis(shape)
        own = shape[a:] if d.rng.random() < 0.6 else [n if d.rng.random() < 0.5 else 1 for n in shape[a:]]
        return d.node(op, [d.now, d.constant(d.floats(own)), *([d.constant(d.floats(own))] if d.rng.random() < 0.5 else [])],
                      axis=axis, epsilon=d.rng.choice([None, 0.125]))
    if len(shape) < (2 if op == "BatchNormalization" else 3):
        raise Undrawn
    c = shape[1]
    if op == "BatchNormalization":
        parts = [d.floats([c]), d.floats([c]), d.floats([c]), np.abs(d.floats([c])) + 1]
        return d.node(op, [d.now, *map(d.constant, parts)], epsilon=d.rng.choice([None, 0.125]))
    if op == "InstanceNormalization":
        return d.node(op, [d.now, d.constant(d.floats([c])), d.constant(d.floats([c]))], epsilon=d.rng.choice([None, 0.125]))
    d.since(21)
    groups = d.rng.choice([g for g in range(1, c + 1) if c % g == 0])
    return d.node(op, [d.now, d.constant(d.floats([c])), d.constant(d.floats([c]))], num_groups=groups,
                  epsilon=d.rng.choice([None, 0.125]))


def heads_of(d, shape):
    """The heads of an input of (batch, length, heads size), and the size; of four axes those that it has."""
    if len(shape) == 4:
        return shape[1], shape[2], shape[3], {}
    heads = d.rng.choice([h for h in range(1, shape[2] + 1) if shape[2] % h == 0])
    return heads, shape[1], shape[2] // heads, {"q_num_heads": heads}


def attention(d):
    """Of the activation with itself, or with constants, which all samples have."""
    d.since(23)
    shape = d.shape()
    if len(shape) not in (3, 4) or 0 in shape:
        raise Undrawn
    heads, length, size, named = heads_of(d, shape)
    shared = heads if len(shape) == 4 else d.rng.choice([h for h in range(1, heads + 1) if heads % h == 0])
    own = d.rng.random() < 0.5 and shared == heads
    rows, keys = shape[0] if d.kind == "single" else 1, length if own else d.rng.choice([1, 2, 3])
    dims = [rows, shared, keys, size] if len(shape) == 4 else [rows, keys, shared * size]
    inputs = [d.now, d.now, d.now] if own else [d.now, d.constant(d.floats(dims)), d.constant(d.floats(dims))]
    if len(shape) == 3:
        named["kv_num_heads"] = shared
    kind = d.rng.choice(["none", "floats", "truths"])
    mask = d.floats([length, keys]) if kind == "floats" else np.array([[d.rng.random() < 0.8 for _ in range(keys)] for _ in range(length)])
    if kind == "floats" and keys > 1 and d.rng.random() < 0.5:
        mask[d.rng.randrange(length), 1:] = -np.inf
    if kind == "truths":
        mask[:, 0] = True
    inputs += [d.constant(mask)] if kind != "none" else []
    return d.node("Attention", inputs, scale=d.rng.choice([None, 0.25]), softcap=d.rng.choice([None, None, 2.0]),
                  is_causal=d.rng.choice([None, 0, 1]), **named)


def rotary(d):
    d.since(23)
    shape = d.shape()
    if len(shape) not in (3, 4) or 0 in shape:
        raise Undrawn
    heads, length, size, named = heads_of(d, shape)
    if len(shape) == 4:
        length = shape[2]
    turned = d.rng.choice([k for k in range(2, size + 1, 2)] or [0])
    if turned == 0:
        raise Undrawn
    half = turned // 2
    named = {"num_heads": named["q_num_heads"]} if named else {}
    places = np.array([[d.rng.randrange(4) for _ in range(length)]] * shape[0], np.int64)
    return d.node("RotaryEmbedding", [d.now, d.constant(d.floats([4, half])), d.constant(d.floats([4, half])), d.constant(places)],
                  interleaved=d.rng.choice([None, 0, 1]), rotary_embedding_dim=None if turned == size and d.rng.random() < 0.5 else turned, **named)


def loss_of(d):
    """Of targets that all samples share."""
    d.since(12)
    shape = d.shape()
    if len(shape) < 2 or 0 in shape:
        raise Undrawn
    own = [shape[0], *shape[2:]]
    row = np.array([d.rng.randrange(shape[1]) for _ in range(int(np.prod(own[1:])))], np.int64).reshape(own[1:])
    op = d.rng.choice(["NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"])
    weight = [d.constant(np.abs(d.floats([shape[1]])) + 1)] if d.rng.random() < 0.5 else []
    return d.node(op, [d.now, d.constant(np.stack([row] * own[0])), *weight],
                  reduction=d.rng.choice(["none", "none", "sum", None]) if d.kind == "single" else "none")


def scatter(d):
    d.since(16)
    shape = d.shape()
    if d.kind == "whole" or not shape or 0 in shape:
        raise Undrawn
    way = d.rng.choice(["add", "mul", "max", "min"]) if d.opset >= 18 else "add"
    add = d.rng.random() < 0.5
    if d.rng.random() < 0.5:
        axis = d.rng.randrange(len(shape))
        own = [d.rng.randrange(1, n + 1) for n in shape]
        line = [d.rng.randrange(-shape[axis], shape[axis]) for _ in range(own[axis])] if add else d.rng.sample(range(shape[axis]), own[axis])
        places = np.broadcast_to(np.array(line).reshape([-1 if a == axis else 1 for a in range(len(shape))]), own).astype(np.int64)
        return d.node("ScatterElements", [d.now, d.constant(places), d.constant(d.floats(own))], axis=axis, reduction=way if add else None)
    k = d.rng.randrange(1, len(shape) + 1)
    many = int(np.prod(shape[:k]))
    rows = [d.rng.randrange(many) for _ in range(3)] if add else d.rng.sample(range(many), d.rng.randrange(1, many + 1))
    places = np.stack(np.unravel_index(rows, shape[:k]), axis=-1).astype(np.int64)
    return d.node("ScatterND", [d.now, d.constant(places), d.constant(d.floats([len(rows), *shape[k:]]))], reduction=way if add else None)


def einsum(d):
    d.since(12)
    shape = d.shape()
    letters = "abcdefgh"[:len(shape)]
    rest = [x for x in letters if d.rng.random() < 0.8]
    if d.rng.random() < 0.3 or not shape:
        d.rng.shuffle(rest)
        return d.node("Einsum", [d.now], equation=f"{letters}->{''.join(rest)}")
    own = d.rng.sample(list(letters), d.rng.randrange(1, len(letters) + 1)) + (["z"] if d.rng.random() < 0.5 else [])
    d.rng.shuffle(own)
    other = another(d, shape) if d.rng.random() < 0.2 else None
    if other is not None:
        own = list(letters)
    else:
        other = d.weights([shape[letters.index(x)] if x != "z" else 2 for x in own])
    out = [x for x in dict.fromkeys([*letters, *own]) if d.rng.random() < 0.8]
    d.rng.shuffle(out)
    pair = [(letters, d.now), ("".join(own), other)]
    d.rng.shuffle(pair)
    arrow = f"->{''.join(out)}" if d.rng.random() < 0.85 else ""
    return d.node("Einsum", [pair[0][1], pair[1][1]], equation=f"{pair[0][0]},{pair[1][0]}{arrow}")


def sorted_(d):
    shape = d.shape()
    a, axis = d.axis(shape)
    k = d.rng.randrange(1, shape[a] + 1)
    if d.opset < 10:
        return d.node("TopK", [d.now], 2, axis=axis, k=k)[0]
    return d.node("TopK", [d.now, d.constant(np.array([k], np.int64))], 2, axis=axis,
                  largest=d.rng.choice([None, 0, 1]) if d.opset >= 11 else None)[0]


def resize(d):
    d.since(11)
    shape = d.shape()
    if len(shape) < 2:
        raise Undrawn
    mode = d.rng.choice(["nearest", "linear", "cubic"])
    where = d.rng.choice(["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "tf_crop_and_resize",
                          *["half_pixel_symmetric"] * (d.opset >= 19)])
    attributes = {"mode": mode, "coordinate_transformation_mode": where}
    if mode == "nearest":
        attributes["nearest_mode"] = d.rng.choice(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
    if mode == "cubic":
        attributes["cubic_coeff_a"] = d.rng.choice([None, -0.5])
        attributes["exclude_outside"] = d.rng.choice([None, 0, 1])
    scales = [d.rng.choice([1, 1, 1, 2, 0.5, 1.5, 3]) if d.rng.random() < 0.6 else 1 for _ in shape]
    if d.opset >= 18 and d.rng.random() < 0.3:  # some axes, in any order
        axes = d.rng.sample(range(len(shape)), d.rng.randrange(1, len(shape) + 1))
        attributes["axes"] = axes  # the reference takes none from the end
        scales, shape = [scales[a] for a in axes], [shape[a] for a in axes]
    roi = d.constant(np.array([], np.float32), weight=True) if d.opset < 13 else ""
    if where == "tf_crop_and_resize":
        attributes["extrapolation_value"] = d.rng.choice([None, 0.25])
        kept = [d.rng.random() < 0.5 or s == 1 for s in scales]
        roi = d.constant(np.array([0 if k else d.rng.choice([0, 0.25, -0.5, 1]) for k in kept]
                                  + [1 if k else d.rng.choice([1, 0.75, 1.5, 0]) for k in kept], np.float32), weight=True)
    elif d.rng.random() < 0.5:
        return d.node("Resize", [d.now, roi, d.constant(np.array(scales, np.float32))], **attributes)
    elif d.opset >= 18:
        attributes["keep_aspect_ratio_policy"] = d.rng.choice([None, None, "not_larger", "not_smaller"])
    sizes = [max(1, int(n * s)) for n, s in zip(shape, scales)]
    none = d.constant(np.array([], np.float32), weight=True) if d.opset < 13 else ""
    return d.node("Resize", [d.now, roi, none, d.constant(np.array(sizes, np.int64))], **attributes)


def grid_sample(d):
    d.since(16)
    shape = d.shape()
    if len(shape) not in (4, 5):
        raise Undrawn
    modes = ["nearest", "linear", "cubic"] if d.opset >= 20 else ["nearest", "bilinear", "bicubic"]
    mode = d.rng.choice(modes[:2] if len(shape) == 5 else modes)
    space = [d.rng.choice([1, 2, 3]) for _ in shape[2:]]
    numbers = [d.rng.choice([-1, 0, 1, d.rng.randrange(-12, 13) / 8, np.float32(d.rng.uniform(-1.6, 1.6))])
               for _ in range(int(np.prod(space)) * (len(shape) - 2))]
    grid = np.array(numbers, np.float32).reshape([1, *space, len(shape) - 2])
    grid = np.repeat(grid, shape[0], 0)
    if d.kind == "single" and d.rng.random() < 0.5:
        grid = np.flip(grid.reshape(-1)).reshape(grid.shape)
    return d.node("GridSample", [d.now, d.constant(np.ascontiguousarray(grid), weight=d.rng.random() < 0.5)],
                  mode=d.rng.choice([None, mode]), padding_mode=d.rng.choice([None, "zeros", "border", "reflection"]),
                  align_corners=d.rng.choice([None, 0, 1]))


def affine_grid(d):
    d.since(20)
    shape, n = d.shape(), d.rng.choice([2, 2, 3])
    if len(shape) < 2:
        raise Undrawn
    flat = d.node("Reshape", [d.now, d.constant(np.array([shape[0], -1], np.int64))])
    theta = d.node("MatMul", [flat, d.constant(d.floats([int(np.prod(shape[1:])), n * (n + 1)]))])
    theta = d.node("Reshape", [theta, d.constant(np.array([shape[0], n, n + 1], np.int64))])
    image = [d.rng.choice([2, 3, 4]) for _ in range(n)]
    return d.node("AffineGrid", [theta, d.constant(np.array([shape[0], 3, *image], np.int64))], align_corners=d.rng.choice([None, 0, 1]))


def responses(d):
    if len(d.shape()) != 4:
        raise Undrawn
    return d.node("LRN", [d.now], size=d.rng.choice([1, 2, 3, 4, 5]), alpha=d.rng.choice([None, 0.5, 2.]), beta=d.rng.choice([None, 0.5, 1., 2.]),
                  bias=d.rng.choice([None, 0.5, 2.]))


def center(d):
    d.since(18)
    shape = d.shape()
    if not shape:
        raise Undrawn
    axes = d.rng.sample(range(len(shape)), d.rng.randrange(1, len(shape) + 1))
    to = [max(1, shape[a] + d.rng.choice([0, 0, 1, 2, 3, -1, -2])) for a in axes]
    if d.rng.random() < 0.3:
        axes, to = None, [shape[a] if a not in axes else to[axes.index(a)] for a in range(len(shape))]
    elif d.rng.random() < 0.5:
        axes = [a - len(shape) for a in axes]
    return d.node("CenterCropPad", [d.now, d.constant(np.array(to, np.int64))], axes=axes)


def fold(d):
    """The axes behind the channels become places of windows."""
    d.since(18)
    shape = d.shape()
    if len(shape) != 3:
        raise Undrawn
    block = [d.rng.choice([1, 2, 3]), d.rng.choice([1, 2])]
    by, apart, pads = ([d.rng.choice([1, 1, 2]) for _ in range(2)] for _ in range(3))
    pads = [d.rng.choice([0, 0, 1]) for _ in range(4)]
    rows = d.rng.choice([k for k in range(1, shape[2] + 1) if shape[2] % k == 0])
    image = [(n - 1) * by[a] + apart[a] * (block[a] - 1) + 1 - pads[a] - pads[a + 2] + d.rng.randrange(by[a])
             for a, n in enumerate([rows, shape[2] // rows])]
    taps = int(np.prod(block))
    if min(image) < 1 or shape[1] % taps:
        raise Undrawn
    return d.node("Col2Im", [d.now, d.constant(np.array(image, np.int64)), d.constant(np.array(block, np.int64))],
                  strides=d.rng.choice([None, by]) if by == [1, 1] else by, dilations=apart, pads=pads)


def recurrent(d):
    shape = d.shape()
    if len(shape) != 3:
        raise Undrawn
    op, gates, outputs = d.rng.choice([("LSTM", 4, 3), ("GRU", 3, 2), ("RNN", 1, 2)])
    units, directions = d.rng.choice([1, 2]), d.rng.choice([1, 1, 2])
    direction = "bidirectional" if directions == 2 else d.rng.choice([None, "forward", "reverse"])
    small = lambda dims: d.constant(d.floats(dims) / 4)
    inputs = [d.now, small([directions, gates * units, shape[2]]), small([directions, gates * units, units])]
    if d.rng.random() < 0.5:
        inputs.append(small([directions, 2 * gates * units]))
    if op == "LSTM" and d.rng.random() < 0.4:
        inputs += [""] * (7 - len(inputs)) + [small([directions, 3 * units])]
    names = d.node(op, inputs, outputs, hidden_size=units, direction=direction,
                   linear_before_reset=d.rng.choice([None, 1]) if op == "GRU" else None)
    return d.rng.choice(names)


def off_jumps(d, distances):
    """Rounding could take the other side of a jump that is near. At a jump are only entries of the input that were moved."""
    moved = all(name in {m.__name__ for m in MOVES} for name in d.drawn)
    if any(np.any(np.abs(a) < 1e-3) if not moved else np.any((a != 0) & (np.abs(a) < 1e-3)) for a in distances):
        raise Undrawn


def rounding(d):
    op, since = d.rng.choice([("Sign", 9), ("Floor", 7), ("Ceil", 7), ("Round", 11)])
    d.since(since)
    values = [np.asarray(a, np.float64) for runs in d.value[d.now] for a in runs]
    off_jumps(d, [a if op == "Sign" else a - 0.5 - np.round(a - 0.5) if op == "Round" else a - np.round(a) for a in values])
    return d.node(op, [d.now])


def comparison(d, shape):
    """Truth values that broadcast with the shape."""
    op, since = d.rng.choice([("Greater", 9), ("Less", 9), ("GreaterOrEqual", 12), ("LessOrEqual", 12), ("Equal", 11)])
    d.since(since)
    pair = [d.now, another(d) if d.rng.random() < 0.3 else d.weights(d.broadcastable(shape))]
    d.rng.shuffle(pair)
    try:
        runs = [np.subtract(*(np.asarray(d.value[n][b][r], np.float64) for n in pair))
                for b in range(2) for r in range(len(d.value["x"][0]))]
    except ValueError as e:
        raise Undrawn from e
    off_jumps(d, runs)
    return d.node(op, pair)


def choice(d):
    d.since(9)
    mask = comparison(d, d.shape())
    for _ in range(d.rng.choice([0, 0, 1, 2])):
        op = d.rng.choice(["And", "Or", "Not", "Transpose"])
        if op == "Not":
            mask = d.node("Not", [mask])
        elif op == "Transpose":
            mask = d.node("Transpose", [mask], perm=list(range(len(d.shape(mask)))))
        else:
            truths = np.array([d.rng.random() < 0.5 for _ in range(int(np.prod(d.shape())))]).reshape(d.shape())
            mask = d.node(op, [mask, comparison(d, d.shape()) if d.rng.random() < 0.5 else d.constant(truths)])
    if d.rng.random() < 0.3:
        whole = d.node("Cast", [mask], to=TensorProto.INT64) if d.rng.random() < 0.3 else mask
        return d.node("Cast", [whole], to=F)
    pair = [d.now, another(d, d.shape()) if d.rng.random() < 0.3 else d.weights(d.broadcastable(d.shape()))]
    d.rng.shuffle(pair)
    try:
        return d.node("Where", [mask, *pair])
    except Wrong as e:
        raise Undrawn from e


def cast(d):
    d.since(9)
    to = d.rng.choice([TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL])
    values = [np.asarray(a, np.float64) for runs in d.value[d.now] for a in runs]
    off_jumps(d, [a if to == TensorProto.BOOL else a - np.round(a) for a in values])
    return d.node("Cast", [d.node("Cast", [d.now], to=to)], to=F)


def space(d):
    shape = d.shape()
    if len(shape) != 4:
        raise Undrawn
    if d.rng.random() < 0.5:
        sizes = [k for k in range(1, 5) if shape[1] % (k * k) == 0]
        return d.node("DepthToSpace", [d.now], blocksize=d.rng.choice(sizes),
                      mode=d.rng.choice([None, "DCR", "CRD"]) if d.opset >= 11 else None)
    return d.node("SpaceToDepth", [d.now], blocksize=d.rng.choice([k for k in range(1, 5) if shape[2] % k == shape[3] % k == 0]))


def cumulative(d):
    op = d.rng.choice(["CumSum", "CumSum", "CumProd"])
    d.since(11 if op == "CumSum" else 26)
    a, axis = d.axis(d.shape())
    return d.node(op, [d.now, d.constant(np.array(axis, np.int64))], exclusive=d.rng.choice([None, 0, 1]), reverse=d.rng.choice([None, 0, 1]))


def hardmax(d):
    """Of entries of a line no two are near: where they are, it jumps."""
    a, axis = d.axis(d.shape())
    lines = [np.sort(np.asarray(r, np.float64), axis=a) for runs in d.value[d.now] for r in runs]
    if d.shape()[a] > 1:
        off_jumps(d, [np.diff(line, axis=a) for line in lines])
    return d.node("Hardmax", [d.now], axis=axis)


def compress(d):
    d.since(9)
    shape = d.shape()
    a, axis = d.axis(shape)
    n = shape[a] if (whole := d.rng.random() < 0.7) else int(np.prod(shape))
    mask = np.array([d.rng.random() < 0.6 for _ in range(d.rng.randrange(1, n + 1))])
    return d.node("Compress", [d.now, d.constant(mask)], axis=axis if whole else None)


def backwards(d):
    d.since(10)
    shape = d.shape()
    if len(shape) < 2 or 0 in shape:
        raise Undrawn
    batch = d.rng.randrange(2)
    one = d.rng.randrange(1, shape[1 - batch] + 1)
    lengths = np.array([one if d.rng.random() < 0.8 else d.rng.randrange(1, shape[1 - batch] + 1) for _ in range(shape[batch])], np.int64)
    return d.node("ReverseSequence", [d.now, d.constant(lengths)], batch_axis=batch, time_axis=1 - batch)


def written(d):
    d.since(24)
    shape = d.shape()
    if len(shape) < 2:
        raise Undrawn
    a = d.rng.randrange(1, len(shape))
    many = d.rng.randrange(1, shape[a] + 1)
    circular = d.rng.random() < 0.5
    first = np.array([d.rng.randrange(2 * shape[a] if circular else shape[a] - many + 1) for _ in range(shape[0])], np.int64)
    inputs = [d.now, d.constant(d.floats([many if i == a else n for i, n in enumerate(shape)]))]
    return d.node("TensorScatter", inputs + [d.constant(first)] * (d.rng.random() < 0.7), axis=a - len(shape),
                  mode="circular" if circular else None)


def remainder(d):
    d.since(10)
    by = np.array(d.rng.choice([1.25, -0.75, 3]), np.float32)
    quotients = [np.asarray(r, np.float64) / by for runs in d.value[d.now] for r in runs]
    off_jumps(d, [q - np.round(q) for q in quotients])
    return d.node("Mod", [d.now, d.constant(by)], fmod=1)


def triangle(d):
    d.since(14)
    if len(d.shape()) < 2:
        raise Undrawn
    return d.node("Trilu", [d.now], upper=d.rng.choice([None, 0, 1]))


def by_shape(d):
    """A shape that is computed, of an activation, and used."""
    shape = d.node("Shape", [d.now])
    n = len(d.shape())
    if n < 1:
        raise Undrawn
    if d.rng.random() < 0.5:
        parts = [d.node("Gather", [shape, d.constant(np.array([a], np.int64))], axis=0) for a in range(n)]
        d.rng.shuffle(parts)
        if d.rng.random() < 0.5:
            parts[d.rng.randrange(n)] = d.constant(np.array([-1], np.int64))
        return d.node("Reshape", [d.now, d.node("Concat", parts, axis=0)])
    d.since(9)
    fill = numpy_helper.from_array(np.array([d.rng.choice([0, 1.5])], np.float32))
    return d.node("Add", [d.now, d.node("ConstantOfShape", [shape], value=fill)])


def swiglu(d):
    d.since(28)
    return d.node("SwiGLU", [d.now, another(d, d.shape())], alpha=d.rng.choice([None, 0.5, 2.]))


def largest(d, axis=None):
    """The place of the largest or smallest of each line, no two of which are near; with its number of entries."""
    a, axis = d.axis(d.shape()) if axis is None else (axis, axis)
    lines = [np.sort(np.asarray(r, np.float64), axis=a) for runs in d.value[d.now] for r in runs]
    if d.shape()[a] > 1:
        off_jumps(d, [np.diff(line, axis=a) for line in lines])
    return d.node(d.rng.choice(["ArgMax", "ArgMin"]), [d.now], axis=axis, keepdims=d.rng.choice([None, 0, 1]),
                  select_last_index=d.rng.choice([None, 0, 1]) if d.opset >= 12 else None), d.shape()[a]


def place(d):
    name, n = largest(d)
    kind = d.rng.choice(["Cast", "Equal", "Gather", "Gather", "OneHot"])
    if kind == "Cast":
        return d.node("Cast", [name], to=F)
    if kind == "Equal":
        d.since(11)
        return d.node("Cast", [d.node("Equal", [name, d.constant(np.array(d.rng.randrange(n), np.int64), weight=False)])], to=F)
    if kind == "OneHot":
        d.since(11)
        depth = d.constant(np.array(d.rng.randrange(1, n + 2), np.int64), weight=False)
        values = d.constant(np.array([0.5, -2], np.float32), weight=False) if d.rng.random() < 0.7 else computed(d, 2)
        rank = len(d.shape(name)) + 1
        return d.node("OneHot", [name, depth, values], axis=d.rng.randrange(-rank, rank))
    dims = [d.rng.choice([1, 2, 3]) for _ in range(d.rng.choice([1, 2, 2, 3]))]
    a = d.rng.randrange(len(dims))
    dims[a] = d.rng.choice([n, n, n + 1])
    return d.node("Gather", [d.weights(dims), name], axis=d.rng.choice([a, a - len(dims)]))


def one_hot(d):
    """Of two values that are computed, at constant places."""
    d.since(11)
    dims, depth = [d.rng.choice([1, 2, 3]) for _ in range(d.rng.choice([1, 2]))], d.rng.choice([1, 2, 3])
    places = np.array([d.rng.randrange(-depth - 1, depth + 2) for _ in range(int(np.prod(dims)))], np.int64).reshape(dims)
    name = d.node("OneHot", [d.constant(places, weight=False), d.constant(np.array(depth, np.int64), weight=False), computed(d, 2)],
                  axis=d.rng.randrange(-len(dims) - 1, len(dims) + 1))
    try:
        return d.node("Add", [d.node("ReduceSum", [name], keepdims=0), d.now])
    except Wrong as e:
        raise Undrawn from e


def scan(d):
    """Along an axis a state is added up, and handed out each time; at times what comes in is turned round."""
    d.since(11)
    shape = d.shape()
    if not shape:
        raise Undrawn
    a, axis = d.axis(shape)
    rest = [n for k, n in enumerate(shape) if k != a]
    back, out = d.rng.choice([None, 1]), d.rng.randrange(len(shape))
    value = lambda name: helper.make_tensor_value_info(name, F, None)
    body = helper.make_graph([helper.make_node("Add", ["s", "i"], ["sum"]), helper.make_node(d.rng.choice(["Tanh", "Relu", "Neg"]), ["sum"], ["s2"]),
                              helper.make_node("Mul", ["s2", "i"], ["o"])], "body", [value("s"), value("i")], [value("s2"), value("o")])
    names = d.node("Scan", [d.constant(d.floats(rest), weight=d.rng.random() < 0.5), d.now], 2, body=body, num_scan_inputs=1, scan_input_axes=[axis],
                   scan_input_directions=[back] if back is not None else None, scan_output_axes=[out],
                   scan_output_directions=[1] if d.rng.random() < 0.3 else None)
    return d.rng.choice(names)


def causal(d):
    d.since(27)
    shape = d.shape()
    if len(shape) != 3:
        raise Undrawn
    k = d.rng.choice([1, 2, 3])
    inputs = [d.now, d.constant(d.floats([shape[1], 1, k])), d.constant(d.floats([shape[1]])) if d.rng.random() < 0.5 else ""]
    if k > 1 and d.rng.random() < 0.5:
        inputs.append(d.constant(d.floats([shape[0], shape[1], k - 1])))
    while not inputs[-1]:
        inputs.pop()
    return d.rng.choice(d.node("CausalConvWithState", inputs, 2, activation=d.rng.choice([None, "none", "silu", "swish"])))


def linear_attention(d):
    d.since(27)
    shape = d.shape()
    if len(shape) != 3:
        raise Undrawn
    heads = d.rng.choice([h for h in (1, 2, 3) if shape[2] % h == 0])
    wide = shape[2] // heads * heads
    small = lambda n: d.node("Tanh", [d.node("MatMul", [d.now, d.weights([shape[2], n])])])
    rule = d.rng.choice(["linear", "gated", "delta", "gated_delta"])
    inputs = [small(wide), small(wide), small(wide), ""]
    if "gated" in rule:
        inputs.append(d.node("Neg", [d.node("Abs", [small(d.rng.choice([wide, heads]))])]))
    if "delta" in rule:
        inputs += [""] * (5 - len(inputs)) + [d.node("Sigmoid", [small(heads)])]
    while not inputs[-1]:
        inputs.pop()
    return d.rng.choice(d.node("LinearAttention", inputs, 2, q_num_heads=heads, kv_num_heads=heads, update_rule=rule,
                               scale=d.rng.choice([None, 0.5])))


def deformed(d):
    """Of constant offsets, off the places where rounding decides."""
    d.since(19)
    shape = d.shape()
    if len(shape) != 4:
        raise Undrawn
    group = d.rng.choice([g for g in range(1, shape[1] + 1) if shape[1] % g == 0])
    kernel, by = [d.rng.choice([1, 2]), d.rng.choice([1, 2, 3])], [d.rng.choice([1, 2]) for _ in range(2)]
    pads = [d.rng.choice([0, 1]) for _ in range(4)]
    out = [(n + pads[a] + pads[a + 2] - kernel[a]) // by[a] + 1 for a, n in enumerate(shape[2:])]
    if min(out) < 1:
        raise Undrawn
    taps, own = kernel[0] * kernel[1], d.rng.choice([g for g in range(1, shape[1] + 1) if shape[1] % g == 0])
    offsets = d.floats([shape[0], 2 * taps * own, *out]) / 4
    inputs = [d.now, d.constant(d.floats([group * d.rng.choice([1, 2]), shape[1] // group, *kernel])), d.constant(offsets, weight=d.rng.random() < 0.5),
              "", d.constant(d.floats([shape[0], taps * own, *out])) if d.rng.random() < 0.5 else ""]
    while not inputs[-1]:
        inputs.pop()
    return d.node("DeformConv", inputs, group=group, offset_group=own, strides=by, pads=pads, kernel_shape=kernel)


def determinant(d):
    d.since(11)
    shape = d.shape()
    if len(shape) < 2 or shape[-1] != shape[-2]:
        n = d.rng.choice([1, 2, 3])
        if not shape:
            raise Undrawn
        d.now = d.node("MatMul", [d.now, d.weights([shape[-1], n * n])])
        d.now = d.node("Reshape", [d.now, d.constant(np.array([*shape[:-1], n, n], np.int64))])
    return d.node("Det", [d.now])


def fourier(d):
    d.since(17)
    shape = d.shape()
    if not shape:
        raise Undrawn
    if any(np.abs(r).max() > 100 for runs in d.value[d.now] for r in runs):
        raise Undrawn  # large terms that cancel are rounded
    parts = d.rng.choice([1, 2]) if shape[-1] % 2 == 0 else 1
    shape = [*shape[:-1], shape[-1] // parts, parts]
    x = d.node("Reshape", [d.now, d.constant(np.array(shape, np.int64))])
    if len(shape) == 3 and d.rng.random() < 0.4:
        length = d.rng.randrange(1, shape[1] + 1)
        kind = d.rng.choice(["window", "length", "both"])
        inputs = [x, d.constant(np.array(d.rng.choice([1, 2]), np.int64), weight=False), d.constant(d.floats([length])) if kind != "length" else "",
                  d.constant(np.array(length, np.int64), weight=False) if kind != "window" else ""]
        return d.node("STFT", inputs if inputs[-1] else inputs[:3], onesided=d.rng.choice([None, 0, 1]) if parts == 1 else 0)
    a = d.rng.randrange(len(shape) - 1)
    half, back = d.rng.choice([None, 0, 1]), d.rng.choice([None, 0, 1])
    if half and (parts == 2) != bool(back):
        half = 0  # the one half is of a real signal
    inputs = [x, d.constant(np.array(d.rng.choice([1, 2, 3, 4, 5]), np.int64), weight=False) if d.rng.random() < 0.4 or (half and back) else ""]
    if d.opset >= 20:
        inputs.append(d.constant(np.array(a - d.rng.choice([0, len(shape)]), np.int64), weight=False))
    while not inputs[-1]:
        inputs.pop()
    return d.node("DFT", inputs, axis=a if d.opset < 20 else None, onesided=half, inverse=back)


def boxes(d):
    d.since(16)
    shape = d.shape()
    if len(shape) != 4:
        raise Undrawn
    n = d.rng.choice([1, 2, 3])
    corner = np.array([[d.rng.randrange(-4, 8) / 4 + 1 / 16 for _ in range(2)] for _ in range(n)])
    numbers = np.concatenate([corner, corner + [[d.rng.randrange(1, 24) / 8 for _ in range(2)] for _ in range(n)]], 1).astype(np.float32)
    image = np.array([d.rng.randrange(shape[0]) for _ in range(n)], np.int64)
    return d.node("RoiAlign", [d.now, d.constant(numbers, weight=False), d.constant(image, weight=False)], output_height=d.rng.choice([1, 2, 3]),
                  output_width=d.rng.choice([1, 2]), sampling_ratio=d.rng.choice([None, 0, 1, 2]), spatial_scale=d.rng.choice([None, 0.5, 2.]),
                  coordinate_transformation_mode=d.rng.choice([None, "half_pixel", "output_half_pixel"]))


def upsample(d):
    shape = d.shape()
    if d.opset not in (7, 8, 9) or len(shape) != 4:
        raise Undrawn
    scales = [1., 1., d.rng.choice([1., 2., 3.]), d.rng.choice([2., 1.5])]
    mode = d.rng.choice([None, "nearest", "linear"])
    if d.opset < 9:
        return d.node("Upsample", [d.now], scales=scales, mode=mode)
    return d.node("Upsample", [d.now, d.constant(np.array(scales, np.float32), weight=False)], mode=mode)


def deviation(d):
    d.since(9)
    shape = d.shape()
    if len(shape) < 2:
        raise Undrawn
    axes = d.rng.sample(range(len(shape)), d.rng.randrange(1, len(shape) + 1))
    if np.prod([shape[a] for a in axes]) < 2:
        raise Undrawn
    return d.node("MeanVarianceNormalization", [d.now], axes=axes)


OPERATORS = [pointwise, pointwise, inverse, affine_grid, affine_grid, responses, responses, clip, prelu, arithmetic, arithmetic, arithmetic, extremes, power, matmul, matmul, gemm,
             norm, threshold, rounding, choice, choice, cast, space, space, convolution, convolution, transposed, pool, pool, reduction, reduction, softmax, normalization, normalization, attention, attention, rotary, loss_of, scatter,
              hardmax, compress, backwards, written, remainder, einsum, einsum, sorted_, resize, grid_sample, grid_sample, center, fold, fold, recurrent,
              cumulative, triangle, by_shape, swiglu, place, place, one_hot, scan, scan, causal, causal, linear_attention, linear_attention,
             deformed, deformed, determinant, determinant, fourier, fourier, fourier, boxes, boxes, upsample, upsample, deviation]
