"""Is the derivative that autograd took at an operator's kinks the one that the profile claims?

At an entry that lies on a kink the recorded gradient of the input must be the profile's number times that of the output,
bit for bit. Away from kinks nothing is asked here: the audit compares the whole gradient.
"""
import math

import numpy as np
import torch

from ..refused import RELEASED, Refused
from ..tracing.dispatched import HANDED


def number(arguments, i, default):
    return arguments[i] if len(arguments) > i and arguments[i] is not None else default


def cut(operator, low, high):
    """Between two bounds, of which one may be missing, the identity."""
    return [(at, operator, kink, kink, 1 - kink) for kink, at in enumerate((low, high)) if at is not None]


# For each operator: its kinks, from its arguments, each as (where, operator and number of the kink in profiles, the slopes on
# its left and right); and the backward operators, of which one is enough to know the formula.
KINKS = {
    "relu": (lambda a: [(0, "Relu", 0, 0, 1)], {"threshold_backward"}),
    "threshold": (lambda a: cut("Clip", a[1], None) if a[1] == a[2] else [], {"threshold_backward"}),
    "leaky_relu": (lambda a: [(0, "LeakyRelu", 0, number(a, 1, 0.01), 1)], {"leaky_relu_backward"}),
    "hardtanh": (lambda a: cut("Clip", number(a, 1, -1), number(a, 2, 1)), {"hardtanh_backward"}),
    "clamp": (lambda a: cut("Clamp", number(a, 1, None), number(a, 2, None)), {"where"}),
    "clamp_min": (lambda a: cut("Clamp", a[1], None), {"where"}),
    "clamp_max": (lambda a: cut("Clamp", None, a[1]), {"where"}),
    "hardsigmoid": (lambda a: [(-3, "HardSigmoid", 0, 0, 1 / 6), (3, "HardSigmoid", 1, 1 / 6, 0)], {"hardsigmoid_backward"}),
    "hardswish": (lambda a: [(-3, "HardSwish", 0, 0, -1 / 2), (3, "HardSwish", 1, 3 / 2, 1)], {"hardswish_backward"}),
    "abs": (lambda a: [(0, "Abs", 0, -1, 1)], {"sgn"}),
}


# What must be known of the backward pass to check them.
LARGEST = {"max", "min", "amax", "amin"}
POOLS = {"max_pool2d_with_indices", "max_pool3d_with_indices", "adaptive_max_pool2d", "adaptive_max_pool3d"}
WATCHED = {*KINKS, *POOLS, *LARGEST}


def names(backward):
    return {op.split(".")[1] for op in backward}


def entries(t):
    """As an array of numpy's, which compares some times faster than PyTorch; of what it cannot have a tensor."""
    t = t.detach()
    return t.numpy() if t.device.type == "cpu" and t.dtype != torch.bfloat16 else t


PIECE = 1 << 17  # entries that are compared at once: their answers stay in the cache


def touches(x, at):
    """Is an entry this number?"""
    x = entries(x)
    if isinstance(x, torch.Tensor):
        return bool((x == at).any())
    x, equal = x.ravel(order="K"), np.empty(min(x.size, PIECE), bool)
    pieces = (x[i:i + PIECE] for i in range(0, len(x), PIECE))
    return any(np.equal(piece, at, out=equal[:len(piece)]).any() for piece in pieces)


def touched(name, arguments):
    """Does an entry of an operator with kinks lie on one, or may it?"""
    try:
        places = [at for at, *_ in KINKS[name][0](arguments)]
    except IndexError:
        return True
    return not all(type(at) in (int, float) for at in places) or any(touches(arguments[0].tensor, at) for at in places)


def compared(node):
    """Are the node's gradients looked at, after the backward pass?"""
    name = node.name.rstrip("_")
    return name in KINKS and not node.untouched and touched(name, node.args)


def may_be_compared(node):
    """The same, without a look at numbers."""
    return node.name.rstrip("_") in KINKS


def needless(name, arguments):
    """Does nobody ask for the numbers of the first argument, which the operator changes?"""
    name = name.rstrip("_")
    if name == "threshold" and arguments[1] != arguments[2]:
        return False  # which entries lie above is data
    return name == "add" or (name in KINKS and not touched(name, arguments))


