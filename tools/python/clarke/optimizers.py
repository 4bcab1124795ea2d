"""INNAprop and DINAdam (Boustany's thesis, chapter 4), as optimizers of torch; `clarke step` knows their rules (docs/step.md)."""
import math

import torch


def require(name, value, good, wanted):
    if not good:
        raise ValueError(f"{name} is {value}; it must be {wanted}")


class Rule(torch.optim.Optimizer):
    """What they share: settings, state, decay of the parameters before the step, an average v of squared gradients."""

    slots = ()

    def __init__(self, params, lr=1e-3, alpha=0.1, beta=0.9, sigma=0.999, eps=1e-8, weight_decay=0.0):
        for name, value in ("lr", lr), ("alpha", alpha), ("beta", beta), ("eps", eps), ("weight_decay", weight_decay):
            require(name, value, 0 <= value < math.inf, "a finite number, 0 or above")
        require("sigma", sigma, 0 <= sigma < 1, "from 0 on, and below 1")
        super().__init__(params, {"lr": lr, "alpha": alpha, "beta": beta, "sigma": sigma, "eps": eps, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                if p.grad.layout != torch.strided or p.is_complex():
                    raise RuntimeError(f"{type(self).__name__} takes dense, real gradients")
                state = self.state[p]
                if not state:
                    state |= {"step": torch.tensor(0.0)} | {slot: self.begun(slot, p, group) for slot in self.slots}
                state["step"] += 1
                if group["weight_decay"]:
                    p.mul_(1 - group["lr"] * group["weight_decay"])
                state["v"].mul_(group["sigma"]).addcmul_(p.grad, p.grad, value=1 - group["sigma"])
                self.move(p, p.grad, state, group)
        return loss

    def begun(self, slot, p, group):
        return torch.zeros_like(p, memory_format=torch.preserve_format)


class INNAprop(Rule):
    """Algorithm 4, with the decay of Algorithm 3; the form with psi_k, so that lr may reach beta. From psi = (1 - alpha beta) theta."""

    slots = "psi", "v"

    def __init__(self, params, lr=1e-3, alpha=0.1, beta=0.9, **settings):
        require("beta", beta, beta > lr, f"above lr, which is {lr}")
        super().__init__(params, lr, alpha, beta, **settings)

    def begun(self, slot, p, group):
        return p.detach() * (1 - group["alpha"] * group["beta"]) if slot == "psi" else super().begun(slot, p, group)

    def root(self, state, group):
        return state["v"].add(group["eps"]).sqrt_()

    def move(self, p, g, state, group):
        lr, alpha, beta = group["lr"], group["alpha"], group["beta"]
        by, before = lr / beta - lr * alpha, state["psi"].clone()
        state["psi"].mul_(1 - lr / beta).add_(p, alpha=by)
        p.add_(p, alpha=by).add_(before, alpha=-lr / beta).add_(g / self.root(state, group), alpha=-lr * beta)


class INNApropReleased(INNAprop):
    """As its authors' code has it: the bias of v corrected, epsilon outside the root."""

    def root(self, state, group):
        return (state["v"] / (1 - group["sigma"] ** state["step"].item())).sqrt_().add_(group["eps"])


class DINAdam(Rule):
    """Algorithm 6, its sign put right, with gamma = alpha lr: NAdam with the constant mu = 1 - alpha beta, without corrections."""

    slots = "m", "v"

    def move(self, p, g, state, group):
        lr, alpha, both = group["lr"], group["alpha"], group["alpha"] * group["beta"]
        share = 1 / (1 + alpha * alpha * lr)
        state["m"].mul_(share).add_(g, alpha=(1 - share) * (1 - both))
        p.add_(state["m"].add(g, alpha=both).div_(state["v"].add(group["eps"]).sqrt_()), alpha=-lr)
