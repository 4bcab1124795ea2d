"""From a traced step to graph.onnx: one node an ATen operator, nothing folded, parameters under PyTorch's names.

Initializers are the parameters, each once, and the statistics that a BatchNormalization reads. What depends neither on the
input nor on a parameter (numbers, buffers, a mask that was drawn) is a Constant. What ONNX cannot say is refused by name.
"""
import itertools
from dataclasses import dataclass, field

import numpy as np
import torch
from onnx import TensorProto, helper

from ..operators import alignments, axes, embeddings, functions, fused, images, leaps, losses, matrices, norms, placed, products, rearrangements, reductions, terms  # noqa: F401  (their operators)
from ..operators.activations import clamp
from ..operators.axes import BESIDE, DIFFERENCES, WEIGHS
from ..files import raw
from ..operators.jumps import DRAWN, HELD, crossed, deciding, require_clear
from ..operators.kinks import number
from ..operators.masks import require_softmax
from ..tracing.memory import reaches, span
from ..operators.table import LOSSES, OPERATORS
from ..refused import COMPOSE, SEEN, Refused, Unbatched
from .surrogates import behind, drawn_behind, parameters_behind, write_own
from ..tracing.dispatched import MAKERS, Value, sources, trained, values_in

DOMAIN = "clarke"  # of the operators that ONNX does not have: docs/operators.md

ONNX_TYPE = {torch.float16: TensorProto.FLOAT16, torch.bfloat16: TensorProto.BFLOAT16, torch.float32: TensorProto.FLOAT,
             torch.float64: TensorProto.DOUBLE, torch.int64: TensorProto.INT64, torch.int32: TensorProto.INT32,
             torch.bool: TensorProto.BOOL, torch.uint8: TensorProto.UINT8, torch.int16: TensorProto.INT16,
             torch.int8: TensorProto.INT8}


MADE = {}  # nodes that were made: the next step has the same


def node_proto(op, inputs, name, outputs, domain, attributes, texts):
    """It is shared by graphs, and not to be changed."""
    key = op, tuple(inputs), name, outputs, domain, repr(attributes), texts
    made = MADE.get(key)
    if made is None:
        made = helper.make_node(op, inputs, [name] + [f"{name}:{i}" for i in range(1, outputs)], name, domain=domain, **attributes)
        for what, text in zip(("aten", "module", "source", "backward"), texts):
            entry = made.metadata_props.add()
            entry.key, entry.value = what, text
        if len(MADE) == 10000:
            MADE.clear()
        MADE[key] = made
    return made


SHORT = 64  # bytes of a constant's numbers, which the next step has, too


def constant_proto(name, kind, shape, numbers):
    """A constant's node, of its numbers' bytes. It is shared by graphs, if it is short."""
    key = name, kind, shape, numbers
    made = MADE.get(key) if len(numbers) <= SHORT else None
    if made is None:
        made = helper.make_node("Constant", [], [name], name, value=helper.make_tensor(name, kind, shape, numbers, raw=True))
        if len(numbers) <= SHORT:
            if len(MADE) == 10000:
                MADE.clear()
            MADE[key] = made
    return made


def is_shared(node):
    """Have later steps the same node?"""
    return len(node.metadata_props) > 0 or (node.op_type == "Constant" and len(node.attribute[0].t.raw_data) <= SHORT)


def proto_of(name, t):
    """Type, shape and bytes."""
    if t.dtype not in ONNX_TYPE:
        raise Refused(name, f"a tensor of type {t.dtype}", "give it a floating-point type to 64 bits, or one of whole numbers")
    return ONNX_TYPE[t.dtype], tuple(t.shape), bytes(raw(t))


def tensor_proto(name, t):
    kind, shape, numbers = proto_of(name, t)
    return helper.make_tensor(name, kind, shape, numbers, raw=True)


