"""Trains the small networks of cases/audit on scikit-learn's digits and exports them to ONNX.

Usage: python tools/train/digits.py [FOLDER]

Every network is fully connected, 64-32-16-10. Inputs are dyadic: grey, pixel/16; centred,
pixel/8 - 1; or binary, 1 where pixel >= 8.
Quantised networks are trained with their parameters rounded to a grid in the forward pass (the
gradient passes straight through) and saved rounded. Pruned neurons have all their incoming
parameters set to zero after training.

Seeds are fixed and one thread is used, so a run repeats byte for byte on one machine; another
processor may sum in another order, which is why the files are kept in the repository.
"""

import sys
import warnings
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.utils import parametrize

from batches import write_batch

DEFAULT_FOLDER = Path(__file__).resolve().parents[2] / "cases" / "audit"
EPOCHS, BATCH, RATE = 25, 64, 0.01
LATER_STEPS = 5


class Abs(nn.Module):
    """|x|, as a module."""

    def forward(self, x):
        return x.abs()


@dataclass
class Recipe:
    """How one network is made, and what it is for."""
    name: str
    activations: tuple
    about: str
    batch: str = "digits"
    loss: str = "ce"
    verdict: str = "in-bouligand"
    bias: bool = True
    inputs: str = "grey"
    trained: bool = True
    step: float = 0.0   # parameters are multiples of step; 0: they are not rounded
    levels: int = 0     # ... and weights at most this many steps
    pruned: tuple = ()  # (layer, neuron): incoming parameters set to zero


def twice(activation):
    return (activation, activation)


FLOAT = "trained, float32 weights: no kink is met"
BLANK = "two blank images put every neuron on its kink"

RECIPES = [
    Recipe("digits-relu", twice(nn.ReLU), FLOAT),
    Recipe("digits-relu6", twice(nn.ReLU6), FLOAT),
    Recipe("digits-hardtanh", twice(nn.Hardtanh), FLOAT),
    Recipe("digits-hardsigmoid", twice(nn.Hardsigmoid), FLOAT),
    Recipe("digits-relu-init", twice(nn.ReLU), batch="digits-blank", trained=False,
           about=f"untrained, Kaiming weights, zero biases; {BLANK}"),
    Recipe("digits-relu-init-nobias", twice(nn.ReLU), batch="digits-blank", trained=False,
           bias=False, about="untrained, Kaiming weights, no biases; at the two blank images every "
           "argument is 0 whatever the weights"),
    Recipe("digits-relu-nobias", twice(nn.ReLU), batch="digits-blank", bias=False,
           about="trained without biases; at the two blank images every argument is 0 whatever "
           "the weights"),
    Recipe("digits-leaky-nobias", twice(nn.LeakyReLU), batch="digits-blank", bias=False,
           about="trained without biases, left slope 0.01; two blank images as above"),
    Recipe("digits-relu-nobias-ternary", twice(nn.ReLU), batch="digits-binary", bias=False,
           inputs="binary", step=0.25, levels=1,
           about="weights -1/4, 0, 1/4, no biases, binary images: on many kinks"),
    Recipe("digits-hardtanh-nobias", twice(nn.Hardtanh), batch="digits-binary", bias=False,
           inputs="binary", step=0.25, levels=3,
           about="3-bit weights, no biases, binary images: both kinks touched, proxies opposite"),
    Recipe("digits-relu-q", twice(nn.ReLU), step=0.25, levels=3,
           about="3-bit weights (multiples of 1/4), with biases"),
    Recipe("digits-relu-ternary", twice(nn.ReLU), batch="digits-binary", inputs="binary",
           step=0.25, levels=1, about="weights -1/4, 0, 1/4, with biases, binary images: on many "
           "kinks in both layers"),
    Recipe("digits-relu6-q", twice(nn.ReLU6), step=0.5, levels=3,
           about="3-bit weights (multiples of 1/2), with biases; kinks at 0 and 6"),
    Recipe("digits-hardtanh-q", twice(nn.Hardtanh), step=0.25, levels=3,
           about="3-bit weights (multiples of 1/4), with biases; kinks at -1 and 1"),
    Recipe("digits-hardsigmoid-q", twice(nn.Hardsigmoid), step=0.5, levels=3,
           about="3-bit weights (multiples of 1/2), with biases; kinks at exactly -3 and 3"),
    Recipe("digits-hardswish-q", twice(nn.Hardswish), step=0.5, levels=3,
           about="3-bit weights (multiples of 1/2), with biases; kinks at -3 and 3"),
    Recipe("digits-prelu-q", twice(nn.PReLU), step=0.25, levels=3, batch="digits-mse", loss="mse",
           about="3-bit weights, slopes that are parameters too; mean squared error"),
    Recipe("digits-abs-centred", twice(Abs), batch="digits-centred", verdict="in-clarke",
           bias=False, inputs="centred", step=0.25, levels=3,
           about="absolute values, 3-bit weights, no biases, inputs of both signs: the proxy 0 is "
           "the middle of the slopes"),
    Recipe("digits-sigmoid-relu", (nn.Sigmoid, nn.ReLU), pruned=((1, 0), (1, 5)),
           about="a sigmoid before the ReLUs, of which two are pruned: zero weights and bias"),
    Recipe("digits-pruned", twice(nn.ReLU), batch="digits-inverted", verdict="not-in-clarke",
           bias=False, inputs="centred", pruned=((0, 0),),
           about="no biases, one pruned neuron, two images and their negatives: no direction "
           "lowers the neuron at an image and at its negative"),
]


