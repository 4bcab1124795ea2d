#!/usr/bin/env python3
"""The functions that people ask `clarke.derive` about, at a smooth point and at their kink: everyday.py CLARKE CLARKE-CHECK [NAME...]

Verdicts were worked out by hand. AD's numbers are those of the PyTorch that is installed, and every proof must be VERIFIED. Where the
function jumps or has a pole, that is named, with the line; and nothing else is said.
"""
import os
import subprocess
import sys
import tempfile
from fractions import Fraction

import torch
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "python"))
sys.path.append(os.path.join(HERE, "..", "tools"))
CLARKE, CHECK = (os.path.abspath(p) for p in sys.argv[1:3])
os.environ["CLARKE"] = CLARKE
import clarke  # noqa: E402
from expect import expect, finish  # noqa: E402


def t(*numbers):
    return torch.tensor([float(n) for n in numbers])


def clipped(x):
    """As torch.nn.utils.clip_grad_norm_ does."""
    return (x * (1 / (x.norm() + 1e-6)).clamp(max=1.0) * t(1, -2)).sum()


def scattered(x):
    """PyTorch shares the gradient with the number that was there before, though it is left out."""
    return torch.zeros(2).scatter_reduce(0, torch.tensor([0, 0, 1]), x, "amax", include_self=False).sum()


def triplet(x):
    return F.triplet_margin_loss(x[None, :2], x[None, 2:4], x[None, 4:], eps=0.0)


