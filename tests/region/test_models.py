"""clarke patterns MODEL, as a command: boxes, points and segments in all their forms, pictures, refusals.

    test_models.py TOOLS
"""

import json
import os
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from draw import draw_count  # noqa: E402
sys.path.append(str(Path(__file__).resolve().parents[1] / "tools"))
from listed import listed  # noqa: E402
from schema import obeyed  # noqa: E402

CLARKE = Path(sys.argv[1]) / "clarke"
ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / "cases/regions"
failures = []


def expect(what, holds, *more):
    if not holds:
        failures.append(what)
        print("FAILED:", what, *more)


def patterns(*words, **environment):
    return listed(obeyed(subprocess.run([CLARKE, "patterns", *map(str, words)], text=True, capture_output=True, timeout=120,
                                        env={**os.environ, **environment})))


BUMP, SQUARE = CASES / "bump.prog", CASES / "square.txt"


def bump(x, y):
    return max(1 - abs(x) - abs(y), 0) + max(x - y, 0), max(x, y, 0)


def boxes(folder):
    """Each region's affine function is the program at its point; text, JSON and counts agree; a query is its table."""
    said = patterns(BUMP, "--box", SQUARE)
    *lines, last = said.stdout.splitlines()
    expect("box", said.returncode == 0 and last == "12 patterns inside the box, 10 affine functions", said)
    found = json.loads(patterns(BUMP, "--box", SQUARE, "--json").stdout)
    expect("JSON", found["patterns"] == "12" and found["functions"] == "10" and found["complete"] is True and found["inputs"] == 2, found)
    expect("JSON's patterns", [r["pattern"] for r in found["regions"]] == [line.split()[0] for line in lines])
    for r in found["regions"]:
        at = [Fraction(x) for x in r["at"]]
        value = tuple(sum(Fraction(g) * x for g, x in zip(row, at)) + Fraction(c) for row, c in zip(r["gradient"], r["constant"]))
        expect("the affine function", value == bump(*at) and all(-2 < x < 2 for x in at), r)
    expect("numbers of functions", len({r["function"] for r in found["regions"]}) == 10)
    expect("a query", patterns(BUMP, "--box", CASES / "square.vnnlib").stdout == said.stdout)
    expect("its count", patterns(BUMP, "--box", CASES / "square.vnnlib", "--count").stdout == "12\n")
    (folder / "thin").write_text("-2 2\n1/2 1/2\n")
    expect("a slice", patterns(BUMP, "--box", folder / "thin", "--slice").stdout.endswith(
        "1101a  at 1 1/2  gradient 1  gradient 1\n4 patterns inside the box, 4 affine functions\n"),
           patterns(BUMP, "--box", folder / "thin", "--slice"))


def points(folder):
    said = patterns(BUMP, "--at", "1/2,1/2")
    *lines, last = said.stdout.splitlines()
    expect("around a point", said.returncode == 0 and last.startswith("%d patterns around the point" % len(lines)), said)
    (folder / "point").write_text("1/2\n1/2\n")
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }\n"
    header = b"\x93NUMPY\1\0" + struct.pack("<H", 118) + header.ljust(117) + b"\n"
    (folder / "point.npy").write_bytes(header.replace(b"\n ", b"  ", 1) + struct.pack("<dd", .5, .5))
    for other in ("0.5,0x1p-1", folder / "point", folder / "point.npy"):
        expect("a point's forms", patterns(BUMP, "--at", other).stdout == said.stdout, patterns(BUMP, "--at", other))
    expect("where it is smooth", patterns(BUMP, "--at=-1,1/3", "--count").stdout == "1\n", patterns(BUMP, "--at=-1,1/3", "--count"))


