"""A network that is read otherwise than by who wrote the proof: clarke-check says so, with the node's name.

    tests/check/fingerprints.py CLARKE CLARKE-CHECK [ONE-IN]

For the small models of stored proofs, or one in so many, the library writes a proof. Then each number or list of the model's file is changed, one at a time: a weight's entries
turned round, as if it were transposed otherwise, a list of an attribute turned round, an integer one more, a node's inputs swapped. The
proof is made to speak of that file. So the checker reads what the library did not, and must stop at the node, before any evidence.
"""

import hashlib
import re
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "interop"))

import edits
from wire import BODY, FOUR, VARINT, field, join, read_varint, split, varint

GRAPH, NODE, INITIALIZER = 7, 1, 5
IN, OUT, OP, ATTRIBUTE = 1, 2, 4, 5
FLOAT, INT64 = 1, 7
UNORDERED = {"axes"}  # lists whose order is not read
# What is changed there does not matter: (model, node)
SAME = {
    *[("nodes", name) for name in "ut"],  # keepdims 2 is as 1; times another number, of zeros
    ("cancel-number", "d"),  # p - q of two that are the same
    ("einsum-broadcast", "s0"),  # the sum of the entries, in another order
    *[(f"reduced-none-{op}", "y") for op in ("ReduceMax", "ReduceMean", "ReduceSum")],  # noop_with_empty_axes 2 is as 1
    ("run-huber", "two"), ("masked-unread", "s"),  # read by no node, or not where it changed
    *[(model, "out") for model in ("runs-trained-2", "runs-trained-N")], ("trained", "n"), ("trained-exact", "n"),  # training_mode
    ("two", "y1"), ("two", "y2"),  # transB 2 is as 1
    *[(f"run-{name}", "loss") for name in ("huber", "joint", "l1", "power")],  # keepdims 1: a scalar with an axis, declared without
    ("expanded-computed-half", "e"),  # a Cast of a whole number to another type
}
DATA, AUDIT = ROOT / "tests" / "check" / "data", ROOT / "cases" / "audit"


def body(fields, number):
    return next((f[2] for f in fields if f[0] == number), None)


def outputs(node):
    return [f[2].decode() for f in node if f[0] == OUT]


def put(fields, at, payload):
    """The fields with another payload at that place."""
    return [*fields[:at], [fields[at][0], fields[at][1], payload], *fields[at + 1:]]


def numbers(payload):
    found, at = [], 0
    while at < len(payload):
        value, at = read_varint(payload, at)
        found.append(value)
    return found


def changed_attribute(a):
    """Other payloads of an attribute; its name."""
    name = body(a, 1).decode()
    ints = [f for f in a if f[0] == 8]
    values = [v for f in ints for v in (numbers(f[2]) if f[1] == BODY else [f[2]])]
    if values != values[::-1] and name not in UNORDERED:
        yield join([f for f in a if f[0] != 8] + [[8, VARINT, v] for v in values[::-1]])
    for at, f in enumerate(a):
        if f[0] == 3:
            yield join(put(a, at, f[2] + 1))
        if f[0] == 2 and f[1] == FOUR:
            yield join(put(a, at, struct.pack("<f", struct.unpack("<f", f[2])[0] * 1.5)))


def changed_node(node):
    for at, f in enumerate(node):
        if f[0] == ATTRIBUTE:
            for payload in changed_attribute(split(f[2])):
                yield join(put(node, at, payload))
    ins = [at for at, f in enumerate(node) if f[0] == IN]
    if body(node, OP) in (b"Sub", b"Div", b"MatMul", b"Concat", b"Max") and len(ins) == 2:
        yield join(put(put(node, ins[0], node[ins[1]][2]), ins[1], node[ins[0]][2]))


