#!/usr/bin/env python3
"""Writes the cases about the thesis' encodings (section 2.9): the maximum of 2^k numbers by k layers of
ReLUs (Lemma 3) and 3-CNF formulas as linear ReLU networks (Theorem 6).

    python3 encode.py [FOLDER]

What a case expects is worked out here from the formula alone (truth tables; the derivative of a layer of
ReLUs at 0 by hand below), never from the network that is written."""

import itertools
import pathlib
import random
import sys

FOLDER = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)


# A linear form is {name: coefficient}; a layer is a list of forms, ReLU of each.


def plus(a, b, s=1):
    out = dict(a)
    for k, v in b.items():
        out[k] = out.get(k, 0) + s * v
    return {k: v for k, v in out.items() if v}


def written(form):
    text = ""
    for name, c in form.items():
        term = name if abs(c) == 1 else f"{abs(c)}*{name}"
        text += (" - " if c < 0 else " + ") + term if text else ("-" if c < 0 else "") + term
    return text or "0"


class Network:
    """Layers of ReLUs as `let` lines; the forms of the next layer are in terms of their entries."""

    def __init__(self):
        self.lines, self.n = [], 0

    def layer(self, forms):
        name = f"l{self.n}"
        self.n += 1
        self.lines.append(f"let {name} = relu([{', '.join(written(f) for f in forms)}])")
        return [{f"{name}[{i}]": 1} for i in range(len(forms))]

    def maxima(self, forms):
        """One layer of Lemma 3: of each two forms the maximum, ReLU(a - b) + ReLU(b) - ReLU(-b)."""
        rows = []
        for a, b in zip(forms[::2], forms[1::2]):
            rows += [plus(a, b, -1), b, {k: -v for k, v in b.items()}]
        r = self.layer(rows)
        return [plus(plus(r[i], r[i + 1]), r[i + 2], -1) for i in range(0, len(r), 3)]


def negative(form):
    return {k: -v for k, v in form.items()}


def header(lines):
    return "".join(f"#: {line}\n" for line in lines)


def save(name, lines, body):
    (FOLDER / f"{name}.prog").write_text(header(lines) + "\n".join(body) + "\n")


# --- Lemma 3 -------------------------------------------------------------------------------------


def vector(v):
    return "(" + ", ".join(map(str, v)) + ")"


def points(xs):
    return ",".join(map(str, xs))


def everywhere(p):
    """Points whose largest entry is each in turn, among drawn ones: it is p, and then -1."""
    of, lines = random.Random(p), []
    for largest, others in (p, range(-p, p)), (-1, range(-2 * p, -1)):
        for i in range(p):
            x = [of.choice(others) for _ in range(p)]
            x[i] = largest
            lines += [f"at x={points(x)}"]
        lines += [f"expect value {largest}"]
    return lines


def maximum(k):
    p = 2**k
    net = Network()
    forms = [{f"x[{i}]": 1} for i in range(p)]
    for _ in range(k):
        forms = net.maxima(forms)
    widths = vector([3 * 2 ** (k - j) for j in range(1, k + 1)]) if k > 1 else "3"
    top = [(5 * i * i + 3 * i) % (2 * p + 1) - p for i in range(p)]
    lines = ["claim T2-L3",
             "where Thesis, Lemma 3",
             f"says the maximum of 2^{k} numbers by {k} layers of ReLUs of size at most 3 2^{k - 1}, weights -1, 0, 1",
             f"at x={points(top)}",
             f"expect value {max(top)}",
             f"expect widths {widths}",
             "expect coefficients {-1, 1}"]
    if k <= 2:
        lines += ["expect representation yes"]
    else:
        lines += everywhere(p)
    lines += ["claim T2-L3p",
              "where Thesis, Lemma 3, its proof",
              f"says F_k has layers of size at most 3 2^k; widths are 3 2^(k-1), 3 2^(k-2), ...: half of the printed bound, {3 * p}",
              f"at x={points([0] * p)}",
              f"note twice the statement: a bound, but not the one that the lemma has",
              f"expect widths {widths}",
              "claim T2-L3AD",
              "where Thesis, Lemma 3: AD of F_k at 0",
              "says with ReLU'(0) = s AD returns s^k (1, ..., 1): in the Clarke set, the simplex, only for s = 1/2",
              f"at x={points([0] * p)}",
              f"expect ad {vector([0] * p)}"]
    if k <= 2:
        lines += ["expect clarke {" + ", ".join(vector([int(i == j) for j in range(p)]) for i in range(p)) + "}",
                  "expect verdict not-in-clarke"]
    lines += ["proxy Relu 0 1/2",
              f"at x={points([0] * p)}",
              f"expect ad {vector([f'1/{p}'] * p)}"]
    if k <= 2:
        lines += ["expect verdict in-clarke"]
    lines += ["proxy Relu 0 1",
              f"at x={points([0] * p)}",
              f"expect ad {vector([1] * p)}"]
    if k == 2:
        lines += ["note at a tie c > 0 of all four the proxies 0, 1/2, 1 give e_4, the mean, e_1"]
        for s, ad in (("0", "(0, 0, 0, 1)"), ("1/2", "(1/4, 1/4, 1/4, 1/4)"), ("1", "(1, 0, 0, 0)")):
            lines += [f"proxy Relu 0 {s}", "at x=3,3,3,3", f"expect ad {ad}"]
    body = [f"input x[{p}]"] + net.lines + [f"output {written(forms[0])}"]
    if k <= 2:
        body += ["piece max(x)"]
    save(f"thesis-lemma3-{k}", lines, body)


