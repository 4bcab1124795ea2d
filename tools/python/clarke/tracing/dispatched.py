"""The operators of one training step, as PyTorch's dispatcher runs them: forward, and backward by autograd's nodes.

Nothing here says what an operator means. A value is a tensor at one time: an operator that changes a tensor in place makes
a new value of it.
"""
import contextlib
import inspect
import itertools
import os
import sys
from dataclasses import dataclass, field

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes, _get_current_dispatch_mode_stack

from .memory import overlap, reaches, root, shared
from .readings import Number, Readings
from ..refused import COMPOSE, Refused

# Frames of these folders are not where an operator was called: torch's own, and this package's.
LIBRARIES = tuple(os.path.dirname(os.path.abspath(f)) + os.sep for f in (torch.__file__, os.path.dirname(__file__)))


@dataclass(slots=True, eq=False)
class Value:
    tensor: torch.Tensor  # its numbers; a copy, if the tensor was changed in place later
    node: "Node | None"  # what made it; None: it was there before
    requires_grad: bool
    stale: bool = False  # was the tensor changed in place later?
    of: torch.Tensor | None = None  # the tensor itself
    hidden: str = ""  # why its numbers depend on what is trained, though autograd knows nothing of it
    readings: int = 0  # how often an operator read it
    place: tuple = ()  # where the tensor's numbers lay
    version: int | None = None  # autograd's count of changes; None: it is told as the tensor is looked up next
    born: int = 0  # how many were met before it
    written: int = 0  # and how often its storage was written to


class Operator:
    """What is asked again and again of one of PyTorch's operators."""

    __slots__ = ("op", "name", "aten", "places", "written", "reads", "detaches", "again")
    known = {}  # by identity: each holds its operator

    def __init__(self, op):
        """places, written: places and names of the arguments that it writes to; reads: its result is a number of Python's."""
        self.op, self.name, self.aten = op, op._schema.name.split("::")[-1], str(op)
        arguments = op._schema.arguments
        marked = [a.alias_info is not None and a.alias_info.is_write for a in arguments]
        self.places = [i for i, a in enumerate(arguments) if marked[i] and not a.kwarg_only]
        self.written = [a.name for i, a in enumerate(arguments) if marked[i]]
        if op in UNSAID:
            self.places, self.written = (3, 4), ("running_mean", "running_var")
        plain = {"TensorType", "ListType", "OptionalType"}
        self.reads = self.name not in SHAPES_ALONE and any(r.type.kind() not in plain for r in op._schema.returns)
        self.detaches = op._schema.name == "aten::detach"
        self.again = {3} if self.name == "_cudnn_rnn" else ()  # arguments that have the numbers of others: all weights in one buffer

    @staticmethod
    def of(op):
        found = Operator.known.get(id(op))
        if found is None:
            found = Operator.known[id(op)] = Operator(op)
        return found


# The running statistics: their schemas do not say that they write to them.
UNSAID = {torch.ops.aten.native_batch_norm.default, torch.ops.aten.cudnn_batch_norm.default, torch.ops.aten.miopen_batch_norm.default}
RENORM = torch.ops.aten.embedding_renorm_.default  # rows of a table, in place, to a largest norm: max_norm
READ_ROWS = {"embedding", "_embedding_bag", "_embedding_bag_forward_only"}
SHAPES_ALONE = {"is_same_size", "size", "sym_size", "stride", "sym_stride", "numel", "sym_numel", "storage_offset", "sym_storage_offset", "dim",
                "_scaled_dot_product_flash_attention", "_scaled_dot_product_cudnn_attention"}


@dataclass(slots=True, eq=False)
class Node:
    """A forward operator: arguments and results with a Value in place of each tensor."""

    op: object
    name: str  # of the operator, without its overload
    aten: str
    args: tuple
    kwargs: dict
    reads: list  # the values in its arguments, in order: these are never others
    results: list
    module: str
    source: str
    grad_enabled: bool
    sequence: int  # autograd's number, if some argument requires a gradient
    backward: list = field(default_factory=list)  # names of the operators that autograd ran for it
    grad_outputs: tuple = ()  # by results; None where autograd had none
    grad_inputs: tuple = ()
    untouched: bool = False  # it has changed its argument, of which no entry lay on a kink
    derivative: str = ""  # autograd's name of it
    own: object = None  # of the last operator of somebody's Function, where that is a surrogate (surrogates.py)
    ours: bool = False  # the recorder's: the program has not run it

    @property
    def grad_output(self):
        return self.grad_outputs[0] if self.grad_outputs else None

    def where(self):
        return f"{self.module or 'the model'}, {self.source}: {self.aten}"


