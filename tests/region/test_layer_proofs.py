"""Proofs that clarke patterns --wrt writes where what varies is multiplied: they verify, gradients at points all around are those listed, and
forged ones do not verify, unless what they say is true.

    test_layer_proofs.py TOOLS [FORGED]
"""

import hashlib
import json
import random
import re
from fractions import Fraction

from test_layers import Network, nearby
from test_region_proofs import CHECK, CLARKE, FORGED, ROOT, changed, changed_word, draw_count, expect, main, run, sealed, told

STATED = ("program", "model", "wrt", "held", "at")


def proved(model, words, folder):
    """The proof's text, and what it states; None when the list is not whole. It says what the list without it says."""
    plain = run(CLARKE, "patterns", model, *words, "--json")
    (folder / "p").unlink(missing_ok=True)
    said = run(CLARKE, "patterns", model, *words, "--count", "--proof", folder / "p")
    expect("the same", said.returncode == plain.returncode, said, plain)
    if plain.returncode == 3:
        expect("no proof", not (folder / "p").exists() and "no proof is written" in said.stderr, said)
        return None
    found = json.loads(plain.stdout)
    checked = run(CHECK, folder / "p", "--data", folder)
    expect("verified", checked.returncode == 0 and checked.stdout.startswith("VERIFIED\n"), words, checked)
    truth = told(checked.stdout)
    expect("the number", truth[0] == int(found["patterns"]), truth, found)
    gradients = {"; ".join(" ".join(row) for row in r["gradient"]) for r in found["regions"]}
    expect("the gradients", set(truth[1]) == gradients and len(truth[1]) == len(gradients), truth, found)
    if ("F is differentiable" in checked.stdout) != (len(gradients) == 1):
        expect("differentiable", False, checked)
    return (folder / "p").read_text(), truth


# --- forged ----------------------------------------------------------------------------------------

def subtree(lines, at):
    """Where the subtree that begins there ends."""
    words = lines[at].split()
    if words[0] == "branch":
        at += 1
        for _ in range(int(words[1])):
            at = subtree(lines, at)
        return at
    if words[0] == "dead":
        return at + 1 + int(words[1])
    return at + 2 + int(lines[at + 1].split()[1])


def misled(rng, lines):
    """One thing is changed; often the numbers are made to fit."""
    tree = lines.index("tree") + 1
    starts = [i for i in range(tree, len(lines)) if lines[i].split()[0] in ("branch", "dead", "leaf")]
    one, other = rng.choice(starts), rng.choice(starts)
    leaf = next(i for i in range(tree, len(lines)) if lines[i] == "leaf")
    kind = rng.randrange(7)
    if kind == 0:
        at = rng.randrange(next(i for i, line in enumerate(lines) if line.startswith("patterns")), len(lines))
        lines[at] = changed_word(rng, lines[at])
    elif kind == 1:
        del lines[rng.randrange(tree, len(lines))]
    elif kind == 2:  # a subtree is another one
        lines[one:subtree(lines, one)] = lines[other:subtree(lines, other)]
    elif kind == 3:  # or dead
        lines[one:subtree(lines, one)] = rng.choice([["dead 1", "u 0 1"], ["dead 2", "u 0 1", "u 1 1"], ["dead 1", "u 1 2"], ["dead 2", "u 0 2", "u 2 1"]])
    elif kind == 4:  # a branch is one of its subtrees
        branches = [i for i in starts if lines[i].startswith("branch")] or [one]
        at = rng.choice(branches)
        lines[at:subtree(lines, at)] = lines[at + 1:subtree(lines, at + 1)] if lines[at].startswith("branch") else ["branch 2"]
    elif kind == 5:  # a dead one is a leaf
        lines[one:subtree(lines, one)] = lines[leaf:subtree(lines, leaf)]
    else:  # a gradient less or more
        gradients = [i for i, line in enumerate(lines) if line.startswith("gradient ")]
        at = rng.choice(gradients)
        if rng.random() < 0.5:
            del lines[at]
        else:
            lines.insert(at, changed_word(rng, lines[at]))
    if rng.random() < 0.8:
        count = lambda word: sum(line.split(" ")[0] == word for line in lines)
        lines = [re.sub(r"^patterns .*$", "patterns %d" % count("leaf"), re.sub(r"^gradients .*$", "gradients %d" % count("gradient"), line)) for line in lines]
    return lines


