"""Profiles: what PyTorch's reverse mode returns at kinks and ties, by its version (docs/operators.md, "Every profile").

A step is recorded under the profile of the PyTorch that is installed. Of a version that has none it is measured, in a second.

    python -m clarke.profiles [-o FILE]     writes the profile of the PyTorch that is installed
"""
import argparse
import functools
import os
import random
import re
import sys
from fractions import Fraction

import torch
import torch.nn.functional as F

from .files import write_whole

# The known ones, as profile files have them: the columns of the program's own table.
KNOWN = {"pytorch-2.13": """Relu 0 0
LeakyRelu 0 left
PRelu 0 left
Clip 0 0
Clip 1 0
Clamp 0 1
Clamp 1 1
HardSigmoid 0 0
HardSigmoid 1 0
HardSwish 0 0
HardSwish 1 1
Abs 0 0
Elu 0 left
Selu 0 left
GridSample 0 1
tie Max mean
tie Min mean
tie MaxPool first
tie GlobalMaxPool first
tie ReduceMax unknown
tie ReduceMin unknown
tie Maximum unknown
tie Minimum unknown
tie SharedMax mean
tie SharedMin mean
tie TopK unknown
tie Sorted first
tie Kth stable
tie Sort stable
tie Median stable
norm 0
""", "pytorch-2.14": """like pytorch-2.13
Clamp 0 0
Clamp 1 0
tie Maximum mean
tie Minimum mean
"""}

SLOPE = 0.25  # of those that a call gives
SELU = 1.0507009873554805, 1.0507009873554805 * 1.6732632423543772


def clamps(t):
    return torch.clamp(t, 0, 6)


def at_entry(t):
    """What lies in an image 0, 0, 1 at the place t + 1, which is on its middle entry at 0."""
    image, grid = torch.zeros(1, 1, 1, 3, dtype=t.dtype), torch.stack([t, 0 * t], -1).reshape(1, 1, -1, 2)
    image[..., 2] = 1
    return F.grid_sample(image, grid, align_corners=True).flatten()


# Operator, number of the kink, where it is, the slopes on its left and right, and the functions that are that operator.
POINTWISE = [
    ("Relu", 0, 0, 0, 1, [F.relu, torch.relu, torch.nn.ReLU()]),
    ("LeakyRelu", 0, 0, SLOPE, 1, [lambda t: F.leaky_relu(t, SLOPE)]),
    ("PRelu", 0, 0, SLOPE, 1, [lambda t: F.prelu(t, torch.tensor([SLOPE], dtype=t.dtype))]),
    ("Clip", 0, 0, 0, 1, [F.relu6, lambda t: F.hardtanh(t, 0.0, 6.0)]),
    ("Clip", 1, 6, 1, 0, [F.relu6, lambda t: F.hardtanh(t, 0.0, 6.0)]),
    ("Clamp", 0, 0, 0, 1, [clamps, lambda t: torch.clamp_min(t, 0), lambda t: torch.clamp(t, min=0)]),
    ("Clamp", 1, 6, 1, 0, [clamps, lambda t: torch.clamp_max(t, 6), lambda t: torch.clamp(t, max=6)]),
    ("HardSigmoid", 0, -3, 0, 1 / 6, [F.hardsigmoid]),
    ("HardSigmoid", 1, 3, 1 / 6, 0, [F.hardsigmoid]),
    ("HardSwish", 0, -3, 0, -0.5, [F.hardswish]),
    ("HardSwish", 1, 3, 1.5, 1, [F.hardswish]),
    ("Abs", 0, 0, -1, 1, [torch.abs]),
    ("Elu", 0, 0, SLOPE, 1, [lambda t: F.elu(t, SLOPE)]),
    ("Selu", 0, 0, SELU[1], SELU[0], [F.selu]),
    ("GridSample", 0, 0, 0, 1, [at_entry]),
]


def largest(n):
    return n - 1


def lowest(n):
    return 0


def middle(n):
    return (n - 1) // 2


def adaptive(t):
    return F.adaptive_max_pool1d(t[None], 1)


