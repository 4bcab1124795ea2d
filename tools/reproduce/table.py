"""The table of docs/reproduce.md, as `clarke reproduce` prints it. It needs a built clarke.

Usage: python3 tools/reproduce/table.py build/tools/clarke [--write | --without-draws] [OPTION...]

Without --write it says whether the page has today's table, and fails if not. --without-draws asks for the claims alone that draw
nothing: a tenth of the time. `clarke reproduce` is given the options.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/reproduce.md"
CASES = ROOT / "cases/papers"


def link_undrawn(folder):
    """Puts links to the cases that draw nothing into the folder. The claims of the others."""
    drawn = set()
    for file in CASES.iterdir():
        text = file.read_text() if file.suffix == ".prog" else ""
        if re.search("^#: (suite|sweep|training) ", text, re.M):
            drawn.update(re.findall(r"^#: claim (\S+)", text, re.M))
        else:
            (Path(folder) / file.name).symlink_to(file)
    return drawn


def table_of(clarke, cases, options):
    said = subprocess.run([clarke, "reproduce", "--cases", cases, *options], stdout=subprocess.PIPE, text=True)
    table = said.stdout[said.stdout.index("| claim "):]
    if said.returncode != 0 or "DISAGREE" in table:
        sys.exit("something is not what it must be: clarke reproduce says what")
    return table


def rows(table, drawn):
    """Not of the claims that are drawn, nor the count of all."""
    return [line for line in table.splitlines() if line.startswith("| ") and line.split()[1] not in drawn]


def main():
    flags = [a for a in sys.argv[2:] if a in ("--write", "--without-draws")]
    options = [a for a in sys.argv[2:] if a not in flags]
    page = PAGE.read_text()
    at = page.index("\n| claim ") + 1
    if "--without-draws" in flags:
        with tempfile.TemporaryDirectory() as folder:
            drawn = link_undrawn(folder)
            new, old = (rows(table, drawn) for table in (table_of(sys.argv[1], folder, options), page[at:]))
    else:
        new, old = table_of(sys.argv[1], CASES, options), page[at:]
    if "--write" in flags:
        PAGE.write_text(page[:at] + new)
    elif new != old:
        sys.exit("docs/reproduce.md has another table: python3 tools/reproduce/table.py build/tools/clarke --write")


if __name__ == "__main__":
    main()
