"""Counts the kinks and tied windows that a minibatch touches in a convolutional network, exactly.

Usage: python tools/train/ties.py MODEL.onnx BATCH.npz

For every Relu: the entries whose argument is exactly 0, and how many of them are 0 for all parameters
(constant). For every MaxPool: the windows with two
largest entries or more (tied); those among them whose largest entries are not all the same function
of the parameters (touched); and those whose largest entries are not all the same function once
every touched Relu and window before is fixed as AD takes it (T_j of Park, Chun and Lee's
Algorithm 1): there AD's choice matters.

*Values.* Weights and pixels are floats, so dyadic: values are integers over 2**BITS, exact. What is
not dyadic (1/sqrt(var + epsilon) of a BatchNormalization, most often irrational, and the ninth part of
a sum) is an integer with a radius that encloses the true value. A sign is decided, or two entries
are told apart, only where the enclosures are apart; they are equal only where both are exact or they
are the same function. What remains open is an error, never a count.

*The same function.* By structure: two outputs of one convolution are, when their patches have the
same functions in the same places, constant zeros left out. This may call two equal functions
different, as a sum that cancels; the program's rule (docs/proof-format.md, Windows) is the same.

This is written apart from lib/ on purpose: the program's figures are compared with its.
"""

import sys
from fractions import Fraction
from math import isqrt

import numpy as np
import onnx
from onnx import helper, numpy_helper

BITS = 768
ONE = 1 << BITS
ZERO = 0  # the function that is 0 for all parameters


class Undecided(Exception):
    """Two enclosures overlap."""


def exact(value):
    """A float as an integer over ONE."""
    scaled = Fraction(float(value)) * ONE
    if scaled.denominator != 1:
        raise Undecided(f"{value} has more than {BITS} bits after the point")
    return scaled.numerator


scaled_exactly = np.frompyfunc(exact, 1, 1)


