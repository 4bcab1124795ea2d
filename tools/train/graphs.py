"""Networks as deployments and exporters have them: stored integers, integer operators, two outputs, vectors alone, a tree, CastLike. To cases/audit.

Usage: python tools/train/graphs.py [FOLDER]

- digits-stored: weights and biases are integers behind DequantizeLinear; what the ReLUs give is quantized, too. Trained with
  PyTorch's fake quantization, whose derivative straight-through.profile has as a surrogate.
- digits-qlinear: QuantizeLinear, QLinearConv and QLinearMatMul of drawn integers, as a quantized backbone that is frozen; behind
  DequantizeLinear two layers of floats, which are trained.
- digits-heads: one hidden layer, and two outputs: the digit's scores, and the box around its ink.
- hinges: x and all activations have the shape (N), rank 1; parameters are scalars.
- digits-tree: scikit-learn's decision tree as comparisons and a product of matrices. Thresholds and what leaves hold are parameters.
- digits-castlike: hardtanh as torch.onnx.export(dynamo=True, optimize=False) writes it, whose bounds are CastLike's.

Each written network is computed in rationals, by `evaluated` below, and compared with ONNX Runtime, at every output. From these
numbers the touched kinks are counted. They share nothing with the library.
"""

import sys
import warnings
import zlib
from fractions import Fraction
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper, numpy_helper
from sklearn.tree import DecisionTreeClassifier
from torch import nn

import digits
from batches import write_batch
from papers import constant

DEFAULT_FOLDER = Path(__file__).resolve().parents[2] / "cases" / "audit"
HIDDEN, STEP, LEVELS = 16, 0.125, 127
SCALE = 0.1234  # of quantized activations; multiples of STEP, divided by it, are no nearer to a half than 1/1234
PROFILE = "straight-through.profile"

# The files of each case beside its name, its loss, its verdict, what it is.
CASES = [
    {"name": "digits-stored", "model": "digits-stored.onnx", "batch": "digits-binary.npz", "loss": "ce",
     "about": "weights of 8 bits behind DequantizeLinear, activations quantized: what is before a rounding moves nothing"},
    {"name": "digits-stored-straight", "model": "digits-stored.onnx", "batch": "digits-binary.npz", "loss": "ce", "profile": PROFILE,
     "about": "the same with the derivative that it was trained with, a surrogate"},
    {"name": "digits-qlinear", "model": "digits-qlinear.onnx", "batch": "digits-binary.npz", "loss": "ce",
     "about": "a backbone of QLinearConv and QLinearMatMul, integers of 8 bits throughout, and a head of floats"},
    {"name": "digits-heads-scores", "model": "digits-heads.onnx", "batch": "digits-binary.npz", "loss": "ce", "output": "scores",
     "about": "one of two outputs; the other's weights are no parameters"},
    {"name": "digits-heads-boxes", "model": "digits-heads.onnx", "batch": "digits-boxes.npz", "loss": "mse", "output": "boxes",
     "about": "the other output: the box around a digit"},
    {"name": "hinges", "model": "hinges.onnx", "batch": "hinges.npz", "loss": "mse",
     "about": "rank 1: x and all activations have the shape (N), parameters are scalars; each kink is at a sample"},
    {"name": "digits-tree", "model": "digits-tree.onnx", "batch": "digits.npz", "loss": "ce",
     "about": "a decision tree as tensors, no comparison at its jump; a ReLU of what leaves hold, which is often 0"},
    {"name": "digits-castlike", "model": "digits-castlike.onnx", "batch": "digits-binary.npz", "loss": "ce",
     "about": "hardtanh whose bounds are CastLike's, as PyTorch's exporter has them with optimize=False; kinks at -1 and 1"},
]


# --- the networks ----------------------------------------------------------------------------------------------------------------


class FakeQuantized(nn.Module):
    """A ReLU, rounded to multiples of SCALE in 8 bits; the gradient passes straight through."""

    def forward(self, x):
        return torch.fake_quantize_per_tensor_affine(torch.relu(x), SCALE, 0, 0, 255)


