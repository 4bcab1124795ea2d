#!/usr/bin/env python3
"""A run folder that several write to, that a writer is killed over, that a disk is too small for, or that is written anew.

    records_folder.py CLARKE CLARKE-CHECK [--rounds N]

And what Python is told where the program `clarke` gives no answer.
"""
import contextlib
import fcntl
import json
import hashlib
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time

import onnx
import torch
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.join(HERE, "..", "..", "tools", "python")
sys.path.insert(0, PACKAGE)
sys.path.append(os.path.join(HERE, "..", "tools"))
AGAIN = os.path.join(HERE, "..", "..", "cases", "runs", "added")
CLARKE = os.path.abspath(sys.argv[1])
os.environ["CLARKE"] = CLARKE
import clarke  # noqa: E402
from clarke.recording import folder as folders  # noqa: E402
from expect import expect, finish  # noqa: E402

X = torch.linspace(-2, 3, 8).reshape(2, 4)
torch.set_num_threads(1)


def net_of(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 3), nn.ReLU())


def step(folder, number, net=None, **options):
    net = net or net_of()
    net.zero_grad()
    with clarke.record(folder, net, step=number, **options) as recorded:
        net(X).square().sum().backward()
    return recorded


def read(folder):
    with open(os.path.join(folder, "run.json")) as f:
        return json.load(f)


def entries(run):
    return [run["graph"], *(e for s in run["steps"] for e in s["files"].values())]


def whole(what, folder, others=()):
    """All files that run.json names are there, by their hashes, and no others. (The steps' numbers, in order.)"""
    run, names = read(folder), {"run.json", *others}
    for entry in entries(run):
        names.add(entry["file"])
        with open(os.path.join(folder, entry["file"]), "rb") as f:
            data = f.read()
        expect(hashlib.sha256(data).hexdigest() == entry.get("sha256", hashlib.sha256(data).hexdigest()), f"{what}: {entry['file']} is another")
    found = set(os.listdir(folder))
    expect(found == names, f"{what}: {sorted(found ^ names)}")
    return sorted(s["step"] for s in run["steps"])


def listed(folder):
    found = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as f:
            found[name] = f.read()
    return found


def child(code, *arguments):
    """A process that has this script as `r`, and the arguments as a, b, ..."""
    names = "".join(f"; {name} = {argument!r}" for name, argument in zip("abcdef", arguments))
    return subprocess.Popen([sys.executable, "-W", "ignore", "-c", f"import sys; sys.argv[1:] = [{CLARKE!r}]; sys.path.insert(0, {HERE!r})\n"
                             f"import os, records_folder as r{names}\n{code}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


# ---- Several writers


WRITER = """
import threading
def write(first, background):
    net = r.net_of()
    for number in range(first, first + b):
        r.step(a, number, net, append=True, light=True, background=background)
threads = [threading.Thread(target=write, args=(c + b * i, i % 2 == d)) for i in range(2)]
print("ready", flush=True)
sys.stdin.readline()
for t in threads: t.start()
for t in threads: t.join()
r.clarke.recording.recorder.settle()
"""


def writers(folder, rounds, steps=12):
    """Two processes of two threads each, one of which writes in the background: no step is lost."""
    for turn in range(rounds):
        there = os.path.join(folder, f"writers-{turn}")
        step(there, 0, light=True)
        others = [child(WRITER, there, steps, 1 + 2 * steps * i, i) for i in range(2)]
        for other in others:
            other.stdout.readline()
        for other in others:
            other.stdin.write("\n")
            other.stdin.flush()
        for other in others:
            other.communicate(timeout=300)
            expect(other.returncode == 0, "a writer failed")
        found = whole("writers", there)
        expect(found == list(range(4 * steps + 1)), f"writers: of {4 * steps + 1} steps are there {len(found)}")


def beside(folder, steps=15):
    """A step of this thread's comes behind those that wait to be written, also where these begin the folder."""
    for turn in range(4):
        there, net = os.path.join(folder, f"beside-{turn}"), net_of()
        for number in range(steps):
            step(there, number, net, append=number > 0, light=True, background=number % 2 == turn % 2)
        clarke.recording.recorder.settle()
        run = read(there)
        expect([s["step"] for s in run["steps"]] == list(range(steps)), f"beside one another: {[s['step'] for s in run['steps']]}")


def lock(folder):
    """It ends with its holder, also where a child of the holder's lives on; without it nothing is written."""
    there = os.path.join(folder, "lock")
    step(there, 0)
    with folders.Folder(there):
        began, waiting = time.monotonic(), threading.Thread(target=step, args=(there, 1), kwargs={"append": True})
        waiting.start()
        waiting.join(0.5)
        expect(waiting.is_alive() and time.monotonic() - began >= 0.5, "a writer did not wait for the lock")
    waiting.join()
    expect(whole("the lock", there) == [0, 1], "the step that waited")
    holder = child("folder = r.folders.Folder(a); folder.__enter__()\nif os.fork() == 0: import time; time.sleep(600)\nprint('held', flush=True)\n"
                   "import time; time.sleep(600)", there)
    holder.stdout.readline()
    children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(holder.pid)], capture_output=True, text=True).stdout.split()
    expect(os.path.exists(os.path.join(there, folders.LOCK)) and len(children) == 1, "a holder and its child")
    holder.kill()
    holder.wait()
    late = child("r.step(a, 2, append=True)", there)
    with contextlib.suppress(subprocess.TimeoutExpired):
        late.wait(120)
    expect(late.poll() == 0, "the lock of a killed process is held by its child")
    for pid in children:
        os.kill(int(pid), signal.SIGKILL)
    late.wait()
    expect(whole("after a killed holder", there) == [0, 1, 2], "the step after")

    def unsupported(*_):
        raise OSError(95, "Operation not supported")
    before, kept, fcntl.flock = listed(there), fcntl.flock, unsupported
    try:
        for path in (there, os.path.join(folder, "none", "at", "all")):
            with contextlib.suppress(clarke.Refused):
                step(path, 3, append=path == there)
                expect(False, "written without a lock")
    except OSError as why:
        expect("cannot be locked" in str(why) and there in str(why), f"without locks: {why}")
    finally:
        fcntl.flock = kept
    expect(listed(there) == before and not os.path.exists(os.path.join(folder, "none")), "without locks: something was left")


