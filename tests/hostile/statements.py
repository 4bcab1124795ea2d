"""Proofs whose statement or evidence asks for much more than it holds."""
from files import archive, floats, hashed, model, network_proof, node, npy, program_proof, safetensors, sealed, tensor
from inputs import Hostile, refused, run

INPUTS = []
MODEL = model([node("MatMul", ["x", "w"], ["a"]), node("Relu", ["a"], ["out"])], ["N", 1], [tensor("w", [1, 1], floats(0))])
BATCH = archive([("x.npy", npy([1, 1], floats(1)))])
PROGRAM = b"input t\noutput relu(t)\n"
RELU = ("proxy Relu 0 0",)
HUGE = ("99999999999", "9223372036854775807", "18446744073709551615", "9" * 100000)


def network(name, quick=True, statuses=(1, 2), says=None, **given):
    def files():
        made = {k: v() if callable(v) else v for k, v in given.items()}
        return {"model.onnx": MODEL, "batch.npz": BATCH,
                "forged.proof": network_proof(MODEL, BATCH, **{"proxies": RELU, "touched": 1, **made})}
    INPUTS.append(Hostile("proof: " + name, files, [run("check", statuses, says)], quick))


def program(name, quick=True, statuses=(1, 2), **given):
    def files():
        made = {k: v() if callable(v) else v for k, v in given.items()}
        return {"program.prog": PROGRAM, "forged.proof": program_proof(
            PROGRAM, **{"at": ["at t 0"], "proxies": RELU, "touched": 1, **made})}
    INPUTS.append(Hostile("proof of a program: " + name, files, [run("check", statuses)], quick))


def raw(name, make, statuses=(1, 2), quick=True):
    INPUTS.append(Hostile("proof: " + name, lambda: {"model.onnx": MODEL, "batch.npz": BATCH, "forged.proof": make()},
                          [run("check", statuses)], quick))


for huge in HUGE:
    label = huge if len(huge) < 30 else "of %d digits" % len(huge)
    network("touched " + label, touched=huge)
    network("directions " + label, evidence=("evidence ad", "cell ad", "directions " + huge))
    network("hull " + label, evidence=("evidence hull " + huge,), verdict="in-clarke")
    network("simplices " + label, evidence=("evidence simplices " + huge,), verdict="in-clarke")
    network("block " + label, evidence=("evidence simplices 1", "block " + huge + " 0"), verdict="in-clarke")
    network("balance " + label, evidence=("evidence balance " + huge,), verdict="in-clarke")
    network("group " + label, evidence=("evidence balance 1", "group " + huge + " 0"), verdict="in-clarke")
    network("mix " + label, evidence=("evidence mix " + huge,), verdict="in-clarke")
    network("dead " + label, evidence=("evidence separator", "v w 0 1", "tree", "branch 0", "dead " + huge), verdict="not-in-clarke")
    network("branch " + label, evidence=("evidence separator", "v w 0 1", "tree", "branch " + huge), verdict="not-in-clarke")
    network("v at " + label, evidence=("evidence separator", "v w " + huge + " 1", "tree", "leaf"), verdict="not-in-clarke")
    network("v of " + label, evidence=("evidence separator", "v w 0 " + huge, "tree", "branch 0", "leaf", "leaf"),
            verdict="not-in-clarke")
    network("move by " + label, evidence=("evidence ad", "cell ad", "directions 1", "direction", "move w add -" + huge),
            statuses=(0, 1))
    network("proxy " + label, proxies=("proxy Relu 0 " + huge,))
    network("proxy of kink " + label, proxies=("proxy Relu " + huge + " 0",))
    program("touched " + label, touched=huge)
    program("arc " + label, evidence=("evidence ad", "arc " + huge))
    program("step " + label, evidence=("evidence ad", "arc 1", "step -" + huge), statuses=(0, 1, 2))
    program("hull " + label, evidence=("evidence hull " + huge,), verdict="in-clarke")
    program("branch " + label, evidence=("evidence separator", "v 1", "tree", "branch " + huge), verdict="not-in-clarke")
    program("dead " + label, evidence=("evidence separator", "v 1", "tree", "branch 2", "dead " + huge), verdict="not-in-clarke")
    program("at " + label, at=["at t " + huge], touched=0, evidence=("evidence ad", "arc 0"), statuses=(0, 1, 2))
network("sides of 900000", evidence=lambda: ("evidence hull 1", "cell 1 " + "-" * 900000, "directions 0"), verdict="in-clarke")
network("a number of 900000 digits and a denominator", evidence=lambda: (
    "evidence ad", "cell ad", "directions 1", "direction", "move w add 1/" + "9" * 900000))
