"""clarke cost: drawn lists of operations against a count of their own, the numbers of other counters explained, what is refused.

    test_cost.py TOOLS [LISTS]
"""
import json
import random
import struct
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import models  # noqa: E402
from draw import draw_count  # noqa: E402
sys.path.append(str(Path(__file__).resolve().parents[1] / "tools"))
from schema import obeyed  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
CLARKE = Path(sys.argv[1]).resolve() / "clarke"
LISTS = draw_count(int(sys.argv[2])) if len(sys.argv) > 2 else 500
failures = []


def expect(what, good, *more):
    if not good:
        failures.append(what)
        print("FAILED:", what, *more)


def cost(folder, *options, status=0):
    ran = obeyed(subprocess.run([CLARKE, "cost", *map(str, options)], cwd=folder, text=True, capture_output=True, timeout=120))
    expect(f"status of cost {options}", ran.returncode == status, ran.returncode, ran.stderr)
    return ran


def answer(folder, *options, status=0):
    return json.loads(cost(folder, *options, "--json", status=status).stdout)


# --- operations --------------------------------------------------------------------------------------------

# name: expression, |pr|, cost(g), cost(gd), in additions, multiplications, nonlinear operations and signs.
TABLE = {"add": ("{a} + {b}", 2, (1, 0, 0, 0), (1, 0, 0, 0)), "sub": ("{a} - {b}", 2, (1, 0, 0, 0), (1, 0, 0, 0)),
         "mul": ("{a} * {b}", 2, (0, 1, 0, 0), (0, 1, 0, 0)), "add_c": ("{a} + {c}", 1, (1, 0, 0, 0), (1, 0, 0, 0)),
         "mul_c": ("{c} * {a}", 1, (0, 1, 0, 0), (0, 1, 0, 0)), "log": ("log({a})", 1, (0, 0, 1, 0), (0, 0, 2, 0)),
         "exp": ("exp({a})", 1, (0, 0, 1, 0), (0, 0, 1, 0)), "inv": ("1 / {a}", 1, (0, 0, 1, 0), (0, 2, 1, 0)),
         "relu": ("relu({a})", 1, (0, 0, 0, 1), (0, 0, 0, 1)), "abs": ("abs({a})", 1, (0, 1, 0, 1), (0, 1, 0, 1)),
         "leaky": ("leaky_relu({a}, 1/8)", 1, (0, 1, 0, 1), (0, 1, 0, 1)), "elu": ("elu({a})", 1, (1, 1, 1, 1), (1, 1, 1, 1)),
         "max": ("max({a}, {b})", 2, (0, 0, 0, 1), (0, 0, 0, 1))}


def drawn(rng):
    """A program, and its operations."""
    inputs = rng.randint(1, 4)
    known, lines, operations = [f"x{i}" for i in range(inputs)], [], []
    for i in range(rng.randint(1, 25)):
        name = rng.choice(list(TABLE))
        a, b = rng.choice(known), rng.choice(known)
        lines.append(f"let t{i} = " + TABLE[name][0].format(a=a, b=b, c=Fraction(rng.randint(2, 9), rng.choice((1, 2, 11)))))
        known.append(f"t{i}")
        operations.append(name)
    return inputs, f"input {', '.join(known[:inputs])}\n" + "\n".join(lines) + f"\noutput {known[-1]}\n", operations


def count(operations, p, price):
    """(2.8), (2.10), (2.11) and Theorem 3, from their formulas."""
    plus, times = price[0], price[1]

    def at(n):
        return sum(k * q for k, q in zip(n, price))

    rows = [(pr, at(g), at(gd)) for _, pr, g, gd in (TABLE[o] for o in operations)]
    found = {"cost": sum(g for _, g, _ in rows), "backward": sum(gd + pr * (plus + times) for pr, _, gd in rows),
             "forward_mode": sum(gd + p * pr * times + p * (pr - 1) * plus for pr, _, gd in rows)}
    found["ratio"] = found["backward"] / found["cost"] if found["cost"] else None
    free = any(g == 0 for _, g, _ in rows)
    found["omega"] = None if free else max((gd + 2 * max(plus, times) * pr) / g for pr, g, gd in rows)
    found["omega_forward"] = None if free else max((gd + p * pr * times + p * (pr - 1) * plus) / g for pr, g, gd in rows)
    return found


