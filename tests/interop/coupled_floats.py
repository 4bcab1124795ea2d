"""Floats of a network whose samples a normalization couples: PyTorch's and `clarke sweep`'s, within a bound that is proved.

    coupled_floats.py CLARKE

A convolution of two filters, one of them 0, is normalized by the minibatch. So one channel is 0 at a kink, and its windows tie. D is the
distance of the gradients with ReLU'(0) = 0 and 1. Each number is followed exactly, to 400 bits, with a bound of what roundings can make of
it, in whatever order sums are added. The bounds are of float64, where PyTorch computes these operations one by one. Both D must be as near to
the exact one as the bounds say, and it must lie where the sweep encloses it.
"""
import json
import os
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

import mpmath
import torch
from mpmath import mpf
from torch.nn import functional as F

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools/train"), str(ROOT / "tests/tools")]
CLARKE = os.path.abspath(sys.argv[1])

from batches import write_batch  # noqa: E402
from expect import expect, finish  # noqa: E402
from to_onnx import write_onnx  # noqa: E402
from trainings import ReluOne  # noqa: E402

mpmath.mp.prec = 400
UNIT = mpf(2) ** -53
EPSILON = torch.tensor(1e-5).item()  # ONNX has it as a float32
SAMPLES, SIDE, OUTPUTS = 3, 4, 2


class Near:
    """An exact number, and how far one that was rounded may be from it. (No number here is so small that it has fewer bits.)"""

    def __init__(self, value, by=0):
        self.value, self.by = mpf(value), mpf(by)

    def rounded(self, value, by):
        return Near(value, by + UNIT * (abs(value) + by))

    def __add__(self, other):
        return self.rounded(self.value + other.value, self.by + other.by)

    def __sub__(self, other):
        return self.rounded(self.value - other.value, self.by + other.by)

    def __mul__(self, other):
        return self.rounded(self.value * other.value, abs(self.value) * other.by + abs(other.value) * self.by + self.by * other.by)

    def __truediv__(self, other):
        size = abs(other.value)
        return self.rounded(self.value / other.value, (abs(self.value) * other.by + size * self.by) / (size * (size - other.by)))

    def __neg__(self):
        return Near(-self.value, self.by)

    def root(self):
        root = mpmath.sqrt(self.value)
        return self.rounded(root, self.by / root)

    def above(self, other):
        """None where roundings could say something else."""
        apart, by = self.value - other.value, self.by + other.by
        return apart > 0 if abs(apart) > by or by == 0 else None


ZERO = Near(0)


def total(terms):
    """A sum in any order."""
    n = len(terms) * UNIT
    return Near(sum(t.value for t in terms), sum(t.by for t in terms) + n / (1 - n) * sum(abs(t.value) + t.by for t in terms))


def normalized(x, share, epsilon):
    """Of one channel: centred, root, quotients."""
    mean = total([e * share for e in x])
    centred = [e - mean for e in x]
    root = (total([c * c * share for c in centred]) + epsilon).root()
    return centred, root, [c / root for c in centred]


def normalized_back(g, centred, root, y, share):
    down = total([-a * (b / root) for a, b in zip(g, y)])
    square = down / (Near(2) * root) * share
    back = [a / root + square * c + square * c for a, c in zip(g, centred)]
    mean = total([-b for b in back])
    return [b + share * mean for b in back]


