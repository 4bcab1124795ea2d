"""ATen's losses, and what stands between them and a scalar, as nodes.

The targets, class weights and masks are data: inputs beside x, which the batch has by name. So the graph stays one from step
to step. In a graph that keeps the batch axis a loss is its terms, whose sum it is (terms.py); of some forms it has nodes of its
own (table.py).
"""
from fractions import Fraction

import torch

from . import masks
from .table import argument, operator, result
from ..refused import Unbatched
from ..tracing.dispatched import Value

NONE, MEAN = 0, 1  # PyTorch's numbers of reductions; 2 is the sum


def reduced(g, name, like, reduction):
    """The entries summed up; their mean; or themselves. Of samples the terms of the sum, or of the mean."""
    if reduction == NONE or (reduction != MEAN and not g.whole):
        return name
    if not g.whole:
        return g.add("Div", [name, g.scalar(like.numel(), like)])
    if reduction == MEAN:
        return g.add("ReduceMean", [name], keepdims=0)
    return g.add("ReduceSum", [name], keepdims=0)


def exact(g, *factors):
    """The product of tensors as float64, where that holds it."""
    product = torch.ones((), dtype=torch.float64)
    for t in factors:
        product = product * t.to(torch.float64)
    shapes = [t.to(torch.float64).expand(product.shape).reshape(-1).tolist() for t in factors]
    for whole, *parts in zip(product.reshape(-1).tolist(), *shapes):
        wanted = Fraction(1)
        for part in parts:
            wanted *= Fraction(part)
        if Fraction(whole) != wanted:
            g.refuse("a product of weights that no float64 holds", "take weights of fewer digits, as 0.5, or float32 ones")
    return product


def values(g, *tensors):
    """What is data of the loss must not be trained."""
    for v in tensors:
        if isinstance(v, Value) and v.requires_grad:
            g.refuse("a target, or weight, that is trained",
                     "where it is to be a constant detach it; else write the loss with log_softmax, products and sums")
    return [None if v is None else g.numbers(v).cpu() for v in tensors]


# ---- Of logarithms of softmaxes


def chosen(g, node, weight_of_class):
    """-w at each label that is not ignored, 0 elsewhere: of the shape of the logarithms."""
    soft, target, _, _, ignored = node.args[:5]
    labels, = values(g, target)
    kept = labels != ignored
    axis = 1 if soft.tensor.dim() > 1 else 0
    place = labels.clamp(min=0).unsqueeze(axis)
    size = soft.tensor.shape[axis]
    weights = torch.ones(size, dtype=torch.float64) if weight_of_class is None else weight_of_class.to(torch.float64)
    share = -torch.where(kept, weights[labels.clamp(min=0)], torch.zeros((), dtype=torch.float64)).unsqueeze(axis)
    return torch.zeros(soft.tensor.shape, dtype=torch.float64).scatter_(axis, place, share), axis


@operator("nll_loss_forward", "nll_loss2d_forward")
def write_likelihood(g, node):
    soft, _, weight, reduction = node.args[:4]
    if id(soft) in g.shares:
        return write_likelihood_of_shares(g, node)
    table, axis = chosen(g, node, *values(g, weight))
    name, rows = g.rows_of(soft)
    table = table.reshape(rows)
    product = g.add("Mul", [name, g.data("y", table)])
    if reduction == NONE and rows == list(soft.tensor.shape):
        return g.add("ReduceSum", [product, g.integers([axis])], keepdims=0)
    if reduction == NONE:
        raise Unbatched
    total = g.add("ReduceSum", [product], keepdims=0) if g.whole else product
    if reduction != MEAN:
        return total
    count = node.results[1].tensor  # PyTorch's own sum of weights, which it divides by
    if count.item() == 0:
        g.refuse("every label is ignored", "leave the batch out, or take reduction='sum'")
    return g.add("Div", [total, g.shared("y_total", count, table.dim())])


