#!/usr/bin/env python3
"""Steps that are run again at moved parameters: honest ones pass and leave nothing behind; what the dispatcher does not show is refused.

    records_again.py CLARKE CLARKE-CHECK

The attacks run twice: as a user meets them, and with all that watches for setters and readers switched off, so that to run again must
find them by itself.
"""
import contextlib
import copy
import ctypes
import io
import itertools
import json
import os
import pickle
import random
import subprocess
import sys
import tempfile
import threading
import types

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "python"))
sys.path.append(os.path.join(HERE, "..", "tools"))
CLARKE, CHECK = (os.path.abspath(p) for p in sys.argv[1:3])
os.environ["CLARKE"] = CLARKE
import clarke  # noqa: E402
from clarke.graph import graph  # noqa: E402
from clarke.tracing import dispatched as trace  # noqa: E402
from attacked import Net  # noqa: E402
from expect import expect, finish  # noqa: E402

ATTACKS, relu, AGAIN = [], torch.relu, "run again at moved parameters"
ONE = torch.ones(1, 1)


def attack(w=0.0, alone=True, says=""):
    """A function of a model with the weights w and v = 2 w, which is no function that its operators show. alone: does to run again find it
    by itself?"""
    def note(f):
        ATTACKS.append((f.__name__, f, w, alone, says))
        return f
    return note


class Model(nn.Module):
    def __init__(self, f, w):
        super().__init__()
        self.w, self.v, self.f, self.seen, self.kept = nn.Parameter(torch.tensor([[w]])), nn.Parameter(torch.tensor([[2 * w]])), f, None, None

    def forward(self, x):
        return self.f(self, x)


def lemma2(h, k):
    """With k = -relu(-h) the identity; AD thinks that it is relu(h)."""
    return relu(h) + k


# ---- Setters of tensors


@attack(says="behind autograd's back")
def data(m, x):
    k = torch.empty(1, 1)
    k.data = -relu(-x @ m.w)
    return lemma2(x @ m.w, k)


@attack(alone=False)
def data_without_gradients(m, x):
    k = torch.empty(1, 1)
    with torch.no_grad():
        k.data = -relu(-x @ m.w)
    return lemma2(x @ m.w, k)


@attack(1.0)
def factor(m, x):
    h, k = x @ m.w, torch.empty(1, 1)
    k.data = h
    return h * k


@attack(1.0, says="the memory of a tensor was replaced")
def binary_connect(m, x):
    kept = m.w.data
    m.w.data = m.w.data.sign()
    out = x @ m.w
    m.w.data = kept
    return out


@attack(0.75, says="the memory of a tensor was replaced")
def on_its_grid(m, x):
    m.w.data = (64 * m.w.data).round() / 64
    return x @ m.w


@attack(1.0, says="the memory of a tensor was replaced")
def twice_the_other(m, x):
    m.v.data = 2 * m.w.data
    return x @ m.v + x @ m.w


@attack(1.0, says="the memory of a tensor was replaced")
def vector(m, x):
    nn.utils.vector_to_parameters(2 * m.w.detach().reshape(-1), [m.v])
    return x @ m.v + x @ m.w


@attack(1.0, alone=False)
def copied_onto_itself(m, x):
    m.w.data.copy_(m.w.data.sign())
    return x @ m.w


@attack(1.0, alone=False)
def copied_without_gradients(m, x):
    with torch.no_grad():
        m.v.copy_(2 * m.w)
    return x @ m.v + x @ m.w


@attack(1.0, alone=False)
def filled(m, x):
    m.v.data.fill_(2)
    return x @ m.v + x @ m.w


@attack()
def replaced_activation(m, x):
    h = x @ m.w
    a = 1 * h
    a.data = -relu(-h)
    return lemma2(h, a)


@attack(alone=False)
def swapped(m, x):
    k = 1 * torch.empty(1, 1)
    torch.utils.swap_tensors(k, -relu(-x @ m.w).detach())
    return lemma2(x @ m.w, k)


@attack(alone=False)
def set_to(m, x):
    k = torch.empty(1, 1)
    k.set_(-relu(-x @ m.w).detach())
    return lemma2(x @ m.w, k)


