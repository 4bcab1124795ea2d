"""Tapes by hand and drawn ones: what the proved kernel says of proofs about them.

    python3 tests/verified/tapes.py CLARKE-CHECK-VERIFIED [--number N] [--seed N]

A drawn tape has sums, products, windows and piecewise functions of small integers, so that kinks and ties are many; a direction is
drawn, too. What the kernel verifies is compared with a reading of docs/tape.md in fractions: at a point beside the direction, near
the weights, the loss's gradient must be what AD gives at the weights, but for what the distance explains. Of the proofs for which
this is so, with no kink that rests and no tie, the kernel must verify all.
"""

import argparse
import hashlib
import math
import random
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

import proofs

NEAR, BESIDE, ALIKE = Fraction(1, 2**600), Fraction(1, 2**1400), Fraction(1, 2**40)


# ---- Text


def hashed(lines):
    return hashlib.sha256("".join(line + "\n" for line in lines).encode()).hexdigest()


class Text:
    """A whole tape's lines, and those that are in no block."""

    def __init__(self):
        self.lines, self.short = [], []

    def line(self, words, *blocks):
        self.short.append(" ".join([words, *(f"{kind} {len(lines)} {hashed(lines)}" for kind, lines in blocks)]))
        self.lines += [self.short[-1], *(" " + line for _, lines in blocks for line in lines)]

    def step(self, words, rows, weighs):
        factors, sources, features = {}, {}, []
        for row in rows:
            pair = " ".join(f for f, _ in row), " ".join(s for _, s in row)
            i, j = factors.setdefault(pair[0], len(factors)), sources.setdefault(pair[1], len(sources))
            features.append(f"{i} {j}" if weighs else f"{j}")
        first = [("factors", list(factors))] if weighs else []
        self.line(f"{words} of {len(rows[0])}", *first, ("sources", list(sources)), ("features", features))

    def whole(self):
        return "".join(line + "\n" for line in [*self.lines, f"hash {hashed(self.short)}"])


def text_of(net):
    text = Text()
    text.line("tape 1")
    text.line(f"samples {len(net['x'])} together {len(net['x'])}")
    text.line(f"parameter 0 {net.get('name', 'w')} [{len(net['w'])}]", ("values", [str(v) for v in net["w"]]))
    width = len(net["x"][0])
    text.line(f"step 0 input {width} [{len(net['x'])},{width}]", ("values", [str(v) for sample in net["x"] for v in sample]))
    for s, (kind, attributes, rows) in enumerate(net["steps"], 1):
        if kind == "input":  # of each sample its numbers
            text.line(f"step {s} input {len(rows[0])} [{len(rows)},{len(rows[0])}]", ("values", [str(v) for sample in rows for v in sample]))
            continue
        text.step(f"step {s} {kind} {len(rows)}{attributes}", rows, kind in ("linear", "piecewise", "over-root"))
    rows = net["steps"][-1][2]
    last = len(rows[0] if net["steps"][-1][0] == "input" else rows)
    text.line(f"output [{last}] of step {len(net['steps'])} loss {net.get('own', 'none')}", ("features", [str(f) for f in range(last)]))
    if "y" in net:
        shape = f"{len(net['x'])}" + ("" if net["loss"] == "ce" else f",{last}")
        text.line(f"target {'integer' if net['loss'] == 'ce' else 'real'} [{shape}]", ("values", [str(v) for v in net["y"]]))
    return text.whole()


def proof_of(net, directions, more=()):
    lines = ["clarke-proof 1", "verdict in-bouligand", "semantics real", f"model m.onnx {'0' * 64}", f"batch b.npz {'0' * 64}", *more,
             f"loss {net['loss']}", "wrt *", "profile pytorch-2.13", *sorted(net["rules"]), "touched 0", "evidence ad", "cell ad",
             f"directions {len(directions)}"]
    for d in directions:
        lines += ["direction", *(f"move {net.get('name', 'w')} at {i} {v}" for i, v in enumerate(d) if v != 0)]
    return proofs.sealed(lines)


# ---- Meaning, with derivatives


def value_of(word, w):
    """A factor, and its derivative."""
    c, _, rest = word.partition("*")
    zero = [Fraction(0)] * len(w)
    if "@" in rest:
        e = int(rest.partition("@")[2])
        return Fraction(c) * w[e], [Fraction(c) * (i == e) for i in range(len(w))]
    return Fraction(c) * (Fraction(rest) if rest else 1), zero


def quotient_of(word, w):
    """A number over an entry, or over another."""
    c, _, rest = word.partition("*")
    return scaled(Fraction(c), inverse(value_of(f"1*{rest}", w))) if rest else value_of(word, w)


def times(a, b):
    return a[0] * b[0], [a[0] * q + b[0] * p for p, q in zip(a[1], b[1])]


