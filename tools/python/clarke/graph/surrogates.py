"""Surrogates: where AD differentiates another function than the one that is computed, on purpose (docs/run-format.md, "Surrogates").

    x + (q(x) - x).detach()        is q(x), and its derivative that of x plus a constant

A tensor that is detached, or made without gradients, is to AD a constant: what it was in this step. A Function's derivative is a product
with numbers, if it is anything that is known here: to AD it is y + factor (x - x0), of which y, factor and x0 are what they were. The function
that AD differentiates is the step's with these in their places. At the step's own parameters it has the same value, and its derivative is the
one that ran. So a record is of it, and says where.
"""
import torch
from torch.nn.modules._functions import BackwardHookFunction
from torch.utils._python_dispatch import _disable_current_modes

from ..operators.jumps import EMPTY, crossed, is_drawn, is_empty, is_leap, require_clear
from ..operators.table import operator
from ..refused import SEEN, Refused
from ..tracing.replay import copied
from ..tracing.dispatched import MAKERS, Operator, at_function, replace, trained, unknown_function

SAME = {"view", "alias", "view_as", "clone", "_unsafe_view", "detach"}  # what hands its argument's entries on


# ---- Constants to AD


def is_cut(node):
    """Does autograd not see that its results depend on what it reads?"""
    return (Operator.of(node.op).detaches or not node.grad_enabled) and any(v.requires_grad for v in node.reads)


def behind(value, where):
    """(the nodes that hide from autograd that the value depends on what is trained; those where Python's branches would be)

    A value that is made by comparisons, or places of the largest, is a constant near by, unless one is at its jump: that is refused."""
    seen, rest, cuts, leaps = {id(value)}, [value], [], []
    while rest:
        v = rest.pop()
        if v.requires_grad:
            raise Refused(where, "it reads what is computed from what is trained by an operator that has no derivative", SEEN)
        node = v.node
        if node is None or node.name in EMPTY or node.name in MAKERS or not any(map(trained, node.reads)):
            continue
        if is_drawn(v):
            cuts.append(node)
        elif is_leap(v):
            leaps.append(node)
            cuts += drawn_behind(v)
            require_clear(list(crossed(v)), trained, node.source)
        elif is_cut(node):
            cuts.append(node)
        else:
            rest += [r for r in node.reads if id(r) not in seen]
            seen.update(map(id, node.reads))
    return cuts, leaps


def drawn_behind(value):
    """The operators that drew what the value hangs on, with trained weights."""
    seen, rest, found = {id(value)}, [value], []
    while rest:
        v = rest.pop()
        if v.node is None or is_empty(v):
            continue
        if is_drawn(v):
            found += [v.node] if any(map(trained, v.node.reads)) else []
            continue
        rest += [r for r in v.node.reads if id(r) not in seen]
        seen.update(map(id, v.node.reads))
    return found


def parameters_behind(node, parameters):
    """The names of those that the node's results depend on."""
    own = {key: name for name, t in parameters.items() if t.requires_grad for key in (id(t), t.untyped_storage().data_ptr())}
    seen, rest, found = set(), list(node.reads), set()
    while rest:
        v = rest.pop()
        if id(v) in seen:
            continue
        seen.add(id(v))
        found.update(own[key] for key in (id(v.of), *v.place[:1]) if key in own)
        if v.node is not None and v.node.name not in MAKERS:
            rest += v.node.reads
    return found


# ---- Functions with derivatives of their own


class Own:
    """A Function of x alone, whose derivative multiplies each entry of the gradient by a number: `factor`, which is known when it has run."""

    def __init__(self, name, x, y, why):
        self.name, self.x, self.y, self.why, self.factor = name, x, y, why, None
        self.made = next(v for v in y.node.results if v is y or getattr(v, "place", None) == y.place)  # by its last operator
        self.handed, self.operators = None, []  # the gradient that it got, and what ran of it: (operator, arguments, results)

    def is_identity(self):
        return bool((self.factor == 1).all()) and self.y.node.name in SAME and self.y.node.args[0] is self.x

    def ran(self, gave):
        """It has given a gradient: the operators that made that are run for other ones, too."""
        given = [g for g in gave if g is not None]
        if self.handed is None or len(given) != 1 or given[0].shape != self.handed.shape or given[0].dtype != self.x.tensor.dtype:
            return
        with _disable_current_modes(), torch.no_grad():
            draw = torch.rand(self.handed.shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64) - 0.5
            draw = draw.to(self.handed.dtype).to(self.handed.device)
            factor = self.run_for(torch.ones_like(self.handed), given[0])
            right = factor is not None and bool(torch.isfinite(factor).all())
            right = right and same(self.handed * factor, given[0]) and same(draw * factor, self.run_for(draw, given[0]))
            right = right and same(given[0], self.run_for(self.handed, given[0]))
        self.factor, self.operators = factor if right else None, []

    def run_for(self, gradient, gave):
        """What its operators make of another gradient; None: they are not all seen."""
        made = {id(self.handed): gradient.clone()}
        for op, args, kwargs, out in self.operators:
            if not any(id(t) in made for t in tensors((args, kwargs))):
                continue
            args, kwargs = copied(Operator.of(op), *replace((args, kwargs), torch.Tensor, lambda t: made.get(id(t), t)))
            new = op(*args, **kwargs)
            made.update((id(old), t) for old, t in zip(tensors([out]), tensors([new])))
        return made.get(id(gave))

    def require_that(self):
        if self.factor is None:
            raise Refused(self.y.node.where(), f"{self.why}, or a hook, which does not multiply each entry of a gradient by a number", INSTEAD)


