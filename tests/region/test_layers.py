"""clarke patterns --wrt where what varies is multiplied, as parameters of several layers are: patterns by exact steps to all sides, the
regions of functions that are piecewise linear after all, the sets of derive, and what stays undecided.

    test_layers.py TOOLS
"""

import json
import os
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
    return listed(obeyed(subprocess.run([CLARKE, "patterns", *map(str, words)], text=True, capture_output=True, timeout=120)))


# --- drawn networks --------------------------------------------------------------------------------

class Network:
    """Layers of weights w, u, v on a fixed input; kinks in the order in which the program computes them."""

    def __init__(self, rng):
        self.inputs, self.widths = rng.randint(1, 2), [rng.randint(1, 2) for _ in range(rng.randint(1, 2))]
        self.functions = [rng.choice(["relu", "relu", "relu", "hardtanh", "abs"]) for _ in self.widths]
        self.last = rng.choice(["relu", "max", "none"])
        self.bias, self.names = rng.random() < 0.5, []
        self.skip = rng.random() < 0.4  # behind the first layer, its first weight is added to each argument
        lines, before = [], ["x%d" % i for i in range(self.inputs)]
        for layer, (width, f) in enumerate(zip(self.widths, self.functions)):
            rows = [self.row(layer, j, before) for j in range(width)]
            lines += ["let h%d_%d = %s(%s)" % (layer, j, f, row) for j, row in enumerate(rows)]
            before = ["h%d_%d" % (layer, j) for j in range(width)]
        out = self.row("o", 0, before)
        lines.append("output " + {"relu": "relu(%s)", "max": "max(%s, " + before[0] + ")", "none": "%s"}[self.last] % out)
        data = ["x%d" % i for i in range(self.inputs)]
        self.text = "input %s\ninput %s\n%s\n" % (", ".join(data), ", ".join(self.names), "\n".join(lines))

    def row(self, layer, j, before):
        names = ["w%s_%d_%d" % (layer, j, i) for i in range(len(before))]
        terms = ["%s * %s" % pair for pair in zip(names, before)]
        if self.bias:
            names.append("b%s_%d" % (layer, j))
            terms.append(names[-1])
        self.names += names
        if self.skip and layer != 0:
            terms.append(self.names[0])
        return " + ".join(terms)

    def pattern(self, x, w):
        """The pattern at these weights; None for a kink whose argument is at it."""
        w, found, before = dict(zip(self.names, w)), [], x

        def total(layer, j):
            bias = (w["b%s_%d" % (layer, j)] if self.bias else 0) + (w[self.names[0]] if self.skip and layer != 0 else 0)
            return sum(w["w%s_%d_%d" % (layer, j, i)] * y for i, y in enumerate(before)) + bias

        for layer, (width, f) in enumerate(zip(self.widths, self.functions)):
            after = []
            for j in range(width):
                t = total(layer, j)
                kinks = [-1, 1] if f == "hardtanh" else [0]
                found.append(None if t in kinks else str(sum(t > k for k in kinks)))
                after.append(max(t, 0) if f == "relu" else abs(t) if f == "abs" else min(max(t, -1), 1))
            before = after
        t = total("o", 0)
        if self.last == "relu":
            found.append(None if t == 0 else str(int(t > 0)))
        elif self.last == "max":
            found.append(None if t == before[0] else "ab"[t < before[0]])
        return found


def fits(seen, told):
    """A point says that no side is chosen; of a maximum of what is identical, the first is."""
    return len(seen) == len(told) and all(s == t or (s is None and t in ".a") for s, t in zip(seen, told))


def nearby(w, steps, t):
    return [a + sum(d[k] * t ** (i + 1) for i, d in enumerate(steps)) for k, a in enumerate(w)]


