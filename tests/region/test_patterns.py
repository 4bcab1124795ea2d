"""clarke patterns --arrangement, as a command: its answers, its refusals, and its proofs, forged ones too.

    test_patterns.py TOOLS
"""

import hashlib
import itertools
import json
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from draw import draw_count  # noqa: E402
sys.path.append(str(Path(__file__).resolve().parents[1] / "tools"))
from listed import listed  # noqa: E402
from schema import obeyed  # noqa: E402

CLARKE, CHECK = (Path(sys.argv[1]) / name for name in ("clarke", "clarke-check"))
CASES = Path(__file__).resolve().parents[2] / "cases/arrangements"
failures = []


def expect(what, holds, *more):
    if not holds:
        failures.append(what)
        print("FAILED:", what, *more)


def run(program, *words, **more):
    return listed(obeyed(subprocess.run([program, *map(str, words)], text=True, capture_output=True, timeout=120, **more)))


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
    for _ in range(draw_count(25)):
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
        child = subprocess.Popen([CLARKE, "patterns", "--arrangement", folder / "large", "--as-found"], stdout=out, stderr=subprocess.PIPE)
        while (folder / "out").stat().st_size < 10000:
            time.sleep(0.01)
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=60)
    *lines, last = listed(subprocess.CompletedProcess(child.args, child.returncode, (folder / "out").read_text())).stdout.splitlines()
    expect("interrupted", child.returncode == 3 and last == "at least %d sign vectors; undecided: interrupted" % len(lines), last)


def lost_rows(folder):
    """Rows that no temporary file holds: nothing is said of all of them, and no object has less than it counts."""
    (folder / "many").write_text(written([[(k + 1) ** i for k in range(11)] for i in range(5)]))
    small = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))}
    for words in [[], ["--json"]]:
        said = run(CLARKE, "patterns", "--arrangement", folder / "many", *words, **small)
        expect("no rows, no answer", said.returncode == 2 and "do not fit into a temporary file; --as-found" in said.stderr, words, said)
        expect("an error alone", list(json.loads(said.stdout)) == ["error"] if words else not said.stdout, words, said.stdout[:200])
        said = run(CLARKE, "patterns", "--arrangement", folder / "many", "--as-found", *words, **small)
        expect("no file is needed", said.returncode == 0 and len(said.stdout) > 4096, words, said.stderr)


# --- proofs ----------------------------------------------------------------------------------------

def sealed(text):
    body = text[:text.rindex("end ")] if "\nend " in text else text
    return body + "end " + hashlib.sha256(body.encode()).hexdigest() + "\n"


def regions(text):
    return re.search(r"^regions (\d+)$", text, re.M).group(1)


def forged(rng, text):
    """The proof with a word, a line or two changed, and the right hash."""
    lines = text.splitlines()[:-1]
    kind, at = rng.randrange(6), rng.randrange(4, len(lines))
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
        step = rng.choice([-1, 1])
        beside = str(int(words[word]) + step) if re.fullmatch("-?[0-9]+", words[word]) else "1"  # a hash is no number
        words[word] = rng.choice([beside, "0", words[word].lstrip("-"), "-" + words[word], "1/2", ""])
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


# --- false statements, each with evidence that only one rule refuses ------------------------------------

def parsed(lines):
    """The tree of a proof's lines: (word, number or words, circuit, subtrees), circuits by their numbers beside."""
    circuits = []

    def node():
        words = lines.pop(0).split(" ")
        while words[0] == "circuit":
            circuits.append(dict(zip(map(int, words[1::2]), map(int, words[2::2]))))
            words = lines.pop(0).split(" ")
        if words[0] == "leaf":
            return ("leaf", [int(x) for x in words[1:]], None, [])
        subtrees = [node() for _ in range(2 if words[0] == "split" else 1)]
        return (words[0], int(words[1]), int(words[2]) if words[0] == "forced" else None, subtrees)

    return node(), circuits


def leaves(tree):
    return [tree] if tree[0] == "leaf" else [x for sub in tree[3] for x in leaves(sub)]


def lines_of(tree):
    word, what, circuit, subtrees = tree
    own = "leaf " + " ".join(map(str, what)) if word == "leaf" else "%s %d" % (word, what) + (" %d" % circuit if word == "forced" else "")
    return [own] + [line for sub in subtrees for line in lines_of(sub)]


def variants(tree, change, given=()):
    """The tree with one node replaced, by each of change(node, columns that have signs above it)."""
    yield from change(tree, given)
    for k, sub in enumerate(tree[3]):
        for other in variants(sub, change, given + (tree[1],)):
            yield (*tree[:3], tree[3][:k] + [other] + tree[3][k + 1:])


