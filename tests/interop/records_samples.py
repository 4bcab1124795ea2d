#!/usr/bin/env python3
"""Data of each sample keep the batch's axis: dropout, masks, further arrays that the model is called with.

    records_samples.py CLARKE CLARKE-CHECK

Steps are recorded; the batch has as many samples as the step, kinks name theirs, and the proofs of audit and certificate are verified. An array
that is data of no sample stays an array of the whole step.
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy
import torch
from torch import nn
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "python"))
sys.path.append(os.path.join(HERE, "..", "tools"))
CLARKE, CHECK = map(os.path.abspath, sys.argv[1:3])
os.environ["CLARKE"] = CLARKE
import clarke  # noqa: E402
from copied_run import Copy  # noqa: E402
from expect import expect, finish  # noqa: E402
from safetensors.torch import load_file  # noqa: E402

Y = torch.tensor([0, 1, 0, 1])


class Of(nn.Module):
    """A function of its layers and what it is called with."""

    def __init__(self, of, **layers):
        super().__init__()
        self.of = of
        for name, layer in layers.items():
            setattr(self, name, layer)

    def forward(self, *x):
        return self.of(self, *x)


def mlp(*between):
    return nn.Sequential(nn.Linear(3, 6), nn.ReLU(), *between, nn.Linear(6, 2))


def lenet(drop):
    return nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.MaxPool2d(2), drop, nn.Flatten(), nn.Linear(12, 6), nn.ReLU(), nn.Dropout(), nn.Linear(6, 2))


def weighed(of, *more):
    """What it is called with are weights, which have as many rows as there are samples."""
    return Of(lambda m, x, w: m.b(of(m.a(x).relu(), w)), a=nn.Linear(3, 4), b=nn.Linear(4, 2)), [torch.randn(4, 3), torch.randn(4, *more)], True


def read(layer, of=lambda m, e, x: m.a(e)[0].mean(1), **options):
    """A text classifier: rows of a table, a layer of them, a mean over the text, and two layers more. 0 stands behind a text's end."""
    width = 8 if getattr(layer, "bidirectional", False) else 4
    model = Of(lambda m, x: m.c(m.b(of(m, m.e(x), x)).relu()), b=nn.Linear(width, 6), e=nn.Embedding(7, 3, **options), a=layer, c=nn.Linear(6, 2))
    return model, [TOKENS.clone()], True


def packed(m, e, x):
    """Sequences without what stands behind their ends, at each time the rows of those that are as long."""
    rows = nn.utils.rnn.pack_padded_sequence(e, (x != 0).sum(1), batch_first=True, enforce_sorted=False)
    return nn.utils.rnn.pad_packed_sequence(m.a(rows)[0], batch_first=True, padding_value=0.25)[0].mean(1)


def coupled(of):
    """Four features of four samples: by shapes alone one axis is as good as the other."""
    return Of(lambda m, x: m.b(of(m.a(x).relu())), a=nn.Linear(3, 4), b=nn.Linear(4, 2)), [torch.randn(4, 3)], False


