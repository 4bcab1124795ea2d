"""Models and batches that ask for much more than they hold."""
import struct

from files import (archive, attribute, bomb, field, floats, graph, integers, model, network_proof, node, npy, scalar, tensor,
                   text)
from inputs import ENDS, Hostile, refused, run

INPUTS = []
RELU = ("proxy Relu 0 0",)
REFUSED = [refused("audit"), refused("show"), refused("check")]


def batch(x=None, y=None):
    """[1, 1] and a target, unless another is given."""
    members = [("x.npy", x if x is not None else npy([1, 1], floats(1)))]
    return archive(members + ([("y.npy", y)] if y is not None else []))


def network(name, make, data=None, proxies=(), runs=None, quick=True):
    """make() gives the model's bytes; data() the batch's."""
    def files():
        m, b = make(), (data or batch)()
        return {"model.onnx": m, "batch.npz": b, "forged.proof": network_proof(m, b, proxies)}
    default = [run("audit"), run("show"), run("check"), run("own", (0, 2))]
    INPUTS.append(Hostile(name, files, runs or default, quick))


def chain(op, n, end="out", **attributes):
    names = ["x"] + ["a%d" % i for i in range(n - 1)] + [end]
    return [node(op, [names[i]], [names[i + 1]], **attributes) for i in range(n)]


# ---- many nodes, many names

network("chain of Relu, 4000", lambda: model(chain("Relu", 4000), ["N", 1]), proxies=RELU, quick=False)
network("chain of Relu, 20000", lambda: model(chain("Relu", 20000), ["N", 1]), proxies=RELU,
        runs=[refused("audit", "nodes"), refused("show", "nodes"), refused("check", "nodes")])
network("chain of Identity, 25000", lambda: model(chain("Identity", 25000), ["N", 1]), quick=False)
network("chain of Abs, 4000, wide", lambda: model(chain("Abs", 4000), ["N", 100]), proxies=("proxy Abs 0 0",),
        data=lambda: batch(npy([10, 100])), quick=False)
network("chain of Sigmoid, 4000", lambda: model(chain("Sigmoid", 4000), ["N", 1]), quick=False)
network("chain of Sigmoid, 300", lambda: model(chain("Sigmoid", 300), ["N", 1]), quick=False)
network("chain of Softmax, 1000, wide", lambda: model(chain("Softmax", 1000), ["N", 100]),
        data=lambda: batch(npy([4, 100])), quick=False)
# Numbers double at each: the library encloses those that grow too long.
network("chain of HardSwish, 1000", lambda: model(chain("HardSwish", 1000), ["N", 1]),
        runs=[run("audit"), run("show"), run("check")])
network("chain of HardSwish, 40", lambda: model(chain("HardSwish", 40), ["N", 1]),
        proxies=("proxy HardSwish 0 0", "proxy HardSwish 1 0"), quick=False)
network("chain of Mul by a float, 4000", lambda: model(
    [node("Mul", ["x" if i == 0 else "a%d" % i, "w"], ["a%d" % (i + 1) if i < 3999 else "out"]) for i in range(4000)],
    ["N", 1], [tensor("w", [1], floats(1.1))]), quick=False)
network("chain of LayerNormalization, 500", lambda: model(
    [node("LayerNormalization", ["x" if i == 0 else "a%d" % i, "w"], ["a%d" % (i + 1) if i < 499 else "out"])
     for i in range(500)], ["N", 3], [tensor("w", [3])]), data=lambda: batch(npy([1, 3], floats(1, 2, 4))), quick=False)


def doublings(n, op="Add"):
    return [node(op, [name, name], ["a%d" % (i + 1) if i < n - 1 else "out"])
            for i, name in enumerate(["x"] + ["a%d" % i for i in range(1, n)])]


network("sums doubled 4000 times", lambda: model(doublings(4000), ["N", 1]), quick=False)
# As many names as fit: they take the time of a few, for none is searched for among all.
SOON = [run("audit", seconds=4), run("show", (0,), seconds=2), run("check", seconds=2), run("own", (0, 2), seconds=2)]
network("initializers, 30000", lambda: model([node("Relu", ["x"], ["out"])], ["N", 1],
                                             [tensor("w%d" % i, [0], b"") for i in range(30000)]), proxies=RELU, runs=SOON)
network("initializers used, 4000", lambda: model(
    [node("Add", ["x" if i == 0 else "a%d" % i, "w%d" % i], ["a%d" % (i + 1) if i < 3999 else "out"])
     for i in range(4000)], ["N", 1], [tensor("w%d" % i, [1]) for i in range(4000)]), quick=False)
network("inputs, 30000", lambda: (lambda m: m)(model([node("Relu", ["x"], ["out"])], ["N", 1])
        + field(7, 2, b"".join(field(11, 2, text(1, "i%d" % i)) for i in range(30000)))), proxies=RELU,
        runs=[refused("audit"), refused("show"), refused("check")])
network("outputs named by a node, 30000", lambda: model([node("Relu", ["x"], ["out"] + ["o%d" % i for i in range(30000)])],
                                                        ["N", 1]), proxies=RELU,
        runs=[refused("audit"), refused("show"), refused("check")])
network("inputs of a Concat, 60000", lambda: model([node("Concat", ["x"] * 60000, ["out"], axis=1)], ["N", 1]),
        runs=REFUSED)
