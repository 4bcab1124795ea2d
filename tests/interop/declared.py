"""Element types that do not fit, and declarations that contradict what is computed: both programs refuse them, as others do.

Usage: python tests/interop/declared.py --build build [--number 60] [--seed 1]

* Each operator of ONNX in each of its forms, one node: with inputs of the types that its schema names, with one of another type,
  and with an output declared as another. ONNX's checker (shape inference, strict) and ONNX Runtime say what is refused.
* Models drawn as in drawn_readings.py, whose every value is known: with all of them declared as they are nothing changes; where
  one is declared with another type or shape both programs refuse the model, and say which.

All files have the recorder's name for their producer's: what is let pass in a run folder is not let pass for a name.
"""

import argparse
import random
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, defs, helper, shape_inference

from drawing import session_of
from drawn_readings import batch_of, draw, model_of
from readings import Programs
from report import Report

TYPES = {"tensor(float)": TensorProto.FLOAT, "tensor(double)": TensorProto.DOUBLE, "tensor(int64)": TensorProto.INT64,
         "tensor(int32)": TensorProto.INT32, "tensor(bool)": TensorProto.BOOL, "tensor(float16)": TensorProto.FLOAT16}
OURS = ("ONNX wants", "does not allow there", "is declared as", "have the shape that is declared", "is declared with shape")
ATTRIBUTES = {"Cast": {"to": TensorProto.DOUBLE}, "Concat": {"axis": 0}, "Einsum": {"equation": "a,a->a"}}


def forms():
    """The operators that the programs know, each from each operator set on in which ONNX changed it."""
    known = {"ConstantOfShape", "NegativeLogLikelihoodLoss"} | set(Path(__file__).with_name("drawn_nodes.py").read_text().replace('"', " ").replace("'", " ").split())
    for op in sorted({s.name for s in defs.get_all_schemas() if s.domain == ""} & known):
        seen = None
        for opset in range(7, 26):
            if defs.has(op, opset, "") and (form := defs.get_schema(op, opset, "")).since_version != seen and not form.deprecated:
                seen = form.since_version
                yield op, opset, form


def allowed(form, parameter):
    """The types of an operand, those that are no tensors of numbers left out, and the name that several share."""
    for c in form.type_constraints:
        if c.type_param_str == parameter.type_str:
            return [t for t in c.allowed_type_strs if t in TYPES], c.type_param_str
    return [parameter.type_str], parameter.type_str


def operands(form):
    """[(letter, types)] of the inputs; of one that may be many, two."""
    found = []
    for p in form.inputs:
        types, letter = allowed(form, p)
        found += [(letter, types)] * (2 if p.option == defs.OpSchema.FormalParameterOption.Variadic else 1)
    return found


def consistent(found):
    """A type for each input: float where it may be."""
    return [next((t for t in ("tensor(float)", "tensor(int64)", *types) if t in types), None) for _, types in found]


def one_node(op, opset, types, output):
    attributes = ATTRIBUTES.get(op, {})
    node = helper.make_node(op, [f"i{k}" for k in range(len(types))], ["o"], name="one", **attributes)
    inputs = [helper.make_tensor_value_info(f"i{k}", TYPES[t], None) for k, t in enumerate(types)]
    made = onnx.ValueInfoProto(name="o")
    made.type.tensor_type.elem_type = output or TensorProto.FLOAT
    graph = helper.make_graph([node], "g", inputs, [made])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8, producer_name="clarke.record")


def complains(model):
    """Is ONNX's shape inference, or ONNX Runtime, against the types?"""
    said = []
    try:
        shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    except Exception as e:
        said.append(str(e))
    try:
        session_of(model)
    except Exception as e:
        said.append(str(e))
    marks = ("inconsistent type", "unsupported type", "Type Error", "bound to different types", "differs from existing elem type",
             "is invalid", "typestr")
    return any(mark in s for s in said for mark in marks), said


def output_of(op, types):
    """What one node makes of such inputs, by ONNX's inference; None when it cannot tell."""
    model = one_node(op, types[0], types[1], TensorProto.FLOAT)
    model.graph.output[0].type.tensor_type.ClearField("elem_type")
    try:
        out = shape_inference.infer_shapes(model).graph.output[0].type.tensor_type.elem_type
    except Exception:
        return None
    return out or None


def variants(op, opset, form):
    """(what, model, is it wrong?)"""
    found = operands(form)
    types = consistent(found)
    if None in types:
        return
    out = output_of(op, (opset, types))
    if out is None:
        return
    yield "as it is", one_node(op, opset, types, out), False
    yield "its output declared otherwise", one_node(op, opset, types, TensorProto.DOUBLE if out != TensorProto.DOUBLE else
                                                    TensorProto.FLOAT), True
    for k, (letter, may) in enumerate(found):
        others = [t for t in TYPES if t != types[k]]
        for t in others:
            bound = sum(l == letter for l, _ in found) > 1
            wrong = bound or t not in may
            if wrong and (t in ("tensor(double)", "tensor(int64)", "tensor(float)")):
                yield f"input {k} {t}", one_node(op, opset, [*types[:k], t, *types[k + 1:]], out), True


