"""clarke step: every rule at numbers that are known, exact identities between rules at drawn numbers, files of all kinds, what is refused.

    test_step.py TOOLS
"""
import json
import random
import struct
import subprocess
import sys
import tempfile
from fractions import Fraction as Q
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from draw import draw_count  # noqa: E402
sys.path.append(str(Path(__file__).resolve().parents[1] / "tools"))
from schema import obeyed  # noqa: E402

CLARKE = Path(sys.argv[1]).resolve() / "clarke"
failures = []


def expect(what, good, *more):
    if not good:
        failures.append(what)
        print("FAILED:", what, *more)


def step(folder, *options, status=0):
    ran = obeyed(subprocess.run([CLARKE, "step", *map(str, options)], cwd=folder, text=True, capture_output=True, timeout=120))
    expect(f"status of step {options}", ran.returncode == status, ran.returncode, ran.stderr)
    return ran


def steps(folder, rule, gradients, *options, state=None, status=0):
    (folder / "state.json").write_text(json.dumps(state if state is not None else {"theta": 1}))
    files = []
    for i, g in enumerate(gradients):
        (folder / f"g{i}.json").write_text(json.dumps(g))
        files += ["--gradient", f"g{i}.json"]
    ran = step(folder, rule, "--state", "state.json", *files, *options, "--json", status=status)
    return json.loads(ran.stdout)["steps"] if ran.stdout else []


def thetas(*args, **options):
    return [s["theta"] for s in steps(*args, **options)]


G = ("1", "-1/2", "1/4")
INNAPROP = "alpha beta gamma".split()


def hypers(**given):
    return [word for name, value in given.items() for word in ("--" + name.replace("_", "-"), value)]


# rule, options, theta after each step, exactly.
EXACT = [
    ("sgd", dict(eta="1/10"), "9/10 19/20 37/40"),
    ("momentum", dict(eta="1/10", momentum="0.9"), "99/100 493/500 9799/10000"),
    ("torch-sgd", dict(eta="1/10", momentum="0.9"), "9/10 43/50 799/1000"),
    ("torch-sgd", dict(eta="1/10", momentum="0.9", dampening="0.9"), "9/10 163/200 92/125"),
    ("torch-sgd", dict(eta="1/10"), "9/10 19/20 37/40"),
    ("inna", dict(alpha="1/2", beta="1/10", gamma="1/20"), "199/200 7961/8000 317679/320000"),
    ("inna", dict(alpha="2", beta="2", gamma="1/10"), "4/5 93/100 889/1000"),
    ("inna", dict(alpha="1/10", beta="9/10", gamma="1/10"), "91/100 9459/10000 918941/1000000"),
    ("innaprop --preconditioned", dict(alpha="2", beta="2", gamma="1/10"), "4/5 93/100 889/1000"),
    ("innaprop-released --preconditioned", dict(alpha="1/10", beta="9/10", gamma="1/10"), "91/100 9459/10000 918941/1000000"),
    ("ema", dict(momentum="3/4"), "1 5/8 17/32"),
    ("torch-rprop", dict(eta="1/10"), "9/10 9/10 17/20"),  # half of it where the sign changes, and no step
    ("torch-rprop", dict(eta="1/10", eta_minus="1/3", size_min="1/5"), "4/5 4/5 3/5"),  # from the start it is in its bounds
    ("torch-adamax", dict(eta="1/10", momentum="1/2", sigma="1/2", eps="0"), "9/10 9/10 59/70"),
    ("torch-adamax", dict(eta="1/10", momentum="0", sigma="3/4", eps="1/4"), "23/25 73/75 211/225"),
    ("torch-asgd", dict(eta="1/10", lambd="0"), "9/10 19/20 37/40"), ("torch-asgd", dict(eta="1/10", lambd="2", alpha="0"), "7/10 61/100 463/1000"),
    ("torch-radam", dict(eta="1/10", momentum="1/2", sigma="1/2"), "9/10 9/10 31/35"),  # never rectified
    ("dinadam --preconditioned", dict(alpha="1", beta="1/2", eta="1/10"), "52/55 586/605 6344/6655"),
    ("dinadam-printed --preconditioned", dict(alpha="1", beta="1/2", eta="1/10"), "23/22 493/484 10949/10648"),
]
# To five digits.
ADAM = dict(eta="1/10", momentum="0.9", sigma="0.999")
DIGITS = [
    ("rmsprop", dict(eta="1/10", sigma="0.9", momentum="0.5"), ".9 .90199 .87568"),
    ("torch-rmsprop", dict(eta="1/10", sigma="0.9", momentum="0.5"), ".68377 .67310 .59230"),
    ("adam", ADAM, ".68377 .57059 .40207"), ("torch-adam", ADAM, ".9 .87337 .83932"), ("adam-corrected", ADAM, ".9 .87337 .83932"),
    ("nadam", ADAM, "-.88158 -.15450 -.61013"), ("torch-nadam", ADAM, ".89435 .93547 .90826"),
    ("torch-adadelta", dict(eta="1", eps="1/10000"), ".96839 .98923 .97771"),
]


