"""What L-BFGS makes of a step: it evaluates its closure several times, where its iterations have gone (docs/run-format.md)."""
import inspect
import sys
import threading

import torch
from torch.utils._python_dispatch import _disable_current_modes

from ..files import SAFETENSORS
from ..refused import Refused
from ..tracing.sparse import dense
from .updates import Update, is_inner, number

PROGRAM = inspect.unwrap(torch.optim.LBFGS.step).__code__
LISTS = "old_dirs", "old_stps", "ro"  # of its state, one tensor for each pair
KEPT = "d", "t", "H_diag", "prev_flat_grad", *LISTS


def shares(g, dirs, steps, ro, scale):
    """The shares of the pairs in the direction of the gradient g, computed again as step() has: those of its first loop, and of its second."""
    al, be, q = [None] * len(dirs), [], g.neg()
    for i in reversed(range(len(dirs))):
        al[i] = steps[i].dot(q) * ro[i]
        q.add_(dirs[i], alpha=-al[i])
    r = torch.mul(q, scale)
    for i in range(len(dirs)):
        be.append(dirs[i].dot(r) * ro[i])
        r.add_(steps[i], alpha=al[i] - be[i])
    return [torch.tensor([float(x) for x in of], dtype=torch.float64) for of in (al, be)]


class Evaluated(Update):
    """The next step(closure) of a torch.optim.LBFGS behind the record's backward pass. All parameters of its group are one vector, as it has them."""

    def begin(self, optimizer, args, kwargs):
        if threading.get_ident() != self.thread or not (self.ready or self.record.gradients is not None) or is_inner(optimizer, sys._getframe(1)):
            return None
        with _disable_current_modes(), torch.no_grad():
            self.told, self.tensors, self.evaluations = self.settings(optimizer), {}, []
            self.attempt(self.keep, optimizer, "before", False)
        if "missing" in self.told:
            return None
        given = dict(kwargs)
        closure = given.pop("closure", None) or (args[1] if len(args) > 1 else None)
        if closure is None:  # step() says so
            return None
        return (args[0], self.seen(optimizer, closure)), given

    def seen(self, optimizer, closure):
        """The closure, of which every evaluation is kept."""
        def evaluate():
            with _disable_current_modes(), torch.no_grad():
                held = [p.detach().clone() for p in optimizer.param_groups[0]["params"]]
            loss = closure()
            with _disable_current_modes(), torch.no_grad():
                if "missing" not in self.told:
                    self.attempt(self.note, optimizer, loss, held)
            return loss
        return evaluate

    def settings(self, optimizer):
        told = super().settings(optimizer)
        for g, group in enumerate(optimizer.param_groups):
            told["groups"][g]["parameters"] = [self.name(p, g, i) for i, p in enumerate(group["params"])]
            told["groups"][g]["path"] = "single"
        return told

    def note(self, optimizer, loss, before):
        program = sys._getframe()
        while program is not None and not (program.f_code is PROGRAM and program.f_locals.get("self") is optimizer):
            program = program.f_back
        if program is None:
            raise Refused("L-BFGS", "its step() is not that of torch.optim.LBFGS", "take that class itself")
        now, held = program.f_locals, optimizer.param_groups[0]["params"]
        if not all(map(torch.equal, before, held)):
            raise Refused("L-BFGS", "its closure changes parameters, which are then no longer where an iteration has gone", "change them behind step()")
        if not self.evaluations:
            for i, p in enumerate(held):
                self.put("gradient", None, self.name(p, 0, i), dense(p.grad) if p.grad is not None else torch.zeros_like(p))
        flat = optimizer._gather_flat_grad()
        found = {"theta": torch.cat([p.detach().reshape(-1) for p in held]), "gradient": flat, "loss": number(float(loss))}
        made = len(self.evaluations) > 0  # an iteration, in this step
        found |= {"d": now["d"] if made else torch.zeros_like(flat), "t": number(float(now["t"]) if made else 0.0),
                  "H_diag": number(float(now["H_diag"]) if made else 0.0), "ro": number(float(now["ro"][-1]) if made and now["ro"] else 0.0),
                  "pairs": torch.tensor(len(now["old_dirs"]) if made else 0)}
        if made:
            found["al"], found["be"] = shares(*(now[name] for name in ("prev_flat_grad", *LISTS, "H_diag")))
        self.evaluations.append({name: t.detach().clone() for name, t in found.items()})

    def keep(self, optimizer, part, with_gradients):
        held = optimizer.param_groups[0]["params"]
        types = {p.dtype for p in held}
        if len(types) > 1 or held[0].dtype not in SAFETENSORS:
            raise Refused("L-BFGS", f"its parameters are of {', '.join(sorted(map(str, types)))}", "take one real type for all")
        for i, p in enumerate(held):
            self.put(part, "theta", self.name(p, 0, i), p)
        state = optimizer.state.get(held[0], {})
        for count in "n_iter", "func_evals":
            self.put(part, count, None, number(state.get(count, 0)))
        for name in KEPT if state.get("d") is not None else ():
            value = state[name]
            if name in LISTS and not value:
                continue
            self.put(part, name, None, torch.stack([torch.as_tensor(x) for x in value]) if name in LISTS else torch.as_tensor(value, dtype=torch.float64)
                     if name in ("t", "H_diag") else value)
        if part == "after" and state.get("d") is not None:
            for name, of in zip(("al", "be"), shares(*(state[name] for name in ("prev_flat_grad", *LISTS, "H_diag"))), strict=True):
                if len(of) > 0:
                    self.put(part, name, None, of)

    def end(self, optimizer, args, kwargs):
        if threading.get_ident() == self.thread and self.told is not None and "missing" not in self.told and not (self.made or is_inner(optimizer, sys._getframe(1))):
            with _disable_current_modes(), torch.no_grad():
                self.attempt(self.put_evaluations)
        super().end(optimizer, args, kwargs)

    def put_evaluations(self):
        most = max(int(e["pairs"]) for e in self.evaluations)
        for name in self.evaluations[0]:
            self.put("evaluations", name, None, torch.stack([e[name] for e in self.evaluations]))
        for name in ("al", "be") if most > 0 else ():
            of = [e.get(name, torch.zeros(0, dtype=torch.float64)) for e in self.evaluations]
            self.put("evaluations", name, None, torch.stack([torch.cat([x, x.new_zeros(most - len(x))]) for x in of]))
