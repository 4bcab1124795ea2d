"""A perceptron on pictures, with dropout and SGD; the loss is printed as it goes."""
import torch
from torch import nn
from torch.nn import functional as F

import clarke

torch.manual_seed(0)
pictures, labels = torch.rand(24, 1, 8, 8), torch.randint(0, 10, (24,))
model = nn.Sequential(nn.Flatten(), nn.Linear(64, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for i in range(0, 24, 8):
    optimizer.zero_grad()
    with clarke.record("run/", model, optimizer=optimizer):
        loss = F.cross_entropy(model(pictures[i:i + 8]), labels[i:i + 8])
        print(f"{i}: {loss.item():.4f}")
        loss.backward()
    optimizer.step()
