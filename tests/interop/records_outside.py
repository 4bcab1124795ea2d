#!/usr/bin/env python3
"""Steps that leave the reals, and norms that are 0: what an audit says of the first NaN, infinity or zero, beside torch.autograd.detect_anomaly.

    records_outside.py CLARKE [--write]

The table of docs/outside.md is made here, and compared; --write writes it.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings

import torch
from torch import nn
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "python"))
CLARKE = os.path.abspath(sys.argv[1])
os.environ["CLARKE"] = CLARKE
import clarke  # noqa: E402
from records_scripts import on_the_page, table  # noqa: E402
from report import Report  # noqa: E402

REPORT = Report()
LEAST, PAGE = float("-inf"), os.path.join(HERE, "..", "..", "docs", "outside.md")
ALL, FIRST = torch.tensor([True, True, True]), torch.tensor([True, False, False])
NO, YES, UNKNOWN = "no", "yes", "not known"


class Of(nn.Module):
    """f of three numbers w * 1."""

    def __init__(self, f, w):
        super().__init__()
        self.f, self.w = f, nn.Parameter(torch.tensor(w))

    def forward(self, x):
        return self.f(self.w * x)


# As it is written: (f, w, the pass, the operator, its entry, what the rule says, is it differentiable, was something rounded).
CASES = {
    "`h.log()`, an h being 0": (lambda h: h.log().sum(), [0.0, 1, 4], "forward", "log", [0], "falls to minus infinity", NO, False),
    "`h.log()`, an h being -1": (lambda h: h.log().sum(), [2.0, -1, 4], "forward", "log", [1], "no real number has a logarithm of -1", NO, False),
    "`h.softmax(0).log()`, logits far apart": (lambda h: h.softmax(0).log().sum(), [200.0, 1, 2], "forward", "log", [1], "was rounded to 0", YES, False),
    "`h.sqrt()`, an h being 0": (lambda h: h.sqrt().sum(), [4.0, 0, 1], "backward", "sqrt", [1], "slope of a root", NO, False),
    "`h.square().sum().sqrt()` of zeros": (lambda h: h.square().sum().sqrt(), [0.0, 0, 0], "backward", "sqrt", [], "a Euclidean norm of zeros", NO, True),
    "the same of 1e-30": (lambda h: h.square().sum().sqrt(), [1e-30, 0, 0], "backward", "sqrt", [], "so small that they became 0", YES, True),
    "`h.norm()` of zeros": (lambda h: h.norm(), [0.0, 0, 0], "forward", "linalg_vector_norm", [], "a Euclidean norm of zeros", NO, True),
    "`h / h.norm()` of zeros": (lambda h: (h / h.norm()).sum(), [0.0, 0, 0], "forward", "div", [0], "0 divided by 0", NO, True),
    "`F.normalize(h, dim=0)` of zeros": (lambda h: F.normalize(h, dim=0).sum(), [0.0, 0, 0], "forward", "linalg_vector_norm", [0], "a Euclidean norm", YES, True),
    "`h.std()` of equal numbers": (lambda h: h.std(), [2.0, 2, 2], "forward", "std", [], "a standard deviation of equal", NO, True),
    "`torch.cdist(a, b)`, a row of both": (lambda h: torch.cdist(h[None], torch.tensor([[1.0, 2, 3]])).sum(), [1.0, 2, 3], "forward", "_cdist_forward", [0, 0],
                                         "a distance of equal points", NO, True),
    "a softmax, all of it masked": (lambda h: (h.masked_fill(ALL, LEAST).softmax(0) * h).sum(), [1.0, 2, 3], "forward", "_softmax", [0],
                                    "every entry is masked", NO, False),
    "cross entropy, the label masked": (lambda h: F.cross_entropy(h.masked_fill(FIRST, LEAST)[None], torch.tensor([0])), [1.0, 2, 3], "forward",
                                        "nll_loss_forward", [], "its probability is 0", NO, False),
    "cross entropy, each label ignored": (lambda h: F.cross_entropy(h[None], torch.tensor([-100])), [1.0, 2, 3], "forward", "nll_loss_forward", [],
                                          "every label is ignored", NO, False),
    "`F.ctc_loss`, no alignment": (lambda h: F.ctc_loss(h.log_softmax(0)[None], torch.tensor([1, 2]), torch.tensor(1), torch.tensor(2)), [1.0, 2, 3], "forward",
                                   "_ctc_loss", [0], "2 letters, and no alignment with 1 frames", NO, False),
    "`h * mask`, the mask infinite": (lambda h: (h * torch.tensor([1.0, float("inf"), 1])).sum(), [1.0, 0, 2], "forward", "mul", [1], "0 times infinity", NO, False),
    "`torch.where(h > 0, h.sqrt(), h)` at 0": (lambda h: torch.where(h > 0, h.sqrt(), h).sum(), [0.0, 1, 2], "backward", "sqrt", [0],
                                              "0 times infinity is NaN", UNKNOWN, False),
    "`torch.where(mask, h.sqrt(), h)` at 0": (lambda h: torch.where(~FIRST, h.sqrt(), h).sum(), [0.0, 1, 2], "backward", "sqrt", [0],
                                             "0 times infinity is NaN", YES, False),
    "`torch.where(h > 0, h.log(), h)` at -1": (lambda h: torch.where(h > 0, h.log(), h).sum(), [-1.0, 1, 2], "forward", "log", [0], "no real number", YES, False),
    "`h.exp()`, an h being 100": (lambda h: h.exp().sum(), [1.0, 100, 2], "forward", "exp", [1], "too large for float32", YES, False),
    "`h.exp() - (h + 1).exp()`, 100": (lambda h: (h.exp() - (h + 1).exp()).sum(), [1.0, 100, 2], "forward", "exp", [1], "too large for float32", YES, False),
    "`h * h`, an h being 1e30": (lambda h: (h * h).sum(), [1.0, 1e30, 2], "forward", "mul", [1], "too large for float32", YES, False),
    "`1 / h`, an h being 0": (lambda h: (1 / h).sum(), [1.0, 0, 2], "forward", "reciprocal", [1], "a pole", NO, False),
    "`h / (h - 1)` at 1": (lambda h: (h / (h - 1)).sum(), [1.0, 0, 2], "forward", "div", [0], "1 divided by 0", NO, False),
    "`h ** 0.3`, an h being 0": (lambda h: h.pow(0.3).sum(), [1.0, 0, 2], "backward", "pow", [1], "slope of a root", NO, False),
    "`h.acos()`, an h being 1": (lambda h: h.acos().sum(), [1.0, 0, 0.5], "backward", "acos", [0], "slope of acos", NO, False),
    "`torch.xlogy(h, h)` at 0": (lambda h: torch.xlogy(h, h).sum(), [1.0, 0, 0.5], "backward", "xlogy", [1], "x log y at x = y = 0", NO, False),
    "an operator without a rule": (lambda h: torch.lgamma(h).sum(), [1.0, 0, 0.5], "forward", "lgamma", [1], "no rule is known", UNKNOWN, False),
}


def anomaly(model):
    """What detect_anomaly says."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with torch.autograd.detect_anomaly():
                model(torch.ones(3)).backward()
        except RuntimeError as why:
            return re.search(r"'(\w+)' returned nan", str(why))[1]
        finally:
            model.zero_grad()
    return "nothing"