network("attributes of a node, 30000", lambda: model(
    [node("Relu", ["x"], ["out"], **{"a%d" % i: 1 for i in range(30000)})], ["N", 1]), proxies=RELU,
    runs=[refused("audit"), refused("show"), refused("check")])
network("a name of 900 kB", lambda: model([node("Relu", ["x"], ["a" * 300000]), node("Relu", ["a" * 300000], ["out"])],
                                          ["N", 1]), proxies=RELU)
network("messages inside messages", lambda: nested(20000), runs=[refused("audit"), refused("show"), refused("check")])
network("operator sets, 50000", lambda: model([node("Relu", ["x"], ["out"])], ["N", 1])
        + b"".join(field(8, 2, text(1, "d%d" % i) + field(2, 0, 1)) for i in range(50000)), proxies=RELU)
network("metadata, 50000", lambda: model([node("Relu", ["x"], ["out"])], ["N", 1])
        + b"".join(field(14, 2, text(1, "d%d" % i) + text(2, "v")) for i in range(50000)), proxies=RELU)


def nested(depth):
    """Attributes of graphs with a node with an attribute of a graph..."""
    inner = b""
    for _ in range(depth):
        inner = field(1, 2, field(5, 2, text(1, "a") + field(6, 2, inner) + field(20, 0, 5)))
        if len(inner) > 900000:
            break
    return field(1, 0, 8) + field(7, 2, inner + text(2, "g")) + field(8, 2, field(2, 0, 17))


# ---- outputs far larger than inputs

def concat_doublings(n, first="x", axis=1):
    return doublings_of("Concat", n, axis=axis)


def doublings_of(op, n, **attributes):
    return [node(op, [name, name], ["a%d" % (i + 1) if i < n - 1 else "out"], **attributes)
            for i, name in enumerate(["x"] + ["a%d" % i for i in range(1, n)])]


for doubled, fast in ((12, True), (20, False), (22, False), (25, True), (30, True), (63, True), (100, True)):
    network("Concat doublings, %d" % doubled, lambda n=doubled: model(doublings_of("Concat", n, axis=1), ["N", 1]),
            quick=fast)
network("Concat doublings, 18, and Relu", lambda: model(
    doublings_of("Concat", 18, axis=1)[:-1] + [node("Concat", ["a17", "a17"], ["b"], axis=1), node("Relu", ["b"], ["out"])],
    ["N", 1]), proxies=RELU, data=lambda: batch(npy([1, 1], floats(0))), quick=False)
network("Concat doublings, 16, and Relu at 0", lambda: model(
    [node("Add", ["x", "w"], ["s"])]
    + [node("Concat", [a, a], [b], axis=1) for a, b in zip(["s"] + ["a%d" % i for i in range(15)],
                                                         ["a%d" % i for i in range(16)])]
    + [node("Relu", ["a15"], ["out"])], ["N", 1], [tensor("w", [1], floats(0))]), proxies=RELU,
    data=lambda: batch(npy([1, 1], floats(0))), quick=False)
network("Concat doublings, 14, twelve samples, at 0", lambda: model(
    [node("Add", ["x", "w"], ["s"])]
    + [node("Concat", [a, a], [b], axis=1) for a, b in zip(["s"] + ["a%d" % i for i in range(13)],
                                                         ["a%d" % i for i in range(14)])]
    + [node("Relu", ["a13"], ["out"])], ["N", 1], [tensor("w", [1], floats(0))]), proxies=RELU,
    data=lambda: batch(npy([12, 1], floats(*[0] * 12))), quick=False)
for pads in ([0, 0, 0, 1 << 20], [0, 0, 0, 1 << 24], [0, 0, 0, 1 << 27], [0, 0, 0, 1 << 31], [0, 0, 0, 1 << 40],
             [0, 1 << 62, 0, 1 << 62], [0, (1 << 63) - 1, 0, 1], [0, -(1 << 63) + (1 << 64), 0, 0]):
    network("Pad by %x and %x" % (pads[1], pads[3]), lambda p=pads: model(
        [node("Pad", ["x", "p"], ["out"])], ["N", 1], [integers("p", p)]), quick=pads[3] != 1 << 24)
network("Pad of 300 rows by 2^20", lambda: model([node("Pad", ["x", "p"], ["out"])], ["N", 300, 1],
                                                 [integers("p", [0, 0, 0, 0, 0, 1 << 20])]),
        data=lambda: batch(npy([1, 300, 1])))
network("Pad of 60000 samples by 1000", lambda: model([node("Pad", ["x", "p"], ["p1"]), node("Relu", ["p1"], ["out"])],
                                                      ["N", 1], [integers("p", [0, 0, 0, 1000])]), proxies=RELU,
        data=lambda: batch(npy([60000, 1])), quick=False)
network("Pad by 1000 twelve times", lambda: model(
    [node("Pad", ["x" if i == 0 else "a%d" % i, "p"], ["a%d" % (i + 1) if i < 11 else "out"]) for i in range(12)],
    ["N", 1], [integers("p", [0, 0, 0, 1000])]), quick=False)
network("Gemm, an outer product", lambda: model([node("MatMul", ["x", "w"], ["out"])], ["N", 1], [tensor("w", [1, 200000])]),
        data=lambda: batch(npy([100, 1])), quick=False)