def trained(name, activation):
    """64-HIDDEN-10 on binary images; parameters are multiples of STEP."""
    torch.manual_seed(zlib.crc32(name.encode()))
    recipe = digits.Recipe(name, (), "", step=STEP, levels=LEVELS)
    x, y = map(torch.from_numpy, digits.images("binary"))
    net = nn.Sequential(nn.Linear(64, HIDDEN), activation, nn.Linear(HIDDEN, 10))
    digits.train(net, recipe, x, y)
    print(f"{name}: accuracy {digits.accuracy(net, x, y):.3f}")
    return net


def array(parameter):
    return parameter.detach().numpy()


def write(path, nodes, initializers, inputs, outputs, opset=17, ir_version=8):
    """The model; initializers are arrays by name, inputs and outputs shapes by name."""
    value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, path.stem, [value(*v) for v in inputs.items()], [value(*v) for v in outputs.items()],
                              [numpy_helper.from_array(a, name) for name, a in initializers.items()])
    model = helper.make_model(graph, producer_name="clarke-cases", ir_version=ir_version, opset_imports=[helper.make_opsetid("", opset)])
    onnx.checker.check_model(model, full_check=True)
    path.write_bytes(model.SerializeToString(deterministic=True))


def stored(folder):
    net = trained("digits-stored", FakeQuantized())
    step, scale = np.float32(STEP), np.float32(SCALE)
    tensors, nodes = {"step": step, "scale": scale, "zero": np.uint8(0)}, []
    for layer, module in ("hidden", net[0]), ("out", net[2]):
        for what, kind in ("weight", np.int8), ("bias", np.int32):
            q = array(getattr(module, what)) / step
            tensors[f"{layer}.{what}.q"] = q.astype(kind)
            assert (tensors[f"{layer}.{what}.q"] == q).all()
            nodes.append(helper.make_node("DequantizeLinear", [f"{layer}.{what}.q", "step"], [f"{layer}.{what}"]))
    nodes += [helper.make_node("Gemm", ["x", "hidden.weight", "hidden.bias"], ["h"], name="hidden", transB=1),
              helper.make_node("Relu", ["h"], ["r"], name="relu"),
              helper.make_node("QuantizeLinear", ["r", "scale", "zero"], ["q"], name="quantize"),
              helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["d"], name="dequantize"),
              helper.make_node("Gemm", ["d", "out.weight", "out.bias"], ["logits"], name="out", transB=1)]
    write(folder / "digits-stored.onnx", nodes, {k: np.asarray(v) for k, v in tensors.items()}, {"x": ["N", 64]}, {"logits": ["N", 10]},
          opset=19, ir_version=9)
    (folder / PROFILE).write_text("like pytorch-2.13\nsurrogate QuantizeLinear rounded\n")


def backbone(rng):
    """Integers and scales of a convolution, by channel, and of a product, by column; no sum that is quantized is near a half."""
    tensors = {"in.scale": np.float32(1 / 16), "in.zero": np.uint8(3), "conv.weight": rng.integers(-9, 10, (4, 1, 3, 3)).astype(np.int8),
               "conv.scale": (rng.integers(40, 90, 4) / 1000).astype(np.float32), "conv.zero": np.zeros(4, np.int8),
               "conv.bias": rng.integers(-300, 300, 4).astype(np.int32), "between.scale": np.float32(0.0371), "between.zero": np.uint8(120),
               "product.weight": rng.integers(-20, 21, (64, HIDDEN)).astype(np.int8), "product.scale": (rng.integers(10, 40, HIDDEN) / 1000).astype(np.float32),
               "product.zero": np.zeros(HIDDEN, np.int8), "out.scale": np.float32(STEP), "out.zero": np.uint8(128), "image": np.array([-1, 1, 8, 8])}
    nodes = [helper.make_node("QuantizeLinear", ["x", "in.scale", "in.zero"], ["pixels"], name="pixels"),
             helper.make_node("Reshape", ["pixels", "image"], ["images"], name="images"),
             helper.make_node("QLinearConv", ["images", "in.scale", "in.zero", "conv.weight", "conv.scale", "conv.zero", "between.scale", "between.zero",
                                              "conv.bias"], ["conv"], name="conv", strides=[2, 2], pads=[1, 1, 1, 1]),
             helper.make_node("Flatten", ["conv"], ["flat"], name="flat"),
             helper.make_node("QLinearMatMul", ["flat", "between.scale", "between.zero", "product.weight", "product.scale", "product.zero", "out.scale",
                                                "out.zero"], ["product"], name="product"),
             helper.make_node("DequantizeLinear", ["product", "out.scale", "out.zero"], ["features"], name="features")]
    return nodes, tensors


