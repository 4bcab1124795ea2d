#!/usr/bin/env python3
"""Types within a step: factors that oneDNN rounded before it multiplied them, and what has another type than its neighbours. What proofs of
such steps show, and what they cannot be made to.

    records_types.py CLARKE CLARKE-CHECK

A step is recorded in float32, and run.json made to say that convolutions had bfloat16 factors and matrix products TF32's. Then one entry of
one tensor is moved to just inside of what such factors take of its terms, or to just outside: both programs must tell these apart. How large
that is, f (2 + f) times the terms' absolute values, is computed here, by PyTorch in float64. What is no such product stays as exact as it
was. Proofs that say more of run.json than it does are refused. Steps that oneDNN did run so, where it can, are explained and proved.
"""
import hashlib
import json
import os
import subprocess
import sys
import tempfile

import torch
from torch import nn
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "python"))
CLARKE, CHECK = (os.path.abspath(tool) for tool in sys.argv[1:])
os.environ["CLARKE"] = CLARKE
import clarke  # noqa: E402
from copied_run import Copy  # noqa: E402
from safetensors.torch import load_file  # noqa: E402

CONV, MATMUL = 2.0**-8, 2.0**-11
failed = []


def expect(holds, *what):
    if not holds:
        failed.append(what)
        print("FAILED:", *what, flush=True)


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    return done.returncode, done.stdout, done.stderr


class Net(nn.Module):
    """Convolutions, one by a weight that is computed; matrix products by parameters and of activations; alpha; and what is no product."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = nn.Conv2d(2, 3, 3), nn.ConvTranspose2d(3, 2, 3), nn.Conv2d(2, 2, 1)
        self.q, self.k, self.w = nn.Linear(8, 4), nn.Linear(8, 4), nn.Parameter(torch.randn(8, 3))
        self.v, self.t = nn.Parameter(torch.randn(8, 3)), nn.Linear(8, 3)

    def forward(self, x):
        h = self.second(torch.relu(self.first(x)))
        h = F.conv2d(h, self.third.weight * 2, self.third.bias).mean(1)
        a = self.q(h) @ self.k(h).mT
        m = h.mean(1)
        c = torch.relu(torch.addmm(torch.ones(3), m, self.v, alpha=0.5) + self.t(m))
        return torch.addmm(c, a.mean(1), self.w, alpha=0.5)


def record(path, model, x, loss=torch.sum):
    with clarke.record(path, model):
        loss(model(x)).backward()


def told(conv, matmul):
    return lambda d: d["flags"]["precision"].update(cpu={"conv": conv, "matmul": matmul})


# ---- Proofs, forged


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def proof(folder, lines):
    """Of these lines, with the hashes of the folder's files."""
    made = []
    for line in lines:
        words = line.split(" ")
        if words[0] in ("model", "params", "batch", "trace", "gradients", "run"):
            words[2] = digest(os.path.join(folder, words[1]))
        made.append(" ".join(words))
    text = "\n".join(made) + "\n"
    path = os.path.join(folder, "forged")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text + f"end {hashlib.sha256(text.encode()).hexdigest()}\n")
    return path


def verified(folder, lines):
    """(is it?, what was said)"""
    status, said, error = run(CHECK, proof(folder, lines), "--data", folder)
    return status == 0 and said.startswith("VERIFIED\n"), said + error


def with_factors(lines, *factors):
    at = next(i for i, line in enumerate(lines) if line.startswith("gradients ")) + 1
    return lines[:at] + ["run run.json HASH", *(f"factors {f}" for f in factors)] + lines[at:]


def about(lines, part, name):
    """The proof says of one tensor what it said, or that it is within its bound; of all others nothing."""
    made = []
    for line in lines:
        words = line.split(" ")
        if words[0] == "pattern":
            line = f"pattern {words[1]} not-covered"
        elif words[0] in ("output", "gradient", "parameter"):
            of = words[:2] == [part, name]
            expect(not of or words[2] in ("bit-exact", "within", "where-bounded"), part, name, "is not covered:", line)
            line = " ".join(words[:2] + ["within" if words[2] == "bit-exact" else words[2] if of else "not-shown"]) if of else (
                line if words[2] == "not-covered" else " ".join(words[:2] + ["not-shown"]))
        made.append(line)
    return made


