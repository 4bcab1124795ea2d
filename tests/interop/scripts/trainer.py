"""A trainer's loop: training_step, log of the loss's number, callbacks, an accumulated mean."""
import torch
from torch import nn
from torch.nn import functional as F

import clarke


class Trainer:
    def __init__(self, model, accumulate=2):
        self.model, self.accumulate, self.history, self.best = model, accumulate, [], float("inf")
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        self.schedule = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda step: min(1, (step + 1) / 4))

    def compute_loss(self, inputs):
        return F.cross_entropy(self.model(inputs["x"]), inputs["labels"], label_smoothing=0.1)

    def log(self, **numbers):
        self.history.append({"step": len(self.history), **numbers})

    def training_step(self, inputs):
        self.model.train()
        with clarke.record("run/", self.model, optimizer=self.optimizer):
            loss = self.compute_loss(inputs) / self.accumulate
            self.log(loss=round(loss.item(), 4), lr=self.schedule.get_last_lr()[0])
            loss.backward()
        return loss.detach()

    def train(self, batches):
        for inputs in batches:
            self.training_step(inputs)
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            self.schedule.step()
            self.model.zero_grad()
        print(self.history)


torch.manual_seed(0)
Trainer(nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8), nn.GELU(), nn.Dropout(0.1), nn.Linear(8, 3))).train(
    [{"x": torch.randn(5, 6), "labels": torch.randint(0, 3, (5,))} for _ in range(2)])
