#!/usr/bin/env python3
"""Networks of Keras, with each of its backends, and of JAX, exported to ONNX: what is said of each.

    exports.py CLARKE CLARKE-CHECK [--write FOLDER] [WAY...]

WAY is keras-tensorflow, keras-torch, keras-jax or jax (default: all). For each file: the verdict, what clarke-check says of its
proof, and whether the gradient is that of the file, by differences of onnx's reference evaluator in float64. A file that is refused
has the reason below the table; EXPECTED says which are. The exit status is 1 if a proof is not verified, a gradient is another, or
another file is refused. requirements-exports.txt has the packages; a backend is one process, for Keras chooses it once.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

WAYS = ("keras-tensorflow", "keras-torch", "keras-jax", "jax")
PROFILE = {"keras-tensorflow": "tensorflow-2", "keras-torch": "pytorch-2.13", "keras-jax": "jax-0.10", "jax": "jax-0.10"}
SAMPLES = 3

# What is refused, and words of the reason; or what the exporter itself cannot do.
EXPECTED = {
    # loops: of each it is seen by hand which of its rounds, states or sequences is not known
    ("gru", "keras-tensorflow"): "",
    ("lstm", "keras-jax"): "",
    ("gru", "keras-jax"): "",
    ("smooth", "keras-tensorflow"): "Erfc is not supported",
    ("normalized", "keras-torch"): "not exported",
    ("attention", "keras-torch"): "not exported",
}
# What a file does not say, and the profile asks for.
SAID = {
    ("batch-norm", "keras-tensorflow"): "Clip 0 0\nClip 1 0\n",
    ("bent", "keras-tensorflow"): "Clip 0 0\nClip 1 0\nPRelu 0 0\nSelu 0 left\n",
    ("batch-norm", "keras-jax"): "tie Maximum last\ntie Minimum last\n",
    ("pooled", "keras-tensorflow"): "tie GlobalMaxPool mean\n",
    ("pooled", "keras-torch"): "tie ReduceMax mean\n",
    ("clamped", "jax"): "tie Maximum mean\ntie Minimum mean\n",
    ("attention", "jax"): "tie Maximum mean\n",
}


def of_keras():
    import keras
    from keras import layers as L

    keras.utils.set_random_seed(1)
    yield "dense", keras.Sequential([L.Input((8,)), L.Dense(16, activation="relu"), L.Dense(3)])
    yield "softmax", keras.Sequential([L.Input((8,)), L.Dense(16, activation="relu"), L.Dense(3, activation="softmax")])
    yield "convolutions", keras.Sequential([
        L.Input((8, 8, 1)), L.Conv2D(4, 3, activation="relu", padding="same"), L.MaxPooling2D(), L.Conv2D(8, 3, activation="relu"),
        L.Flatten(), L.Dense(10)])
    yield "batch-norm", keras.Sequential([
        L.Input((8, 8, 3)), L.Conv2D(4, 3, padding="same", use_bias=False), L.BatchNormalization(), L.ReLU(), L.AveragePooling2D(2),
        L.DepthwiseConv2D(3, padding="same"), L.BatchNormalization(), L.ReLU(6.0), L.GlobalAveragePooling2D(), L.Dropout(0.3), L.Dense(10)])
    yield "bent", keras.Sequential([
        L.Input((8,)), L.Dense(16), L.LeakyReLU(), L.Dense(16), L.PReLU(), L.Dense(16, activation="elu"), L.Dense(16, activation="swish"),
        L.Dense(16, activation="hard_sigmoid"), L.Dense(3)])
    yield "smooth", keras.Sequential([L.Input((8,)), L.Dense(16, activation="gelu"), L.Dense(16, activation="tanh"), L.Dense(3)])
    yield "normalized", keras.Sequential([L.Input((8,)), L.Dense(16), L.LayerNormalization(), L.ReLU(), L.Dense(3)])
    yield "lstm", keras.Sequential([L.Input((5, 4)), L.LSTM(6), L.Dense(3)])
    yield "gru", keras.Sequential([L.Input((5, 4)), L.GRU(6), L.Dense(3)])
    yield "lstm-unrolled", keras.Sequential([L.Input((3, 4)), L.LSTM(5, unroll=True), L.Dense(3)])
    yield "gru-unrolled", keras.Sequential([L.Input((3, 4)), L.GRU(5, unroll=True), L.Dense(3)])
    yield "rnn-unrolled", keras.Sequential([L.Input((3, 4)), L.SimpleRNN(5, activation="relu", unroll=True), L.Dense(3)])
    i = L.Input((5, 8))
    x = L.LayerNormalization()(L.Add()([i, L.MultiHeadAttention(2, 4)(i, i)]))
    yield "attention", keras.Model(i, L.Dense(3)(L.GlobalAveragePooling1D()(L.Dense(8, activation="relu")(x))))
    i = L.Input((2, 2, 3))
    x = L.Conv2D(4, 3, padding="same", activation="relu")(i)
    x = L.UpSampling2D()(L.ReLU()(L.add([x, L.Conv2D(4, 3, padding="same")(x)])))
    yield "pooled", keras.Model(i, L.Dense(3)(L.GlobalMaxPooling2D()(L.Conv2DTranspose(2, 2, strides=2)(x))))


def save_keras(name, net, to):
    shape = (SAMPLES, *net.input_shape[1:])
    net(np.zeros(shape, np.float32))
    net.export(to, format="onnx", verbose=False)
    return shape


def of_jax():
    import jax
    import jax.numpy as jnp
    from flax import nnx

    rng = np.random.default_rng(0)
    w, b, v = (rng.normal(size=s).astype(np.float32) for s in ((8, 16), (16,), (16, 3)))
    nets = nnx.Rngs(0)

    class Convolutions(nnx.Module):
        def __init__(self):
            self.first, self.norm = nnx.Conv(1, 4, (3, 3), rngs=nets), nnx.BatchNorm(4, rngs=nets)
            self.second, self.last = nnx.Conv(4, 8, (3, 3), rngs=nets), nnx.Linear(32, 10, rngs=nets)

        def __call__(self, x):
            x = nnx.max_pool(nnx.relu(self.norm(self.first(x))), window_shape=(2, 2), strides=(2, 2))
            x = nnx.avg_pool(nnx.relu(self.second(x)), window_shape=(2, 2), strides=(2, 2))
            return self.last(x.reshape(x.shape[0], -1))

    class Attention(nnx.Module):
        def __init__(self):
            self.heads = nnx.MultiHeadAttention(num_heads=2, in_features=8, qkv_features=8, decode=False, rngs=nets)
            self.norm, self.last = nnx.LayerNorm(8, rngs=nets), nnx.Linear(8, 3, rngs=nets)

        def __call__(self, x):
            return self.last(nnx.relu(self.norm(x + self.heads(x))).mean(axis=1))

    convolutions = Convolutions()
    convolutions.eval()
    yield "dense", (lambda x: jax.nn.relu(x @ w + b) @ v), (8,)
    yield "smooth", (lambda x: jax.nn.gelu(x @ w + b) @ v), (8,)
    yield "bent", (lambda x: jax.nn.silu(x @ w + b) @ v), (8,)
    yield "clamped", (lambda x: jnp.minimum(jnp.maximum(x @ w + b, 0), 6) @ v), (8,)
    yield "convolutions", convolutions, (8, 8, 1)
    yield "attention", Attention(), (5, 8)


def save_jax(name, net, to):
    import onnx
    from jax2onnx import to_onnx

    function, shape = net
    onnx.save(to_onnx(function, [("B", *shape)], model_name=name), to)
    return (SAMPLES, *shape)


def in_doubles(model):
    """The model with float64 in the place of float32."""
    from onnx import TensorProto, helper, numpy_helper

    def widen(t):
        if t.data_type == TensorProto.FLOAT:
            t.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(t).astype(np.float64), t.name))

    for t in model.graph.initializer:
        widen(t)
    for node in model.graph.node:
        if node.op_type == "ConstantOfShape" and not node.attribute:
            node.attribute.append(helper.make_attribute("value", numpy_helper.from_array(np.zeros(1, np.float32))))
        for a in node.attribute:
            if a.name == "to" and a.i == TensorProto.FLOAT:
                a.i = TensorProto.DOUBLE
            if a.HasField("t"):
                widen(a.t)
            if a.name in ("value_float", "value_floats"):
                raise ValueError("a constant given as an attribute")
    for port in (*model.graph.input, *model.graph.output):
        port.type.tensor_type.elem_type = TensorProto.DOUBLE
    del model.graph.value_info[:]
    return model


def exact_gelu():
    """The reference evaluator's Gelu has a root rounded to float32."""
    from onnx.reference.op_run import OpRun

    class Gelu(OpRun):
        def _run(self, x, approximate="none"):
            if approximate == "tanh":
                return (x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),)
            return (x / 2 * (1 + np.vectorize(math.erf)(x / math.sqrt(2))),)

    return Gelu