def same(a, b):
    return b is not None and torch.equal(a, b)


def tensors(tree):
    """Those in arguments, or results, in order."""
    if isinstance(tree, torch.Tensor):
        yield tree
    elif isinstance(tree, (list, tuple)):
        for item in tree:
            yield from tensors(item)
    elif isinstance(tree, dict):
        yield from tensors(list(tree.values()))


INSTEAD = "write it as y + (f(x) - y).detach(), y having the derivative that is meant"


def at(trace, function, number):
    """The value that is a result of one of autograd's nodes."""
    if hasattr(function, "variable"):
        return trace.by_identity.get(id(function.variable))
    found = [v for v in trace.by_identity.values() if v.requires_grad and v.of is not None and v.of.grad_fn is function and v.of.output_nr == number]
    return found[0] if len(found) == 1 and not found[0].stale else None


def note_function(trace, node):
    """What a Function on autograd's way is: one of this module's surrogates; or why it is none."""
    function = type(node)._forward_cls
    name, why = function.__name__, unknown_function(trace, node)
    edges = [(number, edge) for number, edge in enumerate(node.next_functions) if edge[0] is not None]
    if function is BackwardHookFunction:
        pairs = [(at(trace, node, number), at(trace, *edge)) for number, edge in edges]
        pairs = [(y, x) for y, x in pairs if y is not None]  # nobody reads the others
    else:
        pairs = [(at(trace, node, 0), at(trace, *edge)) for _, edge in edges]
    if len(pairs) != 1 or None in pairs[0]:
        return Refused(at_function(trace, node), f"{why}, of several tensors that are trained", INSTEAD)
    (y, x), = pairs
    if y.node is None or x.tensor.shape != y.tensor.shape or x.tensor.dtype != y.tensor.dtype or x.tensor.is_meta:
        return Refused(y.node.where() if y.node is not None else at_function(trace, node),
                       f"{why}, whose result has another shape or type than its argument", INSTEAD)
    y.node.own = own = Own(name, x, y, why)
    own.node = node

    def handed(gradients):
        own.handed = gradients[0]

    trace.hooks += node.register_prehook(handed), node.register_hook(lambda gave, _: own.ran(gave))
    trace.own[id(node)] = own
    return None


# ---- In the graph


def write_straight(g, x, y, factor):
    """y + factor (x - x0): y's numbers, and the derivative that ran."""
    moved = g.add("Sub", [g.of(x), g.data("argument", x.tensor.detach())])
    moved = g.add("Mul", [moved, g.data("factor", factor.detach().to(x.tensor.dtype))])
    return g.add("Add", [moved, g.data("surrogate", y.tensor.detach())])


def write_own(g, node):
    """The last operator of a Function."""
    own = node.own
    if own.is_identity():
        return g.add("Identity", [g.of(own.x)])
    g.surrogate(node, f"its derivative is its argument's times numbers, as the Function {own.name} has it")
    return write_straight(g, own.x, own.y, own.factor)


QUANTIZED = ("fake_quantize_per_tensor_affine_cachemask", "fake_quantize_per_channel_affine_cachemask",
             "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams", "_fused_moving_avg_obs_fq_helper")


@operator(*QUANTIZED)
def write_quantized(g, node):
    """Its derivative is the argument's where that is between the ends of the range."""
    x, (y, inside) = node.args[0], node.results[:2]
    g.surrogate(node, "its derivative is its argument's, and 0 outside of the range")
    return {0: write_straight(g, x, y, inside.tensor)}
