"""Images that are sampled at places which are computed: both programs read them as ONNX's reference evaluator, ONNX Runtime and PyTorch do.

Usage: python tests/interop/moved_places.py --build build [--number 60] [--seed 1]

Each model is a GridSample whose grid is a parameter plus what is computed of the input, or a DeformConv whose offsets are so. Half of the
places lie on an entry, on the border or outside, where the function has kinks. What both programs read is what the reference
evaluator (or the definition, in doubles) computes. AD's gradient in the image, the places and the weights is PyTorch's: of
`torch.nn.functional.grid_sample` in float64; of the offsets of a DeformConv that of the definition, by the entry at or below each place, as
torchvision has it. `clarke-check` verifies the proofs. So many models, at least, are at a kink.
"""

import argparse
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from safetensors.torch import load_file

from deformed import drawn as drawn_windows
from quantized import audited, unlike_gradients
from readings import Programs, unlike, unlike_prints


def model_of(nodes, x, tensors):
    """Of x and initializers, y being the output."""
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], [numpy_helper.from_array(v, k) for k, v in tensors.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)


def leaves_of(tensors):
    return {k: torch.from_numpy(v.astype(np.float64)).requires_grad_() for k, v in tensors.items()}


def places(rng, n, axis, corners):
    """Numbers of a grid: of places on entries of an axis, between them, and outside of it."""
    at = rng.choice([rng.integers(-2, n + 2), rng.integers(-1, n + 1), rng.uniform(-2, n + 1), rng.uniform(0, n - 1)], axis)
    g = 2 * at / (n - 1) - 1 if corners and n > 1 else (2 * at + 1) / n - 1
    return np.round(g * 64) / 64


def computed(name, out):
    """The parameter, plus 0 times the input's mean."""
    return [helper.make_node("Constant", [], ["zero"], value=numpy_helper.from_array(np.zeros(1, np.float32))),
            helper.make_node("ReduceMean", ["x"], ["mean"], keepdims=0), helper.make_node("Mul", ["mean", "zero"], ["nothing"]),
            helper.make_node("Add", [name, "nothing"], [out])]


def grid_sample(rng):
    """The input times a parameter, and a grid that is another."""
    space = [int(v) for v in rng.choice([1, 2, 3, 4, 5], int(rng.choice([2, 2, 3])))]
    n, channels = int(rng.integers(1, 3)), int(rng.integers(1, 3))
    out = [int(v) for v in rng.integers(1, 3, len(space))]
    corners, mode, rule = bool(rng.integers(2)), rng.choice(["linear", "linear", "nearest"]), str(rng.choice(["zeros", "border"]))
    grid = np.stack([places(rng, s, (n, *out), corners) for s in reversed(space)], -1).astype(np.float32)
    if mode == "nearest":  # nowhere between two entries
        grid = (grid + rng.choice([1 / 16, 1 / 32]) + 1 / 97).astype(np.float32)
    x = np.round(rng.standard_normal((n, channels, *space)) * 8).astype(np.float32) / 8
    tensors = {"g": grid, "a": np.ones((1,) * len(x.shape), np.float32)}
    nodes = [*computed("g", "grid"), helper.make_node("Mul", ["x", "a"], ["image"]),
             helper.make_node("GridSample", ["image", "grid"], ["y"], mode=str(mode), padding_mode=rule, align_corners=int(corners))]

    def function(x, of):
        return torch.nn.functional.grid_sample(x * of["a"], of["g"], "bilinear" if mode == "linear" else "nearest", rule, corners)
    return "GridSample", x, tensors, nodes, function


def sampled(x, h, v):
    """What lies at (h, v) between entries of an image of two axes, 0 around it: by the entry at or below."""
    r, q = torch.floor(h.detach()).long(), torch.floor(v.detach()).long()
    y = 0
    for i, share in ((r, 1 - (h - r)), (r + 1, h - r)):
        for j, other in ((q, 1 - (v - q)), (q + 1, v - q)):
            if 0 <= i < x.shape[0] and 0 <= j < x.shape[1]:
                y = y + share * other * x[i, j]
    return y


