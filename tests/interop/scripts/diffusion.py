"""A diffusion model's step, with noise of a drawn time, and an average of its weights."""
import copy
import math

import torch
from torch import nn
from torch.nn import functional as F

import clarke


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(8, 16), nn.SiLU(), nn.Linear(16, 8))
        self.first, self.norm, self.last = nn.Conv2d(1, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.Conv2d(8, 1, 3, padding=1)

    def forward(self, x, t):
        angle = t[:, None].float() * torch.exp(-math.log(10000) * torch.arange(4) / 4)
        hidden = self.first(x) + self.time(torch.cat([angle.sin(), angle.cos()], -1))[:, :, None, None]
        return self.last(F.silu(self.norm(hidden)))


torch.manual_seed(0)
model = Denoiser()
average = copy.deepcopy(model)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
kept = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 50), 0)
for _ in range(2):
    x, t = torch.randn(4, 1, 8, 8), torch.randint(0, 50, (4,))
    with clarke.record("run/", model, optimizer=optimizer):
        noise, share = torch.randn_like(x), kept[t].view(-1, 1, 1, 1)
        loss = F.mse_loss(model(share.sqrt() * x + (1 - share).sqrt() * noise, t), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(average.parameters(), model.parameters()):
            slow.lerp_(fast, 0.01)
