"""Entries that are set to minus infinity before a softmax, which gives them nothing (docs/operators.md, "Masks of minus infinity").

The mask is a Constant. The trace does not have the sum that is infinite: nothing but a softmax reads it, perhaps in another type.
"""
import torch

from .refused import Unbatched
from .trace import Value

SAME = {"clone", "alias", "contiguous", "lift_fresh", "_to_copy"}  # the same entries
INSTEAD = "take a large number, as -1e4 before a softmax"


def constant(g, t, out):
    """The mask, of which the value `out` becomes minus infinity."""
    if bool((torch.isnan(t) | (t == float("inf"))).any()):
        g.refuse("an entry that becomes infinite", INSTEAD)
    if not g.whole and t.dim() == out.tensor.dim() and t.shape[0] > 1:  # the first axis is that of samples
        if not bool((t == t[:1]).all()):
            raise Unbatched
        t = t[:1]
    g.masked.add(id(out))
    return g.constant(t)


def added(g, value, node):
    """The name of data that is added, if it is such a mask; else nothing."""
    if not isinstance(value, Value) or id(value) in g.names or value.requires_grad or not value.tensor.is_floating_point() or bool(torch.isfinite(value.tensor).all()):
        return None
    return constant(g, g.numbers(value), node.results[0])


def require_softmax(g, node):
    """Nothing else reads them; and of each line something is left."""
    if not any(id(v) in g.masked for v in node.reads):
        return
    if node.name in SAME:
        return
    if node.name not in ("_softmax", "_safe_softmax", "_log_softmax"):
        g.refuse("it reads an entry that is infinite", INSTEAD)
    if bool((node.args[0].tensor == float("-inf")).all(node.args[1]).any()):
        g.refuse("a softmax of which no entry is left", "leave one in each line of the mask, or leave the line out")
