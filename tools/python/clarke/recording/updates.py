"""What an optimizer's step makes of parameters and moments, for the record of the step that it belongs to (docs/run-format.md)."""
import functools
import inspect
import json
import sys
import threading
import weakref

import numpy as np
import torch
from torch.utils._python_dispatch import _disable_current_modes

from ..files import SAFETENSORS, safetensors
from .folder import RUN, Folder
from ..refused import Refused
from ..tracing.sparse import dense, sizes, times

WAITING = weakref.WeakKeyDictionary()  # the update of each optimizer whose step has not come yet
ENDED = weakref.WeakKeyDictionary()  # hooks that are to be removed once no step goes through an optimizer's
PARTS = "before", "gradient", "after"


def exactly(value):
    """A setting of a group as run.json has it: floats are texts, exactly."""
    if isinstance(value, (bool, int, str, type(None))):
        return value
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, torch.Tensor) and value.numel() == 1:
        return {"tensor": str(value.dtype).removeprefix("torch."), "value": float(value).hex()}
    if isinstance(value, (list, tuple)):
        return [exactly(v) for v in value]
    if isinstance(value, (np.float16, np.float32)):  # a shorter type, in which Python's arithmetic rounds, too
        return {"tensor": str(value.dtype), "value": float(value).hex()}
    if isinstance(value, np.generic):
        return exactly(value.item())
    return {"type": type(value).__name__}


def path_of(optimizer, group, held):
    """Which of PyTorch's programs makes the step: single (tensor by tensor), foreach, fused."""
    if group.get("fused"):
        return "fused"
    if group.get("foreach") is not None or group.get("differentiable"):
        return "foreach" if group.get("foreach") else "single"
    if "foreach" not in group:
        return "single"
    return "foreach" if all(p.device.type != "cpu" for p in held) else "single"


def number(value):
    return torch.tensor(value, dtype=torch.float64) if isinstance(value, (int, float)) else value


def is_inner(optimizer, step):
    """Is this step() called by another of the same optimizer, as a subclass calls super().step()? step: the frame that calls the hook."""
    outer = step.f_back
    while outer is not None:
        if outer.f_code is step.f_code and outer.f_locals.get("self") is optimizer:
            return True
        outer = outer.f_back
    return False


