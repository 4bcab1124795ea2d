"""Windows of maximum pools with several largest entries above 0, in floats, and which of these are another function than the first.

Park, Chun and Lee's Algorithms 1 and 2: S_j are a window's largest entries, and T_j those of S_j whose derivative by the parameters of
this layer and of those before, as AD has it, is that of the entry that AD chooses: the first. What matters are the windows with S_j less
T_j not empty.

No derivative is computed. Behind a convolution an entry is a function of its filter, and of what the patch holds. So entries of one
channel are told by a number of the patch: a hash of the numbers of its entries. Behind a Relu that is 0 an entry's number is 0, whatever it
is of, and behind a pool it is that of the chosen entry. A normalization keeps them. *By identity* a Relu at 0, and a window whose largest
entries differ, are functions of their own.
"""

import numpy as np
from torch import nn


def mixed(n):
    """A one-to-one function of 64 bits (splitmix64's) that keeps 0."""
    n = (n ^ (n >> np.uint64(30))) * np.uint64(0xbf58476d1ce4e5b9)
    n = (n ^ (n >> np.uint64(27))) * np.uint64(0x94d049bb133111eb)
    return n ^ (n >> np.uint64(31))


def sides(module, name):
    size = getattr(module, name)
    return size if isinstance(size, tuple) else (size, size)


def shifted(x, module, output, border):
    """The window's or patch's entries, one place after another."""
    (height, width), (down, right), (above, left) = (sides(module, name) for name in ("kernel_size", "stride", "padding"))
    x = np.pad(x, [(0, 0), (0, 0), (above, above), (left, left)], constant_values=border)
    for i in range(height):
        for j in range(width):
            yield x[:, :, i:, j:][:, :, ::down, ::right][:, :, :output.shape[2], :output.shape[3]]


class Numbers:
    """What numbers the entries have, module after module of a network without branches, up to its last pool."""

    def __init__(self, identity):
        self.identity, self.random, self.factors = identity, np.random.default_rng(0), {}
        self.at = None

    def begin(self, x):
        self.at = mixed((x + 0.0).double().numpy().view(np.uint64))

    def convolution(self, module, output):
        if module not in self.factors:
            shape = *sides(module, "kernel_size"), 1, self.at.shape[1], 1, 1
            self.factors[module] = self.random.integers(1, 2 ** 63, shape, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
        factors = self.factors[module].reshape(-1, 1, self.at.shape[1], 1, 1)
        places = zip(shifted(self.at, module, output, 0), factors)
        self.at = mixed(sum((x * by).sum(1, keepdims=True, dtype=np.uint64) for x, by in places))

    def relu(self, x, output):
        at = np.broadcast_to(self.at, output.shape)
        kink = mixed(at ^ np.uint64(0x9e3779b97f4a7c15)) if self.identity else np.uint64(0)
        self.at = np.where(output.numpy() > 0, at, np.where(x.numpy() == 0, kink, np.uint64(0)))

    def pool(self, module, x, output):
        """How many of each window's largest entries have another number than the first; then the outputs' numbers."""
        border = np.uint64(0)
        at = np.stack(list(shifted(np.broadcast_to(self.at, x.shape), module, output, border)))
        tied = np.stack(list(shifted(x.numpy(), module, output, -np.inf))) == output.numpy()
        first = np.take_along_axis(at, tied.argmax(0)[None], 0)
        parted = tied & (at != first)
        self.at = first[0]
        if self.identity:  # the number of a set
            several = np.where(tied, mixed(at ^ np.uint64(0x632be59bd9b4e019)), np.uint64(0))
            self.at = np.where(parted.any(0), mixed(several.max(0) ^ several.sum(0, dtype=np.uint64)), first[0])
        return tied.sum(0), parted.sum(0)


class Pool:
    """One pool's counts: windows, those tied above 0, and of the others entries that are another function."""

    def __init__(self):
        self.all, self.tied, self.steps, self.parted_steps, self.parted, self.entries = 0, 0, 0, 0, 0, 0

    def add(self, output, tied, parted):
        some = (tied > 1) & (output.numpy() > 0)
        parted = np.where(some, parted, 0)
        self.all, self.tied, self.steps = self.all + output.numel(), self.tied + int(some.sum()), self.steps + bool(some.any())
        self.parted, self.entries = self.parted + int((parted > 0).sum()), self.entries + int(parted.sum())
        self.parted_steps += bool(parted.any())


class Windows:
    """Counts in every forward pass of a network; `counts` stops it."""

    def __init__(self, net):
        modules = list(net)
        last = max(k for k, m in enumerate(modules) if isinstance(m, nn.MaxPool2d))
        self.counts, self.first = True, modules[0]
        self.numbers = {"AD": Numbers(False), "identity": Numbers(True)}
        self.pools = {of: [Pool() for m in modules if isinstance(m, nn.MaxPool2d)] for of in self.numbers}
        self.place = {m: k for k, m in enumerate(m for m in modules if isinstance(m, nn.MaxPool2d))}
        for m in modules[:last + 1]:
            if not isinstance(m, (nn.Conv2d, nn.ReLU, nn.MaxPool2d, nn.BatchNorm2d, nn.Identity)):
                raise NotImplementedError(f"{m}")
            m.register_forward_hook(self.follow)

    def follow(self, module, inputs, output):
        if not self.counts:
            return
        x, output = inputs[0].detach(), output.detach()
        for of, numbers in self.numbers.items():
            if module is self.first:
                numbers.begin(x)
            if isinstance(module, nn.Conv2d):
                numbers.convolution(module, output)
            elif isinstance(module, nn.ReLU):
                numbers.relu(x, output)
            elif isinstance(module, nn.MaxPool2d):
                self.pools[of][self.place[module]].add(output, *numbers.pool(module, x, output))
