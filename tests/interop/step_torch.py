#!/usr/bin/env python3
"""clarke step against torch.optim in float64, single tensors: the rules named torch-..., to rounding.

    step_torch.py CLARKE
"""
import json
import random
import subprocess
import sys
import tempfile
from fractions import Fraction
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
    return float(Fraction(text))


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


LBFGS = [  # settings of torch's, so many steps: of one iteration and of many, with long and short histories
    ({"lr": 0.5, "max_iter": 1}, 12), ({"max_iter": 1, "history_size": 2}, 10), ({"lr": 0.75}, 1), ({"history_size": 3, "max_iter": 7}, 3), ({"history_size": 1, "max_iter": 4}, 4),
    ({"lr": 0.25, "max_iter": 9, "max_eval": 4}, 3), ({"tolerance_grad": 0.5, "max_iter": 9}, 3), ({"tolerance_change": 0.25, "max_iter": 9}, 3), ({"tolerance_change": 0, "tolerance_grad": 0, "max_iter": 6}, 1),
]
WOLFE = [{}, {"max_iter": 1}, {"max_iter": 4, "lr": 0.125}, {"lr": 8, "max_iter": 5}, {"lr": 64, "max_iter": 2}, {"max_iter": 9, "max_eval": 4}, {"max_iter": 3, "history_size": 1},
         {"max_iter": 5, "max_eval": 1}, {"tolerance_change": 0.125, "max_iter": 9}, {"tolerance_grad": 0.5, "max_iter": 9}, {"lr": 1 / 1024, "max_iter": 3}, {"lr": 1 / 1024, "max_eval": 3}]
FUNCTIONS = {  # smooth; with many minima; with kinks; not convex at first. On a line, as of |x|, the root is of 0, and rounding decides which way torch goes.
    "roots": lambda a, p: (1 + (a @ p) ** 2).sqrt().sum() + (p * p).sum() / 4, "waves": lambda a, p: (3 * (a @ p)).sin().sum() + (p * p).sum() / 8,
    "kinks": lambda a, p: (a @ p - 0.25).abs().sum() + (p * p).sum() / 16,
    "bell": lambda a, p: -(-(p * p).sum() / 8).exp(),
}


def lbfgs(folder, rng):
    """Each step evaluates where it goes: as often as torch's, with the same ends, of a function that is no polynomial."""
    worst = 0
    for given, times in LBFGS:
        n = rng.choice([2, 5, 9])
        a, p = torch.tensor([[rng.uniform(-1, 1) for _ in range(n)] for _ in range(n)]), torch.nn.Parameter(torch.tensor([rng.uniform(-2, 2) for _ in range(n)]))
        seen, found, optimizer = [], [], torch.optim.LBFGS([p], **given)
        (folder / "s.json").write_text(json.dumps({"theta": [str(Fraction(x)) for x in p.tolist()]}))

        def closure():
            optimizer.zero_grad()
            loss = (1 + (a @ p) ** 2).sqrt().sum() + (p * p).sum() / 4
            loss.backward()
            (folder / f"g{len(seen)}.json").write_text(json.dumps({"g": [str(Fraction(x)) for x in p.grad.tolist()], "loss": str(Fraction(loss.item()))}))
            seen.append(str(folder / f"g{len(seen)}.json"))
            return loss
        for _ in range(times):
            before = len(seen)
            optimizer.step(closure)
            found.append((len(seen) - before, {"theta": p.detach().clone()} | {name: torch.as_tensor(x).clone() for name, x in optimizer.state[p].items() if name in ("d", "t", "H_diag")}))
        options = [w for name, value in given.items() if name != "lr" for w in (f"--{name.replace('_', '-')}", str(Fraction(value)))]
        ran = subprocess.run([CLARKE, "step", "torch-lbfgs", "--state", str(folder / "s.json"), *[w for file in seen for w in ("--gradient", file)], "--eta", str(given.get("lr", 1)),
                              "--limit", "bits=4096", *options, "--json"], capture_output=True, text=True)
        assert ran.returncode == 0, (given, ran.stderr)
        steps = json.loads(ran.stdout)["steps"]
        assert [count for count, _ in found] == [s["evaluations"] for s in steps], (given, steps)
        for (_, mine), said in zip(found, steps):
            for name, t in mine.items():
                said_of = said[name] if isinstance(said[name], list) else [said[name]]
                worst = max(worst, *(abs(x - number(y)) for x, y in zip(t.flatten().tolist(), said_of, strict=True)))
        print(f"torch-lbfgs    {given!s:60} {len(seen)} evaluations {worst:.1e}, ended by {sorted({s['end'] for s in steps})}")
    return worst


