"""Programs that are drawn: `clarke derive` proves what it can, and both checkers are asked.

    python3 tests/verified/drawn.py CLARKE CLARKE-CHECK CLARKE-CHECK-VERIFIED [--number N] [--seed N] [--show]

The programs use all that the proved kernel reads: sums, products, kinks with proxies in braces, order statistics with their
rules, branches, vectors, entries, slices; one in five has functions and quotients, too. Points are small integers, so that
kinks and ties are met. What clarke-check verifies the kernel must verify as well. What it rejects is counted; more than one in
ONE_IN, and one besides, is too much. With functions one in ONE_IN_FUNCTIONS may be.
What `clarke derive` writes clarke-check must verify, always.
"""

import argparse
import collections
import concurrent.futures
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import proofs

ONE_IN, ONE_IN_FUNCTIONS = 250, 60


class Program:
    """A drawn program: the lines of its text, the names of scalars and vectors so far."""

    def __init__(self, draw, functions):
        self.draw, self.functions = draw, functions
        self.inputs = {"x": None, "y": None} if draw.random() < 0.7 else {"x": None, "v": 3}
        self.vectors = {name: n for name, n in self.inputs.items() if n}
        self.scalars = [name for name, n in self.inputs.items() if not n]

    def number(self):
        """A literal."""
        return self.draw.choice(["0", "1", "2", "3", "1/2", "0.5", "1e0", ".25", "2.", "(1 + 2)/3", "sum(1, 2)"])

    def brace(self, order):
        """A proxy, or a rule of ties."""
        if self.draw.random() < 0.5:
            return ""
        rules = ["first", "last", "stable", "mean", "hybrid 1/2"] if order else ["0", "1", "1/2", "left", "right"]
        return "{" + self.draw.choice(rules) + "}"

    def arguments(self, depth, least=2):
        """Of a function of many numbers."""
        parts = [self.scalar(depth - 1) for _ in range(self.draw.randint(least, 3))]
        return ", ".join(parts + [name for name in self.vectors if self.draw.random() < 0.3])

    def scalar(self, depth):
        """An expression that is one number."""
        d = self.draw
        if depth <= 0 or d.random() < 0.15:
            vector = d.choice(list(self.vectors) or [None])
            if vector and d.random() < 0.4:
                return f"{vector}[{d.randrange(self.vectors[vector])}]"
            return d.choice(self.scalars + [self.number()])
        if self.functions and d.random() < 0.25:
            name = d.choice(["exp", "log", "sqrt", "sigmoid", "tanh", "elu", "norm2"])
            return d.choice([f"{name}({self.scalar(depth - 1)})", f"{name}(abs({self.scalar(depth - 1)}) + 1)",
                             f"({self.scalar(depth - 1)} / ({self.scalar(depth - 1)}))", f"(1 / ({self.scalar(depth - 1)} + 2))"])
        kind = d.randrange(12)
        if kind < 3:
            return f"({self.scalar(depth - 1)} {d.choice('+-')} {self.scalar(depth - 1)})"
        if kind == 3:
            return f"({self.scalar(depth - 1)} * {d.choice(['2', '-1', '1/2', self.scalar(depth - 1)])})"
        if kind == 4:
            return f"-{self.scalar(depth - 1)}"
        if kind < 8:
            name = d.choice(["relu", "relu", "abs", "leaky_relu", "relu6", "hardtanh", "hardsigmoid", "clamp"])
            more = ", -1, 1" if name == "clamp" else ", 1/4" if name == "leaky_relu" and d.random() < 0.5 else ""
            return f"{name}{self.brace(False)}({self.scalar(depth - 1)}{more})"
        if kind < 10:
            name = d.choice(["max", "min", "median", "maxpool", "sum", "mean", "norminf", "norm1", "kth"])
            brace = self.brace(name not in ("norm1",)) if name not in ("sum", "mean") else ""
            return f"{name}{brace}({'2, ' if name == 'kth' else ''}{self.arguments(depth)})"
        if kind == 10:
            a, b = self.scalar(depth - 2), self.scalar(depth - 2)
            others = self.scalar(depth - 1), self.scalar(depth - 1)
            arms = d.choice([(a, b), (a, b), (f"relu({a})", f"{a} + 0 * {b}"), others])
            return f"(if {a} {d.choice(['<', '<=', '>', '>=', '==', '!='])} {b} then {arms[0]} else {arms[1]})"
        return f"dot([{self.scalar(depth - 1)}, 1], [1, {self.scalar(depth - 1)}])"

    def text(self):
        """All of it."""
        lines = ["# drawn", "input " + ", ".join(f"{name}[{n}]" if n else name for name, n in self.inputs.items())]
        for i in range(self.draw.randint(0, 3)):
            if self.draw.random() < 0.25:
                lines.append(f"let s{i} = sort{self.brace(True)}({self.arguments(2)}, {self.scalars[0]})[0:2]  # two of them")
                self.vectors[f"s{i}"] = 2
            else:
                lines.append(f"let t{i} = {self.scalar(3)}")
                self.scalars.append(f"t{i}")
        outputs = [self.scalar(4) for _ in range(1 if self.draw.random() < 0.85 else 2)]
        return "\n".join(lines + ["output " + ", ".join(outputs)]) + "\n"


