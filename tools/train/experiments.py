"""Writes networks and minibatches for the papers' experiments, in small, to cases/papers. `clarke reproduce` draws the weights.

Usage: python tools/train/experiments.py [FOLDER]

The pictures are those of cases/audit: scikit-learn's digits, of 8 x 8.
"""

import sys
from pathlib import Path

import numpy as np

from architectures import Block
from batches import write_batch
from papers import DEFAULT_FOLDER, constant


def pointwise(block, function, name):
    if function in ("Relu", "HardSwish"):
        return block.add(function, name)
    if function == "HardSigmoid":
        return block.add("HardSigmoid", name, alpha=float(np.float32(1) / np.float32(6)), beta=0.5)
    least, most = {"ReLU6": (0, 6), "HardTanh": (-1, 1)}[function]
    bounds = [block.constant(constant(f"{name}.{what}", value)) for what, value in (("least", least), ("most", most))]
    return block.add("Clip", name, [block.at, *bounds])


def dense(block, name, before, after):
    return block.add("Gemm", name, [block.at, block.train(f"{name}.weight", np.zeros((before, after))), block.train(f"{name}.bias", [0] * after)])


def perceptron(folder, name, function, widths=(64, 32, 16, 10)):
    """Hidden layers with one function, each with a bias for every neuron: scenario 1 of Park and others has 784-256-64-10."""
    block = Block([widths[0]])
    for i, (before, after) in enumerate(zip(widths, widths[1:])):
        dense(block, f"dense{i + 1}", before, after)
        if i + 2 < len(widths):
            pointwise(block, function, f"rho{i + 1}")
    block.save(folder, name, widths[-1])


def lenet(folder, name):
    """Two convolutions with ReLU and pools, of 6 and 16 channels, and two linear layers, for pictures of 8 x 8."""
    block = Block([1, 8, 8])
    for i, (before, after) in enumerate(((1, 6), (6, 16))):
        block.conv(f"conv{i + 1}", np.zeros((after, before, 3, 3)), [0] * after, pads=[1, 1, 1, 1])
        block.add("Relu", f"relu{i + 1}")
        block.add("MaxPool", f"pool{i + 1}", kernel_shape=[2, 2], strides=[2, 2])
    block.add("Flatten", "flatten")
    dense(block, "dense1", 64, 32)
    block.add("Relu", "relu3")
    dense(block, "dense2", 32, 10)
    block.save(folder, name, 10)


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_FOLDER.parent / "papers"
    folder.mkdir(parents=True, exist_ok=True)
    for function in ("ReLU6", "HardTanh", "HardSigmoid", "Relu"):
        perceptron(folder, f"small-{function.lower()}", function)
    lenet(folder, "small-lenet")
    digits = np.load(DEFAULT_FOLDER / "digits.npz")
    write_batch(folder / "small-digits.npz", x=digits["x"][:16], y=digits["y"][:16])
    x = (digits["x"][:16] >= .5).astype(np.float32)
    x[15] = x[0]
    write_batch(folder / "small-twice.npz", x=x, y=digits["y"][:16])
    write_batch(folder / "small-binary.npz", x=(digits["x"][:16] >= .5).astype(np.float32), y=digits["y"][:16])
    signs = 2 * x[:8].reshape(8, 1, 8, 8) - 1
    write_batch(folder / "small-negatives.npz", x=np.concatenate([signs, -signs]), y=np.concatenate([digits["y"][:8]] * 2))
    write_batch(folder / "small-images.npz", x=digits["x"][:16].reshape(16, 1, 8, 8), y=digits["y"][:16])


if __name__ == "__main__":
    main()
