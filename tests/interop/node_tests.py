"""ONNX's own node tests: both programs read each as ONNX says, or refuse it for a reason that is known.

Usage: python tests/interop/node_tests.py --build build [--only NAME] [--one-in N] [--refused] [--write]

Package onnx has some 1,900 models of one node each, with inputs and outputs. For each float input and each float output the input is
the network's, the other inputs are initializers, and two questions are asked: the input as a whole, as with `--batch-axis none`, and
with its first axis the batch. Where an operator mixes that axis, the second question has no answer, and the message offers the first.
And there is a model with constants alone. What `clarke-check --values` and `reads --values` print has the test's shapes and values.
With --refused the operators are printed, too, of which models with a float input are refused. With --write all of the first question
are asked, and docs/node-tests.md is made anew. Each reason for which one is refused must be on that page.
"""

import argparse
import re
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.case.node import collect_testcases

from readings import Programs, unlike, unlike_prints

MIXED = "the batch, where it would be mixed"
# Why a variant is refused, by what the library says of it. What no pattern fits fails.
REASONS = {
    "an operator without steps": "^operator [\\w.]+ is not supported",
    "rounds or branches that are not known": "rounds|goes on|one truth value|another shape in each branch",
    "operator sets before 7, or of another domain alone": "7 to 28|no operator set is imported|before operator set 9",
    "arguments at the border of a domain, or of a jump": "the argument of a (root|logarithm)|both sides are",
    "types": "must hold floats|element type|is (infinite|NaN); it must be finite|of another type; expected|"
        "type .* is not supported",
    "an activation where the network must know a constant, or the reverse": "must be an activation|must be a constant|"
        "must be one constant|is no constant scalar|summed so|"
        "no constants of|no list of integers|be constants? |arithmetic between constants|takes a negated|is a negated constant",
    MIXED: "the batch|without a batch axis|a crop of the samples|each sample|samples|of constants, of|along the batch axis|mixed",
    "outputs that are not made": "only the first output|is not made: |in this operator set it has|is computed by no node|^choose another",
    "what is computed of constants": "becomes no number of 8 bits|become floats of any type|become float32|no parameters, become floats|constants are joined|are computed|no integer of the type|"
        "no number, or too large|"
        "value is no 64-bit|must be integers",
    "entries that are minus infinity": "minus infinity|an infinite number or NaN",
    "an input that is missing, a sequence or an optional": "is not defined before this node|is missing|TypeProto\\.",
    "no entries": "no entries|a dimension is 0",
    "products of vectors, which are no matrices": "unsqueeze it to a matrix",
    "attributes and modes": "its reference|common denominator|"
        "the value is|expected min < max|input_forget must|alpha must be 1|mode is|coordinate_transformation_mode is|"
        "p is \\d+|exclusive and reverse|aspect_ratio|antialias is|"
        "transA = 0|batch_dims|are supported$|storage_order",
    "shapes of a single run that a batch of this size does not fit": "do not broadcast|"
        "in \\d+ equal parts|the parts do not fit|out of range|"
        "different numbers of entries|has no such axis|a mask of \\d+ entries along axis|which takes \\d+ entries along|entries for \\d+ outputs",
}
# What one program reads and the other does not, by what is said.
ONE_SIDED = {"shares of long numbers, in Resize": "common denominator"}

READ = 3950  # variants that are read, at least: so many are of operators that clarke has
NEWEST = 28  # operator set: nodes of later ones that are as they were then are read by that number

FLOATS = {TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16}


def kind_of(p):
    return p.type.tensor_type.elem_type if p.type.WhichOneof("value") == "tensor_type" else None


def variants(case):
    """(what varies, model, batch, {name: the values expected})"""
    graph = case.model.graph
    inputs, outputs = case.data_sets[0]
    given = {p.name: np.asarray(a) if isinstance(a, np.generic) else a for p, a in zip(graph.input, inputs)}
    expected = {p.name: a for p, a in zip(graph.output, outputs) if isinstance(a, np.ndarray)}
    for i in graph.input:
        if kind_of(i) not in FLOATS or not isinstance(given[i.name], np.ndarray):
            continue
        for o in graph.output:
            if kind_of(o) not in FLOATS or o.name not in expected:
                continue
            for way in ["single", "batch"]:
                if way == "batch" and given[i.name].ndim == 0:
                    continue
                yield f"{i.name} to {o.name}, {way}", model(case, given, i, o, way), batch(given[i.name], way), {
                    o.name: expected[o.name]}
    if all(isinstance(a, (np.ndarray, TensorProto)) for a in given.values()):
        yield "constants", constants(case, given), np.ones((1, 1), np.float32), expected


