#!/usr/bin/env python3
"""Training steps of PyTorch, recorded and audited: verdicts, names, refusals, and bounds on rounding.

    records.py CLARKE CLARKE-CHECK [PART...]

Steps run with different orders of summation (threads, memory layouts, oneDNN or not), types and scales. Each gradient must be
explained, and each change beyond its bound found: the smallest that is, is printed. The parts are main's; else all of them are asked.
"""
import ctypes
import dataclasses
import hashlib
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from fractions import Fraction

import numpy
import torch
from torch import library as dispatcher
from torch import nn
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "python"))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "train"))
sys.path.append(os.path.join(HERE, "..", "tools"))
CLARKE, CHECK = (os.path.abspath(p) for p in sys.argv[1:3])
os.environ["CLARKE"] = CLARKE
import clarke  # noqa: E402
from clarke.sums import kernels, trees  # noqa: E402
from clarke.files import safetensors  # noqa: E402
from attacked import Normed, Wrong  # noqa: E402
import runs  # noqa: E402
from safetensors.torch import load_file  # noqa: E402
from expect import expect, finish  # noqa: E402
from processor import where_measured  # noqa: E402

ratios, certified, proved = {}, {}, []


def certify(run, *options):
    """Each node by itself."""
    done = subprocess.run([CLARKE, "certify", run, "--json", *options], capture_output=True, text=True)
    answer = json.loads(done.stdout)
    return answer if "answer" in answer else {"answer": done.stderr, "nodes": []}  # that there is no proof is told behind the answer


def check_nodes(run, name, description, explained, light):
    """What the whole gradient's bound explains, the nodes' explain; Winograd's convolutions are named. The largest ratio of each node."""
    proof = os.path.join(run, "nodes.proof")
    answer = certify(run, "--proof", proof)
    if light:
        return expect(answer["answer"] == "cannot say", f"{name}: certify: {answer['answer']}")
    allowed = {True: ("bit-exact", "within the bound"), None: ("bit-exact", "within the bound", "cannot say"),
               False: ("not certified", "refuted")}[explained]
    expect(answer["answer"] in allowed, f"{name}: certify: {answer['answer']} {[n for n in answer['nodes'] if n['why'] or n['first']]}")
    if os.path.exists(proof):
        done = subprocess.run([CHECK, proof], capture_output=True, text=True)
        expect(done.stdout.startswith("VERIFIED"), f"{name}: certify's proof: {done.stdout[-300:]}{done.stderr}")
        proved.append(done.stdout.count(": bit-exact\n") + done.stdout.count(": within the bound\n"))
    else:
        expect(answer["answer"] == "refuted" or len(description["dtypes"]) > 1, f"{name}: certify writes no proof")
    for n in answer["nodes"]:
        if explained is False and n["answer"] in ("not certified", "refuted"):
            expect("convolution" in n["name"] or n["operator"] in ("Relu", "MaxPool", "BatchNormalization", "Add") or n["part"] == "parameter",
                   f"{name}: {n}")
        if n["worst"] is not None and n["part"] != "indices" and n["answer"] == "within the bound":
            certified.setdefault(" ".join(description["dtypes"]), []).append(n["worst"])


def ask(folder, name, model, step, verdict=None, explained=True, nodes=True, **options):
    """Records a step of the model, and checks its proof; nodes: were all those that compute something recorded? explained False: a node is
    not its operator's, which Winograd's convolutions are not; None: the bounds are too wide. Of a light record branches may be open, too."""
    run = os.path.join(folder, name)
    model.zero_grad()
    with clarke.record(run, model, **options):
        step(model)
    answer = clarke.audit(run)
    gradient = answer.gradient
    if options.get("light") and answer.answer == "not known":
        expect("rounding may have turned" in gradient["why"] or "would explain a wrong gradient" in gradient["why"], f"{name}: {gradient}")
        explained = None
    expect(gradient["explained"] is (explained or None), f"{name}: {gradient}")
    expect(verdict is None or answer.verdict == verdict, f"{name}: {answer.verdict}")
    if answer.proof is not None:
        path = os.path.join(run, "proof")
        with open(path, "wb") as f:
            f.write(answer.proof)
        done = subprocess.run([CHECK, path], capture_output=True, text=True)
        expect(done.stdout.startswith("VERIFIED"), f"{name}: {done.stdout[:200]}{done.stderr}")
    with open(os.path.join(run, "run.json")) as f:
        description = json.load(f)
    check_nodes(run, name, description, explained if nodes else None, options.get("light", False))
    if explained:
        ratios.setdefault(" ".join(description["dtypes"]), []).append(gradient["worst"])
        again = description["steps"][0]["replay"]
        expect((again is None) == bool(options.get("light")), f"{name}: {again}")
        where_measured(again is None or again == {"loss_ulps": 0, "gradient_ulps": 0}, f"{name}: {again}")  # from copies, laid out anew
    return answer, description


def entropy(x, y):
    return lambda model: F.cross_entropy(model(x), y).backward()


def summed(x):
    return lambda model: model(x).sum().backward()


def lenet():
    return nn.Sequential(nn.Conv2d(1, 6, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 3, padding=1), nn.ReLU(),
                         nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))


def vgg():
    layers, width = [], 1
    for out, pool in [(4, True), (8, False), (8, True), (16, False), (16, True)]:
        layers += [nn.Conv2d(width, out, 3, padding=1), nn.BatchNorm2d(out), nn.ReLU(inplace=True)] + [nn.MaxPool2d(2)] * pool
        width = out
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(16, 10))


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.norm = nn.Conv2d(1, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4)
        self.inner, self.inner_norm = nn.Conv2d(4, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4)
        self.head = nn.Linear(4, 10)

    def forward(self, x):
        h = F.relu(self.norm(self.stem(x)))
        h = F.relu(self.inner_norm(self.inner(h)) + h)
        return self.head(F.adaptive_avg_pool2d(h, 1).flatten(1))


def special(folder):
    """What exporters get wrong."""
    one = torch.ones(1, 1)
    answer, _ = ask(folder, "lemma2", runs.Lemma2(), summed(one), "not-in-clarke")
    expect(answer.touched_by_module == {"": 2}, f"lemma2: {answer.touched_by_module}")
    answer, description = ask(folder, "two-zeros", runs.TwoZeros(), summed(one), "in-bouligand")
    expect(description["parameters"] == ["first.weight", "second.weight"], "two-zeros: names")
    ask(folder, "bounds", runs.Bounds(), summed(one), "in-clarke")
    _, description = ask(folder, "tied", runs.Tied(), lambda m: F.mse_loss(m(torch.randn(3, 4)), torch.randn(3, 4)).backward(), "in-bouligand")
    expect(description["parameters"] == ["encoder.weight"] and description["tied"] == {"decoder.weight": "encoder.weight"}, "tied: names")
    same = torch.randn(3, 4)
    ask(folder, "autoencoder", runs.Tied(), lambda m: F.mse_loss(m(same), same).backward(), "in-bouligand")
    for name, f, gradient in [("clamp", lambda t: t.clamp(-1, 1), 1), ("clamp_min", lambda t: t.clamp(min=1), 1),
                              ("hardtanh", F.hardtanh, 0), ("relu6", lambda t: F.relu6(6 * t), 0)]:
        class At(nn.Module):
            def __init__(self):
                super().__init__()
                self.w = nn.Parameter(torch.ones(1))

            def forward(self, x, f=f):
                return f(self.w * x)
        model = At()
        answer, _ = ask(folder, "at-" + name, model, summed(one), "in-bouligand")
        expect(model.w.grad.item() == gradient, f"{name}: PyTorch gives {model.w.grad.item()}")


