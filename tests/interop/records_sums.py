#!/usr/bin/env python3
"""Recorded sums at the very end of their bound, and one place behind it: what clarke-check says of each.

    records_sums.py CLARKE CLARKE-CHECK [--rounds N] [--seed N] [--type float32|float16|float64]

A step is recorded: a convolution with padding, and a linear layer by minus its weight. Then all its numbers are drawn anew: small, large, subnormal,
such that they cancel. What was computed of them is put to the exact sum, rounded; to the farthest number within the bound; to the next one; or to the
sum of other terms. Sums and bounds are those of docs/proof-format.md, in fractions. clarke-check must verify the strongest claim that holds of a
tensor, and refuse the next stronger one.
"""
import argparse
import hashlib
import math
import os
import random
import subprocess
import sys
import tempfile
from fractions import Fraction

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "python"))
sys.path.append(os.path.join(HERE, "..", "tools"))
PARSER = argparse.ArgumentParser()
PARSER.add_argument("clarke", type=os.path.abspath)
PARSER.add_argument("check", type=os.path.abspath)
PARSER.add_argument("--rounds", type=int, default=4)
PARSER.add_argument("--seed", type=int, default=1)
PARSER.add_argument("--type", default="float32")
ASKED = PARSER.parse_args()
os.environ["CLARKE"] = ASKED.clarke
import clarke  # noqa: E402
from expect import expect, finish, said  # noqa: E402

torch.set_num_threads(1)
torch.manual_seed(ASKED.seed)
DRAW, TYPE = random.Random(ASKED.seed), getattr(torch, ASKED.type)
# Bits of a number; all are below 2^TOP; the smallest normal one is 2^LOW.
BITS, TOP, LOW = {"float32": (24, 128, -126), "float16": (11, 16, -14), "float64": (53, 1024, -1022)}[ASKED.type]
STEP = Fraction(2) ** (LOW - BITS + 1)
TINY = STEP if ASKED.type == "float16" else Fraction(2) ** LOW
LARGEST = Fraction(torch.finfo(TYPE).max)
SAMPLES, SIDE, CHANNELS, KERNELS, WIDTH = 36, 3, 2, 3, 5
OUT = SIDE + 1
FLAT = KERNELS * OUT * OUT
SPARE, SPARE_READER = 4, 16  # roundings beyond one for each term
WORDS = ("bit-exact", "within", "where-bounded", "not-shown")


# ---- Numbers of the type

def gap(a):
    """Between neighbours of a size, of which a is one or which it lies between."""
    e = a.numerator.bit_length() - a.denominator.bit_length() if a else LOW
    e -= a != 0 and Fraction(2) ** e > a
    return Fraction(2) ** (max(e, LOW) - BITS + 1)


def rounded(q):
    """To nearest, ties to even: Python's round."""
    unit = gap(abs(q))
    return round(q / unit) * unit


def beside(a, sign):
    """The next number on that side."""
    unit = gap(abs(a))
    power = abs(a) == unit * 2 ** (BITS - 1) and abs(a) > Fraction(2) ** LOW
    return a + sign * (unit / 2 if power and sign * a < 0 else unit)


# ---- Sums

class Sum:
    def __init__(self):
        self.terms, self.exact, self.mass, self.lost, self.rounds = [], Fraction(0), Fraction(0), Fraction(0), False

    def add(self, a, b=None):
        term = a if b is None else a * b
        self.rounds = self.rounds or b is not None
        self.terms.append(term)
        self.exact += term
        self.mass += abs(term)
        self.lost += abs(term) if any(x is not None and 0 < abs(x) < TINY for x in (a, b)) else 0

    def bound(self, roundings):
        """None: there is none."""
        if (len(self.terms) == 1 and not self.rounds) or self.mass == 0:
            return self.lost
        if roundings >= 2 ** (BITS - 1) or self.mass > Fraction(2) ** (TOP - 2):
            return None if self.lost == 0 else self.lost
        return self.lost + Fraction(roundings, 2 ** BITS - roundings) * self.mass + 4 * roundings * TINY

    def is_bounded(self, roundings):
        nothing = (len(self.terms) == 1 and not self.rounds) or self.mass == 0
        return nothing or not (roundings >= 2 ** (BITS - 1) or self.mass > Fraction(2) ** (TOP - 2))

    def answer(self, roundings, x):
        """The number in WORDS of what may be claimed of x."""
        if rounded(self.exact) == x:
            return 0
        if abs(self.exact - x) <= self.lost:
            return 1
        return 2 if not self.is_bounded(roundings) else 1 if abs(self.exact - x) <= self.bound(roundings) else 3

    def edge(self, roundings):
        """The farthest number on a side that is within the bound, and the next one. None: there is none."""
        if not self.is_bounded(roundings):
            return None
        sign = DRAW.choice((1, -1))
        a = rounded(self.exact + sign * self.bound(roundings))
        while self.answer(roundings, a) > 1 and (a - self.exact) * sign > 0:
            a = beside(a, -sign)
        while self.answer(roundings, beside(a, sign)) <= 1:
            a = beside(a, sign)
        return a, beside(a, sign)

    def others(self):
        """Sums of other terms: what a program that is wrong would find."""
        last = self.terms[-1] if self.terms else 0
        return [rounded(q) for q in (-self.exact, self.exact - last, self.exact + last, self.exact - 2 * last, self.mass)]


