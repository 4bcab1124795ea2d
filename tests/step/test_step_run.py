"""clarke step RUN/: run folders made by hand, whose steps Python's own floats make; entries moved, rules changed, files taken apart.

    test_step_run.py TOOLS
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

sys.path.append(str(Path(__file__).resolve().parents[1] / "tools"))
from schema import obeyed  # noqa: E402

CLARKE = Path(sys.argv[1]).resolve() / "clarke"
failures = []


def expect(what, good, *more):
    if not good:
        failures.append(what)
        print("FAILED:", what, *more)


# ---- Steps in float64, as torch.optim's single-tensor programs make them

def sgd(e, g, h, k):
    d = g + h.get("weight_decay", 0) * e["theta"] if h.get("weight_decay") else g
    if h["momentum"]:
        e["momentum_buffer"] = d if k == 0 else e["momentum_buffer"] * h["momentum"] + (1 - h["dampening"]) * d
        d = d + h["momentum"] * e["momentum_buffer"] if h["nesterov"] else e["momentum_buffer"]
    e["theta"] = e["theta"] + -h["lr"] * d


def adam(e, g, h, k):
    b1, b2 = h["betas"]
    if h["weight_decay"]:
        if h["decoupled_weight_decay"]:
            e["theta"] *= 1 - h["lr"] * h["weight_decay"]
        else:
            g = g + h["weight_decay"] * e["theta"]
    w = 1 - b1
    e["exp_avg"] = e["exp_avg"] + w * (g - e["exp_avg"]) if w < 0.5 else g + (w - 1) * (g - e["exp_avg"])  # lerp
    e["exp_avg_sq"] = e["exp_avg_sq"] * b2 + (1 - b2) * g * g
    below = math.sqrt(e["exp_avg_sq"]) / (1 - b2 ** (k + 1)) ** 0.5 + h["eps"]
    e["theta"] = e["theta"] + -(h["lr"] / (1 - b1 ** (k + 1))) * e["exp_avg"] / below


def inside(e, g, h, k):
    """Adam with epsilon in the root."""
    b1, b2 = h["betas"]
    e["exp_avg"] += (1 - b1) * (g - e["exp_avg"])
    e["exp_avg_sq"] = e["exp_avg_sq"] * b2 + (1 - b2) * g * g
    e["theta"] -= h["lr"] / (1 - b1 ** (k + 1)) * e["exp_avg"] / math.sqrt(e["exp_avg_sq"] / (1 - b2 ** (k + 1)) + h["eps"])


def nadam_mu(h, n):
    return h["betas"][0] * (1 - 0.5 * 0.96 ** (n * h["momentum_decay"]))


def nadam(e, g, h, k):
    b1, b2 = h["betas"]
    e["exp_avg"] += (1 - b1) * (g - e["exp_avg"])
    e["exp_avg_sq"] = e["exp_avg_sq"] * b2 + (1 - b2) * g * g
    product, mu, more = math.prod(nadam_mu(h, n) for n in range(1, k + 2)), nadam_mu(h, k + 1), nadam_mu(h, k + 2)
    below = math.sqrt(e["exp_avg_sq"] / (1 - b2 ** (k + 1))) + h["eps"]
    e["theta"] += -h["lr"] * (1 - mu) / (1 - product) * g / below
    e["theta"] += -h["lr"] * more / (1 - product * more) * e["exp_avg"] / below


def uncorrected(e, g, h, k):
    b1, b2 = h["betas"]
    e["exp_avg"] += (1 - b1) * (g - e["exp_avg"])
    e["exp_avg_sq"] = e["exp_avg_sq"] * b2 + (1 - b2) * g * g
    e["theta"] -= h["lr"] * e["exp_avg"] / (math.sqrt(e["exp_avg_sq"]) + h["eps"])


SGD = {"lr": 0.1, "momentum": 0.9, "dampening": 0.25, "nesterov": False, "weight_decay": 0.01, "maximize": False}
ADAM = {"lr": 0.01, "betas": [0.9, 0.999], "eps": 1e-8, "weight_decay": 0, "amsgrad": False, "maximize": False, "decoupled_weight_decay": False}
NADAM = {"lr": 0.01, "betas": [0.9, 0.999], "eps": 1e-8, "weight_decay": 0, "momentum_decay": 0.004, "decoupled_weight_decay": False}
DECAYED = ADAM | {"weight_decay": 0.1, "decoupled_weight_decay": True}
SHAPES = {"a.weight": [3, 4], "a.bias": [3]}


def count(shape):
    return math.prod(shape)


# ---- Folders

def safetensors(tensors, kind="F64"):
    header, data, end = {}, b"", 0
    for name, (shape, values) in sorted(tensors.items()):
        data += struct.pack(f"<{len(values)}{'d' if kind == 'F64' else 'f'}", *values)
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [end, len(data)]}
        end = len(data)
    head = json.dumps(header).encode()
    return struct.pack("<Q", len(head)) + head + data


def exactly(value):
    if isinstance(value, float):
        return value.hex()
    return [exactly(v) for v in value] if isinstance(value, list) else value


class Run:
    """A folder with the step number k of some optimizer; `change` may be called on what is in it before it is written."""

    def __init__(self, optimizer, settings, rule, k=3, seed=1):
        draw = random.Random(seed)
        self.optimizer, self.settings, self.k, self.earlier, self.more = optimizer, settings, k, [], []
        self.gradient, self.update, self.start = {}, {}, {}
        for name, shape in SHAPES.items():
            entries, n = [], count(shape)
            for _ in range(n):
                e = {"theta": draw.gauss(0, 1), "exp_avg": 0.0, "exp_avg_sq": 0.0}
                for before in range(k):
                    rule(e, draw.gauss(0, 1), settings, before)
                entries.append(e)
            gs = [draw.gauss(0, 1) for _ in entries]
            slots = ["theta", *["momentum_buffer"] * (settings.get("momentum") != 0)] if optimizer == "SGD" else ["theta", "exp_avg", "exp_avg_sq"]
            self.gradient[name] = shape, gs
            self.update["gradient/" + name] = shape, gs
            for slot in slots:
                if slot in entries[0]:
                    self.update[f"before/{slot}/{name}"] = shape, [e[slot] for e in entries]
            self.start[name] = shape, [e["theta"] for e in entries]
            for e, g in zip(entries, gs):
                rule(e, g, settings, k)
            for slot in slots:
                self.update[f"after/{slot}/{name}"] = shape, [e[slot] for e in entries]
            if optimizer != "SGD":
                self.update[f"before/step/{name}"], self.update[f"after/step/{name}"] = ([], [float(k)]), ([], [float(k + 1)])
        self.told = {"optimizer": optimizer, "module": f"torch.optim.{optimizer.lower()}",
                     "groups": [{"parameters": list(SHAPES), "path": "single"} | {key: exactly(v) for key, v in settings.items()}]}

    def write(self, folder):
        files = {"batch": b"", "parameters": safetensors(self.start), "gradients": safetensors(self.gradient), "optimizer": safetensors(self.update)}
        named = {}
        for key, data in files.items():
            name = f"step-000000.{key}.{'npz' if key == 'batch' else 'safetensors'}"
            (folder / name).write_bytes(data)
            named[key] = {"file": name, "sha256": hashlib.sha256(data).hexdigest()}
        run = {"format": "clarke-run", "version": 1, "framework": {"name": "torch", "version": "2.13.0"}, "profile": "pytorch-2.13",
               "device": {"type": "cpu", "name": "x86_64"}, "dtypes": ["float64"],
               "flags": {"precision": {"cpu": {"matmul": "ieee", "conv": "ieee"}}}, "graph": {"file": "graph.onnx", "sha256": "0" * 64},
               "loss": "sum", "parameters": sorted(SHAPES), "branches": [],
               "steps": [*self.waiting(folder, named), {"step": 9, "loss": "0x1p+0", "loss_scale": "1", "files": named, "update": self.told,
                                                          "updates": [*self.others(folder)]}]}
        (folder / "run.json").write_text(json.dumps(run))

    def others(self, folder):
        """What else stepped, or averages: its tensors, and what is told."""
        for k, (tensors, told) in enumerate(self.more, 1):
            data = safetensors(tensors)
            (folder / f"other-{k}").write_bytes(data)
            yield {"number": k, "optimizer": {"file": f"other-{k}", "sha256": hashlib.sha256(data).hexdigest()}, "update": told}

    def waiting(self, folder, named):
        """Steps before it, of which the optimizer made none."""
        for k, gradients in enumerate(self.earlier):
            data = safetensors(gradients)
            (folder / f"earlier-{k}").write_bytes(data)
            files = {key: file for key, file in named.items() if key != "optimizer"} | {
                "gradients": {"file": f"earlier-{k}", "sha256": hashlib.sha256(data).hexdigest()}}
            yield {"step": k, "loss": "0x1p+0", "loss_scale": "1", "files": files, "update": {"optimizer": self.optimizer, "skipped": "not called"}}

    def moved(self, key, entry, by):
        shape, values = self.update[key]
        self.update[key] = shape, values[:entry] + [by(values[entry])] + values[entry + 1:]
        return self


def ask(folder, run, *options, status=0):
    run.write(folder)
    ran = obeyed(subprocess.run([CLARKE, "step", str(folder) + "/", *(() if "--step" in options else ("--step", "9")), "--json", *options], text=True, capture_output=True, timeout=120))
    expect(f"status of {run.optimizer} {options}", status is None or ran.returncode == status, ran.returncode, ran.stdout, ran.stderr)
    said = json.loads(ran.stdout) if ran.stdout else {"error": ran.stderr}
    return said["error"] if "error" in said else said


OURS = [("SGD", SGD, sgd), ("SGD", SGD | {"nesterov": True, "dampening": 0}, sgd), ("Adam", ADAM, adam), ("AdamW", DECAYED, adam),
        ("Adam", DECAYED | {"decoupled_weight_decay": False, "betas": [0.3, 0.99]}, adam)]
CLOSE = 1 + 2**-52


def followed(folder):
    """Python's floats are the program's, bit for bit; some ulps off is within the bound, and more is not."""
    for optimizer, settings, rule in OURS:
        for k in (0, 5):
            run = Run(optimizer, settings, rule, k)
            said = ask(folder, run)
            expect(f"{optimizer} {k}: bit for bit", (said["answer"], said["bits"]) == ("the rule's, bit for bit", 15), said)
            said = ask(folder, copy.deepcopy(run).moved("after/theta/a.weight", 7, lambda x: x * CLOSE))
            expect(f"{optimizer} {k}: within", (said["answer"], said["bits"], said["within"]) == ("the rule's, within the bound", 14, 1), said)
            for slot in ("momentum_buffer", "exp_avg", "exp_avg_sq", "theta"):
                if f"after/{slot}/a.weight" not in run.update:
                    continue
                bad = copy.deepcopy(run).moved(f"after/{slot}/a.weight", 7, lambda x: x * (1 + 2**-44))
                said = ask(folder, bad, status=1)
                first = said["first"]
                expect(f"{optimizer} {k}: {slot} moved", (said["wrong"], first["parameter"], first["entry"], first["index"]) == (1, "a.weight", 7, "[1, 3]"), said)
                expect(f"{optimizer} {k}: {slot} is named", said["instead"] is None and first["slot"] == {"theta": "theta", "exp_avg_sq": "v"}.get(slot, "m"), said)


def named(folder):
    """Another rule is named."""
    for rule, settings, words in ((inside, ADAM | {"eps": 1e-3}, "inside the root"), (uncorrected, ADAM, "adam (thesis, Table 4.5)")):
        said = ask(folder, Run("Adam", settings, rule), status=1)
        expect(f"{words} is named", said["instead"] is not None and words in said["instead"], said)
    told = Run("AdamW", DECAYED, adam)
    told.told["groups"][0]["decoupled_weight_decay"] = False
    expect("coupled is named", "decoupled" in ask(folder, told, status=1)["instead"])
    stray = Run("SGD", SGD | {"weight_decay": 0.1}, sgd)  # SGD asks for no such flag
    stray.told["groups"][0]["decoupled_weight_decay"] = True
    ask(folder, stray)
    late = Run("Adam", ADAM, adam)
    for name in SHAPES:
        late.update[f"before/step/{name}"], late.update[f"after/step/{name}"] = ([], [2.0]), ([], [3.0])
    expect("a step later is named", "one step later" in ask(folder, late, status=1)["instead"])
    still = Run("Adam", ADAM, adam)
    for key in list(still.update):
        if key.startswith("after/") and "/step/" not in key:
            still.update[key] = still.update[key.replace("after/", "before/")]
    expect("no step is named", "nothing was changed" in ask(folder, still, status=1)["instead"])
    up = Run("SGD", SGD | {"momentum": 0, "weight_decay": 0}, lambda e, g, h, k: sgd(e, -g, h, k))
    expect("ascent is named", "up along the gradient" in ask(folder, up, status=1)["instead"])
    good = Run("Adam", ADAM, adam)
    expect("--rule that is not it", ask(folder, good, "--rule", "adam", status=1)["wrong"] == 15)
    expect("--rule that is", ask(folder, good, "--rule", "adam-corrected")["answer"] == "the rule's, within the bound")
    good.update["after/step/a.bias"] = [], [7.0]
    expect("a count that jumps", "'step' goes from 3 to 7" in ask(folder, good, status=1)["why"])


def given(folder):
    """The gradient that the optimizer was given, beside the recorded one."""
    def change(by):
        run = Run("SGD", SGD, sgd)
        for name in SHAPES:
            run.gradient[name] = run.gradient[name][0], [by(g) for g in run.gradient[name][1]]
        return run

    expect("recorded", ask(folder, change(lambda g: g))["gradient"]["is"] == "recorded")
    said = ask(folder, change(lambda g: g * 3))["gradient"]
    expect("a factor", said["is"] == "multiple" and said["factor"][0] <= 1 / 3 <= said["factor"][1] and said["factor"][1] - said["factor"][0] < 1e-12, said)
    expect("another", ask(folder, change(lambda g: g + 1e-9), status=3)["gradient"]["follows"] is False)
    expect("another sign", ask(folder, change(lambda g: -g), status=3)["gradient"]["is"] == "other")
    expect("nothing", ask(folder, change(lambda g: 0.0), status=3)["gradient"]["is"] == "other")
    bound = max(abs(g) for name in SHAPES for g in Run("SGD", SGD, sgd).gradient[name][1])
    expect("clamped", ask(folder, change(lambda g: g * 1.5 if abs(g) == bound else g))["gradient"]["is"] == "clamped")
    run = Run("SGD", SGD, sgd)
    run.start["a.bias"] = run.start["a.bias"][0], [x + 1 for x in run.start["a.bias"][1]]
    expect("theta was changed between", "a.bias was changed" in ask(folder, run, status=3)["gradient"]["why"])
    run = Run("SGD", SGD, sgd)
    del run.gradient["a.bias"]
    run.gradient["more"] = [1], [2.0]
    expect("not stepped", ask(folder, run, status=3)["gradient"]["unstepped"] == 1)
    expect("a gradient of its own", "1 have no recorded gradient" in ask(folder, run, status=3)["gradient"]["why"])


def sums(folder):
    """Gradients of several backward passes, each recorded, are added up in their order."""
    def split(parts, turned=False, other=False):
        run = Run("SGD", SGD, sgd)
        draw = random.Random(5)
        run.earlier = [{name: (shape, [draw.gauss(0, 1) for _ in range(count(shape))]) for name, shape in SHAPES.items()} for _ in range(parts - 1)]
        for name in SHAPES:  # what is given is what the sum is, and the step is made of that
            passes = [e[name][1] for e in run.earlier] + [run.gradient[name][1]]
            total = passes[0]
            for more in passes[1:]:
                total = [a + b for a, b in zip(total, more)]
            if turned:
                total = [a + (b + c) for a, b, c in zip(*passes)]
            if other:
                total = [x + 1e-9 for x in total]
            given = run.update["gradient/" + name] = SHAPES[name], total
            for i, g in enumerate(given[1]):
                e = {"theta": run.update["before/theta/" + name][1][i], "momentum_buffer": run.update["before/momentum_buffer/" + name][1][i]}
                sgd(e, g, SGD, 3)
                for slot, value in e.items():
                    run.moved(f"after/{slot}/{name}", i, lambda _: value)
        return run

    for parts in (2, 3, 5):
        said = ask(folder, split(parts))["gradient"]
        expect(f"a sum of {parts}", (said["is"], said["sum_of"]) == ("recorded", parts) and "of steps 0 to 9" in said["why"], said)
    said = ask(folder, split(3, turned=True), status=None)["gradient"]
    expect("a sum in another order is at most a multiple", said["is"] != "recorded", said)
    expect("what is no sum", ask(folder, split(3, other=True), status=3)["gradient"]["is"] == "other")
    run = split(3)
    run.earlier.insert(0, {name: (shape, [1.0] * count(shape)) for name, shape in SHAPES.items()})  # cleared before: by a scaler's skip, say
    said = ask(folder, run)["gradient"]
    expect("a sum of the last ones", said["sum_of"] == 3 and "of steps 1 to 9" in said["why"], said)
    run = split(3)
    run.earlier[0]["a.bias"] = [2], [1.0, 2.0]
    expect("other shapes", ask(folder, run, status=3)["gradient"]["is"] == "other")


def products(folder):
    """NAdam's product of mu is a part of the state, too."""
    def product(factor=1.0):
        run = Run("NAdam", NADAM, nadam)
        mu = math.prod(nadam_mu(NADAM, n) for n in range(1, 4))
        for name in SHAPES:
            run.update[f"before/mu_product/{name}"], run.update[f"after/mu_product/{name}"] = ([], [mu]), ([], [mu * nadam_mu(NADAM, 4) * factor])
        return run

    said = ask(folder, product())
    expect("NAdam", said["answer"].startswith("the rule's") and said["holds"], said)
    expect("a product that strayed", "'mu_product' goes from" in ask(folder, product(factor=1.5), status=1)["why"])
    run = product()
    for name in SHAPES:  # both are another's, and go on rightly: then the step is for other settings, or of another state
        for when in ("before", "after"):
            run.update[f"{when}/mu_product/{name}"] = [], [run.update[f"{when}/mu_product/{name}"][1][0] / 2]
    said = ask(folder, run, status=3)
    expect("a product of another state", said["holds"] is None and "'mu_product' before the step" in said["why"], said)


