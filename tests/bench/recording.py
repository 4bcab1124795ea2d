#!/usr/bin/env python3
"""What a recorded step costs: to record it, and each command that asks about it, as multiples of the step itself.

    recording.py BUILD_DIR [--only NAME...] [--rounds N] [--most SECONDS] [--no-check] [--ways] [--before CLARKE] [--whole-alone]

prints a table. Time is the processor's, of one thread; of each row the smallest of some runs, the step's own between them. Commands read their
files and start: that is part of it. A command that takes more than --most seconds of the processor is ended, and the table says `> ...`.
`record` is a step put behind others in one folder. Being the smallest of some, it is of one that is not run again itself, as earlier ones of its program were;
its operators are not replayed. --ways prints what recording alone costs in other ways: run again at moved parameters, as the first of its program
is; not run again; and in the background (then of the training's own thread).
--before has each command of another version beside it, in turns, over the same record. --whole-alone leaves light records out.
Checks are of the proofs that `certify` and `audit` write, as multiples of the step, too.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

for told in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):  # a machine's owner may have set kernels for the BLAS; it chooses better itself
    os.environ.pop(told, None)
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "tools" / "python"))
import clarke  # noqa: E402
from clarke.recording.fingerprint import PROGRAMS  # noqa: E402
from clarke.recording.recorder import settle  # noqa: E402
from clarke.recording.repeated import LAST  # noqa: E402

WAYS = [("all, the first of its program", {}, time.process_time), ("light, the first of its program", {"light": True}, time.process_time),
        ("all, not run again", {"again": False}, time.process_time), ("light, not run again", {"light": True, "again": False}, time.process_time),
        ("all, in the background", {"background": True}, time.thread_time),
        ("light, in the background", {"light": True, "background": True}, time.thread_time)]
COMMANDS = [("audit", "all", ["audit"]), ("audit, light", "light", ["audit"]), ("certify", "all", ["certify"]),
            ("certify --nodes", "all", ["certify", "--nodes"])]


CHECKED = [["certify"], ["audit"]]


def asked(options):
    return [command for command in COMMANDS if command[1] == "all" or not options.whole_alone]


# --- networks

def lenet():
    return nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))


def mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10))


def vgg11():
    layers, width = [], 3
    for out, pool in [(64, True), (128, True), (256, False), (256, True), (512, False), (512, True), (512, False), (512, True)]:
        layers += [nn.Conv2d(width, out, 3, padding=1), nn.ReLU(inplace=True)] + [nn.MaxPool2d(2)] * pool
        width = out
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(512, 10))


class Sum(nn.Module):
    """A branch and what it is added to."""

    def __init__(self, branch, other=None, after=None):
        super().__init__()
        self.branch, self.other, self.after = branch, other or nn.Identity(), after or nn.Identity()

    def forward(self, x):
        return self.after(self.branch(x) + self.other(x))


def conv(i, o, k=3, stride=1, groups=1, act=None):
    layers = [nn.Conv2d(i, o, k, stride, k // 2, groups=groups, bias=False), nn.BatchNorm2d(o)]
    return nn.Sequential(*layers, act()) if act else nn.Sequential(*layers)


def basic(i, o, stride):
    other = conv(i, o, 1, stride) if stride > 1 or i != o else None
    return Sum(nn.Sequential(conv(i, o, 3, stride, act=nn.ReLU), conv(o, o)), other, nn.ReLU())


def resnet(widths, blocks):
    layers, width = [conv(3, widths[0], act=nn.ReLU)], widths[0]
    for stage, out in enumerate(widths):
        for k in range(blocks):
            layers.append(basic(width, out, 2 if stage > 0 and k == 0 else 1))
            width = out
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10))


def inverted(i, o, stride, expand):
    inner = i * expand
    layers = [conv(i, inner, 1, act=nn.ReLU6)] if expand > 1 else []
    branch = nn.Sequential(*layers, conv(inner, inner, 3, stride, inner, nn.ReLU6), conv(inner, o, 1))
    return Sum(branch) if stride == 1 and i == o else branch


def mobilenet2():
    """For pictures of 32 x 32."""
    layers, width = [conv(3, 32, act=nn.ReLU6)], 32
    for expand, out, number, stride in [(1, 16, 1, 1), (6, 24, 2, 1), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]:
        for k in range(number):
            layers.append(inverted(width, out, stride if k == 0 else 1, expand))
            width = out
    return nn.Sequential(*layers, conv(width, 1280, 1, act=nn.ReLU6), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, 10))


class Heads(nn.Module):
    """Attention, each token to those before it."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.all, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        n, t, width = x.shape
        q, k, v = (part.view(n, t, self.heads, -1).transpose(1, 2) for part in self.all(x).split(width, dim=2))
        scores = q @ k.transpose(2, 3) / (width // self.heads) ** 0.5
        later = torch.ones(t, t, dtype=torch.bool).triu(1)
        return self.out((scores.masked_fill(later, -1e9).softmax(dim=-1) @ v).transpose(1, 2).reshape(n, t, width))


class Tokens(nn.Module):
    """A GPT-2's block between embeddings and a head."""

    def __init__(self, words, width, heads, length):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Parameter(0.02 * torch.randn(length, width))
        self.attend = Sum(nn.Sequential(nn.LayerNorm(width), Heads(width, heads)))
        self.mix = Sum(nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width)))
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, words, bias=False))

    def forward(self, t):
        return self.head(self.mix(self.attend(self.words(t) + self.places)))


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.attend, self.head = Sum(Heads(width, 4), None, nn.LayerNorm(width)), nn.Linear(width, 10)

    def forward(self, x):
        return self.head(self.attend(x).mean(dim=1))


