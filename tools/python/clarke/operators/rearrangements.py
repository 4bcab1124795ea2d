"""ATen's operators that take, repeat and choose entries: Gather along one axis after another, and products with masks."""
import torch

from . import masks
from .table import argument, operator, result
from .reductions import MOST_ENTRIES, shared_extreme, spread
from ..tracing.dispatched import Value, overwritten


def taken(g, name, axis, places):
    return g.add("Gather", [name, g.integers(places)], axis=axis)


@operator("flip")
def write_flip(g, node):
    name, shape = g.of(node.args[0]), result(node).shape
    for axis in node.args[1]:
        name = taken(g, name, axis % len(shape), reversed(range(shape[axis])))
    return name


@operator("repeat")
def write_repeat(g, node):
    """New axes come first; then along each its entries over again."""
    x, counts = node.args[0].tensor, list(node.args[1])
    shape, name = [1] * (len(counts) - x.dim()) + list(x.shape), g.of(node.args[0])
    name = g.add("Reshape", [name, g.integers(shape)]) if len(shape) > x.dim() or max(counts) == 1 else name
    for axis, (count, size) in enumerate(zip(counts, shape)):
        if count == 0:
            g.refuse("no entry is left", "repeat it once at least")
        name = taken(g, name, axis, list(range(size)) * count) if count > 1 else name
    return name


@operator("index_select")
def write_index_select(g, node):
    x, axis, places = node.args[:3]
    return g.add("Gather", [g.of(x), g.of(places)], axis=axis % x.tensor.dim())


@operator("tril", "triu")
def write_triangle(g, node):
    """A product with ones and zeros."""
    shape = result(node).shape[-2:]
    ones = torch.ones(shape, dtype=result(node).dtype)
    kept = ones.tril(argument(node, 1, "diagonal", 0)) if node.name[:4] == "tril" else ones.triu(argument(node, 1, "diagonal", 0))
    return g.add("Mul", [g.of(node.args[0]), g.constant(kept)])