def copied(case):
    m = onnx.ModelProto()
    m.CopyFrom(case.model)
    m.ir_version = max(m.ir_version, 4)  # before it initializers had to be inputs, too
    for used in m.opset_import:
        if used.domain == "" and used.version > NEWEST and all(as_before(n) for n in m.graph.node):
            used.version = NEWEST
    return m


def as_before(node):
    try:
        return onnx.defs.get_schema(node.op_type, node.domain).since_version <= NEWEST
    except onnx.defs.SchemaError:
        return False


def batch(array, way):
    array = array if array.dtype.name in ("float16", "float32", "float64") else array.astype(np.float32)
    return array[None] if way == "single" else array


def dims_of(array, way):
    return [None if way == "batch" and a == 0 else n for a, n in enumerate(array.shape)]


def model(case, given, i, o, way):
    m = copied(case)
    del m.graph.input[:], m.graph.output[:]
    m.graph.input.append(helper.make_tensor_value_info(i.name, kind_of(i), dims_of(given[i.name], way)))
    m.graph.output.append(helper.make_tensor_value_info(o.name, kind_of(o), None))
    for name, array in given.items():
        if name != i.name and isinstance(array, (np.ndarray, TensorProto)):
            m.graph.initializer.append(tensor_of(array, name))
    return m


def tensor_of(array, name):
    """Of types that NumPy has not the tests have tensors."""
    tensor = TensorProto()
    tensor.CopyFrom(array if isinstance(array, TensorProto) else numpy_helper.from_array(array, name))
    tensor.name = name
    return tensor


def constants(case, given):
    """Beside a network that does not read it: the node, of Constant nodes."""
    m = copied(case)
    own = [helper.make_node("Constant", [], [name], value=tensor_of(array, name)) for name, array in given.items()]
    nodes = [*own, *m.graph.node, helper.make_node("Relu", ["network_x"], ["network_y"])]
    del m.graph.node[:], m.graph.input[:], m.graph.output[:]
    m.graph.node.extend(nodes)
    m.graph.input.append(helper.make_tensor_value_info("network_x", TensorProto.FLOAT, [None, 1]))
    m.graph.output.append(helper.make_tensor_value_info("network_y", TensorProto.FLOAT, [None, 1]))
    return m


# What ONNX's tests expect and both programs compute otherwise, as do ONNX Runtime and PyTorch but where a scale is rounded.
CORNERS = "out - 1 for s in - 1, where s in is no whole number"
HALF = "-2.5 / (5 / 255) is half of an odd number, but not where 5 / 255 is a float32"
DIFFERENCES = {"test_dynamicquantizelinear": HALF, "test_resize_downsample_scales_linear_align_corners": CORNERS, "test_resize_downsample_scales_cubic_align_corners": CORNERS}


def reason_of(said):
    return next((reason for reason, pattern in REASONS.items() if re.search(pattern, said)), None)


def judge(name, expected, answer, count):
    """What is wrong with the answers: lines. The library's reason for a refusal is counted."""
    refusals = {p: v for p, v in answer.items() if isinstance(v, str)}
    for program, values in answer.items():
        if program in refusals:
            continue
        for place, (output, array) in enumerate(expected.items()):
            if output not in values and place > 0:
                continue  # of several outputs only the first is made, where nothing reads the others
            why = unlike(values[output], [array]) if output in values else "no such value"
            if why and name not in DIFFERENCES:
                yield f"{program}: {why}"
    yield from unlike_prints(answer)
    count["read by both"] += not refusals
    if "library" in refusals:
        reason = reason_of(refusals["library"].split(": ", 2)[-1])
        if reason is None:
            yield f"refused for no known reason: {refusals['library']}"
        count[f"refused: {reason}"] += 1
    if len(refusals) == 1 and not any(re.search(p, v) for p in ONE_SIDED.values() for v in refusals.values()):
        yield f"refused by one alone: {refusals}"


def print_refused(asked, refused):
    """By operator, of variants with a float input: how many are refused, of how many, and for which reasons."""
    floats = [(case.name, what, operator_of(case)) for case, what, *_ in asked if what != "constants"]
    of = Counter(operator for *_, operator in floats)
    reasons = {}
    for name, what, operator in floats:
        if (name, what) in refused:
            reasons.setdefault(operator, Counter())[refused[name, what]] += 1
    for operator, why in sorted(reasons.items(), key=lambda r: (-r[1].total(), r[0])):
        print(f"{why.total():5} of {of[operator]:4} {operator}: " + "; ".join(f"{n} {reason}" for reason, n in why.most_common()))
    for way, meant in (("single", "as a whole"), ("batch", "with its first axis the batch, where that is not mixed")):
        own = [(name, what) for name, what, _ in floats if what.endswith(way) and refused.get((name, what)) != MIXED]
        read = sum(v not in refused for v in own)
        print(f"{read} of {len(own)} variants are read, the float input {meant} ({100 * read / max(len(own), 1):.1f}%)")
    print(f"{sum(r == MIXED for r in refused.values())} mix that axis: asked as a whole alone")


