"""Quantization-aware training, the straight-through estimator written as x + (q(x) - x).detach()."""
import torch
from torch import nn
from torch.nn import functional as F

import clarke


def quantized(x, bits=4):
    scale = x.detach().abs().max() / (2 ** (bits - 1) - 1)
    q = torch.clamp(torch.round(x / scale), -2 ** (bits - 1), 2 ** (bits - 1) - 1) * scale
    return x + (q - x).detach()


class QLinear(nn.Linear):
    def forward(self, x):
        return F.linear(quantized(x), quantized(self.weight), self.bias)


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
