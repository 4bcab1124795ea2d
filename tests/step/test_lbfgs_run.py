"""clarke step RUN/ of torch.optim.LBFGS: run folders made by hand, whose steps Python's floats make; every number moved, settings changed, tensors left out.

    test_lbfgs_run.py TOOLS
"""
import copy
import hashlib
import json
import math
import random
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from draw import draw_count  # noqa: E402
sys.path.append(str(Path(__file__).resolve().parents[1] / "tools"))
from schema import obeyed  # noqa: E402

CLARKE = Path(sys.argv[1]).resolve() / "clarke"
SHAPES = {"a.weight": [2, 3], "a.bias": [2]}
N = sum(math.prod(shape) for shape in SHAPES.values())
DEFAULTS = {"lr": 1.0, "max_iter": 4, "max_eval": 5, "tolerance_grad": 1e-7, "tolerance_change": 1e-9, "history_size": 100, "line_search_fn": None}
failures = []


def expect(what, good, *more):
    if not good:
        failures.append(what)
        print("FAILED:", what, *more)


# ---- Steps in float64, as torch.optim.LBFGS makes them; sums in an order of their own

def dot(x, y):
    total = 0.0
    for a, b in zip(x, y):
        total += a * b
    return total


def direction(g, pairs, scale):
    al, be, q = [0.0] * len(pairs), [], [-x for x in g]
    for i in reversed(range(len(pairs))):
        y, s, ro = pairs[i]
        al[i] = dot(s, q) * ro
        q = [a + -al[i] * b for a, b in zip(q, y)]
    r = [x * scale for x in q]
    for i, (y, s, ro) in enumerate(pairs):
        be.append(dot(y, r) * ro)
        r = [a + (al[i] - be[i]) * b for a, b in zip(r, s)]
    return r, al, be


class Program:
    """function: theta to the loss and the gradient. Its step keeps what a record has."""

    def __init__(self, theta, settings, function):
        self.theta, self.h, self.function = theta, settings, function
        self.k, self.evaluated, self.pairs, self.scale, self.d, self.t, self.previous, self.al, self.be = 0, 0, [], 1.0, None, None, None, [], []

    def state(self, part):
        found = {f"{part}/n_iter": float(self.k), f"{part}/func_evals": float(self.evaluated), f"{part}/theta": list(self.theta)}
        if self.k > 0:
            found |= {f"{part}/d": self.d, f"{part}/t": self.t, f"{part}/H_diag": self.scale, f"{part}/prev_flat_grad": self.previous}
            if self.pairs:
                found |= {f"{part}/{name}": [p[i] for p in self.pairs] for i, name in enumerate(("old_dirs", "old_stps", "ro"))}
                if part == "after":
                    found |= {"after/al": self.al, "after/be": self.be}
        return found

    def evaluate(self):
        loss, g = self.function(self.theta)
        self.evaluated += 1
        made = len(self.seen) > 0
        self.seen.append({"theta": list(self.theta), "gradient": g, "loss": loss, "d": self.d if made else [0.0] * N, "t": self.t if made else 0.0,
                          "H_diag": self.scale if made else 0.0, "ro": self.pairs[-1][2] if made and self.pairs else 0.0, "pairs": len(self.pairs) if made else 0,
                          "al": self.al if made else [], "be": self.be if made else []})
        return loss, g

    def step(self):
        self.seen, tensors = [], self.state("before")
        self.run()
        most = max(e["pairs"] for e in self.seen)
        for name in self.seen[0]:
            if name in ("al", "be"):
                if most > 0:
                    tensors[f"evaluations/{name}"] = [e[name] + [0.0] * (most - len(e[name])) for e in self.seen]
            else:
                tensors[f"evaluations/{name}"] = [e[name] for e in self.seen]
        return tensors | self.state("after")

    def run(self):
        h, turn = self.h, 0
        loss, g = self.evaluate()
        if max(map(abs, g)) <= h["tolerance_grad"]:
            return
        while True:
            turn, self.k = turn + 1, self.k + 1
            if self.k > 1:
                y, s = [a - b for a, b in zip(g, self.previous)], [x * self.t for x in self.d]
                ys = dot(y, s)
                if ys > 1e-10:
                    self.pairs = [*self.pairs[len(self.pairs) == h["history_size"]:], (y, s, 1.0 / ys)]  # of more than that, none goes
                    self.scale = ys / dot(y, y)
            self.d, self.al, self.be = direction(g, self.pairs, self.scale)
            self.previous, before = g, loss
            self.t = min(1.0, 1.0 / sum(map(abs, g))) * h["lr"] if self.k == 1 else h["lr"]
            if dot(g, self.d) > -h["tolerance_change"]:
                return
            self.theta = [a + self.t * b for a, b in zip(self.theta, self.d)]
            if turn == h["max_iter"]:
                return
            loss, g = self.evaluate()
            if len(self.seen) >= h["max_eval"] or max(map(abs, g)) <= h["tolerance_grad"] or max(abs(x * self.t) for x in self.d) <= h["tolerance_change"] \
                    or abs(loss - before) < h["tolerance_change"]:
                return


