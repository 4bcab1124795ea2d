#!/usr/bin/env python3
"""The gradient that ran: no honest step is accused, and no wrong gradient is explained.

    records_answers.py CLARKE CLARKE-CHECK [--steps N] [--seed N]

Steps of drawn networks in all types are recorded, with a trace and light, and audited. Then gradients are replaced (by their
negatives, 0, multiples, one parameter alone), their hashes sealed again, and run.json is changed: each answer must be refuted, not
known, or an error. Rounding that turns a branch must be told.
"""
import argparse
import collections
import os
import shutil
import subprocess
import sys
import tempfile

import torch
from torch import nn
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "python"))
sys.path.append(os.path.join(HERE, "..", "tools"))
parser = argparse.ArgumentParser()
parser.add_argument("clarke")
parser.add_argument("check")
parser.add_argument("--steps", type=int, default=24)
parser.add_argument("--seed", type=int, default=1)
OPTIONS = parser.parse_args()
os.environ["CLARKE"] = CLARKE = os.path.abspath(OPTIONS.clarke)
import clarke  # noqa: E402
from copied_run import Copy  # noqa: E402
from expect import expect, finish  # noqa: E402

TYPES = {"float32": (torch.float32, None), "float64": (torch.float64, None), "float16": (torch.float16, None),
         "bfloat16": (torch.bfloat16, None), "autocast-bfloat16": (torch.float32, torch.bfloat16),
         "autocast-float16": (torch.float32, torch.float16)}


def ask(run):
    try:
        return clarke.audit(run)
    except clarke.Failed as e:
        return str(e)


def wrong(copy, name):
    """No yes: neither explained nor in the set."""
    answer = ask(copy.run)
    expect(isinstance(answer, str) or (answer.answer in ("refuted", "not known") and not answer.in_clarke), f"{name}: {answer}")
    return answer


def drawn(rng):
    """A network and what it reads."""
    def pick(*of):
        return of[int(torch.randint(len(of), (), generator=rng))]
    kind, width = pick("dense", "dense", "norm", "convolution", "attention"), pick(4, 8, 16)
    act = pick(nn.ReLU, nn.ReLU, nn.Hardtanh, nn.LeakyReLU, nn.GELU, nn.SiLU, nn.Tanh)
    if kind == "convolution":
        return nn.Sequential(nn.Conv2d(1, 3, 3, padding=1), act(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(27, 4)), (6, 1, 6, 6)
    if kind == "attention":
        return Attention(width), (2, 5, width)
    norm = pick(nn.BatchNorm1d, nn.LayerNorm)(width) if kind == "norm" else nn.Identity()
    return nn.Sequential(nn.Linear(6, width), norm, act(), nn.Linear(width, width), act(), nn.Linear(width, 4)), (pick(4, 12), 6)


class Attention(nn.Module):
    """One head; the keys' bias has no gradient."""

    def __init__(self, width):
        super().__init__()
        self.q, self.k, self.v, self.last = (nn.Linear(width, width) for _ in range(3)), None, None, nn.Linear(width, 4)
        self.q, self.k, self.v = self.q

    def forward(self, x):
        weights = torch.softmax(self.q(x) @ self.k(x).transpose(1, 2), -1)
        return self.last(torch.relu(weights @ self.v(x)).mean(1))


def record(run, model, x, cast=None, **options):
    y = torch.arange(len(x)) % 4
    with clarke.record(run, model, **options):
        if cast is None:
            out = model(x)
        else:
            with torch.autocast("cpu", cast):
                out = model(x)
        F.cross_entropy(out.float() if out.dtype in (torch.float16, torch.bfloat16) else out, y).backward()


def honest(folder, steps, seed):
    rng, counts = torch.Generator().manual_seed(seed), collections.Counter()
    torch.manual_seed(seed)
    for i in range(steps):
        model, shape = drawn(rng)
        name, light = list(TYPES)[i % len(TYPES)], i // len(TYPES) % 3 == 2
        dtype, cast = TYPES[name]
        run = os.path.join(folder, f"honest-{i}")
        try:
            record(run, model.to(dtype), torch.randn(shape, generator=rng).to(dtype), cast, light=light)
        except clarke.Refused as e:
            counts[name, light, "not recorded"] += 1
            print(f"{name}: {e}"[:150])
            continue
        answer = ask(run)
        told = answer if isinstance(answer, str) else answer.answer
        counts[name, light, told if not isinstance(answer, str) else "error"] += 1
        expect(told in ("explained", "turned", "not known"), f"honest {i}, {name}, light {light}: {answer if isinstance(answer, str) else answer.gradient}")
        if told == "explained" and i % 4 == 0:
            for factor in (-1, 0, 2):
                wrong(Copy(folder, run).gradients(factor), f"honest {i}, {name}, times {factor}")
        shutil.rmtree(run)
    for (name, light, told), n in sorted(counts.items()):
        print(f"{name}{', light' if light else ''}: {told} {n}")
    return counts


def mlp():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4))


