"""ATen's operators that make images larger."""
import torch

from .operators import argument, operator, result


@operator("upsample_nearest1d", "upsample_nearest2d", "_upsample_nearest_exact1d", "_upsample_nearest_exact2d")
def write_nearest(g, node):
    """Along each axis the entries that PyTorch takes: they are asked of the operator itself, on an axis of places."""
    x, name = node.args[0].tensor, g.of(node.args[0])
    for axis in range(2, x.dim()):
        taken = along(node, axis, torch.arange(x.shape[axis], dtype=torch.float64)[:, None])
        name = g.add("Gather", [name, g.constant(taken[:, 0].to(torch.int64))], axis=axis)
    return name


@operator("upsample_linear1d", "upsample_bilinear2d")
def write_linear(g, node):
    """Along each axis a linear map, whose numbers are those that PyTorch computes."""
    x, name = node.args[0].tensor, g.of(node.args[0])
    wide = torch.float64 if x.dtype == torch.float64 else torch.float32
    weights = [along(node, axis, torch.eye(x.shape[axis], dtype=wide, device=x.device)) for axis in range(2, x.dim())]
    name = g.add("MatMul", [name, g.constant(weights[-1].t().contiguous())])
    return name if len(weights) == 1 else g.add("MatMul", [g.constant(weights[0]), name])


def along(node, axis, entries):
    """What the operator makes of an axis alone, whose entries are the rows of a table."""
    names = {"1": ["scales"], "2": ["scales_h", "scales_w"]}[node.name[-2]]
    options = [argument(node, 2, "align_corners")] if "linear" in node.name else []
    scale = argument(node, 2 + len(options) + axis - 2, names[axis - 2])
    op = {"upsample_nearest": torch.ops.aten.upsample_nearest1d, "_upsample_nearest_exact": torch.ops.aten._upsample_nearest_exact1d,
          "upsample_linear": torch.ops.aten.upsample_linear1d, "upsample_bilinear": torch.ops.aten.upsample_linear1d}[node.name[:-2]]
    with torch.no_grad():
        rows = entries.t().unsqueeze(0).contiguous()
        return op(rows, [result(node).shape[axis]], *options, scale)[0].t().contiguous()


@operator("pixel_shuffle")
def write_pixel_shuffle(g, node):
    x, by = node.args[0].tensor, node.args[1]
    if x.dim() != 4:
        g.refuse("an image without a batch axis; give it one by unsqueeze(0)")
    n, c, h, w = x.shape
    name = g.add("Reshape", [g.of(node.args[0]), g.integers([n, c // by**2, by, by, h, w])])
    name = g.add("Transpose", [name], perm=[0, 1, 4, 2, 5, 3])
    return g.add("Reshape", [name, g.integers(result(node).shape)])
