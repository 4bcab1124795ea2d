"""A network whose smallest weights are masked (torch.nn.utils.prune), trained on."""
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import prune

import clarke

torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 10))
for module in (model[0], model[4]):
    prune.l1_unstructured(module, "weight", amount=0.5)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(2):
    x, y = torch.randn(6, 1, 8, 8), torch.randint(0, 10, (6,))
    optimizer.zero_grad()
    with clarke.record("run/", model, optimizer=optimizer):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
    optimizer.step()
