#!/usr/bin/env python3
"""However a recorded step ends, its memory is let go, PyTorch is as before, and what went wrong is said.

    records_lifecycle.py CLARKE CLARKE-CHECK [--many N]

Counted are the tensors and the recorder's own objects that live after each kind of refusal, error and interruption: all refusals that the
other scripts have, and those of the recorder's life. --many: so many refused steps of a network (200), in constant memory.
"""
import gc
import importlib
import itertools
import linecache
import os
import random
import resource
import subprocess
import sys
import tempfile
import threading
import time

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.modules import module as global_hooks

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.join(HERE, "..", "..", "tools", "python")
sys.path.insert(0, PACKAGE)
sys.path.append(HERE)
sys.path.append(os.path.join(HERE, "..", "tools"))
os.environ["CLARKE"] = os.path.abspath(sys.argv[1])
import clarke  # noqa: E402
from clarke.recording import recorder  # noqa: E402
from clarke.tracing import dispatched as trace  # noqa: E402
from expect import expect, finish  # noqa: E402

OURS = trace.Trace, trace.Node, trace.Value, clarke.record
X, Y = torch.linspace(-2, 3, 24).reshape(6, 4), torch.arange(6) % 3


class Net(nn.Module):
    """f of the first layer's output."""

    def __init__(self, f=torch.relu):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.norm, self.last, self.f = nn.Linear(4, 5), nn.BatchNorm1d(5), nn.Linear(5, 3), f

    def forward(self, x):
        return self.last(self.f(self.norm(self.first(x))))


def living():
    """(tensors, objects of the recorder's) that live. Rings without an owner do not, and the thread in the background has ended its work."""
    recorder.settle()
    gc.collect()
    return counted()


def counted():
    objects = gc.get_objects()
    return sum(issubclass(type(o), torch.Tensor) for o in objects), sum(type(o) in OURS for o in objects)


def clean(what):
    """Nothing of a recorder's sees operators or modules."""
    expect(not recorder._get_current_dispatch_mode_stack() and not recorder._get_current_function_mode_stack(), f"{what}: a mode is left")
    expect(not global_hooks._global_forward_pre_hooks and not global_hooks._global_forward_hooks, f"{what}: a hook on all modules is left")


def same(what, before, after):
    expect(all(a <= b for a, b in zip(after, before)), f"{what}: {after} tensors and objects live, and {before} did before")


# ---- Refusals of the other scripts


def of_operators(folder):
    """What records_operators.py is refused."""
    script = importlib.import_module("records_operators")
    for name, (says, f) in script.REFUSED.items():
        with tempfile.TemporaryDirectory() as own:
            expect(script.refused(own, says, f) is None, f"{name}: refused otherwise")


def of_losses(folder):
    importlib.import_module("losses").refusals(folder)


def of_steps(folder):
    script = importlib.import_module("records")
    script.refusals(folder)
    script.wrong_derivative(folder)


def of_branches(folder):
    """Steps and functions that are refused, and functions that are not. Of three PyTorch itself keeps something each time that they run."""
    kept = "a scripted branch", "a compiled function", "other numbers saved"
    script = importlib.import_module("records_branches")
    for table, ask in ((script.STEPS, script.step_of), (script.FUNCTIONS, script.derived)):
        for name, (at, f, says) in table.items():
            if name not in kept and (table is script.FUNCTIONS or says):
                expect(script.wrong(name, says, lambda: ask(at, f)) is None, f"{name}: answered otherwise")


# ---- The recorder's own


class Interrupted(Net):
    """Ctrl-C as its buffers are listed."""

    def named_buffers(self, *args, **kwargs):
        raise KeyboardInterrupt


def step(net, folder, then=None, loss=F.cross_entropy, **options):
    net.zero_grad()
    recorded = clarke.record(folder, net, **options)
    with recorded:
        out = loss(net(X), Y)
        if then is not None:
            then(net, out)
        out.backward()
    recorded.wait()


def raises(kind, *text):
    def then(*_):
        raise kind(*text)
    return then


def hooked(net, out):
    net.first.weight.register_hook(lambda g: 2 * g)


def raising_hook(net, out):
    net.first.weight.register_hook(raises(ValueError, "a hook's"))


def twice(net, out):
    out.backward(retain_graph=True)


def compiled(net, folder, **options):
    step(torch.compile(net, backend="eager"), folder, **options)