network("Gemm, an outer product, 30000 samples", lambda: model(
    [node("MatMul", ["x", "w"], ["out"])], ["N", 1], [tensor("w", [1, 100000])]), data=lambda: batch(npy([30000, 1])))
network("MatMul chain through 1", lambda: model(
    [node("MatMul", ["x", "w"], ["a"]), node("MatMul", ["a", "v"], ["b"]), node("MatMul", ["b", "w"], ["c"]),
     node("MatMul", ["c", "v"], ["out"])], ["N", 1], [tensor("w", [1, 60000]), tensor("v", [60000, 1])]),
    data=lambda: batch(npy([200, 1])), quick=False)
network("Add broadcast, [N,4096,1] and [1,4096]", lambda: model(
    [node("Add", ["x", "w"], ["out"])], ["N", 4096, 1], [tensor("w", [1, 4096])]), data=lambda: batch(npy([1, 4096, 1])),
    quick=False)
network("Add broadcast, [N,50000,1] and [1,50000]", lambda: model(
    [node("Add", ["x", "w"], ["out"])], ["N", 50000, 1], [tensor("w", [1, 50000])]), data=lambda: batch(npy([1, 50000, 1])))
network("Add broadcast of one entry to rank 8", lambda: model(
    [node("Add", ["x", "w%d" % i] if i == 0 else ["a%d" % i, "w%d" % i], ["a%d" % (i + 1) if i < 6 else "out"])
     for i in range(7)], ["N"] + [1] * 7,
    [tensor("w%d" % i, [1] * (i + 1) + [20] + [1] * (6 - i)) for i in range(7)]), data=lambda: batch(npy([1] * 8)))
network("Mul broadcast", lambda: model([node("Mul", ["x", "w"], ["out"])], ["N", 3000, 1], [tensor("w", [1, 3000])]),
        data=lambda: batch(npy([3, 3000, 1])), quick=False)
network("PRelu broadcast", lambda: model([node("PRelu", ["x", "w"], ["out"])], ["N", 1], [tensor("w", [100000])]),
        proxies=("proxy PRelu 0 0",), runs=[refused("audit"), refused("show"), refused("check")])


def conv(shape, weight, samples=1, **attributes):
    return (lambda: model([node("Conv", ["x", "w"], ["out"], **attributes)], ["N"] + shape, [tensor("w", weight)]),
            lambda: batch(npy([samples] + shape)))


for name, made, fast in (
        ("pads 2^10", conv([1, 1, 1], [1, 1, 1, 1], pads=[1024] * 4), False),
        ("pads 2^14", conv([1, 1, 1], [1, 1, 1, 1], pads=[16384] * 4), True),
        ("pads 2^31", conv([1, 1, 1], [1, 1, 1, 1], pads=[1 << 31] * 4), True),
        ("pads 2^62", conv([1, 1, 1], [1, 1, 1, 1], pads=[1 << 62] * 4), True),
        ("pads 2^63 - 1", conv([1, 1, 1], [1, 1, 1, 1], pads=[(1 << 63) - 1] * 4), True),
        ("strides 2^62", conv([1, 4, 4], [1, 1, 2, 2], strides=[1 << 62] * 2), True),
        ("dilations 2^62", conv([1, 4, 4], [1, 1, 2, 2], dilations=[1 << 62] * 2), True),
        ("dilations and pads 2^30", conv([1, 4, 4], [1, 1, 2, 2], dilations=[1 << 30] * 2, pads=[1 << 30] * 4), True),
        ("strides 0", conv([1, 4, 4], [1, 1, 2, 2], strides=[0, 0]), True),
        ("strides -1", conv([1, 4, 4], [1, 1, 2, 2], strides=[-1, -1]), True),
        ("group 2^62", conv([1, 4, 4], [1, 1, 2, 2], group=1 << 62), True),
        ("kernel_shape 2^62", conv([1, 4, 4], [1, 1, 2, 2], kernel_shape=[1 << 62] * 2), True),
        ("kernel 200x200 at 200x200, padded", conv([1, 200, 200], [1, 1, 200, 200], pads=[100] * 4), False),
        ("kernel 200x200 at 400x400", conv([1, 400, 400], [1, 1, 200, 200]), True),
        ("kernel 32x32 at 300x300", conv([1, 300, 300], [1, 1, 32, 32]), False),
        ("filters 1000 at 200x200", conv([1, 200, 200], [1000, 1, 3, 3]), False),
        ("filters 20000, kernel 3x3 at 100x100", conv([1, 100, 100], [20000, 1, 3, 3]), True),
        ("channels 1000, kernel 1", conv([1000, 10, 10], [100, 1000, 1, 1]), False)):
    network("Conv, " + name, *made, quick=fast)


def pool(op, shape, samples=1, **attributes):
    return (lambda: model([node(op, ["x"], ["out"], **attributes)], ["N"] + shape), lambda: batch(npy([samples] + shape)))


