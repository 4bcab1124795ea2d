#!/usr/bin/env python3
"""A watched step that runs the program of the step before is made of that one's record. It must be the record that is made without.

    records_repeated.py [STEPS]

Two steps of a network, and between them a change: of a number in Python, a branch, the mode, a parameter, the batch, how PyTorch computes, ... The
second is recorded as a program of the first, and then, from the same state, without: run.json, the graph, and all numbers must be the same bytes, or
the refusals the same words. Of changes that change nothing of the program it is asked that it was recognized. Then drawn ones: two
programs of a few operators, of which one follows the other.
"""
import contextlib
import gc
import math
import os
import random
import shutil
import sys
import tempfile

import torch
from torch import nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "python"))
sys.path.append(os.path.join(HERE, "..", "tools"))
import clarke  # noqa: E402
from clarke.refused import Refused  # noqa: E402
from expect import expect, finish  # noqa: E402

torch.set_num_threads(1)
Y = torch.arange(6) % 3
MONITORED, APPENDED = {"background": True, "again": False}, {"append": True}
WAYS = [MONITORED, {"light": True, "again": False}, {"light": True}, {"background": True}, {"background": True, "light": True}, APPENDED]


class Net(nn.Module):
    """With a number of Python's, two branches of the same operators, dropout, and what an attribute chooses."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.conv, self.one, self.two, self.last = nn.Conv2d(1, 2, 3), nn.Linear(8, 5), nn.Linear(8, 5), nn.Linear(5, 3)
        self.act, self.other, self.drop, self.pool = nn.LeakyReLU(0.125), nn.LeakyReLU(0.125), nn.Dropout(0.5), nn.MaxPool2d(2)
        self.scale, self.take, self.constant, self.way, self.kept, self.inner = 0.5, "one", torch.tensor(2.0), "usual", None, None

    def way_of(self, h, g):
        """The same operators at most; the line is one."""
        a, b = {"swapped": (g, h), "twice": (h, h)}.get(self.way, (h, g))
        return a - b

    def forward(self, x):
        h = self.pool(torch.relu(self.conv(x))).flatten(1)
        if self.inner is not None:
            h = self.inner(h)
        g = (self.one if self.take == "one" else self.two)(h)
        self.kept = h = (self.act if self.way != "other module" else self.other)(g)
        h = self.drop(h) * self.scale if self.training else h * self.scale
        if self.way == "constant":
            h = h * self.constant
        return self.last(self.way_of(h, g))


class Same(torch.autograd.Function):
    """relu, whose derivative is not its own."""

    @staticmethod
    def forward(ctx, x):
        return torch.relu(x)

    @staticmethod
    def backward(ctx, gradient):
        return gradient


def loss_of(net, x, y):
    """On one line for all."""
    return F.cross_entropy(net(x), y)


def usual(net, x, y):
    loss_of(net, x, y).backward()


class State:
    """What a step changes, put back."""

    def __init__(self, net):
        self.net, self.numbers = net, {n: t.detach().clone() for n, t in net.state_dict().items()}
        self.random = torch.get_rng_state()

    def put_back(self):
        with torch.no_grad():
            for name, t in self.net.state_dict().items():
                t.copy_(self.numbers[name])
        torch.set_rng_state(self.random)


def bytes_of(folder):
    found = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as f:
            found[name] = f.read()
    return found


def recorded(folder, net, number, run, like, then=None, way=MONITORED, base=None):
    """(The folder's bytes, or the refusal's words; the record; was it made of a program?) base: the folder that the step is put behind."""
    for p in net.parameters():
        p.grad = None
    if base is not None:
        shutil.copytree(base, folder)
    made = clarke.record(folder, net, step=number, append=base is not None, **way)
    made.compares, made.like, told = True, like, False
    try:
        with made:
            run()
            told = like is not None and made.trace.repeated is not None
        if then is not None:
            then()
        made.wait()
    except Refused as why:
        return str(why), made, False
    return bytes_of(folder), made, told and made.program is like


def of_any(run, folder):
    """The same of a step that was run again, and of one that was not itself; and in any folder."""
    if isinstance(run, str):
        return run.replace(folder, "RUN") if folder else run
    return {name: held.replace(b'"again": "program"', b'"again": "calls"') if name == "run.json" else held for name, held in run.items()}


def beside(folder, name, net, run, change=lambda net: None, same=False, then=None, again=None, words=False, way=MONITORED, heard=True):
    """words: a refusal may have others. heard: is what it calls enough to tell what runs? The last step is that of a program, if it is the same, and one that is recorded whole."""
    base, way = (os.path.join(folder, f"{name}-0"), {}) if way is APPENDED else (None, way)
    recorded(os.path.join(folder, f"{name}-0"), net, 0, run, None, way=way)[1]
    first = recorded(os.path.join(folder, f"{name}-1"), net, 1, run, None, way=way, base=base)[1].program
    expect(first is not None, f"{name}: the first step is one that later ones are compared with")
    if not way.get("again", True):  # the second is then compared by what it calls, and not by operators
        recorded(os.path.join(folder, f"{name}-heard"), net, 1, run, first, way=way)
        expect(bool(first.calls) == heard, f"{name}: what it calls is {'not ' * (not heard)}known")
    with contextlib.ExitStack() as stack:
        entered = change(net)
        if hasattr(entered, "__enter__"):
            stack.enter_context(entered)
        state, second = State(net), again or run
        told, _, was = recorded(os.path.join(folder, f"{name}-2"), net, 2, second, first, then, way, base)
        state.put_back()
        whole, *_ = recorded(os.path.join(folder, f"{name}-3"), net, 2, second, None, then, way, base)
    told, whole = (of_any(run, os.path.join(folder, f"{name}-{i}")) for i, run in ((2, told), (3, whole)))
    alike = told == whole or (words and isinstance(told, str) and isinstance(whole, str))
    expect(alike, f"{name}: as recorded whole: {differs(told, whole)}")
    expect(same in (None, was), f"{name}: {'not ' * bool(same)}recognized as the program of the step before")


def differs(a, b):
    if isinstance(a, str) or isinstance(b, str):
        return f"{a if isinstance(a, str) else 'written'} / {b if isinstance(b, str) else 'written'}"
    return [name for name in sorted(a.keys() | b.keys()) if a.get(name) != b.get(name)]


# ---- What somebody changes between two steps


def setting(name, value):
    return lambda net: setattr(net, name, value)


def train(net, mode=True):
    net.train(mode)


def update(net):
    with torch.no_grad():
        for p in net.parameters():
            p.add_(0.01)


def new_memory(net):
    for p in net.parameters():
        p.data = p.data.clone() * 1.5


def in_one_vector(net):
    with torch.no_grad():
        nn.utils.vector_to_parameters(2 * nn.utils.parameters_to_vector(net.parameters()), net.parameters())


def replaced(net):
    net.last.weight = nn.Parameter(net.last.weight.detach() + 1)


def frozen(net):
    net.conv.weight.requires_grad_(False)


def tied(net):
    net.two.weight = net.one.weight


def slope(net):
    net.act.negative_slope = 0.25


def not_finite(net):
    with torch.no_grad():
        net.last.bias[0] = float("inf")


@contextlib.contextmanager
def precision():
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


@contextlib.contextmanager
def hooked(t, hook, how="register_hook"):
    handle = getattr(t, how)(hook)
    try:
        yield
    finally:
        handle.remove()


def through_numpy(net):
    """Numbers of a parameter that are changed past PyTorch."""
    net.last.bias.detach().numpy()[0] += 1


def changes(folder, way):
    os.mkdir(folder)
    x = torch.linspace(-2, 3, 6 * 36).reshape(6, 1, 6, 6)

    def case(name, change=lambda net: None, same=False, run=usual, y=Y, x=x, begin=lambda net: None, **options):
        """same: None, where it is not to who may run calls again, which hold their arguments."""
        same = not way.get("again", True) if same is None else same
        net = Net().eval()
        begin(net)
        if "again" in options:
            again = options["again"]
            options["again"] = lambda: again(net, x, y)
        beside(folder, name, net, lambda: run(net, x, y), change, same, way=way, **options)

    def of(data, labels=Y):
        return lambda net, x, y: usual(net, data, labels)

    case("nothing", same=True)
    case("parameters", update, same=True)
    case("memory", new_memory, same=True)
    case("parts of one vector", in_one_vector, same=True)
    case("batch", same=True, again=of(x * 2 + 1, (Y + 1) % 3))
    case("strides", again=of(x.transpose(2, 3)))
    case("smaller batch", again=of(x[:4], Y[:4]))
    case("double labels", again=of(x, Y.to(torch.uint8)))
    case("a label is left out", again=of(x, torch.where(Y == 1, -100, Y)))
    case("all labels are left out", again=of(x, torch.full_like(Y, -100)))
    case("batch requires gradients", again=of(x.clone().requires_grad_()))
    case("batch of a parameter", begin=lambda net: net.register_parameter("more", nn.Parameter(x.clone())),
         again=lambda net, x, y: usual(net, net.more.data, y))
    case("number", setting("scale", 0.25))
    case("number of another type", setting("scale", 1))
    case("sign of zero", setting("scale", -0.0), begin=setting("scale", 0.0))
    case("whole number", setting("scale", 2), begin=setting("scale", 2.0))
    case("truth value", setting("scale", True), begin=setting("scale", 1))
    case("not a number", setting("scale", float("nan")))
    case("slope", slope)
    case("branch", setting("take", "two"))
    case("swapped", setting("way", "swapped"))
    case("twice", setting("way", "twice"))
    case("other module", setting("way", "other module"))
    case("constant", setting("way", "constant"))
    case("training", train)
    case("replaced", replaced)
    case("frozen", frozen)
    case("tied", tied)
    case("inner", setting("inner", torch.relu))
    case("detached", setting("inner", torch.Tensor.detach))
    case("past autograd", setting("inner", lambda h: h.data))
    case("without gradients", setting("inner", torch.no_grad()(lambda h: h * 1)))
    case("more parameters", lambda net: net.register_parameter("more", nn.Parameter(torch.ones(1))))
    case("a buffer", lambda net: net.register_buffer("more", torch.ones(1)))
    case("not finite", not_finite)
    case("precision", lambda net: precision())
    case("autocast", again=under(lambda: torch.autocast("cpu", dtype=torch.bfloat16)))
    case("autocast of nothing", same=True, again=under(lambda: torch.autocast("cpu", dtype=torch.bfloat16, enabled=False)))
    case("autocast of float64", begin=lambda net: net.double(), x=x.double(), again=under(lambda: torch.autocast("cpu", dtype=torch.bfloat16)))
    case("without oneDNN", again=under(lambda: torch.backends.mkldnn.flags(enabled=False, allow_tf32=None)))
    case("hooks of what is saved", again=under(lambda: torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t)))
    backward(case, x)
    beside_what_is_called(case, x)
    unheard_cases(case)
    past_the_dispatcher(case, x)
    beside_autograd(case, x)
    behind_the_backward_pass(case, x)


def under(context):
    def run(net, x, y):
        with context():
            usual(net, x, y)
    return run


def twice_backward(net, x, y):
    loss = loss_of(net, x, y)
    loss.backward(retain_graph=True)
    loss.backward()


def gradient_of(net, x, y):
    loss = loss_of(net, x, y)
    torch.autograd.grad(loss, [net.last.bias], retain_graph=True)
    loss.backward()


def other_loss(number):
    def run(net, x, y):
        out = net(x)
        losses = [F.cross_entropy(out, y), F.cross_entropy(out, y)]
        losses[number].backward()
    return run


def ended(net, x, y):
    """The optimizer's step in the block, too."""
    usual(net, x, y)
    torch.optim.SGD(net.parameters(), lr=0.5).step()


