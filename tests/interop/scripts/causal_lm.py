"""A causal language model of one block, with AdamW and clipped gradients."""
import torch
from torch import nn
from torch.nn import functional as F

import clarke


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.ln1, self.ln2 = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        b, t, w = x.shape
        q, k, v = (p.view(b, t, self.heads, w // self.heads).transpose(1, 2) for p in self.qkv(self.ln1(x)).chunk(3, -1))
        scores = q @ k.transpose(-1, -2) / (w // self.heads) ** 0.5
        scores = scores.masked_fill(torch.ones(t, t).triu(1).bool(), float("-inf"))
        x = x + self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, t, w))
        return x + self.mlp(self.ln2(x))


class Model(nn.Module):
    def __init__(self, words=12, width=8, context=6):
        super().__init__()
        self.token, self.place = nn.Embedding(words, width), nn.Embedding(context, width)
        self.block, self.norm, self.head = Block(width, 2), nn.LayerNorm(width), nn.Linear(width, words, bias=False)
        self.head.weight = self.token.weight

    def forward(self, ids):
        return self.head(self.norm(self.block(self.token(ids) + self.place(torch.arange(ids.shape[1])))))


torch.manual_seed(0)
model = Model()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
for step in range(2):
    ids = torch.randint(0, 12, (2, 7))
    optimizer.zero_grad(set_to_none=True)
    with clarke.record("run/", model, optimizer=optimizer):
        logits = model(ids[:, :-1])
        loss = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), ids[:, 1:].reshape(-1))
        loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    print("step", step, "loss", loss.item())
