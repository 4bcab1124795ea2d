#!/usr/bin/env python3
"""Steps that are put behind others in a folder, and steps that are written in the background.

    records_behind.py
"""
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

import torch
from torch import library, nn
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.join(HERE, "..", "..", "tools", "python")
sys.path.insert(0, PACKAGE)
sys.path.append(os.path.join(HERE, "..", "tools"))
import clarke  # noqa: E402
from clarke.recording import folder as clarke_folder  # noqa: E402
from clarke.graph import model  # noqa: E402
from clarke.recording import recorder  # noqa: E402
from clarke.tracing.dispatched import HANDED  # noqa: E402
from expect import expect, finish  # noqa: E402

torch.set_num_threads(1)  # a forked process has none of OpenMP's threads, and would wait for them
X, Y = torch.linspace(-2, 3, 24).reshape(6, 4), torch.arange(6) % 3


class Net(nn.Module):
    """A parameter that is read through a view, a buffer, and an activation that somebody keeps."""

    def __init__(self, width=5):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.norm, self.last, self.kept = nn.Linear(4, width), nn.BatchNorm1d(width), nn.Linear(width, 3), None
        self.scale, self.asks = nn.Parameter(torch.linspace(-1, 2, 4)), False

    def forward(self, x):
        self.kept = torch.relu(self.norm(self.first(x * self.scale.relu())))
        if self.asks and bool((self.kept > -1).any()):
            self.asks = False
        return self.last(self.kept)


def step(net, folder, number=0, x=X, then=None, **options):
    net.zero_grad()
    with clarke.record(folder, net, step=number, append=number > 0, **options) as recorded:
        F.cross_entropy(net(x), Y).backward()
        if then is not None:
            then()
    return recorded


def bytes_of(folder):
    found = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as f:
            found[name] = f.read()
    return found


def described(folder):
    with open(os.path.join(folder, "run.json")) as f:
        return f.read()


def refused(what, says, folder, *args, **options):
    """The step is refused, and the folder stays as it was."""
    before = bytes_of(folder)
    try:
        step(*args, **options).wait()
    except clarke.Refused as why:
        expect(says in str(why), f"{what}: {why}")
    else:
        expect(False, f"{what}: not refused")
    expect(bytes_of(folder) == before, f"{what}: the folder was changed")


def stalled():
    """Holds what is written in the background until the event is set."""
    go = threading.Event()
    recorder.LATER.submit(go.wait)
    return go


# ---- In the background


def everything_changed(folder, light):
    """After the block all tensors are changed, those that may be through numpy: what is written stays what it was."""
    here, there = os.path.join(folder, f"here-{light}"), os.path.join(folder, f"there-{light}")
    step(Net(), here, light=light)
    net, x = Net(), X.clone()
    outside = [t.detach().numpy() for t in [*net.parameters(), *net.buffers()]]
    go = stalled()
    recorded = step(net, there, x=x, light=light, background=True, then=lambda: outside.extend(p.grad.numpy() for p in net.parameters()))
    with torch.no_grad():
        net.kept.add_(1)
    for array in [*outside, x.numpy()]:
        array[...] = 7
    for p in net.parameters():
        expect(bool((p == 7).all()), f"light {light}: an array of numpy's is the parameter no longer")
    go.set()
    recorded.wait()
    one, other = bytes_of(here), bytes_of(there)
    for files in (one, other):
        run = json.loads(files.pop("run.json"))
        del run["steps"][0]["replay"]
        files["run.json"] = run
    expect(one.keys() == other.keys(), f"light {light}: files {sorted(other)}")
    for name in one:
        expect(one[name] == other.get(name), f"light {light}: {name} was changed after the block")


def let_go(folder):
    """Of what is not written nobody holds the memory: a light record in the background has no activation of a Linear."""
    net, go = Net(), stalled()
    recorded = step(net, os.path.join(folder, "let-go"), light=True, background=True)
    held = {id(t) for v in recorded.trace.by_identity.values() for t in [v.tensor] if t is not None}
    expect(0 < len(held) <= 8 and not recorded.trace.kept, f"{len(held)} tensors are held")
    expect(not recorded.again.outputs and not recorded.again.calls, "what was run again is let go")
    go.set()
    recorded.wait()


def few_wait(folder):
    """A step more than may wait waits in the training's own thread for the first."""
    folder, net, go, begun = os.path.join(folder, "few"), Net(), stalled(), []
    recorder.WAITING.append(recorder.LATER.submit(lambda: None))  # which waits, too
    trainer = threading.Thread(target=lambda: [begun.append(step(net, folder, i, background=True)) for i in range(4)], daemon=True)
    trainer.start()
    time.sleep(1)
    expect(len(begun) <= recorder.MOST_WAITING, f"{len(begun)} steps wait")
    go.set()
    trainer.join(60)
    for recorded in begun:
        recorded.wait()
    expect([s["step"] for s in json.loads(described(folder))["steps"]] == [0, 1, 2, 3], "all were written, in order")


