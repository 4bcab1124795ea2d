"""Nodes of QONNX: both programs read them as QONNX computes them, and pass what Brevitas passes.

Usage: python tests/interop/qonnx_nodes.py --build build [--number 120] [--seed 1]      (with the package qonnx)

One node each, Quant or BipolarQuant, of drawn bits, signs, ranges, rounding modes, scales and zero points, on weights or on activations.
The values are those of QONNX's functions `quant` and `binary_quant`. With a surrogate AD's gradient is that of the rule's definition, which was measured of Brevitas 0.13.4, too.
"""

import argparse
import tempfile
import warnings
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file

from quantized import audited
from readings import Programs, unlike, unlike_prints
from qonnx.custom_op.general.bipolar_quant import binary_quant
from qonnx.custom_op.general.quant import quant

DOMAIN = "qonnx.custom_op.general"


def drawn(rng):
    """(the model, x, w, the node's numbers)"""
    op, of = ("BipolarQuant", "Quant")[int(rng.random() < 0.75)], "weight" if rng.integers(2) else "activation"
    rows, width = int(rng.integers(1, 4)), 5
    x = rng.standard_normal((rows, width)).astype(np.float32)
    shape = [(), (1,), (1, width)][rng.integers(3)]
    scale = (2.0 ** rng.integers(-4, 1, shape)).astype(np.float32)  # quotients are exact, and halves are met
    w = (rng.integers(-40, 40, (1, width)) / 8 + (1 / 64 if rng.random() < 0.8 else 0)).astype(np.float32)
    tensors = {"w": w, "s": np.asarray(scale, np.float32)}
    inputs, attributes = ["s"], {}
    if op == "Quant":
        bits = int(rng.choice([1, 2, 3, 4, 8]))
        tensors.update(z=np.asarray(rng.choice([0, 0, 1, -2]), np.float32), b=np.asarray(bits, np.float32))
        inputs += ["z", "b"]
        attributes = {"signed": int(rng.integers(2)), "narrow": int(rng.integers(2)) if bits > 1 else 0,
                      "rounding_mode": str(rng.choice(["ROUND", "ROUND", "HALF_EVEN", "FLOOR", "CEIL"]))}
    node = helper.make_node(op, ["w" if of == "weight" else "a", *inputs], ["q"], domain=DOMAIN, **attributes)
    nodes = [node, helper.make_node("Mul", ["x", "q"], ["y"])] if of == "weight" else [helper.make_node("Mul", ["x", "w"], ["a"]), node,
                                                                                       helper.make_node("Identity", ["q"], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, width])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(a, n) for n, a in tensors.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13), helper.make_opsetid(DOMAIN, 1)], ir_version=8)
    return model, x, tensors, node, attributes, of


def by_qonnx(node, attributes, tensors, x, of):
    """The values of the node and of the output, as QONNX's own functions have them."""
    v = tensors["w"] if of == "weight" else x * tensors["w"]
    if node.op_type == "BipolarQuant":
        q = binary_quant(v, tensors["s"])
    else:
        q = quant(v, tensors["s"], tensors["z"], tensors["b"], attributes["signed"], attributes["narrow"], attributes["rounding_mode"])
    return {"q": q.astype(np.float32), "y": (x * q if of == "weight" else q).astype(np.float32)}


def passes(rule, node, attributes, tensors, v):
    """The derivative that AD has, of the node's argument."""
    scale = tensors["s"].astype(np.float64)
    if node.op_type == "BipolarQuant":
        return np.broadcast_to(scale * ((np.abs(v / scale) <= 1) | (rule == "all")), v.shape)
    bits, narrow = int(tensors["b"]), attributes["narrow"]
    low, high = (-2 ** (bits - 1) + narrow, 2 ** (bits - 1) - 1) if attributes["signed"] else (0, 2 ** bits - 1 - narrow)
    low, high = (-1, 1) if bits == 1 and attributes["signed"] else (low, high)
    u = v / scale + float(tensors["z"])
    u = np.rint(u) if rule == "rounded" else u
    return np.broadcast_to(((u >= low) & (u <= high)) | (rule == "all"), v.shape).astype(np.float64)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--number", type=int, default=120)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    build, programs, wrong, count = Path(options.build), Programs(options.build), 0, {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for k in range(options.number):
            rng = np.random.default_rng([options.seed, k])
            model, x, tensors, node, attributes, of = drawn(rng)
            onnx.save(model, folder / "m.onnx")
            np.save(folder / "m.npy", x)
            np.savez(folder / "m.npz", x=x)
            faults, values = [], by_qonnx(node, attributes, tensors, x, of)
            answer = programs.read([(folder / "m.onnx", folder / "m.npy")])[0]
            for program, read in answer.items():
                if isinstance(read, str):
                    faults.append(f"{program} refuses: {read}")
                else:
                    faults += [f"{program}: '{n}': {why}" for n in ("q", "y") if (why := unlike(read[n], [values[n]]))]
            faults += unlike_prints(answer)
            rule = str(rng.choice(["all", "range", "rounded"]))
            if rule == "rounded" and (node.op_type != "Quant" or attributes["rounding_mode"] not in ("ROUND", "HALF_EVEN") or
                                      (int(tensors["b"]) == 1 and attributes["signed"])):
                rule = "range"
            (folder / "p.profile").write_text(f"surrogate {node.op_type} {rule}\n")
            said, _ = audited(build, folder / "m.onnx", folder / "m.npz", folder / "m.proof", "--profile", folder / "p.profile", "--gradient",
                              folder / "g.safetensors")
            if said is not None:
                faults.append(said)
            else:
                v = tensors["w"].astype(np.float64) if of == "weight" else x.astype(np.float64) * tensors["w"]
                expected = (passes(rule, node, attributes, tensors, v) * x).sum(0, keepdims=True)
                gradient = load_file(folder / "g.safetensors")["w"]
                if not np.allclose(gradient, expected):
                    faults.append(f"surrogate {rule}: the gradient is {gradient}, expected {expected}")
            count[node.op_type, of, rule] = count.get((node.op_type, of, rule), 0) + 1
            for fault in faults:
                wrong += 1
                print(f"failed: node {k}, {node.op_type} {attributes} of {of}: {fault}", flush=True)
    print("\n".join(f"{n:6} {' '.join(what)}" for what, n in sorted(count.items())))
    print(f"{options.number} nodes, {wrong} faults")
    return wrong > 0


if __name__ == "__main__":
    raise SystemExit(main())
