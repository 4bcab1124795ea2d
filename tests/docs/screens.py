#!/usr/bin/env python3
"""The pictures of docs/img show what pages say today: each holds what its page said first, and docs/report.md shows it with a caption whose
quotations the page has.

    screens.py CLARKE ROOT
"""
import importlib.machinery
import importlib.util
import os
import re
import sys
import tempfile

CLARKE, ROOT = (os.path.abspath(a) for a in sys.argv[1:3])
IMG = os.path.join(ROOT, "docs", "img")


def script():
    sys.dont_write_bytecode = True
    spec = importlib.util.spec_from_loader("screens", importlib.machinery.SourceFileLoader("screens", os.path.join(IMG, "screens")))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def captions():
    """By picture, what docs/report.md says of it."""
    with open(os.path.join(ROOT, "docs", "report.md"), encoding="utf-8") as f:
        return dict(reversed(found) for found in re.findall(r"!\[([^]]*)\]\(img/(page-\w+\.png)\)", f.read().replace("\n", " ")))


def wrong_of(name, screens, caption):
    page, found = screens.page(CLARKE, name), []
    said = screens.beginning(page)
    with open(os.path.join(IMG, f"page-{name}.png"), "rb") as f:
        held = screens.kept(f.read())
    if held != said:
        found.append(f"page-{name}.png is of another page: docs/img/screens draws it anew\n  then: {held}\n  now:  {said}")
    quoted = re.findall('"([^"]+)"', caption or "")
    if not quoted:
        found.append(f"docs/report.md does not show page-{name}.png, or quotes nothing of it")
    return found + [f"page-{name}.png: its page does not say: {q}" for q in quoted if q not in said]


def main():
    screens, shown, wrong = script(), captions(), []
    files = {name for name in os.listdir(IMG) if name.endswith(".png")}
    if files != {f"page-{name}.png" for name in screens.CASES} or set(shown) != files or len(files) != 6:
        wrong.append(f"pictures: {sorted(files)}; shown: {sorted(shown)}; drawn: {sorted(screens.CASES)}")
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        for name in screens.CASES:
            wrong += wrong_of(name, screens, shown.get(f"page-{name}.png"))
        os.chdir("/")
    print("\n".join(wrong) or f"{len(files)} pictures are of today's pages")
    return len(wrong) > 0


sys.exit(main())
