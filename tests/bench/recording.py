#!/usr/bin/env python3
"""What recording costs: the time of a recorded training step over that of the step, in one thread of PyTorch's.

    recording.py [NAME...]        lenet-16, lenet, lenet-512, vgg, vgg11

Time is the processor's, of the whole process; of steps recorded in the background that of the training's own thread.
The smallest of twelve. Each step but the first is put behind others in one folder, and its operators are not replayed.
"""
import os
import sys
import tempfile
import time

import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "python"))
import clarke  # noqa: E402
from clarke.recorder import settle  # noqa: E402

WAYS = [("all", {}, time.process_time), ("light", {"light": True}, time.process_time),
        ("all, not run again", {"again": False}, time.process_time),
        ("light, not run again", {"light": True, "again": False}, time.process_time),
        ("all, in the background", {"background": True}, time.thread_time),
        ("light, in the background", {"light": True, "background": True}, time.thread_time)]


def lenet():
    return nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))


def convolutions(*widths):
    """With a normalization and a ReLU behind each; 0 stands for a pool."""
    layers, width = [], 3
    for out in widths:
        layers += [nn.Conv2d(width, out, 3, padding=1), nn.BatchNorm2d(out), nn.ReLU(inplace=True)] if out > 0 else [nn.MaxPool2d(2)]
        width = out or width
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(512, 10))


def vgg():
    return convolutions(16, 0, 32, 0, 64, 64, 0, 128, 128, 0)


def vgg11():
    return convolutions(64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0)


def smallest(step, clock):
    times = []
    for i in range(13):
        begin = clock()
        step(i)
        times.append(clock() - begin)
        settle()
    return min(times[1:])


def measure(name, model, x):
    y = torch.randint(0, 10, x.shape[:1])

    def plain(_):
        model.zero_grad()
        F.cross_entropy(model(x), y).backward()

    print(f"{name}: a step takes {1e3 * smallest(plain, time.process_time):.1f} ms")
    for way, options, clock in WAYS:
        own = smallest(plain, time.process_time)  # of others the machine has more or less to do by now
        with tempfile.TemporaryDirectory() as folder:
            def recorded(i):
                model.zero_grad()
                with clarke.record(folder, model, step=i, append=i > 0, **options):
                    F.cross_entropy(model(x), y).backward()

            print(f"  {way}: {smallest(recorded, clock) / own:.2f}")


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    known = {"lenet-16": (lenet, (16, 1, 28, 28)), "lenet-512": (lenet, (512, 1, 28, 28)), "lenet": (lenet, (128, 1, 28, 28)), "vgg": (vgg, (64, 3, 32, 32)),
             "vgg11": (vgg11, (128, 3, 32, 32))}
    for name in sys.argv[1:] or known:
        make, shape = known[name]
        measure(name, make(), torch.randn(*shape))


if __name__ == "__main__":
    main()