@operator("glu")
def write_glu(g, node):
    """The first half times the sigmoid of the second."""
    x = node.args[0].tensor
    axis = argument(node, 1, "dim", -1) % x.dim()
    ends = [0, x.shape[axis] // 2, x.shape[axis]]
    halves = [g.add("Slice", [g.of(node.args[0])] + [g.integers([n]) for n in (a, b, axis)]) for a, b in zip(ends, ends[1:])]
    return g.add("Mul", [halves[0], g.add("Sigmoid", [halves[1]])])


# ---- One or the other


def share(g, value, chosen, like):
    """The value where it is chosen, 0 elsewhere: a product of an activation, an array of data."""
    if isinstance(value, Value) and (id(value) in g.names or value.requires_grad):
        return g.add("Mul", [g.of(value), g.data("kept", chosen.to(like.dtype))])
    numbers = g.numbers(value).cpu() if isinstance(value, Value) else torch.tensor(value, dtype=like.dtype)
    table = torch.where(chosen, numbers.to(like.dtype), torch.zeros((), dtype=like.dtype))
    if not bool(torch.isfinite(table).all()):
        return masks.constant(g, table, g.current.results[0])
    return g.data("chosen", table) if bool((table != 0).any()) else None


def choose(g, node, mask, first, other):
    """The mask is numbers: data, or comparisons of what is trained that are not at their jump."""
    chosen, shape = g.numbers(mask).cpu(), list(result(node).shape)
    if not g.whole and (chosen.dim() < len(shape) or chosen.shape[0] == 1):  # all samples have it
        shape[0] = 1
    return choose_by(g, node, chosen.expand(shape) if chosen.dim() else chosen, first, other)


def choose_by(g, node, chosen, first, other):
    like = result(node)
    terms = [t for t in (share(g, first, chosen, like), share(g, other, ~chosen, like)) if t is not None]
    if not g.active.intersection(terms):
        g.refuse("no entry is of what is trained", "compute such an array before the block, or under the mask's other side read what is trained")
    return g.add("Add", terms) if len(terms) == 2 else terms[0]


@operator("where")
def write_where(g, node):
    return choose(g, node, *node.args[:3])


@operator("masked_fill")
def write_masked(g, node):
    x, mask, number = node.args[:3]
    return choose(g, node, mask, number, x)


# ---- Entries that are put, or added


MOST_ADDED = 1 << 24  # entries of the table of places: of one place many are added


def flat(g, value, like):
    return g.add("Reshape", [g.operand(value, like), g.integers([value.tensor.numel()])])


def put(g, node, places, values):
    """Each entry is x's, or one of the values: places, as integers, of them one after another."""
    x, like = node.args[0], result(node)
    both = g.add("Concat", [flat(g, x, like), flat(g, values, like)], axis=0)
    return g.add("Reshape", [g.add("Gather", [both, g.data("places", places.reshape(-1))], axis=0), g.integers(like.shape)])


def add_at(g, node, targets, sources, values, factor=1, before=None):
    """Each of the flat places `targets` of x gets the entry of `values` at the flat place `sources` beside it. Each entry of the result is
    a sum over a line of a table: of as many places as the fullest has, the others of a zero. before: the name of what is there, where it is not x."""
    x, like = node.args[0], result(node)
    x = before or g.operand(x, like)
    count = torch.bincount(targets, minlength=like.numel())
    most = int(count.max()) if targets.numel() else 0
    if most == 0:
        return g.add("Identity", [x])
    if most * like.numel() > MOST_ADDED:
        g.refuse(f"up to {most} entries are added at one place, of {like.numel()}: too large a table", "multiply by a matrix of zeros and ones")
    order = torch.argsort(targets, stable=True)
    rank = torch.arange(targets.numel()) - (count.cumsum(0) - count)[targets[order]]
    table = torch.full((like.numel(), most), values.tensor.numel())
    table[targets[order], rank] = sources[order]
    entries = g.add("Concat", [flat(g, values, like), g.constant(torch.zeros(1, dtype=like.dtype))], axis=0)
    total = g.add("ReduceSum", [g.add("Gather", [entries, g.data("places", table)], axis=0), g.integers([1])], keepdims=0)
    total = total if factor == 1 else g.add("Mul", [total, g.scalar(factor, like)])
    return g.add("Add", [x, g.add("Reshape", [total, g.integers(like.shape)])])


def grid(shape, first=0):
    """The flat place of each entry."""
    count = 1
    for n in shape:
        count *= n
    return torch.arange(first, first + count).reshape(list(shape))


def lines(g, node):
    """(target, source) places of scatter's index, which may be smaller than what it reads: of dim, each entry its own place elsewhere."""
    axis, index, source = node.args[1], g.numbers(node.args[2]).cpu(), node.args[3]
    own = [slice(0, n) for n in index.shape]
    shape = result(node).shape
    if index.dim() == 0:
        return index.reshape(1), torch.zeros(1, dtype=torch.int64)
    corner = [slice(None) if a == axis % index.dim() else s for a, s in enumerate(own)]
    to = grid(shape)[tuple(corner)].gather(axis, index)
    return to.reshape(-1), grid(source.tensor.shape)[tuple(own)].reshape(-1) if isinstance(source, Value) else None


@operator("put")
def write_put(g, node):
    """Entries of a tensor that were changed by way of another one (dispatched.py)."""
    to, value = g.numbers(node.args[1]).cpu(), node.args[2]
    if (number := overwritten(value)) is not None:
        mask = torch.zeros(result(node).numel(), dtype=torch.bool)
        mask[to] = True
        return choose_by(g, node, mask.reshape(result(node).shape), number, node.args[0])
    table = grid(result(node).shape).reshape(-1)
    table[to] = torch.arange(to.numel()) + table.numel()
    return put(g, node, table, value)


@operator("fill", "zero")
def write_filled(g, node):
    """Nothing of what was there is left."""
    number = overwritten(node.results[0])
    if isinstance(number, Value) and number.requires_grad:
        return g.add("Identity", [spread(g, number, result(node))])
    return g.add("Lift", [g.data("filled", result(node).detach().contiguous())], domain="clarke")


@operator("copy")
def write_copied(g, node):
    """What is copied, as often as it takes."""
    return g.add("Identity", [spread(g, node.args[1], result(node))])


@operator("scatter_add")
def write_scatter_add(g, node):
    return add_at(g, node, *lines(g, node), node.args[3])


@operator("scatter_reduce")
def write_scatter_reduce(g, node):
    """The sum; that divided by the number of entries; or windows of all that come to a place, among whose equal ones AD divides."""
    how, own = node.args[4], argument(node, 5, "include_self", True)
    targets, sources = lines(g, node)
    if how in ("amax", "amin"):
        return largest_at(g, node, targets, sources, how == "amin", own)
    if how == "prod":
        return product_at(g, node, targets, sources, own)
    like, count = result(node), torch.bincount(targets, minlength=result(node).numel()).reshape(result(node).shape)
    x = node.args[0]
    before = None
    if not own and bool((count > 0).any()):
        before = share(g, x, count == 0, like) or g.constant(torch.zeros(list(like.shape), dtype=like.dtype))
    total = add_at(g, node, targets, sources, node.args[3], before=before)
    if how == "sum":
        return total
    return g.add("Div", [total, g.data("counts", (count + int(own)).clamp(min=1).to(like.dtype))])


def product_at(g, node, targets, sources, own):
    """Lines of all that comes to a place, and of ones behind it: one half times the other, until one is left."""
    x, values, like = node.args[0], node.args[3], result(node)
    count = torch.bincount(targets, minlength=like.numel())
    alone = torch.ones_like(count, dtype=torch.bool) if own else count == 0
    most = int((count + alone.to(torch.int64)).max())
    if most * like.numel() > MOST_ADDED:
        g.refuse(f"products of up to {most} entries, at {like.numel()} places: too large a table", "take it of parts")
    zeros = torch.cat([v.tensor.detach().cpu().reshape(-1) for v in (x, values)]) == 0
    order = torch.argsort(targets, stable=True)
    rank = torch.arange(targets.numel()) - (count.cumsum(0) - count)[targets[order]] + alone.to(torch.int64)[targets[order]]
    table = torch.full((most, like.numel()), like.numel() + values.tensor.numel())
    table[0, alone] = torch.arange(like.numel())[alone]
    table[rank, targets[order]] = sources[order] + like.numel()
    read = table[:, torch.ones_like(alone) if id(x) in g.names or x.requires_grad else count > 0]
    if bool(zeros[read[read < len(zeros)]].any()):
        g.refuse("a factor is 0, by which PyTorch divides to have the derivative", "multiply the parts, or take prod of lines")
    name = g.add("Concat", [flat(g, x, like), flat(g, values, like), g.constant(torch.ones(1, dtype=like.dtype))], axis=0)
    name = g.add("Gather", [name, g.data("places", table)], axis=0)
    while most > 1:
        half = most // 2
        parts = [g.add("Slice", [name] + [g.integers([n]) for n in (first, last, 0)]) for first, last in ((0, half), (half, 2 * half), (2 * half, most))[:2 + most % 2]]
        both = g.add("Mul", parts[:2])
        name = g.add("Concat", [both, parts[2]], axis=0) if most % 2 else both
        most -= half
    return g.add("Reshape", [name, g.integers(like.shape)])


def largest_at(g, node, targets, sources, smallest, own):
    """Lines of all that comes to a place: what was there is the first of them, or alone where nothing comes. Shorter lines end with a number that is
    none's largest."""
    x, values, like = node.args[0], node.args[3], result(node)
    count = torch.bincount(targets, minlength=like.numel())
    alone = torch.ones_like(count, dtype=torch.bool) if own else count == 0
    name, unread = flat_beginning(g, x, like, count, smallest)
    alone &= ~unread
    length = count + alone.to(torch.int64)
    most = int(length.max())
    if most > MOST_ENTRIES or most * like.numel() > MOST_ADDED:
        g.refuse(f"the largest of up to {most} entries, at {like.numel()} places: too large a table", "take it of parts")
    order = torch.argsort(targets, stable=True)
    rank = torch.arange(targets.numel()) - (count.cumsum(0) - count)[targets[order]] + alone.to(torch.int64)[targets[order]]
    table = torch.zeros(like.numel(), most, dtype=torch.int64)
    table[alone, 0] = torch.arange(like.numel())[alone]
    table[targets[order], rank] = sources[order] + like.numel()
    at = torch.arange(most).expand(like.numel(), most)
    numbers = torch.cat([v.tensor.detach().cpu().reshape(-1) for v in (x, values)])
    rest = farther(numbers[table[at < length[:, None]]], smallest)
    table = torch.where(at < length[:, None], table, numbers.numel())
    if bool((~alone & (x.tensor.detach().cpu().reshape(-1) == like.detach().cpu().reshape(-1))).any()):
        g.refuse("what was there is equal to the largest, and though it is left out PyTorch gives it a share of the gradient",
                 "begin with numbers that are smaller, as -inf, or include_self=True")
    both = g.add("Concat", [name, flat(g, values, like), g.data("rest", rest)], axis=0)
    lines = g.add("Gather", [both, g.data("places", table)], axis=0)
    return g.add("Reshape", [shared_extreme(g, lines, table, [1], smallest), g.integers(like.shape)])


def farther(numbers, smallest):
    """A number that is far below all of them, or above."""
    least = (-numbers if smallest else numbers).min().to(torch.float64)
    far = (least - least.abs() - 1).clamp(min=torch.finfo(numbers.dtype).min).to(numbers.dtype)
    return (-far if smallest else far).reshape(1)


def flat_beginning(g, x, like, count, smallest):
    """What was there, and where it is infinity, less or larger than all that comes there: nobody reads it."""
    unread = (count > 0) & (x.tensor.detach().cpu().reshape(-1) == (float("inf") if smallest else float("-inf")))
    if id(x) in g.names or x.requires_grad or not bool(unread.any()):
        return flat(g, x, like), torch.zeros_like(unread)
    numbers = g.numbers(x).cpu().to(like.dtype).reshape(-1)
    return g.data("data", numbers.masked_fill(unread, 0)), unread


@operator("scatter")
def write_scatter(g, node):
    """One entry at each place; of several PyTorch may take any."""
    value = node.args[3]
    if node.op._overloadname not in ("src", "value", "src_out", "value_out"):
        g.refuse("with a reduction", "take scatter_add")
    to, source = lines(g, node)
    if isinstance(value, Value) and to.unique().numel() != to.numel():
        g.refuse("several entries are put at one place, and any may stay", "put one")
    if not isinstance(value, Value):
        mask = torch.zeros(result(node).numel(), dtype=torch.bool)
        mask[to] = True
        return choose_by(g, node, mask.reshape(result(node).shape), value, node.args[0])
    places = grid(result(node).shape).reshape(-1)
    places[to] = source + places.numel()
    return put(g, node, places, value)


@operator("index_add")
def write_index_add(g, node):
    x, axis, places, rows = node.args[:4]
    index, axis = g.numbers(places).cpu().to(torch.int64).reshape(-1), axis % max(1, result(node).dim())
    to = grid(result(node).shape).index_select(axis, index) if result(node).dim() else index
    return add_at(g, node, to.reshape(-1), grid(rows.tensor.shape).reshape(-1), rows, argument(node, 4, "alpha", 1))


@operator("index_put", "_unsafe_index_put")
def write_index_put(g, node):
    """By lists of places, or a mask; accumulate adds."""
    x, places, values, adds = node.args[0], node.args[1], node.args[2], argument(node, 3, "accumulate", False)
    chosen = tuple(slice(None) if v is None else g.numbers(v).cpu() for v in places)
    to = grid(result(node).shape)[chosen]
    sources = grid(values.tensor.shape).expand(to.shape)
    if adds:
        return add_at(g, node, to.reshape(-1), sources.reshape(-1), values)
    if to.unique().numel() != to.numel() and values.tensor.numel() > 1:
        g.refuse("several entries are put at one place, and any may stay", "put one, or accumulate")
    table = grid(result(node).shape).reshape(-1)
    table[to.reshape(-1)] = sources.reshape(-1) + table.numel()
    return put(g, node, table, values)