for name, made, fast in (
        ("MaxPool, kernel 11x11 at 400x400", pool("MaxPool", [1, 400, 400], kernel_shape=[11, 11]), False),
        ("MaxPool, kernel 9x9, 60000 ties", pool("MaxPool", [1, 245, 245], kernel_shape=[9, 9]), False),
        ("MaxPool, kernel 400x400", pool("MaxPool", [1, 400, 400], kernel_shape=[400, 400]), True),
        ("MaxPool, kernel 2^62", pool("MaxPool", [1, 4, 4], kernel_shape=[1 << 62] * 2), True),
        ("MaxPool, kernel 2^32 by 2^32", pool("MaxPool", [1, 4, 4], kernel_shape=[1 << 32] * 2), True),
        ("MaxPool, pads 2^62", pool("MaxPool", [1, 4, 4], kernel_shape=[2, 2], pads=[1 << 62] * 4), True),
        ("MaxPool, dilations 2^62", pool("MaxPool", [1, 4, 4], kernel_shape=[2, 2], dilations=[1 << 62] * 2), True),
        ("AveragePool, kernel 200x200", pool("AveragePool", [1, 400, 400], kernel_shape=[200, 200]), True),
        ("AveragePool, kernel 30x30", pool("AveragePool", [1, 300, 300], kernel_shape=[30, 30]), False),
        ("AveragePool, kernel 2^31, padded", pool("AveragePool", [1, 4, 4], kernel_shape=[1 << 31] * 2, pads=[1 << 31] * 4),
         True),
        ("GlobalMaxPool of 400x400", pool("GlobalMaxPool", [1, 400, 400]), True),
        ("GlobalAveragePool of 400x400", pool("GlobalAveragePool", [1, 400, 400]), False),
        ("Softmax of 100000", pool("Softmax", [100000]), False),
        ("LogSoftmax of 5000", pool("LogSoftmax", [5000]), False),
        ("Transpose of 200000, 500 times", (lambda: model(chain("Transpose", 500, perm=[0, 2, 1]), ["N", 400, 400]),
                                            lambda: batch(npy([1, 400, 400]))), False),
        ("Flatten, axis 2^62", pool("Flatten", [4], axis=1 << 62), True),
        ("Softmax, axis 2^62", pool("Softmax", [4], axis=1 << 62), True),
        ("Softmax, axis -2^63", pool("Softmax", [4], axis=1 << 63), True)):
    network(name, *made, proxies=("tie MaxPool first",) if name.startswith("MaxPool") else
            ("tie GlobalMaxPool first",) if "GlobalMax" in name else (), quick=fast)


def reshape(shape, given, samples=1):
    return (lambda: model([node("Reshape", ["x", "s"], ["out"])], ["N"] + shape, [integers("s", given)]),
            lambda: batch(npy([samples] + shape)))


for given in ([-1, -1], [1 << 62, 4], [-1, 1 << 62], [1 << 32, 1 << 32], [-2, 4], [0, 0, 0], [-1, 0, -1], [1 << 63, 1],
              list(range(1, 50000))):
    network("Reshape to [%s]" % ",".join("%x" % g for g in given[:3]), *reshape([4], given), runs=REFUSED)
network("Reshape to [-1,-1] of a run of one sample", lambda: model(
    [node("Reshape", ["x", "s"], ["out"])], [1, 4], [integers("s", [-1, -1])]), lambda: batch(npy([3, 4])), runs=REFUSED)
network("Unsqueeze, 30000 axes", lambda: model([node("Unsqueeze", ["x", "s"], ["out"])], ["N", 1],
                                               [integers("s", list(range(1, 30001)))]), runs=REFUSED)
network("Transpose, 30000 axes", lambda: model([node("Transpose", ["x"], ["out"], perm=list(range(30000)))], ["N", 1]),
        runs=REFUSED)

# ---- attentions, losses, scattered entries


def of_one(name, op, inputs, shape, initializers, opset, samples=1, runs=None, quick=True, outputs=("out",), **attributes):
    network(name, lambda: model([node(op, inputs, list(outputs), **attributes)], ["N"] + shape, initializers, opset=opset),
            data=lambda: batch(npy([samples] + shape)), runs=runs, quick=quick)


for name, heads in (("2^62", 1 << 62), ("2^63", 1 << 63), ("0", 0), ("-1", (1 << 64) - 1)):
    of_one("Attention, heads " + name, "Attention", ["x", "x", "x"], [2, 4], [], 24, runs=REFUSED,
           q_num_heads=heads, kv_num_heads=heads)
    of_one("Attention, %s heads share one" % name, "Attention", ["x", "x", "x"], [2, 4], [], 24, runs=REFUSED,
           q_num_heads=heads, kv_num_heads=1)
    of_one("LinearAttention, heads " + name, "LinearAttention", ["x", "x", "x"], [2, 4], [], 27, runs=REFUSED,
           q_num_heads=heads, kv_num_heads=heads, update_rule="linear")
    of_one("RotaryEmbedding, heads " + name, "RotaryEmbedding", ["x", "c", "c"], [2, 4], [tensor("c", [1, 2, 2])], 23,
           runs=REFUSED, num_heads=heads)
of_one("Attention of 3000 queries and keys", "Attention", ["x", "x", "x"], [1, 3000, 1], [], 24)
of_one("Attention of 300 queries and keys", "Attention", ["x", "x", "x"], [1, 300, 1], [], 24, quick=False)
of_one("Attention of 20000 heads that share one", "Attention", ["x", "k", "k"], [20000, 1, 1], [tensor("k", [1, 1, 100, 1])], 24)
of_one("Attention, windows of 2^62", "Attention", ["x", "x", "x"], [1, 4, 2], [], 25, runs=REFUSED, left_window_size=1 << 62,
       right_window_size=1 << 62)
