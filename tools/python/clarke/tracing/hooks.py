"""Hooks on tensors that change what autograd hands on: what comes out is the derivative of nothing that is recorded."""
import torch

from ..refused import Refused
from .dispatched import shown


def line_of(hook):
    code = getattr(hook, "__code__", None) or getattr(getattr(hook, "__func__", None), "__code__", None)
    return f"{shown(code.co_filename) or 'torch'}:{code.co_firstlineno}" if code else repr(hook)


def seen(t):
    """What a change of the tensor changes. (Not one through numpy.)"""
    with torch._C.DisableTorchFunction():
        return None if t is None else (id(t), t.data_ptr(), t._version)


class Hooks:
    """Every hook of these tensors is run by another, which says whether it changed anything."""

    def __init__(self, trace, tensors):
        self.trace, self.held = trace, []
        try:
            for t in tensors:
                if (found := t._backward_hooks):
                    self.wrap(t, found, self.of_gradient)
                if t.is_leaf and (found := t._post_accumulate_grad_hooks):
                    self.wrap(t, found, self.of_parameter)
        except BaseException:
            self.restore()
            raise

    def wrap(self, t, hooks, around):
        for key, hook in hooks.items():
            wrapped = around(hook, self.module_of(t))
            self.held.append((hooks, key, hook, wrapped))
            hooks[key] = wrapped

    def restore(self):
        for hooks, key, hook, wrapped in self.held:
            if hooks.get(key) is wrapped:
                hooks[key] = hook
        self.held = []

    def module_of(self, t):
        """The one that made it."""
        value = self.trace.by_identity.get(id(t))
        return value is not None and value.node is not None and value.node.module or "the model"

    def note(self, hook, module):
        self.trace.refusals.append(Refused(f"{module}, {line_of(hook)}",
                                           "a hook changes a gradient, or a parameter: AD differentiates another function",
                                           "change gradients behind the backward pass, or take the hook away for the step"))

    def of_gradient(self, hook, module):
        def run(gradient):
            before = seen(gradient)
            out = hook(gradient)
            if (out is not None and out is not gradient) or seen(gradient) != before:
                self.note(hook, module)
            return out
        return run

    def of_parameter(self, hook, module):
        def run(parameter):
            before = seen(parameter), seen(parameter.grad)
            out = hook(parameter)
            if (seen(parameter), seen(parameter.grad)) != before:
                self.note(hook, module)
            return out
        return run