@attack()
def set_to_storage(m, x):
    k, h = torch.empty(0), -relu(-x @ m.w).detach()
    k.set_(h.untyped_storage(), 0, (1, 1))
    return lemma2(x @ m.w, k)


@attack(alone=False)
def storage_copied(m, x):
    k = torch.empty(1, 1)
    k.untyped_storage().copy_((-relu(-x @ m.w)).detach().untyped_storage())
    return lemma2(x @ m.w, k)


@attack()
def foreach(m, x):
    k = torch.empty(1, 1)
    torch._foreach_copy_([k], [-relu(-x @ m.w).detach()])
    return lemma2(x @ m.w, k)


@attack(alone=False)
def resized(m, x):
    k = torch.empty(0)
    k.resize_(1, 1).copy_(-relu(-x @ m.w).detach())
    return lemma2(x @ m.w, k)


# ---- Ways round PyTorch


@attack()
def numpy_and_back(m, x):
    return lemma2(x @ m.w, torch.from_numpy(-relu(-x @ m.w).detach().numpy()))


@attack()
def numpy_in_place(m, x):
    k = torch.zeros(1, 1)
    k.numpy()[:] = -relu(-x @ m.w).detach().numpy()
    return lemma2(x @ m.w, k)


@attack()
def as_array(m, x):
    return lemma2(x @ m.w, torch.from_numpy(np.array((-relu(-x @ m.w)).detach())))


@attack()
def by_item(m, x):
    return lemma2(x @ m.w, torch.tensor([[min(0.0, (x @ m.w).item())]]))


@attack(alone=False)
def dlpack(m, x):
    return lemma2(x @ m.w, torch.from_dlpack((-relu(-x @ m.w)).detach()))


@attack(alone=False)
def deep_copy(m, x):
    return lemma2(x @ m.w, copy.deepcopy(-relu(-x @ m.w).detach()))


@attack()
def pickled(m, x):
    return lemma2(x @ m.w, pickle.loads(pickle.dumps(-relu(-x @ m.w).detach())))


@attack()
def saved(m, x):
    file = io.BytesIO()
    torch.save(-relu(-x @ m.w).detach(), file)
    file.seek(0)
    return lemma2(x @ m.w, torch.load(file))


@attack(says=AGAIN)
def other_thread(m, x):
    made, h = [], x @ m.w
    thread = threading.Thread(target=lambda: made.append(-relu(-h).detach()))
    thread.start()
    thread.join()
    return lemma2(h, made[0])


@attack(says="another thread")
def changed_by_a_thread(m, x):
    k, h = torch.zeros(1, 1), x @ m.w
    h = h + k
    thread = threading.Thread(target=lambda: k.copy_(-relu(-h).detach()))
    thread.start()
    thread.join()
    return lemma2(h, k)


OUTSIDE = np.zeros((1, 1), np.float32)


@attack(says=AGAIN)
def of_c(m, x):
    """What C computes from memory and writes to memory."""
    k, h = torch.zeros(1, 1), x @ m.w
    C.negative_part(ctypes.c_void_p(address(k)), ctypes.c_void_p(address(h)))
    return lemma2(h, k)


def address(t):
    """As C++ asks for it."""
    with torch._C.DisableTorchFunction():
        return torch._C.TensorBase.data_ptr(t)


@attack(1.0)
def array_from_before(m, x):
    """An array that has had the parameter's memory since before the block."""
    if m.seen is None:
        m.seen = m.w.detach().numpy()
    return x @ m.w * torch.from_numpy(m.seen.copy())


@attack(1.0, says=AGAIN)
def cached(m, x):
    """Computed in an earlier step, and again whenever the weight was changed."""
    if m.seen != m.w._version:
        m.seen, m.kept = m.w._version, OUTSIDE + m.w.detach().abs().numpy()
    return x @ m.w * torch.from_numpy(m.kept)


@attack(1.0, says=AGAIN)
def cached_by_numbers(m, x):
    if m.seen is None or not np.array_equal(m.seen, OUTSIDE + memory(m.w)):
        m.seen = memory(m.w) + OUTSIDE
        m.kept = np.abs(m.seen)
    return x @ m.w * torch.from_numpy(m.kept)


