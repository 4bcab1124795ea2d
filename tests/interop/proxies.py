"""What PyTorch's reverse mode returns at kinks and ties: the tables of docs/operators.md and of the programs, measured again.

    python proxies.py CLARKE      of any version of PyTorch that has a profile
"""

import json
import re
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "python"))

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from clarke import profiles  # noqa: E402
from report import Report  # noqa: E402

OPERATORS_PAGE = ROOT / "docs" / "operators.md"
# One row of the page's first table for each; its other entries are columns of the second.
ROWS = {
    "Relu": ("0", "0"), "LeakyRelu, PRelu": ("0", "slope (`left`)"),
    "Clip (as ReLU6, Hardtanh)": ("lo, hi", "0, 0"), "HardSigmoid": ("-3, 3", "0, 0"),
    "HardSwish": ("-3, 3", "0 (`left`), 1 (`right`)"), "Abs": ("0", "0"),
}
SIDES = {(op, kink): (left, right) for op, kink, _, left, right, _ in profiles.POINTWISE}
# How programs call the operators, the kinks at these places. (They have no prelu and selu.)
CALLS = {"Relu": "relu(x)", "LeakyRelu": "leaky_relu(x, 1/4)", "Clip": "hardtanh(x, 0, 6)", "Clamp": "clamp(x, 0, 6)",
         "HardSigmoid": "hardsigmoid(x)", "HardSwish": "hardswish(x)", "Abs": "abs(x)", "Elu": "elu(x, 1/4)"}


def value(word, op, kink):
    """The slope that the word means."""
    left, right = SIDES[op, kink]
    return None if word == "unknown" else float({"left": left, "right": right}[word] if word[0] in "lr" else Fraction(word))


def section(name):
    return OPERATORS_PAGE.read_text().split(f"## {name}")[1].split("\n## ")[0]


def cells_of(text, number):
    for line in text.splitlines():
        cells = [c.strip() for c in line.strip("|").split("|")]
        if len(cells) == number and not re.match("operator|function|-", cells[0]):
            yield cells


def check_page(report):
    """The page's rows are the ones measured here: neither may change alone."""
    found = {cells[0]: (cells[1], cells[2]) for cells in cells_of(section("Proxies"), 4)}
    report.check(found == ROWS, "docs/operators.md: the rows of the profile", f"found {found}, expected {ROWS}")
    for column, name in enumerate(profiles.KNOWN, 2):
        kinks, ties, norm = profiles.parsed(profiles.KNOWN[name])
        expected = {op: [value(w, op, k) for (o, k), w in kinks.items() if o == op] for op, _ in kinks} | ties | {"Norm": norm}
        rows = {cells[0]: cells[column] for cells in cells_of(section("Every profile"), 6)}
        found = {op: [value(w.strip(), op, k) for k, w in enumerate(cell.split(","))] if (op, 0) in SIDES else cell for op, cell in rows.items()}
        report.check(found.pop("Surrogate", None) == "1, 0", f"docs/operators.md: Surrogate of {name}, which no framework has of its own", "")
        report.check(found == expected, f"docs/operators.md: the column of {name}", f"found {found}, expected {expected}")


def check_programs(report, clarke):
    """The program's own table is the package's."""
    for name, text in profiles.KNOWN.items():
        kinks = profiles.parsed(text)[0]
        wrong = []
        for op, kink, at, *_ in (row for row in profiles.POINTWISE if row[0] in CALLS):
            with tempfile.NamedTemporaryFile("w", suffix=".prog") as f:
                print(f"input x\noutput {CALLS[op]}", file=f, flush=True)
                said = subprocess.run([clarke, "derive", f.name, "--at", f"x={at}", "--profile", name, "--json"], capture_output=True, text=True)
            ad = json.loads(said.stdout)["ad"][0]
            expected = value(kinks[op, kink], op, kink)
            if abs(float(Fraction(ad)) - expected) > 1e-6:  # a sixth is rounded here
                wrong.append(f"{op} at {at}: {ad}, expected {expected}")
        report.check(not wrong, f"the program's profile {name} is the package's", "; ".join(wrong))


def check_proxies(report, clarke):
    check_page(report)
    if clarke:
        check_programs(report, clarke)
    name, measured = f"pytorch-{profiles.version()}", profiles.measured()
    known = profiles.parsed(profiles.KNOWN[name])
    for op, kink, at, *_ in profiles.POINTWISE:
        got, expected = measured[0][op, kink], known[0][op, kink]
        report.check(value(got, op, kink) == value(expected, op, kink), f"{name}: {op} at {at}: {expected}, in four types", f"PyTorch gives {got}")
    for op, rule in known[1].items():
        report.check(measured[1][op] == rule, f"{name}: ties of {op}: {rule}", f"PyTorch gives {measured[1][op]}")
    report.check(measured[2] == known[2], f"{name}: a norm of zeros: {known[2]}", f"PyTorch gives {measured[2]}")
    zeros = [torch.zeros(1, 1, 2, 2, requires_grad=True) for _ in range(2)]
    F.lp_pool2d(zeros[0], 2, 2).sum().backward()
    torch.sqrt((zeros[1] * zeros[1]).sum()).backward()
    report.check(bool((zeros[0].grad == 0).all()) and bool(zeros[1].grad.isnan().all()), "lp_pool2d of zeros has the derivative 0, a root of squares NaN",
                 f"{[z.grad.flatten().tolist() for z in zeros]}")
    report.check(profiles.parsed(profiles.measured_text()) == measured, "a profile file that was measured reads as what was measured", "it does not")
    wrong = [f for f in (F.relu, F.hardswish) if profiles.slope_word(1, 0, 1, [f]) == "unknown"]
    report.check(wrong == [F.hardswish], "a slope that is none of the sides, nor a small number, is unknown", f"{wrong}")


if __name__ == "__main__":
    told = Report()
    check_proxies(told, sys.argv[1])
    sys.exit(told.close())
