"""clarke encode --drat and --lrat: refutations of other solvers, followed. Drawn formulas with a refutation by cases, in each
format; forged ones; files that are none.

    test_follow.py TOOLS [FORMULAS [FORGED]]

FORMULAS drawn ones (16), and so many FORGED files of each (6).
"""

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import clausal

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from draw import draw_count  # noqa: E402

CLARKE, CHECKER = (Path(sys.argv[1]).resolve() / name for name in ("clarke", "clarke-check"))
FORMULAS = int(sys.argv[2]) if len(sys.argv) > 2 else 16
FORGED = int(sys.argv[3]) if len(sys.argv) > 3 else draw_count(6)
failures = []


def expect(what, good, *more):
    if not good:
        failures.append(what)
        print("FAILED:", what, *more)


def run(folder, program, *options):
    return subprocess.run([program, *options], cwd=folder, text=True, capture_output=True, timeout=120, errors="replace")


def dimacs(variables, clauses):
    return f"p cnf {variables} {len(clauses)}\n" + "".join(" ".join(map(str, c + [0])) + "\n" for c in clauses)


def drawn(rng, variables):
    """Clauses of one to six literals, literals twice and tautologies among them; about half can be satisfied."""
    clauses = []
    for _ in range(round(rng.uniform(4, 8) * variables)):
        size = rng.choice((2, 3, 3, 3, 3, 4, 5, 6, 1 if rng.random() < 0.1 else 3))
        clauses.append([rng.choice((1, -1)) * rng.randint(1, variables) for _ in range(size)])
    return clauses


def written(folder, steps, rng):
    """The refutation in each format: (option, file)."""
    deleted = {s[0] for s in steps if rng.random() < 0.5 and s[1]}
    last = {}
    for number, _, hints in steps:
        last.update((h, number) for h in hints)
    late = [n for n in deleted if n not in last] # nothing rests on it: deleted at once
    text = clausal.drat(steps, [s[0] for s in steps if s[0] in late])
    for name, data in (("p.lrat", clausal.lrat(steps, late).encode()), ("p.drat", text.encode()),
                       ("p.bin", clausal.binary(text))):
        (folder / name).write_bytes(data)
        yield "--lrat" if name == "p.lrat" else "--drat", name


def follow(folder, option, name):
    for old in ("f.onnx", "f.proof"):
        (folder / old).unlink(missing_ok=True)
    return run(folder, CLARKE, "encode", "f.cnf", "-o", "f.onnx", option, name, "--proof", "f.proof", "--json")


def refused_wholly(folder, said):
    return (said.returncode == 2 and said.stderr.count("\n") == 1 and "clarke encode: " + json.loads(said.stdout)["error"] + "\n" == said.stderr
            and not (folder / "f.onnx").exists() and not (folder / "f.proof").exists())


def accepted(folder, said):
    return said.returncode == 0 and run(folder, CHECKER, "f.proof").returncode == 0


def forge(rng, data, text):
    """Some word of it, or byte, is another one, or gone, or twice."""
    parts = data.decode().split(" ") if text else [bytes([b]) for b in data]
    k = rng.randrange(len(parts))
    other = rng.choice(parts) if rng.random() < 0.5 else str(rng.randint(-9, 40)) if text else bytes([rng.randint(0, 40)])
    parts[k:k + 1] = rng.choice(([other], [], [parts[k], parts[k]], [parts[k], other]))
    return " ".join(parts).encode() if text else b"".join(parts)