def memory(t):
    return np.ctypeslib.as_array(ctypes.cast(address(t), ctypes.POINTER(ctypes.c_float)), (1, 1))


# ---- What is asked


def compiled(folder):
    """A library of C's."""
    source = os.path.join(folder, "part.c")
    with open(source, "w") as f:
        f.write("void negative_part(float *k, const float *h) { *k = *h < 0 ? *h : 0; }\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", source + ".so", source], check=True)
    return ctypes.CDLL(source + ".so")


@contextlib.contextmanager
def blind():
    """Nothing watches for setters of tensors, nor for who reads their numbers."""
    patches = [(trace, "place", lambda t: ()), (trace, "version", lambda t: None), (trace, "hands_out", lambda f: False),
               (trace.Trace, "require_home", lambda self, t: None), (graph, "hidden_in", lambda value: ""),
               (graph, "require_unread", lambda trace, loss: [])]
    kept = [(where, name, getattr(where, name)) for where, name, _ in patches]
    for where, name, new in patches:
        setattr(where, name, new)
    try:
        yield
    finally:
        for where, name, old in kept:
            setattr(where, name, old)


def refusal(f, w, **options):
    """Why the step is refused; nothing, if it is not. One step before it is not recorded."""
    torch.manual_seed(0)
    model = Model(f, w)
    with tempfile.TemporaryDirectory() as folder:
        try:
            model(ONE)
            with clarke.record(os.path.join(folder, "run"), model, **options) as step:
                model(ONE).sum().backward()
            step.wait()
        except clarke.Refused as why:
            return str(why)
        with open(os.path.join(folder, "run", "run.json"), encoding="utf-8") as file:
            return "; ".join(json.load(file)["surrogates"])


def attacks():
    """Each is refused, or told as a surrogate. What needs nobody who watches is found where nobody does, and would be recorded."""
    for name, f, w, by_itself, says in ATTACKS:
        for options in ({}, {"light": True}, {"background": True}):
            why = refusal(f, w, **options)
            expect(says in why and why, f"{name} {options}: {why or 'not refused'}")
        with blind():
            why, unasked = refusal(f, w), refusal(f, w, again=False)
        expect(why and (not by_itself or (AGAIN in why and not unasked)), f"{name}, with nobody who watches: {why}; not run again: {unasked}")
        expect(refused(lambda: clarke.audit(Model(f, w), ONE)), f"audit of {name}")
        if f is not filled:  # what is no input of the function is data
            stand = {"v": torch.tensor([[2 * w]]), "seen": None, "kept": None}
            as_function = lambda t: f(types.SimpleNamespace(w=t, **stand), ONE).sum()  # noqa: E731
            expect(refused(lambda: clarke.derive(as_function, torch.tensor([[w]]))), f"derive of {name}")


def refused(ask):
    """Why; or what is told of surrogates, where nothing is said of the function that is computed."""
    try:
        answer = ask()
    except clarke.Refused as why:
        return str(why)
    return "; ".join(answer.surrogates) if isinstance(answer, clarke.Audited) and answer.in_clarke is not True else ""


def negative_part(h):
    """min(h, 0), by C."""
    k = torch.zeros(h.shape)
    C.negative_part(ctypes.c_void_p(address(k)), ctypes.c_void_p(address(h)))
    return k


def outside_of_modules():
    """A loss that is computed past PyTorch's operators: found where all that gives it is run again, or where a module does it."""
    class Loss(nn.Module):
        def forward(self, out):
            return lemma2(out, negative_part(out)).sum()

    for loss, found_by_calls in ((lambda out: lemma2(out, negative_part(out)).sum(), False), (Loss(), True)):
        for whole in (False, True):
            model = Model(lambda m, x: x @ m.w, 0.0)
            with tempfile.TemporaryDirectory() as folder:
                def record():
                    with clarke.record(os.path.join(folder, "run"), model, again=(lambda: loss(model(ONE))) if whole else True):
                        loss(model(ONE)).backward()
                why = refused(record)
            expect((AGAIN in why) == (whole or found_by_calls), f"a loss past PyTorch, {found_by_calls} {whole}: {why}")
        expect(AGAIN in refused(lambda: clarke.audit(model, ONE, None, lambda out, _: loss(out))), "audit of a loss past PyTorch")