TOKENS = torch.tensor([[1, 2, 3, 0, 0], [4, 2, 6, 5, 1], [3, 3, 0, 0, 0], [5, 1, 1, 2, 0]])
MASK = torch.rand(4, 6, generator=torch.Generator().manual_seed(2)) < 0.6
STEPS = {
    "dropout": (mlp(nn.Dropout(0.4)), [torch.randn(4, 3)], True),
    "two dropouts": (mlp(nn.Dropout(0.4), nn.Linear(6, 6), nn.ReLU(), nn.Dropout(0.2)), [torch.randn(4, 3)], True),
    "a LeNet": (lenet(nn.Dropout(0.3)), [torch.randn(4, 1, 6, 6)], True),
    "a LeNet that drops channels": (lenet(nn.Dropout2d(0.3)), [torch.randn(4, 1, 6, 6)], True),
    "a mask that it is called with": (Of(lambda m, x, seen: m.b(m.a(x).relu().masked_fill(~seen, -0.5)), a=nn.Linear(3, 6), b=nn.Linear(6, 2)),
                                      [torch.randn(4, 3), MASK], True),
    "two inputs": (Of(lambda m, x, z: m.c(m.a(x).relu() + m.b(z).relu()), a=nn.Linear(3, 6), b=nn.Linear(2, 6), c=nn.Linear(6, 2)),
                   [torch.randn(4, 3), torch.randn(4, 2)], True),
    "numbers that all have": (Of(lambda m, x: m.b(m.a(x).relu() + torch.ones(4, 6)), a=nn.Linear(3, 6), b=nn.Linear(6, 2)), [torch.randn(4, 3)], True),
    "a bias": weighed(lambda h, w: F.linear(h, torch.eye(4)[[1, 0, 3, 2]], w)),
    "a norm's weight": weighed(lambda h, w: F.layer_norm(h, (4,), w)),
    "a norm's weight of groups": weighed(lambda h, w: F.group_norm(h, 2, w)),
    "a convolution's weight": weighed(lambda h, w: F.conv1d(h[:, None], w).sum(1), 1, 1),
    "data put beside activations": (Of(lambda m, x, z: m.b(torch.cat([m.a(x).relu(), z[:, :1]], 1)), a=nn.Linear(3, 4), b=nn.Linear(5, 2)),
                                    [torch.randn(4, 3), torch.randn(4, 2)], True),
    "rows of a table": (Of(lambda m, x: m.b(m.a(m.e(x).mean(1)).relu()), a=nn.Linear(3, 6), e=nn.Embedding(7, 3), b=nn.Linear(6, 2)), [TOKENS], True),
    "rows side by side": (Of(lambda m, x: m.b(m.a(m.e(x).flatten(1)).relu()), a=nn.Linear(15, 6), e=nn.Embedding(7, 3), b=nn.Linear(6, 2)), [TOKENS], True),
    "rows of two tables": (Of(lambda m, x: m.b(m.a((m.e(x) * m.f(x)).sum(1)).relu()), a=nn.Linear(3, 6), e=nn.Embedding(7, 3), f=nn.Embedding(7, 3), b=nn.Linear(6, 2)),
                           [TOKENS], True),
    "padding": (Of(lambda m, x: m.b(m.a(m.e(x).sum(1)).relu()), a=nn.Linear(3, 6), e=nn.Embedding(7, 3, padding_idx=0), b=nn.Linear(6, 2)), [TOKENS], True),
    "an LSTM": read(nn.LSTM(3, 4, batch_first=True)), "a GRU": read(nn.GRU(3, 4, batch_first=True)), "an RNN": read(nn.RNN(3, 4, batch_first=True)),
    "two layers both ways": read(nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True)), "its last state": read(nn.LSTM(3, 4), lambda m, e, x: m.a(e.transpose(0, 1))[1][0][-1]),
    "a GRU of what is no padding": read(nn.GRU(3, 4, batch_first=True), lambda m, e, x: (m.a(e)[0] * (x != 0).unsqueeze(2)).sum(1) / (x != 0).sum(1, keepdim=True), padding_idx=0),
    "an LSTM of numbers": (Of(lambda m, x: m.c(m.b(m.a(x)[1][0][-1]).relu()), b=nn.Linear(4, 6), a=nn.LSTM(3, 4, batch_first=True), c=nn.Linear(6, 2)), [torch.randn(4, 5, 3)], True),
    "as many words as texts": (Of(lambda m, x: m.c(m.b((m.a(m.e(x))[0] + m.d(m.e(x).transpose(0, 1))[0].transpose(0, 1)).mean(1)).relu()), b=nn.Linear(4, 6), e=nn.Embedding(7, 4),
                                   a=nn.LSTM(4, 4, batch_first=True), d=nn.GRU(4, 4), c=nn.Linear(6, 2)), [TOKENS[:, :4].clone()], True),
    "a computed table": (Of(lambda m, x: m.b(m.a(m.e(x).mean(1) + m.f(m.e.weight)[x].sum(1)).relu()), a=nn.Linear(3, 6), e=nn.Embedding(7, 3), f=nn.Linear(3, 3), b=nn.Linear(6, 2)),
                         [TOKENS], False),
    "places as numbers": (Of(lambda m, x: m.b(m.a(m.e(x).mean(1) * x.float().mean(1, keepdim=True)).relu()), a=nn.Linear(3, 6), e=nn.Embedding(7, 3), b=nn.Linear(6, 2)),
                          [TOKENS], True),
    "packed": (*read(nn.LSTM(3, 4, batch_first=True), packed)[:2], False), "packed, both ways": (*read(nn.GRU(3, 4, batch_first=True, bidirectional=True), packed, padding_idx=0)[:2], False),
    "places that are no sample's": (Of(lambda m, x: m.b(m.a((m.e(x) + m.f(torch.arange(5))).mean(1)).relu()), a=nn.Linear(3, 6), e=nn.Embedding(7, 3), f=nn.Embedding(5, 3), b=nn.Linear(6, 2)),
                                    [TOKENS], False),
    "sums over samples": coupled(lambda h: h * h.nansum(0)),
    "rows of a computed table": coupled(lambda h: F.embedding(torch.tensor([1, 0, 3, 2]), h)),
    "a vector of all samples, by a matrix": coupled(lambda h: torch.addmv(h[:, 0], torch.eye(4)[[1, 0, 3, 2]], h[:, 1])[:, None].expand(4, 4) * 1),
    "rows times all samples": coupled(lambda h: torch.addmm(h, h, h)),
    "a bias of all samples": coupled(lambda h: torch.addmm(h[:, 0], h, torch.eye(4))),
    "a computed weight": coupled(lambda h: F.conv1d(h.unsqueeze(1), h.unsqueeze(1), padding=2)[:, :, 0]),
    "a computed norm's weight": coupled(lambda h: F.layer_norm(h, (4,), h[:, 0] * 1)),
    "a product and rows that are added to all": coupled(lambda h: (lambda t: torch.baddbmm(t[:, :, 0] * 1, t, t)[:, 0])(h[:, :, None] * torch.linspace(0.5, 1, 4))),
    "a matrix with a row for each sample": (Of(lambda m, x: m.b((m.a(x).relu().t() @ torch.eye(4)[:, [1, 0, 3, 2]]).t()), a=nn.Linear(3, 6), b=nn.Linear(6, 2)),
                                            [torch.randn(4, 3)], False),
}