@dataclass
class Graph:
    """What is written, and by which names the trace's values go."""

    parameters: dict  # name: tensor, as the model has them
    buffers: dict
    nodes: list = field(default_factory=list)
    updates: list = field(default_factory=list)  # nodes that may bring running statistics up to date, with the trace's
    initializers: dict = field(default_factory=dict)
    statistics: set = field(default_factory=set)
    recorded: dict = field(default_factory=dict)  # ONNX node name: the trace's node, and which of its results
    read: set = field(default_factory=set)  # values that some node reads, by identity
    names: dict = field(default_factory=dict)  # by a value's identity
    taken: set = field(default_factory=set)
    dtypes: set = field(default_factory=set)
    unfolded: bool = False  # a convolution is a MatMul here
    x: Value | None = None
    rows_read: object = None  # ones at the places that x holds: of each a row (tokens)
    y: Value | None = None
    loss: str = ""
    loss_dtype: torch.dtype | None = None
    current: object = None
    whole: bool = False  # without a batch axis: the step's whole batch is one input
    arguments: dict = field(default_factory=dict)  # by a value's identity: the name that the model's forward has for it
    given: dict = field(default_factory=dict)  # inputs beside x: name, tensor
    remade: dict = field(default_factory=dict)  # of some: how a later step makes them (a function, and the values that it is of)
    first: bool = False  # are the samples on the first axis, alone, wherever the graph has a batch axis?
    behind: dict = field(default_factory=dict)  # entries behind a sample's, by a value's identity: of results (axes.py)
    rows: dict = field(default_factory=dict)  # inputs beside x that are made of integers, or truth values, by a value's identity
    active: set = field(default_factory=set)  # names of activations; the others are constants
    negated: set = field(default_factory=set)  # names of constants times -1
    masked: set = field(default_factory=set)  # values of which some entries are minus infinity, by identity
    kept: dict = field(default_factory=dict)  # of those whose samples have masks of their own: the name of ones and zeros (masks.py)
    shares: dict = field(default_factory=dict)  # by the identity of logarithms of which some are minus infinity: what they are of
    moving: set = field(default_factory=set)  # values that depend on x or a parameter, by identity
    surrogates: list = field(default_factory=list)  # where AD differentiates another function, in words (surrogates.py)
    others: list = field(default_factory=list)  # the lines that read what is trained, and no parameter of the model,
    held: set = field(default_factory=set)  # and their names
    ready: set = field(default_factory=set)  # the values that were there before the block, and were not written to in it, by identity
    constants: list = field(default_factory=list)  # what of the parameters is no variable of the step, in words
    readers: list = field(default_factory=list)  # the trace's nodes that are written
    branches: list = field(default_factory=list)  # lines of comparisons whose outcome is data

    # ---- Names

    def fresh(self, base):
        names = itertools.chain([base], (f"{base}_{i}" for i in itertools.count(2)))
        name = next(n for n in names if n not in self.taken)
        self.taken.add(name)
        return name

    def refuse(self, why, instead):
        raise Refused(self.current.where(), why, instead)

    # ---- What operators are written with

    def read_of(self, node):
        """Which results of the node are read."""
        return [i for i, v in enumerate(node.results) if id(v) in self.read]

    def add(self, op, inputs, domain="", outputs=1, result=0, **attributes):
        """A node; the name of its first output is the node's. It makes that result of PyTorch's operator, or goes before."""
        node = self.current
        if op not in NEGATED:
            inputs = [self.upright(op, i, name) for i, name in enumerate(inputs)]
        if op not in MOVES and not self.active.intersection(inputs):
            inputs = [self.lifted(inputs[0])] + inputs[1:]
        if op == "Gather" and not self.whole and inputs[0] not in self.active:
            raise Unbatched
        name = self.fresh(f"{node.module}/{node.name}" if node.module else node.name)
        if op in ("Gather", "Lift") or self.active.intersection(inputs):
            self.active.add(name)
        elif op in MOVES and (op == "Neg") != (inputs[:1] != [] and inputs[0] in self.negated):
            self.negated.add(name)
        texts = node.aten, node.module, node.source, " ".join(node.backward)
        self.nodes.append(node_proto(op, inputs, name, outputs, domain, {k: v for k, v in attributes.items() if v is not None}, texts))
        self.recorded[name] = (node, result)
        return name

    def upright(self, op, i, name):
        """A constant that an operator reads which takes none that is negated."""
        if name not in self.negated:
            return name
        if op in WEIGHTED and i > 0:
            self.refuse("its weight is a negated parameter", "negate what is computed with it")
        return self.lifted(name)

    def lifted(self, name):
        """A constant as an activation: of a parameter alone something is computed."""
        if not self.whole:
            raise Unbatched
        return self.add("Lift", [name], domain=DOMAIN)

    def data(self, name, t, again=None):
        """An input beside x, by that name or the next that is free. again: (a function, values) by which a later step makes it, but for its shape."""
        if not self.whole:
            node = self.current
            if node.name in terms.LOSSES:
                return self.beside("labels" if name == "y" else name, t, again)
            if node.name.rstrip("_") not in ENTRYWISE or t.dim() != next(iter(values_in(node.results))).tensor.dim():
                raise Unbatched
            return self.constant(t) if t.shape[0] == 1 < self.x.tensor.shape[0] else self.beside(name, t)
        name = self.fresh(name)
        self.given[name] = t
        return name

    def leapt(self, node, t):
        """What an operator that changes by leaps makes here, and near by, is data: the line is told as a branch's."""
        if not self.whole:
            raise Unbatched
        self.branches.append(node.source)
        return self.data("leapt", t)

    def shared(self, name, t, rank, again=None):
        """A number that is data, beside a tensor of so many axes: of samples each has it."""
        return self.data(name, t) if self.whole else self.beside(name, t.expand([self.x.tensor.shape[0]] + [1] * (rank - 1)), again)

    @property
    def input(self):
        """What the graph's input x is."""
        return self.x.tensor if self.rows_read is None else self.rows_read

    @staticmethod
    def ones_at(places, count, kind):
        """Ones at the places of a table's rows: of each place a row."""
        return torch.nn.functional.one_hot(places.detach().long(), count).to(kind)

    def tokens(self, value, count, kind):
        """The name of x as ones at the places of a table's rows that it holds, of as many columns: the table times that is its rows. Of one table."""
        t = value.tensor
        known = value is self.x and id(value) not in self.names and t.dim() > 0 and t.numel() * count <= MOST_ONES and (self.rows_read is None or self.rows_read.shape[-1] == count)
        if self.whole or not known or t.is_floating_point():
            raise Unbatched
        self.rows_read = self.ones_at(t, count, kind)
        self.active.add("x")
        return "x"

    def beside(self, name, t, again=None):
        """Data of each sample, the samples on the first axis as they are in x: an activation that nothing moves."""
        x = self.input
        if (merged := self.merged(t)) is not None:
            return self.add("Reshape", [self.beside(name, t.reshape(merged), again), self.integers(t.shape)])
        if t.dim() == 0 or t.shape[0] != x.shape[0] or not t.is_floating_point() or not x.is_floating_point():
            raise Unbatched
        narrow = t.to(x.dtype)
        if not torch.equal(narrow.to(t.dtype), t):
            raise Unbatched
        name = self.fresh(name)
        self.given[name] = narrow
        if again is not None:
            self.remade[name] = again
        self.active.add(name)
        return name

    def merged(self, t):
        """The shape with the samples on an axis of their own, where they are merged on the first one of what the node reads, and so of the data."""
        samples = self.x.tensor.shape[0]
        places = {axes.at(self, v) for v in axes.moving(self, self.current)}
        inner = places.pop()[1] if len(places) == 1 and all(found is not None and found[0] == 0 for found in places) else 1
        return [samples, inner, *t.shape[1:]] if inner > 1 and t.dim() > 0 and t.shape[0] == samples * inner else None

    def is_beside(self, value):
        """Is it read as data of each sample: by what the model was called with, or entry by entry beside activations?"""
        return value.tensor.is_floating_point() and self.is_row(value)

    def is_row(self, value):
        """The same of numbers that may be whole, or truth values."""
        t, node = value.tensor, self.current
        if self.whole or t.dim() == 0 or t.shape[0] != self.x.tensor.shape[0] or self.of_buffer(value) is not None:
            return False
        name = node.name.rstrip("_")
        if name in DIFFERENCES:
            return t.shape == node.args[0].tensor.shape == node.args[1].tensor.shape
        if name in WEIGHS and node.args[WEIGHS[name]] is not value:
            return False  # a weight, whose first axis is as long by chance
        if name in ("mm", "addmm") and value is node.args[-2]:  # rows times a matrix that all have
            right = node.args[-1]
            return right.requires_grad and self.names.get(id(right)) not in self.active
        return id(value) in self.arguments or name == "dot" or (name in (*BESIDE, "cat") and t.dim() == next(iter(values_in(node.results))).tensor.dim())

    def constant(self, t):
        name = self.fresh(f"{self.current.module}/constant" if self.current.module else "constant")
        self.nodes.append(constant_proto(name, *proto_of(name, t)))
        return name

    def integers(self, numbers):
        return self.constant(torch.from_numpy(np.array(list(numbers), np.int64)))

    def scalar(self, number, like):
        """A number as an operator on tensors of that type has it."""
        wide = torch.float64 if like.dtype == torch.float64 else torch.float32
        return self.constant(torch.tensor(float(number), dtype=torch.float64).to(wide))

    def bound(self, number, like):
        """A number that entries are set to, so that the kink is at it: rounded to their type."""
        return self.scalar(torch.tensor(float(number), dtype=torch.float64).to(like.dtype).item(), like)

    def float32(self, number, like, what):
        """An attribute is a float32: a number that is none can be said only where it was rounded to one."""
        narrow = float(torch.tensor(number, dtype=torch.float32))
        if like.dtype == torch.float64 and narrow != number:
            self.refuse(f"{what} = {number!r} is no float32, as ONNX's attribute is, and this is computed in float64", f"take {what} = {narrow!r}")
        return float(number)

    def of(self, value):
        """The name of a value, or of a number."""
        if not isinstance(value, Value):
            self.refuse(f"a {type(value).__name__} where a tensor is expected", "give a tensor")
        if id(value) not in self.names:
            self.names[id(value)] = self.leaf(value)
        return self.names[id(value)]

    def operand(self, value, like):
        """An operand of arithmetic: integers that are data become the floats that they are computed with."""
        if not isinstance(value, Value):
            return self.scalar(value, like)
        if value.tensor.is_floating_point() or id(value) in self.names:
            return self.of(value)
        name = self.arguments.get(id(value), "data")
        t = self.numbers(value).to(like.dtype)
        if self.is_row(value):
            self.rows[id(value)] = self.rows.get(id(value)) or self.beside(name, t)
            return self.rows[id(value)]
        return self.data(name, t) if self.whole else self.constant(t)

    def numbers(self, value):
        """Those of what is no activation: data; or what AD takes for a constant, which is told."""
        if value.requires_grad:
            self.refuse("a number, place or mask that is trained",
                        "detach it, where it is to be a constant; else multiply by it, or choose by torch.maximum or sort")
        if not self.whole and (id(value) in self.moving or trained(value)):
            raise Unbatched
        if (why := hidden_in(value)):
            self.refuse(f"{why}: AD differentiates another function than the one that is computed", SEEN)
        if trained(value):
            cuts, leaps = behind(value, self.current.where())
            self.branches += [node.source for node in leaps]
            for node in cuts:
                if node.name in DRAWN:
                    self.drawn(node)
                elif parameters_behind(node, self.parameters):
                    self.surrogate(node, "a constant to AD, as autograd does not see it (detach, or no_grad)")
        return value.tensor.detach()

    def settle(self, value):
        """Notes where the samples are in a result of the node that is written."""
        behind = axes.behind(self, self.current, value)
        if behind is None:
            raise Unbatched
        self.behind[id(value)] = behind

    def rows_of(self, value):
        """The value with the samples on an axis of their own, the first: its name and shape."""
        name, shape = self.of(value), list(value.tensor.shape)
        if self.whole or axes.is_first(self, value):
            return name, shape
        axis, inner = axes.at(self, value)
        if axis != 0:
            raise Unbatched
        shape = [self.x.tensor.shape[0], inner, *shape[1:]]
        return self.add("Reshape", [name, self.integers(shape)]), shape

    def surrogate(self, node, what):
        text = f"{node.source}{f' ({node.module})' if node.module else ''}: {node.aten}: {what}"
        if text not in self.surrogates:
            self.surrogates.append(text)

    def drawn(self, node):
        if parameters_behind(node, self.parameters):
            self.surrogate(node, "what was drawn is a constant to AD")

    def padded(self, node, table, row):
        """A row of a table is a constant where this node reads it: of the parameter elsewhere, perhaps, none."""
        name = next((name for name, t in self.parameters.items() if t is table.of), None)
        alone = name is not None and all(n.name == "embedding" and n.args[0].of is table.of and number(n.args, 2, -1) == row for n in self.readers
                                         if any(v.of is table.of for v in n.reads))
        if alone:
            text = f"row {row} of {name} is not trained (padding_idx)"
            self.constants += [text] if text not in self.constants else []
        else:
            self.surrogate(node, f"row {row} is a constant to AD (padding_idx), and read elsewhere, or computed")

    def statistic(self, value):
        """The running mean or variance that is read: an initializer, but no parameter."""
        name = self.of_buffer(value)
        if name is None:
            self.refuse("a running mean or variance that is no buffer of the model",
                        "register it: model.register_buffer(name, tensor), or take a BatchNorm module")
        self.statistics.add(name)
        return self.initializer(name, self.numbers(value))

    # ---- Leaves

    def of_buffer(self, value):
        return next((name for name, t in self.buffers.items() if t is value.of or same_place(t, value.tensor)), None)

    def initializer(self, name, t):
        self.initializers.setdefault(name, t)
        self.taken.add(name)
        return name

    def leaf(self, value):
        """A value that no recorded operator makes."""
        for name, t in self.parameters.items():
            if t is value.of:
                return self.initializer(name, value.tensor)
        if value is self.x:
            if self.rows_read is not None:
                raise Unbatched  # read as itself, too
            self.active.add("x")
            return "x"
        if value.requires_grad and id(value) not in self.moving and is_of_none(value):
            if not bool(torch.isfinite(value.tensor).all()):
                self.refuse("it reads a mean of no entries, which is no number", "leave it out where there are none")
            if not self.whole:
                raise Unbatched
            return self.data("data", value.tensor.detach())
        if id(value) in self.moving and value.node is not None and value.requires_grad:
            self.refuse("it reads what is computed from what is trained, and is no number of the graph (places, or a mask)", COMPOSE)
        if self.is_elsewhere(value):
            return self.elsewhere(value)
        if value.requires_grad:
            self.refuse(*NOT_OURS)
        numbers = self.numbers(value)
        if self.is_beside(value):
            return self.beside(self.arguments.get(id(value), "data"), numbers)
        if id(value) in self.moving or trained(value) or (self.whole and self.of_buffer(value) is None):
            return self.data(self.arguments.get(id(value), "detached" if trained(value) else "data"), numbers)
        return self.constant(numbers)


    def is_elsewhere(self, value):
        """Is it trained, but by another than this model: a critic, a discriminator? It has no memory with the model's parameters, nor is it made of them
        in the block."""
        t = value.of
        if value.node is not None or not value.requires_grad or t is None or not t.is_leaf or id(value) not in self.ready:
            return False
        return not reaches(t, [span(p) for p in (*self.parameters.values(), *self.buffers.values())])

    def elsewhere(self, value):
        """It is held as it is, as a parameter of the model that is not trained."""
        self.others.append(self.current.source)
        name = self.fresh("elsewhere")
        self.held.add(name)
        return self.initializer(name, value.tensor.detach().clone())

    def tell_elsewhere(self):
        """That there is such; and some of the model's own is trained."""
        if self.others and not any(self.parameters[name].requires_grad for name in self.initializers if name in self.parameters):
            self.refuse(*NOT_OURS)
        if self.others:
            self.constants.append(f"{len(self.others)} tensors are trained, and not by this model, at {', '.join(dict.fromkeys(self.others))}: constants here (elsewhere)")