def segments():
    """Models of ONNX files; both signs of ends; a profile changes nothing."""
    said = patterns(BUMP, "--line", "2,2", "-2,-2")
    expect("a segment", said.returncode == 0 and "The integral of <B - A, AD> is 0 -2, and so is f(B) - f(A)" in said.stdout, said)
    expect("any profile", patterns(BUMP, "--line", "2,2", "-2,-2", "--profile", "tensorflow-2").stdout == said.stdout)
    for model in ("digits-relu-q", "digits-hardtanh-q", "digits-prelu-q"):
        ends = [",".join(["0"] * 64), ",".join("%d/4" % (7 * i % 5) for i in range(64))]
        said = patterns(ROOT / "cases/audit" / (model + ".onnx"), "--line", *ends, "--json")
        found = json.loads(said.stdout)
        expect("a network", said.returncode == 0 and found["agree"] is True and found["integral"] == found["difference"], model)
        pieces = [(Fraction(p["from"]), Fraction(p["to"])) for p in found["pieces"]]
        expect("pieces", pieces[0][0] == 0 and pieces[-1][1] == 1 and all(p[1] == q[0] for p, q in zip(pieces, pieces[1:])), pieces)
        expect("several", len(pieces) > 5 and found["count"] == str(len(pieces)), pieces)


def layers(folder):
    """A list that would go deeper than the stack says so, and derive asks its tree."""
    for n, status, says in (1000, 0, "2\n"), (3000, 3, "kinks lie behind each other in more than 1024 layers"):
        lines = "".join("let a%d = relu(a%d)\n" % (i + 1, i) for i in range(n))
        (folder / "deep.prog").write_text("input t\nlet a0 = t\n%soutput a%d\n" % (lines, n))
        said = patterns(folder / "deep.prog", "--at", "0", "--count", "--proof", folder / "deep.proof")
        expect("layers", (said.returncode, said.stdout.endswith("\n"), says in said.stdout) == (status, True, True), said)
        expect("a proof of a whole list alone", (folder / "deep.proof").exists() == (status == 0), said)
        (folder / "deep.proof").unlink(missing_ok=True)
        done = subprocess.run([CLARKE, "derive", folder / "deep.prog", "--at", "t=0", "--memory", "8G"], capture_output=True, text=True)
        expect("derived", done.returncode == 0 and "\nin-bouligand: " in done.stdout, done)


def pictures(folder):
    """The polygons cover the square once."""
    said = patterns(BUMP, "--box", SQUARE, "--svg", folder / "svg", "--at", "1/2,1", "--count")
    text = (folder / "svg").read_text()
    area = 0
    for path in re.findall(r'<path d="M([^"]*)Z"', text):
        corners = [tuple(map(float, c.split())) for c in path.split("L")]
        area += abs(sum(a[0] * b[1] - a[1] * b[0] for a, b in zip(corners, corners[1:] + corners[:1]))) / 2
    expect("the areas", said.stdout == "12\n" and text.count("<path") == 12 and abs(area - 360000) < 10, area)
    expect("the mark", 'cx="375.00" cy="150.00"' in text)
    said = patterns(ROOT / "cases/audit/digits-relu-q.onnx", "--box", SQUARE, "--svg", folder / "none.svg")
    expect("no picture", said.returncode == 2 and not (folder / "none.svg").exists(), said)


