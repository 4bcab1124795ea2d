#!/usr/bin/env python3
"""Zones of recorded steps, beside PyTorch's gradients nearby.

    zones.py CLARKE CLARKE-CHECK [--number 200] [--seed 1]

Drawn functions of eight parameters, many of them at kinks and ties, made of the operators below. In the regular and in the compensation zone
no choice changes what AD computes, so the function has one generalized gradient there, AD's: then PyTorch's gradients in doubles, at points
that are drawn within 1e-6, are as near to it. That is no proof, but a zone that is wrong shows: where it is a bifurcation most have a
gradient nearby that is another one, which is asked, too. The verdict beside the zone is in-bouligand, and the proof is verified.
"""
import argparse
import collections
import json
import os
import random
import subprocess
import sys
import tempfile

import torch
from torch import nn
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "python"))
PARSER = argparse.ArgumentParser()
PARSER.add_argument("clarke")
PARSER.add_argument("check")
PARSER.add_argument("--number", type=int, default=200)
PARSER.add_argument("--seed", type=int, default=1)
OPTIONS = PARSER.parse_args()
CHECK = os.path.abspath(OPTIONS.check)
os.environ["CLARKE"] = os.path.abspath(OPTIONS.clarke)
import clarke  # noqa: E402

N, NEAR, SAMPLES = 4, 1e-6, 24

# Of two vectors of N entries.
PLAIN = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "neg": lambda a, b: -a, "square": lambda a, b: a * a,
    "relu": lambda a, b: a.relu(), "abs": lambda a, b: a.abs(), "maximum": torch.maximum, "minimum": torch.minimum, "fmax": torch.fmax, "fmin": torch.fmin,
    "relu6": lambda a, b: F.relu6(a), "hardtanh": lambda a, b: F.hardtanh(a), "hardswish": lambda a, b: F.hardswish(a), "hardsigmoid": lambda a, b: F.hardsigmoid(a),
    "leaky": lambda a, b: F.leaky_relu(a, 0.5), "prelu-one": lambda a, b: F.prelu(a, b[:1]), "prelu": lambda a, b: F.prelu(a[None], b)[0],
    "softshrink": lambda a, b: F.softshrink(a, 1.0), "threshold": lambda a, b: F.threshold(a, 0.0, 0.0), "elu": lambda a, b: F.elu(a), "celu": lambda a, b: F.celu(a, 2.0),
    "clamp-below": lambda a, b: torch.clamp(a, min=b), "clamp": lambda a, b: torch.clamp(a, b - 1, b + 1), "hinge": lambda a, b: (1 - a * b).relu(),
    "cummax": lambda a, b: a.cummax(0)[0], "cummin": lambda a, b: a.cummin(0)[0], "cumprod": lambda a, b: a.cumprod(0), "cumsum": lambda a, b: a.cumsum(0),
    "sort": lambda a, b: a.sort(stable=True)[0], "sort-down": lambda a, b: a.sort(descending=True, stable=True)[0], "topk": lambda a, b: torch.cat([a.topk(2)[0], b[:2]]),
    "amax": lambda a, b: a.amax() * b, "max": lambda a, b: a.max(0)[0] + b, "aminmax": lambda a, b: torch.stack(torch.aminmax(a)).repeat(2) + b,
    "median": lambda a, b: a.median() + b, "median-of-line": lambda a, b: a.median(0)[0] * b, "kthvalue": lambda a, b: a.kthvalue(2)[0] + b,
    "pool": lambda a, b: torch.cat([F.max_pool1d(a[None, None], 2, 1)[0, 0], b[:1]]), "outer-max": lambda a, b: (a[:, None] - b[None]).amax(1),
    "outer-relu": lambda a, b: (a[:, None] * b[None]).relu().sum(1), "distances": lambda a, b: torch.cdist(a[:, None], b[:, None], p=1).sum(1),
    "norm-1": lambda a, b: a.norm(1) + b, "norm-inf": lambda a, b: a.norm(float("inf")) + b, "l1": lambda a, b: F.l1_loss(a, b) + a,
    "huber": lambda a, b: F.huber_loss(a, b, reduction="none"), "smooth-l1": lambda a, b: F.smooth_l1_loss(a, b, reduction="none"),
    "largest-place": lambda a, b: b[a.argmax()] + a, "where": lambda a, b: torch.where(a > 0.3, a, b), "softmax": lambda a, b: a.softmax(0), "tanh": lambda a, b: a.tanh(),
    "logsumexp": lambda a, b: a.logsumexp(0) + b, "layer-norm": lambda a, b: F.layer_norm(a, (N,), None, None, 1.0), "prod": lambda a, b: a.prod() + b,
    "convolution": lambda a, b: F.conv1d(a[None, None], b[None, None, :3], padding=1)[0, 0], "product": lambda a, b: (a.reshape(2, 2) @ b.reshape(2, 2)).reshape(-1),
    "grid": lambda a, b: F.grid_sample(a.reshape(1, 1, 2, 2), torch.stack([b, a], -1).reshape(1, 2, 2, 2) * 0.5, align_corners=True).reshape(-1),
    "attention": lambda a, b: F.scaled_dot_product_attention(*(t.reshape(1, 1, N, 1) for t in (a, b, a))).reshape(-1), "glu": lambda a, b: F.glu(torch.cat([a, b]), 0),
    "floor": lambda a, b: (a + 0.5).floor() * b, "round": lambda a, b: (a + 0.25).round() * b, "sign": lambda a, b: (a + 0.5).sign() * b, "frac": lambda a, b: (a * 0.5 + 0.25).frac(),
}
# The same, with numbers or places that are drawn first.
DRAWN = {
    "shift": lambda r: (lambda c: lambda a, b: a + c.to(a))(numbers(r)), "scale": lambda r: (lambda c: lambda a, b: a * c.to(a))(numbers(r)),
    "places": lambda r: (lambda i: lambda a, b: a[i])(places(r)), "amax-at": lambda r: (lambda i: lambda a, b: a.scatter_reduce(0, i, b, "amax"))(places(r)),
    "amin-at": lambda r: (lambda i: lambda a, b: a.scatter_reduce(0, i, b, "amin"))(places(r)), "prod-at": lambda r: (lambda i: lambda a, b: a.scatter_reduce(0, i, b, "prod"))(places(r)),
    "mean-at": lambda r: (lambda i: lambda a, b: a.scatter_reduce(0, i, b, "mean"))(places(r)),
}
OFTEN = ["relu", "abs", "maximum", "minimum", "sub", "mul", "scale", "shift", "neg", "places"]


