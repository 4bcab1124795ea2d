#!/usr/bin/env python3
"""Whole records that their nodes explain, without a bound of the whole gradient: whatever is changed in them is noticed.

    records_flips.py CLARKE [--one-in N] [--seed N]

Two steps are recorded, large enough for doubles to decide all nodes (docs/certify.md): a convolutional network with a normalization, a pool and a sum,
and a block of attention. `clarke audit` must explain them by their nodes, and with --gradient as a whole. Then numbers of each tensor are changed, with
all hashes made anew: of the trace (outputs, gradients, winners, statistics), of .grad, of parameters, of the loss and its scale. Flips of a sign, of an
exponent and of the first bits of a tensor's largest entry must be noticed, and every bit of what is only copied or compared. So must lies
that fit each other: all gradients before some node doubled, with the gradient between them there or dropped. Of a flip in a last
bit the answer may be the same. What is left explained is near AD's exact gradient by --gradient, too.
"""
import argparse
import collections
import copy
import json
import os
import random
import sys
import tempfile

import torch
from torch import nn
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "python"))
sys.path.append(os.path.join(HERE, "..", "tools"))
PARSER = argparse.ArgumentParser()
PARSER.add_argument("clarke", type=os.path.abspath)
PARSER.add_argument("--one-in", type=int, default=1)
PARSER.add_argument("--seed", type=int, default=1)
ASKED = PARSER.parse_args()
os.environ["CLARKE"] = ASKED.clarke
import clarke  # noqa: E402
from copied_run import Copy  # noqa: E402
from expect import expect, finish, said  # noqa: E402
from safetensors.torch import load_file  # noqa: E402

DRAW = random.Random(ASKED.seed)


