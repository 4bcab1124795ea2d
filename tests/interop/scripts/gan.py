"""A GAN's two steps; the discriminator's is recorded: the generator's pictures are detached."""
import torch
from torch import nn
from torch.nn import functional as F

import clarke

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 6), nn.Tanh())
discriminator = nn.Sequential(nn.Linear(6, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
step_g = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
step_d = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))
ones, zeros = torch.ones(4, 1), torch.zeros(4, 1)
for _ in range(2):
    real = torch.randn(4, 6)
    fake = generator(torch.randn(4, 3))
    step_d.zero_grad()
    with clarke.record("run/", discriminator, optimizer=step_d):
        loss_d = F.binary_cross_entropy_with_logits(discriminator(real), ones) \
            + F.binary_cross_entropy_with_logits(discriminator(fake.detach()), zeros)
        loss_d.backward()
    step_d.step()
    step_g.zero_grad()
    F.binary_cross_entropy_with_logits(discriminator(fake), ones).backward()
    step_g.step()