# ---- How much narrow factors may take


def masses(path):
    """By tensor: (f, the sum of its products' absolute values, of each entry)."""
    t = {n: v.double().abs() for n, v in load_file(os.path.join(path, "step-000000.trace.safetensors")).items() if v.is_floating_point()}
    w = {n: v.double().abs() for n, v in load_file(os.path.join(path, "step-000000.parameters.safetensors")).items()}

    def back(operator, *at, g):
        return torch.func.vjp(operator, *at)[1](g)

    def output(name):
        return t["output/" + name]

    def gradient(name):
        return t["gradient/" + name]

    found, relu, two = {}, output("relu"), output("mul_2")
    found["gradient", "relu"], found["parameter", "second.weight"] = (
        (CONV, m) for m in back(F.conv_transpose2d, relu, w["second.weight"], g=gradient("second/convolution")))
    found["parameter", "second.bias"] = CONV, gradient("second/convolution").sum((0, 2, 3))
    found["output", "second/convolution"] = CONV, F.conv_transpose2d(relu, w["second.weight"])
    found["output", "convolution_8"] = MATMUL, F.conv2d(output("second/convolution"), two)
    found["gradient", "second/convolution"], found["gradient", "mul_2"] = (
        (MATMUL, m) for m in back(F.conv2d, output("second/convolution"), two, g=gradient("convolution_8")))
    flat, turned = output("q/view"), w["q.weight"].mT
    found["output", "q/addmm"] = MATMUL, flat @ turned
    found["gradient", "q/view"], found["gradient", "q/t"] = ((MATMUL, m) for m in back(torch.matmul, flat, turned, g=gradient("q/addmm")))
    found["parameter", "q.bias"] = MATMUL, gradient("q/addmm").sum(0)
    one, other = output("view"), output("view_2")
    found["output", "bmm"] = MATMUL, one @ other
    found["gradient", "view"], found["gradient", "view_2"] = ((MATMUL, m) for m in back(torch.matmul, one, other, g=gradient("bmm")))
    for x, of, to in (("mean_2", "v", "addmm"), ("mean_3", "w", "addmm_4")):
        found["output", to], found["gradient", x] = (MATMUL, output(x) @ w[of] / 2), (MATMUL, gradient(to) @ w[of].mT / 2)
    found["gradient", "mean_2"] = MATMUL, found["gradient", "mean_2"][1] + gradient("t/addmm") @ w["t.weight"]
    found["parameter", "w"] = MATMUL, output("mean_3").mT @ gradient("addmm_4") / 2
    return found


# What is no product, or of no factor that may be narrow.
PLAIN = [("output", "relu"), ("output", "mean"), ("output", "mean_2"), ("output", "sum"), ("gradient", "relu_2"), ("gradient", "first/convolution"), ("gradient", "mean"), ("gradient", "bmm"),
         ("gradient", "convolution_8"), ("parameter", "third.bias"), ("parameter", "third.weight")]


def moved(folder, path, part, name, at, by):
    """The folder with one entry moved."""
    def change(tensors):
        tensors = {n: t.clone() for n, t in tensors.items()}
        tensors[name if part == "parameter" else f"{part}/{name}"].view(-1)[at] += by
        return tensors
    return Copy(folder, path).tensors("gradients" if part == "parameter" else "trace", change).run


