"""A step that calls PyTorch's functions as one did that ran the same program: no operator of it is shown to anybody.

To see each operator takes as long as a small step. But a function of PyTorch's (F.linear) runs the same operators whenever it is called with the same
arguments, but for the numbers of tensors; and it calls nobody's code. So what a step calls is compared with what a step called whose operators
were seen (Repeated), and while such a call runs no operator is shown. Autograd's nodes are compared as before. Whatever is no such call ends it, and so
does an operator that is seen outside of all calls (of TorchScript, C++, or where functions cannot be overridden): the operators that ran
until then are those of the program, and the trace is told of them, with the tensors among them that nobody has seen made once more.
"""
import os
import types
import weakref
from dataclasses import dataclass

import torch

from .repeated import TENSORS, Repeated, Slot, Unalike, current_node, is_any_autocast_enabled, is_grad_enabled, last_number, same_plain, spot
from ..tracing.dispatched import source_line, unseen

OWN = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
BUILT_IN = (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, types.MethodWrapperType)
modes, functions_below, unshown = torch._C._len_torch_dispatch_stack, torch._C._len_torch_function_stack, torch._C._DisableTorchDispatch
LOST = ("autograd has other operators than this program's earlier steps", "watch the next step: its operators are seen")


@dataclass(slots=True)
class Call:
    """A function of PyTorch's is called, in the forward pass."""

    function: object
    args: tuple  # with slots
    kwargs: dict
    results: object  # the same
    module: str
    source: str
    enabled: bool
    changed: list  # the slots of buffers that it writes to
    end: int  # how many operators had run behind it,
    number: int  # and how many nodes autograd had made


def is_own(function):
    """Is it PyTorch's, and no function of somebody's that lets itself be overridden?"""
    return isinstance(function, BUILT_IN) or (type(function) is types.FunctionType and function.__code__.co_filename.startswith(OWN))


class Heard:
    """What a step calls whose operators are seen. `calls` is None where not all of it can be told from the calls."""

    def __init__(self, repeated):
        self.repeated, self.calls, self.results = repeated, [], {}

    def hear(self, function, args, kwargs, out, first, module, source):
        ran = self.repeated
        if self.calls is None:
            return
        try:
            if first != (self.calls[-1].end if self.calls else 0) or not is_own(function):
                raise Unalike
            results = self.with_slots(out)
            self.hold(out)
            changed = [slot for event in ran.program.events[first:len(ran.ran)] for slot in event.changed]
            self.calls.append(Call(function, self.with_slots(args), self.with_slots(kwargs), results, module, source, is_grad_enabled(), changed, len(ran.ran),
                                   last_number() - ran.record.base))
        except Unalike:
            self.calls = None

    def hold(self, tree):
        """Autograd makes other tensors of views than the operators had."""
        if isinstance(tree, torch.Tensor):
            self.results[id(tree)] = tree, self.slot(tree)
        elif isinstance(tree, (list, tuple)):
            for item in tree:
                self.hold(item)

    def slot(self, t):
        ran = self.repeated
        if id(t) in self.results:
            return self.results[id(t)][1]
        met = ran.known.get(id(t))
        found = met.slot if met is not None else ran.at.get((*spot(t), t.dtype, t.requires_grad))
        if type(t) not in TENSORS or found is None:
            raise Unalike
        return Slot(found)

    def with_slots(self, tree):
        if isinstance(tree, torch.Tensor):
            return self.slot(tree)
        if type(tree) in (tuple, list):
            return type(tree)([self.with_slots(item) for item in tree])
        if type(tree) is dict:
            return {key: self.with_slots(item) for key, item in tree.items()}
        return tree if type(tree) is torch.Size else self.repeated.program.with_slots(tree)  # raises Unalike of what is not plain

    def found(self, nodes):
        """(The calls, where the tensors lie that no call shows: in autograd's nodes), where all that the record has can be got."""
        program = self.repeated.program
        if self.calls is None or not self.calls or self.calls[-1].end != len(program.events):
            return None
        shown = {slot for call in self.calls for slot in slots_in((call.args, call.kwargs, call.results))}
        if not self.shows_leaves():
            return None
        saved = {slot: self.saved(nodes, slot) for slot in program.kept if slot not in shown and slot not in program.of_parameters}
        return None if None in saved.values() else (self.calls, saved)

    def shows_leaves(self):
        """Does each operator read leaves alone that a call has shown by then?"""
        shown, first, program = set(), 0, self.repeated.program
        for call in self.calls:
            shown.update(slots_in((call.args, call.kwargs)))
            read = {slot for event in program.events[first:call.end] for slot in slots_in((event.args, event.kwargs))}
            if not read & program.leaves.keys() <= shown:
                return False
            first = call.end
        return True

    def saved(self, nodes, slot):
        """(The place of autograd's node, the name) under which autograd keeps it; None: it does not."""
        wanted = self.repeated.tensors[slot]
        for at, node in enumerate(nodes):
            for name in dir(node):
                if name.startswith("_saved_") and isinstance(t := getattr(node, name), torch.Tensor) and spot(t) == spot(wanted) and t.dtype == wanted.dtype:
                    return at, name
        return None


def slots_in(tree):
    if type(tree) is Slot:
        yield tree.number
    elif isinstance(tree, (list, tuple)):
        for item in tree:
            yield from slots_in(item)
    elif type(tree) is dict:
        yield from slots_in(list(tree.values()))


UNTOLD = weakref.WeakSet()  # models whose calls do not say what runs


def repeated_by(program, record):
    """How a step is looked at that may run a program."""
    asked = record.model not in UNTOLD
    if asked and program.calls and modes() == 0 and functions_below() == 0:
        return Called(program, record)
    repeated = Repeated(program, record)
    if asked and program.calls is None:
        repeated.heard = Heard(repeated)
    return repeated


