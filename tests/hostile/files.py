"""Files written byte by byte, so that they may say what no library would write."""
import hashlib
import io
import os
import struct
import sys
import zipfile
import zlib

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "interop"))
from wire import BODY, FOUR, VARINT, field  # noqa: E402

FLOAT, INT64 = 1, 7


def text(number, value):
    return field(number, BODY, value if isinstance(value, bytes) else value.encode())


def tensor(name, dims, raw=None, dtype=FLOAT, fill=b"\0\0\x80\x3f"):
    """An initializer; without `raw` all entries are `fill`, 1 as a float."""
    count = 1
    for d in dims:
        count *= d
    raw = fill * count if raw is None else raw
    return (b"".join(field(1, VARINT, d) for d in dims) + field(2, VARINT, dtype) + text(8, name)
            + field(9, BODY, raw))


def integers(name, values):
    return tensor(name, [len(values)], struct.pack("<%dQ" % len(values), *[v % 2**64 for v in values]), INT64)


def scalar(name, value):
    return tensor(name, [], struct.pack("<f", value))


class Graph(bytes):
    pass


def graph(nodes, inputs, outputs, initializers=()):
    """That a node holds. Ports are of any type."""
    return Graph(b"".join(field(1, BODY, n) for n in nodes) + text(2, "g") + b"".join(field(5, BODY, t) for t in initializers)
                 + b"".join(field(11, BODY, text(1, i)) for i in inputs) + b"".join(field(12, BODY, text(1, o)) for o in outputs))


def attribute(name, value):
    if isinstance(value, Graph):
        return text(1, name) + field(6, BODY, value) + field(20, VARINT, 5)
    if isinstance(value, list):
        return text(1, name) + b"".join(field(8, VARINT, v) for v in value) + field(20, VARINT, 7)
    if isinstance(value, float):
        return text(1, name) + field(2, FOUR, struct.pack("<f", value)) + field(20, VARINT, 1)
    if isinstance(value, str):
        return text(1, name) + text(4, value) + field(20, VARINT, 3)
    if isinstance(value, bytes):
        return text(1, name) + field(5, BODY, value) + field(20, VARINT, 4)
    return text(1, name) + field(3, VARINT, value) + field(20, VARINT, 2)


def node(op, inputs, outputs, **attributes):
    out = b"".join(text(1, i) for i in inputs) + b"".join(text(2, o) for o in outputs)
    return out + text(4, op) + b"".join(text(5, attribute(k, v)) for k, v in attributes.items())


def port(name, dims):
    """A dimension that is text is symbolic."""
    shape = b"".join(field(1, BODY, text(2, d) if isinstance(d, str) else field(1, VARINT, d)) for d in dims)
    kind = field(1, VARINT, FLOAT) + field(2, BODY, shape)
    return text(1, name) + field(2, BODY, field(1, BODY, kind))


def model(nodes, shape, initializers=(), out="out", out_shape=None, opset=17):
    """From x to `out`."""
    graph = b"".join(field(1, BODY, n) for n in nodes) + text(2, "g")
    graph += b"".join(field(5, BODY, t) for t in initializers) + field(11, BODY, port("x", shape))
    output = text(1, out) + field(2, BODY, field(1, BODY, field(1, VARINT, FLOAT)))
    graph += field(12, BODY, output if out_shape is None else port(out, out_shape))
    return field(1, VARINT, 8) + field(7, BODY, graph) + field(8, BODY, field(2, VARINT, opset))


def npy(dims, data=None, descr="<f4", header=None):
    count = 1
    for d in dims:
        count *= d
    if header is None:
        shape = "(" + "".join("%d, " % d for d in dims).rstrip(" ") + ")" if len(dims) < 2 else str(tuple(dims))
        header = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (descr, shape)
    header = header.encode() + b" " * (-(len(header) + 11) % 64) + b"\n"
    data = bytes(int(descr[-1]) * count) if data is None else data
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header + data


def floats(*values):
    return struct.pack("<%df" % len(values), *values)


def archive(members, method=zipfile.ZIP_STORED):
    """Members: (name, bytes)."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method, compresslevel=9) as z:
        for name, data in members:
            z.writestr(zipfile.ZipInfo(name), data, method)
    return out.getvalue()


def deflated_zeros(n, before=b""):
    """What deflate makes of `before` and n zeros, and their CRC, without the zeros in memory."""
    packer, crc, out = zlib.compressobj(9, zlib.DEFLATED, -15), 0, []
    blocks = [before] + [bytes(1 << 20)] * (n >> 20) + [bytes(n & ((1 << 20) - 1))]
    for block in blocks:
        crc = zlib.crc32(block, crc)
        out.append(packer.compress(block))
    return b"".join(out) + packer.flush(), crc


def bomb(name, n, before=b"", more=()):
    """An archive of one deflated member: `before`, then n zeros. `more`: stored members (name, bytes) before it."""
    packed, crc = deflated_zeros(n, before)
    out, directory = io.BytesIO(), b""
    entries = [(m, 0, d, zlib.crc32(d), len(d)) for m, d in more] + [(name, 8, packed, crc, len(before) + n)]
    for member, method, data, check, size in entries:
        member = member.encode()
        common = struct.pack("<HHHHHIIIHH", 20, 0, method, 0, 0x21, check, len(data), size, len(member), 0)
        directory += (b"PK\1\2" + struct.pack("<H", 20) + common + struct.pack("<HHHII", 0, 0, 0, 0, out.tell()) + member)
        out.write(b"PK\3\4" + common + member + data)
    at = out.tell()
    end = struct.pack("<HHHHIIH", 0, 0, len(entries), len(entries), len(directory), at, 0)
    return out.getvalue() + directory + b"PK\5\6" + end


def safetensors(header, data=b"", length=None):
    header = header if isinstance(header, bytes) else header.encode()
    return struct.pack("<Q", len(header) if length is None else length) + header + data


def sealed(*lines):
    body = "".join(line + "\n" for line in lines).encode()
    return body + b"end " + hashlib.sha256(body).hexdigest().encode() + b"\n"


def hashed(data):
    return hashlib.sha256(data).hexdigest()


def network_proof(model_bytes, batch_bytes, proxies=(), touched=0, evidence=("evidence ad", "cell ad", "directions 0"),
                  verdict="in-bouligand", wrt="*", profile="pytorch-2.13"):
    """Of model.onnx and batch.npz."""
    return sealed("clarke-proof 1", "verdict " + verdict, "semantics real", "model model.onnx " + hashed(model_bytes),
                  "batch batch.npz " + hashed(batch_bytes), "loss sum", "wrt " + wrt, "profile " + profile, *proxies,
                  "touched %s" % touched, *evidence)


def program_proof(program, at, proxies=(), touched=0, evidence=("evidence ad", "arc 0"), verdict="in-bouligand",
                  wrt="*"):
    """Of program.prog; at: lines `at NAME V ...`."""
    return sealed("clarke-proof 1", "verdict " + verdict, "semantics real", "program program.prog " + hashed(program),
                  *at, "wrt " + wrt, "profile pytorch-2.13", *proxies, "touched %s" % touched, *evidence)