def replaced(folder):
    """A bound as large as the gradient explains anything: so it is no yes."""
    x = torch.randn(32, 16, generator=torch.Generator().manual_seed(2))
    for cast in (None, torch.bfloat16, torch.float16):
        for light in (False, True):
            run = os.path.join(folder, f"replaced-{cast}-{light}")
            record(run, mlp(), x, cast, light=light)
            answer = ask(run)
            expect(answer.answer in ("explained", "turned", "not known") and (cast is not None or answer.in_clarke), f"{cast}, {light}: {answer.gradient}")
            for factor in (-1, 0, 2, 3):
                wrong(Copy(folder, run).gradients(factor), f"{cast}, light {light}: all times {factor}")
            for factor in (0, 2):
                told = wrong(Copy(folder, run).gradients(factor, "2.weight"), f"{cast}, light {light}: one times {factor}")
                expect(light or told.answer == "refuted", f"{cast}: one times {factor}: {told}")


def claimed(folder):
    """What run.json says is derived, checked, or told and no yes."""
    x, one = torch.randn(32, 16, generator=torch.Generator().manual_seed(3)), 1 + 2 ** -6
    for light in (False, True):
        run = os.path.join(folder, f"claimed-{light}")
        record(run, mlp(), x, light=light)
        copy = Copy(folder, run).describe(lambda d: d["parameters"].remove("0.weight"))
        wrong(copy.gradients(0, "0.weight"), "a parameter that is not told")
        copy = Copy(folder, run).describe(lambda d: d["parameters"].remove("0.weight"))
        answer = ask(copy.tensors("gradients", lambda t: {n: g for n, g in t.items() if n != "0.weight"}).run)
        expect("is made of '0.weight'" in answer if not light else "0.weight is not trained" in answer.gradient["claims"], f"untrained: {answer}")
        told = wrong(Copy(folder, run).describe(lambda d: d["steps"][0].update(loss=float(32).hex())), "the loss")
        expect(told.answer == "refuted" and "loss of 32" in told.reason, f"the loss: {told}")
        wrong(Copy(folder, run).gradients(one), "times 1 + 2^-6")
        wrong(Copy(folder, run).gradients(one).describe(lambda d: d["dtypes"].append("bfloat16")), "a type")
        for word in ("bf16", "any"):
            copy = Copy(folder, run).gradients(one)
            wrong(copy.describe(lambda d: d["flags"]["precision"]["cpu"].update(matmul=word)), f"a precision of {word}")
        text = subprocess.run([CLARKE, "audit", run], capture_output=True, text=True).stdout
        expect(", step 0, in float32.\n" in text, f"the type is told: {text[:300]}")


