"""clarke.record: a training step, written as a run folder (docs/run-format.md)."""
from __future__ import annotations

import ctypes
import inspect
import math
import os
import platform
import sys
import threading
import traceback
import types
import weakref
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from fractions import Fraction
from typing import Callable, Sequence

import numpy as np
import torch
from torch.nn.modules import module as hooks
from torch.nn.parameter import is_lazy
from torch.optim.swa_utils import AveragedModel
from torch.overrides import _get_current_function_mode_stack
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

from . import fingerprint, outside, repeated, running, updates
from ..operators import kinks
from ..tracing import replay
from ..graph import graph as graphs
from ..graph import model as models
from ..sums import trees as trees_of
from .again import Again, keywords
from ..operators.axes import RECURRENT
from .calls import repeated_by
from ..files import array, npz, raw, safetensors, size_of
from .folder import Folder, surely
from ..tracing.hooks import Hooks
from ..tracing.memory import is_folded, overlap, span
from ..sums.precision import of_products, precision
from ..profiles import installed
from ..refused import FOLDER, Refused
from .repeated import Program, Repeated, Unalike
from ..tracing.sparse import dense
from ..graph.surrogates import note_function
from ..tracing.dispatched import HANDED, TOGGLED, Dispatch, Functions, Trace, place, unseen, values_in

MOST_WAITING = 2  # steps in the background; each holds its activations


def begin_thread():
    """One thread writes the steps in the background, so that they are in order. A process that was forked has none of its parent's threads."""
    global LATER, WAITING, QUEUE
    LATER, WAITING, QUEUE = ThreadPoolExecutor(max_workers=1, thread_name_prefix="clarke.record"), [], threading.Lock()


begin_thread()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=begin_thread)


def later(work, *args):
    """In the background, as soon as no more than MOST_WAITING others wait."""
    with QUEUE:
        while len(unwritten()) >= MOST_WAITING:
            wait(unwritten(), return_when=FIRST_COMPLETED)
        WAITING[:] = [*unwritten(), LATER.submit(work, *args)]
        return WAITING[-1]


def unwritten():
    return [w for w in WAITING if not w.done()]


def settle():
    """Until all that is recorded in the background is written, or refused."""
    LATER.submit(lambda: None).result()


def setting(read, widest):
    """One of PyTorch's. Where its newer names for precisions are in use the older ones may raise: then the one with the widest bounds."""
    try:
        return read()
    except RuntimeError:
        return widest


def flags():
    return {"deterministic": torch.are_deterministic_algorithms_enabled(),
            "float32_matmul_precision": setting(torch.get_float32_matmul_precision, "medium"),
            "tf32_matmul": setting(lambda: torch.backends.cuda.matmul.allow_tf32, True),
            "tf32_cudnn": setting(lambda: torch.backends.cudnn.allow_tf32, True),
            "cudnn_benchmark": torch.backends.cudnn.benchmark, "mkldnn": torch.backends.mkldnn.enabled,
            "nnpack": torch._C._get_nnpack_enabled(),
            "threads": torch.get_num_threads(), "precision": precision()}


def held(t):
    """Its numbers as they are now: memory is copied when somebody writes to it, or at once where PyTorch cannot do that."""
    try:
        return torch._lazy_clone(t.detach() if t.requires_grad else t)
    except (AttributeError, RuntimeError):
        return t.detach().clone()


def storage(t):
    """Which one it is. (To ask for its address would copy what shall be copied later.)"""
    return t.untyped_storage()._cdata if t.layout == torch.strided else None


def own(trace, nodes, light, graph):
    """What a thread reads later must not change until then; and what it does not read is let go.

    Results and gradients are copied when somebody writes to them: mostly nobody does, and all others let go of them. (As they
    are held, autograd gave copies to the parameters.) What shares memory with what the step began with is copied at once:
    arrays of numpy's may have that memory, too."""
    inside, watched = {id(n) for n in nodes}, {id(n) for n in nodes if n.name.rstrip("_") in trace.watched}
    read = {id(v): v for n in nodes if not light or id(n) in watched for v in values_in(n.results)}
    read |= {id(v): v for n in nodes if id(n) in watched for v in n.reads}
    values = [v[0] for here in trace.places.values() for v in here]
    others, made = {storage(v.of) for v in values if v.node is None}, {}

    def kept(t):
        if t is HANDED:
            return t
        if t is not None and id(t) not in made:  # t is held, too: identities stay its own
            made[id(t)] = t, t.detach().clone() if storage(t) in others else held(t)
        return t if t is None else made[id(t)][1]

    new = {key: kept(v.tensor) for key, v in read.items()}
    for node in trace.nodes:
        node.grad_outputs = tuple(map(kept, node.grad_outputs)) if id(node) in inside else ()
        node.grad_inputs = tuple(map(kept, node.grad_inputs)) if id(node) in watched else ()
    for value in values:
        value.of = None
        if id(value) in new or (value is not graph.x and value is not graph.y):  # of these the shapes are read
            value.tensor = new.get(id(value))
    trace.let_go()


