"""clarke step torch-lbfgs: each number of each step is that of an implementation in fractions, to the last digit; how steps end; what is refused; proofs.

    test_lbfgs.py TOOLS
"""
import hashlib
import json
import random
import subprocess
import sys
import tempfile
from fractions import Fraction as Q
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from draw import ONE_IN, draw_count  # noqa: E402
sys.path.append(str(Path(__file__).resolve().parents[1] / "tools"))
from schema import obeyed  # noqa: E402
from lbfgs import Lbfgs, dot, texts  # noqa: E402

TOOLS = Path(sys.argv[1]).resolve()
sys.set_int_max_str_digits(0)
failures = []


def expect(what, good, *more):
    if not good:
        failures.append(what)
        print("FAILED:", what, *more)


def step(folder, *options, status=0):
    ran = obeyed(subprocess.run([TOOLS / "clarke", "step", "torch-lbfgs", *map(str, options)], cwd=folder, text=True, capture_output=True, timeout=300))
    expect(f"status of {options}", ran.returncode == status, ran.returncode, ran.stderr[-300:])
    return ran


def check(path):
    done = subprocess.run([TOOLS / "clarke-check", path], text=True, capture_output=True, timeout=300)
    return done.returncode, done.stdout + done.stderr


def short(x):
    return Q(round(x * 10**12), 10**12)


def quadratic(draw, n):
    """x A x / 2 - b x, to twelve digits: A positive definite, or not."""
    rows = [[Q(draw.randint(-3, 3)) for _ in range(n)] for _ in range(n)]
    a = [[dot(r, s) / 4 + (Q(1, 2) if i == j else 0) - (2 if i == j and draw.random() < 0.1 else 0) for j, s in enumerate(rows)] for i, r in enumerate(rows)]
    b = [Q(draw.randint(-4, 4), 3) for _ in range(n)]

    def evaluate(x):
        of_x = [dot(r, x) for r in a]
        return short(dot(x, of_x) / 2 - dot(b, x)), [short(y - z) for y, z in zip(of_x, b)]
    return evaluate


def nonsense(draw, n):
    """No function's: y s is of any sign; sometimes nothing, or almost, changes."""
    last = []

    def evaluate(x):
        g = [Q(draw.randint(-9, 9), draw.choice([1, 2, 7])) for _ in range(n)]
        if draw.random() < 0.1:
            g = [Q(draw.choice([0, 1, -1]), 10**8) for _ in range(n)]
        if last and draw.random() < 0.2:
            g = list(last[-1])
        last.append(g)
        return Q(draw.choice([1, 2, 3, draw.randint(-10**6, 10**6)]), 1000), g
    return evaluate


def options_of(o, given):
    return [w for key, value in given.items() if value is not None for w in ("--" + {"lr": "eta"}.get(key, key).replace("_", "-"), str(value))]


def run_of(draw, folder, evaluate, n, given, steps):
    """The steps in fractions, and the files for the same."""
    o = Lbfgs([Q(draw.randint(-5, 5), draw.choice([1, 3])) for _ in range(n)], **given)
    if steps > 1 and draw.random() < 0.3:
        o.step(evaluate)  # so that a state is given
    (folder / "state.json").write_text(json.dumps(o.state()))
    files, told = [], []

    def seen(x):
        loss, g = evaluate(x)
        name = f"g{len(files)}.json"
        (folder / name).write_text(json.dumps({"g": texts(g), "loss": str(loss)}))
        files.append(name)
        return loss, g
    for _ in range(steps):
        count, end = o.step(seen)
        told.append(o.state() | {"evaluations": count, "end": end})
    return o, told, ["--state", "state.json", *[w for f in files for w in ("--gradient", f)], *options_of(o, given)]


def settings(draw):
    return {"lr": draw.choice([1, Q(1, 2), Q(1, 3)]), "max_iter": draw.choice([1, 1, 2, 3, 4]), "max_eval": draw.choice([None, None, 1, 2, 3]),
            "history_size": draw.choice([1, 2, 3, 100]), "tolerance_grad": draw.choice([Q(1, 10**7), Q(1, 2), 0, -1]),
            "tolerance_change": draw.choice([Q(1, 10**9), Q(1, 10), 0, -1, Q(1, 1000)])}