def same_place(a, b):
    return a.shape == b.shape and a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr() \
        and a.storage_offset() == b.storage_offset()


# ---- Which part of the trace is written


def ancestors(value, cut=()):
    """The nodes that a value is made by, by identity; not those behind the values in cut."""
    found, rest = {}, [value]
    while rest:
        value = rest.pop()
        node = None if any(value is v for v in cut) else value.node
        if node is not None and id(node) not in found:
            found[id(node)] = node
            rest += node.reads
    return found


def differentiated(loss):
    """The nodes that autograd goes back through."""
    found, rest = {}, [loss]
    while rest:
        node = rest.pop().node
        if node is not None and id(node) not in found:
            found[id(node)] = node
            rest += [v for v in sources(node) if v.requires_grad]
    return list(found.values())


def needed(loss, given, numbers=()):
    """The nodes that make the loss, but for those of what AD takes for numbers though it depends on what is trained, by identity."""
    found, rest = {}, [loss]
    while rest:
        value = rest.pop()
        node = value.node
        if node is None or id(node) in found or id(value) in numbers or any(value is v for v in given) or (not value.requires_grad and trained(value)):
            continue
        found[id(node)] = node
        rest += sources(node)
    return found


def strip_scale(loss):
    """loss = factor * what is below it: a scaler's, or a mean over steps. (the loss below, the factor as texts)"""
    factors = []
    while loss.node is not None and loss.node.name in ("mul", "div", "mul_", "div_"):
        a, b = loss.node.args[:2]
        if isinstance(a, Value) and not a.requires_grad:
            a, b = b, a
            if loss.node.name.startswith("div"):
                break
        number = b if isinstance(b, (int, float)) else b.tensor.item() if b.tensor.numel() == 1 and not b.requires_grad else None
        if number is None or not isinstance(a, Value) or a.tensor.numel() != 1 or (isinstance(b, Value) and depends(b, ())):
            break  # a number that depends on parameters, by a comparison say, is none
        factors.append((float(number), loss.node.name.startswith("div")))
        loss = a
    return loss, factors


