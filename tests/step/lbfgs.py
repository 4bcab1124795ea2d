"""torch.optim.LBFGS without a line search in exact fractions, written from its formulas: what clarke step torch-lbfgs is held against."""
from fractions import Fraction as Q


def dot(x, y):
    return sum((a * b for a, b in zip(x, y)), Q(0))


def added(x, c, y):
    return [a + c * b for a, b in zip(x, y)]


class Lbfgs:
    """evaluate(theta): the loss and the gradient there."""

    def __init__(self, theta, lr=1, max_iter=20, max_eval=None, tolerance_grad=Q(1, 10**7), tolerance_change=Q(1, 10**9), history_size=100):
        self.theta, self.lr, self.max_iter = [Q(x) for x in theta], Q(lr), max_iter
        self.max_eval = max_iter * 5 // 4 if max_eval is None else max_eval
        self.tolerance_grad, self.tolerance_change, self.history_size = Q(tolerance_grad), Q(tolerance_change), history_size
        self.k, self.pairs, self.scale, self.d, self.t, self.previous = 0, [], Q(1), None, None, None

    def direction(self, g):
        q, alphas = [-x for x in g], []
        for y, s, ro in reversed(self.pairs):
            alphas.append(dot(s, q) * ro)
            q = added(q, -alphas[-1], y)
        r = [self.scale * x for x in q]
        for (y, s, ro), alpha in zip(self.pairs, reversed(alphas)):
            r = added(r, alpha - dot(y, r) * ro, s)
        return r

    def remember(self, g):
        y, s = added(g, -1, self.previous), [self.t * x for x in self.d]
        ys = dot(y, s)
        if ys > Q(1, 10**10):
            self.pairs = [*self.pairs, (y, s, 1 / ys)][-self.history_size:]
            self.scale = ys / dot(y, y)

    def moved(self, evaluate, here, left):
        """Sets t, the length of the move, where it is searched for; the loss and the gradient at its end, None where it did not evaluate;
        how often it evaluated, at most `left` times. here: 0, loss, gradient, and slope."""
        return None, 0

    def step(self, evaluate):
        """How often it evaluated, and why it ended."""
        loss, g = evaluate(self.theta)
        count, turn = 1, 0
        if max(map(abs, g)) <= self.tolerance_grad:
            return count, "at rest"
        while True:
            turn += 1
            self.k += 1
            if self.k > 1:
                self.remember(g)
            self.d = self.direction(g)
            self.previous, before = list(g), loss
            self.t = self.lr if self.k > 1 else min(Q(1), 1 / sum(map(abs, g))) * self.lr
            slope = dot(g, self.d)
            if slope > -self.tolerance_change:
                return count, "slope"
            there, more = self.moved(evaluate, (Q(0), loss, g, slope), self.max_eval - count)
            self.theta = added(self.theta, self.t, self.d)
            count += more
            if turn == self.max_iter:
                return count, "max-iter"
            if there is None:
                there, count = evaluate(self.theta), count + 1
            loss, g = there
            if count >= self.max_eval:
                return count, "max-eval"
            if max(map(abs, g)) <= self.tolerance_grad:
                return count, "tolerance-grad"
            if max(abs(self.t * x) for x in self.d) <= self.tolerance_change:
                return count, "tolerance-change, of the move"
            if abs(loss - before) < self.tolerance_change:
                return count, "tolerance-change, of the loss"

    def state(self):
        told = {"k": self.k, "theta": self.theta}
        if self.k > 0:
            told |= {"d": self.d, "t": self.t, "H_diag": self.scale, "prev_flat_grad": self.previous, "old_dirs": [p[0] for p in self.pairs],
                     "old_stps": [p[1] for p in self.pairs], "ro": [p[2] for p in self.pairs]}
        return texts(told)


def texts(x):
    """As JSON has exact numbers."""
    if isinstance(x, dict):
        return {key: value if key == "k" else texts(value) for key, value in x.items()}
    return [texts(y) for y in x] if isinstance(x, list) else str(x)