def ask(task):
    """A program's verdict and both answers about its proof; None where there is no proof."""
    asked, seed, work = task
    draw = random.Random(seed)
    functions = seed % 5 == 0
    program = Program(draw, functions)
    folder = Path(work) / str(seed)
    folder.mkdir()
    text = program.text()
    (folder / "drawn.prog").write_text(text)
    at = [f"--at={name}=" + ",".join(str(draw.choice([0, 0, 0, 1, -1, 2])) for _ in range(n or 1))
          for name, n in program.inputs.items()]
    proof = folder / "proof"
    command = [asked.clarke, "derive", folder / "drawn.prog", *at, "--proof", proof]
    said = subprocess.run(command, capture_output=True, timeout=60)
    if not proof.exists():
        return said.returncode, None, text, at, functions
    return said.returncode, [proofs.says(checker, proof, folder) for checker in (asked.check, asked.verified)], text, at, functions


def main():
    """Draws and asks."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("clarke", "check", "verified"):
        arguments.add_argument(name)
    arguments.add_argument("--number", type=int, default=150)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--show", action="store_true")
    asked = arguments.parse_args()
    counts, failed, rejected = collections.Counter(), [], [0, 0]
    with tempfile.TemporaryDirectory() as work, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        tasks = ((asked, asked.seed * 1000003 + i, work) for i in range(asked.number))
        for status, answers, text, at, functions in pool.map(ask, tasks):
            if answers is None:
                counts[f"no proof: status {status}"] += 1
                continue
            (theirs, line, _), (ours, our_line, _) = answers
            counts[f"{'with functions: ' * functions}clarke-check {theirs}, the kernel {our_line if ours == 'OUTSIDE' else ours}"] += 1
            if ours not in ("VERIFIED", "OUTSIDE") and theirs == "VERIFIED":
                rejected[functions] += 1
                if asked.show:
                    print(f"{' '.join(at)}: clarke-check says '{line}', the kernel '{our_line}'\n{text}")
            if theirs != "VERIFIED":
                failed.append(f"{' '.join(at)}: clarke-check says '{line}', the kernel '{our_line}'\n{text}")
    for what, n in sorted(counts.items()):
        print(f"{n:6}  {what}")
    for with_functions, most in enumerate((1 + asked.number // ONE_IN, 1 + asked.number // ONE_IN_FUNCTIONS)):
        if rejected[with_functions] > most:
            with_them = " (with functions)" * with_functions
            failed.append(f"{rejected[with_functions]} of {asked.number} are rejected by the kernel alone{with_them}")
    print("\n".join(failed))
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
