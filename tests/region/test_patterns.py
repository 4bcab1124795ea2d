"""clarke patterns --arrangement, as a command: its answers, its refusals, and its proofs, forged ones too.

    test_patterns.py TOOLS
"""

import hashlib
import itertools
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path

CLARKE, CHECK = (Path(sys.argv[1]) / name for name in ("clarke", "clarke-check"))
CASES = Path(__file__).resolve().parents[2] / "cases/arrangements"
failures = []


def expect(what, holds, *more):
    if not holds:
        failures.append(what)
        print("FAILED:", what, *more)


def run(program, *words, **more):
    return subprocess.run([program, *map(str, words)], text=True, capture_output=True, timeout=120,
                          env=dict(os.environ, ASAN_OPTIONS="detect_leaks=0"), **more)


def patterns(*words):
    return run(CLARKE, "patterns", *words)


def sign(x):
    return "-0+"[(x > 0) - (x < 0) + 1]


# --- answers ---------------------------------------------------------------------------------------

def written(rows):
    return "".join(" ".join(map(str, row)) + "\n" for row in rows)


def drawn(rng):
    """Small arrangements: rows of the matrix, offsets or None."""
    n, p = rng.randint(1, 3), rng.randint(1, 6)
    entry = lambda: Fraction(rng.randint(-3, 3), rng.choice([1, 1, 2, 5]))
    columns = [[entry() for _ in range(n)] for _ in range(p)]
    for j in range(p):
        if rng.random() < 0.15:
            columns[j] = [Fraction(0)] * n
        elif j > 0 and rng.random() < 0.2:
            columns[j] = [rng.choice([-2, Fraction(1, 3)]) * x for x in columns[rng.randrange(j)]]
    return [list(row) for row in zip(*columns)], [entry() for _ in range(p)] if rng.random() < 0.5 else None


def answers(rng, folder):
    """Each point that is printed has its signs; lists, JSON and count agree."""
    for _ in range(25):
        rows, offsets = drawn(rng)
        (folder / "V").write_text(written(rows))
        options = ["--arrangement", folder / "V"]
        if offsets is not None:
            (folder / "T").write_text(written([offsets]))
            options += ["--offsets", folder / "T"]
        said = patterns(*options)
        *lines, last = said.stdout.splitlines()
        expect("listed", said.returncode == 0 and last.startswith("%d sign vector" % len(lines)), said)
        for line in lines:
            signs, *at = line.split()
            values = [sum(row[j] * Fraction(x) for row, x in zip(rows, at)) - (offsets[j] if offsets else 0) for j in range(len(signs))]
            expect("the point has its signs", signs == "".join(map(sign, values)), rows, offsets, line)
        expect("distinct", len({line.split()[0] for line in lines}) == len(lines), lines)
        found = json.loads(patterns(*options, "--json").stdout)
        expect("JSON", [[v["signs"], *v["at"]] for v in found["vectors"]] == [line.split() for line in lines], found)
        expect("JSON's count", found["count"] == str(len(lines)) and found["complete"] is True, found)
        expect("the count", patterns(*options, "--count").stdout == "%d\n" % len(lines))


REFUSED = [
    ("", "no number in it"), ("1 2\n3\n", "line 2: a row of 1; expected 2"), ("1 x\n", "'x' is no number"), ("1/0\n", "is no number"),
    ("1e401\n", "is no number"), ("nan\n", "is no number"), ("0x10\n", "is no number"), ("1 2,3\n", "is no number"),
    ("1" * 2000 + "\n", "over 1024 characters"), ("1 \0\n", "line 1"), ("--1\n", "is no number"), ("1e\n", "is no number"),
]


def refusals(folder):
    for text, why in REFUSED:
        (folder / "V").write_text(text)
        said = patterns("--arrangement", folder / "V")
        expect("refused", said.returncode == 2 and why in said.stderr and said.stderr.startswith("clarke patterns: V: ") and not said.stdout,
               text[:40], said)
    (folder / "V").write_text("1 " * 5000 + "\n")
    expect("too large", "5000 hyperplanes in dimension 1; at most 4096" in patterns("--arrangement", folder / "V").stderr)
    (folder / "V").write_text("1 0\n0 1\n")
    for text, why in [("1 2 3\n", "expected one row of 2"), ("1\n2\n3\n", "expected one row of 2")]:
        (folder / "T").write_text(text)
        said = patterns("--arrangement", folder / "V", "--offsets", folder / "T")
        expect("offsets refused", said.returncode == 2 and why in said.stderr, text, said)
    for words in [[], ["--arrangement", folder / "none"], ["--arrangement", folder], ["--arrangement", folder / "V", "more"],
                  ["--arrangement", folder / "V", "--limit", "regions=0"], ["--arrangement", ""]]:
        said = patterns(*words)
        expect("not asked", said.returncode == 2 and said.stderr and not said.stdout, words, said)
    (folder / "V").write_text("# a comment, and blank lines\r\n\n +1.\t.5e0 \r\n-0.25E1 1/3 # more\r\n")
    expect("all that a number may be", patterns("--arrangement", folder / "V", "--count").stdout == "4\n")


