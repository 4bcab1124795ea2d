#!/usr/bin/env python3
"""Small networks of the families that people train: one training step of each, recorded, audited and checked.

    recorded_architectures.py CLARKE CLARKE-CHECK [NAME...]

Prints a row for each: is it recorded, with the batch axis or as a single run; the verdict; is the gradient AD's but for
rounding, and its largest error in parts of the bound; is the proof verified; of how many of the recorded tensors certify's
proof says something, and how many of the graph's values were not recorded. Of a step that is refused, why. The exit status is 1 if a gradient is refuted, a proof fails, or a step is refused that is not among those known to be.
"""
import os
import subprocess
import sys
import tempfile

import torch
from torch import nn
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "python"))
CLARKE, CHECK = (os.path.abspath(p) for p in sys.argv[1:3])
os.environ["CLARKE"] = CLARKE
import clarke  # noqa: E402

BATCH, CLASSES = 4, 3
SEQ = nn.Sequential


def conv(i, o, k=3, act=nn.ReLU, **more):
    more = {"padding": k // 2, "bias": False} | more
    return SEQ(nn.Conv2d(i, o, k, **more), nn.BatchNorm2d(o), *([act()] if act else []))


def head(n):
    return SEQ(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(n, CLASSES))


class Sum(nn.Module):
    def __init__(self, *branches, after=None):
        super().__init__()
        self.branches, self.after = nn.ModuleList(branches), after or nn.Identity()

    def forward(self, x):
        return self.after(sum(b(x) for b in self.branches))


class Cat(nn.Module):
    def __init__(self, *branches):
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x):
        return torch.cat([b(x) for b in self.branches], dim=1)


class Of(nn.Module):
    """A function of its parts: Of(f, part=module, ...), f(parts, inputs...)."""

    def __init__(self, f, **parts):
        super().__init__()
        self.f, self.parts = f, nn.ModuleDict(parts)

    def forward(self, *inputs):
        return self.f(self.parts, *inputs)


def shuffle(x):
    n, c, h, w = x.shape
    return x.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)


def gated(p, x):
    return x * p["gate"](x)


def excitation(n, gate):
    return Of(gated, gate=SEQ(nn.AdaptiveAvgPool2d(1), nn.Conv2d(n, 2, 1), nn.ReLU(), nn.Conv2d(2, n, 1), gate()))


def elman(p, tokens):
    h = torch.zeros(tokens.shape[0], 6)
    for x in p["embed"](tokens).unbind(1):
        h = torch.tanh(p["input"](x) + p["state"](h))
    return p["head"](h)


def mixer(p, x):
    x = p["patch"](x).flatten(2).transpose(1, 2)
    x = x + p["tokens"](p["first"](x).transpose(1, 2)).transpose(1, 2)
    return p["head"]((x + p["channels"](p["second"](x))).mean(dim=1))


def attention(p, x):
    x = p["patch"](x).flatten(2).transpose(1, 2)
    return p["head"](p["block"](x).mean(dim=1))


def graph_network(p, x, adjacency):
    h = F.relu(p["first"](adjacency @ x))
    return p["second"](adjacency @ h)


def dueling(p, x):
    h = p["trunk"](x)
    advantage = p["advantage"](h)
    return p["value"](h) + advantage - advantage.mean(dim=1, keepdim=True)


def root_mean_square(scale, x):
    return x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + 1e-6) * scale


class Root(nn.Module):
    """RMSNorm, written as in LLaMA's code."""

    def __init__(self, n):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n))

    def forward(self, x):
        return root_mean_square(self.weight, x)


def llama(p, t):
    """Embedding, a head of attention, gated units, each behind an RMSNorm."""
    x = p["embed"](t)
    h = p["first"](x)
    q, k, v = p["query"](h), p["key"](h), p["value"](h)
    scores = (q @ k.transpose(1, 2) / 2).softmax(dim=-1)
    x = x + p["out"](scores @ v)
    h = p["second"](x)
    x = x + p["down"](F.silu(p["gate"](h)) * p["up"](h))
    return p["head"](p["last"](x))


def linear_attention(p, x):
    """Katharopoulos et al., 2020: exponentials in place of a softmax, and a quotient."""
    q, k, v = p["query"](x).exp(), p["key"](x).exp(), p["value"](x)
    return p["head"]((q @ (k.transpose(1, 2) @ v) / (q * k.sum(dim=1, keepdim=True)).sum(dim=-1, keepdim=True)).mean(dim=1))