def forge(rng, text, truth, folder):
    about = lambda lines: [line for line in lines if line.split(" ")[0] in STATED]
    true = text.splitlines()[:-1]
    for _ in range(FORGED):
        lines = misled(rng, list(true))
        if lines == true or about(lines) != about(true):
            continue
        (folder / "f").write_text(sealed("\n".join(lines) + "\nend \n"))
        said = run(CHECK, folder / "f", "--data", folder)
        expect("an answer", said.returncode in (0, 1, 2) and "ended" not in said.stderr, "\n".join(lines), said)
        expect("nothing else is verified", said.returncode != 0 or told(said.stdout) == truth, "\n".join(lines), said)


# --- what is proved --------------------------------------------------------------------------------

def gradient(network, x, w):
    """At weights where no argument is at its kink: forward, with a derivative in each weight; None elsewhere."""
    unit = lambda k: [Fraction(int(j == k)) for j in range(len(w))]
    named = {name: (w[k], unit(k)) for k, name in enumerate(network.names)}
    before = [(v, [Fraction(0)] * len(w)) for v in x]

    def total(layer, j):
        terms = [(named["w%s_%d_%d" % (layer, j, i)], y) for i, y in enumerate(before)]
        bias = [named["b%s_%d" % (layer, j)]] if network.bias else []
        bias += [named[network.names[0]]] if network.skip and layer != 0 else []
        return (sum(a[0] * y[0] for a, y in terms) + sum(b[0] for b in bias),
                [sum(a[0] * y[1][k] + a[1][k] * y[0] for a, y in terms) + sum(b[1][k] for b in bias) for k in range(len(w))])

    def taken(t, f):
        kinks, slope = ([-1, 1], [0, 1, 0]) if f == "hardtanh" else ([0], [-1, 1] if f == "abs" else [0, 1])
        if t[0] in kinks and any(t[1]):
            return None
        value = {"hardtanh": min(max(t[0], -1), 1), "abs": abs(t[0]), "relu": max(t[0], 0)}[f]
        return value, [slope[sum(t[0] > k for k in kinks)] * d for d in t[1]]

    for layer, (width, f) in enumerate(zip(network.widths, network.functions)):
        after = [taken(total(layer, j), f) for j in range(width)]
        if None in after:
            return None
        before = after
    t = total("o", 0)
    if network.last == "relu":
        return (taken(t, "relu") or (0, None))[1]
    if network.last == "max":
        return None if t[0] == before[0][0] and t[1] != before[0][1] else max(t, before[0], key=lambda y: y[0])[1]
    return t[1]


def drawn(rng, folder):
    """Near the point gradients tend to those listed, and each listed one is met along its arc."""
    proofs = curved = dead = 0
    for _ in range(draw_count(45)):
        n = Network(rng)
        x = [Fraction(rng.choice([1, 1, -1, 2, 0])) for _ in range(n.inputs)]
        w = [Fraction(rng.choice([0, 0, 0, 1, -1])) for _ in n.names]
        (folder / "f.prog").write_text(n.text)
        answer = proved(folder / "f.prog", ["--at=" + ",".join(map(str, x + w)), "--wrt", ",".join(n.names)], folder) if len(n.names) > 1 else None
        if answer is None or "claim patterns" not in answer[0]:
            continue
        text, truth = answer
        proofs += 1
        curved += "\narc 3" in text
        dead += "\ndead " in text
        listed = [[Fraction(v) for v in row.split()] for row in truth[1]]
        for k in range(25):
            steps = [[Fraction(rng.randint(-9, 9)) for _ in w] for _ in range(1 + k % 3)]
            seen = gradient(n, x, nearby(w, steps, Fraction(1, 10 ** 9)))
            expect("gradients tend to those", seen is None or any(all(abs(a - b) < Fraction(1, 10 ** 6) for a, b in zip(seen, g)) for g in listed),
                   n.text, w, steps, seen, listed)
        forge(rng, text, truth, folder)
    expect("enough of each", proofs > draw_count(20) and (proofs < 20 or curved > 1 and dead > 1), proofs, curved, dead)


