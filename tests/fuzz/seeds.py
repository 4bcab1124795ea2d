"""Makes the seeds in corpus/ and the dictionaries in dictionary/. Seeds are small files that their readers
accept, which between them reach behind every container; dictionaries are libFuzzer's, words that mutations put in.

    seeds.py [--check]

Most are made here, byte by byte; others are chosen from files that tests or cases hold: of the models and proofs those
that have something (an operator, an attribute, a line, two lines one after another) that no smaller one has. Seeds that
the script does not make were found by fuzzing, or come from the reference libraries (tests/format/data): they stay.
--check: says which seeds are not as the script makes them, and fails.
"""
import json
import re
import struct
import sys
import zlib
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent / "interop"))

sys.path.insert(0, str(HERE.parent / "check"))

import edits  # noqa: E402
import wire  # noqa: E402

F4, F8, I8 = "<f4", "<f8", "<i8"


# --- files of numbers


def npy(descr, shape, data, fortran=False, version=1):
    dims = "(%s)" % (", ".join(map(str, shape)) + ("," if len(shape) == 1 else ""))
    header = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (descr, fortran, dims)
    wide = "<H" if version == 1 else "<I"
    header += " " * (-(len(header) + 9 + struct.calcsize(wide)) % 64) + "\n"
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack(wide, len(header)) + header.encode() + data


def floats(*x):
    return struct.pack("<%df" % len(x), *x)


def zipped(members, deflate=False, wide=False):
    """As zipfile writes it; wide: the sizes of a local header in an extra field, as numpy.savez has them."""
    out, directory = b"", b""
    for name, data in members:
        packed = zlib.compress(data, 9)[2:-4] if deflate else data
        sizes = struct.pack("<II", len(packed), len(data))
        common = struct.pack("<HHHII", 20, 0, 8 if deflate else 0, 0x210000, zlib.crc32(data))
        extra = struct.pack("<HHQQ", 1, 16, len(data), len(packed)) if wide else b""
        local = common + (b"\xff" * 8 if wide else sizes) + struct.pack("<HH", len(name), len(extra))
        directory += b"PK\1\2\x14\0" + common + sizes + struct.pack("<H", len(name)) + bytes(12) + struct.pack("<I", len(out))
        directory += name.encode()
        out += b"PK\3\4" + local + name.encode() + extra + packed
    end = b"PK\5\6\0\0\0\0" + struct.pack("<HHIIH", len(members), len(members), len(directory), len(out), 0)
    return out + directory + end


def safetensors(header, data):
    return struct.pack("<Q", len(header)) + header.encode() + data


X = npy(F4, (2, 2), floats(0.5, -1, 0, 2))
LABELS = npy(I8, (2,), struct.pack("<2q", 1, 0))


def arrays():
    yield "one-number", npy(F8, (), struct.pack("<d", 0.1))
    yield "column-order", npy(F4, (2, 3), floats(*range(6)), fortran=True)
    yield "empty", npy(F4, (0, 3), b"")
    yield "big-endian", npy(">f8", (2,), struct.pack(">2d", 1, -2))
    yield "half", npy("<f2", (3,), b"\x00\x3c\x00\x00\x01\x80", version=2)
    yield "bytes", npy("|u1", (2, 1, 2), b"\0\1\2\xff", version=3)
    yield "bools", npy("|b1", (2,), b"\0\1")
    yield "words", npy("<i4", (1,), b"\xff\xff\xff\xff")
    yield "large", npy("<u8", (1,), b"\xff\xff\xff\xff\xff\xff\xff\x7f")


def archives():
    yield "x", zipped([("x.npy", X)])
    yield "x-deflated", zipped([("x.npy", X)], deflate=True)
    yield "batch", zipped([("x.npy", X), ("y.npy", LABELS)])
    yield "batch-wide", zipped([("x.npy", X), ("y.npy", LABELS)], wide=True)
    yield "batch-deflated", zipped([("x.npy", X), ("y.npy", LABELS)], deflate=True)
    yield "parameters", zipped([("w.npy", X), ("layer.bias.npy", npy(F8, (1,), bytes(8))), ("s.npy", npy(F4, (), bytes(4)))])
    yield "every-type", zipped([("%s.npy" % name, data) for name, data in arrays()])


