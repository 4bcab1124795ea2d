#!/usr/bin/env python3
"""Steps that are run again at moved parameters: honest ones pass and leave nothing behind; what the dispatcher does not show is refused.

    records_again.py CLARKE CLARKE-CHECK

The attacks run twice: as a user meets them, and with all that watches for setters and readers switched off, so that to run again must
find them by itself.
"""
import contextlib
import copy
import ctypes
import io
import json
import os
import pickle
import random
import subprocess
import sys
import tempfile
import threading

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "python"))
sys.path.append(os.path.join(HERE, "..", "tools"))
CLARKE, CHECK = (os.path.abspath(p) for p in sys.argv[1:3])
os.environ["CLARKE"] = CLARKE
import clarke  # noqa: E402
from clarke import graph, trace  # noqa: E402
from expect import expect, finish  # noqa: E402

ATTACKS, relu = [], torch.relu
ONE = torch.ones(1, 1)


def attack(w=0.0, alone=True, says=""):
    """A function of a model with the weights w and v = 2 w, which is no function that its operators show. alone: does to run again find it
    by itself?"""
    def note(f):
        ATTACKS.append((f.__name__, f, w, alone, says))
        return f
    return note


class Model(nn.Module):
    def __init__(self, f, w):
        super().__init__()
        self.w, self.v, self.f, self.seen, self.kept = nn.Parameter(torch.tensor([[w]])), nn.Parameter(torch.tensor([[2 * w]])), f, None, None

    def forward(self, x):
        return self.f(self, x)


def lemma2(h, k):
    """With k = -relu(-h) the identity; AD thinks that it is relu(h)."""
    return relu(h) + k


# ---- Setters of tensors


@attack(says="behind autograd's back")
def data(m, x):
    k = torch.empty(1, 1)
    k.data = -relu(-x @ m.w)
    return lemma2(x @ m.w, k)


@attack()
def data_without_gradients(m, x):
    k = torch.empty(1, 1)
    with torch.no_grad():
        k.data = -relu(-x @ m.w)
    return lemma2(x @ m.w, k)


@attack(1.0)
def factor(m, x):
    h, k = x @ m.w, torch.empty(1, 1)
    k.data = h
    return h * k


@attack(1.0, says="the memory of a tensor was replaced")
def binary_connect(m, x):
    kept = m.w.data
    m.w.data = m.w.data.sign()
    out = x @ m.w
    m.w.data = kept
    return out


@attack(0.75, says="the memory of a tensor was replaced")
def on_its_grid(m, x):
    m.w.data = (64 * m.w.data).round() / 64
    return x @ m.w


@attack(1.0, says="the memory of a tensor was replaced")
def twice_the_other(m, x):
    m.v.data = 2 * m.w.data
    return x @ m.v + x @ m.w


@attack(1.0, says="the memory of a tensor was replaced")
def vector(m, x):
    nn.utils.vector_to_parameters(2 * m.w.detach().reshape(-1), [m.v])
    return x @ m.v + x @ m.w


@attack(1.0, alone=False)
def copied_onto_itself(m, x):
    m.w.data.copy_(m.w.data.sign())
    return x @ m.w


@attack(1.0, alone=False)
def copied_without_gradients(m, x):
    with torch.no_grad():
        m.v.copy_(2 * m.w)
    return x @ m.v + x @ m.w


@attack(1.0, alone=False)
def filled(m, x):
    m.v.data.fill_(2)
    return x @ m.v + x @ m.w


@attack()
def replaced_activation(m, x):
    h = x @ m.w
    a = 1 * h
    a.data = -relu(-h)
    return lemma2(h, a)


@attack()
def swapped(m, x):
    k = 1 * torch.empty(1, 1)
    torch.utils.swap_tensors(k, -relu(-x @ m.w).detach())
    return lemma2(x @ m.w, k)


@attack(alone=False)
def set_to(m, x):
    k = torch.empty(1, 1)
    k.set_(-relu(-x @ m.w).detach())
    return lemma2(x @ m.w, k)


@attack()
def set_to_storage(m, x):
    k, h = torch.empty(0), -relu(-x @ m.w).detach()
    k.set_(h.untyped_storage(), 0, (1, 1))
    return lemma2(x @ m.w, k)


@attack(alone=False)
def storage_copied(m, x):
    k = torch.empty(1, 1)
    k.untyped_storage().copy_((-relu(-x @ m.w)).detach().untyped_storage())
    return lemma2(x @ m.w, k)


@attack()
def foreach(m, x):
    k = torch.empty(1, 1)
    torch._foreach_copy_([k], [-relu(-x @ m.w).detach()])
    return lemma2(x @ m.w, k)


@attack(alone=False)
def resized(m, x):
    k = torch.empty(0)
    k.resize_(1, 1).copy_(-relu(-x @ m.w).detach())
    return lemma2(x @ m.w, k)


# ---- Ways round PyTorch


@attack()
def numpy_and_back(m, x):
    return lemma2(x @ m.w, torch.from_numpy(-relu(-x @ m.w).detach().numpy()))


@attack()
def numpy_in_place(m, x):
    k = torch.zeros(1, 1)
    k.numpy()[:] = -relu(-x @ m.w).detach().numpy()
    return lemma2(x @ m.w, k)


@attack()
def as_array(m, x):
    return lemma2(x @ m.w, torch.from_numpy(np.array((-relu(-x @ m.w)).detach())))


