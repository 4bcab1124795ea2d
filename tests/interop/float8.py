"""Floats of 8 bits: both programs read them, and round to them, as ml_dtypes, ONNX's helper and its reference evaluator do.

Usage: python tests/interop/float8.py --build build

Of each of the four types

* all 256 codes, as raw bytes and in the typed field, go through Cast and through DequantizeLinear, whose scale is 1: each number is that
  of ml_dtypes and of ONNX's helper, to the last bit. A code of infinity or of no number is refused, by both programs, which name the tensor;
* QuantizeLinear rounds the middle of every two neighbours, the numbers themselves, what is just beside these, and what is beyond the largest, as
  the reference evaluator does; so does Cast of constants;
* a network with stored weights and rounded activations has PyTorch's gradient, with a surrogate of each rule, and `clarke-check` verifies the
  proof. Without a surrogate a quotient in the middle is a jump, which is told;
* what ONNX has not is refused by both: a zero point that is not 0, saturate 0, arithmetic, inputs and activations that become such floats.
"""

import argparse
import subprocess
import tempfile
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from safetensors.torch import load_file

from quantized import unlike_gradients
from readings import Programs, number

KINDS = {"FLOAT8E4M3FN": ml_dtypes.float8_e4m3fn, "FLOAT8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz, "FLOAT8E5M2": ml_dtypes.float8_e5m2,
         "FLOAT8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz}
failed = 0


def expect(holds, message):
    global failed
    failed += not holds
    if not holds:
        print(f"FAILED: {message}")


def codes_of(kind):
    """(numbers by code, those that are finite)"""
    numbers = np.arange(256, dtype=np.uint8).view(KINDS[kind]).astype(np.float64)
    return numbers, np.isfinite(numbers)


def stored(name, kind, codes, typed=False):
    code = getattr(TensorProto, kind)
    if typed:
        return TensorProto(name=name, data_type=code, dims=[len(codes)], int32_data=[int(c) for c in codes])
    return TensorProto(name=name, data_type=code, dims=[len(codes)], raw_data=bytes(int(c) for c in codes))


def constant(tensor):
    return helper.make_node("Constant", [], [tensor.name], value=tensor)


def array(name, values):
    return numpy_helper.from_array(np.asarray(values), name)


def model(nodes, tensors=(), shape=(None, 1), out="network_y", kind=TensorProto.FLOAT):
    """The nodes beside a network that does not read them; or with `out` one of theirs."""
    beside = [helper.make_node("Relu", ["x"], ["network_y"])] if out == "network_y" else []
    graph = helper.make_graph([*nodes, *beside], "g", [helper.make_tensor_value_info("x", kind, shape)],
                              [helper.make_tensor_value_info(out, TensorProto.FLOAT, None)], list(tensors))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


class Asked:
    def __init__(self, build, folder):
        self.programs, self.build, self.folder = Programs(build), Path(build), Path(folder)

    def read(self, made, x=np.ones((1, 1), np.float32)):
        onnx.save(made, self.folder / "m.onnx")
        np.savez(self.folder / "m.npz", x=x)
        return self.programs.read([(self.folder / "m.onnx", self.folder / "m.npz")])[0]

    def has(self, made, name, wanted, what, x=np.ones((1, 1), np.float32)):
        for program, values in self.read(made, x).items():
            own = np.array([number(w) for w in values[name][1]]) if not isinstance(values, str) and name in values else values
            expect(isinstance(own, np.ndarray) and np.array_equal(own, np.asarray(wanted, np.float64).reshape(-1)), f"{what}: {program}: {own}")

    def refuses(self, made, what, says="", x=np.ones((1, 1), np.float32)):
        for program, values in self.read(made, x).items():
            expect(isinstance(values, str) and (program == "checker" or says in values), f"{what}: {program}: {values}")


def all_codes(asked, kind):
    numbers, finite = codes_of(kind)
    codes = np.flatnonzero(finite)
    helped = numpy_helper.to_array(stored("w", kind, codes)).astype(np.float64)
    expect(np.array_equal(helped, numbers[codes]), f"{kind}: ONNX's helper and ml_dtypes differ")
    one, cast = array("one", np.float32(1)), helper.make_node("Cast", ["w"], ["y"], to=TensorProto.FLOAT)
    dequantize = helper.make_node("DequantizeLinear", ["w", "one"], ["y"])
    for typed in False, True:
        w = stored("w", kind, codes, typed)
        asked.has(model([constant(w), cast]), "y", numbers[codes], f"{kind} {typed}: Cast")
        asked.has(model([constant(w), constant(one), dequantize]), "y", numbers[codes], f"{kind} {typed}: DequantizeLinear")
        asked.has(model([dequantize, helper.make_node("Mul", ["x", "y"], ["z"])], [w, one], (None, len(codes)), "z"), "z", numbers[codes],
                  f"{kind} {typed}: stored", np.ones((1, len(codes)), np.float32))
    for code in np.flatnonzero(~finite):
        for made in (model([constant(stored("w", kind, [code])), cast]),
                     model([dequantize, helper.make_node("Mul", ["x", "y"], ["z"])], [stored("w", kind, [code]), one], out="z")):
            asked.refuses(made, f"{kind}: code {code}", "entry 0 is NaN; it must be finite" if np.isnan(numbers[code]) else "entry 0 is infinite")


def places(kind):
    """Numbers, middles, and what lies just beside these and beyond the largest."""
    grid = np.unique(codes_of(kind)[0][codes_of(kind)[1]])
    middles = (grid[1:] + grid[:-1]) / 2
    beside = [np.nextafter(middles.astype(np.float32), np.float32(s)).astype(np.float64) for s in (-1e9, 1e9)]
    return np.concatenate([grid, middles, *beside, grid[-1] * np.array([-9, -1.04, 1.02, 1.04, 1.2, 1000])]).astype(np.float32)


def rounding(asked, kind):
    code, x = getattr(TensorProto, kind), places(kind)
    for scale in 1.0, 0.25:
        tensors = [array("scale", np.float32(scale)), stored("zero", kind, [0])]
        tensors[1].ClearField("dims")
        nodes = [helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"]), helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["y"])]
        made = model(nodes, tensors, (None, len(x)), "y")
        now = (x * np.float32(scale))[None]
        wanted = ReferenceEvaluator(made).run(None, {"x": now})[0]
        expect(np.isfinite(wanted).all(), f"{kind}: the reference has no numbers")
        asked.has(made, "y", wanted, f"{kind}: QuantizeLinear by {scale}", now)
        nodes = [helper.make_node("QuantizeLinear", ["x", "scale"], ["q"], output_dtype=code), helper.make_node("Cast", ["q"], ["z"], to=TensorProto.FLOAT)]
        asked.has(model(nodes, tensors[:1], (None, len(x)), "z"), "z", wanted / scale, f"{kind}: output_dtype", now)
    cast = [constant(array("w", x)), helper.make_node("Cast", ["w"], ["q"], to=code), helper.make_node("Cast", ["q"], ["y"], to=TensorProto.FLOAT)]
    asked.has(model(cast), "y", ReferenceEvaluator(model([*cast, helper.make_node("Identity", ["y"], ["z"])], out="z")).run(None, {"x": x[:1, None]})[0],
              f"{kind}: Cast to it")
    cast[1] = helper.make_node("Cast", ["w"], ["q"], to=code, saturate=0)
    asked.refuses(model(cast), f"{kind}: Cast, saturate 0", "becomes no number")


class Rounded(torch.autograd.Function):
    """Rounded to the type; a gradient passes everywhere, in the range, or where the rounded number is in it if there were larger ones."""

    @staticmethod
    def forward(ctx, u, kind, rule):
        grid = np.unique(codes_of(kind)[0][codes_of(kind)[1]])
        half = (grid[-1] - grid[-2]) / 2
        ends = {"all": np.inf, "range": grid[-1], "rounded": grid[-1] + half}[rule]
        even = kind == "FLOAT8E4M3FN"
        ctx.save_for_backward(u.abs() <= ends if rule != "rounded" or even else u.abs() < ends)
        cut = np.clip(u.detach().numpy(), grid[0], grid[-1])
        return torch.from_numpy(cut.astype(KINDS[kind]).astype(np.float64))

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.saved_tensors[0], None, None


def audit(asked, *options):
    command = [asked.build / "tools/clarke", "audit", asked.folder / "m.onnx", "--batch", asked.folder / "m.npz", "--loss", "sum", *options]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)


def network(asked, kind, rng):
    """x v, rounded to the type, times stored weights."""
    numbers, finite = codes_of(kind)
    codes = rng.choice(np.flatnonzero(finite & (np.abs(numbers) <= 8)), 12)
    w = stored("w", kind, codes)
    w.dims[:] = [4, 3]
    zero = stored("zero", kind, [0])
    zero.ClearField("dims")
    most = numbers[finite].max()
    v = (rng.integers(-16, 17, (2, 4)) / 8 + 1 / 64).astype(np.float32)
    half = (most - np.unique(numbers[finite])[-2]) / 2
    ends = np.array([[most, 0], [most + half, 0], [most + half / 2, 0], [2 * most, 0], [-most - half, 0], [-most, 0]])
    v[0, 0], v[1, 0] = 1, 0
    x = np.concatenate([rng.integers(-40, 41, (3, 2)) / 16, ends]).astype(np.float32)
    tensors = [array("v", v), w, array("scale", np.float32(0.5)), array("step", np.float32(1)), zero]
    nodes = [helper.make_node("MatMul", ["x", "v"], ["h"]), helper.make_node("QuantizeLinear", ["h", "step", "zero"], ["q"]),
             helper.make_node("DequantizeLinear", ["q", "step", "zero"], ["r"]), helper.make_node("DequantizeLinear", ["w", "scale"], ["f"]),
             helper.make_node("MatMul", ["r", "f"], ["y"])]
    made = model(nodes, tensors, (None, 2), "y")
    onnx.save(made, asked.folder / "m.onnx")
    np.savez(asked.folder / "m.npz", x=x)
    asked.has(made, "y", ReferenceEvaluator(made).run(None, {"x": x})[0], f"{kind}: network", x)
    done = audit(asked)
    expect(done.returncode in (2, 3) and "jump" in done.stdout + done.stderr, f"{kind}: in the middle: {done.returncode} {done.stdout} {done.stderr}")
    for rule in "all", "range", "rounded":
        (asked.folder / "p.profile").write_text(f"like pytorch-2.13\nsurrogate QuantizeLinear {rule}\n")
        done = audit(asked, "--profile", asked.folder / "p.profile", "--gradient", asked.folder / "g.safetensors", "--proof", asked.folder / "m.proof")
        expect(done.returncode in (0, 1), f"{kind} {rule}: {done.returncode} {done.stdout} {done.stderr}")
        if done.returncode not in (0, 1):
            continue
        checked = subprocess.run([asked.build / "tools/clarke-check", asked.folder / "m.proof", "--data", asked.folder], capture_output=True, text=True,
                                 check=False)
        expect(checked.returncode == 0, f"{kind} {rule}: {checked.stdout} {checked.stderr}")
        of = {"v": torch.from_numpy(v.astype(np.float64)).requires_grad_(), "f": torch.from_numpy(numbers[codes].reshape(4, 3) / 2).requires_grad_()}
        (Rounded.apply(torch.from_numpy(x.astype(np.float64)) @ of["v"], kind, rule) @ of["f"]).sum().backward()
        own = load_file(asked.folder / "g.safetensors")
        expect(set(own) == set(of), f"{kind} {rule}: the gradient has {sorted(own)}")
        for why in unlike_gradients(own, {k: t.grad for k, t in of.items()}):
            expect(False, f"{kind} {rule}: {why}")


def refusals(asked, kind):
    code = getattr(TensorProto, kind)
    scale, zero = array("scale", np.float32(1)), stored("zero", kind, [0x38])
    quantize = lambda **more: helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"], **more)
    back = helper.make_node("DequantizeLinear", ["q", "scale"], ["y"])
    asked.refuses(model([quantize(), back], [scale, zero], out="y"), f"{kind}: a zero point", "is not 0")
    none = stored("zero", kind, [0])
    asked.refuses(model([quantize(saturate=0), back], [scale, none], out="y"), f"{kind}: saturate 0", "saturate is 0")
    asked.refuses(model([quantize(), helper.make_node("Relu", ["q"], ["r"]), helper.make_node("Cast", ["r"], ["y"], to=1)], [scale, none], out="y"),
                  f"{kind}: Relu", "ONNX wants no floats of 8 bits there")
    asked.refuses(model([quantize(), helper.make_node("Cast", ["q"], ["i"], to=7), helper.make_node("Cast", ["i"], ["y"], to=1)], [scale, none], out="y"),
                  f"{kind}: to integers", "larger floats alone")
    asked.refuses(model([helper.make_node("Cast", ["x"], ["c"], to=code), helper.make_node("Cast", ["c"], ["y"], to=1)], out="y"), f"{kind}: an activation",
                  "or by QuantizeLinear")
    asked.refuses(model([helper.make_node("Cast", ["x"], ["y"], to=1)], out="y", kind=code), f"{kind}: an input", "is not supported")
    w = stored("w", kind, [0x38])
    asked.refuses(model([helper.make_node("Add", ["w", "w"], ["a"]), helper.make_node("Cast", ["a"], ["f"], to=1), helper.make_node("Mul", ["x", "f"], ["y"])],
                        [w], out="y"), f"{kind}: a sum", "ONNX wants no floats of 8 bits there")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build")
    build = parser.parse_args().build
    with tempfile.TemporaryDirectory() as folder:
        asked, rng = Asked(build, folder), np.random.default_rng(1)
        for kind in KINDS:
            all_codes(asked, kind)
            rounding(asked, kind)
            network(asked, kind, rng)
            refusals(asked, kind)
    print(f"{failed} failed")
    raise SystemExit(failed > 0)


main()
