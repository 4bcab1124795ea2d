#!/usr/bin/env python3
"""Two records of one step in other types and layouts: records_against.py CLARKE

Autocast and other memory formats put casts and copies into a graph, at places that PyTorch chooses. They are passed over, on either side:
what differs is rounding, branches, or AD's number at a kink. Another function is still another function.
"""
import itertools
import json
import os
import sys
import tempfile
from fractions import Fraction

import torch
from torch import nn
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "python"))
sys.path.append(os.path.join(HERE, "..", "tools"))
CLARKE = os.path.abspath(sys.argv[1])
os.environ["CLARKE"] = CLARKE
import clarke  # noqa: E402
from copied_run import Copy  # noqa: E402
from expect import expect, finish, said  # noqa: E402
from safetensors.torch import load_file  # noqa: E402

X, Y = torch.randn(4, 2, 6, 6, generator=torch.Generator().manual_seed(3)), torch.tensor([0, 1, 2, 0])


class Net(nn.Module):
    """A tied convolution, a residual, a normalization, a pool, and attention over the places."""

    def __init__(self):
        super().__init__()
        self.first, self.tied, self.norm, self.q, self.last = nn.Conv2d(2, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1), nn.GroupNorm(2, 4, eps=2.0 ** -17), nn.Linear(4, 4), nn.Linear(4, 3)

    def forward(self, x):
        h = torch.relu(self.first(x))
        h = torch.relu(self.norm(self.tied(h)) + h)
        h = F.max_pool2d(F.hardtanh(self.tied(h), -0.5, 0.5), 2).flatten(2).mT
        h = torch.softmax(self.q(h) @ h.mT, -1) @ h
        return self.last(torch.abs(h).mean(1))


class Other(Net):
    def forward(self, x):
        return -super().forward(x)


def record(run, model=Net, cast=None, layout=torch.contiguous_format, dtype=torch.float32, scale=1.0):
    torch.manual_seed(1)
    net = model().to(dtype).to(memory_format=layout)
    x = X.to(dtype).contiguous(memory_format=layout)
    with clarke.record(run, net):
        with torch.autocast("cpu", cast or torch.bfloat16, enabled=cast is not None):
            out = net(x)
        (F.cross_entropy(out.to(dtype), Y) * scale).backward()
    return run


def nodes(run):
    with open(os.path.join(run, "run.json")) as f:
        return [n["aten"] for n in json.load(f)["nodes"]]


def against(one, other):
    status, out, error = said(CLARKE, "certify", one, "--nodes", "--against", other, "--json")
    return status, json.loads(out)["against"] if status != 2 else error


def both_ways(name, one, other, kinds):
    for a, b in ((one, other), (other, one)):
        status, found = against(a, b)
        expect(status in (0, 3) and not isinstance(found, str) and found["difference"] in kinds, f"{name}: {status} {found}")
        if not isinstance(found, str) and found["difference"] == "branches":
            expect(found["first"] is not None, f"{name}: the first place {found}")
    return found


def main():
    with tempfile.TemporaryDirectory() as folder:
        plain = record(os.path.join(folder, "plain"))
        for name, options, kinds in (("float64", dict(dtype=torch.float64), ("rounding", "branches")),
                                     ("layout", dict(layout=torch.channels_last), ("rounding", "branches")),
                                     ("bfloat16", dict(cast=torch.bfloat16), ("branches", "rounding", "not explained")),
                                     ("float16", dict(cast=torch.float16, scale=256.0), ("branches", "rounding", "not explained"))):
            other = record(os.path.join(folder, name), **options)
            expect((nodes(other) == nodes(plain)) == (name == "float64"), f"{name} has other nodes: {nodes(other)}")
            both_ways(name, plain, other, kinds)
        both_ways("two casts", os.path.join(folder, "bfloat16"), os.path.join(folder, "float16"), ("branches", "rounding", "not explained"))
        turned = record(os.path.join(folder, "turned"), Other)
        status, found = against(plain, turned)
        expect(status == 2 and "graph or loss is not the same" in found, f"another function: {status} {found}")
        status, found = against(os.path.join(folder, "bfloat16"), turned)
        expect(status == 2 and "graph or loss is not the same" in found, f"another function, in another type: {status} {found}")
        numbers(folder)
        exactly(folder)
        tied(folder)
        first_number(folder, plain)
    finish()


class Kinked(nn.Module):
    def __init__(self):
        super().__init__()
        self.line = nn.Linear(2, 2, bias=False)
        with torch.no_grad():
            self.line.weight.copy_(torch.tensor([[1.0, -1], [1, 1]]))

    def forward(self, x):
        return torch.clamp(self.line(x), 0, 1)


