"""DynamicQuantizeLSTM, of ONNX Runtime: both programs read it as its definition, in doubles, and as ONNX Runtime computes it.

Usage: python tests/interop/quantized_lstm.py --build build [--number 30] [--seed 1]

Each model is a layer of floats, one or two directions of integers with a scale for all of a matrix or for each column, with and without a bias
and states at the beginning, and a product behind it. No quotient is near a half, where floats round otherwise. ONNX Runtime has
tanh and the sigmoid by approximations, whose error a rounding may enlarge to a step. AD's gradient is PyTorch's, in which what is rounded is
detached. `clarke-check` verifies the proofs. Several samples, whose scales depend on the runtime's threads, are refused by both.
"""

import argparse
import tempfile
import warnings
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper, numpy_helper
from safetensors.torch import load_file

from quantized import audited, unlike_gradients
from readings import Programs, unlike, unlike_prints

NEAR = 1e-3


class Definition:
    """In float64, what is rounded being detached; near: a quotient was near a half."""

    def __init__(self, tensors):
        self.t, self.near = tensors, False

    def rounded(self, u):
        self.near = self.near or bool((u.detach() - u.detach().floor() - 0.5).abs().min() < NEAR)
        return u.detach().round()

    def product(self, x, name, d):
        """x, rows, times the direction's integers."""
        if not bool((x != 0).any()):
            return 0 * x.sum()
        low, high = torch.clamp(x.min(), max=0), torch.clamp(x.max(), min=0)
        scale = (high - low) / 255
        zero = self.rounded(-low / scale).clamp(0, 255)
        q = (self.rounded(x / scale) + zero).clamp(0, 255) - zero
        per = lambda k: (self.t[k][d] if self.t[k].dim() == 2 else self.t[k][d:d + 1]).double()
        return q @ (self.t[name][d].double() - per(f"{name}z")) * scale * per(f"{name}s")

    def run(self, x, of, a):
        hidden, outs, last = a["hidden_size"], [], []
        for d in range(2 if a["direction"] == "bidirectional" else 1):
            sums = self.product(x[:, 0], "w", d)
            if "b" in of:
                sums = sums + of["b"][d, :4 * hidden] + of["b"][d, 4 * hidden:]
            h = of["h"][d] if "h" in of else torch.zeros(1, hidden, dtype=torch.float64)
            c = of["c"][d] if "c" in of else torch.zeros(1, hidden, dtype=torch.float64)
            at = [None] * len(x)
            for time in range(len(x)) if a["direction"] != "reverse" and d == 0 else reversed(range(len(x))):
                i, o, f, g = (sums[time:time + 1] + self.product(h, "r", d)).split(hidden, 1)
                c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
                h = torch.sigmoid(o) * torch.tanh(c)
                at[time] = h
            outs.append(torch.stack(at))
            last.append((h, c))
        return torch.stack(outs, 1), torch.stack([h for h, _ in last]), torch.stack([c for _, c in last])


def drawn(rng):
    times, inputs, hidden = (int(v) for v in rng.integers(1, 5, 3))
    direction = str(rng.choice(["forward", "reverse", "bidirectional"]))
    n, kind = 2 if direction == "bidirectional" else 1, rng.choice([np.int8, np.uint8])
    rows = {"w": inputs, "r": hidden}
    tensors, info = {}, np.iinfo(kind)
    for name, r in rows.items():
        each = (n, 4 * hidden) if rng.random() < 0.5 else (n,)
        tensors[name] = rng.integers(info.min, info.max + 1, (n, r, 4 * hidden)).astype(kind)
        tensors[f"{name}s"] = rng.uniform(0.001, 0.03, each).astype(np.float32)
        tensors[f"{name}z"] = np.full(each, 0 if kind == np.int8 else 128).astype(kind)
    if rng.random() < 0.7:
        tensors["b"] = rng.standard_normal((n, 8 * hidden)).astype(np.float32)
    if rng.random() < 0.3:
        tensors["h"] = rng.standard_normal((n, 1, hidden)).astype(np.float32)
    if rng.random() < 0.4:
        tensors["c"] = rng.standard_normal((n, 1, hidden)).astype(np.float32)
    tensors["first"] = rng.standard_normal((inputs, inputs)).astype(np.float32)
    tensors["last"] = rng.standard_normal((hidden, 2)).astype(np.float32)
    x = rng.standard_normal((times, 1, inputs)).astype(np.float32)
    return x, tensors, {"direction": direction, "hidden_size": hidden}, int(rng.integers(3)), "h" not in tensors and bool(rng.random() < 0.4)


