#!/usr/bin/env python3
"""Makes the files in data/ and, beside each, NAME.expected: what a reader must make of it.

The files are written by the reference libraries (onnx, safetensors, numpy, torch); the expected
text is written here from the values that went in, never from a file read back. Floats are the 16
hexadecimal digits of the double equal to the stored number, so comparing text compares bits.

  python make_fixtures.py [DIRECTORY]        (default: data, beside this script)

Files that must be refused go to refused/, beside data, each with NAME.says: what the message holds.
Without an argument it also makes the fuzz targets' seeds of checkpoints and of external data.
"""
import collections
import io
import pathlib
import shutil
import struct
import sys
import zipfile

import numpy as np
import onnx
import safetensors.numpy
import safetensors.torch
import torch
from onnx import AttributeProto, TensorProto, helper, numpy_helper

HERE = pathlib.Path(__file__).parent
OUT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else HERE / "data")
REFUSED = OUT.with_name("refused")
SEEDS = HERE.parent / "fuzz/corpus" if len(sys.argv) == 1 else None

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
              info("c", None, TensorProto.BFLOAT16), info("d", [1], TensorProto.BOOL)]
    nodes = [helper.make_node("Identity", ["a"], ["y"])]
    m = model(nodes, tensors, inputs, [info("y", ["N", 3, 8])], opset=13)
    put("shapes.onnx", m.SerializeToString(),
        "opset 13\n"
        + tensor_text("scalar", "float32", [], [2.5]) + tensor_text("empty", "float32", [0, 4], [])
        + tensor_text("große Matrix", "int8", [2, 1, 2], [1, -2, 3, -4])
        + "input a float32 [?, 3, ?]\ninput b float64 []\ninput c bfloat16\ninput d bool [1]\n"
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
    """Every type of attribute that is read, other domains, omitted inputs and outputs."""
    t = helper.make_tensor("", TensorProto.FLOAT16, [2], np.array([0.25, -3], np.float16))
    odd = helper.make_node("Odd", ["x", "", "x"], ["h", ""], name="one", domain="org.example",
                           alpha=0.1, axis=-3, mode="edge", value=t, pads=[0, 1, -1, 2**62],
                           scales=[0.5, -0.0, 1e-45])
    zero = helper.make_node("Odd", [], ["z"])
    for name, kind in (("f", AttributeProto.FLOAT), ("i", AttributeProto.INT),
                       ("s", AttributeProto.STRING), ("l", AttributeProto.INTS)):
        zero.attribute.append(AttributeProto(name=name, type=kind))
    bare = helper.make_node("Odd", ["h"], ["y"])
    m = model([odd, zero, bare], [], [info("x", [2])], [info("y", [2])], extra=["org.example"])
    tenth, tiny = float(np.float32(0.1)), float(np.float32(1e-45))
    put("attributes.onnx", m.SerializeToString(),
        "opset 17\ninput x float32 [2]\noutput y float32 [2]\n"
        "node Odd domain=org.example name=one in=x,,x out=h,\n"
        f" alpha float {bits(tenth)}\n axis int -3\n mode string edge\n"
        f" pads ints 0 1 -1 {2**62}\n scales floats {bits(0.5)} {bits(-0.0)} {bits(tiny)}\n"
        " value " + tensor_text("value", "float16", [2], [0.25, -3]) +
        "node Odd domain= name= in= out=z\n"
        f" f float {bits(0.0)}\n i int 0\n s string \n l ints\n"
        "node Odd domain= name= in=h out=y\n")


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


def onnx_external():
    """Weights in a file beside the model, as onnx.save_model puts them there."""
    w = numpy_helper.from_array(np.arange(6, dtype=np.float32).reshape(2, 3) / 4, "w")
    b = numpy_helper.from_array(np.array([-1.5, 2.25], np.float64), "b")
    small = numpy_helper.from_array(np.array([7], np.int64), "small")
    nodes, inputs, outputs, head = identity()
    m = model(nodes, [w, b, small], inputs, outputs)
    text = "opset 17\n" + "".join(
        array_text(t.name, numpy_helper.to_array(t)) for t in (w, b, small)) + head
    (OUT / "external.onnx.data").unlink(missing_ok=True)
    onnx.save_model(m, str(OUT / "external.onnx"), save_as_external_data=True,
                    location="external.onnx.data", size_threshold=10)
    (OUT / "external.onnx.expected").write_text(text)


def onnx_seed():
    """The fuzz target's model with data in the file it has beside it: "w", of 64 bytes."""
    tensors = [TensorProto(name="all", data_type=TensorProto.FLOAT, dims=[4, 4]),
               TensorProto(name="some", data_type=TensorProto.FLOAT16, dims=[3])]
    for t, entries in zip(tensors, ({"location": "w"}, {"location": "w", "offset": "2",
                                                        "length": "6"})):
        t.data_location = TensorProto.EXTERNAL
        for key, value in entries.items():
            t.external_data.add(key=key, value=value)
    nodes, inputs, outputs, _ = identity()
    (SEEDS / "onnx/external.onnx").write_bytes(
        model(nodes, tensors, inputs, outputs).SerializeToString())


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


# --- checkpoints -------------------------------------------------------------------------------

def saved(state, **options):
    buffer = io.BytesIO()
    torch.save(state, buffer, **options)
    return buffer.getvalue()


def rezipped(data, change, method=zipfile.ZIP_STORED):
    """The archive with change(name, bytes) in place of each member's bytes (None: left out)."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w", method) as new:
        for name in old.namelist():
            kept = change(name.split("/", 1)[1], old.read(name))
            if kept is not None:
                member = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
                new.writestr(member, kept, method)
    return buffer.getvalue()


def state_text(state):
    """What a reader must make of a state dict; bfloat16 goes by way of float32."""
    text = ""
    for name in sorted(state, key=str.encode):
        t = state[name].detach()
        dtype = str(t.dtype).removeprefix("torch.")
        values = (t.float() if dtype == "bfloat16" else t).numpy().flatten(order="C")
        text += tensor_text(name, dtype, t.shape, values)
    return text


def pt_dtypes():
    kinds = [n for n in NAMES.values() if n not in ("uint16", "uint32", "uint64")]
    state = {}
    for name in kinds:
        code = next(c for c in NAMES if NAMES[c] == name)
        raw = bytearray(raw_bytes(code, values_of(code)[0]))
        state[name] = torch.frombuffer(raw, dtype=getattr(torch, name)).clone()
    put("dtypes.pt", saved(state), state_text(state))
    widths = {str(k): t.element_size() for k, t in enumerate(state.values())}

    def to_big(name, data):
        if name == "byteorder":
            return b"big"
        if not name.startswith("data/"):
            return data
        width = widths[name.removeprefix("data/")]
        return b"".join(data[i:i + width][::-1] for i in range(0, len(data), width))

    put("big.pt", rezipped(saved(state), to_big), state_text(state))
    put("legacy-dtypes.pt", legacy(state), state_text(state))


def pt_views():
    """Views that are not contiguous, begin inside their storage, share it, or repeat it."""
    grid = torch.arange(24, dtype=torch.float32).reshape(2, 3, 4) / 8
    half = torch.arange(12, dtype=torch.float16).reshape(3, 4) - 5.5
    tied = torch.nn.Parameter(torch.linspace(-1, 1, 6).reshape(2, 3))
    state = {"whole": grid, "transposed": grid.permute(2, 0, 1), "slice": grid[1, 1:, ::2],
             "column": grid[..., 3], "one": grid[1, 2, 3], "none": grid[:, 3:, :],
             "diagonal": half.diagonal(), "half.t": half.t(), "tied.a": tied, "tied.b": tied,
             "expanded": torch.tensor(0.1, dtype=torch.float64).expand(3, 1, 2),
             "ones": torch.ones(5, dtype=torch.bfloat16).as_strided((1, 2, 1), (99, 3, 77), 1),
             "empty": torch.zeros(0, 4), "scalar": torch.tensor(-7), "été/∂": torch.ones(1)}
    data = saved(state)
    put("views.pt", data, state_text(state))
    put("deflated.pt", rezipped(data, lambda _, b: b, zipfile.ZIP_DEFLATED), state_text(state))
    keep = ("data.pkl", "version")
    put("old.pt", rezipped(data, lambda n, b: b if n in keep or n[:5] == "data/" else None),
        state_text(state))
    put("legacy.pt", legacy(state), state_text(state))


def trained():
    net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 1))
    rng = np.random.default_rng(2)
    for p in net.parameters():
        p.data = torch.tensor(rng.integers(-64, 64, p.shape) / 32, dtype=torch.float32)
    optimizer = torch.optim.Adam(net.parameters())
    net(torch.ones(4, 3)).sum().backward()
    optimizer.step()
    return net, optimizer


def pt_checkpoints():
    net, optimizer = trained()
    state = net.state_dict()
    put("module.pt", saved(state), state_text(state))
    put("checkpoint.pt",
        saved({"epoch": 3, "model_state_dict": state, "optimizer": optimizer.state_dict(),
               "loss": 0.5, "rates": [1e-3, 1e-4], "big": 2**70, "small": -5, "far": -2**40,
               "done": None, "shuffled": True, "at": (1, 2, 3, 4), "best": torch.tensor(0.9)}),
        state_text(state))
    put("legacy-checkpoint.pt", legacy({"epoch": 3, "model": state, "optimizer": optimizer.state_dict(), "big": 2**70}), state_text(state))
    many = collections.OrderedDict((f"layer.{i}", torch.tensor([i / 2])) for i in range(50))
    put("many.pt", saved({"model": many}), state_text(many))


class Branched(torch.nn.Module):
    """A module used twice, a tied weight, a buffer, and attributes that no state dict has."""

    def __init__(self):
        super().__init__()
        self.first, self.rates, self.kind = torch.nn.Linear(3, 3), [0.5, 1.0], "plain"
        self.inner = torch.nn.Sequential(torch.nn.Conv1d(1, 2, 2, padding=1), torch.nn.BatchNorm1d(2))
        self.again = self.inner
        self.tied = torch.nn.Linear(3, 3)
        self.tied.weight = self.first.weight
        self.register_buffer("seen", torch.arange(3))

    def forward(self, x):
        return self.again(self.inner(self.tied(self.first(x)))[:, :1])


def pt_scripts():
    torch.manual_seed(5)
    net = Branched().eval()
    state = net.state_dict()
    for name, made in (("script.pt", torch.jit.script(net)), ("traced.pt", torch.jit.trace(net, torch.ones(1, 1, 3)))):
        to = io.BytesIO()
        torch.jit.save(made, to)
        put(name, to.getvalue(), state_text(state))


def legacy(value):
    """As torch.save wrote before 1.6."""
    return saved(value, _use_new_zipfile_serialization=False)


class Command:
    def __reduce__(self):
        import os
        return os.system, ("echo this must never run",)


def refuse(name, data, says):
    (REFUSED / name).write_bytes(data)
    (REFUSED / (name + ".says")).write_text(says)


def foreign():
    """Files of other programs under the name of a model: what each is, and what to do."""
    net, _ = trained()
    script, arrays, keras = io.BytesIO(), io.BytesIO(), io.BytesIO()
    torch.jit.save(torch.jit.script(net), script)
    np.savez(arrays, x=np.zeros(2))
    with zipfile.ZipFile(keras, "w") as z:
        z.writestr("metadata.json", "{}")
    refuse("state.onnx", saved(net.state_dict()), "a checkpoint of PyTorch's, which has no graph")
    refuse("legacy.onnx", legacy(net.state_dict()), "a checkpoint of PyTorch's, which has no graph")
    refuse("script.onnx", script.getvalue(), "a checkpoint of PyTorch's, which has no graph")
    refuse("arrays.onnx", arrays.getvalue(), "as numpy.savez writes it")
    refuse("keras.onnx", keras.getvalue(), "audit --like keras FILE")
    refuse("tensors.onnx", safetensors.torch.save(net.state_dict()), "a safetensors file, which has no graph")
    refuse("lite.onnx", b"\x1c\0\0\0TFL3" + bytes(40), "a TensorFlow Lite model|tf2onnx")
    refuse("hdf.onnx", b"\x89HDF\r\n\x1a\n" + bytes(40), "an HDF5 file, as Keras writes them")
    refuse("short.onnx", b"\x1c\0\0\0TFL", "not an ONNX model: ")
    refuse("named.onnx", b"PK\3\4" + bytes(22) + b"\xff\xff", "not an ONNX model: ")


def pt_refused():
    net, optimizer = trained()
    state = net.state_dict()
    sound = saved(state)
    refuse("command.pt", saved({"w": Command()}), "archive/data.pkl|byte 13|posix.system|no code")
    refuse("beside.pt", saved({"state_dict": state, "then": Command()}), "refers to posix.system")
    refuse("whole-module.pt", saved(net), "refers to torch.nn.modules.container.Sequential")
    refuse("set.pt", saved({"model": state, "seen": {1, 2}}), "refers to __builtin__.set")
    refuse("numpy.pt", saved({"model": state, "loss": np.float64(0.5)}), "refers to numpy.")
    refuse("complex.pt", saved({"c": torch.zeros(2, dtype=torch.complex64)}),
           "refers to torch.ComplexFloatStorage")
    refuse("float8.pt", saved({"c": torch.zeros(2, dtype=torch.float8_e5m2)}),
           "refers to torch._utils._rebuild_tensor_v3")
    refuse("sparse.pt", saved({"s": torch.eye(2).to_sparse()}),
           "refers to torch._utils._rebuild_sparse_tensor")
    pt_legacy_refused()
    refuse("protocol4.pt", saved(state, pickle_protocol=4), "pickle protocol 4; protocol 2")
    refuse("tensor.pt", saved(torch.zeros(2)), "holds no dictionary; expected a state dict")
    refuse("optimizer.pt", saved(optimizer.state_dict()), "entry \"state\" is no tensor")
    refuse("two.pt", saved({"model": state, "state_dict": state}), "several state dicts")
    refuse("nan.pt", saved({"a": torch.ones(3), "b": torch.tensor([[0, 1], [float("nan"), 1]])}),
           "tensor b|entry 2 is NaN")
    refuse("infinite.pt", saved({"b": torch.tensor([1, float("inf")], dtype=torch.bfloat16)}),
           "tensor b|entry 1 is infinite")
    refuse("negative.pt", saved({"n": torch._neg_view(torch.ones(2))}), "negative view")
    refuse("rank.pt", saved({"n": torch.ones((1,) * 9)}), "a tensor of 9 dimensions; at most 8")
    refuse("shared.pt", saved({str(k): torch.zeros(1).expand(10000) for k in range(9)}),
           "more than 16 times")
    refuse("no-storage.pt", rezipped(sound, lambda n, b: None if n == "data/2" else b),
           "tensor \"1.weight\"|storage \"archive/data/2\" is missing")
    refuse("short-storage.pt", rezipped(sound, lambda n, b: b[:-1] if n == "data/2" else b),
           "tensor \"1.weight\"|\"archive/data/2\" has 7 bytes; expected 2 entries of float32")
    refuse("middle.pt", rezipped(sound, lambda n, b: b"middle" if n == "byteorder" else b),
           "\"archive/byteorder\" is neither")
    refuse("version.pt", rezipped(sound, lambda n, b: b"11\n" if n == "version" else b),
           "version 11|1 to 10")
    refuse("no-version.pt", rezipped(sound, lambda n, b: None if n == "version" else b),
           "archive/version")
    refuse("no-pickle.pt", rezipped(sound, lambda n, b: None if n == "data.pkl" else b),
           "archive/data.pkl")
    bomb = rezipped(sound, lambda n, b: b[:2] + b"]" * 10**6 if n == "data.pkl" else b,
                    zipfile.ZIP_DEFLATED)
    refuse("bomb.pt", bomb, "archive/data.pkl|the pickle ends without saying so")
    buffer = io.BytesIO()
    np.savez(buffer, w=np.ones(2))
    refuse("arrays.pt", buffer.getvalue(), "\"w.npy\" lies in no folder")


def pt_legacy_refused():
    one = legacy({"w": torch.ones(3), "b": torch.zeros(2, dtype=torch.float64)})
    keys = one.index(b"]q\x00(X")  # the list of the storages' keys
    first = one[keys + 5:][4:].split(b"q", 1)[0]
    for name, data, says in [
            ("pickle", one[:100], "the pickle of the system|runs past the end"),
            ("version", one.replace(b"\x80\x02M\xe9\x03.", b"\x80\x02M\xea\x03.", 1), "another version than 1001"),
            ("order", one.replace(b"little_endianq\x02\x88", b"little_endianq\x02\x89", 1), "little-endian machines"),
            ("unsaid", one.replace(b"little_endian", b"middle_endian", 1), "little-endian machines"),
            ("cut", one[:-1], "the file ends inside storage"),
            ("none", one[:one.index(b"e.", keys) + 2], "the file ends before storage '" + first.decode() + "'"),
            ("more", one + b"\0", "1 bytes follow the last storage"),
            ("other", one[:keys] + one[keys:].replace(first, b"9" * len(first), 1), "is of no tensor"),
            ("code", legacy({"w": Command()}), "the pickle of what was saved|posix.system|no code"),
            ("long", one.replace(struct.pack("<q", 3) + struct.pack("<f", 1), struct.pack("<q", -3) + struct.pack("<f", 1)),
             "entries")]:
        assert data != one, name
        refuse(f"legacy-{name}.pt", data, says)


def pt_seeds():
    """The fuzz target's: whole files, and pickles over storages of 64 bytes."""
    for path in sorted(OUT.glob("*.pt")) + [REFUSED / "command.pt"]:
        if path.stat().st_size < 20000:
            shutil.copy(path, SEEDS / "pt" / path.name)
    grid = torch.arange(16, dtype=torch.float32).reshape(4, 4)
    words = torch.zeros(32, dtype=torch.bfloat16)
    states = {"plain": {"a": grid, "b": torch.ones(8, dtype=torch.float64)},
              "views": {"t": grid.t(), "s": grid[1:, ::2], "w": words[5:], "e": words[:0],
                        "p": torch.nn.Parameter(torch.zeros(32, dtype=torch.float16))},
              "checkpoint": {"model": {"i": torch.zeros(8, dtype=torch.int64)}, "epoch": 2**70,
                             "other": [1, -1, 300, 70000, None, True, (1,), (1, 2), 0.5, {}]}}
    for name, state in states.items():
        with zipfile.ZipFile(io.BytesIO(saved(state))) as archive:
            (SEEDS / "pt" / (name + ".pkl")).write_bytes(archive.read("archive/data.pkl"))


OUT.mkdir(exist_ok=True)
REFUSED.mkdir(exist_ok=True)
torch.manual_seed(0)
onnx_dtypes()
onnx_shapes()
onnx_ir3()
onnx_attributes()
onnx_torch()
onnx_external()
safetensors_all()
numpy_all()
pt_dtypes()
pt_views()
pt_checkpoints()
pt_scripts()
pt_refused()
foreign()
if SEEDS is not None:
    (SEEDS / "pt").mkdir(exist_ok=True)
    pt_seeds()
    onnx_seed()
