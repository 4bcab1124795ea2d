#!/usr/bin/env python3
"""Steps that a record could say something false of: each is recorded as it ran, or refused with the line.

    records_attacks.py CLARKE CLARKE-CHECK [NAME...]

Of what is recorded, what lies in the folder is compared with what the step itself saw: parameters, batch, outputs of modules, gradients.
Then the audit must explain the gradient, and `clarke certify` may refute no node.
"""
import copy
import itertools
import json
import os
import subprocess
import sys
import tempfile

import torch
from torch import library as dispatcher
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "python"))
CLARKE, CHECK = (os.path.abspath(p) for p in sys.argv[1:3])
os.environ["CLARKE"] = CLARKE
import clarke  # noqa: E402
from attacked import Net, Wrong  # noqa: E402
from safetensors.torch import load_file  # noqa: E402

X, Y = torch.linspace(-2, 3, 24).reshape(6, 4), torch.arange(6) % 3
ATTACKS, WAYS = [], ({}, {"light": True}, {"background": True})


def attack(*says, explained=True, told=""):
    """A step that is right, or is refused with one of these texts; explained: what the audit says of a gradient; told: the entry of run.json
    (surrogates, branches) that tells of it."""
    def note(step):
        ATTACKS.append((step.__name__.replace("_", "-"), step, says, explained, told))
        return step
    return note


class Step:
    """What the step itself saw, to compare the folder with."""

    def __init__(self, folder, extra):
        self.extra, self.run, self.outputs, self.start, self.x, self.gradients = extra, os.path.join(folder, "run"), {}, {}, None, {}
        self.recorded, self.options = None, {}

    def record(self, model, **options):
        self.model, self.options = model, options | self.extra
        for name, module in model.named_modules():
            module.register_forward_hook(lambda m, a, out, name=name: self.keep(name, out))
        self.start = {n: p.detach().clone() for n, p in model.named_parameters()}
        self.recorded = clarke.record(self.run, model, **self.options)
        return self.recorded

    def keep(self, name, out):
        if isinstance(out, torch.Tensor) and not self.gradients:  # behind it the model is run again
            with torch.utils._python_dispatch._disable_current_modes():
                self.outputs[name] = out.detach().clone()

    def end(self):
        """The gradients as the backward pass left them."""
        with torch.no_grad():
            self.gradients = {n: (p.grad.coalesce().to_dense() if p.grad.is_sparse else p.grad).clone()
                              for n, p in self.model.named_parameters() if p.grad is not None}

    def description(self):
        with open(os.path.join(self.run, "run.json")) as f:
            return json.load(f)

    def wrong(self):
        """What in the folder is not what was seen."""
        run = self.description()
        files = run["steps"][-1]["files"]
        held = {kind: load_file(os.path.join(self.run, entry["file"])) for kind, entry in files.items() if entry["file"].endswith("safetensors")}
        for name, t in held["parameters"].items():
            if name in self.start and not torch.equal(t, self.start[name]):
                yield f"parameter {name}"
        for name, t in held["gradients"].items():
            if t.shape != self.gradients[name].shape or not torch.allclose(t, self.gradients[name], rtol=0, atol=0, equal_nan=True):
                yield f"gradient of {name}"
        last = {n["module"]: n["name"] for n in run["nodes"]}  # a module's last operator makes its output
        for module, out in self.outputs.items():
            t = held.get("trace", {}).get(f"output/{last.get(module)}")
            if t is not None and t.shape == out.shape and not torch.equal(t, out) and module in ("first", "last"):
                yield f"output of {module}"


def plain(step, model, x=X, y=Y, **options):
    with step.record(model, **options):
        F.cross_entropy(model(x), y).backward()
        step.end()


# ---- Changed in place


@attack()
def activation_changed_later(step):
    """After the block, before what was recorded is written."""
    kept = []
    model = Net(lambda h: kept.append(h.relu()) or kept[0])
    recorded = step.record(model, background=True)
    clarke.recording.recorder.LATER.submit(lambda: __import__("time").sleep(0.3))
    with recorded:
        F.cross_entropy(model(X), Y).backward()
        step.end()
    with torch.no_grad():
        kept[0].add_(1)
        for p in model.parameters():
            p.sub_(p.grad)
            p.grad.zero_()
    recorded.wait()


