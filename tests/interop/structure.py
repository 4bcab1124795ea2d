"""Structural fuzzing of models and batches: what our programs accept, Python accepts and reads alike.

Usage: python tests/interop/structure.py --build build [--cases 3000] [--seed 1] [--keep DIR]

Small sound models and batches are changed in their structure: fields repeated, reordered, retyped, split, renamed,
packed, longer than they need be, of other messages; attributes of other operator sets; archives glued, prefixed,
with headers that disagree; arrays in other orders. For each pair

* what `clarke-check --show` accepts and prints, Python's onnx (with its checker, full_check) and numpy read too, value
  by value;
* so do the library's readers, as tests/interop/reads.c prints them;
* the two of ours accept the same, with the same shape of the output.

`ALLOWED` names what Python refuses and we accept, with the reason. Each kind of change must have been made, and some
of each must have been accepted or refused as its kind wants; see `EXPECTED`.
"""

import argparse
import io
import random
import struct
import subprocess
import tempfile
import warnings
import zlib
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper, onnx_ml_pb2

import shown
import wire
from graphs import graphs
from report import Report

# Why Python may refuse a pair that both of ours accept, by what it says.
ALLOWED = {
    " vs (-1)": "a dimension of -1, as PaddlePaddle's exporter writes an unknown one",
    "Field 'shape' of 'type' is required but missing": "an output's shape decides nothing",
    "has unsupported type": "a type that the operator has not in ONNX, as a Constant of integers before operator set 9: it is read exactly",
    "is deprecated in domain_version": "GroupNormalization of operator sets 18 to 20, whose meaning is stated",
}
DIFFER = "Inferred shape and existing shape differ"
# What the library reads and the checker does not (docs/checker.md), by what the checker says.
ONE_SIDED = {
    "auto_pad with pads": "pads of zeros beside auto_pad",
    "noop_with_empty_axes": "a ReduceMean of no axes that changes nothing",
    "of constants alone": "an operator of constants alone",
}
WHOLE = [0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 13, 14, 16, 17, 18, 20, 25, 26, -1, -2, 2**31, 2**32 + 1, 2**63 - 1, 2**63]
ATTRIBUTES = [("min", 0.5), ("max", 1.0), ("axes", [1]), ("axis", 1), ("keepdims", 1), ("training_mode", 1), ("spatial", 1),
              ("ceil_mode", 1), ("dilations", [1, 1]), ("storage_order", 0), ("allowzero", 0), ("ratio", 0.5), ("seed", 1),
              ("stash_type", 1), ("alpha", 0.5), ("alpha", [0.5]), ("beta", 1.0), ("epsilon", 0.25), ("mode", "constant"),
              ("value", 0.0), ("pads", [0, 0, 0, 0]), ("noop_with_empty_axes", 0), ("count_include_pad", 1),
              ("auto_pad", "NOTSET"), ("perm", [0, 1]), ("transB", 1), ("transB", [1]), ("value_float", 1.0), ("group", 1),
              ("consumed_inputs", [0]), ("broadcast", 1), ("is_test", 1), ("kernel_shape", [1, 1]), ("momentum", 0.5)]


def descriptors():
    def walk(messages):
        for m in messages:
            yield m
            yield from walk(m.nested_types)
    return {m.full_name: m for m in walk(onnx_ml_pb2.DESCRIPTOR.message_types_by_name.values())}


CASES = Path(__file__).resolve().parents[2] / "cases" / "audit"
MESSAGES = descriptors()
MODEL = MESSAGES["onnx.ModelProto"]


class Place:
    """A message inside a model that is taken apart, with the messages around it."""

    def __init__(self, data, message, rng, deep=0.8):
        self.above = []
        self.message, self.fields = message, wire.split(data)
        while rng.random() < deep:
            inner = [i for i, f in enumerate(self.fields) if f[1] == wire.BODY and self.inside(f[0]) is not None]
            if not inner:
                break
            i = rng.choice(inner)
            self.above.append((self.fields, i))
            self.message, self.fields = self.inside(self.fields[i][0]), wire.split(self.fields[i][2])

    def inside(self, number):
        f = self.message.fields_by_number.get(number)
        return f.message_type if f is not None else None

    def whole(self):
        data = wire.join(self.fields)
        for fields, i in reversed(self.above):
            data = wire.join([[f[0], f[1], data] if k == i else f for k, f in enumerate(fields)])
        return data


# --- changes of a model: each takes a place and a random number generator, and changes the place's fields


