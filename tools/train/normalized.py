"""Trains to cases/audit the small networks that normalize by what they are given, on scikit-learn's digits.

Usage: python tools/train/normalized.py [FOLDER]

Fully connected, 64-32-16-10, a normalization with gamma and beta after each of the first two layers,
which have no biases: BatchNormalization as training has it, by the minibatch's own statistics, or
LayerNormalization. Two neurons are switched off after training: incoming weights zero (pruned), or gamma
zero, and beta zero in both. As in digits.py a run repeats byte for byte on one machine.
"""

import sys
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper
from torch import nn

from digits import BATCH, DEFAULT_FOLDER, EPOCHS, RATE, images
from papers import tensor

OFF = (3, 11)  # the neurons of the first layer that are switched off


@dataclass
class Recipe:
    """How one network is made, and what it is for."""
    name: str
    norm: type
    off: str  # "", "weights" or "gamma": what else is zero beside beta
    about: str
    batch: str = "digits"
    verdict: str = "in-bouligand"


RECIPES = [
    Recipe("digits-batchnorm", nn.BatchNorm1d, "",
           "normalized by the minibatch's own statistics (training_mode 1): no kink is met"),
    Recipe("digits-batchnorm-pruned", nn.BatchNorm1d, "weights",
           "the same; two neurons are the same at every image, so normalized to 0, with beta 0"),
    Recipe("digits-layernorm", nn.LayerNorm, "", "LayerNormalization: no kink is met"),
    Recipe("digits-layernorm-gamma-beta", nn.LayerNorm, "gamma",
           "the same, gamma and beta 0 for two neurons"),
]


def build(recipe):
    torch.manual_seed(zlib.crc32(recipe.norm.__name__.encode()))
    return nn.Sequential(nn.Linear(64, 32, bias=False), recipe.norm(32), nn.ReLU(),
                         nn.Linear(32, 16, bias=False), recipe.norm(16), nn.ReLU(),
                         nn.Linear(16, 10))


def train(net, x, y):
    optimizer, loss = torch.optim.Adam(net.parameters(), lr=RATE), nn.CrossEntropyLoss()
    for _ in range(EPOCHS):
        for chosen in torch.randperm(len(x)).split(BATCH)[:-1]:
            optimizer.zero_grad()
            loss(net(x[chosen]), y[chosen]).backward()
            optimizer.step()


def switch_off(net, what):
    with torch.no_grad():
        for neuron in OFF if what else ():
            (net[0].weight if what == "weights" else net[1].weight)[neuron] = 0
            net[1].bias[neuron] = 0


def write_model(path, net, minibatch):
    """In train mode: PyTorch's exporter would fold the statistics in."""
    nodes, parameters, last = [], [], "x"
    for number, layer in enumerate(net):
        values = {k: v.detach().numpy() for k, v in layer.state_dict().items()}
        names = {k: f"{number}.{k}" for k in values if k != "num_batches_tracked"}
        parameters += [tensor(names[k], values[k]) for k in names]
        order = ["weight", "bias"] + (["running_mean", "running_var"] if minibatch else [])
        inputs = [last] + [names[k] for k in order if k in names]
        op, attributes = {
            nn.Linear: ("Gemm", {"transB": 1}), nn.ReLU: ("Relu", {}),
            nn.LayerNorm: ("LayerNormalization", {"axis": -1}),
            nn.BatchNorm1d: ("BatchNormalization", {"training_mode": 1}),
        }[type(layer)]
        last = "out" if number == len(net) - 1 else f"v{number}"
        outputs = [last] + ([f"{number}.mean", f"{number}.var"] if op[0] == "B" else [])
        nodes.append(helper.make_node(op, inputs, outputs, name=f"/{number}", **attributes))
    graph = helper.make_graph(
        nodes, path.stem,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 64])],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, ["N", 10])], parameters)
    model = helper.make_model(graph, producer_name="clarke-cases", ir_version=8,
                              opset_imports=[helper.make_opsetid("", 17)])
    onnx.checker.check_model(model, full_check=True)
    path.write_bytes(model.SerializeToString(deterministic=True))


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    x, y = (torch.from_numpy(np.asarray(a)) for a in images())
    for recipe in RECIPES:
        net = build(recipe)
        train(net, x, y)
        switch_off(net, recipe.off)
        write_model(folder / f"{recipe.name}.onnx", net, recipe.norm is nn.BatchNorm1d)
        right = (net(x).argmax(1) == y).float().mean().item()
        print(f"{recipe.name}: accuracy {right:.3f}")


if __name__ == "__main__":
    main()