class Called(Repeated):
    """A step, as long as it calls what a program calls."""

    def __init__(self, program, record):
        super().__init__(program, record)
        self.calls, self.saved = program.calls
        self.count, self.nodes = 0, None

    def call(self, usual, function, args, kwargs):
        """A function of PyTorch's is called."""
        if self.loss is not None or current_node() is not None:
            return usual(function, args, kwargs)
        call = self.calls[self.count] if self.count < len(self.calls) else None
        with unshown():
            try:
                right = call is not None and self.is_called(call, function, args, kwargs)
            except Exception:  # whatever a tensor is, the trace has words for it
                right = False
            if right:
                out = function(*args, **kwargs)
                self.note_changes(call.changed)
                if last_number() - self.record.base != call.number or not self.got(call.results, out):
                    self.lose()
                self.count += 1
                return out
        self.tell()
        return usual(function, args, kwargs)

    def see(self, op, args, kwargs):
        """An operator that no call of the program's runs."""
        node = current_node()
        if node is not None or self.loss is not None:
            return self.behind(op, args, kwargs, node)
        self.tell()
        return self.trace.followed(op, self.trace.forward, op, args, kwargs)

    def is_called(self, call, function, args, kwargs):
        """Is this the program's next call, and nobody has a part in what it runs?"""
        modules = self.trace.modules
        return (function == call.function and (modules[-1] if modules else "") == call.module and is_grad_enabled() == call.enabled
                and not is_any_autocast_enabled() and modes() == 1
                and torch._C._autograd._top_saved_tensors_default_hooks(False) is None and source_line() == call.source
                and self.alike(call.args, args) and kwargs.keys() == call.kwargs.keys()
                and self.alike([call.kwargs[key] for key in kwargs], list(kwargs.values()))
                and last_number() - self.record.base == (self.calls[self.count - 1].number if self.count else 0))

    def slot_of(self, t, wanted):
        """(Its shape and strides change by calls alone.)"""
        met = self.known.get(id(t))
        if met is None:
            return super().slot_of(t, wanted)
        count = t._version
        right = met.spot[0] == t.data_ptr() and met.version in (None, count) and t.requires_grad == self.program.marked[met.slot]
        met.version = count
        return met.slot if right else None

    def got(self, wanted, given):
        """Are these the results?"""
        kind = type(wanted)
        if kind is Slot:
            if type(given) not in TENSORS:
                return False
            met = self.known.get(id(given))
            if met is not None:
                return met.slot == wanted.number
            now, marked = spot(given), self.program.marked[wanted.number]
            if given.requires_grad != marked or now[2] != self.program.strides[wanted.number]:
                return False
            self.meet(given, wanted.number, now, None, marked)
            return True
        if kind is tuple or kind is list:
            return type(given) is kind and len(given) == len(wanted) and all(map(self.got, wanted, given))
        return wanted is given or same_plain(wanted, given)

    def lose(self):
        """What ran in it nobody knows. The program's steps are seen from now on."""
        UNTOLD.add(self.record.model)
        self.trace.refuse(*LOST)

    # ---- The trace, from now on

    def tell(self):
        with unseen(), torch._C.DisableTorchFunction():
            self.run_as_program()
            super().tell()  # unseen, too: of what was written to the trace makes copies

    def operators(self):
        return self.calls[self.count - 1].end if self.count else 0

    def run_as_program(self):
        """What ran is what the program ran; tensors that no call has shown are made once more."""
        events = self.program.events[:self.operators()]
        base = self.record.base
        for event in events:
            args, kwargs = self.with_tensors(event.args), self.with_tensors(event.kwargs)
            if any(type(slot) is Slot and slot.number not in self.tensors for slot in event.results):
                self.make(event, args, kwargs)
            results = tuple(self.with_tensors(event.results))
            self.ran.append((event.op, args, kwargs, results if len(results) > 1 else results[0], base + event.number, event.module, event.source, event.enabled))

    def make(self, event, args, kwargs):
        """The results that nobody has seen, marked as autograd had them. (It is not asked: it may be at work, and would count the nodes.)"""
        wanted = [a.number if type(a) is Slot else None for a in event.args]
        with torch.no_grad():  # what it writes to it has written to
            out = event.op(*(a if not isinstance(a, torch.Tensor) else a.clone() if at in event.changed else a.detach() for a, at in zip(args, wanted)), **kwargs)
        for slot, t in zip(event.results, out if isinstance(out, (list, tuple)) else [out]):
            if type(slot) is Slot and slot.number not in self.tensors:
                self.tensors[slot.number] = t.requires_grad_(self.program.marked[slot.number])

    def with_tensors(self, tree):
        if type(tree) is Slot:
            return self.tensors[tree.number]
        if type(tree) in (tuple, list):
            return type(tree)([self.with_tensors(item) for item in tree])
        return {key: self.with_tensors(item) for key, item in tree.items()} if type(tree) is dict else tree

    # ---- The backward pass

    def is_whole(self):
        return self.count == len(self.calls)

    def nodes_behind(self, loss):
        """Where all calls are the program's, and autograd's nodes are not, nobody knows what ran."""
        try:
            self.nodes = super().nodes_behind(loss)
        finally:
            if self.nodes is None:
                self.lose()
        return self.nodes

    def watch(self, loss, gradient, others):
        right = super().watch(loss, gradient, others)
        if right:
            for slot, (at, name) in self.saved.items():
                self.tensors[slot] = getattr(self.nodes[at], name)
        self.nodes = None
        return right