def qlinear(folder):
    """The backbone's integers are drawn until no quotient on the batch is near a half; the head is trained on its features."""
    path, x = folder / "digits-qlinear.onnx", digits.images("binary")[0]
    batch = np.load(DEFAULT_FOLDER / "digits-binary.npz")["x"]
    for seed in range(200):
        nodes, tensors = backbone(np.random.default_rng(seed))
        values = {k: np.asarray(v) for k, v in tensors.items()}
        write(path, nodes, values, {"x": ["N", 64]}, {"features": ["N", HIDDEN]}, opset=19, ir_version=9)
        if nearest_half(onnx.load(path), batch) > Fraction(1, 1000):
            break
    features = onnxruntime.InferenceSession(str(path)).run(None, {"x": x})[0]
    torch.manual_seed(zlib.crc32(b"digits-qlinear"))
    net = nn.Sequential(nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 10))
    y = torch.from_numpy(digits.images("binary")[1])
    digits.train(net, digits.Recipe("digits-qlinear", (), "", step=STEP, levels=LEVELS), torch.from_numpy(features), y)
    print(f"digits-qlinear: accuracy {digits.accuracy(net, torch.from_numpy(features), y):.3f}")
    values |= {"hidden.weight": array(net[0].weight), "hidden.bias": array(net[0].bias), "out.weight": array(net[2].weight), "out.bias": array(net[2].bias)}
    nodes += [helper.make_node("Gemm", ["features", "hidden.weight", "hidden.bias"], ["h"], name="hidden", transB=1),
              helper.make_node("Relu", ["h"], ["r"], name="relu"),
              helper.make_node("Gemm", ["r", "out.weight", "out.bias"], ["logits"], name="out", transB=1)]
    write(path, nodes, values, {"x": ["N", 64]}, {"logits": ["N", 10]}, opset=19, ir_version=9)


def boxes(x):
    """Left, top, right, bottom of what is 1 in each image, in eighths."""
    found = []
    for image in x.reshape(-1, 8, 8):
        rows, columns = np.nonzero(image)
        found.append([columns.min(), rows.min(), columns.max() + 1, rows.max() + 1])
    return np.array(found, np.float32) / 8


def heads(folder):
    """Boxes are fitted to what the hidden layer gives."""
    net = trained("digits-heads", nn.ReLU())
    x = digits.images("binary")[0]
    features = np.maximum(x @ array(net[0].weight).T + array(net[0].bias), 0)
    fit = np.linalg.lstsq(np.c_[features, np.ones(len(x))].astype(float), boxes(x).astype(float), rcond=None)[0]
    fit = (np.round(fit * 128) / 128).astype(np.float32)
    tensors = {"hidden.weight": array(net[0].weight), "hidden.bias": array(net[0].bias),
               "scores.weight": array(net[2].weight), "scores.bias": array(net[2].bias),
               "boxes.weight": np.ascontiguousarray(fit[:-1].T), "boxes.bias": fit[-1]}
    nodes = [helper.make_node("Gemm", ["x", "hidden.weight", "hidden.bias"], ["h"], name="hidden", transB=1),
             helper.make_node("Relu", ["h"], ["r"], name="relu")]
    nodes += [helper.make_node("Gemm", ["r", f"{head}.weight", f"{head}.bias"], [head], name=head, transB=1)
              for head in ("scores", "boxes")]
    write(folder / "digits-heads.onnx", nodes, tensors, {"x": ["N", 64]}, {"scores": ["N", 10], "boxes": ["N", 4]})
    write_batch(folder / "digits-boxes.npz", x=x[:16], y=boxes(x[:16]))


