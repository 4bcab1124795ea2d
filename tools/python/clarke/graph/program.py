"""A function of tensors as a program (docs/programs.md), entry by entry: what ATen's operators are written into instead of a graph.

An operator becomes ONNX's by the recorder's own table (table.py), and each of these statements by primitives.py. What only a
program has (branches, shares of ties, jumps) choices.py writes.
"""
import re

import numpy as np
import torch

from ..operators import choices
from .graph import Graph, ancestors, first_result, varying
from ..operators.conditions import Condition
from ..operators.table import OPERATORS
from ..operators.primitives import PRIMITIVES, literal
from ..refused import SEEN, Refused
from ..tracing.dispatched import Value, trained

ALONE = re.compile(r"\w+(\[\d+\])?|\(?-?0x[0-9a-f.]+p[+-]\d+\)?")  # a name, or a literal
ENTRYWISE = "write it with operators of single entries, sums, products and choices (docs/programs.md)"
BEHIND = "it reads what depends on the inputs, and autograd does not know it: AD differentiates another function"


def entry_of(kind, number):
    return Condition.known(number) if kind == torch.bool else literal(number)


class Program(Graph):
    """Statements; and the entries of each value and constant, by name: arrays of names, literals and masks."""

    def __init__(self):
        super().__init__({}, {}, whole=True)
        self.lines, self.makers = [], {}  # makers: the node of each line, from 1
        self.entries, self.tables = {}, {}  # tables: the tensors of constants
        self.unwritten = {}  # why the operators that made them are not written, though only numbers may be read of them: by values' identities
        self.hidden = set()  # values that depend on the inputs, autograd not knowing, by more than jumps: by identity

    # ---- Statements

    def let(self, expression):
        name = f"v{len(self.lines)}"
        self.lines.append(f"let {name} = {expression}")
        self.makers[len(self.lines)] = self.current
        return name

    def each(self, write, *arrays):
        """A statement for each entry of the arrays, broadcast. A name or literal alone needs none."""
        arrays = np.broadcast_arrays(*arrays)
        out = np.empty(arrays[0].shape, dtype=object)
        for at in np.ndindex(out.shape):
            text = write(*(a[at] for a in arrays))
            out[at] = text if isinstance(text, Condition) or ALONE.fullmatch(text) else self.let(text)
        return out

    def total(self, terms):
        return self.let(" + ".join(terms)) if len(terms) > 1 else terms[0] if terms else literal(0)

    def one_of(self, mask, then, other):
        return mask.choose(then, other, lambda condition, a, b: self.let(f"if {condition} then {a} else {b}"))

    # ---- What operators are written with

    def named(self, entries):
        name = self.fresh("t")
        self.entries[name] = np.asarray(entries, dtype=object)
        self.active.add(name)
        return name

    def raw(self, name):
        """The entries, masks among them."""
        if name not in self.entries:
            t = self.tables[name]
            if t.is_floating_point() and not bool(torch.isfinite(t).all()):
                self.refuse("it reads a number that is not finite", "take large finite numbers")
            numbers = t.detach().cpu().to(torch.float64).numpy()
            self.entries[name] = np.array([entry_of(t.dtype, n) for n in numbers.reshape(-1)], dtype=object).reshape(numbers.shape)
        return self.entries[name]

    def array(self, name):
        """The entries as numbers: of masks 1 and 0."""
        entries = self.raw(name)
        if any(isinstance(e, Condition) for e in entries.flat):
            entries = self.entries[name] = self.each(lambda e: self.one_of(e, "1", "0") if isinstance(e, Condition) else e, entries)
        return entries

    def whole_numbers(self, name):
        if name not in self.tables:
            self.refuse("places that are computed from the inputs", "take places that are data, or sort, max and topk, whose ties are known")
        return self.tables[name]

    def add(self, op, inputs, domain="", outputs=1, result=0, **attributes):
        write = PRIMITIVES.get(op)
        if write is None:
            self.refuse(f"this operator is not in the language of programs (ONNX's {op})", ENTRYWISE)
        return self.named(write(self, op, inputs, **{key: v for key, v in attributes.items() if v is not None}))

    def lifted(self, name):
        return self.named(self.array(name))

    def constant(self, t):
        name = self.fresh("constant")
        self.tables[name] = t
        return name

    def data(self, name, t, again=None):
        return self.constant(t)

    def statistic(self, value):
        return self.of(value)

    def numbers(self, value):
        """Those of data: no program has what AD takes for a constant, or another function than is computed."""
        if id(value) in self.moving or value.requires_grad or trained(value):
            self.refuse(BEHIND, SEEN)
        return value.tensor.detach()

    def leapt(self, node, t):
        self.refuse("it changes by leaps, which are not written as branches", "write it with round, floor or trunc")

    def surrogate(self, node, what):
        self.refuse(f"AD differentiates another function: {what}", SEEN)

    def padded(self, node, table, row):
        self.refuse("a row that is read, and as padding gets no gradient: AD differentiates another function",
                    "take padding_idx=None, or read other rows")

    def leaf(self, value):
        """What no operator that is written has made: a constant."""
        if id(value) in self.unwritten:
            raise self.unwritten[id(value)]
        if id(value) in self.moving or value.requires_grad or trained(value):
            if value.node is not None or value.hidden:
                self.refuse(BEHIND, SEEN)
            self.refuse("it reads what is no input, and requires a gradient", "make it an input of the function, or detach it")
        return self.constant(value.tensor)

    # ---- Nodes

    def input(self, name, value):
        t = value.tensor
        self.lines.append(f"input {name}" if t.dim() == 0 else f"input {name}[{t.numel()}]")
        names = [name] if t.dim() == 0 else [f"{name}[{i}]" for i in range(t.numel())]
        self.names[id(value)] = self.named(np.array(names, dtype=object).reshape(tuple(t.shape)))

    def writer(self, node):
        if node.op.namespace != "aten":
            return None
        return choices.WRITERS.get(node.name.rstrip("_")) or OPERATORS.get(node.name.rstrip("_"))

    def write(self, node):
        """A node whose result moves. One that autograd does not see may be a mask, or only be read by one: refused is who reads it else."""
        self.current = node
        results = [v for v in node.results if isinstance(v, Value)]
        seen = any(v.requires_grad for v in results)
        if seen and any(id(v) in self.hidden for v in node.reads):
            self.refuse(BEHIND, SEEN)
        before = len(self.lines)
        try:
            self.follow(node)
        except Exception as why:
            if seen and isinstance(why, Refused):
                raise
            if seen:  # ours, or PyTorch's
                self.refuse(f"it cannot be written as a program ({type(why).__name__}: {why})", ENTRYWISE)
            del self.lines[before:]
            self.unwritten.update((id(v), why) for v in results if isinstance(why, Refused))
            return
        if not seen and node.name.rstrip("_") not in choices.FLAT and any(v.requires_grad or id(v) in self.hidden for v in node.reads):
            self.hidden.update(map(id, results))

    def follow(self, node):
        write = self.writer(node)
        if write is None:
            self.refuse("this operator is not in the language of programs", ENTRYWISE)
        made = write(self, node)
        for i, name in (made if isinstance(made, dict) else {first_result(node): made}).items():
            if self.raw(name).shape != tuple(node.results[i].tensor.shape):
                self.refuse(f"its entries have the shape {self.raw(name).shape}, and not {tuple(node.results[i].tensor.shape)}", ENTRYWISE)
            kind = node.results[i].tensor.dtype
            conditions = all(isinstance(e, Condition) for e in self.raw(name).flat)
            if not (kind.is_floating_point or kind == torch.int64 or (kind == torch.bool and conditions)):
                self.refuse(f"it computes in {kind}", "cast to a floating-point type first, as by .float()")  # 1 + 1 is 1 in bool
            self.names[id(node.results[i])] = name


def written(trace, values, result):
    """The program of a function that was traced: values, its inputs by name."""
    p = Program()
    p.moving = set().union(*(varying(trace.nodes, value, least=0) for value in values.values()))
    made = ancestors(result)
    nodes = [n for n in trace.nodes if id(n) in made]
    p.read = {id(v) for n in nodes for v in n.reads} | {id(result)}
    for name, value in values.items():
        p.input(name, value)
    for node in nodes:
        if any(id(v) in p.moving for v in node.results if isinstance(v, Value)):
            p.write(node)
    if not result.requires_grad and trained(result):
        raise Refused(trace.function, "its result depends on its inputs, and autograd does not know it: AD differentiates another function", SEEN)
    p.lines.append(f"output {p.array(p.of(result)).reshape(-1)[0]}")
    return p
