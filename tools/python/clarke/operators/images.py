"""ATen's operators that make images larger, or take windows of them."""
import torch

from .kinks import windows
from .table import argument, operator, pair, places_read, result
from ..refused import Unbatched

GIVE = "give it one by unsqueeze(0)"
DIVIDE = "multiply behind it, without divisor_override, or give the array a batch axis by unsqueeze(0)"


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


@operator("upsample_nearest3d", "_upsample_nearest_exact3d", "upsample_trilinear3d", "upsample_bicubic2d")
def write_larger_image(g, node):
    """Along each axis a linear map, whose numbers are those that PyTorch computes."""
    x, name = node.args[0].tensor, g.of(node.args[0])
    wide = torch.float64 if x.dtype == torch.float64 else torch.float32
    for axis in range(2, x.dim()):
        weights = alone(node, axis, torch.eye(x.shape[axis], dtype=wide, device=x.device))
        order = [a for a in range(x.dim()) if a != axis] + [axis]
        name = g.add("Transpose", [name], perm=order) if axis < x.dim() - 1 else name
        name = g.add("MatMul", [name, g.constant(weights.t().contiguous())])
        name = g.add("Transpose", [name], perm=[order.index(a) for a in range(x.dim())]) if axis < x.dim() - 1 else name
    return name


def alone(node, axis, rows):
    """What the operator makes of an axis alone, all other axes having one entry: of units."""
    space, like = node.args[0].tensor.dim() - 2, result(node)
    options = [] if "nearest" in node.name else [argument(node, 2, "align_corners")]
    shape = [1] * (space + 2)
    shape[1], shape[axis] = len(rows), len(rows)
    size = [1] * space
    size[axis - 2] = like.shape[axis]
    scales = [argument(node, 2 + len(options) + i, name) for i, name in enumerate(("scales_d", "scales_h", "scales_w")[3 - space:])]
    scales = [s if i == axis - 2 else None for i, s in enumerate(scales)]
    with torch.no_grad():
        made = node.op(rows.reshape(shape), size, *options, *scales)
    return made.reshape(len(rows), like.shape[axis]).t().contiguous()


