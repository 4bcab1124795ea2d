"""Writes cases/audit/cases.json: what each shipped case is, and what is expected of it.

Usage: python tools/train/cases.py [FOLDER]

`touched` comes from touched.py's exact count, of convolutional networks from ties.py's, of those of graphs.py from its own. `verdict` is what
theory or enumeration gives for the network (the reason is in docs/networks.md), not the output of the
program that is tested against it; `undecided` where they give nothing, or more than the program finds.
Then `theory` is what they give, null when nothing. `slow` marks cases that the fast tests leave out.

The layers of convolutional networks say more: of a Relu how many touched entries are constant; of a
MaxPool how many windows are tied, how many options the touched ones have beyond the first (others),
and touched windows and others when all before is as AD takes it (ad).
"""

import json
import sys
from pathlib import Path

import convolutional
import digits
import graphs
import normalized
import papers
import windows
from ties import ties_in_files
from touched import touched_in_files

DEFAULT_FOLDER = Path(__file__).resolve().parents[2] / "cases" / "audit"

# What theory or enumeration decides and the program does not.
UNDECIDED = {"resnet-pool-gamma", "resnet-pool-gamma-96"}
# What neither theory nor enumeration reaches: sampled gradients nearby agree with the proof.
PROVED = {"lenet-q": "not-in-clarke", "lenet-ternary-384": "not-in-clarke", "vgg11-pruned": "not-in-clarke"}
# Seconds, with the proof's check.
SLOW = {"lenet-q", "lenet-q6-96", "lenet-pruned", "lenet-overlap-q", "lenet-overlap-q6", "resnet-gamma",
        "resnet-gamma-beta", "resnet-pool-gamma", "resnet-pool-gamma-96"}


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


def normalized_listed():
    for r in normalized.RECIPES:
        yield {"name": r.name, "model": f"{r.name}.onnx", "batch": f"{r.batch}.npz", "loss": "ce",
               "about": r.about, "verdict": r.verdict}


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


def expected(case):
    name, theory = case["name"], case["verdict"]
    if name in PROVED:
        case = case | {"verdict": PROVED[name]}
    elif theory is None or name in UNDECIDED:
        case = case | {"verdict": "undecided", "theory": theory}
    return case | ({"slow": True} if name in SLOW else {})


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_FOLDER
    cases = [counted(folder, case) for case in listed()]
    cases += [counted(folder, case) for case in normalized_listed()]
    cases += [expected(with_ties(folder, case)) for case in convolutional_listed()]
    cases += [graphs.counted(folder, case) for case in graphs.CASES]
    text = json.dumps({"profile": "pytorch-2.13", "cases": cases}, indent=1)
    (folder / "cases.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
