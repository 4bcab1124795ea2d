"""Networks of quantized weights and activations: both programs read them as ONNX's reference evaluator and ONNX Runtime compute them.

Usage: python tests/interop/quantized.py --build build [--number 150] [--seed 1] [--keep DIR]

Each network is drawn: its weights are stored integers, or floats that nodes quantize; scales and zero points are of all of a tensor or by
channel; its activations are quantized, integers of 8 or 16 bits, and no longer. Numbers are such that no quotient is near a half, where
floats and real numbers may round otherwise. For each

* what both programs read has the shapes and values of others, at every node, and their fingerprints agree;
* `clarke audit` gives a verdict, and `clarke-check` verifies its proof;
* with a surrogate of each rule AD's gradient is PyTorch's: of `torch.fake_quantize_per_tensor_affine` and its like by channel (rounded), of
  a Function that passes a gradient everywhere (all), or in the range (range).

Then numbers lie at the ends themselves, where each framework has a rule: the gradient is PyTorch's there, too. And a network with the surrogate of
Round, with kinks behind it that are touched, has the verdicts, gradients and proofs of one without, that adds what rounding adds as a constant.
"""

import argparse
import json
import subprocess
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from safetensors.torch import load_file

from readings import Programs, unlike, unlike_prints

NEAR = 1e-3  # a quotient is nearer to a half than that: drawn again
TYPES = [np.int8, np.uint8, np.int16, np.uint16]
PARTS = [ml_dtypes.int4, ml_dtypes.uint4]  # two in a byte; ONNX Runtime has none of 2 bits there


