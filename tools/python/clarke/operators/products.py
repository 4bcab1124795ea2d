"""ATen's products of matrices, alone and added to something, as MatMul and Gemm."""
from . import masks
from .table import operator, result
from ..refused import Unbatched


def factor(g, value):
    """A constant has two axes; one of more is an activation, which it can be in a single run."""
    name, shape = g.of(value), list(value.tensor.shape)
    if name in g.active or len(shape) < 3:
        return name
    if shape[:-2] == [1] * (len(shape) - 2):
        return g.add("Reshape", [name, g.integers(shape[-2:])])
    return g.lifted(name)


def product(g, a, b):
    """A vector that is computed, times an activation, is a matrix of one column."""
    names = [factor(g, v) for v in (a, b)]
    if b.tensor.dim() != 1 or not g.active.issuperset(names):
        return g.add("MatMul", names)
    column = g.add("Unsqueeze", [names[1], g.integers([1])])
    return g.add("Reshape", [g.add("MatMul", [names[0], column]), g.integers(a.tensor.shape[:-1])])


@operator("mm", "matmul", "mv", "bmm")
def write_matmul(g, node):
    return product(g, *node.args[:2])


def times(g, name, number, like):
    return name if number == 1 else g.add("Mul", [name, g.scalar(number, like)])


@operator("addmm")
def write_addmm(g, node):
    scales = [float(node.kwargs.get(k, 1)) for k in ("alpha", "beta")]
    bias, x, w = (g.of(v) for v in node.args[:3])
    if len(g.active.intersection((x, w))) == 2 or node.args[0].tensor.numel() > result(node).shape[-1]:  # no Gemm
        made, like = g.add("MatMul", [x, w]), result(node)
        return g.add("Add", [times(g, made, scales[0], like), times(g, bias, scales[1], like)])
    return g.add("Gemm", [x, w, bias], alpha=g.float32(scales[0], result(node), "alpha"),
                 beta=g.float32(scales[1], result(node), "beta"))


@operator("baddbmm", "addmv")
def write_added_product(g, node):
    like = result(node)
    made = times(g, product(g, *node.args[1:3]), node.kwargs.get("alpha", 1), like)
    beta = node.kwargs.get("beta", 1)
    if beta == 0:
        return made
    mask = masks.added(g, node.args[0], node) if beta == 1 else None
    return g.add("Add", [mask or times(g, g.operand(node.args[0], like), beta, like), made])


@operator("addr")
def write_added_outer(g, node):
    """A column times a row, added."""
    like = result(node)
    column, row = (g.add("Reshape", [g.operand(v, like), g.integers(shape)]) for v, shape in zip(node.args[1:3], ([-1, 1], [1, -1])))
    made = times(g, g.add("MatMul", [column, row]), node.kwargs.get("alpha", 1), like)
    beta = node.kwargs.get("beta", 1)
    return made if beta == 0 else g.add("Add", [times(g, g.operand(node.args[0], like), beta, like), made])


@operator("addbmm")
def write_added_products(g, node):
    """The sum of all products of matrices, added."""
    like = result(node)
    if not g.whole:
        raise Unbatched
    made = g.add("ReduceSum", [product(g, *node.args[1:3]), g.integers([0])], keepdims=0)
    made, beta = times(g, made, node.kwargs.get("alpha", 1), like), node.kwargs.get("beta", 1)
    return made if beta == 0 else g.add("Add", [times(g, g.operand(node.args[0], like), beta, like), made])


@operator("_trilinear")
def write_threefold(g, node):
    """Products of three tensors, each with new axes, summed over some: what torch.nn.functional.bilinear is made of."""
    if not g.whole:
        raise Unbatched
    names, shapes = [], []
    for v, more in zip(node.args[:3], node.args[3:6]):
        shape = list(v.tensor.shape)
        for axis in sorted(more):
            shape.insert(axis, 1)
        shapes.append(shape)
        names.append(g.add("Reshape", [g.operand(v, result(node)), g.integers(shape)]))
    made = g.add("Mul", [g.add("Mul", names[:2]), names[2]])
    return g.add("ReduceSum", [made, g.integers(node.args[6])], keepdims=0)


@operator("dot", "vdot")
def write_dot(g, node):
    return g.add("ReduceSum", [g.add("Mul", [g.of(v) for v in node.args[:2]])], keepdims=0)


@operator("addcmul", "addcdiv")
def write_added(g, node):
    like = result(node)
    part = g.add({"m": "Mul", "d": "Div"}[node.name[4]], [g.operand(v, like) for v in node.args[1:3]])
    return g.add("Add", [g.operand(node.args[0], like), times(g, part, node.kwargs.get("value", 1), like)])
