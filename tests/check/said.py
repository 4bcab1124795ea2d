"""Writes data/said.txt: what clarke-check prints of each proof of data/index.txt that holds. test_proofs.c holds it to that, so what
differs is to be read.

    python3 tests/check/said.py CLARKE-CHECK
"""

import subprocess
import sys
from pathlib import Path

import edits

DATA = Path(__file__).parent / "data"


def main():
    held = [name for name, status, *_ in map(str.split, (DATA / "index.txt").read_text().splitlines()) if status == "0"]
    proofs = edits.expanded(DATA)
    said = {name: subprocess.run([sys.argv[1], proofs / name, "--data", DATA], capture_output=True, text=True, check=True).stdout for name in held}
    (DATA / "said.txt").write_text("".join(f"== {name}\n{text}" for name, text in said.items()))


if __name__ == "__main__":
    main()