def find_target(graph, loss, given):
    """y: the one tensor that the loss takes besides, if it is data alone."""
    target = loss.node.args[1] if loss.node.name in ("nll_loss_forward", "mse_loss") else None
    if isinstance(target, Value) and not target.requires_grad and not depends(target, given):
        graph.y = target


def data_of(graph, nodes):
    """Arrays that are no parameters or buffers, in the order in which they are read: the model was not called itself, or with none."""
    read = [v for n in nodes for v in n.reads if v.node is None and not v.requires_grad and v.tensor.dim() > 0 and graph.of_buffer(v) is None]
    return [v for v in read if all(v.of is not p for p in graph.parameters.values())]


def computed_of(nodes):
    """What was computed, or drawn, in the block, and depends on nothing that is trained, where what does reads it."""
    read = [v for n in nodes if any(map(trained, values_in(n.results))) for v in n.reads]
    return [v for v in read if v.node is not None and v.tensor.dim() > 0 and v.tensor.is_floating_point() and not trained(v)]


def find_input(graph, loss, nodes, given):
    """x: what the model was called with. Of several, in a graph without a batch axis, the first that holds floats."""
    last = None if graph.whole else loss.node
    read = {id(v) for n in nodes if n is not last for v in n.reads}
    read.update(id(v) for v in values_in(loss.node.args[:1]))  # the target may be the input, too
    used = [v for v in given if id(v) in read] or (data_of(graph, nodes) or computed_of(nodes) if graph.whole else [])
    apart = used and not graph.whole and any(v.tensor.dim() == 0 or v.tensor.shape[:1] != used[0].tensor.shape[:1] for v in used)
    if apart:
        raise Unbatched
    if not used:
        raise Refused(loss.node.where(), "the loss depends on no data: neither on what the model was called with, nor on other arrays",
                      "call the model with a tensor in the block, or compute the loss with an array of data")
    graph.x = next((v for v in used if v.tensor.is_floating_point()), used[0])
    if any(v.requires_grad for v in used):
        raise Refused(loss.node.where(), "an input requires a gradient, and a record is of the gradient in parameters",
                      "detach the input, or make it a parameter of the model")