def to_both_sides():
    """Steps that are put behind others are moved to both sides, too: what shows on one side alone is in each."""
    found = []
    for side in (1, -1):
        def part(m, x):
            h = x @ m.w
            return h + (negative_part(side * (h - 1)) if m.seen else torch.zeros(1, 1))

        def record(step):
            with clarke.record(run, model, step=step, append=step > 0):
                model(ONE).sum().backward()
            model.zero_grad()

        model = Model(part, 1.0)
        with tempfile.TemporaryDirectory() as folder:
            run, model.seen = os.path.join(folder, "run"), True
            expect(AGAIN in refused(lambda: record(0)), f"the first step is moved to both sides, {side}")
            model.zero_grad()
            model.seen = None
            record(0)
            model.seen = True
            found.append([])
            for step in (1, 2, 3):
                found[-1].append(AGAIN in refused(lambda: record(step)))
                model.zero_grad()
            model.seen = None
            record(4)
    expect(found == [[True, True, True]] * 2, f"a number that shows on one side alone: {found}")


def what_is_said():
    """In run.json, and first in the report where nothing was run again."""
    for again, held, of_report in ((True, "calls", "calls"), (False, None, "nothing"), (lambda: model(X).sum(), "loss", "loss")):
        model = Net()
        with tempfile.TemporaryDirectory() as folder:
            run = os.path.join(folder, "run")
            with clarke.record(run, model, again=again):
                model(X).sum().backward()
            with open(os.path.join(run, "run.json")) as f:
                expect(json.load(f)["steps"][0]["again"] == held, f"run.json of {of_report}")
            report = subprocess.run([CLARKE, "audit", os.path.join(run, "")], capture_output=True, text=True).stdout
            expect(("NOT run again" in report.split("\n\n")[1]) == (held is None), f"the report of {of_report}: {report[:200]}")
            expect(clarke.audit(run).gradient["again"] == of_report, f"JSON of {of_report}")
    for ask in (lambda f: clarke.audit(Model(lambda m, x: f(x @ m.w), 0.0), ONE, again=False).verdict,
                lambda f: clarke.derive(lambda t: f(t).sum(), torch.zeros(1, 1), again=False)["verdict"]):
        expect(ask(lambda h: lemma2(h, negative_part(h))) == "in-bouligand", "unasked, nothing is found")
    name = refused(lambda: clarke.audit(nn.Sequential(nn.Linear(1, 1), Model(of_c, 0.0), nn.Tanh()), ONE))
    expect(name.startswith("1, " + AGAIN), f"the module is named: {name}")
    model = Net(lambda h: h.relu() * next(numbers))
    numbers = iter(range(1, 100))
    expect("by operators; again=False" in refused(lambda: clarke.audit(model, X)), "a number of an iterator's")
    model = Net(lambda h: h.relu() * {1: 2.0}[next(numbers)])
    numbers = iter(range(1, 100))
    expect("it ended in KeyError" in refused(lambda: clarke.audit(model, X)), "an error of the program's own")


# ---- Honest steps


X, Y = torch.linspace(-2, 3, 24).reshape(6, 4), torch.arange(6) % 3
HONEST = []


def honest(step):
    HONEST.append(step)
    return step


def entropy(model, x=X):
    F.cross_entropy(model(x), Y).backward()


@honest
def plain(record):
    with record(Net()) as model:
        entropy(model)


@honest
def with_modules_of_losses(record):
    with record(nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.ReLU(inplace=True), nn.Dropout(0.3), nn.Linear(5, 3))) as model:
        nn.CrossEntropyLoss()(input=model(X), target=Y).backward()


@honest
def drawn_everywhere(record):
    own, of_numpy = torch.Generator().manual_seed(3), np.random.default_rng(4)

    def between(h):
        h = h + torch.randn(5, generator=own) + torch.from_numpy(of_numpy.normal(size=5)).float() + float(np.random.rand()) + random.random()
        return F.dropout(h, 0.4).relu()
    with record(Net(between)) as model:
        entropy(model)