def by_definition(x, of, a):
    """DeformConv of x, weight w, offsets o, bias b and mask m, tap after tap."""
    n, channels, *_ = x.shape
    outputs, _, kh, kw = of["w"].shape
    oh, ow = of["o"].shape[2:]
    parts, groups, rows = a["offset_group"], a["group"], []
    for s in range(n):
        for o in range(outputs):
            for i in range(oh):
                for j in range(ow):
                    y = of["b"][o] if "b" in of else 0 * of["w"].sum()
                    for k in range(channels // groups):
                        c = o // (outputs // groups) * (channels // groups) + k
                        part = c // (channels // parts)
                        for t in range(kh * kw):
                            at = (part * kh * kw + t) * 2
                            h = i * a["strides"][0] - a["pads"][0] + t // kw * a["dilations"][0] + of["o"][s, at, i, j]
                            v = j * a["strides"][1] - a["pads"][1] + t % kw * a["dilations"][1] + of["o"][s, at + 1, i, j]
                            by = of["w"][o, k, t // kw, t % kw] * (of["m"][s, part * kh * kw + t, i, j] if "m" in of else 1)
                            y = y + by * sampled(x[s, c], h, v)
                    rows.append(y)
    return torch.stack(rows).reshape(n, outputs, oh, ow)


def deformed(rng):
    x, tensors, inputs, a = drawn_windows(rng)
    nodes = [*computed("o", "p"), helper.make_node("DeformConv", ["x", "w", "p", *inputs[3:]], ["y"], **a)]
    return "DeformConv", x, tensors, nodes, lambda x, of: by_definition(x, of, a)


def judge(build, folder, programs, touched, what, x, tensors, nodes, function):
    model, of = model_of(nodes, x, tensors), leaves_of(tensors)
    wanted = function(torch.from_numpy(x.astype(np.float64)), of)
    onnx.save(model, folder / "m.onnx")
    np.save(folder / "m.npy", x[None])
    np.savez(folder / "m.npz", x=x[None])
    answer = programs.read([(folder / "m.onnx", folder / "m.npy")])[0]
    oracles = [("PyTorch", wanted.detach().numpy())]
    if what == "GridSample":
        oracles.append(("the reference evaluator", ReferenceEvaluator(model).run(None, {"x": x})[0]))
    for program, read in answer.items():
        if isinstance(read, str):
            yield f"{program} refuses: {read}"
            continue
        for oracle, values in oracles:
            if why := unlike(read["y"], [values]):
                yield f"{program}, by {oracle}: {why}"
    yield from unlike_prints(answer)
    said, report = audited(build, folder / "m.onnx", folder / "m.npz", folder / "m.proof", "--gradient", folder / "g.safetensors")
    if said is not None:
        yield said
        return
    touched[what] += sum(layer["touched"] for layer in report["layers"]) > 0
    if wanted.requires_grad:
        wanted.sum().backward()
    yield from unlike_gradients(load_file(folder / "g.safetensors"), {k: v.grad if v.grad is not None else torch.zeros_like(v) for k, v in of.items()})


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--number", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    programs, wrong, touched = Programs(options.build), 0, Counter()
    with tempfile.TemporaryDirectory() as temporary:
        for k in range(options.number):
            rng = np.random.default_rng([options.seed, k])
            drawn = (grid_sample if k % 2 else deformed)(rng)
            for fault in judge(Path(options.build), Path(temporary), programs, touched, *drawn):
                wrong += 1
                print(f"failed: model {k}, {drawn[0]}: {fault}", flush=True)
    for what in ("GridSample", "DeformConv"):
        if touched[what] * 8 < options.number:
            wrong += 1
            print(f"failed: {touched[what]} models of {what} are at a kink")
    print(f"{options.number} models, {sum(touched.values())} at kinks, {wrong} faults")
    return wrong > 0


if __name__ == "__main__":
    raise SystemExit(main())
