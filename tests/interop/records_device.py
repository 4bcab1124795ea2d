#!/usr/bin/env python3
"""What a record does behind the block, where tensors are on another device: it mixes no two, and hands none to numpy.

    records_device.py CLARKE CLARKE-CHECK [NAME...]

No GPU is needed: tensors of the step say that they are on one (Elsewhere), and what PyTorch would refuse there fails. Recorded are the
operators of records_operators.py, and the training scripts.
"""
import contextlib
import io
import itertools
import os
import runpy
import sys
import tempfile

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree

import records_operators
from records_operators import clarke  # which finds it
from clarke.recording.again import Comparison
from clarke.tracing.memory import shared
from report import Report

HERE, REPORT = os.path.dirname(os.path.abspath(__file__)), Report()
SCRIPTS = os.path.join(HERE, "scripts")
CPU, GPU = torch.device("cpu"), torch.device("cuda:0")
DEVICE = torch.Tensor.device.__get__
ARRAYS = {torch.Tensor.numpy, torch.Tensor.__array__, torch.Tensor.__dlpack__}
# A tensor of the GPU may be asked for places that the CPU has; and is copied from one to the other.
MIXED = {torch.Tensor.__getitem__, torch.Tensor.copy_, torch.Tensor.__setitem__}


class Mixed(Exception):
    """What PyTorch refuses on a GPU."""


def tensors(tree):
    return [t for t in _pytree.tree_leaves(tree) if isinstance(t, torch.Tensor)]


class Elsewhere(TorchFunctionMode):
    """Those tensors, and what is computed of them, say that they are on a GPU."""

    def __init__(self, found):
        super().__init__()
        self.there, self.program = {}, False  # is the program's own code running again, whose tensors are made on the GPU?
        self.put(found)

    def put(self, tree):
        for t in itertools.chain.from_iterable((t._indices(), t._values()) if t.layout == torch.sparse_coo else (t,) for t in tensors(tree)):
            if t.numel() > 0 and t.layout == torch.strided and not t.is_meta:
                self.there[t.untyped_storage().data_ptr()] = t.untyped_storage()  # which lives as long

    def on(self, t):
        t = t._values() if t.layout == torch.sparse_coo else t
        return t.layout == torch.strided and t.untyped_storage().data_ptr() in self.there

    def moved(self, function, args, kwargs):
        """A copy, on the device that is named; None: none is."""
        to = [a for a in (*args[1:], *kwargs.values()) if isinstance(a, (str, torch.device)) or (isinstance(a, torch.Tensor) and function is torch.Tensor.to)]
        if function is not torch.Tensor.cpu and not to:
            return None
        wanted = "cpu" if function is torch.Tensor.cpu else DEVICE(to[0]).type if isinstance(to[0], torch.Tensor) else torch.device(to[0]).type
        kind = next((a for a in (*args[1:], *kwargs.values()) if isinstance(a, torch.dtype)), args[0].dtype)
        out = args[0].detach().clone().to(kind)
        if wanted == "cuda":
            self.put(out)
        return out

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if function == DEVICE:
            return GPU if self.on(args[0]) else CPU
        if function in ARRAYS and self.on(args[0]):
            raise Mixed(f"{function.__name__} of a tensor that is on a GPU")
        if function in (torch.Tensor.cpu, torch.Tensor.to) and (out := self.moved(function, args, kwargs)) is not None:
            return out
        given = kwargs.get("device")
        if given is not None:
            kwargs["device"] = CPU
        own = tensors((args, kwargs))
        here, there = [t for t in own if not self.on(t) and t.dim() > 0], [t for t in own if self.on(t)]
        if here and there and function not in MIXED:
            raise Mixed(f"{getattr(function, '__name__', function)} of tensors on a GPU and on the CPU")
        out = function(*args, **kwargs)
        if there or self.program or (given is not None and torch.device(given).type == "cuda"):
            self.put(out)
        return out


@contextlib.contextmanager
def elsewhere():
    """All that is done behind a block is done with tensors on a GPU."""
    write, name, run = clarke.record.write, torch.cuda.get_device_name, Comparison.run

    def written(self):
        trace = [v[0].tensor for held in self.trace.places.values() for v in held] + [v.tensor for n in self.trace.nodes for v in n.reads]
        grads = [g for n in self.trace.nodes for g in (*n.grad_outputs, *n.grad_inputs) if isinstance(g, torch.Tensor)]
        factors = [own.factor for own in self.trace.own.values()]
        with Elsewhere([trace, grads, factors, self.parameters, self.gradients, self.buffers, self.start, self.before]) as mode:
            Comparison.run = lambda *args: again(mode, *args)
            write(self)

    def again(mode, *args):
        mode.program = True
        try:
            run(*args)
        finally:
            mode.program = False

    clarke.record.write, torch.cuda.get_device_name = written, lambda device: "a GPU that is none"
    try:
        yield
    finally:
        clarke.record.write, torch.cuda.get_device_name, Comparison.run = write, name, run


def ask(name, f):
    with tempfile.TemporaryDirectory() as folder, elsewhere(), contextlib.redirect_stdout(io.StringIO()):
        back = os.getcwd()
        os.chdir(folder)
        why = None
        try:
            f()
        except Exception as error:
            why = error
        finally:
            os.chdir(back)
    return REPORT.check(why is None, name, f"{type(why).__name__}: {why}")


def fails(f):
    """Does the mode see it?"""
    with Elsewhere([CASE := torch.ones(3)]):
        try:
            f(CASE)
        except Mixed:
            return True
    return False


def main():
    wanted = sys.argv[3:]
    for name, f in {"a sum": lambda t: t + torch.ones(3), "numpy": lambda t: t.numpy(), "what is computed": lambda t: (2 * t).numpy()}.items():
        REPORT.check(fails(f), f"{name} of both would fail on a GPU")
    for name, f in {"a number": lambda t: t + torch.ones(()), "a copy": lambda t: t.cpu().numpy(), "there": lambda t: t + torch.ones(3, device=t.device)}.items():
        REPORT.check(not fails(f), f"{name} would not")
    whole = torch.zeros(3, 4)
    with Elsewhere([whole]) as mode:
        REPORT.check(all(map(mode.on, shared(whole, whole[:, 1]))), "places in a tensor on a GPU are there, too")
    cases = {name: lambda f=f: records_operators.step("run", f, torch.float32) for name, f in (records_operators.RIGHT | records_operators.OWN).items()}
    for script in sorted(os.listdir(SCRIPTS)):
        cases[script] = lambda script=script: runpy.run_path(os.path.join(SCRIPTS, script), run_name="__main__")
    for name, f in cases.items():
        if not wanted or name in wanted:
            ask(name, f)
    return REPORT.close()


if __name__ == "__main__":
    sys.exit(main())