def verified(proof, run):
    done = subprocess.run([CHECK, proof, "--data", run], capture_output=True, text=True)
    return done.returncode == 0 and done.stdout.startswith("VERIFIED")


def ask(name, model, given, batched, folder):
    """One unit is at its kink in all samples: its bias is 0, and so are its weights."""
    first = next(m for m in model.modules() if isinstance(m, (nn.Linear, nn.Conv2d)))
    first.weight.data[0], first.bias.data[0] = 0, 0
    run, proof = os.path.join(folder, name.replace(" ", "-")), os.path.join(folder, "proof")
    model.zero_grad()
    with clarke.record(run, model):
        F.cross_entropy(model(*given), Y).backward()
    answer = clarke.audit(run)
    samples = {kink.sample for kink in answer.touched}
    expect(answer.report["batch"] == (4 if batched else 1) and samples == set(range(4 if batched else 1)), f"{name}: {answer.report['batch']} {samples}")
    expect(answer.answer == "explained" and answer.verdict == "in-bouligand", f"{name}: {answer}")
    with open(proof, "wb") as f:
        f.write(answer.proof or b"")
    expect(verified(proof, run), f"{name}: the audit's proof is refused")
    done = subprocess.run([CLARKE, "certify", run, "--proof", proof, "--json"], capture_output=True, text=True)
    expect(done.returncode == 0 and verified(proof, run), f"{name}: certify ended with {done.returncode}: {json.loads(done.stdout)['answer']}")


def again(folder):
    """Masks are data: a later step with others is of the same graph."""
    model, run = mlp(nn.Dropout(0.4)), os.path.join(folder, "several")
    for step in range(3):
        model.zero_grad()
        with clarke.record(run, model, step=step, append=step > 0):
            F.cross_entropy(model(torch.randn(4, 3)), Y).backward()
    for step in range(3):
        answer = clarke.audit(run, options=("--step", str(step)))
        expect(answer.answer == "explained" and answer.report["batch"] == 4, f"step {step}: {answer}")


def texts(folder):
    """Other texts are other data of the same graph: x has a one at each place that is read."""
    model, run = read(nn.GRU(3, 4, batch_first=True))[0], os.path.join(folder, "texts")
    for step in range(3):
        model.zero_grad()
        tokens = torch.roll(TOKENS, step, 0)
        with clarke.record(run, model, step=step, append=step > 0):
            F.cross_entropy(model(tokens), Y).backward()
        x = torch.from_numpy(numpy.load(os.path.join(run, f"step-{step:06}.batch.npz"))["x"])
        expect(torch.equal(x, F.one_hot(tokens, 7).float()), f"step {step}: x is {x}")
    for step in range(3):
        answer = clarke.audit(run, options=("--step", str(step)))
        expect(answer.answer == "explained" and answer.report["batch"] == 4, f"step {step}: {answer}")


