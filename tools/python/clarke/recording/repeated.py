"""A step that runs the same program as one that was recorded before: what runs is compared operator by operator, and nothing is written anew.

A Program is made of a recorded step: its operators with their arguments, where each tensor among these comes from, autograd's nodes, and the graph.
Repeated sees the operators of a later step. As long as each is the one of the program it only keeps what ran. At the first that is not, and
at anything else that the program does not have, all that ran is told to the trace, which goes on as if it had seen it itself (tell). So a
record that is made in this way is one that the trace would have made.

A program is of operators whose graph hangs on no number of a tensor, and reads parameters, buffers, and data alone. Of these operators two write:
a BatchNormalization to its statistics, and what counts its batches; each buffer once.
"""
import contextlib
import copy
import math
import weakref
from dataclasses import dataclass

import torch

from ..files import array
from .fingerprint import Fingerprint
from .folder import text_of_entry
from .outside import any_broken
from ..graph.graph import Graph
from ..graph.model import Template, model_bytes, require_same
from ..operators.table import IGNORED
from ..tracing.dispatched import CHANGED_IN_BACKWARD, REPLACED, UNSAID, Node, Operator, Value, place, source_line, values_in, version, written

# ATen's operators that are written alike whatever their numbers are (of nll_loss_forward: if no label is left out); and those that are so where
# all that they read is computed from x or a parameter.
ALIKE = {"t", "transpose", "addmm", "mm", "convolution", "view", "_unsafe_view", "relu", "leaky_relu", "hardtanh", "hardsigmoid", "hardswish",
         "sigmoid", "tanh", "gelu", "silu", "elu", "max_pool2d_with_indices", "avg_pool2d", "_adaptive_avg_pool2d", "mean", "native_layer_norm", "_log_softmax",
         "nll_loss_forward"}
OF_ACTIVATIONS = {"add", "sub", "mul", "bmm", "split", "expand", "clone", "_softmax"}
# Made of plain arguments alone: of the same ones the same numbers.
MADE = {"ones", "zeros", "full", "arange", "triu", "tril", "detach"}
# What is done with labels, or tokens, before they are read as such.
MOVED = {"view", "_unsafe_view", "reshape", "_reshape_alias", "clone", "slice", "select", "squeeze", "unsqueeze", "transpose", "t", "detach", "alias"}
TENSORS = (torch.Tensor, torch.nn.Parameter)
current_node, last_number = torch._C._current_autograd_node, torch.autograd._get_sequence_nr
is_grad_enabled, is_any_autocast_enabled = torch.is_grad_enabled, torch._C._is_any_autocast_enabled
PLAIN = (bool, int, float, str, type(None), torch.dtype, torch.device, torch.layout, torch.memory_format)


@dataclass(frozen=True)
class Slot:
    """Where a tensor comes from: of the values of a step, in the order in which they are met, the one of this number."""

    number: int


@dataclass
class Leaf:
    """A value that the step reads and has not made."""

    name: str  # the parameter's, or buffer's
    of: str  # "parameter", "buffer" or "data"
    kind: tuple  # shape, strides, type, device


@dataclass
class Event:
    """An operator of the forward pass, and what the trace knew of it."""

    op: object
    args: tuple  # with slots
    kwargs: dict
    results: list  # slots; or what is no tensor
    module: str
    source: str
    enabled: bool
    number: int  # autograd's, from the block's beginning
    backward: list
    derivative: str
    watched: bool
    changed: list  # the slots of buffers that it writes to
    node: Node  # without tensors


def is_made(value):
    """Is it the same in each step that runs these operators: of their plain arguments alone?"""
    return value.node is not None and not value.hidden and value.node.name in MADE and not value.node.own and all(map(is_made, value.node.reads))


def is_alike(graph, node):
    """Is the operator written alike whatever the numbers are that it reads, but for those that are the same in each step?"""
    name, moving = node.name, [id(v) in graph.moving or v.requires_grad for v in node.reads]
    if name == "detach" and all(v.readings == 0 for v in node.results):  # of autograd's own
        return True
    if name in ALIKE or (name in OF_ACTIVATIONS and all(moving)) or (name == "div" and moving == [True]):
        return True
    if name == "embedding":  # of tokens; a row that is padding, gradients that are divided or sparse, hang on these
        return node.args[1] is graph.x and graph.rows_read is not None and all(a is False or a == -1 for a in node.args[2:])
    if name == "empty":  # of which a BatchNormalization makes one, of no entries
        return node.results[0].tensor.numel() == 0
    if name == "native_batch_norm":
        return moving[:1] == [True] and not node.kwargs
    if name == "add_":
        return graph.of_buffer(node.args[0]) is not None and type(node.args[1]) is int and not node.kwargs
    if name == "masked_fill":
        return moving == [True, False] and is_made(node.reads[1])
    return name in MADE and all(map(is_made, node.results))


