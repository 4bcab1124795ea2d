"""Checkpoints, profiles and cases that ask for much more than they hold."""
import json
import pickle
import struct
import zipfile

from files import archive, bomb, floats, model, node, npy, safetensors, tensor
from inputs import Hostile, refused, run

INPUTS = []
MODEL = model([node("MatMul", ["x", "w"], ["a"]), node("Relu", ["a"], ["out"])], ["N", 1], [tensor("w", [1, 1])])
BATCH = archive([("x.npy", npy([1, 1], floats(1)))])
AUDIT = "clarke audit model.onnx --batch batch.npz --loss sum"


def params(name, make, extension, statuses=(2,), quick=True, says=None):
    def files():
        return {"model.onnx": MODEL, "batch.npz": BATCH, "later." + extension: make()}
    INPUTS.append(Hostile("params: " + name, files, [run("%s --params later.%s" % (AUDIT, extension), statuses, says)], quick))


def checkpoint(pickled, *storages, method=zipfile.ZIP_STORED):
    return archive([("m/data.pkl", pickled), ("m/byteorder", b"little")] + [("m/data/%d" % i, s) for i, s in enumerate(storages)]
                   + [("m/version", b"3\n")], method)


def text(value):
    return b"X" + struct.pack("<I", len(value)) + value


def number(value):
    return b"J" + struct.pack("<i", value)


def storage(key, length, kind=b"FloatStorage"):
    return (b"(" + text(b"storage") + b"ctorch\n" + kind + b"\n" + text(key) + text(b"cpu") + length + b"tQ")


def view(key=b"0", length=number(1), offset=number(0), size=(number(1), number(1)), stride=(number(1), number(1))):
    """A tensor of torch._utils._rebuild_tensor_v2."""
    return (b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage(key, length) + offset + b"(" + b"".join(size) + b"t("
            + b"".join(stride) + b"t\x89ccollections\nOrderedDict\n)RtR")


def state(*entries):
    return b"\x80\2}(" + b"".join(text(k) + v for k, v in entries) + b"u."


LONG = b"\x8a\x08" + struct.pack("<q", 1 << 62)
params("pt, sound", lambda: checkpoint(state((b"w", view())), floats(1)), "pt", (0,))
params("pt, deflated and sound", lambda: checkpoint(state((b"w", view())), floats(1), method=zipfile.ZIP_DEFLATED), "pt", (0,))
params("pt, shape 2^62", lambda: checkpoint(state((b"w", view(size=(LONG, LONG)))), floats(1)), "pt")
params("pt, stride 2^62", lambda: checkpoint(state((b"w", view(size=(number(2), number(2)), stride=(LONG, LONG)))), floats(1)), "pt")
params("pt, offset 2^62", lambda: checkpoint(state((b"w", view(offset=LONG))), floats(1)), "pt")
params("pt, storage of 2^62", lambda: checkpoint(state((b"w", view(length=LONG))), floats(1)), "pt")
params("pt, expanded to 2^30 by stride 0", lambda: checkpoint(
    state((b"w", view(size=(number(1 << 15), number(1 << 15)), stride=(number(0), number(0))))), floats(1)), "pt")
params("pt, 4000 tensors of one storage", lambda: checkpoint(state(*[(b"w%d" % i, view(length=number(1000), size=(number(1000),
       number(1)))) for i in range(4000)]), bytes(4000)), "pt")
params("pt, storage deflated, 200 kB of zeros", lambda: bomb("m/data/0", 200 << 20, b"", [
    ("m/data.pkl", state((b"w", view(length=number(50 << 20), size=(number(50 << 20), number(1)))))), ("m/byteorder", b"little"),
    ("m/version", b"3\n")]), "pt")
params("pt, member not asked for, 200 kB of zeros", lambda: bomb("m/data/7", 200 << 20, b"", [
    ("m/data.pkl", state((b"w", view()))), ("m/data/0", floats(1)), ("m/byteorder", b"little"), ("m/version", b"3\n")]), "pt",
    (0, 2))
params("pt, integer tensor passed over, 200 kB of zeros", lambda: bomb("m/data/1", 200 << 20, b"", [
    ("m/data.pkl", state((b"w", view()), (b"n", view(b"1", number(50 << 20), size=(number(50 << 20), number(1)))))),
    ("m/data/0", floats(1)), ("m/byteorder", b"little"), ("m/version", b"3\n")]), "pt")
