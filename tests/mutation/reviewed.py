"""The list of changes that no test could notice (equivalent.txt), and where each stands."""

import re
from pathlib import Path

# A function's name begins a line, as the layout of this repository has it.
NAME = re.compile(r"^(?:static |const )*(?:[\w*]+ +)*?\*?([A-Za-z_]\w*)\(", re.M)


def place_of(mutant, source):
    """A change's function, and which of this function's lines that are the same it is in, from 1; the line before, and after."""
    begin = source.rfind("\n", 0, mutant.start) + 1
    names = [m for m in NAME.finditer(source, 0, begin)]
    function, body = (names[-1][1], names[-1].start()) if names else ("", 0)
    line = " ".join(source[begin:source.find("\n", begin)].split())
    number = 1 + sum(" ".join(other.split()) == line for other in source[body:begin].splitlines())
    return (function, number, *mutant.change(source))


def reviewed():
    """The changes of equivalent.txt: (file, function, which line of it, line before, line after)."""
    known, path, where, old = set(), "", ("", 1), ""
    for line in (Path(__file__).parent / "equivalent.txt").read_text().splitlines():
        if line.startswith("@ "):
            function, *number = line[2:].split()
            where = (function, int(number[0]) if number else 1)
        elif line.startswith("- "):
            old = line[2:]
        elif line.startswith("+ "):
            known.add((path, *where, old, line[2:]))
        elif line and not line.startswith((" ", "#")):
            path, where = line, ("", 1)
    return known
