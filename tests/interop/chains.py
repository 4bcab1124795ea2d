#!/usr/bin/env python3
"""Records of small networks from which outputs and gradients are missing, of drawn numbers: what clarke-check says of one of them.

    chains.py CLARKE-CHECK [HOW-MANY]

A graph of elementary operators is drawn, and which of its outputs and gradients were recorded: of any numbers, which do not fit
together. What the exact number of one more is, docs/proof-format.md says ("What was not recorded"). Here it is computed from that page
by doubles, value by value, with the sum of the sizes of all terms. It must be verified, rounded to float32; and refused when it is off
by 2^-12 of that size. Where the loss's own gradient comes in between, there is no rule.
"""
import hashlib
import json
import math
import random
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

CHECK, MANY = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 400
ONE = {"Neg": (lambda x: -x, lambda x: -1), "Exp": (math.exp, math.exp), "Sigmoid": (lambda x: 1 / (1 + math.exp(-x)), lambda x: math.exp(-x) / (1 + math.exp(-x)) ** 2),
       "Relu": (lambda x: max(x, 0), lambda x: float(x > 0)), "Tanh": (math.tanh, lambda x: 1 - math.tanh(x) ** 2), "Identity": (lambda x: x, lambda x: 1)}
TWO = {"Add": (lambda x, z: x + z, lambda x, z: (1, 1)), "Sub": (lambda x, z: x - z, lambda x, z: (1, -1)), "Mul": (lambda x, z: x * z, lambda x, z: (z, x))}
X, W = [[1.0, 0.5], [-0.75, 1.25]], [[0.5], [0.75]]
SAMPLES = range(2)


class Network:
    """Nodes (operator, inputs); node 0 is x w, the last one the loss's."""

    def __init__(self, draw):
        self.nodes = [("MatMul", ())]
        for k in range(1, draw.randrange(3, 8)):
            two = draw.random() < 0.5 and k > 1
            ins = tuple(draw.sample(range(k), 2)) if two else (draw.randrange(max(0, k - 2), k),)
            self.nodes.append((draw.choice(list(TWO if two else [o for o in ONE if o != "Identity"])), ins))
        left = [k for k in range(len(self.nodes)) if not any(k in ins for _, ins in self.nodes)]
        while len(left) > 1:
            self.nodes.append(("Add", (left.pop(), left.pop())))
            left.append(len(self.nodes) - 1)
        self.nodes.append(("Neg", (len(self.nodes) - 1,)))

    def computed(self, k, sample, read):
        """(the operator's number of what it reads, the size of what it is made of)."""
        op, ins = self.nodes[k]
        if op == "MatMul":
            return sum(X[sample][i] * W[i][0] for i in range(2)), sum(abs(X[sample][i] * W[i][0]) for i in range(2))
        numbers = [read(i, sample) for i in ins]
        value = (ONE[op][0] if len(ins) == 1 else TWO[op][0])(*(n for n, _ in numbers))
        return value, 1 + abs(value) + sum(size for _, size in numbers) * (1 + max(abs(s) for s in self.slopes(k, [n for n, _ in numbers])))

    def slopes(self, k, numbers):
        op, ins = self.nodes[k]
        return [ONE[op][1](*numbers)] if len(ins) == 1 else TWO[op][1](*numbers)


class Record:
    def __init__(self, draw, net):
        self.net = net
        number = lambda: [float(np.float32(draw.choice([-1, 1]) * (0.25 + draw.random()))) for _ in SAMPLES]
        keep = draw.random()
        self.output = {k: number() for k in range(len(net.nodes)) if draw.random() < keep}
        self.output[0] = [float(np.float32(self.net.computed(0, s, None)[0])) for s in SAMPLES]
        keep = draw.random()
        self.gradient = {k: number() for k in range(len(net.nodes)) if draw.random() < keep}

    def read(self, k, sample):
        """What stands for the value, and its size."""
        return (self.output[k][sample], abs(self.output[k][sample])) if k in self.output else self.net.computed(k, sample, self.read)

    def back(self, k, sample, own=False):
        """What stands for its gradient, and its size. own: that is asked about. None: the loss's comes in between."""
        if k in self.gradient and not own:
            return self.gradient[k][sample], abs(self.gradient[k][sample])
        total, size = 0.0, 0.0
        if k == len(self.net.nodes) - 1:
            return (1.0, 1.0) if own else None
        for r, (_, ins) in enumerate(self.net.nodes):
            if k not in ins:
                continue
            behind = self.back(r, sample)
            if behind is None:
                return None
            numbers = [self.read(i, sample) for i in ins]
            for i, slope in zip(ins, self.net.slopes(r, [n for n, _ in numbers])):
                if i == k:
                    total += slope * behind[0]
                    size += (1 + abs(slope)) * (1 + behind[1]) * (1 + sum(s for _, s in numbers)) ** 2
        return total, size


