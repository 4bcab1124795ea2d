"""Writes cases/audit/cases.json: what each shipped case is, and what is expected of it.

Usage: python tools/train/cases.py [FOLDER]

`touched` comes from touched.py's exact count. `verdict` is what theory gives for the network (the
reason is in docs/networks.md), not the output of the program that is tested against it.

convolutional.json is the same of the convolutional networks, counted by ties.py. Its layers say
more: of a Relu how many touched entries are constant; of a MaxPool how many windows are tied, how many
options the touched ones have beyond the first (others), and touched windows and others when all before
is as AD takes it (ad). A verdict that is not known by theory or by enumeration is null.
"""

import json
import sys
from pathlib import Path

import convolutional
import digits
import papers
import windows
from ties import ties_in_files
from touched import touched_in_files

DEFAULT_FOLDER = Path(__file__).resolve().parents[2] / "cases" / "audit"


def listed():
    """The cases in order, without counts."""
    for model, batch, loss, verdict, about in papers.CASES:
        yield {"name": model, "model": f"{model}.onnx", "batch": f"{batch}.npz", "loss": loss,
               "about": about, "verdict": verdict}
    for r in digits.RECIPES:
        yield {"name": r.name, "model": f"{r.name}.onnx", "batch": f"{r.batch}.npz",
               "loss": r.loss, "about": r.about, "verdict": r.verdict}
        if r.name == "digits-relu":
            yield {"name": f"{r.name}-later", "model": f"{r.name}.onnx",
                   "params": f"{r.name}-later.safetensors", "batch": f"{r.batch}.npz",
                   "loss": r.loss, "verdict": r.verdict,
                   "about": f"the same network {digits.LATER_STEPS} training steps later"}


def counted(folder, case):
    params = folder / case["params"] if "params" in case else None
    report = touched_in_files(folder / case["model"], folder / case["batch"], params)
    layers = [{"node": node, "op": op, "neurons": neurons, "touched": counts}
              for node, op, neurons, counts in report]
    return case | {"touched": sum(sum(l["touched"]) for l in layers), "layers": layers}


def convolutional_listed():
    for name, model, loss, verdict, about in windows.CASES:
        yield {"name": name, "model": f"{model}.onnx", "batch": f"{name}.npz", "loss": loss,
               "about": about, "verdict": verdict}
    for r in convolutional.RECIPES:
        yield {"name": r.name, "model": f"{convolutional.model_of(r)}.onnx",
               "batch": f"{r.batch}.npz", "loss": "ce", "about": r.about, "verdict": r.verdict}


def with_ties(folder, case):
    layers = ties_in_files(folder / case["model"], folder / case["batch"])
    return case | {"touched": sum(sum(l["touched"]) for l in layers), "layers": layers}


def write(path, cases):
    text = json.dumps({"profile": "pytorch-2.13", "cases": cases}, indent=1)
    path.write_text(text + "\n")


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_FOLDER
    write(folder / "cases.json", [counted(folder, case) for case in listed()])
    write(folder / "convolutional.json", [with_ties(folder, c) for c in convolutional_listed()])


if __name__ == "__main__":
    main()
