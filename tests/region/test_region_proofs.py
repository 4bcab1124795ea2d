"""Proofs that clarke patterns --box, --at and --line write: they verify, and forged ones do not, unless what they say is true.

    test_region_proofs.py TOOLS [FORGED]
"""

import hashlib
import random
import re
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from draw import draw_count  # noqa: E402
sys.path.append(str(Path(__file__).resolve().parents[1] / "tools"))
from listed import listed  # noqa: E402

CLARKE, CHECK = (Path(sys.argv[1]) / name for name in ("clarke", "clarke-check"))
FORGED = int(sys.argv[2]) if len(sys.argv) > 2 else draw_count(25)
ROOT = Path(__file__).resolve().parents[2]
failures = []


def expect(what, holds, *more):
    if not holds:
        failures.append(what)
        print("FAILED:", what, *more)


def run(program, *words):
    return listed(subprocess.run([program, *map(str, words)], text=True, capture_output=True, timeout=120))


def sealed(text):
    body = text[:text.rindex("end ")] if "\nend " in text else text
    return body + "end " + hashlib.sha256(body.encode()).hexdigest() + "\n"


# --- what is proved --------------------------------------------------------------------------------

def program(rng, inputs):
    """Layers of few neurons, some twice or zero; a maximum or minimum; a skip."""
    lines, before = ["input x[%d]" % inputs], ["x[%d]" % i for i in range(inputs)]
    for layer in range(rng.randint(1, 3)):
        names = []
        for i in range(rng.randint(1, 3)):
            terms = ["%d * %s" % (rng.randint(-2, 2), b) for b in before] + [rng.choice(["0", "1/2", "-1", "1/3"])]
            if rng.random() < 0.2:
                terms = ["0 * " + before[0]]
            elif names and rng.random() < 0.2:
                terms = ["2 * " + names[0], "-1"]
            f = rng.choice(["relu", "relu", "hardtanh", "leaky_relu", "abs", "relu6"])
            lines.append("let l%d_%d = %s(%s)" % (layer, i, f, " + ".join(terms)))
            names.append("l%d_%d" % (layer, i))
        if rng.random() < 0.3: # times 0: known no sooner than the others
            lines.append("let z%d = relu(0 * %s + %s - 1)" % (layer, before[0], names[-1]))
            names.append("z%d" % layer)
        if len(names) > 1 and rng.random() < 0.4:
            lines.append("let m%d = %s(%s, x[0])" % (layer, rng.choice(["max", "max", "min"]), ", ".join(names)))
            names = ["m%d" % layer]
        before = names
    return "\n".join(lines + ["output " + " + ".join(before) + rng.choice(["", ", x[0]", " + 3 * x[0]"])]) + "\n"


def told(said):
    """The numbers that a verified proof states: of patterns, and the gradients."""
    found = re.search(r"exactly (\d+) activation pattern", said)
    return int(found[1]), re.findall(r"^  (-?[\d/]+(?:;? -?[\d/]+)*)$", said.partition("Bouligand")[2], re.M)


def proved(model, words, folder):
    """The proof's text; what it says is what the search without it says."""
    plain = run(CLARKE, "patterns", model, *words)
    said = run(CLARKE, "patterns", model, *words, "--count", "--proof", folder / "p")
    lines = plain.stdout.splitlines()
    expect("counted", said.returncode == plain.returncode == 0 and int(said.stdout) == len(lines) - 1, said, lines[-1:])
    checked = run(CHECK, folder / "p", "--data", folder)
    expect("verified", checked.returncode == 0 and checked.stdout.startswith("VERIFIED\n"), model.read_text() if model.suffix == ".prog" else "",
           words, checked)
    truth = told(checked.stdout)
    expect("the number", truth[0] == len(lines) - 1, truth, lines[-1])
    if words[0] == "--at":
        gradients = {"; ".join(g.strip() for g in line.split("gradient")[1:]) for line in lines[:-1]}
        expect("the gradients", set(truth[1]) == gradients and len(truth[1]) == len(gradients), truth, gradients)
        expect("differentiable", ("F is differentiable" in checked.stdout) == (len(gradients) == 1))
    return (folder / "p").read_text(), truth


