#!/usr/bin/env python3
"""What PyTorch differentiates is not what was seen: steps and functions of which a record, or a program, would be another's.

    records_branches.py CLARKE [NAME...]

Python takes a branch where two numbers are equal; numbers leave PyTorch and come back; autograd does not see what happens, or is told
something else. Each is refused with one of its texts. What looks like it, and is right, is recorded.
"""
import copy
import ctypes
import io
import json
import os
import sys
import tempfile

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "python"))
os.environ["CLARKE"] = os.path.abspath(sys.argv[1])
import clarke  # noqa: E402

ZERO, ONE = torch.tensor(0.0), torch.tensor(1.0)
HALF = 2 * torch.tensor(0.1).half().item()
UNKNOWN = "where it jumps is not known"
READ, JUMP, HIDDEN = "Python reads a number", "or a number is where it jumps", "autograd does not know it"
COMPILED, OWN, AGAIN = "is it in a function that is compiled", "a Function of its own", "run again at moved parameters"


class Scaled(nn.Module):
    """Two entries, w and 2 w, and f of them."""

    def __init__(self, f, w):
        super().__init__()
        self.w, self.f = nn.Parameter(torch.as_tensor(w).reshape(1)), f

    def forward(self, x):
        return self.f(self.w * x)


class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        with torch.enable_grad():
            return 2 * x

    @staticmethod
    def backward(ctx, g):
        return 5 * g


def side(t):
    """relu, by a branch of Python's."""
    return t if t > 0 else 0 * t


def nearest(t):
    """0 or 1, on the left and right of 0."""
    picture, places = torch.tensor([0.0, 1.0]).reshape(1, 1, 1, 2), torch.stack([t, 0 * t], -1).reshape(1, 1, -1, 2)
    return F.grid_sample(picture, places, mode="nearest", align_corners=False).reshape(t.shape)


def quantized(t):
    """To multiples of 1/2."""
    return torch.fake_quantize_per_tensor_affine(t, 0.5, 0, -8, 7)


def without_gradients(f):
    with torch.no_grad():
        return f()


def pickled(t):
    file = io.BytesIO()
    torch.save(t.detach(), file)
    file.seek(0)
    return torch.load(file)


def in_memory(t):
    return ctypes.cast(t.detach().data_ptr(), ctypes.POINTER(ctypes.c_float))[0]


def hooked(t):
    s = 2 * t
    s.register_hook(lambda g: 7 * g)
    return s.relu()


def hooked_node(t):
    s = 2 * t
    s.grad_fn.register_prehook(lambda gs: (2 * gs[0],))
    return s.relu()


def not_seen(t):
    with torch.no_grad():
        return t * t


def other_saved(t):
    with torch.autograd.graph.saved_tensors_hooks(lambda s: s, lambda s: s + 1):
        return t.tanh()


def penalty(t):
    return torch.autograd.grad((t ** 2).sum(), t, create_graph=True)[0].sum()


def scripted(t: torch.Tensor):
    s = t * 1
    if bool(s >= 0):
        return s
    return -s


