#!/usr/bin/env python3
"""CTC losses that are recorded, and derived: their gradients are those of the sum over all alignments, which are listed here one by one.

    alignments.py CLARKE CLARKE-CHECK [--number N]

Drawn: letters, blank, how many frames and letters each sample has, reductions, types. By hand: the kinks before a loss, labels without an
alignment, logarithms that are of no softmax, and long ones in float32.
"""
import argparse
import itertools
import math
import os
import random
import subprocess
import sys
import tempfile

import torch
from torch import nn
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "python"))
from report import Report  # noqa: E402

asked = argparse.ArgumentParser()
asked.add_argument("clarke")
asked.add_argument("check")
asked.add_argument("--number", type=int, default=40)
OPTIONS = asked.parse_args()
os.environ["CLARKE"], CHECK = os.path.abspath(OPTIONS.clarke), os.path.abspath(OPTIONS.check)
import clarke  # noqa: E402

REPORT = Report()


class Net(nn.Module):
    """Frames x samples x letters."""

    def __init__(self, letters, softmax=True):
        super().__init__()
        self.first, self.last, self.softmax = nn.Linear(6, 8), nn.Linear(8, letters), softmax

    def forward(self, x):
        h = self.last(self.first(x).relu())
        return h.log_softmax(-1) if self.softmax else h


