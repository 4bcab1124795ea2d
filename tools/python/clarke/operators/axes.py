"""Where the samples of a batch are in a tensor: on its first axis as a rule, or moved, or merged with other axes.

    x.view(N * T, E)        entries keep their order, so the samples are on axis 0, T entries of one behind another

Entries of one sample lie `behind` its own, in the order of all: T E of them here. So a reshape leaves that number as it is, and another axis may hold
the samples (docs/operators.md, "Where the batch is"). An operator that may not be told to keep them apart makes the step a single run.
"""
import math

from .kinks import sorting
from ..tracing.dispatched import values_in

# ATen's operators that work along an axis: the argument's place, with the result's shape telling nothing.
ALONG = {name: place for place, names in {1: "select slice unbind stack cat _softmax _safe_softmax _log_softmax mean sum nansum var std var_mean std_mean logsumexp max min amax amin prod cumprod cummax cummin cumsum flip index_select glu permute",
                                            2: "split split_with_sizes unsafe_split unsafe_split_with_sizes linalg_vector_norm norm roll"}.items()
         for name in names.split()}


# ATen's operators of several tensors entry by entry.
BESIDE = {"add", "sub", "rsub", "mul", "div", "addcmul", "addcdiv", "maximum", "minimum", "where"}
# ATen's losses of two tensors' differences.
DIFFERENCES = {"mse_loss", "huber_loss", "smooth_l1_loss"}
# ATen's operators with weights: the place of what is no weight.
WEIGHS = {"addmm": 1, "addmv": 1, "convolution": 0, "native_layer_norm": 0, "native_group_norm": 0, "native_batch_norm": 0,
          "_native_batch_norm_legit": 0}
# Where no sample may be elsewhere than here. (A bias of addmm is of the result's rows.)
WEIGHED = {**{name: at for name, at in WEIGHS.items() if name != "addmm"}, "embedding": 1}
# ATen's operators that leave entries in their order; that take each entry alone; that take them from several tensors, entry by entry.
ORDERED = {"view", "_unsafe_view", "reshape", "flatten", "squeeze", "unsqueeze", "_reshape_alias", "clone", "alias", "contiguous", "lift_fresh",
           "_to_copy", "detach"}
RECURRENT = {"mkldnn_rnn_layer", "_cudnn_rnn"}  # layers in one operator
SPLIT = {"split", "split_with_sizes", "unsafe_split", "unsafe_split_with_sizes"}
ALONE = {"relu", "sigmoid", "tanh", "abs", "hardswish", "exp", "erf", "reciprocal", "sqrt", "log", "neg", "gelu", "silu", "mish", "leaky_relu", "elu", "celu", "selu", "hardtanh", "hardsigmoid", "rsqrt", "square", "expm1", "softplus", "threshold",
         "sin", "cos", "tan", "sinh", "cosh", "exp2", "log2", "log10", "erfc", "atan"}
TOGETHER = {"add", "sub", "rsub", "mul", "div", "maximum", "minimum"}


def moving(graph, node):
    """What the node reads that has samples."""
    return [v for v in values_in(node.args) if graph.names.get(id(v)) in graph.active or id(v) in graph.rows]


def keeps_first(graph, node, result):
    """Is the first axis, that of samples in all that is read, still theirs? A shape alone tells that of most operators; of the others their axes do."""
    samples, shape, name = graph.x.tensor.shape[:1], result.tensor.shape, node.name.rstrip("_")
    if len(samples) != 1 or shape[:1] != samples:
        return False
    active = moving(graph, node)
    if any(v.tensor.shape[:1] != samples for v in active):
        return False
    if name == "addmm" and any(node.args[2] is v for v in active):
        return False  # columns of all samples
    if name == "t" or (name in ("mm", "matmul", "mv") and (not any(node.args[0] is v for v in active) or len(active) > 1)):
        return False
    if name == "transpose":
        rank = active[0].tensor.dim()
        return 0 not in (node.args[1] % rank, node.args[2] % rank)
    if name in ("tril", "triu") and len(shape) == 2:
        return False
    if name in RECURRENT and result is not node.results[0]:
        return False  # of each layer the last states
    if name in (*BESIDE, "addmm", "baddbmm") and any(v.tensor.dim() != len(shape) for v in active):
        return False  # a missing axis is the first
    if name in WEIGHED and any(v is a for i, v in enumerate(node.args) if i != WEIGHED[name] for a in active):
        return False  # a weight, or a table, that each sample has its own part of
    if name in ("cat", "stack") and any(all(v is not a for a in active) for v in values_in(node.args)):
        return False  # rows of a parameter, as many as samples
    if name == "native_layer_norm" and len(node.args[1]) >= len(shape):
        return False
    if name == "constant_pad_nd" and len(node.args[1]) == 2 * len(shape):
        return not any(node.args[1][-2:])
    if name == "index":
        return node.args[1][0] is None
    if name in ("sort", "topk"):
        return sorting(node)[0] != 0
    if name in ALONG:
        axes = node.args[ALONG[name]] if len(node.args) > ALONG[name] else node.kwargs.get("dim", 0)
        rank = max(len(shape), active[0].tensor.dim())
        if axes is None:
            return False
        axes = [a % rank for a in (axes if isinstance(axes, (list, tuple)) else [axes])]
        return axes[:1] == [0] if name == "permute" else 0 not in axes
    added = {"addmm": 1, "addmv": 1, "baddbmm": 1, "addcmul": 3, "addcdiv": 3, **dict.fromkeys(TOGETHER, 2)}
    return all(any(v is a for a in active) or v.tensor.dim() < len(shape) or v.tensor.shape[0] == 1
               for v in values_in(node.args[:added.get(name, 0)]))