# --- forged ----------------------------------------------------------------------------------------

def parsed(lines, at):
    """Where the subtree that begins at a line of the tree ends. Candidates of a maximum do not nest: their end is the next one's begin."""
    while lines[at].startswith("circuit"):
        at += 1
    word = lines[at].split()[0]
    if word == "leaf":
        return at + 1
    if word == "split":
        return parsed(lines, parsed(lines, at + 1))
    return parsed(lines, at + 1) if word == "forced" else at + 1


def changed_word(rng, line):
    words = line.split(" ")
    k = rng.randrange(1, len(words)) if len(words) > 1 else 0
    number = re.fullmatch(r"-?\d+", words[k])
    words[k] = rng.choice([str(int(words[k]) + rng.choice([-1, 1, 7])) if number else "1", "0", words[k].lstrip("-"), "-" + words[k], "1/2", "",
                           "nan", "inf", "9" * 400, "18446744073709551616", "-1"])
    return " ".join(words)


def forged(rng, text):
    """The proof with one thing changed, and the right hash."""
    lines = text.splitlines()[:-1]
    start = lines.index("tree") + 1
    kind, at = rng.randrange(8), rng.randrange(3, len(lines))
    other = rng.randrange(3, len(lines))
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(at, lines[other])
    elif kind == 2:
        lines[at], lines[other] = lines[other], lines[at]
    elif kind in (3, 4):
        lines[at] = changed_word(rng, lines[at])
    elif kind == 5:  # a region and its subtree are taken away: a split becomes one of its sides, and the number is made to fit
        splits = [i for i in range(start, len(lines)) if lines[i].startswith("split")]
        if splits and not any(line.startswith("wins") for line in lines):
            i = rng.choice(splits)
            middle = parsed(lines, i + 1)
            end = parsed(lines, middle)
            gone = lines[i + 1:middle] if rng.random() < 0.5 else lines[middle:end]
            kept = lines[i + 1:middle] if gone is not lines[i + 1:middle] else lines[middle:end]
            lines[i:end] = ["forced %s 0" % lines[i].split()[1]] + kept if rng.random() < 0.7 else kept
    elif kind == 6:  # two points change places
        leaves = [i for i in range(start, len(lines)) if lines[i].startswith("leaf")]
        i, j = rng.choice(leaves), rng.choice(leaves)
        lines[i], lines[j] = lines[j], lines[i]
    else:
        lines[at] = " ".join([rng.choice(["split", "forced", "leaf", "circuit", "wins", "loses", "gradient", "bound", "at"])]
                             + lines[at].split(" ")[1:])
    if rng.random() < 0.5:
        n = sum(line.startswith("leaf") for line in lines[start - 1:])
        lines = [re.sub(r"^regions .*$", "regions %d" % n, line) for line in lines]
    return sealed("\n".join(lines) + "\nend \n")


def statement(text):
    """What the proof is about, but for what it says of it."""
    return [line for line in text.splitlines() if line.split(" ")[0] in ("program", "model", "wrt", "held", "box", "bound", "at")]


def forge(rng, text, truth, folder):
    for _ in range(FORGED):
        other = forged(rng, text)
        if other == text or statement(other) != statement(text):
            continue
        (folder / "f").write_text(other)
        said = run(CHECK, folder / "f", "--data", folder)
        expect("an answer", said.returncode in (0, 1, 2) and not said.stderr.startswith("clarke-check: cannot check: ended"), other, said)
        if said.returncode == 0:
            expect("nothing false is verified", told(said.stdout) == truth, other, said.stdout)


