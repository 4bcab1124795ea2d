"""The clipped objective of PPO: inside the clip range both of its sides are equal, at every step."""
import torch
from torch import nn
from torch.nn import functional as F

import clarke


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.actor, self.critic = nn.Sequential(nn.Linear(4, 8), nn.Tanh()), nn.Linear(8, 2), nn.Linear(8, 1)

    def forward(self, x):
        h = self.body(x)
        return self.actor(h), self.critic(h).squeeze(-1)


torch.manual_seed(0)
model = ActorCritic()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
states, returns = torch.randn(6, 4), torch.randn(6)
with torch.no_grad():  # the rollout
    logits, values = model(states)
    actions = torch.distributions.Categorical(logits=logits).sample()
    old = F.log_softmax(logits, -1).gather(1, actions[:, None]).squeeze(1)
    advantages = returns - values
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
for epoch in range(2):
    optimizer.zero_grad()
    with clarke.record("run/", model, optimizer=optimizer):
        logits, values = model(states)
        log_probs = F.log_softmax(logits, -1)
        new = log_probs.gather(1, actions[:, None]).squeeze(1)
        ratio = (new - old).exp()
        clipped = torch.clamp(ratio, 0.8, 1.2)
        policy_loss = -torch.min(ratio * advantages, clipped * advantages).mean()
        value_loss = F.mse_loss(values, returns)
        entropy = -(log_probs.exp() * log_probs).sum(-1).mean()
        loss = policy_loss + 0.5 * value_loss - 0.01 * entropy
        loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()
