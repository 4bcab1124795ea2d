#!/usr/bin/env python3
"""Every refusal of the Python package, provoked one by one: it says where, why, and what to write instead.

    refusals.py CLARKE

The places that refuse, or fail, are those of the package's source (Refused, refuse, Failed, ValueError, OSError, RuntimeError). Each
is reached by a case here: a new one without a case is told. Of what an operator refuses the module's name, as named_modules has it, and
this file's line are in the message.
"""
import ast
import contextlib
import io
import json
import os
import re
import resource
import signal
import sys
import tempfile
import threading
from types import SimpleNamespace

import torch
from torch import nn
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.abspath(os.path.join(HERE, "..", "..", "tools", "python", "clarke"))
sys.path.insert(0, os.path.dirname(PACKAGE))
os.environ["CLARKE"] = os.path.abspath(sys.argv[1])
import clarke  # noqa: E402
from clarke import answer, files, loop  # noqa: E402
from clarke.graph import surrogates  # noqa: E402
from clarke.operators import choices, kinks, primitives  # noqa: E402
from clarke.recording import evaluated, folder, recorder, updates  # noqa: E402
from clarke.graph import model as model_module  # noqa: E402
from clarke.graph.graph import Graph, tensor_proto, write_node  # noqa: E402
from clarke.operators.table import OPERATORS  # noqa: E402
from clarke.profiles import installed  # noqa: E402
from clarke.graph.program import Program  # noqa: E402
from clarke.operators.reductions import write_running_largest  # noqa: E402
from clarke.refused import Refused  # noqa: E402
from clarke.tracing.dispatched import Node, Trace, Value  # noqa: E402
from report import Report  # noqa: E402

REPORT = Report()
HANDS_ON = {"refuse", "refused", "require"}  # functions that are told why: who calls them is the place
MADE_BY, RAISED = {"Refused", *HANDS_ON}, {"Failed", "ValueError", "OSError", "RuntimeError"}

# ---- The places


def sites():
    """(File, first line, last line) of each."""
    found = set()
    for name in sorted(os.listdir(PACKAGE)):
        if name.endswith(".py"):
            with open(os.path.join(PACKAGE, name), encoding="utf-8") as f:
                found |= set(sites_in(ast.parse(f.read()), name))
    return found


def sites_in(tree, name, inside=""):
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            yield from sites_in(node, name, node.name)
            continue
        call = node.exc if isinstance(node, ast.Raise) else node
        if isinstance(call, ast.Call) and inside not in HANDS_ON:
            called = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            if called in MADE_BY or (called in RAISED and call is not node):
                yield name, call.lineno, call.end_lineno
        yield from sites_in(node, name, inside)


SITES = sites()
MADE = []  # (the exception, its place) of those that a case has made


def note(made, *_):
    """The innermost place on the way to it."""
    frame = sys._getframe(1)
    while frame is not None:
        path = frame.f_code.co_filename
        if os.path.dirname(path) == PACKAGE:
            here = [s for s in SITES if s[0] == os.path.basename(path) and s[1] <= frame.f_lineno <= s[2]]
            if here and frame.f_code.co_name not in HANDS_ON:
                MADE.append((made, min(here, key=lambda s: s[2] - s[1])))
                return
        frame = frame.f_back


@contextlib.contextmanager
def noted():
    """Each Refused says so as it is made; of other exceptions the last place is where they were raised."""
    begin = Refused.__init__

    def init(self, *args):
        begin(self, *args)
        note(self)
    Refused.__init__ = init
    MADE.clear()
    try:
        yield
    finally:
        Refused.__init__ = begin


def note_raised(why):
    """Of an exception that is no Refused."""
    trace = why.__traceback__
    while trace is not None:
        code, line = trace.tb_frame.f_code, trace.tb_lineno
        if os.path.dirname(code.co_filename) == PACKAGE:
            MADE.extend((why, s) for s in SITES if s[0] == os.path.basename(code.co_filename) and s[1] <= line <= s[2])
        trace = trace.tb_next


# ---- Cases

CASES = {}  # name: (what is run, where it is told, the exceptions)
MODULE = r"layer, \S*refusals\.py:LINE: aten\."
LINE = r"(layer|the model), \S*refusals\.py:LINE"


class Of(nn.Module):
    def __init__(self, f, width=5):
        super().__init__()
        self.linear, self.f = nn.Linear(3, width), f

    def forward(self, x):
        return self.f(self.linear(x))


class Net(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, *args, **kwargs):
        return self.layer(*args, **kwargs)


OPTIMIZER = torch.optim.SGD(nn.Linear(1, 1).parameters())
X = torch.linspace(-1, 1, 12).reshape(4, 3).sin()


def summed(out):
    return out.to(torch.float32).sum() if not out.is_floating_point() else out.sum()


def record(layer, x=X, loss=summed, **options):
    """A step of the model with this layer."""
    torch.manual_seed(0)
    model = Net(layer)
    with tempfile.TemporaryDirectory() as home, clarke.record(os.path.join(home, "run"), model, **options):
        loss(model(x)).backward()


@contextlib.contextmanager
def writing(name="", write=None):
    """With another function that writes the operator of that name."""
    old = OPERATORS.get(name)
    OPERATORS.update({name: write} if name else {})
    try:
        yield
    finally:
        OPERATORS.pop(name, None)
        OPERATORS.update({name: old} if old else {})


def told(name, run, where, kinds=(Refused,), f=None):
    code = getattr(f or run, "__code__", None)
    CASES[name] = run, where, kinds, (code.co_firstlineno, last_line(code)) if code else (0, 0)


def last_line(code):
    lines = [line for *_, line in code.co_lines() if line] + [last_line(c) for c in code.co_consts if hasattr(c, "co_lines")]
    return max(lines)


def step(name, f, where=MODULE, writer=(), **options):
    """An operator's own: f(h), h being computed by the module `layer`."""
    def run():
        with writing(*writer):
            record(Of(f), **options)
    told(name, run, where, f=f)


def loss(name, f, where=r"the model, \S*refusals\.py:LINE: aten\.", width=5, **options):
    """An operator's of the loss, which is in no module."""
    told(name, lambda: record(Of(lambda h: h, width), loss=f, **options), where, f=f)


def layer(name, made, f, where=MODULE, **options):
    """An operator's of a module with parameters of its own: f(module, x)."""
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            made(self)

        def forward(self, x):
            return f(self, x)
    told(name, lambda: record(Own(), **options), where, f=f)