def hinges(folder):
    """The sum of v relu(w x + b) of three neurons, and c, trained to a wave and rounded: kinks are at multiples of 1/4, as x is."""
    torch.manual_seed(zlib.crc32(b"hinges"))
    x = torch.arange(-8, 9) / 4
    y = torch.round(torch.sin(2 * x) * 8) / 8
    w, b, v = (torch.randn(3, requires_grad=True) for _ in "wbv")
    c = torch.zeros((), requires_grad=True)
    optimizer = torch.optim.Adam([w, b, v, c], lr=0.02)
    for _ in range(1000):
        optimizer.zero_grad()
        out = (torch.relu(x[:, None] * w + b) * v).sum(1) + c
        nn.functional.mse_loss(out, y).backward()
        optimizer.step()
    rounded = lambda t, step: np.float32(np.round(t.item() / step) * step)
    tensors, nodes, now = {"c": rounded(c, 0.25)}, [], "c"
    for i in range(3):
        weight = rounded(w[i], 1) or np.float32(1)
        tensors |= {f"w{i}": weight, f"b{i}": rounded(b[i], float(weight) / 4), f"v{i}": rounded(v[i], 0.25)}
        nodes += [helper.make_node("Mul", ["x", f"w{i}"], [f"m{i}"]), helper.make_node("Add", [f"m{i}", f"b{i}"], [f"a{i}"]),
                  helper.make_node("Relu", [f"a{i}"], [f"r{i}"], name=f"relu{i}"),
                  helper.make_node("Mul", [f"r{i}", f"v{i}"], [f"p{i}"]),
                  helper.make_node("Add", [f"p{i}", now], ["out" if i == 2 else f"s{i}"])]
        now = f"s{i}"
    write(folder / "hinges.onnx", nodes, {k: np.asarray(t) for k, t in tensors.items()}, {"x": ["N"]}, {"out": ["N"]})
    write_batch(folder / "hinges.npz", x=x.numpy(), y=y.numpy())


def tree(folder):
    """A leaf is reached where each comparison on the way to it is true that must be, and no other: that is the largest possible sum."""
    x, y = digits.images()
    found = DecisionTreeClassifier(max_leaf_nodes=24, random_state=1).fit(x, y)
    print(f"digits-tree: accuracy {found.score(x, y):.3f}")
    t = found.tree_
    inner, leaves = ([i for i in range(t.node_count) if (t.children_left[i] >= 0) == has] for has in (True, False))
    path, count = np.zeros((len(inner), len(leaves)), np.float32), np.zeros(len(leaves), np.float32)
    ways = [(0, ())]
    while ways:
        node, way = ways.pop()
        if node in leaves:
            for above, sign in way:
                path[inner.index(above), leaves.index(node)] = sign
                count[leaves.index(node)] += sign > 0
        else:
            ways += [(t.children_left[node], way + ((node, 1),)), (t.children_right[node], way + ((node, -1),))]
    # Halfway between two of the pixels' values, with the same images on either side.
    threshold = ((np.floor(t.threshold[inner] * 16) + 0.5) / 16).astype(np.float32)
    held = np.round(t.value[leaves, 0] * 64).astype(np.float32) / 64
    nodes = [helper.make_node("Constant", [], ["pixels"], value=numpy_helper.from_array(t.feature[inner].astype(np.int64))),
             constant("path", path), constant("most", count - 0.5),
             helper.make_node("Gather", ["x", "pixels"], ["g"], name="pixels", axis=1),
             helper.make_node("LessOrEqual", ["g", "threshold"], ["left"], name="compare"),
             helper.make_node("Cast", ["left"], ["l"], name="ones", to=TensorProto.FLOAT),
             helper.make_node("MatMul", ["l", "path"], ["n"], name="ways"),
             helper.make_node("Greater", ["n", "most"], ["here"], name="leaf"),
             helper.make_node("Cast", ["here"], ["e"], name="one", to=TensorProto.FLOAT),
             helper.make_node("MatMul", ["e", "held"], ["v"], name="held"),
             helper.make_node("Relu", ["v"], ["scores"], name="relu")]
    write(folder / "digits-tree.onnx", nodes, {"threshold": threshold, "held": held},
          {"x": ["N", 64]}, {"scores": ["N", 10]})


