"""Quantization-aware training, the straight-through estimator a torch.autograd.Function: gradients pass between the clipping bounds."""
import torch
from torch import nn
from torch.nn import functional as F

import clarke


class FakeQuantize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return torch.clamp(torch.round(x / scale), -8, 7) * scale

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        inside = (x / ctx.scale >= -8) & (x / ctx.scale <= 7)
        return grad * inside, None


class QLinear(nn.Linear):
    def forward(self, x):
        return F.linear(FakeQuantize.apply(x, 0.25), FakeQuantize.apply(self.weight, 0.05), self.bias)


torch.manual_seed(0)
model = nn.Sequential(QLinear(6, 8), nn.ReLU(), QLinear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    x, y = torch.randn(5, 6), torch.randint(0, 3, (5,))
    optimizer.zero_grad()
    with clarke.record("run/", model, optimizer=optimizer):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
    optimizer.step()
