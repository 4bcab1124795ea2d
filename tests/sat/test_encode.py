"""clarke encode and the checker's view of its proofs: formulas beside brute force, forged proofs, formulas and models, and
wrong commands.

    test_encode.py TOOLS [FORMULAS [BYTES]]

FORMULAS drawn ones (30), and of each forged file so many BYTES (60; 0: all).
"""

import hashlib
import json
import random
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import reference

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / "cases" / "encode"
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from draw import draw_count  # noqa: E402
sys.path.append(str(Path(__file__).resolve().parents[1] / "tools"))
from schema import obeyed  # noqa: E402

CLARKE, CHECKER = (Path(sys.argv[1]).resolve() / name for name in ("clarke", "clarke-check"))
FORMULAS = int(sys.argv[2]) if len(sys.argv) > 2 else 30
BYTES = int(sys.argv[3]) if len(sys.argv) > 3 else draw_count(60)
failures = []


def expect(what, good, *more):
    if not good:
        failures.append(what)
        print("FAILED:", what, *more)


def encode(folder, *options):
    return obeyed(subprocess.run([CLARKE, "encode", *options], cwd=folder, text=True, capture_output=True, timeout=120))


def check(folder, proof="f.proof"):
    return subprocess.run([CHECKER, proof], cwd=folder, text=True, capture_output=True, timeout=120, errors="replace")


def dimacs(variables, clauses):
    return f"p cnf {variables} {len(clauses)}\n" + "".join(" ".join(map(str, c + [0])) + "\n" for c in clauses)


def drawn(rng, variables):
    """At the threshold of satisfiability."""
    clauses = [[v * rng.choice((1, -1)) for v in rng.sample(range(1, variables + 1), 3)]
               for _ in range(round(4.26 * variables))]
    return dimacs(variables, clauses)


def sealed(folder, text):
    """The proof with its hashes put right."""
    lines = text.split("\n")[:-2]
    for i, line in enumerate(lines):
        words = line.split(" ")
        if words[0] in ("formula", "model") and len(words) == 3 and (folder / words[1]).is_file():
            lines[i] = " ".join(words[:2] + [hashlib.sha256((folder / words[1]).read_bytes()).hexdigest()])
    body = "\n".join(lines) + "\n"
    return body + "end " + hashlib.sha256(body.encode("latin-1")).hexdigest() + "\n"


def write_proof(folder, text, name="f.proof"):
    (folder / name).write_bytes(sealed(folder, text).encode("latin-1"))


def decided(folder, text):
    """Writes f.cnf, f.onnx and f.proof; the command's result."""
    (folder / "f.cnf").write_text(text)
    return encode(folder, "f.cnf", "-o", "f.onnx", "--decide", "--proof", "f.proof", "--json")


# --- answers ---------------------------------------------------------------------------------------

