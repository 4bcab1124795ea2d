"""Trains the small convolutional networks of cases/audit on scikit-learn's digits, as ONNX.

Usage: python tools/train/convolutional.py [FOLDER]

Inputs are images (1, 8, 8), dyadic: grey, pixel/16, or binary, 1 where pixel >= 8. The networks:

LeNet   conv 6 3x3, ReLU, max pool, conv 16 3x3, ReLU, max pool, dense 64-32-10
ResNet  conv 8 3x3, BatchNorm, ReLU, two basic blocks (the second halves rows and columns and
        doubles channels), global average pool, dense 16-10
VGG11   eight conv 3x3 of 4 to 32 channels, ReLUs, five max pools, dense 32-10; its images are
        32x32, each pixel 4x4 equal ones

Seeds are fixed and one thread is used; see digits.py. Rounded and pruned networks are the trained
ones with their parameters changed afterwards, but for the ternary one, which is trained rounded.
"""

import sys
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn.utils import parametrize

from batches import write_batch
from digits import BATCH, DEFAULT_FOLDER, OnGrid, accuracy, images
from to_onnx import write_onnx

RATE = 0.004
EPOCHS = 15
SAMPLES = 32
FEW = 7    # as many of a VGG11's, whose images are larger
GROWN = 4  # a VGG11's images to the others'


class LeNet(nn.Module):
    """LeNet-5 at 8x8 pixels."""

    def __init__(self, pool=lambda: nn.MaxPool2d(2), bias=True):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 3, padding=1, bias=bias)
        self.relu1, self.pool1 = nn.ReLU(), pool()
        self.conv2 = nn.Conv2d(6, 16, 3, padding=1, bias=bias)
        self.relu2, self.pool2 = nn.ReLU(), pool()
        self.flatten = nn.Flatten()
        self.fc1, self.relu3, self.fc2 = nn.Linear(64, 32, bias), nn.ReLU(), nn.Linear(32, 10, bias)

    def forward(self, x):
        x = self.pool1(self.relu1(self.conv1(x)))
        x = self.pool2(self.relu2(self.conv2(x)))
        return self.fc2(self.relu3(self.fc1(self.flatten(x))))


class Block(nn.Module):
    """He et al.'s basic block: relu(bn(conv(relu(bn(conv x)))) + shortcut x)."""

    def __init__(self, c_in, c_out, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(c_in, c_out, 3, stride, padding=1, bias=False)
        self.bn1, self.relu1 = nn.BatchNorm2d(c_out), nn.ReLU()
        self.conv2 = nn.Conv2d(c_out, c_out, 3, padding=1, bias=False)
        self.bn2, self.relu2 = nn.BatchNorm2d(c_out), nn.ReLU()
        self.shortcut = nn.Identity() if stride == 1 and c_in == c_out else nn.Sequential(
            nn.Conv2d(c_in, c_out, 1, stride, bias=False), nn.BatchNorm2d(c_out))

    def forward(self, x):
        y = self.bn2(self.conv2(self.relu1(self.bn1(self.conv1(x)))))
        return self.relu2(y + self.shortcut(x))


class ResNet(nn.Module):
    """A ResNet at 8x8 pixels; the first activation may be followed by a maximum pool."""

    def __init__(self, pool=nn.Identity):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1, bias=False)
        self.bn1, self.relu1, self.pool1 = nn.BatchNorm2d(8), nn.ReLU(), pool()
        self.block1, self.block2 = Block(8, 8, 1), Block(8, 16, 2)
        self.average, self.flatten = nn.AdaptiveAvgPool2d(1), nn.Flatten()
        self.fc = nn.Linear(16, 10)

    def forward(self, x):
        x = self.pool1(self.relu1(self.bn1(self.conv1(x))))
        return self.fc(self.flatten(self.average(self.block2(self.block1(x)))))


class VGG11(nn.Module):
    """Simonyan and Zisserman's, a sixteenth as wide, at 32x32 pixels: after five pools one is left of a channel."""

    def __init__(self):
        super().__init__()
        self.places, before = [], 1
        for i, (channels, pooled) in enumerate(((4, 1), (8, 1), (16, 0), (16, 1), (32, 0), (32, 1), (32, 0), (32, 1)), 1):
            for name, module in ((f"conv{i}", nn.Conv2d(before, channels, 3, padding=1)), (f"relu{i}", nn.ReLU()),
                                 (f"pool{i}", nn.MaxPool2d(2)))[:2 + pooled]:
                self.add_module(name, module)
                self.places.append(name)
            before = channels
        self.flatten, self.fc = nn.Flatten(), nn.Linear(before, 10)

    def forward(self, x):
        for name in self.places:
            x = getattr(self, name)(x)
        return self.fc(self.flatten(x))


def overlapping():
    return nn.MaxPool2d(3, stride=2, padding=1)


def average():
    return nn.AvgPool2d(2)


