"""What PyTorch's reverse mode returns at the kinks: the table of docs/operators.md, measured again.

Every line is one operator, kink and dtype; upstream gradient 1. The value expected is the table's:
a number, or the slope on one side, which for LeakyRelu and PRelu is the slope as the dtype holds it.
"""

import re
from pathlib import Path

import torch
import torch.nn.functional as F

DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
OPERATORS_PAGE = Path(__file__).resolve().parents[2] / "docs" / "operators.md"

# Operator as the table names it: the functions that export to it, its kinks, the proxies.
SLOPE = 0.0625
TABLE = [
    ("Relu", [F.relu, torch.relu, torch.nn.ReLU()], [(0.0, 0.0), (-0.0, 0.0)]),
    ("LeakyRelu", [lambda x: F.leaky_relu(x, SLOPE)], [(0.0, SLOPE), (-0.0, SLOPE)]),
    ("LeakyRelu (default slope)", [F.leaky_relu], [(0.0, 0.01), (-0.0, 0.01)]),
    ("PRelu", [lambda x: F.prelu(x, torch.tensor([SLOPE], dtype=x.dtype))],
     [(0.0, SLOPE), (-0.0, SLOPE)]),
    ("Clip as ReLU6", [F.relu6, torch.nn.ReLU6()], [(0.0, 0.0), (-0.0, 0.0), (6.0, 0.0)]),
    ("Clip as Hardtanh", [F.hardtanh, torch.nn.Hardtanh()], [(-1.0, 0.0), (1.0, 0.0)]),
    ("HardSigmoid", [F.hardsigmoid, torch.nn.Hardsigmoid()], [(-3.0, 0.0), (3.0, 0.0)]),
    ("HardSwish", [F.hardswish, torch.nn.Hardswish()], [(-3.0, 0.0), (3.0, 1.0)]),
    ("Abs", [torch.abs], [(0.0, 0.0), (-0.0, 0.0)]),
    ("Clip as torch.clamp", [lambda x: torch.clamp(x, -1, 1)], [(-1.0, 1.0), (1.0, 1.0)]),
]

# One row of the page for each operator above; clamp is in the prose below it.
ROWS = {
    "Relu": ("0", "0"), "LeakyRelu, PRelu": ("0", "slope (`left`)"),
    "Clip (as ReLU6, Hardtanh)": ("lo, hi", "0, 0"), "HardSigmoid": ("-3, 3", "0, 0"),
    "HardSwish": ("-3, 3", "0 (`left`), 1 (`right`)"), "Abs": ("0", "0"),
}

# A run of equal entries long enough for the vectorized loop and its scalar tail.
LENGTH = 67


def derivatives(function, dtype, kink):
    x = torch.full((LENGTH,), kink, dtype=dtype, requires_grad=True)
    function(x).backward(torch.ones(LENGTH, dtype=dtype))
    return x.grad


def check_global_maxima(report):
    """An adaptive maximum pool to one entry gives everything to the first of the tied ones."""
    generator = torch.Generator().manual_seed(3)
    for dtype in DTYPES:
        wrong = 0
        for axes, pool in enumerate((F.adaptive_max_pool1d, F.adaptive_max_pool2d), 1):
            for size in (2, 3, 5, 11):
                x = torch.randint(0, 3, (20, 4) + (size,) * axes, generator=generator).to(dtype)
                x.requires_grad_(True)
                pool(x, 1).sum().backward()
                first = x.detach().flatten(2) == x.detach().flatten(2).amax(2, keepdim=True)
                first &= first.cumsum(2) == 1
                wrong += int((x.grad.flatten(2) != first).sum())
        report.check(wrong == 0, f"GlobalMaxPool of tied entries in {str(dtype)[6:]}: first",
                     f"{wrong} entries have another derivative")


def check_page(report):
    """The page's rows are the ones measured here: neither may change alone."""
    found = {}
    section = OPERATORS_PAGE.read_text().split("## Proxies")[1]
    for line in section.splitlines():
        cells = [c.strip() for c in line.strip("|").split("|")]
        if len(cells) == 4 and not re.match("operator|-", cells[0]):
            found[cells[0]] = (cells[1], cells[2])
    report.check(found == ROWS, "docs/operators.md: the rows of the profile",
                 f"found {found}, expected {ROWS}")


def check_proxies(report):
    check_page(report)
    check_global_maxima(report)
    for name, functions, kinks in TABLE:
        for dtype in DTYPES:
            for kink, value in kinks:
                expected = torch.tensor(value, dtype=dtype)
                got = torch.stack([derivatives(f, dtype, kink) for f in functions])
                report.check(bool((got == expected).all()),
                             f"{name} at {kink} in {str(dtype)[6:]}: {expected.item():g}",
                             f"PyTorch gives {sorted(set(got.flatten().tolist()))}")
