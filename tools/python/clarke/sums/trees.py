"""The trees of a recorded step's sums: of products and convolutions with a parameter, forward and backward, and of biases'
gradients.

They are asked of PyTorch after the step, with tensors of the same shapes, strides and types. What comes out is a file of the run
folder (docs/run-format.md). `clarke certify` believes no tree: it follows each with the recorded numbers.
"""
import json
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import torch

from . import accumulations, convolutions, kernels
from .kernels import Layout
from ..tracing.dispatched import Value

ATEN = torch.ops.aten
UNASKED = {"cumsum", "linalg_vector_norm"}  # sums, too
CONVOLUTION, CONVOLUTION_BACK = ATEN.convolution.default, ATEN.convolution_backward.default
PRODUCTS = (ATEN.mm.default, ATEN.addmm.default)
BATCHES, ADDED_BATCHES, VECTOR, ADDED_VECTOR = ATEN.bmm.default, ATEN.baddbmm.default, ATEN.mv.default, ATEN.addmv.default
DOTS = (ATEN.dot.default, ATEN.vdot.default)
FACTORED = (ATEN.addmm.default, ADDED_BATCHES, ADDED_VECTOR)  # they take alpha and beta
TIMES = (ATEN.mul.Tensor, ATEN.mul.Scalar)
REDUCTIONS = (ATEN.sum.default, ATEN.sum.dim_IntList, ATEN.mean.default, ATEN.mean.dim)
SQUARES, LIKELIHOOD = ATEN.mse_loss.default, ATEN.nll_loss_forward.default
FORWARD = (*PRODUCTS, BATCHES, ADDED_BATCHES, VECTOR, ADDED_VECTOR, *DOTS, CONVOLUTION, *REDUCTIONS, SQUARES, LIKELIHOOD)


@dataclass
class Held:
    """An operator that ran in the backward pass, without its numbers."""

    op: object
    args: list  # layouts in place of tensors
    result: torch.Tensor
    node: object = None  # the forward operator that it is the derivative of
    part: int = 0  # which of the operator's results
    places: tuple = ()  # of the tensors that it was given,
    at: tuple = ()  # and where their entries begin
    form: str = ""  # where a factor is multiplied in, by an operator of its own


def is_sum(op):
    return op in (*PRODUCTS, BATCHES, VECTOR, CONVOLUTION_BACK, *TIMES, *accumulations.ADDITIONS) or op is ATEN.sum.dim_IntList


def held(op, args, result, node):
    return Held(op, [Layout.of(a) if isinstance(a, torch.Tensor) else a for a in args], result, node,
                places=tuple(place(a) for a in args if isinstance(a, torch.Tensor)),
                at=tuple(a.data_ptr() for a in args if isinstance(a, torch.Tensor)))


def kernel(by, kwargs):
    """Who is asked about it; None: nobody is."""
    op, args = by.op, by.args
    if op in PRODUCTS and (op in FACTORED or not kwargs):
        return kernels.Product(op, args, **kwargs)
    if op is BATCHES and not kwargs:
        return kernels.Batches(op, args)
    if op is ADDED_BATCHES:
        return kernels.AddedBatches(op, args, **kwargs)
    if op in (VECTOR, ADDED_VECTOR):
        return kernels.Vector(op, args, **kwargs)
    if op in DOTS:
        return kernels.Dot(op, args)
    if op is CONVOLUTION and not kwargs and len(args[1].shape) == 4:  # in the plane
        return (convolutions.Turned if args[6] else convolutions.Convolution)(op, args, tuple(by.result.shape))
    if op is CONVOLUTION_BACK and not kwargs and len(args[2].shape) == 4:
        turned, plain = (convolutions.TurnedInput, convolutions.TurnedWeight), (convolutions.Input, convolutions.Weight)
        return (*(turned if args[7] else plain), convolutions.Bias)[by.part](op, args)
    if op is ATEN.sum.dim_IntList and not kwargs and len(args[0].shape) == 2 and list(args[1]) == [0]:
        return kernels.Columns(op, *args)
    if op in REDUCTIONS and not kwargs and args[0].dtype.is_floating_point:
        mean = op in REDUCTIONS[2:]
        if not mean or args[0].dtype in (torch.float32, torch.float64):
            return kernels.Reduction(op, args[0], args[1] if len(args) > 1 else None, args[1:], mean)
    if op is SQUARES and (args[2:] or [1])[0] != 0 and args[0].shape == args[1].shape:
        return kernels.Squares(op, *args)
    if op is LIKELIHOOD and args[2] is None and args[3] != 0:
        return kernels.Likelihood(op, args[0], args[1], *args[3:])
    return None