def known(folder):
    for rule, given, values in EXACT:
        got = thetas(folder, *rule.split(" ")[:1], G, *rule.split(" ")[1:], *hypers(**given))
        expect(f"{rule} {given}", got == values.split(), got)
    for rule, given, values in DIGITS:
        got = thetas(folder, rule, G, *hypers(**given))
        expect(f"{rule}", all(abs(float(Q(a) if "/" in a else a) - float(b)) < 5.1e-6 for a, b in zip(got, values.split())), got)
    # psi beside theta
    for a, b, psi in (("2", "2", "-3 -297/100 -2961/1000"), ("1/10", "9/10", "91/100 9009/10000 896441/1000000")):
        found = steps(folder, "inna", G, *hypers(alpha=a, beta=b, gamma="1/10"))
        expect(f"psi at {a}, {b}", [s["psi"] for s in found] == psi.split(), found)
    # NAG: J = theta^2 / 2, its gradient at theta + mu m
    expect("nag", thetas(folder, "nag", ("1", "7/8", "297/400"), "--eta", "1/10") == ["9/10", "63/80", "2673/4000"])
    # decay that psi carries
    got = thetas(folder, "innaprop", ["0"], *hypers(alpha="2", beta="2", gamma="1/100", weight_decay="1/100"))
    expect("decay", got == ["1999803/2000000"], got)
    got = thetas(folder, "adamw", ["0"], *hypers(eta="1/100", weight_decay="1/100"))
    expect("decoupled", got == ["9999/10000"], got)
    got = thetas(folder, "torch-sgd", ["0"], *hypers(eta="1/100", weight_decay="1/100"), "--decay", "coupled")
    expect("coupled", got == ["9999/10000"], got)
    # eps inside and outside at v = 0: nothing to divide 0 by; a root that is a square is exact
    got = thetas(folder, "adagrad", ["3"], *hypers(eta="1/10", eps="7"))
    expect("eps inside", got == ["37/40"], got)
    got = thetas(folder, "adagrad", ["3"], *hypers(eta="1/10", eps="7"), "--eps-place", "outside")
    expect("eps outside", got == ["97/100"], got)
    for rule in ("tensorflow-adam", "torch-sparseadam"):
        got = thetas(folder, rule, ["1"], *hypers(eta="1/10", sigma="3/4", momentum="0", eps="1/2"))
        expect(rule, got == ["19/20"], got)
    ran = step(folder, "torch-sparseadam", "--state", "state.json", "--gradient", "g0.json", *hypers(eta="1/10", weight_decay="1/2"), status=2)
    expect("a decay that it has not", "weight-decay" in ran.stderr, ran.stderr)