def function(draw):
    """A quadratic and hyperbolas of rows."""
    rows = [[draw.uniform(-1, 1) for _ in range(N)] for _ in range(N)]

    def evaluate(x):
        roots = [math.sqrt(1 + dot(r, x) ** 2) for r in rows]
        g = [0.5 * a for a in x]
        for r, root in zip(rows, roots):
            by = dot(r, x) / root
            g = [a + by * b for a, b in zip(g, r)]
        return sum(roots) + dot(x, x) / 4, g
    return evaluate


# ---- Folders

def flat(value):
    return [y for x in value for y in flat(x)] if isinstance(value, list) else [value]


def shape_of(value):
    return [len(value), *shape_of(value[0])] if isinstance(value, list) and value else [0] if isinstance(value, list) else []


def safetensors(tensors):
    header, data = {}, b""
    for name, value in sorted(tensors.items()):
        shape, values = value if isinstance(value, tuple) else (shape_of(value), flat(value))
        kind = "I64" if name.endswith("/pairs") else "F64"
        start = len(data)
        data += struct.pack(f"<{len(values)}{'q' if kind == 'I64' else 'd'}", *values)
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [start, len(data)]}
    head = json.dumps(header).encode()
    return struct.pack("<Q", len(head)) + head + data


def split(vector):
    """By the parameters' names."""
    found, at = {}, 0
    for name, shape in SHAPES.items():
        found[name] = shape, vector[at:at + math.prod(shape)]
        at += math.prod(shape)
    return found


def write(folder, tensors, settings):
    tensors = dict(tensors)
    named = {f"gradient/{name}": t for name, t in split(tensors["evaluations/gradient"][0]).items()}
    for part in "before", "after":
        named |= {f"{part}/theta/{name}": t for name, t in split(tensors.pop(f"{part}/theta")).items()}
    gradients = {name.removeprefix("gradient/"): t for name, t in named.items() if name.startswith("gradient/")}
    start = {name.removeprefix("before/theta/"): t for name, t in named.items() if name.startswith("before/")}
    files = {"batch.npz": b"", "parameters.safetensors": safetensors(start), "gradients.safetensors": safetensors(gradients), "optimizer.safetensors": safetensors(tensors | named)}
    told = {}
    for name, data in files.items():
        (folder / name).write_bytes(data)
        told[name.split(".")[0]] = {"file": name, "sha256": hashlib.sha256(data).hexdigest()}
    group = {"parameters": list(SHAPES), "path": "single"} | {key: value.hex() if isinstance(value, float) else value for key, value in settings.items()}
    run = {"format": "clarke-run", "version": 1, "framework": {"name": "torch", "version": "2.13.0"}, "profile": "pytorch-2.13",
           "device": {"type": "cpu", "name": "x86_64"}, "dtypes": ["float64"], "flags": {"precision": {"cpu": {"matmul": "ieee", "conv": "ieee"}}},
           "graph": {"file": "graph.onnx", "sha256": "0" * 64}, "loss": "sum", "parameters": sorted(SHAPES), "branches": [],
           "steps": [{"step": 0, "loss": "0x1p+0", "loss_scale": "1", "files": told,
                      "update": {"optimizer": "LBFGS", "module": "torch.optim.lbfgs", "groups": [group]}}]}
    (folder / "run.json").write_text(json.dumps(run))


def ask(folder, tensors, settings, *options):
    write(folder, tensors, settings)
    ran = obeyed(subprocess.run([CLARKE, "step", str(folder) + "/", "--json", *options], text=True, capture_output=True, timeout=120))
    said = json.loads(ran.stdout) if ran.stdout else {"error": ran.stderr}
    return {"answer": "error", "why": said["error"], "holds": None} if "error" in said else said


