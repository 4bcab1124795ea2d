"""Little networks along curves: activations and gradients as power series, for undecided.py.

Along w + t d1 + t^2 d2 + t^3 d3 every activation is a power series in t whose first coefficient that is not 0 has its sign,
for all small t > 0. A series is of rationals; behind a root or an exponential, of numbers with 60 digits.
"""
from fractions import Fraction

import mpmath
import numpy as np

ORDER = 4
mpmath.mp.dps = 60


class Number:
    """A power series in t, and the gradient's limit as t tends to 0."""
    __slots__ = ("c", "g")

    def __init__(self, c, g):
        self.c, self.g = c, g

    def __add__(self, o):
        return Number([a + b for a, b in zip(self.c, o.c)], [a + b for a, b in zip(self.g, o.g)])

    def __sub__(self, o):
        return Number([a - b for a, b in zip(self.c, o.c)], [a - b for a, b in zip(self.g, o.g)])

    def __mul__(self, o):
        c = [sum(self.c[i] * o.c[k - i] for i in range(k + 1)) for k in range(len(self.c))]
        return Number(c, [self.c[0] * b + o.c[0] * a for a, b in zip(self.g, o.g)])

    def times(self, q):
        return Number([a * q for a in self.c], [a * q for a in self.g])

    def slope(self, s, q=0):
        """s * x + q"""
        y = self.times(s)
        return Number([y.c[0] + q] + y.c[1:], y.g)

    def inverse_root(self, epsilon):
        """1 / sqrt(x + epsilon), of a number that is a square when it can be."""
        v = self.c[0] + epsilon
        exact = isinstance(v, Fraction) and all(int(n ** 0.5 + 0.5) ** 2 == n for n in (v.numerator, v.denominator))
        r0 = Fraction(int(v.denominator ** 0.5 + 0.5), int(v.numerator ** 0.5 + 0.5)) if exact else 1 / mpmath.sqrt(real(v))
        c = [q if exact else real(q) for q in self.c]
        c[0] = v if exact else real(v)
        r = [r0]
        for k in range(1, len(c)):  # r r (x + epsilon) = 1
            rr = [sum(r[i] * r[j - i] for i in range(max(0, j - k + 1), min(j, k - 1) + 1)) for j in range(k + 1)]
            rest = sum(rr[j] * c[k - j] for j in range(k + 1))
            r.append(-rest / (2 * r0 * c[0]))
        return Number(r, [-(r0 ** 3) * (q if exact else real(q)) / 2 for q in self.g])


    def inverse(self):
        """1 / x, of an x that is not 0."""
        r = [1 / self.c[0]]
        for k in range(1, len(self.c)):
            r.append(-sum(self.c[i] * r[k - i] for i in range(1, k + 1)) * r[0])
        return Number(r, [-r[0] * r[0] * q for q in self.g])

    def exponential(self):
        e = [Fraction(1) if self.c[0] == 0 else mpmath.exp(real(self.c[0]))]
        for k in range(1, len(self.c)):
            e.append(sum(j * (self.c[j] if e[0] == 1 else real(self.c[j])) * e[k - j] for j in range(1, k + 1)) / k)
        return Number(e, [e[0] * (q if e[0] == 1 else real(q)) for q in self.g])


def real(q):
    return mpmath.mpf(q.numerator) / q.denominator if isinstance(q, Fraction) else mpmath.mpf(q)


class NotGeneric(Exception):
    pass


def zero(q):
    return q == 0 if isinstance(q, (int, Fraction)) else abs(q) < mpmath.mpf(10) ** -40


def sign(x, at=0):
    """Of x - at for small t > 0; None when it is 0 in all terms kept."""
    for k, q in enumerate(x.c):
        q = q - at if k == 0 else q
        if not zero(q):
            return 1 if q > 0 else -1
    return None


def pieces(op, attributes):
    """Kinks, slopes and intercepts."""
    F = Fraction
    if op == "Relu":
        return [F(0)], [(F(0), F(0)), (F(1), F(0))]
    if op == "LeakyRelu":
        return [F(0)], [(F(attributes["alpha"]), F(0)), (F(1), F(0))]
    if op == "Abs":
        return [F(0)], [(F(-1), F(0)), (F(1), F(0))]
    low, high = F(attributes["low"]), F(attributes["high"])
    return [low, high], [(F(0), low), (F(1), F(0)), (F(0), high)]


PROXY = {"Relu": [0], "LeakyRelu": ["left"], "Abs": [0], "Clip": [0, 0]}