def logged(net, x, y):
    loss = loss_of(net, x, y)
    net.seen = loss.item()
    loss.backward()


def logged_later(net, x, y):
    loss = loss_of(net, x, y)
    loss.backward()
    net.seen = loss.item()


def compared(net, x, y):
    out = net(x)
    if out.sum() > -100:
        F.cross_entropy(out, y).backward()


def void(_):
    """What a hook must give."""


def backward(case, x):
    """What ends the forward pass, and what the backward pass meets."""
    case("gradient", again=lambda net, x, y: loss_of(net, x, y).backward(torch.tensor(2.0)))
    case("double loss", again=lambda net, x, y: (loss_of(net, x, y) * 2).backward())
    case("sum", again=lambda net, x, y: F.cross_entropy(net(x), y, reduction="sum").backward())
    case("inputs", again=lambda net, x, y: loss_of(net, x, y).backward(inputs=[net.last.bias]))
    case("graph kept", again=lambda net, x, y: loss_of(net, x, y).backward(retain_graph=True))
    case("second backward", again=twice_backward)
    case("another backward", again=gradient_of)
    case("no backward", again=lambda net, x, y: loss_of(net, x, y))
    case("other loss", run=other_loss(0), again=other_loss(1))
    case("optimizer in the block", again=ended)
    case("logged", again=logged)
    case("logged behind", same=True, again=logged_later)
    case("compared", again=compared)
    case("given by name", same=None, again=lambda net, x, y: loss_of(lambda x: net(x=x), x, y).backward())
    case("not called itself", again=lambda net, x, y: loss_of(net.forward, x, y).backward())
    case("hook that looks", lambda net: hooked(net.last.weight, lambda g: None), same=True)
    case("hook that changes", lambda net: hooked(net.last.weight, lambda g: g * 2), same=False)
    case("hook of a parameter", lambda net: hooked(net.last.weight, lambda p: void(p.grad.mul_(2)), "register_post_accumulate_grad_hook"))
    case("hook that trains", lambda net: hooked(net.last.weight, lambda p: void(p.data.add_(1)), "register_post_accumulate_grad_hook"), words=True)
    case("Function", lambda net: setattr(net, "inner", Same.apply))