def answers(folder, rng):
    """Drawn formulas: decided, as brute force says, and verified."""
    counts = [0, 0]
    for k in range(FORMULAS):
        variables = 4 + k % 13
        text = drawn(rng, variables)
        said = decided(folder, text)
        yes = reference.satisfiable(variables, reference.read_dimacs(text)[1])
        counts[yes] += 1
        expect(f"formula {k}: the answer", said.returncode == (1 if yes else 0), said)
        expect(f"formula {k}: JSON", json.loads(said.stdout)["differentiable"] == (not yes))
        proof = (folder / "f.proof").read_text()
        expect(f"formula {k}: the proof", reference.holds(proof, text))
        verified = check(folder)
        words = "F is not differentiable at 0. The formula can be satisfied." if yes else \
            "F is differentiable at 0: it is 0 everywhere. The formula cannot be satisfied."
        expect(f"formula {k}: verified", verified.returncode == 0 and words in verified.stdout, verified)
    expect("both answers occur", min(counts) > FORMULAS // 10, counts)


def odd_formulas(folder):
    """Clauses of all lengths, no clauses, no variables."""
    for text, yes in [("p cnf 0 0\n", True), ("p cnf 0 1\n0\n", False), ("p cnf 3 1\n0\n", False), ("p cnf 1 1\n1 0\n", True),
                      ("p cnf 1 2\n1 0\n-1 0\n", False), ("p cnf 2 1\n1 -1 0\n", True), ("p cnf 2 1\n2 2 2 2 0\n", True),
                      ("p cnf 5 3\n1 2 3 4 5 0 -1 0 -2 -3 0\n", True), ("p cnf 7 0\n", True),
                      ("p cnf 5 6\n1 2 3 4 5 0 -1 0 -2 0 -3 0 -4 0 -5 0\n", False), ("p cnf 4 2\n1 2 3 4 -1 0 1 0\n", True)]:
        said, verified = decided(folder, text), check(folder)
        expect(f"odd: {text!r}", said.returncode == (1 if yes else 0) and verified.returncode == 0, said, verified)
        expect(f"odd: {text!r}, the reference", reference.holds((folder / "f.proof").read_text(), text))


def written(folder):
    """The same bytes each time; sizes that the text says; derive agrees on small ones."""
    for name in ("example4", "eight"):
        text = (CASES / (name + ".cnf")).read_text()
        decided(folder, text)
        first = [(folder / f).read_bytes() for f in ("f.onnx", "f.proof")]
        decided(folder, text)
        expect(f"{name}: the same bytes", first == [(folder / f).read_bytes() for f in ("f.onnx", "f.proof")])
    said = encode(folder, CASES / "example4.cnf")
    expect("widths", "5 layers of relu, of width 24, 12, 4, 6, 3;" in said.stdout and said.returncode == 0, said.stdout)
    said = encode(folder, CASES / "example4.cnf", "-o", "f.prog", "--decide")
    expect("a program", said.returncode == 1 and "input x[6]" in (folder / "f.prog").read_text(), said)
    for text in ("p cnf 2 2\n1 0\n2 0\n", "p cnf 1 2\n1 0\n-1 0\n", "p cnf 2 4\n1 2 0 1 -2 0 -1 2 0 -1 -2 0\n",
                 "p cnf 3 3\n1 2 3 0 -1 -2 -3 0 1 -2 0\n"):
        decide = decided(folder, text)
        encode(folder, "f.cnf", "-o", "f.prog")
        n = int(re.search(r"input x\[(\d+)\]", (folder / "f.prog").read_text()).group(1))
        header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': (1, {n}), }}"
        header += " " * (63 - (len(header) + 10) % 64) + "\n"
        (folder / "zero.npy").write_bytes(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + bytes(4 * n))
        for file, at in (("f.onnx", "zero.npy"), ("f.prog", "x=" + ",".join("0" * n))):
            said = subprocess.run([CLARKE, "derive", file, "--at", at, "--json"], cwd=folder, text=True, capture_output=True)
            expect(f"derive {file} of {text!r}",
                   json.loads(said.stdout)["differentiable"] == json.loads(decide.stdout)["differentiable"], said.stderr)


# --- forgeries -------------------------------------------------------------------------------------

def fails(folder, what, text, why):
    write_proof(folder, text)
    said = check(folder)
    expect(what, said.returncode == 1 and re.search(why, said.stdout) is not None, said.stdout, said.stderr)


def is_no_model(folder, what, text, why):
    write_proof(folder, text)
    said = check(folder)
    expect(what, said.returncode == 2 and re.search(why, said.stderr) is not None, said.stdout, said.stderr)


def forged_by_hand(folder):
    decided(folder, (CASES / "eight.cnf").read_text())
    proof = (folder / "f.proof").read_text()
    steps = re.findall(r"^learn .*$", proof, re.M)

    def changed(old, new):
        expect(f"{old!r} is there", old in proof)
        return proof.replace(old, new, 1)

    expect("it is as the cases below want it", steps[0] == "learn 9 2 1 0 1 2" and "delete 9\n" in proof, proof)
    for what, text, why in [
            ("a wrong hint", changed("learn 9 2 1 0 1 2", "learn 9 2 1 0 1 3"), "line 7: literals? .* of clause 3"),
            ("a hint too many", changed("0 1 2\n", "0 1 2 3\n"), "line 7: hints after a clause that is false"),
            ("a hint too few", changed("0 1 2\n", "0 1\n"), "line 7: no clause is false at the end"),
            ("no hints", changed("0 1 2\n", "0\n"), "line 7: no clause is false at the end"),
            ("hints in another order", changed("learn 11 -2 0 10 7 8", "learn 11 -2 0 7 10 8"), "line 10: literals -1 and 3 of clause 7 are open"),
            ("a hint twice", changed("learn 9 2 1 0 1 2", "learn 9 2 1 0 1 1 2"), "line 7: literal 3 of clause 1 is true"),
            ("its own number as a hint", changed("learn 9 2 1 0 1 2", "learn 9 2 1 0 1 9"), "line 7: there is no clause 9"),
            ("hint 0", changed("learn 9 2 1 0 1 2", "learn 9 2 1 0 0 2"), "line 7: there is no clause 0"),
            ("a negative hint", changed("learn 9 2 1 0 1 2", "learn 9 2 1 0 -1 2"), "line 7: there is no clause -1"),
            ("a stronger clause", changed("learn 9 2 1 0", "learn 9 1 0"), "line 7: literals 2 and 3 of clause 1 are open"),
            ("another number", changed("learn 9 ", "learn 10 "), "line 7: clause 9 is expected"),
            ("a number too high", changed("learn 9 2 1 0 1 2", "learn 9 2 4 0 1 2"), "line 7: there is no variable 4"),
            ("a literal twice", changed("learn 9 2 1 0 1 2", "learn 9 2 2 1 0 1 2"), "line 7: variable 2 is twice"),
            ("a tautology", changed("learn 9 2 1 0 1 2", "learn 9 2 -2 1 0 1 2"), "line 7: variable 2 is twice"),
            ("a number as it must not be written", changed("learn 9 2 1 0 1 2", "learn 9 02 1 0 1 2"), "line 7: '02' is not a whole"),
            ("minus nought", changed("learn 9 2 1 0 1 2", "learn 9 2 1 -0 1 2"), "line 7: '-0' is not a whole"),
            ("a fraction", changed("learn 9 2 1 0 1 2", "learn 9 2 1/1 0 1 2"), "line 7: '1/1' is not a whole"),
            ("a literal that does not end", changed("learn 9 2 1 0 1 2", "learn 9 2 1 3"), "line 7: the line ends too early"),
            ("deleted too early", changed("learn 10 1 0 9 3 4", "delete 9\nlearn 10 1 0 9 3 4"), "line 9: there is no clause 9"),
            ("deleted twice", changed("delete 9\n", "delete 9 9\n"), "line 9: there is no clause 9"),
            ("a given clause deleted", changed("delete 9\n", "delete 9 7\n"), "line 10: there is no clause 7"),
            ("nothing deleted", changed("delete 9\n", "delete\n"), "line 9: "),
            ("no empty clause", changed(steps[-1] + "\n", ""), "line 12: 'learn' is expected"),
            ("no steps", "\n".join(proof.split("\n")[:6] + proof.split("\n")[-2:]), "line 7: 'learn' is expected"),
            ("steps after the empty clause", changed(steps[-1] + "\n", steps[-1] + "\nlearn 14 0 13\n"), "'end' is expected"),
            ("the other verdict", changed("verdict diff", "verdict not-diff"), "'evidence opposite' is expected"),
            ("another verdict", changed("verdict differentiable", "verdict in-clarke"), "line 4: "),
            ("another evidence", changed("evidence refutation", "evidence opposite"), "'evidence refutation' is expected"),
            ("a direction", changed("evidence refutation", "evidence opposite").replace("verdict ", "verdict not-").replace(
                steps[0], "d 1 1 1"), "line 7: F\\(d\\) \\+ F\\(-d\\) is 0")]:
        fails(folder, what, text, why)
    write_proof(folder, proof)
    expect("and as it was", check(folder).returncode == 0)
    decided(folder, (CASES / "example4.cnf").read_text())
    proof = (folder / "f.proof").read_text()
    d = re.search(r"^d .*$", proof, re.M).group(0)
    for what, new, why in [("nought", "d 0 0 0 0 0 0", "F\\(d\\) \\+ F\\(-d\\) is 0"), ("short", "d 1 1 1 1 1", "ends too early"),
                           ("long", "d 1 1 1 1 1 1 1", "more than was expected"), ("no number", "d 1 1 x 1 1 1", "not a rational"),
                           ("not in lowest terms", "d 2/2 1 1 1 1 1", "not a rational"),
                           ("a loser", "d 0 1 1 0 0 0", "F\\(d\\) \\+ F\\(-d\\) is 0")]:
        fails(folder, f"a direction: {what}", proof.replace(d, new), why)
    write_proof(folder, proof.replace(d, "d -1 -1/3 -2 -1 -7/2 -1/100"))
    said = check(folder)
    expect("another direction", said.returncode == 0 and "F(d) = 1/3 and F(-d) = 1/100" in said.stdout, said)


def other_networks(folder):
    """A model of other clauses: of another formula, another order, another padding; and one that was touched up."""
    three = "p cnf 3 3\n1 2 3 0\n-1 -2 -3 0\n1 -2 3 0\n"
    for what, text, why in [("another formula", three.replace("1 -2 3", "1 2 -3"), "entry .* of 'M1'"),
                            ("another order", "p cnf 3 3\n-1 -2 -3 0\n1 2 3 0\n1 -2 3 0\n", "entry .* of 'M1'"),
                            ("other padding", three.replace("cnf 3 3", "cnf 3 4") + "2 -2 0\n", "entry .* of 'M1'"),
                            ("a clause for padding", three.replace("cnf 3 3", "cnf 3 4") + "1 2 3 0\n", "entry .* of 'M1'"),
                            ("a variable more", three.replace("cnf 3 3", "cnf 4 3"), "not float32 of shape"),
                            ("twice the clauses", three.replace("cnf 3 3", "cnf 3 5") + "1 2 0\n2 3 0\n", "matrices")]:
        decided(folder, text)
        model = (folder / "f.onnx").read_bytes()
        decided(folder, three)
        proof = (folder / "f.proof").read_text()
        (folder / "f.onnx").write_bytes(model)
        fails(folder, f"a network of {what}", proof, why)


def other_texts(folder):
    """Formulas that both programs refuse, and one in another layout that both take."""
    text = "p cnf 2 4\n1 2 0\n1 -2 0\n-1 2 0\n-1 -2 0\n"
    decided(folder, text)
    proof, model = (folder / "f.proof").read_text(), (folder / "f.onnx").read_bytes()
    for bad, line, why in [("", 1, "header"), ("c x\n" + text[1:], 3, "header"), (text.replace("p cnf", "p wcnf"), 1, "'cnf'"),
                           (text.replace("2 4", "2"), 1, "number of clauses"), (text.replace("2 4", "2 4 4"), 1, "end of the line"),
                           (text.replace("2 4", "2 3"), 5, "more clauses"), (text.replace("2 4", "2 5"), 6, "fewer"),
                           (text.replace("2 4", "1 4"), 2, "2 is not a number from -1 to 1"), (text[:-2], 5, "not ended"),
                           (text.replace("-2 0", "-3 0"), 3, "-3 is not a number"), (text.replace("1 2 0", "1 2 -0"), 2, "'-0' is no number"),
                           (text.replace("1 2 0", "1 c 2 0"), 2, "'c' is no number"), (text.replace("1 2 0", "1 2x 0"), 2, "'2x' is no"),
                           (text.replace("1 2 0", "1 --2 0"), 2, "'--2' is no"), (text.replace("1 2 0", "1 + 0"), 2, "'\\+' is no"),
                           (text + "%\n0\n", 6, "'%' is no"), (text + text, 6, "'p' is no"), (text.replace("1 2", "1\0 2"), 2, "is no"),
                           (text.replace("2 4", "1073741825 4"), 1, "is not a number from"), (text.replace("2 4", "-2 4"), 1, "not a number"),
                           (text.replace("1 2 0", "1 " + 99 * "2" + " 0"), 2, "a word of more than"), (text[:7] + "\n" + text[7:], 1, "number of")]:
        (folder / "f.cnf").write_text(bad)
        write_proof(folder, proof)
        said, ours = check(folder), encode(folder, "f.cnf")
        expect(f"{bad!r} is refused", said.returncode == 2 and re.search(f"formula, line {line}: .*{why}", said.stderr), said)
        expect(f"{bad!r} is refused by both", ours.returncode == 2 and "f.cnf:" in ours.stderr, ours)
    (folder / "f.cnf").write_text("c\n c p cnf\n\n p\tcnf 2  4 \r\nc 3 0\n1\n2 0 1 -2 0\n\t-1 2\n   c\n0\r\n-1 -2\n0 \nc")
    expect("another layout", encode(folder, "f.cnf", "-o", "f.onnx").returncode == 0 and (folder / "f.onnx").read_bytes() == model)
    write_proof(folder, proof)
    expect("another layout is verified", check(folder).returncode == 0)


# A message of protocol buffers is a list of fields [number, value], the value a whole number or bytes.

def varint(n):
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)


