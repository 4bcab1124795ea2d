"""Stand-ins, on the CPU, for operators that PyTorch has for CUDA alone: they compute what those compute, with PyTorch's own schemas and
derivatives (native_functions.yaml, derivatives.yaml). What chooses them there chooses them here, while `chosen` says so.

What is recorded of them is a step on a CPU, and says so.
"""
import contextlib
import math
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import library
from torch.nn import functional as F

aten = torch.ops.aten
LIBRARY = library.Library("aten", "IMPL")
CHOSEN = {"attention": None, "wrong": 1.0}  # wrong: a factor on the derivatives of the stand-ins
LSTM, GRU, TANH = 2, 3, 1


@contextlib.contextmanager
def chosen(**what):
    before = dict(CHOSEN)
    CHOSEN.update(what)
    try:
        yield
    finally:
        CHOSEN.update(before)


def stand_in(name, key="CPU"):
    def note(f):
        LIBRARY.impl(name, f, key)
        return f
    return note


def derivatives(f, inputs, grads):
    """Those of f's results by the inputs; None where there is no input. Kernels run below autograd, and another thread above it."""
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(above, f, inputs, grads).result()


def above(f, inputs, grads):
    own = [None if t is None else t.detach().clone().requires_grad_(True) for t in inputs]
    pairs = [(o, g) for o, g in zip(f(*own), grads) if g is not None]
    asked = [t for t in own if t is not None]
    found = iter(torch.autograd.grad([o for o, _ in pairs], asked, [g for _, g in pairs], allow_unused=True))
    found = [None if t is None else next(found) for t in own]
    return [None if t is None else (torch.zeros_like(t) if g is None else g * CHOSEN["wrong"]) for t, g in zip(own, found)]


# ---- Normalizations


@stand_in("cudnn_batch_norm")
def cudnn_batch_norm(x, weight, bias, mean, variance, training, factor, eps):
    y, saved, inverse = aten.native_batch_norm(x, weight, bias, mean, variance, training, factor, eps)
    return y, saved, inverse, x.new_empty(0, dtype=torch.uint8)


@stand_in("cudnn_batch_norm_backward")
def cudnn_batch_norm_backward(x, grad, weight, mean, variance, saved, inverse, eps, reserve):
    dx, dw, db = aten.native_batch_norm_backward(grad, x, weight, mean, variance, saved, inverse, True, eps, [True, True, True])
    return dx * CHOSEN["wrong"], dw, db


@stand_in("batch_norm", "AutogradCPU")
def batch_norm(x, weight, bias, mean, variance, training, momentum, eps, cudnn_enabled):
    """As _batch_norm_impl_index: cuDNN where there are scales, and statistics or none in training."""
    if weight is not None and bias is not None and (mean is not None or training):
        return aten.cudnn_batch_norm(x.contiguous(), weight, bias, mean, variance, training, momentum, eps)[0]
    return aten.native_batch_norm(x, weight, bias, mean, variance, training, momentum, eps)[0]


def rms_norm(x, shape, weight, eps):
    axes = list(range(x.dim() - len(shape), x.dim()))
    rstd = (x.square().mean(axes, keepdim=True) + (torch.finfo(x.dtype).eps if eps is None else eps)).rsqrt()
    return x * rstd if weight is None else x * rstd * weight, rstd


@stand_in("_fused_rms_norm")
def fused_rms_norm(x, shape, weight=None, eps=None):
    return rms_norm(x, shape, weight, eps)


@stand_in("_fused_rms_norm_backward")
def fused_rms_norm_backward(grad, x, shape, rstd, weight, mask):
    axes, behind = list(range(x.dim() - len(shape), x.dim())), grad if weight is None else grad * weight
    dx = rstd * (behind - x * rstd.square() * (behind * x).mean(axes, keepdim=True))
    return dx * CHOSEN["wrong"], None if weight is None else (grad * x * rstd).reshape(-1, *shape).sum(0)


# ---- Dropout


@stand_in("dropout", "AutogradCPU")
def dropout(x, p, train):
    return aten.native_dropout(x, p, train)[0] if p > 0 and train else x


# ---- Attention


def attend(q, k, v, bias, causal, scale):
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    scores = q @ k.transpose(-1, -2) * scale
    scores = scores if bias is None else scores + bias
    if causal:
        scores = scores + torch.full(scores.shape[-2:], float("-inf")).triu(1)
    return scores.softmax(-1) @ v, scores.logsumexp(-1)


def attention_backward(grad, q, k, v, bias, causal, scale):
    """By q, k, v and the bias."""
    return derivatives(lambda q, k, v, b: attend(q, k, v, b, causal, scale)[:1], [q, k, v, bias], [grad])


