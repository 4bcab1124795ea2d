#!/usr/bin/env python3
"""clarke step against torch.optim in float64, single tensors: the rules named torch-..., to rounding.

    step_torch.py CLARKE
"""
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

CLARKE = sys.argv[1]
RULES = [
    ("torch-sgd", torch.optim.SGD, {"lr": 0.1}, "--eta 0.1d"),
    ("torch-sgd", torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "dampening": 0.5}, "--eta 0.1d --momentum 0.9d --dampening 0.5"),
    ("torch-sgd", torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01},
     "--eta 0.1d --momentum 0.9d --nesterov --weight-decay 0.01d"),
    ("torch-adagrad", torch.optim.Adagrad, {"lr": 0.1, "weight_decay": 0.01}, "--eta 0.1d --weight-decay 0.01d"),
    ("torch-rmsprop", torch.optim.RMSprop, {"lr": 0.1}, "--eta 0.1d"),
    ("torch-rmsprop", torch.optim.RMSprop, {"lr": 0.1, "momentum": 0.5, "alpha": 0.9}, "--eta 0.1d --momentum 0.5 --sigma 0.9d"),
    ("torch-adam", torch.optim.Adam, {"lr": 0.1}, "--eta 0.1d"),
    ("torch-adam", torch.optim.Adam, {"lr": 0.1, "betas": (0.8, 0.9), "weight_decay": 0.1, "eps": 1e-3},
     "--eta 0.1d --momentum 0.8d --sigma 0.9d --weight-decay 0.1d --eps 1e-3d"),
    ("torch-adamw", torch.optim.AdamW, {"lr": 0.1}, "--eta 0.1d"),
    ("torch-nadam", torch.optim.NAdam, {"lr": 0.1}, "--eta 0.1d"),
    ("torch-nadam", torch.optim.NAdam, {"lr": 0.1, "weight_decay": 0.01, "momentum_decay": 0.04},
     "--eta 0.1d --weight-decay 0.01d --momentum-decay 0.04d"),
]


def by_torch(make, options, theta, gradients):
    p = torch.nn.Parameter(torch.tensor(theta, dtype=torch.float64))
    optimizer, found = make([p], foreach=False, **options), []
    for g in gradients:
        p.grad = torch.tensor(g, dtype=torch.float64)
        optimizer.step()
        found.append(p.detach().tolist())
    return found


def number(text):
    above, _, below = text.partition("/")
    return int(above) / int(below) if below else float(above)


def by_rule(folder, rule, options, theta, gradients):
    (folder / "s.json").write_text(json.dumps({"theta": theta}))
    files = []
    for i, g in enumerate(gradients):
        (folder / f"g{i}.json").write_text(json.dumps(g))
        files += ["--gradient", str(folder / f"g{i}.json")]
    ran = subprocess.run([CLARKE, "step", rule, "--state", str(folder / "s.json"), *files, *options.split(), "--json"],
                         capture_output=True, text=True, check=True)
    return [[number(x) for x in s["theta"]] for s in json.loads(ran.stdout)["steps"]]


def main():
    torch.set_default_dtype(torch.float64)  # NAdam keeps its product of mu in the default type
    rng, worst = random.Random(36), 0
    with tempfile.TemporaryDirectory() as name:
        for rule, make, options, given in RULES:
            theta = [rng.randint(-64, 64) / 32 for _ in range(5)]
            gradients = [[rng.randint(-64, 64) / 64 for _ in range(5)] for _ in range(6)]
            pairs = zip(by_torch(make, options, theta, gradients), by_rule(Path(name), rule, given, theta, gradients))
            error = max(abs(x - y) for a, b in pairs for x, y in zip(a, b))
            print(f"{rule:14} {str(options):70} {error:.1e}")
            worst = max(worst, error)
    return worst > 1e-13


if __name__ == "__main__":
    sys.exit(main())
