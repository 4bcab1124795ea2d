"""A detector: focal loss of classes, and smooth L1 of the boxes that are there."""
import torch
from torch import nn
from torch.nn import functional as F

import clarke


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3, 2, 1), nn.ReLU())
        self.classes, self.boxes = nn.Conv2d(8, 6, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1)

    def forward(self, x):
        hidden = self.body(x)
        return [head(hidden).permute(0, 2, 3, 1).reshape(len(x), -1, n) for head, n in ((self.classes, 3), (self.boxes, 4))]


def focal(logits, target, alpha=0.25, gamma=2.0):
    share = torch.sigmoid(logits)
    right = share * target + (1 - share) * (1 - target)
    each = F.binary_cross_entropy_with_logits(logits, target, reduction="none") * (1 - right) ** gamma
    return ((alpha * target + (1 - alpha) * (1 - target)) * each).sum()


torch.manual_seed(0)
model = Detector()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
x, target, boxes = torch.randn(2, 3, 16, 16), (torch.rand(2, 32, 3) > 0.9).float(), torch.randn(2, 32, 4)
there = target.sum(-1) > 0
for _ in range(2):
    with clarke.record("run/", model, optimizer=optimizer):
        classes, found = model(x)
        count = max(1, int(there.sum()))
        loss = focal(classes, target) / count + F.smooth_l1_loss(found[there], boxes[there], reduction="sum", beta=1 / 9) / count
        optimizer.zero_grad(set_to_none=False)
        loss.backward()
        optimizer.step()