def networks(folder):
    """Architectures, orders of summation, types, scales."""
    x, y = torch.randn(16, 1, 8, 8), torch.randint(0, 10, (16,))
    flat = (torch.rand(16, 1, 8, 8) * 16).round() / 16
    flat[:, :, :2] = flat[:, :, 6:] = 0
    for name, make in [("lenet", lenet), ("vgg", vgg), ("residual", Residual)]:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            ask(folder, name, make(), entropy(flat if name == "lenet" else x, y))
            if name != "vgg":  # through five normalizations, without a trace: not known
                ask(folder, name + "-light", make(), entropy(flat if name == "lenet" else x, y), light=True)
        model = make().to(memory_format=torch.channels_last)
        ask(folder, name + "-last", model, entropy(x.contiguous(memory_format=torch.channels_last), y))
        with torch.backends.mkldnn.flags(enabled=False):
            with torch.backends.nnpack.flags(enabled=False):
                ask(folder, name + "-plain", make(), entropy(x, y))
            winograd = torch.backends.nnpack.is_available()  # the processor has AVX2
            answer, _ = ask(folder, name + "-winograd", make(), entropy(x, y), explained=not winograd)
            expect(not winograd or "Winograd's and FFT's algorithms make such" in answer.gradient["why"], f"{name}: {answer.gradient}")
        ask(folder, name + "-eval", make().eval(), entropy(x, y))
    ask(folder, "lenet-float64", lenet().double(), entropy(flat.double(), y))
    activations = [nn.LeakyReLU(), nn.Hardswish(), nn.Hardsigmoid(), nn.PReLU(), nn.LayerNorm(8), nn.Tanh(), nn.Sigmoid(), nn.ReLU6()]
    deep = nn.Sequential(*[layer for a in activations for layer in (nn.Linear(8, 8), a)], nn.Linear(8, 2))
    ask(folder, "activations", deep, lambda m: (65536 * m(torch.randn(8, 8)).mean() / 3).backward())
    groups = nn.Sequential(nn.Conv2d(1, 4, 3), nn.GroupNorm(2, 4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 10))
    ask(folder, "groups", groups, entropy(x, y))
    ask(folder, "groups-light", groups, entropy(x, y), light=True)
    far = nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 10))
    for offset, explained in [(20, True), (1000, None)]:  # means larger than deviations; so far that one pass finds no variance
        with torch.no_grad():
            groups[0].bias += offset
        ask(folder, "groups-far", groups, entropy(x, y), explained=None)
        ask(folder, "layer-far", far, entropy(offset + torch.randn(16, 8), y), explained=explained)
    cancelling = nn.Sequential(nn.Linear(64, 4), nn.ReLU(), nn.Linear(4, 1))
    with torch.no_grad():
        cancelling[0].weight[:, 1::2] = -cancelling[0].weight[:, ::2] * (1 + 2 ** -20)
    ask(folder, "cancelling", cancelling, summed(torch.randn(4, 64).mul(1e6)))
    tiny = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))
    ask(folder, "subnormal", tiny, summed(torch.randn(4, 8).mul(1e-39)))
    rounded = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    with torch.no_grad():
        for p in rounded.parameters():
            p.copy_((8 * p).round() / 4)
    whole = torch.randint(-2, 3, (16, 8)).float()
    answer, _ = ask(folder, "rounded", rounded, summed(whole))
    expect(answer.touched_by_module.get("1", 0) > 0, f"rounded: {answer.touched_by_module}")
    # so long a sum of so coarse numbers has no bound: not known, and said so
    ask(folder, "lenet-bfloat16", lenet().bfloat16(), entropy(flat.bfloat16(), y), explained=None)

    def autocast(model):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            value = F.cross_entropy(model(flat), y)
        value.backward()
    ask(folder, "lenet-autocast", lenet(), autocast, explained=None)
    mixed(folder)


def mixed(folder):
    """Weights that are cast, and then transposed, by autocast or by hand; long sums of coarse numbers, which their trees tell; a weight norm."""
    x, y = torch.randn(4, 1, 8, 8), torch.arange(4)

    def step(kind, data, enabled=True):
        def run(model):
            with torch.autocast("cpu", dtype=kind, enabled=enabled):
                value = F.cross_entropy(model(data), y)
            torch.amp.GradScaler("cpu", init_scale=1024.0, enabled=enabled).scale(value).backward()
        return run

    class Cloned(nn.Linear):
        def forward(self, data):
            return F.linear(data, self.weight.clone(), self.bias)

    dense = nn.Sequential(nn.Flatten(), nn.Linear(64, 12), nn.ReLU(), nn.Linear(12, 4))
    normed = nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Conv2d(1, 3, 3)), nn.ReLU(), nn.Flatten(), nn.Linear(108, 4))
    cloned = nn.Sequential(nn.Flatten(), Cloned(64, 12), nn.ReLU(), nn.Linear(12, 4))
    whole, coarse, half = step(torch.bfloat16, x, False), step(torch.bfloat16, x), step(torch.float16, x)
    for name, model, act, trees in (
            ("dense-bfloat16", dense, coarse, True), ("dense-float16", dense, half, False), ("lenet-trees", lenet(), coarse, True),
            ("weight-norm", normed, whole, False), ("cloned", cloned, whole, False)):
        run = os.path.join(folder, name)
        model.zero_grad()
        with clarke.record(run, model, trees=trees):
            act(model)
        for options in ((), ("--nodes",)):
            answer = certify(run, *options)
            where = f"{name}: {answer['answer']} {[n for n in answer['nodes'] if n['answer'] == 'cannot say']}"
            expect(answer["answer"] == "within the bound" or (trees and answer["answer"] == "cannot say"), where)
            where_measured(answer["answer"] == "within the bound", where)
        cast = [n for n in answer["nodes"] if n["part"] == "gradient" and n["name"] in ("1/_to_copy_2", "3/_to_copy_2", "1/clone")]
        expect(bool(cast) == (name != "weight-norm") and all(n["refuted"] == 0 for n in cast), f"{name}: {cast}")
        where_measured(all(n["answer"] == "bit-exact" for n in cast), f"{name}: {cast}")


