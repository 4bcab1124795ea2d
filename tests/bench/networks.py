"""The second table: convolutional networks of the published experiments, and how an audit grows.

Networks and training are tools/train/published.py's. Pictures are MNIST's and CIFAR-10's when their
folders are given, else made up: fields of colour that vary slowly inside a flat border, which is
what most ties of windows come from.
"""

import argparse
import contextlib
import io
import statistics
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from torch import nn

from timing import UNIT, Timer, figure, print_rows, processor, used

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools/train"))
import published  # noqa: E402
from to_onnx import write_onnx  # noqa: E402

BATCH, PICTURES = 128, 2560
NETWORKS = {"LeNet": ("lenet", 1.0), "VGG11, channels halved": ("vgg11", 0.5),
            "VGG11": ("vgg11", 1.0), "VGG11-BN, channels halved": ("vgg11-bn", 0.5),
            "ResNet18, channels halved": ("resnet18", 0.5)}
GROWTH = {"LeNet": (16, 32, 64, 128, 256), "VGG11, channels halved": (16, 32, 64, 128, 256)}
PARTS = ("lenet", "vgg11", "vgg11-bn", "resnet18", "batches", "depths")
DEPTHS = (2, 4, 8, 12, 16)


def made_up(shape):
    """Bytes: slow waves of each class's own direction, noise on them, and a black border."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 10, PICTURES)
    rows, columns = np.mgrid[:shape[1], :shape[2]] / shape[1]
    angle = labels * np.pi / 10 + rng.normal(0, 0.1, PICTURES)
    phase = rng.uniform(0, 2 * np.pi, (PICTURES, shape[0]))
    along = np.cos(angle)[:, None, None] * rows + np.sin(angle)[:, None, None] * columns
    field = np.cos(4 * np.pi * along[:, None] + phase[:, :, None, None])
    field = 128 + 100 * field + rng.normal(0, 10, (PICTURES, *shape))
    border = shape[1] // 7
    field[:, :, :border] = field[:, :, -border:] = 0
    field[:, :, :, :border] = field[:, :, :, -border:] = 0
    return np.clip(field, 0, 255).astype(np.uint8), labels


class Batches(published.Batches):
    """published.py's, from a folder or made up."""

    def __init__(self, net, data, size=BATCH):
        if data is None:
            read, published.read = published.read, lambda _, name: made_up(
                (1, 28, 28) if name == "lenet" else (3, 32, 32))
        super().__init__(argparse.Namespace(data=data, net=net, seed=0, batch=size, plain=False))
        if data is None:
            published.read = read


def trained(net, width, batches, steps):
    torch.manual_seed(0)
    model = published.NETS[net](width)
    with contextlib.redirect_stdout(io.StringIO()):
        published.train(model, batches, argparse.Namespace(optimizer="adam", rate=1e-3, steps=steps,
                                                           seconds=300))
    return model.eval()


def deep(layers):
    """That many convolutions of 32 channels, a pool after the first and after every fourth."""
    torch.manual_seed(0)
    parts, c_in = [], 3
    for i in range(layers):
        parts += [nn.Conv2d(c_in, 32, 3, padding=1), nn.ReLU()]
        nn.init.kaiming_normal_(parts[-2].weight, nonlinearity="relu")
        parts += [nn.MaxPool2d(2)] if i % 4 == 0 else []
        c_in = 32
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)).eval()


class Bench(Timer):
    """One network on one minibatch."""

    def __init__(self, options, folder, model, batches):
        x, y = batches.next()
        np.savez(folder / "batch.npz", x=x.numpy(), y=y.numpy())
        write_onnx(folder / "model.onnx", model, x[0])
        super().__init__(options.build.resolve(), folder, "model", model, x, y, options.seconds)
        self.proof, self.processes = folder / "model.proof", []

    def round(self, whole=True):
        self.time(UNIT, self.gradient)
        self.program("verdict", "model", "batch", proof=self.folder / "bench.proof")
        self.time(UNIT, self.gradient)
        if whole:
            self.program("gemm", "model", "batch", seconds=0)
        self.proof.unlink(missing_ok=True)
        self.processes.append(used(
            [self.build / "tools/clarke", "audit", self.folder / "model.onnx", "--batch",
             self.folder / "batch.npz", "--threads", "1", "--proof", self.proof]))
        self.times["clarke"].append(1e3 * self.processes[-1]["seconds"])

    def check(self):
        """clarke-check's run, where it is a matter of seconds."""
        run = used([self.build / "tools/clarke-check", self.proof, "--data", self.folder])
        self.times["check"].append(1e3 * run["seconds"])
        self.found["check"] = run

    def megabytes(self):
        return max(p["megabytes"] for p in self.processes)


