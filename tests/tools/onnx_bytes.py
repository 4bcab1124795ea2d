"""Small models with floats of their own, arrays and proofs, made without a framework."""
import hashlib
import os
import struct

from expect import expect
from models import BODY, FLOAT, INT64, VARINT, Network, field, text


class Floats(Network):
    """Initializers and nodes by their names."""

    def floats(self, name, dims, entries):
        self.tensors.append(b"".join(field(1, VARINT, d) for d in dims) + field(2, VARINT, FLOAT) + text(8, name)
                            + field(9, BODY, struct.pack(f"<{len(entries)}f", *entries)))

    def integers(self, name, *entries):
        self.tensors.append(field(1, VARINT, len(entries)) + field(2, VARINT, INT64) + text(8, name)
                            + field(9, BODY, struct.pack(f"<{len(entries)}q", *entries)))

    def constant(self, name, dims, entries):
        self.floats(name, dims, entries)
        held = self.tensors.pop()
        self.nodes.append(text(2, name) + text(3, "node_" + name) + text(4, "Constant")
                          + field(5, BODY, text(1, "value") + field(5, BODY, held) + field(20, VARINT, 4)))

    def call(self, op, output, *inputs):
        self.nodes.append(b"".join(text(1, i) for i in inputs) + text(2, output) + text(3, "node_" + output) + text(4, op))


def npy(shape, entries):
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack(f"<{len(entries)}f", *entries)


def write(folder, name, data):
    path = os.path.join(folder, name)
    with open(path, "wb") as f:
        f.write(data)
    return path


def sealed(proof, *changes):
    """The proof with one text in the place of another, each of which stands there."""
    with open(proof) as f:
        body = f.read()
    body = body[:body.rindex("end ")]
    for old, new in changes:
        expect(old in body, f"no {old!r} in a proof")
        body = body.replace(old, new, 1)
    return (body + "end " + hashlib.sha256(body.encode()).hexdigest() + "\n").encode()


def without_fingerprints(proof):
    """The proof as who does not tell them would write it."""
    with open(proof) as f:
        body = "".join(line for line in f if not line.startswith(("fingerprint ", "end ")))
    return (body + "end " + hashlib.sha256(body.encode()).hexdigest() + "\n").encode()