def tensors():
    yield "one", safetensors('{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}', floats(1, -2))
    yield "two", safetensors('{"w":{"dtype":"F32","shape":[1,2],"data_offsets":[2,10]},'
                             '"b":{"dtype":"BF16","shape":[],"data_offsets":[0,2]}}   ', b"\x80\x3f" + floats(1, -2))
    yield "metadata", safetensors('{"__metadata__":{"format":"pt","k":"v"},'
                                  '"i":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}}', bytes(8))
    yield "none", safetensors("{}", b"")
    yield "blanks", safetensors('{"__metadata__": {"format": "pt"},\n "w" : {"shape": [1, 2], "dtype": "F32",\t"data_offsets": [0, 8]}}\r\n',
                                floats(1, -2))
    yield "types", safetensors('{"a":{"dtype":"F16","shape":[2],"data_offsets":[0,4]},"b":{"dtype":"BOOL","shape":[2],'
                               '"data_offsets":[4,6]},"c":{"dtype":"U8","shape":[0],"data_offsets":[6,6]},'
                               '"d":{"dtype":"F64","shape":[1],"data_offsets":[6,14]}}', b"\0\x3c\0\0\0\1" + bytes(8))


def indexes():
    yield "two", (b'{"metadata":{"total_size":16},"weight_map":{"b":"model-00001-of-00002.safetensors",'
                  b'"w":"model-00002-of-00002.safetensors","a":"model-00001-of-00002.safetensors"}}')
    yield "none", b'{"weight_map":{}}'
    yield "outside", b'{"weight_map":{"w":"../w.safetensors"}}'
    yield "hidden", b'{"weight_map":{"w":".safetensors","v":"a/b"}}'


def keyed():
    """Pickles of dictionaries with several state dicts, and none."""
    def text(word):
        return b"X" + struct.pack("<I", len(word)) + word
    tensor = (b"ctorch._utils\n_rebuild_tensor_v2\n((" + text(b"storage") + b"ctorch\nFloatStorage\n" + text(b"0") + text(b"cpu")
              + b"K\x06tQK\x00K\x02\x85K\x01\x85\x89ccollections\nOrderedDict\n)RtR")
    inner = b"}" + text(b"module.w") + tensor + b"s"
    yield "two-dicts", b"\x80\x02}" + text(b"model") + inner + b"s" + text(b"state_dict") + inner + b"s."
    yield "ema", b"\x80\x02}" + text(b"ema") + inner + b"s" + text(b"state_dict") + inner + b"s" + text(b"epoch") + b"K\x07s."
    yield "no-dict", b"\x80\x02}" + text(b"state_dict") + b"K\x07s."


# --- models


def message(*fields):
    return wire.join([[number, wire.VARINT if isinstance(value, int) else wire.BODY,
                       value.encode() if isinstance(value, str) else value] for number, value in fields])


def port(name, *dims):
    shape = message(*[(1, message((1, d) if isinstance(d, int) else (2, d))) for d in dims])
    return message((1, name), (2, message((1, message((1, 1), (2, shape))))))


def initializer(name, dims, *x):
    return message(*[(1, d) for d in dims], (2, 1), (8, name), (9, floats(*x)))


def node(op, inputs, output, *attributes):
    return message(*[(1, i) for i in inputs], (2, output), (4, op), *[(5, a) for a in attributes])


def model(nodes, inits, x, y, opset=17):
    graph = message(*[(1, n) for n in nodes], (2, "g"), *[(5, i) for i in inits], (11, x), (12, y))
    return message((1, 8), (7, graph), (8, message((2, opset))))


def models():
    w = initializer("w", (2, 2), 1, -1, 0.5, 0)
    yield "matmul-relu", model([node("MatMul", ["x", "w"], "a"), node("Relu", ["a"], "y")], [w], port("x", "N", 2),
                               port("y", "N", 2))
    clip = [node("Clip", ["x", "lo", "hi"], "a"), node("Mul", ["a", "w"], "y")]
    yield "clip-scaled", model(clip, [initializer("lo", (), 0), initializer("hi", (), 6), initializer("w", (1,), 3)],
                               port("x", 1, 2), port("y", 1, 2))
    alpha = message((1, "alpha"), (20, 1)) + wire.field(2, wire.FOUR, floats(0.25))
    yield "leaky", model([node("LeakyRelu", ["x"], "a", alpha), node("Add", ["a", "w"], "y")], [w], port("x", 2, 2),
                         port("y", 2, 2), opset=6)