def write_likelihood_of_shares(g, node):
    """The loss of a softmax that leaves entries out: the logarithms of the labels' shares alone, none of which is 0."""
    soft, target, weight, reduction, ignored = node.args[:5]
    labels, w = values(g, target, weight)
    if soft.tensor.dim() != 2 or reduction == NONE:
        g.refuse("of masked logits that are no matrix, or without a reduction", masks.INSTEAD)
    kept = torch.nonzero(labels != ignored).reshape(-1)
    places = kept * soft.tensor.shape[1] + labels[kept]
    if kept.numel() == 0 or bool((soft.tensor.detach().cpu().reshape(-1)[places] == float("-inf")).any()):
        g.refuse("every label is ignored, or one is masked: its loss is infinite", "let no mask cover a label, and leave such a batch out")
    flat = g.add("Reshape", [g.shares[id(soft)], g.integers([soft.tensor.numel()])])
    logs = g.add("Log", [g.add("Gather", [flat, g.data("places", places)], axis=0)])
    each = torch.ones(len(kept), dtype=torch.float64) if w is None else w.to(torch.float64)[labels[kept]]
    total = g.add("ReduceSum", [g.add("Mul", [logs, g.data("y", -each)])], keepdims=0)
    return g.add("Div", [total, g.data("y_total", node.results[1].tensor)]) if reduction == MEAN else total


def log_shares(g, x, like):
    """log sigmoid(x) and log sigmoid(-x), on an axis of their own."""
    wide = torch.tensor([1, 0], dtype=like.dtype)
    pair = g.add("Mul", [g.add("Unsqueeze", [g.of(x), g.integers([-1])]), g.constant(wide)])
    return g.add("LogSoftmax", [pair], axis=-1)


def shares_of(g, y, w, p):
    """-w y p and -w (1 - y): what the two logarithms are multiplied by."""
    one = torch.ones((), dtype=torch.float64)
    rest = one - y.to(torch.float64)
    if any(Fraction(r) != 1 - Fraction(t) for r, t in zip(rest.reshape(-1).tolist(), y.to(torch.float64).reshape(-1).tolist())):
        g.refuse("a target t for which no float64 holds 1 - t", "round it to fewer digits, as by float32")
    return [exact(g, -w, y, p), exact(g, -w, rest)]


@operator("binary_cross_entropy_with_logits")
def write_binary(g, node):
    x, target, weight, positive, reduction = (argument(node, i, name) for i, name in
                                              enumerate(["self", "target", "weight", "pos_weight", "reduction"]))
    y, w, p = values(g, target, weight, positive)
    one = torch.ones((), dtype=torch.float64)
    shares = shares_of(g, y, one if w is None else w, one if p is None else p)
    table = torch.stack([s.expand(x.tensor.shape) for s in shares], dim=-1)
    product = g.add("Mul", [log_shares(g, x, x.tensor), g.data("y", table)])
    each = g.add("ReduceSum", [product, g.integers([-1])], keepdims=0)
    return reduced(g, each, x.tensor, MEAN if reduction is None else reduction)


@operator("binary_cross_entropy")
def write_binary_of_shares(g, node):
    """Cross-entropy of probabilities; PyTorch takes no logarithm below -100."""
    x, target, weight, reduction = (argument(node, i, name) for i, name in enumerate(["self", "target", "weight", "reduction"]))
    y, w = values(g, target, weight)
    one = torch.ones((), dtype=torch.float64)
    total = None
    for share, p in zip(shares_of(g, y, one if w is None else w, one), (g.of(x), None)):
        p = g.add("Sub", [g.scalar(1, x.tensor), g.of(x)]) if p is None else p
        log = g.add("Clamp", [g.add("Log", [p]), g.scalar(-100, x.tensor)], domain="clarke")
        product = g.add("Mul", [log, g.data("y", share.expand(x.tensor.shape).contiguous())])
        total = product if total is None else g.add("Add", [total, product])
    return reduced(g, total, x.tensor, MEAN if reduction is None else reduction)


@operator("log_sigmoid_forward")
def write_log_sigmoid(g, node):
    like = node.args[0].tensor
    first = g.add("Mul", [log_shares(g, node.args[0], like), g.constant(torch.tensor([1, 0], dtype=like.dtype))])
    return g.add("ReduceSum", [first, g.integers([-1])], keepdims=0)


# ---- Of differences