class Unalike(Exception):
    """What hangs on numbers, or on what no program has."""


def spot(t):
    """Where its numbers lie. (Of tensors with entries, whose memory is kept, it tells as much as place().)"""
    return t.data_ptr(), t.shape, t.stride()


def kind_of(t):
    """What operators, and those of derivatives, hang on beside numbers."""
    return t.shape, t.stride(), t.dtype, t.device


class Nodes:
    """Autograd's nodes behind a loss, by which those of another are compared."""

    def __init__(self, root, base, names):
        """names: of the parameters, by identity."""
        nodes, said, self.behind = autograd_nodes(root, base)
        self.said = [(kind, name if name != kind.__name__ else None, number, edges) for kind, name, number, edges in said]
        self.ends = [(i, names.get(id(t))) for i, t in ends(nodes).items()]

    def like(self, root, base, parameters):
        """Those behind this one, where they are as these, in their order; None: they are others."""
        found = [root, *[None] * (len(self.said) - 1)]
        for (kind, name, number, edges), behind, node in zip(self.said, self.behind, iter(found)):
            following = node.next_functions
            if type(node) is not kind or (name is not None and node.name() != name) or [i for _, i in following] != edges:
                return None
            if (node._sequence_nr() - base if edges else None) != number:
                return None
            for (after, _), i in zip(following, behind):
                if i is not None and found[i] is None:
                    found[i] = after
                if after is not (None if i is None else found[i]):
                    return None
        same = all(found[i].variable is parameters.get(name) for i, name in self.ends)
        return found if same and len(set(found)) == len(found) else None


def retained(tensors):
    """Does autograd copy a gradient for somebody?"""
    return any(t.requires_grad and not t.is_leaf and t.retains_grad for t in tensors)


def autograd_nodes(root, base):
    """Autograd's nodes behind one, each with all by which two may differ: kind, name, place in the order in which they were made, and edges."""
    seen, rest, said, behind = {}, [root], [], []
    while rest:
        node = rest.pop()
        if node is None or node in seen:
            continue
        seen[node] = len(seen)
        edges = node.next_functions
        nodes = [n for n, _ in edges]
        said.append((type(node), node.name(), node._sequence_nr() - base if edges else None, [i for _, i in edges]))
        behind.append(nodes)
        rest += nodes
    return list(seen), said, [[None if n is None else seen[n] for n in nodes] for nodes in behind]


def ends(nodes):
    """The tensors whose gradients autograd adds up, by the places of their nodes."""
    return {i: node.variable for i, node in enumerate(nodes) if not node.next_functions and hasattr(node, "variable")}