class Passing(TorchFunctionMode):
    """A mode of somebody's, that changes a function."""

    def __init__(self, instead):
        super().__init__()
        self.instead = instead

    def __torch_function__(self, function, types, args=(), kwargs=None):
        return self.instead.get(function, function)(*args, **(kwargs or {}))


def overridden(h):
    """A function of somebody's, which modes see as one of PyTorch's: what it runs is another matter."""
    if torch.overrides.has_torch_function_unary(h):
        return torch.overrides.handle_torch_function(overridden, (h,), h)
    return CHOSEN["function"](h)


CHOSEN = {"function": torch.relu}


@torch.jit.script
def scripted(h, twice: bool):
    h = torch.relu(h)
    return torch.tanh(h) if twice else h


@contextlib.contextmanager
def chosen(function):
    before, CHOSEN["function"] = CHOSEN["function"], function
    try:
        yield
    finally:
        CHOSEN["function"] = before


def beside_what_is_called(case, x):
    """What runs hangs on more than on the functions of PyTorch's that are called."""
    case("mode of functions", lambda net: Passing({}))  # the lines are its own
    case("mode of operators in the block", again=under(Doubled))
    case("mode that changes a function", lambda net: Passing({torch.relu: torch.tanh}))
    case("function of somebody's", lambda net: chosen(torch.tanh), begin=setting("inner", overridden), heard=False)
    case("function of somebody's, again", same=True, begin=setting("inner", overridden), heard=False)
    case("scripted", again=relu_of(lambda h: scripted(h, True)), run=relu_of(lambda h: scripted(h, False)), heard=False)
    case("saved elsewhere", again=under(lambda: torch.autograd.graph.save_on_cpu()))
    case("shape that is read", same=True, run=relu_of(lambda h: h.view(h.shape[0], -1)))


