"""clarke.derive: a function of tensors at a point, as a program (docs/programs.md), and all its generalized derivatives.

The function is run once, on the point, and its ATen operators are written down entry by entry. So a branch of Python's own
(`if x > 0`) is not in the program: only the side that was taken. Numbers are those of the tensors, exactly.

What PyTorch differentiates must be this program. So what autograd does not see is refused (detach, no_grad, numbers that Python reads,
hooks, a Function's own derivative). Its backward pass runs, too: at kinks its numbers must be the profile's.
"""
import math
import os
import tempfile
import threading
from fractions import Fraction

import numpy as np
import torch
from torch.nn.modules import module as modules

from . import kinks
from .again import Again
from .answer import answered
from .folder import surely
from .graph import ancestors, require_unread, trained
from .hooks import Hooks
from .profiles import installed
from .refused import Refused
from .trace import Dispatch, Functions, Trace, Value

WRITERS = {}


def writer(*names):
    def note(write):
        for name in names:
            WRITERS[name] = write
        return write
    return note


def literal(number):
    return float(number).hex() if number >= 0 else f"(-{float(-number).hex()})"


class Program:
    """Statements, and the name (or number) of every entry of each value, in arrays of the values' shapes."""

    def __init__(self):
        self.lines, self.entries, self.count, self.node = [], {}, 0, None

    def refuse(self, why):
        raise Refused(f"{self.node.where()}: {why}")

    def let(self, expression):
        name = f"v{self.count}"
        self.count += 1
        self.lines.append(f"let {name} = {expression}")
        return name

    def of(self, value, like=None):
        """The entries; of a number one, as tensors of the result's type have it."""
        if not isinstance(value, Value):
            kind = like.dtype if like is not None and like.dtype == torch.float64 else torch.float32
            return np.array(literal(torch.tensor(float(value), dtype=torch.float64).to(kind).item()), dtype=object)
        if id(value) not in self.entries:
            if value.requires_grad or trained(value):
                self.refuse("it reads what is no input, and requires a gradient")
            numbers = value.tensor.detach().to(torch.float64).numpy()
            self.entries[id(value)] = np.array([literal(n) for n in numbers.reshape(-1)], dtype=object).reshape(numbers.shape)
        return self.entries[id(value)]

    def each(self, write, *arrays):
        """A statement for each entry of the arrays, broadcast."""
        arrays = np.broadcast_arrays(*arrays)
        out = np.empty(arrays[0].shape, dtype=object)
        for at in np.ndindex(out.shape):
            out[at] = self.let(write(*(a[at] for a in arrays)))
        return out

    def total(self, terms):
        return self.let(" + ".join(terms)) if len(terms) else literal(0)

    def product(self, a, b):
        """Of matrices, or a matrix and a vector."""
        left, right = np.atleast_2d(a), b if b.ndim == 2 else b.reshape(-1, 1)
        out = np.empty((left.shape[0], right.shape[1]), dtype=object)
        for i, j in np.ndindex(out.shape):
            out[i, j] = self.total([f"{p} * {q}" for p, q in zip(left[i], right[:, j])])
        return out


def first(node):
    return node.results[0].tensor


@writer("add", "sub", "mul", "div", "rsub")
def write_arithmetic(p, node):
    if node.kwargs.get("alpha", 1) != 1 or len(node.args) > 2 or node.kwargs.get("rounding_mode") is not None:
        p.refuse("a factor alpha, or a rounded quotient")
    a, b = (p.of(v, first(node)) for v in node.args[:2])
    sign = {"add": "+", "sub": "-", "rsub": "-", "mul": "*", "div": "/"}[node.name.rstrip("_")]
    return p.each(lambda s, t: f"{s} {sign} {t}", *((b, a) if node.name == "rsub" else (a, b)))


@writer("neg", "relu", "abs", "exp", "log", "sqrt", "sin", "cos", "tanh", "sigmoid", "hardsigmoid", "hardswish")
def write_function(p, node):
    name = "-" if node.name == "neg" else node.name.rstrip("_")
    return p.each(lambda s: f"{name}({s})", p.of(node.args[0]))


@writer("hardtanh", "clamp", "leaky_relu", "elu")
def write_with_constants(p, node):
    name, given = node.name.rstrip("_"), list(node.args[1:]) + list(node.kwargs.values())
    defaults = {"hardtanh": [-1, 1], "clamp": [None, None], "leaky_relu": [0.01], "elu": [1, 1, 1]}[name]
    given += defaults[len(given):]
    if any(g is None or isinstance(g, Value) for g in given) or (name == "elu" and list(given[1:]) != [1, 1]):
        p.refuse("parameters that are not numbers, or that the language does not have")
    if name in ("hardtanh", "clamp"):  # the kink is at what entries are set to
        given = [torch.tensor(float(g), dtype=torch.float64).to(first(node).dtype).item() for g in given]
    constants = [str(p.of(g, first(node))) for g in given[:1 if name == "elu" else None]]
    return p.each(lambda s: f"{name}({', '.join([s, *constants])})", p.of(node.args[0]))