def features_of_model(data):
    """Operators with their attributes, and the operators that follow each other."""
    found, last = set(), None
    for number, _, graph in wire.split(data):
        for inside, _, body in wire.split(graph) if number == 7 else []:
            if inside != 1:
                continue
            fields = wire.split(body)
            op = next(bytes(p) for n, _, p in fields if n == 4)
            found |= {op, (last, op)}
            last = op
            for n, _, p in fields:
                if n == 5:
                    found |= {(op, bytes(next(q for m, _, q in wire.split(p) if m == 1)))}
    return found


# --- proofs, programs, texts


def features_of_text(data):
    """The first words of lines, two and two."""
    first = [line.split(b" ")[0] + (b" " + line.split(b" ")[1] if line.startswith(b"evidence ") else b"")
             for line in data.split(b"\n")]
    return set(zip(first, first[1:]))


def features_of_case(data):
    """The keys of headers, two and two, and what is expected."""
    keys = [b" ".join(line.split()[1:3 if b"expect" in line or b"claimed" in line else 2])
            for line in data.split(b"\n") if line.startswith(b"#:")]
    return set(zip(keys, keys[1:]))


def features_of_program(data):
    return features_of_text(data) | set(re.findall(rb"[a-z_0-9]+(?=[({])|[<>=!]=?|\bif\b", data.split(b"===")[0]))


def chosen(files, features):
    """Those files, the smallest first, that have a feature which none before has."""
    seen = set()
    for name, data in sorted(files, key=lambda file: (len(file[1]), file[0])):
        has = features(data)
        if not has <= seen:
            seen |= has
            yield name, data


def files_of(folder, pattern, most):
    return [(p.stem, p.read_bytes()) for p in (ROOT / folder).glob(pattern) if p.stat().st_size <= most]


def programs():
    for name, proof in files_of("proofs-data/papers", "*.proof", 6000):
        stated = re.search(rb"^program (\S+) ", proof, re.M).group(1)
        text = (ROOT / "cases/papers" / stated.decode()).read_bytes()
        if len(text) <= 3000:
            yield name, text + b"===\n" + proof.replace(b"program " + stated + b" ", b"program p.prog ")
    yield "cones", (b"input x, y\noutput relu{5}(x) + max{first}(y, x)\n===\nclarke-proof 1\nverdict not-in-clarke\nsemantics real\n"
                    b"program p.prog 0\nat x 0\nat y 0\nwrt *\nprofile pytorch-2.13\ntouched 2\nevidence separator\nv 1 0\ncones\nsplit 0\n"
                    b"wins 0\nleaf -1 1\nwins 1\nleaf -1 -2\nwins 0\nleaf 1 2\nwins 1\nleaf 1 0\nend 0\n")


def records():
    """First lines of files of tensor cores' records, after the digit that chooses a reader."""
    for reader, file in enumerate(["V100/fp16/a_V100_fp16", "A100/bf16/b_A100_bf16", "A100/tf32/a_A100_tf32", "Ada/E4M3/a_Ada_E4M3",
                                   "H100/E5M2/b_H100_E5M2", "H100/fp16/c_H100_fp32", "H100/fp16/d_H100_fp16"]):
        lines = (ROOT / "proofs-data/gpu/published" / (file + ".txt")).read_bytes().splitlines(True)
        yield "reader-%d" % reader, b"%d" % reader + b"".join(lines[:3])
    yield "reader-7", b"7" + (ROOT / "proofs-data/gpu/hopper/H100/mma-k16/fp16/instruction.txt").read_bytes()


def runs():
    """Descriptions of run folders: what must be there, and more."""
    def file(name):
        return {"file": name, "sha256": "0" * 64}
    run = {"format": "clarke-run", "version": 1, "framework": {"name": "torch", "version": "2.13.0"}, "profile": "pytorch-2.13",
           "device": {"type": "cpu", "name": "x86_64"}, "dtypes": ["float32"],
           "flags": {"float32_matmul_precision": "highest", "tf32_matmul": False, "tf32_cudnn": True}, "graph": file("graph.onnx"),
           "loss": "sum", "parameters": ["w"],
           "steps": [{"step": 0, "loss_scale": "1024/3",
                      "files": {"batch": file("a.npz"), "parameters": file("p"), "gradients": file("g")}}]}
    yield "light", json.dumps(run).encode()
    run["steps"][0]["files"]["trace"] = file("t")
    run["device"]["type"], run["dtypes"], run["parameters"] = "cuda", ["bfloat16", "float32"], ["a.weight", "b.bias"]
    run["steps"].append(dict(run["steps"][0], step=1))
    yield "two-steps", json.dumps(run, indent=1).encode()
    run["steps"][1]["files"] = dict(run["steps"][0]["files"], trace={"file": "t"}, trees=file("o"))
    yield "unhashed", json.dumps(run, indent=1).encode()
    run["steps"][0]["statistics"] = [{"node": "n", "mean": "a", "variance": "b", "momentum": "1/10", "count": "c", "samples": 2}]
    run["steps"][0]["again"], run["steps"][1]["again"] = None, "calls"
    run["steps"][1]["statistics"] = [{"node": "n", "mean": "a", "variance": "b", "momentum": "-0.5"}] * 2
    yield "statistics", json.dumps(run, indent=1).encode()