def refusals(folder):
    bad = folder / "bad"
    table = [("1 2\n", "1 by 2 numbers; expected 2 by 2"), ("1 2 3\n4 5 6\n", "expected 2 by 2"), ("1 -1\n0 1\n", "the box is empty"),
             ("0 1\n1 1\n", "the box is flat"), ("0 1\nx 1\n", "is no number")]
    for text, why in table:
        bad.write_text(text)
        said = patterns(BUMP, "--box", bad)
        expect("a box refused", said.returncode == 2 and why in said.stderr and not said.stdout, text, said)
    bad.write_text("1 1\n1 1\n")
    expect("a slice of a point", "the box is a point" in patterns(BUMP, "--box", bad, "--slice").stderr)
    query = folder / "bad.vnnlib"
    declared = "(declare-const X_0 Real)\n(declare-const X_1 Real)\n"
    for text, why in [
            ("", "no input X_0 is declared"), (declared, "X_0 has no lower bound"), (declared + "(assert (>= X_0 0))", "X_0 has no upper bound"),
            (declared + "(assert (or (<= X_0 1) (>= X_0 2)))", "of inputs only <=, >= and their conjunctions"),
            (declared + "(assert (<= X_0 X_1))", "a number is expected"), (declared + "(assert (<= X_2 1))", "not declared"),
            ("(declare-const X_1 Real)", "X_0 first"), (declared + "(assert (<= X_0 1)", "')' is expected"), ("(check-sat)", "'declare-const' or"),
            ("(declare-const X_0 Int)", "'Real' is expected"), (declared + "(assert (< X_0 1))", "of inputs only"),
            ("(declare-const X_0 Real)(assert (<= X_0 1))(assert (<= 0 X_0))", "has 1 number; expected 2"), ("\0", "no text"),
            (declared + "(assert (<= X_0 1e999))", "a number is expected"), ("(declare-const Z Real)", "an input X_i or an output")]:
        query.write_text(text)
        said = patterns(BUMP, "--box", query)
        expect("a query refused", said.returncode == 2 and why in said.stderr and not said.stdout, text, said)
    for words, why in [
            (["--at", "1"], "has 1 number; expected 2"), (["--at", "1,x"], "'x' is no number"), (["--at", "none"], "cannot be opened"), (["--at", "1,,2"], "is no number"),
            (["--line", "0,0"], "--line takes two points"), (["--line", "0,0", "0,0"], "one point"), ([], "one of --at"),
            (["--at", "0,0", "--box", SQUARE], "--at goes beside --box"),
            (["--box", SQUARE, "--line", "0,0", "1,1"], "two questions"),
            (["--at", "0,0", "--svg", "s"], "--svg and --slice go with --box"), (["--at", "0,0", "--slice"], "--svg and --slice go with --box"),
            (["--box", SQUARE, "--profile", "jax-0.10"], "--profile goes with --line"), (["--box", SQUARE, "more"], "one MODEL"),
            (["--at", "0,0", "--arrangement", "V"], "--arrangement goes with"), (["--line", "0,0", "--json", "1,1"], "--line takes two points")]:
        said = patterns(BUMP, *words)
        expect("not asked", said.returncode == 2 and why in said.stderr and bool(said.stdout) == ("--json" in words), words, said)
    for name in ("digits-hardswish-q", "digits-layernorm"):
        said = patterns(ROOT / "cases/audit" / (name + ".onnx"), "--at", ",".join("0" * 64))
        expect("not piecewise linear", said.returncode == 2 and "regions are those of piecewise linear functions" in said.stderr, said)


def limits(folder):
    said = patterns(BUMP, "--box", SQUARE, "--limit", "regions=5")
    expect("a limit", said.returncode == 3 and "at least 5 patterns, " in said.stdout and len(said.stdout.splitlines()) == 6, said)
    for words, part in (["--box", SQUARE], "patterns, "), (["--line=-2,-2", "2,2"], "pieces; "), (["--at", "0,0"], "patterns, "):
        whole = patterns(BUMP, *words)
        for checks in range(1, 40, 2):
            said = patterns(BUMP, *words, CLARKE_STOP_AFTER=str(checks))
            *lines, last = said.stdout.splitlines()
            if said.returncode == 0:
                expect("not stopped", said.stdout == whole.stdout, checks, said)
                continue
            expect("stopped", said.returncode == 3 and last.endswith("undecided: interrupted") and last.startswith(
                "at least %d %s" % (len(lines), part)) or last == "%d pieces; undecided: interrupted" % len(lines), checks, said)
            expect("what was found is so", all(line.replace("slope", "<B - A, AD> =") in whole.stdout for line in lines), checks, said)
        for option, value in ("--timeout", "0"), ("--memory", "1K"):
            said = patterns(BUMP, *words, option, value, "--json")
            expect("over", said.returncode == 3 and json.loads(said.stdout)["stopped"].endswith("(%s %s)" % (option, value)), said)
    expect("a bad time", "is no number of seconds" in patterns(BUMP, "--box", SQUARE, "--timeout", "x").stderr)
    (folder / "large.prog").write_text("input x[12]\n" + "".join(
        "let a%d = relu(%s)\n" % (k, " + ".join("%d * x[%d]" % ((k * 31 + i * i * 17 + k * i * 7) % 23 - 11, i) for i in range(12)))
        for k in range(60)) + "output " + " + ".join("a%d" % k for k in range(60)) + "\n")
    for number in signal.SIGINT, signal.SIGTERM:
        with open(folder / "out", "w") as out:
            child = subprocess.Popen([CLARKE, "patterns", folder / "large.prog", "--at", ",".join("0" * 12), "--as-found"], stdout=out,
                                     stderr=subprocess.PIPE)
            while (folder / "out").stat().st_size < 10000:
                time.sleep(0.01)
            child.send_signal(number)
            child.communicate(timeout=60)
        *lines, last = listed(subprocess.CompletedProcess(child.args, child.returncode, (folder / "out").read_text())).stdout.splitlines()
        expect("interrupted", child.returncode == 3 and last.startswith("at least %d patterns, " % len(lines)) and last.endswith("interrupted"), last)


