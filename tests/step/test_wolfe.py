"""clarke step torch-lbfgs --line-search strong_wolfe: where it evaluates, and each number of each step, is that of an implementation in fractions. Where that
has no root the numbers are the same; else to 15 digits. What is refused.

    test_wolfe.py TOOLS
"""
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
from lbfgs import texts  # noqa: E402
from wolfe import Nan, Wolfe  # noqa: E402

TOOLS = Path(sys.argv[1]).resolve()
sys.set_int_max_str_digits(0)
failures = []
WAYS = {"a rational root", "a root", "halfway", "over 0", "below", "above", "between", "high", "good at once", "good", "rises", "ran out", "small", "slow twice", "at an end",
        "higher", "good between", "turned"}


def expect(what, good, *more):
    if not good:
        failures.append(what)
        print("FAILED:", what, *more)


def step(folder, *options):
    return obeyed(subprocess.run([TOOLS / "clarke", "step", "torch-lbfgs", *map(str, options)], cwd=folder, text=True, capture_output=True, timeout=300))


def short(x, digits=12):
    return Q(round(x * 10**digits), 10**digits)


def kinked(draw, n):
    """A sum of |a x - b| and a little of x x."""
    rows = [[Q(draw.randint(-2, 2)) for _ in range(n)] for _ in range(n + 1)]
    at = [Q(draw.randint(-4, 4), 2) for _ in rows]
    much = draw.choice([Q(0), Q(1, 4)])

    def evaluate(x):
        sums = [sum(a * y for a, y in zip(r, x)) - b for r, b in zip(rows, at)]
        g = [sum(((s > 0) - (s < 0)) * r[i] for s, r in zip(sums, rows)) + 2 * much * x[i] for i in range(n)]
        return short(sum(map(abs, sums)) + much * sum(y * y for y in x), 30), [short(y) for y in g]
    return evaluate


def quartic(draw, n):
    """A sum of (x - b)^4 / 8 + c (x - b)^2, c of any sign, and products of neighbours."""
    b, c = [Q(draw.randint(-3, 3)) for _ in range(n)], [Q(draw.randint(-4, 6), 2) for _ in range(n)]

    def evaluate(x):
        z = [y - m for y, m in zip(x, b)]
        f = sum(y**4 / 8 + k * y * y for y, k in zip(z, c)) + sum(p * q for p, q in zip(x, x[1:])) / 2
        g = [y**3 / 2 + 2 * k * y + (x[i - 1] if i > 0 else 0) / Q(2) + (x[i + 1] if i + 1 < n else 0) / Q(2) for i, (y, k) in enumerate(zip(z, c))]
        return short(f, 30), [short(y) for y in g]
    return evaluate


def nonsense(draw, n):
    """No function's: every way is gone."""
    at = [Q(9)]

    def evaluate(x):
        at[0] += draw.choice([-1, -1, -1, Q(-1, 100), 0, 1]) * Q(draw.randint(1, 9), draw.choice([1, 8, 1000]))
        g = [Q(draw.randint(-9, 9), draw.choice([1, 2, 7])) for _ in range(n)]
        return at[0], g
    return evaluate


def line(draw, n):
    """One number's: it falls with slopes of few kinds, so that roots are rational, or divided by 0."""
    def evaluate(x):
        f = abs(x[0] - 40) if draw.random() < 0.9 else Q(draw.randint(-50, 50))
        return f, [Q(draw.choice([-1, -1, -1, 1])), *[Q(0)] * (n - 1)]
    return evaluate


def settings(draw):
    return {"lr": draw.choice([1, Q(1, 2), Q(1, 16), 5]), "max_iter": draw.choice([1, 1, 2, 3, 5]), "max_eval": draw.choice([1, 2, 4, 9, 25]),
            "history_size": draw.choice([1, 2, 100]), "tolerance_grad": draw.choice([Q(1, 10**7), Q(1, 2), 0]),
            "tolerance_change": draw.choice([Q(1, 10**9), Q(1, 10), 0, Q(1, 1000)])}


def options_of(given):
    return [w for key, value in given.items() for w in ("--" + {"lr": "eta"}.get(key, key).replace("_", "-"), str(value))]


def run_of(draw, folder, evaluate, n, given, steps):
    o = Wolfe([Q(draw.randint(-5, 5), draw.choice([1, 2])) for _ in range(n)], **given)
    (folder / "s.json").write_text(json.dumps(o.state()))
    files, told, asked = [], [], []

    def seen(x):
        loss, g = evaluate(x)
        name = f"g{len(files)}.json"
        (folder / name).write_text(json.dumps({"g": texts(g), "loss": str(loss)}))
        files.append(name)
        asked.append(list(x))
        return loss, g
    for _ in range(steps):
        del asked[:]
        count, end = o.step(seen)
        told.append((o.state() | {"asked": texts(list(asked)), "evaluations": count, "end": end}, o.exact))
    return o, told, ["--state", "s.json", "--line-search", "strong_wolfe", *[w for f in files for w in ("--gradient", f)], *options_of(given)]