class Recurrent(nn.Module):
    """A recurrent layer of which the last outputs are read, or all."""

    def __init__(self, layer, last=True):
        super().__init__()
        self.layer, self.last, self.head = layer, last, nn.Linear(layer.hidden_size * (1 + getattr(layer, "bidirectional", 0)), 3)

    def forward(self, x):
        out = self.layer(x)[0]
        return self.head(out[:, -1] if self.last else out)


class Cells(nn.Module):
    """Cells over the slices of an input, whose outputs are stacked along an axis."""

    def __init__(self, cell, axis):
        super().__init__()
        self.cell, self.axis = cell, axis

    def forward(self, x):
        state, outputs = None, []
        for part in x.unbind(1):
            state = self.cell(part, state)
            outputs.append(state if isinstance(state, torch.Tensor) else state[0])
        return torch.stack(outputs, self.axis)


def parts(x):
    """Parts of a tensor, of which not all are read."""
    first, _, last = x.split([3, 2, 3], 1)
    a, b = (first * last).chunk(3, 1)[1:]
    return torch.stack([a, b.relu(), x[:, 4:5], x[:, ::3][:, 1:2]], -1).flatten(1)


def in_place(x):
    """Parts that do not overlap are changed in place, each on its own."""
    y = 2 * x
    a, b = y.unsafe_chunk(2, 1)
    a.mul_(b.relu_())
    return a + b


def sequences(folder):
    """Recurrent layers as PyTorch computes them step by step, and what cuts and joins."""
    x = torch.randn(4, 3, 6)
    for name, layer in [("rnn", nn.RNN(6, 5, batch_first=True)), ("rnn-relu", nn.RNN(6, 5, 2, nonlinearity="relu", batch_first=True)),
                        ("gru", nn.GRU(6, 5, batch_first=True)), ("gru-both", nn.GRU(6, 5, batch_first=True, bidirectional=True)),
                        ("lstm", nn.LSTM(6, 5, batch_first=True))]:
        with torch.backends.mkldnn.flags(enabled=False):
            ask(folder, name, Recurrent(layer, name != "rnn-relu"), lambda m: m(x).square().mean().backward(), "in-bouligand")
    for axis, cell in enumerate([nn.RNNCell(6, 5), nn.LSTMCell(6, 5), nn.GRUCell(6, 5)]):
        ask(folder, f"cells-{axis}", Cells(cell, axis), summed(x), "in-bouligand")
    wide = torch.randn(4, 8)
    for name, f in (("parts", parts), ("in-place", in_place)):
        model = nn.Sequential(nn.Linear(8, 8), Through(f, 8), nn.Linear(4, 3))
        ask(folder, name, model, summed(wide), "in-bouligand")
    for name, layer in [("lstm-as-one", nn.LSTM(6, 5, batch_first=True)), ("lstm-as-one-both", nn.LSTM(6, 4, 2, batch_first=True, bidirectional=True, bias=False))]:
        ask(folder, name, Recurrent(layer), lambda m: m(x).square().mean().backward(), "in-bouligand")
    refused(folder, "a view of a tensor that was changed in place is read", Through(lambda h: (h.unsafe_chunk(2, 1)[0].mul_(2), h)[1]),
            summed(torch.randn(2, 4)))


