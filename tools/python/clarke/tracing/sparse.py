"""Sparse gradients, as of Embedding(sparse=True), as dense tensors: what rows they have, and how often."""
import torch


def dense(t):
    """Its numbers. What a sparse one has several times is added up, as optimizers do."""
    return t.coalesce().to_dense() if t.layout == torch.sparse_coo else t


def summed(t, values):
    return torch.sparse_coo_tensor(t._indices(), values, t.shape, dtype=values.dtype, device=t.device, check_invariants=False).coalesce().to_dense()


def times(t):
    """How often the sparse tensor has each entry."""
    return summed(t, torch.ones_like(t._values(), dtype=torch.int64))


def sizes(t):
    """The sums of absolute values, where entries are sums of values."""
    return summed(t, t._values().double().abs())