def hidden_in(value):
    """Why the value depends on what is trained, though autograd knows nothing of it, or nothing."""
    behind = (v.hidden for n in ancestors(value).values() for v in n.reads)
    return value.hidden or next(filter(None, behind), "")


UNSEEN = "Python reads a number that depends on what is trained before the backward pass: what is computed of it, or chosen by it, AD does not see"
LATER = "read it after the backward pass"


def read_at(value, line):
    """Where Python read it: the module of what made it, and the line."""
    return f"{value.node is not None and value.node.module or 'the model'}, {line}"


def require_unread(trace, loss):
    """Numbers that Python read before the backward pass may be in all that came later, and in the choice of the loss. Floats that depend
    on what is trained are refused, but for those of a log; of others the lines are told, and none may be at a jump (jumps.py)."""
    read = [(v, line, None) for v, line in trace.read]
    read += [(v, n.source, n) for n in trace.nodes for v in deciding(n)]  # shapes that depend on numbers
    branches = []
    for value, line, shape in read:
        if not trained(value):
            continue
        if value.tensor.is_floating_point() and shape is None:
            raise Refused(read_at(value, line), UNSEEN, f"{LATER}, or by item()")
        require_clear([*([shape] if value.tensor.is_floating_point() else ()), *crossed(value)], trained, line)
        branches.append(line)
    return list(dict.fromkeys(branches + require_logged(trace, loss)))


