#!/usr/bin/env python3
"""What records put together from what they keep, or compare by a shorter way, is what they would make anew, or find by the longer one.

    records_bytes.py [ROUNDS]

graph.onnx: a template's bytes with drawn parameters beside the model's own. run.json: texts that are known beside those that are made. Parameters:
compared by their addresses, and as bytes of numpy's. Gradients that are not finite: by one sum, and one by one. Names: by one walk through the model,
and by PyTorch's. And what is recorded in the background keeps no tensor until Python looks for rings of objects.
"""
import gc
import json
import os
import random
import sys
import tempfile

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "python"))
sys.path.append(os.path.join(HERE, "..", "tools"))
import clarke  # noqa: E402
from clarke.graph import model as models  # noqa: E402
from clarke.recording import outside  # noqa: E402
from clarke.recording.folder import text_of, text_of_entry  # noqa: E402
from clarke.graph.graph import Graph  # noqa: E402
from clarke.recording.recorder import same_bits, settle  # noqa: E402
from clarke.tracing.dispatched import Value  # noqa: E402
from expect import expect, finish  # noqa: E402
from onnx import helper  # noqa: E402

torch.set_num_threads(1)
TYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.bool]


def bytes_of(t):
    """Row by row, by numpy's way."""
    return t.numpy().tobytes()


# ---- graph.onnx

