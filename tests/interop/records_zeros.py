#!/usr/bin/env python3
"""Gradients that are 0: what an audit says of them is so, beside autograd at these weights and nearby.

    records_zeros.py CLARKE CLARKE-CHECK [--networks N] [--seed N]

Steps by hand, one for each cause; then drawn ones, with dead units, weights and inputs that are 0, windows, normalizations and attention. Of
what is said to be 0 autograd must find as many entries that are 0; at weights nearby as many stay 0, or are as small as these are near.
"""
import argparse
import os
import sys

import torch
from torch import nn
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "python"))
sys.path.append(os.path.join(HERE, "..", "tools"))
parser = argparse.ArgumentParser()
parser.add_argument("clarke")
parser.add_argument("check")
parser.add_argument("--networks", type=int, default=12)
parser.add_argument("--seed", type=int, default=1)
OPTIONS = parser.parse_args()
os.environ["CLARKE"] = os.path.abspath(OPTIONS.clarke)
import clarke  # noqa: E402
from expect import expect, finish  # noqa: E402


SEEN = {"along": 0, "may": 0}


def told(model, x, y=None, loss=None):
    answer = clarke.audit(model, x, y, loss)
    return answer, {entry["parameter"]: entry for entry in answer.zero_gradients or ()}


def moved(model, direction, t):
    """The parameters at w + t (w' - w), in float64; the direction as its definition in the documentation has it."""
    i, there = 0, {}
    for name, p in model.named_parameters():
        here = p.detach().double()
        by = [((i + k + 1) * direction["multiplier"] % direction["modulus"] - direction["modulus"] // 2) for k in range(p.numel())]
        way = here + torch.tensor(by, dtype=torch.float64).reshape(p.shape) * 2.0 ** -direction["step"] - here
        there[name], i = (here + t * way).requires_grad_(), i + p.numel()
    return there


class At(nn.Module):
    """The model at other parameters, in float64."""

    def __init__(self, model, there):
        super().__init__()
        self.model, self.there = [model], there

    def forward(self, x):
        buffers = {n: b.double() if b.is_floating_point() else b for n, b in self.model[0].named_buffers()}
        return torch.func.functional_call(self.model[0], {**self.there, **buffers}, (x,))


def expect_along(answer, zero, model, loss, what):
    """Of the entries that autograd has as 0 at w at least so many are others at w + t (w' - w), for all t."""
    direction = answer.report["zero_direction"]
    if direction is None:
        return expect(all(entry.get("along", 0) == 0 for entry in zero.values()), f"{what}: {zero}")
    at = {}
    for t in (0, 1, 2.0**-5, 2.0**-12):
        there = moved(model, direction, t)
        at[t] = dict(zip(there, torch.autograd.grad(loss(At(model, there)), list(there.values()), allow_unused=True), strict=True))
    for name, entry in zero.items():
        for t in (1, 2.0**-5, 2.0**-12):
            other = 0 if at[t][name] is None else int(((at[0][name] == 0) & (at[t][name] != 0)).sum())
            expect(other >= entry.get("along", 0), f"{what}: {name}: {entry}, autograd has {other} at {t}")


def mlp():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)), torch.randn(5, 3), torch.tensor([0, 1, 0, 1, 1])


def dead_units():
    model, x, y = mlp()
    model[0].bias.data[:] = torch.tensor([-100.0, -100.0, 1.0, 1.0])
    answer, zero = told(model, x, y, F.cross_entropy)
    w = zero["0.weight"]
    expect((w["zero"], w["nearby"], w["stays"], w["why"]) == (6, 6, 6, {"dead units": 6}), f"dead: {w}")
    expect(zero["2.weight"]["why"] == {"activations that are 0": 4} and zero["2.weight"]["stays"] == 0, f"dead: {zero['2.weight']}")
    model[0].bias.data.fill_(-100)
    answer, zero = told(model, x, y, F.cross_entropy)
    expect("All of AD's gradient is 0 in 0.weight (dead units, nearby too), 0.bias" in answer.summary[1], f"all dead: {answer}")