@writer("maximum", "minimum")
def write_pair(p, node):
    return p.each(lambda s, t: f"{node.name[:3]}({s}, {t})", *(p.of(v) for v in node.args[:2]))


@writer("max", "min", "amax", "amin")
def write_largest(p, node):
    name = node.name.removeprefix("a")
    if len(node.args) > 1 and node.args[1] not in ([], ()):
        p.refuse("along an axis")
    return np.array(p.let(f"{name}({', '.join(p.of(node.args[0]).reshape(-1))})"), dtype=object)


def grouped(entries, axes):
    """The entries with those along the axes (all, when there are none) in one last axis, and room for a result of each group."""
    axes = tuple(a % max(entries.ndim, 1) for a in axes or range(entries.ndim))
    kept = [a for a in range(entries.ndim) if a not in axes]
    groups = entries.transpose(kept + list(axes)).reshape([entries.shape[a] for a in kept] + [-1])
    return groups, np.empty(groups.shape[:-1], dtype=object)


@writer("linalg_vector_norm", "norm")
def write_norm(p, node):
    given = dict(zip(["ord", "dim", "keepdim"], node.args[1:])) | node.kwargs
    order = given.get("ord", given.get("p", 2))
    if (order if order is not None else 2) != 2 or given.get("dtype") is not None:
        p.refuse("a norm that is not Euclidean, or of another type")
    dim = given.get("dim")
    groups, out = grouped(p.of(node.args[0]), [dim] if isinstance(dim, int) else dim)
    for at in np.ndindex(out.shape):
        out[at] = p.let(f"norm2({', '.join(groups[at])})")
    return out.reshape(first(node).shape)


@writer("sum", "mean")
def write_total(p, node):
    groups, out = grouped(p.of(node.args[0]), node.args[1] if len(node.args) > 1 else ())
    for at in np.ndindex(out.shape):
        out[at] = p.total(list(groups[at]))
        if node.name == "mean":
            out[at] = p.let(f"{out[at]} / {groups.shape[-1]}")
    return out.reshape(first(node).shape)


@writer("mm", "mv", "dot", "addmm")
def write_product(p, node):
    if node.kwargs:
        p.refuse("factors alpha and beta")
    arrays = [p.of(v) for v in node.args]
    out = p.product(*arrays[-2:]).reshape(first(node).shape)
    return p.each(lambda s, t: f"{s} + {t}", arrays[0], out) if node.name == "addmm" else out


@writer("pow")
def write_power(p, node):
    power = node.args[1]
    if not isinstance(power, int) or not 1 <= power <= 64:
        p.refuse("a power that is no small whole number")
    return p.each(lambda s: " * ".join([s] * power), p.of(node.args[0]))


@writer("view", "_unsafe_view", "reshape", "squeeze", "unsqueeze", "expand", "clone", "alias", "lift_fresh", "t", "transpose",
        "permute", "select", "slice", "_to_copy")
def write_moved(p, node):
    """Where entries go is found by moving their numbers."""
    entries = p.of(node.args[0])
    if node.name == "_to_copy":
        if first(node).dtype != node.args[0].tensor.dtype:
            p.refuse("a cast: a program has no rounding")
        return entries
    places = torch.arange(entries.size).reshape(entries.shape)
    moved = node.op(places, *node.args[1:], **node.kwargs)
    return entries.reshape(-1)[moved.numpy().reshape(-1)].reshape(tuple(moved.shape))


@writer("cat", "stack")
def write_joined(p, node):
    join = np.concatenate if node.name == "cat" else np.stack
    return join([p.of(v) for v in node.args[0]], axis=node.args[1] if len(node.args) > 1 else 0)


def traced(trace, f, at):
    """The operators of f at these tensors: (its inputs by name, their values, the result's value, what can be run again)."""
    inputs = {name: t.detach().clone().requires_grad_(True) for name, t in at.items()}
    trace.trained = {t.untyped_storage().data_ptr() for t in inputs.values()}
    values = {name: trace.value(t) for name, t in inputs.items()}
    again = Again(trace)
    own = threading.get_ident()
    hook = modules.register_module_forward_hook(
        lambda module, args, out: again.output(type(module).__name__, out) if threading.get_ident() == own else None)
    again.begin(f, "the function", tuple(inputs.values()), roots=[f])
    try:
        with Functions(trace, None, None), Dispatch(trace):
            out = f(*inputs.values())
    finally:
        hook.remove()
    if not isinstance(out, torch.Tensor) or out.numel() != 1:
        raise Refused("the function's result is no tensor of one number")
    return inputs, values, trace.value(out), again


