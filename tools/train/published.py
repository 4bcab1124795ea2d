"""Builds the networks of the published experiments on CIFAR-10 and MNIST, with minibatches.

Usage: python tools/train/published.py NET DATA OUT [options]

NET is lenet (LeNet-5, MNIST), vgg11, vgg13, vgg16, vgg19, vgg11-bn, resnet18, resnet18-bn or densenet121 (CIFAR-10). DATA is a folder
with the data set as its authors publish it: MNIST's idx files, or CIFAR-10's binary version
(*train*.bin, *data_batch*.bin), gzipped or not; or one .csv of a label and the pixels a line. OUT
receives NET.onnx, minibatches NET-0.npz, ..., and with --variants the same network with its
parameters in float16 and bfloat16, 90% of its weights zero, and its weights ternary.

The networks are those of Park, Chun and Lee's second scenario: VGG11 with one dense layer, whose
first, second, fourth, sixth and eighth convolutions are followed by a 2x2 maximum pool, and whose
channels are halved by --width 0.5; ResNet18 with a 3x3 maximum pool of stride 2 after the first
convolution (whether normalized or not, its convolutions have no bias). The other VGGs have the
published numbers of convolutions, and one dense layer too. DenseNet121 is as it was published for
larger pictures: the first convolution is 7x7 of stride 2, before a 3x3 maximum pool of stride 2;
--width is also a factor of its growth rate of 32. Pictures are normalized;
CIFAR-10's are flipped and cropped out of a border of 4 black pixels, unless --plain.

Nothing here is part of the tests, and what it writes is not for the repository.
"""

import argparse
import gzip
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from batches import write_batch
from convolutional import cast, pruned
from to_onnx import write_onnx

MNIST_SCALE = ([0.1307], [0.3081])
CIFAR_SCALE = ([0.4914, 0.4822, 0.4465], [0.2470, 0.2435, 0.2616])


class LeNet5(nn.Sequential):
    """28x28 pixels, 61,706 parameters."""

    def __init__(self):
        super().__init__(
            nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
            nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))


def vgg(convolutions, width, norm):
    """So many convolutions before each of the five pools."""
    layers, c_in = [], 3
    for n, c in zip(convolutions, (64, 128, 256, 512, 512)):
        c = int(c * width)
        for _ in range(n):
            layers += [nn.Conv2d(c_in, c, 3, padding=1)] + [nn.BatchNorm2d(c)] * norm + [nn.ReLU()]
            c_in = c
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(c_in, 10))


class Block(nn.Module):
    def __init__(self, c_in, c, stride, norm):
        super().__init__()
        self.conv1 = nn.Conv2d(c_in, c, 3, stride, padding=1, bias=False)
        self.conv2 = nn.Conv2d(c, c, 3, padding=1, bias=False)
        self.norm1, self.norm2, self.relu1, self.relu2 = norm(c), norm(c), nn.ReLU(), nn.ReLU()
        self.shortcut = nn.Identity() if stride == 1 and c_in == c else nn.Sequential(
            nn.Conv2d(c_in, c, 1, stride, bias=False), norm(c))

    def forward(self, x):
        y = self.norm2(self.conv2(self.relu1(self.norm1(self.conv1(x)))))
        return self.relu2(y + self.shortcut(x))


def resnet18(width, norm):
    norm = nn.BatchNorm2d if norm else lambda c: nn.Identity()
    c_in = int(64 * width)
    layers = [nn.Conv2d(3, c_in, 3, padding=1, bias=False), norm(c_in), nn.ReLU(),
              nn.MaxPool2d(3, stride=2, padding=1)]
    for c, stride in (64, 1), (128, 2), (256, 2), (512, 2):
        c = int(c * width)
        layers += [Block(c_in, c, stride, norm), Block(c, c, 1, norm)]
        c_in = c
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(c_in, 10))


class Dense(nn.Module):
    """What it was given, and `growth` channels more."""

    def __init__(self, c_in, growth):
        super().__init__()
        self.layers = nn.Sequential(nn.BatchNorm2d(c_in), nn.ReLU(), nn.Conv2d(c_in, 4 * growth, 1, bias=False),
                                    nn.BatchNorm2d(4 * growth), nn.ReLU(), nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False))

    def forward(self, x):
        return torch.cat([x, self.layers(x)], 1)