def with_gradient(net, folder, **options):
    net.first.weight.grad = torch.ones(5, 4)
    with clarke.record(folder, net, **options) as recorded:
        F.cross_entropy(net(X), Y).backward()
    recorded.wait()


def after_backward(net, folder, **options):
    net.zero_grad()
    with clarke.record(folder, net, **options):
        loss = F.cross_entropy(net(X), Y)
        loss.backward(retain_graph=True)
        raise ValueError("behind the backward pass")


def graph_kept(net, folder, **options):
    """Autograd's own graph runs once more when the record has ended: hooks that are left would keep what they see."""
    net.zero_grad()
    try:
        with clarke.record(folder, net, **options):
            loss = F.cross_entropy(net(X), Y)
            loss.backward(retain_graph=True)
            loss.backward(retain_graph=True)
    finally:
        torch.autograd.grad(loss, list(net.parameters()))


def file_there(net, folder, **options):
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    with open(folder, "w"):
        pass
    try:
        step(net, folder, **options)
    finally:
        os.unlink(folder)


def folder_there(net, folder, **options):
    """graph.onnx is a folder."""
    os.makedirs(os.path.join(folder, "graph.onnx"))
    try:
        step(net, folder, **options)
    finally:
        os.rmdir(os.path.join(folder, "graph.onnx"))
        os.rmdir(folder)


def steps_of(f, **more):
    return lambda net, folder, **options: step(net, folder, f, **(more | options))


# name: (what is raised, its text, the network, what is done)
ENDS = {
    "compiled": (clarke.Refused, "is compiled", Net, compiled),
    "a gradient": (clarke.Refused, "has a gradient already", Net, with_gradient),
    "Ctrl-C as it begins": (KeyboardInterrupt, "", Interrupted, steps_of(None)),
    "an error in the block": (ValueError, "mine", Net, steps_of(raises(ValueError, "mine"))),
    "Ctrl-C in the block": (KeyboardInterrupt, "", Net, steps_of(raises(KeyboardInterrupt))),
    "an error of an operator": (RuntimeError, "shapes cannot be multiplied", lambda: Net(lambda h: h @ h), steps_of(None)),
    "an error behind the backward pass": (ValueError, "behind", Net, after_backward),
    "an error in a hook": (ValueError, "a hook's", Net, steps_of(raising_hook)),
    "a second backward pass": (clarke.Refused, "second backward pass", Net, steps_of(twice)),
    "a graph that is kept": (clarke.Refused, "second backward pass", Net, graph_kept),
    "a vector": (clarke.Refused, "no scalar", Net, steps_of(None, loss=lambda a, b: a)),
    "no backward pass": (clarke.Refused, "no loss.backward() ran", Net, lambda net, folder, **options: clarke.record(folder, net, **options).__enter__().__exit__(None, None, None)),
    "a hook": (clarke.Refused, "a hook changes", Net, steps_of(hooked)),
    "an operator": (clarke.Refused, "cannot be written", lambda: Net(torch.lgamma), steps_of(None)),
    "refused": (clarke.Refused, "aten.digamma", lambda: Net(lambda h: h + h.digamma()), steps_of(None)),
    "a number": (clarke.Refused, "Python reads a number", lambda: Net(lambda h: h * h.sum().item()), steps_of(None)),
    "a type": (clarke.Refused, "float8", lambda: Net(lambda h: h.to(torch.float8_e4m3fn).float()), steps_of(None)),
    "no folder to be put behind": (clarke.Refused, "has no run.json", Net, steps_of(None, append=True)),
    "a file in the folder's place": (OSError, "", Net, file_there),
    "a folder in a file's place": (OSError, "graph.onnx", Net, folder_there),
}
WAYS = {"": {}, "light": {"light": True}, "in the background": {"background": True}, "light, in the background": {"light": True, "background": True}}


def ended(what, end, options, folder):
    """It ends as it shall, nothing is written, and nothing is held, neither by the exception nor by the record."""
    kind, says, network, act = end
    there, kept = os.path.join(folder, "a", "run"), None
    try:
        act(network(), there, **options)
    except kind as why:
        expect(says in str(why), f"{what}: {why!r}")
        kept = why if kind is clarke.Refused else None
    else:
        expect(False, f"{what}: it did not end so")
    expect(not os.path.exists(there) and not os.path.exists(os.path.dirname(there)) or kind is OSError, f"{what}: something was written")
    clean(what)
    return kept


