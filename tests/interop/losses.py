#!/usr/bin/env python3
"""Losses, regularization, several inputs, dropout and embeddings of PyTorch, recorded and audited.

    losses.py CLARKE CLARKE-CHECK

Each recorded gradient must be explained by AD's exact one of the recorded graph, and be refuted when an entry is changed; the
exact loss must be PyTorch's in float64; the proof must hold; and the graph must be the same for other data.
"""
import hashlib
import json
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
CLARKE, CHECK = (os.path.abspath(p) for p in sys.argv[1:3])
os.environ["CLARKE"] = CLARKE
import clarke  # noqa: E402
from clarke.files import safetensors  # noqa: E402
from safetensors.torch import load_file  # noqa: E402
from expect import expect, finish  # noqa: E402
from processor import where_measured  # noqa: E402

recorded = 0


def verified(run, answer):
    path = os.path.join(run, "proof")
    with open(path, "wb") as f:
        f.write(answer.proof)
    return subprocess.run([CHECK, path], capture_output=True, text=True).stdout.startswith("VERIFIED")


def exact_loss(run, answer):
    """The audit's own loss, times what it was multiplied by."""
    with open(os.path.join(run, "run.json")) as f:
        scale = Fraction(json.load(f)["steps"][0]["loss_scale"])
    value = answer.report["loss"]["value"]
    return float(Fraction(value) if isinstance(value, str) and "about" not in value else Fraction(str(value).replace("about ", ""))) * float(scale)


def tampered(run):
    """Is it found that the largest entry of a gradient is a 64th larger?"""
    path = os.path.join(run, "run.json")
    with open(path) as f:
        description = json.load(f)
    entry = description["steps"][0]["files"]["gradients"]
    tensors = {n: t.clone() for n, t in load_file(os.path.join(run, entry["file"])).items()}
    largest = max(tensors, key=lambda n: tensors[n].abs().max())
    tensors[largest].view(-1)[tensors[largest].abs().flatten().argmax()] *= 1 + 2.0 ** -6
    data = b"".join(safetensors(tensors))
    with open(os.path.join(run, entry["file"]), "wb") as f:
        f.write(data)
    entry["sha256"] = hashlib.sha256(data).hexdigest()
    with open(path, "w") as f:
        json.dump(description, f)
    return clarke.audit(run).gradient["explained"] is False


def ask(folder, name, model, step, verdict="in-bouligand", touched=None, whole=True, again=None):
    """again: the same step with other data, put behind the first."""
    global recorded
    run = os.path.join(folder, name)
    model.zero_grad()
    torch.manual_seed(1)
    with clarke.record(run, model):
        loss = step(model)
        loss.backward()
    recorded += 1
    answer = clarke.audit(run)
    expect(answer.answer == "explained", f"{name}: {answer.gradient}")
    expect(answer.verdict == verdict, f"{name}: {answer.verdict}")
    expect(touched is None or sum(answer.touched_by_module.values()) == touched, f"{name}: touched {answer.touched_by_module}")
    expect(answer.proof is not None and verified(run, answer), f"{name}: its proof")
    with open(os.path.join(run, "run.json")) as f:
        description = json.load(f)
    expect(description["batch_axis"] is not whole, f"{name}: batch axis {description['batch_axis']}")
    where_measured(description["steps"][0]["replay"] == {"loss_ulps": 0, "gradient_ulps": 0}, f"{name}: {description['steps'][0]['replay']}")
    value = exact_loss(run, answer)
    expect(abs(value - loss.item()) <= 1e-5 * max(1, abs(value)), f"{name}: its loss is {value}, PyTorch's {loss.item()}")
    if again is not None:
        model.zero_grad()
        with clarke.record(run, model, step=1, append=True):
            again(model).backward()
        second = clarke.audit(run, options=["--step", "1"])
        expect(second.gradient["explained"] is True, f"{name}, again: {second.gradient}")
    expect(tampered(run), f"{name}: a changed gradient is not found")


def refused(folder, says, model, step):
    run = os.path.join(folder, "refused")
    model.zero_grad()
    try:
        with clarke.record(run, model):
            step(model).backward()
        expect(False, f"not refused: {says}")
    except clarke.Refused as why:
        expect(says in str(why), f"{says}: {why}")
    expect(not os.path.exists(run), f"{says}: something was written")