def recursion(theta, gradients, a, b, g):
    """(4.11), with gamma^2: theta_{k+1} from theta_k, theta_{k-1} and two gradients; theta_1 = theta_0 - g b ghat_0."""
    out, before = [theta - g * b * gradients[0]], theta
    for last, now in zip(gradients, gradients[1:]):
        out.append(2 * out[-1] - before - g * a * (out[-1] - before) - g * b * (now - last) - g * g * last)
        before = out[-2]
    return out


def identities(folder):
    rng = random.Random(4)
    for _ in range(draw_count(8)):
        a, b, g = (Q(rng.randint(1, 9), rng.randint(2, 9)) for _ in range(3))
        g = min(g, b / 2)
        gradients = [Q(rng.randint(-5, 5), rng.randint(1, 4)) for _ in range(4)]
        given = hypers(alpha=a, beta=b, gamma=g)
        texts = [str(x) for x in gradients]
        inna = thetas(folder, "inna", texts, *given)
        expect("INNA is (4.11)", inna == [str(x) for x in recursion(Q(1), gradients, a, b, g)], inna)
        expect("INNAprop is INNA of ghat", thetas(folder, "innaprop", texts, *given, "--preconditioned") == inna)
        # a b = 1: RMSprop with step g b
        sgd = thetas(folder, "sgd", texts, "--eta", g * b)
        expect("a b = 1", thetas(folder, "inna", texts, *hypers(alpha=1 / b, beta=b, gamma=g)) == sgd)


def files(folder):
    """The same step from JSON, npz and safetensors, in vectors."""
    theta, grad = (1.0, -0.5, 3.0), (0.25, 4.0, -1.0)

    def safetensors(name, values):
        data = struct.pack(f"<{len(values)}d", *values)
        header = json.dumps({name: {"dtype": "F64", "shape": [len(values)], "data_offsets": [0, len(data)]}}).encode()
        return struct.pack("<Q", len(header)) + header + data

    (folder / "s.safetensors").write_bytes(safetensors("theta", theta))
    (folder / "g.safetensors").write_bytes(safetensors("g", grad))
    (folder / "s.json").write_text(json.dumps({"theta": list(theta), "k": 0}))
    (folder / "g.json").write_text(json.dumps(list(grad)))
    (folder / "after.json").write_text(json.dumps({"theta": ["7/8", -2.5, 3.5]}))
    for s in ("s.safetensors", "s.json"):
        for g in ("g.safetensors", "g.json"):
            ran = step(folder, "sgd", "--state", s, "--gradient", g, "--eta", "1/2", "--json", "--against", "after.json")
            found = json.loads(ran.stdout)
            expect(f"{s}, {g}", found["theta"] == ["7/8", "-5/2", "7/2"] and found["agrees"] is True, found)
    (folder / "after.json").write_text(json.dumps({"theta": [0.875, -2.5, 3.500001]}))
    ran = step(folder, "sgd", "--state", "s.json", "--gradient", "g.json", "--eta", "1/2", "--against", "after.json", status=1)
    expect("the tampered entry", "not the rule's: entry 2 of theta is 3500001/1000000, by the rule 7/2" in ran.stdout, ran.stdout)
    step(folder, "sgd", "--state", "s.json", "--gradient", "g.json", "--eta", "1/2", "--against", "after.json", "--within", "1e-5")


def going_on(folder):
    """Two steps at once, or the second from the first one's state."""
    for rule, given in (("torch-adam", dict(eta="1/10")), ("torch-nadam", dict(eta="1/10")), ("torch-sgd", dict(eta="1/10", momentum="1/2")),
                        ("inna", dict(alpha="1", beta="2", gamma="1/10")), ("dinadam", dict(alpha="1", beta="1/2", eta="1/10", eps="0"))):
        exact = rule in ("torch-sgd", "inna")
        both = steps(folder, rule, G[:2], *hypers(**given))
        one = steps(folder, rule, G[:1], *hypers(**given))[0]
        two = steps(folder, rule, G[1:2], *hypers(**given), state=one)[0]
        same = both[1]["theta"] == two["theta"] if exact else abs(float(Q(both[1]["theta"])) - float(Q(two["theta"]))) < 1e-12
        expect(f"{rule} goes on", same and two["k"] == 2, both[1], two)


