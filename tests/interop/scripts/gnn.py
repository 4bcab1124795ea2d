"""A graph network that adds up messages along edges by scatter_add_, and pools graphs by index_add_."""
import torch
from torch import nn
from torch.nn import functional as F

import clarke


class Convolution(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.own, self.message = nn.Linear(i, o), nn.Linear(i, o, bias=False)

    def forward(self, x, edges):
        source, target = edges
        messages = self.message(x)[source]
        gathered = torch.zeros(x.shape[0], messages.shape[1]).scatter_add_(0, target[:, None].expand_as(messages), messages)
        degree = torch.zeros(x.shape[0]).index_add_(0, target, torch.ones(target.shape[0])).clamp(min=1)
        return self.own(x) + gathered / degree[:, None]


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.head = Convolution(3, 6), Convolution(6, 6), nn.Linear(6, 2)

    def forward(self, x, edges, graph):
        h = self.second(F.relu(self.first(x, edges)), edges).relu()
        pooled = torch.zeros(int(graph.max()) + 1, h.shape[1]).index_add_(0, graph, h)
        return self.head(pooled)


torch.manual_seed(0)
model = Network()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
edges, graph, labels = torch.randint(0, 9, (2, 16)), torch.tensor([0, 0, 0, 0, 1, 1, 1, 2, 2]), torch.tensor([0, 1, 0])
for _ in range(2):
    optimizer.zero_grad()
    with clarke.record("run/", model, optimizer=optimizer):
        loss = F.cross_entropy(model(torch.randn(9, 3), edges, graph), labels)
        loss.backward()
    optimizer.step()