def lists(folder):
    rng = random.Random(36)
    for k in range(LISTS):
        p, program, operations = drawn(rng)
        (folder / "list.prog").write_text(program)
        price, options = [Fraction(1)] * 4, []
        for i, option in enumerate(("--cplus", "--ctimes", "--cnl", "--cr")):
            if rng.random() < 0.5:
                price[i] = Fraction(rng.randint(0 if i == 3 else 1, 6), rng.randint(1, 4))
                options += [option, price[i]]
        found, own = answer(folder, "list.prog", *options), count(operations, p, price)
        for key, value in own.items():
            said = found[key]
            expect(f"list {k}: {key}", said == ("unbounded" if value is None else str(value)), said, value, program, options)
        expect(f"list {k}: operations", sum(f["times"] for f in found["functions"]) == len(operations))
        if own["omega"] is not None:
            expect(f"list {k}: Theorem 3", own["ratio"] <= own["omega"])


def letters(folder):
    (folder / "letters.prog").write_text("input a, b\noutput log(a) * relu(b) + 3\n")
    found = answer(folder, "letters.prog")
    expect("numbers at 1", (found["cost"], found["backward"], found["omega"], found["ratio"]) == ("4", "15", "5", "15/4"), found)
    expect("letters", found["symbolic"]["cost"] == "2 + c_nl + c_R" and found["symbolic"]["backward"] == "12 + 2 c_nl + c_R",
           found["symbolic"])
    expect("letters of omega", found["symbolic"]["omega"] == "max(5, (2 + 2 c_nl) / c_nl, (2 + c_R) / c_R)", found["symbolic"])
    found = answer(folder, "letters.prog", "--cr", "0")
    expect("free relu", found["omega"] == "unbounded" and found["symbolic"]["cost"] == "2 + c_nl", found)
    expect("text", "2 + c_nl + c_R; 4 at c_nl = c_R = 1" in cost(folder, "letters.prog").stdout)
    expect("forward", "(2.11)" in cost(folder, "letters.prog", "--mode", "forward").stdout)
    (folder / "linear.prog").write_text("input a, b\nlet r = relu(a + b)\noutput r - relu(r - b)\n")
    net = answer(folder, "linear.prog")["linear_relu_network"]
    layers = net["layers"]
    expect("Proposition 4", layers == 5 and (net["edge_products"], net["edge_products_bound"]) == (layers * (layers + 1), 4 * (layers + 1) ** 2), net)
    expect("in words", f"{layers * (layers + 1)} products of two matrices for all edges; at most 4 (L + 1)^2 = 144" in cost(folder, "linear.prog").stdout)
    found = answer(folder, "letters.prog", "--wrt", "a")
    expect("a constant", (found["cost"], found["entries"]) == ("3", 1), found)


# --- networks -----------------------------------------------------------------------------------------------

# MAC, FLOP, FLOP without padding, backward, with the input's gradient: torch's counter and JAX's analysis say them.
FLOP = {"lenet": (416520, 833040, 813312, 1430880, 1666080), "vgg11": (152769536, 305539072, 228650496, 607539200, 611078144),
        "block": (819200, 1638400, 1638400, 3276800, 3276800)}
KEYS = ("mac", "flop", "flop_without_padding", "flop_backward", "flop_backward_with_input")


def npy(*shape):
    """An array of eighths, as a file."""
    count = 1
    for d in shape:
        count *= d
    head = repr({"descr": "<f4", "fortran_order": False, "shape": shape}).encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY\1\0" + len(head).to_bytes(2, "little") + head + struct.pack(f"<{count}f", *(k % 7 / 8 for k in range(count)))


