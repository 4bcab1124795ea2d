"""Quantization-aware training by PyTorch's own observers and fake quantization (torch.ao), of a network whose ReLU is fused."""
import warnings

import torch
from torch import nn
from torch.ao import quantization
from torch.nn import functional as F

import clarke

warnings.filterwarnings("ignore", category=DeprecationWarning)
torch.manual_seed(0)
observer = quantization.FakeQuantize.with_args(observer=quantization.MinMaxObserver, quant_min=-8, quant_max=7, dtype=torch.qint8, reduce_range=False)
model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
model.train().qconfig = quantization.QConfig(activation=observer, weight=observer)
model = quantization.prepare_qat(quantization.fuse_modules_qat(model, [["0", "1"]]))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    x, y = torch.randn(5, 6), torch.randint(0, 3, (5,))
    optimizer.zero_grad()
    if step == 1:  # the ranges are known
        model.apply(quantization.disable_observer)
    with clarke.record("run/", model, optimizer=optimizer):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
    optimizer.step()