def unpack(data):
    fields, at = [], 0

    def number():
        nonlocal at
        n = shift = 0
        while True:
            at += 1
            n |= (data[at - 1] & 127) << shift
            shift += 7
            if data[at - 1] < 128:
                return n

    while at < len(data):
        key, value = number(), number()
        if key & 7 == 2:
            at += value
            value = data[at - value:at]
        fields.append([key >> 3, value])
    return fields


def pack(fields):
    return b"".join(varint(n << 3) + varint(v) if isinstance(v, int) else varint(n << 3 | 2) + varint(len(v)) + v
                    for n, v in fields)


def in_field(fields, number, change, which=0):
    """The message in the field of that number (the which-th such) becomes what change makes of its fields."""
    field = [f for f in fields if f[0] == number][which]
    inner = unpack(field[1])
    inner = change(inner) or inner
    field[1] = pack(inner)


def set_field(number, value, which=0):
    def change(fields):
        [f for f in fields if f[0] == number][which][1] = value
    return change


def models_touched_up(folder):
    """Graphs that are sound, and not the network as it is written: GraphProto has nodes 1, initializers 5, inputs 11, outputs 12."""
    decided(folder, (CASES / "example4.cnf").read_text())
    proof, model = (folder / "f.proof").read_text(), (folder / "f.onnx").read_bytes()

    def graph(change):
        fields = unpack(model)
        in_field(fields, 7, change)
        return pack(fields)

    def node(which, change):
        return graph(lambda g: in_field(g, 1, change, which))

    def initializer(which, change):
        return graph(lambda g: in_field(g, 5, change, which))

    def swapped(g):
        of = [i for i, f in enumerate(g) if f[0] == 5]
        g[of[0]], g[of[1]] = g[of[1]], g[of[0]]

    def port(number, change):  # ValueInfoProto, its TypeProto, its tensor's type: element 1, shape 2
        return graph(lambda g: in_field(g, number, lambda p: in_field(p, 2, lambda t: in_field(t, 1, change))))

    def axis(which, fields):
        return lambda tensor: in_field(tensor, 2, lambda shape: set_field(1, pack(fields), which)(shape))

    extra = [8, b"M9"], [1, 1], [1, 1], [2, 1], [9, bytes(4)]
    unused = [1, b"z5"], [2, b"unused"], [3, b"R"], [4, b"Relu"]
    output = pack([[1, b"y6"], [2, pack([[1, pack([[1, 1]])]])]])
    number = pack([[1, b"alpha"]]) + b"\x15" + struct.pack("<f", 2) + pack([[20, 1]])
    last = pack([[1, b"F"], [2, b"G"], [3, b"R"], [4, b"Relu"]])
    for what, new, why in [
            ("an initializer more", graph(lambda g: g.append([5, pack(extra)])), "6 matrices"),
            ("a node more", graph(lambda g: g.append([1, pack(unused)])), "6 matrices"),
            ("a relu at the end", graph(lambda g: g.insert(11, [1, last])), "6 matrices"),
            ("operators of version 10", pack([f if f[0] != 8 else [8, pack([[2, 10]])] for f in unpack(model)]), "version 10"),
            ("an output more", graph(lambda g: g.append([12, output])), "one input and one output"),
            ("an input more", graph(lambda g: g.append([11, pack([[1, b"u"], [2, pack([[1, pack([[1, 1]])]])]])])),
             "one input and one output"),
            ("another output", graph(lambda g: in_field(g, 12, set_field(1, b"y5"))), "the output is not"),
            ("a factor", node(0, lambda n: n.append([5, number])), "other attributes"),
            ("not transposed", node(0, lambda n: in_field(n, 5, set_field(3, 0))), "other attributes"),
            ("transposed twice over", node(0, lambda n: in_field(n, 5, set_field(3, 2))), "other attributes"),
            ("no attribute", node(0, lambda n: [f for f in n if f[0] != 5]), "other attributes"),
            ("the first operand", node(0, lambda n: in_field(n, 5, set_field(1, b"transA"))), "other attributes"),
            ("a bias", node(10, lambda n: n.insert(2, [1, b"M6"])), "not the Gemm"),
            ("an attribute of relu", node(1, lambda n: n.append([5, pack([[1, b"a"], [3, 1], [20, 2]])])), "other attributes"),
            ("another function", node(1, set_field(4, b"Sigmoid")), "not the Relu"),
            ("a relu of another domain", node(1, lambda n: n.append([7, b"clarke"])), "not the Relu"),
            ("a product of another domain", node(4, lambda n: n.append([7, b"clarke"])), "not the Gemm"),
            ("no relu between", node(2, set_field(1, b"y1")), "not the Gemm"),
            ("another matrix", node(2, set_field(1, b"M1", 1)), "other attributes or another matrix"),
            ("matrices in another order", graph(swapped), "another matrix"),
            ("another shape", initializer(5, lambda t: [[1, 3], [1, 1], [2, 1], [8, b"M6"], [9, struct.pack("<3f", -1, -1, 1)]]),
             "not float32"),
            ("one sample", port(11, axis(0, [[1, 1]])), "not float32 of shape \\(N, 6"),
            ("another width", port(11, axis(1, [[1, 7]])), "not float32 of shape \\(N, 6"),
            ("an output of two", port(12, axis(1, [[1, 2]])), "not float32 of shape \\(N, 1")]:
        (folder / "f.onnx").write_bytes(new)
        fails(folder, f"a model with {what}", proof, why)
    for what, new, why in [
            ("double precision", initializer(5, lambda t: [[1, 1], [1, 3], [2, 11], [8, b"M6"], [9, struct.pack("<3d", -1, -1, 1)]]),
             "input 'M6' is DOUBLE"),
            ("a double input", port(11, set_field(1, 11)), "input 'M1' is FLOAT and one before it is DOUBLE")]:
        (folder / "f.onnx").write_bytes(new)
        is_no_model(folder, f"a model with {what}", proof, why)
    expect("packed again", pack(unpack(model)) == model)