def as_run(folder):
    """Our own passes: a product for each multiply-add of the forward and the backward pass; and one with the slope of each entry of a relu."""
    (folder / "lenet.onnx").write_bytes(models.NETWORKS["lenet"]())
    (folder / "x.npy").write_bytes(npy(2, 1, 28, 28))
    found = answer(folder, "lenet.onnx", "--at", "x.npy")
    run, relu = found["run"], found["terms"]["entries of Relu"]
    expect("products, forward", run["forward"]["multiplications"] == 2 * found["mac"], run, found["mac"])
    expect("products, backward", run["backward"]["multiplications"] == 2 * (found["flop_backward"] // 2 + relu), run, found["flop_backward"], relu)
    expect("no functions", run["forward"]["functions"] == run["backward"]["functions"] == 0 < run["backward"]["additions"], run)
    expect("in words", "Our own passes at the point, as run" in cost(folder, "lenet.onnx", "--at", "x.npy").stdout)
    expect("what it takes of a network without", "run" not in answer(folder, "lenet.onnx"))
    for options, words in ((("lenet.onnx", "--at", "recorded"), "a file with the batch is expected"),
                           (("lenet.onnx", "--at", "x.npy", "--at", "x.npy"), "one batch is expected"), (("lenet.onnx", "--at", "none.npy"), "cannot be opened"),
                           ((ROOT / "cases/runs/small", "--at", "x.npy"), "--at recorded")):
        expect(words, words in cost(folder, *options, status=2).stderr)
    found = answer(folder, ROOT / "cases/runs/small", "--at", "recorded")
    expect("a recorded batch", found["run"]["forward"]["multiplications"] == found["mac"], found["run"])


def between(node):
    """A linear layer of 12 features, what is asked about, and another: the first has weights, so that all of it carries gradients."""
    n = models.Network((1, 12))
    return n.bytes(n.linear(node(n, n.linear("x", 12, 12)), 12, 12))


def as_run_of_groups(folder):
    """Softmax and normalizations of `samples` groups of 12 beside the same network without: by the formulas that docs/cost.md has."""
    samples, n = 5, 12
    kinds = {"none": lambda net, x: x, "softmax": lambda net, x: net.node("Softmax", x, axis=1), "log": lambda net, x: net.node("LogSoftmax", x, axis=1),
             "norm": lambda net, x: net.node("LayerNormalization", x, net.weight(n), net.weight(n), axis=-1)}
    (folder / "rows.npy").write_bytes(npy(samples, n))
    run = {}
    for name, node in kinds.items():
        (folder / f"{name}.onnx").write_bytes(between(node))
        run[name] = answer(folder, f"{name}.onnx", "--at", "rows.npy")["run"]

    def more(name, way):
        return tuple(run[name][way][k] - run["none"][way][k] for k in ("additions", "multiplications", "functions"))

    a, s = samples * n, samples
    centred, root, along = (2 * a, a, 0), (a + s, a + s + 3, s), (2 * a, 2 * a, 0)  # m x - sum; 1 / (m sqrt(var + epsilon)); less y S(y g)
    affine = {"forward": (a, a, 0), "backward": (2 * (a + n), 2 * a, 0)}  # the slope and the bias that LayerNormalization has, too
    expected = {("softmax", "forward"): [(s * (n - 1) + 2 * a, a, 2 * a)], ("softmax", "backward"): [(2 * a, 2 * a, 0)],
                ("log", "forward"): [(s * (n - 1) + 3 * a, 0, a + s)], ("log", "backward"): [(2 * a, a, a)],
                ("norm", "forward"): [centred, root, (0, a, 0), affine["forward"]],
                ("norm", "backward"): [centred, root, centred, along, (0, a, 0), affine["backward"]]}
    for (name, way), parts in expected.items():
        expect(f"as run, {name}, {way}", more(name, way) == tuple(map(sum, zip(*parts))), more(name, way), parts)
    (folder / "block.onnx").write_bytes(models.NETWORKS["block"]())
    (folder / "tokens.npy").write_bytes(npy(1, 16, 64))
    found = answer(folder, "block.onnx", "--at", "tokens.npy")["run"]["forward"]["functions"]
    expect("functions of a block: two norms of 16 tokens, softmax of 4 heads, gelu", found == 2 * 16 + 2 * 4 * 16 * 16 + 16 * 256, found)


def networks(folder):
    said = json.loads((ROOT / "tests/cost/counters.json").read_text())
    for name, make in models.NETWORKS.items():
        (folder / f"{name}.onnx").write_bytes(make())
        (folder / f"{name}.json").write_text(json.dumps(said[name]))
        found = answer(folder, f"{name}.onnx", "--against", f"{name}.json")
        expect(name, tuple(found[k] for k in KEYS) == FLOP[name], [found[k] for k in KEYS])
        for k in KEYS:
            expect(f"{name}: layers' {k}", sum(layer[k] for layer in found["layers"]) == found[k])
        expect(f"{name}: layers' cost", sum(Fraction(layer["cost"]) for layer in found["layers"]) == Fraction(found["cost"]))
        numbers = sum(len(modes) for modes in said[name].values())
        expect(f"{name}: explained", len(found["against"]) == numbers and all(a["explained"] for a in found["against"]),
               [a for a in found["against"] if not a["explained"]])
        for a in found["against"]:
            expect(f"{name}: terms of {a['counter']}",
                   a["own"] + a["constant"] + sum(t["difference"] for t in a["terms"]) == a["total"], a)
    fused = {"counter": "torch", "total": said["block-fused"]["torch"]["forward"], "mode": "forward"}
    (folder / "fused.json").write_text(json.dumps(fused))
    expect("fused", "nothing for fused attention" in cost(folder, "block.onnx", "--against", "fused.json").stdout)


def against(folder):
    """Changed by one, a number is not explained; a dictionary as torch gives it is."""
    (folder / "off.json").write_text('{"counter": "fvcore", "total": 416521}')
    ran = cost(folder, "lenet.onnx", "--against", "off.json", status=1)
    expect("off by one", "NOT EXPLAINED" in ran.stdout and "+1\n" in ran.stdout, ran.stdout[-400:])
    (folder / "torch.json").write_text('{"Global": {"aten.convolution": 715200, "aten.addmm": 117840}, "conv1": {"aten.convolution": 1}}')
    found = answer(folder, "lenet.onnx", "--against", "torch.json")["against"]
    expect("torch's own", [a["total"] for a in found] == [833040] and found[0]["explained"], found)
    (folder / "both.json").write_text(json.dumps({"counter": "torch", "total": 833040 + 1430880}))
    expect("both passes", answer(folder, "lenet.onnx", "--against", "both.json")["against"][0]["explained"])
    (folder / "who.json").write_text('{"total": 852156}')
    expect("which", answer(folder, "lenet.onnx", "--against", "who.json")["against"][0]["counter"] == "calflops")
    found = answer(folder, "lenet.onnx", "--padding")
    expect("padding", Fraction(found["cost"]) - Fraction(answer(folder, "lenet.onnx")["cost"]) == 2 * 9864, found["cost"])


def picture(folder):
    """Figure 2.1: 784-w^d-10, all quantities inputs, and the picture constant."""
    for depth, width, ratios in ((1, 16, ("4.998741", "4.011957")), (1, 3, ("4.998741", "4.011957")), (20, 16, ("4.981949", "4.274368"))):
        n = models.Network((1, 784))
        x, before = "x", 784
        for _ in range(depth):
            x, before = n.node("Relu", n.linear(x, before, width)), width
        (folder / "mlp.onnx").write_bytes(n.bytes(n.linear(x, before, 10)))
        found = answer(folder, "mlp.onnx")
        weights, relus = 784 * width + (depth - 1) * width * width + 10 * width, depth * width
        expect(f"5 - 2R/(2W + R) at {depth}, {width}", Fraction(found["ratio"]) == 5 - Fraction(2 * relus, 2 * weights + relus))
        said = [f"{float(Fraction(r)):.6f}" for r in (found["ratio"], found["input_constant"]["ratio"])]
        expect(f"figure 2.1 at {depth}, {width}", said == list(ratios), said)
        expect("omega is 5", found["omega"] == found["input_constant"]["omega"] == "5")


def folders(_):
    found = answer(ROOT, "cases/runs/small")
    expect("a run folder", found["samples"] == 4 and found["mac"] > 0 and found["layers"][0]["op"] == "Conv", found["mac"])


# --- tables and Theorem 4 --------------------------------------------------------------------------------------

def tables(folder):
    wrong = {"2.1": 0, "2.2": 2, "2.3": 8}
    for table, n in wrong.items():
        rows = answer(folder, "--table", table)["rows"]
        expect(f"table {table}", sum(r["outcome"] == "paper wrong" for r in rows) == n, rows)
        expect(f"text of table {table}", cost(folder, "--table", table).stdout.count("paper wrong:") == n)
        for r in rows:
            expect(f"{table}: {r['function']}", Fraction(r["at_most"]) <= 5, r)
    norms = {r["function"]: r for r in answer(folder, "--table", "2.3")["rows"]}
    expect("the infinity norm", norms["infinity norm, n = 2"]["cost"] == "2 + 3 c_R" and norms["infinity norm, n = 2"]["printed"]["at_most"] == "5")
    expect("one number", norms["infinity norm, n = 1"]["printed"]["at_most"] == "unbounded", norms["infinity norm, n = 1"])
    expect("the pool", norms["3x3 max-pool"]["at_most"] == "19/17")
    both = answer(folder, "letters.prog", "--table", "2.1")
    expect("a file and a table", both["cost"] == "4" and len(both["rows"]) == 6)
    priced = {r["function"]: r["omega"] for r in answer(folder, "--table", "2.3", "--cr", "1/4")["rows"]}
    expect("a price", priced["1-norm, n = 2"] == "15/7", priced)
    found = answer(folder, "--matrices", "1024")
    expect("Theorem 4", found["cost"] == 6 * 1024**2 + 2 * 1024 and [p["cost"] for p in found["products"]] ==
           [2146435072, 1971035287, 1689608614, 1100550336, 1048892160], found)
    expect("no signs", "none" in answer(folder, "--matrices", "3")["signs"] and "23/130" in cost(folder, "--matrices", "4").stdout)


# --- what is refused ------------------------------------------------------------------------------------------

def refusals(folder):
    for name, content in (("bad.prog", "output x\n"), ("list.json", "[1]"), ("cut.json", '{"total": '), ("none.json", "{}"),
                          ("minus.json", '{"total": -1}'), ("mode.json", '{"total": 1, "mode": "sideways"}'),
                          ("who.json", '{"counter": "nobody", "total": 1}'), ("float.json", '{"torch": {"forward": 1.5}}')):
        (folder / name).write_text(content)
    wrong = [((), "a file is needed"), (("list.prog", "list.prog"), "one file"), (("--table", "2.4"), "no table '2.4'"),
             (("--table", "2.1", "--matrices", "2"), "a file is needed"), (("--matrices", "0"), "--matrices"), (("--matrices", "1048577"), "--matrices"), (("none.prog",), "none.prog"),
             (("list.txt",), "expected FILE.prog, FILE.onnx or a run folder"), (("bad.prog",), "bad.prog:1"),
             (("list.prog", "--cr", "-1"), "--cr: -1 is below 0"), (("list.prog", "--cnl", "much"), "--cnl: 'much' is no number"),
             (("list.prog", "--mode", "sideways"), "'sideways' is no mode"), (("list.prog", "--wrt", "nobody"), "nobody"),
             (("list.prog", "--against", "none.json"), "--against: list.prog is a program"), (("lenet.onnx", "--tokens", "0"), "--tokens"),
             (("lenet.onnx", "--wrt", "nobody"), "nobody"), (("lenet.onnx", "--against", "missing.json"), "missing.json")]
    wrong += [(("lenet.onnx", "--against", name), name) for name in ("list.json", "cut.json", "none.json", "minus.json", "mode.json",
                                                                   "who.json", "float.json")]
    for options, message in wrong:
        ran = cost(folder, *options, status=2)
        expect(f"message of {options}", message in ran.stderr and ran.stdout == "", ran.stderr)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for test in (lists, letters, networks, as_run, as_run_of_groups, against, picture, folders, tables, refusals):
            test(folder)
    print(f"{LISTS} lists, {len(models.NETWORKS)} networks: {len(failures)} failures")
    return len(failures) > 0


if __name__ == "__main__":
    sys.exit(main())
