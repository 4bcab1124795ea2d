"""ATen's CTC loss: minus the logarithm of a sum over all alignments of a label's letters with the frames, of their probabilities.

    "ab" of 3 frames: aab, abb, ab-, a-b, -ab      (- is the blank)

Letters with blanks between and around them are *states*. A(t, s) is the sum over all ways to state s in frame t:

    A(t, s) = p(t, s) (A(t-1, s) + A(t-1, s-1) + A(t-1, s-2)),      the last only where s-2 has another letter

PyTorch has logarithms of these. Here each is near 1: the graph has a(t, s) = A(t, s) exp(R(t, s)), where R is data, and p times the quotient of
two of these factors is exp(l(t, s) + R(t, s) - R(t-1, s')), l being the frame's logarithm. What cannot be reached is a sum of nothing.

PyTorch's derivative has exp(l) besides: it takes the logarithms for a log_softmax, behind which this is 0. So the graph has the sum of all exp(l)
less what it is: the number of frames. Of other logarithms the derivative is that of another function, which is told.
"""
import math
from dataclasses import dataclass

import torch

from .losses import values
from .table import argument, operator
from ..refused import Unbatched
from ..tracing.dispatched import Value

LEAST = float("-inf")
MOST_STEPS = 1 << 22  # frames times samples times states
STEP = 256  # factors are exp of so many parts of 1: their differences are exact
UNALIGNED = "take as many frames as the label has letters and equal neighbours, or zero_infinity=True"


@dataclass
class Labels:
    """The letter of each state, whether the one two before leads to it; of each sample how many states and frames it has."""

    letters: torch.Tensor  # samples x states
    skips: torch.Tensor
    states: torch.Tensor
    frames: torch.Tensor

    def neighbours(self, way, skips):
        """Samples x states x 3: itself and the next two in one direction, or -1."""
        state = torch.arange(self.letters.shape[1])
        places = (state[:, None] + way * torch.arange(3)).expand(*self.letters.shape, 3).clone()
        places[..., 2][~skips] = -1
        inside = (places >= 0) & (places < self.states[:, None, None]) & (state < self.states[:, None])[..., None]
        return torch.where(inside, places, -1)

    def before(self):
        return self.neighbours(-1, self.skips)

    def behind(self):
        return self.neighbours(1, torch.nn.functional.pad(self.skips, (0, 2))[:, 2:])

    def first(self):
        """Samples x states: may a label begin in it?"""
        state = torch.arange(self.letters.shape[1])
        return (state < 2) & (state < self.states[:, None])

    def last(self):
        """Samples x 2: the states that a label may end in, the last blank and letter, or -1."""
        return torch.stack([self.states - 1, self.states - 2], 1)


def lengths(given):
    return (given.tensor.cpu() if isinstance(given, Value) else torch.tensor(list(given))).to(torch.int64).reshape(-1)


def letters_of(targets, counts):
    """Each sample's letters: rows, or one after another."""
    rows = targets.split(counts.tolist()) if targets.dim() == 1 else targets
    return [row[:n] for row, n in zip(rows, counts.tolist())]


def needed(letters):
    """How many frames an alignment needs: between equal letters is a blank."""
    return len(letters) + int((letters[1:] == letters[:-1]).sum())


def labels_of(g, targets, frames, counts, blank):
    states = 2 * counts + 1
    letters = torch.full((len(counts), int(states.max())), blank)
    for i, (own, n) in enumerate(zip(letters_of(targets, counts), counts.tolist())):
        if bool((own == blank).any()):
            g.refuse("a label has the blank as a letter", "take another blank, or leave it out: blanks are put between letters")
        letters[i, 1:2 * n:2] = own
    skips = torch.zeros_like(letters, dtype=torch.bool)
    skips[:, 2:] = letters[:, 2:] != letters[:, :-2]
    return Labels(letters, skips, states, frames)


# ---- Logarithms, in doubles: none of what is proved hangs on them


def none_behind(line):
    """One entry more along the last axis, which place -1 finds."""
    return torch.cat([line, torch.full_like(line[..., :1], LEAST)], -1)


def at(line, places):
    """Samples x states x 3, of samples x states."""
    behind = none_behind(line)
    return behind.gather(1, (places % behind.shape[1]).reshape(len(line), -1)).reshape(places.shape)


def ways_from_start(logs, labels):
    """The logarithm of A: frames x samples x states."""
    places, out = labels.before(), [torch.where(labels.first(), logs[0], LEAST)]
    for frame in logs[1:]:
        out.append(torch.logsumexp(at(out[-1], places), -1) + frame)
    return torch.stack(out)