class Between(nn.Module):
    """Before products what is none."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 3)

    def forward(self, x):
        return self.second(torch.relu(self.first(x))) + torch.abs(self.first(x)) @ x.mT


def certified(folder, part, name):
    """The row of a tensor."""
    said = run(CLARKE, "certify", folder, "--nodes", "--json")[1]
    return next(row for row in json.loads(said)["nodes"] if (row["part"], row["name"]) == (part, name))["answer"]


def tensors_of(path, part):
    return load_file(os.path.join(path, f"step-000000.{'gradients' if part == 'parameter' else 'trace'}.safetensors"))


def edges(folder, path, lines):
    for (part, name), (f, mass) in masses(path).items():
        at = int(mass.reshape(-1).argmax())
        by, own = float(f * (2 + f) * mass.reshape(-1)[at]), about(with_factors(lines, "conv 1/256", "matmul 1/2048"), part, name)
        sums = 2.0 ** -20 * tensors_of(path, part)[name if part == "parameter" else f"{part}/{name}"].view(-1)[at].abs().item()  # in float32
        for times, inside in ((0.9999, True), (-0.9999, True), (1.02, False), (-1.02, False)):
            other = moved(folder, path, part, name, at, times * by + (0 if inside else sums if times > 0 else -sums))
            well, said = verified(other, own)
            expect(well == inside, part, name, times, "is verified:", well, said[-300:])
            answer = certified(other, part, name)
            expect(answer in (("within the bound",) if inside else ("refuted", "not certified")), part, name, times, "is", answer)
    tensors = {"parameter": load_file(os.path.join(path, "step-000000.gradients.safetensors")), **{p: load_file(os.path.join(path, "step-000000.trace.safetensors")) for p in ("output", "gradient")}}
    for part, name in PLAIN:
        t = tensors[part][name if part == "parameter" else f"{part}/{name}"]
        at = int(t.abs().view(-1).argmax())
        other = moved(folder, path, part, name, at, float(t.view(-1)[at]) * 2**-12)
        well, said = verified(other, about(with_factors(lines, "conv 1/256", "matmul 1/2048"), part, name))
        expect(not well and "FAILED" in said, part, name, "has no such factors:", said[-300:])
        expect(certified(other, part, name) == "refuted", part, name, "has no such factors, to certify")


def forged(folder, path, lines):
    """What a proof may not say of run.json, or run.json not say."""
    both = ("conv 1/256", "matmul 1/2048")
    expect(*verified(path, with_factors(lines, *both)))
    for factors, why in (((), "'factors' is expected"), (("conv 1/128",), "that is not what the line says"), (("conv 1/2048",), "that is not what"), (("conv 0",), "that is not"),
                         (("conv 1",), "that is not what"), (("matmul 1/256",), "that is not"), (("matmul 1/2048", "conv 1/256"), "conv is expected, then matmul"),
                         (("conv 1/256", "conv 1/256"), "conv is expected"), (both + ("matmul 1/2048",), "conv is expected"), (("relu 1/256",), "conv is expected")):
        well, said = verified(path, with_factors(lines, *factors))
        expect(not well and "FAILED" in said and why in said, factors, said)
    well, said = verified(path, [line.replace("run run.json", "run graph.onnx") for line in with_factors(lines, *both)])
    expect(not well and "'run.json' is expected" in said, "another file", said)
    well, said = verified(path, [line for line in with_factors(lines, *both) if not line.startswith("run ")])
    expect(not well and "FAILED" in said, "no run.json", said)
    said = run(CHECK, proof(path, with_factors(lines, *both)), "--data", path)[1]
    expect("each float32 factor of convolutions is rounded, by 1/256 of itself" in said and "matrix products is rounded, by 1/2048" in said, "the statement says it:", said)
    for change, why in ((told("ieee", "tf32"), "'ieee' of conv"), (told("any", "tf32"), "'any' of conv"), (told("fp16", "tf32"), "'fp16'"), (told("bf16", "bf16"), "'bf16' of matmul"),
                        (lambda d: d["device"].update(type="cuda"), "a device"), (lambda d: d["flags"].pop("precision"), "no object that has 'precision'"),
                        (lambda d: d["flags"]["precision"].update(cpu={"conv": "bf16"}), "no object that has 'matmul'"),
                        (lambda d: d["flags"]["precision"].update(cpu=["conv"]), "'{' is missing")):
        other = Copy(folder, path).describe(change).run
        well, said = verified(other, with_factors(lines, *both))
        expect(not well and why in said, "run.json says otherwise", why, said)
    well, said = verified(Copy(folder, path).describe(told("ieee", "tf32")).run, with_factors(lines, "conv 1", "matmul 1/2048"))
    expect(not well and "'ieee' of conv" in said, "all of a factor", said)
    well, said = verified(Copy(folder, path).describe(lambda d: d.update(note='a "bracket\\" { [', more=[1, [{}], -2.5e3, None])).run, with_factors(lines, *both))
    expect(well, "texts with quotes and brackets", said)
    other = Copy(folder, path).run
    with open(os.path.join(other, "run.json"), encoding="utf-8") as f:
        escaped = f.read().replace('"bf16"', '"bf\\u00316"', 1)
    with open(os.path.join(other, "run.json"), "w", encoding="utf-8") as f:
        f.write(escaped)
    expect("u00316" in escaped and verified(other, with_factors(lines, *both))[0], "a text with an escape says the same")
    for old, new, why in (('"conv": "bf16"', '"conv": "ieee", "conv": "bf16"', "twice"), ('"conv": "bf16"', '"conv": "bf16", "c\\u006fnv": "ieee"', "twice"), ('"conv": "bf16"', '"conv": "bf16", "c\\u006fn": "ieee"', "escape"),
                          ('"precision"', '"precisio\\u006e": {}, "precision"', "twice"), ('"precision"', '"precisio\\u006f": {}, "precision"', "escape"), ('"flags"', '"flags": {}, "flags"', "twice"), ('"bf16"', '"bf\\u00317"', "'bf17' of conv"),
                          ('"bf16"', '"bf16\\u0000"', "escape"),
                          ("\n", "\n{}", "more than an object")):
        other = Copy(folder, path).run
        with open(os.path.join(other, "run.json"), encoding="utf-8") as f:
            text = f.read() + "\n"
        expect(old in text, old, "is in run.json")
        with open(os.path.join(other, "run.json"), "w", encoding="utf-8") as f:
            f.write(text.replace(old, new, 1))
        well, said = verified(other, with_factors(lines, *both))
        expect(not well and why in said, "run.json has two readings", new, said)


def others_run(folder, path, lines):
    """Where run.json says something of one kind alone, the other's products are as exact as they were."""
    for says, line, kept in ((("bf16", "ieee"), "conv 1/256", ("output", "bmm")), (("ieee", "tf32"), "matmul 1/2048", ("output", "second/convolution"))):
        f, mass = masses(path)[kept]
        at = int(mass.reshape(-1).argmax())
        other = moved(folder, Copy(os.path.join(folder, "says"), path).describe(told(*says)).run, *kept, at, float(f * mass.reshape(-1)[at]))
        well, said = verified(other, about(with_factors(lines, line), *kept))
        expect(not well and "farther from the exact number" in said, kept, "has other factors", said[-200:])


