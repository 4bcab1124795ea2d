"""The arrangements of Dussault, Gilbert and Plaquevent-Jourdain, enumerated, proved and checked: the table of docs/arrangements.md.

    arrangements.py TOOLS [FOLDER]

TOOLS holds clarke and clarke-check. Made here are their permutations (perm-k: the hyperplanes x_i = 0 and x_i = x_j of R^k) and
random ones (rand-n-p-r: p columns of R^n with entries from -10 to 10, of rank r, from our own seed). FOLDER may hold more: a file
an instance, NAME.txt, the matrix by rows.
"""

import json
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

TOOLS = Path(sys.argv[1])
# What the authors report: seconds (Matlab, floats) of the best of their variants, and its linear programs.
PUBLISHED = {
    "rand-7-14-7": (1.42, 2663), "rand-10-17-9": (70.2, 25370), "srand-8-20-2": (4.75, 2881), "srand-8-20-6": (496, 62694),
    "degen2d-20-8": (0.45, 28), "perm-6": (0.84, 92), "perm-8": (85.7, 9766), "ratio-20-4-9": (2.50, 1054),
    "ratio-20-6-9": (78.8, 11187), "ratio-20-7-9": (163, 22295)}


def permutations(k):
    columns = [[int(i == j) for i in range(k)] for j in range(k)]
    columns += [[(i == a) - (i == b) for i in range(k)] for a in range(k) for b in range(a + 1, k)]
    return columns


def drawn(n, p, rank, rng):
    """Entries from row `rank` on are differences of two rows before; a column is drawn anew until all lie in the range."""
    columns = []
    while len(columns) < p:
        column = [rng.randint(-10, 10) for _ in range(rank)]
        column += [column[i] - column[i + 1] for i in range(n - rank)]
        if max(map(abs, column)) <= 10:
            columns.append(column)
    return columns


def write(path, columns):
    path.write_text("".join(" ".join(map(str, row)) + "\n" for row in zip(*columns)))


def timed(*words):
    """The answer, and its processor time in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = subprocess.run(list(map(str, words)), check=True, capture_output=True, text=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return said, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def row(path):
    name = path.stem.replace("_", "-")
    seconds, programs = PUBLISHED.get(name, ("-", "-"))
    proof = path.with_suffix(".proof").name
    found, took = timed(TOOLS / "clarke", "patterns", "--arrangement", path, "--count", "--json")
    with tempfile.TemporaryDirectory() as folder:
        _, proved = timed(TOOLS / "clarke", "patterns", "--arrangement", path, "--count", "--proof", Path(folder) / proof)
        size = (Path(folder) / proof).stat().st_size
        said, checked = timed(TOOLS / "clarke-check", Path(folder) / proof, "--data", path.parent)
    found = json.loads(found)
    assert found["complete"] and "has exactly %s region" % found["count"] in said, (found, said)
    return "| %s | %s | %.2f | %s | %d | %s | %.2f | %.2f | %s |" % (
        name, found["count"], took, seconds, found["programs"], programs, proved, checked, "{:,}".format(size))


def main():
    rng = random.Random(14)
    print("| instance | sign vectors | seconds | theirs | programs | theirs | with a proof, s | checked, s | proof, bytes |\n" + "|---" * 9 + "|")
    with tempfile.TemporaryDirectory() as made:
        made = Path(made)
        for k in (5, 6, 7, 8):
            write(made / ("perm-%d.txt" % k), permutations(k))
        for n, p, rank in (7, 14, 7), (10, 17, 9):
            write(made / ("rand-%d-%d-%d.txt" % (n, p, rank)), drawn(n, p, rank, rng))
        files = {path.stem.replace("_", "-"): path for path in made.glob("*.txt")}
        for path in Path(sys.argv[2]).glob("*.txt") if len(sys.argv) > 2 else []:
            files.setdefault(path.stem.replace("_", "-"), path)
        for name in sorted(files):
            print(row(files[name]), flush=True)


main()
