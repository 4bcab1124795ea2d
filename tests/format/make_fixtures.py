#!/usr/bin/env python3
"""Makes the files in data/ and, beside each, NAME.expected: what a reader must make of it.

The files are written by the reference libraries (onnx, safetensors, numpy, torch); the expected
text is written here from the values that went in, never from a file read back. Floats are the 16
hexadecimal digits of the double equal to the stored number, so comparing text compares bits.

  python make_fixtures.py [DIRECTORY]        (default: data, beside this script)
"""
import io
import pathlib
import struct
import sys

import numpy as np
import onnx
import safetensors.numpy
import safetensors.torch
import torch
from onnx import AttributeProto, TensorProto, helper

OUT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "data")

NAMES = {
    TensorProto.FLOAT: "float32", TensorProto.DOUBLE: "float64", TensorProto.FLOAT16: "float16",
    TensorProto.BFLOAT16: "bfloat16", TensorProto.INT8: "int8", TensorProto.INT16: "int16",
    TensorProto.INT32: "int32", TensorProto.INT64: "int64", TensorProto.UINT8: "uint8",
    TensorProto.UINT16: "uint16", TensorProto.UINT32: "uint32", TensorProto.UINT64: "uint64",
    TensorProto.BOOL: "bool",
}


def bits(x):
    return struct.pack(">d", x).hex()


def shape_text(dims):
    return "[" + ", ".join("?" if d == -1 else str(d) for d in dims) + "]"


def tensor_text(name, dtype, dims, values):
    real = "float" in dtype
    return " ".join([f"tensor {name} {dtype} {shape_text(dims)}"]
                    + [bits(float(v)) if real else str(int(v)) for v in values]) + "\n"


def array_text(name, array):
    array = np.asarray(array)
    return tensor_text(name, array.dtype.name, array.shape, array.flatten(order="C"))


def put(name, data, expected):
    (OUT / name).write_bytes(data)
    (OUT / (name + ".expected")).write_text(expected)


# --- values ------------------------------------------------------------------------------------

F16_BITS = [0x0000, 0x8000, 0x0001, 0x83ff, 0x0400, 0x3c00, 0xbc01, 0x7bff, 0xfbff]
BF16_BITS = [0x0000, 0x8000, 0x0001, 0x807f, 0x0080, 0x3f80, 0xbf81, 0x7f7f, 0xff7f]
F32_BITS = [0x0, 0x80000000, 0x1, 0x807fffff, 0x00800000, 0x3f800001, 0x3dcccccd, 0x7f7fffff]
F64_BITS = [0x0, 1 << 63, 0x1, 0x000fffffffffffff, 0x3ff0000000000001, 0x3fb999999999999a,
            0x7fefffffffffffff]


def values_of(code):
    """The stored bit patterns (or integers) of the type, and their values."""
    if code == TensorProto.FLOAT16:
        return F16_BITS, np.array(F16_BITS, np.uint16).view(np.float16).astype(float)
    if code == TensorProto.BFLOAT16:
        wide = np.array(BF16_BITS, np.uint32) << 16
        return BF16_BITS, wide.view(np.float32).astype(float)
    if code == TensorProto.FLOAT:
        return F32_BITS, np.array(F32_BITS, np.uint32).view(np.float32).astype(float)
    if code == TensorProto.DOUBLE:
        return F64_BITS, np.array(F64_BITS, np.uint64).view(np.float64)
    if code == TensorProto.BOOL:
        return [1, 0, 1, 1], [1, 0, 1, 1]
    kind = np.iinfo(NAMES[code])
    top = min(kind.max, 2**63 - 1)
    values = [0, 1, 7, top, top - 1, kind.min, kind.min + 1]
    return values, values


def raw_bytes(code, stored):
    width = np.dtype({"bfloat16": "uint16"}.get(NAMES[code], NAMES[code])).itemsize
    return b"".join((v % (1 << (8 * width))).to_bytes(width, "little") for v in stored)


# --- ONNX --------------------------------------------------------------------------------------

def info(name, dims, elem=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, elem, dims)


def model(nodes, initializers, inputs, outputs, opset=17, ir=8, extra=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializers)
    imports = [helper.make_opsetid("", opset)] + [helper.make_opsetid(d, 1) for d in extra]
    return helper.make_model(graph, ir_version=ir, opset_imports=imports)


def identity():
    return ([helper.make_node("Identity", ["x"], ["y"], name="id")], [info("x", [1, 3])],
            [info("y", [1, 3])],
            "input x float32 [1, 3]\noutput y float32 [1, 3]\n"
            "node Identity domain= name=id in=x out=y\n")