def numbers(folder):
    """At a kink that both touch, and profiles of another number there: in float32 and under autocast."""
    runs = {}
    for name, cast in (("kinked", None), ("kinked-cast", torch.bfloat16)):
        runs[name], model = os.path.join(folder, name), Kinked()
        with clarke.record(runs[name], model):
            with torch.autocast("cpu", cast or torch.bfloat16, enabled=cast is not None):
                out = model(torch.tensor([[0.5, 0.5]]))
            out.float().sum().backward()
    both_ways("one number", runs["kinked"], runs["kinked-cast"], ("rounding", "none"))
    other = Copy(folder, runs["kinked-cast"]).describe(lambda d: d.update(profile="pytorch-2.14" if d["profile"] != "pytorch-2.14" else "pytorch-2.13"))
    status, found = against(runs["kinked"], other.run)
    expect(not isinstance(found, str) and found["difference"] == "numbers at kinks" and found["first"]["node"].endswith("clamp"), f"numbers: {status} {found}")


class Sum(nn.Module):
    """relu of w . x, whose products are summed in the type's own way."""

    def __init__(self, w):
        super().__init__()
        self.line = nn.Linear(len(w), 1, bias=False)
        with torch.no_grad():
            self.line.weight.copy_(torch.tensor([w]))

    def forward(self, x):
        return torch.relu(self.line(x))


def exactly(folder):
    """Where two types part at a kink: the sum is exactly 0, or it is not, as Python's fractions have it."""
    lost = [w for w in itertools.permutations([2.0 ** 24, 1.0, -2.0 ** 24, -1.0]) if Sum(w)(torch.ones(1, 4)).item() != 0]
    seen = set()
    for w in (lost[0], [1.0, 2.0 ** -30, -1.0]):
        name, runs, x32 = f"{len(w)} products", [], torch.ones(1, len(w))
        exact = sum(map(Fraction, w))
        for dtype in (torch.float32, torch.float64):
            net = Sum(w).to(dtype)
            runs.append(os.path.join(folder, f"{name} {dtype}"))
            with clarke.record(runs[-1], net):
                net(x32.to(dtype)).sum().backward()
        for one, other in (runs, runs[::-1]):
            status, out, error = said(CLARKE, "certify", one, "--against", other, "--json")
            found = json.loads(out)["against"]
            expect(found["difference"] == "branches" and found["first"]["exactly"] is (exact == 0), f"{name}: {exact}, {found}")
            seen.add(found["first"]["exactly"])
    expect(seen == {True, False}, f"a real one and one of floats: {seen}")


class Window(nn.Module):
    """The largest of two sums that are one, which float32 loses, a smaller one, and a last one."""

    def __init__(self):
        super().__init__()
        self.line, lost = nn.Linear(3, 4, bias=False), [2.0 ** 24, 1.0, -2.0 ** 24]
        with torch.no_grad():
            self.line.weight.copy_(torch.tensor([lost, lost, [0.5, 0.0, 0.0], [-1.0, 0.0, 0.0]]))

    def forward(self, x):
        return F.max_pool1d(self.line(x)[:, None], 4).flatten(1)


def tied(folder):
    """Exactly the two sums tie. The one record took the smaller: that is no side of the tie, nor is it said that nothing ties."""
    runs = []
    for dtype in (torch.float32, torch.float64):
        net = Window().to(dtype)
        runs.append(os.path.join(folder, f"tied-{dtype}"))
        with clarke.record(runs[-1], net):
            net(torch.ones(1, 3, dtype=dtype)).sum().backward()
    if Window().line(torch.ones(1, 3)).argmax().item() != 2:  # the processor's order loses nothing
        return
    for other, exactly in ((1, None), (0, True)):
        found = json.loads(said(CLARKE, "certify", runs[1 - other], "--against", runs[other], "--json")[1])["against"]
        expect(found["difference"] == "branches" and found["first"]["exactly"] is exactly, f"a window that ties exactly: {found}")


def first_number(folder, plain):
    """The first output, in the graph's order, of which PyTorch has another number in float64: as the files have it."""
    other = os.path.join(folder, "float64")
    status, found = against(plain, other)
    with open(os.path.join(plain, "run.json")) as f:
        names = [n["name"] for n in json.load(f)["nodes"]]
    one, two = (load_file(os.path.join(run, "step-000000.trace.safetensors")) for run in (plain, other))
    first = next(n for n in names if f"output/{n}" in one and not torch.equal(one[f"output/{n}"].double(), two[f"output/{n}"]))
    place = found["first_number"]
    at = (place["sample"], *json.loads(place["index"]))
    told = [float.fromhex(v) for v in place["values"]]
    expect(place["node"] == first, f"{first}, not {place}")
    expect([float(t[f"output/{first}"].reshape(4, -1)[at[0]].reshape(t[f"output/{first}"].shape[1:])[at[1:]]) for t in (one, two)] == told and told[0] != told[1], f"{place}")
    status, found = against(plain, plain)
    expect(found["first_number"] is None and found["difference"] == "none", f"a record beside itself: {found}")


if __name__ == "__main__":
    main()