def tensors_file(path, tensors):
    head, data = {}, b""
    for name, values in tensors.items():
        raw = np.asarray(values, "<f4").tobytes()
        head[name] = {"dtype": "F32", "shape": list(np.shape(values)), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(head, separators=(",", ":")).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def checked(folder, record, part, k, value):
    """What clarke-check says of `within`, of that number."""
    net, names = record.net, [f"n{i}" for i in range(len(record.net.nodes))]
    nodes = [helper.make_node(op, [names[i] for i in ins] or ["x", "w"], [name], name) for name, (op, ins) in zip(names, net.nodes)]
    nodes.append(helper.make_node("ReduceSum", [names[-1]], ["out"], "out", keepdims=0))
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 2])],
                              [helper.make_tensor_value_info("out", TensorProto.FLOAT, [])], [numpy_helper.from_array(np.float32(W), "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, folder / "g.onnx")
    np.savez(folder / "b.npz", x=np.float32(X))
    tensors_file(folder / "p", {"w": W})
    tensors_file(folder / "g", {"w": [[0], [0]]})
    column = lambda values: [[v] for v in values]
    trace = {f"output/{names[i]}": column(v) for i, v in record.output.items()} | {f"gradient/{names[i]}": column(v) for i, v in record.gradient.items()}
    tensors_file(folder / "t", trace | {f"{part}/{names[k]}": column(value)})
    lines = ["clarke-proof 1", "claim record"]
    lines += [f"{what} {file} {hashlib.sha256((folder / file).read_bytes()).hexdigest()}"
              for what, file in [("model", "g.onnx"), ("params", "p"), ("batch", "b.npz"), ("trace", "t"), ("gradients", "g")]]
    lines += ["loss sum", "scale 1", "wrt w", "profile pytorch-2.13"] + ["proxy Relu 0 0"] * any(op == "Relu" for op, _ in net.nodes)
    lines += [f"{of} {name} " + ("within" if (of, name) == (part, names[k]) else "not-shown") for of in ("output", "gradient") for name in names + ["out"]]
    lines += ["parameter w not-shown"] + [f"pattern {name} not-covered" for name, (op, _) in zip(names, net.nodes) if op == "Relu"]
    text = "\n".join(lines) + "\n"
    (folder / "proof").write_text(text + "end " + hashlib.sha256(text.encode()).hexdigest() + "\n")
    done = subprocess.run([CHECK, folder / "proof"], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def main():
    draw, failures, counts = random.Random(1), 0, {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for round_ in range(MANY):
            record = Record(draw, Network(draw))
            part, k = draw.choice(["output", "gradient", "gradient"]), draw.randrange(len(record.net.nodes))
            exact = [record.net.computed(k, s, record.read) if part == "output" else record.back(k, s, own=True) for s in SAMPLES]
            if None in exact:
                cases = [("no rule", [1.0, 1.0], "no rule covers it")]
            else:
                at = draw.randrange(2)
                off = [v + (draw.choice([-1, 1]) * size / 2**12 if s == at else 0) for s, (v, size) in enumerate(exact)]
                cases = [("verified", [v for v, _ in exact], "VERIFIED"), ("refused", off, "an entry is farther")]
            for what, value, wanted in cases:
                said = checked(folder, record, part, k, value)
                counts[what] = counts.get(what, 0) + 1
                if wanted not in said:
                    failures += 1
                    print("FAILED", round_, part, k, record.net.nodes, record.output, record.gradient, exact, what, said[-300:])
    print(f"{MANY} records: {counts}; {failures} failed")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
