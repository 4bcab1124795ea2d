"""Programs whose roots, branches and orders meet what is constant near the point, beside their own definition.

    python3 tests/tools/near.py CLARKE CLARKE-CHECK [--number N] [--seed N]

A drawn program is also computed here, in decimal arithmetic of 200 digits at points 1e-9 and 1e-25 from the point: what
`clarke derive` decides must be true of these values, and what it proves clarke-check must verify.

* Where it gives a verdict, or calls F differentiable, F is defined around the point, and no two values differ by much more than
  their arguments.
* The derivative of what is called differentiable is the one that is given, along each direction.
* Roots of 0 of what is constant near the point, and branches of such, are decided; those of what varies are not.
"""

import argparse
import collections
import decimal
import json
import random
import subprocess
import sys
import tempfile
from decimal import Decimal
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from draw import ONE_IN, draw_count  # noqa: E402

STEEP = Decimal(10) ** 6
DISTANCES = [Decimal(10) ** -k for k in (9, 25)]


class Undefined(Exception):
    """A root of a negative number, a division by 0."""


def root(x):
    if x < 0:
        raise Undefined
    return x.sqrt()


def quotient(a, b):
    if b == 0:
        raise Undefined
    return a / b


def tanh(x):
    e = (2 * x).exp()
    return (e - 1) / (e + 1)


KNOWN = {"relu": lambda x: max(x, Decimal(0)), "abs": abs, "relu6": lambda x: min(max(x, Decimal(0)), Decimal(6)), "sqrt": root,
         "exp": lambda x: x.exp(), "tanh": tanh, "max": max, "min": min, "relu{3}": lambda x: max(x, Decimal(0)),
         "norm2": lambda *x: sum(v * v for v in x).sqrt()}