def function(name, at, f, where=r"the model, \S*refusals\.py:LINE: aten\.", writer=(), **options):
    """An operator's of clarke.derive."""
    def run():
        with writing(*writer):
            clarke.derive(f, at, **options)
    told(name, run, where, f=f)


LEAST, ZERO = float("-inf"), torch.zeros(())


def first_of_equal(g, node):
    """As if PyTorch had taken the first of equal entries."""
    first = SimpleNamespace(tensor=0 * node.results[1].tensor)
    return write_running_largest(g, SimpleNamespace(name=node.name, args=node.args, kwargs=node.kwargs, results=[node.results[0], first]))



step("elu's factors", lambda h: torch.ops.aten.elu(h, 1.0, 2.0, 3.0))
step("clamp's bounds", lambda h: h.clamp(1, 1))
step("hardsigmoid in float64", lambda h: F.hardsigmoid(h.double()).float())
step("an operator that is unknown", lambda h: h.lgamma())
step("a view", lambda h: h.as_strided((2, 2), (1, 2)))
step("an alpha", lambda h: torch.rsub(h, h, alpha=2))
step("rounded", lambda h: torch.div(h, 2, rounding_mode="floor"))
step("norm of ord 1/2", lambda h: torch.linalg.vector_norm(h, 0.5, dim=1))
step("norm in another type", lambda h: torch.linalg.vector_norm(h, dtype=torch.float64))
step("largest sizes of many", lambda h: h.repeat(1, 1000).norm(float("inf"), dim=1))
step("a distance of p 3", lambda h: torch.dist(h, h + 1, 3))
step("distances of rows, of p 3", lambda h: F.pdist(h, 3))
step("the first of two, one being none", lambda h: torch.fmax(h, torch.full((5,), float("nan"))))
step("the k-th of many", lambda h: h.repeat(1, 30).kthvalue(2)[0])
step("copied twice", lambda h: h.index_copy(0, torch.tensor([1, 1]), h[:2]))
step("nothing chosen", lambda h: h.masked_select(torch.zeros(4, 5, dtype=torch.bool)).sum() + h)
step("an angle where it jumps", lambda h: torch.atan2(0 * h, -torch.ones(5)))
step("x log y at 0", lambda h: torch.xlogy(0 * h, torch.zeros(5)))
step("an image alone, unshuffled", lambda h: F.pixel_unshuffle(h[:, :4].reshape(1, 4, 4), 2))
step("a computed grid, reflected", lambda h: F.grid_sample(h.reshape(4, 1, 1, 5), h[:, :2].reshape(4, 1, 1, 2), padding_mode="reflection", align_corners=False))
step("a large image, and a computed grid", lambda h: F.grid_sample(h[:1, :1].reshape(1, 1, 1, 1) * torch.ones(1, 1, 4000, 4000), h[:, :4].reshape(1, 2, 4, 2), align_corners=False))
step("a sign at 0", lambda h: (0 * h).sign() + h)
step("rounded to decimals", lambda h: h.round(decimals=1) * h)
step("what a third leaves", lambda h: h.remainder(0.1) * h)
step("what a long number leaves", lambda h: (1e6 * h).remainder(1 + 2**-23) * h)
step("the inverse of a large matrix", lambda h: torch.linalg.inv(torch.eye(18) + h[0, 0] * torch.ones(18, 18)))
step("solutions on the right", lambda h: torch.linalg.solve(h[:4, :4] + 9 * torch.eye(4), h[:, :4], left=False))
step("triangular solutions on the right", lambda h: torch.linalg.solve_triangular(h[:4, :4] + 9 * torch.eye(4), h[:, :4], upper=True, left=False))
step("the root of any matrix", lambda h: torch.linalg.cholesky(h[:4, :4] + 9 * torch.eye(4)))
step("vectors of other axes", lambda h: torch.linalg.cross(h[:, :3], torch.ones(1, 3)))
step("norm of a number", lambda h: torch.linalg.vector_norm(h.sum()))
step("a computed weight, transposed", lambda h: F.conv_transpose1d(h.unsqueeze(1), h[:1, :3].reshape(1, 1, 3)))
step("largest of many", lambda h: h.repeat(1, 1000).max(1)[0])
step("many largest", lambda h: (0 * h).repeat(1, 1000).amax(1))
step("sorted many", lambda h: h.repeat(1, 30).sort(1)[0])
step("without an order", lambda h: h.topk(2, sorted=False)[0])
step("median of all of many", lambda h: h.repeat(1, 30).median())
step("at a threshold", lambda h: F.threshold(h.relu(), 0, 1))
step("distances of p 3", lambda h: torch.cdist(h, h + 1, p=3))
step("largest differences of many", lambda h: torch.cdist(h.repeat(1, 1000), h.repeat(1, 1000) + torch.arange(5000.0), p=float("inf")))
step("largest differences that are equal", lambda h: torch.cdist(h.repeat(1, 2), 2 * h.repeat(1, 2), p=float("inf")))
step("distances of a row", lambda h: (lambda row: torch.cdist(row, row))(h[:1]))
step("distances over other axes", lambda h: torch.cdist(h.reshape(2, 2, 5), torch.ones(1, 3, 5)))
step("product in another type", lambda h: h.prod(1, dtype=torch.float64))
step("product of nothing", lambda h: h + h[:, :0].prod())
step("running products of nothing", lambda h: h + h[:, :0].cumprod(1).sum())
step("largest so far of a number", lambda h: h.sum().cummax(0)[0])
step("largest so far of many", lambda h: h.repeat(1, 1000).cummax(1)[0])
step("another largest so far", lambda h: (0 * h).cummax(1)[0] + h, writer=("cummax", first_of_equal))
step("products with a zero at one place", lambda h: h.scatter_reduce(1, torch.zeros(4, 2, dtype=torch.long), h[:, :2].relu() * 0, "prod"))
step("many factors at one place", lambda h: torch.ones(1, 5000).scatter_reduce(1, torch.zeros(1, 5000, dtype=torch.long), h.repeat(1, 250).reshape(1, -1), "prod"))
step("the largest at one place", lambda h: torch.zeros(1, 9).scatter_reduce(1, torch.zeros(1, 20000, dtype=torch.long), h.repeat(1, 1000).reshape(1, -1), "amax"))
step("a share that is lost", lambda h: torch.zeros(4, 5).scatter_reduce(1, torch.zeros(4, 2, dtype=torch.long), -h[:, :2].relu(), "amax", include_self=False))
step("bicubic grids", lambda h: F.grid_sample(h.reshape(4, 1, 1, 5), torch.zeros(4, 2, 2, 2), mode="bicubic", align_corners=False))
step("powers of zeros", lambda h: h.relu() ** 1.5)
step("median of many", lambda h: h.repeat(1, 30).median(1)[0])
step("running sum of a vector", lambda h: h.flatten().cumsum(0))
step("repeated never", lambda h: h.repeat(0, 1) + h.sum())
step("added at one place", lambda h: torch.zeros(1, 5000).scatter_add(1, torch.zeros(1, 20000, dtype=torch.long), h.repeat(1, 1000).reshape(1, -1)))
step("scattered twice", lambda h: h.scatter(1, torch.zeros(4, 2, dtype=torch.long), h[:, :2]))
step("put twice", lambda h: h.index_put((torch.tensor([1, 1]),), h[:2]))
step("uneven windows", lambda h: F.adaptive_max_pool1d(h.unsqueeze(1), 3))
step("an adaptive pool without batch", lambda h: F.adaptive_max_pool2d(h.reshape(1, 4, 5), (2, 5)))
step("a mean pool without batch", lambda h: torch.ops.aten._adaptive_avg_pool2d(h.reshape(1, 4, 5), [2, 5]))
step("a pool without batch", lambda h: F.max_pool2d(h.reshape(1, 4, 5), 2))
step("an average without batch", lambda h: F.avg_pool2d(h.reshape(1, 4, 5), 2))
step("an average's divisor", lambda h: F.avg_pool3d(h.reshape(1, 1, 1, 4, 5), (1, 2, 2), divisor_override=3))
step("shuffled without batch", lambda h: F.pixel_shuffle(h.reshape(4, 1, 5), 2))
step("columns without batch", lambda h: F.unfold(h.reshape(1, 4, 5), 2))
step("a sum in another type", lambda h: h.sum(1, dtype=torch.float64).float())
step("bits", lambda h: h.view(torch.int32).view(torch.float32) + h)