def sorted_entry(t, rank, down=False):
    return torch.sort(t, stable=True, descending=down)[0][rank]


def sorted_down(t, rank):
    return sorted_entry(t, rank, True)


# Operator; the rank, in ascending order, of the one of n entries that is returned; the functions that are that operator.
CHOICES = [
    ("Max", largest, [torch.amax, torch.max]),
    ("Min", lowest, [torch.amin, torch.min]),
    ("MaxPool", largest, [lambda t: F.max_pool1d(t[None, None], t.numel()), lambda t: F.max_pool2d(t[None, None, None], (1, t.numel()))]),
    ("GlobalMaxPool", largest, [adaptive, lambda t: F.adaptive_max_pool2d(t[None, None], 1)]),
    ("ReduceMax", largest, [torch.amax, lambda t: torch.max(t, 0)[0], adaptive]),
    ("ReduceMin", lowest, [torch.amin, lambda t: torch.min(t, 0)[0]]),
    ("SharedMax", largest, [torch.amax, torch.max]),
    ("SharedMin", lowest, [torch.amin, torch.min]),
    ("TopK", largest, [lambda t: sorted_down(t, 0), lambda t: torch.topk(t, min(8, t.numel()))[0][0]]),
    ("Median", middle, [lambda t: torch.median(t, 0)[0]]),
]
# The same, of two numbers.
PAIRS = [
    ("Maximum", largest, [lambda t: torch.maximum(t[0], t[1]), lambda t: torch.clamp(t[0], min=t[1])]),
    ("Minimum", lowest, [lambda t: torch.minimum(t[0], t[1]), lambda t: torch.clamp(t[0], max=t[1])]),
]
# Operator; its rule, if of equal entries the first comes first; the functions, and which of them sort downwards.
SORTS = [("Sorted", "first", [sorted_entry, sorted_down]), ("Kth", "stable", [sorted_entry]), ("Sort", "stable", [sorted_entry])]
NORMS = [torch.norm, torch.linalg.norm, torch.linalg.vector_norm]
TYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
LENGTH = 67  # of equal entries: a vectorized loop's, and its scalar tail's


def gradient(f, entries, dtype=torch.float64):
    t = torch.tensor(entries, dtype=dtype, requires_grad=True)
    f(t).sum().backward()
    return t.grad.tolist()


def slope_word(at, left, right, functions):
    """The number that all of the functions have in all types, at both zeros; or else the side; "unknown" where there is none."""
    found = {dtype: {v for f in functions for place in {float(at), -float(at) if at == 0 else float(at)}
                     for v in gradient(f, [place] * LENGTH, dtype)} for dtype in TYPES}
    numbers = set().union(*found.values())
    if numbers <= {0.0, 1.0, -1.0, 0.5} and len(numbers) == 1:
        return str(Fraction(numbers.pop()))
    for side, slope in (("left", left), ("right", right)):
        if all(found[dtype] == {torch.tensor(slope, dtype=torch.float64).to(dtype).item()} for dtype in TYPES):
            return side
    return "unknown"


def order_of(values, down=False):
    """Their places in a stable sort."""
    return sorted(range(len(values)), key=lambda i: (-values[i] if down else values[i], i))


def weights(rule, values, rank):
    """What the derivative gives each entry, by a rule, of that rank (from 0) of the ascending order."""
    order = order_of(values)
    tied = [i for i, v in enumerate(values) if v == values[order[rank]]]
    if rule == "mean":
        return [1 / len(tied) if i in tied else 0.0 for i in range(len(values))]
    chosen = {"first": tied[0], "last": tied[-1], "stable": order[rank]}[rule]
    return [float(i == chosen) for i in range(len(values))]


