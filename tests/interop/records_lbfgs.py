#!/usr/bin/env python3
"""Steps of torch.optim.LBFGS, recorded and asked about: with its evaluations, in float32 and float64, with long and short histories.

    records_lbfgs.py CLARKE
"""
import json
import os
import sys
import tempfile

import torch
from torch import nn
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "python"))
sys.path.append(os.path.join(HERE, "..", "tools"))
CLARKE = os.path.abspath(sys.argv[1])
os.environ["CLARKE"] = CLARKE
import clarke  # noqa: E402
from expect import expect, finish  # noqa: E402

GOOD = "the rule's, bit for bit", "the rule's, within the bound"
SETTINGS = [{}, {"max_iter": 1}, {"history_size": 2, "max_iter": 5}, {"lr": 0.3, "max_iter": 6, "max_eval": 3}, {"tolerance_grad": 0.05}, {"tolerance_change": 0.02},
            {"lr": torch.tensor(0.5), "max_iter": 4}]


def network(kind, frozen=False):
    model = nn.Sequential(nn.Linear(5, 12), nn.Tanh(), nn.Linear(12, 3)).to(kind)
    model[0].bias.requires_grad_(not frozen)
    return model


def train(run, kind, settings, steps=3, frozen=False):
    model, x, y = network(kind, frozen), torch.randn(16, 5, dtype=kind), torch.randn(16, 3, dtype=kind)
    optimizer, calls = torch.optim.LBFGS(model.parameters(), **settings), []

    def closure():
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        calls.append(loss)
        return loss
    for k in range(steps):
        optimizer.zero_grad()
        with clarke.record(run, model, optimizer=optimizer, step=k, append=k > 0, light=True, again=False):
            F.mse_loss(model(x), y).backward()
        optimizer.step(closure)
    expect(len(optimizer._optimizer_step_pre_hooks) == 0, f"{run}: hooks are left")
    return len(calls)


def ask(run, step=0, **options):
    return clarke.step(run, options=["--step", str(step)], **options)


def followed(folder):
    for kind in torch.float64, torch.float32:
        for i, settings in enumerate(SETTINGS):
            run = os.path.join(folder, f"{kind}-{i}")
            calls, kept = train(run, kind, settings), 0
            with open(os.path.join(run, "run.json"), encoding="utf-8") as f:
                steps = json.load(f)["steps"]
            for k in range(3):
                said = ask(run, k)
                expect(said["answer"] in GOOD and said["holds"] is True and said["rule"] == "torch-lbfgs" and said["gradient"]["is"] == "recorded", f"{kind} {settings}, step {k}: {said}")
                kept += said["bits"]
            expect(kept > 0 and len(steps) == 3 and calls >= 3, f"{kind} {settings}: {kept} {calls}")


def other(folder):
    """A parameter without gradients moves with none; a line search, 16 bits, several types, and another class are told."""
    run = os.path.join(folder, "frozen")
    train(run, torch.float64, {"max_iter": 3}, frozen=True)
    expect(ask(run, 2)["answer"] in GOOD, f"a frozen parameter: {ask(run, 2)}")
    run = os.path.join(folder, "search")
    train(run, torch.float64, {"line_search_fn": "strong_wolfe"}, 1)
    expect(ask(run)["answer"] == "undecided" and "line_search_fn" in ask(run)["why"], f"a line search: {ask(run)}")
    run = os.path.join(folder, "short")
    train(run, torch.bfloat16, {"max_iter": 2, "lr": 0.1}, 1)
    expect(ask(run)["holds"] is None, f"16 bits: {ask(run)}")
    run, model = os.path.join(folder, "kinds"), network(torch.float64)

    class Mine(torch.optim.LBFGS):
        def step(self, closure):
            return closure()
    optimizer = Mine(model.parameters())

    def closure():
        loss = model(torch.ones(2, 5, dtype=torch.float64)).sum()
        loss.backward()
        return loss
    with clarke.record(run, model, optimizer=optimizer):
        closure()
    optimizer.step(closure)
    expect(ask(run)["holds"] is None, f"a class of its own: {ask(run)}")
    run, model = os.path.join(folder, "raised"), network(torch.float64)
    optimizer = torch.optim.LBFGS(model.parameters())
    with clarke.record(run, model, optimizer=optimizer):
        model(torch.ones(2, 5, dtype=torch.float64)).sum().backward()
    try:
        optimizer.step(lambda: 1 / 0)
        expect(False, "a closure that raises")
    except ZeroDivisionError:
        pass


def large(run, kind, size, settings, between=None, within=None, steps=2):
    """Steps of a mean of squares, times size; what is done between steps, and within the closure."""
    torch.manual_seed(5)
    model, x = nn.Linear(6, 1).to(kind), torch.randn(8, 6, dtype=kind)
    optimizer = torch.optim.LBFGS(model.parameters(), **settings)

    def loss_of():
        loss = ((model(x) - 1).square() * size).mean()
        loss.backward()
        return loss

    def closure():
        optimizer.zero_grad()
        loss = loss_of()
        return loss if within is None else within(model, loss)
    for k in range(steps):
        optimizer.zero_grad()
        with clarke.record(run, model, optimizer=optimizer, step=k, append=k > 0, light=True, again=False):
            loss_of()
        optimizer.step(closure)
        if between is not None:
            between(optimizer)
    return [ask(run, k) for k in range(steps)]


def clamp(model, loss):
    with torch.no_grad():
        model.weight.clamp_(-0.01, 0.01)
    return loss


def edges(folder):
    """What PyTorch does where sums are infinite, and where history_size has become less; closures that change parameters, or give no number."""
    for i, size in enumerate([1e17, 1e19, 1e20, 1e25]):
        said = large(os.path.join(folder, f"size-{i}"), torch.float32, size, {})
        expect(all(s["answer"] in (*GOOD, "undecided") for s in said), f"{size}: {said}")
        expect(size < 1e20 or "largest float" in said[0]["why"], f"{size}: {said}")
    said = large(os.path.join(folder, "less"), torch.float64, 1.0, {"max_iter": 4}, lambda optimizer: optimizer.param_groups[0].update(history_size=1))
    expect(all(s["answer"] in GOOD for s in said), f"history_size is less: {said}")
    said = large(os.path.join(folder, "clamp"), torch.float64, 1.0, {}, within=clamp, steps=1)[0]
    expect(said["answer"] == "undecided" and "its closure changes parameters" in said["why"], f"a closure that clamps: {said}")
    said = large(os.path.join(folder, "nan"), torch.float64, 1.0, {}, within=lambda model, loss: loss * float("nan"), steps=1)[0]
    expect(said["answer"] == "undecided" and said["why"].startswith("LBFGS: its loss"), f"a closure that gives NaN: {said}")
    run, model = os.path.join(folder, "nothing"), network(torch.float64)
    optimizer = torch.optim.LBFGS(model.parameters())
    with clarke.record(run, model, optimizer=optimizer, light=True, again=False):
        model(torch.ones(2, 5, dtype=torch.float64)).sum().backward()
    try:
        optimizer.step()
        expect(False, "a step without a closure")
    except TypeError:  # PyTorch's own
        pass
    said = large(os.path.join(folder, "float"), torch.float64, 1.0, {}, within=lambda model, loss: loss.item())
    expect(all(s["answer"] in GOOD for s in said), f"a closure that gives a float: {said}")


def main():
    torch.manual_seed(3)
    with tempfile.TemporaryDirectory() as folder:
        followed(folder)
        other(folder)
        edges(folder)
    finish()


if __name__ == "__main__":
    main()