def record(run, model, x, **options):
    with clarke.record(run, model, **options):
        model(x).backward()


def ask(name, f, w, way, operator, entry, rule, differentiable, rounded):
    model = Of(f, w)
    said = anomaly(model)
    with tempfile.TemporaryDirectory() as folder:
        run = os.path.join(folder, "run")
        record(run, model, torch.ones(3))
        answer = clarke.audit(run)
        text = subprocess.run([CLARKE, "audit", os.path.join(run, "")], capture_output=True, text=True)
        certified = subprocess.run([CLARKE, "certify", run], capture_output=True, text=True)
    found = answer.outside
    line = f"{os.path.basename(__file__)}:{f.__code__.co_firstlineno}"
    right = (found["pass"], found["operator"].split(".")[1], found["entry"], found["differentiable"].split(",")[0].split(":")[0]) == (way, operator, entry, differentiable)
    REPORT.check(right and rule in found["rule"] and found["rounded"] == rounded and found["source"].endswith(line), name, (found, line))
    REPORT.check(answer.verdict == "undecided" and answer.answer == "outside the reals" and not answer.in_clarke and answer.proof is None and answer.touched is None, f"{name}: no verdict", answer)
    REPORT.check(text.returncode == 3 and text.stdout.split("\n\n", 1) == [repr(answer), "\n".join([*found["lines"], ""])], f"{name}: the report", text.stdout + text.stderr)
    REPORT.check(certified.returncode == 2 and found["lines"][0] in certified.stderr, f"{name}: no certificate", certified.stderr)
    if said != "nothing" and way == "backward":
        agree = said == found["derivative"] or "infinity" in found["value"]  # it looks for NaN alone, and so may come later
        REPORT.check(agree, f"{name}: where detect_anomaly finds it", (said, found["derivative"]))
    where = f"{found['value']} of the {way} pass, {operator}"
    return [name, where, found["rule"], found["differentiable"], found["element"], said]


