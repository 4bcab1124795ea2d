"""A small training of our own: INNAprop and DINAdam beside AdamW, on scikit-learn's digits.

Usage: python tools/train/optimizers.py [SEEDS]

A network 64-32-16-10 with relu is trained for 12 epochs in batches of 64, from SEEDS (3) beginnings. Each optimizer is given the same three
step sizes, and no other setting is tuned. Of the 1,797 images the last 360 are for testing. The last step of the first beginning is recorded
and asked about (clarke step). The table goes into docs/step.md. Another processor may sum in another order, and get other digits.
"""

import statistics
import sys
import tempfile
from pathlib import Path

import torch
from sklearn.datasets import load_digits
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
import clarke  # noqa: E402

EPOCHS, BATCH, TESTED = 12, 64, 360
RATES = 1e-3, 3e-3, 1e-2
OPTIMIZERS = {
    "AdamW": lambda p, lr: torch.optim.AdamW(p, lr=lr, weight_decay=0.01, foreach=False),
    "INNAprop, alpha 0.1, beta 0.9": lambda p, lr: clarke.INNAprop(p, lr=lr, alpha=0.1, beta=0.9, weight_decay=0.01),
    "INNAprop, alpha 2, beta 2": lambda p, lr: clarke.INNAprop(p, lr=lr, alpha=2.0, beta=2.0, weight_decay=0.01),
    "INNAprop as released, alpha 0.1, beta 0.9": lambda p, lr: clarke.INNApropReleased(p, lr=lr, alpha=0.1, beta=0.9, weight_decay=0.01),
    "DINAdam, alpha 1, beta 0.1": lambda p, lr: clarke.DINAdam(p, lr=lr, alpha=1.0, beta=0.1, weight_decay=0.01),
}


def images():
    data = load_digits()
    x, y = torch.tensor(data.data / 16, dtype=torch.float32), torch.tensor(data.target)
    return (x[:-TESTED], y[:-TESTED]), (x[-TESTED:], y[-TESTED:])


def train(make, rate, seed, run):
    """Loss on the images that it was trained on, share of right answers on the others. run: where its last step goes, or None."""
    torch.manual_seed(seed)
    net = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 10))
    (x, y), (x_tested, y_tested) = images()
    optimizer = make(net.parameters(), rate)

    def step(batch):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x[batch]), y[batch]).backward()

    for _ in range(EPOCHS):
        for batch in torch.randperm(len(x)).split(BATCH):
            step(batch)
            optimizer.step()
    with torch.no_grad():
        loss = nn.functional.cross_entropy(net(x), y).item()
        right = (net(x_tested).argmax(1) == y_tested).float().mean().item()
    if run is not None:
        optimizer.zero_grad()
        with clarke.record(run, net, optimizer=optimizer, light=True, again=False):
            step(batch)
            optimizer.step()
    return loss, right


def main():
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    print("| optimizer | step size | training loss | right, of the tested | its last step |\n|---|---|---|---|---|")
    for name, make in OPTIMIZERS.items():
        for rate in RATES:
            losses, rights, said = [], [], ""
            for seed in range(seeds):
                with tempfile.TemporaryDirectory() as run:
                    loss, right = train(make, rate, seed, run if seed == 0 else None)
                    said = said or clarke.step(run)["answer"]
                losses.append(loss)
                rights.append(100 * right)
            print(f"| {name} | {rate:g} | {statistics.mean(losses):.4f} | {statistics.mean(rights):.1f}% ({min(rights):.1f} to {max(rights):.1f}) "
                  f"| {said} |", flush=True)


if __name__ == "__main__":
    main()