def networks(rng, folder):
    """Of a model all parameters; its sample and its names are the statement's."""
    for name, at in ("global-only", "1"), ("lemma2", "1"), ("lemma3", "1"), ("lemma7", "1,1,0,0"):
        model = ROOT / "cases/audit" / (name + ".onnx")
        (folder / model.name).write_bytes(model.read_bytes())
        answer = proved(folder / model.name, ["--at=" + at, "--wrt", "params"], folder)
        if answer is not None and "claim patterns" in answer[0]:
            forge(rng, *answer, folder)


def factors(rng, folder):
    """What is linear but for a factor that is 1 at the point; where the factor is another, or the form, nothing is refuted."""
    for body in ["relu(u * relu(w) + w)", "relu(w + u) + relu(w * w - 3 * w * u - w - 4 * u * u - u)", "relu(w * (1 + u) * (1 - w)) - relu(-w - w * u * u)",
                 "relu(u * relu(w - u) + w - u + w * u - u * u) + relu(u)"]:
        (folder / "f.prog").write_text("input w, u\noutput %s\n" % body)
        text, truth = proved(folder / "f.prog", ["--at", "0,0", "--wrt", "w,u"], folder)
        expect("dead", "dead 2" in text, text)
        for _ in range(3):
            forge(rng, text, truth, folder)
    for other in ["relu(u * relu(w) + w + u)", "relu(u * relu(w) + w + u * u)", "relu(u * relu(w) - w)", "relu(u * relu(w) + w * w * w + u)"]:
        (folder / "f.prog").write_text("input w, u\noutput relu(u * relu(w) + w)\n")
        text, _ = proved(folder / "f.prog", ["--at", "0,0", "--wrt", "w,u"], folder)
        (folder / "g.prog").write_text("input w, u\noutput %s\n" % other)
        (folder / "f").write_text(sealed(re.sub("program .*", "program g.prog %s" % digest(folder / "g.prog"), text)))
        said = run(CHECK, folder / "f", "--data", folder)
        why = "the arc does not follow" if other.endswith("- w)") else "not zero, nor less by squares"
        expect("another one", said.returncode == 1 and why in said.stdout, other, said)


PROGRAM = "input x, w, u, b\noutput relu(u * relu(w * x) + b) - max(w, u, x - 1)\n"


