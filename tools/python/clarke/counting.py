"""clarke.counts: how often a training's floats are at a kink, and tie in a maximum pool, counted by hooks. Nothing is asked exactly."""
from __future__ import annotations

import functools
import itertools
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from .recording.again import is_running
from .tracing.dispatched import unseen

# Where a module's function has its kinks, or jumps.
KINKS = {
    nn.ReLU: lambda m: (0,), nn.ReLU6: lambda m: (0, 6), nn.LeakyReLU: lambda m: (0,) if m.negative_slope != 1 else (), nn.PReLU: lambda m: (0,),
    nn.Hardtanh: lambda m: (m.min_val, m.max_val), nn.Hardsigmoid: lambda m: (-3, 3), nn.Hardswish: lambda m: (-3, 3),
    nn.Softshrink: lambda m: (-m.lambd, m.lambd) if m.lambd else (), nn.ELU: lambda m: (0,) if m.alpha != 1 else (), nn.SELU: lambda m: (0,),
    nn.Threshold: lambda m: (m.threshold,), nn.Hardshrink: lambda m: (-m.lambd, m.lambd) if m.lambd else (),
    nn.RReLU: lambda m: (0,) if (m.lower, m.upper) != (1, 1) else (),
}
POOLS = {nn.MaxPool1d: 1, nn.MaxPool2d: 2, nn.MaxPool3d: 3}


def sizes(size, axes):
    return tuple(size) if isinstance(size, (tuple, list)) else (size,) * axes


def tied_windows(m, axes, x, output):
    """Windows with several largest entries, which are above 0."""
    kernel, stride, padding, dilation = (sizes(size, axes) for size in (m.kernel_size, m.stride, m.padding, m.dilation))
    shape = output.shape[-axes:]
    pads = []
    for a in range(axes):  # behind the last window nothing is read, before it there may be more than the padding
        reach = (shape[a] - 1) * stride[a] + dilation[a] * (kernel[a] - 1) + 1
        pads.append((padding[a], max(0, reach - x.shape[a - axes] - padding[a])))
    if any(pad != (0, 0) for pad in pads):
        x = F.pad(x, [side for pad in reversed(pads) for side in pad], value=-torch.inf)
    taps = list(itertools.product(*map(range, kernel)))
    count, largest = torch.uint8 if len(taps) < 256 else torch.int32, None
    for tap in taps:
        at = (..., *(slice(k * d, k * d + (n - 1) * s + 1, s) for k, d, n, s in zip(tap, dilation, shape, stride)))
        equal = (x[at] == output).to(count)
        largest = equal if largest is None else largest.add_(equal)
    return torch.count_nonzero((largest > 1).logical_and_(output > 0))


def argument(inputs, named):
    """What a module was called with: relu(h), or relu(input=h)."""
    return inputs[0] if inputs else named["input"]


def number(n):
    """On a CPU the number itself; elsewhere nobody waits for it."""
    return int(n) if n.device.type == "cpu" else n


class counts:
    """counted = clarke.counts(model)
    for x, y in batches:
        loss = loss_fn(model(x), y); loss.backward(); optimizer.step()
    print(counted.close())

    In each forward pass of the model that autograd follows, the arguments of its modules' functions are counted that equal a kink, and the
    windows of its maximum pools that have several largest entries above 0: in floats, as they were computed. What is called without a module
    (`torch.relu(h)`) is not seen. close() takes the hooks away, and is what was counted; `summed()` is that so far.
    """

    def __init__(self, model: nn.Module) -> None:
        self.steps, self.names, self.sums, self.within, self.depth = 0, {}, {}, {}, 0
        self.hooks = []
        for name, m in model.named_modules():
            kinks = KINKS[type(m)](m) if type(m) in KINKS else ()
            if kinks:
                self.names[m] = name
                self.hooks.append(m.register_forward_pre_hook(functools.partial(self.add, kinks), with_kwargs=True))
            elif type(m) in POOLS:
                self.names[m] = name
                self.hooks.append(m.register_forward_hook(self.windows, with_kwargs=True))
        self.hooks += [model.register_forward_pre_hook(self.begin, prepend=True), model.register_forward_hook(self.end, always_call=True)]

    # ---- Hooks

    def begin(self, model, inputs):
        self.depth += not is_running()

    def end(self, model, inputs, output):
        """What one pass came to; a model that calls itself is one pass."""
        if is_running():
            return
        self.depth -= 1
        if self.depth > 0 or not torch.is_grad_enabled():
            return
        if output is not None:
            self.steps += 1
            for m, found in self.within.items():
                total, with_some, all_ = self.sums.get(m, (0, 0, 0))
                self.sums[m] = total + found[0], with_some + (found[0] > 0), all_ + found[1]
        self.within = {}

    def found(self, m, n, of):
        before = self.within.get(m, (0, 0))
        self.within[m] = before[0] + n, before[1] + of

    def add(self, kinks, m, inputs, named):
        if self.depth > 0 and torch.is_grad_enabled():
            with unseen(), torch._C.DisableTorchFunction():  # what is counted is no part of a step that is recorded meanwhile
                x = argument(inputs, named).detach()
                touched = (x.numel() - number(torch.count_nonzero(x)) if kink == 0 else number(torch.count_nonzero(x == kink)) for kink in kinks)
                self.found(m, sum(touched), x.numel())

    def windows(self, m, inputs, named, output):
        if self.depth > 0 and torch.is_grad_enabled():
            with unseen(), torch._C.DisableTorchFunction():
                output = (output[0] if isinstance(output, tuple) else output).detach()
                self.found(m, number(tied_windows(m, POOLS[type(m)], argument(inputs, named).detach(), output)), output.numel())

    # ---- What was counted

    def summed(self) -> dict[str, Any]:
        """{"steps": N, "modules": {NAME: {"op": ..., "touched" or "tied": n, "steps_touched" or "steps_tied": ..., "of": all}}}"""
        modules = {}
        for m, name in self.names.items():
            total, with_some, all_ = (int(n) for n in self.sums.get(m, (0, 0, 0)))
            what = "tied" if type(m) in POOLS else "touched"
            modules[name] = {"op": type(m).__name__, what: total, f"steps_{what}": with_some, "of": all_}
        return {"steps": self.steps, "modules": modules}

    def close(self) -> dict[str, Any]:
        for hook in self.hooks:
            hook.remove()
        self.hooks = []
        return self.summed()