def forked(folder):
    """A child has no thread of its parent's."""
    folder = os.path.join(folder, "forked")
    child = os.fork()
    if child == 0:
        step(Net(), folder, background=True).wait()
        os._exit(0)
    for _ in range(600):
        if os.waitpid(child, os.WNOHANG)[0]:
            break
        time.sleep(0.1)
    else:
        os.kill(child, 9)
        os.waitpid(child, 0)
    expect(os.path.exists(os.path.join(folder, "run.json")), "a child records in the background")


# ---- Behind others


def one_text(folder):
    """run.json is the same, whether a line was put behind or all was written anew; also where another program wrote between."""
    net = Net()
    for number in range(5):
        net.asks = number == 2
        if number == 3:
            clarke_folder.DESCRIPTIONS.held.clear()
        if number == 4:
            with open(os.path.join(folder, "run.json"), "w") as f:
                json.dump(json.loads(said), f, indent=3)
        step(net, folder, number, light=True)
        said = described(folder)
        run = json.loads(said)
        expect(said == clarke_folder.text_of(run), f"run.json with step {number}")
        expect(len(run["branches"]) == (number >= 2), f"the branches of step {number}: {run['branches']}")
        expect([s["step"] for s in run["steps"]] == list(range(number + 1)), f"the steps up to {number}")
        for entry in [run["graph"], *(e for s in run["steps"] for e in s["files"].values())]:
            with open(os.path.join(folder, entry["file"]), "rb") as f:
                expect(hashlib.sha256(f.read()).hexdigest() == entry["sha256"], f"the hash of {entry['file']}")


def by_another(folder):
    """Another process puts a step behind, and this one sees it."""
    net = Net()
    step(net, folder, light=True)
    code = (f"import sys; sys.path[:0] = [{HERE!r}, {PACKAGE!r}]; import records_behind as r; "
            f"net = r.Net(); r.step(net, {folder!r}, 1, light=True)")
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True)
    expect(done.returncode == 0, f"another process: {done.stderr[-300:]}")
    step(net, folder, 2, light=True)
    expect([s["step"] for s in json.loads(described(folder))["steps"]] == [0, 1, 2], "a step of another process is lost")
    refused("a step twice", "has a step 1 already", folder, net, folder, 1, light=True)


def other_steps(folder):
    """What was kept of the folder's graph is used for no step that ran otherwise."""
    net = Net()
    for number in range(2):
        step(net, folder, number, light=True)
    refused("another width", "not that of the folder", folder, Net(6), folder, 2, light=True)
    other = Net()
    other.norm.eps = 1e-3
    refused("another attribute", "not that of the folder", folder, other, folder, 2, light=True)
    other = Net()
    other.forward = lambda x: other.last(torch.tanh(other.norm(other.first(x * other.scale.relu()))))
    refused("another operator", "not that of the folder", folder, other, folder, 2, light=True)
    other = Net()
    other.scale.requires_grad_(False)
    refused("a parameter that is not trained", "", folder, other, folder, 2, light=True)
    refused("another type", "", folder, Net().double(), folder, 2, x=X.double(), light=True)
    precision = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    refused("another precision", "flags", folder, net, folder, 2, light=True)
    torch.set_float32_matmul_precision(precision)
    other = Net()
    other.forward = lambda x: other.last(torch.relu(other.norm(other.first(x * other.scale.relu()))))
    step(other, folder, 2, light=True)  # the same operators, called by another line
    step(net, folder, 3, light=True)
    expect(len(json.loads(described(folder))["steps"]) == 4, "the same step as before")


def two_folders(folder):
    """By turns."""
    nets = [(Net(width), os.path.join(folder, str(width))) for width in (7, 8)]
    for number in range(3):
        for net, path in nets:
            step(net, path, number, light=True)
    refused("the other's graph", "not that of the folder", nets[0][1], nets[1][0], nets[0][1], 3, light=True)


def other_graph(folder):
    """graph.onnx is another: by its hash in run.json, and by a hash that fits."""
    net = Net()
    step(net, folder, light=True)
    path, run = os.path.join(folder, "graph.onnx"), json.loads(described(folder))
    with open(path, "rb") as f:
        graph = f.read()
    with open(path, "wb") as f:
        f.write(graph.replace(b"Relu", b"Tanh"))
    model.COMPARED.clear()
    refused("a graph that was changed", "is not the graph that run.json says", folder, net, folder, 1, light=True)
    run["graph"]["sha256"] = hashlib.sha256(graph.replace(b"Relu", b"Tanh")).hexdigest()
    with open(os.path.join(folder, "run.json"), "w") as f:
        json.dump(run, f)
    refused("a graph that was changed with its hash", "not that of the folder", folder, net, folder, 1, light=True)


