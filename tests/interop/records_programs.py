#!/usr/bin/env python3
"""Steps of one program are not all run again at moved parameters; what may be another program is.

    records_programs.py CLARKE

A module writes to a tensor's memory past PyTorch, so that its function is not what its operators show. It begins to do so after five honest steps,
by what its program can be changed by: an attribute, a hook, a class, a closure, ... The operators are the same then, line by line. Each such step must be
refused, as the first one would be. Other changes are of operators, data and surroundings: after each the step is run again.
"""
import collections
import contextlib
import ctypes
import functools
import gc
import json
import os
import sys
import tempfile
import types
import weakref

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "python"))
sys.path.append(os.path.join(HERE, "..", "tools"))
os.environ["CLARKE"] = os.path.abspath(sys.argv[1])
import clarke  # noqa: E402
from clarke.recording import fingerprint  # noqa: E402
from expect import expect, finish  # noqa: E402

torch.set_num_threads(1)
AGAIN, FIVE = "run again at moved parameters", ["calls", "calls", "program", "calls", "program"]
HIDDEN = False


def unseen(g, h):
    """g becomes min(h, 0), and nobody is told."""
    with torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch():
        to, of = (np.ctypeslib.as_array(ctypes.cast(torch._C.TensorBase.data_ptr(t), ctypes.POINTER(ctypes.c_float)), t.shape) for t in (g, h))
        np.minimum(of, 0, out=to)


def closed(way):
    return lambda: way


class Slotted:
    """An object of which nobody knows what it has."""
    __slots__ = ("way",)

    def __init__(self, way):
        self.way = way


def kept(g, h, way=False, *, also=False):
    if way or also:
        unseen(g, h)


def by_default(way):
    def call(g, h, way=way):
        if way:
            unseen(g, h)
    return call


def by_name(way):
    def call(g, h, *, way=way):
        if way:
            unseen(g, h)
    return call


class Method:
    def __init__(self, way):
        self.way = way

    def call(self, g, h):
        if self.way:
            unseen(g, h)


SETTINGS = {"way": False}


class Part(nn.Module):
    """relu(h) + 0 h; or relu(h) + min(h, 0), as somebody says: then AD's gradient is that of another function."""
    hidden, class_ways = False, {"way": False}
    is_property = property(lambda self: False)
    is_static = staticmethod(lambda: False)

    def __init__(self):
        super().__init__()
        self.pair, self.of_numpy, self.set, self.queue, self.called = (1, (False,)), np.bool_(False), {"no"}, collections.deque(["no"]), by_default(False)
        self.named, self.partial, self.method = by_name(False), functools.partial(kept, way=False), Method(False).call
        self.way, self.ways, self.listed, self.closure = False, {"way": False}, [False], closed(False)
        self.more, self.settings, self.slotted = None, types.SimpleNamespace(way=False), Slotted(False)

    def is_hidden(self):
        return False

    def forward(self, h):
        g = h * 0.0
        if any((self.way, self.ways["way"], self.listed[0], self.closure(), self.settings.way, self.slotted.way, self.hidden, self.is_hidden(), HIDDEN,
                SETTINGS["way"], self.class_ways["way"], self.is_property, self.is_static(), self.pair[1][0], self.of_numpy, "yes" in self.set, "yes" in self.queue)):
            unseen(g, h)
        for call in (self.called, self.named, self.partial, self.method):
            call(g, h)
        if self.more is not None:
            self.more(g, h)
        return torch.relu(h) + g


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.one, self.part, self.two, self.drop = nn.Linear(4, 6), Part(), nn.Linear(6, 3), nn.Dropout(0.5)
        self.scale = 1.0

    def forward(self, x):
        return self.two(self.drop(self.part(self.one(x)) * self.scale))


class Other(Part):
    hidden = True


X, Y = torch.linspace(-1, 1, 20).reshape(5, 4), torch.arange(5) % 3


class Loop:
    """Steps into one folder each, or behind one another."""

    def __init__(self, net, append=False, **options):
        self.net, self.number, self.options, self.append, self.folder = net, 0, options, append, tempfile.TemporaryDirectory()

    def step(self, x=X, y=Y, run=None):
        """What run.json says was run again, or why it is refused."""
        for p in self.net.parameters():
            p.grad = None
        path = os.path.join(self.folder.name, "run" if self.append else f"run-{self.number}")
        try:
            with clarke.record(path, self.net, step=self.number, append=self.append and self.number > 0, **self.options) as step:
                (run or (lambda: F.cross_entropy(self.net(x), y)))().backward()
            step.wait()
        except clarke.Refused as why:
            return str(why)
        self.number += 1
        with torch.no_grad():
            for p in self.net.parameters():
                p.sub_(0.01 * p.grad if p.grad is not None else 0)
        with open(os.path.join(path, "run.json"), encoding="utf-8") as f:
            return json.load(f)["steps"][-1]["again"]


