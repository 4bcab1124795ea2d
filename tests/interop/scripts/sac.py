"""The actor's step of soft actor-critic: its loss goes through two critics, which other optimizers train."""
import torch
from torch import nn

import clarke


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.mean, self.log_std = nn.Sequential(nn.Linear(3, 16), nn.ReLU()), nn.Linear(16, 2), nn.Linear(16, 2)

    def forward(self, states):
        hidden = self.body(states)
        normal = torch.distributions.Normal(self.mean(hidden), self.log_std(hidden).clamp(-5, 2).exp())
        before = normal.rsample()
        action = torch.tanh(before)
        return action, (normal.log_prob(before) - torch.log(1 - action.pow(2) + 1e-6)).sum(1, keepdim=True)


torch.manual_seed(0)
actor, critics = Actor(), [nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 1)) for _ in range(2)]
optimizer = torch.optim.Adam(actor.parameters(), lr=3e-4)
for _ in range(3):
    states = torch.randn(6, 3)
    with clarke.record("run/", actor, optimizer=optimizer):
        action, log_prob = actor(states)
        least = torch.min(*(critic(torch.cat([states, action], 1)) for critic in critics))
        loss = (0.2 * log_prob - least).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
