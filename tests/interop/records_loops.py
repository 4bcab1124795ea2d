#!/usr/bin/env python3
"""Callbacks of training loops that others run: clarke.lightning.Auditor and clarke.hf.AuditorCallback.

    records_loops.py CLARKE

The loops here are stand-ins of the two protocols: they call what Lightning and Hugging Face's Trainer call, in their order.
"""
import contextlib
import io
import os
import subprocess
import sys
import tempfile
import types

import torch
from torch import nn
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
TOOLS = os.path.join(HERE, "..", "..", "tools", "python")
sys.path.insert(0, TOOLS)
os.environ["CLARKE"] = os.path.abspath(sys.argv[1])
import clarke  # noqa: E402
from report import Report  # noqa: E402

REPORT = Report()


class Callback:
    pass


def stand_in(name, **classes):
    """A package with only these."""
    parts = name.split(".")
    for i in range(1, len(parts) + 1):
        sys.modules[".".join(parts[:i])] = types.ModuleType(".".join(parts[:i]))
    for key, value in classes.items():
        setattr(sys.modules[name], key, value)


class Net(nn.Module):
    automatic_optimization = True

    def __init__(self, bad=None):
        super().__init__()
        self.net, self.bad = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)), bad

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, batch_idx):
        loss = F.cross_entropy(self(batch[0]), batch[1])
        return loss * torch.special.digamma(batch[0][0].relu() + loss)[-1] if batch_idx == self.bad else loss


def batches(n):
    draw = torch.Generator().manual_seed(1)
    return [(torch.randn(5, 3, generator=draw), torch.randint(0, 2, (5,), generator=draw)) for _ in range(n)]


def fit(module, callback, n, accumulate=1):
    """As Lightning: gradients are cleared in the closure, between the forward and the backward pass."""
    trainer, optimizer = types.SimpleNamespace(accumulate_grad_batches=accumulate), torch.optim.SGD(module.parameters(), lr=0.1)
    for i, batch in enumerate(batches(n)):
        callback.on_train_batch_start(trainer, module, batch, i)
        loss = module.training_step(batch, i) / accumulate
        if i % accumulate == 0:
            optimizer.zero_grad()
        loss.backward()
        callback.on_after_backward(trainer, module)
        if (i + 1) % accumulate == 0:
            optimizer.step()


def train(model, callback, n, accumulate=1):
    """As Trainer: gradients are cleared behind the optimizer's step."""
    optimizer, state, data = torch.optim.AdamW(model.parameters()), types.SimpleNamespace(global_step=0), iter(batches(n))
    for _ in range(n // accumulate):
        callback.on_step_begin(None, state, None, model=model)
        for i in range(accumulate):
            x, y = next(data)
            (F.cross_entropy(model(x), y) / accumulate).backward()
            if i + 1 < accumulate:
                callback.on_substep_end(None, state, None, model=model)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        callback.on_pre_optimizer_step(None, state, None, model=model)
        optimizer.step()
        model.zero_grad()
        state.global_step += 1


def trained(run, *with_callback):
    """The weights that a training ends with."""
    torch.manual_seed(0)
    model = Net()
    run(model, *with_callback)
    return torch.cat([p.detach().reshape(-1) for p in model.parameters()])


def ask(name, run, make):
    with tempfile.TemporaryDirectory() as folder:
        auditor = make(folder, every=3)
        after = trained(run, auditor, 7)
        clarke.answer.settle()
        answers = {}
        for step in sorted(os.listdir(folder)):
            answers[step] = clarke.audit(os.path.join(folder, step))
        REPORT.check(list(answers) == ["step-000000", "step-000003", "step-000006"], f"{name}: one step in three", list(answers))
        REPORT.check(all(a.answer == "explained" for a in answers.values()), f"{name}: each is explained", [a.answer for a in answers.values()])
        REPORT.check(not auditor.refused, f"{name}: none is refused", auditor.refused)
        nothing = types.SimpleNamespace(**{key: lambda *_, **__: None for key in dir(auditor) if key.startswith("on_")})
        REPORT.check(torch.equal(after, trained(run, nothing, 7)), f"{name}: the training is what it is without")


def ask_refused(name, run, make, model, n, wanted):
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()) as told:
        auditor = make(folder, every=1)
        run(model, auditor, *n)
        clarke.answer.settle()
        for step in os.listdir(folder):
            REPORT.check(clarke.audit(os.path.join(folder, step)).answer == "explained", f"{name}: {step} is explained")
        REPORT.check(sorted(auditor.refused) == wanted, f"{name}: what is refused is told, and the training goes on", auditor.refused)
        REPORT.check(told.getvalue().count("was not recorded") == (1 if wanted else 0), f"{name}: once", told.getvalue())


