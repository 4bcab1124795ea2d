"""Counts the kinks that a minibatch touches, in exact arithmetic.

Usage: python tools/train/touched.py MODEL.onnx BATCH.npz [PARAMS.safetensors]

A kink is touched at a triple (node, feature, sample) when the exact argument of the elementary
function there equals one of its kinks and the slopes on the two sides differ. Weights and inputs
are floats, so dyadic rationals; every operator below except Sigmoid, Tanh and the normalizations keeps
values rational and they are evaluated as Fractions. After those values are intervals of 200 bits, and an
argument counts as zero only when every term of it is (a zero weight or a zero entry; a rational that is
its group's mean is normalized to zero): an interval that contains a kink without being exact is an error,
never a count.

This is written apart from lib/ on purpose: the figures it gives are what the program's are
compared with.
"""

import math
import sys
from fractions import Fraction

import numpy as np
import onnx
from mpmath import iv
from onnx import numpy_helper

iv.prec = 200
SIXTH = float(np.float32(1) / np.float32(6))
to_fraction = np.frompyfunc(lambda v: Fraction(float(v)), 1, 1)


class Undecided(Exception):
    """An interval contains a kink."""


def exact(array):
    """A float array as an object array of Fractions."""
    return np.asarray(to_fraction(np.asarray(array, dtype=np.float64)), dtype=object)


def is_rational(array):
    return all(isinstance(v, (Fraction, int)) for v in array.flat)


