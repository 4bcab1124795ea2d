"""Maximal affine pieces, beside the definition.

    test_pieces.py TOOLS

Drawn functions of two variables are cut by all lines on which some kink lies, extended through the whole box. Across each segment of
each line two cells meet; they are joined when the function is the same affine one on both sides. What is joined is counted.

With a tent of a third variable added each piece becomes four in a box; around a point it becomes two, whatever linear change of the
three variables comes before.
"""

import json
import random
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from draw import draw_count  # noqa: E402
sys.path.append(str(Path(__file__).resolve().parents[1] / "tools"))
from listed import listed  # noqa: E402
from schema import obeyed  # noqa: E402

CLARKE = Path(sys.argv[1]) / "clarke"
ROOT = Path(__file__).resolve().parents[2]
failures = []


def expect(what, holds, *more):
    if not holds:
        failures.append(what)
        print("FAILED:", what, *more)


def patterns(*words):
    return listed(obeyed(subprocess.run([CLARKE, "patterns", *map(str, words)], text=True, capture_output=True, timeout=300)))


# --- drawn functions ----------------------------------------------------------------------------

def draw(rng):
    """Layers: of each neuron its kind, coefficients and offset; the last is the output, a sum."""
    layers, width = [], 2
    for _ in range(rng.randint(1, 2)):
        neurons = [(rng.choice(["relu", "relu", "abs"]), [rng.randint(-2, 2) for _ in range(width)], rng.randint(-2, 2))
                   for _ in range(rng.randint(1, 3))]
        if rng.random() < .5 and len(neurons) > 1:  # the same again, the other way: sums of both are often one function
            kind, row, offset = neurons[0]
            neurons[1] = (kind, [-c for c in row], -offset)
        layers.append(neurons)
        width = len(neurons)
    layers.append([("", [rng.choice([-1, 0, 1, 1]) for _ in range(width)], 0)])
    return layers


def text(layers):
    lines, before = ["input x[2]"], ["x[0]", "x[1]"]
    for k, neurons in enumerate(layers):
        sums = [" + ".join("%d * %s" % (c, b) for c, b in zip(row, before)) + " + %d" % offset for _, row, offset in neurons]
        if k + 1 == len(layers):
            lines.append("output " + sums[0])
            break
        lines += ["let n%d_%d = %s(%s)" % (k, i, kind, s) for i, ((kind, _, _), s) in enumerate(zip(neurons, sums))]
        before = ["n%d_%d" % (k, i) for i in range(len(neurons))]
    return "\n".join(lines) + "\n"


def forms(layers, at):
    """The affine form (a, b, c) of the output around a point off all kinks, and those of the kinks' arguments."""
    here, kinks = [(1, 0, 0), (0, 1, 0)], []
    for neurons in layers:
        after = []
        for kind, row, offset in neurons:
            form = tuple(sum(c * f[j] for c, f in zip(row, here)) + (offset if j == 2 else 0) for j in range(3))
            if kind:
                kinks.append(form)
                value = form[0] * at[0] + form[1] * at[1] + form[2]
                factor = 1 if value > 0 else -1 if kind == "abs" and value < 0 else 0
                form = tuple(factor * f for f in form)
            after.append(form)
        here = after
    return here[0], kinks


# --- the definition -----------------------------------------------------------------------------

def line(form):
    """In lowest terms; None of a constant."""
    a, b, c = map(Fraction, form)
    if a == b == 0:
        return None
    first = a if a != 0 else b
    return (a / first, b / first, c / first)


def at_line(l, x):
    return l[0] * x[0] + l[1] * x[1] + l[2]


def middles(l, lines, low, high):
    """Points between any two neighbouring crossings of a line with others, inside the square."""
    a, b, c = l
    start = (-a * c / (a * a + b * b), -b * c / (a * a + b * b))
    ts = []
    for other in lines:
        slope = -other[0] * b + other[1] * a
        if slope != 0:
            ts.append(-at_line(other, start) / slope)
    ts = sorted(set(ts))
    for s, t in zip(ts, ts[1:]):
        x = (start[0] - b * (s + t) / 2, start[1] + a * (s + t) / 2)
        if all(low < v < high for v in x):
            yield x


