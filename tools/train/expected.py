"""What AD returns for the networks of windows.py, and why that is or is not a generalized gradient.

Usage: python tools/train/expected.py [FOLDER]

Small networks: every choice of an option for every touched window is tried in rationals. A choice
is possible when some direction makes each chosen entry larger than the others; the Bouligand
subdifferential is the set of gradients of the possible choices, and AD's gradient, which PyTorch
computes, is in its hull or separated from it. Each answer of the solver below is a certificate: a
direction or a combination of rows that is zero; weights or a separating vector.

Where windows and activations are touched in the first convolution alone, the same is done for each
of its filters, for these are independent: the gradient in a filter is the sum over windows of the
loss's derivative in the window (PyTorch's, in float64) times the option's patch.

LeNets on digits otherwise: Theorem 8 of Park, Chun and Lee. All layers have biases, so a layer's system is
feasible when the windows' rows alone are (Algorithm 2), and these are each filter's own: the patch
AD takes less the other. If all are feasible AD's gradient is a Bouligand gradient; if not, the
theorem says nothing.
"""

import math
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch.nn import functional as F

import convolutional
from digits import DEFAULT_FOLDER
from ties import ONE, Balls, Network, windows


def nonnegative_solution(columns, b):
    """y >= 0 with sum y_j columns_j = b, and None; or None and z with z.columns_j >= 0 for all j,
    z.b < 0. Simplex (phase one, Bland's rule) in rationals."""
    rows, n = len(b), len(columns)
    signs = [-1 if v < 0 else 1 for v in b]
    table = [[signs[i] * Fraction(c[i]) for c in columns] +
             [Fraction(int(i == k)) for k in range(rows)] + [signs[i] * Fraction(b[i])]
             for i in range(rows)]
    cost = [-sum(r[j] for r in table) for j in range(n + rows + 1)]
    for k in range(rows):
        cost[n + k] = Fraction(0)
    basis = list(range(n, n + rows))
    while True:
        entering = next((j for j in range(n) if cost[j] < 0), None)
        if entering is None:
            break
        ratios = [(r[-1] / r[entering], basis[i], i) for i, r in enumerate(table)
                  if r[entering] > 0]
        leaving = min(ratios)[2]
        pivot = table[leaving][entering]
        table[leaving] = [v / pivot for v in table[leaving]]
        for target in table[:leaving] + table[leaving + 1:] + [cost]:
            factor = target[entering]
            if factor:
                target[:] = [v - factor * p for v, p in zip(target, table[leaving])]
        basis[leaving] = entering
    if cost[-1] == 0:
        y = [Fraction(0)] * n
        for i, j in enumerate(basis):
            if j < n:
                y[j] = table[i][-1]
        return y, None
    return None, [signs[k] * (cost[n + k] - 1) for k in range(rows)]