def false_trees(tree, circuits, column, planes, excluded, root):
    """Trees with another number of leaves than there are regions. column(j, x): the sign of column j at the integers x."""
    points = [x[1] for x in leaves(tree)]
    signs = lambda x: tuple(column(j, x) for j in planes)

    def change(node, given):
        word, what, circuit, subtrees = node
        given = set(given) | set(root)
        if word == "split":  # one side is dropped, by circuits that have another sign, or other columns
            for c in range(len(circuits)):
                if what in circuits[c]:
                    yield from (("forced", what, c, [sub]) for sub in subtrees)
            if all(sub[0] == "leaf" for sub in subtrees):  # a leaf on the hyperplane
                a, b = (sub[1] for sub in subtrees)
                at_a, at_b = abs(column(what, a, True)), abs(column(what, b, True))
                yield ("leaf", [x * at_b + y * at_a for x, y in zip(a, b)], None, [])
        elif word == "forced":  # the empty side is added, with points of other signs, opposite ones among them
            for x in points + [[-y for y in x] for x in points]:
                for side in ([subtrees[0], ("leaf", x, None, [])], [("leaf", x, None, []), subtrees[0]]):
                    yield ("split", what, None, side)
        else:  # a region comes twice
            for j in sorted(given):
                own = dict(zip(planes, signs(what)))
                for x in points:
                    if j in own and signs(x) == tuple(-s if k == j else s for k, s in own.items()):
                        pair = [("leaf", x, None, []), node]
                        yield ("split", j, None, pair if own[j] > 0 else pair[::-1])
            for j in excluded:
                yield ("split", j, None, [node, node])

    yield from variants(tree, change)


def false_proofs(rng, rows, offsets, text, regions_):
    lines = text.splitlines()[:-1]
    start = lines.index("tree")
    tree, circuits = parsed(lines[start + 1:])
    half = [int(x.split()[1]) for x in lines[:start] if x.startswith("half")]
    primitive = lambda j: [row[j] for row in rows] + ([-offsets[j]] if offsets else [])
    column = lambda j, x, value=False: (lambda v: v if value else (v > 0) - (v < 0))(sum(a * b for a, b in zip(primitive(j), x)))
    same = {int(x.split()[1]) for x in lines[:start] if x.startswith("parallel")}
    planes = [j for j in range(len(rows[0])) if any(row[j] for row in rows) and j not in same]
    excluded = [j for j in range(len(rows[0])) if j not in planes]
    all_circuits = [line for line in lines[start:] if line.startswith("circuit")]

    def proof(tree_, circuit_lines, statement=None):
        n = (2 if half else 1) * len(leaves(tree_))
        head = [re.sub(r"^regions .*", "regions %d" % n, x) for x in statement or lines[:start + 1]]
        return n, sealed("\n".join(head + circuit_lines + lines_of(tree_)) + "\nend \n")

    for n in (0, regions_ - 1, regions_ + 1, 2 * regions_):
        yield n, sealed("\n".join(re.sub(r"^regions .*", "regions %d" % n, x) for x in lines) + "\nend \n")
    found = [proof(t, all_circuits) for t in false_trees(tree, circuits, column, planes, excluded, half)]
    if len(planes) > 1:  # combinations that are not 0, with every pattern of signs
        bogus = [dict(zip(planes, signs)) for signs in itertools.product([-1, 1], repeat=len(planes))][:16]
        bogus_lines = ["circuit " + " ".join("%d %d" % pair for pair in c.items()) for c in bogus]
        found += [proof(t, bogus_lines) for t in false_trees(tree, bogus, column, planes, [], half)]
    for j in planes[1:]:  # a column is its own multiple: a smaller arrangement's tree
        found.append(proof(("leaf", leaves(tree)[0][1], None, []), [], lines[:start + 1 - len(half) - 1] + [
            "parallel %d %d" % (k, k) for k in planes[1:]] + ["half %d" % k for k in half] + ["tree"]))
    yield from (f for f in rng.sample(found, min(len(found), 40)) if f[0] != regions_)