class Program:
    """What a step ran that was recorded whole: by its trace and its graph. Raises Unalike."""

    def __init__(self, record, graph, loss, run, differentiated):
        trace = record.trace
        self.numbers, self.leaves, self.marked, self.strides = {}, {}, [], []  # by values' identities; by slots
        self.data, self.labels, self.held = set(), [], {}  # values that are data alone, by identity; slots of labels; slots by buffers' names
        self.masks = {}  # by slots: the numbers of the graph that somebody may change past the dispatcher
        self.x, self.y = graph.x, graph.y
        self.require_plain(record, trace, graph)
        self.parameters, self.buffers, self.trained, self.flags = dict(record.all_names), dict(record.buffers), set(record.trained), record.flags
        self.names = {id(p): name for name, p in record.parameters.items()}
        self.names_of_buffers = {id(b): name for name, b in record.buffers.items()}
        self.events = [self.event(record, graph, node) for node in trace.nodes]
        self.first = {}  # by autograd's numbers: the place of the operator
        for i, event in enumerate(self.events):
            if trace.sequence.get(trace.nodes[i].sequence) is trace.nodes[i]:
                self.first[event.number] = i
        self.loss, self.given = Slot(self.numbers[id(trace.loss)]), {name: self.numbers.get(id(v)) for name, v in given_values(record).items()}
        self.autograd = Nodes(trace.loss.of.grad_fn, record.base, self.names)
        self.keep(record, graph, loss, run, differentiated)

    def require_plain(self, record, trace, graph):
        of_graph = (graph.whole, graph.loss not in ("ce", "sum"), graph.given.keys() - graph.remade, graph.masked, graph.surrogates,
                    graph.constants, graph.branches, graph.kept, graph.rows, graph.held)
        of_record = (not are_apart(record), broken_among([*record.before.values(), *record.after.values()]), record.branches,
                     record.modes[0].autocast)
        of_trace = (trace.read, trace.logged, trace.readings.jumps, trace.readings.lines, trace.own, trace.drawn,
                    trace.changed_later & trace.places.keys(), trace.overwritten, trace.seed is not None, trace.refusals, trace.functions,
                    not trace.alone, retained(trace.kept))
        if any((*of_graph, *of_record, *of_trace)) or self.x is self.y:
            raise Unalike

    def number(self, value):
        """A new one for a value that was not met."""
        if id(value) not in self.numbers:
            self.numbers[id(value)] = len(self.marked)
            self.marked.append(value.requires_grad)
            self.strides.append(value.place[3])
        return Slot(self.numbers[id(value)])

    def leaf(self, value, moving):
        name, buffer = self.names.get(id(value.of)), self.names_of_buffers.get(id(value.of))
        if not value.place or value.hidden or (value.stale and buffer is None) or (name is not None and not value.requires_grad) or buffer in self.held:
            raise Unalike
        slot = self.number(value)
        of = "parameter" if name is not None else "buffer" if buffer is not None else "data"
        if of == "data" and not moving:
            self.data.add(id(value))
        if of == "buffer":
            self.held[buffer] = slot.number
        self.leaves[slot.number] = Leaf(name or buffer or "", of, kind_of(value.of))

    def with_slots(self, tree):
        if isinstance(tree, Value):
            return self.number(tree)
        if type(tree) in (tuple, list):
            return type(tree)([self.with_slots(item) for item in tree])
        if type(tree) is dict:
            return {key: self.with_slots(item) for key, item in tree.items()}
        if type(tree) not in PLAIN:
            raise Unalike
        return tree

    def event(self, record, graph, node):
        known, name = Operator.of(node.op), node.name
        for value in values_in((node.args, node.kwargs)):  # (a BatchNormalization in training does not read what it writes to)
            if value.node is None and id(value) not in self.numbers:
                self.leaf(value, id(value) in graph.moving)
        if not (self.is_of_data(node) or is_alike(graph, node)) or node.op.namespace != "aten" or known.reads or node.own is not None or node.untouched:
            raise Unalike
        if name == "nll_loss_forward":
            if node.args[4] != IGNORED or bool((node.args[1].tensor == IGNORED).any()):
                raise Unalike
            self.labels.append(self.numbers[id(node.args[1])])
        args, kwargs = self.with_slots(node.args), self.with_slots(node.kwargs)
        changed = self.changed_by(known, node)
        if name == "masked_fill":
            self.masks[args[1].number] = node.reads[1].tensor.detach().clone()
        results = [self.number(v) if isinstance(v, Value) else v for v in node.results]
        if any(v.hidden or (v.tensor.numel() == 0 and name != "empty") for v in values_in((node.reads, node.results))):
            raise Unalike
        bare = Node(node.op, node.name, node.aten, (), {}, [], [], node.module, node.source, node.grad_enabled, node.sequence,
                    list(node.backward), derivative=node.derivative)
        watched = name in record.trace.watched
        return Event(node.op, args, kwargs, results, node.module, node.source, node.grad_enabled, node.sequence - record.base, list(node.backward),
                     node.derivative, watched, changed, bare)

    def is_of_data(self, node):
        """Does it only move data that are no numbers of the graph by themselves? Who reads these reads labels, or tokens; all else is refused here."""
        of_data = [id(v) in self.data for v in values_in((node.args, node.kwargs))]
        if not any(of_data):
            return False
        if all(of_data) and node.name in MOVED:
            self.data.update(id(v) for v in values_in(node.results))
            return True
        labels = node.name == "nll_loss_forward" and of_data == [False, True]
        if not labels and any(id(v) in self.data and v is not self.x for v in node.reads):
            raise Unalike
        return False

    def changed_by(self, known, node):
        """The slots of buffers that it writes to. What it gives that is such a buffer is that."""
        if not known.written or (known.op in UNSAID and not node.args[5]):
            return []
        changed = {id(v.of): self.numbers[id(v)] for i in known.places for v in values_in(node.args[i])}
        if not changed.keys() <= self.names_of_buffers.keys():
            raise Unalike
        self.numbers.update({id(v): changed[id(v.of)] for v in values_in(node.results) if id(v.of) in changed})
        return list(changed.values())

    def keep(self, record, graph, loss, run, differentiated):
        """The graph, and what is said of the step, without its tensors."""
        trace, places = record.trace, {id(n): i for i, n in enumerate(record.trace.nodes)}
        self.asked = [i for i in (places[id(n)] for n in differentiated) if self.events[i].watched]
        if loss is not trace.loss:  # it is multiplied by a number
            raise Unalike
        self.run = {**run, "steps": [dict(run["steps"][-1])]}
        self.said, self.template = None, None
        self.graph = copy.copy(graph)
        self.initializers, self.trained_in = list(graph.initializers), sorted(record.trained_in(graph))
        self.rows = graph.rows_read is not None and (graph.rows_read.shape[-1], graph.rows_read.dtype)
        self.remade = {}  # by inputs' names: what makes one, of which slots, and its shape and type
        for name, t in graph.given.items():
            make, values = graph.remade[name]
            self.remade[name] = make, [self.numbers[id(v)] for v in values], t.shape, t.dtype
        self.graph.parameters = self.graph.buffers = self.graph.initializers = self.graph.recorded = self.graph.names = {}
        self.graph.x = self.graph.y = self.graph.current = self.graph.rows_read = None
        self.graph.given, self.graph.remade = {}, {}
        self.graph.readers, self.graph.arguments, self.graph.updates = [], {}, []
        self.light, self.known, self.same = record.light, record.known, set()  # the last: hashes of graph.onnx that are of this graph
        values = {self.numbers[id(v)]: v for v in (self.x, self.y) if v is not None}
        self.x, self.y = (v and Slot(self.numbers[id(v)]) for v in (self.x, self.y))
        self.read = sorted({*values, *self.labels, *(at for at, leaf in self.leaves.items() if leaf.of == "data")})  # slots of data
        addresses = {place(p)[0]: (name, place(p)[1]) for name, p in record.parameters.items()}
        if len(addresses) < len(record.parameters):  # parts of one vector, say: in which of them a view lies its memory does not tell
            raise Unalike
        slots = {self.numbers[id(v)]: v for n in trace.nodes for v in values_in((n.args, n.results))}
        self.outputs, self.named = self.outputs_of(record), record.seen and record.seen.names_of([slots[at].of for at in self.read])
        self.traced = {} if record.light else dict(self.places_of(record.everything(graph), graph, places))
        self.kept = sorted({*self.read, *self.read_later(), *(at for _, of, *_ in self.remade.values() for at in of)})
        held = {slot: (*addresses[v.place[0]], *v.place[1:]) for slot, v in slots.items() if slot in self.kept and v.place and v.place[0] in addresses}
        self.of_parameters = {slot: (name, at - start, *how) for slot, (name, start, at, *how) in held.items()}  # from the parameter's own beginning on
        self.numbers, self.data = None, None
        self.calls = None  # what the step calls, and where else its tensors lie (calls.py); (): that is not enough to tell

    def places_of(self, written, graph, places):
        """Where each tensor, by its name in the trace's file, comes from: (a slot, None), or (an operator, which of the gradients of its results)"""
        for name, t in written.items():
            if name.startswith(("before/", "after/")):
                continue  # buffers, in any step
            node, i = graph.recorded[name.partition("/")[2]]
            if name.startswith("gradient/"):
                yield name, (places[id(node)], i)
            else:
                yield name, (self.numbers[next(id(v) for v in values_in(node.results) if v.tensor is t)], None)

    def read_later(self):
        """The slots whose numbers are written, or looked at where a kink may be."""
        yield from (at for at, i in self.traced.values() if i is None)
        for event in (self.events[i] for i in self.asked):
            yield from (slot.number for slot in (*event.args, *event.results) if type(slot) is Slot)

    def texts(self, run):
        """Those of entries of run.json that are the program's own."""
        if self.said is None:
            self.said = {key: text_of_entry(value) for key, value in self.run.items() if key not in ("graph", "steps")}
        return {key: text for key, text in self.said.items() if run[key] is self.run[key]}

    def outputs_of(self, record):
        """Those of the modules, where the step is to be run again, as slots."""
        return record.seen and [(name, depth, [value and self.numbers.get(id(value)) for _, value in results]) for name, depth, results in record.seen.outputs]

    def holds(self, record):
        """Is the model the same, and how PyTorch computes?"""
        return are_same(record.all_names, self.parameters) and are_same(record.buffers, self.buffers) and are_apart(record)


