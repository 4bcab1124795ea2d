"""Derivatives along directions beside difference quotients: `clarke derive --direction` on drawn programs.

    python3 tests/tools/directions.py CLARKE CLARKE-CHECK [--number N] [--seed N]

A drawn program has maxima, orders, activations and branches that meet at the point. It is also computed here: a piecewise linear one in fractions, where
quotients over steps that are short enough are the derivatives themselves; another with products, norms and exp in decimals of
300 digits, where they are near them. Along several directions the quotient is taken of the derivative before it.

Whatever is said must be true of that, AD's is compared in the same way, and clarke-check must verify each proof, and none with another number.
"""
import argparse
import collections
import decimal
import hashlib
import json
import random
import subprocess
import sys
import tempfile
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from draw import ONE_IN, draw_count  # noqa: E402

NAMES = ["x", "y", "z"]
SHORT = [Fraction(1, 2**400), Fraction(1, 2**100), Fraction(1, 2**40)]  # of the first, the second and the third direction's step
NEAR = Decimal(10) ** -9
HOLDS = {"<": lambda u, v: u < v, "<=": lambda u, v: u <= v, ">": lambda u, v: u > v, ">=": lambda u, v: u >= v}


def exp(v):
    return v.exp()


def norm(*v):
    return sum(u * u for u in v).sqrt()


