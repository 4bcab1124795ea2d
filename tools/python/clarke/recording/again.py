"""Does a step compute what was recorded of it? What ran is run once more, at moved parameters, and compared with the recorded operators there.

An operator that the recorder did not see (`.data =`, numpy, another thread, C++) left a number in the trace that is no function of the
parameters there. So near the parameters the program and the recorded operators differ, by whatever way the number came in. The trained
parameters are moved a little, by drawn numbers, and the other way: beside a kink, one of the two may show nothing.

What runs again are the calls of modules that no other module makes, in their order, or a function that gives the loss. What they read of
the rest of the step has the numbers that the recorded operators give it. Afterwards everything is as it was: memory and its versions,
generators, and what modules hold. Agreement proves nothing, and no verdict rests on it; a difference is refused.
"""
import contextlib
import functools
import itertools
import sys
import threading

import torch
from torch.nn.modules import module as modules
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from ..tracing import replay
from ..graph.graph import ancestors
from ..tracing.held import Held, Surroundings, without_autocast
from ..refused import Refused
from ..tracing.dispatched import RENORM, Operator, place, version, written

# By which part of itself an entry is moved. The next smaller is tried where a branch of Python's may lie between: of the last one, two
# bits of a float32 are left. Where a type has fewer, moves are of FEWEST of its units.
SIZES, FEWEST = (2.0 ** -7, 2.0 ** -13, 2.0 ** -19), 8
UNITS = 1024  # in the last place: what differs more is no rounding
DRAWN = 4099  # so many numbers are drawn, and taken in turn: a prime, so that no two rows of a matrix have the same


def tensors(tree, depth=4):
    """Those of a call's results, or arguments, in order."""
    if isinstance(tree, torch.Tensor):
        yield tree
    elif depth and isinstance(tree, dict):
        for item in tree.values():
            yield from tensors(item, depth - 1)
    elif depth and isinstance(tree, (list, tuple)):
        for item in tree:
            yield from tensors(item, depth - 1)
    elif depth and hasattr(tree, "__dict__") and not isinstance(tree, (type, torch.nn.Module)):
        yield from tensors(vars(tree), depth - 1)


def keywords():
    """Those of the module's call of which a hook of all modules is told now, as it is told of no keywords."""
    frame = sys._getframe(2)
    return dict(frame.f_locals.get("kwargs", {})) if frame.f_code.co_name == "inner" else {}


def thin(t):
    """One of each entries that lie at one place."""
    for axis, step in enumerate(t.stride()):
        if step == 0 and t.shape[axis] > 1:
            t = t.narrow(axis, 0, 1)
    return t


@functools.lru_cache(maxsize=16)
def drawn(size, kind):
    """Numbers of so many bits' size, either sign, of which each parameter takes DRAWN from another place on."""
    draws = torch.rand(2 * DRAWN, generator=torch.Generator().manual_seed(1), dtype=torch.float64) * 2 - 1
    return ((draws + draws.sign()) * (max(size, FEWEST * torch.finfo(kind).eps) / 2)).to(kind)