@attack()
def batch_changed_later(step):
    x, model = X.clone(), Net()
    recorded = step.record(model, background=True)
    with recorded:
        F.cross_entropy(model(x), Y).backward()
        step.end()
    x.zero_()
    recorded.wait()


@attack("autograd itself")
def batch_changed_after_use(step):
    """What autograd keeps for the backward pass it looks after."""
    x, model = X.clone(), Net()
    with step.record(model):
        out = model(x)
        x.mul_(0)
        try:
            F.cross_entropy(out, Y).backward()
        except RuntimeError:
            raise clarke.Refused("records_attacks.py", "autograd itself", "see above") from None
        step.end()


@attack()
def optimizer_in_block(step):
    """The parameters change, and their gradients, after the backward pass."""
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    with step.record(model, optimizer=optimizer):
        F.cross_entropy(model(X), Y).backward()
        step.end()
        nn.utils.clip_grad_norm_(model.parameters(), 1e-3)
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)


@attack("was changed in the block", "without gradients here", "requires a gradient and is no parameter")
def optimizer_before(step):
    model = Net()
    for p in model.parameters():
        p.grad = torch.zeros_like(p)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.5)
    with step.record(model):
        optimizer.step()
        plain_step(step, model)


def plain_step(step, model, x=X):
    F.cross_entropy(model(x), Y).backward()
    step.end()


@attack("wrote depends on what is trained")
def foreach_before(step):
    model = Net()
    with step.record(model):
        with torch.no_grad():
            torch._foreach_add_(list(model.parameters()), 1.0)
        plain_step(step, model)


@attack("that was changed in place is read")
def data_before(step):
    model = Net()
    with step.record(model):
        model.first.weight.data.mul_(0.5)
        plain_step(step, model)


@attack("the memory of a tensor was replaced")
def data_replaced(step):
    model = Net()
    with step.record(model):
        model.first.weight.data = torch.ones(5, 4)
        plain_step(step, model)


@attack()
def bias_between(step):
    """Autograd does not keep a bias: only the trace sees the change."""
    model = Net()
    with step.record(model):
        loss = F.cross_entropy(model(X), Y)
        with torch.no_grad():
            model.last.bias.add_(1)
        loss.backward()
        step.end()