def drawn(rng, folder):
    for k in range(draw_count(14)):
        inputs = rng.randint(1, 4)
        (folder / "f.prog").write_text(program(rng, inputs))
        (folder / "box.txt").write_text("".join("%s %s\n" % (rng.choice(["-2", "-1/3"]), rng.choice(["2", "5/7"])) for _ in range(inputs)))
        for words in (["--box", folder / "box.txt"], ["--at", ",".join(str(rng.choice([0, 0, 1, -1])) for _ in range(inputs))]):
            forge(rng, *proved(folder / "f.prog", words, folder), folder)


# --- each rule, by a proof that breaks it alone ------------------------------------------------------

STEP = "input x\noutput relu(x) - relu(x - 1)\n"
PEAK = "input x[2]\noutput max(x[0], x[1], (x[0] + x[1]) / 2 - 1/10) + relu(x[0] + x[1])\n"


def changed(text, *pairs):
    for old, new in pairs:
        assert old in text, (old, text)
        text = text.replace(old, new, 1)
    return sealed(text)


def rules(folder):
    (folder / "f.prog").write_text(STEP)
    (folder / "box.txt").write_text("-2 2\n")
    (folder / "other.txt").write_text("-2 3\n")
    (folder / "query.vnnlib").write_text("(declare-const X_0 Real)\n(assert (and (<= X_0 2) (>= X_0 -2)))\n")
    text, _ = proved(folder / "f.prog", ["--box", folder / "box.txt"], folder)
    stated, _ = proved(folder / "f.prog", ["--box", folder / "query.vnnlib"], folder)
    expect("bounds stand in the proof", "box -\nbound -2 2\n" in stated)
    at, _ = proved(folder / "f.prog", ["--at", "0"], folder)
    smooth, _ = proved(folder / "f.prog", ["--at", "1/2"], folder)
    expect("smooth", "gradients 1\ngradient 1\n" in smooth)
    cases = [
        (1, "the tree has 3 leaves", changed(text, ("regions 3", "regions 4"))),
        (1, "the hash of", changed(text, ("box box.txt", "box other.txt"))),
        (1, "the combination of the rows is not 0", changed(text, ("circuit 1 1 2 -1 3 2", "circuit 1 1 2 -1 3 1"))),
        (1, "the combination of the rows is not 0", changed(text, ("circuit 1 1 2 -1 3 2", "circuit 3 2"))),
        (1, "no circuit 1 here", changed(text, ("forced 3 0", "forced 3 1"))),
        (1, "is not on the side given", changed(text, ("leaf -1 1", "leaf 1 1"))),
        (1, "is not on the side given", changed(text, ("leaf -1 1", "leaf -5 1"))),
        (1, "must be above 0", changed(text, ("leaf -1 1", "leaf 0 0"))),
        (1, "has its sign already", changed(text, ("forced 3 0", "forced 2 0"))),
        (1, "has its sign already", changed(text, ("split 2", "split 0"))),
        (1, "do not stand as in circuit 0", changed(text, ("split 3", "circuit 1 1 2 -1 3 2\nforced 3 0"))),
        (1, "integers that are not 0", changed(text, ("circuit 1 1 2 -1 3 2", "circuit 0 0 1 1 2 -1 3 2"))),
        (1, "in increasing order", changed(text, ("circuit 1 1 2 -1 3 2", "circuit 2 -1 1 1 3 2"))),
        (1, "integers are expected", changed(text, ("leaf -1 1", "leaf -1/2 1"))),
        (1, "'split' is expected", changed(text, ("forced 3 0", "leaf -1 1"))),
        (1, "'tree' is expected", changed(text, ("tree", "gradients 1\ngradient 1\ntree"))),
        (1, "is above the upper one", changed(stated, ("bound -2 2", "bound 2 -2"))),
        (1, "the box is a point", changed(stated, ("bound -2 2", "bound 2 2"))),
        (1, "'bound' is expected", changed(stated, ("bound -2 2\n", ""))),
        (1, "is not in the list", changed(at, ("gradients 2\ngradient 0\ngradient 1", "gradients 1\ngradient 0"))),
        (1, "is that of no region", changed(at, ("gradients 2\ngradient 0\ngradient 1", "gradients 3\ngradient 0\ngradient 1/2\ngradient 1"))),
        (1, "in increasing order are expected", changed(at, ("gradient 0\ngradient 1", "gradient 0\ngradient 0"))),
        (1, "in increasing order are expected", changed(at, ("gradient 0\ngradient 1", "gradient 1\ngradient 0"))),
        (1, "is not in the list", changed(smooth, ("at 1/2", "at -1/2"))),
        (1, "'gradient' is expected", changed(at, ("gradients 2", "gradients 9223372036854775807"))),
        (1, "'claim regions', 'claim segment', 'claim stepped', 'claim update' or 'claim zone'", changed(at, ("claim regions", "claim region"))),
    ]
    (folder / "f.prog").write_text(PEAK)
    (folder / "box.txt").write_text("-2 2\n-2 2\n")
    peak, _ = proved(folder / "f.prog", ["--box", folder / "box.txt"], folder)
    cases = [(folder / "step", *case) for case in cases]
    (folder / "step").mkdir()
    for name, content in [("f.prog", STEP), ("box.txt", "-2 2\n"), ("other.txt", "-2 3\n")]:
        (folder / "step" / name).write_text(content)
    lost = re.search(r"((?:circuit .*\n)+)loses 2 (\d+)\n", peak)
    expect("a candidate loses", lost is not None, peak)
    cases += [
        (folder, 1, "candidate 0 is expected", changed(peak, ("wins 0", "wins 1"))),
        (folder, 1, "'wins' is expected", changed(peak, ("wins 0\n", ""))),
        (folder, 1, "there is no circuit", changed(peak, (lost[0], "loses 2 0\n"))),
        (folder, 1, "", changed(peak, (lost[0], "wins 2\n"))),
        (folder, 1, "", changed(peak, (lost[0], ""))),
    ]
    for where, status, why, proof in cases:
        (folder / "f").write_text(proof)
        said = run(CHECK, folder / "f", "--data", where)
        expect("refused: " + why, said.returncode == status and why in said.stdout + said.stderr, said, proof)