def images(inputs="grey"):
    """All images (n, 64) as exact float32 values, and their labels."""
    pixels, labels = load_digits(return_X_y=True)
    x = pixels.astype(np.float32)
    scaled = {"grey": x / 16, "centred": x / 8 - 1, "binary": (x >= 8).astype(np.float32)}
    return scaled[inputs], labels.astype(np.int64)


class OnGrid(nn.Module):
    """Rounds a parameter to multiples of step; the gradient passes straight through."""

    def __init__(self, step, levels):
        super().__init__()
        self.step, self.levels = step, levels

    def round(self, w):
        q = torch.round(w / self.step)
        return (q.clamp(-self.levels, self.levels) if self.levels else q) * self.step

    def forward(self, w):
        return w + (self.round(w) - w).detach()


def grid_of(recipe, name):
    return OnGrid(recipe.step, recipe.levels if name == "weight" else 0)


def build(recipe):
    """The network before training."""
    torch.manual_seed(zlib.crc32(recipe.name.encode()))
    first, second = recipe.activations
    net = nn.Sequential(nn.Linear(64, 32, bias=recipe.bias), first(),
                        nn.Linear(32, 16, bias=recipe.bias), second(),
                        nn.Linear(16, 10, bias=recipe.bias))
    for layer in net[::2]:
        if recipe.step:  # PyTorch's own initial weights would all be rounded to zero
            nn.init.uniform_(layer.weight, -1.5 * recipe.step, 1.5 * recipe.step)
        elif not recipe.trained:
            nn.init.kaiming_normal_(layer.weight)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    return net


def loss_of(recipe):
    if recipe.loss == "ce":
        return nn.CrossEntropyLoss()
    return lambda out, y: nn.functional.mse_loss(out, nn.functional.one_hot(y, 10).float())


def steps(net, recipe, optimizer, x, y, order):
    """One optimizer step for each batch of indices in order."""
    loss = loss_of(recipe)
    for chosen in order:
        optimizer.zero_grad()
        loss(net(x[chosen]), y[chosen]).backward()
        optimizer.step()