def manifests():
    """Descriptions of sweeps."""
    least = {"model": "net.onnx", "batches": "b/*.npz", "profiles": ["pytorch-2.13", "minimal.profile"]}
    yield "least", json.dumps(least).encode()
    yield "drawn", json.dumps(dict(least, seeds={"from": 3, "count": 150}, formats=["float16", "float32"], reduction="sum")).encode()
    yield "stored", json.dumps(dict(least, checkpoints=["c/*.safetensors"], loss="ce", wrt=["a", "b"]), indent=1).encode()
    yield "listed", json.dumps(dict(least, seeds=[0, 7, 2 ** 32 - 1])).encode()


def trees():
    """Files of summation trees: chains, lanes, blocks, fused and not."""
    texts = {1: "0", 5: "[0 1-4*]", 8: "[[0 4*] [2 6*] [[1 5*] [3 7*]]]", 12: "[0-8/4 [1-9/4] [2-10/4 [3-11/4]]]", 24: "[0-15 [16-23]]"}
    def file(sums):
        return {"format": "clarke-trees", "version": 1, "sums": sums}
    yield "none", json.dumps(file([])).encode()
    yield "all", json.dumps(file([
        {"part": "output", "name": "a/addmm", "leaves": n, "type": "float64" if n == 5 else "float32",
         "trees": [{"tree": text, "rows": [0, 3], "columns": [4 * i, 4 * i + 3], **({"form": ("first", "sum", "fused")[i]} if n > 8 else {})}
                   for i in range(1 + n % 3)]}
        for n, text in texts.items()]), indent=1).encode()


TABLES = [b"1 0 1\n0 1 1\n", b"# three\n+1.5 -2/3 1e-3\n\n.5e0\t7. 0\r\n", b"1/0\n", b"1 2\n3\n", b"1e400 1e-400\n0 0\n"]


def arrangements():
    """Matrices, and proofs of them."""
    for name, matrix, tree in [
            ("three", b"1 0 1\n0 1 1\n", "regions 6\nhalf 0\ntree\nsplit 1\nsplit 2\nleaf 1 -2\nleaf 2 -1\ncircuit 0 1 1 1 2 -1\nforced 2 0\nleaf 1 1\n"),
            ("parallel", b"2 0 -1/3\n", "regions 2\nparallel 2 0\nhalf 0\ntree\nleaf 1\n"),
            ("none", b"0\n0\n", "regions 1\ntree\nleaf 0 0\n"),
            ("affine", b"1\n", "regions 2\ntree\nsplit 0\nleaf 1 2\nleaf 3 1\n")]:
        offsets = "offsets V " + "0" * 64 + "\n" if name == "affine" else ""
        text = "clarke-proof 1\nclaim arrangement\nsemantics real\narrangement V " + "0" * 64 + "\n" + offsets + tree + "end " + "0" * 64 + "\n"
        yield name, matrix + b"===\n" + text.encode()


