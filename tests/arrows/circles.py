"""Circles among the files of lib: files that use each other's functions, so that none of them can be read before the others. circles.txt
has those that are known, and why; no other may come, none may grow, and one that is gone leaves the list.

    python3 tests/arrows/circles.py [--list]

The test plants a circle that is not known, one that has grown, and one that is gone; it must see each.
"""

import argparse
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIB = HERE.parents[1] / "lib"


def uses(texts):
    """By file: the files that define the functions which it names. texts: by file, without comments."""
    defined = {name: file for file, text in texts.items() for name in re.findall(r"^(clarke_\w+)\(", text, re.M)}
    return {file: {defined[name] for name in re.findall(r"\bclarke_\w+\b", text) if name in defined} - {file}
            for file, text in texts.items()}


def reached(graph, start):
    """All that a file uses, by itself or through others."""
    seen, todo = set(), list(graph[start])
    while todo:
        file = todo.pop()
        if file not in seen:
            seen.add(file)
            todo += graph[file]
    return seen


def circles(graph):
    """The largest sets of files each of which uses all others, in order."""
    beyond = {file: reached(graph, file) for file in graph}
    found = {frozenset(other for other in beyond[file] if file in beyond[other]) for file in graph if file in beyond[file]}
    return sorted(sorted(circle) for circle in found)


def known(text):
    """The circles of circles.txt, each a line of files, its reason behind a colon."""
    return [line.partition(":")[0].split() for line in text.splitlines() if line and not line.startswith("#")]


def complaints(found, listed):
    """What circles.txt does not have, and what it has no more."""
    wrong = [f"a circle that circles.txt does not have, or that has grown: {' '.join(circle)}" for circle in found
             if not any(set(circle) <= set(old) for old in listed)]
    return wrong + [f"circles.txt: no circle any more: {' '.join(old)}" for old in listed if not any(set(circle) <= set(old) for circle in found)]


def planted():
    """Circles in a small library: is what the list does not say seen?"""
    texts = {"a": "clarke_a(void)\n{ clarke_b(); }", "b": "clarke_b(void)\n{ clarke_c(); }", "c": "clarke_c(void)\n{ clarke_b(); }"}
    found = circles(uses(texts))
    if found != [["b", "c"]]:
        return f"a circle of two files is not found: {found}"
    for listed, number in (([["b", "c"]], 0), ([], 1), ([["b"]], 2), ([["a", "b", "c"]], 0), ([["b", "c"], ["a", "c"]], 1)):
        if len(complaints(found, listed)) != number:
            return f"against {listed} there are not {number} complaints"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true")
    texts = {str(path.relative_to(LIB).with_suffix("")): re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
             for path in sorted(LIB.rglob("*.c")) if path.relative_to(LIB).parts[0] != "check"}
    found = circles(uses(texts))
    if parser.parse_args().list:
        print("\n".join(" ".join(circle) for circle in found))
        return
    wrong = complaints(found, known((HERE / "circles.txt").read_text())) + list(filter(None, [planted()]))
    print("\n".join(wrong) or f"{len(found)} circles of files, all of them known")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