JUMPS, ROOT = "the function jumps", "not known to be Lipschitz"
BOTH, LIMIT, HULL, OUTSIDE = ("in-bouligand", True), ("in-bouligand", False), ("in-clarke", False), "not-in-clarke"
# BOTH: differentiable, and AD has the gradient; LIMIT: a limit of gradients; HULL: a combination of such.
# The function; a point where it is differentiable, and AD has its gradient; its kink; there the verdict, and whether it is differentiable, or
# what is said of the jump, or pole.
EVERYDAY = {
    "relu": (lambda x: F.relu(x).sum(), t(1, -2), t(0, -2), LIMIT),
    "maximum": (lambda x: torch.maximum(x[0], x[1]), t(1, 2), t(1, 1), HULL),
    "clamp_min": (lambda x: torch.clamp_min(x, 0).sum(), t(1), t(0), LIMIT),
    "clamp(min=)": (lambda x: x.clamp(min=1).sum(), t(2), t(1), LIMIT),
    "clamp with tensors": (lambda x: torch.clamp(x[:1], x[1:2], x[2:]).sum(), t(1, 0, 2), t(1, 1, 2), LIMIT),
    "where": (lambda x: torch.where(x > 0, x, 0 * x).sum(), t(1), t(0), LIMIT),
    "x (x > 0)": (lambda x: (x * (x > 0)).sum(), t(1), t(0), LIMIT),
    "relu6 at 0": (lambda x: F.relu6(x).sum(), t(1), t(0), LIMIT),
    "relu6 at 6": (lambda x: F.relu6(x).sum(), t(7), t(6), LIMIT),
    "hardtanh at -1": (lambda x: F.hardtanh(x).sum(), t(0.5), t(-1), LIMIT),
    "hardtanh at 1": (lambda x: F.hardtanh(x).sum(), t(2), t(1), LIMIT),
    "max(min)": (lambda x: torch.max(torch.min(x, torch.ones(())), torch.zeros(())).sum(), t(0.5), t(0, 1), HULL),
    "hardswish at -3": (lambda x: F.hardswish(x).sum(), t(1), t(-3), LIMIT),
    "hardswish at 3": (lambda x: F.hardswish(x).sum(), t(4), t(3), LIMIT),
    "max()": (lambda x: x.max(), t(1, 2, 0), t(2, 2, 0), HULL),
    "max(dim)": (lambda x: x.max(0).values, t(1, 2, 0), t(2, 2, 0), LIMIT),
    "amax": (lambda x: x.amax(0), t(1, 2, 0), t(2, 2, 0), HULL),
    "scatter amax": (scattered, t(1, 2, 3), t(2, 2, 3), HULL),
    "scatter amax, of what was there": (scattered, t(1, 2, -3), t(1, 2, 0), (OUTSIDE, True)),
    "fmax": (lambda x: torch.fmax(x[0], x[1]), t(1, 2), t(1, 1), LIMIT),
    "max(x, x)": (lambda x: torch.max(x, x).sum(), t(1), t(0), BOTH),
    "softplus": (lambda x: F.softplus(x).sum(), t(1), t(20), JUMPS),
    "softplus with beta": (lambda x: F.softplus(x, 2.0, 8.0).sum(), t(1), t(4), JUMPS),
    "log1p form": (lambda x: (x.relu() + torch.log1p(torch.exp(-x.abs()))).sum(), t(1), t(0), (OUTSIDE, True)),
    "log form": (lambda x: torch.log(1 + torch.exp(x)).sum(), t(1), t(0), BOTH),
    "logsigmoid": (lambda x: F.logsigmoid(x).sum(), t(1), t(0), BOTH),
    "BCE with logits": (lambda x: F.binary_cross_entropy_with_logits(x, t(1, 0.25)), t(1, 2), t(0, 0), BOTH),
    "norm": (lambda x: x.norm(), t(3, 4), t(0, 0), HULL),
    "norm^2": (lambda x: x.norm() ** 2, t(3, 4), t(0, 0), BOTH),
    "infinity norm": (lambda x: torch.linalg.vector_norm(x, ord=float("inf")), t(1, 2), t(1, -1), HULL),
    "exp of abs": (lambda x: (x.abs() + 1).exp().sum(), t(1), t(0), HULL),
    "exp of maximum": (lambda x: torch.exp(torch.maximum(x[0], x[1])), t(1, 2), t(1, 1), HULL),
    "normed": (lambda x: (x[:2] - x[2:]).norm().sigmoid(), t(1, 2, 4, 6), t(1, 2, 1, 2), HULL),
    "abs": (lambda x: x.abs().sum(), t(1), t(0), HULL),
    "abs^2": (lambda x: (x.abs() ** 2).sum(), t(1), t(0), BOTH),
    "a branch by ==": (lambda x: torch.where(x == 0, 0 * x, x).sum(), t(1), t(0), (OUTSIDE, True)),
    "a branch by <": (lambda x: torch.where(x < 0, x, 2 * x).sum(), t(1), t(0), LIMIT),
    "subnormals": (lambda x: (F.relu(x) + x.abs()).sum(), t(1e-40, -1e-42), t(1e-45, 0), HULL),
    "softmax": (lambda x: torch.softmax(x, 0)[0], t(1, 2), t(0, 0), BOTH),
    "sigmoid": (lambda x: torch.sigmoid(x).sum(), t(1), t(0), BOTH),
    "gelu": (lambda x: F.gelu(x).sum(), t(1), t(0), BOTH),
    "gelu of a kink": (lambda x: (F.gelu(x.relu()) + torch.erf(x)).sum(), t(1), t(0), LIMIT),
    "silu": (lambda x: F.silu(x).sum(), t(1), t(0), BOTH),
    "mse": (lambda x: F.mse_loss(x, t(1, 2)), t(1, 3), t(1, 2), BOTH),
    "matmul": (lambda x: (torch.tensor([[1.0, 2.0], [3.0, 4.0]]) @ x).relu().sum(), t(1, 3), t(0, 0), LIMIT),
    "linear": (lambda x: F.linear(x, torch.tensor([[1.0, 2.0], [3.0, 4.0]]), t(1, 2)).sum(), t(1, 3), t(0, 0), BOTH),
    "cat": (lambda x: torch.cat([x, 2 * x]).relu().sum(), t(1), t(0), LIMIT),
    "std": (lambda x: x.std(), t(1, 3, 2), t(1, 1, 1), ("in-clarke", None)),
    "std of rows": (lambda x: x.reshape(2, 4).std(1, correction=0).sum(), t(1, 2, 3, 7, 1, 3, 3, 3), t(1, 2, 3, 7, 2, 2, 2, 2), ("in-clarke", None)),
    "var": (lambda x: x.var(), t(1, 3, 2), t(1, 1, 1), BOTH),
    "mean": (lambda x: x.mean(), t(1, 3, 2), t(1, 1, 1), BOTH),
    "max_pool1d": (lambda x: F.max_pool1d(x.reshape(1, 1, -1), 2).sum(), t(1, 3, 2, 1), t(1, 1, 2, 2), LIMIT),
    "cumsum": (lambda x: x.cumsum(0).relu().sum(), t(1, 3, 2), t(1, -1, 1), LIMIT),
    "sign": (lambda x: torch.sign(x).sum(), t(1), t(0), JUMPS),
    "round": (lambda x: torch.round(x).sum(), t(0.75), t(0.5), JUMPS),
    "clipping by a norm": (clipped, t(3, 4), t(0, 0), BOTH),
    "sqrt": (lambda x: torch.sqrt(x).sum(), t(4), t(0), "the derivative of sqrt at 0 is infinite"),
    "x^1.5": (lambda x: (x**1.5).sum(), t(4), t(0), ROOT),
    "huber": (lambda x: F.huber_loss(x, torch.zeros(1)), t(0.5), t(1), BOTH),
    "margin ranking": (lambda x: F.margin_ranking_loss(x[:1], x[1:], torch.ones(1), margin=1.0), t(1, 3), t(1, 0), LIMIT),
    "hinge": (lambda x: F.hinge_embedding_loss(x, -torch.ones(1)), t(0.5), t(1), LIMIT),
    "triplet": (triplet, t(0, 0, 3, 4, 1, 0), t(0, 0, 3, 0, 4, 0), LIMIT),
    "leaky": (lambda x: F.leaky_relu(x).sum(), t(1), t(0), LIMIT),
    "elu": (lambda x: F.elu(x, 2.0).sum(), t(1), t(0), LIMIT),
    "celu": (lambda x: F.celu(x, 2.0).sum(), t(1), t(0), BOTH),
    "selu": (lambda x: F.selu(x).sum(), t(1), t(0), LIMIT),
    "prelu": (lambda x: F.prelu(x, t(0.25)).sum(), t(1), t(0), LIMIT),
    "softshrink": (lambda x: F.softshrink(x).sum(), t(1), t(0.5), LIMIT),
    "hardshrink": (lambda x: F.hardshrink(x).sum(), t(1), t(0.5), JUMPS),
    "tanhshrink": (lambda x: F.tanhshrink(x).sum(), t(1), t(0), BOTH),
    "threshold": (lambda x: F.threshold(x, 1.0, 20.0).sum(), t(2), t(1), JUMPS),
    "threshold without a gap": (lambda x: F.threshold(x, 1.0, 1.0).sum(), t(2), t(1), LIMIT),
    "logsumexp": (lambda x: x.logsumexp(0), t(1, 2), t(0, 0), BOTH),
    "atan": (lambda x: torch.atan(x).sum(), t(1, -3), t(0, 0.5), BOTH),
    "atan of a kink": (lambda x: torch.atan(x.relu()).sum(), t(1), t(0), LIMIT),
    "atan2": (lambda x: torch.atan2(x[0], x[1]), t(1, -2), t(0, 0), "an angle of 0 and a number that is not above 0"),
    "atan2 on the axis": (lambda x: torch.atan2(x[0], x[1]), t(-1, -2), t(0, 2), BOTH),
    "asin": (lambda x: torch.asin(x).sum(), t(0.5, -0.25), t(0), BOTH),
    "acos": (lambda x: torch.acos(x).sum(), t(0.5, -0.25), t(0), BOTH),
    "norm of order 3": (lambda x: x.norm(p=3), t(3, -4), t(3, 0), ("in-clarke", None)),
    "remainder": (lambda x: torch.remainder(x, 0.75).sum(), t(1, -0.5), t(1.5), JUMPS),
    "fmod": (lambda x: torch.fmod(x, 0.75).sum(), t(1, -0.5), t(-1.5), JUMPS),
    "fmod at 0": (lambda x: torch.fmod(x, 0.75).sum(), t(-1), t(0), BOTH),
    "grid at an entry": (lambda x: F.grid_sample(t(1, 2, 5).reshape(1, 1, 1, 3), torch.stack([x, 0 * x], 1).reshape(1, 1, 1, 2), align_corners=True).sum(), t(0.25), t(0), LIMIT),
    "grid at its border": (lambda x: F.grid_sample(t(1, 2, 5).reshape(1, 1, 1, 3), torch.stack([x, 0 * x], 1).reshape(1, 1, 1, 2), padding_mode="border", align_corners=True).sum(), t(0.25), t(1), LIMIT),
    "grids beside their mirrors": (lambda x: (lambda v: (v + v.flip(3)).sum())(F.grid_sample(t(1, 2, 5).reshape(1, 1, 1, 3), torch.stack([torch.cat([x, -x]), t(0, 0)], 1).reshape(1, 1, 2, 2), align_corners=True)), t(0.25), t(0), HULL),
    "det": (lambda x: torch.linalg.det(x.reshape(2, 2)), t(1, 2, 3, 5), t(0, 1, 1, 0), BOTH),
    "inverse of relu": (lambda x: torch.linalg.inv(x.relu().reshape(2, 2))[0, 1], t(1, 2, 3, 5), t(0, 1, 2, 1), LIMIT),
    "xlogy": (lambda x: torch.xlogy(x[0], x[1]), t(1, 2), t(0, 0), "x log y has a pole"),
    "nan_to_num": (lambda x: torch.nan_to_num(x).sum(), t(1), t(0), BOTH),
}

W = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]], dtype=torch.float64)
K = torch.arange(1.0, 9.0, dtype=torch.float64).reshape(2, 1, 2, 2) / 8
ONES = torch.ones(2, dtype=torch.float64)
# Other operators of the recorder's table, each at a point where nothing is equal: AD has the gradient. Of (2, 2, 3, 3), and of vectors, numbers.
OTHERS = {
    "conv2d": lambda x: F.conv2d(x[:, :1], K, padding=1, stride=2).square().sum(),
    "conv2d of groups": lambda x: F.conv2d(x, K, groups=2, dilation=2).square().sum(),
    "max_pool2d": lambda x: F.max_pool2d(x, 2, stride=1, padding=1, ceil_mode=True).square().sum(),
    "avg_pool2d": lambda x: (F.avg_pool2d(x, 2, padding=1, ceil_mode=True)
        * F.avg_pool2d(x, 2, padding=1, ceil_mode=True, count_include_pad=False)).sum(),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, 1).square().sum() + F.adaptive_avg_pool2d(x, 2).sum(),
    "layer_norm": lambda x: (F.layer_norm(x[..., 0], (3,), W[0], W[1], 2.0**-10) * W[0]).sum(),
    "batch_norm": lambda x: (F.batch_norm(x, None, None, ONES * 3, ONES, True, eps=2.0**-10)[..., 0] * W[1]).sum(),
    "batch_norm of running": lambda x: F.batch_norm(x, W[0, :2], ONES, ONES * 3, ONES, False, eps=2.0**-10).square().sum(),
    "group_norm": lambda x: (F.group_norm(x, 1, ONES * 2, ONES, 2.0**-10)[..., 0] * W[1]).sum(),
    "attention": lambda x: (torch.softmax(x[0, 0] @ x[0, 1].t(), -1) @ x[1, 0]).square().sum(),
    "cross_entropy": lambda x: F.cross_entropy(x[0, 0], torch.tensor([0, 2, 1])),
    "binary_cross_entropy": lambda x: F.binary_cross_entropy(torch.sigmoid(x[0, 0, 0]), W[0].clamp(0, 1)),
    "smooth_l1": lambda x: F.smooth_l1_loss(x[0, 0, 0], W[0], beta=0.5),
    "bmm": lambda x: torch.bmm(x[0], x[1]).square().sum() + torch.matmul(x, W[0]).square().sum() + torch.matmul(W, x).sum(),
    "baddbmm": lambda x: torch.baddbmm(x[0], x[1], x[0], beta=2, alpha=0.5).sum() + torch.addmv(x[0, 0, 0], x[0, 1], x[1, 0, 0], alpha=3).sum(),
    "addcmul": lambda x: torch.addcmul(x[0], x[1], x[0], value=0.5).sum() + torch.addcdiv(x[0], x[1], x[0], value=2).sum(),
    "sort": lambda x: (torch.sort(x[0, 0], dim=0).values[0] * W[0]).sum() + (torch.topk(x[1, 1], 2).values[:, 1] * W[1]).sum(),
    "max, min of axes": lambda x: x.amax((1, 3)).square().sum() + x.min(2, keepdim=True).values.sum() + x.amin() * x.max(),
    "logsumexp": lambda x: x.logsumexp(2).square().sum() + torch.log_softmax(x, 1).square().sum(),
    "norms": lambda x: torch.linalg.vector_norm(x, dim=(1, 2)).sum() + x.norm(p=1) + F.normalize(x[0, 0], dim=-1).square()[0].sum(),
    "std_mean": lambda x: torch.std_mean(x, dim=(0, 2))[0].square().sum() + torch.std_mean(x)[1] + x.var(0, correction=0).sum(),
    "powers": lambda x: (x**3 + x**-2 + 1 / x).sum() + (x.abs() ** 0.3).sum()
        + (x.square() ** -0.5).sum() + torch.rsqrt(x * x).sum() + 2.0**x.sum(),
    "moves": lambda x: (x.flip(0).roll(1, 2).permute(3, 2, 1, 0).repeat(1, 1, 1, 2)[0] * x[0, 0, 0, 0]).sum()
        + x.transpose(0, 1).expand(2, 2, 2, 3, 3)[0, 1].sum(),
    "parts": lambda x: (x.split(2, 3)[1] * x.unbind(3)[1].unsqueeze(-1)).sum() + torch.stack([x, 2 * x]).square().sum() + x.chunk(2)[1].sum(),
    "taken": lambda x: (x[:, :, [2, 0]] * x.index_select(2, torch.tensor([1, 1]))).sum()
        + x.gather(3, torch.zeros(2, 2, 3, 1, dtype=torch.int64)).square().sum(),
    "masked": lambda x: x.masked_fill(x > 1, 0.0).square().sum() + x.tril().sum()
        + torch.where(~(x > 0) | (x < -1), x, 2 * x).square().sum(),
    "padded": lambda x: F.pad(x, (1, 2, 0, 1), value=2.0).square().sum() + F.pad(x, (1, 1, 0, 2), mode="reflect").square().sum()
        + F.pad(x, (-1, 0)).sum(),
    "scattered": lambda x: torch.zeros(3, 3, dtype=x.dtype).scatter_add(0, torch.tensor([[0, 2, 0], [1, 1, 2]]), x[0, 0, :2]).square().sum()
        + x[0, 0].scatter_reduce(1, torch.tensor([[0, 2, 1], [1, 1, 0], [2, 0, 0]]), x[1, 1], "amin").square().sum(),
    "smooth": lambda x: (F.gelu(x, approximate="tanh") + F.mish(x) + F.softplus(x, 2.0) + F.softsign(x) + torch.sin(x) * torch.cos(x)).sum(),
    "gates": lambda x: (F.glu(x.flatten(1)[:, :8]) + F.hardsigmoid(x.flatten(1)[:, :4]) * F.relu6(x.flatten(1)[:, 4:8])).sum(),
    "clamped": lambda x: (torch.clamp(x, -1, 0.5) + torch.clamp_max(x, 0.25) * torch.minimum(x, W[0]) + torch.fmin(x, W[1])).sum(),
    "leaps": lambda x: ((x - torch.round(x)) ** 2 + x * torch.floor(x) + torch.ceil(x) * torch.trunc(x) + x.frac() * x.sign()).sum(),
    "conditions as numbers": lambda x: ((x > 0).to(x.dtype) * (1 - (x.detach() < -1).to(x.dtype)) * x).square().sum(),
    "sums of conditions": lambda x: (x * ((x > 0).sum() + (x.isnan() | (x < 1)).to(x.dtype).mean())).sum(),
    "in place": lambda x: (x * 1).clamp_min_(-1).mul_(2).add_(x).relu_().sum(),
    "casts": lambda x: (x.float() * 2).double().sum(),
    "inverses": lambda x: torch.linalg.inv(x[0, 0] + 3 * torch.eye(3)).square().sum() + torch.linalg.solve(x[1, 0] + 3 * torch.eye(3), x[0, 1]).sum(),
    "determinants": lambda x: torch.linalg.det(x[0]).square().sum() + torch.linalg.slogdet(x[1, 1])[1],
    "roots of matrices": lambda x: torch.linalg.cholesky(x[0, 0] @ x[0, 0].T + torch.eye(3)).sum()
        + torch.linalg.solve_triangular(x[0, 1], x[1, 1], upper=True).square().sum(),
    "grid": lambda x: F.grid_sample(x[:1], x[1:, :, :2, :2] / 2, align_corners=False).square().sum()
        + F.grid_sample(x[:1], F.affine_grid(x[1:, 0, :2] / 2, [1, 2, 2, 2], align_corners=True), padding_mode="border", align_corners=True).sum(),
    "inverse functions": lambda x: (torch.asinh(x) + torch.acosh(x.square() + 1.5) + torch.atanh(x / 4) + torch.logit(x / 8 + 0.5)).sum(),
    "put among others": lambda x: x[0, 0].index_fill(1, torch.tensor([1]), 2.0).square().sum() + x[0, 0].index_copy(0, torch.tensor([1]), x[1, 0, :1]).square().sum()
        + x[0, 0].masked_scatter(torch.eye(3).bool(), x[1, 1]).square().sum() + torch.block_diag(x[0, 0], x[1, 1]).square().sum() + F.fold(x[:1, 0].reshape(1, 9, 1)[:, :4], (2, 2), 2).sum(),
    "products of vectors": lambda x: (torch.linalg.cross(x[0, 0], x[1, 1]) * x[0, 1]).sum() + torch.addr(x[0, 0], x[0, 0, 0], x[1, 1, 0]).sum() + F.pdist(x[0, 0]).sum(),
    "upsample": lambda x: F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True).square().sum() + F.interpolate(x, size=2).sum(),
}