def common_denominator(array):
    """Integers n and D with array = n / D."""
    d = math.lcm(*{v.denominator for v in array.flat}) if array.size else 1
    return np.frompyfunc(lambda v: v.numerator * (d // v.denominator), 1, 1)(array), d


def dense(x, w):
    """x @ w, exactly; terms with a zero factor are left out, which keeps exact zeros exact."""
    if is_rational(x):
        (xn, xd), (wn, wd) = common_denominator(x), common_denominator(w)
        product = np.asarray(xn.dot(wn), dtype=object)
        return np.frompyfunc(lambda v: Fraction(v, xd * wd), 1, 1)(product)
    out = np.full((x.shape[0], w.shape[1]), Fraction(0), dtype=object)
    for i, j in np.ndindex(*out.shape):
        for k in range(x.shape[1]):
            if w[k, j] != 0 and x[i, k] != 0:
                out[i, j] = plus(out[i, j], interval(x[i, k]) * interval(w[k, j]))
    return out


def interval(v):
    return iv.mpf(v.numerator) / v.denominator if isinstance(v, Fraction) else v


def plus(a, b):
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return a + b
    return a if b == 0 else b if a == 0 else interval(a) + interval(b)


def side(v, kink):
    """The sign of v - kink."""
    if isinstance(v, Fraction):
        return (v > kink) - (v < kink)
    low, high = interval(v).a, interval(v).b
    if low > interval(kink):
        return 1
    if high < interval(kink):
        return -1
    raise Undecided(f"an interval contains the kink {kink}")


def sigmoid(v):
    return 1 / (1 + iv.exp(-interval(v)))


def tanh(v):
    return Fraction(0) if v == 0 else 1 - 2 / (iv.exp(2 * interval(v)) + 1)


def normalize(x, axis, epsilon):
    """(x - mean) / sqrt(var + epsilon) over the groups along an axis."""
    out = np.empty_like(x)
    for group, found in zip(np.moveaxis(x, axis, -1), np.moveaxis(out, axis, -1)):
        known = is_rational(group)
        values = [v if known else interval(v) for v in group]
        mean = sum(values[1:], values[0]) / len(values)
        centred = [v - mean for v in values]
        squares = [c * c for c in centred]
        var = sum(squares[1:], squares[0]) / len(values)
        root = iv.sqrt(interval(var) + interval(Fraction(epsilon)))
        for k, c in enumerate(centred):
            found[k] = Fraction(0) if known and c == 0 else interval(c) / root
    return out


def times(v, factor):
    return Fraction(0) if v == 0 or factor == 0 else interval(v) * interval(factor)


def normalization(node, args, attr):
    """A BatchNormalization of a minibatch's own statistics, or a LayerNormalization; two axes."""
    batch = node.op_type == "BatchNormalization"
    if args[0].ndim != 2 or batch != (attr.get("training_mode", 0) == 1):
        raise NotImplementedError(f"{node.op_type} of other statistics or axes")
    y = normalize(args[0], 0 if batch else 1, attr.get("epsilon", float(np.float32(1e-5))))
    return np.frompyfunc(plus, 2, 1)(np.frompyfunc(times, 2, 1)(y, args[1]), args[2])


def float_attributes(node):
    return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}


def pieces(node, attr, constants):
    """kinks c_0 < c_1 < ... and the pieces between them, for an operator with kinks."""
    zero, one, same = (lambda v: Fraction(0)), (lambda v: Fraction(1)), (lambda v: v)
    if node.op_type == "Relu":
        return [Fraction(0)], [zero, same]
    if node.op_type == "Abs":
        return [Fraction(0)], [lambda v: -v, same]
    if node.op_type == "LeakyRelu":
        alpha = Fraction(attr.get("alpha", float(np.float32(0.01))))
        return [] if alpha == 1 else [Fraction(0)], [lambda v: alpha * v, same]
    if node.op_type == "PRelu":
        slope = constants[node.input[1]]
        if slope.size != 1:
            raise NotImplementedError("PRelu with a slope for each feature")
        return [] if slope.flat[0] == 1 else [Fraction(0)], [lambda v: slope.flat[0] * v, same]
    if node.op_type == "Clip":
        lo, hi = constants[node.input[1]].flat[0], constants[node.input[2]].flat[0]
        return [lo, hi], [lambda v: lo, same, lambda v: hi]
    if node.op_type == "HardSigmoid":
        alpha = attr.get("alpha", float(np.float32(0.2)))
        alpha = Fraction(1, 6) if alpha == SIXTH else Fraction(alpha)
        beta = Fraction(attr.get("beta", 0.5))
        return [-beta / alpha, (1 - beta) / alpha], [zero, lambda v: alpha * v + beta, one]
    if node.op_type == "HardSwish":
        return [Fraction(-3), Fraction(3)], [zero, lambda v: v * (v / 6 + Fraction(1, 2)), same]
    return None


def activate(x, kinks, parts):
    """The values of the function, and how many entries lie on each kink."""
    out, counts = np.empty_like(x), [0] * len(kinks)
    for index, v in np.ndenumerate(x):
        signs = [side(v, c) for c in kinks]
        for k, s in enumerate(signs):
            counts[k] += s == 0
        # A kink belongs to both pieces: the functions are continuous.
        out[index] = parts[sum(s > 0 for s in signs)](v)
    return out, counts


def gemm(a, b, c, attr):
    if attr.get("transA", 0) or attr.get("alpha", 1.0) != 1 or attr.get("beta", 1.0) != 1:
        raise NotImplementedError("Gemm with transA, alpha or beta")
    y = dense(a, b.T if attr.get("transB", 0) else b)
    return y if c is None else np.frompyfunc(plus, 2, 1)(y, c)


def touched(model, x, params=None):
    """[(node name, operator, neurons, counts per kink)] for every node with kinks."""
    constants = {t.name: exact(numpy_helper.to_array(t)) for t in model.graph.initializer}
    constants.update({name: exact(v) for name, v in (params or {}).items()})
    values, report = {model.graph.input[0].name: exact(x)}, []

    for node in model.graph.node:
        attr = float_attributes(node)
        args = [values.get(name, constants.get(name)) for name in node.input]
        if node.op_type == "Constant":
            constants[node.output[0]] = exact(numpy_helper.to_array(attr["value"]))
            continue
        if node.op_type == "Gemm":
            y = gemm(args[0], args[1], args[2] if len(args) > 2 else None, attr)
        elif node.op_type == "MatMul":
            y = dense(*args)
        elif node.op_type == "Add":
            y = np.frompyfunc(plus, 2, 1)(*args)
        elif node.op_type in ("BatchNormalization", "LayerNormalization"):
            y = normalization(node, args, attr)
        elif node.op_type in ("Sigmoid", "Tanh"):
            y = np.frompyfunc(sigmoid if node.op_type == "Sigmoid" else tanh, 1, 1)(args[0])
        else:
            found = pieces(node, attr, constants)
            if found is None:
                raise NotImplementedError(f"operator {node.op_type}")
            y, counts = activate(args[0], *found)
            report.append((node.name or node.output[0], node.op_type, y[0].size, counts))
        values[node.output[0]] = y
    return report


def touched_in_files(model_path, batch_path, params_path=None):
    params = None
    if params_path:
        from safetensors.numpy import load_file
        params = load_file(params_path)
    with np.load(batch_path) as batch:
        return touched(onnx.load(model_path), batch["x"], params)


def main():
    total = 0
    for name, op, neurons, counts in touched_in_files(*sys.argv[1:4]):
        print(f"{name} ({op}, {neurons} neurons): touched {' + '.join(map(str, counts)) or 0}")
        total += sum(counts)
    print(f"touched {total}")


if __name__ == "__main__":
    main()
