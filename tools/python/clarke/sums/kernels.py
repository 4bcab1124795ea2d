"""PyTorch's sums, as those who ask for their trees see them: which of the numbers that go in are the leaves of which entry.

A sum is run with tensors of the very shapes, strides and types that it had when it was recorded, in the same process.
"""
import math
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from . import arithmetic, summation
from .summation import Unclear

# type: (type of the sums, M, one, how many ones a result can count exactly, u, or None where products are exact)
TYPES = {torch.float32: (np.float32, 2.0**60, 2.0**-14, 2**24, 2.0**-13),
         torch.float64: (np.float64, 2.0**500, 1.0, 2**53, 2.0**-28),
         torch.float16: (np.float32, 2.0**15, 2.0**-24, 2**11, None),
         torch.bfloat16: (np.float32, 2.0**60, 2.0**-14, 2**8, None)}
MOST_WORK = 2**27  # products in one run of a sum whose tree is asked for
MOST_TREES = 4  # of one tensor
MOST_PARTS = 16  # rectangles of entries (lib/format/summation.h)
FORMS = ["sum", "first", "second", "fused"]  # where a factor may be multiplied in
DRAWS = 3  # a tree must give so many drawn sums at least,
DRAWN, FOLLOWED = 2**24, 2**14  # and up to 32 while they have no more products, and an entry no more leaves, in all


@dataclass(frozen=True)
class Layout:
    """A tensor without its numbers."""

    shape: tuple
    stride: tuple
    offset: int
    dtype: torch.dtype
    device: torch.device

    @staticmethod
    def of(t):
        return Layout(tuple(t.shape), tuple(t.stride()), t.storage_offset(), t.dtype, t.device)

    def filled(self, numbers):
        """Laid out like that; what is expanded is copied, as sums copy it."""
        t = torch.tensor(numbers, dtype=torch.float64).to(self.dtype).reshape(self.shape).to(self.device)
        if any(s == 0 and n > 1 for s, n in zip(self.stride, self.shape)) or t.numel() == 0:
            return t.contiguous()
        end = self.offset + 1 + sum((n - 1) * s for n, s in zip(self.shape, self.stride))
        return torch.zeros(end, dtype=self.dtype, device=self.device).as_strided(self.shape, self.stride, self.offset).copy_(t)