def some(place, rng, test=lambda f: True):
    found = [i for i, f in enumerate(place.fields) if not isinstance(f, bytes) and test(f)]
    return rng.choice(found) if found else None


def repeat(place, rng):
    if (i := some(place, rng)) is not None:
        place.fields.insert(rng.randrange(len(place.fields) + 1), list(place.fields[i]))


def repeat_changed(place, rng):
    if (i := some(place, rng)) is not None:
        number, kind, payload = place.fields[i]
        other = rng.choice(WHOLE) if kind == wire.VARINT else payload[::-1]
        place.fields.insert(rng.randrange(len(place.fields) + 1), [number, kind, other])


def remove(place, rng):
    if (i := some(place, rng)) is not None:
        del place.fields[i]


def reorder(place, rng):
    rng.shuffle(place.fields)


def retype(place, rng):
    if (i := some(place, rng)) is None:
        return
    number, kind, payload = place.fields[i]
    raw = wire.varint(payload) if kind == wire.VARINT else payload
    other = rng.choice([wire.VARINT, wire.EIGHT, wire.BODY, wire.FOUR])
    size = {wire.EIGHT: 8, wire.FOUR: 4}.get(other)
    raw = (raw + bytes(8))[:size] if size else raw
    place.fields[i] = [number, other, rng.choice(WHOLE) if other == wire.VARINT else raw]


def split_message(place, rng):
    """A message in two: protocol buffers merge them."""
    i = some(place, rng, lambda f: f[1] == wire.BODY and place.inside(f[0]) is not None)
    if i is None:
        return
    fields = wire.split(place.fields[i][2])
    cut = rng.randrange(len(fields) + 1)
    number = place.fields[i][0]
    place.fields[i] = [number, wire.BODY, wire.join(fields[:cut])]
    place.fields.insert(i + 1, [number, wire.BODY, wire.join(fields[cut:])])


def unknown(place, rng):
    number = rng.choice([15, 17, 19, 27, 50, 63, 64, 100, 1000, 2**29 - 1])
    kind = rng.choice([wire.VARINT, wire.EIGHT, wire.BODY, wire.FOUR])
    payload = {wire.VARINT: 1, wire.EIGHT: bytes(8), wire.BODY: b"x", wire.FOUR: bytes(4)}[kind]
    place.fields.insert(rng.randrange(len(place.fields) + 1), [number, kind, payload])


def known(place, rng):
    """Any field of the message."""
    f = rng.choice(list(place.message.fields))
    kind = {1: wire.EIGHT, 2: wire.FOUR, 9: wire.BODY, 11: wire.BODY, 12: wire.BODY}.get(f.type, wire.VARINT)
    payload = {wire.VARINT: rng.choice(WHOLE), wire.EIGHT: bytes(8), wire.FOUR: b"\0\0\x80?",
               wire.BODY: rng.choice([b"", b"", b"x", b"\x08\x01", b"\x0a\x01x"])}[kind]
    place.fields.insert(rng.randrange(len(place.fields) + 1), [f.number, kind, payload])


def longer(place, rng):
    if (i := some(place, rng)) is not None:
        place.fields[i] = wire.field(*place.fields[i], longer=rng.choice([1, 2, 4, 7, 9]))


def group(place, rng):
    number = rng.choice([f.number for f in place.message.fields] + [99])
    inner = rng.choice([b"", wire.field(1, wire.VARINT, 1)])
    place.fields.insert(rng.randrange(len(place.fields) + 1), wire.varint(number << 3 | 3) + inner + wire.varint(number << 3 | 4))


def zero(place, rng):
    place.fields.insert(rng.randrange(len(place.fields) + 1), rng.choice([b"\0\0", b"\2\0", b"\7", b"\6\0"]))


def renumber(place, rng):
    if (i := some(place, rng)) is not None:
        place.fields[i][0] = rng.choice([f.number for f in place.message.fields])


def number(place, rng):
    if (i := some(place, rng, lambda f: f[1] == wire.VARINT)) is not None:
        place.fields[i][2] = rng.choice(WHOLE)


def wide(place, rng):
    """A number of more than 64 bits."""
    if (i := some(place, rng, lambda f: f[1] == wire.VARINT)) is not None:
        place.fields[i][2] = rng.choice([b"\xff" * 9 + b"\x7f", b"\x80" * 10 + b"\x01", b"\x88" + b"\x80" * 8 + b"\x02"])


