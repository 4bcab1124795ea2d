"""clarke certify --mma: beside the definition on random products, with every bit of results flipped, and on spoilt folders.

    test_certify.py TOOLS
"""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import reference

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from draw import ONE_IN, draw_count  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "proofs-data" / "gpu"
CLARKE = Path(sys.argv[1]) / "clarke"
PTX = {"fp16": "f16", "bf16": "bf16", "tf32": "tf32", "E4M3": "e4m3", "E5M2": "e5m2", "fp32": "f32"}
failures = []


def expect(what, holds, *more):
    if not holds:
        failures.append(what)
        print("FAILED:", what, *more)


def certify(folder, *options):
    return subprocess.run([CLARKE, "certify", "--mma", folder, *options], text=True, capture_output=True, timeout=120)


# --- random products -------------------------------------------------------------------------------

def a_number(rng, name, low, high):
    """The bits of a number with an exponent from low to high, as far as the format has it."""
    own, least, most, largest = reference.FORMATS[name]
    e = rng.randint(low, high)
    fraction = rng.choice([0, 2**own - 1, rng.randrange(2**own), rng.randrange(2**own)])
    m = reference.power(e) * (1 + reference.Fraction(fraction, 2**own))
    x = reference.rounded((rng.random() < 0.5, min(m, largest)), name, False)
    return reference.bits_of(x)


