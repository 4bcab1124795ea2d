"""PyTorch's convolutions, as those who ask for their trees see them (kernels.py): what they give, and the gradients in
weight, bias and input.

Windows that reach over the border have fewer products than others. What is missing adds a zero.
"""
import math
from dataclasses import replace

import numpy as np
import torch

from .kernels import TYPES, Sum


class Convolution(Sum):
    """convolution(x, w, bias, ...). Entry (n, o, i, j) is a sum over the planes of a group and the kernel's taps, in that order, and of the
    bias at the end. Rows are (n, o, i)."""

    def __init__(self, op, layouts, result):
        self.x, self.w, self.bias, self.stride, self.padding, self.dilation, _, _, self.groups = layouts
        self.op, self.rest = op, layouts[3:]
        self.side = self.w.shape[2:]
        self.out = result  # n, o, i, j
        self.products = math.prod(self.w.shape[1:])
        super().__init__(self.products + (self.bias is not None), (math.prod(result[:-1]), result[-1]), self.x.dtype)

    def run(self, x, w, bias=None):
        self.runs += 1
        first = self.bias.filled(np.broadcast_to(bias, self.bias.shape)) if self.bias is not None else None
        return self.op(self.x.filled(x), self.w.filled(w), first, *self.rest).double().cpu().numpy()

    def place(self, row):
        """(n, o, i) of a row."""
        return np.unravel_index(row, self.out[:3])

    def window(self, o, i, j):
        """The planes, rows and columns of x that an entry reads, and which of them are inside."""
        planes = self.w.shape[1]
        own = o // (self.out[1] // self.groups) * planes + np.arange(planes)
        down, across = (at * s - p + d * np.arange(k) for at, s, p, d, k in
                        zip((i, j), self.stride, self.padding, self.dilation, self.side))
        inside = ((down >= 0) & (down < self.x.shape[2]))[:, None] & ((across >= 0) & (across < self.x.shape[3]))
        return np.ix_(own, down, across), np.broadcast_to(inside, (planes, *self.side)).reshape(-1)

    def whole(self):
        """Which entries have all their products?"""
        found = np.zeros(self.out[2:], bool)
        for i, j in np.ndindex(*self.out[2:]):
            found[i, j] = self.window(0, i, j)[1].all()
        return np.broadcast_to(found, self.out).reshape(self.shape)

    def beside(self, row, rows):
        """One row of each sample: the same output's."""
        line = self.out[1] * self.out[2]
        return [r for r in rows if r % line == row % line]

    def ask(self, values, column, rows, factor=1.0):
        found = np.zeros(len(values))
        biases = values[:, self.products] if self.bias is not None else np.zeros(len(values))
        for bias in np.unique(biases):
            x, chosen = np.zeros(self.x.shape), [i for i in range(len(values)) if biases[i] == bias]
            for line in chosen:
                n, o, i = self.place(rows[line])
                x[n][self.window(o, i, column)[0]] = values[line, :self.products].reshape(-1, *self.side)
            y = self.run(x, np.full(self.w.shape, factor), bias).reshape(self.shape)
            found[chosen] = y[[rows[i] for i in chosen], column]
        return found

    def drawn(self, seed):
        draw = torch.Generator().manual_seed(seed)
        x, _ = self.cancelling(self.x.shape, 1, draw)
        w = torch.randn(self.w.shape, generator=draw, dtype=torch.float64)
        if seed % 2:  # a kernel whose taps nearly cancel
            w = w - w.mean((1, 2, 3), keepdim=True) * (1 - 2.0**-9)
        bias = [self.addends(self.bias.shape, draw)] if self.bias is not None else []
        type_ = TYPES[self.dtype][0]
        x, w, *bias = (t.to(self.dtype).double().numpy() for t in (x, w, *bias))
        y = self.run(x, w, *bias).reshape(self.shape)
        return (y, *self.factors(x.astype(type_), w.astype(type_), *(b.astype(type_) for b in bias)))

    def factors(self, x, w, bias=None):
        """p and q by leaf, rows x columns each."""
        wide = np.pad(x, ((0, 0), (0, 0), *((p, p + d * k) for p, d, k in zip(self.padding, self.dilation, self.side))))
        each = self.out[1] // self.groups

        def p(k):
            if k >= self.products:
                return np.broadcast_to(bias[None, :, None, None], self.out).reshape(self.shape)
            plane, a, b = np.unravel_index(k, self.w.shape[1:])
            own = wide[:, np.arange(self.out[1]) // each * self.w.shape[1] + plane]
            for axis, at, n, s, d in zip((2, 3), (a, b), self.out[2:], self.stride, self.dilation):
                own = np.take(own, at * d + s * np.arange(n), axis)
            return own.reshape(self.shape)

        def q(k):
            if k >= self.products:
                return None
            own = w.reshape(self.out[1], -1)[:, k]
            return np.broadcast_to(own[None, :, None, None], self.out).reshape(self.shape)
        return p, q


class Weight(Sum):
    """A convolution's weight's gradient: entry (o, plane, a, b) is a sum over samples and, in each, over outputs. Rows are (o, plane, a)."""

    def __init__(self, op, layouts):
        self.g, self.x, self.w, _, self.stride, self.padding, self.dilation, *_, self.groups, _ = layouts
        self.op, self.rest = op, layouts[3:-1]
        n, _, self.h, self.width = self.g.shape
        super().__init__(n * self.h * self.width, (math.prod(self.w.shape[:-1]), self.w.shape[-1]), self.g.dtype)
        self.products = self.leaves

    def run(self, g, x):
        self.runs += 1
        w = self.w.filled(np.zeros(self.w.shape))
        return self.op(self.g.filled(g), self.x.filled(x), w, *self.rest, [False, True, False])[1].double().cpu().numpy().reshape(self.shape)

    most_leaves = 2**12  # each is asked about, and few answer side by side

    def moved(self, a, axis):
        """Which rows or columns of x a tap meets."""
        return a * self.dilation[axis] - self.padding[axis] + self.stride[axis] * np.arange(self.g.shape[2 + axis])

    def whole(self):
        inside = [[bool(((at >= 0) & (at < self.x.shape[2 + axis])).all()) for a in range(self.w.shape[2 + axis])
                   for at in [self.moved(a, axis)]] for axis in (0, 1)]
        return np.broadcast_to(np.logical_and.outer(*inside), self.w.shape).reshape(self.shape)

    def beside(self, row, rows):
        """One row of each output."""
        line = math.prod(self.w.shape[1:3])
        return [r for r in rows if r % line == row % line]

    def ask(self, values, column, rows, factor=1.0):
        g, line = np.zeros(self.g.shape), math.prod(self.w.shape[1:3])
        for own, row in zip(values, rows):
            g[:, row // line] = own.reshape(-1, self.h, self.width)
        return self.run(g, np.full(self.x.shape, factor))[rows[:len(values)], column]

    def drawn(self, seed):
        draw, type_ = torch.Generator().manual_seed(seed), TYPES[self.dtype][0]
        g, x = (self.cancelling(t.shape, 0, draw)[0].to(self.dtype).double().numpy() for t in (self.g, self.x))
        w, g, x = self.run(g, x), g.astype(type_), x.astype(type_)
        wide = np.pad(x, ((0, 0), (0, 0), *((p, p + d * k) for p, d, k in zip(self.padding, self.dilation, self.w.shape[2:]))))
        outs, planes = self.w.shape[:2]
        own = np.arange(outs)[:, None] // (outs // self.groups) * planes + np.arange(planes)

        def p(k):
            n, i, j = np.unravel_index(k, (self.g.shape[0], self.h, self.width))
            return np.broadcast_to(g[n, :, i, j, None, None, None], self.w.shape).reshape(self.shape)

        def q(k):
            n, *at = np.unravel_index(k, (self.g.shape[0], self.h, self.width))
            down, across = (a * s + d * np.arange(m) for a, s, d, m in zip(at, self.stride, self.dilation, self.w.shape[2:]))
            return wide[n][own][:, :, down[:, None], across].reshape(self.shape)
        return w, p, q


class TurnedWeight(Weight):
    """A transposed convolution's weight's gradient: that of a convolution whose input is the gradient behind this one, and whose outputs'
    gradient is this one's input. Entry (plane, o, a, b) is a sum over samples and, in each, over the input's places."""

    def __init__(self, op, layouts):
        super().__init__(op, [layouts[1], layouts[0], *layouts[2:]])

    def run(self, g, x):
        self.runs += 1
        w = self.w.filled(np.zeros(self.w.shape))
        return self.op(self.x.filled(x), self.g.filled(g), w, *self.rest, [False, True, False])[1].double().cpu().numpy().reshape(self.shape)


class Bias(Sum):
    """A convolution's bias's gradient: entry o is a sum over samples and, in each, over outputs. All entries answer side by side."""

    most_leaves = 2**13

    def __init__(self, op, layouts):
        self.g, self.x, self.w, *self.rest, _ = layouts
        self.op = op
        super().__init__(self.g.shape[0] * math.prod(self.g.shape[2:]), (self.g.shape[1], 1), self.g.dtype)

    def run(self, g):
        self.runs += 1
        x, w = (t.filled(np.zeros(t.shape)) for t in (self.x, self.w))
        return self.op(self.g.filled(g), x, w, *self.rest, [False, False, True])[2].double().cpu().numpy()

    def ask(self, values, column, rows, factor=1.0):
        g = np.zeros(self.g.shape)
        for own, row in zip(values, rows):
            g[:, row] = own.reshape(self.g.shape[0], *self.g.shape[2:])
        return self.run(g)[rows[:len(values)]]

    def drawn(self, seed):
        g = self.cancelling(self.g.shape, 2, torch.Generator().manual_seed(seed))[0].to(self.dtype).double().numpy()
        leaves = np.moveaxis(g, 1, -1).reshape(self.leaves, -1).astype(TYPES[self.dtype][0])
        return self.run(g)[:, None], lambda k: leaves[k][:, None], lambda k: None


class Input(Sum):
    """The gradient in a convolution's input: entry (n, plane, i, j) is a sum over outputs and the kernel's taps, in that order. Rows are
    (n, plane, i)."""

    def __init__(self, op, layouts):
        self.g, self.x, self.w, _, self.stride, self.padding, self.dilation, *_, self.groups, _ = layouts
        self.op, self.rest = op, layouts[3:-1]
        self.each, self.planes = self.w.shape[0] // self.groups, self.w.shape[1]
        super().__init__(self.each * math.prod(self.w.shape[2:]), (math.prod(self.x.shape[:-1]), self.x.shape[-1]), self.g.dtype)
        self.products = self.leaves

    def run(self, g, w):
        self.runs += 1
        x = self.x.filled(np.zeros(self.x.shape))
        return self.op(self.g.filled(g), x, self.w.filled(w), *self.rest, [True, False, False])[0].double().cpu().numpy().reshape(self.shape)

    def met(self, axis, tap):
        """By place in x the output whose window meets it with the tap, and whether there is one."""
        at = np.arange(self.x.shape[2 + axis]) + self.padding[axis] - tap * self.dilation[axis]
        there = (at % self.stride[axis] == 0) & (at >= 0) & (at // self.stride[axis] < self.g.shape[2 + axis])
        return np.where(there, at // self.stride[axis], 0), there

    def whole(self):
        down, across = (np.all([self.met(axis, tap)[1] for tap in range(self.w.shape[2 + axis])], 0) for axis in (0, 1))
        return np.broadcast_to(np.logical_and.outer(down, across), self.x.shape).reshape(self.shape)

    def beside(self, row, rows):
        """One row of each sample."""
        line = math.prod(self.x.shape[1:3])
        return [r for r in rows if r % line == row % line]

    def ask(self, values, column, rows, factor=1.0):
        g = np.zeros(self.g.shape)
        for own, row in zip(values, rows):
            n, plane, i = np.unravel_index(row, self.x.shape[:3])
            outs = plane // self.planes * self.each + np.arange(self.each)
            down, across = ([self.met(axis, tap)[0][at] for tap in range(self.w.shape[2 + axis])] for axis, at in ((0, i), (1, column)))
            g[n][np.ix_(outs, down, across)] = own.reshape(-1, *self.w.shape[2:])
        return self.run(g, np.full(self.w.shape, factor))[rows[:len(values)], column]

    def drawn(self, seed):
        draw, type_ = torch.Generator().manual_seed(seed), TYPES[self.dtype][0]
        g, pairs = self.cancelling(self.g.shape, 1, draw)
        w = torch.randn(self.w.shape, generator=draw, dtype=torch.float64)
        w[pairs[1]] = w[pairs[0]]
        g, w = (t.to(self.dtype).double().numpy() for t in (g, w))
        x, g, w = self.run(g, w), g.astype(type_), w.astype(type_)
        group = np.arange(self.x.shape[1]) // self.planes

        def p(k):
            o, a, b = np.unravel_index(k, (self.each, *self.w.shape[2:]))
            (down, below), (across, beyond) = self.met(0, a), self.met(1, b)
            own = g[:, group * self.each + o][:, :, down[:, None], across]
            return (own * np.logical_and.outer(below, beyond).astype(type_)).reshape(self.shape)

        def q(k):
            o, a, b = np.unravel_index(k, (self.each, *self.w.shape[2:]))
            own = w[group * self.each + o, np.arange(self.x.shape[1]) % self.planes, a, b]
            return np.broadcast_to(own[None, :, None, None], self.x.shape).reshape(self.shape)
        return x, p, q


class TurnedInput(Convolution):
    """The gradient in a transposed convolution's input: a convolution of the gradient behind it. Entry (n, plane, i, j) is a sum over outputs
    and the kernel's taps, in that order."""

    def __init__(self, op, layouts):
        g, self.given, w, _, stride, padding, dilation, *_, groups, _ = layouts
        super().__init__(op, [g, w, None, stride, padding, dilation, True, None, groups], self.given.shape)
        self.rest = layouts[3:-1]

    def run(self, x, w, bias=None):
        self.runs += 1
        given = self.given.filled(np.zeros(self.given.shape))
        return self.op(self.x.filled(x), given, self.w.filled(w), *self.rest, [True, False, False])[0].double().cpu().numpy()


class Turned(Input):
    """A transposed convolution of x, which is the gradient in the input of a convolution whose outputs' gradient is x: entry (n, o, i, j) is
    a sum over the planes of a group and the kernel's taps, and of the bias at the end."""

    def __init__(self, op, layouts, result):
        x, w, self.bias, *own = layouts
        super().__init__(op, [x, replace(x, shape=result), w, None, *own, None])
        self.rest = own
        self.leaves += self.bias is not None
        self.added = np.zeros(())  # the bias of a run

    def run(self, g, w):
        self.runs += 1
        first = self.bias.filled(np.broadcast_to(self.added, self.bias.shape)) if self.bias is not None else None
        return self.op(self.g.filled(g), self.w.filled(w), first, *self.rest).double().cpu().numpy().reshape(self.shape)

    def taps(self, axis, at):
        """The taps that a place may meet, for it lies on their steps; and those that it meets."""
        all_ = [tap for tap in range(self.w.shape[2 + axis]) if (at + self.padding[axis] - tap * self.dilation[axis]) % self.stride[axis] == 0]
        return all_, [tap for tap in all_ if self.met(axis, tap)[1][at]]

    def whole(self):
        """Which meet all that they may?"""
        down, across = (np.array([len(all_) == len(met) for at in range(self.x.shape[2 + axis]) for all_, met in [self.taps(axis, at)]])
                        for axis in (0, 1))
        return np.broadcast_to(np.logical_and.outer(down, across), self.x.shape).reshape(self.shape)

    def parts(self, row, column):
        """A place between steps meets other taps than its neighbours: one of each kind."""
        kinds = [{tuple(met): at for at in reversed(range(self.x.shape[2 + axis])) for all_, met in [self.taps(axis, at)]
                  if met and len(all_) == len(met)} for axis in (0, 1)]
        i, side = row % self.x.shape[2], self.w.shape[2:]
        last = [self.products] if self.bias is not None else []
        return [(row - i + down, across, [(k * side[0] + a) * side[1] + b for k in range(self.each) for a in met for b in beside] + last)
                for met, down in sorted(kinds[0].items()) for beside, across in sorted(kinds[1].items())]

    def ask(self, values, column, rows, factor=1.0):
        found = np.zeros(len(values))
        biases = values[:, self.products] if self.bias is not None else np.zeros(len(values))
        for self.added in np.unique(biases):
            g, chosen = np.zeros(self.g.shape), [i for i in range(len(values)) if biases[i] == self.added]
            for line in chosen:
                n, plane, i = np.unravel_index(rows[line], self.x.shape[:3])
                own = values[line, :self.products].reshape(-1, *self.w.shape[2:])
                for a in self.taps(0, i)[1]:
                    for b in self.taps(1, column)[1]:
                        group = plane // self.planes * self.each
                        g[n, group:group + self.each, self.met(0, a)[0][i], self.met(1, b)[0][column]] = own[:, a, b]
            found[chosen] = self.run(g, np.full(self.w.shape, factor))[[rows[i] for i in chosen], column]
        return found

    def drawn(self, seed):
        draw, type_ = torch.Generator().manual_seed(seed), TYPES[self.dtype][0]
        if self.bias is not None:
            self.added = self.addends(self.bias.shape, draw).to(self.dtype).double().numpy()
        y, p, q = super().drawn(seed)
        last = np.broadcast_to(self.added[..., None, None].astype(type_), self.x.shape).reshape(self.shape) if self.bias is not None else None
        return y, lambda k: p(k) if k < self.products else last, lambda k: q(k) if k < self.products else None
