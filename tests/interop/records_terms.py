#!/usr/bin/env python3
"""Losses that are sums of terms of samples keep the batch's axis, whatever weights, masks and reductions there are.

    records_terms.py CLARKE CLARKE-CHECK [--number N] [--seed S]

Networks of whole numbers are drawn, so that kinks are touched. Of each loss a step is recorded with the batch's axis, and as a single run. Both must
have one verdict, exact loss and gradient. The kinks of a sample must be those of a record of that sample alone. Proofs are verified, and so are
certificates. A later step, with other labels, weights and masks, is of the same graph.
"""
import argparse
import os
import subprocess
import sys
import tempfile
from fractions import Fraction

import torch
from torch import nn
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "python"))
sys.path.append(os.path.join(HERE, "..", "tools"))
parser = argparse.ArgumentParser()
parser.add_argument("clarke")
parser.add_argument("check")
parser.add_argument("--number", type=int, default=2, help="networks of each loss")
parser.add_argument("--seed", type=int, default=1)
OPTIONS = parser.parse_args()
CLARKE, CHECK = os.path.abspath(OPTIONS.clarke), os.path.abspath(OPTIONS.check)
os.environ["CLARKE"] = CLARKE
import clarke  # noqa: E402
from clarke import graph as graphs  # noqa: E402
from expect import expect, finish  # noqa: E402
from safetensors.torch import load_file  # noqa: E402

WRITE = graphs.write


def whole(*step):
    """As a single run."""
    return graphs.write_as(True, *step)


class Data:
    """What a step has beside its network: labels, some of which are ignored, targets, weights of classes and of samples."""

    def __init__(self, n, shape=()):
        self.y = torch.randint(0, 3, (n, *shape))
        self.ignored = torch.where(torch.rand(n, *shape) < 0.3, -100, self.y)
        self.ignored.view(-1)[0] = 1
        self.w = torch.tensor([0.5, 1.0, 2.0])[torch.randperm(3)]
        self.of_samples = torch.randint(1, 9, (n,)) / 4
        self.target, self.bits = torch.randint(-2, 3, (n, 3)).float(), torch.randint(0, 2, (n, 3)).float()

    def one(self, i):
        alone = Data.__new__(Data)
        alone.__dict__ = {name: t if name == "w" else t[i:i + 1] for name, t in self.__dict__.items()}
        return alone


def focal(o, d):
    log = F.log_softmax(o, 1)
    return ((1 - log.exp()) ** 2 * log * d.bits).sum(1).mul(d.of_samples).mean().neg()


MATRIX = {
    "class weights": lambda o, d: F.cross_entropy(o, d.y, weight=d.w),
    "class weights, some ignored": lambda o, d: F.cross_entropy(o, d.ignored, weight=d.w),
    "label smoothing": lambda o, d: F.cross_entropy(o, d.y, label_smoothing=0.1),
    "label smoothing, class weights, some ignored": lambda o, d: F.cross_entropy(o, d.ignored, weight=d.w, label_smoothing=0.25),
    "a sum": lambda o, d: F.cross_entropy(o, d.y, reduction="sum"),
    "a sum, class weights": lambda o, d: F.cross_entropy(o, d.y, weight=d.w, reduction="sum") / 8,
    "probabilities": lambda o, d: F.cross_entropy(o, d.bits / 2),
    "samples' weights": lambda o, d: (F.cross_entropy(o, d.y, reduction="none") * d.of_samples).mean(),
    "samples' weights, by their sum": lambda o, d: (F.cross_entropy(o, d.y, reduction="none") * d.of_samples).sum() / d.of_samples.sum(),
    "likelihoods": lambda o, d: F.nll_loss(F.log_softmax(o, 1), d.y, weight=d.w),
    "bits": lambda o, d: F.binary_cross_entropy_with_logits(o, d.bits),
    "bits, pos_weight": lambda o, d: F.binary_cross_entropy_with_logits(o, d.bits, pos_weight=d.w),
    "bits, weights of samples, a sum": lambda o, d: F.binary_cross_entropy_with_logits(o, d.bits, weight=d.of_samples[:, None], reduction="sum"),
    "bits, no reduction": lambda o, d: (F.binary_cross_entropy_with_logits(o, d.bits, reduction="none") * d.of_samples[:, None]).sum(),
    "bits of probabilities": lambda o, d: F.binary_cross_entropy((o / 64).sigmoid(), d.bits),
    "squares, a sum": lambda o, d: F.mse_loss(o, d.target, reduction="sum"),
    "squares, weights of samples": lambda o, d: (F.mse_loss(o, d.target, reduction="none") * d.of_samples[:, None]).mean(),
    "sizes": lambda o, d: F.l1_loss(o, d.target, reduction="sum"),
    "Huber": lambda o, d: F.huber_loss(o, d.target, delta=2.0),
    "Huber, none": lambda o, d: F.smooth_l1_loss(o, d.target, beta=0.5, reduction="none").sum(1).dot(d.of_samples),
    "margins": lambda o, d: F.multi_margin_loss(o, d.y, weight=d.w),
    "margins, a sum": lambda o, d: F.multi_margin_loss(o, d.y, p=2, reduction="sum"),
    "divergence": lambda o, d: F.kl_div(F.log_softmax(o, 1), (d.target / 2).softmax(1), reduction="batchmean"),
    "several": lambda o, d: 0.5 * F.cross_entropy(o, d.y, weight=d.w) - F.mse_loss(o, d.target) * 0.25 + (o * d.target).mean() / 3,
    "focal": focal,
}
PICTURE = {
    "pictures": lambda o, d: F.cross_entropy(o, d.y),
    "pictures, class weights, some ignored": lambda o, d: F.cross_entropy(o, d.ignored, weight=d.w),
    "pictures, a sum, label smoothing": lambda o, d: F.cross_entropy(o, d.ignored, reduction="sum", label_smoothing=0.1),
    "pictures, none": lambda o, d: (F.cross_entropy(o, d.y, reduction="none").mean((1, 2)) * d.of_samples).sum(),
    "squares of pictures, a mask": lambda o, d: ((o[:, 0] - d.y) ** 2 * (d.ignored >= 0)).sum() / (d.ignored >= 0).sum(),
}