def harmless(model):
    """The offsets of a model's bytes that mean nothing: names of nodes, the graph, the producer, and the axis N; versions."""
    free = set(range(2)) | {len(model) - 1}
    for pattern in (rb"\x12\x06clarke", rb"\x12\x07network", rb"\x1a.(?:Gemm|Relu)\d+", rb"\x12\x01N"):
        for found in re.finditer(pattern, model, re.S):
            free |= set(range(found.start() + 2, found.end()))
    return free


def positions(rng, size):
    return range(size) if BYTES == 0 or BYTES >= size else sorted(rng.sample(range(size), BYTES))


def changed_bytes(folder, rng):
    """A byte of proof, formula or model changed, and every hash put right. What verifies must be right all the same."""
    for name in ("eight", "example4"):
        text = (CASES / (name + ".cnf")).read_text()
        decided(folder, text)
        proof, model = (folder / "f.proof").read_text(), (folder / "f.onnx").read_bytes()
        for at in positions(rng, len(proof) - 70):
            new = proof[:at] + rng.choice("0123456789- \nadeln") + proof[at + 1:]
            write_proof(folder, new)
            if check(folder).returncode == 0:
                expect(f"{name}.proof, byte {at}", reference.holds(new, text), new)
        for at in positions(rng, len(text)):
            new = text[:at] + rng.choice("0123456789- \ncp%") + text[at + 1:]
            (folder / "f.cnf").write_text(new)
            write_proof(folder, proof)
            if check(folder).returncode == 0:
                same = reference.three(*reference.read_dimacs(new)) == reference.three(*reference.read_dimacs(text))
                expect(f"{name}.cnf, byte {at}", same and reference.holds(proof, new), new)
        (folder / "f.cnf").write_text(text)
        free = harmless(model)
        for at in positions(rng, len(model)):
            byte = model[at] ^ rng.randrange(1, 256)
            (folder / "f.onnx").write_bytes(model[:at] + bytes([byte]) + model[at + 1:])
            write_proof(folder, proof)
            zero = model[at] == 0 and byte == 0x80  # -0 is 0
            expect(f"{name}.onnx, byte {at}", check(folder).returncode != 0 or at in free or zero, hex(byte))
        (folder / "f.onnx").write_bytes(model)