GOOD = "the rule's, within the bound", "the rule's, bit for bit"
SETTINGS = [{}, {"max_iter": 1, "max_eval": 1}, {"history_size": 2}, {"history_size": 1, "max_iter": 6, "max_eval": 9}, {"lr": 0.25, "max_eval": 2}, {"tolerance_grad": 1.5},
            {"tolerance_change": 0.3}, {"max_iter": 12, "max_eval": 15, "lr": 0.5}, {"tolerance_change": -1.0}]


def drawn():
    """Programs with steps behind them, and one more: its tensors."""
    for seed in range(draw_count(18)):
        draw, settings = random.Random(seed), DEFAULTS | SETTINGS[seed % len(SETTINGS)]
        p = Program([draw.uniform(-2, 2) for _ in range(N)], settings, function(draw))
        for _ in range(draw.choice([0, 1, 3]) if seed >= len(SETTINGS) else 0):
            p.step()
        before = copy.deepcopy(p)
        yield draw, settings, p.step(), before


def followed(folder):
    """What the program makes is the rule's, with its shares and without them; and no other settings are, unless they make the same."""
    ends = set()
    for draw, settings, tensors, before in drawn():
        said = ask(folder, tensors, settings)
        expect(f"{settings}", said["answer"] in GOOD and said["holds"] is True and said["gradient"]["is"] == "recorded", said)
        bare = {name: t for name, t in tensors.items() if not name.endswith(("/al", "/be"))}
        said = ask(folder, bare, settings)
        expect(f"without shares {settings}", said["answer"] in (*GOOD, "undecided"), said)
        for key, value in (("lr", settings["lr"] * 0.75), ("max_iter", 1), ("max_iter", 2), ("max_eval", 3), ("history_size", 1), ("history_size", 3),
                           ("tolerance_grad", 0.7), ("tolerance_change", 0.1)):
            other = settings | {key: value}
            again = again_of(before, other)
            same = again.keys() == tensors.keys() and all(x == tensors[name] for name, x in again.items())
            said = ask(folder, tensors, other)
            expect(f"{settings}, asked with {key} {value}", said["answer"] in GOOD if same else said["answer"] not in GOOD, same, said)
            ends.add(same)
    expect("some settings make the same, some do not", ends == {True, False}, ends)


def again_of(before, settings):
    p = copy.deepcopy(before)
    p.h = settings
    return p.step()


def moved(value, entry, by):
    if not isinstance(value, list):
        return by(value)
    size = len(flat(value)) // len(value)
    return [moved(x, entry - i * size, by) if i * size <= entry < (i + 1) * size else x for i, x in enumerate(value)]


MEANS_NOTHING = "evaluations/al", "evaluations/be", "after/al", "after/be"  # shares are no part of the step