of_one("Attention, lengths of 2^62", "Attention", ["x", "x", "x", "", "", "", "n"], [1, 4, 2], [integers("n", [1 << 62])], 24,
       runs=REFUSED)
of_one("Attention, no lengths", "Attention", ["x", "x", "x", "", "", "", "n"], [1, 4, 2], [integers("n", [])], 24, runs=REFUSED)
of_one("Attention, a mask of no keys", "Attention", ["x", "x", "x", "m"], [1, 4, 2], [tensor("m", [4, 0], b"")], 24, runs=REFUSED)
of_one("Attention, a past of no keys", "Attention", ["x", "x", "x", "", "p", "p"], [1, 4, 2], [tensor("p", [1, 1, 0, 2], b"")], 24,
       runs=REFUSED)
of_one("LinearAttention, 1025 times", "LinearAttention", ["x", "x", "x"], [1025, 1], [], 27, runs=REFUSED, q_num_heads=1,
       kv_num_heads=1, update_rule="linear")
of_one("LinearAttention, 1000 times, states of 100 by 100", "LinearAttention", ["x", "x", "x"], [1000, 100], [], 27, q_num_heads=1,
       kv_num_heads=1, update_rule="linear")
of_one("LinearAttention, 200 times", "LinearAttention", ["x", "x", "x"], [200, 2], [], 27, q_num_heads=1, kv_num_heads=1,
       update_rule="linear", quick=False)
for name, turned in (("2^62", 1 << 62), ("2^63", 1 << 63), ("-2", (1 << 64) - 2)):
    of_one("RotaryEmbedding, turned " + name, "RotaryEmbedding", ["x", "c", "c"], [1, 2, 4], [tensor("c", [1, 2, 2])], 23,
           runs=REFUSED, rotary_embedding_dim=turned)
for name, place in (("2^62", 1 << 62), ("2^63 - 1", (1 << 63) - 1), ("-2^63", 1 << 63), ("-1", (1 << 64) - 1)):
    of_one("RotaryEmbedding, place " + name, "RotaryEmbedding", ["x", "c", "c", "p"], [1, 1, 4], [tensor("c", [3, 2]),
           field(1, 0, 1) + field(1, 0, 1) + field(2, 0, 7) + text(8, "p") + field(7, 0, place)], 23, runs=REFUSED)
    of_one("ScatterElements, place " + name, "ScatterElements", ["x", "p", "x"], [1], [
        field(1, 0, 1) + field(1, 0, 1) + field(2, 0, 7) + text(8, "p") + field(7, 0, place)], 18,
        runs=None if name == "-1" else REFUSED)
    of_one("NegativeLogLikelihoodLoss, target " + name, "NegativeLogLikelihoodLoss", ["x", "t"], [3], [integers("t", [place])], 13,
           runs=REFUSED, reduction="none")
of_one("ScatterND, places of no numbers", "ScatterND", ["x", "p", "x"], [1], [
    field(1, 0, 1) + field(1, 0, 0) + field(2, 0, 7) + text(8, "p")], 18, runs=REFUSED)
of_one("ScatterElements, 60000 updates of one place", "ScatterElements", ["x", "p", "u"], [1], [
    field(1, 0, 1) + field(1, 0, 60000) + field(2, 0, 7) + text(8, "p") + field(7, 2, bytes(60000)), tensor("u", [1, 60000])], 18,
    runs=REFUSED, axis=1, reduction="add")
of_one("CausalConvWithState, a kernel of 60000 at one entry", "CausalConvWithState", ["x", "w"], [1, 1], [tensor("w", [1, 1, 60000])], 27,
       outputs=("out", "state"))
of_one("CausalConvWithState, a kernel of none", "CausalConvWithState", ["x", "w"], [1, 1], [tensor("w", [1, 1, 0], b"")], 27,
       runs=REFUSED)
of_one("SoftmaxCrossEntropyLoss of no classes", "SoftmaxCrossEntropyLoss", ["x", "t"], [0], [integers("t", [0])], 13, runs=REFUSED,
       reduction="none")
of_one("SoftmaxCrossEntropyLoss, all ignored", "SoftmaxCrossEntropyLoss", ["x", "t"], [3], [integers("t", [7])], 13, reduction="none",
       ignore_index=7)

# ---- graphs in nodes


def loop(nodes, result, inputs=("M", "", "x"), out="out", k=""):
    """From the state v to `result`, round after round."""
    return node("Loop", list(inputs), [out], body=graph([node("Identity", ["c" + k], ["d" + k])] + nodes, ["i" + k, "c" + k, "v" + k],
                                                        ["d" + k, result]))


def loops_inside(n, rounds):
    body = node("Identity", ["v%d" % n], ["w%d" % n])
    for k in range(n, 0, -1):
        body = loop([body], "w%d" % k, ("M", "", "v%d" % (k - 1) if k > 1 else "x"), "w%d" % (k - 1) if k > 1 else "out", str(k))
    return model([body], ["N", 1], [integers("M", [rounds])])


