#!/usr/bin/env python3
"""What clarke writes, clarke-check reads, with default limits: of a gradient of so many entries the proof has lines of megabytes.

    long_proof.py CLARKE CLARKE-CHECK
"""
import os
import struct
import sys
import tempfile
import zipfile

from expect import expect, finish, said

CLARKE, CHECK = sys.argv[1:]
MANY = 60000


def save(path, values):
    """An .npz with x, made by hand: the header is padded to 64 bytes."""
    head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({len(values)},), }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("x.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack(f"<{len(values)}d", *values))


with tempfile.TemporaryDirectory() as folder:
    program, point, proof = (os.path.join(folder, name) for name in ("long.prog", "long.npz", "long.proof"))
    with open(program, "w", encoding="utf-8") as f:
        f.write(f"input x[{MANY}]\noutput relu(x[0])\n")
    save(point, [1 / (k + 3) for k in range(MANY)])
    status, out, err = said(CLARKE, "derive", program, "--at", point, "--proof", proof)
    expect(status == 0, f"derived: {out[:200]}{err[:200]}")
    with open(proof, encoding="utf-8") as f:
        longest = max(map(len, f))
    expect(longest > 1 << 20, f"its longest line has {longest} bytes")
    status, out, err = said(CHECK, proof)
    expect(status == 0 and out.startswith("VERIFIED\n"), f"checked: {out[:200]}{err[:200]}")
    status, out, err = said(CHECK, proof, "--limit", "line=1000000")
    expect(status == 2 and "--limit line=N raises it" in out + err, f"a limit that is given: {out[:200]}{err[:200]}")
finish()