PLAIN = {bool, int, float, str}  # in which no tensor is


def values_in(tree):
    """The values in arguments, in order."""
    if tree is None or type(tree) in PLAIN:
        return
    if isinstance(tree, Value):
        yield tree
    elif isinstance(tree, (list, tuple)):
        for item in tree:
            yield from values_in(item)
    elif isinstance(tree, dict):
        for item in tree.values():
            yield from values_in(item)


def overwritten(value):
    """What an operator has set all entries of a value to; None: no operator has."""
    name = value.node.name if value.node is not None else ""
    return 0.0 if name == "zero_" else value.node.args[1] if name == "fill_" else None


def sources(node):
    """The values that its results depend on, to AD: not those that it overwrites whole."""
    if node.own:
        return [node.own.x]
    if node.name in ("fill_", "zero_", "copy_"):
        return list(values_in(node.args[1:]))
    if node.name == "put" and overwritten(node.args[2]) is not None:
        return [*node.reads[:2], *values_in(overwritten(node.args[2]))]
    return node.reads


# Their results have nothing of their arguments but shape and type.
MAKERS = {"empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "new_zeros", "new_ones", "new_full",
          "new_empty"}


def trained(value):
    """Does it depend on what is trained, by more than shape and type?"""
    seen, rest = {id(value)}, [value]
    while rest:
        value = rest.pop()
        if value.requires_grad or value.hidden:
            return True
        more = value.node.reads if value.node is not None and value.node.name not in MAKERS else ()
        rest += [v for v in more if id(v) not in seen]
        seen.update(map(id, more))
    return False


def replace(tree, leaf, new):
    """The arguments with new(x) for each x of type leaf."""
    if tree is None or type(tree) in PLAIN:
        return tree
    if isinstance(tree, leaf):
        return new(tree)
    if isinstance(tree, (list, tuple)):
        return type(tree)([replace(item, leaf, new) for item in tree])
    if isinstance(tree, dict):
        return {key: replace(item, leaf, new) for key, item in tree.items()}
    return tree


SHOWN = {}  # by the files' names


def shown(filename):
    """How a file is named; None: one of the libraries'."""
    if filename not in SHOWN:
        path = os.path.abspath(filename)
        inside = os.path.relpath(path)
        SHOWN[filename] = None if path.startswith(LIBRARIES) else os.path.basename(path) if inside.startswith("..") else inside
    return SHOWN[filename]


class Unfollowed(Exception):
    """A tensor that is no array in memory: of what shares its entries nothing can be said."""


DENSE = "write it with dense tensors: of sparse, nested, opaque or wrapped ones (torch.func, forward-mode) nothing is recorded"

HANDED = "handed on"  # in the place of a gradient that nobody looks at


def handed(gradients):
    return tuple([g if g is None else HANDED for g in gradients])


def written(known, args, kwargs):
    """The tensors that an operator is about to change, lists of tensors taken apart."""
    if not known.written:
        return ()
    found = [args[i] for i in known.places if i < len(args)] + [kwargs[name] for name in known.written if name in kwargs]
    return [t for item in found for t in (item if isinstance(item, (list, tuple)) else [item]) if isinstance(t, torch.Tensor)]


def source_line():
    """FILE:LINE of the call, outside of torch."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        name = SHOWN[name] if name in SHOWN else shown(name)
        if name is not None:
            return f"{name}:{frame.f_lineno}"
        frame = frame.f_back
    return "no source"


def place(t):
    """Where its numbers lie."""
    return t.untyped_storage().data_ptr(), t.storage_offset(), t.shape, t.stride()


def version(t):
    """How often it was changed, as autograd counts. (None is told of one that was made in inference mode.)"""
    try:
        return t._version
    except RuntimeError:
        return None


CHANGED = "a view of a tensor that was changed in place is read", "write the change as an operator that makes a new tensor"
REPLACED = ("the memory of a tensor was replaced behind autograd's back (.data =, set_, swap_tensors): AD differentiates another function",
            "compute it by an operator, and before the block where it is to be no part of the step")


BEHIND = "numbers of what is trained are read behind autograd's back (.data, or a copy of a parameter, where x.detach() says so)"
TOGGLED = "whether a tensor requires a gradient was changed in the block", "set requires_grad before the block"
CHANGED_IN_BACKWARD = "a parameter is changed while the backward pass runs", "change it behind the backward pass, as an optimizer does"
WITHIN = ("a backward pass within the step (torch.autograd.grad with create_graph=True, as a gradient penalty has): its derivative is made of operators' second "
          "derivatives, which no record has",
          "write that gradient by operators, as ((h > 0) * g) @ w where h is what a Linear of weight w gives to a ReLU; or record the step without the penalty")
ONCE = "call loss.backward() once in a block (of several losses, of their sum), and record further passes in blocks of their own"


def at_function(trace, node):
    """Where a Function's node of autograd was made, as its result's operator says."""
    made = [v.node for v in trace.by_identity.values() if v.of is not None and v.of.grad_fn is node and v.node is not None]
    return made[0].where() if made else trace.here()


def unknown_function(trace, node):
    function = type(node)._forward_cls
    code = inspect.unwrap(function.backward).__code__
    return f"{shown(code.co_filename) or 'torch'}:{code.co_firstlineno}: the derivative is that of a Function of its own, {function.__name__}"


def foreign(trace, node):
    """Refuses a Function of somebody's, where none is a surrogate (surrogates.py)."""
    return Refused(at_function(trace, node), unknown_function(trace, node), COMPOSE)


