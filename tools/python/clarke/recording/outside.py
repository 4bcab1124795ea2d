"""A step that leaves the reals: which operator made the first NaN or infinity, by which rule, and what the real function has there.

What is said of floats is read off the step. What is said of the real function stands in the rules below, each true wherever its question
about the numbers is answered by yes; where none is, it is not known.
"""
import math
from fractions import Fraction

import torch

from ..operators.alignments import UNALIGNED, lengths, letters_of, needed
from ..operators.jumps import COMPARED, crossed, on_jump
from ..tracing.dispatched import Value, trained, values_in

LEAST = float("-inf")
UNKNOWN = {"rule": "no rule is known of this operator here", "differentiable": "not known", "element": "not known",
           "instead": "keep what it reads away from where it has no finite value or slope"}
# Move entries, or set some to others: minus infinity that is data stays a mask. A logarithm of a softmax hands a mask on.
MOVE = {"masked_fill", "where", "fill", "index_put", "scatter", "put", "index_fill", "fill_diagonal", "_to_copy", "clone", "alias", "contiguous", "view",
        "_unsafe_view", "reshape", "expand", "transpose", "permute", "t", "unsqueeze", "squeeze", "slice", "select", "cat", "stack", "copy", "_log_softmax",
        "gather", "index", "index_select", "split", "unbind"}
CREATE = {"masked_fill", "where", "fill", "index_put", "scatter", "put", "index_fill", "fill_diagonal"}  # of a number that is infinite
# Sums and products of finitely many finite numbers: their real value is finite, and smooth in what they read.
TOTAL = {"mul", "add", "sub", "rsub", "square", "mm", "bmm", "matmul", "mv", "dot", "addmm", "baddbmm", "addmv", "convolution", "sum", "exp", "expm1", "cosh",
         "sinh", "cumsum", "addcmul", "einsum", "mse_loss", "neg", "mean", "_to_copy"}
POLES = {"reciprocal", "rsqrt"}
ENDS = {"log": 0, "log2": 0, "log10": 0, "log1p": -1}


def facts(rule, differentiable, element, instead):
    return {"rule": rule, "differentiable": differentiable, "element": element, "instead": instead}


# ---- Numbers


def broken(t):
    """Is some entry no real number? (A sum of finite ones may be infinite, too.)"""
    if not isinstance(t, torch.Tensor) or not t.is_floating_point() or t.is_meta or t.numel() == 0:
        return False
    t = t.detach() if t.element_size() > 1 else t.detach().to(torch.float32)
    return not bool(torch.isfinite(t.sum())) and not bool(torch.isfinite(t).all())


def any_broken(tensors):
    """The same of several. (One number tells it, mostly: what is not finite stays so in a sum.)"""
    plain = all(t.is_floating_point() and t.element_size() > 1 and not t.is_meta for t in tensors)
    return not (plain and math.isfinite(sum([t.detach().sum().item() for t in tensors]))) and any(map(broken, tensors))


def first_entry(t):
    """The first that is no real number: its place."""
    flat = int((~torch.isfinite(t.detach())).reshape(-1).to(torch.uint8).argmax())
    return [int(i) for i in torch.unravel_index(torch.tensor(flat), t.shape)] if t.dim() else []


def number(t, entry):
    return t.detach()[tuple(entry)].item()


def spread(value, entry, shape):
    """The number of an operand that goes into that entry of a result of this shape; None: it does not spread like that."""
    if not isinstance(value, Value):
        return float(value) if isinstance(value, (int, float)) else None
    try:
        return number(value.tensor.expand(shape), entry)
    except RuntimeError:
        return None


def shown(x):
    return "NaN" if x != x else "infinity" if x == math.inf else "minus infinity" if x == LEAST else f"{x:.9g}"


# ---- Is a number that was read what exact arithmetic has, too?

