#!/usr/bin/env python3
"""Operators of PyTorch, each in a step that is recorded: AD's gradient is explained, no node refuted, the proof verified.

    records_operators.py CLARKE CLARKE-CHECK [NAME...]

And what is refused says where, and what to do.
"""
import json
import os
import subprocess
import sys
import tempfile

import torch
from torch import nn
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "python"))
CLARKE, CHECK = (os.path.abspath(p) for p in sys.argv[1:3])
os.environ["CLARKE"] = CLARKE
sys.path.append(os.path.dirname(HERE))
import clarke  # noqa: E402
from draw import ONE_IN  # noqa: E402

MASK = torch.arange(30).reshape(6, 5) % 3 == 0
SQUARE = torch.ones(5, 5).tril().bool()
OTHER = torch.linspace(-1, 2, 30).reshape(6, 5)
PLACES = (torch.arange(30).reshape(6, 5) * 7) % 4
GRID = 1.2 * torch.linspace(-9, 9, 180).reshape(6, 3, 5, 2).sin()


def cube(h):
    """Six samples, of an axis more."""
    return h.reshape(6, 5, 1) * torch.linspace(0.5, 2, 4)


def image(h):
    """Six images of 4 x 4, two planes each."""
    return h[:, :4].reshape(6, 2, 2, 1) * torch.linspace(-1, 2, 4) + h[:, 4].reshape(6, 1, 1, 1) * torch.linspace(1, 2, 8).reshape(2, 1, 4).repeat(1, 2, 1)


def solid(h):
    """The same with an axis of three."""
    return image(h).unsqueeze(2) * torch.tensor([0.5, -1, 2]).reshape(3, 1, 1)


def normed(h):
    """A computed weight, as weight_norm has it."""
    return torch._weight_norm(cube(h), h[:, :1].reshape(6, 1, 1) + 2, 0)


def square(h):
    """A matrix that can be inverted."""
    return h[:5] @ h.t()[:, :5] + 3 * torch.eye(5)


def in_parts(*tensors):
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        return F.scaled_dot_product_attention(*tensors, is_causal=True)


LEAST = float("-inf")


def put_in_parts(h):
    out = torch.zeros(6, 5)
    out[:, 0] = h[:, 1]
    out[:, 1:3] = h[:, 3:]
    return out * h


def put_alone(h):
    out = torch.zeros(6, 5)
    out[:, 0] = h[:, 1]
    return out


def column(h, number):
    g = 2 * h
    g[:, 0] = number
    return g.relu()


def part_multiplied(h):
    g = 2 * h
    g[:, 1:3].mul_(3).tanh_()
    return g + h


def put_twice(h):
    g = 2 * h
    g[0, 0] += h[1, 1]
    g[g.detach() > 0.3] = 0.5
    return g * h


def without_itself(h):
    s = h @ h.t()
    s.fill_diagonal_(LEAST)
    return s.softmax(1)


def view_of_changed(h):
    g = 2 * h
    v = g.t()
    g[0] = 1.5
    return v.tanh()


def changed_unseen(h):
    g = 2 * h
    g.detach()[:, 0] = 0
    return g.relu()


def changed_without_gradients(h):
    g = 2 * h
    with torch.no_grad():
        g[:, 0] = 0
    return g.relu()


def copied_unseen(h):
    g = 2 * h
    g.detach()[:, 0].copy_(h[:, 1])
    return g.relu()


def pairs(h):
    """Products of an axis with itself, as attention has them."""
    return h.unsqueeze(2) * h.unsqueeze(1)


def attend(h):
    """Two heads, with a causal mask and one of padding."""
    return ATTENTION(h[..., :4], h[..., :4], h[..., :4], attn_mask=~SQUARE, key_padding_mask=torch.arange(5).expand(6, 5) > 3)[0]


torch.manual_seed(1)
ATTENTION = nn.MultiheadAttention(4, 2, batch_first=True).requires_grad_(False)