def unheard(folder):
    """Where somebody puts another function in the place of one of PyTorch's, which PyTorch's own call, autograd knows: it is refused."""
    net, x, like = Net().eval(), torch.linspace(-2, 3, 6 * 36).reshape(6, 1, 6, 6), None
    kept = torch._C._nn.leaky_relu
    for number in range(4):
        torch._C._nn.leaky_relu = (lambda h, slope: torch.tanh(h)) if number == 2 else kept
        try:
            told, made, _ = recorded(os.path.join(folder, f"unheard-{number}"), net, number, lambda: usual(net, x, Y), like)
        finally:
            torch._C._nn.leaky_relu = kept
        expect(isinstance(told, str) == (number == 2), f"step {number} of one whose functions are others in step 2: {told if isinstance(told, str) else 'written'}")
        like = made.program


def muted(change, h):
    with torch._C.DisableTorchFunction():
        return change(h)


def written(h, where, change):
    """In place, where nobody hears it."""
    muted(lambda h: change(where(h)), h)
    return h


def chosen_by(read):
    """A number that the step reads between, and chooses by."""
    return lambda h: h if read(h) else h + 1


@torch.jit.script
def doubled(h):
    h.detach().mul_(2)
    return 0


@torch.jit.script
def is_positive(h) -> bool:
    return bool(h.detach().sum() > 0)


@torch.jit.script
def other_labels(y):
    return (y + 1) % 3


@torch.no_grad()
def guessed(net, x):
    """Labels that hang on what is trained."""
    return muted(lambda x: (x.flatten(1)[:, :3] + net.last.bias).argmax(1), x)


def unheard_cases(case):
    """Operators that no function of PyTorch's shows: TorchScript's, and those where functions are not overridden."""
    again = {"another operator": lambda h: muted(torch.tanh, h), "no operator": lambda h: muted(lambda h: h, h),
             "in place": lambda h: muted(lambda h: h.mul_(2), h), "in place, past autograd": lambda h: written(h, torch.Tensor.detach, lambda h: h.mul_(2)),
             "in place, past its versions": lambda h: written(h, lambda h: h.data, lambda h: h.mul_(2)),
             "in place, scripted": lambda h: (doubled(h), h)[1], "a choice": chosen_by(lambda h: muted(lambda h: bool(h.sum() > 0), h)),
             "a choice past autograd": chosen_by(lambda h: muted(lambda h: h.detach().sum().item() > 0, h)), "a choice, scripted": chosen_by(is_positive)}
    for name, inner in again.items():
        case(f"unheard: {name}", same=None if name == "no operator" else False, again=relu_of(inner))
    case("unheard: labels", again=lambda net, x, y: usual(net, x, other_labels(y)))
    case("unheard: guessed labels", again=lambda net, x, y: usual(net, x, guessed(net, x)))
    case("unheard: loss", again=lambda net, x, y: loss_of(lambda x: muted(lambda out: out * 2, net(x)), x, y).backward())
    case("unheard: at last", again=lambda net, x, y: muted(lambda loss: (is_positive(loss), loss)[1], loss_of(net, x, y)).backward())
    case("unheard: behind the step", again=lambda net, x, y: (usual(net, x, y), doubled(net.kept)))


