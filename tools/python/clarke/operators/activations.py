"""ATen's activations: what is done to each number alone, and softmax."""
import torch

from . import masks
from .table import argument, operator, result
from ..refused import Unbatched
from ..tracing.dispatched import Value

FUNCTIONS = {"relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh", "abs": "Abs", "hardswish": "HardSwish", "exp": "Exp", "erf": "Erf",
             "reciprocal": "Reciprocal", "sqrt": "Sqrt", "log": "Log", "atan": "Atan", "arctan": "Atan"}


@operator(*FUNCTIONS)
def write_function(g, node):
    return g.add(FUNCTIONS[node.name.rstrip("_")], [g.of(node.args[0])])


@operator("rsqrt")
def write_inverse_root(g, node):
    return g.add("Pow", [g.of(node.args[0]), g.scalar(-0.5, result(node))])


@operator("log1p")
def write_log1p(g, node):
    return g.add("Log", [g.add("Add", [g.of(node.args[0]), g.scalar(1, result(node))])])


@operator("expm1")
def write_expm1(g, node):
    """exp(x) - 1, with exp(x) as (1 - sigmoid(-x)) (1 + exp(x)). PyTorch's derivative is the result plus 1, in which numbers near -1 cancel:
    so they do in this form's, and in no derivative of exp."""
    x, one = g.of(node.args[0]), g.scalar(1, result(node))
    share = g.add("Sub", [one, g.add("Sigmoid", [g.add("Neg", [x])])])
    return g.add("Sub", [g.add("Mul", [share, g.add("Add", [g.add("Exp", [x]), one])]), one])


@operator("gelu")
def write_gelu(g, node):
    return g.add("Gelu", [g.of(node.args[0])], approximate=argument(node, 1, "approximate", "none"))


@operator("silu")
def write_silu(g, node):
    x = g.of(node.args[0])
    return g.add("Mul", [x, g.add("Sigmoid", [x])])


@operator("leaky_relu")
def write_leaky(g, node):
    slope = argument(node, 1, "negative_slope", 0.01)
    if result(node).dtype == torch.float64 and float(torch.tensor(slope, dtype=torch.float32)) != slope:
        return g.add("PRelu", [g.of(node.args[0]), g.scalar(slope, result(node))])  # the same, its slope a float64
    return g.add("LeakyRelu", [g.of(node.args[0])], alpha=float(slope))


@operator("elu", "selu", "celu")
def write_elu(g, node):
    """scale times x, or times alpha (exp(input_scale x) - 1) below 0; Celu's input_scale is 1 / alpha."""
    like, celu = result(node), node.name == "celu"
    alpha, scale, inner = (float(argument(node, i, name, 1.0)) for i, name in ((1, "alpha"), (2, "scale"), (3, "input_scale")))
    if node.name == "selu":
        alpha, scale, inner = 1.6732632423543772, 1.0507009873554805, 1.0
    if celu or (inner != 1 and inner == 1 / alpha and scale == 1):
        return g.add("Celu", [g.of(node.args[0])], alpha=g.float32(alpha, like, "alpha"))
    if inner != 1 or alpha <= 0 or scale <= 0:
        g.refuse("factors that are not those of elu, selu or celu", "call one of these, or write it with where and exp")
    alpha = g.float32(alpha, like, "alpha")
    if scale == 1:
        return g.add("Elu", [g.of(node.args[0])], alpha=alpha)
    return g.add("Selu", [g.of(node.args[0])], alpha=alpha, gamma=g.float32(scale, like, "scale"))


@operator("_prelu_kernel", "prelu")
def write_prelu(g, node):
    """A slope w that is computed: w x + (1 - w) relu(x), whose derivatives at 0 are PyTorch's, w in x and 0 in w."""
    x, slope = (g.of(v) for v in node.args[:2])
    if slope not in g.active:
        return g.add("PRelu", [x, slope])
    rest = g.add("Sub", [g.scalar(1, result(node)), slope])
    return g.add("Add", [g.add("Mul", [slope, x]), g.add("Mul", [rest, g.add("Relu", [x])])])


@operator("hardtanh")
def write_hardtanh(g, node):
    x, low, high = node.args[0], argument(node, 1, "min_val", -1), argument(node, 2, "max_val", 1)
    return g.add("Clip", [g.of(x), g.bound(low, result(node)), g.bound(high, result(node))])


BOUNDS = {}  # "tensors": a clamp between tensors (norms.py)


def one_number(g, bound):
    """The number that a tensor of one is, if nothing that is trained, nor a sample, is in it."""
    alone = isinstance(bound, Value) and bound.tensor.numel() == 1 and not bound.requires_grad and id(bound) not in g.moving
    return bound.tensor.item() if alone else bound