def proved(folder, name, model, x, loss=torch.sum):
    """A recorded step, and the lines of its proof."""
    path = os.path.join(folder, name)
    record(path, model, x, loss)
    run(CLARKE, "certify", path, "--proof", os.path.join(path, "proof"))
    with open(os.path.join(path, "proof"), encoding="utf-8") as f:
        return path, f.read().split("\n")[:-2]


def between(folder):
    """Where a gradient was not recorded, it is followed through what is no product, of which nothing more is taken."""
    torch.manual_seed(3)
    path, lines = proved(folder, "between", Between(), torch.randn(5, 3, 4))
    t = {n: v.double() for n, v in load_file(os.path.join(path, "step-000000.trace.safetensors")).items()}
    w = load_file(os.path.join(path, "step-000000.parameters.safetensors"))["second.weight"].double()
    linear = t["gradient/second/addmm"].abs() @ w.abs() * (t["output/relu"].view(15, 4) > 0)
    product = t["gradient/bmm"].abs() @ t["output/view_2"].abs().mT
    for name, mass, left in (("first/view_2", linear, ("relu", "second/view")), ("first/view_4", product, ("abs", "view", "expand"))):
        other = Copy(os.path.join(folder, "says"), path).describe(told("ieee", "tf32")).tensors(
            "trace", lambda tensors, left=left: {n: v for n, v in tensors.items() if n not in [f"gradient/{of}" for of in left]}).run
        at = int(mass.reshape(-1).argmax())
        for times, inside in ((0.999, True), (1.02, False)):
            changed = moved(folder, other, "gradient", name, at, times * float(MATMUL * (2 + MATMUL) * mass.reshape(-1)[at]))
            well, said = verified(changed, about(with_factors(lines, "matmul 1/2048"), "gradient", name))
            expect(well == inside, name, "behind", left, times, said[-300:])