def ends(folder):
    for name, end in ENDS.items():
        ways = {way: options for way, options in WAYS.items() if name != "a type" or not options.get("light")}  # no such number is written
        for turn in range(2):  # the first time PyTorch loads things
            before = living() if turn == 1 else None
            for way, options in ways.items():
                ended(f"{name}, {way}", end, options, folder)
        same(name, before, living())


def kept_exceptions(folder):
    """Who keeps the exception of a step that was refused at its end keeps no step, but what his own functions have: the loss."""
    for f, options in itertools.product((torch.lgamma, lambda h: h + h.digamma()), WAYS.values()):
        net, kept = Net(f), []
        for append in (False, False, True):
            before = living()[0]
            try:
                step(net, os.path.join(folder, "kept"), append=append, **options)
                expect(False, "not refused")
            except clarke.Refused as why:
                kept.append(why)
            net.zero_grad()
        expect(living()[0] - before <= 1, f"{options}: an exception holds {living()[0] - before} tensors")


def kept_records(folder):
    """Who keeps the record of a step keeps no tensor of it."""
    for way, options in WAYS.items():
        net, kept = Net(), []
        for written in (True, False):
            before = living()[0]
            recorded = clarke.record(os.path.join(folder, f"kept-{way}"), net, **options)
            kept.append(recorded)
            net.zero_grad()
            try:
                with recorded:
                    F.cross_entropy(net(X) if written else net(X).lgamma(), Y).backward()
                recorded.wait()
                expect(written, "it is refused")
            except clarke.Refused:
                expect(not written, "it is written")
            net.zero_grad()
            recorder.settle()
            found = living()[0] - before
            expect(found <= 0, f"kept records, {way}, written {written}: {found} tensors more")


def functions(folder):
    """clarke.derive lets go, too."""
    def grows(f):
        before = living()
        for _ in range(3):
            try:
                clarke.derive(f, torch.tensor([1.0, 2.0]))
            except (Exception, KeyboardInterrupt):
                pass
        clean("derive")
        return living() == before

    for name, f in {"a relu": lambda x: x.relu().sum(), "refused": lambda x: x.lgamma().sum(), "an error": lambda x: x.view(7),
                    "no number": lambda x: x, "Ctrl-C": raises(KeyboardInterrupt)}.items():
        grows(f)
        expect(grows(f), f"derive of {name}: tensors live on")