def statistics(folder):
    model, run = nn.Sequential(nn.Linear(16, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 4)), os.path.join(folder, "statistics")
    record(run, model, torch.randn(32, 16, generator=torch.Generator().manual_seed(4)))
    expect(ask(run).answer == "explained", "statistics")
    copy = Copy(folder, run).describe(lambda d: d["steps"][0].pop("statistics"))
    copy.tensors("trace", lambda t: t | {"after/1.running_mean": t["after/1.running_mean"] * 0 + 1})
    done = subprocess.run([CLARKE, "certify", "--nodes", copy.run], capture_output=True, text=True)
    expect(done.returncode == 3 and "statistic 1.running_mean: the step changed it, and run.json does not say how" in done.stdout, done.stdout[:400])
    expect("nothing of the buffer 1.running_mean: the step changed it, and run.json does not say how" in ask(copy.run).gradient["claims"], "statistics: the audit tells it")


class Turned(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor([1 + 2 ** -20]))

    def forward(self, x):
        return torch.relu((x * self.w + 1024) - 1025)


def turned(folder):
    """relu((x w + 1024) - 1025): rounding takes the argument to 0, and the gradient from {1} to 0."""
    for light in (False, True):
        model, run = Turned(), os.path.join(folder, f"turned-{light}")
        with clarke.record(run, model, light=light):
            model(torch.ones(1, 1)).sum().backward()
        expect(model.w.grad.item() == 0, "float32 turns it")
        answer = ask(run)
        expect(not answer.in_clarke and answer.answer == ("not known" if light else "turned"), f"turned, light {light}: {answer.gradient}")
        if light:
            expect(answer.gradient["nearest"]["error_bounds"] < 1 and answer.gradient["open"] == 1, f"turned: {answer.gradient}")
            expect("rounding may have turned 1 branch" in answer.gradient["why"], f"turned: {answer.gradient}")
        else:
            expect([k["node"] for k in answer.turned] == ["relu"] and answer.turned[0]["sample"] == 0 and "module" in answer.turned[0],
                   f"turned: {answer.turned}")
            expect(answer.verdict == "undecided" and answer.report["verdict"] == "in-bouligand", f"turned: {answer.verdict}")


def deep(folder):
    """80 layers of Softplus, which exact arithmetic certifies node by node: the enclosures of the whole gradient are too wide to tell."""
    torch.manual_seed(1)
    model, run = nn.Sequential(*[m for _ in range(80) for m in (nn.Linear(16, 16, bias=False), nn.Softplus())], nn.Linear(16, 2)), os.path.join(folder, "deep")
    with torch.no_grad():
        for m in model[:-1:2]:
            w = torch.randn(16, 16)
            m.weight.copy_((w - w.mean(1, keepdim=True) * 0.9) * 0.375)
    with clarke.record(run, model):
        F.cross_entropy(model(torch.randn(2, 16)), torch.tensor([0, 1])).backward()
    answer = ask(run)
    expect(answer.answer == "explained" and answer.gradient["by"] == "nodes" and answer.in_clarke, f"deep: {answer.gradient}")
    whole = subprocess.run([CLARKE, "audit", run, "--gradient", os.path.join(folder, "deep.safetensors")], capture_output=True, text=True)
    expect("(explained, node by node)" not in whole.stdout, f"deep, with the whole gradient asked for: {whole.stdout[:300]}")
    for name, factor in (("0.weight", -1), ("0.weight", 2), ("80.weight", 0), ("160.bias", 1.5)):
        wrong(Copy(folder, run).gradients(factor, name), f"deep, {name} times {factor}")


with tempfile.TemporaryDirectory() as scratch:
    turned(scratch)
    deep(scratch)
    replaced(scratch)
    claimed(scratch)
    statistics(scratch)
    found = honest(scratch, OPTIONS.steps, OPTIONS.seed)
    expect(sum(n for (name, light, told), n in found.items() if told == "explained" and name.startswith("float")) > OPTIONS.steps // 6, f"{found}")
finish()