def pack(place, rng):
    """Numbers packed that were not, or the reverse: both are read."""
    def plain(f):
        d = place.message.fields_by_number.get(f[0])
        return d is not None and d.is_repeated and d.type in (1, 2, 3, 4, 5)
    if (i := some(place, rng, plain)) is None:
        return
    n, kind, payload = place.fields[i]
    if kind != wire.BODY:
        place.fields[i] = [n, wire.BODY, wire.varint(payload) if kind == wire.VARINT else payload]
        return
    width = {1: 8, 2: 4}.get(place.message.fields_by_number[n].type)
    if width:
        kind = wire.EIGHT if width == 8 else wire.FOUR
        each = [[n, kind, payload[k:k + width]] for k in range(0, len(payload), width)]
    else:
        each, at = [], 0
        while at < len(payload):
            value, at = wire.read_varint(payload, at)
            each.append([n, wire.VARINT, value])
    place.fields[i:i + 1] = each


def cut(place, rng):
    if (i := some(place, rng, lambda f: f[1] == wire.BODY and f[2])) is not None:
        place.fields[i][2] = place.fields[i][2][:rng.randrange(len(place.fields[i][2]))]


def byte(place, rng):
    if (i := some(place, rng, lambda f: f[1] != wire.VARINT and f[2])) is not None:
        data = bytearray(place.fields[i][2])
        data[rng.randrange(len(data))] = rng.choice([0, 1, 0x7F, 0x80, 0xC0, 0xFF, rng.randrange(256)])
        place.fields[i][2] = bytes(data)


WIRE = [repeat, repeat_changed, remove, reorder, retype, split_message, unknown, known, longer, group, zero, renumber,
        number, wide, pack, cut, byte]


# --- changes of a model by its meaning: each takes a ModelProto


def attribute(m, rng):
    n = rng.choice(m.graph.node)
    known_ = {a for v in range(7, 26) if onnx.defs.has(n.op_type, v, "") for a in onnx.defs.get_schema(n.op_type, v, "").attributes}
    own = [a for a in ATTRIBUTES if a[0] in known_ and a[0] not in {b.name for b in n.attribute}]
    n.attribute.append(helper.make_attribute(*rng.choice(own if own and rng.random() < 0.8 else ATTRIBUTES)))


def opset(m, rng):
    m.opset_import[0].version = rng.randrange(6, 27)


def another_opset(m, rng):
    m.opset_import.append(helper.make_opsetid(rng.choice(["", "ai.onnx", "ai.onnx.ml", "x"]), rng.randrange(7, 26)))


def version(m, rng):
    m.ir_version = rng.choice([0, 1, 2, 3, 4, 7, 9, 10, 13, 14, 15])


def domain(m, rng):
    rng.choice(m.graph.node).domain = rng.choice(["ai.onnx", "x", ""])


def rename(m, rng):
    """A value by another's name."""
    names = [t.name for t in m.graph.initializer] + ["x", ""] + [o for n in m.graph.node for o in n.output]
    n = rng.choice(m.graph.node)
    which = rng.choice([n.input, n.output])
    if which:
        which[rng.randrange(len(which))] = rng.choice(names)


def alias(m, rng):
    """An initializer by another's name, an input's or a node's output's."""
    names = [t.name for t in m.graph.initializer] + ["x"] + [o for n in m.graph.node for o in n.output]
    if m.graph.initializer:
        rng.choice(m.graph.initializer).name = rng.choice(names)


def listed(m, rng):
    """Initializers as inputs, some perhaps twice."""
    for t in m.graph.initializer:
        for _ in range(rng.choice([0, 1, 1, 1, 2])):
            m.graph.input.append(helper.make_tensor_value_info(t.name, t.data_type, t.dims))
    m.ir_version = rng.choice([3, 4, 8])


def twice(m, rng):
    parts = rng.choice([m.graph.initializer, m.graph.input, m.graph.output, m.graph.node])
    if parts:
        parts.append(rng.choice(parts))


def places(m, rng):
    nodes = list(m.graph.node)
    rng.shuffle(nodes)
    del m.graph.node[:]
    m.graph.node.extend(nodes)


def operands(m, rng):
    n = rng.choice(m.graph.node)
    rng.choice([n.input, n.output]).append(rng.choice(["", "", "x", "new"]))


def operator(m, rng):
    ops = ["Relu", "Abs", "Clip", "Identity", "Dropout", "Squeeze", "Unsqueeze", "Softmax", "HardSwish", "Sum", "relu",
           "LayerNormalization", "GroupNormalization", "MaxPool", "ReduceMean", "Pad", "LeakyRelu"]
    rng.choice(m.graph.node).op_type = rng.choice(ops)