def region_proofs():
    """Programs, boxes, and proofs about both; the hashes are made in the target."""
    step, peak, box = "input x\noutput relu(x) - relu(x - 1)\n", "input x[2]\noutput max(x[0], x[1], (x[0] + x[1]) / 2 - 1/10)\n", "-2 2\n"
    head, nought = "clarke-proof 1\nclaim regions\nsemantics real\nprogram P 0\n", "end 0\n"
    tree = "regions 3\ntree\nsplit 2\ncircuit 1 1 2 -1 3 2\nforced 3 0\nleaf -1 1\nsplit 3\nleaf 1 2\nleaf 4 3\n"
    held = "input a, w, b\noutput relu(w * a * b + max(0 * a, b - 2)) + relu(b) * exp(a - a)\n"
    around = "regions 2\ngradients 2\ngradient 0\ngradient 1\ntree\nsplit 0\nleaf -1\nleaf 1\n"
    wins = "regions 2\ntree\nwins 0\nleaf 1 0 1\nwins 1\nleaf 0 1 1\ncircuit 0 1 1 1 4 2 5 2\nloses 2 0\n"
    for name, text, bounds, place, evidence in [
            ("box", step, box, "box B 0\n", tree), ("stated", step, box, "box -\nbound -2 2\n", tree),
            ("around", step, box, "at 0\n", around), ("maximum", peak, 2 * box, "box B 0\n", wins),
            ("slice", peak, box + "-9 -9\n", "box B 0\n", "regions 1\ntree\nleaf 0 1\n"),
            ("smooth", "input x\noutput leaky_relu(x, 1) + 0 * abs(x / 3)\n", "-1 1/2\n", "box B 0\n",
             "regions 2\ntree\nsplit 2\nleaf -1 2\nleaf 1 3\n"),
            ("held", held, box, "wrt w\nheld 1 2\nbox B 0\n", "regions 2\ntree\nsplit 2\nleaf -1 1\nleaf 1 1\n"),
            ("held-around", held, box, "wrt *\nheld\nat 0 1 -3\n", "regions 1\ngradients 1\ngradient 0 0 0\ntree\nleaf 0 0 0\n"),
            ("held-all", "input a, w, b\noutput relu(w * a) + b * a / 2\n", 2 * box, "wrt w b\nheld 3\nbox B 0\n",
             "regions 2\ntree\nsplit 4\nleaf -1 0 1\nleaf 1 0 1\n")]:
        yield name, (text + "===\n" + bounds + "===\n" + head + place + evidence + nought).encode()
    patterns = head.replace("regions", "patterns")
    for name, text, at, evidence in [
            ("patterns", "input a, w, u\noutput relu(u * relu(w * a))\n", "wrt w u\nheld 1\nat 0 0\n",
             "patterns 3\ngradients 1\ngradient 0 0\ntree\nbranch 2\nleaf\narc 1\nstep -1 0\nbranch 2\nleaf\narc 1\nstep 1 -1\nleaf\narc 2\nstep 1 0\nstep 0 1/2\n"),
            ("patterns-dead", "input w, u\noutput relu(-w * w) - max(w, u * u, w + 1 / 2 - 1 / 2)\n", "wrt *\nheld\nat 0 0\n",
             "patterns 2\ngradients 2\ngradient -1 0\ngradient 0 0\ntree\nbranch 2\nbranch 2\nleaf\narc 1\nstep 1 0\nleaf\narc 1\nstep -1 0\ndead 1\nu 0 1\n")]:
        yield name, (text + "===\n" + box + "===\n" + patterns + at + evidence + nought).encode()
    segment = head.replace("regions", "segment")
    for name, text, bounds, evidence in [
            ("segment", step, box, "from -2\nto 2\npieces 3\nintegral 1\npiece 1/2 0\npiece 3/4 4\npiece 1 0\n"),
            ("segment-maximum", peak, 2 * box, "from -2 -2\nto 2 2\npieces 1\nintegral 4\npiece 1 4\n"),
            ("segment-along", "input x[2]\noutput relu(x[0] - x[1]) + max(0, x[0]), x[1] / 3\n", 2 * box,
             "from -2 -2\nto 2 2\npieces 2\nintegral 2 4/3\npiece 1/2 0 4/3\npiece 1 4 4/3\n"),
            ("segment-held", held, box, "wrt w\nheld 1 2\nfrom -1\nto 3\npieces 2\nintegral 6\npiece 1/4 0\npiece 1 8\n")]:
        yield name, (text + "===\n" + bounds + "===\n" + segment + evidence + nought).encode()


FORMULAS = {"comments": "c a\n  c b\np cnf 3 2\nc within\n1 -2\n 3 0\t-1 0\r\nc end", "none": "p cnf 0 0\n", "empty": "p cnf 2 1\n0\n",
            "unit": "p cnf 2 3\n1 0\n-1 0\n2 -2 0\n", "long": "p cnf 6 2\n1 2 -3 4 5 6 0\n1 1 -2 -2 0\n",
            "percent": "p cnf 1 1\n1 0\n%\n0\n", "many": "p cnf 1073741824 0\n"}


