"""clarke.derive: a function of tensors at a point, as a program (docs/programs.md), and all its generalized derivatives.

The function is run once, on the point, and its ATen operators are written down entry by entry (program.py). So a branch of Python's own
(`if x > 0`) is not in the program: only the side that was taken. Numbers are those of the tensors, exactly.

What PyTorch differentiates must be this program. So what autograd does not see is refused (detach, no_grad, numbers that Python reads,
hooks, a Function's own derivative). Its backward pass runs, too: at kinks its numbers must be the profile's.
"""
from __future__ import annotations

import math
import os
import re
import tempfile
import threading
from fractions import Fraction
from typing import Any, Callable, Sequence

import torch
from torch.nn.modules import module as modules

from .operators import kinks
from .recording.again import Again
from .answer import Failed, answered, kept_in_answer
from .derived import Derived
from .recording.folder import surely
from .graph.graph import ancestors, require_unread
from .graph.graph import differentiated as passed
from .tracing.hooks import Hooks, line_of
from .operators.primitives import literal
from .profiles import installed
from .graph.program import written
from .refused import Refused
from .tracing.dispatched import Dispatch, Functions, Trace

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
    except RuntimeError as why:
        if "a leaf Variable that requires grad" not in str(why):
            raise
        raise Refused(trace.function, "it changes its input in place", "let it change a copy") from None
    finally:
        hook.remove()
    if not isinstance(out, torch.Tensor) or out.numel() != 1:
        raise Refused(trace.function, f"its result is {kind_of(out)}, and no tensor of one number", "return one, as by sum(), or one entry")
    return inputs, values, trace.value(out), again


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
    except RuntimeError as why:
        raise Refused(trace.function, f"PyTorch's backward pass ended: {first_line(why)}",
                      "let it run through in PyTorch alone first: f(x).backward()") from None
    finally:
        hooked.restore()
    for why in trace.refusals + trace.functions:
        raise why
    for node in (n for n in passed(result) if n.name.rstrip("_") in kinks.KINKS and n.grad_enabled and n.args[0].requires_grad):
        if node.grad_output is None or bool(torch.isfinite(node.grad_output).all()):  # of others every derivative is NaN
            kinks.check_pointwise(node, installed())
    return {name: torch.zeros_like(t) if g is None else g for (name, t), g in zip(inputs.items(), found)}


def require_finite(made):
    """Who has made a NaN of a gradient that was finite, where AD of the program has none? It did not execute what was not chosen."""
    for node in made:
        inwards = [g for g in node.grad_inputs if isinstance(g, torch.Tensor)]
        if any(bool(g.isnan().any()) for g in inwards) and all(bool(g.isfinite().all()) for g in node.grad_outputs if isinstance(g, torch.Tensor)):
            raise Refused(node.where(), "PyTorch's derivative is nan here: the slope is infinite, and the gradient that it is multiplied by is 0",
                          "where it is not wanted, let its argument be another number there (torch.where before it, not behind)")


def require_same(where, result, gradient, said):
    """No answer rests on this: numbers far apart tell of something that the dispatcher did not see."""
    eps = max([torch.finfo(t.dtype).eps for t in gradient.values()] or [torch.finfo(torch.float32).eps]) ** 0.5
    exact = [number(v) for v in [said["value"], *((said["ad"] or ["nan"]) if gradient else [])]]
    ran = torch.cat([t.detach().reshape(-1).to(torch.float64) for t in (result.tensor, *gradient.values())]).tolist()
    if any(math.isnan(b) for b in ran[1:]) and not any(math.isnan(a) for a in exact):
        require_finite(ancestors(result).values())
    if any(math.isnan(a) for a in exact):
        return
    largest = 1 + max(abs(a) for a in exact if math.isfinite(a))
    for i, (a, b) in enumerate(zip(exact, ran)):
        if a != b and not abs(a - b) <= eps * largest:
            what = "derivative of the function" if i else "value"
            raise Refused(where, f"PyTorch's {what} is {b!r} here, and {'AD' if i else 'that'} of the recorded operators, in exact arithmetic, {a!r}: "
                          "something else was differentiated, or floats took another branch", "compute it by PyTorch's operators alone, or in float64")


FILE, UNCHECKED = "traced.prog", "no proof can be checked here"


def profile_in(folder):
    """That of the PyTorch that is installed, for the program: a name, or a file."""
    profile = installed()
    if not profile.known:
        with open(os.path.join(folder, profile.name), "w") as out:
            out.write(profile.text)
    return "--profile", profile.name if profile.known else os.path.join(folder, profile.name)


def number(text):
    """A report's number: a rational, a decimal or no number."""
    return math.nan if text in ("nan", None) else float(text) if text.endswith("inf") else float(Fraction(text))