def averaged(run, decay, moved=0.0):
    """An average of what the run's step left behind."""
    tensors, draw = {}, random.Random(8)
    for name, shape in SHAPES.items():
        xs = run.update["after/theta/" + name][1]
        means = [draw.gauss(0, 1) for _ in xs]
        tensors |= {f"before/theta/{name}": (shape, means), f"gradient/{name}": (shape, xs),
                    f"after/theta/{name}": (shape, [m + (1 - decay) * (x - m) + moved if 1 - decay < 0.5 else x - (x - m) * (1 - (1 - decay)) for m, x in zip(means, xs)])}
    return tensors, {"optimizer": "AveragedModel", "module": "torch.optim.swa_utils", "averages": True,
                     "groups": [{"parameters": list(SHAPES), "path": "foreach", "decay": decay.hex()}]}


def several(folder):
    """Two optimizers of one step, and an average of what they left: each is asked about, and what is wrong in one is not the others'."""
    def both():
        run, second = Run("Adam", ADAM, adam), Run("SGD", SGD, sgd, seed=2)
        other = {key: value for key, value in second.update.items() if key.endswith("a.bias")}
        run.gradient["a.bias"], run.start["a.bias"] = second.gradient["a.bias"], second.start["a.bias"]
        for key in [key for key in run.update if key.endswith("a.bias")]:
            del run.update[key]
        run.told["groups"][0]["parameters"], second.told["groups"][0]["parameters"] = ["a.weight"], ["a.bias"]
        run.more = [(other, second.told)]
        return run

    def with_average(decay=0.9, moved=0.0):
        run = both()
        whole = copy.deepcopy(run)
        whole.update |= run.more[0][0]
        run.more.append(averaged(whole, decay, moved))
        return run

    said = ask(folder, both())
    expect("two optimizers", said["holds"] is True and [o["rule"] for o in said["optimizers"]] == ["torch-adam", "torch-sgd"]
           and [o["bits"] for o in said["optimizers"]] == [12, 3], said)
    run = both()
    shape, values = run.more[0][0]["after/theta/a.bias"]
    run.more[0][0]["after/theta/a.bias"] = shape, [values[0], values[1] * (1 + 2**-40), values[2]]
    said = ask(folder, run, status=1)
    expect("the second's tampered entry", said["holds"] is False and said["optimizers"][0]["holds"] is True and said["optimizers"][1]["first"]["entry"] == 1, said)
    expect("the first alone", ask(folder, run, "--optimizer", "0")["rule"] == "torch-adam" and ask(folder, run, "--optimizer", "1", status=1)["wrong"] == 1)
    expect("one that is not there", "has 2 optimizers' steps" in ask(folder, run, "--optimizer", "2", status=2))
    expect("a rule is of one", "--optimizer N" in ask(folder, run, "--rule", "adam", status=2))
    proof = folder / "one.proof"
    ask(folder, both(), "--optimizer", "1", "--proof", str(proof))
    expect("the second's proof", check(proof)[0] == 0 and "a.bias" in check(proof)[1] and "a.weight" not in check(proof)[1], check(proof))
    for decay in (0.9, 0.25, 0.0):
        run = with_average(decay)
        said = ask(folder, run)
        mean = said["optimizers"][2]
        expect(f"an average, {decay}", mean["rule"] == "ema" and mean["answer"] == "the rule's, bit for bit" and mean["gradient"]["follows"] is True, said)
        ask(folder, run, "--optimizer", "2", "--proof", str(proof))
        expect("its proof", check(proof)[0] == 0 and "b = " in check(proof)[1] and "gradients " not in proof.read_text(), check(proof))
    said = ask(folder, with_average(moved=1e-9), status=1)
    expect("an average that is another", said["optimizers"][2]["wrong"] == 15 and said["optimizers"][2]["first"]["slot"] == "theta", said)
    run = with_average()
    run.more[1][1]["groups"][0]["decay"] = 0.875.hex()
    expect("another decay", ask(folder, run, status=1)["optimizers"][2]["wrong"] == 15)
    run = both()
    stale = copy.deepcopy(run)
    for name in SHAPES:
        stale.update["after/theta/" + name] = run.start[name]
    run.more.append(averaged(stale, 0.9))
    said = ask(folder, run, status=3)
    expect("an average of parameters before the step", said["optimizers"][2]["gradient"]["follows"] is False and "a.weight is another" in said["optimizers"][2]["gradient"]["why"]
           or "a.bias is another" in said["optimizers"][2]["gradient"]["why"], said)
    for bad in ({}, [3], [{"number": 1}]):
        run = both()
        run.write(folder)
        told = json.loads((folder / "run.json").read_text())
        told["steps"][-1]["updates"] = bad
        (folder / "run.json").write_text(json.dumps(told))
        ran = subprocess.run([CLARKE, "step", folder, "--step", "9"], text=True, capture_output=True)
        expect(f"updates: {bad}", ran.returncode == 2 and "updates" in ran.stderr, ran.stderr)