def told(folder, says, model, step):
    """A step that leaves the reals, or is at a norm that is 0: an audit says what made it so."""
    run = os.path.join(folder, "told")
    model.zero_grad()
    with clarke.record(run, model):
        step(model).backward()
    answer = clarke.audit(run)
    expect(answer.outside is not None and says in answer.outside["rule"], f"{says}: {answer}")


def dense(out=3, *more):
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), *more, nn.Linear(8, out))


X = torch.tensor([[1.0, -2, 0.5, 3], [0.25, 1, -1, 2], [-3, 0.5, 1.5, 1], [2, 2, -0.5, -1], [0.1, 0.2, -0.3, 0.4], [1.5, -1, 1, -2]])
Y, OTHER = torch.tensor([0, 1, 2, 1, 0, 2]), torch.tensor([2, 2, 1, 0, 0, 1])
IGNORED, IGNORED_TOO = torch.tensor([0, 1, -100, 1, 0, 2]), torch.tensor([-100, 1, -100, 1, 2, 2])
T = torch.tensor([[0.5, -1, 2], [1, 0.25, -3], [0.1, 0.2, 0.3], [-2, 4, 0.5], [1, 1, -1], [0.7, -0.6, 0.5]])
POINTS = torch.tensor([[1.0, 0], [1, 0]])
W, P = torch.tensor([0.1, 2.0, 0.7]), torch.tensor([1.0, 2.0, 4.0])


def softmaxes(folder):
    for name, f in [("label", lambda y: lambda m: F.cross_entropy(m(X), y)), ("ignore", lambda y: lambda m: F.cross_entropy(m(X), y)),
                    ("smooth", lambda y: lambda m: F.cross_entropy(m(X), y, label_smoothing=0.1)),
                    ("smooth-weight", lambda y: lambda m: F.cross_entropy(m(X), y, label_smoothing=0.25, weight=W)),
                    ("weight", lambda y: lambda m: F.cross_entropy(m(X), y, weight=W)),
                    ("weight-sum", lambda y: lambda m: F.cross_entropy(m(X), y, weight=W, reduction="sum")),
                    ("none", lambda y: lambda m: (F.cross_entropy(m(X), y, reduction="none") * T[:, 0]).sum()),
                    ("nll", lambda y: lambda m: F.nll_loss(F.log_softmax(m(X), 1), y, weight=W, reduction="sum"))]:
        first, second = (Y, OTHER) if name == "label" else (IGNORED, IGNORED_TOO)
        ask(folder, "ce-" + name, dense(), f(first), whole=False, again=f(second))
    ask(folder, "ce-shares", dense(), lambda m: F.cross_entropy(m(X), T.softmax(1)), whole=False)
    image = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 3, 1))
    ask(folder, "ce-image", image, lambda m: F.cross_entropy(m(X.reshape(1, 1, 4, 6)), torch.arange(24).reshape(1, 4, 6) % 3), whole=False)
    for target, whole in ((T > 0).float(), False), (T.sigmoid(), True):
        ask(folder, "binary", dense(), lambda m, t=target: F.binary_cross_entropy_with_logits(m(X), t), whole=whole)
    ask(folder, "binary-weights", dense(), lambda m: F.binary_cross_entropy_with_logits(m(X), (T > 0).float(), weight=W, pos_weight=P), whole=False)
    ask(folder, "kl", dense(), lambda m: F.kl_div(m(X).log_softmax(1), T.softmax(1), reduction="batchmean"), whole=False)
    ask(folder, "kl-log", dense(), lambda m: F.kl_div(m(X).log_softmax(1), T.log_softmax(1), log_target=True, reduction="sum"), whole=False)
    ask(folder, "logsigmoid", dense(), lambda m: -F.logsigmoid(m(X) * T.sign()).mean(), whole=False)