network("moves, 50000", evidence=lambda: ("evidence ad", "cell ad", "directions 1", "direction") + ("move w add -1",) * 50000,
        statuses=(0, 1))
network("directions, 30000", evidence=lambda: ("evidence ad", "cell ad", "directions 30000") + ("direction", "move w add -1") * 30000,
        statuses=(0, 1))
network("moves by reciprocals of primes, 3000", evidence=lambda: ("evidence ad", "cell ad", "directions 1", "direction") + tuple(
    "move w add -1/%d" % p for p in range(1000003, 1600003, 14)), statuses=(0, 1), quick=False)
network("cells, 20000", evidence=lambda: ("evidence hull 20000",) + ("cell 1/20000 -", "directions 1", "direction", "move w add -1") * 15000,
        verdict="in-clarke")
network("tree of branches on one kink", evidence=lambda: ("evidence separator", "v w 0 1", "tree") + ("branch 0",) * 60000,
        verdict="not-in-clarke")
network("parallel lines, 60000", evidence=lambda: ("evidence bound", "v w 0 1") + ("parallel 0 0",) * 60000, verdict="not-in-clarke")
network("names of escapes", wrt=lambda: "%41" * 300000)
network("wrt of w 200000 times", wrt=lambda: " ".join(["w"] * 200000))
network("wrt of 100000 names", wrt=lambda: " ".join("a%d" % i for i in range(100000)))
for label in ("%ZZ", "%4", "%", "%41", "a%zz", "%e2%80%ae", "%00", "%E2%80"):
    network("profile " + label, profile=label, evidence=("evidence ad", "cell ad", "directions 1", "direction", "move w add -1"),
            statuses=(1,))
network("profile own, which is sound", profile="own", evidence=("evidence ad", "cell ad", "directions 1", "direction",
                                                                "move w add -1"), statuses=(0,))
network("a line of 2^20 bytes", profile=lambda: "a" * ((1 << 20) - 2000), evidence=("evidence ad", "cell ad", "directions 1", "direction", "move w add -1"), statuses=(0,))
raw("a line without an end", lambda: b"clarke-proof 1" + b" a" * 400000)
raw("lines without words", lambda: b"\n" * 900000)
raw("zero bytes", lambda: bytes(900000))
raw("names the root", lambda: sealed("clarke-proof 1", "verdict in-bouligand", "semantics real", "model %2F " + "0" * 64))
raw("names itself", lambda: sealed("clarke-proof 1", "verdict in-bouligand", "semantics real", "model forged.proof " + hashed(b"")))


def equal(names, number):
    """A safetensors file of that number alone."""
    return safetensors("{%s}" % ",".join('"%s":{"dtype":"F32","shape":[1,1],"data_offsets":[%d,%d]}' % (name, 4 * k, 4 * k + 4)
                                         for k, name in enumerate(names)), floats(*[number] * len(names)))


def unrecorded(n, op="Tanh", inputs=1):
    """A record of a chain of functions, or squares, of which the gradients alone were recorded: each is asked about from the first on."""
    names = ["n%d" % i for i in range(n)]
    graph = model([node("MatMul", ["x", "w"], names[:1])] + [node(op, [a] * inputs, [b]) for a, b in zip(names, names[1:])]
                  + [node("ReduceSum", names[-1:], ["out"], keepdims=0)], ["N", 1], [tensor("w", [1, 1], floats(1 + 2 ** -20))], out_shape=[])
    trace, parameters, gradients = (equal(of, 1 + 2 ** -20) for of in (["gradient/" + name for name in names], ["w"], ["w"]))
    lines = ["output %s not-covered" % name for name in names + ["out"]] + ["gradient %s not-shown" % name for name in names]
    lines += ["gradient out not-covered", "parameter w not-shown"]
    proof = sealed("clarke-proof 1", "claim record", *("%s %s %s" % (what, file, hashed(made)) for what, file, made in (
        ("model", "model.onnx", graph), ("params", "p", parameters), ("batch", "batch.npz", BATCH), ("trace", "t", trace), ("gradients", "g", gradients))),
                   "loss sum", "scale 1", "wrt w", "profile pytorch-2.13", *lines)
    return {"model.onnx": graph, "batch.npz": BATCH, "p": parameters, "t": trace, "g": gradients, "forged.proof": proof}


INPUTS.append(Hostile("proof of a record: 2000 functions of which no output was recorded", lambda: unrecorded(2000),
                      [refused("check", "unrecorded")], False))
INPUTS.append(Hostile("proof of a record: 40 functions of which no output was recorded", lambda: unrecorded(40), [run("check", (0,))], True))
INPUTS.append(Hostile("proof of a record: 40 squares of squares", lambda: unrecorded(40, "Mul", 2), [run("check", (0,))], True))
