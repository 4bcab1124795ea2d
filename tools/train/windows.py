"""Writes to cases/audit the smallest networks whose maximum pooling or normalization misleads AD.

Usage: python tools/train/windows.py [FOLDER]

The expected verdicts are worked out by expected.py, which enumerates the choices of every window.
"""

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

from batches import write_batch
from papers import DEFAULT_FOLDER, constant, tensor


def write_image_model(path, nodes, parameters, shape, n_out):
    """A model from images `x` (N, channels, rows, columns) to `out` (N, n_out)."""
    graph = helper.make_graph(
        nodes, path.stem,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", *shape])],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, ["N", n_out])],
        [tensor(name, values) for name, values in parameters.items()])
    model = helper.make_model(graph, producer_name="clarke-cases", ir_version=8,
                              opset_imports=[helper.make_opsetid("", 17)])
    onnx.checker.check_model(model, full_check=True)
    path.write_bytes(model.SerializeToString(deterministic=True))


def images(*rows):
    """One-channel images (N, 1, rows, columns)."""
    return np.array(rows, np.float32)[:, None]


def lemma7(folder):
    """(u, b) -> max(u + b, b) - max(-u + b, b) = u at (0, 0), no activation. The image (1, 0, -1, 0)
    makes the lemma's four rows of one 1x1 convolution."""
    write_image_model(folder / "lemma7.onnx", [
        helper.make_node("Conv", ["x", "u", "b"], ["y"], name="tau", kernel_shape=[1, 1]),
        helper.make_node("MaxPool", ["y"], ["z"], name="phi", kernel_shape=[1, 2], strides=[1, 2]),
        helper.make_node("Flatten", ["z"], ["f"], name="flat"),
        constant("difference", [[1], [-1]]),
        helper.make_node("MatMul", ["f", "difference"], ["out"], name="l"),
    ], {"u": [[[[0]]]], "b": [0]}, (1, 1, 4), 1)
    write_batch(folder / "lemma7.npz", x=images([[1, 0, -1, 0]]))


def two_windows(folder):
    """-2 max_i<=3 relu(y_i) + max(relu(y_4), relu(y_5)), y_i = k_1 x_i + k_2 x_(i+1) + b, at
    k = 0, b = 1: the second window is cut off by the end of the image (padding)."""
    write_image_model(folder / "two-windows.onnx", [
        helper.make_node("Conv", ["x", "k", "b"], ["y"], name="tau", kernel_shape=[1, 2]),
        helper.make_node("Relu", ["y"], ["a"], name="rho"),
        helper.make_node("MaxPool", ["a"], ["z"], name="phi", kernel_shape=[1, 3], strides=[1, 3],
                         pads=[0, 0, 0, 1]),
        helper.make_node("Flatten", ["z"], ["f"], name="flat"),
        constant("weights", [[-2], [1]]),
        helper.make_node("MatMul", ["f", "weights"], ["out"], name="l"),
    ], {"k": [[[[0, 0]]]], "b": [1]}, (1, 1, 6), 1)
    write_batch(folder / "two-windows.npz", x=images([[2, 0, 0, -2, 0, 2]]))


def opposite_images(folder):
    """X = ((1, 2), (3, 4)) and -X, each pooled to one number o = max relu(conv3x3), at w = 0, b = 1:
    o is 1 for both. With targets 0 and 2 the mean squared error's gradient is that of o(X) - o(-X)."""
    write_image_model(folder / "opposite-images.onnx", [
        helper.make_node("Conv", ["x", "w", "b"], ["y"], name="tau", kernel_shape=[3, 3],
                         pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["y"], ["a"], name="rho"),
        helper.make_node("MaxPool", ["a"], ["z"], name="phi", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["z"], ["out"], name="flat"),
    ], {"w": np.zeros((1, 1, 3, 3)), "b": [1]}, (1, 2, 2), 1)
    image = [[1, 2], [3, 4]]
    write_batch(folder / "opposite-images.npz", x=images(image, np.negative(image)),
                y=np.array([[0], [2]], np.float32))


def one_window(folder):
    """The network of opposite-images at X alone: one window, its options all can be the largest."""
    write_batch(folder / "one-window.npz", x=images([[1, 2], [3, 4]]))


EPSILON = 2.0 ** -10


def zero_gamma(path, beta):
    """Conv 2x2 (w = 1, 0, 0, 0: it copies the image's corner), BatchNormalization with gamma = 0,
    ReLU, MaxPool 2x2 on a 3x5 image; the loss is the first window less the second. The variance is
    1 - epsilon, so the normalization divides by exactly 1; the mean is 1."""
    write_image_model(path, [
        helper.make_node("Conv", ["x", "w"], ["y"], name="tau", kernel_shape=[2, 2]),
        helper.make_node("BatchNormalization", ["y", "gamma", "beta", "mean", "var"], ["n"],
                         name="norm", epsilon=EPSILON),
        helper.make_node("Relu", ["n"], ["a"], name="rho"),
        helper.make_node("MaxPool", ["a"], ["z"], name="phi", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["z"], ["f"], name="flat"),
        constant("difference", [[1], [-1]]),
        helper.make_node("MatMul", ["f", "difference"], ["out"], name="l"),
    ], {"w": [[[[1, 0], [0, 0]]]], "gamma": [0], "beta": [beta], "mean": [1],
        "var": [1 - EPSILON]}, (1, 3, 5), 1)


ZERO_GAMMA_IMAGE = [[2, 3, 5, 1, 4],
                    [7, 4, 3, 6, 2],
                    [1, 5, 2, 3, 1]]


def zero_gammas(folder):
    """beta = 1/2: all windows tie, gamma's sign picks in all of them the largest or the smallest.
    beta = 0: every ReLU is touched as well."""
    for name, beta in ("zero-gamma", 0.5), ("zero-gamma-beta", 0.0):
        zero_gamma(folder / f"{name}.onnx", beta)
        write_batch(folder / f"{name}.npz", x=images(ZERO_GAMMA_IMAGE))


# (case, model, loss, verdict, why): the batch is named as the case; verdicts come from expected.py.
CASES = [
    ("lemma7", "lemma7", "sum", "not-in-clarke",
     "Park, Chun, Lee, Lemma 7: max(u + b, b) - max(-u + b, b) = u; AD (2, 0), Clarke {(1, 0)}"),
    ("two-windows", "two-windows", "sum", "not-in-clarke",
     "two windows of one filter, the second cut off by the border: AD (-6, 0, -1) is beside the "
     "four Bouligand gradients"),
    ("opposite-images", "opposite-images", "mse", "not-in-clarke",
     "an image and its negative: every window's system is feasible, both together are not; AD 2 p_1 "
     "is outside the hull of p_i + p_j, i and j different"),
    ("one-window", "opposite-images", "sum", "in-bouligand",
     "the same network at one of the images: AD takes the first entry, which can be the largest"),
    ("zero-gamma", "zero-gamma", "sum", "not-in-clarke",
     "BatchNormalization with gamma 0, beta 1/2 ties every window: d/dgamma is the difference of the "
     "windows' maxima or minima, AD's is that of their first entries"),
    ("zero-gamma-beta", "zero-gamma-beta", "sum", "in-bouligand",
     "gamma 0, beta 0: every ReLU is touched too, and lowering beta realizes AD's zeros"),
]


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for write in (lemma7, two_windows, opposite_images, one_window, zero_gammas):
        write(folder)


if __name__ == "__main__":
    main()
