"""What both programs read of models: the value of every node, as `clarke-check --values` and `reads --values` print them.

A test asks for many pairs of a model and a batch, and compares each value with what others compute.
"""

import re
import subprocess
from pathlib import Path

import numpy as np

CLOSE = 2e-4  # others compute in float32; which entry is which shows in far more
COARSE = {"float16": 4e-3, "bfloat16": 3e-2}  # in these


class Programs:
    """The two that read, by the build's folder."""

    def __init__(self, build):
        build = Path(build)
        self.commands = {"library": [build / "tests" / "interop" / "reads", "--values"],
                         "checker": [build / "tools" / "clarke-check", "--values"]}

    def read(self, pairs):
        """Of each pair of paths what each program says: {program: {name: (shape, entries)} or a refusal's text}."""
        answers = [{} for _ in pairs]
        for program, command in self.commands.items():
            paths = [str(p) for pair in pairs for p in pair]
            done = subprocess.run([*command, *paths], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            said = sections(done.stdout.decode())
            why = iter(done.stderr.decode(errors="replace").splitlines())
            if len(said) != len(pairs) or sum(s is None for s in said) != len(done.stderr.splitlines()):
                if len(pairs) == 1:
                    raise SystemExit(f"failed: {program} on {pairs[0]}: {done.returncode} {done.stderr.decode()}")
                for i, pair in enumerate(pairs):  # something is said besides: ask for each alone
                    answers[i].update(self.read_one(program, pair))
                continue
            for i, values in enumerate(said):
                answers[i][program] = next(why) if values is None else values
        return answers

    def read_one(self, program, pair):
        done = subprocess.run([*self.commands[program], *map(str, pair)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        said = sections(done.stdout.decode())
        if len(said) != 1:
            raise SystemExit(f"failed: {program} on {pair}: status {done.returncode}: {done.stderr.decode()}")
        return {program: said[0] if said[0] is not None else done.stderr.decode().strip()}


class Values(dict):
    """{name: (shape, entries)}, and the fingerprints of activations."""

    def __init__(self):
        super().__init__()
        self.prints = {}


def unlike_prints(answer):
    """Lines: whose fingerprints the two programs, which both read the model, do not agree on; the library has only some."""
    library, checker = answer["library"], answer["checker"]
    if isinstance(library, str) or isinstance(checker, str):
        return
    for name, own in library.prints.items():
        if checker.prints.get(name) != own:
            yield f"'{name}' has the fingerprint {own}, and {checker.prints.get(name)} by the checker"


def sections(text):
    """The values of each pair, or None where it is refused."""
    found = []
    begun = None
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        if line == "model":
            if begun is not None:
                found.append(begun)
            begun = Values()
        elif word == "refused":
            found.append(None)
            begun = None
        elif word == "value":
            name, shape, entries = re.match(r"(\S+) \[([\d,]*)\] ?(.*)", rest).groups()
            begun[plain(name)] = (tuple(int(n) for n in shape.split(",") if n), entries.split())
        elif word == "fingerprint":
            name, print_ = rest.split()
            begun.prints[plain(name)] = print_
    return found + ([begun] if begun is not None else [])


def plain(name):
    return re.sub(r"%([0-9A-F]{2})", lambda m: chr(int(m[1], 16)), name)


def number(word):
    if word == "-inf":
        return -np.inf
    if word == "?":
        return np.nan
    word = word.lstrip("~")
    if "/" not in word:
        return float(word)
    above, below = word.split("/")
    return int(above) / int(below)


def unlike(value, runs):
    """What a value that a program printed differs in from an array of each run; None when it does not."""
    shape, entries = value
    runs = [np.asarray(r) for r in runs]
    if any(shape != r.shape for r in runs):
        return f"shape {shape}, expected {runs[0].shape}"
    own = np.array([number(w) for w in entries])
    once = own.size == runs[0].size
    want = np.concatenate([r.reshape(-1) for r in runs]) if not once or len(runs) == 1 else runs[0].reshape(-1)
    if once and any(not close(r.reshape(-1), own) for r in runs):
        return f"{entries[:12]}, expected {runs[0].reshape(-1)[:12]}"
    if own.size != want.size or not close(want, own):
        return f"{entries[:12]}, expected {want[:12]}"
    return None


def close(a, b):
    within = max(COARSE.get(np.asarray(x).dtype.name, CLOSE) for x in (a, b))
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    return a.shape == b.shape and np.allclose(a, b, rtol=within, atol=within, equal_nan=True)