MOVED = {"t", "transpose", "permute", "view", "_unsafe_view", "reshape", "expand", "unsqueeze", "squeeze", "slice", "select", "clone", "alias", "detach", "contiguous"}
SAME = {"relu", "abs", "neg", "clone", "alias", "detach", "contiguous"}  # of which floats make no other number
POSITIVE = {"exp", "sigmoid", "_softmax", "_safe_softmax", "cosh", "softplus"}  # above 0 wherever they are


def is_positive(node):
    """Is its real value above 0, whatever the floats are?"""
    return node is not None and node.name in POSITIVE and bool(torch.isfinite(node.args[0].tensor).all())


def operand_entry(value, entry):
    """Where an operand's number lies that goes into that entry of a result."""
    shape = value.tensor.shape
    return [0 if n == 1 else e for n, e in zip(shape, entry[len(entry) - len(shape):])]


def exact(value, entry):
    """Was that entry not rounded on the way from parameters and data? (False: perhaps it was.)"""
    if not isinstance(value, Value):
        return True
    node = value.node
    if node is None or not trained(value):
        return True
    name = node.name.rstrip("_")
    if name == "masked_fill":
        return bool(spread(node.args[1], entry, value.tensor.shape)) or exact(node.args[0], entry)
    if name in SAME:
        return exact(node.args[0], entry)
    if name in MOVED:
        return node.args[0].node is None or (node.args[0].node.name in MOVED and exact(node.args[0], entry))
    if name in ("sum", "square", "pow") and number(value.tensor, entry) == 0:
        total, base = made_of_squares(value)
        return base is not None and base.node is None and bool((squared_entries(total, base, entry) == 0).all())
    if name not in ("mul", "add", "sub") or node.kwargs.get("alpha", 1) != 1 or len(node.args) > 2:
        return False
    a, b = (spread(v, entry, value.tensor.shape) for v in node.args)
    if a is None or b is None or not (math.isfinite(a) and math.isfinite(b)):
        return False
    a, b = Fraction(a), Fraction(b)
    whole = a * b if name == "mul" else a + b if name == "add" else a - b
    y = number(value.tensor, entry)
    return math.isfinite(y) and whole == Fraction(y) and all(exact(v, operand_entry(v, entry)) for v in node.args if isinstance(v, Value))


ROUNDED = "What it read was computed in floats: in exact arithmetic it may be another number, of which this does not speak."


# ---- Who made it


def harmless(value):
    """Infinite by data: what nobody trains, or a mask of minus infinity."""
    if not trained(value):
        return True
    node = value.node
    if node is None or bool(torch.isnan(value.tensor).any()) or bool((value.tensor == math.inf).any()):
        return False
    name, given = node.name.rstrip("_"), [v for v in node.reads if v.tensor.is_floating_point() and broken(v.tensor)]
    if name == "add":  # of finite numbers it would be too large a sum
        whole = torch.zeros(value.tensor.shape, dtype=torch.bool, device=value.tensor.device)
        for v in given:
            whole = whole | (v.tensor == LEAST).expand(value.tensor.shape)
        if bool(((value.tensor == LEAST) & ~whole).any()):
            return False
    made = name in CREATE or (name in (*MOVE, "add") and given)
    return bool(made) and all(map(harmless, given))


def maker(value, order):
    """The first value, of those through which it is no real number, that is made of real ones (or of infinite data)."""
    rest, seen, ends = [value], {id(value)}, []
    while rest:
        v = rest.pop()
        bad = [u for u in (v.node.reads if v.node else ()) if broken(u.tensor) and not harmless(u)]
        if not bad:
            ends.append(v)
        rest += [u for u in bad if id(u) not in seen]
        seen.update(map(id, bad))
    return min(ends, key=lambda v: order.get(id(v.node), -1))


# ---- The forward pass