PAGE = Path(__file__).resolve().parents[2] / "docs" / "node-tests.md"
HEAD = """# ONNX's tests of nodes

Package `onnx` has some 1,900 models of one node each, or of one function's nodes, with inputs and what comes out. Both programs are asked
about each input and each output of floats. That input is the network's, as a whole (`--batch-axis none`), and the others are its weights.
So there are {all} questions. {read} of them are read by both programs and agree with the test ({share:.1f}%), none is read otherwise,
and {none} are refused by both. This page is made by `python tests/interop/node_tests.py --build build --write`. CI asks for one question
in four, and for each refusal's reason here.

With its first axis the batch the same input is another question. Where an operator mixes the samples, it has no answer, and the message
ends with the command that asks as above.

| refused | why | of |
|---:|---|---|
"""


def write_page(asked):
    """asked: of each question as a whole its operator, and the reason for which it is refused or None."""
    reasons = {}
    for operator, reason in asked:
        if reason is not None:
            reasons.setdefault(reason, Counter())[operator] += 1
    none = sum(of.total() for of in reasons.values())
    text = HEAD.format(all=len(asked), read=len(asked) - none, none=none, share=100 * (1 - none / len(asked)))
    for reason, of in sorted(reasons.items(), key=lambda r: -r[1].total()):
        shown = [f"{operator} {n}" for operator, n in of.most_common(12)]
        text += f"| {of.total()} | {reason} | {', '.join(shown)}{' and others' if len(of) > 12 else ''} |\n"
    PAGE.write_text(text)


def body_of(operator):
    """Of the bodies of one function's variants one name."""
    return re.sub(r"test_([a-z]+)(_\w*)?, its body", r"a body of \1", operator)


def operator_of(case):
    """Of a function's body the function."""
    return re.sub("_expanded.*", "", case.name) + ", its body" if "_expanded" in case.name else case.model.graph.node[0].op_type


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--only", default="")
    parser.add_argument("--one-in", type=int, default=1, help="ask for one variant in so many")
    parser.add_argument("--write", action="store_true", help="make docs/node-tests.md anew")
    parser.add_argument("--refused", action="store_true", help="print what is refused by operator")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    programs, count, wrong, refused = Programs(options.build), Counter(), 0, {}
    asked = [(c, *v) for c in collect_testcases() if options.only in c.name for v in variants(c)
             if not options.write or v[0].endswith("single")][::options.one_in]
    with tempfile.TemporaryDirectory() as folder:
        for first in range(0, len(asked), 100):
            pairs = []
            for k, (_, _, m, x, _) in enumerate(asked[first:first + 100]):
                pairs.append((Path(folder) / f"{k}.onnx", Path(folder) / f"{k}.npy"))
                onnx.save(m, pairs[-1][0])
                np.save(pairs[-1][1], x)
            for (case, what, _, _, expected), answer in zip(asked[first:first + 100], programs.read(pairs)):
                for fault in judge(case.name, expected, answer, count):
                    wrong += 1
                    print(f"failed: {case.name}, {what}: {fault}", flush=True)
                said = next((v for v in answer.values() if isinstance(v, str)), None)
                if said is not None:
                    refused[case.name, what] = reason_of(said.split(": ", 2)[-1])
    if not options.only and not options.write and count["read by both"] * options.one_in < READ:
        wrong += 1
        print(f"failed: {count['read by both']} variants are read, expected {READ // options.one_in} at least")
    print("\n".join(f"{n:6} {what}" for what, n in sorted(count.items(), key=lambda c: -c[1])))
    if options.refused:
        print_refused(asked, refused)
    if options.write:
        write_page([(body_of(operator_of(case)), refused.get((case.name, what))) for case, what, *_ in asked])
    page = PAGE.read_text()
    for reason in {reason for (_, what), reason in refused.items() if what.endswith("single") and reason is not None}:
        if f"| {reason} |" not in page:
            wrong += 1
            print(f"failed: no reason of docs/node-tests.md: {reason}")
    print(f"{len(asked)} variants, {wrong} read otherwise")
    return wrong > 0


if __name__ == "__main__":
    raise SystemExit(main())
