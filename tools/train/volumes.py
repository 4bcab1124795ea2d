"""Repeats what two papers measured about how often, and how far, gradients differ by what is taken at kinks and ties.

Usage: python tools/train/volumes.py thresholds NET DATA --out FOLDER [--width W] [--batch N] [--batches R] [--seeds M]
       python tools/train/volumes.py first DATA [--nets NET ...] [--width W] [--seeds N] [--most N] [--subtract]

NET is one of tools/train/published.py; for `first` also mlp, 784-256-256-10. DATA is a folder with the data set, as there.
What is printed is a row of docs/runs.md.

thresholds: Boustany's thesis, Tables 3.4 and 3.2. M drawn weights, R minibatches. tau1 (3.12) is the largest |D|_1 of one program whose sums
have another order: here the minibatch's samples are shuffled, and PyTorch is asked on a CPU. tau2 (3.13) is the least positive |D|_1 between
ReLU'(0) = 0 and 1, of `clarke sweep`. Then the shares of weights, and of minibatches, at which the native pool and the minimal one are
further apart: than tau2 in float16, than tau1 in float32 and float64, and than 0 exactly. Normalizations take the minibatch's own statistics.

first: Bertoin, Bolte, Gerchinovitz and Pauwels. With weights as they were drawn, minibatches of 128 and float32: which is the first
minibatch, from 1 on, whose gradient depends on ReLU'(0)? By the chain rule, and as in the code that they released, which hands on the number
itself. PyTorch on a CPU normalizes by x a + b in one rounding, which is 0 nowhere, as a rule. With --subtract it is (x - mean) a, which is 0
where x is the mean in float32, as kernels of GPUs may have it.

Nothing here is part of the tests, and what it writes is not for the repository.
"""

import argparse
import json
import os
import statistics
import subprocess
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

from batches import write_batch
from published import NETS, Batches
from to_onnx import write_onnx

FORMATS = {"float16": torch.float16, "float32": torch.float32, "float64": torch.float64}


def batches_of(net, data, size, seed=0):
    return Batches(argparse.Namespace(data=Path(data), net=net, seed=seed, batch=size, plain=True))


# ---- Boustany's thesis, Tables 3.2 and 3.4


def gradient(net, x, y):
    net.zero_grad()
    F.cross_entropy(net(x), y).backward()
    return [p.grad.clone() for p in net.parameters()]


def shuffled(o, minibatches):
    """The largest |D|_1 of one program, by format, when the samples come in another order; |g|_1 of the first gradient in float32."""
    largest, size = dict.fromkeys(FORMATS, 0.0), None
    for seed in range(o.seeds):
        for kind, dtype in FORMATS.items():
            torch.manual_seed(seed)
            net = NETS[o.net](o.width).to(dtype)
            for x, y in minibatches:
                order = torch.randperm(len(y))
                one, other = gradient(net, x.to(dtype), y), gradient(net, x[order].to(dtype), y[order])
                d = sum((p.double() - q.double()).abs().sum().item() for p, q in zip(one, other))
                largest[kind] = max(largest[kind], d)
                size = sum(p.abs().sum().item() for p in one) if size is None and kind == "float32" else size
    return largest, size


def sweep(o, minibatches):
    """The lines of a sweep: native, minimal, and ReLU'(0) = 1, over all drawn weights and minibatches."""
    out = Path(o.out)
    out.mkdir(parents=True, exist_ok=True)
    for k, (x, y) in enumerate(minibatches):
        write_batch(out / f"b{k}.npz", x=x.numpy(), y=y.numpy())
    write_onnx(out / "net.onnx", NETS[o.net](o.width), minibatches[0][0][0], training=True)
    (out / "minimal.profile").write_text("tie MaxPool mean\n")
    (out / "one.profile").write_text("Relu 0 1\n")
    (out / "sweep.json").write_text(json.dumps({"model": "net.onnx", "batches": ["b*.npz"], "formats": list(FORMATS),
                                                "profiles": ["pytorch-2.13", "minimal.profile", "one.profile"],
                                                "seeds": {"from": 0, "count": o.seeds}}))
    subprocess.run([os.environ.get("CLARKE", "clarke"), "sweep", out / "sweep.json", "-o", out / "sweep.jsonl"],
                   stdout=subprocess.DEVNULL, check=True)
    with open(out / "sweep.jsonl", encoding="utf-8") as f:
        return [json.loads(line) for line in f][1:]


def between(line, p, q):
    return next(pair for pair in line["pairs"] if set(pair["profiles"]) == {p, q})


def by_weights(found):
    """The share of weights that have some, and of all: found is pairs (weights, is it so?)."""
    some = {}
    for weights, so in found:
        some[weights] = some.get(weights, False) or so
    return f"{100 * sum(some.values()) / len(some):.4g} % of weights, {100 * sum(so for _, so in found) / len(found):.4g} % of minibatches"