@dataclass
class Recipe:
    """How one network is made, and what it is for."""
    name: str
    build: object
    about: str
    batch: str = "images"
    verdict: str | None = None
    like: str = ""      # the parameters of this network, changed; else trained
    change: object = None
    inputs: str = "grey"
    trained: bool = True
    step: float = 0.0   # trained with parameters that are multiples of step
    levels: int = 0     # ... and weights at most this many steps
    scale: int = 1      # of the images


def rounded(step, levels):
    """Weights of a few bits; biases multiples of the step."""
    def change(net):
        for name, p in net.named_parameters():
            p.copy_(OnGrid(step, levels if "weight" in name else 0).round(p))
    return change


def cast(dtype):
    """Parameters rounded to another float format, kept as float32."""
    def change(net):
        for p in net.parameters():
            p.copy_(p.to(dtype).float())
    return change


def pruned(share):
    """The smallest weights of every layer zero."""
    def change(net):
        for name, p in net.named_parameters():
            if "weight" in name and p.dim() > 1:
                size = p.abs()
                p[size <= size.flatten().kthvalue(int(share * p.numel())).values] = 0
    return change


def zero_gammas(beta):
    """Channels 1 and 4 of the first normalization have gamma 0 and the given beta."""
    def change(net):
        net.bn1.weight[[1, 4]] = 0
        net.bn1.bias[[1, 4]] = beta
    return change


def initial(net):
    """Kaiming weights, zero biases."""
    for m in net.modules():
        if isinstance(m, (nn.Conv2d, nn.Linear)):
            nn.init.kaiming_normal_(m.weight)
            if m.bias is not None:
                nn.init.zeros_(m.bias)


SMOOTH = "in-bouligand"  # the loss is differentiable there: what is touched is constant

RECIPES = [
    Recipe("lenet", LeNet, "trained, float32 weights: windows tie where patches are the same",
           verdict=SMOOTH),
    Recipe("lenet-crops", LeNet, "the same network on shrunk and shifted digits: most windows lie "
           "in the blank and tie", like="lenet", batch="images-crops", verdict=SMOOTH),
    Recipe("lenet-fp16", LeNet, "the same weights rounded to float16", like="lenet",
           change=cast(torch.float16), verdict=SMOOTH),
    Recipe("lenet-bf16", LeNet, "the same weights rounded to bfloat16", like="lenet",
           change=cast(torch.bfloat16), verdict=SMOOTH),
    Recipe("lenet-q", LeNet, "the same weights rounded to multiples of 1/8", like="lenet",
           change=rounded(0.125, 7)),
    Recipe("lenet-q6", LeNet, "the same weights rounded to multiples of 1/64: few ties, every layer's "
           "system feasible", like="lenet", change=rounded(1 / 64, 255), verdict="in-bouligand"),
    Recipe("lenet-q6-pair", LeNet, "the same at two digits, a 1 and a 9: one filter ties a window in "
           "each, and what AD takes in one excludes what it takes in the other", like="lenet-q6",
           batch="images-pair", verdict="not-in-clarke"),
    Recipe("lenet-q6-96", LeNet, "the same at 32 digits, those two among them", like="lenet-q6",
           batch="images-96", verdict="not-in-clarke"),
    Recipe("lenet-pruned", LeNet, "the same weights, 90% of each layer's zero", like="lenet",
           change=pruned(0.9)),
    Recipe("lenet-ternary", LeNet, "weights -1/4, 0, 1/4, binary images", batch="images-binary",
           inputs="binary", step=0.25, levels=1),
    Recipe("lenet-ternary-384", LeNet, "the same at other digits, in grey: thousands of ways to tie, and "
           "AD's choice is outside them all", like="lenet-ternary", batch="images-384"),
    Recipe("lenet-init", LeNet, "untrained, zero biases, blank images and blank borders: ReLUs at 0 "
           "wherever the patch is blank", batch="images-blank", trained=False, change=initial,
           verdict="in-bouligand"),
    Recipe("lenet-nobias", lambda: LeNet(bias=False), "trained without biases: what the blank gives "
           "is 0 whatever the weights", batch="images-blank", verdict=SMOOTH),
    Recipe("lenet-overlap", lambda: LeNet(pool=overlapping), "trained, overlapping windows of 3x3, "
           "stride 2, padding 1", verdict=SMOOTH),
    Recipe("lenet-overlap-q", lambda: LeNet(pool=overlapping), "the same, weights rounded to "
           "multiples of 1/8", like="lenet-overlap", change=rounded(0.125, 7)),
    Recipe("lenet-overlap-q6", lambda: LeNet(pool=overlapping), "the same, weights rounded to "
           "multiples of 1/64: one filter's ties contradict each other", like="lenet-overlap",
           change=rounded(1 / 64, 255), verdict="in-clarke"),
    Recipe("lenet-overlap-q6-384", lambda: LeNet(pool=overlapping), "the same at other digits",
           like="lenet-overlap-q6", batch="images-384", verdict="not-in-clarke"),
    Recipe("lenet-average", lambda: LeNet(pool=average), "trained, average pools as in LeCun's",
           verdict=SMOOTH),
    Recipe("resnet", ResNet, "trained, BatchNormalization kept as nodes", verdict=SMOOTH),
    Recipe("resnet-gamma", ResNet, "the same with two channels of gamma 0, beta 1/2: constant "
           "channels, no pool", like="resnet", change=zero_gammas(0.5), verdict=SMOOTH),
    Recipe("resnet-gamma-beta", ResNet, "the same with two channels of gamma 0, beta 0: their ReLUs "
           "are touched everywhere", like="resnet", change=zero_gammas(0), verdict="in-bouligand"),
    Recipe("resnet-pool", lambda: ResNet(pool=overlapping), "trained, a maximum pool after the first "
           "ReLU as in ResNet18", verdict=SMOOTH),
    Recipe("resnet-pool-gamma", lambda: ResNet(pool=overlapping), "the same with two channels of gamma "
           "0, beta 1/2: all their windows tie; AD's d/dgamma lies between the two that occur",
           like="resnet-pool", change=zero_gammas(0.5), verdict="in-clarke"),
    Recipe("resnet-pool-gamma-96", lambda: ResNet(pool=overlapping), "the same at other digits: one "
           "of AD's two d/dgamma lies outside", like="resnet-pool-gamma", batch="images-96",
           verdict="not-in-clarke"),
    Recipe("vgg11-pruned", VGG11, "trained, then half of each layer's weights zero: hundreds of windows "
           "of the first two pools tie", batch="images-grown", change=pruned(0.5), scale=GROWN),
]


