"""Stored proofs about programs, as two checkers see them: clarke-check, and clarke-check-verified, whose kernel is proved."""

import hashlib
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "check"))

import edits  # noqa: E402


def stored():
    """(proof, folder of its inputs) of every proof that is stored."""
    small = ROOT / "tests/check/data"
    for proof in sorted(path for part in (ROOT / "proofs-data", ROOT / "cases") for path in part.rglob("*.proof")):
        folder = proof.parent.relative_to(ROOT)
        if folder.parts[0] == "proofs-data":
            folder = Path("cases", *(folder.parts[1:] or ("audit",)))
            folder = folder / proof.stem if folder.name == "runs" else folder
        yield proof, ROOT / folder
    for proof in sorted(edits.expanded(small).glob("*.proof")):
        yield proof, small


def about(text):
    """What a proof speaks of: its first line that names a file."""
    found = re.search(rb"^(program|network|model|arrangement|cnf|formula|run|segment) ", text, re.M)
    return found[1].decode() if found else "other"


def sealed(lines):
    """The proof of these lines, with its last one."""
    body = "".join(line + "\n" for line in lines).encode()
    return body + b"end " + hashlib.sha256(body).hexdigest().encode() + b"\n"


def tape(checker, proof, folder, to):
    """Writes the whole tape of the network that the proof is about; is there one?"""
    said = subprocess.run([checker, proof, "--whole-tape", "--data", folder], capture_output=True, timeout=60, check=False)
    to.write_bytes(said.stdout)
    return said.returncode == 0


def says(checker, proof, folder, option="--data"):
    """(the first word, the first line, the last line) of its answer."""
    said = subprocess.run([checker, proof, option, folder], capture_output=True, text=True, errors="replace", timeout=3000)
    lines = said.stdout.splitlines() or said.stderr.splitlines() or [""]
    word = said.stdout.split(" ")[0].split("\n")[0].rstrip(":")
    return word or f"status {said.returncode}", lines[0], lines[-1]


# What clarke-check refuses in a proof about a network, and the kernel does not read (docs/verified.md). Of the lines before the
# evidence: how many kinks are touched, and the rules of operators that the tape names otherwise, or not.
STATEMENTS = re.compile(r"FAILED line [0-9]+: (the number of touched kinks is|unknown tie rule|the tie rule of|'touched' is expected"
                        r"|the proxy of kink [0-9]+ of \w+ is expected)")
# Of a combination's cells the kernel does not read the sides: it finds them along the direction.
SIDES = re.compile(r"FAILED line [0-9]+: (touched kink .* (moves to the wrong side|has no side|does not rest)|one side for each|the cells' signs"
                   r"|there is no such node)")


def is_apart(text, theirs):
    """Is what clarke-check refuses (its line) no part of what the kernel is asked? So it is behind a separator, whose tree the
    kernel finds itself."""
    lines = text.split(b"\n")
    number = re.match(r"FAILED line ([0-9]+):", theirs)
    last = max((i for i, line in enumerate(lines, 1) if line.startswith(b"v ")), default=None)
    if number and (lines[int(number[1]) - 1].startswith(b"touched ") or (last and int(number[1]) > last)):
        return True
    combines = re.search(rb"^evidence (hull|mix) ", text, re.M)
    return bool(STATEMENTS.match(theirs) or (combines and SIDES.match(theirs)))