def stored(m, rng):
    """A tensor's entries in another field, of another type or number, with more, or fewer."""
    if not m.graph.initializer:
        return
    t = rng.choice(m.graph.initializer)
    array = numpy_helper.to_array(t)
    type_ = rng.choice([1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 16])
    name = rng.choice(["float_data", "int32_data", "int64_data", "double_data", "uint64_data"])
    if rng.random() < 0.6:
        type_ = rng.choice([1, 6, 7, 11, 12])
        name = {1: "float_data", 6: "int32_data", 7: "int64_data", 11: "double_data", 12: "uint64_data"}[type_]
    if rng.random() < 0.8:
        t.ClearField("raw_data")
    elif rng.random() < 0.5:
        t.raw_data = b""
    t.data_type = type_
    real = name in ("float_data", "double_data")
    entries = [float(x) if real else abs(int(x)) for x in array.reshape(-1)]
    if rng.random() < 0.3 and entries:
        entries[0] = rng.choice([float("inf"), float("nan"), -0.0, 1e-45]) if real else rng.choice(
            [2**31 - 1, 65535, 65536, 0x7C00, 0x7C01, 255, 256, 1, 2])
    getattr(t, name).extend(entries + entries[:1] * (rng.random() < 0.2))


def bits(m, rng):
    """A tensor of any type with any bits."""
    if not m.graph.initializer:
        return
    t = rng.choice(m.graph.initializer)
    width, type_ = rng.choice([(4, 1), (1, 2), (1, 3), (2, 4), (2, 5), (4, 6), (8, 7), (1, 9), (2, 10), (8, 11), (4, 12), (8, 13),
                               (2, 16)])
    n = int(np.prod(t.dims, dtype=int))
    t.ClearField("raw_data")
    t.data_type = type_
    t.raw_data = bytes(rng.choice([0, 0, 1, 0x3C, 0x7F, 0x80]) for _ in range(n * width))


def dimension(m, rng):
    p = rng.choice([m.graph.input, m.graph.output])[0]
    if p.type.tensor_type.shape.dim:
        d = rng.choice(p.type.tensor_type.shape.dim)
        if rng.random() < 0.7:
            d.dim_value = rng.choice([0, 1, 2, 3, 4, 5, 6, -1, 2**40])
        else:
            d.dim_param = "K"


def dims(m, rng):
    if m.graph.initializer:
        t = rng.choice(m.graph.initializer)
        if t.dims:
            t.dims[rng.randrange(len(t.dims))] = rng.choice([0, 1, -1, 2, 2**40])
        else:
            t.dims.append(1)


def texts(m, rng):
    target = rng.choice([(m.graph, "name"), (m, "doc_string"), (m.graph.node[0], "name"), (m.graph.node[0], "overload"),
                         (m, "producer_name"), (m.graph.node[0], "doc_string")])
    setattr(target[0], target[1], rng.choice(["", "a", "é", "\n", "\x7f", "a b", "\u202e", "\U0001F600"]))


def extras(m, rng):
    rng.choice([lambda: m.metadata_props.add(key="k", value=rng.choice("ab")),
                lambda: m.metadata_props.extend([onnx.StringStringEntryProto(key="k")] * 2),
                lambda: m.training_info.add(), lambda: m.functions.add(name="f", domain="d"),
                lambda: m.graph.sparse_initializer.add(), lambda: m.graph.value_info.add(name="v"),
                lambda: m.graph.quantization_annotation.add(tensor_name="x"),
                lambda: m.graph.metadata_props.add(key="k"), lambda: m.graph.node[0].metadata_props.add(key="k"),
                lambda: m.graph.node[0].device_configurations.add(), lambda: m.configuration.add(name="c")])()


def declared(m, rng):
    """What is said of an output, or of a value within: another type, or another shape."""
    names = [o for n in m.graph.node for o in n.output if o] + [t.name for t in m.graph.initializer]
    dims = [rng.choice([1, 2, 3, 4, "K"]) for _ in range(rng.randrange(5))]
    info = helper.make_tensor_value_info(rng.choice(names), rng.choice([1, 1, 7, 10, 11]), rng.choice([None, dims]))
    if rng.random() < 0.3:
        m.graph.output[0].type.tensor_type.elem_type = rng.choice([1, 7, 10, 11])
    else:
        m.graph.value_info.append(info)


