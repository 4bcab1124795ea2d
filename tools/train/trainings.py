"""Repeats published trainings, and says how often kinks were touched.

Usage: python tools/train/trainings.py park DATA [--seeds N] [--epochs N] [--every N --watch FOLDER]
       python tools/train/trainings.py windows DATA [--nets NET ...] [--steps N] [--count N] [--every N --watch FOLDER | --keep FOLDER]
       python tools/train/trainings.py pools DATA --out FOLDER [--seeds N]
       python tools/train/trainings.py relu-prime DATA [--seeds N] [--depths D ...]

DATA is a folder with MNIST's idx files (for windows CIFAR-10's binary ones), or `made-up`: random pictures, whose labels are those of a
random network. What is printed is a row of docs/runs.md.

park: Park, Chun and Lee's first scenario. 784-256-64-10 with ReLU6, HardTanh or HardSigmoid, biases, SGD with
minibatches of 128, rate .05 to 0 by a cosine, decay 1e-4, 20 epochs. Of all steps the arguments that are at a kink in float32 are counted.
Of every N-th step, and of each that has some, `clarke` is
asked for those in real numbers, and whether AD's gradient is right.

windows: their second scenario. VGG11 and VGG11-BN with half the channels, and ResNet18, on CIFAR-10, the first so many steps, with flips and
crops. Of each pool the windows are counted that in float32 have several largest entries, which are above 0, and those of which some are
another function than the first (window_counts.py), in every step or, with --count N, in every N-th. What is counted so far is said after
each 50 of these. Every N-th step is asked about in real numbers, too. With --keep FOLDER the training is saved there after each 100 steps,
and the same command goes on from there.

pools: Boustany's thesis, Figures 3.3 and 3.4. LeNet-5 with drawn weights, a minibatch of 128: how far are the gradients of the native pool
and of the minimal one apart, in float32 and float64, for the mean of the loss and for its sum? `clarke sweep` is asked.

relu-prime: Bertoin, Bolte, Gerchinovitz and Pauwels. Hidden layers of 256, minibatches of 256, float32, one epoch, SGD with rate .1.
Two trainings of one seed with ReLU'(0) = 0 and 1: in how many do the weights differ after the epoch, and at which step did they first?

Nothing here is part of the tests, and what it writes is not for the repository.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "python"))
import clarke  # noqa: E402
from batches import write_batch  # noqa: E402
from published import NETS, Batches, MNIST_SCALE, read  # noqa: E402
from to_onnx import write_onnx  # noqa: E402
from window_counts import Windows  # noqa: E402

KINKS = {"relu6": (F.relu6, (0, 6)), "hardtanh": (F.hardtanh, (-1, 1)), "hardsigmoid": (F.hardsigmoid, (-3, 3))}


def pictures(data):
    if data == "made-up":
        of = torch.Generator().manual_seed(0)
        x = torch.rand(6000, 784, generator=of).round(decimals=2)
        return x, (F.relu(x @ torch.randn(784, 32, generator=of)) @ torch.randn(32, 10, generator=of)).argmax(1)
    x, y = read(Path(data), "lenet")
    (mean,), (deviation,) = MNIST_SCALE
    return ((torch.from_numpy(x.copy()).float() / 255 - mean) / deviation).flatten(1), torch.from_numpy(y.copy())


def minibatches(x, y, size, of):
    for at in torch.randperm(len(x), generator=of).split(size):
        yield x[at], y[at]


class Net(nn.Module):
    """Dense layers with one function between them; `touched` counts arguments that equal a kink."""

    def __init__(self, sizes, function, kinks):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
        self.function, self.kinks, self.touched = function, kinks, 0

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = layer(x)
            if self.kinks:
                with torch.no_grad():
                    self.touched += sum(int((x == kink).sum()) for kink in self.kinks)
            x = self.function(x)
        return self.layers[-1](x)


# ---- Park, Chun and Lee


def park_once(x, y, activation, seed, o):
    torch.manual_seed(seed)
    function, kinks = KINKS[activation]
    net, of, step = Net((784, 256, 64, 10), function, kinks), torch.Generator().manual_seed(seed), 0
    plain = Net((784, 256, 64, 10), function, ())  # what is recorded counts nothing
    plain.layers = net.layers
    steps = o.epochs * -(-len(x) // 128)
    optimizer = torch.optim.SGD(net.parameters(), lr=.05, weight_decay=1e-4)
    rate = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    watch = clarke.monitor(plain, os.path.join(o.watch, f"{activation}-{seed}")) if o.watch else None
    with_touches = 0
    for _ in range(o.epochs):
        for a, b in minibatches(x, y, 128, of):
            before = net.touched
            optimizer.zero_grad()
            F.cross_entropy(net(a), b).backward()
            with_touches += net.touched > before
            if watch and (step % o.every == 0 or net.touched > before):
                ask(watch, plain, a, b, step)
            optimizer.step()
            rate.step()
            step += 1
    return step, net.touched, with_touches, watch.close() if watch else None


def ask(watch, net, a, b, step):
    """The step once more, recorded; its gradient is the one that was there."""
    watch.step = step
    net.zero_grad()
    with watch:
        F.cross_entropy(net(a), b).backward()


def park(o):
    x, y = pictures(o.data)
    for activation in o.activations:
        rows = [park_once(x, y, activation, seed, o) for seed in range(o.seeds)]
        touched = [row[1] for row in rows]
        print(f"{activation}: {rows[0][0]} steps, float32 touches {touched}, mean {statistics.mean(touched):.1f}; steps with one {[row[2] for row in rows]}")
        for of in (row[3] for row in rows if row[3]):
            print(f"  of {of['steps']} asked exactly: touched in {of['steps_touched']}, verdicts {of['verdicts']}, unanswered {of['unanswered']}")
        sys.stdout.flush()


# ---- Their second scenario


class MadeUp:
    """Pictures of CIFAR-10's size with black borders."""

    def __init__(self, size):
        self.size, self.random = size, torch.Generator().manual_seed(0)

    def next(self):
        x = torch.rand(self.size, 3, 32, 32, generator=self.random).round(decimals=2)
        x[:, :, :2] = 0
        return x, torch.randint(10, (self.size,), generator=self.random)


