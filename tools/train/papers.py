"""Writes the counterexamples of the papers, and small networks in their manner, to cases/audit, and networks that cases of
`clarke reproduce` ask about to the folder papers beside it.

Usage: python tools/train/papers.py [FOLDER]

Lemmas 2 and 3 are those of Park, Chun, Lee ("What does automatic differentiation compute for
neural networks?"). Parameters are initializers; matrices that the lemmas fix are Constant nodes.
"""

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from batches import write_batch

DEFAULT_FOLDER = Path(__file__).resolve().parents[2] / "cases" / "audit"


def tensor(name, values):
    return numpy_helper.from_array(np.array(values, dtype=np.float32), name)


def constant_of(name, values, dtype):
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.array(values, dtype), name))


def constant(name, values):
    return constant_of(name, values, np.float32)


def write_model(path, nodes, parameters, n_in, n_out):
    """A model from `x` (N, n_in) to `out` (N, n_out)."""
    graph = helper.make_graph(
        nodes, path.stem,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", n_in])],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, ["N", n_out])],
        [tensor(name, values) for name, values in parameters.items()])
    model = helper.make_model(graph, producer_name="clarke-cases", ir_version=8,
                              opset_imports=[helper.make_opsetid("", 17)])
    onnx.checker.check_model(model, full_check=True)
    path.write_bytes(model.SerializeToString(deterministic=True))


def lemma2(folder):
    """w -> relu(w) - relu(-w) = w at w = 0: AD gives 0, the Clarke set is {1}."""
    write_model(folder / "lemma2.onnx", [
        helper.make_node("MatMul", ["x", "w"], ["xw"], name="tau"),
        constant("split", [[1, -1]]),
        helper.make_node("MatMul", ["xw", "split"], ["y"], name="split"),
        helper.make_node("Relu", ["y"], ["z"], name="rho"),
        constant("difference", [[1], [-1]]),
        helper.make_node("MatMul", ["z", "difference"], ["out"], name="l"),
    ], {"w": [[0]]}, 1, 1)
    write_batch(folder / "lemma2.npz", x=np.array([[1]], np.float32))


def lemma3(folder):
    """w -> hardsigmoid(3 + w) + hardsigmoid(-3 + w) = 1 + w/6 near 0: AD gives 0, Clarke {1/6}."""
    write_model(folder / "lemma3.onnx", [
        helper.make_node("Add", ["x", "w"], ["y"], name="tau"),
        helper.make_node("HardSigmoid", ["y"], ["out"], name="rho",
                         alpha=float(np.float32(1) / np.float32(6)), beta=0.5),
    ], {"w": [0]}, 1, 1)
    write_batch(folder / "lemma3.npz", x=np.array([[3], [-3]], np.float32))


def absolute(folder):
    """(w, b) -> |2w + b| at (1/2, -1): AD gives 0, Bouligand {(-2,-1), (2,1)}, Clarke its hull."""
    write_model(folder / "abs.onnx", [
        helper.make_node("Gemm", ["x", "w", "b"], ["y"], name="dense"),
        helper.make_node("Abs", ["y"], ["out"], name="abs"),
    ], {"w": [[0.5]], "b": [-1]}, 1, 1)
    write_batch(folder / "abs.npz", x=np.array([[2]], np.float32))


def two_leaky(path, nodes, parameters):
    """x -> leaky(w2 leaky(w1 x)) with left slope 1/4."""
    write_model(path, nodes + [
        helper.make_node("MatMul", ["x", "w1"], ["y1"], name="dense1"),
        helper.make_node("LeakyRelu", ["y1"], ["z1"], name="rho1", alpha=0.25),
        helper.make_node("MatMul", ["z1", "w2"], ["y2"], name="dense2"),
        helper.make_node("LeakyRelu", ["y2"], ["out"], name="rho2", alpha=0.25),
    ], parameters, 1, 1)


def global_only(folder):
    """w1 = 0, w2 = 1. AD takes the left slope twice: (1/16, 0). P_2 has the row z1 = 0, so the
    layer-wise system is infeasible; yet lowering w1 alone takes both arguments to the left."""
    two_leaky(folder / "global-only.onnx", [], {"w1": [[0]], "w2": [[1]]})
    write_batch(folder / "global-only.npz", x=np.array([[1]], np.float32))


def leaky_cascade(folder):
    """w1 = 0, and the fixed second weight is -1: the arguments always lie on opposite sides, so the
    function is -w1/4 whatever the side, and the Clarke set {-1/4}. AD takes left twice: -1/16."""
    two_leaky(folder / "leaky-cascade.onnx", [constant("w2", [[-1]])], {"w1": [[0]]})
    write_batch(folder / "leaky-cascade.npz", x=np.array([[1]], np.float32))


def constant_weights(folder):
    """relu(w1) - relu(w2) at 0, every weight a Constant node, as some exporters write them. It has no parameters but those that
    --wrt names; lowering both weights leads to where AD's 0 is the gradient."""
    folder = folder.parent / "constants"
    folder.mkdir(exist_ok=True)
    write_model(folder / "constant-weights.onnx", [
        constant("linear_0.w_0", [[0, 0]]),
        helper.make_node("MatMul", ["x", "linear_0.w_0"], ["y"], name="hidden"),
        helper.make_node("Relu", ["y"], ["z"], name="rho"),
        constant("linear_1.w_0", [[1], [-1]]),
        helper.make_node("MatMul", ["z", "linear_1.w_0"], ["out"], name="last"),
    ], {}, 1, 1)
    write_batch(folder / "constant-weights.npz", x=np.array([[1]], np.float32))


def one_input(folder, name, nodes, parameters, x):
    write_model(folder / f"{name}.onnx", nodes, parameters, 1, 1)
    write_batch(folder / f"{name}.npz", x=np.array([x], np.float32))