@attack("was changed in the block")
def statistics_before(step):
    class Normed(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.norm = nn.Linear(4, 3), nn.BatchNorm1d(3)

        def forward(self, x):
            self.norm.running_mean.add_(1)
            return self.norm(self.first(x))
    plain(step, Normed().eval())


@attack("what aten.native_batch_norm.default wrote depends on what is trained")
def statistics_read(step):
    model = Net()
    model.norm = nn.BatchNorm1d(5)
    model.between = lambda h: model.norm(h) - model.norm.running_mean
    plain(step, model)


@attack()
def scratch_reused(step):
    """A buffer outside of the model, written by out=."""
    scratch = torch.ones(6, 5)

    def between(h):
        torch.mul(torch.ones(6, 5), 2, out=scratch)
        a = h + scratch
        torch.mul(torch.ones(6, 5), 3, out=scratch)
        return a.relu() - scratch
    plain(step, Net(between))


@attack("a view of a tensor that was changed in place is read", "this operator cannot be written")
def slice_changed(step):
    def between(h):
        h = 1 * h
        part = h[:, 1:]
        h[:, :2].zero_()
        return h.relu() + part.sum()
    plain(step, Net(between))


@attack()
def expanded(step):
    plain(step, Net(lambda h: (h[:, :1].expand(6, 5) * h.t().contiguous().t() + h[:1].expand(6, 5)).relu()))


@attack()
def strided_parameter(step):
    model = Net()
    model.first.weight = nn.Parameter(torch.linspace(-1, 1, 40).reshape(4, 10).t()[::2])
    plain(step, model)


@attack("requires a gradient was changed in the block")
def frozen_after_use(step):
    model = Net()
    with step.record(model):
        loss = F.cross_entropy(model(X), Y)
        model.first.requires_grad_(False)
        loss.backward()
        step.end()


@attack("requires a gradient was changed in the block")
def frozen_in_the_block(step):
    model = Net()
    with step.record(model):
        model.last.requires_grad_(False)
        F.cross_entropy(model(X), Y).backward()
        step.end()


@attack("no shape yet")
def lazy(step):
    model = nn.Sequential(nn.LazyLinear(3))
    step.recorded = clarke.record(step.run, model, **step.extra)
    with step.recorded:
        F.cross_entropy(model(X), Y).backward()


@attack()
def numbers_of_float64(step):
    """Python's own, which are no float32: each in the type of what is computed."""
    model = Net(lambda h: F.threshold(h, 0.1, 0.3) + h.masked_fill(h > 0.2, 0.7) + torch.xlogy(h, 0.3) + torch.where(h > 0.1, h, 0.9)).double()
    plain(step, model, x=X.double())


@attack()
def of_no_entries(step):
    """Places that no entry is at, and what is computed of these."""
    def between(h):
        none = h[h > 1000]
        return h.relu() + none.relu().sum() / max(1, len(none)) + h[:0].sum()
    plain(step, Net(between))


@attack("a mean of no entries")
def mean_of_no_entries(step):
    plain(step, Net(lambda h: h + h[:0].mean().nan_to_num()))


@attack("in the memory of first.bias")
def memory_of_another(step):
    """A ReLU of one less that of the other is neither's alone: what is wrong of both together is right of each."""
    model = Net()
    model.other = nn.Parameter(model.first.bias.data)
    model.between = lambda h: (h + model.first.bias).relu() - (-model.other).relu()
    plain(step, model)


@attack("in the memory of first.bias")
def memory_of_a_part(step):
    model = Net()
    model.first.bias = nn.Parameter(model.first.weight.detach()[:, 1])
    plain(step, model)


@attack()
def memory_of_a_whole(step):
    """Parts of one tensor that share no entry, as flattened weights are."""
    model, whole = Net(), torch.linspace(-1, 1, 25)
    model.first.weight, model.first.bias = nn.Parameter(whole[5:].view(5, 4)), nn.Parameter(whole[:5])
    plain(step, model)


@attack("in the memory of each other")
def expanded_parameter(step):
    model = Net()
    model.first.bias = nn.Parameter(torch.tensor(0.5).expand(5))
    plain(step, model)


# ---- Numbers behind autograd's back


@attack("behind autograd's back")
def copied_in_the_block(step):
    """Outside of a module's call, which nobody runs again."""
    model = Net()
    with step.record(model):
        teacher = copy.deepcopy(model.last).weight.detach()
        F.cross_entropy(model(X) * teacher.sum(), Y).backward()
        step.end()


@attack("behind autograd's back")
def parameter_made_in_the_block(step):
    model = Net()
    with step.record(model):
        made = nn.Parameter(model.last.bias * 2)
        F.cross_entropy(model(X) * made.detach(), Y).backward()
        step.end()


@attack()
def another_made_in_the_block(step):
    model = Net()
    with step.record(model):
        made = nn.Parameter(torch.ones(3) / 2)
        F.cross_entropy(model(X) * made.detach(), Y).backward()
        step.end()


@attack(told="surrogates")
def data_of_activation(step):
    plain(step, Net(lambda h: h * h.data.abs()))


@attack(told="surrogates")
def data_of_parameter(step):
    model = Net()
    model.between = lambda h: h * model.first.bias.data
    plain(step, model)


@attack(told="surrogates")
def detached(step):
    plain(step, Net(lambda h: h * h.detach().abs()))


@attack(told="surrogates")
def without_gradients(step):
    def between(h):
        with torch.no_grad():
            scale = h.abs().mean()
        return h / scale
    plain(step, Net(between))


class Half(nn.Module):
    """A part that runs without gradients, and a head."""

    def __init__(self):
        super().__init__()
        self.part, self.last = nn.Sequential(nn.Linear(4, 4), nn.ReLU()), nn.Linear(4, 3)

    def forward(self, x):
        with torch.no_grad():
            h = self.part(x)
        return self.last(h)


@attack()
def frozen_part(step):
    model = Half()
    model.part.requires_grad_(False)
    plain(step, model)


@attack(told="surrogates")
def part_that_is_not_frozen(step):
    plain(step, Half())


@attack()
def not_called_itself(step):
    """Two networks in a list, which has no forward."""
    model = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 3)])
    with step.record(model):
        F.cross_entropy(model[1](model[0](X).relu()), Y).backward()
        step.end()


@attack("the loss depends on no data")
def without_data(step):
    model = nn.Linear(4, 4)
    with step.record(model):
        (model.weight ** 2).sum().backward()
        step.end()