def image(*shape):
    return lambda: (torch.randn(BATCH, *(shape or (3, 8, 8))),)


def tokens(length=5, words=11):
    return lambda: (torch.randint(0, words, (BATCH, length)),)


def classes(out, labels):
    return F.cross_entropy(out, labels)


def networks():
    """name: (the model's maker, its inputs' maker, its loss of output and labels)"""
    linear = nn.Linear
    yield "mlp", lambda: SEQ(linear(6, 8), nn.ReLU(), linear(8, CLASSES)), image(6), classes
    yield "mlp-dropout", lambda: SEQ(linear(6, 8), nn.ReLU(), nn.Dropout(0.5), linear(8, CLASSES)), image(6), \
        lambda o, y: F.cross_entropy(o, y, label_smoothing=0.1)
    yield "perceptron-hinge", lambda: linear(6, CLASSES), image(6), F.multi_margin_loss
    yield "lenet", lambda: SEQ(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 6, 3), nn.ReLU(), nn.MaxPool2d(2),
                               nn.Flatten(), linear(6, 8), nn.ReLU(), linear(8, CLASSES)), image(), classes
    yield "alexnet", lambda: SEQ(nn.Conv2d(3, 6, 3, stride=2, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(3, 1), nn.Flatten(),
                                 nn.Dropout(), linear(24, 12), nn.ReLU(inplace=True), nn.Dropout(), linear(12, CLASSES)), image(), classes
    yield "vgg", lambda: SEQ(conv(3, 4), nn.MaxPool2d(2), conv(4, 6), conv(6, 6), nn.MaxPool2d(2), nn.Flatten(), linear(24, CLASSES)), image(), classes
    yield "network-in-network", lambda: SEQ(nn.Conv2d(3, 6, 3), nn.ReLU(), nn.Conv2d(6, 6, 1), nn.ReLU(), nn.Dropout(), nn.Conv2d(6, CLASSES, 1),
                                            nn.AdaptiveAvgPool2d(1), nn.Flatten()), image(), classes
    yield "squeezenet", lambda: SEQ(nn.Conv2d(3, 4, 1), nn.ReLU(), Cat(SEQ(nn.Conv2d(4, 4, 1), nn.ReLU()), SEQ(nn.Conv2d(4, 4, 3, padding=1), nn.ReLU())),
                                    head(8)), image(), classes
    yield "inception", lambda: SEQ(Cat(conv(3, 2, 1), conv(3, 2, 3), conv(3, 2, 5), SEQ(nn.MaxPool2d(3, 1, 1), conv(3, 2, 1))), head(8)), image(), classes
    yield "resnet", lambda: SEQ(conv(3, 4), Sum(SEQ(conv(4, 4), conv(4, 4, act=None)), nn.Identity(), after=nn.ReLU()), head(4)), image(), classes
    yield "resnet-downsampled", lambda: SEQ(conv(3, 4), Sum(SEQ(conv(4, 6, stride=2), conv(6, 6, act=None)), conv(4, 6, 1, None, stride=2), after=nn.ReLU()),
                                            head(6)), image(), classes
    yield "preactivated", lambda: SEQ(nn.Conv2d(3, 4, 3), Sum(SEQ(nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 4, 3, padding=1)), nn.Identity()), head(4)), \
        image(), classes
    yield "resnext", lambda: SEQ(conv(3, 8), Sum(SEQ(conv(8, 8, 1), conv(8, 8, groups=4), conv(8, 8, 1, None)), nn.Identity(), after=nn.ReLU()), head(8)), \
        image(), classes
    yield "densenet", lambda: SEQ(conv(3, 4), Cat(nn.Identity(), conv(4, 4)), Cat(nn.Identity(), conv(8, 4)), nn.AvgPool2d(2), head(12)), image(), classes
    yield "mobilenet-1", lambda: SEQ(conv(3, 4, act=nn.ReLU6), conv(4, 4, groups=4, act=nn.ReLU6), conv(4, 8, 1, nn.ReLU6), head(8)), image(), classes
    yield "mobilenet-2", lambda: SEQ(conv(3, 4, act=nn.ReLU6), Sum(SEQ(conv(4, 8, 1, nn.ReLU6), conv(8, 8, groups=8, act=nn.ReLU6), conv(8, 4, 1, None)),
                                                                 nn.Identity()), head(4)), image(), classes
    yield "mobilenet-3", lambda: SEQ(conv(3, 4, act=nn.Hardswish), excitation(4, nn.Hardsigmoid), head(4)), image(), classes
    yield "efficientnet", lambda: SEQ(conv(3, 4, act=nn.SiLU), excitation(4, nn.Sigmoid), head(4)), image(), classes
    yield "shufflenet", lambda: SEQ(conv(3, 8), conv(8, 8, 1, groups=2), Of(lambda p, x: shuffle(x)), conv(8, 8, groups=8, act=None), head(8)), image(), classes
    yield "convnext", lambda: SEQ(nn.Conv2d(3, 4, 2, stride=2), Sum(SEQ(nn.Conv2d(4, 4, 3, padding=1, groups=4), nn.GroupNorm(1, 4), nn.Conv2d(4, 8, 1), nn.GELU(),
                                                                      nn.Conv2d(8, 4, 1)), nn.Identity()), head(4)), image(), classes
    yield "group-normalized", lambda: SEQ(nn.Conv2d(3, 4, 3), nn.GroupNorm(2, 4), nn.LeakyReLU(0.1), head(4)), image(), classes
    yield "mixer", lambda: Of(mixer, patch=nn.Conv2d(3, 4, 4, stride=4), first=nn.LayerNorm(4), tokens=SEQ(linear(4, 6), nn.ReLU(), linear(6, 4)),
                              second=nn.LayerNorm(4), channels=SEQ(linear(4, 8), nn.ReLU(), linear(8, 4)), head=linear(4, CLASSES)), image(), classes
    yield "vision-transformer", lambda: Of(attention, patch=nn.Conv2d(3, 4, 4, stride=4), head=linear(4, CLASSES),
                                           block=nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)), image(), classes
    yield "autoencoder", lambda: SEQ(linear(6, 3), nn.ReLU(), linear(3, 6)), image(6), lambda o, y: F.smooth_l1_loss(o, torch.ones_like(o), beta=0.5)
    yield "discriminator", lambda: SEQ(nn.Conv2d(3, 4, 4, stride=2, padding=1), nn.LeakyReLU(0.2), nn.Conv2d(4, 4, 4, stride=2, padding=1, bias=False),
                                       nn.BatchNorm2d(4), nn.LeakyReLU(0.2), nn.Flatten(), linear(16, 1)), image(), \
        lambda o, y: F.binary_cross_entropy_with_logits(o.squeeze(1), (y > 0).float())
    yield "unet", lambda: SEQ(conv(3, 4), Cat(nn.Identity(), SEQ(nn.MaxPool2d(2), conv(4, 4), nn.ConvTranspose2d(4, 4, 2, stride=2))), nn.Conv2d(8, CLASSES, 1)), \
        image(), lambda o, y: F.cross_entropy(o, y.view(-1, 1, 1).expand(-1, 8, 8))
    yield "segmentation", lambda: SEQ(conv(3, 4), nn.Conv2d(4, 4, 3, padding=2, dilation=2), nn.ReLU(), nn.Conv2d(4, CLASSES, 1)), image(), \
        lambda o, y: F.cross_entropy(o, y.view(-1, 1, 1).expand(-1, 8, 8), ignore_index=0)
    yield "dueling-q", lambda: Of(dueling, trunk=SEQ(linear(6, 8), nn.ReLU()), value=linear(8, 1), advantage=linear(8, CLASSES)), image(6), \
        lambda o, y: F.huber_loss(o, torch.zeros_like(o))
    yield "siamese", lambda: Of(lambda p, a, b: p["head"]((p["trunk"](a) - p["trunk"](b)).abs()), trunk=SEQ(linear(6, 8), nn.ReLU()), head=linear(8, 1)), \
        lambda: (torch.randn(BATCH, 6), torch.randn(BATCH, 6)), lambda o, y: F.binary_cross_entropy_with_logits(o.squeeze(1), (y > 0).float())
    yield "triplet", lambda: Of(lambda p, a, b, c: ((p["net"](a) - p["net"](b)).abs().sum(1) - (p["net"](a) - p["net"](c)).abs().sum(1) + 1).clamp(min=0), net=linear(6, 4)), \
        lambda: tuple(torch.randn(BATCH, 6) for _ in range(3)), lambda o, y: o.mean()
    yield "deep-sets", lambda: Of(lambda p, x: p["after"](p["before"](x).sum(dim=1)), before=SEQ(linear(6, 8), nn.ReLU()), after=linear(8, CLASSES)), \
        image(5, 6), classes
    yield "graph-network", lambda: Of(graph_network, first=linear(6, 8), second=linear(8, CLASSES)), \
        lambda: (torch.randn(BATCH, 6), torch.rand(BATCH, BATCH).round()), classes
    yield "bag-of-words", lambda: Of(lambda p, t: p["head"](p["embed"](t).mean(dim=1)), embed=nn.Embedding(11, 4), head=linear(4, CLASSES)), tokens(), classes
    yield "text-convolutions", lambda: Of(lambda p, t: p["head"](F.relu(p["conv"](p["embed"](t).transpose(1, 2))).mean(dim=2)), embed=nn.Embedding(11, 4),
                                          conv=nn.Conv1d(4, 6, 3), head=linear(6, CLASSES)), tokens(), classes
    yield "next-word", lambda: Of(lambda p, t: p["embed"](t).flatten(1) @ p["mix"].weight.t() @ p["embed"].weight.t(), embed=nn.Embedding(11, 4),
                                  mix=nn.Linear(20, 4, bias=False)), tokens(), classes
    yield "elman", lambda: Of(elman, embed=nn.Embedding(11, 4), input=linear(4, 6), state=linear(6, 6), head=linear(6, CLASSES)), tokens(3), classes
    yield "lstm", lambda: Of(lambda p, x: p["head"](p["cell"](x)[0]), cell=nn.LSTMCell(6, 4), head=linear(4, CLASSES)), image(6), classes
    yield "gru", lambda: Of(lambda p, x: p["head"](p["cell"](x)), cell=nn.GRUCell(6, 4), head=linear(4, CLASSES)), image(6), classes
    yield "transformer", lambda: Of(lambda p, t: p["head"](p["block"](p["embed"](t))), embed=nn.Embedding(11, 4), head=linear(4, 11),
                                    block=nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)), tokens(), lambda o, y: o.mean()
    def plain(i, o):
        return linear(i, o, bias=False)
    yield "llama", lambda: Of(llama, embed=nn.Embedding(11, 4), first=Root(4), query=plain(4, 4), key=plain(4, 4), value=plain(4, 4), out=plain(4, 4),
                              second=Root(4), gate=plain(4, 8), up=plain(4, 8), down=plain(8, 4), last=Root(4), head=plain(4, 11)), \
        tokens(), lambda o, y: F.cross_entropy(o.flatten(0, 1), torch.arange(o.shape[0] * o.shape[1]) % 11)
    yield "llama-rms-norm", lambda: SEQ(linear(6, 8), nn.RMSNorm(8), nn.ReLU(), linear(8, CLASSES)), image(6), classes
    yield "face-embeddings", lambda: Of(lambda p, x: 16 * F.normalize(p["trunk"](x)) @ F.normalize(p["centres"].weight).t(),
                                        trunk=SEQ(linear(6, 8), nn.ReLU(), linear(8, 4)), centres=plain(4, CLASSES)), image(6), classes
    yield "contrastive", lambda: Of(lambda p, a, b: F.normalize(p["left"](a)) @ F.normalize(p["right"](b)).t() / 0.07, left=SEQ(linear(6, 8), nn.ReLU(), linear(8, 4)),
                                    right=linear(5, 4)), lambda: (torch.randn(BATCH, 6), torch.randn(BATCH, 5)), lambda o, y: F.cross_entropy(o, torch.arange(BATCH))
    yield "mixture-of-experts", lambda: Of(lambda p, x: p["route"](x).sigmoid() * p["a"](x) + (1 - p["route"](x).sigmoid()) * p["b"](x),
                                           route=linear(6, 1), a=SEQ(linear(6, 8), nn.ReLU(), linear(8, CLASSES)), b=SEQ(linear(6, 8), nn.ReLU(), linear(8, CLASSES))), \
        image(6), classes
    yield "linear-attention", lambda: Of(linear_attention, query=plain(4, 4), key=plain(4, 4), value=plain(4, 4), head=linear(4, CLASSES)), image(5, 4), classes
    yield "sigmoid-classifier", lambda: SEQ(linear(6, 8), nn.ReLU(), linear(8, CLASSES), nn.Sigmoid()), image(6), \
        lambda o, y: F.binary_cross_entropy(o, F.one_hot(y, CLASSES).float())