def pictures(make, *shape, classes=10):
    return lambda: (make(), torch.randn(*shape), torch.randint(0, classes, shape[:1]), F.cross_entropy)


def words(out, y):
    return F.cross_entropy(out.flatten(0, 1), y.flatten())


def gpt2():
    t = torch.randint(0, 100, (8, 33))
    return Tokens(100, 128, 4, 32), t[:, :-1], t[:, 1:], words


NETWORKS = {
    "LeNet, 64": pictures(lenet, 64, 1, 28, 28), "LeNet, 512": pictures(lenet, 512, 1, 28, 28), "MLP 784, 64": pictures(mlp, 64, 1, 28, 28),
    "ResNet with BatchNorm, 4": pictures(lambda: resnet([8, 16], 1), 4, 3, 16, 16), "attention, 8": pictures(lambda: Attention(32), 8, 16, 32),
    "VGG11, 32": pictures(vgg11, 32, 3, 32, 32), "ResNet18, 32": pictures(lambda: resnet([64, 128, 256, 512], 2), 32, 3, 32, 32),
    "MobileNetV2, 32": pictures(mobilenet2, 32, 3, 32, 32), "GPT-2 block, 8 x 32": gpt2,
}


# --- times

def smallest(step, clock, rounds):
    times = []
    for i in range(rounds + 1):
        begin = clock()
        step(i)
        times.append(clock() - begin)
        settle()
    return min(times[1:])


def used(command, most):
    """Seconds of the processor; None: it took more than --most."""
    script = HERE / "used.py"
    run = subprocess.run([sys.executable, "-S", script, "--seconds", str(most), *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
    found = json.loads(run.stdout)
    if found["status"] == 2:
        raise SystemExit(f"{' '.join(map(str, command))}: {run.stderr.decode()}")
    return found["seconds"] if found["status"] >= 0 else None


class Row:
    def __init__(self, name, options):
        torch.manual_seed(0)
        self.name, self.options = name, options
        self.model, self.x, self.y, self.loss = NETWORKS[name]()

    def step(self, _=0):
        self.model.zero_grad()
        self.loss(self.model(self.x), self.y).backward()

    def recorded(self, folder, clock=time.process_time, first=False, **how):
        """first: as if no step of the model was recorded before."""
        def one(i):
            self.model.zero_grad()
            if first:
                PROGRAMS.pop(self.model, None)
                LAST.pop(self.model, None)
            with clarke.record(folder, self.model, step=i, append=i > 0, **how):
                self.loss(self.model(self.x), self.y).backward()

        return smallest(one, clock, self.options.rounds)

    def cell(self, seconds):
        """What others run on the machine has another step beside it."""
        own = self.unit
        return f"{seconds / own:.3g}" if seconds is not None else f"> {self.options.most / own:.3g}"

    def command(self, *commands):
        """The smallest time of each, in turns."""
        times = [[used(words, self.options.most) for words in commands] for _ in range(max(1, self.options.rounds // 4))]
        return [None if None in seconds else min(seconds) for seconds in zip(*times)]

    def check(self, folder, tool, words):
        """Writes the proof of one command, and checks it."""
        proof = str(folder) + ".proof"
        used([tool, *words, folder, "--proof", proof], self.options.most)
        if not os.path.exists(proof):
            return "-"
        return self.cell(*self.command([self.options.build / "tools/clarke-check", proof, "--data", folder]))

    def measure(self):
        tool = self.options.build / "tools/clarke"
        with tempfile.TemporaryDirectory() as folder:
            run = {"all": os.path.join(folder, "all"), "light": os.path.join(folder, "light")}
            self.unit = smallest(self.step, time.process_time, 3 * self.options.rounds)
            cells = [f"{1e3 * self.unit:.3g} ms", self.cell(self.recorded(run["all"])), self.cell(self.recorded(run["light"], light=True))]
            for _, of, words in asked(self.options):
                cells += map(self.cell, self.command(*([program, *words, run[of]] for program in [*self.options.before, tool])))
            if self.options.check:
                cells += [self.check(run["all"], tool, words) for words in CHECKED]
            if self.options.ways:
                cells += [self.cell(self.recorded(os.path.join(folder, way), clock, way.endswith("first of its program"), **how)) for way, how, clock in WAYS]
        return cells


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=lambda name: Path(name).resolve())
    parser.add_argument("--only", nargs="+", default=list(NETWORKS), choices=list(NETWORKS))
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--most", type=int, default=120)
    parser.add_argument("--no-check", dest="check", action="store_false")
    parser.add_argument("--ways", action="store_true")
    parser.add_argument("--before", type=lambda name: [Path(name).resolve()], default=[])
    parser.add_argument("--whole-alone", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    names = ["step", "record", "record, light"]
    for name, _, _ in asked(options):
        names += [f"{name}, before"] * len(options.before) + [name]
    names += [f"check, {words[0]}" for words in CHECKED] * options.check
    names += [way for way, _, _ in WAYS] * options.ways
    print("| network, samples | " + " | ".join(names) + " |\n|" + "---|" * (len(names) + 1))
    for name in options.only:
        print(f"| {name} | " + " | ".join(Row(name, options).measure()) + " |", flush=True)


if __name__ == "__main__":
    main()