def are_same(now, before):
    """The very tensors, by the same names in the same order."""
    return list(now) == list(before) and all(t is before[name] for name, t in now.items())


def are_apart(record):
    """Has each buffer memory of its own?"""
    homes = [b.untyped_storage().data_ptr() if b.layout == torch.strided else 0 for b in record.buffers.values()]
    return len(set(homes)) == len(homes) and 0 not in homes and record.trace.parameters.isdisjoint(homes)


def broken_among(tensors):
    """Is some number no real one, among these of any type?"""
    return any_broken([t for t in tensors if t.is_floating_point() and t.numel() > 0])


def given_values(record):
    """The values that the model was called with, by their names."""
    return {name: record.trace.by_identity.get(id(t)) for name, t in (record.given or {}).items()}


LAST = weakref.WeakKeyDictionary()  # by the models: the programs of the steps that were recorded last, by the way to record


def way(record):
    return record.light, record.again is not None


def note(record):
    """A later record of the model may be compared with this one."""
    if record.program is not None:
        LAST.setdefault(record.model, {})[way(record)] = record.program


def last(record):
    """What a record is compared with that begins now; None: nothing. (Of one that is put into a folder of its own the operators are replayed, and one that
    is due is run again: these need all that ran.)"""
    found = LAST.get(record.model, {}).get(way(record))
    replayed = not (record.light or record.background or record.append)
    return None if found is None or replayed or (record.again is not None and found.known.is_due()) else found