def whole_numbers(model):
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.randint(-2, 3, p.shape) * (torch.rand(p.shape) < 0.7))
    return model


def matrix():
    n = int(torch.randint(2, 6, ()))
    return whole_numbers(nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 3))), torch.randint(-2, 3, (n, 3)).float(), Data(n)


def picture():
    n = int(torch.randint(2, 5, ()))
    model = nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.ReLU(), nn.Conv2d(2, 3, 1))
    return whole_numbers(model), torch.randint(-2, 3, (n, 1, 3, 3)).float(), Data(n, (3, 3))


def recorded(run, model, loss, writes=WRITE, **options):
    """An audit, and AD's exact gradient."""
    model.zero_grad()
    graphs.write = writes
    try:
        with clarke.record(run, model, **options):
            loss().backward()
    finally:
        graphs.write = WRITE
    path = run + ".safetensors"
    answer = clarke.audit(run, options=("--gradient", path))
    return answer, load_file(path)


def verified(proof, run):
    done = subprocess.run([CHECK, proof, "--data", run], capture_output=True, text=True)
    return done.returncode == 0 and done.stdout.startswith("VERIFIED")


def kinks_of(answer, sample):
    return sorted((k.module, k.layer, k.neuron) for k in answer.touched or [] if k.sample == sample)


def value_of(answer):
    """The exact loss: rational, or as it is enclosed."""
    return float(Fraction(answer.report["loss"]["value"]))


def certified(run, proof):
    """How certify ends: 0, or 3 where some number cannot be judged."""
    return subprocess.run([CLARKE, "certify", run, "--proof", proof], capture_output=True, text=True).returncode


def proofs(name, run, single, answer):
    path = run + ".proof"
    with open(path, "wb") as f:
        f.write(answer.proof or b"")
    expect(answer.verdict == "undecided" or verified(path, run), f"{name}: the audit's proof is refused")
    status = certified(run, path)
    expect(status == 0 or status == certified(single, single + ".proof") == 3, f"{name}: certify ended with {status}")
    expect(verified(path, run), f"{name}: the certificate is refused")


def ask(name, draw, loss, folder):
    model, x, data = draw()
    run, n = os.path.join(folder, "run"), len(x)
    answer, gradient = recorded(run, model, lambda: loss(model(x), data))
    single, of_single = recorded(os.path.join(folder, "single"), model, lambda: loss(model(x), data), whole)
    expect(answer.report["batch"] == n and single.report["batch"] == 1, f"{name}: {answer.report['batch']} samples, and {single.report['batch']}")
    expect(answer.answer == single.answer and answer.answer in ("explained", "not known"), f"{name}: {answer} / {single}")
    expect(answer.verdict == single.verdict or "undecided" in (answer.verdict, single.verdict), f"{name}: {answer.verdict}, {single.verdict}")
    expect(all(torch.allclose(gradient[p], of_single[p], rtol=1e-13, atol=1e-15) for p in gradient), f"{name}: other gradients")
    expect(abs(value_of(answer) - value_of(single)) <= 1e-12 * abs(value_of(single)), f"{name}: other losses")
    for i in range(n):
        one, _ = recorded(os.path.join(folder, "one"), model, lambda: (model(x[i:i + 1]) * 3).sum())
        expect(kinks_of(one, 0) == [k for k in kinks_of(answer, i) if k[0]], f"{name}: sample {i} has other kinks than alone")
    proofs(name, run, os.path.join(folder, "single"), answer)
    later = Data(n, tuple(data.y.shape[1:]))
    later.w = data.w  # weights of classes are the program's
    recorded(run, model, lambda: loss(model(x + 1), later), step=1, append=True)
    expect(clarke.audit(run, options=("--step", "1")).answer in ("explained", "not known"), f"{name}: a later step")
    EXPLAINED.append(answer.answer == "explained")
    return answer.verdict, len(answer.touched or [])


torch.manual_seed(OPTIONS.seed)
verdicts, touched, EXPLAINED = {}, 0, []
with tempfile.TemporaryDirectory() as scratch:
    for table, drawn in (MATRIX, matrix), (PICTURE, picture):
        for what, of in table.items():
            for k in range(OPTIONS.number):
                verdict, count = ask(f"{what}, {k}", drawn, of, os.path.join(scratch, f"{len(os.listdir(scratch))}"))
                verdicts[verdict], touched = verdicts.get(verdict, 0) + 1, touched + count
print(verdicts, touched)
expect(touched > 0, "no kink was touched")
expect(sum(EXPLAINED) > 0.9 * len(EXPLAINED), f"of {len(EXPLAINED)} gradients {sum(EXPLAINED)} are explained")
finish()
