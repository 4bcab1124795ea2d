"""Convolutions whose taps are moved by constant offsets: both programs read them as ONNX's reference evaluator and PyTorch compute them.

Usage: python tests/interop/deformed.py --build build [--number 60] [--seed 1]

Each model is one DeformConv of drawn groups, strides, pads, dilations and offsets, whole ones and ones beyond the image among them, with
and without a mask and a bias; the samples are on no axis, or each is a run of its own. What both programs read is what the operator's
definition gives, in doubles, and ONNX's reference evaluator, which takes images of two rows and columns at least. `clarke audit` has PyTorch's
gradient of the definition, and a proof that `clarke-check` verifies. Several samples with offsets of their own in a batch are
refused. Offsets that are computed are in moved_places.py.
"""

import argparse
import tempfile
import warnings
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from safetensors.torch import load_file

from quantized import audited, unlike_gradients
from readings import Programs, unlike, unlike_prints


def by_definition(x, w, offset, b, mask, a):
    """Tap after tap, what lies between the entries around it; torch.float64."""
    n, channels, height, width = x.shape
    outputs, _, kh, kw = w.shape
    oh, ow = offset.shape[2:]
    parts, groups = a["offset_group"], a["group"]
    y = torch.zeros((n, outputs, oh, ow), dtype=torch.float64)
    for s in range(n):
        for o in range(outputs):
            for k in range(channels // groups):
                c = o // (outputs // groups) * (channels // groups) + k
                part = c // (channels // parts)
                for t in range(kh * kw):
                    for i in range(oh):
                        for j in range(ow):
                            at = (part * kh * kw + t) * 2
                            h = i * a["strides"][0] - a["pads"][0] + t // kw * a["dilations"][0] + float(offset[s, at, i, j])
                            v = j * a["strides"][1] - a["pads"][1] + t % kw * a["dilations"][1] + float(offset[s, at + 1, i, j])
                            for r in range(height):
                                for q in range(width):
                                    share = max(0, 1 - abs(h - r)) * max(0, 1 - abs(v - q))
                                    if share > 0:
                                        seen = share * x[s, c, r, q] * w[o, k, t // kw, t % kw]
                                        y[s, o, i, j] += seen * (mask[s, part * kh * kw + t, i, j] if mask is not None else 1)
    return y + (b.reshape(1, -1, 1, 1) if b is not None else 0)


def drawn(rng):
    groups, parts = int(rng.choice([1, 1, 2])), int(rng.choice([1, 2]))
    channels, outputs = 2 * int(rng.integers(1, 3)), groups * int(rng.integers(1, 3))
    n, kernel, size = int(rng.integers(1, 3)), rng.integers(1, 3, 2), rng.integers(2, 5, 2)
    a = {"group": groups, "offset_group": parts, "strides": [int(v) for v in rng.integers(1, 3, 2)],
         "dilations": [int(v) for v in rng.integers(1, 3, 2)], "pads": [int(v) for v in rng.integers(0, 3, 4)]}
    out = [(size[i] + a["pads"][i] + a["pads"][i + 2] - (kernel[i] - 1) * a["dilations"][i] - 1) // a["strides"][i] + 1 for i in range(2)]
    if min(out) < 1:
        return drawn(rng)
    offset = rng.choice([-4, -1.5, -1, -0.75, 0, 0, 0.25, 0.3, 1, 2.125, 5], (n, 2 * parts * kernel[0] * kernel[1], *out))
    tensors = {"w": rng.standard_normal((outputs, channels // groups, *kernel)), "o": offset, "b": rng.standard_normal(outputs),
               "m": rng.uniform(0, 1, (n, offset.shape[1] // 2, *out))}
    x, tensors = rng.standard_normal((n, channels, *size)).astype(np.float32), {k: v.astype(np.float32) for k, v in tensors.items()}
    inputs = ["x", "w", "o", *[["b", "m"], ["b"], ["", "m"], []][rng.integers(4)]]
    return x, {k: v for k, v in tensors.items() if k in inputs}, inputs, a


def model_of(x, tensors, inputs, a):
    nodes = [helper.make_node("DeformConv", ["x", "w", "o", *inputs[3:]], ["y"], **a)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], [numpy_helper.from_array(v, k) for k, v in tensors.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)


def judge(build, folder, programs, x, tensors, inputs, a):
    model, leaves = model_of(x, tensors, inputs, a), {k: torch.from_numpy(v.astype(np.float64)).requires_grad_(k != "o") for k, v in tensors.items()}
    wanted = by_definition(torch.from_numpy(x.astype(np.float64)), leaves["w"], leaves["o"], leaves.get("b"), leaves.get("m"), a)
    reference = ReferenceEvaluator(model).run(None, {"x": x})[0]
    onnx.save(model, folder / "m.onnx")
    np.save(folder / "m.npy", x[None])
    np.savez(folder / "m.npz", x=x[None])
    ways = ["whole"] + (["runs"] if len(x) == 1 else [])
    for way in ways:
        if way == "runs":  # two samples, each an input of its own
            np.save(folder / "m.npy", np.concatenate([x, 2 * x]))
            second = by_definition(2 * torch.from_numpy(x.astype(np.float64)), leaves["w"], leaves["o"], leaves.get("b"), leaves.get("m"), a)
        answer = programs.read([(folder / "m.onnx", folder / "m.npy")])[0]
        for program, read in answer.items():
            if isinstance(read, str):
                yield f"{way}: {program} refuses: {read}"
                continue
            if way == "whole":
                for oracle, values in (("the definition", wanted.detach().numpy()), ("the reference evaluator", reference)):
                    if why := unlike(read["y"], [values]):
                        yield f"{way}: {program}, by {oracle}: {why}"
            elif why := unlike(read["y"], [wanted.detach().numpy(), second.detach().numpy()]):
                yield f"{way}: {program}: {why}"
        yield from unlike_prints(answer)
    said, _ = audited(build, folder / "m.onnx", folder / "m.npz", folder / "m.proof", "--gradient", folder / "g.safetensors")
    if said is not None:
        yield said
        return
    if wanted.requires_grad:  # something is seen, or there is a bias
        wanted.sum().backward()
    yield from unlike_gradients(load_file(folder / "g.safetensors"), {k: v.grad for k, v in leaves.items() if v.grad is not None})


def refusals(folder, programs):
    x = np.ones((2, 2, 3, 3), np.float32)
    a = {"group": 1, "offset_group": 1, "strides": [1, 1], "dilations": [1, 1], "pads": [0, 0, 0, 0]}
    w, o = np.ones((1, 2, 1, 1), np.float32), np.zeros((2, 2, 3, 3), np.float32)
    for what, tensors, batch in [("offsets of each sample of a batch", {"w": w, "o": o}, x),
                                 ("an offset that is far", {"w": w, "o": o + np.float32(2 ** 31)}, x[None]),
                                 ("an offset that is tiny", {"w": w, "o": o - np.float32(1e-30)}, x[None]),
                                 ("offsets of another shape", {"w": w, "o": o[:, :, 1:]}, x[None])]:
        onnx.save(model_of(x, tensors, ["x", "w", "o"], a), folder / "wrong.onnx")
        np.save(folder / "wrong.npy", batch)
        for program, read in programs.read([(folder / "wrong.onnx", folder / "wrong.npy")])[0].items():
            if not isinstance(read, str):
                yield f"{program} reads {what}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--number", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    programs, wrong = Programs(options.build), 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for k in range(options.number):
            for fault in judge(Path(options.build), folder, programs, *drawn(np.random.default_rng([options.seed, k]))):
                wrong += 1
                print(f"failed: model {k}: {fault}", flush=True)
        for fault in refusals(folder, programs):
            wrong += 1
            print(f"failed: {fault}", flush=True)
    print(f"{options.number} models, {wrong} faults")
    return wrong > 0


if __name__ == "__main__":
    raise SystemExit(main())