def forward_rule(node, value, entry):
    """Why that entry of the node's result is no real number."""
    name, shape = node.name.rstrip("_"), value.tensor.shape
    operands = [spread(v, entry, shape) for v in node.args[:2]] if node.args else []
    a, b = (operands + [None, None])[:2]
    if name in ENDS and a is not None and a <= ENDS[name]:
        if a < ENDS[name]:
            return facts(f"no real number has a logarithm of {shown(a)}", "no: it has no value", "none", "keep its argument above 0")
        if ENDS[name] == 0 and is_positive(node.args[0].node):
            return facts(f"{node.args[0].node.name} is above 0 everywhere, and was rounded to 0 here", "yes: the real argument is above 0",
                         "its ordinary gradient", "log_softmax, logsigmoid or logsumexp, which take both at once")
        return facts(f"the logarithm falls to minus infinity where its argument is 0 ({name} of {shown(a)})", "no: it has no value", "none",
                     "log(x.clamp(min=eps)), xlogy for x log x, log_softmax for the log of a softmax, logsigmoid for that of a sigmoid")
    if name in ("sqrt", "rsqrt") and a is not None and a < 0:
        return facts(f"no real number has the square {shown(a)}", "no: it has no value", "none", "keep its argument at 0 or above, by clamp or relu")
    if name in ("asin", "acos") and a is not None and abs(a) > 1:
        return facts(f"{name} is of numbers from -1 to 1, and not of {shown(a)}", "no: it has no value", "none", "clamp its argument to (-1, 1)")
    if name in POLES and a == 0:
        return facts("a pole: something is divided by 0", "no: it has no value", "none", "add a small number to what is divided by, or clamp it away from 0")
    if name == "div" and b == 0:
        what = "0 divided by 0" if a == 0 else f"a pole: {shown(a)} divided by 0" if a is not None else "a pole: something is divided by 0"
        return facts(what, "no: it has no value", "none", "add a small number to what is divided by; x / x.norm().clamp(min=eps) for a norm (F.normalize)")
    if name in ("mul", "div", "add", "sub") and any(isinstance(v, float) and not math.isfinite(v) for v in operands if v is not None):
        sign = {"mul": "times", "div": "divided by", "add": "plus", "sub": "minus"}[name]
        return facts(f"{shown(a)} {sign} {shown(b)}: infinity is no real number", "no: it has no value", "none",
                     "where an entry is not wanted take torch.where(wanted, x, 0), or a large finite number, not infinity, as the constant")
    if name in ("_softmax", "_safe_softmax", "_log_softmax") and masked_line(node, entry):
        return facts("a softmax of a line of which every entry is masked (minus infinity): 0 divided by 0", "no: it has no value", "none",
                     "let each line keep an entry, or mask by a large finite number (-1e4) and set the line's result to 0 by torch.where")
    if name in ("nll_loss_forward", "nll_loss2d_forward") and value is node.results[0]:
        return likelihood_rule(node)
    if name == "_ctc_loss" and value is node.results[0]:
        return alignment_rule(node, entry)
    return too_large(name, node, value, b if name == "div" else a)


def masked_line(node, entry):
    """Is all of the line that the entry is in minus infinity?"""
    x, axis = node.args[0].tensor.detach(), node.args[1] % max(1, node.args[0].tensor.dim())
    at = tuple(slice(None) if i == axis else e for i, e in enumerate(entry))
    return bool((x[at] == LEAST).all())


def likelihood_rule(node):
    soft, target, _, _, ignored = node.args[:5]
    labels = target.tensor
    if bool((labels == ignored).all()):
        return facts(f"the mean of no loss: every label is ignored ({ignored})", "no: it has no value", "none", "leave such a batch out, or take reduction='sum'")
    if soft.tensor.dim() == 2 and labels.dim() == 1:
        kept = torch.nonzero(labels != ignored).reshape(-1)
        logits = soft.node.args[0].tensor if soft.node is not None and soft.node.name == "_log_softmax" else torch.zeros_like(soft.tensor)
        infinite = kept[logits[kept, labels[kept]] == LEAST]
        if len(infinite):
            i = int(infinite[0])
            return facts(f"the label of sample {i} is class {int(labels[i])}, whose logit is minus infinity: its probability is 0, which has no logarithm",
                         "no: it has no value", "none", "do not mask the label's class, or give ignore_index as that sample's label")
    return UNKNOWN