class Changing(nn.Module):
    """Activations that are changed in place: behind a normalization, a sum, a pool, and where somebody else has read them before."""

    def __init__(self, kink):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second, self.norm, self.last = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4), nn.Linear(16, 3)
        self.kink = kink

    def forward(self, x):
        h = self.norm(self.first(x))
        h += torch.relu(h)
        a = self.kink(h)
        b = self.second(a)
        b += a
        a = b.neg().abs_() + a
        pooled = F.max_pool2d(a, 2).relu_()
        b = pooled.sum(1, keepdim=True) * 2
        twice = b + b
        b.relu_()
        return self.last((pooled + twice.relu_() + b).flatten(1))


IMAGES = torch.linspace(-1, 1, 6 * 16).reshape(6, 1, 4, 4).sin()


def light_as_whole(folder):
    """A light record, in which numbers that nobody asks for are not kept, has the whole one's graph, gradients and parameters."""
    for number, kink in enumerate((F.relu_, lambda h: F.hardtanh(h, inplace=True), lambda h: F.leaky_relu_(h, 0.25), lambda h: h.abs_(), F.hardswish)):
        nets, there = [Changing(kink) for _ in range(3)], []
        for i, options in enumerate(({}, {"light": True}, {"light": True, "background": True})):
            path = os.path.join(folder, f"{number}-{i}")
            step(nets[i], path, x=IMAGES, **options).wait()
            there.append({n: b for n, b in bytes_of(path).items() if "trace" not in n and n != "run.json"})
        expect(there[0] == there[1] == there[2] and len(there[0]) == 4, f"a light record of kink {number} is the whole one's")


class Scaled(nn.Module):
    """An argument with a zero, if it is asked for one, that is changed in place or not."""

    def __init__(self, inplace, zero):
        super().__init__()
        self.scale, self.inplace, self.zero = nn.Parameter(torch.ones(4)), inplace, zero

    def forward(self, x):
        h = x * self.scale + (0 if self.zero else 1e-3)
        return (F.relu_(h) if self.inplace else F.relu(h))[:, :3]


def light_kinks(folder):
    """A derivative of its own at relu's kink is refused in every way where an entry lies on it, and only there."""
    x = torch.tensor([[0.0, 1, -1, 2]]).repeat(6, 1)
    overrides = library.Library("aten", "IMPL")
    overrides.impl("threshold_backward", lambda g, y, t: g * (y >= t), "CPU")
    try:
        for inplace in (False, True):
            for light in (False, True):
                for background in (False, True):
                    path, what = os.path.join(folder, f"{inplace}-{light}-{background}"), f"inplace {inplace}, light {light}, background {background}"
                    options = {"light": light, "background": background}
                    try:
                        step(Scaled(inplace, True), path, x=x, **options).wait()
                        expect(False, f"{what}: not refused")
                    except clarke.Refused as why:
                        expect("at its kink 0 the derivative that ran is not 0" in str(why), f"{what}: {why}")
                    expect(not os.path.exists(path), f"{what}: nothing is written")
                    step(Scaled(inplace, False), path, x=x, **options).wait()
    finally:
        overrides._destroy()


def light_lets_go(folder):
    """Where no entry lies on a kink nothing of its gradients is held, nor what it changes."""
    for zero in (False, True):
        recorded = clarke.record(os.path.join(folder, str(zero)), Scaled(True, zero), light=True)
        with recorded:
            recorded.model(torch.tensor([[0.0, 1, -1, 2]])).sum().backward()
            node = next(n for n in recorded.trace.nodes if n.name == "relu_")
            kept = [t is not HANDED for t in (*node.grad_outputs, *node.grad_inputs) if t is not None]
            expect(node.untouched != zero and node.args[0].tensor.is_meta != zero and kept == [zero, zero], f"held beside a zero {zero}: {kept}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        for light in (False, True):
            everything_changed(folder, light)
        let_go(folder)
        few_wait(folder)
        forked(folder)
        for ask in (light_as_whole, light_kinks, light_lets_go):
            ask(os.path.join(folder, ask.__name__))
        for number, ask in enumerate((one_text, by_another, other_steps, two_folders, other_graph)):
            ask(os.path.join(folder, str(number)))
    finish()


if __name__ == "__main__":
    main()