class Training:
    """A network with its optimizer, minibatches and counts, which can be saved and gone on with."""

    def __init__(self, net, batches):
        self.net, self.batches, self.counted, self.step = net, batches, Windows(net), 0
        self.optimizer = torch.optim.SGD(net.parameters(), lr=.05, momentum=.9, weight_decay=1e-4)

    def save(self, path):
        torch.save({"net": self.net.state_dict(), "optimizer": self.optimizer.state_dict(), "random": self.batches.random,
                    "pools": self.counted.pools, "step": self.step}, f"{path}.part")
        os.replace(f"{path}.part", path)

    def go_on(self, path):
        kept = torch.load(path, weights_only=False)
        self.net.load_state_dict(kept["net"])
        self.optimizer.load_state_dict(kept["optimizer"])
        self.batches.random, self.counted.pools, self.step = kept["random"], kept["pools"], kept["step"]


def windows_once(o, name):
    torch.manual_seed(0)
    net = NETS[name](1 if name.startswith("resnet") else .5)
    options = argparse.Namespace(data=Path(o.data), net=name, seed=0, batch=128, plain=False)
    batches = MadeUp(128) if o.data == "made-up" else Batches(options)
    training, kept = Training(net, batches), os.path.join(o.keep, f"{name}.pt") if o.keep else None
    if kept and os.path.exists(kept):
        training.go_on(kept)
    watch = clarke.monitor(net, os.path.join(o.watch, name), options=("--threads", "1", "--memory", "6G")) if o.watch else None
    while training.step < o.steps:
        windows_step(training, o, watch)
        if kept and training.step % 100 == 0:
            training.save(kept)
        if training.step % (50 * o.count) == 0 and training.step < o.steps:
            say_windows(name, training.step, o.count, training.counted.pools)
    say_windows(name, o.steps, o.count, training.counted.pools)
    return watch.close() if watch else None


def windows_step(training, o, watch):
    net, counted, (x, y) = training.net, training.counted, training.batches.next()
    training.optimizer.zero_grad()
    counted.counts = training.step % o.count == 0
    F.cross_entropy(net(x), y).backward()
    counted.counts = False  # what is recorded counts nothing
    if watch and training.step % o.every == 0:
        ask(watch, net, x, y, training.step)
    training.optimizer.step()
    training.step += 1


def say_windows(name, steps, every, pools):
    print(f"{name}: {steps} steps, of which {-(-steps // every)} are counted; tied above 0 in float32, by pool: "
          f"{', '.join(f'{100 * p.tied / p.all:.2g} %' for p in pools['AD'])}; in steps: {', '.join(str(p.steps) for p in pools['AD'])}")
    for of, counts in pools.items():
        print(f"  S less T not empty, T by {of}: in steps {', '.join(str(p.parted_steps) for p in counts)}; windows "
              f"{', '.join(str(p.parted) for p in counts)}; entries a window "
              f"{', '.join(f'{p.entries / p.parted:.3g}' if p.parted else 'none' for p in counts)}")
    sys.stdout.flush()


def windows(o):
    for name in o.nets:
        said = windows_once(o, name)
        if said:
            print(f"  of {said['steps']} asked exactly: verdicts {said['verdicts']}, zones {said['zones']}, unanswered {said['unanswered']}")
            for layer in said["layers"].values():
                print(f"    {layer['module']} {layer['op']}: touched {layer['touched']}, windows {layer['windows']}, above zero "
                      f"{layer['above_zero']} in {layer['steps_above_zero']} steps; S less T {layer['s_less_t']}, by identity {layer['s_less_t_by_identity']}")
        sys.stdout.flush()


# ---- Boustany's thesis, chapter 3


