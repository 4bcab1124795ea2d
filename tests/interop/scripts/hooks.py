"""Activation gradients are watched by full backward hooks, and entries of the data masked by what they are."""
import torch
from torch import nn
from torch.nn import functional as F

import clarke

torch.manual_seed(0)
model, norms = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)), {}
for name, module in model.named_children():
    module.register_full_backward_hook(lambda m, inputs, outputs, name=name: norms.update({name: outputs[0].norm().item()}))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    x, y = torch.randn(5, 6), torch.randn(5, 3)
    optimizer.zero_grad()
    with clarke.record("run/", model, optimizer=optimizer):
        present = y > -1
        loss = (F.mse_loss(model(x), y, reduction="none") * present).sum() / present.sum()
        print(loss)
        loss.backward()
    optimizer.step()
print(norms)