def images(folder):
    """Transposed convolutions, and images made larger."""
    x = torch.randn(3, 2, 4, 5)
    transposed = nn.Sequential(nn.ConvTranspose2d(2, 4, 3, 2, 1, output_padding=1, groups=2), nn.ReLU(), nn.ConvTranspose2d(4, 2, (2, 1), (2, 1), dilation=2))
    ask(folder, "transposed", transposed, summed(x), "in-bouligand")
    ask(folder, "transposed-line", nn.Sequential(nn.ConvTranspose1d(2, 3, 4, 2, 1), nn.ReLU()), summed(x[:, :, 0]), "in-bouligand")
    ask(folder, "transposed-float64", transposed.double(), summed(x.double()), "in-bouligand")
    for name, options in [("nearest", {"scale_factor": 2}), ("nearest-odd", {"size": (7, 8)}), ("nearest-exact", {"scale_factor": 1.6}),
                          ("bilinear", {"scale_factor": 2}), ("bilinear-third", {"scale_factor": 3}), ("bilinear-odd", {"size": (7, 3)}),
                          ("bilinear-ends", {"size": (7, 9), "align_corners": True})]:
        mode = name if name == "nearest-exact" else name.split("-")[0]
        for kind in (torch.float32, torch.float64):
            model = nn.Sequential(nn.Conv2d(2, 3, 1), nn.ReLU(), nn.Upsample(mode=mode, **options), nn.Conv2d(3, 1, 1)).to(kind)
            ask(folder, f"{name}-{kind}", model, summed(x.to(kind)), "in-bouligand", nodes=mode != "bilinear")
    for size in ((3, 2), (5, 7)):
        model = nn.Sequential(nn.Conv2d(2, 3, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(size), nn.Conv2d(3, 1, 1))
        ask(folder, f"adaptive-{size}", model, summed(x), "in-bouligand", nodes=False)
    model = nn.Sequential(nn.Conv2d(2, 2, 1), nn.ZeroPad2d((1, 0, 2, -1)), Through(lambda h: h.roll((1, -2), (2, 3)) * h[:, [1, 0]], 6), nn.ReLU())
    ask(folder, "moved", model, lambda m: m(x).pow(3).sum().backward(), "in-bouligand")
    grouped = nn.Sequential(nn.Conv2d(2, 4, 2, groups=2), nn.ReLU(), nn.ConvTranspose2d(4, 2, 2, groups=2))
    ask(folder, "grouped", grouped, lambda m: (m(x) - m[2](torch.ones(3, 4, 3, 4))).abs().sum().backward())
    for mode in ("nearest", "linear"):
        ask(folder, f"{mode}-line", nn.Sequential(nn.Conv1d(2, 3, 1), nn.ReLU(), nn.Upsample(scale_factor=1.5, mode=mode)), summed(x[:, :, 0]),
            "in-bouligand")


def refused(folder, says, model, step):
    """A model with a gradient keeps it where that is what is refused."""
    run = os.path.join(folder, "refused")
    if "already" not in says:
        model.zero_grad()
    try:
        with clarke.record(run, model):
            step(model)
        expect(False, f"not refused: {says}")
    except clarke.Refused as why:
        expect(says in str(why), f"{says}: {why}")
    expect(not os.path.exists(run), f"{says}: something was written")


class Through(nn.Module):
    def __init__(self, f, width=4):
        super().__init__()
        self.inner, self.f = nn.Linear(width, width), f

    def forward(self, x):
        return self.f(self.inner(x))


def refusals(folder):
    x = torch.randn(2, 4)
    for says, f in [("aten.digamma.default: this operator cannot be written", lambda h: h.exp().digamma()), ("records.py", torch.lgamma),
                    ("a Function of its own, Normed", Normed.apply), ("160 entries to be sorted", lambda h: h.repeat(1, 40).sort(1)[0])]:
        refused(folder, says, Through(f), summed(x))
    linear = nn.Linear(4, 4)
    refused(folder, "no loss.backward() ran", linear, lambda m: m(x).sum())
    linear.weight.grad = torch.ones(4, 4)
    refused(folder, "has a gradient already", linear, lambda m: m(x).sum().backward())
    linear.zero_grad()
    refused(folder, "eps = 1e-05 is no float32", nn.LayerNorm(4).double(), lambda m: m(x.double()).sum().backward())


def wrong_derivative(folder):
    """A backward operator of its own at the kink of relu is found."""
    overrides = dispatcher.Library("aten", "IMPL")
    overrides.impl("threshold_backward", lambda g, x, t: g * (x >= t), "CPU")
    try:
        model = runs.Lemma2()
        refused(folder, "at its kink 0 the derivative that ran is not 0", model, summed(torch.ones(1, 1)))
    finally:
        overrides._destroy()


def threshold(folder):
    """The smallest relative change of one entry that is found, of eight."""
    for name in ("lenet", "vgg", "lenet-float64"):
        source, found = os.path.join(folder, name), []
        with open(os.path.join(source, "run.json")) as f:
            description = json.load(f)
        entry = description["steps"][0]["files"]["gradients"]
        tensors = load_file(os.path.join(source, entry["file"]))
        largest = max(tensors, key=lambda n: tensors[n].numel())
        place = tensors[largest].abs().flatten().argmax()
        for power in range(2, 50, 2):
            run = os.path.join(folder, "changed")
            shutil.rmtree(run, ignore_errors=True)
            shutil.copytree(source, run)
            changed = {n: t.clone() for n, t in tensors.items()}
            changed[largest].view(-1)[place] *= 1 + 2.0 ** -power
            data = b"".join(safetensors(changed))
            with open(os.path.join(run, entry["file"]), "wb") as f:
                f.write(data)
            sealed = json.loads(json.dumps(description))
            sealed["steps"][0]["files"]["gradients"]["sha256"] = hashlib.sha256(data).hexdigest()
            with open(os.path.join(run, "run.json"), "w") as f:
                json.dump(sealed, f)
            if clarke.audit(run).gradient["explained"] is not False:
                break
            found.append(power)
        expect(found and found[-1] >= 6, f"{name}: found {found}")
        print(f"{name}: a change of its largest entry by 2^-{found[-1] if found else 0} of it is found")


def found(source, which, tensor, place, power):
    """Is a change of an entry by 2^-power of it found?"""
    run = os.path.join(os.path.dirname(source), "changed")
    shutil.rmtree(run, ignore_errors=True)
    shutil.copytree(source, run)
    with open(os.path.join(run, "run.json")) as f:
        description = json.load(f)
    entry = description["steps"][0]["files"][which]
    tensors = {n: t.clone() for n, t in load_file(os.path.join(run, entry["file"])).items()}
    before = tensors[tensor].view(-1)[place].item()
    tensors[tensor].view(-1)[place] *= 1 + 2.0 ** -power
    if tensors[tensor].view(-1)[place].item() == before:
        return False
    data = b"".join(safetensors(tensors))
    if which != "trace":
        entry["sha256"] = hashlib.sha256(data).hexdigest()
    os.unlink(os.path.join(run, entry["file"]))
    with open(os.path.join(run, entry["file"]), "wb") as f:
        f.write(data)
    with open(os.path.join(run, "run.json"), "w") as f:
        json.dump(description, f)
    return certify(run, "--nodes")["answer"] in ("refuted", "not certified")


def node_threshold(folder):
    """Of each tensor's largest entry the smallest relative change that is found, to a power of 2."""
    for name in ("lenet", "lenet-float64"):
        source, powers = os.path.join(folder, name), []
        with open(os.path.join(source, "run.json")) as f:
            files = json.load(f)["steps"][0]["files"]
        for which in ("trace", "gradients"):
            for tensor, t in load_file(os.path.join(source, files[which]["file"])).items():
                if not t.is_floating_point() or tensor.split("/")[0] in ("before", "after"):
                    continue
                place, low, high = t.abs().flatten().argmax().item(), 0, 54
                while high - low > 1:
                    middle = (low + high) // 2
                    low, high = (middle, high) if found(source, which, tensor, place, middle) else (low, middle)
                powers.append((low, tensor))
        powers.sort()
        expect(powers[0][0] >= 5, f"{name}: {powers[0]}")
        print(f"{name}, node by node: a change by 2^-{powers[len(powers) // 2][0]} is found in the median tensor, by 2^-{powers[0][0]} in "
              f"all ({powers[0][1]})")


def short(folder):
    """The calls in one line."""
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
    model[0].weight.grad = torch.ones(4, 4)
    answer = clarke.audit(model, torch.randn(3, 4), torch.tensor([0, 1, 1]), F.cross_entropy)
    expect(answer.verdict == "in-bouligand" and bool((model[0].weight.grad == 1).all()), "audit(model, x, y, loss)")
    expect(clarke.audit(runs.Lemma2(), torch.ones(1, 1)).verdict == "not-in-clarke", "audit(model, x)")
    test = os.path.join(folder, "test_it.py")
    with open(test, "w") as f:
        f.write("import sys, torch\nsys.path[:0] = %r\nimport runs\n"
                "def test_right(assert_in_clarke): assert_in_clarke(torch.nn.Linear(2, 2), torch.ones(1, 2))\n"
                "def test_wrong(assert_in_clarke): assert_in_clarke(runs.Lemma2(), torch.ones(1, 1))\n" % (sys.path[:2],))
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "clarke.pytest_plugin", test], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path[:2])})
    expect("1 failed, 1 passed" in done.stdout and "not-in-clarke: " in done.stdout and "Touched kinks: the model (2)" in done.stdout,
           f"pytest: {done.stdout[-500:]}{done.stderr[-300:]}")


def several(folder):
    """Three steps of one training, in one folder; another graph, and a number that is taken, are refused."""
    run, model = os.path.join(folder, "several"), lenet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        optimizer.zero_grad()
        with clarke.record(run, model, step=step, append=step > 0, optimizer=optimizer, light=step == 1):
            F.cross_entropy(model(torch.randn(4, 1, 8, 8)), torch.tensor([1, 2, 3, 4])).backward()
        optimizer.step()
    answers = [clarke.audit(run, options=["--step", str(step)]) for step in range(3)]
    expect(all(a.gradient["explained"] is True and a.gradient["step"] == i for i, a in enumerate(answers)), f"several: {answers}")
    expect(len({a.proof for a in answers}) == 3, "several: one proof for two steps")
    for says, step, shape in [("has a step 2 already", 2, (4, 1, 8, 8)), ("is not that of the folder", 3, (5, 1, 8, 8))]:
        optimizer.zero_grad()
        try:
            with clarke.record(run, model, step=step, append=True, optimizer=optimizer):
                F.cross_entropy(model(torch.randn(*shape)), torch.ones(shape[0], dtype=torch.int64)).backward()
            expect(False, f"not refused: {says}")
        except clarke.Refused as why:
            expect(says in str(why), f"{says}: {why}")