@dataclass(slots=True)
class Met:
    """A tensor of the step, kept so that its identity and memory stay its own."""

    slot: int
    tensor: torch.Tensor
    spot: tuple
    version: int | None


class Taken:
    """What autograd hands on at an operator's node. told: the trace's node, once it knows of it."""

    __slots__ = ("event", "whole", "grad_outputs", "grad_inputs", "told", "at_once")

    def __init__(self, event, whole):
        """whole: does anybody look at gradients of it?"""
        self.event, self.whole, self.grad_outputs, self.grad_inputs, self.told, self.at_once = event, whole, None, (), None, None

    def keep_output(self, grads):
        self.grad_outputs = grads if self.whole else ()  # held, so that autograd does not add to them in place
        if self.told is not None:
            self.told.backward += self.event.backward
            self.hold(self.at_once)

    def keep_inputs(self, grad_inputs, _):
        self.grad_inputs = grad_inputs
        if self.told is not None:
            self.hold(self.at_once)

    def hold_alone(self, held):
        """hold() of what the trace does not know of, where no mode sees functions."""
        self.grad_outputs, self.grad_inputs = copies(self.grad_outputs, held), copies(self.grad_inputs, held)

    def tell(self, node, at_once):
        """The trace gets what was handed on, and what is to come. (Its operators that are seen, of somebody's hooks, are put behind what ran before.)
        at_once: makes copies from now on, in the backward pass."""
        self.told, self.at_once, node.derivative = node, at_once, self.event.derivative
        if self.grad_outputs is not None:
            node.backward = list(self.event.backward)
            self.hold(at_once)

    def hold(self, held):
        """held: makes a copy of a gradient, which a later change does not reach. (A parameter's may have the memory of what was handed on.)"""
        with torch._C.DisableTorchFunction():
            self.hold_alone(held)
        if self.told is not None:
            self.told.grad_outputs, self.told.grad_inputs = self.grad_outputs, self.grad_inputs


def copies(gradients, held):
    return tuple([g if g is None or held is None else held(g) for g in gradients or ()])


def same_plain(a, b):
    """Two arguments that are no tensors. 0.0 is not -0.0, and no NaN is like another."""
    return type(a) is type(b) and a == b and (type(a) is not float or math.copysign(1, a) == math.copysign(1, b))