def deep(n):
    """So many graphs in one another, without ends of their own."""
    body = graph([], [], ["x"])
    for _ in range(n):
        body = graph([node("If", ["x"], ["a"], then_branch=body)], [], ["a"])
    return model([node("If", ["x"], ["out"], then_branch=body)], ["N", 1])


NODES = [refused("audit", "nodes"), refused("show", "nodes"), refused("check", "nodes")]
for name, rounds in (("3000", 3000), ("2^62", 1 << 62), ("2^63 - 1", (1 << 63) - 1)):
    network("Loop, rounds " + name, lambda rounds=rounds: model([loop([node("Relu", ["v"], ["w"])], "w")], ["N", 1],
                                                                 [integers("M", [rounds])]), runs=NODES)
for name, rounds in (("-1", (1 << 64) - 1), ("-2^63", 1 << 63), ("0", 0)):
    network("Loop, rounds " + name, lambda rounds=rounds: model([loop([node("Relu", ["v"], ["w"])], "w")], ["N", 1],
                                                                 [integers("M", [rounds])]))
network("Loop that never ends", lambda: model([loop([], "v", ("", "", "x"))], ["N", 1]), runs=NODES)
network("Loop of no nodes, 2^62 rounds", lambda: model([node("Loop", ["M", "", "x"], ["out"], body=graph([], ["i", "c", "v"], ["c", "v"]))],
                                                       ["N", 1], [integers("M", [1 << 62])]), runs=NODES)
network("Loop, 500 rounds of Relu", lambda: model([loop([node("Relu", ["v"], ["w"])], "w")], ["N", 1], [integers("M", [500])]), proxies=RELU,
        quick=False)
network("Loop whose state doubles, 40 rounds", lambda: model([loop([node("Concat", ["v", "v"], ["w"], axis=1)], "w")], ["N", 1],
                                                             [integers("M", [40])]), runs=REFUSED)
network("loops in one another, 8 of 8 rounds", lambda: loops_inside(8, 8), runs=NODES)
network("loops in one another, 8 of 2 rounds", lambda: loops_inside(8, 2))
network("loops in one another, 9", lambda: loops_inside(9, 1), runs=REFUSED)
network("graphs in one another, 200", lambda: deep(200), runs=REFUSED)
network("graphs in one another, 10000", lambda: deep(10000), runs=REFUSED)
network("Loop of its own output", lambda: model([loop([node("Relu", ["w"], ["w"])], "w")], ["N", 1], [integers("M", [1])]), runs=REFUSED)
network("Loop whose graph names the model's input", lambda: model([loop([node("Relu", ["v"], ["x"])], "x")], ["N", 1], [integers("M", [1])]),
        runs=REFUSED)
network("Loop whose graph reads what comes after it", lambda: model([loop([node("Add", ["v", "z"], ["w"])], "w", out="y"),
                                                                     node("Relu", ["x"], ["z"]), node("Relu", ["y"], ["out"])], ["N", 1],
                                                                    [integers("M", [1])]), runs=REFUSED)
network("Loop whose names are those of rounds", lambda: model([node("Relu", ["x"], ["w/0"]), loop([node("Relu", ["v"], ["w"])], "w")], ["N", 1],
                                                              [integers("M", [1])]), runs=REFUSED)
TRIPS = [integers("M", [2]), tensor("no", [], b"\0", 9)]
network("Loop, its condition left out, that its graph ends before its rounds", lambda: model([node("Loop", ["M", "", "x"], ["out"], body=graph([node("Relu", ["v"], ["w"])], ["i", "c", "v"], ["no", "w"]))],
                                ["N", 1], TRIPS), runs=REFUSED)
network("Loop, its condition left out, whose graph ends where its rounds do", lambda: model(
    [node("Loop", ["M", "", "x"], ["out"], body=graph([node("Less", ["i", "one"], ["d"]), node("Relu", ["v"], ["w"])], ["i", "c", "v"], ["d", "w"]))],
    ["N", 1], TRIPS + [tensor("one", [], (1).to_bytes(8, "little"), 7)]))
network("Loop that gives out its round's number", lambda: model([node("Loop", ["M", "", "x", "M0"], ["out", "k"], body=graph(
    [node("Relu", ["v"], ["w"])], ["i", "c", "v", "j"], ["c", "w", "i"]))], ["N", 1], [*TRIPS, tensor("M0", [], bytes(8), 7)]), runs=REFUSED)
network("If, a branch of 4000 nodes that does not run", lambda: model([node("If", ["c"], ["out"],
        then_branch=graph([node("Relu", ["x"], ["t"])], [], ["t"]),
        else_branch=graph([node("Relu", ["x" if i == 0 else "a%d" % i], ["a%d" % (i + 1)]) for i in range(4000)], [], ["a4000"]))], ["N", 1],
        [tensor("c", [], b"\1", 9)]), proxies=RELU, runs=SOON)
network("If, 20000 names around it", lambda: model([node("If", ["c"], ["out"], then_branch=graph([node("Identity", ["x"], ["t"])], [], ["t"]),
        else_branch=graph([node("Sum", ["n%d" % i for i in range(20000)], ["e"])], [], ["e"]))], ["N", 1], [tensor("c", [], b"\1", 9)]), runs=SOON)