def windows_of_many_axes():
    """The reference evaluator has windows on up to three spatial axes. JAX's pools have four, without padding or dilation."""
    from onnx.reference.ops.op_conv import Conv as FewConv
    from onnx.reference.ops.op_max_pool import MaxPool as FewMaxPool

    def windows(x, kernel, strides, pads):
        assert not any(pads or [0])
        n = len(kernel)
        view = np.lib.stride_tricks.sliding_window_view(x, kernel, axis=tuple(range(2, 2 + n)))
        return view[(slice(None), slice(None), *(slice(None, None, s) for s in strides))], tuple(range(2 + n, 2 + 2 * n))

    class MaxPool(FewMaxPool):
        def _run(self, x, kernel_shape=None, strides=None, pads=None, **others):
            if x.ndim < 6:
                return super()._run(x, kernel_shape=kernel_shape, strides=strides, pads=pads, **others)
            view, axes = windows(x, kernel_shape, strides, pads)
            return (view.max(axis=axes),)

    class Conv(FewConv):
        def _run(self, x, w, b=None, strides=None, pads=None, **others):
            if x.ndim < 6:
                return super()._run(x, w, b, strides=strides, pads=pads, **others)
            assert w.shape[:2] == (1, 1) and x.shape[1] == 1 and b is None
            view, axes = windows(x, w.shape[2:], strides, pads)
            return ((view * w[0, 0]).sum(axis=axes),)

    return [MaxPool, Conv]


