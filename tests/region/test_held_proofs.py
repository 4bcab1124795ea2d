"""Proofs that clarke patterns --wrt writes, of functions of some inputs or of a network's parameters: they verify, they are true of what
steps to all sides see, and forged ones do not verify, unless what they say is true.

    test_held_proofs.py TOOLS [FORGED]
"""

import random
import re
from fractions import Fraction

from test_region_proofs import CHECK, CLARKE, FORGED, ROOT, along, changed, draw_count, expect, forge, main, mislead, proved, run, sealed, told

FUNCTIONS = {"relu": lambda x: max(x, 0), "abs": abs, "max": max, "hardtanh": lambda x: min(max(x, -1), 1), "min": min,
             "hardswish": lambda x: x * min(max(x + 3, 0), 6) / 6, "norm2": lambda x, y: 2 * abs(x) if x == y == 0 else Fraction(5)}
HELD = ["a", "b", "relu(a)", "abs(b) * a", "max(a, b)", "min(a, 1)", "a * b", "a / 3", "hardswish(a)", "(a + b) * b", "0 * a", "norm2(3 * (a - a) + 3, 4)"]


def program_of_held(rng):
    """Inputs a and b, to be held; w, u, v, in which the program is piecewise linear. The same as Python's statements."""
    lines = []
    for j in range(rng.randint(1, 3)):
        terms = ["%s * (%s)" % (rng.choice("wuv"), rng.choice(HELD)) for _ in range(rng.randint(1, 3))]
        lines.append("h%d = %s(%s)" % (j, rng.choice(["relu", "relu", "abs", "hardtanh"]), " + ".join(terms + [rng.choice(["0", "b", "1", "(%s)" % rng.choice(HELD)])])))
    hidden = [line.split()[0] for line in lines]
    lines.append("e = (%s) * 2" % rng.choice(HELD))
    lines += ["k%d = relu(%s)" % (j, " + ".join(["(%s) * %s" % (rng.choice(HELD + ["-1", "1", "2"]), h) for h in hidden] + [rng.choice(["e", "0", "-1", "w"])])) for j in range(2)]
    last = "max(k0, k1 * (%s), w) + e * %s" % (rng.choice(HELD), hidden[0])
    return lines, last


def value(lines, last, names):
    space = dict(FUNCTIONS, Fraction=Fraction, **names)
    exact = lambda line: re.sub(r"\b\d+\b", lambda m: "Fraction(%s)" % m[0], line)
    for line in lines:
        name, _, body = line.partition(" = ")
        space[name] = eval(exact(body), space)
    return eval(exact(last), space)


def slopes(lines, last, at, along):
    """The gradient near `at`, a little along that direction: exact where the function is affine there, and None where it is not."""
    step, little = Fraction(1, 10 ** 6), Fraction(1, 10 ** 12)
    near = {k: at[k] + step * along.get(k, 0) for k in at}
    f, found = value(lines, last, near), []
    for k in along:
        up, down = (value(lines, last, dict(near, **{k: near[k] + s * little})) for s in (1, -1))
        if up - f != f - down:
            return None
        found.append((up - f) / little)
    return tuple(found)


def asked(text):
    """The words that ask for what a proof states, of a program of our own."""
    line = {word: re.search(r"^%s ?(.*)$" % word, text, re.M)[1].split() for word in ("wrt", "held", "at")}
    names = dict(zip([k for k in "abwuv" if k not in line["wrt"]], line["held"]))
    names.update(zip(line["wrt"], line["at"]))
    return ["--at=" + ",".join(names[k] for k in "abwuv"), "--wrt", ",".join(line["wrt"])]


