#!/usr/bin/env python3
"""Training scripts as people write them, with the two lines of the README: what is said of their last step.

    records_scripts.py CLARKE CLARKE-CHECK [--write] [NAME...]

The tables of docs/scripts.md are made here, and compared; --write writes them.
"""
import contextlib
import html
import io
import json
import os
import re
import runpy
import subprocess
import sys
import tempfile

import torch
from torch import nn
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPTS, PAGE = os.path.join(HERE, "scripts"), os.path.join(HERE, "..", "..", "docs", "scripts.md")
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "python"))
CLARKE, CHECK = (os.path.abspath(p) for p in (sys.argv[1:3] + [""])[:2])
os.environ["CLARKE"] = CLARKE
import clarke  # noqa: E402
from report import Report  # noqa: E402
sys.path.append(os.path.join(HERE, "..", "tools"))
from plainly import word_of_the_field  # noqa: E402

REPORT = Report()
GOOD = "the rule's, "
TITLES = ("script", "recorded", "gradient", "verdict", "touched", "optimizer's step", "told"), ("written", "refused")


def said(run, answer):
    """What the report tells beside the verdict."""
    with open(os.path.join(run, "run.json"), encoding="utf-8") as f:
        description = json.load(f)
    lines = [f"surrogate at {text.split(': ')[0]}: {text.split(': ')[1]}" for text in answer.surrogates] + description["constants"]
    lines += [f"a number is read at {line}" for line in description["branches"]]
    return "; ".join(dict.fromkeys(lines)) or "-"


def stepped(name):
    """What is said of the optimizer's step; it is its rule's, for the gradient that the optimizer was given."""
    said = clarke.step("run/")
    rule, answer, given = said["rule"], said["answer"], said["gradient"]["is"]
    REPORT.check(answer.startswith(GOOD) and said["holds"], f"{name}: its optimizer's step is the rule's", said)
    return f"{rule}: {answer.removeprefix(GOOD)}" + (f"; gradient: {given}" if given != "recorded" else "")


def ask(name):
    """The row of a script."""
    back = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                runpy.run_path(os.path.join(SCRIPTS, f"{name}.py"), run_name="__main__")
            answer = clarke.audit("run/")
            with open("run/run.json", encoding="utf-8") as f:
                kind = "batch axis" if json.load(f)["batch_axis"] else "single run"
            verify(name, answer)
            plain(name, answer)
            return [f"[{name}](../tests/interop/scripts/{name}.py)", kind, answer.answer, answer.verdict, str(sum(answer.touched_by_module.values())),
                    stepped(name), said("run/", answer)]
        except (clarke.Refused, clarke.Failed) as why:
            return [f"[{name}](../tests/interop/scripts/{name}.py)", "no", "-", "-", "-", "-", str(why)]
        finally:
            os.chdir(back)


def plain(name, answer):
    """The first three lines of each report, and all that the page says first, have no word of geometry."""
    for command in ("audit", "certify", "step"):
        text = subprocess.run([CLARKE, command, "run/"], capture_output=True, text=True).stdout
        first = text.split("\n\n")[0].splitlines()
        found = [word_of_the_field(line.split(":", 1)[1]) for line in first]
        REPORT.check([line[:8] for line in first] == ["Asked:  ", "Answer: ", "Next:   "] and found == [None] * 3, f"{name}: clarke {command} begins in plain words", (found, first))
        if command == "audit":
            REPORT.check(first[:2] == repr(answer).splitlines()[:2], f"{name}: Python's first lines are the program's", (first, answer))
    with open("run/answer.json", "w", encoding="utf-8") as out:
        json.dump(answer.report, out)
    page = subprocess.run([CLARKE, "report", "run/answer.json"], capture_output=True, text=True).stdout
    header = re.findall(r">([^<>]+)<", page.split("</p>", 1)[1].split("</header>")[0])
    found = [word_of_the_field(html.unescape(line)) for line in header]
    REPORT.check(len(header) > 5 and set(found) == {None}, f"{name}: its page begins in plain words", (found, header))


