#!/usr/bin/env python3
"""AD that differentiates another function on purpose, and numbers that go to a log: what is told, and what is refused.

    records_surrogates.py CLARKE CLARKE-CHECK

Lemma 2 behind a detach is no gradient of what is computed, and nobody says that it is.
"""
import copy
import fractions
import json
import math
import os
import subprocess
import sys
import tempfile

import numpy as np
import pytest
import torch
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "python"))
CLARKE, CHECK = (os.path.abspath(p) for p in sys.argv[1:3])
os.environ["CLARKE"] = CLARKE
import clarke  # noqa: E402
from clarke import pytest_plugin  # noqa: E402
from report import Report  # noqa: E402

relu, REPORT = torch.relu, Report()


class Of(nn.Module):
    """f(m, x) of the weights w, and of v = 2 w."""

    def __init__(self, f, w):
        super().__init__()
        self.w, self.v, self.f = nn.Parameter(torch.tensor([[w]])), nn.Parameter(torch.tensor([[2 * w]])), f

    def forward(self, x):
        return self.f(self, x)


class Hooked(Of):
    """Whose module in between has hooks."""

    def __init__(self, f, w, hook, pre=False):
        super().__init__(f, w)
        self.act = nn.Tanh()
        (self.act.register_full_backward_pre_hook if pre else self.act.register_full_backward_hook)(hook)


def own(name, forward, backward):
    """A Function of one tensor."""
    return type(name, (torch.autograd.Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)}).apply


def keep(ctx, x, y):
    ctx.save_for_backward(x)
    return y


def saved(ctx):
    return ctx.saved_tensors[0]


ROUND = own("Round", lambda ctx, x: x.round(), lambda ctx, g: g)
SIGN = own("Sign", lambda ctx, x: keep(ctx, x, x.sign()), lambda ctx, g: g * (saved(ctx).abs() <= 1))
REVERSED = own("Reversed", lambda ctx, x: x.view_as(x), lambda ctx, g: -0.5 * g)
SQUARE = own("Square", lambda ctx, x: keep(ctx, x, x * x), lambda ctx, g: 2 * saved(ctx) * g)
SAME = own("Same", lambda ctx, x: x.view_as(x), lambda ctx, g: g)
NORMED = own("Normed", lambda ctx, x: x.clone(), lambda ctx, g: g / g.abs().sum())
SHIFTED = own("Shifted", lambda ctx, x: x.clone(), lambda ctx, g: g + 1)
SUMMED = own("Summed", lambda ctx, x: keep(ctx, x, x.sum()), lambda ctx, g: g * torch.ones_like(saved(ctx)))
CLIPPED = own("Clipped", lambda ctx, x: x.clone(), lambda ctx, g: g.clamp(-0.01, 0.01))


