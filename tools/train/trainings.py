"""Repeats published trainings, and says how often kinks were touched.

Usage: python tools/train/trainings.py park DATA [--seeds N] [--epochs N] [--every N --watch FOLDER]
       python tools/train/trainings.py relu-prime DATA [--seeds N] [--depths D ...]

DATA is a folder with MNIST's idx files, or `made-up`: random pictures, whose labels are those of a random
network. What is printed is a row of docs/runs.md.

park: Park, Chun and Lee's first scenario. 784-256-64-10 with ReLU6, HardTanh or HardSigmoid, biases, SGD with
minibatches of 128, rate .05 to 0 by a cosine, decay 1e-4, 20 epochs. Of all steps the arguments that are at a kink in float32 are counted.
Of every N-th step, and of each that has some, `clarke` is
asked for those in real numbers, and whether AD's gradient is right.

relu-prime: Bertoin, Bolte, Gerchinovitz and Pauwels. Hidden layers of 256, minibatches of 256, float32, one epoch, SGD with rate .1.
Two trainings of one seed with ReLU'(0) = 0 and 1: in how many do the weights differ after the epoch, and at which step did they first?

Nothing here is part of the tests, and what it writes is not for the repository.
"""

import argparse
import os
import statistics
import sys
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "python"))
import clarke  # noqa: E402
from published import MNIST_SCALE, read  # noqa: E402

KINKS = {"relu6": (F.relu6, (0, 6)), "hardtanh": (F.hardtanh, (-1, 1)), "hardsigmoid": (F.hardsigmoid, (-3, 3))}


def pictures(data):
    if data == "made-up":
        of = torch.Generator().manual_seed(0)
        x = torch.rand(6000, 784, generator=of).round(decimals=2)
        return x, (F.relu(x @ torch.randn(784, 32, generator=of)) @ torch.randn(32, 10, generator=of)).argmax(1)
    x, y = read(Path(data), "lenet")
    (mean,), (deviation,) = MNIST_SCALE
    return ((torch.from_numpy(x.copy()).float() / 255 - mean) / deviation).flatten(1), torch.from_numpy(y.copy())


def minibatches(x, y, size, of):
    for at in torch.randperm(len(x), generator=of).split(size):
        yield x[at], y[at]


class Net(nn.Module):
    """Dense layers with one function between them; `touched` counts arguments that equal a kink."""

    def __init__(self, sizes, function, kinks):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
        self.function, self.kinks, self.touched = function, kinks, 0

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = layer(x)
            if self.kinks:
                with torch.no_grad():
                    self.touched += sum(int((x == kink).sum()) for kink in self.kinks)
            x = self.function(x)
        return self.layers[-1](x)


# ---- Park, Chun and Lee


def park_once(x, y, activation, seed, o):
    torch.manual_seed(seed)
    function, kinks = KINKS[activation]
    net, of, step = Net((784, 256, 64, 10), function, kinks), torch.Generator().manual_seed(seed), 0
    plain = Net((784, 256, 64, 10), function, ())  # what is recorded counts nothing
    plain.layers = net.layers
    steps = o.epochs * -(-len(x) // 128)
    optimizer = torch.optim.SGD(net.parameters(), lr=.05, weight_decay=1e-4)
    rate = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    watch = clarke.monitor(plain, os.path.join(o.watch, f"{activation}-{seed}")) if o.watch else None
    with_touches = 0
    for _ in range(o.epochs):
        for a, b in minibatches(x, y, 128, of):
            before = net.touched
            optimizer.zero_grad()
            F.cross_entropy(net(a), b).backward()
            with_touches += net.touched > before
            if watch and (step % o.every == 0 or net.touched > before):
                ask(watch, plain, a, b, step)
            optimizer.step()
            rate.step()
            step += 1
    return step, net.touched, with_touches, watch.close() if watch else None


def ask(watch, net, a, b, step):
    """The step once more, recorded; its gradient is the one that was there."""
    watch.step = step
    net.zero_grad()
    with watch:
        F.cross_entropy(net(a), b).backward()


def park(o):
    x, y = pictures(o.data)
    for activation in o.activations:
        rows = [park_once(x, y, activation, seed, o) for seed in range(o.seeds)]
        touched = [row[1] for row in rows]
        print(f"{activation}: {rows[0][0]} steps, float32 touches {touched}, mean {statistics.mean(touched):.1f}; steps with one {[row[2] for row in rows]}")
        for of in (row[3] for row in rows if row[3]):
            print(f"  of {of['steps']} asked exactly: touched in {of['steps_touched']}, verdicts {of['verdicts']}, unanswered {of['unanswered']}")
        sys.stdout.flush()


# ---- Bertoin et al.


class ReluOne(torch.autograd.Function):
    """ReLU with the slope 1 at 0."""

    @staticmethod
    def forward(context, x):
        context.save_for_backward(x)
        return F.relu(x)

    @staticmethod
    def backward(context, g):
        x, = context.saved_tensors
        return g * (x >= 0)


def parting(x, y, depth, seed):
    """The step whose gradients differ first; None. Do the weights differ at the end?"""
    nets, optimizers = [], []
    for function in (F.relu, ReluOne.apply):
        torch.manual_seed(seed)
        nets.append(Net((784, *[256] * depth, 10), function, ()))
        optimizers.append(torch.optim.SGD(nets[-1].parameters(), lr=.1))
    first = None
    for step, (a, b) in enumerate(minibatches(x, y, 256, torch.Generator().manual_seed(seed))):
        for net, optimizer in zip(nets, optimizers):
            optimizer.zero_grad()
            F.cross_entropy(net(a), b).backward()
            optimizer.step()
        if first is None and any(not torch.equal(p, q) for p, q in zip(*(net.parameters() for net in nets))):
            first = step
    return first, any(not torch.equal(p, q) for p, q in zip(*(net.parameters() for net in nets)))


def relu_prime(o):
    x, y = pictures(o.data)
    for depth in o.depths:
        found = [parting(x, y, depth, seed) for seed in range(o.seeds)]
        steps = sorted(first for first, _ in found if first is not None)
        print(f"{depth} hidden: {sum(differs for _, differs in found)} of {o.seeds} differ; first at steps {steps}", flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("what", choices=("park", "relu-prime"))
    p.add_argument("data")
    p.add_argument("--seeds", type=int, default=5)
    p.add_argument("--epochs", type=int, default=20)
    p.add_argument("--activations", nargs="+", choices=tuple(KINKS), default=list(KINKS))
    p.add_argument("--depths", nargs="+", type=int, default=[1, 2, 3, 5])
    p.add_argument("--every", type=int, default=100)
    p.add_argument("--watch")
    o = p.parse_args()
    torch.set_num_threads(1)
    park(o) if o.what == "park" else relu_prime(o)


main()
