"""SimSiam: two drawn views of each sample, a predictor, and a target that is detached; no module is the whole model."""
import torch
from torch import nn

import clarke

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(8, 16, bias=False), nn.BatchNorm1d(16), nn.ReLU(inplace=True), nn.Linear(16, 8), nn.BatchNorm1d(8, affine=False))
predictor = nn.Sequential(nn.Linear(8, 4), nn.BatchNorm1d(4), nn.ReLU(inplace=True), nn.Linear(4, 8))
both = nn.ModuleList([encoder, predictor])
optimizer = torch.optim.SGD(both.parameters(), lr=0.05, momentum=0.9)
alike = nn.CosineSimilarity(dim=1)
for _ in range(2):
    with clarke.record("run/", both, optimizer=optimizer):
        x = torch.randn(6, 8)
        z = [encoder(x + 0.1 * torch.randn(6, 8)) for _ in range(2)]
        p = [predictor(v) for v in z]
        loss = -(alike(p[0], z[1].detach()).mean() + alike(p[1], z[0].detach()).mean()) * 0.5
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