MEANING = [attribute, opset, another_opset, version, domain, rename, alias, listed, twice, places, operands, operator, stored,
           bits, dimension, dims, texts, extras, declared]


# --- batches


def npy(array, head=None, version=(1, 0), tail=b""):
    data = array.tobytes(order="K") if array.flags.c_contiguous else array.tobytes(order="F")
    if head is None:
        head = {"descr": array.dtype.str, "fortran_order": not array.flags.c_contiguous, "shape": array.shape}
        head = repr(head).replace("}", ", }")
    width = 2 if version[0] == 1 else 4
    head = head.encode("latin1") if isinstance(head, str) else head
    if not head.endswith(b"\n"):
        head += b" " * (-(len(head) + 9 + width) % 64) + b"\n"
    return b"\x93NUMPY" + bytes(version) + len(head).to_bytes(width, "little") + head + data + tail


class Member:
    def __init__(self, name, data):
        self.name, self.data, self.stated = name, data, data
        self.flags = self.method = self.shift = 0
        self.crc = zlib.crc32(data)
        self.local, self.central = {}, {}
        self.extra, self.central_extra, self.comment, self.descriptor, self.gap = b"", b"", b"", b"", b""
        self.wide = False

    def header(self, which, signature, more=b""):
        at = {"flags": self.flags, "method": self.method, "crc": self.crc, "packed": len(self.data),
              "size": len(self.stated), "name": self.name, **which}
        extra = self.extra if not more else self.central_extra
        if self.wide and not more:
            extra = struct.pack("<HHQQ", 1, 16, at["size"], at["packed"])
            at["packed"] = at["size"] = 0xFFFFFFFF
        out = signature + struct.pack("<HHHHHIIIHH", 20, at["flags"], at["method"], 0, 33, at["crc"] & 0xFFFFFFFF,
                                      at["packed"] & 0xFFFFFFFF, at["size"] & 0xFFFFFFFF, len(at["name"]), len(extra))
        return out + more + at["name"] + extra


def archive(members, prefix=b"", comment=b"", between=b"", count=None, shift=0, suffix=b""):
    out, directory = bytearray(prefix), b""
    for m in members:
        out += m.gap
        place = len(out) + m.shift
        out += m.header(m.local, b"PK\3\4") + m.data + m.descriptor
        more = struct.pack("<HHHII", len(m.comment), 0, 0, 0, place & 0xFFFFFFFF)
        directory += m.header(m.central, b"PK\1\2" + b"\x14\0", more) + m.comment
    out += between
    place = len(out) + shift
    n = len(members) if count is None else count
    out += directory + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, n, n, len(directory), place & 0xFFFFFFFF, len(comment)) + comment
    return bytes(out) + suffix


def arrays_of(data):
    with np.load(io.BytesIO(data)) as z:
        return {k: z[k] for k in z.files}


def as_array(data, rng):
    """A header in another spelling, another order or type; or bytes more, or fewer."""
    arrays = arrays_of(data)
    x = arrays["x"]
    descr, shape_ = x.dtype.str, repr(x.shape)
    wild = [f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape_}, }}",
            f"{{'shape': {shape_}, 'fortran_order': False, 'descr': '{descr}'}}",
            f'{{"descr": "{descr}","fortran_order":False,"shape":{shape_}}}',
            f"{{'descr': '{descr}', 'descr': '{descr}', 'fortran_order': False, 'shape': {shape_}, }}",
            f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape_}, 'more': 1}}",
            f"{{'descr': '{descr}', 'fortran_order': 0, 'shape': {shape_}, }}",
            f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape_.replace('(', '(0')}, }}",
            f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape_.replace(',', ' ,')}, }}",
            f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {list(x.shape)}, }}",
            f"  {{'descr': '{descr}', 'fortran_order': True, 'shape': {shape_}, }}",
            f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape_}, }} x",
            f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape_}, }}" + " " * 10000,
            f"{{'descr': '{descr[1:]}', 'fortran_order': False, 'shape': {shape_}, }}",
            f"{{'descr': '|{descr[1:]}', 'fortran_order': False, 'shape': {shape_}, }}",
            f"{{'descr': '>{descr[1:]}', 'fortran_order': False, 'shape': {shape_}, }}",
            f"{{'descr': '={descr[1:]}', 'fortran_order': False, 'shape': {shape_}, }}",
            f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({x.size},), }}\n\n",
            f"{{'descr': '<i4', 'fortran_order': False, 'shape': {shape_}, }}",
            f"{{'descr': '<V4', 'fortran_order': False, 'shape': {shape_}, }}"]
    way = rng.randrange(9)
    if way < 4:
        return npy(x, rng.choice(wild), version=rng.choice([(1, 0), (2, 0), (3, 0), (1, 0), (4, 0), (1, 1)]))
    if way == 4:
        return npy(x, tail=rng.choice([b"\0", b"\0" * 4]))
    if way == 5:
        return npy(np.asfortranarray(x))
    dtype = rng.choice(["<f8", "<f2", ">f4", ">f8", ">f2", "|i1", "<i2", ">i2", "<i8", "|u1", "<u2", ">u4", "<u8", "|b1", "<c8"])
    if way == 6:
        return npy(x.astype(dtype))
    entries = bytes(rng.choice([0, 1, 2, 0x3C, 0x7C, 0x7F, 0x80, 0xFF]) for _ in range(x.size * np.dtype(dtype).itemsize))
    return npy(np.frombuffer(entries, dtype).reshape(x.shape))