def ways_to_end(logs, labels):
    """The same of all ways from a state to the label's end."""
    state, places = torch.arange(labels.letters.shape[1]), labels.behind()
    ends = (state == labels.states[:, None] - 1) | (state == labels.states[:, None] - 2)
    now, out = torch.full(labels.letters.shape, LEAST, dtype=torch.float64), []
    for t in range(len(logs) - 1, -1, -1):
        later = torch.logsumexp(at(now, places), -1)
        last = (labels.frames == t + 1)[:, None]
        now = torch.where(last, torch.where(ends, 0.0, LEAST), torch.where((labels.frames > t + 1)[:, None], later, LEAST)) + logs[t]
        out.append(now)
    return torch.stack(out[::-1])


def slack(logs, forward, backward, labels):
    """How large a number each exponent is rounded with, at least, so that this is no less than PyTorch's roundings of logarithms
    (docs/rounding-bound.md, "Alignments")."""
    both = forward + backward
    alive = both != LEAST
    steps = [torch.where(alive, v.abs() + (v - logs).abs() + 21, 0.0) for v in (forward, backward)]
    size = torch.stack([torch.where(alive, v, 0.0).abs().amax((0, 2)) for v in (both - logs, both, logs)]).amax(0)
    alike = (labels.states.to(torch.float64) + 1) / 2
    rest = (alike + 2) * (size + 17 + alike.log()) / (2 * labels.frames)
    return (torch.maximum(*steps) + rest[:, None]) / 6


def factors(forward, total, labels):
    """R, and R(t, s) - R(t-1, s') of the states before: R(t, s) of the first frame, 0 where nothing comes from there."""
    rows, places = torch.arange(len(labels.frames)), labels.before()
    scale = torch.where(forward == LEAST, 0.0, -(forward * STEP).round() / STEP)
    for end in labels.last().T:
        held = end >= 0
        scale[labels.frames[held] - 1, rows[held], end[held]] = total[held]
    less = torch.zeros(*scale.shape, 3, dtype=torch.float64)
    less[0, :, :, 0] = scale[0]
    for t in range(1, len(scale)):
        shift = scale[t, :, :, None] - at(scale[t - 1], places)
        less[t] = torch.where(at(forward[t - 1], places) == LEAST, 0.0, shift)
    return less


# ---- The graph


def kept_of(g, node, labels, aligned):
    """The same of the samples that have an alignment. The loss of the others is infinite, near by, too: who reads it leaves it out."""
    infinite = node.results[0].tensor.detach().cpu() == math.inf
    if not torch.equal(infinite, ~aligned):
        g.refuse("a loss that is too large for its type", "scale the logits, or compute it in float64")
    if bool(infinite.all()):
        g.refuse("no label has an alignment", UNALIGNED)
    if bool(infinite.any()):
        g.masked.add(id(node.results[0]))
    return Labels(*(v[aligned] for v in (labels.letters, labels.skips, labels.states, labels.frames)))


def transitions(g, value, samples, labels):
    """The name of all quotients of a by the a of states before it, frames x (samples x states) x 3, and R of each label's end."""
    numbers = value.tensor.detach().cpu().to(torch.float64)
    frames, places = int(labels.frames.max()), torch.arange(numbers.numel()).reshape(numbers.shape)[:, samples]
    taken = places[:frames].gather(2, labels.letters.expand(frames, -1, -1))
    logs = numbers.reshape(-1)[taken]
    forward, backward = ways_from_start(logs, labels), ways_to_end(logs, labels)
    total = -(forward[0] + backward[0] - logs[0]).logsumexp(1)
    total = (total * STEP).round() / STEP
    less = factors(forward, total, labels)
    room = slack(logs, forward, backward, labels)[..., None] + (logs[..., None] + less).abs()
    shape = (frames, labels.letters.numel(), -1)
    room, less = room.ceil().reshape(shape), less.reshape(shape)
    flat = g.add("Reshape", [g.of(value), g.integers([numbers.numel()])])
    name = g.add("Gather", [flat, g.data("letters", taken.reshape(frames, -1, 1))], axis=0)
    name = g.add("Sub", [g.add("Add", [name, g.data("shifts", room + less)]), g.data("rooms", room)])
    return g.add("Exp", [name]), total