def zero_initialised():
    """Both layers: the gradient moves nothing, and each limit of gradients nearby is 0 there, too."""
    model, x, y = mlp()
    for p in model.parameters():
        p.data.zero_()
    answer, zero = told(model, x, y, F.cross_entropy)
    expect(zero["0.weight"]["why"] == {"weights or constants that are 0": 12} and zero["0.weight"]["nearby"] == 12, f"zeros: {zero}")
    expect("0.weight (weights or constants that are 0, a direction is known along which it is not)" in answer.summary[1], f"zeros: {answer}")
    expect(zero["0.weight"]["along"] > 0 and zero["2.weight"]["along"] > 0, f"zeros: {zero}")
    expect_along(answer, zero, model, lambda m: F.cross_entropy(m(x.double()), y), "zeros")
    expect(zero["2.weight"]["zero"] == 8 and zero["2.weight"]["stays"] == 0 and "2.bias" not in zero, f"zeros: {zero}")


def at_kinks():
    """AD takes 0 there; on the other side the gradient is not 0."""
    model, x, y = mlp()
    model[0].weight.data.zero_()
    model[0].bias.data.zero_()
    answer, zero = told(model, x, y, F.cross_entropy)
    w = zero["0.weight"]
    expect((w["zero"], w["nearby"], w["why"]) == (12, 0, {"slope 0 taken at a kink": 12}), f"kinks: {w}")
    expect(w["along"] > 0, f"kinks: {w}")
    expect_along(answer, zero, model, lambda m: F.cross_entropy(m(x.double()), y), "kinks")


def saturated():
    """sigmoid(200) is 1 in float32, and its slope 0."""
    model, x = nn.Sequential(nn.Linear(3, 2), nn.Sigmoid(), nn.Linear(2, 1)), torch.randn(4, 3)
    model[0].bias.data[:] = torch.tensor([200.0, 0.0])
    answer, zero = told(model, x)
    w = zero["0.weight"]
    expect((w["recorded"], w["not_zero"], w["exactly_zero"]) == (3, 3, 0) and w.get("zero", 0) == 0, f"saturated: {w}")


def cancelled():
    """x w - x w: the sum is 0, and each path is not."""
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(3))

        def forward(self, x):
            return x * self.w - x * self.w

    answer, zero = told(Twice(), torch.tensor([[1.0, 2.0, 0.0]]))
    w = zero["w"]
    expect((w["zero"], w["recorded"], w["exactly_zero"], w["not_zero"]) == (1, 2, 2, 0), f"cancelled: {w}")


def met():
    """Nothing cancels: the loss's derivative is 0 where the target is met, and hardswish's at -1.5."""
    model = nn.Linear(2, 1)
    model.weight.data.fill_(1)
    model.bias.data.zero_()
    answer, zero = told(model, torch.ones(3, 2), torch.full((3, 1), 2.0), F.mse_loss)
    w = zero["weight"]
    expect((w.get("zero", 0), w["recorded"], w["exactly_zero"]) == (0, 2, 2), f"met: {w}")

    class Curve(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.tensor([-1.5, 1.0]))

        def forward(self, x):
            return F.hardswish(x * self.w)

    w = told(Curve(), torch.ones(3, 2))[1]["w"]
    expect((w.get("zero", 0), w["recorded"], w["exactly_zero"]) == (0, 1, 1), f"a curve: {w}")


def disconnected():
    """Rows of an embedding that no sample reads."""
    model = nn.Sequential(nn.Embedding(5, 3), nn.Linear(3, 2))
    answer, zero = told(model, torch.tensor([0, 1, 1, 3]))
    w = zero["0.weight"]
    expect((w["zero"], w["stays"], w["why"]) == (6, 6, {"inputs that are 0": 6}), f"disconnected: {w}")


def slope_that_is_trained():
    """PReLU's slope of 0 makes a gradient 0 here, and not nearby."""
    model = nn.Sequential(nn.Linear(2, 1), nn.PReLU(1))
    model[0].weight.data.fill_(1)
    model[0].bias.data.fill_(-9)
    model[1].weight.data.zero_()
    answer, zero = told(model, torch.ones(2, 2))
    expect((zero["0.weight"]["zero"], zero["0.weight"]["nearby"], zero["0.weight"]["stays"]) == (2, 2, 0), f"PReLU: {zero}")
    expect("1.weight" not in zero, f"PReLU: {zero}")