params("pt, data.pkl deflated, 200 kB of zeros", lambda: bomb("m/data.pkl", 200 << 20, b"\x80\2", [("m/version", b"3\n")]), "pt")
params("pt, data.pkl of opcodes, deflated", lambda: bomb("m/data.pkl", 15 << 20, b"\x80\2" + b"(" * (1 << 20), [("m/version", b"3\n")]),
       "pt")
for name, pickled in (
        ("marks", b"(" * 800000), ("lists", b"]" * 800000), ("tuples inside tuples", b")" + b"\x85" * 800000),
        ("dictionaries inside dictionaries", b"}" * 3 + text(b"a") + b"}" * 300000),
        ("lists inside lists", b"(" * 300000 + b"l" * 300000),
        ("memo of 2^32 - 1", b"}" + b"r\xff\xff\xff\xff"), ("memos", b"}" + b"".join(b"r" + struct.pack("<I", i) for i in range(150000))),
        ("memo doubled", b"]q\0" + b"".join(b"]h" + bytes([i]) + b"h" + bytes([i]) + b"eq" + bytes([i + 1]) for i in range(200))),
        ("tuples doubled", b")q\0" + b"".join(b"h" + bytes([i]) + b"h" + bytes([i]) + b"\x86q" + bytes([i + 1]) for i in range(200))),
        ("text of 2^32 - 1 bytes", b"X\xff\xff\xff\xffa"), ("long of 2^31 bytes", b"\x8b\xff\xff\xff\x7f"),
        ("long of 255 bytes", b"\x8a\xff" + b"\x7f" * 255), ("int of 800000 digits", b"I" + b"9" * 800000 + b"\n"),
        ("a name of 800000 bytes", b"c" + b"a" * 800000 + b"\nb\n"), ("pops", b"}" * 400000 + b"0" * 400000),
        ("keys of one dictionary", b"}(" + b"".join(text(b"%06d" % i) + b"K\1" for i in range(50000)) + b"u"),
        ("one key 50000 times", b"}(" + (text(b"a") + b"K\1") * 50000 + b"u"),
        ("appends to one list", b"](" + b"K\1" * 300000 + b"e"), ("os.system", b"cos\nsystem\n" + text(b"true") + b"\x85R")):
    params("pt, " + name, lambda d=pickled: checkpoint(b"\x80\2" + d + b".", floats(1)), "pt")
params("pt, recursive dictionary", lambda: checkpoint(b"\x80\2}q\0(" + text(b"model") + b"h\0u.", floats(1)), "pt")
params("pt, 20000 members", lambda: archive([("m/data.pkl", state((b"w", view()))), ("m/version", b"3\n")]
       + [("m/data/%d" % i, floats(1)) for i in range(7000)]), "pt", (0,))
params("npz, bomb", lambda: bomb("w.npy", 200 << 20, npy([50 << 20, 1], b"")), "npz")
params("npz, bomb with the header of one entry", lambda: bomb("w.npy", 200 << 20, npy([1, 1], b"")), "npz")
params("npz, bomb beside w", lambda: bomb("v.npy", 200 << 20, npy([50 << 20, 1], b""), [("w.npy", npy([1, 1], floats(1)))]), "npz")
params("npz, bomb of an integer array beside w", lambda: bomb("v.npy", 200 << 20, npy([25 << 20, 1], b"", "<i8"), [
    ("w.npy", npy([1, 1], floats(1)))]), "npz")
params("npz, deflated bytes that are passed over", lambda: bomb("v.npy", 20 << 20, npy([20 << 20, 1], b"", "|i1"), [
    ("w.npy", npy([1, 1], floats(1)))]), "npz", (0,))