def tampered(folder):
    """No number that is moved passes, but for a share; the first that is another is located."""
    located = 0
    for draw, settings, tensors, _ in drawn():
        for name in tensors:
            values = flat(tensors[name])
            entry = draw.randrange(len(values)) if values else 0
            if not values or (name.startswith("evaluations/") and entry < len(values) // len(tensors[name]) and name.split("/")[1] not in ("theta", "gradient", "loss")):
                continue  # of the first evaluation there is no iteration
            if name == "evaluations/ro" and tensors["evaluations/pairs"][entry] == 0 or name == "evaluations/gradient" and entry >= len(values) - N:
                continue  # there is none; a gradient behind which the step has ended
            if name == "evaluations/loss" or (name in ("before/t", "before/d", "before/prev_flat_grad", "before/ro", "before/old_dirs", "before/old_stps", "before/H_diag")):
                continue  # asked below
            by = (lambda x: x + 1) if name.endswith(("pairs", "n_iter", "func_evals")) else lambda x: x * (1 + draw.choice([-1, 1]) * 2.0 ** -draw.randint(3, 20)) if x else 0.125
            said = ask(folder, tensors | {name: moved(tensors[name], entry, by)}, settings)
            if name in MEANS_NOTHING:
                expect(f"{name}: a share", said["answer"] in (*GOOD, "undecided"), said)
                continue
            expect(f"{settings}: {name} entry {entry}", said["answer"] not in GOOD, said)
            located += said["answer"] == "not the rule's"
    expect("most are called wrong", located > 60, located)


def named(folder):
    """A moved entry is found in its parameter, and what the rule makes is said."""
    draw = random.Random(3)
    p = Program([draw.uniform(-2, 2) for _ in range(N)], DEFAULTS, function(draw))
    p.step()
    tensors = p.step()
    for name, entry, parameter, slot, index in (("after/theta", 7, "a.bias", "theta", "[1]"), ("after/theta", 4, "a.weight", "theta", "[1, 1]"), ("after/d", 6, "a.bias", "d", "[0]"),
                                                ("after/old_dirs", N + 5, "a.weight", "old_dirs", "[1, 2]"), ("after/prev_flat_grad", 0, "a.weight", "prev_flat_grad", "[0, 0]")):
        said = ask(folder, tensors | {name: moved(tensors[name], entry, lambda x: x * 1.01)}, DEFAULTS)
        first = said["first"]
        expect(name, said["answer"] == "not the rule's" and (first["parameter"], first["slot"], first["index"]) == (parameter, slot, index), said)
        right = flat(tensors[name])[entry]
        expect(f"{name}: by the rule", abs(float(first["by_rule"].split(" ")[0]) - right) < 1e-9, first, right)
    said = ask(folder, tensors | {"after/H_diag": tensors["after/H_diag"] * 1.01}, DEFAULTS)
    expect("H_diag", said["answer"] == "not the rule's" and "H_diag" in said["why"], said)
    for name in "before/d", "before/old_dirs", "before/old_stps", "before/prev_flat_grad", "before/t", "before/ro", "before/H_diag":
        said = ask(folder, tensors | {name: moved(tensors[name], 0, lambda x: x * 1.01)}, DEFAULTS)
        expect(f"{name}, moved", said["answer"] != GOOD[1] and (said["answer"] != GOOD[0] or name == "before/H_diag"), said)  # H is made anew by each pair


def refused(folder):
    draw = random.Random(5)
    p = Program([draw.uniform(-2, 2) for _ in range(N)], DEFAULTS, function(draw))
    p.step()
    tensors = p.step()
    for name in tensors:
        if name in (*MEANS_NOTHING, "evaluations/gradient") or name.endswith("/theta") and not name.startswith("evaluations"):
            continue
        said = ask(folder, {key: t for key, t in tensors.items() if key != name}, DEFAULTS)
        expect(f"without {name}", said["answer"] not in GOOD, said)
        said = ask(folder, tensors | {name: [tensors[name], tensors[name]] if not isinstance(tensors[name], list) else tensors[name] + tensors[name]}, DEFAULTS)
        expect(f"{name} of another shape", said["answer"] not in GOOD, said)
    said = ask(folder, tensors, DEFAULTS | {"line_search_fn": "strong_wolfe"})
    expect("a line search", said["answer"] == "undecided" and "line_search_fn" in said["why"], said)
    for rule in "torch-sgd", "torch-adam":
        expect(f"--rule {rule}", "by their own rule" in ask(folder, tensors, DEFAULTS, "--rule", rule)["why"], "")
    expect("by its own rule", ask(folder, tensors, DEFAULTS, "--rule", "torch-lbfgs")["answer"] in GOOD, "")
    expect("no proof is offered", "--proof" not in ask(folder, tensors, DEFAULTS)["summary"]["next"], "")
    expect("a proof is refused", "no proof" in ask(folder, tensors, DEFAULTS, "--proof", str(folder / "a.proof"))["why"], "")


def hostile(folder):
    """Counts that no step has: without iterations there is no direction; so many pairs that their shares' number is beyond 64 bits."""
    for most in 1, 3:
        settings, draw = DEFAULTS | {"max_iter": most, "max_eval": 20}, random.Random(3)
        tensors = Program([draw.uniform(-2, 2) for _ in range(N)], settings, function(draw)).step()
        said = ask(folder, tensors | {"after/n_iter": 0.0}, settings)
        expect(f"{most} iterations, and none behind", said["answer"] == "not the rule's" and ("n_iter" in said["why"] or most > 1), said)
    expect("three evaluations", len(tensors["evaluations/loss"]) == 3, tensors["evaluations/loss"])
    pairs = pow(3, -1, 2**64) * 2 % 2**64  # three times this is two
    said = ask(folder, tensors | {"evaluations/pairs": [pairs, *tensors["evaluations/pairs"][1:]], "evaluations/al": [0.5, 0.5], "evaluations/be": [0.5, 0.5]}, settings)
    expect("too many pairs", "evaluations/pairs" in said["why"], said)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in (followed, tampered, named, refused, hostile):
            part(folder)
    print(f"{len(failures)} failures")
    return bool(failures)


sys.exit(main())