class Trace:
    """Fed by the modes below while the step runs."""

    def __init__(self, light=False, watched=(), compared=None, needless=None, note_function=foreign):
        """light: only what autograd hands to the operators that are watched is kept; of those whose gradients are not to be compared
        (a function of the node says so as the backward pass begins), only that there were some. needless: a function of an operator's
        name and its arguments: does nobody ask for the numbers that it changes, if only it has read them? note_function: a function of the
        trace and a Function's node of autograd, which says why that is refused."""
        self.note_function = note_function
        self.function = ""  # whose operators these are, where it is clarke.derive's
        self.light, self.watched, self.compared, self.needless = light, watched, compared, needless
        self.repeated = None  # what sees the operators in the place of this, as long as they are those of a step before (repeated.py)
        self.running = False  # the backward pass
        self.alone = ENGINE is not None  # did nobody but autograd have a part in it?
        self.calling = None  # the operator that PyTorch runs: what is raised meanwhile is not of here
        self.trained = set()  # the storages of numbers that depend on what is trained, autograd knowing
        self.parameters = set()  # the addresses of the parameters' storages,
        self.owned = []  # which are kept as long,
        self.spans = []  # and where each begins and ends
        self.changed_later = set()  # the storages that were written to behind the forward pass
        self.refusals = []  # what was seen that no record can say, with the line
        self.functions = []  # the same of derivatives that are not PyTorch's own
        self.own = {}  # such derivatives that are surrogates (surrogates.py), by the identity of autograd's node
        self.read = []  # (the value, the line) of numbers that Python read before the backward pass
        self.logged = []  # (the value, the line, how many operators had run and values were met) of those that it got as text, or as
        self.readings = Readings(source_line)  # a float that tells what becomes of it
        self.nodes = []
        self.modules = []  # the names of those that run
        self.loss = self.seed = None
        self.sums, self.is_sum, self.held = None, None, None  # a list: of sums in the backward pass
        self.sequence = {}  # forward nodes by autograd's numbers
        self.hooks = []  # on autograd's nodes
        self.kept = []  # tensors that must live: identities and addresses are looked up
        self.memory = []
        self.by_identity = {}
        self.writes = {}  # by storage: the values that were written there, in their order
        self.stored = {}  # the values in each storage that are not stale,
        self.places = {}  # and all
        self.drawn = {}  # generators that operators were given, by identity, each with its state before
        self.homes = {}  # by a parameter's identity: its place when the block began
        self.overwritten = set()  # the parameters' storages that were written to before the backward pass
        self.renewed = set()  # those whose rows were scaled to a largest norm before anything had read them

    # ---- Values

    def at_place(self, t, storage):
        """The last value of those entries that autograd sees alike; None: there is none."""
        marked, offset, shape, steps, dtype = t.requires_grad, t.storage_offset(), t.shape, t.stride(), t.dtype
        for value, was, first, size, strides, kind in reversed(self.places.get(storage, ())):
            if was == marked and first == offset and size == shape and strides == steps and kind == dtype:
                return value
        return None

    def is_behind(self, t):
        """Has a tensor that nobody made numbers of what is trained, autograd not knowing? A new leaf may: a parameter that is copied in the block, say."""
        storage = t.untyped_storage().data_ptr()
        if not t.requires_grad:
            return storage in self.trained or reaches(t, self.spans)
        if not t.is_leaf or id(t) in self.homes:
            return False
        return reaches(t, self.spans) or any(overlap(v.tensor, t) and trained(v) for v in self.stored.get(storage, ()))

    def of_function(self, t):
        """What somebody's Function gives is made without gradients, by its last operator, and then has the Function's derivative: another value."""
        if not isinstance(t.grad_fn, torch.autograd.function.BackwardCFunction):
            return None
        at = t.storage_offset(), t.shape, t.stride(), t.dtype
        for value, was, *there in reversed(self.places.get(t.untyped_storage().data_ptr(), ())):
            if tuple(there) == at and not was and value.node is not None and not value.stale:
                return self.remember(t, value.node)
        return None

    def remember(self, t, node, requires_grad=None):
        """requires_grad: of a result, which autograd has not marked yet."""
        memory = t.untyped_storage()
        storage = memory.data_ptr()
        marked = t.requires_grad if requires_grad is None else requires_grad
        value = Value(t, node, marked, of=t, place=place(t), version=version(t) if node is None else None, born=len(self.kept),
                      written=len(self.writes.get(storage, ())))
        if marked:
            self.trained.add(storage)
        self.kept.append(t)
        self.memory.append(memory)  # which the tensor may let go of, and another have its address
        self.by_identity[id(t)] = value
        here = value, marked, t.storage_offset(), t.shape, t.stride(), t.dtype
        if storage in self.places:
            self.places[storage].append(here)
            self.stored[storage].append(value)
        else:
            self.places[storage], self.stored[storage] = [here], [value]
        return value

    def value(self, t):
        if t.layout != torch.strided:
            raise Unfollowed(f"a tensor of layout {t.layout}")
        found = self.by_identity.get(id(t))
        if found is not None and found.place != place(t):
            self.require_unmoved(t)
            found = None
        if found is not None and not found.stale:
            self.require_version(found, t)
            if found.node is None and found.requires_grad != t.requires_grad:
                self.refuse(*TOGGLED)
            found.requires_grad = t.requires_grad
        elif found is None and not (t.requires_grad and t.is_leaf):  # autograd makes another tensor of a view that was made
            found = self.of_function(t) or self.at_place(t, t.untyped_storage().data_ptr())
        if found is None:
            self.require_home(t)
            if id(t) in self.homes and not t.requires_grad and place(t)[0] in self.parameters:  # it did as the block began
                raise self.refused(*TOGGLED)
            hidden = BEHIND if self.is_behind(t) else ""
            found = self.remember(t, None)
            found.hidden = hidden
            return found
        return self.refreshed(found, t) if found.stale else found

    def refreshed(self, found, t):
        """What a tensor has become of which entries were changed by way of others: operators say it that the program has not run. (Autograd
        knows it of the tensor that the others are views of; of a view it makes other nodes.)"""
        here = t.untyped_storage().data_ptr()
        for changed in self.writes.get(here, ())[found.written:]:
            at = shared(t, changed.of) if changed.tensor.dtype == t.dtype and not changed.tensor.is_meta else None
            seen = not (t.requires_grad or found.requires_grad) or (changed.requires_grad and t is root(changed.of))
            there = changed.node is not None and changed.node.grad_enabled and changed.place == place(changed.of)
            if at is None or not seen or not there:
                raise self.refused(*CHANGED)
            if at[0].numel() > 0:
                found = self.put(found, changed, *at)
        if not torch.equal(found.tensor.detach().nan_to_num(), t.detach().nan_to_num()):  # nor did anybody else write there
            raise self.refused(*CHANGED)
        found.written = len(self.writes[here])
        found.tensor, found.of, found.stale, found.place = t, t, False, place(t)
        self.by_identity[id(t)] = found
        self.places[here].append((found, t.requires_grad, t.storage_offset(), t.shape, t.stride(), t.dtype))
        self.stored[here].append(found)
        self.kept.append(t)
        return found

    def put(self, value, changed, to, entries):
        """The value with those entries of another."""
        with torch.no_grad():
            if entries.numel() != changed.tensor.numel():
                changed = self.made(torch.ops.aten.take.default, (changed, entries), changed)
            return self.made(torch.ops.aten.put.default, (value, to, changed, False), value, changed)

    def made(self, op, args, *of):
        """The result of an operator of ours."""
        known, marked = Operator.of(op), any(v.requires_grad for v in of)
        args = tuple(Value(a, None, False, of=a) if isinstance(a, torch.Tensor) else a for a in args)
        out = Value(op(*(a.tensor.detach() if isinstance(a, Value) else a for a in args)), None, marked, born=len(self.kept))
        module = self.modules[-1] if self.modules else ""
        out.node = Node(op, known.name, known.aten, args, {}, list(values_in(args)), [out], module, source_line(), True, -1, ours=True)
        self.nodes.append(out.node)
        return out

    def refused(self, why, instead):
        return Refused(self.here(), why, instead)

    def is_ready(self, value):
        """Was its memory there before the block, and no operator has written to it there before the backward pass?"""
        t = value.of
        if value.node is not None or value.hidden or t is None or not value.place or value.place != place(t):
            return False
        return value.place[0] not in self.writes and self.places[value.place[0]][0][0].node is None

    def is_new(self, value):
        """May Python have made it of what it read? (A parameter of the model was there.)"""
        return value.node is None and (not value.requires_grad or id(value.of) not in self.homes)

    def require_unmoved(self, t):
        """A tensor that has other memory than before: of data it is another value, of what is trained no record can say it."""
        if t.requires_grad:
            raise self.refused(*REPLACED)

    def require_version(self, value, t):
        """It was changed by nobody whom the dispatcher does not show."""
        now = version(t)
        if value.version is not None and value.version != now:
            raise self.refused("a tensor was changed by what PyTorch's dispatcher does not show here (another thread, C++)",
                               "compute it in the step's own thread, by operators")
        value.version = now

    def require_home(self, t):
        """A parameter that is read first is what it was as the block began."""
        home = self.homes.get(id(t))
        if home is None:
            return
        if home != place(t):
            raise self.refused(*REPLACED)
        if home[0] in self.overwritten:
            raise self.refused("a parameter was changed in the block, before it was read: AD differentiates another function",
                               "compute what is to be read by an operator, and change parameters before the block")

    def spare(self, known, args, changed):
        """The value that an operator is about to change, if nobody asks for its numbers: only this operator has read it, autograd knows
        of it, and nobody checks the results of what made it. (No graph has its numbers then. Whoever reads the tensor later reads
        another value, or is refused.)"""
        value = args[0] if len(changed) == 1 and args else None
        if self.needless is None or not isinstance(value, Value) or value.of is not changed[0] or value.node is None:
            return None
        alone = value.readings == 1 and value.requires_grad and torch.is_grad_enabled() and value.node.name.rstrip("_") not in self.watched
        return value if alone and self.needless(known.name, args) else None

    def change(self, t, spare=None):
        """The tensor is about to be changed: values that share entries with it keep their numbers, but for the one to spare."""
        storage = t.untyped_storage().data_ptr()
        if storage in self.parameters and self.loss is None:
            self.overwritten.add(storage)
        values = self.stored.get(storage)
        if not values:
            return
        for value, *_ in self.places[storage]:
            value.version = None  # views count together
        shared = [overlap(value.tensor, t) for value in values]
        for value in itertools.compress(values, shared):
            value.tensor = torch.empty_like(value.tensor, device="meta") if value is spare else value.tensor.detach().clone()
            value.stale = True
        self.stored[storage] = [value for value, touched in zip(values, shared) if not touched]

    # ---- Operators

    def read_in(self, tree, reads):
        """Arguments with a value in place of each tensor, which is put behind `reads`."""
        if tree is None or type(tree) in PLAIN:
            return tree
        if isinstance(tree, torch.Tensor):
            value = self.value(tree)
            value.readings += 1
            reads.append(value)
            return value
        if isinstance(tree, (list, tuple)):
            return type(tree)([self.read_in(item, reads) for item in tree])
        if isinstance(tree, dict):
            return {key: self.read_in(item, reads) for key, item in tree.items()}
        return tree

    def renews(self, table, places, *norm):
        """Does it give a parameter's rows other numbers before anything has read these, or none? The step is that of the parameter as it is then."""
        storage = table.untyped_storage().data_ptr()
        if storage not in self.parameters:
            return False
        new = (RENORM(table.detach().clone(), places, *norm) != table).any(-1).nonzero().reshape(-1)
        readers = [n for n in self.nodes if n.name != "detach" and any(v.place[:1] == (storage,) for v in n.reads)]
        if len(new) and any(n.name not in READ_ROWS or bool(torch.isin(n.args[1].tensor, new).any()) for n in readers):
            return False
        for value, *_ in self.places.get(storage, ()):
            value.version = None
        self.renewed.update([storage] if len(new) else [])
        return True

    def forward(self, op, args, kwargs):
        if op is RENORM and self.renews(*args):
            return op(*args)
        about = self.before(op, args, kwargs)
        self.calling = op
        out = op(*args, **kwargs)
        self.calling = None
        self.after(op, about, out, torch.autograd._get_sequence_nr() - 1, self.modules[-1] if self.modules else "", source_line(), torch.is_grad_enabled())
        return out

    def before(self, op, args, kwargs):
        """What is seen of an operator that is about to run: what is known of it, the values that it reads, its arguments with these, what it changes, and
        of that the value that nobody asks for."""
        known, reads = Operator.of(op), []
        held = self.read_in(args, reads), self.read_in(kwargs, reads) if kwargs else {}
        if op in UNSAID and args[5]:  # in training the running statistics are brought up to date, and not read
            reads = [v for i, item in enumerate(held[0]) if i not in known.places for v in values_in(item)]
        elif known.again:
            reads = [v for i, item in enumerate(held[0]) if i not in known.again for v in values_in(item)]
        changed = () if op in UNSAID and not args[5] else written(known, args, kwargs)  # in evaluation they are read alone
        if isinstance(generator := kwargs.get("generator"), torch.Generator):
            self.drawn.setdefault(id(generator), (generator, generator.get_state()))
        spare = self.spare(known, held[0], changed) if changed else None
        for t in changed:
            self.change(t, spare)
        return known, reads, held, changed, spare

    def after(self, op, about, out, number, module, source, enabled):
        """It has run: its node, and the values of its results. number: autograd's, the last one."""
        known, reads, held, changed, spare = about
        results = list(out) if isinstance(out, (list, tuple)) else [out]
        if changed and self.nodes and self.nodes[-1].name == "clone" and self.nodes[-1].sequence == number:
            number -= 1  # autograd has kept a copy of what is changed, and its node was made first
        differentiated = any([v.requires_grad for v in reads])
        node = Node(op, known.name, known.aten, held[0], held[1], reads, results, module, source, enabled, number, untouched=spare is not None)
        marked = enabled and not known.detaches and differentiated
        node.results = [self.remember(t, node, marked and t.is_floating_point()) if isinstance(t, torch.Tensor) else t
                        for t in results]
        for t in changed:
            if all(t is not r for r in results):
                leaf = self.remember(t, None)  # a buffer with new numbers: a leaf again, for whoever reads it
                if any(map(trained, reads)):
                    leaf.hidden = f"what {op} wrote depends on what is trained"
            now, here = self.by_identity[id(t)], self.writes.setdefault(t.untyped_storage().data_ptr(), [])
            here.append(now)
            now.written = len(here)
        if known.reads:
            self.read += [(v, node.source) for v in reads]
        self.nodes.append(node)
        if enabled and differentiated:
            self.sequence.setdefault(number, node)  # the first: others of that number made no node of their own

    def followed(self, what, see, *args):
        """see(*args); what it cannot follow is refused, by the name of the operator or function."""
        try:
            return see(*args)
        except Refused:
            raise
        except Exception as why:
            if self.calling is not None:
                self.calling = None
                raise
            said = str(why).strip().partition("\n")[0].partition(". ")[0].removesuffix(".")
            raise self.refused(f"{what}: {said}", DENSE) from None

    def here(self):
        return f"{self.modules and self.modules[-1] or 'the model'}, {source_line()}"

    def refuse(self, why, instead):
        """Told when the block ends."""
        self.refusals.append(self.refused(why, instead))

    def behind(self, op, args, kwargs, autograd_node):
        """An operator that is not of the forward pass is about to run."""
        if autograd_node is not None and not self.running and not self.refusals:
            within = self.loss is None and torch.is_grad_enabled()  # autograd's own operators have derivatives, too
            self.refuse(*(WITHIN if within else ("a backward pass that is not that of loss.backward(), of which a record is", ONCE)))
        for t in written(Operator.of(op), args, kwargs):
            self.changed_later.add(t.untyped_storage().data_ptr())
            if self.running and t.untyped_storage().data_ptr() in self.parameters:
                self.refuse(*CHANGED_IN_BACKWARD)
            self.change(t)

    def backward(self, autograd_node, op):
        node = self.sequence.get(autograd_node._sequence_nr())
        if node is not None:
            node.backward.append(Operator.of(op).aten)

    def watch(self, loss, gradient):
        """loss.backward(gradient) is about to run: gradients are kept as autograd hands them on."""
        if self.loss is not None:
            raise self.refused("a second backward pass", ONCE)
        if loss.numel() != 1 or loss.grad_fn is None:
            raise self.refused("the backward pass is of no scalar that depends on the parameters",
                               "call backward() of a loss of one number, as by mean(), of trained parameters")
        self.loss, self.seed, self.readings.open = self.value(loss), gradient, False
        seen, rest = set(), [loss.grad_fn]
        while rest:
            node = rest.pop()
            if node is None or node in seen:
                continue
            seen.add(node)
            self.require_own(node)
            rest += [n for n, _ in node.next_functions]
            held = self.sequence.get(node._sequence_nr())
            if held is not None:
                held.derivative = held.derivative or node.name()
            if held is not None and (not self.light or held.name.rstrip("_") in self.watched):
                whole = not self.light or self.compared is None or self.compared(held)
                self.hooks += node.register_prehook(self.keep_output(held, whole)), node.register_hook(self.keep_inputs(held, whole))
        self.walked = seen  # they live as long as their hooks

    def require_own(self, node):
        """A node of autograd that is a Function of somebody's is not what is recorded, unless it is a surrogate."""
        if isinstance(node, torch.autograd.function.BackwardCFunction):
            why = self.note_function(self, node)
            self.functions += [why] if why else []
        elif "CppNode" in node.name():
            self.functions.append(Refused(at_function(self, node), f"the derivative is that of a Function of its own in C++, {node.name()}", COMPOSE))

    def count(self):
        """How many operators have run."""
        return len(self.nodes) if self.repeated is None else self.repeated.operators()

    def tell(self):
        """What was seen in the place of this is told, if anything was."""
        if self.repeated is not None:
            self.repeated.tell()

    def forget(self):
        """Lets go of all tensors. Autograd's nodes hold hooks, which hold nodes of ours, which hold tensors, which hold autograd's:
        a ring through C++, which Python's search for rings does not follow: nothing else frees it."""
        for value in self.by_identity.values():
            value.tensor = value.of = value.node = None
        for node in self.nodes:
            node.args = node.kwargs = node.reads = node.results = node.grad_outputs = node.grad_inputs = node.own = None
        self.nodes.clear()
        self.by_identity.clear()
        self.loss = self.seed = self.sums = None
        if self.repeated is not None:
            self.repeated.let_go()
        self.owned, self.own = [], {}
        self.let_go()

    def let_go(self):
        """Lets go of what is looked up while the step runs."""
        for hook in self.hooks:
            hook.remove()
        self.walked, self.hooks = set(), []
        for held in (self.kept, self.memory, self.read, self.logged, self.places, self.stored, self.writes, self.sequence):
            held.clear()

    def keep_sums(self, is_sum, held):
        """From now on held(op, args, result, forward node) of each is kept."""
        self.sums, self.is_sum, self.held = [], is_sum, held

    def keep_sum(self, op, args, kwargs, out, autograd_node):
        if self.sums is not None and autograd_node is not None and not kwargs and self.is_sum(op):
            self.sums.append(self.held(op, args, out, self.sequence.get(autograd_node._sequence_nr())))

    @staticmethod
    def keep_output(held, whole):
        def hook(grads):
            held.grad_outputs = grads if whole else handed(grads)  # held, so that autograd does not add to them in place
        return hook

    @staticmethod
    def keep_inputs(held, whole):
        def hook(grad_inputs, _):
            held.grad_inputs = grad_inputs if whole else handed(grad_inputs)
        return hook