class Repeated:
    """A step, as long as it runs a program; then `trace.repeated` is None, and the trace knows what ran."""

    def __init__(self, program, record):
        self.program, self.record, self.trace = program, record, record.trace
        self.ran = []  # (op, args, kwargs, result, number, module, source) of each operator
        self.known, self.at, self.tensors = {}, {}, {}  # what was met by identity, and by its place; tensors by slots
        self.loss, self.taken, self.heard = None, {}, None  # the last: what is called (calls.py), if somebody asks

    # ---- The forward pass

    def call(self, usual, function, args, kwargs):
        """A function of PyTorch's is called, whose operators are seen."""
        if self.heard is None or self.loss is not None:
            return usual(function, args, kwargs)
        first, module, source = len(self.ran), self.module(), source_line()
        out = usual(function, args, kwargs)
        if self.trace.repeated is self:
            self.heard.hear(function, args, kwargs, out, first, module, source)
        return out

    def module(self):
        return self.trace.modules[-1] if self.trace.modules else ""

    def operators(self):
        """How many have run."""
        return len(self.ran)

    def is_whole(self):
        """Has all run that the program runs?"""
        return len(self.ran) == len(self.program.events)

    def see(self, op, args, kwargs):
        """An operator that PyTorch runs."""
        node = current_node()
        if node is not None or self.loss is not None:
            return self.behind(op, args, kwargs, node)
        ran, events = self.ran, self.program.events
        module, source = self.module(), source_line()
        try:
            event = events[len(ran)] if len(ran) < len(events) else None
            right = event is not None and self.is_next(event, op, args, kwargs, module, source)
        except Exception:  # whatever a tensor is, the trace has words for it
            right = False
        if not right:
            self.tell()
            return self.trace.followed(op, self.trace.forward, op, args, kwargs)
        out = op(*args, **kwargs)
        number = last_number() - 1
        ran.append((op, args, kwargs, out, number, module, source, event.enabled))
        self.note_changes(event.changed, event.results)
        if number - self.record.base != event.number or not self.take(event, out):
            self.tell()
        return out

    def is_next(self, event, op, args, kwargs, module, source):
        return (op is event.op and module == event.module and source == event.source and is_grad_enabled() == event.enabled
                and not is_any_autocast_enabled() and self.alike(event.args, args)
                and (not kwargs and not event.kwargs or (kwargs.keys() == event.kwargs.keys() and self.alike(event.kwargs.values(), [kwargs[k] for k in event.kwargs]))))

    def alike(self, wanted, given):
        """Are these the arguments, in order?"""
        if len(wanted) != len(given):
            return False
        for a, b in zip(wanted, given):
            kind = type(a)
            if kind is Slot:
                if type(b) not in TENSORS or self.slot_of(b, a.number) != a.number or not self.is_mask(b, a.number):
                    return False
            elif kind is tuple or kind is list:
                if type(b) is not kind or not self.alike(a, b):
                    return False
            elif a is not b and not same_plain(a, b):
                return False
        return True

    def is_mask(self, t, slot):
        """Has it the program's numbers, if these are in the graph? (A C++ extension, say, changes a mask and tells nobody.)"""
        mask = self.program.masks.get(slot)
        return mask is None or torch.equal(mask, t)

    def slot_of(self, t, wanted):
        """The number of a tensor that an operator reads, as the trace would look it up; `wanted` only where it is a leaf that is read first. None: the
        trace would say something of it."""
        met, now = self.known.get(id(t)), spot(t)
        if met is not None:
            count = version(t)
            right = met.spot == now and met.version in (None, count) and t.requires_grad == self.program.marked[met.slot]
            met.version = count
            return met.slot if right else None
        leaf = t.requires_grad and t.is_leaf
        if not leaf and isinstance(t.grad_fn, torch.autograd.function.BackwardCFunction):
            return None
        found = None if leaf else self.at.get((*now, t.dtype, t.requires_grad))
        if found is None:
            return self.read_first(t, now, wanted)
        return found if spot(self.tensors[found]) == now else None  # else that one has other memory by now

    def read_first(self, t, now, wanted):
        """A leaf: the one that the program reads there."""
        leaf = self.program.leaves.get(wanted)
        if leaf is None or wanted in self.tensors or t.layout != torch.strided or kind_of(t) != leaf.kind:
            return None
        if leaf.of == "parameter":
            if t is not self.record.parameters.get(leaf.name) or self.trace.homes[id(t)] != place(t) or not t.requires_grad:
                return None
        elif t.requires_grad or self.owns(t, leaf) or (leaf.of == "buffer") != (t is self.record.buffers.get(leaf.name)):
            return None
        self.meet(t, wanted, now, version(t), t.requires_grad)
        return wanted

    def meet(self, t, slot, now, count, marked):
        self.known[id(t)] = Met(slot, t, now, count)
        self.at[(*now, t.dtype, marked)] = slot
        self.tensors[slot] = t

    def owns(self, t, leaf):
        """Has a leaf the memory of what the step has made, or of the model's? (Data may share theirs.)"""
        address, leaves = t.untyped_storage().data_ptr(), self.program.leaves
        model = [home[0] for home in self.trace.homes.values()]
        if leaf.of == "data":
            model += [b.untyped_storage().data_ptr() for b in self.record.buffers.values()]
        return address in model or any([t.untyped_storage().data_ptr() == address for slot, t in self.tensors.items()
                                        if leaf.of == "buffer" or slot not in leaves or leaves[slot].of != "data"])

    def note_changes(self, slots, uncounted=()):
        """These buffers were written to by the program's own operators. uncounted: what autograd counts a change of only behind the operator."""
        for slot in slots:
            t = self.tensors[slot]
            self.known[id(t)].version = None if Slot(slot) in uncounted else version(t)

    def storages(self):
        """The addresses of all whose numbers are in the record."""
        return self.trace.parameters | {t.untyped_storage().data_ptr() for t in self.tensors.values()}

    def take(self, event, out):
        """The results of an operator; are they as many as there were?"""
        results = out if isinstance(out, (list, tuple)) else [out]
        if len(results) != len(event.results):
            return False
        program, known = self.program, self.known
        for slot, t in zip(event.results, results):
            if (type(slot) is Slot) != isinstance(t, torch.Tensor):
                return False
            if type(slot) is Slot:
                number, now = slot.number, spot(t)
                if number in event.changed and t is self.tensors[number]:
                    continue
                if id(t) in known or now[2] != program.strides[number]:
                    return False
                self.meet(t, number, now, None, program.marked[number])
        return True

    # ---- The trace, from now on

    def tell(self):
        """The trace gets what ran, as if it had seen it."""
        trace = self.trace
        trace.repeated = None
        self.require_as_met()
        with self.marked_as_met():
            for op, args, kwargs, out, number, module, source, enabled in self.ran:
                about = trace.before(op, args, kwargs)
                self.set_back(about[2])
                trace.after(op, about, out, number, module, source, enabled)
        if self.record.again is not None:
            self.record.again.told()
        for met in self.known.values():  # what was changed since by nobody whom the dispatcher shows is found there
            value = trace.by_identity.get(id(met.tensor))
            if value is not None and met.version is not None:
                value.version = met.version

    def set_back(self, read):
        """What an operator has written to has other numbers by now: those that it read are of the beginning."""
        for value in values_in(read):
            name = value.stale and self.program.names_of_buffers.get(id(value.of))
            if name:
                value.tensor = self.record.before[name]

    def require_as_met(self):
        """What is told is what was seen, of tensors that are what they were."""
        for met in self.known.values():
            if met.spot != spot(met.tensor):
                self.trace.refuse(*REPLACED)
                break

    @contextlib.contextmanager
    def marked_as_met(self):
        """A leaf that requires a gradient now, or none, is what it was when it was read."""
        marked = self.program.marked
        others = [m for m in self.known.values() if m.slot in self.program.leaves and m.tensor.requires_grad != marked[m.slot]]
        with torch._C.DisableTorchFunction():
            for met in others:
                met.tensor.requires_grad = marked[met.slot]
        try:
            yield
        finally:
            with torch._C.DisableTorchFunction():
                for met in others:
                    met.tensor.requires_grad = not marked[met.slot]

    def tell_all(self, held=None):
        """The same behind the backward pass; or in it: then held makes copies."""
        trace, loss = self.trace, self.loss
        trace.loss = None
        self.tell()
        trace.loss = trace.value(loss)
        for i, taken in self.taken.items():
            taken.tell(trace.nodes[i], held)

    # ---- The backward pass

    def watch(self, loss, gradient, others):
        """loss.backward() is about to run. (Is it the program's?) others: is there anything about it that backward() has not by itself?"""
        program = self.program
        try:
            right = (gradient is None and not others and not retained(self.tensors.values()) and self.is_whole() and self.slot_of(loss, None) == program.loss.number
                     and loss.grad_fn is not None and self.given() == program.given and self.record.flags == program.flags
                     and self.record.trained == program.trained)
            nodes = self.nodes_behind(loss) if right else None
            right = nodes is not None
        except Exception:
            right = False
        if not right:
            self.tell()
            return False
        self.loss, self.trace.loss, self.trace.readings.open = loss, loss, False
        self.trace.walked, self.versions = set(nodes), self.versions_now()
        for node, (_, _, number, _) in zip(nodes, program.autograd.said):
            if number in program.first:
                self.hook(node, program.first[number])
        return True

    def nodes_behind(self, loss):
        """Autograd's, if they are the program's."""
        nodes = self.program.autograd.like(loss.grad_fn, self.record.base, self.record.parameters)
        if nodes is not None and self.heard is not None:
            self.program.calls, self.heard = self.heard.found(nodes) or (), None
        return nodes

    def hook(self, node, i):
        event = self.program.events[i]
        taken = self.taken[i] = Taken(event, event.watched or not self.program.light)
        self.trace.hooks.append(node.register_prehook(taken.keep_output))
        if event.watched:
            self.trace.hooks.append(node.register_hook(taken.keep_inputs))

    def given(self):
        """The slots of what the model was called with."""
        known = {name: self.known.get(id(t)) for name, t in (self.record.given or {}).items()}
        return {name: None if met is None else met.slot for name, met in known.items()}

    def versions_now(self):
        return [(version(p), spot(p)) for p in self.record.parameters.values()]

    def end(self, held):
        """The backward pass has run. held: makes a copy of a tensor, which a later change does not reach."""
        made = {}

        def kept(t):
            if id(t) not in made:
                made[id(t)] = t, held(t)
            return made[id(t)][1]

        if self.trace.repeated is self:
            with torch._C.DisableTorchFunction():
                for taken in self.taken.values():
                    taken.hold_alone(kept)
        else:
            for taken in self.taken.values():
                taken.hold(kept)
        if self.versions_now() != self.versions:
            self.trace.refuse(*CHANGED_IN_BACKWARD)

    def behind(self, op, args, kwargs, node):
        """An operator behind the backward pass, or of another one. (Of loss.backward()'s own none is seen: they are those of autograd's nodes.)"""
        trace, known = self.trace, Operator.of(op)
        changed = known.written and {t.untyped_storage().data_ptr() for t in written(known, args, kwargs)}
        if self.loss is None:
            self.tell()
        elif node is not None or (changed and not changed.isdisjoint(self.storages())):
            self.tell_all()
        else:
            return op(*args, **kwargs)
        trace.followed(op, trace.behind, op, args, kwargs, node)
        return op(*args, **kwargs)

    # ---- The record

    def numbers_now(self):
        """What is to be in the trace's file, of numbers that must be real."""
        of_parameters, found = self.program.of_parameters, []
        for at, i in self.program.traced.values():
            if i is not None:
                found.append(self.taken[at].grad_outputs[i])
            else:
                found.append(self.record.parameters[of_parameters[at][0]] if at in of_parameters else self.tensors[at])
        return [t for t in found if t.is_floating_point() and t.numel() > 0]

    def is_known_again(self):
        """Had the step all that is looked at where one is run again, too: the modules with what they hold, their outputs, and whose the data are?"""
        program, again = self.program, self.record.again
        outputs = [(name, depth, [(met := self.known.get(id(t))) and met.slot for t, _ in results]) for name, depth, results in again.outputs]
        found = Fingerprint(self.record)
        named = found.names_of([self.tensors[at] for at in program.read])
        return not again.missed and outputs == program.outputs and named == program.named and found.around() == program.known.around

    def has_all_labels(self):
        """Is none left out?"""
        return not any([bool((self.tensors[at] == IGNORED).any()) for at in self.program.labels])

    def require_same(self, path, sha256):
        """Has the folder this graph? (It is compared once.)"""
        if sha256 not in self.program.same:
            require_same(path, sha256, self.graph())
            self.program.same.add(sha256)

    def keep(self, held):
        """Keeps the numbers of this step, which a later change does not reach, and lets go of its tensors. held: makes that of one that the step has made."""
        program, made = self.program, {}
        model = self.record.parameters | self.record.buffers
        start = {name: self.record.begun(name, model[name]) for name in dict.fromkeys([*program.initializers, *(name for name, *_ in program.of_parameters.values())])}
        batch = {self.tensors[at].untyped_storage()._cdata for at in program.read}

        def kept(t):
            if t is not None and id(t) not in made:
                made[id(t)] = t, t.detach().clone() if t.untyped_storage()._cdata in batch else held(t)
            return None if t is None else made[id(t)][1]

        self.numbers = {slot: self.of_parameter(slot, start) if slot in program.of_parameters else kept(self.tensors[slot]) for slot in program.kept}
        self.handed = {i: (taken.grad_outputs, taken.grad_inputs) for i, taken in self.taken.items()}
        self.start = {name: start[name] for name in program.initializers}
        self.held = {f"{when}/{name}": t for when, at in (("before", self.record.before), ("after", self.record.after)) for name, t in at.items()}
        self.given_again = None
        self.forget()

    def of_parameter(self, slot, start):
        """A parameter, or a part of one, as it was when the block began: with that it was compared."""
        name, offset, shape, strides = self.program.of_parameters[slot]
        p, whole = self.record.parameters[name], start[name]
        if whole.stride() == p.stride() and whole.storage_offset() == 0:
            return whole.as_strided(shape, strides, offset)
        return p.detach().as_strided(shape, strides, p.storage_offset() + offset).clone()

    def filled(self, tree):
        """With a value in the place of each slot."""
        if type(tree) is Slot:
            return Value(self.numbers.get(tree.number), None, self.program.marked[tree.number])
        if type(tree) in (tuple, list):
            return type(tree)([self.filled(item) for item in tree])
        return {key: self.filled(item) for key, item in tree.items()} if type(tree) is dict else tree

    def asked(self):
        """The nodes that may have kinks, with the numbers of this step."""
        for i in self.program.asked:
            event, node = self.program.events[i], copy.copy(self.program.events[i].node)
            node.args, node.kwargs, node.results = (self.filled(tree) for tree in (event.args, event.kwargs, event.results))
            node.grad_outputs, node.grad_inputs = self.handed.get(i, ((), ()))
            yield node

    def given_now(self):
        """The inputs beside x that are made of labels, of this step."""
        if self.given_again is None:
            made = {name: make(*[self.numbers[at].detach().cpu() for at in of]) for name, (make, of, *_) in self.program.remade.items()}
            self.given_again = {name: (t.reshape(shape) if t.numel() > 1 else t.expand(shape)).to(kind)
                                for (name, t), (*_, shape, kind) in zip(made.items(), self.program.remade.values())}
        return self.given_again

    def batch(self):
        program, x = self.program, self.numbers[self.program.x.number]
        arrays = {"x": array(x if not program.rows else Graph.ones_at(x, *program.rows))}
        arrays |= {name: array(t) for name, t in self.given_now().items()}
        return arrays | ({} if program.y is None else {"y": array(self.numbers[program.y.number])})

    def traced(self):
        """The tensors of the trace's file, by their names there."""
        return self.held | {name: self.numbers[at] if i is None else self.handed[at][0][i] for name, (at, i) in self.program.traced.items()}

    def graph(self):
        graph, program = copy.copy(self.program.graph), self.program
        graph.x, graph.y, graph.initializers, graph.given = self.filled(program.x), self.filled(program.y), self.start, self.given_now()
        graph.rows_read = Graph.ones_at(graph.x.tensor, *program.rows) if program.rows else None
        return graph

    def model(self):
        """The parts of graph.onnx."""
        program, graph = self.program, self.graph()
        if program.template is None:
            program.template = Template(graph, torch.__version__)
        return program.template.parts(self.start) if program.template.fits(self.start) else [model_bytes(graph, torch.__version__)]

    def forget(self):
        """Lets go of all tensors."""
        self.ran, self.known, self.at, self.tensors, self.taken, self.loss = [], {}, {}, {}, {}, None

    def let_go(self):
        """The same, and of what is kept."""
        self.forget()
        self.numbers, self.handed, self.start, self.held, self.given_again = {}, {}, {}, {}, None
        self.record = self.trace = None  # else they would hold one another