def restated(rng, text, folder):
    """Another point, another value held, other names: what is verified is then true of that."""
    for _ in range(FORGED // 2):
        lines = text.splitlines()[:-1]
        place = rng.choice([i for i, line in enumerate(lines) if line.split(" ")[0] in ("wrt", "held", "at")])
        words = lines[place].split(" ")
        if words[0] == "wrt":
            words[1:] = rng.choice([["w"], ["u", "v"], ["w", "v"], ["a", "w"], ["v", "u"], ["*"], ["w", "w"], ["none"], []])
        elif len(words) > 1:
            words[rng.randrange(1, len(words))] = str(Fraction(rng.randint(-3, 3), rng.choice([1, 1, 2])))
        lines[place] = " ".join(words)
        other = sealed("\n".join(lines) + "\nend \n")
        (folder / "f").write_text(other)
        said = run(CHECK, folder / "f", "--data", folder)
        expect("an answer", said.returncode in (0, 1, 2) and "ended" not in said.stderr, other, said)
        if said.returncode == 0 and other != text:
            plain = run(CLARKE, "patterns", folder / "f.prog", *asked(other))
            gradients = {line.split("gradient ")[1] for line in plain.stdout.splitlines()[:-1]}
            expect("true of what is stated", set(told(said.stdout)[1]) == gradients, other, said.stdout, plain)


def held(rng, folder):
    """Drawn programs: what is proved is what steps to all sides see; forged proofs fail."""
    several = 0
    for _ in range(draw_count(18)):
        lines, last = program_of_held(rng)
        (folder / "f.prog").write_text("input a, b, w, u, v\n" + "".join("let %s\n" % line for line in lines) + "output %s\n" % last)
        at = {k: Fraction(rng.choice([1, -1, 0] if k in "ab" else [0, 0, 0, 1, -1])) for k in "abwuv"}
        wrt = rng.choice(["w,u,v", "w,u,v", "w", "u,v", "w,v"])
        point = ",".join(str(at[k]) for k in "abwuv")
        text, truth = proved(folder / "f.prog", ["--at", point, "--wrt", wrt], folder)
        several += truth[0] > 1
        gradients = {tuple(map(Fraction, g.split())) for g in truth[1]}
        for _ in range(40):
            seen = slopes(lines, last, at, {k: Fraction(rng.randint(-50, 50), 7) for k in wrt.split(",")})
            expect("seen", seen is None or seen in gradients, text, seen, gradients)
        for line in run(CLARKE, "patterns", folder / "f.prog", "--at", point, "--wrt", wrt).stdout.splitlines()[:-1]:
            along, _, gradient = line.partition("along ")[2].partition("  gradient ")
            seen = slopes(lines, last, at, dict(zip(wrt.split(","), map(Fraction, along.split()))))
            expect("its direction", seen is None or seen == tuple(map(Fraction, gradient.split())), line, seen)
        forge(rng, text, truth, folder)
        restated(rng, text, folder)
        (folder / "box.txt").write_text("".join("%s %s\n" % (rng.choice(["-2", "-1/3"]), rng.choice(["2", "5/7"])) for _ in wrt.split(",")))
        inside, truth = proved(folder / "f.prog", ["--box", folder / "box.txt", "--at=" + point, "--wrt", wrt], folder)
        forge(rng, inside, truth, folder)
    expect("several", several > draw_count(6), several)


def drawn_ends(rng, names):
    ends = [{k: Fraction(rng.choice([-2, -1, 0, 1, 3]), rng.choice([1, 1, 3])) for k in names} for _ in range(2)]
    if rng.random() < 0.3:  # along kinks: all but one entry are 0
        ends = [dict.fromkeys(names, Fraction(0)) | {names[0]: end} for end in (Fraction(-1), Fraction(1, rng.randint(1, 2)))]
    return ends if ends[0] != ends[1] else drawn_ends(rng, names)


def segments(rng, folder):
    """Along a segment of what varies: pieces are affine by Python's statements, with the slopes told; forged proofs fail."""
    pieces = 0
    (folder / "far.profile").write_text("like pytorch-2.13\nRelu 0 7/3\nAbs 0 -2\nClip 0 5\nClip 1 -3\n")
    for _ in range(draw_count(20)):
        lines, last = program_of_held(rng)
        (folder / "f.prog").write_text("input a, b, w, u, v\n" + "".join("let %s\n" % line for line in lines) + "output %s\n" % last)
        at = {k: Fraction(rng.choice([1, -1, 0] if k in "ab" else [0, 1, -1])) for k in "abwuv"}
        names = rng.choice([["w", "u", "v"], ["w"], ["u", "v"]])
        ends = drawn_ends(rng, names)
        told_of = lambda of, keys: " " + ",".join(str(of[k]) for k in keys)
        words = [told_of(ends[0], names), told_of(ends[1], names), "--at", told_of(at, "abwuv"), "--wrt", ",".join(names)]
        if rng.random() < 0.5:
            words += ["--profile", folder / "far.profile"]
        text = along(folder / "f.prog", words, folder)
        f = lambda t: value(lines, last, at | {k: ends[0][k] + t * (ends[1][k] - ends[0][k]) for k in names})
        begin = Fraction(0)
        for line in text.splitlines():
            if line.startswith("piece "):
                end_of, slope = map(Fraction, line.split()[1:])
                expect("affine", all(f(begin + (end_of - begin) * Fraction(k, 7)) == f(begin) + slope * (end_of - begin) * Fraction(k, 7) for k in range(8)),
                       lines, last, text)
                begin, pieces = end_of, pieces + 1
        expect("the integral", "\nintegral %s\n" % (f(Fraction(1)) - f(Fraction(0))) in text, text)
        mislead(rng, text, folder)
    expect("pieces", pieces > draw_count(25), pieces)
    (folder / "folds.onnx").write_bytes((ROOT / "cases/regions/folds.onnx").read_bytes())
    words = ["stored", "2,1", "--at=-1,1,0", "--wrt", "shift"]
    text = along(folder / "folds.onnx", words, folder)
    expect("from what is stored", "\nwrt shift\nheld -1 1 0\nfrom 0 -1/2\nto 2 1\npieces 3\n" in text, text)
    expect("as numbers", along(folder / "folds.onnx", ["0,-1/2"] + words[1:], folder) == text)
    mislead(rng, text, folder)
    for why, proof in [
            ("A and B are one point", changed(text, ("from 0 -1/2", "from 2 1"))), ("'from' is expected", changed(text, ("wrt shift\n", ""))),
            ("ends too early", changed(text, ("held -1 1 0", "held -1 1"))), ("", changed(text, ("held -1 1 0", "held -1 0 0"))),
            ("'held' is expected", changed(text, ("held -1 1 0\n", ""))), ("is not a rational", changed(text, ("from 0 -1/2", "from stored"))),
            ("more than was expected", changed(text, ("to 2 1", "to 2 1 0"))), ("", changed(text, ("wrt shift", "wrt bias"))),
            ("ends too early", changed(text, ("wrt shift", "wrt *"))), ("no parameter", changed(text, ("wrt shift", "wrt x")))]:
        (folder / "f").write_text(proof)
        said = run(CHECK, folder / "f", "--data", folder)
        expect("refused: " + why, said.returncode == 1 and why in said.stdout, said, proof)


def parameters(rng, folder):
    """Networks: each parameter's, and a proof about another one fails, or is true of that."""
    proofs = 0
    for name, points in [("regions/folds", ["0,1,0", "0,1/2,0", "-1,1,0"]), ("audit/lemma7", ["1,1,0,0", "-1,2,2,3"]), ("audit/two-windows", ["1,1,0,2,0,2"]),
                         ("audit/zero-gamma-beta", [",".join("011100101001110"), ",".join("1" * 15)]), ("audit/opposite-images", ["1,0,0,1"])]:
        model = ROOT / "cases" / (name + ".onnx")
        (folder / model.name).write_bytes(model.read_bytes())
        names = {"folds": ["kernel", "shift", "rows", "bias", "last"], "lemma7": ["u", "b", "params"], "two-windows": ["k", "b", "k,b"],
                 "zero-gamma-beta": ["w", "gamma", "beta"], "opposite-images": ["w", "b", "params"]}[model.stem]
        for at in points:
            for wrt in names:
                text, truth = proved(folder / model.name, ["--at", at, "--wrt", wrt], folder)
                proofs += 1
                if truth[0] < 100:
                    forge(rng, text, truth, folder)
                for other in names:
                    if other == wrt or "," in other + wrt or "params" in (other, wrt):
                        continue
                    (folder / "f").write_text(changed(text, ("wrt " + wrt + "\n", "wrt " + other + "\n")))
                    said = run(CHECK, folder / "f", "--data", folder)
                    if said.returncode == 0:
                        true = proved(folder / model.name, ["--at", at, "--wrt", other], folder)[1]
                        expect("true of the other", told(said.stdout) == true, said.stdout, true)
    expect("proofs", proofs > 20, proofs)


NEURON = "input x[2]\ninput w[2]\ninput b\noutput 3 * relu(w[0] * x[0] + w[1] * x[1] + b) - relu(x[0]) * relu(w[0] - w[1])\n"


def rules_of_held(folder):
    (folder / "f.prog").write_text(NEURON)
    text, _ = proved(folder / "f.prog", ["--at", "1,1,1,1,-2", "--wrt", "w,b"], folder)
    expect("the statement", "\nwrt w b\nheld 1 1\nat 1 1 -2\n" in text, text)
    (folder / "folds.onnx").write_bytes((ROOT / "cases/regions/folds.onnx").read_bytes())
    model, _ = proved(folder / "folds.onnx", ["--at", "-1,1,0", "--wrt", "shift"], folder)
    expect("the statement of a model", "\nwrt shift\nheld -1 1 0\nat stored\n" in model, model)
    early = "the line ends too early"
    for status, why, proof in [
            (1, "is no input, or not in their order", changed(text, ("wrt w b", "wrt b w"))), (1, "is no input", changed(text, ("wrt w b", "wrt w b b"))),
            (1, "is no input", changed(text, ("wrt w b", "wrt w y"))), (1, "is no input", changed(text, ("wrt w b", "wrt"))),
            (1, early, changed(text, ("wrt w b", "wrt w"))), (1, "more than was expected", changed(text, ("wrt w b", "wrt *"))),
            (1, early, changed(text, ("held 1 1", "held 1"))), (1, "more than was expected", changed(text, ("held 1 1", "held 1 1 1"))),
            (1, "'held' is expected", changed(text, ("held 1 1\n", ""))), (1, "", changed(text, ("held 1 1", "held 1 2"))),
            (1, "", changed(text, ("held 1 1", "held 0 1"))), (1, "", changed(text, ("at 1 1 -2", "at 1 1 -1"))), (1, "is not a rational", changed(text, ("at 1 1 -2", "at stored"))),
            (1, early, changed(text, ("wrt w b\nheld 1 1\nat", "wrt *\nheld\nat 1 1"))),
            (1, early, changed(text, ("wrt w b\nheld 1 1\nat 1 1 -2", "at 1 1 1 1 -2"))),
            (1, "'box' is expected", changed(text, ("at 1 1 -2\n", ""))), (1, "'box' is expected", changed(text, ("wrt w b\nheld 1 1\n", "held 1 1\nwrt w b\n"))),
            (1, "'at stored' is expected", changed(model, ("at stored", "at 0 -1/2"))), (1, "has no parameter 'low'", changed(model, ("wrt shift", "wrt low"))),
            (1, "has no parameter 'x'", changed(model, ("wrt shift", "wrt x"))), (1, "not named in the order", changed(model, ("wrt shift", "wrt shift kernel"))),
            (1, "is named twice", changed(model, ("wrt shift", "wrt shift shift"))), (1, "no parameter is named", changed(model, ("wrt shift", "wrt"))),
            (1, early, changed(model, ("wrt shift", "wrt *"))), (1, "", changed(model, ("held -1 1 0", "held -1 1 1"))),
            (1, "", changed(model, ("wrt shift", "wrt bias"))), (1, "", changed(model, ("wrt shift", "wrt kernel"))), (1, early, changed(model, ("held -1 1 0", "held -1 1")))]:
        (folder / "f").write_text(proof)
        said = run(CHECK, folder / "f", "--data", folder)
        expect("refused: " + why, said.returncode == status and why in said.stdout + said.stderr, said, proof)
    (folder / "f.prog").write_text("input x, w\noutput w * exp(x) + relu(w)\n")
    said = run(CLARKE, "patterns", folder / "f.prog", "--at", "0,0", "--wrt", "w", "--proof", folder / "p")
    expect("exp(0) is 1", run(CHECK, folder / "p", "--data", folder).returncode == said.returncode == 0, said)
    (folder / "f").write_text(changed((folder / "p").read_text(), ("held 0", "held 1")))
    said = run(CHECK, folder / "f", "--data", folder)
    expect("exp(1) is none", said.returncode == 2 and "is not piecewise linear" in said.stderr, said)


main([lambda f: held(random.Random(6), f), lambda f: segments(random.Random(8), f), lambda f: parameters(random.Random(7), f), rules_of_held])
