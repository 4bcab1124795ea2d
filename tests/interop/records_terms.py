#!/usr/bin/env python3
"""Losses that are sums of terms of samples keep the batch's axis, whatever weights, masks and reductions there are.

    records_terms.py CLARKE CLARKE-CHECK [--number N] [--seed S] [--only NAME]

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
parser.add_argument("--only", default="", help="losses whose name has this")
OPTIONS = parser.parse_args()
CLARKE, CHECK = os.path.abspath(OPTIONS.clarke), os.path.abspath(OPTIONS.check)
os.environ["CLARKE"] = CLARKE
import clarke  # noqa: E402
from clarke.graph import graph as graphs  # noqa: E402
from expect import expect, finish  # noqa: E402
from safetensors.torch import load_file  # noqa: E402

WRITE = graphs.write


def whole(*step, first):
    """As a single run, wherever the samples are."""
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




class Pooled(nn.Module):
    """The mean over the entries that are no padding."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 3)

    def mix(self, x, pad):
        return self.a(x)

    def forward(self, x, pad):
        h = self.mix(x, pad).relu()
        return self.b((h * ~pad[..., None]).sum(1) / (~pad).sum(1, keepdim=True))


class Filled(Pooled):
    """The largest: padding is small."""

    def forward(self, x, pad):
        return self.b(self.a(x).relu().masked_fill(pad[..., None], -64.0).max(1).values)


class Tokens(Pooled):
    """Of each entry, which the loss takes one after another."""

    def forward(self, x, pad):
        return self.b(self.a(x).relu()).view(-1, 3)


class Attention(Pooled):
    """Keys that are padding are masked."""

    def __init__(self):
        super().__init__()
        self.q, self.k = nn.Linear(4, 4), nn.Linear(4, 4)

    def mix(self, x, pad):
        scores = self.q(x) @ self.k(x).transpose(1, 2) / 8
        return scores.masked_fill(pad[:, None, :], float("-inf")).softmax(-1) @ self.a(x)


class Fused(Attention):
    """The same by heads, in one operator."""

    def mix(self, x, pad):
        q, k, v = (layer(x).unflatten(2, (2, 2)).transpose(1, 2) for layer in (self.q, self.k, self.a))
        return F.scaled_dot_product_attention(q, k, v, attn_mask=~pad[:, None, None, :]).transpose(1, 2).flatten(2)


class Module(Pooled):
    """PyTorch's module; the samples are moved, and merged with heads."""
    weights = False

    def __init__(self):
        super().__init__()
        self.a = nn.MultiheadAttention(4, 2, batch_first=True)

    def mix(self, x, pad):
        return self.a(x, x, x, key_padding_mask=pad, need_weights=self.weights)[0]


class Weights(Module):
    weights = True


class Layer(Pooled):
    """An encoder's layer has normalizations, too."""

    def __init__(self):
        super().__init__()
        self.a = nn.TransformerEncoderLayer(4, 2, 6, dropout=0.0, batch_first=True)

    def mix(self, x, pad):
        return self.a(x, src_key_padding_mask=pad)


SEQUENCES = {made.__name__: (made, lambda o, d: F.cross_entropy(o, d.y, weight=d.w))
             for made in (Pooled, Filled, Attention, Fused, Module, Weights, Layer)}
TOKENS = {"tokens, some ignored": lambda o, d: F.cross_entropy(o, d.ignored.view(-1)),
          "tokens, class weights": lambda o, d: F.cross_entropy(o, d.ignored.view(-1), weight=d.w),
          "tokens, a sum": lambda o, d: F.cross_entropy(o, d.y.view(-1), reduction="sum") / 4}


class Rows(nn.Module):
    """A parameter has as many rows as there are samples, by chance: they are none of theirs."""

    def __init__(self, n):
        super().__init__()
        self.a, self.rows, self.row = nn.Linear(3, 3), nn.Parameter(torch.zeros(n, 3)), nn.Parameter(torch.zeros(n))

    def forward(self, x):
        return self.a(x).relu()


ROWS = {"squares of rows": lambda m, x: F.mse_loss(m(x), m.rows),
        "rows alone": lambda m, x: m(x).sum() + F.mse_loss(m.rows, torch.ones_like(m.rows)),
        "a penalty": lambda m, x: m(x).sum() + m.row.sum(),
        "a product with a row": lambda m, x: m(x).sum(1).dot(m.row),
        "joined": lambda m, x: torch.cat([m(x), m.rows], 1).sum(1).square().sum(),
        "stacked": lambda m, x: torch.stack([m(x), m.rows], 1).sum(1).square().sum()}


def whole_numbers(model):
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.randint(-2, 3, p.shape) * (torch.rand(p.shape) < 0.7))
    return model


def matrix():
    n = int(torch.randint(2, 6, ()))
    return whole_numbers(nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 3))), (torch.randint(-2, 3, (n, 3)).float(),), Data(n)