def derived(program, inputs, options):
    """What `clarke derive` says; where it says nothing, of which operator."""
    text = "\n".join(program.lines) + "\n"
    point = [f"{n}={','.join(literal(v).strip('()') for v in t.detach().to(torch.float64).reshape(-1).tolist())}"
             for n, t in inputs.items()]
    with tempfile.TemporaryDirectory() as folder:
        path, proof = os.path.join(folder, FILE), os.path.join(folder, "proof")
        with open(path, "w") as out:
            out.write(text)
        question = ["derive", path, "--json", "--verbose", *profile_in(folder), *(w for v in point for w in ("--at", v)), *options]
        try:
            said = answered(*question, *([] if "--proof" in options else ["--proof", proof]))
        except Failed as why:
            if UNCHECKED in str(why) and "--proof" not in options:
                return answered(*question) | {"program": text}
            found = re.search(FILE + r":(\d+):\d+: ([^\n]*?)(\n|$| \(clarke derive ended)", str(why))
            if found is None or int(found[1]) not in program.makers:
                raise
            raise Refused(program.makers[int(found[1])].where(), found[2], "write another operator there, or take another point") from None
        if os.path.exists(proof):
            with open(proof) as made:
                said["proof"] = made.read()
            kept_in_answer(said, proof)
        return said | {"program": text}


def placed(said, program):
    """The operators of what it tells of lines; and where the function jumps, of each branch there."""
    for kink in said["touched"] or []:  # None where it was stopped
        if kink.get("line") in program.makers:
            kink["source"] = program.makers[kink["line"]].where()
    def named(text):
        return re.sub(r"\bline (\d+), column \d+", lambda m: f"{m[0]} ({program.makers[int(m[1])].where()})" if int(m[1]) in program.makers else m[0], text)

    said["summary"]["answer"] = named(said["summary"]["answer"])
    if said["verdict"] == "undecided":
        said["why"] = named(said["why"])
    if said["why"].startswith("the function jumps"):
        leaps = dict.fromkeys(k["source"] for k in said["touched"] if k["node"].startswith("if ") and "source" in k)
        said["why"] += f" ({'; '.join(leaps)})"
    return said


def asked(trace, f, at, options, again):
    """The answer about f, whose operators the trace holds afterwards."""
    inputs, values, result, rerun = traced(trace, f, at)
    for why in trace.refusals:
        raise why
    program, branches = written(trace, values, result), require_unread(trace, result)
    gradient = differentiated(trace, inputs, result)
    if again:
        rerun.check(result, list(inputs.values()), [], branches)
    said = placed(derived(program, inputs, options), program)
    require_same(trace.function, result, gradient, said)
    return said | {"branches": branches}


def first_line(why):
    return str(why).strip().partition("\n")[0].removesuffix(".")


def kind_of(value):
    """What was given, or handed back, in words."""
    if not isinstance(value, torch.Tensor):
        return f"a {type(value).__name__}"
    if value.layout == torch.strided and value.is_floating_point() and value.numel() > 0 and not bool(torch.isfinite(value).all()):
        return "a tensor with an entry that is not finite"
    return f"a tensor of type {value.dtype}, layout {value.layout} and shape {tuple(value.shape)}"


def point(at):
    """Tensors by their names. Numbers are tensors of PyTorch's default type."""
    named = dict(at) if isinstance(at, dict) else {f"x{i}": v for i, v in enumerate(at)} if isinstance(at, (tuple, list)) else {"x": at}
    for name, value in named.items():
        if not isinstance(value, torch.Tensor):
            try:
                value = named[name] = torch.as_tensor(value, dtype=torch.get_default_dtype() if isinstance(value, (int, float)) else None)
            except Exception as why:
                raise Refused(name, f"no tensor, and no number: {first_line(why)}",
                              "give a tensor, a number, or a tuple or dictionary of these") from None
        if not value.is_floating_point() or value.layout != torch.strided or value.numel() == 0 or not bool(torch.isfinite(value).all()):
            raise Refused(name, f"no point: it is {kind_of(value)}", "give finite floats, one at least, in a dense tensor")
    return named


def derive(f: Callable[..., Any], at: Any, *, options: Sequence[str] = (), again: bool = True) -> Derived:
    """All the generalized derivatives of f at a point, and whether AD's is among them.

    f: a function of tensors that returns a tensor of one number.
    at: a tensor (or number) of any shape, a tuple of these (x0, x1, ...) or a dictionary of them; finite floats.
    options: of `clarke derive`, as ("--float", "all").
    again: the function is run again, near the point, and compared with what was recorded (again.py), unless this is False.

    Raises Refused where the function cannot be written as a program, with the line, and Failed where the program gives no answer.
    Each kink of "touched" has its operator under "source"."""
    at, trace = point(at), Trace()
    trace.function = f"the function, {line_of(getattr(f, 'forward', f))}"
    try:
        return Derived(asked(trace, f, at, options, again))
    finally:
        surely(trace.forget)