def same(exact, ran):
    """A float's rounding apart: what tells is that another slope was taken."""
    numbers = [float(v) if v.endswith("inf") or v == "nan" else float(Fraction(v)) for v in exact]
    return len(numbers) == len(ran) and all(a == b or abs(a - b) <= 1e-6 * max(1, abs(b)) for a, b in zip(numbers, ran))


def verified(said):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("traced.prog", said["program"]), ("proof", said["proof"])):
            with open(os.path.join(folder, name), "w") as out:
                out.write(text)
        return subprocess.run([CHECK, os.path.join(folder, "proof")], capture_output=True, text=True).stdout.startswith("VERIFIED")


def asked(name, f, at, expected):
    x, name = at.clone().requires_grad_(), f"{name} at {at.tolist() if at.dim() < 2 else 'a drawn point'}"
    value = f(x)
    gradient = torch.autograd.grad(value, x)[0].reshape(-1).tolist()
    try:
        said = clarke.derive(f, at)
    except clarke.Refused as why:
        return expect(isinstance(expected, str) and expected in str(why) and "everyday.py:" in str(why), f"{name}: refused: {why}")
    expect(same(said["ad"], gradient) and same([said["value"]], [value.item()]),
           f"{name}: {said['value']}, {said['ad']}; PyTorch has {value.item()}, {gradient}")
    found = said["verdict"], said["differentiable"]
    if isinstance(expected, str):
        expect(found == ("undecided", None) and expected in said["why"] and "everyday.py:" in said["why"], f"{name}: {found}: {said['why']}")
        return expect("proof" not in said, f"{name}: a proof of nothing")
    expect(found == expected, f"{name}: {found}, and not {expected}: {said['why']}\n{said['program'][:2000]}")
    return expect("proof" in said and verified(said), f"{name}: its proof is not verified")


def main():
    for name, (f, smooth, kink, expected) in EVERYDAY.items():
        if not sys.argv[3:] or name in sys.argv[3:]:
            asked(name, f, smooth, BOTH)
            asked(name, f, kink, expected)
    torch.manual_seed(1)
    at = (2 * torch.randperm(36) - 35).reshape(2, 2, 3, 3) / torch.tensor(16.0, dtype=torch.float64)  # all apart, none a whole number or a half
    for name, f in OTHERS.items():
        if not sys.argv[3:] or name in sys.argv[3:]:
            asked(name, f, at, BOTH)
    finish()


if __name__ == "__main__":
    main()