# ---- Killed writers


KILLED = """
import builtins
count = 0
def counting(f):
    def run(*args, **kwargs):
        global count
        count += 1
        if count == b: os.kill(os.getpid(), 9)
        return f(*args, **kwargs)
    return run
net, calls = r.net_of(1), count
for place, name in ((os, "replace"), (os, "rename"), (os, "unlink"), (os, "mkdir"), (builtins, "open"), (r.folders.fcntl, "flock")):
    setattr(place, name, counting(getattr(place, name)))
while True:
    b = int(sys.stdin.readline())
    pid = os.fork()
    if pid == 0:
        count = 0
        r.step(a, c, net, append=d)
        os._exit(3)
    print(os.waitpid(pid, 0)[1], flush=True)
"""


def killed(folder):
    """Before each of its calls a writer is killed. A folder that goes on has its steps, or one more; in the place of one that ends is the
    old record, the new, or none. The next writer takes away what was begun."""
    for append in (True, False):
        there, over = os.path.join(folder, f"killed-{append}"), False
        step(there, 0)
        runner, call, known, ends = child(KILLED, there, 0, 7, append), 0, [0], set()
        while not over:
            call += 1
            runner.stdin.write(f"{call}\n")
            runner.stdin.flush()
            over = os.waitstatus_to_exitcode(int(runner.stdout.readline())) != -signal.SIGKILL
            run = read(there) if os.path.exists(os.path.join(there, "run.json")) else None
            if append or run is not None:
                for entry in entries(run):
                    with open(os.path.join(there, entry["file"]), "rb") as f:
                        data = f.read()
                    expect(entry.get("sha256", data) in (hashlib.sha256(data).hexdigest(), data), f"killed at call {call}: {entry['file']}")
            found = [s["step"] for s in run["steps"]] if run else None
            ends.add(None if found is None else 7 in found)
            expect(found in ([known, known + [7]] if append else [known, [7], None]), f"killed at call {call}: {found}")
            step(there, call + 100, append=append)  # which needs the lock, and finds what is left
            known = whole(f"after a kill at call {call}", there)
            if 7 in known:
                step(there, 0)
                known = whole("anew", there)
        expect(call > 10 and ends == ({True, False} if append else {True, False, None}), f"killed at {call} calls: {ends}")
        runner.kill()
        runner.communicate()
        print(f"killed at {call - 1} calls")


# ---- Full disks