def as_found():
    """Rows before or behind what is said of all are the same rows, and the same object; pieces of a segment have one order."""
    for words in (["--at", "0,0"], ["--box", SQUARE], ["--box", SQUARE, "--limit", "regions=2"], ["--at", "0,0", "--pieces"]):
        one, other = patterns(BUMP, *words), patterns(BUMP, *words, "--as-found")
        expect("the same rows", one.stdout == other.stdout and one.returncode == other.returncode, words, one, other)
        one, other = (patterns(BUMP, *words, "--json", *more) for more in ([], ["--as-found"]))
        expect("the same object", json.loads(one.stdout) == json.loads(other.stdout), words, one, other)
        expect("their places", list(json.loads(one.stdout))[-1] == list(json.loads(other.stdout))[0] == "regions", one, other)
    expect("a segment", "--as-found goes with" in patterns(BUMP, "--line", "0,0", "1,1", "--as-found").stderr)


def threads(folder):
    """The same bytes whatever their number, whole or cut short."""
    for n, layers, box in (2, (20, 20), 3), (3, (6, 5, 4), 2), (1, (30, 20), 4):
        lines, before = ["input x[%d]" % n], ["x[%d]" % i for i in range(n)]
        for k, width in enumerate(layers):
            lines += ["let a%d_%d = relu(%s + %d/5)" % (k, j, " + ".join("%d/7 * %s" % ((k * 37 + i * i * 13 + i * 5 * j + j * j * 11) % 29 - 14, b)
                      for i, b in enumerate(before)), j % 5 - 2) for j in range(width)]
            before = ["a%d_%d" % (k, j) for j in range(width)]
        (folder / "f.prog").write_text("\n".join(lines + ["output " + " + ".join(before) + ", max(%s, 0)" % ", ".join(before[:3])]) + "\n")
        (folder / "box").write_text("-%d %d\n" % (box, box) * n)
        for words in ["--pieces", "--json"], ["--limit", "regions=70"], ["--json", "--limit", "regions=3"], ["--limit", "work=200000"], ["--json", "--limit", "work=30000"]:
            one, *others = [patterns(folder / "f.prog", "--box", folder / "box", *words, "--threads", t) for t in (1, 2, 5)]
            expect("threads", one.stdout != "" and all((o.stdout, o.returncode) == (one.stdout, one.returncode) for o in others), words, one)
        expect("many", int(patterns(folder / "f.prog", "--box", folder / "box", "--count").stdout) > 20)
    for words in (["--at", "0,0"], ["--box", SQUARE, "--svg", folder / "svg"]):
        expect("of the bump", len({patterns(BUMP, *words, "--threads", t).stdout for t in (1, 2, 5)}) == 1)
    for stop in range(1, 200, 20):
        said = patterns(folder / "f.prog", "--box", folder / "box", "--threads", 2, CLARKE_STOP_AFTER=str(stop))
        *lines, last = said.stdout.splitlines()
        expect("stopped", said.returncode == 0 or (said.returncode == 3 and "at least %d patterns" % len(lines) in last), said)
    expect("a number", "is no number from 1 to 256" in patterns(BUMP, "--at", "0,0", "--threads", 0).stderr)


