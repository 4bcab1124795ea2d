"""ATen's operators that run several as one, as oneDNN and CUDA have them: attention, recurrent layers and cells, RMSNorm.

Each is written as the operators that it is made of (docs/run-format.md). What these give in between nobody has recorded.
"""
import math

import torch

from . import axes, masks
from .table import argument, operator, result
from ..refused import Unbatched
from ..tracing.dispatched import Value, trained

MATH = "run the step under torch.nn.attention.sdpa_kernel(SDPBackend.MATH): its operators can be, and are another program"

# ---- Attention: softmax(scale q k^T + mask) v

MASKS = {"_scaled_dot_product_efficient_attention": 3, "_scaled_dot_product_cudnn_attention": 3}  # at which place
DROPOUTS = {"_scaled_dot_product_efficient_attention": (5, 6), "_scaled_dot_product_cudnn_attention": (5, 6)}  # p, and whether it is causal


@operator("_scaled_dot_product_flash_attention", "_scaled_dot_product_flash_attention_for_cpu", *MASKS)
def write_attention(g, node):
    q, k, v = node.args[:3]
    p, causal = (argument(node, i, name, False) for i, name in zip(DROPOUTS.get(node.name, (3, 4)), ("dropout_p", "is_causal")))
    if p:
        g.refuse("dropout inside of it, whose mask nobody sees", f"set it to 0, or {MATH}")
    scale = node.kwargs.get("scale")
    turned = list(range(k.tensor.dim()))
    turned[-1], turned[-2] = turned[-2], turned[-1]
    scores = g.add("MatMul", [g.of(q), g.add("Transpose", [heads(g, k, q)], perm=turned)])
    scores = g.add("Mul", [scores, g.scalar(1 / math.sqrt(q.tensor.shape[-1]) if scale is None else scale, result(node))])
    mask = argument(node, MASKS[node.name], "attn_bias") if node.name in MASKS else node.kwargs.get("attn_mask")
    names, left = masks_of(g, mask, causal, q, k)
    for name in names:
        scores = g.add("Add", [scores, name])
    return g.add("MatMul", [masks.softmax(g, scores, -1, q.tensor.dim(), left), heads(g, v, q)])


def heads(g, value, q):
    """Keys or values that several heads share, repeated to as many heads as queries have."""
    count, wanted = value.tensor.shape[-3], q.tensor.shape[-3]
    if count == wanted:
        return g.of(value)
    places = torch.arange(wanted) // (wanted // count)
    return g.add("Gather", [g.of(value), g.constant(places)], axis=value.tensor.dim() - 3)


def masks_of(g, mask, causal, q, k):
    """What is added to the scores; and what is left of them, where samples have masks of their own."""
    least = float("-inf")
    size = q.tensor.shape[-2], k.tensor.shape[-2]
    hidden = torch.full(size, least, dtype=torch.float32).triu(1) if causal else None
    if not isinstance(mask, Value):
        return [] if hidden is None else [shown(g, hidden, size)], None
    if trained(mask) or bool(torch.isfinite(mask.tensor).all()):
        if not bool(torch.isfinite(mask.tensor).all()):
            g.refuse("a mask that is computed, and infinite", MATH)
        own = not g.whole and mask.tensor.dim() > 2 and mask.tensor.shape[0] != 1
        if own and trained(mask):
            raise Unbatched
        name = g.beside("mask", g.numbers(mask)) if own else g.of(mask)
        return [name] + ([] if hidden is None else [shown(g, hidden, size)]), None
    numbers = g.numbers(mask).cpu()
    while numbers.dim() > 2 and bool((numbers == numbers[:1]).all()):  # all alike: expanded
        numbers = numbers[0]
    numbers = numbers if hidden is None else numbers + hidden
    require_some(g, numbers, size)
    if not g.whole and numbers.dim() == q.tensor.dim():
        left, finite = masks.kept(g, numbers)
        return [finite], left
    return [g.constant(numbers)], None


def require_some(g, mask, size):
    """Each line leaves something."""
    if bool((torch.isnan(mask) | (mask == float("inf"))).any()):
        g.refuse("a mask that is no number, or infinite", MATH)
    if bool((mask == float("-inf")).all(-1).any()) and size[1] > 0:
        g.refuse("a softmax of which no entry is left", "leave one in each line of the mask, or leave the line out")