def likelihood(g, value, samples, labels):
    """Minus the logarithm of all alignments' probabilities, of each of the samples."""
    like, (count, states) = value.tensor, labels.letters.shape
    shares, total = transitions(g, value, samples, labels)
    rows = torch.arange(count)[:, None] * states
    before = labels.before()
    before = torch.where(before >= 0, before + rows[..., None], count * states).reshape(-1, 3)
    start = torch.zeros(count, states, 3, dtype=like.dtype)
    start[..., 0] = labels.first().to(like.dtype)
    nothing, places = g.constant(torch.zeros(1, dtype=like.dtype)), g.data("before", before)
    held, wanted = [], labels.frames.unique().tolist()
    behind = g.data("start", start.reshape(-1, 3))
    for t in range(wanted[-1]):
        step = g.add("Gather", [shares, g.constant(torch.tensor(t))], axis=0)
        a = g.add("ReduceSum", [g.add("Mul", [step, behind]), g.integers([1])], keepdims=0)
        held += [a] if t + 1 in wanted else []
        if t + 1 < wanted[-1]:
            behind = g.add("Gather", [g.add("Concat", [a, nothing], axis=0), places], axis=0)
    ends, frame = labels.last(), torch.tensor([wanted.index(n) for n in labels.frames.tolist()])[:, None]
    ends = torch.where(ends >= 0, ends + rows + frame * count * states, len(wanted) * count * states)
    whole = g.add("Gather", [g.add("Concat", [*held, nothing], axis=0), g.data("ends", ends)], axis=0)
    return g.add("Sub", [g.data("scales", total), g.add("Log", [g.add("ReduceSum", [whole, g.integers([1])], keepdims=0)])])


SAME = {"clone", "alias", "contiguous", "_to_copy", "lift_fresh"}


def axis_before(node, axis):
    """Which axis of what the node reads the axis of its result was, where all of that axis is there; None: none, or it is not known."""
    name, x, y = node.name.rstrip("_"), node.args[0].tensor, node.results[0].tensor
    if name in SAME or (name == "slice" and x.shape[axis] == y.shape[axis]):
        return axis
    if name in ("transpose", "permute"):
        order = [a % y.dim() for a in node.args[1]] if name == "permute" else list(range(y.dim()))
        if name == "transpose":
            a, b = node.args[1] % y.dim(), node.args[2] % y.dim()
            order[a], order[b] = b, a
        return order[axis]
    if name == "select":
        return axis + (node.args[1] % x.dim() <= axis)
    if name == "unsqueeze":
        return axis - (node.args[1] % y.dim() < axis) if node.args[1] % y.dim() != axis else None
    if name in ("view", "_unsafe_view", "reshape") and axis == y.dim() - 1 and x.dim() > 0 and x.shape[-1] == y.shape[-1]:
        return x.dim() - 1
    return None


def are_shares(value, axis):
    """Are these logarithms of a softmax along the axis, moved or not?"""
    node = value.node
    if node is None or node.own is not None:
        return False
    if node.name == "_log_softmax":
        return node.args[1] % value.tensor.dim() == axis
    before = axis_before(node, axis) if isinstance(node.args[0], Value) else None
    return before is not None and are_shares(node.args[0], before)


def surplus(g, node, value, samples, frames):
    """The sum of all exponentials of a sample's frames, less what it is."""
    like, (most, count) = value.tensor, value.tensor.shape[:2]
    inside = torch.zeros(count, dtype=torch.int64)
    inside[samples] = frames
    inside = (torch.arange(most)[:, None] < inside).to(like.dtype)
    each = g.add("Mul", [g.add("ReduceSum", [g.add("Exp", [g.of(value)]), g.integers([2])], keepdims=0), g.data("frames", inside)])
    whole = inside.sum(0).to(torch.float64)
    if not are_shares(value, 2):
        g.surrogate(node, "its derivative is for a log_softmax: of other logarithms l it is that of the loss and of the sum of exp(l)")
        whole = (like.detach().cpu().to(torch.float64).exp().sum(2) * inside).sum(0)
    return g.add("Sub", [g.add("ReduceSum", [each, g.integers([0])], keepdims=0), g.data("counts", whole)])


@operator("_ctc_loss")
def write_alignments(g, node):
    value, targets = node.args[:2]
    if not g.whole:
        raise Unbatched
    frames, counts = (lengths(v) for v in node.args[2:4])
    letters, *_ = values(g, targets, *(v for v in node.args[2:4] if isinstance(v, Value)))
    labels = labels_of(g, letters, frames, counts, argument(node, 4, "blank", 0))
    if bool((frames < 1).any()) or int(frames.max()) * labels.letters.numel() > MOST_STEPS:
        g.refuse(f"a sample without frames, or more than {MOST_STEPS} frames times states", "leave it out, or take fewer samples or shorter parts")
    aligned = frames >= torch.tensor([needed(own) for own in letters_of(letters, counts)])
    samples = torch.nonzero(aligned).reshape(-1)
    kept = kept_of(g, node, labels, aligned)
    name = likelihood(g, value, samples, kept)
    if len(samples) < len(frames):
        back = torch.full((len(frames),), len(samples)).index_put((samples,), torch.arange(len(samples)))
        name = g.add("Gather", [g.add("Concat", [name, g.constant(torch.zeros(1, dtype=value.tensor.dtype))], axis=0), g.data("samples", back)], axis=0)
    return {0: g.add("Add", [name, surplus(g, node, value, samples, kept.frames)])}