@attack()
def variance_of_its_own(step):
    """gaussian_nll_loss sets a bound on it without autograd's knowledge, which is not reached."""
    model = Net()
    with step.record(model):
        out = model(X)
        F.gaussian_nll_loss(out[:, :1], X[:, :1], out[:, 1:2].exp()).backward()
        step.end()


@attack("Python reads a number")
def item(step):
    plain(step, Net(lambda h: h / (1 + h.abs().sum().item())))


@attack("Python reads a number")
def loss_by_itself(step):
    model = Net()
    with step.record(model):
        loss = F.cross_entropy(model(X), Y)
        (loss / loss.item()).backward()


@attack("Python reads a number")
def through_numpy(step):
    plain(step, Net(lambda h: h * torch.from_numpy(h.detach().abs().numpy() + 1)))


@attack("Python reads a number")
def through_list(step):
    plain(step, Net(lambda h: h * torch.tensor(h.detach().tolist())))


@attack()
def numbers_after(step):
    """What is read behind the backward pass is for the log."""
    model = Net()
    with step.record(model):
        loss = F.cross_entropy(model(X), Y)
        loss.backward()
        loss.detach().numpy()
        step.end()
        loss.item()
        model.first.weight.grad.norm().item()


@attack(told="branches")
def loss_chosen_by_its_number(step):
    """Nothing is computed after the number is read, and yet it decides which of two is the loss."""
    model = Net()
    with step.record(model):
        loss, other = F.cross_entropy(model(X), Y), model.first.weight.sum()
        (loss if loss.item() >= other.item() else other).backward()
        step.end()


@attack("before the backward pass")
def loss_read_by_numpy(step):
    model = Net()
    with step.record(model):
        loss = F.cross_entropy(model(X), Y)
        float(loss.detach().numpy())
        loss.backward()
        step.end()


@attack("two are equal")
def largest_of_two(step):
    """max(a, b) of Python's, of two that are equal."""
    model = Net()
    with step.record(model):
        out = model(X)
        max(out.sum(), out.sum() * 1).backward()
        step.end()


@attack()
def branch(step):
    """Only the side that was taken is recorded; its line is noted."""
    def between(h):
        return h.relu() if h.sum() > -1000 else h
    plain(step, Net(between))
    step.recorded.wait()
    with open(os.path.join(step.run, "run.json")) as f:
        lines = json.load(f)["branches"]
    if len(lines) != 1 or "records_attacks.py:" not in lines[0]:
        raise AssertionError(f"branches: {lines}")


@attack(told="branches")
def winners_used(step):
    """Places of largest entries, as rows of a table."""
    model = Net()
    model.table = nn.Embedding(5, 5)

    def between(h):
        values, places = h.max(1)
        return h * values[:, None] + model.table(places)
    model.between = between
    plain(step, model)


@attack(told="branches")
def mask_of_activations(step):
    plain(step, Net(lambda h: torch.where(h.detach() > 0, h, 2 * h)))


@attack("where it jumps is not known")
def bits(step):
    plain(step, Net(lambda h: (h.view(torch.int32) + 1).view(torch.float32) + h))


@attack("computed from its own parameters")
def input_of_own_parameters(step):
    model = Net()
    with step.record(model):
        x = X + model.first.bias.detach()[:4]
        plain_step(step, model, x)


@attack(told="surrogates")
def target_of_own_parameters(step):
    model = Net()
    with step.record(model):
        with torch.no_grad():
            y = model(X + 1)
        F.mse_loss(model(X), y).backward()
        step.end()


@attack()
def weight_that_is_frozen(step):
    model = Net()
    model.last.weight.requires_grad_(False)
    plain(step, model)


@attack("whether a tensor requires a gradient was changed")
def weight_that_thaws(step):
    model = Net()
    model.first.bias.requires_grad_(False)

    def between(h):
        h = h * model.first.bias
        model.first.bias.requires_grad_(True)
        return h * model.first.bias
    model.between = between
    plain(step, model)


# ---- Derivatives of somebody's own


class Reversed(Wrong):
    """Does nothing forward."""

    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return -g


class Hidden(Wrong):
    """Its operator runs with gradients, and looks like any."""

    @staticmethod
    def forward(ctx, x):
        with torch.enable_grad():
            return x * 2


@attack(told="surrogates")
def function_with_wrong_derivative(step):
    plain(step, Net(Wrong.apply))


