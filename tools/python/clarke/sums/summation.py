"""In which order does somebody's sum add? Finds its tree by questions, and follows trees in IEEE arithmetic.

The questions are FPRev's (Xie et al., USENIX ATC 2025). Of the leaves one is M, one -M, the others are ones, M so large that even the
sum of all ones vanishes beside it. What comes out counts the ones that were added after M and -M had met. So the number of leaves
less it is how many are below the node where the two meet. These numbers, from one leaf to all others, part these others into
subtrees, and so on. A chain or a balanced tree of n leaves takes about 2 n or n log n questions.

A tree does not say whether a product was rounded before it was added. That is asked of each product: (1 + u)^2 less (1 + u) leaves u^2
behind only where it was not.

This module needs nothing but Python.
"""
import random
from dataclasses import dataclass, field


class Unclear(Exception):
    """The answers fit no tree, or change."""


@dataclass
class Chain:
    """A sum that begins with a leaf; each step adds one subtree, or several at once. A subtree is a Chain or a leaf's number."""

    first: int
    steps: list = field(default_factory=list)  # lists of subtrees
    leaves: int = 1


def size(tree):
    return tree.leaves if isinstance(tree, Chain) else 1


def add(tree, below):
    """The larger of two comes first, so that brackets are at most log2(n) deep in one another; of equals that of the lower leaf."""
    whole = tree.leaves + sum(size(b) for b in below)
    if len(below) == 1:
        other = below[0] if isinstance(below[0], Chain) else Chain(below[0])
        if (-other.leaves, other.first) < (-tree.leaves, tree.first):
            tree, below = other, [tree if tree.leaves > 1 else tree.first]
    return Chain(tree.first, tree.steps + [below], whole)


def build(sizes, leaves, draw=None):
    """The tree of some leaves that one node holds, and no others. sizes(pairs): how many leaves are below each pair's node."""
    draw = draw or random.Random(len(leaves))
    leaf = draw.choice(leaves)
    others, groups = [x for x in leaves if x != leaf], {}
    for other, below in zip(others, sizes([(leaf, o) for o in others]) if others else []):
        groups.setdefault(below, []).append(other)
    tree = Chain(leaf)
    for below, group in sorted(groups.items()):
        if below != tree.leaves + len(group):
            raise Unclear(f"leaf {leaf} meets {len(group)} others in a node of {below}, below which are {tree.leaves} already")
        tree = add(tree, children(sizes, group, below, draw))
    return tree


def children(sizes, leaves, whole, draw):
    """The leaves that meet another in a node of so many: its other children."""
    found = []
    while leaves:
        leaf, rest = leaves[0], leaves[1:]
        below = sizes([(leaf, o) for o in rest]) if rest else []
        own = [leaf] + [o for o, s in zip(rest, below) if s < whole]
        found.append(build(sizes, own, draw) if len(own) > 1 else leaf)
        leaves = [o for o in rest if o not in set(own)]
    return found


def joined(trees):
    """One tree that adds up several, of each of which the others are zeros. What all of them add last is added once."""
    if len(trees) == 1:
        return trees[0]
    last = {str(t.steps[-1]) for t in trees if t.steps}
    every = set.intersection(*(set(leaves(t)) for t in trees))
    if every and last != {str([one]) for one in every}:
        raise Unclear(f"leaf {min(every)}, which is of several trees, is not added last")
    parts = [Chain(t.first, t.steps[:-1], t.leaves - 1) if every else t for t in trees]
    whole = parts[0]
    for part in parts[1:]:
        whole = add(whole, [part if part.leaves > 1 else part.first])
    return add(whole, [min(every)]) if every else whole


def leaves(tree):
    return [tree] if not isinstance(tree, Chain) else [tree.first] + [x for below in tree.steps for b in below for x in leaves(b)]


# ---- Binary trees as lists of actions, and as texts (docs/run-format.md)


def partners(tree):
    """For each leaf one of those that its product is added to."""
    found, rest = {}, [tree]
    while rest:
        chain = rest.pop()
        before = chain.first
        for at, below in enumerate(chain.steps):
            if len(below) != 1:
                raise Unclear(f"{len(below) + 1} numbers are added at once")
            if isinstance(below[0], Chain):
                rest.append(below[0])
            else:
                found[below[0]] = before
                if at == 0:
                    found[before] = below[0]
    return found


def fused(tree, leaves, left_behind):
    """Which products of these leaves are not rounded. left_behind(pairs): of each (leaf, other), is u^2 left of (1 + u)^2 - (1 + u)?"""
    partner = partners(tree)
    asked = [k for k in leaves if k in partner]
    return {k for k, was in zip(asked, left_behind([(k, partner[k]) for k in asked])) if was} if asked else set()


def ordered(chain, fused):
    """The chain's first two leaves, so that the second is the fused one."""
    first, steps = chain.first, chain.steps
    if steps and first in fused:
        if isinstance(steps[0][0], Chain) or steps[0][0] in fused:
            raise Unclear(f"product {first} is fused with none")
        first, steps = steps[0][0], [[first]] + steps[1:]
    return first, [below[0] for below in steps]


def actions(tree, fused):
    """[("push", leaf) | ("fuse", leaf) | ("add", None)]: what a stack of sums goes through."""
    first, steps = ordered(tree, fused)
    made = [("push", first)]
    for below in steps:
        if isinstance(below, Chain):
            made += actions(below, fused) + [("add", None)]
        elif below in fused:
            made.append(("fuse", below))
        else:
            made += [("push", below), ("add", None)]
    return made


def runs(leaves):
    """Leaves one after another as texts: 3, 4-7, 4-60/4."""
    at = 0
    while at < len(leaves):
        by = leaves[at + 1] - leaves[at] if at + 1 < len(leaves) else 0
        end = at
        while by > 0 and end + 1 < len(leaves) and leaves[end + 1] - leaves[end] == by:
            end += 1
        if end - at < 2:
            yield str(leaves[at])
            at += 1
        else:
            yield f"{leaves[at]}-{leaves[end]}" + (f"/{by}" if by > 1 else "")
            at = end + 1


def text(tree, fused):
    first, steps = ordered(tree, fused)
    if not steps:
        return str(first)
    parts, run, star = [], [first], False

    def flush():
        parts.extend(r + ("*" if star else "") for r in runs(run))
        run.clear()

    for below in steps:
        if isinstance(below, Chain):
            flush()
            parts.append(text(below, fused))
            continue
        if (below in fused) != star:
            flush()
            star = below in fused
        run.append(below)
    flush()
    return "[" + " ".join(parts) + "]"