def derivations(_):
    """Functions of tensors as programs: value and AD's output are PyTorch's, which these floats hold or nearly so."""
    one = torch.tensor([[1.0, -1.0], [2.0, 1.0]])
    for verdict, f, at in [
            ("not-in-clarke", lambda t: torch.relu(-t) + t - torch.relu(t), torch.tensor(0.0)),
            ("in-clarke", lambda x: x.abs().max() + (x ** 2).sum(), torch.tensor([1.0, -1.0])),
            ("in-clarke", lambda a, b: 2 * torch.maximum(a, b).sum(), (torch.tensor([1.0, 2.0]), torch.tensor([1.0, 3.0]))),
            ("in-bouligand", lambda x: F.relu(F.linear(x, one, torch.tensor([0.0, 0.5]))).sum(), torch.tensor([[1.0, 1.0]])),
            ("in-bouligand", lambda x: F.relu(F.linear(x, one)).mean(), torch.tensor([[1.0, 1.0]])),
            ("in-clarke", lambda x: torch.clamp(x, -1, 1).mean() + F.hardtanh(x).sum() / 3, torch.tensor([1.0], dtype=torch.float64)),
            ("in-clarke", lambda x: x.norm() + F.relu(x).sum(), torch.zeros(2)),
            ("in-clarke", lambda x: torch.linalg.vector_norm(x - 1, dim=1).sum() + torch.norm(x - 1, dim=1, keepdim=True).mean(),
             torch.tensor([[1.0, 1.0], [4.0, 5.0]])),
            ("in-bouligand", lambda x: torch.linalg.norm(x) ** 2 + torch.norm(x, p=2) * x[0], torch.zeros(3)),
            ("in-bouligand", lambda x: F.leaky_relu(x).exp().sum() + torch.tanh(x).amin(), torch.tensor([1.0, 0.5])),
            ("in-bouligand", lambda x: torch.cat([x.view(2, 2).t()[0], x[1:3]]).sum() * torch.tensor(3.0), torch.arange(4.0)),
            ("in-bouligand", lambda x: F.elu(x).sum() - (1 - x).relu().sum() + x.permute(1, 0).unsqueeze(0).sum(1).mean(), one)]:
        found = clarke.derive(f, at)
        leaves = [t.clone().requires_grad_() for t in ([at] if isinstance(at, torch.Tensor) else at)]
        value = f(*leaves)
        gradient = torch.cat([g.reshape(-1) for g in torch.autograd.grad(value, leaves)]).to(torch.float64)
        exact = torch.tensor([float(Fraction(v)) for v in found["ad"]], dtype=torch.float64)
        expect(found["verdict"] == verdict, f"{found['verdict']}, not {verdict}: {found['program']}")
        expect(abs(float(Fraction(found["value"])) - value.item()) < 1e-6 and bool((exact - gradient).abs().max() < 1e-6),
               f"{found['value']} {found['ad']}, {value.item()} {gradient.tolist()}: {found['program']}")
    for says, f in [("aten.lgamma.default: this operator is not in the language", lambda x: x.lgamma().sum()),
                    ("no tensor of one number", lambda x: x), ("ord 1, 2 or infinity", lambda x: torch.linalg.vector_norm(x, ord=float("-inf"))),
                    ("a Function of its own", lambda x: Wrong.apply(x).sum())]:
        try:
            clarke.derive(f, torch.ones(2, 2))
            expect(False, f"not refused: {says}")
        except clarke.Refused as why:
            expect(says in str(why), f"{says}: {why}")


def actions_of(text):
    """A tree's text, as arithmetic.follow takes it."""
    made, begun = [], [False]  # of each bracket that is open: is a sum begun?
    for token in re.findall(r"\[|\]|[^\s\[\]]+", text):
        if token == "[":
            begun.append(False)
            continue
        if token == "]":
            begun.pop()
            made += [("add", None)] if begun[-1] else []
        else:
            first, last, by, star = re.fullmatch(r"(\d+)(?:-(\d+)(?:/(\d+))?)?(\*?)", token).groups()
            for k in range(int(first), int(last or first) + 1, int(by or 1)):
                made += [("fuse", k)] if star and begun[-1] else [("push", k), ("add", None)] if begun[-1] else [("push", k)]
                begun[-1] = True
        begun[-1] = True
    return made


def asked_of(kernel):
    """What is found of it, which whatever the kernel must give every bit of sums that it was not found by."""
    found = kernels.find(kernel)
    for number, (text, form) in enumerate(zip(found.texts, found.forms)):
        for seed in (1001, 1002):
            gives = kernels.given(kernel, actions_of(text), form, seed)
            expect(bool(gives[found.which == number].all()), f"{kernel.op} {kernel.shape}, {kernel.leaves} leaves: {text} {form}")
    return found


def products(_):
    """PyTorch's own products, by the trees that it is asked for."""
    aten, found, why = torch.ops.aten, [], {}
    for kind in (torch.float32, torch.float64):
        for rows, columns, inner in itertools.product((1, 16, 100), (1, 10, 64), (1, 17, 300)):
            for transposed, bias in ((True, True), (False, False)):
                b = torch.zeros(columns, inner, dtype=kind).t() if transposed else torch.zeros(inner, columns, dtype=kind)
                tensors = ([torch.zeros(columns, dtype=kind)] if bias else []) + [torch.zeros(rows, inner, dtype=kind), b]
                kernel = kernels.Product((aten.addmm if bias else aten.mm).default, [kernels.Layout.of(t) for t in tensors])
                asked = asked_of(kernel)
                found.append(not asked.why and sum(len(kernels.rectangles(asked.which, i)) for i in range(len(asked.texts))) <= 16)
                if asked.why:
                    why.setdefault(asked.why.split(": ")[-1], []).append((rows, columns, inner, transposed))
    print(f"orders: {sum(found)} of {len(found)} products have trees that give drawn sums bit for bit; of the others {why or 'all have, in too many parts'}")
    where_measured(sum(found) > 0.9 * len(found), "most products")