# What a layer's output (6, 5) becomes; the loss is the mean of squares.
RIGHT = {
    "var": lambda h: h.var(1), "var-all": lambda h: h.var(), "var-biased": lambda h: h.var(1, unbiased=False, keepdim=True) * h,
    "var-correction": lambda h: torch.var(h, dim=0, correction=2), "std": lambda h: h.std(1), "std-dims": lambda h: cube(h).std((1, 2)),
    "var-mean": lambda h: sum(torch.var_mean(h, dim=1)), "std-mean": lambda h: torch.std_mean(h, dim=1)[0],
    "standardized": lambda h: (h - h.mean(1, keepdim=True)) / (h.std(1, keepdim=True) + 1e-3),
    "logsumexp": lambda h: h.logsumexp(1), "logsumexp-kept": lambda h: h - h.logsumexp(1, keepdim=True), "logsumexp-first": lambda h: h.logsumexp(0),
    "max-dim": lambda h: h.max(1).values, "max-kept": lambda h: h - h.max(1, keepdim=True)[0], "max-relu": lambda h: h.relu().max(1)[0],
    "min-dim": lambda h: h.min(1)[0], "max-middle": lambda h: cube(h).max(1)[0], "max-wide": lambda h: (h.repeat(1, 40) * torch.linspace(1, 2, 200)).max(1)[0], "max-first": lambda h: h.max(0)[0],
    "amax": lambda h: h.amax(1), "amin": lambda h: h.amin((0, 1)), "amax-dims": lambda h: cube(h).amax((1, 2), keepdim=True), "max": lambda h: h.max(),
    "sort": lambda h: h.sort(1)[0], "sort-down": lambda h: cube(h).sort(dim=1, descending=True).values, "sort-first": lambda h: h.sort(0)[0],
    "sort-stable": lambda h: h.relu().sort(stable=True)[0], "sort-stable-down": lambda h: cube(h).relu().sort(dim=-2, descending=True, stable=True)[0],
    "sort-equal": lambda h: (0 * h).sort(stable=True, descending=True)[0] * OTHER, "topk": lambda h: h.topk(2).values,
    "topk-least": lambda h: cube(h).topk(3, dim=1, largest=False)[0], "topk-one": lambda h: h - h.topk(1, 1)[0], "msort": lambda h: torch.msort(h),
    "norm": lambda h: h.norm(dim=1), "norm-1": lambda h: torch.linalg.vector_norm(h, 1, dim=1), "norm-all": lambda h: h.norm(),
    "cosine-similarity": lambda h: F.cosine_similarity(h, OTHER, dim=1), "normalize": lambda h: F.normalize(h, dim=1) * OTHER,
    "einsum-product": lambda h: torch.einsum("bi,ij->bj", h, OTHER[:5]), "einsum-outer": lambda h: torch.einsum("bi,bj->bij", h, h),
    "einsum-inner": lambda h: torch.einsum("bi,bi->b", h, OTHER), "einsum-batched": lambda h: torch.einsum("bij,bkj->bik", cube(h), cube(h)),
    "einsum-trace": lambda h: torch.einsum("bij->bi", cube(h)),
    "where": lambda h: torch.where(MASK, h, OTHER), "where-number": lambda h: torch.where(MASK, h, 0.5), "where-both": lambda h: torch.where(MASK, h, h.tanh()),
    "where-zero": lambda h: torch.where(MASK, 0.0, h), "masked-fill": lambda h: h.masked_fill(MASK, -3.0), "masked-zero": lambda h: h.masked_fill(MASK, 0),
    "causal": lambda h: (h.unsqueeze(2) * h.unsqueeze(1)).masked_fill(~SQUARE, -1e4).softmax(-1),
    "baddbmm": lambda h: torch.baddbmm(cube(h), cube(h), torch.ones(6, 4, 4), beta=0.5, alpha=2), "bmm": lambda h: cube(h).bmm(cube(h).mT),
    "addmm": lambda h: torch.addmm(OTHER[:, :3], h, OTHER[:5, :3], beta=2, alpha=0.5), "addmv": lambda h: torch.addmv(OTHER[:, 0], h, OTHER[0]),
    "addcdiv": lambda h: torch.addcdiv(h, h, OTHER.exp(), value=0.5), "addcmul": lambda h: torch.addcmul(h, h, OTHER, value=2),
    "clamp-min": lambda h: h.clamp_min(0.1), "clamp-max": lambda h: h.clamp_max(0.1),
    "expand": lambda h: h.unsqueeze(1).expand(6, 3, 5) * torch.ones(3, 5), "repeat": lambda h: h.repeat(1, 2), "repeat-axes": lambda h: h.repeat(2, 1, 3),
    "repeat-interleave": lambda h: h.repeat_interleave(2, dim=1), "tile": lambda h: torch.tile(h, (1, 2)), "flip": lambda h: h.flip(1) * h,
    "flip-both": lambda h: h.flip((0, 1)) * OTHER, "cumsum": lambda h: h.cumsum(1), "cumsum-first": lambda h: h.cumsum(0),
    "cumsum-middle": lambda h: cube(h).cumsum(1), "index-select": lambda h: h.index_select(1, torch.tensor([4, 0, 0])),
    "tril": lambda h: (h.unsqueeze(2) * h.unsqueeze(1)).tril(), "triu": lambda h: (h.unsqueeze(2) * h.unsqueeze(1)).triu(1), "glu": lambda h: F.glu(h.repeat(1, 2)[:, :8]),
    "pixel-shuffle": lambda h: F.pixel_shuffle(cube(h)[:, :4].reshape(6, 4, 2, 2), 2), "softplus": F.softplus, "mish": F.mish, "dot": lambda h: torch.dot(h[:, 0], h[:, 1]),
    "outer": lambda h: torch.outer(h[:, 0], h[0]), "softsign": F.softsign, "tanhshrink": F.tanhshrink, "swapped": lambda h: cube(h).swapaxes(1, 2).relu(),
    "conv-computed": lambda h: F.conv1d(h.unsqueeze(1), h[:2, :3].reshape(2, 1, 3), stride=2, padding=1),
    "conv-computed-groups": lambda h: F.conv2d(cube(h).unsqueeze(0), cube(h)[:4, :3].reshape(4, 3, 2, 2), h[0, :4], 2, (2, 1), (1, 2), 2).relu(),
    "conv-standardized": lambda h: F.conv1d(OTHER.unsqueeze(1), F.batch_norm(h[:, :3].reshape(1, 6, 3), None, None, training=True).view(6, 1, 3)),
    "batch-norm-scaled": lambda h: F.batch_norm(h, None, None, weight=h[0], bias=h[1], training=True),
    "attention": lambda h: F.scaled_dot_product_attention(cube(h), cube(h), cube(h), is_causal=False),
    "attention-in-parts": lambda h: in_parts(cube(h), cube(h.tanh()), cube(h)),
    "attention-causal": lambda h: F.scaled_dot_product_attention(cube(h), cube(h), cube(h), attn_mask=torch.zeros(5, 5)),
    "reflect": lambda h: F.pad(cube(h), (1, 2), mode="reflect"), "reflect-2d": lambda h: F.pad(image(h), (1, 2, 0, 1), mode="reflect"),
    "replicate": lambda h: F.pad(image(h), (0, 3, 1, 0), mode="replicate"), "replicate-3d": lambda h: F.pad(solid(h), (1, 0, 1, 0, 2, 1), mode="replicate"),
    "border-nothing": lambda h: F.pad(cube(h), (0, 0), mode="reflect"), "border-one": lambda h: F.pad(h, (1, 2), value=0.5),
    "border-samples": lambda h: F.pad(h, (0, 0, 1, 0), value=-2.0), "channel-shuffle": lambda h: F.channel_shuffle(cube(h).repeat(1, 2, 1), 2),
    "unfold": lambda h: F.unfold(image(h), 2), "unfold-all": lambda h: F.unfold(image(h), (2, 1), dilation=(1, 2), padding=(1, 0), stride=(2, 1)),
    "adaptive-max": lambda h: F.adaptive_max_pool2d(image(h), 2)[0], "adaptive-max-1d": lambda h: F.adaptive_max_pool1d(cube(h).relu(), 1),
    "adaptive-max-3d": lambda h: F.adaptive_max_pool3d(solid(h), (1, 1, 2)), "max-3d": lambda h: F.max_pool3d(solid(h).relu(), 2, stride=1, padding=1),
    "max-3d-over": lambda h: F.max_pool3d(solid(h), (2, 2, 3), stride=(2, 2, 1), ceil_mode=True), "average-3d": lambda h: F.avg_pool3d(solid(h), 2, padding=1),
    "average-3d-own": lambda h: F.avg_pool3d(solid(h), (1, 2, 3), stride=2, padding=(0, 1, 1), count_include_pad=False, ceil_mode=True),
    "vdot": lambda h: h * torch.vdot(h.flatten(), OTHER.flatten()), "weight-norm": normed,
    "weight-norm-last": lambda h: torch._weight_norm(cube(h), h[:1, :4].reshape(1, 1, 4) + 2, 2),
    "masked": lambda h: pairs(h).masked_fill(~SQUARE, LEAST).softmax(-1), "masked-where": lambda h: torch.where(SQUARE, pairs(h), LEAST).softmax(-1) * h[:, :1, None],
    "masked-added": lambda h: (100 * pairs(h) + torch.where(SQUARE, 0.5, LEAST)).softmax(-1), "masked-first": lambda h: torch.where(MASK, h, LEAST).softmax(0),
    "masked-baddbmm": lambda h: torch.baddbmm(torch.where(SQUARE, 0.0, LEAST), pairs(h), pairs(h.tanh())).softmax(-1),
    "attention-infinite": lambda h: F.scaled_dot_product_attention(pairs(h), pairs(h), pairs(h), is_causal=True),
    "attention-masked": lambda h: F.scaled_dot_product_attention(pairs(h), pairs(h.tanh()), pairs(h), attn_mask=SQUARE, dropout_p=0.3),
    "attention-module": lambda h: attend(pairs(h)),
    "maximum": lambda h: torch.maximum(h, h.tanh()), "minimum": lambda h: torch.min(h, h.exp() * 0.1 + OTHER), "maximum-number": lambda h: torch.maximum(h, torch.tensor(0.1)),
    "minimum-row": lambda h: torch.minimum(h, OTHER[0] + 0.01), "minimum-column": lambda h: torch.minimum(OTHER[:, :1], h), "maximum-outer": lambda h: torch.maximum(h[:, :1], h[:, 1:]),
    "gather": lambda h: h.gather(1, MASK.long()), "gather-first": lambda h: cube(h).gather(0, torch.arange(16).reshape(2, 2, 4) % 6),
    "index-two": lambda h: h[torch.arange(6), torch.arange(6) % 5], "index-apart": lambda h: cube(h)[torch.arange(6), :, torch.arange(6) % 4],
    "index-mask": lambda h: h[MASK], "index-rows": lambda h: cube(h)[MASK[:, 0]], "index-none": lambda h: cube(h)[:, MASK[0]] * h.mean(),
    "index-add": lambda h: h.index_add(0, torch.arange(4) % 3, h[1:5].tanh()), "index-add-zeros": lambda h: torch.zeros(4, 5, 4).index_add(0, torch.arange(6) % 4, cube(h)),
    "index-add-columns": lambda h: h.index_add(1, torch.tensor([4, 0, 4]), h[:, 2:] * OTHER[:, :3], alpha=0.5), "index-add-middle": lambda h: cube(h).index_add(1, torch.tensor([1, 1]), cube(h)[:, :2].tanh()),
    "scatter-add": lambda h: torch.zeros(4, 5).scatter_add(0, (torch.arange(30).reshape(6, 5) * 7) % 4, h), "scatter-add-columns": lambda h: h.scatter_add(1, torch.arange(12).reshape(4, 3) % 2, h[:4, 1:4].tanh()),
    "scatter-add-middle": lambda h: cube(h).scatter_add(1, torch.arange(48).reshape(4, 3, 4) % 5, cube(h)[:4, :3].tanh()),
    "scatter-sum": lambda h: torch.zeros(6, 2).scatter_reduce(1, torch.arange(30).reshape(6, 5) % 2, h, "sum"), "scatter": lambda h: h.scatter(1, torch.tensor([[4], [0], [1]]), h.tanh()[:3, :1]),
    "scatter-number": lambda h: h.scatter(1, torch.tensor([[4], [0], [1]]), 0.5), "scatter-changed": lambda h: (2 * h).scatter_add_(1, torch.tensor([[4, 4], [0, 1]]), h[:2, :2]),
    "index-put": lambda h: h.index_put((torch.arange(3), torch.tensor([4, 0, 4])), h.tanh()[0, :3]), "index-put-one": lambda h: h.index_put((MASK,), h.mean()),
    "index-put-adds": lambda h: h.index_put((torch.tensor([1, 1, 5]),), h.tanh()[:3], accumulate=True), "index-put-changed": lambda h: (2 * h).index_put_((torch.tensor([2, 0]),), h.tanh()[:2]),
    "index-put-column": lambda h: cube(h).index_put((torch.tensor([[0], [3]]), torch.tensor([1, 2])), cube(h)[:2, :2].tanh()),
    "put-in-parts": put_in_parts, "put-zero": lambda h: column(h, 0), "put-number": lambda h: column(h, 0.5), "put-column": lambda h: column(h, h[:, 1]), "put-one": lambda h: column(h, h[1, 1]),
    "part-multiplied": part_multiplied, "put-twice": put_twice, "without-itself": without_itself,
    "maximum-equal": lambda h: torch.maximum(h, h.clone()) + h, "minimum-equal": lambda h: torch.minimum(h.relu(), torch.zeros(5)), "min-clipped": lambda h: torch.min(h * OTHER, h.clamp(-1, 1) * OTHER),
    "max-all-equal": lambda h: h.clamp(max=-100).amax(1) + h.sum(1), "amax-some-equal": lambda h: h.relu().amax(1), "amin-some-equal": lambda h: (-cube(h).relu()).amin((1, 2)), "max-of-equal": lambda h: h.relu().min() + h,
    "max-other": lambda h: h.max(other=h.relu()),
    "where-compared": lambda h: torch.where(h > 0, h, 0.1 * h), "where-compared-both": lambda h: (h > h.mean()) * h, "mask-of-data": lambda h: h * (OTHER > 0), "masked-by-data": lambda h: h[OTHER > 0.5].relu(),
    "topk-equal": lambda h: (0 * h).topk(5).values * OTHER, "topk-some-equal": lambda h: h.relu().topk(3)[0], "sort-unstable": lambda h: h.relu().repeat(1, 5).sort(1)[0], "sort-equal-first": lambda h: cube(h).relu().sort(0, descending=True)[0],
    "median": lambda h: h.median(1).values, "median-equal": lambda h: h.relu().median(1)[0], "median-all-equal": lambda h: (0 * h).median(0, keepdim=True)[0] + h, "median-even": lambda h: cube(h).median(-1).values,
    "topk-places": lambda h: h.gather(1, h.topk(2).indices), "index-of-largest": lambda h: h[h.argmax(1)],
    "expm1": torch.expm1, "expm1-far": lambda h: torch.expm1(8 * h - 8), "expm1-large": lambda h: torch.expm1(2 * h + 20), "expm1-zero": lambda h: torch.expm1(h.relu()),
    "softplus-beta": lambda h: F.softplus(h, beta=2), "softplus-threshold": lambda h: F.softplus(h, 3, 0.7), "softplus-negative": lambda h: F.softplus(h, -2, 0.5),
    "threshold": lambda h: F.threshold(h, 0.25, -1.5), "threshold-in-place": lambda h: F.threshold(2 * h, 0.25, 0.5, inplace=True), "threshold-none": lambda h: F.threshold(h, 100, 3) + h,
    "threshold-kink": lambda h: F.threshold(h.clamp(max=0.1), 0.1, 0.1) + h, "threshold-kink-zero": lambda h: F.threshold(h.relu(), 0.0, 0.0) + h, "threshold-kink-in-place": lambda h: F.threshold(h.clamp(max=0.25), 0.25, 0.25, inplace=True) + h,
    "threshold-branch": lambda h: h if F.threshold(h, 0.1, 0).sum() > 0 else 2 * h, "softplus-branch": lambda h: h if F.softplus(h).sum() > 0 else 2 * h,
    "pow": lambda h: h.exp() ** h, "pow-by-data": lambda h: h.exp() ** OTHER, "pow-of-data": lambda h: OTHER.exp() ** h, "pow-of-number": lambda h: 2 ** h, "pow-part": lambda h: (h * h + 1) ** 0.75,
    "local-response-norm": lambda h: F.local_response_norm(cube(h), 3),
    "prod": lambda h: h.prod(), "prod-dim": lambda h: h.prod(1, keepdim=True) * h, "prod-first": lambda h: h.prod(0), "prod-middle": lambda h: cube(h).prod(1), "prod-some-zero": lambda h: h.relu().prod(1) + h.sum(1),
    "prod-one-zero": lambda h: (h * (torch.arange(5) != 2)).prod(1), "prod-two-zero": lambda h: (h * (torch.arange(5) > 1)).prod(1) + h[:, 0], "prod-all-one-zero": lambda h: (h * (torch.arange(30).reshape(6, 5) != 2)).prod(),
    "cumprod": lambda h: h.cumprod(1), "cumprod-first": lambda h: h.cumprod(0), "cumprod-middle": lambda h: cube(h).cumprod(-2), "cumprod-vector": lambda h: h.flatten().cumprod(0),
    "cumprod-one-zero": lambda h: (h * (torch.arange(5) != 2)).cumprod(1), "cumprod-some-zero": lambda h: (h * (torch.arange(5) % 2)).cumprod(1), "cumprod-all-zero": lambda h: (0 * h).cumprod(1) + h,
    "cummax": lambda h: h.cummax(1)[0], "cummin": lambda h: cube(h).cummin(1).values, "cummax-first": lambda h: h.cummax(0)[0], "cummax-some-equal": lambda h: h.relu().cummax(1)[0], "cummin-some-equal": lambda h: cube(h).relu().cummin(-1)[0],
    "cummax-all-equal": lambda h: (0 * h).cummax(1)[0] * OTHER, "cummin-all-equal": lambda h: (0 * h).cummin(0)[0] * OTHER + h,
    "prelu-computed": lambda h: F.prelu(h, h[0, :1] * h[1, :1]), "prelu-of-squares": lambda h: F.prelu(h.relu() - h.relu().flip(1), h.square().mean(0)),
    "median-of-all": lambda h: h.median(), "median-of-all-odd": lambda h: h[:5].nanmedian() * h, "median-of-all-some-equal": lambda h: h.clamp(-0.2, 0.3).median() * OTHER + h, "median-of-all-equal": lambda h: (0 * h).median() + h,
    "scatter-mean": lambda h: h.scatter_reduce(0, PLACES, h.tanh(), "mean"), "scatter-mean-without": lambda h: h.scatter_reduce(0, PLACES, h.tanh(), "mean", include_self=False),
    "scatter-mean-zeros": lambda h: torch.zeros(4, 5).scatter_reduce(0, PLACES, h, "mean", include_self=False), "scatter-sum-without": lambda h: h.scatter_reduce(0, PLACES, h.tanh(), "sum", include_self=False),
    "scatter-largest": lambda h: h.scatter_reduce(0, PLACES, 2 * h.tanh(), "amax"), "scatter-least": lambda h: h.scatter_reduce(1, PLACES, h.tanh(), "amin"), "scatter-largest-without": lambda h: h.scatter_reduce(0, PLACES, h.tanh(), "amax", include_self=False),
    "scatter-largest-equal": lambda h: torch.zeros(4, 5).scatter_reduce(0, PLACES, h.relu(), "amax"), "scatter-least-equal": lambda h: h.relu().scatter_reduce(0, PLACES, h.relu(), "amin") + h, "scatter-all-equal": lambda h: (0 * h).scatter_reduce(0, PLACES, 0 * h, "amax") * OTHER + h,
    "scatter-equal-without": lambda h: torch.full((4, 5), -1.0).scatter_reduce(0, PLACES, h.relu(), "amax", include_self=False), "scatter-largest-infinite": lambda h: torch.full((4, 5), LEAST).scatter_reduce(0, PLACES, h, "amax"),
    "scatter-largest-middle": lambda h: cube(h).scatter_reduce(1, torch.arange(48).reshape(4, 3, 4) % 5, cube(h)[:4, :3].tanh(), "amax"),
    "grid": lambda h: F.grid_sample(image(h), GRID, align_corners=False), "grid-border": lambda h: F.grid_sample(image(h), GRID, padding_mode="border", align_corners=True), "grid-reflected": lambda h: F.grid_sample(image(h), GRID, padding_mode="reflection", align_corners=False),
    "grid-nearest": lambda h: F.grid_sample(image(h), GRID, mode="nearest", align_corners=False), "grid-solid": lambda h: F.grid_sample(solid(h), GRID.reshape(6, 3, 5, 1, 2).expand(6, 3, 5, 2, 2)[..., [0, 1, 0]], align_corners=False),
    "scatter-product": lambda h: h.scatter_reduce(1, torch.zeros(6, 2, dtype=torch.long), h[:, :2], "prod"), "scatter-products": lambda h: torch.zeros(4, 5).scatter_reduce(0, PLACES, h, "prod", include_self=False),
    "scatter-products-own": lambda h: torch.ones(7, 5).scatter_reduce(0, PLACES, h, "prod"), "cosine-of-data": lambda h: F.cosine_similarity(OTHER, h) + F.cosine_similarity(h, h.flip(1)),
    "atan": lambda h: h.atan() * h, "atan-of-kinks": lambda h: h.relu().atan() + (3 * h).atan().relu(),
    "sin": lambda h: h.sin() * h, "cos": torch.cos, "tan": torch.tan, "sinh": torch.sinh, "cosh": torch.cosh, "exp2": torch.exp2, "log2": lambda h: (h * h + 1).log2(),
    "log10": lambda h: (h * h + 1).log10(), "erfc": torch.erfc, "logaddexp": lambda h: torch.logaddexp(h, OTHER), "hypot": lambda h: torch.hypot(h, OTHER),
    "lerp": lambda h: torch.lerp(h, OTHER, 0.3), "lerp-far": lambda h: torch.lerp(OTHER, h, 0.8), "lerp-by": lambda h: torch.lerp(OTHER, h, h.sigmoid()),
    "diagonal": lambda h: h[:, :, None].mul(torch.linspace(1, 2, 5)).diagonal(1, 1, 2), "trace": lambda h: (h @ h.t()).trace() * h, "rot90": lambda h: h.rot90(3) * OTHER.t(),
    "windows": lambda h: h.unfold(1, 3, 2), "diag-embed": lambda h: torch.diag_embed(h, 1) @ torch.ones(6, 2), "prelu-computed": lambda h: F.prelu(h, h.mean().reshape(1)),
    "prelu-computed-at-0": lambda h: F.prelu(h.relu(), h.mean().reshape(1)), "changed-output": lambda h: put_twice(h)[:, 1:], "put-output": put_alone,
    "distances": lambda h: torch.cdist(h, OTHER), "distances-own": lambda h: torch.cdist(h, h), "distances-cube": lambda h: (lambda c: torch.cdist(c, c))(cube(h)), "distances-of-data": lambda h: torch.cdist(OTHER, h), "distances-many": lambda h: torch.cdist(h.repeat(5, 1) * OTHER.repeat(5, 1).exp(), OTHER, compute_mode="donot_use_mm_for_euclid_dist"), "distances-1": lambda h: torch.cdist(h, OTHER, p=1),
    "atan2": lambda h: torch.atan2(h, OTHER), "atan2-right": lambda h: torch.atan2(h, OTHER.exp()), "atan2-both": lambda h: torch.atan2(h, h.flip(1)), "atan2-row": lambda h: torch.atan2(OTHER[:, :1] + 0.3, h[0]),
    "asin": lambda h: (0.9 * h.tanh()).asin(), "acos": lambda h: (0.9 * h.tanh()).acos(), "asinh": lambda h: (9 * h).asinh(), "acosh": lambda h: (h * h + 1.5).acosh(), "atanh": lambda h: (0.9 * h.tanh()).atanh(),
    "logit": lambda h: h.sigmoid().logit(), "logit-bounded": lambda h: (0.2 * h + 0.5).logit(0.3), "xlogy": lambda h: torch.xlogy(h, OTHER.exp()), "xlogy-both": lambda h: torch.xlogy(OTHER, h.exp()) * h, "logaddexp2": lambda h: torch.logaddexp2(h, OTHER),
    "degrees": lambda h: h.rad2deg().deg2rad(), "sinc": lambda h: h.sinc(), "finite": lambda h: torch.nan_to_num(h) * h, "ldexp": lambda h: torch.ldexp(h, torch.arange(5)),
    "softshrink": F.softshrink, "softshrink-at-bounds": lambda h: F.softshrink(h.clamp(-0.5, 0.5)) + h, "softshrink-without": lambda h: F.softshrink(h, 0.0), "hardshrink": lambda h: F.hardshrink(h, 0.25),
    "sign": lambda h: h.sign() * h, "floor": lambda h: h.floor() * h + h.ceil(), "round": lambda h: h.round() * h + h.trunc(), "frac": lambda h: h.frac() * h, "remainder": lambda h: h.remainder(0.25) * h, "fmod": lambda h: torch.fmod(h, -0.5), "copysign": lambda h: h.copysign(OTHER),
    "inverse": lambda h: torch.linalg.inv(square(h)), "inverse-of-many": lambda h: h[:, :4].reshape(6, 2, 2).inverse(), "determinant": lambda h: torch.linalg.det(square(h)) * h, "determinants": lambda h: h[:, :4].reshape(2, 3, 2, 2).det(), "log-determinant": lambda h: square(h).logdet(),
    "sign-and-logarithm": lambda h: torch.linalg.slogdet(-h[:, :1, None])[1], "solution": lambda h: torch.linalg.solve(square(h), h[:5]), "solution-vector": lambda h: torch.linalg.solve(square(h), h[:5, 0]), "solution-of-data": lambda h: torch.linalg.solve(square(OTHER), h[:5]), "solution-for-data": lambda h: torch.linalg.solve(square(h), OTHER[:5]),
    "triangular": lambda h: torch.linalg.solve_triangular(square(h), h[:5], upper=False), "triangular-ones": lambda h: torch.linalg.solve_triangular(square(h), h[:5], upper=True, unitriangular=True), "cholesky": lambda h: torch.linalg.cholesky(h[:5] @ h[:5].t() + torch.eye(5)), "cholesky-of-mean": lambda h: torch.linalg.cholesky((square(h) + square(h).mT) / 2 + 3 * torch.eye(5)),
    "normal-density": lambda h: -torch.distributions.MultivariateNormal(h[0], square(h) @ square(h).mT + torch.eye(5), validate_args=False).log_prob(OTHER[0]), "cross": lambda h: torch.linalg.cross(h[:, :3], OTHER[:, :3]), "cross-both": lambda h: torch.linalg.cross(h[:3, :1], h[:3, 1:2].tanh(), dim=0),
    "bilinear": lambda h: F.bilinear(h, h.tanh(), OTHER.reshape(6, 5, 1)[:2].expand(2, 5, 5)), "addr": lambda h: torch.addr(OTHER, h[:, 0], h[0], beta=0.5, alpha=2), "addbmm": lambda h: torch.addbmm(OTHER[:5, :5], pairs(h), pairs(h), beta=0.5),
    "norm-3": lambda h: h.norm(p=3), "norm-4-dim": lambda h: torch.linalg.vector_norm(h, 4, dim=1, keepdim=True) * h, "norm-inf": lambda h: torch.linalg.vector_norm(h, float("inf"), dim=1), "norm-inf-tied": lambda h: h.clamp(-0.2, 0.2).norm(float("inf"), dim=1) + h[:, 0], "norm-least": lambda h: torch.linalg.vector_norm(h, -float("inf"), dim=(0, 1)) * h,
    "dist": lambda h: torch.dist(h, OTHER), "dist-1": lambda h: torch.dist(h, OTHER[0], 1), "pdist": F.pdist, "pdist-1": lambda h: F.pdist(h, 1),
    "fmax": lambda h: torch.fmax(h, OTHER), "fmin-equal": lambda h: torch.fmin(h.relu(), torch.zeros(5)) + h, "clamp-by": lambda h: torch.clamp(h, OTHER - 1, OTHER + 0.5), "clamp-by-computed": lambda h: torch.clamp(h, min=h.flip(1)), "clamp-by-itself": lambda h: torch.clamp(h, min=h.clone()) + h,
    "aminmax": lambda h: torch.stack(torch.aminmax(h)) * h[0, 0], "aminmax-tied": lambda h: torch.aminmax(h.relu(), dim=1).min + h[:, 0], "kthvalue": lambda h: h.kthvalue(2, dim=1)[0], "kthvalue-equal": lambda h: h.relu().kthvalue(3, dim=0, keepdim=True)[0] + h,
    "nansum": lambda h: h.nansum(1), "nanmean": lambda h: h.nanmean(), "logcumsumexp": lambda h: h.logcumsumexp(1), "logcumsumexp-first": lambda h: cube(h).logcumsumexp(0), "logsumexp-axes": lambda h: cube(h).logsumexp((0, 2), keepdim=True), "logsumexp-all": lambda h: h.logsumexp((0, 1)) * h,
    "index-fill": lambda h: h.index_fill(1, torch.tensor([0, 3]), 2.0) * h, "index-copy": lambda h: h.index_copy(0, torch.tensor([4, 0]), h[1:3].tanh()), "masked-scatter": lambda h: h.masked_scatter(MASK, h.tanh()), "masked-select": lambda h: h.masked_select(MASK),
    "select-scatter": lambda h: h.select_scatter(h[0].tanh(), 0, 1), "slice-scatter": lambda h: h.slice_scatter(h[:2].tanh(), 0, 2, 6, 2), "diagonal-scatter": lambda h: h.diagonal_scatter(h[0, :4].tanh(), 1) * h,
    "roll-all": lambda h: h.roll(3) * h, "roll-axes": lambda h: h.roll((1, -2), (0, 1)) * h, "block-diag": lambda h: torch.block_diag(h[:2], OTHER[:1], h[2:]), "fold": lambda h: F.fold(F.unfold(image(h), 2, padding=1, stride=2), (2, 4), 2, padding=1, stride=2), "unshuffle": lambda h: F.pixel_unshuffle(image(h), 2) * h[:, :1, None, None],
    "bicubic": lambda h: F.interpolate(image(h), size=(3, 7), mode="bicubic", align_corners=True), "bicubic-half": lambda h: F.interpolate(image(h), scale_factor=1.5, mode="bicubic"), "trilinear": lambda h: F.interpolate(solid(h), scale_factor=(1, 2, 1.5), mode="trilinear"), "nearest-3d": lambda h: F.interpolate(solid(h), size=(2, 3, 5), mode="nearest-exact"),
    "soft-margin": lambda h: F.soft_margin_loss(h, OTHER.sign()) * h, "grid-computed": lambda h: F.grid_sample(image(h), GRID + 0.01 * h.mean(), align_corners=False), "grid-of-data": lambda h: F.grid_sample(image(OTHER), h.repeat(1, 2).reshape(6, 5, 1, 2), padding_mode="border", align_corners=True),
    "transformer": lambda h: F.grid_sample(image(OTHER), F.affine_grid(h.repeat(1, 2)[:, :6].reshape(6, 2, 3) / 3, [6, 2, 3, 3], align_corners=False), align_corners=False), "lp-pool": lambda h: F.lp_pool2d(image(h), 2, 2, stride=1),
    "multilabel-margin": lambda h: F.multilabel_margin_loss(h, torch.tensor([[0, 2, -1, 4, 1], [1, 0, 3, 2, -1], [-1, 0, 1, 2, 3]] * 2), reduction="none") * h[:, 0],
    "multilabel-margin-one": lambda h: F.multilabel_margin_loss(h[0], torch.tensor([3, 2, -1, -1, -1])) + h.sum(), "entropy": lambda h: torch.special.entr(h.exp()),
    "xlog1py": lambda h: torch.special.xlog1py(h, h.sigmoid()), "xlog1py-of-data": lambda h: torch.special.xlog1py(OTHER, h.exp()), "log-normal": lambda h: torch.special.log_ndtr(h),
    "index-add-numbers": lambda h: h * torch.zeros(3).index_add(0, torch.arange(6) % 3, h[:, 0]).sum(),
}
# (what the refusal says, the function)
REFUSED = {
    "view-of-changed": ("write the change as an operator", view_of_changed), "changed-unseen": ("write the change as an operator", changed_unseen),
    "changed-without-gradients": ("write the change as an operator", changed_without_gradients), "copied-unseen": ("write the change as an operator", copied_unseen),
    "where-compared-equal": ("hangs on it, and two are equal", lambda h: torch.where(h.relu() > 0, h, 0.1 * h)),
    "topk-places-equal": ("hangs on it, and two are equal", lambda h: h.gather(1, h.relu().topk(2).indices)),
    "scatter-twice": ("several entries are put at one place", lambda h: h.scatter(1, torch.zeros(6, 2, dtype=torch.long), h[:, :2])),
    "index-put-twice": ("several entries are put at one place", lambda h: h.index_put((torch.tensor([1, 1]),), h[:2])),
    "scatter-product-zero": ("a factor is 0, by which PyTorch divides", lambda h: h.scatter_reduce(1, torch.zeros(6, 2, dtype=torch.long), h[:, :2].relu(), "prod")),
    "scatter-lost": ("though it is left out PyTorch gives it a share", lambda h: torch.zeros(4, 5).scatter_reduce(0, PLACES, -h.relu(), "amax", include_self=False)),
    "softplus-equal": ("an entry is at its threshold, where it jumps", lambda h: F.softplus(h.relu(), 3, 0.0)),
    "threshold-equal": ("an entry is at its threshold, where it jumps", lambda h: F.threshold(h.relu(), 0.0, -1.0)),
    "threshold-equal-branch": ("two are equal, or a number is where it jumps", lambda h: h if F.threshold(h.relu(), 0.0, 1.0).sum() > 0 else 2 * h),
    "softplus-equal-branch": ("two are equal, or a number is where it jumps", lambda h: h if F.softplus(h.relu(), 1, 0).sum() > 0 else 2 * h),
    "power-of-zero": ("a power of what is not above 0", lambda h: h.relu() ** 1.5),
    "grid-reflected": ("a grid that is trained, with mode nearest or bicubic, or reflected", lambda h: F.grid_sample(image(h), GRID + 0.01 * h.mean(), padding_mode="reflection", align_corners=False)),
    "grid-large": ("of too many entries; take smaller images", lambda h: F.grid_sample(h[:1, :1].reshape(1, 1, 1, 1) * torch.ones(1, 1, 300, 300), h[:1].repeat(1, 80).reshape(1, 10, 20, 2), align_corners=False)),
    "bicubic-grid": ("bicubic, or of too many entries", lambda h: F.grid_sample(image(h), GRID, mode="bicubic", align_corners=False)),
    "sign-of-zero": ("an entry is where it jumps", lambda h: h.relu().sign() + h), "round-decimals": ("decimals; round multiples", lambda h: h.round(decimals=1) * h), "remainder-at-jump": ("an entry is where it jumps", lambda h: h.relu().remainder(0.5) + h),
    "remainder-third": ("by a number that is no float32", lambda h: h.remainder(0.1) * h), "remainder-multiple": ("a multiple of the divisor that no float of the type is", lambda h: (9e6 * h).remainder(1 + 2**-23) * h), "hardshrink-at-bound": ("an entry is where it jumps", lambda h: F.hardshrink(h.clamp(max=0.5)) + h),
    "atan2-cut": ("an angle of 0 and a number that is not above 0", lambda h: torch.atan2(h.relu(), -h.exp())),
    "inverse-large": ("matrices of at most 16 rows are written out", lambda h: torch.linalg.inv(torch.eye(18) + h[0, 0] * torch.ones(18, 18))), "cholesky-other": ("of a matrix that is not its own transpose by what it is made of", lambda h: torch.linalg.cholesky(square(h))), "solution-right": ("left=False, or right sides", lambda h: torch.linalg.solve(square(h), h[:5, :5], left=False)),
    "triangular-right": ("left=False, or right sides", lambda h: torch.linalg.solve_triangular(square(h), h[:5, :5], upper=True, left=False)), "cross-axes": ("vectors of other axes", lambda h: torch.linalg.cross(h[:, :3], OTHER[:1, :3])), "norm-half": ("a norm other than that of a whole ord from 1 to 8", lambda h: h.norm(p=0.5)), "norm-type": ("a norm in another type", lambda h: torch.linalg.vector_norm(h, dtype=torch.float64)),
    "dist-3": ("a distance other than that of p 1 or 2", lambda h: torch.dist(h, OTHER, 3)), "pdist-3": ("distances other than those of p 1 or 2", lambda h: F.pdist(h, 3)), "fmax-nan": ("a number that is none", lambda h: torch.fmax(h, torch.where(MASK, float("nan"), 0.0))), "kthvalue-long": ("of more than 126 entries", lambda h: h.repeat(1, 30).kthvalue(2, dim=1)[0]),
    "index-copy-twice": ("several entries are put at one place", lambda h: h.index_copy(0, torch.tensor([1, 1]), h[:2])), "extremes-many": ("a window has at most 4096", lambda h: torch.aminmax(h.repeat(1, 1000), dim=1)[0]),
    "distances-other": ("a distance other than that of p 1, 2 or infinity", lambda h: torch.cdist(OTHER, h, p=3)),
    "distances-largest-tied": ("PyTorch gives each of them the whole gradient", lambda h: torch.cdist(h.repeat(1, 2), OTHER.repeat(1, 2), p=float("inf"))),
    "max-long": ("a window has at most 4096", lambda h: h.repeat(1, 1000).max(1)[0]),
    "masked-infinite": ("it reads an entry that is infinite; take a large number", lambda h: h.masked_fill(MASK, LEAST).logsumexp(1)),
    "entropy-of-zero": ("-x log x ends where x is 0", lambda h: torch.special.entr(h.relu())), "xlog1py-ends": ("x log(1 + y) has a pole, or ends", lambda h: torch.special.xlog1py(0 * h, OTHER.clamp(max=-1))),
    "log-normal-tail": ("an entry is below -12", lambda h: torch.special.log_ndtr(h - 20)), "multilabel-nothing": ("no label, or no class beside it", lambda h: F.multilabel_margin_loss(h, torch.full((6, 5), -1)) + h.sum()),
    "gamma": ("this operator cannot be written into the graph; compute it with operators that can be", lambda h: torch.lgamma(h.exp())),
    "sort-long": ("150 entries to be sorted: at most 126 are", lambda h: h.repeat(1, 30).sort(1)[0]),
    "conv-transposed-computed": ("a transposed convolution whose weight is computed", lambda h: F.conv_transpose1d(h.unsqueeze(1), h[:1, :3].reshape(1, 1, 3))),
    "topk-any": ("without an order; say sorted=True", lambda h: h.topk(2, sorted=False)[0]),
    "adaptive-max-uneven": ("windows of several sizes", lambda h: F.adaptive_max_pool1d(cube(h), 3)),
    "max-3d-gaps": ("or with gaps", lambda h: F.max_pool3d(solid(h), 2, dilation=(1, 1, 2))),
}