def far(folder):
    """Numbers whose difference, or quotient, is no double."""
    run = Run("SGD", SGD | {"momentum": 0, "weight_decay": 0}, sgd)
    run.update["before/theta/a.bias"], run.update["after/theta/a.bias"] = ([3], [-1.7e308, 1.0, 1.0]), ([3], [1.7e308, 1.0, 1.0])
    expect("a step without an end", ask(folder, run, status=1)["largest_step"] is None)
    run = Run("SGD", SGD | {"lr": 0.0, "momentum": 0, "weight_decay": 0}, sgd)
    for name in SHAPES:
        run.gradient[name] = SHAPES[name], [1e-290] * count(SHAPES[name])
        run.update["gradient/" + name] = SHAPES[name], [1e290] * count(SHAPES[name])
        run.update["after/theta/" + name] = run.update["before/theta/" + name]
    expect("a factor that is none", ask(folder, run, status=3)["gradient"]["is"] == "other")


def wide(folder):
    """In float32 a step of the size of rounding shows nothing."""
    run = Run("SGD", SGD | {"lr": 1e-18, "momentum": 0.5}, sgd)
    run.moved("after/theta/a.bias", 0, lambda x: x * CLOSE)
    said = ask(folder, run, status=3)
    expect("a bound as large as the step", said["answer"] == "undecided" and "not small beside the largest step" in said["why"], said)
    run = Run("SGD", SGD | {"lr": 1.0, "momentum": 0, "weight_decay": 0}, sgd)  # a parameter of small steps, beside one of large ones
    for tensors, key in ((run.update, "gradient/a.bias"), (run.gradient, "a.bias")):
        tensors[key] = [3], [1e-17] * 3
    run.update["after/theta/a.bias"] = [3], [x * (1 + 2**-51) for x in run.update["before/theta/a.bias"][1]]
    said = ask(folder, run, status=3)
    expect("each parameter's own step", said["answer"] == "undecided" and "a.bias: the bound" in said["why"], said)
    run = Run("SGD", SGD | {"lr": 1.0, "momentum": 0, "weight_decay": 0}, sgd)
    for tensors, key in ((run.update, "gradient/a.bias"), (run.gradient, "a.bias")):
        tensors[key] = [3], [0.0] * 3
    run.update["after/theta/a.bias"] = run.update["before/theta/a.bias"]
    run.told["groups"][0]["capturable"] = True  # no program to ask, bit for bit
    said = ask(folder, run)
    expect("a parameter at rest", (said["answer"], said["within"]) == ("the rule's, within the bound", 15), said)
    run.moved("after/theta/a.bias", 1, lambda x: x * CLOSE)
    expect("and moved by rounding", ask(folder, run, status=3)["answer"] == "undecided")
    up = Run("SGD", SGD | {"lr": 1.0, "momentum": 0, "weight_decay": 0}, lambda e, g, h, k: sgd(e, -g, h, k))  # an ascent, but of what is too small to tell
    for tensors, key in ((up.update, "gradient/a.bias"), (up.gradient, "a.bias")):
        tensors[key] = [3], [1e-17] * 3
    up.update["after/theta/a.bias"] = [3], [x * CLOSE for x in up.update["before/theta/a.bias"][1]]
    expect("what is too small to tell names no other rule", ask(folder, up, status=1)["instead"] is None)


