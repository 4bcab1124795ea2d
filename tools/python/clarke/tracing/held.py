"""What modules and functions hold in Python, and in what surroundings they are called: to be put back, and set again."""
import contextlib
import functools
import random
import types
from collections import OrderedDict, defaultdict, deque

import numpy as np
import torch

# Their contents are kept. What else an object holds is its own: it may belong to other threads.
CONTAINERS = {dict, OrderedDict, defaultdict, list, set, deque}
PLAIN = {int, float, bool, str, bytes, type(None), torch.Tensor, torch.nn.Parameter, torch.dtype, torch.device, torch.Size}  # hold nothing
MOST, LONGEST = 20000, 4096  # containers, and entries of one: a list of a whole data set is not the model's
NOTHING, NO_CONTENT = deque(), object()  # what an empty container has (most of a module's are); and what is neither it nor a state
STATES = {torch.Generator: (torch.Generator.get_state, torch.Generator.set_state),
          np.random.Generator: (lambda g: g.bit_generator.state, lambda g, state: setattr(g.bit_generator, "state", state)),
          np.random.RandomState: (np.random.RandomState.get_state, np.random.RandomState.set_state),
          random.Random: (random.Random.getstate, random.Random.setstate),
          np.ndarray: (np.ndarray.copy, lambda a, numbers: np.copyto(a, numbers)),
          types.CellType: (lambda cell: cell.cell_contents, lambda cell, held: setattr(cell, "cell_contents", held))}


def behind(item):
    """What an item that is no container leads to."""
    if isinstance(item, torch.nn.Module):
        return [vars(item)]
    if isinstance(item, tuple):
        return item
    if isinstance(item, types.FunctionType):
        return [*(item.__closure__ or ()), *(item.__defaults__ or ())]
    if isinstance(item, types.MethodType):
        return [item.__self__, item.__func__]
    if isinstance(item, functools.partial):
        return [item.func, *item.args, *item.keywords.values()]
    return ()


def same(a, b):
    """Is a container's every item the very same; are a state's numbers equal?"""
    if a is NOTHING or b is NOTHING:
        return not a and not b
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(a[key] is b[key] for key in a)
    if isinstance(a, (list, deque)):
        return len(a) == len(b) and all(x is y for x, y in zip(a, b))
    if isinstance(a, (torch.Tensor, np.ndarray)):
        return False  # to put it back takes no longer than to look
    return a is b or (isinstance(a, set) and a == b)


def content_of(item):
    """What a container has, or the numbers of a state, as they are now."""
    kind = type(item)
    if kind in CONTAINERS:
        return NO_CONTENT if len(item) > LONGEST else item.copy() if item else NOTHING
    return STATES[kind][0](item) if kind in STATES and not (kind is types.CellType and empty(item)) else NO_CONTENT


def put(item, content):
    if type(item) in STATES:
        STATES[type(item)][1](item, content)
    else:
        item.clear()
        (item.extend if isinstance(item, (list, deque)) else item.update)(content)


class Held:
    """The contents of all containers that are reached from the roots; of the objects among `given` also what they hold."""

    def __init__(self, roots, given=()):
        self.contents, rest = {}, [(item, False) for item in roots] + [(item, True) for item in given]
        contents = self.contents
        while rest and len(contents) < MOST:
            item, whole = rest.pop()
            if id(item) in contents:
                continue
            if type(item) in CONTAINERS and not item:  # most of a module's are empty
                contents[id(item)] = item, NOTHING
            else:
                rest += [(found, whole) for found in self.enter(item, whole) if type(found) not in PLAIN]

    def enter(self, item, whole):
        content = content_of(item)
        if content is NO_CONTENT:
            more = behind(item) or ([vars(item)] if whole and hasattr(item, "__dict__") and not isinstance(item, (type, torch.Tensor)) else ())
            return more if more else ()
        self.contents[id(item)] = item, content
        if type(item) is types.CellType:
            return [content]
        return () if type(item) in STATES else content.values() if isinstance(content, dict) else content

    def now(self):
        """What the same containers have now, by their identities."""
        return {key: content for key, (item, _) in self.contents.items()
                if (content := NOTHING if type(item) in CONTAINERS and not item else content_of(item)) is not NO_CONTENT}

    def tensors(self):
        for item, content in self.contents.values():
            if content is NOTHING:
                continue
            parts = content.values() if isinstance(content, dict) else [content] if type(item) in STATES else content
            yield from (t for t in parts if isinstance(t, torch.Tensor))

    def put_back(self, since=None):
        """Those contents that were changed; since: only what became another after that (now())."""
        for key, (item, content) in self.contents.items():
            if content is NOTHING and not item:
                continue
            if since is not None and key in since and same(since[key], content):
                continue
            if type(item) in STATES or not same(item, content):
                put(item, content)


def empty(cell):
    try:
        return cell.cell_contents is cell
    except ValueError:
        return True


SWITCHES = [(getattr(torch._C, f"_get_{get}"), getattr(torch._C, f"_set_{put}")) for get, put in (
    ("mkldnn_enabled", "mkldnn_enabled"), ("nnpack_enabled", "nnpack_enabled"), ("cudnn_enabled", "cudnn_enabled"),
    ("flash_sdp_enabled", "sdp_use_flash"), ("math_sdp_enabled", "sdp_use_math"), ("mem_efficient_sdp_enabled", "sdp_use_mem_efficient"),
    ("cudnn_sdp_enabled", "sdp_use_cudnn"))]


def generators():
    """The states of what draws: of torch, numpy and Python."""
    cards = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None
    return torch.get_rng_state(), cards, np.random.get_state(), random.getstate()


def set_generators(states):
    own, cards, of_numpy, of_python = states
    torch.set_rng_state(own)
    if cards is not None:
        torch.cuda.set_rng_state_all(cards)
    np.random.set_state(of_numpy)
    random.setstate(of_python)


@contextlib.contextmanager
def without_autocast():
    with contextlib.ExitStack() as stack:
        for device in DEVICES:
            if torch.is_autocast_enabled(device):
                stack.enter_context(torch.autocast(device, enabled=False))
        yield


DEVICES = "cpu", "cuda"


class Surroundings:
    """As they are now."""

    def __init__(self):
        self.generators, self.grad, self.kind = generators(), torch.is_grad_enabled(), torch.get_default_dtype()
        self.switches = [get() for get, _ in SWITCHES]
        self.autocast = [(d, torch.get_autocast_dtype(d), torch.is_autocast_enabled(d)) for d in DEVICES]
        self.cached = torch.is_autocast_cache_enabled()

    def set(self):
        set_generators(self.generators)
        torch.set_default_dtype(self.kind)
        for (get, put_in), was in zip(SWITCHES, self.switches):
            if get() != was:
                put_in(was)

    @contextlib.contextmanager
    def entered(self):
        """Weights that autocast has cast are cast anew."""
        torch.clear_autocast_cache()
        with contextlib.ExitStack() as stack:
            for device, kind, enabled in self.autocast:
                if enabled or torch.is_autocast_enabled(device):
                    stack.enter_context(torch.autocast(device, dtype=kind, enabled=enabled, cache_enabled=self.cached))
            stack.enter_context(torch.set_grad_enabled(self.grad))
            self.set()
            yield
        torch.clear_autocast_cache()