def drawn(folder):
    """Exactly equal, state by state; and proofs of them hold."""
    draw, ends, dropped, path = random.Random(36), set(), 0, folder / "a.proof"
    for i in range(draw_count(60)):
        n, given = draw.randint(1, 4), settings(draw)
        evaluate = draw.choice([quadratic, nonsense])(draw, n)
        o, told, options = run_of(draw, folder, evaluate, n, given, draw.randint(1, {1: 5, 2: 2}.get(given["max_iter"], 1)))
        said = json.loads(step(folder, *options, "--json", "--proof", path).stdout)
        expect(f"steps {i}", said["steps"] == told, given, [a for a in zip(said["steps"], told) if a[0] != a[1]][:1])
        ends |= {t["end"] for t in told}
        dropped += o.k > len(o.pairs) + 1
        if i % 4 == 0:
            status, heard = check(path)
            expect(f"proof {i} holds", status == 0, status, heard[-300:])
    expect("all ends were seen", len(ends) >= (6 if ONE_IN == 1 else 3), ends)
    expect("pairs were dropped, or not made", dropped > 5, dropped)


def edges(folder):
    """Where one thing is equal to another, or off by 10^-20: y s and 1e-10, gradients, slopes, moves and losses and their tolerances."""
    off, path = Q(1, 10**20), folder / "a.proof"
    cases = [([("1", 1), (1 - Q(1, 10**10) - x, 1)], {"tolerance_grad": 0, "tolerance_change": -1, "max_iter": 1}) for x in (-off, 0, off)]
    cases += [([(1 + x, 1), (1, 2)], {"tolerance_grad": 1, "max_iter": 2, "max_eval": 9, "tolerance_change": 0}) for x in (-off, 0, off)]
    cases += [([(1, 1), (1 + x, 2)], {"tolerance_grad": 1 - off / 2, "max_iter": 2, "max_eval": 9, "tolerance_change": 0}) for x in (-off, 0, off)]
    cases += [([("1/2", 1), ("1/2", 2)], {"tolerance_change": Q(1, 4) + x, "max_iter": 2, "max_eval": 9}) for x in (-off, 0, off)]  # the slope is -1/4
    cases += [([(4, 1), (4, 9)], {"lr": Q(1, 2) + x, "tolerance_change": Q(1, 2), "max_iter": 2, "max_eval": 9}) for x in (-off, 0, off)]  # the move is eta
    cases += [([(4, 1), (4, Q(3, 2) + x)], {"tolerance_change": Q(1, 2), "max_iter": 2, "max_eval": 9}) for x in (-off, 0, off)]  # the loss moves by 1/2
    for evaluations, settings in cases:
        given = iter([(Q(loss), [Q(g)]) for g, loss in evaluations])
        o, taken, told = Lbfgs([3], **settings), [], []

        def evaluate(x):
            taken.append(next(given))
            return taken[-1]
        while len(taken) < (2 if settings["max_iter"] == 1 else 1):
            count, end = o.step(evaluate)
            told.append(o.state() | {"evaluations": count, "end": end})
        for i, (loss, g) in enumerate(taken):
            (folder / f"g{i}.json").write_text(json.dumps({"g": texts(g), "loss": str(loss)}))
        (folder / "s.json").write_text(json.dumps({"theta": [3]}))
        said = json.loads(step(folder, "--state", "s.json", *[w for i in range(len(taken)) for w in ("--gradient", f"g{i}.json")], *options_of(o, {"lr": 1} | settings),
                               "--json", "--proof", path).stdout)
        expect(f"at the edge {settings}", said["steps"] == told, said["steps"], told)
        status, heard = check(path)
        expect(f"the proof at the edge {settings}", status == 0, heard[-300:])


# ---- Proofs

def sealed(lines):
    body = "\n".join(lines) + "\n"
    return body + "end " + hashlib.sha256(body.encode()).hexdigest() + "\n"


class Wrong(Exception):
    pass


def replayed(lines):
    """Does such a proof hold? By the fractions. None: it cannot be read."""
    lines = [line.split() for line in lines]
    numbers = {w[1].replace("-", "_"): Q(w[2]) for w in lines if w[0] == "number"}
    numbers["lr"] = numbers.pop("eta")
    for count in "max_iter", "max_eval", "history_size":
        if numbers[count].denominator != 1:
            return False
        numbers[count] = int(numbers[count])
    at = next(i for i, w in enumerate(lines) if w[0] == "before")
    rest = iter(lines[at:])

    def row(word):
        w = next(rest)
        if w[0] != word:
            raise Wrong(word)
        return [x if x == "unknown" else Q(x) for x in w[1:]]

    k = int(row("before")[0])
    o = Lbfgs(row("theta"), **numbers)
    o.k = k
    if k > 0:
        o.d, (o.t,), (o.scale,), o.previous, (pairs,) = row("d"), row("t"), row("H_diag"), row("prev_flat_grad"), row("pairs")
        dirs, steps = [row("old_dirs") for _ in range(int(pairs))], [row("old_stps") for _ in range(int(pairs))]
        o.pairs = list(zip(dirs, steps, row("ro")))
    while True:
        w = next(rest)
        if w[0] != "step":
            break

        def evaluate(x):
            g, (loss,) = row("gradient"), row("loss")
            return loss, g
        o.step(evaluate)
    told = [[k] for k in [o.k]] + [o.theta] + ([] if o.k == 0 else [o.d, [o.t], [o.scale], o.previous, [Q(len(o.pairs))], *[p[0] for p in o.pairs],
                                                                     *[p[1] for p in o.pairs], [p[2] for p in o.pairs]])
    said = [[Q(x) for x in w[1:]] for w in [w, *rest]]
    if len(told) != len(said):
        return False
    for mine, its in zip(told, said):
        if its != [Q(x) for x in mine] and (len(its) != 2 * len(mine) or any(not low <= x <= high for x, low, high in zip(mine, its[::2], its[1::2]))):
            return False
    return True


