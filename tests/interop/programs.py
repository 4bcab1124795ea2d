"""Random programs, run by `clarke derive` and by PyTorch.

`exact` programs have inputs that are multiples of 1/4, so that kinks and ties are met; value and
AD's output must be PyTorch's in float64 up to 1e-9, and to the last digit where a program uses
only operations that float64 does exactly on such numbers. `rounded` programs have inputs with all
bits of a float32, and operations that PyTorch rounds correctly entry by entry: there the replay in
float32 and float64 (docs/rounding.md) must give PyTorch's value and gradient bit for bit.

A program is drawn with its value in view: where an argument is not exact, functions with kinks are
used only at a distance from them, since there rounding would decide.
"""

import json
import subprocess
from fractions import Fraction

import numpy as np
import torch
import torch.nn.functional as F

N_EXACT = 700
N_ROUNDED = 1000
TOLERANCE = 1e-9
APART = 1e-3
STATUS = {"in-bouligand": 0, "in-clarke": 0, "not-in-clarke": 1, "undecided": 3}

# name in the program, PyTorch, kinks.
POINTWISE = [
    ("relu({})", F.relu, [0]),
    ("leaky_relu({}, 1/4)", lambda x: F.leaky_relu(x, 0.25), [0]),
    ("relu6({})", F.relu6, [0, 6]),
    ("hardtanh({})", F.hardtanh, [-1, 1]),
    ("hardtanh({}, -1/2, 3/2)", lambda x: F.hardtanh(x, -0.5, 1.5), [-0.5, 1.5]),
    ("abs({})", torch.abs, [0]),
    ("clamp({}, -1, 2)", lambda x: torch.clamp(x, -1, 2), [-1, 2]),
]
# Not exact in float64. PyTorch's hardsigmoid has the slope float32(1/6) in float64, 3e-8 beside
# 1/6: relu6(x + 3) / 6 is the same function with the same proxies.
INEXACT = [
    ("hardsigmoid({})", lambda x: F.relu6(x + 3) / 6, [-3, 3]),
    ("hardswish({})", F.hardswish, [-3, 3]),
    ("elu({})", F.elu, [0]),
    ("elu({}, 2)", lambda x: F.elu(x, 2.0), [0]),
]
SMOOTH = [
    ("exp({} / 4)", lambda x: torch.exp(x / 4), []),
    ("tanh({})", torch.tanh, []),
    ("sigmoid({})", torch.sigmoid, []),
    ("erf({})", torch.erf, []),
    ("atan({})", torch.atan, []),
]
COMPARE = {"<": torch.lt, "<=": torch.le, ">": torch.gt, ">=": torch.ge, "==": torch.eq,
           "!=": torch.ne}


def maximum_of_window(v):
    return F.max_pool1d(v.reshape(1, 1, -1), v.numel()).reshape(())


def literal(number):
    return str(Fraction(number))


class Operand:
    """A text that stands for a value, what computes it, and that value in float64."""

    def __init__(self, text, run, value, clean):
        self.text, self.run, self.value, self.clean = text, run, value, clean
        self.vector = value.dim() == 1