class Two(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        return x * y

    @staticmethod
    def backward(ctx, g):
        return g, g


@torch.no_grad()
def unseen(h):
    return -relu(-h)


ONE, WIDE = torch.ones(1, 1), torch.tensor([[1.0], [-2.0], [0.5]])
# The function, w, x, how many surrogates, and the verdict about what AD differentiates.
TOLD = {
    "lemma 2 behind a detach": (lambda m, x: relu(x @ m.w) + (-relu(-x @ m.w)).detach(), 0.0, ONE, 1, "in-bouligand"),
    "lemma 2 without gradients": (lambda m, x: relu(x @ m.w) + unseen(x @ m.w), 0.0, ONE, 1, "in-bouligand"),
    "lemma 2, all of it seen": (lambda m, x: relu(x @ m.w) - relu(-x @ m.w), 0.0, ONE, 0, "not-in-clarke"),
    "lemma 2 beside a detach": (lambda m, x: relu(x @ m.w) - relu(-x @ m.w) + (x @ m.v).detach(), 0.0, ONE, 1, "not-in-clarke"),
    "straight through": (lambda m, x: (lambda h: relu(h + (h.round() - h).detach()))(x @ m.w), 0.75, WIDE, 1, "in-bouligand"),
    "straight through, to a kink": (lambda m, x: (lambda h: relu(h + (h.round() - h).detach()))(x @ m.w), 0.25, WIDE, 1, "in-clarke"),
    "a Function": (lambda m, x: relu(ROUND(x @ m.w)) * (x @ m.v), 0.75, WIDE, 1, "in-bouligand"),
    "a Function, to a kink": (lambda m, x: relu(ROUND(x @ m.w)) - relu(-ROUND(x @ m.w)), 0.25, ONE, 1, "not-in-clarke"),
    "clipped": (lambda m, x: SIGN(x @ m.w) * (x @ m.v), 0.75, WIDE, 1, "in-bouligand"),
    "reversed": (lambda m, x: relu(REVERSED(x @ m.w)) + x @ m.v, 0.75, WIDE, 1, "in-bouligand"),
    "its own derivative": (lambda m, x: relu(SQUARE(x @ m.w)), 0.75, WIDE, 1, "in-bouligand"),
    "of a weight": (lambda m, x: relu(x @ SIGN(m.w)), 0.75, WIDE, 1, "in-bouligand"),
    "handed on": (lambda m, x: relu(SAME(x @ m.w)), 0.75, WIDE, 0, "in-bouligand"),
    "handed on, lemma 2": (lambda m, x: relu(SAME(x @ m.w)) - relu(-SAME(x @ m.w)), 0.0, ONE, 0, "not-in-clarke"),
    "an advantage": (lambda m, x: (x @ m.w) * (1 - (x @ m.v).detach()), 0.75, WIDE, 1, "in-bouligand"),
    "twice at one line": (lambda m, x: sum((x @ m.w) * (x @ m.w).detach() for _ in range(2)), 0.75, WIDE, 1, "in-bouligand"),
    "fake quantization": (lambda m, x: torch.fake_quantize_per_tensor_affine(x @ m.w, 0.5, 0, -2, 1) * (x @ m.v), 0.75, WIDE, 1, "in-bouligand"),
    "fake quantization by channels": (lambda m, x: torch.fake_quantize_per_channel_affine(x @ m.w, torch.tensor([0.5]), torch.tensor([0], dtype=torch.int32), 1, -2, 1)
                                      * (x @ m.v), 0.75, WIDE, 1, "in-bouligand"),
    "by itself": (lambda m, x: (x @ m.w).clamp(max=0.3) / (x @ m.w).detach().abs().max(), 0.75, WIDE, 1, "in-bouligand"),
    "data": (lambda m, x: (x @ m.w) * ((x @ m.w).data + 1), 0.75, WIDE, 1, "in-bouligand"),
    "filled in": (lambda m, x: put(torch.zeros(3, 1), (x @ m.w).detach()) * (x @ m.v), 0.75, WIDE, 1, "in-bouligand"),
}


def put(k, h):
    k[1:] = h[1:]
    return k


def chosen(a, b):
    return a if a.item() >= b.item() else b


def logged(m, x, use=lambda n: None):
    h = x @ m.w
    use(h.sum().item())
    return h


def picked(h, ask):
    a, b = h, 5 * h
    return b if ask(h.sum().item()) else a


SEEN, EDGE = [], torch.tensor(0.0)
# What goes to a log comes back nowhere.
LOGGED = {
    "printed": lambda m, x: logged(m, x, lambda n: f"{n:.3f} {n} {n!r}"), "added up": lambda m, x: logged(m, x, lambda n: SEEN.append(0.9 * 2 + n / 3 - n ** 2)),
    "rounded": lambda m, x: logged(m, x, lambda n: SEEN.append(round(n, 2))), "as JSON": lambda m, x: logged(m, x, lambda n: json.dumps({"loss": n})),
    "compared, aside": lambda m, x: logged(m, x, lambda n: SEEN.append(n < 100)), "no NaN": lambda m, x: logged(m, x, lambda n: math.isnan(n) or n != n),
    "the larger, aside": lambda m, x: chosen((x @ m.w).sum(), (x @ m.v).sum()), "a tensor, printed": lambda m, x: (lambda h: (str(h), h)[1])(x @ m.w),
    "finite": lambda m, x: (lambda h: (logged(m, x), h)[bool(torch.isfinite(h).all())])(x @ m.w),
    "two parts": lambda m, x: sum((logged(m, x), x @ m.v)), "a table": lambda m, x: logged(m, x, lambda n: {n: 1}),
}
# What comes back, or decides.
REFUSED = {
    "the larger": ("compared with an equal one", 0.0, lambda m, x: chosen((x @ m.w).sum(), (x @ m.v).sum())),
    "the larger of floats": ("taken out by float()", 0.0, lambda m, x: max((x @ m.w).sum(), (x @ m.v).sum(), key=lambda t: float(t.item()))),
    "the larger by max": ("compared with an equal one", 0.0, lambda m, x: max((x @ m.w).sum(), (x @ m.v).sum(), key=lambda t: t.item())),
    "a factor": ("Python reads a number", 0.75, lambda m, x: (lambda h: h * h.sum().item())(x @ m.w)),
    "a factor, by math": ("Python reads a number", 0.75, lambda m, x: (lambda h: h * math.exp(h.sum().item()))(x @ m.w)),
    "a tensor": ("Python reads a number", 0.75, lambda m, x: (lambda h: h * torch.tensor(h.sum().item()))(x @ m.w)),
    "by numpy": ("Python reads a number", 0.75, lambda m, x: (lambda h: h * torch.from_numpy(np.array([h.sum().item()], dtype=np.float32)))(x @ m.w)),
    "filled with it": ("Python reads a number", 0.75, lambda m, x: (lambda h, k: h * k.fill_(h.sum().item()))(x @ m.w, torch.zeros(1))),
    "put into": ("Python reads a number", 0.75, lambda m, x: (lambda h, k: (k.__setitem__(0, h.sum().item()), h * k)[1])(x @ m.w, torch.zeros(1))),
    "a truth value": ("asked for its truth value", 0.0, lambda m, x: (lambda h: h if h.sum().item() else 2 * h)(x @ m.w)),
    "a whole number": ("becomes a whole number", 1.0, lambda m, x: (lambda h: h * int(h.sum().item()))(x @ m.w)),
    "a remainder": ("divided with a remainder", 1.0, lambda m, x: (lambda h: h * int(h.sum().item() // 1))(x @ m.w)),
    "compared with data": ("Python reads a number", 0.0, lambda m, x: picked(x @ m.w, lambda n: bool(EDGE < n))),
    "a difference from data": ("Python reads a number", 0.0, lambda m, x: picked(x @ m.w, lambda n: bool(EDGE - n >= 0))),
    "compared as a tensor": ("Python reads a number", 0.0, lambda m, x: picked(x @ m.w, lambda n: bool(torch.tensor(n) > 0))),
    "a truth value of a tensor": ("Python reads a number", 0.0, lambda m, x: picked(x @ m.w, lambda n: bool(torch.tensor(n)))),
    "is it whole?": ("asked whether it is whole", 0.0, lambda m, x: picked(x @ m.w, lambda n: n.is_integer())),
    "its real part": ("compared with an equal one", 0.0, lambda m, x: picked(x @ m.w, lambda n: n.real > 0)),
    "its conjugate": ("compared with an equal one", 0.0, lambda m, x: picked(x @ m.w, lambda n: n.conjugate() > 0)),
    "a fraction": ("as_integer_ratio()", 0.0, lambda m, x: picked(x @ m.w, lambda n: fractions.Fraction(n) > 0)),
    "its digits": ("hex()", 0.0, lambda m, x: picked(x @ m.w, lambda n: n.hex() == "0x0.0p+0")),
    "a Function of the gradient's size": ("a Function of its own, Normed", 0.75, lambda m, x: NORMED(x @ m.w)),
    "a Function that adds": ("a Function of its own, Shifted", 0.75, lambda m, x: SHIFTED(x @ m.w)),
    "a Function that sums": ("a Function of its own, Summed", 0.75, lambda m, x: SUMMED(x @ m.w)),
    "a Function that clips": ("a Function of its own, Clipped", 0.75, lambda m, x: CLIPPED(x @ m.w)),
    "a Function of two": ("a Function of its own, Two, of several tensors", 0.75, lambda m, x: Two.apply(x @ m.w, x @ m.v)),
}


def recorded(folder, name, model, x):
    """(run, its description), of a folder of its own."""
    run = os.path.join(folder, name.replace(" ", "-"))
    with clarke.record(run, model):
        model(x).sum().backward()
    with open(os.path.join(run, "run.json"), encoding="utf-8") as f:
        return run, json.load(f)


def told(folder):
    for name, (f, w, x, count, verdict) in TOLD.items():
        try:
            run, said = recorded(folder, name, Of(f, w), x)
        except clarke.Refused as why:
            REPORT.check(False, name, why)
            continue
        answer = clarke.audit(run)
        found = answer.verdict, answer.answer, len(said["surrogates"]), said["branches"]
        REPORT.check(found == (verdict, "explained", count, []), name, f"{found}, {answer.gradient['why']}: {answer.reason}")
        right = answer.verdict != "not-in-clarke"
        REPORT.check(answer.in_clarke is (None if count and right else right) and answer.in_clarke_of_surrogate is right, f"{name}: in_clarke", answer.in_clarke)
        REPORT.check(answer.surrogates == said["surrogates"] and all("records_surrogates.py:" in s for s in answer.surrogates), f"{name}: where", answer.surrogates)
        with open(os.path.join(run, "proof"), "wb") as out:
            out.write(answer.proof or b"")
        checked = subprocess.run([CHECK, os.path.join(run, "proof")], capture_output=True, text=True).stdout
        REPORT.check(checked.startswith("VERIFIED"), f"{name}: its proof", checked[:200])
        report = subprocess.run([CLARKE, "certify", run], capture_output=True, text=True)
        REPORT.check(report.returncode == 0 and ("by design" in report.stdout) == (count > 0), f"{name}: certify", report.stdout[:400])


def logs(folder):
    for name, f in LOGGED.items():
        try:
            run, said = recorded(folder, name, Of(f, 0.75), ONE)
            answer = clarke.audit(run)
            REPORT.check(answer.in_clarke is True and len(said["branches"]) >= 1, f"logged: {name}", f"{answer.verdict}, {said['branches']}")
        except clarke.Refused as why:
            REPORT.check(False, f"logged: {name}", why)
    REPORT.check(all(type(n + 0.5) is float for n in SEEN if isinstance(n, float)), "behind the step its numbers are floats", SEEN)


def refusals(folder):
    for name, (says, w, f) in REFUSED.items():
        why = refusal(folder, Of(f, w))
        REPORT.check(says in why and ("records_surrogates.py:" in why or name == "a fraction"), f"refused: {name}", why or "it is recorded")


def refusal(folder, model, x=WIDE[:1]):
    try:
        recorded(folder, "refused", model, x)
    except clarke.Refused as why:
        return str(why)
    return ""


def hooks(folder):
    """Full backward hooks that watch, and that change."""
    net = lambda m, x: m.act(x @ m.w) * (x @ m.v)  # noqa: E731
    seen = []
    run, said = recorded(folder, "hook", Hooked(net, 0.75, lambda m, i, o: seen.append(o[0].sum().item())), WIDE)
    answer = clarke.audit(run)
    REPORT.check(answer.in_clarke is True and len(seen) == 1 and said["surrogates"] == [], "a hook that returns nothing", f"{answer.gradient}, {seen}")
    for name, hook, pre in (("changes a gradient", lambda m, i, o: (2 * i[0],), False), ("changes a gradient before", lambda m, o: (2 * o[0],), True)):
        try:
            run, _ = recorded(folder, name, Hooked(net, 0.75, hook, pre), WIDE)
            answer = clarke.audit(run)
            right, why = answer.answer == "refuted" or (answer.in_clarke is None and "BackwardHookFunction" in answer.surrogates[0]), answer.surrogates
        except clarke.Refused as error:
            right, why = "or a hook" in str(error), error
        REPORT.check(right, f"a hook that {name}", why)


def generators(folder):
    """The step of one network, of which another's output is a constant; of both as one model it is told."""
    torch.manual_seed(0)
    g, d, z, x = nn.Linear(2, 3), nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)), torch.randn(5, 2), torch.randn(5, 3)
    for name, model, count in (("alone", d, 0), ("both", nn.ModuleList([g, d]), 1)):
        model.zero_grad()
        run = os.path.join(folder, f"gan-{name}")
        with clarke.record(run, model):
            (d(x).sigmoid().log().mean() + (1 - d(g(z).detach()).sigmoid()).log().mean()).neg().backward()
        answer = clarke.audit(run)
        REPORT.check(answer.answer == "explained" and len(answer.surrogates) == count, f"the discriminator's step, {name}", f"{answer.gradient}")


def through_critic(generator, critic, z):
    return nn.functional.binary_cross_entropy_with_logits(critic(generator(z)), torch.ones(len(z), 1))


def elsewhere(folder):
    """The generator's step, through what another optimizer trains: the same as if that were frozen; it may be changed as soon as the block ends."""
    torch.manual_seed(0)
    g, d, z = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 3)), nn.Sequential(nn.Linear(3, 4), nn.LeakyReLU(0.2), nn.Linear(4, 1)), torch.randn(5, 2)
    kept, answers = {name: t.detach().clone() for name, t in d.state_dict().items()}, {}
    for name, trained, options in (("frozen", False, {}), ("trained", True, {}), ("light", True, {"light": True}), ("behind", True, {"background": True})):
        g.zero_grad()
        d.load_state_dict(kept)
        d.requires_grad_(trained)
        run = os.path.join(folder, f"through-{name}")
        with clarke.record(run, g, **options) as record:
            through_critic(g, d, z).backward()
        with torch.no_grad():
            d[0].weight.mul_(3)
        record.wait()
        answers[name] = answer = clarke.audit(run)
        with open(os.path.join(run, "run.json"), encoding="utf-8") as f:
            said = json.load(f)
        REPORT.check(answer.answer == "explained" and answer.in_clarke is True, f"the generator's step, its critic {name}", answer.gradient)
        REPORT.check(said["parameters"] == ["0.bias", "0.weight", "2.bias", "2.weight"], f"what is asked about, the critic {name}", said["parameters"])
        REPORT.check(("4 tensors are trained, and not by this model" in str(said["constants"])) == trained, f"it is told, the critic {name}", said["constants"])
        certified = subprocess.run([CLARKE, "certify", run], capture_output=True, text=True)
        REPORT.check(certified.returncode == (3 if name == "light" else 0), f"certify, the critic {name}", certified.stdout[:300])
    REPORT.check(len({str(a.report["loss"]) for a in answers.values()}) == 1, "the loss is the same", [a.report["loss"] for a in answers.values()])