def full(folder):
    """Files may have so many bytes, or the disk: the folder is as it was, or the step is there."""
    there, net = os.path.join(folder, "full"), nn.Linear(4, 300)
    step(there, 0, net)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    sizes = sorted({len(data) for data in listed(there).values()})
    for limit in [0, 1, *(s + d for s in sizes for d in (-1, 0))]:
        for append, background in ((True, False), (False, False), (True, True)):
            before, path = listed(there), there if append else os.path.join(folder, "fresh", "one")
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
            try:
                step(path, 1, net, append=append, background=background).wait()
            except OSError as why:
                resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
                expect(path in str(why), f"files of {limit} bytes: {why}")
                expect(listed(there) == before and not os.path.exists(os.path.join(folder, "fresh")), f"files of {limit} bytes: something is left")
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            if append and listed(there) != before:
                step(there, 0, net)
            if not append and os.path.exists(path):
                whole(f"files of {limit} bytes", path)
                for name in os.listdir(path):
                    os.unlink(os.path.join(path, name))
                os.removedirs(path)
    if os.geteuid() == 0:
        small_disk(folder, net)


def small_disk(folder, net):
    """A file system that is filled up to each number of pages."""
    disk = os.path.join(folder, "disk")
    os.mkdir(disk)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", disk], check=True)
    try:
        there, filler, written = os.path.join(disk, "run"), os.path.join(disk, "filler"), 0
        step(there, 0, net)
        for pages in range(24):
            before = listed(there)
            free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_bsize
            with open(filler, "wb") as f:
                f.write(bytes(max(0, free - 4096 * pages)))
            try:
                step(there, 1, net, append=True)
                written += 1
            except OSError as why:
                expect(why.errno == 28 and listed(there) == before, f"{pages} pages free: {why}, {sorted(os.listdir(there))}")
            os.unlink(filler)
            whole(f"{pages} pages free", there)
            if listed(there) != before:
                step(there, 0, net)
        expect(0 < written < 24, f"a full disk: {written} steps were written")
    finally:
        subprocess.run(["umount", disk], check=True)


# ---- Written anew


def anew(folder):
    """The files of the record that was there go, and no other: not a stranger's, whatever it is called, nor one that run.json names so."""
    there = os.path.join(folder, "anew")
    for number in range(3):
        step(there, number, append=number > 0)
    strangers = {"notes.txt": b"mine", "step-000009.batch.npz": b"mine", "step-000001.batch.npz.bak": b"mine", "graph.onnx.tmp": b"mine"}
    for name, data in strangers.items():
        with open(os.path.join(there, name), "wb") as f:
            f.write(data)
    with open(os.path.join(folder, "step-000001.batch.npz"), "wb") as f:
        f.write(b"outside")
    run = read(there)
    run["steps"][1]["files"]["trace"]["file"] = "notes.txt"
    run["steps"][2]["files"]["batch"]["file"] = "../step-000001.batch.npz"
    with open(os.path.join(there, "run.json"), "w") as f:
        json.dump(run, f)
    step(there, 2, light=True)
    left = {"step-000001.trace.safetensors"}  # nobody names it
    expect(whole("written anew", there, {*strangers, *left}) == [2], "the new record's steps")
    expect(all(listed(there)[n] == data for n, data in strangers.items()), "written anew: a stranger's file was changed")
    expect(os.path.exists(os.path.join(folder, "step-000001.batch.npz")), "written anew: a file outside of the folder went")
    for text in ("", "{", "[]", '{"format": "clarke-run"}', '{"format": "clarke-run", "steps": [1]}'):
        other = os.path.join(folder, "other")
        os.makedirs(other, exist_ok=True)
        with open(os.path.join(other, "run.json"), "w") as f:
            f.write(text)
        before = listed(other)
        try:
            step(other, 1, append=True)
            expect(False, f"put behind {text!r}")
        except clarke.Refused as why:
            expect("another folder is needed" in str(why), f"behind {text!r}: {why}")
        expect(listed(other) == before, f"behind {text!r}: {sorted(listed(other))}")
        for name in before.keys() - {"run.json"}:
            os.unlink(os.path.join(other, name))
        step(other, 1)
        expect(whole(f"instead of {text!r}", other) == [1], "a record instead")


# ---- The program


