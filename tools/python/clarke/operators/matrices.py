"""ATen's linear algebra: determinants, inverses, solutions and roots of matrices, by elimination.

The rows come in the order that PyTorch's factorization has, which is data; each pivot is divided by, and may not be 0. The function is
the same whatever the order, for it is one of the matrix alone.
"""
import torch

from .table import argument, operator, result
from ..refused import Unbatched
from ..tracing.dispatched import Value, trained

MOST_ROWS = 16
SMALLER = f"matrices of at most {MOST_ROWS} rows are written out; take smaller ones, or blocks"


class Elimination:
    """Matrices (count, n, columns), of which a column after another becomes one of the unit matrix."""

    def __init__(self, g, value, like):
        shape = value.tensor.shape
        self.g, self.n, self.like = g, shape[-1], like
        self.count = max(1, value.tensor[..., 0, 0].numel())
        if not g.whole:
            raise Unbatched
        if not 0 < self.n <= MOST_ROWS or value.tensor.numel() == 0:
            g.refuse(f"matrices of {self.n} rows", SMALLER)

    def flat(self, value, columns=None):
        """The name of a value as so many matrices."""
        return self.g.add("Reshape", [self.g.operand(value, self.like), self.g.integers([self.count, self.n, columns or self.n])])

    def order(self, value):
        """Each matrix' rows in the order of its pivots: places, as of all rows of all."""
        a = value.tensor.detach().cpu().to(torch.float64).reshape(self.count, self.n, self.n)
        pivots = torch.linalg.lu_factor_ex(a).pivots
        rows = torch.arange(self.n).repeat(self.count, 1)
        for m in range(self.count):
            for i, p in enumerate((pivots[m] - 1).tolist()):
                rows[m, [i, p]] = rows[m, [p, i]]
        return rows

    def permuted(self, name, rows, columns):
        """The rows, or entries, of each matrix in that order."""
        places = rows + torch.arange(self.count)[:, None] * self.n
        flat = self.g.add("Reshape", [name, self.g.integers([self.count * self.n, columns])])
        flat = self.g.add("Gather", [flat, self.g.data("rows", places.reshape(-1))], axis=0)
        return self.g.add("Reshape", [flat, self.g.integers([self.count, self.n, columns])])

    def part(self, name, axis, first, last):
        return self.g.add("Slice", [name] + [self.g.integers([n]) for n in (first, last, axis)])

    def mask(self, k, shape, value):
        """Ones, but at row k; or 0 but for a one there."""
        t = torch.full((self.n,), 1.0 - value, dtype=self.like.dtype)
        t[k] = value
        return self.g.constant(t.reshape(shape))

    def step(self, name, k, in_place):
        """(The matrices with column k eliminated, the pivots.) in_place: the unit matrix beside them takes the column's place."""
        g, n = self.g, self.n
        row, column = self.part(name, 1, k, k + 1), self.part(name, 2, k, k + 1)
        pivot = self.part(row, 2, k, k + 1)
        others, unit = self.mask(k, (1, n, 1), 0.0), self.mask(k, (1, n, 1), 1.0)
        left = g.add("Mul", [name, others])
        if in_place:
            row = g.add("Add", [g.add("Mul", [row, self.mask(k, (1, 1, n), 0.0)]), self.mask(k, (1, 1, n), 1.0)])
            left = g.add("Mul", [left, self.mask(k, (1, 1, n), 0.0)])
        row = g.add("Div", [row, pivot])
        factors = g.add("Sub", [g.add("Mul", [column, others]), unit])
        return g.add("Sub", [left, g.add("MatMul", [factors, row])]), pivot

    def run(self, name, in_place=False):
        for k in range(self.n):
            name, _ = self.step(name, k, in_place)
        return name


def pivots_of(g, node):
    """(The pivots, one beside another: (count, n); the sign of the order of rows; the elimination.)"""
    value = node.args[0]
    e = Elimination(g, value, value.tensor)
    rows = e.order(value)
    name, pivots = e.permuted(e.flat(value), rows, e.n), []
    for k in range(e.n - 1):
        name, pivot = e.step(name, k, False)
        pivots.append(pivot)
    pivots.append(e.part(e.part(name, 1, e.n - 1, e.n), 2, e.n - 1, e.n))
    name = g.add("Concat", pivots, axis=1) if e.n > 1 else pivots[0]
    signs = torch.stack([torch.linalg.det(torch.eye(e.n, dtype=torch.float64)[r]).round() for r in rows])
    return g.add("Reshape", [name, g.integers([e.count, e.n])]), signs.to(value.tensor.dtype), e


