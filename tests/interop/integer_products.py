"""Networks of integer operators: both programs read them as ONNX's reference evaluator and ONNX Runtime compute them.

Usage: python tests/interop/integer_products.py --build build [--number 150] [--seed 1] [--keep DIR]

Each network is drawn: a layer of floats, integers made by QuantizeLinear or DynamicQuantizeLinear, QLinearConv, QLinearMatMul, ConvInteger or
MatMulInteger of them with stored integers, one after another, and floats again, behind which is a layer. Types, groups, strides, pads,
biases, and scales and zero points, of a tensor or by channel, are drawn, too. Numbers are such that no quotient is near a half, where floats
and real numbers may round otherwise. For each

* what both programs read has the shapes and values of ONNX Runtime and of ONNX's reference evaluator, at every node, and their fingerprints agree;
* `clarke audit` gives a verdict, `clarke-check` verifies its proof, and AD's gradient is PyTorch's, in which what is rounded is detached;
* so it is with a surrogate of each rule, in which what is rounded passes its gradient; a scale that is computed is refused then.
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
from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented
from safetensors.torch import load_file

from quantized import NEAR, RULES, audited, by_runtime, unlike_gradients
from readings import Programs, unlike, unlike_prints

BYTES = [np.int8, np.uint8]


class Network:
    def __init__(self, rng, rule=None):
        self.rule = rule  # a surrogate of QuantizeLinear
        self.rng, self.nodes, self.tensors, self.made = rng, [], {}, 0
        self.image = bool(rng.integers(2))
        self.rows = int(rng.integers(1, 4))
        self.x = rng.standard_normal((self.rows, *((2, 6, 5) if self.image else (5,)))).astype(np.float32)
        self.whole = rng.random() < 0.5  # all samples are one input: DynamicQuantizeLinear mixes them
        self.now = torch.from_numpy(self.x.astype(np.float64))
        self.leaves, self.near = {}, False

    def name(self):
        self.made += 1
        return f"v{self.made}"

    def node(self, op, inputs, outputs=1, **attributes):
        out = [self.name() for _ in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, out, **attributes))
        return out[0] if outputs == 1 else out

    def tensor(self, array):
        name = self.name()
        self.tensors[name] = np.asarray(array)
        return name

    def parameter(self, *dims):
        name = self.tensor((self.rng.standard_normal(dims) / 2).astype(np.float32))
        self.leaves[name] = torch.from_numpy(self.tensors[name].astype(np.float64)).requires_grad_()
        return name, self.leaves[name]

    def note(self, u):
        """Is a number that is rounded near a half?"""
        u = u.detach().numpy() if torch.is_tensor(u) else u
        self.near = self.near or bool((np.abs(u % 1 - 0.5) < NEAR).any())

    def rounded(self, u, zero, low, high):
        """Integers less the zero point, and of them what passes a gradient."""
        self.note(u)
        y = torch.clamp(torch.round(u) + zero, low, high) - zero
        inside = {"all": u == u, "range": (u + zero >= low) & (u + zero <= high), "rounded": y == torch.round(u)}.get(self.rule, u != u)
        passed = torch.where(inside, u, u.detach())
        return y.detach() + (passed - passed.detach())

    def scale(self, n=1):
        return self.rng.uniform(0.01, 0.1, (n,) if n > 1 else [(), (1,)][self.rng.integers(2)]).astype(np.float32)

    def zero(self, kind, n=1):
        low = -5 if kind is np.int8 else 0
        return self.rng.integers(low, 9, (n,) if n > 1 else [(), (1,)][self.rng.integers(2)]).astype(kind)

    def float_layer(self):
        if self.image:
            w, leaf = self.parameter(2, 2, 3, 3)
            self.now = torch.nn.functional.conv2d(self.now, leaf, padding=1)
            return self.node("Conv", ["x", w], pads=[1, 1, 1, 1])
        w, leaf = self.parameter(5, 5)
        self.now = self.now @ leaf
        return self.node("MatMul", ["x", w])

    def quantize(self, h):
        """(integers, their scale and zero point as names, both as numbers, their type); self.now: integers less the zero point."""
        x = self.now
        if self.whole and self.rng.random() < 0.6:
            q, scale, zero = self.node("DynamicQuantizeLinear", [h], 3)
            least = torch.clamp(x.min(), max=0)
            s = (torch.clamp(x.max(), min=0) - least) / 255
            z = torch.round(-least / s).detach()
            self.note(-least / s)
            self.now = self.rounded(x / s, z, 0, 255)
            return q, scale, zero, s, np.uint8
        kind = BYTES[self.rng.integers(2)]
        s, z = self.scale(), self.zero(kind)
        scale, zero = self.tensor(s), self.tensor(z)
        info = np.iinfo(kind)
        self.now = self.rounded(x / s.item(), z.item(), int(info.min), int(info.max))
        return self.node("QuantizeLinear", [h, scale, zero]), scale, zero, s.item(), kind

    def multiply(self, q, scale, zero, s, last):
        """One more layer of integers; the same of what it makes, or, of sums, None in place of the zero point."""
        rng, kind = self.rng, BYTES[self.rng.integers(2)]
        linear, width = rng.integers(2) == 0 or not last, self.now.shape[1]
        groups = int(rng.choice([g for g in (1, 2) if width % g == 0])) if self.image else 1
        out = groups * int(rng.integers(1, 3))
        info = np.iinfo(kind)
        shape = (out, width // groups, *(int(rng.integers(1, min(3, n) + 1)) for n in self.now.shape[2:])) if self.image else (width, out)
        w = rng.integers(info.min, info.max + 1, shape).astype(kind)
        many = out if linear and rng.random() < 0.5 else 1
        # ONNX Runtime has one zero point for a convolution's weight, and 0 where scales are many
        wz = np.zeros((many,) if many > 1 else (), kind) if self.image and many > 1 else self.zero(kind, many)
        ws = self.scale(many)
        attributes = {}
        if self.image:
            attributes = {"strides": [int(rng.integers(1, 3))] * 2, "pads": [int(p) for p in rng.integers(0, 2, 4)], "group": groups}
        product, bias = self.product(w.astype(np.float64), wz.astype(np.float64), attributes, groups), None
        if linear and self.image and rng.random() < 0.5:
            bias = rng.integers(-500, 500, out).astype(np.int32)
            product = product + torch.from_numpy(bias.astype(np.float64)).reshape(1, -1, 1, 1)
        names = self.tensor(w), self.tensor(wz)
        if not linear:
            given = [zero, names[1]] if rng.random() < 0.8 else [zero]
            if len(given) == 1:
                product = self.product(w.astype(np.float64), np.zeros(()), attributes, groups)
            self.now, op = product, "ConvInteger" if self.image else "MatMulInteger"
            y = self.node(op, [q, names[0], *given], **attributes)
            if rng.random() < 0.2:  # by a Cast of floats, which nothing bounds
                count = self.tensor((self.rng.integers(-300, 300, (out, 1, 1) if self.image else out) / 4 + 0.125).astype(np.float32))
                cast = self.node("Cast", [self.node("Add", [count, count])], to=TensorProto.INT32)
                y, self.now = self.node("Add", [y, cast]), self.now + torch.from_numpy(np.trunc(2 * self.tensors[count].astype(np.float64)))
            if rng.random() < 0.4:
                added = rng.integers(-500, 500, (out, 1, 1) if self.image else out).astype(np.int32)
                y, self.now = self.node("Add", [y, self.tensor(added)]), self.now + torch.from_numpy(added.astype(np.float64))
            return y, scale, None, s
        y_kind, ys = BYTES[rng.integers(2)], np.float32(max(float(product.abs().max()) * 0.002, 0.1))
        yz, at = self.zero(y_kind), torch.from_numpy(ws.astype(np.float64).reshape([1, -1, *[1] * (product.ndim - 2)] if many > 1 else ()))
        inputs = [q, scale, zero, names[0], self.tensor(ws), names[1], self.tensor(np.asarray(ys)), self.tensor(yz)]
        u = product * s * at / float(ys)
        self.now = self.rounded(u, yz.item(), int(np.iinfo(y_kind).min), int(np.iinfo(y_kind).max))
        y = self.node("QLinearConv" if self.image else "QLinearMatMul", [*inputs, *([self.tensor(bias)] if bias is not None else [])], **attributes)
        return y, inputs[6], inputs[7], float(ys)

    def product(self, w, zero, attributes, groups):
        if not self.image:
            return self.now @ torch.from_numpy(w - zero)
        w = torch.from_numpy(w - (zero.reshape(-1, 1, 1, 1) if zero.ndim else zero))
        top, left, bottom, right = attributes["pads"]
        return torch.nn.functional.conv2d(torch.nn.functional.pad(self.now, (left, right, top, bottom)), w, stride=attributes["strides"], groups=groups)

    def draw(self):
        q, scale, zero, s, _ = self.quantize(self.float_layer())
        layers = int(self.rng.integers(1, 3))
        for k in range(layers):
            q, scale, zero, s = self.multiply(q, scale, zero, s, k + 1 == layers)
        if zero is None:  # a sum of products, whose other scale is a number
            if scale in self.tensors:  # the number that quantizes is no weight
                scale = self.node("Constant", [], value=numpy_helper.from_array(self.tensors[scale], ""))
            h = self.node("Mul", [self.node("Cast", [q], to=TensorProto.FLOAT), scale])
        else:
            h = self.node("DequantizeLinear", [q, scale, zero])
        self.now = self.now * s
        h, self.now = self.node("Flatten", [h]), self.now.flatten(1)
        w, leaf = self.parameter(self.now.shape[1], 2)
        self.out, self.now = self.node("MatMul", [h, w]), self.now @ leaf
        return self

    def model(self, outputs=()):
        shape = [self.x.shape[0] if self.whole else None, *self.x.shape[1:]]
        ends = [onnx.ValueInfoProto(name=o) for o in [self.out, *outputs]]
        graph = helper.make_graph(self.nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)], ends,
                                  [numpy_helper.from_array(a, n) for n, a in self.tensors.items()])
        model = onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9))
        return model

    def gradients(self):
        self.now.sum().backward()
        return {name: leaf.grad for name, leaf in self.leaves.items() if leaf.grad is not None}


def drawn(seed):
    """A network, and with each surrogate the same."""
    for turn in range(100):
        network, *others = (Network(np.random.default_rng([seed, turn]), rule).draw() for rule in (None, *RULES))
        if not network.near:
            return network, others
    raise SystemExit("failed: no network is drawn without a quotient near a half")


def with_surrogates(build, others, model, batch, folder):
    """Lines: of each rule what is otherwise."""
    for network in others:
        profile = folder / "surrogate.profile"
        profile.write_text(f"surrogate QuantizeLinear {network.rule}\n")
        said, answer = audited(build, model, batch, folder / "surrogate.proof", "--profile", profile, "--gradient", folder / "g.safetensors")
        if any(n.op_type == "DynamicQuantizeLinear" for n in network.nodes):
            if said is None or "does not say what passes a scale that is computed" not in said:
                yield f"surrogate {network.rule}: a computed scale is not refused: {said}"
        elif said is not None and "a whole number other than 0" in said and any(n.op_type == "Add" for n in network.nodes):
            continue  # a sum that may be beyond 32 bits is cast, which has no surrogate
        elif said is not None and not ("even and odd" in said and network.rule == "rounded"):
            yield f"surrogate {network.rule}: {said}"
        elif said is None:
            yield from unlike_gradients(load_file(folder / "g.safetensors"), network.gradients())
            told = {s.split(" (")[1].split(")")[0] for s in answer["surrogates"]}
            if told != {n.op_type for n in network.nodes if n.op_type.startswith(("Quant", "QLinear"))}:
                yield f"surrogate {network.rule}: told are {answer['surrogates']}"


def judge(network, answer, count):
    outputs = [o for n in network.nodes for o in n.output if o != network.out]
    model = network.model(outputs)
    oracles = {"the reference evaluator": ReferenceEvaluator(model).run(None, {"x": network.x})}
    try:
        oracles["ONNX Runtime"] = by_runtime(model, network.x)
        count["computed by ONNX Runtime"] += 1
    except NotImplemented:  # of some types of operands
        pass
    of = {o: n for n in network.nodes for o in n.output}
    for program, read in answer.items():
        if isinstance(read, str):
            yield f"{program} refuses: {read}"
            continue
        for oracle, values in oracles.items():
            for name, value in zip([network.out, *outputs], values):
                if name not in read:
                    yield f"{program}: no value '{name}' of {of[name].op_type}"
                    continue
                count["values"] += 1
                if why := unlike(read[name], [value]):
                    yield f"{program}: {of[name].op_type} '{name}', by {oracle}: {why}"
    yield from unlike_prints(answer)


def of_many(programs, folder):
    """Lines: DynamicQuantizeLinear of more entries than one ReduceMax has."""
    rng = np.random.default_rng(7)
    x = rng.standard_normal((3, 2999)).astype(np.float32)
    node = helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "scale", "zero"])
    graph = helper.make_graph([node, helper.make_node("Identity", ["scale"], ["y"])], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 2999])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    onnx.save(model, folder / "many.onnx")
    np.save(folder / "many.npy", x[None])
    model.graph.output.extend([onnx.ValueInfoProto(name="q"), onnx.ValueInfoProto(name="zero")])
    scale, q, zero = by_runtime(onnx.shape_inference.infer_shapes(model), x)
    u = x.astype(np.float64) / scale
    clear = np.abs(u % 1 - 0.5) > NEAR  # floats round others otherwise
    for program, read in programs.read([(folder / "many.onnx", folder / "many.npy")])[0].items():
        if isinstance(read, str):
            yield f"{program} refuses {x.size} entries: {read}"
            continue
        own = np.array([float(w) for w in read["q"][1]])
        if unlike(read["scale"], [scale]) or unlike(read["zero"], [zero]) or (own != q.reshape(-1))[clear.reshape(-1)].any():
            yield f"{program} quantizes {x.size} entries otherwise"


def wrong_models():
    """(what is wrong, the model's nodes and tensors): of each both programs refuse all."""
    one, zero = np.asarray(np.float32(0.5)), np.asarray(np.uint8(3))
    quantized = helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"])
    given = {"s": one, "z": zero, "ys": one, "yz": zero, "ws": one, "wz": zero}

    def product(op, w, inputs, **tensors):
        return [quantized, helper.make_node(op, inputs, ["p"])], {**given, "w": w, **tensors}

    two = ["q", "w", "z", "wz"]
    scaled = ["q", "s", "z", "w", "ws", "wz", "ys", "yz"]
    yield "a sum beyond 32 bits", *product("MatMulInteger", np.ones((33026, 1), np.uint8), two), 33026
    yield "integers of 16 bits", *product("MatMulInteger", np.ones((4, 1), np.uint16), ["q", "w"]), 4
    yield "a zero point of another type", *product("MatMulInteger", np.ones((4, 1), np.uint8), two, wz=np.asarray(np.int8(1))), 4
    yield "floats that are multiplied", *product("MatMulInteger", np.ones((4, 1), np.float32), ["q", "w"]), 4
    yield "a zero point by column of the first", *product("MatMulInteger", np.ones((4, 1), np.uint8), two, z2=np.ones(4, np.uint8)), 4
    yield "a scale of 0", *product("QLinearMatMul", np.ones((4, 1), np.uint8), scaled, ws=np.asarray(np.float32(0))), 4
    yield "scales of too many columns", *product("QLinearMatMul", np.ones((4, 3), np.uint8), scaled, ws=np.ones(2, np.float32)), 4
    yield "scales of rows", *product("QLinearMatMul", np.ones((4, 4), np.uint8), [*scaled[:1], "rows", *scaled[2:]], rows=np.ones(4, np.float32)), 4
    yield "a bias of one entry for two", *product("QLinearConv", np.ones((2, 1, 1), np.uint8), [*scaled, "b"], b=np.ones(1, np.int32)), (1, 4)
    yield "a bias of floats", *product("QLinearConv", np.ones((2, 1, 1), np.uint8), [*scaled, "b"], b=np.ones(2, np.float32)), (1, 4)
    convolved, tensors = product("QLinearConv", np.ones((2, 1, 1), np.uint8), [*scaled, "bias"], c=np.ones(2, np.float32))
    yield "a bias that nothing bounds", [helper.make_node("Add", ["c", "c"], ["d"]), helper.make_node("Cast", ["d"], ["bias"], to=TensorProto.INT32),
                                        *convolved], tensors, (1, 4)
    sums, tensors = product("MatMulInteger", np.ones((4, 1), np.uint8), ["q", "w"], most=np.asarray([2**31 - 1], np.int32))
    sums[1].output[0] = "sum"
    yield "a sum that wraps around", [*sums, helper.make_node("Add", ["sum", "most"], ["p"])], tensors, 4
    yield "a sum of bytes", [quantized, helper.make_node("Add", ["q", "z"], ["p"])], given, 4
    nodes, tensors = product("MatMulInteger", np.ones((4, 1), np.uint8), ["i", "w"])
    yield "integers of 32 bits, computed", [helper.make_node("Cast", ["x"], ["i"], to=TensorProto.INT32), nodes[1]], tensors, 4


def refusals(programs, folder):
    """Lines: what is not refused."""
    for k, (what, nodes, tensors, width) in enumerate(wrong_models()):
        if what == "a zero point by column of the first":
            nodes[1].input[2] = "z2"
        shape = (2, *(width if isinstance(width, tuple) else (width,)))
        graph = helper.make_graph([*nodes, helper.make_node("Cast", ["p"], ["y"], to=TensorProto.FLOAT)], "g",
                                  [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, *shape[1:]])], [onnx.ValueInfoProto(name="y")],
                                  [numpy_helper.from_array(a, n) for n, a in tensors.items()])
        graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.FLOAT, None))
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), folder / "wrong.onnx")
        np.save(folder / "wrong.npy", np.full(shape, 0.25, np.float32))
        for program, said in programs.read([(folder / "wrong.onnx", folder / "wrong.npy")])[0].items():
            if not isinstance(said, str):
                yield f"{program} reads {what}"


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
        profile = folder / "ties.profile"  # DynamicQuantizeLinear has a largest and a smallest, whose ties a file does not tell
        profile.write_text("".join(f"tie {name} mean\n" for name in ("ReduceMax", "ReduceMin", "Maximum", "Minimum")))
        for k in range(options.number):
            network, others = drawn([options.seed, k])
            model, batch = folder / f"{k}.onnx", folder / f"{k}.npz"
            onnx.save(network.model(), model)
            x = network.x[None] if network.whole else network.x
            np.save(folder / f"{k}.npy", x)
            np.savez(batch, x=x)
            faults = list(judge(network, programs.read([(model, folder / f"{k}.npy")])[0], count))
            said, answer = audited(build, model, batch, folder / f"{k}.proof", "--gradient", folder / "g.safetensors", "--profile", profile)
            if said is not None:
                faults.append(said)
            else:
                faults += unlike_gradients(load_file(folder / "g.safetensors"), network.gradients())
            faults += with_surrogates(build, others, model, batch, folder)
            count[answer["verdict"] if answer else "no verdict"] += 1
            count.update(n.op_type for n in network.nodes)
            for fault in faults:
                wrong += 1
                print(f"failed: network {k}: {fault}", flush=True)
        for fault in of_many(programs, folder):
            wrong += 1
            print(f"failed: {fault}", flush=True)
        for fault in refusals(programs, folder):
            wrong += 1
            print(f"failed: {fault}", flush=True)
    print("\n".join(f"{n:6} {what}" for what, n in sorted(count.items(), key=lambda c: -c[1])))
    print(f"{options.number} networks, {wrong} faults")
    return wrong > 0


if __name__ == "__main__":
    raise SystemExit(main())