# ---- What is not said, and where


def found_of(model, x, **options):
    with tempfile.TemporaryDirectory() as folder:
        run = os.path.join(folder, "run")
        record(run, model, x, **options)
        with open(os.path.join(run, "run.json"), encoding="utf-8") as f:
            return json.load(f).get("outside")


class Loss(nn.Module):
    """A step with a batch axis."""

    def __init__(self, f):
        super().__init__()
        self.linear, self.f = nn.Linear(2, 2, bias=False), f
        nn.init.eye_(self.linear.weight)

    def forward(self, x):
        return self.f(self.linear(x)).sum()


def places():
    x = torch.tensor([[1.0, 2], [3, 4], [0, 5]])
    found = found_of(Loss(torch.log), x)
    REPORT.check(found["sample"] == 2 and found["entry"] == [2, 0], "the sample is named", found)
    found = found_of(Loss(lambda h: h.sqrt()), x, light=True)
    REPORT.check(found["pass"] == "backward" and found["differentiable"] == UNKNOWN, "a light record has no gradients to look at", found)
    found = found_of(Loss(lambda h: h), torch.tensor([[1.0, float("nan")]]))
    REPORT.check(found["operator"] is not None or "data" in found["rule"], "data that is NaN", found)
    same = Of(lambda h: torch.cdist(h[:, None], h[:, None]).sum(), [1.0, 2, 3])
    try:
        REPORT.check(found_of(same, torch.ones(3))["rounded"], "distances of what was computed twice", "")
    except clarke.Refused:
        REPORT.check(False, "distances of what was computed twice", "refused")

    def squared(h):
        g = h[:, None]
        return torch.cdist(g, g).sum()
    found = found_of(Of(squared, [1.0, 2, 3]), torch.ones(3))
    REPORT.check(found is None, "the distance of a point to itself is 0 everywhere, and no kink", found)
    REPORT.check(found_of(Of(lambda h: h.norm(), [1.0, 0, 0]), torch.ones(3)) is None, "a norm that is not 0")
    REPORT.check(found_of(Of(lambda h: h.norm(), [1e-30, 0, 0]), torch.ones(3)) is None, "a norm of squares that became 0 is not taken for one of zeros")
    REPORT.check(found_of(Of(lambda h: h[:1].std(correction=0) + h.sum(), [1.0, 2, 3]), torch.ones(3)) is None, "the deviation of one number is 0 everywhere")
    masked = Of(lambda h: (h.masked_fill(FIRST, LEAST).softmax(0) * torch.arange(3.0)).sum(), [1.0, 2, 3])
    REPORT.check(found_of(masked, torch.ones(3)) is None, "a mask of minus infinity is no infinity of the step")