def relu_of(function):
    def run(net, x, y):
        net.inner = function
        usual(net, x, y)
    return run


def past_the_dispatcher(case, x):
    """The same operators, of which autograd has others; numbers that change past PyTorch; what is changed as the block has ended."""
    case("Function of the same operator", run=relu_of(torch.relu), again=relu_of(Same.apply))
    case("numpy, before it is read", again=lambda net, x, y: (through_numpy(net), usual(net, x, y)))
    case("numpy, behind it", again=lambda net, x, y: (usual(net, x, y), through_numpy(net)))
    case("data, before it is read", again=lambda net, x, y: (setattr(net.last.bias, "data", net.last.bias.data + 1), usual(net, x, y)))
    case("in place", again=lambda net, x, y: loss_of(lambda x: net(x).mul_(2), x, y).backward())
    case("in place, behind it", again=lambda net, x, y: (usual(net, x, y), net.kept.detach().add_(1)))


class Doubled(TorchDispatchMode):
    """A mode of somebody's, that changes a derivative."""

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        out = op(*args, **(kwargs or {}))
        return out * 2 if op is torch.ops.aten.threshold_backward.default else out


def backward_under(context):
    def run(net, x, y):
        loss = loss_of(net, x, y)
        with context():
            loss.backward()
    return run


def looked_at(look):
    """Where the layers that fold images end and the others begin, something is made of the numbers between."""
    def run(net, x, y):
        net.inner = lambda h: (look(h), h)[1]
        usual(net, x, y)
    return run


def column_major(net):
    net.last.weight.data = net.last.weight.data.t().contiguous().t()


def with_frozen(net):
    net.register_parameter("frozen", nn.Parameter(torch.linspace(-1, 1, 6 * 36).reshape(6, 1, 6, 6), requires_grad=False))


def nested(net, x, y):
    """A hook's own backward pass adds to the gradient of a parameter, which may lie where a recorded one does."""
    def hook(gradient):
        with torch.enable_grad():
            torch.autograd.backward(net.last(net.one(torch.ones(6, 8))).sum())

    looked_at(lambda h: h.register_hook(hook))(net, x, y)


def frozen_later(net, x, y):
    loss = loss_of(net, x, y)
    net.conv.weight.requires_grad_(False)
    loss.backward()
    net.conv.weight.requires_grad_(True)


def beside_autograd(case, x):
    """What runs in the backward pass beside autograd's own operators, and what autograd chooses these by."""
    bfloat = lambda: torch.autocast("cpu", dtype=torch.bfloat16)  # noqa: E731
    case("autocast of the derivative", again=backward_under(bfloat))
    case("autocast of what is no operator", again=lambda net, x, y: (asked(bfloat, x), usual(net, x, y)))
    case("anomalies", again=backward_under(lambda: torch.autograd.set_detect_anomaly(True)))
    case("mode of the derivative", again=backward_under(Doubled))
    case("mode around all", lambda net: Doubled())
    case("column-major", column_major)
    case("frozen batch", again=lambda net, x, y: usual(net, net.frozen, y), begin=with_frozen)
    case("hook that computes", again=looked_at(lambda h: h.register_hook(lambda g: void(g.norm()))))
    case("hook of a parameter that computes", lambda net: hooked(net.last.weight, lambda g: void(g.norm())))
    case("hook of a node", again=looked_at(lambda h: h.grad_fn.register_hook(lambda gi, go: (gi[0] * 2,))))
    case("hook before a node", again=looked_at(lambda h: h.grad_fn.register_prehook(lambda go: (go[0] * 2,))))
    case("hook that writes", again=looked_at(lambda h: h.register_hook(lambda g: void(h.detach().zero_()))))
    case("gradient that is kept", again=looked_at(torch.Tensor.retain_grad))
    case("data of another", again=looked_at(lambda h: setattr(h, "data", OTHER)))
    case("swapped with another", again=looked_at(lambda h: torch.utils.swap_tensors(h, SPARE)))
    case("hook with a backward pass", again=nested)
    case("frozen later", again=frozen_later)
    case("frozen between", run=read_twice(True), again=read_twice(False))


OTHER = torch.linspace(-1, 1, 48).reshape(6, 8)
SPARE = OTHER.clone()


def read_twice(trained):
    """A parameter, which is trained or not as it is read once more."""
    def run(net, x, y):
        weight = net.one.weight
        net.inner = lambda h: (h.mm(weight.t()).mm(weight), weight.requires_grad_(trained))[0]
        usual(net, x, y)
        weight.requires_grad_(True)
    return run