def pools(o):
    """A manifest for each reduction, and what its sweep comes to."""
    os.makedirs(o.out, exist_ok=True)
    options = argparse.Namespace(data=Path(o.data), net="lenet", seed=0, batch=128, plain=True)
    if o.data == "made-up":
        of = torch.Generator().manual_seed(0)
        x, y = torch.rand(128, 1, 28, 28, generator=of).round(decimals=2) - .13, torch.randint(10, (128,), generator=of)
    else:
        x, y = Batches(options).next()
    write_batch(Path(o.out) / "lenet.npz", x=x.numpy(), y=y.numpy())
    write_onnx(Path(o.out) / "lenet.onnx", NETS["lenet"](1).eval(), x[0])
    (Path(o.out) / "minimal.profile").write_text("tie MaxPool mean\n")
    for reduction in "mean", "sum":
        manifest, results = (os.path.join(o.out, f"{reduction}.{end}") for end in ("json", "jsonl"))
        Path(manifest).write_text(json.dumps({"model": "lenet.onnx", "batches": ["lenet.npz"], "profiles": ["pytorch-2.13", "minimal.profile"],
                                              "formats": ["float32", "float64"], "reduction": reduction, "seeds": {"from": 0, "count": o.seeds}}))
        subprocess.run([os.environ.get("CLARKE", "clarke"), "sweep", manifest, "-o", results], stdout=subprocess.DEVNULL, check=True)
        with open(results, encoding="utf-8") as f:
            lines = [json.loads(line) for line in f][1:]
        for kind in "float32", "float64":
            found = [pair["floats"][kind] for line in lines for pair in line["pairs"]]
            d, labels = sorted(of["l1_float"] for of in found), [of.get("label") or "none" for of in found]
            print(f"{reduction}, {kind}: least {d[0]:.2g}, median {statistics.median(d):.2g}, greatest {d[-1]:.2g}; "
                  f"{sum(1e-8 <= of < 1e-7 for of in d)} in [1e-8, 1e-7); labels { {of: labels.count(of) for of in sorted(set(labels))} }")
        print(f"  zones { {zone: sum(line['zone'] == zone for line in lines) for zone in sorted({line['zone'] or 'not known' for line in lines})} }", flush=True)


# ---- Bertoin et al.


class ReluOne(torch.autograd.Function):
    """ReLU with the slope 1 at 0."""

    @staticmethod
    def forward(context, x):
        context.save_for_backward(x)
        return F.relu(x)

    @staticmethod
    def backward(context, g):
        x, = context.saved_tensors
        return g * (x >= 0)


def parting(x, y, depth, seed):
    """The step whose gradients differ first; None. Do the weights differ at the end?"""
    nets, optimizers = [], []
    for function in (F.relu, ReluOne.apply):
        torch.manual_seed(seed)
        nets.append(Net((784, *[256] * depth, 10), function, ()))
        optimizers.append(torch.optim.SGD(nets[-1].parameters(), lr=.1))
    first = None
    for step, (a, b) in enumerate(minibatches(x, y, 256, torch.Generator().manual_seed(seed))):
        for net, optimizer in zip(nets, optimizers):
            optimizer.zero_grad()
            F.cross_entropy(net(a), b).backward()
            optimizer.step()
        if first is None and any(not torch.equal(p, q) for p, q in zip(*(net.parameters() for net in nets))):
            first = step
    return first, any(not torch.equal(p, q) for p, q in zip(*(net.parameters() for net in nets)))


def relu_prime(o):
    x, y = pictures(o.data)
    for depth in o.depths:
        found = [parting(x, y, depth, seed) for seed in range(o.seeds)]
        steps = sorted(first for first, _ in found if first is not None)
        print(f"{depth} hidden: {sum(differs for _, differs in found)} of {o.seeds} differ; first at steps {steps}", flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("what", choices=("park", "windows", "pools", "relu-prime"))
    p.add_argument("data")
    p.add_argument("--seeds", type=int, default=5)
    p.add_argument("--epochs", type=int, default=20)
    p.add_argument("--activations", nargs="+", choices=tuple(KINKS), default=list(KINKS))
    p.add_argument("--depths", nargs="+", type=int, default=[1, 2, 3, 5])
    p.add_argument("--every", type=int, default=100)
    p.add_argument("--nets", nargs="+", choices=tuple(NETS), default=["vgg11", "vgg11-bn", "resnet18-bn"])
    p.add_argument("--steps", type=int, default=20)
    p.add_argument("--count", type=int, default=1)
    p.add_argument("--out", default="pools")
    p.add_argument("--watch")
    p.add_argument("--keep")
    o = p.parse_args()
    if o.keep and o.watch:
        p.error("--keep is of trainings that are not watched: steps behind the last that is kept would be asked about twice")
    if o.keep:
        os.makedirs(o.keep, exist_ok=True)
    torch.set_num_threads(1)
    {"park": park, "windows": windows, "pools": pools, "relu-prime": relu_prime}[o.what](o)


if __name__ == "__main__":
    main()