def doubles(folder):
    """What is float64 has no narrow factors, whatever run.json says."""
    torch.manual_seed(1)
    path, lines = proved(folder, "doubles", nn.Sequential(nn.Linear(4, 3)).double(), torch.randn(5, 4).double())
    weight = load_file(os.path.join(path, "step-000000.trace.safetensors"))["gradient/0/t"]
    other = Copy(os.path.join(folder, "says"), path).describe(told("bf16", "bf16")).run
    for by, inside in ((0, True), (2**-12, False)):
        changed = moved(folder, other, "gradient", "0/t", 0, float(weight.view(-1)[0]) * by)
        well, said = verified(changed, about(with_factors(lines, "matmul 1/256"), "gradient", "0/t"))
        expect(well == inside, "float64", by, said[-200:])


def normalized(folder):
    """A BatchNormalization whose output has another type than the gradient in what it reads: each has the bounds of its own, though one is
    judged after the other and of the same numbers. Of float16 a number may be off by what none of float32 is."""
    torch.manual_seed(2)
    path, lines = proved(folder, "normalized", nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)), torch.randn(6, 4),
                         lambda o: (o.square() * torch.linspace(1, 3, 24).view(6, 4)).sum())
    norm, linear = "1/native_batch_norm", "0/addmm"
    for coarse, own, by, inside in ((("output", norm), ("gradient", linear), 2**-10, False), (("output", norm), ("gradient", linear), 0, True),
                                    (("gradient", linear), ("gradient", linear), 2**-6, True), (("gradient", linear), ("output", norm), 2**-10, False)):
        def change(tensors, coarse=coarse, own=own, by=by):
            tensors = {n: t.clone() for n, t in tensors.items()}
            t = tensors["/".join(own)].view(-1)
            at = t.abs().argmax()
            t[at] += t[at] * by
            return {**tensors, "/".join(coarse): tensors["/".join(coarse)].half()}
        well, said = verified(Copy(folder, path).tensors("trace", change).run, about(lines, *own))
        expect(well == inside, coarse, "is float16", own, by, said[-300:])
    # Nothing was recorded of the gradient between: it is taken through the normalization for the weight in float16, then for the bias.
    for by, inside in ((0.02, False), (0, True)):
        def change(tensors):
            return {n: t.half() if n == "gradient/0/t" else t for n, t in tensors.items() if n != "gradient/" + linear}
        other = Copy(os.path.join(folder, "says"), path).tensors("trace", change).run
        well, said = verified(moved(folder, other, "parameter", "0.bias", 0, by), about(lines, "parameter", "0.bias"))
        expect(well == inside, "the weight's gradient is float16, the bias's", by, said[-300:])


