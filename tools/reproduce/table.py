"""The table of docs/reproduce.md, as `clarke reproduce` prints it. It needs a built clarke.

Usage: python3 tools/reproduce/table.py build/tools/clarke [--write] [OPTION...]

Without --write it says whether the page has today's table, and fails if not. `clarke reproduce` is given the options.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/reproduce.md"


def main():
    options = [a for a in sys.argv[2:] if a != "--write"]
    said = subprocess.run([sys.argv[1], "reproduce", "--cases", ROOT / "cases/papers", *options], stdout=subprocess.PIPE, text=True)
    table = said.stdout[said.stdout.index("| claim "):]
    page = PAGE.read_text()
    new = page[:page.index("\n| claim ") + 1] + table
    if said.returncode != 0 or "DISAGREE" in table:
        sys.exit("something is not what it must be: clarke reproduce says what")
    if "--write" in sys.argv:
        PAGE.write_text(new)
    elif page != new:
        sys.exit("docs/reproduce.md has another table: python3 tools/reproduce/table.py build/tools/clarke --write")


if __name__ == "__main__":
    main()