def alignment_rule(node, entry):
    """A label with more letters, and blanks between equal ones, than there are frames."""
    frames, counts = map(lengths, node.args[2:4])
    sample = entry[0]
    letters = letters_of(node.args[1].tensor.cpu(), counts)[sample]
    if not bool(torch.isfinite(node.args[0].tensor).all()) or frames[sample] >= needed(letters):
        return UNKNOWN
    return facts(f"the label of sample {sample} has {len(letters)} letters, and no alignment with {int(frames[sample])} frames: its probability is 0, which "
                 "has no logarithm", "no: it has no value", "none", UNALIGNED)


def numbers_in(tree):
    if isinstance(tree, (list, tuple)):
        for item in tree:
            yield from numbers_in(item)
    elif isinstance(tree, float):
        yield tree


def divisors_of(node):
    """All numbers that a quotient divides by, or 0 for all where one is 0: a gradient that is summed up comes through several."""
    value = node.args[1]
    return [float(value.tensor.detach().double().abs().min()) if isinstance(value, Value) else value]


def is_total(name, node, divisors):
    """Is all that it reads finite, and does the operator have a finite value, and finite slopes, of any such numbers? Of a quotient: of these divisors."""
    finite = all(bool(torch.isfinite(v.tensor).all()) for v in node.reads if v.tensor.is_floating_point())
    finite = finite and all(map(math.isfinite, numbers_in([node.args, *node.kwargs.values()])))
    power = name == "pow" and isinstance(node.args[1], int) and node.args[1] > 0
    quotient = name in ("div", "reciprocal") and all(d is not None and d != 0 for d in divisors) and node.kwargs.get("rounding_mode") is None
    return finite and (name in TOTAL or power or quotient)


def too_large(name, node, value, a):
    """A real number that the type does not hold, where all that is read is finite, and the operator has a finite value of any numbers."""
    if not is_total(name, node, [a]) or not all(v.tensor.numel() for v in node.reads):
        return UNKNOWN
    largest = torch.finfo(value.tensor.dtype).max
    advice = {"exp": "subtract the largest argument before (softmax, logsumexp), or clamp the argument", "expm1": "clamp the argument"}
    return facts(f"the real number is finite, and too large for {str(value.tensor.dtype).removeprefix('torch.')} (above {largest:.3g} on the way)",
                 "yes: the real function is smooth in what this operator reads", "its ordinary gradient, which the type may not hold",
                 advice.get(name, "scale what is multiplied or added, or compute it in a wider type"))


# ---- The backward pass


def made_of_squares(value):
    """What is squared and summed up, where the value is such a sum: the sum's node (None: of one number), and the value that is squared."""
    node = value.node
    total = node if node is not None and node.name in ("sum", "mean") and node.reads else None
    square = total.reads[0].node if total is not None else node
    name = square.name if square is not None else ""
    same = name == "square" or (name == "pow" and square.args[1] == 2) or (name == "mul" and square.args[0] is square.args[1])
    return total, square.reads[0] if same else None


def squared_entries(node, base, entry):
    """The numbers of which that entry is the sum of squares."""
    if node is None:
        return base.tensor.detach()[tuple(entry)].reshape(-1)
    axes = node.args[1] if len(node.args) > 1 else node.kwargs.get("dim")
    keep = node.args[2] if len(node.args) > 2 else node.kwargs.get("keepdim", False)
    x = base.tensor.detach()
    if not axes:
        return x.reshape(-1)
    axes = {a % x.dim() for a in (axes if isinstance(axes, (list, tuple)) else [axes])}
    places = iter(entry)
    at = []
    for i in range(x.dim()):
        place = next(places, None) if keep or i not in axes else None
        at.append(slice(None) if i in axes else place)
    return x[tuple(at)].reshape(-1)


