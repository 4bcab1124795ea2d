"""Gradients that several sums are added up in: what each operator that reads a tensor hands back, and in which order autograd adds that.

The additions are operators of the backward pass, which the recorder sees. Each partial gradient is a sum whose tree is asked for, or one
number: of operators that only add, move or multiply entries. The leaves of the parts follow one another (docs/run-format.md).
"""
import re
from dataclasses import dataclass

import numpy as np
import torch

from ..tracing.dispatched import Value

ADDITIONS = (torch.ops.aten.add.Tensor, torch.ops.aten.add_.Tensor)
# They hand back one number for each entry, or 0; and so do, of a parameter, those that make another constant of it in the graph.
PLAIN = {"add", "sub", "mul", "view", "_unsafe_view", "transpose", "permute", "t", "slice", "select", "unsqueeze", "squeeze", "relu", "sum",
         "clone"}
REARRANGED = {"t", "transpose", "permute"}


@dataclass
class Part:
    """What one operator hands back. by: the sum that it is (trees.Held); None: one number."""

    node: object
    gradient: torch.Tensor
    by: object


@dataclass
class Several:
    """Partial gradients in the order of their leaves; order: a number of one, or a pair of such, that are added. why: it is not known."""

    parts: list
    order: object
    why: str = ""


def partials(graph, made, place):
    """{id of a value: (the value, what its readers hand back, in their order)}"""
    found, seen = {}, set()
    for node, _ in graph.recorded.values():
        if id(node) in seen:
            continue
        seen.add(id(node))
        for value, gradient in zip([v for v in node.args if isinstance(v, Value)], node.grad_inputs):
            if gradient is None:
                continue
            by = made.get(place(gradient))
            by = by if by is not None and by.node is node and by.result.numel() == gradient.numel() else None
            found.setdefault(id(value), (value, []))[1].append(Part(node, gradient, by))
    return found


def ordered(parts, additions):
    """In which order parts were added: a number of one, or a pair of such; None: that was not seen."""
    made = {part.gradient.data_ptr(): i for i, part in enumerate(parts)}
    if len(made) < len(parts):
        return None
    for one in additions:
        a, b = one.at
        if a != b and a in made and b in made:
            pair = made.pop(a), made.pop(b)
            made[one.result.data_ptr()] = pair
    return next(iter(made.values())) if len(made) == 1 else None


def several(parts, additions, parameter, readers):
    """readers: how many there are, in all."""
    if parameter:
        parts = sorted(parts, key=lambda part: part.node.name in REARRANGED)
    if len(parts) != readers:
        return Several(parts, None, "several sums are added up, not all of which are known")
    for part in parts:
        name = part.node.name.rstrip("_")
        allowed = REARRANGED if parameter else PLAIN
        if part.by is None and (name not in allowed or part.gradient.dtype not in (torch.float32, torch.float64)):
            return Several(parts, None, f"several sums are added up, and what {name} hands back is none")
        if part.by is not None and (part.by.form or part.gradient.dtype not in (torch.float32, torch.float64)):
            return Several(parts, None, "several sums are added up, with factors or in half precision")
    order = ordered(parts, additions)
    return Several(parts, order, "" if order is not None else "several sums are added up, in an order that was not seen")


def shifted(text, by):
    """A tree whose leaves have other numbers."""
    return re.sub(r"(\d+)(-(\d+))?((/\d+)?)", lambda m: f"{int(m[1]) + by}" + (f"-{int(m[3]) + by}" if m[2] else "") + m[4], text)


def joined(order, texts):
    if isinstance(order, tuple):
        return f"[{joined(order[0], texts)} {joined(order[1], texts)}]"
    return texts[order]


def whole(order, parts):
    """(texts, which of them each entry has) of the whole. parts: (leaves, texts, which) of each."""
    starts = np.cumsum([0] + [leaves for leaves, *_ in parts])
    keys = np.stack([which.reshape(-1) for *_, which in parts], axis=1)
    rows, which = np.unique(keys, axis=0, return_inverse=True)
    texts = [joined(order, [shifted(parts[i][1][number], starts[i]) for i, number in enumerate(row)]) for row in rows]
    return texts, which.reshape(parts[0][2].shape)