def refusals(folder):
    for name, text in (("s.json", '{"theta": [1, 2]}'), ("late.json", '{"theta": 1, "k": 3}'), ("odd.json", '{"theta": 1, "psi": 2}'),
                       ("v.json", '{"theta": 1, "k": 1, "m": 0, "v": -1}'), ("m.json", '{"theta": [1, 2], "m": 1, "k": 1, "v": [1, 1]}'),
                       ("none.json", '{"k": 1}'), ("nan.json", '{"theta": "nan"}'), ("k.json", '{"theta": 1, "k": 1.5}'), ("g.json", "[1, 2]"),
                       ("one.json", "1"), ("cut.json", '{"theta": '), ("theta.json", '{"theta": 1}'), ("other.json", '{"x": 1}'),
                       ("zero.json", '{"theta": 1, "v": 0}')):
        (folder / name).write_text(text)
    adam = ("torch-adam", "--eta", "1/10", "--gradient")
    wrong = [(("list.of",), "--state FILE and --gradient FILE"), ((), "a rule is needed"),
             (("nobody", "--state", "s.json", "--gradient", "g.json"), "there is no rule 'nobody'"),
             (("sgd", "--state", "s.json", "--gradient", "g.json"), "sgd needs --eta"),
             (("sgd", "--state", "s.json", "--gradient", "g.json", "--eta", "1", "--sigma", "0.9"), "sgd has no sigma"),
             (("inna", "--state", "s.json", "--gradient", "g.json", "--eta", "1", "--alpha", "1"), "inna needs --beta"),
             (("innaprop", "--state", "s.json", "--gradient", "g.json", "--eta", "1", "--alpha", "1", "--beta", "1/2"), "needs beta > gamma"),
             (("inna", "--state", "s.json", "--gradient", "g.json", "--eta", "1", "--alpha", "1", "--beta", "0"), "divides by beta"),
             (("sgd", "--state", "s.json", "--gradient", "g.json", "--eta", "x"), "--eta: 'x' is no number"),
             (("sgd", "--state", "s.json", "--gradient", "g.json", "--eta", "-1"), "--eta is below 0"),
             (("sgd", "--state", "s.json", "--gradient", "g.json", "--eta", "1", "--gamma", "1"), "one: the step size"),
             (("sgd", "--state", "s.json", "--gradient", "g.json", "--eta", "1", "--nesterov"), "no --nesterov"),
             ((*adam, "one.json", "--state", "s.json"), "the gradient has 1 entries, theta has 2"),
             ((*adam, "one.json", "--state", "late.json"), "'m' is missing"), ((*adam, "one.json", "--state", "odd.json"), "no 'psi' in its state"),
             ((*adam, "one.json", "--state", "v.json"), "entry 0 of 'v' is below 0"), ((*adam, "g.json", "--state", "m.json"), "'m' has 1 entries"),
             ((*adam, "one.json", "--state", "none.json"), "'theta' is missing"), ((*adam, "one.json", "--state", "nan.json"), "no finite number"),
             ((*adam, "one.json", "--state", "k.json"), "'k' is no whole number"), ((*adam, "one.json", "--state", "cut.json"), "no JSON"),
             ((*adam, "one.json", "--state", "gone.json"), "gone.json"), ((*adam, "one.json", "--state", "s.txt"), "expected a .json"),
             ((*adam, "other.json", "--state", "theta.json"), "no 'g'"), ((*adam, "one.json", "--state", "theta.json", "--momentum", "1"), "not below 1"),
             ((*adam, "one.json", "--state", "theta.json", "--eps-place", "beside"), "neither inside nor outside"),
             ((*adam, "one.json", "--state", "theta.json", "--within", "1"), "goes with --against")]
    for options, message in wrong:
        ran = step(folder, *options, status=2)
        expect(f"message of {options}", message in ran.stderr and ran.stdout == "", ran.stderr)
    (folder / "tiny.json").write_text('"1/3"')
    ran = step(folder, "innaprop", "--state", "zero.json", "--gradient", "tiny.json", "--eta", "1/10", "--alpha", "1", "--beta", "1", "--sigma", "0",
               "--eps", "0")
    expect("a square's root", "theta  9/10" in ran.stdout, ran.stdout)


