"""ATen's operators that change by leaps: what a number was rounded to, or its sign, is data, as long as it is not where it jumps.

A program has branches in their place, which decide what is there (choices.py).
"""
import torch

from .jumps import ROUNDED
from .table import argument, operator, result

BESIDE = "an entry is where it jumps: it has no derivative there"
ELSEWHERE = "where it is meant, detach it: x + (x.round() - x).detach(); else let the argument be another number"


def leapt(g, node, numbers, at_jump):
    """Numbers that stay what they are near this point: data."""
    if at_jump:
        g.refuse(BESIDE, ELSEWHERE)
    return g.leapt(node, numbers)


@operator("sign", "sgn", "floor", "ceil", "trunc", "round")
def write_leap(g, node):
    name, x = node.name.rstrip("_"), node.args[0].tensor.detach()
    if argument(node, 1, "decimals", 0) != 0:
        g.refuse("decimals", "round multiples without decimals")
    return leapt(g, node, result(node).detach(), bool(ROUNDED[name.replace("sgn", "sign")](x).any()))


def exact_multiple(g, whole, by, like):
    """So many times a number, where a float of that type holds it."""
    wide = whole.to(torch.float64) * by
    if like.dtype != torch.float64 and not torch.equal(wide.to(like.dtype).to(torch.float64), wide) or not bool((wide.abs() < 2**53).all()):
        g.refuse("a multiple of the divisor that no float of the type is", "take a divisor of few digits, as 1, 2 or 0.5")
    return wide.to(like.dtype)


@operator("frac", "remainder", "fmod")
def write_rest(g, node):
    """What the largest multiple below leaves (remainder), or that towards 0 (fmod; frac, of 1)."""
    x, name = node.args[0].tensor.detach(), node.name.rstrip("_")
    by = 1 if name == "frac" else node.args[1]
    if not isinstance(by, (int, float)) or by == 0 or float(by) != float(torch.tensor(float(by), dtype=torch.float32)):
        g.refuse("by a tensor, by 0, or by a number that is no float32", "take a number of few digits")
    share = x.to(torch.float64) / float(by)
    whole = share.floor() if name == "remainder" else share.trunc()
    numbers = exact_multiple(g, whole, float(by), result(node))
    at = bool((share == share.floor()).any()) if name == "remainder" else bool(((share == share.floor()) & (share != 0)).any())
    return g.add("Sub", [g.of(node.args[0]), leapt(g, node, numbers, at)])


@operator("hardshrink")
def write_hardshrink(g, node):
    """x beyond its bounds, 0 between them."""
    x, bound = node.args[0].tensor.detach(), argument(node, 1, "lambd", 0.5)
    kept = (x.abs() > torch.tensor(float(bound), dtype=x.dtype)).to(x.dtype)
    at = bool((x.abs() == torch.tensor(float(bound), dtype=x.dtype)).any()) and bound != 0
    return g.add("Mul", [g.of(node.args[0]), leapt(g, node, kept, at)])


@operator("copysign")
def write_signed(g, node):
    """The size, with another's sign, which is data. At 0 PyTorch's derivative is 0, as abs' is."""
    other = node.args[1]
    like = result(node)
    sign = torch.copysign(torch.ones_like(like), g.numbers(other) if hasattr(other, "tensor") else torch.tensor(float(other)))
    return g.add("Mul", [g.add("Abs", [g.of(node.args[0])]), g.data("signs", sign)])
