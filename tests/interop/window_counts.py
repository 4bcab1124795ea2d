"""The numbers that tell windows' entries apart (tools/train/window_counts.py), against PyTorch's own derivatives, in small.

    window_counts.py

Weights and pixels are small whole numbers, so each product and sum is exact in float64. The derivatives of two entries, by all parameters of
their layer and of those before, are equal or not, bit for bit: of every window above 0 that ties in one of two pools.
"""
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools/train"), str(ROOT / "tests/tools")]
os.environ["OMP_NUM_THREADS"] = "1"

import torch  # noqa: E402
from torch import nn  # noqa: E402

from expect import expect, finish  # noqa: E402
from window_counts import Windows  # noqa: E402


def make(seed):
    torch.manual_seed(seed)
    net = nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(2, 2, 2), nn.ReLU(),
                        nn.MaxPool2d(3, stride=2, padding=1)).double()
    with torch.no_grad():
        for p in net.parameters():
            p.copy_(torch.randint(-1, 2, p.shape))
    x = torch.zeros(2, 1, 8, 8, dtype=torch.float64)
    x[:, :, 2:7, 1:6] = torch.randint(0, 3, (2, 1, 5, 5)).double()
    return net, x


def derivative(net, entry, seen):
    """By the parameters, as AD has it."""
    if entry not in seen:
        found = torch.autograd.grad(entry[0][entry[1]], list(net.parameters()), retain_graph=True, allow_unused=True)
        seen[entry] = torch.cat([torch.zeros(p.numel(), dtype=torch.float64) if g is None else g.flatten()
                                 for g, p in zip(found, net.parameters())])
    return seen[entry]


def windows_of(pool, x):
    """Each window's places in the picture, row by row."""
    size, stride, border = pool.kernel_size, pool.stride, pool.padding
    out = pool(x)
    for n, c, row, column in torch.cartesian_prod(*(torch.arange(k) for k in out.shape)).tolist():
        places = [(n, c, row * stride - border + i, column * stride - border + j) for i in range(size) for j in range(size)]
        yield out[n, c, row, column], [p for p in places if 0 <= p[2] < x.shape[2] and 0 <= p[3] < x.shape[3]]


def by_derivatives(net, pool, x):
    """Windows tied above 0; of them those with another derivative than the first's; entries of those."""
    tied, parted, entries, seen = 0, 0, 0, {}
    for largest, places in windows_of(pool, x):
        same = [p for p in places if x[p] == largest]
        if len(same) < 2 or largest <= 0:
            continue
        first = derivative(net, (x, same[0]), seen)
        others = sum(not torch.equal(first, derivative(net, (x, p), seen)) for p in same[1:])
        tied, parted, entries = tied + 1, parted + (others > 0), entries + others
    return tied, parted, entries


def main():
    total = [0, 0, 0]
    for seed in range(50):
        net, x = make(seed)
        counted = Windows(net)
        net(x)
        counted.counts = False
        values = [x]
        for module in net:
            values.append(module(values[-1]))
        for k, at in enumerate((2, 5)):
            found = by_derivatives(net, net[at], values[at])
            pool, other = counted.pools["AD"][k], counted.pools["identity"][k]
            expect((pool.tied, pool.parted, pool.entries) == found, f"seed {seed}, pool {k}: {(pool.tied, pool.parted, pool.entries)}, not {found}")
            expect(other.tied == pool.tied and other.parted >= pool.parted, f"seed {seed}, pool {k}: functions that differ in derivatives are none")
            total = [a + b for a, b in zip(total, found)]
    print(f"{total[0]} windows tied above 0, {total[1]} with other functions, {total[2]} entries of those")
    expect(total[0] > 500 and total[1] > 300 and total[0] > total[1] + 100, f"{total}")
    finish()


main()