@honest
def counted(record):
    """What the model counts, caches for its calls and logs."""
    calls, log, scratch = [], {"sums": []}, torch.zeros(6, 5)

    def between(h):
        calls.append(h)
        log["sums"].append(h.detach())
        torch.mul(torch.ones(6, 5), len(calls), out=scratch)
        return (calls[-1] * len(log["sums"]) + scratch).relu()
    model = Net(between)
    with record(model):
        (F.cross_entropy(model(X), Y) + model(X + 1).square().mean()).backward()


class Memory(nn.Module):
    """Its second call reads what the first left."""

    def __init__(self):
        super().__init__()
        self.cell, self.last, self.state = nn.GRUCell(4, 5), nn.Linear(5, 3), None

    def forward(self, x, flip=False):
        self.state = self.cell(-x if flip else x, self.state)
        return self.last(self.state)


@honest
def with_a_memory(record):
    with record(Memory()) as model:
        model(X)
        entropy(lambda x: model(x, flip=True))


@honest
def switched_between_calls(record):
    model = nn.Sequential(nn.Linear(4, 5), nn.Dropout(0.5), nn.Linear(5, 3))
    with record(model):
        loss = F.cross_entropy(model(X), Y)
        model.eval()
        model[1].p = 0.25
        (loss + model(X).square().mean()).backward()
    expect(not model.training and model[1].p == 0.25, "what was switched stays so")


@honest
def computed_before_the_call(record):
    """Closures, arguments and swapped parameters that the block computes of parameters."""
    model = Net()
    with record(model):
        scale = 2 * model.first.bias.relu()
        model.between = lambda h: h.relu() * scale
        twin = {n: p * 1.5 for n, p in model.last.named_parameters()}
        out = torch.func.functional_call(model, {f"last.{n}": t for n, t in twin.items()}, (X,))
        F.cross_entropy(out, Y).backward()


@honest
def entries_changed(record):
    """By way of a view: before the call, in it, and of what the parameters give."""
    def between(h):
        later[:, 2:] = True
        return h.relu().masked_fill(mask, 1.0).masked_fill(later, 2.0) * scale
    model = Net(between)
    with record(model):
        mask, later, scale = (torch.zeros(1, 5, dtype=kind) for kind in (torch.bool, torch.bool, torch.float32))
        mask[:, 1:2] = True
        scale[:, 0:2] = 3.0
        scale[:, 1:] = model.first.bias[1:]
        F.cross_entropy(model(X), Y).backward()


@honest
def inputs_changed(record):
    """In place, by the model and behind its call."""
    def between(h):
        x.mul_(0.5)
        return h.relu() + x[:, :1]
    x = X.clone()
    model = Net(between)
    model.first.requires_grad_(False)
    with record(model):
        out = model(x)
        x.zero_()
        F.cross_entropy(out, Y).backward()


@honest
def surroundings(record):
    """Switches and autocast that end before the block does."""
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.Flatten(), nn.Linear(16, 3))
    with record(model):
        with torch.backends.mkldnn.flags(enabled=False):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                out = model(torch.linspace(-1, 1, 96).reshape(6, 1, 4, 4))
            F.cross_entropy(out.float(), Y).backward()


@honest
def under_autocast(record):
    model = Net()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        with record(model):
            entropy(model)


@honest
def optimizer_in_block(record):
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=5.0, momentum=0.9)
    with record(model):
        entropy(model)
        optimizer.step()
        optimizer.zero_grad()


@honest
def parametrized(record):
    model = Net()
    nn.utils.parametrizations.weight_norm(model.first)
    nn.utils.weight_norm(model.last)
    with record(model):
        entropy(model)


@honest
def checkpointed(record):
    model = Net(lambda h: checkpoint(lambda t: F.dropout(t, 0.5).relu() * t, h, use_reentrant=False))
    with record(model):
        entropy(model)


@honest
def in_parallel(record):
    with record(nn.DataParallel(Net())) as model:
        entropy(model)