def three_layers(folder):
    """A step of these, in two types."""
    for kind in (torch.float32, torch.float64):
        model = nn.Sequential(nn.Linear(50, 40), nn.ReLU(), nn.Linear(40, 30), nn.Tanh(), nn.Linear(30, 10)).to(kind)
        run = os.path.join(folder, f"orders-{kind}")
        with clarke.record(run, model, trees=True):
            F.cross_entropy(model(torch.randn(32, 50, dtype=kind)), torch.arange(32) % 10).backward()
        nodes = certify(run, "--nodes")["nodes"]
        with_trees = [n for n in nodes if n["tree"] is not None]
        expect(all(n["tree"]["explains"] for n in with_trees), f"{kind}: {with_trees}")
        where_measured(len(with_trees) >= 10, f"{kind}: {with_trees}")
    for options in ({"light": True}, {"background": True}):
        try:
            clarke.record(run, model, trees=True, **options)
            expect(False, f"trees with {options}")
        except ValueError:
            pass


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.last = nn.Linear(6, 9), nn.Linear(6, 9), nn.Linear(6, 9), nn.Linear(9, 3)

    def forward(self, x):
        y = torch.bmm(torch.softmax(torch.bmm(self.q(x), self.k(x).transpose(1, 2)), 2), self.v(x))
        return self.last(y.mean(1) + y.sum((0, 1)) / 64)


def batched_and_reduced(folder):
    """Products of two activations, sums and means over axes; a step of both, in two types."""
    aten, asked = torch.ops.aten, []
    for kind, batches, rows, columns, transposed in itertools.product((torch.float32, torch.float64), (1, 8), (1, 16), (6, 40), (True, False)):
        b = torch.zeros(batches, columns, 17, dtype=kind).transpose(1, 2) if transposed else torch.zeros(batches, 17, columns, dtype=kind)
        asked.append(kernels.Batches(aten.bmm.default, [kernels.Layout.of(t) for t in (torch.zeros(batches, rows, 17, dtype=kind), b)]))
    for kind, shape in itertools.product((torch.float32, torch.float64), ((33,), (5, 17), (3, 8, 17), (2, 3, 8, 9))):
        for axes in (list(a) for n in range(1, len(shape) + 1) for a in itertools.combinations(range(len(shape)), n)):
            asked += [kernels.Reduction(op, kernels.Layout.of(torch.zeros(shape, dtype=kind)), axes, [axes], op is aten.mean.dim)
                      for op in (aten.sum.dim_IntList, aten.mean.dim)]
    found = [asked_of(kernel) for kernel in asked]
    print(f"orders: {sum(not f.why for f in found)} of {len(found)} products of activations, sums and means have trees; {({f.why for f in found} - {''}) or ''}")
    where_measured(sum(not f.why for f in found) > 0.9 * len(found), "most sums over axes")
    for kind in (torch.float32, torch.float64):
        model, run = Attention().to(kind), os.path.join(folder, f"attention-{kind}")
        with clarke.record(run, model, trees=True):
            model(torch.randn(4, 7, 6, dtype=kind)).square().sum().backward()
        nodes = certify(run, "--nodes")["nodes"]
        with_trees = [n for n in nodes if n["tree"] is not None]
        expect(all(n["tree"]["explains"] for n in with_trees), f"{kind}: {with_trees}")
        where_measured(len(with_trees) >= 12, f"{kind}: {with_trees}")