MEMCMP = ctypes.CDLL(None).memcmp
MEMCMP.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]


def address(view):
    return np.frombuffer(view, np.uint8).ctypes.data


def same_bits(a, b):
    """NaN is itself, and -0 not 0."""
    if a is b or a.dtype != b.dtype or a.shape != b.shape:
        return a is b
    if a.device.type == "cpu":  # C compares some times faster than numpy, and that than PyTorch
        if a.layout == b.layout == torch.strided and a.stride() == b.stride() and a.is_contiguous():
            size = a.numel() * a.element_size()
            return size == 0 or MEMCMP(a.data_ptr(), b.data_ptr(), size) == 0
        a, b = raw(a), raw(b)
        return len(a) == len(b) and (len(a) == 0 or MEMCMP(address(a), address(b), len(a)) == 0)
    return a.numel() == 0 or torch.equal(a.contiguous().reshape(-1).view(torch.uint8), b.contiguous().reshape(-1).view(torch.uint8))


def device_of(results):
    """Where all operators of the graph ran."""
    devices = sorted({str(t.device) for t in results if t.device.type != "meta"})  # whose numbers were let go
    if len(devices) > 1:
        raise Refused("the step", f"operators ran on several devices ({', '.join(devices)}), and a record is of one",
                      "move the model and the batch to one device")
    device = torch.device(devices[0])
    return {"type": device.type, "name": torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine()}


def optimizer_entry(optimizer):
    if optimizer is None:
        return None
    if isinstance(optimizer, (list, tuple)):
        return [optimizer_entry(o) for o in optimizer]
    plain = (int, float, bool, str, type(None))
    return {"name": type(optimizer).__name__,
            "groups": [{k: v for k, v in g.items() if isinstance(v, plain)} for g in optimizer.param_groups]}


SIGNATURES = weakref.WeakKeyDictionary()  # by functions, of which one may hold its model


def signature_of(function):
    if not isinstance(function, types.FunctionType):
        return inspect.signature(function)
    found = SIGNATURES.get(function)
    if found is None:
        found = SIGNATURES[function] = inspect.signature(function)
    return found


def arguments(forward, args, kwargs):
    """By the names that forward has for them."""
    of = getattr(forward, "__func__", None)
    code = getattr(of, "__code__", None)
    if code is not None and not kwargs and len(args) == code.co_argcount - 1 and not hasattr(of, "__wrapped__"):
        return dict(zip(code.co_varnames[1:], args))
    if of is None:
        return inspect.signature(forward).bind(*args, **kwargs).arguments
    bound = signature_of(of).bind(forward.__self__, *args, **kwargs).arguments
    del bound[next(iter(bound))]
    return bound


def tensors_in(tree, name=""):
    """(name, tensor) of arguments: of x=(a, b) x_0 and x_1."""
    if isinstance(tree, torch.Tensor):
        yield name, tree
    elif isinstance(tree, dict):
        for key, item in tree.items():
            yield from tensors_in(item, f"{name}_{key}" if name else str(key))
    elif isinstance(tree, (list, tuple)):
        for i, item in enumerate(tree):
            yield from tensors_in(item, f"{name}_{i}")


ASKED = ("named_modules", "named_buffers", "named_parameters", "_named_members")


def is_usual(kind):
    """Does a module of this class tell its parts as every module does?"""
    return all([getattr(kind, name) is getattr(torch.nn.Module, name) for name in ASKED])


def members(model):
    """By their names the modules, each once; the parameters; the buffers, each once: as PyTorch tells them, which walks through the model for each question."""
    modules, parameters, buffers, rest, met = {}, {}, {}, [("", model)], set()
    while rest:
        name, module = rest.pop()
        kind = type(module)
        if kind not in met and not is_usual(kind):
            return dict(model.named_modules()), dict(model.named_parameters(remove_duplicate=False)), dict(model.named_buffers())
        met.add(kind)
        prefix = name + "." if name else ""
        for own, p in module._parameters.items():
            if p is not None:
                parameters[prefix + own] = p
        if module not in met:
            met.add(module)
            modules[name] = module
            for own, b in module._buffers.items():
                if b is not None and b not in met:
                    met.add(b)
                    buffers[prefix + own] = b
        rest += [(prefix + own, m) for own, m in reversed(module._modules.items()) if m is not None]
    return modules, parameters, buffers


class Unheard:
    """Nobody may have waited for what is written in the background: a step that was not is not passed over in silence. (What is done then holds no
    record: the record holds it.)"""

    def __init__(self, path, step):
        self.path, self.step, self.waited = path, step, False

    def __call__(self, work):
        error = work.exception()
        if error is None:
            return
        traceback.clear_frames(error.__traceback__)
        if not self.waited:
            print(f"clarke.record: {self.path}, step {self.step}: nothing was written: {error}", file=sys.stderr)