def numbers(x):
    return [y for z in x for y in numbers(z)] if isinstance(x, list) else [x]


def is_same(said, told, exact):
    if exact:
        return said == told
    if said.keys() != told.keys() or any(said[key] != told[key] for key in ("k", "evaluations", "end", "prev_flat_grad", "old_dirs") if key in told):
        return False
    for key in told.keys() - {"k", "evaluations", "end"}:
        mine, its = numbers(told[key]), numbers(said[key])
        if len(mine) != len(its) or any(abs(Q(x) - Q(y)) > abs(Q(x)) / 10**15 + Q(1, 10**30) for x, y in zip(mine, its)):
            return False
    return True


def drawn(folder):
    draw, ways, ends, undecided, same, count = random.Random(11), set(), set(), 0, {True: 0, False: 0}, draw_count(150)
    for i in range(count):
        n, given = draw.randint(1, 3), settings(draw)
        try:
            o, told, options = run_of(draw, folder, draw.choice([kinked, quartic, nonsense, nonsense, line])(draw, n), n, given, draw.randint(1, 2))
        except Nan:
            continue
        ran = step(folder, *options, "--json")
        if ran.returncode == 3 or "does not tell" in ran.stdout + ran.stderr:
            undecided += 1
            continue
        expect(f"status {i}", ran.returncode == 0, ran.returncode, ran.stderr, ran.stdout[:300], given)
        if ran.returncode != 0:
            continue
        said = json.loads(ran.stdout)["steps"]
        expect(f"as many steps {i}", len(said) == len(told))
        for a, (b, exact) in zip(said, told):
            same[exact] += 1
            expect(f"step {i}", is_same(a, b, exact), given, exact, *[(key, a.get(key), b.get(key)) for key in b if a.get(key) != b.get(key)][:2])
            ends.add(b["end"])
        ways |= o.ways
    expect("all ways were gone", ways == WAYS or ONE_IN > 1, WAYS - ways)
    expect("all ends were seen", len(ends) == 7 if ONE_IN == 1 else len(ends) > 2, ends)
    expect("few are undecided", undecided <= count // 20, undecided)
    expect("with roots and without", min(same.values()) > count // 5, same)


def write(folder, name, g, loss):
    (folder / name).write_text(json.dumps({"g": g} | ({"loss": loss} if loss is not None else {})))


def failing(folder):
    """Lengths that are no numbers, and what is refused; where the next evaluation is needed."""
    (folder / "s.json").write_text(json.dumps({"theta": [3]}))
    write(folder, "a.json", [-1], 2)
    write(folder, "bare.json", [-1], None)
    search = ["--state", "s.json", "--eta", 1, "--line-search", "strong_wolfe"]

    def heard(*options, first=search):
        ran = step(folder, *first, *options)
        expect(f"{options} is refused", ran.returncode == 2, ran.returncode, ran.stdout)
        return ran.stderr
    told = heard("--gradient", "a.json")
    expect("where next", "evaluates once more than there are --gradient files, at 4;" in told, told)
    expect("no loss", "evaluation 1 has no 'loss'" in heard("--gradient", "bare.json"))
    expect("no loss later", "evaluation 2 has no 'loss'" in heard("--gradient", "a.json", "--gradient", "bare.json"))
    expect("no proof", "no proof yet" in heard("--gradient", "a.json", "--gradient", "a.json", "--proof", "p"))
    expect("nor a file of it", not (folder / "p").exists())
    expect("max-eval", "needs --max-eval from 1 on" in heard("--gradient", "a.json", "--max-eval", 0))
    expect("lr 0", "two equal lengths" in heard("--gradient", "a.json", "--gradient", "a.json", first=["--state", "s.json", "--eta", 0, "--line-search", "strong_wolfe"]))
    expect("a word", "'armijo' is neither none nor strong_wolfe" in heard("--gradient", "a.json", "--line-search", "armijo"))
    ran = subprocess.run([TOOLS / "clarke", "step", "torch-sgd", "--state", "s.json", "--gradient", "a.json", "--eta", "1", "--line-search", "strong_wolfe"], cwd=folder, text=True,
                         capture_output=True)
    expect("another rule", ran.returncode == 2 and "torch-sgd has no --line-search" in ran.stderr, ran.stderr)
    ran = step(folder, "--state", "s.json", "--eta", 1, "--line-search", "none", "--max-iter", 1, "--gradient", "a.json", "--json")
    expect("none is none", "asked" not in json.loads(ran.stdout)["steps"][0])


def main():
    with tempfile.TemporaryDirectory() as name:
        drawn(Path(name))
        failing(Path(name))
    print(f"{len(failures)} failures")
    return bool(failures)


sys.exit(main())
