"""The numbers that tell windows' entries apart (tools/train/window_counts.py), and S_j less T_j as `clarke audit` counts it, against PyTorch's
own derivatives, in small.

    window_counts.py CLARKE

Weights and pixels are small whole numbers, so each product and sum is exact in float64. The derivatives of two entries, by all parameters of
their layer and of those before, are equal or not, bit for bit: of every window above 0 that ties in one of two pools.
"""
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools/train"), str(ROOT / "tests/tools"), str(ROOT / "tools/python")]
os.environ |= {"OMP_NUM_THREADS": "1", "CLARKE": os.path.abspath(sys.argv[1])}

import torch  # noqa: E402
from torch import nn  # noqa: E402

import clarke  # noqa: E402
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


def relus_at_their_kinks():
    """A window of relu(w) + 1, relu(0) + 1, relu(2 w) + 1 and relu(0) + 1 at w = 0: four functions, whose derivatives are those of 1."""
    net = nn.Sequential(nn.Conv2d(1, 1, 1, bias=False), nn.ReLU(), nn.Conv2d(1, 1, 1), nn.ReLU(), nn.MaxPool2d(2)).double()
    with torch.no_grad():
        for p, value in zip(net.parameters(), (0, 1, 1)):
            p.fill_(value)
    return net, torch.tensor([[[[1., 0], [2, 0]]]], dtype=torch.float64)


def open_arguments():
    """sigmoid(v + w) twice, of two patches: nobody tells that these tie, and so not that they do not."""
    net = nn.Sequential(nn.Conv2d(2, 1, 1, bias=False), nn.Sigmoid(), nn.MaxPool2d(2)).double()
    nn.init.ones_(net[0].weight)
    return net, torch.tensor([[[[1., 0], [0, 0]], [[0, 1], [0, 0]]]], dtype=torch.float64)


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


def audited(net, x):
    """Of each pool S_j less T_j, by derivatives and by identity: (windows, entries) each."""
    with tempfile.TemporaryDirectory() as folder:
        with clarke.record(folder, net):
            net(x).sum().backward()
        layers = [layer for layer in clarke.audit(folder).report["layers"] if layer["op"] == "MaxPool"]
    none = {"windows": 0, "entries": 0}
    return [[layer.get(of, none) and tuple(layer.get(of, none)[key] for key in none) for of in ("s_less_t", "s_less_t_by_identity")] for layer in layers]


def monitored(net, x, steps):
    """What the pools' sums over so many watched steps are, by derivatives and by identity: (steps, windows, entries) each."""
    with tempfile.TemporaryDirectory() as folder:
        watch = clarke.monitor(net, folder)
        for _ in range(steps):
            net.zero_grad()
            with watch:
                net(x).sum().backward()
        closed = watch.close()
        layers = [layer for layer in closed["layers"].values() if layer["op"] == "MaxPool"]
    if any(layer["s_less_t"]["steps_not_known"] for layer in layers):
        return closed
    return [[tuple(layer[of][key] for key in ("steps", "windows", "entries")) for of in ("s_less_t", "s_less_t_by_identity")] for layer in layers]


def main():
    total = [0, 0, 0]
    for seed in range(50):
        net, x = make(seed)
        counted = Windows(net)
        net(x)
        counted.counts = False
        said = audited(net, x)
        values = [x]
        for module in net:
            values.append(module(values[-1]))
        for k, at in enumerate((2, 5)):
            found = by_derivatives(net, net[at], values[at])
            pool, other = counted.pools["AD"][k], counted.pools["identity"][k]
            expect((pool.tied, pool.parted, pool.entries) == found, f"seed {seed}, pool {k}: {(pool.tied, pool.parted, pool.entries)}, not {found}")
            expect(other.tied == pool.tied and other.parted >= pool.parted, f"seed {seed}, pool {k}: functions that differ in derivatives are none")
            total = [a + b for a, b in zip(total, found)]
            by_derivatives_, by_identity = said[k]
            expect(by_derivatives_ == found[1:], f"seed {seed}, pool {k}: audited {by_derivatives_}, not {found[1:]}")
            expect(by_identity[0] >= found[1] and by_identity[1] >= found[2], f"seed {seed}, pool {k}: {by_identity} by identity")
    print(f"{total[0]} windows tied above 0, {total[1]} with other functions, {total[2]} entries of those")
    expect(total[0] > 500 and total[1] > 300 and total[0] > total[1] + 100, f"{total}")
    net, x = relus_at_their_kinks()
    values = net[:4](x)
    expect((found := by_derivatives(net, net[4], values)) == (1, 0, 0), f"a window of functions that part at kinks: {found}")
    expect((said := audited(net, x)) == [[(0, 0), (1, 3)]], f"the same, audited: {said}")
    expect((said := monitored(net, x, 2)) == [[(0, 0, 0), (2, 2, 6)]], f"the same, in two watched steps: {said}")
    net, x = open_arguments()
    expect((said := audited(net, x)) == [[None, None]], f"where arguments are open, audited: {said}")
    said = monitored(net, x, 2)
    sets = [said["layers"]["2/max_pool2d_with_indices"][of] for of in ("s_less_t", "s_less_t_by_identity")]
    expect(sets == [{"steps": 0, "windows": 0, "entries": 0, "steps_not_known": 2}] * 2, f"where arguments are open, in two watched steps: {sets}")
    expect("No kink is known to be touched in any of them" in said["summary"]["answer"], said["summary"]["answer"])
    net, x = make(0)
    once = [[(int(windows > 0) * 3, windows * 3, entries * 3) for windows, entries in pool] for pool in audited(net, x)]
    expect((said := monitored(net, x, 3)) == once and once[0][0][0] == 3, f"three watched steps: {said}, not {once}")
    finish()


main()