def move(p, by, number):
    """Adds to a parameter so large a part of each entry, and of a zero that of their mean; or takes it away, where that is negative. Two
    parameters have moves of their own: one may be computed from the other behind autograd's back."""
    parts = drawn(abs(by), p.dtype)[number * 7 % DRAWN:][:DRAWN].to(p.device)
    scale, zeros = p, p == 0
    if bool(zeros.any()):
        sizes = p.abs()
        mean = sizes[sizes.isfinite()].to(torch.float64).mean().item()
        scale = torch.where(zeros, mean if 0 < mean < float("inf") else 1.0, p)
    if not p.is_contiguous():
        p.addcmul_(scale, parts.repeat(p.numel() // DRAWN + 1)[:p.numel()].reshape(p.shape), value=1 if by > 0 else -1)
        return
    whole = p.numel() // DRAWN * DRAWN
    for end, rows in (slice(whole), (-1, DRAWN)), (slice(whole, None), (1, -1)):
        some = p.view(-1)[end].view(rows)
        some.addcmul_(scale.view(-1)[end].view(rows), parts[:some.shape[1]], value=1 if by > 0 else -1)


def difference(a, b):
    """The largest between entries of two tensors; infinite where they are of another kind."""
    if a.shape != b.shape or a.dtype != b.dtype or a.layout != b.layout or a.layout != torch.strided:
        return float("inf")
    if torch.equal(a, b):
        return 0.0
    a, b = (t.detach().to(torch.complex128 if t.is_complex() else torch.float64) for t in (a, b))
    off = torch.where((a == b) | (a.isnan() & b.isnan()), 0.0, (a - b).abs())
    return off.nan_to_num(nan=float("inf"), posinf=float("inf")).max().item()


def units(t):
    """UNITS in the last place of the largest entry."""
    if not t.is_floating_point() or t.numel() == 0:
        return 0.0
    return UNITS * torch.finfo(t.dtype).eps * t.abs().max().item()


RUNNING = threading.local()


def is_running():
    """Is what this thread runs a step run again?"""
    return getattr(RUNNING, "again", False)


class Written(TorchDispatchMode):
    """Keeps the numbers of what is written to in these storages, so that they can be put back. What else is made meanwhile is nobody's."""

    @classmethod
    def _should_skip_dynamo(cls):
        return False  # as of dispatched.py's

    def __init__(self, storages, homes):
        super().__init__()
        self.log, self.storages = [], storages
        self.homes = [(t, t.detach(), t.requires_grad, t.grad) for t in homes]

    def keep(self, t):
        self.log.append((t, place(t), thin(t.detach()).clone(), version(t)))

    def write(self, t, numbers):
        self.keep(t)
        with torch.no_grad():
            thin(t.detach()).copy_(thin(numbers.detach().expand(t.shape)))

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if op is RENORM and args[0].untyped_storage().data_ptr() in self.storages:
            return args[0]  # what is moved is what was read, behind it
        for t in written(Operator.of(op), args, kwargs):
            if t.layout == torch.strided and t.untyped_storage().data_ptr() in self.storages:
                self.keep(t)
        return op(*args, **kwargs)

    def put_back(self):
        """Numbers and versions, in the places where they were."""
        with torch.no_grad():
            for t, there, marked, gradient in self.homes:
                if place(t) != place(there):
                    t.data = there
                if t.is_leaf and (t.requires_grad != marked or t.grad is not gradient):
                    t.requires_grad_(marked).grad = gradient
            for t, there, numbers, count in reversed(self.log):
                if place(t) == there:
                    thin(t.detach()).copy_(numbers)
                if count is not None:
                    torch._C._autograd._unsafe_set_version_counter((t,), (count,))


class Plain(TorchFunctionMode):
    """Does nothing: but PyTorch computes otherwise, at times, where no such mode is active, as one was."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))


class Call:
    """What is run again: a module's call, or a function."""

    def __init__(self, function, name, args, kwargs, roots, node, output):
        self.function, self.name, self.args, self.kwargs = function, name, args, kwargs
        self.nodes, self.outputs, self.result = (node, None), (output, None), None
        self.held, self.left, self.given = Held(roots, (args, kwargs)), None, []
        self.surroundings = Surroundings()


class Again:
    """Calls while the step runs, with what each module's call gave; check() runs them once more."""

    def __init__(self, trace):
        self.trace, self.calls, self.open, self.outputs = trace, [], None, []
        self.missed = False  # a call that cannot be run again

    # ---- While the step runs

    def begin(self, function, name="", args=(), kwargs=None, roots=()):
        if any(torch._C._functorch.is_functorch_wrapped_tensor(t) for t in tensors((args, kwargs or {}))):
            self.missed = True  # in vmap or grad: outside there is no such tensor
            return
        call = Call(function, name, args, kwargs or {}, roots, self.trace.count(), len(self.outputs))
        self.find_given(call)
        self.calls.append(call)
        self.open = call

    def end(self, result=None):
        call, self.open = self.open, None
        if call is None:
            return
        call.nodes, call.outputs = (call.nodes[0], self.trace.count()), (call.outputs[0], len(self.outputs))
        call.result, call.left = result, call.held.now()

    def find_given(self, call):
        """What was changed in place, as `pad[1, 6:] = True` does, is another value by now, which the call makes."""
        call.given = [v for v in map(self.known, tensors((call.args, call.kwargs))) if v is not None and not v.stale]

    def told(self):
        """The trace knows now what was met by another (repeated.py), of which nothing was changed in place."""
        for call in self.calls:
            self.find_given(call)
        self.outputs = [(name, depth, [(t, self.known(t)) for t, _ in results]) for name, depth, results in self.outputs]

    def known(self, t):
        return self.trace.by_identity.get(id(t))

    def output(self, name, out, depth=0):
        """A module's call has ended, in so many others. What was changed in place is another value, which the next who reads it makes."""
        if self.open is not None and self.trace.loss is None:
            known = [(t, self.known(t)) for t in tensors(out)]
            self.outputs.append((name, depth, [(t, None if value is not None and value.stale else value) for t, value in known]))

    # ---- Once more

    def check(self, loss, trained, others, branches):
        """trained: the parameters; others: tensors that the program may replace; branches: did Python's own hang on them? Refused, where
        something else ran than what was recorded."""
        self.end([(loss.of, loss)])
        found = ancestors(loss)
        self.nodes = [n for n in self.trace.nodes if id(n) in found]
        self.used = {id(v) for n in self.nodes for v in itertools.chain(n.reads, n.results)} | {id(loss)}
        self.trained, self.others = trained, others
        self.find_leaves()
        after = Held([item for call in self.calls for item, _ in call.held.contents.values()]), Surroundings()
        own = [*trained, *others, *after[0].tensors()]
        self.storages = {m.data_ptr() for m in (*(t.untyped_storage() for t in own if t.layout == torch.strided), *self.trace.memory)} - {0}
        drawn = [(g, g.get_state()) for g, _ in self.trace.drawn.values()]
        RUNNING.again = True
        try:
            why = self.differs(branches)
        finally:
            RUNNING.again = False
            after[0].put_back()
            after[1].set()
            for generator, state in drawn:
                generator.set_state(state)
            self.forget()
        if why:
            raise Refused(*why)

    def forget(self):
        """Lets go of all tensors."""
        self.calls, self.open, self.outputs, self.nodes, self.leaves, self.constants = [], None, [], [], {}, {}
        self.trained, self.others = [], []

    def find_leaves(self):
        """The values that are moved; and of others in the same memory what they were, for they are constants of the record."""
        own = {id(p) for p in self.trained}
        read = {id(v): v for n in self.nodes for v in n.reads if v.node is None}
        self.leaves = {key: v for key, v in read.items() if id(v.of) in own and v.requires_grad}
        moved = {v.of.untyped_storage().data_ptr() for v in self.leaves.values()}
        rest = [(key, v.tensor) for key, v in read.items() if key not in self.leaves and not v.tensor.is_meta]
        self.constants = {key: t.detach().clone() for key, t in rest if t.untyped_storage().data_ptr() in moved}

    def differs(self, branches):
        for size in SIZES if branches else SIZES[:1]:
            for by in (size, -size):
                found = self.run(by)
                if found and self.beyond_noise(found):
                    break
            else:
                return None
        return next(iter((self.run(by, every=True) or found).values()))[2]  # the first module that differs

    def beyond_noise(self, found):
        """Is what differs more than rounding, as it differs without a move, too, where a card adds in another order each time?"""
        noise = self.run(0) if all(off <= most for off, most, _ in found.values()) else {}
        return any(off > 8 * noise.get(at, (0,))[0] for at, (off, _, _) in found.items())

    def run(self, by, every=False):
        """What differs from the recorded operators where the parameters are moved by so much: by an output's number, how much, and the words.
        every: each module's output is looked at."""
        undo = Written(self.storages, [*self.trained, *self.others])
        try:
            for value in self.leaves.values():
                if value.stale:  # an optimizer has changed it since
                    undo.write(value.of, value.tensor)
            for number, p in enumerate(self.trained if by else ()):
                undo.keep(p)
                with torch.no_grad():
                    move(thin(p.detach()), by, number)
            made = self.constants | {key: v.of.detach() for key, v in self.leaves.items()}
            with without_autocast(), torch.no_grad():
                replay.follow(self.nodes, made)
            return self.run_calls(made, undo, every)
        finally:
            undo.put_back()

    def run_calls(self, made, undo, every):
        found, last = {}, None
        for generator, state in self.trace.drawn.values():
            generator.set_state(state)
        for call in self.calls:
            call.held.put_back(since=last)
            for value in reversed(list(self.entering(call, made))):
                undo.write(value.of, made.get(id(value), value.tensor))
            compare = Comparison(self, call, made, found, every)
            try:
                compare.run(undo)
            except Exception as why:  # the program's own
                found[compare.at] = float("inf"), 0.0, self.said(call.name, f"it ended in {type(why).__name__}: {why}")
            if found:
                break
            last = call.left
        return found

    def entering(self, call, made):
        """What the call reads of the step before it, and has other numbers now; of a tensor the first value."""
        inside, read, seen = set(), [*call.given], set()
        for node in self.trace.nodes[slice(*call.nodes)]:
            if not node.ours or any(id(v.node) in inside for v in node.reads):  # or else it says what was changed before the call
                inside.add(id(node))
                read += node.reads
        for value in read:
            if id(value.of) not in seen and (value.node is None or id(value.node) not in inside):
                seen.add(id(value.of))
                other = id(value) in made or (value.stale and not value.tensor.is_meta)
                if other and id(value) not in self.leaves and id(value) not in self.constants:
                    yield value

    def said(self, name, why):
        return (f"{name or 'the model'}, run again at moved parameters", f"{why}. Something is computed, or a tensor changed, that PyTorch's "
                "dispatcher does not show here (.data =, numpy, another thread, C++, a generator of its own)", "compute it by operators; "
                "again=False records without this check, and is told in the report")


class Comparison:
    """One call, run again: what it gives beside what the recorded operators give."""

    def __init__(self, again, call, made, found, every):
        self.again, self.call, self.made, self.found, self.at, self.every = again, call, made, found, call.outputs[0], every
        self.thread = threading.get_ident()
        inside = {id(n) for n in again.trace.nodes[slice(*call.nodes)]}
        self.given_out = {id(v) for n in again.nodes if id(n) not in inside for v in n.reads}

    def run(self, undo):
        """No autograd's memory is kept, as nobody goes back."""
        with contextlib.ExitStack() as stack:
            stack.enter_context(self.call.surroundings.entered())
            if isinstance(self.call.function, torch.nn.parallel.DistributedDataParallel):
                stack.enter_context(self.call.function.no_sync())
            stack.enter_context(torch.autograd.graph.saved_tensors_hooks(lambda t: None, lambda t: t))
            hook = modules.register_module_forward_hook(self.left)
            stack.callback(hook.remove)
            stack.enter_context(Plain())
            stack.enter_context(undo)
            out = self.call.function(*self.call.args, **self.call.kwargs)
        if self.call.result is not None:
            self.compare(self.call.name, out, self.call.result)
        if self.at != self.call.outputs[1] and not self.found:
            self.note(float("inf"), self.call.name, "other modules are called than before")

    def left(self, module, args, out):
        if threading.get_ident() != self.thread:
            return  # another runs a step of its own
        with torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch():
            if self.at >= self.call.outputs[1]:
                return self.note(float("inf"), self.call.name, "other modules are called than before")
            name, depth, results = self.again.outputs[self.at]
            if self.every or depth == 0 or any(id(value) in self.given_out for _, value in results):
                self.compare(name, out, results)
            self.at += 1

    def note(self, off, name, why, most=0.0):
        """most: what rounding may be."""
        if off > self.found.get(self.at, (0.0,))[0]:
            self.found[self.at] = off, most, self.again.said(name, why)

    def compare(self, name, out, results):
        now = list(tensors(out))
        if len(now) != len(results):
            return self.note(float("inf"), name, f"its output has {len(now)} tensors, and had {len(results)}")
        for t, (was, value) in zip(now, results):
            value = value or self.again.known(was)
            if value is None or id(value) not in self.again.used or value.tensor.is_meta and id(value) not in self.made:
                continue  # it is not in the loss
            expected = self.made.get(id(value), value.tensor).detach()
            off = difference(t.detach(), expected)
            if off > 0:
                where = f" ({value.node.where()})" if value.node else ""
                self.note(off, name, f"its output differs from that of the recorded operators, by {off:.2g}{where}", units(expected))