def drawn(rng, folder):
    """What random arcs see is listed; what is listed is seen along its direction or arc; the gradients are derive's."""
    undecided = whole = several = arcs = 0
    for _ in range(draw_count(60)):
        n = Network(rng)
        x = [Fraction(rng.choice([1, 1, -1, 2, 0])) for _ in range(n.inputs)]
        w = [Fraction(rng.choice([0, 0, 0, 1, -1])) for _ in n.names]
        (folder / "f.prog").write_text(n.text)
        words = [folder / "f.prog", "--at=" + ",".join(map(str, x + w)), "--wrt", ",".join(n.names)]
        said = patterns(*words, "--json")
        found = json.loads(said.stdout)
        if "functions" in found: # a smooth one, or of one layer that is multiplied by nothing
            continue
        listed = found["regions"]
        realized = [r for r in listed if "undecided" not in r]
        open_ = len(listed) - len(realized)
        expect("numbers", found["patterns"] == str(len(realized)) and found["undecided"] == str(open_), n.text, found)
        expect("status", said.returncode == (3 if open_ else 0) and found["complete"] == (open_ == 0), said)
        expect("each once", len({r["pattern"] for r in listed}) == len(listed), found)
        expect("gradients", found["gradients"] == str(len({str(r["gradient"]) for r in realized})), found)
        for r in realized:
            steps = [[Fraction(v) for v in d] for d in r.get("arc", [r.get("along")])]
            arcs += "arc" in r
            expect("seen along it", fits(n.pattern(x, nearby(w, steps, Fraction(1, 10 ** 9))), r["pattern"]), n.text, words, r)
        for k in range(150):
            steps = [[Fraction(rng.randint(-9, 9) if rng.random() < 0.8 else 0) for _ in w] for _ in range(1 + k % 3)]
            seen = n.pattern(x, nearby(w, steps, Fraction(1, 10 ** 9)))
            expect("what is seen is listed", None in seen or any(fits(seen, r["pattern"]) for r in listed), n.text, words, steps, seen, said.stdout)
        point = ["--at=%s=%s" % pair for pair in zip(["x%d" % i for i in range(n.inputs)] + n.names, map(str, x + w))]
        derived = json.loads(subprocess.run([CLARKE, "derive", folder / "f.prog", *point, "--wrt", ",".join(n.names), "--json"],
                                            capture_output=True, text=True).stdout)
        if open_ == 0 and derived["bouligand"] is not None:
            expect("as derive", {tuple(r["gradient"][0]) for r in realized} == set(map(tuple, derived["bouligand"])), n.text, found, derived)
        several += len(realized) > 2
        undecided += open_ > 0
        whole += open_ == 0
    expect("enough of each", several > draw_count(15) and whole > draw_count(25) and arcs > draw_count(5), several, undecided, whole, arcs)


# --- what is piecewise linear after all ---------------------------------------------------------------

def both_ways(rng, folder):
    """A product that 0 multiplies makes the same patterns be asked of the tree, and not of the arrangement."""
    for _ in range(draw_count(25)):
        rows = ["%s(%s)" % (rng.choice(["relu", "abs", "hardtanh"]),
                            " + ".join("%d * w%d" % (rng.randint(-2, 2), i) for i in range(3)) + rng.choice(["", " + 1", " + x"])) for _ in range(3)]
        body = "let a = %s\nlet b = %s\nlet c = %s\nlet d = relu(%d * a + b - c)\n" % (*rows, rng.randint(-1, 1))
        head, tail = "input x, w0, w1, w2\n" + body, "output d + max(a, b + w0, 0)"
        point = ["--at=" + ",".join(str(rng.choice([0, 0, 1, -1])) for _ in range(4)), "--wrt", "w0,w1,w2", "--json"]
        (folder / "linear.prog").write_text(head + tail + "\n")
        (folder / "product.prog").write_text(head + tail + " + 0 * (w0 * w1)\n")
        linear, product = (json.loads(patterns(folder / (name + ".prog"), *point).stdout) for name in ("linear", "product"))
        expect("the tree was asked", "functions" in linear and "gradients" in product)
        expect("all are realized", product["complete"] and product["undecided"] == "0", head, product)
        seen = [sorted((r["pattern"], str(r["gradient"])) for r in f["regions"]) for f in (linear, product)]
        expect("the same patterns", seen[0] == seen[1] and linear["patterns"] == product["patterns"], head + tail, point, linear, product)


# --- single cases ----------------------------------------------------------------------------------