KNOWN = set()


PARTS = ("  output ", "  indices ", "  gradient ", "  parameter ")


def prove_nodes(run, *options):
    """Of `clarke certify`'s proof: how many tensors it covers, of how many, and how many were not recorded; or what clarke-check
    says against it."""
    path = os.path.join(run, "nodes.proof")
    done = subprocess.run([CLARKE, "certify", run, "--proof", path, *options], capture_output=True, text=True, timeout=600)
    if not os.path.exists(path):
        return None, "no: " + done.stdout.split("\n", maxsplit=1)[0] + done.stderr
    said = subprocess.run([CHECK, path], capture_output=True, text=True, timeout=600)
    answers = [line.rsplit(": ", 1)[1] for line in said.stdout.split("\n") if line.startswith(PARTS)]
    covered = sum(a.startswith(("bit-exact", "within the bound")) for a in answers)
    missing = answers.count("not recorded")
    if not said.stdout.startswith("VERIFIED"):
        return None, "no: " + said.stdout[-300:] + said.stderr
    return (covered, len(answers) - missing, missing), f"{covered} of {len(answers) - missing}, {missing} not recorded"


def ask(folder, name, make, inputs, loss):
    """(a row of text, is all well, what prove_nodes counts)"""
    torch.manual_seed(0)
    run, model = os.path.join(folder, name), make()
    given, labels = inputs(), torch.randint(0, CLASSES, (BATCH,))
    try:
        with clarke.record(run, model) as step:
            loss(model(*given), labels).backward()
    except clarke.Refused as why:
        return f"| {name} | refused | | | | | | {why} |", name in KNOWN, None
    try:
        answer = clarke.audit(run)
    except clarke.Failed as why:
        return f"| {name} | not audited | | | | | | {why} |", False, None
    path = os.path.join(run, "proof")
    with open(path, "wb") as f:
        f.write(answer.proof or b"")
    done = subprocess.run([CHECK, path], capture_output=True, text=True, timeout=600) if answer.proof else None
    verified = "" if done is None else "yes" if done.stdout.startswith("VERIFIED") else "no"
    explained = {True: "yes", False: "no", None: "not known"}[answer.gradient["explained"]]
    shape = "single run" if step.whole else "batch axis"
    touched = sum(answer.touched_by_module.values())
    proved, nodes = prove_nodes(run)
    return (f"| {name} | {shape} | {answer.verdict} | {touched} | {explained} | {answer.gradient['worst']:.2g} | {verified} | {nodes} |",
            explained != "no" and verified != "no" and proved is not None, proved)