# ---- safetensors
SOUND = {"dtype": "F32", "shape": [1, 1], "data_offsets": [0, 4]}
for name, header, more in (
        ("nested 100000 deep", '{"w":' + "[" * 100000, {}), ("nested objects", '{"w":' * 100000, {}),
        ("2000 deep", '{"w":' + "[" * 2000 + "]" * 2000 + "}", {}),
        ("shape 2^62", '{"w":{"dtype":"F32","shape":[4611686018427387904,4611686018427387904],"data_offsets":[0,4]}}', {}),
        ("shape 1e30", '{"w":{"dtype":"F32","shape":[1e30],"data_offsets":[0,4]}}', {}),
        ("offsets 2^63", '{"w":{"dtype":"F32","shape":[1,1],"data_offsets":[9223372036854775807,9223372036854775811]}}', {}),
        ("shape of 100000 axes", '{"w":{"dtype":"F32","shape":[' + "1," * 100000 + '1],"data_offsets":[0,4]}}', {}),
        ("header of 2^62 bytes", "{}", {"length": 1 << 62}), ("header of 100 MB claimed", "{}", {"length": 100000000}),
        ("one key 30000 times", "{" + ",".join(['"a":%s' % json.dumps(dict(SOUND, shape=[0], data_offsets=[0, 0]))] * 15000) + "}", {}),
        ("metadata, 50000 keys", '{"__metadata__":{' + ",".join('"k%d":"v"' % i for i in range(50000)) + '}}', {}),
        ("12000 empty tensors", "{" + ",".join('"a%d":%s' % (i, json.dumps(dict(SOUND, shape=[0], data_offsets=[0, 0])))
                                              for i in range(12000)) + "}", {}),
        ("a number of 900000 digits", '{"w":{"dtype":"F32","shape":[' + "9" * 900000 + '],"data_offsets":[0,4]}}', {})):
    params("safetensors, " + name, lambda h=header, m=more: safetensors(h, floats(1), **m), "safetensors")

# ---- profiles, cases, options


def profile(name, make, says=None, statuses=(2,)):
    def files():
        return {"model.onnx": MODEL, "batch.npz": BATCH, "own.profile": make(), "program.prog": b"input t\noutput relu(t)\n"}
    INPUTS.append(Hostile("profile: " + name, files, [
        run(AUDIT + " --profile own.profile", statuses, says), run("clarke derive program.prog --at t=0 --profile own.profile", statuses, says)],
        True))


with_proxy = "clarke-profile 1\nname own\nproxy Relu 0 %s\n"
for name, made in (("1e1000000", "1e1000000"), ("1e99999999999", "1e99999999999"), ("0x1p99999999", "0x1p99999999"),
                   ("of 900000 digits", "9" * 900000), ("1/0", "1/0"), ("nested", "(" * 900000)):
    profile("proxy " + name, lambda m=made: (with_proxy % m).encode())
profile("lines", lambda: b"\n" * 900000, statuses=(0,))
profile("the same proxy 30000 times", lambda: (with_proxy % "0").encode() + b"proxy Relu 0 0\n" * 30000)
profile("one line of 900000 bytes", lambda: b"a" * 900000)
profile("zero bytes", lambda: bytes(900000))


def command(name, line, statuses, files=lambda: {}, quick=True):
    def made():
        return {"model.onnx": MODEL, "batch.npz": BATCH, "program.prog": b"input t\noutput relu(t)\n", **files()}
    INPUTS.append(Hostile("command: " + name, made, [run(line, statuses)], quick))


command("wrt of 18000 names", AUDIT + " --wrt " + ",".join("a%d" % i for i in range(18000)), (2,))
command("wrt of w 60000 times", AUDIT + " --wrt " + ",".join(["w"] * 60000), (0, 2))
command("wrt of commas", AUDIT + " --wrt " + "," * 100000, (0, 2))
command("params, 10000 files", AUDIT + " --params batch.npz " + " ".join(["batch.npz"] * 10000), (2,), quick=False)
command("threads 10^12", AUDIT + " --threads 1000000000000", (0, 2))
command("a batch that is a device", "clarke audit model.onnx --batch /dev/zero --loss sum", (2,))
command("a model that is a device", "clarke audit /dev/zero --batch batch.npz --loss sum", (2,))
command("a proof that is a device", "clarke-check /dev/zero", (2,))
command("shown: a device", "clarke-check --show /dev/zero batch.npz", (2,))
command("a program that is a device", "clarke derive /dev/zero --at t=0", (2,))
command("shown: 1000 pairs", "clarke-check --show " + " ".join(["model.onnx batch.npz"] * 200), (0,), quick=False)