def drawn_tensor(draw, shape, kind):
    """Any bytes: all alike, drawn, or such as a model's own description has."""
    size = int(np.prod(shape, dtype=np.int64)) * torch.empty((), dtype=kind).element_size()
    text = draw.choice([bytes([draw.randrange(256)]) * size, draw.randbytes(size), (b"J\x08\x0a\x01wB" * (size // 6 + 1))[:size]])
    if kind == torch.bool:
        text = bytes(b & 1 for b in text)
    t = torch.from_numpy(np.frombuffer(bytearray(text), np.uint8).copy()) if size else torch.empty(0, dtype=torch.uint8)
    return t.view(kind).reshape(shape)


def graph_of(initializers):
    graph = Graph({}, {}, loss_dtype=torch.float32)
    graph.x, graph.y = (Value(t, None, False) for t in (torch.zeros(2, 3), torch.zeros(2, dtype=torch.int64)))
    graph.nodes = [helper.make_node("Identity", ["x"], ["loss"])]
    graph.initializers = initializers
    return graph


def templates(draw, rounds):
    for _ in range(rounds):
        shapes = [(draw.choice("wJ\x08") + str(i), tuple(draw.randrange(4) for _ in range(draw.randrange(4))), draw.choice(TYPES)) for i in range(draw.randrange(6))]
        one, other = ({name: drawn_tensor(draw, shape, kind) for name, shape, kind in shapes} for _ in range(2))
        template = models.Template(graph_of(one), "1")
        for given in (one, other):
            expect(template.fits(given) and b"".join(template.parts(given)) == models.model_bytes(graph_of(given), "1"), f"a template of {shapes}")
    for wrong in ({"a": torch.zeros(3)}, {"b": torch.zeros(2)}, {"a": torch.zeros(2, dtype=torch.float64)}, {}, {"a": torch.zeros(2), "b": torch.zeros(1)}):
        expect(not models.Template(graph_of({"a": torch.zeros(2)}), "1").fits(wrong), f"a template with {wrong} of another kind")
    template = models.Template(graph_of({}), "1")
    for low, high, sizes, right in ((b"0aa1b", b"0xx1y", [2, 1], True), (b"0aa1b", b"0xx1y", [2], False), (b"0aa1b", b"0xx1y", [3], False), (b"0a", b"0x", [2], False),
                                    (b"0a", b"0xx", [1], False), (b"0a", b"0a", [1], False), (b"aa", b"xx", [1, 1], True), (b"ab", b"ab", [0], True), (b"", b"", [1], False)):
        expect(template.cut(low, high, sizes) == right, f"where {low} and {high} differ, in parts of {sizes}")


# ---- run.json

def texts():
    run = {"format": "clarke-run", "nodes": [{"a": 1}, {"b": [2.5, None]}], "branches": [], "batch_axis": False, "flags": {}, "graph": None, "steps": [{"step": 3}]}
    known = {key: text_of_entry(run[key]) for key in ("format", "nodes", "branches", "batch_axis", "flags")}
    expect(text_of(run, known) == text_of(run), "known texts of run.json")
    expect(json.loads(text_of(run, known)) == run, "what run.json says")


# ---- Bits and numbers

SPECIAL = [0.0, -0.0, float("nan"), float("inf"), float("-inf"), 1.0, 3e38, -3e38, 1e-45]


def laid(draw, t):
    """The same numbers in another layout."""
    way = draw.randrange(5)
    if way == 0 and t.dim() > 1:
        return t.t().contiguous().t()
    if way == 1:
        return torch.stack([t, t], dim=-1)[..., 1]
    if way == 2:
        return torch.cat([t.reshape(-1)[:1], t.reshape(-1)])[1:].reshape(t.shape) if t.numel() else t.clone()
    return t.clone() if way == 3 else t


def bits(draw, rounds):
    for _ in range(rounds):
        shape = tuple(draw.randrange(4) for _ in range(2))
        t = torch.tensor([draw.choice(SPECIAL) for _ in range(shape[0] * shape[1])], dtype=torch.float32).reshape(shape)
        a, b = laid(draw, t), laid(draw, t.clone())
        if b.numel() and draw.random() < 0.6:
            b[draw.randrange(shape[0]), draw.randrange(shape[1])] = draw.choice(SPECIAL)
        expect(same_bits(a, b) == (bytes_of(a) == bytes_of(b)), f"the same bits: {a.tolist()}, {b.tolist()}, of strides {a.stride()}, {b.stride()}")
    expect(not same_bits(torch.zeros(2), torch.zeros(2, dtype=torch.int32)) and not same_bits(torch.zeros(2), torch.zeros(1, 2)), "another kind")


def numbers(draw, rounds):
    kinds = [torch.float32, torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.float8_e5m2]
    for _ in range(rounds):
        given = [torch.tensor([draw.choice(SPECIAL[-4:] if draw.random() < 0.8 else SPECIAL) for _ in range(draw.randrange(4))]).to(draw.choice(kinds)) for _ in range(3)]
        expect(outside.any_broken(given) == any(not bool(torch.isfinite(t.to(torch.float64)).all()) for t in given), f"some entry that is not finite: {given}")
    expect(outside.any_broken([torch.tensor([float("inf")]), torch.tensor([float("-inf")])]), "infinities that take one another away")
    expect(not outside.any_broken([torch.tensor([3e38, 3e38]), torch.tensor([-3e38, -3e38])]), "finite numbers with an infinite sum")


# ---- Names

class Shares(nn.Module):
    """A module that is there twice, a parameter with two names, one that is None, and buffers."""

    def __init__(self):
        super().__init__()
        self.one, self.norm = nn.Linear(3, 3), nn.BatchNorm1d(3)
        self.two, self.tied = self.one, nn.Linear(3, 3, bias=False)
        self.tied.weight = self.one.weight
        self.more = nn.ModuleList([self.norm, nn.Sequential(nn.Linear(3, 3), self.tied)])

    def forward(self, x):
        return self.more(self.one(x))


class Named(Shares):
    """One that tells its names itself, in another order."""

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        yield from reversed(list(super().named_parameters(prefix, recurse, remove_duplicate)))


def names():
    for model in (Shares(), Named(), nn.Sequential(), nn.Linear(1, 1)):
        seen = clarke.record("nowhere", model)
        seen.look()
        said = seen.parameters, seen.buffers, seen.all_names, seen.modules
        given = (dict(model.named_parameters()), dict(model.named_buffers()), dict(model.named_parameters(remove_duplicate=False)), dict(model.named_modules()))
        for ours, theirs in zip(said, given):
            expect(list(ours) == list(theirs) and all(ours[n] is theirs[n] for n in theirs), f"names of a {type(model).__name__}: {list(ours)}, {list(theirs)}")


# ---- What is kept

def tensors():
    return sum(isinstance(t, torch.Tensor) for t in gc.get_objects())


def steps(folder, net, x, count, watch=None, **options):
    for i in range(count):
        net.zero_grad()
        with watch or clarke.record(os.path.join(folder, f"{len(os.listdir(folder))}"), net, step=i, background=True, **options):
            F.cross_entropy(net(x), torch.arange(len(x)) % 3).backward()
        settle()


def recorded_alike(folder, net, x, count):
    """Steps of which each is compared with the one before."""
    like, y = None, torch.arange(len(x)) % 3
    for i in range(count):
        net.zero_grad()
        made = clarke.record(os.path.join(folder, f"alike-{len(os.listdir(folder))}"), net, step=i, background=True, again=False)
        made.compares, made.like = True, like
        with made:
            F.cross_entropy(net(x), y).backward()
        made.wait()
        expect(made.program is not None and like in (None, made.program), "the step is one of the program")
        like = made.program
    settle()


def rings(folder):
    """With Python's search for rings off, steps leave no tensor behind them. (Without the tensors of a step some rings may be left: they are small.)"""
    x = torch.linspace(-2, 3, 6 * 36).reshape(6, 1, 6, 6)
    for norm in ([], [nn.BatchNorm2d(2)]):
        net = nn.Sequential(nn.Conv2d(1, 2, 3), *norm, nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8, 3))
        ways = [lambda n: steps(folder, net, x, n), lambda n: steps(folder, net, x, n, again=False), lambda n: steps(folder, net, x, n, light=True)]
        for way in ways + ([] if norm else [lambda n: recorded_alike(folder, net, x, n)]):
            way(2)
            gc.collect()
            gc.disable()
            try:
                before = tensors()
                way(4)
                after = tensors()
            finally:
                gc.enable()
            expect(after <= before, f"tensors that live: {before}, and {after} after four steps")


def main():
    rounds, draw = int(sys.argv[1]) if len(sys.argv) > 1 else 300, random.Random(5)
    templates(draw, rounds)
    texts()
    bits(draw, rounds)
    numbers(draw, rounds)
    names()
    with tempfile.TemporaryDirectory() as folder:
        rings(folder)
    finish()


if __name__ == "__main__":
    main()