def seeds(q):
    return torch.zeros(2, dtype=torch.uint64), torch.zeros((), dtype=torch.uint64)


@stand_in("_scaled_dot_product_flash_attention")
def flash(q, k, v, dropout_p=0.0, is_causal=False, return_debug_mask=False, *, scale=None):
    y, logs = attend(q, k, v, None, is_causal, scale)
    return y, logs, torch.empty(0), torch.empty(0), q.shape[2], k.shape[2], *seeds(q), torch.empty(0)


@stand_in("_scaled_dot_product_flash_attention_backward")
def flash_backward(grad, q, k, v, out, logs, cum_q, cum_k, max_q, max_k, p, causal, seed, offset, *, scale=None):
    return tuple(attention_backward(grad, q, k, v, None, causal, scale)[:3])


@stand_in("_scaled_dot_product_efficient_attention")
def efficient(q, k, v, bias, compute, dropout_p=0.0, is_causal=False, *, scale=None):
    return *attend(q, k, v, bias, is_causal, scale), *seeds(q)


@stand_in("_scaled_dot_product_efficient_attention_backward")
def efficient_backward(grad, q, k, v, bias, out, logs, seed, offset, p, mask, causal=False, *, scale=None):
    found = attention_backward(grad, q, k, v, bias, causal, scale)
    return *found[:3], found[3] if mask[3] and bias is not None else q.new_empty(0)


@stand_in("_scaled_dot_product_cudnn_attention")
def cudnn_attention(q, k, v, bias, compute, dropout_p=0.0, is_causal=False, return_debug_mask=False, *, scale=None):
    return *attend(q, k, v, bias, is_causal, scale), torch.empty(0), torch.empty(0), q.shape[2], k.shape[2], *seeds(q), torch.empty(0)


@stand_in("_scaled_dot_product_cudnn_attention_backward")
def cudnn_attention_backward(grad, q, k, v, out, logs, seed, offset, bias, cum_q, cum_k, max_q, max_k, p, causal, *, scale=None):
    return tuple(attention_backward(grad, q, k, v, bias, causal, scale)[:3])


@stand_in("scaled_dot_product_attention", "AutogradCPU")
def scaled_dot_product_attention(q, k, v, mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False):
    """As PyTorch's sdp_utils: flash pads heads to a multiple of 8, the two others expand a mask to all heads."""
    kind, size = CHOSEN["attention"], q.shape[-1]
    scale = 1 / math.sqrt(size) if scale is None else scale
    if mask is not None and mask.dtype == torch.bool:
        mask = torch.where(mask, 0.0, float("-inf"))
    if kind == "flash":
        q, k, v = (F.pad(t, [0, -size % 8]) if size % 8 else t for t in (q, k, v))
        y = aten._scaled_dot_product_flash_attention(q, k, v, dropout_p, is_causal, False, scale=scale)[0]
        return y[..., :size] if size % 8 else y
    mask = None if mask is None else mask.expand(*q.shape[:-1], k.shape[-2])
    if kind == "efficient":
        return aten._scaled_dot_product_efficient_attention(q, k, v, mask, True, dropout_p, is_causal, scale=scale)[0]
    return aten._scaled_dot_product_cudnn_attention(q, k, v, mask, True, dropout_p, is_causal, False, scale=scale)[0]


# ---- Recurrent networks


def cell(mode, given, own, state, memory):
    if mode == TANH:
        return (given + own).tanh(), memory
    if mode == GRU:
        (ri, zi, ni), (rh, zh, nh) = given.chunk(3, -1), own.chunk(3, -1)
        z, n = (zi + zh).sigmoid(), (ni + (ri + rh).sigmoid() * nh).tanh()
        return (1 - z) * n + z * state, memory
    i, f, g, o = (given + own).chunk(4, -1)
    memory = f.sigmoid() * memory + i.sigmoid() * g.tanh()
    return o.sigmoid() * memory.tanh(), memory


def unrolled(x, hx, cx, weights, each, mode, layers, batch_first, both):
    steps, ways, ends = list(x.unbind(int(batch_first))), 1 + both, []
    for layer in range(layers):
        found = []
        for way in range(ways):
            at = layer * ways + way
            w_in, w_own, *biases = weights[at * each:(at + 1) * each]
            b_in, b_own = biases or (None, None)
            state, memory, states = hx[at], None if cx is None else cx[at], []
            for t in reversed(steps) if way else steps:
                state, memory = cell(mode, F.linear(t, w_in, b_in), F.linear(state, w_own, b_own), state, memory)
                states.append(state)
            found.append(states[::-1] if way else states)
            ends.append((state, memory))
        steps = [torch.cat(pair, -1) for pair in zip(*found)]
    hy = torch.stack([state for state, _ in ends])
    return torch.stack(steps, int(batch_first)), hy, None if cx is None else torch.stack([memory for _, memory in ends])


