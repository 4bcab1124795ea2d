"""The networks of tests/interop/cost_counters.py as ONNX files, made without a framework: their weights are zeros."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "interop"))
from wire import BODY, VARINT, field  # noqa: E402

FLOAT, INT64 = 1, 7


def text(number, value):
    return field(number, BODY, value.encode())


def attribute(name, value):
    if isinstance(value, int):
        return field(5, BODY, text(1, name) + field(3, VARINT, value) + field(20, VARINT, 2))
    return field(5, BODY, text(1, name) + b"".join(field(8, VARINT, v) for v in value) + field(20, VARINT, 7))


class Network:
    """Nodes one after another; each gives its output's name."""

    def __init__(self, shape, opset=20):
        self.shape, self.opset, self.nodes, self.tensors, self.count = shape, opset, [], [], 0

    def name(self, stem):
        self.count += 1
        return f"{stem}{self.count}"

    def weight(self, *dims):
        name, count = self.name("w"), 1
        for d in dims:
            count *= d
        self.tensors.append(b"".join(field(1, VARINT, d) for d in dims) + field(2, VARINT, FLOAT) + text(8, name)
                            + field(9, BODY, bytes(4 * count)))
        return name

    def numbers(self, *values):
        name = self.name("n")
        self.tensors.append(field(1, VARINT, len(values)) + field(2, VARINT, INT64) + text(8, name)
                            + field(9, BODY, b"".join(v.to_bytes(8, "little", signed=True) for v in values)))
        return name

    def node(self, op, *inputs, outputs=1, **attributes):
        names = [self.name("v") for _ in range(outputs)]
        self.nodes.append(b"".join(text(1, i) for i in inputs) + b"".join(text(2, o) for o in names) + text(3, self.name(op))
                          + text(4, op) + b"".join(attribute(k, v) for k, v in attributes.items()))
        return names[0] if outputs == 1 else names

    def conv(self, x, before, after, kernel, pad=0):
        return self.node("Conv", x, self.weight(after, before, kernel, kernel), self.weight(after), pads=[pad] * 4,
                         kernel_shape=[kernel] * 2)

    def linear(self, x, before, after):
        return self.node("Gemm", x, self.weight(after, before), self.weight(after), transB=1)

    def tokens(self, x, before, after):
        return self.node("Add", self.weight(after), self.node("MatMul", x, self.weight(before, after)))

    def pool(self, x):
        return self.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])

    def bytes(self, *outputs):
        def port(name, shape):
            dims = b"".join(field(1, BODY, text(2, d) if isinstance(d, str) else field(1, VARINT, d)) for d in shape)
            return text(1, name) + field(2, BODY, field(1, BODY, field(1, VARINT, FLOAT) + field(2, BODY, dims)))

        graph = (b"".join(field(1, BODY, n) for n in self.nodes) + text(2, "net") + b"".join(field(5, BODY, t) for t in self.tensors)
                 + field(11, BODY, port("x", self.shape))
                 + b"".join(field(12, BODY, text(1, o) + field(2, BODY, field(1, BODY, field(1, VARINT, FLOAT)))) for o in outputs))
        return field(1, VARINT, 9) + field(7, BODY, graph) + field(8, BODY, text(1, "") + field(2, VARINT, self.opset))


def lenet():
    n = Network((1, 1, 28, 28))
    x = n.pool(n.node("Relu", n.conv("x", 1, 6, 5, 2)))
    x = n.node("Flatten", n.pool(n.node("Relu", n.conv(x, 6, 16, 5))), axis=1)
    x = n.node("Relu", n.linear(x, 400, 120))
    return n.bytes(n.linear(n.node("Relu", n.linear(x, 120, 84)), 84, 10))


def vgg11():
    n = Network((1, 3, 32, 32))
    x, channels = "x", 3
    for c in (64, "M", 128, "M", 256, 256, "M", 512, 512, "M", 512, 512, "M"):
        if c == "M":
            x = n.pool(x)
            continue
        x = n.conv(x, channels, c, 3, 1)
        x = n.node("Relu", n.node("BatchNormalization", x, *(n.weight(c) for _ in range(4))))
        channels = c
    return n.bytes(n.linear(n.node("Flatten", x, axis=1), 512, 10))


def block(d=64, heads=4, tokens=16):
    n = Network((1, tokens, d))
    q, k, v = n.node("Split", n.tokens(n.node("LayerNormalization", "x", n.weight(d), n.weight(d), axis=-1), d, 3 * d),
                     n.numbers(d, d, d), outputs=3, axis=2)
    shape = n.numbers(0, 0, heads, d // heads)
    q, k, v = (n.node("Transpose", n.node("Reshape", u, shape), perm=p) for u, p in
               ((q, [0, 2, 1, 3]), (k, [0, 2, 3, 1]), (v, [0, 2, 1, 3])))
    y = n.node("MatMul", n.node("Softmax", n.node("MatMul", q, k), axis=-1), v)
    y = n.node("Reshape", n.node("Transpose", y, perm=[0, 2, 1, 3]), n.numbers(0, 0, d))
    x = n.node("Add", "x", n.tokens(y, d, d))
    y = n.node("LayerNormalization", x, n.weight(d), n.weight(d), axis=-1)
    return n.bytes(n.node("Add", x, n.tokens(n.node("Gelu", n.tokens(y, d, 4 * d)), 4 * d, d)))


NETWORKS = {"lenet": lenet, "vgg11": vgg11, "block": block}