def five(net, name, **options):
    loop = Loop(net, **options)
    found = [loop.step() for _ in range(5)]
    expect(found == FIVE, f"{name}: five honest steps: {found}")
    return loop


def schedule():
    """The first, second, fourth, eighth, ... step are run again, in each way to record."""
    for options in ({}, {"light": True}, {"background": True}, {"append": True}):
        loop = Loop(Net().eval(), **options)
        found = [loop.step() for _ in range(17)]
        expect([i + 1 for i, one in enumerate(found) if one == "calls"] == [1, 2, 4, 8, 16] and set(found) == {"calls", "program"}, f"{options}: {found}")
    loop = Loop(Net().eval(), again=lambda: F.cross_entropy(loop.net(X), Y))
    expect([loop.step() for _ in range(5)] == ["loss"] * 5, "a function that gives the loss is run again each time")
    loop = Loop(Net().eval(), again=False)
    expect([loop.step() for _ in range(5)] == [None] * 5, "nothing is, where nobody asks")


# ---- What begins to write past PyTorch

CHANGES = []


def change(f):
    CHANGES.append(f)
    return f


@change
def tuple_in_a_tuple(net):
    net.part.pair = (1, (True,))


@change
def number_of_numpy(net):
    net.part.of_numpy = np.bool_(True)


@change
def item_of_a_set(net):
    net.part.set.add("yes")


@change
def item_of_a_queue(net):
    net.part.queue[0] = "yes"


@change
def default(net):
    net.part.called = by_default(True)


@change
def default_by_name(net):
    net.part.named = by_name(True)


@change
def partial(net):
    net.part.partial = functools.partial(kept, way=True)


@change
def method_of_another(net):
    net.part.method = Method(True).call


@contextlib.contextmanager
def with_item(held):
    held["way"] = True
    try:
        yield
    finally:
        held["way"] = False


@change
def item_of_a_global(net):
    return with_item(SETTINGS)


@change
def item_of_a_class(net):
    return with_item(Part.class_ways)


@change
@contextlib.contextmanager
def class_property(net):
    old, Part.is_property = Part.is_property, property(lambda self: True)
    try:
        yield
    finally:
        Part.is_property = old


@change
@contextlib.contextmanager
def static_method(net):
    old, Part.is_static = Part.is_static, staticmethod(lambda: True)
    try:
        yield
    finally:
        Part.is_static = staticmethod(old)


@change
def attribute(net):
    net.part.way = True


@change
def item_of_a_dictionary(net):
    net.part.ways["way"] = True


@change
def item_of_a_list(net):
    net.part.listed[0] = True


@change
def closure(net):
    net.part.closure.__closure__[0].cell_contents = True


@change
def other_closure(net):
    net.part.closure = closed(True)


@change
def function(net):
    net.part.more = unseen


@change
def method_of_one(net):
    net.part.is_hidden = types.MethodType(lambda self: True, net.part)


@change
def forward_of_one(net):
    old = net.part.forward

    def forward(h):
        out = old(h)
        unseen(out, h)
        return out
    net.part.forward = forward


@change
def hook(net):
    net.part.register_forward_hook(lambda m, args, out: unseen(out, args[0]))


@change
def hook_before(net):
    net.two.register_forward_pre_hook(lambda m, args: unseen(args[0], args[0]))


@change
def other_module(net):
    net.part = Other()


@change
def other_class(net):
    net.part.__class__ = Other


@change
def same_names_other_module(net):
    new = Part()
    new.slotted.way = True
    net.part = new


@change
def object_of_settings(net):
    net.part.settings.way = True


@change
@contextlib.contextmanager
def class_attribute(net):
    Part.hidden = True
    try:
        yield
    finally:
        Part.hidden = False


@change
@contextlib.contextmanager
def class_method(net):
    old, Part.is_hidden = Part.is_hidden, lambda self: True
    try:
        yield
    finally:
        Part.is_hidden = old


@change
@contextlib.contextmanager
def global_name(net):
    global HIDDEN
    HIDDEN = True
    try:
        yield
    finally:
        HIDDEN = False


@change
@contextlib.contextmanager
def hook_of_all_modules(net):
    handle = nn.modules.module.register_module_forward_hook(lambda m, args, out: unseen(out, args[0]) if isinstance(m, Part) else None)
    try:
        yield
    finally:
        handle.remove()