def check_pointwise(node, profile):
    kinks, formula = KINKS[node.name.rstrip("_")]
    x = node.args[0].tensor
    if not formula <= names(node.backward):
        raise Refused(node.where(), f"its derivative ran as {', '.join(node.backward) or 'nothing'}, and not as {', '.join(sorted(formula))}",
                      RELEASED)
    if not node.grad_inputs or node.grad_inputs[0] is None:
        raise Refused(node.where(), "autograd handed no gradient on", RELEASED)
    if node.grad_inputs[0] is HANDED:
        return  # no entry lies on a kink: touched() was asked before
    for at, operator, kink, left, right in kinks(node.args):
        if not isinstance(at, (int, float)):
            continue  # a bound that is a tensor is an entry of a window, whose winner the audit's comparison tells
        slope = profile.slope(operator, kink, left, right) if touches(x, at) else None
        if slope is not None and bool(((x == at) & (node.grad_inputs[0] != node.grad_output * slope)).any()):
            raise Refused(node.where(), f"at its kink {at} the derivative that ran is not {slope:g}, as the profile {profile.name} has it", RELEASED)


def pairs(node):
    """Kernel, stride, padding and dilation, of both axes."""
    kernel = node.args[1]
    lists = kernel, number(node.args, 2, None) or kernel, number(node.args, 3, (0, 0)), number(node.args, 4, (1, 1))
    return [tuple(t) * 2 if len(t) == 1 else tuple(t) for t in lists]


def first_of_windows(x, y, node):
    """The place of each window's first largest entry, in an image's entries; None: some window has none (beside a NaN). y: the largest."""
    kernel, stride, padding, dilation = pairs(node)
    size, out = x.shape[-2:], y.shape[-2:]
    # so many rows and columns that each window is whole
    after = [max(0, (o - 1) * s + (k - 1) * d + 1 - n - p) for o, s, k, d, n, p in zip(out, stride, kernel, dilation, size, padding)]
    if any(padding) or any(after):
        x = torch.nn.functional.pad(x, (padding[1], after[1], padding[0], after[0]), value=float("-inf"))
    x, y = entries(x), entries(y)
    some, where = (np, {}) if isinstance(y, np.ndarray) else (torch, {"device": y.device})
    count = some.uint8 if kernel[0] * kernel[1] < 256 else some.int32
    place = some.int32 if x.shape[-2] * x.shape[-1] < 1 << 30 else some.int64
    # What comes before the first that is the largest: whole rows, and entries that are not the last of their row.
    before, rows, others = (fill(tuple(y.shape), dtype=kind, **where) for fill, kind in ((some.ones, some.uint8), (some.zeros, count), (some.zeros, count)))
    for k in range(kernel[0] * kernel[1]):
        top, left = k // kernel[1] * dilation[0], k % kernel[1] * dilation[1]
        entry = x[..., top:top + (out[0] - 1) * stride[0] + 1:stride[0], left:left + (out[1] - 1) * stride[1] + 1:stride[1]]
        before &= (entry != y).view(some.uint8)
        passed = others if (k + 1) % kernel[1] else rows
        passed += before
    if bool(before.any()):
        return None
    rows, others = (a.astype(place) if some is np else a.to(place) for a in (rows, others))
    top, left = (some.arange(o, dtype=place, **where) * s - p for o, s, p in zip(out, stride, padding))
    rows *= dilation[0] * size[1] - (kernel[1] - 1) * dilation[1]  # from the last entry of a row to the first of the next
    others *= dilation[1]
    rows += others
    rows += top[:, None] * size[1] + left
    return rows