def answers(folder):
    def ask(text, at, wrt, *more):
        (folder / "f.prog").write_text(text)
        return patterns(folder / "f.prog", "--at=" + at, "--wrt", wrt, *more)

    # Between 2 w^4 and 3 w^4 no arc of three steps leads, and nothing refutes it.
    thin = "input w, u\nlet q = w * w * w * w\noutput relu(u - 2 * q) + relu(3 * q - u)\n"
    said = ask(thin, "0,0", "w,u")
    expect("a cusp", said.returncode == 3 and said.stdout == "01  along 0 -1  gradient 0 -1\n10  along 0 1  gradient 0 1\n11  undecided\n"
           "at least 2 patterns around the point, 2 gradients; 1 undecided: neither realized nor refuted\n", said)
    count = ask(thin, "0,0", "w,u", "--count")
    expect("its count", count.returncode == 3 and count.stdout == said.stdout.splitlines()[-1] + "\n", count)
    found = json.loads(ask(thin, "0,0", "w,u", "--json").stdout)
    expect("its JSON", (found["patterns"], found["undecided"], found["complete"]) == ("2", "1", False), found)
    # w (u + 1) has the sign of w: what is but for a factor that is 1 there counts as linear.
    said = ask("input w, u\noutput relu(u * relu(w) + w)\n", "0,0", "w,u")
    expect("a skip", said.returncode == 0 and said.stdout == "00  along -1 0  gradient 0 0\n11  along 1 0  gradient 1 0\n"
           "2 patterns around the point, 2 gradients\n", said)
    said = ask("input w, u\noutput relu(w + u) + relu(w * w - 3 * w * u - w - 4 * u * u - u)\n", "0,0", "w,u")
    expect("a factor", said.returncode == 0 and [line.split()[0] for line in said.stdout.splitlines()[:-1]] == ["01", "10"], said)
    # Squares: relu(-w u) and relu(-u w) are one kink twice; a square has one side.
    said = ask("input w, u\noutput relu(-w * w) + relu(w * u) - relu(u * w)\n", "0,0", "w,u")
    expect("squares", said.returncode == 0 and said.stdout.splitlines()[-1] == "2 patterns around the point, 1 gradient", said)
    expect("sides of squares", {line.split()[0] for line in said.stdout.splitlines()[:-1]} == {"000", "011"}, said)
    # Between u = 0 and the parabola first-order directions do not lead; an arc does. A count alone is a number.
    said = ask("input w, u\noutput relu(u - w * w) + relu(u)\n", "0,0", "w,u")
    expect("an arc", said.returncode == 0 and "\n01  along t (" in "\n" + said.stdout and said.stdout.splitlines()[-1].startswith("3 patterns"), said)
    said = ask("input w, u\noutput relu(u - w * w)\n", "0,0", "w,u", "--count")
    expect("a count", said.returncode == 0 and said.stdout == "2\n", said)
    said = ask("input w, u\noutput w * u + relu(u + 5)\n", "1,2", "w,u")
    expect("nothing parts", said.stdout == "1  along 1 0  gradient 2 2\n1 pattern around the point, 1 gradient\n", said)
    # max(u h, 0) with h identically 0 on one side: no side is chosen.
    said = ask("input w, u\noutput relu(u * relu(w))\n", "0,1", "w,u")
    expect("no side", said.returncode == 0 and [line.split()[0] for line in said.stdout.splitlines()[:-1]] == ["0.", "11"], said)
    said = ask("input w, u\noutput relu(u * relu(w))\n", "0,1", "w,u", "--limit", "regions=1")
    expect("a limit", said.returncode == 3 and said.stdout.splitlines()[1:] == [
        "at least 2 patterns around the point, 2 gradients; undecided: the limit of regions was reached (--limit regions=N raises it)"], said)
    model = ROOT / "cases/audit/global-only.onnx"
    said = patterns(model, "--at", "1", "--wrt", "params")
    expect("a network", said.returncode == 0 and said.stdout.splitlines()[-1] == "2 patterns around the point, 2 gradients", said)
    digits = ROOT / "cases/audit/digits-relu-q.onnx"
    said = patterns(digits, "--at", ",".join("0" * 64), "--wrt", "0.weight,2.weight")
    expect("a large one", said.returncode in (0, 3), said)


def stopped(folder):
    """Told to stop anywhere, it never says that a list is whole which is not."""
    whole = patterns(ROOT / "cases/regions/layers.prog", "--at=1,0,1,0", "--wrt", "w,u,b", "--json")
    partial = 0
    for n in list(range(1, 140, 3)) + [100000]:
        os.environ["CLARKE_STOP_AFTER"] = str(n)
        said = [patterns(ROOT / "cases/regions/layers.prog", "--at=1,0,1,0", "--wrt", "w,u,b", *more) for more in ([], ["--count"], ["--json"])]
        del os.environ["CLARKE_STOP_AFTER"]
        for text, more in zip(said, ("", "count", "json")):
            if text.returncode == 0:
                last = text.stdout.splitlines()[-1]
                expect("whole", text.stdout == whole.stdout if more == "json" else last == ("4" if more else "4 patterns around the point, 3 gradients"), n, text)
            else:
                told = text.stdout and not text.stdout.startswith("{\n  \"error\"")
                partial += bool(told)
                expect("not whole", text.returncode == 3 and (told or "interrupted" in text.stderr), n, text)
                expect("it says so", not told or more == "json" or "at least" in text.stdout.splitlines()[-1], n, text)
                expect("JSON says so", more != "json" or (lambda j: set(j) == {"error"} if not told else j["complete"] is False and "stopped" in j)
                       (json.loads(text.stdout)), n, text)
    expect("some are partial", partial > 15, partial)


def refusals(folder):
    (folder / "f.prog").write_text("input x, w, u\noutput relu(u * relu(w * x))\n")
    (folder / "s.prog").write_text("input x, w, u\noutput relu(u * relu(w * x)) + exp(w)\n")
    (folder / "box.txt").write_text("-1 1\n-1 1\n")
    for name, words, why in [
            ("f", ["--at=1,0,0", "--wrt", "w,u", "--box", folder / "box.txt"], "around a point, --at without --box, several layers may"),
            ("f", ["--at=1,0,0", "--wrt", "w,u", "--line", "0,0", "1,1"], "Along a segment only what is not multiplied may vary together"),
            ("f", ["--at=1,0,0", "--wrt", "w,u", "--pieces"], "--pieces is for one layer at a time"),
            ("s", ["--at=1,0,0", "--wrt", "w,u"], "a function that is not piecewise linear"),
            ("f", ["--at=1,0,0"], "a product of two numbers that vary")]:
        said = patterns(folder / (name + ".prog"), *words)
        expect("not asked", said.returncode == 2 and why in said.stderr and not said.stdout and not (folder / "p").exists(), words, said)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        drawn(random.Random(11), Path(made))
        both_ways(random.Random(12), Path(made))
        answers(Path(made))
        stopped(Path(made))
        refusals(Path(made))
    sys.exit(1 if failures else 0)