@operator("_linalg_det", "linalg_det")
def write_determinant(g, node):
    """The product of the pivots, times the sign of the order of rows."""
    name, signs, e = pivots_of(g, node)
    made = e.part(name, 1, 0, 1)
    for k in range(1, e.n):
        made = g.add("Mul", [made, e.part(name, 1, k, k + 1)])
    made = g.add("Mul", [g.add("Reshape", [made, g.integers([e.count])]), g.data("signs", signs)])
    return {0: g.add("Reshape", [made, g.integers(node.results[0].tensor.shape)])}


@operator("_linalg_slogdet")
def write_logarithm_of_determinant(g, node):
    """The sum of the logarithms of the pivots' sizes. The sign is data: of a matrix that can be inverted it does not change."""
    name, _, e = pivots_of(g, node)
    logs = g.add("ReduceSum", [g.add("Log", [g.add("Abs", [name])]), g.integers([1])], keepdims=0)
    made = {1: g.add("Reshape", [logs, g.integers(node.results[1].tensor.shape)])}
    if 0 in g.read_of(node):
        made[0] = g.data("signs", node.results[0].tensor.detach())
    return made


@operator("linalg_inv_ex")
def write_inverse(g, node):
    """The columns come in the order that the rows had."""
    value = node.args[0]
    e = Elimination(g, value, value.tensor)
    rows = e.order(value)
    name = e.run(e.permuted(e.flat(value), rows, e.n), in_place=True)
    name = g.add("Transpose", [e.permuted(g.add("Transpose", [name], perm=[0, 2, 1]), rows.argsort(1), e.n)], perm=[0, 2, 1])
    return {0: g.add("Reshape", [name, g.integers(node.results[0].tensor.shape)])}


def solved(g, node, e, left, right, columns):
    """The columns of the right side, once the left is the unit matrix."""
    name = e.run(g.add("Concat", [left, right], axis=2))
    return g.add("Reshape", [e.part(name, 2, e.n, e.n + columns), g.integers(node.results[0].tensor.shape)])


@operator("_linalg_solve_ex")
def write_solution(g, node):
    a, b = node.args[:2]
    vector = b.tensor.dim() == a.tensor.dim() - 1 and b.tensor.shape == a.tensor.shape[:-1]
    if not argument(node, 2, "left", True) or (not vector and b.tensor.shape[:-1] != a.tensor.shape[:-1]):
        g.refuse("left=False, or right sides that have not the matrices' axes", "transpose both, and give them the same axes by expand")
    e, columns = Elimination(g, a, a.tensor), 1 if vector else b.tensor.shape[-1]
    rows = e.order(a)
    return {0: solved(g, node, e, e.permuted(e.flat(a), rows, e.n), e.permuted(e.flat(b, columns), rows, columns), columns)}


@operator("linalg_solve_triangular")
def write_triangular_solution(g, node):
    """One triangle of the matrix is read; and its diagonal, but where that is taken for ones."""
    a, b = node.args[:2]
    upper, ones = bool(argument(node, 2, "upper", False)), bool(argument(node, 4, "unitriangular", False))
    if not argument(node, 3, "left", True) or b.tensor.shape[:-1] != a.tensor.shape[:-1]:
        g.refuse("left=False, or right sides that have not the matrix' axes", "transpose both, and give them the same axes by expand")
    e, columns = Elimination(g, a, a.tensor), b.tensor.shape[-1]
    kept = torch.ones(1, e.n, e.n, dtype=e.like.dtype)
    kept = kept.triu(int(ones)) if upper else kept.tril(-int(ones))
    left = g.add("Mul", [e.flat(a), g.constant(kept)])
    left = g.add("Add", [left, g.constant(torch.eye(e.n, dtype=e.like.dtype).reshape(1, e.n, e.n))]) if ones else left
    return {0: solved(g, node, e, left, e.flat(b, columns), columns)}


STEADY = {"slice", "select", "view", "reshape", "add", "sub", "mul", "div", "mm", "matmul", "tanh", "relu", "t", "transpose", "permute", "exp", "neg",
          "addmm", "clone", "unsqueeze", "squeeze", "repeat", "expand"}  # the same of the same


def same(a, b):
    """Are they one tensor, or made of one by the same views and functions?"""
    if a is b or not isinstance(a, Value) or not isinstance(b, Value):
        return a is b or (not isinstance(a, Value) and not isinstance(b, Value) and a == b)
    if not trained(a) and not trained(b):
        return a.tensor.shape == b.tensor.shape and torch.equal(a.tensor, b.tensor)
    one, other = a.node, b.node
    return (one is not None and other is not None and one.op is other.op and one.name in STEADY and one.kwargs == other.kwargs == {}
            and len(one.args) == len(other.args) and all(map(same, one.args, other.args)))


