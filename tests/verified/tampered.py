"""Proofs with drawn edits: does the proved kernel accept one that clarke-check refuses, or that is false?

    python3 tests/verified/tampered.py CLARKE-CHECK CLARKE-CHECK-VERIFIED [--number N] [--seed N] [--show]

Each is a stored proof in which one to three lines changed: a number, a verdict, a rule, a line of a tree. Of one in four it is
the program's text that changed, in a few characters or words. The proof is sealed again, and both are asked. They must give
one answer; but what clarke-check understands may be outside of the kernel's reach, as a fork that is left open is. And the kernel does
not ask that F is Lipschitz (it says whether that is proved), so not that the arms of a branch meet. With --show the proofs on which
they differ are printed.
"""

import argparse
import collections
import concurrent.futures
import hashlib
import os
import random
import re
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

import proofs

VERDICTS = ["in-bouligand", "in-clarke", "not-in-clarke"]
RULES = ["first", "last", "stable", "mean", "hybrid 1/2", "hybrid -1"]


def another(draw, word):
    """A rational near to this one."""
    q = Fraction(word)
    any_one = Fraction(draw.randint(-9, 9), draw.randint(1, 5))
    return str(draw.choice([-q, q + 1, q - 1, 2 * q, q / 2, Fraction(0), q + Fraction(1, 7), any_one]))


def is_rational(word):
    """A number as proofs have it? (A hash may look like 3e567.)"""
    return re.fullmatch(r"-?\d{1,4000}(/[1-9]\d{0,3999})?", word) is not None


def edit(draw, lines):
    """One change to a line behind the program's name."""
    at = draw.randrange(4, len(lines))
    if draw.random() < 0.08:
        at = 1
    words = lines[at].split(" ")
    kind = draw.random()
    numbers = [i for i, word in enumerate(words) if i > 0 and is_rational(word)]
    if words[0] == "verdict":
        words[1] = draw.choice(VERDICTS)
    elif words[0] == "tie":
        words[2:] = draw.choice(RULES).split(" ")
    elif words[0] == "proxy" and kind < 0.5:
        words[3] = draw.choice(["left", "right", "1", "0", "1/2", "-1"])
    elif words[0] in ("leaf", "dead", "branch") and kind < 0.6:
        others = [["leaf"], ["dead 1", "u 0 1"], ["dead 2", "u 0 1", "u 1 1"], ["branch 2", "leaf", "leaf"], ["open"], []]
        lines[at:at + 1] = draw.choice(others)
        return
    elif kind < 0.75 and numbers:
        i = draw.choice(numbers)
        words[i] = another(draw, words[i])
    elif kind < 0.85:
        other = draw.randrange(4, len(lines))
        lines[at], lines[other] = lines[other], lines[at]
        return
    elif kind < 0.92:
        lines.insert(at, lines[at])
        return
    else:
        del lines[at]
        return
    lines[at] = " ".join(words)


def edit_text(draw, text):
    """One change to a program's text."""
    at = draw.randrange(len(text) + 1)
    words = list(re.finditer(r"[A-Za-z_]\w*|[\d.]+|\S", text))
    word = draw.choice(words)
    other = draw.choice(words)[0]
    return draw.choice([
        text[:at] + draw.choice("()[]{},:+-*/<>=!.0123456789abxy_# \n\t\re") + text[at:],
        text[:at] + text[at + 1:],
        text[:word.start()] + other + text[word.end():],
        text[:word.start()] + text[word.end():],
        text[:word.end()] + " " + other + text[word.end():],
    ])


def drawn(seed, known, work):
    """A proof with edits: (its bytes, the folder of its inputs, the proof that it was)."""
    draw = random.Random(seed)
    proof, folder, text = draw.choice(known)
    lines = text.decode().splitlines()[:-1]
    before = list(lines)
    if draw.random() < 0.25:
        at = next(i for i, line in enumerate(lines) if line.startswith("program "))
        name = lines[at].split(" ")[1]
        program = (folder / name).read_text()
        for _ in range(draw.randint(1, 2)):
            program = edit_text(draw, program)
        folder = Path(work) / f"{seed}"
        folder.mkdir()
        (folder / name).write_bytes(program.encode())
        lines[at] = f"program {name} {hashlib.sha256(program.encode()).hexdigest()}"
        return proofs.sealed(lines), folder, proof
    for _ in range(draw.randint(1, 3)):
        edit(draw, lines)
        if len(lines) < 6:
            break
    return (proofs.sealed(lines) if lines != before else None), folder, proof


def ask(task):
    """Both answers to the seed's proof."""
    asked, seed, known, work = task
    text, folder, proof = drawn(seed, known, work)
    if text is None:
        return None
    path = Path(work) / f"{seed}.proof"
    path.write_bytes(text)
    answers = [proofs.says(checker, path, folder) for checker in (asked.check, asked.verified)]
    path.unlink()
    return seed, proof, answers, text


def main():
    """Draws; counts the answers; fails where the kernel says more than clarke-check."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("check")
    arguments.add_argument("verified")
    arguments.add_argument("--number", type=int, default=400)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--show", action="store_true")
    asked = arguments.parse_args()
    known = [(proof, folder, proof.read_bytes()) for proof, folder in proofs.stored() if proof.parent.name == "papers"]
    known = [(proof, folder, text) for proof, folder, text in known
             if proofs.about(text) == "program" and not text.startswith(b"clarke-proof 1\nclaim ")]  # of verdicts
    counts, more = collections.Counter(), []
    with tempfile.TemporaryDirectory() as work, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for answer in pool.map(ask, ((asked, asked.seed * 1000003 + i, known, work) for i in range(asked.number))):
            if answer is None:
                counts["no change"] += 1
                continue
            seed, proof, ((theirs, line, _), (ours, our_line, last)), text = answer
            theirs = "VERIFIED" if theirs == "VERIFIED" else "refused"
            counts[f"clarke-check {theirs}, the kernel {our_line if (ours, theirs) == ('OUTSIDE', 'VERIFIED') else ours}"] += 1
            if "the arms of this branch do not meet" in line and last == "That F is Lipschitz near w is not proved here.":
                counts["(of the last, refused since F may jump)"] += 1
            elif (ours == "VERIFIED") != (theirs == "VERIFIED") and ours != "OUTSIDE":
                more.append((seed, proof.name, line, our_line, text))
    for what, n in sorted(counts.items()):
        print(f"{n:6}  {what}")
    for seed, name, line, our_line, text in more:
        print(f"seed {seed}, {name}: clarke-check says '{line}', the kernel '{our_line}'")
        if asked.show:
            print(text.decode())
    return bool(more)


if __name__ == "__main__":
    sys.exit(main())
