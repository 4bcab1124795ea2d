"""What the documents show is what the programs print.

    shown.py TOOLS FILE.md...

In a code block that begins with `$ `, every such line is a command, and what follows it up to the next one is its output; a
line `...` stands for any number of lines. `$ cat NAME` of a file that no command has made shows the reader a file: it
is written, and must stand there whole. The blocks of a document run in one folder, in order, with TOOLS (where the programs lie) first on
the path and the repository's `cases` and `proofs-data` beside. A table's rows are compared with their spaces.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def blocks(text):
    """The code blocks of a document: (number of the first line, lines)."""
    block, found = None, []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.startswith("```"):
            if block is not None:
                block[1].append(line)
        elif block is None:
            block = (number + 1, [])
        else:
            found.append(block)
            block = None
    assert block is None, f"the code block of line {block[0]} does not end"
    return found


def sessions(block):
    """A block's commands: (number of the line, command, lines shown)."""
    first, lines = block
    found = []
    if not lines or not lines[0].startswith("$ "):
        return []
    for number, line in enumerate(lines, first):
        if line.startswith("$ "):
            found.append((number, line[2:], []))
        else:
            found[-1][2].append(line)
    for _, _, shown in found:
        while shown and not shown[-1]:  # an empty line before the next command
            shown.pop()
    return found


def matches(shown, printed):
    """Are these the lines printed, `...` standing for any?"""
    if not shown:
        return not printed
    if shown[0] == "...":
        return any(matches(shown[1:], printed[k:]) for k in range(len(printed) + 1))
    return bool(printed) and shown[0] == printed[0] and matches(shown[1:], printed[1:])


def run(command, shown, folder, path):
    """None, or what was printed instead."""
    words = command.split()
    if words[0] == "cat" and not (folder / words[1]).exists() and "..." not in shown:
        (folder / words[1]).write_text("\n".join(shown) + "\n")
        return None
    said = subprocess.run(command, shell=True, cwd=folder, env=dict(os.environ, PATH=path), text=True, timeout=60,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    printed = said.stdout.rstrip("\n").split("\n") if said.stdout else []
    return None if matches(shown, printed) else said.stdout


def check(document, path):
    """How many commands a document shows; of how many the output is another."""
    count = wrong = 0
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for name in ("cases", "proofs-data"):
            (folder / name).symlink_to(ROOT / name)
        for block in blocks(document.read_text()):
            for number, command, shown in sessions(block):
                count += 1
                printed = run(command, shown, folder, path)
                if printed is not None:
                    wrong += 1
                    print(f"{document.name}:{number}: $ {command}\nprints\n{printed}")
    return count, wrong


def main():
    path = os.path.abspath(sys.argv[1]) + os.pathsep + os.environ["PATH"]
    counts = [check(Path(name), path) for name in sys.argv[2:]]
    count, wrong = sum(c for c, _ in counts), sum(w for _, w in counts)
    print(f"{count} commands shown, {wrong} print something else")
    sys.exit(wrong > 0 or count == 0)


main()