network("Scan, 3000 entries", lambda: model([node("Scan", ["x"], ["out"], num_scan_inputs=1, scan_input_axes=[1], scan_output_axes=[1],
        body=graph([node("Relu", ["v"], ["w"])], ["v"], ["w"]))], ["N", 3000]), data=lambda: batch(npy([1, 3000])), runs=NODES)
for name, count in (("0", 0), ("2^62", 1 << 62), ("-1", (1 << 64) - 1)):
    network("Scan, num_scan_inputs " + name, lambda count=count: model([node("Scan", ["x"], ["out"], num_scan_inputs=count,
            body=graph([node("Relu", ["v"], ["w"])], ["v"], ["w"]))], ["N", 1]), runs=REFUSED)
network("Scan, axis 2^62", lambda: model([node("Scan", ["x"], ["out"], num_scan_inputs=1, scan_input_axes=[1 << 62],
        body=graph([node("Relu", ["v"], ["w"])], ["v"], ["w"]))], ["N", 1]), runs=REFUSED)

# ---- initializers and shapes that are claimed

for dims in ([1 << 62], [1 << 32, 1 << 32], [1 << 31, 2], [(1 << 64) - 1], [1] * 9, [1] * 100000, [0, 1 << 62], [1 << 20, 1 << 20]):
    network("initializer [%s]" % ",".join("%x" % d for d in dims[:3]), lambda d=dims: model(
        [node("Add", ["x", "w"], ["out"])], ["N", 1], [tensor("w", d, b"\0\0\0\0")]), runs=REFUSED)
PRODUCT = [node("MatMul", ["x", "w"], ["a"]), node("Relu", ["a"], ["out"])]
network("30,000 constants that nodes read", lambda: model(
    PRODUCT[:1] + [node("Add", ["a", "i1"], ["b"])] + [node("Add", ["b" if i == 0 else "b%d" % (i - 1), "i%d" % (17 * i)],
                                                            ["out" if i == 1799 else "b%d" % i]) for i in range(1800)], ["N", 1],
    [tensor("w", [1, 1])] + [tensor("i%d" % i, [1]) for i in range(30600)]), runs=SOON)
network("a node with 40,000 attributes", lambda: model(
    PRODUCT[:1] + [node("Relu", ["a"], ["out"], **{"i%d" % i: 0 for i in range(40000)})], ["N", 1], [tensor("w", [1, 1])]),
        runs=[refused("audit"), run("show", (2,), seconds=2)])
network("initializer of 2^30 in no bytes", lambda: model([node("Add", ["x", "w"], ["out"])], ["N", 1],
                                                          [tensor("w", [1 << 30], b"")]), runs=REFUSED)
network("initializer outside, 2^40 bytes", lambda: model([node("Add", ["x", "w"], ["out"])], ["N", 1], [
    field(1, 0, 1 << 30) + field(2, 0, 1) + text(8, "w") + field(14, 0, 1) + field(13, 2, text(1, "location") + text(2, "model.onnx"))
    + field(13, 2, text(1, "length") + text(2, str(1 << 32)))]), runs=REFUSED)
network("input declares 2^62", lambda: model([node("Relu", ["x"], ["out"])], [1 << 62, 1 << 62]), proxies=RELU, runs=REFUSED)
network("input of 100000 axes", lambda: model([node("Relu", ["x"], ["out"])], ["N"] * 100000), proxies=RELU, runs=REFUSED)
network("initializer of integers, 100000", lambda: model(
    [node("Relu", ["x"], ["out"])], ["N", 1],
    [field(1, 0, 100000) + field(2, 0, 7) + text(8, "w") + field(7, 2, b"\1" * 100000)]), proxies=RELU)
network("weights of 1e38 and 1e-45", lambda: model(
    [node("MatMul", ["x" if i == 0 else "a%d" % i, "w"], ["a%d" % (i + 1) if i < 199 else "out"]) for i in range(200)],
    ["N", 8], [tensor("w", [8, 8], (floats(3.4e38) + floats(1.4e-45)) * 32)]), data=lambda: batch(npy([1, 8], floats(*[1.1] * 8))),
    quick=False)
network("weights of doubles, extreme", lambda: model(
    [node("MatMul", ["x" if i == 0 else "a%d" % i, "w"], ["a%d" % (i + 1) if i < 99 else "out"]) for i in range(100)],
    ["N", 4], [tensor("w", [4, 4], struct.pack("<2d", 1.7e308, 5e-324) * 8, 11)]),
    data=lambda: batch(npy([1, 4], floats(*[1.1] * 4))), quick=False)
network("LeakyRelu, alpha 1e-45", lambda: model(chain("LeakyRelu", 500, alpha=1e-45), ["N", 1]),
        proxies=("proxy LeakyRelu 0 0",), data=lambda: batch(npy([1, 1], floats(-1))), quick=False)

# ---- kinks by the ten thousand

network("Relu at 0, 100000 entries", lambda: model(
    [node("Add", ["x", "w"], ["a"]), node("Relu", ["a"], ["out"])], ["N", 100000], [tensor("w", [100000], bytes(400000))]),
    data=lambda: batch(npy([1, 100000])), proxies=RELU, quick=False)
