"""ATen's embeddings: rows of a table, alone and in bags."""
import torch

from .losses import values
from .rearrangements import farther
from .reductions import window
from .table import argument, operator, result
from ..refused import Unbatched


def shared_gradient(g, node, rows, read):
    """The same rows, whose gradients PyTorch divides by how often the table's row is read: of each so small a part is the table's, the rest a constant."""
    like = result(node)
    counts = torch.bincount(read.reshape(-1))[read].to(torch.float64).unsqueeze(-1)
    if bool((counts == 1).all()):
        return rows
    g.surrogate(node, "gradients are divided by how often a row is read (scale_grad_by_freq)")
    numbers = node.args[0].tensor.detach().cpu().to(torch.float64)[read]
    return g.add("Add", [g.add("Div", [rows, g.data("frequencies", counts.to(like.dtype))]), g.data("rest", (numbers - numbers / counts).to(like.dtype))])


@operator("embedding")
def write_embedding(g, node):
    """A row that is padding gets no gradient here: to AD it is a constant."""
    table, places = node.args[:2]
    padding, by_frequency = argument(node, 2, "padding_idx", -1), argument(node, 3, "scale_grad_by_freq", False)
    if g.whole or places is not g.x:
        rows = g.add("Gather", [g.of(table), g.of(places)], axis=0)
    else:
        rows = g.add("MatMul", [g.tokens(places, table.tensor.shape[0], result(node).dtype), g.of(table)])
    if by_frequency and not g.whole:
        raise Unbatched
    read = g.numbers(places).cpu()
    rows = shared_gradient(g, node, rows, read) if by_frequency else rows
    unread = (g.numbers(places) == padding).unsqueeze(-1).expand(result(node).shape)
    if padding < 0 or not table.requires_grad or not (g.whole or bool(unread.any())):
        return rows
    g.padded(node, table, padding)
    kept = g.add("Mul", [rows, g.data("kept", (~unread).to(result(node).dtype))])
    return g.add("Add", [kept, g.data("padding", torch.where(unread, result(node).detach(), torch.zeros((), dtype=result(node).dtype)))])


def largest_of_bags(g, node, rows, read, inside):
    """In each column of a bag the largest entry, the row that PyTorch took before the others; 0, where a bag has none."""
    like, taken = result(node), node.results[3].tensor.cpu()
    width, count, sizes = like.shape[1], read.numel() * like.shape[1], inside.sum(1)
    others = 2 * (~inside)[:, None] + (read != taken[:, :, None])
    order = torch.sort(others, dim=2, stable=True).indices[..., :max(1, int(sizes.max()))]
    left = torch.arange(order.shape[2]) < sizes[:, None, None]
    places = torch.where(left, order * width + torch.arange(width)[:, None], count)
    places[sizes == 0] = count + 1
    numbers = node.args[0].tensor.detach().cpu()[read].reshape(-1)
    both = g.add("Concat", [g.add("Reshape", [rows, g.integers([count])]), g.data("rest", farther(numbers, False)), g.constant(torch.zeros(1, dtype=like.dtype))], axis=0)
    name = g.add("Gather", [both, g.data("places", places.reshape(-1, 1, 1, order.shape[2]))], axis=0)
    return g.add("Reshape", [window(g, name, order.shape[2], False), g.integers(like.shape)])


@operator("_embedding_bag", "_embedding_bag_forward_only")
def write_bags(g, node):
    """The rows that are read, times a matrix that says in which bag each is; of a mean divided by the bags' sizes."""
    given = list(node.args) + [False, 0, False, None, False, -1][len(node.args) - 3:]
    table, places, offsets, by_frequency, mode, _, weights, _, padding = given
    if not g.whole:
        raise Unbatched
    read, starts, own = values(g, places, offsets, weights)
    like, bags = result(node), result(node).shape[0]
    ends = torch.cat([starts, torch.tensor([len(read)])])[1:bags + 1].to(torch.int64)
    at = torch.arange(len(read))
    inside = (at >= starts[:bags, None]) & (at < ends[:, None]) & (read != padding)
    rows = g.add("Gather", [g.of(table), g.of(places)], axis=0)
    rows = shared_gradient(g, node, rows, read) if by_frequency else rows
    if mode == 2:
        return {0: largest_of_bags(g, node, rows, read, inside)}
    total = g.add("MatMul", [g.data("bags", inside.to(like.dtype) if own is None else inside * own.to(like.dtype)), rows])
    counts = inside.sum(1, keepdim=True).clamp(min=1).to(torch.float64 if like.dtype == torch.float64 else torch.float32)
    return g.add("Div", [total, g.data("bag_sizes", counts)]) if mode == 1 else total