class Dispatch(TorchDispatchMode):
    """Sees every ATen operator, below autograd."""

    @classmethod
    def _should_skip_dynamo(cls):
        return False  # nothing is compiled here, and to say so at each operator costs more than the operator

    def __init__(self, trace):
        super().__init__()
        self.trace = trace

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        if self.trace.repeated is not None:
            return self.trace.repeated.see(op, args, kwargs or {})
        node = torch._C._current_autograd_node()
        if node is not None:
            self.trace.backward(node, op)
            self.trace.alone = self.trace.alone and of_engine(sys._getframe())
        if node is not None or self.trace.loss is not None:
            self.trace.followed(op, self.trace.behind, op, args, kwargs or {}, node)
            out = op(*args, **(kwargs or {}))
            self.trace.keep_sum(op, args, kwargs, out, node)
            if (own := self.trace.own.get(id(node))) is not None:
                own.operators.append((op, args, kwargs or {}, out))
            return out
        return self.trace.followed(op, self.trace.forward, op, args, kwargs or {})


# What hands numbers to somebody whom the dispatcher does not see.
ARRAYS = {torch.Tensor.numpy, torch.Tensor.tolist, torch.Tensor.__array__, torch.Tensor.__dlpack__, torch.Tensor.storage}
# What is written to a log: text, or a float that tells what becomes of it.
LOGGED = {torch.Tensor.item, torch.Tensor.__repr__, torch.Tensor.__format__}
MEMORY = {torch.Tensor.data_ptr, torch.Tensor.untyped_storage}


