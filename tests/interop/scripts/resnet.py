"""A residual network of two blocks with BatchNorm, on pictures."""
import torch
from torch import nn

import clarke


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width)

    def forward(self, x):
        return torch.relu(x + self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x))))))


torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), Block(4), nn.MaxPool2d(2), Block(4), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 10))
criterion, optimizer = nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=5e-4)
running = 0.0
for _ in range(2):
    inputs, targets = torch.randn(4, 3, 8, 8), torch.randint(0, 10, (4,))
    optimizer.zero_grad()
    with clarke.record("run/", model, optimizer=optimizer):
        loss = criterion(model(inputs), targets)
        running += loss.item()
        loss.backward()
    optimizer.step()
print("mean loss", running / 2)
