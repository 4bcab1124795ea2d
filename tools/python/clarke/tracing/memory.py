"""Which entries tensors share, and what becomes of one of which others were changed."""
import torch


def extent(t):
    """The first entry of its storage that a tensor has, and one past the last."""
    last = t.storage_offset() + sum((n - 1) * step for n, step in zip(t.shape, t.stride()))
    return t.storage_offset(), last + 1


def overlap(a, b):
    """Do two tensors of one storage and type share an entry? (Of two types: perhaps, which counts as yes.)"""
    if a.dtype != b.dtype or a.numel() == 0 or b.numel() == 0:
        return a.dtype != b.dtype
    (low, high), (first, last) = extent(a), extent(b)
    if high <= first or last <= low or (a.is_contiguous() and b.is_contiguous()):
        return low < last and first < high
    place = min(low, first)
    mask = torch.zeros(max(high, last) - place, dtype=torch.bool)
    mask.as_strided([1 if step == 0 else n for n, step in zip(a.shape, a.stride())], a.stride(), low - place).fill_(True)
    return bool(mask.as_strided(b.shape, b.stride(), first - place).any())


def places(t):
    """Where each entry lies in the storage, in their order."""
    at = torch.full([], t.storage_offset())
    for n, step in zip(t.shape, t.stride()):
        at = at.unsqueeze(-1) + torch.arange(n) * step
    return at.reshape(-1)


def is_folded(t):
    """Does an entry lie where another of the same tensor does, as where it is expanded?"""
    return not t.is_contiguous() and torch._debug_has_internal_overlap(t) != 0 and places(t).unique().numel() != t.numel()


def shared(t, changed):
    """(entries of t, entries of `changed`, numbered in their order) that lie at one place each. None: an entry of either lies where another does."""
    mine, others = places(t), places(changed)
    order = mine.argsort()
    at = mine[order]
    if bool((at[1:] == at[:-1]).any()) or others.unique().numel() != others.numel():
        return None
    found = torch.searchsorted(at, others).clamp(max=max(0, at.numel() - 1))
    same = torch.nonzero(at[found] == others).reshape(-1)
    return order[found[same]].to(t.device), same.to(t.device)


def root(t):
    """The tensor that autograd takes it for a part of."""
    return t._base if t._is_view() else t


def span(t):
    """Where its storage begins and ends."""
    memory = t.untyped_storage()
    return memory.data_ptr(), memory.data_ptr() + memory.nbytes()


def reaches(t, spans):
    """Has its storage a byte in one of these? (An array of numpy's may begin within a parameter.)"""
    first, end = span(t)
    return any(first < last and begin < end for begin, last in spans)