def difference(g, node):
    a, b = node.args[:2]
    if a.tensor.shape != b.tensor.shape:
        g.refuse("a target of another shape than the output's", "give it that shape by expand or reshape")
    return g.add("Sub", [g.of(a), g.of(b)])


@operator("mse_loss")
def write_squares(g, node):
    square = g.add("Pow", [difference(g, node), g.scalar(2, node.args[0].tensor)])
    return reduced(g, square, node.args[0].tensor, argument(node, 2, "reduction", MEAN))


@operator("huber_loss", "smooth_l1_loss")
def write_huber(g, node):
    """smooth_l1_loss is Huber's, divided by its beta."""
    like, smooth = node.args[0].tensor, node.name == "smooth_l1_loss"
    delta = float(argument(node, 3, "beta" if smooth else "delta", 1.0))
    if delta == 0:
        each = g.add("Abs", [difference(g, node)])
    else:
        each = g.add("Huber", [difference(g, node), g.scalar(delta, like)], domain="clarke")
        each = g.add("Div", [each, g.scalar(delta, like)]) if smooth and delta != 1 else each
    return reduced(g, each, like, argument(node, 2, "reduction", MEAN))


@operator("multi_margin_loss")
def write_margin(g, node):
    """The mean over classes but the label's of relu(margin - x[label] + x)^p."""
    x, target = node.args[:2]
    p, margin, weight = argument(node, 2, "p", 1), argument(node, 3, "margin", 1), argument(node, 4, "weight")
    labels, w = values(g, target, weight)
    if x.tensor.dim() != 2 or margin <= 0 or p not in (1, 2):
        g.refuse("not of outputs (batch, classes), with p 1 or 2 and a margin above 0", "give it such, or write it with relu and sum")
    classes = x.tensor.shape[1]
    place = torch.nn.functional.one_hot(labels, classes).to(torch.float64)
    own = g.add("ReduceSum", [g.add("Mul", [g.of(x), g.data("y", place)]), g.integers([1])], keepdims=1)
    above = g.add("Relu", [g.add("Add", [g.add("Sub", [g.of(x), own]), g.scalar(margin, x.tensor)])])
    above = g.add("Pow", [above, g.scalar(2, x.tensor)]) if p == 2 else above
    share = (1 - place) if w is None else exact(g, 1 - place, w[labels].unsqueeze(1))
    each = g.add("Div", [g.add("Mul", [above, g.data("y_others", share)]), g.scalar(classes, x.tensor)])
    reduction = argument(node, 5, "reduction", MEAN)
    each = g.add("ReduceSum", [each, g.integers([1])], keepdims=0)
    return reduced(g, each, x.tensor[:, 0], reduction)


@operator("multilabel_margin_loss_forward")
def write_margins(g, node):
    """The mean over classes of relu(1 - x[label] + x[other]), for all labels before the first -1, and all others."""
    x, like = node.args[0], node.args[0].tensor
    labels, = values(g, node.args[1])
    if not g.whole:
        raise Unbatched
    classes = like.shape[-1]
    rows = [row[:(row < 0).to(torch.uint8).argmax()] if bool((row < 0).any()) else row for row in labels.reshape(-1, classes)]
    pairs = [(n, n * classes + int(y), n * classes + i) for n, row in enumerate(rows) for y in row for i in sorted(set(range(classes)) - set(row.tolist()))]
    if not pairs:
        g.refuse("no label, or no class beside it", "leave such a batch out")
    flat = g.add("Reshape", [g.of(x), g.integers([like.numel()])])
    own, others = (g.add("Gather", [flat, g.data("places", torch.tensor([pair[i] for pair in pairs]))], axis=0) for i in (1, 2))
    above = g.add("Relu", [g.add("Add", [g.add("Sub", [others, own]), g.scalar(1, like)])])
    table = torch.zeros(len(pairs), len(rows), dtype=like.dtype)
    table[torch.arange(len(pairs)), torch.tensor([pair[0] for pair in pairs])] = 1
    each = g.add("MatMul", [g.add("Reshape", [above, g.integers([1, len(pairs)])]), g.data("samples", table)])
    each = g.add("Reshape", [g.add("Div", [each, g.scalar(classes, like)]), g.integers(like.shape[:-1])])
    return {0: reduced(g, each, like[..., 0], argument(node, 2, "reduction", MEAN))}