def wide_slots(folder):
    """Of a state that moves by less than rounding may make of it nothing is shown, either."""
    slow = SGD | {"momentum": 1 - 2**-52, "dampening": 1 - 2**-52, "weight_decay": 0}
    for by in (1, CLOSE, 1 / CLOSE):
        run = Run("SGD", slow, sgd).moved("after/momentum_buffer/a.bias", 0, lambda x: x * by)
        run.told["groups"][0]["capturable"] = True  # no program to ask, bit for bit
        said = ask(folder, run, status=3)
        expect(f"a buffer that moves by rounding, times {by}", said["answer"] == "undecided" and "the bound on rounding of m" in said["why"], said)
    for name in SHAPES:  # no gradient, and nothing moves: that is no doubt
        run = Run("Adam", ADAM, adam, 0)
        run.told["groups"][0]["capturable"] = True
        run.update["gradient/" + name] = run.gradient[name] = SHAPES[name], [0.0] * count(SHAPES[name])
        for slot in ("exp_avg", "exp_avg_sq"):
            run.update[f"after/{slot}/{name}"] = SHAPES[name], [0.0] * count(SHAPES[name])
        run.update[f"after/theta/{name}"] = run.update[f"before/theta/{name}"]
        expect("a state at rest", ask(folder, run)["answer"] == "the rule's, within the bound")