# Of a function of (w, 2 w): name, w, the function, and what refuses it; None: nothing does. A verdict: it is that.
STEPS = {
    "relu by a branch": (0.0, lambda h: side(h[0]) - side(-h[0]), JUMP),
    "a branch aside": (1.0, lambda h: side(h[0]) - side(-h[0]), None),
    "a branch by a quantized number": (0.75, lambda h: h[0] if quantized(h[0]) > 0.3 else 0 * h[0], JUMP),
    "a branch by a quantized number, aside": (0.8, lambda h: h[0] if quantized(h[0]) > 0.3 else 0 * h[0], None),
    "a branch by the largest and the smallest, aside": (0.8, lambda h: h[0] if torch.aminmax(h).max > 0.3 else 0 * h[0], None),
    "equal entries": (0.0, lambda h: 2 * h if (h[0] == h[1]) else h, JUMP),
    "the larger by a branch": (0.0, lambda h: h[int(h.argmax())], JUMP),
    "the larger by a branch, aside": (1.0, lambda h: h[int(h.argmax())], None),
    "a whole number": (1.0, lambda h: h * int(h.sum().long()), JUMP),
    "no whole number": (1.1, lambda h: h * int(h.sum().long()), None),
    "rounded": (0.5, lambda h: h * int((h[0].round() > 0.5)), JUMP),
    "how many are positive": (0.0, lambda h: h.relu() / max(1, (h > 0).nonzero().shape[0]), JUMP),
    "how many are positive, aside": (1.0, lambda h: h.relu() / max(1, (h > 0).nonzero().shape[0]), None),
    "how many are not zero": (0.0, lambda h: h.relu() / max(1, h.nonzero().shape[0]), JUMP),
    "how many there are": (1.0, lambda h: h / h.detach().unique().numel(), UNKNOWN),
    "a mask of remainders": (1.0, lambda h: torch.where(h % 1 > 0.4, 5 * h, h), UNKNOWN),
    "a mask of quotients that are floored": (1.0, lambda h: torch.where(h // 1 > 0.5, 5 * h, h), UNKNOWN),
    "a mask of what is floored in place": (1.0, lambda h: torch.where(h.clone().floor_() > 0.5, 5 * h, h), UNKNOWN),
    "a mask of signs in place": (1.0, lambda h: torch.where((h - 1).sign_() > 0.5, 5 * h, h), UNKNOWN),
    "a mask of what is rounded in place": (0.5, lambda h: torch.where(h.clone().round_() > 0.5, 5 * h, h), UNKNOWN),
    "a mask of the nearest": (1.0, lambda h: torch.where(nearest(h - 1) > 0.5, 5 * h, h), UNKNOWN),
    "a mask beside a pole": (1.0, lambda h: torch.where((h - 1).reciprocal() > 0.5, 5 * h, h), UNKNOWN),
    "a mask beside a pole in place": (1.0, lambda h: torch.where(torch.ones(2).div_(h - 1).relu_() > 0.5, 5 * h, h), UNKNOWN),
    "a mask of 0 by 0": (1.0, lambda h: torch.where((h - 1) / (h - 1).abs() > 0.5, 5 * h, h), UNKNOWN),
    "a mask of 0^0": (1.0, lambda h: torch.where(torch.zeros(2) ** (h - 1) > 0.5, 5 * h, h), UNKNOWN),
    "a mask of 0 log 0": (1.0, lambda h: torch.where(torch.xlogy(h - 1, ZERO) > 0.5, 5 * h, h), UNKNOWN),
    "a mask of 0 log 0 as 0 log(1 - 1)": (1.0, lambda h: torch.where(torch.special.xlog1py(h - 1, ZERO - 1) > 0.5, 5 * h, h), UNKNOWN),
    "a mask of a root's end": (1.0, lambda h: torch.where((h - 1).sqrt() >= -1, 5 * h, h), UNKNOWN),
    "a mask of a root's end in place": (1.0, lambda h: torch.where((h - 1).sqrt_() >= -1, 5 * h, h), UNKNOWN),
    "a mask of a power's end": (1.0, lambda h: torch.where((h - 1) ** 1.5 >= -1, 5 * h, h), UNKNOWN),
    "a mask of an entropy's end": (1.0, lambda h: torch.where(torch.special.entr(h - 1) >= -1, 5 * h, h), UNKNOWN),
    "a mask of an angle's end": (1.0, lambda h: torch.where(h.acos() >= -1, 5 * h, h), UNKNOWN),
    "a mask of the other angle's end": (-1.0, lambda h: torch.where(h.asin() >= -2, 5 * h, h), UNKNOWN),
    "a mask of a hyperbolic angle's end": (1.0, lambda h: torch.where(h.acosh() >= -1, 5 * h, h), UNKNOWN),
    "a mask of whether a root is a number": (1.0, lambda h: torch.where(torch.isnan((h - 1).sqrt()), h, 5 * h), UNKNOWN),
    "a mask of whether a root is a number, aside": (2.0, lambda h: torch.where(torch.isnan((h - 1).sqrt()), h, 5 * h), None),
    "a branch by whether a logarithm is infinite": (1.0, lambda h: h if torch.isinf((h - 1).log()).any() else 5 * h, UNKNOWN),
    "a mask by how many are not 0": (1.0, lambda h: torch.where((h - 1).norm(p=0) > 1.5, 5 * h, h), UNKNOWN),
    "a mask by how many differ": (1.0, lambda h: torch.where(torch.dist(h, torch.ones(2), 0) > 1.5, 5 * h, h), UNKNOWN),
    "a mask by how many of a row differ": (1.0, lambda h: torch.where(torch.cdist(h[None], torch.ones(1, 2), p=0)[0] > 1.5, 5 * h, h), UNKNOWN),
    "a mask by how many of rows differ": (1.0, lambda h: torch.where(F.pdist(torch.stack([h, torch.ones(2)]), 0) > 1.5, 5 * h, h), UNKNOWN),
    "a mask of quotients, aside": (1.0, lambda h: torch.where((1 / h).log() > 0.5, 5 * h, h), None),
    "a mask of what is infinite by a mask, aside": (1.0, lambda h: torch.where(h.masked_fill(torch.tensor([False, True]), float("-inf")) > 0.5, 5 * h, h), None),
    "a mask of a norm, aside": (1.0, lambda h: torch.where(h.norm(p=3) ** 2 > 0.5, 5 * h, h), None),
    "a mask of comparisons in place": (1.0, lambda h: torch.where(h.clone().gt_(1) > 0.5, 5 * h, h), UNKNOWN),
    "a mask of what is rounded to a tenth": (0.25, lambda h: torch.where(h.round(decimals=1) > 0.22, 5 * h, h), UNKNOWN),
    "a mask of steps": (1.0, lambda h: torch.where(torch.heaviside(h - 1, ZERO) > 0.5, 5 * h, h), UNKNOWN),
    "how many are not floored to zero": (1.0, lambda h: h.relu() / max(1, h.floor().nonzero().shape[0]), JUMP),
    "a mask of roots, aside": (1.0, lambda h: torch.where(h.sqrt() + h.cos() > 0.5, 5 * h, h), None),
    "finite numbers": (1.0, lambda h: h if torch.isfinite(h.sum()) else 0 * h, None),
    "no NaN": (0.0, lambda h: h if not torch.isnan(h).any() else 0 * h, None),
    "no number but NaN": (0.0, lambda h: h if (h == h).all() else 0 * h, None),
    "nearly equal": (1.0, lambda h: h if torch.allclose(h, 2 * h) else 2 * h, READ),
    "equal to a constant": (0.0, lambda h: h if torch.equal(torch.zeros(2), h) else 2 * h, READ),
    "dlpack": (1.0, lambda h: h * torch.from_numpy(np.from_dlpack(h.detach()) + 1), READ),
    "torch's dlpack": (1.0, lambda h: h * torch.from_dlpack(h.detach()), READ),
    "bytes of the storage": (1.0, lambda h: h * h.detach().untyped_storage().tolist()[3], READ),
    "the typed storage": (1.0, lambda h: h * h.detach().storage()[0], READ),
    "a pickle": (1.0, lambda h: h * pickled(h), READ),
    "memory": (1.0, lambda h: h * in_memory(h), READ),
    "what is printed": (1.0, lambda h: h * float(repr(h.detach()[0])[7:-1]), READ),
    "a copy": (1.0, lambda h: h * copy.deepcopy(h.detach()), AGAIN),
    "a compiled function": (1.0, torch.compile(lambda h: h.relu() * h, backend="aot_eager"), (COMPILED, OWN, "cannot be written")),
    "hardtanh at its bound in float16": (torch.tensor(0.1).half(), lambda h: F.hardtanh(h, 0.1, 9) - F.hardtanh(HALF - h, 0.1, 9), "not-in-clarke"),
    "clamp at its bound in bfloat16": (torch.tensor(0.1).bfloat16(), lambda h: torch.clamp(h, 0.1, 9), "in-bouligand"),
}
# Of clarke.derive: the point, the function, and what refuses it, or the verdict.
FUNCTIONS = {
    "the larger by Python": (torch.zeros(2), lambda t: max(t[0] * 1, t[1] * 1), JUMP),
    "the larger by Python, aside": (torch.tensor([0.0, 1.0]), lambda t: max(t[0] * 1, t[1] * 1), "in-bouligand"),
    "a scripted branch": (ZERO, torch.jit.script(scripted), JUMP),
    "one of two by its number": (ZERO, lambda t: (lambda a, b: a if a.item() >= 0 else b)(t * 1, -t), READ),
    "a kink that only a mask reads": (ZERO, lambda t: t * (t.relu() > -1), None),
    "a mask at such a kink": (ZERO, lambda t: (t + 1) * (t.relu() > 0), "undecided"),
    "detached": (ONE, lambda t: t.detach() * t, HIDDEN),
    "data": (ONE, lambda t: t.data * t, HIDDEN),
    "a number": (ONE, lambda t: t.item() * t, READ),
    "not seen": (ONE, lambda t: not_seen(t) * t, HIDDEN),
    "nothing seen": (ONE, lambda t: not_seen(t), HIDDEN),
    "a Function": (ONE, lambda t: Wrong.apply(t), OWN),
    "a hook": (ONE, hooked, "a hook changes a gradient"),
    "a hook on a node": (ONE, hooked_node, "something else was differentiated"),
    "a branch by how many are not 0": (torch.tensor([0.0, 1.0]), lambda t: (5 * t if bool(t.norm(p=0) > 1.5) else t).sum(), UNKNOWN),
    "other numbers saved": (torch.tensor(0.5), other_saved, "something else was differentiated"),
    "a derivative": (ONE, penalty, "a backward pass"),
    "a mask": (ZERO, lambda t: (t > 0) * t - (-t > 0) * -t, "not-in-clarke"),
    "a sum of conditions in bool": (ONE, lambda t: t * ((t > 0) + (t > -1)), HIDDEN),
    "a mask behind a number": (ONE, lambda t: t * (t.detach() * (t > 0)), HIDDEN),
    "a mask of what is detached": (ZERO, lambda t: t * (t.detach() > 0), "in-bouligand"),
    "a mask without gradients": (ZERO, lambda t: t * without_gradients(lambda: (t.abs() - t > 0).to(t.dtype)), "in-bouligand"),
    "a root that is not chosen": (ZERO, lambda t: torch.where(t > 0, t.sqrt(), 0 * t), "PyTorch's derivative is nan here"),
    "a pole": (ZERO, lambda t: 1 / t, "aten.reciprocal.default: division by zero"),
    "whether a root is a number": (ZERO, lambda t: torch.where(torch.isnan(t.sqrt()), 0 * t, t), "near by an entry may be no number"),
    "whether a root is a number, away from its end": (ONE, lambda t: torch.where(torch.isnan(t.sqrt()), 0 * t, t), "in-bouligand"),
    "a branch": (ZERO, lambda t: side(t) - side(-t), JUMP),
    "a branch aside": (ONE, lambda t: side(t) - side(-t), "in-bouligand"),
    "floats on another side": (torch.tensor(0.3), lambda t: (t / 3 - 0.1).relu(), "floats took another branch"),
    "lemma 2": (ZERO, lambda t: t.relu() - (-t).relu(), "not-in-clarke"),
    "a constant": (ZERO, lambda t: torch.tensor(2.0) * torch.tensor(3.0), "in-bouligand"),
    "a drawn mask": (torch.zeros(3), lambda t: F.dropout(t, 0.5).sum(), "in-bouligand"),
    "infinite": (ZERO, lambda t: t.abs().sqrt(), "undecided"),
    "hardtanh at its bound in float16": (torch.tensor(0.1).half(), lambda t: F.hardtanh(t, 0.1, 9) - F.hardtanh(HALF - t, 0.1, 9), "not-in-clarke"),
}


def step_of(w, f):
    x = torch.tensor([1.0, 2.0]).to(torch.as_tensor(w).dtype)
    model = Scaled(f, w)
    with tempfile.TemporaryDirectory() as folder:
        run = os.path.join(folder, "run")
        with clarke.record(run, model):
            model(x).sum().backward()
        answer = clarke.audit(run)
        with open(os.path.join(run, "run.json")) as file:
            branches = json.load(file)["branches"]
    if [n.split()[1] for n in answer.report.get("notes", [])] != branches:
        return "other notes", branches
    return answer.verdict if answer.gradient["explained"] else f"explained: {answer.gradient}", branches


def wrong(name, says, ask):
    """What is wrong with the answer; nothing, if all is right."""
    torch.manual_seed(0)
    try:
        found, branches = ask()
    except clarke.Refused as why:
        texts = says if isinstance(says, tuple) else (says,) if says else ()
        return None if any(t in str(why) for t in texts) else f"refused: {why}"
    if found != (says or "in-bouligand"):
        return f"{found}, and not {says}"
    aside = name.endswith("aside") or name.startswith(("no ", "finite"))
    return None if bool(branches) == aside else f"branches: {branches}"


def derived(at, f):
    found = clarke.derive(f, at)
    return found["verdict"], found["branches"]


def appended():
    """A branch of one step is noted of every step of the folder."""
    model, first = Scaled(lambda h: 2 * h if first and h.sum() > 0.5 else 2 * h, 1.0), True
    with tempfile.TemporaryDirectory() as folder:
        for step in (0, 1):
            model.zero_grad()
            with clarke.record(os.path.join(folder, "run"), model, step=step, append=step > 0):
                model(torch.ones(2)).sum().backward()
            first = False
        notes = [clarke.audit(os.path.join(folder, "run"), options=["--step", str(i)]).report.get("notes", []) for i in (0, 1)]
    return 0 if len(notes[0]) == 1 and notes[0] == notes[1] else f"notes of steps: {notes}"


def main():
    failed, asked = 0, 0
    if said := appended():
        failed += 1
        print(f"FAILED: {said}")
    for kind, table, ask in (("step", STEPS, lambda w, f: step_of(w, f)), ("function", FUNCTIONS, derived)):
        for name, (at, f, says) in table.items():
            if sys.argv[2:] and name not in sys.argv[2:]:
                continue
            asked += 1
            try:
                said = wrong(name, says, lambda: ask(at, f))
            except Exception as why:  # any other error is no refusal
                said = f"{type(why).__name__}: {why}"
            if said:
                failed += 1
                print(f"FAILED: {kind}, {name}: {said}", flush=True)
    print(f"{asked} branches and numbers, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