class Program:
    """A random program: `source` for clarke, `run` for PyTorch."""

    def __init__(self, rng, rounded):
        self.rng, self.rounded = rng, rounded
        self.lines, self.steps, self.names = [], [], []
        self.dyadic = True      # every derivative is exact in float64 too
        self.products = 0       # they double the bits
        self.smooth = not rounded and rng.random() < 0.3
        self.inputs = {}
        for name in ["x", "y", "s"][:int(rng.integers(1, 4))]:
            self.add_input(name)
        for _ in range(int(rng.integers(8, 20) if rounded else rng.integers(3, 10))):
            self.add_step()
        self.add_output()

    # --- inputs ---------------------------------------------------------------------------------

    def coordinates(self, n):
        if self.rounded:
            return self.rng.standard_normal(n).astype(np.float32).astype(np.float64) * 2
        return self.rng.integers(-6, 7, n) / 4

    def add_input(self, name):
        if name == "s":
            point = torch.tensor(float(self.coordinates(1)[0]), dtype=torch.float64)
            self.lines.append(f"input {name}")
        else:
            point = torch.tensor(self.coordinates(int(self.rng.integers(2, 5))))
            if not self.rounded and self.rng.random() < 0.5:
                point[1] = point[0]
            self.lines.append(f"input {name}[{len(point)}]")
        self.inputs[name] = point
        self.names.append(Operand(name, lambda env, n=name: env[n], point, True))

    # --- operands -------------------------------------------------------------------------------

    def operand(self, vector=None):
        """A name; where a scalar is wanted, an entry of a vector too, or a sum of all."""
        for _ in range(50):
            near = len(self.names) - 4 if self.rng.random() < 0.5 else 0
            o = self.names[int(self.rng.integers(max(0, near), len(self.names)))]
            if vector is None or o.vector == vector:
                return o
            if o.vector and not vector:
                i = int(self.rng.integers(len(o.value)))
                return Operand(f"{o.text}[{i}]", lambda env, o=o, i=i: o.run(env)[i], o.value[i],
                               o.clean)
        return None

    def bind(self, text, run, clean):
        """let NAME = text."""
        value = run({n.text: n.value for n in self.names}).detach()
        if not torch.isfinite(value).all() or value.abs().max() > 1e6:
            return
        name = f"v{len(self.steps)}"
        self.lines.append(f"let {name} = {text}")
        self.steps.append((name, run))
        self.names.append(Operand(name, lambda env, n=name: env[n], value, clean))

    def apart(self, value, kinks):
        return all(float((value - k).abs().min()) > APART for k in kinks)

    def told_apart(self, value):
        gaps = (value[:, None] - value[None, :]).abs() + torch.eye(len(value)) * 9
        return float(gaps.min()) > APART

    # --- steps ----------------------------------------------------------------------------------

    def add_step(self):
        steps = [self.arithmetic, self.arithmetic, self.pointwise, self.pointwise, self.pointwise,
                 self.two, self.two, self.order, self.order, self.branch, self.total]
        steps[int(self.rng.integers(len(steps)))]()

    def arithmetic(self):
        kind = "+-*/c"[int(self.rng.integers(5))]
        a = self.operand()
        if kind == "c":
            c = float(self.rng.choice([2, -1, 0.5, -0.75, 3]))
            d = float(self.rng.choice([0, 0, 1, -0.25]))
            text = f"{literal(c)} * {a.text}" + (f" + {literal(d)}" if d else "")
            self.bind(text, lambda env: a.run(env) * c + d if d else a.run(env) * c, a.clean)
            return
        b = self.operand()
        if a.vector and b.vector and len(a.value) != len(b.value) or a.text == b.text:
            return
        if kind == "*":
            self.products += 1
            if self.products > 3:
                return
            self.bind(f"{a.text} * {b.text}", lambda env: a.run(env) * b.run(env),
                      a.clean and b.clean)
        elif kind == "/":
            self.quotient(a, b)
        elif kind == "+":
            self.bind(f"{a.text} + {b.text}", lambda env: a.run(env) + b.run(env),
                      a.clean and b.clean)
        else:
            self.bind(f"{a.text} - {b.text}", lambda env: a.run(env) - b.run(env),
                      a.clean and b.clean)

    def quotient(self, a, b):
        c = float(self.rng.choice([2, -4, 3]))
        if self.rng.random() < 0.5 or not self.apart(b.value, [0.0]) or not self.rounded:
            clean = a.clean and c != 3
            self.dyadic = self.dyadic and c != 3
            self.bind(f"{a.text} / {literal(c)}", lambda env: a.run(env) / c, clean)
        else:
            self.bind(f"{a.text} / {b.text}", lambda env: a.run(env) / b.run(env), False)

    def pointwise(self):
        table = POINTWISE if self.rounded else POINTWISE + POINTWISE + INEXACT
        if self.smooth:
            table = table + SMOOTH * 3
        a = self.operand()
        name, function, kinks = table[int(self.rng.integers(len(table)))]
        if not a.clean and not self.apart(a.value, kinks):
            return
        exact = (name, function, kinks) in POINTWISE
        self.dyadic = self.dyadic and exact
        self.bind(name.format(a.text), lambda env: function(a.run(env)), a.clean and exact)

    def two(self):
        a, b = self.operand(vector=False), self.operand(vector=False)
        if a is None or b is None:
            return
        clean = a.clean and b.clean
        if not clean and not self.told_apart(torch.stack([a.value, b.value])):
            return
        if self.rng.random() < 0.5:
            self.bind(f"max({a.text}, {b.text})",
                      lambda env: torch.maximum(a.run(env), b.run(env)), clean)
        else:
            self.bind(f"min({a.text}, {b.text})",
                      lambda env: torch.minimum(a.run(env), b.run(env)), clean)

    def order(self):
        v = self.operand(vector=True)
        if v is None or (not v.clean and not self.told_apart(v.value)):
            return
        n = len(v.value)
        k = int(self.rng.integers(1, n + 1))
        name, function = [
            (f"max({v.text})", lambda x: torch.amax(x, 0)),
            (f"min({v.text})", lambda x: torch.amin(x, 0)),
            (f"max{{first}}({v.text})", lambda x: torch.max(x, 0).values),
            (f"maxpool({v.text})", maximum_of_window),
            (f"median({v.text})", lambda x: torch.median(x, 0).values),
            (f"kth({k}, {v.text})", lambda x: torch.sort(x, stable=True).values[n - k]),
            (f"sort({v.text})", lambda x: torch.sort(x, stable=True).values),
        ][int(self.rng.integers(7))]
        if name.startswith(("max(", "min(")) and 3 in [int((v.value == e).sum()) for e in v.value]:
            self.dyadic = False
        self.bind(name, lambda env: function(v.run(env)), v.clean)

    def branch(self):
        a, b = self.operand(vector=False), self.operand(vector=False)
        u, w = self.operand(vector=False), self.operand(vector=False)
        if None in (a, b, u, w):
            return
        if not (a.clean and b.clean) and not self.told_apart(torch.stack([a.value, b.value])):
            return
        sign = list(COMPARE)[int(self.rng.integers(6))]
        self.bind(f"if {a.text} {sign} {b.text} then {u.text} else {w.text}",
                  lambda env: u.run(env) if COMPARE[sign](a.run(env), b.run(env)) else w.run(env),
                  u.clean and w.clean)

    def total(self):
        v = self.operand(vector=True)
        if v is None:
            return
        if self.rng.random() < 0.5:
            self.bind(f"sum({v.text})", lambda env: v.run(env).sum(), v.clean)
        else:
            three = len(v.value) == 3
            self.dyadic = self.dyadic and not three
            self.bind(f"mean({v.text})", lambda env: v.run(env).sum() / len(v.value),
                      v.clean and not three)

    def add_output(self):
        last = self.names[-1]
        if self.rng.random() < 0.5 and not last.vector:
            extra = self.operand(vector=False)
            if extra.text != last.text:
                before = last
                last = Operand(f"{last.text} - {extra.text}",
                               lambda env: before.run(env) - extra.run(env),
                               before.value - extra.value, before.clean and extra.clean)
        self.lines.append(f"output {last.text}")
        self.output = last.run

    # --- both sides -----------------------------------------------------------------------------

    def source(self):
        return "\n".join(self.lines) + "\n"

    def at(self):
        return [f"--at={name}={','.join(literal(float(e)) for e in point.reshape(-1))}"
                for name, point in self.inputs.items()]

    def run(self, dtype):
        """The values, and the gradient of each output: rows of all inputs' entries."""
        env = {n: p.to(dtype).clone().requires_grad_(True) for n, p in self.inputs.items()}
        leaves = list(env.values())
        for name, run in self.steps:
            env[name] = run(env)
        out = self.output(env)
        rows = []
        for entry in out.reshape(-1):
            grads = (torch.autograd.grad(entry, leaves, allow_unused=True, retain_graph=True)
                     if entry.requires_grad else [None] * len(leaves))
            rows.append([e for leaf, g in zip(leaves, grads)
                         for e in (torch.zeros_like(leaf) if g is None else g).reshape(-1).tolist()])
        return out.detach().reshape(-1).tolist(), rows


