"""One network written in other ways has one verdict: an Identity or an Add of 0 before every kink, every sample twice.

    python tests/interop/rewritten.py build/tools/clarke build/tools/clarke-check [MODEL...]
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper, numpy_helper

CASES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../cases/audit")
KINKED = {"Abs", "Clip", "GlobalMaxPool", "HardSwish", "LeakyRelu", "MaxPool", "Relu"}
MODELS = ["lemma2", "lemma3", "digits-relu-q", "digits-hardtanh-q", "digits-relu-nobias-ternary", "two-windows", "lenet-q",
          "lenet-q6", "lenet-overlap-q6", "zero-gamma", "resnet-gamma-beta"]


def before_kinks(path, make, to):
    """The model with nodes before each kinked one: make(its input, the name that it then reads)."""
    model = onnx.load(path)
    nodes = []
    for node in model.graph.node:
        if node.op_type in KINKED:
            name = f"{node.input[0]}_{len(nodes)}"
            nodes += make(node.input[0], name)
            node.input[0] = name
        nodes.append(node)
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    onnx.save(model, to)


def identity(x, name):
    return [helper.make_node("Identity", [x], [name])]


def add_nothing(x, name):
    zero = numpy_helper.from_array(np.zeros(1, np.float32))
    return [helper.make_node("Constant", [], [name + "_zero"], value=zero), helper.make_node("Add", [x, name + "_zero"], [name])]


def ask(tools, folder, model, batch, case):
    """The verdict; with what the checker says, should it refuse the proof."""
    proof = os.path.join(folder, "proof")
    words = [tools[0], "audit", model, "--batch", batch, "--loss", case["loss"], "--json", "--proof", proof]
    said = subprocess.run(words + (["--profile", case["profile"]] if "profile" in case else []), capture_output=True, text=True)
    if not said.stdout:
        return said.stderr
    verdict = json.loads(said.stdout)["verdict"]
    if verdict == "undecided":
        return verdict
    checked = subprocess.run([tools[1], proof], capture_output=True, text=True)
    return verdict if checked.stdout.startswith("VERIFIED\n") else f"{verdict}, but {checked.stdout}{checked.stderr}"


def verdicts(tools, folder, case):
    model, batch = (shutil.copy(os.path.join(CASES, case[k]), folder) for k in ("model", "batch"))  # a proof has names alone
    to, twice = (os.path.join(folder, name) for name in ("rewritten.onnx", "twice.npz"))
    found = {"as it is": ask(tools, folder, model, batch, case)}
    for name, make in (("Identity", identity), ("Add of 0", add_nothing)):
        before_kinks(model, make, to)
        found[name] = ask(tools, folder, to, batch, case)
    np.savez(twice, **{k: np.concatenate([v, v]) for k, v in np.load(batch).items()})
    found["samples twice"] = ask(tools, folder, model, twice, case)
    return found


def main(*arguments):
    tools, models, failed, asked = arguments[:2], arguments[2:] or MODELS, 0, set()
    with open(os.path.join(CASES, "cases.json")) as f:
        cases = json.load(f)["cases"]
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            if case["model"].removesuffix(".onnx") not in models or case["model"] in asked or not case["batch"].endswith(".npz"):
                continue
            asked.add(case["model"])
            found = verdicts(tools, folder, case)
            if len(set(found.values())) != 1 or found["as it is"] != case["verdict"]:
                failed += 1
                print(f"FAILED: {case['model']}: {found}")
    if len(asked) != len(models):
        failed += 1
        print(f"FAILED: of {len(models)} models {len(asked)} are cases")
    print(f"{len(asked)} networks, each written in four ways; {failed} failed")
    return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) > 0)