@attack(told="surrogates")
def gradient_reversed(step):
    plain(step, Net(Reversed.apply))


@attack(told="surrogates")
def hidden_function(step):
    plain(step, Net(Hidden.apply))


@attack(told="surrogates")
def operator_of_that_name(step):
    """Another library's relu is not ATen's."""
    library = dispatcher.Library("attacks", "DEF")
    library.define("relu(Tensor x) -> Tensor")
    library.impl("relu", lambda x: torch.clamp(x, min=-1), "CompositeExplicitAutograd")
    library.impl("relu", lambda x: OwnRelu.apply(x), "Autograd")
    try:
        plain(step, Net(torch.ops.attacks.relu))
    finally:
        library._destroy()


class OwnRelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        with torch._C._AutoDispatchBelowAutograd(), torch.enable_grad():
            return torch.ops.attacks.relu(x)

    @staticmethod
    def backward(ctx, g):
        return g


# ---- Hooks


@attack("a hook changes a gradient")
def hook_on_activation(step):
    plain(step, Net(lambda h: (h.register_hook(lambda g: 2 * g), h.relu())[1]))


@attack("a hook changes a gradient")
def hook_in_place(step):
    def double(g):
        g.mul_(2)
    plain(step, Net(lambda h: (h.register_hook(double), h.relu())[1]))


@attack("a hook changes a gradient")
def hook_on_parameter(step):
    model = Net()
    model.first.weight.register_hook(lambda g: g.clamp(-1e-3, 1e-3))
    plain(step, model)


@attack("a hook changes a gradient", "a parameter is changed")
def optimizer_in_backward(step):
    model = Net()

    def update(p):
        with torch.no_grad():
            p -= 0.1 * p.grad
        p.grad = None
    for p in model.parameters():
        p.register_post_accumulate_grad_hook(update)
    plain(step, model)


@attack()
def hook_that_looks(step):
    seen = []
    model = Net(lambda h: (h.register_hook(lambda g: seen.append(g.norm().item())), h.relu())[1])
    model.first.weight.register_hook(lambda g: seen.append(float(g.abs().max())) or g)
    plain(step, model)
    if len(seen) != 2:
        raise AssertionError(f"{len(seen)} hooks ran")
    if len(model.first.weight._backward_hooks) != 1 or next(iter(model.first.weight._backward_hooks.values())).__name__ != "<lambda>":
        raise AssertionError("the hooks are not those that were there")


@attack()
def parameter_without_entries(step):
    """Tensors without entries have no memory: that of one is not that of another, which the backward pass makes."""
    model = Net(lambda h: torch.cat((h.relu(), model.none)))
    model.none = nn.Parameter(torch.zeros(0, model.first.out_features))
    plain(step, model)


@attack(told="surrogates")
def full_backward_hook(step):
    model = Net()
    model.last.register_full_backward_hook(lambda m, before, after: (2 * before[0],))
    plain(step, model)


@attack()
def forward_hook(step):
    """What a hook makes of an output is an operator like any."""
    model = Net()
    model.last.register_forward_hook(lambda m, a, out: 2 * out)
    plain(step, model)
    del step.outputs["last"]


@attack(explained=False)
def hook_on_node(step):
    """Autograd's own nodes tell nobody of their hooks: the audit finds it."""
    plain(step, Net(lambda h: (h.grad_fn.register_prehook(lambda gs: (2 * gs[0],)), h.relu())[1]))


# ---- Passes


@attack("a second backward pass")
def two_passes(step):
    model = Net()
    with step.record(model):
        loss = F.cross_entropy(model(X), Y)
        loss.backward(retain_graph=True)
        loss.backward()


@attack("a backward pass that is not that of loss.backward()")
def second_pass_elsewhere(step):
    model = Net()
    with step.record(model):
        loss = F.cross_entropy(model(X), Y)
        loss.backward(retain_graph=True)
        torch.autograd.backward(loss)


@attack("no loss.backward() ran", "a backward pass that is not that of loss.backward()")
def only_elsewhere(step):
    model = Net()
    with step.record(model):
        torch.autograd.backward(F.cross_entropy(model(X), Y))


@attack("a backward pass that is not that of loss.backward()")
def gradient_penalty(step):
    """Without create_graph it is a constant to autograd, and depends on the parameters."""
    model = Net()
    with step.record(model):
        x = X.clone()
        loss = F.cross_entropy(model(x), Y)
        penalty = torch.autograd.grad(loss, list(model.parameters()), retain_graph=True)[0].norm()
        (loss * penalty).backward()


