"""Points at which chosen neurons of a network of dense ReLU layers are exactly 0, and all patterns around them.

    vertices.py TOOLS MODEL.onnx [TRIES]

With n inputs n equations fix a point. The script draws n neurons, some of the first layer and some of deeper ones, and solves for
a point in rationals: on the affine piece around the last point, until the solution lies in the closure of its own piece. Other
neurons must not be 0 there. n independent kinks have 2^n patterns around them, whatever their layers: on each side of the first
ones the others are independent hyperplanes, too (where they are; the script counts the ranks). Needs onnx and numpy.
"""

import itertools
import json
import random
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path

import onnx
from onnx import numpy_helper

TOOLS, MODEL, TRIES = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 200


def layers():
    """[(rows of W, b)], of Sub, MatMul, Add and Relu nodes, all else being shapes."""
    graph = onnx.load(MODEL).graph
    weights = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    found, shift = [], None
    for node in graph.node:
        if node.op_type == "Sub":
            shift = [Fraction(float(v)) for v in weights[node.input[1]].ravel()]
        elif node.op_type == "MatMul":
            found.append([[[Fraction(float(v)) for v in row] for row in weights[node.input[1]].T], None])
        elif node.op_type == "Add":
            found[-1][1] = [Fraction(float(v)) for v in weights[node.input[1]].ravel()]
    if shift is not None:
        w, b = found[0]
        found[0][1] = [c - sum(a * s for a, s in zip(row, shift)) for row, c in zip(w, b)]
    return found


def forms(net, signs):
    """By hidden layer, each neuron's argument as an affine form of the input, under signs (True: active)."""
    n = len(net[0][0][0])
    here = [[Fraction(int(i == j)) for j in range(n)] + [Fraction(0)] for i in range(n)]
    all_forms = []
    for k, (w, b) in enumerate(net[:-1]):
        args = []
        for row, c in zip(w, b):
            form = [Fraction(0)] * (n + 1)
            for a, f in zip(row, here):
                if f is not None:
                    form = [x + a * y for x, y in zip(form, f)]
            form[n] += c
            args.append(form)
        all_forms.append(args)
        here = [f if signs[k][i] else None for i, f in enumerate(args)]
    return all_forms


def values(net, x):
    """By hidden layer, each neuron's argument at x."""
    here, found = list(x), []
    for w, b in net[:-1]:
        here = [sum(a * v for a, v in zip(row, here) if v) + c for row, c in zip(w, b)]
        found.append(here)
        here = [max(v, 0) for v in here]
    return found


def solve(rows):
    """The x with sum row_j x_j + row_n = 0 for all rows; None when they are dependent."""
    rows, n = [list(r) for r in rows], len(rows)
    for i in range(n):
        pivot = next((k for k in range(i, n) if rows[k][i] != 0), None)
        if pivot is None:
            return None
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [v / rows[i][i] for v in rows[i]]
        for k in range(n):
            if k != i and rows[k][i] != 0:
                rows[k] = [a - rows[k][i] * b for a, b in zip(rows[k], rows[i])]
    return [-r[n] for r in rows]


def vertex(net, rng, chosen, start):
    """A point where exactly the chosen (layer, neuron) are 0, or None."""
    x = start
    for _ in range(12):
        signs = [[v > 0 for v in layer] for layer in values(net, x)]
        all_forms = forms(net, signs)
        x = solve([all_forms[k][i] for k, i in chosen])
        if x is None or max(map(abs, x)) > 100:
            return None
        at = values(net, x)
        if all(at[k][i] == 0 for k, i in chosen):
            return x if sum(v == 0 for layer in at for v in layer) == len(chosen) else None
        x = [v.limit_denominator(10**6) for v in x]
    return None


def expected(net, x, chosen):
    """2^n, when on every choice of sides the chosen neurons' forms are independent; else None."""
    at = values(net, x)
    for sides in itertools.product([False, True], repeat=len(chosen)):
        signs = [[v > 0 for v in layer] for layer in at]
        for (k, i), side in zip(chosen, sides):
            signs[k][i] = side
        all_forms = forms(net, signs)
        if solve([all_forms[k][i] for k, i in chosen]) is None:
            return None
    return 2 ** len(chosen)


def around(x, folder):
    (folder / "x").write_text("".join("%s\n" % v for v in x))
    began = time.time()
    said = subprocess.run([TOOLS / "clarke", "patterns", MODEL, "--at", folder / "x", "--json"], check=True, capture_output=True, text=True)
    return json.loads(said.stdout), time.time() - began


def main():
    rng, net = random.Random(14), layers()
    n, depth = len(net[0][0][0]), len(net) - 1
    print("| of the first layer | of deeper ones | layers | patterns | affine functions | expected | seconds |\n|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as made:
        for first in range(n, -1, -1):
            for _ in range(TRIES):
                start = [Fraction(rng.randint(-300, 300), 1000) for _ in range(n)]
                ranked = sorted((abs(v), k, i) for k, layer in enumerate(values(net, start)) for i, v in enumerate(layer))
                near = [[(k, i) for _, k, i in ranked if (k == 0) == first_layer][:12] for first_layer in (True, False)]
                chosen = rng.sample(near[0], first) + rng.sample(near[1], n - first)
                x = vertex(net, rng, chosen, start)
                count = expected(net, x, chosen) if x is not None else None
                if count is None:
                    continue
                found, took = around(x, Path(made))
                assert int(found["patterns"]) == count and found["complete"], (found["patterns"], count, chosen)
                print("| %d | %d | %s | %s | %s | %d | %.2f |" % (first, n - first, ", ".join(str(k + 1) for k, _ in sorted(chosen)),
                      found["patterns"], found["functions"], count, took), flush=True)
                break
            else:
                print("| %d | %d | none found | | | | |" % (first, n - first), flush=True)


main()