def left_out():
    """What is said of an entry that a bound, a condition or another row leaves out is no more than what is so."""
    zero, one, divisor = [0.0, 1, 2], torch.ones(3), torch.tensor([[1.0, 1, 1], [0, 1, 1]])
    for f, w, what in ((lambda h: torch.clamp_min(h.sqrt(), 1e-3).sum(), zero, "a root has no value below 0"),
                       (lambda h: torch.clamp_min(h.log(), -100).sum(), zero, "a logarithm has no value below 0"),
                       (lambda h: torch.clamp_min(h.reciprocal(), 0.5).sum(), [-0.0, 1, 2], "a pole is large on its other side"),
                       (lambda h: torch.where(divisor != 0, h[None] / divisor, 0.0).sum(), [1.0, 2, 3], "another row is divided by 0")):
        found = found_of(Of(f, w), one)
        REPORT.check(not found["differentiable"].startswith(YES), f"{what}: not said to be differentiable", found)
    found = found_of(Of(lambda h: torch.where(h > torch.zeros(3), h.sqrt(), h).sum(), zero), one)
    REPORT.check(found["differentiable"].startswith("not known: the condition"), "a number that is made in the step, and is data, jumps nowhere", found)
    found = found_of(Of(lambda h: torch.where(torch.tensor(h.tolist()) > 0, h.sqrt(), h).sum(), zero), one)
    REPORT.check(found["differentiable"].startswith("not known: Python"), "a condition that Python made of the step's numbers", found)

    def logged(h):
        loss = torch.where(ALL & ~FIRST, h.sqrt(), h).sum()
        loss.item()
        return loss
    found = found_of(Of(logged, zero), one)
    REPORT.check(found["differentiable"].startswith(YES), "a number that goes to a log makes no condition", found)
    found = found_of(Of(lambda h: h.relu().sqrt().sum(), [-1.0, 1, 2]), one)
    REPORT.check(found is not None and (found["pass"], found["operator"], found["entry"]) == ("backward", "aten.sqrt.default", [0]) and "Neither" in found["lines"][0],
                 "an infinite gradient that a ReLU takes for 0", found)
    found = found_of(Of(lambda h: (h / torch.clamp_min(h.square().sum().sqrt(), 1e-6)).sum(), [0.0, 0, 0]), one)
    REPORT.check(found["differentiable"].startswith(YES), "a norm is near 0 near by, and below its bound", found)
    found = found_of(Of(lambda h: torch.where(h[1] * 0.1 + 0.2 > 0.25, h[0] * 2, h[0].sqrt()), zero), one)
    REPORT.check("if exact arithmetic decides" in found["differentiable"], "a condition of what was rounded", found)
    found = found_of(Of(lambda h: torch.where(h > 0.25, h.sqrt(), h).sum(), zero), one)
    REPORT.check("here and near by" in found["differentiable"] and "exact" not in found["differentiable"], "a condition of what was not", found)


def half():
    """The scale of a GradScaler is too large for float16."""
    model = nn.Linear(4, 4)
    with tempfile.TemporaryDirectory() as folder:
        run = os.path.join(folder, "run")
        with clarke.record(run, model), torch.autocast("cpu", dtype=torch.float16):
            (model(torch.ones(2, 4)).float().square().sum() * 2.0 ** 20).backward()
        found = clarke.audit(run).outside
    REPORT.check(found["pass"] == "backward" and "too large for float16" in found["rule"] and found["differentiable"].startswith(YES), "a loss scale too large for float16", found)


def folders():
    with tempfile.TemporaryDirectory() as folder:
        run, bad = os.path.join(folder, "run"), Of(lambda h: h.log().sum(), [0.0, 1, 4])
        record(run, Of(lambda h: h.log().sum(), [1.0, 1, 4]), torch.ones(3))
        for at, model, what in ((run, bad, "leaves the reals"), (os.path.join(folder, "other"), Of(lambda h: h.sum(), [1.0, 1, 4]), "left the reals")):
            if at != run:
                record(at, bad, torch.ones(3))
                bad.zero_grad()
            try:
                record(at, model, torch.ones(3), append=True, step=1)
                REPORT.check(False, "such a step has a folder of its own", "it is put behind another")
            except clarke.Refused as why:
                REPORT.check(what in str(why), "such a step has a folder of its own", why)
            bad.zero_grad()
        optimizer = torch.optim.SGD(bad.parameters(), lr=0.1)
        record(os.path.join(folder, "optimized"), bad, torch.ones(3), optimizer=optimizer)
        optimizer.step()
        bad.w.data.copy_(torch.tensor([0.0, 1, 4]))
        bad.zero_grad()
        answer = clarke.audit(os.path.join(folder, "optimized"))
        REPORT.check(answer.outside is not None and "leaves the reals" in repr(answer), "with an optimizer, too", answer)
        kept = clarke.record(os.path.join(folder, "later"), bad, background=True)
        with kept:
            bad(torch.ones(3)).backward()
        kept.wait()
        REPORT.check(clarke.audit(os.path.join(folder, "later")).outside["rule"].startswith("the logarithm"), "in the background, too")


def main():
    rows = [ask(name, *case) for name, case in CASES.items()]
    titles = ("written", "first", "why", "differentiable there?", "a finite element", "`detect_anomaly` says")
    on_the_page("outside", table(titles, rows), "--write" in sys.argv, PAGE, REPORT)
    places()
    left_out()
    half()
    folders()
    return REPORT.close()


if __name__ == "__main__":
    sys.exit(main())