def one_change(m, rng):
    """A member whose headers or surroundings differ."""
    name = rng.choice(["flags", "method", "crc", "packed", "size"])
    value = rng.choice([0, 1, 8, 0x800, 2, len(m.data) + 1, len(m.data) - 1, 12345])
    where = rng.choice([m.local, m.central, None])
    way = rng.randrange(10)
    if way < 4:
        for target in [m.local, m.central] if where is None else [where]:
            target[name] = value
    elif way == 4:
        (m.local if where is None else where)["name"] = rng.choice([b"y.npy", b"x.npy\0", b"X.npy", b"z.npy", b"\xc3\xa9.npy"])
    elif way == 5:
        m.extra = rng.choice([b"\x01\0\0\0", b"up\x04\0aaaa", b"x", struct.pack("<HHQQ", 1, 16, 5, 5)])
    elif way == 6:
        m.central_extra = rng.choice([b"\x01\0\0\0", b"up\x0a\0\1aaaay.npy", b"x"])
    elif way == 7:
        m.comment, m.gap = rng.choice([(b"c", b""), (b"", b"g"), (b"", b"PK\3\4")])
    elif way == 8:
        m.flags = rng.choice([8, 0x800])
        if m.flags == 8:
            m.local.update(crc=0, packed=0, size=0)
            m.descriptor = rng.choice([b"PK\7\x08", b""]) + struct.pack("<III", m.crc, len(m.data), len(m.data))
    else:
        m.shift = rng.choice([1, -1, 30])


def as_archive(data, rng):
    members = [Member(k.encode() + b".npy", npy(v)) for k, v in arrays_of(data).items()]
    for m in members:
        m.wide = rng.random() < 0.5
    m, rest = rng.choice(members), {}
    way = rng.randrange(8)
    if way < 3:
        one_change(m, rng)
    elif way == 3:
        rest = rng.choice([{"prefix": b"P"}, {"comment": b"c"}, {"between": b"b"}, {"count": len(members) + 1}, {"shift": 1},
                           {"count": len(members) - 1}, {"suffix": b"s"}, {"shift": -1}, {"suffix": archive([])}])
    elif way == 4:
        m.data = zlib.compress(m.stated)[2:-4]
        m.method = 8
    elif way == 5:
        other = Member(m.name, npy(arrays_of(data)["x"] + 1))
        members.insert(rng.randrange(len(members) + 1), other)
    elif way == 6:
        members.append(Member(rng.choice([b"z.npy", b"x", b"x.npy.npy", b"y.npy", b"__MACOSX/x.npy", b"\xff.npy", b".npy"]), npy(np.zeros(2))))
    return archive(members, **rest)


def glued(data, rng):
    """Two archives in one file."""
    arrays = arrays_of(data)
    first = io.BytesIO()
    np.savez(first, **{k: v + 1 if k == "x" else v for k, v in arrays.items()})
    return rng.choice([first.getvalue() + data, data + first.getvalue(), data[:-22] + first.getvalue(), data + data[-22:]])


def saved(data, rng):
    """As NumPy saves it, in its ways."""
    arrays, out = arrays_of(data), io.BytesIO()
    arrays["x"] = rng.choice([lambda x: x, np.asfortranarray, lambda x: x.astype(">f4"), lambda x: x.astype(np.float64),
                              lambda x: x.astype(np.float16), lambda x: x.astype(np.int64)])(arrays["x"])
    way = rng.randrange(3)
    if way == 0:
        np.save(out, arrays["x"])
    elif way == 1:
        np.savez(out, **arrays)
    else:
        np.savez_compressed(out, **arrays)
    return out.getvalue()