def formulas():
    yield from ((name, text.encode()) for name, text in FORMULAS.items())
    yield from files_of("cases/encode", "*.cnf", 1500)


# Of the formulas of fuzz_clausal.c.
REFUTATIONS = {"drat": "c cases\n1 0\nd 4 -3 2 0\n2 0\n0\n", "drat-at-once": "0\n", "drat-repeated": "d 1 1 -1 0 1 1 0 d 1 0 -4 0",
               "lrat": "10 1 2 0 4 5 1 0\n10 d 7 8 0\n11 1 0 10 3 4 5 0\n12 0 11 2 3 4 5 6 0\n",
               "lrat-rat": "10 1 0 -4 5 0\n", "lrat-far": "288230376151711744 1 0 1 3 4 5 0\n"}


def refutations():
    yield from ((name, text.encode()) for name, text in REFUTATIONS.items())
    yield "binary", b"a\x02\x00d\x02\x04\x06\x08\x00a\x04\x00a\x00"
    yield "binary-far", b"a\x80\x80\x80\x80\x08\x00"


def formula_proofs():
    for name, proof in files_of("proofs-data/encode", "*.proof", 3000):
        text = (ROOT / "cases/encode" / (name + ".cnf")).read_bytes()
        for kind in (b"cnf", b"onnx"):
            proof = proof.replace(b" %s.%s " % (name.encode(), kind), b" f." + kind + b" ")
        yield name, text + b"===\n" + proof
    yield "unit", b"p cnf 1 2\n1 0\n-1 0\n===\nclarke-proof 1\nverdict differentiable\nsemantics real\nformula f.cnf 0\n" \
        b"model f.onnx 0\nevidence refutation\nlearn 3 0 1 2\nend 0\n"


def record_proofs():
    """Proofs about record.onnx, each with a trace behind it."""
    folder = ROOT / "tests/check/data"
    proofs = edits.stored(folder)
    for name in ["record", "record-1", "record-kept", "record-less", "record-more", "record-shape",
                 "statistic-f32-variance-0"]:
        text = proofs[name + ".proof"].encode()
        trace = next(line.split(b" ")[1] for line in text.split(b"\n") if line.startswith(b"trace "))
        yield name, text.replace(b"trace " + trace, b"trace T") + b"===\n" + (folder / trace.decode()).read_bytes()


POINTS = ["t=1/3", "t=-0.1", "v=1,0x1p-3,0.1f", "longer_name= 1 , -2 ", "v=0.1d,1e-3,0.1h", "0x1.99999ap-4", "t=0.1bf"]

def seeds():
    """Corpus, name, bytes."""
    for corpus, extension, made in [
            ("npy", "npy", arrays()), ("npz", "npz", archives()), ("safetensors", "safetensors", tensors()),
            ("shards", "json", indexes()), ("pt", "pkl", keyed()),
            ("both-numbers", "npy", arrays()), ("both-numbers", "npz", archives()), ("both-numbers", "safetensors", tensors()),
            ("onnx", "onnx", models()), ("graph", "onnx", models()),
            ("graph", "onnx", [("small-" + name, data) for name, data in
                               chosen(files_of("tests/check/data", "*.onnx", 2000), features_of_model)]),
            ("check-proof", "proof", chosen(files_of(edits.expanded(ROOT / "tests/check/data"), "*.proof", 3000), features_of_text)),
            ("check-program", "text", chosen(list(programs()), features_of_program)),
            ("check-formula", "text", formula_proofs()), ("dimacs", "cnf", formulas()), ("clausal", "text", refutations()),
            ("prog", "prog", chosen(files_of("cases/papers", "*.prog", 1500), features_of_program)),
            ("case", "prog", chosen(files_of("cases/papers", "*.prog", 3000), features_of_case)),
            ("mma", "text", records()),
            ("run", "json", runs()),
            ("manifest", "json", manifests()),
            ("trees", "json", trees()),
            ("table", "text", [("table-%d" % i, t) for i, t in enumerate(TABLES)]),
            ("vnnlib", "vnnlib", [("square", (ROOT / "cases/regions/square.vnnlib").read_bytes()),
                                  ("minus", b"(declare-const X_0 Real)(assert(<= (- 1/2) X_0))(assert (and (<= X_0 1e1)(and)(>= X_0 -1)))"),
                                  ("counterexample", b"sat\n((X_0 0.5)\n (X_1 (- 1e-3))\n (Y_0 1.25))\n"),
                                  ("linear", b"(declare-const X_0 Real)(declare-const Y_0 Real)(declare-const Y_1 Real)"
                                             b"(assert (or (>= (- Y_0 Y_1) (* 2 X_0)) (and (<= Y_0 (+ Y_1 1)))))"),
                                  ("or", b"(declare-const X_0 Real)\n(assert (or (and (<= X_0 1)) (and (>= X_0 2))))\n")]),
            ("check-arrangement", "text", arrangements()),
            ("check-regions", "text", region_proofs()),
            ("check-record", "bin", record_proofs()),
            ("point", "text", [("point-%d" % i, p.encode()) for i, p in enumerate(POINTS)])]:
        for name, data in made:
            yield corpus, "%s.%s" % (name, extension), data