def text_of(trace, values, result):
    """The program."""
    p = Program()
    for name, value in values.items():
        t = value.tensor
        p.lines.append(f"input {name}" if t.dim() == 0 else f"input {name}[{t.numel()}]")
        names = [name] if t.dim() == 0 else [f"{name}[{i}]" for i in range(t.numel())]
        p.entries[id(value)] = np.array(names, dtype=object).reshape(t.shape)
    made = ancestors(result)
    for p.node in trace.nodes:
        if id(p.node) in made:
            write_node(p)
    if not result.requires_grad and trained(result):
        raise Refused("the function's result depends on its inputs, and autograd does not know it: AD differentiates another function")
    p.lines.append(f"output {p.of(result).reshape(-1)[0]}")
    return "\n".join(p.lines) + "\n"


def write_node(p):
    node = p.node
    tensors = [v for v in node.results if isinstance(v, Value)]
    if not any(v.requires_grad for v in tensors):
        return  # a constant, or behind autograd's back: whoever reads it looks
    if any(trained(v) and not v.requires_grad for v in node.reads):
        p.refuse("it reads what depends on the inputs, and autograd does not know it: AD differentiates another function")
    write = WRITERS.get(node.name.rstrip("_")) if node.op.namespace == "aten" else None
    if write is None or not node.grad_enabled:
        p.refuse("this operator is not in the language of programs")
    p.entries[id(tensors[0])] = np.asarray(write(p, node), dtype=object)


def differentiated(trace, inputs, result):
    """PyTorch's own gradient, by the inputs' names; at kinks its derivatives must be the profile's."""
    if result.of.grad_fn is None:
        return {}
    trace.watch(result.of, None)
    hooked = Hooks(trace, {id(t): t for t in [*inputs.values(), *trace.kept]}.values())
    trace.running = True
    try:
        with Dispatch(trace):
            found = torch.autograd.grad(result.of, list(inputs.values()), allow_unused=True)
    finally:
        hooked.restore()
    for why in trace.refusals + trace.functions:
        raise Refused(why)
    made = ancestors(result).values()
    for node in (n for n in made if n.name.rstrip("_") in kinks.KINKS and n.grad_enabled and n.args[0].requires_grad):
        if node.grad_output is None or bool(torch.isfinite(node.grad_output).all()):  # of others every derivative is NaN
            kinks.check_pointwise(node, installed())
    return {name: torch.zeros_like(t) if g is None else g for (name, t), g in zip(inputs.items(), found)}


def require_same(gradient, said):
    """No answer rests on this: numbers far apart tell of something that the dispatcher did not see."""
    if not gradient or any(v in ("nan", None) for v in said["ad"] or ["nan"]):
        return
    exact = [float(v) if v.endswith("inf") else float(Fraction(v)) for v in said["ad"]]
    eps = max(torch.finfo(t.dtype).eps for t in gradient.values())
    ran = torch.cat([t.detach().reshape(-1).to(torch.float64) for t in gradient.values()]).tolist()
    largest = 1 + max((abs(a) for a in exact if math.isfinite(a)), default=0)
    for a, b in zip(exact, ran):
        if a != b and not abs(a - b) <= eps ** 0.5 * largest:
            raise Refused(f"PyTorch's derivative of the function is {b!r} here, and AD's of the recorded operators, in exact arithmetic, "
                          f"{a!r}: something else was differentiated, or floats took another branch")


def profile_in(folder):
    """That of the PyTorch that is installed, for the program: a name, or a file."""
    profile = installed()
    if not profile.known:
        with open(os.path.join(folder, profile.name), "w") as out:
            out.write(profile.text)
    return "--profile", profile.name if profile.known else os.path.join(folder, profile.name)


def asked(trace, f, at, options, again):
    """The answer about f, whose operators the trace holds afterwards."""
    inputs, values, result, rerun = traced(trace, f, at)
    for why in trace.refusals:
        raise Refused(why)
    text, branches = text_of(trace, values, result), require_unread(trace, result)
    gradient = differentiated(trace, inputs, result)
    if again:
        rerun.check(result, list(inputs.values()), [], branches)
    point = [f"{n}={','.join(literal(v).strip('()') for v in t.detach().to(torch.float64).reshape(-1).tolist())}"
             for n, t in inputs.items()]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "traced.prog")
        with open(path, "w") as out:
            out.write(text)
        said = answered("derive", path, "--json", *profile_in(folder), *(w for v in point for w in ("--at", v)), *options)
    said |= {"program": text, "branches": branches}
    require_same(gradient, said)
    return said


def derive(f, at, *, options=(), again=True):
    """All that `clarke derive --json` says of f at a tensor, a tuple of tensors (x0, x1, ...) or a dictionary of them.

    The function is run again, near the point, and compared with what was recorded (again.py), unless again=False.
    The answer has the program's text under "program", and under "branches" the lines of Python's branches that hang on the inputs."""
    if isinstance(at, torch.Tensor):
        at = {"x": at}
    elif not isinstance(at, dict):
        at = {f"x{i}": t for i, t in enumerate(at)}
    trace = Trace()
    try:
        return asked(trace, f, at, options, again)
    finally:
        surely(trace.forget)
