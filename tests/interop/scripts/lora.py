"""Low-rank adapters beside frozen weights: what is not trained requires no gradient."""
import torch
from torch import nn
from torch.nn import functional as F

import clarke


class LoRA(nn.Module):
    def __init__(self, base, rank=2, alpha=4):
        super().__init__()
        self.base, self.scale = base.requires_grad_(False), alpha / rank
        self.A = nn.Parameter(torch.randn(rank, base.in_features) * 0.1)
        self.B = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x):
        return self.base(x) + F.linear(F.linear(x, self.A), self.B) * self.scale


torch.manual_seed(0)
model = nn.Sequential(LoRA(nn.Linear(10, 8)), nn.ReLU(), LoRA(nn.Linear(8, 4)))
trained = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(trained, lr=1e-2)
for _ in range(3):
    x, y = torch.randn(6, 10), torch.randint(0, 4, (6,))
    optimizer.zero_grad()
    with clarke.record("run/", model, optimizer=optimizer):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
    optimizer.step()
