#!/usr/bin/env python3
"""What certifying costs: the processor time of `clarke certify --nodes` over that of the training step, both on one core.

    certifying.py CLARKE [IMAGES [ROUNDS]]        128 images of 32 x 32 through VGG11, three rounds

Step and program take turns; the smallest of each counts. Reading the files is part of it.
"""
import os
import subprocess
import sys
import tempfile
import time

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "python"))
import clarke  # noqa: E402
from timing import used  # noqa: E402


def vgg11():
    layers, width = [], 3
    for out, pool in [(64, True), (128, True), (256, False), (256, True), (512, False), (512, True), (512, False), (512, True)]:
        layers += [nn.Conv2d(width, out, 3, padding=1), nn.ReLU(inplace=True)] + [nn.MaxPool2d(2)] * pool
        width = out
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(512, 10))


def main():
    program, images, rounds = sys.argv[1], int((sys.argv[2:] or [128])[0]), int((sys.argv[3:] or [3])[0])
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model, x, y = vgg11(), torch.randn(images, 3, 32, 32), torch.randint(0, 10, (images,))

    def step():
        model.zero_grad()
        F.cross_entropy(model(x), y).backward()

    steps, certified = [], []
    with tempfile.TemporaryDirectory() as run:
        model.zero_grad()
        with clarke.record(run, model):
            F.cross_entropy(model(x), y).backward()
        for _ in range(rounds):
            for _ in range(3):
                begin = time.process_time()
                step()
                steps.append(time.process_time() - begin)
            run_of = used([program, "certify", "--nodes", run])
            if run_of["status"] != 0:
                raise SystemExit(f"clarke certify: status {run_of['status']}")
            certified.append(run_of["seconds"])
    print(f"VGG11, {images} images: a step takes {min(steps):.2f} s, certifying its record {min(certified):.2f} s: "
          f"{min(certified) / min(steps):.1f} times")


if __name__ == "__main__":
    main()