def ask_epochs(make):
    """A second epoch, in which Lightning's batches have the first one's numbers, is put into folders of its own."""
    with tempfile.TemporaryDirectory() as folder:
        auditor, module = make(folder, every=2), Net()
        for _ in range(2):
            fit(module, auditor, 3)
        clarke.answer.settle()
        REPORT.check(sorted(os.listdir(folder)) == ["step-000000", "step-000002", "step-000004"] and not auditor.refused, "two epochs", sorted(os.listdir(folder)))


def ask_failed(make):
    """A training that fails within a step leaves no mode behind, and no folder."""
    with tempfile.TemporaryDirectory() as folder:
        auditor, module = make(folder, every=1), Net()
        auditor.on_train_batch_start(types.SimpleNamespace(accumulate_grad_batches=1), module, None, 0)
        auditor.on_exception(None, module, KeyboardInterrupt())
        REPORT.check(not torch.utils._python_dispatch._get_current_dispatch_mode_stack() and os.listdir(folder) == [], "a step without an end", os.listdir(folder))


def around(folder, clears, **options):
    """A loop's whole body in the block, as most are written, from the second step on with gradients of the step before; the weights afterwards."""
    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for i, (x, y) in enumerate(batches(3)):
        with clarke.record(os.path.join(folder, f"step-{i}"), model, optimizer=optimizer, **options) if folder else contextlib.nullcontext() as record:
            if clears == "before":
                optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            if clears == "between":
                optimizer.zero_grad(set_to_none=i % 2 > 0)
            loss.backward()
            optimizer.step()
        if record is not None:
            record.wait()
    return torch.cat([p.detach().reshape(-1) for p in model.parameters()])


def ask_cleared():
    """Gradients may be set to 0 in the block, before the forward pass or the backward pass; where nobody does it is told."""
    for clears in ("before", "between"):
        for options in ({}, {"light": True}, {"background": True}):
            with tempfile.TemporaryDirectory() as folder:
                after = around(folder, clears, **options)
                said = [clarke.audit(os.path.join(folder, step)) for step in sorted(os.listdir(folder))]
                REPORT.check([a.answer for a in said] == ["explained"] * 3, f"cleared in the block, {clears}, {options}", [a.gradient for a in said])
            REPORT.check(torch.equal(after, around(None, clears)), f"cleared in the block, {clears}, {options}: the training is what it is without")
    with tempfile.TemporaryDirectory() as folder:
        why = ""
        try:
            around(folder, "never")
        except clarke.Refused as refused:
            why = str(refused)
        REPORT.check("net.0.weight: it has a gradient already" in why and os.listdir(folder) == ["step-0"], "never cleared", why)


def main():
    quiet = subprocess.run([sys.executable, "-c", f"import sys; sys.path.insert(0, {TOOLS!r}); import clarke; "
                            "print(any(n.split('.')[0] in ('lightning', 'transformers', 'pytorch_lightning') for n in sys.modules))"], capture_output=True, text=True)
    REPORT.check(quiet.stdout.strip() == "False", "clarke imports neither package", quiet.stdout + quiet.stderr)
    stand_in("lightning.pytorch", Callback=Callback)
    stand_in("transformers", TrainerCallback=Callback)
    import clarke.hf
    import clarke.lightning
    ask("Lightning", fit, clarke.lightning.Auditor)
    ask("Hugging Face", train, clarke.hf.AuditorCallback)
    ask_refused("Lightning", fit, clarke.lightning.Auditor, Net(bad=1), (3,), [1])
    ask_refused("Lightning, accumulated", fit, clarke.lightning.Auditor, Net(), (4, 2), [])
    ask_refused("Hugging Face, accumulated", train, clarke.hf.AuditorCallback, Net(), (4, 2), [])
    ask_epochs(clarke.lightning.Auditor)
    ask_cleared()
    ask_failed(clarke.lightning.Auditor)
    return REPORT.close()


if __name__ == "__main__":
    sys.exit(main())