def cases(name, make, statuses=(2,)):
    def files():
        return {"case.prog": make()}
    INPUTS.append(Hostile("cases: " + name, files, [run("clarke reproduce --cases .", statuses)], True))


cases("100000 headers", lambda: b"#: id A-1\n" + b"#: key value\n" * 60000 + b"input t\noutput t\n", (0, 1, 2))
cases("a header of 900000 bytes", lambda: b"#: id " + b"a" * 900000 + b"\ninput t\noutput t\n", (0, 1, 2))
cases("a claimed number of 900000 digits", lambda: b"#: id A-1\n#: at t=0\n#: value " + b"9" * 900000 + b"\ninput t\noutput t\n",
      (0, 1, 2))
cases("a point 1e1000000", lambda: b"#: id A-1\n#: at t=1e1000000\n#: value 1\ninput t\noutput t\n", (0, 1, 2))

# ---- records of tensor cores


def records(name, statuses=(2,), **made):
    def files():
        sound = {"a": b"3f800000 " * 8 + b"\n", "b": b"3f800000 " * 8 + b"\n", "c": b"0" * 32 + b"\n", "d": b"01000001000000000000000000000000\n"}
        names = {"a": "a_A100_fp16.txt", "b": "b_A100_fp16.txt", "c": "c_A100_fp32.txt", "d": "d_A100_fp32.txt", "i": "instruction.txt"}
        return {names[key]: data for key, data in {**sound, **made}.items()}
    INPUTS.append(Hostile("records: " + name, files, [run("clarke certify --mma .", statuses)], True))


records("sound", (0,))
records("a line of 900000 bytes", a=b"3f800000 " * 100000)
records("63 numbers, then 800000 empty lines", a=b"3f800000 " * 63 + b"\n" * 800000)
records("900000 empty lines", c=b"\n" * 900000)
records("zero bytes", d=bytes(900000))
records("900000 comments", (0,), i=b"#\n" * 450000)
records("an instruction of 900000 bytes", i=b"fp32 " + b"a" * 900000)

# ---- formulas


def formula(name, make, statuses=(2,), options="-o f.prog --decide", says=None):
    def files():
        return {"f.cnf": make()}
    INPUTS.append(Hostile("formulas: " + name, files, [run("clarke encode f.cnf " + options, statuses, says)], True))


def drawn(variables, clauses):
    """Three literals each; the same every time."""
    state, lines = 1, []
    for _ in range(clauses):
        line = []
        for _ in range(3):
            state = (state * 6364136223846793005 + 1442695040888963407) % 2 ** 64
            line.append(str(((state >> 33) % variables + 1) * (1 if state >> 63 else -1)))
        lines.append(" ".join(line) + " 0")
    return ("p cnf %d %d\n" % (variables, clauses) + "\n".join(lines) + "\n").encode()


formula("sound", lambda: b"p cnf 2 2\n1 2 0\n-1 0\n", (1,))
formula("2^30 variables", lambda: b"p cnf 1073741824 0\n", says="--limit instructions")
formula("16000000 variables", lambda: b"p cnf 16000000 0\n", says="--limit instructions")
formula("2000000 variables", lambda: b"p cnf 2000000 0\n", (1,))
formula("2^30 clauses", lambda: b"p cnf 1 1073741824\n1 0\n")
formula("one clause of 300000 literals", lambda: b"p cnf 1000 1\n" + b"1 -2 " * 150000 + b"0\n", (1,))
formula("one clause of 100000 variables", lambda: b"p cnf 100000 1\n" + b" ".join(b"%d" % v for v in range(1, 100001)) + b" 0\n", (1,))
formula("400000 empty clauses", lambda: b"p cnf 1 400000\n" + b"0\n" * 400000, says="--limit instructions")
formula("400000 comments", lambda: b"c\n" * 400000 + b"p cnf 1 0\n", (1,))
formula("900000 bytes in a word", lambda: b"p cnf 1 1\n" + b"1" * 900000)
formula("40000 clauses at the threshold", lambda: drawn(9400, 40000), (1, 3))
formula("40000 clauses as a model", lambda: drawn(9400, 40000), options="-o f.onnx", says="--limit entries")
formula("400 variables at the threshold", lambda: drawn(400, 1704), (0, 1, 3))