def places(r):
    return torch.tensor([r.randrange(N) for _ in range(N)])


def numbers(r):
    return torch.tensor([float(r.randrange(-2, 3)) for _ in range(N)])


def signs(r):
    return torch.tensor([float(r.randrange(-1, 2)) for _ in range(N)])


def drawn(r):
    """Steps (name, function, its arguments' numbers), and of which steps the weighted sum is the loss."""
    steps = []
    for k in range(r.randrange(2, 7)):
        name = r.choice([*PLAIN, *DRAWN]) if r.random() < .6 else r.choice(OFTEN)
        last = r.randrange(max(0, k - 1), k + 2) if r.random() < .7 else r.randrange(k + 2)
        steps.append((name, PLAIN[name] if name in PLAIN else DRAWN[name](r), last, r.randrange(k + 2)))
    ends = [len(steps) + 1] + ([r.randrange(len(steps) + 1)] if r.random() < .5 else [])
    return steps, [(end, signs(r)) for end in ends]


def value(steps, ends, v):
    of = [v[:N], v[N:]]
    for _, f, a, b in steps:
        of.append(f(of[a], of[b]))
    return sum((weight.to(v) * of[end]).sum() for end, weight in ends)


class Net(nn.Module):
    def __init__(self, w, steps, ends):
        super().__init__()
        self.w, self.steps, self.ends = nn.Parameter(w), steps, ends

    def forward(self, x):
        return value(self.steps, self.ends, x * self.w)


def gradient(steps, ends, w):
    w = w.clone().requires_grad_()
    g, = torch.autograd.grad(value(steps, ends, w), w, allow_unused=True)
    return torch.zeros_like(w) if g is None else g


def apart(steps, ends, w, seed):
    """How far gradients nearby are from that at w, at most."""
    of, own = torch.Generator().manual_seed(seed), gradient(steps, ends, w)
    near = (gradient(steps, ends, w + NEAR * torch.randn(2 * N, generator=of, dtype=torch.float64)) for _ in range(SAMPLES))
    return max((g - own).abs().max().item() for g in near) / (1 + own.abs().max().item())


def ask(folder, w, steps, ends):
    """The answer, or nothing of what is refused; and what is wrong with its proof."""
    run, model = os.path.join(folder, "run"), Net(w, steps, ends)
    try:
        with clarke.record(run, model):
            model(torch.ones(2 * N)).backward()
        answer = clarke.audit(run)
    except (clarke.Refused, RuntimeError):  # no gradient at all: PyTorch's error
        return None, None
    if answer.proof is None:
        return answer, None
    with open(os.path.join(run, "proof"), "wb") as out:
        out.write(answer.proof)
    said = subprocess.run([CHECK, os.path.join(run, "proof")], capture_output=True, text=True)
    return answer, None if said.stdout.startswith("VERIFIED") else f"no proof: {said.stdout[:200]}{said.stderr}"


def judge(answer, zone, far):
    if zone not in ("regular", "compensation"):
        return None
    if answer.verdict != "in-bouligand":
        return f"{zone}, and {answer.verdict}"
    return f"{zone}, and nearby a gradient that is {far:.3g} away" if far > 1e-3 else None


def main():
    zones, seen, failed = collections.Counter(), 0, 0
    for seed in range(OPTIONS.seed, OPTIONS.seed + OPTIONS.number):
        r = random.Random(seed)
        steps, ends = drawn(r)
        w = torch.tensor([float(r.choice([0, 0, 0, 1, 1, -1, 2, 0.5])) for _ in range(2 * N)])
        with tempfile.TemporaryDirectory() as folder:
            answer, wrong = ask(folder, w, steps, ends)
        zone = json.loads(answer.json)["zone"] or "not known" if answer else "refused"
        far = apart(steps, ends, w.double(), seed) if answer else 0
        wrong = wrong or (judge(answer, zone, far) if answer else None)
        zones[zone] += 1
        seen += zone == "bifurcation" and far > 1e-3
        if wrong:
            failed += 1
            print(f"FAILED: seed {seed}: {wrong}: {[name for name, *_ in steps]} at {w.tolist()}", flush=True)
    print(f"{dict(zones)}; nearby of {seen} bifurcations another gradient; {failed} failed")
    little = min(zones["compensation"], zones["bifurcation"]) * 10 < OPTIONS.number or seen * 10 < 9 * zones["bifurcation"]
    if little:
        print("too little is asked of such draws")
    return failed > 0 or little


if __name__ == "__main__":
    sys.exit(main())
