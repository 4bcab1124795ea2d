"""The list of changes that no test could notice (equivalent.txt)."""

from pathlib import Path


def reviewed():
    """The changes of equivalent.txt: (file, line before, line after)."""
    known, path, old = {}, "", ""
    for line in (Path(__file__).parent / "equivalent.txt").read_text().splitlines():
        if line.startswith("- "):
            old = line[2:]
        elif line.startswith("+ "):
            known[path, old, line[2:]] = True
        elif line and not line.startswith((" ", "#")):
            path = line
    return known