# ---- A step, and all of its numbers

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.one, self.two = nn.Conv2d(CHANNELS, KERNELS, 2, padding=1), nn.Linear(FLAT, WIDTH), nn.Linear(WIDTH, 3)

    def forward(self, x):
        h = torch.relu(self.conv(x)).flatten(1)
        return self.two(torch.relu(F.linear(h, -self.one.weight, self.one.bias)))


def drawn(shape, spread, around):
    def one():
        bits = DRAW.choice((BITS, BITS, 3, 1))
        e = around + DRAW.randint(-spread, spread) - bits
        return 0.0 if DRAW.random() < 0.08 else DRAW.choice((1, -1)) * math.ldexp(DRAW.randrange(2 ** (bits - 1), 2 ** bits), e)
    return torch.tensor([one() for _ in range(math.prod(shape))], dtype=torch.float64).to(TYPE).reshape(shape)


def fractions(t):
    return [Fraction(x) for x in t.to(torch.float64).flatten().tolist()]


class Step:
    def __init__(self, folder):
        self.run, self.proof = folder, os.path.join(folder, "proof")
        net = Net().to(TYPE)
        self.x, self.y = torch.randn(SAMPLES, CHANNELS, SIDE, SIDE).to(TYPE), torch.randint(0, 3, (SAMPLES,))
        with clarke.record(folder, net):
            F.cross_entropy(net(self.x), self.y).backward()
        subprocess.run([ASKED.clarke, "certify", folder, "--nodes", "--proof", self.proof], check=True, capture_output=True)
        with open(self.proof) as f:
            self.lines = [line.split(" ") for line in f.read().splitlines() if line.split(" ")[0] not in ("fingerprint", "tape", "end")]
        self.files = {line[0]: line[1] for line in self.lines if line[0] in ("trace", "gradients", "params", "batch")}
        self.via = False
        self.held = {kind: load_file(self.path(kind)) for kind in ("trace", "gradients", "params")}

    def path(self, kind):
        return os.path.join(self.run, self.files[kind])

    def redraw(self):
        """Numbers of one kind; of values that only move entries, those that they move."""
        half = TOP // 2
        spread, around = DRAW.choice(((2, 0), (2, 0), (0, 0), (half - 8, 0), (5, LOW // 2), (3, half - 4), (6, LOW - 2)))
        def new(t):
            return drawn(t.shape, spread, 3 if around < LOW and DRAW.random() < 0.5 else around)
        trace = dict(self.held["trace"])
        self.now = {"trace": trace, "gradients": dict(self.held["gradients"]), "params": {n: new(t) for n, t in self.held["params"].items()}}
        self.x = new(self.x)
        trace["output/relu"] = new(trace["output/relu"]).abs()
        trace["output/view"] = trace["output/relu"].reshape(SAMPLES, -1)
        trace["output/neg"] = -self.now["params"]["one.weight"]
        trace["output/t"], trace["output/two/t"] = trace["output/neg"].t(), self.now["params"]["two.weight"].t()
        for name in ("gradient/conv/convolution", "gradient/addmm"):
            trace[name] = new(trace[name])
        self.via = not self.via  # gradients of minus the weight were not recorded
        if self.via:
            del trace["gradient/neg"], trace["gradient/t"]

    def sums(self):
        """(part, name, where it is kept, sums, roundings) of what is asked."""
        trace, params = self.now["trace"], {n: fractions(t) for n, t in self.now["params"].items()}
        found, weight, bias = self.convolution(fractions(trace["gradient/conv/convolution"]), params, fractions(self.x))
        read, h = fractions(trace["output/view"]), fractions(trace["gradient/addmm"])
        out, back, of_weight = ([Sum() for _ in range(n)] for n in (SAMPLES * WIDTH, SAMPLES * FLAT, FLAT * WIDTH))
        of_bias = [Sum() for _ in range(WIDTH)]
        for b in range(SAMPLES):
            for o in range(WIDTH):
                for i in range(FLAT):
                    out[b * WIDTH + o].add(read[b * FLAT + i], -params["one.weight"][o * FLAT + i])
                    back[b * FLAT + i].add(h[b * WIDTH + o], -params["one.weight"][o * FLAT + i])
                    at = o * FLAT + i if self.via else i * WIDTH + o
                    of_weight[at].add(-h[b * WIDTH + o] if self.via else h[b * WIDTH + o], read[b * FLAT + i])
                out[b * WIDTH + o].add(params["one.bias"][o])
                of_bias[o].add(h[b * WIDTH + o])
        
        def back_through(sums, readers=1):
            return sums, max(len(s.terms) for s in sums) + SPARE_READER * (readers + 1)
        yield "output", "conv/convolution", "trace", found, CHANNELS * 4 + 1 + SPARE
        yield "output", "addmm", "trace", out, FLAT + 1 + SPARE
        yield "gradient", "view", "trace", *back_through(back)
        if self.via:
            yield "parameter", "one.weight", "gradients", *back_through(of_weight, 3)
        else:
            yield "gradient", "t", "trace", *back_through(of_weight)
        yield "parameter", "conv.weight", "gradients", *back_through(weight)
        yield "parameter", "conv.bias", "gradients", *back_through(bias)
        yield "parameter", "one.bias", "gradients", *back_through(of_bias)

    def convolution(self, h, params, x):
        """Its outputs; gradients of its weight and its bias."""
        out, weight, bias = [], [Sum() for _ in range(KERNELS * CHANNELS * 4)], [Sum() for _ in range(KERNELS)]
        for e in range(SAMPLES * FLAT):
            b, o, i, j = e // FLAT, e // (OUT * OUT) % KERNELS, e // OUT % OUT, e % OUT
            out.append(Sum())
            for k in range(CHANNELS * 4):
                c, row, column, w = k // 4, i + k // 2 % 2 - 1, j + k % 2 - 1, o * CHANNELS * 4 + k
                if 0 <= row < SIDE and 0 <= column < SIDE:
                    read = x[((b * CHANNELS + c) * SIDE + row) * SIDE + column]
                    out[-1].add(read, params["conv.weight"][w])
                    weight[w].add(h[e], read)
            out[-1].add(params["conv.bias"][o])
            bias[o].add(h[e])
        return out, weight, bias

    def check(self, claims):
        """clarke-check's answer: all but these are not shown."""
        for kind, tensors in self.now.items():
            save_file({n: t.contiguous().clone() for n, t in tensors.items()}, self.path(kind))
        np.savez(self.path("batch"), x=self.x.numpy(), y=self.y.numpy())
        lines = []
        for line in self.lines:
            made = list(line)
            if line[0] in self.files:
                with open(self.path(line[0]), "rb") as f:
                    made[2] = hashlib.sha256(f.read()).hexdigest()
            if line[0] in ("output", "gradient", "parameter") and line[-1] != "not-covered":
                made[-1] = claims.get((line[0], line[1]), "not-shown")
            lines.append(" ".join(made) + "\n")
        text = "".join(lines)
        with open(self.proof, "w") as f:
            f.write(f"{text}end {hashlib.sha256(text.encode()).hexdigest()}\n")
        status, out, err = said(ASKED.check, self.proof, "--data", self.run)
        return status, out + err


def chosen(sums, roundings):
    """Numbers in the place of the sums, in several ways."""
    edges = [s.edge(roundings) if DRAW.random() < 0.7 else None for s in sums]
    nearest, i = [rounded(s.exact) for s in sums], DRAW.randrange(len(sums))
    x = [v if e is None else e[0] for v, e in zip(nearest, edges)]
    behind = beside(nearest[i], DRAW.choice((1, -1))) if edges[i] is None else edges[i][1]
    yield from (nearest, nearest[:i] + [beside(nearest[i], 1)] + nearest[i + 1:], x, x[:i] + [behind] + x[i + 1:])
    yield from zip(*(s.others() for s in sums))


def judge(step, line, where, sums, roundings, x):
    """Asks of the numbers in the place of the sums; what holds of them, in WORDS."""
    key = "/".join(line) if where == "trace" else line[1]
    step.now[where][key] = torch.tensor([float(v) for v in x], dtype=torch.float64).to(TYPE).reshape(step.held[where][key].shape)
    worst = max(s.answer(roundings, v) for s, v in zip(sums, x))
    for claimed in range(max(worst - 1, 0), min(worst + 1, 3)):
        status, text = step.check({line: WORDS[claimed]})
        expect((status == 0) == (claimed == worst), f"{line}: {WORDS[claimed]}, which should be {WORDS[worst]}: {text[:200]}")
        expect(status == 0 or line[1] in text, f"a refusal that does not name {line[1]}: {text[:200]}")
    return worst


def main():
    with tempfile.TemporaryDirectory() as folder:
        step = Step(os.path.join(folder, "run"))
        counts = [0] * len(WORDS)
        for _ in range(ASKED.rounds):
            step.redraw()
            for part, name, where, sums, roundings in step.sums():
                for x in chosen(sums, roundings):
                    counts[judge(step, (part, name), where, sums, roundings, [max(-LARGEST, min(LARGEST, v)) for v in x])] += 1
        print(f"tensors by what holds of them: {dict(zip(WORDS, counts))}")
        expect(all(counts[i] > 0 for i in (0, 1, 3)) or ASKED.rounds < 3, f"not every answer was asked for: {counts}")
    finish()


if __name__ == "__main__":
    main()