# certify knows no bound on what is inside: roots, logarithms and quotients of what was not recorded either.
OPEN = {"asinh", "acosh", "logcumsumexp", "logcumsumexp-first", "cholesky", "cholesky-of-mean", "normal-density", "log-normal"}

# What leaves the reals, or is at a norm that is 0, is told (docs/outside.md): (what is said, the function)
TOLD = {
    "masked-largest": ("infinity is no real number", lambda h: (h + torch.where(MASK, -LEAST, 0.0)).softmax(1)),
    "masked-all": ("every entry is masked", lambda h: h.masked_fill(torch.ones(6, 5).bool(), LEAST).softmax(1)),
    "var-of-one": ("no rule is known", lambda h: h[:, :1].var(1)),
    "distance-of-equal": ("a distance of equal points", lambda h: torch.cdist(h, h.clone())),
    "cosine-of-zero": ("a Euclidean norm of zeros", lambda h: F.cosine_similarity(0 * h, OTHER)),
}

# As many samples as columns: which axis is which no shape tells.
X, LINES = torch.linspace(-1, 2, 9).reshape(3, 3).sin(), torch.linspace(-1, 2, 36).reshape(3, 2, 6).sin()


def minus_transposed(*axes):
    return lambda x, w: (lambda h: (h - h.transpose(*axes)).relu())(x @ w)