@attack("has no gradient")
def of_some(step):
    model = Net()
    with step.record(model):
        F.cross_entropy(model(X), Y).backward(inputs=[model.first.weight])


@attack("has a gradient already")
def accumulated(step):
    model = Net()
    F.cross_entropy(model(X), Y).backward()
    plain(step, model)


@attack()
def graph_retained(step):
    model = Net()
    with step.record(model):
        F.cross_entropy(model(X), Y).backward(retain_graph=True)
        step.end()


@attack()
def share_of_several(step):
    model = Net()
    with step.record(model):
        (F.cross_entropy(model(X), Y) / 3).backward()
        step.end()


@attack("has a factor 0")
def pass_with_weight_0(step):
    model = Net()
    with step.record(model):
        F.cross_entropy(model(X), Y).backward(torch.tensor(0.0))


@attack("the loss is scaled by 0.0")
def loss_times_0(step):
    model = Net()
    with step.record(model):
        (0 * F.cross_entropy(model(X), Y)).backward()


@attack()
def weighted_pass(step):
    model = Net()
    with step.record(model):
        F.cross_entropy(model(X), Y).backward(torch.tensor(0.3))
        step.end()


@attack()
def checkpointed(step):
    model = Net()
    model.between = lambda h: checkpoint(lambda t: model.last(torch.relu(t)).sum(1, keepdim=True) * t, h, use_reentrant=False)
    plain(step, model)
    step.outputs.clear()  # of a module that runs twice


@attack()
def checkpoint_that_draws_again(step):
    """The same mask in the backward pass."""
    plain(step, Net(lambda h: checkpoint(lambda t: F.dropout(t, 0.5) * t, h, use_reentrant=False)))


@attack(told="surrogates")
def inference(step):
    def between(h):
        with torch.inference_mode():
            scale = h.abs().mean()
        return h + scale.clone()
    plain(step, Net(between))


@attack()
def hooks_after_an_error(step):
    """A backward pass that fails leaves the hooks as they were."""
    model = Net()

    def hook(g):
        raise KeyError("of the hook")
    model.first.weight.register_hook(hook)
    try:
        plain(step, model)
    except KeyError:
        pass
    if list(model.first.weight._backward_hooks.values()) != [hook]:
        raise AssertionError("the hooks are not those that were there")
    model.first.weight._backward_hooks.clear()
    model.zero_grad()
    plain(step, model)


@attack("a Function of its own, CheckpointFunction")
def checkpointed_again(step):
    plain(step, Net(lambda h: checkpoint(torch.relu, h, use_reentrant=True)))


@attack(explained=False)
def checkpoint_that_draws_anew(step):
    """The backward pass is of another mask: the audit finds it."""
    torch.manual_seed(3)
    plain(step, Net(lambda h: checkpoint(lambda t: F.dropout(t, 0.5) * t, h, use_reentrant=False, preserve_rng_state=False)))


@attack(explained=False)
def saved_tensors_changed(step):
    """What is kept for the backward pass is another number: the audit finds it."""
    model = Net(torch.tanh)
    with step.record(model):
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t + 0.1 if t.is_floating_point() else t):
            F.cross_entropy(model(X), Y).backward()
        step.end()


@attack()
def sparse(step):
    """Rows of the gradient that were there twice are added up."""
    model = nn.Sequential(nn.Embedding(7, 4, sparse=True), nn.Flatten(), nn.Linear(8, 3))
    plain(step, model, torch.arange(12).reshape(6, 2) % 7)