def given(node):
    """The arguments, with layouts in place of tensors; of labels their numbers."""
    def one(v):
        if not isinstance(v, Value):
            return v
        return tuple(v.tensor.reshape(-1).tolist()) if node.op is LIKELIHOOD and not v.tensor.is_floating_point() else Layout.of(v.tensor)
    return [one(v) for v in node.args]


def place(t):
    return t.untyped_storage().data_ptr()


def forward(graph):
    """(part, name, tensor, op, args, its result) of each product and convolution."""
    for name, (node, _) in graph.recorded.items():
        if node.op in FORWARD and name in {graph.names.get(id(v)) for v in node.results}:
            result = node.results[0].tensor
            yield "output", name, result, Held(node.op, given(node), result), node.kwargs


def made_by(sums):
    """The sums in the backward pass, by the places of their results. An operator with factors multiplies by them before a sum, or after."""
    made, scaled = {}, {}
    for one in sums:
        if one.op in accumulations.ADDITIONS:
            continue
        if one.op in TIMES:
            of = made.get(one.places[0])
            if one.node is None or one.node.op not in FACTORED:
                continue
            if of is not None and of.node is one.node and not of.form:
                made[place(one.result)] = replace(of, result=one.result, form="sum")
            else:
                scaled[place(one.result)] = one.node
            continue
        first = any(scaled.get(at, one) is one.node for at in one.places)
        for part, t in enumerate(one.result if isinstance(one.result, tuple) else [one.result]):
            if t is not None:
                made[place(t)] = replace(one, result=t, part=part, form="first" if first else "")
    return made


def backward(trace, graph, parameters):
    """The same of the gradients that sums in the backward pass became; of several that are added up accumulations.Several in place of one
    operator."""
    names = {id(t): name for name, t in parameters.items()}
    reads = Counter(id(v) for node in trace.nodes if any(t is not None for t in node.grad_inputs) for v in node.reads)
    additions = [one for one in trace.sums if one.op in accumulations.ADDITIONS and len(one.at) == 2]
    for value, parts in accumulations.partials(graph, made_by(trace.sums), place).values():
        if len(parts) < 3 and all(part.by is None for part in parts):
            continue  # no sum, or one of two numbers, whose exact result is rounded once
        by = parts[0].by if reads[id(value)] == 1 else accumulations.several(parts, additions, id(value.tensor) in names, reads[id(value)])
        if id(value.tensor) in names:
            yield "parameter", names[id(value.tensor)], parts[0].gradient, by, {}
        elif id(value) in graph.names and value.node is not None:
            yield "gradient", graph.names[id(value)], parts[0].gradient, by, {}


def spread(which, result, t):
    """Which tree each entry of t has, a view of the result: rows x columns, the last axis the columns."""
    layout = replace(Layout.of(result), dtype=torch.int64, device=torch.device("cpu"))
    numbers = layout.filled(which.reshape(result.shape))
    numbers = numbers.as_strided(t.shape, t.stride(), t.storage_offset())
    return numbers.reshape(-1, t.shape[-1] if t.dim() else 1).numpy()