def many(number):
    """Refused steps one after another: without Python's search for rings nothing grows."""
    net = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
    data, labels = torch.randn(256, 64), torch.arange(256) % 10
    kinds = [lambda h: h.lgamma(), lambda h: h + h.digamma(), lambda h: h * float(h.detach().sum()), lambda h: 1 / 0]

    def refused(i):
        net.zero_grad()
        try:
            with clarke.record("nowhere", net, light=i % 8 > 3, background=i % 16 > 7):
                F.cross_entropy(kinds[i % 4](net(data)), labels).backward()
        except (clarke.Refused, ZeroDivisionError):
            return
        expect(False, "not refused")

    for i in range(16):
        refused(i)
    recorder.settle()
    net.zero_grad()
    gc.collect()
    before, began = counted(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    gc.disable()
    try:
        for i in range(number):
            refused(i)
        recorder.settle()
        net.zero_grad()
        after = counted()
    finally:
        gc.enable()
    same(f"{number} refused steps without a search for rings", before, after)
    print(f"{number} refused steps: {(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - began) / 1024:.0f} MiB more at most")


# ---- What PyTorch's own exceptions become


def foreign(folder):
    """Refused with the operator, the line and a way out; nothing is held."""
    eye = torch.eye(4)
    sparse, rows = eye.to_sparse(), eye.to_sparse_csr()
    forward = torch.autograd.forward_ad

    def dual(net):
        with forward.dual_level():
            return net(forward.make_dual(X, X))
    cases = {
        "aten._sparse_addmm": lambda net: torch.sparse.mm(sparse, net.first.weight.t()), "aten.mm": lambda net: rows @ net.first.weight.t(),
        "aten._to_sparse": lambda net: torch.sparse.mm(net.first.weight.to_sparse(), X.t()), "aten.mul": lambda net: torch.sparse.sum(sparse * 2.0),
        "aten.to_mkldnn": lambda net: net(X).to_mkldnn().to_dense(),
        "aten._efficientzerotensor": lambda net: torch.func.jvp(net, (X,), (X,))[0], "aten._efficientzerotensor.default": dual,
        "cond": lambda net: torch.cond(torch.tensor(True), lambda a: net(a), lambda a: -net(a), (X,)),
        "scan": lambda net: torch._higher_order_ops.scan(lambda c, a: (c + a, c + 1), torch.zeros(4), X)[0],
        "aten.detach": lambda net: net(torch.nested.nested_tensor([X, X[:2]], layout=torch.jagged)).values(),
        "aten._nested_tensor_from_tensor_list": lambda net: torch.nested.as_nested_tensor([net(X), net(X[:2])]).to_padded_tensor(0.0),
        "prim.layout": lambda net: torch.masked.masked_tensor(X, X > 0).sum().to_tensor(0),
    }

    def refused(name, f):
        try:
            with clarke.record(os.path.join(folder, "foreign"), Net()) as recorded:
                f(recorded.model).sum().backward()
            expect(False, f"{name}: not refused")
        except clarke.Refused as why:
            said = str(why)
            expect(f" {name}" in said and "records_lifecycle.py:" in said and ("write it with dense tensors" in said or "call these" in said), f"{name}: {why}")
        clean(name)

    for name, f in cases.items():
        refused(name, f)
        before = living()
        refused(name, f)
        same(name, before, living())
    for f in (lambda x: torch.cond(x > 0, torch.sin, torch.cos, (x,)), lambda x: torch.sparse.mm(sparse, x.expand(4, 4)).sum()):
        try:
            clarke.derive(f, torch.tensor(1.0))
            expect(False, "derive: not refused")
        except clarke.Refused as why:
            expect("records_lifecycle.py:" in str(why), f"derive: {why}")
    said = clarke.derive(torch.sqrt, torch.tensor(0.0))
    expect(said["ad"] == ["inf"] and said["verdict"] == "undecided" and "infinite" in said["why"], f"sqrt at 0: {said}")


def precisions(folder):
    """PyTorch's newer names for precisions make its older ones raise. A step is recorded all the same, with the widest bounds."""
    names = ["fp32_precision", "mkldnn.fp32_precision", "mkldnn.matmul.fp32_precision", "mkldnn.conv.fp32_precision", "mkldnn.rnn.fp32_precision",
             "cuda.matmul.fp32_precision", "cudnn.fp32_precision", "cudnn.conv.fp32_precision", "cudnn.rnn.fp32_precision"]
    lines = [f"import sys; sys.path.insert(0, {PACKAGE!r}); import clarke, torch; net = torch.nn.Linear(4, 3)"]
    for i, name in enumerate(names):
        lines += [f"torch.backends.{name} = '{'bf16' if 'mkldnn' in name else 'tf32'}'; net.zero_grad()",
                  f"with clarke.record({os.path.join(folder, str(i))!r}, net): net(torch.ones(2, 4)).sum().backward()", f"print({name!r})"]
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", "\n".join(lines)], capture_output=True, text=True)
    expect(done.stdout.split() == names, f"precisions: after {done.stdout.split()[-1:]}: {done.stderr[-300:]}")
    flags = recorder.Folder(os.path.join(folder, str(len(names) - 1))).read()[1]["flags"]
    expect(flags["float32_matmul_precision"] == "medium" and flags["tf32_matmul"] and flags["tf32_cudnn"], f"precisions: {flags}")


# ---- Ctrl-C


class Interruptions:
    """KeyboardInterrupt where the n-th line of this package begins, from some function on. A line of a `with` is shown once more as its
    block ends, before what the block's end does: no signal is handled between these two, and so none comes here."""

    def __init__(self, function, at):
        self.function, self.at, self.seen, self.inside, self.where = function, at, 0, False, None

    def begin(self, frame, event, _):
        code = frame.f_code
        if not code.co_filename.startswith(os.path.dirname(clarke.__file__)):
            return None
        self.inside = self.inside or code.co_name == self.function
        return self.line if self.inside else None

    def line(self, frame, event, _):
        if event == "line" and not linecache.getline(frame.f_code.co_filename, frame.f_lineno).lstrip().startswith("with "):
            self.seen += 1
            if self.seen == self.at:
                self.where = f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
                raise KeyboardInterrupt
        return self.line


def interrupted(folder, function, at, number, append):
    """A step that is interrupted at that line. (Where; None: it was over before. Without a line: how many there are.)"""
    net, there = Net(), os.path.join(folder, "run")
    interruptions, past = Interruptions(function, at), sys.gettrace()
    sys.settrace(interruptions.begin)
    try:
        step(net, there, step=number, append=append)
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(past)
    return interruptions.seen if at is None else interruptions.where


def remove(folder, asked):
    for name in bytes_of(folder) if asked else ():
        os.unlink(os.path.join(folder, name))
    if asked and os.path.isdir(folder):
        os.rmdir(folder)


def bytes_of(folder):
    found = {}
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        with open(os.path.join(folder, name), "rb") as f:
            found[name] = f.read()
    return found


def whole(what, folder, step_is):
    """The folder has the step, or it has not; and no file that nobody names."""
    files = bytes_of(folder)
    run = recorder.Folder(folder).read()[1]
    named = {e["file"] for s in run["steps"] for e in s["files"].values()} | {run["graph"]["file"], "run.json"}
    expect(set(files) == named, f"{what}: {sorted(set(files) ^ named)}")
    return any(s["step"] == step_is for s in run["steps"])


def interruptions(folder, draws):
    """At drawn lines as the block ends: the folder is old or new, with all its files, nothing else is left, and the next step is written."""
    drawn = random.Random(7)
    for kind in ("fresh", "append", "over"):
        lines, written = 0, 0
        with tempfile.TemporaryDirectory() as own:
            there = os.path.join(own, "run")
            if kind != "fresh":
                step(Net(), there)
            last = interrupted(own, "__exit__", None, 1000, kind == "append")
            remove(there, kind == "fresh")
            for turn in range(draws):
                number = turn + 1 if kind != "fresh" else 0
                before = bytes_of(there)
                # A third at drawn lines of all, the others among the last, where files get their names.
                at = drawn.randrange(2, last) if turn % 3 == 0 else drawn.randrange(last - 160, last)
                where = interrupted(own, "__exit__", at, number, kind == "append")
                what = f"{kind}, interrupted at {where}"
                clean(what)
                lines += where is not None
                if bytes_of(there) != before:
                    expect(whole(what, there, number), f"{what}: neither old nor new")
                    written += 1
                remove(there, kind == "fresh")
            step(Net(), there, step=5000, append=kind == "append")
            expect(whole(kind, there, 5000), f"{kind}: the next step")
        print(f"{kind}: {lines} interruptions, {written} steps written")
        expect(lines > draws / 4 and 0 < written < draws, f"{kind}: {lines} interruptions, {written} steps written")
    before = living()
    for at in range(2, 1500, 150):  # before the first no line of this package runs that could let go
        interrupted(folder, "__exit__", at, 0, False)
    same("interruptions", (before[0], before[1]), living())
    for at in range(2, 60, 3):
        where = interrupted(folder, "__enter__", at, 0, False)
        clean(f"interrupted at {where}, as it begins")
    same("interruptions as it begins", (before[0], before[1]), living())


# ---- Two threads


def two_threads(folder):
    """Modules of one are not those of the other's step."""
    begun, failed = threading.Barrier(2), []

    class Slow(nn.Module):
        def __init__(self, name):
            super().__init__()
            self.add_module(name, nn.Linear(4, 4))
            self.name = name

        def forward(self, x):
            begun.wait(30)
            time.sleep(0.01 * len(self.name))
            for _ in range(5):
                x = getattr(self, self.name)(x).relu()
                time.sleep(0.005)
            return x

    def run(name):
        try:
            with clarke.record(os.path.join(folder, name), Slow(name)) as recorded:
                recorded.model(X).sum().backward()
            nodes = recorder.Folder(os.path.join(folder, name)).read()[1]["nodes"]
            expect({n["module"] for n in nodes} <= {"", name}, f"{name}: modules {sorted({n['module'] for n in nodes})}")
        except Exception as why:
            failed.append(why)

    threads = [threading.Thread(target=run, args=(name,)) for name in ("left", "right-hand")]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    expect(not failed, f"two threads: {failed}")


def main():
    number = int(sys.argv[sys.argv.index("--many") + 1]) if "--many" in sys.argv else 200
    torch.manual_seed(0)
    for ask in (of_operators, of_losses, of_steps, of_branches):
        with tempfile.TemporaryDirectory() as folder:
            ask(folder)  # modules are loaded, and what they keep
            before = living()
            ask(folder)
            same(ask.__name__, before, living())
            clean(ask.__name__)
    for ask in (ends, kept_exceptions, kept_records, functions, foreign, precisions, two_threads):
        with tempfile.TemporaryDirectory() as folder:
            ask(folder)
    with tempfile.TemporaryDirectory() as folder:
        interruptions(folder, 60)
    many(number)
    finish()


if __name__ == "__main__":
    main()