def shown(g, mask, size):
    """A mask of which each line leaves something."""
    require_some(g, mask, size)
    return g.constant(mask)


# ---- Recurrent networks

RELU, TANH, LSTM, GRU = range(4)  # PyTorch's numbers of modes
PROJECT = "take proj_size=0, or write the steps with an LSTMCell and a Linear"


def turned(g, name):
    return g.add("Transpose", [name], perm=[1, 0])


def gates(g, name, count, size):
    """The parts of the last of two axes."""
    return [g.add("Slice", [name] + [g.integers([n]) for n in (i * size, (i + 1) * size, 1)]) for i in range(count)]


def lstm_cell(g, total, cell, size):
    """The new state and cell, of the sum of both gates."""
    i, f, n, o = gates(g, total, 4, size)
    kept = g.add("Mul", [g.add("Sigmoid", [f]), cell])
    cell = g.add("Add", [kept, g.add("Mul", [g.add("Sigmoid", [i]), g.add("Tanh", [n])])])
    return g.add("Mul", [g.add("Sigmoid", [o]), g.add("Tanh", [cell])]), cell


def gru_cell(g, given, own, state, size):
    """n + z (h - n)"""
    (ri, zi, ni), (rh, zh, nh) = gates(g, given, 3, size), gates(g, own, 3, size)
    r, z = (g.add("Sigmoid", [g.add("Add", pair)]) for pair in ((ri, rh), (zi, zh)))
    n = g.add("Tanh", [g.add("Add", [ni, g.add("Mul", [r, nh])])])
    return g.add("Add", [n, g.add("Mul", [z, g.add("Sub", [state, n])])])


def biased(g, name, *biases):
    for bias in biases:
        name = name if bias is None else g.add("Add", [name, g.of(bias)])
    return name


@operator("_thnn_fused_lstm_cell")
def write_lstm_cell(g, node):
    given, own, cell = node.args[:3]
    total = biased(g, g.add("Add", [g.of(given), g.of(own)]), argument(node, 3, "input_bias"), argument(node, 4, "hidden_bias"))
    state, cell = lstm_cell(g, total, g.of(cell), cell.tensor.shape[-1])
    return {0: state, 1: cell}


@operator("_thnn_fused_gru_cell")
def write_gru_cell(g, node):
    given, own, state = node.args[:3]
    given, own = biased(g, g.of(given), argument(node, 3, "input_bias")), biased(g, g.of(own), argument(node, 4, "hidden_bias"))
    return gru_cell(g, given, own, g.of(state), state.tensor.shape[-1])


class Layer:
    """One layer in one direction, unrolled."""

    def __init__(self, g, mode, size, weights):
        if mode == RELU:
            g.refuse("its derivative at 0 is not seen", "write the steps with torch.relu")
        if len(weights) not in (2, 4):
            g.refuse("a projection of the state", PROJECT)
        self.g, self.mode, self.size = g, mode, size
        self.weights, self.biases = [turned(g, g.of(w)) for w in weights[:2]], [g.of(b) for b in weights[2:]] or [None, None]

    def product(self, which, name):
        made = self.g.add("MatMul", [name, self.weights[which]])
        return made if self.biases[which] is None else self.g.add("Add", [made, self.biases[which]])

    def step(self, given, state, cell):
        given, own = self.product(0, given), self.product(1, state)
        if self.mode == GRU:
            return gru_cell(self.g, given, own, state, self.size), cell
        total = self.g.add("Add", [given, own])
        return lstm_cell(self.g, total, cell, self.size) if self.mode == LSTM else (self.g.add("Tanh", [total]), cell)

    def run(self, inputs, state, cell, reverse):
        """The states, in the order of the inputs; the last state and cell."""
        states = {}
        for t in sorted(range(len(inputs)), reverse=reverse):
            state, cell = self.step(inputs[t], state, cell)
            states[t] = state
        return [states[t] for t in range(len(inputs))], state, cell


def entry(g, name, place, axis=0):
    return g.add("Gather", [name, g.constant(torch.tensor(place))], axis=axis)