class Drawing:
    """Expressions: pairs of a text and a function of the point."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.names = ["x", "y"][:self.draw.choice([1, 1, 2])]
        self.at = {n: self.draw.choice(["-1", "-1", "1", "0", "0", "2"]) for n in self.names}
        self.lets = []

    def call(self, name, *of):
        return f"{name}({', '.join(t for t, _ in of)})", lambda p: KNOWN[name](*[f(p) for _, f in of])

    def two(self, sign, a, b):
        apply = {"+": lambda u, v: u + v, "-": lambda u, v: u - v, "*": lambda u, v: u * v, "/": quotient}[sign]
        return f"({a[0]} {sign} {b[0]})", lambda p: apply(a[1](p), b[1](p))

    def number(self):
        text, value = self.draw.choice([("0", 0), ("1", 1), ("2", 2), ("(1/2)", "0.5"), ("tanh(1)", None), ("exp(1)", None)])
        return text, lambda p: Decimal(value) if value is not None else KNOWN[text[:-3]](Decimal(1))

    def leaf(self):
        d = self.draw
        if self.lets and d.random() < 0.35:
            return d.choice(self.lets)
        name = d.choice(self.names)
        return (name, lambda p: p[name]) if d.random() < 0.7 else self.number()

    def flat(self, depth):
        """Something that is likely to be constant on one side of its kink."""
        d, a = self.draw, self.any(depth - 1)
        kind = d.randrange(8)
        if kind < 3:
            return self.call("relu", a)
        if kind == 3:
            return self.two(d.choice("+-"), self.call("abs", a), a)
        if kind == 4:
            return self.call("min", self.call("relu", a), self.call("relu", self.any(depth - 1)))
        if kind == 5:
            return self.two("*", self.flat(depth - 1), self.any(depth - 1))
        if kind == 6:
            return self.two("/", self.flat(depth - 1), self.any(depth - 1))
        return self.two("-", self.call("exp", self.call("relu", a)), ("1", lambda p: Decimal(1)))

    def branch(self, depth):
        d, a = self.draw, self.any(depth - 1)
        twice = self.two("*", ("2", lambda p: Decimal(2)), a)
        left, right, then, other = d.choice([(twice, a, twice, a), (a, twice, a, twice)]) if d.random() < 0.5 else (
            self.flat(depth - 1), ("0", lambda p: Decimal(0)), self.any(depth - 1), self.any(depth - 1))
        sign = d.choice(["<", "<=", ">", ">="])
        holds = {"<": lambda u, v: u < v, "<=": lambda u, v: u <= v, ">": lambda u, v: u > v, ">=": lambda u, v: u >= v}[sign]
        return (f"(if {left[0]} {sign} {right[0]} then {then[0]} else {other[0]})",
                lambda p: then[1](p) if holds(left[1](p), right[1](p)) else other[1](p))

    def any(self, depth):
        d = self.draw
        if depth <= 0:
            return self.leaf()
        kind = d.randrange(13)
        if kind < 3:
            return self.leaf()
        if kind < 5:
            return self.two(d.choice("+-*"), self.any(depth - 1), self.any(depth - 1))
        if kind < 7:
            return self.flat(depth)
        if kind < 9:
            return self.call("sqrt", self.flat(depth))
        if kind == 9:
            return self.branch(depth)
        if kind == 10:
            return self.call(d.choice(["max", "min", "norm2"]), self.any(depth - 1), self.flat(depth - 1))
        if kind == 11:
            return self.call(d.choice(["abs", "relu6", "relu{3}"]), self.any(depth - 1))
        return self.call("tanh", self.any(depth - 1))

    def program(self):
        lines = ["input " + ", ".join(self.names)]
        for i in range(self.draw.choice([0, 1, 1, 2])):
            text, function = self.flat(2) if self.draw.random() < 0.7 else self.any(2)
            lines.append(f"let t{i} = {text}")
            self.lets.append((f"t{i}", function))
        total = self.two("+", self.any(3), self.branch(2) if self.draw.random() < 0.4 else self.call("sqrt", self.flat(3)))
        if self.draw.random() < 0.4:  # a proxy that is no slope, beside a number that is not rational
            total = self.two("+", self.two("+", self.call("relu{3}", self.leaf()), ("tanh(1)", lambda p: tanh(Decimal(1)))), total)
        return "\n".join([*lines, f"output {total[0]}"]) + "\n", total[1]


def around(drawing):
    """(distance, direction) of points around the point, and of others much nearer to these."""
    d, n = random.Random(7), len(drawing.names)
    ways = [[Decimal(d.randint(-4, 4)) for _ in range(n)] for _ in range(6)] + [[Decimal(s) for _ in range(n)] for s in (-1, 1)]
    return [(h, way) for h in DISTANCES for way in ways if any(way)]


def value(drawing, function, h, way):
    return function({n: Decimal(drawing.at[n]) + h * w for n, w in zip(drawing.names, way)})


def faults(drawing, function, answer):
    """What is not true of the answer."""
    try:
        here = value(drawing, function, Decimal(0), [Decimal(0)] * len(drawing.names))
        for h, way in around(drawing):
            there = value(drawing, function, h, way)
            slope = (there - here) / h
            if abs(slope) > STEEP:
                yield f"decided, but the slope along {way} is {slope:.3g} at {h:.0e}"
            other = [w + h * (k + 1) for k, w in enumerate(way)]
            if abs(value(drawing, function, h, other) - there) > STEEP * h * h * len(way):
                yield f"decided, but F jumps at {h:.0e} along {way}"
            if answer["differentiable"] and answer["clarke"]:
                given = sum(float(g if "/" not in g else int(g.split("/")[0]) / int(g.split("/")[1])) * float(w)
                            for g, w in zip(answer["clarke"][0], way))
                if abs(float(slope) - given) > 1e-6 * (1 + abs(given)):
                    yield f"said to be differentiable, but the slope along {way} is {slope:.9g}, not {given:.9g}"
    except Undefined:
        yield "decided, but F is not defined around the point"
    except decimal.Overflow:
        return


def ask(task):
    """What was answered, as words to count; faults; the program."""
    asked, seed, work = task
    drawing = Drawing(seed)
    text, function = drawing.program()
    folder = Path(work) / str(seed)
    folder.mkdir()
    (folder / "drawn.prog").write_text(text)
    at = [f"--at={n}={v}" for n, v in drawing.at.items()]
    said = subprocess.run([asked.clarke, "derive", "--json", "--proof", folder / "proof", *at, folder / "drawn.prog"], capture_output=True,
                          text=True, timeout=120)
    where = f"{' '.join(at)}\n{text}"
    if said.returncode == 2:
        undefined = any(w in said.stderr for w in ("negative", "division by zero"))
        return ["undefined at the point"], [] if undefined else [said.stderr], where
    answer = json.loads(said.stdout)
    words = [answer["verdict"]]
    rooted = "end of its domain" in answer["why"]
    wrong = []
    if said.returncode in (0, 1) or answer["differentiable"]:
        wrong = list(faults(drawing, function, answer))[:1]
        words += ["a root of 0, decided"] if answer["zone"] is None and "sqrt" in text and said.returncode in (0, 1) else []
    words += ["a root that may vary"] if rooted else []
    if said.returncode in (0, 1):
        check = subprocess.run([asked.check, folder / "proof"], capture_output=True, text=True, timeout=120)
        wrong += [] if check.returncode == 0 else [f"{answer['verdict']}, but clarke-check says: {check.stdout.splitlines()[0]}{check.stderr}"]
        words += ["verified"] if check.returncode == 0 else []
    return words, wrong, where


def main():
    """Draws and asks."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("clarke")
    arguments.add_argument("check")
    arguments.add_argument("--number", type=int, default=200)
    arguments.add_argument("--seed", type=int, default=1)
    asked = arguments.parse_args()
    decimal.getcontext().prec = 200
    counts, failed = collections.Counter(), 0
    with tempfile.TemporaryDirectory() as work:
        for i in range(draw_count(asked.number)):
            words, wrong, where = ask((asked, asked.seed * 1000003 + i, work))
            counts.update(words)
            for fault in wrong:
                failed += 1
                print(f"failed: {fault}\n{where}")
    for what, n in sorted(counts.items()):
        print(f"{n:6}  {what}")
    for what, least in (("a root of 0, decided", asked.number // 8), ("a root that may vary", asked.number // 20), ("not-in-clarke", 1)):
        if counts[what] < least // ONE_IN ** 2:  # shares of few vary
            failed += 1
            print(f"failed: {counts[what]} times {what}, of {least} at least")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
