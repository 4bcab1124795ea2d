"""The traced operators once more: do they give the step's loss and gradients, bit for bit?"""
import torch

from .trace import Value, replace, values_in

RANDOM = ("bernoulli", "rand", "normal", "uniform", "exponential", "multinomial", "dropout")


def run(trace, nodes, leaves, seed):
    """(loss, gradients by the leaves' order) of the nodes, from copies of what they began with."""
    made = {}
    for value in leaves:
        made[id(value)] = value.tensor.detach().clone().requires_grad_(True)

    def tensor(value):
        if id(value) not in made:
            made[id(value)] = value.tensor.detach().clone()
        return made[id(value)]

    for node in nodes:
        if any(word in node.name for word in RANDOM):
            continue  # what was drawn is a constant
        with torch.set_grad_enabled(node.grad_enabled):
            args, kwargs = replace((node.args, node.kwargs), Value, tensor)
            args = [t.clone() if s.alias_info is not None and s.alias_info.is_write and isinstance(t, torch.Tensor) else t
                    for t, s in zip(args, node.op._schema.arguments)]
            out = node.op(*args, **kwargs)
        for value, t in zip(node.results, out if isinstance(out, (list, tuple)) else [out]):
            if isinstance(value, Value):
                made[id(value)] = t
    loss = made[id(trace.loss)]
    wanted = [made[id(v)] for v in leaves]
    return loss.detach(), torch.autograd.grad(loss, wanted, grad_outputs=seed, allow_unused=True)


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