def in_parameters(folder):
    """Around parameters: the gradients are the Bouligand set that derive finds, on drawn programs and on networks."""
    rng, several = random.Random(5), 0
    for _ in range(draw_count(40)):
        n, m = rng.randint(1, 3), rng.randint(1, 3)
        draw = lambda: [rng.randint(-1, 1) for _ in range(n)]
        hidden = ["let h%d = relu(%s + %d * b)" % (j, " + ".join("%s * x[%d]" % (w, i) for i, w in enumerate(["w[%d]" % i for i in range(n)])), rng.randint(-1, 1))
                  for j in range(m)]
        rest = ["abs(%d * x[0] + %d)" % (rng.randint(-1, 1), rng.randint(0, 1)), "relu(%s)" % " + ".join("%d * h%d" % (rng.randint(-2, 2), j) for j in range(m))]
        (folder / "f.prog").write_text("input x[%d]\ninput w[%d]\ninput b\n" % (n, n) + "\n".join(hidden)
                                       + "\noutput %s * %s + max(h0, %d * w[0])\n" % (rest[0], rest[1], rng.randint(-1, 1)))
        x, w, b = draw(), draw(), rng.randint(-1, 1)
        at = ["--at=x=" + ",".join(map(str, x)), "--at=w=" + ",".join(map(str, w)), "--at=b=%d" % b]
        for wrt in "w", "w,b", "b":
            derived = subprocess.run([CLARKE, "derive", folder / "f.prog", *at, "--wrt", wrt, "--json"], capture_output=True, text=True).stdout
            said = patterns(folder / "f.prog", "--at=" + ",".join(map(str, x + w + [b])), "--wrt", wrt, "--json")
            mine = {tuple(r["gradient"][0]) for r in json.loads(said.stdout)["regions"]}
            expect("as derive", mine == set(map(tuple, json.loads(derived)["bouligand"])), said, derived, (folder / "f.prog").read_text())
            several += len(mine) > 1
    expect("several", several > draw_count(20), several)
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1, 1, 4), }"
    for x in (1, 1, 0, 0), (0, 0, 0, 0), (-1, 2, 2, 3):
        (folder / "x.npy").write_bytes(b"\x93NUMPY\1\0" + struct.pack("<H", 118) + header.ljust(117) + b"\n" + struct.pack("<4d", *x))
        for wrt in "u", "b", "params":
            names = "u,b" if wrt == "params" else wrt
            derived = subprocess.run([CLARKE, "derive", ROOT / "cases/audit/lemma7.onnx", "--at", folder / "x.npy", "--wrt", names, "--json"],
                                     capture_output=True, text=True).stdout
            found = json.loads(patterns(ROOT / "cases/audit/lemma7.onnx", "--at=" + ",".join(map(str, x)), "--wrt", wrt, "--json").stdout)
            mine = {tuple(r["gradient"][0]) for r in found["regions"]}
            expect("of a network", mine == set(map(tuple, json.loads(derived)["bouligand"])), x, wrt, found, derived)
    digits = ROOT / "cases/audit/digits-relu-q.onnx"
    for model, words, why in [
            (digits, ["--at", ",".join("0" * 64), "--wrt", "params", "--pieces"], "--pieces is for one layer at a time"),
            (CASES / "folds.onnx", ["--at=-1,1,x", "--wrt", "params"], "there is no such file; expected numbers with commas between, or a file\n"),
            (CASES / "folds.onnx", ["--at=-1,1,x", "--wrt", "shift", "--line", "0,1", "1,1"], "expected numbers with commas between, or a file\n"),
            (CASES / "folds.onnx", ["--at=-1,1,0", "--wrt", "shift", "--line", "stored", "1"], "--line: the list has 1 number; expected 2"),
            (CASES / "folds.onnx", ["--at=-1,1,0", "--wrt", "shift", "--line", "stored", "stored"], "both ends are one point"),
            (digits, ["--at", ",".join("0" * 64), "--wrt", "none"], "has no parameter 'none'"), (BUMP, ["--at", "0,0", "--wrt", "y"], "no input 'y'"),
            (BUMP, ["--box", SQUARE, "--wrt", "x"], "--wrt goes with --at"), (BUMP, ["--line", "0,0", "1,1", "--wrt", "x"], "--wrt goes with --at"),
            (CASES / "neuron.prog", ["--at", "1,1,1,1,-2", "--wrt", "w,b", "--box", SQUARE], "expected 3 by 2"),
            (ROOT / "cases/audit/digits-batchnorm.onnx", ["--at", ",".join("0" * 64), "--wrt", "4.bias", "--proof", folder / "p"], "a proof with --wrt is of sums"), (BUMP, ["--at", "0", "--wrt", "x"], "has 1 number; expected 2")]:
        said = patterns(model, *words)
        expect("not asked", said.returncode == 2 and why in said.stderr and not said.stdout, words, said)
    expect("the inputs", patterns(BUMP, "--at", "0,0", "--wrt", "inputs").stdout == patterns(BUMP, "--at", "0,0").stdout)
    expect("all inputs", patterns(BUMP, "--at", "0,0", "--wrt", "x").stdout == patterns(BUMP, "--at", "0,0").stdout)


