"""SimCLR's loss: every other picture of the batch is a negative, oneself is left out by minus infinity on the diagonal."""
import torch
from torch import nn
from torch.nn import functional as F

import clarke


def info_nce(z, temperature=0.5):
    z = F.normalize(z, dim=1)
    similarity = z @ z.t() / temperature
    similarity.fill_diagonal_(float("-inf"))
    n = z.shape[0] // 2
    return F.cross_entropy(similarity, torch.cat([torch.arange(n) + n, torch.arange(n)]))


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 10), nn.ReLU(), nn.Linear(10, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(2):
    x = torch.randn(4, 8)
    views = torch.cat([x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x)])
    optimizer.zero_grad()
    with clarke.record("run/", model, optimizer=optimizer):
        loss = info_nce(model(views))
        loss.backward()
    optimizer.step()