def change(draw, line):
    words = line.split()
    places = [i for i, w in enumerate(words) if i > 0 and w.lstrip("-")[:1].isdigit()]
    if not places or words[0] in ("clarke-proof", "entries"):
        return None
    i = draw.choice(places)
    old = Q(words[i])
    words[i] = str(draw.choice([old + 1, old - 1] if words[0] in ("before", "after", "pairs") else [old + 1, old - 1, -old, old + Q(1, 7), 2 * old, old * (1 + Q(1, 10**30)), Q(0)]))
    return " ".join(words)


def forged(folder):
    """A proof of which one number, or line, is another holds where the fractions say so, and only there."""
    draw, path, held, refused = random.Random(7), folder / "a.proof", 0, 0
    for _ in range(draw_count(25)):
        n, given = draw.randint(1, 3), settings(draw)
        _, _, options = run_of(draw, folder, draw.choice([quadratic, nonsense])(draw, n), n, given, draw.randint(1, {1: 4, 2: 2}.get(given["max_iter"], 1)))
        step(folder, *options, "--proof", path)
        lines = path.read_text().splitlines()[:-1]
        expect("the fractions hold it", replayed(lines) is True)
        for _ in range(8):
            i = draw.randrange(len(lines))
            kind = draw.randrange(8)
            new = [change(draw, lines[i])] if kind > 1 else [] if kind == 1 else [lines[i]] * 2
            if new == [None] or new == [lines[i]]:
                continue
            changed = lines[:i] + new + lines[i + 1:]
            try:
                holds = kind > 1 and replayed(changed)
            except (Wrong, StopIteration, TypeError, ValueError, ZeroDivisionError, IndexError):
                holds = False
            if lines[i].startswith("number max-") or lines[i].startswith("number history") and new and Q(new[0].split()[2]) < 1:
                holds = holds and Q(new[0].split()[2]) >= (0 if "eval" in lines[i] else 1)
            if lines[i].startswith(("number eta", "ro")) and any(w.startswith("-") or w == "0" and lines[i][0] == "r" for w in " ".join(new).split()):
                holds = False
            path.write_text(sealed(changed))
            status, heard = check(path)
            expect(f"{lines[i][:80]} -> {new}", (status == 0) == holds and ("VERIFIED" in heard) == holds, status, holds, heard[-200:])
            held, refused = held + holds, refused + (not holds)
    expect("most are refused, some mean nothing", refused > 60 // ONE_IN and held > 3 // ONE_IN, refused, held)


# ---- What has too many digits; what is refused

def enclosed(folder):
    """Beyond the limit of bits numbers are enclosed; these hold the fractions, and the proof holds."""
    draw, path, seen = random.Random(3), folder / "a.proof", 0
    for _ in range(draw_count(6)):
        _, told, options = run_of(draw, folder, quadratic(draw, 3), 3, {"lr": 1, "max_iter": 4, "tolerance_change": 0}, 1)
        said = json.loads(step(folder, *options, "--json", "--limit", "bits=600", "--proof", path).stdout)
        for mine, its in zip(told[-1]["theta"] + told[-1]["d"], said["theta"] + said["d"]):
            seen += "/" not in its
            expect("the enclosure", abs(Q(mine) - Q(its)) < Q(1, 10**12) * (1 + abs(Q(mine))), float(Q(mine)), its)
        status, heard = check(path)
        expect("the proof of an enclosure", status == 0, status, heard[-300:])
        (folder / "after.json").write_text(json.dumps({"theta": told[-1]["theta"]}))
        step(folder, *options, "--limit", "bits=600", "--against", "after.json", "--within", "1e-30")
        step(folder, *options, "--limit", "bits=600", "--against", "after.json", status=0 if said["theta"] == told[-1]["theta"] else 3)
    expect("some are enclosed", seen > 5, seen)


STATE = {"theta": [1, 2], "k": 2, "d": [1, 0], "t": "1/2", "H_diag": 1, "prev_flat_grad": [0, 1], "old_dirs": [[1, 1]], "old_stps": [[1, 2]], "ro": [3]}
BAD = [
    ({"d": None}, "'d' is missing; torch-lbfgs has it after 2 iterations"), ({"t": None}, "'t' is missing"), ({"ro": None}, "'ro' is missing"),
    ({"d": [1]}, "'d' has 1 entries, it should have 2"), ({"t": [1, 2]}, "'t' has 2 entries, it should have 1"), ({"old_dirs": [[1, 1], [1, 1]]}, "'old_dirs' has 4 entries, it should have 2"),
    ({"ro": [1, 1]}, "'old_dirs' has 2 entries, it should have 4"), ({"ro": [0]}, "entry 0 of 'ro' is not above 0"), ({"m": [1, 1]}, "torch-lbfgs has no 'm'"),
    ({"k": "1/2"}, "'k' is no whole number"), ({"k": 0}, "there is 'theta' alone"), ({"theta": None}, "'theta' is missing"), ({"theta": []}, "'theta' is missing, or has no entries"),
    ({"H_diag": "nan"}, "is no finite number"),
]
OPTIONS = [
    ("--max-iter 0", "--max-iter is no whole number from 1"), ("--max-eval 1/2", "--max-eval is no whole number from 0"), ("--history-size 0", "--history-size is no whole number from 1"),
    ("--momentum 1/2", "torch-lbfgs has no momentum"), ("--weight-decay 1", "torch-lbfgs has no weight-decay"), ("--nesterov", "no --nesterov"), ("--preconditioned", "no --preconditioned"),
    ("--decay decoupled", "no --eps-place, no --decay"), ("--eps-place inside", "no --eps-place"), ("--eta -1", "--eta is below 0"),
]


def refused(folder):
    (folder / "g.json").write_text(json.dumps({"g": [1, 1], "loss": 3}))
    (folder / "wide.json").write_text("[1, 1, 1]")
    (folder / "bare.json").write_text("[5, 2]")
    (folder / "two.json").write_text(json.dumps({"g": [1, 1], "loss": [3, 4]}))

    def told(state, *options):
        (folder / "s.json").write_text(json.dumps({key: value for key, value in state.items() if value is not None}))
        return step(folder, "--state", "s.json", "--eta", "1", *options, status=2).stderr
    for changed, said in BAD:
        heard = told(STATE | changed, "--gradient", "g.json", "--max-iter", 1)
        expect(f"{changed}", said in heard, heard)
    for options, said in OPTIONS:
        words = options.split()
        heard = step(folder, "--state", "s.json", *([] if "--eta" in words else ["--eta", "1"]), "--gradient", "g.json", *words, status=2).stderr
        expect(options, said in heard, heard)
    expect("history", "more than --history-size" in told(STATE | {"ro": [1, 1]}, "--gradient", "g.json", "--history-size", 1), "")
    expect("too few files", "evaluates once more than there are --gradient files" in told(STATE, "--gradient", "g.json"), "")
    expect("another shape", "the gradient has 3 entries, theta has 2" in told(STATE, "--gradient", "wide.json"), "")
    expect("two losses", "'loss' has 2 entries" in told(STATE, "--gradient", "two.json"), "")
    files = ["--gradient", "bare.json", "--gradient", "g.json", "--gradient", "bare.json"]
    expect("no loss", "'loss'" in told({"theta": [1, 2]}, *files), "")
    (folder / "s.json").write_text(json.dumps({"theta": [1, 2]}))
    step(folder, "--state", "s.json", "--eta", "1", *files, "--tolerance-change", 0, "--max-iter", 3)  # then none is needed
    (folder / "after.json").write_text(json.dumps({"theta": [0, 0], "d": [1, 2]}))
    ran = step(folder, "--state", "s.json", "--eta", "1", "--gradient", "g.json", "--max-iter", 1, "--against", "after.json", status=1)
    expect("beside another", "No: after.json" in ran.stdout and "entry 0 of theta is 0, by the rule 1/2" in ran.stdout, ran.stdout)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        drawn(folder)
        edges(folder)
        forged(folder)
        enclosed(folder)
        refused(folder)
    print(f"{len(failures)} failures")
    return bool(failures)


sys.exit(main())