def asked(context, x):
    with context():
        return x.size()


def clipped(net, x, y):
    usual(net, x, y)
    torch.nn.utils.clip_grad_norm_(net.parameters(), 0.001)


def through_data(net, x, y):
    usual(net, x, y)
    with torch.no_grad():
        for p in net.parameters():
            if p.grad is not None:
                p.data = p.data - p.grad


def emptied(net, x, y):
    """The batch is written to by operators, behind the backward pass."""
    usual(net, x, y)
    x.zero_()
    y.zero_()


def behind_the_backward_pass(case, x):
    case("clipped", same=True, again=clipped)
    case("data behind it", again=through_data)
    data, labels = x.clone(), Y.clone()
    case("batch emptied", x=data, y=labels, again=emptied, then=lambda: (data.copy_(x), labels.copy_(Y)))


def later(folder, given):
    """What is changed as the block has ended, while a thread writes, is not in the record. given: numpy has the memory of the gradients."""
    net, x = Net().eval(), torch.linspace(-2, 3, 6 * 36).reshape(6, 1, 6, 6)

    def spoil():
        with torch.no_grad():
            for t in [x, net.kept, *net.parameters(), *(p.grad for p in net.parameters() if p.grad is not None)]:
                t.detach().fill_(7)
            for p in net.parameters():
                if p.grad is not None:
                    p.grad.numpy()[...] = 9
        for _, array in gradients.values():
            array[...] = 8

    data = x.clone()
    gradients = {p: (g, g.numpy()) for p in net.parameters() for g in [torch.zeros(p.shape)]} if given else {}

    def run():
        for p, (gradient, array) in gradients.items():
            array[...] = 0
            p.grad = gradient
        usual(net, x, Y)

    settled = clarke.recording.recorder.LATER.submit  # nothing is written until the tensors have changed
    waiting = []

    class Held:
        def submit(self, work, *args):
            waiting.append((work, args))
            return settled(lambda: None)

    def then():
        spoil()
        for work, args in waiting:
            settled(work, *args).result()
        waiting.clear()

    state = State(net)
    first = recorded(os.path.join(folder, f"later-1-{given}"), net, 1, run, None)[1].program
    state.put_back()
    whole, *_ = recorded(os.path.join(folder, f"later-2-{given}"), net, 2, run, None)
    state.put_back()
    x.copy_(data)
    kept, clarke.recording.recorder.LATER = clarke.recording.recorder.LATER, Held()
    try:
        told, _, was = recorded(os.path.join(folder, f"later-3-{given}"), net, 2, run, first, then)
    finally:
        clarke.recording.recorder.LATER = kept
    expect(was and told == whole, f"what is changed later is not in the record: {differs(told, whole)}")


# ---- Drawn programs


