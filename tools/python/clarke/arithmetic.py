"""Sums along a tree, in the arithmetic of IEEE 754: each operation is rounded once, to nearest."""
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


def follow(steps, p, q):
    """What the actions give; p(k), q(k): arrays of the factors of product k (q(k) None: of the sum of p alone)."""
    stack = []
    for act, k in steps:
        if act == "add":
            last = stack.pop()
            stack[-1] = stack[-1] + last
        elif act == "fuse":
            stack[-1] = fused_sum(p(k), q(k), stack[-1])
        else:
            stack.append(p(k) if q(k) is None else p(k) * q(k))
    return stack[0]