def changed_tensor(tensor):
    kind, size = body(tensor, 2), {FLOAT: 4, INT64: 8}.get(body(tensor, 2))
    for at, f in enumerate(tensor):
        if f[0] != 9 or size is None:
            continue
        entries = [f[2][i:i + size] for i in range(0, len(f[2]), size)]
        if entries != entries[::-1] and body(tensor, 8).decode() not in UNORDERED:
            yield join(put(tensor, at, b"".join(entries[::-1])))
        if kind == INT64 and entries:
            first = struct.unpack("<q", entries[0])[0] + 1
            yield join(put(tensor, at, b"".join([struct.pack("<q", first), *entries[1:]])))


def changes(model):
    """(Outputs of the nodes that read what is changed; the model's bytes then)"""
    top = split(model)
    at = next(i for i, f in enumerate(top) if f[0] == GRAPH)
    graph = split(top[at][2])
    nodes = [split(f[2]) for f in graph if f[0] == NODE]
    for i, f in enumerate(graph):
        if f[0] == NODE:
            for payload in changed_node(split(f[2])):
                yield outputs(split(f[2])), join(put(top, at, join(put(graph, i, payload))))
        if f[0] == INITIALIZER:
            name = body(split(f[2]), 8)
            readers = [out for n in nodes if name in [g[2] for g in n if g[0] == IN] for out in outputs(n)]
            for payload in changed_tensor(split(f[2])) if readers else ():
                yield readers, join(put(top, at, join(put(graph, i, payload))))


def seal(text):
    text = re.sub(r"end [0-9a-f]{64}\n$", "", text)
    return text + f"end {hashlib.sha256(text.encode()).hexdigest()}\n"


def written(name):
    return "".join(chr(c) if re.match(r"[\w./:-]", chr(c), re.A) else f"%{c:02X}" for c in name.encode())


def check(checker, folder):
    done = subprocess.run([checker, folder / "proof", "--data", folder], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def models():
    """(Model, batch) of stored proofs, small ones, each model once."""
    seen, small = set(), edits.expanded(DATA)
    for proof in sorted([*small.glob("*.proof"), *(ROOT / "proofs-data").glob("*.proof")]):
        text = proof.read_text(errors="replace")
        pair = re.search(r"^model (\S+) .*\n(?:batch (\S+) .*\n)loss sum$", text, re.M)
        folder = DATA if proof.parent == small else AUDIT
        if pair and pair[1] not in seen and (folder / pair[1]).exists() and (folder / pair[1]).stat().st_size < 4000:
            seen.add(pair[1])
            yield folder / pair[1], folder / pair[2]


def main():
    clarke, checker, *one_in = sys.argv[1:]
    said, wrong = Counter(), []
    with tempfile.TemporaryDirectory() as at:
        folder = Path(at)
        for model, batch in [*models()][::int(one_in[0]) if one_in else 1]:
            proof = folder / "proof"
            proof.unlink(missing_ok=True)
            subprocess.run([clarke, "audit", model, "--batch", batch, "--loss", "sum", "--proof", proof], capture_output=True, check=False)
            if not proof.exists():
                said["no proof"] += 1
                continue
            text, data = proof.read_text(), model.read_bytes()
            (folder / batch.name).write_bytes(batch.read_bytes())
            for names, other in changes(data):
                (folder / model.name).write_bytes(other)
                proof.write_text(seal(text.replace(hashlib.sha256(data).hexdigest(), hashlib.sha256(other).hexdigest())))
                status, why = check(checker, folder)
                named = re.search(r"'(\S+)' has the fingerprint", why)
                same = status == 0 and any((model.stem, name) in SAME for name in names)
                right = named and (named[1] in names or not any(f"fingerprint {written(name)} " in text for name in names))
                said["named" if named else "the same" if same else "refused"] += 1
                if not (status == 2 or same or right):
                    wrong.append(f"{model.name}: {names}: {status} {why.splitlines()[:1]}")
    print("\n".join([*wrong, f"{said['named']} changes named, {said['refused']} refused, {said['the same']} without a difference"]))
    sys.exit(bool(wrong) or said["named"] < 20)


if __name__ == "__main__":
    main()
