"""Advantage actor-critic with an entropy bonus: actions are drawn in the step, and the critic's advantage is detached."""
import torch
from torch import nn

import clarke


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.actor, self.critic = nn.Sequential(nn.Linear(4, 16), nn.Tanh()), nn.Linear(16, 3), nn.Linear(16, 1)

    def forward(self, states):
        hidden = self.body(states)
        return torch.distributions.Categorical(logits=self.actor(hidden)), self.critic(hidden).squeeze(-1)


torch.manual_seed(0)
model = ActorCritic()
optimizer = torch.optim.RMSprop(model.parameters(), lr=7e-4, alpha=0.99, eps=1e-5)
for _ in range(3):
    states, returns = torch.randn(8, 4), torch.randn(8)
    with clarke.record("run/", model, optimizer=optimizer):
        policy, values = model(states)
        actions = policy.sample()
        advantage = returns - values
        loss = -(policy.log_prob(actions) * advantage.detach()).mean() + 0.5 * advantage.pow(2).mean() - 0.01 * policy.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