def model_of(x, tensors, a, output, states):
    """The output of that number, times a matrix. With states h is computed of the input's mean."""
    given, nodes = dict(tensors), [helper.make_node("MatMul", ["x", "first"], ["a"])]
    n, hidden = len(tensors["w"]), a["hidden_size"]
    if states:
        nodes += [helper.make_node("ReduceMean", ["x"], ["mean"], keepdims=1), helper.make_node("Mul", ["mean", "wide"], ["h"])]
        given["wide"] = np.arange(1, n * hidden + 1).astype(np.float32).reshape(n, 1, hidden)
    names = ["a", "w", "r", "b" if "b" in given else "", "", "h" if states or "h" in given else "", "c" if "c" in given else "", "", "ws", "wz", "rs", "rz"]
    outs = [k if i == output else "" for i, k in enumerate(["y", "yh", "yc"])][:output + 1]
    nodes.append(helper.make_node("DynamicQuantizeLSTM", names, outs, domain="com.microsoft", **a))
    nodes.append(helper.make_node("MatMul", [outs[-1], "last"], ["z"]))
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
                              [helper.make_tensor_value_info("z", TensorProto.FLOAT, None)], [numpy_helper.from_array(v, k) for k, v in given.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=8), given


def judge(build, folder, programs, x, tensors, a, output, states):
    model, given = model_of(x, tensors, a, output, states)
    of = {k: torch.from_numpy(v.astype(np.float64)).requires_grad_() for k, v in given.items() if k in ("b", "h", "c", "first", "last", "wide")}
    definition, inner = Definition({k: torch.from_numpy(v) for k, v in tensors.items()}), torch.from_numpy(x.astype(np.float64))
    all_of = of | ({"h": inner.mean() * of["wide"]} if states else {})
    wanted = definition.run(inner @ of["first"], all_of, a)[output] @ of["last"]
    if definition.near:
        return
    onnx.save(model, folder / "m.onnx")
    np.save(folder / "m.npy", x[None])
    np.savez(folder / "m.npz", x=x[None])
    (folder / "ties.profile").write_text("like pytorch-2.13\ntie ReduceMin mean\ntie ReduceMax mean\ntie Minimum mean\ntie Maximum mean\n")
    runtime = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
    if not np.allclose(runtime, wanted.detach().numpy(), rtol=2e-2, atol=2e-2):
        yield f"the definition is not ONNX Runtime's: {runtime.flatten()[:4]}, {wanted.flatten()[:4].tolist()}"
    answer = programs.read([(folder / "m.onnx", folder / "m.npy")])[0]
    for program, read in answer.items():
        if isinstance(read, str):
            yield f"{program} refuses: {read}"
        elif why := unlike(read["z"], [wanted.detach().numpy()]):
            yield f"{program}: {why}"
    yield from unlike_prints(answer)
    said, _ = audited(build, folder / "m.onnx", folder / "m.npz", folder / "m.proof", "--gradient", folder / "g.safetensors",
                      "--profile", folder / "ties.profile")
    if said is not None:
        yield said
        return
    wanted.sum().backward()
    yield from unlike_gradients(load_file(folder / "g.safetensors"), {k: v.grad for k, v in of.items() if v.grad is not None})
    judge.count += 1


def refused(folder, programs):
    x, tensors, a, _, _ = drawn(np.random.default_rng(0))
    x = np.concatenate([x, x], 1)
    onnx.save(model_of(x, tensors, a, 0, False)[0], folder / "two.onnx")
    np.save(folder / "two.npy", x[None])
    for program, read in programs.read([(folder / "two.onnx", folder / "two.npy")])[0].items():
        if not isinstance(read, str):
            yield f"{program} reads two samples"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--number", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    programs, wrong, judge.count = Programs(options.build), 0, 0
    with tempfile.TemporaryDirectory() as temporary:
        for k in range(options.number):
            for fault in judge(Path(options.build), Path(temporary), programs, *drawn(np.random.default_rng([options.seed, k]))):
                wrong += 1
                print(f"failed: model {k}: {fault}", flush=True)
        for fault in refused(Path(temporary), programs):
            wrong += 1
            print(f"failed: {fault}")
    if judge.count * 3 < options.number:
        wrong += 1
        print(f"failed: only {judge.count} models have no quotient near a half")
    print(f"{judge.count} of {options.number} models, {wrong} faults")
    return wrong > 0


if __name__ == "__main__":
    raise SystemExit(main())
