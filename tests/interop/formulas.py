#!/usr/bin/env python3
"""Compares `clarke encode --decide` with a solver of others (python-sat's CaDiCaL), on drawn formulas; every proof is checked.

Usage: python tests/interop/formulas.py [--build build] [--number 200] [--variables 20] [--ratio 4.26]

Formulas have 4 to --variables variables and --ratio clauses of three literals for each. Of each one: both answer alike;
`clarke-check` verifies the proof, and says so in the right words; an assignment satisfies, by the other solver, too; an
ONNX runtime's F is 1 at its signs. A refutation by Glucose (python-sat), and one by the command `cadical` where there is one,
lead to proofs that verify. Prints one line, and exits with 1 if anything differs."""

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from pysat.solvers import Solver


def draw(rng, n, ratio):
    return [[v * rng.choice((1, -1)) for v in rng.sample(range(1, n + 1), 3)] for _ in range(round(ratio * n))]


def differs(folder, tools, n, clauses):
    """What is wrong with the answer; None."""
    text = f"p cnf {n} {len(clauses)}\n" + "".join(" ".join(map(str, c)) + " 0\n" for c in clauses)
    (folder / "f.cnf").write_text(text)
    command = [tools / "clarke", "encode", "f.cnf", "-o", "f.onnx", "--decide", "--proof", "f.proof", "--json"]
    said = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    answer = json.loads(said.stdout)
    with Solver(name="cadical153", bootstrap_with=clauses) as solver:
        yes = solver.solve()
        if answer["differentiable"] is not (not yes):
            return "another answer"
        if yes and not solver.solve(assumptions=answer["assignment"]):
            return "the assignment does not satisfy"
    checked = subprocess.run([tools / "clarke-check", "f.proof"], cwd=folder, capture_output=True, text=True, check=False)
    words = "F is not differentiable at 0." if yes else "F is differentiable at 0:"
    if checked.returncode != 0 or words not in checked.stdout:
        return "the proof does not verify"
    if yes:
        onnx.checker.check_model(onnx.load(folder / "f.onnx"), full_check=True)
        x = np.sign(np.array([answer["assignment"]], dtype=np.float32))
        value = ReferenceEvaluator(onnx.load(folder / "f.onnx")).run(None, {"x": x})[0]
        if value.shape != (1, 1) or value[0, 0] != 1:
            return "F is not 1 at the assignment"
        return None
    return follows(folder, tools, clauses)


def refutations(folder, clauses):
    """Files of DRAT that others wrote about f.cnf."""
    with Solver(name="glucose4", bootstrap_with=clauses, with_proof=True) as solver:
        solver.solve()
        (folder / "glucose.drat").write_text("\n".join(solver.get_proof()) + "\n")
    yield "glucose.drat"
    if shutil.which("cadical") is not None:
        for options in ([], ["--no-binary"]):
            subprocess.run(["cadical", "-q", *options, "f.cnf", "cadical.drat"], cwd=folder, capture_output=True, check=False)
            yield "cadical.drat"


def follows(folder, tools, clauses):
    """What is wrong with proofs from others' refutations; None."""
    for name in refutations(folder, clauses):
        command = [tools / "clarke", "encode", "f.cnf", "-o", "f.onnx", "--drat", name, "--proof", "f.proof"]
        said = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if said.returncode != 0:
            return f"{name} is not followed: {said.stderr}"
        if subprocess.run([tools / "clarke-check", "f.proof"], cwd=folder, capture_output=True, check=False).returncode != 0:
            return f"the proof from {name} does not verify"
    return None


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", type=Path, default=Path("build"))
    p.add_argument("--number", type=int, default=200)
    p.add_argument("--variables", type=int, default=20)
    p.add_argument("--ratio", type=float, default=4.26)
    a = p.parse_args()
    rng, wrong = random.Random(1), 0
    with tempfile.TemporaryDirectory() as name:
        for k in range(a.number):
            n = rng.randint(min(4, a.variables), a.variables)
            why = differs(Path(name), (a.build / "tools").resolve(), n, draw(rng, n, a.ratio))
            if why is not None:
                wrong += 1
                print(f"formula {k}, of {n} variables: {why}")
    print(f"{a.number - wrong} formulas agree, {wrong} differ")
    sys.exit(wrong > 0)


main()