class Network:
    def __init__(self, rng):
        self.rng = rng
        self.opset = int(rng.choice([13, 19, 21, 23, 25]))
        self.nodes, self.tensors, self.made = [], [], 0
        self.image = bool(rng.integers(2))
        self.rows = int(rng.integers(1, 5))
        self.x = rng.standard_normal((self.rows, *((2, 5, 4) if self.image else (6,)))).astype(np.float32)

    def name(self):
        self.made += 1
        return f"v{self.made}"

    def node(self, op, inputs, **attributes):
        out = self.name()
        self.nodes.append(helper.make_node(op, inputs, [out], **attributes))
        return out

    def tensor(self, array):
        """An initializer, or now and then a Constant node."""
        name = self.name()
        if self.rng.random() < 0.2:
            self.nodes.append(helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array, name)))
        else:
            self.tensors.append(numpy_helper.from_array(array, name))
        return name

    def stored(self, array):
        name = self.name()
        self.tensors.append(numpy_helper.from_array(array, name))
        return name

    def kind(self):
        return TYPES[self.rng.integers(4 if self.opset >= 21 else 2)]

    def scales(self, kind, n):
        """(inputs for a scale and a zero point, attributes); n: one number of each, or as many."""
        shape = (n,) if n > 1 else [(), (1,)][self.rng.integers(2)]
        scale = self.rng.uniform(0.01, 0.2, shape).astype(np.float32)
        zero = self.rng.integers(-4 if kind in (np.int8, np.int16, ml_dtypes.int4) else 0, 8 if kind in PARTS else 9, shape).astype(kind)
        return [self.tensor(np.asarray(scale)), self.tensor(np.asarray(zero))]

    def quantize(self, x, channels, axis):
        """A round trip of activations."""
        kind, many = self.kind(), channels if self.opset >= 13 and self.rng.random() < 0.4 else 1
        scales, attributes = self.scales(kind, many), {"axis": axis} if many > 1 else {}
        if kind is np.uint8 and self.rng.random() < 0.2:
            scales = scales[:1]
        q = self.node("QuantizeLinear", [x, *scales], **attributes)
        if self.rng.random() < 0.3:
            q = self.node("Identity", [q])
        return self.node("DequantizeLinear", [q, *scales], **attributes)

    def weight(self, *dims):
        """Stored integers, or floats, which may be quantized by nodes."""
        way = self.rng.integers(3)
        if way == 0:
            kind, many = self.kind(), dims[0] if self.rng.random() < 0.5 else 1
            if self.opset >= 21 and self.rng.random() < 0.4:
                kind = PARTS[self.rng.integers(2)]
            info = ml_dtypes.iinfo(kind)
            scales = self.scales(kind, many)
            return self.node("DequantizeLinear", [self.stored(self.rng.integers(int(info.min), int(info.max) + 1, dims).astype(kind)), *scales],
                             **({"axis": int(self.rng.choice([0, -len(dims)]))} if many > 1 else {}))
        w = self.stored((self.rng.standard_normal(dims) / np.sqrt(np.prod(dims[1:]))).astype(np.float32))
        return self.quantize(w, dims[0], 0) if way == 1 else w

    def bias(self, n):
        """Integers of 32 bits, or floats."""
        if self.rng.random() < 0.5:
            return self.stored(self.rng.standard_normal(n).astype(np.float32))
        scale = self.tensor(np.asarray(np.float32(self.rng.uniform(1e-4, 1e-2))))
        return self.node("DequantizeLinear", [self.stored(self.rng.integers(-5000, 5000, n).astype(np.int32)), scale])

    def draw(self):
        now, width = "x", 2 if self.image else 6
        if self.rng.random() < 0.6:
            now = self.quantize(now, width, 1)
        for _ in range(self.rng.integers(1, 3)):
            out = int(self.rng.integers(2, 5))
            if self.image:
                now = self.node("Conv", [now, self.weight(out, width, 3, 3), self.bias(out)], pads=[1, 1, 1, 1])
            else:
                now = self.node("Gemm", [now, self.weight(out, width), self.bias(out)], transB=1)
            now, width = self.node("Relu", [now]), out
            if self.rng.random() < 0.7:
                now = self.quantize(now, width, 1)
        if self.image:
            now = self.node("GlobalAveragePool", [now])
            now = self.node("Flatten", [now])
        self.out = self.node("Gemm", [now, self.weight(2, width), self.bias(2)], transB=1)
        return self

    def model(self, outputs=()):
        """With these of its values as outputs, besides its own."""
        shape = [None, *self.x.shape[1:]]
        ends = [helper.make_tensor_value_info(self.out, TensorProto.FLOAT, None)]
        ends += [onnx.ValueInfoProto(name=o) for o in outputs if o != self.out]
        graph = helper.make_graph(self.nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)], ends, self.tensors)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=10)


def near_half(network, values):
    """Is a quotient so near to a half that floats may round it otherwise?"""
    for n in network.nodes:
        if n.op_type != "QuantizeLinear":
            continue
        x, scale = values[n.input[0]], values[n.input[1]]
        axis = {a.name: a.i for a in n.attribute}.get("axis", 1)
        if scale.size > 1:
            scale = scale.reshape([-1 if a == axis else 1 for a in range(x.ndim)])
        off = np.abs((x / scale.astype(np.float64)) % 1 - 0.5)
        if off.size and off.min() < NEAR:
            return True
    return False


def reference(network):
    """All values: by the reference evaluator, which has the operators from set 19 on, or by ONNX Runtime."""
    values = {"x": network.x, **{t.name: numpy_helper.to_array(t) for t in network.tensors}}
    model = onnx.shape_inference.infer_shapes(network.model([o for n in network.nodes for o in n.output]))
    made = ReferenceEvaluator(model).run(None, {"x": network.x}) if network.opset >= 19 else by_runtime(model, network.x)
    return {**values, **{o.name: v for o, v in zip(model.graph.output, made)}}