# ---- Moved, and merged


def place(shape, behind, samples):
    """(axis, entries of a sample along it): an axis of nothing else, if there is one; None: no axis holds them whole."""
    suffix, found = 1, None
    for axis in reversed(range(len(shape))):
        fits = suffix > 0 and behind % suffix == 0 and shape[axis] % samples == 0 and (shape[axis] // samples * suffix) % behind == 0
        if fits and (found is None or shape[axis] == samples):
            found = axis, behind // suffix
        suffix *= shape[axis]
    return found


def at(graph, value):
    """The place of the samples in a value."""
    samples = graph.x.tensor.shape[0]
    return place(value.tensor.shape, graph.behind.get(id(value), value.tensor.numel() // samples), samples)


def is_first(graph, value):
    """Are they on the first axis, alone?"""
    return at(graph, value) == (0, 1) and value.tensor.shape[0] == graph.x.tensor.shape[0]


def behind(graph, node, value):
    """How many entries lie behind a sample's in a result; None: samples may be mixed."""
    shape, samples = value.tensor.shape, graph.x.tensor.shape[0]
    active = moving(graph, node)
    if all(is_first(graph, v) for v in active) and keeps_first(graph, node, value):
        return math.prod(shape[1:])
    found = None if graph.first else moved(graph, node, value, active, samples)
    if found is None:
        return None
    axis, inner = found
    return inner * math.prod(shape[axis + 1:])


def moved(graph, node, value, active, samples):
    """The place of the samples in the result of an operator that takes them anywhere."""
    name, shape = node.name.rstrip("_"), value.tensor.shape
    places = [at(graph, v) for v in active]
    if not active or None in places:
        return None
    axis, inner = places[0]
    rank = active[0].tensor.dim()
    if name in ORDERED:
        return place(shape, inner * math.prod(active[0].tensor.shape[axis + 1:]), samples)
    if name in ("t", "transpose", "permute"):
        return order(node, rank).index(axis), inner
    if name in ALONE:
        return axis, inner
    if name in TOGETHER:
        return together(node, active, places, len(shape))
    if name in ("_softmax", "_safe_softmax", "_log_softmax"):
        return None if node.args[1] % rank == axis else (axis, inner)
    if name in ("select", "slice", "unbind", *SPLIT) and len(active) == 1:
        return along(node, name, rank, axis, inner)
    if name in RECURRENT and len(active) == 1:
        return (axis, inner) if value is node.results[0] else (len(shape) - 2, 1)
    if name in ("stack", "cat"):
        return joined(node, name, active, places, len(shape))
    return products(node, active, places, name)


def order(node, rank):
    if node.name.rstrip("_") == "permute":
        return [a % rank for a in node.args[1]]
    a, b = (node.args[1] % rank, node.args[2] % rank) if node.name.rstrip("_") == "transpose" else (0, rank - 1)
    out = list(range(rank))
    out[a], out[b] = out[b], out[a]
    return out


def together(node, active, places, rank):
    """Several tensors, counted from the end: all have the samples at one place, and what has none has one entry there."""
    ends = {(axis - v.tensor.dim(), inner) for v, (axis, inner) in zip(active, places)}
    if len(ends) != 1:
        return None
    axis, inner = ends.pop()
    others = [v.tensor for v in values_in(node.args[:2]) if all(v is not a for a in active)]
    if any(t.dim() >= -axis and t.shape[axis] != 1 for t in others):
        return None
    return rank + axis, inner


def along(node, name, rank, axis, inner):
    """Another axis is cut, or gone."""
    i = 2 if name in SPLIT else 1
    cut = (node.args[i] if len(node.args) > i else node.kwargs.get("dim", 0)) % rank
    return None if cut == axis else (axis - (name in ("select", "unbind") and cut < axis), inner)


def joined(node, name, active, places, rank):
    """Several tensors one behind another along another axis, or along a new one; all have the samples at one place."""
    if len(set(places)) != 1 or any(all(v is not a for a in active) for v in values_in(node.args)):
        return None
    axis, inner = places[0]
    cut = (node.args[1] if len(node.args) > 1 else node.kwargs.get("dim", 0)) % rank
    if name == "stack":
        return axis + (cut <= axis), inner
    return None if cut == axis else (axis, inner)


def products(node, active, places, name):
    """Rows of samples times a matrix that all have; products of two at the samples' own places."""
    factors = node.args[1:3] if name in ("addmm", "baddbmm") else node.args[:2]
    if name in ("mm", "addmm") and len(active) == 1 and active[0] is factors[0] and active[0] is not factors[1]:
        return places[0] if places[0][0] == 0 else None
    whole = all(v.tensor.dim() == 3 for v in active)  # what is added may have no samples' axis
    if name in ("bmm", "baddbmm") and whole and all(any(v is a for a in active) for v in factors):
        return places[0] if places[0][0] == 0 and len(set(places)) == 1 else None
    return None