class Exact:
    """The network's gradient, of the sum of its outputs, with bounds."""

    def __init__(self, net, x):
        self.of = {name: [Near(v) for v in p.detach().flatten().tolist()] for name, p in net.named_parameters()}
        self.x = [[Near(v) for v in sample.flatten().tolist()] for sample in x]

    def patch(self, sample, row, column):
        for k in range(9):
            i, j = row + k // 3 - 1, column + k % 3 - 1
            if 0 <= i < SIDE and 0 <= j < SIDE:
                yield k, self.x[sample][i * SIDE + j]

    def channel(self, c, slope):
        places = [(j, row, column) for j in range(SAMPLES) for row in range(SIDE) for column in range(SIDE)]
        weight = self.of["conv.weight"][9 * c:9 * c + 9]
        share = Near(mpf(1) / len(places), UNIT / len(places))
        conv = [total([weight[k] * v for k, v in self.patch(*at)]) for at in places]
        centred, root, y = normalized(conv, share, Near(EPSILON))
        gamma, beta = self.of["norm.weight"][c], self.of["norm.bias"][c]
        z = {at: gamma * e + beta for at, e in zip(places, y)}
        relu = {at: e if e.above(ZERO) else ZERO for at, e in z.items()}
        back = {at: ZERO for at in places}
        pooled = {}
        for j in range(SAMPLES):
            for w in range(4):
                window = [(j, w // 2 * 2 + k // 2, w % 2 * 2 + k % 2) for k in range(4)]
                first = window[0]
                for at in window[1:]:
                    above = relu[at].above(relu[first])
                    expect(above is not None, "the largest entry is one that roundings do not change")
                    first = at if above else first
                pooled[j, w] = relu[first]
                g = total([self.of["last.weight"][o * 8 + 4 * c + w] for o in range(OUTPUTS)])
                side = z[first].above(ZERO)
                expect(side is not None, "a side that roundings do not change")
                back[first] = g if side else g * Near(slope) if z[first].value == 0 else ZERO
        g = [back[at] for at in places]
        down = normalized_back([e * gamma for e in g], centred, root, y, share)
        parts = {k: [] for k in range(9)}
        for at, e in zip(places, down):
            for k, v in self.patch(*at):
                parts[k].append(e * v)
        return ({"conv.weight": [total(parts[k]) for k in range(9)], "norm.weight": [total([a * b for a, b in zip(g, y)])],
                 "norm.bias": [total(g)]}, pooled)

    def gradient(self, slope):
        channels = [self.channel(c, slope) for c in range(2)]
        found = [e for name in ("conv.weight", "norm.weight", "norm.bias") for c, _ in channels for e in c[name]]
        last = [total([channels[c][1][j, w] for j in range(SAMPLES)]) for c in range(2) for w in range(4)]
        return found + last * OUTPUTS + [total([Near(1)] * SAMPLES)] * OUTPUTS


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = torch.nn.Conv2d(1, 2, 3, padding=1, bias=False), torch.nn.BatchNorm2d(2)
        self.relu, self.pool, self.flat = torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten()
        self.last = torch.nn.Linear(8, OUTPUTS)
        with torch.no_grad():
            self.norm.weight.copy_(torch.tensor([0.75, -1.25]))
            self.norm.bias.copy_(torch.tensor([0.1, 0]))
            self.conv.weight[1] = 0

    def forward(self, x):
        return self.last(self.flat(self.pool(self.relu(self.norm(self.conv(x))))))


def torch_gradient(net, x, relu):
    """The normalization in single operations."""
    c = net.conv(x)
    centred = c - c.mean((0, 2, 3), keepdim=True)
    y = centred / ((centred * centred).mean((0, 2, 3), keepdim=True) + EPSILON).sqrt()
    z = y * net.norm.weight.reshape(1, 2, 1, 1) + net.norm.bias.reshape(1, 2, 1, 1)
    out = net.last(net.flat(net.pool(relu(z))))
    return torch.cat([g.flatten() for g in torch.autograd.grad(out.sum(), list(net.parameters()))]).tolist()


def sweep(folder, net, x):
    write_onnx(folder / "net.onnx", net.float(), x[0].float(), training=True)
    write_batch(folder / "b.npz", x=x.float().numpy())
    (folder / "one.profile").write_text("Relu 0 1\n")
    (folder / "sweep.json").write_text(json.dumps({"model": "net.onnx", "batches": ["b.npz"], "profiles": ["pytorch-2.13", "one.profile"],
                                                   "formats": ["float64"], "loss": "sum"}))
    subprocess.run([CLARKE, "sweep", folder / "sweep.json", "-o", folder / "out.jsonl"], check=True, stdout=subprocess.DEVNULL)
    return json.loads((folder / "out.jsonl").read_text().splitlines()[1])["pairs"][0]


def main():
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        for seed in range(4):
            torch.manual_seed(seed)
            net, x = Net(), (torch.randn(SAMPLES, 1, SIDE, SIDE) * 4).round() / 4
            pair = sweep(Path(name), net, x)
            (Path(name) / "out.jsonl").unlink()
            of = Exact(net, x)
            zero, one = of.gradient(0), of.gradient(1)
            d = sum(abs(a.value - b.value) for a, b in zip(zero, one))
            by = sum(a.by + b.by for a, b in zip(zero, one))
            net, x = net.double(), x.double()
            torch_d = sum(abs(Fraction(a) - Fraction(b)) for a, b in zip(torch_gradient(net, x, F.relu), torch_gradient(net, x, ReluOne.apply)))
            ours = Fraction(pair["floats"]["float64"]["l1"])
            expect(pair["exact"]["l1_at_least"] <= d <= pair["exact"]["l1_at_most"], f"seed {seed}: the exact D {d}, {pair['exact']}")
            for who, found in ("PyTorch", torch_d), ("the sweep", ours):
                off = abs(mpf(found.numerator) / found.denominator - d)
                expect(off <= by, f"seed {seed}: {who} is off by {float(off):.3g}, not {float(by):.3g}")
            expect(d > 1 and by < 1e-9 and pair["floats"]["float64"]["label"] == "bifurcation", f"seed {seed}: {d}, {by}")
            print(f"D = {float(d):.17g}, within {float(by):.2g}; the sweep {float(ours) - float(d):.2g} away, PyTorch {float(torch_d) - float(d):.2g}")
    finish()


main()