@attack()
def by_item(m, x):
    return lemma2(x @ m.w, torch.tensor([[min(0.0, (x @ m.w).item())]]))


@attack(alone=False)
def dlpack(m, x):
    return lemma2(x @ m.w, torch.from_dlpack((-relu(-x @ m.w)).detach()))


@attack(alone=False)
def deep_copy(m, x):
    return lemma2(x @ m.w, copy.deepcopy(-relu(-x @ m.w).detach()))


@attack()
def pickled(m, x):
    return lemma2(x @ m.w, pickle.loads(pickle.dumps(-relu(-x @ m.w).detach())))


@attack()
def saved(m, x):
    file = io.BytesIO()
    torch.save(-relu(-x @ m.w).detach(), file)
    file.seek(0)
    return lemma2(x @ m.w, torch.load(file))


@attack(says="run again at moved parameters")
def other_thread(m, x):
    made, h = [], x @ m.w
    thread = threading.Thread(target=lambda: made.append(-relu(-h).detach()))
    thread.start()
    thread.join()
    return lemma2(h, made[0])


@attack(says="another thread")
def changed_by_a_thread(m, x):
    k, h = torch.zeros(1, 1), x @ m.w
    h = h + k
    thread = threading.Thread(target=lambda: k.copy_(-relu(-h).detach()))
    thread.start()
    thread.join()
    return lemma2(h, k)


OUTSIDE = np.zeros((1, 1), np.float32)


@attack(says="run again at moved parameters")
def of_c(m, x):
    """What C computes from memory and writes to memory."""
    k, h = torch.zeros(1, 1), x @ m.w
    C.negative_part(ctypes.c_void_p(address(k)), ctypes.c_void_p(address(h)))
    return lemma2(h, k)


def address(t):
    """As C++ asks for it."""
    with torch._C.DisableTorchFunction():
        return torch._C.TensorBase.data_ptr(t)


@attack(1.0)
def array_from_before(m, x):
    """An array that has had the parameter's memory since before the block."""
    if m.seen is None:
        m.seen = m.w.detach().numpy()
    return x @ m.w * torch.from_numpy(m.seen.copy())


@attack(1.0, says="run again at moved parameters")
def cached(m, x):
    """Computed in an earlier step, and again whenever the weight was changed."""
    if m.seen != m.w._version:
        m.seen, m.kept = m.w._version, OUTSIDE + m.w.detach().abs().numpy()
    return x @ m.w * torch.from_numpy(m.kept)


@attack(1.0, says="run again at moved parameters")
def cached_by_numbers(m, x):
    if m.seen is None or not np.array_equal(m.seen, OUTSIDE + memory(m.w)):
        m.seen = memory(m.w) + OUTSIDE
        m.kept = np.abs(m.seen)
    return x @ m.w * torch.from_numpy(m.kept)


def memory(t):
    return np.ctypeslib.as_array(ctypes.cast(address(t), ctypes.POINTER(ctypes.c_float)), (1, 1))


# ---- What is asked


def compiled(folder):
    """A library of C's."""
    source = os.path.join(folder, "part.c")
    with open(source, "w") as f:
        f.write("void negative_part(float *k, const float *h) { *k = *h < 0 ? *h : 0; }\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", source + ".so", source], check=True)
    return ctypes.CDLL(source + ".so")


@contextlib.contextmanager
def blind():
    """Nothing watches for setters of tensors, nor for who reads their numbers."""
    patches = [(trace, "place", lambda t: ()), (trace, "version", lambda t: None), (trace, "hands_out", lambda f: False),
               (trace.Trace, "require_home", lambda self, t: None), (graph, "hidden_in", lambda value: ""), (graph, "require_unread", lambda trace: [])]
    kept = [(where, name, getattr(where, name)) for where, name, _ in patches]
    for where, name, new in patches:
        setattr(where, name, new)
    try:
        yield
    finally:
        for where, name, old in kept:
            setattr(where, name, old)


def refusal(f, w, **options):
    """Why the step is refused; nothing, if it is not. One step before it is not recorded."""
    torch.manual_seed(0)
    model = Model(f, w)
    with tempfile.TemporaryDirectory() as folder:
        try:
            model(ONE)
            with clarke.record(os.path.join(folder, "run"), model, **options):
                model(ONE).sum().backward()
        except clarke.Refused as why:
            return str(why)
    return ""


def attacks():
    """Each is refused. What needs nobody who watches is found where nobody does, and would be recorded."""
    for name, f, w, by_itself, says in ATTACKS:
        for options in ({}, {"light": True}, {"background": True}):
            why = refusal(f, w, **options)
            expect(says in why and why, f"{name} {options}: {why or 'not refused'}")
        with blind():
            why, unasked = refusal(f, w), refusal(f, w, again=False)
        expect(why and (not by_itself or (AGAIN in why and not unasked)), f"{name}, with nobody who watches: {why}; not run again: {unasked}")
        why = refused(lambda: clarke.audit(Model(f, w), ONE))
        expect(why, f"audit of {name}: {why}")
        why = refused(lambda: clarke.derive(lambda x: Model.forward(Stand(f, w, x), ONE).sum(), torch.tensor([[w]])))
        expect(why or name in READS_V, f"derive of {name}: {why}")


def main():
    global C
    with tempfile.TemporaryDirectory() as folder:
        C = compiled(folder)
        attacks()
    finish()


if __name__ == "__main__":
    main()