def losers():
    """A window's entries but the largest."""
    class Largest(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))

        def forward(self, x):
            return (x * self.w).amax(1)

    answer, zero = told(Largest(), torch.ones(2, 3))
    expect((zero["w"]["stays"], zero["w"]["why"]) == (2, {"losers of windows": 2}), f"losers: {zero}")


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.q, self.k, self.v, self.last = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, 3)

    def forward(self, x):
        weights = torch.softmax(self.q(x) @ self.k(x).transpose(1, 2), -1)
        return self.last(torch.relu(weights @ self.v(x)).mean(1))


def drawn(rng):
    def pick(*of):
        return of[int(torch.randint(len(of), (), generator=rng))]

    kind, act = pick("dense", "norm", "convolution", "attention", "products"), pick(nn.ReLU, nn.ReLU, nn.ReLU6, nn.LeakyReLU, nn.Tanh, nn.Hardsigmoid)
    if kind == "convolution":
        model, shape = nn.Sequential(nn.Conv2d(1, 3, 3, padding=1), act(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(27, 3)), (3, 1, 6, 6)
    elif kind == "attention":
        model, shape = Attention(4), (2, 3, 4)
    else:
        norm = pick(nn.BatchNorm1d, nn.LayerNorm)(6) if kind == "norm" else nn.PReLU(6) if kind == "products" else nn.Identity()
        model, shape = nn.Sequential(nn.Linear(4, 6), norm, act(), nn.Linear(6, 6), act(), nn.Linear(6, 3)), (3, 4)
    x = torch.randn(shape, generator=rng) * (torch.rand(shape, generator=rng) < 0.6)
    for p in model.parameters():
        p.data = torch.randn(p.shape, generator=rng).mul(2).round() / 2 * (torch.rand(p.shape, generator=rng) < 0.6)
        if p.dim() == 1 and int(torch.randint(2, (), generator=rng)):
            p.data -= 2
    return model, x


def gradients(model, x, near=0.0, rng=None):
    """In float64; at parameters that are so far from here."""
    wide = {n: p.detach().double() for n, p in model.named_parameters()}
    moved = {n: (p + near * torch.randn(p.shape, generator=rng, dtype=torch.float64)).requires_grad_() for n, p in wide.items()}
    buffers = {n: b.double() if b.is_floating_point() else b for n, b in model.named_buffers()}
    loss = torch.func.functional_call(model, {**moved, **buffers}, (x.double(),)).pow(2).sum()
    return dict(zip(moved, torch.autograd.grad(loss, list(moved.values()), allow_unused=True), strict=True))


def count(g, most):
    return 0 if g is None else int((g.abs() <= most).sum())


def compare(number, rng):
    """Counts alone are told: autograd finds no fewer."""
    model, x = drawn(rng)
    here = gradients(model, x)
    try:
        answer, zero = told(model, x, None, lambda out, _: out.pow(2).sum())
    except clarke.Refused as why:
        print(f"drawn {number}: {why}")
        return 0
    for name, entry in zero.items():
        if "zero" not in entry:
            continue
        expect(count(here[name], 0) >= entry["zero"], f"drawn {number}: {name}: {entry}, autograd has {count(here[name], 0)}")
        for near in (1e-6, 1e-9):
            there = gradients(model, x, near, rng)[name]
            expect(count(there, 0) >= entry["stays"], f"drawn {number}: {name}: {entry}, nearby autograd has {count(there, 0)}")
            expect(count(there, 1e5 * near) >= entry["nearby"], f"drawn {number}: {name}: {entry}, nearby {count(there, 1e5 * near)} are small")
    expect_along(answer, zero, model, lambda m: m(x.double()).pow(2).sum(), f"drawn {number}")
    SEEN["along"] += sum(entry.get("along", 0) for entry in zero.values())
    SEEN["may"] += sum(entry.get("zero", 0) - entry.get("stays", 0) for entry in zero.values())
    return sum(entry.get("zero", 0) for entry in zero.values())


def main():
    for case in (dead_units, zero_initialised, at_kinks, saturated, cancelled, met, disconnected, slope_that_is_trained, losers):
        case()
    rng = torch.Generator().manual_seed(OPTIONS.seed)
    said = sum(compare(i, rng) for i in range(OPTIONS.networks))
    expect(said > 10 * OPTIONS.networks, f"of drawn networks {said} entries are said to be 0")
    print(f"of {SEEN['may']} entries of drawn networks that are 0 and may change {SEEN['along']} do along a direction")
    finish()


main()