def numbers_used_twice(folder):
    """A sum of which nothing varies is a number for all that use it, be it 0 times the input or what is held."""
    (folder / "twice.prog").write_text("input x\nlet a = 0 * x + 1\noutput relu(x + a) + relu(x - a)\n")
    (folder / "held.prog").write_text("input x, w\nlet e = 2 * x\noutput relu(w + e) + relu(w - e)\n")
    for x, smooth in [(0, ["1"]), (1, ["1", "2"]), (-1, ["0", "1"]), (2, ["2"])]:
        said = json.loads(patterns(folder / "twice.prog", "--at=%d" % x, "--json").stdout)
        expect("zero times the input", sorted(r["gradient"][0][0] for r in said["regions"]) == smooth, x, said)
        said = json.loads(patterns(folder / "held.prog", "--at=1,%d" % (2 * x), "--wrt", "w", "--json").stdout)
        expect("what is held", sorted(r["gradient"][0][0] for r in said["regions"]) == smooth, x, said)
    folds = CASES / "folds.onnx"  # a mean of the input is used by three rows
    said = patterns(folds, "--at=0,1,0", "--wrt", "shift", "--count")
    derived = patterns(folds, "--at=0,1,0", "--wrt", "shift")
    expect("a mean", said.stdout == "2\n" and "111  along" in derived.stdout, said, derived)


def boxes_of_parameters(folder):
    """The program with its held inputs written into it has the same regions; in a small box around the stored weights of a network are
    those around them."""
    weights, text = CASES / "weights.txt", (CASES / "neuron.prog").read_text()
    for x in [1, 1], [-2, Fraction(1, 3)], [0, 0], [0, 3]:
        held = re.sub(r"x\[(\d)\]", lambda m: "(%s)" % x[int(m[1])], text.replace("input x[2]\n", "").replace("relu(x[0])", "(%s)" % max(x[0], 0)))
        (folder / "held.prog").write_text(held)
        found = [json.loads(patterns(*words, "--json", "--pieces").stdout) for words in
                 ((CASES / "neuron.prog", "--at=" + ",".join(map(str, x + [1, 1, -2])), "--wrt", "w,b", "--box", weights),
                  (folder / "held.prog", "--box", weights))]
        seen = [sorted((tuple(r["gradient"][0]), r["constant"][0]) for r in f["regions"]) for f in found]
        expect("held", seen[0] == seen[1] and found[0]["pieces"] == found[1]["pieces"], x, found)
        for r in found[0]["regions"]:
            expect("a point in the box", len(r["at"]) == 3 and all(a < Fraction(v) < b for v, (a, b) in zip(r["at"], [(-1, 1), (-1, 1), (-2, 0)])), r)
    narrow = patterns(CASES / "neuron.prog", "--at", "1,1,1,1,-2", "--wrt", "w", "--box", SQUARE, "--svg", folder / "w.svg", "--count")
    expect("a picture", narrow.stdout == "4\n" and (folder / "w.svg").read_text().endswith("</svg>\n"), narrow)
    lemma = ROOT / "cases/audit/lemma7.onnx"
    for wrt in "u", "b":
        around = json.loads(patterns(lemma, "--at=1,1,0,0", "--wrt", wrt, "--json").stdout)
        (folder / "small.txt").write_text("-1e-6 1e-6\n" * len(around["regions"][0]["along"]))
        inside = json.loads(patterns(lemma, "--at=1,1,0,0", "--wrt", wrt, "--box", folder / "small.txt", "--json").stdout)
        expect("a network's", around["patterns"] == inside["patterns"], wrt, around, inside)


def main():
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        boxes(folder)
        points(folder)
        segments()
        pictures(folder)
        layers(folder)
        refusals(folder)
        limits(folder)
        threads(folder)
        as_found()
        in_parameters(folder)
        boxes_of_parameters(folder)
        numbers_used_twice(folder)
    print("%d failures" % len(failures))
    return 1 if failures else 0


sys.exit(main())