def pieces(layers, points, low, high):
    """Cells are the sign vectors of all lines."""
    lines = {line(f) for at in points for f in forms(layers, at)[1]} - {None}
    cuts = lines | {(1, 0, -low), (1, 0, -high), (0, 1, -low), (0, 1, -high)}
    parent = {}

    def cell(x):
        signs = tuple(at_line(l, x) > 0 for l in ordered)
        parent.setdefault(signs, signs)
        return signs

    def root(c):
        while parent[c] != c:
            c = parent[c]
        return c

    ordered = sorted(lines)
    for x in points:
        cell(x)
    for l in ordered:
        for x in middles(l, cuts, low, high):
            near = min([abs(at_line(o, x)) / (abs(o[0]) + abs(o[1])) for o in cuts if at_line(o, x) != 0] + [Fraction(1)]) / 8
            sides = [(x[0] + s * near * l[0], x[1] + s * near * l[1]) for s in (-1, 1)]
            if max(abs(l[0]), abs(l[1])) > 1:
                sides = [(x[0] + s * near * l[0] / abs(l[1]), x[1] + s * near * l[1] / abs(l[1])) for s in (-1, 1)]
            one, other = map(cell, sides)
            if forms(layers, sides[0])[0] == forms(layers, sides[1])[0]:
                parent[root(one)] = root(other)
    return len({root(c) for c in parent})


def compare(rng, folder):
    more = joined = 0
    for _ in range(draw_count(100)):
        layers = draw(rng)
        (folder / "f.prog").write_text(text(layers))
        (folder / "box").write_text("-2 2\n-2 2\n")
        said = patterns(folder / "f.prog", "--box", folder / "box", "--pieces", "--json")
        expect("asked", said.returncode == 0, said, text(layers))
        found = json.loads(said.stdout)
        points = [tuple(map(Fraction, r["at"])) for r in found["regions"]]
        expected = pieces(layers, points, -2, 2)
        expect("pieces", int(found["pieces"]) == expected, found["pieces"], expected, text(layers))
        more += expected > int(found["functions"])
        joined += expected < int(found["patterns"])
        count = patterns(folder / "f.prog", "--box", folder / "box", "--pieces", "--count").stdout
        expect("the number alone", count == found["pieces"] + "\n", count)
        (folder / "near").write_text("-1/1000 1/1000\n-1/1000 1/1000\n")  # no other line comes so near to 0
        around = json.loads(patterns(folder / "f.prog", "--at", "0,0", "--pieces", "--json").stdout)
        near = json.loads(patterns(folder / "f.prog", "--box", folder / "near", "--pieces", "--json").stdout)
        expect("around the point", around["pieces"] == near["pieces"], around, near, text(layers))
    expect("of several pieces one function, and pieces of several patterns", more >= draw_count(2) and joined > draw_count(20), more, joined)


TENT = "relu(x[2] + 1) - 2 * relu(x[2]) + relu(x[2] - 1)"  # 0, up, down, 0: four pieces, three functions


def sheared(rng, program):
    """The same after an invertible linear change of three variables."""
    rows = [[1, rng.randint(-2, 2), rng.randint(-2, 2)], [0, 1, rng.randint(-2, 2)], [rng.randint(-1, 1), 0, 1]]
    if 1 - rows[2][0] * (rows[0][2] - rows[0][1] * rows[1][2]) == 0:
        rows[2][0] = 0
    sums = ["(" + " + ".join("%d * y[%d]" % (c, j) for j, c in enumerate(row)) + ")" for row in rows]
    for i, name in enumerate(("x[0]", "x[1]", "x[2]")):
        program = program.replace(name, sums[i])
    return program.replace("input x[3]", "input y[3]")