def model_of(recipe):
    """Whose file the recipe's network is: one that changes nothing has none of its own."""
    return recipe.name if recipe.change or not recipe.like else recipe.like


def pictures(inputs="grey", scale=1):
    """All images (n, 1, 8 scale, 8 scale) as exact float32 values, and their labels."""
    x, y = images(inputs)
    return x.reshape(-1, 1, 8, 8).repeat(scale, 2).repeat(scale, 3), y


def crops(x):
    """Each image at half its size (every second row and column), moved about in a blank one: what
    padded crops do to a batch."""
    out = np.zeros_like(x)
    for i, small in enumerate(x[:, :, ::2, ::2]):
        row, column = i % 5, i // 5 % 5
        out[i, :, row:row + 4, column:column + 4] = small
    return out


def write_batches(folder):
    x, y = pictures()
    for first in 96, 384:
        some = slice(first, first + SAMPLES)
        write_batch(folder / f"images-{first}.npz", x=x[some], y=y[some])
    grown, labels = pictures(scale=GROWN)
    write_batch(folder / "images-grown.npz", x=grown[:FEW], y=labels[:FEW])
    write_batch(folder / "images-pair.npz", x=x[[107, 119]], y=y[[107, 119]])
    x, y = x[:SAMPLES], y[:SAMPLES]
    write_batch(folder / "images.npz", x=x, y=y)
    write_batch(folder / "images-crops.npz", x=crops(x), y=y)
    blank = crops(x)
    blank[[3, 17]] = 0
    write_batch(folder / "images-blank.npz", x=blank, y=y)
    write_batch(folder / "images-binary.npz", x=pictures("binary")[0][:SAMPLES], y=y)


def layers(net):
    return [m for m in net.modules() if isinstance(m, (nn.Conv2d, nn.Linear))]


def train(net, recipe, x, y):
    """Adam, in place; a rounded network is trained through the rounding, as in digits.py."""
    grid = [(m, n) for m in layers(net) for n, _ in list(m.named_parameters()) if recipe.step]
    for m, n in grid:
        if n == "weight":
            nn.init.uniform_(m.weight, -1.5 * recipe.step, 1.5 * recipe.step)
        levels = recipe.levels if n == "weight" else 0
        parametrize.register_parametrization(m, n, OnGrid(recipe.step, levels))
    optimizer = torch.optim.Adam(net.parameters(), lr=RATE)
    net.train()
    for _ in range(EPOCHS):
        for chosen in torch.randperm(len(x)).split(BATCH):
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(x[chosen]), y[chosen]).backward()
            optimizer.step()
    net.eval()
    for m, n in grid:
        parametrization = getattr(m.parametrizations, n)
        value = parametrization[0].round(parametrization.original.detach().clone())
        parametrize.remove_parametrizations(m, n)
        with torch.no_grad():
            getattr(m, n).copy_(value)


def make(recipe, nets):
    torch.manual_seed(zlib.crc32(recipe.name.encode()))
    net = recipe.build()
    if recipe.like:
        net.load_state_dict(nets[recipe.like].state_dict())
    elif recipe.trained:
        train(net, recipe, *map(torch.from_numpy, pictures(recipe.inputs, recipe.scale)))
    if recipe.change:
        with torch.no_grad():
            recipe.change(net)
    return net.eval()


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)

    write_batches(folder)
    nets = {}
    for recipe in RECIPES:
        net = nets[recipe.name] = make(recipe, nets)
        x, y = map(torch.from_numpy, pictures(recipe.inputs, recipe.scale))
        if model_of(recipe) == recipe.name:
            print(f"{recipe.name}: accuracy {accuracy(net, x, y):.3f}", flush=True)
            write_onnx(folder / f"{recipe.name}.onnx", net, x[0])


if __name__ == "__main__":
    main()