@operator("pixel_shuffle")
def write_pixel_shuffle(g, node):
    x, by = node.args[0].tensor, node.args[1]
    if x.dim() != 4:
        g.refuse("an image without a batch axis", GIVE)
    n, c, h, w = x.shape
    name = g.add("Reshape", [g.of(node.args[0]), g.integers([n, c // by**2, by, by, h, w])])
    name = g.add("Transpose", [name], perm=[0, 1, 4, 2, 5, 3])
    return g.add("Reshape", [name, g.integers(result(node).shape)])


@operator("pixel_unshuffle")
def write_pixel_unshuffle(g, node):
    x, by = node.args[0].tensor, node.args[1]
    if x.dim() != 4:
        g.refuse("an image without a batch axis", GIVE)
    n, c, h, w = x.shape
    name = g.add("Reshape", [g.of(node.args[0]), g.integers([n, c, h // by, by, w // by, by])])
    name = g.add("Transpose", [name], perm=[0, 1, 3, 5, 2, 4])
    return g.add("Reshape", [name, g.integers(result(node).shape)])


@operator("channel_shuffle")
def write_channel_shuffle(g, node):
    shape, groups = list(result(node).shape), node.args[1]
    name = g.add("Reshape", [g.of(node.args[0]), g.integers([shape[0], groups, shape[1] // groups, *shape[2:]])])
    name = g.add("Transpose", [name], perm=[0, 2, 1, *range(3, len(shape) + 1)])
    return g.add("Reshape", [name, g.integers(shape)])


# ---- Borders


@operator("reflection_pad1d", "reflection_pad2d", "reflection_pad3d", "replication_pad1d", "replication_pad2d", "replication_pad3d")
def write_border(g, node):
    """Along each axis the entries that PyTorch takes: they are asked of the operator itself, on an axis of places."""
    x, pads, name = node.args[0].tensor, node.args[1], g.of(node.args[0])
    op = torch.nn.functional.pad
    for i in range(len(pads) // 2):
        axis = x.dim() - 1 - i
        if pads[2 * i] or pads[2 * i + 1]:
            places = torch.arange(x.shape[axis], dtype=torch.float64).reshape(1, 1, -1)
            taken = op(places, pads[2 * i:2 * i + 2], "reflect" if node.name[:3] == "ref" else "replicate")
            name = g.add("Gather", [name, g.constant(taken.reshape(-1).to(torch.int64))], axis=axis)
    return name if name != g.of(node.args[0]) else g.add("Identity", [name])


# ---- Windows


@operator("max_pool2d_with_indices")
def write_max_pool(g, node):
    x, kernel = node.args[0], pair(node.args[1])
    stride = pair(argument(node, 2, "stride", []) or kernel)
    padding, dilation = pair(argument(node, 3, "padding", [0])), pair(argument(node, 4, "dilation", [1]))
    if x.tensor.dim() != 4:
        g.refuse("a pool of an array without a batch axis", GIVE)
    return g.add("MaxPool", [g.of(x)], kernel_shape=kernel, strides=stride, pads=padding * 2, dilations=dilation,
                 ceil_mode=int(argument(node, 5, "ceil_mode", False)))


@operator("avg_pool2d")
def write_average_pool(g, node):
    kernel = pair(node.args[1])
    stride, padding = pair(argument(node, 2, "stride", []) or kernel), pair(argument(node, 3, "padding", [0]))
    if argument(node, 6, "divisor_override") is not None or node.args[0].tensor.dim() != 4:
        g.refuse("a divisor of its own, or no batch axis", DIVIDE)
    return g.add("AveragePool", [g.of(node.args[0])], kernel_shape=kernel, strides=stride, pads=padding * 2,
                 ceil_mode=int(argument(node, 4, "ceil_mode", False)),
                 count_include_pad=int(argument(node, 5, "count_include_pad", True)))


@operator("_adaptive_avg_pool2d")
def write_adaptive_average(g, node):
    """Windows of one size are a pool's. Others are sums along each axis, divided by the number of their entries."""
    x, size, out = node.args[0], node.args[0].tensor.shape[-2:], result(node).shape[-2:]
    if x.tensor.dim() != 4:
        g.refuse("a pool of an array without a batch axis", GIVE)
    if not any(a % b for a, b in zip(size, out)):
        kernel = [a // b for a, b in zip(size, out)]
        return g.add("AveragePool", [g.of(x)], kernel_shape=kernel, strides=kernel)
    rows, columns = (windows_of(a, b, x.tensor.dtype) for a, b in zip(size, out))
    sums = g.add("MatMul", [g.constant(rows), g.add("MatMul", [g.of(x), g.constant(columns.t().contiguous())])])
    counts = rows.sum(1, keepdim=True) * columns.sum(1)
    return sums if bool((counts == 1).all()) else g.add("Div", [sums, g.constant(counts)])


def windows_of(size, count, kind):
    """For each of so many windows over an axis: 1 where an entry is in it."""
    inside = torch.zeros(count, size, dtype=kind)
    for i in range(count):
        inside[i, i * size // count:-(-(i + 1) * size // count)] = 1
    return inside


MOST_SAMPLED = 1 << 24  # entries of the matrix of a grid


@operator("grid_sampler_2d", "grid_sampler_3d", "grid_sampler")
def write_grid(g, node):
    """A linear map of each plane, where the grid is data: its numbers are asked of the operator itself, of planes with one entry that is 1."""
    x, like, options = node.args[0].tensor, result(node), node.args[2:5]
    if id(node.args[1]) in g.names or node.args[1].requires_grad:
        return sampled(g, node)
    places, size = g.numbers(node.args[1]).to(like.dtype), x[0, 0].numel()
    if not g.whole:
        raise Unbatched
    if options[0] == 2 or x.shape[0] * size * like[0, 0].numel() > MOST_SAMPLED:
        g.refuse("bicubic, or of too many entries", "take mode='bilinear', and smaller images")
    units = torch.eye(size, dtype=like.dtype, device=x.device).reshape(1, size, *x.shape[2:])
    with torch.no_grad():
        weights = torch.cat([node.op(units, part[None], *options) for part in places])
    name = g.add("Reshape", [g.of(node.args[0]), g.integers([*x.shape[:2], size])])
    name = g.add("MatMul", [name, g.data("weights", weights.reshape(x.shape[0], size, -1))])
    return g.add("Reshape", [name, g.integers(like.shape)])


def hats(g, places, size, inside):
    """The share that each entry of an axis has of places on it, (count, places, 1) to (count, places, size). It is 1 less the distance, and 0 from
    a distance of 1 on. With ramps relu(k - x) it is r(c + 1) - 2 r(c) + r(c - 1): at whole numbers AD has the slope on their right, as PyTorch.
    inside: no place is beyond the ends, where no ramp is then."""
    like = result(g.current)
    if inside:
        return hats_inside(g, places, size, like)
    ends = g.constant(torch.arange(-1, size + 1, dtype=like.dtype).reshape(1, 1, -1))
    ramps = g.add("Relu", [g.add("Sub", [ends, places])])
    table = torch.zeros(size + 2, size, dtype=like.dtype)
    for c in range(size):
        table[c, c], table[c + 1, c], table[c + 2, c] = 1, -2, 1
    return g.add("MatMul", [ramps, g.constant(table)])


def hats_inside(g, places, size, like):
    """The same, by what it is before the last entry, and ramps at the entries between the ends."""
    line, first = torch.zeros(1, size, dtype=like.dtype), torch.zeros(1, 1, size, dtype=like.dtype)
    first[..., -1] = 2 - size if size > 1 else 1
    line[:, -1] = float(size > 1)
    if size > 1:
        first[..., -2], line[:, -2] = size - 1, -1
    made = g.add("Add", [g.add("MatMul", [places, g.constant(line)]), g.constant(first)])
    if size < 3:
        return made
    table = torch.zeros(size - 2, size, dtype=like.dtype)
    for k in range(1, size - 1):
        table[k - 1, k - 1], table[k - 1, k], table[k - 1, k + 1] = 1, -2, 1
    inner = g.constant(torch.arange(1, size - 1, dtype=like.dtype).reshape(1, 1, -1))
    return g.add("Add", [made, g.add("MatMul", [g.add("Relu", [g.add("Sub", [inner, places])]), g.constant(table)])])


def unnormalized(g, name, size, border, corners):
    """A place from -1 to 1 as one on the axis; kept on it, where that is said: at its ends AD's slope is 0, as PyTorch's."""
    like = result(g.current)
    scale, shift = ((size - 1) / 2, (size - 1) / 2) if corners else (size / 2, (size - 1) / 2)
    name = g.add("Add", [g.add("Mul", [name, g.scalar(scale, like)]), g.scalar(shift, like)])
    if not border:
        return name
    last = g.scalar(size - 1, like)
    return g.add("Sub", [last, g.add("Relu", [g.add("Sub", [last, g.add("Relu", [name])])])])


def sampled(g, node):
    """A grid that is computed: the shares of rows and columns are hats of its places."""
    x, places, like = node.args[0], node.args[1], result(node)
    mode, padding, corners = node.args[2:5]
    if not g.whole:
        raise Unbatched
    if mode != 0 or padding == 2 or x.tensor.dim() != 4:
        g.refuse("a grid that is trained, with mode nearest or bicubic, or reflected, or in three dimensions",
                 "take mode='bilinear' with padding_mode 'zeros' or 'border', or detach the grid")
    count, planes, rows, columns = x.tensor.shape
    points = like.shape[2] * like.shape[3]
    if count * points * columns * planes * rows > MOST_SAMPLED:
        g.refuse("of too many entries", "take smaller images")
    grid = g.add("Reshape", [g.operand(places, like), g.integers([count, points, 2])])
    shares = [hats(g, unnormalized(g, g.add("Slice", [grid] + [g.integers([n]) for n in (i, i + 1, 2)]), size, padding == 1, bool(corners)), size, padding == 1)
              for i, size in enumerate((columns, rows))]
    image = g.add("Reshape", [g.operand(x, like), g.integers([count, planes * rows, columns])])
    lines = g.add("MatMul", [image, g.add("Transpose", [shares[0]], perm=[0, 2, 1])])
    lines = g.add("Reshape", [lines, g.integers([count, planes, rows, points])])
    by = g.add("Reshape", [g.add("Transpose", [shares[1]], perm=[0, 2, 1]), g.integers([count, 1, rows, points])])
    made = g.add("ReduceSum", [g.add("Mul", [lines, by]), g.integers([2])], keepdims=0)
    return g.add("Reshape", [made, g.integers(like.shape)])


@operator("affine_grid_generator")
def write_affine_grid(g, node):
    """The places of an image that is not moved, which the operator itself says, times each matrix."""
    theta, size, corners = node.args[:3]
    like, axes = result(node), len(node.args[1]) - 2
    unit = torch.eye(axes + 1, dtype=like.dtype)[:axes][None]
    with torch.no_grad():
        own = node.op(unit, [1, *size[1:]], corners).reshape(-1, axes)
    own = torch.cat([own, torch.ones(len(own), 1, dtype=like.dtype)], 1)
    name = g.add("Transpose", [g.of(theta)], perm=[0, 2, 1])
    return g.add("Reshape", [g.add("MatMul", [g.constant(own), name]), g.integers(like.shape)])


@operator("max_pool3d_with_indices", "adaptive_max_pool2d", "adaptive_max_pool3d")
def write_largest_of_windows(g, node):
    if node.args[0].tensor.dim() != len(node.args[1]) + 2 and node.name[:3] == "ada":
        g.refuse("a pool of an array without a batch axis", GIVE)
    found = windows(node)
    if found is None:
        g.refuse("windows of several sizes, or with gaps, or no batch axis",
                 "take a pool of one window size without dilation, of an array with a batch axis")
    kernel, stride, padding, ceil = found
    return g.add("MaxPool", [g.of(node.args[0])], kernel_shape=kernel, strides=stride, pads=padding * 2, ceil_mode=ceil)


@operator("avg_pool3d")
def write_average_of_windows(g, node):
    kernel = list(node.args[1]) * (3 // len(node.args[1]))
    stride, padding = (list(v) * (3 // len(v)) for v in (argument(node, 2, "stride", []) or kernel, argument(node, 3, "padding", [0])))
    if argument(node, 6, "divisor_override") is not None or node.args[0].tensor.dim() != 5:
        g.refuse("a divisor of its own, or no batch axis", DIVIDE)
    return g.add("AveragePool", [g.of(node.args[0])], kernel_shape=kernel, strides=stride, pads=padding * 2,
                 ceil_mode=int(argument(node, 4, "ceil_mode", False)), count_include_pad=int(argument(node, 5, "count_include_pad", True)))


@operator("im2col")
def write_columns(g, node):
    """The entries of each window: plane by plane, the taps of each."""
    x, (kernel, dilation, padding, stride) = node.args[0].tensor, node.args[1:5]
    if x.dim() != 4:
        g.refuse("an image without a batch axis", GIVE)
    size, name = [n + 2 * p for n, p in zip(x.shape[2:], padding)], g.of(node.args[0])
    name = g.add("Pad", [name, g.integers([0, 0, *padding] * 2)]) if any(padding) else name
    out = [(n - d * (k - 1) - 1) // s + 1 for n, k, d, s in zip(size, kernel, dilation, stride)]
    name = g.add("Reshape", [name, g.integers([*x.shape[:2], size[0] * size[1]])])
    name = g.add("Gather", [name, g.constant(places_read(size, kernel, stride, dilation, out))], axis=2)
    return g.add("Reshape", [name, g.integers(result(node).shape)])
