#!/usr/bin/env python3
"""A record has the profile of the PyTorch that ran: records_profiles.py CLARKE CLARKE-CHECK

A known version's is named; of another it is measured and lies beside the record. Where the record claims another profile than
what ran, the step is refused, or its gradient is not AD's.
"""
import json
import os
import subprocess
import sys
import tempfile

import torch
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "python"))
sys.path.append(os.path.join(HERE, "..", "tools"))
CLARKE, CHECK = (os.path.abspath(p) for p in sys.argv[1:3])
os.environ["CLARKE"] = CLARKE
import clarke  # noqa: E402
from clarke import profiles  # noqa: E402
from expect import expect, finish  # noqa: E402

FUNCTIONS = {"relu": F.relu, "leaky": F.leaky_relu, "hardtanh": F.hardtanh, "clamp": lambda h: torch.clamp(h, -1, 1),
             "least": lambda h: torch.clamp_min(h, 1), "most": lambda h: torch.clamp_max(h, 1), "hardsigmoid": F.hardsigmoid,
             "hardswish": F.hardswish, "abs": torch.abs}


class Net(torch.nn.Module):
    """At -3, -1, 0, 1, 3 and 6: on every function's kinks."""

    def __init__(self, f):
        super().__init__()
        self.f, self.at = f, torch.nn.Parameter(torch.tensor([-3.0, -1.0, 0.0, 1.0, 3.0, 6.0]))

    def forward(self, x):
        return self.f(x * self.at)


X = torch.ones(1, 6)


def recorded(run, f, **how):
    model = Net(f)
    with clarke.record(run, model, **how):
        model(X).sum().backward()
    return json.load(open(os.path.join(run, "run.json")))["profile"]


def as_version(name):
    """The recorder meets another PyTorch: what is installed, by another name."""
    profiles.version = lambda: name
    profiles.installed.cache_clear()


def verified(folder, run, answer):
    path = os.path.join(folder, "proof")
    with open(path, "wb") as out:
        out.write(answer.proof)
    return subprocess.run([CHECK, path, "--data", run], capture_output=True, text=True).stdout.startswith("VERIFIED")


def known_and_unknown(folder, version):
    for name, f in FUNCTIONS.items():
        runs = [os.path.join(folder, f"{name}-{which}") for which in ("known", "unknown")]
        as_version(version)
        expect(recorded(runs[0], f) == f"pytorch-{version}", f"{name}: the profile of a known version is named")
        as_version("2.99")
        said = recorded(runs[1], f)
        there = os.path.join(runs[1], said)
        expect(said == "pytorch-2.99.profile" and os.path.isfile(there), f"{name}: of another it is measured: {said}")
        known, other = (clarke.audit(run) for run in runs)
        expect(known.in_clarke and other.in_clarke and known.verdict == other.verdict, f"{name}: one verdict: {known.verdict}, {other.verdict}")
        expect(verified(folder, runs[1], other), f"{name}: its proof")
        told = [a.gradient["claims"] for a in (known, other)]
        expect(told[0] == [] and len(told[1]) == 1 and "the profile pytorch-2.99.profile: of torch" in told[1][0], f"{name}: told {told}")
    expect(refused(lambda: recorded(runs[0], f, step=1, append=True)), "a later step under another profile is refused")
    said = clarke.derive(lambda x: torch.clamp(x, -1, 1).sum(), torch.ones(1))
    as_version(version)
    expect(said["ad"] == clarke.derive(lambda x: torch.clamp(x, -1, 1).sum(), torch.ones(1))["ad"], f"derive under the measured profile: {said['ad']}")


def refused(what):
    try:
        what()
    except clarke.Refused as why:
        return str(why)
    return None


def claims(folder, version):
    """The profile of another version is not what ran, where a number that differs is met."""
    other = {"2.13": "2.14", "2.14": "2.13"}[version]
    as_version(other)
    for name in ("clamp", "least", "most"):
        why = refused(lambda f=FUNCTIONS[name]: recorded(os.path.join(folder, f"{name}-{other}"), f))
        expect(why and f"as the profile pytorch-{other} has it" in why, f"{name}: recorded as {other}: {why}")
    as_version("2.99")
    run = os.path.join(folder, "edited")
    recorded(run, F.relu)
    path = os.path.join(run, "pytorch-2.99.profile")
    text = open(path).read()
    for old, new, says in (("Relu 0 0", "Relu 0 1", None), ("Relu 0 0", "Relu 0 x", "expected a rational"), (text, "", None)):
        with open(path, "w") as out:
            out.write(text.replace(old, new))
        try:
            answer = clarke.audit(run)
            expect(says is None and answer.in_clarke is (new == ""), f"a profile edited to '{new}': {answer.verdict}")
        except clarke.Failed as why:
            expect(says is not None and says in str(why), f"a profile edited to '{new}': {why}")
    os.remove(path)
    try:
        clarke.audit(run)
        expect(False, "audited without its profile")
    except clarke.Failed as why:
        expect("pytorch-2.99.profile: cannot be opened" in str(why), f"without its profile: {why}")


def main():
    version = profiles.version()
    with tempfile.TemporaryDirectory() as folder:
        known_and_unknown(folder, version)
        claims(folder, version)
    finish()


if __name__ == "__main__":
    main()