def entry(part, name, t, leaves, texts, forms, which):
    """An entry of the file; if there is no tree, a text that says why."""
    parts = [{"tree": text, **({"form": form} if form else {}), "rows": rows, "columns": columns}
             for number, (text, form) in enumerate(zip(texts, forms)) for rows, columns in kernels.rectangles(which, number)]
    if len(parts) > kernels.MOST_PARTS:
        return f"its {len(texts)} trees are of entries in more than {kernels.MOST_PARTS} rectangles"
    return {"part": part, "name": name, "leaves": leaves, "type": "float64" if t.dtype == torch.float64 else "float32", "trees": parts}


def describe(part, name, t, by, kwargs, known, swapped):
    """The same of one sum, whose tree is asked for. swapped: forms by others' names."""
    asked, found = ask(by, kwargs, known)
    if found is None or found.why:
        return f"nobody is asked about {by.op}" if found is None else found.why
    forms = [swapped.get(by.form or form, by.form or form) for form in found.forms]
    return entry(part, name, t, asked.leaves, found.texts, forms, spread(found.which, by.result, t))


def describe_several(part, name, t, of, known):
    """Describes a gradient of several that are added up."""
    parts = []
    for one in of.parts if not of.why else []:
        if one.by is None:
            shape = one.gradient.shape
            parts.append((1, ["0"], np.zeros((int(np.prod(shape[:-1])), shape[-1] if len(shape) else 1), int)))
            continue
        asked, found = ask(one.by, {}, known)
        if found is None or found.why:
            return f"several sums are added up; {f'nobody is asked about {one.by.op}' if found is None else found.why}"
        parts.append((asked.leaves, found.texts, spread(found.which, one.by.result, one.gradient)))
    if of.why:
        return of.why
    texts, which = accumulations.whole(of.order, parts)
    return entry(part, name, t, sum(leaves for leaves, *_ in parts), texts, [""] * len(texts), which)


def ask(by, kwargs, known):
    """(the kernel, what was found); None, None: nobody is asked."""
    asked = kernel(by, kwargs)
    if asked is None:
        return None, None
    key = (by.op, str(by.args), by.part, str(kwargs))
    if key not in known:
        known[key] = kernels.find(asked)
    return asked, known[key]


SWAPPED = {"first": "second", "second": "first"}


def is_swapped(graph, name):
    """Is it an activation that the first factor, a constant, is multiplied by? Activations come first in the file."""
    node = graph.recorded[name][0]
    first, second = (graph.names.get(id(v)) in graph.active for v in node.args[1:3]) if node.op in FACTORED else (True, False)
    return second and not first


def find(trace, graph, parameters):
    """The file's bytes."""
    sums, known = [], {}
    unknown = [{"part": "output", "name": name, "why": f"nobody is asked about {node.aten}"}
               for name, (node, _) in graph.recorded.items() if node.name in UNASKED and name == graph.names.get(id(node.results[0]))]
    all_ = [*forward(graph), *backward(trace, graph, parameters)]
    twice = {key for key, n in Counter((part, name) for part, name, *_ in all_).items() if n > 1}
    unknown += [{"part": part, "name": name, "why": "several sums are added up"} for part, name in sorted(twice)]
    for part, name, t, by, kwargs in all_:
        if (part, name) in twice or t.numel() == 0:
            continue
        if isinstance(by, accumulations.Several):
            made = describe_several(part, name, t, by, known)
        else:
            made = describe(part, name, t, by, kwargs, known, SWAPPED if part == "output" and is_swapped(graph, name) else {})
        if isinstance(made, str):
            unknown.append({"part": part, "name": name, "why": made})
        else:
            sums.append(made)
    lists = ",\n ".join(f'"{key}": [' + ",".join("\n  " + json.dumps(s) for s in list_) + "\n ]"
                        for key, list_ in (("sums", sums), ("unknown", unknown)))
    return f'{{\n "format": "clarke-trees", "version": 1,\n {lists}\n}}\n'.encode()
