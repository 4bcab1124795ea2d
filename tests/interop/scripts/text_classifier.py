"""A text classifier: padded words, an embedding with padding_idx, the mean of the words that are there."""
import torch
from torch import nn
from torch.nn import functional as F

import clarke

PAD = 0


class Classifier(nn.Module):
    def __init__(self, words=15, width=6, classes=2):
        super().__init__()
        self.embedding = nn.Embedding(words, width, padding_idx=PAD)
        self.hidden, self.head = nn.Linear(width, 8), nn.Linear(8, classes)

    def forward(self, words):
        there = (words != PAD).unsqueeze(-1)
        mean = (self.embedding(words) * there).sum(1) / there.sum(1).clamp(min=1)
        return self.head(F.relu(self.hidden(mean)))


torch.manual_seed(0)
model = Classifier()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(2):
    words = nn.utils.rnn.pad_sequence([torch.randint(1, 15, (n,)) for n in (5, 2, 3, 4)], batch_first=True, padding_value=PAD)
    labels = torch.randint(0, 2, (4,))
    optimizer.zero_grad()
    with clarke.record("run/", model, optimizer=optimizer):
        loss = F.cross_entropy(model(words), labels)
        loss.backward()
    optimizer.step()
