"""torch.optim.LBFGS with line_search_fn="strong_wolfe" in fractions: what clarke step torch-lbfgs --line-search is held against. A root that is no rational is
one to 120 digits, and `exact` is then false."""
from fractions import Fraction as Q
from math import isqrt

from lbfgs import Lbfgs, added, dot


class Nan(Exception):
    pass


class Wolfe(Lbfgs):
    exact = True

    def __init__(self, *args, **given):
        super().__init__(*args, **given)
        self.ways = set()  # that were gone

    def root(self, x):
        n, d = isqrt(x.numerator), isqrt(x.denominator)
        if n * n == x.numerator and d * d == x.denominator:
            self.ways.add("a rational root")
            return Q(n, d)
        self.exact = False
        self.ways.add("a root")
        return Q(isqrt(x.numerator * 10**240 // x.denominator), 10**120)

    def cubic(self, a, b, low, high):
        (x1, f1, g1), (x2, f2, g2) = (a[0], a[1], a[3]), (b[0], b[1], b[3])
        if x1 == x2:
            raise Nan
        d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
        square = d1 * d1 - g1 * g2
        if square < 0:
            self.ways.add("halfway")
            return (low + high) / 2
        d2 = self.root(square)
        if x1 > x2:
            x1, g1, x2, g2 = x2, g2, x1, g1
        above, below = g2 + d2 - d1, g2 - g1 + 2 * d2
        if below == 0:
            self.ways.add("over 0")
            if above == 0:
                raise Nan
            return low if above > 0 else high
        found = x2 - (x2 - x1) * above / below
        self.ways.add("below" if found <= low else "above" if found >= high else "between")
        return min(max(found, low), high)

    def searched(self, evaluate, begin, most):
        """begin: (0, loss, g, slope); the point it ends at, and how often it evaluated."""
        count = [0]

        def at(t):
            loss, g = evaluate(added(self.theta, t, self.d))
            count[0] += 1
            return t, loss, g, dot(g, self.d)

        def high(p):
            return p[1] > begin[1] + Q(1, 10000) * p[0] * begin[3]

        def level(p):
            return abs(p[3]) <= -Q(9, 10) * begin[3]

        last, now, ends = begin, at(self.t), None
        for turn in range(most):
            if high(now) or (turn > 1 and now[1] >= last[1]):
                self.ways.add("high")
                ends = [last, now]
                break
            if level(now):
                self.ways.add("good at once" if turn == 0 else "good")
                return now, count[0]
            if now[3] >= 0:
                self.ways.add("rises")
                ends = [last, now]
                break
            t = self.cubic(last, now, now[0] + (now[0] - last[0]) / 100, now[0] * 10)
            last, now = now, at(t)
        if ends is None:
            self.ways.add("ran out")
            ends = [begin, now]
            return min(ends, key=lambda p: p[1]), count[0]
        if ends[1][1] < ends[0][1]:
            ends.reverse()
            order = -1  # of low and high, as they lie in PyTorch's list
        else:
            order = 1
        slow = False
        size = max(map(abs, self.d))
        while count[0] - 1 < most:
            low, top = sorted([ends[0][0], ends[1][0]])
            if (top - low) * size < Q(1, 10**9):  # whatever tolerance_change is
                self.ways.add("small")
                break
            t = self.cubic(*ends[::order], low, top)
            eps = (top - low) / 10
            if min(top - t, t - low) >= eps:
                slow = False
            elif slow or t >= top or t <= low:
                self.ways.add("slow twice" if low < t < top else "at an end")
                t = top - eps if abs(t - top) < abs(t - low) else low + eps
                slow = False
            else:
                slow = True
            p = at(t)
            if high(p) or p[1] >= ends[0][1]:
                self.ways.add("higher")
                ends[1] = p
                first, second = ends[::order]
                order = 1 if first[1] <= second[1] else -1
                ends = [first, second][::order]
                continue
            if level(p):
                self.ways.add("good between")
                return p, count[0]
            if p[3] * (ends[1][0] - ends[0][0]) >= 0:
                self.ways.add("turned")
                ends[1] = ends[0]
            ends[0] = p
        return ends[0], count[0]

    def moved(self, evaluate, here, left):
        (self.t, loss, g, _), more = self.searched(evaluate, here, left)
        return (loss, g), more
