"""A U-Net of two levels that segments pictures."""
import torch
from torch import nn
from torch.nn import functional as F

import clarke


def double(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.ReLU(inplace=True), nn.Conv2d(o, o, 3, padding=1), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.bottom, self.up, self.last = double(1, 3), double(3, 6), nn.ConvTranspose2d(6, 3, 2, stride=2), double(6, 3)
        self.head = nn.Conv2d(3, 2, 1)

    def forward(self, x):
        a = self.down(x)
        b = self.up(self.bottom(F.max_pool2d(a, 2)))
        return self.head(self.last(torch.cat([a, b], dim=1)))


torch.manual_seed(0)
model = UNet()
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
images = torch.randn(2, 1, 8, 8)
masks = (images[:, 0] > 0).long()
for _ in range(2):
    optimizer.zero_grad()
    with clarke.record("run/", model, optimizer=optimizer):
        loss = F.cross_entropy(model(images), masks)
        loss.backward()
    optimizer.step()