class Bags(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.bags, self.last = nn.EmbeddingBag(7, 4, **options), nn.Linear(4, 3)

    def forward(self, places, starts, weights=None):
        return self.last(self.bags(places, starts, per_sample_weights=weights))


def bagged(step, *more, ends=(0, 3, 3, 4), **options):
    model = Bags(**options)
    with step.record(model):
        F.cross_entropy(model(torch.tensor([0, 3, 3, 1, 5, 6, 2]), torch.tensor(ends), *more), torch.tensor([0, 1, 2, 0])).backward()
        step.end()


@attack()
def bags(step):
    """The mean of each; the second has nothing."""
    bagged(step)


@attack()
def bags_with_padding(step):
    bagged(step, padding_idx=3)


@attack()
def bags_with_weights(step):
    bagged(step, torch.linspace(0.1, 2, 7), mode="sum", include_last_offset=True, ends=(0, 3, 3, 4, 7))


@attack()
def largest_of_bags(step):
    bagged(step, mode="max")


# ---- Wrappers


@attack("is compiled (torch.compile)")
def compiled(step):
    model = Net()
    model.between = torch.compile(nn.Tanh(), backend="eager")
    plain(step, model)


@attack()
def in_parallel(step):
    plain(step, nn.DataParallel(Net()))


@attack()
def weight_norm(step):
    model = Net()
    nn.utils.parametrizations.weight_norm(model.first)
    plain(step, model)


@attack(told="surrogates")
def spectral_norm(step):
    model = Net()
    nn.utils.parametrizations.spectral_norm(model.first)
    plain(step, model)


@attack()
def spectral_norm_in_evaluation(step):
    """Its two vectors are buffers, and stay."""
    model = Net()
    nn.utils.parametrizations.spectral_norm(model.first)
    plain(step, model.eval())


@attack()
def parametrized(step):
    class Symmetric(nn.Module):
        def forward(self, w):
            return (w + w.t()) / 2
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 3))
    nn.utils.parametrize.register_parametrization(model[0], "weight", Symmetric())
    plain(step, model)


@attack()
def tied(step):
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
    model[2].weight = model[0].weight
    plain(step, model)


@attack("in the memory of 0.weight")
def parameters_of_one_memory(step):
    """To autograd they are two, which a step moves together."""
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
    model[2].weight = nn.Parameter(model[0].weight.data)
    plain(step, model)


@attack("behind autograd's back")
def parameters_of_other_leaves(step):
    model = Net()
    other = {n: p.detach().requires_grad_() for n, p in model.named_parameters()}
    with step.record(model):
        (F.cross_entropy(torch.func.functional_call(model, other, X), Y) + model(X).sum()).backward()


@attack("requires a gradient and is no parameter")
def other_parameters(step):
    model = Net()
    other = {n: (2 * p).detach().requires_grad_() for n, p in model.named_parameters()}
    with step.record(model):
        F.cross_entropy(torch.func.functional_call(model, other, X), Y).backward()


@attack()
def own_parameters_called(step):
    model = Net()
    with step.record(model):
        F.cross_entropy(torch.func.functional_call(model, dict(model.named_parameters()), X), Y).backward()
        step.end()


@attack("")
def mapped(step):
    """vmap's operators are seen with its batch axis, or refused."""
    model = Net()
    with step.record(model):
        F.cross_entropy(torch.vmap(model)(X), Y).backward()
        step.end()


@attack()
def copied_model(step):
    model = Net()
    twin = copy.deepcopy(model)
    plain(step, twin)


@attack("in the backward pass, and was")
def precision_between(step):
    model = Net()
    before = torch.get_float32_matmul_precision()
    try:
        with step.record(model):
            loss = F.cross_entropy(model(X), Y)
            torch.set_float32_matmul_precision("medium")
            loss.backward()
    finally:
        torch.set_float32_matmul_precision(before)


# ---- Types


@attack()
def double_scalar(step):
    plain(step, Net(lambda h: (0.1 * h - 0.7).relu() / 3.3))


@attack()
def double_number(step):
    """A tensor without axes has no say in the type: it is rounded."""
    plain(step, Net(lambda h: h.relu() * torch.tensor(0.1, dtype=torch.float64) + torch.tensor(1 / 3, dtype=torch.float64)))


@attack()
def double_parameter(step):
    model = Net()
    model.scale = nn.Parameter(torch.tensor(0.1, dtype=torch.float64))
    model.between = lambda h: h.relu() * model.scale
    plain(step, model)


def under_autocast(step, model, whole):
    with step.record(model):
        if whole:
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = F.cross_entropy(model(X), Y)
        else:
            loss = F.cross_entropy(model(X), Y)
        loss.backward()
        step.end()
    step.recorded.wait()
    with open(os.path.join(step.run, "run.json")) as f:
        if json.load(f)["autocast"] != "bfloat16":
            raise AssertionError("the autocast is not noted")