network("Relu at 0, 3000 samples", lambda: model(
    [node("MatMul", ["x", "w"], ["a"]), node("Relu", ["a"], ["out"])], ["N", 20], [tensor("w", [20, 20], bytes(1600))]),
    data=lambda: batch(npy([3000, 20])), proxies=RELU, quick=False)
network("Relu at 0, random directions", lambda: model(
    [node("MatMul", ["x", "w"], ["a"]), node("Relu", ["a"], ["b"]), node("MatMul", ["b", "v"], ["out"])], ["N", 12],
    [tensor("w", [12, 12], bytes(576)), tensor("v", [12, 1])]),
    data=lambda: batch(npy([300, 12], floats(*[((i * 7919) % 31) - 15 for i in range(3600)]))), proxies=RELU, quick=False)
network("three layers of Relu at 0", lambda: model(
    [node("MatMul", ["x", "w"], ["a"]), node("Relu", ["a"], ["b"]), node("MatMul", ["b", "w"], ["c"]),
     node("Relu", ["c"], ["d"]), node("MatMul", ["d", "w"], ["e"]), node("Relu", ["e"], ["out"])], ["N", 16],
    [tensor("w", [16, 16], bytes(1024))]),
    data=lambda: batch(npy([100, 16], floats(*[((i * 7919) % 31) - 15 for i in range(1600)]))), proxies=RELU, quick=False)
network("Abs of differences, 30 kinks", lambda: model(
    [node("MatMul", ["x", "w"], ["a"]), node("Abs", ["a"], ["b"]), node("MatMul", ["b", "v"], ["out"])], ["N", 5],
    [tensor("w", [5, 1], bytes(20)), tensor("v", [1, 1], floats(-1))]),
    data=lambda: batch(npy([60, 5], floats(*[((i * i * 7919) % 31) - 15 for i in range(300)]))),
    proxies=("proxy Abs 0 0",), quick=False)

# ---- batches

network("batch deflated, 20 kB of zeros", lambda: model([node("Relu", ["x"], ["out"])], ["N", 1]),
        lambda: bomb("x.npy", 20 << 20, npy([5 << 20, 1], b"")), proxies=RELU, runs=REFUSED)
network("batch deflated, 204 kB of zeros", lambda: model([node("Relu", ["x"], ["out"])], ["N", 1]),
        lambda: bomb("x.npy", 200 << 20, npy([50 << 20, 1], b"")), proxies=RELU, runs=[refused("audit", "unpacked"),
                                                                                        refused("show"), refused("check")])
network("batch deflated, in a member not asked for", lambda: model([node("Relu", ["x"], ["out"])], ["N", 1]),
        lambda: bomb("z.npy", 200 << 20, npy([50 << 20, 1], b""), [("x.npy", npy([1, 1], floats(1)))]), proxies=RELU,
        runs=REFUSED)
network("batch of 20000 members", lambda: model([node("Relu", ["x"], ["out"])], ["N", 1]),
        lambda: archive([("m%d.npy" % i, npy([0], b"")) for i in range(4000)]), proxies=RELU, runs=REFUSED)
for shape in ("(4611686018427387904,)", "(4294967296, 4294967296)", "(" + "1," * 3000 + ")", "(1e3,)", "(" * 4000,
              "(0, 9223372036854775807)", "(-1, 1)", "(99999999999999999999999999,)"):
    network("batch of shape %s" % shape[:24], lambda: model([node("Relu", ["x"], ["out"])], ["N", 1]),
            lambda s=shape: batch(npy([1], b"\0\0\0\0",
                                      header="{'descr': '<f4', 'fortran_order': False, 'shape': %s, }" % s)),
            proxies=RELU, runs=REFUSED)
network("batch of 200000 samples", lambda: model([node("Relu", ["x"], ["out"])], ["N", 1]),
        lambda: batch(npy([200000, 1])), proxies=RELU, quick=False)
network("batch of 200000 samples, each a run", lambda: model([node("Relu", ["x"], ["out"])], [1, 1]),
        lambda: batch(npy([200000, 1])), proxies=RELU, quick=False)
network("batch of int8, 900000 samples", lambda: model([node("Relu", ["x"], ["out"])], ["N", 1]),
        lambda: batch(npy([900000, 1], descr="|i1")), proxies=RELU, quick=False)
network("batch of doubles, all bits", lambda: model(
    [node("MatMul", ["x", "w"], ["a"]), node("Relu", ["a"], ["out"])], ["N", 100], [tensor("w", [100, 100])]),
    lambda: batch(npy([20, 100], struct.pack("<4d", 1.7e308, 5e-324, -1.1, 1e-160) * 500, descr="<f8")), proxies=RELU,
    quick=False)
network("training BatchNormalization, 20000 samples", lambda: model(
    [node("BatchNormalization", ["x", "s", "s", "s", "s"], ["a"], training_mode=1), node("Relu", ["a"], ["out"])], ["N", 1],
    [tensor("s", [1])]), lambda: batch(npy([20000, 1], floats(*range(20000)))), proxies=RELU, quick=False)
network("LayerNormalization of 100000", lambda: model(
    [node("LayerNormalization", ["x", "s"], ["a"]), node("Relu", ["a"], ["out"])], ["N", 100000], [tensor("s", [1])]),
    lambda: batch(npy([1, 100000], floats(*range(100000)))), proxies=RELU, quick=False)