def differences(folder):
    ask(folder, "mse", dense(), lambda m: F.mse_loss(m(X), T), whole=False, again=lambda m: F.mse_loss(m(X), T + 1))
    ask(folder, "mse-sum", dense(), lambda m: F.mse_loss(m(X), T, reduction="sum"), whole=False,
        again=lambda m: F.mse_loss(m(X), 2 * T, reduction="sum"))
    for reduction in ("mean", "sum"):
        ask(folder, "l1-" + reduction, dense(), lambda m: F.l1_loss(m(X), T, reduction=reduction), whole=False)
        ask(folder, "smooth-" + reduction, dense(), lambda m: F.smooth_l1_loss(m(X), T, beta=0.3, reduction=reduction), whole=False)
        ask(folder, "huber-" + reduction, dense(), lambda m: F.huber_loss(m(X), T, delta=0.7, reduction=reduction), whole=False)
    sides = torch.tensor([[1.0], [-1], [1], [1], [-1], [-1]])
    ask(folder, "hinge", dense(1), lambda m: F.relu(1 - sides * m(X)).mean(), whole=False)
    ask(folder, "hinge-clamp", dense(1), lambda m: (1 - sides * m(X)).clamp(min=0).mean(), whole=False)
    for p in (1, 2):
        ask(folder, f"margin-{p}", dense(), lambda m: F.multi_margin_loss(m(X), Y, p=p, weight=W), whole=False)


class Between(nn.Module):
    """A function between two layers."""

    def __init__(self, f):
        super().__init__()
        self.first, self.last, self.scale, self.f = nn.Linear(4, 5), nn.Linear(5, 3), nn.Parameter(torch.ones(5)), f

    def forward(self, x):
        return self.last(F.relu(self.f(self, self.first(x))))


def centred(h):
    return h - h.mean(-1, keepdim=True)


def quotients(folder):
    """What has a domain: quotients, roots, logarithms, norms, written out as people do."""
    functions = {
        "rms": lambda m, h: h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6) * m.scale,
        "rms-norm": lambda m, h: F.rms_norm(h, (5,), m.scale, 1e-6),
        "unit": lambda m, h: F.normalize(h, dim=-1),
        "unit-l1": lambda m, h: F.normalize(h, p=1, dim=-1),
        "cosine": lambda m, h: F.normalize(h, dim=-1) @ F.normalize(m.last.weight, dim=-1).t() @ m.last.weight,
        "softmax-written": lambda m, h: h.exp() / h.exp().sum(-1, keepdim=True),
        "layer-written": lambda m, h: centred(h) / torch.sqrt((centred(h) ** 2).mean(-1, keepdim=True) + 1e-5),
        "softsign": lambda m, h: h / (1 + h.abs()),
        "logarithms": lambda m, h: torch.log(h.exp() + 1) - torch.log1p(h * h),
        "reciprocals": lambda m, h: 2 / (1 + h * h) + torch.reciprocal(h * h + 2),
        "powers": lambda m, h: (1 + h * h).pow(-0.5) + (2 + h * h) ** 0.5 + (h * h + 1) ** -2 + h ** 3,
        "elu": lambda m, h: F.elu(h) + F.elu(h, 0.5) + F.celu(h, 2.0),
        "weight-norm": lambda m, h: F.linear(h, m.last.weight.t() @ m.last.weight / m.last.weight.norm()),
    }
    for name, f in functions.items():
        whole = name in ("cosine", "weight-norm")
        ask(folder, name, Between(f), lambda m: F.cross_entropy(m(X), Y), whole=whole, again=lambda m: F.cross_entropy(m(X + 1), OTHER))
        ask(folder, name + "-float64", Between(f).double(), lambda m: F.cross_entropy(m(X.double()), Y), whole=whole)
    ask(folder, "selu", Between(lambda m, h: F.selu(h)), lambda m: F.cross_entropy(m(X), Y), whole=False)
    ask(folder, "selu-at-kink", Between(lambda m, h: F.selu(0 * h) + F.elu(0 * h, 0.5) + m.scale), lambda m: F.cross_entropy(m(X), Y),
        whole=False)
    refused(folder, "is no float32", Between(lambda m, h: F.selu(h)).double(), lambda m: F.cross_entropy(m(X.double()), Y))
    for target in [(T > 0).float(), (8 * T.sigmoid()).round() / 8]:
        ask(folder, "binary-shares", dense(), lambda m, t=target: F.binary_cross_entropy(m(X).sigmoid(), t), whole=False)
    ask(folder, "binary-shares-weight", dense(), lambda m: F.binary_cross_entropy(m(X).sigmoid(), (T > 0).float(), weight=W, reduction="sum"),
        whole=False)
    ask(folder, "norms", dense(), lambda m: F.cross_entropy(m(X), Y) + 0.1 * m[0].weight.norm() + 0.1 * m[2].weight.norm(dim=1).sum())
    model = dense()
    with torch.no_grad():
        model[2].bias.zero_()
    told(folder, "a Euclidean norm of zeros", model, lambda m: F.cross_entropy(m(X), Y) + 0.1 * m[2].bias.norm())  # PyTorch says 0 by convention