@stand_in("_cudnn_rnn")
def cudnn_rnn(x, weight, each, buffer, hx, cx, mode, size, projected, layers, batch_first, p, train, both, sizes, state):
    y, hy, cy = unrolled(x, hx, cx, weight, each, mode, layers, batch_first, both)
    return y, hy, x.new_empty(0) if cy is None else cy, x.new_empty(0), buffer if buffer is not None else x.new_empty(0)


@stand_in("_cudnn_rnn_backward")
def cudnn_rnn_backward(x, weight, each, buffer, hx, cx, out, grad_y, grad_h, grad_c, mode, size, projected, layers, batch_first, p, train, both, sizes,
                       state, reserve, mask):
    def f(x, hx, cx, *weight):
        return unrolled(x, hx, cx, weight, each, mode, layers, batch_first, both)
    dx, dh, dc, *dw = derivatives(f, [x, hx, cx, *weight], [grad_y, grad_h, grad_c])
    return dx, dh, dc if dc is not None else x.new_empty(0), dw


def flat(params):
    """The buffer that all weights lie in, as cuDNN wants it; None: they do not."""
    storage = params[0].untyped_storage()
    if any(p.untyped_storage().data_ptr() != storage.data_ptr() for p in params) or len(params) == 1:
        return None
    return torch.empty(0).set_(storage, 0, (storage.nbytes() // 4,), (1,))


def recurrent(mode):
    def run(x, hidden, params, has_biases, layers, p, train, both, batch_first):
        """As _cudnn_impl."""
        hx, cx = hidden if mode == LSTM else (hidden, None)
        y, hy, cy, _, _ = aten._cudnn_rnn(x, params, 4 if has_biases else 2, flat(params), hx, cx, mode, hx.shape[2], 0, layers, batch_first, p, train, both,
                                          [], None)
        return (y, hy, cy) if mode == LSTM else (y, hy)
    return run


for name, kind in (("lstm.input", LSTM), ("gru.input", GRU), ("rnn_tanh.input", TANH)):
    LIBRARY.impl(name, recurrent(kind), "AutogradCPU")


def with_biases(mode):
    def f(given, own, state, b_in, b_own):
        given, own = given if b_in is None else given + b_in, own if b_own is None else own + b_own
        return cell(mode, given, own, state, state)
    return f


@stand_in("_thnn_fused_lstm_cell")
def lstm_cell_kernel(given, own, cx, b_in=None, b_own=None):
    hy, cy = with_biases(LSTM)(given, own, cx, b_in, b_own)
    total = given + own if b_in is None else given + own + b_in + b_own
    return hy, cy, total


@stand_in("_thnn_fused_lstm_cell_backward_impl")
def lstm_cell_backward(grad_h, grad_c, cx, cy, total, has_bias):
    gates, dc = derivatives(lambda t, c: cell(LSTM, t, 0, None, c), [total, cx], [grad_h, grad_c])
    return gates, dc, gates.sum(0) if has_bias else gates.new_empty(0)


@stand_in("_thnn_fused_gru_cell")
def gru_cell_kernel(given, own, hx, b_in=None, b_own=None):
    given, own = (given, own) if b_in is None else (given + b_in, own + b_own)
    return cell(GRU, given, own, hx, None)[0], torch.cat([given, own, hx], 1)


@stand_in("_thnn_fused_gru_cell_backward")
def gru_cell_backward(grad, held, has_bias):
    size = held.shape[1] // 7
    given, own, hx = held.split([3 * size, 3 * size, size], 1)
    d_in, d_own, dh = derivatives(lambda a, b, h: cell(GRU, a, b, h, None)[:1], [given, own, hx], [grad])
    none = held.new_empty(0)
    return d_in, d_own, dh, d_in.sum(0) if has_bias else none, d_own.sum(0) if has_bias else none


@stand_in("lstm_cell", "AutogradCPU")
def lstm_cell(x, hidden, w_in, w_own, b_in=None, b_own=None):
    return aten._thnn_fused_lstm_cell(x @ w_in.t(), hidden[0] @ w_own.t(), hidden[1], b_in, b_own)[:2]


@stand_in("gru_cell", "AutogradCPU")
def gru_cell(x, hx, w_in, w_own, b_in=None, b_own=None):
    return aten._thnn_fused_gru_cell(x @ w_in.t(), hx @ w_own.t(), hx, b_in, b_own)[0]