loss("power of weights", lambda o: F.binary_cross_entropy_with_logits(o, torch.full((4, 5), 0.1, dtype=torch.float32), weight=torch.full((4, 5), 0.1, dtype=torch.float64), pos_weight=torch.full((5,), 0.1, dtype=torch.float64)))
loss("a target that is trained", lambda o: F.binary_cross_entropy_with_logits(o, o.sigmoid()))
loss("a target's digits", lambda o: F.binary_cross_entropy_with_logits(o, torch.full((4, 5), 1e-30)))
loss("another shape", lambda o: torch.ops.aten.mse_loss(o, torch.zeros(4, 1)))
loss("margins", lambda o: F.multi_margin_loss(o, torch.zeros(4, dtype=torch.long), margin=-1.0))
loss("masked logits of no matrix", lambda o: F.cross_entropy(o.masked_fill(torch.eye(4, 5).bool(), LEAST), torch.tensor([1, 2, 3, 4]), reduction="none").sum())


# ---- Of what is behind autograd's back, or read


def set_without_gradients(h):
    g = h * 2
    with torch.no_grad():
        g.mul_(3)
    return g * 1


def replaced(h):
    k = torch.empty_like(h)
    k.data = h
    return h * k


def made_by_a_thread(h):
    made = []
    thread = threading.Thread(target=lambda t: made.append(-(-t).relu()), args=(h.detach(),))
    thread.start()
    thread.join()
    return h.relu() + made[0]


def view_of_changed(h):
    g = 2 * h
    with torch.no_grad():
        g[:, 0] = 0
    return g * 1


def changed_by_numpy(h):
    a = torch.zeros(5)
    v = a.view(5)
    h = h + v
    a[:2].add_(1)
    a.numpy()[4] = 7
    return h + v


def by_a_thread(h):
    t = torch.ones(5)
    h = h * t
    thread = threading.Thread(target=t.add_, args=(1,))
    thread.start()
    thread.join()
    return h * t


def penalized(h):
    return torch.autograd.grad((h ** 2).sum(), h, create_graph=True)[0]


def other_gradient(h):
    return h * torch.autograd.grad((h ** 2).sum(), h, retain_graph=True)[0]


def hooked(h):
    h.register_hook(lambda g: 2 * g)
    return h * 1


MEMORY = torch.zeros(1)
ARRAY = MEMORY.numpy()


def read_of_text(h):
    ARRAY[0] = float(f"{h.sum()}")
    return h * 2 if MEMORY.tolist()[0] > 9 else h * 1


def smaller(h):
    a, b = h.sum(), h.sum()
    return a if a.item() >= b.item() else b