def sealed(lines):
    body = "\n".join(lines) + "\n"
    return body + "end " + hashlib.sha256(body.encode()).hexdigest() + "\n"


def check(proof):
    ran = subprocess.run([CLARKE.parent / "clarke-check", proof], text=True, capture_output=True, timeout=120)
    return ran.returncode, ran.stdout + ran.stderr


def proved(folder):
    """A step that is the rule's has a proof; nothing in it, or in the files, may be another; and none where it would show nothing."""
    proof, nadam_run = folder / "step.proof", Run("NAdam", NADAM, nadam)
    for optimizer, settings, rule in (*OURS, ("Adam", ADAM | {"maximize": True}, lambda e, g, h, k: adam(e, -g, h, k)), ("Adam", ADAM | {"betas": [0.0, 0.99]}, adam),
                                      ("SGD", SGD | {"momentum": 0}, sgd)):
        for k in (0, 3):
            run = Run(optimizer, settings, rule, k)
            ask(folder, run, "--proof", str(proof))
            status, said = check(proof)
            expect(f"{optimizer} {settings} {k}: the proof", status == 0 and "bit for bit" in said and "after %d steps" % (k if optimizer != "SGD" else min(k, 1) if settings["momentum"] else 0) in said
                   and ("not counted" in said) == (optimizer == "SGD"), said)
    ask(folder, nadam_run, "--proof", str(proof))
    expect("NAdam's proof", check(proof)[0] == 0, check(proof))
    uneven = Run("NAdam", NADAM, nadam)  # one parameter has fewer steps behind it: its product of mu is its own
    few = Run("NAdam", NADAM, nadam, k=1, seed=2)
    for key, tensor in few.update.items():
        if key.endswith("a.bias"):
            uneven.update[key] = tensor
    uneven.gradient["a.bias"], uneven.start["a.bias"] = few.gradient["a.bias"], few.start["a.bias"]
    ask(folder, uneven, "--proof", str(proof))
    lines = [line for line in proof.read_text().splitlines()[:-1]]
    expect("each has its own group", "groups 2" in lines and check(proof)[0] == 0, check(proof))
    second = lines.index("group 1", lines.index("group 1") + 1)
    one = [line.replace("groups 2", "groups 1").replace("group 1", "group 2") for line in lines[:second]] + lines[-1:]
    proof.write_text(sealed(one))
    expect("and its own product where a group has both", check(proof)[0] == 0, check(proof))
    run = Run("Adam", ADAM, adam)
    ask(folder, run, "--proof", str(proof))
    said = check(proof)[1]
    expect("whose settings they are, in numbers that can be read", "those that run.json has of this step: Adam of torch.optim.adam" in said and "eta = 5764607523034235/576460752303423488 (about 0.01), " in said
           and "weight-decay = 0\n" in said, said)
    retyped(folder, proof)
    ask(folder, run, "--proof", str(proof))
    forged(folder, proof)
    told(folder, proof)
    grown(folder, folder / "grown.proof")
    begun(folder, folder / "begun.proof")
    emptied(folder, folder / "emptied.proof")
    rested(folder, folder / "rested.proof")
    for name in SHAPES:
        run.gradient[name] = run.gradient[name][0], [g * 3 for g in run.gradient[name][1]]
    ask(folder, run, "--proof", str(proof))
    expect("of another gradient nothing is said", "nothing else is said" in check(proof)[1] and "gradients" not in proof.read_text(), check(proof))
    proof.unlink()
    ask(folder, copy.deepcopy(run).moved("after/theta/a.weight", 7, lambda x: x + 1), "--proof", str(proof), status=1)
    expect("no proof of what is not the rule's", not proof.exists())
    small = Run("SGD", SGD | {"lr": 1e-17, "momentum": 0, "weight_decay": 0}, sgd)
    expect("no proof that would show nothing", "would show nothing" in ask(folder, small, "--proof", str(proof), status=2) and not proof.exists())


def retyped(folder, proof):
    """The same bytes are other numbers in another type."""
    lines = proof.read_text().splitlines()[:-1]
    at = next(i for i, line in enumerate(lines) if line.startswith("gradients "))
    file = folder / lines[at].split()[1]
    data = file.read_bytes().replace(b'"F64"', b'"I64"').replace(b'"F32"', b'"I32"')
    file.write_bytes(data)
    lines[at] = f"gradients {file.name} {hashlib.sha256(data).hexdigest()}"
    proof.write_text(sealed(lines))
    expect("gradients of another type", check(proof)[0] == 1 and "another gradient than the recorded one" in check(proof)[1], check(proof))


