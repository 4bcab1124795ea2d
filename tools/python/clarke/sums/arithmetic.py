"""Sums along a tree, in the arithmetic of IEEE 754: each operation is rounded once, to nearest."""
from dataclasses import dataclass

import numpy as np


def two_sum(a, b):
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def two_product(a, b):
    """Veltkamp and Dekker; a, b double."""
    def halves(x):
        c = x * 134217729.0
        high = c - (c - x)
        return high, x - high
    p = a * b
    (ah, al), (bh, bl) = halves(a), halves(b)
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl


def to_odd(s, error):
    """The sum s + error of doubles, rounded to odd: rounded once more, it is as if rounded once."""
    s, error = np.broadcast_arrays(s, error)
    even = (s.view(np.int64) & 1) == 0 if s.flags.c_contiguous else (np.ascontiguousarray(s).view(np.int64) & 1) == 0
    return np.where((error != 0) & even, np.nextafter(s, np.where(error > 0, np.inf, -np.inf)), s)


def fused_sum(a, b, c):
    """a b + c, rounded once to their type (Boldo and Melquiond for float64)."""
    if a.dtype == np.float32:
        return to_odd(*two_sum(a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64))).astype(np.float32)
    high, low = two_product(a, b)
    th, tl = two_sum(c, low)
    vh, vl = two_sum(high, th)
    return vh + to_odd(*two_sum(tl, vl))


@dataclass(frozen=True)
class Scale:
    """alpha times sums of products, and beta times the leaf `addend` (None: there is none); form: where alpha is (docs/run-format.md). A
    fused addend is added by a fused multiplication by beta, and addition."""

    form: str
    alpha: float
    beta: float
    addend: int | None

    def factors(self, k, p, q):
        a, b = p(k), q(k)
        if k == self.addend:
            return a, a.dtype.type(self.beta)
        return a * a.dtype.type(self.alpha) if self.form == "first" else a, b * b.dtype.type(self.alpha) if self.form == "second" else b

    def is_of_sums(self):
        """Are whole sums of products multiplied by alpha?"""
        return self.form in ("sum", "fused")

    def add(self, whole, products):
        """To a sum that the addend is in, one that it is not in."""
        alpha = products.dtype.type(self.alpha)
        if self.form == "fused":
            return fused_sum(*(np.ascontiguousarray(x) for x in np.broadcast_arrays(alpha, products, whole)))
        return whole + (alpha * products if self.form == "sum" else products)


PLAIN = Scale("", 1, 1, None)


def follow(steps, p, q, scale=PLAIN):
    """What the actions give; p(k), q(k): arrays of the factors of product k (q(k) None: of the sum of p alone). None: not in that form."""
    stack = []  # of sums: is the addend in it?
    for act, k in steps:
        if act == "add":
            (last, added), (first, has) = stack.pop(), stack.pop()
            both = scale.add(*(first, last) if has else (last, first)) if has != added else first + last
            stack.append((both, has or added))
            continue
        a, b = scale.factors(k, p, q)
        if act != "fuse":
            stack.append((a if b is None else a * b, k == scale.addend))
            continue
        whole, has = stack.pop()
        if scale.is_of_sums() and has:
            return None  # to multiply by alpha there is no sum of products alone
        if scale.is_of_sums() and k == scale.addend:
            whole = whole.dtype.type(scale.alpha) * whole
        stack.append((fused_sum(*(np.ascontiguousarray(x) for x in np.broadcast_arrays(a, b, whole))), has or k == scale.addend))
    whole = stack[0][0]
    return whole * whole.dtype.type(scale.alpha) if scale.form == "sum" and scale.addend is None else whole