def draws():
    """Small numbers, of which many are equal; the same ones each time."""
    draw = random.Random(3)
    for n in (3, 5, 9, 17, 33):
        for _ in range(4):
            yield [float(draw.randrange(n // 4 + 1)) for _ in range(n)]
    yield from ([1.0] * n for n in (2, 3, 17))


TWO = [[1.0, 1.0], [1.0, 2.0], [2.0, 1.0]]


def same(a, b):
    """Halves and thirds are rounded; rules differ by more than that."""
    return all(abs(x - y) < 2 ** -40 for x, y in zip(a, b, strict=True))


def choice_word(rank, functions, drawn):
    for rule in ("first", "last", "mean", "stable"):
        if all(same(gradient(f, values), weights(rule, values, rank(len(values)))) for values in drawn for f in functions):
            return rule
    return "unknown"


def sort_word(rule, functions):
    for values in draws():
        for f in functions:
            for rank in range(len(values)):
                first = order_of(values, down=f is sorted_down)[rank]
                if gradient(lambda t, f=f, rank=rank: f(t, rank), values) != [float(i == first) for i in range(len(values))]:
                    return "unknown"
    return rule


def norm_word():
    found = [v for f in NORMS for n in (1, 2, 5) for v in gradient(f, [0.0] * n)]
    return "0" if not any(found) else "nan" if all(v != v for v in found) else "unknown"


@functools.cache
def measured():
    """What the PyTorch that is installed does: {(operator, kink): word} and {operator: rule}, as profile files have them."""
    kinks = {(op, kink): slope_word(at, left, right, functions) for op, kink, at, left, right, functions in POINTWISE}
    ties = {op: choice_word(rank, functions, list(draws())) for op, rank, functions in CHOICES}
    ties |= {op: choice_word(rank, functions, TWO) for op, rank, functions in PAIRS}
    ties |= {op: sort_word(rule, functions) for op, rule, functions in SORTS}
    return kinks, ties, norm_word()


def text_of(kinks, ties, norm):
    lines = [f"{op} {kink} {word}" for (op, kink), word in kinks.items()] + [f"tie {op} {rule}" for op, rule in ties.items()]
    return "".join(f"{line}\n" for line in [*lines, f"norm {norm}"])


def parsed(text):
    """({(operator, kink): word}, {operator: rule}, norm) of what is known here or was measured."""
    kinks, ties, norm = {}, {}, None
    for words in (line.split("#")[0].split() for line in text.splitlines()):
        match words:
            case "like", name:
                kinks, ties, norm = parsed(KNOWN[name])
            case "tie", op, rule:
                ties[op] = rule
            case "norm", norm:
                pass
            case op, kink, word:
                kinks[op, int(kink)] = word
    return kinks, ties, norm


def version():
    """PyTorch's version: 2.14 of 2.14.1+cu130."""
    return re.match(r"\d+\.\d+", torch.__version__).group()


class Profile:
    """A known one by its name, or one that was measured, which is written beside the record."""

    def __init__(self, name, text):
        self.name, self.text = name, text
        self.kinks = parsed(text)[0]

    @property
    def known(self):
        return self.name in KNOWN

    def slope(self, operator, kink, left, right):
        """AD's number at the kink; None: the profile knows none."""
        word = self.kinks[operator, kink]
        return {"left": left, "right": right, "unknown": None}[word] if word[0] in "lru" else float(Fraction(word))


@functools.cache
def installed():
    """The profile of the PyTorch that is installed."""
    name = f"pytorch-{version()}"
    return Profile(name, KNOWN[name]) if name in KNOWN else Profile(f"{name}.profile", measured_text())


def measured_text():
    head = f"# measured from PyTorch {torch.__version__}, by python -m clarke.profiles\n"
    return f"{head}like {newest()}\n{text_of(*measured())}"


def newest():
    return max(KNOWN, key=lambda name: [int(n) for n in name.split("-")[1].split(".")])


def main():
    parser = argparse.ArgumentParser(prog="python -m clarke.profiles", description="Writes what the PyTorch that is installed returns at kinks and ties.")
    parser.add_argument("-o", metavar="FILE", help="where to (else to standard output)")
    out = parser.parse_args().o
    if out is None:
        sys.stdout.write(measured_text())
    else:
        write_whole(out, [measured_text().encode()])


if __name__ == "__main__":
    main()
