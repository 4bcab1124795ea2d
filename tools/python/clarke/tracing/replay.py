"""The traced operators once more: do they give the step's loss and gradients, bit for bit?"""
import torch

from .sparse import dense
from .dispatched import MAKERS, Operator, Value, replace, values_in


def copied(known, args, kwargs):
    """The arguments, with copies of the tensors that the operator writes to."""
    args = [t.clone() if i in known.places and isinstance(t, torch.Tensor) else t for i, t in enumerate(args)]
    return args, {name: t.clone() if name in known.written and isinstance(t, torch.Tensor) else t for name, t in kwargs.items()}


def with_derivative(t, own, made):
    """The numbers t, with the derivative that a Function has."""
    x = made.get(id(own.x))
    if x is None or not x.requires_grad:
        return t
    with torch.enable_grad():
        return t.detach() + (x - x.detach()) * own.factor


def draws(node):
    """Does its result depend on a generator? Attention, or a recurrent network, that leaves nothing out asks none."""
    shares = [node.args[i] if i < len(node.args) else node.kwargs.get(a.name, a.default_value) for i, a in enumerate(node.op._schema.arguments)
              if a.name in ("dropout", "dropout_p")]
    return torch.Tag.nondeterministic_seeded in node.op.tags and shares != [0]


def follow(nodes, made):
    """Runs the nodes that read what is in `made` (tensors by the values' identities), and puts their results there. All others are as
    they were recorded, and so is what was drawn."""
    for node in nodes:
        if node.name in MAKERS or not any(id(v) in made for v in node.reads):
            continue
        args, kwargs = replace((node.args, node.kwargs), Value, lambda v: made[id(v)] if id(v) in made else v.tensor.detach())
        if node.name == "native_dropout":
            made[id(node.results[0])] = torch.ops.aten.native_dropout_backward(args[0], node.results[1].tensor, 1 / (1 - args[1]) if args[1] < 1 else 0.0)
            continue
        if draws(node):
            continue
        args, kwargs = copied(Operator.of(node.op), args, kwargs)
        with torch.set_grad_enabled(node.grad_enabled):
            out = node.op(*args, **kwargs)
        for value, t in zip(node.results, out if isinstance(out, (list, tuple)) else [out]):
            if isinstance(value, Value):
                made[id(value)] = t
        if node.own is not None:
            made[id(node.own.y)] = with_derivative(made[id(node.own.made)], node.own, made)


def run(trace, nodes, leaves, seed):
    """(loss, gradients by the leaves' order) of the nodes, from copies of what they began with."""
    made = {id(value): value.tensor.detach().clone().requires_grad_(True) for value in leaves}
    wanted = list(made.values())
    follow(nodes, made)
    loss = made[id(trace.loss)]
    gradients = torch.autograd.grad(loss, wanted, grad_outputs=seed, allow_unused=True)
    return loss.detach(), [None if g is None else dense(g) for g in gradients]


def ordered(t):
    """Floats as integers in their order, so that neighbours differ by 1."""
    width = {2: torch.int16, 4: torch.int32, 8: torch.int64}[t.element_size()]
    bits = t.detach().contiguous().view(width).to(torch.float64 if width == torch.int16 else torch.int64)
    lowest = -(2 ** (8 * t.element_size() - 1))
    return torch.where(bits < 0, lowest - bits, bits)


def ulps(a, b):
    return 0 if torch.equal(a, b) or a.numel() == 0 else int((ordered(a) - ordered(b)).abs().max())


def compare(trace, nodes, parameters, gradients):
    """By how many ulps the replay's loss and gradients differ from the step's."""
    first = {}
    for v in values_in([(n.args, n.kwargs) for n in nodes]):
        if v.node is None and any(v.of is p for p in parameters.values()) and v.requires_grad:
            first.setdefault(id(v.of), v)
    leaves = list(first.values())
    loss, again = run(trace, nodes, leaves, trace.seed)
    recorded = {id(p): gradients.get(name) for name, p in parameters.items()}
    worst = 0
    for value, g in zip(leaves, again):
        if g is not None and recorded[id(value.of)] is not None:
            worst = max(worst, ulps(g, recorded[id(value.of)]))
    return {"loss_ulps": ulps(loss, trace.loss.tensor.detach()), "gradient_ulps": worst}