def root_rule(node, x, entry):
    """What is said of sqrt, or a power between 0 and 1, at 0."""
    total, base = made_of_squares(x) if node.name.rstrip("_") == "sqrt" or node.args[1] == 0.5 else (None, None)
    if base is None:
        return facts("the slope of a root grows without bound where its argument is 0", "no, as a function of its argument: its slope is infinite there",
                     "none, of this operator alone: its slopes near by have no bound", "(x + eps).sqrt(), or x.clamp(min=eps).sqrt()")
    if not bool((squared_entries(total, base, entry) == 0).all()):
        return facts("the squares are so small that they became 0: the real root is not 0", "yes: this root, as a function of what is squared",
                     "x / |x|", "torch.linalg.vector_norm, or scale x before it is squared")
    return facts("a Euclidean norm of zeros, written as the root of a sum of squares: the root's slope is infinite at 0, the square's is 0",
                 "no, as a function of what is squared", "0: the norm is least there (its gradients at u and -u are opposite, and their mean is 0)",
                 "torch.linalg.vector_norm, whose derivative at 0 is 0 in PyTorch, or (x.square().sum() + eps).sqrt()")


LEFT_OUT = {"aside": "yes, in this entry: a condition leaves it out, here and near by",  # by conditions away from their jumps, or that are data
            "floats": "yes, in this entry, if exact arithmetic decides the condition as floats did: it leaves the entry out, here and near by",
            "edge": "not known: the condition that leaves it out is at its jump"}

LEFT_OUT_SURELY = "yes, in this entry"


def unread(value, entry, readers):
    """Is that entry left out by all that read the value, near by, too? A key of LEFT_OUT, the least sure of any; None: not known."""
    found = [left_out(reader, value, entry) for reader in readers.get(id(value), [])]
    return None if not found or None in found else max(found, key=list(LEFT_OUT).index)


def left_out(reader, value, entry):
    name, shape = reader.name.rstrip("_"), reader.results[0].tensor.shape
    if value.tensor.shape != shape:
        return None
    if name == "where" and len(reader.args) == 3:
        chosen = spread(reader.args[0], entry, shape)
        other = reader.args[1] is not value and reader.args[2] is value
        return condition(reader.args[0], entry, shape) if chosen is not None and bool(chosen) == other and reader.args[1] is not reader.args[2] else None
    if name == "clamp_min" and isinstance(reader.args[1], (int, float)):  # of a logarithm or pole at 0 there is nothing near by, on one side, that is below
        return "aside" if is_steady_near(value.node) and number(value.tensor, entry) < reader.args[1] else None
    if name == "masked_fill":
        return condition(reader.args[1], entry, shape) if spread(reader.args[1], entry, shape) else None
    return None


def is_steady_near(node):
    """Is it a norm, or the root of a sum of squares: with a value near by, too, that differs by little?"""
    return node is not None and (is_norm(node) or (node.name == "sqrt" and made_of_squares(node.args[0])[1] is not None))


def condition(mask, entry, shape):
    """Does the mask stay what it is, near by? Of one that is compared: where no two numbers are equal."""
    if not isinstance(mask, Value) or not trained(mask):
        return "aside"
    node = mask.node
    if node is not None and node.name in COMPARED and node.results[0] is mask:
        a, b = (spread(v, entry, shape) for v in node.args[:2])
        steep = [n for v in values_in(node.args[:2]) for n in crossed(v) if any(map(trained, n.reads))]
        if a is not None and b is not None and a == a and b == b and not any(on_jump(n) is not False for n in steep):
            certain = all(exact(v, operand_entry(v, entry)) for v in values_in(node.args[:2]))
            return "edge" if a == b else "aside" if certain else "floats"
    return None