def train(net, recipe, x, y):
    """Trains in place; returns the optimizer, so that training can go on."""
    # PReLU's slopes stay as they are: were two equal, the exporter would tie them into one.
    rounded = [(m, n) for m in net[::2] for n, _ in list(m.named_parameters())
               if recipe.step]
    for module, name in rounded:
        parametrize.register_parametrization(module, name, grid_of(recipe, name))
    optimizer = torch.optim.Adam(net.parameters(), lr=RATE)
    for _ in range(EPOCHS):
        steps(net, recipe, optimizer, x, y, torch.randperm(len(x)).split(BATCH))
    for module, name in rounded:
        raw = getattr(module.parametrizations, name).original.detach().clone()
        parametrize.remove_parametrizations(module, name)
        # Rounded once more: w + (q - w) need not be q in float32.
        with torch.no_grad():
            getattr(module, name).copy_(grid_of(recipe, name).round(raw))
    return optimizer


def prune(net, recipe):
    with torch.no_grad():
        for layer, neuron in recipe.pruned:
            for p in net[2 * layer].parameters():
                p[neuron] = 0


def accuracy(net, x, y):
    with torch.no_grad():
        return float((net(x).argmax(1) == y).float().mean())


def export(net, path):
    net.eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(net, (torch.zeros(1, 64),), str(path), dynamo=False, opset_version=17,
                          input_names=["x"], output_names=["logits"], verbose=False)


def inverted_pairs(net, x, y):
    """Two images for which the loss pulls the pruned neuron up at the image and down at its
    negative, or the reverse: there every choice of sides moves the gradient the same way, so
    that 0, which AD gives for the neuron's weights, is separated from all of them."""
    found = []
    for i in range(len(x)):
        pair = torch.stack([x[i], -x[i]])
        z = torch.relu(net[0](pair)).detach().requires_grad_(True)
        nn.functional.cross_entropy(net[2:](z), y[[i, i]]).backward()
        pull = z.grad[:, 0]
        if pull[0] * pull[1] < 0 and pull.abs().min() > 1e-3:
            found.append(i)
        if len(found) == 2:
            return found
    raise RuntimeError("no two images pull the pruned neuron both ways")


def write_batches(folder, pruned_net):
    x, y = images()
    write_batch(folder / "digits.npz", x=x[:BATCH], y=y[:BATCH])
    blank = x[:BATCH].copy()
    blank[[17, 50]] = 0
    write_batch(folder / "digits-blank.npz", x=blank, y=y[:BATCH])
    write_batch(folder / "digits-mse.npz", x=x[:BATCH], y=np.eye(10, dtype=np.float32)[y[:BATCH]])
    write_batch(folder / "digits-binary.npz", x=images("binary")[0][:BATCH], y=y[:BATCH])
    centred, _ = images("centred")
    write_batch(folder / "digits-centred.npz", x=centred[:BATCH], y=y[:BATCH])
    i, j = inverted_pairs(pruned_net, torch.from_numpy(centred), torch.from_numpy(y))
    write_batch(folder / "digits-inverted.npz", y=y[[i, i, j, j]],
                x=np.stack([centred[i], -centred[i], centred[j], -centred[j]]))


def write_later(folder, net, recipe, optimizer, x, y):
    """The same network a few steps later, named as the exported initializers."""
    steps(net, recipe, optimizer, x, y, torch.randperm(len(x)).split(BATCH)[:LATER_STEPS])
    (folder / f"{recipe.name}-later.safetensors").write_bytes(save(net.state_dict()))


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)

    nets = {}
    for recipe in RECIPES:
        x, y = map(torch.from_numpy, images(recipe.inputs))
        net = build(recipe)
        optimizer = train(net, recipe, x, y) if recipe.trained else None
        prune(net, recipe)
        nets[recipe.name] = net
        export(net, folder / f"{recipe.name}.onnx")
        print(f"{recipe.name}: accuracy {accuracy(net, x, y):.3f}")
        if recipe.name == "digits-relu":
            write_later(folder, net, recipe, optimizer, x, y)
    write_batches(folder, nets["digits-pruned"])


if __name__ == "__main__":
    main()
