"""Proofs of steps of optimizers: what clarke-check verifies of them, and that no number of one may be another.

    test_step_proof.py TOOLS
"""
import hashlib
import json
import math
import random
import re
import subprocess
import sys
import tempfile
from fractions import Fraction as Q
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from draw import ONE_IN, draw_count  # noqa: E402

TOOLS = Path(sys.argv[1]).resolve()
PROOFS = sorted((ROOT / "proofs-data/steps").glob("*.proof"))
WHOLE = "torch-adafactor", "torch-muon"
failures = []


def expect(what, good, *more):
    if not good:
        failures.append(what)
        print("FAILED:", what, *more)


def sealed(lines):
    body = "\n".join(lines) + "\n"
    return body + "end " + hashlib.sha256(body.encode()).hexdigest() + "\n"


def check(path):
    done = subprocess.run([TOOLS / "clarke-check", path], text=True, capture_output=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def text_of(q):
    return str(Q(q))


def edits(lines):
    """(line, word) of each number, and what is another: outside of its bounds, where it has some."""
    after = next(i for i, line in enumerate(lines) if line.startswith("after "))
    for i, line in enumerate(lines):
        words = line.split()
        for w, word in enumerate(words):
            if w == 0 or not word.lstrip("-")[0].isdigit() or words[0] == "clarke-proof":
                continue
            if i > after and w % 2 == 1:  # the lower end: above the upper one by itself, so both are moved
                yield i, {w: text_of(Q(words[w + 1]) + Q(1, 7)), w + 1: text_of(Q(words[w + 1]) + Q(2, 7))}
                yield i, {w: text_of(Q(word) - Q(2, 7)), w + 1: text_of(Q(word) - Q(1, 7))}
            elif i <= after:
                yield i, {w: text_of(Q(word) + (1 if words[0] in ("entries", "before", "gradients", "after") else Q(1, 7)))}


def means_nothing(lines, i):
    """m before the first step of torch-sgd is not read, and not where momentum is 0; nag's momentum is not, where mu grows. Of Rprop's gradients only the
    last is kept, of the others only signs count; so nothing does beside a gradient of 0, nor eta where the size is stated, nor a factor beyond the bounds. ASGD's
    average before is not read while mu is 1."""
    last = max(k for k, line in enumerate(lines) if line.startswith("gradient "))
    return ("rule torch-rprop" in lines and lines[i].startswith(("number eta ", "number eta-plus ", "gradient ", "prev ")) and i < last) or ("rule torch-asgd" in lines and lines[i].startswith("ax ") and i < last) or ("mu grows" in lines and lines[i].startswith("number momentum")) or lines[i].startswith("m ") and (("rule torch-sgd" in lines and "before 0" in lines) or "number momentum 0" in lines)


def forged(folder):
    """No proof with one number that is another holds."""
    draw, path = random.Random(36), folder / "forged.proof"
    for proof in PROOFS:
        lines = proof.read_text().splitlines()[:-1]
        expect(f"{proof.name} holds", check(proof)[0] == 0)
        found = [e for e in edits(lines) if not means_nothing(lines, e[0])]
        for i, words in draw.sample(found, min(len(found), draw_count(10))):
            changed = lines[i].split()
            for w, word in words.items():
                changed[w] = word
            path.write_text(sealed(lines[:i] + [" ".join(changed)] + lines[i + 1:]))
            status, said = check(path)
            expect(f"{proof.name}: {lines[i][:60]} -> {' '.join(changed)[:60]}", status == 1 and "VERIFIED" not in said, status, said[:200])


def inside(folder):
    """Bounds that are nearer to one another than the first intervals, beside the number: more bits tell."""
    path, asked = folder / "inside.proof", 0
    for proof in PROOFS:
        lines = proof.read_text().splitlines()[:-1]
        after = next(i for i, line in enumerate(lines) if line.startswith("after "))
        for i in range(after + 1, len(lines)):
            words = lines[i].split()
            low, high = Q(words[1]), Q(words[2])
            for bounds in ((high - (high - low) / 64, high), (low, low + (high - low) / 64)) if low < high else ():
                path.write_text(sealed(lines[:i] + [" ".join([words[0], *map(text_of, bounds), *words[3:]])] + lines[i + 1:]))
                status, said = check(path)
                expect(f"{proof.name}, {words[0]}: beside the number", status == 1 and "is not there" in said, status, said[:200])
                asked += 1
    expect("some numbers have bounds", asked > 20, asked)
    near = Q(math.isqrt(2 * 4**3000), 2 * 2**3000)  # 1 / sqrt(2), and 1 less that is theta
    for side, off, least, status in ((1, Q(1, 2**1500), 1, 1), (-1, Q(1, 2**1500), 1, 1), (1, Q(-1, 2**1500), 1, 0), (-1, Q(-1, 2**1500), 1, 0)):
        end = 1 - near + side * off  # the bounds begin, or end, that far from it
        bounds = sorted((end, end + side * Q(least, 2**700)))
        path.write_text(sealed(["clarke-proof 1", "claim update", "rule torch-adagrad", "number eta 1", "number eps 0", "number weight-decay 0", "decay coupled",
                                "root outside", "entries 1", "before 0", "theta 1", "v 1", "gradients 1", "gradient 1", "after 1",
                                f"theta {bounds[0]} {bounds[1]}", "v 2 2"]))
        got, said = check(path)
        expect(f"2^-1500 {'beside' if status else 'around'} 1 - 1 / sqrt(2)", got == status and ("VERIFIED" in said) == (status == 0), got, said[-200:])


def words(folder):
    """Words, order and counts."""
    lines = (ROOT / "proofs-data/steps/torch-adam.proof").read_text().splitlines()[:-1]
    text, path = "\n".join(lines), folder / "words.proof"
    for old, new, said in (("rule torch-adam", "rule nobody", "no rule is called"), ("root outside", "root inside", "is not there"),
                           ("root outside", "root beside", "'inside' or 'outside'"), ("decay coupled", "decay decoupled", "is not there"),
                           ("number eta 1/10\n", "", "'number' ends too soon"), ("number eta", "number alpha", "'eta' is expected"),
                           ("number sigma 999/1000", "number sigma 1", "sigma is not below 1"), ("number eta 1/10", "number eta -1/10", "eta is below 0"),
                           ("entries 3", "entries 0", "one entry"), ("entries 3", "entries 70000", "one entry to"), ("before 0", "before 10001", "at most"),
                           ("gradients 3", "gradients 0", "one step to"), ("v 0 0 0", "v 0 -1 0", "v is below 0"), ("claim update", "claim step", "'claim update' is expected"),
                           ("\nv 0 0 0\n", "\n", "'v' is expected")):
        expect(f"{old} is there", old in text)
        path.write_text(sealed(text.replace(old, new, 1).split("\n")))
        status, heard = check(path)
        expect(f"{old} -> {new}", status != 0 and "VERIFIED" not in heard and (said in heard or "expected" in heard), status, heard)
    path.write_text(sealed(lines + lines[-1:]))
    expect("a line too many", check(path)[0] != 0)
    wide = [" ".join(["theta"] + [text_of(Q(x) + (Q(i % 2 * 2 - 1, 9))) for i, x in enumerate(line.split()[1:])]) if k > len(lines) - 4 and line.startswith("theta")
            else line for k, line in enumerate(lines)]
    path.write_text(sealed(wide))
    expect("wider bounds hold", check(path)[0] == 0, check(path))
    turned = [" ".join(["theta", line.split()[2], line.split()[1], *line.split()[3:]]) if k > len(lines) - 4 and line.startswith("theta") else line
              for k, line in enumerate(lines)]
    path.write_text(sealed(turned))
    expect("bounds in the other order", "the least number first" in check(path)[1], check(path))


def drawn(folder):
    """Proofs of drawn steps hold, from a state with steps behind it, with tiny and huge numbers; what has no proof is said."""
    draw = random.Random(4)
    rules = [proof.stem for proof in PROOFS if proof.stem not in WHOLE]
    for _ in range(draw_count(25)):
        rule, k, n = draw.choice(rules), draw.choice([0, 1, 40]), draw.randint(1, 4)
        number = lambda: text_of(Q(draw.randint(-99, 99), draw.choice([1, 7, 64, 10**12])))
        state = {"theta": [number() for _ in range(n)], "k": k}
        for slot in "psi", "m", "v", "u", "prev", "size", "ax":
            held = {"u": rule in ("torch-adadelta", "torch-adamax"), "prev": rule == "torch-rprop", "size": rule == "torch-rprop", "ax": rule == "torch-asgd",
                    "psi": "inna" in rule and "din" not in rule, "m": any(w in rule for w in ("mom", "nag", "torch-sgd", "rms", "ada", "din")) and "grad" not in rule and rule not in ("torch-adadelta",),
                    "v": not any(w in rule for w in ("sgd", "momentum", "nag", "adamax", "rprop")) and rule not in ("inna", "ema")}[slot]
            if held:
                state[slot] = [number().lstrip("-") if slot in ("v", "u", "size") else number() for _ in range(n)]
        (folder / "s.json").write_text(json.dumps(state))
        (folder / "g.json").write_text(json.dumps([number() for _ in range(n)]))
        options = (["--momentum", "9/10"] if rule == "ema" else ["--eta", draw.choice(["1/10", "1e-9", "3"])]) + (["--alpha", "1/3", "--beta", "7"] if "inna" in rule or "dinadam" in rule else [])
        ran = subprocess.run([TOOLS / "clarke", "step", rule, "--state", "s.json", "--gradient", "g.json", *options, "--proof", "p.proof"], cwd=folder,
                             text=True, capture_output=True)
        expect(f"{rule}: a proof", ran.returncode == 0, ran.stderr)
        status, said = check(folder / "p.proof")
        expect(f"{rule}: it holds", status == 0 and said.startswith("VERIFIED"), said[-300:])


def drawn_whole(folder):
    """The same of rules of whole tensors: vectors, matrices, several of them; and more work than is done."""
    draw = random.Random(5)
    for _ in range(draw_count(16)):
        rule, k = draw.choice(WHOLE), draw.choice([0, 1, 40])
        dims = [draw.randint(1, 4) for _ in range(2 if rule == "torch-muon" else draw.choice([0, 1, 2, 3]))]
        number = lambda: text_of(Q(draw.randint(-99, 99), draw.choice([1, 7, 64, 10**6])))
        tensor = lambda axes, sign: number().lstrip(sign) if not axes else [tensor(axes[1:], sign) for _ in range(axes[0])]
        state = {"theta": tensor(dims, ""), "k": k}
        if rule == "torch-muon":
            state["m"] = tensor(dims, "")
        else:
            state |= {"v": tensor(dims, "-")} if len(dims) < 2 else {"row": tensor(dims[:-1], "-"), "col": tensor(dims[:-2] + dims[-1:], "-")}
        (folder / "s.json").write_text(json.dumps(state))
        (folder / "g.json").write_text(json.dumps(tensor(dims, "")))
        options = draw.choice(([], ["--weight-decay", "1/3"], ["--adjust", "match_rms_adamw", "--no-nesterov"] if rule == "torch-muon" else ["--eps", "1/9", "--clip", "3/2"]))
        ran = subprocess.run([TOOLS / "clarke", "step", rule, "--state", "s.json", "--gradient", "g.json", "--eta", "1/10", *options, "--proof", "p.proof"], cwd=folder,
                             text=True, capture_output=True)
        expect(f"{rule} {dims}: a proof", ran.returncode == 0, ran.stderr)
        status, said = check(folder / "p.proof")
        expect(f"{rule} {dims}: it holds", status == 0 and said.startswith("VERIFIED"), said[-300:])
    lines = (ROOT / "proofs-data/steps/torch-muon.proof").read_text().splitlines()[:-1]
    for old, new, heard in (("decay decoupled", "decay coupled", "'decoupled' is expected"), ("adjust original", "adjust match_rms_adamw", "is not there"),
                            ("nesterov yes", "nesterov no", "is not there"), ("matrices 1 3 2", "matrices 1 2 3", "is not there"),
                            ("matrices 1 3 2", "matrices 3 1 2", "a matrix is expected"), ("matrices 1 3 2", "matrices 0 0 0", "a matrix is expected"),
                            ("matrices 1 3 2", "matrices 1 3 0", "no matrices have these axes"), ("matrices 1 3 2", "matrices 1 1 2", "another number of entries"),
                            ("number ns-steps 5", "number ns-steps 100", "no whole number below 100"), ("number ns-steps 5", "number ns-steps 1/2", "no whole number")):
        expect(f"{old} is there", old in lines, lines)
        (folder / "p.proof").write_text(sealed([new if line == old else line for line in lines]))
        status, said = check(folder / "p.proof")
        expect(f"{old} -> {new}", status == 1 and heard in said, said)


def divided(folder):
    """Gradients that are divided by their roots already: there is no v, and none may be stated; the root is none of the others."""
    (folder / "s.json").write_text('{"theta": [1, "1/3"]}')
    (folder / "g.json").write_text('["2/7", -5]')
    for rule in (proof.stem for proof in PROOFS if "\nv " in proof.read_text() and proof.stem not in ("torch-adadelta", *WHOLE)):
        options = ["--eta", "1/10"] + (["--alpha", "1/3", "--beta", "7"] if "inna" in rule or "dinadam" in rule else [])
        ran = subprocess.run([TOOLS / "clarke", "step", rule, "--state", "s.json", "--gradient", "g.json", "--preconditioned", *options, "--proof", "p.proof"],
                             cwd=folder, text=True, capture_output=True)
        lines = (folder / "p.proof").read_text().splitlines()[:-1]
        status, said = check(folder / "p.proof")
        expect(f"{rule}, divided", ran.returncode == 0 and status == 0 and "divided by it already" in said and "\n  v:" not in said, ran.stderr, said[-300:])
        for changed in ([line.replace("root given", "root inside") for line in lines], [more for line in lines for more in ([line, "v 0 0"] if line.startswith("before") else [line])]):
            (folder / "p.proof").write_text(sealed(changed))
            expect(f"{rule}, divided, and not", "VERIFIED" not in check(folder / "p.proof")[1])


def degenerate(folder):
    """A root that is 0, of what is not; and one rule whose step has two roots, so that gradients cannot be divided by them before."""
    def of(rule, changes):
        lines = (ROOT / f"proofs-data/steps/{rule}.proof").read_text().splitlines()[:-1]
        (folder / "p.proof").write_text(sealed([changes.get(line.split()[0], line) for line in lines if changes.get(line.split()[0]) != ""]))
        return check(folder / "p.proof")
    lines = (ROOT / "proofs-data/steps/torch-adam.proof").read_text().splitlines()[:-1]
    kept = [line for line in lines if line.split()[0] not in ("gradient", "gradients", "entries", "theta", "m", "v", "after", "before")]
    kept = ["number eps 0" if line.startswith("number eps") else line for line in kept]
    (folder / "p.proof").write_text(sealed([*kept, "entries 1", "before 0", "theta 0", "m 1", "v 0", "gradients 1", "gradient 0", "after 1", "theta 0 0", "m 0 1", "v 0 0"]))
    status, said = check(folder / "p.proof")
    expect("a root of 0 below what is not", status == 1 and "a root is not known to be above 0" in said, said)
    status, said = of("torch-adadelta", {"root": "root given", "v": ""})
    expect("adadelta, divided by one of its roots", status == 1 and "divided by more than a root of v" in said, said)


def identity(folder, text):
    """What clarke-check says of a program whose outputs are said to be 0."""
    (folder / "i.prog").write_text(text)
    (folder / "i.proof").write_text(sealed(["clarke-proof 1", "claim identity", "semantics real",
                                            f"program i.prog {hashlib.sha256(text.encode()).hexdigest()}"]))
    return check(folder / "i.proof")


def is_zero(program, draw):
    """Are the outputs 0 at drawn points? (Where a divisor is 0 there another point is drawn.)"""
    done = 0
    while done < 4:
        names = {}
        try:
            for line in program.splitlines():
                word, rest = line.split(" ", 1)
                rest = re.sub(r"\b(\d+)\b", r"Q(\1)", rest) if word != "input" else rest
                if word == "input":
                    names |= {name.strip(): Q(draw.randint(-10**6, 10**6), 10**5 + 3) for name in rest.split(",")}
                elif word == "let":
                    name, value = rest.split(" = ")
                    names[name] = eval(value, {"Q": Q}, names)
                elif any(eval(f"({rest},)", {"Q": Q}, names)):
                    return False
        except ZeroDivisionError:
            continue
        done += 1
    return True


def identities(folder):
    """Those of the papers hold, and with a number or a sign that is another they do not."""
    draw, cases, turned = random.Random(8), ROOT / "cases/papers", 0
    for proof in sorted((ROOT / "proofs-data/papers").glob("*.proof")):
        lines = proof.read_text().splitlines()
        if lines[1] != "claim identity" or "blocks" in lines[3]:
            continue
        program = "\n".join(line for line in (cases / lines[3].split()[1]).read_text().splitlines() if not line.startswith("#"))
        expect(f"{proof.name} holds", identity(folder, program)[0] == 0)
        at = program.rindex("\noutput ")
        for k in draw.sample(places := [i for i in range(at, len(program)) if program[i] in "+-"], min(len(places), draw_count(2))):
            changed = program[:k] + {"+": "-", "-": "+"}[program[k]] + program[k + 1:]
            status, said = identity(folder, changed)
            still = is_zero(changed, draw)  # as where the sign is that of a term that is 0
            expect(f"{proof.name}, a sign: {changed[at:]}", status == (0 if still else 1) and ("is not 0 for all inputs" in said) != still, status, said[:200])
            turned += not still
    expect("most signs matter", turned > 8 // ONE_IN, turned)
    for text, status, words in (("input x, y\noutput x*x - y*y - (x - y)*(x + y)", 0, "VERIFIED"),
                                ("input x, y\noutput (x*x - y*y)/(x - y) - x - y", 0, "VERIFIED"),
                                ("input x\noutput x*(x - 1)*(x - 2)*(x - 3)*(x - 4)", 1, "output 0 is not 0"),
                                ("input x, y\noutput x - x, x*y*(x - 1)*(y - 1)*(x - 2)*(y - 2)", 1, "output 1 is not 0"),
                                ("input x, y\noutput (x*y - y*x)*x*(x-1)", 0, "VERIFIED"), ("input x\noutput x - x + 1/1000000007", 1, "is not 0"),
                                ("input x, y\noutput 0/(x*y - y*x)", 1, "divides by what is 0"), ("input x, y\noutput 1/(x*y - y*x) - x", 1, ""),
                                ("input x, y\noutput x/(x*y - y*x) - x/(x*y - y*x)", 1, "divides by what is 0"),
                                ("input x, y\noutput 1/(1/(x*y - y*x))", 1, "divides by what is 0"), ("input x\noutput x - x + 1/(1/(x - x))", 1, "divides by what is 0"),
                                ("input x\noutput 1/(1/x)", 1, "is not 0"), ("input x, y\noutput x + (y - y)/((x - 1)*(x - 2))", 1, "is not 0"),
                                ("input x\noutput 1/x*x - 1", 0, "VERIFIED"), ("input x\noutput relu(x) - relu(x)", 1, "neither a sum"),
                                ("input x\noutput sqrt(x) - sqrt(x)", 1, "neither a sum"), ("input x\nlet y = exp(x)\noutput x - x", 0, "VERIFIED"),
                                ("input x[70]\noutput x[0] - x[0]", 2, "at most 64"),
                                ("input x[40]\noutput " + "*".join(f"(x[{i}]+1)" for i in range(40)), 2, "a grid of more"),
                                ("input x\n" + "".join(f"let y{i} = {'x' if i == 0 else f'y{i - 1}*y{i - 1}'}\n" for i in range(40)) + "output y39 - y39", 2, "degree above")):
        got, said = identity(folder, text + "\n")
        expect(f"{text!r}", got == status and words in said, got, said[:300])


def main():
    with tempfile.TemporaryDirectory() as name:
        for test in (forged, inside, words, drawn, drawn_whole, divided, degenerate, identities):
            test(Path(name))
    print(f"{len(PROOFS)} proofs, {len(failures)} failures")
    return len(failures) > 0 or len(PROOFS) < 27


if __name__ == "__main__":
    sys.exit(main())