def picture():
    n = int(torch.randint(2, 5, ()))
    model = nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.ReLU(), nn.Conv2d(2, 3, 1))
    return whole_numbers(model), (torch.randint(-2, 3, (n, 1, 3, 3)).float(),), Data(n, (3, 3))


def sequence(made, shape=()):
    def draw():
        n = int(torch.randint(2, 5, ()))
        pad = torch.arange(3) >= torch.randint(1, 4, (n, 1))
        pad[0] = torch.tensor([False, True, True])  # not all alike
        return whole_numbers(made()), (torch.randint(-2, 3, (n, 3, 4)).float(), pad), Data(n, shape)
    return draw


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
    return answer, load_file(path) if os.path.exists(path) else {}  # none is told where rounding has turned a branch


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


def close(a, b):
    return torch.allclose(a, b, rtol=1e-12, atol=1e-14)


def ask(name, draw, loss, folder):
    model, given, data = draw()
    run, n = os.path.join(folder, "run"), len(given[0])
    answer, gradient = recorded(run, model, lambda: loss(model(*given), data))
    single, of_single = recorded(os.path.join(folder, "single"), model, lambda: loss(model(*given), data), whole)
    expect(answer.report["batch"] == n and single.report["batch"] == 1, f"{name}: {answer.report['batch']} samples, and {single.report['batch']}")
    known = "undecided" not in (answer.verdict, single.verdict)  # a sum of shares is not known to be 1
    expect(answer.answer in ("explained", "not known", "turned") and (answer.answer == single.answer or not known), f"{name}: {answer} / {single}")
    expect(answer.verdict == single.verdict or not known, f"{name}: {answer.verdict}, {single.verdict}")
    expect(all(close(gradient[p], of_single[p]) for p in gradient), f"{name}: other gradients")
    expect(abs(value_of(answer) - value_of(single)) <= 1e-12 * abs(value_of(single)), f"{name}: other losses")
    for i in range(n):
        one, _ = recorded(os.path.join(folder, "one"), model, lambda: (model(*(t[i:i + 1] for t in given)) * 3).sum())
        layers = {k[1] for k in kinks_of(one, 0)} | LAYERS  # the loss has kinks of its own
        expect(not known or kinks_of(one, 0) == [k for k in kinks_of(answer, i) if k[1] in layers], f"{name}: sample {i} has other kinks than alone")
    proofs(name, run, os.path.join(folder, "single"), answer)
    later = Data(n, tuple(data.y.shape[1:]))
    later.w = data.w  # weights of classes are the program's
    recorded(run, model, lambda: loss(model(given[0] + 1, *given[1:]), later), step=1, append=True)
    expect(clarke.audit(run, options=("--step", "1")).answer in ("explained", "not known", "turned"), f"{name}: a later step")
    EXPLAINED.append(answer.answer == "explained")
    return answer.verdict, len(answer.touched or [])


def ask_alone(name, loss, folder):
    """Of a step that is no sum of samples' terms there is a record as a single run."""
    n = int(torch.randint(2, 6, ()))
    model, x = whole_numbers(Rows(n)), torch.randint(-2, 3, (n, 3)).float()
    answer, gradient = recorded(os.path.join(folder, "run"), model, lambda: loss(model, x))
    expect(answer.report["batch"] == 1 and answer.answer == "explained", f"{name}: {answer.report['batch']} samples, {answer}")
    expect(all(torch.allclose(gradient[p], of.grad.double(), rtol=1e-6) for p, of in model.named_parameters() if of.grad is not None), f"{name}: other gradients")


CASES = [(name, matrix, loss) for name, loss in MATRIX.items()] + [(name, picture, loss) for name, loss in PICTURE.items()]
CASES += [(name, sequence(made), loss) for name, (made, loss) in SEQUENCES.items()]
CASES += [(name, sequence(Tokens, (3,)), loss) for name, loss in TOKENS.items()]
torch.manual_seed(OPTIONS.seed)
verdicts, touched, EXPLAINED = {}, 0, []
LAYERS = {"1/relu", "relu"}
with tempfile.TemporaryDirectory() as scratch:
    for what, drawn, of in CASES:
        for k in range(OPTIONS.number if OPTIONS.only in what else 0):
            verdict, count = ask(f"{what}, {k}", drawn, of, os.path.join(scratch, f"{len(os.listdir(scratch))}"))
            verdicts[verdict], touched = verdicts.get(verdict, 0) + 1, touched + count
    for what, of in ROWS.items():
        if OPTIONS.only in what:
            ask_alone(what, of, os.path.join(scratch, what))
print(verdicts, touched)
expect(touched > 0, "no kink was touched")
expect(sum(EXPLAINED) > 0.9 * len(EXPLAINED), f"of {len(EXPLAINED)} gradients {sum(EXPLAINED)} are explained")
finish()