def primitive(row):
    """The row as coprime integers: the same direction."""
    d = math.lcm(*(Fraction(v).denominator for v in row))
    whole = [int(v * d) for v in row]
    g = math.gcd(*whole) or 1
    return tuple(v // g for v in whole)


def direction(rows):
    """d with row.d > 0 for every row, or None. Rows are taken as they come to be violated."""
    rows = sorted(set(map(primitive, rows)))
    if not rows:
        return ()
    if not all(map(any, rows)) or any(tuple(-v for v in r) in set(rows) for r in rows):
        return None
    chosen = rows[:1]
    while True:
        y, z = nonnegative_solution([r + (1,) for r in chosen], [0] * len(rows[0]) + [1])
        if y is not None:
            return None
        d = z[:-1]
        values = [sum(a * b for a, b in zip(r, d) if a) for r in rows]
        if min(values) > 0:
            return d
        chosen.append(rows[values.index(min(values))])


def in_hull(points, target):
    weights, separator = nonnegative_solution([tuple(p) + (1,) for p in points],
                                              list(target) + [1])
    return weights, separator


def choices(touched, rows=(), chosen=()):
    """All ways to choose in every window, and that some direction realizes."""
    if not touched:
        yield chosen
        return
    for k, option in enumerate(touched[0]):
        more = rows + tuple(tuple(a - b for a, b in zip(option, other))
                            for other in touched[0][:k] + touched[0][k + 1:])
        if direction(more) is not None:
            yield from choices(touched[1:], more, chosen + (option,))


def enumerated(touched, coefficients):
    """The Bouligand gradients of sum_j coefficients_j max_k <touched_j[k], .>."""
    return sorted({combined(chosen, coefficients) for chosen in choices(touched)})


def combined(vectors, coefficients):
    return tuple(sum(c * v for c, v in zip(coefficients, column)) for column in zip(*vectors))


def options(model, x, conv, pool):
    """The gradients (patch, 1) in (w, b) of each touched window's options."""
    net = Network(model)
    net.run(x)
    patches = net.patches[conv].mid
    out = []
    for (n, c, i, j), places in net.touched[pool]:
        node = next(v for v in model.graph.node if v.output[0] == pool)
        attr = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        (height, width), (down, across) = attr["kernel_shape"], attr.get("strides", [1, 1])
        pads = attr.get("pads", [0, 0, 0, 0])
        out.append([tuple(Fraction(v, ONE) for v in
                          patches[n, i * down + k // width - pads[0],
                                  j * across + k % width - pads[1]]) + (Fraction(1),)
                    for k in places])
    return out


def parameters(model):
    return {t.name: torch.from_numpy(numpy_helper.to_array(t).copy()).double()
            for t in model.graph.initializer}


def ad_gradient(loss, values, names):
    for name in names:
        values[name].requires_grad_(True)
    loss(**values).backward()
    return [Fraction(float(v)) for name in names for v in values[name].grad.flatten()]


def of_windows(folder):
    """(case, names, coefficients, PyTorch's loss): the windows of one convolution."""
    x = {name: torch.from_numpy(np.load(folder / f"{name}.npz")["x"]).double()
         for name in ("lemma7", "two-windows", "opposite-images", "one-window")}

    def lemma7(u, b):
        z = F.max_pool2d(F.conv2d(x["lemma7"], u, b), (1, 2)).flatten()
        return z[0] - z[1]

    def two_windows(k, b):
        z = F.max_pool2d(F.conv2d(x["two-windows"], k, b).relu(), (1, 3), ceil_mode=True).flatten()
        return -2 * z[0] + z[1]

    def pooled(name, w, b):
        return F.max_pool2d(F.conv2d(x[name], w, b, padding=1).relu(), 2).flatten()

    def opposite_images(w, b):
        return F.mse_loss(pooled("opposite-images", w, b), torch.tensor([0, 2]).double())

    def one_window(w, b):
        return pooled("one-window", w, b).sum()

    return [("lemma7", "lemma7", "ub", (1, -1), lemma7),
            ("two-windows", "two-windows", "kb", (-2, 1), two_windows),
            ("opposite-images", "opposite-images", "wb", (1, -1), opposite_images),
            ("one-window", "opposite-images", "wb", (1,), one_window)]


def zero_gamma(folder, name):
    """(names, AD's gradient, Bouligand gradients) of zero-gamma and zero-gamma-beta, to first order
    about gamma = 0, where the gradient in w is 0. With beta > 0 the sign of gamma's change makes in
    each window the largest or the smallest of the convolution win. With beta = 0 every argument
    changes by (c - mean) dgamma + dbeta, so all choices are those of a piecewise linear function of
    two variables, and each of its pieces is met on a circle between two of its breaks."""
    model = onnx.load(folder / f"{name}.onnx")
    x = torch.from_numpy(np.load(folder / f"{name}.npz")["x"]).double()
    mean, beta = 1, float(parameters(model)["beta"])

    def loss(w, gamma, beta, mean, var):
        c = F.batch_norm(F.conv2d(x, w), mean, var, gamma, beta, eps=2.0 ** -10)
        z = F.max_pool2d(c.relu(), 2).flatten()
        return z[0] - z[1]

    ad = ad_gradient(loss, parameters(model), ["w", "gamma", "beta"])
    image = np.load(folder / f"{name}.npz")["x"][0, 0]
    slopes = [[int(image[i, j]) - mean for i in (0, 1) for j in columns]
              for columns in ((0, 1), (2, 3))]
    lines = [(Fraction(s), Fraction(1)) for w in slopes for s in w]
    # Where two arguments are equal or one is 0, as directions (dgamma, dbeta), and their middles.
    breaks = {(0, 1), (0, -1), (1, 0), (-1, 0)}
    breaks |= {(sign, -sign * s) for s, _ in lines for sign in (1, -1)}
    around = sorted(breaks, key=lambda v: math.atan2(v[1], v[0]))
    found = set()
    for (a, b), (c, d) in zip(around, around[1:] + around[:1]):
        dgamma, dbeta = a + c, b + d
        gradient = [Fraction(0)] * 4 + [Fraction(0)] * 2
        for sign, window in zip((1, -1), slopes):
            s = max(window, key=lambda v: v * dgamma)
            if beta > 0 or s * dgamma + dbeta > 0:
                gradient[4] += sign * s
                gradient[5] += sign
        found.add(tuple(gradient))
    return ad, sorted(found)


def verdict(ad, bouligand):
    """The verdict, and what shows it."""
    if tuple(ad) in bouligand:
        return "in-bouligand", ""
    weights, separator = in_hull(bouligand, ad)
    if weights is not None:
        return "in-clarke", f"weights {' '.join(map(str, weights))}"
    return "not-in-clarke", f"separator {' '.join(map(str, separator[:-1]))}"


def show(vector):
    return "(" + ", ".join(map(str, vector)) + ")"


def small(folder):
    for case, model, names, coefficients, loss in of_windows(folder):
        model = onnx.load(folder / f"{model}.onnx")
        x = np.load(folder / f"{case}.npz")["x"]
        found = enumerated(options(model, x, "y", "z"), coefficients)
        yield case, ad_gradient(loss, parameters(model), list(names)), found
    for case in "zero-gamma", "zero-gamma-beta":
        yield case, *zero_gamma(folder, case)


def systems(folder, case, batch):
    """[(pool, filter, rows, feasible)] of a LeNet: the rows of each filter with touched windows."""
    model, x = onnx.load(folder / f"{case}.onnx"), np.load(folder / f"{batch}.npz")["x"]
    net = Network(model, ad=True)
    net.run(x)
    producer = {n.output[0]: n for n in model.graph.node}
    for pool, found_windows in net.touched.items():
        conv = producer[producer[pool].input[0]].input[0]
        attr = {a.name: onnx.helper.get_attribute_value(a) for a in producer[pool].attribute}
        width, stride, pad = attr["kernel_shape"][1], attr["strides"][0], attr["pads"][0]
        patches, rows = net.patches[conv].mid, {}
        for (n, c, i, j), places in found_windows:
            first, *others = [patches[n, i * stride + k // width - pad,
                                      j * stride + k % width - pad] for k in places]
            rows.setdefault(c, []).extend(tuple(int(v) for v in first - o) for o in others)
        for c, found in sorted(rows.items()):
            yield pool, c, len(set(map(primitive, found))), direction(found) is not None


def first_layer(folder, case, batch):
    """[(filter, touched windows, AD's gradient, Bouligand gradients)] in each filter (w, b) where only
    the first layer is touched, less what the other windows give."""
    model, x = onnx.load(folder / f"{case}.onnx"), np.load(folder / f"{batch}.npz")
    net = Network(model)
    report = net.run(x["x"])
    assert all(layer["touched"] == [0] for layer in report[2:]), "deeper layers are touched"
    pool = next(n for n in model.graph.node if n.op_type == "MaxPool")
    attr = {a.name: onnx.helper.get_attribute_value(a) for a in pool.attribute}
    place = (attr["kernel_shape"], attr["strides"], attr["pads"], [1, 1])
    p = parameters(model)

    def after(z):
        y = F.conv2d(z, p["conv2.weight"], p["conv2.bias"], padding=1).relu()
        kernel, stride, pad = attr["kernel_shape"][0], attr["strides"][0], attr["pads"][0]
        f = F.max_pool2d(y, kernel, stride, pad).flatten(1)
        h = F.linear(f, p["fc1.weight"], p["fc1.bias"]).relu()
        return F.cross_entropy(F.linear(h, p["fc2.weight"], p["fc2.bias"]),
                               torch.from_numpy(x["y"]))

    patches = net.patches[model.graph.node[0].output[0]].mid  # (N, rows, columns, 9)
    weight = scaled(p["conv1.weight"].flatten(1))
    y = np.moveaxis(np.asarray(patches.dot(weight.T)) + ONE * scaled(p["conv1.bias"]), 3, 1)
    under = windows(y, *place, None)
    patch = [windows(np.moveaxis(patches, 3, 1)[:, k:k + 1], *place, None) for k in range(9)]
    value = np.empty(under.shape[:-1])
    touched = {}
    for i in np.ndindex(*value.shape):
        entries = [(v, k) for k, v in enumerate(under[i]) if v is not None]
        top = max(0, max(v for v, _ in entries))
        value[i] = float(Fraction(top, ONE * ONE))
        gradients = [tuple(Fraction(patch[q][i[0], 0, i[2], i[3], k], ONE) for q in range(9)) +
                     (Fraction(1),) for v, k in entries if v == top]
        options = list(dict.fromkeys(([] if top else [(Fraction(0),) * 10]) + gradients))
        if len(options) > 1:
            touched.setdefault(i[1], []).append((i, options))

    z = torch.from_numpy(value).requires_grad_(True)
    after(z).backward()
    for c, found in sorted(touched.items()):
        pulls = [Fraction(float(z.grad[i])) for i, _ in found]
        ad = combined([o[0] for _, o in found], pulls)
        yield c, len(found), ad, enumerated([o for _, o in found], pulls)


def gamma_parts(folder, case, batch):
    """[(channel, AD's d/dgamma, the two that occur)] for the channels with gamma = 0, beta > 0 before
    a MaxPool, nothing else touched. Near gamma = 0 a window's largest entry is that of the
    convolution's largest or smallest value, by gamma's sign; all else in the gradient is the same
    on both sides, and channels are independent. In float64."""
    net = convolutional.ResNet(pool=convolutional.overlapping).double()
    state, model = net.state_dict(), onnx.load(folder / f"{case}.onnx")
    for t in model.graph.initializer:
        state[t.name] = torch.from_numpy(numpy_helper.to_array(t).copy()).double()
    net.load_state_dict(state)
    net.eval()
    data = np.load(folder / f"{batch}.npz")
    x, y = torch.from_numpy(data["x"]).double(), torch.from_numpy(data["y"])
    bn, pulls = net.bn1, []
    net.pool1.register_full_backward_hook(lambda m, inputs, outputs: pulls.append(outputs[0]))
    F.cross_entropy(net(x), y).backward()
    with torch.no_grad():
        c = net.conv1(x)
        t = (c - bn.running_mean.view(1, -1, 1, 1)) / (bn.running_var + bn.eps).sqrt().view(1, -1, 1, 1)
        high, low = net.pool1(t), -net.pool1(-t)
        for k in (bn.weight == 0).nonzero().flatten().tolist():
            yield (k, bn.weight.grad[k].item(),
                   sorted((pulls[0] * v)[:, k].sum().item() for v in (low, high)))


def scaled(tensor):
    return Balls.of_floats(tensor.numpy()).mid


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_FOLDER
    for case, ad, found in small(folder):
        answer, why = verdict(ad, found)
        print(f"{case}: {answer} {why}\n  AD {show(ad)}\n  Bouligand {len(found)}: "
              f"{', '.join(map(show, found[:12]))}")
    for batch in "images", "images-96":
        print(f"resnet-pool-gamma, {batch}: d/dgamma in the channels with gamma 0")
        for channel, ad, ends in gamma_parts(folder, "resnet-pool-gamma", batch):
            print(f"  channel {channel}: AD {ad:.6g}; {ends[0]:.6g} or {ends[1]:.6g} occur")
    for case, batch in [("lenet-q6", "images"), ("lenet-q6", "images-pair"),
                        ("lenet-q6", "images-96"), ("lenet-overlap-q6", "images"),
                        ("lenet-overlap-q6", "images-384")]:
        print(f"{case}, {batch}: gradients in the filters with touched windows")
        for c, count, ad, found in first_layer(folder, case, batch):
            print(f"  filter {c}: {count} windows, {len(found)} gradients, {verdict(ad, found)[0]}")
    for case, batch in [("lenet-q6", "images"), ("lenet-q", "images"),
                        ("lenet-overlap-q", "images"), ("lenet-pruned", "images"),
                        ("lenet-ternary", "images-binary"), ("vgg11-pruned", "images-grown")]:
        print(f"{case}: systems of filters with touched windows")
        for pool, c, rows, feasible in systems(folder, case, batch):
            print(f"  {pool} filter {c}: {rows} rows, {'feasible' if feasible else 'infeasible'}",
                  flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
