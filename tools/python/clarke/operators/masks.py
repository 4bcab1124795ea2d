"""Entries that are set to minus infinity before a softmax, which gives them nothing (docs/operators.md, "Masks of minus infinity").

The mask is a Constant. The trace does not have the sum that is infinite: nothing but a softmax reads it, perhaps in another type.

Where samples have masks of their own (padding), these are inputs beside x, of ones and zeros m, and no entry is infinite: with p the softmax of x,
the masked one is p m divided by the sum of p m. It does not hang on x where m is 0: there x is the entry of a column that all lines leave, the first or
the last, so that the sum is no smaller than a line's share. (Where there is no such column the step is written as a single run.)
"""
import torch

from ..refused import Unbatched
from ..tracing.dispatched import Value

SAME = {"clone", "alias", "contiguous", "lift_fresh", "_to_copy"}  # the same entries
INSTEAD = "take a large number, as -1e4 before a softmax"


def constant(g, t, out):
    """The mask, of which the value `out` becomes minus infinity."""
    if bool((torch.isnan(t) | (t == float("inf"))).any()):
        g.refuse("an entry that becomes infinite", INSTEAD)
    g.masked.add(id(out))
    if not g.whole and t.dim() == out.tensor.dim() and t.shape[0] > 1:  # the first axis is that of samples
        if not bool((t == t[:1]).all()):
            g.kept[id(out)], finite = kept(g, t)
            return finite
        t = t[:1]
    return g.constant(t)


def kept(g, t):
    """Samples' own masks: 1 where an entry is left, 0 where it becomes minus infinity, and a column that all lines leave; what is added to those left."""
    left = t != float("-inf")
    column = next((c for c in (0, left.shape[-1] - 1) if bool(left[..., c].all())), None)
    if column is None:
        raise Unbatched
    return (g.beside("kept", left.to(t.dtype)), column, t), g.beside("mask", torch.where(left, t, torch.zeros((), dtype=t.dtype)))


def softmax(g, name, axis, rank, own):
    """A softmax along an axis, of the entries that are left; own: where samples have masks of their own (kept)."""
    if own is None:
        return g.add("Softmax", [name], axis=axis)
    if axis % rank != rank - 1:
        raise Unbatched
    left, column, like = own
    ends = [g.integers([n]) for n in (column, column + 1, rank - 1)]
    hidden = g.add("Mul", [g.add("Slice", [name, *ends]), g.add("Sub", [g.scalar(1, like), left])])
    shares = g.add("Mul", [g.add("Softmax", [g.add("Add", [g.add("Mul", [name, left]), hidden])], axis=axis), left])
    ones = g.constant(torch.ones((like.shape[-1], 1), dtype=like.dtype))
    return g.add("Div", [shares, g.add("MatMul", [shares, ones])])


def added(g, value, node):
    """The name of data that is added, if it is such a mask; else nothing."""
    if not isinstance(value, Value) or id(value) in g.names or value.requires_grad or not value.tensor.is_floating_point() or bool(torch.isfinite(value.tensor).all()):
        return None
    return constant(g, g.numbers(value), node.results[0])


def is_unaligned(value):
    """Is it a loss of alignments? Where there are none it is infinite, near by, too (alignments.py)."""
    return isinstance(value, Value) and value.node is not None and value.node.name == "_ctc_loss"


def require_softmax(g, node):
    """Nothing else reads them; and of each line something is left."""
    if not any(id(v) in g.masked for v in node.reads):
        return
    if node.name in SAME:
        return
    if node.name == "where" and all(is_unaligned(v) for v in node.reads if id(v) in g.masked) and bool(torch.isfinite(node.results[0].tensor).all()):
        return
    if node.name not in ("_softmax", "_safe_softmax", "_log_softmax"):
        g.refuse("it reads an entry that is infinite", INSTEAD)
    if bool((node.args[0].tensor == float("-inf")).all(node.args[1]).any()):
        g.refuse("a softmax of which no entry is left", "leave one in each line of the mask, or leave the line out")
