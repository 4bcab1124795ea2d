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
    ("torch-adadelta", torch.optim.Adadelta, {}, "--eta 1"),
    ("torch-adadelta", torch.optim.Adadelta, {"lr": 0.5, "rho": 0.8, "eps": 1e-3, "weight_decay": 0.1},
     "--eta 0.5 --sigma 0.8d --eps 1e-3d --weight-decay 0.1d"),
    ("torch-adamax", torch.optim.Adamax, {"lr": 0.1}, "--eta 0.1d"),
    ("torch-adamax", torch.optim.Adamax, {"lr": 0.1, "betas": (0.8, 0.7), "eps": 1e-3, "weight_decay": 0.1},
     "--eta 0.1d --momentum 0.8d --sigma 0.7d --eps 1e-3d --weight-decay 0.1d"),
    ("torch-radam", torch.optim.RAdam, {"lr": 0.1}, "--eta 0.1d"),  # from the sixth step on it is rectified
    ("torch-radam", torch.optim.RAdam, {"lr": 0.1, "betas": (0.8, 0.99), "eps": 1e-3, "weight_decay": 0.1},
     "--eta 0.1d --momentum 0.8d --sigma 0.99d --eps 1e-3d --weight-decay 0.1d"),
    ("torch-radam", torch.optim.RAdam, {"lr": 0.1, "betas": (0.8, 0.5), "weight_decay": 0.1, "decoupled_weight_decay": True},
     "--eta 0.1d --momentum 0.8d --sigma 0.5 --weight-decay 0.1d --decay decoupled"),  # never
    ("torch-asgd", torch.optim.ASGD, {"lr": 0.1}, "--eta 0.1d"),
    ("torch-asgd", torch.optim.ASGD, {"lr": 0.1, "lambd": 0.3, "alpha": 0.5, "t0": 1.5, "weight_decay": 0.1},
     "--eta 0.1d --lambd 0.3d --alpha 0.5 --t0 1.5 --weight-decay 0.1d"),
    ("torch-rprop", torch.optim.Rprop, {"lr": 0.1}, "--eta 0.1d"),
    ("torch-rprop", torch.optim.Rprop, {"lr": 0.1, "etas": (0.3, 4.0), "step_sizes": (0.05, 0.5)},
     "--eta 0.1d --eta-minus 0.3d --eta-plus 4 --size-min 0.05d --size-max 0.5"),
    ("torch-sparseadam", torch.optim.SparseAdam, {"lr": 0.1}, "--eta 0.1d"),
    ("torch-sparseadam", torch.optim.SparseAdam, {"lr": 0.1, "betas": (0.8, 0.9), "eps": 1e-3, "maximize": False},
     "--eta 0.1d --momentum 0.8d --sigma 0.9d --eps 1e-3d"),
    ("torch-adafactor", torch.optim.Adafactor, {"lr": 0.1}, "--eta 0.1d --beta2-decay -0.8d --eps2 1e-3d"),
    ("torch-adafactor", torch.optim.Adafactor, {"lr": 0.5, "beta2_decay": -0.5, "eps": (1e-3, 0.1), "d": 1.25, "weight_decay": 0.1},
     "--eta 0.5 --beta2-decay -0.5 --eps 1e-3d --eps2 0.1d --clip 1.25 --weight-decay 0.1d"),
]


# Of those that the older rules do not have.
SLOTS = {"u": None, "prev": "prev", "size": "step_size", "ax": "ax"}
U = {torch.optim.Adadelta: "acc_delta", torch.optim.Adamax: "exp_inf"}
OF_RULE = {"torch-adadelta": "u", "torch-adamax": "u", "torch-rprop": "prev size", "torch-asgd": "ax"}