class record:
    """with clarke.record("run/", model): loss = loss_fn(model(x), y); loss.backward()

    The step runs as it would without. At the end of the block the folder is written, or the step refused (Refused), and
    nothing written. `light` leaves the nodes' outputs and gradients out; `step` is its number. `optimizer` is noted, and its next step(),
    in the block or after it, is added to the folder: parameters and moments before and after (updates.py). It may be a list, each of some of the
    parameters. `ema`: a torch.optim.swa_utils.AveragedModel of the model, whose next update_parameters() is added, too; or (that, its decay).
    `append`: the folder has steps of this graph already, to which this one is added. `background`: a thread checks and
    writes while the training goes on, and wait() refuses; until then no tensor of the step but parameters, their gradients,
    buffers and the batch may be changed through numpy. `trees`: the orders of summation are asked for, too, and written.
    `accumulate`: gradients that parameters have already are put aside while the backward pass runs, and its own are added to them:
    micro-batches of one optimizer's step, each recorded.
    `again`: at the end the modules' calls are run once more, at moved parameters, and compared with what was recorded (again.py), unless enough steps of
    the same program were (fingerprint.py);
    or a function that gives the loss again, which is run in their place; False: nothing is, and the report says so.
    """

    def __init__(self, path: str | os.PathLike[str], model: torch.nn.Module, *, light: bool = False,
                 optimizer: torch.optim.Optimizer | Sequence[torch.optim.Optimizer] | None = None,
                 ema: AveragedModel | tuple[AveragedModel, float] | None = None, step: int = 0, append: bool = False, background: bool = False, trees: bool = False,
                 again: bool | Callable[[], torch.Tensor] = True, accumulate: bool = False) -> None:
        self.path, self.model, self.light, self.optimizer, self.step = os.fspath(path), model, light, optimizer, step
        self.append, self.background, self.work, self.unheard = append, background, None, Unheard(self.path, step)
        self.accumulate, self.aside, self.enabled, self.ema, self.updates = accumulate, {}, None, ema, []
        self.require_apart()
        self.trace = Trace(light, kinks.WATCHED, kinks.may_be_compared if background else kinks.compared,
                           kinks.needless if light and not background else None, note_function)
        self.given, self.gradients, self.flags, self.hooked = None, None, None, None
        self.again, self.loss_again = Again(self.trace) if again else None, again if callable(again) else None
        self.hooks, self.modes, self.thread, self.trees, self.ran, self.added = [], [], None, trees, None, []
        self.left, self.later, self.size = False, later, 0  # has the block ended? who works in the background; how many bytes were written
        self.compares, self.like, self.program = False, None, None  # is a step before, or a later one, compared with this? the programs (repeated.py)
        self.known = self.seen = None  # the program by its fingerprint, and that
        if trees and (light or background):
            raise ValueError("trees are of the nodes' numbers, and asked for in the step's own thread: leave light and background False")
        if trees:
            self.trace.keep_sums(trees_of.is_sum, trees_of.held)

    # ---- While the step runs

    def __enter__(self):
        self.look()
        self.require_ready()
        try:
            self.begin()
        except BaseException:
            surely(self.leave)
            surely(self.forget)
            raise
        return self

    def __deepcopy__(self, memo):
        """A model that is copied in the block has the hooks of this very record, and not of one that has it all twice."""
        return self

    def look(self):
        """By their names: all parameters, each parameter once, buffers; and the modules. (PyTorch walks through the model for each question.)"""
        self.modules, self.all_names, self.buffers = members(self.model)
        if getattr(self.model.named_parameters, "__func__", None) is not torch.nn.Module.named_parameters:
            self.parameters = dict(self.model.named_parameters())
            return
        first = {id(p): name for name, p in reversed(self.all_names.items())}
        self.parameters = {name: p for name, p in self.all_names.items() if first[id(p)] == name}

    def require_ready(self):
        for name, module in self.modules.items():
            if type(module).__name__ == "OptimizedModule" or getattr(module, "_compiled_call_impl", None) is not None:
                raise Refused(name or "the model", "it is compiled (torch.compile): its operators cannot be seen", "record the module itself")
        for name, p in self.parameters.items():
            if is_lazy(p):
                raise Refused(name, "it has no shape yet (a lazy module)", "call the model once before the block")
            if p.grad is not None and self.accumulate and p._post_accumulate_grad_hooks:
                raise Refused(name, "it has a gradient already, and a hook that is run when more is added to it (register_post_accumulate_grad_hook): in a "
                              "record it would see this pass's alone", "zero_grad first, or take the hook away")

    def require_no_gradients(self):
        """As the backward pass begins: most loops set them to 0 just before it, in the block."""
        for name, p in self.parameters.items():
            if p.grad is not None and bool((dense(p.grad.detach()) != 0).any()):
                self.trace.refusals.append(Refused(name, "it has a gradient already, and a record is of one backward pass",
                                                   "zero_grad before it, or accumulate=True where gradients are added up"))
                return

    def require_apart(self):
        several = self.optimizer if isinstance(self.optimizer, (list, tuple)) else []
        if len({id(o) for o in several}) < len(several):
            raise ValueError("optimizer: the same one is there twice; give each once")
        averaged = self.ema[0] if isinstance(self.ema, tuple) else self.ema
        if averaged is not None and not isinstance(averaged, AveragedModel):
            raise ValueError(f"ema: a torch.optim.swa_utils.AveragedModel is expected, not {type(averaged).__name__}: when another averages is not known")

    def release_updates(self):
        for update in self.updates:
            update.release()

    def begin(self):
        model, self.thread = self.model, threading.get_ident()
        self.before = {name: b.detach().clone() for name, b in self.buffers.items()}
        self.start = {name: p.detach().clone() for name, p in self.parameters.items()}
        self.names = {id(m): name for name, m in self.modules.items()}
        self.updates = updates.begin(self)
        self.trace.owned = [p.untyped_storage() for p in self.parameters.values() if p.requires_grad]  # so no other tensor has their addresses
        self.trace.parameters = {storage.data_ptr() for storage in self.trace.owned} - {0}  # tensors without entries have no memory, so all have its address
        self.trace.spans = [span(p) for p in self.parameters.values() if p.requires_grad]
        self.trace.trained |= self.trace.parameters
        self.trace.homes = {id(p): place(p) for p in self.parameters.values()}
        self.fresh = all(p.grad is None for p in self.parameters.values())  # so nobody has an array of gradients' memory, unless a hook takes one
        self.base = torch.autograd._get_sequence_nr()
        if not self.compares and self.may_repeat():
            self.compares, self.like = True, repeated.last(self)
        if self.like is not None and self.like.holds(self):
            self.trace.repeated = repeated_by(self.like, self)
        self.hooks.append(model.register_forward_pre_hook(self.enter_model, with_kwargs=True, prepend=True))
        self.hooks.append(hooks.register_module_forward_pre_hook(self.enter_module))
        self.hooks.append(hooks.register_module_forward_hook(self.leave_module, always_call=True))
        self.modes = [Functions(self.trace, self.before_backward, self.after_backward, held), Dispatch(self.trace)]
        if self.loss_again is not None:
            self.again.begin(self.loss_again, "the step", roots=[self.loss_again, model])
        for mode in self.modes:
            mode.__enter__()

    def enter_model(self, model, args, kwargs):
        """What the model is called with, the first time, by the names that its forward has."""
        if self.given is not None or model is not self.model:
            return
        try:
            bound = arguments(model.forward, args, kwargs)
        except (TypeError, ValueError):
            bound = {f"input_{i}": a for i, a in enumerate(args)} | kwargs
        self.given = {name: t for name, t in tensors_in(bound)}
        self.flags = flags()

    def enter_module(self, module, args):
        if threading.get_ident() != self.thread:  # another may record a step of its own
            return
        if self.again is not None and not self.trace.modules and self.trace.loss is None and self.loss_again is None:
            self.again.begin(module, self.names.get(id(module), type(module).__name__), args, keywords(), [module])
        self.trace.modules.append(self.names.get(id(module), type(module).__name__))

    def leave_module(self, module, args, out):
        if threading.get_ident() != self.thread:
            return
        name = self.trace.modules.pop()
        if self.again is not None:
            self.again.output(name, out, len(self.trace.modules))
            if not self.trace.modules and self.loss_again is None:
                self.again.end()

    def before_backward(self):
        now = flags()
        self.flags = self.flags or now
        for name in sorted(now):
            if now[name] != self.flags[name]:
                self.trace.refuse(f"{name} is {now[name]} in the backward pass, and was {self.flags[name]} in the forward pass",
                                  "set it before the block, once")
        self.trained = {name for name, p in self.parameters.items() if p.requires_grad}
        if self.trace.repeated is not None and not self.trained.issuperset(self.trace.repeated.program.trained_in):
            self.trace.tell()
        if any((read := self.trace.by_identity.get(id(p))) and read.requires_grad and not p.requires_grad for p in self.parameters.values()):
            self.trace.refuse(*TOGGLED)
        self.fresh = self.fresh and all(p.grad is None for p in self.parameters.values())
        if not self.accumulate:
            if self.hooked is None:  # a second pass is told by itself
                self.require_no_gradients()
        else:  # not before: a zero_grad in the block is of these gradients
            self.aside = {p: p.grad for p in self.parameters.values() if p.grad is not None}
            for p in self.aside:
                p.grad = None
        met = self.trace.kept if self.trace.repeated is None else self.trace.repeated.tensors.values()
        self.hooked = Hooks(self.trace, {id(t): t for t in [*self.parameters.values(), *met]}.values())

    def after_backward(self):
        self.hooked.restore()
        with torch._C.DisableTorchFunction(), torch.no_grad():  # no mode sees operators here
            lazy = self.trace.repeated is not None and self.fresh
            self.gradients = {n: held(p.grad) if lazy and not p._post_accumulate_grad_hooks else dense(p.grad.detach()).clone()
                              for n, p in self.parameters.items() if p.grad is not None}
        self.add_up()

    def add_up(self):
        """Adds the gradients to those that were put aside, as autograd would have. (No mode of ours is asked as no_grad ends: Ctrl-C in it would
        leave PyTorch without gradients.)"""
        if not self.aside:
            return
        with torch._C.DisableTorchFunction(), unseen(), torch.no_grad():
            for p, before in self.aside.items():
                if p.grad is not None:
                    before.add_(p.grad)
                p.grad = before
        self.aside = {}

    def __exit__(self, kind, error, _):
        try:
            self.enabled = torch.is_grad_enabled()  # Ctrl-C as a no_grad ends may leave it so
            surely(self.leave)
            if kind is None:
                self.write()
                for update in self.updates:
                    if not update.made:
                        update.wait(self.behind_it if self.background else None)
            else:
                self.release_updates()
        except BaseException as why:
            self.release_updates()
            surely(self.leave)
            traceback.clear_frames(why.__traceback__)  # of this package's: who keeps the exception does not keep the step
            raise
        finally:
            if self.enabled is not None:
                torch.set_grad_enabled(self.enabled)
            if self.work is None:
                surely(self.forget)
        return False

    def leave(self):
        """Nothing sees operators or modules any longer."""
        self.left = True
        self.add_up()  # where the backward pass did not end
        entered = [*_get_current_dispatch_mode_stack(), *_get_current_function_mode_stack()]
        for mode in reversed(self.modes):
            if any(mode is m for m in entered):
                mode.__exit__(None, None, None)
        for hook in self.hooks:
            hook.remove()
        hooked = self.hooked  # the background may let go of it meanwhile
        if hooked is not None:
            hooked.restore()

    def forget(self):
        """Lets go of the step: whoever keeps the record, or the exception that refused it, keeps no tensor but the model's."""
        self.trace.forget()
        if self.again is not None:
            self.again.forget()
        self.given = self.gradients = self.hooked = self.seen = None
        self.hooks, self.modes, self.differentiated = [], [], []
        self.parameters = self.buffers = self.all_names = self.modules = self.before = self.start = self.after = {}

    # ---- Afterwards

    def write(self):
        """The graph now; what is checked and written, now or behind other steps' in a thread of its own."""
        if self.gradients is None:
            raise Refused("the block", "no loss.backward() ran in it (torch.autograd.backward and grad are not seen)",
                          "call loss.backward() in the block")
        self.require_seen()
        if self.trace.repeated is not None and self.write_repeated():
            return
        self.require_seen()  # what was told by now may be refused
        for function in self.trace.own.values():
            function.require_that()
        held = {name: self.trace.by_identity.get(id(t)) for name, t in (self.given or {}).items()}
        given = [v for v in held.values() if v is not None]
        names = {id(v): name for name, v in held.items()}
        real = not (outside.broken(self.trace.loss.tensor) or any(map(outside.broken, self.gradients.values())))
        try:
            graph, loss, factors = graphs.write(self.trace, self.parameters, self.buffers, given, names, first=self.trees)
        except Refused:
            if self.write_outside(None, given, real):
                return
            raise
        inside = not self.light and not self.background and self.is_outside(graph)
        if self.write_outside(None if graph.whole else graph.x.tensor.shape[0], given, real and not inside):
            return
        self.branches = list(dict.fromkeys(graphs.require_unread(self.trace, self.trace.loss) + graph.branches))
        self.require_inputs(given)
        found = graphs.ancestors(self.trace.loss, given)
        nodes = [n for n in self.trace.nodes if id(n) in found]
        graph.initializers = {n: self.begun(n, t) for n, t in graph.initializers.items()}
        self.require_gradients(self.trained_in(graph))
        self.differentiated = graphs.differentiated(self.trace.loss)
        if not self.background:
            kinks.check(self.differentiated, installed())
        self.ran = self.run_again()
        run = self.description(graph, loss, factors)
        self.whole = graph.whole  # a single run, without a batch axis
        self.after = {n: t.detach().clone() if self.background else t for n, t in self.buffers.items()}
        self.program = self.program_of(graph, loss, run)
        repeated.note(self)
        batch = self.batch(graph, copied=self.background)
        made = [update for update in self.updates if update.made]  # whose step was in the block
        if self.background:
            own(self.trace, nodes, self.light, graph)
        if not self.background:
            if unwritten():  # they may be of this folder, and come before
                settle()
            self.finish(run, graph, nodes, batch, made)
            return
        self.work = self.later(self.behind, run, graph, nodes, batch, made)
        self.work.add_done_callback(self.unheard)

    def require_seen(self):
        for why in self.trace.refusals + self.trace.functions:
            raise why

    def may_repeat(self):
        """Is there nothing about the record that no program has?"""
        return not (self.trees or self.accumulate or self.updates or self.loss_again is not None)

    def program_of(self, graph, loss, run):
        """What a later step is compared with; None: nothing, or nobody asks."""
        if not self.compares or not self.may_repeat() or (self.again is not None and self.known is None):
            return None
        try:
            return Program(self, graph, loss, run, self.differentiated)
        except Unalike:
            return None

    def write_repeated(self):
        """The record of a step that ran the program of one before. (Was it?)"""
        ran = self.trace.repeated
        numbers = [ran.loss, *self.gradients.values(), *(() if self.light or self.background else ran.numbers_now())]
        buffers = () if self.light else [*self.before.values(), *self.buffers.values()]
        if (self.modes[0].autocast or outside.any_broken(numbers) or repeated.broken_among(buffers) or not ran.has_all_labels()
                or (self.again is not None and not ran.is_known_again())):
            ran.tell_all()
            return False
        program = ran.program
        self.require_gradients(program.trained_in)
        step = program.run["steps"][0] | {"step": self.step, "loss": ran.loss.item().hex(), "files": {}, "again": "program" if self.again is not None else None}
        if self.again is not None:
            program.known.steps += 1
            self.again.forget()
        self.after = {} if self.light else {n: t.detach().clone() if self.background else t for n, t in self.buffers.items()}
        ran.keep(held)
        self.trace.let_go()
        self.program, self.branches, self.whole = program, [], False
        run = {**program.run, "steps": [step]}
        if not self.background:
            if unwritten():  # they may be of this folder, and come before
                settle()
            self.behind_repeated(run)
            return True
        self.work = self.later(self.behind_repeated, run)
        self.work.add_done_callback(self.unheard)
        return True

    def behind_repeated(self, run):
        ran, program = self.trace.repeated, self.program
        try:
            kinks.check(ran.asked(), installed())
            with Folder(self.path) as folder:
                before = self.follow(folder, run, ran) if self.append else None
                gradients = {name: self.gradients[name] for name in program.trained_in}
                run["steps"][-1]["files"] = self.put_numbers(folder, ran.batch(), ran.start, gradients, None if self.light else ran.traced())
                if not self.append:
                    self.put_graph(folder, run, ran.model())
                folder.commit(run, before, known=None if self.append else program.texts(run))
        finally:
            self.forget()

    def is_outside(self, graph):
        """Is some number of the graph's no real one, beside masks of minus infinity, or some gradient between?"""
        numbers = {id(t): t for n, i in graph.recorded.values() if id(n.results[i]) not in graph.masked
                   for t in (n.results[i].tensor, *n.grad_outputs[i:i + 1]) if isinstance(t, torch.Tensor) and t.is_floating_point() and t.numel() > 0}
        return outside.any_broken([t for t in numbers.values() if not t.is_meta])

    def is_seen(self):
        """Did Python make nothing of the step's numbers that it read?"""
        try:
            graphs.require_unread(self.trace, self.trace.loss)
        except Refused:
            return False
        return True

    def write_outside(self, samples, given, real):
        """A step that leaves the reals, or is at a norm that is 0, has no gradient that an audit could judge: what made it so is written. (Was it?)"""
        found = graphs.ancestors(self.trace.loss, given)
        nodes = [n for n in self.trace.nodes if id(n) in found]
        seen = self.is_seen()
        why = outside.at_a_norm(nodes, samples, seen) if real else outside.explain(self.trace, nodes, self.gradients, samples, seen)
        if why is None:
            return False
        if self.append and self.updates:  # a GradScaler skips such a step: that is what is kept (clarke step)
            return False
        if self.append:
            raise Refused("the step", " ".join(why["lines"]), "record it without append, into a folder of its own")
        run = {"format": "clarke-run", "version": 1, "framework": {"name": "torch", "version": torch.__version__},
               "device": device_of([v.tensor for n in nodes for v in values_in(n.results) if v.tensor.is_floating_point()]),
               "outside": why, "steps": [{"step": self.step, "files": {}}]}
        self.release_updates()  # an optimizer's step has nothing to be put beside
        self.updates = []
        with Folder(self.path) as folder:
            folder.commit(run)
        return True

    def behind(self, *step):
        try:
            self.finish(*step)
        finally:
            self.forget()

    def finish(self, run, graph, nodes, batch, made):
        if self.background:
            kinks.check(self.differentiated, installed())
        if not (self.light or self.background or self.append):
            run["steps"][-1]["replay"] = replay.compare(self.trace, nodes, self.parameters, self.gradients)
        with Folder(self.path) as folder:
            before = self.follow(folder, run, graph) if self.append else None
            files = self.put_numbers(folder, batch, graph.initializers, self.wrt(graph), None if self.light else self.everything(graph))
            if self.trees:
                files["trees"] = folder.put(f"step-{self.step:06}.trees.json", [trees_of.find(self.trace, graph, self.parameters)])
            for update in self.updates:
                if update in made:
                    update.put_in(folder, run["steps"][-1], files)
                else:
                    update.gradients = files["gradients"]["sha256"]
            run["steps"][-1]["files"] = files
            if not self.append:
                self.put_graph(folder, run, [models.model_bytes(graph, torch.__version__)])
            folder.commit(run, before)

    def put_numbers(self, folder, batch, parameters, gradients, traced):
        """The step's files. (Their entries in run.json.)"""
        files, base = {}, f"step-{self.step:06}"
        files["batch"] = folder.put(f"{base}.batch.npz", npz(batch), size=sum(a.nbytes for a in batch.values()))
        files["parameters"] = folder.put(f"{base}.parameters.safetensors", safetensors(parameters), size=size_of(parameters))
        files["gradients"] = folder.put(f"{base}.gradients.safetensors", safetensors(gradients), size=size_of(gradients))
        if traced is not None:
            files["trace"] = folder.put(f"{base}.trace.safetensors", safetensors(traced), hashed=False, size=size_of(traced))
        self.size = sum(a.nbytes for a in batch.values()) + sum(map(size_of, (parameters, gradients, traced or {})))
        return files

    def put_graph(self, folder, run, parts):
        run["graph"] = folder.put("graph.onnx", parts)
        if not installed().known:
            folder.put(installed().name, [installed().text.encode()])

    def wait(self):
        """Until what was recorded in the background is written; a step that is refused is refused here."""
        if self.work is not None:
            self.unheard.waited = True
            self.work.result()
        for added in self.added:
            added.result()

    def behind_it(self, add):
        """The optimizer's step, when the record is written."""
        self.added.append(later(add))
        self.added[-1].add_done_callback(self.unheard)

    def follow(self, folder, run, graph):
        """Puts the step behind those of the folder, which must be of the same graph, made in the same way. (What was there.)"""
        there = folder.read()
        before = there[1]
        if "outside" in before:
            raise Refused(self.path, "it has a step that left the reals", FOLDER)
        same = os.path.join(self.path, before["graph"]["file"]), before["graph"]["sha256"]
        if isinstance(graph, Repeated):
            graph.require_same(*same)
        else:
            models.require_same(*same, graph)
        for key in run.keys() - {"graph", "steps", "nodes", "branches"}:
            if run[key] != before.get(key, {"batch_axis": True, "surrogates": [], "constants": []}.get(key)):
                raise Refused(self.path, f"{key} is {before.get(key)} in its steps, and {run[key]} in this one", FOLDER)
        if any(step["step"] == self.step for step in before["steps"]):
            raise Refused(self.path, f"it has a step {self.step} already", "give step another number")
        run["branches"] = list(dict.fromkeys(before.get("branches", []) + run["branches"]))  # of any step
        run["nodes"], run["graph"], run["steps"] = before["nodes"], before["graph"], before["steps"] + run["steps"]
        return there

    def begun(self, name, t):
        """What it was when the block began, which is what was read; or as its rows were scaled before (max_norm)."""
        if self.trace.homes.get(id(self.parameters.get(name)), (None,))[0] in self.trace.renewed:
            return t.detach().clone()
        begun = self.start.get(name, self.before.get(name, t))  # of what is trained elsewhere it is read
        if not same_bits(begun, t.detach()):
            raise Refused(name, "it was changed in the block, before it was read", "record the step alone")
        return begun

    def run_again(self):
        """What was: the function that gives the loss, the modules' calls, those of earlier steps of the same program, or nothing."""
        if self.again is None or not self.again.calls:
            return None
        self.seen = fingerprint.Fingerprint(self) if self.loss_again is None else None
        self.known = program = self.seen and fingerprint.program_of(self.seen)
        if program is not None and not program.is_due():
            program.steps += 1
            self.again.forget()
            return "program"
        trained = [self.parameters[name] for name in sorted(self.trained)]
        self.again.check(self.trace.loss, trained, list(self.buffers.values()), self.branches)
        if program is not None:
            program.steps += 1
        return None if self.again.missed else "loss" if self.loss_again is not None else "calls"

    def require_inputs(self, given):
        own = [v for n in graphs.ancestors(self.trace.loss, given).values() for v in n.reads]
        for value in given:
            behind = [v for n in graphs.ancestors(value).values() for v in n.reads]
            if any(value is v for v in own) and any(v.of is p for v in behind for p in self.parameters.values()):
                raise Refused(value.node.where(), "what the model is called with was computed from its own parameters",
                              "record a module that computes both, or detach what the model is called with")

    def require_gradients(self, names):
        """Each trained parameter of the graph has one, and no other has its memory: what shares entries moves together, and no gradient is of that."""
        by_storage = {}
        for name in sorted(names):
            self.require_gradient(name)
            p = self.parameters[name]
            there = by_storage.setdefault(storage(p), []) if p.numel() > 0 else []
            if (other := name if is_folded(p) else next((n for n in there if overlap(p, self.parameters[n])), None)) is not None:
                raise Refused(name, f"its entries lie in the memory of {'each other' if other == name else other}: they move together, and each has a "
                              "gradient of its own", "tie weights by one parameter (b.weight = a.weight), and expand it in forward")
            there.append(name)

    def require_gradient(self, name):
        if self.gradients.get(name) is None:
            raise Refused(name, "it is in the graph, and has no gradient (backward(inputs=...), or a hook that takes it away)",
                          "call loss.backward() alone, or requires_grad_(False) of what is not trained")

    def trained_in(self, graph):
        """The parameters in the graph that are trained."""
        return {n for n in graph.initializers if n not in graph.statistics and n in self.trained}

    def wrt(self, graph):
        return {n: self.gradients[n] for n in self.trained_in(graph)}

    def batch(self, graph, copied):
        """Its arrays; copied: a loader may fill the tensors anew."""
        x = array(graph.input)
        arrays = {"x": x[None] if graph.whole else x} | {name: array(t) for name, t in graph.given.items()}
        arrays |= {"y": array(graph.y.tensor)} if graph.y is not None else {}
        return {name: a.copy() for name, a in arrays.items()} if copied else arrays

    def everything(self, graph):
        masks = {n for n, t in self.before.items() if not bool(torch.isfinite(t).all()) and same_bits(t, self.after[n].detach())}
        tensors = {f"before/{n}": t for n, t in self.before.items() if n not in masks}
        tensors |= {f"after/{n}": t for n, t in self.after.items() if n not in masks}
        elsewhere = bool(graph.held)
        for name, (node, i) in graph.recorded.items():
            if graph.names.get(id(node.results[i])) != name:
                continue
            if id(node.results[i]) not in graph.masked:  # of those the record has no infinite entries
                tensors[f"output/{name}"] = node.results[i].tensor
            if i < len(node.grad_outputs) and node.grad_outputs[i] is not None and not (elsewhere and self.is_elsewhere(node.results[i])):
                tensors[f"gradient/{name}"] = node.grad_outputs[i]
            if node.name == "max_pool2d_with_indices":
                tensors[f"indices/{name}"] = node.results[1].tensor
        return tensors

    def is_elsewhere(self, value):
        """Is its gradient of what is trained, but not by this model?"""
        own = [p for name, p in self.parameters.items() if name in self.trained]
        return all(v.of is not p for n in graphs.ancestors(value).values() for v in n.reads for p in own)

    def factor(self, factors):
        """What the loss in the graph was multiplied by, exactly."""
        product = Fraction(1)
        for number, divides in factors:
            if not math.isfinite(number) or number == 0:
                raise Refused(self.trace.loss.node.where(), f"the loss is scaled by {number}", "take a factor that is finite and not 0")
            product = product / Fraction(number) if divides else product * Fraction(number)
        if self.trace.seed is not None:
            product *= Fraction(float(self.trace.seed))
        if product == 0:
            raise Refused(self.trace.loss.node.where(), "loss.backward(gradient) has a factor 0, so every gradient is 0",
                          "take another, or no argument")
        return str(product)

    def description(self, graph, loss, factors):
        """run.json, without the files."""
        tied = {n: next(m for m, p in self.parameters.items() if p is t)
                for n, t in self.all_names.items() if n not in self.parameters}
        others = [kind for kind, has in (("rnn", any(n.name in RECURRENT for n, _ in graph.recorded.values())), ("conv", graph.unfolded)) if has]
        flags = self.flags | {"precision": of_products(self.flags["precision"], others)}
        return {
            "format": "clarke-run", "version": 1,
            "framework": {"name": "torch", "version": torch.__version__}, "profile": installed().name,
            "device": device_of([v.tensor for n, _ in graph.recorded.values() for v in values_in(n.results) if v.tensor.is_floating_point()]),
            "dtypes": sorted(graph.dtypes), "autocast": self.modes[0].autocast, "flags": flags,
            "graph": None, "batch_axis": not graph.whole, "loss": graph.loss, "parameters": sorted(self.wrt(graph)), "tied": tied,
            "branches": self.branches, "surrogates": graph.surrogates, "constants": graph.constants,
            "nodes": [{"name": name, "aten": n.aten, "module": n.module, "source": n.source, "backward": n.backward}
                      for name, (n, _) in graph.recorded.items()],
            "steps": [{"step": self.step, "loss": loss.tensor.item().hex(), "loss_scale": self.factor(factors),
                       "optimizer": optimizer_entry(self.optimizer), "statistics": running.found(self.trace, graph), "again": self.ran, "files": {}, "replay": None}]}
