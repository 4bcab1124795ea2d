"""The networks and minibatches that are timed: 784-256-64-10, batch 128.

Images are MNIST's (Y. LeCun, C. Cortes, C. Burges) when its folder is given, else made up with its
statistics: four pixels of five are black, the others k/255. "Touching" inputs have weights and
biases in multiples of 1/16 and pixels in multiples of 1/4, so that some arguments land on kinks.
"""

import copy
import gzip
import warnings
from pathlib import Path

import numpy as np
import torch
from torch import nn

WIDTHS = (784, 256, 64, 10)
BATCH, STEPS, RATE, IMAGES = 128, 300, 0.1, 12800
ACTIVATIONS = {"relu": nn.ReLU, "relu6": nn.ReLU6}


def read_idx(path):
    """The uint8 array of an .idx.gz file (the format is on the MNIST page)."""
    with gzip.open(path) as file:
        data = file.read()
    if data[:3] != b"\0\0\x08":
        raise SystemExit(f"{path}: not an IDX file of bytes")
    shape = np.frombuffer(data, ">u4", data[3], 4).astype(int)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(shape)


def mnist(folder):
    """The first images and labels of the training part."""
    images = read_idx(Path(folder) / "train-images-idx3-ubyte.gz")[:IMAGES]
    labels = read_idx(Path(folder) / "train-labels-idx1-ubyte.gz")[:IMAGES]
    return images.reshape(-1, 784), labels.astype(np.int64)


def generated():
    """Bytes like MNIST's: each class has a pattern of its own under noise, a fifth is lit."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 10, IMAGES)
    fields = rng.normal(size=(10, 784))[labels] + rng.normal(size=(IMAGES, 784))
    lit = fields > np.quantile(fields, 0.8, axis=1, keepdims=True)
    return np.where(lit, rng.integers(1, 256, fields.shape), 0).astype(np.uint8), labels


def trained(activation, x, y):
    """A network after STEPS steps of SGD from a fixed seed."""
    torch.manual_seed(0)
    layers = [nn.Linear(WIDTHS[0], WIDTHS[1])]
    for i in range(1, len(WIDTHS) - 1):
        layers += [activation(), nn.Linear(WIDTHS[i], WIDTHS[i + 1])]
    model = nn.Sequential(*layers)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    for step in range(STEPS):
        chosen = slice(step * BATCH % IMAGES, step * BATCH % IMAGES + BATCH)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x[chosen]), y[chosen]).backward()
        optimizer.step()
    return model


def rounded(model):
    """The model with all parameters rounded to multiples of 1/16."""
    model = copy.deepcopy(model)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.round(16 * parameter) / 16)
    return model


def almost_dependent(x):
    """The batch with its last image a copy of the first but for 2^-44 at one black pixel."""
    x = x.copy()
    x[-1] = x[0]
    x[-1, np.flatnonzero(x[0] == 0)[0]] = 2.0 ** -44
    return x


def write_batch(path, x, y):
    np.savez(path, x=x, y=y)


def write_model(path, model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(model, (torch.zeros(1, WIDTHS[0]),), path, dynamo=False, opset_version=17)


def write_all(folder, images, labels):
    """Writes everything to folder; the trained models by activation, and x, y as tensors."""
    x = images.astype(np.float32) / np.float32(255)
    inputs, targets = torch.from_numpy(x), torch.from_numpy(labels)
    models = {name: trained(kind, inputs, targets) for name, kind in ACTIVATIONS.items()}
    for name, model in models.items():
        write_model(folder / f"{name}.onnx", model)
        write_model(folder / f"{name}-touching.onnx", rounded(model))
    write_batch(folder / "batch.npz", x[:BATCH], labels[:BATCH])
    write_batch(folder / "batch-touching.npz", np.round(4 * x[:BATCH]) / 4, labels[:BATCH])
    write_batch(folder / "batch-ulp.npz", almost_dependent(x[:BATCH]), labels[:BATCH])
    return models, inputs[:BATCH], targets[:BATCH]