class At(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.w = nn.Parameter(torch.tensor(w))

    def forward(self, x):
        return x * self.w


def by_listing(logs, label, blank):
    """Minus the logarithm of the probability of all alignments of one sample."""
    found = []
    for path in itertools.product(range(logs.shape[1]), repeat=len(logs)):
        if [c for c, _ in itertools.groupby(path) if c != blank] == label:
            found.append(sum(logs[t, c] for t, c in enumerate(path)))
    return -torch.logsumexp(torch.stack(found), 0)


def audited(folder, model, x, loss_of):
    """(the answer, what clarke-check says of its proof, the loss)"""
    run = os.path.join(folder, "run")
    model.zero_grad()
    with clarke.record(run, model):
        loss = loss_of(model(x))
        loss.backward()
    answer = clarke.audit(run)
    if answer.proof is None:
        return answer, "no proof", loss.item()
    with open(os.path.join(run, "proof"), "wb") as out:
        out.write(answer.proof)
    return answer, subprocess.run([CHECK, os.path.join(run, "proof")], capture_output=True, text=True).stdout[:8], loss.item()


def has_alignment(label, frames):
    return frames >= len(label) + sum(a == b for a, b in zip(label, label[1:]))


def drawn(seed):
    """(letters, blank, labels, frames of each, frames of all)"""
    draw = random.Random(seed)
    count, most = draw.choice([2, 3]), draw.choice([1, 2, 3, 4, 5])
    blank, labels, frames = draw.randrange(count), [], []
    while len(labels) < draw.choice([1, 2, 3]):
        label = [draw.choice([c for c in range(count) if c != blank]) for _ in range(draw.randint(0, 3))]
        f = draw.randint(1, most)
        if has_alignment(label, f):
            labels.append(label)
            frames.append(f)
    return count, blank, labels, frames, most


def one_of_many(seed, kind):
    count, blank, labels, frames, most = drawn(seed)
    draw = random.Random(-seed)
    torch.manual_seed(seed)
    model, x, lengths = Net(count).to(kind), torch.randn(most, len(labels), 6).to(kind), torch.tensor([len(v) for v in labels])
    joined = torch.tensor(sum(labels, []), dtype=torch.long)
    padded = torch.full((len(labels), max(1, int(lengths.max()))), (blank + 1) % count)
    for row, label in zip(padded, labels):
        row[:len(label)] = torch.tensor(label, dtype=torch.long)
    targets = joined if draw.random() < 0.5 and len(joined) else padded
    how, zero, weights = draw.choice(["mean", "sum", "none"]), draw.random() < 0.5, torch.linspace(0.5, 2, len(labels)).to(kind)

    def loss_of(logs):
        loss = F.ctc_loss(logs, targets, torch.tensor(frames), lengths, blank, how, zero)
        return (loss * weights).sum() if how == "none" else loss
    with tempfile.TemporaryDirectory() as folder:
        answer, said, loss = audited(folder, model, x, loss_of)
    given = [p.grad.clone() for p in model.parameters()]
    logs = model(x)
    each = torch.stack([by_listing(logs[:f, i], label, blank) for i, (label, f) in enumerate(zip(labels, frames))])
    whole = {"mean": (each / lengths.clamp(min=1)).mean(), "sum": each.sum(), "none": (each * weights).sum()}[how]
    exact = torch.autograd.grad(whole, list(model.parameters()))
    off = max(float((a - b).abs().max()) for a, b in zip(given, exact))
    near = off < (1e-10 if kind == torch.float64 else 1e-4) and math.isclose(whole.item(), loss, rel_tol=1e-4, abs_tol=1e-5)
    REPORT.check(answer.gradient["explained"] is True and said == "VERIFIED" and near, f"drawn {seed}, {kind}", (labels, frames, off, said, answer.gradient))


LABELS, FRAMES, LENGTHS = torch.tensor([[1, 2, 2], [3, 1, 4], [2, 2, 2]]), torch.tensor([7, 6, 7]), torch.tensor([3, 2, 1])


def by_hand(folder):
    torch.manual_seed(0)
    model, x = Net(5), torch.randn(7, 3, 6)
    short = torch.tensor([7, 1, 7])
    answer, said, _ = audited(os.path.join(folder, "zero"), model, x, lambda l: F.ctc_loss(l, LABELS, short, LENGTHS, zero_infinity=True))
    REPORT.check(answer.gradient["explained"] is True and said == "VERIFIED", "one label has no alignment, and counts nothing", answer.gradient)
    answer, _, _ = audited(os.path.join(folder, "infinite"), model, x, lambda l: F.ctc_loss(l, LABELS, short, LENGTHS))
    REPORT.check(answer.outside is not None and "the label of sample 1 has 2 letters, and no alignment with 1 frames" in answer.outside["rule"],
                 "one label has no alignment, and that is told", answer.outside)
    answer, said, _ = audited(os.path.join(folder, "alone"), model, x, lambda l: F.ctc_loss(l[:, 0], LABELS[0], FRAMES[0], LENGTHS[0]))
    REPORT.check(answer.gradient["explained"] is True and not answer.surrogates and said == "VERIFIED", "a sample without a batch", answer.surrogates)
    answer, said, _ = audited(os.path.join(folder, "turned"), model, x.transpose(0, 1), lambda l: F.ctc_loss(l.transpose(0, 1), LABELS, FRAMES, LENGTHS))
    REPORT.check(answer.gradient["explained"] is True and not answer.surrogates and said == "VERIFIED", "samples first", answer.surrogates)
    answer, said, _ = audited(os.path.join(folder, "logits"), Net(5, False), x, lambda l: F.ctc_loss(l, LABELS, FRAMES, LENGTHS))
    REPORT.check(answer.gradient["explained"] is True and "its derivative is for a log_softmax" in answer.surrogates[0] and said == "VERIFIED",
                 "logits that went through no log_softmax are told", answer.surrogates)
    for long in (20, 40):
        model, labels = Net(20), torch.randint(1, 20, (4, long // 4))
        answer, said, _ = audited(os.path.join(folder, f"long{long}"), model, torch.randn(long, 4, 6),
                                  lambda l, t=long, y=labels: F.ctc_loss(l, y, torch.full((4,), t), torch.full((4,), t // 4)))
        REPORT.check(answer.gradient["explained"] is True and said == "VERIFIED", f"{long} frames in float32", answer.gradient)


def kinks(folder):
    def loss_of(logits):
        return F.ctc_loss(logits.log_softmax(-1), torch.tensor([[1, 2]]), torch.tensor([4]), torch.tensor([2]))
    for name, f, verdict in (("relu", torch.relu, "in-bouligand"), ("its two sides, which are the identity", lambda h: h.relu() - (-h).relu(), "not-in-clarke")):
        answer, said, _ = audited(os.path.join(folder, name), At([0.0, 1.0, -1.0]), torch.ones(4, 1, 3), lambda h, f=f: loss_of(f(h)))
        REPORT.check(answer.verdict == verdict and said == "VERIFIED", f"{name} at 0 before it: {verdict}", (answer.verdict, answer.reason, said))


def refused(folder):
    for says, labels in (("a label has the blank as a letter", [[1, 0]]), ("no label has an alignment", [[1, 1]])):
        try:
            audited(os.path.join(folder, says), Net(3), torch.randn(2, 1, 6),
                    lambda l, y=labels: F.ctc_loss(l, torch.tensor(y), torch.tensor([2]), torch.tensor([2]), zero_infinity=True) + l.sum())
            REPORT.check(False, says, "not refused")
        except clarke.Refused as why:
            REPORT.check(says in str(why), says, str(why))


def derived():
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(1))
    found = clarke.derive(lambda x: F.ctc_loss(x.log_softmax(-1), torch.tensor([1, 1]), torch.tensor(3), torch.tensor(2)), x)
    own = x.double().requires_grad_()
    value = by_listing(own.log_softmax(-1), [1, 1], 0) / 2
    value.backward()
    off = max(abs(float(a) - b) for a, b in zip(found["ad"], own.grad.reshape(-1).tolist()))
    REPORT.check(off < 1e-9 and abs(float(found["value"]) - value.item()) < 1e-9 and found["verdict"] == "in-bouligand", "derived", (off, found["value"]))


def main():
    torch.set_num_threads(1)
    for seed in range(OPTIONS.number):
        one_of_many(seed, (torch.float64, torch.float32)[seed % 4 == 3])
    with tempfile.TemporaryDirectory() as folder:
        by_hand(folder)
        kinks(folder)
        refused(folder)
    derived()
    return REPORT.close()


if __name__ == "__main__":
    sys.exit(main())