def require_logged(trace, loss):
    """No number that went to a log came back: what ran later reads tensors alone that were there, or are results; and no float. Nor was it
    compared with an equal one, by Python or by an operator on data whose result Python read. (The lines.)"""
    for line, why in trace.readings.jumps:
        raise Refused(line, f"{UNSEEN}: the number {why}", LATER)
    if trace.logged:
        (value, line, first, met), later = trace.logged[0], ancestors(loss)
        asked = set().union(*(ancestors(v) for v, _ in trace.read))
        for node in trace.nodes[first:]:
            told = id(node) in later or (id(node) in asked and not any(map(trained, node.reads)))
            if told and (has_float((node.args, node.kwargs)) or any(trace.is_new(v) and v.born >= met for v in node.reads)):
                raise Refused(read_at(value, line), f"{UNSEEN}: {node.where()} may compute with it", LATER)
        new = next((read for v, read in trace.read if trace.is_new(v) and v.born >= met), None)
        if new is not None:
            raise Refused(read_at(value, line), f"{UNSEEN}: what Python reads at {new} may be made of it", LATER)
    return [line for _, line, *_ in trace.logged] + trace.readings.lines


def has_float(tree):
    if isinstance(tree, (list, tuple)):
        return any(map(has_float, tree))
    return has_float(list(tree.values())) if isinstance(tree, dict) else isinstance(tree, (float, complex))