# ---- Sums, squares, masks


@operator("sum")
def write_sum(g, node):
    axes, keep = argument(node, 1, "dim"), argument(node, 2, "keepdim", False)
    if node.kwargs.get("dtype") not in (None, node.args[0].tensor.dtype):
        g.refuse("a sum in another type", "cast before it: x.to(dtype).sum()")
    places = [] if axes is None or len(axes) == 0 else [g.integers(axes)]
    return g.add("ReduceSum", [g.of(node.args[0])] + places, keepdims=int(keep))


@operator("pow", "square")
def write_power(g, node):
    exponent = node.args[1] if node.name.startswith("pow") else 2
    if isinstance(exponent, Value) or isinstance(node.args[0], (int, float)) or abs(exponent) not in (0.5, *range(1, 9)):
        return power_by_logarithm(g, node, exponent)
    return g.add("Pow", [g.of(node.args[0]), g.scalar(exponent, result(node))])


def power_by_logarithm(g, node, exponent):
    """exp(exponent * log(base)), where the base is above 0."""
    base, like = node.args[0], result(node)
    numbers = base.tensor.detach() if isinstance(base, Value) else torch.tensor(float(base))
    if not bool((numbers > 0).all()) or (not isinstance(exponent, Value) and exponent == 0):
        g.refuse("a power of what is not above 0, whose exponent is no whole number to 8, 1/2, or minus one of these",
                 "write it as a product, or take a base above 0")
    if not g.whole and any(isinstance(v, Value) and g.names.get(id(v)) not in g.active and v.tensor.dim() > 0 for v in (base, exponent)):
        raise Unbatched
    log = g.add("Log", [g.operand(base, like)])
    return g.add("Exp", [g.add("Mul", [log, g.operand(exponent, like)])])


@operator("soft_margin_loss")
def write_soft_margin(g, node):
    """log(1 + exp(-y x)), y being data."""
    x, like = node.args[0], result(node)
    signs, = values(g, node.args[1])
    if not g.whole:
        raise Unbatched
    name = g.add("Softplus", [g.add("Mul", [g.of(x), g.data("y", -signs.to(like.dtype))])])
    return reduced(g, name, like, argument(node, 2, "reduction", MEAN))


@operator("index")
def write_index(g, node):
    """Rows of a table, by one list of places. By several, or a mask: entries of all axes as one."""
    x, places = node.args[:2]
    wanted = [(axis, v) for axis, v in enumerate(places) if v is not None]
    if len(wanted) != 1 or wanted[0][1].tensor.dtype not in (torch.int32, torch.int64) or (wanted[0][1] is g.x and g.of(x) in g.active):
        return picked(g, node, [v for _, v in wanted], lambda grid: grid[tuple(slice(None) if v is None else v.tensor.cpu() for v in places)])
    return g.add("Gather", [g.of(x), g.of(wanted[0][1])], axis=wanted[0][0])


def picked(g, node, places, pick):
    """Entries of a tensor whose places are data; pick takes them of any."""
    x, shape = node.args[0], list(result(node).shape)
    for v in places:
        g.numbers(v)
    taken = pick(torch.arange(x.tensor.numel()).reshape(x.tensor.shape))
    flat = g.add("Reshape", [g.of(x), g.integers([x.tensor.numel()])])
    return g.add("Reshape", [g.add("Gather", [flat, g.data("places", taken.reshape(-1))], axis=0), g.integers(shape)])


@operator("take")
def write_take(g, node):
    places = node.args[1]
    return picked(g, node, [places], lambda grid: grid.take(places.tensor.cpu()))


@operator("gather")
def write_gather(g, node):
    axis, places = node.args[1:3]
    return picked(g, node, [places], lambda grid: grid.gather(axis, places.tensor.cpu()))


@operator("native_dropout")
def write_dropout(g, node):
    p, mask = float(node.args[1]), node.results[1].tensor.cpu()
    like = result(node)
    factor = torch.tensor(0.0 if p == 1 else 1 / (1 - p), dtype=torch.float64).to(like.dtype)
    return g.add("Mul", [g.of(node.args[0]), g.data("mask", mask.to(like.dtype) * factor)])
