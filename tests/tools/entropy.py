#!/usr/bin/env python3
"""Zones under a cross entropy whose derivative by a touched kink may be exactly 0: of drawn networks the answer is the one that the theorem of
Lindemann and Weierstrass gives for sums of rational multiples of powers of e, and clarke-check verifies it, and nothing else.

    entropy.py CLARKE CLARKE_CHECK
"""
import argparse
import hashlib
import math
import os
import random
import struct
import sys
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "cost")]
from expect import expect, finish, said  # noqa: E402
from onnx_bytes import Floats, npy, write  # noqa: E402


def labels(entries):
    head = f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({len(entries)},), }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack(f"<{len(entries)}q", *entries)


def batch(folder, x, y):
    path = os.path.join(folder, "b.npz")
    with zipfile.ZipFile(path, "w") as z:
        z.writestr("x.npy", npy((len(x), 1), x))
        z.writestr("y.npy", labels(y))
    return path


class Drawn:
    """relu(w x), whose argument is 0, to `classes` outputs r c + b, of which several are equal. A second sample touches nothing or the
    same."""

    def __init__(self, of):
        self.classes = of.randint(2, 5)
        values = of.sample([0, 1, -1, .5, .25, 3], of.randint(1, 3))
        self.b = [of.choice(values) for _ in range(self.classes)]
        self.c = [of.randint(-1, 1) for _ in range(self.classes)]
        if of.random() < .75:  # what is taken from one is given to an equal one
            i = of.randrange(self.classes)
            same = [k for k in range(self.classes) if self.b[k] == self.b[i]]
            self.c = [0] * self.classes
            self.c[same[0]], self.c[same[-1]] = self.c[same[0]] + 2, self.c[same[-1]] - 2
        self.samples = of.randint(1, 2)
        self.y = [of.randrange(self.classes) for _ in range(self.samples)]

    def moves(self, y):
        """Is the sum of (c[i] - c[y]) e^b[i] not 0? As a theorem has it, and by doubles, which are far from 0 if so."""
        by_value = {}
        for b, c in zip(self.b, self.c):
            by_value[b] = by_value.get(b, 0) + c - self.c[y]
        exactly = any(by_value.values())
        nearly = abs(sum((c - self.c[y]) * math.exp(b) for b, c in zip(self.b, self.c))) > 1e-6
        expect(exactly == nearly, f"the theorem and doubles: {self.b} {self.c} {y}")
        return exactly

    def model(self):
        n = Floats(("n", 1))
        n.floats("w", (1, 1), [0])
        n.floats("c", (1, self.classes), self.c)
        n.floats("b", (self.classes,), self.b)
        n.call("MatMul", "a", "x", "w")
        n.call("Relu", "r", "a")
        n.call("MatMul", "m", "r", "c")
        n.call("Add", "o", "m", "b")
        return n.bytes("o")


def zone_of(report):
    return next((line.split(":")[1].strip() for line in report.splitlines() if line.startswith("Zone:")), None)


def other_way(proof):
    """The same proof, of the other zone."""
    with open(proof, "rb") as f:
        body = f.read()
    if b"\nzone compensation\n" in body:
        body = body[:body.rindex(b"zone ")] + b"zone bifurcation\nswitch 0 +\nentry w 0\n"
    else:
        body = body[:body.rindex(b"zone ")] + b"zone compensation\n"
    return body + b"end " + hashlib.sha256(body).hexdigest().encode() + b"\n"


def asked(o, folder, of, count):
    drawn = Drawn(of)
    model, data = write(folder, "m.onnx", drawn.model()), batch(folder, [1] * drawn.samples, drawn.y)
    proof = os.path.join(folder, "zone")
    if os.path.exists(proof):
        os.unlink(proof)
    status, out, err = said(o.clarke, "audit", model, "--batch", data, "--loss", "ce", "--wrt", "w", "--zone-proof", proof)
    # The terms of several samples may cancel; each sample's own kink has its own choice.
    zone = "bifurcation" if any(drawn.moves(y) for y in drawn.y) else "compensation"
    count[zone] = count.get(zone, 0) + 1
    expect(status in (0, 1) and zone_of(out) == zone, f"{vars(drawn)}: {zone_of(out)}, not {zone}: {err}")
    if not os.path.exists(proof):
        return
    said_so = said(o.check, proof, "--data", folder)[1]
    expect(said_so.startswith("VERIFIED"), f"{vars(drawn)}: {said_so}")
    forged = write(folder, "forged", other_way(proof))
    expect(not said(o.check, forged, "--data", folder)[1].startswith("VERIFIED"), f"{vars(drawn)}: the other zone is verified, too")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clarke")
    parser.add_argument("check")
    parser.add_argument("--number", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    o = parser.parse_args()
    of, count = random.Random(o.seed), {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(o.number):
            asked(o, folder, of, count)
    print(count)
    expect(min(count.get("compensation", 0), count.get("bifurcation", 0)) > o.number / 10, f"both zones: {count}")
    finish()


if __name__ == "__main__":
    main()
