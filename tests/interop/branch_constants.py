"""Weights that are Constant nodes of branches and loops: they are named by --wrt, and have PyTorch's gradient.

Usage: python tests/interop/branch_constants.py --build build

A model chooses one of two branches by a constant, as files for two sampling rates do; each has layers whose weights are Constant nodes. One
branch holds a loop, whose weight is read in each round. Without --wrt the message offers those of the branch that runs. With it `clarke audit`
has PyTorch's gradient, and `clarke-check` verifies the proof. A proof whose names are in another order is not verified.
"""

import argparse
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from safetensors.torch import load_file

from quantized import audited, unlike_gradients

FLOAT = TensorProto.FLOAT


def constant(name, array):
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.asarray(array)))


def value(name, shape=None, kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def loop(weight):
    """Three rounds of h <- relu(h w)."""
    body = helper.make_graph([constant("w", weight), helper.make_node("MatMul", ["h", "w"], ["m"]), helper.make_node("Relu", ["m"], ["r"], name="round"),
                              helper.make_node("Identity", ["go"], ["on"])], "body", [value("i", [], TensorProto.INT64), value("go", [], TensorProto.BOOL), value("h")],
                             [value("on", [], TensorProto.BOOL), value("r")])
    return [constant("rounds", np.array(3)), helper.make_node("Loop", ["rounds", "", "a"], ["l"], body=body)]


def branch(name, tensors, nodes, out):
    return helper.make_graph([*(constant(k, v) for k, v in tensors.items()), *nodes], name, [], [value(out)])


def model_of(rng):
    draw = lambda *dims: (rng.integers(-8, 9, dims) / 8).astype(np.float32)
    tensors = {"first": draw(4, 3), "w": draw(3, 3), "bias": draw(3)}
    then = branch("then", {"first": tensors["first"], "bias": tensors["bias"]}, [helper.make_node("MatMul", ["x", "first"], ["a"]), *loop(tensors["w"]),
                                                                                  helper.make_node("Add", ["l", "bias"], ["t"])], "t")
    other = branch("other", {"second": draw(4, 3)}, [helper.make_node("MatMul", ["x", "second"], ["o"])], "o")
    nodes = [constant("rate", np.array(True)), helper.make_node("If", ["rate"], ["y"], then_branch=then, else_branch=other)]
    graph = helper.make_graph(nodes, "g", [value("x", ["N", 4])], [value("y")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tensors


def judge(build, folder, rng):
    model, tensors = model_of(rng)
    x = (rng.integers(-8, 9, (3, 4)) / 8).astype(np.float32)
    onnx.save(model, folder / "m.onnx")
    np.savez(folder / "m.npz", x=x)
    said, _ = audited(build, folder / "m.onnx", folder / "m.npz", folder / "m.proof")
    if said is None or "--wrt first,bias" not in said or "second" in said:
        yield f"no names are offered: {said}"
    said, _ = audited(build, folder / "m.onnx", folder / "m.npz", folder / "m.proof", "--wrt", "bias,first,w", "--gradient", folder / "g.safetensors")
    if said is not None:
        yield said
        return
    of = {k: torch.from_numpy(v.astype(np.float64)).requires_grad_() for k, v in tensors.items()}
    h = torch.from_numpy(x.astype(np.float64)) @ of["first"]
    for _ in range(3):
        h = torch.relu(h @ of["w"])
    (h + of["bias"]).sum().backward()
    own = load_file(folder / "g.safetensors")
    if set(own) != set(of):
        yield f"the gradient has {sorted(own)}"
    yield from unlike_gradients(own, {k: v.grad for k, v in of.items()})
    proof = (folder / "m.proof").read_text()
    if "\nconstants first bias w\n" not in proof:
        yield "the proof does not name them in the order of the file"
    (folder / "m.proof").write_text(proof.replace("constants first bias w", "constants w first bias"))
    if subprocess.run([build / "tools" / "clarke-check", folder / "m.proof"], capture_output=True).returncode == 0:
        yield "a proof with names in another order is verified"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build")
    wrong = 0
    build = Path(parser.parse_args().build)
    with tempfile.TemporaryDirectory() as temporary:
        for k in range(12):
            for fault in judge(build, Path(temporary), np.random.default_rng(k)):
                wrong += 1
                print(f"failed: model {k}: {fault}", flush=True)
    print(f"12 models, {wrong} faults")
    return wrong > 0


if __name__ == "__main__":
    raise SystemExit(main())