def by_runtime(model, x):
    """As the nodes say: what it makes of several nodes together is another function, whose biases are quantized, too."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, {"x": x})


def drawn(seed):
    for turn in range(40):
        network = Network(np.random.default_rng([seed, turn])).draw()
        values = reference(network)
        if not near_half(network, values):
            return network, values
    raise SystemExit("failed: no network is drawn without a quotient near a half")


def judge(network, values, answer, count):
    """What is wrong: lines."""
    runtime = by_runtime(network.model(), network.x)[0]
    for program, read in answer.items():
        if isinstance(read, str):
            yield f"{program} refuses: {read}"
            continue
        for n in network.nodes:
            name = n.output[0]
            if n.op_type == "Constant" or name not in read:
                continue
            count["values"] += 1
            why = unlike(read[name], [values[name]])
            if why:
                yield f"{program}: {n.op_type} '{name}': {why}"
        why = unlike(read[network.out], [runtime])
        if why:
            yield f"{program}: the output: {why} by ONNX Runtime"
    yield from unlike_prints(answer)


# --- By PyTorch


class Straight(torch.autograd.Function):
    """The quantized numbers, and a gradient that passes where `passes` is true."""

    @staticmethod
    def forward(ctx, x, y, passes):
        ctx.save_for_backward(passes)
        return y

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.saved_tensors[0], None, None


def quantized(x, scale, zero, kind, axis, rule):
    info = np.iinfo(kind)
    if rule == "rounded" and scale.size == 1:
        return torch.fake_quantize_per_tensor_affine(x, float(scale.reshape(())), int(zero.reshape(())), int(info.min), int(info.max))
    if rule == "rounded":
        zero = torch.from_numpy(np.broadcast_to(zero, scale.shape).astype(np.int32))
        return torch.fake_quantize_per_channel_affine(x, torch.from_numpy(scale), zero, axis, int(info.min), int(info.max))
    shape = [-1 if a == axis else 1 for a in range(x.ndim)] if scale.size > 1 else []
    scale, zero = (torch.from_numpy(np.asarray(a, np.float64).reshape(shape)) for a in (scale, zero))
    u = x.detach().double() / scale
    y = (torch.clamp(torch.round(u) + zero, int(info.min), int(info.max)) - zero) * scale
    return Straight.apply(x, y.float(), ((u + zero >= int(info.min)) & (u + zero <= int(info.max))) | (rule == "all"))


def by_torch(network, values, rule):
    """{weight: gradient} of the sum of all outputs."""
    given = {t.name: numpy_helper.to_array(t) for t in network.tensors}
    given.update((n.output[0], numpy_helper.to_array(n.attribute[0].t)) for n in network.nodes if n.op_type == "Constant")
    leaves = {name: torch.from_numpy(a.copy()).requires_grad_() for name, a in given.items() if a.dtype == np.float32}
    now, of = {"x": torch.from_numpy(network.x), **leaves}, {}
    for n in network.nodes:
        attributes = {a.name: helper.get_attribute_value(a) for a in n.attribute}
        x, out = now.get(n.input[0]) if n.input else None, n.output[0]
        if n.op_type == "QuantizeLinear":
            of[out] = n, attributes.get("axis", 1)
        elif n.op_type == "Identity":
            of[out] = of[n.input[0]]
        elif n.op_type == "DequantizeLinear" and n.input[0] in given:
            now[out] = leaves[out] = torch.from_numpy(values[out].copy()).requires_grad_()
        elif n.op_type == "DequantizeLinear":
            q, axis = of[n.input[0]]
            zero = given[q.input[2]] if len(q.input) > 2 else np.zeros((), np.uint8)
            now[out] = quantized(now[q.input[0]], given[q.input[1]], zero, zero.dtype, axis, rule)
        elif n.op_type == "Gemm":
            now[out] = torch.nn.functional.linear(x, now[n.input[1]], now[n.input[2]])
        elif n.op_type == "Conv":
            now[out] = torch.nn.functional.conv2d(x, now[n.input[1]], now[n.input[2]], padding=1)
        elif n.op_type != "Constant":
            now[out] = {"Relu": torch.relu, "Flatten": lambda t: t.flatten(1),
                        "GlobalAveragePool": lambda t: t.mean((2, 3), keepdim=True)}[n.op_type](x)
    now[network.out].sum().backward()
    return {name: leaf.grad for name, leaf in leaves.items() if leaf.grad is not None}


def unlike_gradients(own, expected):
    for name, gradient in own.items():
        other = expected.get(name)
        other = torch.zeros_like(gradient) if other is None else other.double()
        if not torch.allclose(gradient, other, rtol=1e-4, atol=1e-4 * (1 + float(other.abs().max()))):
            yield f"the gradient of '{name}' is {gradient.flatten()[:8].tolist()}, expected {other.flatten()[:8].tolist()}"


def with_surrogates(build, network, values, model, batch, folder):
    for rule in RULES:
        profile = folder / f"{rule}.profile"
        profile.write_text(f"like pytorch-2.13\nsurrogate QuantizeLinear {rule}\n")
        said, answer = audited(build, model, batch, folder / "surrogate.proof", "--profile", profile, "--gradient", folder / "g.safetensors")
        if said is not None and "even and odd" in said and rule == "rounded":
            continue
        if said is not None:
            yield f"surrogate {rule}: {said}"
            continue
        quantizers = {n.name or f"QuantizeLinear_{i}" for i, n in enumerate(network.nodes) if n.op_type == "QuantizeLinear"}
        if {s.split(" (")[0] for s in answer.get("surrogates", [])} != quantizers:
            yield f"surrogate {rule}: told are {answer.get('surrogates')}, expected {quantizers}"
        yield from unlike_gradients(load_file(folder / "g.safetensors"), by_torch(network, values, rule))


def at_the_ends(build, folder):
    """Of w at the ends of what a quantizer passes, and beside them: lines."""
    for kind, zero in [(np.int8, 0), (np.int8, 1), (np.int8, -4), (np.uint8, 0), (np.uint8, 7)]:
        info, scale, network = np.iinfo(kind), np.float32(0.25), Network(np.random.default_rng(1))
        ends = [info.min - zero - 0.5, info.max - zero + 0.5, info.min - zero, info.max - zero]
        w = np.array([(e + off) * scale for e in ends for off in (-0.25, 0, 0.25)], np.float32)
        network.x, network.opset, network.image = np.arange(1, 2 * len(w) + 1, dtype=np.float32).reshape(2, -1), 13, False
        network.tensors = [numpy_helper.from_array(a, n) for n, a in [("w", w[None]), ("b", np.zeros(1, np.float32)), ("s", np.asarray(scale)),
                                                                     ("z", np.asarray(zero, kind))]]
        network.nodes = [helper.make_node("QuantizeLinear", ["w", "s", "z"], ["q"]), helper.make_node("DequantizeLinear", ["q", "s", "z"], ["v"]),
                         helper.make_node("Gemm", ["x", "v", "b"], ["y"], transB=1)]
        network.out = "y"
        model, batch = folder / "ends.onnx", folder / "ends.npz"
        onnx.save(network.model(), model)
        np.savez(batch, x=network.x)
        for fault in with_surrogates(build, network, {}, model, batch, folder):
            yield f"{kind.__name__}, zero point {zero}: {fault}"


def held(seed, folder, name, with_surrogates):
    """A network that rounds, or one which adds what rounding adds there: its model, its batch, its profile."""
    rng = np.random.default_rng([seed, 7])
    x, w = rng.integers(-2, 3, (2, 3)).astype(np.float32), (rng.integers(-4, 5, (3, 4)) / 4).astype(np.float32)
    v, u = rng.integers(-2, 3, (4, 2)).astype(np.float32), rng.integers(-2, 3, 2).astype(np.float32)
    slope, added = rng.choice(["0", "1/2", "1", "-1", "3/2"]), np.rint(x @ w) - x @ w
    rounds = helper.make_node("Round", ["h"], ["q"]) if with_surrogates else helper.make_node("Add", ["h", "added"], ["q"])
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), rounds, helper.make_node("Relu", ["q"], ["a"]), helper.make_node("MatMul", ["a", "v"], ["b"]),
             helper.make_node("Abs", ["b"], ["d"]), helper.make_node("Mul", ["d", "u"], ["y"])]
    tensors = {"w": w, "v": v, "u": u, **({} if with_surrogates else {"added": added})}
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], [numpy_helper.from_array(a, n) for n, a in tensors.items()])
    model, batch, profile = (folder / f"{name}.{end}" for end in ("onnx", "npz", "profile"))
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), model)
    np.savez(batch, x=x)
    profile.write_text(f"Abs 0 {slope}\n" + ("surrogate Round all\n" if with_surrogates else ""))
    return model, batch, profile


def held_as_constants(build, folder, number, count):
    """Lines."""
    for seed in range(number):
        found = []
        for with_surrogates in (True, False):
            model, batch, profile = held(seed, folder, "held", with_surrogates)
            done = subprocess.run([build / "tools" / "clarke", "audit", model, "--batch", batch, "--batch-axis=none", "--loss", "sum", "--json", "--profile",
                                   profile, "--wrt", "w,v,u", "--proof", folder / "held.proof", "--gradient", folder / "g.safetensors"],
                                  capture_output=True, text=True)
            checked = subprocess.run([build / "tools" / "clarke-check", folder / "held.proof"], capture_output=True, text=True)
            gradient = {n: g.flatten().tolist() for n, g in load_file(folder / "g.safetensors").items()}
            found.append((json.loads(done.stdout).get("verdict"), gradient, checked.returncode))
        count[f"held {found[0][0]}"] += 1
        if found[0] != found[1] or found[0][2] != 0:
            yield f"held network {seed}: {found}"


RULES = ["rounded", "range", "all"]


def audited(build, model, batch, proof, *options):
    done = subprocess.run([build / "tools" / "clarke", "audit", model, "--batch", batch, "--loss", "sum", "--json", "--proof", proof, *options],
                          capture_output=True, text=True)
    answer = json.loads(done.stdout)
    if "error" in answer:
        return f"audit: {answer['error']}", None
    if answer["verdict"] not in ("in-bouligand", "in-clarke"):
        return f"audit: {answer['verdict']}", answer
    checked = subprocess.run([build / "tools" / "clarke-check", proof], capture_output=True, text=True)
    return (f"clarke-check: {checked.stderr}" if checked.returncode else None), answer


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--number", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    build, programs, count, wrong = Path(options.build), Programs(options.build), Counter(), 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(options.keep or temporary)
        for k in range(options.number):
            network, values = drawn([options.seed, k])
            model, batch = folder / f"{k}.onnx", folder / f"{k}.npz"
            onnx.save(network.model(), model)
            np.save(folder / f"{k}.npy", network.x)
            np.savez(batch, x=network.x)
            faults = list(judge(network, values, programs.read([(model, folder / f"{k}.npy")])[0], count))
            said, answer = audited(build, model, batch, folder / f"{k}.proof")
            if said is not None:
                faults.append(said)
            count[answer["verdict"] if answer else "no verdict"] += 1
            if k % 3 == 0:
                faults += with_surrogates(build, network, values, model, batch, folder)
            count.update(n.op_type for n in network.nodes)
            for fault in faults:
                wrong += 1
                print(f"failed: network {k}: {fault}", flush=True)
        for fault in at_the_ends(build, folder):
            wrong += 1
            print(f"failed: at the ends, {fault}", flush=True)
        for fault in held_as_constants(build, folder, options.number // 3, count):
            wrong += 1
            print(f"failed: {fault}", flush=True)
    print("\n".join(f"{n:6} {what}" for what, n in sorted(count.items(), key=lambda c: -c[1])))
    print(f"{options.number} networks, {wrong} faults")
    return wrong > 0


if __name__ == "__main__":
    raise SystemExit(main())
