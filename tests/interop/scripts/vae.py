"""A variational autoencoder; both parts of its loss are logged before the backward pass."""
import torch
from torch import nn
from torch.nn import functional as F

import clarke


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode, self.mu, self.logvar = nn.Linear(36, 12), nn.Linear(12, 3), nn.Linear(12, 3)
        self.decode = nn.Sequential(nn.Linear(3, 12), nn.ReLU(), nn.Linear(12, 36), nn.Sigmoid())

    def forward(self, x):
        h = torch.relu(self.encode(x))
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        return self.decode(z), mu, logvar


torch.manual_seed(0)
model, logged = VAE(), []
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(2):
    x = torch.rand(6, 36)
    optimizer.zero_grad()
    with clarke.record("run/", model, optimizer=optimizer):
        reconstruction, mu, logvar = model(x)
        bce = F.binary_cross_entropy(reconstruction, x, reduction="sum")
        kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
        loss = bce + kld
        logged.append({"bce": bce.item(), "kld": kld.item(), "loss": loss.item()})
        loss.backward()
    optimizer.step()
print(logged[-1])