# --- Theorem 6 -----------------------------------------------------------------------------------


def literal(l):
    return {f"x[{abs(l) - 1}]": 1 if l > 0 else -1}


def paired(clause):
    """The literals of a clause as two pairs, none of complementary ones."""
    for a, b, c in itertools.permutations(clause):
        if a != -b:
            return [a, b, c, c]
    raise ValueError(clause)


def network(formula, order):
    """(lines, output): min over the clauses of ReLU(max of their literals)."""
    net = Network()
    clauses = []
    forms = [literal(l) for clause in formula for l in order(clause)]
    forms = net.maxima(net.maxima(forms))
    clauses = net.layer(forms)
    forms = [negative(c) for c in clauses]
    while len(forms) > 1:
        forms = net.maxima(forms)
    return net.lines, written(negative(forms[0]))


def value(formula, x):
    return min(max(0, max((1 if l > 0 else -1) * x[abs(l) - 1] for l in c)) for c in formula)


def satisfying(formula, p):
    return [x for x in itertools.product((-1, 1), repeat=p) if value(formula, x) > 0]


def expression(formula):
    words = []
    for clause in formula:
        words.append("relu(max(" + ", ".join(written(literal(l)) for l in clause) + "))")
    return "min(" + ", ".join(words) + ")"


def text(formula):
    return " and ".join("(" + " or ".join(("not " if l < 0 else "") + f"b{abs(l)}" for l in c) + ")" for c in formula)


EXAMPLE_3 = [(1, 2, -3), (1, 4, -5), (-2, -3, 6)]
EXAMPLE_4 = EXAMPLE_3 + [(2, -2, 6)]


def example4():
    p, good = 6, satisfying(EXAMPLE_4, 6)
    assert len(good) == 43 and good == satisfying(EXAMPLE_3, 6)
    bad = [x for x in itertools.product((-1, 1), repeat=p) if x not in good]
    checks = [good[0], good[20], good[-1], bad[0], bad[9], bad[-1], (3, -2, 5, -7, 4, 1), (-1, -4, 2, 3, 9, -2)]
    for name, order, claimed in (("thesis-example4-network", lambda c: list(c) + [c[-1]], True),
                                 ("thesis-example4-paired", paired, False)):
        lines = ["claim T2-Th6c" if claimed else "claim T2-Th6b",
                 "where Thesis, Theorem 6 and Example 4" + ("" if claimed else ", literals paired so that none are complementary")]
        if claimed:
            lines += ["says the network has matrices with entries -1, 0, 1",
                      "note merged with the first layer, b2 or not b2 or b6 has the row x2 - (-x2) = 2 x2",
                      f"at x={points([0] * p)}",
                      "claimed coefficients {-1, 1}",
                      "expect coefficients {-1, 1, 2}"]
        else:
            lines += ["says log2 n + 3 layers of size at most 6n, the minimum's at most 3n/2; n = 4; entries -1, 0, 1",
                      f"at x={points([0] * p)}",
                      "expect widths (24, 12, 4, 6, 3)",
                      "expect coefficients {-1, 1}",
                      "expect value 0"]
        for x in checks:
            lines += [f"at x={points(x)}", f"expect value {value(EXAMPLE_4, x)}"]
        body, out = network(EXAMPLE_4, order)
        save(name, lines, ["# " + text(EXAMPLE_4), f"input x[{p}]"] + body + [f"output {out}"])
    lines = ["claim T2-Ex3", "where Thesis, Examples 3 and 4",
             f"says the formula has 6 variables and 3 clauses; {len(good)} of 64 assignments satisfy it (sign vectors with F > 0)"]
    for x in good[::7] + bad[::5]:
        lines += [f"at x={points(x)}", f"expect value {value(EXAMPLE_3, x)}"]
    save("thesis-example3", lines, ["# " + text(EXAMPLE_3), f"input x[{p}]", f"output {expression(EXAMPLE_3)}"])