ROWS = [(UNIT, "PyTorch, float32, forward and backward"),
        ("gemm.sgemm", "the products of the forward pass alone, sgemm"),
        ("gemm.dgemm", "the same, dgemm"),
        ("verdict.whole", "**whole verdict with proof, in process**"),
        ("verdict.read", "— SHA-256 and parsing"), ("verdict.replay", "— replay"),
        ("verdict.audit", "— audit"), ("verdict.proof", "— proof, written to a file"),
        ("verdict.free", "— memory given back"), ("clarke", "process `clarke audit --proof`")]


def found(b):
    v = b.found["verdict"]
    checked = b.found.get("check")
    return (f"Verdict: {v['verdict']}, {v['touched']} touched, {v['filtered']} entries decided by "
            f"the filter, {v['exact_samples']} of {len(b.x)} samples also run exactly. Peak memory of "
            f"`clarke audit`: {figure(b.megabytes())} MB" +
            (f"; of `clarke-check`: {figure(checked['megabytes'])} MB, status {checked['status']}."
             if checked else "."))


def growth_row(b, *first):
    float_ms, whole = (statistics.median(b.times[row]) for row in (UNIT, "verdict.whole"))
    v = b.found["verdict"]
    cells = [*map(str, first), figure(float_ms), figure(whole), figure(whole / float_ms),
             figure(min(b.times["verdict.whole"]) / min(b.times[UNIT])),
             figure(whole / len(b.x)), str(v["exact_samples"]), figure(b.megabytes())]
    print("| " + " | ".join(cells) + " |", flush=True)


GROWTH_HEAD = ["PyTorch ms", "verdict ms", "ratio", "of the least", "ms a sample",
               "samples run exactly", "MB"]


def growth_head(*first):
    print("| " + " | ".join([*first, *GROWTH_HEAD]) + " |")
    print("|---" * (len(first) + len(GROWTH_HEAD)) + "|")


def wanted(options, part):
    return not options.only or part in options.only


def model_of(options, models, name):
    """The network's name in published.py, its data, and it, trained once."""
    if name not in models:
        net, width = NETWORKS[name]
        data = options.mnist if net == "lenet" else options.cifar
        models[name] = (net, data, trained(net, width, Batches(net, data), options.steps))
    return models[name]


def measure_networks(options, folder, models):
    for name, (net, _) in NETWORKS.items():
        if not wanted(options, net):
            continue
        net, data, model = model_of(options, models, name)
        b = Bench(options, folder, model, Batches(net, data))
        for _ in range(options.rounds):
            b.round()
        rows = list(ROWS)
        if net == "lenet":
            b.check()
            rows.append(("check", "process `clarke-check`"))
        print(f"\n### {name}\n")
        print_rows(b.times, rows)
        print("\n" + found(b), flush=True)


def measure_batches(options, folder, models):
    for name, sizes in GROWTH.items():
        net, data, model = model_of(options, models, name)
        print(f"\n### Growth with the minibatch: {name}\n")
        growth_head("samples")
        for size in sizes:
            b = Bench(options, folder, model, Batches(net, data, size))
            b.round(whole=False)
            growth_row(b, size)


def measure_depths(options, folder):
    print("\n### Growth with depth: 3x3 convolutions of 32 channels, untrained, 32 pictures\n")
    growth_head("convolutions")
    for layers in DEPTHS:
        b = Bench(options, folder, deep(layers), Batches("vgg11", options.cifar, 32))
        b.round(whole=False)
        growth_row(b, layers)


def measure(options):
    print(f"{processor()}; torch {torch.__version__}, numpy {np.__version__}; one thread; "
          f"MNIST {'as given' if options.mnist else 'made up'}, CIFAR-10 "
          f"{'as given' if options.cifar else 'made up'}; {options.steps} steps of training; batch "
          f"{BATCH}; {options.rounds} rounds of {options.seconds} s a row")
    models = {}
    with tempfile.TemporaryDirectory() as folder:
        measure_networks(options, Path(folder), models)
        if wanted(options, "batches"):
            measure_batches(options, Path(folder), models)
        if wanted(options, "depths"):
            measure_depths(options, Path(folder))