def joined(g, names, axis):
    """Beside one another on a new axis."""
    parts = [g.add("Unsqueeze", [name, g.integers([axis])]) for name in names]
    return parts[0] if len(parts) == 1 else g.add("Concat", parts, axis=axis)


def require_padded(g, sizes):
    if sizes:
        g.refuse("a packed sequence in one operator", "pad it, or run the steps of each by themselves")


def apart(g, value):
    """A state before the first time, where samples are apart: each has its own, which is data."""
    if id(value) in g.names or value.requires_grad:
        raise Unbatched
    return g.numbers(value)


def begins(g, value, shape):
    return g.add("Reshape", [g.of(value), g.integers(shape)]) if g.whole else g.beside("state", apart(g, value).reshape(shape))


@operator("mkldnn_rnn_layer")
def write_layer(g, node):
    x, *weights = node.args[:5]
    hx, cx, reverse, sizes, mode, size, _, biases = node.args[5:13]
    require_padded(g, sizes)
    if not g.whole and (g.of(x) not in g.active or axes.at(g, x) != (1, 1)):
        raise Unbatched
    inputs = [entry(g, g.of(x), t) for t in range(x.tensor.shape[0])]
    state, cell = (begins(g, v, [x.tensor.shape[1], size]) for v in (hx, cx))
    states, state, cell = Layer(g, mode, size, weights if biases else weights[:2]).run(inputs, state, cell, reverse)
    found = {1: state, 2: cell}
    made = {i: g.add("Reshape", [found[i], g.integers(node.results[i].tensor.shape)]) for i in g.read_of(node) if i in found}
    return {0: joined(g, states, 0)} | made


@operator("_cudnn_rnn")
def write_cudnn(g, node):
    x, weights, each, _, hx, cx, mode, size, projected, layers, batch_first, dropout, train, both, sizes = node.args[:15]
    require_padded(g, sizes)
    if not g.whole and (g.of(x) not in g.active or axes.at(g, x) != (1 - int(batch_first), 1)):
        raise Unbatched
    if projected:
        g.refuse("a projection of the state", PROJECT)
    if dropout and train and layers > 1:
        g.refuse("dropout inside of it, whose mask nobody sees", "set it to 0, or put a Dropout between layers of their own")
    axis, ways = int(batch_first), 1 + bool(both)
    inputs, last = [entry(g, g.of(x), t, axis) for t in range(x.tensor.shape[axis])], []
    for layer in range(layers):
        found = []
        for way in range(ways):
            at = layer * ways + way
            state, cell = (None if v is None else entry(g, g.of(v), at) if g.whole else g.beside("state", apart(g, v)[at]) for v in (hx, cx))
            states, *ends = Layer(g, mode, size, weights[at * each:(at + 1) * each]).run(inputs, state, cell, bool(way))
            found.append(states)
            last.append(ends)
        inputs = [g.add("Concat", list(both), axis=1) if ways == 2 else both[0] for both in zip(*found)]
    made = {0: joined(g, inputs, axis)}
    return made | {i: joined(g, [ends[i - 1] for ends in last], 0) for i in g.read_of(node) if i in (1, 2)}


# ---- RMSNorm


@operator("_fused_rms_norm")
def write_rms_norm(g, node):
    """x (mean(x^2) + eps)^(-1/2) w"""
    x, shape, weight, eps = node.args[0], node.args[1], argument(node, 2, "weight"), argument(node, 3, "eps")
    like = result(node)
    if eps is None and like.dtype not in (torch.float32, torch.float64):
        g.refuse("without eps, which is another number for each type here", "name it")
    eps = torch.finfo(like.dtype).eps if eps is None else eps
    square = g.add("Pow", [g.of(x), g.scalar(2, like)])
    mean = g.add("ReduceMean", [square, g.integers(range(like.dim() - len(shape), like.dim()))], keepdims=1)
    by = g.add("Pow", [g.add("Add", [mean, g.scalar(eps, like)]), g.scalar(-0.5, like)])
    made = g.add("Mul", [g.of(x), by])
    return made if weight is None else g.add("Mul", [made, g.of(weight)])
