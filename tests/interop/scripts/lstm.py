"""An LSTM that predicts the next number of a series."""
import torch
from torch import nn

import clarke


class Forecast(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(1, 6, batch_first=True), nn.Linear(6, 1)

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1])


torch.manual_seed(0)
model, loss_fn = Forecast(), nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
series = torch.linspace(0, 9, 24).sin()
x = torch.stack([series[i:i + 6] for i in range(4)]).unsqueeze(-1)
y = torch.stack([series[i + 6:i + 7] for i in range(4)])
for _ in range(2):
    optimizer.zero_grad()
    with clarke.record("run/", model, optimizer=optimizer):
        loss = loss_fn(model(x), y)
        loss.backward()
    optimizer.step()