def three_variables(rng, folder):
    (folder / "square").write_text("-2 2\n-2 2\n")
    (folder / "cube").write_text("-2 2\n" * 3)
    several = 0
    for _ in range(draw_count(25)):
        plane = text(draw(rng))
        space = plane.replace("x[2]", "x[3]").replace("output ", "output %s + " % TENT)
        (folder / "plane.prog").write_text(plane)
        (folder / "space.prog").write_text(space)
        (folder / "sheared.prog").write_text(sheared(rng, space))
        flat = json.loads(patterns(folder / "plane.prog", "--box", folder / "square", "--pieces", "--json").stdout)
        solid = json.loads(patterns(folder / "space.prog", "--box", folder / "cube", "--pieces", "--json").stdout)
        expect("four times as many", int(solid["pieces"]) == 4 * int(flat["pieces"]), solid["pieces"], flat["pieces"], space)
        several += int(solid["pieces"]) < int(solid["patterns"])
        around = json.loads(patterns(folder / "plane.prog", "--at", "0,0", "--pieces", "--json").stdout)
        turned = json.loads(patterns(folder / "sheared.prog", "--at", "0,0,0", "--pieces", "--json").stdout)
        expect("twice as many", int(turned["pieces"]) == 2 * int(around["pieces"]), turned["pieces"], around["pieces"], space)
    expect("pieces of several patterns", several > draw_count(10), several)


def known(folder):
    for inputs, body, expected in [
            (1, "output max(0, 1 - abs(x[0]))", (4, 3, 4)), (2, "output max(0, 1 - abs(x[0])) + 0 * x[1]", (4, 3, 4)),
            (3, "output relu(relu(x[0]) + relu(x[1]) + relu(x[2]) - 1)", None), (3, "output max(0, 1 - abs(x[0]) - abs(x[1]) - abs(x[2]))", None),
            (3, "output relu(x[0]) - relu(-x[0]) + x[1] - x[2]", (2, 1, 1)),
            (3, "output relu(1 - relu(x[0]) - relu(x[1])) * 2 + 0 * x[2]", None)]:
        (folder / "f.prog").write_text("input x[%d]\n%s\n" % (inputs, body))
        (folder / "box").write_text("-2 2\n" * inputs)
        found = json.loads(patterns(folder / "f.prog", "--box", folder / "box", "--pieces", "--json").stdout)
        if expected is not None:
            expect("known", (int(found["patterns"]), int(found["functions"]), int(found["pieces"])) == expected, body, found)
        else:  # where the function is 0 is connected, or all of it is another piece
            expect("connected", found["pieces"] == found["functions"] and found["patterns"] != found["pieces"], body, found)
    (folder / "f.prog").write_text("input x[2]\noutput relu(-max(-x[0], -x[1])) + relu(-max(x[0], x[1]))\n")
    (folder / "box").write_text("-2 2\n-2 2\n")
    found = json.loads(patterns(folder / "f.prog", "--box", folder / "box", "--pieces", "--json").stdout)
    expect("squares that meet in a corner", (found["functions"], found["pieces"]) == ("5", "6"), found)
    (folder / "box").write_text("-2 2\n" * 3)
    least, least_too = "-max(-x[0], -x[1], -x[2])", "-max(x[0], x[1], x[2])"
    for what, body, expected in [
            ("wedges that meet in an edge", "relu(-max(-x[0], x[1])) + relu(-max(x[0], -x[1])) + 0 * x[2]", ("5", "6")),
            ("octants that meet in a corner", "-max(-relu(max(x[0], x[1], x[2])), -relu(max(-x[0], -x[1], -x[2])))", ("7", "8")),
            ("all around two octants", "relu(%s) + relu(%s)" % (least, least_too), ("7", "7")),
            ("slabs", "relu(1 - abs(x[0] + x[1] - x[2]))", ("3", "4")), ("layers", TENT + " + 0 * x[0]", ("3", "4"))]:
        (folder / "f.prog").write_text("input x[3]\noutput %s\n" % body)
        found = json.loads(patterns(folder / "f.prog", "--box", folder / "box", "--pieces", "--json").stdout)
        expect(what, (found["functions"], found["pieces"]) == expected, found["functions"], found["pieces"])


def main():
    rng = random.Random(14)
    with tempfile.TemporaryDirectory() as made:
        compare(rng, Path(made))
        known(Path(made))
        three_variables(rng, Path(made))
    bump, square = ROOT / "cases/regions/bump.prog", ROOT / "cases/regions/square.txt"
    said = patterns(bump, "--line=-1,-1", "1,1", "--pieces")
    expect("of segments", said.returncode == 2 and "--pieces goes with --at and --box" in said.stderr, said)
    said = patterns(bump, "--box", square, "--pieces", "--limit", "regions=3", "--json")
    expect("of a part", said.returncode == 3 and '"pieces": null' in said.stdout, said)
    print("%d failures" % len(failures))
    return 1 if failures else 0


sys.exit(main())