def grown(folder, proof):
    """Nesterov's factor k / (k + 3) is none of the numbers: m counts where the number of momentum is 0, too."""
    for theta, m, status in ((4.75, 3.75, 0), (0.75, 3.75, 1), (0.75, 5.0, 1)):  # 1/2 * 8 - 1/4; without m theta would be 0.75
        run = {f"{when}/{slot}/w": ([1], [value]) for when, slot, value in (("before", "theta", 1.0), ("before", "m", 8.0), ("after", "theta", theta), ("after", "m", m))}
        data = safetensors(run | {"gradient/w": ([1], [1.0])})
        (folder / "optimizer.safetensors").write_bytes(data)
        lines = ["clarke-proof 1", "claim stepped", "optimizer optimizer.safetensors " + hashlib.sha256(data).hexdigest(), "scale 1", "rule nag", "groups 1", "group 1",
                 "number eta 1/4", "number momentum 0", "number weight-decay 0", "decay coupled", "mu grows", "direction down"]
        for distances in ("0 0", "0"):
            proof.write_text(sealed([*lines, "parameter w 3 " + distances]))
            said = check(proof)
            expect(f"mu grows: {theta} {m} {distances}", said[0] == max(status, int(distances == "0")) and ("VERIFIED" in said[1]) == (said[0] == 0), said)
    data = safetensors({key: run[key] for key in run if "/m/" not in key} | {"gradient/w": ([1], [1.0])})
    (folder / "optimizer.safetensors").write_bytes(data)
    lines[2] = lines[2].rsplit(" ", 1)[0] + " " + hashlib.sha256(data).hexdigest()
    proof.write_text(sealed([*lines, "parameter w 3 0"]))
    expect("mu grows, and there is no m", check(proof)[0] == 1 and "its m is missing" in check(proof)[1], check(proof))


def unread(folder):
    """nag's momentum grows where none is given: a run without m is no step of it."""
    run = Run("SGD", {"lr": 0.25, "weight_decay": 0, "momentum": 0}, sgd)
    del run.told["groups"][0]["momentum"]
    for name in SHAPES:
        run.update[f"before/step/{name}"], run.update[f"after/step/{name}"] = ([], [3.0]), ([], [4.0])
    expect("nag without m", "'m' after the step is missing" in ask(folder, run, "--rule", "nag", status=2))


def begun(folder, proof):
    """rmsprop's v begins with 1: it has moved from there, not from 0."""
    for v, far, status in ((1.3, "1/1000", 0), (1.5, "1/4", 1)):  # .9 + .1 * 4
        data = safetensors({"before/theta/w": ([1], [1.0]), "after/theta/w": ([1], [1 - 2 / math.sqrt(1.3)]), "after/v/w": ([1], [v]), "gradient/w": ([1], [2.0])})
        (folder / "optimizer.safetensors").write_bytes(data)
        proof.write_text(sealed(["clarke-proof 1", "claim stepped", "optimizer optimizer.safetensors " + hashlib.sha256(data).hexdigest(), "scale 1", "rule rmsprop", "groups 1",
                                 "group 1", "number eta 1", "number sigma 9/10", "number momentum 0", "number eps 0", "number weight-decay 0", "decay coupled", "root inside",
                                 "direction down", f"parameter w 0 1/1000 {far}"]))
        said = check(proof)
        expect(f"v began with 1: {v}", said[0] == status and ("not small" in said[1]) == (status == 1), said)
        expect("where v began is said", status == 1 or "having moved by up to about 0.3 from 1, as the rule begins\n" in said[1], said)


def emptied(folder, proof):
    """A proof is about one parameter at least. Where m, v and epsilon are 0 the quotient is taken for 0, and the statement says so."""
    for parameters, eps, tensors in ((0, "0", ()), (0, "1", ()), (1, "0", ("after/theta/w", "after/exp_avg/w", "after/exp_avg_sq/w"))):
        data = safetensors({key: ([1], [0.0]) for key in ("before/theta/w", "gradient/w", *tensors)})
        (folder / "optimizer.safetensors").write_bytes(data)
        proof.write_text(sealed(["clarke-proof 1", "claim stepped", "optimizer optimizer.safetensors " + hashlib.sha256(data).hexdigest(), "scale 1", "rule torch-adam", "groups 1",
                                 f"group {parameters}", "number eta 1", "number sigma 1/2", "number momentum 1/2", f"number eps {eps}", "number weight-decay 0", "decay coupled",
                                 "root outside", "direction down", *["parameter w 0 0 0 0"] * parameters]))
        status, said = check(proof)
        expect(f"{parameters} parameters, epsilon {eps}", (status == 0) == (parameters > 0) and (status == 1) == (parameters == 0), said)
        expect("what is 0 over 0", ("taken for 0" in said) == (status == 0), said)


def rested(folder, proof):
    """What nothing moves has a proof, beside what moves: within 0. And with a step size of 0, as where a schedule begins."""
    still = ADAM | {"lr": 0.0}
    for optimizer, settings, rule, k in (("SGD", SGD | {"weight_decay": 0}, sgd, 0), ("Adam", ADAM, adam, 0), ("Adam", still, adam, 0), ("Adam", still, adam, 3),
                                         ("AdamW", DECAYED, adam, 0)):
        run, left = Run(optimizer, settings, rule, k), 1 - settings["lr"] * settings["weight_decay"]
        for name in ("a.bias",) if k == 0 else ():
            for tensors, key in ((run.update, "gradient/" + name), (run.gradient, name)):
                tensors[key] = SHAPES[name], [0.0] * count(SHAPES[name])
            for key in run.update:
                if key.startswith("after/") and key.endswith(name) and "/step/" not in key:
                    run.update[key] = SHAPES[name], [x * left for x in run.update[f"before/theta/{name}"][1]] if "/theta/" in key else [0.0] * count(SHAPES[name])
        ask(folder, run, "--proof", str(proof))
        said = check(proof)
        expect(f"{optimizer} at rest, lr {settings['lr']}", said[0] == 0 and (" m" if left < 1 else "theta") + " within 0, having moved by up to about 0" in said[1], said)
        tiny = copy.deepcopy(run)
        tiny.update["gradient/a.bias"] = tiny.gradient["a.bias"] = [3], [1e-300, 0.0, 0.0]  # it moves, by less than can be told
        proof.unlink()
        if optimizer == "SGD":
            expect("no proof of what moves, if by nothing that is seen", "would show nothing" in ask(folder, tiny.moved("after/momentum_buffer/a.bias", 0, lambda x: 1e-300),
                                                                                                 "--proof", str(proof), status=2))