def depends(value, given):
    """Is the value computed from the input or something that requires a gradient?"""
    nodes = ancestors(value).values()
    return bool(hidden_in(value)) or any(v.requires_grad or any(v is g for g in given) for n in nodes for v in n.reads)


def is_of_none(value):
    """Is it made of what has no entries alone, as a sum of none?"""
    return value.node is not None and all(v.tensor.numel() == 0 or not v.requires_grad or is_of_none(v) for v in value.node.reads)


def varying(nodes, x, least=1):
    """The values that depend on x, being floats, or on something that requires a gradient, by identity: those of so many entries at least."""
    out = {id(x)} if x.tensor.is_floating_point() else set()
    for n in nodes:
        if n.name not in MAKERS and any((id(v) in out or v.requires_grad) and v.tensor.numel() >= least for v in n.reads):
            out.update(id(v) for v in n.results if isinstance(v, Value) and v.tensor.numel() >= least)
    return out


NOT_OURS = ("it reads a tensor that requires a gradient and is no parameter of the model",
            "make it a parameter of the model (register_parameter), record a module that has all that is trained, or detach it")
MOST_ONES = 1 << 22  # entries of x, where it holds places of rows
# Whose data are of the result's shape.
ENTRYWISE = {"where", "masked_fill", "native_dropout", "embedding"}
# What stays a constant when its input is one; what makes an activation of a constant.
MOVES = {"Constant", "Identity", "Neg", "Reshape", "Squeeze", "Transpose", "Unsqueeze", "Gather", "Lift"}
# What reads a constant times -1 as such; and whose weights are constants.
NEGATED = {"MatMul", "Gemm", "Lift", "Gather", "Identity", "Mul", "Div", "Add", "Sub", "Neg", "Reshape", "Squeeze", "Transpose"}
WEIGHTED = {"Conv", "ConvTranspose", "BatchNormalization", "LayerNormalization", "GroupNormalization", "PRelu"}


def changes_nothing(node):
    """A bound that no entry reaches, set without gradients (as cosine_similarity does). AD's is clamp's derivative: it is written so."""
    bound = bound_of(node)
    return bound is not None and bool((node.args[0].tensor > bound).all())


def bound_of(node):
    """The number that clamp_min_ has, or clamp_ without another; None of anything else."""
    lower = node.name == "clamp_min_" or (node.name == "clamp_" and len(node.args) == 2)
    bound = node.args[1] if lower else None
    if not isinstance(bound, Value):
        return bound
    return bound.tensor.item() if bound.tensor.numel() == 1 and not bound.requires_grad else None


def require_open(graph, node):
    """Nothing that it reads depends on what is trained without autograd's knowledge."""
    for value in node.reads:
        if id(value) not in graph.moving and (why := hidden_in(value)):
            graph.refuse(f"{why}: AD differentiates another function than the one that is computed", SEEN)


def first_result(node):
    return next(i for i, v in enumerate(node.results) if isinstance(v, Value))


def is_number(graph, node, numbers, read):
    """Does no result of the node get a gradient, so that these are numbers to who reads them? What is computed of x alone is no such thing, if it
    can be written; numbers: the values that are; read: those that any node reads, for the places of a pool's maxima may stay unread.
    In a graph with a batch axis there are none."""
    if node.own is not None or any(v.requires_grad for v in values_in(node.results)):
        return False
    name = node.name.rstrip("_")
    if name in OPERATORS and name not in HELD and all(v.tensor.is_floating_point() for v in values_in(node.results) if id(v) in read):
        return any(id(v) in numbers or trained(v) for v in node.reads)
    return any(id(v) in graph.moving for v in node.results)


def numbers_among(graph, nodes):
    """The values that are numbers to who reads them, by identity."""
    numbers, read = set(), {id(v) for n in nodes for v in n.reads}
    for node in nodes:
        if is_number(graph, node, numbers, read):
            numbers.update(map(id, values_in(node.results)))
    return numbers