class Pictures(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.second = nn.Conv2d(2, 8, 3, padding=1), nn.BatchNorm2d(8), nn.Conv2d(8, 8, 3, padding=1)
        self.wide, self.last = nn.Linear(512, 24), nn.Linear(24, 5)

    def forward(self, x):
        h = F.max_pool2d(torch.relu(self.norm(self.first(x))), 2)
        h = torch.relu(h + self.second(h))
        return self.last(torch.tanh(self.wide(h.flatten(1))))


class Chaos(nn.Module):
    """Each operation is right, and each of many steps doubles, about, what was lost before."""

    def __init__(self, width=32):
        super().__init__()
        self.first = nn.Linear(4, width)
        self.steps = nn.ModuleList(nn.Linear(width, width, bias=False).requires_grad_(False) for _ in range(64))
        for step in self.steps:
            nn.init.normal_(step.weight, std=3 * width**-0.5)

    def forward(self, x):
        h = self.first(x)
        for step in self.steps:
            h = torch.tanh(step(h))
        return h


class Words(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.norm, self.all, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down, self.head = nn.Linear(width, 2 * width), nn.Linear(2 * width, width), nn.Linear(width, 7)

    def forward(self, x):
        q, k, v = (part.view(*x.shape[:2], 4, -1).transpose(1, 2) for part in self.all(self.norm(x)).split(x.shape[2], dim=2))
        h = x + self.out(((q @ k.transpose(2, 3)).softmax(dim=-1) @ v).transpose(1, 2).flatten(2))
        return self.head((h + self.down(F.gelu(self.up(h)))).mean(dim=1))


def record(run, model, x, y, scale):
    with clarke.record(run, model):
        (F.cross_entropy(model(x), y) * scale).backward()


# ---- What is said


def audited(run, *options):
    """Its status, the answer about the gradient, what that rests on, and why."""
    status, out, err = said(ASKED.clarke, "audit", run, "--json", *options)
    answer = json.loads(out).get("gradient") if out.startswith("{") else None
    answer = answer or {"answer": "error", "by": None, "why": err + out}
    return status, answer["answer"], answer["by"], answer["why"]


def noticed(run, what):
    status, answer, _, why = audited(run)
    expect(status in (2, 3) and answer in ("refuted", "not known", "error"), f"{what}: {answer}: {why}")


# ---- One number


HIGH = (31, 30, 24, 23, 22, 18, 15)  # sign, exponent, and what is at least 2^-8 of an entry
COPIES = ("relu", "max_pool2d_with_indices", "view", "t", "transpose", "expand", "clone", "split", "_unsafe_view")
LOST = "first.bias"  # before a normalization: its gradient is 0, and rounding's noise is all that was recorded


def flipped(t, entry, bit):
    made = t.clone()
    if t.is_floating_point() and t.reshape(-1)[entry] != 0:
        made.view(torch.int32).view(-1)[entry] ^= -2**31 if bit == 31 else 1 << bit
    else:
        made.view(-1)[entry] += 1
    return made


def is_copy(name, aten):
    return name.startswith(("output/", "before/", "after/")) and aten.get(name.partition("/")[2], "").split(".")[1:2] in [[one] for one in COPIES]


def flips(run):
    """(the file, the tensor, the entry, the bit, must it be noticed?)"""
    with open(os.path.join(run, "run.json")) as f:
        description = json.load(f)
    aten = {node["name"]: node["aten"] for node in description["nodes"]}
    for which in ("trace", "gradients", "parameters"):
        for name, t in sorted(load_file(os.path.join(run, description["steps"][0]["files"][which]["file"])).items()):
            largest = int(t.reshape(-1).abs().argmax())
            for bit in HIGH if t.is_floating_point() else (0,):
                yield which, name, largest, bit, name != LOST or which == "parameters"
            if t.is_floating_point() and which != "parameters":
                yield which, name, DRAW.randrange(t.numel()), 0, is_copy(name, aten)


def one_number(folder, run):
    count = collections.Counter()
    for which, name, entry, bit, must in flips(run):
        if DRAW.randrange(ASKED.one_in):
            continue
        copied = Copy(folder, run).tensors(which, lambda all_, n=name, e=entry, b=bit: all_ | {n: flipped(all_[n], e, b)})
        what = f"{os.path.basename(run)}: {which} {name}, entry {entry}, bit {bit}"
        status, answer, by, why = audited(copied.run)
        count[answer if must else f"{answer}, of a last bit"] += 1
        if must:
            expect(status in (2, 3) and answer in ("refuted", "not known", "error"), f"{what}: {answer}: {why}")
        elif answer == "explained" and by == "nodes":
            whole = audited(copied.run, "--gradient", os.path.join(folder, "gradient.safetensors"))
            expect(whole[1] == "explained" and whole[2] == "whole", f"{what}: {whole}")
    print(f"{os.path.basename(run)}: {dict(count)}")


# ---- Lies that fit each other


def doubled(which, names):
    return lambda all_: {n: t * 2 if n in names else t for n, t in all_.items() if n not in which}


def lies(folder, run, between, before, parameters):
    """All gradients before a node are twice what they were; that in its output is what it was, or dropped."""
    for dropped in ((), (f"gradient/{between}",)):
        copied = Copy(folder, run).tensors("trace", doubled(dropped, {f"gradient/{name}" for name in before}))
        noticed(copied.tensors("gradients", doubled((), parameters)).run, f"{run}: all before {between} doubled, {dropped} dropped")
        copied = Copy(folder, run).tensors("trace", doubled(dropped, ()))
        expect(audited(copied.run)[1] in ("explained", "not known"), f"{run}: {dropped} dropped: {audited(copied.run)}")


def told_otherwise(folder, run):
    """The loss, its factor, and a batch of other numbers."""
    def loss(d):
        d["steps"][0]["loss"] = (float.fromhex(d["steps"][0]["loss"]) * (1 + 2**-10)).hex()

    def scale(d):
        d["steps"][0]["loss_scale"] = "8"

    noticed(Copy(folder, run).describe(loss).run, f"{run}: another loss")
    noticed(Copy(folder, run).describe(scale).run, f"{run}: another scale")


def told_in_words(folder, run):
    """The report and its page say what was not asked, where it was not."""
    page, gradient = os.path.join(folder, "page.html"), os.path.join(folder, "gradient.safetensors")
    for options, asked in ((), False), (("--gradient", gradient), True):
        _, text, _ = said(ASKED.clarke, "audit", run, "--html", page, *options)
        with open(page, encoding="utf-8") as f:
            words = f.read()
        expect(("as a whole was not asked" in text) != asked and ("node by node)" in text) != asked, f"{run} {options}: {text[:800]}")
        expect(("how far they lead was not asked" in text.split("Next:")[0]) != asked, f"{run} {options}: the answer itself")
        expect(("<dt>not asked</dt>" in words) != asked, f"{run} {options}: its page")


class Coarse(nn.Module):
    """Float32 has no number between a kink's argument and 0, here and there: rounding turns some."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.last = nn.Linear(32, 256), nn.Linear(256, 256), nn.Linear(256, 8)

    def forward(self, x):
        return self.last(torch.tanh(self.second(torch.relu((self.first(x) * 3 + 16384) - 16385))))


def turned(folder):
    """What was not asked is how near the gradient is to that along the recorded branches."""
    torch.manual_seed(0)
    run, gradient = os.path.join(folder, "coarse"), os.path.join(folder, "gradient.safetensors")
    record(run, Coarse(), torch.randn(128, 32), torch.arange(128) % 8, 1)
    expect(audited(run)[1:3] == ("turned", "nodes") and audited(run, "--gradient", gradient)[1:3] == ("turned", "whole"), f"coarse: {audited(run)}")
    page = os.path.join(folder, "page.html")
    for options, asked in ((), False), (("--gradient", gradient), True):
        _, text, _ = said(ASKED.clarke, "audit", run, "--html", page, *options)
        with open(page, encoding="utf-8") as f:
            words = f.read()
        expect(("near it is to that gradient as a whole was not asked" in text) != asked, f"coarse {options}: {text[:800]}")
        expect(("but for the rounding of each operation, which took other sides" in text) != asked, f"coarse {options}: {text[:800]}")
        expect(("along the recorded branches: rounding is that of each operation" in words) != asked, f"coarse {options}: its page")


def far_off(folder):
    """Explained by its nodes: so it is, and nothing more. As a whole it is not AD's gradient of real numbers."""
    torch.manual_seed(0)
    run, x, y = os.path.join(folder, "chaos"), torch.randn(32, 4), torch.arange(32)
    model = Chaos()
    with clarke.record(run, model):
        F.cross_entropy(model(x), y).backward()
    exact = copy.deepcopy(model).double()
    exact.first.zero_grad()
    F.cross_entropy(exact(x.double()), y).backward()
    near, far = exact.first.weight.grad, (model.first.weight.grad - exact.first.weight.grad).norm()
    found = audited(run)
    expect(found[1:3] == ("explained", "nodes") and far > near.norm() / 3, f"chaos: {found}, {near.norm()}, {far}")
    found = audited(run, "--gradient", os.path.join(folder, "gradient.safetensors"))
    expect(found[1] == "not known", f"chaos, as a whole: {found}")


def main():
    torch.manual_seed(ASKED.seed)
    with tempfile.TemporaryDirectory() as folder:
        steps = {"pictures": (Pictures(), torch.randn(8, 2, 16, 16), 5), "words": (Words(), torch.randn(8, 16, 32), 7)}
        for name, (model, x, classes) in steps.items():
            run = os.path.join(folder, name)
            record(run, model, x, torch.arange(8) % classes, 4)
            for options, by in ((), "nodes"), (("--gradient", os.path.join(folder, "gradient.safetensors")), "whole"), (("--exact",), "whole"):
                found = audited(run, *options)
                expect(found[:3] == (0, "explained", by), f"{name} {options}: {found}")
            told_in_words(folder, run)
            one_number(folder, run)
            told_otherwise(folder, run)
        lies(folder, os.path.join(folder, "pictures"), "relu", ["norm/native_batch_norm", "first/convolution"],
             {"first.weight", "first.bias", "norm.weight", "norm.bias"})
        lies(folder, os.path.join(folder, "words"), "gelu", ["up/view_2", "up/addmm", "up/t"], {"up.weight", "up.bias"})
        turned(folder)
        far_off(folder)
    finish()


if __name__ == "__main__":
    main()