def castlike(folder):
    """The exporter's graph. What it tells of where it ran is left out."""
    net = trained("digits-castlike", nn.Hardtanh()).eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = torch.onnx.export(net, (torch.zeros(4, 64),), dynamo=True, optimize=False, input_names=["x"], output_names=["logits"],
                                  dynamic_shapes=({0: "N"},), verbose=False).model_proto
    for part in (model.graph, *model.graph.node, *model.graph.input, *model.graph.output, *model.graph.initializer, *model.graph.value_info):
        del part.metadata_props[:]
        part.doc_string = ""
    del model.metadata_props[:]
    assert sum(n.op_type == "CastLike" for n in model.graph.node) == 2
    (folder / "digits-castlike.onnx").write_bytes(model.SerializeToString(deterministic=True))


# --- what they compute -----------------------------------------------------------------------------------------------------------

exact = np.vectorize(lambda v: Fraction(v.item() if hasattr(v, "item") else v), otypes=[object])
truth = np.vectorize(lambda v: Fraction(int(bool(v))), otypes=[object])


def within(u, zero):
    """Rounded, plus the zero point, among the integers of 8 bits without a sign."""
    return np.vectorize(lambda v: min(max(Fraction(round(v)) + zero.item(), Fraction(0)), Fraction(255)), otypes=[object])(u)


