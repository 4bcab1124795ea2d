"""A loss as the sum of terms of samples: what stands between an output whose first axis is that of samples, and a scalar.

    0.9 * cross_entropy(o, y, weight=w) + 0.1 * (l * w).sum() / w.sum()

Sums, means and losses of such outputs are the terms themselves, not yet summed up. What is linear is so of terms, too: multiples by data, sums,
differences. The data that all samples have (a divisor, say) is an input with a row for each, so that the graph stays one from step to step.
"""
from . import axes
from .table import OPERATORS, argument
from ..refused import Unbatched
from ..tracing.dispatched import Value, values_in

SUMS = {"sum", "mean", "dot"}
LOSSES = {"nll_loss_forward", "nll_loss2d_forward", "binary_cross_entropy_with_logits", "binary_cross_entropy", "mse_loss", "huber_loss",
          "smooth_l1_loss", "multi_margin_loss"}
SAME = {"view", "reshape", "squeeze", "unsqueeze", "clone", "alias", "contiguous", "_to_copy"}
LINEAR = {"add", "sub", "mul", "div", "neg"} | SAME


def is_linear(node):
    """Is it linear in scalars? Those that are trained are read by it as such, or it is not."""
    name = node.name.rstrip("_")
    if name not in LINEAR or node.own is not None or node.kwargs.get("rounding_mode") is not None or node.op._overloadname == "dtype":
        return False
    among = scalars(node)
    if any(v.tensor.dim() != 0 for v in among):
        return False
    return len(among) == 1 if name not in ("add", "sub") else len(among) > 0


def scalars(node):
    """What it reads that is trained."""
    return [v for v in node.args[:2] if isinstance(v, Value) and v.requires_grad]


def nodes_of(loss):
    """The nodes between samples and the loss, by identity; nothing, where it is none of this form."""
    found, rest = set(), [loss]
    while rest:
        node = rest.pop().node
        if node is None or node.results[0].tensor.dim() != 0:
            return set()
        found.add(id(node))
        if is_linear(node):
            rest += scalars(node)
        elif node.name not in SUMS | LOSSES:
            return set()
    return found


def rank_of(g, node):
    """The axes that its terms have: a loss of likelihoods keeps that of classes, one of margins has samples alone."""
    if node.name.startswith("nll"):
        return node.args[0].tensor.dim() + (not axes.is_first(g, node.args[0]))
    return 1 if node.name == "multi_margin_loss" else node.args[0].tensor.dim() + (node.name == "binary_cross_entropy_with_logits")


def leaf(g, node):
    """The terms of a sum, a mean, or a loss, and how many axes they have. Rows of a parameter, as many as samples, are none of theirs."""
    if any(v.requires_grad and g.names.get(id(v)) not in g.active for v in values_in(node.args)):
        raise Unbatched
    if node.name in LOSSES:
        likely = node.name.startswith("nll")
        if node.args[0].tensor.dim() <= likely or not (likely or axes.is_first(g, node.args[0])):
            raise Unbatched
        return OPERATORS[node.name](g, node), rank_of(g, node)
    if node.name == "dot":
        if not all(axes.is_first(g, v) for v in node.args[:2]):
            raise Unbatched
        return g.add("Mul", [g.of(v) for v in node.args[:2]]), 1
    x, over = node.args[0], argument(node, 1, "dim")
    rank = x.tensor.dim()
    if rank == 0 or node.kwargs.get("dtype") not in (None, x.tensor.dtype) or (over and len({a % rank for a in over}) < rank):
        raise Unbatched
    name, rows = g.rows_of(x)
    return (name if node.name == "sum" else g.add("Div", [name, g.scalar(x.tensor.numel(), x.tensor)])), len(rows)


def linear(g, node):
    """A multiple of a scalar's terms, or the terms of a sum, each sample's added up before."""
    name, like = node.name.rstrip("_"), node.results[0].tensor
    if name in SAME:
        return terms(g, node.args[0])
    if name == "neg":
        of, rank = terms(g, node.args[0])
        return g.add("Neg", [of]), rank
    a, b = node.args[:2]
    if name in ("mul", "div"):
        x, by = (b, a) if isinstance(b, Value) and b.requires_grad else (a, b)
        if name == "div" and x is b:
            raise Unbatched
        of, rank = terms(g, x)
        return g.add({"m": "Mul", "d": "Div"}[name[0]], [of, number(g, by, like, rank)]), rank
    parts = [each(g, *terms(g, v)) if isinstance(v, Value) and v.requires_grad else None for v in (a, b)]
    if None in parts or argument(node, 2, "alpha", 1) != 1:
        raise Unbatched
    return g.add({"a": "Add", "s": "Sub"}[name[0]], parts), 1


def number(g, by, like, rank):
    """A number, or data of one entry."""
    if not isinstance(by, Value):
        return g.scalar(by, like)
    if by.tensor.numel() != 1:
        raise Unbatched
    t = g.numbers(by).reshape(())
    return g.shared("number", t if t.is_floating_point() else t.to(like.dtype), rank)


def each(g, name, rank):
    """A number for each sample."""
    return name if rank == 1 else g.add("ReduceSum", [name, g.integers(range(1, rank))], keepdims=0)


def terms(g, value):
    """The name of what has this scalar as its sum, the samples on its first axis; and how many axes it has."""
    outer, g.current = g.current, value.node
    try:
        return linear(g, value.node) if is_linear(value.node) else leaf(g, value.node)
    finally:
        g.current = outer
