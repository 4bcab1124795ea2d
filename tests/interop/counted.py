#!/usr/bin/env python3
"""clarke.counts, against loops over entries and windows.

    counted.py

Entries are small whole numbers, so that many are at a kink, and many windows tie.
"""
import copy
import io
import itertools
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/tools"), str(ROOT / "tools/python")]

import torch  # noqa: E402
from torch import nn  # noqa: E402

import clarke  # noqa: E402
from expect import expect, finish  # noqa: E402

ACTIVATIONS = [(nn.ReLU(), {0}), (nn.ReLU(inplace=True), {0}), (nn.ReLU6(), {0, 6}), (nn.LeakyReLU(.5), {0}), (nn.LeakyReLU(1.0), set()), (nn.PReLU(), {0}),
               (nn.Hardtanh(), {-1, 1}), (nn.Hardtanh(-2, 3), {-2, 3}), (nn.Hardsigmoid(), {-3, 3}), (nn.Hardswish(), {-3, 3}),
               (nn.Softshrink(2.0), {-2, 2}), (nn.ELU(2.0), {0}), (nn.ELU(), set()), (nn.SELU(), {0}), (nn.Sigmoid(), set()),
               (nn.Threshold(1.0, 5.0), {1}), (nn.Hardshrink(2.0), {-2, 2}), (nn.Hardshrink(0.0), set()), (nn.RReLU(), {0}), (nn.RReLU(1.0, 1.0), set())]
POOLS = [(nn.MaxPool2d(2), (4, 5)), (nn.MaxPool2d(3, 2, 1), (5, 6)), (nn.MaxPool2d(2, 2, ceil_mode=True), (5, 5)), (nn.MaxPool2d((1, 2), dilation=(1, 2)), (3, 6)),
         (nn.MaxPool1d(3, 1), (7,)), (nn.MaxPool1d(2, 3), (9,)), (nn.MaxPool3d(2, 1), (3, 3, 2)), (nn.MaxPool2d(3, 2, 1, return_indices=True), (6, 5))]


class First(nn.Module):
    def forward(self, x):
        return x[0] if isinstance(x, tuple) else x


def numbers(*shape):
    return torch.randint(-4, 8, shape).float().requires_grad_()


def tied(pool, x):
    """Windows with several largest entries above 0: by PyTorch's own pool, window by window, of each entry alone."""
    first = (lambda y: y[0]) if pool.return_indices else (lambda y: y)
    largest, held = first(pool(x)), torch.zeros_like(first(pool(x)), dtype=torch.int64)
    for at in itertools.product(*map(range, x.shape[2:])):
        alone = torch.full_like(x, -torch.inf)
        alone[(..., *at)] = x[(..., *at)]
        held += (first(pool(alone)) == largest) & largest.isfinite()
    return int(((held > 1) & (largest > 0)).sum()), largest.numel()


def activations():
    for m, kinks in ACTIVATIONS:
        net, want, with_some = nn.Sequential(nn.Identity(), m), 0, 0
        counted = clarke.counts(net)
        for _ in range(5):
            x = numbers(3, 2)
            found = sum(v in kinks for v in x.flatten().tolist())
            net(x * 1)
            want, with_some = want + found, with_some + (found > 0)
        said = counted.close()
        net(numbers(3, 2) * 1)
        expect(said == counted.summed() and said["steps"] == 5, f"{m}: counted on: {said}")
        want = {"1": {"op": type(m).__name__, "touched": want, "steps_touched": with_some, "of": 30}} if kinks else {}
        expect(said["modules"] == want, f"{m}: {said['modules']}, not {want}")


def pools():
    some = 0
    for m, shape in POOLS:
        net, alone = nn.Sequential(m, First()), copy.deepcopy(m)
        counted, want, with_some, all_ = clarke.counts(net), 0, 0, 0
        for _ in range(4):
            x = numbers(2, 3, *shape)
            n, of = tied(alone, x.detach())
            before = counted.summed()
            net(x)
            want, with_some, all_ = want + n, with_some + (n > 0), all_ + of
            expect(before["steps"] == counted.summed()["steps"] - 1, f"{m}: one pass is one step")
        said = counted.close()["modules"]["0"]
        expect(said == {"op": type(m).__name__, "tied": want, "steps_tied": with_some, "of": all_}, f"{m}: {said}, not {want}, {with_some}, {all_}")
        some += 0 < want < all_
    expect(some >= 6, f"{some} pools have tied windows, and others")