def bytes_changed(data, rng):
    out = bytearray(data)
    for _ in range(rng.choice([1, 1, 2])):
        out[rng.randrange(len(out))] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
    return bytes(out)


def bytes_cut(data, rng):
    return rng.choice([data[:rng.randrange(len(data))], data[rng.randrange(1, len(data)):], data + b"\0", data + data])


BATCH = [as_array, as_array, as_array, as_archive, as_archive, as_archive, glued, saved, bytes_changed, bytes_cut]


# --- cases


def complete(model):
    """The output's shape, which ONNX's checker wants."""
    inferred = onnx.shape_inference.infer_shapes(model)
    out = model.graph.output[0]
    for value in inferred.graph.output:
        out.type.CopyFrom(value.type)
    return model


def bases(folder):
    found, seen = [], set()
    for name, path, batch, loss in graphs(folder):
        if path not in seen:
            seen.add(path)
            found.append((complete(onnx.load(str(path))).SerializeToString(), batch.read_bytes()))
    return found


def change_model(data, rng, kinds):
    if rng.random() < 0.03:
        kinds.append("bytes_cut")
        return bytes_cut(data, rng)
    if rng.random() < 0.5:
        try:
            m = onnx.load_model_from_string(data)
            change = rng.choice(MEANING)
            change(m, rng)
            kinds.append(change.__name__)
            return m.SerializeToString()
        except (ValueError, TypeError):  # what the change asks for has no place in protobuf's Python
            return data
    place = Place(data, MODEL, rng)
    change = rng.choice(WIRE)
    change(place, rng)
    kinds.append(change.__name__)
    return place.whole()


def draw(base, rng):
    model, batch = base
    kinds = []
    if rng.random() < 0.3:
        change = rng.choice(BATCH)
        kinds.append(change.__name__)
        return model, change(batch, rng), kinds
    for _ in range(rng.choice([1, 1, 1, 2])):
        try:
            model = change_model(model, rng, kinds)
        except (IndexError, onnx.onnx_cpp2py_export.checker.ValidationError, Exception) as error:
            if not kinds:
                raise error
            break  # a second change of what is no longer a message
    return model, batch, kinds


def sections(text):
    """One a pair: its lines, or None when it is refused."""
    out, lines = [], None
    for line in text.split("\n"):
        if line == "model":
            lines = []
        if line.startswith("refused "):
            out.append(None)
            lines = None
        elif lines is not None:
            lines.append(line)
            if line.startswith("samples "):
                out.append(lines)
                lines = None
    return out


def run(command, pairs):
    args = [str(p) for pair in pairs for p in pair]
    done = subprocess.run([*command, *args], capture_output=True, timeout=600)
    found = sections(done.stdout.decode("ascii"))
    if len(found) != len(pairs):
        raise RuntimeError(f"{command}: {len(found)} answers to {len(pairs)} pairs: {done.stderr[-500:]}")
    return found, done.stderr.decode("utf-8", "replace").splitlines()


def fits_otherwise(model):
    """Is the model right but for how its outputs' shapes are declared? Those that nodes compute count."""
    model = onnx.load_model_from_string(model)
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    try:
        onnx.checker.check_model(complete(model), full_check=True)
    except Exception:  # whatever the libraries raise
        return False
    return True


def python_reads(model, batch):
    """(lines, None), or (None, why not)."""
    try:
        return shown.shown(model, batch), None
    except Exception as error:  # whatever the libraries raise
        why = f"{type(error).__name__}: {error}"
    if any(reason in why for reason in ALLOWED) or (DIFFER in why and fits_otherwise(model)):
        try:
            return shown.shown(model, batch, check=False), None
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
    return None, why


def judge(case, checker, library, why):
    """What is wrong with the three answers, or None."""
    model, batch, kinds = case
    if checker is None and library is None:
        return None
    if checker is None and any(reason in why for reason in ONE_SIDED):
        checker = library
    if checker is None or library is None:
        return f"({why}) accepted by {'the library' if checker is None else 'the checker'} alone"
    if checker != library:
        return "the checker and the library read different things: " + first_difference(checker, library)
    lines, why = python_reads(model, batch)
    if lines is None:
        return f"accepted; Python: {why[:300]}"
    if lines != checker[:-1]:
        return "Python reads something else: " + first_difference(checker, lines)
    return None