def typed_tensor(code, stored):
    """The entries in the typed field that onnx.proto assigns to the type."""
    t = TensorProto(name=NAMES[code], data_type=code, dims=[len(stored)])
    if code == TensorProto.FLOAT:
        t.float_data.extend(np.array(stored, np.uint32).view(np.float32).tolist())
    elif code == TensorProto.DOUBLE:
        t.double_data.extend(np.array(stored, np.uint64).view(np.float64).tolist())
    elif code == TensorProto.INT64:
        t.int64_data.extend(stored)
    elif code in (TensorProto.UINT32, TensorProto.UINT64):
        t.uint64_data.extend(stored)
    else:
        t.int32_data.extend(stored)
    return t


def onnx_dtypes():
    nodes, inputs, outputs, head = identity()
    for form in "raw", "typed":
        tensors, text = [], ""
        for code in NAMES:
            stored, values = values_of(code)
            if form == "raw":
                t = TensorProto(name=NAMES[code], data_type=code, dims=[len(stored)],
                                raw_data=raw_bytes(code, stored))
            else:
                t = typed_tensor(code, stored)
            tensors.append(t)
            text += tensor_text(NAMES[code], NAMES[code], [len(stored)], values)
        m = model(nodes, tensors, inputs, outputs)
        put(f"dtypes-{form}.onnx", m.SerializeToString(), "opset 17\n" + text + head)


def onnx_shapes():
    """Scalars, empty tensors, symbolic and missing shapes, a name that is not ASCII."""
    tensors = [helper.make_tensor("scalar", TensorProto.FLOAT, [], [2.5]),
               helper.make_tensor("empty", TensorProto.FLOAT, [0, 4], []),
               helper.make_tensor("große Matrix", TensorProto.INT8, [2, 1, 2], [1, -2, 3, -4])]
    inputs = [info("a", ["N", 3, None]), info("b", [], TensorProto.DOUBLE),
              info("c", None, TensorProto.BFLOAT16), info("d", [0], TensorProto.BOOL)]
    nodes = [helper.make_node("Identity", ["a"], ["y"])]
    m = model(nodes, tensors, inputs, [info("y", [-1, 3, 8])], opset=13)
    put("shapes.onnx", m.SerializeToString(),
        "opset 13\n"
        + tensor_text("scalar", "float32", [], [2.5]) + tensor_text("empty", "float32", [0, 4], [])
        + tensor_text("große Matrix", "int8", [2, 1, 2], [1, -2, 3, -4])
        + "input a float32 [?, 3, ?]\ninput b float64 []\ninput c bfloat16\ninput d bool [0]\n"
          "output y float32 [?, 3, 8]\nnode Identity domain= name= in=a out=y\n")


def onnx_ir3():
    """Before IR version 4 weights are listed as inputs too; the input is the one that is none."""
    w = helper.make_tensor("w", TensorProto.FLOAT, [3, 2], [1, 2, 3, 4, 5, -0.0])
    b = helper.make_tensor("b", TensorProto.FLOAT, [2], [0.5, -0.5])
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"], name="m"),
             helper.make_node("Add", ["h", "b"], ["y"], name="a")]
    m = model(nodes, [w, b], [info("w", [3, 2]), info("x", [1, 3]), info("b", [2])],
              [info("y", [1, 2])], opset=8, ir=3)
    onnx.checker.check_model(m)
    put("ir3.onnx", m.SerializeToString(),
        "opset 8\n" + tensor_text("w", "float32", [3, 2], [1, 2, 3, 4, 5, -0.0])
        + tensor_text("b", "float32", [2], [0.5, -0.5])
        + "input x float32 [1, 3]\noutput y float32 [1, 2]\n"
          "node MatMul domain= name=m in=x,w out=h\nnode Add domain= name=a in=h,b out=y\n")


def onnx_attributes():
    """Every type of attribute, other domains, omitted inputs and outputs."""
    t = helper.make_tensor("", TensorProto.FLOAT16, [2], np.array([0.25, -3], np.float16))
    inner = helper.make_graph([], "inner", [], [])
    odd = helper.make_node("Odd", ["x", "", "x"], ["h", ""], name="one", domain="org.example",
                           alpha=0.1, axis=-3, mode="edge", value=t, pads=[0, 1, -1, 2**62],
                           scales=[0.5, -0.0, 1e-45], body=inner, words=["a", "b"])
    zero = helper.make_node("Odd", [], ["z"], domain="ai.onnx")
    for name, kind in (("f", AttributeProto.FLOAT), ("i", AttributeProto.INT),
                       ("s", AttributeProto.STRING), ("l", AttributeProto.INTS)):
        zero.attribute.append(AttributeProto(name=name, type=kind))
    old = helper.make_node("Odd", ["h"], ["y"], bare=7)
    old.attribute[0].ClearField("type")
    m = model([odd, zero, old], [], [info("x", [2])], [info("y", [2])], extra=["org.example"])
    tenth, tiny = float(np.float32(0.1)), float(np.float32(1e-45))
    put("attributes.onnx", m.SerializeToString(),
        "opset 17\ninput x float32 [2]\noutput y float32 [2]\n"
        "node Odd domain=org.example name=one in=x,,x out=h,\n"
        f" alpha float {bits(tenth)}\n axis int -3\n body other\n mode string edge\n"
        f" pads ints 0 1 -1 {2**62}\n scales floats {bits(0.5)} {bits(-0.0)} {bits(tiny)}\n"
        " value " + tensor_text("value", "float16", [2], [0.25, -3]) + " words other\n"
        "node Odd domain= name= in= out=z\n"
        f" f float {bits(0.0)}\n i int 0\n s string \n l ints\n"
        "node Odd domain= name= in=h out=y\n bare int 7\n")