def told(folder):
    """Each way in which the program gives no answer has its words, for steps, functions and the fixture of pytest."""
    there, fake = os.path.join(folder, "told"), os.path.join(folder, "clarke")
    step(there, 0)
    cases = {"kill -KILL $$": ("SIGKILL", "memory"), "kill -TERM $$": ("SIGTERM", "ask again"), "kill -SEGV $$": ("SIGSEGV", "report it"),
             "kill -XCPU $$": ("SIGXCPU", "--timeout"), "printf '{\"verdict\": '; kill -KILL $$": ("SIGKILL",), "exit 0": ("status 0", "no answer"),
             "echo no object": ("status 0", "no single JSON object"), "echo '[1]'": ("no single JSON object",), "echo why >&2; exit 2": ("why", "status 2"),
             "printf '\\377'; exit 3": ("status 3",), "kill -35 $$": ("signal 35",), "kill -KILL $$; echo '{}'": ("SIGKILL",)}

    def failing(says, ask, what):
        try:
            ask()
            expect(False, f"{what}: answered")
        except clarke.Failed as why:
            expect(all(s in str(why) for s in says), f"{what}: {why}")

    asked = {"audit": lambda: clarke.audit(there), "audit of a model": lambda: clarke.audit(net_of(), X),
             "derive": lambda: clarke.derive(lambda x: x.relu().sum(), torch.ones(2))}
    try:
        os.environ["CLARKE"] = fake
        for text, says in cases.items():
            with open(fake, "w") as f:
                f.write(f"#!/bin/sh\n{text}\n")
            os.chmod(fake, 0o755)
            for name, ask in asked.items():
                failing(says, ask, f"{name}, {text}")
        os.chmod(fake, 0o644)
        for name, ask in asked.items():
            failing(("cannot be run", "CLARKE"), ask, f"{name}, no permission")
        os.environ["CLARKE"] = os.path.join(folder, "nothing")
        for name, ask in asked.items():
            failing(("cannot be run", "No such file"), ask, f"{name}, no program")
    finally:
        os.environ["CLARKE"] = CLARKE
    failing(("status 0", "no single JSON"), lambda: clarke.audit(there, options=("--help",)), "another question")
    failing(("nowhere", "no run.json"), lambda: clarke.audit(os.path.join(folder, "nowhere")), "no folder")
    os.environ["CLARKE_STOP_AFTER"] = "1"  # at the first look at its limits
    try:
        audited, derived = clarke.audit(os.path.join(os.path.dirname(AGAIN), "small")), clarke.derive(lambda x: x.relu().sum(), torch.zeros(2))
    finally:
        del os.environ["CLARKE_STOP_AFTER"]
    expect(audited.answer == "not known" and not audited.in_clarke and "interrupted" in audited.gradient["why"], f"an audit that is stopped: {audited}")
    expect(derived["verdict"] == "undecided" and "interrupted" in derived["why"], f"a function that is stopped: {derived['why']}")
    fixture(folder)


def declared(folder):
    """graph.onnx declares its output in the loss's type: that of the parameters, or what autocast made of it."""
    types = {torch.float32: onnx.TensorProto.FLOAT, torch.float64: onnx.TensorProto.DOUBLE, torch.bfloat16: onnx.TensorProto.BFLOAT16}
    for dtype, cast in [(torch.float32, False), (torch.float64, False), (torch.bfloat16, False), (torch.float32, True)]:
        for name, loss in [("sum", lambda z: z.sum()), ("mse", lambda z: nn.functional.mse_loss(z, torch.ones_like(z))),
                           ("scaled", lambda z: 3 * z.sum())]:
            net, run = net_of().to(dtype), os.path.join(folder, f"declared-{name}-{dtype}-{cast}".replace("torch.", ""))
            with clarke.record(run, net, background=name == "scaled", light=name == "mse") as recorded, torch.autocast("cpu", torch.bfloat16, enabled=cast):
                made = loss(net(X.to(dtype)))
                made.backward()
            recorded.wait()
            output = onnx.load(os.path.join(run, "graph.onnx")).graph.output[0]
            expect(output.type.tensor_type.elem_type == types[made.dtype], f"{run}: {output} of {made.dtype}")


def fixture(folder):
    """pytest's own test fails, with the words."""
    from _pytest.outcomes import Failed
    from clarke import pytest_plugin
    check = pytest_plugin.assert_in_clarke.__wrapped__() if hasattr(pytest_plugin.assert_in_clarke, "__wrapped__") else pytest_plugin.assert_in_clarke.__pytest_wrapped__.obj()
    try:
        check(os.path.join(folder, "nowhere"))
        expect(False, "the fixture passes")
    except Failed as why:
        expect("nothing is known" in str(why) and "nowhere" in str(why), f"the fixture: {why}")
    model = torch.nn.Linear(2, 1)
    try:
        check(model, torch.zeros(1, 2), None, lambda out, _: (out - out).norm())
        expect(False, "the fixture passes a norm of zeros")
    except Failed as why:
        expect("a norm that is 0" in str(why) and "Touched kinks" not in str(why), f"the fixture, of a norm of zeros: {why}")


def main():
    rounds = int(sys.argv[sys.argv.index("--rounds") + 1]) if "--rounds" in sys.argv else 1
    with tempfile.TemporaryDirectory() as folder:
        writers(folder, rounds)
        for ask in (declared, beside, lock, killed, full, anew, told):
            ask(folder)
    finish()


if __name__ == "__main__":
    main()
