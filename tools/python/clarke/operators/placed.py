"""ATen's operators that put entries among others: each entry of the result is one of them, or of what was there."""
import torch

from .losses import picked
from .table import argument, operator, places_read, result
from .rearrangements import add_at, choose_by, grid, put
from ..refused import Unbatched
from ..tracing.dispatched import Value


def put_at(g, node, to, values):
    """The values, one after another, at these flat places of x."""
    if not g.whole:
        raise Unbatched
    table = grid(result(node).shape).reshape(-1)
    table[to.reshape(-1)] = torch.arange(to.numel()) + table.numel()
    return put(g, node, table, values)


def require_once(g, to):
    if to.unique().numel() != to.numel():
        g.refuse("several entries are put at one place, and any may stay", "put one")


@operator("select_scatter", "slice_scatter", "diagonal_scatter")
def write_part(g, node):
    """A part of it is another tensor: the operator itself says where."""
    x, source, rest = node.args[0].tensor, node.args[1], node.args[2:]
    take = {"select_scatter": torch.select, "diagonal_scatter": torch.diagonal, "slice_scatter": torch.ops.aten.slice.Tensor}[node.name]
    return put_at(g, node, take(grid(x.shape), *rest, **node.kwargs), source)


@operator("index_copy")
def write_copied_rows(g, node):
    x, axis, places, rows = node.args[:4]
    to = grid(x.tensor.shape).index_select(axis, g.numbers(places).cpu().reshape(-1))
    require_once(g, to)
    return put_at(g, node, to, rows)


@operator("index_fill")
def write_filled_rows(g, node):
    x, axis, places, number = node.args[:4]
    mask = torch.zeros(x.tensor.shape, dtype=torch.bool).index_fill(axis, g.numbers(places).cpu(), True)
    if not g.whole:
        raise Unbatched
    return choose_by(g, node, mask, number, x)


@operator("masked_scatter")
def write_masked_places(g, node):
    """As many of the values as the mask has places."""
    x, mask, values = node.args[:3]
    like = result(node)
    to = grid(like.shape)[g.numbers(mask).cpu().expand(like.shape)]
    if x.tensor.shape != like.shape or not g.whole:
        raise Unbatched
    table = grid(like.shape).reshape(-1)
    table[to] = torch.arange(to.numel()) + table.numel()
    return put(g, node, table, values)


@operator("masked_select")
def write_chosen(g, node):
    x, mask = node.args[:2]
    if result(node).numel() == 0 or x.tensor.shape != torch.broadcast_shapes(x.tensor.shape, mask.tensor.shape):
        g.refuse("no entry is chosen, or the mask is larger", "expand the tensor to the mask")
    return picked(g, node, [mask], lambda grid: grid.masked_select(mask.tensor.cpu()))


@operator("roll")
def write_roll(g, node):
    """Along each axis the entries in turn, from another one on; without axes all in one row."""
    x, shifts, axes = node.args[0], node.args[1], argument(node, 2, "dims", [])
    if not axes:
        return picked(g, node, [], lambda grid: grid.roll(list(shifts)))
    name = g.of(x)
    for shift, axis in zip(shifts, axes):
        size = x.tensor.shape[axis]
        name = g.add("Gather", [name, g.integers((i - shift) % size for i in range(size))], axis=axis % x.tensor.dim())
    return name


@operator("block_diag")
def write_blocks(g, node):
    """Matrices along a diagonal, zeros elsewhere."""
    if not g.whole:
        raise Unbatched
    like, parts, first = result(node), list(node.args[0]), 0
    blocks = []
    for v in parts:
        blocks.append(torch.arange(first, first + v.tensor.numel()).reshape(v.tensor.shape) + 1)
        first += v.tensor.numel()
    places = torch.block_diag(*blocks) - 1
    places[places < 0] = first
    names = [g.add("Reshape", [g.operand(v, like), g.integers([v.tensor.numel()])]) for v in parts]
    both = g.add("Concat", [*names, g.constant(torch.zeros(1, dtype=like.dtype))], axis=0)
    return g.add("Reshape", [g.add("Gather", [both, g.data("places", places.reshape(-1))], axis=0), g.integers(like.shape)])


@operator("col2im")
def write_folded(g, node):
    """Windows that are added up where they overlap: `fold`."""
    x, size, kernel, dilation, padding, stride = node.args[:6]
    like = result(node)
    if like.dim() != 4 or not g.whole:
        raise Unbatched
    space = [n + 2 * p for n, p in zip(size, padding)]
    out = [(n - d * (k - 1) - 1) // s + 1 for n, d, k, s in zip(space, dilation, kernel, stride)]
    whole = torch.full((like.shape[0], like.shape[1], *space), -1)
    whole[:, :, padding[0]:space[0] - padding[0], padding[1]:space[1] - padding[1]] = grid(like.shape)
    to = whole.reshape(*like.shape[:2], -1)[:, :, places_read(space, kernel, stride, dilation, out)]
    targets, sources = to.reshape(-1), torch.arange(x.tensor.numel())
    zeros = g.constant(torch.zeros(like.shape, dtype=like.dtype))
    return add_at(g, node, targets[targets >= 0], sources[targets >= 0], x, before=zeros)


@operator("max_unpool2d")
def write_unpooled(g, node):
    """Entries at the places where a pool found them, zeros elsewhere."""
    x, like = node.args[0], result(node)
    if not g.whole:
        raise Unbatched
    planes = like[..., 0, 0].numel()
    to = g.numbers(node.args[1]).cpu().reshape(planes, -1) + torch.arange(planes)[:, None] * (like.numel() // planes)
    require_once(g, to)
    table = torch.full((like.numel(),), x.tensor.numel())
    table[to.reshape(-1)] = torch.arange(x.tensor.numel())
    both = g.add("Concat", [g.add("Reshape", [g.of(x), g.integers([x.tensor.numel()])]), g.constant(torch.zeros(1, dtype=like.dtype))], axis=0)
    return g.add("Reshape", [g.add("Gather", [both, g.data("places", table)], axis=0), g.integers(like.shape)])


# ---- Sequences of several lengths, the rows of a time together


@operator("_pack_padded_sequence")
def write_packed(g, node):
    """At each time the rows of the sequences that are as long."""
    if not g.whole:
        raise Unbatched
    x, sizes = node.args[0].tensor, node.results[1].tensor.cpu().tolist()
    first = bool(argument(node, 2, "batch_first", False))
    return {0: picked(g, node, [], lambda grid: torch.cat([(grid.transpose(0, 1) if first else grid)[t, :n] for t, n in enumerate(sizes)]))}


@operator("_pad_packed_sequence")
def write_unpacked(g, node):
    """The rows back in their sequences, behind whose ends a number stands."""
    if not g.whole:
        raise Unbatched
    x, sizes, first, number = node.args[0], node.args[1].tensor.cpu().tolist(), argument(node, 2, "batch_first", False), argument(node, 3, "padding_value", 0.0)
    like, count = node.results[0].tensor, x.tensor.numel()
    table = torch.full(like.shape, count)
    rows, at = (table.transpose(0, 1) if first else table), 0
    for t, n in enumerate(sizes):
        rows[t, :n] = torch.arange(at, at + rows[t, :n].numel()).reshape(rows[t, :n].shape)
        at += rows[t, :n].numel()
    both = g.add("Concat", [g.add("Reshape", [g.of(x), g.integers([count])]), g.constant(torch.full((1,), number, dtype=like.dtype))], axis=0)
    return {0: g.add("Reshape", [g.add("Gather", [both, g.data("places", table.reshape(-1))], axis=0), g.integers(like.shape)])}