def scaled(folder, name, make, inputs, loss):
    """With the loss times 1e-30 and 1e30 the nodes alone: none is refuted, and the proof is verified."""
    well = True
    for scale in (1e-30, 1e30):
        torch.manual_seed(0)
        run, model = os.path.join(folder, f"{name}-{scale}"), make()
        given, labels = inputs(), torch.randint(0, CLASSES, (BATCH,))
        with clarke.record(run, model):
            (scale * loss(model(*given), labels)).backward()
        proved, nodes = prove_nodes(run, "--nodes")
        if proved is None:
            print(f"FAILED: {name}, the loss times {scale}: {nodes}", flush=True)
            well = False
    return well


def shown():
    """What docs/run-format.md has of each: how it is recorded, the verdict, how many kinks are touched."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "run-format.md"), encoding="utf-8") as f:
        rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in f if line.startswith("| ")]
    return {row[0]: row[1:4] for row in rows if len(row) == 6}


def as_shown(row, page):
    name, *found = (cell.strip() for cell in row.strip("|").split("|")[:4])
    if page.get(name) == found:
        return True
    print(f"failed: {name}: docs/run-format.md has {page.get(name)}, this is {found}")
    return False


def main():
    page = shown()
    wanted, well, counts, proved = sys.argv[3:], True, [0, 0, 0], [0, 0, 0]
    print("| network | recorded | verdict | touched | gradient explained | error / bound | verified | nodes proved |\n|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, make, inputs, loss in networks():
            if wanted and name not in wanted:
                continue
            row, fine, nodes = ask(folder, name, make, inputs, loss)
            print(row, flush=True)
            well = as_shown(row, page) and well
            well = scaled(folder, name, make, inputs, loss) and well and fine
            counts[0] += 1
            counts[1] += "| refused |" not in row
            counts[2] += "| yes |" in row
            proved = [a + b for a, b in zip(proved, nodes or [0, 0, 0])]
    print(f"{counts[0]} networks, {counts[1]} recorded; of {counts[2]} the gradient is explained or the proof verified")
    print(f"of {proved[1]} recorded tensors the proofs say something of {proved[0]}; {proved[2]} of the graphs' values were not recorded")
    sys.exit(not well)


if __name__ == "__main__":
    main()
