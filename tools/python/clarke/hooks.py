"""Hooks on tensors that change what autograd hands on: what comes out is the derivative of nothing that is recorded."""
from .trace import shown


def line_of(hook):
    code = getattr(hook, "__code__", None) or getattr(getattr(hook, "__func__", None), "__code__", None)
    return f"{shown(code.co_filename) or 'torch'}:{code.co_firstlineno}" if code else repr(hook)


def seen(t):
    """What a change of the tensor changes. (Not one through numpy.)"""
    return None if t is None else (id(t), t.data_ptr(), t._version)


class Hooks:
    """Every hook of these tensors is run by another, which says whether it changed anything."""

    def __init__(self, trace, tensors):
        self.trace, self.held = trace, []
        try:
            for t in tensors:
                self.wrap(t._backward_hooks, self.of_gradient)
                if t.is_leaf:
                    self.wrap(t._post_accumulate_grad_hooks, self.of_parameter)
        except BaseException:
            self.restore()
            raise

    def wrap(self, hooks, around):
        for key, hook in (hooks or {}).items():
            wrapped = around(hook)
            self.held.append((hooks, key, hook, wrapped))
            hooks[key] = wrapped

    def restore(self):
        for hooks, key, hook, wrapped in self.held:
            if hooks.get(key) is wrapped:
                hooks[key] = hook
        self.held = []

    def note(self, hook):
        self.trace.refusals.append(f"{line_of(hook)}: a hook changes a gradient, or a parameter: AD differentiates another function")

    def of_gradient(self, hook):
        def run(gradient):
            before = seen(gradient)
            out = hook(gradient)
            if (out is not None and out is not gradient) or seen(gradient) != before:
                self.note(hook)
            return out
        return run

    def of_parameter(self, hook):
        def run(parameter):
            before = seen(parameter), seen(parameter.grad)
            out = hook(parameter)
            if (seen(parameter), seen(parameter.grad)) != before:
                self.note(hook)
            return out
        return run
