"""Models that may mix the samples of a minibatch, against ONNX's reference evaluator.

Random chains of operators that move axes, for inputs whose first axis is symbolic, 1, or the batch. Where ONNX's output for
the whole batch has no axis of samples, or one sample's output changes with another sample, or ONNX refuses, `clarke` and
`clarke-check` must refuse too. What they accept must have ONNX's loss. Where 1 is declared, each sample is a run of its own.
"""

import hashlib
import json
import subprocess
from fractions import Fraction

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save_model
from onnx.reference import ReferenceEvaluator

ROUNDS = 900
MANY = 12  # entries an axis at most: larger outputs are of no interest
REFUSED = 2


def old_softmax(node, x):
    """Before opset 13: over all axes from `axis` on."""
    axis = node.attribute[0].i if node.attribute else 1
    flat = x.reshape(int(np.prod(x.shape[:axis])), -1)
    e = np.exp(flat - flat.max(1, keepdims=True))
    return (e / e.sum(1, keepdims=True)).reshape(x.shape)


class Chain:
    """Nodes from x on; every one can be evaluated alone."""

    def __init__(self, opset):
        self.opset, self.nodes, self.last = opset, [], "v"
        self.constants = {"w": np.float32(0.75)}
        self.nodes.append(helper.make_node("Mul", ["x", "w"], ["v"]))

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(array)
        return name

    def then(self, op, before=(), after=(), **attributes):
        out = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, [*before, self.last, *after], [out], **attributes))
        self.last = out

    def run(self, x):
        """The output for that x; None where ONNX has none."""
        values = {"x": x, **self.constants}
        for node in self.nodes:
            if node.op_type == "Softmax" and self.opset < 13:
                values[node.output[0]] = old_softmax(node, values[node.input[0]])
                continue
            infos = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(values[n].dtype), None)
                     for n in dict.fromkeys(node.input)]
            outs = [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) for o in node.output]
            model = helper.make_model(helper.make_graph([node], "g", infos, outs),
                                      opset_imports=[helper.make_opsetid("", self.opset)])
            try:
                results = ReferenceEvaluator(model).run(None, {n: values[n] for n in node.input})
                values.update(zip(node.output, results))
            except Exception:  # whatever NumPy says of shapes that do not fit
                return None
        return values[self.last]

    def save(self, path, declared, shape):
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [declared, *shape])
        out = helper.make_tensor_value_info(self.last, TensorProto.FLOAT, None)
        tensors = [numpy_helper.from_array(np.asarray(v), k) for k, v in self.constants.items()]
        save_model(helper.make_model(helper.make_graph(self.nodes, "g", [x], [out], tensors), ir_version=8,
                                     opset_imports=[helper.make_opsetid("", self.opset)]), path)