@attack(explained=None)
def long_sums(step):
    """Of bfloat16 numbers: no bound is known, so nobody is told that the gradient is one of Clarke's."""
    plain(step, Net().bfloat16(), X.repeat(100, 1).bfloat16(), Y.repeat(100))


@attack(explained=None)
def autocast(step):
    model = Net(torch.tanh)
    model.between = lambda h: torch.tanh(model.first(h[:, :4])) + h  # its weights are cast once, and read twice
    under_autocast(step, model, True)


@attack(explained=None)
def autocast_inside(step):
    def between(h):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return model.first(h[:, :4]).float()
    model = Net(between)
    under_autocast(step, model, False)


@attack("requires a gradient and is no parameter", explained=None)
def autocast_around(step):
    """Weights that were cast before the block."""
    model = Net()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        model(X)
        with step.record(model):
            F.cross_entropy(model(X), Y).backward()
            step.end()


@attack("The step leaves the reals.")
def scale_that_overflows(step):
    model = Net().half()
    with step.record(model):
        (F.cross_entropy(model(X.half()).float(), Y) * 2.0**120).backward()
        step.end()


@attack()
def scaled(step):
    model, scaler = Net(), torch.amp.GradScaler("cpu", init_scale=1024.0)
    with step.record(model):
        scaler.scale(F.cross_entropy(model(X), Y)).backward()
        step.end()
        scaler.unscale_(torch.optim.SGD(model.parameters(), lr=0.1))


# ---- Inputs


@attack()
def second_input_joined(step):
    model = nn.Linear(7, 3)
    outer = Net()
    outer.last, outer.between = model, lambda h: torch.cat([h, X[:, :2]], 1)
    plain(step, outer)


@attack()
def same_input_twice(step):
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(4, 3)

        def forward(self, a, b):
            return self.first(a).relu() * self.first(b)
    model = Two()
    with step.record(model):
        F.cross_entropy(model(X, X), Y).backward()
        step.end()


@attack()
def called_twice(step):
    model = Net()
    with step.record(model):
        (F.cross_entropy(model(X), Y) + model(X + 1).pow(2).mean()).backward()
        step.end()
    step.outputs.clear()


@attack()
def noise(step):
    plain(step, Net(lambda h: h + torch.randn_like(h) * torch.rand(6, 1)))


def ask(act, says, explained, told, extra):
    """What is wrong with it; nothing, if all is right."""
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        step = Step(folder, extra)
        try:
            act(step)
            step.recorded.wait()
        except clarke.Refused as why:
            if os.path.exists(step.run):
                return f"refused, but something was written: {why}"
            return None if any(s in str(why) for s in says) else f"refused: {why}"
        if "outside" in step.description():
            answer = clarke.audit(step.run)
            return None if any(s in str(answer) for s in says) and not answer.in_clarke else f"left the reals: {answer}"
        wrong = list(step.wrong())
        if wrong and explained is not False:
            return f"wrong: {', '.join(wrong)}"
        try:
            answer = clarke.audit(step.run)
        except clarke.Failed as why:
            return None if any(s in str(why) for s in says) else f"not audited: {why}"
        if answer.gradient["explained"] not in {True: (True,), None: (True, None), False: (False,)}[explained]:
            return f"explained: {answer.gradient}"
        if (answer.in_clarke and answer.gradient["explained"] is not True) or (answer.verdict == "not-explained") != (explained is False):
            return f"not explained, and the answer is {answer.verdict}"
        if told and not (step.description()[told] and (told != "surrogates" or answer.in_clarke is not True)):
            return f"not told: {told}, in_clarke {answer.in_clarke}"
        done = subprocess.run([CLARKE, "certify", step.run], capture_output=True, text=True)
        if explained and not step.options.get("light") and done.returncode == 1:
            return f"certify: {done.stdout[:300]}"
    return None if not says or explained is not True else f"recorded, and not refused ({says[0]})" if says != ("",) else None


def main():
    failed, asked = 0, [a for a in ATTACKS if not sys.argv[3:] or a[0] in sys.argv[3:]]
    for (name, act, says, explained, told), extra in itertools.product(asked, WAYS):
        try:
            said = ask(act, says, explained, told, extra)
        except Exception as why:  # any other error is no refusal
            said = f"{type(why).__name__}: {why}"
        if said:
            failed += 1
            print(f"FAILED: {name} {extra or ''}: {said}", flush=True)
    print(f"{len(asked)} attacks, each in {len(WAYS)} ways, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