# Parameters of a shape, and a function of the input and them.
OWN = {
    "rows-of-a-weight": (X, (5, 4), lambda x, w: x @ w[1:4]),
    "part-of-a-vector": (X, (5,), lambda x, w: x @ w[0:3]),
    "parts-of-a-vector": (X, (6,), lambda x, w: (x @ w[0:3]).relu() * torch.addmv(X[0], x.tanh(), w[3:])),
    "lines-by-a-vector": (LINES, (8,), lambda x, w: x @ w[1:7]),
    "negated-convolution": (LINES, (4, 2, 3), lambda x, w: F.conv1d(x, -w, w[:, 0, 0]).relu()),
    "negated-convolution-2d": (LINES[..., None], (4, 2, 3, 1), lambda x, w: F.conv2d(x, -w, padding=1).relu()),
    "negated-bias": (LINES, (4,), lambda x, w: F.conv1d(x, torch.ones(4, 2, 3), -w).relu()),
    "negated-bias-transposed": (LINES, (4,), lambda x, w: F.conv_transpose1d(x, torch.ones(2, 4, 3), -w).relu()),
    "negated-twice": (LINES, (4, 2, 3), lambda x, w: F.conv1d(x, -(-w)).relu()),
    "part-of-a-negated": (LINES, (5, 2, 3), lambda x, w: F.conv1d(x, -w[1:], -w[1:, 0, 0]).relu()),
    "stack-of-negated": (X, (3, 3), lambda x, w: (x @ torch.stack([w, -w])).relu().sum(0)),
    "stack-of-negated-last": (X, (3, 3), lambda x, w: x @ torch.stack([w, -w], -1)[..., 1]),
    "cat-of-negated": (X, (3, 3), lambda x, w: (x @ torch.cat([w, -w], 1)).relu()),
    "pad-of-negated": (X, (3, 3), lambda x, w: x @ F.pad(-w, (0, 1))),
    "negated-linear": (X, (3, 3), lambda x, w: F.linear(x, -w, -w[0])),
    "rows-of-negated": (torch.tensor([[0, 1], [2, 1]]), (3, 4), lambda x, w: F.embedding(x, -w).relu()),
    "minus-transposed": (X, (3, 3), lambda x, w: (lambda h: (h - h.T).relu())(x @ w)),
    "minus-transposed-0-1": (X, (3, 3), minus_transposed(0, 1)),
    "minus-transposed-1-0": (X, (3, 3), minus_transposed(1, 0)),
    "minus-transposed-last": (X, (3, 3), minus_transposed(-1, -2)),
    "minus-transposed-back": (X, (3, 3), minus_transposed(-2, -1)),
    "transposed-blocks": (torch.linspace(-1, 2, 27).reshape(3, 3, 3).sin(), (3, 3), minus_transposed(2, 0)),
    "tril": (X, (3, 3), lambda x, w: (x @ w).tril().relu()),
    "triu": (X, (3, 3), lambda x, w: (x @ w).triu(1).relu()),
    "tril-of-blocks": (torch.linspace(-1, 2, 27).reshape(3, 3, 3).sin(), (3, 3), lambda x, w: (x @ w).tril().relu()),
    "outer-of-columns": (X, (3, 3), lambda x, w: (lambda h: h[:, :1] * h[:, 1])(x @ w)),
    "sum-of-column-and-row": (X, (3, 3), lambda x, w: (lambda h: (h[:, :1] - h[:, 1]).relu())(x @ w)),
    "larger-of-column-and-row": (X, (3, 3), lambda x, w: (lambda h: torch.maximum(h[:, :1], 1.5 * h[:, 1] + 1))(x @ w)),
}
PLACED = torch.tensor([[0, 1], [2, 2], [1, 4]])
OWN |= {
    "embedding-largest-norm": (PLACED, (5, 3), lambda x, w: F.embedding(x, w, max_norm=1.0)),
    "embedding-largest-norm-twice": (PLACED, (10, 3), lambda x, w: F.embedding(x, w, max_norm=1.0) + F.embedding(x + 5, w, max_norm=1.0, norm_type=1.0).relu()),
    "embedding-norm-of-none": (PLACED, (5, 3), lambda x, w: F.embedding(x, w, max_norm=99.0) @ w.mT),
    "embedding-norm-then-read": (PLACED, (5, 3), lambda x, w: F.embedding(x, w, max_norm=0.5) @ w.mT),
    "embedding-by-frequency": (PLACED, (5, 3), lambda x, w: F.embedding(x, w, scale_grad_by_freq=True)),
    "embedding-by-frequency-padded": (PLACED, (5, 3), lambda x, w: F.embedding(x, w, padding_idx=1, scale_grad_by_freq=True)),
    "embedding-sparse": (PLACED, (5, 3), lambda x, w: F.embedding(x, w, max_norm=1.0, sparse=True)),
    "penalty-by-operators": (X, (3, 3), lambda x, w: (lambda h: (((h > 0) * w[0]) @ w).square().sum(1) - 1)(F.linear(x, w)) + F.linear(x, w).relu() @ w[0]),
    "bag-sparse": (PLACED, (5, 3), lambda x, w: F.embedding_bag(x, w, max_norm=1.0, mode="sum", sparse=True)),
    "bag-largest": (PLACED, (5, 3), lambda x, w: F.embedding_bag(x, w, mode="max", padding_idx=4)),
    "bag-largest-norm": (PLACED, (5, 3), lambda x, w: F.embedding_bag(x, w, max_norm=1.0, mode="max")),
    "bag-largest-of-some": (PLACED.reshape(-1), (5, 3), lambda x, w: F.embedding_bag(x, w, torch.tensor([0, 0, 4]), mode="max")),
}
OWN_REFUSED = {
    "embedding-read-before": ("a view of a tensor that was changed in place is read", PLACED, (5, 3), lambda x, w: w.sum() + F.embedding(x, w, max_norm=0.1)),
    "negated-transposed": ("of a negated one, negate what is computed with it", LINES, (2, 4, 3), lambda x, w: F.conv_transpose1d(x, -w)),
    "negated-scale": ("negate what is computed with it", X, (3,), lambda x, w: F.layer_norm(x, (3,), -w)),
    "negated-batch-norm": ("negate what is computed with it", X, (3,), lambda x, w: F.batch_norm(x, None, None, -w, w, True)),
    "negated-slope": ("negate what is computed with it", X, (3,), lambda x, w: F.prelu(x, -w)),
}