def rules(folder):
    (folder / "f.prog").write_text(PROGRAM)
    text, _ = proved(folder / "f.prog", ["--at", "1,0,0,0", "--wrt", "w,u,b"], folder)
    (folder / "s.prog").write_text("input w, u\noutput relu(-w * w) + relu(w * u) - relu(u * w)\n")
    squares, _ = proved(folder / "s.prog", ["--at", "0,0", "--wrt", "w,u"], folder)
    expect("of squares", "dead 1" in squares, squares)
    first = text[text.index("leaf"):].split("\nleaf")[0].split("\nbranch")[0]
    for status, why, proof in [
            (1, "'patterns' is expected", changed(text, ("patterns ", "regions "))), (1, "'tree' is expected", changed(text, ("tree\n", "cones\n"))),
            (1, "the arc does not follow the leaf", changed(text, (first, re.sub(r"step -?\d+", "step 9", first)))),
            (1, "does not tell what is larger", changed(text, (first, "leaf\narc 0"))),
            (1, "an arc has 8 steps at most", changed(text, (first, "leaf\narc 9" + "\nstep 0 0 1" * 9))),
            (1, "'arc' is expected", changed(text, (first, "leaf"))), (1, "'leaf' is expected", changed(text, (first, "open\n" + first))),
            (1, "there is no fork for each branch", changed(text, (first, "branch 2\n" + first + "\n" + first))),
            (1, "this fork has 3 choices", changed(text, ("branch 3", "branch 2"))),
            (1, "the leaf is before a fork", changed(text, ("tree\n" + text[text.index("tree\n") + 5:text.index("end ")], "tree\nleaf\narc 0\n"))),
            (1, "not zero, nor less by squares", changed(text, (first, "dead 1\nu 0 1"))),
            (1, "no decisions proves nothing", changed(text, (first, "dead 0"))), (1, "in increasing order", changed(text, (first, "dead 1\nu 99 1"))),
            (1, "positive values", changed(squares, ("u 0 1", "u 0 -1"))), (1, "the tree has", changed(text, ("patterns ", "patterns 1"))),
            (1, "in increasing order", re.sub(r"(gradient .*\n)(gradient .*\n)", r"\2\1", changed(text, ("tree\n", "tree\n")), count=1)),
            (1, "ends too early", changed(text, ("held 1", "held"))), (1, "is no input", changed(text, ("wrt w u b", "wrt u w b"))),
            (1, "'at' is expected", changed(text, ("at 0 0 0\n", ""))), (1, "", changed(text, ("at 0 0 0", "at 0 0 1"))), (1, "", changed(text, ("held 1", "held -1")))]:
        (folder / "f").write_text(sealed(proof))
        said = run(CHECK, folder / "f", "--data", folder)
        expect("refused: " + why, said.returncode == status and why in said.stdout + said.stderr, said, proof)
    for body in ["exp(w)", "w / u", "norm2(w, u)", "hardswish(w)", "if w > 0 then w else u", "median(w, u, 0)", "elu(w)"]:
        (folder / "f.prog").write_text("input w, u\noutput %s\n" % body)
        (folder / "f").write_text(sealed(squares.replace(re.search("program .*", squares)[0], "program f.prog %s" % digest(folder / "f.prog"))))
        said = run(CHECK, folder / "f", "--data", folder)
        expect("refused: " + body, said.returncode == 2 and "is not polynomial on pieces" in said.stderr, said)


def flat(folder):
    """Between -w^2 and w^2 the slope in u is 1, but |F| <= w^2: two one-step arcs with different gradients, and F is differentiable."""
    (folder / "f.prog").write_text("input w, u\noutput min(max(u, -w * w), w * w)\n")
    text, _ = proved(folder / "f.prog", ["--at", "0,0", "--wrt", "w,u"], folder)
    short = re.sub(r"arc 3\nstep (\S+) (\S+)\n.*\n.*\n", lambda m: "arc 1\nstep %s 0\n" % (m[1] if m[1] != "0" else "1") if m[2] == "0" else m[0], text)
    expect("one step", "arc 1\nstep 1 0\n" in short or "arc 1\nstep -" in short, text, short)
    (folder / "f").write_text(sealed(short))
    said = run(CHECK, folder / "f", "--data", folder)
    expect("not said", said.returncode == 0 and "differentiable at w" not in said.stdout, said, short)
    (folder / "f.prog").write_text("input w, u\noutput relu(u) + w * u, max(w, w * u)\n")
    _, truth = proved(folder / "f.prog", ["--at", "0,0", "--wrt", "w,u"], folder)
    expect("Jacobians", truth == (4, ["0 0; 0 0", "0 0; 1 0", "0 1; 0 0", "0 1; 1 0"]), truth)
    expect("not differentiable", "F is not differentiable at w." in run(CHECK, folder / "p", "--data", folder).stdout)


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


main([lambda f: drawn(random.Random(13), f), lambda f: networks(random.Random(14), f), rules, flat, lambda f: factors(random.Random(15), f)])