# --- the command -----------------------------------------------------------------------------------

def commands(folder):
    (folder / "f.cnf").write_text((CASES / "example4.cnf").read_text())
    (folder / "bad.cnf").write_text("p cnf 2 1\n1 3 0\n")
    (folder / "long.cnf").write_text("p cnf 5 2\n1 2 3 4 5 0\n-1 0\n")
    for options, status, said in [
            ((), 2, "a formula is needed"), (("f.cnf", "f.cnf"), 2, "one FORMULA is expected"),
            (("none.cnf",), 2, "none.cnf: cannot be opened"), (("bad.cnf",), 2, "bad.cnf:2: '3' is no literal"),
            (("bad.cnf", "-o", "never.onnx"), 2, "bad.cnf:2"), (("f.cnf", "-o", "f.txt"), 2, "expected FILE.onnx or FILE.prog"),
            (("f.cnf", "-o", "none/f.onnx"), 2, "none/f.onnx"), (("f.cnf", "--proof", "never.proof"), 2, "--proof goes with"),
            (("f.cnf", "--decide", "-o", "f.prog", "--proof", "never.proof"), 2, "--proof goes with"),
            (("f.cnf", "--decide", "--decode", "x=1"), 2, "two questions"), (("f.cnf", "--work", "x"), 2, "no number from 1 on"),
            (("f.cnf", "--timeout", "soon"), 2, "no number of seconds"),
            (("f.cnf", "--decode", "x=1,2"), 2, "has 6 entries, but 2 are given"), (("f.cnf", "--decode", "y=1"), 2, "no input 'y'"),
            (("f.cnf", "--decode", "x=1,2,3,4,5,z"), 2, "is no number"), (("f.cnf", "--decode", "f.cnf"), 2, "f.cnf"),
            (("f.cnf", "--limit", "instructions=5"), 2, "a formula of 6 variables"),
            (("f.cnf", "-o", "never.onnx", "--limit", "entries=100"), 2, "the matrices of the network"),
            (("f.cnf", "--decode", "x=1,2,-1,0,0,-3"), 0, "assignment     1 2 -3 -4 -5 -6"),
            (("f.cnf", "--decode", "x=1/3,2,-1,0,0,-3"), 0, "F(d)           1/3"),
            (("f.cnf", "--decode", "x=0,0,0,0,0,0"), 1, "no assignment"), (("long.cnf", "--decode", "x=-1,1,1,1,1,1,1"), 0, "-1 2 3 4 5\n"),
            (("long.cnf", "--decode", "x=-1,1,1,1,1"), 2, "has 7 entries"), (("long.cnf",), 0, "new variables: 2"),
            (("f.cnf", "--decide"), 1, "not-differentiable")]:
        result = encode(folder, *options)
        text = result.stdout if result.returncode != 2 else result.stderr
        expect(f"encode {' '.join(options)}", result.returncode == status and said in text, result)
    expect("nothing is left of what failed", not list(folder.glob("never*")) and not list(folder.glob("*.tmp*")))
    (folder / "f.cnf").write_text(drawn(random.Random(5), 120))
    said = encode(folder, "f.cnf", "--decide", "--work", "3", "--json")
    expect("undecided", said.returncode == 3 and json.loads(said.stdout)["differentiable"] is None, said)
    said = encode(folder, "f.cnf", "--decide", "--timeout", "0", "-o", "f.onnx", "--proof", "never.proof", "--json")
    expect("stopped", said.returncode == 3 and json.loads(said.stdout)["stopped"] == "the time is over (--timeout 0)", said)
    expect("no proof of what was stopped", not list(folder.glob("never*")))


def main():
    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        answers(folder, rng)
        odd_formulas(folder)
        written(folder)
        forged_by_hand(folder)
        other_networks(folder)
        other_texts(folder)
        models_touched_up(folder)
        changed_bytes(folder, rng)
        commands(folder)
    print(len(failures), "failures")
    sys.exit(bool(failures))


main()