def verify(name, answer):
    """The proof of the answer is right, and no node of the step is refuted."""
    with open("run/proof", "wb") as out:
        out.write(answer.proof or b"")
    checked = subprocess.run([CHECK, "run/proof"], capture_output=True, text=True).stdout
    REPORT.check(checked.startswith("VERIFIED"), f"{name}: its proof", checked[:300])
    certified = subprocess.run([CLARKE, "certify", "run/"], capture_output=True, text=True)
    REPORT.check(certified.returncode == 0, f"{name}: certified node by node", certified.stdout[:300])


# ---- What stays refused, with what to write instead


class Normed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return g / g.norm()


def replaced(h):
    k = torch.empty_like(h)
    k.data = h
    return h * k


def unseen(h):
    g = 2 * h
    with torch.no_grad():
        g[:, 0] = 0
    return g


REFUSED = {
    "`h * h.sum().item()`": lambda h: h * h.sum().item(),
    "`a if a.item() >= b.item() else b`, two equal numbers": lambda h: (lambda a, b: a if a.item() >= b.item() else b)(h.sum(), h.sum()),
    "`torch.where(h > 0, h, 0.1 * h)`, some h being 0": lambda h: torch.where(h.relu() > 0, h, 0.1 * h),
    "a Function that divides the gradient by its norm": lambda h: Normed.apply(h),
    "`k.data = h`": replaced,
    "`with torch.no_grad(): h[:, 0] = 0`": unseen,
    "`h.scatter(1, index, values)`, an index twice": lambda h: h.scatter(1, torch.zeros(4, 2, dtype=torch.long), h[:, :2]),
    "`F.softplus(h, beta=2, threshold=0)`, some h being 0": lambda h: F.softplus(h.relu(), beta=2, threshold=0),
    "`h.lgamma()`": lambda h: h.lgamma(),
}


def refusal(f):
    torch.manual_seed(0)
    model, x = nn.Linear(3, 5), torch.randn(4, 3)
    with tempfile.TemporaryDirectory() as folder:
        try:
            with clarke.record(os.path.join(folder, "run"), model):
                f(model(x)).sum().backward()
        except clarke.Refused as why:
            return re.sub(r"[\w./-]+\.py:\d+", "FILE:LINE", str(why))
    return "nothing"


# ---- The page


def table(titles, rows):
    lines = [titles, ["---"] * len(titles), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |\n" for line in lines)


def on_the_page(name, text, write, path=PAGE, report=REPORT):
    """The table between the page's marks is that."""
    with open(path, encoding="utf-8") as f:
        page = f.read()
    begin, end = f"<!-- {name} -->\n", "<!-- end -->\n"
    first = page.index(begin) + len(begin)
    there = page[first:page.index(end, first)]
    if write:
        with open(path, "w", encoding="utf-8") as f:
            f.write(page[:first] + text + page[first + len(there):])
        return
    for mine, old in zip(text.splitlines(), there.splitlines()):
        report.check(mine == old, f"{os.path.basename(path)}: {mine.split(' | ')[0]}", f"the page has {old}, and this is {mine}")
    report.check(len(text.splitlines()) == len(there.splitlines()), f"{os.path.basename(path)}: the table of {name} is whole", there)


def main():
    write, wanted = "--write" in sys.argv[3:], [a for a in sys.argv[3:] if not a.startswith("--")]
    names = wanted or sorted(n.removesuffix(".py") for n in os.listdir(SCRIPTS) if n.endswith(".py"))
    rows = [ask(name) for name in names]
    for row in rows:
        REPORT.check(row[1] != "no", f"{row[0]} is recorded", row[-1])
    if wanted:
        print(table(TITLES[0], rows))
    else:
        on_the_page("scripts", table(TITLES[0], rows), write)
        on_the_page("refused", table(TITLES[1], [[name, refusal(f)] for name, f in REFUSED.items()]), write)
    return REPORT.close()


if __name__ == "__main__":
    sys.exit(main())