def clamp(g, node, low, high):
    """At its bounds torch.clamp has the derivative 1, hardtanh 0: another operator."""
    given, (low, high) = (low, high), (one_number(g, b) for b in (low, high))
    if any(isinstance(b, Value) for b in (low, high)):
        return BOUNDS["tensors"](g, node, *given)
    if low is not None and high is not None and low >= high:
        g.refuse("bounds without a number between them", "take a lower bound that is below the upper one")
    ends = ["" if b is None else g.bound(b, result(node)) for b in (low, high)]
    return g.add("Clamp", [g.of(node.args[0])] + (ends if ends[1] else ends[:1]), domain="clarke")


@operator("clamp")
def write_clamp(g, node):
    return clamp(g, node, argument(node, 1, "min"), argument(node, 2, "max"))


@operator("clamp_min")
def write_clamp_min(g, node):
    return clamp(g, node, node.args[1], None)


@operator("clamp_max")
def write_clamp_max(g, node):
    return clamp(g, node, None, node.args[1])


def linear_above(g, node, entries, at):
    """Which entries lie above the number at which the operator jumps: data, of which none may be at it. None: none lies above."""
    if bool((entries == at).any()):
        g.refuse("an entry is at its threshold, where it jumps: it has no derivative there", "take another threshold, or write it with relu")
    above = entries > at
    if not bool(above.any()):
        return None
    if not g.whole:
        raise Unbatched
    g.branches.append(node.source)
    return above.cpu()


@operator("threshold")
def write_threshold(g, node):
    """x above the threshold, else a number. Where that is the threshold it is a Clip; else it jumps there, and may not be near."""
    x, at, value = node.args[0], argument(node, 1, "threshold"), argument(node, 2, "value")
    like = result(node)
    if at == value:
        return g.add("Clip", [g.of(x), g.bound(at, like)])
    kept = linear_above(g, node, x.tensor.detach(), torch.tensor(float(at), dtype=torch.float64).to(like.dtype).to(like.device))
    if not g.whole:
        raise Unbatched
    if kept is None:
        kept = torch.zeros(like.shape, dtype=torch.bool)
        g.branches.append(node.source)
    name = g.add("Mul", [g.of(x), g.data("kept", kept.to(like.dtype))])
    return name if value == 0 else g.add("Add", [name, g.data("chosen", torch.zeros_like(kept, dtype=like.dtype).masked_fill(~kept, float(value)))])


@operator("softplus")
def write_softplus(g, node):
    """log(1 + exp(beta x)) / beta. Above the threshold it is x, which is another number: there it jumps, and no entry may be."""
    x, beta, at = node.args[0], float(argument(node, 1, "beta", 1)), argument(node, 2, "threshold", 20)
    like = result(node)
    usual = (beta, at) == (1, 20) and like.dtype != torch.float64  # its jump, 2e-9, is less than what is rounded
    above = None if usual else linear_above(g, node, x.tensor.detach() * beta, at)
    name = g.of(x)
    part = g.add("Softplus", [name if beta == 1 else g.add("Mul", [name, g.scalar(beta, like)])])
    part = part if beta == 1 else g.add("Div", [part, g.scalar(beta, like)])
    if above is None:
        return part
    below = g.add("Mul", [part, g.data("kept", (~above).to(like.dtype))])
    return g.add("Add", [below, g.add("Mul", [name, g.data("linear", above.to(like.dtype))])])


@operator("hardsigmoid")
def write_hardsigmoid(g, node):
    if result(node).dtype == torch.float64:
        g.refuse("PyTorch's slope is the float32 nearest to 1/6 here, in float64 too", "write (x / 6 + 0.5).clamp(0, 1)")
    sixth = float(torch.tensor(1 / 6, dtype=torch.float32))
    return g.add("HardSigmoid", [g.of(node.args[0])], alpha=sixth, beta=0.5)


@operator("_softmax", "_safe_softmax", "_log_softmax")
def write_softmax(g, node):
    """Where some entries of a line are minus infinity, so are their logarithms: who takes none of these takes them of the softmax."""
    left = g.kept.get(id(node.args[0]))
    if node.name == "_log_softmax" and left is not None:
        raise Unbatched
    if node.name == "_log_softmax" and id(node.args[0]) in g.masked:
        g.shares[id(node.results[0])] = g.add("Softmax", [g.of(node.args[0])], axis=node.args[1])
        return {}
    if node.name == "_log_softmax":
        return g.add("LogSoftmax", [g.of(node.args[0])], axis=node.args[1])
    return masks.softmax(g, g.of(node.args[0]), node.args[1], result(node).dim(), left)