FAR = "0.00000000000000000000000000001"
IN_BOXES = [ # a box; the tree, and why it is refused
    ("-2 2", "output relu(x) - relu(x - 1)", "split 2\nsplit 3\nleaf 1 1\nleaf 1 1\nleaf 1 1\n", "is not on the side given"),
    ("0 1", "output relu(x) - relu(x - 1)", "leaf 1 2\n", None), ("0 1", "output relu(x) - relu(x - 1)", "split 2\nleaf -1 1\nleaf 1 2\n", "'leaf' is expected"),
    ("0 1." + FAR[2:], "output relu(x) - relu(x - 1)", "leaf 1 2\n", "'split' is expected"),
    ("-" + FAR + " 1", "output relu(x) - relu(x - 1)", "leaf 1 2\n", "'split' is expected"),
    ("1 1000", "output relu(x) - relu(x - 1)", "leaf 2 1\n", None), ("-7 -1/3", "output relu(3 * x + 1)", "leaf -1 1\n", None),
    ("-7 -1/4", "output relu(3 * x + 1)", "leaf -1 1\n", "'split' is expected"),
    ("1/3 3/7\n-5/11 2", "output relu(6 * x[0] - x[1])", "leaf 2 0 5\n", None),
    ("1/3 3/7\n-5/11 2.01", "output relu(6 * x[0] - x[1])", "leaf 2 0 5\n", "'split' is expected"),
    ("0 1\n1 2", "output max(x[0], x[1], x[0] - 1)", "leaf 1 3 2\n", None),
    ("0 1\n1 2", "output max(x[0], x[1], x[0] - 1)", "wins 1\nleaf 1 3 2\n", "'leaf' is expected"),
    ("0 1\n0.99 2", "output max(x[0], x[1], x[0] - 1)", "leaf 1 3 2\n", "'wins' is expected"),
    ("0 1\n0 2", "output max(x[0], x[1], x[0] - 1)", "wins 0\nleaf 2 1 4\nwins 1\nleaf 1 3 2\n", None),
    ("-1 1\n-1 1", "output relu(x[0]) + relu(x[1]) + relu(x[0] + x[1])", "circuit 4 1 5 1 6 -1\nforced 6 0\n", "do not stand as in circuit 0"),
    ("-1 1\n-1 1", "output relu(x[0]) + relu(x[1]) + relu(x[0] + x[1])", "split 4\ncircuit 4 1 5 1 6 -1\nforced 6 0\n",
     "do not stand as in circuit 0"),
]