def write_node(graph, node):
    graph.current = node
    require_open(graph, node)
    if node.own is not None:
        graph.names[id(node.own.y)] = write_own(graph, node)
        return
    result = next((v for v in node.results if isinstance(v, Value) and id(v) in graph.moving), None)
    if result is None:
        return  # a constant: written where it is read, if it is
    hidden = not node.grad_enabled and any(v.requires_grad for v in (*node.reads, *values_in(node.results)))
    if hidden and not changes_nothing(node):
        graph.refuse("without gradients here (no_grad, or a Function of its own): AD differentiates another function",
                     f"{SEEN}; what is not to be trained needs requires_grad_(False)")
    write = OPERATORS.get(node.name.rstrip("_")) if node.op.namespace == "aten" else None
    if write is not None and (node.op._overloadname == "dtype" or not result.tensor.is_floating_point()):
        graph.refuse("its result is no floating-point number, or its argument's bits: AD differentiates another function",
                     "cast by to(dtype) to a floating-point type")
    if write is None:
        graph.refuse("this operator cannot be written into the graph", COMPOSE)
    require_softmax(graph, node)
    made = clamp(graph, node, bound_of(node), None) if hidden else write(graph, node)
    made = made if isinstance(made, dict) else {first_result(node): made}
    for i, name in made.items():
        if not graph.whole and name in graph.active:
            graph.settle(node.results[i])
        graph.names[id(node.results[i])] = name
    for v in node.results:
        if isinstance(v, Value) and v.tensor.is_floating_point():
            graph.dtypes.add(str(v.tensor.dtype).removeprefix("torch."))


def write_loss(graph, loss):
    """The last nodes. In a graph without a batch axis the loss is any scalar; else it is of a form that is known."""
    graph.current = loss.node
    if graph.whole:
        write_node(graph, loss.node)
        graph.add("ReduceSum", [graph.of(loss)], keepdims=0)
        return "sum"
    require_open(graph, loss.node)
    try:
        if loss.node.name in LOSSES:
            return LOSSES[loss.node.name](graph, loss.node)
    except Unbatched:  # nothing was written yet
        pass
    graph.y = None
    graph.add("ReduceSum", [terms.terms(graph, loss)[0]], keepdims=0)
    return "sum"


def attempted(graph, write, what):
    """What a writer cannot handle, of arguments that it does not expect, is refused like what it knows that it cannot."""
    try:
        return write(graph, what)
    except (Refused, Unbatched):
        raise
    except Exception as why:
        said = str(why).strip().partition("\n")[0]
        graph.refuse(f"this form of the operator cannot be written into the graph ({type(why).__name__}: {said})", COMPOSE)


def write_as(whole, trace, parameters, buffers, given, arguments, first=False):
    graph = Graph(parameters, buffers, taken={"x", "y", *parameters, *buffers}, whole=whole, arguments=arguments, first=first)
    if whole:
        graph.taken.discard("y")
    loss, factors = strip_scale(trace.loss)
    if loss.node is None:
        raise Refused("the loss", "no result of an operator", "compute it from the parameters by PyTorch's operators in the block")
    found = needed(loss, given)
    nodes = [n for n in trace.nodes if id(n) in found]
    if not whole:
        find_target(graph, loss, given)
    find_input(graph, loss, nodes, given)
    given = [*given, graph.x]  # which may have been computed in the block
    graph.moving = varying(nodes, graph.x)
    numbers = numbers_among(graph, nodes)
    found = needed(loss, given, numbers)
    nodes = [n for n in nodes if id(n) in found]
    graph.readers, graph.ready = nodes, {id(v) for n in nodes for v in n.reads if trace.is_ready(v)}
    graph.read = {id(v) for n in nodes for v in n.reads} | {id(loss)}
    last = {id(loss.node)} if whole else terms.nodes_of(loss)
    if not last:
        raise Unbatched
    for node in nodes:
        if id(node) not in last:
            attempted(graph, write_node, node)
    graph.tell_elsewhere()
    for value, _ in trace.read:  # a branch of Python's may hang on it
        for node in drawn_behind(value):
            graph.drawn(node)
    graph.loss, graph.loss_dtype = attempted(graph, write_loss, loss), loss.tensor.dtype
    return graph, loss, factors


def write(trace, parameters, buffers, given, arguments, first=False):
    """(graph, the loss's value, its factors). The graph has a batch axis, if that can be; else the batch is one input. first: the samples are on
    the first axis alone (whose sums' orders are told)."""
    try:
        return write_as(False, trace, parameters, buffers, given, arguments, first)
    except (Refused, Unbatched):
        return write_as(True, trace, parameters, buffers, given, arguments)