def a_product(rng, name, k, kind):
    own, least, most, _ = reference.FORMATS[name]
    middle, width = rng.randint(least // 2, most // 2), rng.randint(1, 14)
    ranges = {"close": (middle - width, middle + width), "wide": (least - own, most), "small": (least - own - 1, least + 4),
              "large": ((60, 64) if most > 100 else (most - 3, most)), "zeros": (middle - 3, middle + 3),
              "cancel": (middle - 3, middle + 3),
              "tiny": ((-72, -62) if most > 100 else (least - own, least))}
    low, high = ranges[kind]
    a = [a_number(rng, name, low, high) for _ in range(k)]
    b = [a_number(rng, name, low, high) for _ in range(k)]
    if kind == "cancel":
        for i in range(0, k - 1, 2):
            a[i + 1], b[i + 1] = b[i], a[i] ^ 1 << 31
        a[rng.randrange(k)] = a_number(rng, name, low - 9, low)
    if kind == "zeros":
        a = [x if rng.random() < 0.5 else rng.choice([0, 1 << 31]) for x in a]
        b = [x if rng.random() < 0.8 else rng.choice([0, 1 << 31]) for x in b]
    c = a_number(rng, "fp32", max(2 * low, -150), max(min(2 * high, 127), -149))
    if rng.random() < 0.3:
        c = rng.choice([0, 1 << 31, a_number(rng, "fp32", -150, -120)])
    return a, b, c


def write(folder, gpu, name, products, results, instructions=()):
    """results: by output format, lists of bits."""
    folder.mkdir(parents=True)

    def hexadecimal(rows):
        return "".join("".join("%08x " % x for x in row) + "\n" for row in rows)

    def binary(rows):
        return "".join(format(x, "032b") + "\n" for x in rows)

    (folder / f"a_{gpu}_{name}.txt").write_text(hexadecimal(p[0] for p in products))
    (folder / f"b_{gpu}_{name}.txt").write_text(hexadecimal(p[1] for p in products))
    (folder / f"c_{gpu}_fp32.txt").write_text(binary(p[2] for p in products))
    for output, d in results.items():
        (folder / f"d_{gpu}_{output}.txt").write_text(binary(d))
    if instructions:
        (folder / "instruction.txt").write_text("# by the definition\n" + "".join(f"{o} {i}\n" for o, i in instructions))


def instruction(kind, name, output, k):
    if kind == "mma":
        return f"mma.sync.aligned.m16n8k{k}.row.col.{PTX[output]}.{PTX[name]}.{PTX[name]}.{PTX[output]}"
    return f"wgmma.mma_async.sync.aligned.m64n8k{k}.{PTX[output]}.{PTX[name]}.{PTX[name]}"


def against_definition(top, each):
    """A folder of random products for every rule, with the definition's results."""
    rng, count = random.Random(1), 0
    kinds = ["close", "wide", "small", "large", "zeros", "cancel", "tiny"]
    for i, (gpu, kind, name, output, k, rule) in enumerate(reference.rules()):
        products = [a_product(rng, name, k, kinds[j % len(kinds)]) for j in range(each)]
        d = [reference.dot(*p, name, rule, output) for p in products]
        named = [(output, instruction(kind, name, output, k))] if kind else []
        write(top / f"{i:03d}", gpu, name, products, {output: d}, named)
        count += each
    said = certify(top, "--json")
    report = json.loads(said.stdout)
    wrong = [s for s in report["sets"] if s["outcome"] != "bit-exact"]
    expect("the definition and the rule agree", said.returncode == 0 and not wrong, said.stderr, wrong[:2])
    expect("every set is reported", sum(s["results"] for s in report["sets"]) == count)
    print(f"{count} random products in {len(report['sets'])} sets: {len(wrong)} sets differ")


# --- flipped bits ----------------------------------------------------------------------------------

def flip(path, line, bit):
    lines = path.read_text().splitlines(True)
    old = lines[line][bit]
    lines[line] = lines[line][:bit] + ("1" if old == "0" else "0") + lines[line][bit + 1:]
    path.write_text("".join(lines))


def flipped(top):
    """Each bit of some results, one at a time."""
    rng, tried = random.Random(2), 0
    for d in ["published/H100/E4M3/d_H100_fp32.txt", "published/Ada/fp16/d_Ada_fp16.txt", "published/V100/fp16/d_V100_fp32.txt",
              "hopper/H100/wgmma-k32/E5M2/d_H100_fp32.txt", "published/B200/E5M2/d_B200_fp16.txt"]:
        folder = top / "flipped"
        shutil.copytree((KEPT / d).parent, folder)
        path = folder / Path(d).name
        kept = path.read_text()
        for bit in range(0, 32, ONE_IN):
            line = rng.randrange(len(kept.splitlines()))
            flip(path, line, bit)
            said = certify(folder)
            expect(f"{d}, bit {bit} of line {line + 1} flipped", said.returncode == 1 and f"{path.name}:{line + 1} " in said.stdout,
                   said.stdout, said.stderr)
            path.write_text(kept)
            tried += 1
        shutil.rmtree(folder)
    print(f"{tried} results with a flipped bit")


# --- what is kept ----------------------------------------------------------------------------------

def kept():
    said = certify(KEPT, "--json")
    report = json.loads(said.stdout)
    expect("the kept records are bit-exact", said.returncode == 0 and report["verdict"] == "bit-exact", said.stderr)
    expect("nothing is missing", len(report["sets"]) == 78, len(report["sets"]))
    print(f"{sum(s['agree'] for s in report['sets'])} kept results in {len(report['sets'])} sets agree")


def parse_tree(text):
    words = text.replace("(", " ( ").replace(")", " ) ").split()

    def node(at):
        children = []
        while words[at] != ")":
            if words[at] == "(":
                child, at = node(at + 1)
                children.append(child)
            else:
                first, _, last = words[at].partition("-")
                children += range(int(first), int(last or first) + 1)
                at += 1
        return children, at + 1

    return node(1)[0]


def along(tree, a, b, name, fma):
    """A matrix product's entry, added along its tree. Leaves of a node: by one tensor core's instruction, or of fp32 one by one."""
    below = [along(t, a, b, name, fma) for t in tree if isinstance(t, list)]
    leaves = [t for t in tree if not isinstance(t, list)]
    d = below[0] if below else (False, reference.Fraction(0))
    for other in below[1:]:
        d = reference.plus(d, other, "fp32")
    if name != "fp32" and leaves:
        return reference.group([a[i] for i in leaves], [b[i] for i in leaves], d, name, dict(kept=25, least=-133, fraction=23), "fp32")
    for i in leaves:
        product = (a[i][0] != b[i][0], a[i][1] * b[i][1])
        d = reference.plus(d, product if fma else reference.rounded(product, "fp32", True), "fp32")
    return d


def replayed(p, example, fma):
    name = p["dtype"]
    a, b = ([reference.rounded(reference.number(int(x, 16)), name, True) for x in example[f]] for f in "ab")
    d = along(parse_tree(p["tree"]), a, b, name, fma)
    return reference.bits_of(d if name == "tf32" else reference.rounded(d, name, True)) == int(example["c"], 16)


def trees():
    """Recorded entries of matrix products are what their trees and the rule give. (A tree says nothing of FMA.)"""
    count = wrong = 0
    for path in sorted(KEPT.glob("hopper/*/trees.json")):
        for p in json.loads(path.read_text())["products"]:
            count += len(p["examples"])
            if not any(all(replayed(p, e, fma) for e in p["examples"]) for fma in (True, False)):
                wrong += 1
                print(path.parent.name, p["dtype"], p["m"], p["n"], p["k"], p["layout"], "is not replayed")
    expect("matrix products are replayed along their trees", count > 0 and wrong == 0, wrong)
    print(f"{count} entries of matrix products replayed along their trees")


def fp8_entry(p, example):
    """Groups of 32, kept to 13 bits. Without fast accumulation each 128 products' sum goes into a float32 of its own."""
    names = {"torch.float8_e4m3fn": "E4M3", "torch.float8_e5m2": "E5M2"}
    a, b = ([reference.number(int(x, 16)) for x in example[f]] for f in "ab")
    step, total = (p["k"] if p["fast"] else 128), (False, reference.Fraction(0))
    for start in range(0, p["k"], step):
        d = (False, reference.Fraction(0))
        for i in range(start, min(start + step, p["k"]), 32):
            d = reference.group(a[i:i + 32], b[i:i + 32], d, names[p["a"]], dict(kept=13, fraction=13), "fp32", names[p["b"]])
        total = reference.plus(total, d, "fp32")
    return reference.bits_of(total)


def fp8():
    """Recorded entries of FP8 matrix products."""
    products = json.loads((KEPT / "hopper/H100/fp8-products.json").read_text())["products"]
    found = [fp8_entry(p, e) == int(e["c"], 16) for p in products for e in p["examples"]]
    expect("FP8 matrix products are replayed", found and all(found), found)
    print(f"{sum(found)} of {len(found)} entries of FP8 matrix products replayed")


# --- spoilt folders --------------------------------------------------------------------------------

def set_line(name, number, text):
    def change(folder):
        lines = (folder / name).read_text().splitlines(True)
        lines[number - 1] = text(lines[number - 1])
        (folder / name).write_text("".join(lines))
    return change


def renamed(old, new):
    return lambda folder: (folder / old).rename(folder / new)


def written(name, data):
    def change(folder):
        (folder / name).write_bytes(data)
    return change


A, B, C, D = "a_H100_E4M3.txt", "b_H100_E4M3.txt", "c_H100_fp32.txt", "d_H100_fp32.txt"
SPOILT = [
    # (what is done, exit status, what the message must say)
    (set_line(A, 3, lambda s: s[:100] + "\n"), 2, A + ":3: 100 characters"),
    (set_line(A, 1, lambda s: "\n"), 2, A + ":1: 0 characters"),
    (set_line(A, 1, lambda s: s.rstrip() * 3 + "\n"), 2, A + ":1: "),
    (set_line(B, 2, lambda s: s[9:]), 2, B + ":2: "),
    (set_line(B, 40, lambda s: s[:8] + "_" + s[9:]), 2, B + ":40: no blank after number 1"),
    (set_line(A, 5, lambda s: "3f80000g" + s[8:]), 2, A + ":5: number 1 is not 8 hexadecimal digits"),
    (set_line(A, 5, lambda s: s[:9] + "3f800001" + s[17:]), 2, A + ":5: number 2, 3f800001, is not a finite number of the format E4M3"),
    (set_line(A, 5, lambda s: "7f800000" + s[8:]), 2, A + ":5: number 1, 7f800000, is not a finite"),
    (set_line(A, 5, lambda s: "7fc00000" + s[8:]), 2, A + ":5: number 1, 7fc00000, is not a finite"),
    (set_line(A, 5, lambda s: "43f00000" + s[8:]), 2, A + ":5: number 1, 43f00000, is not a finite"),  # 480, E4M3's NaN
    (set_line(A, 5, lambda s: "3a800000" + s[8:]), 2, A + ":5: number 1, 3a800000, is not a finite"),  # 2^-10
    (set_line(C, 7, lambda s: s[1:]), 2, C + ":7: 31 characters"),
    (set_line(C, 7, lambda s: "2" + s[1:]), 2, C + ":7: expected 32 digits 0 or 1"),
    (set_line(C, 7, lambda s: "0" + "1" * 8 + "0" * 23 + "\n"), 2, C + ":7: an infinite number or NaN"),
    (set_line(C, 7, lambda s: ""), 2, C + ": 39 lines, but its file a has 40"),
    (set_line(B, 40, lambda s: ""), 2, B + ": 39 lines, but its file a has 40"),
    (set_line(D, 40, lambda s: s + s), 2, D + ": 41 lines, but its file a has 40"),
    (set_line(D, 9, lambda s: "0" + "1" * 31 + "\n"), 1, D + ":9 "),
    (set_line(D, 9, lambda s: s[:31] + "\r\n"), 2, D + ":9: "),
    (written(A, b""), 2, A + ": it is empty"),
    (written(D, b""), 2, D + ": it is empty"),
    (written(C, b"\0" * 33), 2, C + ":1: "),
    (lambda f: (f / B).unlink(), 2, B + ": cannot be opened"),
    (lambda f: (f / C).unlink(), 2, C + ": cannot be opened"),
    (lambda f: [(f / D).unlink(), (f / "d_H100_fp16.txt").unlink()], 2, "no d_H100_fp32.txt or d_H100_fp16.txt"),
    (lambda f: (f / A).unlink(), 2, "there is no file a to go with it"),
    (lambda f: shutil.copy(f / A, f / "a_H100_E5M2.txt"), 2, "the folder has another set of this GPU"),
    (lambda f: shutil.copy(f / B, f / "b_H100_E5M2.txt"), 2, "there is no file a to go with it"),
    (renamed(D, "d_H100_bf16.txt"), 2, "results are fp32 or fp16"),
    (renamed(C, "c_H100_fp16.txt"), 2, "addends are read from a file of format fp32 alone"),
    (renamed(A, "a_H100_fp4.txt"), 2, "unknown format"),
    (written("instruction.txt", b"fp32 mma.sync.aligned.m16n8k16.row.col.f32.e4m3.e4m3.f32\n"), 2,
     "is no instruction for 32 products of E4M3"),
    (written("instruction.txt", b"fp32 mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32\n"), 2,
     "is no instruction for 32 products of E4M3"),
    (written("instruction.txt", b"fp64 x\n"), 2, "instruction.txt:1: expected"),
    (written("instruction.txt", b"# so\n\nfp32 a b\n"), 2, "instruction.txt:3: expected"),
    (written("instruction.txt", 2 * b"fp32 mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32\n"), 2, "instruction.txt:2: a second"),
    # Published without an instruction's name, and c took no part: no named instruction leaves it out.
    (written("instruction.txt", b"fp32 wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3\n"), 1, D + ":1 "),
    (written("instruction.txt", b"fp32 tcgen05.mma.m64n8k32.f32.e4m3.e4m3\n"), 3, "unexplained: no rule is known for 40 results in 1 file"),
]


def spoilt(top):
    for i, (change, status, message) in enumerate(SPOILT):
        folder = top / f"spoilt-{i}"
        shutil.copytree(KEPT / "published/H100/E4M3", folder)
        change(folder)
        said = certify(folder)
        expect(f"spoilt folder {i}: status {status}, {message!r}", said.returncode == status and message in said.stdout + said.stderr,
               said.returncode, said.stdout, said.stderr)
    for what, path, message in [("no folder", top / "none", "No such file"),
                                ("an empty folder", top / "empty", "no a_GPU_FORMAT.txt"), ("a file", KEPT / "README.md", "Not a directory"), ("folders too deep", top / "deep", "folders in folders")]:
        if what == "an empty folder":
            path.mkdir()
        if what == "folders too deep":
            (path / "1/2/3/4/5/6/7").mkdir(parents=True)
        said = certify(path)
        expect(what, said.returncode == 2 and message in said.stderr and not said.stdout, said.stderr)
    said = certify(KEPT / "published", "--limit", "file=1000")
    expect("a limit is named", said.returncode == 2 and "--limit file=N" in said.stderr, said.stderr)
    print(f"{len(SPOILT)} spoilt folders")


def unexplained(top):
    """Names that are in no table, and numbers of products that none recorded, have no rule."""
    for gpu, k, status in [("T4", 8, 3), ("RTX5090", 8, 3), ("MI300X", 8, 3), ("RTX4000", 8, 3), ("A100", 8, 0), ("A100", 7, 3),
                           ("A100", 16, 3), ("NVIDIA-A100-SXM4-80GB", 8, 0), ("a100", 8, 0), ("A1000", 8, 3), ("RTX3090", 8, 0)]:
        folder = top / f"gpu-{gpu}-{k}"
        products = [([0x3F800000] * k, [0x3F800000] * k, 0x3F800000)]
        write(folder, gpu, "fp16", products, {"fp32": [reference.bits_of((False, reference.Fraction(k + 1)))]})
        said = certify(folder)
        expect(f"{gpu} with {k} products", said.returncode == status, said.stdout, said.stderr)
    both = top / "both"
    shutil.copytree(top / "gpu-T4-8", both / "T4")
    shutil.copytree(top / "gpu-A100-8", both / "A100")
    expect("one unexplained set is not passed", certify(both).returncode == 3)
    flip(both / "A100/d_A100_fp32.txt", 0, 31)
    said = certify(both, "--json")
    report = json.loads(said.stdout)
    expect("a difference is told first", said.returncode == 1 and report["verdict"] == "differs")
    expect("and where it is", report["sets"][0]["first"] == {"line": 1, "recorded": "41100001", "rule": "41100000"}, report["sets"][0])
    expect("of the unexplained nothing is said", report["sets"][1]["agree"] is None and report["sets"][1]["rule"] is None)


def main():
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        against_definition(top / "random", draw_count(int(os.environ.get("PRODUCTS", "42"))))
        flipped(top)
        kept()
        if ONE_IN == 1:  # the definition alone, without the command
            trees()
            fp8()
        spoilt(top)
        unexplained(top)
    sys.exit(len(failures) > 0)


main()