def in_boxes(folder):
    """Signs that are a matter of course in a box, up to its border and not beyond."""
    sha = lambda name: hashlib.sha256((folder / name).read_bytes()).hexdigest()
    for bounds, body, tree, why in IN_BOXES:
        (folder / "f.prog").write_text("input x%s\n%s\n" % ("[2]" if "\n" in bounds else "", body))
        (folder / "box.txt").write_text(bounds + "\n")
        (folder / "f").write_text(sealed("clarke-proof 1\nclaim regions\nsemantics real\nprogram f.prog %s\nbox box.txt %s\nregions %d\ntree\n%send \n"
                                         % (sha("f.prog"), sha("box.txt"), tree.count("leaf"), tree)))
        said = run(CHECK, folder / "f", "--data", folder)
        expect("in the box " + bounds + ": " + tree, said.returncode == (why is not None) and (why or "VERIFIED") in said.stdout + said.stderr, said)
        proved(folder / "f.prog", ["--box", folder / "box.txt"], folder)


REFUSED = ["x * x", "exp(x)", "median(x, 0, 1)", "elu(x)", "hardswish(x)", "if x > 0 then x else 0", "1 / x", "norm2(x, 1)"]


def refusals(folder):
    """What is not piecewise linear has no proof, whatever it says."""
    (folder / "box.txt").write_text("-2 2\n")
    sha = lambda name: hashlib.sha256((folder / name).read_bytes()).hexdigest()
    (folder / "f.prog").write_text("input x\noutput max(x, -x)\n")
    text = along(folder / "f.prog", ["-1", "1"], folder)  # a maximum alone, whose winner changes
    (folder / "f").write_text(changed(text, ("pieces 2", "pieces 1"), ("piece 1/2 -2\n", "")))
    said = run(CHECK, folder / "f", "--data", folder)
    expect("another winner", said.returncode == 1 and "the pattern changes within the piece, at instruction" in said.stdout, said)
    for body in REFUSED:
        (folder / "f.prog").write_text("input x\noutput " + body + "\n")
        (folder / "f").write_text(sealed("clarke-proof 1\nclaim regions\nsemantics real\nprogram f.prog %s\nbox box.txt %s\nregions 1\ntree\n"
                                         "leaf 1 1\nend \n" % (sha("f.prog"), sha("box.txt"))))
        said = run(CHECK, folder / "f", "--data", folder)
        expect("refused: " + body, said.returncode == 2 and "is not piecewise linear" in said.stderr, said)
    for words, why in [(["--line", "-1", "2", "--limit", "regions=1"], "no proof is written"), (["--at", "0", "--limit", "regions=1"], "no proof is written")]:
        (folder / "f.prog").write_text(STEP)
        said = run(CLARKE, "patterns", folder / "f.prog", *words, "--proof", folder / "none")
        expect("no proof", said.returncode in (2, 3) and why in said.stderr and not (folder / "none").exists(), said)


# --- segments ----------------------------------------------------------------------------------------