@honest
def near_a_branch(record):
    """A move by a 128th would take the other side."""
    model = Net(lambda h: h.relu() if bool(h[0, 0] > model.edge) else -h)
    model.edge = 0.0
    model.edge = model.first(X)[0, 0].item() * (1 + 1e-4) - 1e-4
    with record(model):
        entropy(model)


@honest
def of_other_types(record):
    for kind in (torch.float16, torch.bfloat16, torch.float64):
        with record(Net().to(kind)) as model:
            F.cross_entropy(model(X.to(kind)).float(), Y).backward()


@honest
def not_called_itself(record):
    with record(nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 3)])) as model:
        entropy(lambda x: model[1](model[0](x).relu()))


@honest
def hooks_of_a_user(record):
    model, seen = Net(), []
    model.last.register_forward_hook(lambda m, args, out: 2 * out)
    model.first.register_forward_pre_hook(lambda m, args: (args[0] + 1,))
    model.register_forward_hook(lambda m, args, out: seen.append(out) or out - 1)
    with record(model):
        entropy(model)


@honest
def zeros_alone(record):
    model = Net()
    for p in model.parameters():
        nn.init.zeros_(p)
    with record(model):
        entropy(model)


@honest
def rounded_otherwise(record):
    """Each time by another order, as it were: nothing but rounding differs."""
    times = itertools.count()
    with record(Net(lambda h: h.relu() * (1 + next(times) * 2.0 ** -23))) as model:
        entropy(model)


@honest
def retained(record):
    """A second backward pass finds what autograd has kept."""
    model = nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Linear(5, 3))
    with record(model):
        loss = F.cross_entropy(model(X), Y)
        loss.backward(retain_graph=True)
    loss.backward()


def state_of(model):
    """Its numbers and versions, as bytes; the generators'."""
    tensors = [(n, t._version, t.requires_grad, t.detach().clone(), None if t.grad is None else t.grad.clone())
               for n, t in [*model.named_parameters(), *model.named_buffers()]]
    attributes = [sorted((k, repr(v)) for k, v in vars(m).items() if not isinstance(v, (dict, torch.Tensor)) and k not in ("f", "between"))
                  for m in model.modules()]
    hooks = [sum(len(v) for k, v in vars(m).items() if k.endswith("hooks")) for m in model.modules()]
    modes = [torch.is_grad_enabled(), torch.is_autocast_enabled("cpu"), torch.backends.mkldnn.enabled, torch.get_default_dtype()]
    return repr([tensors, attributes, hooks, modes, torch.get_rng_state().tolist()[:5000], random.getstate(), np.random.get_state()[1:3]])


def honest_steps():
    """Each is recorded, in each way; and the rest of the program goes on as it would without."""
    for step in HONEST:
        for options in ({}, {"light": True}, {"background": True}):
            ends = []
            for again in (True, False):
                models, runs = [], []

                @contextlib.contextmanager
                def record(model):
                    models.append(model)
                    with tempfile.TemporaryDirectory() as folder:
                        with clarke.record(os.path.join(folder, "run"), model, again=again, **options) as recorded:
                            yield model
                        recorded.wait()
                        with open(os.path.join(folder, "run", "run.json")) as f:
                            runs.append(json.load(f)["steps"][0]["again"])

                torch.manual_seed(1)
                np.random.seed(1)
                random.seed(1)
                try:
                    step(record)
                except clarke.Refused as why:
                    expect(False, f"{step.__name__} {options}, again {again}: {why}")
                expect(set(runs) == {"calls" if again else None}, f"{step.__name__} {options}: {runs}")
                ends.append([state_of(model) for model in models])
            expect(ends[0] == ends[1], f"{step.__name__} {options}: something is left behind: {differing(*ends)}")


def differing(a, b):
    return next(((x[max(0, i - 80):i + 40], y[max(0, i - 80):i + 40]) for x, y in zip(a, b) if x != y
                 for i in [next(i for i, (p, q) in enumerate(zip(x, y)) if p != q)]), "")


def main():
    global C
    with tempfile.TemporaryDirectory() as folder:
        C = compiled(folder)
        attacks()
        outside_of_modules()
        to_both_sides()
        what_is_said()
    honest_steps()
    finish()


if __name__ == "__main__":
    main()