def forged(folder, proof):
    lines = [line for line in proof.read_text().splitlines()[:-1] if line != "settings run.json"]  # which would say it first (told)
    for i, line in enumerate(lines[2:], 2):
        for w, word in enumerate(line.split()):
            if w == 0 or not word[0].isdigit() or line.startswith(("optimizer", "gradients")) and w == 2:
                continue
            within = line.startswith("parameter") and w > 2
            for other in ("0", f"1/{10**40}", "100000") if within else (f"{word}7", "3"):  # too near, and so far that it shows nothing
                changed = line.split()
                changed[w] = other
                if changed == line.split():
                    continue
                (folder / "forged.proof").write_text(sealed(lines[:i] + [" ".join(changed)] + lines[i + 1:]))
                status, said = check(folder / "forged.proof")
                expect(f"{line} -> {' '.join(changed)}", status in (1, 2) and "VERIFIED" not in said, said)
    text = "\n".join(lines)
    for old, new, words in (("direction down", "direction up", "farther from the rule's"), ("rule torch-adam", "rule adam", "farther from the rule's"),
                            ("root outside", "root inside", ""), ("group 2", "group 1", ""), ("parameter a.bias 3", "parameter a.weight 3", ""),
                            ("rule torch-adam", "rule torch-sgd", ""), ("parameter a.bias", "parameter b.bias", "not recorded")):
        (folder / "forged.proof").write_text(sealed(text.replace(old, new, 1).split("\n")))
        status, said = check(folder / "forged.proof")
        expect(f"{old} -> {new}", old in text and status in (1, 2) and words in said and "VERIFIED" not in said, said)
    short = [line.replace("group 2", "group 1") for line in lines if not line.startswith("parameter a.bias")]
    (folder / "forged.proof").write_text(sealed(short))
    expect("a parameter is left out", "nothing is said of a.bias" in check(folder / "forged.proof")[1], check(folder / "forged.proof"))
    path = folder / "step-000000.optimizer.safetensors"
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    expect("another file", "the hash of" in check(proof)[1])
    path.write_bytes(data)


def told(folder, proof):
    """What run.json has of the step is what the proof says, or the proof fails; other steps may come."""
    def edited(edit, words, optimizer="Adam", settings=ADAM, rule=adam):
        run = Run(optimizer, settings, rule)
        ask(folder, run, "--proof", str(proof))
        path = folder / "run.json"
        data = json.loads(path.read_text())
        edit(data, data["steps"][0]["update"], data["steps"][0]["update"]["groups"][0])
        path.write_text(json.dumps(data, indent=1 if words is None else None))
        status, said = check(proof)
        expect(f"{optimizer}: run.json: {words}", status == (0 if words is None else 1 if words[0] != "!" else 2) and (words or "VERIFIED").lstrip("!") in said, status, said)

    def entry(key, value):
        return lambda data, update, group: group.__setitem__(key, value)

    def of_step(key, value):
        return lambda data, update, group: update.__setitem__(key, value)

    def forget(key):
        return lambda data, update, group: group.pop(key)

    lr, betas = ADAM["lr"], ADAM["betas"]
    edited(lambda *_: None, None)
    edited(lambda data, *_: data["steps"].append({"step": 10, "files": {}, "update": {"optimizer": "SGD", "skipped": "not called"}}), None)
    edited(lambda data, *_: data["steps"].insert(0, {"step": 1}), None)
    edited(entry("name", "\u00e9\n\"quoted\""), None)
    edited(entry("lr", {"tensor": "float64", "value": lr.hex()}), None)
    edited(entry("lr_decay", "0x1p-1"), None)  # which is Adagrad's alone
    edited(entry("momentum", "0x1p-1"), None)
    edited(entry("lr", (lr * (1 + 2**-52)).hex()), "another number: lr")  # by less than the distance shows
    edited(entry("lr", {"tensor": "float64", "value": 1}), "another number: lr")
    edited(entry("lr", "-" + lr.hex()), "another number: lr")
    edited(entry("lr", lr), "!a whole number or a hexadecimal float")
    edited(entry("lr", "0x1.8"), "!no hexadecimal float")
    edited(entry("lr", "0x1p+9999999999"), "!no hexadecimal float")
    edited(entry("lr", True), "!a whole number or a hexadecimal float")
    edited(forget("lr"), "!no object that has 'lr'")
    edited(entry("betas", [x.hex() for x in reversed(betas)]), "another number: ")
    edited(entry("betas", [betas[0].hex()]), "!too short a list")
    edited(entry("eps", (1e-8 * 1.5).hex()), "another number: eps")
    edited(entry("weight_decay", "0x1p-60"), "another number: weight_decay")
    edited(entry("maximize", True), "another direction")
    edited(entry("amsgrad", True), "sets 'amsgrad'")
    edited(entry("amsgrad", 1), "sets 'amsgrad'")  # which Python takes for True
    edited(entry("amsgrad", 0), None)
    edited(entry("amsgrad", "yes"), "!a whole number or a hexadecimal float")
    edited(entry("maximize", "0x1p+0"), "another direction")
    edited(entry("decoupled_weight_decay", 1), "another weight decay", "Adam", ADAM | {"weight_decay": 0.1}, adam)
    edited(entry("differentiable", True), "sets 'differentiable'")
    edited(entry("parameters", ["a.weight"]), "a.bias: run.json has it in no group")
    edited(entry("parameters", [*SHAPES, "a.bias"]), "in two places of one step")
    edited(lambda data, update, group: update["groups"].append(group | {"parameters": ["a.bias"]}), "in two places of one step")
    edited(of_step("grad_scale", "0x1p+1"), "another scale")
    edited(of_step("optimizer", "AdamW"), "another optimizer: AdamW")
    edited(of_step("module", "apex.optimizers"), "whose rule is not known")
    edited(of_step("module", None), "!")
    edited(lambda data, *_: data["steps"].clear(), "run.json has 0 steps")
    edited(lambda data, *_: data["steps"].append(data["steps"][0]), "run.json has 2 steps")
    edited(lambda data, *_: data["steps"][0]["files"]["optimizer"].__setitem__("sha256", "0" * 64), "run.json has 0 steps")
    edited(lambda data, *_: data["steps"][0].pop("update"), "!no object that has 'update'")
    edited(entry("nesterov", True), "another 'nesterov'", "SGD", SGD, sgd)
    edited(entry("momentum", 0), "another number: momentum", "SGD", SGD, sgd)
    edited(entry("decoupled_weight_decay", False), "another weight decay", "AdamW", DECAYED, adam)
    edited(entry("decoupled_weight_decay", True), None, "SGD", SGD | {"weight_decay": 0.1}, sgd)  # which SGD does not ask for
    (folder / "run.json").unlink()
    expect("no run.json", check(proof)[0] == 2, check(proof))
    run = Run("Adam", ADAM, adam)
    run.told["module"] = "apex.optimizers"
    ask(folder, run, "--rule", "torch-adam", "--proof", str(proof))
    (folder / "run.json").unlink()
    expect("of a rule that was asked about", check(proof)[0] == 0 and "they were not compared with those in run.json" in check(proof)[1], check(proof))