class Update:
    """The next step() of an optimizer behind the record's backward pass, in its block or after it. number: of those that the record was given.

    It is added to the folder when it was made. If the next record of the same optimizer begins before, no step was made (a
    GradScaler's skips), and that is added. What cannot be kept is told as `missing`: training goes on in any case."""

    def __init__(self, record, optimizer, number):
        self.folder, self.step, self.thread, self.number = record.path, record.step, threading.get_ident(), number
        self.optimizer, self.record = weakref.ref(optimizer), record
        self.names = {id(p): name for name, p in record.parameters.items()}
        self.tensors, self.told, self.gradients = {}, None, None  # gradients: the sha256 of the record's file, when it is written
        self.made, self.ready, self.later = False, False, None  # ready: the block has ended
        self.hooks = self.hook(optimizer)

    def hook(self, optimizer):
        for hook in ENDED.pop(optimizer, ()):
            hook.remove()
        hooks = [optimizer.register_step_pre_hook(self.begin), optimizer.register_step_post_hook(self.end)]
        optimizer._optimizer_step_post_hooks.move_to_end(hooks[1].id, last=False)  # before others change what the step has made
        return hooks

    # ---- While the optimizer steps

    def begin(self, optimizer, args, kwargs):
        if threading.get_ident() != self.thread or not (self.ready or self.record.gradients is not None) or is_inner(optimizer, sys._getframe(1)):
            return
        with _disable_current_modes(), torch.no_grad():
            self.told = self.settings(optimizer)
            if any(a is not None for a in (*args[1:], kwargs.get("closure"))):
                self.told["missing"] = "step(closure): what computes the gradient inside of the step is not seen"
            else:
                self.attempt(self.keep, optimizer, "before", True)
                if not self.tensors and "missing" not in self.told:
                    self.told["missing"] = "no parameter had a gradient when step() was called: zero_grad() belongs behind it, or before the record"

    def end(self, optimizer, args, kwargs):
        if threading.get_ident() != self.thread or self.told is None or self.made or is_inner(optimizer, sys._getframe(1)):
            return
        with _disable_current_modes(), torch.no_grad():
            if "missing" not in self.told:
                self.attempt(self.keep, optimizer, "after", False)
        self.made = True
        self.release(stepping=True)
        if self.ready:
            self.write()

    awaited = "step()"

    def attempt(self, what, *args):
        try:
            what(*args)
        except Refused as why:
            self.told["missing"], self.tensors = str(why), {}

    def settings(self, optimizer):
        told = {"optimizer": type(optimizer).__name__, "module": type(optimizer).__module__, "groups": []}
        for key in ("grad_scale", "found_inf"):  # a GradScaler's, for steps that divide by it themselves
            value = getattr(optimizer, key, None)
            if value is not None:
                told[key] = float(value).hex()
        for g, group in enumerate(optimizer.param_groups):
            held = [p for p in group["params"] if p.grad is not None]
            names = [self.name(p, g, i) for i, p in enumerate(group["params"]) if p.grad is not None]
            told["groups"].append({"parameters": names, "path": path_of(optimizer, group, held)}
                                  | {key: exactly(value) for key, value in group.items() if key not in ("params", "path", "parameters")})
        return told

    def name(self, p, group, i):
        return self.names.get(id(p), f"group {group}, parameter {i}")

    def keep(self, optimizer, part, with_gradients):
        for g, group in enumerate(optimizer.param_groups):
            for i, p in enumerate(group["params"]):
                name = self.name(p, g, i)
                if p.grad is None:
                    continue
                self.put(part, "theta", name, p)
                if with_gradients and float.fromhex(self.told.get("found_inf", "0x0p+0")) == 0:  # else they are not finite, and nothing may change
                    self.put("gradient", None, name, dense(p.grad))
                    self.put_sparse(name, p.grad)
                for slot, value in optimizer.state.get(p, {}).items():
                    if isinstance(number(value), torch.Tensor):
                        self.put(part, slot, name, number(value))

    def put_sparse(self, name, gradient):
        """Which entries a sparse one has; and where several are added up, what that may round."""
        if gradient.layout != torch.sparse_coo:
            return
        self.put("times", None, name, times(gradient))
        if int(self.tensors[f"times/{name}"].max() if gradient.numel() > 0 else 0) > 1:
            self.put("sizes", None, name, sizes(gradient))

    def put(self, part, slot, name, t):
        if t.layout != torch.strided or t.dtype not in SAFETENSORS:
            raise Refused(name or self.told["optimizer"], f"its {slot or part} is {t.dtype}, {t.layout}, and not kept", "take a dense one of a type that safetensors has")
        if not bool(torch.isfinite(t).all()):
            raise Refused(name or self.told["optimizer"], f"its {slot or part} has an entry that is not finite, {part if slot else 'given to the optimizer'}",
                          "see docs/outside.md for what made it")
        self.tensors["/".join(x for x in (part, slot, name) if x is not None)] = t.detach().clone()

    def release(self, stepping=False):
        """stepping: step() goes through the hooks behind it; where there are others, none may be removed there."""
        optimizer = self.optimizer()
        if stepping and len(optimizer._optimizer_step_post_hooks) > 1:
            ENDED.setdefault(optimizer, []).append(self.hooks.pop())
        for hook in self.hooks:
            hook.remove()
        self.hooks, self.record = [], None
        if optimizer is not None and WAITING.get(optimizer) is self:
            del WAITING[optimizer]

    # ---- Into the folder

    def files(self, folder):
        """Puts the file, and gives the step's entries in run.json: the file's, and what is told."""
        if not self.tensors:
            return {}, self.told
        name = "optimizer" if self.number == 0 else f"optimizer-{self.number}"
        return {"optimizer": folder.put(f"step-{self.step:06}.{name}.safetensors", safetensors(self.tensors))}, self.told

    def put_in(self, folder, step, files):
        """Into a step of run.json, and its files: the first optimizer's entries are the step's own, those of others in a list."""
        more, told = self.files(folder)
        if self.number == 0:
            files |= more
            step["update"] = told
        else:
            step["updates"] = sorted([*step.get("updates", []), {"number": self.number} | more | {"update": told}], key=lambda u: u["number"])

    def is_in(self, step):
        return "update" in step if self.number == 0 else any(u["number"] == self.number for u in step.get("updates", []))

    def wait(self, later):
        """The block has ended; the step comes after it. later: what writes behind the record; None: that is written."""
        self.ready, self.later, self.record = True, later, None
        optimizer = self.optimizer()
        if optimizer is not None:
            WAITING[optimizer] = self

    def write(self):
        if self.later is None:
            self.add()
        else:
            self.later(self.add)

    def add(self):
        """Behind the record's own files; not where that record is not there (any more)."""
        with Folder(self.folder) as folder:
            try:
                before = folder.read()
            except Refused:
                return
            run = json.loads(before[0])
            mine = [s for s in run["steps"] if s["step"] == self.step and s["files"]["gradients"]["sha256"] == self.gradients and not self.is_in(s)]
            if not mine:
                return
            self.put_in(folder, mine[0], mine[0]["files"])
            folder.commit(run, before)
            self.tensors = {}


def named_in_cells(function, name):
    """What a function that another has made keeps of it."""
    function = inspect.unwrap(function)
    return dict(zip(function.__code__.co_freevars, (c.cell_contents for c in function.__closure__ or ()))).get(name)