class Factors(nn.Module):
    """Products with factors, in matrices and vectors, of activations and parameters; dot products, and entries that are multiplied."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.q, self.k = nn.Linear(5, 7), nn.Linear(5, 9), nn.Linear(5, 7), nn.Linear(5, 7)
        shapes = {"w": (17, 7), "c": (17,), "d": (7, 9), "e": (9,), "f": (4,), "g": (7,)}
        for name, shape in shapes.items():
            setattr(self, name, nn.Parameter(torch.randn(shape)))

    def forward(self, x):
        u, v = self.a(x[0]), self.b(x[0])
        y = torch.addmv(self.c, self.w, u.tanh(), alpha=0.3, beta=0.7)
        z = torch.addmv(v.tanh(), self.d.t(), u.sigmoid(), alpha=0.3, beta=-0.7)
        vectors = torch.dot(z, torch.addmv(self.e, self.d.t(), u.exp())) + torch.vdot(y[:9], v.sigmoid()) + torch.inner(u, u.relu())
        scores = torch.baddbmm(self.f, self.q(x)[None], self.k(x).t()[None] * self.f, alpha=0.3, beta=0.7)[0]
        whole = torch.addmm(self.g, scores, torch.outer(torch.tanh(self.f), self.g), alpha=-1.5, beta=0.7)
        return vectors + torch.addmm(whole, whole.tanh(), self.d[:, :7], alpha=0.3, beta=0.1).square().sum()


def with_factors(folder):
    """Products by alpha, to which something by beta is added: where alpha is multiplied in is asked, too. A step of such, in two types."""
    aten, asked, forms = torch.ops.aten, [], {}
    for kind, (alpha, beta), transposed in itertools.product((torch.float32, torch.float64), ((0.3, 0.7), (-1.5, 1), (1, 0.1)), (True, False)):
        def zeros(*shape):
            return torch.zeros(*shape[:-2], shape[-1], shape[-2], dtype=kind).transpose(-1, -2) if transposed else torch.zeros(shape, dtype=kind)
        for rows, inner, columns in ((4, 7, 5), (16, 17, 10), (3, 100, 1)):
            c = torch.zeros(rows, dtype=kind)
            asked += [(op, kernel(op, [kernels.Layout.of(t) for t in tensors], alpha, beta)) for op, kernel, tensors in (
                (aten.addmm.default, kernels.Product, [c[:1], zeros(rows, inner), zeros(inner, columns)]),
                (aten.addmv.default, kernels.Vector, [c, zeros(rows, inner), c.new_zeros(inner)]),
                (aten.baddbmm.default, kernels.AddedBatches, [c[:, None], zeros(2, rows, inner), zeros(2, inner, columns)]))]
            if alpha == 1 and transposed:
                asked.append((aten.dot.default, kernels.Dot(aten.dot.default, [kernels.Layout.of(c.new_zeros(inner))] * 2)))
    found = [(op, kernel, asked_of(kernel)) for op, kernel in asked]
    for op, kernel, f in found:
        for form in f.forms:
            forms.setdefault((op.__name__, form), []).append(kernel)
        expect(all((form == "") == (kernel.alpha == 1) for form in f.forms), f"{op}: forms {f.forms}")
    print(f"orders: {sum(not f.why for *_, f in found)} of {len(found)} products with factors, and dot products, have trees; of the others "
          f"{({f.why.split(': ')[-1] for *_, f in found} - {''}) or 'none'}; forms: { {' '.join(k): len(v) for k, v in sorted(forms.items())} }")
    where_measured(sum(not f.why for *_, f in found) > 0.9 * len(found), "most products with factors")
    for kind in (torch.float32, torch.float64):
        model, run = Factors().to(kind), os.path.join(folder, f"factors-{kind}")
        with clarke.record(run, model, trees=True):
            model(torch.randn(4, 5, dtype=kind)).backward()
        nodes = certify(run, "--nodes")["nodes"]
        with_trees = {(n["part"], n["operator"], n["name"]) for n in nodes if n["tree"] is not None}
        expect(all(n["tree"]["explains"] for n in nodes if n["tree"] is not None),
               f"factors: {kind}: {[n for n in nodes if n['tree'] and not n['tree']['explains']]}")
        where_measured(len(with_trees) > 24, f"factors: {kind}: {with_trees}")


def added_by(form, rounds):
    """addmm by hand, in the way of a form: a chain of fused multiplications and additions, then what is added, times beta, rounded or not."""
    libm = ctypes.CDLL("libm.so.6")
    for fma, kind in ((libm.fmaf, ctypes.c_float), (libm.fma, ctypes.c_double)):
        fma.argtypes, fma.restype = [kind] * 3, kind

    def run(bias, a, b, alpha=1.0, beta=1.0):
        type_, fma = (numpy.float32, libm.fmaf) if a.dtype == torch.float32 else (numpy.float64, libm.fma)
        a, b, bias = a.numpy(), b.numpy(), bias.expand(a.shape[0], b.shape[1]).numpy()
        alpha, beta, made = type_(alpha), type_(beta), numpy.zeros(bias.shape, type_)
        first, second = alpha * a if form == "first" else a, alpha * b if form == "second" else b
        for i, j in numpy.ndindex(made.shape):
            s = first[i, 0] * second[0, j]
            for k in range(1, a.shape[1]):
                s = type_(fma(first[i, k], second[k, j], s))
            if form == "fused":
                made[i, j] = fma(alpha, s, beta * bias[i, j])
                continue
            s = alpha * s if form == "sum" else s
            made[i, j] = s + beta * bias[i, j] if rounds else fma(beta, bias[i, j], s)
        return torch.from_numpy(made)
    return run


def made_forms(_):
    """Each form is found, whatever the libraries have; with another one the tree explains nothing."""
    ways = [(form, rounds) for form in kernels.FORMS for rounds in (True, False) if rounds or form != "fused"]
    for kind, (form, rounds), alpha in itertools.product((torch.float32, torch.float64), ways, (0.3, 1)):
        layouts = [kernels.Layout.of(torch.zeros(shape, dtype=kind)) for shape in ((5,), (4, 7), (7, 5))]
        kernel = kernels.Product(added_by(form, rounds), layouts, alpha, 0.7)
        found, where = asked_of(kernel), f"{kind} {form} {rounds} {alpha}"
        expect(found.texts == ["[0 1-6* 7]" if rounds or (form, alpha) == ("fused", 1) else "[0 1-7*]"], f"{where}: {found.texts} {found.why}")
        expect(found.forms == [form if alpha != 1 else ""], f"{where}: {found.forms}")
        tree, fused = kernels.tree_at(kernel, 0, 0, [0])
        others = [(other, len(fusion) == 7) for other in kernels.FORMS for fusion in kernels.fusions(kernel, tree, fused)
                  if alpha != 1 and kernels.explained(kernel, tree, fusion, (0, 0), other)[0, 0]]
        alike = [("sum", True), ("fused", True)] if not rounds and form == "sum" else [(form, not rounds)]
        expect(others == (alike if alpha != 1 else []), f"{where}: {others}")


class Several(nn.Module):
    """Residuals, a layer that is used three times, a branch that is subtracted, and pictures of both."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c, self.conv = nn.Linear(5, 6), nn.Linear(6, 6), nn.Linear(6, 6), nn.Conv2d(1, 1, 3, padding=1)

    def forward(self, x):
        h = self.a(x).tanh()
        h = h + self.b(h.relu())
        h = h - self.c(h) * self.b(h)
        image = h.reshape(2, 1, 4, 6)
        image = (image + self.conv(image)).relu()
        image = image + self.conv(image) + image[:, :, :1]
        return self.b(image.reshape(8, 6)) + h


def added_up(folder):
    """Gradients in what several nodes read. Another order of three parts is another sum."""
    for kind in (torch.float32, torch.float64):
        model, run = Several().to(kind), os.path.join(folder, f"several-{kind}")
        with clarke.record(run, model, trees=True):
            model(torch.randn(8, 5, dtype=kind)).square().sum().backward()
        nodes = certify(run, "--nodes")["nodes"]
        with_trees = {(n["part"], n["name"]): n for n in nodes if n["tree"] is not None}
        expect(all(n["tree"]["explains"] for n in with_trees.values()), f"several: {[n for n in with_trees.values() if not n['tree']['explains']]}")
        of_trees = os.path.join(run, "step-000000.trees.json")
        with open(of_trees) as f:
            before = f.read()
        found = {(s["part"], s["name"]): s for s in json.loads(before)["sums"]}
        wanted = {("parameter", "b.weight"), ("parameter", "b.bias"), ("gradient", "add"), ("gradient", "relu_2")}
        where_measured(wanted <= set(found), f"several: {wanted - set(found)}: {json.loads(before)['unknown']}")
        tree = found["parameter", "b.weight"]["trees"][0]["tree"]  # of three rearrangements
        pair, last = tree[2:-1].split("] ")
        for other, explains in ((f"[[{' '.join(pair.split()[::-1])}] {last}]", True), (f"[[{pair.split()[0]} {last}] {pair.split()[1]}]", False)):
            changed = before.replace(f'"{tree}"', f'"{other}"')
            expect(changed != before, "several: another order")
            with open(of_trees, "w") as f:
                f.write(changed)
            with open(os.path.join(run, "run.json")) as f:
                text = f.read()
            description = json.loads(text)
            description["steps"][0]["files"]["trees"]["sha256"] = hashlib.sha256(changed.encode()).hexdigest()
            with open(os.path.join(run, "run.json"), "w") as f:
                json.dump(description, f)
            node = next(n for n in certify(run, "--nodes")["nodes"] if (n["part"], n["name"]) == ("parameter", "b.weight"))
            expect(node["tree"]["explains"] == explains, f"several: {other}: {node}")
    print(f"orders: of a step with residuals and shared layers {len(with_trees)} tensors have trees; unknown: {json.loads(before)['unknown']}")


