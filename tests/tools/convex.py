"""What clarke derive calls convex is: drawn programs of polynomials and pieces, exactly, at drawn points; and cases known by hand.

    convex.py CLARKE [NUMBER]
"""
import json
import random
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from draw import draw_count  # noqa: E402
from expect import expect, finish, said  # noqa: E402

CLARKE = sys.argv[1]
NUMBER = draw_count(int(sys.argv[2]) if len(sys.argv) > 2 else 300)


def clip(x, low, high):
    return min(max(x, low), high)


def hardsigmoid(x):
    return clip(x / 6 + Fraction(1, 2), Fraction(0), Fraction(1))


UNARY = {"relu({})": lambda x: max(x, Fraction(0)), "abs({})": abs, "-{}": lambda x: -x, "relu6({})": lambda x: clip(x, Fraction(0), Fraction(6)),
         "hardtanh({})": lambda x: clip(x, Fraction(-1), Fraction(1)), "hardsigmoid({})": hardsigmoid, "{0}*{0}": lambda x: x * x,
         "leaky_relu({}, 1/8)": lambda x: x if x > 0 else x / 8, "hardswish({})": lambda x: x * hardsigmoid(x), "norm2({})": abs}
BINARY = {"{} + {}": lambda a, b: a + b, "{} - {}": lambda a, b: a - b, "max({}, {})": max, "min({}, {})": min, "{}*{}": lambda a, b: a * b}


class Drawn:
    """A program of two inputs that vary and one that does not, as text and as a function."""

    def __init__(self, rng):
        self.lines, self.steps, names = [], [], ["x", "y", "c"]
        for i in range(rng.randint(1, 8)):
            a, b = rng.choice(names), rng.choice(names)
            if rng.random() < 0.2:
                n, adds = Fraction(rng.randint(-4, 4), rng.choice((1, 2, 3))), rng.random() < 0.5
                text, made = (f"{a} + ({n})", self.of(lambda x, n=n: x + n, a)) if adds else (f"({n})*{a}", self.of(lambda x, n=n: x * n, a))
            elif rng.random() < 0.5:
                form = rng.choice(list(UNARY))
                text, made = form.format(a), self.of(UNARY[form], a)
            else:
                form = rng.choice(list(BINARY))
                text, made = form.format(a, b), self.of(BINARY[form], a, b)
            self.lines.append(f"let t{i} = {text}")
            self.steps.append((f"t{i}", made))
            names.append(f"t{i}")
        self.text = "input x, y, c\n" + "\n".join(self.lines) + f"\noutput {names[-1]}\n"
        self.output = names[-1]

    @staticmethod
    def of(function, *names):
        return lambda values: function(*(values[name] for name in names))

    def at(self, x, y, c):
        values = {"x": x, "y": y, "c": c}
        for name, made in self.steps:
            values[name] = made(values)
        return values[self.output]


def number(rng):
    return Fraction(rng.choice((0, 0, 1, -1, rng.randint(-12, 12))), rng.choice((1, 1, 2, 3)))


def asked(folder, text, point, *options):
    (folder / "f.prog").write_text(text)
    status, out, err = said(CLARKE, "derive", str(folder / "f.prog"), *(w for name, v in point.items() for w in ("--at", f"{name}={v}")), "--wrt", "x,y", "--json", *options)
    return json.loads(out) if out else {"error": err}


def drawn(folder):
    rng, convex, given = random.Random(36), 0, 0
    for k in range(NUMBER):
        f, c = Drawn(rng), number(rng)
        point = {"x": number(rng), "y": number(rng), "c": c}
        answer = asked(folder, f.text, point, "--direction", "x=1", "--direction", "x=1,y=-2")
        if not answer.get("convex"):
            continue
        convex += 1
        for _ in range(40):
            a, b, t = (number(rng), number(rng)), (number(rng), number(rng)), Fraction(rng.randint(1, 7), 8)
            between = [t * p + (1 - t) * q for p, q in zip(a, b)]
            expect(f.at(*between, c) <= t * f.at(*a, c) + (1 - t) * f.at(*b, c), f"drawn {k} is not convex between {a} and {b}, c = {c}:\n{f.text}")
        if "subgradient" not in answer:
            continue
        given += 1
        g = [Fraction(q) for q in answer["subgradient"]]
        for _ in range(40):
            p = number(rng), number(rng)
            least = f.at(**point) + sum(s * (q - w) for s, q, w in zip(g, p, (point["x"], point["y"])))
            expect(f.at(*p, c) >= least, f"drawn {k}: {g} is no subgradient at {point}, by {p}:\n{f.text}")
    expect(NUMBER < 100 or (convex > NUMBER // 5 and given > NUMBER // 5), f"only {convex} of {NUMBER} are convex, {given} with a subgradient")


KNOWN = [("abs(x) + y*y", True), ("max(x, y) - min(x, y)", True), ("norm2(x, y, 1)", True), ("norm2(abs(x), y)", True), ("exp(x*x)", True),
         ("log(exp(x) + exp(y))", True), ("log(1 + exp(x))", True), ("log(2*exp(x)*exp(y) + 3)", True), ("relu(relu(x) - 1)", True), ("abs(relu(x))", True),
         ("-log(exp(x))", None), ("log(exp(x) + exp(y) - 2)", None), ("abs(relu(x) - 1)", None), ("relu(x)*relu(y)", None), ("x*y", None), ("sqrt(x*x)", None),
         ("abs(x) + sin(y)", None), ("min(x, y)", None), ("hardtanh(x)", None), ("elu(x)", True), ("(if x > 0 then x else -x)", None), ("c*abs(x)", True),
         ("-c*abs(x)", None), ("(if c > 0 then abs(x) else x*y)", True), ("abs(x) / c", True), ("1 / (1 + x*x)", None), ("relu(-relu(x)) + x", True),
         ("hardsigmoid(relu(-relu(x)))*x", None), ("-(hardsigmoid(relu(-relu(x))) + relu(y))", None), ("log(0*exp(x) + 1) + y", True), ("0*sqrt(x) + y", None)]


def known(folder):
    for text, convex in KNOWN:
        answer = asked(folder, f"input x, y, c\noutput {text}\n", {"x": "1/2", "y": 1, "c": 3})
        expect(answer.get("convex") is convex, f"{text}: {answer.get('convex', answer.get('error'))}")
    answer = asked(folder, "input x, y\noutput abs(x) + max(x, y)\n", {"x": 0, "y": 0}, "--direction", "1,1", "--direction", "x=1")
    expect(answer["subgradient"] == ["2", "0"], f"a subgradient: {answer}")
    for more in ((), ("--direction", "x=2,y=2")):
        answer = asked(folder, "input x, y\noutput abs(x) + max(x, y)\n", {"x": 0, "y": 0}, "--direction", "1,1", *more)
        expect(answer["convex"] and "subgradient" not in answer, f"too few directions: {answer}")
    answer = asked(folder, "input x, y\noutput abs(x), abs(y)\n", {"x": 0, "y": 0})
    expect("convex" not in answer, f"two outputs: {answer}")


def main():
    with tempfile.TemporaryDirectory() as name:
        known(Path(name))
        drawn(Path(name))
    finish()


if __name__ == "__main__":
    main()