def differs(path, x, gradient):
    """The largest relative difference, over three directions, between the gradient's product and a difference of values."""
    import onnx
    from onnx import numpy_helper
    from onnx.reference import ReferenceEvaluator

    model = in_doubles(onnx.load(path))
    start = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer if t.name in gradient}
    rng, worst, h = np.random.default_rng(5), 0.0, 1e-6

    def loss(step, way):
        for t in model.graph.initializer:
            if t.name in start:
                t.CopyFrom(numpy_helper.from_array(start[t.name] + step * way[t.name], t.name))
        return ReferenceEvaluator(model, new_ops=[exact_gelu(), *windows_of_many_axes()]).run(None, {model.graph.input[0].name: x.astype(np.float64)})[0].sum()

    for _ in range(3):
        way = {k: rng.normal(size=v.shape) for k, v in start.items()}
        found, told = (loss(h, way) - loss(-h, way)) / (2 * h), sum((way[k] * gradient[k]).sum() for k in start)
        worst = max(worst, abs(found - told) / max(1.0, abs(told)))
    return worst


def ask(tools, way, name, path, shape, folder):
    """The cell, and the reason of one that is refused."""
    from safetensors.numpy import load_file

    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    batch, profile, proof, gradient = (os.path.join(folder, f"{way}-{name}{end}") for end in (".npy", ".profile", ".proof", ".safetensors"))
    np.save(batch, x)
    with open(profile, "w") as f:
        f.write(f"like {PROFILE[way]}\n{SAID.get((name, way), '')}")
    run = subprocess.run([tools[0], "audit", path, "--batch", batch, "--loss", "sum", "--profile", profile, "--json", "--proof", proof,
                          "--gradient", gradient, "--exact"], capture_output=True, text=True)
    if run.returncode == 2:
        return "refused", run.stderr.strip()
    verdict = json.loads(run.stdout)["verdict"]
    check = subprocess.run([tools[1], proof, "--data", folder], capture_output=True, text=True)
    if check.returncode != 0:
        return "WRONG", "the proof: " + (check.stdout + check.stderr).strip()
    apart = differs(path, x, load_file(gradient))
    return (verdict, "") if apart < 1e-5 else ("WRONG", f"the gradient is {apart:.3g} from a difference of values")


def one_way(tools, way, folder):
    if way != "jax":
        os.environ["KERAS_BACKEND"] = way.removeprefix("keras-")
    wrong = 0
    for name, net, *shape in (of_jax() if way == "jax" else of_keras()):
        path = os.path.join(folder, f"{way}-{name}.onnx")
        try:
            cell, reason = None, ""
            shape = save_jax(name, (net, *shape), path) if way == "jax" else save_keras(name, net, path)
        except Exception as e:  # noqa: BLE001, whatever an exporter raises
            cell, reason = "not exported", "not exported: " + str(e).splitlines()[0][:120]
        if cell is None:
            cell, reason = ask(tools, way, name, path, shape, folder)
        expected = EXPECTED.get((name, way))
        right = cell != "WRONG" and (expected is None) == (cell not in ("refused", "not exported")) and (expected or "") in reason
        wrong += not right
        print(f"{name:14} {way:18} {cell}{'' if right else '  UNEXPECTED'}{': ' + reason[:300] if reason else ''}", flush=True)
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("clarke", type=os.path.abspath)
    parser.add_argument("check", type=os.path.abspath)
    parser.add_argument("ways", nargs="*", default=WAYS, metavar="WAY")
    parser.add_argument("--write", metavar="FOLDER", help="leave the files there")
    arguments = parser.parse_args()
    tools = arguments.clarke, arguments.check
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    with tempfile.TemporaryDirectory() as made:
        folder = arguments.write or made
        Path(folder).mkdir(exist_ok=True)
        if len(arguments.ways) == 1:
            return one_way(tools, arguments.ways[0], folder) > 0
        return max(subprocess.run([sys.executable, __file__, *tools, way, "--write", folder]).returncode for way in arguments.ways)


if __name__ == "__main__":
    sys.exit(main())