def drawn_formulas(folder, rng):
    counts = [0, 0]
    for k in range(FORMULAS):
        variables = rng.randint(2, 6)
        clauses = drawn(rng, variables)
        (folder / "f.cnf").write_text(dimacs(variables, clauses))
        refuter = clausal.Refuter(variables, clauses)
        counts[refuter.refuted] += 1
        steps = refuter.steps if refuter.refuted else refuter.steps + [(refuter.n + 1, [], [1, 2])]
        for option, name in written(folder, steps, rng):
            said = follow(folder, option, name)
            good = accepted(folder, said) if refuter.refuted else refused_wholly(folder, said)
            expect(f"formula {k}, {name}", good, said.returncode, said.stderr, clauses)
            forged_files(folder, rng, option, name, refuter.refuted)
    expect("both kinds of formulas were drawn", min(counts) > FORMULAS // 10, counts)


def forged_files(folder, rng, option, name, refutable):
    """What is accepted all the same is a refutation; of a formula that can be satisfied there is none."""
    data = (folder / name).read_bytes()
    for _ in range(FORGED):
        (folder / "forged").write_bytes(forge(rng, data, name != "p.bin"))
        said = follow(folder, option, "forged")
        good = refused_wholly(folder, said) or (refutable and accepted(folder, said))
        expect(f"forged {name}", good, said.returncode, said.stderr)


# p cnf: 1, 2 and 3 in two rooms
ROOMS = "p cnf 3 6\n-1 -2 0\n1 2 0\n-1 -3 0\n1 3 0\n-2 -3 0\n2 3 0\n"
WRONG = [
    ("--drat", b"", "wrong: no steps, expected a refutation"),
    ("--drat", b"c nothing\n", "wrong: no steps"),
    ("--drat", b"1 2", "wrong:1: the text ends in the step of line 1: literals and 0 are expected"),
    ("--drat", b"d", "wrong:1: the text ends in the step of line 1"),
    ("--drat", b"1 x 0\n", "wrong:1: 'x' is no literal"),
    ("--drat", b"c\n\n99999999999 0\n", "wrong:3: '99999999999' is no literal"),
    ("--drat", b"4 0\n0\n", "wrong:1: literal 4, but the formula has 3 variables"),
    ("--drat", b"1 2 0\n1 2 0\n", "wrong: 2 steps that follow, but not to the empty clause"),
    ("--drat", b"a\x02", "wrong:1: 'a?' is no literal"),
    ("--drat", b"a\x02\x00d\x02", "wrong: byte 5: no literal or 0, in the step of byte 3"),
    ("--drat", b"a\x01\x00", "wrong: byte 2: no literal or 0"),
    ("--drat", b"a\xff\xff\xff\xff\xff\x00", "wrong: byte 6: no literal or 0"),
    ("--drat", b"b\x02\x00", "wrong: byte 0: 98 begins no step"),
    ("--drat", b"a\x08\x00", "wrong: byte 0: literal 4, but"),
    ("--lrat", b"a\x0e\x02\x00\x04\x00", "wrong: a binary LRAT file: the text is expected"),
    ("--lrat", b"7 1 0 2 4", "wrong:1: the text ends in the step of line 1: hints and 0 are expected"),
    ("--lrat", b"7 1 0 2 4 5 0\n7 0 7 1 3 6 0\n", "wrong:2: clause 7 after clause 7"),
    ("--lrat", b"6 1 0 2 4 5 0\n", "wrong:1: clause 6 is one of the formula, which has 6"),
    ("--lrat", b"7 1 0 2 8 5 0\n", "wrong:1: hint 8: there is no clause of that number"),
    ("--lrat", b"7 1 0 2 -4 5 0\n", "wrong:1: hint -4: a RAT step, which is not followed"),
    ("--lrat", b"7 1 0 2 4 0\n", "wrong:1: the clause does not follow by unit propagation with its hints"),
    ("--lrat", b"7 1 0 2 6 0\n", "wrong:1: the clause does not follow"),
    ("--lrat", b"7 1 0 5 2 0\n", "wrong:1: hint 5: more than one literal of that clause is open"),
    ("--lrat", b"7 1 0 2 4 5 0\n", "wrong: 1 steps, but none is the empty clause"),
    ("--lrat", b"-7 1 0 2 4 5 0\n", "wrong:1: '-7' is no number of a step"),
    ("--lrat", b"7 d -1 0\n", "wrong:1: '-1' is no number of a clause"),
    ("--lrat", b"7 d 1", "wrong:1: the text ends in the step of line 1: clauses and 0"),
]


def wrong_files(folder):
    (folder / "f.cnf").write_text(ROOMS)
    for option, data, says in WRONG:
        (folder / "wrong").write_bytes(data)
        said = follow(folder, option, "wrong")
        expect(f"{data}", refused_wholly(folder, said) and said.stderr.startswith("clarke encode: " + says), said.stderr)
    (folder / "f.cnf").write_text("p cnf 2 1\n1 2 0\n") # a RAT step in DRAT, as blocked clauses are
    (folder / "wrong").write_bytes(b"-1 2 0\n0\n")
    said = follow(folder, "--drat", "wrong")
    expect("a step that does not follow", refused_wholly(folder, said) and
           "wrong:1: the clause does not follow by unit propagation" in said.stderr, said.stderr)


def by_hand(folder):
    """Formulas at their ends, and commands."""
    for text, option, data in [
            (ROOMS, "--lrat", b"7 1 0 2 4 5 0\n7 d 2 0\n9 0 7 1 3 6 0\n"),
            (ROOMS, "--lrat", b"7 1 1 0 2 2 4 5 6 0 9 0 7 1 3 6 6 0"),
            (ROOMS, "--lrat", b"7 1 -1 0 0 8 1 0 2 4 5 0\n9 0 8 1 3 6 0\n"),
            (ROOMS, "--drat", b"1 0\n"), (ROOMS, "--drat", b"1 2 -2 0 d 1 2 -2 0 d 1 2 3 0 1 0"),
            ("p cnf 2 1\n0\n", "--lrat", b"2 0 1 0\n"), ("p cnf 2 1\n0\n", "--drat", b"0\n"), ("p cnf 0 1\n0\n", "--drat", b"0\n"),
            ("p cnf 1 2\n1 0\n-1 0\n", "--lrat", b"3 0 1 2 0"), ("p cnf 1 2\n1 0\n-1 0\n", "--drat", b"0")]:
        (folder / "f.cnf").write_text(text)
        (folder / "p").write_bytes(data)
        said = follow(folder, option, "p")
        expect(f"{text!r} {option} {data}", accepted(folder, said), said.returncode, said.stderr)
        if said.returncode == 0:
            expect("it says what was followed", json.loads(said.stdout)["followed"] == "p")
    (folder / "f.cnf").write_text(ROOMS)
    (folder / "p").write_bytes(b"1 2 0\n1 0\n")
    said = run(folder, CLARKE, "encode", "f.cnf", "--drat", "p", "--work", "1")
    expect("little work", said.returncode == 3 and "undecided" in said.stdout, said)
    for options, says in ((("--drat", "p", "--lrat", "p"), "one refutation"), (("--drat", "none"), "none"),
                          (("--drat", "p", "--decode", "x=1,1,1"), "two questions")):
        said = run(folder, CLARKE, "encode", "f.cnf", *options)
        expect(f"{options}", said.returncode == 2 and says in said.stderr, said)


def main():
    rng = random.Random(20)
    with tempfile.TemporaryDirectory() as name:
        by_hand(Path(name))
        wrong_files(Path(name))
        drawn_formulas(Path(name), rng)
    sys.exit(len(failures) > 0)


main()