class Balls:
    """An array of enclosures: middle and radius, integers over ONE."""

    def __init__(self, mid, rad=None):
        self.mid = np.asarray(mid, dtype=object)
        self.rad = np.zeros(self.mid.shape, object) if rad is None else np.asarray(rad, dtype=object)

    @classmethod
    def of_floats(cls, array):
        return cls(scaled_exactly(np.asarray(array, np.float64)))

    def map(self, f):
        """The same rearrangement of both."""
        return Balls(f(self.mid), f(self.rad))

    def is_exact(self):
        return not np.any(self.rad != 0)

    def __add__(self, other):
        return Balls(self.mid + other.mid, self.rad + other.rad)

    def __mul__(self, other):
        return self.product(other, lambda a, b: a * b)

    def __matmul__(self, other):
        return self.product(other, lambda a, b: np.asarray(a.dot(b), dtype=object))

    def product(self, other, times):
        mid = times(self.mid, other.mid)
        rounded = np.asarray(mid & (ONE - 1), dtype=object) != 0
        if self.is_exact() and other.is_exact():
            return Balls(mid >> BITS, rounded.astype(object) * 1)
        a, b = np.abs(self.mid), np.abs(other.mid)
        rad = times(a, other.rad) + times(self.rad, b) + times(self.rad, other.rad)
        return Balls(mid >> BITS, -(-rad >> BITS) + rounded.astype(object) * 1)

    def over(self, n):
        """Divided by a positive integer."""
        return Balls(self.mid // n, self.rad // n + (self.rad % n + self.mid % n > 0) * 1)


def inverse_root(v):
    """1 / sqrt(v / ONE): floor, and 2 as the radius where that is not it."""
    if v <= 0:
        raise Undecided("the variance is not positive")
    cube = 1 << 3 * BITS
    root = isqrt(cube // v)
    return root, 0 if root * root * v == cube else 2


class Functions:
    """Numbers for the functions that entries are: equal keys, equal numbers."""

    def __init__(self):
        self.numbers = {("constant", 0): ZERO}
        self.constants = {ZERO}

    def number(self, *key):
        return self.numbers.setdefault(key, len(self.numbers))

    def constant(self, mid, rad, *key):
        """A function that is constant; one whose value is exact is that number."""
        found = self.number("constant", mid) if rad == 0 else self.number(*key)
        self.constants.add(found)
        return found

    def fresh(self):
        return self.number("fresh", len(self.numbers))

    def number_all(self, shape, of):
        out = np.empty(shape, np.int64)
        for index in np.ndindex(*shape):
            out[index] = of(index)
        return out


class Entries:
    """What a tensor holds: enclosures, and which function each entry is."""

    def __init__(self, balls, functions):
        self.balls, self.functions = balls, functions

    def map(self, f):
        return Entries(self.balls.map(f), f(self.functions))

    @property
    def shape(self):
        return self.functions.shape


def windows(array, kernel, strides, pads, dilations, filler, ceil_mode=False):
    """(N, C, rows, columns, places): what lies under the kernel at each position."""
    top, left, bottom, right = pads
    n, c, height, width = array.shape
    reach = [(k - 1) * d for k, d in zip(kernel, dilations)]
    sizes = []
    for size, before, after, r, s in zip((height, width), (top, left), (bottom, right), reach,
                                         strides):
        count = (size + before + after - r - 1) // s + 1
        if ceil_mode:
            count = -(-(size + before + after - r - 1) // s) + 1
            count -= (count - 1) * s >= size + before  # a window may not start behind the image
        sizes.append(count)
    rows, columns = ((count - 1) * s + r + 1 for count, s, r in zip(sizes, strides, reach))
    padded = np.full((n, c, max(rows, height + top), max(columns, width + left)), filler,
                     array.dtype)
    padded[:, :, top:top + height, left:left + width] = array
    out = [padded[:, :, i * dilations[0]:, j * dilations[1]:]
           [:, :, :(sizes[0] - 1) * strides[0] + 1:strides[0],
            :(sizes[1] - 1) * strides[1] + 1:strides[1]]
           for i in range(kernel[0]) for j in range(kernel[1])]
    return np.stack(out, axis=-1)


def kernel_of(attr, spatial=None):
    kernel = attr.get("kernel_shape", spatial)
    if attr.get("auto_pad", b"NOTSET") not in (b"NOTSET", "NOTSET"):
        raise NotImplementedError("auto_pad")
    return (kernel, attr.get("strides", [1, 1]), attr.get("pads", [0, 0, 0, 0]),
            attr.get("dilations", [1, 1]))


class Network:
    """One run of a model on a batch. With ad, touched kinks and windows are as AD takes them."""

    def __init__(self, model, ad=False):
        self.model, self.ad = model, ad
        self.functions = Functions()
        # Parameters are initializers; Constant nodes and the statistics of a normalization are not.
        self.parameters = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
        self.fixed, self.report = {}, []
        self.patches = {}  # of a convolution's output: the enclosures of what it multiplies
        self.touched = {}  # of a MaxPool: (window, places of one entry of each option, AD's first)

    def array(self, name):
        return self.parameters[name] if name in self.parameters else self.fixed[name]

    def run(self, x):
        graph = self.model.graph
        shape = [d.dim_value for d in graph.input[0].type.tensor_type.shape.dim][1:]
        balls = Balls.of_floats(np.reshape(x, (len(x), *shape)))
        f = self.functions
        constants = f.number_all(balls.mid.shape, lambda i: f.constant(balls.mid[i], 0))
        values = {graph.input[0].name: Entries(balls, constants)}
        for node in graph.node:
            attr = {a.name: helper.get_attribute_value(a) for a in node.attribute}
            if node.op_type == "Constant":
                self.fixed[node.output[0]] = numpy_helper.to_array(attr["value"])
                continue
            method = getattr(self, node.op_type.lower(), None)
            if method is None:
                raise NotImplementedError(f"operator {node.op_type}")
            inputs = [values[name] for name in node.input if name in values]
            self.name = node.name or node.output[0]
            values[node.output[0]] = method(node, attr, *inputs)
        self.last = values[graph.output[0].name]
        return self.report

    # Rearrangements.

    def identity(self, node, attr, x):
        return x

    dropout = identity

    def flatten(self, node, attr, x):
        return x.map(lambda a: a.reshape(len(a), -1))

    def reshape(self, node, attr, x):
        shape = [int(v) for v in self.array(node.input[1])]
        return x.map(lambda a: a.reshape(len(a), *shape[1:]))

    def concat(self, node, attr, *parts):
        join = lambda arrays: np.concatenate(arrays, axis=attr["axis"])
        return Entries(Balls(join([p.balls.mid for p in parts]), join([p.balls.rad for p in parts])),
                       join([p.functions for p in parts]))

    def pad(self, node, attr, x):
        pads = [int(v) for v in self.array(node.input[1])]
        return x.map(lambda a: np.pad(a, list(zip(pads[:a.ndim], pads[a.ndim:]))))

    # Sums of multiples.

    def linear(self, rows, weight, bias, fixed):
        """rows (..., places) times weight (outputs, places), with bias (outputs): balls and
        functions of shape (..., outputs). The weight is of parameters unless fixed."""
        w = Balls.of_floats(weight)
        flat = rows.map(lambda a: a.reshape(-1, a.shape[-1]))
        balls = flat.balls @ w.map(np.transpose)
        if bias is not None:
            balls = balls + Balls.of_floats(bias)
        numbers = np.empty(balls.mid.shape, np.int64)
        f = self.functions
        for i, row in enumerate(flat.functions):
            places = [k for k in range(len(row)) if row[k] != ZERO]
            if not fixed:
                patch = f.number("patch", tuple((k, int(row[k])) for k in places))
                for j in range(len(weight)):
                    zero = not places and bias is None
                    numbers[i, j] = ZERO if zero else f.number(self.name, j, patch)
                continue
            if bias is not None:
                raise NotImplementedError("a fixed weight with a bias")
            for j in range(len(weight)):
                terms = tuple((float(weight[j, k]), int(row[k])) for k in places if weight[j, k])
                if all(number in f.constants for _, number in terms):
                    numbers[i, j] = f.constant(balls.mid[i, j], balls.rad[i, j], "sum", terms)
                else:
                    numbers[i, j] = f.number(self.name, terms)
        shape = rows.shape[:-1] + (len(weight),)
        return Entries(balls, numbers).map(lambda a: a.reshape(shape))

    def conv(self, node, attr, x):
        weight = self.array(node.input[1])
        bias = self.array(node.input[2]) if len(node.input) > 2 else None
        groups, count = attr.get("group", 1), len(weight)
        if groups != 1:
            raise NotImplementedError("groups")
        place = kernel_of(attr, list(weight.shape[2:]))
        patches = x.map(lambda a: np.moveaxis(windows(a, *place, 0), 1, 3))
        rows = patches.map(lambda a: a.reshape(*a.shape[:3], -1))
        self.patches[node.output[0]] = rows.balls
        y = self.linear(rows, weight.reshape(count, -1), bias, node.input[1] in self.fixed)
        return y.map(lambda a: np.moveaxis(a, 3, 1))

    def gemm(self, node, attr, x):
        if attr.get("transA", 0) or attr.get("alpha", 1.0) != 1 or attr.get("beta", 1.0) != 1:
            raise NotImplementedError("Gemm with transA, alpha or beta")
        w = self.array(node.input[1])
        bias = self.array(node.input[2]) if len(node.input) > 2 else None
        return self.linear(x, w if attr.get("transB", 0) else w.T, bias,
                           node.input[1] in self.fixed)

    def matmul(self, node, attr, x):
        return self.linear(x, self.array(node.input[1]).T, None, node.input[1] in self.fixed)

    def terms(self, places, divisor, balls):
        """Equal parts of a list of functions."""
        f = self.functions
        key = tuple((k, int(number)) for k, number in enumerate(places) if number != ZERO)
        if all(number in f.constants for _, number in key):
            return f.constant(*balls, "parts", divisor, key)
        return f.number(self.name, divisor, key)

    def add(self, node, attr, a, b=None):
        if b is None:
            raise NotImplementedError("Add of a constant")
        balls = a.balls + b.balls
        return Entries(balls, self.functions.number_all(a.shape, lambda i: self.terms(
            (a.functions[i], b.functions[i]), 1, (balls.mid[i], balls.rad[i]))))

    def averagepool(self, node, attr, x):
        kernel, strides, pads, dilations = place = kernel_of(attr)
        if any(pads) or attr.get("ceil_mode", 0):
            raise NotImplementedError("AveragePool with padding")
        under = x.map(lambda a: windows(a, *place, 0))
        return self.average(under)

    def globalaveragepool(self, node, attr, x):
        return self.average(x.map(lambda a: a.reshape(*a.shape[:2], 1, 1, -1)))

    def average(self, under):
        n = under.shape[-1]
        balls = under.balls.map(lambda a: a.sum(axis=-1)).over(n)
        return Entries(balls, self.functions.number_all(under.shape[:-1], lambda i: self.terms(
            under.functions[i], n, (balls.mid[i], balls.rad[i]))))

    def batchnormalization(self, node, attr, x):
        gamma, beta, mean, var = (self.array(name) for name in node.input[1:5])
        epsilon = exact(attr.get("epsilon", 1e-5))
        along = lambda a: np.asarray(a, dtype=object).reshape(1, -1, *[1] * (len(x.shape) - 2))
        roots = [inverse_root(exact(v) + epsilon) for v in var]
        scale = Balls(along([m for m, _ in roots]), along([r for _, r in roots]))
        centred = x.balls + Balls(along([-exact(v) for v in mean]))
        y = centred * (scale * Balls.of_floats(gamma).map(along)) + Balls.of_floats(beta).map(along)
        f = self.functions
        return Entries(y, f.number_all(x.shape, lambda i: f.number(self.name, i[1],
                                                                   int(x.functions[i]))))

    # What has kinks.

    def relu(self, node, attr, x):
        f, touched, constant = self.functions, 0, 0
        balls, numbers = Balls(x.balls.mid.copy(), x.balls.rad.copy()), x.functions.copy()
        for i, mid in np.ndenumerate(x.balls.mid):
            rad, of = x.balls.rad[i], int(x.functions[i])
            if mid < -rad:
                balls.mid[i] = balls.rad[i] = 0
                numbers[i] = ZERO
            elif mid > rad:
                numbers[i] = of if of in f.constants else f.number(self.name, of)
            elif rad == 0:
                touched += 1
                constant += of in f.constants
                numbers[i] = ZERO if of in f.constants or self.ad else f.number(self.name, of)
            else:
                raise Undecided(f"{self.name}: the sign of an argument at {i}")
        self.report.append({"node": self.name, "op": "Relu", "neurons": int(np.prod(x.shape[1:])),
                            "touched": [touched], "constant": constant})
        return Entries(balls, numbers)

    def maxpool(self, node, attr, x):
        place, ceil_mode = kernel_of(attr), attr.get("ceil_mode", 0)
        mids, rads = (windows(a, *place, None, ceil_mode) for a in (x.balls.mid, x.balls.rad))
        under = windows(x.functions, *place, -1, ceil_mode)
        shape = under.shape[:-1]
        balls, numbers = Balls(np.zeros(shape, object)), np.empty(shape, np.int64)
        tied = touched = differ = 0
        found = self.touched[node.output[0]] = []
        for i in np.ndindex(*shape):
            entries = [(m, r, int(n), k) for k, (m, r, n) in
                       enumerate(zip(mids[i], rads[i], under[i])) if n >= 0]
            largest = self.largest(entries)
            options = {}
            for _, _, n, k in largest:
                options.setdefault(n, k)
            if len(options) > 1:
                found.append((i, list(options.values())))
            tied += len(largest) > 1
            touched += len(options) > 1
            differ += len(options) - 1
            balls.mid[i], balls.rad[i], first, _ = largest[0]
            if len(options) == 1 or self.ad:
                numbers[i] = first
            else:
                numbers[i] = self.functions.fresh()
        self.report.append({"node": self.name, "op": "MaxPool",
                            "neurons": int(np.prod(shape[1:])), "tied": tied, "touched": [touched],
                            "others": differ})
        return Entries(balls, numbers)

    def largest(self, entries):
        """The entries equal to the maximum, in order."""
        mid, rad, number, _ = max(entries, key=lambda e: (e[0], -e[1]))
        out = []
        for m, r, n, k in entries:
            if n == number or (m == mid and r == rad == 0):
                out.append((m, r, n, k))
            elif m + r >= mid - rad:
                raise Undecided(f"{self.name}: two entries of a window")
        return out


def ties(model, x):
    """One entry a node with kinks: node, op, neurons, touched [count]; for MaxPool besides tied,
    others (options of touched windows beyond the first), and ad: touched and others when what is
    before is as AD takes it."""
    report, as_ad = Network(model).run(x), Network(model, ad=True).run(x)
    for layer, fixed in zip(report, as_ad):
        if layer["op"] == "MaxPool":
            layer["ad"] = [fixed["touched"][0], fixed["others"]]
    return report


def ties_in_files(model_path, batch_path):
    with np.load(batch_path) as batch:
        return ties(onnx.load(model_path), batch["x"])


def main():
    total = 0
    for layer in ties_in_files(*sys.argv[1:3]):
        touched = sum(layer["touched"])
        total += touched
        line = f"{layer['node']} ({layer['op']}, {layer['neurons']} neurons): touched {touched}"
        if layer["op"] == "Relu" and layer["constant"]:
            line += f" ({layer['constant']} constant)"
        if layer["op"] == "MaxPool":
            windows_differ, rows = layer["ad"]
            line += (f" of {layer['tied']} tied ({layer['others']} other options), "
                     f"{windows_differ} where AD's choice matters ({rows} rows)")
        print(line)
    print(f"touched {total}")


if __name__ == "__main__":
    main()