def onnx_torch():
    """A network as PyTorch exports it: the names are PyTorch's, the weights are ours."""
    net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU(), torch.nn.Linear(2, 1))
    rng = np.random.default_rng(1)
    text = ""
    for name, p in net.named_parameters():
        p.data = torch.tensor(rng.integers(-64, 64, p.shape) / 32, dtype=torch.float32)
        text += array_text(name, p.detach().numpy())
    buffer = io.BytesIO()
    torch.onnx.export(net, (torch.zeros(1, 3),), buffer, dynamo=False, input_names=["x"],
                      output_names=["y"], opset_version=17)
    gemm = "alpha float 3ff0000000000000\n beta float 3ff0000000000000\n transB int 1\n"
    put("torch.onnx", buffer.getvalue(),
        "opset 17\n" + text + "input x float32 [1, 3]\noutput y float32 [1, 1]\n"
        "node Gemm domain= name=/0/Gemm in=x,0.weight,0.bias out=/0/Gemm_output_0\n " + gemm
        + "node Relu domain= name=/1/Relu in=/0/Gemm_output_0 out=/1/Relu_output_0\n"
        "node Gemm domain= name=/2/Gemm in=/1/Relu_output_0,2.weight,2.bias out=y\n " + gemm)


# --- arrays ------------------------------------------------------------------------------------

def safetensors_all():
    tensors, text = {}, ""
    for name, dtype in sorted((n, getattr(torch, n)) for n in NAMES.values()):
        code = next(c for c in NAMES if NAMES[c] == name)
        stored, values = values_of(code)
        raw = bytearray(raw_bytes(code, stored))
        tensors[name] = torch.frombuffer(raw, dtype=dtype).clone()
        text += tensor_text(name, name, [len(stored)], values)
    put("dtypes.safetensors", safetensors.torch.save(tensors, {"made": "here"}), text)
    odd = {"scalar": np.float32(1.5), "empty": np.zeros((2, 0, 3)),
           "été/∂": np.arange(6, dtype=np.int16).reshape(3, 2)}
    put("odd.safetensors", safetensors.numpy.save({k: np.asarray(v) for k, v in odd.items()}),
        "".join(array_text(k, odd[k]) for k in sorted(odd, key=str.encode)))


def array_of(name):
    code = next(c for c in NAMES if NAMES[c] == name)
    return np.frombuffer(raw_bytes(code, values_of(code)[0]), name)


def npy_bytes(array, version=None):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asanyarray(array), version, allow_pickle=False)
    return buffer.getvalue()


def numpy_all():
    kinds = [n for n in NAMES.values() if n != "bfloat16"]
    little = {n: array_of(n) for n in kinds}
    big = {n: a.astype(a.dtype.newbyteorder(">")) for n, a in little.items()}
    grid = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 8
    odd = {"fortran": np.asfortranarray(grid), "strided": grid[:, ::2, ::-1],
           "scalar": np.float64(-0.1), "empty": np.zeros((0, 5), np.int32), "row": grid[0, :1],
           "été": np.asfortranarray(np.arange(6, dtype=">i2").reshape(3, 2))}
    for name, arrays in (("little", little), ("big", big), ("odd", odd)):
        text = "".join(array_text(n, arrays[n]) for n in sorted(arrays, key=str.encode))
        for save, form in (np.savez, "stored"), (np.savez_compressed, "deflated"):
            buffer = io.BytesIO()
            save(buffer, **arrays)
            put(f"{name}-{form}.npz", buffer.getvalue(), text)
    buffer = io.BytesIO()
    np.savez(buffer)
    put("none.npz", buffer.getvalue(), "")
    for k, version in enumerate([(1, 0), (2, 0), (3, 0)]):
        put(f"version{k + 1}.npy", npy_bytes(odd["fortran"], version),
            array_text(f"version{k + 1}", grid))
    put("scalar.npy", npy_bytes(np.float16(0.1)), array_text("scalar", np.float16(0.1)))


OUT.mkdir(exist_ok=True)
torch.manual_seed(0)
onnx_dtypes()
onnx_shapes()
onnx_ir3()
onnx_attributes()
onnx_torch()
safetensors_all()
numpy_all()