class Drawn(nn.Module):
    """A list of words, each an operator."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(5)
        self.a, self.b, self.last = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 3)
        self.words, self.mask = [], torch.tensor([[True, False], [False, False]])

    def forward(self, x):
        h, seen = x, [x, self.a(x)]
        for word, number in self.words:
            h = OPERATORS[word](self, h, seen[number % len(seen)], number)
            seen.append(h)
        return self.last(h)


OPERATORS = {"a": lambda net, h, g, n: net.a(h), "b": lambda net, h, g, n: net.b(h), "relu": lambda net, h, g, n: torch.relu(h),
             "leaky": lambda net, h, g, n: F.leaky_relu(h, 0.25 * n), "hardtanh": lambda net, h, g, n: F.hardtanh(h, -1 - n, 1),
             "add": lambda net, h, g, n: h + g, "sub": lambda net, h, g, n: h - g, "mul": lambda net, h, g, n: h * g,
             "scale": lambda net, h, g, n: h * (n / 2 + 0.5), "tanh": lambda net, h, g, n: torch.tanh(h), "view": lambda net, h, g, n: h.view(-1, 2, 2).flatten(1),
             "tied": lambda net, h, g, n: h @ net.a.weight, "norm": lambda net, h, g, n: F.layer_norm(h, [4], eps=1e-3 * (n + 1)),
             "detach": lambda net, h, g, n: h + g.detach(), "constant": lambda net, h, g, n: h + torch.full([4], float(n)),
             "split": lambda net, h, g, n: h.split(2, 1)[n % 2].view(-1, 2, 1).expand(-1, 2, 2).clone().view(-1, 4),
             "products": lambda net, h, g, n: torch.bmm(h.view(-1, 2, 2), g.view(-1, 2, 2)).view(-1, 4),
             "softmax": lambda net, h, g, n: h.view(-1, 2, 2).softmax(-1).view(-1, 4), "div": lambda net, h, g, n: h / (n + 2.0),
             "masked": lambda net, h, g, n: masked(h, square().triu(n % 2), -1.0 - n),
             "left out": lambda net, h, g, n: masked(h, square().triu(1), -math.inf).view(-1, 2, 2).softmax(-1).view(-1, 4),
             "masked by data": lambda net, h, g, n: h.masked_fill(g > 0, 0.5), "masked by another's": lambda net, h, g, n: masked(h, net.mask, 0.25)}


def square():
    return torch.ones(2, 2, dtype=torch.bool)


def masked(h, mask, value):
    return h.view(-1, 2, 2).masked_fill(mask, value).view(-1, 4)


def drawn(folder, count):
    draw, recognized, refused = random.Random(11), 0, 0
    x = torch.linspace(-2, 3, 24).reshape(6, 4)
    for i in range(count):
        net, way = Drawn(), WAYS[i % 3]
        words = [(draw.choice(list(OPERATORS)), draw.randrange(3)) for _ in range(draw.randrange(1, 6))]
        others = list(words)
        if draw.random() < 0.5:
            others[draw.randrange(len(others))] = draw.choice(list(OPERATORS)), draw.randrange(3)
        net.words = words
        first = recorded(os.path.join(folder, f"drawn-{i}-0"), net, 0, lambda: usual(net, x, Y), None, way=way)[1].program
        if first is not None and not way.get("again", True):  # the next is compared by what it calls
            recorded(os.path.join(folder, f"drawn-{i}-heard"), net, 0, lambda: usual(net, x, Y), first, way=way)
        net.words, net.mask = others, net.mask.flip(0)
        told, _, was = recorded(os.path.join(folder, f"drawn-{i}-1"), net, 1, lambda: usual(net, x, Y), first, way=way)
        whole, *_ = recorded(os.path.join(folder, f"drawn-{i}-2"), net, 1, lambda: usual(net, x, Y), None, way=way)
        told, whole = of_any(told, ""), of_any(whole, "")
        expect(told == whole, f"{words}, then {others}: {differs(told, whole)}")
        expect(words != others or first is None or was, f"{words}: not recognized")
        recognized, refused = recognized + was, refused + isinstance(whole, str)
    expect(recognized >= count // 10 and refused < count // 2, f"{recognized} of {count} recognized, {refused} refused")


class Masked(Drawn):
    """Its mask may be changed as a C++ extension would: neither PyTorch's modes nor Python see it."""

    hidden = False

    def forward(self, x):
        mask = square()
        if self.hidden:
            with torch._C.DisableTorchFunction(), _disable_current_modes():
                mask.fill_(False)
        return self.last(masked(self.a(x), mask, 0.25))


def changed_past_all(folder):
    x = torch.linspace(-2, 3, 24).reshape(6, 4)
    for i, way in enumerate(WAYS[:2]):
        for hidden in (False, True):
            net = Masked()
            beside(folder, f"a mask that nobody sees {'change' if hidden else 'stay'}, {i}", net, lambda net=net: usual(net, x, Y),
                   setting("hidden", hidden), not hidden, way=way)