def densenet121(width):
    c, growth = int(64 * width), int(32 * width)
    layers = [nn.Conv2d(3, c, 7, 2, padding=3, bias=False), nn.BatchNorm2d(c), nn.ReLU(), nn.MaxPool2d(3, stride=2, padding=1)]
    for n in 6, 12, 24, 16:
        if len(layers) > 4:
            layers += [nn.BatchNorm2d(c), nn.ReLU(), nn.Conv2d(c, c // 2, 1, bias=False), nn.AvgPool2d(2)]
            c //= 2
        layers += [Dense(c + i * growth, growth) for i in range(n)]
        c += n * growth
    return nn.Sequential(*layers, nn.BatchNorm2d(c), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(c, 10))


VGGS = {"vgg11": (1, 1, 2, 2, 2), "vgg13": (2, 2, 2, 2, 2), "vgg16": (2, 2, 3, 3, 3), "vgg19": (2, 2, 4, 4, 4)}

NETS = {"lenet": lambda width: LeNet5(),
        **{name: lambda width, n=convolutions: vgg(n, width, False) for name, convolutions in VGGS.items()},
        "vgg11-bn": lambda width: vgg(VGGS["vgg11"], width, True), "densenet121": densenet121,
        "resnet18": lambda width: resnet18(width, False),
        "resnet18-bn": lambda width: resnet18(width, True)}


def contents(path):
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def read(data, net):
    """Pictures (n, channels, rows, columns) as bytes, and labels."""
    shape = (1, 28, 28) if net == "lenet" else (3, 32, 32)
    if data.suffix == ".csv":
        table = np.loadtxt(data, delimiter=",", dtype=np.int64)
        pixels = table[:, 1:].astype(np.uint8).reshape(-1, *shape[1:], shape[0])
        return np.ascontiguousarray(pixels.transpose(0, 3, 1, 2)), table[:, 0]
    if net == "lenet":
        images, = data.glob("train-images*")
        labels, = data.glob("train-labels*")
        return (np.frombuffer(contents(images), np.uint8, offset=16).reshape(-1, *shape),
                np.frombuffer(contents(labels), np.uint8, offset=8).astype(np.int64))
    files = sorted(f for f in data.glob("*.bin*") if "train" in f.name or "data_batch" in f.name)
    records = np.concatenate([np.frombuffer(contents(f), np.uint8).reshape(-1, 3073)
                              for f in files])
    return records[:, 1:].reshape(-1, *shape), records[:, 0].astype(np.int64)


def flip_and_crop(x, random):
    """Pictures mirrored with probability 1/2, and a window of their size out of a border of 4."""
    n, _, height, width = x.shape
    bordered = np.pad(x, ((0, 0), (0, 0), (4, 4), (4, 4)))
    out = np.empty_like(x)
    for i in range(n):
        row, column = random.integers(0, 9, 2)
        one = bordered[i, :, row:row + height, column:column + width]
        out[i] = one[:, :, ::-1] if random.random() < 0.5 else one
    return out


def ternary(net):
    """Ternary weight networks (Li et al.): the mean of the kept weights, with sign, or zero."""
    for name, p in net.named_parameters():
        if p.dim() > 1:
            kept = p.abs() > 0.7 * p.abs().mean()
            p.copy_(torch.where(kept, p.sign() * p.abs()[kept].mean(), 0.0))


VARIANTS = {"fp16": cast(torch.float16), "bf16": cast(torch.bfloat16), "pruned": pruned(0.9),
            "ternary": ternary}


class Batches:
    def __init__(self, options):
        self.pixels, self.labels = read(options.data, options.net)
        scale = MNIST_SCALE if options.net == "lenet" else CIFAR_SCALE
        self.mean, self.std = (np.float32(v).reshape(1, -1, 1, 1) for v in scale)
        self.random, self.size = np.random.default_rng(options.seed), options.batch
        self.augment = options.net != "lenet" and not options.plain

    def next(self):
        chosen = self.random.choice(len(self.pixels), self.size, replace=len(self.pixels) < self.size)
        x = self.pixels[chosen]
        x = flip_and_crop(x, self.random) if self.augment else x
        x = (x.astype(np.float32) / np.float32(255) - self.mean) / self.std
        return torch.from_numpy(x), torch.from_numpy(self.labels[chosen])


def train(net, batches, options):
    make = {"adam": lambda p: torch.optim.Adam(p, options.rate),
            "sgd": lambda p: torch.optim.SGD(p, options.rate, momentum=0.9, weight_decay=1e-4)}
    optimizer, start = make[options.optimizer](net.parameters()), time.time()
    net.train()
    for step in range(options.steps):
        x, y = batches.next()
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        if time.time() - start > options.seconds:
            break
    if options.steps:
        print(f"{step + 1} steps, loss {loss.item():.3f}, {time.time() - start:.0f} s")
    elif any(isinstance(m, nn.BatchNorm2d) for m in net.modules()):
        with torch.no_grad():  # the statistics of the data, not 0 and 1
            for _ in range(10):
                net(batches.next()[0])


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("net", choices=NETS)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--name", help="of the files; NET when left out")
    parser.add_argument("--width", type=float, default=1.0, help="factor of the channels")
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=180, help="training ends after these")
    parser.add_argument("--optimizer", choices=["adam", "sgd"], default="adam")
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--batches", type=int, default=2, help="minibatches to write")
    parser.add_argument("--plain", action="store_true", help="neither flips nor crops")
    parser.add_argument("--variants", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def main():
    options = arguments()
    name = options.name or options.net
    options.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)

    net, batches = NETS[options.net](options.width), Batches(options)
    train(net, batches, options)
    net.eval()
    for k in range(options.batches):
        x, y = batches.next()
        write_batch(options.out / f"{name}-{k}.npz", x=x.numpy(), y=y.numpy())
        with torch.no_grad():
            out = net(x)
        print(f"{name}-{k}.npz: loss {F.cross_entropy(out, y).item():.3f}, "
              f"accuracy {(out.argmax(1) == y).float().mean().item():.3f}")
    write_onnx(options.out / f"{name}.onnx", net, x[0])
    if options.variants:
        state = {key: value.clone() for key, value in net.state_dict().items()}
        for variant, change in VARIANTS.items():
            net.load_state_dict(state)
            with torch.no_grad():
                change(net)
            write_onnx(options.out / f"{name}-{variant}.onnx", net, x[0])


if __name__ == "__main__":
    main()