def not_elsewhere(folder):
    """What has memory with the model, or is computed from it, is no such constant."""
    model = nn.Linear(2, 3)
    for name, make, says in (("its memory", lambda: model.weight.detach()[:1].requires_grad_(), "behind autograd's back"),
                             ("computed of it", lambda: 2 * model.weight, "is no parameter of the model")):
        model.zero_grad()
        other, why = make(), ""
        try:
            with clarke.record(os.path.join(folder, "not-elsewhere"), model):
                (model(torch.ones(1, 2)).sum() + other.sum()).backward()
        except clarke.Refused as refused:
            why = str(refused)
        REPORT.check(says in why, f"trained, and {name}", why)


def made_in_the_block(folder):
    """What is made of the model in the block is no constant of somebody else's, even if it is told to be trained; nor is what numpy has of a parameter."""
    model = nn.Linear(3, 2)
    inside = model.weight.detach().numpy()[1:]
    memory, marked = torch.from_numpy(inside), torch.from_numpy(inside).requires_grad_()
    kept, behind = torch.zeros(1, 3, requires_grad=True), torch.zeros(1, 3, requires_grad=True)
    alias = behind.detach()

    def written(to, into):
        into.copy_(model.weight.detach()[:1])
        return to

    def without():
        with torch.no_grad():
            return nn.Parameter(model.weight * 2)

    def logged():
        return torch.from_numpy(np.full((1, 3), model(torch.ones(1, 3)).sum().item(), np.float32)).requires_grad_()

    ways = {"a copy": lambda: copy.deepcopy(model).weight, "a parameter of its numbers": lambda: nn.Parameter(model.weight.detach().clone()),
            "of its .data": lambda: nn.Parameter(model.weight.data.clone()), "computed without gradients": without,
            "of its output": lambda: nn.Parameter(model(torch.ones(1, 3)).detach().t() + torch.zeros(2, 3)), "written to": lambda: written(kept, kept.data),
            "written to by another": lambda: written(behind, alias), "of what was logged": logged, "an array of its memory": lambda: memory, "a trained array": lambda: marked}
    for name, make in ways.items():
        for options in ({}, {"light": True}, {"background": True}):
            model.zero_grad()
            why = ""
            try:
                with clarke.record(os.path.join(folder, "made"), model, **options) as record:
                    x = torch.ones(4, 3)
                    (model(x).pow(2).sum() * (x @ make().t()).sum()).backward()
                record.wait()
            except clarke.Refused as refused:
                why = str(refused)
            REPORT.check(any(said in why for said in ("is no parameter of the model", "AD differentiates another function", "AD does not see", "changed in place")),
                         f"made in the block: {name} {options}", why)
    model.zero_grad()
    twin = copy.deepcopy(model)
    with clarke.record(os.path.join(folder, "copied"), model, again=False):
        model(torch.ones(4, 3)).pow(2).sum().backward()
        copied = copy.deepcopy(model)
    REPORT.check(torch.equal(copied(torch.ones(1, 3)), twin(torch.ones(1, 3))) and clarke.audit(os.path.join(folder, "copied")).in_clarke is True,
                 "a model may be copied in the block", "")