def along(model, ends, folder):
    """The proof's text; it verifies, and says the pieces that are told without it."""
    plain = run(CLARKE, "patterns", model, "--line", *ends)
    said = run(CLARKE, "patterns", model, "--line", *ends, "--count", "--proof", folder / "p")
    lines = plain.stdout.splitlines()
    expect("counted", said.returncode == plain.returncode == 0 and int(said.stdout) == len(lines) - 1, said, plain)
    checked = run(CHECK, folder / "p", "--data", folder)
    expect("verified", checked.returncode == 0 and checked.stdout.startswith("VERIFIED\n"), plain, checked)
    told = [re.sub(r"  <B - A, AD> = ", ": the derivative is ", line) for line in lines[:-1]]
    pieces = [line.strip().split(", F(x(t))")[0] for line in checked.stdout.splitlines() if line.startswith("  from ")]
    expect("the pieces", pieces == told, pieces, told)
    total = lines[-1].split("<B - A, AD> is ")[1].split(",")[0]
    expect("the integral", checked.stdout.splitlines()[-2].endswith("F(B) - F(A): " + total), checked.stdout, total)
    return (folder / "p").read_text()


def misled(rng, lines):
    """The lines of a segment's proof with one thing changed; often a piece more or less, and the number made to fit."""
    kind, at = rng.randrange(5), rng.randrange(4, len(lines))
    first = next(i for i, line in enumerate(lines) if line.startswith("piece "))
    piece = rng.randrange(first, len(lines))
    if kind == 0:
        lines[at] = changed_word(rng, lines[at])
    elif kind == 1:
        del lines[piece]
    elif kind == 2:  # cut in two
        end = Fraction(lines[piece].split()[1])
        begin = Fraction(lines[piece - 1].split()[1]) if piece > first else Fraction(0)
        lines.insert(piece, " ".join(["piece", str(begin + (end - begin) * Fraction(rng.randint(1, 4), 5))] + lines[piece].split()[2:]))
    elif kind == 3:  # its end elsewhere
        words = lines[piece].split()
        words[1] = str(Fraction(words[1]) + Fraction(rng.choice([-1, 1]), rng.choice([7, 100, 10 ** 9])))
        lines[piece] = " ".join(words)
    else:
        other = rng.randrange(first, len(lines))
        lines[piece], lines[other] = lines[other], lines[piece]
    if rng.random() < 0.7:
        n = sum(line.startswith("piece ") for line in lines)
        lines = [re.sub(r"^pieces .*$", "pieces %d" % n, line) for line in lines]
    return lines


def mislead(rng, text, folder):
    about = lambda lines: [line for line in lines if line.split(" ")[0] in ("program", "model", "wrt", "held", "from", "to")]
    true = text.splitlines()[:-1]
    for _ in range(FORGED):
        lines = misled(rng, list(true))
        if lines == true or about(lines) != about(true):
            continue
        (folder / "f").write_text(sealed("\n".join(lines) + "\nend \n"))
        said = run(CHECK, folder / "f", "--data", folder)
        expect("nothing else is verified", said.returncode in (1, 2) and "ended" not in said.stderr, "\n".join(lines), said)


def segments(rng, folder):
    for _ in range(draw_count(14)):
        inputs = rng.randint(1, 3)
        (folder / "f.prog").write_text(program(rng, inputs))
        ends = [",".join(rng.choice(["0", "1", "-2", "1/3", "7/5"]) for _ in range(inputs)) for _ in range(2)]
        if ends[0] != ends[1]:
            mislead(rng, along(folder / "f.prog", [ends[0], " " + ends[1]], folder), folder)
    for name, ends in ("encode/example4.onnx", ["-1,-1,-1,-1,-1,-1", "1,1,1,1,1,1/2"]), ("regions/folds.onnx", ["0,0,0", "1,-1,1"]):
        (folder / Path(name).name).write_bytes((ROOT / "cases" / name).read_bytes())
        mislead(rng, along(folder / Path(name).name, ends, folder), folder)


ALONG = "input x[2]\noutput relu(x[0] - x[1]) + max(0, x[0], 2 * x[0]) + leaky_relu(x[0] + 1/2, 1), hardtanh(x[1])\n"