def ask(programs, folder, models, batches):
    pairs = []
    for i, (m, x) in enumerate(zip(models, batches)):
        pairs.append((folder / f"{i}.onnx", folder / f"{i}.npy"))
        onnx.save(m, pairs[-1][0])
        np.save(pairs[-1][1], x)
    return programs.read(pairs)


def by_type(answer):
    return {p: isinstance(a, str) and any(o in a for o in OURS) for p, a in answer.items()}


def check_operators(programs, folder, report):
    said = Counter()
    for op, opset, form in forms():
        all_ = list(variants(op, opset, form))
        answers = ask(programs, folder, [m for _, m, _ in all_], [np.zeros((1, 1), np.float32)] * len(all_))
        wrong = []
        for (what, model, bad), answer in zip(all_, answers):
            ours, (theirs, why) = by_type(answer), complains(model)
            said["refused by all" if theirs else "refused by none"] += theirs == bad and set(ours.values()) == {bad}
            if set(ours.values()) != {bad}:
                wrong.append(f"{what}: {ours}, others {theirs}: {list(answer.values())}")
            if theirs != bad:
                said["not what the schema says, by others"] += 1
        report.check(not wrong, f"{op} of operator set {opset}: {len(all_)} variants", "; ".join(wrong[:2]))
    print(", ".join(f"{n} {what}" for what, n in sorted(said.items())))


def declare(model, d, names, change=None, rng=None):
    """All values of the names declared as they are; the one called `change` with another type, or another shape."""
    for name in names:
        value = np.asarray(d.value[name][0][0])
        kind, dims = helper.np_dtype_to_tensor_dtype(value.dtype), list(value.shape)
        if name == change:
            fixed = d.kind != "whole" or model.graph.input[0].type.tensor_type.shape.dim[0].dim_value > 0
            way = rng.choice(["type", "rank", "longer"] if fixed and dims else ["type", "rank"])  # else it may be the batch's
            if way == "type":
                kind = TensorProto.DOUBLE if kind != TensorProto.DOUBLE else TensorProto.FLOAT
            elif way == "rank":
                dims = [*dims, 1] if len(dims) < 8 else dims[1:]  # of more than 8 axes nothing is read
            else:
                a = rng.randrange(len(dims))
                dims[a] += 1
        model.graph.value_info.append(helper.make_tensor_value_info(name, kind, dims))
    return model


def check_drawn(programs, folder, report, number, seed):
    read = refused = 0
    for k in range(number):
        d = draw(seed * 10**9 + k)
        rng = random.Random(k)
        names = [o for n in d.nodes for o in n.output if o != d.now] + [t.name for t in d.initializers]
        plain = model_of(d, [d.now])
        plain.producer_name = "clarke.record"
        if d.kind == "whole" and rng.random() < 0.7:
            plain.graph.input[0].type.tensor_type.shape.dim[0].dim_value = d.rows
        models = [plain, declare(onnx.ModelProto.FromString(plain.SerializeToString()), d, names)]
        changed = rng.sample(names, min(3, len(names)))
        models += [declare(onnx.ModelProto.FromString(plain.SerializeToString()), d, names, c, rng) for c in changed]
        alone, true, *false = ask(programs, folder, models, [batch_of(d)] * len(models))
        wrong = []
        if any(isinstance(a, str) for a in alone.values()):
            continue
        read += 1
        if true != alone:
            wrong.append(f"with all values declared as they are: {[a for a in true.values() if isinstance(a, str)]}")
        for c, answer in zip(changed, false):
            for program, a in answer.items():
                hidden = isinstance(alone[program], dict) and c not in alone[program] and c not in {t.name for t in d.initializers}
                if not isinstance(a, str) and not hidden:
                    wrong.append(f"{program}: {c} is declared otherwise, and that is accepted")
                refused += isinstance(a, str)
        report.check(not wrong, f"drawn model {k}: {', '.join(sorted({n.op_type for n in d.nodes}))}", "; ".join(wrong[:2]))
    report.check(read > number // 8 and refused > number // 8, f"{read} of {number} models are read; {refused} refusals")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--number", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    programs, report = Programs(options.build), Report()
    with tempfile.TemporaryDirectory() as folder:
        check_operators(programs, Path(folder), report)
        check_drawn(programs, Path(folder), report, options.number, options.seed)
    return report.close()


if __name__ == "__main__":
    raise SystemExit(main())
