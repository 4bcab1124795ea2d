#!/usr/bin/env python3
"""Trees of sums whose order is known, asked for by questions: each must come out as it is.

    trees.py LIBRARY

LIBRARY holds summation_kernels.c. So the questions of tools/python/clarke/sums/summation.py are put to sequential sums, pairwise ones,
those of four and eight lanes and of blocks, fused or not, in float32 and float64. Sums that are no tree must be refused.
"""
import ctypes
import os
import random
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "python", "clarke", "sums"))
import summation  # noqa: E402

KERNELS = ctypes.CDLL(sys.argv[1])
FLOAT, DOUBLE = (ctypes.c_float, "kernel_float", 2.0**60, 2.0**-14, 2.0**-13), (ctypes.c_double, "kernel_double", 2.0**500, 1.0, 2.0**-28)
failures = 0


def expect(condition, what):
    global failures
    if not condition:
        failures += 1
        print(f"FAILED: {what}")


def halves(first, last):
    if last - first < 2:
        return f"[{first} {last}]" if last > first else str(first)
    middle = first + (last - first + 1) // 2
    left, right = halves(first, middle - 1), halves(middle, last)
    if last - first == 2:  # one leaf and two: the larger first, and a bracket that begins another is that one
        return f"{right[:-1]} {left}]"
    if middle - first < last - middle + 1:
        left, right = right, left
    return f"{left[:-1]} {right}]"


def lane(l, n, by, star):
    own = list(range(l, n, by))
    first, rest = (own[:1], own[1:]) if star else ([], own)
    return "[" + " ".join([str(k) for k in first] + [r + star for r in summation.runs(rest)]) + "]"


def lanes(n, by, star):
    """Lane l and l + by / 2, then l and l + by / 4, and so on."""
    sums = [lane(l, n, by, star) for l in range(by)]
    while len(sums) > 1:
        half = len(sums) // 2
        sums = [f"{a[:-1]} {b}]" for a, b in zip(sums[:half], sums[half:])]
    return sums[0]


def blocks(n):
    return "[0 1-15*" + "".join(f" [{k} {k + 1}-{k + 15}*]" for k in range(16, n, 16)) + "]"


WANTED = [lambda n: f"[0-{n - 1}]", lambda n: f"[0 1-{n - 1}*]",
          lambda n: "[%d " % (n - 1) + " ".join(f"{k}*" for k in range(n - 2, -1, -1)) + "]",
          lambda n: halves(0, n - 1), lambda n: lanes(n, 4, ""), lambda n: lanes(n, 8, "*"), blocks]


class Kernel:
    def __init__(self, kind, n, type_):
        self.kind, self.n = kind, n
        self.type, name, self.large, self.one, self.u = type_
        self.call = getattr(KERNELS, name)
        self.call.restype, self.asked = self.type, 0

    def sum(self, a, b):
        vector = self.type * self.n
        self.asked += 1
        return self.call(ctypes.c_int(self.kind), vector(*a), vector(*b), ctypes.c_size_t(self.n))

    def sizes(self, pairs):
        found = []
        for i, j in pairs:
            a = [self.one] * self.n
            a[i], a[j] = self.large, -self.large
            found.append(self.n - int(self.sum(a, [1.0] * self.n) / self.one))
        return found

    def left_behind(self, pairs):
        found = []
        for k, other in pairs:
            a = [0.0] * self.n
            a[k], a[other] = 1 + self.u, -1.0
            found.append(self.sum(a, [1 + self.u] * self.n) == self.u + self.u * self.u)
        return found


def recovered():
    for type_ in (FLOAT, DOUBLE):
        for kind, wanted in enumerate(WANTED):
            for n in (16, 32, 48, 112, 512) if kind in (0, 1, 5, 6) else (8, 16, 32, 56, 128):
                kernel = Kernel(kind, n, type_)
                tree = summation.build(kernel.sizes, list(range(n)))
                fused = summation.fused(tree, range(n), kernel.left_behind)
                made = summation.text(tree, fused)
                expect(made == wanted(n), f"{kind}, {n}: {made}, and not {wanted(n)}")
                expect(kernel.asked < n * (3 + 2 * n.bit_length()), f"{kind}, {n}: {kernel.asked} questions")