def gradient_of(run, folder):
    """AD's exact gradient, rounded, and the loss's value."""
    path = os.path.join(folder, "gradient.safetensors")
    done = subprocess.run([CLARKE, "audit", run, f"--gradient={path}", "--json"], capture_output=True, text=True)
    report = json.loads(done.stdout)
    return load_file(path), float(report["loss"]["value"]), report


def ignored(folder):
    """Samples whose label is ignored stay samples: the step is that of the others, at their kinks alone a pattern changes it, and the loss couples
    them by a number that no weight changes. By brute force: the batch without them."""
    labels = torch.tensor([2, 0, 1, 2, 1, 0])
    for name, index in ("ignored", -100), ("a class ignored", 1):
        y = torch.where(labels == 1, index, labels)
        model, x, kept = nn.Sequential(nn.Linear(3, 6), nn.ReLU(), nn.Linear(6, 3)), torch.randn(6, 3), y != index
        model[0].weight.data[0], model[0].bias.data[0] = 0, 0
        runs = []
        for what, given, target in (name, x, y), (name + ", left out", x[kept], y[kept]):
            model.zero_grad()
            runs.append(os.path.join(folder, what.replace(" ", "-")))
            with clarke.record(runs[-1], model):
                F.cross_entropy(model(given), target, ignore_index=index).backward()
        answer, proof = clarke.audit(runs[0]), os.path.join(folder, "proof")
        expect(answer.report["batch"] == 6 and {kink.sample for kink in answer.touched} == set(range(6)), f"{name}: {answer.touched}")
        expect(answer.answer == "explained" and answer.verdict == "in-bouligand", f"{name}: {answer}")
        expect(any(f"2 of 6 samples have the label {index}, which the loss ignores, the first sample 2" in note for note in answer.report["notes"]), f"{name}: notes")
        with open(proof, "wb") as f:
            f.write(answer.proof or b"")
        expect(verified(proof, runs[0]), f"{name}: the audit's proof is refused")
        (all_of, loss, _), (of_kept, loss_kept, _) = (gradient_of(run, folder) for run in runs)
        expect(abs(loss - loss_kept) < 1e-15 and all(torch.equal(all_of[n], of_kept[n]) for n in of_kept), f"{name}: not what the others give")
        expect(abs(loss - F.cross_entropy(model(x).double(), y, ignore_index=index).item()) < 1e-6, f"{name}: the loss is {loss}")
        certify = [CLARKE, "certify", runs[0], "--proof", proof]
        expect(subprocess.run(certify, capture_output=True).returncode == 0 and verified(proof, runs[0]), f"{name}: not certified")
        edited(name, folder, runs[0], proof)


def edited(name, folder, run, proof):
    """A gradient that an ignored sample has, or a mean over all samples, is no longer the step's; and a proof of one is none of the other."""
    trace = "gradient/2/addmm"

    def given(tensors):
        tensors[trace][2, 0] = 2.0 ** -20
        return tensors

    def of_all(tensors):
        return {n: t * (4 / 6) if n == trace else t for n, t in tensors.items()}
    for change in given, of_all:
        other = Copy(folder, run).tensors("trace", change).run
        done = subprocess.run([CLARKE, "certify", other, "--proof", proof + ".other"], capture_output=True, text=True)
        expect(done.returncode == 1 and "refuted" in done.stdout, f"{name}: an edited gradient is certified: {done.stdout[:300]}")
        expect(not verified(proof, other), f"{name}: the proof is one of an edited record, too")


torch.manual_seed(1)
with tempfile.TemporaryDirectory() as scratch:
    for what, (net, called, whether) in STEPS.items():
        for fused in (True, False) if any(isinstance(m, nn.RNNBase) for m in net.modules()) and "packed" not in what else (False,):
            torch.backends.mkldnn.enabled = fused  # a layer in one operator
            ask(what + (", fused" if fused else ""), net, called, whether, scratch)
    again(scratch)
    texts(scratch)
    ignored(scratch)
finish()