def searched(folder, rng):
    """With a line search: theta at each evaluation is torch's, too, and as often."""
    worst, n_all = 0, 0
    for name, function in FUNCTIONS.items():
        for given in WOLFE[name in ("waves", "kinks"):]:  # of those not for long: balls grow
            n = rng.choice([1, 2, 6])
            a, p = torch.tensor([[rng.uniform(-1, 1) for _ in range(n)] for _ in range(n)]), torch.nn.Parameter(torch.tensor([rng.uniform(-2, 2) for _ in range(n)]))
            seen, found, at, optimizer = [], [], [], torch.optim.LBFGS([p], line_search_fn="strong_wolfe", **given)
            (folder / "s.json").write_text(json.dumps({"theta": [str(Fraction(x)) for x in p.tolist()]}))

            def closure():
                optimizer.zero_grad()
                loss = function(a, p)
                loss.backward()
                (folder / f"g{len(seen)}.json").write_text(json.dumps({"g": [str(Fraction(x)) for x in p.grad.tolist()], "loss": str(Fraction(loss.item()))}))
                seen.append(str(folder / f"g{len(seen)}.json"))
                at.append(p.tolist())
                return loss
            for _ in range(2):
                del at[:]
                optimizer.step(closure)
                found.append((at[:], {"theta": p.detach().clone()} | {key: torch.as_tensor(x).clone() for key, x in optimizer.state[p].items() if key in ("d", "t", "H_diag")}))
            options = [w for key, value in given.items() if key != "lr" for w in (f"--{key.replace('_', '-')}", str(Fraction(value)))]
            ran = subprocess.run([CLARKE, "step", "torch-lbfgs", "--line-search", "strong_wolfe", "--state", str(folder / "s.json"), *[w for file in seen for w in ("--gradient", file)],
                                  "--eta", str(Fraction(given.get("lr", 1))), "--limit", "bits=4096", *options, "--json"], capture_output=True, text=True)
            assert ran.returncode == 0, (name, given, ran.stderr)
            steps = json.loads(ran.stdout)["steps"]
            assert [len(where) for where, _ in found] == [s["evaluations"] for s in steps], (name, given, [len(where) for where, _ in found], [(s["evaluations"], s["end"]) for s in steps])
            error = 0
            for (where, mine), s in zip(found, steps):
                mine = [(t.flatten().tolist(), s[key] if isinstance(s[key], list) else [s[key]]) for key, t in mine.items()] + list(zip(where, s["asked"], strict=True))
                error = max(error, *(abs(x - number(y)) / max(1, abs(x)) for floats, said in mine for x, y in zip(floats, said, strict=True)))
            print(f"strong_wolfe   {name:8} {n} {given!s:45} {len(seen)} evaluations {error:.1e}, ended by {sorted({s['end'] for s in steps})}")
            worst, n_all = max(worst, error), n_all + len(seen)
    assert n_all > 300
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
        worst = max(worst, matrices(Path(name), rng), lbfgs(Path(name), rng), searched(Path(name), rng))
    return worst > 1e-13


if __name__ == "__main__":
    sys.exit(main())