def backward_rule(node, j, entry, readers):
    """Why the gradient that the node's derivative gives to its input j is no real number at that entry."""
    name, given = node.name.rstrip("_"), [v for v in node.reads if v.tensor.is_floating_point()]
    x = given[j] if j < len(given) else None
    y = node.results[0]
    a = number(x.tensor, entry) if x is not None and len(entry) == x.tensor.dim() else None
    same = x is not None and x.tensor.shape == y.tensor.shape
    g = number(node.grad_outputs[0], entry) if same and node.grad_outputs and isinstance(node.grad_outputs[0], torch.Tensor) else None
    found = slope_rule(name, node, x, y, entry, a, node.grad_inputs[j].dtype) if a is not None else UNKNOWN
    if found is UNKNOWN or g != 0 or not same:
        return found, a, g
    rule = f"{found['rule']}; the gradient that comes in is 0, and 0 times infinity is NaN"
    left = unread(y, entry, readers)
    if left == "edge":
        return facts(rule, LEFT_OUT[left], "not known", found["instead"]), a, g
    if left is not None:
        return facts(rule, LEFT_OUT[left], "0, for this entry",
                     "give the operator a harmless argument where its result is not wanted: torch.where(wanted, f(torch.where(wanted, x, 1)), other)"), a, g
    return found | {"rule": rule}, a, g


def slope_rule(name, node, x, y, entry, a, kind):
    """An infinite slope, or one that is too large for the type."""
    if (name == "sqrt" or (name == "pow" and isinstance(node.args[1], float) and 0 < node.args[1] < 1)) and a == 0:
        return root_rule(node, x, entry)
    if name in ENDS and a == ENDS[name]:
        return facts("the logarithm has neither value nor slope where its argument is 0", "no: it has no value", "none", "log(x.clamp(min=eps))")
    if name in POLES and a == 0:
        return facts("a pole has neither value nor slope", "no: it has no value", "none", "clamp what is divided by away from 0")
    if name == "div" and spread(node.args[1], entry, y.tensor.shape) == 0:
        return facts("something is divided by 0, which has neither value nor slope", "no: it has no value", "none", "clamp what is divided by away from 0")
    if name in ("asin", "acos") and abs(a) == 1:
        return facts(f"the slope of {name} grows without bound at {shown(a)}", "no, as a function of its argument: its slope is infinite there",
                     "none, of this operator alone: its slopes near by have no bound", "clamp the argument to (-1, 1), or take atan2")
    if name == "xlogy" and len(node.args) == 2 and all(isinstance(v, Value) and spread(v, entry, y.tensor.shape) == 0 for v in node.args):
        return facts("x log y at x = y = 0: its slope in x is log 0", "no: log y falls to minus infinity", "none", "xlogy(x, y.clamp(min=eps))")
    if name in ("exp", "expm1") and not math.isfinite(number(y.tensor, entry)):
        return facts("exp of so large a number is infinite in this type, though its real value is not", "yes: exp is smooth", "its ordinary gradient",
                     "clamp the argument, or subtract the largest one before")
    if is_total(name, node, divisors_of(node) if name == "div" else [a]):
        return facts(f"the real number is finite, and too large for {str(kind).removeprefix('torch.')}", "yes: this operator is smooth in what it reads",
                     "its ordinary gradient, which the type may not hold", "take a smaller loss scale, or a wider type")
    return UNKNOWN


# ---- The answer


def node_of(node):
    return {"operator": node.aten, "derivative": node.derivative, "module": node.module, "source": node.source}


def forward(value, samples):
    node, entry = value.node, first_entry(value.tensor)
    where = {"pass": "forward", "value": shown(number(value.tensor, entry)), "entry": entry, "sample": entry[0] if samples and entry else None}
    if node is None:
        what = "a parameter" if value.requires_grad else "data"
        return where | {"operator": None, "derivative": None, "module": "", "source": "", "argument": None, "incoming": None} | facts(
            f"{what} of shape {tuple(value.tensor.shape)} is no real number before the step begins", "no: it has no value", "none", "look at what made it")
    a = spread(node.args[0], entry, value.tensor.shape) if node.args and isinstance(node.args[0], Value) else None
    operands = [v for v in node.args[:2] if isinstance(v, Value) and spread(v, entry, value.tensor.shape) is not None]
    known = not is_positive(operands[0].node if operands else None) and not all(exact(v, operand_entry(v, entry)) for v in operands)
    return where | node_of(node) | {"argument": None if a is None else shown(a), "incoming": None, "rounded": known} | forward_rule(node, value, entry)