class Normalized(nn.Module):
    """What is written to in the step are statistics, and what counts batches."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(7)
        self.a, self.norm, self.last, self.within = nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 3), None

    def forward(self, x):
        h = self.norm(torch.relu(self.a(x)))
        if self.within is not None:
            changed = self.within(self.norm, h)
            h = h if changed is None else changed
        return self.last(h)


def untold(change):
    """As numpy, or C++, would."""
    def run(norm, h):
        with torch._C.DisableTorchFunction(), _disable_current_modes():
            change(norm)
    return run


def normalized(folder):
    x = torch.linspace(-2, 3, 24).reshape(6, 4)

    def at(name):
        return lambda change: lambda net: change(getattr(net, name))

    def within(change):
        return lambda net: setattr(net, "within", change)

    def memory(a, b):
        return lambda norm: setattr(getattr(norm, a), "data", getattr(norm, b).data)

    of_norm = at("norm")
    cases = [("stays", lambda net: None, True), ("evaluates", lambda net: net.eval(), False), ("is frozen", of_norm(lambda norm: norm.eval()), False),
             ("another momentum", of_norm(lambda norm: setattr(norm, "momentum", 0.25)), False), ("another eps", of_norm(lambda norm: setattr(norm, "eps", 0.5)), False),
             ("a mean over all batches", of_norm(lambda norm: setattr(norm, "momentum", None)), False),
             ("other numbers", of_norm(lambda norm: norm.running_mean.fill_(3)), True),
             ("another buffer", of_norm(lambda norm: setattr(norm, "running_mean", torch.ones(4))), False),
             ("one memory of two", of_norm(memory("running_var", "running_mean")), False), ("a parameter's memory", of_norm(memory("running_var", "bias")), False),
             ("no number", of_norm(lambda norm: norm.running_mean.fill_(math.nan)), None),
             ("twice", within(lambda norm, h: norm(h)), False), ("changed in the step", within(lambda norm, h: setattr(norm, "kept", norm.num_batches_tracked.add_(1))), False),
             ("read in the step", within(lambda norm, h: h + norm.running_mean), False), ("set in the step", within(lambda norm, h: setattr(norm.running_mean, "data", torch.ones(4))), None),
             ("changed untold", within(untold(lambda norm: norm.running_mean.numpy().fill(2))), None),
             ("changed by others", within(untold(lambda norm: norm.num_batches_tracked.add_(1))), None)]
    for i, way in enumerate(WAYS):
        for name, change, same in cases:
            net = Normalized()
            beside(folder, f"statistics, {name}, {i}", net, lambda net=net: usual(net, x, Y), change, same, way=way)
        for late in (False, True):
            net = Normalized()
            beside(folder, f"statistics, behind the {'step' if late else 'forward pass'}, {i}", net, lambda net=net: usual(net, x, Y), again=lambda net=net: changed_behind(net, x, late), way=way)


def changed_behind(net, x, late):
    loss = loss_of(net, x, Y)
    if not late:
        net.norm.num_batches_tracked.add_(1)
    loss.backward()
    if late:
        net.norm.num_batches_tracked.add_(1)


class Tokens(nn.Module):
    def __init__(self, padding=None):
        super().__init__()
        torch.manual_seed(9)
        self.words, self.places, self.last = nn.Embedding(5, 4, padding_idx=padding), nn.Parameter(torch.linspace(-1, 1, 12).reshape(3, 4)), nn.Linear(4, 5)

    def forward(self, t):
        return self.last(torch.tanh(self.words(t) + self.places))


TEXT = torch.tensor([[0, 1, 2, 3], [4, 3, 1, 0]])


def of_text(net, text):
    loss = F.cross_entropy(net(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten())
    loss.backward()


def of_texts(net, text, labels):
    loss = F.cross_entropy(net(text).flatten(0, 1), labels.flatten())
    loss.backward()


def tokens(folder):
    rows, left_out = TEXT.flip(0).clone(), torch.tensor([[0, -100, 2], [1, 1, 4]])
    for i, way in enumerate(WAYS):
        heard, first, behind = way.get("light", False), TEXT[:, 1:], TEXT[:, :3]  # else no call shows all that is written
        for name, text, same in (("others", rows, True), ("more of them", torch.cat([TEXT, TEXT]), False)):
            net = Tokens()
            beside(folder, f"tokens, {name}, {i}", net, lambda net=net: of_text(net, TEXT), same=same, again=lambda net=net: of_text(net, text), way=way, heard=False)
        for name, text, labels, same in (("others", rows[:, 1:], TEXT[:, :3], True), ("some left out", TEXT[:, 1:], left_out, False), ("the tokens", TEXT[:, 1:], TEXT[:, 1:], None)):
            net = Tokens()
            beside(folder, f"labels, {name}, {i}", net, lambda net=net: of_texts(net, first, behind), same=same, again=lambda net=net: of_texts(net, text, labels), way=way, heard=heard)
        for padding in (0, 2):  # a row that is not trained: of the first text none is read
            net, text = Tokens(padding), torch.tensor([[1, 3, 4], [3, 4, 1]])
            run = recorded(os.path.join(folder, f"padding-{padding}-{i}"), net, 1, lambda net=net: of_texts(net, text, behind), None, way={} if way is APPENDED else way)
            expect(run[1].program is None, f"tokens, padding {padding}, {i}: no step is compared with it, for another text may read that row")


def watched(folder):
    """A monitor: what a step of a program leaves, and that nothing is held of the steps before."""
    net, x = Net().eval(), torch.linspace(-2, 3, 6 * 36).reshape(6, 1, 6, 6)
    like, counts = None, []
    for number in range(6):
        like = recorded(os.path.join(folder, f"held-{number}"), net, number, lambda: usual(net, x, Y), like)[1].program
        gc.collect()
        counts.append(sum(type(t) in (torch.Tensor, nn.Parameter) for t in gc.get_objects()))
    expect(len(set(counts[2:])) == 1, f"tensors that live: {counts}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        for i, way in enumerate(WAYS):
            print(f"--- {way}", flush=True)
            changes(os.path.join(folder, f"way-{i}"), way)
        later(folder, given=False)
        later(folder, given=True)
        unheard(folder)
        changed_past_all(folder)
        normalized(folder)
        tokens(folder)
        drawn(folder, int(sys.argv[1]) if len(sys.argv) > 1 else 200)
        watched(folder)
    finish()


if __name__ == "__main__":
    main()