class Pair(nn.Module):
    """The mean of two equal entries, so that none cancels."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 2)
        with torch.no_grad():
            self.first.weight.copy_(torch.ones(2, 4))
            self.first.bias.copy_(torch.ones(2))

    def forward(self, x):
        return self.first(x).mean(1)


def means(folder):
    """What certify shows of a mean, just inside of four fifths of its bound, the checker finds within its own, which is no smaller."""
    for dtype, u in ((torch.float32, 2.0**-24), (torch.bfloat16, 2.0**-8)):
        path, _ = proved(folder, f"pair-{dtype}", Pair().to(dtype), torch.ones(1, 4).to(dtype))
        other = moved(folder, path, "output", "mean", 0, 0.79 * 8 * 5 * u)
        expect(certified(other, "output", "mean") == "within the bound", dtype, "a mean within its bound")
        proof_of, made = os.path.join(other, "other"), run(CLARKE, "certify", other, "--nodes", "--proof", os.path.join(other, "other"))
        status, said, error = run(CHECK, proof_of, "--data", other)
        expect(status == 0 and "output mean, 1 of" in said, dtype, "a mean near its bound", made[1][:200], said[-300:], error)


# ---- Steps that ran so, where the processor can


def ran(folder, name, operator, model, x, loss=torch.sum):
    path, of = os.path.join(folder, name), getattr(torch.backends.mkldnn, operator)
    before = of.fp32_precision
    of.fp32_precision = "bf16"
    try:
        record(path, model, x, loss)
    finally:
        of.fp32_precision = before
    made = os.path.join(path, "proof")
    status, said, error = run(CLARKE, "certify", path, "--proof", made)
    expect(status == 0, name, "is certified", said[:300], error)
    status, said, error = run(CHECK, made, "--data", path)
    expect(status == 0 and said.startswith("VERIFIED\n"), name, "has a proof", said, error)
    with open(made, encoding="utf-8") as f:
        lines = f.read().split("\n")[:-2]
    narrow = [line for line in lines if line.startswith(("run ", "factors "))]
    expect(narrow == [] or [line.split(" ")[:2] for line in narrow] in ([["run", "run.json"], ["factors", operator]], [["run", "run.json"], ["factors", "matmul"]]), name, narrow)
    if narrow:
        well, said = verified(path, [line for line in lines if line not in narrow])
        expect(not well and "farther from the exact number than its bound" in said, name, "needs these lines", said[-300:])


class Standardized(nn.Module):
    def __init__(self):
        super().__init__()
        self.own = nn.Conv2d(16, 16, 3)

    def forward(self, x):
        w = self.own.weight
        return F.conv2d(x, w - w.mean((1, 2, 3), keepdim=True), self.own.bias).relu().mean((2, 3))


def real(folder):
    torch.manual_seed(0)
    x, y = torch.randn(2, 16, 8, 8), torch.tensor([0, 2])

    def head():
        return [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 3)]

    ran(folder, "conv", "conv", nn.Sequential(nn.Conv2d(16, 16, 3), nn.ReLU(), *head()), x, lambda o: F.cross_entropy(o, y))
    ran(folder, "transposed", "conv", nn.Sequential(nn.ConvTranspose2d(16, 16, 3), nn.SiLU(), nn.Conv2d(16, 16, 3, groups=4), nn.BatchNorm2d(16), nn.ReLU(), *head()), x,
        lambda o: F.cross_entropy(o, y))
    ran(folder, "standardized", "conv", Standardized(), x, lambda o: o.square().mean())
    ran(folder, "products", "matmul", nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 3)), torch.randn(32, 64), lambda o: o.square().mean())


def main():
    with tempfile.TemporaryDirectory() as folder:
        torch.manual_seed(0)
        path, lines = proved(folder, "net", Net(), torch.randn(2, 2, 8, 8))
        expect(not any(line.startswith(("run ", "factors ")) for line in lines), "what ran in float32 has no narrow factors")
        os.makedirs(os.path.join(folder, "says"))
        path = Copy(folder, path).describe(told("bf16", "tf32")).run
        os.rename(path, os.path.join(folder, "run"))
        path = os.path.join(folder, "run")
        edges(folder, path, lines)
        forged(folder, path, lines)
        others_run(folder, path, lines)
        between(folder)
        doubles(folder)
        normalized(folder)
        means(folder)
        real(folder)
    print(f"{len(failed)} failed")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