def limits(folder):
    """What was found before a limit or an interrupt is kept, the exit status is 3, and no proof is left."""
    said = patterns("--arrangement", CASES / "braid.txt", "--limit", "regions=5", "--proof", folder / "none.proof")
    expect("limit", said.returncode == 3 and "at least 6 sign vectors; undecided: the limit" in said.stdout, said)
    expect("no proof", not (folder / "none.proof").exists() and "no proof is written" in said.stderr)
    rng = random.Random(5)
    (folder / "large").write_text(written([[rng.randint(-99, 99) for _ in range(60)] for _ in range(12)]))
    with open(folder / "out", "w") as out:
        child = subprocess.Popen([CLARKE, "patterns", "--arrangement", folder / "large"], stdout=out, stderr=subprocess.PIPE)
        while (folder / "out").stat().st_size < 10000:
            time.sleep(0.01)
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=60)
    *lines, last = (folder / "out").read_text().splitlines()
    expect("interrupted", child.returncode == 3 and last == "at least %d sign vectors; undecided: interrupted" % len(lines), last)


# --- proofs ----------------------------------------------------------------------------------------

def sealed(text):
    body = text[:text.rindex("end ")] if "\nend " in text else text
    return body + "end " + hashlib.sha256(body.encode()).hexdigest() + "\n"


def regions(text):
    return re.search(r"^regions (\d+)$", text, re.M).group(1)


def forged(rng, text):
    """The proof with a word, a line or two changed, and the right hash."""
    lines = text.splitlines()[:-1]
    kind, at = rng.randrange(6), rng.randrange(5, len(lines))
    words = lines[at].split(" ")
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(at, lines[rng.randrange(5, len(lines))])
    elif kind == 2:
        other = rng.randrange(5, len(lines))
        lines[at], lines[other] = lines[other], lines[at]
    elif kind == 3 and len(words) > 1:
        word = rng.randrange(1, len(words))
        words[word] = rng.choice([str(int(words[word]) + rng.choice([-1, 1])), "0", words[word].lstrip("-"), "-" + words[word], "1/2", ""])
        lines[at] = " ".join(words)
    elif kind == 4 and "tree" in lines[:-1]:  # a subtree is cut, and the number made to fit
        start = lines.index("tree")
        leaves = [i for i in range(start, len(lines)) if lines[i].startswith("leaf")]
        del lines[rng.choice(leaves)]
        lines = [re.sub(r"^regions (\d+)$", lambda m: "regions %d" % (int(m[1]) - (2 if any(x.startswith("half") for x in lines) else 1)), x)
                 for x in lines]
    else:
        lines[at] = " ".join([rng.choice(["split", "forced", "leaf", "circuit", "parallel", "half"])] + words[1:])
    return sealed("\n".join(lines) + "\nend \n")


def proofs(rng, folder):
    verified = 0
    for k in range(12):
        rows, offsets = drawn(rng)
        (folder / "V").write_text(written(rows))
        options = ["--arrangement", folder / "V", "--proof", folder / "proof"]
        if offsets is not None:
            (folder / "T").write_text(written([offsets]))
            options += ["--offsets", folder / "T"]
        count = patterns(*options, "--count").stdout.strip()
        said = run(CHECK, folder / "proof")
        expect("verified", said.returncode == 0 and "has exactly %s region" % count in said.stdout, said, rows, offsets)
        text = (folder / "proof").read_text()
        expect("the hash covers all", text == sealed(text))
        for _ in range(20):
            (folder / "forged").write_text(forged(rng, text))
            said = run(CHECK, folder / "forged")
            verified += said.returncode == 0
            expect("a forged proof says what is true", said.returncode == 1 or (said.returncode == 0 and "exactly %s region" % count in said.stdout),
                   said, (folder / "forged").read_text())
        for _ in range(4):  # unsealed
            data, at = bytearray(text.encode()), rng.randrange(len(text))
            data[at] ^= 1 << rng.randrange(7)
            (folder / "forged").write_bytes(bytes(data))
            expect("a changed byte", run(CHECK, folder / "forged").returncode == 1)
        (folder / "V").write_text(written(rows) + "\n")
        expect("a changed matrix", run(CHECK, folder / "proof").returncode == 1)
    expect("of the forged proofs few are right", verified < 80, verified)


def stored(folder):
    """The proofs that are kept say the same as ever, and are verified."""
    for name, *options in [("braid",), ("lines", "--offsets", CASES / "lines-offsets.txt")]:
        kept = CASES.parents[1] / "proofs-data/arrangements" / (name + ".proof")
        patterns("--arrangement", CASES / (name + ".txt"), *options, "--proof", folder / "again")
        expect("a kept proof", (folder / "again").read_bytes() == kept.read_bytes(), name)
        expect("it is verified", run(CHECK, kept, "--data", CASES).returncode == 0, name)


def of_another_matrix(rng, folder):
    """A proof's tree under a statement of another matrix: verified when that has as many regions only."""
    for _ in range(30):
        rows, _ = drawn(rng)
        other = [list(row) for row in rows]
        i, j = rng.randrange(len(rows)), rng.randrange(len(rows[0]))
        other[i][j] += rng.choice([-1, 1, Fraction(1, 2)])
        (folder / "V").write_text(written(rows))
        patterns("--arrangement", folder / "V", "--count", "--proof", folder / "proof")
        (folder / "V").write_text(written(other))
        hashed = hashlib.sha256((folder / "V").read_bytes()).hexdigest()
        text = re.sub(r"^arrangement V \S+", "arrangement V " + hashed, (folder / "proof").read_text(), flags=re.M)
        (folder / "forged").write_text(sealed(text))
        said = run(CHECK, folder / "forged")
        if said.returncode == 0:
            count = patterns("--arrangement", folder / "V", "--count").stdout.strip()
            expect("another matrix has as many", "exactly %s region" % count in said.stdout, rows, other)


def main():
    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        answers(rng, folder)
        refusals(folder)
        limits(folder)
        proofs(rng, folder)
        of_another_matrix(rng, folder)
        stored(folder)
    print("%d failures" % len(failures))
    return 1 if failures else 0


sys.exit(main())