def losses(folder):
    """Sums and means of squares, and of likelihoods, in a single run: what the operator adds up follows from what was recorded."""
    x, y, labels = torch.randn(37, 5), torch.randn(37, 4), torch.randint(0, 4, (37,))
    some = torch.where(torch.arange(37) % 5 == 0, -100, labels)
    explained = 0
    for kind, (name, loss, wanted) in itertools.product((torch.float32, torch.float64), (
            ("mean of squares", lambda z: F.mse_loss(z, y.to(z.dtype)), "mse_loss_3"),
            ("sum of squares", lambda z: F.mse_loss(z, y.to(z.dtype), reduction="sum"), "mse_loss_3"),
            ("mean", lambda z: F.cross_entropy(z, labels), "nll_loss_forward_3"), ("some", lambda z: F.cross_entropy(z, some), "nll_loss_forward_3"),
            ("sum", lambda z: F.cross_entropy(z, labels, reduction="sum"), "nll_loss_forward_2"))):
        model, run = nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 4)).to(kind), os.path.join(folder, f"loss-{kind}-{name}")
        with clarke.record(run, model, trees=True):
            (loss(model(x.to(kind))) + model[0].weight.square().sum()).backward()
        node = next(n for n in certify(run, "--nodes")["nodes"] if (n["part"], n["name"]) == ("output", wanted))
        expect(node["tree"] is None or node["tree"]["explains"], f"losses: {kind} {name}: {node}")
        where_measured(node["tree"] is not None, f"losses: {kind} {name}: {node}")
        explained += node["answer"] == "bit-exact (tree)"
    print(f"orders: {explained} of 10 losses are no exact results rounded; their trees explain all")
    where_measured(explained > 0, "losses: some need their trees")


def convolved(folder):
    """Convolutions, and their three gradients."""
    shapes = [  # samples, planes, side, outputs, kernel, border, stride, groups
        (3, 1, 7, 6, 5, 2, 1, 1), (3, 6, 8, 16, 5, 0, 1, 1), (3, 16, 6, 16, 3, 1, 1, 1), (3, 16, 6, 16, 3, 1, 1, 2),
        (3, 8, 6, 8, 3, 1, 1, 8), (3, 16, 5, 8, 1, 0, 1, 1), (3, 4, 9, 8, 3, 1, 2, 1)]
    found, why, aten = [], {}, torch.ops.aten
    for kind, shape in [(torch.float32, s) for s in shapes] + [(torch.float64, s) for s in shapes[1:4]]:
        n, planes, side, outs, kernel, border, stride, groups = shape
        x, w = torch.zeros(n, planes, side, side, dtype=kind), torch.zeros(outs, planes // groups, kernel, kernel, dtype=kind)
        rest = [[stride] * 2, [border] * 2, [1, 1], False, [0, 0], groups]
        y = aten.convolution.default(x, w, w[:, 0, 0, 0], *rest)
        forward = trees.held(aten.convolution.default, [x, w, w[:, 0, 0, 0].contiguous(), *rest], y, None)
        back = trees.held(aten.convolution_backward.default, [y, x, w, [outs], *rest, [True] * 3], y, None)
        for by in [forward, *(dataclasses.replace(back, part=part) for part in range(3))]:
            asked = asked_of(trees.kernel(by, {}))
            found.append(not asked.why)
            if asked.why:
                why.setdefault(asked.why.split(": ")[-1], []).append((by.op.__name__, by.part, str(kind), shape))
    print(f"orders: {sum(found)} of {len(found)} convolutions and gradients of such have trees; of the others {why}")
    where_measured(sum(found) > 0.7 * len(found), "most convolutions")
    model = nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 8, 3), nn.ReLU(), nn.Flatten(),
                          nn.Linear(200, 10))
    run = os.path.join(folder, "convolved")
    with clarke.record(run, model, trees=True):
        F.cross_entropy(model(torch.randn(4, 1, 14, 14)), torch.arange(4)).backward()
    nodes = certify(run, "--nodes")["nodes"]
    expect(all(n["tree"]["explains"] for n in nodes if n["tree"] is not None), f"convolved: {nodes}")
    left = {(n["part"], n["name"]) for n in nodes if not n["answer"].startswith("bit-exact")}
    left -= {("output", "_log_softmax"), ("gradient", "_log_softmax"), ("gradient", "6/addmm")}
    where_measured(not left, f"convolved: {left}")


def turned(folder):
    """Transposed convolutions: a step between outputs, or none, kernels that are smaller and larger than it, groups."""
    shapes = [dict(kernel_size=3), dict(kernel_size=3, padding=1, groups=2), dict(kernel_size=2, stride=2), dict(kernel_size=2, stride=3, bias=False),
              dict(kernel_size=4, stride=2, padding=1), dict(kernel_size=3, stride=2, padding=1, output_padding=1), dict(kernel_size=(1, 3), stride=(2, 1))]
    unknown = []
    for k, shape in enumerate(shapes):
        model, run = nn.Sequential(nn.Conv2d(2, 4, 1), nn.ReLU(), nn.ConvTranspose2d(4, 2, **shape), nn.ReLU()), os.path.join(folder, f"turned-{k}")
        with clarke.record(run, model, trees=True):
            model(torch.randn(3, 2, 6, 5)).square().sum().backward()
        trees_of = {(n["part"], n["name"]): n["tree"] for n in certify(run, "--nodes")["nodes"]}
        expect(all(t is None or t["explains"] for t in trees_of.values()), f"turned: {shape}: {trees_of}")
        unknown += [(part, shape) for part in (("output", "2/convolution"), ("gradient", "1/relu"), ("parameter", "2.weight")) if trees_of[part] is None]
    print(f"orders: {3 * len(shapes) - len(unknown)} of {3 * len(shapes)} transposed convolutions and gradients of such have trees; not {unknown}")
    where_measured(len(unknown) < 5, "turned: most")
    # of an image so small that some taps meet nothing there is none
    by = trees.held(torch.ops.aten.convolution.default, [torch.zeros(1, 1, 1, 1), torch.zeros(1, 1, 3, 3), None, [2, 2], [1, 1], [1, 1], True, [0, 0], 1],
                    torch.zeros(1, 1, 1, 1), None)
    asked = kernels.find(trees.kernel(by, {}))
    expect(asked.why.endswith("products are none of any whole sum"), f"turned: {asked.why}")


PARTS = (special, networks, sequences, images, refusals, wrong_derivative, threshold, node_threshold, short, several, derivations, products, convolved,
         batched_and_reduced, turned, made_forms, with_factors, losses, added_up, three_layers)


def main():
    wanted = sys.argv[3:] or [part.__name__ for part in PARTS]
    with tempfile.TemporaryDirectory() as folder:
        for part in (part for part in PARTS if part.__name__ in wanted):
            torch.manual_seed(0)
            part(folder)
    for kind, all_ in ratios.items():
        all_.sort()
        print(f"{kind}: {len(all_)} steps, error / bound at most {all_[-1]:.2g}, median {all_[len(all_) // 2]:.2g}")
    for kind, all_ in certified.items():
        all_.sort()
        print(f"{kind}: {len(all_)} tensors, node by node: error / bound at most {all_[-1]:.2g}, median {all_[len(all_) // 2]:.2g}")
    print(f"{len(proved)} proofs about nodes verified, of {sum(proved)} tensors")
    expect(set(wanted) <= {part.__name__ for part in PARTS}, f"parts: {wanted}")
    finish()


if __name__ == "__main__":
    main()