def follow(tree, fused):
    """The leaves in a nest of pairs, to compare trees in which sides are exchanged."""
    stack = []
    for act, leaf in summation.actions(tree, fused):
        if act == "push":
            stack.append(leaf)
        else:
            last = leaf if act == "fuse" else stack.pop()
            stack.append(frozenset([stack.pop(), last]))
    return stack[0]


def drawn():
    """Any binary tree: its own answers give it back."""
    draw = random.Random(5)
    for n in [1, 2, 3, 4, 5] + [draw.randrange(6, 80) for _ in range(60)]:
        nodes, shape = [{k} for k in range(n)], list(range(n))
        merged = {}
        while len(nodes) > 1:
            i, j = sorted(draw.sample(range(len(nodes)), 2), reverse=True)
            both = nodes[i] | nodes[j]
            merged.update({(a, b): len(both) for a in nodes[i] for b in nodes[j]} | {(b, a): len(both) for a in nodes[i] for b in nodes[j]})
            made = frozenset([shape[i], shape[j]])
            for at in (i, j):
                del nodes[at], shape[at]
            nodes.append(both)
            shape.append(made)
        tree = summation.build(lambda pairs: [merged[p] for p in pairs], list(range(n)))
        expect(follow(tree, set()) == shape[0], f"a tree of {n} leaves")
        expect(summation.text(tree, set()).count("[") < max(n, 2), f"brackets of {n} leaves")


def refused():
    def says(what, sizes, n):
        try:
            tree = summation.build(sizes, list(range(n)))
            summation.text(tree, summation.fused(tree, range(n), lambda pairs: [False] * len(pairs)))
        except summation.Unclear as e:
            expect(what in str(e), f"{what}: {e}")
        else:
            expect(False, f"{what}: a tree")
    says("below which are", lambda pairs: [2 for _ in pairs], 5)
    says("are added at once", lambda pairs: [4 for _ in pairs], 4)
    try:  # of two leaves both are said to be fused
        summation.text(summation.Chain(0, [[1]], 2), {0, 1})
    except summation.Unclear as e:
        expect("fused with none" in str(e), str(e))
    else:
        expect(False, "two fused leaves")


def joined():
    """Several trees as one: of each the leaves in their order, those of the others being zeros; what all add last is added last."""
    draw = random.Random(6)
    for n in range(1, 5):
        for shared in (False, True):
            trees, first = [], 0
            for _ in range(n):
                own = list(range(first, first + draw.randrange(1, 6)))
                first = own[-1] + 1
                chain = summation.Chain(own[0])
                for leaf in own[1:] + [99] * shared:
                    chain = summation.Chain(chain.first, chain.steps + [[leaf]], chain.leaves + 1)
                trees.append(chain)
            whole = summation.joined(trees)
            expect(whole.leaves == first + shared and sorted(summation.leaves(whole)) == list(range(first)) + [99] * shared, f"{n} trees: leaves")
            for number, tree in enumerate(trees):
                drawn_ = {leaf: 2.0 ** draw.randrange(-40, 40) * (1 + draw.random()) for leaf in summation.leaves(tree)}
                expect(value(whole, drawn_) == value(tree, drawn_), f"tree {number} of {n}")
    for one, other in (([99, 0], [1, 99]), ([0, 99], [99, 1])):
        try:
            summation.joined([summation.Chain(k, [[last]], 2) for k, last in (one, other)])
            expect(False, "a leaf of two trees that one does not add last")
        except summation.Unclear as e:
            expect("is not added last" in str(e), str(e))


def value(tree, numbers):
    stack = []
    for act, leaf in summation.actions(tree, set()):
        stack.append(numbers.get(leaf, 0.0) if act == "push" else stack.pop() + stack.pop())
    return stack[0]


recovered()
drawn()
joined()
refused()
sys.exit(failures > 0)