def rules(folder):
    named = [r["name"] for r in json.loads(step(folder, "list", "--json").stdout)["rules"]]
    tested = {r.split(" ")[0] for r, *_ in EXACT + DIGITS} | {"nag", "adagrad", "adamw", "tensorflow-adam", "torch-sparseadam", "torch-adagrad", "torch-adamw",
                                                              "torch-adafactor", "torch-muon", "torch-lbfgs"}
    expect("all rules are tested", set(named) == tested, set(named) ^ tested)
    expect("the list", step(folder, "list").stdout.count("\n") == len(named))
    expect("torch-adagrad", thetas(folder, "torch-adagrad", ["3"], *hypers(eta="1/10", eps="0")) == ["9/10"])
    got = [thetas(folder, r, G, *hypers(eta="1/10", weight_decay="1/100")) for r in ("torch-adamw", "adamw")]
    expect("torch-adamw", got[0] == got[1])


def whole(folder):
    """Rules of whole tensors. Adafactor's first step by g = (3, 4), of matrices (6, 8; 0, 0): PyTorch's formula by hand, with Python's floats."""
    (folder / "vector.json").write_text('{"theta": [3, "1/2"]}')
    (folder / "g.json").write_text("[3, 4]")
    found = json.loads(step(folder, "torch-adafactor", "--state", "vector.json", "--gradient", "g.json", "--eta", "1/10", "--json").stdout)
    expect("v", found["v"] == ["9", "16"] and "row" not in found, found)
    rms = ((9 + 0.25) / 2) ** 0.5  # g / sqrt(g^2) = 1 each: no clipping
    expect("a vector", all(abs(float(Q(t)) - s + rms / 10) < 1e-15 for t, s in zip(found["theta"], (3, 0.5))), found)
    (folder / "matrix.json").write_text('{"theta": [[1, 1], [1, 1]]}')
    (folder / "g2.json").write_text("[[6, 8], [0, 0]]")
    found = json.loads(step(folder, "torch-adafactor", "--state", "matrix.json", "--gradient", "g2.json", "--eta", "1/10", "--clip", "2", "--json").stdout)
    expect("row and col", (found["row"], found["col"]) == (["50", "0"], ["18", "32"]) and "v" not in found, found)
    expect("a matrix", all(abs(float(Q(t)) - x) < 1e-15 for t, x in zip(found["theta"], (0.9, 0.9, 1, 1))), found)
    ran = step(folder, "torch-muon", "--state", "matrix.json", "--gradient", "g2.json", "--eta", "1/10", "--ns-steps", "0", "--weight-decay", "0",
               "--momentum", "0.5", "--adjust", "match_rms_adamw", "--no-nesterov")
    x = [1 - 0.1 * 0.2 * 2 ** 0.5 * g / 10 for g in (6, 8, 0, 0)]  # m = g / 2, over its norm; 0.2 sqrt(2)
    expect("muon", all(abs(float(Q(t)) - y) < 1e-15 for t, y in zip(ran.stdout.split("theta")[1].split("\n")[0].split(), x)), ran.stdout)
    expect("m", "m      3 4 0 0" in ran.stdout, ran.stdout)
    for name, text in (("both.json", '{"theta": [1, 2], "row": [1]}'), ("short.json", '{"theta": [[1, 1], [1, 1]], "k": 1, "row": [1], "col": [1, 1]}'),
                       ("gone.json", '{"theta": [[1, 1], [1, 1]], "k": 1, "row": [1, 1]}'), ("minus.json", '{"theta": [[1], [1]], "row": [-1, 1], "col": [1]}'),
                       ("ragged.json", '{"theta": [[1, 1], [1]]}'), ("not.json", '{"theta": [[1, NaN], [1, 1]]}'), ("deep.json", '{"theta": [[1, 1], [1, [1]]]}')):
        (folder / name).write_text(text)
    for rule, state, options, message in (
            ("adafactor", "both.json", (), "has v of vectors, row and col of others"), ("adafactor", "short.json", (), "'row' has 1 entries, it should have 2"),
            ("adafactor", "gone.json", (), "'col' is missing"), ("adafactor", "minus.json", (), "entry 0 of 'row' is below 0"),
            ("adafactor", "ragged.json", (), "of several lengths"), ("adafactor", "not.json", (), "no JSON"), ("adafactor", "deep.json", (), "no finite number"),
            ("adafactor", "matrix.json", ("--clip", "1/2"), "--clip is below 1"), ("adafactor", "matrix.json", ("--beta2-decay", "1/2"), "is above 0"),
            ("adafactor", "matrix.json", ("--preconditioned",), "no --preconditioned"), ("adafactor", "matrix.json", ("--nesterov",), "no --nesterov"),
            ("adafactor", "matrix.json", ("--momentum", "1/2"), "has no momentum"), ("muon", "vector.json", (), "torch-muon steps matrices; theta has 1 axes"),
            ("muon", "matrix.json", ("--ns-steps", "1/2"), "no whole number below 100"), ("muon", "matrix.json", ("--ns-steps", "100"), "no whole number"),
            ("sgd", "matrix.json", ("--no-nesterov",), "has no --no-nesterov"), ("sgd", "matrix.json", ("--adjust", "match_rms_adamw"), "has no --adjust"),
            ("muon", "matrix.json", ("--adjust", "twice"), "neither original nor match_rms_adamw")):
        gradient = "g.json" if "vector" in state or "both" in state else "g2.json"
        name = rule if rule == "sgd" else f"torch-{rule}"
        ran = step(folder, name, "--state", state, "--gradient", gradient, "--eta", "1/10", *options, status=2)
        expect(f"message of {rule} {state} {options}", message in ran.stderr and ran.stdout == "", ran.stderr)
    (folder / "wide.json").write_text("[[1, 2, 3, 4]]")
    (folder / "nothing.json").write_text('{"theta": [[]]}')
    (folder / "no.json").write_text("[[]]")
    for state, gradient, message in (("matrix.json", "wide.json", "the gradient is 1 x 4, theta 2 x 2"), ("nothing.json", "no.json", "theta has no entries")):
        ran = step(folder, "torch-adafactor", "--state", state, "--gradient", gradient, "--eta", "1/10", status=2)
        expect(message, message in ran.stderr, ran.stderr)
    (folder / "large.json").write_text(json.dumps([[1] * 100] * 128))
    ran = step(folder, "torch-muon", "--state", "large.json", "--gradient", "large.json", "--eta", "1/10", "--proof", "large.proof", status=2)
    expect("a proof that is too much work", "a matrix of 128 x 100" in ran.stderr and not (folder / "large.proof").exists(), ran.stderr)
    (folder / "zeros.json").write_text("[[0, 0], [0, 0]]")
    for name in ("torch-adafactor", "torch-muon"):
        ran = step(folder, name, "--state", "matrix.json", "--gradient", "zeros.json", "--eta", "1/10", "--eps", "0", status=2)
        expect(f"nothing to divide by, {name}", "not known to be above 0" in ran.stderr, ran.stderr)


def main():
    with tempfile.TemporaryDirectory() as name:
        for test in (known, identities, files, going_on, rules, whole, refusals):
            test(Path(name))
    print(f"{len(failures)} failures")
    return len(failures) > 0


if __name__ == "__main__":
    sys.exit(main())