def plus(a, b):
    return a[0] + b[0], [p + q for p, q in zip(a[1], b[1])]


# Of functions, values to so many bits.
BITS = 3000


def rounded(q):
    return Fraction(q.numerator * 2**BITS // q.denominator, 2**BITS)


def behind(f, slope, a):
    """A function of a number with derivatives."""
    return rounded(f(a[0])), [rounded(slope(a[0]) * g) for g in a[1]]


def root(q):
    """Of a positive number."""
    if q <= 0:
        raise ValueError("no root")
    return Fraction(math.isqrt(q.numerator * 4**BITS // q.denominator), 2**BITS)


def exponential(q):
    """By its series at q over a power of 2, squared as often."""
    x, term, total = rounded(q / 2**64), Fraction(1), Fraction(1)
    for i in range(1, 60):
        term = rounded(term * x / i)
        total += term
    for _ in range(64):
        total = rounded(total * total)
    return total


def logarithm(q):
    """By Newton's method, from what a float knows."""
    if q <= 0:
        raise ValueError("no logarithm")
    y = Fraction(math.log(q.numerator) - math.log(q.denominator))
    for _ in range(6):
        e = exponential(y)
        y = rounded(y + 2 * (q - e) / (q + e))
    return y


def inverse(a):
    if a[0] == 0:
        raise ValueError("a division by 0")
    return behind(lambda q: 1 / q, lambda q: -1 / q**2, a)


def elu(q):
    return q if q >= 0 else exponential(q) - 1


def above(q):
    if q == 0:
        raise ValueError("a jump")
    return Fraction(q > 0)


# Each with its derivative. Of softplus and exponentials of large numbers the kernel knows too little.
FUNCTIONS = {"exp": (exponential, exponential), "log": (logarithm, lambda q: 1 / q), "root": (root, lambda q: 1 / (2 * root(q))),
             "elu": (elu, lambda q: 1 if q >= 0 else exponential(q)), "above": (above, lambda q: 0),
             "softplus": (lambda q: logarithm(1 + exponential(q)), lambda q: 1 - 1 / (1 + exponential(q)))}


def function(name, a, met):
    met += ["large"] * (abs(a[0]) > 8)
    if abs(a[0]) > 2000 and name in ("exp", "softplus", "elu"):
        raise OverflowError
    return inverse(a) if name == "reciprocal" else behind(*FUNCTIONS[name], a)


def inverse_root(a):
    return behind(lambda q: 1 / root(q), lambda q: -1 / (2 * q * root(q)), a)


def scaled(c, a):
    return c * a[0], [c * g for g in a[1]]


def total_of(entries):
    total = entries[0]
    for entry in entries[1:]:
        total = plus(total, entry)
    return total


def lines_of(kind, attributes, rows, reads, met):
    """softmax, and normalize: by lines, as docs/tape.md says. Of the samples that these read: of one, or of all, whose lines are one
    where they are coupled. Of large exponents the kernel knows too little."""
    words = attributes.split()
    at = words.index("lines")
    length, apart = int(words[at + 2]), int(words[at + 4])
    entries, features = [[read(row[0][1]) for row in rows] for read in reads], [[None] * len(rows) for _ in reads]
    for begin in range(0, len(rows), length * apart):
        for first in range(begin, begin + apart):
            line = [(b, f) for b in range(len(reads)) for f in range(first, first + length * apart, apart)]
            if kind == "softmax":
                met += ["large"] * any(abs(entries[b][f][0]) > 64 for b, f in line)
                members = {(b, f): behind(exponential, exponential, entries[b][f]) for b, f in line}
                if "logarithm" in words:
                    met += ["alone"] * (len(line) == 1)  # 0, which the kernel knows in an interval only
                    total = function("log", total_of(list(members.values())), [])
                    for b, f in line:
                        features[b][f] = plus(entries[b][f], scaled(-1, total))
                    continue
                by = behind(lambda q: 1 / q, lambda q: -1 / q**2, total_of(list(members.values())))
            else:
                mean = scaled(Fraction(1, len(line)), total_of([entries[b][f] for b, f in line]))
                members = {(b, f): plus(entries[b][f], scaled(-1, mean)) for b, f in line}
                variance = scaled(Fraction(1, len(line)), total_of([times(x, x) for x in members.values()]))
                by = inverse_root((variance[0] + Fraction(words[0]), variance[1]))
            for (b, f), x in members.items():
                features[b][f] = times(x, by)
    return features


def feature(kind, attributes, row, read, w, slopes, met):
    """met: a list to which what is at a kink, or tied, is added."""
    zero = (Fraction(0), [Fraction(0)] * len(w))
    if kind == "linear":
        by = (lambda f: quotient_of(f, w)) if attributes else (lambda f: value_of(f, w))
        terms = [times(by(f), read(s)) for f, s in row if s != "-"]
        total = zero
        for term in terms:
            total = plus(total, term)
        return total
    if kind == "function":
        return function(attributes.strip(), read(row[0][1]), met)
    if kind == "over-root":
        v, g = value_of(row[0][0], w)
        return times(read(row[0][1]), inverse_root((v + Fraction(attributes.strip()), g)))
    if kind == "product":
        total = zero
        for (_, a), (_, b) in zip(row[::2], row[1::2]):
            total = plus(total, times(read(a), read(b)))
        return total
    if kind == "window":
        entries = [read(s) for _, s in row if s != "-"]
        best = max(v for v, _ in entries)
        tied = [e for e in entries if e[0] == best]
        met += ["tie"] * (sum(best - v < ALIKE for v, _ in entries) > 1)
        if slopes == "mean":
            return best, [sum(g) / len(tied) for g in zip(*(g for _, g in tied))]
        return tied[-1 if slopes == "last" else 0]
    words = attributes.split(" ")
    at = words.index("pieces")
    kinks = [Fraction(words[i + 2]) for i in range(3, at, 3)]
    pieces = [tuple(map(Fraction, words[i:i + 3])) for i in range(at + 1, len(words), 3)]
    x = read(row[0][1])
    piece = sum(k <= x[0] for k in kinks)
    met += ["kink"] * any(abs(x[0] - k) < ALIKE for k in kinks)
    if "*" in row[0][0]:  # left of 0 it is the weight times x; at 0 AD is there, or on the other side
        left = x[0] < 0 or (x[0] == 0 and slopes == "left")
        return times(value_of(row[0][0], w), x) if left else x
    slope = pieces[piece][1] + 2 * pieces[piece][2] * x[0]
    if x[0] in kinks and words[1] != "Huber":
        slope = slopes[kinks.index(x[0])]
    return pieces[piece][0] + pieces[piece][1] * x[0] + pieces[piece][2] * x[0] ** 2, [slope * g for g in x[1]]


def gradient(net, w, met):
    """Of the loss, at w; AD's where there is a kink."""
    total = [Fraction(0)] * len(w)
    done = [[[(v, [Fraction(0)] * len(w)) for v in sample]] for sample in net["x"]]

    def of(sample):
        def read(word):
            if word == "1":
                return Fraction(1), [Fraction(0)] * len(w)
            s, _, f = word.partition(".")
            return sample[int(s)][int(f)]
        return read

    reads = [of(sample) for sample in done]
    for kind, attributes, rows in net["steps"]:
        if kind == "input":
            features = [[(v, [Fraction(0)] * len(w)) for v in sample] for sample in rows]
        elif kind in ("softmax", "normalize"):
            parts = [reads] if attributes.endswith("coupled") else [[read] for read in reads]
            features = [line for part in parts for line in lines_of(kind, attributes, rows, part, met)]
        else:
            slopes = net["side"] if "PRelu" in attributes else net["tie"] if kind == "window" else net["slopes"]
            features = [[feature(kind, attributes, row, read, w, slopes, met) for row in rows] for read in reads]
        for sample, more in zip(done, features):
            sample.append(more)
    for b, sample in enumerate(done):
        for f, (v, g) in enumerate(sample[-1]):
            n = len(sample[-1])
            by = 1 if net["loss"] == "sum" else Fraction(2, len(done) * n) * (v - net["y"][b * n + f])
            total = [t + by * q for t, q in zip(total, g)]
    return total


def size(v):
    return max((abs(q) for q in v), default=Fraction(0))


# ---- Drawn


def drawn(draw):
    n, width = draw.randint(1, 4), draw.randint(1, 3)
    net = {"w": [Fraction(draw.choice([0, 0, 0, 1, -1, 2])) for _ in range(n)], "loss": draw.choice(["sum", "mse"]), "steps": [],
           "x": [[Fraction(draw.randint(-1, 2)) for _ in range(width)] for _ in range(draw.randint(1, 2))]}
    sizes = [width]

    def source():
        s = len(sizes) - 1 if draw.random() < 0.8 else draw.randrange(len(sizes))
        return f"{s}.{draw.randrange(sizes[s])}"

    def factor():
        c = draw.choice([1, 1, -1, 2, 0])
        return draw.choice([f"{c}", f"{c}*0@{draw.randrange(n)}", f"{c}*0@{draw.randrange(n)}", f"{c}*{draw.randint(-2, 2)}"])

    relu = draw.choice([("Relu kinks 0 at 0 pieces 0 0 0 0 1 0", 0, 1), ("Abs kinks 0 at 0 pieces 0 -1 0 0 1 0", -1, 1)])
    clip = "Clip kinks 0 at 0 1 at 1 pieces 0 0 0 0 1 0 1 0 0"
    swish = "HardSwish kinks 0 at -1 1 at 1 pieces 0 0 0 0 1/2 1/2 0 1 0"
    two = draw.choice(["", "", "", clip, swish])
    net["slopes"] = {"": [draw.choice([relu[1], relu[2], 0])], clip: [draw.choice([0, 1]), draw.choice([0, 1])],
                     swish: [draw.choice([0, Fraction(-1, 2)]), draw.choice([1, Fraction(3, 2)])]}[two]
    attributes = " " + (two or relu[0])
    op = attributes.split(" ")[1]
    net["side"] = draw.choice(["left", "right"])
    net["rules"] = [f"proxy {op} {k} {s}" for k, s in enumerate(net["slopes"])]
    net["tie"] = draw.choice(["first", "first", "last", "mean"])
    net["rules"] += [f"proxy PRelu 0 {net['side']}", f"tie MaxPool {net['tie']}"]
    functions, lines = draw.choice([[], [], ["over-root", "softmax", "normalize"], ["function", "function", "dividing", "softmax"]]), ""
    for _ in range(draw.randint(2, 6)):
        kind = draw.choice(["linear", "linear", "piecewise", "window", "product", *functions])
        many = draw.randint(1, 3)
        kinks = attributes
        if kind == "linear" and draw.random() < 0.05:
            kind, rows = "input", [[Fraction(draw.randint(-1, 2)) for _ in range(many)] for _ in net["x"]]
        elif kind == "linear":
            terms = draw.randint(1, 3)
            rows = [[(factor(), draw.choice([source(), source(), "1", "-"])) for _ in range(terms)] for _ in range(many)]
        elif kind == "piecewise" and draw.random() < 0.3:
            weights = ["1*1", "1*-2", f"1*0@{draw.randrange(n)}", f"-1*0@{draw.randrange(n)}"]
            rows = [[(draw.choice(weights), source())] for _ in range(many)]
            kinks = " PRelu kinks 0 at 0 pieces 0 0 0 0 1 0"
        elif kind == "dividing":
            divisors = ["1", "1*2", "-1*3", f"1*0@{draw.randrange(n)}", f"-2*0@{draw.randrange(n)}"]
            rows = [[(draw.choice(divisors), draw.choice([source(), source(), "1"])) for _ in range(many)] for _ in range(many)]
        elif kind in ("piecewise", "function"):
            rows = [[("1", source())] for _ in range(many)]
            kinks = draw.choice([kinks, kinks, kinks, " Huber kinks 0 at -1 0 at 1 pieces -1/2 -1 0 0 0 1/2 -1/2 1 0"])
        elif kind == "over-root":
            weights = ["1*1", "1*-1/4", f"1*0@{draw.randrange(n)}", f"2*0@{draw.randrange(n)}"]
            rows = [[(draw.choice(weights), source())] for _ in range(many)]
        elif kind in ("softmax", "normalize"):
            length, apart = draw.choice([1, 2, 2, 3]), draw.choice([1, 1, 2])
            many = length * apart * draw.randint(1, 2)
            lines = f" lines of {length} by {apart}" + draw.choice(["", " coupled" if kind == "normalize" else " logarithm"])
            rows = [[("1", source())] for _ in range(many)]
        else:
            terms = 2 if kind == "product" else draw.randint(1, 3)
            rows = [[("1", source()) for _ in range(terms)] for _ in range(many)]
        eps = draw.choice(["1", "1/4", "0"])
        name = draw.choice(["exp", "log", "root", "elu", "above", "softplus", "reciprocal"])
        more = {"piecewise": kinks, "dividing": " dividing", "function": f" {name}", "window": " MaxPool", "over-root": f" {eps}",
                "softmax": lines, "normalize": f" {eps}{lines}"}.get(kind, "")
        net["steps"].append((kind.replace("dividing", "linear"), more, rows))
        sizes.append(many)
    net["y"] = [Fraction(draw.randint(-2, 2)) for _ in range(len(net["x"]) * sizes[-1])]
    return net


def ask(verified, work, tape, proof):
    """The first line of the answer."""
    (work / "a.tape").write_text(tape)
    (work / "a.proof").write_bytes(proof)
    return proofs.says(verified, work / "a.proof", work / "a.tape", "--tape")[1]


def of_drawn(verified, work, seed):
    """('verified', 'right', 'wrong' or 'rejected', what is wrong or None)."""
    draw = random.Random(seed)
    net = drawn(draw)
    d = [Fraction(draw.randint(-2, 2)) for _ in net["w"]]
    said = ask(verified, work, text_of(net), proof_of(net, [d] if any(d) else []))
    if said == "VERIFIED" or said.startswith("REJECTED"):
        met, beside = [], []
        try:
            ad = gradient(net, net["w"], met)
            near = gradient(net, [v + NEAR * (u + BESIDE / NEAR * draw.randint(-999, 999)) for v, u in zip(net["w"], d)], beside)
        except ValueError:  # a root of no positive number, a division by 0, a jump
            wrong = f"seed {seed}: verified, outside of a function's domain"
            return said.split(":")[0].lower(), wrong if said == "VERIFIED" else None
        except (ZeroDivisionError, OverflowError):  # beyond the bits of this reading
            return "not told", None
        right = size([a - b for a, b in zip(ad, near)]) < Fraction(1, 2**200)
        if said == "VERIFIED":
            return "verified", None if right else f"seed {seed}: verified, but AD gives {ad}, beside the direction it is {near}"
        return "rejected", None if met or not right else f"seed {seed}: rejected, and nothing is at a kink"
    return said, f"seed {seed}: {said}"


# ---- By hand


RELU = ("piecewise", " Relu kinks 0 at 0 pieces 0 0 0 0 1 0", [[("1", "1.0")]])


def net_of(steps, w=(0,), **more):
    return {"w": [Fraction(v) for v in w], "x": [[Fraction(1)]], "loss": "sum", "steps": steps,
            "rules": ["proxy PRelu 0 0", "proxy Relu 0 0", "tie MaxPool first"], **more}


def relu_behind(steps, w, before=()):
    """relu of what steps make of w; `before` is subtracted from it."""
    n = len(steps) + 1
    row = [("1*1", f"{n}.0"), *before]
    return net_of([("linear", "", [[("1*0@0", "0.0")]]), *steps, ("linear", "", [row]), (*RELU[:2], [[("1", f"{n + 1}.0")]])], w=(w,))


def with_domains(down, up):
    """Of functions at the border of their domain, and where relu of them is at its kink; at 0 AD takes relu's slope 0."""
    def case(name, net, direction, expected):
        return name, text_of(net), proof_of(net, direction), expected
    log, above, elu = ([("function", f" {name}", [[("1", "1.0")]])] for name in ("log", "above", "elu"))
    plus, by_0 = [("function", " softplus", [[("1", "1.0")]])], [("linear", " dividing", [[("1*0", "1.0")]])]
    quotient, reciprocal = [("linear", " dividing", [[("2*0@0", "1")]])], [("function", " reciprocal", [[("1", "1.0")]])]
    lined = [("softmax", " lines of 1 by 1 logarithm", [[("1", "1.0")]])]
    hinge = " kinks 0 at 0 pieces 0 0 0 0 0 1"
    huber, ruled = ([("piecewise", f" {op}{hinge}", [[("1", "1.0")]])] for op in ("Huber", "Abs"))
    wrong = {**relu_behind(ruled, 0), "rules": ["proxy Abs 0 1", "proxy Relu 0 0"]}
    yield case("a logarithm of 0", relu_behind(log, 0), up, "REJECTED")
    yield case("a logarithm of what is below 0", relu_behind(log, -1), down, "REJECTED")
    yield case("a logarithm of 1, down", relu_behind(log, 1), down, "VERIFIED")
    yield case("a logarithm of 1, up", relu_behind(log, 1), up, "REJECTED")
    yield case("a logarithm of 1, nowhere", relu_behind(log, 1), [], "REJECTED")
    yield case("a quotient by 0", relu_behind(quotient, 0), up, "REJECTED")
    yield case("a quotient by a constant 0", relu_behind(by_0, 1), up, "OUTSIDE")
    yield case("a quotient by what is below 0, up", relu_behind(quotient, -2, [("1*1", "1")]), up, "VERIFIED")
    yield case("a quotient by what is below 0, down", relu_behind(quotient, -2, [("1*1", "1")]), down, "REJECTED")
    # 2048 + w times 2 / w, at -2048: it moves against w
    by_much = net_of([("linear", "", [[("1*0@0", "0.0"), ("1*2048", "1")]]), *quotient, ("product", "", [[("1", "1.0"), ("1", "2.0")]]),
                      (*RELU[:2], [[("1", "3.0")]])], w=(-2048,))
    yield case("a quotient by much below 0, up", by_much, up, "VERIFIED")
    yield case("a quotient by much below 0, down", by_much, down, "REJECTED")
    yield case("1 over 0", relu_behind(reciprocal, 0), up, "REJECTED")
    yield case("1 over 2 less a half, up", relu_behind(reciprocal, 2, [("1*-1/2", "1")]), up, "VERIFIED")
    yield case("1 over 2 less a half, down", relu_behind(reciprocal, 2, [("1*-1/2", "1")]), down, "REJECTED")
    yield case("a jump", relu_behind(above, 0), up, "REJECTED")
    yield case("beside a jump", relu_behind(above, 1), [], "VERIFIED")
    yield case("0 beside a jump, which stays 0", relu_behind(above, -1), [], "VERIFIED")
    yield case("elu, down", relu_behind(elu, 0), down, "VERIFIED")
    yield case("elu, up", relu_behind(elu, 0), up, "REJECTED")
    yield case("softplus", relu_behind(plus, 0), [], "VERIFIED")
    yield case("softplus of much", relu_behind(plus, 500), [], "REJECTED")
    yield case("the logarithm of a softmax of one", relu_behind(lined, 1, [("1*1", "1")]), [], "VERIFIED")
    yield case("a square above 0, w not moving along w", relu_behind(huber, 0), up, "REJECTED")
    yield case("a square above 0 and w, down", relu_behind(huber, 0, [("1*1", "1.0")]), down, "VERIFIED")
    yield case("a square above 0 and w, up", relu_behind(huber, 0, [("1*1", "1.0")]), up, "REJECTED")
    yield case("a slope that AD does not take", wrong, down, "OUTSIDE")
    yield case("an unknown function", relu_behind([("function", " sine", [[("1", "1.0")]])], 1), up, "OUTSIDE")


def of_samples(down):
    """Of samples that the loss ignores, masks, and samples that are not together."""
    entries = ("linear", "", [[("1*0@0", "0.0")], [("1*0@1", "0.0")]])
    relus = (*RELU[:2], [[("1", "1.0")], [("1", "1.1")]])
    # the second sample moves to the other side
    both = net_of([entries, relus], w=(0, 1), x=[[Fraction(1)], [Fraction(-1)]], loss="ce", y=[0, 1])
    d = [[Fraction(-1), Fraction(0)]]
    for ignored, expected in (1, "VERIFIED"), (0, "REJECTED"), (-100, "REJECTED"):
        yield f"the label {ignored} ignored", text_of({**both, "own": f"ce ignoring {ignored}"}), proof_of(both, d), expected
    yield "all ignored", text_of({**both, "y": [1, 1], "own": "ce ignoring 1"}), proof_of(both, d), "OUTSIDE"
    summed = proof_of({**both, "loss": "sum"}, d)
    yield "another loss than that which ignores", text_of({**both, "own": "ce ignoring 1"}), summed, "OUTSIDE"
    linear, norm = ("linear", "", [[("1*0@0", "0.0")]]), ("normalize", " 1 lines of 1 by 1 coupled", [[("1", "1.0")]])
    coupled = net_of([linear, norm, ("linear", "", [[("1*1", "2.0"), ("1*4", "1")]]), (*RELU[:2], [[("1", "3.0")]])], w=(1,), x=[[1], [2]])
    lines = text_of(coupled).split("\n")[2:-2]
    apart = ["tape 1", "samples 2 together 1", *lines]
    short = [line for line in apart if not line.startswith(" ")]
    yield "samples that are coupled", text_of(coupled), proof_of(coupled, down), "VERIFIED"
    apart = "\n".join([*apart, f"hash {hashed(short)}", ""])
    yield "samples that are coupled, and not together", apart, proof_of(coupled, down), "OUTSIDE"
    for mask, expected in ([[1], [0]], "VERIFIED"), ([[1], [1]], "REJECTED"):
        masked = net_of([("input", "", mask), ("product", "", [[("1", "0.0"), ("1", "1.0")]]), ("linear", "", [[("1*0@0", "2.0")]]),
                         (*RELU[:2], [[("1", "3.0")]])], x=[[1], [-1]])
        yield f"a mask {mask}", text_of(masked), proof_of(masked, down), expected
    behind = net_of([("input", "", [[1]]), ("linear", "", [[("1*0@0", "0.1")]]), (*RELU[:2], [[("1", "2.0")]])])
    yield "a mask's entry as x's", text_of(behind), proof_of(behind, down), "OUTSIDE"


def with_means(down):
    """Of ties of which AD takes a mean: of one function, and of two."""
    for tie in "mean", "hybrid 1/2", "stable", "last":
        for second, expected in ("1*0@0", "VERIFIED"), ("2*0@0", "REJECTED" if tie != "last" else "VERIFIED"):
            entries = ("linear", "", [[("1*0@0", "0.0")], [(second, "0.0")]])
            net = net_of([entries, ("window", " MaxPool", [[("1", "1.1"), ("1", "1.0")]])])
            net["rules"] = ["proxy Relu 0 0", f"tie MaxPool {tie}"]
            yield f"a tie of {second}, {tie}", text_of(net), proof_of(net, down), expected


def by_hand(verified, work):
    """What is wrong about cases whose answer is known."""
    linear = ("linear", "", [[("1*0@0", "0.0")]])
    relu = net_of([linear, RELU])
    tape, beside = text_of(relu), {**relu, "w": [Fraction(0), Fraction(0)]}
    hash_ = tape.rstrip().rpartition(" ")[2]
    window = net_of([("linear", "", [[("1*0@0", "0.0")], [("2*0@0", "0.0")]]), ("window", " MaxPool", [[("1", "1.0"), ("1", "1.1")]])])
    same = net_of([("linear", "", [[("1*0@0", "0.0")], [("1*0@0", "1")]]), ("window", " MaxPool", [[("1", "1.0"), ("1", "1.1")]])])
    weighed = net_of([linear, ("piecewise", " PRelu kinks 0 at 0 pieces 0 0 0 0 1 0", [[("1*1", "1.0")]])], w=(-1,))
    jump = net_of([linear, ("piecewise", " Relu kinks 0 at 0 pieces 0 0 0 1 1 0", [[("1", "1.0")]])])
    square = net_of([linear, ("piecewise", " Relu kinks 0 at 0 pieces 0 0 0 0 1 1", [[("1", "1.0")]])])
    smooth = net_of([linear, ("piecewise", " Relu kinks 0 at 0 pieces 0 1 0 0 1 1", [[("1", "1.0")]])])
    leaky = {**weighed, "w": [Fraction(0)], "rules": ["proxy PRelu 0 left"]}
    two_weights = net_of([("linear", "", [[("1*0@0", "0.0")], [("1*0@0", "0.0")]]),
                          ("piecewise", " PRelu kinks 0 at 0 pieces 0 0 0 0 1 0", [[("1*0@1", "1.0")], [("1", "1.1")]])], w=(0, 2))
    entropy = net_of([("linear", "", [[("1*0@0", "0.0")], [("1*0@1", "0.0")]]), ("piecewise", RELU[1], [[("1", "1.0")], [("1", "1.1")]])],
                     w=(0, 1), loss="ce", y=[1])
    below = [("1*0@0", "0.0"), ("1*-1", "1")]
    entries = ("linear", "", [[("1*0@0", "0.0")], [("2*0@0", "0.0")]])
    lined = " lines of 2 by 1"
    # behind a function that is not 0, relu of w; of entries that are equal; of what has no root
    softmax = net_of([entries, ("softmax", lined, [[("1", "1.0")], [("1", "1.1")]]),
                      ("product", "", [[("1", "2.0"), ("1", "1.0")]]), ("piecewise", RELU[1], [[("1", "3.0")]])])
    equal = net_of([entries, ("normalize", " 1" + lined, [[("1", "1.0")], [("1", "1.1")]]),
                    ("linear", "", [[("1*1", "2.0"), ("1*1", "1.0")]]), ("piecewise", RELU[1], [[("1", "3.0")]])])
    flat = net_of([entries, ("normalize", " 0" + lined, equal["steps"][1][2])])
    rooted = net_of([linear, ("over-root", " 1", [[("1*-1", "1.0")]])])
    over = net_of([linear, ("over-root", " 2", [[("1*-1", "1.0")]]), ("linear", "", [[("1*0@0", "2.0")]]),
                   ("piecewise", RELU[1], [[("1", "3.0")]])])
    at_zero = net_of([("linear", "", [below]), ("over-root", " 3", [[("1*0", "1.0")]]), ("linear", "", [[("1*1", "2.0"), ("1*1", "2.0")]]),
                      ("piecewise", RELU[1], [[("1", "3.0")]])], w=(1,))
    # of two samples, w and 2 w: their mean is moved by both; a sample by itself has the variance 0
    two = [[Fraction(1)], [Fraction(2)]]
    coupled = {**net_of([linear, ("normalize", " 1 lines of 1 by 1 coupled", [[("1", "1.0")]]), ("piecewise", RELU[1], [[("1", "2.0")]])]), "x": two}
    others = {**coupled, "steps": [linear, ("normalize", " 1 lines of 1 by 1 coupled", [[("1", "1.1")]]), coupled["steps"][2]]}
    alone = {**coupled, "steps": [linear, ("normalize", " 1 lines of 1 by 1", [[("1", "1.0")]]), coupled["steps"][2]]}
    odd = net_of([entries, ("softmax", " lines of 3 by 1", [[("1", "1.0")], [("1", "1.1")]])])
    none = net_of([entries, ("softmax", " lines of 0 by 1", [[("1", "1.0")], [("1", "1.1")]])])
    apart = net_of([entries, ("softmax", " lines of 2 by 0", [[("1", "1.0")], [("1", "1.1")]])])
    empty = net_of([linear, ("window", " MaxPool", [[("1", "-")]])])
    down, up = [[Fraction(-1)]], [[Fraction(1)]]
    cases = [*with_domains(down, up), *of_samples(down), *with_means(down),
        ("relu, down", tape, proof_of(relu, down), "VERIFIED"),
        ("a parameter that is called as blocks are", text_of({**relu, "name": "values"}), proof_of({**relu, "name": "values"}, down), "VERIFIED"),
        ("relu, up", tape, proof_of(relu, up), "REJECTED"),
        ("relu, nowhere", tape, proof_of(relu, []), "REJECTED"),
        ("relu, down at last", text_of(beside), proof_of(beside, [[Fraction(0), Fraction(1)], [Fraction(-1), Fraction(0)]]), "VERIFIED"),
        ("a direction without a move", text_of(beside), proof_of(beside, [[Fraction(0), Fraction(0)], [Fraction(-1), Fraction(0)]]), "REJECTED"),
        ("a proof that names the tape", tape, proof_of(relu, down, [f"tape {hash_}"]), "VERIFIED"),
        ("a proof that names another", tape, proof_of(relu, down, [f"tape {'1' * 64}"]), "REJECTED"),
        ("a block of other lines", tape.replace("\n 1*0@0\n", "\n 0*0@0\n"), proof_of(relu, down), "REJECTED"),
        ("a tie, down", text_of(window), proof_of(window, down), "VERIFIED"),
        ("a tie, up", text_of(window), proof_of(window, up), "REJECTED"),
        ("a tie of one function", text_of(same), proof_of(same, []), "VERIFIED"),
        ("a slope that is a constant 1", text_of(weighed), proof_of(weighed, []), "OUTSIDE"),
        ("a jump", text_of(jump), proof_of(jump, down), "OUTSIDE"),
        ("a square", text_of(square), proof_of(square, down), "VERIFIED"),
        ("a square, up", text_of(square), proof_of(square, up), "REJECTED"),
        ("pieces with one slope where they meet", text_of(smooth), proof_of(smooth, down), "OUTSIDE"),
        ("a leaky relu of the weight 1, which has no kink", text_of(leaky), proof_of(leaky, down), "VERIFIED"),
        ("weights and none", text_of(two_weights), proof_of(two_weights, down), "OUTSIDE"),
        ("cross entropy", text_of(entropy), proof_of(entropy, [[Fraction(-1), Fraction(0)]]), "VERIFIED"),
        ("cross entropy, the model's own", text_of({**entropy, "own": "ce"}), proof_of(entropy, [[Fraction(-1), Fraction(0)]]), "VERIFIED"),
        ("cross entropy that ignores a class", text_of({**entropy, "own": "ce ignoring 1"}), proof_of(entropy, [[Fraction(-1), Fraction(0)]]), "OUTSIDE"),
        ("cross entropy, a label that is no class", text_of({**entropy, "y": [2]}), proof_of(entropy, down * 1), "OUTSIDE"),
        ("a softmax, down", text_of(softmax), proof_of(softmax, down), "VERIFIED"),
        ("a softmax, up", text_of(softmax), proof_of(softmax, up), "REJECTED"),
        ("the variance 0 plus a number, down", text_of(equal), proof_of(equal, down), "VERIFIED"),
        ("the variance 0 plus a number, up", text_of(equal), proof_of(equal, up), "REJECTED"),
        ("of both samples, one of which goes up", text_of(coupled), proof_of(coupled, down), "REJECTED"),
        ("a feature that is another sample's", text_of(others), proof_of(others, down), "OUTSIDE"),
        ("of each sample, which does not move", text_of(alone), proof_of(alone, down), "REJECTED"),
        ("the variance 0", text_of(flat), proof_of(flat, down), "REJECTED"),
        ("over the root of 0", text_of(rooted), proof_of(rooted, down), "REJECTED"),
        ("w times w over a root, which does not move along w", text_of(over), proof_of(over, down), "REJECTED"),
        ("0 over a root, down", text_of(at_zero), proof_of(at_zero, down), "VERIFIED"),
        ("0 over a root, up", text_of(at_zero), proof_of(at_zero, up), "REJECTED"),
        ("a line that is too long", text_of(odd), proof_of(odd, down), "OUTSIDE"),
        ("lines of one entry, again", text_of(apart), proof_of(apart, down), "OUTSIDE"),
        ("lines of nothing", text_of(none), proof_of(none, down), "OUTSIDE"),
        ("a window of padding", text_of(empty), proof_of(empty, []), "OUTSIDE"),
        ("a rule that is not there", tape, proof_of({**relu, "rules": []}, down), "OUTSIDE"),
    ]
    for name, text, proof, expected in cases:
        said = ask(verified, work, text, proof)
        if not said.startswith(expected):
            yield f"{name}: {expected} is expected, and it says {said}"


def main():
    """Asks about all."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("verified")
    arguments.add_argument("--number", type=int, default=400)
    arguments.add_argument("--seed", type=int, default=1)
    asked = arguments.parse_args()
    counts = {}
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        failed = list(by_hand(asked.verified, work))
        for i in range(asked.number):
            word, wrong = of_drawn(asked.verified, work, asked.seed * 1000003 + i)
            counts[word] = counts.get(word, 0) + 1
            failed += [wrong] if wrong else []
    if min(counts.get("verified", 0), 3 * counts.get("rejected", 0)) < asked.number // 8:
        failed.append("too few are verified, or rejected")
    print(counts, *failed, sep="\n")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