def backward(trace, readers, samples):
    """The first derivative, in the order in which autograd runs them, that makes of real numbers what is none."""
    for node in reversed(trace.nodes):
        gave = [g for g in node.grad_inputs if isinstance(g, torch.Tensor)]
        if not gave or any(map(broken, node.grad_outputs)) or not any(map(broken, gave)):
            continue
        j = next(i for i, g in enumerate(node.grad_inputs) if broken(g))
        gradient = node.grad_inputs[j]
        entry = first_entry(gradient)
        found, a, g = backward_rule(node, j, entry, readers)
        sample = entry[0] if samples and entry and gradient.shape[0] == samples else None
        given = [v for v in node.reads if v.tensor.is_floating_point()]
        rounded = a is not None and not exact(given[j], entry)
        return {"pass": "backward", "value": shown(number(gradient, entry)), "entry": entry, "sample": sample, **node_of(node), "rounded": rounded,
                "argument": None if a is None else shown(a), "incoming": None if g is None else shown(g)} | found
    return {"pass": "backward", "value": "not known", "entry": [], "sample": None, "operator": None, "derivative": None, "module": "", "source": "",
            "argument": None, "incoming": None} | UNKNOWN | {
        "rule": "no single derivative makes it of real numbers: it is a sum that grew too large, or the record is light and has no gradients"}


def explain(trace, nodes, gradients, samples, seen):
    """What left the reals first, and why; nothing, where the loss, the gradients and the values between are real. samples: of a graph that has a batch axis.
    seen: made Python nothing of the step's numbers?"""
    order = {id(n): i for i, n in enumerate(trace.nodes)}
    readers = {}
    for n in nodes:
        for v in n.reads:
            readers.setdefault(id(v), []).append(n)
    if broken(trace.loss.tensor):
        return told(forward(maker(trace.loss, order), samples), "It reaches the loss.", seen)
    if any(map(broken, gradients.values())):
        return told(backward(trace, readers, samples), "It reaches a parameter's gradient.", seen)
    inside = next((v for n in nodes for v in n.results if isinstance(v, Value) and broken(v.tensor) and not harmless(v)), None)
    hidden = "Neither the loss nor a parameter's gradient shows it."
    if inside is None and any(broken(g) for n in nodes for g in n.grad_outputs):
        return told(backward(trace, readers, samples), hidden, seen)
    if inside is None:
        return None
    value = maker(inside, order)
    found = forward(value, samples)
    left = unread(value, found["entry"], readers)
    if left in ("aside", "floats"):
        found |= {"differentiable": LEFT_OUT[left], "element": "0, for this entry"}
    return told(found, hidden, seen)


# ---- Norms of zeros: real numbers, where no derivative is

NORMS = {"linalg_vector_norm": "a Euclidean norm of zeros", "norm": "a Euclidean norm of zeros", "std": "a standard deviation of equal numbers",
         "std_mean": "a standard deviation of equal numbers", "_cdist_forward": "a distance of equal points", "_euclidean_dist": "a distance of equal points"}


def is_norm(node):
    """Is it one that is least where it is 0, with the order 2?"""
    order = node.args[1] if node.name in ("linalg_vector_norm", "norm") and len(node.args) > 1 else node.args[2] if node.name == "_cdist_forward" else 2
    return node.name in NORMS and order in (2, None) and node.results[0].requires_grad


def axes_of(node):
    """The axes of a norm or deviation, and whether they are kept."""
    at = 2 if node.name in ("linalg_vector_norm", "norm") else 1
    axes = node.args[at] if len(node.args) > at else node.kwargs.get("dim")
    keep = node.args[at + 1] if len(node.args) > at + 1 else node.kwargs.get("keepdim", False)
    axes = None if isinstance(axes, bool) or not isinstance(axes, (int, list, tuple)) else axes
    return list(range(node.args[0].tensor.dim())) if axes is None or axes == [] else axes, bool(keep)