ZEROS = torch.zeros(3, dtype=torch.long)


def gathered(how, x, w):
    """The largest or smallest of both, among which the gradient is shared."""
    return (x * w).new_zeros(1).scatter_reduce(0, ZEROS[:len(w)], x * w, how, include_self=False)


def at_places(how, x, w, *places):
    """The largest or smallest at each of three places, of lines that are not equally long."""
    return (x * w).new_full((3,), -1.0 if how == "amax" else 9.0).scatter_reduce(0, torch.tensor(places), x * w, how)


# Parameters at kinks and ties, a function of ones and them, and the verdict, perhaps the zone, that the definition gives AD's gradient.
DECIDED = {
    "threshold: 0 is a side's": ([1.0], lambda x, w: F.threshold(x * w, 1.0, 1.0).sum(), "in-bouligand"),
    "threshold: w - 1 has 1": ([1.0], lambda x, w: (F.threshold(x * w, 1.0, 1.0) - F.threshold(2 - x * w, 1.0, 1.0)).sum(), "not-in-clarke"),
    "cummax: the last": ([1.0, 1.0], lambda x, w: (x * w).cummax(0)[0][1], "in-bouligand"),
    "cummax and cummin: w + 1 has 1": ([1.0], lambda x, w: (lambda both: both.cummax(0)[0][1] + both.cummin(0)[0][1])(torch.cat([x * w, torch.ones(1)])), "not-in-clarke"),
    "cummax: each has the last": ([1.0, 1.0], lambda x, w: (x * w).cummax(0)[0][1] + (x * w).flip(0).cummax(0)[0][1], "in-clarke"),
    "amax: halves": ([1.0, 1.0], lambda x, w: gathered("amax", x, w + 1).sum(), "in-clarke"),
    "amax and amin: their sum": ([1.0, 1.0], lambda x, w: (gathered("amax", x, w + 1) + gathered("amin", x, w + 1)).sum(), "in-bouligand"),
    "amax: thirds of 1, 2 and 0": ([1.0], lambda x, w: (lambda v: gathered("amax", torch.ones(3), torch.cat([v, 2 * v - 1, torch.ones(1)])).sum())(x * w), "in-clarke"),
    "maximum: halves of 24 units": ([1.0, -2.0, 0.5, 3.0] * 12, lambda x, w: torch.maximum(*(x * w).reshape(2, 24)).square().sum(), "in-clarke", "bifurcation"),
    "amax: halves of 24 lines": ([1.0, -2.0, 0.5, 3.0] * 12, lambda x, w: (x * w).reshape(2, 24).amax(0).square().sum(), "in-clarke", "bifurcation"),
    "maximum less itself: halves of one sign": ([1.0, 1.0], lambda x, w: (lambda h: torch.maximum(h[0], h[1]) - h[0].relu())(x * w), "in-clarke"),
    "cummax: nothing is tied": ([3.0, 1.0, 2.0], lambda x, w: (x * w).cummax(0)[0].sum(), "in-bouligand", "regular"),
    "cummin: nothing is tied": ([1.0, 3.0, 2.0], lambda x, w: (x * w).reshape(1, 3, 1).cummin(1)[0].sum(), "in-bouligand", "regular"),
    "cummax: the first two are tied": ([1.0, 1.0, 0.0], lambda x, w: (x * w).cummax(0)[0].sum(), "in-bouligand", "bifurcation"),
    "amax at places: nothing is tied": ([2.0, 1.0, 3.0], lambda x, w: at_places("amax", x, w, 0, 0, 1).sum(), "in-bouligand", "regular"),
    "amin at places: nothing is tied": ([2.0, 1.0, 3.0], lambda x, w: at_places("amin", x, w, 2, 0, 2).sum(), "in-bouligand", "regular"),
    "amax at places: one is what was there": ([-1.0, 1.0, 3.0], lambda x, w: at_places("amax", x, w, 0, 1, 1).sum(), "in-clarke", "bifurcation"),
    "prelu: by a computed slope, 0 is its side's": ([0.0, 0.5], lambda x, w: F.prelu((x * w)[:1], (w * w)[1:]).sum(), "in-bouligand", "bifurcation"),
    "prelu: slope 1 has no kink": ([0.0, 1.0], lambda x, w: F.prelu((x * w)[:1], (w * w)[1:]).sum(), "in-bouligand"),
    "median: halves": ([1.0, 1.0, 2.0], lambda x, w: (x * w).median(), "in-clarke"),
    "median: smooth": ([1.0, 2.0, 3.0], lambda x, w: (x * w).median(), "in-bouligand"),
    "cdist: the largest": ([1.0, 2.0, 4.0], lambda x, w: torch.cdist((x * w)[None], torch.tensor([[0.0, 5.0, 3.5], [0.5, 1.0, 1.5]]), p=float("inf")).sum(), "in-bouligand"),
    "softshrink: 0 is a side's": ([0.5], lambda x, w: F.softshrink(x * w).sum(), "in-bouligand"),
    "softshrink: w + 1/2 has 1": ([0.5], lambda x, w: (F.softshrink(x * w) + (x * w).clamp(max=0.5)).sum(), "in-bouligand"),
    "fmax: the first": ([1.0, 1.0], lambda x, w: torch.fmax((x * w)[:1], (x * w)[1:]).sum(), "in-bouligand"),
    "fmax and fmin: their sum": ([1.0, 1.0], lambda x, w: (torch.fmax((x * w)[:1], (x * w)[1:]) + torch.fmin((x * w)[:1], (x * w)[1:])).sum(), "not-in-clarke"),
    "bags: the first of the largest": ([1.0, 1.0], lambda x, w: F.embedding_bag(torch.tensor([[0, 1]]), (x * w)[:, None], mode="max").sum(), "in-bouligand"),
    "bags: the first and the last": ([1.0, 1.0], lambda x, w: (lambda t: F.embedding_bag(torch.tensor([[0, 1]]), t, mode="max") - F.embedding_bag(torch.tensor([[1, 0]]), t, mode="max"))((x * w)[:, None]).sum(), "not-in-clarke"),
    "largest size: halves": ([1.0, -1.0], lambda x, w: (x * w).norm(float("inf")), "in-clarke"),
    "clamp by a tensor: x has it": ([1.0, 1.0], lambda x, w: torch.clamp((x * w)[:1], min=(x * w)[1:]).sum(), "in-bouligand"),
    "kthvalue: the one that was taken": ([1.0, 1.0, 2.0], lambda x, w: (x * w).kthvalue(2)[0], "in-bouligand"),
    "atan of a kink": ([0.0], lambda x, w: (x * w).relu().atan().sum(), "in-bouligand"),
    "atan of both sides": ([0.0], lambda x, w: ((x * w).relu().atan() - (-x * w).relu().atan()).sum(), "not-in-clarke"),
    "inverse: a relu at 0": ([0.0, 2.0], lambda x, w: torch.linalg.inv((torch.diag((x * w).relu()) + 1)).sum(), "in-bouligand"),
    "prod: one zero": ([0.0, 2.0, 3.0], lambda x, w: (x * w).prod(), "in-bouligand"),
    "cumprod: zeros": ([0.0, 2.0, 0.0], lambda x, w: (x * w).cumprod(0).sum(), "in-bouligand"),
    "softplus: beside its jump": ([1.0], lambda x, w: F.softplus(x * w, 1, 0.5).sum(), "in-bouligand"),
}