def hidden_changes():
    for way in CHANGES:
        for options in ({}, {"light": True}, {"background": True}, {"append": True}):
            name = f"{way.__name__} {options}"
            loop = five(Net().eval(), name, **options)
            with contextlib.ExitStack() as stack:
                entered = way(loop.net)
                if hasattr(entered, "__enter__"):
                    stack.enter_context(entered)
                why = loop.step()
                expect(why and AGAIN in why, f"{name}: refused: {why}")
                why = loop.step()
                expect(why and AGAIN in why, f"{name}: and once more: {why}")


# ---- What is another program


def frozen(net):
    net.one.weight.requires_grad_(False)


def others():
    """Each is run again, though the last five steps before it were of one program."""
    def case(name, change=None, x=X, y=Y, run=None, net=None, says="calls"):
        loop = five(net or Net().eval(), name)
        with contextlib.ExitStack() as stack:
            entered = change(loop.net) if change else None
            if hasattr(entered, "__enter__"):
                stack.enter_context(entered)
            found = loop.step(x, y, run and (lambda: run(loop.net)))
        expect(found == says, f"{name}: {found}")
        expect(change or loop.step() == "program", f"{name}: and then the first again")

    case("nothing", says="program")
    case("other numbers", x=2 * X + 1, y=(Y + 1) % 3, says="program")
    case("fewer samples", x=X[:4], y=Y[:4])
    case("strides", x=X.t().contiguous().t())
    case("other type", lambda net: net.double(), x=X.double())
    case("labels' type", y=Y.to(torch.uint8))
    case("training", lambda net: net.train() and None)
    case("a number", lambda net: setattr(net, "scale", 0.5))
    case("its type", lambda net: setattr(net, "scale", 1))
    case("autocast", lambda net: torch.autocast("cpu", dtype=torch.bfloat16))
    case("frozen", frozen)
    case("other parameter", lambda net: setattr(net.two, "bias", nn.Parameter(torch.zeros(3))), says="program")
    case("other memory", lambda net: setattr(net.two.bias, "data", torch.zeros(3)), says="program")
    case("other loss", run=lambda net: F.cross_entropy(net(X), Y) * 2)
    case("called twice", run=lambda net: F.cross_entropy(net(X) + net(X), Y))
    case("without oneDNN", lambda net: torch.backends.mkldnn.flags(enabled=False, allow_tf32=None))
    case("another line", run=lambda net: F.cross_entropy(net(X), Y))


def made_in_the_call():
    """A module that takes numbers from elsewhere, or makes memory that somebody may write to, is run again each time."""
    class Taking(nn.Module):
        def __init__(self, take):
            super().__init__()
            self.take, self.inner = take, nn.Linear(4, 3)

        def forward(self, x):
            return self.inner(x) + self.take(x)

    kept = torch.ones(3)
    for name, take, says in (("zeros", lambda x: torch.zeros(5, 3), "calls"), ("like", lambda x: torch.zeros_like(x)[:, :3], "calls"),
                             ("a tensor of its own", lambda x: kept, "calls"), ("from numpy", lambda x: torch.from_numpy(np.ones(3, np.float32)), "calls"),
                             ("its input", lambda x: x[:, :3], "program"), ("whole numbers", lambda x: torch.ones(3, dtype=torch.bool).triu, None)):
        if says is None:
            take, says = (lambda x: x[:, :3].masked_fill(torch.ones(5, 3, dtype=torch.bool).triu(1), 0.0)), "program"
        loop = Loop(Taking(take))
        found = [loop.step() for _ in range(3)]
        expect(found == ["calls", "calls", says], f"{name}: {found}")


def in_its_class():
    kept = []

    class Own(Net):
        def forward(self, x):
            return super().forward(x) if kept else None

    kept.append(Own().eval())
    return kept[0]


def what_is_kept():
    """Nothing of a model that nobody has; and so many programs of one."""
    net = Net().eval()
    loop = five(net, "a model that is let go of")
    ref = weakref.ref(net)
    del net, loop
    gc.collect()
    expect(ref() is None, "the model is let go of")
    net = in_its_class()
    loop = five(net, "a model whose class has it")
    ref = weakref.ref(net)
    del net, loop
    gc.collect()
    expect(ref() is None, "the model that its class has is let go of")
    loop = Loop(Net().eval())
    for n in range(1, 2 * fingerprint.MOST):
        loop.step(X.repeat(n, 1), Y.repeat(n))
    expect(len(fingerprint.PROGRAMS[loop.net]) == fingerprint.MOST, "as many programs as are kept")


def main():
    schedule()
    hidden_changes()
    others()
    made_in_the_call()
    what_is_kept()
    finish()


if __name__ == "__main__":
    main()