def zeros_of(node):
    """Which of its results are 0 by what they read, exactly: zeros, or equal numbers. (The squares of small numbers may be 0, too.)"""
    x = node.args[0].tensor.detach()
    if node.name in ("_cdist_forward", "_euclidean_dist"):
        zero = torch.cdist(x, node.args[1].tensor.detach(), p=math.inf) == 0
        return zero & ~torch.eye(zero.shape[-1], dtype=torch.bool, device=zero.device) if node.args[0] is node.args[1] else zero
    axes, keep = axes_of(node)
    if node.name in ("linalg_vector_norm", "norm"):
        return x.abs().amax(axes, keepdim=keep) == 0
    several = x.numel() > node.results[0].tensor.numel()
    return (x.amax(axes, keepdim=keep) == x.amin(axes, keepdim=keep)) & several


def at_a_norm(nodes, samples, seen):
    """The first norm that is 0; nothing, where none is."""
    for node in filter(is_norm, nodes):
        value = node.results[0]
        if not bool((value.tensor.detach() == 0).any()) or node.args[0].tensor.numel() == 0:
            continue
        zero = zeros_of(node)
        if zero.shape != value.tensor.shape or not bool(zero.any()):
            continue
        entry = [int(i) for i in torch.nonzero(zero)[0]]
        found = {"pass": "forward", "value": "0", "entry": entry, "sample": entry[0] if samples and entry else None, **node_of(node), "argument": None, "incoming": None,
                 "rounded": any(v.node is not None for v in node.reads)} | norm_rule(node, value, entry, nodes)
        return told(found, "Every number of the step is real.", seen)
    return None


def norm_rule(node, value, entry, nodes):
    what = f"{NORMS[node.name]}: of what it reads, each by itself, its real function has no derivative there, and PyTorch takes 0"
    if unread(value, entry, {id(value): [n for n in nodes if any(v is value for v in n.reads)]}) == "aside":
        return facts(what, "yes, in this entry: a bound or a condition leaves the norm out, here and near by", "0, for this entry",
                     "nothing, if so steep a slope is meant (x / eps near 0)")
    return facts(what, "no, as a function of what it reads", "0: there it is least, and what is least has 0 in its subdifferential",
                 "add a small number below the root, where a slope is wanted")


def told(found, reach, seen):
    """With the report's lines."""
    if found["differentiable"].startswith(LEFT_OUT_SURELY) and not seen:
        found |= {"differentiable": "not known: Python read numbers of the step, and may have made of them what leaves this entry out", "element": "not known"}
    what, place = found["value"], f"entry {found['entry']}" + (f" (sample {found['sample']})" if found["sample"] is not None else "")
    by = f"{found['operator'] or 'nobody in the step'}" + (f", whose derivative is {found['derivative']}" if found["pass"] == "backward" and found["derivative"] else "")
    where = f" at {found['source']}" + (f" ({found['module']})" if found["module"] else "") if found["source"] else ""
    numbers = [f"the argument is {found['argument']}"] if found["argument"] is not None else []
    numbers += [f"the gradient that comes in is {found['incoming']}"] if found["incoming"] is not None else []
    begun = "The step meets a norm that is 0" if what == "0" else "The step leaves the reals"
    first = f"The first {what} of the {found['pass']} pass is made by {by}{where}: {place}."
    if found["operator"] is None and what == "not known":
        first = f"Which operator of the {found['pass']} pass did so first is not known."
    lines = [f"{begun}. {first} {reach}",
             f"There {' and '.join(numbers)}." if numbers else "",
             f"Why: {found['rule']}.",
             ROUNDED if found.get("rounded") else "",
             f"Is the real function differentiable there? {found['differentiable'][0].upper()}{found['differentiable'][1:]}.",
             f"A finite element of its subdifferential: {found['element']}.",
             f"Instead: {found['instead']}."]
    return found | {"lines": [line for line in lines if line]}