def convolved(x, w, a):
    """One group, pads as many before as behind."""
    by, pad = a["strides"][0], a["pads"][0]
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)), constant_values=Fraction(0))
    sides = [(x.shape[i + 2] - w.shape[i + 2]) // by + 1 for i in range(2)]
    y = np.empty((len(x), len(w), *sides), dtype=object)
    for i in range(sides[0]):
        for j in range(sides[1]):
            patch = x[:, :, i * by:i * by + w.shape[2], j * by:j * by + w.shape[3]]
            y[:, :, i, j] = np.tensordot(patch, w, ([1, 2, 3], [1, 2, 3]))
    return y


def conv_quotient(a, x, xs, xz, w, ws, wz, ys, yz, b):
    """What is rounded: the sum of products with both scales, by the output's."""
    per = lambda t: t.reshape(-1, 1, 1)
    return (convolved(x - xz, w - wz.reshape(-1, 1, 1, 1), a) + per(b)) * xs * per(ws) / ys


def product_quotient(a, x, xs, xz, w, ws, wz, ys, yz):
    return (x - xz) @ (w - wz) * xs * ws / ys


QUOTIENTS = {"QuantizeLinear": lambda a, x, scale, zero: x / scale, "QLinearConv": conv_quotient, "QLinearMatMul": product_quotient}


OPERATORS = {
    "QLinearConv": lambda a, *args: within(conv_quotient(a, *args), args[7]), "QLinearMatMul": lambda a, *args: within(product_quotient(a, *args), args[7]),
    "Reshape": lambda a, x, shape: x.reshape([int(n) for n in shape]), "Flatten": lambda a, x: x.reshape(len(x), -1),
    "Gemm": lambda a, x, w, b: x @ (w.T if a.get("transB") else w) + b, "MatMul": lambda a, x, w: x @ w,
    "Mul": lambda a, x, y: x * y, "Add": lambda a, x, y: x + y, "Relu": lambda a, x: np.maximum(x, 0),
    "Clip": lambda a, x, low, high: np.minimum(np.maximum(x, low), high), "CastLike": lambda a, x, _: x, "Cast": lambda a, x: x,
    "DequantizeLinear": lambda a, x, scale, zero=0: (x - zero) * scale, "QuantizeLinear": lambda a, x, scale, zero: within(x / scale, zero),
    "Gather": lambda a, x, places: x[:, [int(p) for p in places]],
    "LessOrEqual": lambda a, x, y: truth(x <= y), "Greater": lambda a, x, y: truth(x > y),
}


def evaluated(model, x):
    """Every tensor of the network, in rationals."""
    values = {t.name: exact(numpy_helper.to_array(t)) for t in model.graph.initializer}
    values[model.graph.input[0].name] = exact(x)
    for node in model.graph.node:
        attr = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        if node.op_type == "Constant":
            value = attr["value"] if "value" in attr else numpy_helper.from_array(np.float32(attr["value_float"]))
            values[node.output[0]] = exact(numpy_helper.to_array(value))
        else:
            values[node.output[0]] = OPERATORS[node.op_type](attr, *(values[name] for name in node.input))
    return values


def kinks(model, values, profile):
    """(node, arguments, kinks) of each that is kinked; with the profile of a QuantizeLinear, too: the ends of its range, half a step wider."""
    for node in model.graph.node:
        x = values[node.input[0]] if node.input else None
        if node.op_type == "Relu":
            yield node, "Relu", x, [0]
        elif node.op_type == "Clip":
            yield node, "Clip", x, [values[name].item() for name in node.input[1:]]
        elif node.op_type == "QuantizeLinear" and profile:
            for end in Fraction(-1, 2), Fraction(511, 2):
                yield node, "Surrogate", x / values[node.input[1]], [end]


def counted(folder, case):
    """The case with its count, by layers."""
    model = onnx.load(folder / case["model"])
    values = evaluated(model, np.load(folder / case["batch"])["x"])
    layers = [{"node": node.name, "op": op, "neurons": x[0].size if x.ndim > 1 else 1, "touched": [int((x == k).sum()) for k in at]}
              for node, op, x, at in kinks(model, values, case.get("profile"))]
    return case | {"verdict": "in-bouligand", "touched": sum(sum(l["touched"]) for l in layers), "layers": layers}


def nearest_half(model, x):
    """How near a quotient that is rounded is to a half."""
    values, nearest = evaluated(model, x), Fraction(1)
    for node in model.graph.node:
        if node.op_type in QUOTIENTS:
            attr = {a.name: helper.get_attribute_value(a) for a in node.attribute}
            u = QUOTIENTS[node.op_type](attr, *(values[name] for name in node.input))
            nearest = min(nearest, *(abs(abs(v - round(v)) - Fraction(1, 2)) for v in u.flat))
    return nearest


def compare(path, x):
    """With ONNX Runtime, as the file is written; no comparison or rounding is at its jump."""
    model = onnx.load(path)
    values = evaluated(model, x)
    assert nearest_half(model, x) > Fraction(1, 2000), path
    for node in model.graph.node:
        if node.op_type in ("LessOrEqual", "Greater"):
            assert not (values[node.input[0]] == values[node.input[1]]).any(), node.name
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    names = [o.name for o in model.graph.output]
    for name, theirs in zip(names, onnxruntime.InferenceSession(str(path), options).run(names, {"x": x})):
        ours = values[name].astype(np.float64)
        assert ours.shape == theirs.shape and np.allclose(ours, theirs, rtol=1e-5, atol=1e-5), (path, name)


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    for make in stored, qlinear, heads, hinges, tree, castlike:
        make(folder)
    for case in CASES:
        batch = folder / case["batch"]
        compare(folder / case["model"], np.load(batch if batch.exists() else DEFAULT_FOLDER / case["batch"])["x"])
        print(case["name"], "as ONNX Runtime")


if __name__ == "__main__":
    main()