def mirrored(function, weights):
    """w -> a f(w) + b f(-w): one layer of two neurons without a bias."""
    return [
        helper.make_node("MatMul", ["x", "w"], ["xw"], name="tau"),
        constant("split", [[1, -1]]),
        helper.make_node("MatMul", ["xw", "split"], ["y"], name="split"),
        helper.make_node(function, ["y"], ["z"], name="rho"),
        constant("sum", weights),
        helper.make_node("MatMul", ["z", "sum"], ["out"], name="l"),
    ]


def appendix_h(folder):
    """f1 = g(w) - g(-w), f2 = g(w) - h(w), f3 = h(-h(w)) at w = 0: all ReLU, g'(0) = 0 and h'(0) = 1. In f2 a LeakyRelu of slope 0 is
    h, so that a profile can tell the two; in f3 all ReLUs are."""
    w = {"w": [[0]]}
    one_input(folder, "park-h-f1", mirrored("Relu", [[1], [-1]]), w, [1])
    one_input(folder, "park-h-f2", [
        helper.make_node("MatMul", ["x", "w"], ["y"], name="tau"),
        helper.make_node("Relu", ["y"], ["g"], name="g"),
        helper.make_node("LeakyRelu", ["y"], ["h"], name="h", alpha=0.0),
        helper.make_node("Sub", ["g", "h"], ["out"], name="l"),
    ], w, [1])
    one_input(folder, "park-h-f3", [
        helper.make_node("MatMul", ["x", "w"], ["y1"], name="tau"),
        helper.make_node("Relu", ["y1"], ["z1"], name="h1"),
        helper.make_node("Neg", ["z1"], ["y2"], name="minus"),
        helper.make_node("Relu", ["y2"], ["out"], name="h2"),
    ], w, [1])


def theorem_8(folder):
    """Its converse: |w| = relu(w) + relu(-w), and 0 relu(w) + 0 relu(-w). And the convolution (k1, k2) over (2, 0, 0, -2, 0, 2) with a
    bias, ReLU, and maxima of the first three and the last two, at k = 0, b = 1."""
    one_input(folder, "park-theorem8-abs", mirrored("Relu", [[1], [1]]), {"w": [[0]]}, [1])
    one_input(folder, "park-theorem8-null", mirrored("Relu", [[0], [0]]), {"w": [[0]]}, [1])
    write_model(folder / "park-theorem8-conv.onnx", [
        constant_of("shape", [0, 1, 6], np.int64),
        helper.make_node("Reshape", ["x", "shape"], ["signal"], name="signal"),
        helper.make_node("Conv", ["signal", "k", "b"], ["y"], name="conv", kernel_shape=[2]),
        helper.make_node("Relu", ["y"], ["z"], name="rho"),
        helper.make_node("MaxPool", ["z"], ["pooled"], name="phi", kernel_shape=[3], strides=[3], pads=[0, 1]),
        helper.make_node("Flatten", ["pooled"], ["features"], name="flatten"),
        constant("c", [[-2], [1]]),
        helper.make_node("MatMul", ["features", "c"], ["out"], name="l"),
    ], {"k": [[[0, 0]]], "b": [1]}, 6, 1)
    write_batch(folder / "park-theorem8-conv.npz", x=np.array([[2, 0, 0, -2, 0, 2]], np.float32))


def condition_2(folder):
    """Two layers with a bias for each neuron, which cover all: Condition 1 is Condition 2. Both samples are at a kink of either layer."""
    write_model(folder / "park-condition2.onnx", [
        helper.make_node("Gemm", ["x", "w1", "b1"], ["y1"], name="dense1"),
        helper.make_node("Relu", ["y1"], ["z1"], name="rho1"),
        helper.make_node("Gemm", ["z1", "w2", "b2"], ["y2"], name="dense2"),
        helper.make_node("Relu", ["y2"], ["z2"], name="rho2"),
        constant("c", [[1], [-3]]),
        helper.make_node("MatMul", ["z2", "c"], ["out"], name="l"),
    ], {"w1": [[1, -1], [0, 2]], "b1": [-1, 1], "w2": [[1, 2], [-1, 1]], "b2": [0, 0]}, 2, 1)
    write_batch(folder / "park-condition2.npz", x=np.array([[1, 0], [1, 0]], np.float32))


# (model, batch, loss, verdict, why): the verdicts are the lemmas' own or worked out above.
CASES = [
    ("lemma2", "lemma2", "sum", "not-in-clarke",
     "Park, Chun, Lee, Lemma 2: relu(w) - relu(-w) = w, shared bias-free neurons; AD 0, Clarke {1}"),
    ("lemma3", "lemma3", "sum", "not-in-clarke",
     "Park, Chun, Lee, Lemma 3: two samples on the two kinks of hardsigmoid; AD 0, Clarke {1/6}"),
    ("abs", "abs", "sum", "in-clarke",
     "|2w + b| on its kink: AD's proxy 0 is the middle of the Clarke set and not a limit"),
    ("global-only", "global-only", "sum", "in-bouligand",
     "two leaky layers: P_2 is infeasible (zero row), the system over all parameters is feasible"),
    ("leaky-cascade", "leaky-cascade", "sum", "not-in-clarke",
     "two leaky layers joined by -1: smooth with gradient -1/4, AD -1/16"),
]


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for write in (lemma2, lemma3, absolute, global_only, leaky_cascade, constant_weights):
        write(folder)
    papers = folder.parent / "papers"
    papers.mkdir(exist_ok=True)
    for write in (appendix_h, theorem_8, condition_2):
        write(papers)


if __name__ == "__main__":
    main()