def thresholds(o):
    source = batches_of(o.net, o.data, o.batch)
    minibatches = [source.next() for _ in range(o.batches)]
    (tau1, size), lines = shuffled(o, minibatches), sweep(o, minibatches)
    print(f"{o.net}, width {o.width}: {o.seeds} weights, {o.batches} minibatches of {o.batch}; the first |g|_1 {size:.4g}; zones "
          f"{ {zone: sum(line['zone'] == zone for line in lines) for zone in sorted({line['zone'] or 'not known' for line in lines})} }")
    pools = [(line["weights"]["seed"], between(line, "pytorch-2.13", "minimal.profile")) for line in lines]
    print(f"  exactly: D is 0 of {sum(pair['exact']['zero'] is True for _, pair in pools)}, is not of "
          f"{sum(pair['exact']['zero'] is False for _, pair in pools)}, not known of {sum(pair['exact']['zero'] is None for _, pair in pools)}")
    for kind in FORMATS:
        relu = [between(line, "pytorch-2.13", "one.profile")["floats"][kind] for line in lines]
        positive = [f["l1_float"] for f in relu if f["l1_float"] > 0]
        tau2 = min(positive, default=None)
        tau = tau2 if kind == "float16" else tau1[kind]
        found = [(weights, pair["floats"][kind]) for weights, pair in pools]
        labels = [f.get("label") or "none" for _, f in found]
        print(f"  {kind}: tau1 {tau1[kind]:.2g}, tau2 {'none of ' + str(len(relu)) if tau2 is None else format(tau2, '.2g')} ({len(positive)} positive); "
              f"native against minimal: median {statistics.median(f['l1_float'] for _, f in found):.2g}; labels { {of: labels.count(of) for of in sorted(set(labels))} }; "
              f"above tau: {'no tau' if tau is None else by_weights([(weights, f['l1_float'] > tau) for weights, f in found])}", flush=True)


# ---- Bertoin et al.


class Taken(torch.autograd.Function):
    """ReLU whose slope at 0 is `number`; as released: what is handed on there is the number itself."""

    @staticmethod
    def forward(context, x, number, released):
        context.save_for_backward(x)
        context.number, context.released = number, released
        return F.relu(x)

    @staticmethod
    def backward(context, g):
        x, = context.saved_tensors
        at_0 = torch.full_like(g, context.number) if context.released else context.number * g
        return torch.where(x == 0, at_0, g * (x > 0)), None, None


class Relu(nn.Module):
    number, released, met = 0, False, 0

    def forward(self, x):
        Relu.met += int((x == 0).sum())
        return Taken.apply(x, Relu.number, Relu.released)


class Subtract(nn.Module):
    """A normalization by the minibatch's own statistics, scale 1 and shift 0, as they are before the first step."""

    def forward(self, x):
        mean, variance = x.mean((0, 2, 3), keepdim=True), x.var((0, 2, 3), unbiased=False, keepdim=True)
        return (x - mean) * (variance + 1e-5).rsqrt()


def with_relus(net, subtract=False):
    for name, child in net.named_children():
        if isinstance(child, nn.ReLU):
            setattr(net, name, Relu())
        elif subtract and isinstance(child, nn.BatchNorm2d):
            setattr(net, name, Subtract())
        else:
            with_relus(child, subtract)
    return net


def under(net, x, y, number, released):
    Relu.number, Relu.released, Relu.met = number, released, 0
    return gradient(net, x, y)


def depends(net, x, y, released):
    """Does the gradient depend on ReLU'(0)? Where no argument is 0 it cannot."""
    Relu.met = 0
    with torch.no_grad():
        net(x)
    if Relu.met == 0:
        return False
    none = under(net, x, y, 0, released)
    return any(not torch.equal(p, q) for p, q in zip(none, under(net, x, y, 1, released)))


def first_of(o, name, seed):
    """The first minibatch whose gradient depends, by the chain rule and as released; None where none does up to --most."""
    torch.manual_seed(seed)
    mlp = nn.Sequential(nn.Flatten(), nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)) if name == "mlp" else None
    net = with_relus(mlp or NETS[name](o.width), o.subtract).train()
    source, found = batches_of("lenet" if mlp else name, o.data, 128, seed), {}
    for k in range(1, o.most + 1):
        x, y = source.next()
        for released in {False, True} - set(found):
            if depends(net, x, y, released):
                found[released] = k
        if len(found) == 2:
            break
    return found.get(False), found.get(True)


def first(o):
    for name in o.nets:
        rows = [first_of(o, name, seed) for seed in range(o.seeds)]
        for which, rule in enumerate(("chain rule", "as released")):
            steps = [row[which] for row in rows]
            known = [step for step in steps if step is not None]
            mean = f"mean {statistics.mean(known):.1f}" if len(known) == len(steps) else f"none up to {o.most} of {len(steps) - len(known)}"
            print(f"{name}, width {o.width}, {rule}: first at {steps}, {mean}", flush=True)


def main():
    p = argparse.ArgumentParser()
    kinds = p.add_subparsers(dest="what", required=True)
    t = kinds.add_parser("thresholds")
    t.add_argument("net", choices=NETS)
    t.add_argument("data")
    t.add_argument("--out", required=True)
    t.add_argument("--batch", type=int, default=128)
    t.add_argument("--batches", type=int, default=4)
    f = kinds.add_parser("first")
    f.add_argument("data")
    f.add_argument("--nets", nargs="+", choices=[*NETS, "mlp"], default=["vgg11", "vgg11-bn"])
    f.add_argument("--most", type=int, default=100)
    f.add_argument("--subtract", action="store_true")
    for each in t, f:
        each.add_argument("--width", type=float, default=1)
        each.add_argument("--seeds", type=int, default=5)
    o = p.parse_args()
    torch.set_num_threads(1)
    {"thresholds": thresholds, "first": first}[o.what](o)


main()
