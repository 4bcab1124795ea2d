"""Is the derivative that autograd took at an operator's kinks the one that the profile claims?

At an entry that lies on a kink the recorded gradient of the input must be the profile's number times that of the output,
bit for bit. Away from kinks nothing is asked here: the audit compares the whole gradient.
"""
import torch

from .refused import Refused


def number(arguments, i, default):
    return arguments[i] if len(arguments) > i and arguments[i] is not None else default


def hard(low, high, at_low, at_high):
    return [(low, at_low), (high, at_high)]


# For each operator: its kinks, with AD's number at each, from its arguments; and the backward operators, of which one is
# enough to know the formula.
KINKS = {
    "relu": (lambda a: [(0, 0)], {"threshold_backward"}),
    "leaky_relu": (lambda a: [(0, number(a, 1, 0.01))], {"leaky_relu_backward"}),
    "hardtanh": (lambda a: hard(number(a, 1, -1), number(a, 2, 1), 0, 0), {"hardtanh_backward"}),
    "clamp": (lambda a: [(b, 1) for b in a[1:3] if b is not None], {"where"}),
    "clamp_min": (lambda a: [(a[1], 1)], {"where"}),
    "clamp_max": (lambda a: [(a[1], 1)], {"where"}),
    "hardsigmoid": (lambda a: hard(-3, 3, 0, 0), {"hardsigmoid_backward"}),
    "hardswish": (lambda a: hard(-3, 3, 0, 1), {"hardswish_backward"}),
    "abs": (lambda a: [(0, 0)], {"sgn"}),
}


def names(backward):
    return {op.split(".")[1] for op in backward}


def check_pointwise(node):
    kinks, formula = KINKS[node.name.rstrip("_")]
    x = node.args[0].tensor
    if not formula <= names(node.backward):
        raise Refused(f"{node.where()}: its derivative ran as {', '.join(node.backward) or 'nothing'}; "
                      f"{', '.join(sorted(formula))} is expected")
    if not node.grad_inputs or node.grad_inputs[0] is None:
        raise Refused(f"{node.where()}: autograd handed no gradient on")
    for at, slope in kinks(node.args):
        on = x == at
        taken, claimed = node.grad_inputs[0][on], node.grad_output[on] * slope
        if not torch.equal(taken, claimed):
            raise Refused(f"{node.where()}: at its kink {at} the derivative that ran is not {slope}")


def first_of_windows(x, node):
    """Of each window the place of its first largest entry, in an image's entries."""
    kernel, stride, padding, dilation = (tuple(number(node.args, i, d)) for i, d in
                                         ((1, None), (2, number(node.args, 1, None)), (3, (0, 0)), (4, (1, 1))))
    pair = [t * 2 if len(t) == 1 else t for t in (kernel, stride or kernel, padding, dilation)]
    n, c, h, w = x.shape
    padded = torch.nn.functional.pad(x, (pair[2][1], pair[2][1], pair[2][0], pair[2][0]), value=float("-inf"))
    place = torch.arange(h * w, dtype=torch.float64).reshape(1, 1, h, w)
    place = torch.nn.functional.pad(place, (pair[2][1], pair[2][1], pair[2][0], pair[2][0]), value=-1)
    places = [place, padded.reshape(n * c, 1, *padded.shape[2:])]
    index, value = (windows(t, pair) for t in places)
    best = value == value.amax(dim=1, keepdim=True)
    first = best & (best.cumsum(dim=1) == 1)
    return (index.expand_as(value) * first).sum(dim=1).long()


def windows(t, pair):
    """(images, entries of a window, windows)"""
    kernel, stride, _, dilation = pair
    return torch.nn.functional.unfold(t, kernel, dilation=dilation, stride=stride)


def check_windows(node):
    x = node.args[0].tensor.detach().to(torch.float64).cpu()
    taken = node.results[1].tensor.cpu()
    if number(node.args, 5, False) or x.dim() != 4:  # ceil_mode, or no batch: what unfold does not do
        return
    n, c = x.shape[:2]
    if not torch.equal(first_of_windows(x, node), taken.reshape(n * c, -1)):
        raise Refused(f"{node.where()}: a window's winner is not its first largest entry, which the profile claims")


def check(nodes):
    for node in nodes:
        known = node.name.rstrip("_") in KINKS
        if not (known or node.name == "max_pool2d_with_indices") or not node.args[0].requires_grad:
            continue
        if not node.backward or node.grad_output is None:
            raise Refused(f"{node.where()}: autograd ran no derivative of it")
        (check_pointwise if known else check_windows)(node)