def hands_out(function):
    """Torch itself asks for memory, too, which hands nothing out, unless a tensor is pickled."""
    if function in MEMORY:
        frame = sys._getframe(1)
        while frame.f_code is not Functions.__torch_function__.__code__:
            frame = frame.f_back
        code = frame.f_back.f_code
        return shown(code.co_filename) is not None or code.co_name in ("_reduce_ex_internal", "_typed_storage")
    return function in ARRAYS


ENGINE = getattr(torch.autograd.graph, "_engine_run_backward", None)  # what calls autograd's engine; None: a PyTorch that has another


def of_engine(frame):
    """Did autograd itself run the operator whose mode was asked in this frame? (Its engine was called by Python: what stands between is a hook.)"""
    while frame is not None and (frame.f_code.co_name == "__torch_dispatch__" or frame.f_code.co_filename.endswith("_python_dispatch.py")):
        frame = frame.f_back
    return frame is None or (ENGINE is not None and frame.f_code is ENGINE.__code__)


def unseen():
    """No mode sees operators meanwhile."""
    return _disable_current_modes() if _get_current_dispatch_mode_stack() else contextlib.nullcontext()


class Functions(TorchFunctionMode):
    """Sees Tensor.backward, above autograd: with it the forward pass ends."""

    def __init__(self, trace, before, after, held=None):
        super().__init__()
        self.trace, self.before, self.after, self.held = trace, before, after, held
        self.autocast = None  # its type, where some operator ran under it

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function is torch.Tensor.backward:
            return self.backward(function, args, kwargs)
        if self.trace.repeated is not None:
            return self.trace.repeated.call(self.usual, function, args, kwargs)
        return self.usual(function, args, kwargs)

    def usual(self, function, args, kwargs):
        if isinstance(function, torch._ops.HigherOrderOperator):
            raise self.trace.refused(f"{function}: what it is handed are functions, whose operators cannot be seen",
                                     "call these themselves, with Python's own if, for and while")
        if self.autocast is None and torch._C._is_any_autocast_enabled():
            kind = next((k for k in ("cuda", "cpu") if torch.is_autocast_enabled(k)), None)
            self.autocast = kind and str(torch.get_autocast_dtype(kind)).removeprefix("torch.")
        if self.trace.loss is None and function in LOGGED and args[0].is_floating_point():
            return self.logged(function, args, kwargs)
        if self.trace.loss is None and hands_out(function):
            with unseen():
                self.trace.tell()
                value = self.trace.followed(torch.overrides.resolve_name(function), self.trace.value, args[0])
                self.trace.read.append((value, source_line()))
        return function(*args, **kwargs)

    def logged(self, function, args, kwargs):
        trace = self.trace
        with unseen():
            trace.tell()
            value = trace.followed(torch.overrides.resolve_name(function), trace.value, args[0])
        count = len(trace.read)
        out = function(*args, **kwargs)
        del trace.read[count:]
        if not trained(value):
            return out
        trace.logged.append((value, source_line(), len(trace.nodes), len(trace.kept)))
        return Number(out, trace.readings) if type(out) is float else out

    def watch(self, loss, gradient, others):
        """others: has backward() other arguments than it has by itself?"""
        repeated = self.trace.repeated
        if repeated is None or self.trace.loss is not None or not repeated.watch(loss, gradient, others or not self.trace.alone):
            self.trace.followed("backward", self.trace.watch, loss, gradient)

    def is_alone(self):
        """Does no other mode see autograd's operators, or change them? (One that was entered before sees those that are handed on.)"""
        return (all([isinstance(m, Dispatch) and m.trace is self.trace for m in _get_current_dispatch_mode_stack()])
                and not torch._C._is_any_autocast_enabled() and not torch.is_anomaly_enabled())

    def backward(self, function, args, kwargs):
        trace = self.trace
        trace.alone = trace.alone and self.is_alone()
        with unseen():
            self.before()
            others = [*args[2:], *(a for name, a in kwargs.items() if name != "gradient")]
            self.watch(args[0], kwargs.get("gradient", args[1] if len(args) > 1 else None), any(a is not None and a is not False for a in others))
            if (repeated := trace.repeated) is not None:
                self.run(self.backward_alone, args[0])
                repeated.end(self.held)
                return self.after()
        out = self.run(function, *args, **kwargs)
        with unseen():
            self.after()
        return out

    def run(self, function, *args, **kwargs):
        self.trace.running = True
        try:
            return function(*args, **kwargs)
        finally:
            self.trace.running = False

    def backward_alone(self, loss):
        """loss.backward(), of which no mode sees what autograd runs, but what Python does."""
        one = torch.ones_like(loss)
        with Heard(self.trace):
            ENGINE((loss,), (one,), False, False, (), allow_unreachable=True, accumulate_grad=True)


class Heard(TorchFunctionMode):
    """Hears what Python runs in the backward pass, as hooks do: Dispatch is shown that."""

    def __init__(self, trace):
        super().__init__()
        self.trace = trace

    def __torch_function__(self, function, types, args=(), kwargs=None):
        trace = self.trace
        if trace.repeated is not None:
            trace.repeated.tell_all(lambda t: t.detach().clone())  # at once: a hook's tensor keeps its address
        with Dispatch(trace):
            return function(*args, **(kwargs or {}))
