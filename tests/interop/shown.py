"""What Python's onnx and numpy read of a model and a batch, in the text of `clarke-check --show`."""

import io
import math
from fractions import Fraction

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, numpy_helper

SAFE = set(b"._/:-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
TYPES = {TensorProto.FLOAT: "F32", TensorProto.UINT8: "U8", TensorProto.INT8: "I8",
         TensorProto.UINT16: "U16", TensorProto.INT16: "I16", TensorProto.INT32: "I32",
         TensorProto.INT64: "I64", TensorProto.BOOL: "BOOL", TensorProto.FLOAT16: "F16",
         TensorProto.DOUBLE: "F64", TensorProto.UINT32: "U32", TensorProto.UINT64: "U64",
         TensorProto.BFLOAT16: "BF16"}
ARRAYS = {"float32": "F32", "uint8": "U8", "int8": "I8", "uint16": "U16", "int16": "I16", "int32": "I32",
          "int64": "I64", "bool": "BOOL", "float16": "F16", "float64": "F64", "uint32": "U32",
          "uint64": "U64"}


class Unlike(Exception):
    """Read by Python, and nothing that `clarke` reads."""


def name(text):
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")
    return "".join(chr(b) if b in SAFE else f"%{b:02X}" for b in data) or "*"


def number(x):
    if isinstance(x, (bool, np.bool_)):
        return str(int(x))
    if isinstance(x, (int, np.integer)):
        return str(int(x))
    if not math.isfinite(x):
        raise Unlike(f"{x}")
    return str(Fraction(float(x)))


def values(array):
    return "".join(" " + number(x) for x in np.asarray(array).reshape(-1))


def shape(dims):
    return "[" + ",".join(str(d) for d in dims) + "]"


def tensor(t):
    array = numpy_helper.to_array(t)
    if t.data_type not in TYPES:
        raise Unlike("element type")
    return f"{TYPES[t.data_type]} {shape(array.shape)}{values(array)}"


def port(p):
    if p.type.WhichOneof("value") != "tensor_type" or p.type.tensor_type.elem_type not in TYPES:
        raise Unlike("type")
    t = p.type.tensor_type
    dims = [d.dim_value if d.dim_value > 0 else "?" for d in t.shape.dim]
    return f"{name(p.name)} {TYPES[t.elem_type]}" + (f" {shape(dims)}" if t.HasField("shape") else "")


def attribute(a):
    kinds = {AttributeProto.INT: lambda: "int " + number(a.i), AttributeProto.FLOAT: lambda: "float " + number(a.f),
             AttributeProto.STRING: lambda: "string " + name(a.s),
             AttributeProto.INTS: lambda: "ints" + "".join(" " + number(i) for i in a.ints),
             AttributeProto.FLOATS: lambda: "floats" + "".join(" " + number(f) for f in a.floats),
             AttributeProto.TENSOR: lambda: "tensor " + tensor(a.t)}
    if a.type not in kinds:
        raise Unlike("attribute")
    return f" attribute {name(a.name)} {kinds[a.type]()}"


def model(m):
    graph = m.graph
    lines = ["model", "opset " + str([o.version for o in m.opset_import if o.domain in ("", "ai.onnx")][-1])]
    initialized = {t.name for t in graph.initializer}
    lines += ["input " + port(p) for p in graph.input if p.name not in initialized]
    lines += ["output " + port(p) for p in graph.output]
    lines += [f"initializer {name(t.name)} {tensor(t)}" for t in graph.initializer]
    for n in graph.node:
        lines.append(f"node {name(n.op_type)} {name(n.name)}")
        lines.append(" in" + "".join(" " + name(i) for i in n.input))
        lines.append(" out" + "".join(" " + name(o) for o in n.output))
        lines += [attribute(a) for a in n.attribute]
    return lines


def batch(data):
    loaded = np.load(io.BytesIO(data), allow_pickle=False)
    arrays = {"x": loaded} if isinstance(loaded, np.ndarray) else dict(loaded)
    if "x" not in arrays or set(arrays) - {"x", "y"}:
        raise Unlike("arrays")
    lines = ["batch"]
    for key in sorted(arrays):
        a = arrays[key]
        if not isinstance(a, np.ndarray) or a.dtype.name not in ARRAYS:
            raise Unlike("dtype")
        lines.append(f"tensor {key} {ARRAYS[a.dtype.name]} {shape(a.shape)}{values(a)}")
    return lines


def shown(model_bytes, batch_bytes, check=True):
    """The text but for its last line; raises what Python raises."""
    m = onnx.load_model_from_string(model_bytes)
    if check:
        onnx.checker.check_model(m, full_check=True)
    return model(m) + batch(batch_bytes)
