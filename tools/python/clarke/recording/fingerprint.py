"""A step's fingerprint: all that the recorder sees of a step but its numbers. Two steps of one fingerprint run the same operators, on tensors that
come from the same places, by the same modules, which hold the same.

A step is run again (again.py) to find what the recorder did not see. What was not seen in some steps of a program is looked for in others of it less
and less often: in the first, the second, the fourth, the eighth, and so on.
"""
import functools
import types
import weakref
from collections import OrderedDict, deque

import numpy as np
import torch
from torch.nn.modules import module as modules

from .again import tensors
from ..tracing.held import NOTHING
from ..tracing.dispatched import MAKERS, Value, values_in

AS_THEY_ARE = {int, str, type(None)}  # each is equal to none of another type here
BY_TYPE = {bool, bytes, complex, torch.dtype, torch.device, torch.layout, torch.memory_format, torch.Size}
MOST = 16  # programs of one model
LONG = 64  # entries of a container within another, in which nobody looks where there are more


class Unnamed(Exception):
    """A step of which something has no name here. It is like no other."""


def plain(item):
    kind = type(item)
    if kind in AS_THEY_ARE:
        return item
    if kind is float:  # 0.0 is not -0.0
        return kind, item.hex()
    return (kind, item) if kind in BY_TYPE else None


def parts_of(item, kind):
    """What an item has that is a container, a function, or made of one; None of any other."""
    if kind is types.FunctionType:
        return [item.__defaults__, item.__kwdefaults__, vars(item)]
    if kind is types.MethodType:
        return [item.__func__, item.__self__]
    if kind is functools.partial:
        return [item.func, item.args, item.keywords]
    if kind is property:
        return [item.fget]
    if kind is staticmethod or kind is classmethod:
        return [item.__func__]
    if isinstance(item, dict):
        return [part for pair in item.items() for part in pair] if len(item) <= LONG else None
    return list(item) if isinstance(item, (tuple, list, set, frozenset, deque)) and len(item) <= LONG else None


def held_as(item, depth=4):
    """What a container has, as far as it is no tensor: of functions their code and defaults, of an object its plain attributes. (Nothing by which the model
    is held.)"""
    kind = type(item)
    if kind in AS_THEY_ARE or kind is float or kind in BY_TYPE:
        return plain(item)
    if isinstance(item, np.generic):
        return kind, item.tobytes()
    parts = parts_of(item, kind) if depth else None
    if parts is not None:
        return weakref.ref(kind), getattr(item, "__code__", None), [held_as(part, depth - 1) for part in parts]
    if isinstance(item, (torch.Tensor, torch.nn.Module, type, types.ModuleType)) or type(getattr(item, "__dict__", None)) is not dict:
        return weakref.ref(kind)
    return weakref.ref(kind), [(name, plain(held) or weakref.ref(type(held))) for name, held in vars(item).items()]