DRAWS = {"multinomial": lambda h: torch.distributions.Categorical(logits=h), "normal": lambda h: torch.distributions.Normal(h, h.exp()),
         "bernoulli": lambda h: torch.distributions.Bernoulli(logits=h)}


def draws_behind_a_choice(folder):
    """A draw is told, too, where Python's branch or a comparison hangs on it alone."""
    for name, take in (("a branch", lambda drawn, h: h ** 2 if drawn[0, 0].item() == 1 else h ** 3), ("a comparison", lambda drawn, h: h * (drawn == 1).float())):
        torch.manual_seed(0)
        model, x = nn.Linear(2, 3), torch.randn(5, 2)
        run = os.path.join(folder, f"behind-{name}".replace(" ", "-"))
        with clarke.record(run, model):
            h = model(x)
            take(torch.multinomial(h.softmax(-1), 1), h).mean().backward()
        answer = clarke.audit(run)
        REPORT.check("what was drawn is a constant to AD" in str(answer.surrogates) and answer.in_clarke is not True, f"{name} behind a draw", answer.surrogates)


def draws(folder):
    """What a distribution draws is a constant to AD, in its own checks of it, too; compared with what is trained it is none."""
    for name, distribution in DRAWS.items():
        torch.manual_seed(0)
        model, x = nn.Linear(2, 3), torch.randn(5, 2)
        run = os.path.join(folder, f"drawn-{name}")
        with clarke.record(run, model):
            drawn = distribution(model(x)).sample()
            distribution(model(x)).log_prob(drawn).mean().backward()
        gradients = [p.grad.clone() for p in model.parameters()]
        model.zero_grad()
        distribution(model(x)).log_prob(drawn).mean().backward()  # the same numbers as data
        REPORT.check(all(torch.equal(a, p.grad) for a, p in zip(gradients, model.parameters())), f"drawn by {name}: what AD takes for constant", gradients)
        answer = clarke.audit(run)
        REPORT.check(answer.answer == "explained" and answer.in_clarke_of_surrogate is True, f"drawn by {name}", answer.gradient)
        REPORT.check(any(f"aten.{name}." in s and "what was drawn is a constant to AD" in s for s in answer.surrogates), f"drawn by {name}: it is told", answer.surrogates)
        certified = subprocess.run([CLARKE, "certify", run], capture_output=True, text=True)
        REPORT.check(certified.returncode == 0, f"drawn by {name}: certify", certified.stdout[:300])
    says = "two are equal"
    why = refusal(folder, Of(lambda m, x: picked_by(x @ m.w, torch.bernoulli(torch.sigmoid(x @ m.w).detach())), 0.0))
    REPORT.check(says in why, "a draw times what is trained, compared where it is equal", why)


def picked_by(h, drawn):
    return h if bool((h * drawn > 0).all()) else 2 * h


def fixture(folder):
    """pytest's: it asks about what AD differentiates only if it is told to."""
    made = pytest_plugin.assert_in_clarke
    check = (made.__wrapped__ if hasattr(made, "__wrapped__") else made.__pytest_wrapped__.obj)()
    behind = os.path.join(folder, "lemma-2-behind-a-detach")
    beside = os.path.join(folder, "lemma-2-beside-a-detach")
    for run, more, says in ((behind, {}, "surrogates=True asks about that"), (behind, {"surrogates": True}, ""), (beside, {"surrogates": True}, "not-in-clarke")):
        why = ""
        try:
            check(run, **more)
        except pytest.fail.Exception as failure:
            why = str(failure)
        REPORT.check(says in why and bool(says) == bool(why), f"the fixture: {says or 'passes'}", why)


def main():
    with tempfile.TemporaryDirectory() as folder:
        for part in (told, fixture, logs, refusals, hooks, generators, elsewhere, not_elsewhere, made_in_the_block, draws, draws_behind_a_choice):
            part(folder)
    return REPORT.close()


if __name__ == "__main__":
    sys.exit(main())