def by_torch(make, options, slots, theta, gradients):
    sparse = make is torch.optim.SparseAdam
    p = torch.nn.Parameter(torch.tensor(theta, dtype=torch.float64))
    optimizer, found = make([p], **options, **({} if sparse else {"foreach": False})), []
    for g in gradients:
        p.grad = torch.tensor(g, dtype=torch.float64)
        if sparse:  # all entries, one by one: zeros too
            p.grad = torch.sparse_coo_tensor(torch.arange(len(g))[None], p.grad, (len(g),))
        optimizer.step()
        found.append([p.detach().tolist(), *(optimizer.state[p][SLOTS[s] or U[make]].tolist() for s in slots)])
    return found


def number(text):
    above, _, below = text.partition("/")
    return int(above) / int(below) if below else float(above)


def by_rule(folder, rule, options, slots, theta, gradients):
    (folder / "s.json").write_text(json.dumps({"theta": theta}))
    files = []
    for i, g in enumerate(gradients):
        (folder / f"g{i}.json").write_text(json.dumps(g))
        files += ["--gradient", str(folder / f"g{i}.json")]
    ran = subprocess.run([CLARKE, "step", rule, "--state", str(folder / "s.json"), *files, *options.split(), "--json"],
                         capture_output=True, text=True, check=True)
    return [[[number(x) for x in s[name]] for name in ("theta", *slots)] for s in json.loads(ran.stdout)["steps"]]


def matrices(folder, rng):
    """Adafactor's averages of rows and columns, of two matrices of 2 x 3. (Muon computes in bfloat16, whatever its parameters are.)"""
    def drawn():
        return [[[rng.randint(-64, 64) / 64 for _ in range(3)] for _ in range(2)] for _ in range(2)]

    p, worst = torch.nn.Parameter(torch.tensor(drawn(), dtype=torch.float64)), 0
    optimizer = torch.optim.Adafactor([p], lr=0.1, d=1.25)
    (folder / "s.json").write_text(json.dumps({"theta": p.detach().tolist()}))
    files = []
    found = []
    for i in range(9):
        p.grad = torch.tensor(drawn(), dtype=torch.float64)
        (folder / f"g{i}.json").write_text(json.dumps(p.grad.tolist()))
        files += ["--gradient", str(folder / f"g{i}.json")]
        optimizer.step()
        found.append({"theta": p.detach().clone(), "row": optimizer.state[p]["row_var"].clone(), "col": optimizer.state[p]["col_var"].clone()})
    options = "--eta 0.1d --beta2-decay -0.8d --eps2 1e-3d --clip 1.25 --json".split()
    ran = subprocess.run([CLARKE, "step", "torch-adafactor", "--state", str(folder / "s.json"), *files, *options], capture_output=True, text=True, check=True)
    for mine, said in zip(found, json.loads(ran.stdout)["steps"]):
        for name, t in mine.items():
            worst = max(worst, *(abs(x - number(y)) for x, y in zip(t.flatten().tolist(), said[name], strict=True)))
    print(f"torch-adafactor, matrices {worst:.1e}")
    return worst


def main():
    sys.set_int_max_str_digits(0)
    torch.set_default_dtype(torch.float64)  # NAdam keeps its product of mu in the default type
    rng, worst = random.Random(36), 0
    with tempfile.TemporaryDirectory() as name:
        for rule, make, options, given in RULES:
            theta = [rng.randint(-64, 64) / 32 for _ in range(5)]
            gradients = [[rng.randint(-64, 64) / 64 for _ in range(5)] for _ in range(9)]
            slots = OF_RULE.get(rule, "").split()
            pairs = zip(by_torch(make, options, slots, theta, gradients), by_rule(Path(name), rule, given, slots, theta, gradients))
            error = max(abs(x - y) for a, b in pairs for of_a, of_b in zip(a, b) for x, y in zip(of_a, of_b))
            print(f"{rule:14} {str(options):70} {error:.1e}")
            worst = max(worst, error)
        worst = max(worst, matrices(Path(name), rng))
    return worst > 1e-13


if __name__ == "__main__":
    sys.exit(main())