def run(net, x, along):
    """The outputs' Numbers for all samples, a list of arrays; along: None (AD), or a list of directions by parameter entry."""
    names = sorted(net.trains)
    at, total = {}, 0
    for n in names:
        at[n] = total
        total += net.parameters[n].size
    length = 1 if along is None else ORDER
    nought = [Fraction(0)] * total

    def constant(v):
        return Number([Fraction(v)] + [Fraction(0)] * (length - 1), nought)

    def parameter(name):
        p = net.parameters[name]
        out = np.empty(p.size, object)
        for i, v in enumerate(p.reshape(-1)):
            c = constant(v)
            if name in net.trains:
                g = list(nought)
                g[at[name] + i] = Fraction(1)
                c = Number([c.c[0]] + [Fraction(d[at[name] + i]) for d in (along or [])][:length - 1], g)
                c.c += [Fraction(0)] * (length - len(c.c))
            out[i] = c
        return out.reshape(p.shape)

    weights = {n: parameter(n) for n in net.parameters}

    def array(shape, f):
        out = np.empty(int(np.prod(shape)), object)
        for i in range(out.size):
            out[i] = f(np.unravel_index(i, shape))
        return out.reshape(shape)

    def total_of(items):
        items = list(items)
        s = items[0]
        for i in items[1:]:
            s = s + i
        return s

    def pointwise(op, attributes, v):
        kinks, parts = pieces(op, attributes)
        place = 0
        for k, kink in enumerate(kinks):
            s = sign(v, kink)
            if s is None:
                if along is not None:
                    if any(not zero(q) for q in v.g):
                        raise NotGeneric
                    return v.slope(*parts[k])
                p = PROXY[op][k]
                slope = parts[k][0] if p == "left" else Fraction(p)
                return Number([v.c[0] * parts[k][0] + parts[k][1]], [q * slope for q in v.g])
            if s < 0:
                break
            place = k + 1
        return v.slope(*parts[place])

    def elu(alpha, v):
        s = sign(v)
        if s is None and along is not None and alpha != 1 and any(not zero(q) for q in v.g):
            raise NotGeneric
        if s == 1:
            return v
        return v.exponential().slope(Fraction(alpha), -Fraction(alpha))

    def minus(entries):
        return [e.times(Fraction(-1)) for e in entries]

    def in_order(entries, n):
        """The n largest, one after another; of equal ones the first comes first, which is AD's."""
        rest, found = list(entries), []
        for _ in range(n):
            best = largest(rest)
            rest = [e for e in rest if e is not best]
            found.append(best)
        return found

    def line_of(v, n, f):
        """f of each line along the last axis, of n entries then."""
        rows = [f(list(r)) for r in v.reshape(-1, v.shape[-1])]
        return array(v.shape[:-1] + (n,), lambda i: rows[int(np.ravel_multi_index(i[:-1], v.shape[:-1])) if v.ndim > 1 else 0][i[-1]])

    def largest(entries):
        best = entries[0]  # the first, which is AD's
        for e in entries[1:]:
            s = sign(e - best)
            if s is None and along is not None and any(not zero(q) for q in (e - best).g):
                raise NotGeneric
            if s == 1:
                best = e
        return best

    def normalize(group, epsilon):
        n = Fraction(len(group))
        mean = total_of(group).times(1 / n)
        centred = [e - mean for e in group]
        r = total_of(e * e for e in centred).times(1 / n).inverse_root(Fraction(epsilon))
        return [e * r for e in centred]

    values = {"x": [array(s.shape, lambda i, s=s: constant(s[i])) for s in x]}
    for k, (op, inputs, a) in enumerate(net.nodes):
        out, first = [], values.get(inputs[0])
        if op == "BatchTraining":
            channels = first[0].shape[0]
            out = [np.empty(v.shape, object) for v in first]
            for c in range(channels):
                group = [e for v in first for e in np.atleast_1d(v[c]).reshape(-1)]
                done = iter(normalize(group, a["epsilon"]))
                for b, v in enumerate(first):
                    cells = np.atleast_1d(v[c])
                    new = np.empty(cells.size, object)
                    for i in range(cells.size):
                        new[i] = next(done) * weights[inputs[1]][c] + weights[inputs[2]][c]
                    out[b][c] = new[0] if v.ndim == 1 else new.reshape(cells.shape)
            values[f"v{k}"] = out
            continue
        for b, v in enumerate(first):
            w = weights.get(inputs[1]) if len(inputs) > 1 else None
            if op == "MatMul":
                y = array((w.shape[1],), lambda i: total_of(v[j] * w[j, i[0]] for j in range(w.shape[0])))
            elif op == "AddParameter":
                y = array(v.shape, lambda i: v[i] + w[i[0] if w.ndim < v.ndim or v.ndim == 1 else i])
            elif op == "Add":
                y = array(v.shape, lambda i: v[i] + values[inputs[1]][b][i])
            elif op == "Sub":
                y = array(v.shape, lambda i: v[i] - values[inputs[1]][b][i])
            elif op == "Neg":
                y = array(v.shape, lambda i: v[i].times(Fraction(-1)))
            elif op == "Mul":
                y = array(v.shape, lambda i: v[i] * values[inputs[1]][b][i])
            elif op == "Div":
                y = array(v.shape, lambda i: v[i] * values[inputs[1]][b][i].inverse())
            elif op == "Sqrt":
                y = array(v.shape, lambda i: v[i] * v[i].inverse_root(Fraction(0)))
            elif op == "Elu":
                y = array(v.shape, lambda i: elu(a["alpha"], v[i]))
            elif op == "Softmax":
                powers = [e.exponential() for e in v]
                over = total_of(powers).inverse()
                y = array(v.shape, lambda i: powers[i[0]] * over)
            elif op == "Conv":
                side = w.shape[2]
                shape = (w.shape[0], v.shape[1] - side + 1)
                y = array(shape, lambda i: total_of(v[c, i[1] + d] * w[i[0], c, d] for c in range(v.shape[0]) for d in range(side)))
            elif op == "MaxPool":
                shape = (v.shape[0], v.shape[1] // 2)
                y = array(shape, lambda i: largest([v[i[0], 2 * i[1] + d] for d in range(2)]))
            elif op in ("Max", "Min"):
                some = [v] + [values[n][b] for n in inputs[1:]]
                y = array(v.shape, lambda i: largest([u[i] for u in some]) if op == "Max" else
                          minus([largest(minus([u[i] for u in some]))])[0])
            elif op in ("ReduceMax", "ReduceMin"):
                y = line_of(v, 1, lambda r: [largest(r)] if op == "ReduceMax" else minus([largest(minus(r))]))
            elif op == "TopK":
                y = line_of(v, a["k"], lambda r: in_order(r, a["k"]) if a["largest"] else minus(in_order(minus(r), a["k"])))
            elif op == "Tile":
                y = line_of(v, 2 * v.shape[-1], lambda r: r + r)
            elif op == "GlobalMaxPool":
                y = array((v.shape[0], 1), lambda i: largest(list(v[i[0]])))
            elif op == "AveragePool":
                shape = (v.shape[0], v.shape[1] // 2)
                y = array(shape, lambda i: (v[i[0], 2 * i[1]] + v[i[0], 2 * i[1] + 1]).times(Fraction(1, 2)))
            elif op == "Flatten":
                y = v.reshape(-1)
            elif op == "BatchNormalization":
                y = np.empty(v.shape, object)
                for c in range(v.shape[0]):
                    root = constant(a["var"][c]).inverse_root(Fraction(a["epsilon"]))
                    for i in np.ndindex(v.shape[1:]):
                        e = v[(c,) + i].slope(Fraction(1), -Fraction(a["mean"][c]))
                        y[(c,) + i] = (e * root) * w[c] + weights[inputs[2]][c]
            elif op == "LayerNormalization":
                done = normalize(list(v), a["epsilon"])
                y = array(v.shape, lambda i: done[i[0]] * w[i[0]] + weights[inputs[2]][i[0]])
            elif op == "InstanceNormalization":
                rows = [normalize(list(v[c]), a["epsilon"]) for c in range(v.shape[0])]
                y = array(v.shape, lambda i: rows[i[0]][i[1]] * w[i[0]] + weights[inputs[2]][i[0]])
            else:
                y = array(v.shape, lambda i: pointwise(op, a, v[i]))
            out.append(y)
        values[f"v{k}"] = out
    return values[f"v{len(net.nodes) - 1}"], total


def loss_gradient(outputs, targets, total):
    g = [Fraction(0)] * total
    n = sum(v.size for v in outputs)
    for v, y in zip(outputs, targets):
        for e, t in zip(v.reshape(-1), y.reshape(-1) if targets is not None and y is not None else [None] * v.size):
            by = Fraction(1) if t is None else Fraction(2, n) * (e.c[0] - Fraction(int(t)))
            g = [a + by * q for a, q in zip(g, e.g)]
    return g