def rules_of_segments(folder):
    """A segment along a kink, that meets a maximum of three at 0, another kink at both ends, and at 1/4 one that is none."""
    (folder / "f.prog").write_text(ALONG)
    text = along(folder / "f.prog", ["-1,-1", "1,1"], folder)
    expect("two pieces", "pieces 2\nintegral 4 2\npiece 1/2 2 2\npiece 1 6 2\n" in text, text)
    for why, proof in [
            ("is another", changed(text, ("integral 4 2", "integral 4 3"))),
            ("the derivative of output 1", changed(text, ("piece 1/2 2 2", "piece 1/2 2 1"))),
            ("the pattern changes within", changed(text, ("pieces 2", "pieces 1"), ("piece 1/2 2 2\n", ""))),
            ("the pattern changes within", changed(text, ("piece 1/2 2", "piece 4999/10000 2"))),
            ("the pattern changes within", changed(text, ("piece 1/2 2", "piece 5001/10000 2"))),
            ("is that of the piece before", changed(text, ("pieces 2", "pieces 3"), ("piece 1/2", "piece 1/4 2 2\npiece 1/2"))),
            ("the last piece ends at 1", changed(text, ("pieces 2", "pieces 1"))),
            ("the last piece ends at 1", changed(text, ("pieces 2", "pieces 3"))),
            ("the last piece ends at 1", changed(text, ("pieces 2", "pieces 1"), ("piece 1 6 2\n", ""))),
            ("up to 1, is expected", changed(text, ("piece 1 6 2", "piece 3/2 6 2"))),
            ("after the one before", changed(text, ("piece 1/2", "piece 0"))),
            ("after the one before", changed(text, ("piece 1 6 2", "piece 1/2 6 2"))),
            ("A and B are one point", changed(text, ("to 1 1", "to -1 -1"))),
            ("at least one piece", changed(text, ("pieces 2", "pieces 0"))),
            ("", changed(text, ("from -1 -1", "from -1"))), ("", changed(text, ("from -1 -1", "from -1 -1 0"))),
            ("", changed(text, ("piece 1 6 2", "piece 1 6"))), ("", changed(text, ("piece 1 6 2", "piece 1 6 2 0"))),
            ("the last piece ends at 1", changed(text, ("pieces 2", "pieces 9223372036854775807"))),
            ("", changed(text, ("pieces 2", "pieces -1")))]:
        (folder / "f").write_text(proof)
        said = run(CHECK, folder / "f", "--data", folder)
        expect("refused: " + why, said.returncode == 1 and why in said.stdout, said, proof)
    for body in REFUSED:
        (folder / "f.prog").write_text("input x\noutput " + body + "\n")
        (folder / "f").write_text(sealed("clarke-proof 1\nclaim segment\nsemantics real\nprogram f.prog %s\nfrom 1\nto 2\npieces 1\nintegral 1\n"
                                         "piece 1 1\nend \n" % hashlib.sha256((folder / "f.prog").read_bytes()).hexdigest()))
        said = run(CHECK, folder / "f", "--data", folder)
        expect("refused: " + body, said.returncode == 2 and "is not piecewise linear" in said.stderr, said)


def networks(rng, folder):
    """Models: the formulas' networks around 0 and in a small box."""
    for name, inputs in ("example4", 6), ("eight", 3):
        model = ROOT / "cases/encode" / (name + ".onnx")
        (folder / model.name).write_bytes(model.read_bytes())
        (folder / "box.txt").write_text("0 1\n" * (inputs - 1) + "-1/2 1/3\n")
        for words in (["--at", ",".join("0" * inputs)], ["--box", folder / "box.txt"]):
            text, truth = proved(folder / model.name, words, folder)
            if truth[0] < 200:
                forge(rng, text, truth, folder)


def main(parts):
    with tempfile.TemporaryDirectory() as name:
        for part in parts:
            part(Path(name))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main([lambda f: drawn(random.Random(3), f), rules, refusals, in_boxes, lambda f: networks(random.Random(4), f),
          lambda f: segments(random.Random(5), f), rules_of_segments])