def turned_from(a, b):
    """Is a the transpose of b, by what it is made of?"""
    node, rank = a.node, a.tensor.dim()
    if node is None or rank < 2 or not node.args or not same(node.args[0], b):
        return False
    if node.name == "transpose":
        return {d % rank for d in node.args[1:3]} == {rank - 2, rank - 1}
    if node.name == "permute":
        return [d % rank for d in node.args[1]] == [*range(rank - 2), rank - 1, rank - 2]
    return node.name == "t" and rank == 2


def is_symmetric(value):
    """Is it its own transpose, by what it is made of: products of matrices and their transposes, sums, and constants?"""
    if not isinstance(value, Value):
        return True
    node = value.node
    if not trained(value):
        return torch.equal(value.tensor.detach().mT, value.tensor.detach())
    if node is None:
        return False
    name = node.name.rstrip("_")
    if name in ("mm", "matmul", "bmm"):
        a, b = node.args[:2]
        return turned_from(a, b) or turned_from(b, a)
    if name in ("add", "sub"):
        a, b = node.args[:2]
        both = isinstance(a, Value) and isinstance(b, Value)
        if both and name == "add" and node.kwargs.get("alpha", 1) == 1 and (turned_from(a, b) or turned_from(b, a)):
            return True
        return all(not isinstance(v, Value) or (v.tensor.shape == value.tensor.shape and is_symmetric(v)) for v in (a, b))
    if name in ("mul", "div"):
        a, b = node.args[:2]
        return is_symmetric(a) and a.tensor.shape == value.tensor.shape and (not isinstance(b, Value) or b.tensor.numel() == 1)
    return name in ("clone", "contiguous", "diag_embed", "alias") and (name == "diag_embed" and len(node.args) == 1 or is_symmetric(node.args[0]))


@operator("linalg_cholesky_ex")
def write_root(g, node):
    """A column after another. PyTorch reads one triangle, and its derivative is that of the mean of the matrix and its transpose, which must be itself."""
    value = node.args[0]
    if not is_symmetric(value) or argument(node, 1, "upper", False):
        g.refuse("of a matrix that is not its own transpose by what it is made of, or upper=True", "take (a + a.mT) / 2, and transpose the result")
    e = Elimination(g, value, value.tensor)
    name = e.flat(value)
    both = g.add("Add", [name, g.add("Transpose", [name], perm=[0, 2, 1])])
    name, columns = g.add("Mul", [both, g.scalar(0.5, e.like)]), []
    for k in range(e.n):
        column = g.add("Mul", [e.part(name, 2, k, k + 1), g.constant((torch.arange(e.n) >= k).to(e.like.dtype).reshape(1, e.n, 1))])
        column = g.add("Div", [column, g.add("Sqrt", [e.part(e.part(name, 1, k, k + 1), 2, k, k + 1)])])
        columns.append(column)
        if k + 1 < e.n:
            name = g.add("Sub", [name, g.add("MatMul", [column, g.add("Transpose", [column], perm=[0, 2, 1])])])
    made = g.add("Concat", columns, axis=2) if e.n > 1 else columns[0]
    return {0: g.add("Reshape", [made, g.integers(node.results[0].tensor.shape)])}


# ---- Products of vectors


@operator("linalg_cross")
def write_cross(g, node):
    a, b = node.args[:2]
    axis = argument(node, 2, "dim", -1) % result(node).dim()
    if a.tensor.shape != b.tensor.shape:
        g.refuse("vectors of other axes", "give them the same axes by expand")
    first, second = ([g.add("Gather", [g.operand(v, result(node)), g.integers(p)], axis=axis) for p in ([1, 2, 0], [2, 0, 1])]
                     if is_moving(g, v) else turned(g, v, axis, result(node)) for v in (a, b))
    return g.add("Sub", [g.add("Mul", [first[0], second[1]]), g.add("Mul", [first[1], second[0]])])


def is_moving(g, value):
    return isinstance(value, Value) and (value.requires_grad or id(value) in g.names)


def turned(g, value, axis, like):
    """Data, its entries along an axis in turn."""
    t = g.numbers(value).to(like.dtype)
    if not g.whole:
        raise Unbatched
    return [g.data("data", t.roll(-k, axis).contiguous()) for k in (1, 2)]