def at_kinks(folder):
    """Losses whose own kinks are met. Outputs are the bias, targets are at it or a bend away from it."""
    def flat():
        model = nn.Linear(4, 3)
        with torch.no_grad():
            model.weight.zero_()
            model.bias.copy_(torch.tensor([1.0, -0.5, 2]))
        return model

    target = torch.tensor([1.0, -0.5, 0]).expand(6, 3).contiguous()
    ask(folder, "l1-at", flat(), lambda m: F.l1_loss(m(X), target, reduction="sum"), "in-clarke", 12, whole=False)
    # at the ends of a parabola, which an argument that is not recorded may have passed: the slopes there are one
    ask(folder, "huber-at", flat(), lambda m: F.huber_loss(m(X), target, delta=2, reduction="sum"), "in-bouligand", 0, whole=False)
    ask(folder, "smooth-at", flat(), lambda m: F.smooth_l1_loss(m(X), target, beta=2.0), "in-bouligand", 0, whole=False)
    ask(folder, "hinge-at", flat(), lambda m: F.relu(1 - m(X)).sum(), "in-bouligand", 6, whole=False)


def regularized(folder):
    def absolute(m):
        return F.cross_entropy(m(X), Y) + 0.01 * sum(p.abs().sum() for p in m.parameters())

    def squared(m):
        return F.cross_entropy(m(X), Y) + 0.01 * sum((p ** 2).sum() for p in m.parameters()) + 0.5 * sum((p * p).mean() for p in m.parameters())

    ask(folder, "l2", dense(), squared)
    ask(folder, "l1", dense(), absolute, touched=0)
    pruned = dense()
    with torch.no_grad():
        pruned[0].weight[0] = 0
        pruned[2].bias[1:] = 0
    ask(folder, "l1-pruned", pruned, absolute, "in-clarke", 6)

    class Half(nn.Module):
        """relu(w) - |w| / 2 is w / 2. At 0 PyTorch says 0."""

        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.zeros(1))

        def forward(self, x):
            return F.relu(x * self.w)

    run, half = os.path.join(folder, "half"), Half()
    with clarke.record(run, half):
        (half(torch.ones(1, 1)).sum() - 0.5 * half.w.abs().sum()).backward()
    answer = clarke.audit(run)
    expect(answer.verdict == "not-in-clarke" and verified(run, answer) and half.w.grad.item() == 0, f"half: {answer.verdict}")


def separated(folder):
    """AD is wrong, and the separator is of two parameters, whose names have another order than their uses."""
    class Shifted(nn.Module):
        def __init__(self):
            super().__init__()
            self.w, self.c = nn.Parameter(torch.tensor([-1.0, 0])), nn.Parameter(torch.tensor([1.0, 0]))

        def forward(self, x):
            return F.relu(x * self.w + self.c)

    run, model = os.path.join(folder, "separated"), Shifted()
    with clarke.record(run, model):
        (model(POINTS).sum() + F.relu(model.w).sum() - F.relu(-model.c).sum()).backward()
    answer = clarke.audit(run)
    expect(answer.verdict == "not-in-clarke" and verified(run, answer), f"separated: {answer.verdict}")


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right, self.head = nn.Linear(4, 5), nn.Linear(3, 5), nn.Linear(5, 3)

    def forward(self, left, right):
        return self.head(F.relu(self.left(left) + self.right(right)))


class Tied(nn.Module):
    """Tokens in, logits out, by one table."""

    def __init__(self, frozen=False):
        super().__init__()
        self.embed, self.inner, self.out = nn.Embedding(7, 4), nn.Linear(4, 4), nn.Linear(4, 7, bias=False)
        self.out.weight = self.embed.weight
        self.register_buffer("places", torch.arange(20.0).reshape(5, 4) / 8)

    def forward(self, tokens):
        return self.out(F.relu(self.inner(self.embed(tokens) + self.places)))