class Sum:
    """Entries of `shape`, rows x columns. A line of questions is answered by one run: row r's in row r, at any column."""

    def __init__(self, leaves, shape, dtype):
        self.leaves, self.shape, self.dtype = leaves, shape, dtype
        self.asked = self.runs = 0

    def ask(self, values, column, rows, factor=1.0):
        """For each line of `values` the entry (rows[i], column) of a sum whose leaves in that row are the line."""
        raise NotImplementedError

    def drawn(self, seed):
        """(the result on drawn numbers as float64, p, q): what arithmetic.follow takes."""
        raise NotImplementedError

    def whole(self):
        """Entries that are sums of all their leaves, and of no zeros in their places."""
        return np.ones(self.shape, bool)

    def beside(self, row, rows):
        """Which of the rows answer side by side with that one."""
        return rows

    def cancelling(self, shape, axis, draw):
        """Numbers that, every other time, come in pairs along an axis, each near the other's negative: another order, another sum."""
        numbers = torch.randn(shape, generator=draw, dtype=torch.float64).movedim(axis, 0)
        n = shape[axis] // 2
        pairs = torch.randperm(shape[axis], generator=draw)[:2 * n].reshape(2, n)
        if draw.initial_seed() % 2:
            numbers[pairs[1]] = -numbers[pairs[0]] * (1 + 2.0**-9 * numbers[pairs[1]])
        return numbers.movedim(0, axis), pairs

    def addends(self, shape, draw):
        """What is added to such sums, of their size: both then decide how the last addition rounds."""
        return (2.0**-9 if draw.initial_seed() % 2 else 1.0) * torch.randn(shape, generator=draw, dtype=torch.float64)

    # ---- Questions

    def parts(self, row, column):
        """[(row, column, leaves)]: entries of which each is a sum of some leaves, all others being zeros. The entry's tree adds them up."""
        return [(row, column, range(self.leaves))]

    def completed(self, tree):
        """With the leaves that are zeros always."""
        return tree

    def sizes(self, column, rows, leaves):
        """How many of these leaves are below the node in which each pair meets."""
        type_, large, one, most, _ = TYPES[self.dtype]

        def answer(pairs):
            self.asked += len(pairs)
            left = np.zeros(len(pairs))
            for low in range(0, self.leaves, most // 2):
                for at in range(0, len(pairs), len(rows)):
                    some = pairs[at:at + len(rows)]
                    values = np.zeros((len(some), self.leaves))
                    values[:, low:low + most // 2] = one
                    values[range(len(some)), [i for i, _ in some]] = large
                    values[range(len(some)), [j for _, j in some]] = -large
                    left[at:at + len(some)] += self.ask(values, column, rows[:len(some)]) / one
            if not (np.isfinite(left).all() and (left == np.round(left)).all() and (left >= 0).all()):
                raise Unclear("answers are no counts of ones")
            return [len(leaves) - int(x) for x in left]
        return answer

    def fused(self, tree, column, rows):
        """The leaves whose products are not rounded before they are added."""
        u = TYPES[self.dtype][4]

        def left_behind(pairs):
            found = []
            for at in range(0, len(pairs), len(rows)):
                some = pairs[at:at + len(rows)]
                values = np.zeros((len(some), self.leaves))
                for line, (k, other) in enumerate(some):
                    values[line, k] = 1 + u
                    values[line, other] = -1 if other < self.products else -(1 + u)
                left = self.ask(values, column, rows[:len(some)], 1 + u)
                found += [bool(x == u + u * u) for x in left]
            return found
        return summation.fused(tree, range(self.products if u is not None else 0), left_behind)

    most_leaves = MOST_WORK
    products = 0  # how many of the leaves are products of two numbers
    divisor = 1  # what the sum is divided by, in its own type
    alpha, beta = 1.0, 1.0  # what its products, and what is added to them as the last leaf, are multiplied by

    def scales(self):
        """What the operator is told of them. While it is asked these are powers of two, which round nothing, and undone() takes back."""
        factors = self.alpha, self.beta
        if self.asking:
            factors = [1.0 if f == 1 else by for f, by in zip(factors, (2.0, 4.0))]
        return {name: f for name, f in zip(("alpha", "beta"), factors) if f != 1}

    asking = False

    def addend(self):
        """The leaf that is added to products; None: there is none."""
        return self.products if 0 < self.products < self.leaves else None

    def undone(self, values):
        """Values that are given in place of others, which have their factors already."""
        factors = self.scales()
        return np.concatenate([values[:, :self.products] / factors.get("alpha", 1.0), values[:, self.products:] / factors.get("beta", 1.0)],
                              axis=1)


class Product(Sum):
    """mm(a, b), or addmm(bias, a, b): leaf k is a[r, k] b[k, c], the last one the bias."""

    def __init__(self, op, layouts, alpha=1, beta=1):
        self.alpha, self.beta = float(alpha), float(beta)
        *bias, self.a, self.b = layouts
        self.op, self.bias = op, bias[0] if bias else None
        (rows, self.inner), columns = self.a.shape, self.b.shape[1]
        super().__init__(self.inner + len(bias), (rows, columns), self.a.dtype)
        self.products = self.inner

    def run(self, a, b, bias=None):
        self.runs += 1
        first = [self.bias.filled(np.broadcast_to(bias, self.bias.shape))] if self.bias else []
        return self.op(*first, self.a.filled(a), self.b.filled(b), **self.scales()).double().cpu().numpy()

    def ask(self, values, column, rows, factor=1.0):
        found, values = np.zeros(len(values)), self.undone(values)
        biases = values[:, self.inner] if self.bias else np.zeros(len(values))
        for bias in np.unique(biases):
            a, chosen = np.zeros(self.a.shape), [i for i in range(len(values)) if biases[i] == bias]
            a[[rows[i] for i in chosen]] = values[chosen, :self.inner]
            c = self.run(a, np.full(self.b.shape, factor), bias)
            found[chosen] = c[[rows[i] for i in chosen], column]
        return found

    def drawn(self, seed):
        draw = torch.Generator().manual_seed(seed)
        a, pairs = self.cancelling(self.a.shape, 1, draw)
        b = torch.randn(self.b.shape, generator=draw, dtype=torch.float64)
        b[pairs[1]] = b[pairs[0]]
        bias = [self.addends(self.bias.shape, draw)] if self.bias else []
        type_ = TYPES[self.dtype][0]
        a, b, *bias = (t.to(self.dtype).double().numpy() for t in (a, b, *bias))
        c = self.run(a, b, *bias)
        a, b = a.astype(type_), b.astype(type_)
        last = np.broadcast_to(bias[0].astype(type_), c.shape) if bias else None
        return (c, lambda k: a[:, k, None] if k < self.inner else last,
                lambda k: b[None, k, :] if k < self.inner else None)


class Batches(Sum):
    """bmm(a, b): leaf k of row (n, r) is a[n, r, k] b[n, k, c]."""

    def __init__(self, op, layouts):
        self.a, self.b = layouts
        self.op = op
        (batches, rows, inner), columns = self.a.shape, self.b.shape[2]
        super().__init__(inner, (batches * rows, columns), self.a.dtype)
        self.products = inner

    def run(self, a, b):
        self.runs += 1
        return self.op(self.a.filled(a), self.b.filled(b)).double().cpu().numpy().reshape(self.shape)

    def ask(self, values, column, rows, factor=1.0):
        a = np.zeros((self.shape[0], self.leaves))
        a[rows] = values
        return self.run(a, np.full(self.b.shape, factor))[rows, column]

    def drawn(self, seed):
        draw = torch.Generator().manual_seed(seed)
        a, pairs = self.cancelling(self.a.shape, 2, draw)
        b = torch.randn(self.b.shape, generator=draw, dtype=torch.float64)
        b[:, pairs[1]] = b[:, pairs[0]]
        type_ = TYPES[self.dtype][0]
        a, b = (t.to(self.dtype).double().numpy() for t in (a, b))
        c = self.run(a, b)
        a, b = a.astype(type_), b.astype(type_)
        return (c, lambda k: a[:, :, k, None].reshape(-1, 1),
                lambda k: np.repeat(b[:, k, None, :], a.shape[1], axis=1).reshape(self.shape))


class AddedBatches(Batches):
    """baddbmm(c, a, b): the same, and the last leaf is c[n, r, c]."""

    def __init__(self, op, layouts, alpha=1, beta=1):
        self.c, self.alpha, self.beta = layouts[0], float(alpha), float(beta)
        super().__init__(op, layouts[1:])
        self.leaves += 1
        self.added = np.zeros(())  # what a run adds

    def run(self, a, b):
        self.runs += 1
        c = self.c.filled(np.broadcast_to(self.added, self.c.shape))
        return self.op(c, self.a.filled(a), self.b.filled(b), **self.scales()).double().cpu().numpy().reshape(self.shape)

    def ask(self, values, column, rows, factor=1.0):
        found, values = np.zeros(len(values)), self.undone(values)
        for self.added in np.unique(values[:, self.products]):
            a, chosen = np.zeros((self.shape[0], self.products)), [i for i in range(len(values)) if values[i, self.products] == self.added]
            a[[rows[i] for i in chosen]] = values[chosen, :self.products]
            found[chosen] = self.run(a, np.full(self.b.shape, factor))[[rows[i] for i in chosen], column]
        return found

    def drawn(self, seed):
        draw = torch.Generator().manual_seed(seed)
        self.added = self.addends(self.c.shape, draw).to(self.dtype).double().numpy()
        whole = (*self.a.shape[:2], self.b.shape[2])
        last = np.broadcast_to(self.added.astype(TYPES[self.dtype][0]), whole).reshape(self.shape)
        c, p, q = super().drawn(seed)
        return c, lambda k: p(k) if k < self.products else last, lambda k: q(k) if k < self.products else None


class Vector(Product):
    """mv(a, b): leaf k of row r is a[r, k] b[k]; or addmv(c, a, b): the last leaf is c[r]."""

    def __init__(self, op, layouts, alpha=1, beta=1):
        *added, a, self.given = layouts
        added = [replace(c, shape=(*c.shape, 1), stride=(*c.stride, 1)) for c in added]
        super().__init__(op, [*added, a, replace(self.given, shape=(*self.given.shape, 1), stride=(*self.given.stride, 1))], alpha, beta)

    def run(self, a, b, bias=None):
        self.runs += 1
        first = [self.bias.filled(np.broadcast_to(bias, self.bias.shape))[:, 0]] if self.bias else []
        return self.op(*first, self.a.filled(a), self.given.filled(b.reshape(-1)), **self.scales()).double().cpu().numpy()[:, None]


class Dot(Product):
    """dot(a, b): leaf k is a[k] b[k]. An entry alone answers one question in a run."""

    most_leaves = 4096

    def __init__(self, op, layouts):
        self.given = layouts
        a, b = layouts
        super().__init__(op, [replace(a, shape=(1, *a.shape), stride=(1, *a.stride)),
                              replace(b, shape=(*b.shape, 1), stride=(*b.stride, 1))])

    def run(self, a, b, bias=None):
        self.runs += 1
        return self.op(*(layout.filled(x.reshape(-1)) for layout, x in zip(self.given, (a, b)))).double().cpu().numpy().reshape(1, 1)


class Columns(Sum):
    """sum(x, [0]): leaf k is x[k, c]. Columns answer for themselves: they are the rows of questions."""

    def __init__(self, op, layout, *rest):
        self.op, self.layout, self.rest = op, layout, rest
        super().__init__(layout.shape[0], (layout.shape[1], 1), layout.dtype)

    def run(self, x):
        self.runs += 1
        return self.op(self.layout.filled(x), *self.rest).double().cpu().numpy().reshape(-1)

    def ask(self, values, column, rows, factor=1.0):
        x = np.zeros(self.layout.shape)
        x[:, rows] = values.T
        return self.run(x)[rows]

    def drawn(self, seed):
        x = self.cancelling(self.layout.shape, 0, torch.Generator().manual_seed(seed))[0].to(self.dtype).double().numpy()
        c = self.run(x)[:, None]
        x = x.astype(TYPES[self.dtype][0])
        return c, lambda k: x[k][:, None], lambda k: None


class Reduction(Sum):
    """sum or mean over some axes of x: an entry's leaves are its own numbers in their order. Entries are the rows of questions."""

    most_leaves = 4096  # an entry alone answers one question in a run

    def __init__(self, op, layout, axes, rest, mean):
        self.op, self.layout, self.rest = op, layout, rest
        rank = len(layout.shape)
        reduced = sorted(a % rank for a in axes) if axes else list(range(rank))
        self.order = [a for a in range(rank) if a not in reduced] + reduced
        leaves = math.prod(layout.shape[a] for a in reduced)
        self.divisor = leaves if mean else 1
        super().__init__(leaves, (math.prod(layout.shape) // leaves if leaves else 0, 1), layout.dtype)

    def run(self, x):
        """x: entries x leaves."""
        self.runs += 1
        x = x.reshape([self.layout.shape[a] for a in self.order]).transpose(np.argsort(self.order))
        return self.op(self.layout.filled(x), *self.rest).double().cpu().numpy().reshape(-1)

    def ask(self, values, column, rows, factor=1.0):
        x = np.zeros((self.shape[0], self.leaves))
        x[rows] = values
        found = self.run(x)[rows] * self.divisor
        one = TYPES[self.dtype][2]
        return found if self.divisor == 1 else np.round(found / one) * one  # of a mean, which was rounded, the count

    def drawn(self, seed):
        x = self.cancelling((self.shape[0], self.leaves), 1, torch.Generator().manual_seed(seed))[0].to(self.dtype).double().numpy()
        c = self.run(x)[:, None]
        x = x.astype(TYPES[self.dtype][0])
        return c, lambda k: x[:, k, None], lambda k: None


class Squares(Reduction):
    """mse_loss(a, b): the terms are (a - b)^2, each rounded. None is negative, so that the sum or mean is asked of numbers of that shape;
    but the drawn sums are the loss's."""

    def __init__(self, op, a, b, reduction=1):
        sum_of = torch.ops.aten.mean.default if reduction == 1 else torch.ops.aten.sum.default
        super().__init__(sum_of, a, None, [], reduction == 1)
        self.loss, self.layouts, self.reduction = op, (a, b), reduction

    def drawn(self, seed):
        draw = torch.Generator().manual_seed(seed)
        a, b = (torch.randn(t.shape, generator=draw, dtype=torch.float64).to(self.dtype) for t in self.layouts)
        c = self.loss(*(t.filled(x.double().numpy()) for t, x in zip(self.layouts, (a, b))), self.reduction).double().cpu().numpy()
        x = (a - b).reshape(-1).numpy().astype(TYPES[self.dtype][0])
        return c.reshape(1, 1), lambda k: x[k] * x[k].reshape(1, 1), lambda k: None


class Likelihood(Sum):
    """nll_loss(x, labels): the leaves are all entries of x, times -1 at their labels and 0 elsewhere; these are added at the end."""

    most_leaves = 4096

    def __init__(self, op, layout, labels, reduction, ignored):
        self.op, self.layout, self.labels, self.reduction, self.ignored = op, layout, torch.tensor(labels), reduction, ignored
        super().__init__(math.prod(layout.shape), (1, 1), layout.dtype)
        self.read = [n * layout.shape[1] + label for n, label in enumerate(labels) if label != ignored]
        self.divisor = len(self.read) if reduction == 1 else 1

    def parts(self, row, column):
        return [(row, column, self.read)]

    def completed(self, tree):
        unread = sorted(set(range(self.leaves)) - set(self.read))
        return summation.Chain(tree.first, tree.steps + [[k] for k in unread], self.leaves)

    def run(self, x):
        self.runs += 1
        target = self.labels.to(self.layout.device)
        return self.op(self.layout.filled(x), target, None, self.reduction, self.ignored)[0].double().cpu().numpy().reshape(1)

    def ask(self, values, column, rows, factor=1.0):
        one = TYPES[self.dtype][2]
        found = -self.run(values[0]) * self.divisor
        return found if self.divisor == 1 else np.round(found / one) * one

    def drawn(self, seed):
        x = torch.randn(self.leaves, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(self.dtype).double().numpy()
        c, read = self.run(x).reshape(1, 1), set(self.read)
        x = x.astype(TYPES[self.dtype][0])
        return c, lambda k: (-x[k] if k in read else 0 * x[k]).reshape(1, 1), lambda k: None


# ---- The trees of all entries


@dataclass
class Found:
    """which: by entry the number of its tree, -1 where none was found, for `why`."""

    texts: list
    which: np.ndarray
    why: str = ""
    forms: list = field(default_factory=list)  # by text: where a factor is multiplied in, or ""


def rounded(numbers, dtype):
    """What a result of that type is of a sum in its own type."""
    return torch.from_numpy(np.array(numbers)).to(dtype).double().numpy()


def tree_at(kernel, row, column, rows):
    """(the tree, fused leaves) of an entry, from questions that these rows answer side by side."""
    trees, fused = [], set()
    kernel.asking = True
    for own, at, leaves in kernel.parts(row, column):
        beside = [r - row + own for r in rows]
        trees.append(summation.build(kernel.sizes(at, beside, leaves), list(leaves)))
        fused |= kernel.fused(trees[-1], at, beside)
    kernel.asking = False
    tree = kernel.completed(summation.joined(trees))
    if tree.leaves != kernel.leaves:
        raise Unclear(f"{kernel.leaves - tree.leaves} products are none of any whole sum")
    return tree, fused


def given(kernel, steps, form, seed):
    """Which entries of drawn sums do the actions give, bit for bit?"""
    scale = arithmetic.Scale(form, kernel.alpha, kernel.beta, kernel.addend()) if kernel.scales() else arithmetic.PLAIN
    c, p, q = kernel.drawn(seed)
    with np.errstate(all="ignore"):
        sums = arithmetic.follow(steps, p, q, scale)
        if sums is None:
            return np.zeros(kernel.shape, bool)
        sums = np.broadcast_to(sums, kernel.shape)
        return rounded(sums if kernel.divisor == 1 else sums / sums.dtype.type(kernel.divisor), kernel.dtype) == c


def explained(kernel, tree, fused, at, form=""):
    """For which entries does the tree give every drawn result? Where it does not give the entry `at`, no more is asked."""
    steps, all_ = summation.actions(tree, fused), np.ones(kernel.shape, bool)
    draws = min(32, DRAWN // (math.prod(kernel.shape) * kernel.leaves), FOLLOWED // kernel.leaves)
    for seed in range(1, max(DRAWS, draws) + 1):
        all_ &= given(kernel, steps, form, seed)
        if not all_[at]:
            break
    return all_


def fusions(kernel, tree, fused):
    """The leaves that are fused. Of what is added, times beta, no question tells: so without it, and with it if the tree has room."""
    if kernel.beta == 1 or kernel.addend() is None:
        return [fused]
    with_addend = fused | {kernel.addend()}
    try:
        summation.actions(tree, with_addend)
    except Unclear:  # a fused product is added to it
        return [fused]
    return [fused, with_addend]


def best_form(kernel, tree, fused, row, column):
    """(the form that gives this entry, and of all such forms the most others; the fused leaves; which entries it gives)"""
    found = [(form, fusion, explained(kernel, tree, fusion, (row, column), form))
             for form in (FORMS if kernel.alpha != 1 else [""]) for fusion in fusions(kernel, tree, fused)]
    return max(found, key=lambda one: (one[2][row, column], one[2].sum()))


def find(kernel):
    """Trees until every entry has one. Rows are taken to be alike at first; if they are not, one row is asked by itself."""
    which, texts, forms, why = np.full(kernel.shape, -1), [], [], ""
    if kernel.dtype not in TYPES or not 1 <= kernel.leaves <= kernel.most_leaves or math.prod(kernel.shape) * kernel.leaves > MOST_WORK:
        return Found([], which, "it is too large, or of a type that is not asked for")
    if kernel.scales() and (kernel.dtype not in (torch.float32, torch.float64) or kernel.beta == 0):
        return Found([], which, "factors in half precision, or a factor 0, are not asked for")
    whole = kernel.whole()
    while (which < 0).any() and len(texts) < MOST_TREES:
        left = np.argwhere((which < 0) & whole)
        if not len(left):
            return Found(texts, which, "what lies at the border has another tree")
        row, column = (int(x) for x in left[0])
        alike = [row] + kernel.beside(row, [int(r) for r in np.flatnonzero(which[:, column] < 0) if r != row])
        for rows in (alike, [row]):
            try:
                tree, fused = tree_at(kernel, row, column, rows)
                form, fused, right = best_form(kernel, tree, fused, row, column)
                right = right & (which < 0)
                why = "" if right[row, column] else f"[{row}, {column}]: the tree does not give the sum of random numbers"
            except Unclear as e:
                kernel.asking = False
                why = f"[{row}, {column}]: {e}"
            if not why:
                break
        if why:
            break
        which[right] = len(texts)
        texts.append(summation.text(tree, fused))
        forms.append(form)
    if not why and (which < 0).any():
        why = f"there are more than {MOST_TREES} trees"
    return Found(texts, which, why, forms)


def ranges(flags):
    """[first, last] of each run of true ones."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(np.int8), [0]])))
    return [[int(a), int(b) - 1] for a, b in zip(edges[::2], edges[1::2])]


def rectangles(which, number):
    """(rows, columns) that the entries of one tree fill."""
    own, found, at = which == number, [], 0
    while at < own.shape[1]:
        end = at
        while end + 1 < own.shape[1] and (own[:, end + 1] == own[:, at]).all():
            end += 1
        found += [(rows, [at, end]) for rows in ranges(own[:, at])]
        at = end + 1
    return found