OTHER = torch.ones(5, requires_grad=True)
COMPUTED = 2 * OTHER
step("without gradients", set_without_gradients)
step("behind autograd's back", replaced)
step("run again", made_by_a_thread, where="layer, run again")
step("a view of what is changed", view_of_changed, where=LINE)
step("changed by numpy", changed_by_numpy, where=LINE)
step("changed by a thread", by_a_thread, where=LINE)
step("a sparse tensor", lambda h: h.to_sparse().to_dense(), where=LINE)
step("another gradient", other_gradient, where=LINE)
step("a gradient penalty", penalized, where=LINE)
step("a hook", hooked, where=r"layer\.linear, \S*refusals\.py:LINE")
step("a number as an array", lambda h: h * float(h.sum().detach().numpy()), where=LINE)
step("a number's copy", lambda h: h * h.sum().item(), where=LINE)
step("a number that is read again", read_of_text, where=LINE)
step("equal numbers", smaller, where=r"\S*refusals\.py:LINE")
step("equal, and a branch", lambda h: torch.where(h.relu() > 0, h, 2 * h) - torch.where((0 * h).relu() > 0, h, 2 * h))
step("functions", lambda h: torch.cond(torch.tensor(True), lambda t: t.sin(), lambda t: t.cos(), (h,)), where=LINE)
step("computed from another leaf", lambda h: h * COMPUTED)
step("a writer's error", lambda h: h.lgamma(), writer=("lgamma", lambda g, n: 1 // 0))
told("two places", lambda: recorder.device_of([torch.zeros(1), SimpleNamespace(device=torch.device("cuda", 0))]), "the step$")


def swapped(m, x):
    a = x @ m.w
    m.w.data = m.w.data.clone()
    return a + x @ m.w


def thawed(m, x):
    h = x * m.frozen
    m.frozen.requires_grad_()
    return (h * m.frozen) @ m.w


def on_a_grid(m, x):
    m.w.data = torch.ones(3, 5)
    return x @ m.w


def doubled(m, x):
    m.alias.mul_(2)
    return x @ m.w


def while_backward(m, x):
    h = x @ m.w
    h.register_hook(lambda g: (m.w.data.mul_(1), None)[1])
    return h * 1


def moved_statistics(m, x):
    m.norm.running_mean.add_(1)
    return m.norm(x)


def weight(m):
    m.w = nn.Parameter(torch.linspace(-1, 1, 15).reshape(3, 5))


def normed(m):
    m.norm = nn.BatchNorm1d(3).eval()


def table(**options):
    return lambda m: setattr(m, "table", options.pop("kind", nn.Embedding)(4, 2, **options))


PLACES = torch.tensor([[0, 1, 2]])
layer("memory replaced", weight, swapped, where=LINE)
layer("memory replaced before", weight, on_a_grid, where=LINE)
layer("marked later", lambda m: (weight(m), setattr(m, "frozen", nn.Parameter(torch.ones(3), False))), thawed, where=LINE)
layer("changed before it is read", lambda m: (weight(m), setattr(m, "alias", m.w.data)), doubled, where=LINE)
layer("changed by the backward pass", weight, while_backward, where=r"(layer|the model), \S*refusals\.py:\d+")
layer("statistics that moved", normed, moved_statistics, where="layer.norm.running_mean$")
layer("a negated weight", lambda m: (weight(m), setattr(m, "s", nn.Parameter(torch.ones(5)))), lambda m, x: F.batch_norm(x @ m.w, None, None, -m.s, None, True))
layer("eps in float64", lambda m: setattr(m, "w", nn.Parameter(torch.ones(3).double())), lambda m, x: F.layer_norm(x.double(), (3,), m.w))
layer("statistics of nobody", weight, lambda m, x: F.batch_norm(x @ m.w, torch.zeros(5), torch.ones(5)))
layer("scattered with a reduction", weight, lambda m, x: x.scatter(1, torch.zeros(4, 2, dtype=torch.long), x[:, :2], reduce="add") @ m.w)


def aligned(labels, frames=2, scale=1.0):
    """A loss of alignments, of as many samples as labels; of two letters beside the blank."""
    def loss(m, x):
        logs = (x.mean() * m.w[0, :3] - scale * torch.tensor([0.0, 1, 1])).expand(2, len(labels), 3).log_softmax(-1)
        lengths = torch.full((len(labels),), frames), torch.tensor([len(y) for y in labels])
        return F.ctc_loss(logs, torch.tensor(sum(labels, []), dtype=torch.long), *lengths, zero_infinity=True)
    return loss


layer("an entropy at 0", weight, lambda m, x: torch.special.entr((x @ m.w).relu()))
step("x log(1 + y) at -1", lambda h: torch.special.xlog1py(0 * h, -torch.ones(5)))
layer("a normal distribution's tail", weight, lambda m, x: torch.special.log_ndtr(x @ m.w - 40))
layer("no label", weight, lambda m, x: F.multilabel_margin_loss(x @ m.w, torch.full((len(x), 5), -1)))
layer("a label with the blank", weight, aligned([[0]]))
layer("labels without an alignment", weight, aligned([[1, 1]]))
layer("a loss too large", weight, aligned([[1, 2], []], scale=2.5e38))
layer("a label without frames", weight, aligned([[], []], frames=0))

# ---- Surrogates


class Normed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return g / g.norm()


class OfTwo(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        return x * y

    @staticmethod
    def backward(ctx, g):
        return g, g


class Summed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.sum(1)

    @staticmethod
    def backward(ctx, g):
        return g[:, None].expand(4, 5)


FUNCTION = r"layer, \S*refusals\.py:\d+: aten\."
step("a Function's norm", lambda h: Normed.apply(h), where=FUNCTION)
step("a Function of two", lambda h: OfTwo.apply(h, h.sin()), where=FUNCTION)
step("a Function's shape", lambda h: Summed.apply(h), where=FUNCTION)

# ---- Steps as a whole


def block(run, model, f, **options):
    with clarke.record(run, model, **options):
        f(model)


def whole(name, f, where, make=lambda: Net(nn.Linear(3, 5)), before=lambda model: None, **options):
    def run():
        model = make()
        before(model)
        with tempfile.TemporaryDirectory() as home:
            block(os.path.join(home, "run"), model, f, **options)
    told(name, run, where, f=f)


def twice(model):
    model(X).sum().backward()
    model(X).sum().backward()


def given_a_gradient(model):
    model.layer.weight.grad = torch.ones(5, 3)


def with_a_hook(model):
    given_a_gradient(model)
    model.layer.weight.register_post_accumulate_grad_hook(lambda p: None)


def other_flags(model):
    out = model(X).sum()
    threads = torch.get_num_threads()
    torch.set_num_threads(threads + 1)
    try:
        out.backward()
    finally:
        torch.set_num_threads(threads)


def of_own_parameters(model):
    model(X + model.layer.bias.detach()[:3]).sum().backward()


whole("no backward pass", lambda model: model(X).sum(), "the block$")
whole("two backward passes", twice, LINE)
whole("another leaf alone", lambda model: (model(X) * OTHER).sum().backward(), r"the model, \S*refusals\.py:LINE: aten\.",
      before=lambda model: model.requires_grad_(False))
whole("no scalar", lambda model: model(X).backward(torch.ones(4, 5)), LINE)
whole("compiled", lambda model: None, "layer$", make=lambda: Net(torch.compile(nn.Linear(3, 5))))
whole("a gradient", lambda model: model(X).sum().backward(), "layer.weight$", before=given_a_gradient)
whole("a gradient, and a hook", lambda model: None, "layer.weight$", before=with_a_hook, accumulate=True)
whole("other flags", other_flags, LINE)
whole("its own parameters", of_own_parameters, r"the model, \S*refusals\.py:LINE: aten\.")
whole("of some", lambda model: model(X).sum().backward(inputs=[model.layer.bias]), "layer.weight$")
whole("times 0", lambda model: (model(X).sum() * 0.0).backward(), r"the model, \S*refusals\.py:LINE: aten\.")
whole("a seed of 0", lambda model: model(X).sum().backward(torch.tensor(0.0)), r"the model, \S*refusals\.py:LINE: aten\.")
whole("no data", lambda model: (model.layer.weight ** 2).sum().backward(), r"the model, \S*refusals\.py:LINE: aten\.")
whole("a trained input", lambda model: model(X.clone().requires_grad_()).sum().backward(), r"the model, \S*refusals\.py:LINE: aten\.")
whole("no operator's loss", lambda model: (model.layer.weight * 2).backward(), "the loss$", make=lambda: Net(nn.Linear(1, 1, bias=False)))
told("trees", lambda: clarke.record("run", nn.Linear(1, 1), trees=True, light=True), "", (ValueError,))
told("an optimizer twice", lambda: clarke.record("run", nn.Linear(1, 1), optimizer=[OPTIMIZER, OPTIMIZER]), "", (ValueError,))
told("no average", lambda: clarke.record("run", nn.Linear(1, 1), ema=nn.Linear(1, 1)), "", (ValueError,))

# ---- Folders


def added(name, change, where, second=lambda model, step: step(model), **options):
    """A second step behind a folder's first, of which something was changed."""
    def run():
        torch.manual_seed(0)
        model = Net(nn.Linear(3, 5))
        with tempfile.TemporaryDirectory() as home:
            run = os.path.join(home, "run")
            block(run, model, backward)
            model.zero_grad()
            change(run)
            with contextlib.ExitStack() as stack:
                second(model, lambda m: block(run, m, backward, append=True, **{"step": 1, **options}))
    told(name, run, where)


def backward(model):
    model(X).sum().backward()


def written(name, text):
    def change(run):
        with open(os.path.join(run, name), "w", encoding="utf-8") as f:
            f.write(text)
    return change


def more_threads(model, step):
    threads = torch.get_num_threads()
    torch.set_num_threads(threads + 1)
    try:
        step(model)
    finally:
        torch.set_num_threads(threads)


def left_the_reals(run):
    with open(os.path.join(run, "run.json"), encoding="utf-8") as f:
        described = json.load(f)
    described["outside"] = {}
    with open(os.path.join(run, "run.json"), "w", encoding="utf-8") as f:
        json.dump(described, f)


def graph_changed(run):
    with open(os.path.join(run, "graph.onnx"), "ab") as f:
        f.write(b"x")
    model_module.COMPARED.clear()


def renamed_step(run):
    """Step 0's files are named as those that step 1 would have."""
    with open(os.path.join(run, "run.json"), encoding="utf-8") as f:
        text = f.read()
    for name in os.listdir(run):
        if name.startswith("step-000000"):
            os.rename(os.path.join(run, name), os.path.join(run, name.replace("step-000000", "step-000001")))
    with open(os.path.join(run, "run.json"), "w", encoding="utf-8") as f:
        f.write(text.replace("step-000000", "step-000001"))


added("no run", lambda run: os.remove(os.path.join(run, "run.json")), r"\S*/run$")
added("half a run", written("run.json", "{"), r"\S*/run\.json$")
added("another file", written("run.json", "{}"), r"\S*/run\.json$")
added("outside", left_the_reals, r"\S*/run$")
added("another setting", lambda run: None, r"\S*/run$", more_threads)
added("the same step", lambda run: None, r"\S*/run$", step=0)
added("another graph", lambda run: None, r"\S*/graph\.onnx$", lambda model, step: step(Net(nn.Sequential(nn.Linear(3, 5), nn.ReLU()))))
added("a graph that was changed", graph_changed, r"\S*/graph\.onnx$")
added("another step's files", renamed_step, r"\S*/step-000001\S*$")


def without_locks():
    with tempfile.TemporaryDirectory() as home, patched(folder.fcntl, "flock", lambda *_: raise_(OSError(95, "not supported"))):
        block(os.path.join(home, "run"), Net(nn.Linear(3, 5)), backward)


def raise_(why):
    raise why


@contextlib.contextmanager
def patched(thing, name, value):
    old = getattr(thing, name)
    setattr(thing, name, value)
    try:
        yield
    finally:
        setattr(thing, name, old)


def file_too_large():
    with tempfile.TemporaryDirectory() as home:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (16, hard))
        try:
            files.write(os.path.join(home, "file"), [b"x" * 100])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            signal.signal(signal.SIGXFSZ, ignored)


COMPLEX = torch.zeros(1, dtype=torch.complex64)
OPTIMIZER = torch.optim.SGD([torch.ones(1, requires_grad=True)])


def other_average():
    updates.Average.keep(SimpleNamespace(model=lambda: nn.Linear(1, 1)), torch.optim.swa_utils.AveragedModel(nn.Linear(2, 1)), "before", True)


told("a type of files", lambda: list(files.safetensors({"layer.weight": COMPLEX})), "layer.weight$")
told("a type of constants", lambda: tensor_proto("layer.weight", COMPLEX), "layer.weight$")
told("no locks", without_locks, "", (OSError,))
told("a file that is too large", file_too_large, "", (OSError,))
told("an optimizer's type", lambda: updates.Update.put(SimpleNamespace(tensors={}), "before", "m", "layer.weight", COMPLEX), "layer.weight$")
told("an optimizer twice", lambda: clarke.record("run", nn.Linear(1, 1), optimizer=[OPTIMIZER, OPTIMIZER]), "", (ValueError,))
told("no average", lambda: clarke.record("run", nn.Linear(1, 1), ema=nn.Linear(1, 1)), "", (ValueError,))
told("another average", lambda: other_average(), "weight$")
told("an optimizer's infinity", lambda: updates.Update.put(SimpleNamespace(tensors={}), "before", "m", "layer.weight", torch.tensor(1e400)), "layer.weight$")


def closure_moves():
    p = torch.ones(1, requires_grad=True)
    optimizer = torch.optim.LBFGS([p])
    optimizer.step(lambda: evaluated.Evaluated.note(SimpleNamespace(), optimizer, 0.0, [torch.zeros(1)]))


told("another L-BFGS", lambda: evaluated.Evaluated.note(SimpleNamespace(), OPTIMIZER, 0.0, []), "L-BFGS$")
told("an L-BFGS whose closure moves", closure_moves, "L-BFGS$")
told("an L-BFGS's type", lambda: evaluated.Evaluated.keep(None, SimpleNamespace(param_groups=[{"params": [COMPLEX]}]), "before", False), "L-BFGS$")
told("an average of another type", lambda: updates.Average.keep(SimpleNamespace(model=lambda: nn.Linear(1, 1)), SimpleNamespace(module=nn.Linear(2, 1)), "before", False),
     "weight$")

# ---- Functions

def other_saved(x):
    with torch.autograd.graph.saved_tensors_hooks(lambda s: s, lambda s: s + 1):
        return x.tanh()


def without(f):
    with torch.no_grad():
        return f()


def changed_and_saved(x):
    g = x.exp()
    y = g * 1
    g.add_(1)
    return y * x


function("not finite, and asked", ZERO, lambda x: torch.where(torch.isnan(1 / x), x, 2 * x))
function("and of numbers", ZERO, lambda x: torch.where(torch.logical_and(x, x > 0), x, 2 * x))
function("whole numbers", ZERO, lambda x: x.long() * x)
function("x log y", ZERO, lambda x: torch.xlogy(x, x))
function("not finite, and replaced", ZERO, lambda x: torch.nan_to_num(1 / x) * 1)
function("decimals", ZERO, lambda x: torch.round(x, decimals=1) * x)
function("clamped upside down", ZERO, lambda x: x.clamp(2, 1))
function("scattered products", torch.zeros(3), lambda x: x.scatter_reduce(0, torch.tensor([0, 0]), x[:2], "prod").sum())
function("deviation of one", torch.zeros(1), lambda x: x.std())
function("norm of ord -infinity at a point", torch.ones(2), lambda x: torch.linalg.vector_norm(x, float("-inf")))
function("what a tensor leaves", torch.tensor(1.0), lambda x: torch.remainder(x, torch.tensor(0.75)))
function("leaps that are no branches", torch.tensor(1.0), lambda x: x.lgamma(), writer=("lgamma", lambda g, n: g.leapt(n, n.results[0].tensor)))
function("powers at a point", torch.tensor(-1.0), lambda x: (x * 1) ** 0.3)
function("infinite", torch.tensor(1.0), lambda x: x * torch.tensor(float("inf")))
function("no primitive", torch.ones(1, 1, 3), lambda x: F.conv_transpose1d(x, torch.ones(1, 1, 2)).sum())
function("detached at a point", torch.tensor(1.0), lambda x: x.detach() * x)
function("behind at a point", torch.tensor(1.0), lambda x: without(lambda: x.exp()) * x)
function("detached, and by a mask", torch.tensor(1.0), lambda x: x * (x.detach() * (x > 0)))
function("quantized", torch.tensor(1.0), lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 0, -128, 127))
function("padding", torch.ones(2, 2), lambda x: F.embedding(torch.tensor([0]), x, padding_idx=0).sum())
function("a writer's error at a point", torch.tensor(1.0), lambda x: x.lgamma(), writer=("lgamma", lambda g, n: 1 // 0))
function("a writer's shape", torch.tensor(1.0), lambda x: x.lgamma(), writer=("lgamma", lambda g, n: g.named([[g.array(g.of(n.args[0])).reshape(-1)[0]]])))
function("unknown at a point", torch.tensor(1.0), lambda x: x.lgamma())
function("sums of conditions", torch.tensor(1.0), lambda x: x * ((x > 0) + (x > -1)))
function("a derivative that is nan", ZERO, lambda x: torch.where(x > 0, x.sqrt(), 0 * x))
function("a pole", ZERO, lambda x: 1 / x)
function("a Function's derivative", torch.tensor(1.0), lambda x: Normed.apply(x), where=r"the model, \S*refusals\.py:\d+: aten\.")
THERE = r"the function, \S*refusals\.py:LINE$"
function("nothing seen", torch.tensor(1.0), lambda x: without(lambda: x.exp()), where=THERE)
function("in place", torch.tensor(1.0), lambda x: x.add_(1), where=THERE)
function("no number", torch.ones(2), lambda x: x, where=THERE)
function("no tensor", torch.ones(2), lambda x: 1, where=THERE)
function("other derivatives", torch.tensor(0.5), lambda x: other_saved(x), where=THERE)
function("a backward pass that ends", torch.tensor(1.0), changed_and_saved, where=THERE)
told("no point", lambda: clarke.derive(torch.sin, torch.tensor([1])), "x$")
told("no tensor as a point", lambda: clarke.derive(torch.sin, "one"), "x$")


# ---- What no CPU runs, and what PyTorch as it is released does not do: made by hand

HAND = r"layer, by hand: aten\."


def value(t, trained=False):
    return Value(t, None, trained or t.requires_grad, of=t, place=(t.data_ptr(),))


def by_hand(name, *args, results=(), backward=(), grad_inputs=(), grad_outputs=(), op=SimpleNamespace(_overloadname="default", namespace="aten"), **kwargs):
    node = Node(op, name, f"aten.{name}.default", args, kwargs,
                [a for a in args if isinstance(a, Value)], [value(t) for t in results], "layer", "by hand", True, 0)
    node.backward, node.grad_inputs, node.grad_outputs = list(backward), grad_inputs, grad_outputs
    return node


def writes(name, node, where=HAND):
    def run():
        g = Graph({}, {}, whole=True)
        g.current = node
        OPERATORS[node.name](g, node)
    told(name, run, where)


def runs_else(name, node):
    told(name, lambda: kinks.check([node], installed()), HAND)


Q, ONES = value(torch.ones(2, 1, 3, 4)), value(torch.ones(3, 3))
FLASH, EFFICIENT = "_scaled_dot_product_flash_attention", "_scaled_dot_product_efficient_attention"
OUT = torch.ones(2, 1, 3, 4)
writes("detached", by_hand("detach", value(torch.ones(3), True), results=[torch.ones(3)]))
writes("chosen of data", by_hand("where", value(torch.ones(3).bool()), value(torch.ones(3)), 2.0, results=[torch.ones(3)]))
writes("dropout in attention", by_hand(FLASH, Q, Q, Q, 0.1, False, results=[OUT]))
INFINITE = value(torch.full((3, 3), LEAST), True)
writes("a computed mask", by_hand(EFFICIENT, Q, Q, Q, INFINITE, False, results=[OUT]))
writes("a mask's infinity", by_hand(EFFICIENT, Q, Q, Q, value(torch.full((3, 3), -LEAST)), False, results=[OUT]))
writes("a mask of all", by_hand(EFFICIENT, Q, Q, Q, value(torch.full((3, 3), LEAST)), False, results=[OUT]))
WEIGHTS = [value(torch.ones(2, 2))] * 2
STATE = value(torch.ones(1, 2, 2))
SEQUENCE = value(torch.ones(1, 2, 2))


def cudnn(mode, weights, projected=0, dropout=0.0, layers=1, sizes=()):
    return by_hand("_cudnn_rnn", SEQUENCE, weights, len(weights), None, STATE, None, mode, 2, projected, layers, False, dropout, True, False, sizes,
                   results=[torch.ones(1, 2, 2)])


writes("relu in a recurrent layer", cudnn(0, WEIGHTS))
writes("a projection among weights", cudnn(2, [*WEIGHTS, WEIGHTS[0]]))
writes("a projection", cudnn(2, WEIGHTS, projected=1))
writes("dropout between layers", cudnn(2, WEIGHTS, dropout=0.5, layers=2))
writes("packed", cudnn(2, WEIGHTS, sizes=(1,)))
writes("without eps", by_hand("_fused_rms_norm", value(torch.ones(2, 3).half()), [3], None, None, results=[torch.ones(2, 3).half()]))
writes("a convolution of its own", by_hand("cudnn_convolution", Q, Q, results=[OUT]))
RELU = value(torch.zeros(3), True), torch.zeros(3)
runs_else("no derivative ran", by_hand("relu", RELU[0], results=[RELU[1]]))
runs_else("another derivative ran", by_hand("relu", RELU[0], results=[RELU[1]], backward=["aten.mul.Tensor"], grad_outputs=(torch.ones(3),)))
runs_else("no gradient", by_hand("relu", RELU[0], results=[RELU[1]], backward=["aten.threshold_backward.default"], grad_outputs=(torch.ones(3),)))
runs_else("another slope", by_hand("relu", RELU[0], results=[RELU[1]], backward=["aten.threshold_backward.default"], grad_outputs=(torch.ones(3),),
                                   grad_inputs=(torch.ones(3),)))
PLANE = value(torch.zeros(1, 1, 2, 2), True)
SOLID = value(torch.zeros(1, 1, 2, 2, 2), True)
runs_else("another winner", by_hand("max_pool2d_with_indices", PLANE, [2, 2], results=[torch.zeros(1, 1, 1, 1), torch.ones(1, 1, 1, 1).long()],
                                    backward=["x"], grad_outputs=(torch.ones(1),)))
runs_else("another winner in space", by_hand("max_pool3d_with_indices", SOLID, [2, 2, 2], results=[torch.zeros(1, 1, 1, 1, 1), torch.ones(1, 1, 1, 1, 1).long()],
                                             backward=["x"], grad_outputs=(torch.ones(1),)))
runs_else("another largest", by_hand("max", ONES, 1, results=[torch.ones(3), torch.ones(3).long()]))
ONES.requires_grad = True


def of_graph(name, f, where=HAND):
    def run():
        g = Graph({}, {}, whole=True)
        g.current = by_hand("relu", ONES, results=[torch.ones(3, 3)])
        f(g)
    told(name, run, where)


def hidden(t):
    made = value(t)
    made.hidden = "what aten.native_batch_norm.default wrote depends on what is trained"
    return made


def moving(g):
    made = Value(torch.ones(3), by_hand("relu", ONES, results=[torch.ones(3)]), True)
    g.moving.add(id(made))
    g.of(made)


def no_derivative(g):
    made = Value(torch.ones(3), by_hand("heaviside", ONES, results=[torch.ones(3)], op=torch.ops.aten.heaviside.default), False)
    surrogates.behind(made, "layer, by hand: aten.heaviside.default")


def bits(g):
    node = by_hand("view", ONES, torch.float16, results=[torch.ones(3, 6).half()], op=torch.ops.aten.view.dtype)
    g.moving.update(map(id, node.results))
    write_node(g, node)


of_graph("bits of floats", bits)
of_graph("a number for a tensor", lambda g: g.of(2.0))
of_graph("trained numbers", lambda g: g.numbers(value(torch.ones(3), True)))
of_graph("hidden numbers", lambda g: g.numbers(hidden(torch.ones(3))))
of_graph("no number of the graph", moving)
of_graph("no derivative", no_derivative)


def of_program(name, f, where=HAND):
    def run():
        p = Program()
        p.current = by_hand("max", ONES, 1, results=[torch.ones(3), torch.ones(3).long()])
        f(p)
    told(name, run, where)


def unknown_slope(p):
    with patched(primitives, "installed", lambda: SimpleNamespace(name="pytorch-2.13", kinks={("Relu", 0): "unknown"})):
        primitives.braces(p, "Relu", 0)


of_program("neither first nor last", lambda p: choices.recorded(p, [[1, 1, 1]], [1], False))
of_program("places that are computed", lambda p: p.whole_numbers("t"))
of_program("an unknown slope", unknown_slope)
of_program("no input", lambda p: p.of(value(torch.ones(3), True)))
of_program("what autograd does not know", lambda p: p.of(hidden(torch.ones(3))))
of_program("numbers that are trained", lambda p: p.numbers(value(torch.ones(3), True)))


def in_c():
    trace = Trace()
    trace.require_own(SimpleNamespace(name=lambda: "CppNode<Own>", _sequence_nr=lambda: 7))
    raise trace.functions[0]


told("a Function in C++", in_c, r"the model, \S*refusals\.py:\d+$")

# ---- The program, monitors, sweeps, optimizers


def compared(name, f, where, usual=lambda h: h, since=1, within=contextlib.nullcontext):
    """A watched step that runs the program of the one before, where f has a part in its forward pass, and somebody in the step."""
    def run():
        program, model, labels = None, Of(usual), torch.arange(4)
        with tempfile.TemporaryDirectory() as home:
            for number in range(3):
                made = clarke.record(os.path.join(home, str(number)), model, step=number, background=True, again=False)
                made.compares, made.like = True, program
                model.zero_grad()
                model.f = f if number >= since else model.f
                with within() if number >= since else contextlib.nullcontext(), made:
                    F.cross_entropy(model(X), labels).backward()
                made.wait()
                program = made.program
    told(name, run, where, f=f)


ONES_OF_H = torch.ones(4, 5)


def given_other_data(h):
    h.data = ONES_OF_H
    return h


def counted_backward(h):
    """No operator runs, and the weight is one that was changed."""
    weight = h.grad_fn.next_functions[2][0].next_functions[0][0].variable
    h.register_hook(lambda gradient: torch.autograd.graph.increment_version(weight))
    return h


compared("compared, and replaced", given_other_data, "")
compared("compared, and changed in the backward pass", counted_backward, "")
compared("called, and another function below", F.leaky_relu, "", F.leaky_relu, 2,
         lambda: patched(torch._C._nn, "leaky_relu", lambda h, slope: torch.tanh(h)))



def asked(script, ask, described="{}"):
    """By a program of this text in place of clarke; None: none is there."""
    def run():
        with tempfile.TemporaryDirectory() as home:
            run, path = os.path.join(home, "run"), os.path.join(home, "clarke")
            os.mkdir(run)
            written("run.json", described)(run)
            if script is not None:
                written("clarke", "#!/bin/sh\n" + script)(home)
                os.chmod(path, 0o755)
            old = os.environ["CLARKE"]
            os.environ["CLARKE"] = path
            try:
                ask(run)
            finally:
                os.environ["CLARKE"] = old
    return run


def without_program():
    with patched(os, "environ", {"PATH": ""}), patched(answer.sysconfig, "get_path", lambda _: "/nowhere"):
        answer.program()


FAILS = (clarke.Failed,)
told("no program", without_program, "", FAILS)
told("a program that is not there", asked(None, clarke.audit), "", FAILS)
told("a program that says nothing", asked("exit 3", clarke.audit), "", FAILS)
told("another answer", asked("echo '{\"why\": \"x\"}'", clarke.audit), "", FAILS)
told("a lasting process's error", asked("read -r line; printf '{\\n\"error\": \"x\"\\n}\\n'", lambda run: answer.Lasting((), print).ask(run, run + "/proof")), "", FAILS)
told("a run that is gone", lambda: answer.modules_of("/nowhere"), "", FAILS)
told("no run folder", lambda: clarke.audit("/nowhere"), "", FAILS)
told("a sweep without HyperQueue", lambda: without_hyperqueue(), "", FAILS)
told("a sweep's part that is ended", asked("kill -9 $$", lambda run: clarke.sweep("m", run + "/out", shards=1)), "", FAILS)
told("a sweep without answers", asked("exit 1", lambda run: clarke.sweep("m", run + "/out", shards=1)), "", FAILS)
told("no shards", lambda: clarke.sweep("m", "o", shards=0), "", (ValueError,))
told("a part's tau", lambda: clarke.sweep("m", "o", options=("--tau=1",)), "", (ValueError,))


def without_hyperqueue():
    held = sys.modules.get("hyperqueue")
    sys.modules["hyperqueue"] = None
    try:
        clarke.sweep("m", "o", cluster="local")
    finally:
        sys.modules.pop("hyperqueue")
        if held is not None:
            sys.modules["hyperqueue"] = held


def watched(ask, lines="", **options):
    def run():
        with tempfile.TemporaryDirectory() as home:
            written("steps.jsonl", lines)(home)
            watch = clarke.monitor(Net(nn.Linear(3, 5)), home, **options)
            try:
                ask(watch)
            finally:
                watch.close()
    return run


def inside_itself(watch):
    watch.recording = watch
    try:
        watch.__enter__()
    finally:
        watch.recording = None


def closed(watch):
    watch.close()
    watch.__enter__()


told("a line of nobody's", watched(None, "{}\n"), r"\S*steps\.jsonl$")
told("every 0", watched(None, every=0), "", (ValueError,))
told("a closed monitor", watched(closed), "", (ValueError,))
told("a monitor in itself", watched(inside_itself), "", (ValueError,))
told("a loop of every 0", lambda: loop.Loop("runs", every=0), "", (ValueError,))
W = [torch.ones(2, requires_grad=True)]
told("lr", lambda: clarke.INNAprop(W, lr=-1.0), "", (ValueError,))
told("sigma", lambda: clarke.DINAdam(W, sigma=1.0), "", (ValueError,))
told("beta", lambda: clarke.INNAprop(W, lr=1.0, beta=0.5), "", (ValueError,))


def sparse_step():
    w = nn.Embedding(3, 2, sparse=True)
    w(torch.tensor([0])).sum().backward()
    clarke.DINAdam(w.parameters()).step()


told("a sparse gradient", sparse_step, "", (RuntimeError,))

# ---- What is told as a step that leaves the reals (docs/outside.md), and would be refused else

NOTHING = type(None)


def outside(name, f, loss=summed):
    told(name, lambda: record(Of(f), loss=loss), MODULE if loss is summed else r"the model, \S*refusals\.py:LINE: aten\.", (NOTHING,), f=f if loss is summed else loss)


step("infinite, and read", lambda h: h.masked_fill(torch.eye(4, 5).bool(), LEAST).logsumexp(1))
outside("infinite, and added", lambda h: (h + torch.where(torch.eye(4, 5).bool(), -LEAST, 0.0)).softmax(1))
outside("nothing left", lambda h: h.masked_fill(torch.ones(4, 5).bool(), LEAST).softmax(1))
outside("variance of one", lambda h: h[:, :1].var(1))
outside("each label ignored", lambda h: h, lambda o: F.cross_entropy(o, torch.full((4,), -100)))
outside("each masked label ignored", lambda h: h, lambda o: F.cross_entropy(o.masked_fill(torch.eye(4, 5).bool(), LEAST), torch.full((4,), -100)))
whole("outside, and added", lambda model: model(X).sum().log().log().log().backward(), "the step$", append=True)


def main():
    reached = set()
    for name, (run, where, kinds, lines) in CASES.items():
        with noted():
            ended = raised(run, kinds)
        reached |= {site for _, site in MADE}
        REPORT.check(type(ended) in kinds, f"{name}: refused", ended)
        for why in {id(w): w for w, site in MADE if isinstance(w, Refused) and (w is ended or site[0] != "folder.py")}.values():
            placed = where_of(where, lines, why.where)
            REPORT.check(placed and all(len(t) > 2 for t in (why.why, why.instead)), f"{name}: where, and what instead", str(why))
    for site in sorted(SITES - reached):
        REPORT.check(False, f"{site[0]}:{site[1]} is reached by a case", "no case refuses there")
    sys.exit(REPORT.close())


def where_of(where, lines, text):
    """Does the text begin so, the line being one of the case's own?"""
    found = re.match(where.replace("LINE", r"(?P<line>\d+)"), text)
    return found is not None and ("line" not in found.groupdict() or lines[0] <= int(found["line"]) <= lines[1])


def raised(run, kinds):
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            run()
    except Exception as why:
        if not isinstance(why, Refused):
            note_raised(why)
        return why
    return None


if __name__ == "__main__":
    main()