def inputs(folder):
    ask(folder, "two", Two(), lambda m: F.cross_entropy(m(X, right=T), Y), whole=False, again=lambda m: F.cross_entropy(m(X + 1, T - 1), OTHER))
    with open(os.path.join(folder, "two", "run.json")) as f:
        expect(json.load(f)["parameters"] == ["head.bias", "head.weight", "left.bias", "left.weight", "right.bias", "right.weight"], "two: names")
    tokens = torch.tensor([[0, 1, 6, 6, 2], [5, 0, 0, 3, 2], [4, 4, 1, 0, 6]])
    model = Tied()

    def step(tokens):
        return lambda m: F.cross_entropy(m(tokens).reshape(-1, 7), tokens.roll(1, 1).reshape(-1))
    ask(folder, "tied", model, step(tokens), whole=False, again=step(tokens.flip(0)))
    with open(os.path.join(folder, "tied", "run.json")) as f:
        run = json.load(f)
    expect(run["parameters"] == ["embed.weight", "inner.bias", "inner.weight"] and run["tied"] == {"out.weight": "embed.weight"}, "tied: names")
    for rate in (0.5, 0.3):
        ask(folder, f"dropout-{rate}", dense(3, nn.Dropout(rate)), lambda m: F.cross_entropy(m(X), Y), whole=False,
            again=lambda m: F.cross_entropy(m(X), OTHER))
    ask(folder, "dropout2d", nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Dropout2d(0.5), nn.Flatten(), nn.Linear(16, 3)),
        lambda m: F.cross_entropy(m(X.reshape(1, 1, 4, 6).expand(3, 1, 4, 6)[..., :4].contiguous()), Y[:3]), whole=False)
    ask(folder, "normalized", nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.25), nn.Linear(8, 3)),
        lambda m: F.cross_entropy(m(X), Y, label_smoothing=0.1), whole=False)


def behind(folder):
    """Steps that a thread writes while the training goes on, its batch and parameters changed in place."""
    run, model, x = os.path.join(folder, "behind"), dense(3, nn.BatchNorm1d(8)), X.clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        optimizer.zero_grad()
        with clarke.record(run, model, step=step, append=step > 0, optimizer=optimizer, light=step == 1, background=True):
            F.cross_entropy(model(x), Y).backward()
        optimizer.step()
        x += 1
    for step in range(3):
        answer = clarke.audit(run, options=["--step", str(step)])
        expect(answer.gradient["explained"] is True and answer.gradient["step"] == step, f"behind: {answer.gradient}")
    optimizer.zero_grad()
    again = clarke.record(run, model, step=1, append=True, background=True, optimizer=optimizer)
    with again:
        F.cross_entropy(model(x), Y).backward()
    try:
        again.wait()
        expect(False, "behind: a number that is taken is not refused")
    except clarke.Refused as why:
        expect("has a step 1 already" in str(why), f"behind: {why}")


def ways(folder):
    """Losses that are scaled, types, autocast, one line."""
    def smooth(m):
        return F.cross_entropy(m(X), Y, label_smoothing=0.1)

    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    run, model = os.path.join(folder, "scaled"), dense(3, nn.Dropout(0.5))
    optimizer = torch.optim.AdamW(model.parameters())
    with clarke.record(run, model, optimizer=optimizer):
        scaler.scale(smooth(model) / 3).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        scaler.step(optimizer)
    answer = clarke.audit(run)
    with open(os.path.join(run, "run.json")) as f:
        step = json.load(f)["steps"][0]
    expect(answer.gradient["explained"] is True and step["loss_scale"] == "1024/3" and step["optimizer"]["name"] == "AdamW", f"scaled: {answer.gradient} {step}")
    double = dense(3, nn.Dropout(0.5)).double()
    ask(folder, "double", double, lambda m: F.huber_loss(m(X.double()), T.double()) + 0.1 * sum(p.abs().sum() for p in m.parameters()))

    def cast(m):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return smooth(m)
    run, model = os.path.join(folder, "autocast"), dense(3, nn.Dropout(0.5))
    with clarke.record(run, model):
        cast(model).backward()
    answer = clarke.audit(run)
    expect(answer.gradient["explained"] is not False and answer.verdict == "in-bouligand", f"autocast: {answer.gradient}")
    answer = clarke.audit(Two(), (X, T), Y, lambda o, y: F.cross_entropy(o, y, ignore_index=1))
    expect(answer.in_clarke and answer.gradient["explained"] is True, f"audit(model, (x, x2), y, loss): {answer.verdict}")
    answer = clarke.audit(Two(), {"left": X, "right": T}, Y, F.cross_entropy)
    expect(answer.in_clarke and answer.gradient["explained"] is True, f"audit(model, {{name: x}}, y, loss): {answer.verdict}")