def grow(chain, rng, shape, batch):
    """One more node, perhaps one that does not fit, for the last value's whole shape."""
    rank, pick = len(shape), lambda *of: of[rng.integers(len(of))]
    axis = int(rng.integers(-rank, rank))
    lists = chain.opset >= 13
    numbers = lambda *of: (rng.integers(-4, 5, of) / 4).astype(np.float32)  # noqa: E731
    op = pick("Reshape", "Reshape", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "ReduceMean", "Concat", "Pad",
              "Softmax", "Add", "Mul", "MatMul", "Gemm", "Gather", "Slice", "Split", "Scores", "Times", "Transpose")
    if op == "Reshape":
        entries = [int(pick(0, -1, 1, 1, batch, 2, *shape, int(np.prod(shape[1:])))) for _ in range(rng.integers(1, 4))]
        chain.then(op, after=[chain.constant(np.array(entries, np.int64))])
    elif op == "Flatten":
        chain.then(op, axis=pick(0, 1, 1, axis))
    elif op in ("Squeeze", "Unsqueeze"):
        axes = [pick(0, 1, axis)]
        if lists:
            chain.then(op, after=[chain.constant(np.array(axes, np.int64))])
        else:
            chain.then(op, axes=axes)
    elif op == "Transpose":
        chain.then(op, perm=[int(p) for p in rng.permutation(rank)])
    elif op == "ReduceMean":
        keep = int(rng.integers(2))
        if chain.opset >= 18:
            chain.then(op, after=[chain.constant(np.array([axis], np.int64))], keepdims=keep)
        else:
            chain.then(op, axes=[axis], keepdims=keep)
    elif op == "Concat":
        other = pick(chain.last, chain.constant(numbers(*shape)), chain.constant(numbers(1, *shape[1:])))
        chain.then(op, after=[other], axis=axis)
    elif op == "Pad":
        pads = [int(p) for p in rng.integers(0, 2, 2 * rank)]
        pads[0] = pads[rank] = int(rng.integers(4) == 0)
        chain.then(op, after=[chain.constant(np.array(pads, np.int64))])
    elif op == "Softmax":
        chain.then(op, axis=axis % rank)
    elif op == "Gather":
        index = pick(0, -1, [0], [0, -1], [[0, 0]])
        chain.then(op, after=[chain.constant(np.array(index, np.int64))], axis=axis)
    elif op == "Slice":
        ends = [[int(pick(0, 0, 1))], [int(pick(1, 2, batch, 100, -1))], [axis], [int(pick(1, 1, 2))]]
        chain.then(op, after=[chain.constant(np.array(e, np.int64)) for e in ends])
    elif op == "Split":
        if chain.opset < 18 or shape[axis] < 2:
            return
        chain.then(op, axis=axis, num_outputs=2)
        chain.nodes[-1].output.append(chain.last + "b")
    elif op == "Scores":  # a product of matrices, of the value and its transpose
        before = chain.last
        chain.then("Transpose", perm=[int(p) for p in pick([*range(rank - 2), rank - 1, rank - 2], rng.permutation(rank))])
        chain.then("MatMul", **{pick("before", "after"): [before]})
    elif op == "Times":
        before = chain.last
        chain.then("Tanh")
        chain.then("Mul", after=[before])
    elif op in ("Add", "Mul"):
        dims = pick(shape, shape[1:], (1, *shape[1:]), (batch,), (batch, *[1] * (rank - 1)), (1, *shape))
        name = chain.constant(numbers(*dims))
        chain.then(op, **pick({"after": [name]}, {"before": [name]}))
    elif op == "MatMul":
        right = bool(rng.integers(2))
        inner = shape[-1] if right or rank == 1 else shape[-2]
        dims = pick((inner,), (inner, 2) if right else (2, inner), (batch, batch))
        chain.then(op, **({"after": [chain.constant(numbers(*dims))]} if right else {"before": [chain.constant(numbers(*dims))]}))
    else:
        transposed = int(rng.integers(3) == 0)
        name = chain.constant(numbers(shape[0 if transposed else -1], 3))
        bias = pick((3,), (1, 3), (batch, 3), (1,))
        chain.then(op, after=[name, chain.constant(numbers(*bias))], transA=transposed)


def draw_chain(rng, shape, batch):
    chain = Chain(int(rng.choice([11, 13, 18])))
    whole = (batch, *shape)
    for _ in range(rng.integers(1, 6)):
        grow(chain, rng, whole, batch)
        out = chain.run(np.zeros((batch, *shape), np.float32))
        if out is None or out.ndim == 0 or out.size == 0 or max(out.shape) > MANY:
            break
        whole = out.shape
    return chain


def expected_output(chain, x, declared):
    """ONNX's, an entry of the first axis for each sample; None where samples are mixed. The output of a run of its own may have any
    first axis: its one sample is all of it."""
    if declared == 1 or len(x) == 1:
        outs = [chain.run(x[i:i + 1]) for i in range(len(x))]
        if any(o is None or o.ndim == 0 or o.shape != outs[0].shape for o in outs):
            return None
        return np.concatenate(outs) if outs[0].shape[0] == 1 else np.concatenate([o.reshape(-1) for o in outs])
    out = chain.run(x)
    if out is None or out.ndim == 0 or out.shape[0] != len(x):
        return None
    for i in range(len(x)):
        other = x.copy()
        other[i] = np.linspace(-3, 7, x[i].size).reshape(x[i].shape)
        rest = [j for j in range(len(x)) if j != i]
        if not np.allclose(chain.run(other)[rest], out[rest]):
            return None
    return out