class Net(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.first, self.f = nn.Linear(4, 5), f

    def forward(self, x):
        return self.f(self.first(x))


class Own(nn.Module):
    def __init__(self, shape, f):
        super().__init__()
        self.w, self.f = nn.Parameter(torch.randn(shape)), f

    def forward(self, x):
        return self.f(x, self.w)


def step(run, f, kind):
    torch.manual_seed(0)
    if isinstance(f, tuple):
        x, model = f[0], Own(*f[1:]).to(kind)
    else:
        model, x = Net(f).to(kind), torch.linspace(-2, 3, 24).reshape(6, 4).sin().to(kind)
    with clarke.record(run, model):
        model(x).square().mean().backward()


def right(folder, f, certified=True):
    """What is wrong with a record; nothing, if all is right."""
    run = os.path.join(folder, "run")
    try:
        step(run, f, torch.float32)
        answer = clarke.audit(run)
    except (clarke.Refused, clarke.Failed) as why:
        return f"{type(why).__name__}: {why}"
    if answer.gradient["explained"] is not True:
        return f"{answer.gradient}"
    if answer.proof is None:
        return f"no proof: {answer.verdict}: {answer.reason}"
    with open(os.path.join(run, "proof"), "wb") as out:
        out.write(answer.proof)
    said = subprocess.run([CHECK, os.path.join(run, "proof")], capture_output=True, text=True)
    if not said.stdout.startswith("VERIFIED"):
        return said.stdout[:300] + said.stderr
    done = subprocess.run([CLARKE, "certify", run], capture_output=True, text=True)
    wanted = done.returncode == 0 if certified else "(cannot say)" in done.stdout
    return None if wanted else f"certify: {done.stdout[:300]}{done.stderr}"


class At(nn.Module):
    def __init__(self, w, f):
        super().__init__()
        self.w, self.f = nn.Parameter(torch.tensor(w)), f

    def forward(self, x):
        return self.f(x, self.w)


def decided(folder, w, f, verdict, zone=None):
    run, model = os.path.join(folder, "run"), At(w, f)
    with clarke.record(run, model):
        model(torch.ones(len(w))).backward()
    answer = clarke.audit(run)
    if answer.gradient["explained"] is not True or answer.verdict != verdict:
        return f"{answer.verdict}: {answer.reason}: {answer.gradient}"
    if zone is not None and json.loads(answer.json)["zone"] != zone:
        return f"zone {json.loads(answer.json)['zone']}"
    with open(os.path.join(run, "proof"), "wb") as out:
        out.write(answer.proof)
    said = subprocess.run([CHECK, os.path.join(run, "proof")], capture_output=True, text=True)
    return None if said.stdout.startswith("VERIFIED") else said.stdout[:300] + said.stderr


def refused(folder, says, f):
    run = os.path.join(folder, "run")
    try:
        step(run, f, torch.float32)
    except clarke.Refused as why:
        if os.path.exists(run):
            return "something was written"
        return None if says in str(why) and "records_operators.py:" in str(why) else f"refused: {why}"
    return "not refused"


def refuted(folder):
    """PyTorch 2.13's derivative of ldexp by integers below 0 is 0: a power of integers, which the value is not."""
    run = os.path.join(folder, "run")
    step(run, lambda h: torch.ldexp(h, torch.arange(5) - 2), torch.float32)
    answer = clarke.audit(run)
    own = torch.ones(1, requires_grad=True)
    torch.ldexp(own, torch.tensor([-1])).backward()
    wrong = own.grad.item() != 0.5
    return None if (answer.answer == "refuted") == wrong else f"{answer.answer}, and PyTorch's derivative of x / 2 is {own.grad.item()}"


def bags_by_frequency(folder):
    """PyTorch 2.13 divides the gradients of a bag's rows by how often other rows are read: row 4, which is read once, has half of its gradient."""
    run, table = os.path.join(folder, "run"), (lambda x, w: F.embedding_bag(x, w, scale_grad_by_freq=True, mode="sum"))
    step(run, (PLACED, (5, 3), table), torch.float32)
    answer, own = clarke.audit(run), torch.ones(5, 1, requires_grad=True)
    table(PLACED, own).sum().backward()
    wrong = own.grad.reshape(-1).tolist() != [1, 1, 1, 0, 1]
    return None if (answer.answer == "refuted") == wrong else f"{answer.answer}, and PyTorch's derivative is {own.grad.tolist()}"


def floats_tie(folder, largest):
    """Floats tie, and the exact numbers do not: PyTorch's halves are not the exact derivative. That is no other step's gradient."""
    run, twice = os.path.join(folder, "run"), torch.tensor([[1.0, 2.0 ** -30], [2.0, 2.0 ** -30]])
    model = Own((2,), lambda x, w: largest(x * w[0] + (x - x + 1) * w[1], x * w[0]))
    with torch.no_grad():
        model.w.copy_(twice[0])
    with clarke.record(run, model):
        model(twice[:, :1]).sum().backward()
    answer = clarke.audit(run)
    halves = model.w.grad[1].item() == 1
    return None if halves and answer.answer == "not known" else f"{answer.answer}, and PyTorch's derivative is {model.w.grad.tolist()}"


def one_function_ties(folder):
    """Exactly three entries tie, of which two are one function; rounding parts these two, and PyTorch shares between two."""
    run = os.path.join(folder, "run")
    model = Own((4,), lambda x, w: torch.stack([x * w[0] + x * w[1] + x * w[2], x * w[1] + x * w[2] + x * w[0], x * w[3]]).amax(0))
    with torch.no_grad():
        model.w.copy_(torch.tensor([1, 2.0 ** -24, 2.0 ** -24, 1 + 2.0 ** -23]))
    with clarke.record(run, model):
        model(torch.ones(1)).sum().backward()
    answer = clarke.audit(run)
    halves = model.w.grad.tolist() == [0.5] * 4
    return None if halves and answer.answer == "not known" else f"{answer.answer}, and PyTorch's derivative is {model.w.grad.tolist()}"


def told(folder, says, f):
    run = os.path.join(folder, "run")
    step(run, f, torch.float32)
    answer = clarke.audit(run)
    return None if answer.outside is not None and says in answer.outside["rule"] else f"not told: {answer}"


def main():
    failed, wanted = 0, sys.argv[3:]
    cases = [(n, lambda folder, f=f, n=n: right(folder, f, n not in OPEN)) for n, f in RIGHT.items()]
    cases += [("ldexp-below-0", refuted), ("bags-by-frequency", bags_by_frequency)]
    cases += [("floats-tie", lambda folder: floats_tie(folder, torch.maximum)),
              ("floats-tie-in-lines", lambda folder: floats_tie(folder, lambda a, b: torch.stack([a, b], 1).amax(1))),
              ("one-function-ties", one_function_ties)]
    cases += [(n, lambda folder, f=f: right(folder, f)) for n, f in OWN.items()]
    cases += [(n, lambda folder, says=says, f=f: refused(folder, says, f)) for n, (says, f) in REFUSED.items()]
    cases += [(n, lambda folder, says=says, f=tuple(f): refused(folder, says, f)) for n, (says, *f) in OWN_REFUSED.items()]
    cases += [(n, lambda folder, says=says, f=f: told(folder, says, f)) for n, (says, f) in TOLD.items()]
    cases += [(n, lambda folder, case=case: decided(folder, *case)) for n, case in DECIDED.items()]
    asked = [(name, ask) for name, ask in cases if name in wanted] if wanted else cases[::ONE_IN]
    for name, ask in asked:
        with tempfile.TemporaryDirectory() as folder:
            said = ask(folder)
        if said:
            failed += 1
            print(f"FAILED: {name}: {said}", flush=True)
    print(f"{len(asked)} asked: of {len(RIGHT) + len(OWN)} operators that are recorded, {len(REFUSED) + len(OWN_REFUSED)} refused, {len(DECIDED)} decided; {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