KNOWN = {"relu": lambda v: max(v, 0 * v), "abs": abs, "relu6": lambda v: min(max(v, 0 * v), 0 * v + 6), "leaky_relu": lambda v: v if v > 0 else v / 100,
         "max": max, "min": min, "median": lambda *v: sorted(v)[(len(v) - 1) // 2], "exp": exp, "norm2": norm}


class Drawing:
    """Expressions: pairs of a text and a function of the point, all 0 or nearly so at the point."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.names = NAMES[:self.draw.choice([1, 2, 2, 3])]
        self.linear = self.draw.random() < 0.6
        self.at = {n: self.draw.choice([0, 0, 0, 1, -1]) for n in self.names}
        self.lets = []

    def leaf(self):
        d = self.draw
        if self.lets and d.random() < 0.4:
            return d.choice(self.lets)
        name, c = d.choice(self.names), d.choice([1, 1, -1, 2, -3])
        a = self.at[name]
        return f"({c}*({name} - {a}))", lambda p: c * (p[name] - a)

    def call(self, name, *of):
        return f"{name}({', '.join(t for t, _ in of)})", lambda p: KNOWN[name](*[f(p) for _, f in of])

    def plus(self, a, b):
        c = self.draw.choice([1, -1, 2])
        return f"({a[0]} + {c}*{b[0]})", lambda p: a[1](p) + c * b[1](p)

    def branch(self, depth):
        """Its arms meet where the comparands do."""
        d, a, b = self.draw, self.any(depth - 1), self.any(depth - 1)
        sign, c = d.choice(list(HOLDS)), d.choice([0, 1, 3])
        return (f"(if {a[0]} {sign} {b[0]} then {b[0]} + {c}*({a[0]} - {b[0]}) else {b[0]})",
                lambda p: b[1](p) + (c * (a[1](p) - b[1](p)) if HOLDS[sign](a[1](p), b[1](p)) else 0))

    def any(self, depth):
        d = self.draw
        if depth <= 0 or d.random() < 0.12:
            return self.leaf()
        kind = d.randrange(9 if self.linear else 13)
        if kind < 3:
            return self.plus(self.any(depth - 1), self.any(depth - 1))
        if kind < 5:
            return self.call(d.choice(["relu", "abs", "relu6", "leaky_relu"]), self.any(depth - 1))
        if kind < 7:
            return self.call(d.choice(["max", "min"]), self.any(depth - 1), self.any(depth - 1))
        if kind == 7:
            return self.call("median", *[self.any(depth - 1) for _ in range(3)])
        if kind == 8:
            return self.branch(depth)
        if kind < 11:
            a, b = self.any(depth - 1), self.any(depth - 1)
            return f"({a[0]} * {b[0]})", lambda p: a[1](p) * b[1](p)
        if kind == 11:
            return self.call("norm2", self.any(depth - 1), self.any(depth - 1))
        a = self.call("exp", self.any(depth - 2))
        return f"({a[0]} - 1)", lambda p: a[1](p) - 1

    def program(self):
        lines = ["input " + ", ".join(self.names)]
        for i in range(self.draw.choice([0, 1, 2])):
            text, function = self.any(2)
            lines.append(f"let t{i} = {text}")
            self.lets.append((f"t{i}", function))
        text, function = self.any(4)
        return "\n".join([*lines, f"output {text}"]) + "\n", function

    def directions(self):
        d = self.draw
        wanted = [[d.choice([0, 1, -1, 1, 2, -3]) for _ in self.names] for _ in range(d.choice([1, 1, 2, 3]))]
        return [w if any(w) else [1] * len(w) for w in wanted]


def quotients(drawing, function, wanted):
    """The derivatives along the directions, by their definition."""
    number = Fraction if drawing.linear else lambda q: Decimal(q.numerator) / Decimal(q.denominator)
    steps = [number(s) for s in SHORT]

    def value(way):
        return function({n: number(Fraction(drawing.at[n])) + w for n, w in zip(drawing.names, way)})

    here = value([number(Fraction(0))] * len(drawing.names))

    def derivative(level, way):
        """Of the derivative at that level, as a function of its direction: 0 of F itself."""
        if level == 0:
            return (value([steps[0] * w for w in way]) - here) / steps[0]
        before = [number(Fraction(w)) for w in wanted[level - 1]]
        return (derivative(level - 1, [b + steps[level] * w for b, w in zip(before, way)]) - derivative(level - 1, before)) / steps[level]

    return [derivative(k, [number(Fraction(w)) for w in way]) for k, way in enumerate(wanted)]


def differs(drawing, said, true):
    """Is what is said another number than what is true?"""
    if drawing.linear:
        return Fraction(said) != true
    q = Fraction(said) if "/" in said or "." not in said else Fraction(Decimal(said))
    return abs(Decimal(q.numerator) / Decimal(q.denominator) - true) > NEAR * (1 + abs(true))


def forged(proof):
    """The proof with another derivative, sealed anew."""
    lines = proof.splitlines()[:-1]
    k = next(i for i, line in enumerate(lines) if line.startswith(("derivative ", "most ")))
    word, number = lines[k].split(" ", 1)
    lines[k] = f"{word} {Fraction(number) + (1 if word == 'derivative' else -1)}"
    text = "\n".join(lines) + "\n"
    return text + f"end {hashlib.sha256(text.encode()).hexdigest()}\n"


def verified(check, path):
    return subprocess.run([check, path], capture_output=True, text=True, timeout=120)


def ask(asked, seed, work):
    """What was answered, as words to count; faults; the program."""
    drawing = Drawing(seed)
    text, function = drawing.program()
    wanted = drawing.directions()
    program, proof = Path(work) / f"{seed}.prog", Path(work) / f"{seed}.proof"
    program.write_text(text)
    options = [*[f"--at={n}={v}" for n, v in drawing.at.items()], *["--direction=" + ",".join(f"{n}={w}" for n, w in zip(drawing.names, way)) for way in wanted]]
    said = subprocess.run([asked.clarke, "derive", "--json", "--proof", proof, *options, program], capture_output=True, text=True, timeout=120)
    where = f"{' '.join(options)}\n{text}"
    if said.returncode == 2:
        return ["refused"], [said.stderr], where
    answer = json.loads(said.stdout)
    rows = answer["directions"]
    if rows[0]["derivative"] is None:
        return ["undecided", answer["why"].split(": ")[-1][:60]], [], where
    words, wrong = ["decided", "piecewise linear" if drawing.linear else "curved", f"{len(wanted)} directions"], []
    for k, true in enumerate(quotients(drawing, function, wanted)):
        if differs(drawing, rows[k]["derivative"][0], true):
            wrong.append(f"along direction {k + 1} {rows[k]['derivative'][0]} is said, it is {float(true):.12g}")
    same = all(row["derivative"] == row["ad"] for row in rows)
    words += ["AD right" if same else "AD wrong", *{f"told by {t['told_by']}" for t in answer["touched"]}]
    if (answer["ad_agrees"] is True and not same) or (answer["ad_agrees"] is False and same):
        wrong.append(f"AD is said to agree: {answer['ad_agrees']}")
    if said.returncode != {True: 0, False: 1, None: 3}[answer["ad_agrees"]]:
        wrong.append(f"exit status {said.returncode}")
    done = verified(asked.check, proof)
    if done.returncode != 0:
        wrong.append(f"clarke-check says: {done.stdout}{done.stderr}")
    if answer["ad_agrees"] is not None and ("ANOTHER" in done.stdout) == answer["ad_agrees"]:
        wrong.append(f"clarke-check says of AD: {done.stdout}")
    proof.write_text(forged(proof.read_text()))
    if verified(asked.check, proof).returncode == 0:
        wrong.append("a forged proof is verified")
    return words, wrong, where


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("clarke")
    arguments.add_argument("check")
    arguments.add_argument("--number", type=int, default=100)
    arguments.add_argument("--seed", type=int, default=1)
    asked = arguments.parse_args()
    decimal.getcontext().prec = 300
    counts, failed = collections.Counter(), 0
    with tempfile.TemporaryDirectory() as work:
        for i in range(draw_count(asked.number)):
            words, wrong, where = ask(asked, asked.seed * 1000003 + i, work)
            counts.update(words)
            for fault in wrong:
                failed += 1
                print(f"failed: {fault}\n{where}")
    for what, n in sorted(counts.items()):
        print(f"{n:6}  {what}")
    for what, least in (("decided", asked.number // 2), ("AD wrong", asked.number // 4), ("told by 2", asked.number // 50)):
        if counts[what] < least // ONE_IN:
            failed += 1
            print(f"failed: {counts[what]} times {what}, of {least} at least")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