# --- dictionaries, for libFuzzer

NUMPY = ["\x93NUMPY\1\0", "'descr': ", "'fortran_order': ", "'shape': ", "True", "False", "(2, 2), ", "(1,)", "()", "'<f4'",
         "'>f8'", "'|u1'", "'<i8'", "'|b1'", "'<f2'", "}\n"]
ZIP = ["PK\1\2", "PK\3\4", "PK\5\6", "PK\6\6", "PK\6\7", "PK\7\b", "x.npy", "y.npy", ".npy", "\1\0\x10\0", "\xff\xff\xff\xff"]
JSON = ['"dtype":"', '"shape":[', '"data_offsets":[', '"__metadata__":{', "F16", "F32", "F64", "BF16", "I8", "I16", "I32", "I64",
        "U8", "U16", "U32", "U64", "BOOL", "\\u0041", '"},"', "[0,8]", "{}", "null", "1e1"]
PICKLE = ["\x80\2", "ccollections\nOrderedDict\n", "ctorch._utils\n_rebuild_tensor_v2\n",
          "ctorch._utils\n_rebuild_parameter\n", "ctorch\nFloatStorage\n", "ctorch\nLongStorage\n",
          "ctorch\nBFloat16Storage\n", "X\7\0\0\0storage", "X\3\0\0\0cpu", "X\1\0\0\0000", "tQ", "Rq\1", "K\2\x86", "K\1K\2\x86",
          "\x89", "}q\2(", "u.", "state_dict", "data.pkl", "data/0", "version", "byteorder", "big", "little"]
LANGUAGE = ["input ", "let ", "output ", "piece ", " if ", " then ", " else ", " and ", "exp(", "log(", "sqrt(", "sin(", "cos(",
            "tanh(", "sigmoid(", "relu(", "leaky_relu(", "relu6(", "hardtanh(", "clamp(", "hardsigmoid(", "hardswish(", "abs(",
            "elu(", "sum(", "mean(", "max(", "min(", "maxpool(", "kth(", "median(", "norm1(", "norm2(", "norminf(", "normpool(",
            "dot(", "sort(", "{first}", "{last}", "{stable}", "{mean}", "{hybrid 1/2}", "{left}", "{right}", "{1/2}", "[0]",
            "[0:2]", "<=", ">=", "==", "!=", "0x1p-3", "0.1f", "0.1h", "0.1d", "1e-3"]
RULES = ["like ", "pytorch-2.13", "pytorch-2.14", "jax-0.10", "tensorflow-2", "unknown", "tie ", "first", "last", "stable", "mean", "hybrid ", "left",
         "right", "unknown"]
HEADERS = ["#: claim ", "#: where ", "#: says ", "#: note ", "#: at ", "#: expect ", "#: claimed ", "#: profile ", "#: wrt ",
           "#: cannot-check "]
DIMACS = ["p cnf ", "c ", " 0\n", "-1 ", "1 -1 ", "%\n", "1073741824"]
PROOF = ["clarke-proof 1", "verdict in-bouligand", "verdict in-clarke", "verdict not-in-clarke", "semantics real", "model ",
         "params ", "batch ", "program p.prog ", "loss sum", "loss mse", "loss ce", "wrt *", "profile x", "proxy ", "touched ",
         "===\n", "%41"]


def escaped(word):
    return "".join(c if " " <= c <= "~" and c not in '"\\' else "\\x%02X" % ord(c) for c in word)