# --- the comparison ---------------------------------------------------------------------------


def derive(clarke, path, program, *options):
    """The JSON object of one run, or what went wrong."""
    command = [str(clarke), "derive", "--json", *options, *program.at(), str(path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        if done.returncode not in STATUS.values():
            return None, f"exit status {done.returncode}: {done.stderr.strip()}"
        answer = json.loads(done.stdout)
        if STATUS[answer["verdict"]] != done.returncode:
            return None, f"verdict {answer['verdict']} with exit status {done.returncode}"
        return answer, None
    except (OSError, ValueError, KeyError, subprocess.TimeoutExpired) as error:
        return None, f"{type(error).__name__}: {error}"


def flat(x):
    return [e for row in x for e in flat(row)] if isinstance(x, list) else [x]


def number(text):
    return Fraction(text) if "nan" not in text and "inf" not in text else None


def differs(got, expected, exact):
    """None, or how two lists of numbers differ."""
    if len(got) != len(expected):
        return f"{len(got)} numbers, PyTorch has {len(expected)}"
    for text, e in zip(got, expected):
        g = number(text)
        if g is None or abs(float(g) - e) > TOLERANCE * max(1, abs(e)):
            return f"{text}, PyTorch {e!r}"
        if exact and g != Fraction(e):
            return f"{text}, PyTorch exactly {Fraction(e)}"
    return None


def check_exact(clarke, path, program):
    """Whether kinks were touched, and what is wrong."""
    answer, wrong = derive(clarke, path, program)
    if wrong is not None:
        return 0, wrong
    values, rows = program.run(torch.float64)
    wrong = (differs(flat([answer["value"]]), values, program.dyadic)
             or differs(flat(answer["ad"]), flat(rows), program.dyadic))
    return len(answer["touched"]), wrong


def same_bits(got, expected, dtype):
    real = np.float32 if dtype == torch.float32 else np.float64
    if len(got) != len(expected):
        return f"{len(got)} numbers, PyTorch has {len(expected)}"
    for text, e in zip(got, expected):
        g = real(text)
        if not (g == real(e) or (np.isnan(g) and np.isnan(e))):
            return f"{text}, PyTorch {e!r}"
    return None


def check_rounded(clarke, path, program):
    answer, wrong = derive(clarke, path, program, "--float=all")
    for dtype in (torch.float32, torch.float64) if wrong is None else ():
        name = str(dtype)[6:]
        found = answer["float"][name]
        values, rows = program.run(dtype)
        off = (same_bits(flat([found["value"]]), values, dtype)
               or same_bits(flat(found["ad"]), flat(rows), dtype))
        wrong = wrong or (off and f"{name}: {off}")
    return wrong


def check_programs(report, clarke, folder):
    rng = np.random.default_rng(13)
    path = folder / "random.prog"
    touched = dyadic = 0
    for rounded, count in (False, N_EXACT), (True, N_ROUNDED):
        failures = []
        for k in range(count):
            program = Program(rng, rounded)
            path.write_text(program.source())
            if rounded:
                wrong = check_rounded(clarke, path, program)
            else:
                kinks, wrong = check_exact(clarke, path, program)
                touched += kinks > 0
                dyadic += program.dyadic
            if wrong:
                failures.append((k, wrong, program))
        for k, wrong, program in failures[:5]:
            text = program.source().replace("\n", "; ")
            report.check(False, f"random program {k}", f"{wrong} ({' '.join(program.at())}: {text})")
        kind = "rounded bit for bit" if rounded else "value and AD's output"
        report.check(not failures, f"{count} random programs: {kind} as PyTorch's",
                     f"{len(failures)} differ")
    report.check(touched >= N_EXACT // 4, f"{touched} of {N_EXACT} random programs touch kinks, "
                 f"{dyadic} are compared to the last digit", f"expected {N_EXACT // 4} or more")
