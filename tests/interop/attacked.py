"""What the scripts that attack the recorder attack it with."""
import torch
from torch import nn


class Net(nn.Module):
    """Two layers, and something between them."""

    def __init__(self, between=torch.relu):
        super().__init__()
        self.first, self.last, self.between = nn.Linear(4, 5), nn.Linear(5, 3), between

    def forward(self, x):
        return self.last(self.between(self.first(x)))


class Wrong(torch.autograd.Function):
    """Twice x, whose derivative is said to be 1."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g


class Normed(torch.autograd.Function):
    """x, whose derivative is said to be the gradient in parts of its own size."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return g / g.abs().sum()