def count(formula, p):
    """F summed over all sign vectors is the number of satisfying assignments, F being 0 or 1 there."""
    terms = []
    for x in itertools.product((-1, 1), repeat=p):
        f = "min(" + ", ".join(
            "relu(max(" + ", ".join(("t" if (l > 0) == (x[abs(l) - 1] > 0) else "-t") for l in c) + "))"
            for c in formula) + ")"
        terms.append(f)
    return terms


def example4_count():
    lines = ["claim T2-Ex4", "where Thesis, Examples 3 and 4",
             "says 43 of the 64 assignments satisfy the formula: F at all sign vectors t (+-1, ..., +-1), added up, is 43 t for t > 0",
             "at t=1", "expect value 43", "expect ad 43", "at t=5/2", "expect value 215/2"]
    save("thesis-example4-count", lines,
         ["# " + text(EXAMPLE_4), "input t", "output sum(" + ",\n  ".join(count(EXAMPLE_4, 6)) + ")"])


def small(name, formula, p):
    """∂F(0) != {0} if and only if the formula can be satisfied (Theorems 5 and 6)."""
    good = satisfying(formula, p)
    lines = ["claim T2-Th6a", "where Thesis, Theorems 5 and 6",
             f"says the Clarke set of F at 0 is not {{0}} if and only if the formula can be satisfied: "
             + ("it can" if good else "it cannot"),
             f"at x={points([0] * p)}", "expect value 0",
             f"expect differentiable {'no' if good else 'yes'}"]
    if not good:
        lines += ["expect clarke {" + vector([0] * p) + "}", "expect least " + vector([0] * p)]
    for x in itertools.product((-1, 1), repeat=p):
        lines += [f"at x={points(x)}", f"expect value {value(formula, x)}"]
    save(name, lines, ["# " + text(formula), f"input x[{p}]", f"output {expression(formula)}"])


def unsatisfiable():
    formula = [(1, 1, 1), (1, 1, 1), (1, 1, 1), (-1, -1, -1)]
    body, out = network(formula, paired)
    # At 0 with ReLU' = s each layer of maxima takes (a, b) to s (a - b) + s b + s b = s (a + b): two of them and
    # the outer ReLU make 4 s^3 l of a clause (l, l, l, l), the two of the minimum s^2 times the clauses' sum.
    derivative = lambda s: s**2 * 4 * s**3 * (3 - 1)
    lines = ["claim T2-unsat", "where Thesis, Theorem 6, on the formula b and b and b and not b",
             "says F is 0 everywhere; AD at 0 returns 8 when ReLU'(0) = 1, and 0 when it is 0",
             "at x=0", "expect value 0", f"expect ad {derivative(0)}", "expect clarke {0}",
             "expect representation yes", "expect verdict in-bouligand",
             "proxy Relu 0 1", "at x=0", f"expect ad {derivative(1)}", "expect verdict not-in-clarke",
             "proxy Relu 0 2", "at x=0", f"expect ad {derivative(2)}", "expect verdict not-in-clarke"]
    save("thesis-unsatisfiable", lines,
         ["# " + text(formula), "input x"] + [l.replace("x[0]", "x") for l in body] + [f"output {out}", "piece 0*x"])


def main():
    for k in (1, 2, 3, 4):
        maximum(k)
    example4()
    example4_count()
    unsatisfiable()
    small("thesis-theorem6-and", [(1, 1, 1), (2, 2, 2)], 2)
    small("thesis-theorem6-xor", [(1, 2, 2), (-1, -2, -2)], 2)
    small("thesis-theorem6-contradiction", [(1, 2, 2), (1, -2, -2), (-1, 2, 2), (-1, -2, -2)], 2)
    small("thesis-theorem6-three", [(1, 2, -3), (-1, 2, 3), (1, -2, 3), (-1, -2, -3)], 3)
    small("thesis-theorem6-eight",
          [tuple(s * v for s, v in zip(signs, (1, 2, 3))) for signs in itertools.product((1, -1), repeat=3)], 3)


main()
