"""A student that is taught by a teacher's soft answers, and by labels."""
import torch
from torch import nn
from torch.nn import functional as F

import clarke

torch.manual_seed(0)
teacher = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 5)).eval()
student = nn.Sequential(nn.Linear(10, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 5))
optimizer = torch.optim.Adam(student.parameters())
x, y, warmth = torch.randn(8, 10), torch.randint(0, 5, (8,)), 4.0
for _ in range(2):
    with clarke.record("run/", student, optimizer=optimizer):
        optimizer.zero_grad()
        with torch.no_grad():
            soft = F.softmax(teacher(x) / warmth, 1)
        answer = student(x)
        loss = 0.7 * warmth**2 * F.kl_div(F.log_softmax(answer / warmth, 1), soft, reduction="batchmean")
        loss = loss + 0.3 * F.cross_entropy(answer, y, label_smoothing=0.1)
        loss.backward()
        optimizer.step()