def passes():
    """What autograd does not follow is not counted; a module that is called twice is, twice; a pass that ends by an error is not."""
    relu = nn.ReLU()
    net = nn.Sequential(relu, nn.Identity(), relu)
    counted = clarke.counts(net)
    with torch.no_grad():
        net(torch.zeros(5))
    net(torch.zeros(5, requires_grad=True))
    try:
        net("no tensor")
    except (TypeError, AttributeError):
        pass
    net.append(nn.Linear(3, 1))
    try:
        net(torch.zeros(5, requires_grad=True))
    except RuntimeError:
        pass
    relu(torch.zeros(5, requires_grad=True))  # not in a pass of the model
    said = counted.close()
    expect(said == {"steps": 1, "modules": {"0": {"op": "ReLU", "touched": 10, "steps_touched": 1, "of": 10}}}, f"{said}")


class Named(nn.Module):
    """Its modules are called with names of arguments."""

    def __init__(self):
        super().__init__()
        self.relu, self.pool = nn.ReLU(), nn.MaxPool1d(2)

    def forward(self, x):
        return self.pool(input=self.relu(input=x))


def called_by_name_and_copied():
    """A copy counts by itself, and a model that is counted can be saved whole."""
    net, x = Named(), torch.tensor([[0., 1, 1, 0, 2, 2]], requires_grad=True)
    counted = clarke.counts(net)
    copied = copy.deepcopy(net)
    torch.save(net, io.BytesIO())
    copied(x)
    net(x)
    modules = counted.close()["modules"]
    expect((modules["relu"]["touched"], modules["pool"]["tied"]) == (2, 1) and counted.steps == 1, f"called by name: {modules}")


def beside_a_record():
    """A recorded step is what it is without hooks, be it recorded whole or as the program of the step before; and as much is counted."""
    def steps(folder, hooks):
        torch.manual_seed(1)
        net, like, texts = nn.Sequential(nn.Conv2d(1, 2, 2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8, 3)), None, []
        nn.init.zeros_(net[0].weight[0])
        counted = clarke.counts(net) if hooks else None
        for number in range(4):
            net.zero_grad()
            made = clarke.record(f"{folder}/{number}", net, step=number, background=True, again=False)
            made.compares, made.like = True, like
            with made:
                nn.functional.cross_entropy(net(torch.ones(2, 1, 5, 5)), torch.tensor([0, 1])).backward()
            made.wait()
            expect(number == 0 or made.program is like, f"step {number}: its program is that of the step before")
            like = made.program
            texts.append({f.name: f.read_bytes() for f in Path(folder, str(number)).iterdir()})
        return texts, counted and counted.close()

    with tempfile.TemporaryDirectory() as plain, tempfile.TemporaryDirectory() as hooked:
        (alone, _), (beside, said) = steps(plain, False), steps(hooked, True)
    expect(alone == beside, "a record beside hooks is another")
    expect(said["steps"] == 4 and said["modules"]["2"]["of"] == 4 * 16, f"beside a record: {said}")
    with tempfile.TemporaryDirectory() as folder:
        net, x = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)), torch.ones(2, 3)
        counted = clarke.counts(net)
        with clarke.record(f"{folder}/again", net):
            nn.functional.cross_entropy(net(x), torch.tensor([0, 1])).backward()
        with open(f"{folder}/again/run.json", encoding="utf-8") as f:
            expect('"again": "calls"' in f.read(), "the step is run again")
        net(x)
    expect((said := counted.close())["steps"] == 2 and said["modules"]["1"]["of"] == 16, f"beside a record that runs its step again: {said}")


def alone():
    """A model that is one function."""
    counted = clarke.counts(relu := nn.ReLU())
    relu(torch.zeros(5, requires_grad=True))
    said = counted.close()
    expect(said == {"steps": 1, "modules": {"": {"op": "ReLU", "touched": 5, "steps_touched": 1, "of": 5}}}, f"{said}")


def main():
    torch.manual_seed(0)
    activations()
    pools()
    passes()
    called_by_name_and_copied()
    beside_a_record()
    alone()
    finish()


main()