def first_difference(ours, theirs):
    for a, b in zip(ours, theirs):
        if a != b:
            return f"{a[:200]!r}, {b[:200]!r}"
    return f"{len(ours)} lines, {len(theirs)}"


def check_structure(report, build, cases, seed, keep=None):
    rng, counts, accepted, wrong = random.Random(seed), Counter(), Counter(), 0
    checker, library = [build / "tools/clarke-check", "--show"], [build / "tests/interop/reads"]
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        all_bases = bases(folder)
        for start in range(0, cases, 200):
            batch = [draw(rng.choice(all_bases), rng) for _ in range(min(200, cases - start))]
            pairs = []
            for i, (model, data, _) in enumerate(batch):
                pairs.append((folder / f"{i}.onnx", folder / f"{i}.npz"))
                pairs[-1][0].write_bytes(model)
                pairs[-1][1].write_bytes(data)
            found, said = run(checker, pairs)
            whys = iter(said)
            for i, (case, a, b) in enumerate(zip(batch, found, run(library, pairs)[0])):
                why = next(whys) if a is None else ""
                counts.update(case[2])
                accepted.update(case[2] if a is not None else [])
                problem = judge(case, a, b, why)
                if problem is None:
                    continue
                wrong += 1
                if keep:
                    (keep / f"{start + i}.onnx").write_bytes(case[0])
                    (keep / f"{start + i}.npz").write_bytes(case[1])
                if wrong <= 100:
                    report.check(False, f"case {start + i} ({', '.join(case[2])})", problem)
    report.check(wrong == 0, f"{cases} changed files, {sum(accepted.values())} accepted", f"{wrong} are read wrongly")
    if cases >= 2000:
        check_kinds(report, counts, accepted)


# Of these some must be accepted: the changes change nothing that is read, or may.
ACCEPTED = {reorder, pack, listed, stored, bits, byte, saved, as_array, as_archive, opset, texts, attribute, dimension}


def check_kinds(report, counts, accepted):
    every = {f.__name__ for f in WIRE + MEANING + BATCH}
    report.check(every <= set(counts), "every kind of change is made", f"never: {sorted(every - set(counts))}")
    missing = {f.__name__ for f in ACCEPTED} - set(accepted)
    report.check(not missing, "sound changes are accepted", f"never: {sorted(missing)}")


def check_cases(report, build, folder):
    """All models of a folder with the batches that fit them: what is shown is what Python reads."""
    pairs = [(m, b) for m in sorted(folder.glob("*.onnx")) for b in sorted(folder.glob("*.npz"))
             if b.stem == m.stem or b.stem.split("-")[0] == m.stem.split("-")[0]]
    graph = {m: onnx.load(m).graph for m, _ in pairs}  # of several outputs none is chosen here, and stored integers are quantized.py's
    pairs = [(m, b) for m, b in pairs if len(graph[m].output) == 1 and all(n.op_type != "DequantizeLinear" for n in graph[m].node)]
    pairs += [(m, folder / "images.npz") for m in sorted(folder.glob("*.onnx")) if m.stem.startswith(("lenet", "resnet"))]
    found, said = run([build / "tools/clarke-check", "--show"], pairs)
    library = run([build / "tests/interop/reads"], pairs)[0]
    whys, shown_models = iter(said), set()
    for (m, b), ours, theirs in zip(pairs, found, library):
        why = next(whys) if ours is None else ""
        problem = judge((m.read_bytes(), b.read_bytes(), []), ours, theirs, why)
        if ours is not None:
            shown_models.add(m)
        report.check(problem is None, f"{m.name} with {b.name} as shown", problem)
    left = {m.name for m, b in pairs} - {m.name for m in shown_models}
    report.check(len(shown_models) > 0 and not left, "each model is shown with some batch", f"not {sorted(left)}")


def main():
    parser = argparse.ArgumentParser(description="Compares readers on files of changed structure.")
    parser.add_argument("--build", default="build", type=Path)
    parser.add_argument("--cases", default=3000, type=int)
    parser.add_argument("--seed", default=1, type=int)
    parser.add_argument("--keep", metavar="DIR", type=Path, help="where to leave the files that are read wrongly")
    options = parser.parse_args()
    report = Report()
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    check_cases(report, options.build.resolve(), CASES)
    check_structure(report, options.build.resolve(), options.cases, options.seed, options.keep)
    return report.close()


if __name__ == "__main__":
    raise SystemExit(main())