def dictionaries():
    """Name, words."""
    files = {}
    for corpus, name, data in seeds():
        files.setdefault(corpus, []).append(data)
    found = set().union(*[features_of_model(data) for data in files["graph"]])
    names = {f.decode() for f in found if isinstance(f, bytes)} | {f[1].decode() for f in found if isinstance(f, tuple)}
    texts = b"\n".join(files["check-proof"] + files["check-program"]).decode("ascii", "replace")
    keywords = {w + " " for w in re.findall(r"^([a-z]+) ", texts, re.M)} | set(re.findall(r"^evidence [a-z]+", texts, re.M))
    onnx = sorted(names) + ["ai.onnx", "x", "w", "y", "\x0a\x01", "\x10\x01", "\x1a\0"]
    yield "onnx", onnx
    yield "graph", onnx
    yield "both-model", onnx
    yield "npy", NUMPY
    yield "npz", NUMPY + ZIP
    yield "safetensors", JSON
    yield "shards", JSON + ['"weight_map":{', '"metadata":{', ".safetensors", "../", "/"]
    yield "both-numbers", NUMPY + ZIP + JSON
    yield "pt", PICKLE + ZIP
    yield "prog", LANGUAGE
    yield "point", ["t=", "v=", "longer_name=", ",", "1/3", "0x1p-3", "0.1f", "0.1h", "0.1d", "1e-3", "-", "0x1.99999ap-4"]
    yield "profile", RULES + sorted(name + " 0 " for name in names if name[0].isupper())
    yield "mma", ["3f800000 ", "80000000 ", "00000000 ", "7f800000 ", "0" * 32 + "\n", "1" * 32 + "\n", "fp32 ", "fp16 ", "# ", "mma.sync."]
    yield "table", ["-", "1/3", "1e-3", ".", " ", "\t", "\n", "#", "1e400"]
    yield "vnnlib", ["(", ")", "(declare-const X_0 Real)", "(assert ", "(<= X_0 1)", "(>= X_0 -1)", "(and ", "(or ", "(+ ", "(- ", "(* 2 ", "sat", "Y_0", "X_1", "(- 1)", ";", "\n"]
    yield "check-arrangement", ["clarke-proof 1", "claim arrangement", "semantics real", "arrangement V ", "offsets V ", "regions ", "parallel ",
                                "half ", "tree\n", "circuit ", "forced ", "split ", "leaf ", "===\n"]
    yield "check-regions", LANGUAGE + ["clarke-proof 1", "claim regions", "semantics real", "program P ", "box B ", "box -\n", "bound ", "at ", "wrt ", "held ",
                                       "regions ", "claim patterns", "patterns ", "branch 2\n", "dead 1\n", "u 0 1\n", "arc ", "step ", "gradients ", "gradient ", "claim segment", "from ", "to ", "pieces ", "integral ", "piece ", "tree\n", "circuit ", "forced ", "split ", "wins ", "loses ",
                                       "leaf ", "===\n"]
    yield "check-record", JSON + ["claim record", "trace T ", "gradients ", "scale ", "output ", "indices ", "gradient ", "parameter ", "pattern ",
                                  "part ", " bit-exact\n", " within\n", " not-covered\n", "recorded-at-kink", "exactly-at-kink", "other-side",
                                  "loser", "===\n", "output/", "gradient/", "before/", "after/", "statistic r ", " mean 1 a 1/2 1", " variance 1 a 1 1", " count 1"]
    yield "case", HEADERS + LANGUAGE + RULES
    yield "check-proof", PROOF + sorted(keywords)
    yield "check-program", PROOF + sorted(keywords) + LANGUAGE
    yield "dimacs", DIMACS
    yield "clausal", ["c ", "d ", " 0\n", "-1 ", "1 -1 ", "a\x02\x00", "a\x00", "10 ", " 10 d 1 0\n", "288230376151711744"]
    yield "check-formula", PROOF + DIMACS + ["verdict differentiable", "verdict not-differentiable", "formula f.cnf ", "model f.onnx ",
                                             "evidence refutation", "evidence opposite", "learn ", "delete ", "d "]


def made():
    """Path, bytes."""
    for corpus, name, data in seeds():
        yield HERE / "corpus" / corpus / name, data
    for name, words in dictionaries():
        yield HERE / "dictionary" / (name + ".dict"), "".join('"%s"\n' % escaped(w) for w in dict.fromkeys(words)).encode()


def main():
    check, different = "--check" in sys.argv[1:], []
    for path, data in made():
        if check:
            if not path.is_file() or path.read_bytes() != data:
                different.append(str(path))
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)
    print("\n".join(different))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