def unchanged(folder):
    """Told of infinite gradients, a step leaves all as it was: also its count; what it had not yet it may have as zeros."""
    def still(k, *counts):
        r = Run("Adam", ADAM, adam, k)
        for key in list(r.update):
            if key.startswith("after/"):
                r.update[key] = r.update[key.replace("after/", "before/")]
        for name in SHAPES:
            r.update[f"after/step/{name}"] = [], [float(counts[0] if counts else k)]
        r.told |= {"found_inf": "0x1p+0"}
        return r

    expect("nothing changed", ask(folder, still(3))["answer"] == "skipped")
    expect("the count changed", "changed something" in ask(folder, still(3, 4), status=1)["why"])
    r = still(3)
    del r.update["after/exp_avg/a.bias"]
    expect("a slot was lost", "changed something" in ask(folder, r, status=1)["why"])
    for value, status in ((0.0, 0), (0.5, 1)):
        r = still(0)
        for key in list(r.update):
            if key.startswith("before/") and "/theta/" not in key:
                del r.update[key]
        r.update["after/exp_avg/a.bias"] = [3], [0.0, value, 0.0]
        expect(f"a first step that leaves {value}", ask(folder, r, status=status)["holds"] == (status == 0))


def refused(folder):
    def run(optimizer="Adam", settings=ADAM):
        return Run(optimizer, settings, adam)

    def without(key):
        r = run()
        del r.update[key]
        return r

    for key, words in (("after/exp_avg_sq/a.bias", "'v' after the step is missing"), ("before/exp_avg/a.bias", "'m' before the step is missing"),
                       ("after/theta/a.bias", "theta after is missing"), ("gradient/a.weight", "the gradient is missing"),
                       ("before/step/a.bias", "has no 'step'")):
        expect(f"without {key}", words in ask(folder, without(key), status=2), ask(folder, without(key), status=2))
    r = run()
    r.update["before/exp_avg/a.weight"] = [4, 3], r.update["before/exp_avg/a.weight"][1]
    expect("another shape", "another shape" in ask(folder, r, status=2))
    r = run().moved("after/exp_avg/a.weight", 2, lambda x: math.nan)
    expect("NaN", "NaN" in ask(folder, r, status=2))
    r = run()
    r.update["before/step/a.bias"] = [], [2.5]
    expect("half a step", "no number of steps" in ask(folder, r, status=2))
    r = run()
    r.told["groups"][0]["lr"] = 0.01
    expect("a float that is no text", "torch-adam needs --eta" in ask(folder, r, status=2))
    for key, value, words in (("groups", 3, "'groups'"), ("optimizer", None, "'optimizer'"), ("grad_scale", "0x0p+0", "'grad_scale'")):
        r = run()
        r.told[key] = value
        expect(f"told {key}", words in ask(folder, r, status=2))
    r = run()
    r.told["groups"][0]["parameters"] = ["a.weight"]
    expect("a parameter in no group", "a.bias is in 0 groups" in ask(folder, r, status=2))
    r.told["groups"][0]["parameters"] = ["a.weight", "a.bias", "a.bias"]
    expect("a parameter that is in one twice", "a.bias is in 2 groups" in ask(folder, r, status=2))
    r = run()
    r.told["groups"][0]["amsgrad"] = True
    expect("amsgrad", "amsgrad" in ask(folder, r, status=3)["why"])
    r.told["groups"][0]["amsgrad"] = 1
    expect("amsgrad, as Python takes a number", "amsgrad" in ask(folder, r, status=3)["why"])
    r = run()
    r.told["module"] = "apex.optimizers"
    expect("another's Adam", "no rule is known" in ask(folder, r, status=3)["why"])
    expect("and what it is said to be", ask(folder, r, "--rule", "torch-adam")["answer"] == "the rule's, bit for bit")
    r = run()
    r.told |= {"missing": "because"}
    expect("missing", ask(folder, r, status=3)["why"] == "because")
    r = run()
    r.told = {"optimizer": "Adam", "skipped": "not called"}
    expect("not called", ask(folder, r, status=3)["answer"] == "no step")
    r.gradient["a.bias"] = [3], [math.inf, 0, 0]
    expect("skipped for an infinite gradient", ask(folder, r)["answer"] == "skipped")
    r = run()
    r.told |= {"found_inf": "0x1p+0"}
    expect("told of infinite gradients, and changed", "changed something" in ask(folder, r, status=1)["why"])
    unchanged(folder)
    run().write(folder)
    (folder / "step-000000.optimizer.safetensors").write_bytes(b"x")
    ran = subprocess.run([CLARKE, "step", folder], text=True, capture_output=True)
    expect("another file", ran.returncode == 2 and "SHA-256" in ran.stderr, ran.stderr)
    for options, words in ((["--eta", "1"], "only --rule, --step, --optimizer and --proof"), (["--step", "4"], "it has no step 4"), (["--rule", "nobody"], "there is no rule")):
        run().write(folder)
        ran = subprocess.run([CLARKE, "step", folder, *options], text=True, capture_output=True)
        expect(f"{options}", ran.returncode == 2 and words in ran.stderr, ran.stderr)
    ran = subprocess.run([CLARKE, "step", "sgd", "--rule", "sgd"], text=True, capture_output=True)
    expect("--rule without a folder", ran.returncode == 2 and "go with a run folder" in ran.stderr, ran.stderr)


def main():
    for test in (followed, named, given, sums, products, several, far, wide, wide_slots, proved, unread, refused):
        with tempfile.TemporaryDirectory() as name:
            test(Path(name))
    print(f"{len(failures)} failures")
    return len(failures) > 0


if __name__ == "__main__":
    sys.exit(main())