class Average(Update):
    """The next update_parameters() of a torch.optim.swa_utils.AveragedModel behind the record's backward pass. In the file the averaged parameters are in
    theta's place, and those of the model in the gradient's."""

    awaited = "update_parameters()"

    def __init__(self, record, averaged, number, decay):
        self.decay, self.model = decay, weakref.ref(record.model)
        super().__init__(record, averaged, number)

    def hook(self, averaged):
        averaged.update_parameters = Seen(self, averaged)
        return [averaged.update_parameters]

    def begin(self, averaged, args, kwargs):
        if threading.get_ident() != self.thread or not (self.ready or self.record.gradients is not None) or self.told is not None:
            return
        with _disable_current_modes(), torch.no_grad():
            self.told = self.settings(averaged)
            if args[1] is not self.model():
                self.told["missing"] = "update_parameters() was given another model than the recorded one"
            if "missing" not in self.told:
                self.attempt(self.keep, averaged, "before", True)

    def end(self, averaged, args, kwargs):
        if threading.get_ident() != self.thread or self.told is None or self.made:
            return
        with _disable_current_modes(), torch.no_grad():
            if "missing" not in self.told:
                self.attempt(self.keep, averaged, "after", False)
        self.made = True
        self.release()
        if self.ready:
            self.write()

    def settings(self, averaged):
        told = {"optimizer": "AveragedModel", "module": "torch.optim.swa_utils", "averages": True, "groups": []}
        decay = self.decay_of(averaged)
        if decay is None:
            told["missing"] = "the function that averages is none of torch.optim.swa_utils, so that its decay is not known: ema=(averaged, decay)"
        else:
            names = [name for name, p in self.model().named_parameters()]
            path = "foreach" if averaged.multi_avg_fn is not None else "single"
            told["groups"] = [{"parameters": names, "path": path, "decay": float(decay).hex(), "averaged": int(averaged.n_averaged)}]
        return told

    def decay_of(self, averaged):
        """The share of the average before. The first is a copy of the parameters."""
        function = averaged.multi_avg_fn or averaged.avg_fn
        name = getattr(function, "__qualname__", "")
        if int(averaged.n_averaged) == 0:
            return 0.0
        if self.decay is not None:
            return self.decay
        if name in ("get_ema_multi_avg_fn.<locals>.ema_update", "get_ema_avg_fn.<locals>.ema_update"):
            return named_in_cells(function, "decay")
        if name == "get_swa_multi_avg_fn.<locals>.swa_update" or (function is None and averaged.n_averaged.device.type != "cpu"):
            return 1 - float(1 / (averaged.n_averaged + 1))  # in float32
        return 1 - 1 / (int(averaged.n_averaged) + 1) if function is None or name == "get_swa_avg_fn.<locals>.swa_update" else None

    def keep(self, averaged, part, with_parameters):
        for (name, mean), p in zip(averaged.module.named_parameters(), self.model().parameters(), strict=True):
            if mean.shape != p.shape or mean.dtype != p.dtype:
                raise Refused(name, f"its average is another tensor, of {mean.dtype}, {tuple(mean.shape)}", "average tensors of one type and shape")
            self.put(part, "theta", name, mean)
            if with_parameters:
                self.put("gradient", None, name, p)


class Seen:
    """update_parameters() of an averaged model, which is seen. A copy of the model has its own, of the class, and so has a pickled one."""

    def __init__(self, update, averaged):
        self.update, self.averaged, self.of_class = update, averaged, averaged.update_parameters

    def __call__(self, model):
        self.update.begin(self.averaged, (self.averaged, model), {})
        try:
            done = self.of_class(model)
        except BaseException:
            self.update.told, self.update.tensors = None, {}
            raise
        self.update.end(self.averaged, (self.averaged, model), {})
        return done

    def __reduce__(self):
        return functools.partial, (type(self.averaged).update_parameters, self.averaged)

    def remove(self):
        if self.averaged.__dict__.get("update_parameters") is self:
            del self.averaged.update_parameters


def before_it(optimizer):
    """A step that an earlier record of it waits for was not made."""
    before = WAITING.pop(optimizer, None)
    if before is not None:
        before.release()
        before.told = {"optimizer": type(optimizer).__name__, "skipped": f"{before.awaited} was not called before the next record began"}
        before.write()


def begin(record):
    """Hooks for the record's optimizers, and its averaged model."""
    from .evaluated import Evaluated  # which is made of Update
    given = record.optimizer if isinstance(record.optimizer, (list, tuple)) else [record.optimizer]
    optimizers = [o for o in given if isinstance(o, torch.optim.Optimizer)]  # nobody says when others step
    averaged, decay = record.ema if isinstance(record.ema, tuple) else (record.ema, None)
    for optimizer in (*optimizers, *(() if averaged is None else (averaged,))):
        before_it(optimizer)
    found = [(Evaluated if isinstance(optimizer, torch.optim.LBFGS) else Update)(record, optimizer, number) for number, optimizer in enumerate(optimizers)]
    if averaged is not None:
        found.append(Average(record, averaged, max(1, len(found)), decay))
    return found