def masked(folder):
    """Logits of minus infinity, which no label has."""
    mask = torch.arange(3)[None] == (Y[:, None] + 1) % 3
    for name, more in (("mean", {}), ("sum", {"reduction": "sum"}), ("weight", {"weight": torch.tensor([1.0, 2.0, 0.5])}), ("ignored", {"ignore_index": int(Y[0])})):
        ask(folder, f"masked-{name}", dense(), lambda m, more=more: F.cross_entropy(m(X).masked_fill(mask, float("-inf")), Y, **more))
    told(folder, "its probability is 0", dense(), lambda m: F.cross_entropy(m(X).masked_fill(F.one_hot(Y, 3).bool(), float("-inf")), Y))
    told(folder, "no rule is known", dense(), lambda m: F.cross_entropy(m(X).masked_fill(mask, float("-inf")), Y, label_smoothing=0.1))


def numbers(folder):
    """What is computed from what is trained, and is a number to AD: comparisons, a row that is padding, what is detached."""
    tokens = torch.tensor([[0, 1, 2]])
    ask(folder, "padding", nn.Embedding(4, 2, padding_idx=0), lambda m: m(tokens).sum(), whole=False)
    ask(folder, "padding-read-elsewhere", nn.Embedding(4, 2, padding_idx=0), lambda m: (m(tokens) @ m.weight.T).logsumexp(-1).sum(), whole=False)
    ask(folder, "accuracy", dense(), lambda m: m(X).sum() * (m(X).argmax(1) == Y).float().mean())
    ask(folder, "own-labels", dense(), lambda m: F.cross_entropy(m(X), m(X).argmax(1)))
    ask(folder, "masked-by-itself", dense(), lambda m: (lambda o: o.masked_fill(o < 0, 0).sum())(m(X)))
    ask(folder, "detached-target", dense(), lambda m: F.mse_loss(m(X), m(X + 1).detach()))
    for name, told, constants in (("padding", 0, 1), ("padding-read-elsewhere", 1, 0), ("accuracy", 0, 0), ("own-labels", 0, 0), ("masked-by-itself", 0, 0),
                                  ("detached-target", 1, 0)):
        with open(os.path.join(folder, name, "run.json")) as f:
            run = json.load(f)
        expect((len(run["surrogates"]), len(run["constants"])) == (told, constants), f"{name}: {run['surrogates']}, {run['constants']}")


def refusals(folder):
    refused(folder, "a norm other than that of a whole ord", dense(), lambda m: m(X).norm(p=2.5))
    refused(folder, "a power of what is not above 0", dense(), lambda m: ((0 * m(X)) ** 1.5).sum())
    refused(folder, "an input requires a gradient", dense(), lambda m: m(X.clone().requires_grad_()).sum())
    refused(folder, "hangs on it, and two are equal", dense(), lambda m: F.cross_entropy(m(X), m(0 * X).repeat(1, 2).argmax(1) % 3))
    refused(folder, "hangs on it, and two are equal", dense(), lambda m: (lambda o: o.masked_fill(o > 0, 0).sum())(m(X).relu()))
    told(folder, "every label is ignored", dense(), lambda m: F.cross_entropy(m(X), torch.full((6,), -100)))


def main():
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        for check in (softmaxes, differences, quotients, at_kinks, regularized, separated, inputs, behind, ways, masked, numbers, refusals):
            check(folder)
    print(f"{recorded} steps recorded")
    finish()


if __name__ == "__main__":
    main()