def beyond_infinity(folder):
    """x < 0 and x > 1 at a point whose last entry is below 0."""
    (folder / "V").write_text("1 1\n")
    (folder / "T").write_text("0 1\n")
    patterns("--arrangement", folder / "V", "--offsets", folder / "T", "--proof", folder / "proof")
    text = (folder / "proof").read_text()
    head = re.sub(r"^regions .*", "regions 4", text[:text.index("tree\n")], flags=re.M)
    for last, status in [("leaf -1 -2", 1), ("leaf -1 2", 1)]:
        tree = "tree\nsplit 0\nsplit 1\nleaf -1 1\n" + last + "\nsplit 1\nleaf 1 2\nleaf 2 1\n"
        (folder / "forged").write_text(sealed(head + tree + "end \n"))
        said = run(CHECK, folder / "forged")
        expect("beyond infinity", said.returncode == status and "line" in said.stdout, said)


def falsehoods(rng, folder):
    tried = 0
    for k in range(draw_count(14)):
        rows, offsets = drawn(rng)
        (folder / "V").write_text(written(rows))
        options = ["--arrangement", folder / "V", "--proof", folder / "proof"]
        if offsets is not None:
            (folder / "T").write_text(written([offsets]))
            options += ["--offsets", folder / "T"]
        count = int(patterns(*options, "--count").stdout)
        text = (folder / "proof").read_text()
        for n, false in false_proofs(rng, rows, offsets, text, count):
            (folder / "forged").write_text(false)
            said = run(CHECK, folder / "forged")
            tried += 1
            expect("a false proof fails", n != count and said.returncode == 1, count, said, false)
    expect("many were tried", tried > draw_count(200), tried)


def proofs(rng, folder):
    verified = 0
    for k in range(draw_count(12)):
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


def rules():
    """Each by a proof that breaks it alone."""
    text = (CASES.parents[1] / "proofs-data/arrangements/braid.proof").read_text()
    circuit, forced = "circuit 0 1 2 -1 4 -1\n", "forced 4 0\n"
    for why, old, new in [
            ("integers that are not 0 are expected", circuit, "circuit 0 1 1 0 2 -1 4 -1\n"),
            ("integers are expected", circuit, "circuit 0 1/2 2 -1/2 4 -1/2\n"),
            ("columns that there are, in increasing order, are expected", circuit, "circuit 2 -1 0 1 4 -1\n"),
            ("columns that there are, in increasing order, are expected", circuit, "circuit 0 1 0 -1 2 -1\n"),
            ("the combination of the columns is not 0", circuit, "circuit 0 1 2 -1 4 1\n"),
            ("columns that there are, in increasing order, are expected", circuit, "circuit 0 1 2 -1 6 -1\n"),
            ("do not stand as in circuit 0", forced, "forced 3 0\n"),
            ("there is no circuit 1 here", forced, "forced 4 1\n"),
            # A branch that no point is in, and a circuit that says so, but nothing of column 3.
            ("circuit 0 has no column 3", forced, "split 4\nforced 3 0\n")]:
        with tempfile.TemporaryDirectory() as made:
            (Path(made) / "forged").write_text(sealed(text.replace(old, new, 1)))
            said = run(CHECK, Path(made) / "forged", "--data", CASES)
        expect("a broken rule", said.returncode == 1 and why in said.stdout, why, said)


def exponents(folder):
    """Numbers as numpy.savetxt writes them are read alike by both programs."""
    (folder / "V").write_text("1.000000000000000000e+00 -2.5E-1 1e2\n0.0e0 +1 -1e-2\n")
    (folder / "T").write_text("1e0 .5 -2.e-1\n")
    patterns("--arrangement", folder / "V", "--offsets", folder / "T", "--proof", folder / "proof")
    said = run(CHECK, folder / "proof")
    expect("exponents", said.returncode == 0, said)
    text = (folder / "proof").read_text()
    for bad in ("1e", "1e+", "1e1.5", "e1", "1e99999999", "1e1/2"):
        (folder / "V").write_text("1 0 %s\n0 1 1\n" % bad)
        hashed = hashlib.sha256((folder / "V").read_bytes()).hexdigest()
        (folder / "forged").write_text(sealed(re.sub(r"^arrangement V \S+", "arrangement V " + hashed, text, flags=re.M)))
        said = run(CHECK, folder / "forged")
        expect("no number", said.returncode != 0 and "VERIFIED" not in said.stdout, bad, said)
        expect("nor for the other", run(CLARKE, "patterns", "--arrangement", folder / "V").returncode != 0, bad)


def of_another_matrix(rng, folder):
    """A proof's tree under a statement of another matrix: verified when that has as many regions only."""
    for _ in range(draw_count(30)):
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
        lost_rows(folder)
        proofs(rng, folder)
        falsehoods(rng, folder)
        beyond_infinity(folder)
        of_another_matrix(rng, folder)
        rules()
        exponents(folder)
        stored(folder)
    print("%d failures" % len(failures))
    return 1 if failures else 0


sys.exit(main())