class Fingerprint:
    """The fingerprint of one record, whose step has run."""

    def __init__(self, record):
        self.record, self.trace, self.calls, self.outputs = record, record.trace, record.again.calls, record.again.outputs
        self.numbers, self.names, self.at = {}, {}, 0  # by values' identities; of tensors; the operator
        self.own = {hook.id for hook in record.hooks}  # the recorder's own, which has other numbers in each step
        for call in self.calls:
            for i, t in enumerate(tensors((call.args, call.kwargs))):
                self.names[id(t)] = "argument", call.nodes[0], i
        self.names.update((id(t), ("input", name)) for name, t in (record.given or {}).items())
        self.names.update((id(t), ("model", name)) for name, t in [*record.buffers.items(), *record.parameters.items()])

    def of(self):
        """Raises Unnamed."""
        record, trace = self.record, self.trace
        if record.again.missed or record.branches or trace.read or trace.logged or trace.own or trace.drawn or trace.refusals:
            raise Unnamed
        nodes = [self.node(i, node) for i, node in enumerate(trace.nodes)]
        flags = sorted((name, plain(value)) for name, value in record.flags.items() if name != "precision")
        return (nodes, [self.output(*out) for out in self.outputs], self.slot(trace.loss), flags, repr(record.flags["precision"]),
                sorted(record.trained), record.modes[0].autocast, trace.seed is None), self.around()

    def names_of(self, tensors):
        return [self.names.get(id(t)) for t in tensors]

    def around(self):
        """All but the operators: by whom they were called, and what these hold."""
        return [self.call(call) for call in self.calls], self.of_modules()

    # ---- What ran

    def node(self, i, node):
        self.at = i
        args, kwargs = self.told(node.args), self.told(node.kwargs) if node.kwargs else None
        if (not node.reads or node.name in MAKERS) and self.is_inside() and any(v.tensor.is_floating_point() for v in values_in(node.results)):
            raise Unnamed  # memory that may be for somebody who writes to it unseen
        return (node.op, args, kwargs, [self.made(v) for v in node.results], node.module, node.source, node.grad_enabled, node.derivative)

    def is_inside(self):
        """Is the operator of a module's call?"""
        return any(call.nodes[0] <= self.at < call.nodes[1] for call in self.calls)

    def told(self, tree):
        kind = type(tree)
        if kind is Value:
            return self.slot(tree)
        if kind is tuple or kind is list:
            return kind, *map(self.told, tree)
        if kind is dict:
            return kind, *((key, self.told(item)) for key, item in tree.items())
        if tree is not None and (tree := plain(tree)) is None:
            raise Unnamed
        return tree

    def made(self, value):
        if type(value) is not Value:
            return self.told(value)
        self.numbers[id(value)] = len(self.numbers)
        return value.requires_grad, value.place[1:], value.tensor.dtype

    def slot(self, value):
        number = self.numbers.get(id(value))
        return ("slot", number) if number is not None else self.leaf(value)

    def leaf(self, value):
        """What the step has not made. Inside of a module's call that is the model's, or the call's arguments: all else may be made of the model's numbers
        where nobody sees it."""
        name = self.names.get(id(value.of))
        if value.hidden or value.node is not None or (name is None and self.is_inside()):
            raise Unnamed
        self.numbers[id(value)] = len(self.numbers)
        t = value.tensor
        return "leaf", name, value.requires_grad, t.shape, t.stride(), t.dtype, t.device

    def output(self, name, depth, results):
        """A module's; of what was changed in place later the tensor alone is known."""
        if any(value is None and self.record.again.known(t) is None for t, value in results):
            raise Unnamed
        return name, depth, [value and self.numbers.get(id(value)) for _, value in results]

    # ---- By whom

    def call(self, call):
        around = call.surroundings
        held = [self.content(content) for _, content in call.held.contents.values()]
        return call.name, call.nodes, call.outputs, held, around.grad, around.kind, around.switches, around.autocast, around.cached

    def content(self, content):
        """What a container holds that is reached from the module. (What draws, and arrays, have other numbers in each step.)"""
        if content is NOTHING:
            return None
        if isinstance(content, dict):
            others = self.own if type(content) is OrderedDict else ()  # a module's hooks
            return [(key if type(key) is str else held_as(key), item if type(item) in AS_THEY_ARE else held_as(item))
                    for key, item in content.items() if key not in others]
        return list(map(held_as, content)) if isinstance(content, (list, tuple, set, deque)) else held_as(content)

    def of_modules(self):
        """Each is the very same, and so are its class and the hooks of all modules."""
        found = {id(m): m for m in self.record.modules.values()}
        for call in self.calls:
            found.update((id(m), m) for m in call.function.modules())
        hooks = [list(held) for held in (modules._global_forward_hooks, modules._global_forward_pre_hooks, modules._global_backward_hooks,
                                         modules._global_backward_pre_hooks)]
        return [weakref.ref(m) for m in found.values()], [self.of_class(of) for of in dict.fromkeys(map(type, found.values()))], hooks

    @staticmethod
    def of_class(of):
        """What it says itself, if it is no one of PyTorch's, and the globals that its functions name."""
        own = [vars(c) for c in of.__mro__ if not c.__module__.startswith(("torch.", "builtins"))]
        codes = [(f.__code__.co_names, f.__globals__) for held in own for f in held.values() if type(f) is types.FunctionType]
        return (weakref.ref(of), held_as(of.forward), held_as(of.__call__), [(name, held_as(item)) for held in own for name, item in held.items()],
                [(name, held_as(known[name])) for names, known in codes for name in names if name in known])


class Program:
    """Steps of one fingerprint."""

    def __init__(self, ran, around):
        self.ran, self.around, self.steps = ran, around, 0

    def is_due(self):
        """Is the next step to be run again?"""
        return (self.steps + 1) & self.steps == 0


PROGRAMS = weakref.WeakKeyDictionary()  # by their models, those that were met last at the end


def program_of(fingerprint):
    """The one that the step has run; None: it is like no other."""
    try:
        ran, around = fingerprint.of()
    except Unnamed:
        return None
    programs = PROGRAMS.setdefault(fingerprint.record.model, [])
    program = next((p for p in reversed(programs) if p.around == around and p.ran == ran), None) or Program(ran, around)
    programs[:] = [*(p for p in programs if p is not program), program][-MOST:]
    return program
