#!/usr/bin/env python3
"""What a watched training step costs beside the plain one.

    monitoring.py CLARKE [--only NAME ...] [--every N ...] [--rounds N]

prints a table. For each network: the plain step; the same under torch.autograd.detect_anomaly; with clarke.counts, which counts arguments of ReLU at 0 and
tied windows above 0 in floats; and with clarke.monitor, of every N-th step. Time is the processor's, of one thread: the training's thread alone, and all
threads and processes that answer, too. Of each the mean over the steps of a round, and the least of the rounds: other programs take the caches. A
program's first three watched steps, which are seen in other ways, are told by themselves. Where a watched step waits for answers, the processor's caches are others' in
the meantime: a row has the plain step after a pause as long.
"""
import argparse
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "tools" / "python"))
import clarke  # noqa: E402


def mlp():
    return nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 10)), torch.rand(128, 784)


def vgg11():
    layers, width = [], 3
    for out, pool in [(32, True), (64, True), (128, False), (128, True), (256, False), (256, True), (256, False), (256, True)]:
        layers += [nn.Conv2d(width, out, 3, padding=1), nn.ReLU()] + [nn.MaxPool2d(2)] * pool
        width = out
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(256, 10)), torch.randn(128, 3, 32, 32)


NETWORKS = {"MLP 784-256-64-10, 128": mlp, "VGG11, channels halved, 128": vgg11}


def whole():
    """The processor's seconds, of this process and of those that ended."""
    return sum(use.ru_utime + use.ru_stime for use in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def steps(net, x, n, block=None, pause=0.0, ends=False):
    """Seconds of the training's thread, and of all, a step; and those that the thread waited for others."""
    y, optimizer = torch.arange(len(x)) % 10, torch.optim.SGD(net.parameters(), lr=.01)
    thread, all_, clock = time.thread_time(), whole(), time.perf_counter()
    for _ in range(n):
        if pause:
            time.sleep(pause)
        optimizer.zero_grad()
        if block is None:
            F.cross_entropy(net(x), y).backward()
        else:
            with block:
                F.cross_entropy(net(x), y).backward()
        optimizer.step()
    own = time.thread_time() - thread
    waited = time.perf_counter() - clock - own
    if ends:
        said = block.close()
        assert said["unanswered"] == 0, said
    return own / n, (whole() - all_) / n, waited / n


def row(name, of, plain):
    print(f"| {name} | {1000 * of[0]:.3g} ms | {of[0] / plain:.3g} | {of[1] / plain:.3g} |", flush=True)


def measure(name, make, o):
    torch.manual_seed(0)
    net, x = make()
    quick = name.startswith("MLP")
    n = o.rounds * (50 if quick else 4)
    steps(net, x, 2)
    plain = min(steps(net, x, n)[0] for _ in range(5))
    row(f"{name}: plain", (plain, plain), plain)
    with torch.autograd.detect_anomaly(check_nan=True):
        row("detect_anomaly", steps(net, x, n), plain)
    counted = clarke.counts(net)
    row("kinks counted (clarke.counts)", steps(net, x, n), plain)
    counted.close()
    for every in o.every:
        with tempfile.TemporaryDirectory() as folder:
            watched = max(every, n // every * every) if every > 1 else o.rounds * (8 if quick else 2)
            watch = clarke.monitor(net, folder, every=every, options=("--threads", "1"))
            first = steps(net, x, 3 * every, watch)
            rounds = [steps(net, x, watched, watch, ends=i == 0) for i in reversed(range(5))]
            found = min(r[0] for r in rounds), sum(r[1] for r in rounds) / len(rounds), min(r[2] for r in rounds)
            row(f"monitored, every {every}", found, plain)
            row("its first three watched steps" if every == 1 else f"the first {3 * every} steps", first, plain)
        if every == 1:
            row(f"plain, each after a pause of {1000 * found[2]:.3g} ms", steps(net, x, min(n, watched), pause=found[2]), plain)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("clarke")
    p.add_argument("--only", nargs="+", default=[""])
    p.add_argument("--every", nargs="+", type=int, default=[1, 100])
    p.add_argument("--rounds", type=int, default=2)
    o = p.parse_args()
    os.environ["CLARKE"] = os.path.abspath(o.clarke)
    torch.set_num_threads(1)
    print("| | training's thread, a step | beside the plain one | with all that answers |\n|---|---|---|---|")
    for name, make in NETWORKS.items():
        if any(name.startswith(only) for only in o.only):
            measure(name, make, o)


if __name__ == "__main__":
    main()