def write_proof(folder, loss):
    """That nothing is touched: what refuses the model refuses this, with status 2."""
    def sha(name):
        return hashlib.sha256((folder / name).read_bytes()).hexdigest()

    body = "\n".join(["clarke-proof 1", "verdict in-bouligand", "semantics real", f"model mix.onnx {sha('mix.onnx')}",
                      f"batch mix.npz {sha('mix.npz')}", f"loss {loss}", "wrt w", "profile pytorch-2.13", "touched 0",
                      "evidence ad", "cell ad", "directions 0", ""])
    (folder / "mix.proof").write_text(body + "end " + hashlib.sha256(body.encode()).hexdigest() + "\n")


def judge(clarke, checker, folder, chain, x, declared, rng):
    """What is wrong, or None; and whether it was accepted."""
    expected = expected_output(chain, x, declared)
    arrays = {"x": x}
    merged = declared == 1 or len(x) == 1  # the output may have no axis of samples, and targets would have its own shape
    if expected is not None and not merged:
        arrays["y"] = rng.integers(-2, 3, expected.shape).astype(np.float32)
    loss = "sum" if expected is None or merged else "mse"
    np.savez(folder / "mix.npz", **arrays)
    chain.save(folder / "mix.onnx", declared, x.shape[1:])
    write_proof(folder, loss)
    audit = subprocess.run([clarke, "audit", "mix.onnx", "--batch", "mix.npz", "--loss", loss, "--wrt", "w", "--json",
                            "--gradient", "mix.safetensors"], cwd=folder,
                           capture_output=True, text=True)
    check = subprocess.run([checker, "mix.proof"], cwd=folder, capture_output=True, text=True)
    refused = audit.returncode == REFUSED, check.returncode == REFUSED
    said = audit.stderr + check.stderr + check.stdout
    if expected is None:
        return (None if all(refused) else f"not refused: {said}"), False
    if refused[0] and not refused[1]:
        return f"clarke refuses what clarke-check accepts: {said}", False
    if refused[0]:
        return None, False
    if not refused[1] and check.returncode != 0:
        return f"clarke-check: {said}", False
    value = float(expected.astype(np.float64).sum() if merged else np.mean((expected.astype(np.float64) - arrays["y"]) ** 2))
    text = json.loads(audit.stdout)["loss"]["value"]
    ours = float(Fraction(text))
    return (None if abs(ours - value) <= 1e-4 * max(1, value) else f"loss {ours}, ONNX {value}"), not refused[1]


def check_mixing(report, clarke, checker, folder):
    rng = np.random.default_rng(20)
    counts = {"accepted": 0, "mixed": 0, "other": 0}
    for _ in range(ROUNDS):
        shape = [(4,), (2, 3), (1, 2, 2), (2, 2)][rng.integers(4)]
        batch = int(rng.integers(1, 4))
        declared = ["N", 1, batch][rng.integers(3)]
        chain = draw_chain(rng, shape, batch)
        x = (rng.integers(-8, 9, (batch, *shape)) / 4).astype(np.float32)
        wrong, accepted = judge(clarke, checker, folder, chain, x, declared, rng)
        mixed = expected_output(chain, x, declared) is None
        counts["accepted" if accepted else "mixed" if mixed else "other"] += 1
        ops = " ".join(n.op_type for n in chain.nodes[1:])
        if wrong is not None:
            report.check(False, f"{ops}, opset {chain.opset}, ({declared}, {shape}), {batch} samples", wrong)
            return
    report.check(counts["accepted"] > ROUNDS / 7 and counts["mixed"] > ROUNDS / 5,
                 f"{ROUNDS} models that may mix samples: {counts}", "too few of a kind")