def check_windows(node):
    x, y, winner = (t.tensor.detach() for t in (node.args[0], node.results[0], node.results[1]))
    some = max(1, PIECE // max(1, y[:1].numel()) if y.device.type == "cpu" else len(y))  # images: their numbers stay in the cache
    for i in range(0, len(y), some):
        first = first_of_windows(x[i:i + some], y[i:i + some], node)
        if first is None or not bool((first == entries(winner[i:i + some])).all()):
            raise Refused(node.where(), "a window's winner is not its first largest entry, which the profile claims", RELEASED)


def windows(node):
    """Kernel, stride, padding, and whether the last windows reach over the end, of pools without gaps; of an adaptive one they must be of
    one size. None: they are others."""
    x, y = node.args[0].tensor, node.results[0].tensor
    if node.name.startswith("adaptive"):
        space, out = x.shape[2:], y.shape[2:]
        kernel = [n // o for n, o in zip(space, out)]
        return None if any(n % o for n, o in zip(space, out)) else (kernel, kernel, [0] * len(out), 0)
    axes = x.dim() - 2
    given = node.args[1], number(node.args, 2, None) or node.args[1], number(node.args, 3, [0]), number(node.args, 4, [1])
    kernel, stride, padding, gaps = (list(v) * (axes // len(v)) for v in given)
    return None if any(d != 1 for d in gaps) or x.dim() != 5 else (kernel, stride, padding, int(number(node.args, 5, False)))


def check_any_windows(node):
    """By definition: the windows laid out beside one another."""
    x, y, winner = (t.tensor.detach() for t in (node.args[0], node.results[0], node.results[1]))
    kernel, stride, padding, _ = windows(node)
    space, out = list(x.shape[2:]), list(y.shape[2:])
    places = torch.arange(math.prod(space), device=x.device).reshape(space).expand(x.shape)
    for axis, (k, s, p, o, n) in enumerate(zip(kernel, stride, padding, out, space), 2):
        after = max(0, (o - 1) * s + k - n - p)
        ends = [0, 0] * (x.dim() - 1 - axis) + [p, after]  # the windows' own axes are the last
        x = torch.nn.functional.pad(x, ends, value=float("-inf")).unfold(axis, k, s).narrow(axis, 0, o)
        places = torch.nn.functional.pad(places, ends).unfold(axis, k, s).narrow(axis, 0, o)
    x, places = x.flatten(y.dim()), places.flatten(y.dim())
    first = (x == y.unsqueeze(-1)).to(torch.uint8).argmax(-1, keepdim=True)
    if not torch.equal(places.gather(-1, first).squeeze(-1), winner):
        raise Refused(node.where(), "a window's winner is not its first largest entry, which the profile claims", RELEASED)


def check_largest(node):
    """Along an axis with places the winner is the first. (Among others AD divides: reductions.py. The audit compares the gradient.)"""
    axis = number(node.args, 1, node.kwargs.get("dim"))
    if len(node.results) != 2 or not isinstance(axis, int):
        return
    x, y = node.args[0].tensor.detach(), node.results[0].tensor.detach()
    keep = number(node.args, 2, node.kwargs.get("keepdim", False))
    equal = x == (y if keep else y.unsqueeze(axis))
    if not torch.equal(equal.to(torch.uint8).argmax(axis, keepdim=keep), node.results[1].tensor):
        raise Refused(node.where(), "a winner is not the first largest entry, which the profile claims",
                      "take amax or amin, or the first largest by sort(stable=True)")


def sorting(node):
    """The axis, the number of values, and whether the largest come first."""
    axis = node.kwargs.get("dim", -1)
    if node.name == "topk":
        count, axis, down = node.args[1], number(node.args, 2, axis), number(node.args, 3, node.kwargs.get("largest", True))
    else:
        count, axis, down = None, number(node.args, 1, axis), number(node.args, 2, node.kwargs.get("descending", False))
    axis %= node.args[0].tensor.dim()
    return axis, node.args[0].tensor.shape[axis] if count is None else count, bool(down)


def check(nodes, profile):
    for node in nodes:
        if not node.grad_enabled or node.own is not None:
            continue  # of a constant; or it changes nothing (graph.py)
        if node.name in LARGEST and node.args[0].requires_grad:
            check_largest(node)
        known = node.name.rstrip("_") in KINKS
        if not (known or node.name in POOLS) or not node.args[0].requires_grad:
            continue
        if not node.backward or node.grad_output is None:
            raise Refused(node.where(), "autograd ran no derivative of it (is it in a function that is compiled?)", "run it without torch.compile")
        if known:
            check_pointwise(node, profile)
        else:
            (check_windows if node.name == "max_pool2d_with_indices" else check_any_windows)(node)
